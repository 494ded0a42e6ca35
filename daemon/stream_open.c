/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Opening a stream on what the stores and the sfd before have left; see stream.h.
 */
#include "daemon/stream.h"

#include "daemon/log.h"
#include "shm/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* sequence_start = spread: start below this, and below a sixteenth of the tick. */
#define SPREAD_MAX 256u

/** What the stores of the last daemon demand of this one. */
struct beginning {
	int64_t open_mono_ns; /* a ring of this boot may be claimed from until then */
	uint64_t above;       /* first tick must be larger */
	uint64_t mark;        /* as it was stored last */
	uint64_t others;      /* last tick that other streams' marks promise for our machine ids */
	uint64_t generation;  /* of the last ring, if nothing came after it; else 0 */
	uint64_t horizon;     /* of that ring: what may have been published of it */
	struct sfd_clock_start clock;
};

/** The time page starts no earlier than a tick; one past the layout's end is refused later. */
static void not_before(struct beginning *beginning, const struct sf_layout *layout, uint64_t tick)
{
	int64_t start_ns;

	if (tick > sf_shm_last_tick(layout))
		return;
	start_ns = sf_shm_tick_start_ns(layout, tick);
	if (start_ns > beginning->clock.not_before_ns)
		beginning->clock.not_before_ns = start_ns;
}

static void not_open_before(struct beginning *beginning, int64_t mono_ns)
{
	if (mono_ns > beginning->open_mono_ns)
		beginning->open_mono_ns = mono_ns;
}

/** Time goes on where the last daemon's page is by now. */
static void go_on_from(struct beginning *beginning, const struct sf_layout *layout,
		       const struct sf_shm_clock *page, int64_t mono_ns)
{
	int64_t unix_ns = sf_shm_clock_unix_ns(page, mono_ns);

	/* Nothing was given past the layout's end: a clock that was wrong there may be set right.
	 */
	if (sf_shm_tick_at(layout, unix_ns) > sf_shm_last_tick(layout))
		return;
	beginning->clock.not_before_ns = unix_ns;
	/* A page at half speed was ahead already; any other one showed the wall's time. */
	beginning->clock.went_back = page->shift == 0;
}

/** What the stores know the stream by. */
static struct sfd_identity identity_of(const struct sfd_stream_config *config)
{
	struct sfd_identity identity = {.layout = config->layout, .node_count = config->node_count};

	memcpy(identity.node, config->node, config->node_count * sizeof(config->node[0]));
	if (config->layout.format == SF_FORMAT_HOUND)
		sfd_identity_of_machine(&identity, config->machine);
	return identity;
}

static int open_stores(struct sfd_stream *stream, const struct sfd_config *config,
		       const char *boot_id, struct beginning *ret, struct sf_why *why)
{
	const struct sfd_stream_config *own = stream->config;
	struct sfd_identity identity = identity_of(own);
	struct sfd_runtime_found here;
	struct sfd_mark_found found;
	int error;

	error = sfd_mark_open(config->state_dir, own->name, &identity, &stream->mark, &found, why);
	if (error < 0)
		return error;
	error = sfd_runtime_open(config->runtime_dir, own->name, &identity, boot_id,
				 &stream->runtime, &here, why);
	if (error < 0)
		return error;
	stream->session = found.restarts + 1;
	*ret = (struct beginning){.above = found.tick, .mark = found.tick, .others = found.others};
	if (here.horizon != 0) {
		/*
		 * A daemon of this boot kept this record: it is exact, and time goes on where that
		 * daemon's page is by now. It says nothing of our machine ids on other streams;
		 * their marks do. And if another daemon ran in between, or the mark is damaged, the
		 * two do not agree on the session: then both count. So they do when the mark is
		 * none of this boot, and its session a number of another count.
		 */
		if (here.session == found.restarts && found.is_of_boot) {
			ret->above = found.others;
			ret->generation = here.generation;
			ret->horizon = here.horizon;
		}
		go_on_from(ret, &own->layout, &here.clock, stream->started_mono_ns);
		/* By the page that its clients look at, whatever ours will show. A ring that was
		 * behind ended with its daemon. */
		ret->open_mono_ns = here.open_mono_ns;
		if (here.clock.behind == SF_SHM_BEHIND_NOTHING)
			not_open_before(
				ret, sf_shm_clock_mono_ns(
					     &here.clock,
					     sf_shm_tick_start_ns(&own->layout, here.horizon + 1)));
	}
	if (here.horizon >= ret->above) {
		ret->above = here.horizon;
	} else {
		/* A mark is ahead of all that was published: start at once, and slew. */
		not_before(ret, &own->layout, ret->above + 1);
		ret->clock.went_back = stream->started_unix_ns < found.written_unix_ns;
		ret->clock.stored_unix_ns = found.written_unix_ns;
	}
	return 0;
}

static void start_engine(struct sfd_stream *stream, const struct beginning *beginning)
{
	struct sfd_engine *engine = &stream->engine;
	uint32_t sixteenth = stream->ring.shm.grants->capacity / 16;
	uint64_t seed = 0;

	sfd_engine_init(engine, &stream->ring.shm, stream->runtime, stream->stats);
	if (stream->config->sequence_spread)
		engine->spread = sixteenth < SPREAD_MAX ? sixteenth : SPREAD_MAX;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed) && seed != 0)
		engine->random = seed;
	stream->runtime->open_mono_ns = beginning->open_mono_ns;
	sf_shm_time_write(&stream->ring.shm.grants->time, &stream->clock.page);
	sf_shm_time_write(&stream->runtime->time, &stream->clock.page);
	/* Exact before anything is published: a start that fails later costs the next one nothing.
	 * Relaxed: the beat thread does not exist yet. */
	atomic_store_explicit(&stream->runtime->horizon, engine->horizon, memory_order_relaxed);
}

/** The first random bits: later failures would be too late to tell. */
static int draw_bases(struct sfd_stream *stream, struct sf_why *why)
{
	int error = 0;

	if (stream->config->layout.format != SF_FORMAT_SNOWFLAKE)
		error = sfd_engine_draw(&stream->engine);
	if (error < 0)
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: no random bits from the kernel: %s; allow getrandom(2)",
			       stream->config->name, strerrordesc_np(-error));
	return error;
}

/** The ring of the sfd before goes on. @return whether it does */
static bool adopt_ring(struct sfd_stream *stream, struct beginning *beginning,
		       const struct sfd_stream_legacy *legacy)
{
	uint64_t granted;
	struct sf_why why = {0};

	if (!legacy || legacy->grants_fd < 0 || legacy->claims_fd < 0)
		return false;
	if (beginning->generation == 0)
		(void)snprintf(why.text, sizeof(why.text),
			       "stream %s: the ring of the sfd before cannot be taken over: the "
			       "records name no ring, or another sfd ran since",
			       stream->config->name);
	else if (sfd_ring_adopt(&stream->ring, stream->config, legacy->grants_fd, legacy->claims_fd,
				beginning->generation, &why) == 0) {
		struct sf_shm_ring *ring = &stream->ring.shm;

		/* What that sfd was publishing when it was killed may have been claimed from, by
		 * clients that saw an earlier horizon: none of it is published again. */
		if (sf_shm_horizon(ring) < beginning->horizon)
			sf_shm_horizon_set(ring, beginning->horizon);
		/* What another stream used our machine ids for lies below, or a ring is of no use.
		 */
		if (sf_shm_horizon(ring) >= beginning->others)
			return true;
		sfd_ring_deinit(&stream->ring);
		(void)snprintf(why.text, sizeof(why.text),
			       "stream %s: another stream's mark is above the ring of the sfd "
			       "before",
			       stream->config->name);
	}
	/* Whatever the stores say or have lost: its clients still claim from it. */
	granted = sfd_ring_granted(legacy->grants_fd, &stream->config->layout);
	if (granted > beginning->above)
		beginning->above = granted;
	sfd_log(SFD_LOG_WARNING, "%s; a new ring starts above it", why.text);
	return false;
}

/** Nothing is left of the layout's time, by the clock or by what was promised before. */
static int refuse_end(const struct sfd_stream *stream, uint64_t above, struct sf_why *why)
{
	const struct sf_layout *layout = &stream->config->layout;
	char end[SF_WORDS_MAX];
	char wall[SF_WORDS_MAX];

	sf_time_words(sf_layout_last_ms(layout), end);
	sf_time_words(stream->started_unix_ns / 1000000, wall);
	if (above >= sf_shm_last_tick(layout))
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: IDs up to the layout's end, %s, may have been given: "
			       "choose another machine id, in a stream of another name or with a "
			       "layout that has a later end",
			       stream->config->name, end);
	else
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: the clock shows %s, the layout ended %s: set the clock "
			       "if it is wrong, else choose a layout with a later end",
			       stream->config->name, wall, end);
	return -EOVERFLOW;
}

/** A ring above everything that was promised. */
static int make_ring(struct sfd_stream *stream, const struct beginning *beginning,
		     struct sf_why *why)
{
	const struct sf_layout *layout = &stream->config->layout;
	uint64_t first = sf_shm_tick_at(
		layout, sf_shm_clock_unix_ns(&stream->clock.page, stream->started_mono_ns));
	int error;

	if (first <= beginning->above)
		first = beginning->above + 1;
	if (first > sf_shm_last_tick(layout))
		return refuse_end(stream, beginning->above, why);
	error = sfd_ring_init(&stream->ring, stream->config, first, why);
	if (error == 0)
		stream->ring.shm.grants->open_mono_ns = beginning->open_mono_ns;
	return error;
}

/** Stores the first mark of this session, in both places: if one rots, the other must be a promise
 *  of this session, too. */
static int store_mark(struct sfd_stream *stream, uint64_t mark)
{
	int error = sfd_mark_store(stream->mark, mark);

	if (error == 0)
		error = sfd_mark_store(stream->mark, mark);
	if (error < 0)
		return error;
	sfd_stats_add(stream->stats, SF_COUNTER_mark_writes, 2);
	sfd_stream_session_begin(stream);
	return 0;
}

/**
 * An adopted ring has a mark, and clients that need not wait for a disk: with a runway left below
 * that mark it goes on, and the control loop raises it in time. After a clean stop, whose mark is
 * exact, there is none left; but a disk that fails then is no reason to end, either.
 */
static int begin_mark(struct sfd_stream *stream, const struct beginning *beginning,
		      const char *state_dir, struct sf_why *why)
{
	const struct sf_shm_grants *grants = stream->ring.shm.grants;
	uint64_t mark = beginning->mark;
	int error = 0;

	if (!stream->adopted || mark < stream->engine.horizon + grants->runway_ticks) {
		mark = sfd_stream_mark_for(stream, stream->engine.horizon + 1);
		error = store_mark(stream, mark);
	}
	if (error < 0) {
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: the mark cannot be stored in %s: %s",
			       stream->config->name, state_dir, strerrordesc_np(-error));
		if (!stream->adopted)
			return error;
		sfd_log(SFD_LOG_ERROR, "%s; the last one still counts", why->text);
		mark = beginning->mark;
	}
	/* relaxed: the beat thread does not exist yet */
	atomic_store_explicit(&stream->mark_tick, mark, memory_order_relaxed);
	return 0;
}

int sfd_stream_check_mark(const struct sfd_stream *stream, const char *state_dir,
			  struct sf_why *why)
{
	struct sfd_identity identity = identity_of(stream->config);
	struct sfd_mark_found found;
	struct sfd_mark *mark;
	int error = sfd_mark_open(state_dir, stream->config->name, &identity, &mark, &found, why);

	if (error == 0)
		(void)sfd_mark_close(mark);
	return error;
}

void sfd_stream_session_begin(struct sfd_stream *stream)
{
	/* After the mark says so too: until then the runtime record and the mark disagree, and the
	 * mark wins. */
	stream->runtime->session = stream->session;
}

int sfd_stream_open(struct sfd_stream *stream, const struct sfd_config *config,
		    const struct sfd_stream_config *stream_config, const char *boot_id,
		    const struct sfd_stream_legacy *legacy, struct sf_why *why)
{
	struct sfd_now now = sfd_clock_now();
	struct beginning beginning;
	int error;

	*stream = (struct sfd_stream){.config = stream_config,
				      .ring = {.grants_fd = -1, .claims_fd = -1},
				      .stats_fd = -1,
				      .started_unix_ns = now.wall_ns,
				      .started_mono_ns = now.mono_ns};
	error = open_stores(stream, config, boot_id, &beginning, why);
	if (error < 0)
		goto out;
	sfd_clock_init(&stream->clock, stream_config->clock_backward, now, &beginning.clock);
	stream->behind_told = sfd_clock_is_behind(&stream->clock); /* the caller tells */
	stream->adopted = adopt_ring(stream, &beginning, legacy);
	if (!stream->adopted)
		error = make_ring(stream, &beginning, why);
	if (error == 0)
		error = sfd_stats_open(stream_config->name,
				       legacy && stream->adopted ? legacy->stats_fd : -1,
				       &stream->stats, &stream->stats_fd, why);
	if (error < 0)
		goto out;
	sfd_stats_set(stream->stats, SF_COUNTER_restarts, stream->session - 1);
	sfd_stream_tell_clock(stream);
	start_engine(stream, &beginning);
	error = draw_bases(stream, why);
	if (error == 0)
		error = begin_mark(stream, &beginning, config->state_dir, why);
	if (error < 0)
		goto out;
	return 0;

out:
	sfd_stream_close(stream);
	return error;
}

void sfd_stream_close(struct sfd_stream *stream)
{
	stream->mark = sfd_mark_close(stream->mark);
	stream->runtime = sfd_runtime_close(stream->runtime);
	stream->stats = sfd_stats_close(stream->stats);
	if (stream->stats_fd >= 0)
		(void)close(stream->stats_fd);
	stream->stats_fd = -1;
	sfd_ring_deinit(&stream->ring);
}
