/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Starting, watching and ending the worker processes. Main thread of the parent; never takes an ID
 * itself, so it wakes only a few times a second while the workers are being timed.
 */
#include "tools/bench_crew.h"

#include "tools/bench_worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How soon the end of a worker process is noticed. */
#define LOOK_MS 100

int sfctl_bench_crew_init(struct sfctl_bench_crew *crew, const struct sfctl *sfctl,
			  struct sfctl_bench_memory *memory)
{
	pid_t parent = getpid();

	*crew = (struct sfctl_bench_crew){.sfctl = sfctl, .memory = memory};
	for (uint32_t i = 0; i < memory->plan.processes; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			int error = errno;

			sfctl_bench_crew_deinit(crew);
			return sfctl_fail(sfctl, "cannot start worker process %u: %s", i,
					  strerrordesc_np(error));
		}
		if (pid == 0) {
			/* Workers wait for their parent, so they must not outlive it. */
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(SFCTL_FAILED);
			sfctl_bench_worker_main(sfctl, memory, i);
		}
		crew->pid[crew->count++] = pid;
	}
	return SFCTL_OK;
}

void sfctl_bench_crew_deinit(struct sfctl_bench_crew *crew)
{
	for (uint32_t i = 0; i < crew->count; i++) {
		if (crew->pid[i] == 0)
			continue;
		(void)kill(crew->pid[i], SIGKILL);
		(void)waitpid(crew->pid[i], NULL, 0);
		crew->pid[i] = 0;
	}
}

/** A worker that exits by itself has said why. */
static int judge(const struct sfctl_bench_crew *crew, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		return sfctl_fail(crew->sfctl, "worker process %d was ended by signal %d (%s)",
				  (int)pid, WTERMSIG(status), sigdescr_np(WTERMSIG(status)));
	return WEXITSTATUS(status) == 0 ? SFCTL_OK : SFCTL_FAILED;
}

/** Looks after every process. @param options WNOHANG, or 0 to wait for its end */
static int look_after(struct sfctl_bench_crew *crew, int options)
{
	for (uint32_t i = 0; i < crew->count; i++) {
		pid_t pid = crew->pid[i];
		int status;

		if (pid == 0 || waitpid(pid, &status, options) != pid)
			continue;
		crew->pid[i] = 0;
		if (judge(crew, pid, status) != SFCTL_OK)
			return SFCTL_FAILED;
	}
	return SFCTL_OK;
}

int sfctl_bench_crew_gather(struct sfctl_bench_crew *crew, uint32_t times)
{
	uint32_t arrivals = times * crew->memory->worker_count;

	while (!sfctl_bench_gate_gather(crew->memory->gate, arrivals, LOOK_MS)) {
		if (look_after(crew, WNOHANG) != SFCTL_OK)
			return SFCTL_FAILED;
	}
	return SFCTL_OK;
}

int sfctl_bench_crew_join(struct sfctl_bench_crew *crew)
{
	return look_after(crew, 0);
}
