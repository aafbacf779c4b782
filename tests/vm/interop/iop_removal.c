// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: the device goes away under a busy connection. Both ends are
 * ours, and one may take its receives from a shared context; someone else removes the
 * device meanwhile.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/socket.h>

#include <kfabric/fi_shared.h>

#include "iop.h"

#define REGION	    65536
#define REMOVAL_MS  60000
#define EVENTS_MS   60000
#define WRITE_BYTES 4096

/* The other end of the connection. */
struct far {
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct fi_context *rx_ctx;
	bool shares;
	struct fid_ep *srx; /* if it shares */
	struct fid_cq *srx_cq;
};

struct event {
	struct fi_eq_cm_entry cm;
	u8 data[FI_CM_DATA_MAX];
};

static int read_event(struct iop *t, u32 want, struct event *event)
{
	u32 kind;
	ssize_t n;

	n = fi_eq_sread(t->eq, &kind, event, sizeof(*event), EVENTS_MS, 0);
	if (n < 0)
		return n;
	return kind == want ? 0 : -EPROTO;
}

static int open_near(struct iop *t)
{
	int ret;

	ret = fi_domain(t->fabric, t->info, &t->domain, NULL);
	ret = ret ?: fi_cq_open(t->domain, NULL, &t->txcq, NULL);
	ret = ret ?: fi_cq_open(t->domain, NULL, &t->rxcq, NULL);
	ret = ret ?: fi_endpoint(t->domain, t->info, &t->ep, NULL);
	ret = ret ?: fi_ep_bind(t->ep, &t->eq->fid, 0);
	ret = ret ?: fi_ep_bind(t->ep, &t->txcq->fid, FI_TRANSMIT);
	return ret ?: fi_ep_bind(t->ep, &t->rxcq->fid, FI_RECV);
}

static int open_shared(struct far *far)
{
	int ret;

	ret = fi_srx_context(far->domain, NULL, &far->srx, NULL);
	ret = ret ?: fi_cq_open(far->domain, NULL, &far->srx_cq, NULL);
	return ret ?: fi_ep_bind(far->srx, &far->srx_cq->fid, FI_RECV);
}

static int open_far(struct iop *t, struct far *far, struct fi_info *info)
{
	int ret;

	ret = fi_domain(t->fabric, info, &far->domain, NULL);
	ret = ret ?: fi_cq_open(far->domain, NULL, &far->cq, NULL);
	if (far->shares) {
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
		ret = ret ?: open_shared(far);
	}
	ret = ret ?: fi_endpoint(far->domain, info, &far->ep, NULL);
	ret = ret ?: fi_ep_bind(far->ep, &t->eq->fid, 0);
	if (far->shares)
		ret = ret ?: fi_ep_bind(far->ep, &far->srx->fid, 0);
	return ret ?: fi_ep_bind(far->ep, &far->cq->fid, FI_TRANSMIT | FI_RECV);
}

static int connect_pair(struct iop *t, struct far *far)
{
	size_t len = sizeof(struct sockaddr_storage);
	struct sockaddr_storage addr;
	struct event event;
	int ret;

	ret = fi_passive_ep(t->fabric, t->info, &t->pep, NULL);
	ret = ret ?: fi_pep_bind(t->pep, &t->eq->fid, 0);
	ret = ret ?: fi_listen(t->pep);
	ret = ret ?: fi_getname(&t->pep->fid, &addr, &len);
	ret = ret ?: open_near(t);
	ret = ret ?: fi_connect(t->ep, &addr, NULL, 0);
	ret = ret ?: read_event(t, FI_CONNREQ, &event);
	if (ret)
		return ret;
	ret = open_far(t, far, event.cm.info);
	fi_freeinfo(event.cm.info);
	ret = ret ?: fi_accept(far->ep, NULL, 0);
	ret = ret ?: read_event(t, FI_CONNECTED, &event);
	return ret ?: read_event(t, FI_CONNECTED, &event);
}

static int open_region(struct iop *t, struct far *far)
{
	int ret;

	ret = fi_mr_reg(far->domain, t->dst.chunk[0], REGION, FI_REMOTE_WRITE,
			0, 0, 0, &far->mr, NULL);
	ret = ret ?: fi_mr_bind(far->mr, &far->ep->fid, 0);
	return ret ?: fi_mr_enable(far->mr);
}

static int post_write(struct iop *t, struct far *far, struct fi_context *ctx)
{
	return fi_write(t->ep, t->src.chunk[0], WRITE_BYTES, NULL, 0,
			far->mr->iova, fi_mr_key(far->mr), ctx);
}

/* Write until a completion fails. Returns how many are not yet back. */
static int write_on(struct iop *t, struct far *far, int *err)
{
	ktime_t end = ktime_add_ms(ktime_get(), REMOVAL_MS);
	struct fi_cq_err_entry entry = {};
	int i, ret, out = 0;

	*err = 0;
	for (i = 0; i < IOP_TX_OPS; i++)
		out += !post_write(t, far, t->tx_ctx[i]);
	while (!*err && ktime_before(ktime_get(), end)) {
		ret = iop_wait(t->txcq, &entry, EVENTS_MS);
		if (ret < 0)
			return -ETIME;
		out--;
		*err = ret;
		/* A post may notice before a completion does. */
		if (!ret) {
			ret = post_write(t, far, entry.op_context);
			out += !ret;
			*err = -ret;
		}
	}
	return out;
}

static void flushed(struct iop *t, struct far *far, int out)
{
	struct fi_cq_err_entry entry = {};
	struct event event;
	int ret = 0;

	while (out > 0 && (ret = iop_wait(t->txcq, &entry, EVENTS_MS)) >= 0)
		out--;
	iop_check(!out, "every write completes (%d left)", out);
	ret = iop_wait(far->shares ? far->srx_cq : far->cq, &entry, EVENTS_MS);
	iop_check(ret > 0, "the posted receive fails (%d)", ret);
	if (far->shares) {
		ret = iop_wait(far->srx_cq, &entry, 0);
		iop_check(ret == -FI_EAGAIN, "it does so once (%d)", ret);
	}
	ret = iop_wait(t->txcq, &entry, 0);
	iop_check(ret == -FI_EAGAIN, "nothing completes twice (%d)", ret);
	ret = read_event(t, FI_SHUTDOWN, &event);
	ret = ret ?: read_event(t, FI_SHUTDOWN, &event);
	iop_check(!ret, "both ends see the end (%d)", ret);
	ret = fi_eq_read(t->eq, &(u32){ 0 }, &event, sizeof(event), 0);
	iop_check(ret == -FI_EAGAIN, "and nothing else (%d)", ret);
}

static void dead(struct iop *t, struct far *far)
{
	struct fid_domain *domain = NULL;
	struct fid_ep *ep = NULL;
	struct fid_cq *cq = NULL;

	iop_check(fi_ep_state(t->ep) == KFI_EP_DEAD ||
			  fi_ep_state(far->ep) == KFI_EP_DEAD,
		  "an endpoint is dead");
	iop_check(post_write(t, far, t->tx_ctx[0]) < 0,
		  "nothing can be posted");
	iop_check(fi_endpoint(t->domain, t->info, &ep, NULL) == -ENODEV,
		  "no endpoint opens in the dead domain");
	iop_check(fi_cq_open(t->domain, NULL, &cq, NULL) == -ENODEV,
		  "no queue opens in it");
	if (far->shares) {
		iop_check(fi_recv(far->srx, t->dst.chunk[1], 64, NULL, 0,
				  far->rx_ctx) == -ENODEV,
			  "the shared context takes no receive");
		iop_check(fi_srx_context(far->domain, NULL, &ep, NULL) ==
				  -ENODEV,
			  "no shared context opens in it");
	}
	iop_check(fi_domain(t->fabric, t->info, &domain, NULL) == -ENODEV,
		  "no domain opens on the device");
}

static void close_one(struct kfid *fid)
{
	iop_check(!fi_close(fid), "an object of class %d closes", fid->fclass);
}

static void close_pair(struct iop *t, struct far *far)
{
	if (far->mr)
		close_one(&far->mr->fid);
	if (far->ep)
		close_one(&far->ep->fid);
	if (far->srx)
		close_one(&far->srx->fid);
	if (far->srx_cq)
		close_one(&far->srx_cq->fid);
	if (far->cq)
		close_one(&far->cq->fid);
	if (far->domain)
		close_one(&far->domain->fid);
	iop_close(t);
	kfree(far->rx_ctx);
}

void iop_removal(struct iop *t, bool shared)
{
	struct far far = { .shares = shared };
	int out, err, ret;

	far.rx_ctx = kzalloc(t->info->domain_attr->op_context_size, GFP_KERNEL);
	ret = far.rx_ctx ? connect_pair(t, &far) : -ENOMEM;
	ret = ret ?: open_region(t, &far);
	ret = ret
		      ?: fi_recv(shared ? far.srx : far.ep, t->dst.chunk[1], 64,
				 NULL, 0, far.rx_ctx);
	if (!iop_check(!ret, "a pair connects (%d)", ret))
		goto close;
	pr_info("# writing until the device is gone\n");
	out = write_on(t, &far, &err);
	if (iop_check(out >= 0 && err, "the writes end (%d, error %d)", out,
		      err)) {
		flushed(t, &far, out);
		dead(t, &far);
	}
close:
	close_pair(t, &far);
}
