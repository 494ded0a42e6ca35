/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: an sfd that is none answers a client's requests to attach: replies of any bytes and
 * length, any number of descriptors of any kind, memory with any header, size and seals. The client
 * refuses it, with a sentence and without leaving a descriptor or a mapping behind, or takes it;
 * then its size is that of its header, and calls come back with an ID or an error whatever other
 * clients have written into the claims.
 *
 * Not the fuzzer's: the beat, the time and the grants of single ticks. Those belong to an sfd that
 * a client has taken, which it trusts.
 */
#include "daemon/engine.h"
#include "daemon/ring.h"
#include "libclient/client.h"
#include "tests/fuzz/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_MAX 4
#define FIRST_MONO_NS INT64_C(1000000000000)
#define TICK 1000000u
/* More than a ring can have; all of it is taken if it is mapped. */
#define BEYOND_BYTES (INT64_C(256) << 20)
#define MEMFD_NAME "fuzzed-ring"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What a real daemon would hand out, to begin with: a narrow stream and a wide one. */
static struct sfd_ring template[2];
static unsigned sentences;

static int64_t mono_now(void)
{
	return FIRST_MONO_NS;
}

static void hear(void *data, int level, const char *message)
{
	(void)data;
	require(level >= SF_LOG_ERROR && level <= SF_LOG_INFO);
	require(message[0] != '\0' && strnlen(message, 256) < 256);
	sentences++;
}

static void make_template(struct sfd_ring *ring, const char *layout)
{
	static struct sfd_stream_config config;
	struct sf_shm_clock page = {.base_mono_ns = FIRST_MONO_NS};
	struct sfd_runtime runtime = {0};
	struct sfd_stats stats = {0};
	struct sfd_engine engine;
	struct sf_why why;

	config = (struct sfd_stream_config){.name = "default", .runway_ms = 8};
	require(sf_layout_parse(layout, &config.layout, &why) == 0);
	if (config.layout.format == SF_FORMAT_SNOWFLAKE)
		config.node_count = 1;
	require(sfd_ring_init(ring, &config, TICK, &why) == 0);
	page.base_unix_ns = sf_shm_tick_start_ns(&config.layout, TICK);
	sf_shm_time_write(&ring->shm.grants->time, &page);
	sfd_engine_init(&engine, &ring->shm, &runtime, &stats);
	engine.owner = 1;
	engine.beating = true;
	sfd_engine_publish(&engine, TICK, UINT64_MAX);
	sfd_engine_beat(&engine, TICK);
}

/* ---- what the false sfd hands out ---- */

/** Changes words where clients or an impostor can; what a trusted sfd writes later stays whole. */
static void spoil(struct feed *feed, uint8_t *bytes, size_t size, bool is_grants)
{
	static const uint16_t fields[] = {0,  8,  12, 16, 24, 32, 40, 48,
					  56, 60, 64, 68, 72, 80, 88, 96};

	for (int changes = feed_u8(feed) % 16 - 8; changes > 0; changes--) {
		bool is_known = is_grants && feed_u8(feed) % 2;
		size_t at = is_known ? fields[feed_u8(feed) % (sizeof(fields) / sizeof(fields[0]))]
				     : feed_u16(feed) % size;
		size_t width = (size_t)1 << feed_u8(feed) % 4;
		uint64_t value = width > 2 && feed_u8(feed) % 2 ? feed_u64(feed) : feed_u16(feed);

		if (is_grants && at >= offsetof(struct sf_shm_grants, beat) - 8 &&
		    at < offsetof(struct sf_shm_grants, node))
			continue;
		if (is_grants && at >= SF_SHM_HEADER_BYTES - 8)
			continue;
		memcpy(bytes + at, &value, width < size - at ? width : size - at);
	}
}

enum kind {
	OTHER_SIZE = 1,
	OTHER_SEALS,
	OTHER_SLOTS, /* and sizes that agree with them */
	OTHER_NODES,
	OTHER_CAPACITY,
};

/** Says something else of the ring, alone or in agreement with itself. */
static void restate(struct sf_shm_grants *grants, enum kind kind, uint8_t choice)
{
	if (kind == OTHER_SLOTS) {
		grants->slots += choice;
		grants->total_bytes = sf_shm_grants_bytes(grants->slots);
		grants->claims_bytes = sf_shm_claims_bytes(grants->slots);
	} else if (kind == OTHER_NODES) {
		grants->node_count = choice * 2u;
	} else if (kind == OTHER_CAPACITY) {
		grants->capacity = choice ? UINT32_MAX >> choice % 32 : 0;
	}
}

/** A copy of a template's memory: spoilt, of another size, with other seals. */
static int make_memfd(struct feed *feed, bool is_grants)
{
	static const off_t sizes[] = {0, 8, 64, -64, -4096, 4096, -1, BEYOND_BYTES};
	const struct sfd_ring *from = &template[feed_u8(feed) % 2];
	const struct sf_shm_grants *grants = from->shm.grants;
	size_t bytes = is_grants ? grants->total_bytes : grants->claims_bytes;
	uint8_t *copy = malloc(bytes);
	int fd = memfd_create(MEMFD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum kind kind = feed_u8(feed) % 8;
	uint8_t choice = kind ? feed_u8(feed) : 0;
	off_t size = (off_t)bytes;
	int seals = F_SEAL_SHRINK | F_SEAL_GROW;

	require(copy != NULL && fd >= 0);
	memcpy(copy, is_grants ? (const void *)grants : (const void *)from->shm.claims, bytes);
	if (kind == OTHER_SIZE)
		size = size + sizes[choice % 8] > 0 ? size + sizes[choice % 8] : 0;
	else if (kind == OTHER_SEALS) /* F_SEAL_SEAL is 1, F_SEAL_FUTURE_WRITE 16 */
		seals = choice % 32;
	else if (is_grants)
		restate((struct sf_shm_grants *)copy, kind, choice);
	if (kind == OTHER_SLOTS)
		size += choice * (off_t)(is_grants ? sizeof(struct sf_shm_grant)
						   : sizeof(struct sf_shm_claim));
	spoil(feed, copy, bytes, is_grants);
	require(write(fd, copy, bytes) == (ssize_t)bytes);
	free(copy);
	require(ftruncate(fd, size) == 0);
	require(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static int make_descriptor(struct feed *feed, int place)
{
	switch (feed_u8(feed) % 8) {
	case 0:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 1:
		return open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	case 2:
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 3:
		return make_memfd(feed, place != 0);
	default:
		return make_memfd(feed, place == 0);
	}
}

/* ---- and says ---- */

union reply {
	struct sf_control_head head;
	struct sf_control_refused refused;
	struct sf_control_attached attached;
	uint8_t bytes[512];
};

static size_t make_reply(struct feed *feed, union reply *reply)
{
	uint8_t choice = feed_u8(feed);
	size_t length = sizeof(reply->attached);

	*reply = (union reply){.attached.mono_ns = FIRST_MONO_NS};
	if (choice % 8 == 1) {
		length = feed_u16(feed) % (sizeof(*reply) + 1);
		feed_bytes(feed, reply, length);
	} else if (choice % 8 == 5) {
		length = SF_CONTROL_ATTACHED_SHORT;
	} else if (choice % 8 == 6) {
		reply->attached.tally = feed_u16(feed);
	} else if (choice % 8 == 2) {
		length = sizeof(reply->refused);
		feed_bytes(feed, reply->refused.text, sizeof(reply->refused.text));
	}
	reply->head = (struct sf_control_head){.magic = SF_CONTROL_MAGIC,
					       .version = SF_CONTROL_VERSION,
					       .type = SF_CONTROL_ATTACH,
					       .length = (uint32_t)length};
	if (choice % 8 == 2)
		feed_bytes(feed, &reply->head.status, sizeof(reply->head.status));
	if (choice % 8 == 3)
		reply->bytes[feed_u8(feed) % sizeof(reply->attached)] = feed_u8(feed);
	if (choice % 8 == 4)
		length = feed_u16(feed) % (sizeof(*reply) + 1);
	return length;
}

static void answer(struct feed *feed, int fd)
{
	union reply reply;
	struct iovec part = {.iov_base = &reply, .iov_len = make_reply(feed, &reply)};
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(FDS_MAX * sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	size_t count = feed_u8(feed) % 4 == 0 ? feed_u8(feed) % (FDS_MAX + 1) : 2;
	int fds[FDS_MAX];

	for (size_t i = 0; i < count; i++) {
		fds[i] = make_descriptor(feed, (int)i);
		require(fds[i] >= 0);
	}
	if (count > 0) {
		struct cmsghdr *head;

		message.msg_control = space;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		*head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS,
					 .cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	require(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)part.iov_len);
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

/* ---- what the client makes of it ---- */

static void check_taken(const struct sf_client *client)
{
	const struct sf_attachment *attachment =
		atomic_load_explicit(&client->newest, memory_order_relaxed);
	const struct sf_shm_grants *grants = attachment->ring.grants;

	require(attachment->grants_bytes == sf_shm_grants_bytes(grants->slots));
	require(attachment->claims_bytes == sf_shm_claims_bytes(grants->slots));
	require(attachment->ring.mask == grants->slots - 1);
	require((grants->slots & (grants->slots - 1)) == 0 && grants->slots >= SF_SHM_SLOTS_MIN);
	require(grants->node_count <= SF_NODES_MAX);
	require(sf_layout_check(&grants->layout, NULL) == 0);
}

static void use(struct sf_client *client)
{
	struct sf_cursor *cursor;
	struct sf_range range;
	struct sf_wide wide[3];
	uint64_t id[3];

	require(sf_cursor_open(client, &cursor) == 0);
	require(sf_next(cursor, id) <= 0);
	require(sf_next_ordered(cursor, id) <= 0);
	require(sf_fill(cursor, id, 3) <= 0);
	require(sf_claim_range(cursor, SF_SHM_CLAIM_MAX, &range) <= 0);
	require(sf_next128(cursor, wide) <= 0);
	require(sf_next128_ordered(cursor, wide) <= 0);
	require(sf_fill128(cursor, wide, 3) <= 0);
	sf_cursor_close(cursor);
}

static void attach(struct sf_client *client, struct feed *feed)
{
	const struct sf_attachment *before =
		atomic_load_explicit(&client->newest, memory_order_relaxed);
	int pair[2];
	int error;

	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	answer(feed, pair[1]);
	sentences = 0;
	error = sf_attach_receive(client, pair[0], FIRST_MONO_NS);
	(void)close(pair[0]);
	(void)close(pair[1]);
	require(error <= 0 && error >= -4095);
	if (error < 0) {
		require(atomic_load_explicit(&client->newest, memory_order_relaxed) == before);
		require(sentences == 1 || (error != -EPROTO && error != -ENOTCONN));
		return;
	}
	check_taken(client);
	use(client);
}

/** No mapping of what the false sfd handed out. */
static bool is_unmapped(void)
{
	static char text[1 << 20];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	require(fd >= 0);
	while ((n = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	(void)close(fd);
	require(length < sizeof(text) - 1);
	return memmem(text, length, MEMFD_NAME, strlen(MEMFD_NAME)) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sf_options options = {.size = sizeof(options),
				     .wait = SF_WAIT_NONE,
				     .socket = "/nonexistent/sfd.sock",
				     .stream = "default",
				     .log = hear};
	static unsigned inputs;
	struct feed feed = {data, size};
	struct sf_client *client;
	unsigned descriptors;

	if (template[0].arena == NULL) {
		make_template(&template[0], "twitter");
		make_template(&template[1], "ulid");
	}
	descriptors = open_descriptors();
	require(sf_client_new(&options, &client) == 0);
	client->mono_ns = mono_now;
	for (int replies = 0; replies < 3 && feed.left > 0; replies++)
		attach(client, &feed);
	sf_close(client);
	require(open_descriptors() == descriptors);
	if (++inputs % 64 == 0) /* slow; what is left behind stays */
		require(is_unmapped());
	return 0;
}
