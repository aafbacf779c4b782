// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Single transactions, and how each must end.
 *
 * Context: process.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lt.h"

#define LT_NOBODY     99 /* a node that is not there */
#define LT_SOON_MS    1000
#define LT_PATIENT_MS 60000

static void lt_is(int is, int must_be, const char *what)
{
	lt_point(is == must_be, "%s: %d", what, is);
}

static int lt_try(struct lt_node *n, enum lt_what what, u64 match, u8 *bytes,
		  size_t len)
{
	return lt_once(n, what, n->peer, match, bytes, len, LT_PATIENT_MS);
}

static void lt_cases_plain(struct lt_node *a, u8 *bytes)
{
	u32 wrong = LT_BYTES_MAX + 1;

	lt_is(lt_try(a, LT_PING, 0, NULL, 0), 0, "a ping is answered");
	lt_is(lt_try(a, LT_PUT, LT_NONE, bytes, 100), -ENOENT,
	      "a short put that nobody wants");
	lt_is(lt_try(a, LT_PUT, LT_NONE, bytes, SZ_64K), -ENOENT,
	      "a long put that nobody wants");
	lt_is(lt_try(a, LT_GET, LT_NONE, bytes, SZ_64K), -ENOENT,
	      "a get that nobody has");
	lt_is(lt_try(a, LT_PUT, LT_SHORT, bytes, SZ_64K), -EMSGSIZE,
	      "a put that is too long for its buffer");
	lt_is(lt_try(a, LT_PUT, LT_DATA, bytes, wrong), -EINVAL,
	      "a put of too many bytes");
	lt_is(lt_try(a, LT_GET, LT_DATA, bytes, 0), -EINVAL,
	      "a get of nothing");
	lt_is(lt_once(a, LT_PING, LT_NOBODY + 1, 0, NULL, 0, LT_SOON_MS),
	      -EHOSTUNREACH, "a ping to who was never added");
	lt_is(lt_once(a, LT_PING, LT_NOBODY, 0, NULL, 0, LT_SOON_MS),
	      -EHOSTUNREACH, "a ping to who is not there");
}

/* A third node that says it is another one is not heard: its messages come from elsewhere. */
static void lt_cases_stranger(struct lt_node *a, struct lt_node *stranger,
			      u64 nid, const char *prov, const char *node,
			      unsigned int port)
{
	struct klnd_counts before, after;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	klnd_count(a->net, &before);
	if (lt_point(!lt_node_open(stranger, nid, 0, prov, node, port + 2) &&
			     !klnd_peer_add(stranger->net, a->nid, node,
					    service),
		     "a stranger calls himself node %llu", nid))
		lt_is(lt_once(stranger, LT_PING, a->nid, 0, NULL, 0,
			      LT_SOON_MS),
		      -EHOSTUNREACH, "nobody answers him");
	if (stranger->net)
		klnd_close(stranger->net);
	stranger->net = NULL;
	klnd_count(a->net, &after);
	lt_point(after.strange > before.strange && after.old == before.old,
		 "he was seen through, %llu times",
		 after.strange - before.strange);
}

/* The other node ends, and begins anew, as it must not, and as it should. */
static void lt_cases_restart(struct lt_node *a, struct lt_node *b,
			     const char *prov, const char *node,
			     unsigned int port)
{
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	klnd_close(b->net);
	b->net = NULL;
	lt_is(lt_once(a, LT_PUT, a->peer, LT_NONE, a->report, 100, LT_SOON_MS),
	      -ETIMEDOUT, "a put to who is gone");
	if (!lt_point(!lt_node_open(b, b->nid, 1, prov, node, port + 1) &&
			      !klnd_peer_add(b->net, a->nid, node, service),
		      "a node comes back with an incarnation of the past"))
		return;
	lt_is(lt_try(b, LT_PING, 0, NULL, 0), -ESTALE, "which nobody takes");
	lt_is(lt_try(b, LT_PUT, LT_NONE, (u8 *)b->report, 100), -ESTALE,
	      "and which knows that");
	klnd_close(b->net);
	b->net = NULL;
	if (!lt_point(!lt_node_open(b, b->nid, 0, prov, node, port + 1) &&
			      !klnd_peer_add(b->net, a->nid, node, service),
		      "it comes back with a later one"))
		return;
	lt_is(lt_try(a, LT_PING, 0, NULL, 0), 0,
	      "a ping reaches the new incarnation");
	lt_is(lt_try(a, LT_PUT, LT_NONE, (u8 *)a->report, SZ_64K), -ENOENT,
	      "and so does a put");
	lt_is(lt_try(b, LT_PING, 0, NULL, 0), 0, "its own ping is answered");
}

void lt_cases(struct lt_node *a, struct lt_node *b, const char *prov,
	      const char *node, unsigned int port)
{
	struct lt_node *stranger = kzalloc(sizeof(*stranger), GFP_KERNEL);
	u8 *bytes = vzalloc(LT_BYTES_MAX + PAGE_SIZE);

	if (lt_point(bytes && stranger &&
			     !klnd_peer_add(a->net, LT_NOBODY, node, "9"),
		     "there is memory, and a peer that is not there")) {
		lt_is(klnd_peer_add(a->net, LT_NOBODY, node, "9"), -EEXIST,
		      "a peer is added once");
		lt_cases_plain(a, bytes);
		/* His incarnation is later than that of who he says he is. */
		lt_cases_stranger(a, stranger, b->nid, prov, node, port);
		lt_cases_stranger(a, stranger, LT_NOBODY + 1, prov, node, port);
		lt_cases_restart(a, b, prov, node, port);
	}
	vfree(bytes);
	kfree(stranger);
}
