// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin op "sessions": pages by rising id, so that sessions that come and
 * go between two pages make none appear twice or be left out.
 */
#include <string.h>

#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/view.h"
#include "brickd/session/sessions.h"
#include "proto/codec/kfb_ops.h"

/* The sessions with the smallest ids above @after, sorted. */
struct page {
	unsigned int n;
	bool more;
	const struct brick_session *list[BRICK_ADMIN_PAGE_SESSIONS];
};

static void add_session(struct page *page, const struct brick_session *s)
{
	unsigned int at = page->n;

	while (at && page->list[at - 1]->id > s->id)
		at--;
	if (page->n == BRICK_ADMIN_PAGE_SESSIONS)
		page->more = true;
	else
		page->n++;
	if (at == BRICK_ADMIN_PAGE_SESSIONS)
		return;
	memmove(&page->list[at + 1], &page->list[at],
		(page->n - 1 - at) * sizeof(page->list[0]));
	page->list[at] = s;
}

static struct json_object *session_object(const struct brick_session *s)
{
	struct json_object *object = json_object_new_object();
	struct json_object *ops = json_object_new_object();
	struct brick_session_report r;

	brick_session_report(s, &r);
	brick_admin_put_id(object, "session", r.id);
	brick_admin_put_text(object, "client", r.client);
	if (r.key_number)
		brick_admin_put_count(object, "key", r.key_number);
	brick_admin_put_text(object, "peer", r.peer);
	brick_admin_put_text(object, "state", kfb_session_state_name(r.state));
	if (r.lease_left_ms != KFB_TIME_NEVER)
		brick_admin_put_count(object, "lease_left_ms", r.lease_left_ms);
	brick_admin_put_count(object, "queues", r.n_queues);
	brick_admin_put_count(object, "mappings", r.n_mappings);
	brick_admin_put_count(object, "handles", r.n_handles);
	brick_admin_put_count(object, "ops_in_flight", r.n_running);
	brick_admin_put_count(object, "ops_waiting", r.n_pending);
	for (unsigned int i = 0; i <= KFB_OP_LAST; i++)
		if (r.counts[i])
			brick_admin_put_count(ops, kfb_op_label((uint16_t)i),
					      r.counts[i]);
	json_object_object_add(object, "ops", ops);
	brick_admin_put_count(object, "failed", r.n_failed);
	return object;
}

void brick_admin_sessions(const struct brick_view *view, uint64_t after,
			  struct json_object *reply)
{
	struct json_object *list = json_object_new_array();
	const struct brick_session *s;
	struct page page = { 0 };

	TAILQ_FOREACH(s, &view->sessions->list, link)
	if (s->id > after)
		add_session(&page, s);
	for (unsigned int i = 0; i < page.n; i++)
		json_object_array_add(list, session_object(page.list[i]));
	json_object_object_add(reply, "sessions", list);
	if (page.more)
		brick_admin_put_id(reply, "next", page.list[page.n - 1]->id);
}
