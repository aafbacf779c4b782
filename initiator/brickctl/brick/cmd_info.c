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

/* More of them no brick can give. */
#define GRANTS_MAX 256

/* What a brick says of itself, and to this client. */
struct answer {
	struct kfbrick_info info;
	char uuid[UUID_STR_LEN];
	const char *path;
	char interface[KFBRICK_INTERFACE_BYTES];
	uint64_t quota_blocks; /* KFBRICK_QUOTA_NONE: there is none */
	uint64_t quota_used;
	uint64_t rate_bytes; /* 0: as many as there are */
	uint32_t rate_ops;
	struct kfbrick_grant grants[GRANTS_MAX];
	size_t n_grants;
};

static const char *access_name(const struct kfbrick_grant *grant)
{
	return grant->access == KFBRICK_GRANT_RW ? "rw" : "ro";
}

/* Without a client there are none: whoever reaches the brick may use all. */
static struct json_object *grants_json(const struct answer *a)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < a->n_grants; i++) {
		struct json_object *grant = json_object_new_object();

		ctl_json_hex(grant, "va", a->grants[i].va);
		ctl_json_count(grant, "n_blocks", a->grants[i].n_blocks);
		ctl_json_text(grant, "access", access_name(&a->grants[i]));
		json_object_array_add(list, grant);
	}
	return list;
}

static void print_info_json(const struct ctl *ctl, const struct answer *a)
{
	struct json_object *object = json_object_new_object();
	struct json_object *modes = json_object_new_array();
	const struct kfbrick_info *info = &a->info;
	unsigned int i;

	for (i = 0; i < N_FLUSH_MODES; i++) {
		if (info->flush_modes & flush_modes[i])
			json_object_array_add(
				modes, json_object_new_string(
					       ctl_flush_name(flush_modes[i])));
	}
	ctl_json_text(object, "brick", ctl->settings.brick);
	ctl_json_text(object, "path", a->path);
	ctl_json_text(object, "interface", a->interface);
	ctl_json_text(object, "uuid", a->uuid);
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
	if (a->quota_blocks != KFBRICK_QUOTA_NONE) {
		ctl_json_count(object, "quota_blocks", a->quota_blocks);
		ctl_json_count(object, "quota_used_blocks", a->quota_used);
	}
	if (a->rate_bytes)
		ctl_json_count(object, "rate_bytes", a->rate_bytes);
	if (a->rate_ops)
		ctl_json_count(object, "rate_ops", a->rate_ops);
	json_object_object_add(object, "grants", grants_json(a));
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

static void print_space(const struct answer *a)
{
	const struct kfbrick_info *info = &a->info;
	char total[CTL_BLOCKS_TEXT_BYTES];
	char part[CTL_BLOCKS_TEXT_BYTES];

	printf("blocks       %s\n", ctl_blocks_text(total, info->slots_total));
	printf("free         %s, of them %" PRIu64 " zeroed\n",
	       ctl_blocks_text(part, info->slots_free), info->slots_clean);
	printf("bad          %" PRIu64 "\n", info->slots_bad);
	if (info->slow_total)
		printf("slow tier    %s, free %s\n",
		       ctl_blocks_text(total, info->slow_total),
		       ctl_blocks_text(part, info->slow_free));
	if (a->quota_blocks != KFBRICK_QUOTA_NONE)
		printf("quota        %s, in use %s\n",
		       ctl_blocks_text(total, a->quota_blocks),
		       ctl_blocks_text(part, a->quota_used));
}

static void print_rate_and_grants(const struct ctl *ctl, const struct answer *a)
{
	char size[CTL_SIZE_TEXT_BYTES];
	char blocks[CTL_BLOCKS_TEXT_BYTES];
	size_t i;

	if (a->rate_bytes || a->rate_ops) {
		printf("rate        ");
		if (a->rate_bytes)
			printf(" %s/s", ctl_size_text(size, a->rate_bytes));
		if (a->rate_ops)
			printf("%s %" PRIu32 " operations/s",
			       a->rate_bytes ? "," : "", a->rate_ops);
		putchar('\n');
	}
	if (!ctl->settings.client)
		puts("grants       everything: this brick asks nobody who it is");
	else if (!a->n_grants)
		puts("grants       none");
	for (i = 0; i < a->n_grants; i++)
		printf("%-12s 0x%" PRIx64 "+%s %s\n", i ? "" : "grants",
		       a->grants[i].va,
		       ctl_blocks_text(blocks, a->grants[i].n_blocks),
		       access_name(&a->grants[i]));
}

static void print_info_text(const struct ctl *ctl, const struct answer *a)
{
	const struct kfbrick_info *info = &a->info;
	char extent[CTL_SIZE_TEXT_BYTES];
	char batch[CTL_SIZE_TEXT_BYTES];

	printf("brick        %s\n", ctl->settings.brick);
	printf("path         %s%s%s\n", a->path, *a->interface ? " " : "",
	       a->interface);
	printf("uuid         %s\n", a->uuid);
	printf("instance     %016" PRIx64 "\n", info->instance_id);
	printf("power epoch  %" PRIu64 "\n", info->power_epoch);
	printf("medium       %s\n", kfb_medium_name(info->medium));
	print_space(a);
	print_rate_and_grants(ctl, a);
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
	static struct answer a;
	int status;
	int err;

	status = ctl_connect_info(ctl, &a.info);
	if (status)
		return status;
	err = kfbrick_get_quota(ctl->k, &a.quota_blocks, &a.quota_used);
	if (err)
		return ctl_fail_call(ctl, err, "%s", ctl->settings.brick);
	uuid_unparse_lower(a.info.uuid, a.uuid);
	a.path = kfb_path_name(kfbrick_get_path(ctl->k, a.interface));
	kfbrick_get_rate(ctl->k, &a.rate_bytes, &a.rate_ops);
	a.n_grants = kfbrick_get_grants(ctl->k, a.grants, GRANTS_MAX);
	if (a.n_grants > GRANTS_MAX)
		a.n_grants = GRANTS_MAX;
	if (ctl->json)
		print_info_json(ctl, &a);
	else
		print_info_text(ctl, &a);
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
