/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ops of the admin socket. Each adds its members to a reply.
 *
 * Context: the loop thread; none takes longer than a page of sessions.
 */
#ifndef BRICKD_ADMIN_ADMIN_OPS_H
#define BRICKD_ADMIN_ADMIN_OPS_H

#include <json-c/json.h>
#include <stdint.h>
#include <sys/types.h>

#include "brickd/admin/admin_request.h"

struct brick_server;

/* Sessions in one reply. */
#define BRICK_ADMIN_PAGE_SESSIONS 32

/**
 * brick_admin_op - do what is asked
 * @server: whose
 * @uid: who asks
 * @request: what
 * @reply: gets the members
 * @why: on failure what is wrong, a constant string
 *
 * Return: 0 or -errno.
 */
int brick_admin_op(struct brick_server *server, uid_t uid,
		   const struct brick_admin_request *request,
		   struct json_object *reply, const char **why);

/* One of the ops: a page of sessions by rising id. */
void brick_admin_sessions(const struct brick_server *server, uint64_t after,
			  struct json_object *reply);

/* Another one: all counters. */
void brick_admin_stats(const struct brick_server *server,
		       struct json_object *reply);

/* Another one: the slow tier. */
int brick_admin_tier(struct brick_server *server,
		     const struct brick_admin_request *request,
		     struct json_object *reply, const char **why);

/* Members of a reply. */
void brick_admin_put_text(struct json_object *object, const char *name,
			  const char *text);
void brick_admin_put_count(struct json_object *object, const char *name,
			   uint64_t value);
/* 16 digits: many readers of JSON cut 64 bits. */
void brick_admin_put_id(struct json_object *object, const char *name,
			uint64_t id);
/* Nanoseconds, as seconds. */
void brick_admin_put_seconds(struct json_object *object, const char *name,
			     uint64_t ns);

#endif
