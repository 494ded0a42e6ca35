/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What is missing for tracing; see host.h. Reads /proc and /sys; judging is pure.
 */
#include "tools/trace/host.h"

#include "tools/sfctl.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SYS_BTF "/sys/kernel/btf/vmlinux"
#define SYS_UPROBE "/sys/bus/event_source/devices/uprobe"
#define SECCOMP_FILTER 2
/* The number of the first user namespace is the same everywhere. */
#define INITIAL_USER_NS "user:[4026531837]"

static bool has_capability(const struct sfctl_trace_host *host, int capability)
{
	return (host->capabilities >> capability & 1) != 0;
}

/* ---- reading ---- */

static FILE *open_file(const char *root, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	return fopen(path, "re");
}

static bool exists(const char *root, const char *name, int mode)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	return access(path, mode) == 0;
}

/** The first line of a file; empty when it cannot be read. */
static void read_line(const char *root, const char *name, char *line, int size)
{
	FILE *file = open_file(root, name);

	if (!file || !fgets(line, size, file))
		line[0] = '\0';
	if (file)
		(void)fclose(file);
}

static void read_status(struct sfctl_trace_host *host, const char *root)
{
	FILE *file = open_file(root, "/proc/self/status");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "CapEff:", 7) == 0)
			host->capabilities = strtoull(line + 7, NULL, 16);
		else if (strncmp(line, "Seccomp:", 8) == 0)
			host->seccomp = (int)strtol(line + 8, NULL, 10);
	}
	if (file)
		(void)fclose(file);
}

/** Whether there is a user namespace, and it is not the first. */
static bool is_nested(const char *root)
{
	char path[PATH_MAX];
	char name[64];
	ssize_t length;

	(void)snprintf(path, sizeof(path), "%s/proc/self/ns/user", root);
	length = readlink(path, name, sizeof(name));
	return length >= 0 && ((size_t)length != strlen(INITIAL_USER_NS) ||
			       memcmp(name, INITIAL_USER_NS, (size_t)length) != 0);
}

/** The word in brackets, of "none [integrity] confidentiality". */
static void read_lockdown(struct sfctl_trace_host *host, const char *root)
{
	char line[80];
	const char *begin;

	read_line(root, "/sys/kernel/security/lockdown", line, sizeof(line));
	begin = strchr(line, '[');
	if (begin)
		(void)snprintf(host->lockdown, sizeof(host->lockdown), "%.*s",
			       (int)strcspn(begin + 1, "]"), begin + 1);
}

void sfctl_trace_host_read(struct sfctl_trace_host *host, const char *root)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	struct utsname name = {.release = "unknown"};
	char line[32];

	*host = (struct sfctl_trace_host){.perf_paranoid = INT_MIN};
	read_status(host, root);
	host->is_nested = is_nested(root);
	read_line(root, "/proc/sys/kernel/perf_event_paranoid", line, sizeof(line));
	if (line[0] != '\0')
		host->perf_paranoid = (int)strtol(line, NULL, 10);
	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	host->memlock = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	host->has_btf = exists(root, SYS_BTF, R_OK);
	host->has_uprobes = exists(root, SYS_UPROBE "/type", R_OK);
	host->has_semaphores = exists(root, SYS_UPROBE "/format/ref_ctr_offset", R_OK);
	read_lockdown(host, root);
	(void)uname(&name);
	(void)snprintf(host->release, sizeof(host->release), "%s", name.release);
}

/* ---- judging ---- */

/** Room for the next sentence. */
static struct sf_why *next(struct sfctl_lacks *lacks)
{
	return &lacks->why[lacks->count++];
}

static void judge_capabilities(const struct sfctl_trace_host *host, struct sfctl_lacks *lacks)
{
	bool has_bpf = has_capability(host, CAP_BPF);
	bool has_perfmon = has_capability(host, CAP_PERFMON);

	if (host->is_nested)
		SFCTL_WHY(next(lacks),
			  "this is a user namespace (a rootless container?), where CAP_BPF and "
			  "CAP_PERFMON count for nothing: run sfctl outside, with the --pid that "
			  "the process has there");
	else if (!has_capability(host, CAP_SYS_ADMIN) && !(has_bpf && has_perfmon))
		SFCTL_WHY(next(lacks),
			  "missing %s%s%s (effective capabilities: %" PRIx64
			  "), or CAP_SYS_ADMIN, which some kernels want besides: give it by setcap "
			  "on sfctl, or by AmbientCapabilities= of a unit",
			  has_bpf ? "" : "CAP_BPF", has_bpf || has_perfmon ? "" : " and ",
			  has_perfmon ? "" : "CAP_PERFMON", host->capabilities);
}

void sfctl_trace_host_lacks(const struct sfctl_trace_host *host, struct sfctl_lacks *ret_lacks)
{
	struct sfctl_lacks *lacks = ret_lacks;

	lacks->count = 0;
	judge_capabilities(host, lacks);
	if (!host->has_btf)
		SFCTL_WHY(next(lacks),
			  "kernel %.40s shows no type information at " SYS_BTF
			  ": take one built with CONFIG_DEBUG_INFO_BTF=y, or mount /sys",
			  host->release);
	if (!host->has_uprobes)
		SFCTL_WHY(next(lacks),
			  "kernel %.40s shows no uprobes at " SYS_UPROBE
			  ": take one built with CONFIG_UPROBE_EVENTS=y, or mount /sys",
			  host->release);
	else if (!host->has_semaphores)
		SFCTL_WHY(next(lacks),
			  "the uprobes of kernel %.40s know no semaphores, there is no " SYS_UPROBE
			  "/format/ref_ctr_offset: take Linux 4.20 or later",
			  host->release);
	if (strcmp(host->lockdown, "confidentiality") == 0)
		SFCTL_WHY(next(lacks),
			  "the kernel is locked down, /sys/kernel/security/lockdown is "
			  "confidentiality, and lets nobody read it: boot with lockdown=integrity");
}

/** No privilege, though those that are certain to be needed are there. */
static void explain_refusal(const struct sfctl_trace_host *host, enum sfctl_trace_step step,
			    const char *what, struct sf_why *why)
{
	if (step == SFCTL_STEP_ATTACH && !has_capability(host, CAP_SYS_ADMIN))
		SFCTL_WHY(why,
			  "%s: it wants CAP_SYS_ADMIN (effective capabilities: %" PRIx64
			  ", kernel.perf_event_paranoid: %d): give it by setcap on sfctl, or by "
			  "AmbientCapabilities= of a unit",
			  what, host->capabilities, host->perf_paranoid);
	else if (host->seccomp == SECCOMP_FILTER)
		SFCTL_WHY(why,
			  "%s: a sandbox's or container's seccomp filter is in force (Seccomp is 2 "
			  "in /proc/self/status): allow bpf and perf_event_open there, or run "
			  "sfctl outside",
			  what);
	else if (step == SFCTL_STEP_LOAD && host->memlock != UINT64_MAX &&
		 !has_capability(host, CAP_SYS_RESOURCE))
		SFCTL_WHY(why,
			  "%s: RLIMIT_MEMLOCK is %" PRIu64
			  " bytes, which kernels before 5.11 count maps against: raise it (ulimit "
			  "-l), or add CAP_SYS_RESOURCE",
			  what, host->memlock);
	else
		SFCTL_WHY(why,
			  "%s, with CAP_BPF and CAP_PERFMON: the log of the kernel or of a "
			  "security module (dmesg, audit) says who refuses",
			  what);
}

void sfctl_trace_host_explain(const struct sfctl_trace_host *host, enum sfctl_trace_step step,
			      int error, struct sf_why *why)
{
	const char *name = strerrorname_np(-error);
	char what[80];

	(void)snprintf(what, sizeof(what), "%s (%s)",
		       step == SFCTL_STEP_LOAD ? "the kernel does not load the programs"
					       : "the kernel does not attach the programs",
		       name ? name : "unknown error");
	if (error == -EPERM || error == -EACCES)
		explain_refusal(host, step, what, why);
	else
		SFCTL_WHY(why,
			  "%s: release %.40s may lack what they need, take Linux 5.15 or later; "
			  "--verbose shows what libbpf says",
			  what, host->release);
}
