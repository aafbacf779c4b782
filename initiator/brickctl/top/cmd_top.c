// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl top: a live view of the brick of this machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/terminal.h"
#include "initiator/brickctl/top/top.h"

#define DELAY_DEFAULT_S 2
#define DELAY_MAX_S	30
#define MS_PER_S	1000

#define HOME	     "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_SCREEN "\033[J"

enum {
	OPT_DELAY,
};

static const struct ctl_option options[] = {
	[OPT_DELAY] = { "delay", 'd', "SECONDS", "between two looks; 2" },
	{ NULL },
};

/* Puts as many lines on the screen as there is room for. */
static void show_text(const char *text)
{
	unsigned int rows, columns, row;

	ctl_terminal_size(&rows, &columns);
	fputs(HOME, stdout);
	for (row = 0; *text && row < rows; row++) {
		size_t len = strcspn(text, "\n");

		printf("%s%.*s" CLEAR_LINE, row ? "\n" : "",
		       (int)(len < columns ? len : columns), text);
		text += len + (text[len] == '\n');
	}
	fputs(CLEAR_SCREEN, stdout);
	fflush(stdout);
}

static void draw_view(const struct top_sample *now,
		      const struct top_sample *before)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	top_draw(out, now, before);
	if (!fclose(out))
		show_text(text);
	free(text);
}

/* Return: the status to exit with; *signal: which one ended it. */
static int watch_brick(struct ctl *ctl, struct ctl_admin *a, uint64_t delay_ms,
		       int *signal)
{
	struct top_sample before = { 0 }, now = { 0 }, next;
	uint64_t until_ms = ctl_terminal_now_ms();
	int status = 0;

	for (;;) {
		status = top_sample_take(ctl, a, &next);
		if (status)
			break;
		top_sample_free(&before);
		before = now;
		now = next;
		draw_view(&now, before.info ? &before : NULL);
		until_ms += delay_ms;
		for (;;) {
			switch (ctl_terminal_wait(until_ms, signal)) {
			case CTL_TERMINAL_RESIZED:
				draw_view(&now, before.info ? &before : NULL);
				continue;
			case CTL_TERMINAL_TIME:
				break;
			case CTL_TERMINAL_SIGNAL:
			case CTL_TERMINAL_QUIT:
				goto done;
			}
			break;
		}
	}
done:
	top_sample_free(&before);
	top_sample_free(&now);
	return status;
}

static int run_top(struct ctl *ctl, const struct ctl_args *args)
{
	const char *text = args->options[OPT_DELAY];
	uint64_t delay_s = DELAY_DEFAULT_S;
	struct top_sample sample;
	struct ctl_admin a;
	int signal = 0;
	int status = 0;

	if (ctl->json)
		return ctl_usage(ctl, "--json: stats and sessions have it");
	if (text)
		status = ctl_read_number(ctl, "--delay", text, DELAY_MAX_S,
					 &delay_s);
	if (status)
		return status;
	if (!delay_s)
		return ctl_usage(ctl, "--delay \"%s\": at least 1", text);
	status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	if (!ctl_terminal_is_there() || ctl_terminal_start()) {
		status = top_sample_take(ctl, &a, &sample);
		if (!status) {
			top_draw(stdout, &sample, NULL);
			top_sample_free(&sample);
		}
	} else {
		ctl->before_error = ctl_terminal_stop;
		status = watch_brick(ctl, &a, delay_s * MS_PER_S, &signal);
		ctl_terminal_stop();
		ctl->before_error = NULL;
	}
	ctl_admin_close(&a);
	/* The parent learns what ended this process. */
	if (signal)
		raise(signal);
	return status;
}

const struct ctl_command ctl_cmd_top = {
	.name = "top",
	.synopsis = "[-d SECONDS]",
	.summary = "Watches the brick of this machine",
	.details =
		"Slots, requests, flushes with their latency, and the sessions, the busiest\n"
		"first; q ends it. Where standard input or output is no terminal it shows one\n"
		"table, with rates since the brick started. Asks brickd over its admin socket\n"
		"(--admin), as root or as the user that brickd runs as.\n"
		"\n"
		"Example: brickctl top -d 1",
	.options = options,
	.run = run_top,
};
