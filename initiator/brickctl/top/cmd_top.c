// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl top: a live view of the brick of this machine.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/base/clock.h"
#include "initiator/brickctl/base/terminal.h"
#include "initiator/brickctl/top/top.h"

#define DELAY_DEFAULT_S 2
#define DELAY_MAX_S	30
#define MS_PER_S	1000
#define NAMES_BYTES	512

#define HOME	     "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_SCREEN "\033[J"

enum {
	OPT_DELAY,
	OPT_BY,
	OPT_SORT,
};

static const struct ctl_option options[] = {
	[OPT_DELAY] = { "delay", 'd', "SECONDS", "between two looks; 2" },
	[OPT_BY] = { "by", 'b', "WHAT", "client or session; session" },
	[OPT_SORT] = { "sort", 's', "COLUMN",
		       "of clients, the most first; ops" },
	{ NULL },
};

/*
 * struct look - what is looked at, and how
 * @by_client: clients, and not sessions
 * @sort: the column by which they are sorted; below 0: sessions
 */
struct look {
	bool by_client;
	int sort;
	uint64_t delay_ms;
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
		      const struct top_sample *before, int sort)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	top_draw(out, now, before, sort);
	if (!fclose(out))
		show_text(text);
	free(text);
}

/* Return: the status to exit with; *signal: which one ended it. */
static int watch_brick(struct ctl *ctl, struct ctl_admin *a,
		       const struct look *look, int *signal)
{
	struct top_sample before = { 0 }, now = { 0 }, next;
	uint64_t until_ms = ctl_now_ms();
	int status = 0;

	for (;;) {
		status = top_sample_take(ctl, a, look->by_client, &next);
		if (status)
			break;
		top_sample_free(&before);
		before = now;
		now = next;
		draw_view(&now, before.info ? &before : NULL, look->sort);
		until_ms += look->delay_ms;
		for (;;) {
			switch (ctl_terminal_wait(until_ms, signal)) {
			case CTL_TERMINAL_RESIZED:
				draw_view(&now, before.info ? &before : NULL,
					  look->sort);
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

static int refuse_column(struct ctl *ctl, const char *sort)
{
	char names[NAMES_BYTES] = "";
	const char *key;
	size_t len = 0;
	unsigned int i;

	for (i = 0; (key = top_column_key(i)) && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len,
					"%s%s", i ? ", " : "", key);
	return ctl_usage(ctl, "--sort \"%s\": no such column; there are %s",
			 sort, names);
}

/* Return: 0, or the status to exit with. */
static int read_look(struct ctl *ctl, const struct ctl_args *args,
		     struct look *look)
{
	const char *by = args->options[OPT_BY];
	const char *sort = args->options[OPT_SORT];
	uint64_t delay_s = DELAY_DEFAULT_S;
	int status;

	look->by_client = by && !strcmp(by, "client");
	if (by && !look->by_client && strcmp(by, "session") != 0)
		return ctl_usage(ctl, "--by \"%s\": client or session", by);
	if (sort && !look->by_client)
		return ctl_usage(ctl, "--sort: of --by client");
	look->sort =
		look->by_client ? top_column_find(sort ? sort : "ops") : -1;
	if (look->by_client && look->sort < 0)
		return refuse_column(ctl, sort);
	status =
		ctl_read_option(ctl, args, OPT_DELAY, 1, DELAY_MAX_S, &delay_s);
	look->delay_ms = delay_s * MS_PER_S;
	return status;
}

static int show_once(struct ctl *ctl, struct ctl_admin *a,
		     const struct look *look)
{
	struct top_sample sample;
	int status = top_sample_take(ctl, a, look->by_client, &sample);

	if (status)
		return status;
	if (!ctl->json)
		top_draw(stdout, &sample, NULL, look->sort);
	else if (look->by_client)
		ctl_json_print(ctl_json_of(
			"clients", top_clients_sorted(&sample, look->sort)));
	else
		ctl_json_print(ctl_json_of("sessions",
					   json_object_get(sample.sessions)));
	top_sample_free(&sample);
	return 0;
}

static int run_top(struct ctl *ctl, const struct ctl_args *args)
{
	struct look look = { 0 };
	struct ctl_admin a;
	int signal = 0;
	int status = read_look(ctl, args, &look);

	if (!status)
		status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	if (ctl->json || !ctl_terminal_is_there() || ctl_terminal_start()) {
		status = show_once(ctl, &a, &look);
	} else {
		ctl->before_error = ctl_terminal_stop;
		status = watch_brick(ctl, &a, &look, &signal);
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
	.synopsis = "[-d SECONDS] [-b client|session] [-s COLUMN]",
	.summary = "Watches the brick of this machine",
	.details =
		"Slots, requests, flushes with their latency, and the sessions, the busiest\n"
		"first; q ends it. Where standard input or output is no terminal it shows one\n"
		"table, with rates since the brick started. --by client has a line for each client\n"
		"instead, of all its sessions, with those that are gone: requests a second, bytes\n"
		"flushed, blocks zeroed for ALLOC and promoted, and requests that wait, sessions and\n"
		"mappings; --sort ops, flushed, zeroed, promoted, waiting, sessions, mappings, or an\n"
		"op: alloc, map, ping and all others of the protocol. Asks brickd over its admin\n"
		"socket (--admin), as root or as the user that brickd runs as.\n"
		"\n"
		"Example: brickctl top -d 1",
	.options = options,
	.run = run_top,
};
