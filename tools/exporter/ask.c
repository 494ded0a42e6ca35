/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Asking sfd; see ask.h. Each scrape has a connection of its own, so that an sfd that was replaced
 * is found, and one that idles has none.
 */
#include "tools/exporter/ask.h"

#include "tools/exporter/families.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

static const uint64_t bounds_ns[SFCTL_ASK_BOUNDS] = {
	UINT64_C(100000), UINT64_C(1000000), UINT64_C(10000000), UINT64_C(100000000), NS_PER_S,
};

static int64_t mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void sfctl_asker_init(struct sfctl_asker *asker, const struct sfctl *sfctl)
{
	*asker = (struct sfctl_asker){.sfctl = sfctl};
}

void sfctl_asker_deinit(struct sfctl_asker *asker)
{
	free(asker->stream);
	*asker = (struct sfctl_asker){0};
}

static int make_room(struct sfctl_asker *asker, uint32_t count)
{
	struct sf_control_stats *grown;

	if (count <= asker->stream_room)
		return 0;
	grown = reallocarray(asker->stream, count, sizeof(*grown));
	if (!grown) {
		SFCTL_WHY(&asker->why, "out of memory");
		return -ENOMEM;
	}
	asker->stream = grown;
	asker->stream_room = count;
	return 0;
}

/** One stream's statistics, before `end_ns`. */
static int ask_stream(struct sfctl_asker *asker, int fd, uint32_t index, int64_t end_ns)
{
	int64_t left_ms = (end_ns - mono_ns() + NS_PER_MS - 1) / NS_PER_MS;
	int error = make_room(asker, index + 1);

	if (error < 0)
		return error;
	/* not 0, which is for ever */
	sfctl_control_patience(fd, left_ms > 1 ? (unsigned)left_ms : 1);
	return sfctl_control_stats(fd, NULL, index, &asker->stream[index], &asker->why);
}

/** @return how many streams there are, or a negative errno with the reason in asker->why */
static int ask_all(struct sfctl_asker *asker, int64_t end_ns)
{
	uint32_t count = 0;
	int error;
	int fd;

	error = sfctl_control_open(asker->sfctl, &fd, &asker->why);
	if (error < 0)
		return error;
	do
		error = ask_stream(asker, fd, count, end_ns);
	while (error == 0 && ++count < asker->stream[0].stream_count);
	(void)sfctl_control_close(fd);
	return error < 0 ? error : (int)count;
}

/** The log hears of it once, and once that it is over. */
static void tell(struct sfctl_asker *asker, bool is_up)
{
	if (is_up && asker->is_told)
		(void)fprintf(stderr, "sfctl exporter: sfd answers again\n");
	else if (!is_up && !asker->is_told)
		(void)sfctl_fail(asker->sfctl, "%s; sfd_up is 0 until it answers", asker->why.text);
	asker->is_told = !is_up;
}

static void count_time(struct sfctl_asker *asker, uint64_t took_ns)
{
	size_t i = 0;

	while (i < SFCTL_ASK_BOUNDS && took_ns > bounds_ns[i])
		i++;
	asker->took[i]++;
	asker->took_sum_ns += took_ns;
}

/**
 * An sfd that is stopped would hold up the one thread that serves everybody: it is left alone for
 * as long as it made us wait, and scrapes hear of what was learnt.
 * @return as ask_all()
 */
static int ask(struct sfctl_asker *asker)
{
	int64_t begin_ns = mono_ns();
	int64_t took_ns;
	int result;

	asker->scrapes++;
	if (begin_ns < asker->again_mono_ns) {
		asker->errors++;
		return -ETIMEDOUT;
	}
	result = ask_all(asker, begin_ns + SFCTL_ASK_TIMEOUT_MS * NS_PER_MS);
	took_ns = mono_ns() - begin_ns;
	if (result < 0) {
		asker->errors++;
		asker->again_mono_ns = begin_ns + 2 * took_ns;
	} else {
		count_time(asker, (uint64_t)took_ns);
	}
	tell(asker, result >= 0);
	return result;
}

static void add_one(struct sfctl_metrics *metrics, const struct sfctl_family *family,
		    uint64_t value)
{
	sfctl_metrics_family(metrics, family);
	sfctl_metrics_sample(metrics, (struct sfctl_labels){0}, sfctl_unsigned(value, 0));
}

static void add_own(const struct sfctl_asker *asker, struct sfctl_metrics *metrics)
{
	static const struct sfctl_family scrapes = {"sfd_exporter_scrapes", SFCTL_COUNTER, NULL,
						    "scrapes, this one included"};
	static const struct sfctl_family errors = {"sfd_exporter_scrape_errors", SFCTL_COUNTER,
						   NULL, "scrapes of them with sfd_up 0"};
	static const struct sfctl_family took = {"sfd_exporter_ask_seconds", SFCTL_HISTOGRAM,
						 "seconds",
						 "time that sfd took to answer a scrape"};
	const struct sfctl_histogram histogram = {
		.bound_ns = bounds_ns,
		.count = asker->took,
		.bounds = SFCTL_ASK_BOUNDS,
		.sum_ns = asker->took_sum_ns,
	};

	add_one(metrics, &scrapes, asker->scrapes);
	add_one(metrics, &errors, asker->errors);
	sfctl_metrics_family(metrics, &took);
	sfctl_metrics_histogram(metrics, (struct sfctl_labels){0}, &histogram);
}

void sfctl_asker_collect(void *context, struct sfctl_metrics *metrics)
{
	/* A scrape of an sfd that is away succeeds: its answer is that sfd is away. With an error
	 * of HTTP instead, Prometheus would drop what else is known, and an exporter that is away
	 * would look the same. */
	static const struct sfctl_family up = {"sfd_up", SFCTL_GAUGE, NULL,
					       "1 if sfd answered this scrape, else 0"};
	struct sfctl_asker *asker = context;
	int count = ask(asker);

	add_one(metrics, &up, count > 0);
	if (count > 0)
		sfctl_families(metrics, asker->stream, (uint32_t)count);
	add_own(asker, metrics);
}
