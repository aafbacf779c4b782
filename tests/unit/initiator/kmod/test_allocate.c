// SPDX-License-Identifier: BSD-2-Clause
/* An attach that fails gives back what it has allocated, and nothing else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "initiator/kmod/device/calls.h"
#include "initiator/kmod/blocks/mappings.h"

#define BLOCKS 8
#define THERE  3 /* blocks that are allocated already, from the second on */

static struct kfbk_device dev;
static struct kfb_block blocks[BLOCKS];
static struct kfb_reply replies[2];
static bool is_allocated[BLOCKS];
static uint64_t may_map; /* blocks before it */
static int unmap_error;
static uint32_t n_unmaps;
static uint32_t n_said;

/* ---- of the kernel ------------------------------------------------------------- */

static struct km_task only;

struct km_task *km_current(void)
{
	return &only;
}

void km_may_yield(void)
{
}

void km_log(const char *fmt, ...)
{
	(void)fmt;
	n_said++;
}

void spin_lock(spinlock_t *lock)
{
	assert_null(lock->owner);
	lock->owner = &only;
}

void spin_unlock(spinlock_t *lock)
{
	lock->owner = NULL;
}

/* ---- of the driver, and the brick ---------------------------------------------- */

void kfbk_unlock_and_end(struct kfbk_device *d)
{
	spin_unlock_bh(&d->lock);
}

void kfbk_say(struct kfbk_device *d, const char *fmt, ...)
{
	(void)d;
	(void)fmt;
}

int kfbk_call(struct kfbk_device *d, struct kfbk_call *call)
{
	struct kfb_list_reply *list = &call->core.reply->u.list;

	assert_ptr_equal(d, &dev);
	assert_int_equal(call->core.req.op, KFB_OP_LIST);
	list->n_extents = 1;
	list->extents[0].va = kfbk_block_va(d, 1);
	list->extents[0].n_blocks = THERE;
	list->cursor = 0;
	return 0;
}

int kfbk_call_range(struct kfbk_device *d, u16 op, u64 block, u64 n)
{
	(void)d;
	assert_int_equal(op, KFB_OP_ALLOC);
	while (n--)
		is_allocated[block++] = true;
	return 0;
}

void kfbk_blocks_move(struct kfbk_device *d, u64 first, u64 end,
		      enum kfb_block_state from, enum kfb_block_event event)
{
	for (u64 i = first; i < end; i++) {
		enum kfb_block_state state = d->blocks[i].state;

		if (state != from)
			continue;
		assert_true(kfb_block_move(&state, event) >= 0);
		d->blocks[i].state = state;
	}
}

u64 kfbk_run_end(const struct kfbk_device *d, u64 first, u64 end)
{
	u64 i = first + 1;

	while (i < end && d->blocks[i].state == d->blocks[first].state)
		i++;
	return i;
}

/* Two blocks are one handle. */
int kfbk_map_unmapped(struct kfbk_device *d, u64 first, u64 end,
		      enum kfb_patience who)
{
	(void)who;
	for (u64 i = first; i < end; i++) {
		if (i == may_map)
			return -ENOSPC;
		d->blocks[i].state = KFB_BLOCK_MAPPED;
		d->blocks[i].is_first = !(i & 1);
	}
	return 0;
}

void kfbk_settle_unmap(struct kfbk_device *d, u64 first, u64 end,
		       u64 session_id, int error)
{
	(void)session_id;
	kfbk_blocks_move(d, first, end, KFB_BLOCK_UNMAPPING,
			 error ? KFB_BLOCK_STAY : KFB_BLOCK_GONE);
}

int kfbk_unmap(struct kfbk_device *d, u64 first, u64 end, u64 session_id)
{
	assert_false(first & 1);
	assert_true(end <= first + 2);
	n_unmaps++;
	kfbk_settle_unmap(d, first, end, session_id, unmap_error);
	return unmap_error;
}

int kfbk_free_run(struct kfbk_device *d, u64 first, u64 n, u64 session_id)
{
	(void)session_id;
	for (u64 i = first; i < first + n; i++) {
		assert_true(is_allocated[i]);
		if (kfb_block_is_readable(&d->blocks[i]))
			return -EBUSY;
	}
	while (n--)
		is_allocated[first++] = false;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(blocks, 0, sizeof(blocks));
	memset(is_allocated, 0, sizeof(is_allocated));
	for (int i = 1; i < 1 + THERE; i++)
		is_allocated[i] = true;
	INIT_LIST_HEAD(&dev.ended);
	dev.blocks = blocks;
	dev.replies = replies;
	dev.n_blocks = dev.options.n_blocks = BLOCKS;
	dev.core.client.info.alloc_max_blocks = 2;
	may_map = BLOCKS;
	unmap_error = 0;
	n_unmaps = n_said = 0;
	return 0;
}

static void only_what_was_there_is_there(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		assert_int_equal(is_allocated[i], i >= 1 && i < 1 + THERE);
		assert_false(kfb_block_is_readable(&blocks[i]));
	}
}

static void an_attach_that_maps_all_keeps_it(void **state)
{
	(void)state;
	assert_int_equal(kfbk_maps_attach(&dev), 0);
	for (int i = 0; i < BLOCKS; i++)
		assert_true(is_allocated[i]);
	assert_int_equal(n_unmaps, 0);
}

/* FREE would be refused of what is mapped. */
static void one_that_maps_a_part_gives_all_back(void **state)
{
	(void)state;
	may_map = 5;
	assert_int_equal(kfbk_maps_attach(&dev), -ENOSPC);
	only_what_was_there_is_there();
	assert_int_equal(n_said, 0);
}

static void one_that_fails_behind_that_gives_all_back(void **state)
{
	(void)state;
	assert_int_equal(kfbk_maps_attach(&dev), 0);
	kfbk_maps_undo(&dev);
	only_what_was_there_is_there();
	assert_int_equal(n_unmaps, BLOCKS / 2);
	assert_int_equal(n_said, 0);
}

static void one_that_has_allocated_nothing_leaves_all(void **state)
{
	(void)state;
	dev.options.thin = true;
	assert_int_equal(kfbk_maps_attach(&dev), 0);
	kfbk_maps_undo(&dev);
	assert_int_equal(n_unmaps, 0);
	for (int i = 1; i < 1 + THERE; i++)
		assert_true(is_allocated[i]);
}

static void what_stays_is_told(void **state)
{
	(void)state;
	assert_int_equal(kfbk_maps_attach(&dev), 0);
	unmap_error = -EIO;
	kfbk_maps_undo(&dev);
	/* What is before those that were there, and what is behind. */
	assert_int_equal(n_said, 2);
	/* Nothing more is asked for when one stays. */
	assert_int_equal(n_unmaps, 1);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_attach_that_maps_all_keeps_it),
		CASE(one_that_maps_a_part_gives_all_back),
		CASE(one_that_fails_behind_that_gives_all_back),
		CASE(one_that_has_allocated_nothing_leaves_all),
		CASE(what_stays_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
