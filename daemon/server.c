/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The running daemon; see server.h. The main thread runs the control loop; the beat thread is the
 * only other one. Stopping goes through the loop, so that no two writes of a mark are ever in
 * flight: the beat thread gives back the runway, then each stream's exact last tick is stored.
 */
#include "daemon/server.h"

#include "daemon/beat.h"
#include "daemon/control.h"
#include "daemon/fsys.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/marks.h"
#include "daemon/notify.h"
#include "daemon/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct sfd_server {
	const struct sfd_config *config;
	int runtime_lock_fd;
	int state_lock_fd;
	int node_lock_fd;
	struct sfd_stream *stream;
	size_t stream_count; /* opened so far */
	struct sfd_loop *loop;
	struct sfd_control *control;
	struct sfd_watchdog *watchdog;
	struct sfd_beat beat;
	bool beating; /* the thread runs */
	struct sfd_marks marks;
	int news_fd;   /* eventfd of the beat thread */
	int signal_fd; /* SIGTERM, SIGINT */
	int step_fd;   /* timerfd that is cancelled by clock steps */
	struct sfd_request news;
	struct sfd_request signals;
	struct sfd_request steps;
};

static int complain(int error, const struct sf_why *why, const char *what)
{
	if (why->text[0])
		sfd_log(SFD_LOG_ERROR, "%s", why->text);
	else
		sfd_log(SFD_LOG_ERROR, "%s: %s", what, strerrordesc_np(-error));
	return error;
}

static int lock_all(struct sfd_server *server)
{
	const struct sfd_config *config = server->config;
	uint64_t *id;
	uint32_t count = 0;
	struct sf_why why = {0};
	mode_t mode = geteuid() == 0 ? 0755 : 0700;
	int error =
		sfd_lock_dir("runtime", config->runtime_dir, mode, &server->runtime_lock_fd, &why);

	if (error == 0)
		error = sfd_lock_dir("state", config->state_dir, 0700, &server->state_lock_fd,
				     &why);
	if (error < 0)
		return complain(error, &why, "directories");
	id = calloc(config->stream_count * SF_NODES_MAX, sizeof(*id));
	if (!id)
		return complain(-ENOMEM, &why, "machine ids");
	for (size_t i = 0; i < config->stream_count; i++) {
		const struct sfd_stream_config *stream = &config->stream[i];

		for (uint32_t k = 0; k < stream->node_count; k++)
			id[count++] = stream->node[k];
		if (stream->layout.format == SF_FORMAT_HOUND)
			id[count++] = SFD_LOCK_HOUND | stream->machine;
	}
	if (count > 0) /* the IDs of the other wide formats carry none */
		error = sfd_lock_nodes(id, count, &server->node_lock_fd, &why);
	free(id);
	return error < 0 ? complain(error, &why, "machine ids") : 0;
}

static int open_streams(struct sfd_server *server)
{
	const struct sfd_config *config = server->config;
	char boot_id[40];
	struct sf_why why = {0};

	sfd_fsys_boot_id(boot_id, sizeof(boot_id));
	if (!boot_id[0])
		sfd_log(SFD_LOG_WARNING,
			"/proc/sys/kernel/random/boot_id cannot be read: a restart "
			"counts as a reboot, and starts above the durable mark");
	server->stream = calloc(config->stream_count, sizeof(*server->stream));
	if (!server->stream)
		return complain(-ENOMEM, &why, "streams");
	for (; server->stream_count < config->stream_count; server->stream_count++) {
		int error = sfd_stream_open(&server->stream[server->stream_count], config,
					    &config->stream[server->stream_count], boot_id, &why);

		if (error < 0)
			return complain(error, &why, config->stream[server->stream_count].name);
		sfd_report_start(&server->stream[server->stream_count]);
	}
	return 0;
}

/** The timer never fires; what counts is that the kernel cancels it when the wall clock steps. */
static int arm_step_timer(int fd)
{
	struct itimerspec never = {.it_value = {.tv_sec = INT64_C(1) << 33}};

	return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0
		       ? -errno
		       : 0;
}

static void on_step(struct sfd_request *request, int result)
{
	struct sfd_server *server = request->owner;
	uint64_t expirations;

	if (result < 0)
		return;
	(void)!read(server->step_fd, &expirations, sizeof(expirations));
	(void)arm_step_timer(server->step_fd);
	sfd_beat_kick(&server->beat);
}

static void on_news(struct sfd_request *request, int result)
{
	struct sfd_server *server = request->owner;
	uint64_t count;

	if (result < 0)
		return;
	(void)!read(server->news_fd, &count, sizeof(count));
	for (size_t i = 0; i < server->stream_count; i++)
		sfd_report_news(&server->stream[i]);
	sfd_marks_raise(&server->marks);
}

static void on_marks_final(void *owner)
{
	sfd_loop_stop(((struct sfd_server *)owner)->loop);
}

static void on_signal(struct sfd_request *request, int result)
{
	struct sfd_server *server = request->owner;
	struct signalfd_siginfo info = {0};

	if (result < 0)
		return;
	if (read(server->signal_fd, &info, sizeof(info)) != sizeof(info) || !server->beating)
		return;
	sfd_log(SFD_LOG_INFO, "stopping on signal %u from pid %u", info.ssi_signo, info.ssi_pid);
	sfd_notify_stopping();
	sfd_beat_stop(&server->beat);
	server->beating = false;
	sfd_marks_finish(&server->marks, server->beat.last_tick, on_marks_final, server);
}

/** Room for every connection, as far as the hard limit goes. */
static void raise_descriptor_limit(void)
{
	const rlim_t wanted = (rlim_t)2 * SFD_CONNECTIONS_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_descriptors(struct sfd_server *server)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* A full file system or a file size limit must come back as an error. */
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	raise_descriptor_limit();
	server->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	server->step_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (server->news_fd < 0 || server->signal_fd < 0 || server->step_fd < 0)
		return -errno;
	return arm_step_timer(server->step_fd);
}

static int start_loop(struct sfd_server *server)
{
	struct sf_why why = {0};
	int error = sfd_loop_new(server->config->loop, &server->loop, &why);

	if (error < 0)
		return complain(error, &why, "control loop");
	if (why.text[0])
		sfd_log(SFD_LOG_WARNING, "%s", why.text);
	server->news = (struct sfd_request){.done = on_news, .owner = server};
	server->signals = (struct sfd_request){.done = on_signal, .owner = server};
	server->steps = (struct sfd_request){.done = on_step, .owner = server};
	error = sfd_loop_poll(server->loop, server->news_fd, &server->news);
	if (error == 0)
		error = sfd_loop_poll(server->loop, server->signal_fd, &server->signals);
	if (error == 0)
		error = sfd_loop_poll(server->loop, server->step_fd, &server->steps);
	if (error == 0)
		error = sfd_marks_init(&server->marks, server->loop, &server->beat, server->stream,
				       server->stream_count);
	return error < 0 ? complain(error, &why, "control loop") : 0;
}

/** On the socket that the service manager has passed, or else on one of our own. */
static int open_control(struct sfd_server *server, struct sf_why *why)
{
	struct sfd_control_setup setup = {.runtime_dir = server->config->runtime_dir,
					  .stream = server->stream,
					  .stream_count = server->stream_count};
	struct sfd_passed *passed;
	size_t count;
	int error = sfd_notify_listen_fds(&passed, &count);

	if (error < 0)
		return error;
	setup.listen_fd = sfd_passed_take_listener(passed, count);
	setup.is_managers = setup.listen_fd >= 0;
	sfd_passed_free(passed, count);
	return sfd_control_open(server->loop, &setup, &server->control, why);
}

static int start(struct sfd_server *server)
{
	struct sf_why why = {0};
	int error = open_descriptors(server);

	if (error < 0)
		return complain(error, &why, "descriptors");
	error = lock_all(server);
	if (error == 0)
		error = open_streams(server);
	if (error == 0)
		error = start_loop(server);
	if (error < 0)
		return error;
	error = sfd_beat_start(&server->beat, server->stream, server->stream_count,
			       server->news_fd);
	if (error < 0)
		return complain(error, &why, "beat thread");
	server->beating = true;
	/* Last: whoever finds the socket finds a daemon that publishes. */
	error = open_control(server, &why);
	if (error == 0)
		error = sfd_watchdog_start(server->loop, &server->stream->stats, &server->watchdog);
	return error < 0 ? complain(error, &why, "control socket") : 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void finish(struct sfd_server *server)
{
	if (server->beating)
		sfd_beat_stop(&server->beat);
	sfd_beat_deinit(&server->beat);
	server->loop = sfd_loop_free(server->loop);
	server->watchdog = sfd_watchdog_free(server->watchdog);
	sfd_marks_deinit(&server->marks);
	server->control = sfd_control_close(server->control);
	for (size_t i = 0; i < server->stream_count; i++)
		sfd_stream_close(&server->stream[i]);
	free(server->stream);
	close_fd(server->news_fd);
	close_fd(server->signal_fd);
	close_fd(server->step_fd);
	close_fd(server->node_lock_fd);
	close_fd(server->state_lock_fd);
	close_fd(server->runtime_lock_fd);
}

int sfd_server_run(const struct sfd_config *config)
{
	struct sfd_server server = {.config = config,
				    .runtime_lock_fd = -1,
				    .state_lock_fd = -1,
				    .node_lock_fd = -1,
				    .news_fd = -1,
				    .signal_fd = -1,
				    .step_fd = -1};
	int error = start(&server);

	if (error == 0) {
		sfd_log(SFD_LOG_INFO, "serving %zu stream%s in %s", config->stream_count,
			config->stream_count == 1 ? "" : "s", config->runtime_dir);
		sfd_notify_ready(config);
		error = sfd_loop_run(server.loop);
		if (error < 0)
			sfd_log(SFD_LOG_ERROR, "control loop: %s", strerrordesc_np(-error));
		else
			sfd_log(SFD_LOG_INFO, "stopped");
	}
	finish(&server);
	return error;
}
