/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Distributions as an SVG file: one panel for each, all over the same axis; see chart.h. Labels are
 * ours or printable text of ours: nothing in them means something to XML.
 */
#include "tools/trace/chart.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EACH SFCTL_CHART_COLUMNS_EACH
#define COLUMNS_MAX (EACH + 64 * EACH + 1)
#define LEFT 60
#define TOP 50
#define PANEL_WIDTH 720
#define PANEL_HEIGHT 130
#define PANEL_GAP 50

/** What every panel has in common. */
struct frame {
	FILE *file;
	const struct sfctl_chart *chart;
	unsigned first; /* columns shown */
	unsigned end;
};

static double x_of_column(const struct frame *frame, double column)
{
	return LEFT + (column - frame->first) * PANEL_WIDTH / (frame->end - frame->first);
}

/** Of a value, between the columns' ends. */
static double x_of(const struct frame *frame, double value)
{
	unsigned column = sfctl_chart_column(value, EACH);
	double begin = sfctl_chart_column_begin(column, EACH);
	double end = sfctl_chart_column_begin(column + 1, EACH);

	return x_of_column(frame, column + (value - begin) / (end - begin));
}

/** The axis is as long as the distributions need. */
static void frame_fit(struct frame *frame)
{
	frame->first = COLUMNS_MAX;
	frame->end = 0;
	for (size_t i = 0; i < frame->chart->series_count; i++) {
		const struct sfctl_dist *dist = frame->chart->series[i].dist;
		unsigned first;
		unsigned last;

		if (dist->count == 0)
			continue;
		first = sfctl_chart_column(sfctl_bin_middle(&dist->bin[0]), EACH) / EACH * EACH;
		last = sfctl_chart_column(sfctl_bin_middle(&dist->bin[dist->bin_count - 1]), EACH);
		if (frame->first > first)
			frame->first = first;
		if (frame->end < last / EACH * EACH + EACH)
			frame->end = last / EACH * EACH + EACH;
	}
}

static void bars_write(const struct frame *frame, const struct sfctl_dist *dist, double bottom)
{
	uint64_t column[COLUMNS_MAX] = {0};
	uint64_t most = 1;

	for (size_t i = 0; i < dist->bin_count; i++) {
		unsigned at = sfctl_chart_column(sfctl_bin_middle(&dist->bin[i]), EACH);

		column[at] += dist->bin[i].count;
		if (column[at] > most)
			most = column[at];
	}
	(void)fprintf(frame->file,
		      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRIu64 "</text>\n",
		      LEFT - 4, bottom - PANEL_HEIGHT + 10, most);
	for (unsigned at = frame->first; at < frame->end; at++) {
		double height = (double)column[at] / (double)most * PANEL_HEIGHT;

		if (column[at] == 0)
			continue;
		if (height < 1) /* a few are not none */
			height = 1;
		(void)fprintf(
			frame->file,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"#4878a8\"><title>%s to %s: %" PRIu64 "</title></rect>\n",
			x_of_column(frame, at), bottom - height,
			x_of_column(frame, at + 1) - x_of_column(frame, at), height,
			sfctl_chart_text(frame->chart->unit, sfctl_chart_column_begin(at, EACH))
				.text,
			sfctl_chart_text(frame->chart->unit, sfctl_chart_column_begin(at + 1, EACH))
				.text,
			column[at]);
	}
}

static void axis_write(const struct frame *frame, double bottom)
{
	/* not so many that they touch */
	unsigned step = ((frame->end - frame->first) / EACH / 12 + 1) * EACH;

	(void)fprintf(frame->file,
		      "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#000\"/>\n", LEFT,
		      bottom, LEFT + PANEL_WIDTH, bottom);
	for (unsigned at = frame->first; at <= frame->end; at += step)
		(void)fprintf(
			frame->file,
			"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"#000\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%s</text>\n",
			x_of_column(frame, at), bottom, x_of_column(frame, at), bottom + 4,
			x_of_column(frame, at), bottom + 16,
			sfctl_chart_text(frame->chart->unit, sfctl_chart_column_begin(at, EACH))
				.text);
}

static void percentiles_write(const struct frame *frame, const struct sfctl_dist *dist, double top)
{
	static const struct {
		const char *name;
		double part;
	} parts[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double value = sfctl_dist_percentile(dist, parts[i].part);
		double x = x_of(frame, value);
		double y = top + 12 + 13 * (double)i;

		(void)fprintf(frame->file,
			      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
			      "stroke=\"#c04040\" stroke-dasharray=\"3 3\"/><text x=\"%.1f\" "
			      "y=\"%.1f\" fill=\"#c04040\"%s>%s %s</text>\n",
			      x, top, x, top + PANEL_HEIGHT,
			      x + (x > LEFT + PANEL_WIDTH / 2.0 ? -4 : 4), y,
			      x > LEFT + PANEL_WIDTH / 2.0 ? " text-anchor=\"end\"" : "",
			      parts[i].name, sfctl_chart_text(frame->chart->unit, value).text);
	}
}

static void panels_write(const struct frame *frame)
{
	double top = TOP;

	for (size_t i = 0; i < frame->chart->series_count; i++) {
		const struct sfctl_series *series = &frame->chart->series[i];

		if (series->dist->count == 0)
			continue;
		(void)fprintf(frame->file,
			      "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s, %" PRIu64
			      "</text>\n",
			      LEFT, top - 5, series->label, series->dist->count);
		bars_write(frame, series->dist, top + PANEL_HEIGHT);
		axis_write(frame, top + PANEL_HEIGHT);
		percentiles_write(frame, series->dist, top);
		top += PANEL_HEIGHT + PANEL_GAP;
	}
}

static void picture_write(FILE *file, const struct sfctl_chart *chart)
{
	struct frame frame = {.file = file, .chart = chart};
	int panels = 0;
	int width = LEFT + PANEL_WIDTH + LEFT;
	int height;

	for (size_t i = 0; i < chart->series_count; i++)
		panels += chart->series[i].dist->count > 0;
	height = TOP + panels * (PANEL_HEIGHT + PANEL_GAP);
	(void)fprintf(file,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		      "<text x=\"%d\" y=\"20\" font-size=\"14\">%s</text>\n",
		      width, height, width, height, LEFT, chart->title);
	frame_fit(&frame);
	panels_write(&frame);
	(void)fprintf(file, "</svg>\n");
}

int sfctl_chart_write_svg(const struct sfctl *sfctl, const struct sfctl_chart *chart,
			  const char *path)
{
	FILE *file = fopen(path, "we");
	bool failed;

	if (!file)
		return sfctl_fail(sfctl, "--svg %.200s: %s", path, strerrordesc_np(errno));
	picture_write(file, chart);
	errno = EIO;
	failed = ferror(file) != 0;
	if (fclose(file) != 0 || failed)
		return sfctl_fail(sfctl, "--svg %.200s: %s", path, strerrordesc_np(errno));
	return SFCTL_OK;
}
