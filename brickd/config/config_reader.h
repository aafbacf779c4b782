/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines for libinih.
 *
 * inih cuts lines at 200 characters and section names at 49 without a word,
 * ignores what follows a section's bracket, takes indented lines for
 * continuations and does not tell its handler where it is. This reader counts
 * the lines and refuses or levels all of that.
 */
#ifndef BRICKD_CONFIG_CONFIG_READER_H
#define BRICKD_CONFIG_CONFIG_READER_H

#include <stdio.h>

/**
 * struct brick_reader - where the parser is
 * @file: source
 * @line: number of the last line read, from 1
 * @error: what is wrong with it, NULL when nothing is
 * @section: called with the name in each section line; returns 0 to go on
 * @ctx: section's
 */
struct brick_reader {
	FILE *file;
	unsigned int line;
	const char *error;
	int (*section)(void *ctx, const char *name);
	void *ctx;
};

/**
 * brick_reader_line - an ini_reader
 * @buf: filled with a line, as fgets() would
 * @size: its size, bytes
 * @reader: struct brick_reader
 *
 * Return: @buf, NULL at the end or after an error.
 */
char *brick_reader_line(char *buf, int size, void *reader);

#endif
