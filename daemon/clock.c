/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The stream's clock; see clock.h. Called by the beat thread only.
 */
#include "daemon/clock.h"

#include <time.h>

/*
 * The two clocks are read one after the other, so their distance jitters by the time in between;
 * only more than this is a step. It is also how far the page may stray from the wall.
 */
#define TOLERANCE_NS INT64_C(100000)
/*
 * The wall may run at another rate than the monotonic clock, by 500 ppm while a leap second is
 * smeared: twice that is no step, as far as this time after the last look. (Linux steers both
 * clocks together; an emulated or faked wall is another matter.)
 */
#define DRIFT_DIVISOR 1000
#define DRIFT_WATCHED_NS INT64_C(10000000000)
/* A few tries get past a preemption; where reading a clock is slow, more of them get nowhere. */
#define READ_TRIES 5
#define READ_CLOSE_NS INT64_C(2000)

#define SHIFT_FULL_SPEED 0
#define SHIFT_HALF_SPEED 1

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct sfd_now sfd_clock_now(void)
{
	struct sfd_now best = {0};
	int64_t best_gap = INT64_MAX;

	for (int i = 0; i < READ_TRIES && best_gap > READ_CLOSE_NS; i++) {
		int64_t before = read_clock(CLOCK_MONOTONIC);
		int64_t wall = read_clock(CLOCK_REALTIME);
		int64_t gap = read_clock(CLOCK_MONOTONIC) - before;

		if (gap < best_gap) {
			best_gap = gap;
			best = (struct sfd_now){
				.mono_ns = before + gap / 2, .wall_ns = wall, .error_ns = gap / 2};
		}
	}
	return best;
}

static void run(struct sfd_clock *clock, int64_t mono_ns, int64_t unix_ns, uint32_t shift)
{
	clock->page = (struct sf_shm_clock){
		.base_mono_ns = mono_ns, .base_unix_ns = unix_ns, .shift = shift};
}

static int64_t later(int64_t mono_ns, int64_t ns)
{
	return mono_ns > INT64_MAX - ns ? INT64_MAX : mono_ns + ns;
}

/** Time is `unix_ns` and ahead of the wall by `lead_ns`: what the policy in force makes of it. */
static void fall_behind(struct sfd_clock *clock, int64_t mono_ns, int64_t unix_ns, int64_t lead_ns)
{
	static const enum sf_shm_behind behind[] = {
		[SFD_CLOCK_WAIT] = SF_SHM_BEHIND_WAIT,
		[SFD_CLOCK_REFUSE] = SF_SHM_BEHIND_REFUSE,
		[SFD_CLOCK_AHEAD] = SF_SHM_BEHIND_BORROW,
	};

	if (clock->lead_ns == 0) {
		clock->free_mono_ns = mono_ns;
		clock->free_unix_ns = unix_ns;
	}
	clock->lead_ns = lead_ns;
	if (clock->in_force == SFD_CLOCK_SLEW) {
		run(clock, mono_ns, unix_ns, SHIFT_HALF_SPEED);
		return;
	}
	/* A base that lies ahead: time stands still until then, and goes on by itself. */
	clock->page = (struct sf_shm_clock){.base_mono_ns = later(mono_ns, lead_ns),
					    .base_unix_ns = unix_ns,
					    .shift = SHIFT_FULL_SPEED,
					    .behind = behind[clock->in_force]};
}

/** The wall is there. */
static void catch_up(struct sfd_clock *clock, int64_t mono_ns, int64_t unix_ns)
{
	clock->lead_ns = 0;
	clock->drifts = false;
	clock->in_force = clock->policy;
	run(clock, mono_ns, unix_ns, SHIFT_FULL_SPEED);
}

/** How far the wall has stepped since the last look: 0 when what it moved is noise or drift. */
static int64_t step_since(const struct sfd_clock *clock, struct sfd_now now)
{
	int64_t passed = now.mono_ns - clock->seen.mono_ns;
	int64_t moved = now.wall_ns - clock->seen.wall_ns - passed;
	int64_t watched = passed < DRIFT_WATCHED_NS ? passed : DRIFT_WATCHED_NS;
	int64_t allowed =
		TOLERANCE_NS + now.error_ns + clock->seen.error_ns + watched / DRIFT_DIVISOR;

	return moved > allowed || moved < -allowed ? moved : 0;
}

/** While time stands still: by how much its end is wrong by now. */
static bool ends_wrongly(const struct sfd_clock *clock, struct sfd_now now, int64_t lead)
{
	int64_t wrong = clock->page.base_mono_ns - later(now.mono_ns, lead);
	int64_t tolerance = TOLERANCE_NS + now.error_ns;

	return wrong > tolerance || wrong < -tolerance;
}

void sfd_clock_init(struct sfd_clock *clock, enum sfd_clock_policy policy, struct sfd_now now,
		    const struct sfd_clock_start *start)
{
	*clock = (struct sfd_clock){
		.policy = policy, .in_force = policy, .seen = now, .slews_from_ns = INT64_MAX};
	run(clock, now.mono_ns, now.wall_ns, SHIFT_FULL_SPEED);
	if (start->not_before_ns <= now.wall_ns + TOLERANCE_NS)
		return;
	if (!start->went_back)
		clock->in_force = SFD_CLOCK_SLEW;
	else if (start->stored_unix_ns > 0)
		clock->slews_from_ns = start->stored_unix_ns;
	fall_behind(clock, now.mono_ns, start->not_before_ns, start->not_before_ns - now.wall_ns);
}

/** Callers wait or are refused. */
static bool holds_up(const struct sfd_clock *clock)
{
	return clock->in_force == SFD_CLOCK_WAIT || clock->in_force == SFD_CLOCK_REFUSE;
}

/** The page is ahead of the wall. */
static enum sfd_clock_event update_ahead(struct sfd_clock *clock, struct sfd_now now, int64_t step)
{
	int64_t shown = sf_shm_clock_unix_ns(&clock->page, now.mono_ns);
	int64_t lead = shown - now.wall_ns;

	if (step < 0) {
		clock->in_force = clock->policy;
		clock->drifts = false;
		clock->slews_from_ns = INT64_MAX;
		fall_behind(clock, now.mono_ns, shown, lead);
		return SFD_CLOCK_BACK;
	}
	if (clock->lead_ns == 0) { /* the wall is slow: no reason to hold anyone up */
		clock->in_force = SFD_CLOCK_SLEW;
		clock->drifts = true;
		fall_behind(clock, now.mono_ns, shown, lead);
		return SFD_CLOCK_FOLLOWED;
	}
	if (holds_up(clock) && now.wall_ns >= clock->slews_from_ns)
		clock->in_force = SFD_CLOCK_SLEW;
	else if (clock->in_force == SFD_CLOCK_SLEW || !ends_wrongly(clock, now, lead)) {
		clock->lead_ns = lead;
		return step > 0 ? SFD_CLOCK_FORWARD : SFD_CLOCK_STEADY;
	}
	fall_behind(clock, now.mono_ns, shown, lead);
	return step > 0 ? SFD_CLOCK_FORWARD : SFD_CLOCK_FOLLOWED;
}

enum sfd_clock_event sfd_clock_update(struct sfd_clock *clock, struct sfd_now now)
{
	int64_t shown = sf_shm_clock_unix_ns(&clock->page, now.mono_ns);
	int64_t lead = shown - now.wall_ns;
	int64_t tolerance = TOLERANCE_NS + now.error_ns;
	int64_t step = step_since(clock, now);
	bool was_behind = sfd_clock_is_behind(clock);

	clock->seen = now;
	if (lead > tolerance)
		return update_ahead(clock, now, step);
	if (lead >= -tolerance && clock->lead_ns == 0)
		return SFD_CLOCK_STEADY;
	catch_up(clock, now.mono_ns, lead < -tolerance ? now.wall_ns : shown);
	if (lead < -tolerance && step > 0)
		return SFD_CLOCK_FORWARD;
	return was_behind ? SFD_CLOCK_CAUGHT_UP : SFD_CLOCK_FOLLOWED;
}

bool sfd_clock_is_behind(const struct sfd_clock *clock)
{
	return clock->lead_ns > 0 && !clock->drifts;
}

int64_t sfd_clock_remaining_ns(const struct sfd_clock *clock)
{
	/* At half speed the lead is used up after twice its length. */
	return clock->in_force == SFD_CLOCK_SLEW ? later(clock->lead_ns, clock->lead_ns)
						 : clock->lead_ns;
}

int64_t sfd_clock_free_ns(const struct sfd_clock *clock, int64_t mono_ns)
{
	return clock->free_unix_ns + (mono_ns - clock->free_mono_ns);
}

bool sfd_clock_borrow(struct sfd_clock *clock, struct sfd_now now, int64_t borrowed_unix_ns)
{
	int64_t more = borrowed_unix_ns - clock->page.base_unix_ns;

	if (sf_shm_clock_behind(&clock->page, now.mono_ns) != SF_SHM_BEHIND_BORROW || more <= 0)
		return false;
	fall_behind(clock, now.mono_ns, borrowed_unix_ns, clock->lead_ns + more);
	return true;
}
