/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The progress line. Main thread only; does nothing that can fail the work it reports on.
 */
#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_NS INT64_C(200000000)
#define BAR_WIDTH 20

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sfctl_progress_init(struct sfctl_progress *progress, int fd)
{
	struct stat status;

	*progress = (struct sfctl_progress){
		.is_on = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0,
		.started_ns = now_ns(),
	};
	progress->shown_ns =
		progress->started_ns; /* a first rate needs some time to mean anything */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		progress->total_bytes = (uint64_t)status.st_size;
}

/** "[=====>    ]  42 % " of a known total. */
static void bar_format(uint64_t bytes, uint64_t total, char *buffer, size_t size)
{
	unsigned percent = bytes >= total ? 100 : (unsigned)((double)bytes * 100 / (double)total);
	char bar[BAR_WIDTH + 1];

	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '=', percent * BAR_WIDTH / 100);
	bar[BAR_WIDTH] = '\0';
	(void)snprintf(buffer, size, "[%s] %3u %%  ", bar, percent);
}

void sfctl_progress_show(struct sfctl_progress *progress, uint64_t bytes, uint64_t records,
			 bool is_last)
{
	int64_t now = progress->is_on ? now_ns() : 0;
	double seconds = (double)(now - progress->started_ns) / 1e9;
	char bar[64] = "";

	if (!progress->is_on || (!is_last && now - progress->shown_ns < REDRAW_NS))
		return;
	progress->shown_ns = now;
	if (progress->total_bytes > 0)
		bar_format(bytes, progress->total_bytes, bar, sizeof(bar));
	(void)fprintf(stderr, "\r%s%.1f MB  %.1f MB/s  %" PRIu64 " records\033[K%s", bar,
		      (double)bytes / 1e6, (double)bytes / 1e6 / (seconds > 0 ? seconds : 1),
		      records, is_last ? "\n" : "");
	(void)fflush(stderr);
}

void sfctl_progress_clear(struct sfctl_progress *progress)
{
	if (progress->is_on && progress->shown_ns != progress->started_ns)
		(void)fputs("\r\033[K", stderr);
}
