/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The memory of one stream's ring; see ring.h. Never published from here: that is the engine's.
 */
#include "daemon/ring.h"

#include "shm/beat.h"
#include "shm/pack.h"
#include "shm/timepage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t sfd_ticks(const struct sf_layout *layout, uint32_t ms)
{
	return (ms + layout->tick_ms - 1) / layout->tick_ms;
}

/* Since Linux 6.3; older C libraries do not name it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/** Twice the runway: a tick stays in the ring, and is counted, for a runway after it has passed. */
static uint32_t slots_for(const struct sfd_stream_config *config)
{
	uint64_t wanted = 2 * (uint64_t)sfd_ticks(&config->layout, config->runway_ms);
	uint32_t slots = SF_SHM_SLOTS_MIN;

	while (slots < wanted && slots < SF_SHM_SLOTS_MAX)
		slots *= 2;
	return slots;
}

static uint32_t capacity_of(const struct sfd_stream_config *config)
{
	uint64_t capacity = (uint64_t)config->node_count << config->layout.sequence_bits;

	if (config->layout.format != SF_FORMAT_SNOWFLAKE)
		return SF_SHM_CAPACITY_MAX;
	return capacity < SF_SHM_CAPACITY_MAX ? (uint32_t)capacity : SF_SHM_CAPACITY_MAX;
}

static uint64_t node_bits(const struct sf_layout *layout, uint32_t node)
{
	uint64_t process = node & ((UINT64_C(1) << layout->process_bits) - 1);

	if (layout->node_bits)
		return (uint64_t)node << layout->node_shift;
	return (uint64_t)(node >> layout->process_bits) << layout->worker_shift |
	       process << layout->process_shift;
}

/** Node ids in the order of their bits in an ID, so that IDs of a tick rise with the counter. */
static void fill_nodes(struct sf_shm_grants *grants, const struct sfd_stream_config *config)
{
	for (uint32_t i = 0; i < config->node_count; i++) {
		uint64_t packed = node_bits(&config->layout, config->node[i]);
		uint32_t at = i;

		for (; at > 0 && grants->node_packed[at - 1] > packed; at--) {
			grants->node_packed[at] = grants->node_packed[at - 1];
			grants->node[at] = grants->node[at - 1];
		}
		grants->node_packed[at] = packed;
		grants->node[at] = config->node[i];
	}
}

static int fill_header(struct sf_shm_grants *grants, const struct sfd_stream_config *config,
		       uint64_t first_tick)
{
	uint32_t slots = slots_for(config);

	grants->magic = SF_SHM_GRANTS_MAGIC;
	grants->abi_major = SF_SHM_ABI_MAJOR;
	grants->abi_minor = SF_SHM_ABI_MINOR;
	grants->header_bytes = SF_SHM_HEADER_BYTES;
	grants->total_bytes = sf_shm_grants_bytes(slots);
	grants->claims_bytes = sf_shm_claims_bytes(slots);
	grants->first_tick = first_tick;
	grants->last_tick = sf_shm_last_tick(&config->layout);
	grants->slots = slots;
	grants->ahead_ticks = config->ahead_ms / config->layout.tick_ms;
	grants->runway_ticks = sfd_ticks(&config->layout, config->runway_ms);
	grants->capacity = capacity_of(config);
	grants->node_count = config->node_count;
	grants->pid = (uint32_t)getpid();
	grants->layout = config->layout;
	memcpy(grants->stream, config->name, sizeof(grants->stream));
	fill_nodes(grants, config);
	if (config->layout.format == SF_FORMAT_HOUND)
		grants->node_packed[0] = config->machine;
	/* Random, not counted: a copy of our state on another host makes other generations. */
	while (grants->generation == 0)
		if (getrandom(&grants->generation, sizeof(grants->generation), 0) < 0)
			return -errno;
	return 0;
}

static int complain(struct sf_why *why, const char *stream, const char *what, uint64_t bytes,
		    const char *remedy)
{
	int error = -errno;

	(void)snprintf(why->text, sizeof(why->text), "stream %s: %s of %llu KiB: %s; %s", stream,
		       what, (unsigned long long)(bytes + 1023) / 1024, strerrordesc_np(-error),
		       remedy);
	return error;
}

int sfd_ring_memfd(const char *stream, const char *what, uint64_t bytes, int *ret_fd,
		   struct sf_why *why)
{
	char name[64];
	int error;
	int fd;

	(void)snprintf(name, sizeof(name), "sfd:%s:%s", stream, what);
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 does not know the no-exec flag */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return complain(why, stream, what, bytes, "check the limit of open files");
	/* May raise SIGXFSZ at a file size limit: main() ignores it, so that EFBIG comes back. */
	if (fallocate(fd, 0, 0, (off_t)bytes) < 0) {
		error = complain(why, stream, what, bytes,
				 "free memory, raise the file size limit (ulimit -f), or shorten "
				 "runway_ms");
		(void)close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

/** Maps the grants with the private page before them. */
static int map_grants(struct sfd_ring *ring, uint64_t bytes)
{
	ring->arena_bytes = SFD_RING_PRIVATE_BYTES + bytes;
	ring->arena = mmap(NULL, ring->arena_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring->arena == MAP_FAILED) {
		ring->arena = NULL;
		return -ENOMEM;
	}
	if (mmap((char *)ring->arena + SFD_RING_PRIVATE_BYTES, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_POPULATE, ring->grants_fd, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

/** Adds seals; those of an adopted memfd are there already, the last one included. */
static int seal(int fd, int seals)
{
	int present = fcntl(fd, F_GET_SEALS);

	if (present >= 0 && (present & seals) == seals)
		return 0;
	return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

static int map_and_seal(struct sfd_ring *ring, uint32_t slots)
{
	void *claims;
	int error = map_grants(ring, sf_shm_grants_bytes(slots));

	if (error < 0)
		return error;
	claims = mmap(NULL, sf_shm_claims_bytes(slots), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, ring->claims_fd, 0);
	if (claims == MAP_FAILED)
		return -errno;
	sf_shm_ring_map(&ring->shm, (char *)ring->arena + SFD_RING_PRIVATE_BYTES, claims, slots);
	/* After our own writable mapping: from here on nobody can make another. */
	error = seal(ring->grants_fd,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	return error < 0 ? error : seal(ring->claims_fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int sfd_ring_init(struct sfd_ring *ring, const struct sfd_stream_config *config,
		  uint64_t first_tick, struct sf_why *why)
{
	uint32_t slots = slots_for(config);
	int error;

	*ring = (struct sfd_ring){.grants_fd = -1, .claims_fd = -1};
	if (config->node_count > 1 && sf_shm_node_is_split(&config->layout)) {
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: several machine ids, but the layout's node bits lie on "
			       "both sides of the sequence",
			       config->name);
		return -EINVAL;
	}
	error = sfd_ring_memfd(config->name, "grants", sf_shm_grants_bytes(slots), &ring->grants_fd,
			       why);
	if (error == 0)
		error = sfd_ring_memfd(config->name, "claims", sf_shm_claims_bytes(slots),
				       &ring->claims_fd, why);
	if (error < 0)
		goto out;
	error = map_and_seal(ring, slots);
	if (error == 0)
		error = fill_header(ring->shm.grants, config, first_tick);
	if (error < 0) {
		(void)snprintf(why->text, sizeof(why->text), "stream %s: making the ring: %s",
			       config->name, strerrordesc_np(-error));
		goto out;
	}
	ring->shm.claims->magic = SF_SHM_CLAIMS_MAGIC;
	return 0;

out:
	sfd_ring_deinit(ring);
	return error;
}

/** @return why the ring behind the header cannot go on as this stream's; NULL: it can */
static const char *judge(const struct sf_shm_grants *old, const struct sf_shm_grants *own,
			 uint64_t generation, int *ret_error)
{
	*ret_error = -EINVAL;
	if (old->magic != own->magic || old->abi_major != own->abi_major)
		return "it is of another ABI version";
	*ret_error = -ESTALE;
	if (old->generation != generation)
		return "it is not the one that the runtime record names";
	*ret_error = -EINVAL;
	if (memcmp(&old->layout, &own->layout, sizeof(old->layout)) != 0 ||
	    strcmp(old->stream, own->stream) != 0)
		return "it has another layout or name";
	if (old->node_count != own->node_count ||
	    memcmp(old->node, own->node, sizeof(old->node)) != 0 ||
	    memcmp(old->node_packed, own->node_packed, sizeof(old->node_packed)) != 0)
		return "it has other machine ids";
	if (old->slots != own->slots || old->capacity != own->capacity)
		return "it has another size: runway_ms was changed";
	return NULL;
}

/** Takes over what the old grants say; the header's constant part is this sfd's already. */
static void copy_grants(struct sf_shm_ring *ring, const struct sf_shm_grants *old)
{
	const struct sf_shm_grant *grant = (const struct sf_shm_grant *)(old + 1);

	ring->grants->first_tick = old->first_tick;
	ring->grants->open_mono_ns = old->open_mono_ns;
	/* Nobody writes the old ones any more, nobody reads the new ones yet. */
	memcpy(ring->grant, grant, (ring->mask + 1) * sizeof(*grant));
	/* relaxed, likewise */
	sf_shm_horizon_set(ring, atomic_load_explicit(&old->horizon, memory_order_relaxed));
}

static int memfd_size_is(int fd, uint64_t bytes)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_size >= 0 && (uint64_t)status.st_size == bytes;
}

/** Makes the new grants, and adopts the claims. */
static int make_adopted(struct sfd_ring *ring, const struct sfd_stream_config *config,
			int claims_fd, struct sf_why *why)
{
	uint32_t slots = slots_for(config);
	int error = sfd_ring_memfd(config->name, "grants", sf_shm_grants_bytes(slots),
				   &ring->grants_fd, why);

	if (error < 0)
		return error;
	ring->claims_fd = fcntl(claims_fd, F_DUPFD_CLOEXEC, 0);
	if (ring->claims_fd < 0)
		return -EMFILE;
	error = map_and_seal(ring, slots);
	if (error < 0)
		return error;
	/* The first tick is the old ring's, see copy_grants(). */
	return fill_header(ring->shm.grants, config, 0);
}

int sfd_ring_adopt(struct sfd_ring *ring, const struct sfd_stream_config *config, int grants_fd,
		   int claims_fd, uint64_t generation, struct sf_why *why)
{
	uint64_t bytes = sf_shm_grants_bytes(slots_for(config));
	const struct sf_shm_grants *old = MAP_FAILED;
	const char *reason = "its memory has another size: runway_ms was changed";
	int error = -EINVAL;

	*ring = (struct sfd_ring){.grants_fd = -1, .claims_fd = -1};
	if (!memfd_size_is(grants_fd, bytes) ||
	    !memfd_size_is(claims_fd, sf_shm_claims_bytes(slots_for(config))))
		goto out;
	reason = NULL;
	old = mmap(NULL, bytes, PROT_READ, MAP_SHARED, grants_fd, 0);
	if (old == MAP_FAILED) {
		error = -errno;
		goto out;
	}
	error = make_adopted(ring, config, claims_fd, why);
	if (error < 0)
		goto out;
	reason = judge(old, ring->shm.grants, generation, &error);
	if (reason)
		goto out;
	copy_grants(&ring->shm, old);
	(void)munmap((void *)old, bytes);
	return 0;

out:
	if (!why->text[0])
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: the ring of the sfd before cannot be taken over: %s",
			       config->name, reason ? reason : strerrordesc_np(-error));
	if (old != MAP_FAILED)
		(void)munmap((void *)old, bytes);
	sfd_ring_deinit(ring);
	return error;
}

uint64_t sfd_ring_granted(int grants_fd, const struct sf_layout *layout)
{
	const struct sf_shm_grants *grants;
	const struct sf_shm_grant *grant;
	struct stat status;
	uint64_t last = 0;

	if (fstat(grants_fd, &status) < 0 || status.st_size < (off_t)sizeof(*grants))
		return 0;
	grants = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, grants_fd, 0);
	if (grants == MAP_FAILED)
		return 0;
	grant = (const struct sf_shm_grant *)(grants + 1);
	if (grants->magic == SF_SHM_GRANTS_MAGIC &&
	    memcmp(&grants->layout, layout, sizeof(*layout)) == 0 &&
	    sf_shm_grants_bytes(grants->slots) <= (uint64_t)status.st_size)
		for (uint32_t i = 0; i < grants->slots; i++) {
			/* relaxed: nobody writes them any more */
			uint64_t tick = atomic_load_explicit(&grant[i].tick, memory_order_relaxed);

			last = tick > last ? tick : last;
		}
	(void)munmap((void *)grants, (size_t)status.st_size);
	return last;
}

void sfd_ring_deinit(struct sfd_ring *ring)
{
	if (ring->shm.claims)
		(void)munmap(ring->shm.claims, sf_shm_claims_bytes((uint32_t)ring->shm.mask + 1));
	if (ring->arena)
		(void)munmap(ring->arena, ring->arena_bytes);
	if (ring->grants_fd >= 0)
		(void)close(ring->grants_fd);
	if (ring->claims_fd >= 0)
		(void)close(ring->claims_fd);
	*ring = (struct sfd_ring){.grants_fd = -1, .claims_fd = -1};
}
