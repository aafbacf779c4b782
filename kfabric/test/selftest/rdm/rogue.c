// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a peer of unconnected endpoints by the provider below them, which says
 * what it likes.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define ROGUE_PORT 0x0109 /* that it says it listens on */

static void st_rogue_close_ep(struct st_rogue *x)
{
	if (x->ep)
		fi_close(&x->ep->fid);
	if (x->cq)
		fi_close(&x->cq->fid);
	x->ep = NULL;
	x->cq = NULL;
}

/* It may be opened again. */
void st_rogue_close(struct st_rogue *x)
{
	st_rogue_close_ep(x);
	if (x->pep)
		fi_close(&x->pep->fid);
	if (x->eq)
		fi_close(&x->eq->fid);
	if (x->domain)
		fi_close(&x->domain->fid);
	if (x->fabric)
		fi_close(&x->fabric->fid);
	fi_freeinfo(x->info);
	memset(x, 0, sizeof(*x));
}

int st_rogue_ask(struct st *st, u16 port, u64 flags, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	char service[8];
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(st->provider + 4, GFP_KERNEL);
	snprintf(service, sizeof(service), "%u", port);
	ret = fi_getinfo(FI_VERSION(1, 0), st->node, service, flags, hints,
			 info);
	fi_freeinfo(hints);
	return ret;
}

int st_rogue_open(struct st_rogue *x, struct st *st, u16 port)
{
	int ret = st_rogue_ask(st, port, 0, &x->info);

	ret = ret ?: fi_fabric(x->info->fabric_attr, &x->fabric, x);
	ret = ret ?: fi_eq_open(x->fabric, NULL, &x->eq, x);
	return ret ?: fi_domain(x->fabric, x->info, &x->domain, x);
}

/* Begin to connect with some hello. */
int st_rogue_dial(struct st_rogue *x, const u8 *hello, size_t len)
{
	int ret;

	st_rogue_close_ep(x);
	ret = fi_cq_open(x->domain, NULL, &x->cq, x);
	ret = ret ?: fi_endpoint(x->domain, x->info, &x->ep, x);
	ret = ret ?: fi_ep_bind(x->ep, &x->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(x->ep, &x->eq->fid, 0);
	return ret ?: fi_connect(x->ep, NULL, hello, len);
}

/* Connect with some hello; the event that comes, or a failure's error. */
int st_rogue_connect(struct st_rogue *x, const u8 *hello, size_t len)
{
	int ret = st_rogue_dial(x, hello, len);
	struct st_event ev;
	ssize_t n;

	if (ret)
		return ret;
	n = st_event_wait(x->eq, &ev, ST_WAIT_MS);
	return n < 0 ? n : ev.event;
}

/* A hello as docs/kfabric-rdm.md has it, of an address that need not be said. */
void st_rogue_hello(u8 *hello, u8 serial)
{
	static const u8 sound[ST_HELLO_LEN] = {
		1, 1, 52, 0, 0, 0, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 1,
		0, 0, 0,  0, 0, 0, 0, 8, 0,    0, 2, 0, 0, 0, 0, 0, 0,
		0, 0, 0,  0, 0, 0, 0, 0, 0,    0, 0, 0, 0, 0, 9, 1,
	};

	memcpy(hello, sound, ST_HELLO_LEN);
	hello[16] = serial;
}

/* One of this host, which may be answered: its name is that of another but the port. */
void st_rogue_name(u8 *hello, u8 serial, struct sockaddr_in6 *name)
{
	st_rogue_hello(hello, serial);
	if (name->sin6_family == AF_INET6) {
		memcpy(hello + 32, &name->sin6_addr, 16);
	} else {
		memset(hello + 42, 0xff, 2);
		memcpy(hello + 44, &((struct sockaddr_in *)name)->sin_addr, 4);
	}
	name->sin6_port = cpu_to_be16(ROGUE_PORT);
}

/*
 * Say something after a sound hello, with completion data or none; the connection
 * must end.
 */
bool st_rogue_says_with(struct st_rogue *x, u8 serial, u8 features,
			const u8 *bytes, size_t len, const u32 *data,
			struct st_op *op)
{
	struct fi_msg msg = { .buf = fi_buf_linear(bytes, len),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->ctx,
			      .data = data ? *data : 0 };
	u8 hello[ST_HELLO_LEN];
	struct st_event ev;

	st_rogue_hello(hello, serial);
	hello[4] = features;
	if (st_rogue_connect(x, hello, sizeof(hello)) != FI_CONNECTED)
		return false;
	st_op_reset(op);
	if (fi_sendmsg(x->ep, &msg, data ? FI_REMOTE_CQ_DATA : 0))
		return false;
	return st_event_wait(x->eq, &ev, ST_WAIT_MS) >= 0 &&
	       ev.event == FI_SHUTDOWN;
}

bool st_rogue_says(struct st_rogue *x, u8 serial, u8 features, const u8 *bytes,
		   size_t len, struct st_op *op)
{
	return st_rogue_says_with(x, serial, features, bytes, len, NULL, op);
}

/* A message of the connection below; 0 when it is sent. */
int st_rogue_send(struct st_rogue *x, struct st_op *op, const u8 *bytes,
		  size_t len)
{
	struct fi_msg msg = { .buf = fi_buf_linear(bytes, len),
			      .addr = FI_ADDR_UNSPEC,
			      .context = &op->ctx };
	int ret;

	st_op_reset(op);
	ret = fi_sendmsg(x->ep, &msg, 0);
	return st_op_result(x->cq, op, ret);
}

/* Post a receive of the connection below for what it has not taken yet; its length. */
ssize_t st_rogue_take(struct st_rogue *x, struct st_op *op, u8 *buf)
{
	int ret;

	st_op_reset(op);
	ret = fi_recv(x->ep, buf, ST_ROOM_BASE, NULL, FI_ADDR_UNSPEC, &op->ctx);
	ret = st_op_result(x->cq, op, ret);
	return ret ? -ret : op->entry.len;
}

bool st_objects_fall(const struct kfi_provider *prov, int to)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);

	while (atomic_read(&prov->nr_objects) > to) {
		if (time_after(jiffies, end))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}
