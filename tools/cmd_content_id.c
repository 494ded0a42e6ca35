/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl content-id: the IDs of files. Needs no daemon. A file that fails is reported and the rest
 * goes on. Main thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"

#include <errno.h>
#include <fcntl.h>
#include <sfcontent.h>
#include <sfformats.h>
#include <string.h>
#include <unistd.h>

/* Bytes read at once. */
#define CHUNK (256u * 1024)

static const char help[] =
	"Usage: sfctl content-id [OPTION]... [FILE]...\n"
	"\n"
	"Prints an ID made of the content of each FILE, or of stdin: the same content\n"
	"has the same ID on every host, without sfd. \"-\" is stdin.\n"
	"\n"
	"  --input bytes     the file's bytes are the value (default)\n"
	"  --input json      the file is a JSON document: white space and the order of\n"
	"                    keys do not count\n"
	"  --profile P       sfd-1      different values have different IDs (default)\n"
	"                    coola      as coola.identifier makes them, newest rule\n"
	"                    coola-1.1  as its releases 1.1.x do\n"
	"  --length N        hexadecimal digits, even, 2 to 128 (default: 64)\n"
	"  --uuid5           print the value's UUID of version 5 instead\n"
	"  --namespace UUID  namespace of --uuid5\n"
	"                    (default: " SF_CONTENT_NAMESPACE ")\n" //
	SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"A line is ID, two blanks and FILE; where FILE holds a newline or a backslash,\n"
	"the line starts with a backslash and they are written \\n and \\\\. Of stdin\n"
	"without \"-\", the ID only. A file that cannot be read, or is no JSON document\n"
	"that has an ID (a key twice, NaN, more than 512 levels, not UTF-8), is reported\n"
	"on stderr; the rest goes on and the exit status is 1.\n"
	"\n"
	"Examples:\n"
	"  sfctl content-id photo.jpg\n"
	"  sfctl content-id --input json --uuid5 record.json\n"
	"  echo '{\"a\":1,\"b\":2}' | sfctl content-id --input json --profile coola\n";

struct maker {
	const struct sfctl *sfctl;
	struct sf_content_options options;
	struct sf_content *content;
	const char *name_space;
	bool has_length;
	bool is_json;
	bool is_uuid5;
	bool has_printed;
	int status;
};

static int read_input(struct maker *maker, const char *text)
{
	maker->is_json = strcmp(text, "json") == 0;
	if (!maker->is_json && strcmp(text, "bytes") != 0)
		return sfctl_usage(maker->sfctl, "input \"%.60s\" is not bytes or json", text);
	return SFCTL_GO_ON;
}

static int read_profile(struct maker *maker, const char *text)
{
	int profile = sf_content_profile_of(text);

	if (profile < 0)
		return sfctl_usage(maker->sfctl,
				   "profile \"%.60s\" is not sfd-1, coola or coola-1.1", text);
	maker->options.profile = (uint32_t)profile;
	return SFCTL_GO_ON;
}

static int read_length(struct maker *maker, const char *text)
{
	uint64_t length = 0;

	if (sfctl_number_parse(text, strlen(text), &length) < 0 || length % 2 != 0 ||
	    length < SF_CONTENT_LENGTH_MIN || length > SF_CONTENT_LENGTH_MAX)
		return sfctl_usage(maker->sfctl,
				   "length \"%.60s\" is not an even number from %d to %d", text,
				   SF_CONTENT_LENGTH_MIN, SF_CONTENT_LENGTH_MAX);
	maker->options.length = (uint32_t)length;
	maker->has_length = true;
	return SFCTL_GO_ON;
}

static int read_namespace(struct maker *maker, const char *text)
{
	struct sf_wide id;
	struct sf_why why;

	if (sf_uuid_parse(text, strlen(text), &id, &why) < 0)
		return sfctl_usage(maker->sfctl, "namespace: %s", why.text);
	maker->name_space = text;
	return SFCTL_GO_ON;
}

/** Whether the options fit each other. */
static int options_check(struct maker *maker)
{
	if (maker->name_space && !maker->is_uuid5)
		return sfctl_usage(maker->sfctl, "--namespace is for --uuid5");
	if (!maker->is_uuid5)
		return SFCTL_GO_ON;
	if (maker->has_length)
		return sfctl_usage(maker->sfctl, "a UUID has one length: leave --length out");
	maker->options.length = SF_CONTENT_LENGTH_MAX;
	if (!maker->name_space)
		maker->name_space = SF_CONTENT_NAMESPACE;
	return SFCTL_GO_ON;
}

static int options_read(struct maker *maker, struct sfctl *sfctl, int argc, char **argv)
{
	enum {
		OPT_INPUT = 1,
		OPT_PROFILE,
		OPT_LENGTH,
		OPT_UUID5,
		OPT_NAMESPACE
	};
	static const struct option options[] = {
		{"input", required_argument, NULL, OPT_INPUT},
		{"profile", required_argument, NULL, OPT_PROFILE},
		{"length", required_argument, NULL, OPT_LENGTH},
		{"uuid5", no_argument, NULL, OPT_UUID5},
		{"namespace", required_argument, NULL, OPT_NAMESPACE},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == OPT_INPUT)
			status = read_input(maker, optarg);
		else if (option == OPT_PROFILE)
			status = read_profile(maker, optarg);
		else if (option == OPT_LENGTH)
			status = read_length(maker, optarg);
		else if (option == OPT_UUID5)
			maker->is_uuid5 = true;
		else if (option == OPT_NAMESPACE)
			status = read_namespace(maker, optarg);
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	return status == SFCTL_GO_ON ? options_check(maker) : status;
}

/** Feeds what a descriptor holds. @return 0, or the failed read's -errno */
static int feed(struct maker *maker, int fd)
{
	static char chunk[CHUNK];
	int error = 0;

	while (error == 0) {
		ssize_t count = read(fd, chunk, sizeof(chunk));

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : 0;
		if (maker->is_json)
			error = sf_content_json(maker->content, chunk, (size_t)count);
		else
			error = sf_content_feed(maker->content, chunk, (size_t)count);
	}
	return 0; /* the builder's failure stays with it */
}

/** Feeds a whole file. @return 0, or -errno; what the builder refuses shows at the end */
static int feed_file(struct maker *maker, const char *name)
{
	bool is_stdin = !name || strcmp(name, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	sf_content_reset(maker->content);
	if (maker->is_json)
		(void)sf_content_json(maker->content, "", 0);
	else
		(void)sf_content_begin(maker->content, SF_CONTENT_BYTES);
	error = feed(maker, fd);
	if (!is_stdin)
		(void)close(fd);
	if (error < 0)
		return error;
	if (maker->is_json)
		(void)sf_content_json_end(maker->content);
	else
		(void)sf_content_end(maker->content);
	return 0;
}

/** Prints a file's name on one line; what must be escaped is. */
static void print_name(const char *name)
{
	for (; *name; name++) {
		if (*name == '\n')
			(void)fputs("\\n", stdout);
		else if (*name == '\\')
			(void)fputs("\\\\", stdout);
		else
			(void)putchar(*name);
	}
}

static void print_line(const char *name, const char *id)
{
	if (!name) {
		printf("%s\n", id);
		return;
	}
	printf("%s%s  ", strpbrk(name, "\n\\") ? "\\" : "", id);
	print_name(name);
	(void)putchar('\n');
}

static int print_object(struct maker *maker, const char *name, const char *id)
{
	const char *profile = sf_content_profile_name(maker->options.profile);
	json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "file", name ? name : "-", "profile",
				   profile, "input", maker->is_json ? "json" : "bytes",
				   maker->is_uuid5 ? "uuid5" : "id", id);

	if (maker->is_uuid5 && object &&
	    json_object_set_new(object, "namespace", json_string(maker->name_space)) < 0) {
		json_decref(object);
		object = NULL;
	}
	if (!object)
		return sfctl_fail(maker->sfctl,
				  "%.200s: no JSON object: the name is not UTF-8, or out of memory",
				  name ? name : "-");
	(void)fputs(maker->has_printed ? "," : "[\n", stdout);
	maker->has_printed = true;
	return sfctl_json_print(maker->sfctl, object, JSON_COMPACT);
}

/** @param name NULL for stdin that was not named */
static int make(struct maker *maker, const char *name)
{
	char id[SF_CONTENT_ID_MAX];
	int error = feed_file(maker, name);

	if (error < 0)
		return sfctl_fail(maker->sfctl, "cannot read %.200s: %s", name ? name : "stdin",
				  strerrordesc_np(-error));
	if (maker->is_uuid5)
		error = sf_content_uuid5(maker->content, maker->name_space, id);
	else
		error = sf_content_finish(maker->content, id);
	if (error < 0)
		return sfctl_fail(maker->sfctl, "%.200s: %s", name ? name : "stdin",
				  sf_content_why(maker->content));
	if (maker->sfctl->json)
		return print_object(maker, name, id);
	print_line(name, id);
	return SFCTL_OK;
}

int sfctl_cmd_content_id(struct sfctl *sfctl, int argc, char **argv)
{
	struct maker maker = {.sfctl = sfctl, .options = SF_CONTENT_OPTIONS};
	struct sf_why why;
	int status = options_read(&maker, sfctl, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	if (sf_content_open(&maker.options, &maker.content, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	for (int i = optind; i < argc; i++)
		if (make(&maker, argv[i]) != SFCTL_OK)
			maker.status = SFCTL_FAILED;
	if (optind == argc)
		maker.status = make(&maker, NULL);
	if (sfctl->json)
		(void)fputs(maker.has_printed ? "]\n" : "[]\n", stdout);
	sf_content_close(maker.content);
	return maker.status;
}
