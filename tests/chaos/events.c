/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See events.h. The events are made so that every call must be answered: what sfd promises for
 * them is that its clients go on, so a call that fails is a failure of sfd. After each event every
 * lane must get IDs again.
 *
 *   killed, stopped     the next sfd is there before the runway of 2 s ends; a client that makes
 *                       no call between two kills, or is new, waits for that end
 *   held                for less than the runway
 *   disk full           for less than the mark leads, with no step of the clock beyond that
 *   clock               any time; the streams that are told to wait or to refuse do so
 */
#include "tests/chaos/events.h"

#include "tests/chaos/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED_US_MAX 600000
#define STOPPED_US_MAX 100000
#define HELD_US_MIN 20000
#define HELD_US_MAX 1200000
/* An sfd that idles sees a step within an eighth of a second. */
#define CLOCK_SEEN_US 150000
/* What sfd says when it has started, by itself or after another. */
#define SERVING "info: serving "
#define RELOAD_NS INT64_C(15000000000)
#define RELOAD_LOOK_US 5000
#define BEHIND_US_MAX 800000
#define DAY_SECONDS 86400.0
/* A run that is asked for as much sees everything, if need be in this many times its seconds. */
#define ALL_SECONDS 25.0
#define OVERTIME 3

int64_t chaos_events_pause_us(struct chaos_events *events, int64_t least, int64_t most)
{
	return least + (int64_t)(chaos_random(&events->random) % (uint64_t)(most - least));
}

static bool kill_sfd(struct chaos_events *events)
{
	if (!chaos_sfd_end(events->sfd, SIGKILL))
		return false;
	chaos_nap_us(chaos_events_pause_us(events, 0, KILLED_US_MAX));
	return chaos_sfd_start(events->sfd);
}

static bool stop_sfd(struct chaos_events *events)
{
	(void)chaos_sfd_end(events->sfd, SIGTERM);
	chaos_nap_us(chaos_events_pause_us(events, 0, STOPPED_US_MAX));
	return chaos_sfd_start(events->sfd);
}

static bool hold_sfd(struct chaos_events *events)
{
	int64_t began_ns = chaos_mono_ns();

	(void)kill(events->sfd->pid, SIGSTOP);
	chaos_nap_us(chaos_events_pause_us(events, HELD_US_MIN, HELD_US_MAX));
	(void)kill(events->sfd->pid, SIGCONT);
	events->sfd->absent_ns = chaos_mono_ns() - began_ns;
	return true;
}

/** Runs sfctl. @return its exit code, or -1 */
static int run_tool(const struct chaos_sfd *sfd, char *const argv[])
{
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	if (posix_spawn(&pid, sfd->tool, &actions, NULL, argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	(void)posix_spawn_file_actions_destroy(&actions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool upgrade_sfd(struct chaos_events *events)
{
	char *const argv[] = {(char[]){"sfctl"}, (char[]){"upgrade"}, (char[]){"--socket"},
			      chaos->socket, NULL};
	int code = run_tool(events->sfd, argv);

	if (code != 0)
		chaos_find("sfctl upgrade ended with %d", code);
	return chaos_sfd_lives(events->sfd);
}

/** sfd reads its configuration anew and becomes itself; what comes next must not meet it halfway.
 */
static bool reload_sfd(struct chaos_events *events)
{
	int64_t deadline_ns = chaos_mono_ns() + RELOAD_NS;
	unsigned served = chaos_sfd_said(events->sfd, SERVING);

	(void)kill(events->sfd->pid, SIGHUP);
	while (chaos_sfd_said(events->sfd, SERVING) == served) {
		if (!chaos_sfd_lives(events->sfd))
			return false;
		if (chaos_mono_ns() > deadline_ns) {
			chaos_find("sfd does not reload");
			return false;
		}
		chaos_nap_us(RELOAD_LOOK_US);
	}
	return true;
}

/* ---- clock ---- */

void chaos_events_step_clock(struct chaos_events *events, double seconds)
{
	events->clock += seconds;
	if (events->clock > events->highest)
		events->highest = events->clock;
	chaos_sfd_set_clock(events->sfd, events->clock);
	chaos_nap_us(CLOCK_SEEN_US);
}

/** From a millisecond to a day, small steps as likely as large ones. */
static double random_step(struct chaos_events *events)
{
	double share = (double)(chaos_random(&events->random) >> 11) / 9007199254740992.0;

	return pow(10, -3 + share * (log10(DAY_SECONDS) + 3));
}

static bool step_back(struct chaos_events *events)
{
	double step = random_step(events);

	/* No further back than a day behind what the clock has shown. */
	if (events->highest - events->clock + step > DAY_SECONDS)
		step = DAY_SECONDS - (events->highest - events->clock);
	chaos_events_step_clock(events, step > 0 ? -step : -0.001);
	chaos_nap_us(chaos_events_pause_us(events, 0, BEHIND_US_MAX));
	return true;
}

static bool step_forward(struct chaos_events *events)
{
	double step = random_step(events);
	double behind = events->highest - events->clock;

	/* Often the wall is set right again, or streams that wait would wait for ever. */
	if (behind > step && chaos_random(&events->random) % 4 != 0)
		step = behind + 0.001;
	chaos_events_step_clock(events, step);
	return true;
}

static bool (*const happen[CHAOS_HOST_EVENTS])(struct chaos_events *events) = {
	[CHAOS_SFD_KILL] = kill_sfd,
	[CHAOS_SFD_TERM] = stop_sfd,
	[CHAOS_SFD_STOP] = hold_sfd,
	[CHAOS_SFD_UPGRADE] = upgrade_sfd,
	[CHAOS_SFD_RELOAD] = reload_sfd,
	[CHAOS_CLOCK_BACK] = step_back,
	[CHAOS_CLOCK_FORWARD] = step_forward,
	[CHAOS_DISK_FULL] = chaos_disk_fill,
	[CHAOS_DISK_READ_ONLY] = chaos_disk_lock,
};

/* ---- what can happen here ---- */

void chaos_events_init(struct chaos_events *events, struct chaos_sfd *sfd, uint64_t seed)
{
	struct chaos_survival *survival = events->survival;

	*events = (struct chaos_events){.sfd = sfd, .random = seed};
	for (unsigned i = 0; i < CHAOS_EVENTS; i++)
		survival[i].can_happen = true;
	if (!sfd->has_mounts)
		survival[CHAOS_DISK_FULL] = survival[CHAOS_DISK_READ_ONLY] =
			(struct chaos_survival){.why_not = "needs the right to mount"};
	for (unsigned i = 0; i < CHAOS_HOST_EVENTS; i++)
		if (survival[i].can_happen)
			events->order[events->count++] = i;
}

/** All of them in another order, before one comes again. */
static void shuffle(struct chaos_events *events)
{
	for (unsigned i = events->count; i > 1; i--) {
		unsigned other = (unsigned)(chaos_random(&events->random) % i);
		enum chaos_event event = events->order[i - 1];

		events->order[i - 1] = events->order[other];
		events->order[other] = event;
	}
}

bool chaos_events_are_complete(const struct chaos_events *events, double seconds)
{
	double passed = (double)(chaos_mono_ns() - chaos->began_ns) / 1e9;

	return seconds < ALL_SECONDS || events->next >= events->count ||
	       passed > OVERTIME * seconds;
}

uint64_t chaos_events_failed(void)
{
	uint64_t failed = 0;

	for (unsigned i = 0; i < CHAOS_MODES; i++)
		failed += atomic_load_explicit(&chaos->failed[i], memory_order_relaxed);
	return failed;
}

static void raise_longest(struct chaos_survival *survival, unsigned is_new, int64_t ns,
			  unsigned stream)
{
	if (ns <= survival->longest_ns[is_new])
		return;
	survival->longest_ns[is_new] = ns;
	survival->longest_of[is_new] = stream;
}

/** Takes the longest blocks from all lanes; `also` may be NULL. */
static void note_longest(struct chaos_survival *survival, struct chaos_survival *also)
{
	/* relaxed: numbers for the report */
	for (unsigned i = 0; i < 2 * CHAOS_LANES_MAX; i++) {
		struct chaos_lane *lane = &chaos->lane[i / 2];
		int64_t ns =
			atomic_exchange_explicit(&lane->longest_ns[i % 2], 0, memory_order_relaxed);

		raise_longest(survival, i % 2, ns, lane->stream);
		if (also)
			raise_longest(also, i % 2, ns, lane->stream);
	}
}

bool chaos_events_next(struct chaos_events *events)
{
	enum chaos_event event;
	uint64_t failed;
	bool goes_on;

	if (events->next % events->count == 0)
		shuffle(events);
	event = events->order[events->next++ % events->count];
	failed = chaos_events_failed();
	note_longest(&events->all, NULL);
	/* relaxed: a word for the report */
	atomic_store_explicit(&chaos->event, event, memory_order_relaxed);
	events->sfd->absent_ns = 0;
	goes_on = chaos_sfd_lives(events->sfd) && happen[event](events) && chaos_crew_goes_on();
	if (events->sfd->absent_ns > events->survival[event].absent_ns)
		events->survival[event].absent_ns = events->sfd->absent_ns;
	note_longest(&events->all, &events->survival[event]);
	events->survival[event].failed += chaos_events_failed() - failed;
	atomic_store_explicit(&chaos->event, CHAOS_EVENTS, memory_order_relaxed);
	if (goes_on)
		chaos_happened(event);
	return goes_on;
}
