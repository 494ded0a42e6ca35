/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/access.c: reading access lists, the credentials of a peer, and judging one by the other.
 */
#include "daemon/access.h"

#include <check.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An id that neither root nor the user running the tests has. */
#define STRANGER 54321u

START_TEST(access_parse_reads_names_and_numbers)
{
	struct sfd_access access;
	struct sf_why why = {"old"};

	ck_assert_int_eq(sfd_access_parse("root, @daemon,1000 ,\t@ 50,@50", &access, &why),
			 -ENOENT); /* " 50" is no number */
	ck_assert_int_eq(sfd_access_parse("root, @root,1000 ,\t@50", &access, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert(!access.everyone);
	ck_assert_uint_eq(access.user_count, 2);
	ck_assert_uint_eq(access.user[0], 0);
	ck_assert_uint_eq(access.user[1], 1000);
	ck_assert_uint_eq(access.group_count, 2);
	ck_assert_uint_eq(access.group[0], 0);
	ck_assert_uint_eq(access.group[1], 50);
	sfd_access_deinit(&access);
	ck_assert_ptr_null(access.user);
	sfd_access_deinit(&access);
}
END_TEST

START_TEST(access_parse_of_a_star_lets_everyone_in)
{
	struct sfd_access access;

	ck_assert_int_eq(sfd_access_parse(" * ", &access, NULL), 0);
	ck_assert(access.everyone);
	ck_assert_uint_eq(access.user_count + access.group_count, 0);
	sfd_access_deinit(&access);
}
END_TEST

static const struct {
	const char *text;
	int error;
	const char *sentence;
} wrong_lists[] = {
	{"", -EINVAL, "empty entry"},
	{",", -EINVAL, "empty entry"},
	{"root,", -EINVAL, "empty entry"},
	{"root,,root", -EINVAL, "empty entry"},
	{"@", -EINVAL, "empty entry"},
	{"*,root", -EINVAL, "leave out one or the other"},
	{"root, *", -EINVAL, "leave out one or the other"},
	{"*,*", -EINVAL, "leave out one or the other"},
	{"4294967295", -EINVAL, "legal is [0,4294967294]"},
	{"@99999999999999999999999", -EINVAL, "legal is [0,4294967294]"},
	{"-1", -ENOENT, "no such user"},
	{"root root", -ENOENT, "no such user"},
	{"no-such-user-here", -ENOENT, "\"no-such-user-here\": no such user on this host"},
	{"root, @no-such-group", -ENOENT, "\"no-such-group\": no such group on this host"},
};

START_TEST(access_parse_of_a_wrong_list_names_entry_and_remedy)
{
	struct sfd_access access = {.user_count = 77};
	struct sf_why why;

	ck_assert_int_eq(sfd_access_parse(wrong_lists[_i].text, &access, &why),
			 wrong_lists[_i].error);
	ck_assert_msg(strstr(why.text, wrong_lists[_i].sentence) != NULL, "\"%s\" gave: %s",
		      wrong_lists[_i].text, why.text);
	ck_assert_uint_eq(access.user_count, 77);
	ck_assert_int_eq(sfd_access_parse(wrong_lists[_i].text, &access, NULL),
			 wrong_lists[_i].error);
}
END_TEST

static void connected_pair(int pair[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

START_TEST(peer_init_tells_who_connected)
{
	struct sfd_peer peer;
	int pair[2];

	connected_pair(pair);
	ck_assert_int_eq(sfd_peer_init(pair[0], &peer), 0);
	ck_assert_int_eq(peer.pid, getpid());
	ck_assert_uint_eq(peer.uid, geteuid());
	ck_assert_uint_eq(peer.gid, getegid());
	ck_assert_int_eq((int)peer.group_count, getgroups(0, NULL));
	sfd_peer_deinit(&peer);
	ck_assert_ptr_null(peer.group);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
END_TEST

/* More groups than the first buffer holds; needs root to become a member of them. */
START_TEST(peer_init_of_a_member_of_many_groups_finds_all)
{
	enum {
		MANY = 1000
	};
	static gid_t before[65536];
	gid_t many[MANY];
	struct sfd_peer peer;
	int pair[2];
	int count = getgroups(65536, before);

	ck_assert_int_ge(count, 0);
	for (unsigned i = 0; i < MANY; i++)
		many[i] = 100000 + i;
	if (setgroups(MANY, many) < 0)
		return;
	connected_pair(pair);
	ck_assert_int_eq(setgroups((size_t)count, before), 0);
	ck_assert_int_eq(sfd_peer_init(pair[0], &peer), 0);
	ck_assert_uint_eq(peer.group_count, MANY);
	ck_assert_int_eq(memcmp(peer.group, many, sizeof(many)), 0);
	sfd_peer_deinit(&peer);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
END_TEST

START_TEST(peer_init_of_what_is_no_unix_socket_fails_and_touches_nothing)
{
	struct sfd_peer peer = {.pid = 77};
	int inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ends[2];

	ck_assert_int_eq(sfd_peer_init(-1, &peer), -EBADF);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(sfd_peer_init(ends[0], &peer), -ENOTSOCK);
	if (inet >= 0)
		ck_assert_int_lt(sfd_peer_init(inet, &peer), 0);
	ck_assert_int_eq(peer.pid, 77);
	(void)close(inet);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

static bool allows(const char *text, uid_t uid, gid_t gid, gid_t second)
{
	struct sfd_access access = {0};
	const struct sfd_peer peer = {.uid = uid, .gid = gid, .group = &second, .group_count = 1};
	bool allowed;

	if (text != NULL)
		ck_assert_int_eq(sfd_access_parse(text, &access, NULL), 0);
	allowed = sfd_access_allows(&access, &peer);
	sfd_access_deinit(&access);
	return allowed;
}

START_TEST(access_allows_root_and_the_daemons_user_always)
{
	ck_assert(allows(NULL, 0, STRANGER, STRANGER));
	ck_assert(allows(NULL, geteuid(), STRANGER, STRANGER));
	ck_assert(allows("1", 0, STRANGER, STRANGER));
}
END_TEST

START_TEST(access_allows_listed_users_and_groups_only)
{
	ck_assert(!allows(NULL, STRANGER, STRANGER, STRANGER));
	ck_assert(allows("*", STRANGER, STRANGER, STRANGER));
	ck_assert(allows("1,54321", STRANGER, 7, 7));
	ck_assert(!allows("1,54320", STRANGER, 7, 7));
	ck_assert(allows("@9,@7", STRANGER, 7, 8));
	ck_assert(allows("@9,@7", STRANGER, 8, 7));
	ck_assert(!allows("@9,@7", STRANGER, 8, 8));
}
END_TEST

START_TEST(access_allows_keeps_user_and_group_numbers_apart)
{
	ck_assert(!allows("@54321", STRANGER, 7, 7));
	ck_assert(!allows("7", STRANGER, 7, 7));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("access");
	TCase *lists = tcase_create("lists");
	TCase *peers = tcase_create("peers");
	TCase *judging = tcase_create("judging");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(lists, access_parse_reads_names_and_numbers);
	tcase_add_test(lists, access_parse_of_a_star_lets_everyone_in);
	tcase_add_loop_test(lists, access_parse_of_a_wrong_list_names_entry_and_remedy, 0,
			    sizeof(wrong_lists) / sizeof(wrong_lists[0]));
	tcase_add_test(peers, peer_init_tells_who_connected);
	tcase_add_test(peers, peer_init_of_a_member_of_many_groups_finds_all);
	tcase_add_test(peers, peer_init_of_what_is_no_unix_socket_fails_and_touches_nothing);
	tcase_add_test(judging, access_allows_root_and_the_daemons_user_always);
	tcase_add_test(judging, access_allows_listed_users_and_groups_only);
	tcase_add_test(judging, access_allows_keeps_user_and_group_numbers_apart);
	suite_add_tcase(suite, lists);
	suite_add_tcase(suite, peers);
	suite_add_tcase(suite, judging);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
