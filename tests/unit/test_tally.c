/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * shm/ring.h and daemon/tally.c: where tallies are, who gets which, and what sfd makes of what it
 * finds there.
 */
#include "daemon/tally.h"

#include "tests/support/ring_fixture.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 16u

static struct t_ring ring;
static struct sfd_stream stream;
static struct sfd_control_state state;
static struct sfd_connection clients[600];

static void set_up(void)
{
	t_ring_init(&ring, &(struct t_ring_setup){0});
	stream = (struct sfd_stream){.ring = ring.memory, .stats = &ring.stats};
	state = (struct sfd_control_state){.stream = &stream, .stream_count = 1};
	memset(clients, 0, sizeof(clients));
}

static void tear_down(void)
{
	t_ring_deinit(&ring);
}

static uint32_t attach(struct sfd_connection *client)
{
	client->attached = &stream;
	client->tally = sfd_tally_assign(&state, &stream);
	sfd_connection_add(&state, client);
	return client->tally;
}

static void put(uint32_t number, uint64_t ids)
{
	atomic_store_explicit(sf_shm_tally(&ring.memory.shm, number), ids, memory_order_relaxed);
}

static size_t offset_of(uint32_t number)
{
	return (size_t)((char *)sf_shm_tally(&ring.memory.shm, number) -
			(char *)ring.memory.shm.claims);
}

/* ---- where they are ---- */

START_TEST(tally_is_on_no_other_word)
{
	bool taken[(SF_SHM_HEADER_BYTES + SLOTS * 64) / 8] = {false};

	for (uint32_t number = 1; number <= sf_shm_tallies(SLOTS); number++) {
		size_t at = offset_of(number);

		ck_assert_uint_ge(at, offsetof(struct sf_shm_claims, spare));
		ck_assert_uint_lt(at, sf_shm_claims_bytes(SLOTS));
		ck_assert_uint_ne(at % 64, 0); /* a claim word */
		ck_assert(!taken[at / 8]);
		taken[at / 8] = true;
	}
}
END_TEST

/* Clients that are not many share no line, and none with a claim word. */
START_TEST(first_tallies_have_lines_of_their_own)
{
	for (uint32_t number = 1; number <= SF_SHM_SPARE_LINES; number++) {
		ck_assert_uint_lt(offset_of(number), SF_SHM_HEADER_BYTES);
		ck_assert_uint_eq(offset_of(number) / 64, 320 / 64 + number - 1);
	}
	ck_assert_uint_eq(offset_of(SF_SHM_SPARE_LINES + 1) / 64, SF_SHM_HEADER_BYTES / 64);
	ck_assert_uint_eq(offset_of(SF_SHM_SPARE_LINES + SLOTS + 1) / 64, 320 / 64);
}
END_TEST

/* ---- who gets which ---- */

START_TEST(assign_gives_the_first_that_is_free_and_zeroes_it)
{
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(attach(&clients[i]), i + 1);
	put(3, 77);
	put(4, 78);
	sfd_connection_forget(&state, &clients[2]);
	ck_assert_uint_eq(attach(&clients[10]), 3);
	ck_assert_uint_eq(sfd_tally_read(&stream, 3), 0);
	ck_assert_uint_eq(sfd_tally_read(&stream, 4), 78);
	ck_assert_uint_eq(attach(&clients[11]), 6);
}
END_TEST

START_TEST(assign_does_not_look_at_other_streams)
{
	struct sfd_stream other = {.ring = ring.memory};

	ck_assert_uint_eq(attach(&clients[0]), 1);
	clients[1] = (struct sfd_connection){.attached = &other, .tally = 2};
	sfd_connection_add(&state, &clients[1]);
	ck_assert_uint_eq(attach(&clients[2]), 2);
}
END_TEST

START_TEST(assign_in_a_small_ring_that_is_full_gives_none)
{
	for (uint32_t i = 0; i < sf_shm_tallies(SLOTS); i++)
		ck_assert_uint_eq(attach(&clients[i]), i + 1);
	ck_assert_uint_eq(attach(&clients[550]), 0);
	ck_assert_uint_eq(attach(&clients[551]), 0);
	sfd_connection_forget(&state, &clients[100]);
	ck_assert_uint_eq(attach(&clients[552]), 101);
}
END_TEST

START_TEST(adopt_takes_what_the_ring_has)
{
	ck_assert_uint_eq(sfd_tally_adopt(&stream, 1), 1);
	ck_assert_uint_eq(sfd_tally_adopt(&stream, sf_shm_tallies(SLOTS)), sf_shm_tallies(SLOTS));
	ck_assert_uint_eq(sfd_tally_adopt(&stream, sf_shm_tallies(SLOTS) + 1), 0);
	ck_assert_uint_eq(sfd_tally_adopt(&stream, 0), 0);
	ck_assert_uint_eq(sfd_tally_adopt(&stream, -1), 0);
	ck_assert_uint_eq(sfd_tally_adopt(&stream, INT64_MAX), 0);
}
END_TEST

/* ---- what it says ---- */

START_TEST(read_of_less_than_nothing_is_nothing)
{
	put(1, (uint64_t)INT64_MAX);
	ck_assert_uint_eq(sfd_tally_read(&stream, 1), INT64_MAX);
	put(1, (uint64_t)INT64_MAX + 1);
	ck_assert_uint_eq(sfd_tally_read(&stream, 1), 0);
	put(1, UINT64_MAX);
	ck_assert_uint_eq(sfd_tally_read(&stream, 1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tally");
	TCase *tally = tcase_create("tally");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tally, set_up, tear_down);
	tcase_add_test(tally, tally_is_on_no_other_word);
	tcase_add_test(tally, first_tallies_have_lines_of_their_own);
	tcase_add_test(tally, assign_gives_the_first_that_is_free_and_zeroes_it);
	tcase_add_test(tally, assign_does_not_look_at_other_streams);
	tcase_add_test(tally, assign_in_a_small_ring_that_is_full_gives_none);
	tcase_add_test(tally, adopt_takes_what_the_ring_has);
	tcase_add_test(tally, read_of_less_than_nothing_is_nothing);
	suite_add_tcase(suite, tally);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
