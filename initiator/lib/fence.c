// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeping other clients out: FENCE and CLIENT.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "internal.h"

_Static_assert(KFBRICK_CLIENT_BYTES == KFB_NAME_MAX + 1, "names of one length");

/* Copies a name that can travel. */
static bool take_name(const char *name, size_t least, char *to, __u8 *len)
{
	size_t n = strlen(name);

	if (n < least || !kfb_name_ok(name, n))
		return false;
	memcpy(to, name, n + 1);
	*len = (__u8)n;
	return true;
}

static int no_name(struct kfbrick *k, const char *what)
{
	return kfbl_fail(k, -EINVAL,
			 "%s at %s: a client's name is 1 to %d printable "
			 "characters without blanks",
			 what, k->url.text, KFB_NAME_MAX);
}

static int send_fence(struct kfbrick *k, const char *client, __u8 what)
{
	const char *word = what == KFB_FENCE_EVICT ? "fence" : "admit";
	struct kfb_request req = { .op = KFB_OP_FENCE };

	req.u.fence.what = what;
	if (!take_name(client, 1, req.u.fence.name, &req.u.fence.name_len))
		return no_name(k, word);
	return kfbl_request(k, &req, "%s %s", word, client);
}

int kfbrick_fence(struct kfbrick *k, const char *client)
{
	return send_fence(k, client, KFB_FENCE_EVICT);
}

int kfbrick_admit(struct kfbrick *k, const char *client)
{
	return send_fence(k, client, KFB_FENCE_ADMIT);
}

static int ask_client(struct kfbrick *k, const char *name, __u8 which,
		      struct kfbrick_client *client)
{
	const struct kfb_client_reply *reply = &k->call_reply.u.client;
	struct kfb_request req = { .op = KFB_OP_CLIENT };
	struct kfbrick_client full = { .size = client->size };
	int order, rc;

	if (client->size < sizeof(full))
		return kfbl_fail(k, -EINVAL,
				 "client: size must be "
				 "sizeof(struct kfbrick_client)");
	req.u.client.which = which;
	if (!take_name(name, which == KFB_CLIENT_NAMED, req.u.client.name,
		       &req.u.client.name_len))
		return no_name(k, "client");
	rc = kfbl_request(k, &req, "client %s", name);
	if (rc)
		return rc;
	/* An answer about another client would make a fence of a wrong one look right. */
	order = strcmp(reply->name, req.u.client.name);
	if (which == KFB_CLIENT_NAMED ? order : order <= 0)
		return kfbl_fail(k, -EPROTO,
				 "client at %s: the brick answered about "
				 "another client than asked for",
				 k->url.text);
	memcpy(full.name, reply->name, sizeof(full.name));
	full.is_fenced = !!(reply->flags & KFB_CLIENT_FENCED);
	full.is_fencer = !!(reply->flags & KFB_CLIENT_FENCER);
	full.n_sessions = reply->n_sessions;
	kfbl_give_sized(client, client->size, &full, sizeof(full));
	return 0;
}

int kfbrick_get_client(struct kfbrick *k, const char *name,
		       struct kfbrick_client *client)
{
	return ask_client(k, name, KFB_CLIENT_NAMED, client);
}

int kfbrick_next_client(struct kfbrick *k, const char *after,
			struct kfbrick_client *client)
{
	return ask_client(k, after, KFB_CLIENT_AFTER, client);
}
