/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl range: the IDs of an interval, for queries and paging. Main thread.
 */
#include "tools/id.h"
#include "tools/layout_option.h"
#include "tools/number.h"

#include <errno.h>
#include <sfpaging.h>
#include <string.h>

static const char help[] =
	"Usage: sfctl range --since TIME [OPTION]...\n"
	"\n"
	"Prints the smallest and the largest ID that any node may make in an interval,\n"
	"and, for 64-bit IDs, what a query with a strict \"after\" or \"before\" takes.\n"
	"\n"
	"  --since TIME      start: RFC 3339 or Unix milliseconds; its tick is included\n"
	"  --until TIME      end; its tick is not included. Default: the one tick of the\n"
	"                    start\n"
	"  --layout LAYOUT   preset (twitter, snowflakex, discord, coola, instagram,\n"
	"                    sonyflake, baidu) or notation; default: ask sfd\n"
	"  --format FORMAT   ulid, uuid7 or objectid, which have no layout\n" //
	SFCTL_GLOBAL_HELP "\n"
	"The rows: first and last for \"id >= first and id <= last\"; after and before for\n"
	"\"id > after and id < before\", or \"-\" where there is no such number: leave that\n"
	"bound out of the query.\n"
	"\n"
	"Examples:\n"
	"  sfctl range --layout twitter --since 2024-01-01T00:00:00Z\n"
	"  sfctl range --since 2024-01-01T00:00:00Z --until 2024-01-02T00:00:00Z --json\n"
	"  sfctl range --format ulid --since 1704067200000 --until 1704070800000\n";

struct request {
	const char *layout_text;
	unsigned format; /* SF_FORMAT_SNOWFLAKE: go by the layout */
	int64_t since_ms;
	int64_t until_ms;
	bool has_since;
	bool has_until;
};

/** What is printed. */
struct bounds {
	char first[SFCTL_ID_TEXT_MAX];
	char last[SFCTL_ID_TEXT_MAX];
	char after[SFCTL_ID_TEXT_MAX]; /* empty: there is none */
	char before[SFCTL_ID_TEXT_MAX];
};

static int read_time(const struct sfctl *sfctl, int64_t *ret_unix_ms, bool *ret_has)
{
	struct sf_why why;

	if (sfctl_time_parse(optarg, ret_unix_ms, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	*ret_has = true;
	return SFCTL_GO_ON;
}

static int read_format(const struct sfctl *sfctl, unsigned *ret_format)
{
	for (unsigned i = SF_FORMAT_ULID; i <= SF_FORMAT_OBJECTID; i++) {
		if (strcmp(optarg, sf_format_name(i)) == 0) {
			*ret_format = i;
			return SFCTL_GO_ON;
		}
	}
	return sfctl_usage(sfctl, "format \"%.60s\" is not ulid, uuid7 or objectid", optarg);
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	enum {
		OPT_SINCE = 1,
		OPT_UNTIL,
		OPT_LAYOUT,
		OPT_FORMAT
	};
	static const struct option options[] = {
		{"since", required_argument, NULL, OPT_SINCE},
		{"until", required_argument, NULL, OPT_UNTIL},
		{"layout", required_argument, NULL, OPT_LAYOUT},
		{"format", required_argument, NULL, OPT_FORMAT},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == OPT_SINCE)
			status = read_time(sfctl, &request->since_ms, &request->has_since);
		else if (option == OPT_UNTIL)
			status = read_time(sfctl, &request->until_ms, &request->has_until);
		else if (option == OPT_LAYOUT)
			request->layout_text = optarg;
		else if (option == OPT_FORMAT)
			status = read_format(sfctl, &request->format);
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	if (status != SFCTL_GO_ON)
		return status;
	if (optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	if (!request->has_since)
		return sfctl_usage(sfctl, "--since is missing");
	if (request->layout_text && request->format != SF_FORMAT_SNOWFLAKE)
		return sfctl_usage(sfctl, "--format %s has no layout: leave --layout out",
				   sf_format_name(request->format));
	return SFCTL_GO_ON;
}

static void put_number(uint64_t number, char ret_text[SFCTL_ID_TEXT_MAX])
{
	ret_text[sfctl_number_format(number, ret_text)] = '\0';
}

/** Writes a boundary, which may be missing. */
static int put_boundary(int error, uint64_t number, char ret_text[SFCTL_ID_TEXT_MAX])
{
	ret_text[0] = '\0';
	if (error == 0)
		put_number(number, ret_text);
	return error == -ENOENT ? 0 : error;
}

/** Smallest and largest ID of the interval or, without an end, of the tick of its start. */
static int find_ends(const struct sf_layout *layout, const struct request *request,
		     uint64_t *ret_first, uint64_t *ret_last, struct sf_why *why)
{
	int error;

	if (request->has_until)
		return sf_id_range(layout, request->since_ms, request->until_ms, ret_first,
				   ret_last, why);
	error = sf_id_min(layout, request->since_ms, ret_first, why);
	return error ? error : sf_id_max(layout, request->since_ms, ret_last, why);
}

static int find_numbers(const struct sf_layout *layout, const struct request *request,
			struct bounds *ret_bounds, struct sf_why *why)
{
	struct sf_parts end = {0}; /* the last tick */
	uint64_t boundary = 0;
	uint64_t first = 0;
	uint64_t last = 0;
	int error = find_ends(layout, request, &first, &last, why);

	if (error == 0)
		error = sf_decompose(layout, last, &end, why);
	if (error != 0)
		return error;
	put_number(first, ret_bounds->first);
	put_number(last, ret_bounds->last);
	error = sf_id_after(layout, request->since_ms, &boundary, why);
	error = put_boundary(error, boundary, ret_bounds->after);
	if (error != 0)
		return error;
	error = sf_id_before(layout, end.unix_ms, &boundary, why);
	return put_boundary(error, boundary, ret_bounds->before);
}

/** Start of the tick after that of the start. */
static int64_t next_tick(const struct sf_layout *layout, int64_t since_ms)
{
	int64_t next;

	/* Times that have no next tick are outside of every format, whose functions say so. */
	return __builtin_add_overflow(since_ms - since_ms % layout->tick_ms, layout->tick_ms, &next)
		       ? since_ms
		       : next;
}

static int find_wide(const struct sf_layout *layout, const struct request *request,
		     struct bounds *ret_bounds, struct sf_why *why)
{
	int64_t until_ms =
		request->has_until ? request->until_ms : next_tick(layout, request->since_ms);
	struct sf_wide first;
	struct sf_wide last;
	int error = sf_wide_range(layout->format, request->since_ms, until_ms, &first, &last, why);

	if (error < 0)
		return error;
	ret_bounds->after[0] = '\0';
	ret_bounds->before[0] = '\0';
	(void)sf_wide_format(layout->format, &first, ret_bounds->first);
	(void)sf_wide_format(layout->format, &last, ret_bounds->last);
	return 0;
}

static int print(const struct sfctl *sfctl, const struct bounds *bounds, bool is_wide)
{
	const char *after = bounds->after[0] ? bounds->after : NULL;
	const char *before = bounds->before[0] ? bounds->before : NULL;

	if (sfctl->json && is_wide)
		return sfctl_json_print(
			sfctl,
			json_pack("{s:s, s:s}", "first", bounds->first, "last", bounds->last),
			JSON_COMPACT);
	if (sfctl->json)
		return sfctl_json_print(sfctl,
					json_pack("{s:s, s:s, s:s?, s:s?}", "first", bounds->first,
						  "last", bounds->last, "after", after, "before",
						  before),
					JSON_COMPACT);
	printf("first  %s\nlast   %s\n", bounds->first, bounds->last);
	if (!is_wide)
		printf("after  %s\nbefore %s\n", after ? after : "-", before ? before : "-");
	return SFCTL_OK;
}

int sfctl_cmd_range(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {0};
	struct sf_layout layout;
	struct bounds bounds;
	struct sf_why why;
	bool is_wide;
	int error;
	int status = options_read(sfctl, argc, argv, &request);

	if (status == SFCTL_GO_ON && request.format != SF_FORMAT_SNOWFLAKE)
		(void)sf_layout_of_format(request.format, &layout);
	else if (status == SFCTL_GO_ON)
		status = sfctl_layout_any(sfctl, request.layout_text, &layout);
	if (status != SFCTL_GO_ON)
		return status;
	is_wide = layout.format != SF_FORMAT_SNOWFLAKE;
	error = is_wide ? find_wide(&layout, &request, &bounds, &why)
			: find_numbers(&layout, &request, &bounds, &why);
	return error ? sfctl_fail(sfctl, "%s", why.text) : print(sfctl, &bounds, is_wide);
}
