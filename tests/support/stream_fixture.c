/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream without a daemon; see stream_fixture.h. The product's stream.c is included as source, so
 * that a stream that opens reads the test's clocks.
 */
#include "daemon/clock.h"

static struct sfd_now clock_now(void);

/* NOLINTNEXTLINE(readability-identifier-naming): the name is the product's */
#define sfd_clock_now clock_now
#include "daemon/stream.c"      /* NOLINT(bugprone-suspicious-include) */
#include "daemon/stream_open.c" /* NOLINT(bugprone-suspicious-include) */
#undef sfd_clock_now

#include "tests/support/state.h"
#include "tests/support/stream_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_MONO_NS INT64_C(1000000000000000)
#define FIRST_WALL_NS INT64_C(1767225600000000000)
#define LATER_WALL_NS INT64_C(3029529600000000000)

struct sfd_stream t_stream;
struct sfd_stream_config t_stream_config;
struct sf_client *t_stream_client;
struct sf_cursor *t_stream_cursor;
unsigned t_stream_news;
bool t_stream_raises;
int64_t t_stream_reading_ns;

static struct sfd_config config;
static char *directory;
static int64_t wall_less_mono_ns;
static unsigned boots;
static bool is_beating;
static uint32_t client_wait;

int64_t t_stream_mono(void)
{
	return atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
}

int64_t t_stream_wall(void)
{
	return t_stream_mono() + wall_less_mono_ns;
}

static struct sfd_now clock_now(void)
{
	const struct sfd_now now = {.mono_ns = t_stream_mono(), .wall_ns = t_stream_wall()};

	atomic_fetch_add_explicit(&t_mono_ns, t_stream_reading_ns, memory_order_relaxed);
	t_stream_reading_ns = 0;
	return now;
}

static void configure(const struct t_stream_setup *setup)
{
	const char *layout = setup->layout ? setup->layout : "snowflakex";
	struct sf_why why;

	t_stream_config = (struct sfd_stream_config){
		.name = "default",
		.runway_ms = setup->runway_ms ? setup->runway_ms : 3000,
		.ahead_ms = setup->ahead_ms,
		.machine = T_MACHINE,
		.clock_backward = setup->policy,
	};
	ck_assert_msg(sf_layout_parse(layout, &t_stream_config.layout, &why) == 0, "%s", why.text);
	if (t_stream_config.layout.format == SF_FORMAT_SNOWFLAKE) {
		t_stream_config.node_count = 1;
		t_stream_config.node[0] = 5;
	}
	if (t_stream_config.runway_ms < 4 * t_stream_config.layout.tick_ms)
		t_stream_config.runway_ms = 4 * t_stream_config.layout.tick_ms;
}

static void open_stream_on(const struct sfd_stream_legacy *legacy)
{
	char boot_id[40];
	struct sf_why why;

	(void)snprintf(boot_id, sizeof(boot_id), "01234567-89ab-cdef-0123-%012u", boots);
	ck_assert_msg(
		sfd_stream_open(&t_stream, &config, &t_stream_config, boot_id, legacy, &why) == 0,
		"%s", why.text);
	t_stream.engine.owner = T_OWNER;
	(void)t_stream_turn();
}

static void open_stream(void)
{
	open_stream_on(NULL);
}

void t_stream_reopen_client(void)
{
	if (t_stream_client) {
		sf_cursor_close(t_stream_cursor);
		sf_close(t_stream_client);
	}
	t_stream_client = t_client_new(client_wait);
	ck_assert_msg(sf_client_adopt(t_stream_client, t_stream.ring.grants_fd,
				      t_stream.ring.claims_fd, 0) == 0,
		      "%s", t_client_said);
	t_stream_cursor = t_cursor_open(t_stream_client);
}

void t_stream_init(const struct t_stream_setup *setup)
{
	t_state_init();
	directory = strdup(t_state_dir());
	config = (struct sfd_config){.runtime_dir = directory, .state_dir = directory};
	configure(setup);
	is_beating = setup->is_beating;
	client_wait = setup->wait ? setup->wait : SF_WAIT_NONE;
	atomic_store_explicit(&t_mono_ns, FIRST_MONO_NS, memory_order_relaxed);
	wall_less_mono_ns = (setup->is_later ? LATER_WALL_NS : FIRST_WALL_NS) - FIRST_MONO_NS;
	if (setup->wall_ns)
		wall_less_mono_ns = setup->wall_ns - FIRST_MONO_NS;
	t_mono_step_ns = 0;
	t_sleeps = 0;
	t_sleep_ring = NULL;
	t_woken = NULL;
	t_stream_news = SFD_TURN_QUIET;
	t_stream_raises = true;
	open_stream();
	t_stream_reopen_client();
}

void t_stream_deinit(void)
{
	sf_cursor_close(t_stream_cursor);
	sf_close(t_stream_client);
	t_stream_client = NULL;
	sfd_stream_close(&t_stream);
	t_state_deinit();
	free(directory);
}

/* ---- daemons, one after the other ---- */

void t_stream_kill(void)
{
	/* What the kernel does with the robust futex. Relaxed: one thread. */
	atomic_fetch_or_explicit(&t_stream.ring.shm.grants->beat, (uint64_t)FUTEX_OWNER_DIED << 32,
				 memory_order_relaxed);
	sfd_stream_close(&t_stream);
}

void t_stream_stop(void)
{
	uint64_t last = sfd_stream_stop(&t_stream, clock_now());

	ck_assert_int_eq(sfd_mark_store(t_stream.mark, last), 0);
	sfd_stream_session_begin(&t_stream);
	sfd_stream_close(&t_stream);
}

void t_stream_reboot(void)
{
	boots++;
}

void t_stream_start(enum sfd_clock_policy policy)
{
	t_stream_config.clock_backward = policy;
	open_stream();
}

struct sfd_stream_legacy t_stream_legacy(void)
{
	return (struct sfd_stream_legacy){.grants_fd = dup(t_stream.ring.grants_fd),
					  .claims_fd = dup(t_stream.ring.claims_fd),
					  .stats_fd = dup(t_stream.stats_fd)};
}

void t_stream_hand_over(void (*end)(void))
{
	struct sfd_stream_legacy legacy = t_stream_legacy();

	end();
	t_stream_start_on(&legacy);
}

void t_stream_start_on(const struct sfd_stream_legacy *legacy)
{
	open_stream_on(legacy);
	(void)close(legacy->grants_fd);
	(void)close(legacy->claims_fd);
	(void)close(legacy->stats_fd);
}

void t_stream_follow(void)
{
	ck_assert_int_eq(sf_client_adopt(t_stream_client, t_stream.ring.grants_fd,
					 t_stream.ring.claims_fd, 0),
			 0);
}

/* ---- time ---- */

void t_stream_pass(int64_t ns)
{
	atomic_fetch_add_explicit(&t_mono_ns, ns, memory_order_relaxed);
}

void t_stream_step(int64_t ns)
{
	wall_less_mono_ns += ns;
}

/* As the control loop does: what is wanted is durable, and the beat thread may go that far. */
static void raise_mark(void)
{
	uint64_t wanted = atomic_load_explicit(&t_stream.mark_wanted, memory_order_acquire);

	if (t_stream_news & SFD_TURN_MARK) {
		ck_assert_int_eq(sfd_mark_store(t_stream.mark, wanted), 0);
		sfd_stream_session_begin(&t_stream);
		atomic_store_explicit(&t_stream.mark_tick, wanted, memory_order_release);
	}
	t_stream_news = SFD_TURN_QUIET;
}

int64_t t_stream_turn(void)
{
	int64_t next;

	if (is_beating) {
		t_stream.engine.beating = true;
		t_stream.engine.demand.window_start_ns = t_stream_mono(); /* never judged */
	}
	next = sfd_stream_turn(&t_stream, clock_now(), &t_stream_news);
	if (t_stream_raises)
		raise_mark();
	return next;
}

void t_stream_run(int64_t ns)
{
	const int64_t end = t_stream_mono() + ns;

	for (;;) {
		int64_t next = t_stream_turn();

		T_EXPECT(next > t_stream_mono(), "the daemon does not sleep");
		if (next > end)
			break;
		t_stream_pass(next - t_stream_mono());
	}
	t_stream_pass(end - t_stream_mono());
}

int64_t t_stream_shown(void)
{
	struct sf_shm_clock page;

	ck_assert_int_eq(sf_shm_time_read(&t_stream.ring.shm.grants->time, &page), 0);
	return sf_shm_clock_unix_ns(&page, t_stream_mono());
}

uint64_t t_stream_shown_tick(void)
{
	return sf_shm_tick_at(&t_stream_config.layout, t_stream_shown());
}

uint64_t t_stream_wall_tick(void)
{
	return sf_shm_tick_at(&t_stream_config.layout, t_stream_wall());
}

uint64_t t_stream_horizon(void)
{
	return sf_shm_horizon(&t_stream.ring.shm);
}

uint64_t t_stream_stat(enum sf_counter counter)
{
	return sfd_stats_get(t_stream.stats, counter);
}

/* ---- IDs ---- */

static bool is_wide(void)
{
	return t_stream_config.layout.format != SF_FORMAT_SNOWFLAKE;
}

int t_stream_next(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	return is_wide() ? sf_next128(cursor, ret_id) : sf_next(cursor, &ret_id->low);
}

int t_stream_ordered(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	return is_wide() ? sf_next128_ordered(cursor, ret_id)
			 : sf_next_ordered(cursor, &ret_id->low);
}

int t_stream_fill(struct sf_cursor *cursor, struct sf_wide *ret_ids, size_t count)
{
	uint64_t *narrow;
	int error;

	if (is_wide())
		return sf_fill128(cursor, ret_ids, count);
	narrow = calloc(count, sizeof(*narrow));
	ck_assert_ptr_nonnull(narrow);
	error = sf_fill(cursor, narrow, count);
	for (size_t i = 0; error == 0 && i < count; i++)
		ret_ids[i] = (struct sf_wide){0, narrow[i]};
	free(narrow);
	return error;
}

void t_stream_take(struct sf_cursor *cursor, struct sf_wide *last)
{
	struct sf_wide id = {0, 0};
	int error = t_stream_next(cursor, &id);

	T_EXPECT(error == 0, "no ID: %s", sf_strerror(error));
	T_EXPECT(sf_wide_compare(last, &id) < 0, "%016llx%016llx after %016llx%016llx",
		 (unsigned long long)id.high, (unsigned long long)id.low,
		 (unsigned long long)last->high, (unsigned long long)last->low);
	*last = id;
}

uint64_t t_stream_tick_of(const struct sf_wide *id)
{
	struct sf_parts parts;

	if (t_stream_config.layout.format == SF_FORMAT_OBJECTID)
		return id->high;
	if (is_wide())
		return id->high >> 16;
	ck_assert_int_eq(sf_decompose(&t_stream_config.layout, id->low, &parts, NULL), 0);
	return parts.tick;
}

void t_stream_assert_refused(int error)
{
	const uint64_t claimed = sfd_engine_claimed(&t_stream.engine);
	const uint64_t floor = sf_shm_floor(&t_stream.ring.shm);
	const struct sf_wide untouched = {42, 43};
	struct sf_wide id[3] = {untouched, untouched, untouched};

	ck_assert_int_eq(t_stream_next(t_stream_cursor, &id[0]), error);
	ck_assert_int_eq(t_stream_ordered(t_stream_cursor, &id[1]), error);
	ck_assert_int_eq(t_stream_fill(t_stream_cursor, &id[2], 1), error);
	for (size_t i = 0; i < T_COUNT(id); i++)
		ck_assert_int_eq(sf_wide_compare(&id[i], &untouched), 0);
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), claimed);
	ck_assert_uint_eq(sf_shm_floor(&t_stream.ring.shm), floor);
}
