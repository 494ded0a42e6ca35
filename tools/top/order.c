/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The order of clients; see order.h. Whatever is equal stays in the model's order, so that rows do
 * not change places from look to look.
 */
#include "tools/top/order.h"

#include <stdlib.h>
#include <string.h>

struct order {
	const struct sfctl_top_model *model;
	const struct sfctl_top_ui *ui;
};

static const char *stream_of(const struct sfctl_top_model *model,
			     const struct sfctl_top_client *client)
{
	return model->stream[client->stream].stats.stream;
}

static int compare_doubles(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/** Who is not counted comes after all that are. */
static uint64_t ids_of(const struct sfctl_top_client *client)
{
	return client->client.ids == SF_CONTROL_NOT_COUNTED ? 0 : client->client.ids + 1;
}

/** Large numbers come first, and texts in the order of the alphabet. */
static int compare_by(const struct order *order, const struct sfctl_top_client *a,
		      const struct sfctl_top_client *b)
{
	switch (order->ui->sort) {
	case SFCTL_TOP_BY_IDS:
		return compare_numbers(ids_of(b), ids_of(a));
	case SFCTL_TOP_BY_PID:
		return compare_numbers(b->client.pid, a->client.pid);
	case SFCTL_TOP_BY_USER:
		return strcmp(a->user, b->user);
	case SFCTL_TOP_BY_STREAM:
		return strcmp(stream_of(order->model, a), stream_of(order->model, b));
	case SFCTL_TOP_BY_AGE: /* the oldest first */
		return compare_numbers((uint64_t)a->client.since_unix_ns,
				       (uint64_t)b->client.since_unix_ns);
	case SFCTL_TOP_BY_COMMAND:
		return strcmp(a->client.command, b->client.command);
	case SFCTL_TOP_BY_RATE:
	case SFCTL_TOP_SORTS:
	default:
		return compare_doubles(b->rate, a->rate);
	}
}

static int compare(const void *a_void, const void *b_void, void *order_void)
{
	const struct sfctl_top_client *const *a = a_void;
	const struct sfctl_top_client *const *b = b_void;
	const struct order *order = order_void;
	int result = compare_by(order, *a, *b);

	if (order->ui->is_reversed)
		result = -result;
	return result != 0 ? result : compare_numbers((uintptr_t)*a, (uintptr_t)*b);
}

static bool is_shown(const struct sfctl_top_model *model, const struct sfctl_top_ui *ui,
		     const struct sfctl_top_client *client)
{
	if (ui->user[0] != '\0' && strcmp(ui->user, client->user) != 0)
		return false;
	if (ui->hides_idle && client->rate == 0)
		return false;
	return strstr(client->client.command, ui->filter) != NULL ||
	       strstr(client->user, ui->filter) != NULL ||
	       strstr(stream_of(model, client), ui->filter) != NULL;
}

uint32_t sfctl_top_order(const struct sfctl_top_model *model, const struct sfctl_top_ui *ui)
{
	struct order order = {.model = model, .ui = ui};
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->client_count; i++)
		if (is_shown(model, ui, &model->client[i]))
			model->order[count++] = &model->client[i];
	if (count > 1)
		qsort_r((void *)model->order, count, sizeof(void *), compare, &order);
	return count;
}
