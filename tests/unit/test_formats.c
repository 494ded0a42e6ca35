/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The wide formats against models that work digit by digit, and the faults that users met in other
 * readers and makers. Every row of the vectors is run by the vectors suite; here are a few of them.
 */
#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const struct sf_wide untouched = {UINT64_C(0x1111111111111111),
					 UINT64_C(0x2222222222222222)};
static uint64_t random_state;

/* A whole number of pages of any usual size. */
#define EDGE_BYTES ((size_t)65536)

const char *t_at_the_edge(const char *text, size_t length)
{
	static char *edge;
	char *copy;

	if (!edge) {
		edge = mmap(NULL, 2 * EDGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		T_EXPECT(edge != MAP_FAILED, "mmap: %s", strerror(errno));
		edge += EDGE_BYTES;
		T_EXPECT(mprotect(edge, EDGE_BYTES, PROT_NONE) == 0, "mprotect");
	}
	T_EXPECT(length <= EDGE_BYTES, "%zu bytes are too long", length);
	copy = edge - length;
	memcpy(copy, text, length);
	return copy;
}

int t_read(t_read_fn read, const char *text, size_t length, struct sf_wide *ret_id,
	   struct sf_why *ret_why)
{
	const char *copy = t_at_the_edge(text, length);
	struct sf_wide id = untouched;
	int silent;
	int r;

	(void)memset(ret_why->text, 'x', sizeof(ret_why->text));
	r = read(copy, length, &id, ret_why);
	silent = read(copy, length, &(struct sf_wide){0, 0}, NULL);
	T_EXPECT(silent == r, "%d without a place for the sentence, %d with it", silent, r);
	T_EXPECT((r == 0) == (ret_why->text[0] == '\0'), "%d with the sentence \"%s\"", r,
		 ret_why->text);
	T_EXPECT(r == 0 || sf_wide_compare(&id, &untouched) == 0, "a failure left a result");
	*ret_id = id;
	return r;
}

struct sf_wide t_read_ok(t_read_fn read, const char *text)
{
	struct sf_wide id;
	struct sf_why why;

	T_EXPECT(t_read(read, text, strlen(text), &id, &why) == 0, "%s: %s", text, why.text);
	return id;
}

void t_assert_refused(t_read_fn read, const struct t_refusal *refusal)
{
	size_t length = refusal->length ? refusal->length : strlen(refusal->text);
	struct sf_wide id;
	struct sf_why why;
	int r = t_read(read, refusal->text, length, &id, &why);

	ck_assert_msg(r == refusal->error, "\"%s\": %d", refusal->text, r);
	ck_assert_msg(strstr(why.text, refusal->said) != NULL, "\"%s\" does not say \"%s\"",
		      why.text, refusal->said);
}

/** One byte of a good text replaced. */
static void check_byte(t_read_fn read, const char *text, size_t at, bool taken)
{
	struct sf_wide id;
	struct sf_why why;
	int r = t_read(read, text, strlen(text), &id, &why);
	char said[64];

	if (taken) {
		T_EXPECT(r == 0 || r == -ERANGE, "%s: %d, %s", text, r, why.text);
		return;
	}
	(void)snprintf(said, sizeof(said), "character %zu is ", at + 1);
	T_EXPECT(r == -EINVAL && strstr(why.text, said) == why.text, "%s: %d, %s", text, r,
		 why.text);
}

void t_assert_each_byte(t_read_fn read, const char *good, bool (*takes)(size_t at, char byte))
{
	size_t length = strlen(good);
	struct sf_wide id;
	struct sf_why why;
	char text[64];
	char said[64];

	T_EXPECT(length + 2 <= sizeof(text), "%s is too long", good);
	for (size_t at = 0; at < length; at++) {
		for (int byte = 1; byte < 256; byte++) {
			memcpy(text, good, length + 1);
			text[at] = (char)byte;
			check_byte(read, text, at, takes(at, (char)byte));
		}
		T_EXPECT(t_read(read, good, at, &id, &why) == -EINVAL, "%zu characters", at);
		(void)snprintf(said, sizeof(said), "character %zu is missing", at + 1);
		T_EXPECT(strstr(why.text, said) != NULL, "%s: no %s", why.text, said);
	}
	(void)snprintf(text, sizeof(text), "%s0", good);
	T_EXPECT(t_read(read, text, length + 1, &id, &why) == -EINVAL, "%s", text);
	(void)snprintf(said, sizeof(said), "character %zu is '0'", length + 1);
	T_EXPECT(strstr(why.text, said) != NULL, "%s: no %s", why.text, said);
}

void t_assert_iso(int64_t unix_ms, const char *iso)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;
	char date[64];
	char text[80];

	ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
	ck_assert_uint_gt(strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm), 0);
	(void)snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(unix_ms % 1000));
	ck_assert_str_eq(text, iso);
}

void t_formats_seed(void)
{
	random_state = t_seed();
}

uint64_t t_formats_bits(void)
{
	uint64_t bits = t_random(&random_state);

	switch (t_random(&random_state) % 8) {
	case 0:
		return bits & t_random(&random_state) & t_random(&random_state);
	case 1:
		return bits | t_random(&random_state) | t_random(&random_state);
	default:
		return bits;
	}
}

struct sf_wide t_formats_wide(void)
{
	uint64_t high = t_formats_bits();

	return (struct sf_wide){high, t_formats_bits()};
}

int main(void)
{
	Suite *suite = suite_create("formats");
	SRunner *runner = srunner_create(suite);
	int failed;

	t_add_formats_ulid(suite);
	t_add_formats_uuid(suite);
	t_add_formats_objectid(suite);
	t_add_formats_hound(suite);
	t_add_formats_wide(suite);
	t_add_formats_make(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
