/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The system calls that a process makes between its fetches. The probe is attached to that process
 * only; its first event tells which one to count the calls of.
 */
#include "kernel.h"

#include "count.h"
#include "syscalls.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct sf_syscalls counts;
uint32_t process; /* as the kernel numbers it; 0: not known yet */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_SYSCALLS_THREADS);
	__type(key, uint32_t);   /* thread */
	__type(value, uint64_t); /* calls since its last event */
} calls SEC(".maps");

SEC("raw_tp/sys_enter")
int on_call(struct bpf_raw_tracepoint_args *ctx)
{
	uint64_t ids = bpf_get_current_pid_tgid();
	uint32_t tid = (uint32_t)ids;
	uint64_t number = ctx->args[1];
	uint64_t *since;

	if (ids >> 32 != process)
		return 0;
	since = bpf_map_lookup_elem(&calls, &tid);
	if (!since)
		return 0;
	*since += 1; /* nobody else's */
	if (number < SF_SYSCALLS_NUMBERS)
		__sync_fetch_and_add(&counts.number[number], 1);
	return 0;
}

static void add_interval(struct sf_syscalls_path *path, uint64_t ids, uint64_t since)
{
	__sync_fetch_and_add(&path->ids, ids);
	__sync_fetch_and_add(&path->calls, since);
	sf_hist_add(&path->per_interval, since);
}

SEC("usdt")
int BPF_USDT(on_fetch, uint64_t cycles, uint32_t path, uint64_t fetches)
{
	uint64_t ids = bpf_get_current_pid_tgid();
	uint32_t tid = (uint32_t)ids;
	uint64_t *since = bpf_map_lookup_elem(&calls, &tid);
	uint64_t none = 0;

	process = ids >> 32;
	if (since && path < SF_LATENCY_PATHS)
		add_interval(&counts.path[path], fetches, *since);
	if (since)
		*since = 0;
	else if (bpf_map_update_elem(&calls, &tid, &none, BPF_NOEXIST) < 0)
		__sync_fetch_and_add(&counts.lost, 1);
	return 0;
}
