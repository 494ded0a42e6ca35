/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfctl trace says of a host that lacks something, and where it looks for probes.
 */
#include "tools/trace/host.h"
#include "tools/trace/notes.h"
#include "tools/trace/target.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(n) (UINT64_C(1) << (n))
/* Three places stand in a sentence's way before it is cut. */
#define SENTENCE_MAX (sizeof(((struct sf_why *)0)->text) - 1)

/* ---- what is missing ---- */

static struct sfctl_trace_host able(void)
{
	return (struct sfctl_trace_host){.capabilities = UINT64_MAX,
					 .perf_paranoid = 2,
					 .memlock = UINT64_MAX,
					 .has_btf = true,
					 .has_uprobes = true,
					 .has_semaphores = true,
					 .release = "6.1.0"};
}

static void assert_lacks(const struct sfctl_trace_host *host, size_t count, const char *part)
{
	struct sfctl_lacks lacks;

	sfctl_trace_host_lacks(host, &lacks);
	ck_assert_uint_eq(lacks.count, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(strlen(lacks.why[i].text) < SENTENCE_MAX, "cut: %s",
			      lacks.why[i].text);
	if (count > 0)
		ck_assert_msg(strstr(lacks.why[0].text, part) != NULL, "no \"%s\" in: %s", part,
			      lacks.why[0].text);
}

START_TEST(able_host_lacks_nothing)
{
	struct sfctl_trace_host host = able();

	assert_lacks(&host, 0, "");
	host.capabilities = BIT(CAP_BPF) | BIT(CAP_PERFMON);
	assert_lacks(&host, 0, "");
	host.capabilities = BIT(CAP_SYS_ADMIN);
	assert_lacks(&host, 0, "");
}
END_TEST

START_TEST(each_lack_is_named_fc79)
{
	struct sfctl_trace_host host = able();

	host.capabilities = ~(BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF) | BIT(CAP_PERFMON));
	assert_lacks(&host, 1,
		     "missing CAP_BPF and CAP_PERFMON (effective capabilities: ffffff3fffdfffff)");
	host.capabilities = BIT(CAP_BPF);
	assert_lacks(&host, 1, "missing CAP_PERFMON (");
	host.capabilities = BIT(CAP_PERFMON);
	assert_lacks(&host, 1, "missing CAP_BPF (");
	host = able();
	host.is_nested = true;
	assert_lacks(&host, 1, "user namespace");
	host = able();
	host.has_btf = false;
	memset(host.release, 'x', sizeof(host.release) - 1);
	assert_lacks(&host, 1, "CONFIG_DEBUG_INFO_BTF");
	host.has_btf = true;
	host.has_uprobes = false;
	host.has_semaphores = false;
	assert_lacks(&host, 1, "CONFIG_UPROBE_EVENTS");
	host.has_uprobes = true;
	assert_lacks(&host, 1, "ref_ctr_offset");
	host = able();
	strcpy(host.lockdown, "confidentiality");
	assert_lacks(&host, 1, "lockdown=integrity");
	strcpy(host.lockdown, "integrity");
	assert_lacks(&host, 0, "");
	memset(&host, 0, sizeof(host));
	assert_lacks(&host, 3, "CAP_BPF");
}
END_TEST

static void assert_explains(const struct sfctl_trace_host *host, enum sfctl_trace_step step,
			    int error, const char *part)
{
	struct sf_why why;

	sfctl_trace_host_explain(host, step, error, &why);
	ck_assert_msg(strlen(why.text) < SENTENCE_MAX, "cut: %s", why.text);
	ck_assert_msg(strstr(why.text, part) != NULL, "no \"%s\" in: %s", part, why.text);
}

START_TEST(each_refusal_has_its_cause_fc79)
{
	struct sfctl_trace_host host = able();

	assert_explains(&host, SFCTL_STEP_LOAD, -EPERM, "audit");
	assert_explains(&host, SFCTL_STEP_ATTACH, -EACCES, "audit");
	host.seccomp = 2;
	assert_explains(&host, SFCTL_STEP_LOAD, -EPERM, "seccomp");
	host.seccomp = 0;
	host.capabilities = BIT(CAP_BPF) | BIT(CAP_PERFMON);
	host.perf_paranoid = INT_MIN;
	assert_explains(&host, SFCTL_STEP_ATTACH, -EACCES, "CAP_SYS_ADMIN");
	host.perf_paranoid = 4;
	assert_explains(&host, SFCTL_STEP_ATTACH, -EACCES, "perf_event_paranoid: 4");
	host.memlock = 65536;
	assert_explains(&host, SFCTL_STEP_LOAD, -EPERM, "RLIMIT_MEMLOCK is 65536");
	host.capabilities |= BIT(CAP_SYS_RESOURCE);
	assert_explains(&host, SFCTL_STEP_LOAD, -EPERM, "audit");
	memset(host.release, 'x', sizeof(host.release) - 1);
	assert_explains(&host, SFCTL_STEP_ATTACH, -EINVAL, "EINVAL");
	assert_explains(&host, SFCTL_STEP_LOAD, -ENOTSUP, "Linux 5.15");
	assert_explains(&host, SFCTL_STEP_LOAD, -100000, "unknown error");
}
END_TEST

static char root[] = "/tmp/trace-host-XXXXXX";

/** A file below the root, and the folders that lead there. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	(void)fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(host_is_read)
{
	struct sfctl_trace_host host;
	char path[PATH_MAX];

	strcpy(root, "/tmp/trace-host-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	sfctl_trace_host_read(&host, root);
	ck_assert_uint_eq(host.capabilities, 0);
	ck_assert_int_eq(host.perf_paranoid, INT_MIN);
	ck_assert(!host.is_nested && !host.has_btf && !host.has_uprobes && !host.has_semaphores);
	ck_assert_str_eq(host.lockdown, "");
	put("/proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\nSeccomp:\t2\n");
	put("/proc/self/ns/mnt", "");
	put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	put("/sys/kernel/btf/vmlinux", "x");
	put("/sys/bus/event_source/devices/uprobe/type", "8\n");
	put("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", "config:32-63\n");
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	(void)snprintf(path, sizeof(path), "%s/proc/self/ns/user", root);
	ck_assert_int_eq(symlink("user:[4026531837]", path), 0);
	sfctl_trace_host_read(&host, root);
	ck_assert_uint_eq(host.capabilities, BIT(CAP_BPF) | BIT(CAP_PERFMON));
	ck_assert_int_eq(host.seccomp, 2);
	ck_assert_int_eq(host.perf_paranoid, -1);
	ck_assert(!host.is_nested && host.has_btf && host.has_uprobes && host.has_semaphores);
	ck_assert_str_eq(host.lockdown, "integrity");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("user:[4026532000]", path), 0);
	sfctl_trace_host_read(&host, root);
	ck_assert(host.is_nested);
	(void)snprintf(path, sizeof(path), "rm -r %s", root);
	ck_assert_int_eq(system(path), 0);
}
END_TEST

/* ---- where probes are ---- */

START_TEST(notes_are_only_in_elf_files_that_have_them)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int text = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	ck_assert(self >= 0 && text >= 0);
	ck_assert(!sfctl_notes_have(self, "nobodys"));
	ck_assert(!sfctl_notes_have(text, "sfclient"));
	(void)close(self);
	(void)close(text);
}
END_TEST

START_TEST(process_without_probes_is_refused)
{
	const struct sfctl_provider nobodys = {"nobodys", "test_trace_host", "nobody"};
	const struct sfctl_provider others = {"nobodys", "no such name", "nobody"};
	struct sfctl_targets targets;
	struct sf_why why;

	ck_assert_int_eq(sfctl_targets_init(&targets, &nobodys, getpid(), &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "test_trace_host without probes"));
	ck_assert_int_eq(sfctl_targets_init(&targets, &others, getpid(), &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "has no nobody"));
	ck_assert_int_eq(sfctl_targets_init(&targets, &others, INT_MAX, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "there is no process"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_host");
	TCase *host = tcase_create("host");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, host);
	tcase_add_test(host, able_host_lacks_nothing);
	tcase_add_test(host, each_lack_is_named_fc79);
	tcase_add_test(host, each_refusal_has_its_cause_fc79);
	tcase_add_test(host, host_is_read);
	tcase_add_test(host, notes_are_only_in_elf_files_that_have_them);
	tcase_add_test(host, process_without_probes_is_refused);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
