// SPDX-License-Identifier: BSD-2-Clause
/* What hints may ask for, and what they get: infos promise what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rig.h"
#include "stcp.h"

/* Of API 1.4; the names in libfabric 2 are deprecated. */
#define MR_BASIC    1
#define MR_SCALABLE 2

#define VERSION FI_VERSION(1, 17)

/* What hints are changed to, and in which version of the interface. */
struct wish {
	const char *name;
	uint32_t version;
	void (*make)(struct fi_info *hints);
};

#define WISH(name, field, value)                \
	static void name(struct fi_info *hints) \
	{                                       \
		hints->field = value;           \
	}
WISH(wish_order_write_after_read, tx_attr->msg_order, FI_ORDER_WAR)
WISH(wish_order_send_after_read, rx_attr->msg_order, FI_ORDER_SAR)
WISH(wish_completion_order, tx_attr->comp_order, 1)
WISH(wish_commit, tx_attr->op_flags, FI_COMMIT_COMPLETE)
WISH(wish_multi_recv, rx_attr->op_flags, FI_MULTI_RECV)
WISH(wish_buffers, rx_attr->total_buffered_recv, 1)
WISH(wish_protocol, ep_attr->protocol, FI_PROTO_RXM)
WISH(wish_protocol_version, ep_attr->protocol_version, 1)
WISH(wish_contexts, ep_attr->tx_ctx_cnt, 2)
WISH(wish_shared_tx, ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT)
WISH(wish_rx_contexts, ep_attr->rx_ctx_cnt, 2)
WISH(wish_war_size, ep_attr->max_order_war_size, 1)
WISH(wish_counters, domain_attr->cntr_cnt, 1)
WISH(wish_domain_caps, domain_attr->caps, FI_SHARED_AV)
WISH(wish_basic, domain_attr->mr_mode, MR_BASIC)
WISH(wish_mode_of_1_5, domain_attr->mr_mode, FI_MR_LOCAL)
WISH(wish_stx, domain_attr->max_ep_stx_ctx, 1)
WISH(wish_tagged, caps, FI_TAGGED)
WISH(wish_events, caps, FI_RMA | FI_RMA_EVENT)
WISH(wish_domain_key, domain_attr->auth_key_size, 8)
WISH(wish_endpoint_key, ep_attr->auth_key_size, 8)
WISH(wish_class, tx_attr->tclass, FI_TC_LOW_LATENCY)
WISH(wish_domain_class, domain_attr->tclass, FI_TC_BULK_DATA)
WISH(wish_fabric, fabric_attr->name, strdup("TCP-IP"))
WISH(wish_domain, domain_attr->name, strdup("tcp"))
WISH(wish_own_fabric, fabric_attr->name, strdup("stcp"))
WISH(wish_own_domain, domain_attr->name, strdup("stcp"))
WISH(wish_best_effort, tx_attr->tclass, FI_TC_BEST_EFFORT)
WISH(wish_in6, addr_format, FI_SOCKADDR_IN6)
WISH(wish_nothing, caps, 0)

/* An address of one kind, and the format of the other. */
static void wish_contradiction(struct fi_info *hints)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };

	hints->addr_format = FI_SOCKADDR_IN;
	hints->src_addr = malloc(sizeof(any));
	assert_non_null(hints->src_addr);
	memcpy(hints->src_addr, &any, sizeof(any));
	hints->src_addrlen = sizeof(any);
}
WISH(wish_scalable, domain_attr->mr_mode, MR_SCALABLE)
WISH(wish_many_modes, domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_PROV_KEY)
WISH(wish_delivery, tx_attr->op_flags, FI_DELIVERY_COMPLETE)
WISH(wish_shared_rx, ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT)
WISH(wish_waw_size, ep_attr->max_order_waw_size, 1 << 20)
WISH(wish_waw, tx_attr->msg_order, FI_ORDER_WAW)

static int ask(const struct wish *wish, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	assert_non_null(hints);
	wish->make(hints);
	rc = stcp_getinfo(wish->version, NULL, NULL, 0, hints, info);
	fi_freeinfo(hints);
	return rc;
}

#define NEW(name)                    \
	{                            \
#name, VERSION, name \
	}
#define OLD(name)                                           \
	{                                                   \
#name " before 1.5", FI_VERSION(1, 4), name \
	}

static void what_is_not_kept_is_not_granted(void **state)
{
	static const struct wish wishes[] = {
		NEW(wish_order_write_after_read),
		NEW(wish_order_send_after_read),
		NEW(wish_completion_order),
		NEW(wish_commit),
		NEW(wish_multi_recv),
		NEW(wish_buffers),
		NEW(wish_protocol),
		NEW(wish_protocol_version),
		NEW(wish_contexts),
		NEW(wish_shared_tx),
		NEW(wish_rx_contexts),
		NEW(wish_war_size),
		NEW(wish_counters),
		NEW(wish_domain_caps),
		NEW(wish_basic),
		NEW(wish_stx),
		NEW(wish_tagged),
		NEW(wish_events),
		NEW(wish_domain_key),
		NEW(wish_endpoint_key),
		NEW(wish_class),
		NEW(wish_domain_class),
		NEW(wish_fabric),
		NEW(wish_domain),
		NEW(wish_contradiction),
		OLD(wish_basic),
		OLD(wish_mode_of_1_5),
	};

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct fi_info *info = NULL;

		if (ask(&wishes[i], &info) != -FI_ENODATA)
			fail_msg("%s is granted", wishes[i].name);
	}
}

static struct fi_info *granted(struct wish wish)
{
	struct fi_info *info = NULL;

	if (ask(&wish, &info))
		fail_msg("%s is refused", wish.name);
	return info;
}

static void what_is_granted_is_said(void **state)
{
	struct fi_info *info;

	info = granted((struct wish)NEW(wish_nothing));
	assert_int_equal(info->domain_attr->mr_mode, 0);
	assert_int_equal(info->domain_attr->cntr_cnt, 0);
	fi_freeinfo(info);
	info = granted((struct wish)OLD(wish_nothing));
	assert_int_equal(info->domain_attr->mr_mode, MR_SCALABLE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_scalable));
	assert_int_equal(info->domain_attr->mr_mode, MR_SCALABLE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_many_modes));
	assert_int_equal(info->domain_attr->mr_mode, 0);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_delivery));
	assert_int_equal(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_shared_rx));
	assert_true(info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_waw));
	assert_true(info->ep_attr->max_order_waw_size > 0);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_waw_size));
	fi_freeinfo(info);
	fi_freeinfo(granted((struct wish)NEW(wish_own_fabric)));
	fi_freeinfo(granted((struct wish)NEW(wish_own_domain)));
	fi_freeinfo(granted((struct wish)NEW(wish_best_effort)));
}

/* No address is one of the kind that was asked for. */
static void a_wildcard_is_of_the_format_asked_for(void **state)
{
	struct fi_info *info = granted((struct wish)NEW(wish_in6));
	struct sockaddr_in6 name = { 0 };
	struct fid_fabric *fabric;
	struct fid_pep *pep;
	size_t len = sizeof(name);

	assert_int_equal(info->addr_format, FI_SOCKADDR_IN6);
	assert_null(info->src_addr);
	assert_int_equal(stcp_fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_passive_ep(fabric, info, &pep, NULL), 0);
	assert_int_equal(fi_getname(&pep->fid, &name, &len), 0);
	assert_int_equal(name.sin6_family, AF_INET6);
	fi_close(&pep->fid);
	fi_close(&fabric->fid);
	fi_freeinfo(info);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_kept_is_not_granted),
		cmocka_unit_test(what_is_granted_is_said),
		cmocka_unit_test(a_wildcard_is_of_the_format_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
