/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The HTTP server; see server.h. All but starting and stopping is libmicrohttpd's thread.
 */
#include "tools/exporter/server.h"

#include "tools/exporter/accept.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METRICS_PATH "/metrics"
#define METHODS "GET, HEAD"
/* Of a request's line and headers, and of an answer's. */
#define CONNECTION_BYTES ((size_t)8 * 1024)
#define SILENCE_MOST_S 10u

/** Sends a response and gives it up; NULL, when memory is out, ends the connection. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
				     struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED &&
	    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, METHODS) != MHD_YES) {
		MHD_destroy_response(response);
		return MHD_NO;
	}
	return send_response(connection, status, response);
}

/** All that the sources know. @return 0 or -ENOMEM */
static int scrape(const struct sfctl_server *server, enum sfctl_exposition exposition,
		  char **ret_text, size_t *ret_length)
{
	struct sfctl_metrics metrics;
	int error = sfctl_metrics_init(&metrics, exposition);

	if (error < 0)
		return error;
	for (const struct sfctl_source *source = server->source; source->collect; source++)
		source->collect(source->context, &metrics);
	return sfctl_metrics_finish(&metrics, ret_text, ret_length);
}

static enum MHD_Result send_metrics(const struct sfctl_server *server,
				    struct MHD_Connection *connection)
{
	enum sfctl_exposition exposition = sfctl_accept(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct MHD_Response *response;
	size_t length;
	char *text;

	if (scrape(server, exposition, &text, &length) < 0)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	response = MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				    sfctl_content_type(exposition)) != MHD_YES) {
		MHD_destroy_response(response);
		return MHD_NO;
	}
	return send_response(connection, MHD_HTTP_OK, response);
}

/* Every request is answered when its headers are read: what follows them is not wanted. */
/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_length, void **request)
{
	(void)version;
	(void)body;
	(void)body_length;
	(void)request;
	if (strcmp(url, METRICS_PATH) != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "only " METRICS_PATH " is here\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "only " METHODS " are of use here\n");
	return send_metrics(context, connection);
}

static void connection_changed(void *context, struct MHD_Connection *connection,
			       void **connection_context, enum MHD_ConnectionNotificationCode code)
{
	struct sfctl_server *server = context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)connection_context;
	if (!info)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		sfctl_guests_enter(&server->guests, info->connect_fd);
	else
		sfctl_guests_leave(&server->guests, info->connect_fd);
}

int sfctl_server_start(struct sfctl_server *server, int fd, const struct sfctl_source *source,
		       struct sf_why *why)
{
	*server = (struct sfctl_server){.source = source};
	errno = 0;
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, server,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)SFCTL_GUESTS_ROOM, MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_MOST_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
		connection_changed, server, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
	if (server->daemon)
		return 0;
	SFCTL_WHY(why, "libmicrohttpd %s does not start: %s", MHD_get_version(),
		  errno ? strerrordesc_np(errno) : "it does not say why");
	return -EIO;
}

void sfctl_server_stop(struct sfctl_server *server)
{
	MHD_stop_daemon(server->daemon);
	server->daemon = NULL;
}

void sfctl_server_collect(void *context, struct sfctl_metrics *metrics)
{
	static const struct sfctl_family build = {"sfd_exporter_build", SFCTL_INFO, NULL,
						  "versions of the exporter and its HTTP library"};
	static const struct sfctl_family evicted = {
		"sfd_exporter_connections_evicted", SFCTL_COUNTER, NULL,
		"slow connections that had to make room for new ones"};
	const struct sfctl_label label[] = {
		{"version", SF_VERSION},
		{"libmicrohttpd", MHD_get_version()},
	};
	const struct sfctl_server *server = context;

	sfctl_metrics_family(metrics, &build);
	sfctl_metrics_sample(metrics, (struct sfctl_labels){label, 2}, sfctl_unsigned(1, 0));
	sfctl_metrics_family(metrics, &evicted);
	sfctl_metrics_sample(metrics, (struct sfctl_labels){0},
			     sfctl_unsigned(server->guests.evicted, 0));
}
