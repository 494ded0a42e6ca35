/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream whose wall clock is scripted; see vectors_world.h.
 */
#include "tests/unit/vectors_world.h"

/* What sfd_stream_turn() does with a reading of the clocks, without a disk to ask. */
static void turn(struct t_world *world)
{
	struct sfd_engine *engine = &world->ring.engine;
	const struct sf_layout *layout = &world->ring.config.layout;
	struct sfd_now now = {
		.mono_ns = atomic_load_explicit(&t_mono_ns, memory_order_relaxed),
		.wall_ns = world->wall_ns,
	};
	uint64_t tick;

	(void)sfd_clock_update(&world->clock, now);
	engine->behind = sf_shm_clock_behind(&world->clock.page, now.mono_ns);
	if (engine->behind == SF_SHM_BEHIND_BORROW)
		(void)sfd_clock_borrow(
			&world->clock, now,
			sf_shm_tick_start_ns(layout, sfd_engine_claimed_up_to(engine)));
	tick = sf_shm_tick_at(layout, sf_shm_clock_unix_ns(&world->clock.page, now.mono_ns));
	sfd_engine_publish(engine, tick, world->ring.mark);
	sf_shm_time_write(&world->ring.memory.shm.grants->time, &world->clock.page);
	sfd_engine_beat(engine, tick);
}

void t_world_open(struct t_world *world, const struct t_world_setup *setup)
{
	struct t_ring_setup ring = setup->ring;
	struct sf_layout layout;
	struct sf_shm_grants *grants;

	ck_assert_int_eq(sf_layout_parse(ring.layout, &layout, NULL), 0);
	ring.first_tick = sf_shm_tick_at(&layout, setup->unix_ns);
	if (ring.first_tick == 0)
		ring.first_tick = 1;
	t_ring_init(&world->ring, &ring);
	grants = world->ring.memory.shm.grants;
	if (layout.format != SF_FORMAT_SNOWFLAKE) {
		grants->node_count = 0;
		grants->node_packed[0] = setup->machine;
	}
	world->ring.engine.beating = setup->beating;
	world->wall_ns = setup->unix_ns;
	sfd_clock_init(
		&world->clock, setup->policy,
		(struct sfd_now){.mono_ns = atomic_load_explicit(&t_mono_ns, memory_order_relaxed),
				 .wall_ns = setup->unix_ns},
		&(struct sfd_clock_start){.not_before_ns = setup->unix_ns});
	turn(world);
	world->client = t_client_open(&world->ring, setup->wait ? setup->wait : SF_WAIT_NONE);
	world->cursor = t_cursor_open(world->client);
}

void t_world_close(struct t_world *world)
{
	sf_cursor_close(world->cursor);
	sf_close(world->client);
	t_ring_deinit(&world->ring);
}

void t_world_wall(struct t_world *world, int64_t unix_ns)
{
	int64_t step = unix_ns - world->wall_ns;

	world->wall_ns = unix_ns;
	if (step > 0)
		atomic_fetch_add_explicit(&t_mono_ns, step, memory_order_relaxed);
	turn(world);
}

void t_world_base(struct t_world *world, uint64_t tick, const struct sf_wide *base)
{
	const struct sf_shm_ring *shm = &world->ring.memory.shm;
	struct sf_shm_grant *grant = &shm->grant[tick & shm->mask];

	if (atomic_load_explicit(&grant->tick, memory_order_relaxed) != tick)
		return;
	atomic_store_explicit(&grant->base_high, base->high, memory_order_relaxed);
	atomic_store_explicit(&grant->base_low, base->low, memory_order_relaxed);
}
