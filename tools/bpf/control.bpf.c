/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Each request on sfd's control channel: when the kernel had it, when sfd began with it, and when
 * the reply was made. A request is known by its address, which is also its completion's user data.
 */
#include "kernel.h"

#include "control.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile uint32_t pid_ns = 0;   /* inode number of sfctl's */
const volatile uint32_t complete = 0; /* enum sf_control_complete */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_uring_cqe {
	uint64_t user_data;
};

struct io_cqe {
	uint64_t user_data;
};

struct io_kiocb {
	struct io_cqe cqe;
	void *ctx;
};

#pragma clang attribute pop

/** One use of a request, in one ring. */
struct use {
	uint64_t ring;
	uint64_t user_data;
};

struct stages {
	uint64_t arrived_ns;
	uint64_t completed_ns;
	uint64_t begin_ns;
	uint64_t woken_ns;
};

uint64_t lost; /* events that were not read in time */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_CONTROL_DAEMONS);
	__type(key, uint32_t);   /* process, as sfctl's pid namespace numbers it */
	__type(value, uint64_t); /* its ring; 0: not known */
} daemons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_CONTROL_DAEMONS);
	__type(key, uint64_t); /* ring */
	__type(value, uint32_t);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SF_CONTROL_DAEMONS);
	__type(key, uint32_t);   /* process */
	__type(value, uint64_t); /* when its poll(2) loop woke */
} wakes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SF_CONTROL_OPEN);
	__type(key, struct use);
	__type(value, struct stages);
} open SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SF_CONTROL_EVENTS);
} events SEC(".maps");

static struct stages *stages_of(const struct use *use)
{
	struct stages none = {0};
	struct stages *stages = bpf_map_lookup_elem(&open, use);

	if (stages)
		return stages;
	bpf_map_update_elem(&open, use, &none, BPF_ANY);
	return bpf_map_lookup_elem(&open, use);
}

/** In the context of whoever sent the message. */
SEC("raw_tp/io_uring_task_add")
int on_task_add(struct bpf_raw_tracepoint_args *ctx)
{
	struct io_kiocb *request = (struct io_kiocb *)ctx->args[0];
	struct use use = {.ring = (uint64_t)BPF_CORE_READ(request, ctx)};
	struct stages *stages;

	if (!bpf_map_lookup_elem(&rings, &use.ring))
		return 0;
	use.user_data = BPF_CORE_READ(request, cqe.user_data);
	stages = stages_of(&use);
	if (stages && stages->arrived_ns <= stages->completed_ns)
		stages->arrived_ns = bpf_ktime_get_ns();
	return 0;
}

static uint64_t user_data_of(const struct bpf_raw_tracepoint_args *ctx)
{
	if (complete == SF_CONTROL_COMPLETE_ENTRY)
		return BPF_CORE_READ((struct io_uring_cqe *)ctx->args[2], user_data);
	return complete == SF_CONTROL_COMPLETE_ARGUMENT2 ? ctx->args[2] : ctx->args[1];
}

SEC("raw_tp/io_uring_complete")
int on_complete(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t pid = sf_current_pid_in(pid_ns);
	uint64_t *ring = bpf_map_lookup_elem(&daemons, &pid);
	struct use use = {.ring = ctx->args[0]};
	struct stages *stages;

	if (!ring)
		return 0;
	if (*ring != use.ring) {
		*ring = use.ring;
		bpf_map_update_elem(&rings, &use.ring, &pid, BPF_ANY);
	}
	use.user_data = user_data_of(ctx);
	stages = stages_of(&use);
	if (!stages)
		return 0;
	if (stages->arrived_ns <= stages->completed_ns)
		stages->arrived_ns = 0; /* of the use before */
	stages->completed_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("usdt")
int BPF_USDT(on_wake, int32_t ready)
{
	uint32_t pid = sf_current_pid_in(pid_ns);
	uint64_t now = bpf_ktime_get_ns();

	bpf_map_update_elem(&wakes, &pid, &now, BPF_ANY);
	return 0;
}

/** The request that a probe of the current sfd is about. */
static bool use_of(uint32_t pid, uint64_t user_data, struct use *use)
{
	uint64_t *ring = bpf_map_lookup_elem(&daemons, &pid);

	if (!ring)
		return false;
	*use = (struct use){.ring = *ring, .user_data = user_data};
	return true;
}

SEC("usdt")
int BPF_USDT(on_begin, uint64_t user_data)
{
	uint32_t pid = sf_current_pid_in(pid_ns);
	uint64_t *wake = bpf_map_lookup_elem(&wakes, &pid);
	struct stages *stages;
	struct use use;

	if (!use_of(pid, user_data, &use))
		return 0;
	stages = stages_of(&use);
	if (!stages)
		return 0;
	stages->woken_ns = wake ? *wake : 0;
	stages->begin_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("usdt")
int BPF_USDT(on_end, uint64_t user_data, uint32_t type, int32_t peer, int32_t status)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t pid = sf_current_pid_in(pid_ns);
	struct sf_control_event *event;
	struct stages *stages;
	struct use use;

	if (!use_of(pid, user_data, &use))
		return 0;
	stages = bpf_map_lookup_elem(&open, &use);
	if (!stages || stages->begin_ns == 0)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (event) {
		*event = (struct sf_control_event){.pid = pid,
						   .peer = peer,
						   .type = type,
						   .status = status,
						   .arrived_ns = stages->arrived_ns,
						   .completed_ns = stages->completed_ns,
						   .woken_ns = stages->woken_ns,
						   .begin_ns = stages->begin_ns,
						   .end_ns = now};
		bpf_ringbuf_submit(event, 0);
	} else {
		__sync_fetch_and_add(&lost, 1);
	}
	bpf_map_delete_elem(&open, &use);
	return 0;
}
