/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A client that multiplies: children that go on with the cursor they inherited, made by fork() and
 * by the bare system call, and programs started by vfork() and posix_spawn(). Parent and children
 * take IDs at the same time; some children are killed wherever they are.
 */
#include "tests/chaos/actor.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN (CHAOS_LANES_PER_JOB - 1)
#define CHILD_TURNS 10
#define KILL_US_MAX 3000
#define KILL_ONE_OF 4

static const enum chaos_event way[] = {CHAOS_FORK, CHAOS_CLONE, CHAOS_VFORK, CHAOS_SPAWN};

/* What a vforked child touches is the parent's: so the words are made before. */
static char lane_text[12];
static char fd_text[12];
static char role_text[] = "spawned";
static char *const spawned_argv[] = {(char[]){"chaos"}, role_text, fd_text, lane_text, NULL};

static void take_turns(struct chaos_actor *actor, unsigned count)
{
	for (unsigned i = 0; i < count && !chaos_is_over(); i++)
		chaos_actor_turn(actor);
}

static _Noreturn void be_child(struct chaos_actor *actor, unsigned lane)
{
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	chaos_actor_inherit(actor, lane);
	take_turns(actor, CHILD_TURNS);
	_exit(EXIT_SUCCESS);
}

int chaos_spawned(unsigned lane)
{
	struct sf_client *client = chaos_open(chaos->lane[lane].stream);
	struct chaos_actor actor;

	chaos_actor_begin(&actor, client, lane);
	take_turns(&actor, 2);
	chaos_actor_end(&actor);
	sf_close(client);
	return EXIT_SUCCESS;
}

static pid_t vfork_and_execute(void)
{
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): what clients do */
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execv("/proc/self/exe", spawned_argv);
		_exit(EXIT_FAILURE);
	}
	return pid;
}

static pid_t start_child(struct chaos_actor *actor, enum chaos_event event, unsigned lane)
{
	pid_t pid = -1;

	(void)snprintf(lane_text, sizeof(lane_text), "%u", lane);
	if (event == CHAOS_VFORK)
		return vfork_and_execute();
	if (event == CHAOS_SPAWN)
		return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, spawned_argv, environ) == 0
			       ? pid
			       : -1;
	/* The bare call runs no handler of pthread_atfork(). */
	pid = event == CHAOS_FORK ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0UL, 0UL, 0UL, 0UL);
	if (pid == 0)
		be_child(actor, lane);
	return pid;
}

/** Reaps a child; some are killed first. */
static void end_child(pid_t pid, unsigned lane, unsigned number)
{
	bool is_killed = number % KILL_ONE_OF == 0;
	int status;

	if (is_killed && kill(pid, SIGKILL) == 0)
		chaos_happened(CHAOS_CHILD_KILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (is_killed ? !WIFSIGNALED(status) && status != 0 : status != 0)
		chaos_find("a child on lane %u ended with status %#x", lane, (unsigned)status);
	chaos_record_close(&chaos->lane[lane]);
}

int chaos_family(unsigned job)
{
	unsigned first = job * CHAOS_LANES_PER_JOB;
	struct sf_client *client = chaos_open(chaos->lane[first].stream);
	struct chaos_actor actor;
	pid_t child[CHILDREN] = {0};
	unsigned short seed[3] = {(unsigned short)job, (unsigned short)getpid(), 0x330e};

	(void)snprintf(fd_text, sizeof(fd_text), "%d", chaos_fd);
	chaos_actor_begin(&actor, client, first);
	for (unsigned number = 0; !chaos_is_over(); number++) {
		unsigned place = number % CHILDREN;
		enum chaos_event event = way[number % (sizeof(way) / sizeof(way[0]))];

		chaos_actor_turn(&actor);
		if (child[place] != 0) {
			chaos_nap_us(nrand48(seed) % KILL_US_MAX);
			end_child(child[place], first + 1 + place, number);
		}
		child[place] = start_child(&actor, event, first + 1 + place);
		if (child[place] < 0)
			return EXIT_FAILURE;
		chaos_happened(event);
		chaos_actor_turn(&actor);
	}
	for (unsigned i = 0; i < CHILDREN; i++)
		if (child[i] > 0)
			end_child(child[i], first + 1 + i, 1);
	chaos_actor_end(&actor);
	sf_close(client);
	return EXIT_SUCCESS;
}
