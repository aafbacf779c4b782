// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The operations: what there is to know of each, in one table.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "kfb_codec_priv.h"
#include "kfb_ops.h"

static const struct kfb_op kfb_ops[KFB_OP_LAST + 1] = {
	[KFB_OP_AUTH] = {
		.name = "AUTH", .label = "auth",
		.traits = KFB_OP_OPENS | KFB_OP_NOT_STOPPING,
		.request = &kfb_auth_request_form,
		.reply = &kfb_auth_reply_form,
	},
	[KFB_OP_INFO] = {
		.name = "INFO", .label = "info",
		.traits = KFB_OP_RECOMPUTED,
		.request = &kfb_info_request_form,
		.reply = &kfb_info_reply_form,
	},
	[KFB_OP_ALLOC] = {
		.name = "ALLOC", .label = "alloc",
		.traits = KFB_OP_NOT_STOPPING,
		.request = &kfb_range_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_FREE] = {
		.name = "FREE", .label = "free",
		.traits = KFB_OP_NOT_STOPPING,
		.request = &kfb_range_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_MAP] = {
		.name = "MAP", .label = "map",
		.traits = KFB_OP_RECOMPUTED | KFB_OP_NOT_STOPPING,
		.request = &kfb_map_request_form,
		.reply = &kfb_map_reply_form,
	},
	[KFB_OP_UNMAP] = {
		.name = "UNMAP", .label = "unmap",
		.traits = KFB_OP_URGENT,
		.request = &kfb_unmap_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_LIST] = {
		.name = "LIST", .label = "list",
		.traits = KFB_OP_RECOMPUTED,
		.request = &kfb_list_request_form,
		.reply = &kfb_list_reply_form,
	},
	[KFB_OP_FLUSH] = {
		.name = "FLUSH", .label = "flush",
		.request = &kfb_flush_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_PING] = {
		.name = "PING", .label = "ping",
		.traits = KFB_OP_URGENT | KFB_OP_RECOMPUTED,
		.request = &kfb_ping_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_EVENT] = {
		.name = "EVENT", .label = "event",
		.reply = &kfb_event_form,
	},
	[KFB_OP_FENCE] = {
		.name = "FENCE", .label = "fence",
		.traits = KFB_OP_NOT_STOPPING,
		.request = &kfb_fence_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_CLIENT] = {
		.name = "CLIENT", .label = "client",
		.traits = KFB_OP_RECOMPUTED,
		.request = &kfb_client_request_form,
		.reply = &kfb_client_reply_form,
	},
	[KFB_OP_RESERVE] = {
		.name = "RESERVE", .label = "reserve",
		.traits = KFB_OP_NOT_STOPPING,
		.request = &kfb_reserve_request_form,
		.reply = &kfb_empty_reply_form,
	},
	[KFB_OP_RESERVATION] = {
		.name = "RESERVATION", .label = "reservation",
		.traits = KFB_OP_RECOMPUTED,
		.request = &kfb_range_request_form,
		.reply = &kfb_reservation_reply_form,
	},
};

const struct kfb_op *kfb_op(__u16 op)
{
	return op && op <= KFB_OP_LAST ? &kfb_ops[op] : NULL;
}

_Bool kfb_op_is(__u16 op, enum kfb_op_trait trait)
{
	const struct kfb_op *known = kfb_op(op);

	return known && known->traits & trait;
}

const char *kfb_op_name(__u16 op)
{
	const struct kfb_op *known = kfb_op(op);

	return known ? known->name : "?";
}

const char *kfb_op_label(__u16 op)
{
	const struct kfb_op *known = kfb_op(op);

	return known ? known->label : "unknown";
}

_Bool kfb_op_has_reply_body(__u16 op)
{
	const struct kfb_op *known = kfb_op(op);

	return known && known->reply->fixed_bytes;
}
