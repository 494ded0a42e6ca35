/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient/client.c and error.c: what sf_open() makes of its options and the environment, before
 * any sfd has answered, and the sentence that each error has.
 */
#include "tests/support/ring_fixture.h"

#include "tests/unit/client_suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[64];
static char said[256];

static void hear(void *data, int level, const char *message)
{
	(void)data;
	(void)level;
	(void)snprintf(said, sizeof(said), "%s", message);
}

static void set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/sfd-open-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", directory, 1), 0);
	ck_assert_int_eq(unsetenv("SFD_SOCKET"), 0);
	ck_assert_int_eq(unsetenv("SFD_STREAM"), 0);
	said[0] = '\0';
}

static void tear_down(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/sfd/sfd.sock", directory);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/sfd", directory);
	(void)rmdir(path);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* A socket at $XDG_RUNTIME_DIR/sfd/sfd.sock, whose connections nobody accepts. */
static int listen_silently(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sfd", directory);
	ck_assert_int_eq(mkdir(address.sun_path, 0700), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sfd/sfd.sock", directory);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	return fd;
}

static int open_with(struct sf_options options)
{
	struct sf_client *client = NULL;
	int error;

	options.size = sizeof(options);
	options.log = hear;
	error = sf_open(&options, &client);
	ck_assert_ptr_null(client);
	return error;
}

static void expect_said(const char *what)
{
	ck_assert_msg(strstr(said, what) != NULL, "\"%s\" is missing in: %s", what, said);
}

START_TEST(open_refuses_options_that_mean_nothing)
{
	char text[256];
	struct sf_client *client;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(open_with((struct sf_options){.wait = SF_WAIT_NONE + 1}), -EINVAL);
	expect_said("none of SF_WAIT_");
	ck_assert_int_eq(open_with((struct sf_options){.timeout_ns = -2}), -EINVAL);
	expect_said("timeout_ns -2");
	ck_assert_int_eq(open_with((struct sf_options){.socket = text}), -EINVAL);
	expect_said("255 characters, at most 107 fit");
	ck_assert_int_eq(open_with((struct sf_options){.stream = text}), -EINVAL);
	expect_said("at most 31 characters fit");
	ck_assert_int_eq(sf_open(&(struct sf_options){.size = 1}, &client), -EINVAL);
	ck_assert_int_eq(sf_open(&(struct sf_options){.size = 4096}, &client), -EINVAL);
	ck_assert_int_eq(sf_open(NULL, NULL), -EINVAL);
}
END_TEST

/* The user's own sfd first; the host's when there is none. */
START_TEST(default_socket_is_the_first_that_exists)
{
	struct sf_client *client;
	char path[128];
	int fd;

	ck_assert_int_eq(sf_client_new(NULL, &client), 0);
	ck_assert_str_eq(client->socket, "/run/sfd/sfd.sock");
	ck_assert_str_eq(client->stream, "default");
	sf_close(client);
	fd = listen_silently();
	(void)snprintf(path, sizeof(path), "%s/sfd/sfd.sock", directory);
	ck_assert_int_eq(sf_client_new(NULL, &client), 0);
	ck_assert_str_eq(client->socket, path);
	sf_close(client);
	ck_assert_int_eq(setenv("SFD_SOCKET", "/elsewhere", 1), 0);
	ck_assert_int_eq(setenv("SFD_STREAM", "other", 1), 0);
	ck_assert_int_eq(sf_client_new(NULL, &client), 0);
	ck_assert_str_eq(client->socket, "/elsewhere");
	ck_assert_str_eq(client->stream, "other");
	sf_close(client);
	(void)close(fd);
}
END_TEST

START_TEST(open_waits_for_an_answer_no_longer_than_asked)
{
	int fd = listen_silently();

	ck_assert_int_eq(open_with((struct sf_options){.timeout_ns = 20 * T_MS}), -ETIMEDOUT);
	expect_said("no answer from sfd");
	(void)close(fd);
}
END_TEST

START_TEST(open_without_an_sfd_names_the_socket)
{
	ck_assert_int_eq(open_with((struct sf_options){.socket = "/nonexistent/sfd.sock"}),
			 -ENOTCONN);
	expect_said("no sfd listens at /nonexistent/sfd.sock");
}
END_TEST

static const int errors[] = {
	0,      EAGAIN, ETIMEDOUT, ESHUTDOWN, EOVERFLOW, ETIME,  ENOTSUP, ENOTCONN, ENOENT,
	EACCES, EPROTO, EINVAL,    ERANGE,    ENOSPC,    ENOMEM, EMFILE,  ENFILE,
};

/* Each has a sentence of its own, with either sign. */
START_TEST(every_error_has_its_sentence)
{
	for (size_t i = 0; i < T_COUNT(errors); i++) {
		ck_assert_str_eq(sf_strerror(errors[i]), sf_strerror(-errors[i]));
		ck_assert_str_ne(sf_strerror(errors[i]), sf_strerror(-EXDEV));
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(sf_strerror(errors[i]), sf_strerror(errors[j]));
	}
	ck_assert_str_eq(sf_strerror(-EXDEV), "unexpected error");
}
END_TEST

void t_add_client_open(Suite *suite)
{
	TCase *open = tcase_create("open");

	tcase_add_checked_fixture(open, set_up, tear_down);
	tcase_add_test(open, open_refuses_options_that_mean_nothing);
	tcase_add_test(open, default_socket_is_the_first_that_exists);
	tcase_add_test(open, open_waits_for_an_answer_no_longer_than_asked);
	tcase_add_test(open, open_without_an_sfd_names_the_socket);
	tcase_add_test(open, every_error_has_its_sentence);
	suite_add_tcase(suite, open);
}
