/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Many threads and processes, every ID of every one of them checked, in every way to take IDs.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT "t39 n10 s14 epoch=1577836800000"

static struct t_daemon daemon_now;
static struct t_ids *ids;
static int ids_fd;

static void set_up(size_t capacity)
{
	/* A small ring: openings are many, and each maps it. */
	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 500\n");
	ids = t_ids_new_fd(capacity, &ids_fd);
	ck_assert_int_eq(setenv("SFD_SOCKET", daemon_now.socket, 1), 0);
}

static void tear_down(void)
{
	t_daemon_stop(&daemon_now);
}

/* ---- taking ---- */

enum way {
	WAY_NEXT,
	WAY_ORDERED,
	WAY_FILL,
	WAY_RANGE,
	WAY_ID,
	WAYS
};

/** Takes up to `count` IDs in one way. @return how many */
static size_t take(enum way way, struct sf_cursor *cursor, uint64_t *id, size_t count)
{
	struct sf_range range = {0};

	switch (way) {
	case WAY_NEXT:
		T_CHECK(sf_next(cursor, id) == 0);
		return 1;
	case WAY_ORDERED:
		T_CHECK(sf_next_ordered(cursor, id) == 0);
		return 1;
	case WAY_FILL:
		count = count < 100 ? count : 100;
		T_CHECK(sf_fill(cursor, id, count) == 0);
		return count;
	case WAY_RANGE:
		T_CHECK(sf_claim_range(cursor, count < 100 ? (uint32_t)count : 100, &range) == 0);
		T_CHECK(range.count >= 1 && range.count <= count);
		for (uint32_t i = 0; i < range.count; i++)
			id[i] = range.first + i * range.step;
		return range.count;
	case WAY_ID:
	case WAYS:
		break;
	}
	T_CHECK(sf_id(id) == 0);
	return 1;
}

/** Takes `count` IDs, in one way or (WAYS) in all in turn, checks their order, collects them. */
static void take_all(enum way way, struct sf_cursor *cursor, size_t count)
{
	enum {
		BLOCK = 1000
	};
	uint64_t id[BLOCK];
	uint64_t last = 0;
	unsigned turn = 0;

	while (count > 0) {
		size_t block = count < BLOCK ? count : BLOCK;

		for (size_t done = 0; done < block;) {
			enum way now = way == WAYS ? (enum way)(turn++ / 7 % WAY_ID) : way;

			done += take(now, cursor, id + done, block - done);
		}
		for (size_t i = 0; i < block; i++) {
			T_CHECK(id[i] > last);
			last = id[i];
		}
		T_CHECK(t_ids_add(ids, id, block));
		count -= block;
	}
}

/** The role: take WAY COUNT FD, with $SFD_SOCKET. */
static int role_take(char **argv)
{
	enum way way = (enum way)strtol(argv[2], NULL, 10);
	size_t count = (size_t)strtol(argv[3], NULL, 10);
	struct sf_client *client;
	struct sf_cursor *cursor;

	ids = t_ids_open_fd((int)strtol(argv[4], NULL, 10));
	T_CHECK(ids != NULL);
	if (way == WAY_ID) {
		take_all(way, NULL, count);
		return 0;
	}
	client = t_open(NULL, 0);
	cursor = t_cursor(client);
	take_all(way, cursor, count);
	sf_cursor_close(cursor);
	sf_close(client);
	return 0;
}

static pid_t spawn_taker(enum way way, size_t count)
{
	char texts[3][24];
	const char *const arguments[] = {"take", texts[0], texts[1], texts[2], NULL};

	(void)snprintf(texts[0], sizeof(texts[0]), "%d", (int)way);
	(void)snprintf(texts[1], sizeof(texts[1]), "%zu", count);
	(void)snprintf(texts[2], sizeof(texts[2]), "%d", ids_fd);
	return t_spawn_role(arguments);
}

START_TEST(sf_id_in_16_programs_shares_no_id_fc_03)
{
	enum {
		PROGRAMS = 16,
		DRAWS = 100000
	};
	pid_t pid[PROGRAMS];

	set_up((size_t)PROGRAMS * DRAWS);
	for (int i = 0; i < PROGRAMS; i++)
		pid[i] = spawn_taker(WAY_ID, DRAWS);
	for (int i = 0; i < PROGRAMS; i++)
		ck_assert_int_eq(t_reap(pid[i]), 0);
	t_ids_check(ids, (size_t)PROGRAMS * DRAWS);
	tear_down();
}
END_TEST

START_TEST(every_way_in_8_programs_shares_no_id)
{
	enum {
		PROGRAMS = 8,
		DRAWS = 200000
	};
	pid_t pid[PROGRAMS];

	set_up((size_t)PROGRAMS * DRAWS);
	/* Two of each of the four ways; then all of them in turn. */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PROGRAMS; i++)
			pid[i] = spawn_taker(round == 0 ? (enum way)(i % WAY_ID) : WAYS, DRAWS);
		for (int i = 0; i < PROGRAMS; i++)
			ck_assert_int_eq(t_reap(pid[i]), 0);
		t_ids_check(ids, (size_t)PROGRAMS * DRAWS);
	}
	tear_down();
}
END_TEST

/* ---- threads ---- */

struct thread_job {
	pthread_t thread;
	struct sf_cursor *cursor;
	enum way way;
	size_t count;
};

static void *take_in_thread(void *argument)
{
	const struct thread_job *job = argument;

	take_all(job->way, job->cursor, job->count);
	sf_cursor_close(job->cursor);
	return NULL;
}

START_TEST(every_way_in_16_threads_of_one_client_shares_no_id)
{
	enum {
		THREADS = 16,
		DRAWS = 100000
	};
	struct thread_job job[THREADS];
	struct sf_client *client;

	set_up((size_t)THREADS * DRAWS);
	client = t_open(NULL, 0);
	for (int i = 0; i < THREADS; i++) {
		job[i] = (struct thread_job){.cursor = t_cursor(client),
					     .way = i < WAYS ? (enum way)i : WAYS,
					     .count = DRAWS};
		ck_assert_int_eq(pthread_create(&job[i].thread, NULL, take_in_thread, &job[i]), 0);
	}
	/* The threads' cursors keep the ring after the client is closed. */
	sf_close(client);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(job[i].thread, NULL), 0);
	t_ids_check(ids, (size_t)THREADS * DRAWS);
	tear_down();
}
END_TEST

static unsigned count_ring_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned count = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, "memfd:sfd:") != NULL;
	(void)fclose(file);
	return count;
}

static void *open_draw_close(void *argument)
{
	const struct thread_job *job = argument;

	for (size_t i = 0; i < job->count; i++) {
		struct sf_client *client = t_open(NULL, 0);
		struct sf_cursor *cursor = t_cursor(client);
		uint64_t id = t_next(cursor);

		T_CHECK(t_ids_add(ids, &id, 1));
		sf_cursor_close(cursor);
		sf_close(client);
	}
	return NULL;
}

/* 5,000 each and not 25,000: an opening costs about a tenth of a millisecond. */
START_TEST(open_draw_close_in_4_threads_leaves_nothing_fc_04)
{
	enum {
		THREADS = 4,
		ROUNDS = 5000
	};
	struct thread_job job[THREADS];
	unsigned descriptors;
	unsigned mappings;

	set_up((size_t)THREADS * ROUNDS);
	mappings = count_ring_mappings();
	descriptors = t_count_descriptors(getpid());
	for (int i = 0; i < THREADS; i++) {
		job[i] = (struct thread_job){.count = ROUNDS};
		ck_assert_int_eq(pthread_create(&job[i].thread, NULL, open_draw_close, &job[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(job[i].thread, NULL), 0);
	t_ids_check(ids, (size_t)THREADS * ROUNDS);
	ck_assert_uint_eq(t_count_descriptors(getpid()), descriptors);
	ck_assert_uint_eq(count_ring_mappings(), mappings);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 0, 5000);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_attaches),
			  (uint64_t)THREADS * ROUNDS);
	tear_down();
}
END_TEST

/* ---- the first call ---- */

static pthread_barrier_t barrier;

static void *take_first(void *argument)
{
	uint64_t *id = argument;

	(void)pthread_barrier_wait(&barrier);
	T_CHECK(sf_id(id) == 0);
	return NULL;
}

/** The role: first FD: 64 threads make the first call of this process at once. */
static int role_first(char **argv)
{
	enum {
		THREADS = 64
	};
	pthread_t thread[THREADS];
	uint64_t id[THREADS];

	ids = t_ids_open_fd((int)strtol(argv[2], NULL, 10));
	T_CHECK(ids != NULL);
	T_CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		T_CHECK(pthread_create(&thread[i], NULL, take_first, &id[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		T_CHECK(pthread_join(thread[i], NULL) == 0);
	T_CHECK(t_ids_add(ids, id, THREADS));
	return 0;
}

START_TEST(sf_id_called_first_by_64_threads_at_once_attaches_once_fc_05)
{
	enum {
		PROGRAMS = 120,
		THREADS = 64
	};
	char fd_text[16];
	const char *const arguments[] = {"first", fd_text, NULL};

	set_up((size_t)PROGRAMS * THREADS);
	(void)snprintf(fd_text, sizeof(fd_text), "%d", ids_fd);
	for (int i = 0; i < PROGRAMS; i++)
		ck_assert_int_eq(t_reap(t_spawn_role(arguments)), 0);
	t_ids_check(ids, (size_t)PROGRAMS * THREADS);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_attaches), PROGRAMS);
	tear_down();
}
END_TEST

static int role(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "take") == 0)
		return role_take(argv);
	if (argc == 3 && strcmp(argv[1], "first") == 0)
		return role_first(argv);
	return T_CHECK_FAILED;
}

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		sf_id_in_16_programs_shares_no_id_fc_03,
		every_way_in_8_programs_shares_no_id,
		every_way_in_16_threads_of_one_client_shares_no_id,
		open_draw_close_in_4_threads_leaves_nothing_fc_04,
		sf_id_called_first_by_64_threads_at_once_attaches_once_fc_05,
	};
	const struct t_program program = {.name = "many",
					  .machine_id = 32,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0]),
					  .role = role};

	return t_main(argc, argv, &program);
}
