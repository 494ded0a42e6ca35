/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * stderr into a memfd and back. Single-threaded tests only: the descriptor belongs to the process.
 */
#include "tests/support/stderr.h"

#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int saved = -1;
static int memory = -1;
static char text[64 * 1024 + 1];

void t_stderr_begin(void)
{
	saved = dup(STDERR_FILENO);
	memory = memfd_create("stderr", MFD_CLOEXEC);
	ck_assert_int_ge(saved, 0);
	ck_assert_int_ge(memory, 0);
	ck_assert_int_eq(dup2(memory, STDERR_FILENO), STDERR_FILENO);
}

const char *t_stderr_end(void)
{
	ssize_t length = pread(memory, text, sizeof(text) - 1, 0);

	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
	(void)close(memory);
	ck_assert_int_ge((int)length, 0);
	text[length] = '\0';
	return text;
}
