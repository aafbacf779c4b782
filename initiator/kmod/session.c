// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: does what the core's client says is to be done: makes endpoints,
 * closes them, sends, and tells what happened. docs/reconnect.md has the rules.
 *
 * All of it is one work item. Upcalls and timers only make it run. What may
 * sleep is done without dev->lock; the client is asked again afterwards.
 *
 * The gate: data goes through queue_rq() while the session is LIVE and all its
 * queues are usable. Else blk-mq is quiesced: requests stay where they are and
 * cost nothing. When the client has given up, the gate opens for good, and
 * queue_rq() fails what comes.
 *
 * Context: process, in the scope of memalloc_noio: the way back to a brick must
 * not wait for memory that is freed by writing to it.
 */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kfbrick.h"
#include "kfb_err.h"
#include "trace.h"

/* Room for a connection event and the private data that comes with it. */
union cm_event {
	struct fi_eq_cm_entry entry;
	u8 bytes[sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX];
};

/* Leases go on while the machine sleeps: the brick counts so, too. */
u64 kfbk_now_ms(void)
{
	return ktime_to_ms(ktime_get_boottime());
}

bool kfbk_lease_is_over(const struct kfbk_device *dev)
{
	u64 until_ms = atomic64_read(&dev->lease_until_ms);

	return until_ms != KFB_TIME_NEVER &&
	       ktime_to_ms(ktime_get_coarse_boottime()) >= until_ms;
}

static void random_bytes(void *ctx, void *buf, __u32 len)
{
	get_random_bytes(buf, len);
}

void kfbk_kick(struct kfbk_device *dev)
{
	queue_work(kfbk_session_wq, &dev->session_work);
}

static void wake_work(struct work_struct *work)
{
	kfbk_kick(container_of(work, struct kfbk_device, wake_work.work));
}

void kfbk_wake_at(struct kfbk_device *dev, u64 at_ms)
{
	u64 now_ms = kfbk_now_ms();
	u64 wait_ms = at_ms > now_ms ? at_ms - now_ms : 0;

	lockdep_assert_held(&dev->lock);
	if (at_ms >= dev->wake_ms || dev->is_over)
		return;
	dev->wake_ms = at_ms;
	/* Not the work itself: a kick that is under way must not be put off. */
	mod_delayed_work(kfbk_session_wq, &dev->wake_work,
			 msecs_to_jiffies(wait_ms));
}

void kfbk_queue_failed(struct kfbk_queue *q, int error)
{
	if (test_and_set_bit(0, &q->broken))
		return;
	q->error = error;
	kfbk_kick(q->dev);
}

void kfbk_say(struct kfbk_device *dev, const char *fmt, ...)
{
	va_list ap;

	lockdep_assert_held(&dev->lock);
	va_start(ap, fmt);
	vsnprintf(dev->why, sizeof(dev->why), fmt, ap);
	va_end(ap);
}

/* ---- news of connections ---------------------------------------------- */

/* Whoever has the brick's port instead of it is worth a line of the log. */
static void say_unaccepted(struct kfbk_device *dev, int error)
{
	if (error != -EKEYREJECTED) {
		kfbk_say(dev, "no brick of this protocol is there");
		return;
	}
	kfbk_say(dev, "who accepts the connection cannot prove to be the brick "
		      "that has this session");
	kfbk_err_limited(dev, "%s\n", dev->why);
}

static void accepted(struct kfbk_queue *q, const void *data, u32 len)
{
	struct kfbk_device *dev = q->dev;
	int ret;

	q->connecting = false;
	atomic_long_inc(&q->n_ops[KFBK_OP_CONNECT]);
	ret = kfb_client_accepted(&dev->client, q->index, data, len,
				  kfbk_now_ms());
	if (ret) {
		say_unaccepted(dev, ret);
		return;
	}
	ret = kfbk_post_receives(
		q, dev->client.queues[q->index].engine.accept.credits +
			   KFB_EVENTS_UNACKED_MAX);
	if (ret)
		kfbk_queue_failed(q, ret);
}

static void say_refused(struct kfbk_device *dev,
			const struct kfb_reject *reject, int error)
{
	if (reject->status)
		kfbk_say(dev, "the brick refuses the connection: %s",
			 kfb_status_text(reject->status));
	else if (error == FI_ECONNREFUSED)
		kfbk_say(dev, "the connection is refused: is brickd running "
			      "there, on this port and this fabric?");
	else
		kfbk_say(dev, "cannot connect: %s", fi_strerror(error));
}

static void connect_failed(struct kfbk_queue *q,
			   const struct fi_eq_err_entry *error)
{
	struct kfbk_device *dev = q->dev;
	struct kfb_reject reject = {};

	q->connecting = false;
	/* Only a refusal has words; the rest is the fabric's. */
	if (error->err == FI_ECONNREFUSED || error->err_data_size)
		kfb_client_rejected(&dev->client, q->index, error->err_data,
				    error->err_data_size, kfbk_now_ms(),
				    &reject);
	else
		kfb_client_lost(&dev->client, q->index, kfbk_now_ms(),
				-error->err);
	say_refused(dev, &reject, error->err);
}

static void lost(struct kfbk_queue *q, int error)
{
	struct kfbk_device *dev = q->dev;

	if (!q->ep)
		return;
	/* The first reason is the reason. */
	if (kfb_engine_state(&dev->client.queues[q->index].engine) !=
	    KFB_CONN_CLOSING)
		kfbk_say(dev, "the connection is lost: %s", fi_strerror(error));
	kfb_client_lost(&dev->client, q->index, kfbk_now_ms(), error);
}

static noinline_for_stack bool read_failure(struct kfbk_queue *q)
{
	struct fi_eq_err_entry error = {};

	if (fi_eq_readerr(q->eq, &error, 0) < 0)
		return false;
	if (q->connecting)
		connect_failed(q, &error);
	else
		lost(q, -error.err);
	return true;
}

/* One event of a queue; false: there is none. */
static noinline_for_stack bool read_event(struct kfbk_queue *q)
{
	union cm_event cm;
	ssize_t n;
	u32 event;

	if (!q->eq || !q->ep)
		return false;
	n = fi_eq_read(q->eq, &event, &cm, sizeof(cm), 0);
	if (n == -FI_EAVAIL)
		return read_failure(q);
	if (n < 0)
		return false;
	if (event == FI_CONNECTED && n >= (ssize_t)sizeof(cm.entry))
		accepted(q, cm.entry.data, n - sizeof(cm.entry));
	else
		lost(q, -ECONNRESET);
	return true;
}

static void take_news(struct kfbk_device *dev)
{
	u32 i;

	for (i = 0; i < dev->options.queues; i++) {
		struct kfbk_queue *q = &dev->queues[i];

		while (read_event(q))
			;
		if (test_bit(0, &q->broken) && !q->connecting)
			lost(q, q->error);
	}
}

static void say_media_error(struct kfbk_device *dev,
			    const struct kfb_event *event)
{
	/* It may know that there are some, and not yet which. */
	if (event->n_blocks)
		kfbk_err_limited(dev,
				 "the brick has lost %llu blocks at 0x%llx\n",
				 event->n_blocks, event->va);
	else
		kfbk_err_limited(
			dev, "the brick has lost blocks; see brickctl list\n");
}

/* What the brick has to say unasked. EVENTs travel on queue 0. */
static void take_events(struct kfbk_device *dev)
{
	struct kfb_engine *engine = &dev->client.queues[0].engine;
	struct kfb_event event;

	while (kfb_engine_take_event(engine, &event)) {
		switch (event.kind) {
		case KFB_EVENT_GIVE_BACK:
			kfbk_cache_asked(dev, &event);
			break;
		case KFB_EVENT_MEDIA_ERROR:
			say_media_error(dev, &event);
			break;
		case KFB_EVENT_SHUTDOWN:
			kfbk_info_limited(dev, "the brick is shutting down\n");
			break;
		default:
			break;
		}
	}
}

/* ---- what the client wants -------------------------------------------- */

/* Stop queue_rq(). Context: dev->lock is not held. */
static void close_gate(struct kfbk_device *dev)
{
	/* It may be forgotten meanwhile, and is there until this run ends. */
	struct gendisk *disk = READ_ONCE(dev->disk);
	u32 i;

	for (i = 0; i < dev->options.queues; i++)
		WRITE_ONCE(dev->queues[i].usable, false);
	if (dev->is_quiesced || !disk)
		return;
	dev->is_quiesced = true;
	blk_mq_quiesce_queue(disk->queue);
}

static void open_gate(struct kfbk_device *dev)
{
	struct gendisk *disk = READ_ONCE(dev->disk); /* as in close_gate() */
	u32 i;

	WRITE_ONCE(dev->n_used, max(dev->client.n_used, 1U));
	for (i = 0; i < dev->options.queues; i++)
		WRITE_ONCE(dev->queues[i].usable, i < dev->n_used);
	if (dev->is_quiesced && disk) {
		dev->is_quiesced = false;
		blk_mq_unquiesce_queue(disk->queue);
		blk_mq_kick_requeue_list(disk->queue);
	}
}

/* Drops and takes dev->lock. */
static void connect_queue(struct kfbk_queue *q,
			  const struct kfb_client_action *action)
{
	struct kfbk_device *dev = q->dev;
	u8 hello[KFB_PRIVATE_DATA_MAX_BYTES];
	u32 len = min_t(u32, action->hello_len, sizeof(hello));
	int ret;

	memcpy(hello, action->hello, len);
	kfbk_unlock(dev);
	ret = kfbk_queue_connect(q, hello, len);
	kfbk_lock(dev);
	if (!ret)
		return;
	kfbk_say(dev, "cannot connect: %s", fi_strerror(ret));
	kfb_client_lost(&dev->client, q->index, kfbk_now_ms(), ret);
}

/* Requests whose write was posted, and quietly, and nothing behind it. */
static void take_back(struct kfbk_queue *q)
{
	struct kfbk_rq *krq, *next;

	list_for_each_entry_safe(krq, next, &q->fua, node) {
		list_del_init(&krq->node);
		kfbk_rq_interrupted(krq);
		kfbk_rq_again(blk_mq_rq_from_pdu(krq));
	}
}

/* Nothing of this endpoint moves after this. Drops and takes dev->lock. */
static void close_queue(struct kfbk_queue *q)
{
	struct kfbk_device *dev = q->dev;

	kfbk_unlock(dev);
	close_gate(dev);
	kfbk_queue_close(q);
	kfbk_lock(dev);
	take_back(q);
	kfbk_flush_lost(q);
	kfbk_replay_lost(dev);
	kfb_client_closed(&dev->client, q->index);
}

/* The first thing in a new session. */
static void begin_mapping(struct kfbk_device *dev)
{
	int ret = kfbk_flush_choose_mode(dev);

	if (!ret && dev->client.info.block_shift != KFB_BLOCK_SHIFT) {
		ret = -EPROTONOSUPPORT;
		kfbk_say(dev, "the brick's blocks are not of 2 MiB");
	}
	if (ret) {
		kfb_client_lost(&dev->client, 0, kfbk_now_ms(), ret);
		return;
	}
	spin_lock_bh(&dev->queues[0].lock);
	kfb_window_lease(&dev->queues[0].window, dev->client.info.lease_ms);
	spin_unlock_bh(&dev->queues[0].lock);
	dev->session_id = dev->client.session_id;
	/* At attach nothing is mapped yet. */
	if (dev->state == KFB_DISK_ATTACHING)
		kfb_client_mapped(&dev->client);
	else
		queue_work(kfbk_restore_wq, &dev->restore_work);
}

static void do_action(struct kfbk_device *dev,
		      const struct kfb_client_action *action)
{
	struct kfbk_queue *q = &dev->queues[action->queue];

	switch (action->what) {
	case KFB_DO_CONNECT:
		connect_queue(q, action);
		break;
	case KFB_DO_CLOSE:
		if (action->is_silent)
			kfbk_say(dev, "the brick did not answer in time");
		close_queue(q);
		break;
	case KFB_DO_SEND:
		kfbk_send(q, &action->message);
		break;
	case KFB_DO_OUTCOME:
		kfbk_answered(q, &action->outcome);
		break;
	case KFB_DO_FATE:
		kfbk_flush_fate(q, action->fate);
		break;
	case KFB_DO_MAP:
		begin_mapping(dev);
		break;
	}
}

static bool is_usable(const struct kfbk_device *dev)
{
	u64 now_ms = kfbk_now_ms();
	u32 i;

	if (kfb_client_state(&dev->client) != KFB_CLIENT_LIVE)
		return false;
	for (i = 0; i < dev->client.n_used; i++) {
		if (!dev->queues[i].ep ||
		    !kfb_client_usable(&dev->client, i, now_ms))
			return false;
	}
	return true;
}

static bool is_over(const struct kfbk_device *dev)
{
	enum kfb_client_state state = kfb_client_state(&dev->client);
	u32 i;

	if (state != KFB_CLIENT_FAILED && state != KFB_CLIENT_CLOSED)
		return false;
	for (i = 0; i < dev->options.queues; i++) {
		if (dev->queues[i].ep)
			return false;
	}
	return true;
}

/* Nobody will ever answer: whoever waits is told. dev->lock is held. */
static void finish(struct kfbk_device *dev)
{
	if (dev->is_over)
		return;
	dev->is_over = true;
	kfbk_calls_pump(dev);
	kfbk_flush_fail_all(dev, -EIO);
	queue_work(kfbk_map_wq, &dev->map_work);
}

static enum kfb_disk_event event_of(struct kfbk_device *dev)
{
	if (is_over(dev))
		return KFB_DISK_OVER;
	if (!is_usable(dev))
		return KFB_DISK_UNUSABLE;
	return dev->replay.due ? KFB_DISK_REPLAY : KFB_DISK_USABLE;
}

/* Behind a closed gate: a write between the two would be older than a copy. */
static void replay(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	kfbk_replay_begin(dev);
	kfbk_unlock(dev);
}

/* The disk, as the client is now. A refusal lets nothing in. */
static void settle(struct kfbk_device *dev)
{
	int does;

	kfbk_lock(dev);
	does = kfbk_move(dev, event_of(dev));
	if (does < 0)
		does = KFB_DISK_DO_SHUT;
	if (does & KFB_DISK_DO_FAIL)
		finish(dev);
	if (does & KFB_DISK_DO_OPEN)
		kfbk_flush_pump(dev);
	kfbk_unlock(dev);
	if (does & KFB_DISK_DO_OPEN) {
		open_gate(dev);
		complete_all(&dev->first);
	} else {
		close_gate(dev);
	}
	if (does & KFB_DISK_DO_REPLAY)
		replay(dev);
}

static void arm(struct kfbk_device *dev)
{
	u64 at_ms;

	kfbk_lock(dev);
	dev->wake_ms = KFB_TIME_NEVER;
	at_ms = kfb_client_next_ms(&dev->client);
	if (at_ms != KFB_TIME_NEVER)
		kfbk_wake_at(dev, at_ms);
	kfbk_unlock(dev);
}

/* While a PING has no answer: do bytes move all the same? */
static void tell_what_moves(struct kfbk_device *dev)
{
	u32 i;

	for (i = 0; i < dev->options.queues; i++) {
		const struct kfbk_queue *q = &dev->queues[i];

		if (!q->ep || !kfb_client_listens(&dev->client, i))
			continue;
		kfb_client_heard(&dev->client, i, READ_ONCE(q->heard_ms));
		kfb_client_moved(&dev->client, i, kfbk_moved_bytes(q->ep),
				 kfbk_now_ms());
	}
}

static void session_work(struct work_struct *work)
{
	struct kfbk_device *dev =
		container_of(work, struct kfbk_device, session_work);
	unsigned int noio = memalloc_noio_save();
	struct kfb_client_action action;
	enum kfb_client_state was;

	kfbk_lock(dev);
	was = kfb_client_state(&dev->client);
	take_news(dev);
	if (dev->gives_up)
		kfb_client_close(&dev->client);
	tell_what_moves(dev);
	while (kfb_client_next(&dev->client, kfbk_now_ms(), &action)) {
		do_action(dev, &action);
		take_news(dev);
	}
	/* A PING may have gone out: what has moved before it is no answer. */
	tell_what_moves(dev);
	if (was != kfb_client_state(&dev->client))
		trace_kfbrick_session(dev, was);
	take_events(dev);
	kfbk_calls_pump(dev);
	kfbk_unlock(dev);
	settle(dev);
	arm(dev);
	kfbk_disk_event(dev);
	memalloc_noio_restore(noio);
}

/* ---- beginning and end ------------------------------------------------ */

static int init_client(struct kfbk_device *dev)
{
	const struct kfbk_options *o = &dev->options;
	struct kfb_client_config config = {
		.engine = {
			.hmac = dev->hmac,
			.client_name = *o->client ? o->client : NULL,
			.key = dev->key,
			.features = KFB_FEATURE_EVENT |
				    (o->thin ? KFB_FEATURE_THIN : 0),
		},
		.random = random_bytes,
		.n_queues = o->queues,
		.timeout_ms = o->timeout_ms,
		/* Until the disk is there a loss is the end. */
		.reconnect_ms = 0,
	};

	memcpy(config.engine.expect_uuid, o->uuid, KFB_UUID_BYTES);
	return kfb_client_init(&dev->client, &config, dev->tx);
}

int kfbk_session_init(struct kfbk_device *dev)
{
	u32 n = dev->options.queues;
	u32 i;
	int ret;

	INIT_WORK(&dev->session_work, session_work);
	INIT_DELAYED_WORK(&dev->wake_work, wake_work);
	INIT_WORK(&dev->map_work, kfbk_map_work);
	INIT_WORK(&dev->restore_work, kfbk_restore);
	init_completion(&dev->first);
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
	return ret ?: init_client(dev);
}

int kfbk_session_start(struct kfbk_device *dev)
{
	int ret;

	kfbk_lock(dev);
	ret = kfb_client_start(&dev->client);
	kfbk_unlock(dev);
	if (ret)
		return ret;
	kfbk_kick(dev);
	if (wait_for_completion_killable(&dev->first))
		return -EINTR;
	kfbk_lock(dev);
	ret = dev->is_over ? kfb_client_error(&dev->client) ?: -ECONNRESET : 0;
	kfbk_unlock(dev);
	return ret;
}

/*
 * Goodbye: else what this session has stays until its lease ends, also what it
 * has only just begun to map.
 */
static void say_goodbye(struct kfbk_device *dev)
{
	struct kfbk_call end = {
		.req = { .op = KFB_OP_PING, .u.ping.flags = KFB_PING_END },
		.in_mapping = true,
	};
	bool can;

	kfbk_lock(dev);
	/* What comes after it is the end, and no loss to come back from. */
	dev->client.config.reconnect_ms = 0;
	dev->options.timeout_ms = min(dev->options.timeout_ms, 1000U);
	can = kfb_client_can_call(&dev->client, 0);
	kfbk_unlock(dev);
	if (can)
		kfbk_call(dev, &end);
}

void kfbk_give_up(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	dev->gives_up = true;
	kfbk_unlock(dev);
	kfbk_kick(dev);
}

void kfbk_session_leave(struct kfbk_device *dev)
{
	say_goodbye(dev);
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
