/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The library's USDT probes, provider `sfclient`; tools/probes/README.md says what they mean. A
 * probe's semaphore is a word of the library that the kernel raises while a tracer is attached:
 * until then a probe is one load on the slow path, and nothing on the fast one.
 */
#ifndef SF_CLIENT_PROBE_H
#define SF_CLIENT_PROBE_H

#ifdef SF_USDT

/* Hidden: a reference from another module would be to a copy that the kernel does not raise. */
#define SF_PROBE_SEMAPHORE(name)                                                                   \
	extern unsigned short sfclient_##name##_semaphore __attribute__((visibility("hidden")))

SF_PROBE_SEMAPHORE(fetch);
SF_PROBE_SEMAPHORE(claim);
SF_PROBE_SEMAPHORE(wait);
SF_PROBE_SEMAPHORE(reattach);
SF_PROBE_SEMAPHORE(fork);

/** A tracer is attached to the probe. Relaxed: a probe more or less at its begin and end. */
#define SF_PROBE_IS_ON(name)                                                                       \
	__builtin_expect(__atomic_load_n(&sfclient_##name##_semaphore, __ATOMIC_RELAXED) != 0, 0)

#else

#define SF_PROBE_IS_ON(name) 0

#endif

/* The linter would take what these macros are made of for the code of whoever uses them. */
#if defined(SF_USDT) && !defined(__clang_analyzer__)

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#ifdef __clang__ /* sdt.h counts arguments in a way that is GNU's */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define SF_PROBE2(name, a, b) STAP_PROBE2(sfclient, name, a, b)
#define SF_PROBE3(name, a, b, c) STAP_PROBE3(sfclient, name, a, b, c)
#define SF_PROBE4(name, a, b, c, d) STAP_PROBE4(sfclient, name, a, b, c, d)

#else

#define SF_PROBE2(name, a, b) ((void)(a), (void)(b))
#define SF_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define SF_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))

#endif

#endif
