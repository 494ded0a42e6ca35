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
#define READ_TRIES 50
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

static void rebase(struct sfd_clock *clock, int64_t mono_ns, int64_t unix_ns, uint32_t shift)
{
	clock->page = (struct sf_shm_clock){
		.base_mono_ns = mono_ns, .base_unix_ns = unix_ns, .shift = shift};
}

void sfd_clock_init(struct sfd_clock *clock, struct sfd_now now, int64_t not_before_ns)
{
	clock->lead_ns = 0;
	rebase(clock, now.mono_ns, now.wall_ns, SHIFT_FULL_SPEED);
	if (not_before_ns > now.wall_ns + TOLERANCE_NS) {
		clock->lead_ns = not_before_ns - now.wall_ns;
		rebase(clock, now.mono_ns, not_before_ns, SHIFT_HALF_SPEED);
	}
}

enum sfd_clock_event sfd_clock_update(struct sfd_clock *clock, struct sfd_now now)
{
	int64_t shown = sf_shm_clock_unix_ns(&clock->page, now.mono_ns);
	int64_t lead = shown - now.wall_ns;
	int64_t old_lead = clock->lead_ns;
	int64_t tolerance = TOLERANCE_NS + now.error_ns;

	if (lead < -tolerance) {
		clock->lead_ns = 0;
		rebase(clock, now.mono_ns, now.wall_ns, SHIFT_FULL_SPEED);
		/* Slewing overshoots by what passes between two updates: that is no step. */
		return old_lead > 0 && -lead < old_lead ? SFD_CLOCK_CAUGHT_UP : SFD_CLOCK_FORWARD;
	}
	if (lead <= tolerance) {
		if (old_lead == 0)
			return SFD_CLOCK_STEADY;
		clock->lead_ns = 0;
		rebase(clock, now.mono_ns, shown, SHIFT_FULL_SPEED);
		return SFD_CLOCK_CAUGHT_UP;
	}
	clock->lead_ns = lead;
	if (old_lead == 0 || lead > old_lead + tolerance) {
		rebase(clock, now.mono_ns, shown, SHIFT_HALF_SPEED);
		return SFD_CLOCK_BACK;
	}
	return SFD_CLOCK_STEADY;
}
