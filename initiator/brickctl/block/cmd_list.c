// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl list: what is allocated or mapped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/admin/admin.h"

#define PAGE_EXTENTS 512

static const struct {
	const char *name;
	unsigned int what;
} kinds[] = {
	{ "allocated", KFBRICK_LIST_ALLOCATED },
	{ "mapped", KFBRICK_LIST_MAPPED },
	{ "mine", KFBRICK_LIST_MINE },
};

static const struct {
	uint32_t flag;
	const char *name;
} flags[] = {
	{ KFBRICK_EXTENT_MAPPED, "mapped" },
	{ KFBRICK_EXTENT_RW, "rw" },
	{ KFBRICK_EXTENT_EXCLUSIVE, "exclusive" },
	{ KFBRICK_EXTENT_SLOW, "slow" },
	{ KFBRICK_EXTENT_BAD, "bad" },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define N_FLAGS (sizeof(flags) / sizeof(flags[0]))

struct listing {
	struct ctl *ctl;
	const char *name;
	unsigned int what;
	uint64_t n_extents;
	uint64_t n_blocks;
	uint64_t change_counter;
	bool changed; /* between the pages */
};

/* One extent at a time: a million of them need no memory. */
static void print_extent_json(const struct listing *l,
			      const struct kfbrick_extent *e)
{
	struct json_object *object = json_object_new_object();
	struct json_object *names = json_object_new_array();
	unsigned int i;

	ctl_json_hex(object, "va", e->va);
	ctl_json_count(object, "n_blocks", e->n_blocks);
	if (l->what == KFBRICK_LIST_MINE)
		ctl_json_id(object, "mapping_id", e->mapping_id);
	for (i = 0; i < N_FLAGS; i++) {
		if (e->flags & flags[i].flag)
			json_object_array_add(
				names, json_object_new_string(flags[i].name));
	}
	json_object_object_add(object, "flags", names);
	printf("%s%s", l->n_extents ? "," : "", ctl_json_line(object));
	json_object_put(object);
}

static void print_extent_text(const struct listing *l,
			      const struct kfbrick_extent *e)
{
	char size[CTL_SIZE_TEXT_BYTES];
	const char *comma = "";
	unsigned int i;

	if (!l->n_extents)
		printf("%-18s %12s %12s  %s%s\n", "ADDRESS", "BLOCKS", "SIZE",
		       l->what == KFBRICK_LIST_MINE ? "MAPPING             "
						    : "",
		       "FLAGS");
	printf("0x%016" PRIx64 " %12" PRIu64 " %12s  ", e->va, e->n_blocks,
	       ctl_size_text(size, ctl_blocks_bytes(e->n_blocks)));
	if (l->what == KFBRICK_LIST_MINE)
		printf("%016" PRIx64 "    ", e->mapping_id);
	for (i = 0; i < N_FLAGS; i++) {
		if (!(e->flags & flags[i].flag))
			continue;
		printf("%s%s", comma, flags[i].name);
		comma = ",";
	}
	puts(*comma ? "" : "-");
}

static int list_pages(struct listing *l)
{
	static struct kfbrick_extent extents[PAGE_EXTENTS];
	uint64_t cursor = 0;
	uint64_t before;
	uint64_t change;
	bool first = true;
	int n;
	int i;

	do {
		before = cursor;
		n = kfbrick_list(l->ctl->k, l->what, &cursor, extents,
				 PAGE_EXTENTS, &change);
		if (n < 0)
			return ctl_fail_call(l->ctl, n,
					     "listing %s from 0x%" PRIx64,
					     l->name, before);
		if (!first && change != l->change_counter)
			l->changed = true;
		first = false;
		l->change_counter = change;
		for (i = 0; i < n; i++) {
			if (l->ctl->json)
				print_extent_json(l, &extents[i]);
			else
				print_extent_text(l, &extents[i]);
			l->n_extents++;
			l->n_blocks += extents[i].n_blocks;
		}
	} while (cursor);
	return CTL_DONE;
}

static int print_list(struct listing *l)
{
	char size[CTL_SIZE_TEXT_BYTES];
	int status;

	if (l->ctl->json)
		printf("{\"schema\":%d,\"what\":\"%s\",\"extents\":[",
		       CTL_JSON_SCHEMA, l->name);
	status = list_pages(l);
	if (status)
		return status;
	if (l->ctl->json)
		printf("],\"n_extents\":%" PRIu64 ",\"n_blocks\":%" PRIu64
		       ",\"change_counter\":%" PRIu64 ",\"changed\":%s}\n",
		       l->n_extents, l->n_blocks, l->change_counter,
		       l->changed ? "true" : "false");
	else
		printf("%" PRIu64 " block%s (%s) %s in %" PRIu64 " extent%s\n",
		       l->n_blocks, ctl_plural(l->n_blocks),
		       ctl_size_text(size, ctl_blocks_bytes(l->n_blocks)),
		       l->name, l->n_extents, ctl_plural(l->n_extents));
	if (l->changed)
		ctl_note(
			l->ctl,
			"the brick changed between pages: run it again for one consistent view");
	return CTL_DONE;
}

static int run_list(struct ctl *ctl, const struct ctl_args *args)
{
	struct listing l = { .ctl = ctl };
	const char *name = args->n_words ? args->words[0] : kinds[0].name;
	unsigned int i;
	int status;

	for (i = 0; i < N_KINDS; i++) {
		if (!strcmp(kinds[i].name, name))
			break;
	}
	if (i == N_KINDS)
		return ctl_usage(ctl, "%s: not allocated, mapped or mine",
				 name);
	l.name = kinds[i].name;
	l.what = kinds[i].what;
	if (ctl->settings.admin && l.what != KFBRICK_LIST_MAPPED)
		return ctl_usage(ctl, "--admin goes with mapped only");
	if (ctl->settings.admin)
		return ctl_list_holders(ctl);
	status = ctl_connect(ctl);
	return status ? status : print_list(&l);
}

const struct ctl_command ctl_cmd_list = {
	.name = "list",
	.synopsis = "[allocated|mapped|mine]",
	.summary = "Lists extents of blocks",
	.details =
		"allocated (the default): the blocks this client may see; mapped: those that\n"
		"anyone has mapped; mine: this client's mappings with their ids, from all its\n"
		"sessions. With --admin, which takes root or the user that brickd runs as, mapped\n"
		"asks the brick of this machine and says who has them: client, session and address.\n"
		"Each page of the answer is consistent in itself; when the brick\n"
		"changed between two pages a note says so.\n"
		"\n"
		"Example: brickctl list mine",
	.words_more = 1,
	.run = run_list,
};
