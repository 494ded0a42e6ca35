/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The ingestion filter's stream, with IDs from a counter in place of a daemon.
 */
#include "tools/stamp_stream.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

struct run {
	struct sfctl_stamper stamper;
	struct sfctl_scanner scanner;
	struct sf_why why;
	uint64_t next_id;
	uint64_t last_id; /* none is given beyond it */
	uint64_t bad_line;
	int stop_at_done;
};

static int take(void *data, struct sfctl_stamp_id *ret_ids, size_t count, struct sf_why *why)
{
	struct run *run = data;

	if (run->next_id + count - 1 > run->last_id) {
		strcpy(why->text, "gets no ID: test");
		return -ESHUTDOWN;
	}
	for (size_t i = 0; i < count; i++)
		ret_ids[i].length = (uint8_t)snprintf(ret_ids[i].text, sizeof(ret_ids[i].text),
						      "%llu", (unsigned long long)run->next_id++);
	return 0;
}

static void on_bad(void *data, uint64_t line, const char *reason)
{
	struct run *run = data;

	ck_assert(strlen(reason) > 0);
	run->bad_line = line;
}

static void on_done(void *data)
{
	struct run *run = data;

	if (run->stop_at_done)
		stop = SIGINT;
}

static int memory_file(const char *text, size_t length)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void run_init(struct run *run, const char *field, int in_fd)
{
	*run = (struct run){.next_id = 1, .last_id = UINT64_MAX};
	stop = 0;
	if (field)
		ck_assert_int_eq(sfctl_scanner_init(&run->scanner, field, &run->why), 0);
	run->stamper = (struct sfctl_stamper){
		.scanner = &run->scanner,
		.in_fd = in_fd,
		.out_fd = memory_file("", 0),
		.stops_at_bad = true,
		.take = take,
		.bad = on_bad,
		.done = on_done,
		.data = run,
		.stop = &stop,
	};
}

/** Everything that was written; the caller frees it. */
static char *run_output(const struct run *run)
{
	off_t size = lseek(run->stamper.out_fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(pread(run->stamper.out_fd, text, (size_t)size, 0), size);
	text[size] = '\0';
	return text;
}

static void run_deinit(struct run *run)
{
	sfctl_scanner_deinit(&run->scanner);
	close(run->stamper.in_fd);
	close(run->stamper.out_fd);
}

static void assert_output(const struct run *run, const char *expected)
{
	char *text = run_output(run);

	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(stamper_run_mixed_input_stamps_in_order)
{
	static const char in[] = "{\"a\":1}\n\n{}\r\n  \n{\"b\":2}";
	struct run run;

	run_init(&run, "id", memory_file(in, sizeof(in) - 1));
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), 0);
	assert_output(&run,
		      "{\"id\":\"1\",\"a\":1}\n\n{\"id\":\"2\"}\r\n  \n{\"id\":\"3\",\"b\":2}");
	ck_assert_uint_eq(run.stamper.lines, 5);
	ck_assert_uint_eq(run.stamper.stamped, 3);
	ck_assert_uint_eq(run.stamper.bytes, sizeof(in) - 1);
	run_deinit(&run);
}
END_TEST

START_TEST(stamper_run_bad_line_stops_after_those_before)
{
	static const char in[] = "{\"a\":1}\n{}\noops\n{\"b\":2}\n";
	struct run run;

	run_init(&run, "id", memory_file(in, sizeof(in) - 1));
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), -EINVAL);
	assert_output(&run, "{\"id\":\"1\",\"a\":1}\n{\"id\":\"2\"}\n");
	ck_assert_ptr_nonnull(strstr(run.why.text, "line 3 is not a JSON object"));
	run_deinit(&run);
}
END_TEST

START_TEST(stamper_run_bad_line_passes_when_asked)
{
	static const char in[] = "{\"a\":1}\noops\n{\"b\":2}\n";
	struct run run;

	run_init(&run, "id", memory_file(in, sizeof(in) - 1));
	run.stamper.stops_at_bad = false;
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), 0);
	assert_output(&run, "{\"id\":\"1\",\"a\":1}\noops\n{\"id\":\"2\",\"b\":2}\n");
	ck_assert_uint_eq(run.bad_line, 2);
	ck_assert_uint_eq(run.stamper.bad_lines, 1);
	run_deinit(&run);
}
END_TEST

START_TEST(stamper_run_out_of_ids_writes_those_that_have_one)
{
	char in[600 * 3 + 1] = "";
	char *out;
	struct run run;

	for (int i = 0; i < 600; i++)
		(void)stpcpy(in + 3 * (size_t)i, "{}\n");
	run_init(&run, "id", memory_file(in, sizeof(in) - 1));
	run.last_id = 599;
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), -ESHUTDOWN);
	ck_assert_ptr_nonnull(strstr(run.why.text, "line 513 gets no ID"));
	out = run_output(&run);
	ck_assert_ptr_nonnull(strstr(out, "{\"id\":\"512\"}\n"));
	ck_assert_ptr_null(strstr(out, "513"));
	free(out);
	run_deinit(&run);
}
END_TEST

/** Splits `text` at every position into two writes, so that records arrive in parts. */
START_TEST(stamper_run_input_in_parts_gives_the_same)
{
	static const char in[] = "{\"a\":1}\n{}\n{\"b\":2}";

	for (size_t cut = 0; cut < sizeof(in); cut++) {
		int fds[2];
		struct run run;
		pid_t pid;

		ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0) {
			/* The pipe holds one byte more than a page at most, so parts stay apart. */
			bool is_ok = write(fds[1], in, cut) >= 0;

			(void)usleep(1000);
			is_ok &= write(fds[1], in + cut, sizeof(in) - 1 - cut) >= 0;
			_exit(!is_ok);
		}
		ck_assert_int_gt(pid, 0);
		close(fds[1]);
		run_init(&run, "id", fds[0]);
		ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), 0);
		assert_output(&run,
			      "{\"id\":\"1\",\"a\":1}\n{\"id\":\"2\"}\n{\"id\":\"3\",\"b\":2}");
		run_deinit(&run);
	}
}
END_TEST

START_TEST(stamper_run_long_lines_up_to_the_limit)
{
	char *text = malloc(SFCTL_STAMP_LINE_MAX + 2);
	char *out;
	struct run run;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', SFCTL_STAMP_LINE_MAX + 1);
	text[SFCTL_STAMP_LINE_MAX - 1] = '\n';
	run_init(&run, NULL, memory_file(text, SFCTL_STAMP_LINE_MAX));
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), 0);
	out = run_output(&run);
	ck_assert_uint_eq(strlen(out), SFCTL_STAMP_LINE_MAX + 2);
	ck_assert_int_eq(memcmp(out, "1\t", 2), 0);
	ck_assert_int_eq(memcmp(out + 2, text, SFCTL_STAMP_LINE_MAX), 0);
	free(out);
	run_deinit(&run);

	memset(text, 'x', SFCTL_STAMP_LINE_MAX);
	run_init(&run, NULL, memory_file("first\n", 6));
	(void)lseek(run.stamper.in_fd, 6, SEEK_SET);
	for (int i = 0; i < 2; i++)
		ck_assert_int_gt(write(run.stamper.in_fd, text, SFCTL_STAMP_LINE_MAX), 0);
	(void)lseek(run.stamper.in_fd, 0, SEEK_SET);
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(run.why.text, "line 2 is longer than 67108864 bytes"));
	assert_output(&run, "1\tfirst\n");
	run_deinit(&run);
	free(text);
}
END_TEST

START_TEST(stamper_run_stop_ends_after_whole_records)
{
	int fds[2];
	struct run run;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(write(fds[1], "{}\n{\"a\"", 7), 7);
	run_init(&run, "id", fds[0]);
	run.stop_at_done = 1;
	/* The other end stays open: only the stop ends this run. */
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), -EINTR);
	assert_output(&run, "{\"id\":\"1\"}\n");
	run_deinit(&run);
	close(fds[1]);
}
END_TEST

static void on_signal(int number)
{
	stop = number;
}

/** Signals the process from a thread that does not take the signal itself. */
static void *signal_later(void *data)
{
	sigset_t signals;

	(void)data;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	(void)usleep(20000);
	(void)kill(getpid(), SIGTERM);
	return NULL;
}

START_TEST(stamper_run_signal_ends_the_wait_for_input)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;
	struct run run;
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(sigaction(SIGTERM, &action, NULL), 0);
	run_init(&run, "id", fds[0]);
	ck_assert_int_eq(pthread_create(&thread, NULL, signal_later, NULL), 0);
	ck_assert_int_eq(sfctl_stamper_run(&run.stamper, &run.why), -EINTR);
	ck_assert_int_eq(stop, SIGTERM);
	pthread_join(thread, NULL);
	run_deinit(&run);
	close(fds[1]);
}
END_TEST

START_TEST(stamper_run_file_size_limit_leaves_whole_records)
{
	char in[100 * 3 + 1] = "";
	const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
	char path[] = "/tmp/test_stamp_XXXXXX";
	struct rlimit before;
	int error;
	char *out;
	struct run run;

	for (int i = 0; i < 100; i++)
		(void)stpcpy(in + 3 * (size_t)i, "{}\n");
	run_init(&run, "id", memory_file(in, sizeof(in) - 1));
	close(run.stamper.out_fd);
	run.stamper.out_fd = mkstemp(path);
	ck_assert_int_ge(run.stamper.out_fd, 0);
	ck_assert_int_eq(unlink(path), 0);
	/* Stands for a full disk: the file takes 1000 bytes, which is in the middle of a record. */
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	if (getrlimit(RLIMIT_FSIZE, &before) < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
		abort();
	error = sfctl_stamper_run(&run.stamper, &run.why);
	/* Check keeps its own messages in a file, too. */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_int_lt(error, 0);
	ck_assert_ptr_nonnull(strstr(run.why.text, "cannot write"));
	out = run_output(&run);
	ck_assert_uint_gt(strlen(out), 980);
	ck_assert_uint_lt(strlen(out), 1000);
	ck_assert_str_eq(out + strlen(out) - 3, "\"}\n");
	free(out);
	run_deinit(&run);
}
END_TEST

static Suite *stamp_stream_suite(void)
{
	Suite *suite = suite_create("stamp_stream");
	TCase *stream = tcase_create("stream");

	tcase_add_test(stream, stamper_run_mixed_input_stamps_in_order);
	tcase_add_test(stream, stamper_run_bad_line_stops_after_those_before);
	tcase_add_test(stream, stamper_run_bad_line_passes_when_asked);
	tcase_add_test(stream, stamper_run_out_of_ids_writes_those_that_have_one);
	tcase_add_test(stream, stamper_run_input_in_parts_gives_the_same);
	tcase_add_test(stream, stamper_run_long_lines_up_to_the_limit);
	tcase_add_test(stream, stamper_run_stop_ends_after_whole_records);
	tcase_add_test(stream, stamper_run_signal_ends_the_wait_for_input);
	tcase_add_test(stream, stamper_run_file_size_limit_leaves_whole_records);
	tcase_set_timeout(stream, 30);
	suite_add_tcase(suite, stream);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(stamp_stream_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
