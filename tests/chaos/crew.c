/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See crew.h.
 */
#include "tests/chaos/crew.h"

#include "tests/chaos/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLD_US_MAX 300000
#define END_NS INT64_C(30000000000)
#define GO_ON_NS INT64_C(25000000000)
#define LOOK_US 2000
#define NONE CHAOS_STREAMS_ALL

struct job {
	const char *role;
	bool is_harmed; /* killed and held by the conductor */
	uint32_t stream[CHAOS_LANES_PER_JOB];
	pid_t pid;
	/* when it was started | W: the thread that harms | R: conductor, relaxed: only a number */
	_Atomic int64_t began_ns;
};

static struct job jobs[] = {
	{"mill", true, {CHAOS_DEFAULT, CHAOS_FAST, CHAOS_FAST, CHAOS_ULID}, 0, 0},
	{"mill", true, {CHAOS_DEFAULT, CHAOS_FAST, CHAOS_UUID7, NONE}, 0, 0},
	{"mill", true, {CHAOS_LOW, CHAOS_REFUSE, CHAOS_OBJECTID, CHAOS_OBJECTID}, 0, 0},
	{"mill", true, {CHAOS_AHEAD, CHAOS_WAIT, CHAOS_HOUND, CHAOS_UUID7}, 0, 0},
	{"mill", true, {CHAOS_AHEAD, CHAOS_LOW, CHAOS_ULID, NONE}, 0, 0},
	{"mill", false, {CHAOS_DEFAULT, CHAOS_FAST, CHAOS_HOUND, CHAOS_REFUSE}, 0, 0},
	{"family", false, {CHAOS_FAST, CHAOS_FAST, CHAOS_FAST, CHAOS_FAST}, 0, 0},
	/* A tick of a second: a range that was inherited and used would show. */
	{"family", false, {CHAOS_OBJECTID, CHAOS_OBJECTID, CHAOS_OBJECTID, CHAOS_OBJECTID}, 0, 0},
	{"family", false, {CHAOS_DEFAULT, CHAOS_DEFAULT, CHAOS_DEFAULT, CHAOS_DEFAULT}, 0, 0},
	{"attacher", true, {CHAOS_FAST, NONE, NONE, NONE}, 0, 0},
	{"attacher", true, {CHAOS_UUID7, NONE, NONE, NONE}, 0, 0},
	{"hostile", true, {NONE, NONE, NONE, NONE}, 0, 0},
	{"victim", true, {NONE, NONE, NONE, NONE}, 0, 0},
};

#define JOBS (sizeof(jobs) / sizeof(jobs[0]))

_Static_assert(JOBS <= CHAOS_JOBS_MAX, "every job has its lanes");

static bool is_mill(const struct job *job)
{
	return strcmp(job->role, "mill") == 0;
}

void chaos_crew_init(void)
{
	for (unsigned i = 0; i < CHAOS_LANES_MAX; i++)
		chaos->lane[i].stream = NONE;
	for (unsigned job = 0; job < JOBS; job++)
		for (unsigned i = 0; i < CHAOS_LANES_PER_JOB; i++) {
			struct chaos_lane *lane = &chaos->lane[job * CHAOS_LANES_PER_JOB + i];

			lane->stream = jobs[job].stream[i];
			/* relaxed: nobody else is there yet */
			atomic_store_explicit(&lane->used, lane->stream != NONE,
					      memory_order_relaxed);
		}
}

static int start(struct job *job)
{
	char fd[12];
	char number[12];
	char *const argv[] = {(char[]){"chaos"}, (char *)job->role, fd, number, NULL};
	posix_spawn_file_actions_t actions;
	int error;

	atomic_store_explicit(&job->began_ns, chaos_mono_ns(), memory_order_relaxed);
	(void)snprintf(fd, sizeof(fd), "%d", chaos_fd);
	(void)snprintf(number, sizeof(number), "%u", (unsigned)(job - jobs));
	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return -error;
	/* Onto itself: it stays open in the client, and in no other program. */
	error = posix_spawn_file_actions_adddup2(&actions, chaos_fd, chaos_fd);
	if (error == 0)
		error = posix_spawn(&job->pid, "/proc/self/exe", &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -error;
}

int chaos_crew_start(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		int error = start(&jobs[i]);

		if (error < 0)
			return error;
	}
	return 0;
}

static void close_lanes(const struct job *job)
{
	unsigned first = (unsigned)(job - jobs) * CHAOS_LANES_PER_JOB;

	for (unsigned i = 0; i < CHAOS_LANES_PER_JOB; i++)
		if (job->stream[i] != NONE)
			chaos_record_close(&chaos->lane[first + i]);
}

static int reap(struct job *job, int options, int *ret_status)
{
	int reaped;

	do
		reaped = waitpid(job->pid, ret_status, options);
	while (reaped < 0 && errno == EINTR);
	return reaped;
}

/** Nobody ends before it is told to. */
static void replace_dead(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		int status = 0;

		if (reap(&jobs[i], WNOHANG, &status) != jobs[i].pid)
			continue;
		chaos_find("client %u (%s) ended with status %#x", i, jobs[i].role,
			   (unsigned)status);
		close_lanes(&jobs[i]);
		(void)start(&jobs[i]);
	}
}

static void kill_and_replace(struct job *job)
{
	int status = 0;

	(void)kill(job->pid, SIGKILL);
	(void)reap(job, 0, &status);
	close_lanes(job);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		chaos_find("a %s that was killed ended with status %#x", job->role,
			   (unsigned)status);
	(void)start(job);
	chaos_happened(CHAOS_CLIENT_KILL);
}

static void note_stop(const struct job *job)
{
	unsigned first = (unsigned)(job - jobs) * CHAOS_LANES_PER_JOB;

	for (unsigned i = 0; i < CHAOS_LANES_PER_JOB; i++)
		atomic_fetch_add_explicit(&chaos->lane[first + i].stops, 1, memory_order_relaxed);
}

static void hold(const struct job *job, uint64_t random)
{
	note_stop(job);
	(void)kill(job->pid, SIGSTOP);
	chaos_nap_us((int64_t)(random % HOLD_US_MAX));
	note_stop(job);
	(void)kill(job->pid, SIGCONT);
	chaos_happened(CHAOS_CLIENT_STOP);
}

void chaos_crew_harm(uint64_t random)
{
	struct job *job = &jobs[random % JOBS];

	replace_dead();
	if (!job->is_harmed)
		return;
	random /= JOBS;
	if (random % 3 == 0)
		hold(job, random / 3);
	else
		kill_and_replace(job);
}

void chaos_crew_stop(void)
{
	int64_t deadline_ns = chaos_mono_ns() + END_NS;

	/* relaxed: a moment later is as good */
	atomic_store_explicit(&chaos->stop, 1, memory_order_relaxed);
	for (unsigned i = 0; i < JOBS; i++) {
		int status = 0;
		int reaped;

		while ((reaped = reap(&jobs[i], WNOHANG, &status)) == 0 &&
		       chaos_mono_ns() < deadline_ns)
			chaos_nap_us(LOOK_US);
		if (reaped == 0) {
			chaos_find("client %u (%s) does not end", i, jobs[i].role);
			(void)kill(jobs[i].pid, SIGKILL);
			(void)reap(&jobs[i], 0, &status);
		} else if (status != 0) {
			chaos_find("client %u (%s) ended with status %#x", i, jobs[i].role,
				   (unsigned)status);
		}
		close_lanes(&jobs[i]);
	}
}

static void read_word(pid_t pid, const char *task, const char *file, char word[64])
{
	char path[320];
	ssize_t length = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, task, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, word, 63);
		(void)close(fd);
	}
	word[length > 0 ? length : 0] = '\0';
	word[strcspn(word, "\n")] = '\0';
}

static int64_t began_ns(const struct job *job)
{
	return atomic_load_explicit(&job->began_ns, memory_order_relaxed);
}

/** What the threads of a client that stands still are doing. */
static void describe(const struct job *job)
{
	char path[32];
	const struct dirent *task;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)job->pid);
	tasks = opendir(path);
	if (!tasks)
		chaos_find("  client %u is not there", (unsigned)(job - jobs));
	while (tasks && (task = readdir(tasks)) != NULL) {
		char state[64];
		char place[64];
		char call[64];

		if (task->d_name[0] == '.')
			continue;
		read_word(job->pid, task->d_name, "stat", state);
		read_word(job->pid, task->d_name, "wchan", place);
		read_word(job->pid, task->d_name, "syscall", call);
		chaos_find("  client %u, %.1f s old, thread %.40s: in %s, system call %s",
			   (unsigned)(job - jobs), (double)(chaos_mono_ns() - began_ns(job)) / 1e9,
			   state, place, call);
	}
	if (tasks)
		(void)closedir(tasks);
}

static uint64_t progress_of(unsigned lane)
{
	/* relaxed: a sign of life */
	return atomic_load_explicit(&chaos->lane[lane].progress, memory_order_relaxed);
}

bool chaos_crew_goes_on(void)
{
	int64_t now_ns = chaos_mono_ns();
	uint64_t before[CHAOS_LANES_MAX];

	for (unsigned i = 0; i < CHAOS_LANES_MAX; i++)
		before[i] = progress_of(i);
	for (unsigned i = 0; i < JOBS * CHAOS_LANES_PER_JOB; i++) {
		const struct job *job = &jobs[i / CHAOS_LANES_PER_JOB];

		if (!is_mill(job) || job->stream[i % CHAOS_LANES_PER_JOB] == NONE)
			continue;
		while (progress_of(i) == before[i]) {
			/* Some are killed and replaced meanwhile, and begin once more. */
			if (chaos_mono_ns() > now_ns + GO_ON_NS &&
			    chaos_mono_ns() > began_ns(job) + GO_ON_NS) {
				chaos_find("stream %s stands still: lane %u gets no ID",
					   chaos_stream_name(chaos->lane[i].stream), i);
				describe(job);
				return false;
			}
			chaos_nap_us(LOOK_US);
		}
	}
	return true;
}
