/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A ring that goes on under the next sfd, in every layout under every policy: no counter twice, no
 * order lost, no runway waited out, whatever ended the one before; and what may not go on.
 */
#include "tests/unit/policies_suite.h"

#define ROUNDS 6
#define ENDS 2

/** Killed, which is what a pause looks like, too, or stopped. */
static void (*const ends[ENDS])(void) = {t_stream_kill, t_stream_stop};

static struct sf_wide last;

static void rise(const struct sf_wide *id)
{
	ck_assert_int_lt(sf_wide_compare(&last, id), 0);
	last = *id;
}

/** IDs in every way, all larger than those before. */
static void take_some(void)
{
	struct sf_wide ids[32];
	struct sf_wide id = {0, 0};

	for (int i = 0; i < 100; i++)
		t_stream_take(t_stream_cursor, &last);
	ck_assert_int_eq(t_stream_ordered(t_stream_cursor, &id), 0);
	rise(&id);
	ck_assert_int_eq(t_stream_fill(t_stream_cursor, ids, 32), 0);
	for (int i = 0; i < 32; i++)
		rise(&ids[i]);
}

static void begin(int row)
{
	last = (struct sf_wide){0, 0};
	t_stream_init(&(struct t_stream_setup){
		.layout = T_LAYOUT_OF(row), .policy = T_POLICY_OF(row), .ahead_ms = 5000});
}

START_TEST(handover_goes_on_with_counters_order_and_counts)
{
	uint64_t first_tick;
	uint64_t claimed;

	begin(_i / ENDS);
	first_tick = t_stream.ring.shm.grants->first_tick;
	for (int round = 0; round < ROUNDS; round++) {
		take_some();
		claimed = sfd_engine_claimed(&t_stream.engine);
		t_stream_hand_over(ends[_i % ENDS]);
		ck_assert(t_stream.adopted);
		ck_assert_uint_eq(t_stream.ring.shm.grants->first_tick, first_tick);
		ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), claimed);
		/* by the grants of the one before, which is all that the client has */
		if (_i % ENDS == 0)
			take_some();
		t_stream_follow();
		take_some();
		t_stream_run(INT64_C(3) * t_stream_config.layout.tick_ms * T_MS);
	}
	t_stream_deinit();
}
END_TEST

START_TEST(handover_grants_again_what_was_given_back_as_it_was)
{
	struct sf_shm_grant before[SF_SHM_SLOTS_MIN];
	uint64_t horizon;
	uint64_t given_back = 0;

	t_stream_init(&(struct t_stream_setup){.layout = "ulid", .runway_ms = 1000});
	t_stream_take(t_stream_cursor, &last);
	horizon = t_stream_horizon();
	for (int i = 0; i < (int)SF_SHM_SLOTS_MIN; i++)
		before[i] =
			t_stream.ring.shm.grant[(horizon - (uint64_t)i) & t_stream.ring.shm.mask];
	t_stream_hand_over(t_stream_stop);
	ck_assert(t_stream.adopted);
	for (int i = 0; i < (int)SF_SHM_SLOTS_MIN; i++) {
		uint64_t slot = (horizon - (uint64_t)i) & t_stream.ring.shm.mask;

		ck_assert_mem_eq(&before[i], &t_stream.ring.shm.grant[slot], sizeof(before[i]));
		/* whole again */
		ck_assert_uint_eq(t_stream.ring.shm.claim[slot].word,
				  sf_shm_word(horizon - (uint64_t)i, 0));
		given_back++;
	}
	ck_assert_uint_eq(given_back, SF_SHM_SLOTS_MIN);
	ck_assert_uint_ge(t_stream_horizon(), horizon);
	t_stream_deinit();
}
END_TEST

/* It was killed while it published: who had seen an earlier horizon may have claimed from that. */
START_TEST(handover_publishes_nothing_again_that_a_killed_sfd_was_publishing)
{
	uint64_t horizon;

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	horizon = t_stream_horizon();
	/* relaxed: one thread */
	atomic_store_explicit(&t_stream.runtime->horizon, horizon + 3, memory_order_relaxed);
	t_stream_pass(10 * T_MS);
	t_stream_hand_over(t_stream_kill);
	ck_assert(t_stream.adopted);
	ck_assert_uint_gt(t_stream_horizon(), horizon + 3);
	for (uint64_t tick = horizon + 1; tick <= horizon + 3; tick++)
		ck_assert_uint_ne(t_stream.ring.shm.claim[tick & t_stream.ring.shm.mask].word,
				  sf_shm_word(tick, 0));
	ck_assert_uint_eq(t_stream.ring.shm.claim[(horizon + 4) & t_stream.ring.shm.mask].word,
			  sf_shm_word(horizon + 4, 0));
	t_stream_deinit();
}
END_TEST

/* The service manager kept a ring, and then an sfd ran that it did not keep anything of. */
START_TEST(handover_of_a_ring_that_is_not_the_last_makes_a_new_one)
{
	struct sfd_stream_legacy old;
	uint64_t horizon;

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	old = t_stream_legacy();
	t_stream_kill();
	t_stream_start(SFD_CLOCK_SLEW);
	horizon = t_stream_horizon();
	t_stream_kill();
	t_stream_start_on(&old);
	ck_assert(!t_stream.adopted);
	ck_assert_uint_gt(t_stream.ring.shm.grants->first_tick, horizon);
	t_stream_deinit();
}
END_TEST

/* Rebooted, or the runtime directory is gone: nothing says that the ring is the last. */
START_TEST(handover_of_a_ring_without_a_record_makes_a_new_one)
{
	struct sfd_stream_legacy old;
	uint64_t mark;

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	old = t_stream_legacy();
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	t_stream_kill();
	t_stream_reboot();
	t_stream_start_on(&old);
	ck_assert(!t_stream.adopted);
	ck_assert_uint_gt(t_stream.ring.shm.grants->first_tick, mark);
	t_stream_deinit();
}
END_TEST

/* What the configuration says of the ring must be what the ring is. */
START_TEST(handover_of_a_ring_of_another_shape_makes_a_new_one)
{
	struct sfd_stream_legacy old;
	uint64_t horizon;

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	old = t_stream_legacy();
	horizon = t_stream_horizon();
	t_stream_kill();
	t_stream_config.runway_ms *= 4;
	t_stream_start_on(&old);
	ck_assert(!t_stream.adopted);
	ck_assert_uint_gt(t_stream.ring.shm.grants->first_tick, horizon);
	t_stream_deinit();
}
END_TEST

/* Clients of the one before are past the horizon that this client sees: it must not go back. */
START_TEST(handover_keeps_the_order_between_clients_of_both)
{
	struct sf_client *behind;
	struct sf_cursor *cursor;
	struct sf_wide id = {0, 0};

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex", .runway_ms = 100});
	last = (struct sf_wide){0, 0};
	t_stream_take(t_stream_cursor, &last);
	behind = t_stream_client;
	cursor = t_stream_cursor;
	t_stream_hand_over(t_stream_kill);
	t_stream_client = NULL;
	t_stream_reopen_client();
	t_stream_run(50 * T_MS);
	/* The wall steps: the new page shows it, the old one, which nobody writes, does not. */
	t_stream_step(T_SECOND);
	t_stream_run(10 * T_MS);
	ck_assert_int_eq(t_stream_ordered(t_stream_cursor, &last), 0);
	ck_assert_int_lt(t_stream_ordered(cursor, &id), 0);
	ck_assert_int_eq(
		sf_client_adopt(behind, t_stream.ring.grants_fd, t_stream.ring.claims_fd, 0), 0);
	ck_assert_int_eq(t_stream_ordered(cursor, &id), 0);
	rise(&id);
	sf_cursor_close(cursor);
	sf_close(behind);
	t_stream_deinit();
}
END_TEST

void t_add_policies_handover(Suite *suite)
{
	TCase *tcase = tcase_create("handover");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, handover_goes_on_with_counters_order_and_counts, 0,
			    T_POLICY_ROWS * ENDS);
	tcase_add_test(tcase, handover_grants_again_what_was_given_back_as_it_was);
	tcase_add_test(tcase, handover_publishes_nothing_again_that_a_killed_sfd_was_publishing);
	tcase_add_test(tcase, handover_of_a_ring_that_is_not_the_last_makes_a_new_one);
	tcase_add_test(tcase, handover_of_a_ring_without_a_record_makes_a_new_one);
	tcase_add_test(tcase, handover_of_a_ring_of_another_shape_makes_a_new_one);
	tcase_add_test(tcase, handover_keeps_the_order_between_clients_of_both);
	suite_add_tcase(suite, tcase);
}
