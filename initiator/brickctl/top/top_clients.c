// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl top --by client: a line for each client, at most 80 columns.
 */
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/top/top.h"
#include "proto/codec/kfb_ops.h"

#define NAME_WIDTH   14
#define COLUMN_WIDTH 5
#define THOUSAND     1000.0
/* From there on a number with one decimal would take another character. */
#define DECIMAL_MAX 9.95
#define WHOLE_MAX   999.5

/*
 * struct column - one number of a client
 * @key: what --sort calls it
 * @title: at most 4 characters
 * @group: the member of the client that has it, NULL: the client itself
 * @member: its name there, NULL: all of them, added up
 * @is_rate: it counts from the start on, and is shown for each second
 */
struct column {
	const char *key;
	const char *title;
	const char *group;
	const char *member;
	bool is_rate;
};

static const struct column all_ops = { "ops", "OPS", "ops", NULL, true };

static const struct column others[] = {
	{ "flushed", "BYTE", NULL, "flushed_bytes", true },
	{ "zeroed", "ZERO", NULL, "zeroed_blocks", true },
	{ "promoted", "PROM", NULL, "promoted_blocks", true },
	{ "waiting", "WAIT", NULL, "ops_waiting", false },
	{ "sessions", "SESS", NULL, "sessions", false },
	{ "mappings", "MAPS", NULL, "mappings", false },
};

/* Ops that are always shown; another one is when it is sorted by. */
static const char *const titles[KFB_OP_LAST + 1] = {
	[KFB_OP_ALLOC] = "ALOC", [KFB_OP_FREE] = "FREE",
	[KFB_OP_MAP] = "MAP",	 [KFB_OP_UNMAP] = "UNMP",
	[KFB_OP_LIST] = "LIST",	 [KFB_OP_FLUSH] = "FLSH",
};

/* All ops, then each by its number, then the others. */
#define N_COLUMNS (1 + KFB_OP_LAST + sizeof(others) / sizeof(others[0]))

static struct column column_of(size_t i)
{
	uint16_t op = (uint16_t)i;

	if (!i)
		return all_ops;
	if (i > KFB_OP_LAST)
		return others[i - KFB_OP_LAST - 1];
	return (struct column){
		.key = kfb_op_label(op),
		.title = titles[op] ? titles[op] : kfb_op_name(op),
		.group = "ops",
		.member = kfb_op_label(op),
		.is_rate = true,
	};
}

/* An op that no client sends has none. */
static bool is_column(size_t i)
{
	return !i || i > KFB_OP_LAST || kfb_op((uint16_t)i)->request;
}

static bool is_shown(size_t i, size_t sort)
{
	return !i || i > KFB_OP_LAST || titles[i] || i == sort;
}

struct row {
	struct json_object *client;
	double values[N_COLUMNS];
	size_t sorted_by;
};

const char *top_column_key(unsigned int n)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (is_column(i) && !n--)
			return column_of(i).key;
	return NULL;
}

int top_column_find(const char *key)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (is_column(i) && !strcmp(column_of(i).key, key))
			return (int)i;
	return -1;
}

static uint64_t count_of(struct json_object *client, const struct column *c)
{
	struct json_object *group = client;

	if (c->group)
		json_object_object_get_ex(client, c->group, &group);
	return c->member ? ctl_admin_count(group, c->member)
			 : ctl_admin_session_ops(client);
}

/* What it takes the most of first; else as the brick lists them. */
static int compare_clients(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;
	double mine = x->values[x->sorted_by];
	double theirs = y->values[y->sorted_by];

	if (mine < theirs)
		return 1;
	if (mine > theirs)
		return -1;
	return strcmp(ctl_admin_text(x->client, "client"),
		      ctl_admin_text(y->client, "client"));
}

static void fill_row(struct row *row, struct json_object *client,
		     const struct top_sample *before, double span_s)
{
	struct json_object *old =
		top_find(before ? before->clients : NULL, "client",
			 ctl_admin_text(client, "client"));

	row->client = client;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct column column = column_of(i);
		uint64_t now = count_of(client, &column);
		uint64_t then = old ? count_of(old, &column) : 0;

		row->values[i] = (double)now;
		/* One of a brick that was started anew begins at 0. */
		if (column.is_rate)
			row->values[i] =
				(double)(now > then ? now - then : 0) / span_s;
	}
}

/* In four characters. */
static void print_short(FILE *out, double value, bool is_rate)
{
	static const char units[] = " KMGTPE";
	const char *unit = units;

	while (value >= WHOLE_MAX && unit[1]) {
		value /= THOUSAND;
		unit++;
	}
	if (value < DECIMAL_MAX && (is_rate || unit != units) && value > 0)
		fprintf(out, " %*.1f", unit == units ? 4 : 3, value);
	else
		fprintf(out, " %*.0f", unit == units ? 4 : 3, value);
	if (unit != units)
		fputc(*unit, out);
}

static struct row *sorted_rows(const struct top_sample *now,
			       const struct top_sample *before, int sort,
			       size_t *n)
{
	struct row *rows;

	*n = json_object_array_length(now->clients);
	rows = calloc(*n + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < *n; i++) {
		rows[i].sorted_by = (size_t)sort;
		fill_row(&rows[i], json_object_array_get_idx(now->clients, i),
			 before, top_span_s(now, before));
	}
	if (rows)
		qsort(rows, *n, sizeof(*rows), compare_clients);
	return rows;
}

void top_draw_clients(FILE *out, const struct top_sample *now,
		      const struct top_sample *before, int sort)
{
	size_t n, sorted_by = (size_t)sort;
	struct row *rows = sorted_rows(now, before, sort, &n);
	int name_width = NAME_WIDTH;

	if (!rows)
		return;
	/* A column more takes its room of the names. */
	if (!is_shown(sorted_by, 0))
		name_width -= COLUMN_WIDTH;
	fprintf(out, "%-*s", name_width, "CLIENT");
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (is_shown(i, sorted_by))
			fprintf(out, "%*.*s", COLUMN_WIDTH, COLUMN_WIDTH - 1,
				column_of(i).title);
	fputc('\n', out);
	for (size_t i = 0; i < n; i++) {
		const char *name = ctl_admin_text(rows[i].client, "client");

		top_print_cut(out, *name ? name : "-", name_width);
		for (size_t j = 0; j < N_COLUMNS; j++)
			if (is_shown(j, sorted_by))
				print_short(out, rows[i].values[j],
					    column_of(j).is_rate);
		fputc('\n', out);
	}
	free(rows);
}

struct json_object *top_clients_sorted(const struct top_sample *now, int sort)
{
	struct json_object *list = json_object_new_array();
	size_t n;
	struct row *rows = sorted_rows(now, NULL, sort, &n);

	for (size_t i = 0; rows && i < n; i++)
		json_object_array_add(list, json_object_get(rows[i].client));
	free(rows);
	return list;
}
