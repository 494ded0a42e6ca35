/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See load.h. Atomics are relaxed: flags and numbers that order nothing.
 */
#include "tests/support/load.h"

#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* IDs between two looks at the clock, and the time that a map covers. */
#define BLOCK 64
#define MAP_SECONDS 120
#define OPEN_MS 20000

/* What a new client needs; the test process starts them one after the other. */
static struct t_load *load_now;
static int place_now;

/** Takes a block of IDs: most one by one, some ordered, some by sf_fill(), some as a range. */
static void take_block(struct sf_cursor *cursor, unsigned turn, uint64_t id[BLOCK])
{
	struct sf_range range;
	int i = 0;

	switch (turn % 8) {
	case 0:
		T_CHECK(sf_fill(cursor, id, BLOCK) == 0);
		return;
	case 1:
		for (; i < BLOCK; i++)
			T_CHECK(sf_next_ordered(cursor, &id[i]) == 0);
		return;
	case 2:
		while (i < BLOCK) {
			T_CHECK(sf_claim_range(cursor, (uint32_t)(BLOCK - i), &range) == 0);
			for (uint32_t k = 0; k < range.count; k++)
				id[i++] = range.first + k * range.step;
		}
		return;
	default:
		for (; i < BLOCK; i++)
			T_CHECK(sf_next(cursor, &id[i]) == 0);
	}
}

/** Opens a client, sooner or later: sfd may be on its way up or down. */
static struct sf_client *open_patiently(const char *socket)
{
	struct sf_options options = {
		.size = sizeof(options), .socket = socket, .stream = "default"};
	int64_t deadline_ns = t_mono_ns() + OPEN_MS * INT64_C(1000000);
	struct sf_client *client;

	while (sf_open(&options, &client) < 0) {
		T_CHECK(t_mono_ns() < deadline_ns);
		t_nap_ms(2);
	}
	return client;
}

static int run_client(void *argument)
{
	struct t_load *load = load_now;
	struct t_load_client *own = &load->client[place_now];
	struct sf_cursor *cursor = t_cursor(open_patiently(load->socket));
	uint64_t id[BLOCK];
	uint64_t last = 0;

	(void)argument;
	for (unsigned turn = 0; !atomic_load_explicit(&load->stop, memory_order_relaxed); turn++) {
		int64_t began_ns = t_mono_ns();
		int64_t took_ns;

		take_block(cursor, turn, id);
		took_ns = t_mono_ns() - began_ns;
		if (took_ns > atomic_load_explicit(&own->longest_ns, memory_order_relaxed))
			atomic_store_explicit(&own->longest_ns, took_ns, memory_order_relaxed);
		for (int i = 0; i < BLOCK; i++) {
			T_CHECK(id[i] > last);
			last = id[i];
		}
		t_map_add(load->map, id, BLOCK);
		atomic_fetch_add_explicit(&own->taken, BLOCK, memory_order_relaxed);
	}
	return 0;
}

static void start_client(struct t_load *load, int client)
{
	load_now = load;
	place_now = client;
	load->pid[client] = t_child(run_client, NULL);
}

static struct t_map *new_map(const struct t_daemon *daemon)
{
	struct sf_client *client = t_open(daemon->socket, 0);
	struct sf_cursor *cursor = t_cursor(client);
	const struct sf_layout *layout = sf_client_layout(client);
	uint64_t tick = t_tick(layout, t_next(cursor));
	struct t_map *map = t_map_new(layout, daemon->machine_id, tick, MAP_SECONDS);

	sf_cursor_close(cursor);
	sf_close(client);
	return map;
}

void t_load_add(struct t_load *load, const struct t_daemon *daemon, int count)
{
	int first = load->count;

	ck_assert_int_le(first + count, T_LOAD_CLIENTS_MAX);
	memcpy(load->socket, daemon->socket, sizeof(load->socket));
	for (int i = 0; i < count; i++)
		start_client(load, load->count++);
	for (int i = first; i < load->count; i++)
		T_WAIT_UNTIL(t_load_taken(load, i) != 0, 10000);
}

struct t_load *t_load_start(const struct t_daemon *daemon, int count)
{
	struct t_load *load = t_shared(sizeof(*load));

	load->map = new_map(daemon);
	t_load_add(load, daemon, count);
	return load;
}

void t_load_replace(struct t_load *load, int client)
{
	ck_assert_int_eq(kill(load->pid[client], SIGKILL), 0);
	ck_assert_int_eq(t_reap(load->pid[client]), -SIGKILL);
	start_client(load, client);
}

void t_load_stop(struct t_load *load)
{
	uint64_t count;

	atomic_store_explicit(&load->stop, 1, memory_order_relaxed);
	for (int i = 0; i < load->count; i++)
		ck_assert_int_eq(t_reap(load->pid[i]), 0);
	count = t_map_check(load->map);
	(void)printf("%llu IDs, longest call %lld us\n", (unsigned long long)count,
		     (long long)t_load_longest_ns(load) / 1000);
}

uint64_t t_load_taken(const struct t_load *load, int client)
{
	return atomic_load_explicit(&load->client[client].taken, memory_order_relaxed);
}

int64_t t_load_longest_ns(const struct t_load *load)
{
	int64_t longest_ns = 0;

	for (int i = 0; i < load->count; i++) {
		int64_t own_ns =
			atomic_load_explicit(&load->client[i].longest_ns, memory_order_relaxed);

		if (own_ns > longest_ns)
			longest_ns = own_ns;
	}
	return longest_ns;
}
