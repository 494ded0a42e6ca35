/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The checks of `sfctl doctor` that look at this process and its host; see doctor.h. What a client
 * needs is tried, not looked up.
 */
#include "tools/doctor.h"

#include <sfclient.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A client of one stream has three descriptors, for a moment six. */
#define DESCRIPTORS_LEAST 16
#define PAGE_BYTES 4096

/** Reads a line of a file of the kernel's. @return false: there is none */
static bool read_line(const char *path, char *line, size_t size)
{
	ssize_t length = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		length = read(fd, line, size - 1);
		(void)close(fd);
	}
	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return length > 0;
}

/** A child of a fork must find a cursor's page empty. @return 0 or a negative errno */
static int try_wipe_on_fork(void)
{
	void *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = 0;

	if (page == MAP_FAILED)
		return -errno;
	if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) < 0)
		error = -errno;
	(void)munmap(page, PAGE_BYTES);
	return error;
}

/** Nobody else may write what sfd grants. @return 0 or a negative errno */
static int try_seals(void)
{
	int error = 0;
	int fd = memfd_create("sfctl:doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) < 0)
		error = -errno;
	(void)close(fd);
	return error;
}

static void check_kernel(struct sfctl_doctor *doctor)
{
	struct utsname name;
	int wipe = try_wipe_on_fork();
	int seals = try_seals();

	(void)uname(&name);
	if (wipe < 0 || seals < 0)
		sfctl_doctor_add(
			doctor, SFCTL_LEVEL_FAILURE, NULL, "kernel",
			"%s %s: %s: %s: sfd and its clients need Linux 5.1 or later, and a "
			"sandbox that lets this through",
			name.sysname, name.release,
			wipe < 0 ? "MADV_WIPEONFORK" : "F_SEAL_FUTURE_WRITE",
			strerrordesc_np(wipe < 0 ? -wipe : -seals));
	else
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, NULL, "kernel",
				 "%s %s: wipes pages on fork, seals memory", name.sysname,
				 name.release);
}

static void check_time_source(struct sfctl_doctor *doctor)
{
	static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					   "arch_sys_counter"};
	char source[64];
	bool is_fast = false;

	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		       sizeof(source)))
		return; /* no sysfs in this container: nothing to say */
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		is_fast |= strcmp(source, fast[i]) == 0;
	sfctl_doctor_add(doctor, is_fast ? SFCTL_LEVEL_OK : SFCTL_LEVEL_WARNING, NULL,
			 "time source", "%s%s", source,
			 is_fast ? ", read without a system call"
				 : ": every look at the clock enters the kernel; boot with "
				   "clocksource=tsc if the host's CPUs keep it in step");
}

static void check_limits(struct sfctl_doctor *doctor)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_cur < DESCRIPTORS_LEAST)
		sfctl_doctor_add(doctor, SFCTL_LEVEL_WARNING, NULL, "limits",
				 "this user's processes may open %llu files, a client needs some: "
				 "raise it with ulimit -n or LimitNOFILE=",
				 (unsigned long long)limit.rlim_cur);
	else
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, NULL, "limits",
				 "this user's processes may open %llu files",
				 (unsigned long long)limit.rlim_cur);
}

void sfctl_doctor_system(struct sfctl_doctor *doctor)
{
	check_kernel(doctor);
	check_time_source(doctor);
	check_limits(doctor);
}

/** Why the control loop is not what it might be; the sysctl is the usual cause. */
static void check_loop(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	char value[16];
	bool is_off = read_line("/proc/sys/kernel/io_uring_disabled", value, sizeof(value)) &&
		      value[0] != '0';

	if (!stats->loop)
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, NULL, "control loop", "io_uring");
	else if (is_off)
		sfctl_doctor_add(
			doctor, SFCTL_LEVEL_WARNING, NULL, "control loop",
			"poll(2): kernel.io_uring_disabled is %s; set it to 0, or leave it: "
			"IDs cost the same",
			value);
	else
		sfctl_doctor_add(
			doctor, SFCTL_LEVEL_WARNING, NULL, "control loop",
			"poll(2): chosen by loop = poll, or refused by a filter; sfd's log "
			"says which; IDs cost the same");
}

static void check_memory(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	bool is_locked = sfctl_counter(stats, SF_COUNTER_memory_locked) != 0;

	sfctl_doctor_add(doctor, is_locked ? SFCTL_LEVEL_OK : SFCTL_LEVEL_WARNING, NULL,
			 "locked memory", "%s",
			 is_locked ? "sfd cannot be swapped out"
				   : "sfd may be swapped out, and then beats late: allow it "
				     "LimitMEMLOCK=infinity");
}

/** Whoever may connect to the socket may ask; its directory is the usual obstacle. */
static void check_socket(struct sfctl_doctor *doctor, const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return; /* it was connected to a moment ago */
	if ((status.st_mode & 0666) == 0666)
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, NULL, "socket", "%s: every user may ask",
				 path);
	else
		sfctl_doctor_add(
			doctor, SFCTL_LEVEL_WARNING, NULL, "socket",
			"%s has mode %04o: who may attach is the access lists' matter, make "
			"it 0666",
			path, status.st_mode & 07777u);
}

void sfctl_doctor_daemon(struct sfctl_doctor *doctor, const struct sf_control_stats *stats,
			 const char *socket)
{
	check_socket(doctor, socket);
	check_loop(doctor, stats);
	check_memory(doctor, stats);
}

static void keep(void *data, int level, const char *message)
{
	char *text = data;

	(void)level;
	(void)snprintf(text, SFCTL_FINDING_MAX, "%s", message);
}

void sfctl_doctor_access(struct sfctl_doctor *doctor, const char *socket, const char *stream)
{
	char said[SFCTL_FINDING_MAX] = "";
	const struct sf_options options = {.size = sizeof(options),
					   .socket = socket,
					   .stream = stream,
					   .log = keep,
					   .log_data = said};
	struct sf_client *client = NULL;
	int error = sf_open(&options, &client);

	sf_close(client);
	if (error == 0)
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, stream, "access", "user %u may attach",
				 geteuid());
	else
		sfctl_doctor_add(doctor, SFCTL_LEVEL_WARNING, stream, "access", "%.300s",
				 said[0] ? said : sf_strerror(error));
}
