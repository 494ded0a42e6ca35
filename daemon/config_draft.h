/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Inside of the configuration: what config.c, config_file.c and config_stream.c share, and what
 * the tests need besides config.h.
 *
 * A draft is the configuration as written, not yet judged: each key's text and where it stands. The
 * file and the flags both end up in a draft, so that both meet the same checks.
 */
#ifndef SFD_CONFIG_DRAFT_H
#define SFD_CONFIG_DRAFT_H

#include "daemon/config.h"

/** Longest configuration file; what is longer is not one. */
#define SFD_CONFIG_BYTES_MAX (1u << 20)

/** Where something was written: a flag, a line of the file, or the file as a whole. */
struct sfd_draft_place {
	const char *flag; /* NULL in a file */
	unsigned line;    /* 0: the file as a whole */
};

struct sfd_draft_value {
	char *text; /* NULL: not written */
	struct sfd_draft_place place;
};

enum sfd_daemon_key {
	SFD_DAEMON_RUNTIME_DIR,
	SFD_DAEMON_STATE_DIR,
	SFD_DAEMON_LOG_LEVEL,
	SFD_DAEMON_LOOP,
	SFD_DAEMON_USER,
	SFD_DAEMON_MAX_CONNECTIONS_PER_USER,
	SFD_DAEMON_SECCOMP,
	SFD_DAEMON_KEYS,
};

enum sfd_stream_key {
	SFD_STREAM_FORMAT,
	SFD_STREAM_LAYOUT,
	SFD_STREAM_MACHINE_ID,
	SFD_STREAM_AHEAD_MS,
	SFD_STREAM_RUNWAY_MS,
	SFD_STREAM_CLOCK_BACKWARD,
	SFD_STREAM_SEQUENCE_START,
	SFD_STREAM_ALLOW,
	SFD_STREAM_KEYS,
};

static_assert((int)SFD_DAEMON_KEYS <= (int)SFD_STREAM_KEYS, "a section has room for either");

/** One section; `value` is indexed by the keys of its kind. */
struct sfd_draft_section {
	char name[SF_SHM_STREAM_NAME_MAX]; /* of a stream */
	struct sfd_draft_place place;
	struct sfd_draft_value value[SFD_STREAM_KEYS];
};

struct sfd_draft {
	const char *file;                 /* name in messages, NULL without a file */
	struct sfd_draft_section daemon;  /* of the file */
	struct sfd_draft_section flags;   /* the same keys, from the command line */
	struct sfd_draft_section *stream; /* SFD_STREAMS_MAX of them */
	size_t stream_count;
	bool stream_seen;  /* also when its section was refused */
	unsigned problems; /* reported so far */
	int error;         /* negative errno when the machine failed, not the file */
};

/** Logs one sentence with its place in front; at SFD_LOG_ERROR it counts as a problem. */
void sfd_draft_report(struct sfd_draft *draft, enum sfd_log_level level,
		      const struct sfd_draft_place *place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/** Copies `text` into `value`; a failure ends up in `error`. */
void sfd_draft_set(struct sfd_draft *draft, struct sfd_draft_value *value, const char *text,
		   struct sfd_draft_place place);
void sfd_draft_deinit(struct sfd_draft *draft);

/** config_file.c: the whole file at `path`. @return 0 or a negative errno, reported in `draft` */
int sfd_draft_read_file(struct sfd_draft *draft, const char *path, char **ret_text,
			size_t *ret_size);
/** config_file.c: takes the text of an INI file apart. */
void sfd_draft_parse(struct sfd_draft *draft, const char *text, size_t size);

/**
 * config_nodes.c: strict decimal, as far as it goes.
 * @return what follows, or NULL: no digit, or above `max`
 */
const char *sfd_read_number(const char *text, uint32_t max, uint32_t *ret_number);

/** config_stream.c: judges one stream; `stream` is zeroed and belongs to the caller throughout. */
void sfd_stream_config_fill(struct sfd_draft *draft, const struct sfd_draft_section *section,
			    int64_t now_ms, struct sfd_stream_config *stream);
/** config_stream.c: what must hold between streams; the arrays run in parallel. */
void sfd_stream_config_compare(struct sfd_draft *draft, const struct sfd_stream_config *stream,
			       size_t count);

/**
 * sfd_config_load() with the file's text and the time given: `text` is NULL without a file,
 * otherwise `flags->config_file` is only a name. `now_ms` is Unix time.
 */
int sfd_config_load_text(const struct sfd_flags *flags, const char *text, size_t size,
			 int64_t now_ms, struct sfd_config *config);

#endif
