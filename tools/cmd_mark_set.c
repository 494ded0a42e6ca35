/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl mark set and adopt: what an operator knows and sfd cannot, that another host has given up
 * its machine ids, and how far it had used them. Holds the locks that sfd would hold. Main thread.
 */
#include "tools/cmd_mark.h"

#include "daemon/config.h"
#include "daemon/host.h"
#include "daemon/lock.h"
#include "tools/id.h"
#include "tools/layout_option.h"
#include "tools/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mark that is further ahead of the clock is a slip of the pen. */
#define AHEAD_MS_MAX INT64_C(86400000)

static const char set_help[] =
	"Usage: sfctl mark set --layout LAYOUT [--machine-id IDS] --above-... [OPTION]...\n"
	"\n"
	"Makes or raises a stream's mark, so that the sfd of this host starts above all\n"
	"IDs that another host made with these machine ids. That sfd must have stopped;\n"
	"its sfctl mark show says what to give here. No sfd may be running on the\n"
	"directory. A mark that the stream has for other machine ids is moved, and goes\n"
	"on counting for those.\n"
	"\n"
	"  --stream NAME     the stream (default: $SFD_STREAM, else \"default\")\n"
	"  --layout LAYOUT   its layout: preset (twitter, snowflakex, discord, coola,\n"
	"                    instagram, sonyflake, baidu) or notation; for other formats\n"
	"                    ulid, uuid7, objectid or hound\n"
	"  --machine-id IDS  its machine ids, as configured: 7, 0-3 or 1,3,5-7; for hound\n"
	"                    an address, 0x..., or hardware; none for the other formats\n"
	"One of:\n"
	"  --above-tick N    the mark as sfctl mark show has it\n"
	"  --above-id ID     the largest ID that was made\n"
	"  --above-time TIME RFC 3339 or Unix milliseconds: all IDs were made before\n"
	"And:\n"
	"  --force           even if that lowers the mark, or is more than a day ahead\n" //
	SFCTL_MARK_DIR_HELP SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"Examples:\n"
	"  sfctl mark set --layout twitter --machine-id 7 --above-tick 531703212345\n"
	"  sfctl mark set --layout twitter --machine-id 0-3 \\\n"
	"    --above-time 2026-01-01T00:00:00Z\n"
	"  sfctl mark set --stream documents --layout ulid \\\n"
	"    --above-id 01ARZ3NDEKTSV4RRFFQ69G5FAV\n";

static const char adopt_help[] =
	"Usage: sfctl mark adopt [OPTION]...\n"
	"\n"
	"Takes over a state directory that was copied from another host: from now on its\n"
	"marks are this host's. Only when the sfd of the other host has stopped for good,\n"
	"and the copy was made after that: otherwise both hosts may give the same IDs.\n"
	"\n" SFCTL_MARK_DIR_HELP SFCTL_HELP_HELP "\n"
	"Examples:\n"
	"  sfctl mark adopt\n"
	"  sfctl mark adopt --state-dir /srv/sfd\n";

struct set {
	struct sfctl *sfctl;
	const char *dir_option;
	const char *layout_text;
	const char *ids_text;
	const char *above_text[3]; /* tick, id, time */
	bool is_forced;
	char *dir;
	const char *stream;
	struct sfd_identity identity;
	uint64_t machine; /* hound */
	uint64_t tick;
	char kept_name[SFD_MARK_NAME_BYTES]; /* of the stream's old mark; empty: it was raised */
};

enum {
	ABOVE_TICK,
	ABOVE_ID,
	ABOVE_TIME,
	ABOVE_END,
};

/* ---- what is wanted ---- */

static int options_read(struct set *set, int argc, char **argv)
{
	enum {
		OPT_LAYOUT = 1,
		OPT_MACHINE_ID,
		OPT_FORCE,
		OPT_ABOVE, /* and those that follow */
	};
	static const struct option options[] = {
		{"layout", required_argument, NULL, OPT_LAYOUT},
		{"machine-id", required_argument, NULL, OPT_MACHINE_ID},
		{"force", no_argument, NULL, OPT_FORCE},
		{"above-tick", required_argument, NULL, OPT_ABOVE + ABOVE_TICK},
		{"above-id", required_argument, NULL, OPT_ABOVE + ABOVE_ID},
		{"above-time", required_argument, NULL, OPT_ABOVE + ABOVE_TIME},
		SFCTL_MARK_DIR_OPTION,
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == OPT_LAYOUT)
			set->layout_text = optarg;
		else if (option == OPT_MACHINE_ID)
			set->ids_text = optarg;
		else if (option == OPT_FORCE)
			set->is_forced = true;
		else if (option == SFCTL_OPT_STATE_DIR)
			set->dir_option = optarg;
		else if (option >= OPT_ABOVE && option < OPT_ABOVE + ABOVE_END)
			set->above_text[option - OPT_ABOVE] = optarg;
		else
			status = sfctl_option(set->sfctl, option, argv, set_help);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(set->sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

/** The name that a configuration may give a stream: it becomes a file's. */
static int read_stream(struct set *set)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_.-";
	const char *name = sfctl_stream_name(set->sfctl);

	if (*name == '.' || name[strspn(name, legal)] != '\0' ||
	    strlen(name) >= SF_SHM_STREAM_NAME_MAX)
		return sfctl_usage(set->sfctl,
				   "stream \"%.60s\" is no name of 1 to %d letters, digits, _, . "
				   "and -, not with a dot first",
				   name, SF_SHM_STREAM_NAME_MAX - 1);
	set->stream = name;
	return SFCTL_GO_ON;
}

static int read_identity(struct set *set)
{
	struct sfd_identity *identity = &set->identity;
	struct sf_why why;
	unsigned format;
	int r;

	if (!set->layout_text)
		return sfctl_usage(set->sfctl, "--layout is missing");
	if (sf_layout_parse(set->layout_text, &identity->layout, &why) < 0)
		return sfctl_usage(set->sfctl, "%s", why.text);
	format = identity->layout.format;
	if ((format == SF_FORMAT_SNOWFLAKE || format == SF_FORMAT_HOUND) != (set->ids_text != NULL))
		return sfctl_usage(set->sfctl,
				   set->ids_text
					   ? "IDs of format %s carry no machine id: leave out "
					     "--machine-id"
					   : "IDs of format %s carry one: give --machine-id",
				   sf_format_name(format));
	if (!set->ids_text)
		return SFCTL_GO_ON;
	if (format == SF_FORMAT_SNOWFLAKE)
		r = sfd_nodes_parse(set->ids_text, sf_layout_node_bits(&identity->layout),
				    identity->node, &identity->node_count, &why);
	else
		r = sfd_machine_parse(set->ids_text, &set->machine, &why);
	if (r < 0)
		return sfctl_usage(set->sfctl, "%s", why.text);
	if (format == SF_FORMAT_HOUND)
		sfd_identity_of_machine(identity, set->machine);
	return SFCTL_GO_ON;
}

/** The tick of a moment; a moment within a tick is that tick's. */
static int tick_of_time(struct set *set, int64_t unix_ms, const char *text)
{
	const struct sf_layout *layout = &set->identity.layout;

	if (layout->tick_ms == 0 || unix_ms < layout->epoch_ms)
		return sfctl_usage(set->sfctl, "%.60s lies before the layout's epoch", text);
	set->tick = (uint64_t)(unix_ms - layout->epoch_ms) / layout->tick_ms;
	return SFCTL_GO_ON;
}

static bool has_node(const struct sfd_identity *identity, uint32_t node)
{
	for (uint32_t i = 0; i < identity->node_count; i++)
		if (identity->node[i] == node)
			return true;
	return false;
}

static int tick_of_number(struct set *set, uint64_t id)
{
	struct sf_parts parts;
	struct sf_why why;

	if (sf_decompose(&set->identity.layout, id, &parts, &why) < 0)
		return sfctl_usage(set->sfctl, "%s", why.text);
	if (!has_node(&set->identity, parts.node))
		return sfctl_usage(set->sfctl,
				   "ID %" PRIu64 " carries machine id %u, which is none of %.60s",
				   id, parts.node, set->ids_text);
	set->tick = parts.tick;
	return SFCTL_GO_ON;
}

static int tick_of_id(struct set *set, const char *text)
{
	static const int notations[] = {
		[SF_FORMAT_SNOWFLAKE] = SFCTL_DECIMAL, [SF_FORMAT_ULID] = SFCTL_ULID,
		[SF_FORMAT_UUID7] = SFCTL_UUID7,       [SF_FORMAT_OBJECTID] = SFCTL_OBJECTID,
		[SF_FORMAT_HOUND] = SFCTL_HOUND,
	};
	const unsigned format = set->identity.layout.format;
	struct sf_hound parts;
	struct sfctl_id id;
	struct sf_why why;
	int64_t unix_ms = 0;

	if (sfctl_id_parse(notations[format], text, strlen(text), &id, &why) < 0)
		return sfctl_usage(set->sfctl, "ID \"%.60s\" %s", text, why.text);
	if (format == SF_FORMAT_SNOWFLAKE)
		return tick_of_number(set, id.number);
	if (format != SF_FORMAT_HOUND) {
		(void)sf_wide_unix_ms(format, &id.wide, &unix_ms);
		return tick_of_time(set, unix_ms, text);
	}
	/* Its time is a double, which a made-up one may have filled with anything. */
	if (sf_hound_unpack(id.hound, SF_HOUND_BYTES, 1, &parts, &why) < 0 ||
	    !(parts.time >= 0 && parts.time < 1e12))
		return sfctl_usage(set->sfctl, "ID \"%.60s\" holds no time", text);
	return tick_of_time(set, (int64_t)(parts.time * 1000) + 1, text);
}

static int tick_of(struct set *set, int which, const char *text)
{
	struct sf_why why;
	int64_t unix_ms;

	if (which == ABOVE_ID)
		return tick_of_id(set, text);
	if (which == ABOVE_TICK)
		return sfctl_number_parse(text, strlen(text), &set->tick) == 0
			       ? SFCTL_GO_ON
			       : sfctl_usage(set->sfctl, "tick \"%.60s\" is no number", text);
	if (sfctl_time_parse(text, &unix_ms, &why) < 0)
		return sfctl_usage(set->sfctl, "%s", why.text);
	return tick_of_time(set, unix_ms, text);
}

static int read_above(struct set *set)
{
	const uint64_t last = sf_layout_last_tick(&set->identity.layout);
	const char *text = NULL;
	int which = ABOVE_END;
	int status;

	for (int i = 0; i < ABOVE_END; i++) {
		if (!set->above_text[i])
			continue;
		if (text)
			return sfctl_usage(set->sfctl, "only one of the --above options has a use");
		text = set->above_text[i];
		which = i;
	}
	if (!text)
		return sfctl_usage(set->sfctl,
				   "above what? give --above-tick, --above-id or --above-time");
	status = tick_of(set, which, text);
	if (status != SFCTL_GO_ON)
		return status;
	if (set->tick == 0)
		return sfctl_usage(set->sfctl, "tick 0 is no mark: nothing lies below it");
	if (set->tick >= last)
		return sfctl_usage(set->sfctl,
				   "%.60s leaves no ID: the layout's last tick is %" PRIu64, text,
				   last);
	return SFCTL_GO_ON;
}

/* ---- doing it ---- */

static void format_tick(const struct set *set, uint64_t tick, char *buffer, size_t size)
{
	char time[SFCTL_RFC3339_MAX];

	sfctl_rfc3339_format(sfctl_mark_unix_ms(&set->identity.layout, tick), time);
	(void)snprintf(buffer, size, "tick %" PRIu64 " (%s)", tick, time);
}

static int check(const struct set *set)
{
	struct sfd_mark_found found = {0};
	struct sf_why why;
	char now[96];
	char wanted[96];

	if (sfd_mark_look(set->dir, set->stream, &set->identity, &found, &why) < 0)
		return sfctl_fail(set->sfctl, "%s", why.text);
	format_tick(set, found.tick, now, sizeof(now));
	format_tick(set, set->tick, wanted, sizeof(wanted));
	if (set->tick < found.others) {
		format_tick(set, found.others, now, sizeof(now));
		return sfctl_fail(set->sfctl,
				  "another mark in %.160s goes up to %s for one of these machine "
				  "ids, %s would change nothing: see sfctl mark show",
				  set->dir, now, wanted);
	}
	if (set->tick < found.tick && !set->is_forced)
		return sfctl_fail(
			set->sfctl,
			"the mark of stream %s is at %s already, %s is lower: leave it; or "
			"--force, and every ID in between may be given a second time",
			set->stream, now, wanted);
	if (sfctl_mark_unix_ms(&set->identity.layout, set->tick) > sfctl_now_ms() + AHEAD_MS_MAX &&
	    !set->is_forced)
		return sfctl_fail(
			set->sfctl,
			"%s is more than a day ahead of this host's clock, and IDs would "
			"carry such times until that has caught up: look again; or --force",
			wanted);
	return SFCTL_OK;
}

/** Neither this host's sfd nor another directory's may be using the ids. */
static int lock_ids(const struct set *set, int *ret_fd)
{
	uint64_t id[SF_NODES_MAX];
	uint32_t count = set->identity.node_count;
	struct sf_why why;

	for (uint32_t i = 0; i < count; i++)
		id[i] = set->identity.node[i];
	if (set->identity.layout.format == SF_FORMAT_HOUND)
		id[0] = SFD_LOCK_HOUND | set->machine;
	if (count == 0)
		return SFCTL_OK;
	if (sfd_host_check(set->dir, false, &why) < 0 ||
	    sfd_lock_nodes(id, count, ret_fd, &why) < 0)
		return sfctl_fail(set->sfctl, "%s", why.text);
	return SFCTL_OK;
}

static int store(struct set *set)
{
	struct sfd_mark_found found;
	struct sfd_mark *mark = NULL;
	struct sf_why why;
	int r = sfd_mark_open(set->dir, set->stream, &set->identity, &mark, &found, &why);

	if (r < 0)
		return sfctl_fail(set->sfctl, "%s", why.text);
	memcpy(set->kept_name, found.kept_name, sizeof(set->kept_name));
	r = sfd_mark_set(mark, set->tick);
	(void)sfd_mark_close(mark);
	if (r < 0)
		return sfctl_fail(set->sfctl, "cannot write the mark in %.160s: %s", set->dir,
				  strerrordesc_np(-r));
	return SFCTL_OK;
}

static int report_json(const struct set *set, const char *tick, const char *time, int64_t unix_ms)
{
	json_t *moved = NULL;
	json_t *object;

	if (set->kept_name[0])
		moved = json_pack("{s:s+, s:s}", "from", set->stream, ".mark", "to",
				  set->kept_name);
	object = json_pack("{s:s, s:s, s:s, s:s, s:I, s:o?}", "state_dir", set->dir, "stream",
			   set->stream, "tick", tick, "time", time, "unix_ms", (json_int_t)unix_ms,
			   "moved", moved);
	return sfctl_json_print(set->sfctl, object, JSON_INDENT(2));
}

static int report(const struct set *set)
{
	const int64_t unix_ms = sfctl_mark_unix_ms(&set->identity.layout, set->tick);
	char decimal[SFCTL_NUMBER_DIGITS + 1];
	char time[SFCTL_RFC3339_MAX];

	sfctl_rfc3339_format(unix_ms, time);
	decimal[sfctl_number_format(set->tick, decimal)] = '\0';
	if (set->sfctl->json)
		return report_json(set, decimal, time, unix_ms);
	printf("stream %s in %s: sfd will start above tick %s, %s\n", set->stream, set->dir,
	       decimal, time);
	if (set->kept_name[0])
		printf("moved %s.mark to %s: it is of other machine ids or another layout, and "
		       "goes on counting for those\n",
		       set->stream, set->kept_name);
	return SFCTL_OK;
}

int sfctl_mark_set(struct sfctl *sfctl, int argc, char **argv)
{
	struct set set = {.sfctl = sfctl};
	int status = options_read(&set, argc, argv);
	int dir_lock; /* both are held until the process ends */
	int ids_lock;

	if (status == SFCTL_GO_ON)
		status = read_stream(&set);
	if (status == SFCTL_GO_ON)
		status = read_identity(&set);
	if (status == SFCTL_GO_ON)
		status = read_above(&set);
	if (status != SFCTL_GO_ON)
		return status;
	set.dir = sfctl_mark_dir(sfctl, set.dir_option);
	if (!set.dir)
		return SFCTL_FAILED;
	sfd_log_init(SFD_LOG_WARNING); /* what was moved is reported */
	status = sfctl_mark_lock(sfctl, set.dir, &dir_lock);
	if (status == SFCTL_OK)
		status = lock_ids(&set, &ids_lock);
	if (status == SFCTL_OK)
		status = check(&set);
	if (status == SFCTL_OK)
		status = store(&set);
	if (status == SFCTL_OK)
		status = report(&set);
	free(set.dir);
	return status;
}

int sfctl_mark_adopt(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {
		SFCTL_MARK_DIR_OPTION,
		SFCTL_GLOBAL_OPTIONS,
	};
	const char *given = NULL;
	struct sf_why why;
	int lock;
	int option;
	int status = SFCTL_GO_ON;
	char *dir;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == SFCTL_OPT_STATE_DIR)
			given = optarg;
		else
			status = sfctl_option(sfctl, option, argv, adopt_help);
	}
	if (status != SFCTL_GO_ON)
		return status;
	if (optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	dir = sfctl_mark_dir(sfctl, given);
	if (!dir)
		return SFCTL_FAILED;
	/* What is there came from somewhere: a name that is not there is a slip. */
	if (access(dir, F_OK) < 0)
		status = sfctl_fail(sfctl,
				    "%.200s: %s; name the directory that came from the "
				    "other host",
				    dir, strerrordesc_np(errno));
	else
		status = sfctl_mark_lock(sfctl, dir, &lock);
	if (status == SFCTL_OK && sfd_host_check(dir, true, &why) < 0)
		status = sfctl_fail(sfctl, "%s", why.text);
	if (status == SFCTL_OK)
		printf("%s is this host's from now on\n", dir);
	free(dir);
	return status;
}
