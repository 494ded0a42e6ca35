/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The words that a subcommand works on: from the command line or, where it has none, from stdin.
 * Main thread only.
 */
#ifndef SFCTL_WORDS_H
#define SFCTL_WORDS_H

#include "tools/sfctl.h"

/** The command line of a subcommand, and its words in order. */
struct sfctl_words {
	int argc;
	char **argv;
	char **word;
	size_t count;
};

/** How stdin is cut. */
enum sfctl_words_cut {
	SFCTL_WORDS_BLANKS, /* at blanks, tabs and newlines; there are no empty words */
	SFCTL_WORDS_LINES,  /* at newlines, before which a CR does not count */
};

/** Hears of a word, which need not end in NUL and, from stdin, may hold any byte. */
typedef void (*sfctl_word_fn)(void *data, const char *word, size_t length);

/** @return SFCTL_GO_ON, or SFCTL_FAILED after one sentence on stderr */
int sfctl_words_init(struct sfctl_words *words, const struct sfctl *sfctl, int argc, char **argv);
void sfctl_words_deinit(struct sfctl_words *words);

/**
 * sfctl_getopt() that keeps what is no option. "-1" is a word: as an ID it is wrong, but as an
 * option it would be a riddle. The only letter is -h.
 * @return the option, or -1 after the last
 */
int sfctl_words_getopt(struct sfctl_words *words, const struct option *options);

/** Takes the first word away. @return NULL when there is none */
const char *sfctl_words_shift(struct sfctl_words *words);

/**
 * Calls `each` for every word of the command line or, when there is none, of stdin. Ends early when
 * stdout fails.
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr when stdin cannot be read
 */
int sfctl_words_each(const struct sfctl_words *words, const struct sfctl *sfctl,
		     enum sfctl_words_cut cut, sfctl_word_fn each, void *data);

/** Prints the word, made fit for a terminal, and a sentence on stderr. @return SFCTL_FAILED */
int sfctl_word_fail(const struct sfctl *sfctl, const char *word, size_t length,
		    const char *sentence);

#endif
