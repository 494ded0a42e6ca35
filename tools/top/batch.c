/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top -b: pages as text, all streams and clients on each. The first page comes after a delay,
 * since a rate takes two looks. Signals end it as they end any program.
 */
#include "tools/top/live.h"

#include "tools/rfc3339.h"
#include "tools/top/look.h"
#include "tools/top/view.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* So that lines are shorter than 80 columns. */
#define WIDTH 79

static int width_of_stdout(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= SFCTL_TOP_WIDTH_MIN)
		return size.ws_col;
	return WIDTH;
}

static int print(const struct sfctl *sfctl, const struct sfctl_top_scene *scene)
{
	struct sfctl_top_page page = {0};

	if (sfctl_top_page_size(&page, width_of_stdout(), sfctl_top_view_height(scene)) < 0)
		return sfctl_fail(sfctl, "out of memory");
	sfctl_top_view(scene, &page);
	sfctl_top_page_print(&page, stdout);
	sfctl_top_page_deinit(&page);
	(void)fputc('\n', stdout);
	return fflush(stdout) == 0 ? SFCTL_OK : SFCTL_FAILED; /* main() says why */
}

/** One look. Only the first one must be answered. @return SFCTL_OK or SFCTL_FAILED */
static int look(struct sfctl_top_eye *eye, struct sfctl_top_model *model)
{
	struct sfctl_top_look look;
	struct sf_why why;
	int error = sfctl_top_eye_look(eye, &look, &why);

	if (error < 0 && model->mono_ns == 0)
		return sfctl_fail(eye->sfctl, "%s", why.text);
	if (error < 0) {
		sfctl_top_model_miss(model, sfctl_now_ms(), &why);
		return SFCTL_OK;
	}
	error = sfctl_top_model_take(model, &look);
	sfctl_top_look_deinit(&look);
	return error < 0 ? sfctl_fail(eye->sfctl, "out of memory") : SFCTL_OK;
}

static void sleep_until(int64_t mono_ns)
{
	struct timespec until = {.tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int sfctl_top_batch(const struct sfctl *sfctl, const struct sfctl_top_request *request)
{
	struct sfctl_top_ui ui = {.delay_ms = request->delay_ms};
	struct sfctl_top_model model = {0};
	struct sfctl_top_scene scene = {.model = &model, .ui = &ui, .has_utf8 = request->has_utf8};
	struct sfctl_top_eye eye;
	int64_t next_ns = sfctl_top_mono_ns();
	int status;

	sfctl_top_eye_init(&eye, sfctl);
	status = look(&eye, &model);
	for (uint64_t i = 0;
	     status == SFCTL_OK && (request->iterations == 0 || i < request->iterations); i++) {
		next_ns += request->delay_ms * 1000000;
		sleep_until(next_ns);
		status = look(&eye, &model);
		scene.unix_ms = sfctl_now_ms();
		if (status == SFCTL_OK)
			status = print(sfctl, &scene);
	}
	sfctl_top_eye_deinit(&eye);
	sfctl_top_model_deinit(&model);
	return status;
}
