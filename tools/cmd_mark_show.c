/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl mark show: the mark files of a state directory, as they are. Changes nothing and takes no
 * lock, so it may look on while sfd runs. Main thread.
 */
#include "tools/cmd_mark.h"

#include "daemon/config.h"
#include "daemon/lock.h"
#include "daemon/mark_scan.h"
#include "tools/layout_option.h"
#include "tools/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl mark show [OPTION]...\n"
	"\n"
	"Shows the mark files of sfd's state directory: whose promise each one is, how\n"
	"far it goes, and in what state its two records are; and whether an sfd is using\n"
	"the directory now.\n"
	"\n" SFCTL_MARK_DIR_HELP
	"  --stream NAME     only the marks of this stream (default: all)\n" //
	SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"A record is whole, empty, damaged (torn by a crash, cut or altered), of another\n"
	"version, or foreign. A file that cannot be read, or that has no whole record,\n"
	"makes the exit status 1, and so does a stream without a mark. In JSON ticks are\n"
	"strings: they may exceed 2^53.\n"
	"\n"
	"Examples:\n"
	"  sfctl mark show\n"
	"  sfctl mark show --stream orders --json | jq -r '.marks[0].tick'\n";

/* Words of a record without blanks, for people and JSON. */
static const char *const place_words[] = {
	[SFD_MARK_EMPTY] = "empty",     [SFD_MARK_FOREIGN] = "foreign",
	[SFD_MARK_DAMAGED] = "damaged", [SFD_MARK_OTHER_VERSION] = "other-version",
	[SFD_MARK_WHOLE] = "whole",
};

/** A mark file, read. */
struct mark {
	char name[SFD_MARK_NAME_BYTES]; /* fit for a terminal */
	int error;                      /* the file cannot be read */
	struct sfd_mark_places places;
	struct sfd_mark_content content;
	bool has_content; /* a record is whole */
};

struct show {
	struct sfctl *sfctl;
	const char *dir_option;
	char *dir;
	int dir_fd;
	int is_held; /* as sfd_lock_dir_holder() has it */
	pid_t holder;
	json_t *marks;
	size_t count; /* of those that are wanted */
	int status;
};

/** Names and texts of files are input. */
static void mask(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void read_mark(int dir_fd, const char *name, struct mark *ret_mark)
{
	uint8_t bytes[SFD_MARK_FILE_BYTES];
	size_t length = 0;

	*ret_mark = (struct mark){0};
	(void)snprintf(ret_mark->name, sizeof(ret_mark->name), "%s", name);
	mask(ret_mark->name);
	ret_mark->error = sfd_mark_read_bytes(dir_fd, name, bytes, &length);
	if (ret_mark->error < 0)
		return;
	sfd_mark_record_look(bytes, length, &ret_mark->places);
	ret_mark->has_content = sfd_mark_record_choose(&ret_mark->places, &ret_mark->content) == 0;
	mask(ret_mark->content.record.stream);
	mask(ret_mark->content.record.boot_id);
}

static bool is_wanted(const struct sfctl *sfctl, const struct mark *mark)
{
	const size_t length = sfctl->stream ? strlen(sfctl->stream) : 0;

	if (!sfctl->stream)
		return true;
	if (mark->has_content)
		return strcmp(mark->content.record.stream, sfctl->stream) == 0;
	return strncmp(mark->name, sfctl->stream, length) == 0 && mark->name[length] == '.';
}

/** Machine ids as sfd's configuration has them; of hound what the file knows. Empty for none. */
static void format_ids(const struct sfd_mark_record *record, char *buffer, size_t size)
{
	buffer[0] = '\0';
	if (record->layout.format == SF_FORMAT_HOUND)
		(void)snprintf(buffer, size, "0x...%08x", record->node[0] & INT32_MAX);
	else if (record->node_count > 0)
		sfd_nodes_format(record->node, record->node_count, buffer, size);
}

/* ---- text ---- */

static void print_places(const struct mark *mark)
{
	printf("  %-12s", "records");
	for (size_t i = 0; i < 2; i++) {
		const enum sfd_mark_place place = mark->places.place[i];

		printf("%s %zu %s", i > 0 ? "," : "", i + 1, place_words[place]);
		if (place == SFD_MARK_WHOLE)
			printf(" (sequence %" PRIu64 ")", mark->places.record[i].sequence);
		else if (place == SFD_MARK_OTHER_VERSION)
			printf(" (%u)", mark->places.record[i].version);
	}
	printf("\n");
}

/** How to set the same mark elsewhere. */
static void print_command(const struct sfd_mark_record *record, uint64_t tick, const char *ids)
{
	const struct sfctl_layout_label label = sfctl_layout_label(&record->layout);
	const char *quote = strchr(label.text, ' ') ? "'" : "";

	printf("  %-13ssfctl mark set --stream %s \\\n", "elsewhere", record->stream);
	printf("  %-13s  --layout %s%s%s \\\n", "", quote, label.text, quote);
	if (ids[0])
		printf("  %-13s  --machine-id %s \\\n", "", ids);
	printf("  %-13s  --above-tick %" PRIu64 "\n", "", tick);
}

static void print_mark(const struct mark *mark)
{
	const struct sfd_mark_record *record = &mark->content.record;
	const uint64_t tick = mark->has_content ? sfd_mark_record_tick(&mark->content) : 0;
	char time[SFCTL_RFC3339_MAX];
	char written[SFCTL_RFC3339_MAX];
	char ids[1024];

	printf("\n%s\n", mark->name);
	if (mark->error < 0) {
		printf("  cannot be read: %s\n", strerrordesc_np(-mark->error));
		return;
	}
	if (!mark->has_content) {
		print_places(mark);
		return;
	}
	format_ids(record, ids, sizeof(ids));
	sfctl_rfc3339_format(sfctl_mark_unix_ms(&record->layout, tick), time);
	sfctl_rfc3339_format(record->written_unix_ns / 1000000, written);
	printf("  %-12s %s\n", "stream", record->stream);
	printf("  %-12s %s\n", record->layout.format == SF_FORMAT_SNOWFLAKE ? "layout" : "format",
	       sfctl_layout_label(&record->layout).text);
	if (ids[0])
		printf("  %-12s %s\n", "machine id", ids);
	printf("  %-12s tick %" PRIu64 ", %s%s\n", "mark", tick, time,
	       mark->content.is_damaged ? ", with what the damaged record may have added" : "");
	printf("  %-12s %s, %s\n", "written", written,
	       record->boot_id[0] ? record->boot_id : "by hand");
	printf("  %-12s %" PRIu64 "\n", "starts", record->restarts);
	print_places(mark);
	print_command(record, tick, ids);
}

/* ---- JSON ---- */

static json_t *tick_json(uint64_t tick)
{
	char decimal[SFCTL_NUMBER_DIGITS + 1];

	decimal[sfctl_number_format(tick, decimal)] = '\0';
	return json_string(decimal);
}

static json_t *place_json(const struct mark *mark, size_t i)
{
	const struct sfd_mark_record *record = &mark->places.record[i];
	const enum sfd_mark_place place = mark->places.place[i];
	json_t *object = json_pack("{s:s}", "state", place_words[place]);

	if (place == SFD_MARK_WHOLE)
		(void)json_object_set_new(object, "sequence",
					  json_integer((json_int_t)record->sequence));
	if (place == SFD_MARK_WHOLE)
		(void)json_object_set_new(object, "tick", tick_json(record->tick));
	if (place == SFD_MARK_OTHER_VERSION)
		(void)json_object_set_new(object, "version", json_integer(record->version));
	return object;
}

static json_t *ids_json(const struct sfd_mark_record *record)
{
	json_t *ids = json_array();

	/* A number for hound's is but half of one. */
	for (uint32_t i = 0; record->layout.format == SF_FORMAT_SNOWFLAKE && i < record->node_count;
	     i++)
		(void)json_array_append_new(ids, json_integer(record->node[i]));
	return ids;
}

static json_t *mark_json(const struct mark *mark)
{
	const struct sfd_mark_record *record = &mark->content.record;
	const uint64_t tick = mark->has_content ? sfd_mark_record_tick(&mark->content) : 0;
	const int64_t unix_ms = sfctl_mark_unix_ms(&record->layout, tick);
	char time[SFCTL_RFC3339_MAX];
	char written[SFCTL_RFC3339_MAX];
	json_t *whole;
	json_t *object;

	if (mark->error < 0)
		return json_pack("{s:s, s:s}", "file", mark->name, "error",
				 strerrordesc_np(-mark->error));
	object = json_pack("{s:s, s:[o, o]}", "file", mark->name, "records", place_json(mark, 0),
			   place_json(mark, 1));
	if (!mark->has_content)
		return object;
	sfctl_rfc3339_format(unix_ms, time);
	sfctl_rfc3339_format(record->written_unix_ns / 1000000, written);
	whole = json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:I, s:b, s:s, s:s, s:I}", "stream",
			  record->stream, "format", sf_format_name(record->layout.format), "layout",
			  sfctl_layout_label(&record->layout).text, "machine_ids", ids_json(record),
			  "tick", tick_json(tick), "time", time, "unix_ms", (json_int_t)unix_ms,
			  "is_damaged", mark->content.is_damaged, "written", written, "boot_id",
			  record->boot_id, "starts", (json_int_t)record->restarts);
	if (!whole || json_object_update(object, whole) < 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(whole);
	return object;
}

/* ---- all of them ---- */

static void print_head(const struct show *show)
{
	if (show->is_held == 0)
		printf("%s: no sfd is using it\n", show->dir);
	else if (show->is_held > 0 && show->holder > 0)
		printf("%s: in use by sfd, pid %d: its marks move on until it is stopped\n",
		       show->dir, (int)show->holder);
	else if (show->is_held > 0)
		printf("%s: in use by a process outside this pid namespace\n", show->dir);
	else
		printf("%s: it cannot be told whether an sfd is using it: %s\n", show->dir,
		       strerrordesc_np(-show->is_held));
}

static void show_mark(struct show *show, const char *name)
{
	struct mark mark;

	read_mark(show->dir_fd, name, &mark);
	if (!is_wanted(show->sfctl, &mark))
		return;
	show->count++;
	if (!mark.has_content)
		show->status = SFCTL_FAILED;
	if (show->marks)
		(void)json_array_append_new(show->marks, mark_json(&mark));
	else
		print_mark(&mark);
}

static int show_all(struct show *show)
{
	struct dirent **entry;
	json_t *all;
	int count = sfd_mark_list(show->dir_fd, &entry);

	if (count < 0)
		return sfctl_fail(show->sfctl, "cannot list %.160s: %s", show->dir,
				  strerrordesc_np(-count));
	if (!show->marks)
		print_head(show);
	for (int i = 0; i < count; i++) {
		show_mark(show, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	if (show->sfctl->stream && show->count == 0)
		return sfctl_fail(show->sfctl,
				  "there is no mark of stream %.40s in %.160s: without --stream "
				  "all marks are shown, --state-dir names another directory",
				  show->sfctl->stream, show->dir);
	if (!show->marks)
		return show->status;
	all = json_pack("{s:s, s:b, s:O}", "state_dir", show->dir, "in_use", show->is_held != 0,
			"marks", show->marks);
	if (all && show->is_held > 0 && show->holder > 0)
		(void)json_object_set_new(all, "pid", json_integer(show->holder));
	return sfctl_json_print(show->sfctl, all, JSON_INDENT(2)) == SFCTL_OK ? show->status
									      : SFCTL_FAILED;
}

static int options_read(struct show *show, int argc, char **argv)
{
	static const struct option options[] = {
		SFCTL_MARK_DIR_OPTION,
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == SFCTL_OPT_STATE_DIR)
			show->dir_option = optarg;
		else
			status = sfctl_option(show->sfctl, option, argv, help);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(show->sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

int sfctl_mark_show(struct sfctl *sfctl, int argc, char **argv)
{
	struct show show = {.sfctl = sfctl, .dir_fd = -1, .status = SFCTL_OK};
	int status = options_read(&show, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	status = SFCTL_FAILED;
	show.dir = sfctl_mark_dir(sfctl, show.dir_option);
	if (!show.dir)
		return status;
	show.dir_fd = open(show.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (show.dir_fd < 0) {
		(void)sfctl_fail(sfctl,
				 "cannot open the state directory %.160s: %s; give --state-dir",
				 show.dir, strerrordesc_np(errno));
		goto out;
	}
	show.is_held = sfd_lock_dir_holder(show.dir, &show.holder);
	if (sfctl->json)
		show.marks = json_array();
	status = sfctl->json && !show.marks ? sfctl_fail(sfctl, "out of memory") : show_all(&show);
	json_decref(show.marks);
	(void)close(show.dir_fd);
out:
	free(show.dir);
	return status;
}
