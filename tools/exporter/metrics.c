/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Metrics as text; see metrics.h. Errors of the stream, which is memory, are looked for once, at
 * the end.
 */
#include "tools/exporter/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1e9
/** Digits enough to tell bounds of nanoseconds apart, few enough for 0.1 to be 0.1. */
#define BOUND_DIGITS 9
#define BOUND_MAX 32

int sfctl_metrics_init(struct sfctl_metrics *metrics, enum sfctl_exposition exposition)
{
	*metrics = (struct sfctl_metrics){.exposition = exposition};
	metrics->out = open_memstream(&metrics->text, &metrics->length);
	return metrics->out ? 0 : -ENOMEM;
}

/** What a type adds to the name of its samples; histograms add more than one. */
static const char *suffix(enum sfctl_metric_type type)
{
	if (type == SFCTL_COUNTER)
		return "_total";
	return type == SFCTL_INFO ? "_info" : "";
}

static const char *type_word(const struct sfctl_metrics *metrics, enum sfctl_metric_type type)
{
	static const char *const words[] = {
		[SFCTL_GAUGE] = "gauge",         [SFCTL_COUNTER] = "counter",
		[SFCTL_INFO] = "info",           [SFCTL_STATE_SET] = "stateset",
		[SFCTL_HISTOGRAM] = "histogram",
	};
	bool is_new = type == SFCTL_INFO || type == SFCTL_STATE_SET;

	return words[is_new && metrics->exposition == SFCTL_PROMETHEUS_TEXT ? SFCTL_GAUGE : type];
}

/** Help texts of the older format keep their quotes. */
static void put_escaped(struct sfctl_metrics *metrics, const char *text, bool escapes_quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			(void)fputs("\\n", metrics->out);
		else if (*text == '\\' || (*text == '"' && escapes_quotes))
			(void)fprintf(metrics->out, "\\%c", *text);
		else if (*text < ' ' ||
			 *text > '~') /* must be UTF-8, and words of others are not */
			(void)fputc('?', metrics->out);
		else
			(void)fputc(*text, metrics->out);
	}
}

void sfctl_metrics_family(struct sfctl_metrics *metrics, const struct sfctl_family *family)
{
	bool is_open = metrics->exposition == SFCTL_OPENMETRICS;
	/* The older format knows samples only, so their name is the family's. */
	const char *end = is_open ? "" : suffix(family->type);

	metrics->family = family;
	(void)fprintf(metrics->out, "# TYPE %s%s %s\n", family->name, end,
		      type_word(metrics, family->type));
	if (is_open && family->unit)
		(void)fprintf(metrics->out, "# UNIT %s %s\n", family->name, family->unit);
	(void)fprintf(metrics->out, "# HELP %s%s ", family->name, end);
	put_escaped(metrics, family->help, is_open);
	(void)fputc('\n', metrics->out);
}

/** Name and labels; `extra`, which may be NULL, is one label more. */
static void put_name(struct sfctl_metrics *metrics, const char *end, struct sfctl_labels labels,
		     const struct sfctl_label *extra)
{
	size_t count = labels.count + (extra ? 1 : 0);

	(void)fprintf(metrics->out, "%s%s", metrics->family->name, end);
	for (size_t i = 0; i < count; i++) {
		const struct sfctl_label *label = i < labels.count ? &labels.label[i] : extra;

		(void)fprintf(metrics->out, "%c%s=\"", i == 0 ? '{' : ',', label->name);
		put_escaped(metrics, label->value, true);
		(void)fputc('"', metrics->out);
	}
	(void)fputs(count > 0 ? "} " : " ", metrics->out);
}

static void put_value(struct sfctl_metrics *metrics, struct sfctl_decimal value)
{
	uint64_t one = 1;

	for (unsigned i = 0; i < value.decimals; i++)
		one *= 10;
	(void)fprintf(metrics->out, "%s%" PRIu64, value.is_negative ? "-" : "",
		      value.magnitude / one);
	if (value.decimals > 0)
		(void)fprintf(metrics->out, ".%0*" PRIu64, (int)value.decimals,
			      value.magnitude % one);
	(void)fputc('\n', metrics->out);
}

void sfctl_metrics_sample(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			  struct sfctl_decimal value)
{
	put_name(metrics, suffix(metrics->family->type), labels, NULL);
	put_value(metrics, value);
}

void sfctl_metrics_states(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			  const char *const *word, size_t count, size_t now)
{
	for (size_t i = 0; i < count; i++) {
		/* the label of a state set has the family's name */
		struct sfctl_label state = {metrics->family->name, word[i]};

		if (!word[i])
			continue;
		put_name(metrics, "", labels, &state);
		put_value(metrics, sfctl_unsigned(i == now, 0));
	}
}

/** A bound as the client libraries of Prometheus write it, so that series of theirs match: "1.0",
 *  "0.0005", "1e-06". */
static void bound_format(uint64_t bound_ns, char text[BOUND_MAX])
{
	(void)snprintf(text, BOUND_MAX, "%.*g", BOUND_DIGITS, (double)bound_ns / NS_PER_S);
	if (!strpbrk(text, ".e"))
		(void)strncat(text, ".0", BOUND_MAX - strlen(text) - 1);
}

void sfctl_metrics_histogram(struct sfctl_metrics *metrics, struct sfctl_labels labels,
			     const struct sfctl_histogram *histogram)
{
	char text[BOUND_MAX];
	struct sfctl_label bound = {"le", text};
	uint64_t count = 0;

	for (size_t i = 0; i < histogram->bounds; i++) {
		count += histogram->count[i];
		bound_format(histogram->bound_ns[i], text);
		put_name(metrics, "_bucket", labels, &bound);
		put_value(metrics, sfctl_unsigned(count, 0));
	}
	count += histogram->count[histogram->bounds];
	bound.value = "+Inf";
	put_name(metrics, "_bucket", labels, &bound);
	put_value(metrics, sfctl_unsigned(count, 0));
	put_name(metrics, "_sum", labels, NULL);
	put_value(metrics, sfctl_unsigned(histogram->sum_ns, 9));
	put_name(metrics, "_count", labels, NULL);
	put_value(metrics, sfctl_unsigned(count, 0));
}

int sfctl_metrics_finish(struct sfctl_metrics *metrics, char **ret_text, size_t *ret_length)
{
	bool is_whole;

	if (metrics->exposition == SFCTL_OPENMETRICS)
		(void)fputs("# EOF\n", metrics->out);
	is_whole = ferror(metrics->out) == 0;
	if (fclose(metrics->out) != 0 || !is_whole) {
		free(metrics->text);
		return -ENOMEM;
	}
	*ret_text = metrics->text;
	*ret_length = metrics->length;
	return 0;
}
