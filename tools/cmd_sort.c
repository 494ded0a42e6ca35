/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl sort: orders lines by the decimal ID that they begin with. Holds the whole input in memory.
 * Main thread.
 */
#include "tools/sfctl.h"

#include <errno.h>
#include <fcntl.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Bytes that are read at a time at least. */
#define PIECE_BYTES ((size_t)1 << 20)

static const char help[] =
	"Usage: sfctl sort [OPTION]... [FILE]...\n"
	"\n"
	"Sorts the lines of all FILEs, or of stdin (also \"-\"), by the decimal ID that\n"
	"each line begins with, whatever the IDs' numbers of digits. The ID ends at the\n"
	"first blank, tab, comma or semicolon. Lines that begin with no ID come last, in\n"
	"byte order of what stands there. Lines of the same ID stay in their order.\n"
	"\n"
	"  -r, --reverse     largest first\n"
	"  -u, --unique      of lines with the same ID keep the first\n" //
	SFCTL_HELP_HELP "\n"
	"Plain sort compares IDs as text, so that 9 comes after 10 and an ID of 18 digits\n"
	"after one of 19 from years later; sort -n ignores what follows the number and\n"
	"what is none. The whole input is held in memory, with 24 bytes more a line.\n"
	"\n"
	"Examples:\n"
	"  sfctl sort ids.txt\n"
	"  sfctl sort --reverse --unique a.csv b.csv > newest-first.csv\n"
	"  sfctl next -n 10 | sfctl sort -r\n";

struct request {
	bool is_reverse;
	bool is_unique;
};

/** Bytes of all files, one after the other. */
struct text {
	char *at;
	size_t used;
	size_t size;
};

struct line {
	const char *at;
	size_t length; /* without the newline */
	size_t id_length;
};

struct lines {
	struct line *line;
	size_t count;
};

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"reverse", no_argument, NULL, 'r'},
		{"unique", no_argument, NULL, 'u'},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON &&
	       (option = sfctl_getopt(argc, argv, ":hru", options)) != -1) {
		if (option == 'r')
			request->is_reverse = true;
		else if (option == 'u')
			request->is_unique = true;
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	return status;
}

/** Reads a descriptor to its end. @return 0 or a negative errno */
static int read_all(int fd, struct text *text)
{
	ssize_t count;

	do {
		if (text->size - text->used < PIECE_BYTES) {
			size_t size = text->size * 2 + PIECE_BYTES;
			char *at = realloc(text->at, size);

			if (!at)
				return -ENOMEM;
			text->at = at;
			text->size = size;
		}
		count = read(fd, text->at + text->used, text->size - text->used);
		if (count < 0 && errno != EINTR)
			return -errno;
		text->used += count > 0 ? (size_t)count : 0;
	} while (count != 0);
	/* The last line may lack its newline; the last read left room. */
	if (text->used > 0 && text->at[text->used - 1] != '\n')
		text->at[text->used++] = '\n';
	return 0;
}

static int read_file(const struct sfctl *sfctl, const char *name, struct text *text)
{
	bool is_stdin = strcmp(name, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return sfctl_fail(sfctl, "cannot open %.200s: %s", name, strerrordesc_np(errno));
	error = read_all(fd, text);
	if (!is_stdin)
		(void)close(fd);
	if (error < 0)
		return sfctl_fail(sfctl, "cannot read %.200s: %s", is_stdin ? "stdin" : name,
				  strerrordesc_np(-error));
	return SFCTL_OK;
}

/** Bytes before the first that cannot belong to an ID. A NUL ends none. */
static size_t id_length(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (line[i] != '\0' && strchr(" \t\r,;", line[i]))
			return i;
	}
	return length;
}

/** Finds the lines. @return 0 or -ENOMEM */
static int cut(const struct text *text, struct lines *ret_lines)
{
	struct lines lines = {0};
	size_t count = 0;

	for (size_t i = 0; i < text->used; i++)
		count += text->at[i] == '\n';
	lines.line = calloc(count ? count : 1, sizeof(*lines.line));
	if (!lines.line)
		return -ENOMEM;
	for (const char *at = text->at; lines.count < count;) {
		const char *end = rawmemchr(at, '\n');

		lines.line[lines.count++] = (struct line){
			.at = at,
			.length = (size_t)(end - at),
			.id_length = id_length(at, (size_t)(end - at)),
		};
		at = end + 1;
	}
	*ret_lines = lines;
	return 0;
}

static int compare_ids(const struct line *a, const struct line *b)
{
	return sf_decimal_compare(a->at, a->id_length, b->at, b->id_length);
}

/** The place in the input decides between equals: qsort() need not be stable. */
static int compare_places(const struct line *a, const struct line *b)
{
	return a->at < b->at ? -1 : a->at > b->at;
}

static int compare(const void *a, const void *b)
{
	int order = compare_ids(a, b);

	return order ? order : compare_places(a, b);
}

static int compare_reverse(const void *a, const void *b)
{
	int order = compare_ids(b, a);

	return order ? order : compare_places(a, b);
}

static void print(const struct lines *lines, bool is_unique)
{
	for (size_t i = 0; i < lines->count && ferror(stdout) == 0; i++) {
		const struct line *line = &lines->line[i];

		if (is_unique && i > 0 && compare_ids(line - 1, line) == 0)
			continue;
		(void)fwrite(line->at, 1, line->length + 1, stdout);
	}
}

int sfctl_cmd_sort(struct sfctl *sfctl, int argc, char **argv)
{
	static char dash[] = "-";
	static char *const standard_input[] = {dash};
	struct request request = {0};
	struct lines lines = {0};
	struct text text = {0};
	int status = options_read(sfctl, argc, argv, &request);
	char *const *files = argv + optind;
	int count = argc - optind;

	if (status != SFCTL_GO_ON)
		return status;
	if (count == 0) {
		files = standard_input;
		count = 1;
	}
	for (int i = 0; i < count; i++) {
		status = read_file(sfctl, files[i], &text);
		if (status != SFCTL_OK)
			goto out;
	}
	if (cut(&text, &lines) < 0) {
		status = sfctl_fail(sfctl, "out of memory for %zu bytes of lines", text.used);
		goto out;
	}
	qsort(lines.line, lines.count, sizeof(*lines.line),
	      request.is_reverse ? compare_reverse : compare);
	print(&lines, request.is_unique);
out:
	free(lines.line);
	free(text.at);
	return status;
}
