/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Question: what does it cost to write and to read a wide ID as text, beside copying that text and
 * beside libuuid? Pinned to one CPU. Needs no daemon.
 *
 * The IDs have random tails, as those of other makers do: their digits cannot be predicted.
 */
#include "bench/bench_rounds.h"

#include <stdlib.h>
#include <string.h>
#include <uuid.h>

/* IDs of each format: texts of one format fit a first-level cache, and no branch history. */
#define SAMPLES 1024
/* Of the IDs, Unix milliseconds. */
#define TIME_MS INT64_C(1750000000000)

/** What the ways work on. */
struct samples {
	struct sf_wide ulid[SAMPLES];
	struct sf_wide uuid[SAMPLES];
	struct sf_wide objectid[SAMPLES];
	uint8_t uuid_bytes[SAMPLES][SF_WIDE_BYTES];
	uint8_t hound_bytes[SAMPLES][SF_HOUND_BYTES];
	char ulid_text[SAMPLES][SF_ULID_TEXT + 1];
	char uuid_text[SAMPLES][SF_UUID_TEXT + 1];
	char objectid_text[SAMPLES][SF_OBJECTID_TEXT + 1];
	char hound_text[SAMPLES][SF_HOUND_TEXT + 1];
};

/* A way whose result lies in `type out`, for the sample at index `at`. */
#define DEFINE_WAY(name, type, operation)                                                          \
	static int name(const void *field, uint64_t count)                                         \
	{                                                                                          \
		const struct samples *samples = field;                                             \
		type out;                                                                          \
                                                                                                   \
		for (uint64_t i = 0; i < count; i++) {                                             \
			uint64_t at = i % SAMPLES;                                                 \
			int error = (operation);                                                   \
                                                                                                   \
			if (error < 0)                                                             \
				return error;                                                      \
			BENCH_KEEP(&out);                                                          \
		}                                                                                  \
		return 0;                                                                          \
	}

typedef char text_buffer[SF_WIDE_TEXT_MAX];
typedef uint8_t byte_buffer[SF_WIDE_BYTES_MAX];
/* The texts with their NUL, as the encoders write them. */
#define DEFINE_COPY(name, texts)                                                                   \
	DEFINE_WAY(name, text_buffer,                                                              \
		   (memcpy(out, samples->texts[at], sizeof(samples->texts[at])), 0))

DEFINE_COPY(copy_ulid, ulid_text)
DEFINE_COPY(copy_uuid, uuid_text)
DEFINE_COPY(copy_objectid, objectid_text)
DEFINE_COPY(copy_hound, hound_text)
DEFINE_WAY(format_ulid, text_buffer, (sf_ulid_format(&samples->ulid[at], out), 0))
DEFINE_WAY(format_uuid, text_buffer, (sf_uuid_format(&samples->uuid[at], out), 0))
DEFINE_WAY(unparse_uuid, text_buffer, (uuid_unparse_lower(samples->uuid_bytes[at], out), 0))
DEFINE_WAY(format_objectid, text_buffer, (sf_objectid_format(&samples->objectid[at], out), 0))
DEFINE_WAY(format_hound, text_buffer, (sf_hound_format(samples->hound_bytes[at], out), 0))
DEFINE_WAY(parse_ulid, struct sf_wide,
	   sf_ulid_parse(samples->ulid_text[at], SF_ULID_TEXT, &out, NULL))
DEFINE_WAY(parse_uuid, struct sf_wide,
	   sf_uuid_parse(samples->uuid_text[at], SF_UUID_TEXT, &out, NULL))
DEFINE_WAY(libuuid_parse, uuid_t, uuid_parse(samples->uuid_text[at], out))
DEFINE_WAY(parse_objectid, struct sf_wide,
	   sf_objectid_parse(samples->objectid_text[at], SF_OBJECTID_TEXT, &out, NULL))
DEFINE_WAY(parse_hound, byte_buffer,
	   sf_hound_parse(samples->hound_text[at], SF_HOUND_TEXT, out, NULL))

static struct samples samples;

#define WAY(label, function)                                                                       \
	{                                                                                          \
		.result = {.question = "formats", .name = (label)}, .run = (function),             \
		.field = &samples, .multiple = SAMPLES                                             \
	}

static struct bench_way ways[] = {
	WAY("memcpy_ulid", copy_ulid),         WAY("ulid_format", format_ulid),
	WAY("ulid_parse", parse_ulid),         WAY("memcpy_uuid", copy_uuid),
	WAY("uuid_format", format_uuid),       WAY("libuuid_unparse_lower", unparse_uuid),
	WAY("uuid_parse", parse_uuid),         WAY("libuuid_parse", libuuid_parse),
	WAY("memcpy_objectid", copy_objectid), WAY("objectid_format", format_objectid),
	WAY("objectid_parse", parse_objectid), WAY("memcpy_hound", copy_hound),
	WAY("hound_format", format_hound),     WAY("hound_parse", parse_hound),
};

static void make_hound(const struct sf_wide *random, uint8_t *ret_bytes)
{
	struct sf_hound hound = {
		.time = (double)TIME_MS / 1000,
		.machine = random->low >> 16,
		.client = (uint16_t)random->high,
		.sequence = (uint16_t)random->low,
	};

	sf_hound_pack(&hound, ret_bytes);
}

static int make_samples(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		int error = sf_ulid_make(TIME_MS, &samples.ulid[i], NULL);

		if (error == 0)
			error = sf_uuid7_make(TIME_MS, &samples.uuid[i], NULL);
		if (error == 0)
			error = sf_objectid_make(TIME_MS / 1000, &samples.objectid[i], NULL);
		if (error < 0)
			return error;
		make_hound(&samples.ulid[i], samples.hound_bytes[i]);
		(void)sf_wide_to_bytes(SF_FORMAT_UUID7, &samples.uuid[i], samples.uuid_bytes[i]);
		sf_ulid_format(&samples.ulid[i], samples.ulid_text[i]);
		sf_uuid_format(&samples.uuid[i], samples.uuid_text[i]);
		sf_objectid_format(&samples.objectid[i], samples.objectid_text[i]);
		sf_hound_format(samples.hound_bytes[i], samples.hound_text[i]);
	}
	return 0;
}

int main(void)
{
	int error = bench_pin(0);

	if (error < 0)
		return bench_fail("cannot pin to a CPU", error);
	error = make_samples();
	if (error < 0)
		return bench_fail("cannot make IDs", error);
	error = bench_rounds(ways, sizeof(ways) / sizeof(ways[0]));
	return error < 0 ? bench_fail("cannot read what was written", error) : EXIT_SUCCESS;
}
