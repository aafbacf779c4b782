// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is in the way: what a client may know of it, which is its own mappings; and
 * what whoever may ask the brick's daemon may know, which is all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "initiator/brickctl/admin/admin.h"

#define PAGE_EXTENTS 64
/* No more are looked at for the words of one error. */
#define PAGES_MAX 64

/* A mapping of this client that holds some of a range; 0: none is found. */
static uint64_t find_mine(struct ctl *ctl, uint64_t va, uint64_t n_blocks)
{
	struct kfbrick_extent extents[PAGE_EXTENTS];
	uint64_t first = va / KFBRICK_BLOCK_BYTES;
	uint64_t cursor = 0;
	uint64_t theirs;
	int page;
	int n;
	int i;

	for (page = 0; page < PAGES_MAX; page++) {
		n = kfbrick_list(ctl->k, KFBRICK_LIST_MINE, &cursor, extents,
				 PAGE_EXTENTS, NULL);
		for (i = 0; i < n; i++) {
			theirs = extents[i].va / KFBRICK_BLOCK_BYTES;
			if (theirs < first + n_blocks &&
			    first < theirs + extents[i].n_blocks)
				return extents[i].mapping_id;
		}
		if (n <= 0 || !cursor)
			break;
	}
	return 0;
}

/* The first who holds some of a range, for json_object_put(); NULL: not to be known. */
static struct json_object *find_holder(struct ctl *ctl, struct ctl_admin *a,
				       uint64_t va, uint64_t n_blocks)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	struct json_object *request, *list;
	struct json_object *answer = NULL;
	struct json_object *holder = NULL;
	char uuid[UUID_STR_LEN];
	char range[64];
	bool same;
	size_t n;

	/* The brick of this machine may be another one than that of the connection. */
	if (kfbrick_get_info(ctl->k, &info) ||
	    ctl_admin_ask(ctl, a, ctl_admin_request("info"), &answer))
		return NULL;
	uuid_unparse_lower(info.uuid, uuid);
	same = !strcmp(ctl_admin_text(answer, "uuid"), uuid);
	json_object_put(answer);
	if (!same)
		return NULL;
	request = ctl_admin_request("mapped");
	snprintf(range, sizeof(range), "0x%" PRIx64 "+%" PRIu64, va, n_blocks);
	ctl_json_text(request, "range", range);
	if (ctl_admin_ask(ctl, a, request, &answer))
		return NULL;
	list = ctl_admin_list(answer, "mapped", &n);
	if (n)
		holder = json_object_get(json_object_array_get_idx(list, 0));
	json_object_put(answer);
	return holder;
}

/* Return: whether there are words, of who else holds some of a range. */
static bool name_holder(struct ctl *ctl, uint64_t va, uint64_t n_blocks,
			char *text, size_t size)
{
	struct ctl_caught *was = ctl->catching;
	struct json_object *holder = NULL;
	struct ctl_caught caught;
	struct ctl_admin a;
	const char *client;

	ctl->catching = &caught;
	if (!ctl_admin_open(ctl, &a)) {
		holder = find_holder(ctl, &a, va, n_blocks);
		ctl_admin_close(&a);
	}
	ctl->catching = was;
	if (!holder)
		return false;
	client = ctl_admin_text(holder, "client");
	snprintf(
		text, size,
		"%s%s holds it: brickctl --admin %s evict %s ends that session",
		*client ? "client " : "a client without a name", client, a.path,
		ctl_admin_text(holder, "session"));
	json_object_put(holder);
	return true;
}

int ctl_fail_range(struct ctl *ctl, int error, uint64_t va, uint64_t n_blocks)
{
	uint32_t lease_s = (kfbrick_lease_ms(ctl->k) + 999) / 1000;
	char mapping[CTL_ID_TEXT_BYTES];
	char gone[64] = "";
	char holder[192];
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
	else if (name_holder(ctl, va, n_blocks, holder, sizeof(holder)))
		snprintf(next, sizeof(next), "%s%s", holder, gone);
	else
		snprintf(next, sizeof(next),
			 "another client holds it: on the brick's machine "
			 "brickctl --admin %s list mapped shows which%s",
			 CTL_ADMIN_DEFAULT, gone);
	return ctl_fail_why(ctl, CTL_REFUSED, error, next, what,
			    *why ? why : strerror(-error));
}
