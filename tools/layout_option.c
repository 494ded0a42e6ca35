/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Choosing a layout, and IDs as JSON. Main thread only.
 */
#include "tools/layout_option.h"

#include "tools/control.h"
#include "tools/number.h"

int sfctl_layout_ask(const struct sfctl *sfctl, struct sf_layout *ret_layout, struct sf_why *why)
{
	struct sf_control_stats stats;
	int error;
	int fd;

	error = sfctl_control_open(sfctl, &fd, why);
	if (error != 0)
		return error;
	error = sfctl_control_stats(fd, sfctl_stream_name(sfctl), 0, &stats, why);
	(void)sfctl_control_close(fd);
	if (error < 0)
		return error;
	*ret_layout = stats.layout;
	return 0;
}

int sfctl_layout_any(const struct sfctl *sfctl, const char *text, struct sf_layout *ret_layout)
{
	struct sf_why why;

	if (text) {
		if (sf_layout_parse(text, ret_layout, &why) != 0)
			return sfctl_usage(sfctl, "%s", why.text);
		return SFCTL_GO_ON;
	}
	if (sfctl_layout_ask(sfctl, ret_layout, &why) != 0)
		return sfctl_fail(sfctl, "%s; or give --layout, which needs no sfd", why.text);
	return SFCTL_GO_ON;
}

int sfctl_layout(const struct sfctl *sfctl, const char *text, struct sf_layout *ret_layout)
{
	struct sf_layout layout = {0};
	int status = sfctl_layout_any(sfctl, text, &layout);

	if (status != SFCTL_GO_ON)
		return status;
	if (layout.format != SF_FORMAT_SNOWFLAKE && text)
		return sfctl_usage(sfctl,
				   "%s is no layout of 64-bit IDs: give a preset or notation",
				   sf_format_name(layout.format));
	if (layout.format != SF_FORMAT_SNOWFLAKE)
		return sfctl_fail(sfctl,
				  "stream %.40s holds no 64-bit IDs but %s: give --layout, or the "
				  "--stream of such IDs",
				  sfctl_stream_name(sfctl), sf_format_name(layout.format));
	*ret_layout = layout;
	return SFCTL_GO_ON;
}

struct sfctl_layout_label sfctl_layout_label(const struct sf_layout *layout)
{
	struct sfctl_layout_label label = {{0}};
	const char *name = sf_layout_name(layout);

	if (name)
		(void)snprintf(label.text, sizeof(label.text), "%s", name);
	else
		(void)sf_layout_format(layout, label.text, sizeof(label.text));
	return label;
}

json_t *sfctl_id_json(const struct sf_layout *layout, uint64_t id, const struct sf_parts *parts)
{
	char decimal[SFCTL_NUMBER_DIGITS + 1];
	char hex[17] = {0};
	char time[SFCTL_RFC3339_MAX];
	json_t *object;

	decimal[sfctl_number_format(id, decimal)] = '\0';
	sfctl_number_format_hex(id, hex);
	sfctl_rfc3339_format(parts->unix_ms, time);
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "id", decimal, "format",
			   sf_format_name(SF_FORMAT_SNOWFLAKE), "hex", hex, "layout",
			   sfctl_layout_label(layout).text, "time", time, "unix_ms",
			   (json_int_t)parts->unix_ms, "tick", (json_int_t)parts->tick, "node",
			   (json_int_t)parts->node, "sequence", (json_int_t)parts->sequence);
	if (layout->worker_bits + layout->process_bits > 0 &&
	    (json_object_set_new(object, "worker", json_integer(parts->worker)) < 0 ||
	     json_object_set_new(object, "process", json_integer(parts->process)) < 0)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

int sfctl_json_print(const struct sfctl *sfctl, json_t *value, size_t flags)
{
	if (!value)
		return sfctl_fail(sfctl, "out of memory");
	/* A failure of stdout stays with the stream and is found at the end, in main(). */
	if (json_dumpf(value, stdout, flags) < 0 && ferror(stdout) == 0) {
		json_decref(value);
		return sfctl_fail(sfctl, "out of memory");
	}
	(void)fputc('\n', stdout);
	json_decref(value);
	return SFCTL_OK;
}
