/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One trace; see session.h. Waits only in sfctl_session_run().
 */
#include "tools/trace/session.h"

#include "tools/trace/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_verbose;

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	return is_verbose ? vfprintf(stderr, format, arguments) : 0;
}

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/** Says what the host lacks. @return SFCTL_GO_ON, or SFCTL_CANNOT_TRACE */
static int check_host(struct sfctl_session *session)
{
	struct sfctl_lacks lacks;

	sfctl_trace_host_read(&session->host, "");
	sfctl_trace_host_lacks(&session->host, &lacks);
	for (size_t i = 0; i < lacks.count; i++)
		(void)sfctl_fail(session->trace->sfctl, "%s", lacks.why[i].text);
	return lacks.count == 0 ? SFCTL_GO_ON : SFCTL_CANNOT_TRACE;
}

/** What is good to know of whom was found. */
static void tell_targets(const struct sfctl_session *session)
{
	const struct sfctl_targets *targets = &session->targets;
	const struct sfctl *sfctl = session->trace->sfctl;

	for (size_t i = 0; i < targets->file_count; i++) {
		const struct sfctl_target_file *file = &targets->file[i];

		if (file->is_replaced)
			(void)sfctl_fail(sfctl,
					 "note: process %d still has a %s that has been replaced "
					 "or removed since: that one is traced, start the process "
					 "anew to have it use what is there now",
					 (int)file->pid, file->path);
	}
	if (targets->replaced)
		(void)sfctl_fail(sfctl,
				 "note: a process has %s, which has been replaced since, and is "
				 "not traced: start it anew, or add CAP_CHECKPOINT_RESTORE",
				 targets->replaced);
	if (targets->locked)
		(void)sfctl_fail(sfctl,
				 "note: a process has %s, which may not be opened, and is not "
				 "traced: be its user, or add CAP_SYS_PTRACE",
				 targets->locked);
	if (targets->hidden > 0 && session->trace->is_verbose)
		(void)sfctl_fail(sfctl,
				 "note: %zu process%s may not be looked at: that takes "
				 "CAP_SYS_PTRACE",
				 targets->hidden, targets->hidden == 1 ? "" : "es");
}

/** SIGINT and SIGTERM end the trace. */
static int take_signals(struct sfctl_session *session)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (session->signal_fd >= 0)
		return SFCTL_GO_ON;
	return sfctl_fail(session->trace->sfctl, "signals: %s", strerrordesc_np(errno));
}

int sfctl_session_begin(struct sfctl_session *session, const struct sfctl_trace *trace,
			const struct sfctl_provider *provider)
{
	struct sf_why why;
	struct stat ns;
	int status;

	*session = (struct sfctl_session){.trace = trace, .pid = trace->pid, .signal_fd = -1};
	is_verbose = trace->is_verbose;
	(void)libbpf_set_print(print_libbpf);
	status = check_host(session);
	if (status != SFCTL_GO_ON)
		return status;
	if (stat("/proc/self/ns/pid", &ns) < 0)
		return sfctl_fail(trace->sfctl, "/proc/self/ns/pid: %s: mount /proc",
				  strerrordesc_np(errno));
	session->pid_ns = (uint32_t)ns.st_ino;
	if (sfctl_targets_init(&session->targets, provider, trace->pid, &why) < 0)
		return sfctl_fail(trace->sfctl, "%s", why.text);
	if (provider == &sfctl_provider_daemon && trace->sfctl->socket && trace->pid == 0 &&
	    sfctl_trace_daemon(trace->sfctl, &session->targets, &session->pid, &why) < 0)
		return sfctl_fail(trace->sfctl, "%s", why.text);
	tell_targets(session);
	return take_signals(session);
}

static void detach(struct sfctl_session *session)
{
	for (size_t i = 0; i < session->link_count; i++)
		(void)bpf_link__destroy(session->link[i]);
	free(session->link);
	session->link = NULL;
	session->link_count = 0;
}

void sfctl_session_end(struct sfctl_session *session)
{
	detach(session);
	ring_buffer__free(session->events);
	sfctl_targets_deinit(&session->targets);
	if (session->signal_fd >= 0)
		(void)close(session->signal_fd);
}

int sfctl_session_refused(const struct sfctl_session *session, enum sfctl_trace_step step,
			  int error)
{
	struct sf_why why;

	sfctl_trace_host_explain(&session->host, step, error, &why);
	(void)sfctl_fail(session->trace->sfctl, "%s", why.text);
	return SFCTL_CANNOT_TRACE;
}

/** Keeps a link until the end. */
static int keep(struct sfctl_session *session, struct bpf_link *link)
{
	struct bpf_link **grown;

	if (!link)
		return sfctl_session_refused(session, SFCTL_STEP_ATTACH, -errno);
	grown = reallocarray(session->link, session->link_count + 1, sizeof(struct bpf_link *));
	if (!grown) {
		(void)bpf_link__destroy(link);
		return sfctl_fail(session->trace->sfctl, "out of memory");
	}
	session->link = grown;
	session->link[session->link_count++] = link;
	return SFCTL_GO_ON;
}

int sfctl_session_attach_probe(struct sfctl_session *session, const struct bpf_program *program,
			       const char *provider, const char *name)
{
	pid_t pid = session->pid != 0 ? session->pid : -1;
	int status = SFCTL_GO_ON;

	for (size_t i = 0; status == SFCTL_GO_ON && i < session->targets.file_count; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", session->targets.file[i].fd);
		status = keep(session,
			      bpf_program__attach_usdt(program, pid, path, provider, name, NULL));
	}
	return status;
}

int sfctl_session_attach_tracepoint(struct sfctl_session *session,
				    const struct bpf_program *program)
{
	return keep(session, bpf_program__attach(program));
}

/** For people at a terminal, and for who waits until it has begun. */
static void tell_begin(const struct sfctl_session *session)
{
	const struct sfctl_trace *trace = session->trace;
	const struct sfctl_targets *targets = &session->targets;
	size_t count = session->pid != 0 ? 1 : targets->pid_count;
	char until[48] = "until it is interrupted";

	if (!trace->is_verbose && isatty(STDERR_FILENO) != 1)
		return;
	if (trace->seconds != 0)
		(void)snprintf(until, sizeof(until), "for %" PRIu32 " s", trace->seconds);
	(void)fprintf(stderr, "sfctl trace: tracing %zu process%s %s\n", count,
		      count == 1 ? "" : "es", until);
}

/** One wait. @return SFCTL_GO_ON until the trace is over */
static int wait_once(struct sfctl_session *session, struct pollfd *fd, nfds_t count)
{
	struct timespec left = {0};
	int64_t left_ns = session->end_ns - now_ns();

	if (left_ns <= 0)
		return SFCTL_OK;
	left.tv_sec = left_ns / 1000000000;
	left.tv_nsec = left_ns % 1000000000;
	if (ppoll(fd, count, &left, NULL) < 0 && errno != EINTR)
		return sfctl_fail(session->trace->sfctl, "waiting: %s", strerrordesc_np(errno));
	if (session->events)
		(void)ring_buffer__consume(session->events);
	/* a signal, or the end of the only process */
	return fd[0].revents != 0 || fd[1].revents != 0 ? SFCTL_OK : SFCTL_GO_ON;
}

int sfctl_session_run(struct sfctl_session *session)
{
	const struct sfctl_trace *trace = session->trace;
	struct pollfd fd[3] = {{.fd = session->signal_fd, .events = POLLIN},
			       {.fd = -1, .events = POLLIN},
			       {.fd = -1, .events = POLLIN}};
	int status = SFCTL_GO_ON;

	if (session->pid != 0)
		fd[1].fd = pidfd_open(session->pid, 0);
	if (session->events)
		fd[2].fd = ring_buffer__epoll_fd(session->events);
	session->begin_ns = now_ns();
	session->end_ns = trace->seconds != 0
				  ? session->begin_ns + trace->seconds * INT64_C(1000000000)
				  : INT64_MAX;
	tell_begin(session);
	while (status == SFCTL_GO_ON)
		status = wait_once(session, fd, 3);
	session->end_ns = now_ns();
	detach(session);
	if (session->events)
		(void)ring_buffer__consume(session->events);
	if (fd[1].fd >= 0)
		(void)close(fd[1].fd);
	return status == SFCTL_OK ? SFCTL_GO_ON : status;
}

double sfctl_session_seconds(const struct sfctl_session *session)
{
	return (double)(session->end_ns - session->begin_ns) / 1e9;
}
