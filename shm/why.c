/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The writer behind every sentence of the layout functions. Any thread and any signal handler may
 * call it, so it must never allocate, keep state or call stdio.
 */
#include "shm/why.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* Characters of a token that a sentence repeats. */
#define TOKEN_SHOWN_MAX 24u

static void put_bytes(struct sf_shm_text *text, const char *bytes, size_t count)
{
	size_t room = text->size - 1 - text->length;

	if (count > room)
		count = room;
	memcpy(text->buffer + text->length, bytes, count);
	text->length += count;
	text->buffer[text->length] = '\0';
}

void sf_shm_put_string(struct sf_shm_text *text, const char *string)
{
	put_bytes(text, string, strlen(string));
}

void sf_shm_put_unsigned(struct sf_shm_text *text, uint64_t value)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_bytes(text, digits + first, sizeof(digits) - first);
}

void sf_shm_put_signed(struct sf_shm_text *text, int64_t value)
{
	if (value < 0)
		sf_shm_put_string(text, "-");
	sf_shm_put_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/** Quotes a token; bytes that could disturb a terminal or a log are replaced. */
static void put_token(struct sf_shm_text *text, const struct sf_shm_token *token)
{
	sf_shm_put_string(text, "\"");
	for (size_t i = 0; i < token->length && i < TOKEN_SHOWN_MAX; i++) {
		char c = token->at[i];

		put_bytes(text, c > ' ' && c <= '~' ? &c : "?", 1);
	}
	sf_shm_put_string(text, token->length > TOKEN_SHOWN_MAX ? "...\"" : "\"");
}

/* The analyzer of clang 14 loses sight of a va_list that was passed on.
 * NOLINTBEGIN(clang-analyzer-valist.Uninitialized) */
/** The part of printf that the sentences here need: %s, %u and PRIu64, PRId64. */
static void put_format(struct sf_shm_text *text, const char *format, va_list args)
{
	for (;;) {
		size_t plain = strcspn(format, "%");
		size_t wide;

		put_bytes(text, format, plain);
		format += plain;
		if (*format == '\0')
			return;
		format++;
		wide = strspn(format, "l");
		format += wide;
		if (*format == 's')
			sf_shm_put_string(text, va_arg(args, const char *));
		else if (*format == 'd')
			sf_shm_put_signed(text, va_arg(args, int64_t));
		else if (wide)
			sf_shm_put_unsigned(text, va_arg(args, uint64_t));
		else
			sf_shm_put_unsigned(text, va_arg(args, unsigned));
		format++;
	}
}
/* NOLINTEND(clang-analyzer-valist.Uninitialized) */

void sf_shm_clear(struct sf_why *why)
{
	if (why)
		why->text[0] = '\0';
}

void sf_shm_why(struct sf_why *why, const char *format, ...)
{
	va_list args;

	if (!why)
		return;
	va_start(args, format);
	put_format(&(struct sf_shm_text){why->text, sizeof(why->text), 0}, format, args);
	va_end(args);
}

int sf_shm_refuse_token(struct sf_why *why, const struct sf_shm_token *token, const char *format,
			...)
{
	struct sf_shm_text text;
	va_list args;

	if (!why)
		return -EINVAL;
	text = (struct sf_shm_text){why->text, sizeof(why->text), 0};
	put_token(&text, token);
	sf_shm_put_string(&text, ": ");
	va_start(args, format);
	put_format(&text, format, args);
	va_end(args);
	return -EINVAL;
}
