// SPDX-License-Identifier: BSD-2-Clause
/*
 * Discards and write-zeroes of the kernel's disk: which give their tags back, and what
 * zeroes are written from. Compiled for pages of 4 KiB, and of 64 KiB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "initiator/kmod/io/requests.h"

struct workqueue_struct *kfbk_clear_wq;
static struct kfbk_device dev;
static struct request rq;
static uint32_t n_stolen;
static uint32_t n_ended;

/* ---- of the kernel, and of the driver's other files ---------------------------- */

static struct km_task only;

struct km_task *km_current(void)
{
	return &only;
}

void spin_lock(spinlock_t *lock)
{
	assert_int_equal(lock->n_waiting++, 0);
}

void spin_unlock(spinlock_t *lock)
{
	lock->n_waiting--;
}

void kfbk_unlock_and_end(struct kfbk_device *d)
{
	spin_unlock_bh(&d->lock);
}

void blk_steal_bios(struct bio_list *list, struct request *from)
{
	(void)list;
	assert_ptr_equal(from, &rq);
	n_stolen++;
}

void kfbk_rq_end(struct request *ended, blk_status_t status)
{
	assert_ptr_equal(ended, &rq);
	assert_int_equal(status, BLK_STS_OK);
	n_ended++;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	(void)wq;
	(void)work;
	return true;
}

bool flush_work(struct work_struct *work)
{
	(void)work;
	return true;
}

void bio_init(struct bio *bio, struct block_device *bdev, struct bio_vec *table,
	      unsigned short max_vecs, blk_opf_t opf)
{
	(void)bio;
	(void)bdev;
	(void)table;
	(void)max_vecs;
	(void)opf;
}

int submit_bio_wait(struct bio *bio)
{
	(void)bio;
	return 0;
}

void bio_endio(struct bio *bio)
{
	(void)bio;
}

blk_status_t errno_to_blk_status(int error)
{
	return (blk_status_t)-error;
}

struct page *alloc_pages(gfp_t flags, unsigned int order)
{
	(void)flags;
	return aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);
}

void __free_pages(struct page *page, unsigned int order)
{
	(void)order;
	free(page);
}

static int begin(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(&rq, 0, sizeof(rq));
	INIT_LIST_HEAD(&dev.ended);
	dev.options.thin = true;
	dev.max_segments = 8;
	dev.max_segment_bytes = 256U << 10;
	dev.max_op_bytes = SIZE_MAX;
	n_stolen = n_ended = 0;
	return kfbk_zeroes_init();
}

static int end(void **state)
{
	(void)state;
	kfbk_zeroes_exit();
	return 0;
}

/* ---- tags ---------------------------------------------------------------------- */

static bool is_put_off(enum req_op op, uint32_t len)
{
	rq.cmd_flags = op;
	rq.len = len;
	return kfbk_clear_put_off(&dev, &rq);
}

static void what_takes_long_gives_its_tag_back(void **state)
{
	(void)state;
	assert_true(is_put_off(REQ_OP_WRITE_ZEROES, SZ_1G));
	assert_int_equal(n_stolen, 1);
	assert_int_equal(n_ended, 1);
	assert_false(is_put_off(REQ_OP_DISCARD, 2 * KFB_BLOCK_BYTES));
	assert_false(is_put_off(REQ_OP_WRITE_ZEROES, KFB_BLOCK_BYTES));
	assert_int_equal(n_stolen, 1);
	assert_int_equal(n_ended, 1);
}

static void clone_ended(struct request *of, blk_status_t status)
{
	(void)of;
	(void)status;
	fail();
}

/* Its end is that of another driver's request, which has the bios. */
static void a_clone_keeps_its_bios(void **state)
{
	(void)state;
	rq.end_io = clone_ended;
	assert_false(is_put_off(REQ_OP_WRITE_ZEROES, SZ_1G));
	assert_false(is_put_off(REQ_OP_DISCARD, SZ_1G));
	assert_int_equal(n_stolen, 0);
	assert_int_equal(n_ended, 0);
}

/* ---- zeroes -------------------------------------------------------------------- */

/* What one operation of at most @len bytes writes. */
static uint32_t zeroes_of(uint32_t len)
{
	const struct fi_buf buf = kfbk_zero_buf(&dev, &len);
	size_t room = 0;

	assert_int_equal(buf.type, FI_BUF_BVEC);
	assert_int_equal(buf.len, len);
	assert_int_equal(buf.offset, 0);
	assert_in_range(buf.count, 1, dev.max_segments);
	for (uint32_t i = 0; i < buf.count; i++) {
		assert_non_null(buf.bvec[i].bv_page);
		room += buf.bvec[i].bv_len;
	}
	assert_true(room >= len);
	return len;
}

static void a_block_of_zeroes_is_one_operation(void **state)
{
	(void)state;
	assert_int_equal(zeroes_of(KFB_BLOCK_BYTES), KFB_BLOCK_BYTES);
	assert_int_equal(zeroes_of(512), 512);
	dev.max_segment_bytes = 64U << 10;
	assert_int_equal(zeroes_of(KFB_BLOCK_BYTES), 512U << 10);
}

/* Not of more than a message of each of the brick's addresses takes. */
static void zeroes_are_no_longer_than_a_message(void **state)
{
	(void)state;
	dev.max_op_bytes = 1U << 20;
	assert_int_equal(zeroes_of(KFB_BLOCK_BYTES), 1U << 20);
	assert_int_equal(zeroes_of(512U << 10), 512U << 10);
	/* As 7 * (n - 1) pages: what is left begins where a physical block does. */
	dev.max_op_bytes = (1U << 20) + 512;
	assert_int_equal(zeroes_of(KFB_BLOCK_BYTES), 1U << 20);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_takes_long_gives_its_tag_back),
		CASE(a_clone_keeps_its_bios),
		CASE(a_block_of_zeroes_is_one_operation),
		CASE(zeroes_are_no_longer_than_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
