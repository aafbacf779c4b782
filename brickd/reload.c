// SPDX-License-Identifier: BSD-2-Clause
/* SIGHUP: reading the clients again, and what it means for their sessions. */
#include "brickd/reload.h"

#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/notify.h"
#include "brickd/base/stop.h"
#include "brickd/config/config.h"
#include "brickd/op/op.h"
#include "brickd/session/event.h"
#include "brickd/session/session.h"
#include "brickd/session/usage.h"

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
static void validate_sessions(struct brick_sessions *all)
{
	struct brick_session *s, *next;

	for (s = TAILQ_FIRST(&all->list); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!s->client || s->client == &all->anonymous ||
		    brick_session_is_ending(s))
			continue;
		if (s->client->removed)
			brick_session_evict(s, KFB_EVICTED_CLIENT, 0);
		else if (!brick_client_key(s->client, s->key_id))
			brick_session_evict(s, KFB_EVICTED_KEY, 0);
		else if (!is_granted(s))
			brick_session_evict(s, KFB_EVICTED_GRANT, 0);
		else if (brick_usage_take_rate(s))
			brick_event_rate(s);
	}
}

bool brick_reload(struct brick_reload *r)
{
	int rc, is, was = r->config->log_level;
	char differs[BRICK_ERR_BYTES];
	struct brick_config fresh;
	unsigned int n;

	if (!r->read || r->sessions->stop->is_stopping)
		return false;
	brick_notify_reloading();
	rc = r->read(r->ctx, &fresh);
	if (!rc) {
		n = brick_config_differs(r->config, &fresh, differs,
					 sizeof(differs));
		if (n)
			brick_log(LOG_WARNING, NULL,
				  "%s %s changed: that takes a restart",
				  differs, n == 1 ? "has" : "have");
		rc = brick_config_take_clients(r->config, &fresh);
	}
	if (!rc) {
		is = r->config->log_level;
		/* Told at whichever of the two levels tells more. */
		if (is > was)
			brick_log_set_level(is);
		if (is != was)
			brick_log(LOG_NOTICE, NULL, "log-level is now %s",
				  brick_log_level_name(is));
		brick_log_set_level(is);
		validate_sessions(r->sessions);
		brick_ops_recheck(r->ops);
	}
	brick_config_fini(&fresh);
	if (rc)
		brick_log(LOG_ERR, NULL,
			  "the settings were not taken: %s; clients and "
			  "grants stay as they were",
			  strerror(-rc));
	else
		brick_log(LOG_NOTICE, NULL, "clients and grants read again");
	return true;
}
