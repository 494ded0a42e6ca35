/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Metrics as text: in OpenMetrics 1.0, or in the older Prometheus text format 0.0.4. Knows how the
 * two differ (suffixes, types, escapes, the end), and nothing of sfd. A metrics object belongs to
 * one thread.
 */
#ifndef SFCTL_EXPORTER_METRICS_H
#define SFCTL_EXPORTER_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sfctl_exposition {
	SFCTL_PROMETHEUS_TEXT,
	SFCTL_OPENMETRICS,
};

enum sfctl_metric_type {
	SFCTL_GAUGE,
	SFCTL_COUNTER,   /* its sample's name ends in _total */
	SFCTL_INFO,      /* its sample's name ends in _info, the value is 1: the labels tell */
	SFCTL_STATE_SET, /* one sample a state, of which one is 1 and the others 0 */
	SFCTL_HISTOGRAM,
};

/** What the samples that follow have in common. */
struct sfctl_family {
	const char *name; /* without the suffix of its type; ends in its unit */
	enum sfctl_metric_type type;
	const char *unit; /* a base unit; NULL: none */
	const char *help;
};

struct sfctl_label {
	const char *name;
	const char *value;
};

/** The labels of a sample. */
struct sfctl_labels {
	const struct sfctl_label *label;
	size_t count;
};

/** An exact decimal: so many times 10 to the power of -decimals. */
struct sfctl_decimal {
	uint64_t magnitude;
	unsigned decimals; /* 0 to 9 */
	bool is_negative;
};

/** Durations, counted by how long they were. */
struct sfctl_histogram {
	const uint64_t
		*bound_ns;     /* upper bounds, inclusive and rising; what is longer comes last */
	const uint64_t *count; /* one a bound, and one more; not added up */
	size_t bounds;
	uint64_t sum_ns;
};

/** A scrape's text in the making. */
struct sfctl_metrics {
	enum sfctl_exposition exposition;
	const struct sfctl_family *family; /* of the samples that come now */
	FILE *out;
	char *text;
	size_t length;
};

static inline struct sfctl_decimal sfctl_unsigned(uint64_t value, unsigned decimals)
{
	return (struct sfctl_decimal){.magnitude = value, .decimals = decimals};
}

static inline struct sfctl_decimal sfctl_signed(int64_t value, unsigned decimals)
{
	/* unsigned, for the smallest has no positive counterpart */
	return (struct sfctl_decimal){
		.magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
		.decimals = decimals,
		.is_negative = value < 0,
	};
}

/** @return 0 or -ENOMEM */
int sfctl_metrics_init(struct sfctl_metrics *metrics, enum sfctl_exposition exposition);

/** Begins a family; each comes once. `family` must live until the next one begins. */
void sfctl_metrics_family(struct sfctl_metrics *metrics, const struct sfctl_family *family);

/** A sample of a gauge, counter or info. */
void sfctl_metrics_sample(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			  struct sfctl_decimal value);

/** All samples of a state set: the words of its `count` states, NULL for none, and which one holds
 *  now. */
void sfctl_metrics_states(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			  const char *const *word, size_t count, size_t now);

/** All samples of a histogram. */
void sfctl_metrics_histogram(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			     const struct sfctl_histogram *histogram);

/**
 * Ends the text and hands it out; the caller frees it.
 * @return 0 or -ENOMEM; either way the metrics are gone
 */
int sfctl_metrics_finish(struct sfctl_metrics *metrics, char **ret_text, size_t *ret_length);

#endif
