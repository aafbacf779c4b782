// SPDX-License-Identifier: BSD-2-Clause
/*
 * Operations of the kernel's disk: what their time-outs end, what is left of requests
 * that do not come again, and how much of copies goes at one time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <linux/slab.h>

#include "initiator/kmod/io/requests.h"
#include "kfb_initiator_retain.h"

#define QUEUES 1
#define LEASE  10000

/* A request with the driver's part behind it. */
static union {
	struct request rq;
	uint64_t room[(sizeof(struct request) + sizeof(struct kfbk_rq) + 1024) /
		      8];
} one;

static struct kfbk_rq *krq(void)
{
	return blk_mq_rq_to_pdu(&one.rq);
}

static struct kfbk_queue queue;
static struct kfbk_device dev;
static struct fid_ep ends[2];
static struct gendisk disk;
static struct request_queue blk;
static uint64_t now_ns;

/* What has been asked of the driver's other files, and of the kernel. */
static uint32_t rcu_depth;
static const struct fid_ep *ended; /* the connection that has failed */
static uint64_t moved_bytes;
static bool comes_back; /* as soon as it may, there is another connection */
static uint32_t n_unpinned;
static uint32_t n_kicks;
static uint32_t n_runs;

/* ---- of the kernel ------------------------------------------------------------- */

static struct km_task only;
bool sim_is_traced;
struct workqueue_struct *kfbk_map_wq;

struct km_task *km_current(void)
{
	return &only;
}

void km_may_yield(void)
{
}

uint64_t km_now_ns(void)
{
	return now_ns;
}

void km_log(const char *fmt, ...)
{
	(void)fmt;
}

void km_broken(const char *fmt, ...)
{
	fail_msg("%s", fmt);
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

void rcu_read_lock(void)
{
	rcu_depth++;
}

/* Whoever closes the connection has waited for that. */
void rcu_read_unlock(void)
{
	assert_true(rcu_depth > 0);
	if (--rcu_depth || !comes_back)
		return;
	queue.ep = &ends[1];
	clear_bit(0, &queue.broken);
}

void wake_up(wait_queue_head_t *wq)
{
	(void)wq;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	(void)wq;
	(void)work;
	return true;
}

void blk_mq_run_hw_queues(struct request_queue *q, bool async)
{
	(void)q;
	(void)async;
	n_runs++;
}

void blk_mq_start_request(struct request *rq)
{
	(void)rq;
}

void blk_mq_end_request(struct request *rq, blk_status_t status)
{
	(void)rq;
	(void)status;
}

int blk_rq_map_sg(struct request_queue *q, struct request *rq,
		  struct scatterlist *sg)
{
	(void)q;
	(void)rq;
	(void)sg;
	return 0;
}

unsigned short blk_rq_nr_phys_segments(struct request *rq)
{
	(void)rq;
	return 1;
}

void zero_fill_bio(struct bio *bio)
{
	(void)bio;
}

struct bio_vec bio_piece(const struct bio *bio, struct bvec_iter iter)
{
	(void)iter;
	return *bio->bi_io_vec;
}

void bio_advance_piece(const struct bio *bio, struct bvec_iter *iter, u32 len)
{
	(void)bio;
	iter->bi_size -= len;
}

void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	(void)flags;
	return calloc(n, size);
}

void kfree(const void *at)
{
	free((void *)(uintptr_t)at);
}

void *vmalloc(unsigned long len)
{
	return malloc(len);
}

void vfree(const void *at)
{
	free((void *)(uintptr_t)at);
}

/* ---- of the driver ------------------------------------------------------------- */

void kfbk_unlock_and_end(struct kfbk_device *d)
{
	spin_unlock_bh(&d->lock);
}

void kfbk_kick(struct kfbk_device *d)
{
	(void)d;
	n_kicks++;
}

void kfbk_queue_failed(struct kfbk_queue *q, int error)
{
	(void)error;
	ended = q->ep;
	set_bit(0, &q->broken);
}

u64 kfbk_moved_bytes(struct fid_ep *ep)
{
	(void)ep;
	return moved_bytes;
}

void kfbk_rq_end(struct request *rq, blk_status_t status)
{
	(void)rq;
	(void)status;
}

void kfbk_rq_step(struct request *rq, u32 len)
{
	(void)rq;
	(void)len;
}

void kfbk_rq_again(struct request *rq)
{
	(void)rq;
}

bool kfbk_cache_get(struct kfbk_device *d, struct kfbk_rq *krq)
{
	(void)d;
	(void)krq;
	return true;
}

void kfbk_cache_unpin(struct kfbk_device *d, struct kfbk_rq *krq)
{
	assert_ptr_equal(d, &dev);
	krq->block = KFB_MAPCACHE_NONE;
	n_unpinned++;
}

bool kfbk_clear_put_off(struct kfbk_device *d, struct request *rq)
{
	(void)d;
	(void)rq;
	return false;
}

void kfbk_flush_start(struct kfbk_device *d, struct kfbk_flush *flush)
{
	(void)d;
	(void)flush;
}

bool kfbk_rate_take(struct kfbk_device *d, u32 len, u64 now_ms)
{
	(void)d;
	(void)len;
	(void)now_ms;
	return true;
}

bool kfbk_rate_take_copy(struct kfbk_device *d, u32 len)
{
	(void)d;
	(void)len;
	return true;
}

void kfbk_rate_give(struct kfbk_device *d, u32 len)
{
	(void)d;
	(void)len;
}

struct fi_buf kfbk_zero_buf(const struct kfbk_device *d, u32 *len)
{
	(void)d;
	return fi_buf_linear(NULL, *len);
}

static int begin(void **state)
{
	(void)state;
	memset(&one, 0, sizeof(one));
	memset(&dev, 0, sizeof(dev));
	memset(&queue, 0, sizeof(queue));
	INIT_LIST_HEAD(&dev.ended);
	INIT_LIST_HEAD(&queue.fua);
	dev.queues = &queue;
	dev.disk = &disk;
	dev.max_segments = 8;
	dev.max_segment_bytes = 256U << 10;
	dev.max_op_bytes = SIZE_MAX;
	queue.dev = &dev;
	queue.ep = &ends[0];
	kfb_window_init(&queue.core.window, LEASE);
	disk.queue = &blk;
	blk.queuedata = &dev;
	one.rq.q = &blk;
	krq()->queue = &queue;
	krq()->copy = KFB_RETAIN_NONE;
	krq()->block = KFB_MAPCACHE_NONE;
	rcu_depth = n_unpinned = n_kicks = n_runs = 0;
	ended = NULL;
	comes_back = false;
	moved_bytes = 0;
	return 0;
}

/* ---- time-outs ----------------------------------------------------------------- */

static void time_is_over(void)
{
	assert_int_equal(kfbk_mq_ops.timeout(&one.rq), BLK_EH_RESET_TIMER);
	assert_int_equal(rcu_depth, 0);
}

static void what_does_not_move_ends_its_connection(void **state)
{
	(void)state;
	krq()->posted = true;
	moved_bytes = 4096;
	time_is_over();
	assert_null(ended);
	moved_bytes += 4096;
	time_is_over();
	assert_null(ended);
	time_is_over();
	assert_ptr_equal(ended, &ends[0]);
}

static void what_is_not_posted_has_time(void **state)
{
	(void)state;
	time_is_over();
	time_is_over();
	assert_null(ended);
}

/* It ends by itself, and is replaced, as soon as nobody looks at it. */
static void the_next_connection_is_not_to_blame(void **state)
{
	(void)state;
	krq()->posted = true;
	moved_bytes = 4096;
	time_is_over();
	comes_back = true;
	time_is_over();
	assert_ptr_not_equal(ended, &ends[1]);
	assert_ptr_equal(queue.ep, &ends[1]);
	assert_false(test_bit(0, &queue.broken));
}

/* Whoever closes it has ended it. */
static void what_is_closed_already_is_not_ended(void **state)
{
	(void)state;
	krq()->posted = true;
	queue.ep = NULL;
	time_is_over();
	time_is_over();
	assert_false(test_bit(0, &queue.broken));
}

/* ---- requests that are put off --------------------------------------------------- */

/* As the device mapper's: a clone that finds no room is freed, and made anew. */
static void what_does_not_come_again_leaves_its_block(void **state)
{
	(void)state;
	krq()->block = 3;
	/* Of whoever had its tag before: it was not looked at yet. */
	kfbk_mq_ops.cleanup_rq(&one.rq);
	assert_int_equal(n_unpinned, 0);
	one.rq.rq_flags = RQF_DONTPREP;
	kfbk_mq_ops.cleanup_rq(&one.rq);
	assert_int_equal(n_unpinned, 1);
	kfbk_mq_ops.cleanup_rq(&one.rq);
	assert_int_equal(n_unpinned, 1);
}

/* ---- copies -------------------------------------------------------------------- */

#define SLOTS KFB_INITIATOR_REPLAYS

static uint64_t posted_bytes;
static uint8_t bytes[KFB_BLOCK_BYTES];

static ssize_t note_write(struct fid_ep *ep, const struct fi_msg_rma *msg,
			  u64 flags)
{
	(void)flags;
	assert_ptr_equal(ep, queue.ep);
	assert_int_equal(msg->buf.len, msg->rma_iov->len);
	posted_bytes += msg->buf.len;
	return 0;
}

static const struct fi_ops_rma rma_ops = {
	.size = sizeof(rma_ops),
	.writemsg = note_write,
};

static int begin_copies(void **state)
{
	static uint8_t contexts[SLOTS * 256];

	begin(state);
	dev.ctx_bytes = 256;
	dev.retain.ctx = contexts;
	dev.retain.bytes = bytes;
	dev.is_quiesced = true;
	ends[0].rma = &rma_ops;
	posted_bytes = 0;
	return 0;
}

static int write_copy(u32 slot, bool is_zero)
{
	const struct kfb_retain_piece piece = { .va = KFB_BLOCK_BYTES,
						.len = KFB_BLOCK_BYTES,
						.is_zero = is_zero };
	const struct kfb_initiator_place to = { 0 };
	int rc;

	kfbk_lock(&dev);
	rc = kfbk_retain_write_copy(&queue.core, slot, &piece, 0, &to);
	kfbk_unlock(&dev);
	return rc;
}

static void over(u32 slot)
{
	now_ns += 1000000;
	kfbk_lock(&dev);
	kfbk_retain_written(&queue, slot);
	kfbk_unlock(&dev);
}

/* Else they are all that a PING is behind: 64 MiB. */
static void copies_keep_to_the_window(void **state)
{
	u32 slot = 0;

	(void)state;
	while (slot < SLOTS && write_copy(slot, slot & 1) > 0)
		slot++;
	assert_in_range(slot, 1, SLOTS - 1);
	assert_int_equal(write_copy(slot, false), -EAGAIN);
	assert_in_range(posted_bytes, 1, KFB_WINDOW_FIRST_BYTES);
	assert_int_equal(queue.core.window.in_flight_bytes, posted_bytes);
	/* What is over makes room, and a link that is fast gets more. */
	over(0);
	assert_in_range(write_copy(0, false), 1, KFB_BLOCK_BYTES);
	assert_true(queue.core.window.limit_bytes > KFB_WINDOW_FIRST_BYTES);
	assert_int_equal(queue.core.heard_ms, kfbk_now_ms());
}

static void one_that_is_refused_is_not_in_flight(void **state)
{
	(void)state;
	ends[0].rma = NULL;
	assert_true(write_copy(0, false) < 0);
	queue.ep = NULL;
	assert_int_equal(write_copy(0, false), -ENOTCONN);
	assert_int_equal(queue.core.window.in_flight_bytes, 0);
}

/* Nothing else goes on with it: no other copy is under way. */
static void a_copy_goes_on_when_a_request_is_over(void **state)
{
	const struct fi_cq_err_entry entry = { 0 };
	struct kfbk_ctx ctx = { .kind = KFBK_CTX_DATA, .rq = krq() };

	(void)state;
	krq()->posted = true;
	krq()->len = KFB_BLOCK_BYTES;
	kfb_window_posted(&queue.core.window, krq()->len, 0, &krq()->mark);
	assert_int_equal(write_copy(0, false), -EAGAIN);
	assert_int_equal(n_kicks, 0);
	kfbk_data_done(&queue, &ctx, &entry);
	assert_int_equal(n_kicks, 1);
	assert_in_range(write_copy(0, false), 1, KFB_BLOCK_BYTES);
}

/* Of whichever of the brick's addresses they were made for. */
static void copies_are_no_longer_than_a_message(void **state)
{
	(void)state;
	queue.core.window.limit_bytes = KFB_WINDOW_MAX_BYTES;
	dev.max_op_bytes = (1U << 14) + 7;
	assert_int_equal(write_copy(0, false), 1 << 14);
	assert_int_equal(write_copy(1, true), 1 << 14);
	dev.max_op_bytes = SIZE_MAX;
	assert_int_equal(write_copy(2, true), KFB_BLOCK_BYTES);
}

#define COPIES(name) cmocka_unit_test_setup(name, begin_copies)
#define CASE(name)   cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_does_not_move_ends_its_connection),
		CASE(what_is_not_posted_has_time),
		CASE(the_next_connection_is_not_to_blame),
		CASE(what_is_closed_already_is_not_ended),
		CASE(what_does_not_come_again_leaves_its_block),
		COPIES(copies_keep_to_the_window),
		COPIES(one_that_is_refused_is_not_in_flight),
		COPIES(a_copy_goes_on_when_a_request_is_over),
		COPIES(copies_are_no_longer_than_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
