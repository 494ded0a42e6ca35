/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * chaos: takes IDs from a real sfd by all ways there are while everything goes wrong, and checks
 * every one of them; see tests/chaos.sh. As conductor it runs the events; started by itself with a
 * role it is one of the clients.
 */
#include "tests/chaos/check.h"
#include "tests/chaos/crew.h"
#include "tests/chaos/events.h"
#include "tests/chaos/report.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define QUIET_US_MIN 10000
#define QUIET_US_MAX 200000
#define HARM_US_MIN 5000
#define HARM_US_MAX 150000

static const struct {
	const char *name;
	int (*run)(unsigned number);
} roles[] = {
	{"mill", chaos_mill},       {"attacher", chaos_attacher}, {"family", chaos_family},
	{"spawned", chaos_spawned}, {"hostile", chaos_hostile},   {"victim", chaos_victim},
};

static const char *const plants[CHAOS_PLANTS] = {
	[CHAOS_PLANT_NONE] = "none",       [CHAOS_PLANT_DUPLICATE] = "duplicate",
	[CHAOS_PLANT_ORDER] = "order",     [CHAOS_PLANT_ORDERED] = "ordered",
	[CHAOS_PLANT_FAILURE] = "failure",
};

struct options {
	double seconds;
	uint64_t seed;
	enum chaos_plant plant;
};

static int run_role(char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	/* What is meant for the whole group is the conductor's to obey. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	if (chaos_share_open((int)strtol(argv[2], NULL, 10)) < 0)
		return EXIT_FAILURE;
	for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(argv[1], roles[i].name) == 0)
			return roles[i].run((unsigned)strtoul(argv[3], NULL, 10));
	return EXIT_USAGE;
}

/* ---- conductor ---- */

/* Set when no client is to be harmed any more. */
static _Atomic bool is_enough;

/** Harms the clients, and ends them: they live no longer than the thread that started them. */
static void *harm_clients(void *argument)
{
	uint64_t random = *(const uint64_t *)argument ^ UINT64_C(0x5bd1e995);

	/* relaxed: a moment later is as good */
	while (!atomic_load_explicit(&is_enough, memory_order_relaxed)) {
		chaos_nap_us(HARM_US_MIN +
			     (int64_t)(chaos_random(&random) % (HARM_US_MAX - HARM_US_MIN)));
		chaos_crew_harm(chaos_random(&random));
	}
	chaos_crew_stop();
	return NULL;
}

/* Somebody wants an end: it comes early, but as ever. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

/** Lets everything happen until the time is over. */
static void conduct(struct chaos_events *events, const struct options *options)
{
	int64_t end_ns = chaos->began_ns + (int64_t)(options->seconds * 1e9);
	uint64_t seed = options->seed;
	pthread_t harm;

	if (chaos_crew_start() < 0 || !chaos_crew_goes_on()) {
		chaos_find("the clients cannot be started");
		chaos_crew_stop();
		return;
	}
	if (pthread_create(&harm, NULL, harm_clients, &seed) != 0) {
		chaos_crew_stop();
		return;
	}
	while (!is_interrupted &&
	       (chaos_mono_ns() < end_ns || !chaos_events_are_complete(events, options->seconds)) &&
	       chaos_events_next(events))
		chaos_nap_us(chaos_events_pause_us(events, QUIET_US_MIN, QUIET_US_MAX));
	atomic_store_explicit(&is_enough, true, memory_order_relaxed);
	(void)pthread_join(harm, NULL);
}

static void show_log(const struct chaos_sfd *sfd)
{
	FILE *file = fopen(sfd->log, "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file))
		(void)fputs(line, stderr);
	if (file)
		(void)fclose(file);
}

static bool run(struct chaos_sfd *sfd, const struct options *options)
{
	static struct chaos_events events;
	struct chaos_totals totals;
	double seconds;
	bool holds;

	if (!chaos_sfd_start(sfd) || chaos_sfd_learn() < 0 || chaos_check_start() < 0) {
		show_log(sfd);
		return false;
	}
	chaos_events_init(&events, sfd, options->seed);
	conduct(&events, options);
	seconds = (double)(chaos_mono_ns() - chaos->began_ns) / 1e9;
	chaos_check_finish(&totals);
	if (chaos_sfd_lives(sfd))
		(void)chaos_sfd_end(sfd, SIGTERM);
	holds = chaos_report(&events, &totals, seconds);
	if (!holds)
		show_log(sfd);
	return holds;
}

static int conduct_all(const struct options *options)
{
	struct chaos_sfd sfd = {.program = getenv("SFD_BIN"),
				.tool = getenv("SFCTL_BIN"),
				.wall_lib = getenv("WALL_LIB")};
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	bool holds;

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	if (!sfd.program || !sfd.tool || !sfd.wall_lib) {
		(void)fputs("chaos: set SFD_BIN, SFCTL_BIN and WALL_LIB, or run "
			    "tests/chaos.sh\n",
			    stderr);
		return EXIT_USAGE;
	}
	if (chaos_share_new() < 0) {
		perror("chaos: shared memory");
		return EXIT_FAILURE;
	}
	chaos->began_ns = chaos_mono_ns();
	chaos->plant = options->plant;
	/* relaxed: nobody else is there yet */
	atomic_store_explicit(&chaos->event, CHAOS_EVENTS, memory_order_relaxed);
	chaos_crew_init();
	if (chaos_sfd_init(&sfd) < 0) {
		perror("chaos: directories");
		return EXIT_FAILURE;
	}
	printf("seed %llu\n", (unsigned long long)options->seed);
	(void)fflush(stdout);
	holds = run(&sfd, options);
	chaos_sfd_deinit(&sfd);
	return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(void)
{
	(void)fputs("usage: chaos [--seed N] [--plant duplicate|order|ordered|failure] SECONDS\n",
		    stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options options = {.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000};
	char *rest;
	int at = 1;

	if (argc == 4 && argv[1][0] != '-')
		return run_role(argv);
	for (; at + 1 < argc; at += 2) {
		if (strcmp(argv[at], "--seed") == 0) {
			options.seed = strtoull(argv[at + 1], NULL, 10);
			continue;
		}
		if (strcmp(argv[at], "--plant") != 0)
			return usage();
		for (unsigned i = 0; i < CHAOS_PLANTS; i++)
			if (strcmp(argv[at + 1], plants[i]) == 0)
				options.plant = i;
		if (options.plant == CHAOS_PLANT_NONE)
			return usage();
	}
	if (at >= argc)
		return usage();
	options.seconds = strtod(argv[at], &rest);
	if (rest == argv[at] || *rest != '\0' || options.seconds <= 0)
		return usage();
	return conduct_all(&options);
}
