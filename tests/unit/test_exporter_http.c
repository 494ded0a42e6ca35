/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * tools/exporter/accept.c, listen.c and guests.c: what is negotiated, where it listens, and who has
 * to go when connections are many.
 */
#include "tools/exporter/accept.h"
#include "tools/exporter/guests.h"
#include "tools/exporter/listen.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Accept ---- */

static const struct {
	const char *header;
	enum sfctl_exposition wanted;
} accepts[] = {
	{NULL, SFCTL_PROMETHEUS_TEXT},
	{"", SFCTL_PROMETHEUS_TEXT},
	{"*/*", SFCTL_PROMETHEUS_TEXT},
	{"text/html,application/xhtml+xml,*/*;q=0.8", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text", SFCTL_OPENMETRICS},
	{"Application/OpenMetrics-Text; Version=1.0.0 ; charset=utf-8", SFCTL_OPENMETRICS},
	/* Prometheus 2.42 */
	{"application/openmetrics-text;version=1.0.0,"
	 "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/"
	 "*;q=0.1",
	 SFCTL_OPENMETRICS},
	/* Prometheus 3 */
	{"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
	 "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,*/"
	 "*;q=0.2",
	 SFCTL_OPENMETRICS},
	/* Prometheus 2.4 and before */
	{"text/plain;version=0.0.4;q=1,*/*;q=0.1", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;version=0.0.1", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=0", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=0.4,text/plain;q=0.5", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=0.5,text/plain;q=0.5", SFCTL_OPENMETRICS},
	{"application/openmetrics-text;q=0.5,text/*;q=0.9", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=nan", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=9", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=", SFCTL_PROMETHEUS_TEXT},
	{"application/openmetrics-text;q=0.12345678901234567890", SFCTL_OPENMETRICS},
	{",,;;=,; q = 1 ,application/openmetrics-text;=;;", SFCTL_OPENMETRICS},
	{"application/openmetrics-textual", SFCTL_PROMETHEUS_TEXT},
};

START_TEST(accept_header_chooses)
{
	ck_assert_msg(sfctl_accept(accepts[_i].header) == accepts[_i].wanted, "%s",
		      accepts[_i].header);
}
END_TEST

START_TEST(content_types_differ)
{
	ck_assert_str_eq(sfctl_content_type(SFCTL_OPENMETRICS),
			 "application/openmetrics-text; version=1.0.0; charset=utf-8");
	ck_assert_str_eq(sfctl_content_type(SFCTL_PROMETHEUS_TEXT),
			 "text/plain; version=0.0.4; charset=utf-8");
}
END_TEST

/* ---- --listen ---- */

static const struct {
	const char *text;
	const char *host; /* NULL: refused */
	const char *port;
} places[] = {
	{"127.0.0.1:9464", "127.0.0.1", "9464"},
	{"localhost:0", "localhost", "0"},
	{"[::1]:65535", "::1", "65535"},
	{"[::]:09464", "::", "9464"},
	{":9464", NULL, NULL},
	{"9464", NULL, NULL},
	{"", NULL, NULL},
	{"127.0.0.1", NULL, NULL},
	{"127.0.0.1:", NULL, NULL},
	{"127.0.0.1:65536", NULL, NULL},
	{"127.0.0.1:-1", NULL, NULL},
	{"127.0.0.1:http", NULL, NULL},
	{"::1:9464", NULL, NULL},
	{"[]:9464", NULL, NULL},
	{"[::1:9464", NULL, NULL},
	{"unix:", NULL, NULL},
};

START_TEST(listen_place_is_read)
{
	struct sfctl_listen listen = {.port = "old"};
	struct sf_why why = {0};
	int error = sfctl_listen_parse(places[_i].text, &listen, &why);

	if (!places[_i].host) {
		ck_assert_int_eq(error, -EINVAL);
		ck_assert_str_ne(why.text, "");
		ck_assert_str_eq(listen.port, "old");
		return;
	}
	ck_assert_msg(error == 0, "%s", why.text);
	ck_assert(!listen.is_unix);
	ck_assert_str_eq(listen.host, places[_i].host);
	ck_assert_str_eq(listen.port, places[_i].port);
}
END_TEST

START_TEST(listen_unix_path_fits_or_is_refused)
{
	char text[256] = "unix:/";
	struct sfctl_listen listen;
	struct sf_why why;

	memset(text + strlen(text), 'x', sizeof(listen.path) - 2);
	ck_assert_int_eq(sfctl_listen_parse(text, &listen, &why), 0);
	ck_assert(listen.is_unix);
	ck_assert_uint_eq(strlen(listen.path), sizeof(listen.path) - 1);
	(void)strcat(text, "x");
	ck_assert_int_eq(sfctl_listen_parse(text, &listen, &why), -EINVAL);
}
END_TEST

/** A directory of the test's own, and a place in it. */
struct place {
	char directory[32];
	struct sfctl_listen listen;
	struct sfctl_listener listener;
	struct sf_why why;
};

static void place_make(struct place *place)
{
	*place = (struct place){.directory = "/tmp/exporter-XXXXXX", .listen.is_unix = true};
	ck_assert_ptr_nonnull(mkdtemp(place->directory));
	(void)snprintf(place->listen.path, sizeof(place->listen.path), "%s/s", place->directory);
}

static void place_remove(struct place *place)
{
	ck_assert_int_eq(rmdir(place->directory), 0);
}

static int place_open(struct place *place, mode_t mode)
{
	return sfctl_listener_open(&place->listen, mode, &place->listener, &place->why);
}

START_TEST(listener_unix_has_its_mode_and_is_removed)
{
	struct place place;
	struct stat status;

	place_make(&place);
	(void)umask(022);
	ck_assert_int_eq(place_open(&place, 0666), 0);
	ck_assert_int_eq(lstat(place.listen.path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0666);
	ck_assert_uint_eq(umask(022), 022);
	sfctl_listener_close(&place.listener);
	ck_assert_int_eq(access(place.listen.path, F_OK), -1);
	place_remove(&place);
}
END_TEST

START_TEST(listener_unix_takes_the_place_of_a_dead_one_only)
{
	struct sfctl_listener alive;
	struct place place;

	place_make(&place);
	ck_assert_int_eq(place_open(&place, 0600), 0);
	alive = place.listener;
	ck_assert_int_eq(place_open(&place, 0600), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(place.why.text, "somebody else listens"));
	ck_assert_int_eq(access(place.listen.path, F_OK), 0);

	ck_assert_int_eq(close(alive.fd), 0); /* killed: its socket stays */
	ck_assert_int_eq(place_open(&place, 0600), 0);
	sfctl_listener_close(&place.listener);
	place_remove(&place);
}
END_TEST

START_TEST(listener_unix_touches_nothing_else)
{
	struct place place;
	FILE *file;

	place_make(&place);
	file = fopen(place.listen.path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(place_open(&place, 0600), -EEXIST);
	ck_assert_ptr_nonnull(strstr(place.why.text, "not a socket"));
	ck_assert_int_eq(unlink(place.listen.path), 0);
	place_remove(&place);
}
END_TEST

START_TEST(listener_unix_that_was_replaced_is_left)
{
	struct place place;
	struct sfctl_listener first;

	place_make(&place);
	ck_assert_int_eq(place_open(&place, 0600), 0);
	first = place.listener;
	ck_assert_int_eq(unlink(place.listen.path), 0);
	ck_assert_int_eq(place_open(&place, 0600), 0); /* the first's inode is still taken */
	sfctl_listener_close(&first);
	ck_assert_int_eq(access(place.listen.path, F_OK), 0);
	sfctl_listener_close(&place.listener);
	place_remove(&place);
}
END_TEST

START_TEST(listener_tcp_names_the_port_it_got)
{
	struct sfctl_listen listen = {.host = "127.0.0.1", .port = "0"};
	struct sfctl_listener listener;
	struct sfctl_listener other;
	struct sf_why why;
	char name[sizeof(listener.name)];

	ck_assert_int_eq(sfctl_listener_open(&listen, 0, &listener, &why), 0);
	(void)snprintf(listen.port, sizeof(listen.port), "%lu",
		       strtoul(listener.name + strlen("http://127.0.0.1:"), NULL, 10));
	ck_assert_str_ne(listen.port, "0");
	(void)snprintf(name, sizeof(name), "http://127.0.0.1:%s/metrics", listen.port);
	ck_assert_str_eq(listener.name, name);
	ck_assert_int_eq(sfctl_listener_open(&listen, 0, &other, &why), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(why.text, "choose another with --listen"));
	sfctl_listener_close(&listener);
}
END_TEST

START_TEST(listener_tcp_refuses_what_is_not_here)
{
	struct sfctl_listen listen = {.host = "192.0.2.1", .port = "0"};
	struct sfctl_listener listener;
	struct sf_why why;

	ck_assert_int_eq(sfctl_listener_open(&listen, 0, &listener, &why), -EADDRNOTAVAIL);
	ck_assert_ptr_nonnull(strstr(why.text, "192.0.2.1:0"));
	(void)strcpy(listen.host, "no address");
	ck_assert_int_eq(sfctl_listener_open(&listen, 0, &listener, &why), -EADDRNOTAVAIL);
	ck_assert_ptr_nonnull(strstr(why.text, "\"no address\" is no address of this host"));
}
END_TEST

/* ---- guests ---- */

#define GUESTS (SFCTL_GUESTS_MOST + 3)

static int pair[GUESTS][2];

static bool is_shut(int i)
{
	char byte;

	return recv(pair[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

START_TEST(guests_new_ones_cost_the_oldest_their_place)
{
	struct sfctl_guests guests = {0};

	for (int i = 0; i < GUESTS; i++)
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
	for (int i = 0; i < SFCTL_GUESTS_MOST; i++)
		sfctl_guests_enter(&guests, pair[i][0]);
	ck_assert_uint_eq(guests.evicted, 0);
	ck_assert(!is_shut(0));

	sfctl_guests_enter(&guests, pair[SFCTL_GUESTS_MOST][0]);
	ck_assert(is_shut(0));
	ck_assert(!is_shut(1));
	/* the first is still on its way out: the next to go is the second, not the first again */
	sfctl_guests_enter(&guests, pair[SFCTL_GUESTS_MOST + 1][0]);
	ck_assert(is_shut(1));
	ck_assert_uint_eq(guests.evicted, 2);
	sfctl_guests_leave(&guests, pair[0][0]);
	sfctl_guests_leave(&guests, pair[1][0]);
	/* who goes by itself makes room, too */
	sfctl_guests_leave(&guests, pair[2][0]);
	sfctl_guests_enter(&guests, pair[SFCTL_GUESTS_MOST + 2][0]);
	ck_assert(!is_shut(3));
	ck_assert_uint_eq(guests.count, SFCTL_GUESTS_MOST);
	ck_assert_uint_eq(guests.staying, SFCTL_GUESTS_MOST);
	ck_assert_uint_eq(guests.evicted, 2);

	for (int i = 0; i < GUESTS; i++)
		sfctl_guests_leave(&guests, pair[i][0]);
	ck_assert_uint_eq(guests.count, 0);
	ck_assert_uint_eq(guests.staying, 0);
	for (int i = 0; i < GUESTS; i++) {
		(void)close(pair[i][0]);
		(void)close(pair[i][1]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exporter_http");
	TCase *accept = tcase_create("accept");
	TCase *listen = tcase_create("listen");
	TCase *guests = tcase_create("guests");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(accept, accept_header_chooses, 0, sizeof(accepts) / sizeof(accepts[0]));
	tcase_add_test(accept, content_types_differ);
	suite_add_tcase(suite, accept);

	tcase_add_loop_test(listen, listen_place_is_read, 0, sizeof(places) / sizeof(places[0]));
	tcase_add_test(listen, listen_unix_path_fits_or_is_refused);
	tcase_add_test(listen, listener_unix_has_its_mode_and_is_removed);
	tcase_add_test(listen, listener_unix_takes_the_place_of_a_dead_one_only);
	tcase_add_test(listen, listener_unix_touches_nothing_else);
	tcase_add_test(listen, listener_unix_that_was_replaced_is_left);
	tcase_add_test(listen, listener_tcp_names_the_port_it_got);
	tcase_add_test(listen, listener_tcp_refuses_what_is_not_here);
	suite_add_tcase(suite, listen);

	tcase_add_test(guests, guests_new_ones_cost_the_oldest_their_place);
	suite_add_tcase(suite, guests);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
