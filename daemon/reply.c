/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Replies of the control channel; see reply.h.
 */
#include "daemon/reply.h"

#include "daemon/crowd.h"
#include "daemon/log.h"
#include "daemon/probe.h"
#include "daemon/sync.h"
#include "daemon/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void sfd_connection_add(struct sfd_control_state *state, struct sfd_connection *connection)
{
	connection->next = state->connections;
	connection->link = &state->connections;
	if (connection->next)
		connection->next->link = &connection->next;
	state->connections = connection;
	state->connection_count++;
}

static void detach(struct sfd_connection *connection)
{
	if (!connection->attached)
		return;
	sfd_stats_set(connection->attached->stats, SF_COUNTER_clients,
		      sfd_stats_get(connection->attached->stats, SF_COUNTER_clients) - 1);
	connection->attached = NULL;
	connection->tally = 0;
}

void sfd_connection_forget(struct sfd_control_state *state, struct sfd_connection *connection)
{
	detach(connection);
	*connection->link = connection->next;
	if (connection->next)
		connection->next->link = connection->link;
	state->connection_count--;
}

void sfd_connection_attach(struct sfd_connection *connection, struct sfd_stream *stream,
			   uint32_t tally)
{
	connection->attached = stream;
	connection->tally = tally;
	sfd_stats_add(stream->stats, SF_COUNTER_clients, 1);
}

/** Starts a reply of a type; the caller fills the rest. */
static void begin(struct sfd_connection *connection, uint16_t type, size_t length, int status)
{
	memset(&connection->reply, 0, length);
	connection->reply.head = (struct sf_control_head){.magic = SF_CONTROL_MAGIC,
							  .version = SF_CONTROL_VERSION,
							  .type = type,
							  .length = (uint32_t)length,
							  .status = status};
	connection->part = (struct iovec){.iov_base = &connection->reply, .iov_len = length};
	connection->header = (struct msghdr){.msg_iov = &connection->part, .msg_iovlen = 1};
}

void sfd_reply_refuse(struct sfd_connection *connection, int status, const char *format, ...)
{
	va_list arguments;

	begin(connection, connection->message.head.type, sizeof(connection->reply.refused), status);
	va_start(arguments, format);
	(void)vsnprintf(connection->reply.refused.text, sizeof(connection->reply.refused.text),
			format, arguments);
	va_end(arguments);
}

struct sfd_stream *sfd_reply_find_stream(struct sfd_control_state *state, const char *name)
{
	for (size_t i = 0; i < state->stream_count; i++)
		if (strcmp(state->stream[i].config->name, name) == 0)
			return &state->stream[i];
	return NULL;
}

static void add_descriptors(struct sfd_connection *connection, const struct sfd_ring *ring)
{
	int fds[2] = {ring->grants_fd, ring->claims_fd};
	struct cmsghdr *control;

	connection->header.msg_control = connection->descriptors;
	connection->header.msg_controllen = sizeof(connection->descriptors);
	control = CMSG_FIRSTHDR(&connection->header);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(control), fds, sizeof(fds));
}

/** The peer's command name, for people; empty when it cannot be read. */
static void read_command(struct sfd_connection *connection)
{
	char path[32];
	ssize_t length;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)connection->peer.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, connection->command, sizeof(connection->command) - 1);
	(void)close(fd);
	if (length <= 0)
		length = 1;
	connection->command[length - 1] = '\0'; /* the newline */
	/* A process names itself as it likes: it must not write lines of ours. */
	for (char *at = connection->command; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

static void refuse_at_limit(const struct sfd_control_state *state,
			    struct sfd_connection *connection)
{
	char text[sizeof(connection->reply.refused.text)];

	sfd_crowd_explain(state, connection, text, sizeof(text));
	sfd_reply_refuse(connection, -EUSERS, "%s", text);
}

static bool may_attach(struct sfd_control_state *state, struct sfd_connection *connection,
		       const struct sfd_stream *stream)
{
	const struct sf_control_request *message = &connection->message.request;

	if (message->abi_major != SF_SHM_ABI_MAJOR) {
		sfd_reply_refuse(
			connection, -EPROTO,
			"this sfd has ring ABI version %d, the client knows %u: upgrade the older "
			"one",
			SF_SHM_ABI_MAJOR, message->abi_major);
		return false;
	}
	if (message->abi_minor < 1 && stream->config->clock_backward != SFD_CLOCK_SLEW) {
		sfd_reply_refuse(connection, -EPROTO,
				 "stream %s has a clock_backward that libsfclient 0.1 does not "
				 "know: upgrade "
				 "the client",
				 stream->config->name);
		return false;
	}
	if (!sfd_access_allows(&stream->config->access, &connection->peer)) {
		sfd_reply_refuse(
			connection, -EACCES,
			"stream %s: user %u may not attach: add it to the stream's allow list",
			stream->config->name, connection->peer.uid);
		sfd_log_limited(&state->refused_log, SFD_LOG_WARNING,
				"stream %s: user %u, pid %d, may not attach: it is not on the "
				"allow list",
				stream->config->name, connection->peer.uid,
				(int)connection->peer.pid);
		return false;
	}
	return true;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void reply_attach(struct sfd_control_state *state, struct sfd_connection *connection,
			 struct sfd_stream *stream)
{
	struct sf_control_attached *attached = &connection->reply.attached;
	struct sf_shm_grants *grants = stream->ring.shm.grants;
	bool knows_tallies = connection->message.request.abi_minor >= SF_SHM_ABI_MINOR_TALLIES;
	uint32_t tally = 0;

	if (!may_attach(state, connection, stream)) {
		sfd_stats_add(stream->stats, SF_COUNTER_attaches_refused, 1);
		return;
	}
	detach(connection);
	if (knows_tallies)
		tally = sfd_tally_assign(state, stream);
	begin(connection, SF_CONTROL_ATTACH,
	      knows_tallies ? sizeof(*attached) : SF_CONTROL_ATTACHED_SHORT, 0);
	attached->tally = tally;
	attached->generation = grants->generation;
	attached->grants_bytes = grants->total_bytes;
	attached->claims_bytes = grants->claims_bytes;
	attached->mono_ns = clock_ns(CLOCK_MONOTONIC);
	add_descriptors(connection, &stream->ring);
	connection->since_unix_ns = clock_ns(CLOCK_REALTIME);
	read_command(connection);
	sfd_connection_attach(connection, stream, tally);
	sfd_stats_add(stream->stats, SF_COUNTER_attaches, 1);
}

static void gauge_sync(struct sfd_stats *stats)
{
	struct sfd_sync sync = sfd_sync_read();

	sfd_stats_set(stats, SF_COUNTER_clock_sync, sync.state);
	sfd_stats_set(stats, SF_COUNTER_clock_error_max_us, (uint64_t)sync.error_max_us);
	sfd_stats_set(stats, SF_COUNTER_clock_error_est_us, (uint64_t)sync.error_est_us);
	sfd_stats_set(stats, SF_COUNTER_clock_leap, sync.leap);
}

/** Values that nobody else keeps: read now from the ring and the clocks. */
static void gauge(struct sfd_stream *stream)
{
	struct sfd_stats *stats = stream->stats;
	const struct sf_shm_ring *ring = &stream->ring.shm;
	const struct sf_layout *layout = &stream->config->layout;
	uint64_t per_second = (uint64_t)ring->grants->capacity * 1000 / layout->tick_ms;
	struct sf_shm_clock clock;
	uint64_t now = 0;
	uint64_t horizon = sf_shm_horizon(ring);

	if (sf_shm_time_read(&ring->grants->time, &clock) == 0)
		now = sf_shm_tick_at(layout,
				     sf_shm_clock_unix_ns(&clock, clock_ns(CLOCK_MONOTONIC)));
	sfd_stats_set(stats, SF_COUNTER_ids_claimed, sfd_engine_claimed(&stream->engine));
	/* relaxed: statistics, and written by clients */
	sfd_stats_set(stats, SF_COUNTER_ids_dropped,
		      atomic_load_explicit(&ring->claims->dropped, memory_order_relaxed));
	sfd_stats_set(stats, SF_COUNTER_waits,
		      atomic_load_explicit(&ring->claims->waits, memory_order_relaxed));
	sfd_stats_set(stats, SF_COUNTER_capacity_per_second, per_second);
	sfd_stats_set(stats, SF_COUNTER_capacity_used_ppm,
		      per_second ? (uint64_t)((double)sfd_stats_get(stats, SF_COUNTER_rate_1s) *
					      1e6 / (double)per_second)
				 : 0);
	sfd_stats_set(stats, SF_COUNTER_now_tick, now);
	sfd_stats_set(stats, SF_COUNTER_horizon_tick, horizon);
	sfd_stats_set(stats, SF_COUNTER_floor_tick, sf_shm_floor(ring));
	sfd_stats_set(stats, SF_COUNTER_mark_tick,
		      atomic_load_explicit(&stream->mark_tick, memory_order_relaxed));
	sfd_stats_set(stats, SF_COUNTER_runway_ms,
		      horizon > now ? (horizon - now) * layout->tick_ms : 0);
	gauge_sync(stats);
	sfd_stats_set(stats, SF_COUNTER_uptime_ms,
		      (uint64_t)(clock_ns(CLOCK_MONOTONIC) - stream->started_mono_ns) / 1000000);
}

static void reply_stats(struct sfd_control_state *state, struct sfd_connection *connection,
			struct sfd_stream *stream)
{
	struct sf_control_stats *reply = &connection->reply.stats;
	struct sf_shm_grants *grants = stream->ring.shm.grants;

	gauge(stream);
	begin(connection, SF_CONTROL_STATS, sizeof(*reply), 0);
	memcpy(reply->stream, stream->config->name, sizeof(reply->stream));
	reply->index = (uint32_t)(stream - state->stream);
	reply->stream_count = (uint32_t)state->stream_count;
	reply->pid = (uint32_t)getpid();
	/* relaxed: a statistic */
	reply->state = atomic_load_explicit(&grants->state, memory_order_relaxed);
	reply->ahead_ticks = grants->ahead_ticks;
	reply->runway_ticks = grants->runway_ticks;
	reply->node_count = grants->node_count;
	reply->loop = state->loop_is_poll;
	(void)snprintf(reply->version, sizeof(reply->version), "%s", SF_VERSION);
	reply->started_unix_ns = stream->started_unix_ns;
	reply->now_unix_ns = clock_ns(CLOCK_REALTIME);
	reply->layout = grants->layout;
	for (int i = 0; i < SF_COUNTER_COUNT; i++)
		reply->counter[i] = sfd_stats_get(stream->stats, (enum sf_counter)i);
	/* The beat thread's is as old as its last turn. */
	reply->counter[SF_COUNTER_wall_offset_us] = (uint64_t)(sfd_stream_offset_ns(stream) / 1000);
	memcpy(reply->node, grants->node, sizeof(reply->node));
}

/** A client says what it likes of itself, but no more than all of them have got. */
static void bound_ids(struct sf_control_clients *reply, const struct sfd_stream *stream)
{
	uint64_t claimed = sfd_engine_claimed(&stream->engine);

	for (uint32_t i = 0; i < reply->count; i++) {
		struct sf_control_client *client = &reply->client[i];

		if (client->ids != SF_CONTROL_NOT_COUNTED && client->ids > claimed)
			client->ids = claimed;
	}
}

static void reply_clients(struct sfd_control_state *state, struct sfd_connection *connection,
			  const struct sfd_stream *stream)
{
	struct sf_control_clients *reply = &connection->reply.clients;
	uint32_t offset = connection->message.request.offset;

	begin(connection, SF_CONTROL_CLIENTS, sizeof(*reply), 0);
	for (struct sfd_connection *c = state->connections; c; c = c->next) {
		struct sf_control_client *client = &reply->client[reply->count];

		if (c->attached != stream)
			continue;
		if (reply->total++ < offset || reply->count == SF_CONTROL_CLIENTS_PAGE)
			continue;
		client->pid = (uint32_t)c->peer.pid;
		client->uid = c->peer.uid;
		client->since_unix_ns = c->since_unix_ns;
		memcpy(client->command, c->command, sizeof(client->command));
		client->ids = c->tally ? sfd_tally_read(stream, c->tally) : SF_CONTROL_NOT_COUNTED;
		reply->count++;
	}
	bound_ids(reply, stream);
}

/** Every text of a request ends. */
static bool is_terminated(const struct sfd_connection *connection)
{
	if (connection->message.head.type == SF_CONTROL_UPGRADE)
		return memchr(connection->message.upgrade.path, '\0', SF_CONTROL_PATH_MAX) != NULL;
	return memchr(connection->message.request.stream, '\0', SF_SHM_STREAM_NAME_MAX) != NULL;
}

/** Anything that does not follow the protocol ends the connection, after saying why. */
static bool check(struct sfd_control_state *state, struct sfd_connection *connection, size_t length)
{
	const struct sf_control_head *head = &connection->message.head;
	uint32_t wanted = sf_control_request_length(head->type);

	if (length < sizeof(*head) || head->magic != SF_CONTROL_MAGIC)
		sfd_reply_refuse(connection, -EPROTO,
				 "%zu bytes that are no request of sfd's control channel", length);
	else if (head->version != SF_CONTROL_VERSION)
		sfd_reply_refuse(
			connection, -EPROTO,
			"this sfd speaks control version %d, the client %u: upgrade the older one",
			SF_CONTROL_VERSION, head->version);
	else if (sf_control_reply_length(head->type) == 0)
		sfd_reply_refuse(connection, -EPROTO, "request type %u is unknown", head->type);
	else if (length != wanted || head->length != length || !is_terminated(connection))
		sfd_reply_refuse(connection, -EPROTO, "a request of %zu bytes: %u are wanted",
				 length, wanted);
	else
		return true;
	for (size_t i = 0; i < state->stream_count; i++)
		sfd_stats_add(state->stream[i].stats, SF_COUNTER_requests_bad, 1);
	connection->close_after_reply = true;
	return false;
}

/** Who may replace sfd: root, and its own user. */
static bool may_upgrade(struct sfd_connection *connection)
{
	const char *path = connection->message.upgrade.path;

	if (connection->peer.uid != 0 && connection->peer.uid != geteuid()) {
		sfd_reply_refuse(connection, -EPERM,
				 "user %u may not upgrade sfd: ask as root, or as user %u",
				 connection->peer.uid, geteuid());
		return false;
	}
	if (connection->peer.pid == 0) {
		/* root of a container is not root here, and its paths are others */
		sfd_reply_refuse(connection, -EPERM,
				 "a process of another pid namespace may not upgrade sfd: ask from "
				 "sfd's own");
		return false;
	}
	if (path[0] != '\0' && path[0] != '/') {
		sfd_reply_refuse(connection, -EINVAL, "%.100s: give sfd an absolute path", path);
		return false;
	}
	return true;
}

void sfd_reply_upgraded(struct sfd_connection *connection, const char *before)
{
	struct sf_control_upgraded *reply = &connection->reply.upgraded;

	begin(connection, SF_CONTROL_UPGRADE, sizeof(*reply), 0);
	reply->pid = (uint32_t)getpid();
	(void)snprintf(reply->version, sizeof(reply->version), "%s", SF_VERSION);
	(void)snprintf(reply->before, sizeof(reply->before), "%s", before);
}

/** A request about a stream. */
static void reply_of_stream(struct sfd_control_state *state, struct sfd_connection *connection)
{
	struct sf_control_request *message = &connection->message.request;
	struct sfd_stream *stream;

	if (message->stream[0] || message->head.type == SF_CONTROL_ATTACH)
		stream = sfd_reply_find_stream(state, message->stream);
	else
		stream = message->index < state->stream_count ? &state->stream[message->index]
							      : NULL;
	if (!stream) {
		sfd_reply_refuse(connection, -ENOENT,
				 "no stream %s here: check the name against the streams "
				 "that sfctl stats lists",
				 message->stream[0] ? message->stream : "of that number");
		return;
	}
	if (message->head.type == SF_CONTROL_ATTACH && connection->standing == SFD_STANDING_ASKING)
		refuse_at_limit(state, connection);
	else if (message->head.type == SF_CONTROL_ATTACH)
		reply_attach(state, connection, stream);
	else if (message->head.type == SF_CONTROL_STATS)
		reply_stats(state, connection, stream);
	else
		reply_clients(state, connection, stream);
}

bool sfd_reply_make(struct sfd_control_state *state, struct sfd_connection *connection,
		    size_t length)
{
	if (!check(state, connection, length))
		return true;
	if (connection->standing == SFD_STANDING_TURNED_AWAY) {
		refuse_at_limit(state, connection);
		connection->close_after_reply = true;
	} else if (connection->message.head.type == SF_CONTROL_UPGRADE) {
		return !may_upgrade(connection);
	} else {
		reply_of_stream(state, connection);
	}
	if (connection->message.head.type == SF_CONTROL_ATTACH)
		SFD_PROBE4(attach, connection->message.request.stream,
			   (int32_t)connection->peer.pid, (uint32_t)connection->peer.uid,
			   connection->reply.head.status);
	return true;
}
