// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl info: what the brick is and has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <uuid/uuid.h>

#include "initiator/brickctl/base/brickctl.h"
#include "kfb_medium.h"
#include "kfb_path.h"

static const uint32_t flush_modes[] = {
	KFBRICK_FLUSH_NONE,   KFBRICK_FLUSH_MESSAGE, KFBRICK_FLUSH_READBACK,
	KFBRICK_FLUSH_COMMIT, KFBRICK_FLUSH_NATIVE,
};

#define N_FLUSH_MODES (sizeof(flush_modes) / sizeof(flush_modes[0]))

struct quota {
	uint64_t blocks; /* KFBRICK_QUOTA_NONE: there is none */
	uint64_t used;
};

/* More of them no brick can give. */
#define GRANTS_MAX 256

static const char *access_name(const struct kfbrick_grant *grant)
{
	return grant->access == KFBRICK_GRANT_RW ? "rw" : "ro";
}

static size_t get_grants(const struct ctl *ctl,
			 struct kfbrick_grant grants[GRANTS_MAX])
{
	size_t n = kfbrick_get_grants(ctl->k, grants, GRANTS_MAX);

	return n < GRANTS_MAX ? n : GRANTS_MAX;
}

/* Without a client there are none: whoever reaches the brick may use all. */
static void print_grants_json(const struct ctl *ctl, struct json_object *object)
{
	struct json_object *list = json_object_new_array();
	struct kfbrick_grant grants[GRANTS_MAX];
	size_t n = get_grants(ctl, grants);
	size_t i;

	for (i = 0; i < n; i++) {
		struct json_object *grant = json_object_new_object();

		ctl_json_hex(grant, "va", grants[i].va);
		ctl_json_count(grant, "n_blocks", grants[i].n_blocks);
		ctl_json_text(grant, "access", access_name(&grants[i]));
		json_object_array_add(list, grant);
	}
	json_object_object_add(object, "grants", list);
}

static void print_grants_text(const struct ctl *ctl)
{
	struct kfbrick_grant grants[GRANTS_MAX];
	size_t n = get_grants(ctl, grants);
	char size[CTL_SIZE_TEXT_BYTES];
	size_t i;

	if (!ctl->settings.client)
		puts("grants       everything: this brick asks nobody who it is");
	else if (!n)
		puts("grants       none");
	for (i = 0; i < n; i++)
		printf("%-12s 0x%" PRIx64 "+%" PRIu64 " (%s) %s\n",
		       i ? "" : "grants", grants[i].va, grants[i].n_blocks,
		       ctl_size_text(size,
				     ctl_blocks_bytes(grants[i].n_blocks)),
		       access_name(&grants[i]));
}

static void print_rate_json(const struct ctl *ctl, struct json_object *object)
{
	uint64_t n_bytes;
	uint32_t n_ops;

	kfbrick_get_rate(ctl->k, &n_bytes, &n_ops);
	if (n_bytes)
		ctl_json_count(object, "rate_bytes", n_bytes);
	if (n_ops)
		ctl_json_count(object, "rate_ops", n_ops);
}

static void print_info_json(const struct ctl *ctl,
			    const struct kfbrick_info *info,
			    const struct quota *quota)
{
	struct json_object *object = json_object_new_object();
	struct json_object *modes = json_object_new_array();
	char interface[KFBRICK_INTERFACE_BYTES];
	char uuid[UUID_STR_LEN];
	unsigned int i;

	for (i = 0; i < N_FLUSH_MODES; i++) {
		if (info->flush_modes & flush_modes[i])
			json_object_array_add(
				modes, json_object_new_string(
					       ctl_flush_name(flush_modes[i])));
	}
	ctl_json_text(object, "brick", ctl->settings.brick);
	ctl_json_text(object, "path",
		      kfb_path_name(kfbrick_get_path(ctl->k, interface)));
	ctl_json_text(object, "interface", interface);
	uuid_unparse_lower(info->uuid, uuid);
	ctl_json_text(object, "uuid", uuid);
	ctl_json_id(object, "instance_id", info->instance_id);
	ctl_json_count(object, "power_epoch", info->power_epoch);
	ctl_json_count(object, "block_bytes", KFBRICK_BLOCK_BYTES);
	ctl_json_text(object, "medium", kfb_medium_name(info->medium));
	ctl_json_count(object, "slots_total", info->slots_total);
	ctl_json_count(object, "slots_free", info->slots_free);
	ctl_json_count(object, "slots_clean", info->slots_clean);
	ctl_json_count(object, "slots_bad", info->slots_bad);
	ctl_json_count(object, "slow_total", info->slow_total);
	ctl_json_count(object, "slow_free", info->slow_free);
	if (quota->blocks != KFBRICK_QUOTA_NONE) {
		ctl_json_count(object, "quota_blocks", quota->blocks);
		ctl_json_count(object, "quota_used_blocks", quota->used);
	}
	print_rate_json(ctl, object);
	print_grants_json(ctl, object);
	json_object_object_add(object, "flush_modes", modes);
	ctl_json_text(object, "flush_mode", ctl_flush_name(info->flush_mode));
	ctl_json_text(object, "flush_why", info->flush_why);
	ctl_json_bool(object, "ack_is_placed", info->ack_is_placed);
	ctl_json_bool(object, "unsafe", info->unsafe);
	ctl_json_bool(object, "exposed", info->exposed);
	ctl_json_count(object, "lease_ms", info->lease_ms);
	ctl_json_count(object, "alloc_max_blocks", info->alloc_max_blocks);
	ctl_json_count(object, "map_extent_max_bytes",
		       info->map_extent_max_bytes);
	ctl_json_count(object, "mappings_max", info->mappings_max);
	ctl_json_print(object);
}

static void print_space(const struct kfbrick_info *info,
			const struct quota *quota)
{
	char total[CTL_SIZE_TEXT_BYTES];
	char left[CTL_SIZE_TEXT_BYTES];

	printf("blocks       %" PRIu64 " (%s)\n", info->slots_total,
	       ctl_size_text(total, ctl_blocks_bytes(info->slots_total)));
	printf("free         %" PRIu64 " (%s), of them %" PRIu64 " zeroed\n",
	       info->slots_free,
	       ctl_size_text(left, ctl_blocks_bytes(info->slots_free)),
	       info->slots_clean);
	printf("bad          %" PRIu64 "\n", info->slots_bad);
	if (info->slow_total)
		printf("slow tier    %" PRIu64 " (%s), free %" PRIu64 " (%s)\n",
		       info->slow_total,
		       ctl_size_text(total, ctl_blocks_bytes(info->slow_total)),
		       info->slow_free,
		       ctl_size_text(left, ctl_blocks_bytes(info->slow_free)));
	if (quota->blocks != KFBRICK_QUOTA_NONE)
		printf("quota        %" PRIu64 " (%s), in use %" PRIu64
		       " (%s)\n",
		       quota->blocks,
		       ctl_size_text(total, ctl_blocks_bytes(quota->blocks)),
		       quota->used,
		       ctl_size_text(left, ctl_blocks_bytes(quota->used)));
}

static void print_rate(const struct ctl *ctl)
{
	char bytes[CTL_SIZE_TEXT_BYTES];
	uint64_t n_bytes;
	uint32_t n_ops;

	kfbrick_get_rate(ctl->k, &n_bytes, &n_ops);
	if (!n_bytes && !n_ops)
		return;
	printf("rate        ");
	if (n_bytes)
		printf(" %s/s", ctl_size_text(bytes, n_bytes));
	if (n_ops)
		printf("%s %" PRIu32 " operations/s", n_bytes ? "," : "",
		       n_ops);
	putchar('\n');
}

static void print_path(const struct ctl *ctl)
{
	char interface[KFBRICK_INTERFACE_BYTES];
	enum kfbrick_path path = kfbrick_get_path(ctl->k, interface);

	printf("path         %s%s%s\n", kfb_path_name(path),
	       *interface ? " " : "", interface);
}

static void print_info_text(const struct ctl *ctl,
			    const struct kfbrick_info *info,
			    const struct quota *quota)
{
	char extent[CTL_SIZE_TEXT_BYTES];
	char batch[CTL_SIZE_TEXT_BYTES];
	char uuid[UUID_STR_LEN];

	printf("brick        %s\n", ctl->settings.brick);
	print_path(ctl);
	uuid_unparse_lower(info->uuid, uuid);
	printf("uuid         %s\n", uuid);
	printf("instance     %016" PRIx64 "\n", info->instance_id);
	printf("power epoch  %" PRIu64 "\n", info->power_epoch);
	printf("medium       %s\n", kfb_medium_name(info->medium));
	print_space(info, quota);
	print_rate(ctl);
	print_grants_text(ctl);
	printf("flush        %s%s%s\n", ctl_flush_name(info->flush_mode),
	       *info->flush_why ? ": " : "", info->flush_why);
	if (info->unsafe)
		puts("unsafe       yes: a setting of this brick promises more than the platform keeps");
	if (info->exposed)
		puts("exposed      yes: a setting of this brick lets clients in over networks that nothing protects");
	if (info->lease_ms)
		printf("lease        %" PRIu32 " ms\n", info->lease_ms);
	else
		puts("lease        none");
	printf("alloc_max    %" PRIu64 " blocks (%s)\n", info->alloc_max_blocks,
	       ctl_size_text(batch, ctl_blocks_bytes(info->alloc_max_blocks)));
	printf("handle_max   %s\n",
	       ctl_size_text(extent, info->map_extent_max_bytes));
	printf("mappings_max %" PRIu32 "\n", info->mappings_max);
}

static int run_info(struct ctl *ctl, const struct ctl_args *args)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	struct quota quota;
	int status;
	int err;

	status = ctl_connect(ctl);
	if (status)
		return status;
	err = kfbrick_get_info(ctl->k, &info);
	if (!err)
		err = kfbrick_get_quota(ctl->k, &quota.blocks, &quota.used);
	if (err)
		return ctl_fail_call(ctl, err, "%s", ctl->settings.brick);
	if (ctl->json)
		print_info_json(ctl, &info, &quota);
	else
		print_info_text(ctl, &info, &quota);
	return CTL_DONE;
}

const struct ctl_command ctl_cmd_info = {
	.name = "info",
	.synopsis = "",
	.summary = "Shows what the brick is, has and promises",
	.details =
		"The line flush names what makes writes durable, and why. A brick whose flush is\n"
		"none keeps nothing over a loss of power. The line quota is there when this client\n"
		"has one: the blocks it may have, and has. So is rate: what each of its connections, and\n"
		"each disk, may move in a second. The lines grants are what the brick told\n"
		"this client when it connected: the ranges it may read (ro) or also write (rw).\n"
		"\n"
		"Example: brickctl --json info",
	.run = run_info,
};
