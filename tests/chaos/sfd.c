/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See sfd.h.
 */
#include "tests/chaos/sfd.h"

#include "shm/control.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS INT64_C(15000000000)
#define END_NS INT64_C(15000000000)
#define REPLY_MS 5000
#define LOOK_US 1000
#define ENVIRONMENT_MAX 256

/*
 * A runway of 2 s: a client that attaches after a kill waits for its end, and for twice that while
 * time is slewed, which is still less than the 5 s that a call waits by default. Machine ids from a
 * range of their own, should there be no /run/lock of our own.
 */
static const char configuration[] =
	"[daemon]\nruntime_dir = %s/run\nstate_dir = %s\n"
	"[stream default]\nlayout = twitter\nmachine_id = 350\nrunway_ms = 2000\n"
	"[stream fast]\nlayout = t39 n9 s15 epoch=1704067200000\nmachine_id = 360-375\n"
	"ahead_ms = 5\nrunway_ms = 2000\n"
	"[stream low]\nlayout = sonyflake\nmachine_id = 400-401\nrunway_ms = 2000\n"
	"[stream ahead]\nlayout = t41 n10 s12 epoch=1704067200000\nmachine_id = 410, 412\n"
	"clock_backward = ahead\nrunway_ms = 2000\n"
	"[stream refuse]\nlayout = t41 n10 s12 epoch=1704067200000\nmachine_id = 420\n"
	"clock_backward = refuse\nsequence_start = spread\nrunway_ms = 2000\n"
	"[stream wait]\nlayout = t41 n10 s12 epoch=1704067200000\nmachine_id = 421\n"
	"clock_backward = wait\nrunway_ms = 2000\n"
	"[stream ulid]\nformat = ulid\nrunway_ms = 2000\n"
	"[stream uuid7]\nformat = uuid7\nclock_backward = ahead\nrunway_ms = 2000\n"
	"[stream objectid]\nformat = objectid\nrunway_ms = 4000\n"
	"[stream hound]\nformat = hound\nmachine_id = 0x0242ac110150\nrunway_ms = 2000\n"
	"[stream hostile]\nlayout = t41 n10 s12 epoch=1704067200000\nmachine_id = 430\n"
	"runway_ms = 2000\n";

static void join(char path[CHAOS_PATH_BYTES], const struct chaos_sfd *sfd, const char *name)
{
	(void)snprintf(path, CHAOS_PATH_BYTES, "%s/%s", sfd->directory, name);
}

static int configure(const struct chaos_sfd *sfd)
{
	FILE *file = fopen(sfd->config, "we");

	if (!file)
		return -errno;
	(void)fprintf(file, configuration, sfd->directory, sfd->state_dir);
	return fclose(file) == 0 ? 0 : -errno;
}

/** A state disk that is small, and machine ids that clash with no sfd of the host. */
static bool mount_own(const struct chaos_sfd *sfd)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/run/lock", "tmpfs", 0, "size=64k") == 0 &&
	       mount("tmpfs", sfd->state_dir, "tmpfs", 0, "size=256k,mode=700") == 0;
}

static int make_wall(struct chaos_sfd *sfd)
{
	int fd = open(sfd->wall_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	void *memory;

	if (fd < 0 || ftruncate(fd, sizeof(*sfd->wall)) < 0)
		return -errno;
	memory = mmap(NULL, sizeof(*sfd->wall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (memory == MAP_FAILED)
		return -errno;
	sfd->wall = memory;
	return 0;
}

int chaos_sfd_init(struct chaos_sfd *sfd)
{
	(void)snprintf(sfd->directory, sizeof(sfd->directory), "/tmp/sfd-chaos-XXXXXX");
	if (!mkdtemp(sfd->directory) || chmod(sfd->directory, 0755) < 0)
		return -errno;
	join(sfd->state_dir, sfd, "state");
	join(sfd->config, sfd, "sfd.conf");
	join(sfd->log, sfd, "log");
	join(sfd->wall_file, sfd, "wall");
	join(chaos->socket, sfd, "run/" SF_CONTROL_SOCKET_NAME);
	if (mkdir(sfd->state_dir, 0700) < 0)
		return -errno;
	sfd->has_mounts = mount_own(sfd);
	if (configure(sfd) < 0)
		return -errno;
	return make_wall(sfd);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	if (remove(path) < 0 && umount2(path, MNT_DETACH) == 0)
		(void)remove(path);
	return 0;
}

void chaos_sfd_deinit(struct chaos_sfd *sfd)
{
	(void)nftw(sfd->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void chaos_sfd_set_clock(const struct chaos_sfd *sfd, double seconds)
{
	/* Release, pairs with wall_preload.c. */
	atomic_store_explicit(&sfd->wall->offset_ns, (int64_t)(seconds * 1e9),
			      memory_order_release);
}

/* ---- start and end ---- */

/** Our environment, and a wall clock that follows the file. */
static void make_environment(const struct chaos_sfd *sfd, char *own[ENVIRONMENT_MAX])
{
	static char preload[CHAOS_PATH_BYTES * 2];
	static char file[CHAOS_PATH_BYTES * 2];
	unsigned count = 0;

	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", sfd->wall_lib);
	(void)snprintf(file, sizeof(file), T_WALL_VARIABLE "=%s", sfd->wall_file);
	own[count++] = preload;
	own[count++] = file;
	for (unsigned i = 0; environ[i] && count < ENVIRONMENT_MAX - 1; i++)
		own[count++] = environ[i];
	own[count] = NULL;
}

/** Becomes sfd, which does not outlive us. Only what a child of a threaded process may call. */
static _Noreturn void be_sfd(struct chaos_sfd *sfd, char *const own[])
{
	static char name[] = "sfd";
	static char option[] = "-c";
	char *const argv[] = {name, option, sfd->config, NULL};
	int fd = open(sfd->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	(void)setpgid(0, 0); /* not ended by a terminal */
	if (fd >= 0)
		(void)dup2(fd, STDERR_FILENO);
	(void)execve(sfd->program, argv, own);
	_exit(127);
}

static int spawn(struct chaos_sfd *sfd)
{
	char *own[ENVIRONMENT_MAX];

	make_environment(sfd, own);
	sfd->pid = fork();
	if (sfd->pid == 0)
		be_sfd(sfd, own);
	return sfd->pid < 0 ? -errno : 0;
}

bool chaos_sfd_answers(const struct chaos_sfd *sfd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sf_control_request request = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = SF_CONTROL_STATS,
			 .length = sizeof(request)},
		.abi_major = SF_SHM_ABI_MAJOR,
		.abi_minor = SF_SHM_ABI_MINOR,
		.stream = "default",
	};
	struct sf_control_stats stats = {0};
	struct pollfd poller = {.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
				.events = POLLIN};
	bool is_ours;

	if (poller.fd < 0)
		return false;
	memcpy(address.sun_path, chaos->socket, strlen(chaos->socket) + 1);
	is_ours = connect(poller.fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
		  send(poller.fd, &request, sizeof(request), MSG_NOSIGNAL) > 0 &&
		  poll(&poller, 1, REPLY_MS) == 1 &&
		  recv(poller.fd, &stats, sizeof(stats), 0) == sizeof(stats) &&
		  stats.pid == (uint32_t)sfd->pid;
	(void)close(poller.fd);
	return is_ours;
}

bool chaos_sfd_lives(struct chaos_sfd *sfd)
{
	int status = 0;

	if (sfd->pid != 0 && waitpid(sfd->pid, &status, WNOHANG) != sfd->pid)
		return true;
	if (sfd->pid != 0)
		chaos_find("sfd ended by itself with status %#x", (unsigned)status);
	sfd->pid = 0;
	return false;
}

bool chaos_sfd_start(struct chaos_sfd *sfd)
{
	int64_t deadline_ns = chaos_mono_ns() + START_NS;
	int error = spawn(sfd);

	if (error < 0) {
		chaos_find("%s cannot be started: %s", sfd->program, strerror(-error));
		sfd->pid = 0;
		return false;
	}
	while (!chaos_sfd_answers(sfd)) {
		if (!chaos_sfd_lives(sfd))
			return false;
		if (chaos_mono_ns() > deadline_ns) {
			chaos_find("sfd does not answer");
			return false;
		}
		chaos_nap_us(LOOK_US);
	}
	if (sfd->ended_ns != 0)
		sfd->absent_ns = chaos_mono_ns() - sfd->ended_ns;
	return true;
}

/** @return its status; -1 when it does not end */
static int wait_for_end(struct chaos_sfd *sfd)
{
	int64_t deadline_ns = chaos_mono_ns() + END_NS;
	int status = 0;

	while (waitpid(sfd->pid, &status, WNOHANG) == 0) {
		if (chaos_mono_ns() > deadline_ns) {
			(void)kill(sfd->pid, SIGKILL);
			(void)waitpid(sfd->pid, &status, 0);
			status = -1;
			break;
		}
		chaos_nap_us(LOOK_US);
	}
	sfd->pid = 0;
	return status;
}

bool chaos_sfd_end(struct chaos_sfd *sfd, int signal_number)
{
	int expected = signal_number == SIGKILL ? SIGKILL : 0;
	int status;

	sfd->ended_ns = chaos_mono_ns();
	(void)kill(sfd->pid, signal_number);
	status = wait_for_end(sfd);
	if (status == expected)
		return true;
	chaos_find("sfd ended with status %#x after signal %d", (unsigned)status, signal_number);
	return false;
}

bool chaos_sfd_refuses(struct chaos_sfd *sfd)
{
	int status;

	if (spawn(sfd) < 0)
		return false;
	status = wait_for_end(sfd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE)
		return true;
	chaos_find("sfd did not refuse to start, but ended with status %#x", (unsigned)status);
	return false;
}

unsigned chaos_sfd_said(const struct chaos_sfd *sfd, const char *phrase)
{
	FILE *file = fopen(sfd->log, "re");
	char line[1024];
	unsigned count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, phrase) != NULL;
	if (file)
		(void)fclose(file);
	return count;
}

int chaos_sfd_learn(void)
{
	for (unsigned i = 0; i < CHAOS_STREAMS_ALL; i++) {
		struct sf_options options = {.size = sizeof(options),
					     .socket = chaos->socket,
					     .stream = chaos_stream_name(i)};
		struct sf_client *client;
		const struct sf_layout *layout;
		int error = sf_open(&options, &client);

		if (error < 0)
			return error;
		layout = sf_client_layout(client);
		chaos->stream[i].is_wide = layout->format != SF_FORMAT_SNOWFLAKE;
		chaos->stream[i].shift = chaos->stream[i].is_wide ? 0 : layout->sequence_shift;
		chaos->stream[i].step = UINT64_C(1) << chaos->stream[i].shift;
		sf_close(client);
	}
	return 0;
}
