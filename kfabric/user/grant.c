// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether hints can be met: what is asked for and not kept is refused by
 * fi_getinfo(), where programs look for another provider, and not later. Of an
 * attribute that is a number no more can be had than there is.
 */
#include <string.h>

#include "impl.h"
#include "stcp.h"

/* FI_COMMIT_COMPLETE is up to the peer: asked for with each operation. */
#define TX_OP_FLAGS                                       \
	(FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RX_OP_FLAGS FI_COMPLETION

/* Nothing is marked for the network to treat it otherwise. */
static bool class_is_met(uint32_t tclass)
{
	return tclass == FI_TC_UNSPEC || tclass == FI_TC_BEST_EFFORT;
}

static bool name_is_met(const char *name)
{
	return !name || strcmp(name, STCP_PROVIDER) == 0;
}

uint32_t stcp_format_of(const void *addr)
{
	const struct sockaddr *sa = addr;

	return sa->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
}

/* An address is one of TCP's, and of the format that is asked for. */
static bool addr_is_met(const void *addr, size_t len, uint32_t format)
{
	const struct sockaddr *sa = addr;

	if (!addr)
		return true;
	if (len < sizeof(*sa) || len < stcp_sockaddr_len(addr) ||
	    (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return false;
	return format == FI_FORMAT_UNSPEC || format == FI_SOCKADDR ||
	       format == stcp_format_of(addr);
}

static bool queues_are_met(const struct fi_tx_attr *tx,
			   const struct fi_rx_attr *rx)
{
	if (tx && ((tx->caps & ~STCP_CAPS) || (tx->op_flags & ~TX_OP_FLAGS) ||
		   (tx->msg_order & ~STCP_ORDER) || tx->comp_order ||
		   !class_is_met(tx->tclass) || tx->size > STCP_QUEUE_MAX ||
		   tx->iov_limit > STCP_IOV_MAX ||
		   tx->inject_size > STCP_INJECT_BYTES ||
		   tx->rma_iov_limit > TCPW_SEGS_MAX))
		return false;
	return !rx ||
	       (!(rx->caps & ~STCP_CAPS) && !(rx->op_flags & ~RX_OP_FLAGS) &&
		!(rx->msg_order & ~STCP_ORDER) &&
		!(rx->comp_order & ~STCP_COMP_ORDER) &&
		rx->size <= STCP_QUEUE_MAX && rx->iov_limit <= STCP_IOV_MAX &&
		!rx->total_buffered_recv);
}

static bool ep_is_met(const struct fi_ep_attr *ep)
{
	if (!ep)
		return true;
	if (ep->type != FI_EP_UNSPEC && ep->type != FI_EP_MSG)
		return false;
	if (ep->protocol != FI_PROTO_UNSPEC &&
	    ep->protocol != FI_PROTO_SOCK_TCP)
		return false;
	if (ep->rx_ctx_cnt > 1 && ep->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return false;
	/* FI_SHARED_CONTEXT is more than any number. */
	return !ep->protocol_version && ep->tx_ctx_cnt <= 1 &&
	       !ep->auth_key_size && !ep->msg_prefix_size &&
	       ep->max_msg_size <= STCP_MSG_MAX &&
	       ep->max_order_raw_size <= STCP_MSG_MAX &&
	       ep->max_order_waw_size <= STCP_MSG_MAX &&
	       !ep->max_order_war_size;
}

/* Keys are the program's, addresses offsets: what was called scalable. */
static bool mr_mode_is_met(uint32_t version, int mr_mode)
{
	if (mr_mode == STCP_MR_SCALABLE)
		return true;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)))
		return mr_mode == STCP_MR_UNSPEC;
	return !(mr_mode & (STCP_MR_BASIC | STCP_MR_SCALABLE));
}

static bool domain_is_met(uint32_t version, const struct fi_domain_attr *domain)
{
	if (!domain)
		return true;
	return name_is_met(domain->name) && class_is_met(domain->tclass) &&
	       !domain->auth_key_size &&
	       mr_mode_is_met(version, domain->mr_mode) &&
	       !(domain->caps & ~STCP_DOMAIN_CAPS) &&
	       domain->mr_key_size <= sizeof(uint64_t) &&
	       domain->cq_data_size <= sizeof(uint64_t) && !domain->cntr_cnt &&
	       domain->max_ep_tx_ctx <= 1 && domain->max_ep_rx_ctx <= 1 &&
	       !domain->max_ep_stx_ctx &&
	       domain->max_ep_srx_ctx <= STCP_SRXS_MAX &&
	       domain->mr_iov_limit <= 1 && domain->mr_cnt <= STCP_MRS_MAX &&
	       !domain->max_err_data;
}

bool stcp_is_granted(uint32_t version, const struct fi_info *hints)
{
	if (!hints)
		return true;
	if (hints->caps & ~STCP_CAPS)
		return false;
	if (hints->addr_format != FI_FORMAT_UNSPEC &&
	    hints->addr_format != FI_SOCKADDR &&
	    hints->addr_format != FI_SOCKADDR_IN &&
	    hints->addr_format != FI_SOCKADDR_IN6)
		return false;
	if (!addr_is_met(hints->src_addr, hints->src_addrlen,
			 hints->addr_format) ||
	    !addr_is_met(hints->dest_addr, hints->dest_addrlen,
			 hints->addr_format) ||
	    (hints->fabric_attr && !name_is_met(hints->fabric_attr->name)))
		return false;
	return queues_are_met(hints->tx_attr, hints->rx_attr) &&
	       ep_is_met(hints->ep_attr) &&
	       domain_is_met(version, hints->domain_attr);
}
