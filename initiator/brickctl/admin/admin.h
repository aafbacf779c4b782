/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection to a brick's admin socket, on the brick's machine.
 */
#ifndef BRICKCTL_ADMIN_H
#define BRICKCTL_ADMIN_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "initiator/brickctl/base/brickctl.h"

/* The longest answer; no brick sends as much. */
#define CTL_ADMIN_ANSWER_MAX_BYTES (1 << 20)

/**
 * struct ctl_admin - a connection
 * @path: of the socket
 * @timeout_ms: of each exchange
 * @next: what shows what there is, after a refusal
 * @next_unsupported: what helps where the brick has no such thing
 * @fd: -1: closed
 */
struct ctl_admin {
	const char *path;
	uint32_t timeout_ms;
	const char *next;
	const char *next_unsupported;
	int fd;
};

/**
 * ctl_admin_open - connect to the socket of --admin
 * @ctl: reports what is wrong
 * @admin: filled
 *
 * Return: 0, or the status to exit with.
 */
int ctl_admin_open(struct ctl *ctl, struct ctl_admin *admin);
void ctl_admin_close(struct ctl_admin *admin);

/**
 * ctl_admin_ask - one request and its answer
 * @ctl: reports what is wrong
 * @admin: open
 * @request: freed in any case
 * @answer: what the brick said, for json_object_put(); it said "ok"
 *
 * Return: 0, or the status to exit with.
 */
int ctl_admin_ask(struct ctl *ctl, struct ctl_admin *admin,
		  struct json_object *request, struct json_object **answer);

/* A request that has no more than its op. */
struct json_object *ctl_admin_request(const char *op);

/**
 * ctl_admin_pages - ask for all there is of a kind, page by page
 * @ctl: reports what is wrong
 * @admin: open
 * @op: "sessions", "clients" or "mapped"; a page has the list under the same name
 * @list: an array, for json_object_put()
 *
 * Return: 0, or the status to exit with.
 */
int ctl_admin_pages(struct ctl *ctl, struct ctl_admin *admin, const char *op,
		    struct json_object **list);

/* The same over a connection of its own. */
int ctl_admin_all(struct ctl *ctl, const char *op, struct json_object **list);

/* An array in an answer, and its length; NULL and 0 where there is none. */
struct json_object *ctl_admin_list(struct json_object *object, const char *name,
				   size_t *n);

/* Requests so far of a session, or of a client, of all ops. */
uint64_t ctl_admin_session_ops(struct json_object *session);

/* Members of an answer; "" or 0 where there is none of that kind. */
const char *ctl_admin_text(struct json_object *object, const char *name);
uint64_t ctl_admin_count(struct json_object *object, const char *name);
double ctl_admin_number(struct json_object *object, const char *name);

/**
 * ctl_list_holders - list what is mapped with who has it, for administrators
 * @ctl: reports what is wrong
 *
 * Return: the status to exit with.
 */
int ctl_list_holders(struct ctl *ctl);

#endif
