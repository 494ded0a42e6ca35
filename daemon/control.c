/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel's connections; see control.h. What a request asks for is in reply.c.
 */
#include "daemon/control.h"

#include "daemon/config.h"
#include "daemon/crowd.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/probe.h"
#include "daemon/reply.h"
#include "daemon/tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_NS INT64_C(5000000000)
/* A clean-up that removes the socket may remove the directory next: until it is through. */
#define RENEW_NS INT64_C(200000000)
#define RENEW_RETRY_NS INT64_C(1000000000)

struct sfd_control {
	struct sfd_loop *loop;
	struct sfd_control_state state; /* what replies are made from */
	struct sfd_listener listener;
	struct sfd_request accept;
	bool starved;             /* said so, and not again until a connection comes in */
	struct sfd_request watch; /* the path may have been removed */
	struct sfd_request renew; /* timeout: looks whether it was */
	bool renew_failed;        /* said so, and not again */
	int next_fd;              /* takes the listener's place when `accept` is idle; -1: none */
	struct sfd_crowd crowd;
	struct sfd_request sweep; /* timeout: looks for replies that nobody reads */
	int (*upgrade)(void *owner, const char *path);
	void *owner;
	/* set while every request ends: called when they all have */
	void (*quiet)(void *owner);
};

static struct sfd_connection *connection_of(struct sfd_request *request)
{
	return request->owner;
}

/** Frees a connection whose request is idle. */
static void connection_free(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;

	sfd_crowd_forget(&control->crowd, connection);
	sfd_connection_forget(&control->state, connection);
	(void)close(connection->fd);
	sfd_peer_deinit(&connection->peer);
	free(connection);
}

/** Whether the channel has become quiet, while it is to. */
static void check_quiet(struct sfd_control *control)
{
	void (*quiet)(void *owner) = control->quiet;

	if (!quiet || !sfd_request_is_idle(&control->accept))
		return;
	for (struct sfd_connection *c = control->state.connections; c; c = c->next)
		if (!sfd_request_is_idle(&c->request))
			return;
	quiet(control->owner);
}

static void on_request(struct sfd_request *request, int result);

static void receive_next(struct sfd_connection *connection)
{
	if (connection->control->quiet) /* the next sfd reads it */
		return;
	connection->request.done = on_request;
	if (sfd_loop_recv(connection->control->loop, connection->fd, &connection->message,
			  sizeof(connection->message), &connection->request) < 0)
		connection_free(connection);
}

/** A reply that a hand-over interrupts: the next sfd does not know it. @return as of sendmsg() */
static int send_at_once(const struct sfd_connection *connection)
{
	ssize_t sent = sendmsg(connection->fd, &connection->header, MSG_NOSIGNAL | MSG_DONTWAIT);

	return sent < 0 ? -errno : (int)sent;
}

static void on_sent(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);
	struct sfd_control *control = connection->control;

	connection->sent_mono_ns = 0;
	if (result == -ECANCELED && control->quiet)
		result = send_at_once(connection);
	if (result < 0 || connection->close_after_reply)
		connection_free(connection);
	else
		receive_next(connection);
	check_quiet(control);
}

/** Sleeps while no reply is on its way. */
static void on_sweep(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;

	if (result == 0 && sfd_crowd_sweep(&control->state, &control->crowd, control->loop))
		(void)sfd_loop_timeout(control->loop, control->crowd.reply_ns, &control->sweep);
}

static void send_reply(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;

	SFD_PROBE4(request_end, &connection->request, (uint32_t)connection->message.head.type,
		   (int32_t)connection->peer.pid, connection->reply.head.status);
	connection->request.done = on_sent;
	connection->sent_mono_ns = sfd_crowd_mono_ns();
	if (sfd_loop_send(control->loop, connection->fd, &connection->header,
			  &connection->request) < 0)
		connection_free(connection);
	else if (control->quiet) /* now or not at all */
		sfd_loop_cancel(control->loop, &connection->request);
	else if (sfd_request_is_idle(&control->sweep))
		(void)sfd_loop_timeout(control->loop, control->crowd.reply_ns, &control->sweep);
}

/** Asks for the upgrade; the reply comes when it is known how that went. */
static void begin_upgrade(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;
	int error = control->upgrade(control->owner, connection->message.upgrade.path);

	connection->awaits = error == 0;
	if (error == 0)
		return;
	if (error == -EBUSY)
		sfd_reply_refuse(connection, error,
				 "sfd is stopping, or another upgrade is under way: try again");
	else
		sfd_reply_refuse(
			connection, error, "sfd cannot execute %.120s: %s; name an sfd that it can",
			connection->message.upgrade.path[0] ? connection->message.upgrade.path
							    : "the file that it was started from",
			strerrordesc_np(-error));
	sfd_log(SFD_LOG_WARNING, "%s", connection->reply.refused.text);
	send_reply(connection);
}

static void on_request(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);
	struct sfd_control *control = connection->control;

	if (result == -ECANCELED && control->quiet) {
		check_quiet(control);
		return;
	}
	if (result > 0)
		SFD_PROBE3(request_begin, request, (uint32_t)connection->message.head.type,
			   (int32_t)connection->peer.pid);
	if (result <= 0)
		connection_free(connection);
	else if (sfd_reply_make(&control->state, connection, (size_t)result))
		send_reply(connection);
	else
		begin_upgrade(connection);
	check_quiet(control);
}

/** @return 0 or a negative errno; the descriptor is then the caller's still */
static int connection_new(struct sfd_control *control, int fd, struct sfd_connection **ret)
{
	struct sfd_connection *connection = calloc(1, sizeof(*connection));
	int error;

	if (!connection)
		return -ENOMEM;
	error = sfd_peer_init(fd, &connection->peer);
	if (error < 0) {
		free(connection);
		return error;
	}
	connection->fd = fd;
	connection->control = control;
	connection->request.owner = connection;
	sfd_connection_add(&control->state, connection);
	*ret = connection;
	return 0;
}

/** Nobody accepts on the removed socket any more. */
static void go_on_with_next(struct sfd_control *control)
{
	sfd_listener_replace(&control->listener, control->next_fd);
	control->next_fd = -1;
	sfd_handover_store_socket(sfd_control_fd(control));
	if (!control->quiet)
		(void)sfd_loop_accept(control->loop, control->listener.fd, &control->accept);
}

static void on_accept(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;
	struct sfd_connection *connection;

	if (result < 0) {
		if (result != -ECANCELED && !control->starved)
			sfd_log(SFD_LOG_ERROR, "%s: connections %s: %s", control->listener.path,
				sfd_request_is_idle(request) ? "are no longer accepted"
							     : "have to wait",
				strerrordesc_np(-result));
		control->starved = result != -ECANCELED;
		if (control->next_fd >= 0 && sfd_request_is_idle(request))
			go_on_with_next(control);
		check_quiet(control);
		return;
	}
	control->starved = false;
	if (connection_new(control, result, &connection) < 0)
		(void)close(result);
	else if (sfd_crowd_admit(&control->state, &control->crowd, control->loop, connection))
		receive_next(connection);
	else
		connection_free(connection);
}

static void look_later(struct sfd_control *control, int64_t delay_ns)
{
	if (!control->quiet && sfd_request_is_idle(&control->renew))
		(void)sfd_loop_timeout(control->loop, delay_ns, &control->renew);
}

static void on_watch(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;

	if (result < 0)
		return;
	sfd_listener_drain_watch(&control->listener);
	look_later(control, RENEW_NS);
}

/** What it means for those who read the log. */
static void tell_renewal(struct sfd_control *control, int error)
{
	const char *path = control->listener.path;

	if (error == 0)
		sfd_log(SFD_LOG_WARNING,
			"%s was removed and is made anew: keep clean-ups of temporary files away",
			path);
	else if (!control->renew_failed)
		sfd_log(SFD_LOG_ERROR,
			"%s was removed, new clients cannot attach, those that are attached go on: "
			"%s",
			path,
			error == -EPERM ? "it is the service manager's, restart its socket unit"
					: strerrordesc_np(-error));
	control->renew_failed = error < 0;
}

static void on_renew(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;
	int fd;

	if (result < 0 || control->quiet || control->next_fd >= 0 ||
	    !sfd_listener_is_gone(&control->listener))
		return;
	fd = control->listener.is_managers ? -EPERM : sfd_listener_make_anew(&control->listener);
	tell_renewal(control, fd < 0 ? fd : 0);
	if (fd < 0) {
		look_later(control, RENEW_RETRY_NS);
		return;
	}
	control->next_fd = fd;
	if (sfd_request_is_idle(&control->accept))
		go_on_with_next(control);
	else
		sfd_loop_cancel(control->loop, &control->accept);
}

/** @return 0 or a negative errno */
static int start_listening(struct sfd_control *control)
{
	int error = sfd_loop_accept(control->loop, control->listener.fd, &control->accept);

	if (error == 0 && control->listener.watch_fd >= 0)
		error = sfd_loop_poll(control->loop, control->listener.watch_fd, &control->watch);
	if (error == 0 && sfd_listener_is_gone(&control->listener))
		look_later(control, RENEW_NS); /* before this sfd got it */
	return error;
}

int sfd_control_open(struct sfd_loop *loop, const struct sfd_control_setup *setup,
		     struct sfd_control **ret_control, struct sf_why *why)
{
	struct sfd_control *control = calloc(1, sizeof(*control));
	int error = 0;

	if (!control) {
		if (setup->listen_fd >= 0)
			(void)close(setup->listen_fd);
		return -ENOMEM;
	}
	control->loop = loop;
	control->listener = (struct sfd_listener){.fd = setup->listen_fd,
						  .is_managers = setup->is_managers,
						  .keeps_path = setup->keeps_path};
	control->next_fd = -1;
	control->upgrade = setup->upgrade;
	control->owner = setup->owner;
	control->state = (struct sfd_control_state){
		.stream = setup->stream,
		.stream_count = setup->stream_count,
		.connections_max = sfd_crowd_total(setup->stream_count),
		.connections_per_user = setup->connections_per_user,
		.loop_is_poll = sfd_loop_backend_of(loop) == SFD_LOOP_POLL};
	control->crowd.reply_ns = setup->reply_ns > 0 ? setup->reply_ns : REPLY_NS;
	control->sweep = (struct sfd_request){.done = on_sweep, .owner = control};
	control->accept = (struct sfd_request){.done = on_accept, .owner = control};
	control->watch = (struct sfd_request){.done = on_watch, .owner = control};
	control->renew = (struct sfd_request){.done = on_renew, .owner = control};
	error = sfd_listener_open(&control->listener, setup->runtime_dir, why);
	if (error == 0)
		error = start_listening(control);
	if (error == 0) {
		*ret_control = control;
		return 0;
	}
	if (!why->text[0])
		(void)snprintf(why->text, sizeof(why->text), "%s: %s", control->listener.path,
			       strerrordesc_np(-error));
	if (control->listener.fd >= 0)
		(void)close(control->listener.fd);
	if (control->listener.watch_fd >= 0)
		(void)close(control->listener.watch_fd);
	free(control);
	return error;
}

/** Another sfd attached it, to a stream that may be gone. */
static void go_on_attached(struct sfd_control *control, struct sfd_connection *connection,
			   const struct sfd_handover_client *client)
{
	struct sfd_stream *stream = sfd_reply_find_stream(&control->state, client->stream);

	if (stream)
		sfd_connection_attach(connection, stream, sfd_tally_adopt(stream, client->tally));
}

void sfd_control_adopt(struct sfd_control *control, struct sfd_handover *handover)
{
	for (size_t i = 0; i < handover->client_count; i++) {
		struct sfd_handover_client *client = &handover->client[i];
		struct sfd_connection *connection;

		if (connection_new(control, client->fd, &connection) < 0)
			continue; /* the hand-over closes it: the client attaches anew */
		client->fd = -1;
		connection->since_unix_ns = client->since_unix_ns;
		memcpy(connection->command, client->command, sizeof(connection->command));
		if (client->attached)
			go_on_attached(control, connection, client);
		connection->awaits = client->awaits;
		if (!client->awaits)
			receive_next(connection);
	}
}

void sfd_control_hand_over(const struct sfd_control *control, struct sfd_handover_draft *draft)
{
	sfd_handover_add(draft,
			 control->listener.is_managers ? SFD_HANDOVER_MANAGERS_SOCKET
						       : SFD_HANDOVER_SOCKET,
			 control->listener.fd);
	for (const struct sfd_connection *c = control->state.connections; c; c = c->next) {
		struct sfd_handover_client client = {.fd = c->fd,
						     .awaits = c->awaits,
						     .attached = c->attached != NULL,
						     .tally = c->tally,
						     .since_unix_ns = c->since_unix_ns};

		if (c->standing == SFD_STANDING_TURNED_AWAY)
			continue; /* the exec closes it */
		if (c->attached)
			memcpy(client.stream, c->attached->config->name, sizeof(client.stream));
		memcpy(client.command, c->command, sizeof(client.command));
		sfd_handover_add_client(draft, &client);
	}
}

void sfd_control_answer(struct sfd_control *control, int error, const char *text)
{
	struct sfd_connection *next;

	for (struct sfd_connection *c = control->state.connections; c; c = next) {
		next = c->next;
		if (!c->awaits)
			continue;
		c->awaits = false;
		c->message.head.type = SF_CONTROL_UPGRADE;
		if (error < 0)
			sfd_reply_refuse(c, error, "%s", text);
		else
			sfd_reply_upgraded(c, text);
		send_reply(c);
	}
}

void sfd_control_quiesce(struct sfd_control *control, void (*quiet)(void *owner))
{
	control->quiet = quiet;
	sfd_loop_cancel(control->loop, &control->accept);
	for (struct sfd_connection *c = control->state.connections; c; c = c->next)
		sfd_loop_cancel(control->loop, &c->request);
}

int sfd_control_resume(struct sfd_control *control)
{
	struct sfd_connection *next;

	control->quiet = NULL;
	for (struct sfd_connection *c = control->state.connections; c; c = next) {
		next = c->next;
		if (!c->awaits)
			receive_next(c);
	}
	look_later(control, RENEW_NS);
	return sfd_loop_accept(control->loop, control->listener.fd, &control->accept);
}

int sfd_control_fd(const struct sfd_control *control)
{
	return control->listener.is_managers ? -1 : control->listener.fd;
}

struct sfd_control *sfd_control_close(struct sfd_control *control)
{
	if (!control)
		return NULL;
	if (control->next_fd >= 0)
		sfd_listener_replace(&control->listener, control->next_fd);
	sfd_listener_close(&control->listener);
	for (struct sfd_connection *connection = control->state.connections; connection;) {
		struct sfd_connection *next = connection->next;

		connection_free(connection);
		connection = next;
	}
	free(control);
	return NULL;
}
