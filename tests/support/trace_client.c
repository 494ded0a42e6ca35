/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A client for tests of tracing: reads lines of commands between semicolons, does what they say
 * with one cursor and without any other system call, and answers each line with "ok". single N N
 * fetches batch N SIZE   N batches getppid N      that system call, N times nap MS         one more
 * system call spin MS        fetches, for so long
 */
#include <sfclient.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256
#define BATCH_MAX 10000

static struct sf_cursor *cursor;

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	(void)fprintf(stderr, "trace_client: %s: %s\n", what, sf_strerror(result));
	exit(1);
}

static void fetch(unsigned long count)
{
	uint64_t id;

	for (unsigned long i = 0; i < count; i++)
		check(sf_next(cursor, &id), "single");
}

static void fill(unsigned long count, unsigned long size)
{
	static uint64_t ids[BATCH_MAX];

	for (unsigned long i = 0; i < count && size <= BATCH_MAX; i++)
		check(sf_fill(cursor, ids, size), "batch");
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void spin(unsigned long ms)
{
	int64_t end = now_ms() + (int64_t)ms;

	while (now_ms() < end)
		fetch(1000);
}

static void nap(unsigned long ms)
{
	struct timespec time = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&time, NULL);
}

static void run(char *command)
{
	char *save;
	const char *name = strtok_r(command, " \n", &save);
	const char *first = strtok_r(NULL, " \n", &save);
	const char *second = strtok_r(NULL, " \n", &save);
	unsigned long count = first ? strtoul(first, NULL, 10) : 0;

	if (!name)
		return;
	if (strcmp(name, "single") == 0)
		fetch(count);
	else if (strcmp(name, "batch") == 0)
		fill(count, second ? strtoul(second, NULL, 10) : 0);
	else if (strcmp(name, "nap") == 0)
		nap(count);
	else if (strcmp(name, "spin") == 0)
		spin(count);
	else if (strcmp(name, "getppid") == 0)
		for (unsigned long i = 0; i < count; i++)
			(void)syscall(SYS_getppid);
}

int main(void)
{
	char line[LINE_MAX_BYTES];
	struct sf_client *client;

	check(sf_open(NULL, &client), "open");
	check(sf_cursor_open(client, &cursor), "cursor");
	(void)puts("ok");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *save;

		for (char *command = strtok_r(line, ";", &save); command;
		     command = strtok_r(NULL, ";", &save))
			run(command);
		(void)puts("ok");
		(void)fflush(stdout);
	}
	sf_cursor_close(cursor);
	sf_close(client);
	return 0;
}
