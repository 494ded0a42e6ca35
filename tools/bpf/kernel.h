/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the programs know of the kernel: the few fields that they read, whose places libbpf fills
 * in when they are loaded. So neither building nor running needs the kernel's headers.
 */
#ifndef SF_BPF_KERNEL_H
#define SF_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them */
};

struct task_struct {
	unsigned int __state; /* 0: it runs or could */
	int pid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	char comm[16];
};

#pragma clang attribute pop

/* The kernel allows no deeper ones. */
#define SF_PID_LEVELS 33

/** The number that a process or thread has in a pid namespace; 0: it is not in it. */
static inline uint32_t sf_pid_in(struct pid *pid, uint32_t ns_inum)
{
	uint32_t level = BPF_CORE_READ(pid, level);
	const void *first = (const char *)pid + bpf_core_field_offset(pid->numbers);
	uint32_t size = bpf_core_type_size(struct upid);

	for (uint32_t i = 0; i < SF_PID_LEVELS && i <= level; i++) {
		struct upid *at = (struct upid *)((char *)first + i * size);

		if (BPF_CORE_READ(at, ns, ns.inum) == ns_inum)
			return (uint32_t)BPF_CORE_READ(at, nr);
	}
	return 0;
}

/** The current process, as that namespace numbers it; 0: it is not in it. */
static inline uint32_t sf_current_pid_in(uint32_t ns_inum)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return sf_pid_in(BPF_CORE_READ(task, group_leader, thread_pid), ns_inum);
}

#endif
