/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Reading stdin in pieces, and flushing stdout between them. Holds no data of its own. Main thread.
 */
#include "tools/input.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/** Bytes read at a time; as many as a pipe holds. */
#define PIECE_BYTES ((size_t)64 << 10)

/** Signature of a cookie_read_function_t. */
static ssize_t read_file(void *cookie, char *buffer, size_t size)
{
	(void)cookie;
	return read(STDIN_FILENO, buffer, size);
}

static ssize_t read_live(void *cookie, char *buffer, size_t size)
{
	/* A failure stays with stdout, which everyone who prints looks at. */
	(void)fflush(stdout);
	return read_file(cookie, buffer, size);
}

FILE *sfctl_input_open(void)
{
	struct stat status;
	bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
	cookie_io_functions_t functions = {.read = is_file ? read_file : read_live};
	FILE *stream = fopencookie(NULL, "r", functions);

	if (stream)
		(void)setvbuf(stream, NULL, _IOFBF, PIECE_BYTES);
	return stream;
}
