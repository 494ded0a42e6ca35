/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How long fetches take: the cycles that the library has measured, by process and path.
 */
#include "kernel.h"

#include "count.h"
#include "latency.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile uint32_t pid_ns = 0;     /* inode number of sfctl's */
const volatile uint32_t fast_every = 1; /* of fast events, this part goes into the histogram */
const volatile bool only_stream = false;
const volatile char stream_name[SF_LATENCY_STREAM_MAX] = "";

uint64_t lost; /* events without room for their process */

static struct sf_latency empty;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_LATENCY_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sf_latency_key);
	__type(value, struct sf_latency);
} latencies SEC(".maps");

static struct sf_latency *latency_of(uint32_t pid, uint32_t path)
{
	struct sf_latency_key key = {.pid = pid, .path = path};
	struct sf_latency *latency = bpf_map_lookup_elem(&latencies, &key);
	struct task_struct *leader;

	if (latency)
		return latency;
	bpf_map_update_elem(&latencies, &key, &empty, BPF_NOEXIST);
	latency = bpf_map_lookup_elem(&latencies, &key);
	if (!latency)
		return NULL;
	leader = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), group_leader);
	BPF_CORE_READ_STR_INTO(&latency->command, leader, comm);
	return latency;
}

static bool is_wanted(const char *stream)
{
	char name[SF_LATENCY_STREAM_MAX] = {0};

	if (!only_stream)
		return true;
	bpf_probe_read_user_str(name, sizeof(name), stream);
	for (int i = 0; i < SF_LATENCY_STREAM_MAX; i++)
		if (name[i] != stream_name[i])
			return false;
	return true;
}

SEC("usdt")
int BPF_USDT(on_fetch, uint64_t cycles, uint32_t path, uint64_t fetches, const char *stream)
{
	uint32_t pid = sf_current_pid_in(pid_ns);
	struct sf_latency *latency;
	struct sf_latency *fast;

	if (pid == 0 || path >= SF_LATENCY_PATHS || !is_wanted(stream))
		return 0;
	latency = latency_of(pid, path);
	fast = latency_of(pid, SF_LATENCY_FAST);
	if (!latency || !fast) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	/* Those before this one were fast. */
	__sync_fetch_and_add(&latency->ids, 1);
	__sync_fetch_and_add(&fast->ids, fetches - 1);
	if (__sync_fetch_and_add(&latency->seen, 1) % fast_every == 0 || path != SF_LATENCY_FAST)
		sf_hist_add(&latency->cycles, cycles);
	return 0;
}
