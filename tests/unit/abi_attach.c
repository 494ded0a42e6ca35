/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient/attach.c: what a client does with memory that is not the ring it knows. Each is refused
 * with -EPROTO and a sentence that names what was found and what was expected, and leaves the
 * client as it was.
 */
#include "tests/support/ring_fixture.h"

#include "tests/unit/abi_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static struct t_ring fixture;
static struct sf_client *client;
static int grants_fd;
static int claims_fd;
static struct sf_shm_grants *grants;

static int copy_of(int from, uint64_t bytes)
{
	static char buffer[65536];
	int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_le(bytes, sizeof(buffer));
	ck_assert_int_eq(pread(from, buffer, bytes, 0), (ssize_t)bytes);
	ck_assert_int_eq(pwrite(fd, buffer, bytes, 0), (ssize_t)bytes);
	return fd;
}

/* Two unsealed copies of a good ring, for the test to doctor. */
static void set_up(void)
{
	t_ring_init(&fixture, &(struct t_ring_setup){0});
	t_ring_turn(&fixture);
	client = t_client_new(SF_WAIT_NONE);
	grants_fd = copy_of(fixture.memory.grants_fd, fixture.memory.shm.grants->total_bytes);
	claims_fd = copy_of(fixture.memory.claims_fd, fixture.memory.shm.grants->claims_bytes);
	grants = mmap(NULL, sizeof(*grants), PROT_READ | PROT_WRITE, MAP_SHARED, grants_fd, 0);
	ck_assert(grants != MAP_FAILED);
}

static void tear_down(void)
{
	(void)munmap(grants, sizeof(*grants));
	(void)close(grants_fd);
	(void)close(claims_fd);
	sf_close(client);
	t_ring_deinit(&fixture);
}

static void seal(int seals)
{
	ck_assert_int_eq(fcntl(grants_fd, F_ADD_SEALS, seals), 0);
	ck_assert_int_eq(fcntl(claims_fd, F_ADD_SEALS, seals), 0);
}

static int adopt(void)
{
	return sf_client_adopt(client, grants_fd, claims_fd, 0);
}

static void expect_said(const char *what)
{
	ck_assert_msg(strstr(t_client_said, what) != NULL, "\"%s\" is missing in: %s", what,
		      t_client_said);
}

/* Refused, in a sentence with both. */
static void expect_refusal(const char *found, const char *expected)
{
	t_client_said[0] = '\0';
	ck_assert_int_eq(adopt(), -EPROTO);
	expect_said(found);
	expect_said(expected);
	ck_assert_ptr_null(atomic_load_explicit(&client->newest, memory_order_relaxed));
}

START_TEST(adopt_of_a_good_ring_works)
{
	struct sf_cursor *cursor;

	seal(SEALS);
	ck_assert_int_eq(adopt(), 0);
	ck_assert_mem_eq(sf_client_layout(client), &fixture.config.layout,
			 sizeof(fixture.config.layout));
	cursor = t_cursor_open(client);
	ck_assert_int_eq(sf_next(cursor, &(uint64_t){0}), 0);
	sf_cursor_close(cursor);
}
END_TEST

/* A minor version only appends. */
START_TEST(adopt_of_a_later_minor_version_works)
{
	grants->abi_minor = 7;
	seal(SEALS);
	ck_assert_int_eq(adopt(), 0);
}
END_TEST

START_TEST(fc63_adopt_of_a_wrong_magic_refuses)
{
	grants->magic = UINT64_C(0x1122334455667788);
	seal(SEALS);
	expect_refusal("1122334455667788", "31544e5247464453");
}
END_TEST

START_TEST(fc63_adopt_of_a_zeroed_header_refuses)
{
	memset(grants, 0, sizeof(*grants));
	seal(SEALS);
	expect_refusal("0000000000000000", "31544e5247464453");
}
END_TEST

START_TEST(fc63_adopt_of_another_major_version_refuses)
{
	grants->abi_major = _i ? 0 : 2;
	grants->abi_minor = 3;
	seal(SEALS);
	expect_refusal(_i ? "version 0.3" : "version 2.3", "knows 1");
}
END_TEST

START_TEST(fc63_adopt_of_unsealed_memory_refuses)
{
	static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW};

	seal(seals[_i]);
	expect_refusal("grants", "not sealed");
}
END_TEST

START_TEST(fc63_adopt_of_unsealed_claims_refuses)
{
	ck_assert_int_eq(fcntl(grants_fd, F_ADD_SEALS, SEALS), 0);
	expect_refusal("claims", "not sealed");
}
END_TEST

START_TEST(fc63_adopt_of_a_file_that_cannot_be_sealed_refuses)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(sf_client_adopt(client, fd, claims_fd, 0), -EPROTO);
	ck_assert_int_eq(sf_client_adopt(client, -1, -1, 0), -EPROTO);
	(void)close(fd);
}
END_TEST

START_TEST(fc63_adopt_of_less_than_a_header_refuses)
{
	ck_assert_int_eq(ftruncate(grants_fd, _i ? 0 : 4095), 0);
	seal(SEALS);
	expect_refusal("header", _i ? "0 bytes" : "4095 bytes");
	expect_said("4096");
}
END_TEST

START_TEST(fc63_adopt_of_grants_of_another_size_refuses)
{
	const uint64_t total = sf_shm_grants_bytes(16);

	ck_assert_uint_eq(grants->total_bytes, total);
	ck_assert_int_eq(ftruncate(grants_fd, (off_t)(_i ? total + 4096 : total - 32)), 0);
	seal(SEALS);
	expect_refusal(_i ? "8704" : "4576", "4608");
}
END_TEST

START_TEST(fc63_adopt_of_claims_of_another_size_refuses)
{
	ck_assert_uint_eq(grants->claims_bytes, 5120);
	ck_assert_int_eq(ftruncate(claims_fd, _i ? 5120 + 64 : 5120 - 64), 0);
	seal(SEALS);
	expect_refusal(_i ? "5184" : "5056", "5120");
}
END_TEST

/* Fields of the header that would lead a client astray. */
static const struct {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t value;
	const char *said;
} fields[] = {
#define FIELD(field, value, said)                                                                  \
	{                                                                                          \
#field, offsetof(struct sf_shm_grants, field),                                     \
			sizeof(((struct sf_shm_grants *)NULL)->field), value, said                 \
	}
	FIELD(header_bytes, 8192, "sizes do not agree"),
	FIELD(total_bytes, 4096, "sizes do not agree"),
	FIELD(total_bytes, UINT64_MAX, "sizes do not agree"),
	FIELD(claims_bytes, 4096, "sizes do not agree"),
	FIELD(slots, 0, "sizes do not agree"),
	FIELD(slots, 8, "sizes do not agree"),
	FIELD(slots, 17, "sizes do not agree"),
	FIELD(slots, 32, "sizes do not agree"),
	FIELD(slots, UINT32_C(1) << 31, "sizes do not agree"),
	FIELD(node_count, 0, "0 node ids"),
	FIELD(node_count, 257, "257 node ids"),
	FIELD(capacity, 0, "capacity 0"),
	FIELD(capacity, SF_SHM_CAPACITY_MAX + 1, "capacity 1073741825"),
	FIELD(layout.time_bits, 0, "time"),
	FIELD(layout.sequence_bits, 32, "sequence"),
	FIELD(layout.node_shift, 3, "overlaps"),
	FIELD(layout.tick_ms, 0, "tick"),
	FIELD(layout.pad0, 1, "padding"),
	FIELD(layout.format, SF_FORMAT_ULID, "format ulid"),
	FIELD(layout.format, 5, "format number 5"),
#undef FIELD
};

START_TEST(fc63_adopt_of_a_header_that_contradicts_itself_refuses)
{
	memcpy((char *)grants + fields[_i].offset, &fields[_i].value, fields[_i].size);
	seal(SEALS);
	expect_refusal("grants: ", fields[_i].said);
}
END_TEST

/* ---- the wide formats ---- */

/* The copies become those of a wide ring. */
static void set_up_wide(const char *layout)
{
	tear_down();
	t_ring_init(&fixture, &(struct t_ring_setup){.layout = layout});
	t_ring_turn(&fixture);
	client = t_client_new(SF_WAIT_NONE);
	grants_fd = copy_of(fixture.memory.grants_fd, fixture.memory.shm.grants->total_bytes);
	claims_fd = copy_of(fixture.memory.claims_fd, fixture.memory.shm.grants->claims_bytes);
	grants = mmap(NULL, sizeof(*grants), PROT_READ | PROT_WRITE, MAP_SHARED, grants_fd, 0);
	ck_assert(grants != MAP_FAILED);
}

static const char *const wide[] = {"ulid", "uuid7", "objectid", "hound"};

START_TEST(adopt_of_a_wide_ring_works)
{
	struct sf_cursor *cursor;
	uint32_t count = 77;

	set_up_wide(wide[_i]);
	ck_assert_uint_eq(grants->node_count, 0);
	ck_assert_uint_eq(grants->capacity, SF_SHM_CAPACITY_MAX);
	ck_assert_uint_eq(grants->node_packed[0], _i == 3 ? T_MACHINE : 0);
	ck_assert_uint_le(grants->last_tick, sf_layout_last_tick(&grants->layout));
	seal(SEALS);
	ck_assert_int_eq(adopt(), 0);
	ck_assert_str_eq(sf_layout_name(sf_client_layout(client)), wide[_i]);
	(void)sf_client_nodes(client, &count);
	ck_assert_uint_eq(count, 0);
	cursor = t_cursor_open(client);
	ck_assert_int_eq(sf_next128(cursor, &(struct sf_wide){0, 0}), 0);
	sf_cursor_close(cursor);
}
END_TEST

START_TEST(fc63_adopt_of_a_wide_header_that_contradicts_itself_refuses)
{
	static const struct {
		size_t offset;
		uint8_t value;
		const char *said;
	} table[] = {
		{offsetof(struct sf_shm_grants, node_count), 1, "1 node ids"},
		{offsetof(struct sf_shm_grants, layout.sequence_bits), 12, "fields of its own"},
		{offsetof(struct sf_shm_grants, layout.tick_ms), 7, "fields of its own"},
		{offsetof(struct sf_shm_grants, layout.time_bits), 41, "fields of its own"},
		{offsetof(struct sf_shm_grants, layout.epoch_ms), 1, "fields of its own"},
		{offsetof(struct sf_shm_grants, layout.pad0), 1, "fields of its own"},
		{offsetof(struct sf_shm_grants, layout.format), 0, "grants: layout"},
		{offsetof(struct sf_shm_grants, layout.format), 5, "format number 5"},
	};

	set_up_wide(wide[_i % 4]);
	((uint8_t *)grants)[table[_i / 4].offset] = table[_i / 4].value;
	seal(SEALS);
	expect_refusal("grants: ", table[_i / 4].said);
}
END_TEST

/* The daemon came back with another format under the same name. */
START_TEST(fc63_adopt_of_a_ring_of_another_format_refuses)
{
	struct t_ring other;

	t_client_attach(client, &fixture);
	t_ring_init(&other, &(struct t_ring_setup){.layout = wide[_i]});
	t_client_said[0] = '\0';
	ck_assert_int_eq(sf_client_adopt(client, other.memory.grants_fd, other.memory.claims_fd, 0),
			 -EPROTO);
	expect_said("layout");
	ck_assert_str_eq(sf_layout_name(sf_client_layout(client)), "twitter");
	t_ring_deinit(&other);
}
END_TEST

/* A client that punched a hole into the claims, magic and all, shuts nobody out. */
START_TEST(adopt_of_punched_claims_works)
{
	t_ring_punch(&fixture);
	ck_assert_uint_eq(fixture.memory.shm.claims->magic, 0);
	t_client_attach(client, &fixture);
}
END_TEST

START_TEST(fc63_refused_ring_leaves_the_old_one_in_use)
{
	struct sf_cursor *cursor;
	uint64_t first = 0;
	uint64_t second = 0;

	t_client_attach(client, &fixture);
	cursor = t_cursor_open(client);
	ck_assert_int_eq(sf_next(cursor, &first), 0);
	grants->abi_major = 2;
	grants->generation++;
	seal(SEALS);
	ck_assert_int_eq(adopt(), -EPROTO);
	ck_assert_int_eq(sf_next(cursor, &second), 0);
	ck_assert_uint_eq(second, first + 1);
	sf_cursor_close(cursor);
}
END_TEST

/* ---- what the daemon hands out ---- */

static void expect_no_writing(int fd, uint64_t bytes)
{
	ck_assert(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
}

START_TEST(ring_init_seals_what_clients_get)
{
	const struct sf_shm_grants *own = fixture.memory.shm.grants;

	expect_no_writing(fixture.memory.grants_fd, own->total_bytes);
	ck_assert_int_eq(ftruncate(fixture.memory.grants_fd, 0), -1);
	ck_assert_int_eq(ftruncate(fixture.memory.claims_fd, 0), -1);
	ck_assert_int_eq(ftruncate(fixture.memory.claims_fd, 1 << 20), -1);
	ck_assert_int_eq(fcntl(fixture.memory.claims_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	ck_assert_int_ne(fcntl(fixture.memory.claims_fd, F_GETFD) & FD_CLOEXEC, 0);
	ck_assert_int_ne(fcntl(fixture.memory.grants_fd, F_GETFD) & FD_CLOEXEC, 0);
}
END_TEST

START_TEST(ring_init_fills_in_the_header)
{
	const struct sf_shm_grants *own = fixture.memory.shm.grants;
	struct t_ring second;

	ck_assert_uint_eq(own->magic, SF_SHM_GRANTS_MAGIC);
	ck_assert_uint_eq(own->abi_major, SF_SHM_ABI_MAJOR);
	ck_assert_uint_eq(own->abi_minor, SF_SHM_ABI_MINOR);
	ck_assert_uint_eq(fixture.memory.shm.claims->magic, SF_SHM_CLAIMS_MAGIC);
	ck_assert_uint_eq(own->first_tick, T_TICK);
	ck_assert_uint_eq(own->last_tick, (UINT64_C(1) << 41) - 1);
	ck_assert_uint_eq(own->runway_ticks, 8);
	ck_assert_uint_eq(own->pid, (uint32_t)getpid());
	ck_assert_str_eq(own->stream, "default");
	ck_assert_uint_ne(own->generation, 0);
	t_ring_init(&second, &(struct t_ring_setup){0});
	ck_assert_uint_ne(second.memory.shm.grants->generation, own->generation);
	t_ring_deinit(&second);
}
END_TEST

void t_add_abi_attach(Suite *suite)
{
	TCase *attach = tcase_create("attach");

	tcase_add_checked_fixture(attach, set_up, tear_down);
	tcase_add_test(attach, adopt_of_a_good_ring_works);
	tcase_add_test(attach, adopt_of_a_later_minor_version_works);
	tcase_add_test(attach, fc63_adopt_of_a_wrong_magic_refuses);
	tcase_add_test(attach, fc63_adopt_of_a_zeroed_header_refuses);
	tcase_add_loop_test(attach, fc63_adopt_of_another_major_version_refuses, 0, 2);
	tcase_add_loop_test(attach, fc63_adopt_of_unsealed_memory_refuses, 0, 3);
	tcase_add_test(attach, fc63_adopt_of_unsealed_claims_refuses);
	tcase_add_test(attach, fc63_adopt_of_a_file_that_cannot_be_sealed_refuses);
	tcase_add_loop_test(attach, fc63_adopt_of_less_than_a_header_refuses, 0, 2);
	tcase_add_loop_test(attach, fc63_adopt_of_grants_of_another_size_refuses, 0, 2);
	tcase_add_loop_test(attach, fc63_adopt_of_claims_of_another_size_refuses, 0, 2);
	tcase_add_loop_test(attach, fc63_adopt_of_a_header_that_contradicts_itself_refuses, 0,
			    T_COUNT(fields));
	tcase_add_loop_test(attach, adopt_of_a_wide_ring_works, 0, T_COUNT(wide));
	tcase_add_loop_test(attach, fc63_adopt_of_a_wide_header_that_contradicts_itself_refuses, 0,
			    4 * 8);
	tcase_add_loop_test(attach, fc63_adopt_of_a_ring_of_another_format_refuses, 0,
			    T_COUNT(wide));
	tcase_add_test(attach, adopt_of_punched_claims_works);
	tcase_add_test(attach, fc63_refused_ring_leaves_the_old_one_in_use);
	tcase_add_test(attach, ring_init_seals_what_clients_get);
	tcase_add_test(attach, ring_init_fills_in_the_header);
	suite_add_tcase(suite, attach);
}
