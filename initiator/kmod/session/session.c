// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the core's port to kfabric: makes endpoints, closes them, and tells what
 * happened. docs/reconnect.md has the rules.
 *
 * All of it is one work item. Upcalls and timers only make it run. What may
 * sleep is done without dev->lock; the core asks for news again afterwards.
 *
 * Data goes through queue_rq() while the session is LIVE and all its
 * queues are usable. Else blk-mq is quiesced: requests stay where they are and
 * cost nothing. When the client has given up, it is unquiesced for good, and
 * queue_rq() fails what comes.
 *
 * Context: process, in the scope of memalloc_noio: the way back to a brick must
 * not wait for memory that is freed by writing to it.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../disk/disks.h"
#include "../device/calls.h"
#include "../device/key.h"
#include "kfb_evicted.h"
#include "kfb_initiator_retain.h"
#include "link.h"
#include "../io/requests.h"
#include "../device/trace.h"

static void kfbk_session_random_bytes(void *ctx, void *buf, __u32 len)
{
	get_random_bytes(buf, len);
}

static void kfbk_session_wake_fn(struct work_struct *work)
{
	kfbk_kick(container_of(work, struct kfbk_device, wake_work.work));
}

/* ---- news of connections ---------------------------------------------- */

static noinline_for_stack bool kfbk_session_read_failure(struct kfbk_queue *q)
{
	struct fi_eq_err_entry error = {};

	if (fi_eq_readerr(q->eq, &error, 0) < 0)
		return false;
	if (q->core.is_connecting)
		kfb_initiator_rejected(&q->core, error.err, error.err_data,
				       error.err_data_size);
	else
		kfb_initiator_lost(&q->core, -error.err,
				   "the connection is lost", NULL);
	return true;
}

/* One event of a queue; false: there is none. */
static noinline_for_stack bool kfbk_session_read_event(struct kfbk_queue *q)
{
	union fi_eq_cm_event cm;
	ssize_t n;
	u32 event;

	if (!q->eq || !q->ep)
		return false;
	n = fi_eq_read(q->eq, &event, &cm, sizeof(cm), 0);
	if (n == -FI_EAVAIL)
		return kfbk_session_read_failure(q);
	if (n < 0)
		return false;
	if (event != FI_CONNECTED || n < (ssize_t)sizeof(cm.entry)) {
		kfb_initiator_lost(&q->core, -ECONNRESET,
				   "the connection is lost", NULL);
		return true;
	}
	atomic_long_inc(&q->n_ops[KFBK_OP_CONNECT]);
	kfb_initiator_accepted(&q->core, cm.entry.data, n - sizeof(cm.entry));
	return true;
}

static void kfbk_session_take_news(struct kfb_initiator *core)
{
	struct kfbk_device *dev = kfbk_of(core);
	u32 i;

	for (i = 0; i < dev->options.queues; i++) {
		struct kfbk_queue *q = &dev->queues[i];

		while (kfbk_session_read_event(q))
			;
		if (test_bit(0, &q->broken) && !q->core.is_connecting)
			kfb_initiator_lost(&q->core, q->error,
					   "the connection is lost", NULL);
	}
}

/* The brick wants mappings back: the map work sees to it. */
static void kfbk_session_recall(struct kfbk_device *dev,
				const struct kfb_event *event)
{
	struct kfbk_recall *recall = &dev->cache.recall;

	lockdep_assert_held(&dev->lock);
	atomic_long_inc(&dev->cache.n_recalls);
	if (!dev->cache.cap) {
		kfbk_info_limited(
			dev,
			"the brick is short of memory and asks for %llu blocks at 0x%llx: this disk keeps what it maps\n",
			event->n_blocks, event->va);
		return;
	}
	*recall = (struct kfbk_recall){
		.is_asked = true,
		.mapping_id = event->mapping_id,
		.first = (event->va - dev->options.base) >> KFB_BLOCK_SHIFT,
		.n = event->n_blocks,
	};
	queue_work(kfbk_map_wq, &dev->map_work);
}

/* Take what the brick has to say unasked. */
static void kfbk_session_take_events(struct kfbk_device *dev)
{
	struct kfb_event event;

	while (kfb_initiator_take_event(&dev->core, &event)) {
		switch (event.kind) {
		case KFB_EVENT_RECALL:
			kfbk_session_recall(dev, &event);
			break;
		case KFB_EVENT_MEDIA_ERROR:
			/* The brick may not know yet which it has lost. */
			if (event.n_blocks)
				kfbk_err_limited(
					dev,
					"the brick has lost, or cannot reach, %llu blocks at 0x%llx\n",
					event.n_blocks, event.va);
			else
				kfbk_err_limited(
					dev,
					"the brick has lost blocks; see brickctl list\n");
			break;
		case KFB_EVENT_SHUTDOWN:
			kfbk_info_limited(dev, "the brick is shutting down\n");
			break;
		case KFB_EVENT_EVICTED:
			if (event.cause == KFB_EVICTED_ORDER)
				kfbk_err_limited(
					dev,
					"the brick has evicted this client: by user %u\n",
					event.uid);
			else
				kfbk_err_limited(
					dev,
					"the brick has evicted this client: %s\n",
					kfb_evicted_text(event.cause));
			break;
		default:
			break;
		}
	}
}

/* ---- what the core asks for ------------------------------------------- */

/* Stop queue_rq(). Context: dev->lock is not held. */
static void kfbk_quiesce(struct kfbk_device *dev)
{
	/* A disk that is forgotten meanwhile is there until this run ends. */
	struct gendisk *disk = READ_ONCE(dev->disk);
	u32 i;

	for (i = 0; i < dev->options.queues; i++)
		WRITE_ONCE(dev->queues[i].usable, false);
	if (dev->is_quiesced || !disk)
		return;
	WRITE_ONCE(dev->is_quiesced, true);
	blk_mq_quiesce_queue(disk->queue);
}

/*
 * Let requests in: to be posted, or to fail. Who is let in to fail may still be on
 * the way when the disk is taken up again, and finds no connection that has not
 * proven to be the brick's.
 */
static void kfbk_unquiesce(struct kfbk_device *dev, bool is_usable)
{
	struct gendisk *disk = READ_ONCE(dev->disk); /* as in kfbk_quiesce() */
	u32 i;

	WRITE_ONCE(dev->n_used, max(dev->core.client.n_used, 1U));
	for (i = 0; i < dev->options.queues; i++)
		WRITE_ONCE(dev->queues[i].usable, is_usable && i < dev->n_used);
	if (dev->is_quiesced && disk) {
		WRITE_ONCE(dev->is_quiesced, false);
		/*
		 * What came back is in the queue again, or about to be: it
		 * kicked the list itself. A kick here could come after
		 * del_gendisk(), and wait to run when the queue is freed.
		 */
		blk_mq_unquiesce_queue(disk->queue);
	}
}

/* Drops and takes dev->lock. */
static int kfbk_session_connect(struct kfb_initiator_queue *core,
				const u8 *hello, u32 len)
	__must_hold(&kfbk_queue_of(core)->dev->lock)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	int ret;

	kfbk_unlock(q->dev);
	ret = kfbk_queue_connect(q, hello, len);
	kfbk_lock(q->dev);
	return ret;
}

/* Drops and takes dev->lock. */
static void kfbk_session_close(struct kfb_initiator_queue *core)
	__must_hold(&kfbk_queue_of(core)->dev->lock)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	struct kfbk_device *dev = q->dev;
	struct kfbk_rq *krq, *next;

	kfbk_unlock(dev);
	kfbk_quiesce(dev);
	kfbk_queue_close(q);
	kfbk_lock(dev);
	/* Their writes were posted, and quietly, and nothing behind them. */
	list_for_each_entry_safe(krq, next, &q->fua, node) {
		list_del_init(&krq->node);
		kfbk_rq_interrupted(krq);
		kfbk_rq_again(blk_mq_rq_from_pdu(krq));
	}
}

static void kfbk_session_make_mappings(struct kfb_initiator *i)
{
	struct kfbk_device *dev = kfbk_of(i);

	/* At attach nothing is mapped yet. */
	if (dev->state == KFB_DISK_ATTACHING)
		kfb_client_mapped(&i->client);
	else
		queue_work(kfbk_restore_wq, &dev->restore_work);
}

/* Those who are told that it is over find the disk so. */
static void kfbk_session_end(struct kfb_initiator *i)
{
	struct kfbk_device *dev = kfbk_of(i);

	kfbk_move(dev, KFB_DISK_OVER);
	queue_work(kfbk_map_wq, &dev->map_work);
}

static void kfbk_session_say(struct kfb_initiator *i,
			     enum kfb_initiator_level level, const char *what,
			     const char *detail, int error)
{
	struct kfbk_device *dev = kfbk_of(i);

	/* Why it has given up is the reason, and not how connections end then. */
	if (level == KFB_SAY_WHY && (dev->gives_up || dev->keeps_why))
		return;
	if (!detail && error)
		detail = fi_strerror(error);
	lockdep_assert_held(&dev->lock);
	snprintf(dev->why, sizeof(dev->why), "%s%s%s", what, detail ? ": " : "",
		 detail ?: "");
	if (level == KFB_SAY_LOG)
		kfbk_err_limited(dev, "%s\n", dev->why);
}

static u64 kfbk_session_now_ms(const struct kfb_initiator *i)
{
	return kfbk_now_ms();
}

static void kfbk_session_wake_at(struct kfb_initiator *i, u64 at_ms)
{
	struct kfbk_device *dev = kfbk_of(i);
	u64 now_ms = kfbk_now_ms();
	u64 wait_ms = at_ms > now_ms ? at_ms - now_ms : 0;

	lockdep_assert_held(&dev->lock);
	if (at_ms >= dev->wake_ms || dev->core.is_over)
		return;
	dev->wake_ms = at_ms;
	/* Not the work itself: a kick that is under way must not be put off. */
	mod_delayed_work(kfbk_session_wq, &dev->wake_work,
			 msecs_to_jiffies(wait_ms));
}

static void kfbk_session_kick(struct kfb_initiator *i)
{
	kfbk_kick(kfbk_of(i));
}

static u64 kfbk_session_moved_bytes(struct kfb_initiator_queue *core)
{
	const struct kfbk_queue *q = kfbk_queue_of(core);

	return q->ep ? kfbk_moved_bytes(q->ep) : 0;
}

static void kfbk_session_lock_queue(struct kfb_initiator_queue *core)
	__acquires(&kfbk_queue_of(core)->lock)
{
	spin_lock(&kfbk_queue_of(core)->lock);
}

static void kfbk_session_unlock_queue(struct kfb_initiator_queue *core)
	__releases(&kfbk_queue_of(core)->lock)
{
	spin_unlock(&kfbk_queue_of(core)->lock);
}

static void kfbk_session_lock_copies(struct kfb_initiator *i)
	__acquires(&kfbk_of(i)->retain.lock)
{
	spin_lock_bh(&kfbk_of(i)->retain.lock);
}

static void kfbk_session_unlock_copies(struct kfb_initiator *i)
	__releases(&kfbk_of(i)->retain.lock)
{
	spin_unlock_bh(&kfbk_of(i)->retain.lock);
}

static const struct kfb_initiator_ops kfbk_initiator_ops = {
	.connect = kfbk_session_connect,
	.close = kfbk_session_close,
	.receive = kfbk_post_receive,
	.send = kfbk_send,
	.locate = kfbk_flush_locate,
	.locate_any = kfbk_flush_locate_any,
	.read_back = kfbk_flush_read_back,
	.flush_posted = kfbk_flush_posted,
	.write_copy = kfbk_retain_write_copy,
	.copies_may_fit = kfbk_retain_may_fit,
	.flush_done = kfbk_flush_done,
	.take_back = kfbk_flush_take_back,
	.call_done = kfbk_call_done,
	.make_mappings = kfbk_session_make_mappings,
	.set_rate = kfbk_rate_set,
	.writes_lost = kfbk_flush_writes_lost,
	.can_commit = kfbk_flush_can_commit,
	.can_read_back = kfbk_flush_can_read_back,
	.over = kfbk_session_end,
	.say = kfbk_session_say,
	.now_ms = kfbk_session_now_ms,
	.wake_at = kfbk_session_wake_at,
	.kick = kfbk_session_kick,
	.take_news = kfbk_session_take_news,
	.moved_bytes = kfbk_session_moved_bytes,
	.lock_queue = kfbk_session_lock_queue,
	.unlock_queue = kfbk_session_unlock_queue,
	.lock_copies = kfbk_session_lock_copies,
	.unlock_copies = kfbk_session_unlock_copies,
};

/* ---- the disk, as the session is now ------------------------------------- */

/* The client says why it has lost its session, and nothing of one that it has. */
static void kfbk_session_say_lease(struct kfbk_device *dev)
{
	const struct kfb_client *client = &dev->core.client;

	if (kfb_client_state(client) == KFB_CLIENT_LIVE &&
	    !kfb_client_lease_ok(client, kfbk_now_ms()))
		kfbk_session_say(
			&dev->core, KFB_SAY_WHY,
			"the lease is over, and the brick has not renewed it in time",
			NULL, 0);
}

/* Once for each time that it is another one. */
static void kfbk_session_tell_address(struct kfbk_device *dev)
{
	u32 address = READ_ONCE(dev->core.client.address);
	char url[KFBK_URL_BYTES];

	if (address == dev->told_address)
		return;
	dev->told_address = address;
	/* The attach says so itself. */
	if (READ_ONCE(dev->disk))
		kfbk_info_limited(dev, "goes on by %s\n",
				  kfbk_address_text(dev, address, url));
}

/* The disk becomes what the client is. A move that is refused lets nothing in. */
static void kfbk_session_settle(struct kfbk_device *dev)
{
	enum kfb_disk_event event = KFB_DISK_USABLE;
	u32 n_left = 0;
	int does;

	kfbk_lock(dev);
	/* Who has asked in vain has the session that it had, and its lease. */
	kfbk_note_lease(dev);
	if (dev->core.is_over)
		event = KFB_DISK_OVER;
	else if (!kfb_initiator_is_usable(&dev->core))
		event = KFB_DISK_UNUSABLE;
	else if (dev->core.replay_due)
		event = KFB_DISK_REPLAY;
	if (event == KFB_DISK_UNUSABLE)
		kfbk_session_say_lease(dev);
	does = kfbk_move(dev, event);
	if (does < 0)
		does = KFB_DISK_DO_QUIESCE;
	if (does & KFB_DISK_DO_UNQUIESCE)
		kfb_initiator_pump_flushes(&dev->core);
	if (!kfbk_is_coming_back(dev->state))
		swap(n_left, dev->n_left);
	kfbk_unlock(dev);
	while (n_left--)
		kfbk_claim_settled(dev);
	if (does & KFB_DISK_DO_UNQUIESCE) {
		kfbk_unquiesce(dev, event == KFB_DISK_USABLE);
		if (event == KFB_DISK_USABLE)
			kfbk_session_tell_address(dev);
		complete_all(&dev->first);
	} else {
		kfbk_quiesce(dev);
	}
	wake_up_all(&dev->settled);
	if (does & KFB_DISK_DO_REPLAY) {
		/* The queue stays quiesced: a write now would be older than a copy. */
		kfbk_lock(dev);
		kfb_initiator_replay(&dev->core);
		kfbk_unlock(dev);
	}
}

static void kfbk_session_work_fn(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, session_work);
	unsigned int noio = memalloc_noio_save();
	enum kfb_client_state was;
	u64 at_ms;

	kfbk_lock(dev);
	was = kfb_client_state(&dev->core.client);
	dev->rate.copies_wait = false;
	if (dev->gives_up)
		kfb_client_close(&dev->core.client);
	kfb_initiator_run(&dev->core);
	if (was != kfb_client_state(&dev->core.client))
		trace_kfbrick_session(dev, was);
	kfbk_session_take_events(dev);
	kfbk_unlock(dev);
	kfbk_session_settle(dev);
	kfbk_lock(dev);
	dev->wake_ms = KFB_TIME_NEVER;
	at_ms = min_t(u64, kfb_initiator_next_ms(&dev->core),
		      kfbk_rate_next_ms(dev));
	if (at_ms != KFB_TIME_NEVER)
		kfbk_session_wake_at(&dev->core, at_ms);
	kfbk_unlock(dev);
	kfbk_disk_event(dev);
	memalloc_noio_restore(noio);
}

/* ---- beginning and end ------------------------------------------------ */

static int kfbk_session_init_core(struct kfbk_device *dev)
{
	const struct kfbk_options *o = &dev->options;
	struct kfb_initiator_config config = {
		.client = {
			.engine = {
				.hmac = dev->hmac,
				.client_name = *o->client ? o->client : NULL,
				.key = dev->key,
				.features = KFB_FEATURE_EVENT |
					    KFB_FEATURE_QUOTA |
					    KFB_FEATURE_EVICTED |
					    KFB_FEATURE_RATE |
					    (o->thin ? KFB_FEATURE_THIN : 0),
			},
			.random = kfbk_session_random_bytes,
			.n_queues = o->queues,
			.n_addresses = o->n_addresses,
			.timeout_ms = o->timeout_ms,
			/* Until the disk is there a loss is the end. */
			.reconnect_ms = 0,
		},
		.over_error = -EIO,
	};

	memcpy(config.client.engine.expect_uuid, o->uuid, KFB_UUID_BYTES);
	return kfb_initiator_init(&dev->core, &kfbk_initiator_ops, &config,
				  dev->tx);
}

int kfbk_session_init(struct kfbk_device *dev)
{
	u32 n = dev->options.queues;
	u32 i;
	int ret;

	INIT_WORK(&dev->session_work, kfbk_session_work_fn);
	INIT_DELAYED_WORK(&dev->wake_work, kfbk_session_wake_fn);
	init_completion(&dev->first);
	init_waitqueue_head(&dev->settled);
	dev->wake_ms = KFB_TIME_NEVER;
	dev->tx = kvzalloc(KFB_CLIENT_TX_BYTES(n), GFP_KERNEL);
	dev->queues = kvcalloc(n, sizeof(*dev->queues), GFP_KERNEL);
	if (!dev->tx || !dev->queues)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		ret = kfbk_queue_init(dev, i);
		if (ret)
			return ret;
	}
	ret = kfbk_hmac_open(&dev->hmac);
	return ret ?: kfbk_session_init_core(dev);
}

int kfbk_session_start(struct kfbk_device *dev)
{
	int ret;

	kfbk_lock(dev);
	ret = kfb_client_start(&dev->core.client);
	kfbk_unlock(dev);
	if (ret)
		return ret;
	kfbk_kick(dev);
	if (wait_for_completion_killable(&dev->first))
		return -EINTR;
	kfbk_lock(dev);
	ret = dev->core.is_over
		      ? kfb_client_error(&dev->core.client) ?: -ECONNRESET
		      : 0;
	kfbk_unlock(dev);
	return ret;
}

void kfbk_session_leave(struct kfbk_device *dev)
{
	struct kfbk_call end;
	bool is_under_way;

	init_completion(&end.done);
	kfbk_lock(dev);
	is_under_way = kfb_initiator_leave(&dev->core, &end.core);
	dev->options.timeout_ms = dev->core.timeout_ms;
	kfbk_unlock(dev);
	if (is_under_way)
		wait_for_completion(&end.done);
	kfbk_give_up(dev);
}

void kfbk_session_stop(struct kfbk_device *dev)
{
	kfbk_session_leave(dev);
	flush_work(&dev->session_work);
	cancel_work_sync(&dev->restore_work);
	flush_work(&dev->map_work);
	cancel_delayed_work_sync(&dev->wake_work);
	cancel_work_sync(&dev->session_work);
}

void kfbk_session_fini(struct kfbk_device *dev)
{
	u32 i;

	for (i = 0; dev->queues && i < dev->options.queues; i++)
		kfbk_queue_fini(&dev->queues[i]);
	kvfree(dev->queues);
	kvfree(dev->tx);
	kfbk_hmac_close(&dev->hmac);
}
