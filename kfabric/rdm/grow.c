// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: windows that grow: more buffers to receive for a peer that sends
 * steadily and is sent nothing, so that credits need messages of their own. Half of a
 * window goes back with each, so that a large one needs few.
 *
 * A window does not shrink: buffers that the inner provider has are its own until
 * something comes into them. They go with the connection, which is closed when it is
 * idle; and an endpoint has only so many of them.
 *
 * Context: the engine; memory is the work's.
 */
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "rdm.h"

/* So many messages of credits within the time are steady traffic. */
#define KFIR_STEADY    8
#define KFIR_STEADY_MS 100

/*
 * Growing is the work's, for which messages wait. So when there was nothing to grow by it
 * is tried again after twice as many times of steady traffic, up to these.
 */
#define KFIR_GROW_MOST 1024U

/* Of who can do without. */
#define KFIR_GFP (GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)

static size_t kfir_grown_cost(const struct kfir_conn *conn)
{
	return KFIR_MORE_SLOTS *
	       (conn->stride + (PAGE_SIZE << get_order(KFIR_PIECE_BYTES)));
}

/* A message of credits was sent: are there so many that a larger window is worth it? */
void kfir_credits_left(struct kfir_conn *conn)
{
	const unsigned long ms = msecs_to_jiffies(KFIR_STEADY_MS);

	if (!rdmw_flow_may_grow(&conn->flow))
		return;
	if (time_after(jiffies, conn->steady_at + ms)) {
		conn->steady_at = jiffies;
		conn->nr_credits = 0;
	}
	if (++conn->nr_credits < KFIR_STEADY)
		return;
	conn->nr_credits = 0;
	if (++conn->nr_steady < conn->grow_due)
		return;
	conn->nr_steady = 0;
	conn->wants_room = true;
	kfir_touch(conn);
}

static void kfir_slots_drop(const struct kfir_conn *conn, void *slots)
{
	kfir_rx_pages_free(conn, slots, KFIR_MORE_SLOTS);
	kvfree(slots);
}

void kfir_grown_free(struct kfir_conn *conn)
{
	if (conn->more)
		conn->ep->grown_bytes -= kfir_grown_cost(conn);
	kfir_slots_drop(conn, conn->more);
	conn->more = NULL;
}

/* NULL: there is no memory, and it is done without. */
static noinline __noclone void *kfir_more_slots(struct kfir_conn *conn)
{
	void *slots = kvcalloc(KFIR_MORE_SLOTS, conn->stride, KFIR_GFP);
	struct kfir_slot *slot;
	int i;

	if (!slots)
		return NULL;
	if (kfir_rx_pages_alloc(conn, slots, KFIR_MORE_SLOTS, KFIR_GFP)) {
		kfir_slots_drop(conn, slots);
		return NULL;
	}
	for (i = 0; i < KFIR_MORE_SLOTS; i++) {
		slot = kfir_slot_of(conn, slots, i);
		slot->conn = conn;
		slot->rx = true;
		INIT_LIST_HEAD(&slot->node);
	}
	return slots;
}

/*
 * Post what the window grows by, as much as is taken now, and have the next message of
 * credits tell. Return: how much; negative: why the connection is to end.
 */
static noinline __noclone int kfir_post_more(struct kfir_conn *conn)
{
	u16 most = rdmw_flow_may_grow(&conn->flow), n = 0;
	int ret = 0;

	most = min_t(u16, most, KFIR_MORE_SLOTS - conn->nr_more);
	while (n < most && !ret) {
		ret = kfir_post_slot(
			kfir_slot_of(conn, conn->more, conn->nr_more + n));
		n += !ret;
	}
	rdmw_flow_grow(&conn->flow, n);
	conn->nr_more += n;
	return ret && ret != -FI_EAGAIN ? ret : n;
}

void kfir_grow(struct kfir_conn *conn)
{
	const size_t cost = kfir_grown_cost(conn);
	struct kfir_ep *ep = conn->ep;
	int n;

	if (!kfir_may_sleep(ep)) {
		kfir_touch(conn);
		ep->left = true;
		return;
	}
	conn->wants_room = false;
	if (conn->broken || conn->state != KFIR_UP || conn->leaving)
		return;
	if (!conn->more && ep->grown_bytes + cost <= KFIR_EP_GROWN_BYTES) {
		conn->more = kfir_more_slots(conn);
		if (conn->more)
			ep->grown_bytes += cost;
	}
	n = conn->more ? kfir_post_more(conn) : 0;
	if (n < 0)
		kfir_conn_break(conn, -n);
	conn->grow_due =
		n ? 0 : min(2 * max(conn->grow_due, 1U), KFIR_GROW_MOST);
	/* Others may have use for it. */
	if (!conn->nr_more)
		kfir_grown_free(conn);
}
