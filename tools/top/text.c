/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Numbers for narrow columns; see text.h.
 */
#include "tools/top/text.h"

#include "shm/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_MS INT64_C(1000)

void sfctl_top_number(double number, char text[SFCTL_TOP_TEXT_MAX])
{
	if (number < 0)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "-");
	else if (number > 0 && number < 9.95)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.1f", number);
	else if (number < 99999.5)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.0f", number);
	else if (number < 999950)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.1fk", number / 1e3);
	else if (number < 999995e3)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.2fM", number / 1e6);
	else if (number < 999995e6)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.2fG", number / 1e9);
	else
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.2fT", number / 1e12);
}

void sfctl_top_share(double share, char text[SFCTL_TOP_TEXT_MAX])
{
	if (share < 0)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "-");
	else
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%.1f%%", share * 100);
}

void sfctl_top_duration(int64_t ms, char text[SFCTL_TOP_TEXT_MAX])
{
	if (ms >= 1000 && ms < 10000)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%" PRId64 ".%" PRId64 "s", ms / 1000,
			       ms % 1000 / 100);
	else
		sf_duration_words(ms < 0 ? 0 : ms, text);
}

void sfctl_top_offset(int64_t us, char text[SFCTL_TOP_TEXT_MAX])
{
	int64_t size = us < 0 ? -(us + (us == INT64_MIN)) : us;

	if (us == 0) {
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "0");
		return;
	}
	text[0] = us < 0 ? '-' : '+';
	if (size < 10 * US_PER_MS)
		(void)snprintf(text + 1, SFCTL_TOP_TEXT_MAX - 1, "%" PRId64 "us", size);
	else
		sf_duration_words(size / US_PER_MS, text + 1);
}

void sfctl_top_clock(int64_t unix_ms, char text[SFCTL_TOP_TEXT_MAX])
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm date;

	if (localtime_r(&seconds, &date) == NULL ||
	    strftime(text, SFCTL_TOP_TEXT_MAX, "%H:%M:%S", &date) == 0)
		(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "?");
}

int sfctl_top_delay_parse(const char *text, int64_t *ret_ms)
{
	int64_t scale = 1000;
	int64_t ms = 0;
	size_t digits = 0;

	for (; *text >= '0' && *text <= '9' && ms <= SFCTL_TOP_DELAY_MAX_MS; text++, digits++)
		ms = ms * 10 + (*text - '0') * INT64_C(1000);
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
			scale /= 10;
			ms += (*text - '0') * scale;
		}
	if (digits == 0 || *text != '\0' || ms < SFCTL_TOP_DELAY_MIN_MS ||
	    ms > SFCTL_TOP_DELAY_MAX_MS)
		return -EINVAL;
	*ret_ms = ms;
	return 0;
}

void sfctl_top_delay(int64_t ms, char text[SFCTL_TOP_TEXT_MAX])
{
	size_t length;

	(void)snprintf(text, SFCTL_TOP_TEXT_MAX, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
	for (length = strlen(text); text[length - 1] == '0'; length--)
		;
	if (text[length - 1] == '.')
		length--;
	text[length] = '\0';
}
