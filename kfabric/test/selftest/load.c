// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a load: threads that keep a provider and the core busy while
 * connections come and go beside them.
 *
 *   traffic    writes, a message, a read-back, compared, on a pair of its own
 *   regions    registers, has the region written to, closes, on another pair
 *   providers  registers a provider, opens its objects, closes, deregisters
 *
 * Locking: a worker's rounds, err and ended are its thread's to write; the
 * others read them, and wait for changes on st_load.wait.
 * Lifetime: the main thread opens everything before a thread starts and closes
 * it when all have ended. They end after a whole round: kthread_stop() counts
 * as a signal and would break off what a round waits for.
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "st.h"

#define WORKERS	    3
#define TRAFFIC_LEN 32768
#define PARTS	    4 /* writes that are under way at once */
#define REGION_LEN  64

struct worker {
	const char *what;
	int (*round)(struct worker *w);
	struct st_load *load;
	struct task_struct *task;
	unsigned int rounds;
	int err;
	bool ended;
	struct st_pair pair;
	struct fid_mr *mr;
	struct st_op *op[PARTS + 2];
	u8 *local;
	u8 *remote;
};

struct st_load {
	struct st *st;
	wait_queue_head_t wait;
	bool ending;
	struct worker worker[WORKERS];
};

/* ---- what the threads do ---------------------------------------------- */

static int st_load_write_parts(struct worker *w)
{
	const size_t len = TRAFFIC_LEN / PARTS;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < PARTS && !ret; i++) {
		st_op_reset(w->op[i]);
		ret = fi_write(w->pair.a, w->local + i * len, len, NULL, 0,
			       st_mr_addr(w->mr, i * len), fi_mr_key(w->mr),
			       &w->op[i]->ctx);
	}
	return ret;
}

/* A message behind the writes, which it must not overtake. */
static int st_load_send_behind(struct worker *w, u8 seed)
{
	struct st_op *tx = w->op[PARTS], *rx = w->op[PARTS + 1];
	u8 *told = w->remote + TRAFFIC_LEN;
	int ret;

	ret = fi_send(w->pair.a, w->local, 1, NULL, 0, &tx->ctx);
	ret = st_op_result(w->pair.bcq, rx, ret);
	ret = ret ?: st_op_result(w->pair.acq, tx, 0);
	if (ret)
		return ret;
	return *told == w->local[0] && st_holds(w->remote, TRAFFIC_LEN, seed)
		       ? 0
		       : -EBADMSG;
}

static int st_load_read_back(struct worker *w, u8 seed)
{
	ssize_t ret;

	memset(w->local, 0, TRAFFIC_LEN);
	st_op_reset(w->op[0]);
	ret = fi_read(w->pair.a, w->local, TRAFFIC_LEN, NULL, 0,
		      st_mr_addr(w->mr, 0), fi_mr_key(w->mr), &w->op[0]->ctx);
	ret = st_op_result(w->pair.acq, w->op[0], ret);
	if (ret)
		return ret;
	return st_holds(w->local, TRAFFIC_LEN, seed) ? 0 : -EBADMSG;
}

static int st_load_pass_traffic(struct worker *w)
{
	struct st_op *tx = w->op[PARTS], *rx = w->op[PARTS + 1];
	u8 seed = w->rounds;
	int i, ret;

	st_fill(w->local, TRAFFIC_LEN, seed);
	st_op_reset(tx);
	st_op_reset(rx);
	ret = fi_recv(w->pair.b, w->remote + TRAFFIC_LEN, 1, NULL, 0, &rx->ctx);
	ret = ret ?: st_load_write_parts(w);
	ret = ret ?: st_load_send_behind(w, seed);
	for (i = 0; i < PARTS && !ret; i++)
		ret = st_op_result(w->pair.acq, w->op[i], 0);
	return ret ?: st_load_read_back(w, seed);
}

/* Its keys are its own: nobody else registers while the load is there. */
static int st_load_renew_region(struct worker *w)
{
	struct fi_buf buf = fi_buf_linear(w->remote, REGION_LEN);
	struct fid_mr *mr;
	int closed;
	ssize_t ret;

	w->local[0] = w->rounds + 1;
	w->remote[0] = 0;
	ret = st_mr_open(&w->pair, &buf, FI_REMOTE_WRITE, &mr);
	if (ret)
		return ret;
	st_op_reset(w->op[0]);
	ret = fi_write(w->pair.a, w->local, 1, NULL, 0, st_mr_addr(mr, 0),
		       fi_mr_key(mr), &w->op[0]->ctx);
	ret = st_op_result(w->pair.acq, w->op[0], ret);
	closed = fi_close(&mr->fid);
	ret = ret ?: closed;
	if (ret)
		return ret;
	return w->remote[0] == w->local[0] ? 0 : -EBADMSG;
}

static int st_load_renew_provider(struct worker *w)
{
	return st_dummy_round();
}

static int st_load_work(void *arg)
{
	struct worker *w = arg;
	int ret = 0;

	while (!READ_ONCE(w->load->ending) && !ret) {
		ret = w->round(w);
		WRITE_ONCE(w->err, ret);
		if (!ret)
			WRITE_ONCE(w->rounds, w->rounds + 1);
		wake_up(&w->load->wait);
		cond_resched();
	}
	WRITE_ONCE(w->ended, true);
	wake_up(&w->load->wait);
	/* The task must be there for kthread_stop(). */
	wait_event(w->load->wait, kthread_should_stop());
	return 0;
}

/* ---- start ------------------------------------------------------------ */

static int st_load_open_connected(struct worker *w, struct st *st)
{
	struct fi_buf buf;
	int i, ret;

	w->local = kzalloc(TRAFFIC_LEN, GFP_KERNEL);
	w->remote = kzalloc(TRAFFIC_LEN + REGION_LEN, GFP_KERNEL);
	if (!w->local || !w->remote)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(w->op); i++) {
		w->op[i] = st_op_new(st);
		if (!w->op[i])
			return -ENOMEM;
	}
	ret = st_pair_open(&w->pair, st, NULL);
	if (ret || w->round != st_load_pass_traffic)
		return ret;
	buf = fi_buf_linear(w->remote, TRAFFIC_LEN);
	return st_mr_open(&w->pair, &buf, FI_REMOTE_READ | FI_REMOTE_WRITE,
			  &w->mr);
}

static int st_load_start_worker(struct worker *w)
{
	struct task_struct *task =
		kthread_run(st_load_work, w, "kfi-%s", w->what);

	if (IS_ERR(task))
		return PTR_ERR(task);
	w->task = task;
	return 0;
}

/* Let all end their rounds. */
static void st_load_end_work(struct st_load *load)
{
	struct worker *w;

	WRITE_ONCE(load->ending, true);
	for (w = load->worker; w < load->worker + WORKERS; w++) {
		if (!w->task)
			continue;
		wait_event(load->wait, READ_ONCE(w->ended));
		kthread_stop(w->task);
		w->task = NULL;
	}
}

static void st_load_tear_down(struct worker *w)
{
	int i;

	if (w->mr)
		fi_close(&w->mr->fid);
	st_pair_close(&w->pair);
	for (i = 0; i < ARRAY_SIZE(w->op); i++)
		kfree(w->op[i]);
	kfree(w->local);
	kfree(w->remote);
}

static void st_load_free(struct st_load *load)
{
	int i;

	st_load_end_work(load);
	for (i = 0; i < WORKERS; i++)
		st_load_tear_down(&load->worker[i]);
	kfree(load);
}

static struct st_load *st_load_new(struct st *st)
{
	static const struct worker kinds[WORKERS] = {
		{ .what = "traffic", .round = st_load_pass_traffic },
		{ .what = "regions", .round = st_load_renew_region },
		{ .what = "providers", .round = st_load_renew_provider },
	};
	struct st_load *load = kzalloc(sizeof(*load), GFP_KERNEL);
	int i;

	if (!load)
		return NULL;
	load->st = st;
	init_waitqueue_head(&load->wait);
	for (i = 0; i < WORKERS; i++) {
		load->worker[i] = kinds[i];
		load->worker[i].load = load;
	}
	return load;
}

struct st_load *st_load_start(struct st *st)
{
	struct st_load *load = st_load_new(st);
	int i, ret = 0;

	if (!load)
		return NULL;
	for (i = 0; i < WORKERS && !ret; i++)
		if (load->worker[i].round != st_load_renew_provider)
			ret = st_load_open_connected(&load->worker[i], st);
	for (i = 0; i < WORKERS && !ret; i++)
		ret = st_load_start_worker(&load->worker[i]);
	if (ret) {
		st_tap_line("    # the load: error %d", ret);
		st_load_free(load);
		return NULL;
	}
	return load;
}

/* ---- while it runs, and its end --------------------------------------- */

static bool st_load_gets_to(struct worker *w, unsigned int rounds)
{
	struct st_load *load = w->load;

	wait_event_timeout(load->wait,
			   READ_ONCE(w->err) || READ_ONCE(w->rounds) >= rounds,
			   msecs_to_jiffies(ST_WAIT_MS));
	return !READ_ONCE(w->err) && READ_ONCE(w->rounds) >= rounds;
}

/* Does every worker finish another round? */
bool st_load_goes_on(struct st_load *load)
{
	struct worker *w;

	for (w = load->worker; w < load->worker + WORKERS; w++)
		if (!st_load_gets_to(w, READ_ONCE(w->rounds) + 1)) {
			st_tap_line("    # %s stopped after %u: error %d",
				    w->what, w->rounds, w->err);
			return false;
		}
	return true;
}

/* Stop when each has done that many rounds, or does not get on. */
void st_load_stop(struct st_load *load, unsigned int rounds)
{
	struct st *st = load->st;
	struct worker *w;

	for (w = load->worker; w < load->worker + WORKERS; w++)
		while (READ_ONCE(w->rounds) < rounds &&
		       st_load_gets_to(w, READ_ONCE(w->rounds) + 1))
			;
	st_load_end_work(load);
	for (w = load->worker; w < load->worker + WORKERS; w++)
		CHECKF(st, w->rounds >= rounds && !w->err,
		       "%s went on beside them: %u rounds, error %d", w->what,
		       w->rounds, w->err);
	st_load_free(load);
}
