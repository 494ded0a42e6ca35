/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * From one sfd to the next, in the same process: upgrades and reloads; see server_impl.h.
 *
 * Handing over goes through the loop: the next program is asked (upgrade.c), the last mark write
 * ends, the control channel becomes quiet. Then the loop is left, the beat thread ends without
 * giving anything back, and sfd becomes the next program (handover.c). What fails on the way leaves
 * sfd as it was.
 */
#include "daemon/server_impl.h"

#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/** It does not happen: says so, and goes on. */
static void stay(struct sfd_server *server, int error, const char *why)
{
	sfd_log(SFD_LOG_ERROR, "no hand-over: %s; this sfd goes on", why);
	server->hands_over = false;
	server->is_ready = false;
	sfd_control_answer(server->control, error, why);
	sfd_notify_ready(server->config);
}

static void on_quiet(void *owner)
{
	struct sfd_server *server = owner;

	if (!server->beating) /* a signal to stop came first */
		return;
	server->is_ready = true;
	sfd_loop_stop(server->loop);
}

/** Whether the next program will find the marks: else it could not start, and nor could this one
 *  again. */
static int check_marks(const struct sfd_server *server, struct sf_why *why)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < server->stream_count; i++)
		error = sfd_stream_check_mark(&server->stream[i], server->config->state_dir, why);
	return error;
}

/* The disk may take its time: so the marks come first, while the control channel still answers. */
static void on_drained(void *owner)
{
	struct sfd_server *server = owner;
	struct sf_why why = {0};
	int error;

	if (!server->beating) /* a signal to stop came first */
		return;
	error = check_marks(server, &why);
	if (error == 0) {
		sfd_control_quiesce(server->control, on_quiet);
		return;
	}
	sfd_marks_resume(&server->marks);
	stay(server, error, why.text);
}

void sfd_server_checked(void *owner, const char *why)
{
	struct sfd_server *server = owner;

	if (!server->beating) /* a signal to stop came first */
		return;
	if (why[0])
		stay(server, -ENOEXEC, why);
	else
		sfd_marks_drain(&server->marks, on_drained, server);
}

int sfd_server_upgrade(void *owner, const char *path)
{
	struct sfd_server *server = owner;
	int error;

	if (server->hands_over || !server->beating)
		return -EBUSY;
	error = sfd_upgrade_begin(&server->upgrade, path);
	if (error < 0)
		return error;
	server->hands_over = true;
	sfd_notify_reloading();
	return 0;
}

void sfd_server_reload(struct sfd_server *server)
{
	struct sfd_config config;
	struct sf_why why = {0};
	int error = sfd_config_load(server->flags, &config);

	if (error < 0) {
		sfd_log(SFD_LOG_ERROR, "the configuration was not reloaded: mend it, and send "
				       "SIGHUP again");
		return;
	}
	error = sfd_reload_check(server->config, &config, &why);
	sfd_config_deinit(&config);
	if (error == 0) {
		error = sfd_server_upgrade(server, "");
		if (error < 0)
			(void)snprintf(why.text, sizeof(why.text), "hand-over: %s",
				       strerrordesc_np(-error));
	}
	if (error < 0)
		sfd_log(SFD_LOG_ERROR, "the configuration was not reloaded: %s", why.text);
}

/** Writes down what the next program finds. @return 0 or a negative errno */
static int describe(struct sfd_server *server, struct sfd_handover_draft *draft)
{
	int error = sfd_handover_begin(draft);

	if (error < 0)
		return error;
	sfd_handover_add(draft, SFD_HANDOVER_RUNTIME_LOCK, server->runtime_lock_fd);
	sfd_handover_add(draft, SFD_HANDOVER_STATE_LOCK, server->state_lock_fd);
	sfd_handover_add(draft, SFD_HANDOVER_NODE_LOCK, server->node_lock_fd);
	sfd_handover_add_config(draft, server->config);
	for (size_t i = 0; i < server->stream_count; i++)
		sfd_handover_add_stream(draft, &server->stream[i]);
	sfd_control_hand_over(server->control, draft);
	return 0;
}

int sfd_server_hand_over(struct sfd_server *server)
{
	struct sfd_handover_draft draft;
	char why[160];
	int error;

	sfd_log(SFD_LOG_INFO, "handing over to %s", server->upgrade.path);
	sfd_beat_pause(&server->beat);
	server->beating = false;
	sfd_server_report(server); /* the next one takes it for told */
	error = describe(server, &draft);
	if (error == 0) {
		error = sfd_handover_exec(&draft, server->upgrade.path, server->argv);
		sfd_handover_abandon(&draft);
	}
	(void)snprintf(why, sizeof(why), "%.100s: %s", server->upgrade.path,
		       strerrordesc_np(-error));
	sfd_beat_deinit(&server->beat);
	error = sfd_beat_start(&server->beat, server->stream, server->stream_count,
			       server->news_fd);
	if (error < 0)
		return sfd_server_complain(error, &(struct sf_why){0}, "beat thread");
	server->beating = true;
	sfd_marks_resume(&server->marks);
	error = sfd_control_resume(server->control);
	if (error < 0)
		return sfd_server_complain(error, &(struct sf_why){0}, "control socket");
	stay(server, -ENOEXEC, why);
	return 0;
}
