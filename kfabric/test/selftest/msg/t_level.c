// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: completion levels: each that a provider has means the same over all of
 * them, an operation has one completion whatever it is made of, and gives back all
 * of the queue that it took.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define OPS	    64 /* more than a short queue holds */
#define SMALL_QUEUE 16
#define BEHIND	    8 /* operations, of which the first fails */
#define REGION	    (128 * 1024)
#define AT	    4096 /* of the region in its arena */
#define ALONE_MS    500
#define TIMED	    5 /* rounds of what counts on time, at most */

struct level_test {
	struct st *st;
	struct st_pair p;
	struct st_op *tx[OPS], *rx[OPS];
	struct st_seg *local, *remote;
	struct fid_mr *mr;
};

static bool st_level_open(struct level_test *l, struct st *st,
			  const struct st_opts *opts, u64 access)
{
	bool ok = true;
	struct fi_buf buf;
	int i, ret;

	*l = (struct level_test){ .st = st,
				  .local = st_seg_new(),
				  .remote = st_seg_new() };
	for (i = 0; i < OPS; i++) {
		l->tx[i] = st_op_new(st);
		l->rx[i] = st_op_new(st);
		ok &= l->tx[i] && l->rx[i];
	}
	ret = st_pair_open(&l->p, st, opts);
	if (!CHECK(st, ok && l->local && l->remote, "there is memory") ||
	    !CHECK_EQ(st, ret, 0, "a pair connects for levels"))
		return false;
	buf = fi_buf_linear(l->remote->arena + AT, REGION);
	ret = st_mr_open(&l->p, &buf, access, &l->mr);
	if (ret == -EOPNOTSUPP && access == FI_REMOTE_WRITE) {
		st_tap_line("    # a region that is only written is refused");
		return false;
	}
	return CHECK_EQ(st, ret, 0, "a region opens for levels");
}

static void st_level_close(struct level_test *l)
{
	int i;

	if (l->mr)
		fi_close(&l->mr->fid);
	st_pair_close(&l->p);
	for (i = 0; i < OPS; i++) {
		kfree(l->tx[i]);
		kfree(l->rx[i]);
	}
	st_seg_free(l->local);
	st_seg_free(l->remote);
}

static ssize_t st_level_write(struct level_test *l, int i, size_t len,
			      u64 flags, u64 key_change)
{
	struct fi_rma_iov iov = { .addr = st_mr_addr(l->mr, 3),
				  .len = len,
				  .key = fi_mr_key(l->mr) ^ key_change };
	struct fi_msg_rma m = { .buf = fi_buf_linear(l->local->arena, len),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &l->tx[i]->ctx,
				.data = 0x1e5e1 };

	st_op_reset(l->tx[i]);
	return fi_writemsg(l->p.a, &m, flags);
}

static ssize_t st_level_send(struct level_test *l, int i, size_t len, u64 flags)
{
	struct fi_msg m = { .buf = fi_buf_linear(l->local->arena, len),
			    .context = &l->tx[i]->ctx };

	st_op_reset(l->tx[i]);
	return fi_sendmsg(l->p.a, &m, flags);
}

static ssize_t st_level_recv(struct level_test *l, int i, size_t len)
{
	st_op_reset(l->rx[i]);
	return fi_recv(l->p.b, l->remote->arena + AT, len, NULL, 0,
		       &l->rx[i]->ctx);
}

static int st_level_end(struct level_test *l, int i, ssize_t posted)
{
	return st_op_result(l->p.acq, l->tx[i], posted);
}

/* When it is told the bytes are there, and no others. */
static bool st_level_wrote(struct level_test *l, size_t len, u64 flags)
{
	u8 *to = l->remote->arena + AT + 3;
	u8 *end = l->remote->arena + ST_ARENA_LEN;

	memset(l->remote->arena, 0xee, ST_ARENA_LEN);
	st_fill(l->local->arena, len, len + 1);
	return !st_level_end(l, 0, st_level_write(l, 0, len, flags, 0)) &&
	       st_holds(to, len, len + 1) &&
	       st_clean(l->remote->arena, AT + 3) &&
	       st_clean(to + len, end - to - len);
}

static bool st_level_sent(struct level_test *l, size_t len, u64 flags)
{
	ssize_t ret = st_level_recv(l, 0, len);

	memset(l->remote->arena, 0xee, ST_ARENA_LEN);
	st_fill(l->local->arena, len, len + 2);
	ret = ret ?: st_level_send(l, 0, len, flags);
	return !st_level_end(l, 0, ret) &&
	       st_holds(l->remote->arena + AT, len, len + 2) &&
	       !st_op_result(l->p.bcq, l->rx[0], 0) &&
	       l->rx[0]->entry.len == len;
}

static bool st_level_told(struct level_test *l, u64 flags)
{
	ssize_t ret = st_level_recv(l, 0, 8);

	ret = ret ?: st_level_write(l, 0, 100, flags | FI_REMOTE_CQ_DATA, 0);
	return !st_level_end(l, 0, ret) &&
	       !st_op_result(l->p.bcq, l->rx[0], 0) &&
	       l->rx[0]->entry.data == 0x1e5e1;
}

static noinline_for_stack void st_level_each(struct level_test *l, u64 level,
					     const char *name)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 4096, 65537, 100000 };
	struct st *st = l->st;
	size_t i;

	if (!(l->p.a->comp_levels & level)) {
		CHECKF(st,
		       st_level_write(l, 0, 8, level, 0) == -EOPNOTSUPP &&
			       st_level_send(l, 0, 8, level) == -EOPNOTSUPP,
		       "%s is not there, and is refused", name);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECKF(st, st_level_wrote(l, sizes[i], level),
		       "%zu bytes are written when they are told with %s",
		       sizes[i], name);
		CHECKF(st,
		       !st_tells_of_peer(st) && level == FI_INJECT_COMPLETE
			       ? true
			       : st_level_sent(l, sizes[i], level),
		       "%zu bytes are sent when they are told with %s",
		       sizes[i], name);
	}
	CHECKF(st, st_level_wrote(l, 9, level | FI_INJECT),
	       "so are injected ones with %s", name);
	CHECKF(st, st_level_wrote(l, 9, level | FI_FENCE),
	       "and those behind a fence with %s", name);
	if (st->info->domain_attr->cq_data_size)
		CHECKF(st, st_level_told(l, level),
		       "a write with %s tells the peer", name);
	CHECKF(st, !st_cq_drain(l->p.acq, ST_QUIET_MS),
	       "nothing completes twice with %s", name);
}

/* Is the one there that the other tests are about? The peer may not allow it. */
static bool st_level_ladder(struct st *st)
{
	bool delivers = false;
	struct level_test l;

	if (st_level_open(&l, st, NULL, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		/* On iWARP the first says nothing of the peer. */
		if (st_tells_of_peer(st))
			st_level_each(&l, FI_INJECT_COMPLETE,
				      "FI_INJECT_COMPLETE");
		st_level_each(&l, FI_TRANSMIT_COMPLETE, "FI_TRANSMIT_COMPLETE");
		st_level_each(&l, FI_DELIVERY_COMPLETE, "FI_DELIVERY_COMPLETE");
		CHECK_EQ(st, st_level_send(&l, 0, 8, FI_COMMIT_COMPLETE),
			 -EOPNOTSUPP,
			 "a message is not made persistent, and says so");
		delivers = l.p.a->comp_levels & FI_DELIVERY_COMPLETE;
	}
	st_level_close(&l);
	return delivers;
}

/* ---- the queue ---------------------------------------------------------------- */

/* Sends that nobody receives yet, until the queue is full: how many it takes. */
static unsigned int st_level_fill(struct level_test *l, u64 even, u64 odd)
{
	ssize_t ret = 0;
	unsigned int i, n, ok = 0;

	for (n = 0; n < OPS; n++) {
		ret = st_level_send(l, n, 1, n % 2 ? odd : even);
		if (ret)
			break;
	}
	if (ret && ret != -FI_EAGAIN)
		return 0;
	for (i = 0; i < n; i++)
		if (st_level_recv(l, i, 1) || st_level_end(l, i, 0) ||
		    st_op_result(l->p.bcq, l->rx[i], 0))
			break;
	for (i = 0; i < n; i++)
		ok += l->tx[i]->count == 1 && !l->tx[i]->entry.err;
	return ok == n ? n : 0;
}

/* Over verbs what is delivered is two work requests, also below a layer. */
static bool st_level_is_verbs(const struct st *st)
{
	u32 protocol = st->info->ep_attr->protocol;

	return protocol == FI_PROTO_RDMA_CM_IB_RC || protocol == FI_PROTO_IWARP;
}

static noinline_for_stack void st_level_queue(struct st *st)
{
	struct st_opts opts = { .tx_size = SMALL_QUEUE };
	unsigned int plain, delivered, mixed;
	struct level_test l;

	if (st_level_open(&l, st, &opts, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		plain = st_level_fill(&l, 0, 0);
		CHECK(st, plain >= SMALL_QUEUE,
		      "a queue is full of sends, and empties");
		delivered = st_level_fill(&l, FI_DELIVERY_COMPLETE,
					  FI_DELIVERY_COMPLETE);
		if (!strcmp(st->provider, "verbs"))
			CHECK_EQ(st, delivered, plain / 2,
				 "it takes half as many that are delivered");
		else
			CHECK_EQ(st, delivered, plain,
				 "it takes as many that are delivered");
		mixed = st_level_fill(&l, FI_DELIVERY_COMPLETE, 0);
		CHECK(st, mixed >= delivered && mixed <= plain,
		      "or some of both");
		CHECK_EQ(st, st_level_fill(&l, 0, 0), plain,
			 "it has all its room again");
		CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
			 "nothing completes twice");
	}
	st_level_close(&l);
}

/* The smallest of all queues. */
static noinline_for_stack void st_level_one(struct st *st)
{
	struct st_opts opts = { .tx_size = 1 };
	struct level_test l;
	int i, ok = 0;

	if (st_level_open(&l, st, &opts, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		for (i = 0; i < 20; i++)
			ok += st_level_wrote(&l, i + 1, FI_DELIVERY_COMPLETE);
		CHECK_EQ(
			st, ok, 20,
			"a queue of one takes one write that is delivered after another");
	}
	st_level_close(&l);
}

static ssize_t st_level_write_soon(struct level_test *l, int i, u64 flags)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	ssize_t ret;

	while ((ret = st_level_write(l, i, 64, flags, 0)) == -FI_EAGAIN &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return ret;
}

/* Nobody asks for their completions; that of the last gives their memory back. */
static noinline_for_stack void st_level_quiet(struct st *st)
{
	struct st_opts opts = { .tx_size = SMALL_QUEUE,
				.tx_bind = FI_SELECTIVE_COMPLETION };
	struct level_test l;
	int i, quiet = 0;
	ssize_t ret = 0;

	if (st_level_open(&l, st, &opts, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		for (i = 0; i < OPS - 1 && !ret; i++)
			ret = st_level_write_soon(
				&l, i, i % 3 ? FI_DELIVERY_COMPLETE : 0);
		ret = ret
			      ?: st_level_write_soon(&l, OPS - 1,
						     FI_DELIVERY_COMPLETE |
							     FI_COMPLETION);
		CHECK_EQ(st, st_level_end(&l, OPS - 1, ret), 0,
			 "a write behind many quiet ones is delivered");
		for (i = 0; i < OPS - 1; i++)
			quiet += !l.tx[i]->count;
		CHECK_EQ(st, quiet, OPS - 1, "and is all that is told");
	}
	st_level_close(&l);
}

/* What a round has come to: all are 0 where it was as it must be. */
struct level_round {
	int arrives, event, sent, received, arrives_too, told;
};

static bool st_level_is_good(const struct level_round *r)
{
	return !r->arrives && !r->event && !r->sent && !r->received &&
	       !r->arrives_too && !r->told;
}

/*
 * Until a round of @once is good. A machine that stands still for the whole time-out ends
 * a good connection in it; what ends one too early does so in each round.
 */
static noinline_for_stack void
st_level_in_time(struct st *st, u32 timeout_ms, struct level_round *r,
		 void (*once)(struct level_test *l, struct level_round *r))
{
	struct st_opts opts = { .tx_bind = FI_SELECTIVE_COMPLETION,
				.op_timeout_ms = timeout_ms };
	struct level_test l;
	int i;

	for (i = 0; i < TIMED; i++) {
		*r = (struct level_round){ .arrives = -ENOTCONN };
		if (st_level_open(&l, st, &opts,
				  FI_REMOTE_READ | FI_REMOTE_WRITE))
			once(&l, r);
		st_level_close(&l);
		if (st_level_is_good(r))
			break;
		st_tap_line("    # it was not as it must be: once more");
	}
}

static void st_level_alone_once(struct level_test *l, struct level_round *r)
{
	struct st_event ev;
	ssize_t ret = st_level_recv(l, 0, 8);

	ret = ret ?: st_level_recv(l, 1, 8);
	ret = ret ?: fi_inject(l->p.a, l->local->arena, 8, FI_ADDR_UNSPEC);
	r->arrives = st_op_result(l->p.bcq, l->rx[0], ret);
	ret = st_event_wait(l->p.eq, &ev, 4 * ALONE_MS);
	r->event = ret == -FI_EAGAIN ? 0 : ret ?: 1;
	r->sent = st_op_result(l->p.acq, l->tx[1],
			       st_level_send(l, 1, 8, FI_COMPLETION));
	r->arrives_too = st_op_result(l->p.bcq, l->rx[1], 0);
}

/*
 * One that nobody asks for, and nothing behind it: it is done, so that its time may pass.
 * The device below may not tell of it.
 */
static noinline_for_stack void st_level_alone(struct st *st)
{
	struct level_round r;

	st_level_in_time(st, ALONE_MS, &r, st_level_alone_once);
	CHECK_EQ(st, r.arrives, 0, "a quiet message arrives");
	CHECK_EQ(st, r.event, 0, "the connection outlives its time");
	CHECK_EQ(st, r.sent, 0, "another message is sent");
	CHECK_EQ(st, r.arrives_too, 0, "and arrives");
}

static void st_level_behind_once(struct level_test *l, struct level_round *r)
{
	ssize_t ret = st_level_recv(l, 0, 8);

	ret = ret ?: fi_inject(l->p.a, l->local->arena, 8, FI_ADDR_UNSPEC);
	r->arrives = st_op_result(l->p.bcq, l->rx[0], ret);
	msleep(3 * ALONE_MS);
	r->sent = st_level_send(l, 1, 8, FI_COMPLETION);
	msleep(2 * ALONE_MS);
	r->received = st_level_recv(l, 1, 8);
	r->arrives_too = st_op_result(l->p.bcq, l->rx[1], r->received);
	r->told = st_op_result(l->p.acq, l->tx[1], r->sent);
}

/*
 * A quiet one that is done, and one behind it whose own time is not over when that of the
 * first one is. Who receives comes after that.
 */
static noinline_for_stack void st_level_behind(struct st *st)
{
	struct level_round r;

	st_level_in_time(st, 4 * ALONE_MS, &r, st_level_behind_once);
	CHECK_EQ(st, r.arrives, 0, "a quiet message arrives");
	CHECK_EQ(st, r.sent, 0, "one is sent that nobody receives yet");
	CHECK_EQ(st, r.received, 0,
		 "it is received when the time of the first is over");
	CHECK_EQ(st, r.arrives_too, 0, "it arrives");
	CHECK_EQ(st, r.told, 0, "and is told as sent");
}

/* What is told gives its memory back at once. */
struct level_free {
	struct completion told;
	int err;
};

static void st_level_free(struct fid_cq *cq,
			  const struct fi_cq_err_entry *entry, void *context)
{
	struct level_free *f = context;

	f->err = entry->err;
	kfree(st_op_of(entry->op_context));
	complete(&f->told);
}

/* A quiet one that the peer does not receive in time. */
static noinline_for_stack void st_level_late(struct st *st)
{
	struct level_free f = { .told = COMPLETION_INITIALIZER_ONSTACK(
					f.told) };
	struct fi_cq_attr cq = { .comp_handler = st_level_free };
	struct st_opts opts = { .tx_bind = FI_SELECTIVE_COMPLETION,
				.op_timeout_ms = ALONE_MS,
				.cq_attr = &cq,
				.cq_context = &f };
	struct st_op *op = st_op_new(st);
	u8 *mem = kzalloc(8, GFP_KERNEL);
	struct st_pair p = { .st = st };
	bool told;
	int ret;

	if (CHECK(st, op && mem && !st_pair_open(&p, st, &opts),
		  "a pair connects whose memory is freed when it is told")) {
		ret = fi_send(p.a, mem, 8, NULL, FI_ADDR_UNSPEC, &op->ctx);
		if (!ret)
			op = NULL;
		told = !ret && wait_for_completion_timeout(
				       &f.told, msecs_to_jiffies(ST_WAIT_MS));
		CHECKF(st, told && (f.err == ETIMEDOUT || f.err == ENOBUFS),
		       "a quiet message that is not received is told (got %d)",
		       f.err);
		msleep(ST_QUIET_MS);
	}
	st_pair_close(&p);
	kfree(op);
	kfree(mem);
}

/* ---- failures ----------------------------------------------------------------- */

static noinline_for_stack void st_level_wrong_key(struct st *st)
{
	struct level_test l;
	int i, first, ended = 0, once = 0;
	ssize_t posted[BEHIND];

	if (st_level_open(&l, st, NULL, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		memset(l.remote->arena, 0xee, ST_ARENA_LEN);
		/* Each part of each of them ends with the first one's. */
		for (i = 0; i < BEHIND; i++)
			posted[i] = st_level_write(
				&l, i, 64,
				FI_DELIVERY_COMPLETE |
					(i < BEHIND - 1 ? FI_MORE : 0),
				i ? 0 : 0x5a00);
		first = st_level_end(&l, 0, posted[0]);
		for (i = 1; i < BEHIND; i++)
			ended += st_level_end(&l, i, posted[i]) == ECANCELED;
		CHECKF(st,
		       st_tells_of_peer(st) && st_tells_why(st)
			       ? first == EACCES
			       : first == EACCES || first == ECANCELED,
		       "a write with a wrong key is not delivered (got %d)",
		       first);
		CHECK_EQ(st, ended, BEHIND - 1, "nor are those behind it");
		CHECK(st, st_clean(l.remote->arena, ST_ARENA_LEN),
		      "nothing is moved");
		st_cq_drain(l.p.acq, ST_QUIET_MS);
		for (i = 0; i < BEHIND; i++)
			once += l.tx[i]->count == 1;
		CHECK_EQ(st, once, BEHIND, "each of them is told once");
	}
	st_level_close(&l);
}

/*
 * Where the level is what a READ says, the peer has to allow it. So this shows that
 * there is one.
 */
static noinline_for_stack void st_level_write_only(struct st *st)
{
	struct level_test l;
	int ret;

	if (st_level_open(&l, st, NULL, FI_REMOTE_WRITE)) {
		CHECK_EQ(st,
			 st_level_end(&l, 0, st_level_write(&l, 0, 64, 0, 0)),
			 0, "a region that is only written is written to");
		ret = st_level_end(&l, 0,
				   st_level_write(&l, 0, 64,
						  FI_DELIVERY_COMPLETE, 0));
		CHECK_EQ(st, ret, st_level_is_verbs(st) ? EACCES : 0,
			 "a write to it is delivered if nothing reads it back");
		CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
			 "it is told once");
	}
	st_level_close(&l);
}

static noinline_for_stack void st_level_no_receive(struct st *st)
{
	struct st_opts opts = { .op_timeout_ms = 300 };
	struct level_test l;
	int ret;

	if (st_level_open(&l, st, &opts, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		ret = st_level_end(
			&l, 0, st_level_send(&l, 0, 1, FI_DELIVERY_COMPLETE));
		CHECKF(st,
		       ret == ENOBUFS || ret == ETIMEDOUT ||
			       (!st_tells_of_peer(st) && ret == ECANCELED),
		       "a message that nobody receives is not delivered (got %d)",
		       ret);
		CHECK_EQ(st, st_cq_drain(l.p.acq, ST_QUIET_MS), 0,
			 "it is told once");
	}
	st_level_close(&l);
}

/* Either side closes while they are under way. */
static noinline_for_stack void st_level_closing(struct st *st, bool own)
{
	struct level_test l;
	struct fid_ep **ep = own ? &l.p.a : &l.p.b;
	int i, n, once = 0;

	if (st_level_open(&l, st, NULL, FI_REMOTE_READ | FI_REMOTE_WRITE)) {
		for (n = 0; n < OPS; n++)
			if (st_level_write(&l, n, 65536, FI_DELIVERY_COMPLETE,
					   0))
				break;
		CHECK(st, n >= 8, "writes are under way");
		fi_close(&l.mr->fid);
		l.mr = NULL;
		CHECK_EQ(st, fi_close(&(*ep)->fid), 0,
			 own ? "their endpoint closes"
			     : "the peer's endpoint closes");
		*ep = NULL;
		for (i = 0; i < n; i++)
			st_op_wait(l.p.acq, l.tx[i]);
		st_cq_drain(l.p.acq, ST_QUIET_MS);
		for (i = 0; i < n; i++)
			once += l.tx[i]->count == 1;
		CHECK_EQ(st, once, n, "each completes exactly once");
	}
	st_level_close(&l);
}

void st_test_level(struct st *st)
{
	if (!st_level_ladder(st))
		return;
	/* Elsewhere nothing waits for the peer's receives. */
	if (st_tells_of_peer(st))
		st_level_queue(st);
	st_level_one(st);
	st_level_quiet(st);
	st_level_alone(st);
	if (st_tells_of_peer(st)) {
		st_level_behind(st);
		st_level_late(st);
	}
	st_level_wrong_key(st);
	st_level_write_only(st);
	st_level_no_receive(st);
	st_level_closing(st, false);
	st_level_closing(st, true);
}
