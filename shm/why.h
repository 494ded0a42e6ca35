/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Sentences for struct sf_why, and short texts in general, without stdio: formatting in a signal
 * handler is then fine. Any thread. Texts that do not fit are cut, never overrun.
 */
#ifndef SF_SHM_WHY_H
#define SF_SHM_WHY_H

#include "shm/sflayout.h"

#include <stddef.h>
#include <stdint.h>

/** A text being written. */
struct sf_shm_text {
	char *buffer;
	size_t size; /* of the buffer, at least 1 */
	size_t length;
};

/** A piece of input that a sentence is about. Not NUL-terminated. */
struct sf_shm_token {
	const char *at;
	size_t length;
};

void sf_shm_put_string(struct sf_shm_text *text, const char *string);
void sf_shm_put_unsigned(struct sf_shm_text *text, uint64_t value);
void sf_shm_put_signed(struct sf_shm_text *text, int64_t value);

/** Empties `why`; NULL is fine. */
void sf_shm_clear(struct sf_why *why);

/**
 * Writes the sentence; NULL writes nothing. Of printf's conversions it knows %s, %u, PRIu64 and
 * PRId64.
 */
void sf_shm_why(struct sf_why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Writes the sentence and yields `error`. A macro, so that static analysis knows the value. */
#define SF_SHM_REFUSE(why, error, ...) (sf_shm_why(why, __VA_ARGS__), (error))

/**
 * Writes the quoted token and the sentence.
 * @return -EINVAL
 */
int sf_shm_refuse_token(struct sf_why *why, const struct sf_shm_token *token, const char *format,
			...) __attribute__((format(printf, 3, 4)));

#endif
