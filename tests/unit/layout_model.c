/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Random layouts and IDs against a model that shares no code with the library: a list of fields
 * from the high bit down, and 128-bit time. SF_TEST_SEED repeats a run.
 */
#include "tests/unit/layout_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ROUNDS 20000u
#define CHANGED_ROUNDS 200000u
#define EPOCH_MAX INT64_C(9000000000000)

__extension__ typedef __int128 wide;

static uint64_t state;

/** splitmix64: any seed will do. */
static uint64_t random_bits(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/** Both ends are possible, and likelier than what lies between. */
static int64_t random_between(int64_t low, int64_t high)
{
	uint64_t span = (uint64_t)high - (uint64_t)low;
	uint64_t pick = random_bits() % 8;

	if (pick == 0)
		return low;
	if (pick == 1)
		return high;
	return (int64_t)((uint64_t)low +
			 (span == UINT64_MAX ? random_bits() : random_bits() % (span + 1)));
}

static void seed_random(void)
{
	const char *fixed = getenv("SF_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): one thread */

	if (fixed)
		state = strtoull(fixed, NULL, 0);
	else
		ck_assert_int_eq(getrandom(&state, sizeof(state), 0), (ssize_t)sizeof(state));
	(void)printf("SF_TEST_SEED=0x%016" PRIx64 "\n", state);
	(void)fflush(stdout);
}

/** A layout as the model sees it. */
struct model {
	char letter[5]; /* high bit first; the first one is t */
	unsigned bits[5];
	unsigned count;
	int64_t epoch_ms;
	uint32_t tick_ms;
	char text[SF_LAYOUT_TEXT_MAX];
};

static unsigned model_bits(const struct model *model, const char *letters)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < model->count; i++)
		sum += strchr(letters, model->letter[i]) ? model->bits[i] : 0;
	return sum;
}

static wide model_last_ms(const struct model *model)
{
	return model->epoch_ms + ((wide)1 << model->bits[0]) * model->tick_ms - 1;
}

/** Fields below the time in random order; widths that fit together. */
static void draw_fields(struct model *model)
{
	static const char *const sets[] = {"ns", "sn", "ws", "sp", "wps", "wsp", "pws", "spw"};
	const char *set = sets[random_bits() % T_COUNT(sets)];
	unsigned left = 31;

	model->count = 1;
	model->letter[0] = 't';
	for (const char *letter = set; *letter; letter++) {
		bool is_sequence = *letter == 's';
		/* a later half of the node id still needs a bit */
		unsigned most = is_sequence || strlen(set) == 2 || left < 31
					? (is_sequence ? 31 : left)
					: left - 1;
		unsigned width = (unsigned)random_between(1, most);

		if (!is_sequence)
			left -= width;
		model->letter[model->count] = *letter;
		model->bits[model->count++] = width;
	}
	model->bits[0] = 0;
	model->bits[0] = (unsigned)random_between(1, 64 - (int64_t)model_bits(model, "nwps"));
}

static void draw_model(struct model *model)
{
	bool defaults = random_bits() % 8 == 0;
	int length = 0;

	draw_fields(model);
	model->epoch_ms = defaults ? 0 : random_between(-EPOCH_MAX, EPOCH_MAX);
	model->tick_ms = defaults ? 1 : (uint32_t)random_between(1, 60000);
	if (!defaults && random_bits() % 2)
		length = snprintf(model->text, sizeof(model->text),
				  "tick=%" PRIu32 "ms epoch=%" PRId64, model->tick_ms,
				  model->epoch_ms);
	for (unsigned i = 0; i < model->count; i++)
		length += snprintf(model->text + length, sizeof(model->text) - (size_t)length,
				   " %c%u", model->letter[i], model->bits[i]);
	if (!defaults && model->text[0] == ' ')
		(void)snprintf(model->text + length, sizeof(model->text) - (size_t)length,
			       " epoch=%" PRId64 "\ttick=%" PRIu32 "ms", model->epoch_ms,
			       model->tick_ms);
}

START_TEST(parse_random_layout_survives_format_and_parse)
{
	seed_random();
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct model model;
		struct sf_layout layout;
		struct sf_layout again;
		char text[SF_LAYOUT_TEXT_MAX];
		wide last_ms;

		draw_model(&model);
		layout = t_layout_parse(model.text);
		ck_assert_int_gt(sf_layout_format(&layout, text, sizeof(text)), 0);
		again = t_layout_parse(text);
		t_layout_same(&layout, &again);
		ck_assert_int_eq(layout.epoch_ms, model.epoch_ms);
		ck_assert_uint_eq(layout.tick_ms, model.tick_ms);
		ck_assert_uint_eq(sf_layout_bits(&layout), model_bits(&model, "tnwps"));
		ck_assert_uint_eq(sf_layout_node_bits(&layout), model_bits(&model, "nwp"));
		ck_assert_uint_eq(sf_layout_last_tick(&layout), (UINT64_C(1) << model.bits[0]) - 1);
		last_ms = model_last_ms(&model);
		ck_assert_int_eq(sf_layout_last_ms(&layout),
				 last_ms > INT64_MAX ? INT64_MAX : (int64_t)last_ms);
	}
}
END_TEST

static uint64_t model_compose(const struct model *model, const struct sf_parts *parts)
{
	unsigned process_bits = model_bits(model, "p");
	uint64_t id = 0;

	for (unsigned i = 0; i < model->count; i++) {
		uint64_t value = 0;

		switch (model->letter[i]) {
		case 't':
			value = (uint64_t)(((wide)parts->unix_ms - model->epoch_ms) /
					   model->tick_ms);
			break;
		case 'n':
			value = parts->node;
			break;
		case 'w':
			value = parts->node >> process_bits;
			break;
		case 'p':
			value = parts->node % (UINT32_C(1) << process_bits);
			break;
		default:
			value = parts->sequence;
		}
		id = id << model->bits[i] | value;
	}
	return id;
}

static void check_round_trip(const struct model *model, const struct sf_layout *layout)
{
	wide last_ms = model_last_ms(model);
	int64_t last = last_ms > INT64_MAX ? INT64_MAX : (int64_t)last_ms;
	struct sf_parts parts = {
		.unix_ms = random_between(model->epoch_ms, last),
		.node = (uint32_t)random_between(0, (INT64_C(1) << model_bits(model, "nwp")) - 1),
		.sequence =
			(uint32_t)random_between(0, (INT64_C(1) << model_bits(model, "s")) - 1)};
	struct sf_parts got;
	uint64_t id;

	ck_assert_int_eq(sf_compose(layout, &parts, &id, NULL), 0);
	ck_assert_uint_eq(id, model_compose(model, &parts));
	ck_assert_int_eq(sf_decompose(layout, id, &got, NULL), 0);
	ck_assert_int_le(got.unix_ms, parts.unix_ms);
	ck_assert(parts.unix_ms - got.unix_ms < model->tick_ms);
	ck_assert(got.unix_ms - (wide)model->epoch_ms == (wide)got.tick * model->tick_ms);
	ck_assert_uint_eq(got.node, parts.node);
	ck_assert_uint_eq(got.sequence, parts.sequence);
}

/** A time outside is refused, whatever it is. */
static void check_outside(const struct model *model, const struct sf_layout *layout)
{
	wide last_ms = model_last_ms(model);
	struct sf_parts parts = {.unix_ms = random_between(INT64_MIN, model->epoch_ms - 1)};
	uint64_t id;

	ck_assert_int_eq(sf_compose(layout, &parts, &id, NULL), -ERANGE);
	ck_assert_int_eq(sf_id_min(layout, parts.unix_ms, &id, NULL), -ERANGE);
	if (last_ms >= INT64_MAX)
		return;
	parts.unix_ms = random_between((int64_t)last_ms + 1, INT64_MAX);
	ck_assert_int_eq(sf_compose(layout, &parts, &id, NULL), -ERANGE);
	ck_assert_int_eq(sf_id_max(layout, parts.unix_ms, &id, NULL), -ERANGE);
}

START_TEST(compose_random_parts_agree_with_model)
{
	seed_random();
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct model model;
		struct sf_layout layout;

		draw_model(&model);
		layout = t_layout_parse(model.text);
		for (int i = 0; i < 8; i++)
			check_round_trip(&model, &layout);
		check_outside(&model, &layout);
	}
}
END_TEST

/** Any 64 bits: decomposed only when the model says that they are an ID with a 64-bit time. */
START_TEST(decompose_random_ids_agree_with_model)
{
	seed_random();
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t id = (uint64_t)random_between(INT64_MIN, INT64_MAX) >> random_bits() % 64;
		struct model model;
		struct sf_layout layout;
		struct sf_parts parts;
		uint64_t made;
		unsigned bits;
		bool fits;
		wide ms;

		draw_model(&model);
		layout = t_layout_parse(model.text);
		bits = model_bits(&model, "tnwps");
		fits = bits == 64 || id >> bits == 0;
		ms = model.epoch_ms + (wide)(id >> (bits - model.bits[0])) * (wide)model.tick_ms;
		if (!fits || ms > INT64_MAX) {
			ck_assert_int_eq(sf_decompose(&layout, id, &parts, NULL), -ERANGE);
			continue;
		}
		ck_assert_int_eq(sf_decompose(&layout, id, &parts, NULL), 0);
		ck_assert_int_eq(parts.unix_ms, (int64_t)ms);
		ck_assert_int_eq(sf_compose(&layout, &parts, &made, NULL), 0);
		ck_assert_uint_eq(made, id);
	}
}
END_TEST

/** What check() lets through, the notation can write and read back to the same bytes. */
START_TEST(check_random_bytes_pass_only_as_parsed_layouts)
{
	unsigned accepted = 0;

	seed_random();
	for (unsigned round = 0; round < CHANGED_ROUNDS; round++) {
		struct model model;
		struct sf_layout layout;
		struct sf_layout again;
		unsigned char *bytes = (unsigned char *)&layout;
		char text[SF_LAYOUT_TEXT_MAX];

		draw_model(&model);
		layout = t_layout_parse(model.text);
		for (uint64_t changes = random_bits() % 4; changes > 0; changes--) {
			uint64_t random = random_bits();
			size_t at = random % sizeof(layout);

			/* mostly small changes: they come closest to a layout that is legal */
			bytes[at] = (unsigned char)(random >> 32 & 1
							    ? random >> 40
							    : bytes[at] + (random >> 40) % 3 - 1);
		}
		if (sf_layout_check(&layout, NULL) < 0)
			continue;
		accepted++;
		ck_assert_int_gt(sf_layout_format(&layout, text, sizeof(text)), 0);
		again = t_layout_parse(text);
		t_layout_same(&layout, &again);
	}
	ck_assert_uint_gt(accepted, 0);
	ck_assert_uint_lt(accepted, CHANGED_ROUNDS);
}
END_TEST

void t_add_layout_model(Suite *suite)
{
	TCase *random = tcase_create("random layouts against the model");

	tcase_set_timeout(random, 60);
	tcase_add_test(random, parse_random_layout_survives_format_and_parse);
	tcase_add_test(random, compose_random_parts_agree_with_model);
	tcase_add_test(random, decompose_random_ids_agree_with_model);
	tcase_add_test(random, check_random_bytes_pass_only_as_parsed_layouts);
	suite_add_tcase(suite, random);
}
