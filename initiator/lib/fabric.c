// SPDX-License-Identifier: BSD-2-Clause
/*
 * The libfabric objects: of a connection, and of each of its queues; opened in
 * one place, closed in the reverse order, and what their providers need to
 * know.
 */
#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "kfabric/user/stcp.h"

#define API_VERSION FI_VERSION(1, 17)

/* What a client's memory and the brick's handles can live with. */
#define MR_MODES \
	(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

uint64_t kfbl_now_ms(void)
{
	struct timespec ts;

	/* Leases go on while the machine sleeps: the brick counts so, too. */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int kfbl_errno(ssize_t rc)
{
	if (rc >= 0)
		return 0;
	/* libfabric's own numbers begin behind the system's. */
	switch (-rc) {
	case FI_ENOEQ:
	case FI_ENOCQ:
	case FI_ETRUNC:
	case FI_ETOOSMALL:
	case FI_EOVERRUN:
		return -EIO;
	case FI_ENOKEY:
		return -EACCES;
	default:
		return -rc < FI_ERRNO_OFFSET ? (int)rc : -EIO;
	}
}

static int get_info(struct kfbl_fabric *f, const struct kfbl_url *url,
		    const char *address, uint32_t queue_depth)
{
	struct fi_info *hints = fi_allocinfo();
	int rc = -FI_ENOMEM;

	if (!hints)
		return rc;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = MR_MODES;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	/* Who waits for data receives them: no thread wakes another up. */
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->tx_attr->size = queue_depth + KFB_ENGINE_TX_MAX;
	hints->rx_attr->size = KFB_INITIATOR_RX_MAX;
	hints->fabric_attr->prov_name = strdup(url->scheme->fabric);
	if (hints->fabric_attr->prov_name) {
		rc = stcp_choose_getinfo(API_VERSION, address, url->port, 0,
					 hints, &f->info);
		if (rc == -FI_ENODATA) {
			/* Queues that large are not to be had: any will do. */
			hints->tx_attr->size = 0;
			hints->rx_attr->size = 0;
			rc = stcp_choose_getinfo(API_VERSION, address,
						 url->port, 0, hints, &f->info);
		}
	}
	fi_freeinfo(hints);
	return rc;
}

static int open_queues(struct kfbl_link *link, const struct kfbl_fabric *f)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = {
		.size = f->cq_size,
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = FI_WAIT_FD,
	};
	int rc;

	rc = fi_eq_open(f->fabric, &eq_attr, &link->eq, NULL);
	if (!rc)
		rc = fi_control(&link->eq->fid, FI_GETWAIT, &link->eq_fd);
	if (!rc)
		rc = fi_cq_open(f->domain, &cq_attr, &link->cq, NULL);
	if (!rc)
		rc = fi_control(&link->cq->fid, FI_GETWAIT, &link->cq_fd);
	return rc;
}

static int open_endpoint(struct kfbl_link *link, const struct kfbl_fabric *f)
{
	int rc;

	rc = fi_endpoint(f->domain, f->info, &link->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(link->ep, &link->eq->fid, 0);
	if (!rc)
		rc = fi_ep_bind(link->ep, &link->cq->fid,
				FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(link->ep);
	if (!rc && !strcmp(f->info->fabric_attr->prov_name, STCP_PROVIDER))
		rc = fi_open_ops(&link->ep->fid, STCP_EP_OPS, 0,
				 (void **)&link->stcp, NULL);
	return rc;
}

uint64_t kfbl_link_moved_bytes(const struct kfbl_link *link)
{
	struct stcp_traffic traffic;

	if (!link->stcp || link->stcp->traffic(link->ep, &traffic))
		return 0;
	return traffic.sent_bytes + traffic.received_bytes;
}

int kfbl_link_open(struct kfbl_link *link, const struct kfbl_fabric *f)
{
	int rc;

	memset(link, 0, sizeof(*link));
	rc = open_queues(link, f);
	if (!rc)
		rc = open_endpoint(link, f);
	return kfbl_errno(rc);
}

int kfbl_fabric_open(struct kfbl_fabric *f, const struct kfbl_url *url,
		     const char *address, uint32_t queue_depth,
		     const char **what)
{
	int rc;

	memset(f, 0, sizeof(*f));
	/*
	 * With the memory registration cache a closed registration would stay
	 * usable, and libpsm, which libfabric loads, would catch our caller's
	 * signals. Both are decided when libfabric is first used.
	 */
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	setenv("HFI_NO_BACKTRACE", "1", 0);
	*what = "look for the fabric";
	rc = get_info(f, url, address, queue_depth);
	if (rc)
		return kfbl_errno(rc);
	*what = "open the fabric";
	rc = stcp_choose_fabric(f->info->fabric_attr, &f->fabric, NULL);
	if (rc)
		return kfbl_errno(rc);
	*what = "open a domain";
	rc = fi_domain(f->fabric, f->info, &f->domain, NULL);
	if (rc)
		return kfbl_errno(rc);

	f->cq_size = queue_depth + KFB_ENGINE_TX_MAX + KFB_INITIATOR_RX_MAX +
		     KFB_FLUSH_POSTED_MAX;
	f->mr_local = f->info->domain_attr->mr_mode & FI_MR_LOCAL;
	/* There a plain write with a dead key completes without an error. */
	f->delivery_complete = !url->scheme->is_rdma;
	/* It watches the socket itself. */
	f->cq_hears_the_end = f->delivery_complete;
	f->inject_max = f->info->tx_attr->inject_size;
	f->piece_max = f->info->ep_attr->max_msg_size;
	if (f->piece_max > KFBL_PIECE_MAX_BYTES)
		f->piece_max = KFBL_PIECE_MAX_BYTES;
	return 0;
}

int kfbl_fabric_register(struct kfbl_fabric *f, void *addr, size_t len,
			 struct fid_mr **mr)
{
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
	int rc;

	rc = fi_mr_reg(f->domain, addr, len, access, 0, 0, 0, mr, NULL);
	return kfbl_errno(rc);
}

static void close_fid(struct fid *fid)
{
	if (fid)
		fi_close(fid);
}

void kfbl_link_close(struct kfbl_link *link)
{
	if (link->ep)
		fi_shutdown(link->ep, 0);
	close_fid(link->ep ? &link->ep->fid : NULL);
	close_fid(link->cq ? &link->cq->fid : NULL);
	close_fid(link->eq ? &link->eq->fid : NULL);
	memset(link, 0, sizeof(*link));
}

void kfbl_fabric_close(struct kfbl_fabric *f)
{
	close_fid(f->retain_mr ? &f->retain_mr->fid : NULL);
	close_fid(f->control_mr ? &f->control_mr->fid : NULL);
	close_fid(f->domain ? &f->domain->fid : NULL);
	close_fid(f->fabric ? &f->fabric->fid : NULL);
	if (f->info)
		fi_freeinfo(f->info);
	memset(f, 0, sizeof(*f));
}
