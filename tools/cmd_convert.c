/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl convert: moves IDs between notations. Never asks sfd. A word that cannot be converted is
 * reported and the rest goes on. Main thread.
 */
#include "tools/id.h"
#include "tools/input.h"
#include "tools/number.h"
#include "tools/words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl convert --to TARGET [OPTION]... [ID]...\n"
	"\n"
	"Moves IDs from one notation to another, one result a line. Without arguments,\n"
	"IDs are read from stdin, separated by blanks or newlines.\n"
	"\n"
	"  --to TARGET       decimal, decimal20, decimal19 (zero-padded), hex, base32\n"
	"                    (Crockford), base58, base62, base32check: 64-bit IDs;\n"
	"                    text (canonical), hex, bin (bytes): IDs of any format\n"
	"  --from SOURCE     what the IDs are in; always give it with base32, base58,\n"
	"                    base62 and hex, whose words may be all digits and would be\n"
	"                    read as decimal:\n"
	"                    " SFCTL_NOTATIONS_HELP ";\n"
	"                    or hex or bin of --format. Default: guessed, as by decode\n"
	"  --format FORMAT   what --from hex and --from bin hold: decimal (64-bit IDs,\n"
	"                    default), ulid, uuid, uuid7, objectid or hound\n" //
	SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"hex, base32, base58, base62 and the padded decimals have a fixed width and sort\n"
	"as text; decimal does not (see sfctl sort). Bytes are big-endian with nothing in\n"
	"between, as sfctl next --format bin writes them, and come from stdin only. What\n"
	"cannot be converted is reported on stderr and makes the exit status 1.\n"
	"\n"
	"Examples:\n"
	"  sfctl convert --to base62 1800774833102905344\n"
	"  sfctl convert --from base62 --to decimal20 291ZCmHJVhY\n"
	"  sfctl convert --to hex 01ARZ3NDEKTSV4RRFFQ69G5FAV |\n"
	"    sfctl convert --from hex --format uuid --to text    # a ULID as a UUID\n"
	"  sfctl convert --from bin --format ulid --to text < ids.bin\n";

/** What --to says besides the notations of 64-bit IDs, and --from besides all notations. */
enum special {
	TO_TEXT = SFCTL_NOTATION_END,
	TO_BIN,
	FROM_BIN,
};

/** Room for any result, the NUL included. */
#define RESULT_MAX SFCTL_ID_TEXT_MAX

struct converter {
	const struct sfctl *sfctl;
	int from;   /* enum sfctl_notation, FROM_BIN, or 0: guess */
	int to;     /* SF_TEXT_..., TO_TEXT or TO_BIN; 0: not given */
	int format; /* enum sfctl_notation: what hexadecimal digits or bytes hold */
	bool has_format;
	bool has_printed;
	int status;
};

static int read_to(struct converter *converter)
{
	int to = sf_text_of(optarg);

	if (strcmp(optarg, "text") == 0)
		to = TO_TEXT;
	else if (strcmp(optarg, "bin") == 0)
		to = TO_BIN;
	if (to < 0)
		return sfctl_usage(converter->sfctl,
				   "target \"%.60s\" is not decimal, decimal20, decimal19, hex, "
				   "base32, base58, base62, base32check, text or bin",
				   optarg);
	converter->to = to;
	return SFCTL_GO_ON;
}

static int read_notation(const struct sfctl *sfctl, int *ret_notation)
{
	struct sf_why why;
	int notation = sfctl_notation_of(optarg, &why);

	if (notation < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	*ret_notation = notation;
	return SFCTL_GO_ON;
}

static int read_from(struct converter *converter)
{
	if (strcmp(optarg, "bin") != 0)
		return read_notation(converter->sfctl, &converter->from);
	converter->from = FROM_BIN;
	return SFCTL_GO_ON;
}

static int read_format(struct converter *converter)
{
	int status = read_notation(converter->sfctl, &converter->format);

	if (status != SFCTL_GO_ON)
		return status;
	converter->has_format = true;
	if (converter->format > SFCTL_DECIMAL && converter->format < SFCTL_ULID)
		return sfctl_usage(converter->sfctl, "format %s is a notation: say it with --from",
				   optarg);
	return SFCTL_GO_ON;
}

static int check(const struct converter *converter, const struct sfctl_words *words)
{
	const struct sfctl *sfctl = converter->sfctl;

	if (converter->to == 0)
		return sfctl_usage(sfctl, "--to is missing");
	if (converter->has_format && converter->from != SFCTL_HEX && converter->from != FROM_BIN)
		return sfctl_usage(sfctl, "--format goes with --from hex or --from bin");
	if (converter->from == FROM_BIN && words->count > 0)
		return sfctl_usage(sfctl, "--from bin reads stdin: give no ID");
	if (converter->to == TO_BIN && sfctl->json)
		return sfctl_usage(sfctl, "bytes are no JSON: give --to bin or --json");
	if (converter->to == TO_BIN && isatty(STDOUT_FILENO))
		return sfctl_usage(sfctl, "bytes would garble this terminal: send them to a file "
					  "or program");
	return SFCTL_GO_ON;
}

static int options_read(struct converter *converter, struct sfctl *sfctl, struct sfctl_words *words)
{
	enum {
		OPT_TO = 2,
		OPT_FROM,
		OPT_FORMAT
	};
	static const struct option options[] = {
		{"to", required_argument, NULL, OPT_TO},
		{"from", required_argument, NULL, OPT_FROM},
		{"format", required_argument, NULL, OPT_FORMAT},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(words, options)) != -1) {
		if (option == OPT_TO)
			status = read_to(converter);
		else if (option == OPT_FROM)
			status = read_from(converter);
		else if (option == OPT_FORMAT)
			status = read_format(converter);
		else
			status = sfctl_option(sfctl, option, words->argv, help);
	}
	return status == SFCTL_GO_ON ? check(converter, words) : status;
}

/** @return length of the result without its NUL, or a negative errno with a sentence */
static int write_result(int to, const struct sfctl_id *id, char ret_text[RESULT_MAX],
			struct sf_why *why)
{
	int length;

	if (to == TO_BIN)
		return (int)sfctl_id_to_bytes(id, (uint8_t *)ret_text);
	if (to == TO_TEXT)
		return (int)sfctl_id_text(id, ret_text);
	if (to == SFCTL_HEX)
		return (int)sfctl_id_hex(id, ret_text);
	if (id->format != SF_FORMAT_SNOWFLAKE) {
		SFCTL_WHY(why, "is no 64-bit ID: convert it to text, hex or bin");
		return -EINVAL;
	}
	length = sf_text_format((unsigned)to, id->number, ret_text);
	if (length < 0)
		SFCTL_WHY(why, "is 2^63 or more, which decimal19 is not for: take decimal20");
	return length;
}

static void print_result(struct converter *converter, const char *result, size_t length)
{
	bool is_json = converter->sfctl->json;

	if (is_json)
		(void)fputs(converter->has_printed ? ",\n\"" : "[\n\"", stdout);
	(void)fwrite(result, 1, length, stdout);
	if (converter->to != TO_BIN)
		(void)fputs(is_json ? "\"" : "\n", stdout);
	converter->has_printed = true;
}

static void convert_id(struct converter *converter, const struct sfctl_id *id)
{
	char text[SFCTL_ID_TEXT_MAX];
	char result[RESULT_MAX];
	struct sf_why why;
	int length = write_result(converter->to, id, result, &why);

	if (length >= 0)
		print_result(converter, result, (size_t)length);
	else
		converter->status =
			sfctl_word_fail(converter->sfctl, text, sfctl_id_text(id, text), why.text);
}

/** Reads the bytes of an ID, in hexadecimal. */
static int parse_hex(int format, const char *word, size_t length, struct sfctl_id *ret_id,
		     struct sf_why *why)
{
	size_t count = sfctl_format_bytes(sfctl_notation_format(format));
	uint8_t bytes[SF_WIDE_BYTES_MAX];

	if (length != 2 * count) {
		SFCTL_WHY(why, "has %zu characters; as hexadecimal digits it needs %zu", length,
			  2 * count);
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t byte;

		if (sfctl_number_parse_hex(word + 2 * i, 2, &byte) < 0) {
			SFCTL_WHY(why, "character %zu or %zu is no hexadecimal digit", 2 * i + 1,
				  2 * i + 2);
			return -EINVAL;
		}
		bytes[i] = (uint8_t)byte;
	}
	return sfctl_id_from_bytes(format, bytes, ret_id, why);
}

static void convert_word(void *data, const char *word, size_t length)
{
	struct converter *converter = data;
	struct sfctl_id id;
	struct sf_why why;
	int error = converter->from == SFCTL_HEX && converter->format != SFCTL_DECIMAL
			    ? parse_hex(converter->format, word, length, &id, &why)
			    : sfctl_id_read(converter->from, "--from", word, length, &id, &why);

	if (error < 0)
		converter->status = sfctl_word_fail(converter->sfctl, word, length, why.text);
	else
		convert_id(converter, &id);
}

/** Converts what stdin holds, one binary form after the other. */
static int convert_bytes(struct converter *converter)
{
	size_t size = sfctl_format_bytes(sfctl_notation_format(converter->format));
	const struct sfctl *sfctl = converter->sfctl;
	uint8_t bytes[SF_WIDE_BYTES_MAX];
	unsigned long long done = 0;
	int status = SFCTL_OK;
	struct sfctl_id id;
	struct sf_why why;
	size_t count = 0;

	FILE *in = sfctl_input_open();

	if (!in)
		return sfctl_fail(sfctl, "out of memory");
	while (ferror(stdout) == 0 && (count = fread(bytes, 1, size, in)) == size) {
		done++;
		if (sfctl_id_from_bytes(converter->format, bytes, &id, &why) < 0)
			converter->status =
				sfctl_fail(sfctl, "ID number %llu of stdin: %s", done, why.text);
		else
			convert_id(converter, &id);
	}
	if (ferror(in) != 0)
		status = sfctl_fail(sfctl, "cannot read stdin: %s", strerrordesc_np(errno));
	else if (ferror(stdout) == 0 && count > 0)
		status = sfctl_fail(sfctl,
				    "stdin ends in the middle: %zu bytes follow %llu IDs of %zu",
				    count, done, size);
	(void)fclose(in);
	return status;
}

int sfctl_cmd_convert(struct sfctl *sfctl, int argc, char **argv)
{
	struct converter converter = {.sfctl = sfctl, .format = SFCTL_DECIMAL};
	struct sfctl_words words;
	int status = sfctl_words_init(&words, sfctl, argc, argv);

	if (status == SFCTL_GO_ON)
		status = options_read(&converter, sfctl, &words);
	if (status != SFCTL_GO_ON)
		goto out;
	status = converter.from == FROM_BIN ? convert_bytes(&converter)
					    : sfctl_words_each(&words, sfctl, SFCTL_WORDS_BLANKS,
							       convert_word, &converter);
	if (sfctl->json)
		(void)fputs(converter.has_printed ? "\n]\n" : "[]\n", stdout);
	if (status == SFCTL_OK)
		status = converter.status;
out:
	sfctl_words_deinit(&words);
	return status;
}
