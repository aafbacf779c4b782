// SPDX-License-Identifier: BSD-2-Clause
/*
 * What programs call that were built with the header of version 0.1: the
 * structures had no size then. Of the shared library only.
 */
#include <string.h>

#include "kfbrick.h"

/* As of version 0.1. */
struct kfbrick_info_0_1 {
	uint8_t uuid[KFBRICK_UUID_BYTES];
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t slots_total;
	uint64_t slots_free;
	uint64_t slots_clean;
	uint64_t slots_bad;
	uint64_t slow_total;
	uint64_t slow_free;
	uint64_t map_extent_max_bytes;
	uint64_t alloc_max_blocks;
	uint32_t lease_ms;
	uint32_t mappings_max;
	uint32_t medium;
	uint32_t flush_modes;
	uint32_t flush_mode;
	bool ack_is_placed;
	bool unsafe;
	char flush_why[96];
	bool exposed;
};

struct kfbrick_event_0_1 {
	uint32_t kind;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t mapping_id;
	uint32_t deadline_ms;
};

/* Only the size has come before what was there. */
_Static_assert(offsetof(struct kfbrick_info, uuid) == sizeof(size_t) &&
		       offsetof(struct kfbrick_info, exposed) ==
			       sizeof(size_t) +
				       offsetof(struct kfbrick_info_0_1,
						exposed),
	       "info of version 0.1");
_Static_assert(offsetof(struct kfbrick_event, kind) == sizeof(size_t) &&
		       offsetof(struct kfbrick_event, deadline_ms) ==
			       sizeof(size_t) +
				       offsetof(struct kfbrick_event_0_1,
						deadline_ms),
	       "event of version 0.1");

int kfbrick_get_info_0_1(struct kfbrick *k, struct kfbrick_info_0_1 *info);
int kfbrick_next_event_0_1(struct kfbrick *k, struct kfbrick_event_0_1 *event);

__asm__(".symver kfbrick_get_info_0_1, kfbrick_get_info@KFBRICK_0.1");
__asm__(".symver kfbrick_next_event_0_1, kfbrick_next_event@KFBRICK_0.1");

int kfbrick_get_info_0_1(struct kfbrick *k, struct kfbrick_info_0_1 *info)
{
	struct kfbrick_info now = { .size = sizeof(now) };
	int rc = kfbrick_get_info(k, &now);

	if (!rc)
		memcpy(info, &now.uuid, sizeof(*info));
	return rc;
}

int kfbrick_next_event_0_1(struct kfbrick *k, struct kfbrick_event_0_1 *event)
{
	struct kfbrick_event now = { .size = sizeof(now) };
	int rc = kfbrick_next_event(k, &now);

	if (rc > 0)
		memcpy(event, &now.kind, sizeof(*event));
	return rc;
}
