// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: connect, accept, reject, with private data of all lengths.
 */
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

static void st_connect_accept(struct st *st, size_t len)
{
	static u8 hello[FI_CM_DATA_MAX], reply[FI_CM_DATA_MAX];
	struct st_opts opts = { .connect_data = hello,
				.connect_len = len,
				.accept_data = reply,
				.accept_len = len };
	struct st_pair p;

	st_fill(hello, len, 1);
	st_fill(reply, len, 2);
	if (CHECKF(st, !st_pair_open(&p, st, &opts),
		   "a connection with %zu bytes of private data comes up",
		   len)) {
		CHECKF(st, p.b_len == len && st_holds(p.b_data, len, 1),
		       "%zu bytes came with the request", len);
		CHECKF(st, p.a_len == len && st_holds(p.a_data, len, 2),
		       "%zu bytes came with the accept", len);
	}
	st_pair_close(&p);
}

static void st_connect_names(struct st *st)
{
	struct sockaddr_in6 name = {}, peer = {};
	size_t len = sizeof(name), peer_len = sizeof(peer);
	struct st_pair p;

	if (!CHECK_EQ(st, st_pair_open(&p, st, NULL), 0, "a pair connects")) {
		st_pair_close(&p);
		return;
	}
	CHECK_EQ(st, fi_ep_state(p.a), KFI_EP_CONNECTED,
		 "the active side is connected");
	CHECK_EQ(st, fi_ep_state(p.b), KFI_EP_CONNECTED,
		 "the passive side is connected");
	CHECK_EQ(st, fi_getname(&st->pep->fid, &name, &len), 0,
		 "a listener has a name");
	CHECK_EQ(st, fi_getpeer(p.a, &peer, &peer_len), 0,
		 "a connected endpoint has a peer");
	CHECK(st, name.sin6_port == peer.sin6_port, "the peer is the listener");
	len = sizeof(name);
	CHECK_EQ(st, fi_getname(&p.a->fid, &name, &len), 0,
		 "a connected endpoint has a name");
	len = 1;
	CHECK_EQ(st, fi_getname(&p.a->fid, &name, &len), -FI_ETOOSMALL,
		 "a name needs room");
	CHECK(st, len >= 16, "the room needed is told");
	CHECK_EQ(st, fi_connect(p.a, NULL, NULL, 0), -FI_EOPBADSTATE,
		 "an endpoint connects once");
	st_pair_close(&p);
}

/* Connect, and give the request's info. */
static struct fi_info *st_connect_get_request(struct st *st, struct st_pair *p)
{
	static const struct st_opts opts;
	struct fi_info *info = fi_dupinfo(st->info);
	struct st_event ev;
	int ret;

	memset(p, 0, sizeof(*p));
	p->st = st;
	if (!info)
		return NULL;
	ret = fi_eq_open(st->fabric, NULL, &p->eq, p);
	ret = ret ?: st_ep_open(p, info, false, &opts);
	ret = ret ?: fi_connect(p->a, NULL, "hi", 2);
	fi_freeinfo(info);
	if (ret || st_event_wait(st->pep_eq, &ev, ST_WAIT_MS) < 0)
		return NULL;
	return ev.info;
}

static void st_connect_reject(struct st *st)
{
	struct st_event ev;
	struct fi_info *info;
	struct st_pair p;
	struct fid_ep *ep;

	info = st_connect_get_request(st, &p);
	if (!CHECK(st, info && info->handle, "a request has a handle"))
		goto close;
	CHECK_EQ(st, fi_close(info->handle), -EINVAL,
		 "a request is not closed but answered");
	CHECK_EQ(st, fi_reject(st->pep, &st->pep->fid, NULL, 0), -EINVAL,
		 "only requests are rejected");
	CHECK_EQ(st, fi_reject(st->pep, info->handle, "no way", 6), 0,
		 "a request is rejected");
	CHECK_EQ(st, fi_reject(st->pep, info->handle, NULL, 0), -EINVAL,
		 "a request is rejected once");
	CHECK_EQ(st, st_event_wait(p.eq, &ev, ST_WAIT_MS), -ECONNREFUSED,
		 "the active side is refused");
	CHECK(st, ev.fid == &p.a->fid, "the event names the endpoint");
	CHECK(st, ev.len == 6 && !memcmp(ev.data, "no way", 6),
	      "the reject's private data arrives");
	CHECK_EQ(st, fi_ep_state(p.a), KFI_EP_SHUTDOWN,
		 "a refused endpoint is shut down");
	CHECK_EQ(st, fi_connect(p.a, NULL, NULL, 0), -FI_EOPBADSTATE,
		 "a refused endpoint does not connect again");
	if (!fi_endpoint(st->target, info, &ep, NULL)) {
		CHECK(st, fi_accept(ep, NULL, 0) < 0,
		      "a rejected request is not accepted");
		fi_close(&ep->fid);
	}
close:
	fi_freeinfo(info);
	st_pair_close(&p);
}

/* Answers that are given by letting go. */
static void st_connect_dropped(struct st *st)
{
	struct st_event ev;
	struct fi_info *info;
	struct fid_ep *ep;
	struct st_pair p;

	info = st_connect_get_request(st, &p);
	CHECK(st, info, "a request arrives");
	fi_freeinfo(info);
	CHECK_EQ(st, st_event_wait(p.eq, &ev, ST_WAIT_MS), -ECONNREFUSED,
		 "a request whose info is freed is rejected");
	st_pair_close(&p);

	info = st_connect_get_request(st, &p);
	if (CHECK(st, info && !fi_endpoint(st->target, info, &ep, NULL),
		  "an endpoint opens for a request"))
		CHECK_EQ(st, fi_close(&ep->fid), 0, "it closes unused");
	fi_freeinfo(info);
	CHECK_EQ(st, st_event_wait(p.eq, &ev, ST_WAIT_MS), -ECONNREFUSED,
		 "a request whose endpoint is closed is rejected");
	st_pair_close(&p);

	info = st_connect_get_request(st, &p);
	st_pair_close(&p);
	CHECK(st, info, "a request arrives whose sender gives up");
	fi_freeinfo(info);
}

static void st_connect_nobody(struct st *st)
{
	static const struct st_opts opts;
	struct fi_info *info = fi_dupinfo(st->info);
	struct st_pair p = { .st = st };
	struct sockaddr_in6 *addr;
	struct st_event ev;
	int ret;

	if (!info)
		return;
	addr = info->dest_addr;
	addr->sin6_port = cpu_to_be16(1);
	ret = fi_eq_open(st->fabric, NULL, &p.eq, NULL);
	ret = ret ?: st_ep_open(&p, info, false, &opts);
	CHECK_EQ(st, ret ?: fi_connect(p.a, NULL, NULL, 0), 0,
		 "a connection to nobody begins");
	CHECK_EQ(st, st_event_wait(p.eq, &ev, ST_WAIT_MS), -ECONNREFUSED,
		 "where nobody listens one is refused");
	CHECK_EQ(st, fi_shutdown(p.a, 0), -ENOTCONN,
		 "what never was connected is not shut down");
	fi_freeinfo(info);
	st_pair_close(&p);
}

static void st_connect_limits(struct st *st)
{
	static const struct st_opts opts;
	struct fi_info *info = fi_dupinfo(st->info);
	struct st_pair p = { .st = st };
	u8 *data = kzalloc(FI_CM_DATA_MAX + 1, GFP_KERNEL);
	struct fid_pep *twin = NULL;
	int ret;

	if (!info || !data)
		goto free;
	ret = fi_eq_open(st->fabric, NULL, &p.eq, NULL);
	ret = ret ?: st_ep_open(&p, info, false, &opts);
	CHECK_EQ(st, ret ?: fi_connect(p.a, NULL, data, p.a->cm_data_size + 1),
		 -EMSGSIZE, "too much private data is refused");
	CHECK_EQ(st, fi_accept(p.a, NULL, 0), -EINVAL,
		 "an endpoint without request accepts nothing");
	st_pair_close(&p);
	CHECK_EQ(st, fi_listen(st->pep), -FI_EOPBADSTATE,
		 "a listener listens once");
	ret = fi_passive_ep(st->fabric, st->listen_info, &twin, NULL);
	CHECK_EQ(st, ret ?: fi_listen(twin), -FI_ENOEQ,
		 "a listener needs an event queue");
	if (twin)
		CHECK_EQ(st, fi_close(&twin->fid), 0, "a listener closes");
free:
	kfree(data);
	fi_freeinfo(info);
}

/* Two listeners on one address; requests that are left when one closes. */
static void st_connect_listener(struct st *st)
{
	struct fi_info *info = fi_dupinfo(st->listen_info);
	struct fid_pep *twin = NULL;
	struct sockaddr_in6 name = {};
	size_t len = sizeof(name);
	struct fid_eq *eq = NULL;
	int ret;

	if (!info)
		return;
	ret = fi_getname(&st->pep->fid, &name, &len);
	((struct sockaddr_in6 *)info->src_addr)->sin6_port = name.sin6_port;
	ret = ret ?: fi_eq_open(st->fabric, NULL, &eq, NULL);
	ret = ret ?: fi_passive_ep(st->fabric, info, &twin, NULL);
	ret = ret ?: fi_pep_bind(twin, &eq->fid, 0);
	CHECK_EQ(st, ret ?: fi_listen(twin), -EADDRINUSE,
		 "an address has one listener");
	CHECK_EQ(st, fi_close(&eq->fid), -EBUSY,
		 "a listener's event queue does not close before it");
	if (twin)
		CHECK_EQ(st, fi_close(&twin->fid), 0, "the second one closes");
	if (eq)
		CHECK_EQ(st, fi_close(&eq->fid), 0, "and its queue");
	fi_freeinfo(info);
}

void st_test_connect(struct st *st)
{
	st_connect_accept(st, 0);
	st_connect_accept(st, 1);
	st_connect_accept(st, st->info->ep_attr->cm_data_size);
	st_connect_names(st);
	st_connect_reject(st);
	st_connect_dropped(st);
	st_connect_nobody(st);
	st_connect_limits(st);
	st_connect_listener(st);
}
