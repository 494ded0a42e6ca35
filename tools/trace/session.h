/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One trace from its beginning to its end: whom, with what, and how long. What goes wrong is
 * reported here, with its exit code. Main thread only.
 */
#ifndef SFCTL_TRACE_SESSION_H
#define SFCTL_TRACE_SESSION_H

#include "tools/trace/host.h"
#include "tools/trace/target.h"
#include "tools/trace/trace.h"

#include <bpf/libbpf.h>

struct sfctl_session {
	const struct sfctl_trace *trace;
	struct sfctl_trace_host host;
	struct sfctl_targets targets;
	pid_t pid; /* the only process to be traced; 0: all that were found */
	struct bpf_link **link;
	size_t link_count;
	struct ring_buffer *events; /* read while it runs; NULL: none */
	int signal_fd;
	uint32_t pid_ns; /* inode number of our pid namespace */
	int64_t begin_ns;
	int64_t end_ns;
};

/**
 * Checks the host, and finds whom to trace. From here on signals do not end the program but the
 * trace.
 * @return SFCTL_GO_ON, or the exit code after sentences on stderr
 */
int sfctl_session_begin(struct sfctl_session *session, const struct sfctl_trace *trace,
			const struct sfctl_provider *provider);
/** Detaches everything. */
void sfctl_session_end(struct sfctl_session *session);

/** A step has failed with a negative errno. @return the exit code */
int sfctl_session_refused(const struct sfctl_session *session, enum sfctl_trace_step step,
			  int error);

/** Attaches a program to a probe of every file found. @return SFCTL_GO_ON or an exit code */
int sfctl_session_attach_probe(struct sfctl_session *session, const struct bpf_program *program,
			       const char *provider, const char *name);
/** Attaches a program to the tracepoint of its section. @return SFCTL_GO_ON or an exit code */
int sfctl_session_attach_tracepoint(struct sfctl_session *session,
				    const struct bpf_program *program);

/**
 * Waits until the time is over, a signal comes, or the only process to be traced has ended; hands
 * on events meanwhile. Detaches everything then. @return SFCTL_GO_ON or an exit code
 */
int sfctl_session_run(struct sfctl_session *session);

/** How long it ran. */
double sfctl_session_seconds(const struct sfctl_session *session);

#endif
