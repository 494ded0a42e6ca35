/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See report.h.
 */
#include "tests/chaos/report.h"

#include <stdio.h>
#include <string.h>

/* A run of this length must have seen everything: events.c sees to it. */
#define ALL_SECONDS 25.0
#define NUMBER_BYTES 32

/** A number with commas. */
static const char *number(uint64_t value, char text[NUMBER_BYTES])
{
	char plain[NUMBER_BYTES];
	int length = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)value);
	char *at = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = plain[i];
	}
	*at = '\0';
	return text;
}

/** @return how much happened */
static uint64_t print_event(const struct chaos_events *events, enum chaos_event event)
{
	uint64_t count = atomic_load_explicit(&chaos->happened[event], memory_order_relaxed);
	/* What the clients do to themselves and each other happens all the time. */
	const struct chaos_survival *during =
		event < CHAOS_HOST_EVENTS ? &events->survival[event] : &events->all;
	uint64_t failed = event < CHAOS_HOST_EVENTS ? during->failed : chaos_events_failed();
	char text[NUMBER_BYTES];

	if (!events->survival[event].can_happen) {
		printf("%-28s %9s  (%s)\n", chaos_event_name(event), "-",
		       events->survival[event].why_not);
		return 0;
	}
	printf("%-28s %9s %9.0f ms %9.3f ms %-8s %9.3f ms %-8s %6llu\n", chaos_event_name(event),
	       number(count, text), (double)events->survival[event].absent_ns / 1e6,
	       (double)during->longest_ns[0] / 1e6, chaos_stream_name(during->longest_of[0]),
	       (double)during->longest_ns[1] / 1e6, chaos_stream_name(during->longest_of[1]),
	       (unsigned long long)failed);
	return count;
}

static uint64_t print_events(const struct chaos_events *events, double seconds)
{
	uint64_t sum = 0;

	printf("%-28s %9s %12s %-21s %-21s %6s\n", "", "", "no sfd", " longest wait in a",
	       "  fetch; the same of", "failed");
	printf("%-28s %9s %12s %-21s %-21s %6s\n", "event", "count", "for up to",
	       " fetch meanwhile", "  a new client", "calls");
	for (unsigned i = 0; i < CHAOS_EVENTS; i++) {
		uint64_t count = print_event(events, i);

		sum += count;
		if (count == 0 && events->survival[i].can_happen && seconds >= ALL_SECONDS)
			chaos_find("never happened: %s", chaos_event_name(i));
	}
	return sum;
}

struct sums {
	uint64_t ids;
	uint64_t duplicates;
	uint64_t order;
	uint64_t failed;
};

static struct sums print_modes(const struct chaos_totals *totals)
{
	struct sums all = {0};

	printf("\n%-22s %17s %11s %17s %13s\n", "IDs taken by", "IDs", "duplicates",
	       "order violations", "failed calls");
	for (unsigned i = 0; i < CHAOS_MODES; i++) {
		/* relaxed: whoever wrote them has ended */
		uint64_t order = totals->order[i] + atomic_load_explicit(&chaos->order_ordered[i],
									 memory_order_relaxed);
		uint64_t failed = atomic_load_explicit(&chaos->failed[i], memory_order_relaxed);
		char text[NUMBER_BYTES];

		printf("%-22s %17s %11llu %17llu %13llu\n", chaos_mode_name(i),
		       number(totals->ids[i], text), (unsigned long long)totals->duplicates[i],
		       (unsigned long long)order, (unsigned long long)failed);
		all.ids += totals->ids[i];
		all.duplicates += totals->duplicates[i];
		all.order += order;
		all.failed += failed;
	}
	return all;
}

static uint32_t print_findings(void)
{
	uint32_t count = atomic_load_explicit(&chaos->findings, memory_order_relaxed);

	for (uint32_t i = 0; i < count && i < CHAOS_FINDINGS_MAX; i++)
		printf("FOUND at %s\n", chaos->finding[i]);
	if (count > CHAOS_FINDINGS_MAX)
		printf("FOUND %u more\n", count - CHAOS_FINDINGS_MAX);
	return count;
}

bool chaos_report(const struct chaos_events *events, const struct chaos_totals *totals,
		  double seconds)
{
	uint64_t happened = print_events(events, seconds);
	struct sums all = print_modes(totals);
	uint32_t findings;
	char ids[NUMBER_BYTES];
	char text[NUMBER_BYTES];

	printf("%s calls refused or made to wait as the stream's clock_backward says\n",
	       number(atomic_load_explicit(&chaos->refused, memory_order_relaxed), text));
	findings = print_findings();
	printf("chaos: %s IDs, %llu duplicates, %llu order violations, %llu failed calls, "
	       "%s events survived in %.0f s\n",
	       number(all.ids, ids), (unsigned long long)all.duplicates,
	       (unsigned long long)all.order, (unsigned long long)all.failed,
	       number(happened, text), seconds);
	return findings == 0 && all.duplicates == 0 && all.order == 0 && all.failed == 0 &&
	       all.ids > 0;
}
