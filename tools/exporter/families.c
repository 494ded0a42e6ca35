/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd's statistics as metric families; see families.h. Names, units and scales follow from the list
 * in shm/counters.def by rule, so that a new counter needs nothing here.
 */
#include "tools/exporter/families.h"

#include "tools/stats.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MS_DECIMALS 3

static const struct {
	const char *name;
	const char *kind;
	const char *unit;
	const char *help;
	bool is_shared;
} list[SF_COUNTER_COUNT] = {
#define SF_COUNTER(name, kind, unit, help) {#name, #kind, unit, help, false},
#define SF_COUNTER_SHARED(name, kind, unit, help) {#name, #kind, unit, help, true},
#include "shm/counters.def"
#undef SF_COUNTER
};

/** What becomes of the list's units; the others are counts, which have none. */
static const struct {
	const char *unit;
	const char *suffix; /* of names in the list */
	const char *base;
	unsigned decimals;
} units[] = {
	{"ms", "_ms", "seconds", MS_DECIMALS},
	{"us", "_us", "seconds", 6},
	{"ppm", "_ppm", "ratio", 6},
	{"ids/s", "_per_second", "ids_per_second", 0},
};

/** What of the list is a number only because a number was at hand. */
static const struct {
	enum sf_counter counter;
	const char *help;
	const char *word[5]; /* by that number */
} states[] = {
	{SF_COUNTER_clock_behind,
	 "what clock_backward does, while the wall is behind",
	 {"none", "slew", "wait", "refuse", "ahead"}},
	{SF_COUNTER_clock_sync,
	 "whether the kernel holds its clock for synchronised",
	 {"unknown", "synchronised", "unsynchronised"}},
	{SF_COUNTER_clock_leap,
	 "leap second that the kernel knows of",
	 {"none", "inserted_soon", "left_out_soon", "now", "just_passed"}},
};

static bool ends_in(const char *name, const char *suffix)
{
	size_t length = strlen(name);
	size_t end = strlen(suffix);

	return length >= end && strcmp(name + length - end, suffix) == 0;
}

static void states_find(enum sf_counter counter, struct sfctl_counter_family *family)
{
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		if (states[i].counter != counter)
			continue;
		family->family.type = SFCTL_STATE_SET;
		family->family.help = states[i].help;
		family->word = states[i].word;
		family->word_count = COUNT_OF(states[i].word);
	}
}

void sfctl_counter_family(enum sf_counter counter, struct sfctl_counter_family *family)
{
	const char *name = list[counter].name;
	size_t keep = strlen(name);

	*family = (struct sfctl_counter_family){
		.family = {.name = family->name,
			   .type = strcmp(list[counter].kind, "counter") == 0 ? SFCTL_COUNTER
									      : SFCTL_GAUGE,
			   .help = list[counter].help},
		.is_shared = list[counter].is_shared,
	};
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (strcmp(list[counter].unit, units[i].unit) != 0)
			continue;
		family->family.unit = units[i].base;
		family->decimals = units[i].decimals;
		if (ends_in(name, units[i].suffix))
			keep -= strlen(units[i].suffix);
	}
	(void)snprintf(family->name, sizeof(family->name), "sfd_%.*s%s%s", (int)keep, name,
		       family->family.unit ? "_" : "",
		       family->family.unit ? family->family.unit : "");
	states_find(counter, family);
}

/** The one label of nearly all samples. */
static struct sfctl_label stream_label(const struct sf_control_stats *stats)
{
	return (struct sfctl_label){"stream", stats->stream};
}

static void counter_add(struct sfctl_metrics *metrics, enum sf_counter counter,
			const struct sf_control_stats *stream, uint32_t count)
{
	struct sfctl_counter_family family;

	sfctl_counter_family(counter, &family);
	sfctl_metrics_family(metrics, &family.family);
	for (uint32_t i = 0; i < count && !(i > 0 && family.is_shared); i++) {
		uint64_t value = sfctl_counter(&stream[i], counter);
		struct sfctl_label label = stream_label(&stream[i]);
		struct sfctl_labels labels = {&label, family.is_shared ? 0 : 1};

		if (family.word)
			sfctl_metrics_states(metrics, labels, family.word, family.word_count,
					     value);
		else if (family.family.type == SFCTL_COUNTER)
			sfctl_metrics_sample(metrics, labels,
					     sfctl_unsigned(value, family.decimals));
		else
			sfctl_metrics_sample(metrics, labels,
					     sfctl_signed((int64_t)value, family.decimals));
	}
}

static void build_add(struct sfctl_metrics *metrics, const struct sf_control_stats *first)
{
	static const struct sfctl_family family = {
		"sfd_build", SFCTL_INFO, NULL, "version of the sfd that runs, and how it waits"};
	const struct sfctl_label label[] = {
		{"version", first->version},
		{"loop", first->loop == 0 ? "io_uring" : "poll"},
	};

	sfctl_metrics_family(metrics, &family);
	sfctl_metrics_sample(metrics, (struct sfctl_labels){label, COUNT_OF(label)},
			     sfctl_unsigned(1, 0));
}

static void state_add(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
		      uint32_t count)
{
	static const struct sfctl_family family = {
		"sfd_state", SFCTL_STATE_SET, NULL,
		"whether IDs are given (running), or why they are not"};
	const char *word[SF_SHM_BEHIND + 1] = {NULL}; /* the states begin at 1 */

	for (uint32_t i = SF_SHM_RUNNING; i <= SF_SHM_BEHIND; i++)
		word[i] = sfctl_state_word(i);
	sfctl_metrics_family(metrics, &family);
	for (uint32_t i = 0; i < count; i++) {
		struct sfctl_label label = stream_label(&stream[i]);

		sfctl_metrics_states(metrics, (struct sfctl_labels){&label, 1}, word,
				     COUNT_OF(word), stream[i].state);
	}
}

static void stream_add(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
		       uint32_t count)
{
	static const struct sfctl_family family = {"sfd_stream", SFCTL_INFO, NULL,
						   "format and layout of the stream's IDs"};
	char notation[SF_LAYOUT_TEXT_MAX] = "";

	sfctl_metrics_family(metrics, &family);
	for (uint32_t i = 0; i < count; i++) {
		const struct sf_layout *layout = &stream[i].layout;
		struct sfctl_label label[] = {
			stream_label(&stream[i]),
			{"format", sf_format_name(layout->format)},
			{"layout", notation},
		};

		(void)sf_layout_format(layout, notation, sizeof(notation));
		sfctl_metrics_sample(metrics, (struct sfctl_labels){label, COUNT_OF(label)},
				     sfctl_unsigned(1, 0));
	}
}

/** One sample for each: whoever watches several hosts can then see one that two of them use. */
static void machine_ids_add(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
			    uint32_t count)
{
	static const struct sfctl_family family = {
		"sfd_machine_id", SFCTL_INFO, NULL,
		"machine ids of the stream; wide formats have none"};
	char notation[SF_LAYOUT_TEXT_MAX] = "";
	char id[16];

	sfctl_metrics_family(metrics, &family);
	for (uint32_t i = 0; i < count; i++) {
		struct sfctl_label label[] = {
			stream_label(&stream[i]),
			{"layout", notation},
			{"machine_id", id},
		};

		(void)sf_layout_format(&stream[i].layout, notation, sizeof(notation));
		for (uint32_t j = 0; j < stream[i].node_count; j++) {
			(void)snprintf(id, sizeof(id), "%u", stream[i].node[j]);
			sfctl_metrics_sample(metrics, (struct sfctl_labels){label, COUNT_OF(label)},
					     sfctl_unsigned(1, 0));
		}
	}
}

/* What the configuration made of a stream, for expressions to compare with. */

static int64_t tick_ms(const struct sf_control_stats *stats)
{
	return stats->layout.tick_ms;
}

static int64_t runway_full_ms(const struct sf_control_stats *stats)
{
	return tick_ms(stats) * stats->runway_ticks;
}

static int64_t ahead_limit_ms(const struct sf_control_stats *stats)
{
	return tick_ms(stats) * stats->ahead_ticks;
}

static int64_t layout_end_ms(const struct sf_control_stats *stats)
{
	return sf_layout_last_ms(&stats->layout);
}

static const struct {
	struct sfctl_family family;
	int64_t (*ms)(const struct sf_control_stats *stats);
} settings[] = {
	{{"sfd_tick_seconds", SFCTL_GAUGE, "seconds", "length of a tick"}, tick_ms},
	{{"sfd_runway_full_seconds", SFCTL_GAUGE, "seconds", "what the runway is when it is full"},
	 runway_full_ms},
	{{"sfd_ahead_limit_seconds", SFCTL_GAUGE, "seconds", "how far ahead a claim may borrow"},
	 ahead_limit_ms},
	{{"sfd_layout_end_timestamp_seconds", SFCTL_GAUGE, "seconds",
	  "Unix time at which the layout's time field ends"},
	 layout_end_ms},
};

static void settings_add(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
			 uint32_t count)
{
	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		sfctl_metrics_family(metrics, &settings[i].family);
		for (uint32_t j = 0; j < count; j++) {
			struct sfctl_label label = stream_label(&stream[j]);

			sfctl_metrics_sample(metrics, (struct sfctl_labels){&label, 1},
					     sfctl_signed(settings[i].ms(&stream[j]), MS_DECIMALS));
		}
	}
}

void sfctl_families(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
		    uint32_t count)
{
	build_add(metrics, &stream[0]);
	state_add(metrics, stream, count);
	stream_add(metrics, stream, count);
	machine_ids_add(metrics, stream, count);
	settings_add(metrics, stream, count);
	for (int i = 0; i < SF_COUNTER_COUNT; i++)
		counter_add(metrics, (enum sf_counter)i, stream, count);
}
