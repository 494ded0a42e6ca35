/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The running daemon; see server.h. The main thread runs the control loop; there are no others but
 * the beat thread and, on poll(2), a writer of the marks. Stopping goes through the loop, so that
 * no two writes of a mark are ever in flight: the beat thread gives back the runway, then each
 * stream's exact last tick is stored.
 */
#include "daemon/server.h"

#include "daemon/server_impl.h"

#include "daemon/beat.h"
#include "daemon/control.h"
#include "daemon/fsys.h"
#include "daemon/handover.h"
#include "daemon/host.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/marks.h"
#include "daemon/memory.h"
#include "daemon/notify.h"
#include "daemon/orphans.h"
#include "daemon/privilege.h"
#include "daemon/report.h"
#include "daemon/sandbox.h"
#include "daemon/upgrade.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

int sfd_server_complain(int error, const struct sf_why *why, const char *what)
{
	if (why->text[0])
		sfd_log(SFD_LOG_ERROR, "%s", why->text);
	else
		sfd_log(SFD_LOG_ERROR, "%s: %s", what, strerrordesc_np(-error));
	return error;
}

/** Locks a directory, unless the program before has left its lock. */
static int lock_dir(const char *what, const char *dir, mode_t mode, int *fd)
{
	struct sf_why why = {0};
	int error;

	if (*fd >= 0 && sfd_lock_is_of(dir, *fd))
		return 0;
	if (*fd >= 0)
		(void)close(*fd); /* of another directory, as the configuration was then */
	*fd = -1;
	error = sfd_lock_dir(what, dir, mode, fd, &why);
	return error < 0 ? sfd_server_complain(error, &why, "directories") : 0;
}

/** The marks say how far this host has used its machine ids; another host's marks do not. */
static int check_host(const struct sfd_config *config, struct sf_why *why)
{
	int r = sfd_host_check(config->state_dir, false, why);

	if (r > 0)
		sfd_log(SFD_LOG_INFO,
			"this host has no /etc/machine-id: a copy of %s on another host would not "
			"be noticed",
			config->state_dir);
	return r < 0 ? r : 0;
}

/** Locks every machine id of the configuration. */
static int lock_nodes(struct sfd_server *server)
{
	const struct sfd_config *config = server->config;
	struct sf_why why = {0};
	uint32_t count = 0;
	int error = 0;
	uint64_t *id = calloc(config->stream_count * SF_NODES_MAX, sizeof(*id));

	if (!id)
		return sfd_server_complain(-ENOMEM, &why, "machine ids");
	for (size_t i = 0; i < config->stream_count; i++) {
		const struct sfd_stream_config *stream = &config->stream[i];

		for (uint32_t k = 0; k < stream->node_count; k++)
			id[count++] = stream->node[k];
		if (stream->layout.format == SF_FORMAT_HOUND)
			id[count++] = SFD_LOCK_HOUND | stream->machine;
	}
	if (count > 0 && server->node_lock_fd >= 0) {
		error = sfd_lock_more_nodes(server->node_lock_fd, id, count, &why);
	} else if (count > 0) { /* the IDs of the other wide formats carry none */
		error = check_host(config, &why);
		if (error == 0)
			error = sfd_lock_nodes(id, count, &server->node_lock_fd, &why);
	}
	free(id);
	return error < 0 ? sfd_server_complain(error, &why, "machine ids") : 0;
}

static int lock_all(struct sfd_server *server)
{
	const struct sfd_config *config = server->config;
	struct sfd_handover *handover = server->handover;
	int error;

	server->runtime_lock_fd = sfd_handover_take(handover, SFD_HANDOVER_RUNTIME_LOCK);
	server->state_lock_fd = sfd_handover_take(handover, SFD_HANDOVER_STATE_LOCK);
	server->node_lock_fd = sfd_handover_take(handover, SFD_HANDOVER_NODE_LOCK);
	error = lock_dir("runtime", config->runtime_dir, geteuid() == 0 ? 0755 : 0700,
			 &server->runtime_lock_fd);
	if (error == 0)
		error = lock_dir("state", config->state_dir, SFD_STATE_MODE,
				 &server->state_lock_fd);
	return error < 0 ? error : lock_nodes(server);
}

static int open_streams(struct sfd_server *server)
{
	const struct sfd_config *config = server->config;
	const bool is_first = server->handover->previous_fd < 0;
	char boot_id[40];
	struct sf_why why = {0};

	sfd_fsys_boot_id(boot_id, sizeof(boot_id));
	if (!boot_id[0])
		sfd_log(SFD_LOG_WARNING,
			"/proc/sys/kernel/random/boot_id cannot be read: a restart "
			"counts as a reboot, and starts above the durable mark");
	server->stream = calloc(config->stream_count, sizeof(*server->stream));
	if (!server->stream)
		return sfd_server_complain(-ENOMEM, &why, "streams");
	for (; server->stream_count < config->stream_count; server->stream_count++) {
		const struct sfd_stream_config *own = &config->stream[server->stream_count];
		struct sfd_stream_legacy legacy = sfd_handover_legacy(server->handover, own->name);
		int error = sfd_stream_open(&server->stream[server->stream_count], config, own,
					    boot_id, &legacy, &why);

		if (error < 0)
			return sfd_server_complain(error, &why, own->name);
		if (is_first)
			sfd_report_start(&server->stream[server->stream_count]);
	}
	if (!is_first)
		sfd_report_taken_over(server->handover, server->stream, server->stream_count);
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

void sfd_server_report(struct sfd_server *server)
{
	for (size_t i = 0; i < server->stream_count; i++)
		sfd_report_news(&server->stream[i]);
	sfd_report_sync(&server->sync_told);
}

static void on_news(struct sfd_request *request, int result)
{
	struct sfd_server *server = request->owner;
	uint64_t count;

	if (result < 0)
		return;
	(void)!read(server->news_fd, &count, sizeof(count));
	sfd_server_report(server); /* news come every ten seconds, if nothing happens */
	sfd_marks_raise(&server->marks);
}

static void on_marks_final(void *owner)
{
	sfd_loop_stop(((struct sfd_server *)owner)->loop);
}

static void stop(struct sfd_server *server)
{
	sfd_notify_stopping();
	sfd_beat_stop(&server->beat);
	server->beating = false;
	sfd_marks_finish(&server->marks, server->beat.last_tick, on_marks_final, server);
}

static void take_signal(struct sfd_server *server, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD) {
		sfd_orphans_reap(server->upgrade.pid);
		return;
	}
	if (!server->beating)
		return;
	sfd_log(SFD_LOG_INFO, "%s on signal %u from pid %u",
		info->ssi_signo == SIGHUP ? "reloading" : "stopping", info->ssi_signo,
		info->ssi_pid);
	if (info->ssi_signo == SIGHUP)
		sfd_server_reload(server);
	else
		stop(server);
}

static void on_signal(struct sfd_request *request, int result)
{
	struct sfd_server *server = request->owner;
	struct signalfd_siginfo info;

	if (result < 0)
		return;
	/* All of them: several that came together are told of once. */
	while (read(server->signal_fd, &info, sizeof(info)) == sizeof(info))
		take_signal(server, &info);
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
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
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
	sfd_orphans_reap(0); /* whose end nobody was told of */
	return arm_step_timer(server->step_fd);
}

static int start_loop(struct sfd_server *server)
{
	struct sf_why why = {0};
	int error = sfd_loop_new(server->config->loop, &server->loop, &why);

	if (error < 0)
		return sfd_server_complain(error, &why, "control loop");
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
	sfd_marks_watch(&server->marks, server->config->state_dir, &server->state_lock_fd);
	return error < 0 ? sfd_server_complain(error, &why, "control loop") : 0;
}

/** On the socket that the sfd before or the service manager has passed, or else on one of our own.
 */
static int open_control(struct sfd_server *server, struct sf_why *why)
{
	struct sfd_handover *handover = server->handover;
	struct sfd_control_setup setup = {.runtime_dir = server->config->runtime_dir,
					  .stream = server->stream,
					  .stream_count = server->stream_count,
					  .connections_per_user =
						  server->config->connections_per_user,
					  .keeps_path = sfd_notify_has_store(),
					  .upgrade = sfd_server_upgrade,
					  .owner = server};
	int error;

	setup.listen_fd = sfd_handover_take(handover, SFD_HANDOVER_SOCKET);
	if (setup.listen_fd < 0) {
		setup.listen_fd = sfd_handover_take(handover, SFD_HANDOVER_MANAGERS_SOCKET);
		if (setup.listen_fd < 0)
			setup.listen_fd =
				sfd_passed_take_listener(handover->passed, handover->passed_count);
		setup.is_managers = setup.listen_fd >= 0;
	}
	error = sfd_control_open(server->loop, &setup, &server->control, why);
	if (error == 0)
		sfd_control_adopt(server->control, handover);
	return error;
}

/** Everything runs: what the sfd before left is this one's, and the manager keeps it. */
static void settle(struct sfd_server *server)
{
	struct sfd_handover *handover = server->handover;
	char before[sizeof(handover->version)];
	bool is_return = handover->is_return;

	memcpy(before, handover->version, sizeof(before));
	sfd_handover_store(handover, server->stream, server->stream_count,
			   sfd_control_fd(server->control));
	sfd_handover_finish(handover);
	sfd_notify_ready(server->config);
	if (is_return)
		sfd_control_answer(server->control, -ENOEXEC,
				   "the new sfd could not start, its log says why; the one before "
				   "goes on");
	else
		sfd_control_answer(server->control, 0, before);
}

static int start(struct sfd_server *server)
{
	struct sf_why why = {0};
	const bool is_first = server->handover->previous_fd < 0;
	int error = sfd_privilege_drop(server->config, is_first, &why);

	if (error < 0)
		return sfd_server_complain(error, &why, "privileges");
	error = open_descriptors(server);
	if (error < 0)
		return sfd_server_complain(error, &why, "descriptors");
	error = lock_all(server);
	if (error == 0)
		error = open_streams(server);
	if (error == 0)
		error = start_loop(server);
	if (error < 0)
		return error;
	sfd_upgrade_init(&server->upgrade, server->loop, server->argv);
	server->upgrade.checked = sfd_server_checked;
	server->upgrade.owner = server;
	error = sfd_beat_start(&server->beat, server->stream, server->stream_count,
			       server->news_fd);
	if (error < 0)
		return sfd_server_complain(error, &why, "beat thread");
	server->beating = true;
	if (!is_first) /* the one before has told */
		server->sync_told = sfd_sync_read().state;
	sfd_report_sync(&server->sync_told);
	/* Last: whoever finds the socket finds a daemon that publishes. */
	error = open_control(server, &why);
	if (error == 0)
		error = sfd_watchdog_start(server->loop, server->stream->stats, &server->watchdog);
	if (error < 0)
		return sfd_server_complain(error, &why, "control socket");
	sfd_memory_lock(server->stream, server->stream_count);
	(void)sfd_sandbox_enter(server->config->seccomp);
	return 0;
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
	sfd_upgrade_deinit(&server->upgrade);
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

/** Runs until a signal ends it, or what comes after it has gone wrong. */
static int serve(struct sfd_server *server)
{
	int error = 0;

	sfd_log(SFD_LOG_INFO, "serving %zu stream%s in %s", server->config->stream_count,
		server->config->stream_count == 1 ? "" : "s", server->config->runtime_dir);
	settle(server);
	do {
		error = sfd_loop_run(server->loop);
		if (error < 0)
			sfd_log(SFD_LOG_ERROR, "control loop: %s", strerrordesc_np(-error));
		else if (server->is_ready)
			error = sfd_server_hand_over(server);
		else
			break;
	} while (error == 0);
	if (error == 0)
		sfd_log(SFD_LOG_INFO, "stopped");
	return error;
}

int sfd_server_run(const struct sfd_config *config, const struct sfd_flags *flags,
		   char *const *argv, struct sfd_handover *handover)
{
	struct sfd_server server = {.config = config,
				    .flags = flags,
				    .argv = argv,
				    .handover = handover,
				    .sync_told = SFD_SYNC_GOOD,
				    .runtime_lock_fd = -1,
				    .state_lock_fd = -1,
				    .node_lock_fd = -1,
				    .news_fd = -1,
				    .signal_fd = -1,
				    .step_fd = -1};
	int error;

	error = start(&server);
	if (error < 0)
		sfd_handover_return(handover, argv);
	if (error == 0)
		error = serve(&server);
	finish(&server);
	return error;
}
