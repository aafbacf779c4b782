// SPDX-License-Identifier: BSD-2-Clause
/* INFO and PING. */
#include <string.h>

#include "brickd/net/devices.h"
#include "brickd/net/placing.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"

static bool is_unsafe(const struct brick_ops *ops)
{
	return ops->config->allow_untrusted_tcp ||
	       ops->config->allow_remote_anonymous;
}

/* What older clients would take for a violation is for those who ask for it. */
static bool has_feature(const struct brick_op *op, uint32_t feature)
{
	return op->queue->conn && op->queue->conn->features & feature;
}

static void add_quota(const struct brick_op *op, struct kfb_info *info)
{
	const struct brick_client *client = op->session->client;
	uint64_t owned;

	if (!client->has_quota || !has_feature(op, KFB_FEATURE_QUOTA))
		return;
	owned = brick_store_owned(brick_ops_of(op->session)->storage->store,
				  client->owner);
	info->flags |= KFB_INFO_QUOTA;
	info->quota_blocks = (uint32_t)client->quota_blocks;
	info->owned_blocks =
		owned < KFB_QUOTA_MAX ? (uint32_t)owned : KFB_QUOTA_MAX;
}

static void add_rate(const struct brick_op *op, struct kfb_info *info)
{
	const struct kfb_rate *rate = &op->session->rate;

	if (!kfb_rate_is_set(rate) || !has_feature(op, KFB_FEATURE_RATE))
		return;
	info->flags |= KFB_INFO_RATE;
	info->rate = *rate;
}

void brick_op_info(struct brick_op *op)
{
	const struct brick_ops *ops = brick_ops_of(op->session);
	const struct brick_limits *limits = &ops->config->limits;
	struct kfb_info *info = &op->reply.u.info;
	struct brick_durability promise;
	struct brick_store_stats stats;
	enum brick_placing placing;

	placing = brick_placing_of(op->session->fabric->address->scheme,
				   BRICK_DEVICES_FOLDER, op->session->device);
	brick_durability_of(&ops->storage->facts, placing, &promise);
	brick_store_stats(ops->storage->store, &stats);
	memcpy(info->brick_uuid, ops->storage->uuid, sizeof(info->brick_uuid));
	info->instance_id = ops->storage->instance_id;
	info->power_epoch = ops->storage->power_epoch;
	info->block_shift = KFB_BLOCK_SHIFT;
	if (promise.is_unsafe || is_unsafe(ops))
		info->flags = KFB_INFO_UNSAFE;
	if (placing == BRICK_PLACED_BEFORE_ACK)
		info->flags |= KFB_INFO_ACK_IS_PLACED;
	info->flush_modes = promise.modes;
	if (op->session->commits)
		info->flush_modes |= KFB_FLUSH_COMMIT;
	info->flush_mode = promise.mode;
	info->flush_why = promise.why;
	info->medium = brick_medium_label(&ops->storage->facts);
	info->slots_total = stats.slots_total;
	info->slots_free = stats.slots_clean + stats.slots_dirty;
	if (stats.slow_total) {
		uint64_t n_free = stats.slow_clean + stats.slow_dirty;

		/* Spares are nobody's, in whichever tier they are just now. */
		info->slow_total = stats.slow_total - stats.slow_spare;
		info->slow_free = n_free > stats.slow_spare
					  ? n_free - stats.slow_spare
					  : 0;
	}
	info->slots_clean = stats.slots_clean;
	info->slots_bad = stats.slots_bad;
	info->lease_ms = (uint32_t)limits->lease_ms;
	info->mappings_max = (uint32_t)limits->mappings;
	info->map_extent_max_bytes = limits->map_extent_max_bytes;
	info->alloc_max_blocks = limits->alloc_max_blocks;
	add_quota(op, info);
	add_rate(op, info);
	brick_op_finish(op, KFB_ST_OK);
}

void brick_op_ping(struct brick_op *op)
{
	bool is_end = op->req.u.ping.flags & KFB_PING_END;
	struct brick_session *s = op->session;

	if (is_end)
		brick_conn_disconnect(op->queue->conn);
	brick_op_finish(op, KFB_ST_OK);
	if (is_end)
		brick_session_fence(s, "disconnect");
}
