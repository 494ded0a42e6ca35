/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The layout notation: the presets, reading a layout's text and writing it. Any thread and any
 * signal handler may call it, so it must never allocate, keep state or call stdio.
 */
#include "shm/notation.h"

#include "shm/why.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"

static_assert(sizeof(struct sf_layout) == 24, "no hidden padding: layouts are compared bytewise");

static const struct sf_preset presets[] = {
#define PRESET(name, notation, source) {name, notation, source},
#include "shm/presets.def"
#undef PRESET
};
#define PRESET_COUNT (sizeof(presets) / sizeof(presets[0]))

static const char preset_names[] =
#define PRESET(name, notation, source) " " name
#include "shm/presets.def"
#undef PRESET
	;

const struct sf_shm_field sf_shm_fields[SF_SHM_FIELD_COUNT] = {
	{"t", "time", 1, SF_SHM_TIME_BITS_MAX, offsetof(struct sf_layout, time_bits),
	 offsetof(struct sf_layout, time_shift)},
	{"n", "node", 0, SF_SHM_NODE_BITS_MAX, offsetof(struct sf_layout, node_bits),
	 offsetof(struct sf_layout, node_shift)},
	{"w", "worker", 0, SF_SHM_NODE_BITS_MAX, offsetof(struct sf_layout, worker_bits),
	 offsetof(struct sf_layout, worker_shift)},
	{"p", "process", 0, SF_SHM_NODE_BITS_MAX, offsetof(struct sf_layout, process_bits),
	 offsetof(struct sf_layout, process_shift)},
	{"s", "sequence", 1, SF_SHM_SEQUENCE_BITS_MAX, offsetof(struct sf_layout, sequence_bits),
	 offsetof(struct sf_layout, sequence_shift)},
};

struct parser {
	struct sf_layout layout;
	struct sf_why *why;
	const struct sf_shm_field *order[SF_SHM_FIELD_COUNT]; /* the fields, high bit first */
	unsigned count;
	bool has_epoch;
	bool has_tick;
};

const struct sf_preset *sf_presets(size_t *ret_count)
{
	*ret_count = PRESET_COUNT;
	return presets;
}

/** The preset of that name, or NULL. */
static const struct sf_preset *preset_find(const struct sf_shm_token *token)
{
	for (size_t i = 0; i < PRESET_COUNT; i++) {
		if (strlen(presets[i].name) == token->length &&
		    memcmp(presets[i].name, token->at, token->length) == 0)
			return &presets[i];
	}
	return NULL;
}

/** Moves past the next token; false at the end of the text. */
static bool next_token(const char **position, struct sf_shm_token *ret_token)
{
	const char *at = *position + strspn(*position, BLANKS);
	size_t length = strcspn(at, BLANKS);

	*position = at + length;
	*ret_token = (struct sf_shm_token){at, length};
	return length > 0;
}

/** Plain decimal digits, no sign, no leading zeros. 19 of them always fit. */
static bool read_decimal(const char *at, size_t length, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (length == 0 || length > 19 || (length > 1 && at[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(at[i] - '0');
	}
	*ret_value = value;
	return true;
}

static bool starts_with(const struct sf_shm_token *token, const char *prefix)
{
	size_t length = strlen(prefix);

	return token->length >= length && memcmp(token->at, prefix, length) == 0;
}

static int parse_epoch(struct parser *parser, const struct sf_shm_token *token)
{
	size_t skip = strlen("epoch=");
	bool negative = starts_with(token, "epoch=-");
	uint64_t value;

	if (parser->has_epoch)
		return sf_shm_refuse_token(parser->why, token,
					   "epoch= may stand once; leave one out");
	skip += negative;
	/* -0 is refused: a layout has one spelling of its epoch */
	if (!read_decimal(token->at + skip, token->length - skip, &value) ||
	    value > (uint64_t)SF_SHM_EPOCH_MS_MAX || (negative && value == 0))
		return sf_shm_refuse_token(parser->why, token,
					   "epoch= takes Unix milliseconds, a whole number without "
					   "leading zeros in [%" PRId64 ",%" PRId64 "]",
					   -SF_SHM_EPOCH_MS_MAX, SF_SHM_EPOCH_MS_MAX);
	parser->has_epoch = true;
	parser->layout.epoch_ms = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

static int parse_tick(struct parser *parser, const struct sf_shm_token *token)
{
	const size_t skip = strlen("tick=");
	const char *number = token->at + skip;
	size_t length = strspn(number, "0123456789");
	struct sf_shm_token unit = {number + length, token->length - skip - length};
	bool is_ms = unit.length == 2 && starts_with(&unit, "ms");
	bool is_s = unit.length == 1 && starts_with(&unit, "s");
	unsigned factor = is_s ? 1000 : 1;
	uint64_t value;

	if (parser->has_tick)
		return sf_shm_refuse_token(parser->why, token,
					   "tick= may stand once; leave one out");
	if ((!is_ms && !is_s) || !read_decimal(number, length, &value) || value == 0 ||
	    value > SF_SHM_TICK_MS_MAX / factor)
		return sf_shm_refuse_token(parser->why, token,
					   "tick= takes a whole number without leading zeros and "
					   "ms or s, such as 10ms, from 1ms to %ums or 60s",
					   SF_SHM_TICK_MS_MAX);
	parser->has_tick = true;
	parser->layout.tick_ms = (uint32_t)value * factor;
	return 0;
}

static int parse_field(struct parser *parser, const struct sf_shm_token *token,
		       const struct sf_shm_field *field)
{
	uint64_t bits;

	if (sf_shm_field_bits(&parser->layout, field))
		return sf_shm_refuse_token(parser->why, token,
					   "the %s field (%s) may stand once; leave one out",
					   field->name, field->letter);
	if (!read_decimal(token->at + 1, token->length - 1, &bits) || bits == 0 ||
	    bits > field->bits_max)
		return sf_shm_refuse_token(parser->why, token,
					   "the %s field is the letter %s and its width in bits, a "
					   "whole number without leading zeros in [1,%u]",
					   field->name, field->letter, (unsigned)field->bits_max);
	((uint8_t *)&parser->layout)[field->bits_at] = (uint8_t)bits;
	parser->order[parser->count++] = field;
	return 0;
}

/**
 * The field that a token means to be. A second letter makes it a word, such as a misspelt preset,
 * for which a sentence about widths would mislead.
 */
static const struct sf_shm_field *field_find(const struct sf_shm_token *token)
{
	if (token->length > 1 && token->at[1] >= 'a' && token->at[1] <= 'z')
		return NULL;
	for (size_t i = 0; i < SF_SHM_FIELD_COUNT; i++) {
		if (token->at[0] == sf_shm_fields[i].letter[0])
			return &sf_shm_fields[i];
	}
	return NULL;
}

static int parse_token(struct parser *parser, const struct sf_shm_token *token)
{
	const struct sf_shm_field *field = field_find(token);

	if (field)
		return parse_field(parser, token, field);
	if (starts_with(token, "epoch="))
		return parse_epoch(parser, token);
	if (starts_with(token, "tick="))
		return parse_tick(parser, token);
	if (preset_find(token) || sf_shm_format_find(token))
		return sf_shm_refuse_token(
			parser->why, token,
			"a preset's name stands alone; write out its notation to change it");
	return sf_shm_refuse_token(parser->why, token,
				   "not part of a layout; legal are a preset (%s), or fields such "
				   "as t41 n10 s12 (letters t n w p s), epoch=MS and tick=1ms",
				   preset_names + 1);
}

/** Gives the fields their positions: the last one ends at bit 0. */
static void place_fields(struct parser *parser)
{
	unsigned shift = 0;

	for (unsigned i = parser->count; i-- > 0;) {
		((uint8_t *)&parser->layout)[parser->order[i]->shift_at] = (uint8_t)shift;
		shift += sf_shm_field_bits(&parser->layout, parser->order[i]);
	}
}

static int parse_notation(const char *text, struct sf_layout *ret_layout, struct sf_why *why)
{
	struct parser parser = {.layout = {.tick_ms = 1}, .why = why};
	struct sf_shm_token token;
	int r;

	while (next_token(&text, &token)) {
		r = parse_token(&parser, &token);
		if (r < 0)
			return r;
	}
	place_fields(&parser);
	r = sf_layout_check(&parser.layout, why);
	if (r < 0)
		return r;
	*ret_layout = parser.layout;
	return 0;
}

int sf_layout_parse(const char *text, struct sf_layout *ret_layout, struct sf_why *why)
{
	const char *position = text;
	const struct sf_preset *preset;
	struct sf_shm_token first;
	struct sf_shm_token second;
	unsigned wide;

	sf_shm_clear(why);
	if (strnlen(text, SF_LAYOUT_TEXT_MAX) == SF_LAYOUT_TEXT_MAX)
		return sf_shm_refuse_token(why, &(struct sf_shm_token){text, SF_LAYOUT_TEXT_MAX},
					   "a layout is at most %u characters long; shorten it",
					   SF_LAYOUT_TEXT_MAX - 1u);
	if (!next_token(&position, &first))
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the layout is empty; name a preset (%s) or write one such as "
				     "t41 n10 s12 epoch=1288834974657 tick=1ms",
				     preset_names + 1);
	preset = preset_find(&first);
	wide = sf_shm_format_find(&first);
	if ((preset || wide) && !next_token(&position, &second)) {
		if (wide)
			return sf_layout_of_format(wide, ret_layout);
		text = preset->notation;
	}
	return parse_notation(text, ret_layout, why);
}

static int put_out(const struct sf_shm_text *text, char *buffer, size_t size)
{
	if (text->length >= size)
		return -ENOSPC;
	memcpy(buffer, text->buffer, text->length + 1);
	return (int)text->length;
}

int sf_layout_format(const struct sf_layout *layout, char *buffer, size_t size)
{
	char canonical[SF_LAYOUT_TEXT_MAX];
	struct sf_shm_text text = {canonical, sizeof(canonical), 0};
	unsigned end = sf_layout_bits(layout);
	bool whole_seconds = layout->tick_ms % 1000 == 0;

	if (sf_layout_check(layout, NULL) < 0)
		return -EINVAL;
	if (layout->format != SF_FORMAT_SNOWFLAKE) {
		sf_shm_put_string(&text, sf_format_name(layout->format));
		return put_out(&text, buffer, size);
	}
	while (end > 0) {
		const struct sf_shm_field *field = sf_shm_fields;

		while (sf_shm_field_bits(layout, field) == 0 ||
		       sf_shm_field_bits(layout, field) + sf_shm_field_shift(layout, field) != end)
			field++;
		sf_shm_put_string(&text, field->letter);
		sf_shm_put_unsigned(&text, sf_shm_field_bits(layout, field));
		sf_shm_put_string(&text, " ");
		end = sf_shm_field_shift(layout, field);
	}
	sf_shm_put_string(&text, "epoch=");
	sf_shm_put_signed(&text, layout->epoch_ms);
	sf_shm_put_string(&text, " tick=");
	sf_shm_put_unsigned(&text, whole_seconds ? layout->tick_ms / 1000 : layout->tick_ms);
	sf_shm_put_string(&text, whole_seconds ? "s" : "ms");
	return put_out(&text, buffer, size);
}

const char *sf_layout_name(const struct sf_layout *layout)
{
	if (layout->format != SF_FORMAT_SNOWFLAKE)
		return sf_shm_format_check(layout, NULL) < 0 ? NULL
							     : sf_format_name(layout->format);
	for (size_t i = 0; i < PRESET_COUNT; i++) {
		struct sf_layout preset;

		if (parse_notation(presets[i].notation, &preset, NULL) == 0 &&
		    memcmp(&preset, layout, sizeof(preset)) == 0)
			return presets[i].name;
	}
	return NULL;
}
