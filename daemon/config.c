/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's configuration as a whole: file or flags into a draft, the draft judged, the flags'
 * word last. Runs while only one thread exists. Never leaves a half-built configuration behind.
 */
#include "daemon/config_draft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The stream that the flags describe. */
#define FLAGS_STREAM "default"
#define FLAGS_LAYOUT "twitter"

static const struct sfd_draft_place whole_file;

/* ---- into the draft ---- */

static void set_flag(struct sfd_draft *draft, struct sfd_draft_value *value, const char *flag,
		     const char *text)
{
	if (text != NULL)
		sfd_draft_set(draft, value, text, (struct sfd_draft_place){.flag = flag});
}

static void draft_daemon_flags(struct sfd_draft *draft, const struct sfd_flags *flags)
{
	struct sfd_draft_value *value = draft->flags.value;

	set_flag(draft, &value[SFD_DAEMON_RUNTIME_DIR], "--runtime-dir", flags->runtime_dir);
	set_flag(draft, &value[SFD_DAEMON_STATE_DIR], "--state-dir", flags->state_dir);
	set_flag(draft, &value[SFD_DAEMON_LOG_LEVEL], "--log-level", flags->log_level);
}

static void draft_flags_stream(struct sfd_draft *draft, const struct sfd_flags *flags)
{
	struct sfd_draft_section *section = &draft->stream[draft->stream_count++];
	bool is_other_format = flags->format != NULL && strcmp(flags->format, "snowflake") != 0;

	memcpy(section->name, FLAGS_STREAM, sizeof(FLAGS_STREAM));
	section->place.flag = "--machine-id";
	set_flag(draft, &section->value[SFD_STREAM_FORMAT], "--format", flags->format);
	set_flag(draft, &section->value[SFD_STREAM_LAYOUT], "--layout",
		 flags->layout != NULL || is_other_format ? flags->layout : FLAGS_LAYOUT);
	set_flag(draft, &section->value[SFD_STREAM_MACHINE_ID], "--machine-id", flags->machine_id);
}

/* A value that the file's streams have already must not be overridden silently. */
static void refuse_stream_flag(struct sfd_draft *draft, const char *flag, const char *text)
{
	if (text != NULL)
		sfd_draft_report(draft, SFD_LOG_ERROR, &(struct sfd_draft_place){.flag = flag},
				 "streams are described by the file %s: leave out the flag or the "
				 "file",
				 draft->file);
}

static void draft_file(struct sfd_draft *draft, const struct sfd_flags *flags, const char *text,
		       size_t size)
{
	refuse_stream_flag(draft, "--machine-id", flags->machine_id);
	refuse_stream_flag(draft, "--format", flags->format);
	refuse_stream_flag(draft, "--layout", flags->layout);
	sfd_draft_parse(draft, text, size);
	if (!draft->stream_seen)
		sfd_draft_report(draft, SFD_LOG_ERROR, &whole_file,
				 "there is no stream: add a section [stream NAME] with layout and "
				 "machine_id, or with format");
}

/* ---- out of the draft ---- */

static void take_directory(struct sfd_draft *draft, const struct sfd_draft_value *value,
			   const char *name, char **directory)
{
	char *copy;

	if (value->text == NULL)
		return;
	if (value->text[0] == '\0') {
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "%s is empty: name a directory", name);
		return;
	}
	copy = strdup(value->text);
	if (copy == NULL) {
		draft->error = -ENOMEM;
		return;
	}
	free(*directory);
	*directory = copy;
}

static void take_log_level(struct sfd_draft *draft, const struct sfd_draft_value *value,
			   enum sfd_log_level *level)
{
	if (value->text != NULL && sfd_log_level_parse(value->text, level) < 0)
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "log_level \"%s\" is unknown: use error, warning, info or debug",
				 value->text);
}

static void take_loop(struct sfd_draft *draft, const struct sfd_draft_value *value,
		      enum sfd_loop_backend *loop)
{
	static const char *const names[] = {
		[SFD_LOOP_AUTO] = "auto",
		[SFD_LOOP_URING] = "io_uring",
		[SFD_LOOP_POLL] = "poll",
	};

	if (value->text == NULL)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value->text, names[i]) == 0) {
			*loop = (enum sfd_loop_backend)i;
			return;
		}
	}
	sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
			 "loop \"%s\" is unknown: use auto, io_uring or poll", value->text);
}

static void take_user(struct sfd_draft *draft, const struct sfd_draft_value *value,
		      struct sfd_account *account)
{
	int r;

	if (value->text == NULL)
		return;
	r = sfd_account_find(value->text, account);
	if (r == -ENOMEM)
		draft->error = r;
	else if (r == -ENOENT)
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "user \"%s\" does not exist: name another one, or make it "
				 "(systemd-sysusers, useradd --system)",
				 value->text);
	else if (r < 0)
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "user \"%s\" cannot be looked up: %s; name another one, or mend "
				 "that",
				 value->text, strerrordesc_np(-r));
	account->is_named = true;
}

/* A start as root without a word about the user becomes this one, wherever it exists. */
static void take_default_user(struct sfd_draft *draft, struct sfd_account *account)
{
	if (!account->is_named && sfd_account_find(SFD_ACCOUNT_DEFAULT, account) == -ENOMEM)
		draft->error = -ENOMEM;
}

static void take_connections(struct sfd_draft *draft, const struct sfd_draft_value *value,
			     uint32_t *connections)
{
	const char *end;
	uint32_t number = 0;

	if (value->text == NULL)
		return;
	end = sfd_read_number(value->text, SFD_CONNECTIONS_MAX, &number);
	if (end == NULL || *end != '\0' || number == 0)
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "max_connections_per_user \"%s\" is no number from 1 to %d",
				 value->text, SFD_CONNECTIONS_MAX);
	*connections = number;
}

static void take_seccomp(struct sfd_draft *draft, const struct sfd_draft_value *value,
			 bool *seccomp)
{
	if (value->text == NULL)
		return;
	*seccomp = strcmp(value->text, "yes") == 0;
	if (!*seccomp && strcmp(value->text, "no") != 0)
		sfd_draft_report(draft, SFD_LOG_ERROR, &value->place,
				 "seccomp \"%s\" is unknown: use yes or no", value->text);
}

/* Called for the file and then for the flags, so that a flag wins and yet hides no problem. */
static void take_daemon(struct sfd_draft *draft, const struct sfd_draft_section *section,
			struct sfd_config *config)
{
	const struct sfd_draft_value *value = section->value;

	take_directory(draft, &value[SFD_DAEMON_RUNTIME_DIR], "runtime_dir", &config->runtime_dir);
	take_directory(draft, &value[SFD_DAEMON_STATE_DIR], "state_dir", &config->state_dir);
	take_log_level(draft, &value[SFD_DAEMON_LOG_LEVEL], &config->log_level);
	take_loop(draft, &value[SFD_DAEMON_LOOP], &config->loop);
	take_user(draft, &value[SFD_DAEMON_USER], &config->account);
	take_connections(draft, &value[SFD_DAEMON_MAX_CONNECTIONS_PER_USER],
			 &config->connections_per_user);
	take_seccomp(draft, &value[SFD_DAEMON_SECCOMP], &config->seccomp);
}

/* An absolute path from the environment: the XDG rules say to ignore any other. */
static const char *environment_directory(const char *name)
{
	const char *path = secure_getenv(name);

	return path != NULL && path[0] == '/' ? path : NULL;
}

static void default_directory(struct sfd_draft *draft, const char *base, const char *tail,
			      char **directory)
{
	if (*directory == NULL && asprintf(directory, "%s%s", base, tail) < 0) {
		*directory = NULL;
		draft->error = -ENOMEM;
	}
}

static void take_default_directories(struct sfd_draft *draft, struct sfd_config *config)
{
	/* An image that was started by one which had been root before is at home in the same place:
	 * else a reload that names another user would be told of directories that nobody changed.
	 */
	const bool is_system =
		geteuid() == 0 || secure_getenv(SFD_PRIVILEGE_HOST) != NULL ||
		(sfd_account_is_known(&config->account) && geteuid() == config->account.uid);
	const char *runtime = is_system ? "/run" : environment_directory("XDG_RUNTIME_DIR");
	const char *state = is_system ? "/var/lib" : environment_directory("XDG_STATE_HOME");
	const char *home = environment_directory("HOME");

	if (runtime != NULL)
		default_directory(draft, runtime, "/sfd", &config->runtime_dir);
	else if (config->runtime_dir == NULL)
		sfd_draft_report(draft, SFD_LOG_ERROR,
				 &(struct sfd_draft_place){.flag = "--runtime-dir"},
				 "there is no default without XDG_RUNTIME_DIR: name a directory");
	if (state != NULL)
		default_directory(draft, state, "/sfd", &config->state_dir);
	else if (home != NULL)
		default_directory(draft, home, "/.local/state/sfd", &config->state_dir);
	else if (config->state_dir == NULL)
		sfd_draft_report(draft, SFD_LOG_ERROR,
				 &(struct sfd_draft_place){.flag = "--state-dir"},
				 "there is no default without XDG_STATE_HOME and HOME: name a "
				 "directory");
}

static void take_streams(struct sfd_draft *draft, int64_t now_ms, struct sfd_config *config)
{
	if (draft->stream_count == 0)
		return;
	config->stream = calloc(draft->stream_count, sizeof(*config->stream));
	if (config->stream == NULL) {
		draft->error = -ENOMEM;
		return;
	}
	config->stream_count = draft->stream_count;
	for (size_t i = 0; i < draft->stream_count; i++)
		sfd_stream_config_fill(draft, &draft->stream[i], now_ms, &config->stream[i]);
	sfd_stream_config_compare(draft, config->stream, config->stream_count);
}

int sfd_config_load_text(const struct sfd_flags *flags, const char *text, size_t size,
			 int64_t now_ms, struct sfd_config *config)
{
	struct sfd_draft draft = {.file = flags->config_file};
	int r = 0;

	*config = (struct sfd_config){.log_level = SFD_LOG_INFO,
				      .loop = SFD_LOOP_AUTO,
				      .connections_per_user = SFD_CONNECTIONS_PER_USER_DEFAULT,
				      .seccomp = true};
	draft.stream = calloc(SFD_STREAMS_MAX, sizeof(*draft.stream));
	if (draft.stream == NULL) {
		draft.error = -ENOMEM;
		goto out;
	}
	draft_daemon_flags(&draft, flags);
	if (text != NULL)
		draft_file(&draft, flags, text, size);
	else
		draft_flags_stream(&draft, flags);
	take_daemon(&draft, &draft.daemon, config);
	take_daemon(&draft, &draft.flags, config);
	take_default_user(&draft, &config->account);
	take_default_directories(&draft, config);
	take_streams(&draft, now_ms, config);
out:
	if (draft.error == -ENOMEM)
		sfd_log(SFD_LOG_ERROR, "out of memory for the configuration");
	if (draft.error < 0)
		r = draft.error;
	else if (draft.problems > 0)
		r = -EINVAL;
	if (r < 0)
		sfd_config_deinit(config);
	sfd_draft_deinit(&draft);
	return r;
}

int sfd_config_load(const struct sfd_flags *flags, struct sfd_config *config)
{
	struct sfd_draft draft = {.file = flags->config_file};
	struct timespec now;
	char *text = NULL;
	size_t size = 0;
	int r;

	*config = (struct sfd_config){0};
	if (flags->config_file != NULL) {
		r = sfd_draft_read_file(
			&draft, flags->kept_file != NULL ? flags->kept_file : flags->config_file,
			&text, &size);
		if (r < 0)
			return r;
	}
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	r = sfd_config_load_text(flags, text, size,
				 (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, config);
	if (r < 0) {
		free(text);
		return r;
	}
	config->text = text;
	config->text_size = size;
	return 0;
}

void sfd_config_deinit(struct sfd_config *config)
{
	for (size_t i = 0; i < config->stream_count; i++)
		sfd_access_deinit(&config->stream[i].access);
	free(config->stream);
	free(config->runtime_dir);
	free(config->state_dir);
	free(config->text);
	*config = (struct sfd_config){0};
}
