/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libsfcontent: IDs made of content. The same value gives the same ID on every host and for ever,
 * another value another one. No daemon, no clock. Content IDs are no secrets: whoever knows the
 * value knows the ID.
 *
 *   struct sf_content *content;
 *   char id[SF_CONTENT_ID_MAX];
 *
 *   sf_content_open(NULL, &content, &why);
 *   sf_content_begin(content, SF_CONTENT_MAP);       {"name": "Ada", "scores": [1, 2.5]}
 *   sf_content_text(content, "name", 4);
 *   sf_content_text(content, "Ada", 3);
 *   sf_content_text(content, "scores", 6);
 *   sf_content_begin(content, SF_CONTENT_LIST);
 *   sf_content_int64(content, 1);
 *   sf_content_double(content, 2.5);
 *   sf_content_end(content);
 *   sf_content_end(content);
 *   if (sf_content_finish(content, id) < 0)
 *           puts(sf_content_why(content));
 *   sf_content_close(content);
 *
 * A builder takes one value, which may be a list or map of any size and hold others. Memory is
 * bounded by what is open: about 1 KiB a container, a pair of digests for each pair of an open map,
 * 64 KiB for a text or bytes; and in a JSON document its longest string or number.
 *
 * Errors: negative errno values, the same meaning in every function. After the first failure a
 * builder refuses every call with the same value, and sf_content_why() says what the first one was,
 * until sf_content_reset(). So a caller may feed a value whole and look at the end only. Results
 * (`ret_...`) are untouched on failure.
 *
 *   -EINVAL     an argument is out of range, or the call does not fit what is open
 *   -EILSEQ     text is not UTF-8, or holds half of a surrogate pair
 *   -EBADMSG    the JSON document is malformed, cut short or followed by something
 *   -EEXIST     two keys of a map are the same
 *   -EOVERFLOW  nested deeper than SF_CONTENT_DEPTH_MAX
 *   -ERANGE     a JSON number with a point or exponent is beyond a double (profile sfd-1 only)
 *   -ENOTSUP    the value's type has no rule in the profile, or the keys have no order in it
 *   -ENOMEM     out of memory
 *
 * Threads: a builder belongs to one thread at a time; any number of builders may be used at once.
 * No function may be called from a signal handler. Fork: a child owns a copy of each builder.
 * Locale: no result depends on it.
 */
#ifndef SF_CONTENT_H
#define SF_CONTENT_H

#include <sflayout.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Profile "sfd-1", the default: type-tagged, length-prefixed BLAKE2b. Different values have
 * different IDs: null, true, 1, 1.0, "1" and the bytes of "1", [] and {}, [["a"],"b"] and
 * ["a",["b"]]. The rule, to the bit, is in libclient/content/README.md. It never changes.
 */
#define SF_CONTENT_SFD_1 0
/**
 * Profile "coola": the IDs of the newest known rule of coola.hashing (github.com/durandtibo/coola;
 * commit 0e988147), pairs of a map ordered by the digest of their key. No type tags: 1 and "1",
 * null and "None", [] and {} and "" share an ID.
 */
#define SF_CONTENT_COOLA 1
/** Profile "coola-1.1": that of the releases 1.1.x, pairs ordered by their key. */
#define SF_CONTENT_COOLA_1_1 2

/** Hexadecimal digits of an ID: even numbers from here, */
#define SF_CONTENT_LENGTH_MIN 2
/** to here; */
#define SF_CONTENT_LENGTH_MAX 128
/** this many by default. */
#define SF_CONTENT_LENGTH_DEFAULT 64
/** Room for an ID of any length, the NUL included. */
#define SF_CONTENT_ID_MAX 129
/** Room for the text of a UUID, the NUL included. */
#define SF_CONTENT_UUID_MAX 37
/** Most lists and maps that may be open within each other. */
#define SF_CONTENT_DEPTH_MAX 512
/** Namespace of sf_content_uuid5() unless another is given. */
#define SF_CONTENT_NAMESPACE "2b6f6a52-6e83-4b1b-9e3a-0a2e9b2d9c6a"

/** What sf_content_begin() opens: a text, given in pieces, */
#define SF_CONTENT_TEXT 1
/** bytes, given in pieces, */
#define SF_CONTENT_BYTES 2
/** a list: values, whose order counts, */
#define SF_CONTENT_LIST 3
/** or a map: a key, its value, a key, its value; the order of the pairs does not count. */
#define SF_CONTENT_MAP 4

/** How to make IDs. Start from SF_CONTENT_OPTIONS. */
struct sf_content_options {
	/** sizeof(struct sf_content_options): lets the struct grow. */
	uint32_t size;
	/** SF_CONTENT_SFD_1, SF_CONTENT_COOLA or SF_CONTENT_COOLA_1_1. */
	uint32_t profile;
	/**
	 * Digits of the ID, even, SF_CONTENT_LENGTH_MIN to SF_CONTENT_LENGTH_MAX. In profile sfd-1
	 * a shorter ID is the beginning of a longer one; in the others it is not. Below 32 digits
	 * different values may share an ID by chance.
	 */
	uint32_t length;
	/** Not 0: sf_content_unsupported() takes the type's name in place of the value. */
	uint32_t ignore_unsupported;
};

/** The defaults, to initialise a struct sf_content_options with. */
#define SF_CONTENT_OPTIONS                                                                         \
	{                                                                                          \
		sizeof(struct sf_content_options), SF_CONTENT_SFD_1, SF_CONTENT_LENGTH_DEFAULT, 0  \
	}

/** A value on its way to an ID. */
struct sf_content;

/** Profile of a name: "sfd-1", "coola", "coola-1.1". @return SF_CONTENT_..., or -EINVAL */
SF_API int sf_content_profile_of(const char *name);

/** Name of a profile. @return NULL for an unknown one */
SF_API const char *sf_content_profile_name(uint32_t profile);

/**
 * Make a builder. Allocates; the first call of a process enters the kernel.
 * @param options NULL for the defaults
 * @param why may be NULL
 * @return 0; -EINVAL for an option out of range; -ENOMEM
 */
SF_API int sf_content_open(const struct sf_content_options *options,
			   struct sf_content **ret_content, struct sf_why *why);

/** Free a builder. NULL is fine. */
SF_API void sf_content_close(struct sf_content *content);

/** Forget the value and the failure: the builder is as sf_content_open() made it. */
SF_API void sf_content_reset(struct sf_content *content);

/** What failed first, as a sentence; "" when nothing did. Lives until the next call. */
SF_API const char *sf_content_why(const struct sf_content *content);

/*
 * Values. Each is the whole value, the next item of the list, or the next key or value of the map
 * that is open. Anything but a map, or a list with a map in it, may be a key.
 * All return 0 or an error of the table above.
 */

/** JSON's null, Python's None. */
SF_API int sf_content_null(struct sf_content *content);

/** @param value 0 is false, all others are true */
SF_API int sf_content_bool(struct sf_content *content, int value);

/** An integer. */
SF_API int sf_content_int64(struct sf_content *content, int64_t value);

/**
 * An integer of any size.
 * @param text decimal digits without leading zeros, after a "-" when negative; "-0" is 0; need not
 *        end in NUL
 * @return also -EINVAL for another text
 */
SF_API int sf_content_integer(struct sf_content *content, const char *text, size_t length);

/**
 * A floating-point number; 1.0 is not the integer 1, and -0.0 is not 0.0. Every NaN is the same
 * value. In the coola profiles its text as Python's repr() prints it.
 */
SF_API int sf_content_double(struct sf_content *content, double value);

/**
 * A text. No normalisation: two spellings of an accented letter are two texts.
 * @param text UTF-8; may hold NUL
 * @return also -EILSEQ
 */
SF_API int sf_content_text(struct sf_content *content, const char *text, size_t length);

/** Bytes. In profile sfd-1 not equal to the text of the same bytes. */
SF_API int sf_content_bytes(struct sf_content *content, const void *bytes, size_t length);

/**
 * A value whose type has no rule.
 * @param type_name the type's name, not empty; in Python that of its class with its module, such as
 *        "set" or "decimal.Decimal"
 * @return -ENOTSUP, unless option ignore_unsupported is set: the name is then the value
 */
SF_API int sf_content_unsupported(struct sf_content *content, const char *type_name);

/**
 * Open a text, bytes, a list or a map.
 * @param kind SF_CONTENT_TEXT, SF_CONTENT_BYTES, SF_CONTENT_LIST or SF_CONTENT_MAP
 */
SF_API int sf_content_begin(struct sf_content *content, unsigned kind);

/**
 * Add a piece to the text or bytes that is open. How it is cut in pieces does not count: a text may
 * be cut within a character.
 * @return also -EILSEQ
 */
SF_API int sf_content_feed(struct sf_content *content, const void *bytes, size_t length);

/**
 * Close what sf_content_begin() opened last.
 * @return also -EILSEQ for a text that ends within a character, -EINVAL for a map whose last key
 *         has no value, -EEXIST for one that has a key twice, -ENOTSUP in profile coola-1.1 for
 *         two or more keys that are not all texts, all integers or all bytes
 */
SF_API int sf_content_end(struct sf_content *content);

/**
 * A value as a JSON document (RFC 8259), in pieces of any size. White space and the order of keys
 * do not count. A number with a point or an exponent is a double, any other an integer of any size.
 * Refused, with the byte where it is, counted from 1: a key that an object has twice, NaN and
 * Infinity, half of a surrogate pair, what is not UTF-8, a second document, deep nesting. In
 * profile sfd-1 a number beyond a double, such as 1e400, is an error; in the others it is infinite.
 * Between the first piece and sf_content_json_end() no other value may be given.
 */
SF_API int sf_content_json(struct sf_content *content, const char *text, size_t length);

/**
 * End the document that sf_content_json() began.
 * @return also -EBADMSG for one that is empty or not complete
 */
SF_API int sf_content_json_end(struct sf_content *content);

/**
 * The ID of the value: lower-case hexadecimal digits and a NUL. May be called again.
 * @param ret_id room for the option's length + 1, which SF_CONTENT_ID_MAX always is
 * @return length without the NUL; -EINVAL when there is no value, or something is still open
 */
SF_API int sf_content_finish(struct sf_content *content, char *ret_id);

/**
 * The value's UUID of version 5: that of the ID of 128 digits, as text, in a namespace.
 * @param name_space a UUID's text, such as SF_CONTENT_NAMESPACE, which NULL stands for
 * @param ret_uuid room for SF_CONTENT_UUID_MAX
 * @return 0; -EINVAL for what is no UUID, a builder of another length than SF_CONTENT_LENGTH_MAX,
 *         or as sf_content_finish()
 */
SF_API int sf_content_uuid5(struct sf_content *content, const char *name_space, char *ret_uuid);

/**
 * ID of bytes, in one call.
 * @param options NULL for the defaults
 * @param ret_id as for sf_content_finish()
 * @param why may be NULL
 * @return length without the NUL, or an error of the table above
 */
SF_API int sf_content_id_bytes(const struct sf_content_options *options, const void *bytes,
			       size_t length, char *ret_id, struct sf_why *why);

/** ID of a JSON document, in one call. Parameters and results as for sf_content_id_bytes(). */
SF_API int sf_content_id_json(const struct sf_content_options *options, const char *text,
			      size_t length, char *ret_id, struct sf_why *why);

#ifdef __cplusplus
}
#endif

#endif
