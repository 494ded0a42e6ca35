/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See e2e.h. The program is the reaper of all its descendants, so that at its end it can find and
 * end whatever a failed test left, however deep.
 */
#include "tests/support/e2e.h"

#include <ctype.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_SECONDS (T_TSAN || T_ASAN ? 240 : 60)

static const struct t_program *program_now;
static char directory[64];
static bool may_mount;
/* The process that runs the test of now; 0 in a role. */
static pid_t test_pid;
/* Shared with the processes that run the tests. */
static _Atomic unsigned *skipped;

const struct t_program *t_program(void)
{
	return program_now;
}

const char *t_directory(void)
{
	return directory;
}

bool t_may_mount(void)
{
	return may_mount;
}

void t_skip(const char *test, const char *reason)
{
	/* relaxed: only a number */
	atomic_fetch_add_explicit(skipped, 1, memory_order_relaxed);
	/* Check appends _fn to the name of a test's function. */
	(void)printf("SKIP %.*s: %s\n", (int)(strlen(test) - strlen("_fn")), test, reason);
	(void)fflush(stdout);
}

void t_check_failed(const char *file, int line, const char *condition)
{
	if (getpid() == test_pid)
		_ck_assert_failed(file, line, condition, NULL);
	(void)fprintf(stderr, "%s:%d: in a child: %s\n", file, line, condition);
	_exit(T_CHECK_FAILED);
}

static void note_test(void)
{
	test_pid = getpid();
}

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t t_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t t_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

void t_nap_ms(unsigned ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	while (nanosleep(&left, &left) < 0)
		;
}

static void isolate(void)
{
	may_mount = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount("tmpfs", "/run/lock", "tmpfs", 0, "size=64k") == 0;
	if (!may_mount)
		(void)fprintf(stderr, "no mounts of one's own here: machine ids are the host's\n");
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	if (remove(path) == 0)
		return 0;
	(void)umount2(path, MNT_DETACH);
	(void)remove(path);
	return 0;
}

/** One child of ours, whoever started it; 0 when there is none. */
static pid_t find_child(void)
{
	char path[64];
	char text[32] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%31s", text) != 1)
		text[0] = '\0';
	(void)fclose(file);
	return isdigit((unsigned char)text[0]) ? (pid_t)strtol(text, NULL, 10) : 0;
}

/** Ends what failed tests left: the orphans among our descendants are our children by now. */
static void end_children(void)
{
	pid_t pid;

	while ((pid = find_child()) != 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}

/** A case for each test, of its name: so CK_RUN_CASE picks one. */
static void add_test(Suite *suite, const TTest *test)
{
	TCase *own = tcase_create(test->name);

	tcase_set_timeout(own, program_now->timeout_seconds > 0 ? program_now->timeout_seconds
								: TIMEOUT_SECONDS);
	tcase_add_checked_fixture(own, note_test, NULL);
	tcase_add_test(own, test);
	suite_add_tcase(suite, own);
}

static int run_tests(const struct t_program *program)
{
	Suite *suite = suite_create(program->name);
	SRunner *runner = srunner_create(suite);
	int failed;

	for (size_t i = 0; i < program->test_count; i++)
		add_test(suite, program->tests[i]);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int t_main(int argc, char **argv, const struct t_program *program)
{
	int code;

	program_now = program;
	if (argc > 1 && program->role)
		return program->role(argc, argv);
	skipped = mmap(NULL, sizeof(*skipped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	(void)snprintf(directory, sizeof(directory), "/tmp/sfd-e2e-XXXXXX");
	if (skipped == MAP_FAILED || !mkdtemp(directory) || chmod(directory, 0755) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) < 0) {
		perror(program->name);
		return EXIT_FAILURE;
	}
	isolate();
	code = run_tests(program);
	end_children();
	(void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	/* relaxed: nobody is left to change it */
	(void)printf("%s: %u skipped\n", program->name,
		     atomic_load_explicit(skipped, memory_order_relaxed));
	return code;
}
