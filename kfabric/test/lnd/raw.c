// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer of kfabric_lnd that is none: an endpoint alone, over which any message is said.
 *
 * Context: process, by one thread; completions come as upcalls, and only tell that an
 * operation is over.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfabric/fi_errno.h>
#include <kfabric/fi_rma.h>
#include <kfabric/fi_tagged.h>

#include "lt_raw.h"

#define LT_RAW_WAIT (20 * HZ)

/* Context: upcall. */
static void lt_raw_completed(struct fid_cq *cq,
			     const struct fi_cq_err_entry *entry, void *context)
{
	struct lt_raw_op *op =
		container_of(entry->op_context, struct lt_raw_op, fi);
	struct lt_raw *raw = context;

	op->err = entry->err;
	op->len = entry->len;
	/* What is above, before it. */
	smp_store_release(&op->state, LT_RAW_OVER);
	wake_up(&raw->over);
}

static bool lt_raw_is_over(struct lt_raw_op *op)
{
	return smp_load_acquire(&op->state) == LT_RAW_OVER;
}

static int lt_raw_listen(struct lt_raw_op *op)
{
	struct fid_ep *ep = op->raw->ep;

	op->state = LT_RAW_POSTED;
	if (op->kind == LT_RAW_ANSWER)
		return fi_trecv(ep, op->buf, LNDW_MESSAGE_MAX, NULL,
				FI_ADDR_UNSPEC, 0, ~0ULL, &op->fi);
	return fi_recv(ep, op->buf, LNDW_MESSAGE_MAX, NULL, FI_ADDR_UNSPEC,
		       &op->fi);
}

static enum lt_raw_kind lt_raw_kind_of(unsigned int i)
{
	if (i == LT_RAW_OPS - 1)
		return LT_RAW_MOVE;
	return i < LT_RAW_HEARS	      ? LT_RAW_HEAR
	       : i < 2 * LT_RAW_HEARS ? LT_RAW_ANSWER
				      : LT_RAW_SAY;
}

static int lt_raw_alloc(struct lt_raw *raw)
{
	size_t bytes = offsetof(struct lt_raw_op, fi) +
		       raw->info->domain_attr->op_context_size;
	unsigned int i;

	for (i = 0; i < LT_RAW_OPS; i++) {
		struct lt_raw_op *op = kzalloc(round_up(bytes, 8), GFP_KERNEL);

		if (!op)
			return -ENOMEM;
		raw->ops[i] = op;
		op->raw = raw;
		op->kind = lt_raw_kind_of(i);
		op->buf = kzalloc(LNDW_MESSAGE_MAX, GFP_KERNEL);
		if (!op->buf)
			return -ENOMEM;
	}
	return 0;
}

static int lt_raw_find(struct lt_raw *raw, const char *prov, const char *node,
		       unsigned int port)
{
	struct fi_info *hints = fi_allocinfo();
	char service[8];
	int ret;

	if (!hints)
		return -ENOMEM;
	snprintf(service, sizeof(service), "%u", port);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup(prov, GFP_KERNEL);
	ret = hints->fabric_attr->prov_name ? 0 : -ENOMEM;
	ret = ret
		      ?: fi_getinfo(FI_VERSION(1, 0), node, service, FI_SOURCE,
				    hints, &raw->info);
	fi_freeinfo(hints);
	return ret;
}

static int lt_raw_enable(struct lt_raw *raw)
{
	struct fi_cq_attr cq = { .comp_handler = lt_raw_completed };
	int ret;

	ret = fi_fabric(raw->info->fabric_attr, &raw->fabric, raw);
	ret = ret ?: fi_domain(raw->fabric, raw->info, &raw->domain, raw);
	ret = ret ?: fi_cq_open(raw->domain, &cq, &raw->cq, raw);
	ret = ret ?: fi_av_open(raw->domain, NULL, &raw->av, raw);
	ret = ret ?: fi_endpoint(raw->domain, raw->info, &raw->ep, raw);
	ret = ret ?: fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(raw->ep, &raw->av->fid, 0);
	return ret ?: fi_enable(raw->ep);
}

/* A deaf one takes nothing that it is sent. */
int lt_raw_open(struct lt_raw *raw, const char *prov, const char *node,
		unsigned int port, unsigned int peer_port, bool is_deaf)
{
	char service[8];
	unsigned int i;
	int ret;

	init_waitqueue_head(&raw->over);
	snprintf(service, sizeof(service), "%u", peer_port);
	ret = lt_raw_find(raw, prov, node, port);
	ret = ret ?: lt_raw_alloc(raw);
	ret = ret ?: lt_raw_enable(raw);
	for (i = 0; !ret && !is_deaf && i < 2 * LT_RAW_HEARS; i++)
		ret = lt_raw_listen(raw->ops[i]);
	if (!ret &&
	    fi_av_insertsvc(raw->av, node, service, &raw->addr, 0, NULL) != 1)
		ret = -EADDRNOTAVAIL;
	return ret;
}

static void lt_raw_close_fid(struct kfid *fid)
{
	WARN_ON_ONCE(fi_close(fid));
}

/* Also of what was opened in part. */
void lt_raw_close(struct lt_raw *raw)
{
	unsigned int i;

	if (raw->ep)
		lt_raw_close_fid(&raw->ep->fid);
	if (raw->cq)
		lt_raw_close_fid(&raw->cq->fid);
	if (raw->av)
		lt_raw_close_fid(&raw->av->fid);
	if (raw->domain)
		lt_raw_close_fid(&raw->domain->fid);
	if (raw->fabric)
		lt_raw_close_fid(&raw->fabric->fid);
	fi_freeinfo(raw->info);
	for (i = 0; i < LT_RAW_OPS && raw->ops[i]; i++) {
		kfree(raw->ops[i]->buf);
		kfree(raw->ops[i]);
	}
}

/* A message that keeps all rules, of a transaction that none was before. */
struct lndw_msg lt_raw_msg(struct lt_raw *raw, enum lndw_kind kind)
{
	struct lndw_msg msg = {
		.kind = kind,
		.src_nid = raw->nid,
		.dst_nid = raw->peer,
		.src_incarnation = raw->incarnation,
		.dst_incarnation = raw->peer_incarnation,
		.floor = raw->seq + 1,
		.credits = LNDW_CREDITS_MAX,
	};

	if (!lndw_is_request(kind))
		return msg;
	msg.seq = ++raw->seq;
	if (kind != LNDW_PING)
		msg.left_ms = 10000;
	return msg;
}

/* Return: one that is not in use, or NULL. */
static struct lt_raw_op *lt_raw_free(struct lt_raw *raw)
{
	unsigned int i;

	for (i = 2 * LT_RAW_HEARS; i < LT_RAW_OPS - 1; i++)
		if (raw->ops[i]->state == LT_RAW_IDLE ||
		    lt_raw_is_over(raw->ops[i]))
			return raw->ops[i];
	return NULL;
}

/* An operation to say a message with, which may be made another one; NULL: none ends. */
struct lt_raw_op *lt_raw_begin(struct lt_raw *raw, const struct lndw_msg *msg)
{
	struct lt_raw_op *op;

	if (!wait_event_timeout(raw->over, (op = lt_raw_free(raw)),
				LT_RAW_WAIT))
		return NULL;
	op->state = LT_RAW_IDLE;
	op->bytes = lndw_head_bytes(msg->kind);
	lndw_encode(msg, op->buf);
	memset(op->buf + op->bytes, LT_RAW_FILLER,
	       LNDW_MESSAGE_MAX - op->bytes);
	if (msg->kind == LNDW_IMMEDIATE)
		op->bytes += msg->bytes;
	return op;
}

/* Say it by a plain send. */
int lt_raw_say(struct lt_raw_op *op)
{
	int ret;

	if (!op)
		return -ETIME;
	op->state = LT_RAW_POSTED;
	ret = fi_send(op->raw->ep, op->buf, op->bytes, NULL, op->raw->addr,
		      &op->fi);
	if (ret)
		op->state = LT_RAW_IDLE;
	return ret;
}

int lt_raw_say_tagged(struct lt_raw_op *op, u64 tag)
{
	int ret;

	if (!op)
		return -ETIME;
	op->state = LT_RAW_POSTED;
	ret = fi_tsend(op->raw->ep, op->buf, op->bytes, NULL, op->raw->addr,
		       tag, &op->fi);
	if (ret)
		op->state = LT_RAW_IDLE;
	return ret;
}

/* Say a message by the way that its kind takes. */
int lt_raw_tell(struct lt_raw *raw, const struct lndw_msg *msg)
{
	struct lt_raw_op *op = lt_raw_begin(raw, msg);

	return lndw_is_answer(msg->kind) ? lt_raw_say_tagged(op, msg->seq)
					 : lt_raw_say(op);
}

/* Is it there? What is something else is forgotten. */
bool lt_raw_has_heard(struct lt_raw *raw, enum lndw_kind kind, u64 seq,
		      struct lndw_msg *msg)
{
	struct lt_raw_op *op;
	unsigned int i;
	bool is_it;

	for (i = 0; i < 2 * LT_RAW_HEARS; i++) {
		op = raw->ops[i];
		if (!lt_raw_is_over(op))
			continue;
		is_it = !op->err && !lndw_decode(op->buf, op->len, msg) &&
			msg->kind == kind && (!seq || msg->seq == seq);
		lt_raw_listen(op);
		if (is_it)
			return true;
	}
	return false;
}

/* Wait for a message of this kind and number; 0: of any number. */
bool lt_raw_hear(struct lt_raw *raw, enum lndw_kind kind, u64 seq,
		 struct lndw_msg *msg)
{
	return wait_event_timeout(
		raw->over, lt_raw_has_heard(raw, kind, seq, msg), LT_RAW_WAIT);
}

/* Wait for a request that was not heard before: they are repeated. */
bool lt_raw_hear_new(struct lt_raw *raw, enum lndw_kind kind,
		     struct lndw_msg *msg)
{
	do {
		if (!lt_raw_hear(raw, kind, 0, msg))
			return false;
	} while (msg->seq <= raw->heard);
	raw->heard = msg->seq;
	return true;
}

/* Read or write the peer's memory. Return: 0; how it ended; -ETIME it did not. */
int lt_raw_move(struct lt_raw *raw, bool is_write, u64 key, void *bytes,
		size_t len)
{
	struct lt_raw_op *op = raw->ops[LT_RAW_OPS - 1];
	ssize_t ret;

	op->state = LT_RAW_POSTED;
	ret = is_write ? fi_write(raw->ep, bytes, len, NULL, raw->addr, 0, key,
				  &op->fi)
		       : fi_read(raw->ep, bytes, len, NULL, raw->addr, 0, key,
				 &op->fi);
	if (ret)
		return ret;
	return wait_event_timeout(raw->over, lt_raw_is_over(op), LT_RAW_WAIT)
		       ? -op->err
		       : -ETIME;
}
