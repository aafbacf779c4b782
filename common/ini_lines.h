/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines for libinih.
 *
 * inih cuts lines at 200 characters and section names at 49 without a word,
 * ignores what follows a section's bracket, takes indented lines for
 * continuations and does not tell its handler where it is. This reader counts
 * the lines and refuses or levels all of that.
 */
#ifndef COMMON_INI_LINES_H
#define COMMON_INI_LINES_H

#include <stdio.h>

/**
 * struct ini_lines - where the parser is
 * @file: source
 * @line: number of the last line read, from 1
 * @error: what is wrong with it, NULL when nothing is
 * @section: called with the name in each section line; returns 0 to go on;
 *	NULL: the parser's handler is told enough
 * @ctx: section's
 */
struct ini_lines {
	FILE *file;
	unsigned int line;
	const char *error;
	int (*section)(void *ctx, const char *name);
	void *ctx;
};

/**
 * ini_lines_read - an ini_reader
 * @buf: filled with a line, as fgets() would
 * @size: its size, bytes
 * @reader: struct ini_lines
 *
 * Return: @buf, NULL at the end or after an error.
 */
char *ini_lines_read(char *buf, int size, void *reader);

#endif
