// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is in the way: what a client may know of it, which is its own mappings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/brickctl.h"

#define PAGE_EXTENTS 64
/* No more are looked at for the words of one error. */
#define PAGES_MAX 64

static bool extent_overlaps(const struct kfbrick_extent *e, uint64_t va,
			    uint64_t n_blocks)
{
	uint64_t first = va / KFBRICK_BLOCK_BYTES;
	uint64_t theirs = e->va / KFBRICK_BLOCK_BYTES;

	return theirs < first + n_blocks && first < theirs + e->n_blocks;
}

/* A mapping of this client that holds some of a range; 0: none is found. */
static uint64_t find_mine(struct ctl *ctl, uint64_t va, uint64_t n_blocks)
{
	struct kfbrick_extent extents[PAGE_EXTENTS];
	uint64_t cursor = 0;
	int page;
	int n;
	int i;

	for (page = 0; page < PAGES_MAX; page++) {
		n = kfbrick_list(ctl->k, KFBRICK_LIST_MINE, &cursor, extents,
				 PAGE_EXTENTS, NULL);
		for (i = 0; i < n; i++) {
			if (extent_overlaps(&extents[i], va, n_blocks))
				return extents[i].mapping_id;
		}
		if (n <= 0 || !cursor)
			break;
	}
	return 0;
}

int ctl_fail_range(struct ctl *ctl, int error, uint64_t va, uint64_t n_blocks)
{
	uint32_t lease_s = (kfbrick_lease_ms(ctl->k) + 999) / 1000;
	char mapping[CTL_ID_TEXT_BYTES];
	char gone[64] = "";
	char next[256];
	char why[512];
	char what[64];
	uint64_t id;

	snprintf(what, sizeof(what), "0x%" PRIx64 "+%" PRIu64, va, n_blocks);
	if (error != -EBUSY)
		return ctl_fail_call(ctl, error, "%s", what);
	/* What the library has said is gone with its next call. */
	snprintf(why, sizeof(why), "%s", kfbrick_error(ctl->k));
	id = find_mine(ctl, va, n_blocks);
	if (lease_s)
		snprintf(gone, sizeof(gone),
			 "; a client that is gone keeps it for up to %" PRIu32
			 " s",
			 lease_s);
	if (id)
		snprintf(next, sizeof(next),
			 "this client holds it: brickctl unmap %s ends that "
			 "mapping%s",
			 ctl_id_text(mapping, id), gone);
	else
		snprintf(next, sizeof(next),
			 "another client holds it: on the brick's machine "
			 "brickctl --admin %s list mapped shows which%s",
			 CTL_ADMIN_DEFAULT, gone);
	return ctl_fail_why(ctl, CTL_REFUSED, error, next, what,
			    *why ? why : strerror(-error));
}
