/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the fuzzers of whole conversations share: the input as a row of small decisions, and the
 * check that ends the run. An input that is used up goes on with zeros.
 */
#ifndef FUZZ_FEED_H
#define FUZZ_FEED_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct feed {
	const uint8_t *at;
	size_t left;
};

/** The product's own asserts are for its developers; this one is the test. */
#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__,           \
				      #condition);                                                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/** Fills `ret` from the input. */
static inline void feed_bytes(struct feed *feed, void *ret, size_t size)
{
	size_t n = size < feed->left ? size : feed->left;

	memset(ret, 0, size);
	if (n > 0)
		memcpy(ret, feed->at, n);
	feed->at += n;
	feed->left -= n;
}

static inline uint8_t feed_u8(struct feed *feed)
{
	uint8_t value;

	feed_bytes(feed, &value, sizeof(value));
	return value;
}

static inline uint16_t feed_u16(struct feed *feed)
{
	uint16_t value;

	feed_bytes(feed, &value, sizeof(value));
	return value;
}

static inline uint64_t feed_u64(struct feed *feed)
{
	uint64_t value;

	feed_bytes(feed, &value, sizeof(value));
	return value;
}

/** Descriptors below 256 that are open: more after an input than before it means a leak. */
static inline unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#endif
