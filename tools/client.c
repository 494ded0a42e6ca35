/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Opening a client and a cursor, and showing what the library has to say. Main thread only.
 */
#include "tools/client.h"

/** The library has said why it fails. */
static bool has_spoken;

/** The library names cause and remedy; its errors and warnings are shown as they are. */
static void show(void *data, int level, const char *message)
{
	if (level > SF_LOG_WARNING)
		return;
	(void)sfctl_fail(data, "%s", message);
	has_spoken = true;
}

int sfctl_client_open(const struct sfctl *sfctl, uint32_t wait, int64_t timeout_ns,
		      struct sfctl_client *ret_client)
{
	struct sf_options options = {
		.size = sizeof(options),
		.wait = wait,
		.timeout_ns = timeout_ns,
		.socket = sfctl->socket,
		.stream = sfctl->stream,
		.log = show,
		.log_data = (void *)sfctl,
	};
	struct sfctl_client client = {0};
	int error = sf_open(&options, &client.client);

	if (error == 0)
		error = sf_cursor_open(client.client, &client.cursor);
	if (error < 0) {
		sf_close(client.client);
		if (!has_spoken)
			(void)sfctl_fail(sfctl, "cannot open stream %.40s: %s",
					 sfctl_stream_name(sfctl), sf_strerror(error));
		return SFCTL_FAILED;
	}
	*ret_client = client;
	return SFCTL_OK;
}

void sfctl_client_close(struct sfctl_client *client)
{
	sf_cursor_close(client->cursor);
	sf_close(client->client);
}
