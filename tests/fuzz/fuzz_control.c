/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: a few connections talk to the real control channel, over real sockets and the real
 * poll loop, which runs until all has been answered. Each message has one of the answers that
 * expect() knows by the protocol alone; besides, after each exchange the channel's counters are
 * those of the model, nobody is attached who should not be, a breach of the protocol ends its
 * connection and no other, and descriptors that were sent along or handed out leave none behind.
 *
 * The product's control.c is included as source, so that the peers are who the fuzzer says.
 */
#include "daemon/access.h"

static int peer_of_fuzzer(int fd, struct sfd_peer *ret_peer);

/* NOLINTNEXTLINE(readability-identifier-naming): the name is the product's */
#define sfd_peer_init peer_of_fuzzer
#include "daemon/control.c" /* NOLINT(bugprone-suspicious-include) */
#undef sfd_peer_init

#include "tests/fuzz/control_answers.h"
#include "tests/fuzz/feed.h"

#include <sys/un.h>

#define CONNECTIONS 4
#define PENDING_MAX 8
#define BYTES_MAX 1100
#define TICKS_MAX 100000

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct peer {
	int fd; /* -1: not connected */
	uid_t uid;
	gid_t gid;
	int attached; /* stream, or -1 */
	bool is_over; /* sfd closes it, or has */
	struct expected pending[PENDING_MAX];
	int pending_count;
};

static struct sfd_stream_config config[STREAMS];
static struct sfd_runtime runtime[STREAMS];
static struct sfd_stats stats[STREAMS];
static struct sfd_stream stream[STREAMS];
static struct sfd_loop *loop;
static struct sfd_control *control;
static struct peer peer[CONNECTIONS];
static struct peer *connecting; /* whom sfd accepts next */
static uint64_t bad_requests;
static uint64_t attaches[STREAMS];
static uint64_t refusals[STREAMS];
static struct sfd_request ticking;
static int ticks;
static int can_upgrade;    /* what sfd says to who may ask */
static int upgrade_result; /* what comes of it */
static bool is_upgrading;

static int peer_of_fuzzer(int fd, struct sfd_peer *ret_peer)
{
	(void)fd;
	*ret_peer = (struct sfd_peer){.pid = getpid(),
				      .uid = connecting->uid,
				      .gid = connecting->gid,
				      .group = calloc(1, sizeof(gid_t)),
				      .group_count = 1};
	require(ret_peer->group != NULL);
	ret_peer->group[0] = connecting->gid + 1;
	return 0;
}

/* ---- what sfd says ---- */

union message {
	struct sf_control_head head;
	struct sf_control_refused refused;
	struct sf_control_attached attached;
	struct sf_control_stats stats;
	struct sf_control_clients clients;
	struct sf_control_upgraded upgraded;
};

static void check_refusal(const struct sf_control_refused *refused, ssize_t length)
{
	size_t text = strnlen(refused->text, sizeof(refused->text));

	require(length == sizeof(*refused));
	require(text > 0 && text < sizeof(refused->text));
}

/** Nobody has taken an ID. */
static void check_client(const struct sf_control_client *client)
{
	require(memchr(client->command, '\0', sizeof(client->command)) != NULL);
	require(client->ids == 0 || client->ids == SF_CONTROL_NOT_COUNTED);
}

static void check_answer(const union message *reply, const struct expected *expected)
{
	if (expected->type == SF_CONTROL_STATS) {
		require(strcmp(reply->stats.stream, stream_names[expected->stream]) == 0);
		require(reply->stats.index == (uint32_t)expected->stream);
		require(reply->stats.stream_count == STREAMS);
		require(memchr(reply->stats.version, '\0', sizeof(reply->stats.version)) != NULL);
	} else if (expected->type == SF_CONTROL_CLIENTS) {
		require(reply->clients.total <= CONNECTIONS);
		require(reply->clients.count <= reply->clients.total);
		for (uint32_t i = 0; i < reply->clients.count; i++)
			check_client(&reply->clients.client[i]);
	} else if (expected->type == SF_CONTROL_UPGRADE) {
		require(strcmp(reply->upgraded.before, "before") == 0);
	} else {
		require(reply->attached.grants_bytes ==
			stream[expected->stream].ring.shm.grants->total_bytes);
		require(reply->attached.generation ==
			stream[expected->stream].ring.shm.grants->generation);
		require(expected->is_old || reply->attached.tally > 0);
	}
}

/** Whoever may attach gets what it can neither resize nor, the grants, write. */
static void check_descriptors(const int *fds, size_t count, const struct expected *expected)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (expected->verdict != ANSWERED || expected->type != SF_CONTROL_ATTACH) {
		require(count == 0);
		return;
	}
	require(count == 2);
	require((fcntl(fds[0], F_GET_SEALS) & sealed) == sealed);
	require((fcntl(fds[0], F_GET_SEALS) & F_SEAL_FUTURE_WRITE) != 0);
	require((fcntl(fds[1], F_GET_SEALS) & sealed) == sealed);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/** One reply, held against what is expected. @return false when there is none yet */
static bool hear(struct peer *who)
{
	struct expected expected = who->pending[0];
	char space[CMSG_SPACE(4 * sizeof(int))];
	union message reply;
	struct iovec part = {.iov_base = &reply, .iov_len = sizeof(reply)};
	struct msghdr header = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = space,
				.msg_controllen = sizeof(space)};
	ssize_t length = recvmsg(who->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *first = length > 0 ? CMSG_FIRSTHDR(&header) : NULL;

	if (length < 0 && errno == EAGAIN)
		return false;
	if (who->pending_count == 0 || expected.verdict == HUNG_UP) {
		require(who->is_over && (length == 0 || errno == ECONNRESET));
		who->pending_count = 0;
		(void)close(who->fd);
		who->fd = -1;
		return false;
	}
	require(length >= (ssize_t)sizeof(reply.head));
	require(reply.head.magic == SF_CONTROL_MAGIC && reply.head.version == SF_CONTROL_VERSION);
	require(reply.head.length == (size_t)length);
	require(reply.head.status == expected.status);
	check_descriptors(first ? (const int *)CMSG_DATA(first) : NULL,
			  first ? (first->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0, &expected);
	if (expected.verdict == ANSWERED) {
		require(reply.head.type == expected.type);
		require(length == (ssize_t)(expected.is_old
						    ? SF_CONTROL_ATTACHED_SHORT
						    : sf_control_reply_length(expected.type)));
		check_answer(&reply, &expected);
	} else {
		check_refusal(&reply.refused, length);
	}
	memmove(who->pending, who->pending + 1, sizeof(who->pending) - sizeof(who->pending[0]));
	who->pending_count--;
	return true;
}

/* ---- until all is said ---- */

static void check_counters(void)
{
	uint64_t clients[STREAMS] = {0};

	for (int i = 0; i < CONNECTIONS; i++)
		if (peer[i].fd >= 0 && peer[i].attached >= 0)
			clients[peer[i].attached]++;
	require(sfd_stats_get(control->state.stream->stats, SF_COUNTER_requests_bad) ==
		bad_requests);
	for (int i = 0; i < STREAMS; i++) {
		require(sfd_stats_get(&stats[i], SF_COUNTER_clients) == clients[i]);
		require(sfd_stats_get(&stats[i], SF_COUNTER_attaches) == attaches[i]);
		require(sfd_stats_get(&stats[i], SF_COUNTER_attaches_refused) == refusals[i]);
	}
}

static bool is_quiet(void)
{
	size_t connected = 0;
	int pending = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		while (peer[i].fd >= 0 && hear(&peer[i])) {
		}
		pending += peer[i].pending_count + (peer[i].fd >= 0 && peer[i].is_over);
		connected += peer[i].fd >= 0;
	}
	return pending == 0 && control->state.connection_count == connected;
}

static int on_upgrade(void *owner, const char *path)
{
	(void)owner;
	require(strnlen(path, UPGRADE_BYTES) < UPGRADE_BYTES);
	is_upgrading = can_upgrade == 0;
	return can_upgrade;
}

/** The next sfd is there, or did not start. */
static void answer_upgrade(void)
{
	is_upgrading = false;
	sfd_control_answer(control, upgrade_result, upgrade_result < 0 ? "no sfd" : "before");
}

static void on_tick(struct sfd_request *request, int result)
{
	require(result == 0 && ++ticks < TICKS_MAX); /* sfd owes an answer */
	if (is_upgrading)
		answer_upgrade();
	if (is_quiet())
		sfd_loop_stop(loop);
	else
		require(sfd_loop_timeout(loop, 0, request) == 0);
}

static void settle(void)
{
	ticks = 0;
	ticking = (struct sfd_request){.done = on_tick};
	require(sfd_loop_timeout(loop, 0, &ticking) == 0);
	require(sfd_loop_run(loop) == 0);
	check_counters();
}

static void on_first_tick(struct sfd_request *request, int result)
{
	(void)request;
	require(result == 0);
	sfd_loop_stop(loop);
}

static void on_quiet(void *owner)
{
	(void)owner;
	sfd_loop_stop(loop);
}

/** Everything stops in the midst of what is said, as for a hand-over, and goes on again. */
static void pause_and_resume(void)
{
	ticking = (struct sfd_request){.done = on_first_tick};
	require(sfd_loop_timeout(loop, 0, &ticking) == 0);
	require(sfd_loop_run(loop) == 0);
	sfd_control_quiesce(control, on_quiet);
	require(sfd_loop_run(loop) == 0);
	for (struct sfd_connection *c = control->state.connections; c; c = c->next)
		require(sfd_request_is_idle(&c->request));
	require(sfd_control_resume(control) == 0);
	settle();
}

/* ---- what the fuzzer does ---- */

static void connect_as(struct peer *who, struct feed *feed)
{
	static const uid_t users[] = {0, LISTED_USER, 54399, 54398};
	static const gid_t groups[] = {0, LISTED_GROUP, LISTED_GROUP - 1, 54397};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(address);

	*who = (struct peer){.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
			     .uid = users[feed_u8(feed) % 4],
			     .gid = groups[feed_u8(feed) % 4],
			     .attached = -1};
	require(getsockname(control->listener.fd, (struct sockaddr *)&address, &length) == 0);
	connecting = who;
	require(connect(who->fd, (const struct sockaddr *)&address, length) == 0);
	settle();
}

/** A request that makes sense, but for the bytes that are then changed in it. */
static size_t make_request(struct feed *feed, uint8_t *bytes)
{
	static const char *const names[] = {"open",
					    "listed",
					    "closed",
					    "",
					    "none",
					    "/sbin/sfd",
					    "this-name-fills-its-field-wholly"};
	struct sf_control_request request = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = (uint16_t)(feed_u8(feed) % 5),
			 .length = sizeof(request)},
		.index = feed_u8(feed) % 4,
		.offset = feed_u8(feed) % 4,
		.abi_major = SF_SHM_ABI_MAJOR,
		.abi_minor = feed_u8(feed) % 3,
	};
	const char *name = names[feed_u8(feed) % (sizeof(names) / sizeof(names[0]))];
	size_t length = REQUEST_BYTES;

	if (request.head.type == SF_CONTROL_UPGRADE) {
		request = (struct sf_control_request){.head = request.head};
		request.head.length = (uint32_t)(length = UPGRADE_BYTES);
		if (feed_u8(feed) % 4 == 0) /* a path without an end, but for changes */
			memset(bytes + sizeof(request), '/', length - sizeof(request));
	}
	memcpy(request.stream, name, strnlen(name, sizeof(request.stream)));
	memcpy(bytes, &request, sizeof(request));
	for (int changes = feed_u8(feed) % 8 - 4; changes > 0; changes--)
		bytes[feed_u8(feed) % sizeof(request)] = feed_u8(feed);
	return length;
}

/** Sends a message, with descriptors that sfd has no use for, and notes what must come back. */
static void say(struct peer *who, struct feed *feed, bool is_raw)
{
	uint8_t bytes[BYTES_MAX] = {0};
	uint8_t extra = feed_u8(feed);
	size_t length = is_raw ? feed_u8(feed) : make_request(feed, bytes);
	const int fds[2] = {STDIN_FILENO, STDIN_FILENO};
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = length};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct expected expected;

	if (is_raw)
		feed_bytes(feed, bytes, length);
	else if (extra % 8 == 1) /* cut off, or with something after it */
		part.iov_len = length = feed_u16(feed) % BYTES_MAX;
	if (extra % 4 == 2) {
		header.msg_control = space;
		header.msg_controllen = sizeof(space);
		*CMSG_FIRSTHDR(&header) = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
							   .cmsg_type = SCM_RIGHTS,
							   .cmsg_len = CMSG_LEN(sizeof(fds))};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), fds, sizeof(fds));
	}
	expected = expect(who->uid, who->gid, bytes, length, can_upgrade);
	require(sendmsg(who->fd, &header, MSG_NOSIGNAL) == (ssize_t)length);
	if (expected.verdict == AWAITED) {
		expected.verdict = upgrade_result < 0 ? REFUSED : ANSWERED;
		expected.status = upgrade_result;
	}
	who->pending[who->pending_count++] = expected;
	who->is_over = expected.verdict == DROPPED || expected.verdict == HUNG_UP;
	bad_requests += expected.verdict == DROPPED;
	if (expected.type != SF_CONTROL_ATTACH || expected.stream < 0)
		return;
	if (expected.verdict == REFUSED) {
		refusals[expected.stream]++;
		return;
	}
	who->attached = expected.stream;
	attaches[expected.stream]++;
}

/** Gone without reading what it is owed: sfd may not have come to the last of it yet. */
static void leave(struct peer *who)
{
	settle();
	if (who->fd >= 0)
		(void)close(who->fd);
	who->fd = -1;
	who->attached = -1;
	settle();
}

static void act(struct feed *feed)
{
	uint8_t choice = feed_u8(feed);
	struct peer *who = &peer[choice % CONNECTIONS];

	if (who->fd < 0)
		connect_as(who, feed);
	else if (choice / CONNECTIONS % 8 == 7)
		leave(who);
	else if (choice / CONNECTIONS % 8 == 4)
		pause_and_resume();
	else if (who->is_over || who->pending_count == PENDING_MAX || choice / CONNECTIONS % 8 == 6)
		settle();
	else
		say(who, feed, choice / CONNECTIONS % 8 == 5);
}

/* ---- once, and for each input ---- */

static void make_stream(int i)
{
	struct sf_why why;

	config[i] = (struct sfd_stream_config){.runway_ms = 100,
					       .node_count = 1,
					       .clock_backward = i == LISTED ? SFD_CLOCK_WAIT
									     : SFD_CLOCK_SLEW};
	memcpy(config[i].name, stream_names[i], strlen(stream_names[i]));
	require(sf_layout_parse("twitter", &config[i].layout, &why) == 0);
	stream[i] = (struct sfd_stream){
		.config = &config[i], .runtime = &runtime[i], .stats = &stats[i]};
	require(sfd_ring_init(&stream[i].ring, &config[i], 1000000, &why) == 0);
	sfd_engine_init(&stream[i].engine, &stream[i].ring.shm, &runtime[i], &stats[i]);
	sfd_engine_publish(&stream[i].engine, 1000000, UINT64_MAX);
}

static void set_up(void)
{
	static uid_t user = LISTED_USER;
	static gid_t group = LISTED_GROUP;

	for (int i = 0; i < STREAMS; i++)
		make_stream(i);
	config[0].access.everyone = true;
	config[LISTED].access = (struct sfd_access){
		.user = &user, .user_count = 1, .group = &group, .group_count = 1};
	for (int i = 0; i < CONNECTIONS; i++)
		peer[i].fd = -1;
}

static void open_control(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sfd_control_setup setup = {.stream = stream,
					  .stream_count = STREAMS,
					  .listen_fd =
						  socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
					  .is_managers = true,
					  .upgrade = on_upgrade,
					  .connections_per_user = CONNECTIONS};
	struct sf_why why = {""};

	require(sfd_loop_new(SFD_LOOP_POLL, &loop, &why) == 0);

	/* an abstract address of the kernel's choice */
	require(bind(setup.listen_fd, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
	require(listen(setup.listen_fd, CONNECTIONS) == 0);
	require(sfd_control_open(loop, &setup, &control, &why) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = {data, size};
	unsigned descriptors;

	if (config[0].name[0] == '\0')
		set_up();
	descriptors = open_descriptors();
	can_upgrade = feed_u8(&feed) % 2 ? -EBUSY : 0;
	upgrade_result = feed_u8(&feed) % 2 ? -ENOEXEC : 0;
	open_control();
	while (feed.left > 0)
		act(&feed);
	for (int i = 0; i < CONNECTIONS; i++)
		leave(&peer[i]);
	loop = sfd_loop_free(loop);
	control = sfd_control_close(control);
	require(open_descriptors() == descriptors);
	return 0;
}
