// SPDX-License-Identifier: BSD-2-Clause
/*
 * A block's states: every event in every state as docs/kfbrick.md has it, what
 * no event may do, and random histories of disks against a brick that knows
 * what it has mapped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "blocks/kfb_block.h"
#include "blocks/kfb_mapcache.h"

#define N     24
#define GROWN 32
#define CAP   6
#define STEPS 400000

/* ---- the table -------------------------------------------------------- */

static const char *const words[] = { "take", "release", "list", "unlist",
				     "unpinned" };

static int state_of(const char *name)
{
	int s = 0;

	while (s < KFB_BLOCK_STATES && strcmp(kfb_block_state_name(s), name))
		s++;
	return s;
}

static int bit_of(const char *word)
{
	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!strcmp(words[i], word))
			return 1 << i;
	}
	fail_msg("%s is no word of the table", word);
	return 0;
}

static void entry_is(unsigned int from, unsigned int event, char *cell)
{
	enum kfb_block_state now = from;
	int does = kfb_block_move(&now, event);
	char *rest;
	char *word = strtok_r(cell, ", ", &rest);
	int bits = 0;

	if (!word) {
		assert_int_equal(does, -EINVAL);
		assert_int_equal(now, from);
		return;
	}
	assert_string_equal(kfb_block_state_name(now), word);
	while ((word = strtok_r(NULL, ", ", &rest)))
		bits |= bit_of(word);
	assert_int_equal(does, bits);
}

static char *next_cell(char **line)
{
	char *cell = *line;
	char *end = strchr(cell, '|');

	assert_non_null(end);
	*end = '\0';
	*line = end + 1;
	return cell;
}

static char *trimmed(char *cell)
{
	char *rest;

	return strtok_r(cell, " ", &rest);
}

static void row_is(char *line)
{
	char *name = trimmed(next_cell(&line));
	unsigned int from = state_of(name);

	assert_true(from < KFB_BLOCK_STATES);
	for (unsigned int e = 0; e < KFB_BLOCK_EVENTS; e++)
		entry_is(from, e, next_cell(&line));
	assert_string_equal(line, "\n");
}

static void heads_are(char *line)
{
	for (unsigned int e = 0; e < KFB_BLOCK_EVENTS; e++)
		assert_string_equal(trimmed(next_cell(&line)),
				    kfb_block_event_name(e));
	assert_string_equal(line, "\n");
}

static void every_event_in_every_state_does_what_the_page_says(void **state)
{
	static const char begin[] = "| | fill |";
	FILE *f = fopen(KFBRICK_MD, "r");
	char line[1024];
	unsigned int rows = 0;

	assert_non_null(f);
	do {
		assert_non_null(fgets(line, sizeof(line), f));
	} while (strncmp(line, begin, strlen(begin)));
	heads_are(line + 3);
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f) && line[0] == '|') {
		assert_int_equal(state_of(kfb_block_state_name(rows)), rows);
		row_is(line + 1);
		rows++;
	}
	fclose(f);
	assert_int_equal(rows, KFB_BLOCK_STATES);
}

static bool is_readable(unsigned int state)
{
	struct kfb_block b = { .state = (uint8_t)state };

	return kfb_block_is_readable(&b);
}

static void what_has_no_mapping_is_readable_only_after_its_map(void **state)
{
	unsigned int s, e;

	for (s = 0; s < KFB_BLOCK_STATES; s++) {
		for (e = 0; e < KFB_BLOCK_EVENTS; e++) {
			enum kfb_block_state now = s;

			if (kfb_block_move(&now, e) < 0 || !is_readable(now) ||
			    is_readable(s))
				continue;
			if (e == KFB_BLOCK_DONE)
				assert_true(s == KFB_BLOCK_FILLING ||
					    s == KFB_BLOCK_MAPPING);
			else
				assert_true(s == KFB_BLOCK_UNMAPPING &&
					    e == KFB_BLOCK_STAY);
		}
	}
}

/* Whether it takes room, and whether it is listed, follow from the state. */
static void what_a_move_does_to_a_cache_follows_from_its_ends(void **state)
{
	unsigned int s, e;

	for (s = 0; s < KFB_BLOCK_STATES; s++) {
		for (e = 0; e < KFB_BLOCK_EVENTS; e++) {
			enum kfb_block_state now = s;
			int does = kfb_block_move(&now, e);
			bool had, has;

			if (does < 0)
				continue;
			had = s != KFB_BLOCK_ABSENT && s != KFB_BLOCK_UNMAPPED;
			has = now != KFB_BLOCK_ABSENT &&
			      now != KFB_BLOCK_UNMAPPED;
			assert_int_equal(!!(does & KFB_BLOCK_DO_TAKE),
					 !had && has);
			assert_int_equal(!!(does & KFB_BLOCK_DO_RELEASE),
					 had && !has);
			assert_int_equal(!!(does & KFB_BLOCK_DO_LIST),
					 !is_readable(s) && is_readable(now));
			assert_int_equal(!!(does & KFB_BLOCK_DO_UNLIST),
					 is_readable(s) && !is_readable(now));
		}
	}
}

static void what_is_no_state_or_event_is_refused(void **state)
{
	enum kfb_block_state now = KFB_BLOCK_STATES;

	assert_int_equal(kfb_block_move(&now, KFB_BLOCK_DONE), -EINVAL);
	assert_int_equal(now, KFB_BLOCK_STATES);
	now = KFB_BLOCK_MAPPED;
	assert_int_equal(kfb_block_move(&now, KFB_BLOCK_EVENTS), -EINVAL);
	assert_string_equal(kfb_block_state_name(KFB_BLOCK_STATES), "?");
	assert_string_equal(kfb_block_event_name(KFB_BLOCK_EVENTS), "?");
	assert_string_equal(kfb_block_state_name(KFB_BLOCK_QUIET), "quiet");
	assert_string_equal(kfb_block_event_name(KFB_BLOCK_INVALIDATE),
			    "invalidate");
}

/* ---- disks ------------------------------------------------------------ */

/* What the brick has of a block, which the disk cannot look at. */
struct truth {
	bool is_allocated;
	bool is_mapped;
	uint32_t pins;
};

static struct {
	struct kfb_block blocks[GROWN];
	struct kfb_mapcache_node nodes[GROWN];
	struct truth truth[GROWN];
	struct kfb_mapcache cache;
	uint32_t cap; /* 0: there is no cache */
	uint32_t n;
	unsigned int n_full, n_pinned, n_evicted, n_freed, n_invalidated,
		n_refused;
} disk;

static struct kfb_block grown[GROWN];
static struct kfb_mapcache_node grown_nodes[GROWN];
static struct kfb_block *blocks;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static int move(uint32_t i, enum kfb_block_event event)
{
	enum kfb_block_state to = blocks[i].state;
	int does = disk.cap ? kfb_mapcache_move(&disk.cache, i, event, &to)
			    : kfb_block_move(&to, event);

	if (does < 0)
		assert_int_equal(to, blocks[i].state);
	disk.n_full += does == -ENOSPC;
	disk.n_pinned += does == -EBUSY;
	disk.n_refused += does == -EINVAL;
	blocks[i].state = to;
	return does < 0 ? does : 0;
}

static void attach(uint32_t cap, bool thin)
{
	memset(&disk, 0, sizeof(disk));
	disk.n = N;
	disk.cap = cap;
	blocks = disk.blocks;
	if (cap)
		kfb_mapcache_init(&disk.cache, disk.nodes, blocks, N, cap);
	for (uint32_t i = 0; i < N; i++) {
		disk.truth[i].is_allocated = !thin || below(2);
		if (disk.truth[i].is_allocated)
			assert_int_equal(move(i, KFB_BLOCK_FOUND), 0);
	}
}

/* Room, as the disk's port makes it. */
static int reserve(uint32_t i, enum kfb_block_event event)
{
	int ret = move(i, event);
	uint32_t victim;

	if (ret != -ENOSPC)
		return ret;
	victim = kfb_mapcache_victim(&disk.cache);
	if (victim == KFB_MAPCACHE_NONE)
		return ret;
	assert_int_equal(disk.truth[victim].pins, 0);
	assert_int_equal(move(victim, KFB_BLOCK_EVICT), 0);
	disk.n_evicted++;
	return ret;
}

static void try_map(uint32_t i)
{
	static const enum kfb_block_event events[] = { KFB_BLOCK_FILL,
						       KFB_BLOCK_MAP,
						       KFB_BLOCK_AHEAD };

	reserve(i, events[below(3)]);
}

/* The brick's answer to a MAP, or that it does not come. */
static void try_answer(uint32_t i)
{
	enum kfb_block_state before = blocks[i].state;
	bool is_asked =
		before == KFB_BLOCK_FILLING || before == KFB_BLOCK_MAPPING;

	if (!below(4)) {
		assert_int_equal(!move(i, KFB_BLOCK_FAILED), is_asked);
		return;
	}
	if (is_asked) {
		disk.truth[i].is_allocated = true;
		disk.truth[i].is_mapped = true;
	}
	assert_int_equal(!move(i, KFB_BLOCK_DONE),
			 is_asked || is_readable(before));
}

static void try_use(uint32_t i)
{
	bool is_first;

	if (!disk.cap)
		return;
	if (below(2) && disk.truth[i].pins) {
		kfb_mapcache_put(&disk.cache, i);
		disk.truth[i].pins--;
	} else if (below(2) ? kfb_mapcache_get(&disk.cache, i, &is_first)
			    : kfb_mapcache_pin(&disk.cache, i)) {
		assert_int_equal(blocks[i].state, KFB_BLOCK_MAPPED);
		disk.truth[i].pins++;
	} else {
		assert_int_not_equal(blocks[i].state, KFB_BLOCK_MAPPED);
	}
}

/* A discard, or room for others: each step of it by itself, or not at all. */
static void try_unmap(uint32_t i)
{
	static const enum kfb_block_event events[] = {
		KFB_BLOCK_CALM, KFB_BLOCK_EVICT, KFB_BLOCK_STAY, KFB_BLOCK_UNMAP
	};
	enum kfb_block_event event = events[below(4)];
	uint32_t pins = disk.truth[i].pins;
	int ret = move(i, event);

	/* What is in flight to it would be lost. */
	if (event == KFB_BLOCK_EVICT || event == KFB_BLOCK_UNMAP)
		assert_true(ret || !pins);
	if (!ret && event == KFB_BLOCK_EVICT)
		disk.n_evicted++;
}

/* UNMAP and FREE: the brick does it before the disk hears of it. */
static void try_give(uint32_t i)
{
	if (blocks[i].state == KFB_BLOCK_UNMAPPING)
		disk.truth[i].is_mapped = false;
	move(i, KFB_BLOCK_GONE);
	if (below(2) || move(i, KFB_BLOCK_FREED))
		return;
	assert_false(disk.truth[i].is_mapped);
	disk.truth[i].is_allocated = false;
	disk.n_freed++;
}

/* A new session: what is readable is mapped in it, or not any more. */
static void lose(void)
{
	uint32_t i;

	for (i = 0; i < disk.n; i++)
		disk.truth[i].is_mapped = false;
	for (i = 0; i < disk.n; i++) {
		if (blocks[i].state == KFB_BLOCK_UNMAPPING) {
			assert_int_equal(move(i, KFB_BLOCK_GONE), 0);
		} else if (is_readable(blocks[i].state)) {
			if (disk.cap && below(2) &&
			    !move(i, KFB_BLOCK_INVALIDATE)) {
				assert_int_equal(disk.truth[i].pins, 0);
				disk.n_invalidated++;
				continue;
			}
			disk.truth[i].is_mapped = true;
			assert_int_equal(move(i, KFB_BLOCK_DONE), 0);
		} else if (blocks[i].state == KFB_BLOCK_FILLING ||
			   blocks[i].state == KFB_BLOCK_MAPPING) {
			assert_int_equal(move(i, KFB_BLOCK_FAILED), 0);
		}
	}
}

static void grow(void)
{
	if (disk.n == GROWN)
		return;
	memset(grown, 0, sizeof(grown));
	memset(grown_nodes, 0, sizeof(grown_nodes));
	memcpy(grown, disk.blocks, N * sizeof(*grown));
	if (disk.cap)
		kfb_mapcache_grow(&disk.cache, grown_nodes, grown, GROWN);
	memset(disk.blocks, 0xa5, sizeof(disk.blocks));
	memset(disk.nodes, 0xa5, sizeof(disk.nodes));
	blocks = grown;
	disk.n = GROWN;
	for (uint32_t i = N; i < GROWN; i++) {
		disk.truth[i].is_allocated = true;
		assert_int_equal(move(i, KFB_BLOCK_FOUND), 0);
	}
}

static void is_sound(void)
{
	uint32_t taken = 0;
	uint32_t mapped = 0;

	for (uint32_t i = 0; i < disk.n; i++) {
		const struct truth *t = &disk.truth[i];

		if (is_readable(blocks[i].state))
			assert_true(t->is_mapped && t->is_allocated);
		if (t->pins)
			assert_true(t->is_mapped &&
				    is_readable(blocks[i].state));
		if (blocks[i].state == KFB_BLOCK_UNMAPPED)
			assert_true(t->is_allocated);
		taken += blocks[i].state != KFB_BLOCK_ABSENT &&
			 blocks[i].state != KFB_BLOCK_UNMAPPED;
		mapped += t->is_mapped;
	}
	if (!disk.cap)
		return;
	assert_int_equal(disk.cache.n, taken);
	assert_true(mapped <= taken && taken <= disk.cap);
}

static void live(uint32_t cap, bool thin)
{
	attach(cap, thin);
	for (unsigned int i = 0; i < STEPS; i++) {
		uint32_t block = below(disk.n);
		uint32_t dice = below(1000);

		if (dice < 250)
			try_map(block);
		else if (dice < 450)
			try_answer(block);
		else if (dice < 700)
			try_use(block);
		else if (dice < 850)
			try_unmap(block);
		else if (dice < 990)
			try_give(block);
		else
			lose();
		if (i == STEPS / 2)
			grow();
		is_sound();
	}
	print_message(
		"# %u evicted, %u freed, %u invalidated, %u full, %u pinned, "
		"%u refused\n",
		disk.n_evicted, disk.n_freed, disk.n_invalidated, disk.n_full,
		disk.n_pinned, disk.n_refused);
	assert_true(disk.n_evicted > 500 && disk.n_freed > 250 &&
		    disk.n_refused > 1000);
	if (cap)
		assert_true(disk.n_invalidated > 20 && disk.n_full > 1000 &&
			    disk.n_pinned > 100);
}

static void a_thick_disk_uses_only_what_is_mapped(void **state)
{
	srand(20151);
	live(0, false);
}

static void a_thin_disk_uses_only_what_is_mapped(void **state)
{
	srand(20152);
	live(0, true);
}

static void a_cached_disk_maps_no_more_than_its_cache_holds(void **state)
{
	srand(20153);
	live(CAP, true);
	srand(20154);
	live(CAP, false);
	srand(20155);
	live(1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_event_in_every_state_does_what_the_page_says),
		cmocka_unit_test(
			what_has_no_mapping_is_readable_only_after_its_map),
		cmocka_unit_test(
			what_a_move_does_to_a_cache_follows_from_its_ends),
		cmocka_unit_test(what_is_no_state_or_event_is_refused),
		cmocka_unit_test(a_thick_disk_uses_only_what_is_mapped),
		cmocka_unit_test(a_thin_disk_uses_only_what_is_mapped),
		cmocka_unit_test(
			a_cached_disk_maps_no_more_than_its_cache_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
