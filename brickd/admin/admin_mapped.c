// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin op "mapped": who has which blocks mapped, in the order of addresses.
 *
 * Several sessions may have handles that begin at one block. A page says where it
 * ends by the last handle's first block and how many that begin there were shown.
 */
#include <inttypes.h>
#include <stdio.h>

#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/view.h"
#include "brickd/mapping/mapping.h"
#include "brickd/session/sessions.h"

/*
 * struct page - a page while it is made
 * @list: gets an object for each handle
 * @n: objects in it
 * @after: with @skip, where the page before ended: what begins before was shown
 * @skip: of what begins at @after, so many were shown; 0: there is no page before
 * @at: where the newest one begins
 * @n_at: how many begin there, with those shown before
 * @more: there is another page
 */
struct page {
	struct json_object *list;
	unsigned int n;
	uint64_t after;
	uint64_t skip;
	uint64_t at;
	uint64_t n_at;
	bool more;
};

static struct json_object *holder_object(const struct brick_interval *found)
{
	const struct brick_mapping *m = found->owner;
	struct json_object *object = json_object_new_object();
	struct json_object *flags = json_object_new_array();
	struct brick_session_report r;

	brick_session_report(m->session, &r);
	brick_admin_put_span(object, found->span);
	json_object_array_add(flags, json_object_new_string("mapped"));
	if (m->flags & KFB_MAP_RW)
		json_object_array_add(flags, json_object_new_string("rw"));
	if (m->flags & KFB_MAP_EXCLUSIVE)
		json_object_array_add(flags,
				      json_object_new_string("exclusive"));
	json_object_object_add(object, "flags", flags);
	brick_admin_put_id(object, "mapping_id", m->id);
	brick_admin_put_id(object, "session", r.id);
	brick_admin_put_text(object, "client", r.client);
	brick_admin_put_text(object, "peer", r.peer);
	brick_admin_put_text(object, "state", kfb_session_state_name(r.state));
	return object;
}

static bool add_holder(const struct brick_interval *found, void *arg)
{
	uint64_t first = found->span.first;
	struct page *page = arg;

	/* It is being made: nobody knows it. */
	if (!((const struct brick_mapping *)found->owner)->id)
		return true;
	if (page->skip && first < page->after)
		return true;
	if (first != page->at) {
		page->at = first;
		page->n_at = 0;
	}
	if (page->skip && first == page->after && page->n_at < page->skip) {
		page->n_at++;
		return true;
	}
	page->n_at++;
	json_object_array_add(page->list, holder_object(found));
	page->more = ++page->n == BRICK_ADMIN_PAGE_HOLDERS;
	return !page->more;
}

void brick_admin_mapped(const struct brick_view *view,
			const struct brick_admin_request *request,
			struct json_object *reply)
{
	struct brick_span span = { 0, KFB_BLOCKS_MAX };
	struct page page = {
		.list = json_object_new_array(),
		.after = request->after >> KFB_BLOCK_SHIFT,
		.skip = request->n_shown,
		.at = UINT64_MAX,
	};
	char next[sizeof("0x/") + 16 + 20];

	if (request->n_blocks)
		span = brick_span_of(request->va, request->n_blocks);
	if (page.skip && span.first < page.after)
		span.first = page.after;
	if (span.first < span.end)
		brick_intervals_overlap(&view->sessions->mappings.by_block,
					BRICK_INTERVALS_ALL, span, add_holder,
					&page);
	json_object_object_add(reply, "mapped", page.list);
	if (!page.more)
		return;
	(void)snprintf(next, sizeof(next), "0x%" PRIx64 "/%" PRIu64,
		       page.at << KFB_BLOCK_SHIFT, page.n_at);
	brick_admin_put_text(reply, "next", next);
}
