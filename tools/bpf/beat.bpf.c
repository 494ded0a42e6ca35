/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How late sfd's beat is, and where the time went: the probe has the lateness, the scheduler's
 * tracepoints say when the thread was woken, when a CPU ran it, and who ran instead. A thread is
 * known from its first beat on.
 */
#include "kernel.h"

#include "beat.h"
#include "count.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile uint32_t pid_ns = 0; /* inode number of sfctl's */

/** Where a beat thread is, since its last beat. */
struct thread {
	uint64_t woken_ns;     /* 0: it was not */
	uint64_t on_ns;        /* when a CPU ran it after that */
	uint64_t off_ns;       /* when it lost the CPU, though ready; 0: it has one, or sleeps */
	uint64_t preempted_ns; /* sum of these, after on_ns */
};

static struct sf_beat empty;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_BEAT_THREADS);
	__type(key, uint32_t); /* thread, as the kernel numbers it */
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_BEAT_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct sf_beat);
} beats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_BEAT_OTHERS);
	__type(key, struct sf_beat_name);
	__type(value, struct sf_beat_other);
} others SEC(".maps");

static void blame(struct task_struct *other, uint64_t ns)
{
	struct sf_beat_name name = {0};
	struct sf_beat_other none = {0};
	struct sf_beat_other *at;

	BPF_CORE_READ_STR_INTO(&name.command, other, comm);
	at = bpf_map_lookup_elem(&others, &name);
	if (!at) {
		bpf_map_update_elem(&others, &name, &none, BPF_NOEXIST);
		at = bpf_map_lookup_elem(&others, &name);
	}
	if (!at)
		return;
	__sync_fetch_and_add(&at->count, 1);
	__sync_fetch_and_add(&at->ns, ns);
	sf_raise(&at->max_ns, ns);
}

SEC("raw_tp/sched_waking")
int on_waking(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t tid = (uint32_t)BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (thread && thread->woken_ns == 0)
		thread->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/** A CPU runs a beat thread, after another. */
static void switch_on(struct thread *thread, struct task_struct *other, uint64_t now)
{
	uint64_t since = 0;

	if (thread->on_ns == 0 && thread->woken_ns != 0) {
		thread->on_ns = now;
		since = thread->woken_ns;
	} else if (thread->off_ns != 0) {
		since = thread->off_ns;
		thread->preempted_ns += now - since;
	}
	thread->off_ns = 0;
	if (since != 0 && BPF_CORE_READ(other, pid) != 0) /* 0: the CPU was idle */
		blame(other, now - since);
}

SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *before = (struct task_struct *)ctx->args[1];
	uint32_t off = (uint32_t)BPF_CORE_READ(before, pid);
	uint32_t on = (uint32_t)BPF_CORE_READ((struct task_struct *)ctx->args[2], pid);
	struct thread *thread = bpf_map_lookup_elem(&threads, &off);

	if (thread && BPF_CORE_READ(before, __state) == 0) /* it did not go to sleep */
		thread->off_ns = bpf_ktime_get_ns();
	thread = bpf_map_lookup_elem(&threads, &on);
	if (thread)
		switch_on(thread, before, bpf_ktime_get_ns());
	return 0;
}

static struct sf_beat *beat_of(uint32_t tid)
{
	struct thread nowhere = {0};
	struct sf_beat *beat = bpf_map_lookup_elem(&beats, &tid);
	struct task_struct *leader;

	if (beat)
		return beat;
	bpf_map_update_elem(&threads, &tid, &nowhere, BPF_ANY);
	bpf_map_update_elem(&beats, &tid, &empty, BPF_NOEXIST);
	beat = bpf_map_lookup_elem(&beats, &tid);
	if (!beat)
		return NULL;
	leader = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), group_leader);
	BPF_CORE_READ_STR_INTO(&beat->command, leader, comm);
	beat->pid = sf_current_pid_in(pid_ns);
	return NULL; /* where it was before is not known */
}

static void add_part(struct sf_beat *beat, enum sf_beat_part part, int64_t ns)
{
	sf_hist_add(&beat->part[part], ns > 0 ? (uint64_t)ns : 0);
}

/** The turn came by its time. */
static void add_turn(struct sf_beat *beat, const struct thread *thread, uint64_t begin_ns,
		     int64_t late_ns)
{
	uint64_t due_ns = begin_ns - (uint64_t)late_ns;

	add_part(beat, SF_BEAT_LATE, late_ns);
	if (thread->on_ns == 0) { /* it did not sleep */
		__sync_fetch_and_add(&beat->overrun, 1);
		return;
	}
	add_part(beat, SF_BEAT_TIMER, (int64_t)(thread->woken_ns - due_ns));
	add_part(beat, SF_BEAT_READY, (int64_t)(thread->on_ns - thread->woken_ns));
	add_part(beat, SF_BEAT_START, (int64_t)(begin_ns - thread->on_ns));
}

SEC("usdt")
int BPF_USDT(on_beat, int64_t late_ns, int64_t work_ns)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct sf_beat *beat = beat_of(tid);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!beat || !thread)
		return 0;
	if (late_ns < 0)
		__sync_fetch_and_add(&beat->early, 1);
	else
		add_turn(beat, thread, now - (uint64_t)work_ns, late_ns);
	add_part(beat, SF_BEAT_WORK, work_ns);
	add_part(beat, SF_BEAT_PREEMPTED, (int64_t)thread->preempted_ns);
	*thread = (struct thread){0};
	return 0;
}
