/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The state directory goes bad under a running sfd: its disk hangs, fails or is frozen, or somebody
 * removes or replaces what lies there. IDs go on until the mark is used up, sfd answers all the
 * while and says why, and goes on by itself; or it mends what was done. A mark lasts twenty
 * seconds, so all sfds wait for that together.
 */
#include "tests/support/daemon.h"
#include "tests/support/disk.h"
#include "tests/support/e2e.h"
#include "tests/support/mark_file.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
/* What a mark is raised ahead, and a moment for a busy machine. */
#define MARK_MS 20000
#define GRACE_MS 20000
#define CASES_MAX 8

struct patient;

/** What befalls one sfd. */
struct affliction {
	const char *name;
	const char *loop;
	bool (*prepare)(struct patient *patient); /* before the start; false: not here */
	void (*spoil)(struct patient *patient);
	void (*mend)(struct patient *patient); /* NULL: sfd mends it by itself */
	const char *sentence;
};

struct patient {
	const struct affliction *affliction;
	struct t_daemon daemon;
	struct t_disk *disk;
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last;
	bool is_held;
	struct t_mark_file kept;
};

static struct patient patient[CASES_MAX];
static size_t patient_count;

/* ---- afflictions ---- */

static bool prepare_trap(struct patient *p)
{
	p->disk = t_disk_trap(&p->daemon);
	return p->disk != NULL;
}

static void hang(struct patient *p)
{
	t_disk_answer(p->disk, T_DISK_HANGS);
}

static void err(struct patient *p)
{
	t_disk_answer(p->disk, EIO);
}

static void mend_disk(struct patient *p)
{
	t_disk_answer(p->disk, T_DISK_WORKS);
}

static bool prepare_mount(struct patient *p)
{
	p->disk = t_disk_mount(p->daemon.directory, p->daemon.state_dir);
	return p->disk != NULL;
}

static void freeze(struct patient *p)
{
	t_disk_freeze(p->disk);
}

static void thaw(struct patient *p)
{
	t_disk_thaw(p->disk);
}

static bool prepare_nothing(struct patient *p)
{
	(void)p;
	return true;
}

static void remove_directory(struct patient *p)
{
	t_remove_tree(p->daemon.state_dir);
}

static void put_file_in_place_of_directory(struct patient *p)
{
	int fd;

	remove_directory(p);
	fd = open(p->daemon.state_dir, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static void take_file_away(struct patient *p)
{
	ck_assert_int_eq(unlink(p->daemon.state_dir), 0);
}

/* As from a backup, or from another host, where the file had been written more often. */
static void write_older_copy(struct patient *p)
{
	struct t_mark_file older = p->kept;

	t_mark_file_promise_less(&older, UINT64_C(60000), 100);
	t_mark_file_write(&p->daemon, &older);
}

static void rename_older_copy(struct patient *p)
{
	ck_assert_int_eq(rename(t_path(p->daemon.state_dir, "default.mark"),
				t_path(p->daemon.state_dir, "away")),
			 0);
	write_older_copy(p);
}

static const struct affliction afflictions[] = {
	{"hanging disk, poll", "poll", prepare_trap, hang, mend_disk, "has not taken the mark for"},
	{"failing disk, poll", "poll", prepare_trap, err, mend_disk,
	 "cannot be raised: Input/output error"},
	{"frozen file system", "auto", prepare_mount, freeze, thaw, "has not taken the mark for"},
	{"file in place of the directory", "auto", prepare_nothing, put_file_in_place_of_directory,
	 take_file_away, "/state/sfd.lock: cannot open the lock file: Not a directory"},
	{"removed directory", "auto", prepare_nothing, remove_directory, NULL,
	 "/default.mark was removed or replaced; it was made anew"},
	{"older copy in its place", "auto", prepare_nothing, rename_older_copy, NULL,
	 "/default.mark was removed or replaced; it was made anew"},
	{"older copy written over it", "poll", prepare_nothing, write_older_copy, NULL,
	 "/default.mark was written over; it was written anew"},
};

/* ---- the course ---- */

static uint32_t state_of(const struct patient *p)
{
	struct sf_control_stats stats;

	t_daemon_stats(&p->daemon, &stats);
	return stats.state;
}

static void take(struct patient *p)
{
	uint64_t id = t_next(p->cursor);

	ck_assert_msg(id > p->last, "%s", p->affliction->name);
	p->last = id;
}

static void admit(const struct affliction *affliction)
{
	struct patient *p = &patient[patient_count];

	*p = (struct patient){.affliction = affliction};
	t_daemon_init(&p->daemon, (unsigned)patient_count);
	p->daemon.loop = affliction->loop;
	if (!affliction->prepare(p)) {
		(void)printf("SKIP %s: not possible here\n", affliction->name);
		return;
	}
	patient_count++;
	t_daemon_configure(&p->daemon, LAYOUT, "runway_ms = 200\n");
	t_daemon_start(&p->daemon);
	p->client = t_open(p->daemon.socket, INT64_C(1000000000));
	p->cursor = t_cursor(p->client);
	take(p);
	t_mark_file_read(&p->daemon, &p->kept);
}

/** Until its mark is used up: IDs; and answers all the time. */
static void visit(struct patient *p)
{
	uint64_t id = 0;
	int error = sf_next(p->cursor, &id);

	p->is_held = state_of(p) == SF_SHM_HELD;
	ck_assert_msg(!p->is_held || p->affliction->mend, "%s: held: %s", p->affliction->name,
		      t_daemon_said(&p->daemon));
	if (error == -ETIMEDOUT && p->is_held)
		return;
	ck_assert_msg(error == 0 && id > p->last, "%s: %s", p->affliction->name,
		      sf_strerror(error));
	p->last = id;
}

static bool is_done(const struct patient *p)
{
	if (p->affliction->mend)
		return p->is_held;
	return strstr(t_daemon_said(&p->daemon), p->affliction->sentence) != NULL;
}

/** Visits all until each is held or mended. */
static void watch(void)
{
	int64_t started_ns = t_mono_ns();
	size_t done = 0;

	while (done < patient_count) {
		done = 0;
		for (size_t i = 0; i < patient_count; i++) {
			if (!is_done(&patient[i]))
				visit(&patient[i]);
			done += is_done(&patient[i]);
			ck_assert_msg(is_done(&patient[i]) ||
					      t_mono_ns() - started_ns <
						      (MARK_MS + GRACE_MS) * INT64_C(1000000),
				      "%s: %s", patient[i].affliction->name,
				      t_daemon_said(&patient[i].daemon));
		}
		t_nap_ms(100);
	}
	/* A mark is used up no sooner than it was said to be. */
	for (size_t i = 0; i < patient_count; i++)
		if (patient[i].is_held)
			ck_assert_int_gt(t_mono_ns() - started_ns,
					 (MARK_MS - 2000) * INT64_C(1000000));
}

/** Held: no ID, a reason; and when it is mended, larger IDs. */
static void discharge_held(struct patient *p)
{
	uint64_t id;

	t_daemon_assert_said(&p->daemon, p->affliction->sentence);
	T_WAIT_UNTIL(strstr(t_daemon_said(&p->daemon), "the mark is used up") != NULL, GRACE_MS);
	ck_assert_int_eq(sf_next(p->cursor, &id), -ETIMEDOUT);
	ck_assert_uint_eq(state_of(p), SF_SHM_HELD);
	p->affliction->mend(p);
	T_WAIT_UNTIL(state_of(p) == SF_SHM_RUNNING, GRACE_MS);
	t_daemon_assert_said(&p->daemon, "the mark can be raised again");
	take(p);
}

/** After a crash and a reboot the mark is all that is left: it must lie above. */
static void crash_and_reboot(struct patient *p)
{
	take(p);
	sf_cursor_close(p->cursor);
	sf_close(p->client);
	t_daemon_kill(&p->daemon);
	p->daemon.before_exec = NULL; /* no trap any more */
	t_remove_tree(p->daemon.runtime_dir);
	t_daemon_start(&p->daemon);
	p->client = t_open(p->daemon.socket, INT64_C(30000000000));
	p->cursor = t_cursor(p->client);
	take(p);
	sf_cursor_close(p->cursor);
	sf_close(p->client);
	t_daemon_stop(&p->daemon);
	t_disk_release(p->disk);
}

START_TEST(state_that_goes_bad_under_sfd_never_breaks_a_promise_fc_60_fc_85)
{
	if (T_ASAN || T_TSAN) {
		t_skip(__func__, "takes half a minute, and shows the same as without");
		return;
	}
	for (size_t i = 0; i < sizeof(afflictions) / sizeof(afflictions[0]); i++)
		admit(&afflictions[i]);
	for (size_t i = 0; i < patient_count; i++)
		patient[i].affliction->spoil(&patient[i]);
	watch();
	for (size_t i = 0; i < patient_count; i++) {
		if (patient[i].affliction->mend)
			discharge_held(&patient[i]);
		crash_and_reboot(&patient[i]);
	}
}
END_TEST

/* A clean stop finds the directory gone, and leaves the exact mark all the same. */
START_TEST(stop_without_the_state_directory_leaves_the_mark_fc_85)
{
	struct t_daemon daemon;
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last;

	t_daemon_init(&daemon, CASES_MAX);
	t_daemon_configure(&daemon, LAYOUT, "");
	t_daemon_start(&daemon);
	client = t_open(daemon.socket, INT64_C(30000000000));
	cursor = t_cursor(client);
	for (int i = 0; i < 1000; i++)
		last = t_next(cursor);
	t_remove_tree(daemon.state_dir);
	t_daemon_stop(&daemon);
	t_daemon_assert_said(&daemon, "or the lock in it was removed; it was made anew");
	t_remove_tree(daemon.runtime_dir);
	t_daemon_start(&daemon);
	ck_assert_uint_gt(t_next(cursor), last);
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		state_that_goes_bad_under_sfd_never_breaks_a_promise_fc_60_fc_85,
		stop_without_the_state_directory_leaves_the_mark_fc_85,
	};
	const struct t_program program = {.name = "disk",
					  .machine_id = 320,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
