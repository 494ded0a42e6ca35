/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Lists and maps. A list is hashed while its items come; a map keeps two digests a pair until its
 * end, when the pairs are put in order. Never recurses: what is open is a stack on the heap.
 */
#include "libclient/content/content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool sf_content_at_key(const struct sf_content *content)
{
	const struct sf_frame *top = sf_content_top(content);

	return top && top->tag == SF_TAG_MAP && !top->has_key;
}

bool sf_content_in_key(const struct sf_content *content)
{
	const struct sf_frame *top = sf_content_top(content);

	return top && (top->is_in_key || sf_content_at_key(content));
}

int sf_content_enter(struct sf_content *content)
{
	if (content->error)
		return content->error;
	if (content->json && !content->is_parsing)
		return sf_content_fail(content, -EINVAL,
				       "a JSON document is open; end it before the next value");
	if (content->atom.tag != SF_TAG_NONE)
		return sf_content_fail(content, -EINVAL,
				       "a text or bytes is open; end it before the next value");
	if (content->depth == 0 && content->has_value)
		return sf_content_fail(content, -EINVAL,
				       "the value is complete; put several in a list");
	return 0;
}

void sf_frame_clear(struct sf_frame *frame)
{
	for (size_t i = 0; i < frame->count; i++)
		sf_bytes_drop(&frame->pairs[i].text);
	free(frame->pairs);
	frame->pairs = NULL;
	frame->count = 0;
	frame->capacity = 0;
}

/** The frame for the next depth, with no pairs. */
static struct sf_frame *frame_get(struct sf_content *content)
{
	struct sf_frame **frame = &content->frames[content->depth];

	if (!*frame) {
		*frame = aligned_alloc(_Alignof(struct sf_frame), sizeof(**frame));
		if (*frame)
			memset(*frame, 0, sizeof(**frame));
	}
	return *frame;
}

static int frame_begin(struct sf_content *content, enum sf_content_tag tag)
{
	struct sf_frame *frame;
	int error = sf_content_enter(content);

	if (error < 0)
		return error;
	if (content->depth == SF_CONTENT_DEPTH_MAX)
		return sf_content_fail(content, -EOVERFLOW,
				       "lists and maps are nested deeper than %d",
				       SF_CONTENT_DEPTH_MAX);
	if (tag == SF_TAG_MAP && sf_content_in_key(content))
		return sf_content_fail(content, -EINVAL, "a map cannot be a key, or part of one");
	frame = frame_get(content);
	if (!frame)
		return sf_content_fail(content, -ENOMEM, "out of memory");
	frame->tag = tag;
	frame->is_in_key = sf_content_in_key(content);
	frame->has_key = false;
	frame->is_json = content->json != NULL;
	if (tag == SF_TAG_LIST)
		sf_digester_init(content, &frame->digester, tag);
	content->depth++;
	return 0;
}

static void digester_add(const struct sf_content *content, struct sf_digester *digester,
			 const uint8_t *tagged, const uint8_t *plain)
{
	char hex[2 * SF_HASH_BYTES];

	if (digester->is_tagged)
		sf_hash_update(&digester->tagged, tagged, SF_HASH_BYTES);
	if (!digester->is_plain)
		return;
	sf_hash_hex(plain, content->digest_bytes, hex);
	sf_hash_update(&digester->plain, hex, 2 * (size_t)content->digest_bytes);
}

/** Begins a pair. */
static int pair_add(struct sf_content *content, enum sf_content_tag tag,
		    const struct sf_digest *digest)
{
	struct sf_frame *frame = sf_content_top(content);
	struct sf_pair *pair;

	if (frame->count == frame->capacity) {
		size_t capacity = frame->capacity ? 2 * frame->capacity : 8;
		struct sf_pair *grown = reallocarray(frame->pairs, capacity, sizeof(*frame->pairs));

		if (!grown)
			return sf_content_fail(content, -ENOMEM, "out of memory");
		frame->pairs = grown;
		frame->capacity = capacity;
	}
	pair = &frame->pairs[frame->count++];
	*pair = (struct sf_pair){
		.place = frame->is_json ? sf_json_position(content) : frame->count,
		.text = content->key, /* moved */
		.tag = tag,
	};
	content->key = (struct sf_bytes){0};
	memcpy(pair->identity, digest->tagged, sizeof(pair->identity));
	memcpy(pair->key, sf_content_digest(content, digest), sizeof(pair->key));
	frame->has_key = true;
	return 0;
}

int sf_content_take(struct sf_content *content, enum sf_content_tag tag,
		    const struct sf_digest *digest)
{
	struct sf_frame *top = sf_content_top(content);

	if (!top) {
		content->value = *digest;
		content->has_value = true;
		return 0;
	}
	if (top->tag == SF_TAG_LIST) {
		digester_add(content, &top->digester, digest->tagged, digest->plain);
		return 0;
	}
	if (!top->has_key)
		return pair_add(content, tag, digest);
	memcpy(top->pairs[top->count - 1].value, sf_content_digest(content, digest), SF_HASH_BYTES);
	top->has_key = false;
	return 0;
}

/** Of keys that a comparison calls equal, the first comes first, as in a stable sort. */
static int by_place(const struct sf_pair *a, const struct sf_pair *b)
{
	return (a->place > b->place) - (a->place < b->place);
}

static int by_identity(const void *left, const void *right)
{
	const struct sf_pair *a = left;
	const struct sf_pair *b = right;
	int order = memcmp(a->identity, b->identity, sizeof(a->identity));

	return order ? order : by_place(a, b);
}

static int by_key_digest(const void *left, const void *right)
{
	const struct sf_pair *a = left;
	const struct sf_pair *b = right;
	int order = memcmp(a->key, b->key, sizeof(a->key));

	return order ? order : by_place(a, b);
}

static int by_bytes(const void *left, const void *right)
{
	const struct sf_bytes *a = &((const struct sf_pair *)left)->text;
	const struct sf_bytes *b = &((const struct sf_pair *)right)->text;
	size_t shared = a->length < b->length ? a->length : b->length;
	int order = shared > 0 ? memcmp(a->at, b->at, shared) : 0;

	return order ? order : (a->length > b->length) - (a->length < b->length);
}

/** Decimal texts without leading zeros: the longer is the larger in magnitude. */
static int by_integer(const void *left, const void *right)
{
	const struct sf_bytes *a = &((const struct sf_pair *)left)->text;
	const struct sf_bytes *b = &((const struct sf_pair *)right)->text;
	bool a_negative = a->at[0] == '-';
	bool b_negative = b->at[0] == '-';
	int order;

	if (a_negative != b_negative)
		return a_negative ? -1 : 1;
	order = (a->length > b->length) - (a->length < b->length);
	if (order == 0)
		order = memcmp(a->at, b->at, a->length);
	return a_negative ? -order : order;
}

/** Finds keys that stand twice; leaves the pairs in order of identity. */
static int pairs_check(struct sf_content *content, struct sf_frame *frame)
{
	qsort(frame->pairs, frame->count, sizeof(*frame->pairs), by_identity);
	for (size_t i = 1; i < frame->count; i++) {
		const struct sf_pair *pair = &frame->pairs[i];

		if (memcmp(pair->identity, pair[-1].identity, sizeof(pair->identity)) == 0)
			return sf_content_fail(content, -EEXIST,
					       "a map has a key twice: keys that %s %" PRIu64
					       " and %" PRIu64 " are the same",
					       frame->is_json ? "end at bytes" : "are number",
					       pair[-1].place, pair->place);
	}
	return 0;
}

/** Orders pairs by the key itself, where that is possible. */
static int pairs_sort_by_text(struct sf_content *content, struct sf_frame *frame)
{
	enum sf_content_tag tag = frame->pairs[0].tag;

	for (size_t i = 1; i < frame->count; i++)
		if (frame->pairs[i].tag != tag)
			tag = SF_TAG_NONE;
	if (frame->count > 1 && tag != SF_TAG_TEXT && tag != SF_TAG_BYTES && tag != SF_TAG_INTEGER)
		return sf_content_fail(content, -ENOTSUP,
				       "profile coola-1.1 orders keys that are all texts, all "
				       "integers or all bytes; use profile coola or sfd-1");
	qsort(frame->pairs, frame->count, sizeof(*frame->pairs),
	      tag == SF_TAG_INTEGER ? by_integer : by_bytes);
	return 0;
}

/** Brings the pairs in the profile's order. */
static int pairs_sort(struct sf_content *content, struct sf_frame *frame)
{
	int error;

	if (frame->count == 0)
		return 0;
	error = pairs_check(content, frame);
	if (error < 0)
		return error;
	if (content->profile == SF_CONTENT_COOLA_1_1)
		return pairs_sort_by_text(content, frame);
	/* in profile sfd-1, the identity is the beginning of the key's digest */
	if (content->profile == SF_CONTENT_COOLA)
		qsort(frame->pairs, frame->count, sizeof(*frame->pairs), by_key_digest);
	return 0;
}

static int map_end(struct sf_content *content, struct sf_frame *frame)
{
	int error;

	if (frame->has_key)
		return sf_content_fail(content, -EINVAL, "key number %zu of a map has no value",
				       frame->count);
	error = pairs_sort(content, frame);
	if (error < 0)
		return error;
	sf_digester_init(content, &frame->digester, SF_TAG_MAP);
	for (size_t i = 0; i < frame->count; i++) {
		const struct sf_pair *pair = &frame->pairs[i];

		digester_add(content, &frame->digester, pair->key, pair->key);
		digester_add(content, &frame->digester, pair->value, pair->value);
	}
	sf_frame_clear(frame);
	return 0;
}

static int frame_end(struct sf_content *content)
{
	struct sf_frame *frame = sf_content_top(content);
	struct sf_digest digest;
	int error;

	if (frame->tag == SF_TAG_MAP) {
		error = map_end(content, frame);
		if (error < 0)
			return error;
	}
	sf_digester_final(content, &frame->digester, &digest);
	content->depth--;
	return sf_content_take(content, frame->tag, &digest);
}

int sf_content_begin(struct sf_content *content, unsigned kind)
{
	switch (kind) {
	case SF_CONTENT_TEXT:
		return sf_atom_begin(content, SF_TAG_TEXT);
	case SF_CONTENT_BYTES:
		return sf_atom_begin(content, SF_TAG_BYTES);
	case SF_CONTENT_LIST:
		return frame_begin(content, SF_TAG_LIST);
	case SF_CONTENT_MAP:
		return frame_begin(content, SF_TAG_MAP);
	default:
		return sf_content_fail(content, -EINVAL,
				       "%u is not a kind that can be opened; use SF_CONTENT_TEXT, "
				       "_BYTES, _LIST or _MAP",
				       kind);
	}
}

int sf_content_end(struct sf_content *content)
{
	if (content->error)
		return content->error;
	if (content->json && !content->is_parsing)
		return sf_content_fail(
			content, -EINVAL,
			"a JSON document is open; end it with sf_content_json_end()");
	if (content->atom.tag != SF_TAG_NONE)
		return sf_atom_end(content);
	if (content->depth > 0)
		return frame_end(content);
	return sf_content_fail(content, -EINVAL, "nothing is open to be ended");
}
