// SPDX-License-Identifier: BSD-2-Clause
/* SIGHUP: reading the clients again, and what it means for their sessions. */
#include "brickd/reload.h"

#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/notify.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"

static bool is_granted(const struct brick_session *s)
{
	const struct brick_mapping *m;

	TAILQ_FOREACH(m, &s->mappings, session_link)
	for (size_t i = 0; i < m->n; i++)
		if (!brick_grants_allow(&s->client->grants, m->handles[i].span,
					m->flags & KFB_MAP_RW))
			return false;
	return true;
}

/* What they have; what they are about to get looks again before it is made. */
static void judge_sessions(struct brick_server *server)
{
	struct brick_session *s, *next;

	for (s = TAILQ_FIRST(&server->sessions.list); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!s->client || s->client == &server->sessions.anonymous ||
		    brick_session_is_ending(s))
			continue;
		if (s->client->removed)
			brick_session_evict(s, "its client was removed");
		else if (s->client->rekeyed)
			brick_session_evict(s, "its client has another key");
		else if (!is_granted(s))
			brick_session_evict(s, "a grant it uses was taken");
	}
}

void brick_reload(struct brick_server *server)
{
	struct brick_config fresh;
	const char *differs;
	int rc;

	if (!server->read_config || server->stop.is_stopping)
		return;
	brick_notify_reloading();
	rc = server->read_config(server->read_config_ctx, &fresh);
	if (!rc) {
		differs = brick_config_differs(server->config, &fresh);
		if (differs)
			brick_log(LOG_WARNING, NULL,
				  "%s has changed: that takes a restart",
				  differs);
		rc = brick_config_take_clients(server->config, &fresh);
	}
	if (!rc) {
		judge_sessions(server);
		brick_ops_recheck(&server->ops);
	}
	brick_config_fini(&fresh);
	if (rc)
		brick_log(LOG_ERR, NULL,
			  "the settings were not taken: %s; clients and "
			  "grants stay as they were",
			  strerror(-rc));
	else
		brick_log(LOG_NOTICE, NULL, "clients and grants read again");
	brick_server_tell_manager(server);
}
