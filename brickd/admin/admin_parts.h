/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The larger ops of the admin socket, in admin_NAME.c.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_ADMIN_ADMIN_PARTS_H
#define BRICKD_ADMIN_ADMIN_PARTS_H

#include <json-c/json.h>
#include <stdint.h>

#include "brickd/admin/admin_request.h"

struct brick_view;

/* Sessions, clients, or handles with who has them, in one reply. */
#define BRICK_ADMIN_PAGE_SESSIONS 32
#define BRICK_ADMIN_PAGE_CLIENTS  32
#define BRICK_ADMIN_PAGE_HOLDERS  256

/* A page of sessions by rising id. */
void brick_admin_sessions(const struct brick_view *view, uint64_t after,
			  struct json_object *reply);

/* A page of clients by number, from one on. */
void brick_admin_clients(const struct brick_view *view, uint64_t from,
			 struct json_object *reply);

/* A page of handles by address, with who has them. */
void brick_admin_mapped(const struct brick_view *view,
			const struct brick_admin_request *request,
			struct json_object *reply);

/*
 * All counters, in pieces of one reply, as there are more of them with each version.
 * What it has looked up is of the moment when it begins.
 *
 * brick_admin_stats_begin(): NULL: no memory.
 * brick_admin_stats_next(): the next piece, for free(); NULL: no memory. Afterwards
 * brick_admin_stats_are_all() says whether it was the last one.
 */
struct brick_admin_stats;
struct brick_admin_stats *
brick_admin_stats_begin(const struct brick_view *view);
char *brick_admin_stats_next(struct brick_admin_stats *stats, size_t *len);
bool brick_admin_stats_are_all(const struct brick_admin_stats *stats);

/* The slow tier. */
int brick_admin_tier(struct brick_view *view,
		     const struct brick_admin_request *request,
		     struct json_object *reply, const char **why);

#endif
