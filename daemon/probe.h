/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's USDT probes, provider `sfd`; tools/probes/README.md says what they mean. A probe's
 * semaphore is a word that the kernel raises while a tracer is attached: until then a probe is one
 * load. Arguments that cost more than that are worked out behind SFD_PROBE_IS_ON().
 */
#ifndef SFD_PROBE_H
#define SFD_PROBE_H

#ifdef SF_USDT

#define SFD_PROBE_SEMAPHORE(name)                                                                  \
	extern unsigned short sfd_##name##_semaphore __attribute__((visibility("hidden")))

SFD_PROBE_SEMAPHORE(publish);
SFD_PROBE_SEMAPHORE(beat);
SFD_PROBE_SEMAPHORE(attach);
SFD_PROBE_SEMAPHORE(mark_write);
SFD_PROBE_SEMAPHORE(clock_step);
SFD_PROBE_SEMAPHORE(request_begin);
SFD_PROBE_SEMAPHORE(request_end);
SFD_PROBE_SEMAPHORE(loop_wake);

/** A tracer is attached to the probe. Relaxed: a probe more or less at its begin and end. */
#define SFD_PROBE_IS_ON(name)                                                                      \
	__builtin_expect(__atomic_load_n(&sfd_##name##_semaphore, __ATOMIC_RELAXED) != 0, 0)

#else

#define SFD_PROBE_IS_ON(name) 0

#endif

/* The linter would take what these macros are made of for the code of whoever uses them. */
#if defined(SF_USDT) && !defined(__clang_analyzer__)

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#ifdef __clang__ /* sdt.h counts arguments in a way that is GNU's */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define SFD_PROBE1(name, a) STAP_PROBE1(sfd, name, a)
#define SFD_PROBE2(name, a, b) STAP_PROBE2(sfd, name, a, b)
#define SFD_PROBE3(name, a, b, c) STAP_PROBE3(sfd, name, a, b, c)
#define SFD_PROBE4(name, a, b, c, d) STAP_PROBE4(sfd, name, a, b, c, d)

#else

#define SFD_PROBE1(name, a) ((void)(a))
#define SFD_PROBE2(name, a, b) ((void)(a), (void)(b))
#define SFD_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define SFD_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))

#endif

#endif
