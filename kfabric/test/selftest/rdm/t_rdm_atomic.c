// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: atomic operations by unconnected endpoints: of several at once, with writes
 * and reads between them, when connections end, and with peers that keep no rules.
 */
#include <linux/in6.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define ALL_ACCESS (FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC)
#define KEY	   0x5eeda70011ULL
#define WORKERS	   3
#define PER_WORKER 200
#define ROUNDS	   50
#define DEATHS	   10
#define TRIES	   50 /* so many times as often, until of some it is not known */
#define AT_DEATH   16 /* operations while the peer dies */
#define AT_LOSS	   4 /* and at most at one time while connections break */
#define HEADER	   32 /* bytes of a piece before what it has */
#define K_MESSAGE  4
#define K_ATOMIC   13
#define F_ATOMIC   (2 | 64) /* of a hello */
#define F_MEMORY   2

/* a does atomic operations on memory of b. */
struct rdm_atomic {
	struct st_atomic t;
	struct st_duo d;
	struct st_rogue x; /* of the provider below */
	struct st inner; /* whose operations are its */
	struct st_op *op; /* one of inner */
	u8 serial; /* of the last hello */
};

static int st_rdm_region(struct rdm_atomic *m, size_t at, u64 access)
{
	if (m->t.mr)
		fi_close(&m->t.mr->fid);
	m->t.mr = NULL;
	memset(m->t.memory, 0, ST_ATOMIC_AT + 2 * ST_ATOMIC_REGION);
	m->t.key = KEY;
	return fi_mr_reg(m->t.st->domain, m->t.memory + at, ST_ATOMIC_REGION,
			 access, 0, KEY, 0, &m->t.mr, NULL);
}

static u64 *st_rdm_word(struct rdm_atomic *m)
{
	return (u64 *)(m->t.memory + ST_ATOMIC_AT);
}

static bool st_rdm_atomic_open(struct rdm_atomic *m, struct st *st)
{
	int ret;

	m->t.st = st;
	m->t.op = st_op_new(st);
	m->t.memory = kzalloc(ST_ATOMIC_AT + 2 * ST_ATOMIC_REGION, GFP_KERNEL);
	if (!CHECK(st, m->t.op && m->t.memory, "there is memory for words") ||
	    !st_duo_open(&m->d, st))
		return false;
	m->t.ep = m->d.a.ep;
	m->t.cq = m->d.a.cq;
	m->t.to = m->d.to_b;
	ret = st_rdm_region(m, ST_ATOMIC_AT, ALL_ACCESS);
	ret = ret ?: st_rogue_open(&m->x, st, st_node_port(&m->d.a));
	m->inner = *st;
	m->inner.info = m->x.info;
	m->op = ret ? NULL : st_op_new(&m->inner);
	return CHECK(st, !ret && m->op, "a region for atomic operations opens");
}

static void st_rdm_atomic_close(struct rdm_atomic *m)
{
	st_rogue_close(&m->x);
	if (m->t.mr)
		fi_close(&m->t.mr->fid);
	st_duo_close(&m->d);
	kfree(m->op);
	kfree(m->t.op);
	kfree(m->t.memory);
}

static int st_rdm_add(struct rdm_atomic *m)
{
	m->t.operand[0] = 1;
	return st_atomic_do(&m->t, FI_UINT64, FI_SUM, FI_FETCH_ATOMIC, 1, 0);
}

/* ---- what is refused ------------------------------------------------------------ */

/* A refusal ends its operation, and nothing else. */
static noinline_for_stack void st_rdm_atomic_refused(struct st *st,
						     struct rdm_atomic *m)
{
	static const struct {
		const char *what;
		size_t at;
		u64 access, key_change;
		s64 offset;
		int why;
	} tries[] = {
		{ "with a key of nothing", 64, ALL_ACCESS, 1, 0, ENOENT },
		{ "without the right", 64, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		  0, EPERM },
		{ "beyond the region", 64, ALL_ACCESS, 0, ST_ATOMIC_REGION,
		  ERANGE },
		{ "far beyond it", 64, ALL_ACCESS, 0, 1LL << 40, ERANGE },
		{ "on memory that lies askew", 68, ALL_ACCESS, 0, 0, EINVAL },
	};
	const size_t len = ST_ATOMIC_AT + 2 * ST_ATOMIC_REGION;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ret = st_rdm_region(m, tries[i].at, tries[i].access);
		CHECKF(st, !ret, "a region opens for one %s", tries[i].what);
		m->t.key ^= tries[i].key_change;
		m->t.operand[0] = 5;
		m->t.result[0] = 0xabcd;
		ret = st_atomic_do(&m->t, FI_UINT64, FI_SUM, FI_FETCH_ATOMIC, 1,
				   tries[i].offset);
		CHECKF(st, ret == FI_EACCES, "one %s is refused (got %d)",
		       tries[i].what, ret);
		CHECK_EQ(st, m->t.op->entry.prov_errno, tries[i].why,
			 "it is told why");
		CHECKF(st,
		       !memchr_inv(m->t.memory, 0, len) &&
			       m->t.result[0] == 0xabcd &&
			       m->t.op->entry.flags == (FI_ATOMIC | FI_READ),
		       "one %s changes nothing", tries[i].what);
	}
	CHECK_EQ(st, st_rdm_region(m, 68, ALL_ACCESS), 0, "a region is askew");
	CHECK_EQ(st, st_atomic_do(&m->t, FI_UINT32, FI_SUM, 0, 16, 0), 0,
		 "short elements lie well there");
	CHECK_EQ(st, st_rdm_region(m, ST_ATOMIC_AT, ALL_ACCESS), 0,
		 "a region opens again");
	CHECK_EQ(st, st_rdm_add(m), 0, "and has what it is asked for");
	CHECK_EQ(st, st_pass(&m->d.r, &m->d.a, &m->d.b, m->d.to_b, 10), 0,
		 "messages arrive as ever");
	CHECK_EQ(st,
		 fi_inject_atomic(m->d.a.ep, m->t.operand, 1, m->d.to_b, 0,
				  KEY + 1, FI_UINT64, FI_SUM),
		 0, "one is injected that will be refused");
	CHECK_EQ(st, st_cq_take(m->d.a.cq, ST_WAIT_MS, NULL), 1, "it is told");
}

/* ---- with others ---------------------------------------------------------------- */

/* Writes and reads go by the device below after a while; all keep their order. */
static noinline_for_stack void st_rdm_atomic_order(struct st *st,
						   struct rdm_atomic *m)
{
	struct st_op **tx = m->d.r.tx;
	u64 *word = (u64 *)m->d.r.src;
	int i, j, n, ok = 0, ret = 0;
	ssize_t posted[3];

	for (i = 0; i < ROUNDS && !ret; i++) {
		word[0] = 1000 * i;
		word[1] = 0;
		m->t.operand[0] = 7;
		for (j = 0; j < 3; j++)
			st_op_reset(tx[j]);
		posted[0] = fi_write(m->d.a.ep, word, 8, NULL, m->d.to_b, 0,
				     KEY, &tx[0]->ctx);
		posted[1] =
			fi_fetch_atomic(m->d.a.ep, m->t.operand, 1, NULL,
					m->t.result, NULL, m->d.to_b, 0, KEY,
					FI_UINT64, FI_SUM, &tx[1]->ctx);
		posted[2] = fi_read(m->d.a.ep, word + 1, 8, NULL, m->d.to_b, 0,
				    KEY, &tx[2]->ctx);
		for (j = 0; j < 3; j++) {
			n = st_op_result(m->d.a.cq, tx[j], posted[j]);
			ret = ret ?: n;
		}
		ok += !ret && m->t.result[0] == word[0] &&
		      word[1] == word[0] + 7;
	}
	CHECK_EQ(st, ok, ROUNDS, "each sees the write before it, and is seen");
}

/* More than may be without answer, with results and without. */
static noinline_for_stack void st_rdm_atomic_many(struct st *st,
						  struct rdm_atomic *m)
{
	u64 *results = (u64 *)m->d.r.dst, one = 1;
	struct st_op **tx = m->d.r.tx;
	int i, ok = 0, ret = 0;

	*st_rdm_word(m) = 0;
	for (i = 0; i < ST_ROOM_OPS; i++) {
		st_op_reset(tx[i]);
		ret = ret
			      ?: i % 3
				 ? fi_atomic(m->d.a.ep, &one, 1, NULL,
					     m->d.to_b, 0, KEY, FI_UINT64,
					     FI_SUM, &tx[i]->ctx)
				 : fi_fetch_atomic(m->d.a.ep, &one, 1, NULL,
						   results + i, NULL, m->d.to_b,
						   0, KEY, FI_UINT64, FI_SUM,
						   &tx[i]->ctx);
	}
	for (i = 0; i < ST_ROOM_OPS; i++)
		ok += !st_op_result(m->d.a.cq, tx[i], ret) &&
		      (i % 3 || results[i] == i);
	CHECK_EQ(st, ok, ST_ROOM_OPS, "many at one time are done in order");
	CHECK(st, *st_rdm_word(m) == ST_ROOM_OPS, "each of them once");
}

struct rdm_adder {
	struct st_node node;
	struct st_op *op;
	struct completion done;
	fi_addr_t to;
	int failed;
};

static int st_rdm_adds(void *arg)
{
	struct rdm_adder *w = arg;
	const u64 one = 1;
	u64 result, last = 0;
	ssize_t ret;
	int i;

	for (i = 0; i < PER_WORKER; i++) {
		st_op_reset(w->op);
		ret = fi_fetch_atomic(w->node.ep, &one, 1, NULL, &result, NULL,
				      w->to, 0, KEY, FI_UINT64, FI_SUM,
				      &w->op->ctx);
		if (st_op_result(w->node.cq, w->op, ret) ||
		    (i && result <= last))
			w->failed++;
		last = result;
	}
	complete(&w->done);
	return 0;
}

/* One counter, of which the owner's CPU is one of those who add to it. */
static noinline_for_stack void st_rdm_atomic_together(struct st *st,
						      struct rdm_atomic *m)
{
	struct rdm_adder *w = kcalloc(WORKERS, sizeof(*w), GFP_KERNEL);
	atomic64_t *word = (atomic64_t *)st_rdm_word(m);
	int i, ret = w ? 0 : -ENOMEM, started = 0, failed = 0;
	s64 own = 0;

	for (i = 0; i < WORKERS && !ret; i++) {
		init_completion(&w[i].done);
		w[i].op = st_op_new(st);
		ret = w[i].op ? st_node_open(&w[i].node, st, 0, 0) : -ENOMEM;
		if (!ret)
			w[i].to = st_node_knows(&w[i].node, &m->d.b);
	}
	if (!CHECK_EQ(st, ret, 0, "workers open"))
		goto close;
	atomic64_set(word, 0);
	for (i = 0; i < WORKERS; i++)
		started += !IS_ERR(
			kthread_run(st_rdm_adds, &w[i], "kfabric-adds"));
	for (i = 0; i < started; i++) {
		while (!wait_for_completion_timeout(&w[i].done, 1)) {
			atomic64_inc(word);
			own++;
		}
		failed += w[i].failed;
	}
	CHECK_EQ(st, started, WORKERS, "workers run");
	CHECK_EQ(st, failed, 0, "each addition is done, one behind the other");
	CHECK_EQ(st, atomic64_read(word), WORKERS * PER_WORKER + own,
		 "nothing that they or the owner added is lost");
close:
	for (i = 0; w && i < WORKERS; i++) {
		st_node_close(&w[i].node);
		kfree(w[i].op);
	}
	kfree(w);
}

/* A context of a scalable endpoint does them, and names none of the peer. */
static noinline_for_stack void st_rdm_atomic_scalable(struct st *st,
						      struct rdm_atomic *m)
{
	struct st_op *op = m->d.r.tx[0];
	fi_addr_t to_b = FI_ADDR_UNSPEC;
	u64 one = 1, result;
	int i, ok = 0, ret;
	struct st_sep s;

	if (!CHECK_EQ(st, st_sep_open(&s, st), 0, "a scalable endpoint opens"))
		goto out;
	fi_av_insert(s.av, &m->d.b.name, 1, &to_b, 0, NULL);
	*st_rdm_word(m) = 0;
	for (i = 0; i < ST_CTXS; i++) {
		st_op_reset(op);
		ret = fi_fetch_atomic(s.tx[i], &one, 1, NULL, &result, NULL,
				      fi_rx_addr(to_b, i, ST_CTX_BITS), 0, KEY,
				      FI_UINT64, FI_SUM, &op->ctx);
		ok += !st_op_result(s.tx_cq[i], op, ret) && result == i;
	}
	CHECK_EQ(st, ok, ST_CTXS, "each context adds");
	st_op_reset(op);
	CHECK_EQ(st,
		 fi_atomic(s.rx[0], &one, 1, NULL, to_b, 0, KEY, FI_UINT64,
			   FI_SUM, &op->ctx),
		 -ENOSYS, "one that receives does not");
out:
	st_sep_close(&s);
}

/* ---- when connections end ------------------------------------------------------- */

/* What became of those that were posted. */
struct rdm_fates {
	int done;
	int unknown;
	int undone;
	int other;
};

static void st_rdm_fate(struct rdm_fates *f, const struct st_op *op, int ret)
{
	if (!ret)
		f->done++;
	else if (ret == FI_ECONNRESET ||
		 (ret == EHOSTUNREACH && op->entry.prov_errno > 0))
		f->unknown++;
	else if (ret == EHOSTUNREACH || ret == FI_ENOBUFS)
		f->undone++;
	else
		f->other = ret;
}

/* As often as that, and more often while all is known. */
static bool st_rdm_goes_on(const struct rdm_fates *f, int i, int times)
{
	return i < times || (!f->unknown && i < TRIES * times);
}

/* What the peer has executed is what was told, and some of what is not known. */
static void st_rdm_fates(struct st *st, const struct rdm_fates *f, u64 value)
{
	CHECK_EQ(st, f->other, 0, "each ends as done, or says what is known");
	st_tap_line("    # %d done, %d unknown, %d not done, and %llu were",
		    f->done, f->unknown, f->undone, value);
	CHECK(st, f->done <= value && value <= f->done + f->unknown,
	      "none is done twice, and none is told that was not done");
}

/* Post some at one time, each of which adds 1; how many were. */
static int st_rdm_burst(struct rdm_atomic *m, int n)
{
	struct st_op **tx = m->d.r.tx;
	const u64 one = 1;
	int i;

	for (i = 0; i < n; i++) {
		st_op_reset(tx[i]);
		if (fi_atomic(m->d.a.ep, &one, 1, NULL, m->d.to_b, 0, KEY,
			      FI_UINT64, FI_SUM, &tx[i]->ctx))
			break;
	}
	return i;
}

/*
 * The peer's endpoint closes while some are on their way, and opens again: when the first
 * of them is done, or at once, when one before them has seen to the connection.
 */
static int st_rdm_death(struct rdm_atomic *m, struct st *st, u16 port,
			struct rdm_fates *f, bool at_once)
{
	struct st_op **tx = m->d.r.tx;
	int i, ret, posted;

	if (at_once) {
		ret = st_rdm_add(m);
		st_rdm_fate(f, m->t.op, ret);
	}
	posted = st_rdm_burst(m, AT_DEATH);
	if (!at_once)
		st_op_wait(m->d.a.cq, tx[0]);
	st_node_close(&m->d.b);
	ret = st_node_open(&m->d.b, st, port, 0);
	for (i = 0; i < posted; i++)
		st_rdm_fate(f, tx[i], st_op_result(m->d.a.cq, tx[i], 0));
	return posted == AT_DEATH ? ret : -EIO;
}

static noinline_for_stack void st_rdm_atomic_dies(struct st *st,
						  struct rdm_atomic *m)
{
	u16 port = st_node_port(&m->d.b);
	struct rdm_fates f = {};
	int i, ret = 0;
	u64 value;

	*st_rdm_word(m) = 0;
	for (i = 0; !ret && st_rdm_goes_on(&f, i, DEATHS); i++)
		ret = st_rdm_death(m, st, port, &f, i % 2);
	CHECK_EQ(st, ret, 0, "a peer dies again and again");
	CHECKF(st, f.done && f.unknown,
	       "some are done, of others it is not known (%d deaths)", i);
	/* That the last one has died may be told to what comes next. */
	for (i = 0; i < DEATHS && (ret = st_rdm_add(m)) > 0; i++)
		st_rdm_fate(&f, m->t.op, ret);
	/* What was on its way is there behind this. */
	CHECK_EQ(st, ret, 0, "the next one is done");
	value = *st_rdm_word(m) - 1;
	st_rdm_fates(st, &f, value);
}

/*
 * Somebody else breaks connections all the time, before requests and before answers:
 * what was executed is known when the peer is closed.
 */
void st_test_rdm_atomic_lost(struct st *st)
{
	struct rdm_atomic *m = kzalloc(sizeof(*m), GFP_KERNEL);
	struct rdm_fates f = {};
	int i, j, n, posted = 0, wanted = 0;
	u64 value;

	if (!m || !st_rdm_atomic_open(m, st))
		goto out;
	for (i = 0; st_rdm_goes_on(&f, i, ROUNDS); i++) {
		/* Of another length, so that not always the same one is lost. */
		wanted += 1 + i % AT_LOSS;
		n = st_rdm_burst(m, 1 + i % AT_LOSS);
		for (j = 0; j < n; j++)
			st_rdm_fate(&f, m->d.r.tx[j],
				    st_op_result(m->d.a.cq, m->d.r.tx[j], 0));
		posted += n;
	}
	CHECK_EQ(st, posted, wanted, "many are posted");
	CHECK(st, f.done && f.unknown, "of some it is not known");
	st_node_close(&m->d.b);
	value = *st_rdm_word(m);
	st_rdm_fates(st, &f, value);
out:
	if (m)
		st_rdm_atomic_close(m);
	kfree(m);
}

/* Nothing of one that waits for its peer was handed over. */
static noinline_for_stack void st_rdm_atomic_canceled(struct st *st,
						      struct rdm_atomic *m)
{
	u16 port = st_node_port(&m->d.b);
	struct st_op *op = m->d.r.tx[0];
	const u64 one = 1;
	int ret;

	*st_rdm_word(m) = 0;
	st_node_close(&m->d.b);
	/* It may be handed over before the end is known, but not the next. */
	ret = st_rdm_add(m);
	CHECK(st, ret == FI_ECONNRESET || ret == EHOSTUNREACH,
	      "one to a peer that has gone ends");
	st_op_reset(op);
	ret = fi_atomic(m->d.a.ep, &one, 1, NULL, m->d.to_b, 0, KEY, FI_UINT64,
			FI_SUM, &op->ctx);
	ret = ret ?: fi_cancel(&m->d.a.ep->fid, &op->ctx);
	CHECK_EQ(st, ret, 0, "one that waits is canceled");
	CHECK_EQ(st, st_op_result(m->d.a.cq, op, ret), ECANCELED,
		 "it ends as such");
	CHECK_EQ(st, st_node_open(&m->d.b, st, port, 0), 0,
		 "the peer comes back");
	CHECK_EQ(st, st_rdm_add(m), 0, "one is done there");
	CHECK(st, *st_rdm_word(m) == 1, "and none of those before");
}

/* ---- who keeps no rules ----------------------------------------------------------- */

/* A peer of a with these features; its number, as a knows it. */
static int st_rdm_meet(struct rdm_atomic *m, const struct st_node *n,
		       u8 features, fi_addr_t *addr)
{
	struct sockaddr_in6 name = n->name;
	u8 hello[ST_HELLO_LEN];
	int ret;

	st_rogue_name(hello, ++m->serial, &name);
	hello[4] = features;
	/*
	 * Another instance: what a has of the one before is over when it accepts this
	 * one, whether or not it has heard yet that the connection below was closed.
	 */
	hello[8] = m->serial;
	ret = st_rogue_connect(&m->x, hello, sizeof(hello));
	if (ret != FI_CONNECTED)
		return ret < 0 ? ret : -EPROTO;
	return fi_av_insert(n->av, &name, 1, addr, 0, NULL) == 1 ? 0 : -EINVAL;
}

/* Requests, each wrong in its own way; the last two were not agreed on. */
static noinline_for_stack void st_rdm_atomic_requests(struct st *st,
						      struct rdm_atomic *m)
{
	static const struct {
		const char *what;
		u8 features, at, value;
	} wrong[] = {
		{ "of an unknown type", F_ATOMIC, 32, 4 },
		{ "of an unknown operation", F_ATOMIC, 33, 19 },
		{ "of no element", F_ATOMIC, 34, 0 },
		{ "of too many elements", F_ATOMIC, 34, 9 },
		{ "of an element without operand", F_ATOMIC, 34, 2 },
		{ "of another kind of result", F_ATOMIC, 35, 2 },
		{ "with something in its room", F_ATOMIC, 36, 1 },
		{ "between two elements", F_ATOMIC, 40, 4 },
		{ "that goes round", F_ATOMIC, 47, 0xff },
		{ "that compares with nothing", F_ATOMIC, 33, 12 },
		{ "that is cut off", F_ATOMIC, 2, 1 },
		{ "that is longer than it says", F_ATOMIC, 8, 31 },
		{ "with a word", F_ATOMIC, 2, 7 },
		{ "with a context", F_ATOMIC | 4, 3, 1 },
		{ "that is not agreed on", F_MEMORY, 33, 2 },
		{ "without remote memory", 64, 33, 2 },
	};
	/* FI_SUM of one FI_UINT64, with a result. */
	static const u8 sound[HEADER + 32] = {
		1,	  13,	    3,	      0,	32,	 [8] = 32,
		[32] = 3, [33] = 2, [34] = 1, [35] = 1, [56] = 1
	};
	u8 *wire = m->d.r.src;
	size_t i;

	*st_rdm_word(m) = 0;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(wire, sound, sizeof(sound));
		memcpy(wire + 48, &(const __le64){ cpu_to_le64(KEY) }, 8);
		wire[wrong[i].at] = wrong[i].value;
		/* So that the element ends behind all addresses. */
		if (wrong[i].at == 47)
			memset(wire + 40, 0xf8, 1), memset(wire + 41, 0xff, 7);
		CHECKF(st,
		       st_rogue_says(&m->x, ++m->serial, wrong[i].features,
				     wire, sizeof(sound), m->op),
		       "who asks for one %s is cut off", wrong[i].what);
	}
	CHECK(st, !*st_rdm_word(m), "nothing of that is done");
}

/* Post one with a result, or a read of as much; the peer has it. */
static int st_rdm_request(struct rdm_atomic *m, struct st_node *n,
			  fi_addr_t addr, bool reads)
{
	struct st_op *op = m->d.r.tx[0];
	const u64 one = 1;
	ssize_t ret;

	st_op_reset(op);
	m->t.result[0] = 0xabcd;
	ret = reads ? fi_read(n->ep, m->t.result, 8, NULL, addr, 0, KEY,
			      &op->ctx)
		    : fi_fetch_atomic(n->ep, &one, 1, NULL, m->t.result, NULL,
				      addr, 0, KEY, FI_UINT64, FI_SUM,
				      &op->ctx);
	if (ret)
		return ret;
	ret = st_rogue_take(&m->x, m->op, m->d.r.dst);
	/* Its memory is for the next one. */
	if (ret < 0)
		st_op_wait(n->cq, op);
	return ret < 0 ? ret : 0;
}

/* An answer with a status, and so many bytes of a whole of so many. */
static int st_rdm_answer(struct rdm_atomic *m, u8 flags, u8 bytes, u8 total,
			 u8 status, u8 more)
{
	u8 *w = m->d.r.src;

	memset(w, 0, HEADER + 16);
	w[0] = 1;
	w[1] = 9;
	w[2] = flags;
	w[4] = bytes;
	w[8] = total;
	w[16] = status;
	w[24] = more;
	w[32] = 0x42;
	return st_rogue_send(&m->x, m->op, w, HEADER + bytes);
}

static noinline_for_stack void st_rdm_atomic_answers(struct st *st,
						     struct rdm_atomic *m)
{
	static const struct {
		const char *what;
		bool reads;
		u8 flags, bytes, total, status;
		int err, why; /* -1: whatever */
	} answers[] = {
		{ "what there was", false, 3, 8, 8, 0, 0, -1 },
		{ "that there is no key", false, 3, 0, 0, 1, FI_EACCES,
		  ENOENT },
		{ "that it lies askew", false, 3, 0, 0, 4, FI_EACCES, EINVAL },
		{ "nothing", false, 3, 0, 0, 0, FI_ECONNRESET, -1 },
		{ "too little", false, 3, 4, 4, 0, FI_ECONNRESET, -1 },
		{ "too much", false, 3, 16, 16, 0, FI_ECONNRESET, -1 },
		{ "in pieces", false, 1, 4, 8, 0, FI_ECONNRESET, -1 },
		{ "an unknown status", false, 3, 0, 0, 5, FI_ECONNRESET, -1 },
		{ "a read that it lies askew", true, 3, 0, 0, 4, FI_ECONNRESET,
		  -1 },
	};
	struct st_node *n = &m->d.a;
	struct st_op *op = m->d.r.tx[0];
	fi_addr_t addr;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		ret = st_rdm_meet(m, n, F_ATOMIC, &addr);
		ret = ret ?: st_rdm_request(m, n, addr, answers[i].reads);
		CHECKF(st, !ret, "a peer is asked that answers %s (got %d)",
		       answers[i].what, ret);
		if (ret)
			continue;
		/* It may be cut off before it is told that this was sent. */
		st_rdm_answer(m, answers[i].flags, answers[i].bytes,
			      answers[i].total, answers[i].status, 0);
		ret = st_op_result(n->cq, op, 0);
		CHECKF(st,
		       ret == answers[i].err &&
			       (answers[i].why < 0 ||
				op->entry.prov_errno == answers[i].why),
		       "one that is answered %s ends so (got %d, for %d)",
		       answers[i].what, ret, op->entry.prov_errno);
		CHECKF(st, m->t.result[0] == (answers[i].err ? 0xabcd : 0x42),
		       "its result is there if it is one");
	}
}

/* The answer is lost with the connection: it is not done again over another one. */
static noinline_for_stack void st_rdm_atomic_lost(struct st *st,
						  struct rdm_atomic *m)
{
	struct st_op *op = m->d.r.tx[0], *next = m->d.r.tx[1];
	struct st_node *n = &m->d.a;
	fi_addr_t addr;
	int ret;

	ret = st_rdm_meet(m, n, F_ATOMIC, &addr);
	ret = ret ?: st_rdm_request(m, n, addr, false);
	if (!CHECK_EQ(st, ret, 0, "a peer has one"))
		return;
	CHECK_EQ(st, m->d.r.dst[1], K_ATOMIC, "that is of its kind");
	CHECK_EQ(st, fi_shutdown(m->x.ep, 0), 0,
		 "and ends the connection without an answer");
	CHECK_EQ(st, st_op_result(n->cq, op, 0), FI_ECONNRESET,
		 "nobody knows what became of it, and that is told");
	CHECK(st, m->t.result[0] == 0xabcd, "it has no result");
	ret = st_rdm_meet(m, n, F_ATOMIC, &addr);
	ret = ret ?: st_node_send(n, next, m->d.r.src, 10, addr);
	if (!CHECK_EQ(st, ret, 0, "the peer connects again"))
		return;
	CHECK_EQ(st, st_rogue_take(&m->x, m->op, m->d.r.dst), HEADER + 10,
		 "what comes then is what was posted then");
	CHECK_EQ(st, m->d.r.dst[1], K_MESSAGE, "and not the one before");
	CHECK_EQ(st, st_op_result(n->cq, next, 0), 0, "it is sent");
	CHECK_EQ(st, st_cq_drain(n->cq, ST_QUIET_MS), 0, "each is told once");
}

/* Its context closes while a peer has one: the answer is nobody's. */
static noinline_for_stack void st_rdm_atomic_later(struct st *st,
						   struct rdm_atomic *m)
{
	struct st_op *op = m->d.r.tx[0];
	struct st_node n = {}; /* what st_rdm_meet() needs to know */
	fi_addr_t addr = FI_ADDR_UNSPEC;
	const u64 one = 1;
	struct st_rogue first = m->x;
	struct st_sep s;
	int ret = st_sep_open(&s, st);

	memset(&m->x, 0, sizeof(m->x));
	n.name = s.name;
	n.av = s.av;
	ret = ret ?: st_rogue_open(&m->x, st, be16_to_cpu(s.name.sin6_port));
	ret = ret ?: st_rdm_meet(m, &n, F_ATOMIC, &addr);
	if (!CHECK_EQ(st, ret, 0, "a peer of a scalable endpoint connects"))
		goto out;
	st_op_reset(op);
	m->t.result[0] = 0xabcd;
	ret = fi_fetch_atomic(s.tx[1], &one, 1, NULL, m->t.result, NULL, addr,
			      0, KEY, FI_UINT64, FI_SUM, &op->ctx);
	CHECK_EQ(st, ret ?: st_rogue_take(&m->x, m->op, m->d.r.dst),
		 HEADER + 32, "it has one");
	CHECK_EQ(st, fi_close(&s.tx[1]->fid), 0, "the context closes");
	s.tx[1] = NULL;
	CHECK_EQ(st, st_op_result(s.tx_cq[1], op, 0), ECANCELED, "it ends");
	CHECK_EQ(st, st_rdm_answer(m, 3, 8, 8, 0, 0), 0, "the peer answers");
	/* Behind the answer, over the same connection. */
	st_op_reset(op);
	ret = fi_fetch_atomic(s.tx[0], &one, 1, NULL, m->t.result + 1, NULL,
			      addr, 0, KEY, FI_UINT64, FI_SUM, &op->ctx);
	ret = ret ?: st_rogue_take(&m->x, m->op, m->d.r.dst) != HEADER + 32;
	ret = ret ?: st_rdm_answer(m, 3, 8, 8, 0, 0);
	CHECK_EQ(st, st_op_result(s.tx_cq[0], op, ret), 0,
		 "the next one has its own answer");
	CHECK(st, m->t.result[0] == 0xabcd && m->t.result[1] == 0x42,
	      "and the first one's is nobody's");
out:
	st_rogue_close(&m->x);
	m->x = first;
	st_sep_close(&s);
}

/* Who does not know them is not sent any, and keeps its connection. */
static noinline_for_stack void st_rdm_atomic_old(struct st *st,
						 struct rdm_atomic *m)
{
	struct st_op *op = m->d.r.tx[0];
	struct st_node *n = &m->d.a;
	const u64 one = 1;
	fi_addr_t addr;
	int ret = st_rdm_meet(m, n, F_MEMORY, &addr);

	st_op_reset(op);
	ret = ret
		      ?: fi_atomic(n->ep, &one, 1, NULL, addr, 0, KEY,
				   FI_UINT64, FI_SUM, &op->ctx);
	CHECK_EQ(st, st_op_result(n->cq, op, ret), FI_EOPNOTSUPP,
		 "an older peer does not support them");
	CHECK_EQ(st, op->entry.flags, FI_ATOMIC | FI_WRITE,
		 "its flags are exact");
	ret = st_node_send(n, op, m->d.r.src, 10, addr);
	CHECK_EQ(st, st_rogue_take(&m->x, m->op, m->d.r.dst), HEADER + 10,
		 "and gets messages as ever");
	CHECK_EQ(st, st_op_result(n->cq, op, ret), 0, "which are sent");
}

void st_test_rdm_atomic(struct st *st)
{
	struct rdm_atomic *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (m && st_rdm_atomic_open(m, st)) {
		CHECK(st, st->info->caps & FI_ATOMIC, "they are there");
		st_atomic_suite(&m->t);
		st_rdm_atomic_refused(st, m);
		st_rdm_atomic_order(st, m);
		st_rdm_atomic_many(st, m);
		st_rdm_atomic_together(st, m);
		st_rdm_atomic_scalable(st, m);
		st_rdm_atomic_dies(st, m);
		st_rdm_atomic_canceled(st, m);
		st_rdm_atomic_requests(st, m);
		st_rdm_atomic_old(st, m);
		st_rdm_atomic_answers(st, m);
		st_rdm_atomic_lost(st, m);
		st_rdm_atomic_later(st, m);
	}
	if (m)
		st_rdm_atomic_close(m);
	kfree(m);
}
