/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream without a daemon; see ring_fixture.h.
 */
#include "tests/support/ring_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The time page begins this long before the first tick, so that a test's clock may go back. */
#define BEFORE_NS (INT64_C(7200000) * T_MS)
#define FIRST_MONO_NS INT64_C(1000000000000000)

_Atomic int64_t t_mono_ns;
int64_t t_mono_step_ns;
int64_t t_slept_until[64];
unsigned t_sleeps;
struct t_ring *t_sleep_ring;
void (*t_woken)(void);
char t_client_said[256];

static void configure(struct t_ring *ring, const struct t_ring_setup *setup)
{
	struct sfd_stream_config *config = &ring->config;
	const char *layout = setup->layout ? setup->layout : "twitter";
	struct sf_why why;

	ck_assert_msg(sf_layout_parse(layout, &config->layout, &why) == 0, "%s", why.text);
	memcpy(config->name, "default", sizeof("default"));
	config->node_count = setup->node_count ? setup->node_count : 1;
	if (setup->node_count)
		memcpy(config->node, setup->node, sizeof(setup->node));
	else
		config->node[0] = 5;
	if (config->layout.format != SF_FORMAT_SNOWFLAKE)
		config->node_count = 0;
	config->machine = T_MACHINE;
	config->ahead_ms = setup->ahead_ms;
	config->runway_ms =
		(setup->runway_ticks ? setup->runway_ticks : 8) * config->layout.tick_ms;
}

void t_ring_init(struct t_ring *ring, const struct t_ring_setup *setup)
{
	uint64_t first = setup->first_tick ? setup->first_tick : T_TICK;
	struct sf_shm_clock page = {.base_mono_ns = FIRST_MONO_NS - BEFORE_NS};
	struct sf_why why;

	*ring = (struct t_ring){.mark = UINT64_MAX};
	configure(ring, setup);
	ck_assert_msg(sfd_ring_init(&ring->memory, &ring->config, first, &why) == 0, "%s",
		      why.text);
	sfd_engine_init(&ring->engine, &ring->memory.shm, &ring->runtime, &ring->stats);
	ring->engine.owner = T_OWNER;
	page.base_unix_ns = sf_shm_tick_start_ns(&ring->config.layout, first) - BEFORE_NS;
	sf_shm_time_write(&ring->memory.shm.grants->time, &page);
	t_mono_step_ns = 0;
	t_sleeps = 0;
	t_sleep_ring = NULL;
	t_woken = NULL;
	t_client_said[0] = '\0';
	t_ring_clock(ring, first);
}

void t_ring_deinit(struct t_ring *ring)
{
	t_sleep_ring = NULL;
	sfd_ring_deinit(&ring->memory);
}

int64_t t_ring_mono_ns(const struct t_ring *ring, uint64_t tick)
{
	struct sf_shm_clock page;

	ck_assert_int_eq(sf_shm_time_read(&ring->memory.shm.grants->time, &page), 0);
	return sf_shm_clock_mono_ns(&page, sf_shm_tick_start_ns(&ring->config.layout, tick));
}

void t_ring_clock(const struct t_ring *ring, uint64_t tick)
{
	atomic_store_explicit(&t_mono_ns, t_ring_mono_ns(ring, tick), memory_order_relaxed);
}

uint64_t t_ring_now(const struct t_ring *ring)
{
	int64_t mono_ns = atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
	struct sf_shm_clock page;

	ck_assert_int_eq(sf_shm_time_read(&ring->memory.shm.grants->time, &page), 0);
	return sf_shm_tick_at(&ring->config.layout, sf_shm_clock_unix_ns(&page, mono_ns));
}

void t_ring_turn(struct t_ring *ring)
{
	uint64_t now = t_ring_now(ring);

	sfd_engine_publish(&ring->engine, now, ring->mark);
	sfd_engine_beat(&ring->engine, now);
}

void t_ring_go(struct t_ring *ring, uint64_t tick)
{
	t_ring_clock(ring, tick);
	t_ring_turn(ring);
}

void t_ring_beat(struct t_ring *ring, uint64_t tick)
{
	ring->engine.beating = true;
	t_ring_go(ring, tick);
}

_Atomic uint64_t *t_ring_word(const struct t_ring *ring, uint64_t tick)
{
	return &ring->memory.shm.claim[tick & ring->memory.shm.mask].word;
}

uint64_t t_ring_word_now(const struct t_ring *ring, uint64_t tick)
{
	return atomic_load_explicit(t_ring_word(ring, tick), memory_order_relaxed);
}

void t_ring_punch(const struct t_ring *ring)
{
	const struct sf_shm_grants *grants = ring->memory.shm.grants;

	ck_assert_int_eq(fallocate(ring->memory.claims_fd,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				   (off_t)grants->claims_bytes),
			 0);
}

uint64_t t_ring_dropped(const struct t_ring *ring)
{
	return atomic_load_explicit(&ring->memory.shm.claims->dropped, memory_order_relaxed);
}

uint64_t t_ring_waits(const struct t_ring *ring)
{
	return atomic_load_explicit(&ring->memory.shm.claims->waits, memory_order_relaxed);
}

static int64_t mono_ns(void)
{
	return atomic_fetch_add_explicit(&t_mono_ns, t_mono_step_ns, memory_order_relaxed);
}

static void sleep_until(int64_t until_ns)
{
	ck_assert_uint_lt(t_sleeps, T_COUNT(t_slept_until)); /* else it sleeps in small bites */
	t_slept_until[t_sleeps++] = until_ns;
	atomic_store_explicit(&t_mono_ns, until_ns, memory_order_relaxed);
	if (t_sleep_ring)
		t_ring_turn(t_sleep_ring);
	if (t_woken)
		t_woken();
}

static void say(void *data, int level, const char *message)
{
	(void)data;
	(void)level;
	(void)snprintf(t_client_said, sizeof(t_client_said), "%s", message);
}

struct sf_client *t_client_new(uint32_t wait)
{
	struct sf_options options = {.size = sizeof(options),
				     .wait = wait,
				     .timeout_ns = 1000 * T_MS,
				     .socket = "/nonexistent/sfd.sock",
				     .stream = "default",
				     .log = say};
	struct sf_client *client;

	ck_assert_int_eq(sf_client_new(&options, &client), 0);
	client->mono_ns = mono_ns;
	client->sleep_until = sleep_until;
	return client;
}

void t_client_attach(struct sf_client *client, const struct t_ring *ring)
{
	ck_assert_msg(sf_client_adopt(client, ring->memory.grants_fd, ring->memory.claims_fd, 0) ==
			      0,
		      "%s", t_client_said);
}

struct sf_client *t_client_open(const struct t_ring *ring, uint32_t wait)
{
	struct sf_client *client = t_client_new(wait);

	t_client_attach(client, ring);
	return client;
}

struct sf_cursor *t_cursor_open(struct sf_client *client)
{
	struct sf_cursor *cursor;

	ck_assert_int_eq(sf_cursor_open(client, &cursor), 0);
	return cursor;
}

struct sf_parts t_parts(const struct t_ring *ring, uint64_t id)
{
	struct sf_parts parts;
	struct sf_why why;

	T_EXPECT(sf_decompose(&ring->config.layout, id, &parts, &why) == 0, "%s", why.text);
	return parts;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void t_ids_assert_rising(const uint64_t *ids, size_t count)
{
	for (size_t i = 1; i < count; i++)
		T_EXPECT(ids[i - 1] < ids[i], "[%zu] %llx, [%zu] %llx", i - 1,
			 (unsigned long long)ids[i - 1], i, (unsigned long long)ids[i]);
}

void t_ids_assert_distinct(uint64_t *ids, size_t count)
{
	qsort(ids, count, sizeof(*ids), compare_ids);
	t_ids_assert_rising(ids, count);
}

uint64_t t_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t t_seed(void)
{
	/* Before the test starts threads. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	const char *text = getenv("SFD_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	(void)printf("SFD_TEST_SEED=%llu\n", (unsigned long long)seed);
	(void)fflush(stdout);
	seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 8; i++)
		(void)t_random(&seed);
	return seed;
}
