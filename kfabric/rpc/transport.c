// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_rpc: what the kernel's RPC client calls.
 *
 * Context: process.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/bc_xprt.h>

#include "krpc.h"

/* Requests of RPC's; those beyond what the server grants wait. */
#define KRPC_SLOTS_MIN	 16U
#define KRPC_SLOTS_MAX	 (2 * KRPC_CREDITS)
#define KRPC_PAYLOAD_MAX SZ_1M
/* Of servers of others, who know RDMA alone. */
#define KRPC_PROVIDER "verbs"
/* Of knfsd over RDMA, and of everything else that has no reason for others. */
#define KRPC_TIMEOUT	   (60UL * HZ)
#define KRPC_IDLE	   (5UL * 60 * HZ)
#define KRPC_RECONNECT_MIN (1UL * HZ)
#define KRPC_RECONNECT_MAX (30UL * HZ)

static const struct rpc_timeout krpc_timeout = {
	.to_initval = KRPC_TIMEOUT,
	.to_maxval = KRPC_TIMEOUT,
};

/* ---- connecting ------------------------------------------------------- */

/* What RPC tries again after, or tells who mounts, if it is a positive refusal. */
static int krpc_connect_errno(int error)
{
	switch (error) {
	case -ECONNREFUSED:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		return error;
	case -ENODEV:
	case -ENODATA:
		return -ENETUNREACH;
	case -ENOMEM:
		return -ENOBUFS;
	default:
		return -ENOTCONN;
	}
}

static void krpc_close(struct rpc_xprt *xprt)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);
	unsigned int noio = memalloc_noio_save();
	struct krpc_conn *conn = x->conn;

	x->conn = NULL;
	if (conn)
		krpc_conn_close(conn);
	xprt_disconnect_done(xprt);
	memalloc_noio_restore(noio);
}

static int krpc_connect_now(struct krpc_xprt *x)
{
	struct rpc_xprt *xprt = &x->xprt;
	struct krpc_conn *conn;

	if (x->conn)
		krpc_close(xprt);
	conn = krpc_conn_open(x);
	if (IS_ERR(conn))
		return krpc_connect_errno(PTR_ERR(conn));
	x->conn = conn;
	xprt->connect_cookie++;
	xprt->stat.connect_count++;
	xprt->stat.connect_time += jiffies - xprt->stat.connect_start;
	xprt_set_connected(xprt);
	/* It may have ended already; from now on RPC is told of that. */
	krpc_conn_kick(conn);
	return 0;
}

static void krpc_connect_work(struct work_struct *work)
{
	struct krpc_xprt *x =
		container_of(work, struct krpc_xprt, connect.work);
	unsigned int noio = memalloc_noio_save();
	struct rpc_xprt *xprt = &x->xprt;
	int ret;

	ret = krpc_connect_now(x);
	xprt_clear_connecting(xprt);
	xprt_unlock_connect(xprt, x);
	/* Who waits looks whether it is connected. */
	xprt_wake_pending_tasks(xprt, ret ?: -EAGAIN);
	memalloc_noio_restore(noio);
}

static void krpc_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);
	unsigned long delay = xprt_reconnect_delay(xprt);

	/* The write lock is the work's until it has connected. */
	WARN_ON_ONCE(!xprt_lock_connect(xprt, task, x));
	xprt_reconnect_backoff(xprt, KRPC_RECONNECT_MIN);
	queue_delayed_work(xprtiod_workqueue, &x->connect, delay);
}

/*
 * A peer that is gone without a word is noticed by what is sent to it. It may not be
 * gone: a call that is encoded once more, which does not wait for the connection's end,
 * has to be out of its reach before.
 */
static void krpc_timer(struct rpc_xprt *xprt, struct rpc_task *task)
{
	unsigned int noio = memalloc_noio_save();

	krpc_req_fence(to_krpc_req(task->tk_rqstp));
	memalloc_noio_restore(noio);
	xprt_force_disconnect(xprt);
}

static void krpc_inject_disconnect(struct rpc_xprt *xprt)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);

	if (x->conn)
		krpc_conn_fail(x->conn, -ECONNABORTED);
}

/* ---- requests --------------------------------------------------------- */

static int krpc_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	/* The two are apart: each may be a region of its own. */
	size_t call_bytes = round_up(rqst->rq_callsize, 8);
	struct krpc_req *req = krpc_req_alloc(call_bytes + rqst->rq_rcvsize);

	if (!req)
		return -ENOMEM;
	rqst->rq_buffer = req->data;
	rqst->rq_rbuffer = req->data + call_bytes;
	return 0;
}

/* RPC gives pages back after that: whoever gave up has not told the server. */
static void krpc_buf_free(struct rpc_task *task)
{
	struct krpc_req *req = to_krpc_req(task->tk_rqstp);
	unsigned int noio = memalloc_noio_save();

	krpc_req_fence(req);
	krpc_req_put(req);
	task->tk_rqstp->rq_buffer = NULL;
	task->tk_rqstp->rq_rbuffer = NULL;
	memalloc_noio_restore(noio);
}

static int krpc_send_request(struct rpc_rqst *rqst)
{
	struct krpc_xprt *x = to_krpc_xprt(rqst->rq_xprt);
	unsigned int noio;
	int ret;

	if (!xprt_connected(&x->xprt) || !x->conn)
		return -ENOTCONN;
	noio = memalloc_noio_save();
#ifdef KFI_HAS_SVC_CALLBACK
	if (bc_prealloc(rqst))
		ret = krpc_callback_answer(x->conn, rqst);
	else
#endif
		ret = krpc_call_send(x->conn, rqst);
	memalloc_noio_restore(noio);
	return ret;
}

/* ---- addresses -------------------------------------------------------- */

static void krpc_set_port(struct rpc_xprt *xprt, unsigned short port)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);

	rpc_set_port((struct sockaddr *)&xprt->addr, port);
	snprintf(x->port, sizeof(x->port), "%u", port);
	snprintf(x->hex_port, sizeof(x->hex_port), "%4hx", port);
}

/* ---- what is shown ---------------------------------------------------- */

/*
 * The columns of an "xprt: rdma" line, which programs know by their place. Those for
 * what this transport does not do, or does not count, are 0; the last two are its own.
 */
static void krpc_print_stats(struct rpc_xprt *xprt, struct seq_file *seq)
{
	struct krpc_stats *stats = &to_krpc_xprt(xprt)->stats;
	unsigned long idle_s = 0;

	if (xprt_connected(xprt))
		idle_s = (jiffies - xprt->last_used) / HZ;
	seq_printf(seq,
		   "\txprt:\trdma 0 %lu %lu %lu %lu %lu %lu %lu %llu %llu ",
		   xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ, idle_s, xprt->stat.sends,
		   xprt->stat.recvs, xprt->stat.bad_xids, xprt->stat.req_u,
		   xprt->stat.bklog_u);
	seq_printf(
		seq,
		"%ld %ld %ld %lld %lld 0 0 0 0 %ld %ld 0 0 0 0 0 0 %ld %ld\n",
		atomic_long_read(&stats->read_chunks),
		atomic_long_read(&stats->write_chunks),
		atomic_long_read(&stats->reply_chunks),
		(long long)atomic64_read(&stats->call_bytes),
		(long long)atomic64_read(&stats->reply_bytes),
		atomic_long_read(&stats->bad_replies),
		atomic_long_read(&stats->long_calls),
		atomic_long_read(&stats->callbacks),
		atomic_long_read(&stats->lost_answers));
}

/* Memory that is short must not wait for memory. */
static int krpc_enable_swap(struct rpc_xprt *xprt)
{
	return -EOPNOTSUPP;
}

static void krpc_disable_swap(struct rpc_xprt *xprt)
{
}

/* ---- beginning and end ------------------------------------------------ */

/*
 * Find what leads to the server, in the namespace of who mounts: connections are made
 * later, by workers, which have none. 0; -ENODATA nothing does; -EOPNOTSUPP what does has
 * keys that the protocol has no room for. krpc_fabric_close() may follow in any case.
 */
static int krpc_fabric_open(struct krpc_xprt *x)
{
	const struct rpc_xprt *xprt = &x->xprt;
	struct fi_info *hints = fi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = FI_MSG | FI_RMA | FI_REMOTE_READ | FI_REMOTE_WRITE;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = ~0u;
	hints->tx_attr->size = KRPC_SLOTS;
	hints->rx_attr->size = KRPC_RECVS;
	hints->addr_format = xprt->addr.ss_family == AF_INET6 ? FI_SOCKADDR_IN6
							      : FI_SOCKADDR_IN;
	hints->dest_addr = kmemdup(&xprt->addr, xprt->addrlen, GFP_KERNEL);
	hints->dest_addrlen = xprt->addrlen;
	hints->fabric_attr->prov_name = kstrdup(KRPC_PROVIDER, GFP_KERNEL);
	if (hints->dest_addr && hints->fabric_attr->prov_name)
		ret = fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints,
				 &x->info);
	fi_freeinfo(hints);
	if (ret)
		return ret;
	if (x->info->domain_attr->mr_key_size > sizeof(u32))
		return -EOPNOTSUPP;
	return fi_fabric(x->info->fabric_attr, &x->fabric, NULL);
}

static void krpc_fabric_close(struct krpc_xprt *x)
{
	fi_close_opened(x->fabric);
	fi_freeinfo(x->info);
}

/* RPC waits for nobody any more, and holds the write lock. */
static void krpc_destroy(struct rpc_xprt *xprt)
{
	struct krpc_xprt *x = to_krpc_xprt(xprt);

	cancel_delayed_work_sync(&x->connect);
	krpc_close(xprt);
	krpc_fabric_close(x);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static const struct rpc_xprt_ops krpc_ops = {
	.reserve_xprt = xprt_reserve_xprt,
	.release_xprt = xprt_release_xprt,
	.alloc_slot = xprt_alloc_slot,
	.free_slot = xprt_free_slot,
	.rpcbind = rpcb_getport_async,
	.set_port = krpc_set_port,
	.connect = krpc_connect,
	.buf_alloc = krpc_buf_alloc,
	.buf_free = krpc_buf_free,
	.send_request = krpc_send_request,
	.wait_for_reply_request = xprt_wait_for_reply_request_def,
	.timer = krpc_timer,
	.close = krpc_close,
	.destroy = krpc_destroy,
	.print_stats = krpc_print_stats,
	.enable_swap = krpc_enable_swap,
	.disable_swap = krpc_disable_swap,
	.inject_disconnect = krpc_inject_disconnect,
#ifdef KFI_HAS_SVC_CALLBACK
	.bc_setup = krpc_callback_setup,
	.bc_maxpayload = krpc_callback_maxpayload,
	.bc_num_slots = krpc_callback_slots,
	.bc_free_rqst = krpc_callback_put,
	.bc_destroy = krpc_callback_destroy,
#endif
};

static void krpc_init_xprt(struct krpc_xprt *x, const struct xprt_create *args)
{
	struct rpc_xprt *xprt = &x->xprt;
	struct sockaddr *sa = (struct sockaddr *)&xprt->addr;
	const char **text = xprt->address_strings;

	xprt->ops = &krpc_ops;
	xprt->timeout = &krpc_timeout;
	xprt->bind_timeout = KRPC_TIMEOUT;
	xprt->connect_timeout = KRPC_TIMEOUT;
	xprt->max_reconnect_timeout = KRPC_RECONNECT_MAX;
	xprt->idle_timeout = KRPC_IDLE;
	/* For rpcbind, and for protocols beside this one. */
	xprt->prot = IPPROTO_TCP;
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	xprt->addrlen = args->addrlen;
	if (rpc_get_port(sa))
		xprt_set_bound(xprt);
	INIT_DELAYED_WORK(&x->connect, krpc_connect_work);
	rpc_ntop(sa, x->addr, sizeof(x->addr));
	if (sa->sa_family == AF_INET6) {
		snprintf(x->hex_addr, sizeof(x->hex_addr), "%pi6",
			 &((struct sockaddr_in6 *)sa)->sin6_addr);
		text[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA6;
	} else {
		snprintf(x->hex_addr, sizeof(x->hex_addr), "%08x",
			 ntohl(((struct sockaddr_in *)sa)->sin_addr.s_addr));
		text[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA;
	}
	text[RPC_DISPLAY_ADDR] = x->addr;
	text[RPC_DISPLAY_HEX_ADDR] = x->hex_addr;
	text[RPC_DISPLAY_PORT] = x->port;
	text[RPC_DISPLAY_HEX_PORT] = x->hex_port;
	text[RPC_DISPLAY_PROTO] = "rdma";
	krpc_set_port(xprt, rpc_get_port(sa));
}

/**
 * krpc_setup() - make a transport
 * @args: of RPC
 *
 * Return: the transport; an error.
 */
struct rpc_xprt *krpc_setup(struct xprt_create *args)
{
	struct rpc_xprt *xprt;
	struct krpc_xprt *x;
	size_t payload;
	int ret;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	if (args->dstaddr->sa_family != AF_INET &&
	    args->dstaddr->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	xprt = xprt_alloc(args->net, sizeof(*x), KRPC_SLOTS_MIN,
			  KRPC_SLOTS_MAX);
	if (!xprt)
		return ERR_PTR(-ENOMEM);
	x = to_krpc_xprt(xprt);
	krpc_init_xprt(x, args);
	ret = krpc_fabric_open(x);
	if (ret) {
		krpc_fabric_close(x);
		xprt_free(xprt);
		return ERR_PTR(krpc_connect_errno(ret));
	}
	/* A payload that begins within a page has one page more. */
	payload = x->info->domain_attr->mr_max_size - PAGE_SIZE;
	xprt->max_payload = min_t(size_t, payload, KRPC_PAYLOAD_MAX);
	/* Of the transport, until krpc_destroy(); whoever calls has another. */
	__module_get(THIS_MODULE);
	return xprt;
}
