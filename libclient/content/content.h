/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The inside of a builder of content IDs. README.md has the rules that are computed here.
 *
 * A value becomes a digest when it ends, and all that is kept of it is that digest. Two digests are
 * known: the tagged one, of profile sfd-1, and the plain one, of the coola profiles. The latter
 * need the tagged one of each key, too: it alone tells whether two keys are the same.
 *
 * A builder, and all below it, belongs to one thread at a time.
 */
#ifndef SF_CONTENT_IMPL_H
#define SF_CONTENT_IMPL_H

#include "libclient/content/hash.h"
#include "libclient/content/utf8.h"

#include <sfcontent.h>
#include <stdbool.h>

/** Bytes of a piece of a scalar's body, in tagged digests. */
#define SF_CONTENT_PIECE 65536u
/** Person value of tagged digests. */
#define SF_CONTENT_PERSON "sfd content 1"

/** The first byte under every tagged digest: what the value is. */
enum sf_content_tag {
	SF_TAG_NONE = 0, /* of no value */
	SF_TAG_NULL = 'n',
	SF_TAG_FALSE = 'f',
	SF_TAG_TRUE = 't',
	SF_TAG_INTEGER = 'i',
	SF_TAG_DOUBLE = 'd',
	SF_TAG_TEXT = 's',
	SF_TAG_BYTES = 'b',
	SF_TAG_LIST = 'l',
	SF_TAG_MAP = 'm',
	SF_TAG_UNSUPPORTED = 'u',
};

/** What became of a value. Of the two digests, those that the place asks for are set. */
struct sf_digest {
	uint8_t tagged[SF_HASH_BYTES];
	uint8_t plain[SF_HASH_BYTES]; /* as many bytes as the ID has */
};

/** The digests in the making. */
struct sf_digester {
	struct sf_hash tagged;
	struct sf_hash plain;
	bool is_tagged;
	bool is_plain;
};

/** Some bytes of the heap. */
struct sf_bytes {
	uint8_t *at;
	size_t length;
	size_t capacity;
};

/** A pair of an open map. */
struct sf_pair {
	uint8_t identity[32];         /* beginning of the tagged digest of the key */
	uint8_t key[SF_HASH_BYTES];   /* the profile's digest of the key, */
	uint8_t value[SF_HASH_BYTES]; /* and of the value */
	uint64_t place;               /* what an error calls the key; rises */
	struct sf_bytes text;         /* the key, where it is what orders */
	enum sf_content_tag tag;      /* of the key */
};

/** An open list or map. */
struct sf_frame {
	struct sf_digester digester; /* of a list: fed as the items come */
	enum sf_content_tag tag;     /* SF_TAG_LIST or SF_TAG_MAP */
	bool is_in_key;              /* a list that is part of a key */
	bool has_key;                /* of a map: the last pair waits for its value */
	bool is_json;                /* of a map: errors name keys by byte, not by number */
	struct sf_pair *pairs;
	size_t count;
	size_t capacity;
};

/** The open scalar. */
struct sf_atom {
	struct sf_digester digester;
	enum sf_content_tag tag; /* SF_TAG_NONE: none is open */
	struct sf_utf8 utf8;
	uint64_t length; /* fed so far */
	size_t held;     /* bytes of `piece`, less than all */
	uint8_t piece[SF_CONTENT_PIECE];
};

struct sf_content {
	uint32_t profile;
	uint32_t digest_bytes;
	bool ignores_unsupported;

	int error; /* the first one, and its sentence */
	struct sf_why why;

	struct sf_json *json; /* the open document; NULL for none */
	bool is_parsing;      /* within the parser: values come from it */

	bool has_value;
	struct sf_digest value;
	unsigned depth;
	struct sf_frame *frames[SF_CONTENT_DEPTH_MAX]; /* made at first need, then kept */
	struct sf_bytes key;                           /* of the atom, where it is what orders */
	struct sf_atom atom;
};

/** Notes the first failure. @return `error` */
int sf_content_fail(struct sf_content *content, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** The innermost open list or map; NULL for none. */
static inline struct sf_frame *sf_content_top(const struct sf_content *content)
{
	return content->depth > 0 ? content->frames[content->depth - 1] : NULL;
}

/** The digest that the profile makes IDs of. */
static inline const uint8_t *sf_content_digest(const struct sf_content *content,
					       const struct sf_digest *digest)
{
	return content->profile == SF_CONTENT_SFD_1 ? digest->tagged : digest->plain;
}

/** Whether the next value is the key of a map. */
bool sf_content_at_key(const struct sf_content *content);

/** Whether it is one, or part of one. */
bool sf_content_in_key(const struct sf_content *content);

/** Whether a value may begin now. @return 0 or a failure that is noted */
int sf_content_enter(struct sf_content *content);

/** Takes a value that has ended into the list or map it stands in. */
int sf_content_take(struct sf_content *content, enum sf_content_tag tag,
		    const struct sf_digest *digest);

/** Starts the digests that the place asks for. */
void sf_digester_init(const struct sf_content *content, struct sf_digester *digester,
		      enum sf_content_tag tag);
void sf_digester_final(const struct sf_content *content, struct sf_digester *digester,
		       struct sf_digest *ret_digest);

/** Appends. @return 0 or -ENOMEM */
int sf_bytes_add(struct sf_bytes *bytes, const void *more, size_t length);
/** Frees. */
void sf_bytes_drop(struct sf_bytes *bytes);

/** Scalars. */
int sf_atom_begin(struct sf_content *content, enum sf_content_tag tag);
int sf_atom_feed(struct sf_content *content, const void *bytes, size_t length);
int sf_atom_end(struct sf_content *content);

/** Forgets the pairs. */
void sf_frame_clear(struct sf_frame *frame);

/** UUID of version 5 of a name, as text. @return 0, or -EINVAL for a namespace that is no UUID */
int sf_uuid5(const char *name_space, const char *name, size_t length, char *ret_uuid);

/** Drops the open document. */
void sf_json_close(struct sf_content *content);
/** Byte of the open document that the parser has come to. */
uint64_t sf_json_position(const struct sf_content *content);

#endif
