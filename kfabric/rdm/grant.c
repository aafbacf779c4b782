// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: grants: a peer that asks for a region again and again gets the
 * key that the device below has for it, and reaches it without this end's engine,
 * until the region closes or the connection is idle.
 *
 * Each grant is a registration of its own, below, which belongs to one connection:
 * what one peer does not give back ends that one's connection and nothing else, and
 * closing it below is the fence in any case.
 *
 * Context: the engine, as a work; kfir_grant_hint() and kfir_grant_returned(): any
 *	owner; kfir_grants_revoke(): who closes a region. Registering may wait for
 *	the peer, as it is behind what the queue pair has to send, and so has a work
 *	of its own.
 * Locking: a region's grants under kfir_domain.mr_lock, under which kfir_ep.lock is
 *	taken; that protects what the engine is told of them.
 * Lifetime: of_mr keeps the region's close waiting, and with it the region; the
 *	engine takes a grant off when nothing below knows it any more. A connection
 *	ends its grants before its inner endpoint.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rdm.h"

/*
 * Requests for a region until its key is granted; twice as many each time when there was
 * nothing to be granted, as of regions that the device below cannot have.
 */
#define KFIR_GRANT_AFTER 4U
#define KFIR_GRANT_MOST	 4096U
#define KFIR_RETURN_MS \
	10000 /* for its return, where operations have no limit */

/* A key that a peer has, or is to have. */
struct kfir_grant {
	struct list_head of_conn; /* kfir_conn.granted; the engine's */
	struct list_head of_mr; /* kfir_mr.grants; under mr_lock */
	struct kfir_conn *conn;
	struct kfir_mr *region;
	u64 key; /* of the region */
	struct work_struct work; /* registers it */
	struct fid_mr *inner; /* the work's, until it is ready */
	struct rdmw_grant said; /* the work's, until it is ready */
	bool told; /* the peer was sent it */
	bool asked; /* and that it is to be returned */
	bool returned;
	unsigned long until; /* jiffies: to be returned; 0: not yet */

	struct list_head news; /* kfir_ep.grant_news; under kfir_ep.lock, too: */
	bool ready; /* registered, or not to be had */
	bool back; /* to be returned */
};

static void kfir_grant_tell_engine_locked(struct kfir_grant *g)
{
	struct kfir_ep *ep = g->conn->ep;

	lockdep_assert_held(&ep->lock);
	if (list_empty(&g->news))
		list_add_tail(&g->news, &ep->grant_news);
	kfir_kick_locked(ep);
}

/* ---- registering ---------------------------------------------------------- */

/* An address that has the offset in its page and tells no peer of ours. */
static u64 kfir_grant_addr(const struct fi_buf *buf)
{
	struct kfi_buf_iter it;
	struct kfi_seg seg;

	kfi_buf_start(&it, buf);
	if (!kfi_buf_next(&it, PAGE_SIZE, &seg))
		return 0;
	return PAGE_SIZE + offset_in_page(seg.offset);
}

static int kfir_grant_open(struct kfir_grant *g)
{
	const struct fi_mr_attr *like = &g->region->t.attr;
	struct fid_domain *inner = kfir_domain_of(g->conn->ep)->inner;
	/* Nobody guesses it, where it is not the device that chooses. */
	const struct fi_mr_attr attr = { .buf = like->buf,
					 /* Atomic operations are requests. */
					 .access = like->access & ~FI_ATOMIC,
					 .iova = kfir_grant_addr(&like->buf),
					 .requested_key = get_random_u64() };
	struct fid_mr *mr;
	int ret = fi_mr_regattr(inner, &attr, 0, &mr);

	if (ret)
		return ret;
	if (inner->mr_mode & FI_MR_ENDPOINT)
		ret = fi_mr_bind(mr, &g->conn->inner->fid, 0);
	ret = ret ?: fi_mr_enable(mr);
	if (ret) {
		fi_close(&mr->fid);
		return ret;
	}
	g->inner = mr;
	g->said = (struct rdmw_grant){
		.key = g->key,
		.native_key = fi_mr_key(mr),
		.addr = mr->iova,
		.len = mr->len,
	};
	if (attr.access & FI_REMOTE_READ)
		g->said.access |= RDMW_MAY_READ;
	if (attr.access & FI_REMOTE_WRITE)
		g->said.access |= RDMW_MAY_WRITE;
	return 0;
}

static void kfir_grant_register(struct work_struct *work)
{
	struct kfir_grant *g = container_of(work, struct kfir_grant, work);
	struct kfir_ep *ep = g->conn->ep;
	unsigned int noio = memalloc_noio_save();
	int ret = kfir_grant_open(g);

	/* In too many places for the device, or for rights that it does not have. */
	if (ret == -E2BIG || ret == -EINVAL || ret == -EOPNOTSUPP ||
	    ret == -ENOSYS)
		WRITE_ONCE(g->region->plain, true);
	memalloc_noio_restore(noio);
	spin_lock_irq(&ep->lock);
	g->ready = true;
	kfir_grant_tell_engine_locked(g);
	spin_unlock_irq(&ep->lock);
}

static bool kfir_is_granted(const struct kfir_conn *conn, u64 key)
{
	const struct kfir_grant *g;

	list_for_each_entry(g, &conn->granted, of_conn)
		if (g->key == key)
			return true;
	return false;
}

static struct kfir_hint *kfir_hint_of(struct kfir_conn *conn, u64 key)
{
	return &conn->hints[hash_64(key, ilog2(KFIR_HINTS))];
}

/* What the device below has had may be had as soon again, and else later each time. */
static void kfir_hint_result(struct kfir_conn *conn, u64 key, bool had)
{
	struct kfir_hint *hint = kfir_hint_of(conn, key);

	if (hint->key != key)
		return;
	if (had)
		hint->due = 0;
	else
		hint->due = min(2 * max(hint->due, KFIR_GRANT_AFTER),
				KFIR_GRANT_MOST);
}

/* From here on the region does not close without it. -ENOENT: it has. */
static int kfir_grant_link(struct kfir_grant *g)
{
	const struct fi_rma_iov any = { .key = g->key };
	struct kfir_domain *d = kfir_domain_of(g->conn->ep);
	struct kfi_table_mr *t;
	int ret = 0;

	write_lock_bh(&d->mr_lock);
	t = kfi_mr_table_find(&d->mrs, &any, FI_REMOTE_READ | FI_REMOTE_WRITE);
	g->region = IS_ERR(t) ? NULL : container_of(t, struct kfir_mr, t);
	if (!g->region)
		ret = -ENOENT;
	else if (g->region->plain)
		ret = -EOPNOTSUPP;
	else
		list_add_tail(&g->of_mr, &g->region->grants);
	write_unlock_bh(&d->mr_lock);
	return ret;
}

static int kfir_grant_begin(struct kfir_conn *conn)
{
	struct kfir_grant *g;
	int ret;

	if (conn->nr_granted == RDMW_GRANTS_MAX)
		return -ENOSPC;
	g = kzalloc(sizeof(*g), GFP_KERNEL | __GFP_NOWARN);
	if (!g)
		return -ENOMEM;
	g->conn = conn;
	g->key = conn->wanted_key;
	INIT_WORK(&g->work, kfir_grant_register);
	INIT_LIST_HEAD(&g->news);
	ret = kfir_grant_link(g);
	if (ret) {
		kfree(g);
		return ret;
	}
	list_add_tail(&g->of_conn, &conn->granted);
	conn->nr_granted++;
	queue_work(kfir_wq, &g->work);
	return 0;
}

/* The peer was let have what it asked for: is it to have the key? */
void kfir_grant_hint(struct kfir_conn *conn, u64 key)
{
	struct kfir_hint *hint = kfir_hint_of(conn, key);

	if (hint->key != key)
		*hint = (struct kfir_hint){ .key = key };
	if (!(conn->flow.features & RDMW_FEATURE_GRANT) ||
	    ++hint->asked < max(hint->due, KFIR_GRANT_AFTER))
		return;
	hint->asked = 0;
	if (kfir_is_granted(conn, key))
		return;
	conn->wants_grant = true;
	conn->wanted_key = key;
	kfir_touch(conn);
}

/* ---- the end --------------------------------------------------------------- */

/* When this returns the device below does not know it any more. */
static void kfir_grant_end(struct kfir_grant *g)
{
	struct kfir_ep *ep = g->conn->ep;
	struct kfir_domain *d = kfir_domain_of(ep);
	bool had;

	cancel_work_sync(&g->work);
	had = g->inner;
	if (had)
		fi_close(&g->inner->fid);
	write_lock_bh(&d->mr_lock);
	list_del(&g->of_mr);
	write_unlock_bh(&d->mr_lock);
	wake_up_all(&d->grants_gone);
	/* The region tells nothing more of it. */
	spin_lock_irq(&ep->lock);
	list_del(&g->news);
	spin_unlock_irq(&ep->lock);
	list_del(&g->of_conn);
	g->conn->nr_granted--;
	/* The device may not have been asked for what is to be returned. */
	if (had || !g->back)
		kfir_hint_result(g->conn, g->key, had);
	kfree(g);
}

/* What registers is behind what the peer does not take, and ends with that. */
void kfir_grants_end(struct kfir_conn *conn)
{
	struct kfir_grant *g, *next;

	list_for_each_entry(g, &conn->granted, of_conn)
		if (!READ_ONCE(g->ready)) {
			fi_shutdown(conn->inner, 0);
			break;
		}
	list_for_each_entry_safe(g, next, &conn->granted, of_conn)
		kfir_grant_end(g);
}

/* A region closes, which no request finds any more: take its grants back. */
void kfir_grants_revoke(struct kfir_domain *d, struct kfir_mr *region)
{
	struct kfir_grant *g;
	unsigned long irq;

	lockdep_assert_held_write(&d->mr_lock);
	list_for_each_entry(g, &region->grants, of_mr) {
		spin_lock_irqsave(&g->conn->ep->lock, irq);
		g->back = true;
		kfir_grant_tell_engine_locked(g);
		spin_unlock_irqrestore(&g->conn->ep->lock, irq);
	}
}

/* The connection is idle, for all that its engine has seen. */
void kfir_grants_take_back(struct kfir_conn *conn)
{
	struct kfir_grant *g;

	spin_lock_irq(&conn->ep->lock);
	list_for_each_entry(g, &conn->granted, of_conn)
		g->back = true;
	spin_unlock_irq(&conn->ep->lock);
	conn->grants_due = true;
	kfir_touch(conn);
}

/* The flow has seen to it that it is the one that was revoked. */
void kfir_grant_returned(struct kfir_conn *conn, u64 key)
{
	struct kfir_grant *g;

	list_for_each_entry(g, &conn->granted, of_conn)
		if (g->asked && g->key == key)
			g->returned = true;
	conn->grants_due = true;
	kfir_touch(conn);
}

/* Has the peer kept one for too long? */
bool kfir_grants_are_late(const struct kfir_conn *conn)
{
	const struct kfir_grant *g;

	list_for_each_entry(g, &conn->granted, of_conn)
		if (g->until && time_after(jiffies, g->until))
			return true;
	return false;
}

/* ---- telling the peer ------------------------------------------------------- */

/* False: not now; the connection is looked at again when something has gone. */
static bool kfir_grant_send(struct kfir_grant *g)
{
	const struct rdmw_message message = { .kind = RDMW_GRANT,
					      .total = RDMW_GRANT_BYTES };
	struct kfir_conn *conn = g->conn;
	struct rdmw_flow flow = conn->flow;
	struct kfir_slot *slot;
	struct fi_buf buf;

	if (!g->told &&
	    (kfir_is_mid_message(conn) ||
	     rdmw_flow_may_send(&flow, RDMW_GRANT) < RDMW_GRANT_BYTES))
		return false;
	slot = kfir_slot_get(conn);
	if (!slot)
		return false;
	buf = fi_buf_linear(slot->bytes, RDMW_HEADER_BYTES);
	if (!g->told) {
		rdmw_flow_data(&flow, &message, 0, RDMW_GRANT_BYTES,
			       slot->bytes);
		rdmw_grant_pack(&g->said, slot->bytes + RDMW_HEADER_BYTES);
		buf.len += RDMW_GRANT_BYTES;
	} else if (!rdmw_flow_revoke(&flow, g->key, slot->bytes)) {
		kfir_slot_put(slot);
		return false;
	}
	if (kfir_slot_send(slot, &buf, NULL))
		return false;
	conn->flow = flow;
	g->asked = g->told;
	g->told = true;
	return true;
}

/*
 * When it is to be returned at the latest: writes are before the answer, on a link that
 * may be slow, or lose a packet.
 */
static unsigned long kfir_grant_limit(const struct kfir_ep *ep)
{
	u32 ms = kfir_op_timeout_ms(ep) ?: KFIR_RETURN_MS;

	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

static void kfir_grant_look(struct kfir_grant *g)
{
	struct kfir_conn *conn = g->conn;
	bool ready, back, was_asked = g->asked;

	spin_lock_irq(&conn->ep->lock);
	ready = g->ready;
	back = g->back;
	spin_unlock_irq(&conn->ep->lock);
	if (back && !g->until)
		g->until = kfir_grant_limit(conn->ep);
	if (g->returned || (ready && (!g->inner || (back && !g->told)))) {
		kfir_grant_end(g);
		return;
	}
	if (ready && (back ? !g->asked : !g->told))
		conn->grants_due |= !kfir_grant_send(g);
	/* What it waited for here is no delay of the peer's. */
	if (g->asked && !was_asked)
		g->until = kfir_grant_limit(conn->ep);
}

/* The engine is told of some. */
void kfir_take_grants(struct kfir_ep *ep)
{
	struct kfir_grant *g;

	spin_lock_irq(&ep->lock);
	while ((g = list_first_entry_or_null(&ep->grant_news, struct kfir_grant,
					     news))) {
		list_del_init(&g->news);
		g->conn->grants_due = true;
		kfir_touch(g->conn);
	}
	spin_unlock_irq(&ep->lock);
}

/* What is due for them takes memory, and sleep. */
void kfir_grants_look(struct kfir_conn *conn)
{
	struct kfir_grant *g, *next;
	bool wants_grant;
	int ret;

	if (!conn->wants_grant && !conn->grants_due)
		return;
	if (!kfir_may_sleep(conn->ep)) {
		kfir_touch(conn);
		conn->ep->left = true;
		return;
	}
	if (conn->broken || conn->state != KFIR_UP)
		return;
	wants_grant = conn->wants_grant;
	conn->wants_grant = false;
	if (wants_grant && !conn->leaving &&
	    !kfir_is_granted(conn, conn->wanted_key)) {
		ret = kfir_grant_begin(conn);
		/*
		 * Memory may be short: then it goes on as it did. A region that is
		 * gone tells nothing of the next one of its key.
		 */
		if (ret && ret != -ENOENT)
			kfir_hint_result(conn, conn->wanted_key, false);
	}
	conn->grants_due = false;
	list_for_each_entry_safe(g, next, &conn->granted, of_conn)
		kfir_grant_look(g);
}
