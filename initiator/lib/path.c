// SPDX-License-Identifier: BSD-2-Clause
/*
 * Over what a connection goes: nothing that tcp carries is encrypted, so that it
 * leaves this host by a WireGuard interface alone, unless the program allows more.
 *
 * Each connection is bound to the interface that the routes name when it is made.
 * When the tunnel goes, and the routes lead elsewhere, it is lost and does not go
 * on there; the next one is asked about anew.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "kfabric/user/stcp.h"
#include "kfabric/user/way.h"

static int refuse_way(struct kfbrick *k, const struct stcp_way *way)
{
	snprintf(
		k->path_why, sizeof(k->path_why),
		"it is reached by %s, which is no WireGuard interface, and what "
		"tcp carries is not encrypted; use verbs, a WireGuard tunnel, or "
		"allow_untrusted_tcp",
		way->name);
	return -EPERM;
}

/* libfabric's own tcp cannot be bound: nothing would keep it in a tunnel. */
static int keep_to(struct kfbrick *k, struct kfbl_link *link,
		   const struct stcp_way *way)
{
	int rc;

	if (!link->stcp)
		return refuse_way(k, way);
	rc = kfbl_errno(link->stcp->keep_to(link->ep, way->index));
	if (rc)
		snprintf(k->path_why, sizeof(k->path_why),
			 "it cannot be bound to %s: %s", way->name,
			 strerror(-rc));
	return rc;
}

int kfbl_path_choose(struct kfbrick *k, struct kfbl_link *link)
{
	const struct sockaddr *to = k->fabric.info->dest_addr;
	struct stcp_way way = { .is_local = true };
	enum kfb_path path;
	int rc = 0;

	k->path = KFB_PATH_UNKNOWN;
	*k->interface = '\0';
	if (k->url.scheme->is_rdma) {
		k->path = KFB_PATH_RDMA;
		return 0;
	}
	if (!stcp_never_leaves(to))
		rc = stcp_way_to(to, &way);
	if (rc) {
		snprintf(k->path_why, sizeof(k->path_why),
			 "this host has no way there: %s", strerror(-rc));
		return rc;
	}
	path = kfb_path_of(way.is_local, way.kind);
	if (path == KFB_PATH_UNTRUSTED && !k->allow_untrusted_tcp)
		return refuse_way(k, &way);
	if (path == KFB_PATH_WIREGUARD)
		rc = keep_to(k, link, &way);
	if (rc && k->allow_untrusted_tcp) {
		path = KFB_PATH_UNTRUSTED;
		rc = 0;
	}
	if (rc)
		return rc;
	k->path = path;
	if (path != KFB_PATH_LOOPBACK)
		memcpy(k->interface, way.name, sizeof(k->interface));
	return 0;
}

enum kfbrick_path kfbrick_get_path(const struct kfbrick *k,
				   char interface[KFBRICK_INTERFACE_BYTES])
{
	memcpy(interface, k->interface, KFBRICK_INTERFACE_BYTES);
	return (enum kfbrick_path)k->path;
}
