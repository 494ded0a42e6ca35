/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl encode: makes the ID of a time, node and sequence, or the bounds of a tick. Such an ID is
 * for queries and tests; it is not taken from a stream and may well exist. Main thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/sfctl.h"

static const char help[] =
	"Usage: sfctl encode --time TIME [OPTION]...\n"
	"\n"
	"Makes the ID of a time, node and sequence, for queries and tests. It is\n"
	"computed, not taken from a stream: it may exist already.\n"
	"\n"
	"  --time TIME       RFC 3339 (2024-06-01T22:15:27.123Z, offsets allowed, further\n"
	"                    digits cut off) or Unix milliseconds; rounded down to a tick\n"
	"  --node N          node id (default: 0)\n"
	"  --worker N        worker half of the node id, where the layout has one\n"
	"  --process N       process half of the node id, where the layout has one\n"
	"  --sequence N      sequence number (default: 0)\n"
	"  --min, --max      the smallest or largest ID that any node makes in the tick\n"
	"  --layout LAYOUT   preset (twitter, snowflakex, discord, coola, instagram,\n"
	"                    sonyflake, baidu) or notation; default: ask sfd\n" //
	SFCTL_GLOBAL_HELP "\n"
	"Examples:\n"
	"  sfctl encode --layout twitter --time 2022-11-18T11:50:20.644Z --node 378\n"
	"  sfctl encode --layout discord --time 1462015105796 --worker 1 --json\n"
	"  sfctl encode --time 2024-01-01T00:00:00Z --min\n";

enum bound {
	BOUND_NONE,
	BOUND_MIN,
	BOUND_MAX,
};

struct request {
	const char *layout_text;
	struct sf_layout layout;
	struct sf_parts parts;
	enum bound bound;
	bool has_time;
	bool has_node;
	bool has_halves;
	bool has_sequence;
};

static int read_number(const struct sfctl *sfctl, const char *what, uint32_t *ret_value)
{
	uint64_t value;

	if (sfctl_number_parse_range(optarg, 0, UINT32_MAX, &value) < 0)
		return sfctl_usage(sfctl, "%s %.60s is not a number from 0 to %u", what, optarg,
				   UINT32_MAX);
	*ret_value = (uint32_t)value;
	return SFCTL_GO_ON;
}

static int read_time(const struct sfctl *sfctl, struct request *request)
{
	struct sf_why why;

	if (sfctl_time_parse(optarg, &request->parts.unix_ms, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	request->has_time = true;
	return SFCTL_GO_ON;
}

enum {
	OPT_TIME = 1,
	OPT_NODE,
	OPT_WORKER,
	OPT_PROCESS,
	OPT_SEQUENCE,
	OPT_MIN,
	OPT_MAX,
	OPT_LAYOUT,
};

static int read_option(struct sfctl *sfctl, int option, char **argv, struct request *request)
{
	switch (option) {
	case OPT_TIME:
		return read_time(sfctl, request);
	case OPT_NODE:
		request->has_node = true;
		return read_number(sfctl, "node", &request->parts.node);
	case OPT_WORKER:
		request->has_halves = true;
		return read_number(sfctl, "worker", &request->parts.worker);
	case OPT_PROCESS:
		request->has_halves = true;
		return read_number(sfctl, "process", &request->parts.process);
	case OPT_SEQUENCE:
		request->has_sequence = true;
		return read_number(sfctl, "sequence", &request->parts.sequence);
	case OPT_MIN:
	case OPT_MAX:
		if (request->bound != BOUND_NONE)
			return sfctl_usage(sfctl, "give --min or --max, and once");
		request->bound = option == OPT_MIN ? BOUND_MIN : BOUND_MAX;
		return SFCTL_GO_ON;
	case OPT_LAYOUT:
		request->layout_text = optarg;
		return SFCTL_GO_ON;
	default:
		return sfctl_option(sfctl, option, argv, help);
	}
}

static int check(const struct sfctl *sfctl, const struct request *request)
{
	if (!request->has_time)
		return sfctl_usage(sfctl, "--time is missing");
	if (request->has_node && request->has_halves)
		return sfctl_usage(sfctl, "--node and --worker or --process say the same twice");
	if (request->bound != BOUND_NONE &&
	    (request->has_node || request->has_halves || request->has_sequence))
		return sfctl_usage(sfctl, "--min and --max cover every node and sequence: give "
					  "neither with them");
	return SFCTL_GO_ON;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"time", required_argument, NULL, OPT_TIME},
		{"node", required_argument, NULL, OPT_NODE},
		{"worker", required_argument, NULL, OPT_WORKER},
		{"process", required_argument, NULL, OPT_PROCESS},
		{"sequence", required_argument, NULL, OPT_SEQUENCE},
		{"min", no_argument, NULL, OPT_MIN},
		{"max", no_argument, NULL, OPT_MAX},
		{"layout", required_argument, NULL, OPT_LAYOUT},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1)
		status = read_option(sfctl, option, argv, request);
	if (status != SFCTL_GO_ON)
		return status;
	if (optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return check(sfctl, request);
}

/** Makes the node id of its halves. */
static int join_halves(const struct sfctl *sfctl, struct request *request)
{
	const struct sf_layout *layout = &request->layout;
	struct sf_parts *parts = &request->parts;

	if (!request->has_halves)
		return SFCTL_GO_ON;
	if (layout->worker_bits + layout->process_bits == 0)
		return sfctl_usage(sfctl, "layout %s has no worker and process: give --node",
				   sfctl_layout_label(layout).text);
	if (parts->worker >> layout->worker_bits != 0)
		return sfctl_fail(sfctl, "worker %u does not fit %u bits", parts->worker,
				  layout->worker_bits);
	if (parts->process >> layout->process_bits != 0)
		return sfctl_fail(sfctl, "process %u does not fit %u bits", parts->process,
				  layout->process_bits);
	parts->node = parts->worker << layout->process_bits | parts->process;
	return SFCTL_GO_ON;
}

static int make(const struct request *request, uint64_t *ret_id, struct sf_why *why)
{
	switch (request->bound) {
	case BOUND_MIN:
		return sf_id_min(&request->layout, request->parts.unix_ms, ret_id, why);
	case BOUND_MAX:
		return sf_id_max(&request->layout, request->parts.unix_ms, ret_id, why);
	case BOUND_NONE:
	default:
		return sf_compose(&request->layout, &request->parts, ret_id, why);
	}
}

int sfctl_cmd_encode(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {0};
	struct sf_parts parts;
	struct sf_why why;
	uint64_t id;
	int status = options_read(sfctl, argc, argv, &request);

	if (status == SFCTL_GO_ON)
		status = sfctl_layout(sfctl, request.layout_text, &request.layout);
	if (status == SFCTL_GO_ON)
		status = join_halves(sfctl, &request);
	if (status != SFCTL_GO_ON)
		return status;
	if (make(&request, &id, &why) < 0 || sf_decompose(&request.layout, id, &parts, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	if (sfctl->json)
		return sfctl_json_print(sfctl, sfctl_id_json(&request.layout, id, &parts),
					JSON_COMPACT);
	printf("%llu\n", (unsigned long long)id);
	return SFCTL_OK;
}
