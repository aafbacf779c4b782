/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for people, as wide as what is in them: nobody knows how long names and
 * addresses are. All of a table is in memory until it ends.
 */
#ifndef BRICKCTL_TABLE_H
#define BRICKCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct libscols_line;
struct libscols_table;

/* Before the heading of a column: its cells end at one place. */
#define CTL_TABLE_NUMBER '>'

/* The parts are table.c's own. */
struct ctl_table {
	const char *const *columns;
	struct libscols_table *table;
	struct libscols_line *line;
	size_t at;
	size_t n_rows;
	bool failed;
};

/**
 * ctl_table_begin - begin a table
 * @t: until ctl_table_end()
 * @columns: their headings, to a NULL
 */
void ctl_table_begin(struct ctl_table *t, const char *const *columns);
void ctl_table_row(struct ctl_table *t);
/* The next cell of the row; "-" where it would be empty. */
void ctl_table_cell(struct ctl_table *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints it, and frees it in any case. Return: 0 or -ENOMEM. */
int ctl_table_end(struct ctl_table *t);

#endif
