/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What every end-to-end test program shares: its main(), a directory that is removed at the end,
 * an end of every process it started, and tests that cannot run here.
 *
 * As root a program gets a mount namespace with a /run/lock of its own, so that its machine ids
 * clash with no daemon of the host; otherwise its range of machine ids has to be enough.
 */
#ifndef T_E2E_H
#define T_E2E_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define T_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define T_TSAN 1
#endif
#endif
#ifndef T_TSAN
#define T_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define T_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define T_ASAN 1
#endif
#endif
#ifndef T_ASAN
#define T_ASAN 0
#endif

/** Machine ids of one program's daemons. No two programs share one. */
#define T_MACHINE_IDS 16

struct t_program {
	const char *name;
	unsigned machine_id;      /* the first of T_MACHINE_IDS */
	unsigned timeout_seconds; /* of each test; 0: as usual */
	const TTest *const *tests;
	size_t test_count;
	/* runs instead of the tests when the program was started with arguments; may be NULL */
	int (*role)(int argc, char **argv);
};

/** The main() of a program. @return its exit code */
int t_main(int argc, char **argv, const struct t_program *program);
/** The program that runs. */
const struct t_program *t_program(void);
/** Its directory; passable for every user. */
const char *t_directory(void);
/** Whether the program has a mount namespace of its own. */
bool t_may_mount(void);
/** Prints that a test, named by __func__, was skipped and why; the test then returns. */
void t_skip(const char *test, const char *reason);

/** A check that holds in tests, their children and roles alike, and costs nothing when it does. */
#define T_CHECK(condition)                                                                         \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			t_check_failed(__FILE__, __LINE__, #condition);                            \
	} while (0)
/** Fails the test; in any other process says what did not hold and ends it with this code. */
#define T_CHECK_FAILED 99
_Noreturn void t_check_failed(const char *file, int line, const char *condition);

int64_t t_mono_ns(void);
int64_t t_wall_ns(void);
void t_nap_ms(unsigned ms);

/** Waits until a condition holds, looking every few milliseconds; fails the test after `ms`. */
#define T_WAIT_UNTIL(condition, ms)                                                                \
	do {                                                                                       \
		int64_t t_deadline_ns = t_mono_ns() + (ms)*INT64_C(1000000);                       \
		while (!(condition)) {                                                             \
			ck_assert_msg(t_mono_ns() < t_deadline_ns, "%s: not within %d ms",         \
				      #condition, (int)(ms));                                      \
			t_nap_ms(2);                                                               \
		}                                                                                  \
	} while (0)

#endif
