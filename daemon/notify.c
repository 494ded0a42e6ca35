/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The service manager's protocols; see notify.h. What it passes is read through libsystemd. What it
 * is told is sent here, because sd_notify() waits for a manager that does not read, and nothing may
 * stop sfd from serving: a state that cannot be told is only logged.
 */
#include "daemon/notify.h"

#include "daemon/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#define STATUS_BYTES 256
#define MESSAGE_BYTES (STATUS_BYTES + 64)
/* How long a manager that has much to read is waited for, until it does not read at all. */
#define SEND_USEC 200000
/* How often the manager hears of us within the time that it allows. */
#define PINGS 4

struct sfd_watchdog {
	struct sfd_loop *loop;
	const struct sfd_stats *stats;
	uint64_t turns; /* at the last look */
	int64_t every_ns;
	struct sfd_request timer;
};

/** @return the address' length, 0 without a manager, or a negative errno */
static int find_manager(struct sockaddr_un *ret)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length == 0)
		return 0;
	if (length >= sizeof(ret->sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(ret->sun_path, path, length + 1);
	if (path[0] == '@')
		ret->sun_path[0] = '\0';
	return (int)(offsetof(struct sockaddr_un, sun_path) + length);
}

/** @return 0 or a negative errno; -EAGAIN: it does not read */
static int send_message(const struct msghdr *message)
{
	static bool is_deaf; /* it was waited for in vain, once is enough */
	const struct timeval longest = {.tv_usec = SEND_USEC};
	int error = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
	if (sendmsg(fd, message, MSG_NOSIGNAL | (is_deaf ? MSG_DONTWAIT : 0)) < 0)
		error = -errno;
	is_deaf = error == -EAGAIN;
	(void)close(fd);
	return error;
}

/** @param fd goes along; -1: none. @return 1; 0: there is no manager; or a negative errno */
static int notify(const char *state, int fd)
{
	char text[MESSAGE_BYTES];
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(fd))] = {0};
	struct sockaddr_un manager;
	struct iovec part = {.iov_base = text};
	struct msghdr message = {.msg_name = &manager, .msg_iov = &part, .msg_iovlen = 1};
	int r = find_manager(&manager);

	if (r <= 0)
		return r;
	message.msg_namelen = (socklen_t)r;
	part.iov_len = (size_t)snprintf(text, sizeof(text), "%s", state);
	if (part.iov_len >= sizeof(text))
		return -ENAMETOOLONG;
	if (fd >= 0) {
		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		*CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
							    .cmsg_type = SCM_RIGHTS,
							    .cmsg_len = CMSG_LEN(sizeof(fd))};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof(fd));
	}
	r = send_message(&message);
	return r < 0 ? r : 1;
}

static void tell(const char *state)
{
	int r = notify(state, -1);

	if (r < 0)
		sfd_log(SFD_LOG_WARNING, "the service manager cannot be told %.20s: %s", state,
			strerrordesc_np(-r));
}

void sfd_notify_ready(const struct sfd_config *config)
{
	char text[STATUS_BYTES];

	(void)snprintf(text, sizeof(text), "READY=1\nSTATUS=Serving %zu stream%s in %.160s",
		       config->stream_count, config->stream_count == 1 ? "" : "s",
		       config->runtime_dir);
	tell(text);
}

void sfd_notify_reloading(void)
{
	char text[64];
	struct timespec now;

	/* Newer managers tell this reload from an older one by the time. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	tell(text);
}

void sfd_notify_stopping(void)
{
	tell("STOPPING=1\nSTATUS=Giving back the unused runway and storing the marks");
}

/* ---- the watchdog ---- */

static void on_timer(struct sfd_request *request, int result)
{
	struct sfd_watchdog *watchdog = request->owner;
	uint64_t turns = sfd_stats_get(watchdog->stats, SF_COUNTER_wakeups);

	if (result < 0)
		return;
	if (turns != watchdog->turns)
		(void)notify("WATCHDOG=1", -1);
	watchdog->turns = turns;
	(void)sfd_loop_timeout(watchdog->loop, watchdog->every_ns, request);
}

int sfd_watchdog_start(struct sfd_loop *loop, const struct sfd_stats *stats,
		       struct sfd_watchdog **ret_watchdog)
{
	struct sfd_watchdog *watchdog;
	uint64_t usec = 0;
	int error = sd_watchdog_enabled(0, &usec);

	*ret_watchdog = NULL;
	if (error <= 0)
		return error;
	watchdog = calloc(1, sizeof(*watchdog));
	if (!watchdog)
		return -ENOMEM;
	watchdog->loop = loop;
	watchdog->stats = stats;
	watchdog->every_ns = (int64_t)(usec * 1000 / PINGS);
	watchdog->timer = (struct sfd_request){.done = on_timer, .owner = watchdog};
	error = sfd_loop_timeout(loop, watchdog->every_ns, &watchdog->timer);
	if (error < 0)
		free(watchdog);
	else
		*ret_watchdog = watchdog;
	return error;
}

struct sfd_watchdog *sfd_watchdog_free(struct sfd_watchdog *watchdog)
{
	free(watchdog);
	return NULL;
}

/* ---- the manager keeps descriptors ---- */

bool sfd_notify_has_store(void)
{
	const char *most = secure_getenv("FDSTORE");

	return secure_getenv("NOTIFY_SOCKET") != NULL && most != NULL &&
	       strtoul(most, NULL, 10) > 0;
}

/** @param r what notify() returned */
static int result_of(int r)
{
	if (r < 0)
		return r;
	return r == 0 ? -ENOTCONN : 0;
}

int sfd_notify_store(const char *name, int fd)
{
	char text[MESSAGE_BYTES];

	/* FDPOLL=0: it is ours to say when a descriptor is of no use any more. */
	if ((size_t)snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name) >=
	    sizeof(text))
		return -ENAMETOOLONG;
	return result_of(notify(text, fd));
}

int sfd_notify_store_remove(const char *name)
{
	char text[MESSAGE_BYTES];

	if ((size_t)snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s", name) >=
	    sizeof(text))
		return -ENAMETOOLONG;
	return result_of(notify(text, -1));
}

/* ---- the manager passes descriptors ---- */

int sfd_notify_listen_fds(struct sfd_passed **ret, size_t *ret_count)
{
	struct sfd_passed *passed;
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);

	*ret = NULL;
	*ret_count = 0;
	if (count <= 0)
		return count;
	passed = calloc((size_t)count, sizeof(*passed));
	for (int i = 0; i < count; i++) {
		if (!passed) {
			(void)close(SD_LISTEN_FDS_START + i);
			free(names[i]);
			continue;
		}
		passed[i] = (struct sfd_passed){.name = names[i], .fd = SD_LISTEN_FDS_START + i};
	}
	free(names);
	if (!passed)
		return -ENOMEM;
	*ret = passed;
	*ret_count = (size_t)count;
	return 0;
}

void sfd_passed_free(struct sfd_passed *passed, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(passed[i].name);
		if (passed[i].fd >= 0)
			(void)close(passed[i].fd);
	}
	free(passed);
}

int sfd_passed_take_listener(struct sfd_passed *passed, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fd = passed[i].fd;

		if (fd >= 0 && sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0) {
			passed[i].fd = -1;
			return fd;
		}
	}
	return -1;
}
