// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: objects and connections, in both roles.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "iop.h"

#define RETRY_MS 50
/* The peer may have to be started again. */
#define PATIENCE_MS 30000

struct iop_event {
	struct fi_eq_cm_entry cm;
	u8 data[FI_CM_DATA_MAX];
};

/* Returns the data's length. */
static size_t ulp_data(u8 mode, struct iop_ulp_data *d)
{
	static unsigned int turn;
	size_t i;

	BUILD_BUG_ON(sizeof(*d) != IOP_DATA_MAX);
	memcpy(d->magic, IOP_ULP_MAGIC, IOP_MAGIC_LEN);
	d->mode = mode;
	d->len = iop_data_len(offsetof(struct iop_ulp_data, pattern), turn++);
	for (i = 0; i < sizeof(d->pattern); i++)
		d->pattern[i] = iop_byte(1, i);
	return d->len;
}

/* ---- once ------------------------------------------------------------- */

static int get_info(struct iop *t)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->op_timeout_ms = IOP_OP_TIMEOUT_MS;
	hints->ep_attr->cm_timeout_ms = PATIENCE_MS;
	hints->domain_attr->mr_mode = ~0u;
	hints->fabric_attr->prov_name = kstrdup(t->provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), t->node, t->service,
			 t->source ? FI_SOURCE : 0, hints, &t->info);
	fi_freeinfo(hints);
	return ret;
}

static int listen(struct iop *t)
{
	int ret = fi_passive_ep(t->fabric, t->info, &t->pep, NULL);

	ret = ret ?: fi_pep_bind(t->pep, &t->eq->fid, 0);
	return ret ?: fi_listen(t->pep);
}

static int alloc_ops(struct iop *t)
{
	size_t size = t->info->domain_attr->op_context_size;
	int i;

	for (i = 0; i < IOP_TX_OPS; i++) {
		t->tx_ctx[i] = kzalloc(size, GFP_KERNEL);
		if (!t->tx_ctx[i])
			return -ENOMEM;
	}
	t->rx_ctx = kzalloc(size, GFP_KERNEL);
	t->cmd = kzalloc(IOP_RECV_BYTES, GFP_KERNEL);
	if (!t->rx_ctx || !t->cmd)
		return -ENOMEM;
	return iop_buf_alloc(&t->src) ?: iop_buf_alloc(&t->dst);
}

int iop_setup(struct iop *t)
{
	int ret = get_info(t);

	ret = ret ?: alloc_ops(t);
	ret = ret ?: fi_fabric(t->info->fabric_attr, &t->fabric, NULL);
	ret = ret ?: fi_eq_open(t->fabric, NULL, &t->eq, NULL);
	if (!ret && t->server)
		ret = listen(t);
	return ret;
}

static void close_fid(struct kfid *fid)
{
	int ret = fi_close(fid);

	if (ret)
		iop_check(false, "an object of class %d closes (%d)",
			  fid->fclass, ret);
}

void iop_teardown(struct iop *t)
{
	int i;

	if (t->pep)
		close_fid(&t->pep->fid);
	if (t->eq)
		close_fid(&t->eq->fid);
	if (t->fabric)
		close_fid(&t->fabric->fid);
	for (i = 0; i < IOP_TX_OPS; i++)
		kfree(t->tx_ctx[i]);
	kfree(t->rx_ctx);
	kfree(t->cmd);
	iop_buf_free(&t->src);
	iop_buf_free(&t->dst);
	fi_freeinfo(t->info);
}

/* ---- a connection ----------------------------------------------------- */

static int open_ep(struct iop *t, struct fi_info *info)
{
	int ret;

	ret = fi_domain(t->fabric, info, &t->domain, NULL);
	ret = ret ?: fi_cq_open(t->domain, NULL, &t->txcq, NULL);
	ret = ret ?: fi_cq_open(t->domain, NULL, &t->rxcq, NULL);
	ret = ret ?: fi_endpoint(t->domain, info, &t->ep, NULL);
	ret = ret ?: fi_ep_bind(t->ep, &t->eq->fid, 0);
	ret = ret ?: fi_ep_bind(t->ep, &t->txcq->fid, FI_TRANSMIT);
	ret = ret ?: fi_ep_bind(t->ep, &t->rxcq->fid, FI_RECV);
	return ret ?: fi_enable(t->ep);
}

static bool peer_data_good(const struct iop_peer_data *d, size_t len)
{
	size_t i, head = offsetof(struct iop_peer_data, pattern);

	if (len < head || len != d->len ||
	    memcmp(d->magic, IOP_PEER_MAGIC, IOP_MAGIC_LEN))
		return false;
	for (i = 0; i < len - head; i++)
		if (d->pattern[i] != iop_byte(2, i))
			return false;
	return true;
}

static int take_peer_data(struct iop *t, const u8 *data, size_t len)
{
	memcpy(&t->peer, data, min(len, sizeof(t->peer)));
	if (!iop_check(peer_data_good(&t->peer, len),
		       "the peer's private data came whole (%zu bytes)", len))
		return -EPROTO;
	return 0;
}

/* Wait for an event. Returns private data's length, or -errno. */
static ssize_t next_event(struct iop *t, u32 want, struct iop_event *event,
			  struct fi_eq_err_entry *err)
{
	u32 kind;
	ssize_t n;

	n = fi_eq_sread(t->eq, &kind, event, sizeof(*event), PATIENCE_MS, 0);
	if (n == -FI_EAVAIL) {
		fi_eq_readerr(t->eq, err, 0);
		return -err->err;
	}
	if (n < 0)
		return n;
	if (kind != want) {
		fi_freeinfo(kind == FI_CONNREQ ? event->cm.info : NULL);
		return -EPROTO;
	}
	return n - sizeof(event->cm);
}

static int accept_peer(struct iop *t)
{
	struct iop_ulp_data mine = {};
	struct fi_eq_err_entry err;
	struct iop_event event;
	size_t len = ulp_data(IOP_MODE_SERVE, &mine);
	ssize_t n;
	int ret;

	n = next_event(t, FI_CONNREQ, &event, &err);
	if (n < 0)
		return n;
	ret = take_peer_data(t, event.data, n);
	event.cm.info->ep_attr->op_timeout_ms = IOP_OP_TIMEOUT_MS;
	event.cm.info->ep_attr->cm_timeout_ms = PATIENCE_MS;
	ret = ret ?: open_ep(t, event.cm.info);
	fi_freeinfo(event.cm.info);
	ret = ret ?: fi_accept(t->ep, &mine, len);
	if (ret)
		return ret;
	n = next_event(t, FI_CONNECTED, &event, &err);
	return n < 0 ? n : 0;
}

/* One attempt. */
static int connect_once(struct iop *t, u8 mode, struct iop_event *event,
			struct fi_eq_err_entry *err, size_t *len)
{
	struct iop_ulp_data mine = {};
	size_t mine_len = ulp_data(mode, &mine);
	ssize_t n;
	int ret;

	ret = open_ep(t, t->info);
	ret = ret ?: fi_connect(t->ep, NULL, &mine, mine_len);
	if (ret)
		return ret;
	n = next_event(t, FI_CONNECTED, event, err);
	if (n < 0)
		return n;
	*len = n;
	return 0;
}

/* The peer may not be there yet: try again, for a while. */
static int connect_peer(struct iop *t, u8 mode, struct fi_eq_err_entry *err)
{
	unsigned long end = jiffies + msecs_to_jiffies(PATIENCE_MS);
	struct iop_event event;
	size_t len = 0;
	int ret;

	for (;;) {
		err->err_data_size = 0;
		ret = connect_once(t, mode, &event, err, &len);
		/* One that was killed takes what it had not answered along. */
		if ((ret != -ECONNREFUSED && ret != -ECONNABORTED) ||
		    err->err_data_size || time_after(jiffies, end))
			break;
		iop_close(t);
		msleep(RETRY_MS);
	}
	return ret ?: take_peer_data(t, event.data, len);
}

int iop_open(struct iop *t)
{
	struct fi_eq_err_entry err;

	return t->server ? accept_peer(t)
			 : connect_peer(t, IOP_MODE_SERVE, &err);
}

void iop_close(struct iop *t)
{
	if (t->ep)
		close_fid(&t->ep->fid);
	if (t->txcq)
		close_fid(&t->txcq->fid);
	if (t->rxcq)
		close_fid(&t->rxcq->fid);
	if (t->domain)
		close_fid(&t->domain->fid);
	t->ep = NULL;
	t->txcq = NULL;
	t->rxcq = NULL;
	t->domain = NULL;
}

bool iop_wait_shutdown(struct iop *t)
{
	struct fi_eq_err_entry err;
	struct iop_event event;

	return next_event(t, FI_SHUTDOWN, &event, &err) >= 0;
}

/* ---- rejects ---------------------------------------------------------- */

void iop_be_rejected(struct iop *t)
{
	struct fi_eq_err_entry err = {};
	int ret = connect_peer(t, IOP_MODE_REJECT, &err);

	iop_check(ret == -ECONNREFUSED, "the reject is ECONNREFUSED (%d)", ret);
	iop_check(err.err_data_size == sizeof(IOP_SERVER_SAYS) &&
			  !memcmp(err.err_data, IOP_SERVER_SAYS,
				  sizeof(IOP_SERVER_SAYS)),
		  "the reject's data came whole (%zu bytes)",
		  err.err_data_size);
	iop_close(t);
}

void iop_reject(struct iop *t)
{
	struct fi_eq_err_entry err;
	struct iop_event event;
	ssize_t n = next_event(t, FI_CONNREQ, &event, &err);
	int ret;

	if (!iop_check(n >= 0, "a request to reject came (%zd)", n))
		return;
	ret = fi_reject(t->pep, event.cm.info->handle, IOP_KERNEL_SAYS,
			sizeof(IOP_KERNEL_SAYS));
	iop_check(!ret, "a request is rejected with data (%d)", ret);
	ret = fi_reject(t->pep, event.cm.info->handle, NULL, 0);
	iop_check(ret == -EINVAL, "a request is rejected only once (%d)", ret);
	fi_freeinfo(event.cm.info);
}
