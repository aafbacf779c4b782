// SPDX-License-Identifier: BSD-2-Clause
/* stcp says what it offers. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "stcp.h"

static void fill_ends(struct fi_info *info)
{
	info->tx_attr->caps = STCP_TX_CAPS;
	info->tx_attr->msg_order = STCP_ORDER;
	info->tx_attr->inject_size = STCP_INJECT_BYTES;
	info->tx_attr->size = STCP_QUEUE_SIZE;
	info->tx_attr->iov_limit = STCP_IOV_MAX;
	info->tx_attr->rma_iov_limit = TCPW_SEGS_MAX;
	info->rx_attr->caps = STCP_RX_CAPS;
	info->rx_attr->msg_order = STCP_ORDER;
	info->rx_attr->comp_order = STCP_COMP_ORDER;
	info->rx_attr->size = STCP_QUEUE_SIZE;
	info->rx_attr->iov_limit = STCP_IOV_MAX;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->protocol = FI_PROTO_SOCK_TCP;
	info->ep_attr->max_msg_size = STCP_MSG_MAX;
	info->ep_attr->max_order_raw_size = STCP_MSG_MAX;
	info->ep_attr->max_order_waw_size = STCP_MSG_MAX;
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
}

static int fill_domain(struct fi_info *info, uint32_t version)
{
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_fabric_attr *fabric = info->fabric_attr;

	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = FI_PROGRESS_AUTO;
	domain->data_progress = FI_PROGRESS_AUTO;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC;
	domain->caps = STCP_DOMAIN_CAPS;
	domain->mr_key_size = sizeof(uint64_t);
	domain->cq_cnt = 65536;
	domain->ep_cnt = 65536;
	domain->tx_ctx_cnt = 65536;
	domain->rx_ctx_cnt = 65536;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->max_ep_srx_ctx = STCP_SRXS_MAX;
	domain->mr_iov_limit = 1;
	domain->mr_cnt = STCP_MRS_MAX;
	domain->name = strdup(STCP_PROVIDER);
	fabric->name = strdup(STCP_PROVIDER);
	fabric->prov_name = strdup(STCP_PROVIDER);
	fabric->prov_version = FI_VERSION(1, 0);
	fabric->api_version = version;
	return fabric->name && fabric->prov_name && domain->name ? 0
								 : -FI_ENOMEM;
}

static void apply_domain(struct fi_domain_attr *domain,
			 const struct fi_domain_attr *hints, uint32_t version)
{
	/* What 0 meant before 1.5 has a name. */
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)))
		domain->mr_mode = STCP_MR_SCALABLE;
	if (!hints)
		return;
	if (hints->mr_mode == STCP_MR_SCALABLE)
		domain->mr_mode = STCP_MR_SCALABLE;
	if (hints->threading)
		domain->threading = hints->threading;
	if (hints->control_progress)
		domain->control_progress = hints->control_progress;
	if (hints->data_progress)
		domain->data_progress = hints->data_progress;
	if (hints->av_type)
		domain->av_type = hints->av_type;
	if (hints->resource_mgmt)
		domain->resource_mgmt = hints->resource_mgmt;
	/* Who does not ask for it is not sent any by peers' writes. */
	if (hints->cq_data_size)
		domain->cq_data_size = sizeof(uint64_t);
}

/* Hints choose capabilities, sizes of queues, and default flags. */
static void apply_hints(struct fi_info *info, const struct fi_info *hints)
{
	const uint64_t rma =
		FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	uint64_t caps;

	if (!hints)
		return;
	caps = hints->caps;
	/* A word without directions means all of its kind. */
	if (caps & FI_MSG && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & FI_RMA && !(caps & rma))
		caps |= rma;
	if (caps) {
		info->caps = caps | STCP_DOMAIN_CAPS;
		info->tx_attr->caps &= info->caps;
		info->rx_attr->caps &= info->caps;
	}
	if (hints->tx_attr && hints->tx_attr->size)
		info->tx_attr->size = hints->tx_attr->size;
	if (hints->rx_attr && hints->rx_attr->size)
		info->rx_attr->size = hints->rx_attr->size;
	if (hints->tx_attr)
		info->tx_attr->op_flags = hints->tx_attr->op_flags;
	if (hints->rx_attr)
		info->rx_attr->op_flags = hints->rx_attr->op_flags;
	if (hints->ep_attr && hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
}

int stcp_set_addr(void **to, size_t *len, const void *addr, size_t addrlen)
{
	*to = malloc(addrlen);
	if (!*to)
		return -FI_ENOMEM;
	memcpy(*to, addr, addrlen);
	*len = addrlen;
	return 0;
}

static int resolve_address(const char *node, const char *service,
			   uint64_t flags, const struct fi_info *hints,
			   struct fi_info *info)
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
		rc = stcp_set_addr(&info->src_addr, &info->src_addrlen,
				   found->ai_addr, found->ai_addrlen);
	else
		rc = stcp_set_addr(&info->dest_addr, &info->dest_addrlen,
				   found->ai_addr, found->ai_addrlen);
	info->addr_format = stcp_format_of(found->ai_addr);
	freeaddrinfo(found);
	return rc;
}

/* Addresses that hints give and no name overrides; grant.c has seen them. */
static int copy_addrs(struct fi_info *info, const struct fi_info *hints)
{
	bool is_named = info->src_addr || info->dest_addr;
	int rc = 0;

	if (!hints)
		return 0;
	if (!is_named && hints->src_addr)
		info->addr_format = stcp_format_of(hints->src_addr);
	if (!is_named && hints->dest_addr)
		info->addr_format = stcp_format_of(hints->dest_addr);
	if (hints->src_addr && !info->src_addr)
		rc = stcp_set_addr(&info->src_addr, &info->src_addrlen,
				   hints->src_addr, hints->src_addrlen);
	if (!rc && hints->dest_addr && !info->dest_addr)
		rc = stcp_set_addr(&info->dest_addr, &info->dest_addrlen,
				   hints->dest_addr, hints->dest_addrlen);
	return rc;
}

int stcp_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out)
{
	struct fi_info *info;
	int rc;

	if (!stcp_is_granted(version, hints))
		return -FI_ENODATA;
	info = fi_allocinfo();
	if (!info)
		return -FI_ENOMEM;
	info->caps = STCP_CAPS;
	info->handle = hints ? hints->handle : NULL;
	info->addr_format = hints && hints->addr_format == FI_SOCKADDR_IN6
				    ? FI_SOCKADDR_IN6
				    : FI_SOCKADDR_IN;
	fill_ends(info);
	rc = fill_domain(info, version);
	apply_hints(info, hints);
	apply_domain(info->domain_attr, hints ? hints->domain_attr : NULL,
		     version);
	if (!rc && (node || service))
		rc = resolve_address(node, service, flags, hints, info);
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
	    stcp_set_addr(&info->src_addr, &info->src_addrlen, &ss, len) ||
	    stcp_set_addr(&info->dest_addr, &info->dest_addrlen, &request->peer,
			  stcp_sockaddr_len(&request->peer))) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}
