/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Handing over; see handover.h. The description is text, a line a descriptor, so that another
 * version of sfd finds what it knows and passes over what it does not:
 *
 *     sfd-handover 1 VERSION
 *     FD NAME
 *     FD @client STREAM|- awaits|-TALLY SINCE COMMAND
 */
#include "daemon/handover.h"

#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLE "SFD_HANDOVER"
#define FIRST_WORD "sfd-handover"
#define FORMAT 1
#define CLIENT "@client"
#define PREVIOUS "@previous"
/* The same in every sfd: one that is older reads no longer word. */
#define AWAITS_BYTES 8
#define NAME_BYTES (SF_SHM_STREAM_NAME_MAX + 16)

/** The name of a stream's descriptor: "STREAM.WHAT". */
static const char *name_of(char name[NAME_BYTES], const char *stream, const char *what)
{
	(void)snprintf(name, NAME_BYTES, "%s.%s", stream, what);
	return name;
}

/** What this program has open is its own again. */
static void inherit_nothing(void)
{
	(void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

static bool is_open(int fd)
{
	return fd > STDERR_FILENO && fcntl(fd, F_GETFD) >= 0;
}

/* ---- the next one reads ---- */

/** Reads a number, and moves `text` past it. */
static bool take_number(const char **text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(*text, &end, 10);
	if (errno != 0 || end == *text)
		return false;
	*text = end;
	return true;
}

/** Reads a word that fits `size` bytes with its end, and moves `text` past it. */
static bool take_word(const char **text, char *ret, size_t size)
{
	const char *begin = *text + strspn(*text, " ");
	size_t length = strcspn(begin, " \n");

	if (length == 0 || length >= size)
		return false;
	memcpy(ret, begin, length);
	ret[length] = '\0';
	*text = begin + length;
	return true;
}

static bool take_fd(const char **text, int *ret)
{
	int64_t fd;

	if (!take_number(text, &fd) || fd < 0 || fd > INT_MAX)
		return false;
	*ret = (int)fd;
	return is_open(*ret);
}

static int add_passed(struct sfd_handover *handover, const char *name, int fd)
{
	struct sfd_passed *grown = reallocarray(handover->passed, handover->passed_count + 1,
						sizeof(*handover->passed));
	char *copy = strdup(name);

	if (grown)
		handover->passed = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	handover->passed[handover->passed_count++] = (struct sfd_passed){.name = copy, .fd = fd};
	return 0;
}

static int add_client(struct sfd_handover *handover, const struct sfd_handover_client *client)
{
	struct sfd_handover_client *grown = reallocarray(
		handover->client, handover->client_count + 1, sizeof(*handover->client));

	if (!grown)
		return -ENOMEM;
	handover->client = grown;
	handover->client[handover->client_count++] = *client;
	return 0;
}

static int read_client(struct sfd_handover *handover, int fd, const char *rest)
{
	struct sfd_handover_client client = {.fd = fd};
	char awaits[AWAITS_BYTES];
	const char *tally = awaits + 1;

	/* Without a connection its client attaches anew: no reason to lose the rest. */
	if (!take_word(&rest, client.stream, sizeof(client.stream)) ||
	    !take_word(&rest, awaits, sizeof(awaits)) ||
	    !take_number(&rest, &client.since_unix_ns)) {
		(void)close(fd);
		return 0;
	}
	rest += strspn(rest, " ");
	(void)snprintf(client.command, sizeof(client.command), "%.*s", (int)strcspn(rest, "\n"),
		       rest);
	client.attached = strcmp(client.stream, "-") != 0;
	client.awaits = strcmp(awaits, "awaits") == 0;
	if (!client.awaits)
		(void)take_number(&tally, &client.tally); /* an sfd of 0.2 and before wrote none */
	return add_client(handover, &client);
}

static int read_line(struct sfd_handover *handover, const char *line)
{
	char name[NAME_BYTES];
	int fd;

	if (!take_fd(&line, &fd) || !take_word(&line, name, sizeof(name)))
		return -EPROTO;
	if (strcmp(name, CLIENT) == 0)
		return read_client(handover, fd, line);
	if (strcmp(name, PREVIOUS) == 0) {
		handover->previous_fd = fd;
		return 0;
	}
	return add_passed(handover, name, fd);
}

static int read_text(struct sfd_handover *handover, FILE *text)
{
	char line[256];
	char word[sizeof(FIRST_WORD)];
	const char *rest = line;
	int64_t format;
	int error = 0;

	if (!fgets(line, sizeof(line), text) || !take_word(&rest, word, sizeof(word)) ||
	    strcmp(word, FIRST_WORD) != 0 || !take_number(&rest, &format) || format != FORMAT ||
	    !take_word(&rest, handover->version, sizeof(handover->version)))
		return -EPROTO;
	while (error == 0 && fgets(line, sizeof(line), text))
		error = read_line(handover, line);
	return error;
}

static void receive_from_before(struct sfd_handover *handover, const char *value)
{
	const char *way = value;
	int error = -EPROTO;
	FILE *text;
	int copy;
	int fd;

	if (!take_fd(&way, &fd)) {
		sfd_log(SFD_LOG_WARNING, VARIABLE "=%s names no descriptor: ignored", value);
		return;
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	text = copy < 0 ? NULL : fdopen(copy, "r");
	if (text) {
		rewind(text);
		error = read_text(handover, text);
		(void)fclose(text);
	}
	if (error < 0) {
		/* What was read so far is of use, the program before above all. */
		sfd_log(SFD_LOG_WARNING, "not all that the sfd before left can be read: %s",
			strerrordesc_np(-error));
	}
	handover->text_fd = fd;
	handover->is_return = strcmp(way, ",return") == 0;
}

void sfd_handover_receive(struct sfd_handover *handover)
{
	/* Before other threads exist. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	const char *value = getenv(VARIABLE);
	int error;

	*handover = (struct sfd_handover){.text_fd = -1, .previous_fd = -1};
	if (value) {
		receive_from_before(handover, value);
		(void)unsetenv(VARIABLE); /* NOLINT(concurrency-mt-unsafe): as above */
		return;
	}
	error = sfd_notify_listen_fds(&handover->passed, &handover->passed_count);
	if (error < 0)
		sfd_log(SFD_LOG_WARNING, "descriptors of the service manager: %s: ignored",
			strerrordesc_np(-error));
}

static struct sfd_passed *find(const struct sfd_handover *handover, const char *name)
{
	for (size_t i = 0; i < handover->passed_count; i++)
		if (handover->passed[i].fd >= 0 && strcmp(handover->passed[i].name, name) == 0)
			return &handover->passed[i];
	return NULL;
}

int sfd_handover_find(const struct sfd_handover *handover, const char *name)
{
	const struct sfd_passed *passed = find(handover, name);

	return passed ? passed->fd : -1;
}

int sfd_handover_take(struct sfd_handover *handover, const char *name)
{
	struct sfd_passed *passed = find(handover, name);
	int fd = passed ? passed->fd : -1;

	if (passed)
		passed->fd = -1;
	return fd;
}

static int find_of(const struct sfd_handover *handover, const char *stream, const char *what)
{
	char name[NAME_BYTES];

	return sfd_handover_find(handover, name_of(name, stream, what));
}

struct sfd_stream_legacy sfd_handover_legacy(const struct sfd_handover *handover,
					     const char *stream)
{
	return (struct sfd_stream_legacy){.grants_fd = find_of(handover, stream, "grants"),
					  .claims_fd = find_of(handover, stream, "claims"),
					  .stats_fd = find_of(handover, stream, "stats")};
}

void sfd_handover_return(struct sfd_handover *handover, char *const *argv)
{
	char value[32];

	if (handover->previous_fd < 0 || handover->is_return)
		return;
	(void)snprintf(value, sizeof(value), "%d,return", handover->text_fd);
	sfd_log(SFD_LOG_ERROR, "this sfd " SF_VERSION " cannot start: sfd %s goes on",
		handover->version);
	(void)setenv(VARIABLE, value, 1); /* NOLINT(concurrency-mt-unsafe): no other threads */
	(void)fexecve(handover->previous_fd, argv, environ);
	sfd_log(SFD_LOG_ERROR, "sfd %s cannot be started again: %s", handover->version,
		strerrordesc_np(errno));
}

void sfd_handover_finish(struct sfd_handover *handover)
{
	for (size_t i = 0; i < handover->client_count; i++)
		if (handover->client[i].fd >= 0)
			(void)close(handover->client[i].fd);
	free(handover->client);
	sfd_passed_free(handover->passed, handover->passed_count);
	if (handover->previous_fd >= 0)
		(void)close(handover->previous_fd);
	if (handover->text_fd >= 0)
		(void)close(handover->text_fd);
	*handover = (struct sfd_handover){.text_fd = -1, .previous_fd = -1};
	inherit_nothing();
}

/* ---- the one before writes ---- */

static void inherit(struct sfd_handover_draft *draft, int fd)
{
	if (fcntl(fd, F_SETFD, 0) < 0 && draft->error == 0)
		draft->error = -errno;
}

int sfd_handover_begin(struct sfd_handover_draft *draft)
{
	int copy;

	*draft = (struct sfd_handover_draft){.previous_fd = -1, .config_fd = -1};
	draft->fd = memfd_create("sfd:handover", 0);
	if (draft->fd < 0)
		return -errno;
	copy = fcntl(draft->fd, F_DUPFD_CLOEXEC, 0);
	draft->text = copy < 0 ? NULL : fdopen(copy, "w");
	if (!draft->text) {
		int error = -errno;

		if (copy >= 0)
			(void)close(copy);
		(void)close(draft->fd);
		return error;
	}
	(void)fprintf(draft->text, FIRST_WORD " %d %s\n", FORMAT, SF_VERSION);
	draft->previous_fd = open("/proc/self/exe", O_RDONLY);
	if (draft->previous_fd < 0) /* nothing could take its place again */
		draft->error = -errno;
	sfd_handover_add(draft, PREVIOUS, draft->previous_fd);
	return 0;
}

void sfd_handover_add(struct sfd_handover_draft *draft, const char *name, int fd)
{
	if (fd < 0)
		return;
	inherit(draft, fd);
	(void)fprintf(draft->text, "%d %s\n", fd, name);
}

static void add_of(struct sfd_handover_draft *draft, const char *stream, const char *what, int fd)
{
	char name[NAME_BYTES];

	sfd_handover_add(draft, name_of(name, stream, what), fd);
}

void sfd_handover_add_config(struct sfd_handover_draft *draft, const struct sfd_config *config)
{
	if (!config->text)
		return;
	draft->config_fd = memfd_create("sfd:config", 0);
	if (draft->config_fd < 0 ||
	    write(draft->config_fd, config->text, config->text_size) != (ssize_t)config->text_size)
		draft->error = draft->error < 0 ? draft->error : -EIO;
	sfd_handover_add(draft, SFD_HANDOVER_CONFIG, draft->config_fd);
}

void sfd_handover_add_stream(struct sfd_handover_draft *draft, const struct sfd_stream *stream)
{
	add_of(draft, stream->config->name, "grants", stream->ring.grants_fd);
	add_of(draft, stream->config->name, "claims", stream->ring.claims_fd);
	add_of(draft, stream->config->name, "stats", stream->stats_fd);
}

void sfd_handover_add_client(struct sfd_handover_draft *draft,
			     const struct sfd_handover_client *client)
{
	char word[AWAITS_BYTES] = "awaits";

	inherit(draft, client->fd);
	if (!client->awaits)
		(void)snprintf(word, sizeof(word), "-%" PRId64, client->tally);
	(void)fprintf(draft->text, "%d " CLIENT " %s %s %" PRId64 " %s\n", client->fd,
		      client->attached ? client->stream : "-", word, client->since_unix_ns,
		      client->command);
}

int sfd_handover_exec(struct sfd_handover_draft *draft, const char *path, char *const *argv)
{
	char value[16];

	if (fflush(draft->text) == EOF && draft->error == 0)
		draft->error = -errno;
	if (draft->error < 0)
		return draft->error;
	(void)snprintf(value, sizeof(value), "%d", draft->fd);
	(void)setenv(VARIABLE, value, 1); /* NOLINT(concurrency-mt-unsafe): no other threads */
	(void)execve(path, argv, environ);
	draft->error = -errno;
	(void)unsetenv(VARIABLE); /* NOLINT(concurrency-mt-unsafe): as above */
	return draft->error;
}

void sfd_handover_abandon(struct sfd_handover_draft *draft)
{
	(void)fclose(draft->text);
	if (draft->previous_fd >= 0)
		(void)close(draft->previous_fd);
	if (draft->config_fd >= 0)
		(void)close(draft->config_fd);
	(void)close(draft->fd);
	inherit_nothing();
}

/* ---- the service manager keeps ---- */

static void store(const char *name, int fd)
{
	int error = sfd_notify_store_remove(name);

	if (error == 0)
		error = sfd_notify_store(name, fd);
	if (error < 0)
		sfd_log(SFD_LOG_WARNING, "the service manager does not keep %s: %s", name,
			strerrordesc_np(-error));
}

static void store_of(const char *stream, const char *what, int fd)
{
	char name[NAME_BYTES];

	store(name_of(name, stream, what), fd);
}

static bool is_served(const struct sfd_stream *stream, size_t stream_count, const char *name,
		      size_t length)
{
	for (size_t i = 0; i < stream_count; i++)
		if (strncmp(stream[i].config->name, name, length) == 0 &&
		    stream[i].config->name[length] == '\0')
			return true;
	return false;
}

/** The manager lets go what it keeps of streams that are gone. */
static void unstore_old(const struct sfd_handover *handover, const struct sfd_stream *stream,
			size_t stream_count)
{
	for (size_t i = 0; i < handover->passed_count; i++) {
		const char *name = handover->passed[i].name;
		const char *what = strrchr(name, '.');

		if (!what || (strcmp(what, ".grants") != 0 && strcmp(what, ".claims") != 0 &&
			      strcmp(what, ".stats") != 0))
			continue;
		if (!is_served(stream, stream_count, name, (size_t)(what - name)))
			(void)sfd_notify_store_remove(name);
	}
}

void sfd_handover_store(const struct sfd_handover *handover, const struct sfd_stream *stream,
			size_t stream_count, int socket_fd)
{
	if (!sfd_notify_has_store())
		return;
	unstore_old(handover, stream, stream_count);
	for (size_t i = 0; i < stream_count; i++) {
		store_of(stream[i].config->name, "grants", stream[i].ring.grants_fd);
		store_of(stream[i].config->name, "claims", stream[i].ring.claims_fd);
		store_of(stream[i].config->name, "stats", stream[i].stats_fd);
	}
	sfd_handover_store_socket(socket_fd);
}

void sfd_handover_store_socket(int socket_fd)
{
	if (socket_fd >= 0 && sfd_notify_has_store())
		store(SFD_HANDOVER_SOCKET, socket_fd);
}
