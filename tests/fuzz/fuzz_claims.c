/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: all that clients can write is the fuzzer's, and the real daemon has its turns on it.
 * Two streams: the first one's claims are written at random and holes are punched into them, with
 * honest clients in between; the second has honest clients only and must not notice. What must hold
 * after each step: a turn's work is bounded, nothing is published beyond the mark or the layout,
 * the horizon only rises, counts stay within what was granted, and the second stream's are exact.
 *
 * A stream is put together here without its stores.
 */
#include "daemon/stream.h"
#include "tests/fuzz/feed.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define FIRST_MONO_NS INT64_C(1000000000000000)
#define FIRST_WALL_NS INT64_C(1767225600000000000)
#define OWNER 4242u

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** One stream, and what is known of it without looking at its claims. */
struct subject {
	struct sfd_stream_config config;
	struct sfd_runtime runtime;
	struct sfd_stats stats;
	struct sfd_stream stream;
	uint64_t horizon;   /* as of the last look */
	uint64_t granted;   /* the highest tick ever published; a stop takes some back */
	uint64_t taken;     /* counters that honest clients were given */
	uint64_t last_take; /* the highest tick among them */
};

enum action {
	PASS,
	STEP_WALL,
	CLAIM_FIRST,
	CLAIM_SECOND,
	RAISE_MARK,
	HAND_OVER,
	WRITE_WORD,
	WRITE_BYTE,
	PUNCH,
	FORGE_CLAIM,
	FORGE_FLOOR,
	ACTIONS,
};

static struct sfd_now now;

/* ---- making ---- */

static uint64_t mark_of(const struct subject *subject)
{
	return atomic_load_explicit(&subject->stream.mark_tick, memory_order_relaxed);
}

static uint64_t clock_tick(const struct subject *subject)
{
	return sf_shm_tick_at(&subject->config.layout,
			      sf_shm_clock_unix_ns(&subject->stream.clock.page, now.mono_ns));
}

static void configure(struct sfd_stream_config *config, struct feed *feed)
{
	static const char *const layouts[] = {"twitter", "ulid", "sonyflake", "t45 n10 s4 epoch=0",
					      "objectid"};
	struct sf_why why;

	*config = (struct sfd_stream_config){.name = "fuzzed", .runway_ms = 8};
	require(sf_layout_parse(layouts[feed_u8(feed) % (sizeof(layouts) / sizeof(layouts[0]))],
				&config->layout, &why) == 0);
	config->runway_ms *= config->layout.tick_ms;
	config->clock_backward = feed_u8(feed) % 4;
	config->sequence_spread = feed_u8(feed) % 2;
	if (config->layout.format == SF_FORMAT_SNOWFLAKE)
		config->node[config->node_count++] = 5;
}

static void start_engine(struct subject *subject)
{
	struct sfd_stream *stream = &subject->stream;

	sfd_engine_init(&stream->engine, &stream->ring.shm, &subject->runtime, &subject->stats);
	stream->engine.owner = OWNER;
	if (subject->config.sequence_spread)
		stream->engine.spread = stream->ring.shm.grants->capacity / 16;
	sf_shm_time_write(&stream->ring.shm.grants->time, &stream->clock.page);
	atomic_store_explicit(&subject->runtime.horizon, stream->engine.horizon,
			      memory_order_relaxed);
}

static void make(struct subject *subject, struct feed *feed)
{
	struct sfd_stream *stream = &subject->stream;
	struct sfd_clock_start start = {0};
	struct sf_why why;

	*subject = (struct subject){0};
	configure(&subject->config, feed);
	*stream = (struct sfd_stream){
		.config = &subject->config, .runtime = &subject->runtime, .stats = &subject->stats};
	start.went_back = feed_u8(feed) % 2;
	start.not_before_ns = now.wall_ns + (feed_u8(feed) - 200) * SECOND; /* mostly before */
	sfd_clock_init(&stream->clock, subject->config.clock_backward, now, &start);
	require(sfd_ring_init(&stream->ring, &subject->config, clock_tick(subject), &why) == 0);
	start_engine(subject);
	subject->horizon = stream->engine.horizon;
	atomic_store_explicit(&stream->mark_tick,
			      subject->horizon + 1 +
				      sfd_ticks(&subject->config.layout, SFD_MARK_AHEAD_MS),
			      memory_order_relaxed);
}

/* ---- what must hold ---- */

/** Published so far, which bounds what can have been claimed. */
static uint64_t granted(const struct subject *subject)
{
	return sfd_stats_get(&subject->stats, SF_COUNTER_ticks_published) *
	       subject->stream.ring.shm.grants->capacity;
}

static void check_counts(const struct subject *subject)
{
	const struct sfd_stream *stream = &subject->stream;

	require(sfd_engine_claimed(&stream->engine) <= granted(subject));
	require(stream->engine.demand.second <= granted(subject));
	require(stream->engine.demand.window <= granted(subject));
	require(sfd_engine_claimed_up_to(&stream->engine) <= stream->engine.horizon);
	require(sfd_stats_get(stream->stats, SF_COUNTER_slots_spoilt) <=
		sfd_stats_get(stream->stats, SF_COUNTER_ticks_published));
}

/** The half that clients cannot write says what the engine meant. */
static void check_grants(const struct subject *subject)
{
	const struct sf_shm_ring *ring = &subject->stream.ring.shm;

	for (uint64_t slot = 0; slot <= ring->mask; slot++) {
		uint64_t tick = atomic_load_explicit(&ring->grant[slot].tick, memory_order_relaxed);
		uint32_t capacity =
			atomic_load_explicit(&ring->grant[slot].capacity, memory_order_relaxed);

		require(tick == 0 || (tick & ring->mask) == slot);
		require(tick <= subject->granted);
		require(capacity <= ring->grants->capacity);
	}
}

static void turn(struct subject *subject)
{
	struct sfd_stream *stream = &subject->stream;
	const struct sf_shm_grants *grants = stream->ring.shm.grants;
	uint64_t published = sfd_stats_get(stream->stats, SF_COUNTER_ticks_published);
	unsigned news = SFD_TURN_QUIET;
	int64_t next = sfd_stream_turn(stream, now, &news);

	require(next > now.mono_ns); /* nobody makes the beat thread spin */
	published = sfd_stats_get(stream->stats, SF_COUNTER_ticks_published) - published;
	require(published <= (uint64_t)grants->runway_ticks + 1);
	require(stream->engine.horizon >= subject->horizon);
	subject->horizon = stream->engine.horizon;
	if (subject->granted < subject->horizon)
		subject->granted = subject->horizon;
	require(sf_shm_horizon(&stream->ring.shm) == subject->horizon);
	require(subject->horizon <= mark_of(subject));
	require(subject->horizon <= grants->last_tick);
	/* what a killed daemon leaves covers what it published */
	require(atomic_load_explicit(&subject->runtime.horizon, memory_order_relaxed) ==
		subject->horizon);
	check_counts(subject);
	check_grants(subject);
}

/** What honest clients of the second stream were given is counted to the last one. */
static void check_untouched(const struct subject *second)
{
	require(sfd_engine_claimed(&second->stream.engine) == second->taken);
	require(sfd_stats_get(&second->stats, SF_COUNTER_slots_spoilt) == 0);
}

/** @return the last tick of a clean stop */
static uint64_t stop(struct subject *subject)
{
	uint64_t last = sfd_stream_stop(&subject->stream, now);

	require(last <= subject->horizon);
	require(last + 1 >= subject->stream.ring.shm.grants->first_tick);
	require(sf_shm_horizon(&subject->stream.ring.shm) == last);
	check_counts(subject);
	return last;
}

/** The next sfd goes on with the claims as they are, after a pause or a clean stop. */
static void hand_over(struct subject *subject, bool is_stop)
{
	struct sfd_stream *stream = &subject->stream;
	struct sfd_ring old = stream->ring;
	struct sf_why why = {""};

	if (is_stop)
		subject->horizon = stop(subject);
	require(sfd_ring_adopt(&stream->ring, &subject->config, old.grants_fd, old.claims_fd,
			       old.shm.grants->generation, &why) == 0);
	sfd_ring_deinit(&old);
	start_engine(subject);
	require(stream->engine.horizon == subject->horizon);
	check_counts(subject);
}

/** A clean stop leaves what was taken below its last tick, and nobody gets anything above. */
static void stop_untouched(struct subject *second)
{
	uint64_t last = stop(second);
	struct sf_shm_range range;

	require(last >= second->last_take);
	for (uint64_t tick = last + 1; tick <= second->horizon; tick++)
		require(sf_shm_claim(&second->stream.ring.shm, tick, 1, &range) != SF_SHM_CLAIM_OK);
}

/* ---- clients ---- */

/** An honest one, as the slow path does it: from the clock's tick or the floor on. */
static void claim(struct subject *subject, uint32_t n)
{
	const struct sf_shm_ring *ring = &subject->stream.ring.shm;
	uint64_t tick = sf_shm_floor(ring);
	struct sf_shm_range range;

	if (tick < clock_tick(subject) || tick > sf_shm_horizon(ring))
		tick = clock_tick(subject);
	for (; tick <= sf_shm_horizon(ring); tick++) {
		if (sf_shm_claim(ring, tick, n, &range) != SF_SHM_CLAIM_OK)
			continue;
		require(range.tick == tick && range.count >= 1 && range.count <= n);
		require(range.first < range.capacity &&
			range.count <= range.capacity - range.first);
		sf_shm_floor_raise(ring, tick);
		subject->taken += range.count;
		if (tick > subject->last_take)
			subject->last_take = tick;
		return;
	}
}

/* ---- the fuzzer's own writes ---- */

/** A word that comes close to meaning something: a tick of the ring, a counter at its limits. */
static uint64_t forge_word(struct feed *feed, const struct sf_shm_ring *ring)
{
	static const uint32_t counters[] = {0,          1,          15,         16,
					    4095,       4096,       0x3fffffff, 0x40000000,
					    0x7fffffff, 0x80000000, 0xffffffff};
	uint64_t tick = sf_shm_horizon(ring) + 2 - feed_u8(feed) % (2 * (ring->mask + 1));

	return sf_shm_word(tick,
			   counters[feed_u8(feed) % (sizeof(counters) / sizeof(counters[0]))]);
}

static void scribble(const struct subject *subject, struct feed *feed, enum action action)
{
	const struct sf_shm_ring *ring = &subject->stream.ring.shm;
	const uint64_t bytes = ring->grants->claims_bytes;
	uint64_t at = feed_u16(feed);
	uint64_t value;

	if (action == WRITE_WORD) {
		value = feed_u64(feed);
		memcpy((char *)ring->claims + at % (bytes / 8) * 8, &value, sizeof(value));
	} else if (action == WRITE_BYTE) {
		((uint8_t *)ring->claims)[at % bytes] = feed_u8(feed);
	} else if (action == PUNCH) {
		require(fallocate(subject->stream.ring.claims_fd,
				  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(at % bytes),
				  (off_t)feed_u16(feed) + 1) == 0);
	} else if (action == FORGE_CLAIM) {
		value = forge_word(feed, ring);
		atomic_store_explicit(&ring->claim[value >> 32 & ring->mask].word, value,
				      memory_order_relaxed);
	} else {
		value = at % 2 ? sf_shm_horizon(ring) + at / 2 - 64 : feed_u64(feed);
		atomic_store_explicit(&ring->claims->floor, value, memory_order_relaxed);
	}
}

/** The disk has what was asked for. */
static void raise_mark(struct subject *subject)
{
	uint64_t wanted = atomic_load_explicit(&subject->stream.mark_wanted, memory_order_relaxed);

	if (wanted > mark_of(subject))
		atomic_store_explicit(&subject->stream.mark_tick, wanted, memory_order_relaxed);
}

/** Up to a minute goes by: the daemon may have been stopped meanwhile. */
static void pass(struct feed *feed)
{
	static const int64_t units[] = {MS / 16, MS, 16 * MS, 256 * MS};
	int64_t unit = units[feed_u8(feed) % 4];
	int64_t ns = feed_u8(feed) * unit;

	now.mono_ns += ns;
	now.wall_ns += ns;
}

static void act(struct subject *first, struct subject *second, struct feed *feed)
{
	enum action action = feed_u8(feed) % ACTIONS;

	switch (action) {
	case PASS:
		pass(feed);
		turn(first);
		turn(second);
		break;
	case STEP_WALL:
		now.wall_ns += ((int64_t)feed_u16(feed) - 0x8000) * SECOND / 8;
		break;
	case CLAIM_FIRST:
		claim(first, feed_u16(feed) % SF_SHM_CLAIM_MAX + 1);
		break;
	case CLAIM_SECOND:
		claim(second, feed_u16(feed) % SF_SHM_CLAIM_MAX + 1);
		break;
	case RAISE_MARK:
		raise_mark(first);
		raise_mark(second);
		break;
	case HAND_OVER:
		hand_over(first, feed_u8(feed) % 2);
		hand_over(second, feed_u8(feed) % 2);
		require(second->horizon >= second->last_take);
		turn(first);
		turn(second);
		break;
	case WRITE_WORD:
	case WRITE_BYTE:
	case PUNCH:
	case FORGE_CLAIM:
	case FORGE_FLOOR:
	case ACTIONS:
		scribble(first, feed, action);
		break;
	}
	check_untouched(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = {data, size};
	struct subject first;
	struct subject second;

	now = (struct sfd_now){.mono_ns = FIRST_MONO_NS, .wall_ns = FIRST_WALL_NS};
	make(&first, &feed);
	make(&second, &feed);
	turn(&first);
	turn(&second);
	while (feed.left > 0)
		act(&first, &second, &feed);
	(void)stop(&first);
	stop_untouched(&second);
	sfd_ring_deinit(&first.stream.ring);
	sfd_ring_deinit(&second.stream.ring);
	return 0;
}
