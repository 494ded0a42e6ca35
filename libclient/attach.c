/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Attaching: the socket, the request, the reply, and the mapping with its checks. Nothing here
 * waits: the callers decide how to (sf_open() blocks, reattach.c does not).
 *
 * Checks of a ring, in this order, each with its own sentence: seals, size, magic, version, sizes,
 * counts, layout.
 */
#include "libclient/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW)

int sf_socket_connect(struct sf_client *client, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, client->socket, sizeof(address.sun_path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		*ret_fd = fd;
		return 0;
	}
	error = -errno;
	(void)close(fd);
	if (error == -EAGAIN) /* the backlog is full: sfd is there, and busy */
		return error;
	if (error == -EACCES || error == -EPERM) {
		sf_log(client, SF_LOG_ERROR,
		       "%s: may not connect: %s; ask for access to the socket", client->socket,
		       strerrordesc_np(-error));
		return -EACCES;
	}
	sf_log(client, SF_LOG_ERROR,
	       "no sfd listens at %s (%s): start sfd, or name its socket with $SFD_SOCKET",
	       client->socket, strerrordesc_np(-error));
	return -ENOTCONN;
}

int sf_attach_send(struct sf_client *client, int fd)
{
	struct sf_control_request request = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = SF_CONTROL_ATTACH,
			 .length = sizeof(request)},
		.abi_major = SF_SHM_ABI_MAJOR,
		.abi_minor = SF_SHM_ABI_MINOR,
	};

	memcpy(request.stream, client->stream, sizeof(request.stream));
	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(request))
		return 0;
	sf_log(client, SF_LOG_ERROR, "%s: sfd closed the connection: %s", client->socket,
	       strerrordesc_np(errno));
	return -ENOTCONN;
}

/** Checks one memfd's seals and size, so that no access to its mapping can raise SIGBUS. */
static int memfd_check(const struct sf_client *client, const char *what, int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED) {
		sf_log(client, SF_LOG_ERROR, "%s: descriptor is not sealed against resizing", what);
		return -EPROTO;
	}
	if (fstat(fd, &status) < 0 || status.st_size < 0 || (uint64_t)status.st_size != bytes) {
		sf_log(client, SF_LOG_ERROR, "%s: size is %lld bytes, the header says %llu", what,
		       (long long)status.st_size, (unsigned long long)bytes);
		return -EPROTO;
	}
	return 0;
}

static int grants_check(const struct sf_client *client, const struct sf_shm_grants *grants)
{
	struct sf_why why;

	if (grants->magic != SF_SHM_GRANTS_MAGIC) {
		sf_log(client, SF_LOG_ERROR, "grants: magic is %016llx, not %016llx: not a ring",
		       (unsigned long long)grants->magic, (unsigned long long)SF_SHM_GRANTS_MAGIC);
		return -EPROTO;
	}
	if (grants->abi_major != SF_SHM_ABI_MAJOR) {
		sf_log(client, SF_LOG_ERROR,
		       "ring has ABI version %u.%u, this libsfclient knows %u: upgrade the older "
		       "one",
		       grants->abi_major, grants->abi_minor, SF_SHM_ABI_MAJOR);
		return -EPROTO;
	}
	if (grants->header_bytes != SF_SHM_HEADER_BYTES || grants->slots < SF_SHM_SLOTS_MIN ||
	    grants->slots > SF_SHM_SLOTS_MAX || (grants->slots & (grants->slots - 1)) != 0 ||
	    grants->total_bytes != sf_shm_grants_bytes(grants->slots) ||
	    grants->claims_bytes != sf_shm_claims_bytes(grants->slots)) {
		sf_log(client, SF_LOG_ERROR, "grants: sizes do not agree (%u slots, %llu bytes)",
		       grants->slots, (unsigned long long)grants->total_bytes);
		return -EPROTO;
	}
	if (sf_layout_check(&grants->layout, &why) < 0) {
		sf_log(client, SF_LOG_ERROR, "grants: layout: %s", why.text);
		return -EPROTO;
	}
	if ((grants->node_count < 1) != (grants->layout.format != SF_FORMAT_SNOWFLAKE) ||
	    grants->node_count > SF_NODES_MAX || grants->capacity < 1 ||
	    grants->capacity > SF_SHM_CAPACITY_MAX) {
		sf_log(client, SF_LOG_ERROR, "grants: %u node ids, capacity %u: out of range",
		       grants->node_count, grants->capacity);
		return -EPROTO;
	}
	return 0;
}

/** @return NULL when the process is out of address space or memory */
static void *map_shared(int fd, uint64_t bytes, int protection)
{
	/* Faulted in now, so that no later fetch pays for it. */
	void *map = mmap(NULL, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

static int map_ring(const struct sf_client *client, int grants_fd, int claims_fd,
		    struct sf_attachment *attachment)
{
	struct sf_shm_grants *grants;
	void *claims;
	struct stat status;
	int error;

	if (fstat(grants_fd, &status) < 0)
		return -EPROTO;
	if ((size_t)status.st_size < sizeof(*grants)) {
		sf_log(client, SF_LOG_ERROR, "grants: %lld bytes, shorter than a header of %zu",
		       (long long)status.st_size, sizeof(*grants));
		return -EPROTO;
	}
	/* Mapping it takes all of its memory, which nobody has promised to be sane yet. */
	if ((uint64_t)status.st_size > sf_shm_grants_bytes(SF_SHM_SLOTS_MAX)) {
		sf_log(client, SF_LOG_ERROR, "grants: %lld bytes, longer than a ring of %u slots",
		       (long long)status.st_size, SF_SHM_SLOTS_MAX);
		return -EPROTO;
	}
	attachment->grants_bytes = (uint64_t)status.st_size;
	error = memfd_check(client, "grants", grants_fd, attachment->grants_bytes);
	if (error < 0)
		return error;
	grants = map_shared(grants_fd, attachment->grants_bytes, PROT_READ);
	if (!grants)
		return -ENOMEM;
	error = grants_check(client, grants);
	if (error == 0)
		error = memfd_check(client, "grants", grants_fd, grants->total_bytes);
	if (error == 0)
		error = memfd_check(client, "claims", claims_fd, grants->claims_bytes);
	if (error < 0)
		goto out_grants;
	if (fstat(claims_fd, &status) < 0) {
		error = -EPROTO;
		goto out_grants;
	}
	attachment->claims_device = status.st_dev;
	attachment->claims_inode = status.st_ino;
	attachment->claims_bytes = grants->claims_bytes;
	claims = map_shared(claims_fd, attachment->claims_bytes, PROT_READ | PROT_WRITE);
	if (!claims) {
		error = -ENOMEM;
		goto out_grants;
	}
	sf_shm_ring_map(&attachment->ring, grants, claims, grants->slots);
	return 0;

out_grants:
	(void)munmap(grants, attachment->grants_bytes);
	return error;
}

/**
 * Memory for an attachment. What is spent and older than every ring that is still held is used
 * again, since nobody comes by there any more, and is never freed while the client lives: who reads
 * `newest` and then sleeps finds an attachment there, though perhaps a later one.
 */
static struct sf_attachment *attachment_new(struct sf_client *client)
{
	/* relaxed: only the holder of reattach->busy, or sf_open(), changes it */
	struct sf_attachment *held = atomic_load_explicit(&client->newest, memory_order_relaxed);
	struct sf_attachment *spent;

	for (struct sf_attachment *at = held; at; at = at->older)
		/* N6, pairs with N5 */
		if (!atomic_load_explicit(&at->spent, memory_order_acquire))
			held = at;
	spent = held ? held->older : NULL;
	if (!spent)
		return calloc(1, sizeof(*spent));
	held->older = spent->older;
	return spent;
}

/** It did not become one: the client keeps the memory. */
static void attachment_abandon(struct sf_client *client, struct sf_attachment *attachment)
{
	/* relaxed, as above */
	struct sf_attachment *newest = atomic_load_explicit(&client->newest, memory_order_relaxed);

	if (!newest) {
		free(attachment);
		return;
	}
	/* relaxed: this thread is the only one that looks */
	atomic_store_explicit(&attachment->spent, 1, memory_order_relaxed);
	while (newest->older)
		newest = newest->older;
	attachment->older = NULL;
	newest->older = attachment;
}

/** @return why the ring that was mapped is not the next of this client's: 0, or -EALREADY, -EPROTO
 */
static int successor_check(const struct sf_client *client, const struct sf_attachment *replaced,
			   const struct sf_attachment *attachment)
{
	const struct sf_shm_grants *grants = attachment->ring.grants;

	if (replaced && replaced->ring.grants->generation == grants->generation)
		return -EALREADY;
	if (client->tally > sf_shm_tallies(grants->slots)) {
		sf_log(client, SF_LOG_ERROR, "tally %u: a ring of %u slots has %u", client->tally,
		       grants->slots, sf_shm_tallies(grants->slots));
		return -EPROTO;
	}
	if (!replaced || memcmp(&client->layout, &grants->layout, sizeof(client->layout)) == 0)
		return 0;
	sf_log(client, SF_LOG_ERROR,
	       "stream %s: the new sfd has another layout; open the client anew", client->stream);
	return -EPROTO;
}

/** What the client's first ring says of the stream. */
static void learn_stream(struct sf_client *client, const struct sf_shm_grants *grants)
{
	client->layout = grants->layout;
	client->node_count = grants->node_count;
	memcpy(client->node, grants->node, sizeof(client->node));
	if (grants->layout.format == SF_FORMAT_HOUND)
		client->machine = grants->node_packed[0];
}

/** Maps a ring and makes it the client's newest. The descriptors stay the caller's. */
int sf_client_adopt(struct sf_client *client, int grants_fd, int claims_fd, int64_t offset_ns)
{
	/* relaxed: only the holder of reattach->busy, or sf_open(), changes it */
	struct sf_attachment *replaced =
		atomic_load_explicit(&client->newest, memory_order_relaxed);
	struct sf_attachment *attachment = attachment_new(client);
	int error;

	if (!attachment)
		return -ENOMEM;
	error = map_ring(client, grants_fd, claims_fd, attachment);
	if (error == 0) {
		error = successor_check(client, replaced, attachment);
		if (error < 0)
			sf_attachment_unmap(attachment);
	}
	if (error < 0) {
		attachment_abandon(client, attachment);
		return error;
	}
	attachment->mono_offset_ns = offset_ns;
	attachment->tally = client->tally ? sf_shm_tally(&attachment->ring, client->tally) : NULL;
	attachment->older = replaced;
	/* relaxed: N1 and N3 publish them; who still looks at the memory's life before finds no
	 * holder until then */
	atomic_store_explicit(&attachment->newer, NULL, memory_order_relaxed);
	atomic_store_explicit(&attachment->spent, 0, memory_order_relaxed);
	atomic_store_explicit(&attachment->retained, 1, memory_order_relaxed);
	/* Release, pairs with the acquire of sf_attachment_try_hold(), for who read `newest` in
	 * that life. */
	atomic_store_explicit(&attachment->refs, 1, memory_order_release);
	if (!replaced)
		learn_stream(client, attachment->ring.grants);
	/* N3, pairs with N4. The replaced ring stays mapped: cursors go from ring to ring, each of
	 * which has ticks that the next one has not. First, so that a child that is forked in
	 * between attaches once more at most, and strands no cursor. */
	if (replaced)
		atomic_store_explicit(&replaced->newer, attachment, memory_order_release);
	/* N1, pairs with N2 in sf_attachment_get() */
	atomic_store_explicit(&client->newest, attachment, memory_order_release);
	return 0;
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		(void)close(fds[i]);
}

/** Receives one message and at most two descriptors. @return its length or a negative errno */
static ssize_t receive(int fd, void *buffer, size_t size, int *fds, int *ret_fd_count)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = buffer, .iov_len = size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_fd_count = 0;
	if (length < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*ret_fd_count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)*ret_fd_count * sizeof(int));
	}
	return length;
}

/**
 * A monotonic clock of another time namespace: the daemon's reading lies outside the bracket of
 * ours around the request. Inside it, the two are the same clock. A process never changes its
 * namespace, and only the first bracket is sure to be narrow.
 */
static int64_t mono_offset(struct sf_client *client, int64_t sent_ns, int64_t daemon_ns)
{
	int64_t received_ns = client->mono_ns();
	/* relaxed: as in sf_client_adopt() */
	const struct sf_attachment *newest =
		atomic_load_explicit(&client->newest, memory_order_relaxed);

	if (newest)
		return newest->mono_offset_ns;
	if (daemon_ns >= sent_ns && daemon_ns <= received_ns)
		return 0;
	return daemon_ns - (sent_ns + (received_ns - sent_ns) / 2);
}

static int reply_check(const struct sf_client *client, const struct sf_control_head *head,
		       ssize_t length, int fd_count)
{
	if ((size_t)length < sizeof(*head) || head->magic != SF_CONTROL_MAGIC ||
	    head->length != (size_t)length) {
		sf_log(client, SF_LOG_ERROR, "%s: malformed answer of %zd bytes; is this sfd?",
		       client->socket, length);
		return -EPROTO;
	}
	if (head->version != SF_CONTROL_VERSION) {
		sf_log(client, SF_LOG_ERROR,
		       "sfd speaks control version %u, this libsfclient %u: upgrade the older one",
		       head->version, SF_CONTROL_VERSION);
		return -EPROTO;
	}
	if (head->status < 0) {
		const struct sf_control_refused *refused = (const struct sf_control_refused *)head;

		if ((size_t)length == sizeof(*refused))
			sf_log(client, SF_LOG_ERROR, "%.*s", (int)sizeof(refused->text),
			       refused->text);
		else
			sf_log(client, SF_LOG_ERROR, "%s: refused without a reason (%d)",
			       client->socket, head->status);
		return head->status < -4095 ? -EPROTO : head->status;
	}
	if (head->type != SF_CONTROL_ATTACH || fd_count != 2 ||
	    ((size_t)length != sizeof(struct sf_control_attached) &&
	     (size_t)length != SF_CONTROL_ATTACHED_SHORT)) {
		sf_log(client, SF_LOG_ERROR, "%s: answer to attach has %zd bytes, %d descriptors",
		       client->socket, length, fd_count);
		return -EPROTO;
	}
	return 0;
}

/** Reads the answer to sf_attach_send(), which must be there: -EAGAIN otherwise. */
int sf_attach_receive(struct sf_client *client, int fd, int64_t sent_ns)
{
	union {
		struct sf_control_head head;
		struct sf_control_attached attached;
		struct sf_control_refused refused;
	} reply = {0};
	int fds[2] = {-1, -1};
	int fd_count;
	ssize_t length = receive(fd, &reply, sizeof(reply), fds, &fd_count);
	int error;

	if (length < 0)
		return length == -EAGAIN ? -EAGAIN : -ENOTCONN;
	if (length == 0) { /* the end, or an empty message, which may carry descriptors, too */
		sf_log(client, SF_LOG_ERROR, "%s: sfd closed the connection without an answer",
		       client->socket);
		error = -ENOTCONN;
	} else {
		error = reply_check(client, &reply.head, length, fd_count);
	}
	if (error == 0) {
		client->tally = reply.attached.tally; /* 0 in a short reply */
		error = sf_client_adopt(client, fds[0], fds[1],
					mono_offset(client, sent_ns, reply.attached.mono_ns));
	}
	close_all(fds, fd_count);
	return error;
}
