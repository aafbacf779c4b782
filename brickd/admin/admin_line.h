/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the admin socket, cut out of what arrives in pieces.
 *
 * Context: any; no I/O.
 */
#ifndef BRICKD_ADMIN_ADMIN_LINE_H
#define BRICKD_ADMIN_ADMIN_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* A line with its newline. */
#define BRICK_ADMIN_LINE_MAX_BYTES 4096

/**
 * struct brick_admin_line - what has arrived and is not used yet
 * @len: bytes in @buf
 * @buf: the bytes that have arrived
 */
struct brick_admin_line {
	size_t len;
	char buf[BRICK_ADMIN_LINE_MAX_BYTES];
};

/**
 * brick_admin_line_end - is there a whole line?
 * @line: input
 *
 * Return: bytes in it, with the newline; 0: not yet.
 */
size_t brick_admin_line_end(const struct brick_admin_line *line);

/* Is it full without a whole line in it? */
bool brick_admin_line_is_too_long(const struct brick_admin_line *line);

/**
 * brick_admin_line_drop - the first line has been dealt with
 * @line: input
 * @n: brick_admin_line_end()
 */
void brick_admin_line_drop(struct brick_admin_line *line, size_t n);

#endif
