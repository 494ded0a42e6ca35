/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Looks; see look.h.
 */
#include "tools/top/look.h"

#include "tools/rfc3339.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* An sfd that is well answers long before. */
#define END_NS INT64_C(200000000)

int64_t sfctl_top_mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void sfctl_top_eye_init(struct sfctl_top_eye *eye, const struct sfctl *sfctl)
{
	*eye = (struct sfctl_top_eye){.sfctl = sfctl, .fd = -1};
}

void sfctl_top_eye_deinit(struct sfctl_top_eye *eye)
{
	eye->fd = sfctl_control_close(eye->fd);
	free(eye->user);
}

void sfctl_top_look_deinit(struct sfctl_top_look *look)
{
	sfctl_stats_deinit(&look->stats);
	free(look->user);
	*look = (struct sfctl_top_look){0};
}

static bool is_named(const struct sfctl_top_eye *eye, uint32_t uid)
{
	for (size_t i = 0; i < eye->user_count; i++)
		if (eye->user[i].uid == uid)
			return true;
	return false;
}

/** Asks for the name of each user once. @return 0 or -ENOMEM */
static int name_users(struct sfctl_top_eye *eye, const struct sfctl_stream_stats *stream)
{
	for (uint32_t i = 0; i < stream->client_count; i++) {
		uint32_t uid = stream->client[i].uid;
		struct sfctl_top_user *grown;

		if (is_named(eye, uid))
			continue;
		grown = reallocarray(eye->user, eye->user_count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		eye->user = grown;
		grown[eye->user_count].uid = uid;
		sfctl_user_name(uid, grown[eye->user_count++].name);
	}
	return 0;
}

static int copy_users(struct sfctl_top_eye *eye, struct sfctl_top_look *look)
{
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < look->stats.stream_count; i++)
		error = name_users(eye, &look->stats.stream[i]);
	look->user = error == 0 ? calloc(eye->user_count + 1, sizeof(*look->user)) : NULL;
	if (!look->user)
		return -ENOMEM;
	if (eye->user_count > 0)
		memcpy(look->user, eye->user, eye->user_count * sizeof(*look->user));
	look->user_count = eye->user_count;
	return 0;
}

int sfctl_top_eye_look(struct sfctl_top_eye *eye, struct sfctl_top_look *ret_look,
		       struct sf_why *why)
{
	struct sfctl_top_look look = {0};
	int error = 0;

	if (eye->fd < 0)
		error = sfctl_control_open(eye->sfctl, &eye->fd, why);
	if (error == 0)
		error = sfctl_stats_init(&look.stats, eye->fd, eye->sfctl->stream, why);
	if (error < 0) {
		eye->fd = sfctl_control_close(eye->fd);
		return error;
	}
	look.mono_ns = sfctl_top_mono_ns();
	look.unix_ms = sfctl_now_ms();
	if (copy_users(eye, &look) < 0) {
		sfctl_top_look_deinit(&look);
		SFCTL_WHY(why, "out of memory");
		return -ENOMEM;
	}
	*ret_look = look;
	return 0;
}

/* ---- on a thread of its own ---- */

/** Waits until a look is wanted. @return false: none is any more */
static bool wait_until_wanted(struct sfctl_top_looker *looker)
{
	bool is_over;

	(void)pthread_mutex_lock(&looker->lock);
	while (!looker->is_wanted && !looker->is_over)
		(void)pthread_cond_wait(&looker->changed, &looker->lock);
	looker->is_wanted = false;
	is_over = looker->is_over;
	(void)pthread_mutex_unlock(&looker->lock);
	return !is_over;
}

static void *run(void *looker_void)
{
	struct sfctl_top_looker *looker = looker_void;

	while (wait_until_wanted(looker)) {
		struct sfctl_top_sight sight = {0};

		sight.error = sfctl_top_eye_look(&looker->eye, &sight.look, &sight.why);
		(void)pthread_mutex_lock(&looker->lock);
		sfctl_top_look_deinit(&looker->sight.look);
		looker->sight = sight;
		(void)pthread_mutex_unlock(&looker->lock);
		(void)eventfd_write(looker->seen_fd, 1);
	}
	sfctl_top_eye_deinit(&looker->eye);
	return NULL;
}

int sfctl_top_looker_start(struct sfctl_top_looker *looker, const struct sfctl *sfctl)
{
	int error;

	*looker = (struct sfctl_top_looker){0};
	sfctl_top_eye_init(&looker->eye, sfctl);
	looker->seen_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (looker->seen_fd < 0)
		return -errno;
	(void)pthread_mutex_init(&looker->lock, NULL);
	(void)pthread_cond_init(&looker->changed, NULL);
	error = -pthread_create(&looker->thread, NULL, run, looker);
	if (error < 0)
		(void)close(looker->seen_fd);
	return error;
}

void sfctl_top_looker_ask(struct sfctl_top_looker *looker)
{
	(void)pthread_mutex_lock(&looker->lock);
	looker->is_wanted = true;
	(void)pthread_cond_signal(&looker->changed);
	(void)pthread_mutex_unlock(&looker->lock);
}

struct sfctl_top_sight sfctl_top_looker_take(struct sfctl_top_looker *looker)
{
	struct sfctl_top_sight sight;
	eventfd_t count;

	(void)eventfd_read(looker->seen_fd, &count);
	(void)pthread_mutex_lock(&looker->lock);
	sight = looker->sight;
	looker->sight = (struct sfctl_top_sight){0};
	(void)pthread_mutex_unlock(&looker->lock);
	return sight;
}

void sfctl_top_looker_end(struct sfctl_top_looker *looker)
{
	int64_t until_ns = sfctl_top_mono_ns() + END_NS;
	struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

	(void)pthread_mutex_lock(&looker->lock);
	looker->is_over = true;
	(void)pthread_cond_signal(&looker->changed);
	(void)pthread_mutex_unlock(&looker->lock);
	if (pthread_clockjoin_np(looker->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
		return;
	sfctl_top_look_deinit(&looker->sight.look);
	(void)close(looker->seen_fd);
	(void)pthread_cond_destroy(&looker->changed);
	(void)pthread_mutex_destroy(&looker->lock);
}
