// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: what a provider says of itself is sane, and hints are honoured.
 */
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

static struct fi_info *st_info_ask_hints(struct st *st, u64 flags,
					 void (*wish)(struct fi_info *hints),
					 int *ret)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_info *info = NULL;

	if (!hints) {
		*ret = -ENOMEM;
		return NULL;
	}
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	if (wish)
		wish(hints);
	*ret = fi_getinfo(FI_VERSION(1, 0), st->node, "4791", flags, hints,
			  &info);
	fi_freeinfo(hints);
	return info;
}

static void st_info_fields(struct st *st, const struct fi_info *i)
{
	CHECK(st, !strcmp(i->fabric_attr->prov_name, st->provider),
	      "the info names the provider");
	CHECK(st, i->fabric_attr->name, "the fabric has a name");
	CHECK(st, i->domain_attr->name, "the domain has a name");
	CHECK_EQ(st, i->ep_attr->type, FI_EP_MSG, "endpoints are connected");
	CHECK(st, i->ep_attr->protocol != FI_PROTO_UNSPEC,
	      "the protocol is told");
	CHECK(st, (i->caps & FI_MSG) && (i->caps & FI_RMA),
	      "there are messages and remote memory");
	CHECK(st, i->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM),
	      "it is told whom one can reach");
	CHECK(st, i->ep_attr->max_msg_size >= ST_MAX_LEN,
	      "1 MiB goes in one operation");
	CHECK(st, i->ep_attr->cm_data_size >= 55,
	      "there are 55 bytes of private data at least");
	CHECK(st, i->ep_attr->cm_data_size <= FI_CM_DATA_MAX,
	      "private data fits into events");
	CHECK(st, i->ep_attr->op_timeout_ms && i->ep_attr->cm_timeout_ms,
	      "nothing waits for ever");
	CHECK(st, i->tx_attr->size >= 16, "16 operations can be posted");
	CHECK(st, i->rx_attr->size >= 16, "16 receives can be posted");
	CHECK(st, i->tx_attr->iov_limit >= 1, "sends have a segment");
	CHECK(st, i->rx_attr->iov_limit >= 1, "receives have a segment");
	CHECK(st, i->tx_attr->rma_iov_limit >= 1, "RMA has a range");
	CHECK(st, i->tx_attr->comp_levels & FI_INJECT_COMPLETE,
	      "the weakest completion is there");
	CHECK(st,
	      (i->tx_attr->comp_levels & FI_TRANSMIT_COMPLETE) ||
		      i->ep_attr->protocol == FI_PROTO_IWARP,
	      "transmit completion is there, but on iWARP");
	CHECK(st, i->domain_attr->mr_key_size >= sizeof(u32),
	      "keys have 4 bytes at least");
	CHECK(st, i->domain_attr->op_context_size >= sizeof(struct fi_context),
	      "operation memory is as large as its head");
	CHECK(st,
	      i->domain_attr->threading == FI_THREAD_SAFE &&
		      i->domain_attr->control_progress == FI_PROGRESS_AUTO &&
		      i->domain_attr->data_progress == FI_PROGRESS_AUTO &&
		      i->domain_attr->resource_mgmt == FI_RM_ENABLED,
	      "callers need not take turns, nor drive anything");
	CHECK(st, i->tx_attr->msg_order & FI_ORDER_SAS,
	      "messages are in order");
	CHECK(st, i->dest_addr && i->dest_addrlen >= sizeof(struct sockaddr_in),
	      "the peer's address is in the info");
}

static void st_info_wish_rdm(struct fi_info *h)
{
	h->ep_attr->type = FI_EP_RDM;
}

static void st_info_wish_long(struct fi_info *h)
{
	h->ep_attr->max_msg_size = SIZE_MAX;
}

static void st_info_wish_queue(struct fi_info *h)
{
	h->tx_attr->size = SIZE_MAX;
}

static void st_info_wish_order(struct fi_info *h)
{
	h->tx_attr->msg_order = FI_ORDER_SAS | BIT_ULL(60);
}

static void st_info_wish_rx_order(struct fi_info *h)
{
	h->rx_attr->comp_order = BIT_ULL(60);
}

static void st_info_wish_domain(struct fi_info *h)
{
	h->domain_attr->name = kstrdup("no-such-domain", GFP_KERNEL);
}

static void st_info_wish_timeout(struct fi_info *h)
{
	h->ep_attr->op_timeout_ms = 1234;
}

static void st_info_hints(struct st *st)
{
	static const struct {
		void (*wish)(struct fi_info *hints);
		const char *what;
	} no[] = {
		{ st_info_wish_rdm,
		  "an endpoint type that is not there gives none" },
		{ st_info_wish_long,
		  "a message size beyond the limit gives none" },
		{ st_info_wish_queue, "a queue beyond the limit gives none" },
		{ st_info_wish_order, "an order that nobody keeps gives none" },
		{ st_info_wish_rx_order,
		  "nor is there one of completions that nobody keeps" },
		{ st_info_wish_domain,
		  "a domain that is not there gives none" },
	};
	struct fi_info *info;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(no); i++) {
		info = st_info_ask_hints(st, 0, no[i].wish, &ret);
		CHECK_EQ(st, ret, -ENODATA, no[i].what);
		fi_freeinfo(info);
	}
	info = st_info_ask_hints(st, 0, st_info_wish_timeout, &ret);
	if (CHECK_EQ(st, ret, 0, "a time-out may be wished"))
		CHECK_EQ(st, info->ep_attr->op_timeout_ms, 1234,
			 "the wished time-out is taken");
	fi_freeinfo(info);
}

static void st_info_flags(struct st *st)
{
	const struct sockaddr_in *sin;
	struct fi_info *info;
	int ret;

	info = st_info_ask_hints(st, FI_SOURCE, NULL, &ret);
	if (CHECK_EQ(st, ret, 0, "an address to listen on gives infos")) {
		sin = info->src_addr;
		CHECK(st, sin && be16_to_cpu(sin->sin_port) == 4791,
		      "FI_SOURCE makes node and service our own end");
	}
	fi_freeinfo(info);
	info = st_info_ask_hints(st, 0, NULL, &ret);
	if (CHECK_EQ(st, ret, 0, "an address of a peer gives infos")) {
		sin = info->dest_addr;
		CHECK(st, sin && be16_to_cpu(sin->sin_port) == 4791,
		      "without it they are the peer");
	}
	fi_freeinfo(info);
	info = st_info_ask_hints(st, FI_PROV_ATTR_ONLY, NULL, &ret);
	CHECK_EQ(st, ret, 0, "attributes alone can be asked for");
	fi_freeinfo(info);
}

void st_test_info(struct st *st)
{
	st_info_fields(st, st->info);
	st_info_hints(st);
	st_info_flags(st);
}
