/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libsfclient: IDs out of a running sfd, about a nanosecond each, without system calls.
 *
 *   struct sf_client *client;
 *   struct sf_cursor *cursor;
 *   uint64_t id;
 *
 *   sf_open(NULL, &client);             once a process
 *   sf_cursor_open(client, &cursor);    once a thread
 *   sf_next(cursor, &id);               as often as you like
 *
 * Errors are negative errno values, the same meaning in every function:
 *
 *   -EAGAIN      no ID can be given now and the caller chose not to wait
 *   -ETIMEDOUT   no ID could be given within the caller's time-out
 *   -ESHUTDOWN   the daemon is gone and its runway is used up
 *   -EOVERFLOW   the layout's time field is used up: no later tick fits an ID
 *   -ENOTCONN    no daemon listens at the socket
 *   -ENOENT      the daemon has no stream of that name
 *   -ETIME       the wall clock went back and the stream refuses meanwhile (clock_backward =
 *                refuse); sf_cursor_remaining_ms() says for how long
 *   -ENOTSUP     the stream's IDs are of the other width: sf_next() and its kin give 64-bit IDs,
 *                sf_next128() and its kin those of the wide formats
 *   -EACCES      the stream's access list does not name this user
 *   -EUSERS      this user has as many connections to the daemon as one user may have
 *   -EPROTO      the daemon speaks another version, or sent something malformed
 *   -EINVAL      an argument is out of range
 *   -ENOMEM, -EMFILE, -ENFILE   the process or host is out of that resource
 *
 * No error path returns an ID: result arguments (`ret_...`) are untouched on failure.
 *
 * Threads: a client may be shared by any number of threads; a cursor belongs to one thread at a
 * time. Fork: a child, however it was made, may go on using the cursors and clients it inherited;
 * it starts with a claim of its own and never repeats an ID of its parent. Signals: a handler must
 * not use the cursor that it may have interrupted; a cursor of its own is fine.
 */
#ifndef SF_CLIENT_H
#define SF_CLIENT_H

#include <sfformats.h>
#include <sflayout.h>
#include <sfpaging.h>
#include <sftext.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sleep until the clock has reached the next tick. Cheap for the host; the default. */
#define SF_WAIT_SLEEP 1
/** Spin until then. Lowest latency; costs a core meanwhile. */
#define SF_WAIT_SPIN 2
/** Do not wait: return -EAGAIN (or -ESHUTDOWN) at once. */
#define SF_WAIT_NONE 3

/** Time-out that never ends. */
#define SF_TIMEOUT_NONE (-1)
/** Time-out in force when the options do not set one, nanoseconds: 5 seconds. */
#define SF_TIMEOUT_DEFAULT_NS 5000000000

/** Severity of a message to sf_log_fn, as in syslog: something failed. */
#define SF_LOG_ERROR 3
/** Something unexpected that the library copes with. */
#define SF_LOG_WARNING 4
/** Something normal that is worth knowing. */
#define SF_LOG_INFO 6

/**
 * Receives one sentence (no newline) that names the thing, the value and the remedy. Called on the
 * thread that noticed, inside the call that failed; must not call the library.
 */
typedef void (*sf_log_fn)(void *data, int level, const char *message);

/** A connection to one stream of one daemon. */
struct sf_client;

/**
 * A thread's private position in the range it claimed last. The fields belong to sf_next(), which
 * is inlined into programs; do not touch them.
 */
struct sf_cursor {
	/** Next ID to give. */
	uint64_t next;
	/** One step past the last ID of the range; equal to `next` when the range is used up. */
	uint64_t end;
	/** Distance of neighbouring IDs. */
	uint64_t step;
	/** Shared beat at the time of the claim. */
	uint64_t beat;
	/** The shared beat. */
	const uint64_t *shared_beat;
	/** Wide formats: lower half of the next ID to give. */
	uint64_t low;
	/** Wide formats: one past the lower half of the last ID of the range. */
	uint64_t low_end;
	/** Wide formats: upper half of the range's IDs. */
	uint64_t high;
};

/** How to open a client. Zero or NULL in a field means its default. */
struct sf_options {
	/** sizeof(struct sf_options): lets the struct grow. */
	uint32_t size;
	/** SF_WAIT_SLEEP (default), SF_WAIT_SPIN or SF_WAIT_NONE. */
	uint32_t wait;
	/** Longest wait of one call, ns; SF_TIMEOUT_NONE for ever; 0 = SF_TIMEOUT_DEFAULT_NS. */
	int64_t timeout_ns;
	/** Path of the control socket. Default: $SFD_SOCKET, else the first that exists of
	 *  $XDG_RUNTIME_DIR/sfd/sfd.sock and /run/sfd/sfd.sock. */
	const char *socket;
	/** Name of the stream. Default: $SFD_STREAM, else "default". */
	const char *stream;
	/** Where sentences go; NULL: nowhere. */
	sf_log_fn log;
	/** First argument of `log`. */
	void *log_data;
};

/** Evenly spaced IDs: first, first + step, ..., count of them. */
struct sf_range {
	/** First ID. */
	uint64_t first;
	/** Distance of neighbours. */
	uint64_t step;
	/** How many. */
	uint32_t count;
	/** Zero. */
	uint32_t pad0;
};

/** Neighbouring IDs of a wide format: their lower halves are first.low, first.low + 1, ... */
struct sf_range128 {
	/** First ID. */
	struct sf_wide first;
	/** How many. */
	uint32_t count;
	/** Zero. */
	uint32_t pad0;
};

/**
 * Connect to a stream and map its ring. Enters the kernel and may wait for the daemon's answer up
 * to the options' time-out. The connection stays open until sf_close(), so that the daemon can
 * list its clients; later calls use it only to move to a restarted daemon.
 * @param options NULL for all defaults
 * @return 0, or -ENOTCONN, -ENOENT, -EACCES, -EUSERS, -EPROTO, -ETIMEDOUT, -EINVAL, -ENOMEM,
 *         -EMFILE, -ENFILE
 */
SF_API int sf_open(const struct sf_options *options, struct sf_client **ret_client);

/**
 * Give up a client; NULL is fine. Cursors that are still open keep the mapping alive and working;
 * the last one to close frees it.
 */
SF_API void sf_close(struct sf_client *client);

/**
 * The layout of the client's stream. Any thread; does not enter the kernel.
 * @return points into the client: valid until its last cursor and itself are closed
 */
SF_API const struct sf_layout *sf_client_layout(const struct sf_client *client);

/** Name of the client's stream. Any thread; valid as long as the client. */
SF_API const char *sf_client_stream(const struct sf_client *client);

/**
 * The node ids (machine ids) that the stream's IDs carry, ascending, as they were when the client
 * was opened (a restarted sfd may be configured otherwise). Any thread; does not enter the
 * kernel.
 * @param ret_count number of them; 0 for the wide formats
 * @return points into the client: valid until its last cursor and itself are closed
 */
SF_API const uint32_t *sf_client_nodes(const struct sf_client *client, uint32_t *ret_count);

/**
 * Machine id of a stream of format hound, 48 bits, as it was when the client was opened; 0 for all
 * other formats. Any thread; does not enter the kernel.
 */
SF_API uint64_t sf_client_machine(const struct sf_client *client);

/**
 * Make a cursor, for one thread at a time. Enters the kernel.
 * @return 0, or -ENOMEM, -EINVAL
 */
SF_API int sf_cursor_open(struct sf_client *client, struct sf_cursor **ret_cursor);

/** Give up a cursor; NULL is fine. IDs of its range that were not taken are dropped. */
SF_API void sf_cursor_close(struct sf_cursor *cursor);

/**
 * Choose what this cursor's calls do when no ID can be given now.
 * @param wait SF_WAIT_SLEEP, SF_WAIT_SPIN or SF_WAIT_NONE
 * @param timeout_ns longest wait of one call; SF_TIMEOUT_NONE for ever; never 0
 * @return 0 or -EINVAL
 */
SF_API int sf_cursor_set_wait(struct sf_cursor *cursor, uint32_t wait, int64_t timeout_ns);

/**
 * What was left, when the cursor's last call was refused (-ETIME) or gave up waiting, until the
 * wall clock has caught up: for how long the stream goes on to refuse or to make callers wait.
 * @param cursor NULL: the one that sf_id() and sf_id128() use on this thread
 * @return milliseconds, rounded up, at least 1; 0 when the last call had no such reason to fail
 */
SF_API int64_t sf_cursor_remaining_ms(const struct sf_cursor *cursor);

/** Slow path of sf_next(); not for direct use. Same result as sf_next(). */
SF_API int sf_next_slow(struct sf_cursor *cursor, uint64_t *ret_id);

/*
 * Budget of the fast path: one load of a shared line (the beat, which changes once a tick), two
 * predicted branches, no lock, no system call, no clock. Equality with the beat at the time of the
 * claim means that the ID's tick is the current one.
 */
#ifdef __cplusplus
#define SF_INLINE inline __attribute__((always_inline))
#else
#define SF_INLINE extern inline __attribute__((gnu_inline, always_inline))
#endif

/** Body of sf_next(), which see. */
SF_INLINE int sf_next_inline(struct sf_cursor *cursor, uint64_t *ret_id)
{
	/* Relaxed: nothing is read through the beat; only its being unchanged counts. */
	if (__builtin_expect(cursor->next != cursor->end, 1) &&
	    __builtin_expect(__atomic_load_n(cursor->shared_beat, __ATOMIC_RELAXED) == cursor->beat,
			     1)) {
		uint64_t id = cursor->next;

		/* The cursor first: a compiler must think that *ret_id may lie in it. */
		cursor->next = id + cursor->step;
		*ret_id = id;
		return 0;
	}
	return sf_next_slow(cursor, ret_id);
}

/**
 * Take the next ID. Strictly increasing per cursor; across cursors equal up to one tick, and by as
 * much more as sfd's beat is late (stats: beat_late_max_us). Inlined in
 * C and C++ (unless SF_NO_INLINE is defined); the same function is exported for languages that
 * cannot inline C.
 * @return 0, or -EAGAIN, -ETIMEDOUT, -ESHUTDOWN, -EOVERFLOW, -ETIME, -ENOTSUP
 */
SF_API int sf_next(struct sf_cursor *cursor, uint64_t *ret_id);

#ifndef SF_NO_INLINE
SF_INLINE int sf_next(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_next_inline(cursor, ret_id);
}
#endif

/** Slow path of sf_next128(); not for direct use. Same result as sf_next128(). */
SF_API int sf_next128_slow(struct sf_cursor *cursor, struct sf_wide *ret_id);

/** Body of sf_next128(), which see. Same budget as sf_next(). */
SF_INLINE int sf_next128_inline(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	/* Relaxed: as in sf_next_inline(). */
	if (__builtin_expect(cursor->low != cursor->low_end, 1) &&
	    __builtin_expect(__atomic_load_n(cursor->shared_beat, __ATOMIC_RELAXED) == cursor->beat,
			     1)) {
		uint64_t low = cursor->low;
		uint64_t high = cursor->high;

		cursor->low = low + 1;
		ret_id->high = high;
		ret_id->low = low;
		return 0;
	}
	return sf_next128_slow(cursor, ret_id);
}

/**
 * Take the next ID of a stream of a wide format. Order as sf_next(). Inlined in C and C++ as
 * sf_next() is.
 * @return 0, -ENOTSUP for a stream of 64-bit IDs, or an error of sf_next()
 */
SF_API int sf_next128(struct sf_cursor *cursor, struct sf_wide *ret_id);

#ifndef SF_NO_INLINE
SF_INLINE int sf_next128(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	return sf_next128_inline(cursor, ret_id);
}
#endif

/** sf_next_ordered() for the wide formats. */
SF_API int sf_next128_ordered(struct sf_cursor *cursor, struct sf_wide *ret_id);

/** sf_fill() for the wide formats. */
SF_API int sf_fill128(struct sf_cursor *cursor, struct sf_wide *ret_ids, size_t count);

/** sf_claim_range() for the wide formats. */
SF_API int sf_claim_range128(struct sf_cursor *cursor, uint32_t count,
			     struct sf_range128 *ret_range);

/**
 * Take an ID that is larger than every ID whose call returned before this one began, on any thread
 * and process of the host that uses this stream. Costs one contended atomic add.
 * @return as sf_next()
 */
SF_API int sf_next_ordered(struct sf_cursor *cursor, uint64_t *ret_id);

/**
 * Take exactly `count` IDs into an array, strictly increasing.
 * @return 0, or an error of sf_next(), after which the array's contents mean nothing
 */
SF_API int sf_fill(struct sf_cursor *cursor, uint64_t *ret_ids, size_t count);

/**
 * Take up to `count` (1 to 8192) IDs as a range, at least one. Fewer when the tick ends, the layout
 * cannot space them evenly, or `count` is more than a sixteenth of a tick.
 * @return 0, or -EINVAL, or an error of sf_next()
 */
SF_API int sf_claim_range(struct sf_cursor *cursor, uint32_t count, struct sf_range *ret_range);

/**
 * Take an ID without any set-up: the default client ($SFD_SOCKET, $SFD_STREAM) is opened at the
 * first call of the process, a cursor at the first call of each thread. A failed opening is tried
 * anew at the next call.
 * @return 0, or an error of sf_open() or sf_next()
 */
SF_API int sf_id(uint64_t *ret_id);

/** sf_id() for a default stream of a wide format. */
SF_API int sf_id128(struct sf_wide *ret_id);

/**
 * A sentence for an error of this library.
 * @param error negative (or positive) errno value
 * @return a constant string; never NULL
 */
SF_API const char *sf_strerror(int error);

/** Version of the library, "major.minor.patch". */
SF_API const char *sf_version(void);

#ifdef __cplusplus
}
#endif

#endif
