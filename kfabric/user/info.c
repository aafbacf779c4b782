// SPDX-License-Identifier: BSD-2-Clause
/* What the provider offers, and whether hints can be met. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "stcp.h"

#define TX_CAPS (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS (FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS	(TX_CAPS | RX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM)
/* comp_order's value for strict; libfabric 2.0 warns of the name. */
#define COMP_ORDER_STRICT 0x1FF
#define ORDER		  (FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_WAW)

static bool attrs_are_met(const struct fi_info *hints)
{
	const struct fi_tx_attr *tx = hints->tx_attr;
	const struct fi_rx_attr *rx = hints->rx_attr;
	const struct fi_domain_attr *domain = hints->domain_attr;

	if (tx && (tx->size > STCP_QUEUE_MAX || tx->iov_limit > STCP_IOV_MAX ||
		   tx->inject_size > STCP_INJECT_BYTES ||
		   tx->rma_iov_limit > TCPW_SEGS_MAX || tx->caps & ~CAPS))
		return false;
	if (rx && (rx->size > STCP_QUEUE_MAX || rx->iov_limit > STCP_IOV_MAX ||
		   rx->caps & ~CAPS))
		return false;
	return !domain || (domain->mr_key_size <= sizeof(uint64_t) &&
			   domain->cq_data_size <= sizeof(uint64_t));
}

static bool is_met(const struct fi_info *hints)
{
	if (!hints)
		return true;
	if (hints->caps & ~CAPS)
		return false;
	if (hints->ep_attr && ((hints->ep_attr->type != FI_EP_UNSPEC &&
				hints->ep_attr->type != FI_EP_MSG) ||
			       hints->ep_attr->max_msg_size > STCP_MSG_MAX))
		return false;
	if (hints->addr_format != FI_FORMAT_UNSPEC &&
	    hints->addr_format != FI_SOCKADDR &&
	    hints->addr_format != FI_SOCKADDR_IN &&
	    hints->addr_format != FI_SOCKADDR_IN6)
		return false;
	return attrs_are_met(hints);
}

static void fill_ends(struct fi_info *info)
{
	info->tx_attr->caps = TX_CAPS;
	info->tx_attr->msg_order = ORDER;
	info->tx_attr->comp_order = COMP_ORDER_STRICT;
	info->tx_attr->inject_size = STCP_INJECT_BYTES;
	info->tx_attr->size = STCP_QUEUE_SIZE;
	info->tx_attr->iov_limit = STCP_IOV_MAX;
	info->tx_attr->rma_iov_limit = TCPW_SEGS_MAX;
	info->rx_attr->caps = RX_CAPS;
	info->rx_attr->msg_order = ORDER;
	info->rx_attr->comp_order = COMP_ORDER_STRICT;
	info->rx_attr->size = STCP_QUEUE_SIZE;
	info->rx_attr->iov_limit = STCP_IOV_MAX;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->protocol = FI_PROTO_SOCK_TCP;
	info->ep_attr->max_msg_size = STCP_MSG_MAX;
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
}

static void fill_domain(struct fi_domain_attr *domain)
{
	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = FI_PROGRESS_AUTO;
	domain->data_progress = FI_PROGRESS_AUTO;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC;
	domain->mr_mode = 0;
	domain->mr_key_size = sizeof(uint64_t);
	domain->cq_data_size = sizeof(uint64_t);
	domain->cq_cnt = 65536;
	domain->ep_cnt = 65536;
	domain->tx_ctx_cnt = 65536;
	domain->rx_ctx_cnt = 65536;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->mr_iov_limit = 1;
	domain->mr_cnt = 1U << 24;
}

static int fill_names(struct fi_info *info, uint32_t version)
{
	info->fabric_attr->name = strdup(STCP_PROVIDER);
	info->fabric_attr->prov_name = strdup(STCP_PROVIDER);
	info->fabric_attr->prov_version = FI_VERSION(1, 0);
	info->fabric_attr->api_version = version;
	info->domain_attr->name = strdup(STCP_PROVIDER);
	return info->fabric_attr->name && info->fabric_attr->prov_name &&
			       info->domain_attr->name
		       ? 0
		       : -FI_ENOMEM;
}

/* What may be chosen by hints. */
static void apply(struct fi_info *info, const struct fi_info *hints)
{
	if (hints && hints->tx_attr && hints->tx_attr->size)
		info->tx_attr->size = hints->tx_attr->size;
	if (hints && hints->rx_attr && hints->rx_attr->size)
		info->rx_attr->size = hints->rx_attr->size;
	if (hints && hints->tx_attr)
		info->tx_attr->op_flags = hints->tx_attr->op_flags;
	if (hints && hints->domain_attr && hints->domain_attr->threading)
		info->domain_attr->threading = hints->domain_attr->threading;
	if (hints && hints->domain_attr &&
	    hints->domain_attr->data_progress == FI_PROGRESS_MANUAL)
		info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
}

static int set_addr(void **to, size_t *len, const void *addr, size_t addrlen)
{
	*to = malloc(addrlen);
	if (!*to)
		return -FI_ENOMEM;
	memcpy(*to, addr, addrlen);
	*len = addrlen;
	return 0;
}

static int resolve(const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info *info)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int rc;

	if (hints && hints->addr_format == FI_SOCKADDR_IN)
		want.ai_family = AF_INET;
	else if (hints && hints->addr_format == FI_SOCKADDR_IN6)
		want.ai_family = AF_INET6;
	if (flags & FI_SOURCE)
		want.ai_flags |= AI_PASSIVE;
	if (flags & FI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (getaddrinfo(node, service, &want, &found))
		return -FI_ENODATA;
	if (flags & FI_SOURCE)
		rc = set_addr(&info->src_addr, &info->src_addrlen,
			      found->ai_addr, found->ai_addrlen);
	else
		rc = set_addr(&info->dest_addr, &info->dest_addrlen,
			      found->ai_addr, found->ai_addrlen);
	info->addr_format =
		found->ai_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	freeaddrinfo(found);
	return rc;
}

/* Addresses that hints give and no name overrides. */
static int copy_addrs(struct fi_info *info, const struct fi_info *hints)
{
	int rc = 0;

	if (hints && hints->src_addr && !info->src_addr)
		rc = set_addr(&info->src_addr, &info->src_addrlen,
			      hints->src_addr, hints->src_addrlen);
	if (!rc && hints && hints->dest_addr && !info->dest_addr)
		rc = set_addr(&info->dest_addr, &info->dest_addrlen,
			      hints->dest_addr, hints->dest_addrlen);
	return rc;
}

int stcp_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out)
{
	struct fi_info *info;
	int rc;

	if (!is_met(hints))
		return -FI_ENODATA;
	info = fi_allocinfo();
	if (!info)
		return -FI_ENOMEM;
	info->caps = CAPS;
	info->addr_format = FI_SOCKADDR_IN;
	fill_ends(info);
	fill_domain(info->domain_attr);
	apply(info, hints);
	rc = fill_names(info, version);
	if (!rc && (node || service))
		rc = resolve(node, service, flags, hints, info);
	if (!rc)
		rc = copy_addrs(info, hints);
	if (rc)
		fi_freeinfo(info);
	else
		*out = info;
	return rc;
}

struct fi_info *stcp_info_for_request(const struct stcp_pep *pep,
				      const struct stcp_request *request)
{
	struct sockaddr_storage ss;
	size_t len = sizeof(ss);
	struct fi_info *info = fi_dupinfo(pep->info);

	if (!info)
		return NULL;
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = NULL;
	info->dest_addr = NULL;
	if (stcp_socket_name(request->source.fd, false, &ss, &len) ||
	    set_addr(&info->src_addr, &info->src_addrlen, &ss, len) ||
	    set_addr(&info->dest_addr, &info->dest_addrlen, &request->peer,
		     stcp_sockaddr_len(&request->peer))) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}
