/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The beat thread; see beat.h.
 */
#include "daemon/beat.h"

#include "daemon/probe.h"
#include "shm/beat.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Shortest slice that the fair scheduler grants: an early deadline at every wake-up. */
#define SLICE_NS 100000

/** Values of sfd_beat.stop other than 0. */
enum end {
	END_STOPPED = 1,
	END_PAUSED = 2,
};

/** struct sched_attr of sched_setattr(2), whose header clashes with the C library's. */
struct fair_slice {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

/** The kernel's view: a list whose entries sit one page before each ring's header. */
static void robust_register(struct sfd_beat *beat)
{
	struct robust_list_head *head = &beat->robust;
	struct robust_list *last = &head->list;

	*head = (struct robust_list_head){.futex_offset = SFD_RING_ROBUST_OFFSET};
	for (size_t i = 0; i < beat->stream_count; i++) {
		last->next = beat->stream[i].ring.arena;
		last = last->next;
	}
	last->next = &head->list;
	/* Replaces glibc's list for this thread, which takes no robust mutex. */
	(void)syscall(SYS_set_robust_list, head, sizeof(*head));
}

/*
 * Punctuality is worth a lot to clients (a late beat costs them a claim an ID), but nothing depends
 * on it: so every step here may fail. Real time needs a privilege; a short slice does not.
 */
static void become_punctual(void)
{
	struct sched_param realtime = {.sched_priority = 1};
	struct fair_slice fair = {
		.size = sizeof(fair), .policy = SCHED_OTHER, .runtime_ns = SLICE_NS};

	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &realtime) < 0)
		(void)syscall(SYS_sched_setattr, 0, &fair, 0);
}

/** Sleeps until a monotonic time or a kick. `seen` is the kick word before the turn. */
static void sleep_until(struct sfd_beat *beat, uint32_t seen, int64_t mono_ns)
{
	struct timespec until = {.tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000};

	(void)syscall(SYS_futex, &beat->kick, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL,
		      FUTEX_BITSET_MATCH_ANY);
}

/** One turn of every stream. @return when the next one is due */
static int64_t turn_all(struct sfd_beat *beat, struct sfd_now now)
{
	int64_t next = INT64_MAX;
	unsigned news = SFD_TURN_QUIET;

	for (size_t i = 0; i < beat->stream_count; i++) {
		int64_t wish = sfd_stream_turn(&beat->stream[i], now, &news);

		sfd_stats_add(beat->stream[i].stats, SF_COUNTER_wakeups, 1);
		if (wish < next)
			next = wish;
	}
	if (news != SFD_TURN_QUIET)
		(void)!write(beat->news_fd, &(uint64_t){1}, sizeof(uint64_t));
	return next;
}

/** One turn, and what tracers hear of it. @param due as the turn before returned; 0: the first */
static int64_t turn_due(struct sfd_beat *beat, int64_t due)
{
	struct sfd_now now = sfd_clock_now();
	int64_t next = turn_all(beat, now);

	if (SFD_PROBE_IS_ON(beat) && due != 0)
		SFD_PROBE2(beat, now.mono_ns - due, sfd_clock_now().mono_ns - now.mono_ns);
	return next;
}

static void *beat_main(void *argument)
{
	struct sfd_beat *beat = argument;
	sigset_t all;
	int64_t next = 0;
	uint32_t seen;
	bool started = false;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL);
	(void)pthread_setname_np(pthread_self(), "sfd-beat");
	become_punctual();
	for (size_t i = 0; i < beat->stream_count; i++)
		beat->stream[i].engine.owner = (uint32_t)gettid();
	robust_register(beat);
	for (;;) {
		/* Acquire: what the kicker wrote before is seen in this turn. */
		seen = atomic_load_explicit(&beat->kick, memory_order_acquire);
		/* relaxed: ordered by the load above */
		if (atomic_load_explicit(&beat->stop, memory_order_relaxed))
			break;
		next = turn_due(beat, next);
		if (!started)
			(void)sem_post(&beat->started);
		started = true;
		sleep_until(beat, seen, next);
	}
	/* relaxed, as above */
	if (atomic_load_explicit(&beat->stop, memory_order_relaxed) == END_PAUSED)
		return NULL;
	for (size_t i = 0; i < beat->stream_count; i++)
		beat->last_tick[i] = sfd_stream_stop(&beat->stream[i], sfd_clock_now());
	return NULL;
}

int sfd_beat_start(struct sfd_beat *beat, struct sfd_stream *stream, size_t stream_count,
		   int news_fd)
{
	int error;

	*beat = (struct sfd_beat){
		.stream = stream, .stream_count = stream_count, .news_fd = news_fd};
	beat->last_tick = calloc(stream_count, sizeof(*beat->last_tick));
	if (!beat->last_tick)
		return -ENOMEM;
	(void)sem_init(&beat->started, 0, 0);
	error = pthread_create(&beat->thread, NULL, beat_main, beat);
	if (error != 0) {
		sfd_beat_deinit(beat);
		return -error;
	}
	while (sem_wait(&beat->started) < 0) {
		/* EINTR is the only error */
	}
	return 0;
}

void sfd_beat_kick(struct sfd_beat *beat)
{
	/* Release, pairs with the acquire at the top of a turn. */
	atomic_fetch_add_explicit(&beat->kick, 1, memory_order_release);
	(void)syscall(SYS_futex, &beat->kick, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void end(struct sfd_beat *beat, enum end how)
{
	/* relaxed: the kick releases it */
	atomic_store_explicit(&beat->stop, how, memory_order_relaxed);
	sfd_beat_kick(beat);
	(void)pthread_join(beat->thread, NULL);
}

void sfd_beat_stop(struct sfd_beat *beat)
{
	end(beat, END_STOPPED);
}

void sfd_beat_pause(struct sfd_beat *beat)
{
	end(beat, END_PAUSED);
}

void sfd_beat_deinit(struct sfd_beat *beat)
{
	if (beat->last_tick)
		(void)sem_destroy(&beat->started);
	free(beat->last_tick);
	beat->last_tick = NULL;
}
