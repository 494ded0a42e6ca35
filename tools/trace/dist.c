/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Distributions; see dist.h. What the kernel hands over is read once, while nobody adds to it.
 */
#include "tools/trace/dist.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* Of all values, the part that `typical` is the mean of. */
#define TYPICAL_PART 0.99

static double scaled(double value, struct sfctl_scale scale)
{
	return value > scale.less ? (value - scale.less) / scale.per_unit : 0;
}

static struct sfctl_bin bin_of(const struct sf_hist *hist, uint32_t bucket,
			       struct sfctl_scale scale)
{
	bool is_exact = bucket < SF_HIST_LINEAR;
	double first = (double)sf_hist_first(bucket);
	double end = bucket + 1 < SF_HIST_BUCKETS ? (double)sf_hist_first(bucket + 1)
						  : (double)UINT64_MAX;

	return (struct sfctl_bin){.from = scaled(is_exact ? first - scale.step / 2 : first, scale),
				  .to = scaled(is_exact ? first + scale.step / 2 : end, scale),
				  .count = hist->bucket[bucket]};
}

/** What is taken off comes last: single values may be less than that, and count for the mean. */
static double typical_of(const struct sf_hist *hist, uint64_t count, struct sfctl_scale scale)
{
	double wanted = ceil((double)count * TYPICAL_PART);
	double left = wanted;
	double sum = 0;

	for (uint32_t i = 0; i + 1 < SF_HIST_BUCKETS && left > 0; i++) {
		double first = (double)sf_hist_first(i);
		double last = (double)sf_hist_first(i + 1) - 1;
		double here = left < (double)hist->bucket[i] ? left : (double)hist->bucket[i];

		sum += here * (first + last) / 2;
		left -= here;
	}
	return scaled(sum / wanted, scale);
}

void sfctl_dist_init(struct sfctl_dist *dist, const struct sf_hist *hist, struct sfctl_scale scale)
{
	*dist = (struct sfctl_dist){0};
	for (uint32_t i = 0; i < SF_HIST_BUCKETS; i++) {
		if (hist->bucket[i] == 0)
			continue;
		dist->bin[dist->bin_count++] = bin_of(hist, i, scale);
		dist->count += hist->bucket[i];
	}
	if (dist->count == 0)
		return;
	dist->typical = typical_of(hist, dist->count, scale);
	dist->max = scaled((double)hist->max, scale);
	/* Who was overtaken again and again has not told its maximum. */
	if (dist->max < dist->bin[dist->bin_count - 1].from)
		dist->max = dist->bin[dist->bin_count - 1].from;
}

double sfctl_dist_percentile(const struct sfctl_dist *dist, double part)
{
	double wanted = part * (double)dist->count;
	double below = 0;

	for (size_t i = 0; i < dist->bin_count; i++) {
		const struct sfctl_bin *bin = &dist->bin[i];
		double count = (double)bin->count;
		double value;

		if (below + count < wanted) {
			below += count;
			continue;
		}
		value = bin->from + (bin->to - bin->from) * (wanted - below) / count;
		return value < dist->max ? value : dist->max;
	}
	return dist->max;
}

void sfctl_hist_merge(struct sf_hist *into, const struct sf_hist *from)
{
	for (uint32_t i = 0; i < SF_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	into->sum += from->sum;
	if (into->max < from->max)
		into->max = from->max;
}

void sfctl_hist_add(struct sf_hist *hist, uint64_t value)
{
	hist->bucket[sf_hist_bucket(value)]++;
	hist->count++;
	hist->sum += value;
	if (hist->max < value)
		hist->max = value;
}

/** JSON numbers with more digits than there is sense in are hard to read. */
static json_t *rounded(double value)
{
	return json_real(round(value * 1000) / 1000);
}

static int set_value(json_t *object, const char *name, const char *unit, double value)
{
	char key[32];

	(void)snprintf(key, sizeof(key), "%s_%s", name, unit);
	return json_object_set_new(object, key, rounded(value));
}

static json_t *bins_json(const struct sfctl_dist *dist)
{
	json_t *array = json_array();

	for (size_t i = 0; i < dist->bin_count; i++) {
		const struct sfctl_bin *bin = &dist->bin[i];
		json_t *object = json_pack("{s:o, s:o, s:I}", "from", rounded(bin->from), "to",
					   rounded(bin->to), "count", (json_int_t)bin->count);

		if (json_array_append_new(array, object) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *sfctl_dist_json(const struct sfctl_dist *dist, const char *unit)
{
	static const struct {
		const char *name;
		double part;
	} parts[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}};
	json_t *object = json_pack("{s:I}", "count", (json_int_t)dist->count);
	int error = set_value(object, "typical", unit, dist->typical);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		error |= set_value(object, parts[i].name, unit,
				   sfctl_dist_percentile(dist, parts[i].part));
	error |= set_value(object, "max", unit, dist->max);
	error |= json_object_set_new(object, "histogram", bins_json(dist));
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

struct sfctl_ns_text sfctl_ns_text(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	struct sfctl_ns_text text;
	size_t unit = 0;

	while (ns >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		ns /= 1000;
		unit++;
	}
	(void)snprintf(text.text, sizeof(text.text), "%.*f %s", ns < 10 ? 1 : 0, ns, units[unit]);
	return text;
}
