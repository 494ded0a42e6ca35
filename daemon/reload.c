/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The rules of a reload; see reload.h. A stream that stays is told by its name.
 */
#include "daemon/reload.h"

#include "daemon/hardware.h"
#include "shm/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VALUE_BYTES 96
#define RESTART "restart sfd"
/* What a restart makes of other machine ids, formats and layouts: mark_scan.c and runtime.c. */
#define RESTART_ABOVE                                                                              \
	"restart sfd: the IDs go on above the last ones, and the mark of the old ids is kept"
#define RESTART_FORMAT "restart sfd, if its clients are ready for that, or add a stream for it"
#define RESTART_LAYOUT                                                                             \
	"restart sfd, but the IDs will not go on above the last ones, or add a stream for it"
/* A restart refuses the mark: two layouts of one machine id may give the same number. */
#define OTHER_ID "give it another machine_id as well, and restart sfd"

/** A key of a stream, or of the daemon, as written in a sentence. */
struct value {
	char text[VALUE_BYTES];
};

/** @param stream NULL: the daemon's */
static int refuse(const char *stream, const char *key, const struct value *old,
		  const struct value *next, const char *remedy, struct sf_why *why)
{
	struct value was;
	struct value is;

	/* So that the remedy has room. */
	(void)snprintf(was.text, sizeof(was.text), "%.60s", old->text);
	(void)snprintf(is.text, sizeof(is.text), "%.60s", next->text);
	return SF_SHM_REFUSE(why, -EPERM, "%s%s%s%s cannot change from %s to %s while sfd runs: %s",
			     stream ? "stream " : "", stream ? stream : "", stream ? ": " : "", key,
			     was.text, is.text, remedy);
}

static struct value text_of(const char *text)
{
	struct value value;

	(void)snprintf(value.text, sizeof(value.text), "%s", text);
	return value;
}

static struct value number_of(uint64_t number)
{
	struct value value;

	(void)snprintf(value.text, sizeof(value.text), "%llu", (unsigned long long)number);
	return value;
}

static struct value layout_of(const struct sf_layout *layout)
{
	struct value value = {"?"};

	(void)sf_layout_format(layout, value.text, sizeof(value.text));
	return value;
}

static struct value nodes_of(const struct sfd_stream_config *stream)
{
	struct value value;

	if (stream->layout.format == SF_FORMAT_HOUND)
		(void)snprintf(value.text, sizeof(value.text), "0x%012llx",
			       (unsigned long long)stream->machine);
	else
		sfd_nodes_format(stream->node, stream->node_count, value.text, sizeof(value.text));
	return value;
}

static struct value policy_of(enum sfd_clock_policy policy)
{
	static const char *const text[] = {
		[SFD_CLOCK_SLEW] = "slew",
		[SFD_CLOCK_WAIT] = "wait",
		[SFD_CLOCK_REFUSE] = "refuse",
		[SFD_CLOCK_AHEAD] = "ahead",
	};

	return text_of(text[policy]);
}

static struct value loop_of(enum sfd_loop_backend loop)
{
	static const char *const text[] = {
		[SFD_LOOP_AUTO] = "auto",
		[SFD_LOOP_URING] = "io_uring",
		[SFD_LOOP_POLL] = "poll",
	};

	return text_of(text[loop]);
}

static struct value user_of(const struct sfd_account *account)
{
	return text_of(sfd_account_is_known(account) ? account->name : "root");
}

/** Two random machine ids stand for the same missing address. */
static bool same_machine(uint64_t one, uint64_t other)
{
	return one == other || (one & other & SFD_HARDWARE_RANDOM) != 0;
}

static bool same_nodes(const struct sfd_stream_config *old, const struct sfd_stream_config *next)
{
	return old->node_count == next->node_count &&
	       memcmp(old->node, next->node, old->node_count * sizeof(old->node[0])) == 0 &&
	       same_machine(old->machine, next->machine);
}

static bool has_node(const struct sfd_stream_config *stream, uint32_t node)
{
	for (uint32_t i = 0; i < stream->node_count; i++)
		if (stream->node[i] == node)
			return true;
	return false;
}

/** The first machine id that both have, as text; false: they share none. */
static bool share_machine(const struct sfd_stream_config *one,
			  const struct sfd_stream_config *other, struct value *ret_id)
{
	for (uint32_t i = 0; i < one->node_count; i++) {
		if (!has_node(other, one->node[i]))
			continue;
		*ret_id = number_of(one->node[i]);
		return true;
	}
	if (one->layout.format != SF_FORMAT_HOUND || other->layout.format != SF_FORMAT_HOUND ||
	    one->machine != other->machine)
		return false;
	*ret_id = nodes_of(one);
	return true;
}

static int check_stream(const struct sfd_stream_config *old, const struct sfd_stream_config *next,
			struct sf_why *why)
{
	const char *name = old->name;
	struct value was;
	struct value is;
	struct value id;

	if (old->layout.format != next->layout.format) {
		was = text_of(sf_format_name(old->layout.format));
		is = text_of(sf_format_name(next->layout.format));
		return refuse(name, "format", &was, &is, RESTART_FORMAT, why);
	}
	/* No padding but a byte that is zero. */
	if (memcmp(&old->layout, &next->layout, sizeof(old->layout)) != 0) {
		was = layout_of(&old->layout);
		is = layout_of(&next->layout);
		return refuse(name, "layout", &was, &is,
			      share_machine(old, next, &id) ? OTHER_ID : RESTART_LAYOUT, why);
	}
	if (!same_nodes(old, next)) {
		was = nodes_of(old);
		is = nodes_of(next);
		return refuse(name, "machine_id", &was, &is, RESTART_ABOVE, why);
	}
	if (old->runway_ms != next->runway_ms) {
		was = number_of(old->runway_ms);
		is = number_of(next->runway_ms);
		return refuse(name, "runway_ms", &was, &is, RESTART, why);
	}
	/* Clients that attached under one policy may not know what another one asks of them. */
	if (old->clock_backward != next->clock_backward) {
		was = policy_of(old->clock_backward);
		is = policy_of(next->clock_backward);
		return refuse(name, "clock_backward", &was, &is, RESTART, why);
	}
	return 0;
}

static const struct sfd_stream_config *find(const struct sfd_config *config, const char *name)
{
	for (size_t i = 0; i < config->stream_count; i++)
		if (strcmp(config->stream[i].name, name) == 0)
			return &config->stream[i];
	return NULL;
}

/**
 * A new stream with a machine id that another one has had until now: its clients still hold IDs,
 * up to their horizon, and the new one would start ahead of time.
 */
static int check_new(const struct sfd_config *old, const struct sfd_stream_config *stream,
		     struct sf_why *why)
{
	for (size_t i = 0; i < old->stream_count; i++) {
		struct value id;

		if (!share_machine(stream, &old->stream[i], &id))
			continue;
		if (why)
			(void)snprintf(
				why->text, sizeof(why->text),
				"stream %s: machine id %.32s cannot come from stream %s while "
				"sfd runs: restart sfd, or give the new stream another "
				"machine id",
				stream->name, id.text, old->stream[i].name);
		return -EPERM;
	}
	return 0;
}

static int check_daemon(const struct sfd_config *old, const struct sfd_config *next,
			struct sf_why *why)
{
	struct value was;
	struct value is;

	if (strcmp(old->runtime_dir, next->runtime_dir) != 0) {
		was = text_of(old->runtime_dir);
		is = text_of(next->runtime_dir);
		return refuse(NULL, "runtime_dir", &was, &is, RESTART, why);
	}
	if (strcmp(old->state_dir, next->state_dir) != 0) {
		was = text_of(old->state_dir);
		is = text_of(next->state_dir);
		return refuse(NULL, "state_dir", &was, &is, RESTART, why);
	}
	if (old->loop != next->loop) {
		was = loop_of(old->loop);
		is = loop_of(next->loop);
		return refuse(NULL, "loop", &was, &is, RESTART, why);
	}
	/* Who has become a user cannot become another, nor can a filter be taken off. */
	was = user_of(&old->account);
	is = user_of(&next->account);
	if (strcmp(was.text, is.text) != 0)
		return refuse(NULL, "user", &was, &is, RESTART, why);
	if (old->seccomp && !next->seccomp) {
		was = text_of("yes");
		is = text_of("no");
		return refuse(NULL, "seccomp", &was, &is, RESTART, why);
	}
	return 0;
}

int sfd_reload_check(const struct sfd_config *old, const struct sfd_config *next,
		     struct sf_why *why)
{
	int error = check_daemon(old, next, why);

	for (size_t i = 0; error == 0 && i < next->stream_count; i++) {
		const struct sfd_stream_config *stream = &next->stream[i];
		const struct sfd_stream_config *before = find(old, stream->name);

		error = before ? check_stream(before, stream, why) : check_new(old, stream, why);
	}
	return error;
}
