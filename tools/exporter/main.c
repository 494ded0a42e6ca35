/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl exporter: serves sfd's statistics to Prometheus until a signal ends it. A program of its
 * own, which sfctl becomes: the HTTP library loads nine others, TLS among them, and with those all
 * other subcommands would take two thirds longer to start. The main thread waits for signals.
 */
#include "tools/exporter/ask.h"
#include "tools/exporter/listen.h"
#include "tools/exporter/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_DEFAULT "127.0.0.1:9464"
#define MODE_DEFAULT 0660

static const char help[] =
	"Usage: sfctl exporter [OPTION]...\n"
	"\n"
	"Serves the statistics of sfd and all its streams over HTTP at /metrics, for\n"
	"Prometheus and whatever else reads OpenMetrics or Prometheus' text format.\n"
	"Asks sfd anew for each scrape. Runs until SIGTERM, SIGINT or SIGHUP.\n"
	"\n"
	"  --listen WHERE    HOST:PORT, [IPV6]:PORT or unix:PATH; port 0 is any that\n"
	"                    is free (default: " LISTEN_DEFAULT ")\n"
	"  --mode OCTAL      who may connect to a Unix socket (default: 660)\n" //
	SFCTL_SOCKET_HELP SFCTL_HELP_HELP "\n"
	"Everybody who can connect can read: there is neither TLS nor a password. Beyond\n"
	"this host, put a proxy in front.\n"
	"\n"
	"While sfd does not answer, scrapes succeed with sfd_up 0 and without sfd's\n"
	"metrics. Their names are those of sfctl stats --help after sfd_, in base units:\n"
	"runway_ms is sfd_runway_seconds, and counters end in _total.\n"
	"\n"
	"Examples:\n"
	"  sfctl exporter\n"
	"  curl -s http://127.0.0.1:9464/metrics\n"
	"  sfctl exporter --listen [::1]:9464\n"
	"  sfctl exporter --listen unix:/run/sfd-exporter.sock --mode 666\n";

struct request {
	struct sfctl_listen listen;
	mode_t mode;
	bool has_mode;
};

static int mode_read(const struct sfctl *sfctl, const char *text, struct request *request)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (*text < '0' || *text > '7' || *end != '\0' || mode > 0777)
		return sfctl_usage(sfctl, "mode \"%.60s\" is not an octal number up to 777", text);
	request->mode = (mode_t)mode;
	request->has_mode = true;
	return SFCTL_GO_ON;
}

static int listen_read(const struct sfctl *sfctl, const char *text, struct request *request)
{
	struct sf_why why;

	if (sfctl_listen_parse(text, &request->listen, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	return SFCTL_GO_ON;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	enum {
		OPT_LISTEN = 1,
		OPT_MODE
	};
	static const struct option options[] = {
		{"listen", required_argument, NULL, OPT_LISTEN},
		{"mode", required_argument, NULL, OPT_MODE},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = listen_read(sfctl, LISTEN_DEFAULT, request);
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option == OPT_LISTEN)
			status = listen_read(sfctl, optarg, request);
		else if (option == OPT_MODE)
			status = mode_read(sfctl, optarg, request);
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	if (status != SFCTL_GO_ON)
		return status;
	if (optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	if (request->has_mode && !request->listen.is_unix)
		return sfctl_usage(sfctl, "--mode is for --listen unix:PATH: leave it out");
	return SFCTL_GO_ON;
}

/** Blocked before the server's thread is made, the signals come to the main thread only. */
static void signals_block(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct sfctl *sfctl, const struct request *request)
{
	struct sfctl_server server;
	struct sfctl_asker asker;
	const struct sfctl_source source[] = {
		{sfctl_asker_collect, &asker},
		{sfctl_server_collect, &server},
		{NULL, NULL},
	};
	struct sfctl_listener listener;
	struct sf_why why;
	sigset_t signals;
	int caught;
	int status = SFCTL_OK;

	signals_block(&signals);
	if (sfctl_listener_open(&request->listen, request->mode, &listener, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	sfctl_asker_init(&asker, sfctl);
	if (sfctl_server_start(&server, listener.fd, source, &why) < 0) {
		status = sfctl_fail(sfctl, "%s", why.text);
	} else {
		listener.fd = -1; /* the server's */
		(void)fprintf(stderr, "sfctl exporter: serving %s\n", listener.name);
		(void)sigwait(&signals, &caught);
		sfctl_server_stop(&server);
	}
	sfctl_listener_close(&listener);
	sfctl_asker_deinit(&asker);
	return status;
}

int main(int argc, char **argv)
{
	struct sfctl sfctl = {.command = "exporter", .uses = SFCTL_USES_SOCKET};
	struct request request = {.mode = MODE_DEFAULT};
	int status = options_read(&sfctl, argc, argv, &request);

	return status == SFCTL_GO_ON ? serve(&sfctl, &request) : status;
}
