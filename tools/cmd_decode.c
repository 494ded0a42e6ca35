/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl decode: takes IDs apart. A word that is no ID is reported and the rest goes on. sfd is
 * asked for a layout only when a 64-bit ID needs one. Main thread.
 */
#include "tools/explain.h"
#include "tools/layout_option.h"
#include "tools/plausible.h"
#include "tools/words.h"

#include <errno.h>
#include <string.h>

/** Width of the first column, unless an ID is longer. */
#define ID_COLUMN 20

static const char help[] =
	"Usage: sfctl decode [OPTION]... [ID]...\n"
	"\n"
	"Takes IDs apart into time, node, sequence and what else they hold. Without\n"
	"arguments, IDs are read from stdin, separated by blanks or newlines.\n"
	"\n"
	"The format is guessed: 1 to 20 decimal digits are a 64-bit ID, 26 characters a\n"
	"ULID, 36 a UUID, 24 an ObjectId, 44 a Hound ID. All other words need --format.\n"
	"\n"
	"  --format FORMAT   " SFCTL_NOTATIONS_HELP "\n"
	"  --hex             --format hex: at most 16 digits, \"0x\" allowed\n"
	"  --no-checksum     decode Hound IDs whose checksum is wrong, too\n"
	"  --layout LAYOUT   of 64-bit IDs: preset (twitter, snowflakex, discord, coola,\n"
	"                    instagram, sonyflake, baidu) or notation; default: ask sfd\n" //
	SFCTL_GLOBAL_HELP "\n"
	"A 64-bit ID is at most 18446744073709551615. A word that is no ID, or does not\n"
	"fit the layout, is reported on stderr; the rest is decoded, and the exit status\n"
	"is 1. A time in the future or within a day of the layout's epoch gives a\n"
	"warning, since the ID was probably made with another layout. Other formats need\n"
	"neither layout nor sfd. In JSON, IDs are strings; a time that an ID does not\n"
	"hold is null.\n"
	"\n"
	"Examples:\n"
	"  sfctl decode --layout twitter 1593572310593806338\n"
	"  sfctl decode --layout \"t41 n10 s12 epoch=0\" --json 7202794905796608000\n"
	"  sfctl decode 01ARZ3NDEKTSV4RRFFQ69G5FAV 017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"
	"  sfctl decode --format base62 --layout twitter 291ZCmHJVhY\n"
	"  sfctl next -n 3 | sfctl decode\n";

/** Where the layout of 64-bit IDs stands. */
enum layout_state {
	LAYOUT_UNASKED,
	LAYOUT_KNOWN,
	LAYOUT_UNKNOWN, /* `no_layout` says why */
};

struct decoder {
	const struct sfctl *sfctl;
	const char *layout_text;
	int notation; /* 0: guess */
	bool is_unchecked;
	enum layout_state layout_state;
	struct sf_layout layout;
	struct sf_why no_layout;
	int64_t now_ms;
	int id_column;
	bool has_printed;
	int status;
};

static int read_format(struct decoder *decoder, const char *name)
{
	struct sf_why why;
	int notation = sfctl_notation_of(name, &why);

	if (notation < 0)
		return sfctl_usage(decoder->sfctl, "%s", why.text);
	decoder->notation = notation;
	return SFCTL_GO_ON;
}

static int options_read(struct decoder *decoder, struct sfctl *sfctl, struct sfctl_words *words)
{
	enum {
		OPT_LAYOUT = 2,
		OPT_FORMAT,
		OPT_HEX,
		OPT_NO_CHECKSUM
	};
	static const struct option options[] = {
		{"layout", required_argument, NULL, OPT_LAYOUT},
		{"format", required_argument, NULL, OPT_FORMAT},
		{"hex", no_argument, NULL, OPT_HEX},
		{"no-checksum", no_argument, NULL, OPT_NO_CHECKSUM},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(words, options)) != -1) {
		switch (option) {
		case OPT_LAYOUT:
			decoder->layout_text = optarg;
			break;
		case OPT_FORMAT:
			status = read_format(decoder, optarg);
			break;
		case OPT_HEX:
			decoder->notation = SFCTL_HEX;
			break;
		case OPT_NO_CHECKSUM:
			decoder->is_unchecked = true;
			break;
		default:
			status = sfctl_option(sfctl, option, words->argv, help);
		}
	}
	if (status == SFCTL_GO_ON && decoder->layout_text) {
		decoder->layout_state = LAYOUT_KNOWN;
		status = sfctl_layout(sfctl, decoder->layout_text, &decoder->layout);
	}
	return status;
}

static void print_row(struct decoder *decoder, const struct sfctl_row *row)
{
	int length = (int)strlen(row->id);

	if (length > decoder->id_column)
		decoder->id_column = length;
	if (!decoder->has_printed)
		printf("%-*s %-9s %-24s %13s details\n", decoder->id_column, "id", "format", "time",
		       "unix_ms");
	decoder->has_printed = true;
	printf("%-*s %-9s %-24s %13s%s%s\n", decoder->id_column, row->id, row->format, row->time,
	       row->unix_ms, row->details[0] ? " " : "", row->details);
}

static void print_json(struct decoder *decoder, json_t *object)
{
	(void)fputs(decoder->has_printed ? "," : "[\n", stdout);
	decoder->has_printed = true;
	if (sfctl_json_print(decoder->sfctl, object, JSON_COMPACT) != SFCTL_OK)
		decoder->status = SFCTL_FAILED;
}

static void print_wide(struct decoder *decoder, const struct sfctl_id *id)
{
	struct sfctl_row row;

	if (decoder->sfctl->json) {
		print_json(decoder, sfctl_wide_json(id));
		return;
	}
	sfctl_explain_wide(id, &row);
	print_row(decoder, &row);
}

static void print_number(struct decoder *decoder, uint64_t id, const struct sf_parts *parts)
{
	char warning[SFCTL_PLAUSIBLE_MAX];
	bool is_odd = sfctl_plausible_warning(&decoder->layout, id, decoder->now_ms, warning);
	struct sfctl_row row;
	json_t *object;

	if (is_odd)
		(void)sfctl_fail(decoder->sfctl, "warning: %llu: %s", (unsigned long long)id,
				 warning);
	if (!decoder->sfctl->json) {
		sfctl_explain_number(&decoder->layout, id, parts, &row);
		print_row(decoder, &row);
		return;
	}
	object = sfctl_id_json(&decoder->layout, id, parts);
	if (is_odd && json_object_set_new(object, "warning", json_string(warning)) < 0) {
		json_decref(object);
		object = NULL;
	}
	print_json(decoder, object);
}

/** Asks sfd for the layout, once. */
static void ask_layout(struct decoder *decoder)
{
	decoder->layout_state = LAYOUT_UNKNOWN;
	if (sfctl_layout_ask(decoder->sfctl, &decoder->layout, &decoder->no_layout) < 0)
		return;
	if (decoder->layout.format == SF_FORMAT_SNOWFLAKE)
		decoder->layout_state = LAYOUT_KNOWN;
	else
		SFCTL_WHY(&decoder->no_layout, "stream %.40s of sfd holds %s",
			  sfctl_stream_name(decoder->sfctl),
			  sf_format_name(decoder->layout.format));
}

static void decode_number(struct decoder *decoder, uint64_t id)
{
	char presets[SFCTL_PLAUSIBLE_MAX];
	struct sf_parts parts;
	struct sf_why why;

	if (decoder->layout_state == LAYOUT_UNASKED)
		ask_layout(decoder);
	if (decoder->layout_state == LAYOUT_UNKNOWN) {
		sfctl_plausible_presets(id, decoder->now_ms, presets);
		decoder->status = sfctl_fail(
			decoder->sfctl,
			"%llu is ambiguous: a 64-bit ID does not say its layout, and %s; give "
			"--layout; plausible: %s",
			(unsigned long long)id, decoder->no_layout.text, presets);
	} else if (sf_decompose(&decoder->layout, id, &parts, &why) < 0) {
		decoder->status = sfctl_fail(decoder->sfctl, "%s", why.text);
	} else {
		print_number(decoder, id, &parts);
	}
}

/** Reads an ID; of a Hound ID perhaps without a look at its checksum. */
static int read_id(const struct decoder *decoder, const char *word, size_t length,
		   struct sfctl_id *ret_id, struct sf_why *why)
{
	int notation = decoder->notation;

	if (notation == 0)
		notation = sfctl_notation_guess(word, length, "--format", why);
	if (notation < 0)
		return notation;
	if (notation != SFCTL_HOUND || !decoder->is_unchecked)
		return sfctl_id_parse(notation, word, length, ret_id, why);
	ret_id->format = SF_FORMAT_HOUND;
	return sf_hound_parse(word, length, ret_id->hound, why);
}

static void decode(void *data, const char *word, size_t length)
{
	struct decoder *decoder = data;
	struct sfctl_id id;
	struct sf_why why;

	int error = read_id(decoder, word, length, &id, &why);

	if (error == -EBADMSG)
		(void)strncat(why.text, ", or give --no-checksum",
			      sizeof(why.text) - strlen(why.text) - 1);
	if (error < 0)
		decoder->status = sfctl_word_fail(decoder->sfctl, word, length, why.text);
	else if (id.format == SF_FORMAT_SNOWFLAKE)
		decode_number(decoder, id.number);
	else
		print_wide(decoder, &id);
}

/** The column fits the longest ID of the command line; of stdin, the longest so far. */
static int id_column(const struct sfctl_words *words)
{
	size_t column = ID_COLUMN;

	for (size_t i = 0; i < words->count; i++) {
		size_t length = strlen(words->word[i]);

		if (length > column && length < SFCTL_ID_TEXT_MAX)
			column = length;
	}
	return (int)column;
}

int sfctl_cmd_decode(struct sfctl *sfctl, int argc, char **argv)
{
	struct decoder decoder = {.sfctl = sfctl, .now_ms = sfctl_now_ms()};
	struct sfctl_words words;
	int status = sfctl_words_init(&words, sfctl, argc, argv);

	if (status == SFCTL_GO_ON)
		status = options_read(&decoder, sfctl, &words);
	if (status != SFCTL_GO_ON)
		goto out;
	decoder.id_column = id_column(&words);
	status = sfctl_words_each(&words, sfctl, SFCTL_WORDS_BLANKS, decode, &decoder);
	if (status == SFCTL_OK)
		status = decoder.status;
	if (sfctl->json)
		(void)fputs(decoder.has_printed ? "]\n" : "[]\n", stdout);
out:
	sfctl_words_deinit(&words);
	return status;
}
