/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl encode: makes an ID of given parts, or the bounds of a tick. Such an ID is for queries and
 * tests; it is not taken from a stream and a 64-bit one may well exist. Main thread.
 */
#include "tools/encode_wide.h"
#include "tools/explain.h"
#include "tools/layout_option.h"
#include "tools/number.h"

#include <string.h>

static const char help[] =
	"Usage: sfctl encode --time TIME [OPTION]...\n"
	"       sfctl encode --format FORMAT [OPTION]...\n"
	"\n"
	"Makes the ID of a time, node and sequence, for queries and tests. It is\n"
	"computed, not taken from a stream: a 64-bit ID may exist already. ULIDs, UUIDv7s\n"
	"and ObjectIds get a random tail. Only a missing --layout needs sfd.\n"
	"\n"
	"  --format FORMAT   snowflake (default), ulid, uuid7, objectid or hound\n"
	"  --time TIME       RFC 3339 (2024-06-01T22:15:27.123Z, offsets allowed, further\n"
	"                    digits cut off) or Unix milliseconds; rounded down to a\n"
	"                    tick; default, but for snowflake: now. For hound also Unix\n"
	"                    seconds with a fraction, 1557935521.123456\n"
	"  --sequence N      sequence number (default: 0); snowflake and hound\n"
	"For snowflake:\n"
	"  --node N          node id (default: 0)\n"
	"  --worker N        worker half of the node id, where the layout has one\n"
	"  --process N       process half of the node id, where the layout has one\n"
	"  --min, --max      the smallest or largest ID that any node makes in the tick\n"
	"  --layout LAYOUT   preset (twitter, snowflakex, discord, coola, instagram,\n"
	"                    sonyflake, baidu) or notation; default: ask sfd\n"
	"For hound:\n"
	"  --machine HEX     machine id, 1 to 16 hexadecimal digits, or a hardware\n"
	"                    address, 02:42:ac:11:00:02; required\n"
	"  --client N        client id, 0 to 65535; required\n" //
	SFCTL_GLOBAL_HELP "\n"
	"Examples:\n"
	"  sfctl encode --layout twitter --time 2022-11-18T11:50:20.644Z --node 378\n"
	"  sfctl encode --layout discord --time 1462015105796 --worker 1 --json\n"
	"  sfctl encode --time 2024-01-01T00:00:00Z --min\n"
	"  sfctl encode --format uuid7\n"
	"  sfctl encode --format hound --machine 0242ac110002 --client 4660\n";

enum {
	OPT_FORMAT = 1,
	OPT_TIME,
	OPT_NODE,
	OPT_WORKER,
	OPT_PROCESS,
	OPT_SEQUENCE,
	OPT_MIN,
	OPT_MAX,
	OPT_LAYOUT,
	OPT_MACHINE,
	OPT_CLIENT,
	OPT_END,
};

static const struct option options[] = {
	{"format", required_argument, NULL, OPT_FORMAT},
	{"time", required_argument, NULL, OPT_TIME},
	{"node", required_argument, NULL, OPT_NODE},
	{"worker", required_argument, NULL, OPT_WORKER},
	{"process", required_argument, NULL, OPT_PROCESS},
	{"sequence", required_argument, NULL, OPT_SEQUENCE},
	{"min", no_argument, NULL, OPT_MIN},
	{"max", no_argument, NULL, OPT_MAX},
	{"layout", required_argument, NULL, OPT_LAYOUT},
	{"machine", required_argument, NULL, OPT_MACHINE},
	{"client", required_argument, NULL, OPT_CLIENT},
	SFCTL_GLOBAL_OPTIONS,
};

#define BIT(option) (1u << (option))
#define HALVES (BIT(OPT_WORKER) | BIT(OPT_PROCESS))
#define BOUNDS (BIT(OPT_MIN) | BIT(OPT_MAX))
#define PARTS (BIT(OPT_NODE) | HALVES | BIT(OPT_SEQUENCE))

/** What goes with a format, by SF_FORMAT_... */
static const uint32_t legal[] = {
	BIT(OPT_FORMAT) | BIT(OPT_TIME) | PARTS | BOUNDS | BIT(OPT_LAYOUT),
	BIT(OPT_FORMAT) | BIT(OPT_TIME),
	BIT(OPT_FORMAT) | BIT(OPT_TIME),
	BIT(OPT_FORMAT) | BIT(OPT_TIME),
	BIT(OPT_FORMAT) | BIT(OPT_TIME) | BIT(OPT_SEQUENCE) | BIT(OPT_MACHINE) | BIT(OPT_CLIENT),
};

#define FORMAT_COUNT (sizeof(legal) / sizeof(legal[0]))

struct request {
	uint32_t given; /* BIT() of the options that were */
	const char *layout_text;
	struct sf_layout layout;
	struct sf_parts parts;
	struct sfctl_wide_request wide;
};

static int read_number(const struct sfctl *sfctl, const char *what, uint32_t max,
		       uint32_t *ret_value)
{
	uint64_t value;

	if (sfctl_number_parse_range(optarg, 0, max, &value) < 0)
		return sfctl_usage(sfctl, "%s %.60s is not a number from 0 to %u", what, optarg,
				   max);
	*ret_value = (uint32_t)value;
	return SFCTL_GO_ON;
}

/** Six bytes of two digits each, with colons in between, as sfd.conf has them. */
static bool read_address(const char *text, uint64_t *ret_machine)
{
	uint64_t machine = 0;
	uint64_t byte;

	if (strlen(text) != 17)
		return false;
	for (; *text; text += text[2] ? 3 : 2) {
		if ((text[2] != ':' && text[2] != '\0') ||
		    sfctl_number_parse_hex(text, 2, &byte) < 0)
			return false;
		machine = machine << 8 | byte;
	}
	*ret_machine = machine;
	return true;
}

static int read_machine(const struct sfctl *sfctl, uint64_t *ret_machine)
{
	if (read_address(optarg, ret_machine))
		return SFCTL_GO_ON;
	if (sfctl_number_parse_hex(optarg, strlen(optarg), ret_machine) < 0)
		return sfctl_usage(sfctl,
				   "machine %.60s is neither 1 to 16 hexadecimal digits nor an "
				   "address such as 02:42:ac:11:00:02",
				   optarg);
	return SFCTL_GO_ON;
}

static int read_format(const struct sfctl *sfctl, unsigned *ret_format)
{
	for (unsigned i = 0; i < FORMAT_COUNT; i++) {
		if (strcmp(optarg, sf_format_name(i)) == 0) {
			*ret_format = i;
			return SFCTL_GO_ON;
		}
	}
	return sfctl_usage(
		sfctl, "format \"%.60s\" is not snowflake, ulid, uuid7, objectid or hound", optarg);
}

static int read_option(struct sfctl *sfctl, int option, char **argv, struct request *request)
{
	if (option > 0 && option < OPT_END)
		request->given |= BIT(option);
	switch (option) {
	case OPT_FORMAT:
		return read_format(sfctl, &request->wide.format);
	case OPT_TIME:
		request->wide.time_text = optarg;
		return SFCTL_GO_ON;
	case OPT_NODE:
		return read_number(sfctl, "node", UINT32_MAX, &request->parts.node);
	case OPT_WORKER:
		return read_number(sfctl, "worker", UINT32_MAX, &request->parts.worker);
	case OPT_PROCESS:
		return read_number(sfctl, "process", UINT32_MAX, &request->parts.process);
	case OPT_SEQUENCE:
		return read_number(sfctl, "sequence", UINT32_MAX, &request->parts.sequence);
	case OPT_MACHINE:
		return read_machine(sfctl, &request->wide.machine);
	case OPT_CLIENT:
		return read_number(sfctl, "client", UINT16_MAX, &request->wide.client);
	case OPT_MIN:
	case OPT_MAX:
		return SFCTL_GO_ON;
	case OPT_LAYOUT:
		request->layout_text = optarg;
		return SFCTL_GO_ON;
	default:
		return sfctl_option(sfctl, option, argv, help);
	}
}

static int check_snowflake(const struct sfctl *sfctl, uint32_t given)
{
	if (!(given & BIT(OPT_TIME)))
		return sfctl_usage(sfctl, "--time is missing");
	if (given & BIT(OPT_NODE) && given & HALVES)
		return sfctl_usage(sfctl, "--node and --worker or --process say the same twice");
	if ((given & BOUNDS) == BOUNDS)
		return sfctl_usage(sfctl, "give --min or --max, not both");
	if (given & BOUNDS && given & PARTS)
		return sfctl_usage(sfctl, "--min and --max cover every node and sequence: give "
					  "neither with them");
	return SFCTL_GO_ON;
}

static int check(const struct sfctl *sfctl, const struct request *request)
{
	unsigned format = request->wide.format;

	for (const struct option *option = options; option->val < OPT_END; option++) {
		if (request->given & ~legal[format] & BIT(option->val))
			return sfctl_usage(sfctl, "--%s does not go with format %s", option->name,
					   sf_format_name(format));
	}
	if (format == SF_FORMAT_SNOWFLAKE)
		return check_snowflake(sfctl, request->given);
	if (format == SF_FORMAT_HOUND && (~request->given & (BIT(OPT_MACHINE) | BIT(OPT_CLIENT))))
		return sfctl_usage(sfctl, "--machine or --client is missing");
	return SFCTL_GO_ON;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
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

	if (!(request->given & HALVES))
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
	if (request->given & BIT(OPT_MIN))
		return sf_id_min(&request->layout, request->parts.unix_ms, ret_id, why);
	if (request->given & BIT(OPT_MAX))
		return sf_id_max(&request->layout, request->parts.unix_ms, ret_id, why);
	return sf_compose(&request->layout, &request->parts, ret_id, why);
}

static int encode_number(const struct sfctl *sfctl, struct request *request)
{
	struct sf_parts parts;
	struct sf_why why;
	uint64_t id;
	int status;

	if (sfctl_time_parse(request->wide.time_text, &request->parts.unix_ms, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	status = sfctl_layout(sfctl, request->layout_text, &request->layout);
	if (status == SFCTL_GO_ON)
		status = join_halves(sfctl, request);
	if (status != SFCTL_GO_ON)
		return status;
	if (make(request, &id, &why) < 0 || sf_decompose(&request->layout, id, &parts, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	if (sfctl->json)
		return sfctl_json_print(sfctl, sfctl_id_json(&request->layout, id, &parts),
					JSON_COMPACT);
	printf("%llu\n", (unsigned long long)id);
	return SFCTL_OK;
}

static int encode_wide(const struct sfctl *sfctl, struct request *request)
{
	char text[SFCTL_ID_TEXT_MAX];
	struct sfctl_id id;
	int status;

	request->wide.sequence = request->parts.sequence;
	status = sfctl_wide_make(sfctl, &request->wide, &id);
	if (status != SFCTL_GO_ON)
		return status;
	if (sfctl->json)
		return sfctl_json_print(sfctl, sfctl_wide_json(&id), JSON_COMPACT);
	(void)sfctl_id_text(&id, text);
	printf("%s\n", text);
	return SFCTL_OK;
}

int sfctl_cmd_encode(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {0};
	int status = options_read(sfctl, argc, argv, &request);

	if (status != SFCTL_GO_ON)
		return status;
	return request.wide.format == SF_FORMAT_SNOWFLAKE ? encode_number(sfctl, &request)
							  : encode_wide(sfctl, &request);
}
