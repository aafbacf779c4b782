// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin op "clients": what each client has, and what it has had done since the
 * start, whatever has become of its sessions.
 */
#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/view.h"
#include "brickd/session/sessions.h"
#include "brickd/session/usage.h"
#include "brickd/storage/storage.h"
#include "proto/codec/kfb_ops.h"

/* What all sessions of one client have. */
struct holder {
	const struct brick_client *client;
	uint64_t n_sessions;
	uint64_t n_mappings;
	uint64_t n_handles;
	uint64_t n_running;
	uint64_t n_pending;
};

/* Clients by rising number, from one on. */
struct page {
	uint64_t first;
	uint64_t n;
	struct holder list[BRICK_ADMIN_PAGE_CLIENTS];
};

static uint64_t n_clients(const struct brick_config *config)
{
	return config->n_clients + (config->auth == BRICK_AUTH_NONE);
}

static void add_to_holder(struct page *page, struct brick_session *s)
{
	struct holder *h;
	uint64_t number;

	if (!s->client)
		return;
	/*
	 * Those of the settings; behind them, where nobody authenticates,
	 * everybody else.
	 */
	number = s->client == &s->all->anonymous ? s->all->config->n_clients
						 : s->client->number;
	if (number < page->first || number - page->first >= page->n)
		return;
	brick_usage_look(s);
	h = &page->list[number - page->first];
	h->n_sessions++;
	h->n_mappings += s->n_mappings;
	h->n_handles += s->n_handles;
	h->n_running += s->n_ops;
	h->n_pending += s->n_pending;
}

static struct json_object *client_object(const struct brick_view *view,
					 const struct holder *h)
{
	struct brick_client_counters *counters =
		brick_sessions_counters(view->sessions, h->client);
	struct json_object *object = json_object_new_object();
	struct json_object *ops = json_object_new_object();
	const struct kfb_rate *rate = &h->client->rate;

	brick_admin_put_text(object, "client", h->client->name);
	brick_admin_put_count(object, "blocks",
			      brick_store_owned(view->storage->store,
						h->client->owner));
	if (h->client->has_quota)
		brick_admin_put_count(object, "quota_blocks",
				      h->client->quota_blocks);
	if (rate->bytes_per_s)
		brick_admin_put_count(object, "rate_bytes", rate->bytes_per_s);
	if (rate->ops_per_s)
		brick_admin_put_count(object, "rate_ops", rate->ops_per_s);
	brick_admin_put_count(object, "sessions", h->n_sessions);
	brick_admin_put_count(object, "mappings", h->n_mappings);
	brick_admin_put_count(object, "handles", h->n_handles);
	brick_admin_put_count(object, "ops_in_flight", h->n_running);
	brick_admin_put_count(object, "ops_waiting", h->n_pending);
	for (unsigned int i = 0; i <= KFB_OP_LAST; i++)
		if (brick_counted(&counters->ops[i]))
			brick_admin_put_count(ops, kfb_op_label((uint16_t)i),
					      brick_counted(&counters->ops[i]));
	json_object_object_add(object, "ops", ops);
	brick_admin_put_count(object, "failed",
			      brick_counted(&counters->failed));
	brick_admin_put_count(object, "flushed_bytes",
			      brick_counted(&counters->flushed_bytes));
	brick_admin_put_count(object, "zeroed_blocks",
			      brick_counted(&counters->zeroed_blocks));
	brick_admin_put_count(object, "promoted_blocks",
			      brick_counted(&counters->promoted_blocks));
	brick_admin_put_count(object, "read_bytes",
			      brick_counted(&counters->read_bytes));
	brick_admin_put_count(object, "written_bytes",
			      brick_counted(&counters->written_bytes));
	brick_admin_put_count(object, "data_ops",
			      brick_counted(&counters->data_ops));
	brick_admin_put_count(object, "rate_exceeded",
			      brick_counted(&counters->rate_exceeded));
	return object;
}

void brick_admin_clients(const struct brick_view *view, uint64_t from,
			 struct json_object *reply)
{
	struct brick_sessions *all = view->sessions;
	const struct brick_config *config = all->config;
	struct json_object *list = json_object_new_array();
	struct page page = { .first = from };
	struct brick_session *s;

	while (page.n < BRICK_ADMIN_PAGE_CLIENTS &&
	       from + page.n < n_clients(config)) {
		uint64_t i = from + page.n;

		page.list[page.n++].client = i < config->n_clients
						     ? config->clients[i]
						     : &all->anonymous;
	}
	TAILQ_FOREACH(s, &all->list, link)
	add_to_holder(&page, s);
	for (uint64_t i = 0; i < page.n; i++)
		json_object_array_add(list, client_object(view, &page.list[i]));
	json_object_object_add(reply, "clients", list);
	if (from + page.n < n_clients(config))
		brick_admin_put_count(reply, "next", from + page.n);
}
