/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's configuration: an INI file, or the flags of the command line for a single stream.
 * Pure data; loaded before other threads exist.
 */
#ifndef SFD_CONFIG_H
#define SFD_CONFIG_H

#include "daemon/access.h"
#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/privilege.h"
#include "shm/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most streams of one daemon. */
#define SFD_STREAMS_MAX 64
#define SFD_AHEAD_MS_MAX 60000
#define SFD_RUNWAY_MS_MIN 100
#define SFD_RUNWAY_MS_MAX 600000
#define SFD_RUNWAY_MS_DEFAULT 3000
/** Connections of one user; the most is what sfd serves in all. */
#define SFD_CONNECTIONS_MAX 4096
#define SFD_CONNECTIONS_PER_USER_DEFAULT 512

/** How the answer to --check-config begins, by which sfd knows the next sfd. */
#define SFD_CONFIG_VALID "the configuration is valid"

struct sfd_stream_config {
	char name[SF_SHM_STREAM_NAME_MAX]; /* [A-Za-z0-9_.-]+, no leading dot */
	struct sf_layout layout;
	uint32_t node[SF_NODES_MAX]; /* machine ids, ascending, distinct, each fits the layout */
	uint32_t node_count;         /* at least 1; 0 for the wide formats */
	uint32_t ahead_ms;           /* default 0 */
	uint32_t runway_ms;          /* default SFD_RUNWAY_MS_DEFAULT */
	bool sequence_spread;        /* sequence_start = spread */
	uint64_t machine;            /* format hound: machine id of 48 bits */
	enum sfd_clock_policy clock_backward;
	struct sfd_access access; /* allow = ... */
};

struct sfd_config {
	char *runtime_dir; /* absolute or as given; never NULL after a successful load */
	char *state_dir;
	enum sfd_log_level log_level;
	enum sfd_loop_backend loop;
	struct sfd_account account; /* user = ..., else that of the name sfd, if there is one */
	uint32_t connections_per_user;
	bool seccomp;
	struct sfd_stream_config *stream;
	size_t stream_count; /* at least 1 after a successful load */
	char *text;          /* the file as it was read; NULL without one */
	size_t text_size;
};

/** What the command line said; NULL where it said nothing. */
struct sfd_flags {
	const char *config_file;
	/* read this instead: what config_file, which stays its name, was once; NULL: as it is */
	const char *kept_file;
	const char *runtime_dir;
	const char *state_dir;
	const char *machine_id;
	const char *format;
	const char *layout;
	const char *log_level;
	bool check_config;
};

/**
 * Builds the configuration from the flags and the file they name. Flags for the directories and
 * the log level win over the file; --machine-id, --format and --layout describe the stream
 * `default` and are refused together with a file. Directories default to /run/sfd and /var/lib/sfd
 * for root and the user that root's sfd becomes, and to $XDG_RUNTIME_DIR/sfd and
 * $XDG_STATE_HOME/sfd (else ~/.local/state/sfd) for others. Every problem of the file is reported
 * with file and line, all of them and not just the first.
 * @return 0, or a negative errno after one sentence a problem on stderr through sfd_log(); `config`
 *         is then already deinitialised
 */
int sfd_config_load(const struct sfd_flags *flags, struct sfd_config *config);
void sfd_config_deinit(struct sfd_config *config);

/**
 * Reads machine ids: "7", "0-3", "1,3,5-7". Distinct and within `bits` bits, at most SF_NODES_MAX.
 * @return 0 or -EINVAL with the legal range in `why`
 */
int sfd_nodes_parse(const char *text, unsigned bits, uint32_t *ret_node, uint32_t *ret_count,
		    struct sf_why *why);

/** Writes machine ids that ascend as "0-3,7", cut where the buffer ends. */
void sfd_nodes_format(const uint32_t *node, uint32_t count, char *buffer, size_t size);

/**
 * Reads the machine id of a hound stream: "hardware", "02:42:ac:11:00:02" or "0x0242ac110002".
 * @return 0, or -EINVAL with what is legal in `why`, or what getrandom(2) failed with
 */
int sfd_machine_parse(const char *text, uint64_t *ret_machine, struct sf_why *why);

#endif
