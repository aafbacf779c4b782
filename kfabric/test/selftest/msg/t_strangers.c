// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: strangers connect to a listener over TCP and say nothing, more than it waits
 * for: whoever says at once what there is to say is not kept out.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "../st.h"

#define STRANGERS 200 /* KTCP_HANDSHAKES_MAX is less */

static int st_strangers_come(struct st *st, struct socket **socks)
{
	struct sockaddr_in6 addr = {};
	size_t len = sizeof(addr);
	int i, ret;

	ret = fi_getname(&st->pep->fid, &addr, &len);
	for (i = 0; i < STRANGERS && !ret; i++) {
		ret = sock_create_kern(&init_net, addr.sin6_family, SOCK_STREAM,
				       IPPROTO_TCP, &socks[i]);
		ret = ret
			      ?: kernel_connect(socks[i],
						(struct sockaddr *)&addr, len,
						0);
	}
	return ret;
}

/* How many the listener has closed. */
static int st_strangers_gone(struct socket **socks)
{
	int i, n = 0;

	for (i = 0; i < STRANGERS; i++)
		n += socks[i] && socks[i]->sk->sk_state != TCP_ESTABLISHED;
	return n;
}

void st_test_strangers(struct st *st)
{
	struct socket **socks = kcalloc(STRANGERS, sizeof(*socks), GFP_KERNEL);
	struct st_pair p = {};
	int i;

	if (!CHECK(st, socks, "there is memory for strangers"))
		return;
	CHECK_EQ(st, st_strangers_come(st, socks), 0,
		 "strangers connect who say nothing");
	CHECK_EQ(st, st_pair_open(&p, st, NULL), 0,
		 "somebody else is let in at once");
	CHECK(st, st_strangers_gone(socks) > 0, "at the cost of strangers");
	CHECK(st,
	      socks[STRANGERS - 1] &&
		      socks[STRANGERS - 1]->sk->sk_state == TCP_ESTABLISHED,
	      "the last of them is still waited for");
	st_pair_close(&p);
	for (i = 0; i < STRANGERS; i++)
		if (socks[i])
			sock_release(socks[i]);
	kfree(socks);
}
