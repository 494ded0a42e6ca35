/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl doctor: whether IDs are given, and will be; what is wrong, and what helps. Asks for the
 * statistics and nothing else. Main thread.
 */
#include "tools/doctor.h"

#include "tools/layout_option.h"

#include <stdlib.h>

static const char help[] =
	"Usage: sfctl doctor [OPTION]...\n"
	"\n"
	"Looks at sfd, the host's clock and the streams (all of them, or the one that\n"
	"--stream names). Each line begins with ok, warning or failure; what is not ok\n"
	"names what helps.\n"
	"\n" SFCTL_SFD_ALL_HELP SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"Checks: kernel (what sfd and clients need of it), time source (read without a\n"
	"system call), limits (of this user's processes); sfd answers; socket, control\n"
	"loop, locked memory; clock: the kernel holds its clock for synchronised; of\n"
	"each stream: access (attaches as this user), state (running, waiting for clock,\n"
	"exhausted, held, behind), time (how far embedded time is from the wall, and\n"
	"when they meet; more than 4 hours ahead is a failure, since IDs carry it),\n"
	"layout (its end), runway, mark, capacity, clients, memory (what clients must\n"
	"not write).\n"
	"\n"
	"Exit status: 0 ok or warnings, 1 a failure, 2 usage error.\n"
	"\n"
	"Examples:\n"
	"  sfctl doctor\n"
	"  sfctl doctor --json | jq '.findings[] | select(.level != \"ok\")'\n";

static const char *level_word(enum sfctl_level level)
{
	static const char *const words[] = {
		[SFCTL_LEVEL_OK] = "ok",
		[SFCTL_LEVEL_WARNING] = "warning",
		[SFCTL_LEVEL_FAILURE] = "failure",
	};

	return words[level];
}

static int options_read(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {SFCTL_GLOBAL_OPTIONS};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1)
		status = sfctl_option(sfctl, option, argv, help);
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

/** Of the sfd at the socket. Whatever cannot be asked is a finding, too. */
static void examine_daemon(const struct sfctl *sfctl, struct sfctl_doctor *doctor,
			   const char *socket)
{
	struct sfctl_stats stats;
	struct sf_why why;
	int fd = -1;
	bool answers = sfctl_control_open(sfctl, &fd, &why) == 0 &&
		       sfctl_stats_init(&stats, fd, sfctl->stream, &why) == 0;

	(void)sfctl_control_close(fd);
	if (!answers) {
		sfctl_doctor_add(doctor, SFCTL_LEVEL_FAILURE, NULL, "sfd", "%s", why.text);
		return;
	}
	sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, NULL, "sfd", "answers: version %s, pid %u",
			 stats.stream[0].stats.version, stats.stream[0].stats.pid);
	sfctl_doctor_daemon(doctor, &stats.stream[0].stats, socket);
	sfctl_doctor_host(doctor, &stats.stream[0].stats);
	for (uint32_t i = 0; i < stats.stream_count; i++) {
		sfctl_doctor_access(doctor, socket, stats.stream[i].stats.stream);
		sfctl_doctor_stream(doctor, &stats.stream[i].stats);
	}
	sfctl_stats_deinit(&stats);
}

static void examine(const struct sfctl *sfctl, struct sfctl_doctor *doctor)
{
	char *socket = NULL;

	if (sfctl_socket_path(sfctl, &socket) < 0) {
		doctor->out_of_memory = true;
		return;
	}
	sfctl_doctor_system(doctor);
	examine_daemon(sfctl, doctor, socket);
	free(socket);
}

static json_t *findings_json(const struct sfctl_doctor *doctor, bool is_well)
{
	json_t *array = json_array();

	for (size_t i = 0; i < doctor->count; i++) {
		const struct sfctl_finding *finding = &doctor->finding[i];
		json_t *object =
			json_pack("{s:s, s:s?, s:s, s:s}", "level", level_word(finding->level),
				  "stream", finding->stream[0] ? finding->stream : NULL, "check",
				  finding->check, "text", finding->text);

		if (json_array_append_new(array, object) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return json_pack("{s:b, s:o}", "ok", is_well, "findings", array);
}

static void findings_print(const struct sfctl_doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		const struct sfctl_finding *finding = &doctor->finding[i];

		printf("%-8s %s%s%s: %s\n", level_word(finding->level), finding->stream,
		       finding->stream[0] ? " " : "", finding->check, finding->text);
	}
}

int sfctl_cmd_doctor(struct sfctl *sfctl, int argc, char **argv)
{
	struct sfctl_doctor doctor = {0};
	bool is_well = true;
	int status = options_read(sfctl, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	examine(sfctl, &doctor);
	for (size_t i = 0; i < doctor.count; i++)
		is_well &= doctor.finding[i].level != SFCTL_LEVEL_FAILURE;
	status = is_well ? SFCTL_OK : SFCTL_FAILED;
	if (doctor.out_of_memory)
		status = sfctl_fail(sfctl, "out of memory");
	else if (!sfctl->json)
		findings_print(&doctor);
	else if (sfctl_json_print(sfctl, findings_json(&doctor, is_well), JSON_INDENT(2)) !=
		 SFCTL_OK)
		status = SFCTL_FAILED;
	sfctl_doctor_deinit(&doctor);
	return status;
}
