/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top on a terminal: one loop over keys, looks and signals. Signals are taken from a
 * descriptor, so that none comes in the middle of drawing and each leaves the terminal as it was.
 */
#include "tools/top/live.h"

#include "tools/rfc3339.h"
#include "tools/top/look.h"
#include "tools/top/screen.h"
#include "tools/top/view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
/* The second look comes soon: there are no rates of clients before. */
#define SECOND_LOOK_MS 250
/* While sfd is away: how often it is looked for, whatever the delay. */
#define AWAY_MS 1000
/* While there is a time on the page that passes. */
#define PASSING_MS 1000
/* A message stays for so long, or until the next key. */
#define MESSAGE_MS 3000

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
#define HANDLED_COUNT (sizeof(handled) / sizeof(handled[0]))

struct live {
	const struct sfctl *sfctl;
	bool has_utf8;
	struct sfctl_top_looker *looker;
	struct sfctl_top_model model;
	struct sfctl_top_ui ui;
	struct sfctl_top_screen screen;
	struct sfctl_top_page page;
	sigset_t signals;
	int signal_fd;
	int64_t next_ns;  /* when to look again */
	int64_t asked_ns; /* since when an answer is awaited; 0: none is */
	int64_t key_ns;   /* of the last key */
	uint64_t left;    /* looks to come; counts down from 0 without end */
	bool is_over;
	int last_signal; /* that ended it; 0: none did */
	int status;
};

/** What whoever started it ignores stays so: nohup, or a shell without job control. */
static void block_signals(struct live *live)
{
	(void)sigemptyset(&live->signals);
	for (size_t i = 0; i < HANDLED_COUNT; i++) {
		struct sigaction action;

		if (sigaction(handled[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&live->signals, handled[i]);
	}
	(void)pthread_sigmask(SIG_BLOCK, &live->signals, NULL);
}

static void fail(struct live *live, const char *what)
{
	sfctl_top_screen_close(&live->screen);
	live->status = sfctl_fail(live->sfctl, "%s", what);
	live->is_over = true;
}

static void draw(struct live *live)
{
	int64_t now_ns = sfctl_top_mono_ns();
	struct sfctl_top_scene scene = {.model = &live->model,
					.ui = &live->ui,
					.unix_ms = sfctl_now_ms(),
					.has_utf8 = live->has_utf8};
	int width;
	int height;

	if (live->asked_ns != 0)
		scene.awaited_ms = (now_ns - live->asked_ns) / NS_PER_MS;
	sfctl_top_screen_size(&width, &height);
	if (sfctl_top_page_size(&live->page, width, height) < 0)
		return; /* the page of before stays */
	sfctl_top_view(&scene, &live->page);
	sfctl_top_screen_draw(&live->screen, &live->page);
}

static void ask(struct live *live)
{
	if (live->asked_ns != 0)
		return;
	live->asked_ns = sfctl_top_mono_ns();
	sfctl_top_looker_ask(live->looker);
}

/** From the last time on, so that looks keep their pace; unless they cannot. */
static void plan(struct live *live)
{
	int64_t now_ns = sfctl_top_mono_ns();
	int64_t delay_ms = live->ui.delay_ms;

	if (live->model.away_since_ms != 0 && delay_ms > AWAY_MS)
		delay_ms = AWAY_MS;
	live->next_ns += delay_ms * NS_PER_MS;
	if (live->next_ns < now_ns || live->next_ns > now_ns + delay_ms * NS_PER_MS)
		live->next_ns = now_ns + delay_ms * NS_PER_MS;
}

static void see(struct live *live)
{
	struct sfctl_top_sight sight = sfctl_top_looker_take(live->looker);

	live->asked_ns = 0;
	if (sight.error < 0)
		sfctl_top_model_miss(&live->model, sfctl_now_ms(), &sight.why);
	else if (sfctl_top_model_take(&live->model, &sight.look) < 0)
		(void)snprintf(live->ui.message, sizeof(live->ui.message), "out of memory");
	else if (sfctl_top_mono_ns() - live->key_ns > MESSAGE_MS * NS_PER_MS)
		live->ui.message[0] = '\0';
	sfctl_top_look_deinit(&sight.look);
	plan(live);
	if (--live->left == 0)
		live->is_over = true;
}

/** Stops as any program does at that key, and goes on when the shell says so. */
static void stop(const struct live *live)
{
	sigset_t stops;

	sfctl_top_screen_pause();
	(void)sigemptyset(&stops);
	(void)sigaddset(&stops, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)pthread_sigmask(SIG_UNBLOCK, &stops, NULL); /* here */
	(void)pthread_sigmask(SIG_BLOCK, &live->signals, NULL);
	sfctl_top_screen_resume();
}

static void take_signal(struct live *live)
{
	struct signalfd_siginfo info;

	if (read(live->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch ((int)info.ssi_signo) {
	case SIGTSTP:
		stop(live);
		break;
	case SIGCONT: /* it was stopped without being asked: the screen may be the shell's */
		sfctl_top_screen_resume();
		break;
	case SIGWINCH:
		sfctl_top_screen_fit();
		break;
	default:
		live->last_signal = (int)info.ssi_signo;
		live->is_over = true;
	}
}

/** All that wait. A readable terminal without a key is one that has gone. */
static void take_keys(struct live *live)
{
	int key = sfctl_top_screen_key();
	int64_t delay_ms = live->ui.delay_ms;

	if (key == SFCTL_TOP_KEY_NONE)
		key = SFCTL_TOP_KEY_GONE;
	live->key_ns = sfctl_top_mono_ns();
	for (; key != SFCTL_TOP_KEY_NONE && !live->is_over; key = sfctl_top_screen_key()) {
		switch (sfctl_top_ui_key(&live->ui, key)) {
		case SFCTL_TOP_QUIT:
			live->is_over = true;
			break;
		case SFCTL_TOP_LOOK:
			ask(live);
			break;
		case SFCTL_TOP_REPAINT:
			sfctl_top_screen_resume();
			break;
		case SFCTL_TOP_DRAW:
			break;
		}
	}
	if (live->ui.delay_ms != delay_ms) {
		live->next_ns = sfctl_top_mono_ns();
		plan(live);
	}
}

/** Until the next look, or the next second of what is told in seconds. */
static int patience_ms(const struct live *live)
{
	int64_t ms = (live->next_ns - sfctl_top_mono_ns()) / NS_PER_MS + 1;

	if (live->asked_ns != 0)
		ms = PASSING_MS;
	if (live->model.away_since_ms != 0 && ms > PASSING_MS)
		ms = PASSING_MS;
	return ms < 0 ? 0 : (int)ms;
}

static void turn(struct live *live)
{
	struct pollfd polled[] = {{.fd = live->signal_fd, .events = POLLIN},
				  {.fd = live->looker->seen_fd, .events = POLLIN},
				  {.fd = STDIN_FILENO, .events = POLLIN}};

	if (poll(polled, sizeof(polled) / sizeof(polled[0]), patience_ms(live)) < 0 &&
	    errno != EINTR) {
		fail(live, strerrordesc_np(errno));
		return;
	}
	if (polled[0].revents != 0)
		take_signal(live);
	if (polled[1].revents != 0 && !live->is_over)
		see(live);
	if (polled[2].revents != 0 && !live->is_over)
		take_keys(live);
	if (!live->is_over && sfctl_top_mono_ns() >= live->next_ns)
		ask(live);
	if (!live->is_over)
		draw(live);
}

/** The first look; an sfd that cannot be asked now is more likely to be named wrongly than to be
 *  away. */
static int look_first(struct live *live)
{
	struct sfctl_top_look look;
	struct sfctl_top_eye eye;
	struct sf_why why;
	int error;

	sfctl_top_eye_init(&eye, live->sfctl);
	error = sfctl_top_eye_look(&eye, &look, &why);
	sfctl_top_eye_deinit(&eye);
	if (error < 0)
		return sfctl_fail(live->sfctl, "%s", why.text);
	error = sfctl_top_model_take(&live->model, &look);
	sfctl_top_look_deinit(&look);
	return error < 0 ? sfctl_fail(live->sfctl, "out of memory") : SFCTL_OK;
}

/** From here on the terminal is ours. */
static void show(struct live *live)
{
	struct sf_why why;

	if (sfctl_top_screen_open(&live->screen, &why) < 0) {
		live->status = sfctl_fail(live->sfctl, "%s", why.text);
		return;
	}
	live->next_ns = sfctl_top_mono_ns() + SECOND_LOOK_MS * NS_PER_MS;
	if (live->left == 1) /* the first look was the last one */
		live->is_over = true;
	live->left--;
	draw(live);
	while (!live->is_over)
		turn(live);
	if (live->screen.terminal)
		sfctl_top_screen_close(&live->screen);
}

static int run(struct live *live)
{
	/* It may outlive this function, see sfctl_top_looker_end(). */
	static struct sfctl_top_looker looker;
	int error;

	live->looker = &looker;
	live->signal_fd = signalfd(-1, &live->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (live->signal_fd < 0)
		return sfctl_fail(live->sfctl, "signalfd: %s", strerrordesc_np(errno));
	error = sfctl_top_looker_start(&looker, live->sfctl);
	if (error == 0) {
		show(live);
		sfctl_top_looker_end(&looker);
	} else {
		live->status = sfctl_fail(live->sfctl, "a thread: %s", strerrordesc_np(-error));
	}
	(void)close(live->signal_fd);
	return live->status;
}

int sfctl_top_live(const struct sfctl *sfctl, const struct sfctl_top_request *request)
{
	struct live live = {.sfctl = sfctl,
			    .has_utf8 = request->has_utf8,
			    .ui = {.delay_ms = request->delay_ms},
			    .left = request->iterations};
	int status;

	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
		return sfctl_fail(sfctl, "%s is no terminal: run it in one, or use -b",
				  isatty(STDIN_FILENO) != 1 ? "stdin" : "stdout");
	status = look_first(&live);
	if (status == SFCTL_OK) {
		block_signals(&live);
		status = run(&live);
		if (live.last_signal != 0)
			(void)raise(live.last_signal);
		(void)pthread_sigmask(SIG_UNBLOCK, &live.signals, NULL); /* ends it as always */
	}
	sfctl_top_page_deinit(&live.page);
	sfctl_top_model_deinit(&live.model);
	return status;
}
