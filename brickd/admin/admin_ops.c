// SPDX-License-Identifier: BSD-2-Clause
/* The admin ops: who the brick is, and ending sessions. */
#include "brickd/admin/admin_ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/metrics.h"
#include "brickd/admin/view.h"
#include "brickd/base/clock.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "brickd/storage/storage_failure.h"

#define NS_PER_MS 1000000

static void order_info(const struct brick_view *view, struct json_object *reply)
{
	char uuid[BRICK_UUID_TEXT_BYTES], failure[BRICK_FAILURE_BYTES];
	struct json_object *list = json_object_new_array();
	char url[BRICK_URL_BYTES];

	brick_uuid_format(view->storage->uuid, uuid);
	brick_admin_put_text(reply, "version", BRICK_VERSION);
	brick_admin_put_text(reply, "store", view->config->store);
	brick_admin_put_text(reply, "uuid", uuid);
	brick_admin_put_id(reply, "instance_id", view->storage->instance_id);
	brick_admin_put_count(reply, "power_epoch", view->storage->power_epoch);
	brick_admin_put_count(reply, "uptime_ms",
			      (brick_now_ns() - view->started_ns) / NS_PER_MS);
	brick_admin_put_count(reply, "max_sessions",
			      view->config->limits.sessions);
	json_object_object_add(
		reply, "medium_failed",
		json_object_new_boolean(view->storage->medium_failed));
	if (view->storage->medium_failed) {
		brick_failure_text(view->storage, failure);
		brick_admin_put_text(reply, "medium_failure", failure);
	}
	for (uint32_t i = 0; i < view->net->n_fabrics; i++) {
		const struct brick_fabric *f = &view->net->fabrics[i];

		brick_address_format(f->address, f->port, url);
		json_object_array_add(list, json_object_new_string(url));
	}
	json_object_object_add(reply, "listen", list);
	if (brick_metrics_url(view, url))
		brick_admin_put_text(reply, "metrics_url", url);
}

static int order_evict(struct brick_view *view, uid_t uid,
		       const struct brick_admin_request *r,
		       struct json_object *reply, const char **why)
{
	struct brick_session *s = NULL;
	uint64_t n = 0;

	if (r->session)
		s = brick_sessions_find(view->sessions, r->session);
	else
		n = brick_sessions_evict(view->sessions, r->client,
					 KFB_EVICTED_ORDER, uid);
	if (s && s->client && !brick_session_is_ending(s)) {
		brick_session_evict(s, KFB_EVICTED_ORDER, uid);
		n = 1;
	}
	if (!n) {
		*why = r->session ? "there is no such session"
				  : "that client has no session";
		return -ENOENT;
	}
	brick_admin_put_count(reply, "evicted", n);
	return 0;
}

int brick_admin_op(struct brick_view *view, uid_t uid,
		   const struct brick_admin_request *request,
		   struct json_object *reply, const char **why)
{
	switch (request->op) {
	case BRICK_ADMIN_INFO:
		order_info(view, reply);
		return 0;
	case BRICK_ADMIN_SESSIONS:
		brick_admin_sessions(view, request->after, reply);
		return 0;
	case BRICK_ADMIN_EVICT:
		return order_evict(view, uid, request, reply, why);
	case BRICK_ADMIN_TIER:
		return brick_admin_tier(view, request, reply, why);
	case BRICK_ADMIN_CLIENTS:
		brick_admin_clients(view, request->from, reply);
		return 0;
	case BRICK_ADMIN_MAPPED:
		brick_admin_mapped(view, request, reply);
		return 0;
	case BRICK_ADMIN_STATS: /* made in pieces */
	case BRICK_ADMIN_OPS:
		break;
	}
	*why = "there is no such op";
	return -EOPNOTSUPP;
}
