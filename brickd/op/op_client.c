// SPDX-License-Identifier: BSD-2-Clause
/* CLIENT: what a fencer is told of a client, by its name or in the order of names. */
#include <string.h>

#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/sessions.h"

/* Names that are fenced stay known when the settings have them no more. */
static const char *name_after(const struct brick_op *op)
{
	const struct brick_config *config = brick_ops_of(op->session)->config;
	const char *after = op->req.u.client.name;
	const char *next = brick_fences_after(&op->session->all->fences, after);

	for (uint32_t i = 0; i < config->n_clients; i++) {
		const struct brick_client *client = config->clients[i];

		if (!client->removed && strcmp(client->name, after) > 0 &&
		    (!next || strcmp(client->name, next) < 0))
			next = client->name;
	}
	return next;
}

static enum kfb_status fill_client(struct brick_op *op, const char *name)
{
	struct brick_sessions *all = op->session->all;
	struct kfb_client_reply *r = &op->reply.u.client;
	const struct brick_client *client =
		brick_config_client(brick_ops_of(op->session)->config, name);
	const struct brick_holdings *h =
		client ? *brick_sessions_holdings(all, client) : NULL;

	if (!client && !brick_fences_has(&all->fences, name))
		return KFB_ST_NOT_FOUND;
	/* Not while a restart might let it in. */
	if (brick_fences_has_surely(&all->fences, name))
		r->flags |= KFB_CLIENT_FENCED;
	if (client && client->is_fencer)
		r->flags |= KFB_CLIENT_FENCER;
	r->name_len = (uint8_t)strlen(name);
	memcpy(r->name, name, r->name_len);
	r->n_sessions = h ? (uint32_t)h->n_sessions : 0;
	return KFB_ST_OK;
}

void brick_op_client(struct brick_op *op)
{
	const struct kfb_client_query *query = &op->req.u.client;
	const char *name = query->name;

	if (!op->session->client->is_fencer) {
		brick_op_finish(op, KFB_ST_DENIED);
		return;
	}
	if (query->which == KFB_CLIENT_AFTER)
		name = name_after(op);
	brick_op_finish(op, name ? fill_client(op, name) : KFB_ST_NOT_FOUND);
}
