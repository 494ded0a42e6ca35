/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Inside libsfclient: what a client, an attachment and a cursor are made of, and which file owns
 * which step.
 *
 *   attach.c     socket, request, reply, mapping and its checks
 *   reattach.c   the same without blocking, while the daemon is gone
 *   client.c     sf_open, sf_close, who holds which attachment
 *   cursor.c     cursors, and the range that one holds
 *   narrow.c     sf_next's slow path, sf_fill, sf_claim_range
 *   wide.c       the same for the wide formats
 *   ordered.c    sf_next_ordered, sf_next128_ordered
 *   take.c       one claim: tick, ring, and what to do when no ID can be given
 *   trace.c      sf_next's slow path while somebody traces; probe.h has the probes
 *   default.c    sf_id, sf_id128, and the cursor behind them
 *
 * Fork: what must not be shared with a child lies on pages with MADV_WIPEONFORK (a cursor's public
 * part, a client's re-attachment); everything else is inherited and stays valid.
 */
#ifndef SF_CLIENT_INTERNAL_H
#define SF_CLIENT_INTERNAL_H

#include "shm/control.h"
#include "shm/ring.h"
#include "shm/timepage.h"

#include <sfclient.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/** A mapped ring, as one sfd grants it. Its memory is an attachment of its client's as long as that
 *  lives, perhaps another one; its mapping lives only while somebody holds it. */
struct sf_attachment {
	struct sf_shm_ring ring;
	/* holders: the client until the ring's runway is over, and every cursor on it. 0 =
	 * unmapped. Taken by compare-and-swap from non-zero only, so that a holder never revives
	 * it. */
	_Atomic uint32_t refs;
	/* 1 while the client is a holder | exchanged, so that it lets go once */
	_Atomic uint32_t retained;
	/* 1 after the last holder has unmapped it: the memory may become another attachment |
	 * release N5 in sf_attachment_put(), acquire N6 in attachment_new() */
	_Atomic uint32_t spent;
	/* the ring that took over | release N3 in sf_client_adopt(), acquire N4 in move_over() */
	_Atomic(struct sf_attachment *) newer;
	uint64_t grants_bytes;
	uint64_t claims_bytes;
	/* the claims memfd: the same one in two attachments is the same ring, handed over from one
	 * sfd to the next */
	dev_t claims_device;
	ino_t claims_inode;
	int64_t mono_offset_ns;  /* the daemon's monotonic clock less ours (time namespaces) */
	_Atomic uint64_t *tally; /* in the claims: IDs given by way of it; NULL: nobody asks */
	struct sf_attachment *older;
};

/** Re-attachment in flight. On a MADV_WIPEONFORK page: a child starts with none. */
struct sf_reattach {
	/* try-lock | A: acquire on entry, release on exit; nobody ever waits for it */
	_Atomic uint32_t busy;
	/* sfd has been reached, and has not answered | W: under busy | relaxed: its holder acts */
	_Atomic uint32_t waiting_for_reply;
	/* sfd was not reached, or refused | W: under busy | relaxed: picks an error */
	_Atomic uint32_t is_away;
	int fd;              /* valid while waiting_for_reply */
	uint32_t complained; /* the last answer was an error, and was told */
	int64_t sent_ns;
	/* earliest next step | relaxed: only a pace */
	_Atomic int64_t next_ns;
};

struct sf_client {
	_Atomic uint32_t refs; /* the caller's handle and every cursor */
	/* where new cursors go | release N1 in sf_client_adopt(), acquire N2 in sf_attachment_get()
	 */
	_Atomic(struct sf_attachment *) newest;
	struct sf_reattach *reattach;
	struct sf_layout layout;
	int fd;         /* control connection; changed only under reattach->busy */
	uint32_t tally; /* its number, as sfd's last answer said; 0: none; likewise */
	uint32_t wait;
	int64_t timeout_ns;
	sf_log_fn log;
	void *log_data;
	/* set around steps of reattach.c that may fail fifty times a second | relaxed: only talk */
	_Atomic uint32_t quiet;
	/* time, replaceable by tests */
	int64_t (*mono_ns)(void);
	void (*sleep_until)(int64_t mono_ns);
	uint32_t node[SF_NODES_MAX]; /* of the ring that the client was opened on */
	uint32_t node_count;
	uint64_t machine; /* format hound, likewise */
	char stream[SF_SHM_STREAM_NAME_MAX];
	char socket[108];
};

/** What sf_next_ordered() may reuse while the beat stands still: one tick, ready to claim from. */
struct sf_ordered {
	uint32_t ready; /* the rest is valid, for IDs of one width; 0 = it is not */
	uint32_t capacity;
	uint64_t beat;
	uint64_t tick;
	uint64_t first; /* ID of counter 0; wide formats: its lower half */
	uint64_t high;  /* wide formats: the upper half */
	uint32_t shift; /* IDs of neighbouring counters are 1 << shift apart */
	/* places in the ring of the cursor's attachment */
	const _Atomic uint64_t *shared_beat;
	const _Atomic uint64_t *floor;
	const _Atomic uint64_t *grant_tick;
	_Atomic uint64_t *word;
};

/** What is the process's own besides a cursor's public part, on the same page: a fork wipes both.
 * The tracer's, but for the first. */
struct sf_held {
	uint64_t uncounted; /* IDs of sf_next_ordered() that the client's tally has not heard of */

	uint64_t ids;     /* of the range, after those that the public part shows */
	uint64_t shown;   /* IDs that it showed when it was cut last; 0: settled, or never cut */
	uint64_t until;   /* fetches before the next that is timed, from range to range */
	uint64_t fetches; /* single IDs handed out since the last event, less what is not settled */
	uint32_t events;  /* counts them */
	uint32_t is_used; /* 1: this process has claimed through this cursor */
};

/** A cursor's private part, on the page after the public part; survives fork. */
struct sf_cursor_private {
	struct sf_client *client;
	struct sf_attachment *attachment;
	uint32_t wait;
	uint32_t claim_size; /* adapts: 1 .. sf_claim_limit() */
	int64_t timeout_ns;
	int64_t remaining_ns;  /* until the wall has caught up, as the last claim saw it */
	int64_t wait_begin_ns; /* when the last claim began to wait; 0: it had not to */
	uint32_t is_used;      /* 1: a claim was made through it, perhaps before a fork */
	struct sf_ordered ordered;
};

/*
 * The public part may have been wiped, so the private part is found by address alone. 4096 is the
 * page size of every platform that the ABI is built for; sf_cursor_open() checks it.
 */
#define SF_CURSOR_PAGE 4096u

static inline struct sf_cursor_private *sf_cursor_private(struct sf_cursor *cursor)
{
	return (struct sf_cursor_private *)((char *)cursor + SF_CURSOR_PAGE);
}

static inline const struct sf_cursor_private *sf_cursor_private_of(const struct sf_cursor *cursor)
{
	return (const struct sf_cursor_private *)((const char *)cursor + SF_CURSOR_PAGE);
}

static inline struct sf_cursor *sf_cursor_public(struct sf_cursor_private *private)
{
	return (struct sf_cursor *)((char *)private - SF_CURSOR_PAGE);
}

static inline struct sf_held *sf_held(struct sf_cursor *cursor)
{
	return (struct sf_held *)(cursor + 1);
}

static inline const struct sf_held *sf_held_of(const struct sf_cursor *cursor)
{
	return (const struct sf_held *)(cursor + 1);
}

/** One successful claim, as IDs. */
struct sf_take {
	struct sf_shm_range range;
	uint64_t first;
	uint64_t step;
	struct sf_wide wide; /* the first, in a wide format; neighbours differ by 1 in `low` */
	uint32_t count;
	uint64_t beat; /* as loaded before the claim */
	bool live;     /* the daemon beats: the range may be kept while the beat stands */
};

/* client.c */
void sf_log(const struct sf_client *client, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int sf_client_new(const struct sf_options *options, struct sf_client **ret_client);
void sf_client_unref(struct sf_client *client);
struct sf_attachment *sf_attachment_get(struct sf_client *client);
void sf_attachment_put(struct sf_attachment *attachment);
bool sf_attachment_try_hold(struct sf_attachment *attachment);
void sf_attachment_release(struct sf_attachment *attachment);
void sf_attachment_unmap(struct sf_attachment *attachment);

/* attach.c */
int sf_socket_connect(struct sf_client *client, int *ret_fd);
int sf_attach_send(struct sf_client *client, int fd);
int sf_attach_receive(struct sf_client *client, int fd, int64_t sent_ns);
int sf_client_adopt(struct sf_client *client, int grants_fd, int claims_fd, int64_t offset_ns);

/* reattach.c */
void sf_reattach_step(struct sf_client *client, int64_t mono_ns);
/** An sfd is there, and its answer is awaited. */
bool sf_reattach_is_waiting(const struct sf_client *client);
/** The last try found no sfd, or one that refuses. */
bool sf_reattach_is_away(const struct sf_client *client);

/* cursor.c */
/** The stream's IDs have more than 64 bits. */
bool sf_cursor_is_wide(const struct sf_cursor_private *private);
/** Gives the cursor a new range, for a call that takes one ID of it. */
int sf_cursor_refill_one(struct sf_cursor *cursor);
/** The same for a call that still wants `left` IDs; `*deadline_ns` as in sf_take(). When the daemon
 *  does not beat the range has no more than that, since nothing tells when it grows old. */
int sf_cursor_refill_batch(struct sf_cursor *cursor, size_t left, int64_t *deadline_ns);
/** IDs left in the range, those held back included. */
uint64_t sf_cursor_left(const struct sf_cursor *cursor);
/** Counts the fetches of those IDs that were shown to a traced cursor's caller and are gone. */
void sf_cursor_settle(struct sf_cursor *cursor);
/** The range may still be used: its tick is the current one. */
bool sf_cursor_is_fresh(const struct sf_cursor *cursor);
void sf_cursor_drop(struct sf_cursor *cursor, struct sf_cursor_private *private);
void sf_cursor_leave(struct sf_cursor_private *private);

/* take.c */
uint32_t sf_claim_limit(const struct sf_shm_ring *ring);
/** Claims `n` counters while the daemon beats, `n_idle` otherwise; waits as the cursor says, until
 *  `*deadline_ns`, which is set at the first wait and carries over the claims of one call. */
int sf_take(struct sf_cursor_private *cursor, uint32_t n, uint32_t n_idle, int64_t *deadline_ns,
	    struct sf_take *ret_take);
/** Counters that were claimed by way of the attachment. */
void sf_count_taken(const struct sf_attachment *attachment, uint64_t count);
/** Of those, counters that will not be handed out. */
void sf_count_dropped(const struct sf_attachment *attachment, uint64_t count);

/* default.c */
/** The cursor that sf_id() uses on this thread; NULL before its first use. */
const struct sf_cursor *sf_default_cursor(void);

#endif
