/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's log on stderr. Owns the level and whether stderr is the journal; both are set once,
 * before other threads exist, and only read afterwards, so any thread may log. Never allocates,
 * never changes errno, and writes each sentence with one write(2), so that lines never mix.
 */
#include "daemon/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Longest line, newline included; what is longer is cut. Below PIPE_BUF: a pipe keeps it whole. */
#define LINE_BYTES 1024

static const struct {
	enum sfd_log_level level;
	const char *name;
} levels[] = {
	{SFD_LOG_ERROR, "error"},
	{SFD_LOG_WARNING, "warning"},
	{SFD_LOG_INFO, "info"},
	{SFD_LOG_DEBUG, "debug"},
};

/* Until sfd_log_init() is called, the problems of the configuration itself must be visible. */
static enum sfd_log_level threshold = SFD_LOG_INFO;
static bool to_journal;

/* $JOURNAL_STREAM alone proves nothing: it is inherited also when stderr was redirected. */
static bool is_journal(void)
{
	const char *stream = secure_getenv("JOURNAL_STREAM");
	char expected[64];
	struct stat status;

	if (stream == NULL || fstat(STDERR_FILENO, &status) < 0)
		return false;
	(void)snprintf(expected, sizeof(expected), "%ju:%ju", (uintmax_t)status.st_dev,
		       (uintmax_t)status.st_ino);
	return strcmp(stream, expected) == 0;
}

static const char *level_name(enum sfd_log_level level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "error";
}

void sfd_log_init(enum sfd_log_level level)
{
	const int kept = errno;

	threshold = level;
	to_journal = is_journal();
	errno = kept;
}

/* A value quoted from a file or a peer must not forge a line or steer a terminal. */
static void mask_controls(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

__attribute__((format(printf, 2, 0))) static void write_line(enum sfd_log_level level,
							     const char *format, va_list arguments)
{
	const int kept = errno;
	char line[LINE_BYTES];
	size_t length;

	if (level > threshold)
		return;
	if (to_journal)
		(void)snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		(void)snprintf(line, sizeof(line), "sfd: %s: ", level_name(level));
	length = strlen(line);
	errno = kept; /* the sentence may hold %m */
	/* One byte less than there is: it is the newline's. */
	(void)vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
	mask_controls(line + length);
	length += strlen(line + length);
	line[length++] = '\n';
	/* A log that cannot be written has nowhere to say so; only an interruption is tried again.
	 */
	while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR)
		;
	errno = kept;
}

void sfd_log(enum sfd_log_level level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(level, format, arguments);
	va_end(arguments);
}

bool sfd_log_may(struct sfd_log_limit *limit, int64_t mono_ns, unsigned *ret_left_out)
{
	if (limit->lines == 0 || mono_ns - limit->since_ns >= SFD_LOG_PAUSE_NS) {
		limit->since_ns = mono_ns;
		limit->lines = 0;
	}
	if (limit->lines >= SFD_LOG_BURST) {
		limit->left_out++;
		return false;
	}
	limit->lines++;
	*ret_left_out = limit->left_out;
	limit->left_out = 0;
	return true;
}

void sfd_log_limited(struct sfd_log_limit *limit, enum sfd_log_level level, const char *format, ...)
{
	const int kept = errno;
	struct timespec now = {0};
	unsigned left_out = 0;
	va_list arguments;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (!sfd_log_may(limit, now.tv_sec * INT64_C(1000000000) + now.tv_nsec, &left_out))
		return;
	if (left_out > 0)
		sfd_log(level, "%u more like the following were left out", left_out);
	errno = kept;
	va_start(arguments, format);
	write_line(level, format, arguments);
	va_end(arguments);
}

int sfd_log_level_parse(const char *text, enum sfd_log_level *ret_level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcmp(levels[i].name, text) == 0) {
			*ret_level = levels[i].level;
			return 0;
		}
	}
	return -EINVAL;
}
