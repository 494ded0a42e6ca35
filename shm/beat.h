/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The beat: one 64-bit word that the daemon changes every tick while there is demand.
 *
 *   bits 63..32   the daemon's robust futex word: thread id of the beating thread; the kernel puts
 *                 FUTEX_OWNER_DIED there when that thread ends, however it ends; 0 after a clean
 *                 stop. FUTEX_WAITERS, which nobody needs otherwise, says that the daemon idles: so
 *                 an idle beat equals no beat that a cursor may hold.
 *   bits 31..0    low half of the tick while the daemon beats
 *
 * Clients only compare it for equality on the fast path. The slow path asks sf_shm_beat_is_live().
 */
#ifndef SF_SHM_BEAT_H
#define SF_SHM_BEAT_H

#include <linux/futex.h>
#include <stdint.h>

/** Offset of the futex half inside the word. */
#define SF_SHM_BEAT_FUTEX_OFFSET 4

static inline uint64_t sf_shm_beat_make(uint32_t owner, uint64_t tick)
{
	return (uint64_t)owner << 32 | (uint32_t)tick;
}

/** What the word holds while the daemon does not beat. */
static inline uint64_t sf_shm_beat_idle(uint32_t owner)
{
	return sf_shm_beat_make(owner | FUTEX_WAITERS, 0);
}

/** The beating thread is there: neither ended nor cleanly stopped. */
static inline int sf_shm_beat_has_owner(uint64_t beat)
{
	uint32_t futex = (uint32_t)(beat >> 32);

	return (futex & FUTEX_TID_MASK) != 0 && (futex & FUTEX_OWNER_DIED) == 0;
}

/**
 * The daemon beats and is not late: the beat's tick is not behind the time page's. Ticks are
 * compared by unsigned difference, so a wrap of the low half is no event. Load the beat before the
 * clock, else a tick that passes between the two reads as late.
 */
static inline int sf_shm_beat_is_live(uint64_t beat, uint64_t now_tick)
{
	return sf_shm_beat_has_owner(beat) && ((uint32_t)(beat >> 32) & FUTEX_WAITERS) == 0 &&
	       (int32_t)((uint32_t)beat - (uint32_t)now_tick) >= 0;
}

#endif
