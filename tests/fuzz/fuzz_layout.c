/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: any text for the parser, any bytes for the check. What either accepts must survive
 * writing and reading back, and must be safe to compose and decompose with.
 */
#include "shm/sflayout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/** Values at and around every limit, besides those of the input. */
static void try_values(const struct sf_layout *layout, int64_t unix_ms, uint64_t id)
{
	const int64_t times[] = {unix_ms,
				 INT64_MIN,
				 layout->epoch_ms - 1,
				 layout->epoch_ms,
				 sf_layout_last_ms(layout),
				 INT64_MAX};
	const uint64_t ids[] = {id, 0, sf_layout_last_tick(layout) << layout->time_shift,
				UINT64_MAX};
	struct sf_parts parts;
	struct sf_why why;
	uint64_t made;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		parts = (struct sf_parts){.unix_ms = times[i], .node = (uint32_t)id};
		(void)sf_compose(layout, &parts, &made, &why);
		parts.node = 0;
		if (sf_compose(layout, &parts, &made, &why) < 0)
			continue;
		require(sf_decompose(layout, made, &parts, &why) == 0);
		require(parts.unix_ms <= times[i] && parts.node == 0 && parts.sequence == 0);
		require(sf_id_min(layout, times[i], &id, &why) == 0 && id == made);
		require(sf_id_max(layout, times[i], &id, &why) == 0 && id > made);
	}
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (sf_decompose(layout, ids[i], &parts, &why) < 0)
			continue;
		require(sf_compose(layout, &parts, &made, &why) == 0 && made == ids[i]);
	}
}

static void try_layout(const struct sf_layout *layout, int64_t unix_ms, uint64_t id)
{
	char text[SF_LAYOUT_TEXT_MAX];
	struct sf_layout again;
	struct sf_why why;
	int length = sf_layout_format(layout, text, sizeof(text));

	require(sf_layout_check(layout, &why) == 0 && why.text[0] == '\0');
	require(length > 0 && (size_t)length == strlen(text));
	require(sf_layout_parse(text, &again, &why) == 0);
	require(memcmp(layout, &again, sizeof(again)) == 0);
	try_values(layout, unix_ms, id);
}

static void try_text(const uint8_t *data, size_t size)
{
	/* exactly as long as the text, so that reading past it is seen */
	char *text = malloc(size + 1);
	struct sf_layout layout;
	struct sf_why why;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (sf_layout_parse(text, &layout, &why) == 0)
		try_layout(&layout, 0, 0);
	else
		require(why.text[0] != '\0' && memchr(why.text, '\0', sizeof(why.text)) != NULL);
	free(text);
}

static void try_bytes(const uint8_t *data, size_t size)
{
	struct {
		struct sf_layout layout;
		int64_t unix_ms;
		uint64_t id;
	} input = {0};
	struct sf_why why;

	memcpy(&input, data, size < sizeof(input) ? size : sizeof(input));
	(void)sf_layout_name(&input.layout);
	if (sf_layout_check(&input.layout, &why) == 0)
		try_layout(&input.layout, input.unix_ms, input.id);
	else
		require(why.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* libFuzzer passes NULL for no data */
	static const uint8_t none[1];

	try_text(size ? data : none, size);
	try_bytes(size ? data : none, size);
	return 0;
}
