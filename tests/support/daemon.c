/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See daemon.h.
 */
#include "tests/support/daemon.h"

#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000
#define END_MS 20000
#define REPLY_MS 10000
#define ARGUMENTS_MAX 24

static const char *program_path(void)
{
	const char *path = getenv("SFD_BIN");

	ck_assert_msg(path && *path, "the environment variable SFD_BIN names no sfd");
	return path;
}

static int open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static pid_t spawn(const char *const *arguments, void (*before_exec)(void), int log_fd)
{
	const char *path = program_path();
	const char *all[ARGUMENTS_MAX + 2] = {"sfd"};
	pid_t pid;

	for (int i = 0; arguments[i]; i++) {
		ck_assert_int_lt(i, ARGUMENTS_MAX);
		all[i + 1] = arguments[i];
	}
	(void)fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
		(void)dup2(log_fd, STDOUT_FILENO);
		(void)dup2(log_fd, STDERR_FILENO);
		if (before_exec)
			before_exec();
		(void)execv(path, (char *const *)all);
		_exit(T_CHECK_FAILED);
	}
	return pid;
}

static const char *read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[length > 0 ? length : 0] = '\0';
	return text;
}

/* ---- life ---- */

void t_daemon_init(struct t_daemon *daemon, unsigned nth)
{
	char pattern[64];
	int length;

	*daemon = (struct t_daemon){.machine_id = t_program()->machine_id + nth};
	length = snprintf(pattern, sizeof(pattern), "%s/XXXXXX", t_directory());
	ck_assert_int_lt(length, (int)sizeof(pattern));
	ck_assert_ptr_nonnull(mkdtemp(pattern));
	ck_assert_int_eq(chmod(pattern, 0755), 0);
	memcpy(daemon->directory, pattern, sizeof(pattern));
	(void)snprintf(daemon->runtime_dir, sizeof(daemon->runtime_dir), "%s/run", pattern);
	(void)snprintf(daemon->state_dir, sizeof(daemon->state_dir), "%s/state", pattern);
	(void)snprintf(daemon->config, sizeof(daemon->config), "%s/sfd.conf", pattern);
	(void)snprintf(daemon->log, sizeof(daemon->log), "%s/log", pattern);
	(void)snprintf(daemon->socket, sizeof(daemon->socket), "%s/run/" SF_CONTROL_SOCKET_NAME,
		       pattern);
}

void t_daemon_configure_stream(struct t_daemon *daemon, const char *lines)
{
	FILE *file = fopen(daemon->config, "we");

	ck_assert_ptr_nonnull(file);
	(void)fprintf(file,
		      "[daemon]\nruntime_dir = %s\nstate_dir = %s\nloop = %s\n%s"
		      "[stream default]\n%s",
		      daemon->runtime_dir, daemon->state_dir, daemon->loop ? daemon->loop : "auto",
		      daemon->lines ? daemon->lines : "", lines);
	ck_assert_int_eq(fclose(file), 0);
}

void t_daemon_configure(struct t_daemon *daemon, const char *layout, const char *further)
{
	char lines[1024];

	ck_assert_int_lt(snprintf(lines, sizeof(lines), "layout = %s\nmachine_id = %u\n%s", layout,
				  daemon->machine_id, further),
			 (int)sizeof(lines));
	t_daemon_configure_stream(daemon, lines);
}

static int try_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

int t_connect(const char *path)
{
	int fd = try_connect(path);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

/**
 * Whether this very process answers. A connection alone proves nothing: the listening socket of a
 * sfd that was killed lives on for a moment, until the kernel has taken down its io_uring.
 */
static bool answers(const struct t_daemon *daemon)
{
	struct sf_control_request request = t_request(SF_CONTROL_STATS, "default");
	struct sf_control_stats stats = {0};
	struct pollfd poller = {.fd = try_connect(daemon->socket), .events = POLLIN};
	bool is_ours;

	if (poller.fd < 0)
		return false;
	is_ours = send(poller.fd, &request, sizeof(request), MSG_NOSIGNAL) > 0 &&
		  poll(&poller, 1, REPLY_MS) == 1 &&
		  recv(poller.fd, &stats, sizeof(stats), 0) == sizeof(stats) &&
		  stats.pid == (uint32_t)daemon->pid;
	(void)close(poller.fd);
	return is_ours;
}

void t_daemon_start_with(struct t_daemon *daemon, const char *const *arguments)
{
	int64_t deadline_ns = t_mono_ns() + START_MS * INT64_C(1000000);
	int log_fd = open_log(daemon->log);

	ck_assert_int_eq(daemon->pid, 0);
	daemon->pid = spawn(arguments, daemon->before_exec, log_fd);
	(void)close(log_fd);
	while (!answers(daemon)) {
		ck_assert_msg(t_daemon_lives(daemon), "sfd ended: %s", t_daemon_said(daemon));
		ck_assert_msg(t_mono_ns() < deadline_ns, "sfd does not answer: %s",
			      t_daemon_said(daemon));
		t_nap_ms(1);
	}
}

void t_daemon_start(struct t_daemon *daemon)
{
	t_daemon_start_with(daemon, (const char *const[]){"-c", daemon->config, NULL});
}

void t_daemon_run_with(struct t_daemon *daemon, const char *lines, const char *layout)
{
	t_daemon_init(daemon, 0);
	daemon->lines = lines;
	t_daemon_configure(daemon, layout, "");
	t_daemon_start(daemon);
}

void t_daemon_run(struct t_daemon *daemon, const char *layout, const char *further)
{
	t_daemon_init(daemon, 0);
	t_daemon_configure(daemon, layout, further);
	t_daemon_start(daemon);
}

static void end(struct t_daemon *daemon, int signal_number, int expected)
{
	int code;

	ck_assert_int_gt(daemon->pid, 0);
	ck_assert_int_eq(kill(daemon->pid, signal_number), 0);
	code = t_reap(daemon->pid);
	daemon->pid = 0;
	ck_assert_msg(code == expected, "sfd ended with %d, not %d: %s", code, expected,
		      t_daemon_said(daemon));
}

void t_daemon_kill(struct t_daemon *daemon)
{
	end(daemon, SIGKILL, -SIGKILL);
}

void t_daemon_stop(struct t_daemon *daemon)
{
	end(daemon, SIGTERM, 0);
}

bool t_daemon_lives(const struct t_daemon *daemon)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)daemon->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

const char *t_daemon_said(const struct t_daemon *daemon)
{
	static char text[T_SAID_BYTES];

	return read_text(daemon->log, text, sizeof(text));
}

void t_daemon_assert_said(const struct t_daemon *daemon, const char *part)
{
	ck_assert_msg(strstr(t_daemon_said(daemon), part) != NULL, "sfd did not say \"%s\" but: %s",
		      part, t_daemon_said(daemon));
}

const char *t_path(const char *directory, const char *name)
{
	static char path[4][192];
	static unsigned next;
	char *own = path[next++ % 4];

	ck_assert_int_lt(snprintf(own, sizeof(path[0]), "%s/%s", directory, name),
			 (int)sizeof(path[0]));
	return own;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void t_remove_tree(const char *path)
{
	ck_assert_int_eq(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- runs that end by themselves ---- */

int t_daemon_start_refused(struct t_daemon *daemon, char said[T_SAID_BYTES])
{
	const char *const arguments[] = {"-c", daemon->config, NULL};

	return t_run_sfd(arguments, daemon->before_exec, said);
}

int t_run_sfd(const char *const *arguments, void (*before_exec)(void), char said[T_SAID_BYTES])
{
	int64_t deadline_ns = t_mono_ns() + END_MS * INT64_C(1000000);
	char path[80];
	siginfo_t info = {0};
	int log_fd;
	pid_t pid;
	int code;

	(void)snprintf(path, sizeof(path), "%s/said-%d", t_directory(), (int)getpid());
	(void)unlink(path);
	log_fd = open_log(path);
	pid = spawn(arguments, before_exec, log_fd);
	(void)close(log_fd);
	while (info.si_pid == 0 && t_mono_ns() < deadline_ns) {
		t_nap_ms(1);
		(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
	}
	if (info.si_pid == 0)
		(void)kill(pid, SIGKILL);
	code = t_reap(pid);
	(void)read_text(path, said, T_SAID_BYTES);
	(void)unlink(path);
	ck_assert_msg(info.si_pid != 0, "sfd runs on, though it should refuse: %s", said);
	return code;
}

unsigned t_count_descriptors(pid_t pid)
{
	char path[32];
	unsigned count = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2;
}

/* ---- control channel ---- */

struct sf_control_request t_request(uint16_t type, const char *stream)
{
	struct sf_control_request request = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = type,
			 .length = sizeof(request)},
		.abi_major = SF_SHM_ABI_MAJOR,
		.abi_minor = SF_SHM_ABI_MINOR,
	};

	ck_assert_uint_lt(strlen(stream), sizeof(request.stream));
	memcpy(request.stream, stream, strlen(stream) + 1);
	return request;
}

size_t t_exchange(int fd, const void *message, size_t length, void *reply, size_t size)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	ssize_t received;

	ck_assert_int_eq(send(fd, message, length, MSG_NOSIGNAL), (ssize_t)length);
	ck_assert_msg(poll(&poller, 1, REPLY_MS) == 1, "no reply within %d ms", REPLY_MS);
	received = recv(fd, reply, size, MSG_DONTWAIT);
	return received < 0 ? 0 : (size_t)received;
}

void t_daemon_stats(const struct t_daemon *daemon, struct sf_control_stats *ret_stats)
{
	struct sf_control_request request = t_request(SF_CONTROL_STATS, "default");
	int fd = t_connect(daemon->socket);

	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), ret_stats, sizeof(*ret_stats)),
			  sizeof(*ret_stats));
	ck_assert_int_eq(ret_stats->head.status, 0);
	(void)close(fd);
}

uint64_t t_daemon_counter(const struct t_daemon *daemon, enum sf_counter counter)
{
	struct sf_control_stats stats;

	t_daemon_stats(daemon, &stats);
	return stats.counter[counter];
}
