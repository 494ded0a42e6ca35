/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * shm/pack.h: for every layout and choice of node ids, the counters of a tick are IDs that rise,
 * that differ, that carry the right fields, and that a run spaces evenly.
 */
#include "shm/pack.h"

#include "tests/support/ring_fixture.h"

#include <check.h>
#include <stdlib.h>

/* Counters that are looked at one by one; a larger tick is looked at from both ends. */
#define LOOKED_AT 20000u

struct choice {
	const char *layout;
	uint32_t node_count;
	uint32_t node[8];
	uint32_t capacity;
	uint32_t run; /* of counter 0; 0 = the whole tick */
};

static const struct choice choices[] = {
	{"twitter", 1, {0}, 4096, 0},
	{"twitter", 1, {1023}, 4096, 0},
	{"twitter", 4, {4, 5, 6, 7}, 4 * 4096, 0},
	{"twitter", 3, {1, 5, 900}, 3 * 4096, 4096},
	{"twitter", 2, {0, 1023}, 2 * 4096, 4096},
	/* neighbours over the border of worker and process are neighbours still */
	{"discord", 3, {31, 32, 33}, 3 * 4096, 0},
	{"discord", 3, {1, 33, 65}, 3 * 4096, 4096},
	{"instagram", 2, {8190, 8191}, 2 * 1024, 0},
	{"sonyflake", 1, {40000}, 256, 0},
	{"sonyflake", 2, {7, 8}, 512, 1},
	{"sonyflake", 5, {0, 3, 77, 4095, 65535}, 5 * 256, 1},
	{"baidu", 2, {5, 6}, 2 * 8192, 0},
	{"t40 s1 n8", 3, {1, 2, 255}, 6, 1},
	{"t40 s6 w3 p5", 3, {0, 33, 255}, 3 * 64, 1},
	{"t40 p5 w3 s6", 3, {0, 33, 255}, 3 * 64, 64},
	{"t40 s6 p5 w3", 4, {0, 33, 34, 255}, 4 * 64, 1},
	{"t32 n1 s31", 1, {1}, SF_SHM_CAPACITY_MAX, 0},
	{"t30 s31 n2", 2, {0, 3}, SF_SHM_CAPACITY_MAX, 1},
	{"t41 n10 s1", 8, {0, 1, 2, 3, 4, 5, 6, 7}, 16, 0},
};

static struct t_ring fixture;
static const struct sf_shm_grants *grants;

static void set_up(const struct choice *choice)
{
	struct t_ring_setup setup = {.layout = choice->layout, .node_count = choice->node_count};

	for (uint32_t i = 0; i < choice->node_count; i++)
		setup.node[i] = choice->node[i];
	t_ring_init(&fixture, &setup);
	grants = fixture.memory.shm.grants;
}

static bool is_chosen(const struct choice *choice, uint32_t node)
{
	for (uint32_t i = 0; i < choice->node_count; i++)
		if (choice->node[i] == node)
			return true;
	return false;
}

/* The counters from `from` on rise and carry the tick and one of the node ids. */
static void check_counters(const struct choice *choice, uint32_t from, uint32_t to)
{
	uint64_t last = 0;

	for (uint32_t counter = from; counter < to; counter++) {
		uint64_t id = sf_shm_pack(grants, T_TICK, counter);
		struct sf_parts parts = t_parts(&fixture, id);

		T_EXPECT(parts.tick == T_TICK, "%s: counter %u: tick", choice->layout, counter);
		T_EXPECT(is_chosen(choice, parts.node), "%s: node %u", choice->layout, parts.node);
		T_EXPECT(id > last, "%s: counter %u: %llx after %llx", choice->layout, counter,
			 (unsigned long long)id, (unsigned long long)last);
		last = id;
	}
}

static void check_run(uint32_t counter)
{
	uint32_t run = sf_shm_run(grants, counter);
	uint64_t first = sf_shm_pack(grants, T_TICK, counter);
	uint32_t end = grants->capacity - counter < run ? grants->capacity - counter : run;

	ck_assert_uint_ge(run, 1);
	for (uint32_t i = 1; i < end && i < LOOKED_AT; i++)
		T_EXPECT(sf_shm_pack(grants, T_TICK, counter + i) ==
				 first + i * sf_shm_step(grants),
			 "counter %u of the run of %u", i, counter);
}

START_TEST(pack_of_rising_counters_rises)
{
	const struct choice *choice = &choices[_i];
	uint32_t half = choice->capacity < 2 * LOOKED_AT ? choice->capacity : LOOKED_AT;

	set_up(choice);
	ck_assert_uint_eq(grants->capacity, choice->capacity);
	check_counters(choice, 0, half);
	check_counters(choice, choice->capacity - half, choice->capacity);
	ck_assert_uint_lt(sf_shm_pack(grants, T_TICK, choice->capacity - 1),
			  sf_shm_pack(grants, T_TICK + 1, 0));
	t_ring_deinit(&fixture);
}
END_TEST

START_TEST(pack_of_a_run_is_evenly_spaced)
{
	const struct choice *choice = &choices[_i];

	set_up(choice);
	if (choice->run)
		ck_assert_uint_eq(sf_shm_run(grants, 0), choice->run);
	else
		ck_assert_uint_ge(sf_shm_run(grants, 0), choice->capacity);
	for (uint32_t counter = 0; counter < choice->capacity && counter < LOOKED_AT;
	     counter += 1 + counter / 3)
		check_run(counter);
	check_run(choice->capacity - 1);
	t_ring_deinit(&fixture);
}
END_TEST

/* Every (node, sequence) of a tick is some counter's. */
START_TEST(pack_of_a_whole_tick_uses_each_node_and_sequence)
{
	const struct choice *choice = &choices[_i];
	uint32_t used[8] = {0};

	set_up(choice);
	if (choice->capacity <= 2 * LOOKED_AT) {
		for (uint32_t counter = 0; counter < choice->capacity; counter++) {
			struct sf_parts parts =
				t_parts(&fixture, sf_shm_pack(grants, T_TICK, counter));

			for (uint32_t i = 0; i < choice->node_count; i++)
				used[i] += choice->node[i] == parts.node;
		}
		for (uint32_t i = 0; i < choice->node_count; i++)
			ck_assert_uint_eq(used[i], choice->capacity / choice->node_count);
	}
	t_ring_deinit(&fixture);
}
END_TEST

/* No order of the counters is that of the IDs, unless the halves are looked at one by one. */
START_TEST(pack_of_a_layout_with_the_sequence_amid_the_node_rises_or_is_refused)
{
	static const char *const amid[] = {"t41 w5 s12 p5", "t41 p5 s12 w5"};
	const struct choice choice = {
		.layout = amid[_i], .node_count = 3, .node = {0, 1, 32}, .capacity = 3 * 4096};
	struct sfd_stream_config config = {
		.name = "s", .node = {0, 1, 32}, .node_count = 3, .runway_ms = 8};
	struct sfd_ring ring;
	struct sf_why why;

	if (sf_layout_parse(choice.layout, &config.layout, NULL) < 0 ||
	    sfd_ring_init(&ring, &config, T_TICK, &why) < 0)
		return;
	sfd_ring_deinit(&ring);
	set_up(&choice);
	check_counters(&choice, 0, choice.capacity);
	t_ring_deinit(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pack");
	TCase *pack = tcase_create("pack");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(pack, pack_of_rising_counters_rises, 0, T_COUNT(choices));
	tcase_add_loop_test(pack, pack_of_a_run_is_evenly_spaced, 0, T_COUNT(choices));
	tcase_add_loop_test(pack, pack_of_a_whole_tick_uses_each_node_and_sequence, 0,
			    T_COUNT(choices));
	tcase_add_loop_test(
		pack, pack_of_a_layout_with_the_sequence_amid_the_node_rises_or_is_refused, 0, 2);
	suite_add_tcase(suite, pack);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
