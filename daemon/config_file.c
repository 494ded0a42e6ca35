/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The configuration file: from bytes to a draft, with every problem of form reported by line. inih
 * separates key, value and comment; sections and lines are counted here, in the function it reads
 * lines with, because it neither tells line numbers nor empty or repeated sections, and cuts long
 * lines and names without a word. Never judges a value. Runs while only one thread exists.
 */
#include "daemon/config_draft.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char blanks[] = " \t\r\v\f";
static const char byte_order_mark[] = "\xef\xbb\xbf";

static const char *const daemon_keys[SFD_DAEMON_KEYS] = {
	[SFD_DAEMON_RUNTIME_DIR] = "runtime_dir",
	[SFD_DAEMON_STATE_DIR] = "state_dir",
	[SFD_DAEMON_LOG_LEVEL] = "log_level",
	[SFD_DAEMON_LOOP] = "loop",
	[SFD_DAEMON_USER] = "user",
	[SFD_DAEMON_MAX_CONNECTIONS_PER_USER] = "max_connections_per_user",
	[SFD_DAEMON_SECCOMP] = "seccomp",
};

static const char *const stream_keys[SFD_STREAM_KEYS] = {
	[SFD_STREAM_FORMAT] = "format",
	[SFD_STREAM_LAYOUT] = "layout",
	[SFD_STREAM_MACHINE_ID] = "machine_id",
	[SFD_STREAM_AHEAD_MS] = "ahead_ms",
	[SFD_STREAM_RUNWAY_MS] = "runway_ms",
	[SFD_STREAM_CLOCK_BACKWARD] = "clock_backward",
	[SFD_STREAM_SEQUENCE_START] = "sequence_start",
	[SFD_STREAM_ALLOW] = "allow",
};

enum section_kind {
	SECTION_NONE,    /* before the first section */
	SECTION_REFUSED, /* reported already: its keys are not looked at */
	SECTION_DAEMON,
	SECTION_STREAM,
};

struct reader {
	struct sfd_draft *draft;
	const char *at;
	const char *end;
	struct sfd_draft_place place;      /* of the line being read */
	bool is_key_due;                   /* inih has a line from which no key has come yet */
	enum section_kind kind;            /* of the section being read */
	struct sfd_draft_section *section; /* NULL: check key names, but keep nothing */
};

void sfd_draft_report(struct sfd_draft *draft, enum sfd_log_level level,
		      const struct sfd_draft_place *place, const char *format, ...)
{
	char text[768];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (place->flag != NULL)
		sfd_log(level, "%s: %s", place->flag, text);
	else if (place->line != 0)
		sfd_log(level, "%s:%u: %s", draft->file, place->line, text);
	else
		sfd_log(level, "%s: %s", draft->file, text);
	if (level == SFD_LOG_ERROR)
		draft->problems++;
}

void sfd_draft_set(struct sfd_draft *draft, struct sfd_draft_value *value, const char *text,
		   struct sfd_draft_place place)
{
	value->text = strdup(text);
	value->place = place;
	if (value->text == NULL)
		draft->error = -ENOMEM;
}

static void section_deinit(struct sfd_draft_section *section)
{
	for (size_t i = 0; i < SFD_STREAM_KEYS; i++)
		free(section->value[i].text);
}

void sfd_draft_deinit(struct sfd_draft *draft)
{
	section_deinit(&draft->daemon);
	section_deinit(&draft->flags);
	for (size_t i = 0; i < draft->stream_count; i++)
		section_deinit(&draft->stream[i]);
	free(draft->stream);
	*draft = (struct sfd_draft){0};
}

/* ---- keys ---- */

static void report_unknown_key(struct reader *reader, const char *name, const char *const *keys,
			       size_t count)
{
	char legal[160] = "";
	size_t length = 0;

	for (size_t i = 0; i < count && length < sizeof(legal); i++)
		length += (size_t)snprintf(legal + length, sizeof(legal) - length, "%s%s",
					   i == 0 ? "" : ", ", keys[i]);
	sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
			 "unknown key \"%s\": the keys of a [%s] section are %s", name,
			 reader->kind == SECTION_DAEMON ? "daemon" : "stream NAME", legal);
}

static void take_value(struct reader *reader, const char *name, const char *text)
{
	const bool is_daemon = reader->kind == SECTION_DAEMON;
	const char *const *keys = is_daemon ? daemon_keys : stream_keys;
	const size_t count = is_daemon ? (size_t)SFD_DAEMON_KEYS : (size_t)SFD_STREAM_KEYS;
	struct sfd_draft_value *value;
	size_t key = 0;

	while (key < count && strcmp(keys[key], name) != 0)
		key++;
	if (key == count) {
		report_unknown_key(reader, name, keys, count);
		return;
	}
	if (reader->section == NULL)
		return;
	value = &reader->section->value[key];
	if (value->text != NULL)
		sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
				 "%s is given twice, first in line %u: keep one of the two", name,
				 value->place.line);
	else
		sfd_draft_set(reader->draft, value, text, reader->place);
}

/* inih's handler. The section it names is cut at 50 bytes, so the reader's own counts. */
static int take_key(void *user, const char *section, const char *name, const char *text)
{
	struct reader *reader = user;

	(void)section;
	if (text == NULL) /* a build of inih that lets a name stand alone */
		return 1;
	reader->is_key_due = false;
	if (reader->kind == SECTION_NONE)
		sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
				 "key \"%s\" stands outside a section: put it below [daemon] or "
				 "[stream NAME]",
				 name);
	else if (reader->kind != SECTION_REFUSED)
		take_value(reader, name, text);
	return 1;
}

/* ---- sections ---- */

static bool is_stream_name(const char *name)
{
	size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789_.-");

	return name[length] == '\0' && length > 0 && length < SF_SHM_STREAM_NAME_MAX &&
	       name[0] != '.';
}

static struct sfd_draft_section *find_stream(struct sfd_draft *draft, const char *name)
{
	for (size_t i = 0; i < draft->stream_count; i++)
		if (strcmp(draft->stream[i].name, name) == 0)
			return &draft->stream[i];
	return NULL;
}

static void report_repeated(struct reader *reader, const struct sfd_draft_section *first,
			    const char *title)
{
	sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
			 "section [%s] is given twice, first in line %u: put the keys together",
			 title, first->place.line);
}

static void begin_daemon(struct reader *reader)
{
	struct sfd_draft_section *section = &reader->draft->daemon;

	reader->kind = SECTION_DAEMON;
	if (section->place.line != 0) {
		report_repeated(reader, section, "daemon");
		return;
	}
	section->place = reader->place;
	reader->section = section;
}

static void begin_stream(struct reader *reader, const char *name, const char *title)
{
	struct sfd_draft *draft = reader->draft;
	struct sfd_draft_section *section = find_stream(draft, name);

	draft->stream_seen = true;
	reader->kind = SECTION_STREAM;
	if (!is_stream_name(name)) {
		sfd_draft_report(draft, SFD_LOG_ERROR, &reader->place,
				 "\"%s\" is not a stream name: use 1 to %d of the characters A-Z "
				 "a-z 0-9 _ . -, and no dot in front",
				 name, SF_SHM_STREAM_NAME_MAX - 1);
		return;
	}
	if (section != NULL) {
		report_repeated(reader, section, title);
		return;
	}
	if (draft->stream_count == SFD_STREAMS_MAX) {
		sfd_draft_report(draft, SFD_LOG_ERROR, &reader->place,
				 "stream \"%s\" is one too many: one daemon has at most %d", name,
				 SFD_STREAMS_MAX);
		return;
	}
	section = &draft->stream[draft->stream_count++];
	memcpy(section->name, name, strlen(name) + 1);
	section->place = reader->place;
	reader->section = section;
}

static void cut_trailing_blanks(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
		length--;
	text[length] = '\0';
}

/* Is this what may follow a section's bracket: nothing, or a comment? */
static bool is_line_end(const char *text)
{
	const size_t skipped = strspn(text, blanks);

	return text[skipped] == '\0' || (skipped > 0 && strchr(";#", text[skipped]) != NULL);
}

/* `line` begins with the bracket; it may be changed. */
static void begin_section(struct reader *reader, char *line)
{
	char *title = line + 1 + strspn(line + 1, blanks);
	char *end = strchr(title, ']');
	size_t word;

	reader->section = NULL;
	reader->kind = SECTION_REFUSED;
	if (end == NULL || !is_line_end(end + 1)) {
		sfd_draft_report(
			reader->draft, SFD_LOG_ERROR, &reader->place,
			"a section is written [daemon] or [stream NAME], alone on its line");
		return;
	}
	*end = '\0';
	cut_trailing_blanks(title);
	word = strcspn(title, blanks);
	if (strcmp(title, "daemon") == 0)
		begin_daemon(reader);
	else if (word == strlen("stream") && strncmp(title, "stream", word) == 0)
		begin_stream(reader, title + word + strspn(title + word, blanks), title);
	else
		sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
				 "unknown section [%s]: sections are [daemon] and [stream NAME]",
				 title);
}

/* ---- lines ---- */

/* The next line without the blanks at both ends. @return its length, or -1 at the end */
static ssize_t next_line(struct reader *reader, const char **ret_line)
{
	const char *line = reader->at;
	const char *end;

	if (line == reader->end)
		return -1;
	end = memchr(line, '\n', (size_t)(reader->end - line));
	reader->at = end == NULL ? reader->end : end + 1;
	reader->place.line++;
	if (end == NULL)
		end = reader->end;
	while (line < end && strchr(blanks, *line) != NULL)
		line++;
	while (end > line && strchr(blanks, end[-1]) != NULL)
		end--;
	*ret_line = line;
	return end - line;
}

static void report_line_without_key(struct reader *reader)
{
	if (reader->is_key_due)
		sfd_draft_report(reader->draft, SFD_LOG_ERROR, &reader->place,
				 "this line is neither a section, nor key = value, nor a comment");
	reader->is_key_due = false;
}

/*
 * inih's reader: hands out the lines that should hold a key, one by one. They come without blanks
 * in front, which inih would take for a continuation, and always with a newline, so that a build
 * with a growing buffer does not ask for more of the same line.
 */
static char *read_key_line(char *buffer, int size, void *user)
{
	struct reader *reader = user;
	const char *line;
	ssize_t length;

	report_line_without_key(reader);
	while ((length = next_line(reader, &line)) >= 0) {
		if (length == 0 || *line == ';' || *line == '#')
			continue;
		if (length + 2 > size) {
			sfd_draft_report(
				reader->draft, SFD_LOG_ERROR, &reader->place,
				"the line has %zd bytes, but at most %d are read: shorten it",
				length, size - 2);
			continue;
		}
		memcpy(buffer, line, (size_t)length);
		buffer[length] = '\0';
		if (*buffer == '[') {
			begin_section(reader, buffer);
			continue;
		}
		buffer[length] = '\n';
		buffer[length + 1] = '\0';
		reader->is_key_due = true;
		return buffer;
	}
	return NULL;
}

static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

void sfd_draft_parse(struct sfd_draft *draft, const char *text, size_t size)
{
	struct reader reader = {.draft = draft, .at = text, .end = text + size};
	const char *nul = size == 0 ? NULL : memchr(text, '\0', size);

	if (nul != NULL) {
		reader.place.line = line_of(text, nul);
		sfd_draft_report(draft, SFD_LOG_ERROR, &reader.place,
				 "the line has a NUL byte, so this is no text file: name another");
		draft->stream_seen = true; /* nobody looked for one */
		return;
	}
	if (size >= strlen(byte_order_mark) &&
	    memcmp(text, byte_order_mark, strlen(byte_order_mark)) == 0)
		reader.at += strlen(byte_order_mark);
	/* Positive is the first line in error, reported above already. */
	if (ini_parse_stream(read_key_line, &reader, take_key, &reader) == -2)
		draft->error = -ENOMEM;
}

int sfd_draft_read_file(struct sfd_draft *draft, const char *path, char **ret_text,
			size_t *ret_size)
{
	static const struct sfd_draft_place whole_file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text = NULL;
	size_t size = 0;
	ssize_t n = 0;
	int r = 0;

	if (fd < 0)
		goto fail_errno;
	text = malloc(SFD_CONFIG_BYTES_MAX);
	if (text == NULL)
		goto fail_errno;
	do {
		n = read(fd, text + size, SFD_CONFIG_BYTES_MAX - size);
		if (n < 0 && errno != EINTR)
			goto fail_errno;
		size += n > 0 ? (size_t)n : 0;
	} while (n != 0 && size < SFD_CONFIG_BYTES_MAX);
	if (size == SFD_CONFIG_BYTES_MAX) {
		sfd_draft_report(
			draft, SFD_LOG_ERROR, &whole_file,
			"the file has %u bytes or more, too many for a configuration: name "
			"another",
			SFD_CONFIG_BYTES_MAX);
		r = -EFBIG;
		goto out;
	}
	*ret_text = text;
	*ret_size = size;
	text = NULL;
	goto out;
fail_errno:
	r = -errno;
	sfd_draft_report(draft, SFD_LOG_ERROR, &whole_file,
			 "the configuration cannot be read (%s): correct the name or the "
			 "permissions",
			 strerrordesc_np(-r));
out:
	free(text);
	if (fd >= 0)
		(void)close(fd);
	return r;
}
