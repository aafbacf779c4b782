// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_9p: the connection of a mount and its events.
 *
 * Context: process, but where a function says otherwise.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "k9p.h"

static int k9p_conn_get_info(struct k9p_conn *conn)
{
	const struct k9p_options *o = &conn->options;
	struct fi_info *hints = fi_allocinfo();
	int ret = 0;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->max_msg_size = conn->msize;
	hints->ep_attr->cm_timeout_ms = o->timeout_s * MSEC_PER_SEC;
	hints->ep_attr->op_timeout_ms = o->timeout_s * MSEC_PER_SEC;
	hints->domain_attr->mr_mode = ~0u;
	hints->tx_attr->size = conn->n_places;
	hints->rx_attr->size = conn->n_places;
	if (o->provider) {
		hints->fabric_attr->prov_name =
			kstrdup(o->provider, GFP_KERNEL);
		ret = hints->fabric_attr->prov_name ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = fi_getinfo(FI_VERSION(1, 0), o->node, o->port, 0, hints,
				 &conn->info);
	fi_freeinfo(hints);
	return ret;
}

/* Calls and receives with the memory that the fabric wants behind them. */
static int k9p_conn_alloc(struct k9p_conn *conn)
{
	struct k9p_recv *recv;
	u32 i;

	conn->op_bytes =
		round_up(max(offsetof(struct k9p_call, fi),
			     offsetof(struct k9p_recv, fi)) +
				 conn->info->domain_attr->op_context_size,
			 8);
	conn->calls = kvcalloc(conn->n_places, conn->op_bytes, GFP_KERNEL);
	conn->recvs = kvcalloc(conn->n_places, conn->op_bytes, GFP_KERNEL);
	if (!conn->calls || !conn->recvs)
		return -ENOMEM;
	for (i = 0; i < conn->n_places; i++) {
		recv = k9p_conn_recv(conn, i);
		/* One segment: pages that follow each other. */
		recv->data = kmalloc(conn->msize, GFP_KERNEL | __GFP_NOWARN);
		if (!recv->data)
			return -ENOMEM;
	}
	return 0;
}

/* Context: posting. Once the connection is over a receive is no use. */
int k9p_conn_post_recv(struct k9p_conn *conn, struct k9p_recv *recv)
{
	return fi_recv(conn->ep, recv->data, conn->msize, NULL, FI_ADDR_UNSPEC,
		       &recv->fi);
}

/* The answer to the request: what the other end can do is no more than what was asked. */
static int k9p_conn_accepted(struct k9p_conn *conn, const u8 *data, size_t len)
{
	const struct k9pw_hello *hello = (const struct k9pw_hello *)data;
	u32 msize, depth;

	if (len < sizeof(*hello) ||
	    memcmp(hello->magic, K9PW_MAGIC, K9PW_MAGIC_BYTES)) {
		pr_err("kfabric_9p: %s: what accepts connections at port %s is no bridge to a 9P server\n",
		       conn->options.node, conn->options.port);
		return -EPROTO;
	}
	msize = k9pw_get32(hello->msize);
	depth = k9pw_get16(hello->depth);
	if (msize < K9PW_MSIZE_MIN || msize > conn->msize || !depth ||
	    depth > conn->depth) {
		pr_err("kfabric_9p: %s: the bridge offers messages of %u bytes, %u at one time, for %u and %u\n",
		       conn->options.node, msize, depth, conn->msize,
		       conn->depth);
		return -EPROTO;
	}
	conn->msize = msize;
	conn->depth = depth;
	return 0;
}

static void k9p_conn_events(struct work_struct *work)
{
	struct k9p_conn *conn = container_of(work, struct k9p_conn, events);
	struct fi_eq_err_entry failure;
	union fi_eq_cm_event e;
	int error;
	ssize_t n;
	u32 event;

	while ((n = fi_eq_read(conn->eq, &event, &e, sizeof(e), 0)) !=
	       -FI_EAGAIN) {
		if (n <= 0) {
			if (fi_eq_readerr(conn->eq, &failure, 0) > 0)
				k9p_call_end_all(conn, k9p_errno(-failure.err));
			continue;
		}
		error = event == FI_CONNECTED
				? k9p_conn_accepted(conn, e.entry.data,
						    n - sizeof(e.entry))
				: -ECONNRESET;
		if (error)
			k9p_call_end_all(conn, error);
		else
			complete_all(&conn->connected);
	}
	/* The other end need not wait for the mount to go. */
	if (READ_ONCE(conn->error))
		fi_shutdown(conn->ep, 0);
}

/**
 * k9p_conn_kick() - there are events, or the connection is over
 * @conn: connection
 *
 * Context: any.
 */
void k9p_conn_kick(struct k9p_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!conn->is_closing)
		schedule_work(&conn->events);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* Context: upcall. */
static void k9p_conn_has_event(struct fid_eq *eq, void *context)
{
	k9p_conn_kick(context);
}

/* Context: upcall. */
static void k9p_conn_has_space(struct fid_ep *ep, u64 dir, void *context)
{
	struct k9p_conn *conn = context;

	wake_up_all(&conn->room);
}

static int k9p_conn_open_endpoint(struct k9p_conn *conn)
{
	struct fi_space_handler space = { .fn = k9p_conn_has_space,
					  .context = conn };
	struct fi_eq_attr eq_attr = { .handler = k9p_conn_has_event };
	struct fi_cq_attr cq_attr = { .comp_handler = k9p_call_completed };
	int ret;

	ret = fi_fabric(conn->info->fabric_attr, &conn->fabric, NULL);
	ret = ret ?: fi_domain(conn->fabric, conn->info, &conn->domain, NULL);
	ret = ret ?: fi_eq_open(conn->fabric, &eq_attr, &conn->eq, conn);
	ret = ret ?: fi_cq_open(conn->domain, &cq_attr, &conn->cq, conn);
	ret = ret ?: fi_endpoint(conn->domain, conn->info, &conn->ep, conn);
	ret = ret ?: fi_ep_bind(conn->ep, &conn->eq->fid, 0);
	ret = ret
		      ?: fi_ep_bind(conn->ep, &conn->cq->fid,
				    FI_TRANSMIT | FI_RECV);
	ret = ret
		      ?: fi_setopt(&conn->ep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_SPACE_HANDLER, &space, sizeof(space));
	return ret ?: fi_enable(conn->ep);
}

static int k9p_conn_connect(struct k9p_conn *conn)
{
	struct k9pw_hello hello = { .magic = K9PW_MAGIC };
	long left;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < conn->n_places; i++)
		ret = k9p_conn_post_recv(conn, k9p_conn_recv(conn, i));
	if (ret)
		return ret;
	k9pw_put32(hello.msize, conn->msize);
	k9pw_put16(hello.depth, conn->depth);
	ret = fi_connect(conn->ep, NULL, &hello, sizeof(hello));
	if (ret)
		return ret;
	left = wait_for_completion_killable_timeout(
		&conn->connected, conn->options.timeout_s * HZ);
	if (left <= 0)
		return left ?: -ETIMEDOUT;
	return conn->error;
}

/**
 * k9p_conn_init() - begin with a connection that has nothing yet
 * @conn: zeroed
 * @client: whose it will be
 */
void k9p_conn_init(struct k9p_conn *conn, struct p9_client *client)
{
	conn->client = client;
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->room);
	init_completion(&conn->connected);
	INIT_WORK(&conn->events, k9p_conn_events);
}

/**
 * k9p_conn_open() - make the connection of a mount
 * @conn: with its options
 *
 * @conn->msize is the smaller of what the mount asks for and the other end can do.
 *
 * Return: 0; -errno, also of the fabric. k9p_conn_close() must follow in any case.
 */
int k9p_conn_open(struct k9p_conn *conn)
{
	int ret;

	conn->msize = min(conn->client->msize, K9PW_MSIZE_MAX);
	conn->depth = conn->options.depth;
	conn->n_places = conn->depth + K9PW_FLUSHES;
	ret = k9p_conn_get_info(conn);
	ret = ret ?: k9p_conn_alloc(conn);
	ret = ret ?: k9p_conn_open_endpoint(conn);
	return ret ?: k9p_conn_connect(conn);
}

/**
 * k9p_conn_close() - end the connection and free what it has
 * @conn: as k9p_conn_init() or k9p_conn_open() left it
 *
 * Whoever still waits for a reply is told that none comes.
 */
void k9p_conn_close(struct k9p_conn *conn)
{
	u32 i;

	spin_lock_irq(&conn->lock);
	conn->is_closing = true;
	spin_unlock_irq(&conn->lock);
	cancel_work_sync(&conn->events);
	k9p_call_end_all(conn, -ESHUTDOWN);
	/* Each operation completes: no call holds a request any more. */
	fi_close_opened(conn->ep);
	fi_close_opened(conn->cq);
	fi_close_opened(conn->eq);
	fi_close_opened(conn->domain);
	fi_close_opened(conn->fabric);
	fi_freeinfo(conn->info);
	for (i = 0; conn->recvs && i < conn->n_places; i++)
		kfree(k9p_conn_recv(conn, i)->data);
	kvfree(conn->recvs);
	kvfree(conn->calls);
}
