/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One configuration and the log lines that came with it.
 */
#include "tests/support/config.h"

#include "daemon/config_draft.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct sfd_config t_config;
const char *t_config_said = "";

static int load(const struct sfd_flags *flags, const char *text, size_t size)
{
	int r;

	t_stderr_begin();
	r = sfd_config_load_text(flags, text, size, T_CONFIG_NOW_MS, &t_config);
	t_config_said = t_stderr_end();
	return r;
}

int t_config_load_bytes(const char *text, size_t size)
{
	return load(&(struct sfd_flags){.config_file = "sfd.conf"}, text, size);
}

int t_config_load(const char *text)
{
	return t_config_load_bytes(text, strlen(text));
}

int t_config_load_flags(const struct sfd_flags *flags, const char *text)
{
	return load(flags, text, text == NULL ? 0 : strlen(text));
}

int t_config_load_path(const char *path)
{
	int r;

	t_stderr_begin();
	r = sfd_config_load(&(struct sfd_flags){.config_file = path}, &t_config);
	t_config_said = t_stderr_end();
	return r;
}

void t_config_init(void)
{
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/tmp/xdg-run", 1), 0);
	ck_assert_int_eq(setenv("XDG_STATE_HOME", "/tmp/xdg-state", 1), 0);
	ck_assert_int_eq(setenv("HOME", "/tmp/home", 1), 0);
}

void t_config_deinit(void)
{
	sfd_config_deinit(&t_config);
}

unsigned t_config_said_lines(void)
{
	unsigned lines = 0;

	for (const char *at = t_config_said; *at != '\0'; at++)
		lines += *at == '\n';
	return lines;
}

void t_config_assert_said(const char *sentence)
{
	ck_assert_msg(strstr(t_config_said, sentence) != NULL, "\"%s\" is missing in: %s", sentence,
		      t_config_said);
}
