// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin socket's input: what arrives is cut into lines whatever pieces it
 * comes in, and each line is taken or refused with a reason. What is taken
 * makes sense, and is what the line says whatever stood there before.
 *
 * The first byte of the input says how long the pieces are.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/admin/admin_line.h"
#include "brickd/admin/admin_request.h"
#include "proto/codec/kfb_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct brick_admin_request *r)
{
	if (r->op >= BRICK_ADMIN_OPS ||
	    !memchr(r->client, 0, sizeof(r->client)))
		abort();
	if (r->op == BRICK_ADMIN_EVICT) {
		if (!r->session == !*r->client)
			abort();
	} else if (r->session || *r->client) {
		abort();
	}
	if (r->op != BRICK_ADMIN_SESSIONS && r->after)
		abort();
	if (r->op == BRICK_ADMIN_TIER && r->n_blocks &&
	    kfb_range_check(r->va, r->n_blocks))
		abort();
	if (r->op != BRICK_ADMIN_TIER && (r->tier || r->n_blocks || r->job))
		abort();
}

static void check_line(const char *line, size_t len)
{
	static const char untouched[] = "untouched";
	struct brick_admin_request request = { .after = 1, .session = 2 };
	const char *why = NULL;
	int rc;

	memcpy(request.client, untouched, sizeof(untouched));
	rc = brick_admin_request_parse(line, len, &request, &why);
	if (!rc) {
		check_taken(&request);
		return;
	}
	if (rc != -EBADMSG && rc != -EOPNOTSUPP && rc != -EINVAL)
		abort();
	if (!why || !*why || request.after != 1 || request.session != 2 ||
	    strcmp(request.client, untouched) != 0)
		abort();
}

/* All lines that are there. Return: false when no more are read. */
static bool take_lines(struct brick_admin_line *input)
{
	size_t n;

	while ((n = brick_admin_line_end(input))) {
		char *line = malloc(n);

		/* On its own: reading behind the line is noticed. */
		if (!line || input->buf[n - 1] != '\n')
			abort();
		memcpy(line, input->buf, n - 1);
		check_line(line, n - 1);
		free(line);
		brick_admin_line_drop(input, n);
	}
	return !brick_admin_line_is_too_long(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct brick_admin_line input = { 0 };
	size_t piece;

	if (!size)
		return 0;
	piece = 1 + (size_t)data[0] * data[0];
	for (size_t at = 1; at < size;) {
		size_t room = sizeof(input.buf) - input.len, n = size - at;

		n = n < piece ? n : piece;
		n = n < room ? n : room;
		/* Lines are taken as they come, so there is always room. */
		if (!n)
			abort();
		memcpy(input.buf + input.len, data + at, n);
		input.len += n;
		at += n;
		if (!take_lines(&input))
			break;
	}
	return 0;
}
