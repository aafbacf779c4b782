// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables for people, as wide as what is in them.
 */
#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "initiator/brickctl/base/table.h"

void ctl_table_begin(struct ctl_table *t, const char *const *columns)
{
	size_t i;

	*t = (struct ctl_table){ .columns = columns };
	t->table = scols_new_table();
	t->failed = !t->table;
	for (i = 0; columns[i] && !t->failed; i++) {
		bool is_number = *columns[i] == CTL_TABLE_NUMBER;

		t->failed =
			!scols_table_new_column(t->table,
						columns[i] + is_number, 0,
						is_number ? SCOLS_FL_RIGHT : 0);
	}
}

void ctl_table_row(struct ctl_table *t)
{
	if (t->failed)
		return;
	t->line = scols_table_new_line(t->table, NULL);
	t->failed = !t->line;
	t->at = 0;
	t->n_rows++;
}

void ctl_table_cell(struct ctl_table *t, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	if (t->failed)
		return;
	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		t->failed = true;
		return;
	}
	/* A column is never empty, so that words can be counted. */
	t->failed = scols_line_set_data(t->line, t->at++, len ? text : "-");
	free(text);
}

int ctl_table_end(struct ctl_table *t)
{
	size_t i;

	/* Else there would be no heading. */
	for (i = 0; !t->failed && !t->n_rows && t->columns[i]; i++)
		printf("%s%s%s", i ? " " : "",
		       t->columns[i] + (*t->columns[i] == CTL_TABLE_NUMBER),
		       t->columns[i + 1] ? "" : "\n");
	if (!t->failed && t->n_rows)
		t->failed = scols_print_table(t->table);
	scols_unref_table(t->table);
	return t->failed ? -ENOMEM : 0;
}
