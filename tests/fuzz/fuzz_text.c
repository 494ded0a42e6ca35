/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: any bytes for every reader of sftext.h. What a reader accepts must be written and read
 * back to the same; what it refuses must come with a sentence. For the calls that take two texts,
 * the first line feed parts them. A plainer way to verify an id is the judge of checksummed ones.
 */
#include <errno.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x7e57)

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_outcome(int result, const struct sf_why *why)
{
	require(memchr(why->text, '\0', sizeof(why->text)) != NULL);
	require((result == 0) == (why->text[0] == '\0'));
	require(result == 0 || result == -EINVAL || result == -ERANGE);
}

/** Notations whose readers accept what the writer writes, byte for byte, and nothing else. */
static int is_exact(unsigned kind)
{
	return kind != SF_TEXT_HEX && kind != SF_TEXT_BASE32 && kind != SF_TEXT_BASE32_CHECK;
}

static void try_notation(unsigned kind, const char *text, size_t length)
{
	char again[SF_TEXT_MAX];
	uint64_t id = MAGIC;
	uint64_t back;
	struct sf_why why;
	int r = sf_text_parse(kind, text, length, &id, &why);

	check_outcome(r, &why);
	if (r < 0) {
		require(id == MAGIC);
		return;
	}
	r = sf_text_format(kind, id, again);
	require(r > 0 && (size_t)r == strlen(again));
	require(sf_text_parse(kind, again, (size_t)r, &back, NULL) == 0 && back == id);
	if (is_exact(kind))
		require((size_t)r == length && memcmp(again, text, length) == 0);
	else if (kind != SF_TEXT_BASE32_CHECK)
		require((size_t)r == length);
}

static void try_number(const char *text, size_t length)
{
	struct sf_wide value = {MAGIC, MAGIC};
	struct sf_wide back;
	char again[27];
	struct sf_why why;
	int r = sf_crockford_parse(text, length, &value, &why);

	check_outcome(r, &why);
	if (r < 0) {
		require(value.high == MAGIC && value.low == MAGIC);
		return;
	}
	require(sf_crockford_format(&value, (unsigned)length, again) == 0);
	require(strlen(again) == length);
	require(sf_crockford_parse(again, length, &back, NULL) == 0);
	require(back.high == value.high && back.low == value.low);
}

/** As written, or -1 for no character of a checksummed id. */
static int canonical(char c)
{
	static const char read[] =
		"0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=UabcdefghjkmnpqrstvwxyzuOoIiLl";
	static const char meant[] =
		"0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=UABCDEFGHJKMNPQRSTVWXYZU001111";
	const char *at = memchr(read, c, sizeof(read) - 1);

	return at ? meant[at - read] : -1;
}

/** Verifies a text by writing it without separators. */
static int judge(const char *text, size_t length, const char *sep)
{
	size_t sep_length = strlen(sep);
	char *plain = malloc(length + 1);
	size_t count = 0;
	int valid = 1;

	require(plain != NULL);
	for (size_t i = 0; i < length && valid;) {
		if (sep_length && length - i >= sep_length &&
		    memcmp(text + i, sep, sep_length) == 0) {
			i += sep_length;
			continue;
		}
		valid = canonical(text[i]) >= 0;
		plain[count++] = (char)canonical(text[i++]);
	}
	valid = valid && count >= 2 && sf_crockford_check(plain, count - 1) == plain[count - 1];
	free(plain);
	return valid;
}

/** Completing says whether a separator is legal; verifying must think the same. */
static void try_checksum(const char *text, size_t length, const char *sep)
{
	struct sf_checksum_options options = {
		.size = sizeof(options), .group_size = 1 + (uint32_t)length % 7, .sep = sep};
	char sample[32];
	struct sf_why why;
	int is_legal = sf_checksum_complete(&options, "0", 1, sample, sizeof(sample), NULL) > 0;
	int verdict = sf_checksum_verify(text, length, sep);
	char *made;
	int r;

	require(verdict == (is_legal && judge(text, length, sep)));
	made = malloc(length * (1 + SF_CHECKSUM_SEP_MAX) + 2);
	require(made != NULL);
	r = sf_checksum_complete(&options, text, length, made,
				 length * (1 + SF_CHECKSUM_SEP_MAX) + 2, &why);
	check_outcome(r < 0 ? r : 0, &why);
	if (r >= 0) {
		require((size_t)r == strlen(made));
		require(sf_checksum_verify(made, (size_t)r, sep) == 1);
	}
	free(made);
}

static int sign(int value)
{
	return (value > 0) - (value < 0);
}

static void try_order(const char *a, size_t a_length, const char *b, size_t b_length)
{
	uint64_t left;
	uint64_t right;
	int order = sign(sf_decimal_compare(a, a_length, b, b_length));

	require(sign(sf_decimal_compare(b, b_length, a, a_length)) == -order);
	require(sf_decimal_compare(a, a_length, a, a_length) == 0);
	if (sf_text_parse(SF_TEXT_DECIMAL, a, a_length, &left, NULL) == 0 &&
	    sf_text_parse(SF_TEXT_DECIMAL, b, b_length, &right, NULL) == 0)
		require(order == (left > right) - (left < right));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const seps[] = {"-", "", ".", "::", "A"};
	const uint8_t *feed = size ? memchr(data, '\n', size) : NULL;
	size_t first = feed ? (size_t)(feed - data) : size;
	size_t second = feed ? size - first - 1 : 0;
	/* exactly as long as the texts, so that reading past them is seen; never of no size */
	char *text = malloc(first ? first : 1);
	char *other = calloc(second + 1, 1);

	require(text != NULL && other != NULL);
	if (first)
		memcpy(text, data, first);
	if (second)
		memcpy(other, feed + 1, second);
	for (unsigned kind = 0; kind <= SF_TEXT_BASE32_CHECK + 1; kind++)
		try_notation(kind, text, first);
	try_number(text, first);
	require(sf_checksum_verify(text, first, NULL) == sf_checksum_verify(text, first, "-"));
	for (size_t i = 0; i < sizeof(seps) / sizeof(seps[0]); i++)
		try_checksum(text, first, seps[i]);
	try_checksum(text, first, other);
	try_order(text, first, other, second);
	(void)sf_text_of(other);
	free(other);
	free(text);
	return 0;
}
