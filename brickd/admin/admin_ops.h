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

struct brick_view;

/**
 * brick_admin_op - do what is asked
 * @view: what is shown
 * @uid: who asks
 * @request: what
 * @reply: gets the members
 * @why: on failure what is wrong, a constant string
 *
 * Return: 0 or -errno.
 */
int brick_admin_op(struct brick_view *view, uid_t uid,
		   const struct brick_admin_request *request,
		   struct json_object *reply, const char **why);

#endif
