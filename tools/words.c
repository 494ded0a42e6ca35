/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Words from the command line or stdin. Holds one line of stdin at a time. Main thread.
 */
#include "tools/words.h"

#include "tools/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Characters of a bad word that a message repeats. */
#define WORD_SHOWN_MAX 60

int sfctl_words_init(struct sfctl_words *words, const struct sfctl *sfctl, int argc, char **argv)
{
	*words = (struct sfctl_words){
		.argc = argc,
		.argv = argv,
		.word = calloc((size_t)argc, sizeof(char *)),
	};
	return words->word ? SFCTL_GO_ON : sfctl_fail(sfctl, "out of memory");
}

void sfctl_words_deinit(struct sfctl_words *words)
{
	free(words->word);
	*words = (struct sfctl_words){0};
}

int sfctl_words_getopt(struct sfctl_words *words, const struct option *options)
{
	/* "-": words come where they stand, as option 1. A digit takes the rest of its word. */
	static const char letters[] = "-:h0::1::2::3::4::5::6::7::8::9::";
	int option;

	while ((option = sfctl_getopt(words->argc, words->argv, letters, options)) != -1) {
		if (option == 1)
			words->word[words->count++] = optarg;
		else if (option >= '0' && option <= '9')
			words->word[words->count++] = words->argv[optind - 1];
		else
			return option;
	}
	while (optind < words->argc) /* behind "--" */
		words->word[words->count++] = words->argv[optind++];
	return -1;
}

const char *sfctl_words_shift(struct sfctl_words *words)
{
	const char *first = words->count > 0 ? words->word[0] : NULL;

	if (first)
		memmove(words->word, words->word + 1, --words->count * sizeof(char *));
	return first;
}

static void cut_line(const char *line, size_t length, sfctl_word_fn each, void *data)
{
	if (length > 0 && line[length - 1] == '\n')
		length--;
	if (length > 0 && line[length - 1] == '\r')
		length--;
	each(data, line, length);
}

/** A NUL ends no word: it makes the word a bad one. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void cut_blanks(const char *line, size_t length, sfctl_word_fn each, void *data)
{
	const char *end = line + length;

	while (line < end) {
		const char *word = line;

		while (line < end && !is_blank(*line))
			line++;
		if (line > word)
			each(data, word, (size_t)(line - word));
		else
			line++;
	}
}

static int each_of_stdin(const struct sfctl *sfctl, enum sfctl_words_cut cut, sfctl_word_fn each,
			 void *data)
{
	FILE *in = sfctl_input_open();
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int status = SFCTL_OK;

	if (!in)
		return sfctl_fail(sfctl, "out of memory");
	while (ferror(stdout) == 0 && (length = getline(&line, &size, in)) >= 0) {
		if (cut == SFCTL_WORDS_LINES)
			cut_line(line, (size_t)length, each, data);
		else
			cut_blanks(line, (size_t)length, each, data);
	}
	if (ferror(in) != 0)
		status = sfctl_fail(sfctl, "cannot read stdin: %s", strerrordesc_np(errno));
	(void)fclose(in);
	free(line);
	return status;
}

int sfctl_words_each(const struct sfctl_words *words, const struct sfctl *sfctl,
		     enum sfctl_words_cut cut, sfctl_word_fn each, void *data)
{
	if (words->count == 0)
		return each_of_stdin(sfctl, cut, each, data);
	for (size_t i = 0; i < words->count && ferror(stdout) == 0; i++)
		each(data, words->word[i], strlen(words->word[i]));
	return SFCTL_OK;
}

int sfctl_word_fail(const struct sfctl *sfctl, const char *word, size_t length,
		    const char *sentence)
{
	char shown[WORD_SHOWN_MAX + 1];
	size_t count = length < WORD_SHOWN_MAX ? length : WORD_SHOWN_MAX;

	for (size_t i = 0; i < count; i++) {
		shown[i] = word[i];
		if ((unsigned char)word[i] < ' ' || word[i] == '\x7f')
			shown[i] = '?';
	}
	shown[count] = '\0';
	return sfctl_fail(sfctl, "\"%s\"%s: %s", shown, length > count ? "..." : "", sentence);
}
