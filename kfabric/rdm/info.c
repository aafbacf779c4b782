// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: infos: what there is, made of what the inner provider has.
 */

#include "rdm.h"

/* What the inner provider is asked for: names, addresses, and messages. */
int kfir_ask_inner(const char *node, const char *service, u64 flags,
		   const struct fi_info *outer, struct fi_info **list)
{
	struct fi_fabric_attr fabric = {};
	struct fi_domain_attr domain = { .mr_mode = ~0 };
	struct fi_ep_attr ep = { .type = FI_EP_MSG,
				 .cm_data_size = RDMW_HELLO_BYTES };
	struct fi_info hints = { .caps = FI_MSG,
				 .ep_attr = &ep,
				 .domain_attr = &domain,
				 .fabric_attr = &fabric };

	if (outer) {
		hints.addr_format = outer->addr_format;
		hints.src_addr = outer->src_addr;
		hints.src_addrlen = outer->src_addrlen;
		hints.dest_addr = outer->dest_addr;
		hints.dest_addrlen = outer->dest_addrlen;
	}
	if (outer && outer->domain_attr)
		domain.name = outer->domain_attr->name;
	if (outer && outer->fabric_attr) {
		fabric.name = outer->fabric_attr->name;
		fabric.prov_name = (char *)kfi_layer_inner_name(
			outer->fabric_attr->prov_name);
	}
	return fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), node,
			  service, flags, &hints, list);
}

/* Who names what is needed, and not this, may post receives with any address. */
static u64 kfir_directed(const struct fi_info *hints)
{
	u64 needed = hints ? hints->caps : 0;

	if (hints && hints->rx_attr)
		needed |= hints->rx_attr->caps;
	return needed && !(needed & FI_DIRECTED_RECV) ? 0 : FI_DIRECTED_RECV;
}

/* Make an inner info ours. Names and addresses stay. */
static int kfir_info_outer(struct fi_info *info, const struct fi_info *hints)
{
	const u64 levels = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE;
	const struct fi_ep_attr none = {};
	const struct fi_ep_attr *wish =
		hints && hints->ep_attr ? hints->ep_attr : &none;
	const u64 tx = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND |
		       FI_READ | FI_WRITE | FI_NAMED_RX_CTX;
	const u64 rx = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC |
		       FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RECV | FI_SOURCE |
		       FI_MULTI_RECV | FI_TAGGED_MULTI_RECV |
		       kfir_directed(hints);
	char *domain = info->domain_attr->name;
	int ret = kfi_layer_name(info, &kfir_prov);

	if (ret)
		return ret;
	info->caps &= FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->caps |= tx | rx;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = tx,
		.msg_order = FI_ORDER_SAS,
		/* The last is that of reads and writes alone. */
		.comp_levels = (info->tx_attr->comp_levels & levels) |
			       FI_DELIVERY_COMPLETE,
		.inject_size = KFI_POST_INJECT_SIZE,
		.size = KFIR_QUEUE_SIZE,
		.iov_limit = KFIR_IOV_LIMIT,
		.rma_iov_limit = KFI_POST_RMA_LIMIT,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = rx,
		.msg_order = FI_ORDER_SAS,
		.size = KFIR_QUEUE_SIZE,
		.iov_limit = KFIR_IOV_LIMIT,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_RDM,
		.protocol = FI_PROTO_KFI_RDM,
		.protocol_version = RDMW_VERSION,
		.max_msg_size = RDMW_MESSAGE_MAX,
		.op_timeout_ms = KFIR_OP_TIMEOUT_MS,
		.cm_timeout_ms = KFIR_CM_TIMEOUT_MS,
		/* As many as are wished, as far as there may be so many. */
		.tx_ctx_cnt = clamp_t(size_t, wish->tx_ctx_cnt, 1, KFI_CTX_MAX),
		.rx_ctx_cnt = clamp_t(size_t, wish->rx_ctx_cnt, 1, KFI_CTX_MAX),
	};
	*info->domain_attr = (struct fi_domain_attr){
		.name = domain,
		.mr_key_size = sizeof(u64),
		.mr_iov_limit = U32_MAX,
		.mr_max_size = SIZE_MAX,
		.seg_max_size = SIZE_MAX,
		.cq_data_size = sizeof(u64),
		.op_context_size = KFI_OP_CONTEXT_SIZE(sizeof(struct kfir_op)),
		.max_ep_tx_ctx = KFI_CTX_MAX,
		.max_ep_rx_ctx = KFI_CTX_MAX,
		.caps = info->domain_attr->caps,
	};
	kfi_obey_hints(info, hints);
	return 0;
}

int kfir_getinfo(struct kfi_provider *prov, const char *node,
		 const char *service, u64 flags, const struct fi_info *hints,
		 struct fi_info **list)
{
	struct fi_info *info;
	int ret;

	/* Ours is the one type; and who asks for another may be we ourselves. */
	if (hints && hints->ep_attr && hints->ep_attr->type != FI_EP_UNSPEC &&
	    hints->ep_attr->type != FI_EP_RDM)
		return -ENODATA;
	ret = kfir_ask_inner(node, service, flags, hints, list);
	if (ret)
		return ret;
	for (info = *list; info && !ret; info = info->next)
		ret = kfir_info_outer(info, hints);
	if (ret) {
		fi_freeinfo(*list);
		*list = NULL;
	}
	return ret;
}
