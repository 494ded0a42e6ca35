/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See actor.h. A call that fails is tried again, so that one failure does not hide the next.
 */
#include "tests/chaos/actor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* IDs of a turn, and those between two looks at the clock. */
#define TURN_BLOCKS 64
#define TURN_RANGES 4
#define BLOCK 64
/* Blocks that took longer are looked at closely. */
#define LONG_NS INT64_C(1000000)
#define OPEN_NS INT64_C(15000000000)
#define OPEN_NAP_US 2000
#define REFUSED_NAP_US 1000
/* A stream of the policy `wait` makes callers wait for days: they ask again this often, and have
 * failed when they wait for something else as long as the others. */
#define WAIT_TIMEOUT_NS INT64_C(100000000)
/* Longest that a call may have to wait while everything fits its promise: a new client for twice a
 * runway of 2 s. More than that, so that a host with ten times more work than CPUs passes, where a
 * start of sfd takes longer than the runway. An ObjectId's tick is a second, and its runway twice
 * as long. */
#define TIMEOUT_NS INT64_C(10000000000)
#define SLOW_TIMEOUT_NS INT64_C(20000000000)

struct sf_client *chaos_open(unsigned stream)
{
	struct sf_options options = {.size = sizeof(options),
				     .timeout_ns = TIMEOUT_NS,
				     .socket = chaos->socket,
				     .stream = chaos_stream_name(stream)};
	int64_t deadline_ns = chaos_mono_ns() + OPEN_NS;
	struct sf_client *client;
	int error;

	if (stream == CHAOS_WAIT)
		options.timeout_ns = WAIT_TIMEOUT_NS;
	if (stream == CHAOS_OBJECTID)
		options.timeout_ns = SLOW_TIMEOUT_NS;
	while ((error = sf_open(&options, &client)) < 0) {
		if (chaos_is_over())
			exit(EXIT_SUCCESS);
		if (chaos_mono_ns() > deadline_ns) {
			chaos_find("stream %s: no client can be opened: %s",
				   chaos_stream_name(stream), sf_strerror(error));
			exit(EXIT_FAILURE);
		}
		chaos_nap_us(OPEN_NAP_US);
	}
	return client;
}

static struct chaos_lane *lane_of(const struct chaos_actor *actor)
{
	return actor->recorder.lane;
}

static void note_life(const struct chaos_actor *actor)
{
	atomic_fetch_add_explicit(&lane_of(actor)->progress, 1, memory_order_relaxed);
}

/**
 * A call failed. Where the stream's policy refuses or makes callers wait after a step back of the
 * wall, and the library says that this is why, that is as promised; everything else is a failure.
 */
static bool is_policy(const struct chaos_actor *actor, int error)
{
	return ((actor->stream == CHAOS_REFUSE && error == -ETIME) ||
		(actor->stream == CHAOS_WAIT && error == -ETIMEDOUT)) &&
	       sf_cursor_remaining_ms(actor->cursor) > 0;
}

/** A time-out of the short ones, which are not over together. */
static bool still_waits(struct chaos_actor *actor, int error)
{
	int64_t now_ns = chaos_mono_ns();

	if (actor->stream != CHAOS_WAIT || (error != -ETIMEDOUT && error != -ESHUTDOWN))
		return false;
	if (actor->waiting_ns == 0)
		actor->waiting_ns = now_ns - WAIT_TIMEOUT_NS;
	return now_ns - actor->waiting_ns < TIMEOUT_NS;
}

static void note_error(struct chaos_actor *actor, enum chaos_mode mode, int error)
{
	if (is_policy(actor, error)) {
		atomic_fetch_add_explicit(&chaos->refused, 1, memory_order_relaxed);
		actor->waiting_ns = 0;
		note_life(actor);
		chaos_nap_us(REFUSED_NAP_US);
		return;
	}
	if (still_waits(actor, error))
		return;
	atomic_fetch_add_explicit(&chaos->failed[mode], 1, memory_order_relaxed);
	chaos_find("failed call: stream %s, lane %u, %s: %s", chaos_stream_name(actor->stream),
		   (unsigned)(lane_of(actor) - chaos->lane), chaos_mode_name(mode),
		   sf_strerror(error));
	chaos_nap_us(REFUSED_NAP_US);
}

/* ---- one way each; @return 0 or the error of the call ---- */

static int take_next(struct chaos_actor *actor, unsigned count, bool is_library)
{
	struct sf_cursor *cursor = actor->cursor;
	uint64_t id;

	for (unsigned i = 0; i < count; i++) {
		int error = is_library ? chaos_next_library(cursor, &id) : sf_next(cursor, &id);

		if (error < 0)
			return error;
		chaos_record(&actor->recorder, 0, id);
		actor->last.low = id;
	}
	return 0;
}

static int take_next128(struct chaos_actor *actor, unsigned count, bool is_library)
{
	struct sf_cursor *cursor = actor->cursor;
	struct sf_wide id;

	for (unsigned i = 0; i < count; i++) {
		int error =
			is_library ? chaos_next128_library(cursor, &id) : sf_next128(cursor, &id);

		if (error < 0)
			return error;
		chaos_record(&actor->recorder, id.high, id.low);
		actor->last = (struct chaos_id){.low = id.low, .high = id.high};
	}
	return 0;
}

/** An ID of an ordered call must be above all that had been returned when the call began. */
static void check_ordered(const struct chaos_actor *actor, enum chaos_mode mode,
			  struct chaos_id before)
{
	if (chaos_is_less(before, actor->last)) {
		chaos_returned_raise(actor->stream, actor->last);
		return;
	}
	atomic_fetch_add_explicit(&chaos->order_ordered[mode], 1, memory_order_relaxed);
	chaos_find("order: stream %s, lane %u, %s: %016llx%016llx came after %016llx%016llx",
		   chaos_stream_name(actor->stream), (unsigned)(lane_of(actor) - chaos->lane),
		   chaos_mode_name(mode), (unsigned long long)actor->last.high,
		   (unsigned long long)actor->last.low, (unsigned long long)before.high,
		   (unsigned long long)before.low);
}

static int take_ordered(struct chaos_actor *actor, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct chaos_id before = chaos_returned(actor->stream);
		int error = sf_next_ordered(actor->cursor, &actor->last.low);

		if (error < 0)
			return error;
		chaos_record(&actor->recorder, 0, actor->last.low);
		check_ordered(actor, CHAOS_ORDERED, before);
	}
	return 0;
}

static int take_ordered128(struct chaos_actor *actor, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct chaos_id before = chaos_returned(actor->stream);
		struct sf_wide id;
		int error = sf_next128_ordered(actor->cursor, &id);

		if (error < 0)
			return error;
		chaos_record(&actor->recorder, id.high, id.low);
		actor->last = (struct chaos_id){.low = id.low, .high = id.high};
		check_ordered(actor, CHAOS_ORDERED128, before);
	}
	return 0;
}

static int take_fill(struct chaos_actor *actor, unsigned count)
{
	uint64_t id[BLOCK];
	int error = sf_fill(actor->cursor, id, count);

	if (error < 0)
		return error;
	for (unsigned i = 0; i < count; i++)
		chaos_record(&actor->recorder, 0, id[i]);
	actor->last.low = id[count - 1];
	return 0;
}

static int take_fill128(struct chaos_actor *actor, unsigned count)
{
	struct sf_wide id[BLOCK];
	int error = sf_fill128(actor->cursor, id, count);

	if (error < 0)
		return error;
	for (unsigned i = 0; i < count; i++)
		chaos_record(&actor->recorder, id[i].high, id[i].low);
	actor->last = (struct chaos_id){.low = id[count - 1].low, .high = id[count - 1].high};
	return 0;
}

static int take_range(struct chaos_actor *actor)
{
	struct sf_range range;
	int error = sf_claim_range(actor->cursor, CHAOS_RUN_MAX, &range);

	if (error < 0)
		return error;
	if (range.step != actor->recorder.step && range.count > 1)
		chaos_find("stream %s: a range of step %llu", chaos_stream_name(actor->stream),
			   (unsigned long long)range.step);
	chaos_record_run(&actor->recorder, 0, range.first, range.count);
	actor->last.low = range.first + (range.count - 1) * range.step;
	return 0;
}

static int take_range128(struct chaos_actor *actor)
{
	struct sf_range128 range;
	int error = sf_claim_range128(actor->cursor, CHAOS_RUN_MAX, &range);

	if (error < 0)
		return error;
	chaos_record_run(&actor->recorder, range.first.high, range.first.low, range.count);
	actor->last = (struct chaos_id){.low = range.first.low + range.count - 1,
					.high = range.first.high};
	return 0;
}

static int take(struct chaos_actor *actor, enum chaos_mode mode, unsigned count)
{
	switch (mode) {
	case CHAOS_NEXT:
	case CHAOS_NEXT_LIBRARY:
		return take_next(actor, count, mode == CHAOS_NEXT_LIBRARY);
	case CHAOS_ORDERED:
		return take_ordered(actor, count);
	case CHAOS_FILL:
		return take_fill(actor, count);
	case CHAOS_RANGE:
		return take_range(actor);
	case CHAOS_NEXT128:
	case CHAOS_NEXT128_LIBRARY:
		return take_next128(actor, count, mode == CHAOS_NEXT128_LIBRARY);
	case CHAOS_ORDERED128:
		return take_ordered128(actor, count);
	case CHAOS_FILL128:
		return take_fill128(actor, count);
	case CHAOS_RANGE128:
		return take_range128(actor);
	case CHAOS_MODES:
	default:
		return -EINVAL;
	}
}

/* ---- faults for the self-test ---- */

static void plant(struct chaos_actor *actor, enum chaos_mode mode)
{
	struct chaos_id id = actor->last;

	/* The product gives no such IDs: they are put in behind it. relaxed: one is enough. */
	if (atomic_load_explicit(&chaos->planted, memory_order_relaxed) > 2 || actor->turn < 20)
		return;
	switch (chaos->plant) {
	case CHAOS_PLANT_DUPLICATE:
		/* The last ID once more, as if another cursor had been given it. */
		chaos_record_begin(&actor->recorder, (unsigned)(lane_of(actor) - chaos->lane),
				   (struct chaos_id){0});
		chaos_record_run(&actor->recorder, id.high, id.low, 1);
		break;
	case CHAOS_PLANT_ORDER:
		/* One that nobody was given, below the last. */
		chaos_record_run(&actor->recorder, id.high, id.low - (UINT64_C(1) << 50), 1);
		break;
	case CHAOS_PLANT_ORDERED:
		actor->last.low--;
		check_ordered(actor, mode, id);
		break;
	case CHAOS_PLANT_FAILURE:
		note_error(actor, mode, -ESHUTDOWN);
		break;
	default:
		break;
	}
	atomic_fetch_add_explicit(&chaos->planted, 1, memory_order_relaxed);
}

/* ---- turns ---- */

static bool is_ordered(enum chaos_mode mode)
{
	return mode == CHAOS_ORDERED || mode == CHAOS_ORDERED128;
}

/** How long this thread has been ready to run while others ran; 0 where the kernel does not say. */
static int64_t cpu_wait_ns(const struct chaos_actor *actor)
{
	char text[64];
	ssize_t length = pread(actor->cpu_fd, text, sizeof(text) - 1, 0);
	char *rest;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	(void)strtoll(text, &rest, 10);
	return strtoll(rest, NULL, 10);
}

/** What a block took, less the wait for a CPU: there are more clients than CPUs. */
static int64_t own_ns(struct chaos_actor *actor, int64_t took_ns)
{
	int64_t before_ns = actor->cpu_wait_ns;

	if (took_ns < LONG_NS)
		return took_ns;
	actor->cpu_wait_ns = cpu_wait_ns(actor);
	took_ns -= actor->cpu_wait_ns - before_ns;
	return took_ns > 0 ? took_ns : 0;
}

static void begin_timing(struct chaos_actor *actor)
{
	actor->cpu_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	actor->cpu_wait_ns = cpu_wait_ns(actor);
}

/** Takes a block and times it, unless the client was held meanwhile. */
static void take_block(struct chaos_actor *actor, enum chaos_mode mode)
{
	struct chaos_lane *lane = lane_of(actor);
	_Atomic int64_t *longest_ns = &lane->longest_ns[actor->is_new];
	/* relaxed: numbers for the report */
	uint32_t stops = atomic_load_explicit(&lane->stops, memory_order_relaxed);
	int64_t began_ns = chaos_mono_ns() - actor->recorder.waited_ns;
	int error = take(actor, mode, BLOCK);
	int64_t took_ns = own_ns(actor, chaos_mono_ns() - actor->recorder.waited_ns - began_ns);

	if (error < 0) {
		note_error(actor, mode, error);
		return;
	}
	if (took_ns > atomic_load_explicit(longest_ns, memory_order_relaxed) &&
	    stops == atomic_load_explicit(&lane->stops, memory_order_relaxed))
		atomic_store_explicit(longest_ns, took_ns, memory_order_relaxed);
	actor->is_new = false;
	actor->waiting_ns = 0;
	if (!is_ordered(mode))
		chaos_returned_raise(actor->stream, actor->last);
	note_life(actor);
}

void chaos_actor_turn(struct chaos_actor *actor)
{
	bool is_wide = chaos->stream[actor->stream].is_wide != 0;
	enum chaos_mode mode = actor->turn++ % CHAOS_NARROW_MODES;
	unsigned blocks = mode == CHAOS_RANGE ? TURN_RANGES : TURN_BLOCKS;

	if (is_wide)
		mode += CHAOS_NARROW_MODES;
	chaos_record_mode(&actor->recorder, mode);
	for (unsigned i = 0; i < blocks && !chaos_is_over(); i++)
		take_block(actor, mode);
	if (chaos->plant != CHAOS_PLANT_NONE)
		plant(actor, mode);
}

void chaos_actor_begin(struct chaos_actor *actor, struct sf_client *client, unsigned lane)
{
	*actor = (struct chaos_actor){
		.stream = chaos->lane[lane].stream, .client = client, .is_new = true};
	if (sf_cursor_open(client, &actor->cursor) < 0) {
		chaos_find("stream %s: no cursor", chaos_stream_name(actor->stream));
		exit(EXIT_FAILURE);
	}
	chaos_record_begin(&actor->recorder, lane, (struct chaos_id){0});
	begin_timing(actor);
}

void chaos_actor_inherit(struct chaos_actor *actor, unsigned lane)
{
	(void)close(actor->cpu_fd);
	begin_timing(actor);
	chaos_record_begin(&actor->recorder, lane, actor->last);
}

void chaos_actor_end(struct chaos_actor *actor)
{
	sf_cursor_close(actor->cursor);
	actor->cursor = NULL;
	(void)close(actor->cpu_fd);
}
