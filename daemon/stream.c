/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The turns of a stream; see stream.h. Its opening is in stream_open.c.
 */
#include "daemon/stream.h"

#include "daemon/probe.h"
#include "shm/beat.h"

/* Wake-ups of an idle stream: eight a second, and at least two a runway. */
#define IDLE_WAKE_NS INT64_C(125000000)

void sfd_stream_tell_clock(struct sfd_stream *stream)
{
	const struct sfd_clock *clock = &stream->clock;
	bool is_behind = sfd_clock_is_behind(clock);
	int64_t remaining_ns = is_behind ? sfd_clock_remaining_ns(clock) : 0;

	sfd_stats_set(stream->stats, SF_COUNTER_wall_offset_us, (uint64_t)(clock->lead_ns / 1000));
	sfd_stats_set(stream->stats, SF_COUNTER_clock_behind,
		      is_behind ? (uint64_t)clock->in_force + 1 : 0);
	sfd_stats_set(stream->stats, SF_COUNTER_clock_behind_ms,
		      (uint64_t)(remaining_ns / 1000000));
}

uint64_t sfd_stream_mark_for(const struct sfd_stream *stream, uint64_t tick)
{
	return tick + stream->ring.shm.grants->runway_ticks +
	       sfd_ticks(&stream->config->layout, SFD_MARK_AHEAD_MS);
}

/** Holds the clock against the wall, and counts its steps. */
static enum sfd_clock_event turn_clock(struct sfd_stream *stream, struct sfd_now now)
{
	const struct sfd_now seen = stream->clock.seen;
	enum sfd_clock_event event = sfd_clock_update(&stream->clock, now);

	if (event == SFD_CLOCK_FORWARD)
		sfd_stats_add(stream->stats, SF_COUNTER_clock_steps_forward, 1);
	else if (event == SFD_CLOCK_BACK)
		sfd_stats_add(stream->stats, SF_COUNTER_clock_steps_back, 1);
	else
		return event;
	if (SFD_PROBE_IS_ON(clock_step))
		SFD_PROBE2(clock_step, now.wall_ns - seen.wall_ns - (now.mono_ns - seen.mono_ns),
			   stream->config->name);
	return event;
}

/** Publishes the runway. @return whether the stream's state has changed */
static bool publish(struct sfd_stream *stream, uint64_t tick, uint64_t mark)
{
	struct sfd_engine *engine = &stream->engine;
	uint64_t before = engine->horizon;
	bool changed = sfd_engine_publish(engine, tick, mark);

	if (SFD_PROBE_IS_ON(publish) && engine->horizon != before)
		/* a forward step leaves out what lies behind */
		SFD_PROBE3(publish, stream->config->name, before + 1 < tick ? tick : before + 1,
			   engine->horizon);
	return changed;
}

static void count_beat(struct sfd_stream *stream, uint64_t tick, int64_t unix_ns)
{
	uint64_t late_us;

	if (stream->engine.behind != SF_SHM_BEHIND_NOTHING)
		stream->last_beat_tick = 0; /* ticks that do not follow the clock are not late */
	if (!stream->engine.beating || stream->engine.behind != SF_SHM_BEHIND_NOTHING ||
	    tick == stream->last_beat_tick)
		return;
	late_us = (uint64_t)(unix_ns - sf_shm_tick_start_ns(&stream->config->layout, tick)) / 1000;
	if (stream->last_beat_tick != 0) {
		uint64_t missed = tick - stream->last_beat_tick - 1;

		late_us += missed * stream->config->layout.tick_ms * 1000;
		sfd_stats_add(stream->stats, SF_COUNTER_beats_late, missed != 0);
		if (late_us > sfd_stats_get(stream->stats, SF_COUNTER_beat_late_max_us))
			sfd_stats_set(stream->stats, SF_COUNTER_beat_late_max_us, late_us);
	}
	stream->last_beat_tick = tick;
}

/** Asks for a raise of the mark when half of the last one is used up. */
static bool want_mark(struct sfd_stream *stream, uint64_t tick, uint64_t mark)
{
	uint64_t ahead = sfd_ticks(&stream->config->layout, SFD_MARK_AHEAD_MS);
	uint64_t horizon = stream->engine.horizon;
	uint64_t wanted = horizon > tick ? horizon + ahead : sfd_stream_mark_for(stream, tick);

	/* Past the layout's end nothing is published, and a clock may be there by mistake. */
	if (tick > stream->ring.shm.grants->last_tick)
		return false;
	/* relaxed: this thread is the only writer */
	if (wanted <= mark + ahead / 2 ||
	    wanted <= atomic_load_explicit(&stream->mark_wanted, memory_order_relaxed) + ahead / 4)
		return false;
	/* M3, pairs with M4 */
	atomic_store_explicit(&stream->mark_wanted, wanted, memory_order_release);
	return true;
}

/** When the stream wants its next turn. */
static int64_t next_turn(const struct sfd_stream *stream, struct sfd_now now, uint64_t tick)
{
	const struct sf_layout *layout = &stream->config->layout;
	int64_t runway_ns = stream->config->runway_ms * INT64_C(1000000);
	int64_t idle = now.mono_ns + (runway_ns / 2 < IDLE_WAKE_NS ? runway_ns / 2 : IDLE_WAKE_NS);
	int64_t remaining = sfd_clock_remaining_ns(&stream->clock);
	int64_t beat;

	/* Later, and time at half speed falls behind. */
	if (stream->clock.lead_ns > 0 && remaining < idle - now.mono_ns)
		idle = now.mono_ns + remaining;
	if (stream->engine.behind != SF_SHM_BEHIND_NOTHING &&
	    stream->clock.page.base_mono_ns < idle)
		idle = stream->clock.page.base_mono_ns;
	if (!stream->engine.beating)
		return idle;
	if (stream->engine.behind == SF_SHM_BEHIND_BORROW) /* time stands still, demand does not */
		beat = now.mono_ns + layout->tick_ms * INT64_C(1000000);
	else
		beat = sf_shm_clock_mono_ns(&stream->clock.page,
					    sf_shm_tick_start_ns(layout, tick + 1));
	return beat < idle ? beat : idle;
}

/** A clock shows a later time than another at a moment. */
static bool is_faster(const struct sf_shm_clock *clock, const struct sf_shm_clock *other,
		      int64_t mono_ns)
{
	return sf_shm_clock_unix_ns(clock, mono_ns) > sf_shm_clock_unix_ns(other, mono_ns);
}

/**
 * Shows the page to the clients, and to the next daemon, in the order that is right if this one
 * dies in between: the next must not take a ring for one that has ended by a page that its clients
 * have not seen, so a page that is ahead goes to the ring first, one that is behind to the record.
 * Nor must it take one that has ended for one that goes on: so the record says "behind", which ends
 * the ring with this daemon, only while the ring says so, too.
 */
static void show_clock(struct sfd_stream *stream, int64_t mono_ns)
{
	const struct sf_shm_clock *page = &stream->clock.page;
	bool ring_first = page->behind != SF_SHM_BEHIND_NOTHING;
	struct sf_shm_clock shown;

	if (!ring_first && sf_shm_time_read(&stream->ring.shm.grants->time, &shown) == 0 &&
	    shown.behind == SF_SHM_BEHIND_NOTHING)
		ring_first = is_faster(page, &shown,
				       mono_ns + stream->config->runway_ms * INT64_C(1000000));
	if (!ring_first)
		sf_shm_time_write(&stream->runtime->time, page);
	sf_shm_time_write(&stream->ring.shm.grants->time, page);
	if (ring_first)
		sf_shm_time_write(&stream->runtime->time, page);
}

/** Applies the clock's policy to the engine. @return whether the page has changed */
static bool borrow(struct sfd_stream *stream, struct sfd_now now)
{
	struct sfd_engine *engine = &stream->engine;

	engine->behind = sf_shm_clock_behind(&stream->clock.page, now.mono_ns);
	if (engine->behind != SF_SHM_BEHIND_BORROW)
		return false;
	engine->borrow_tick = sf_shm_tick_at(&stream->config->layout,
					     sfd_clock_free_ns(&stream->clock, now.mono_ns));
	return sfd_clock_borrow(
		&stream->clock, now,
		sf_shm_tick_start_ns(&stream->config->layout, sfd_engine_claimed_up_to(engine)));
}

int64_t sfd_stream_turn(struct sfd_stream *stream, struct sfd_now now, unsigned *news)
{
	struct sfd_engine *engine = &stream->engine;
	/* M2, pairs with M1 */
	uint64_t mark = atomic_load_explicit(&stream->mark_tick, memory_order_acquire);
	enum sfd_clock_event event = turn_clock(stream, now);
	bool changed = event != SFD_CLOCK_STEADY;
	int64_t unix_ns;
	uint64_t tick;

	if (changed && event != SFD_CLOCK_FOLLOWED)
		*news |= SFD_TURN_CLOCK;
	if (borrow(stream, now))
		changed = true;
	sfd_stream_tell_clock(stream);
	unix_ns = sf_shm_clock_unix_ns(&stream->clock.page, now.mono_ns);
	tick = sf_shm_tick_at(&stream->config->layout, unix_ns);
	/* Publish before the page shows the time, so that a step makes nobody wait. */
	if (publish(stream, tick, mark))
		*news |= SFD_TURN_CLOCK;
	if (changed)
		show_clock(stream, now.mono_ns);
	sfd_engine_measure(engine, tick, now.mono_ns);
	sfd_engine_beat(engine, tick);
	count_beat(stream, tick, unix_ns);
	if (!engine->beating)
		stream->last_beat_tick = 0;
	if (want_mark(stream, tick, mark))
		*news |= SFD_TURN_MARK;
	return next_turn(stream, now, tick);
}

int64_t sfd_stream_offset_ns(const struct sfd_stream *stream)
{
	struct sfd_now now = sfd_clock_now();
	struct sf_shm_clock page;

	/* the one writer never changes it so often that every try fails */
	if (sf_shm_time_read(&stream->ring.shm.grants->time, &page) < 0)
		return 0;
	return sf_shm_clock_unix_ns(&page, now.mono_ns) - now.wall_ns;
}

bool sfd_stream_has_caught_up(struct sfd_stream *stream)
{
	bool is_behind = sfd_stats_get(stream->stats, SF_COUNTER_clock_behind) != 0;
	bool was_behind = stream->behind_told;

	stream->behind_told = is_behind;
	return was_behind && !is_behind;
}

bool sfd_stream_has_stepped(struct sfd_stream *stream)
{
	uint64_t steps = sfd_stats_get(stream->stats, SF_COUNTER_clock_steps_forward) +
			 sfd_stats_get(stream->stats, SF_COUNTER_clock_steps_back);
	bool stepped = steps != stream->steps_told;

	stream->steps_told = steps;
	return stepped;
}

uint64_t sfd_stream_stop(struct sfd_stream *stream, struct sfd_now now)
{
	uint64_t tick = sf_shm_tick_at(&stream->config->layout,
				       sf_shm_clock_unix_ns(&stream->clock.page, now.mono_ns));

	return sfd_engine_stop(&stream->engine, tick,
			       sfd_ticks(&stream->config->layout, SFD_STOP_KEEP_MS));
}
