/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top: what sfd and its clients do, again and again. Never attaches. The parts are in
 * tools/top: model (what is known), ui (what was chosen), view (both as a page), look, screen and
 * batch (the world).
 */
#include "tools/number.h"
#include "tools/sfctl.h"
#include "tools/top/live.h"
#include "tools/top/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <string.h>

#define DELAY_MS 1000
#define ITERATIONS_MAX 1000000000

static const char help[] =
	"Usage: sfctl top [OPTION]...\n"
	"\n"
	"Shows the streams with their rates, capacity, runway, beat and clock, and the\n"
	"clients by what they take, as top(1) shows processes: of all streams, or of the\n"
	"one that --stream names.\n"
	"\n"
	"  -d SECONDS        between two looks: 0.1 to 3600 (default: 1)\n"
	"  -n LOOKS          end after so many\n"
	"  -b                pages of text on stdout, with all clients; the first comes\n"
	"                    after SECONDS, since rates take two looks\n" //
	SFCTL_SFD_ALL_HELP SFCTL_HELP_HELP "\n"
	"Keys: q ends, h lists all of them. space looks now, d changes SECONDS; P sorts\n"
	"by rate, T by IDs given, N by pid, C by command, < and > by the column beside, R\n"
	"the other way round; u shows one user's clients, / those where a text has what\n"
	"you type, i hides those that take none, = shows all; arrows, page keys scroll.\n"
	"\n"
	"Streams: IDs/s given to clients; BEFORE, the same in the looks before, newest at\n"
	"the right; USED, claimed of CAPACITY; RUNWAY, how long clients live without sfd;\n"
	"BEATS/s, or idle at low rates; TIME, how far embedded time is ahead of the wall;\n"
	"WAITS/s, calls that wait for the clock or are sent away; LATEST, the longest\n"
	"delay of a beat. Clients: SHARE of their stream's IDs; IDs since they attached.\n"
	"One with an older libsfclient does not count, and has ? there. A narrow terminal\n"
	"shows less of this; it takes 40 columns and 8 lines.\n"
	"\n"
	"$NO_COLOR takes the colours away. Bars are ASCII unless the locale is UTF-8.\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 usage error.\n"
	"\n"
	"Examples:\n"
	"  sfctl top\n"
	"  sfctl top -d 0.5 --stream orders\n"
	"  sfctl top -b -n 1 | head\n";

static int options_read(struct sfctl *sfctl, int argc, char **argv,
			struct sfctl_top_request *request, bool *ret_is_batch)
{
	static const struct option options[] = {SFCTL_GLOBAL_OPTIONS};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON &&
	       (option = sfctl_getopt(argc, argv, ":hbd:n:", options)) != -1) {
		if (option == 'b')
			*ret_is_batch = true;
		else if (option == 'd' && sfctl_top_delay_parse(optarg, &request->delay_ms) < 0)
			return sfctl_usage(sfctl,
					   "-d %.60s is not a number of seconds from 0.1 to 3600",
					   optarg);
		else if (option == 'n' && sfctl_number_parse_range(optarg, 1, ITERATIONS_MAX,
								   &request->iterations) < 0)
			return sfctl_usage(sfctl, "-n %.60s is not a number from 1 to %d", optarg,
					   ITERATIONS_MAX);
		else if (option != 'd' && option != 'n')
			status = sfctl_option(sfctl, option, argv, help);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

int sfctl_cmd_top(struct sfctl *sfctl, int argc, char **argv)
{
	struct sfctl_top_request request = {.delay_ms = DELAY_MS};
	bool is_batch = false;
	int status = options_read(sfctl, argc, argv, &request, &is_batch);

	if (status != SFCTL_GO_ON)
		return status;
	/* Before there is a second thread. NOLINTBEGIN(concurrency-mt-unsafe) */
	(void)setlocale(LC_CTYPE, "");
	request.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* NOLINTEND(concurrency-mt-unsafe) */
	return is_batch ? sfctl_top_batch(sfctl, &request) : sfctl_top_live(sfctl, &request);
}
