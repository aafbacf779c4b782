// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: remote memory that the provider below unconnected endpoints moves, by
 * grants: it is as without them, no byte lands where a region was, and a peer that
 * has none or keeps no rules has what it had.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define BASE	 ST_ROOM_BASE
#define REGION	 (16 * BASE)
#define KEY	 0x5eed0000a11eULL
#define OWN_KEY	 0x5eed0000b0b0ULL /* that a hostile peer's device has */
#define AFTER	 4 /* requests, a key is to be granted */
#define ENOUGH	 8 /* requests, after which there is a grant */
#define MISSED	 4 /* regions that none is granted of */
#define WRITERS	 16 /* writes under way */
#define ROUNDS	 20
#define EARS	 8 /* receives of a hostile peer */
#define LOOK_MS	 50
#define SHORT_MS 1000 /* for what a peer is to return */
#define LONG_MS	 10000

#define F_RMA	  2
#define F_GRANT	  32
#define K_MESSAGE 4
#define K_CREDIT  5
#define K_READ	  8
#define K_ANSWER  9
#define K_GRANT	  10
#define K_BACK	  11 /* is to be returned */
#define K_HERE	  12 /* is returned */

/* a reaches memory of b. */
struct grant_test {
	struct st *st;
	struct st_duo d;
	struct st_rogue x; /* of the provider below */
	struct st_op *op; /* of its operations */
	u8 *memory, *other;
	struct fid_mr *mr;
	u8 *wire; /* what the hostile peer says, and what it heard last */
	struct st_op *rx[EARS]; /* its receives, each with a page of bytes */
	u8 *heard;
	unsigned int hears; /* how often it did, since it connected */
	u8 owed; /* buffers that it has free again, and has not told of */
};

/* With a right that the device below may not have. */
static int st_grant_region(struct grant_test *g, u8 *memory)
{
	return fi_mr_reg(g->st->domain, memory, REGION,
			 FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC, 0, KEY,
			 0, &g->mr, NULL);
}

static int st_grant_close_region(struct grant_test *g)
{
	struct fid_mr *mr = g->mr;

	g->mr = NULL;
	return mr ? fi_close(&mr->fid) : 0;
}

static int st_grant_post(struct grant_test *g, int i, bool write, size_t len,
			 u64 addr)
{
	struct st_op *op = g->d.r.tx[i];

	st_op_reset(op);
	return write ? fi_write(g->d.a.ep, g->d.r.src, len, NULL, g->d.to_b,
				addr, KEY, &op->ctx)
		     : fi_read(g->d.a.ep, g->d.r.dst, len, NULL, g->d.to_b,
			       addr, KEY, &op->ctx);
}

static int st_grant_do(struct grant_test *g, bool write, size_t len, u64 addr)
{
	int ret = st_grant_post(g, 0, write, len, addr);

	return st_op_result(g->d.a.cq, g->d.r.tx[0], ret);
}

/* What tests before have closed may go late: the fewest there were is what counts. */
static bool st_objects_rise(const struct kfi_provider *prov, int from)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int objects;

	while ((objects = atomic_read(&prov->nr_objects)) <= from) {
		from = objects;
		if (time_after(jiffies, end))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

/* Open a region, and use it until the device below knows it. */
static noinline_for_stack bool st_grant_earn(struct grant_test *g, u8 *memory)
{
	const struct kfi_provider *below = g->x.fabric->fid.prov;
	int i, objects, ret;

	/* So that there is a connection. */
	ret = st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10);
	objects = atomic_read(&below->nr_objects);
	ret = ret ?: st_grant_region(g, memory);
	for (i = 0; i < ENOUGH && !ret; i++)
		ret = st_grant_do(g, true, 8, 0);
	/* The answer to the next one is behind the grant. */
	return !ret && st_objects_rise(below, objects) &&
	       !st_grant_do(g, true, 8, 0) && !st_grant_do(g, false, 8, 0);
}

static noinline_for_stack void st_grant_use(struct grant_test *g)
{
	const struct kfi_provider *below = g->x.fabric->fid.prov;
	struct st *st = g->st;
	int i, objects, ok = 0;

	CHECK(st, st_grant_earn(g, g->memory),
	      "the device below knows a region after a while");
	for (i = 0; i < ROUNDS; i++) {
		memset(g->memory, 0, REGION);
		st_fill(g->d.r.src, REGION, i + 1);
		ok += !st_grant_do(g, true, REGION - 7 * i, i) &&
		      st_holds(g->memory + i, REGION - 7 * i, i + 1) &&
		      !st_grant_do(g, false, REGION - 7 * i, i) &&
		      st_holds(g->d.r.dst, REGION - 7 * i, i + 1);
	}
	CHECK_EQ(st, ok, ROUNDS, "what is written is there, and is read");
	CHECK_EQ(st, st_grant_do(g, true, 16, REGION - 8), FI_EACCES,
		 "a write beyond it is refused");
	CHECK_EQ(st, g->d.r.tx[0]->entry.prov_errno, ERANGE, "it is told why");
	CHECK_EQ(st, st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10), 0,
		 "and the connection lives");
	objects = atomic_read(&below->nr_objects);
	CHECK_EQ(st, st_grant_close_region(g), 0, "it closes");
	CHECK_EQ(st, atomic_read(&below->nr_objects), objects - 1,
		 "the device below does not know it any more");
	CHECK_EQ(st, st_grant_do(g, true, 8, 0), FI_EACCES,
		 "a write to it is refused");
	CHECK_EQ(st, g->d.r.tx[0]->entry.prov_errno, ENOENT, "it is told why");
	CHECK_EQ(st, st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10), 0,
		 "and the connection lives");
}

/* Writes under way, each of another length; those that end are posted again. */
static int st_grant_writers(struct grant_test *g, int n)
{
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = st_grant_post(g, i, true, REGION - i * 1000, 0);
	return ret;
}

/* How many of them end as they may; a refusal is told as such. */
static int st_grant_writers_end(struct grant_test *g, int n)
{
	int i, ret, ok = 0;

	for (i = 0; i < n; i++) {
		ret = st_op_result(g->d.a.cq, g->d.r.tx[i], 0);
		ok += !ret || (ret == FI_EACCES &&
			       g->d.r.tx[i]->entry.prov_errno == ENOENT);
	}
	return ok;
}

/* A region closes under writes: from then on its memory is its owner's alone. */
static noinline_for_stack void st_grant_closes(struct grant_test *g)
{
	struct st *st = g->st;
	int i, ok = 0, ended = 0;

	st_fill(g->d.r.src, REGION, 9);
	for (i = 0; i < ROUNDS; i++) {
		if (!st_grant_earn(g, g->memory) ||
		    st_grant_writers(g, WRITERS))
			break;
		/* So that it meets them at one place and another. */
		if (i % 4)
			usleep_range(i * 10, i * 20);
		if (st_grant_close_region(g))
			break;
		memset(g->memory, 0xee, REGION);
		ended += st_grant_writers_end(g, WRITERS);
		ok += !memchr_inv(g->memory, 0xee, REGION);
	}
	CHECK_EQ(st, ok, ROUNDS, "no byte lands where a region was");
	CHECK_EQ(st, ended, ROUNDS * WRITERS,
		 "each write is done, or is told that there is no region");
	CHECK_EQ(st, st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10), 0,
		 "the connection lives");
}

/* The next region of the same key is another one. */
static noinline_for_stack void st_grant_again(struct grant_test *g)
{
	struct st *st = g->st;
	u8 *memory[2] = { g->memory, g->other };
	int i, ok = 0, ended = 0;

	for (i = 0; i < ROUNDS; i++) {
		if (!st_grant_earn(g, memory[i % 2]) ||
		    st_grant_writers(g, WRITERS) || st_grant_close_region(g) ||
		    st_grant_region(g, memory[!(i % 2)]))
			break;
		memset(memory[i % 2], 0xee, REGION);
		ended += st_grant_writers_end(g, WRITERS);
		st_fill(g->d.r.src, REGION, i + 1);
		ok += !st_grant_do(g, true, REGION, 0) &&
		      st_holds(memory[!(i % 2)], REGION, i + 1) &&
		      !memchr_inv(memory[i % 2], 0xee, REGION);
		if (st_grant_close_region(g))
			break;
	}
	CHECK_EQ(st, ok, ROUNDS, "a key that is used again is another region");
	CHECK_EQ(st, ended, ROUNDS * WRITERS, "writes end as they may");
}

/*
 * Regions that close when they have just been asked for often enough: the next one of
 * their key is granted as soon as the first.
 */
static noinline_for_stack void st_grant_missed(struct grant_test *g)
{
	struct st *st = g->st;
	int i, n, ret = 0;

	for (i = 0; i < MISSED && !ret; i++) {
		ret = st_grant_region(g, g->memory);
		for (n = 0; n < AFTER && !ret; n++)
			ret = st_grant_do(g, true, 8, 0);
		ret = st_grant_close_region(g) ?: ret;
		/* Who is to grant it looks, and there is none. */
		msleep(LOOK_MS);
	}
	CHECK_EQ(st, ret, 0, "regions close that are to be granted");
	CHECK(st, st_grant_earn(g, g->memory), "the next one is granted");
	CHECK_EQ(st, st_grant_close_region(g), 0, "it closes");
}

/*
 * A write with data is a request to the peer's engine, also when there is a grant; what
 * is posted behind it sees its bytes.
 */
static noinline_for_stack void st_grant_order(struct grant_test *g)
{
	const struct fi_rma_iov rma = { .len = BASE, .key = KEY };
	struct st_op *op = g->d.r.tx[1], *rx = g->d.r.rx[0];
	const struct fi_msg_rma msg = { .buf = fi_buf_linear(g->d.r.src, BASE),
					.rma_iov = &rma,
					.rma_iov_count = 1,
					.addr = g->d.to_b,
					.context = &op->ctx };
	struct st *st = g->st;
	int i, ret, seen = 0;

	if (!CHECK(st, st_grant_earn(g, g->memory), "a region is granted"))
		return;
	for (i = 0; i < ROUNDS; i++) {
		st_fill(g->d.r.src, BASE, i + 1);
		st_op_reset(op);
		ret = st_node_recv(&g->d.b, rx, NULL, 0);
		ret = ret ?: fi_writemsg(g->d.a.ep, &msg, FI_REMOTE_CQ_DATA);
		ret = ret ?: st_grant_do(g, false, BASE, 0);
		seen += !ret && st_holds(g->d.r.dst, BASE, i + 1);
		ret = st_op_result(g->d.a.cq, op, ret);
		if (st_op_result(g->d.b.cq, rx, ret))
			break;
	}
	CHECK_EQ(st, i, ROUNDS, "writes with data are done");
	CHECK_EQ(st, seen, ROUNDS, "a read behind each sees its bytes");
	CHECK_EQ(st, st_grant_close_region(g), 0, "the region closes");
}

/*
 * Writes that are told when they are delivered, to a region that may not be read: what
 * the device below would read back to tell that is the engine's to do.
 */
static noinline_for_stack void st_grant_delivered(struct grant_test *g)
{
	const struct fi_rma_iov rma = { .len = 100, .key = KEY };
	struct st_op *op = g->d.r.tx[0];
	const struct fi_msg_rma msg = { .buf = fi_buf_linear(g->d.r.src, 100),
					.rma_iov = &rma,
					.rma_iov_count = 1,
					.addr = g->d.to_b,
					.context = &op->ctx };
	struct st *st = g->st;
	int i, ret, ok = 0;

	ret = fi_mr_reg(st->domain, g->memory, REGION, FI_REMOTE_WRITE, 0, KEY,
			0, &g->mr, NULL);
	if (!CHECK_EQ(st, ret, 0, "a region opens that is only written"))
		return;
	/* So often that the device below knows it, if it can have it. */
	for (i = 0; i < ROUNDS; i++) {
		st_fill(g->d.r.src, 100, i + 1);
		st_op_reset(op);
		ret = fi_writemsg(g->d.a.ep, &msg, FI_DELIVERY_COMPLETE);
		ok += !st_op_result(g->d.a.cq, op, ret) &&
		      st_holds(g->memory, 100, i + 1) &&
		      !st_grant_do(g, true, 8, 200);
	}
	CHECK_EQ(st, ok, ROUNDS, "writes to it are delivered");
	CHECK_EQ(st, st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10), 0,
		 "the connection lives");
	CHECK_EQ(st, st_grant_close_region(g), 0, "the region closes");
}

/* ---- who has no grants, or keeps none of the rules ------------------------------- */

static int st_grant_listen(struct grant_test *g, int i)
{
	st_op_reset(g->rx[i]);
	return fi_recv(g->x.ep, g->heard + i * BASE, BASE, NULL, FI_ADDR_UNSPEC,
		       &g->rx[i]->ctx);
}

/* A peer of b with these features, and receives of its own when it asks for them. */
static int st_grant_meet(struct grant_test *g, u8 serial, u8 features,
			 struct sockaddr_in6 *name)
{
	u8 hello[ST_HELLO_LEN];
	int i, ret = 0;

	*name = g->d.b.name;
	st_rogue_name(hello, serial, name);
	hello[4] = features;
	g->owed = 0;
	g->hears = 0;
	if (st_rogue_connect(&g->x, hello, sizeof(hello)) != FI_CONNECTED)
		return -ENOTCONN;
	for (i = 0; i < EARS && !ret; i++)
		ret = st_grant_listen(g, i);
	return ret;
}

static void st_put_word(u8 *to, u64 word)
{
	const __le64 le = cpu_to_le64(word);

	memcpy(to, &le, sizeof(le));
}

static u64 st_get_word(const u8 *from)
{
	__le64 le;

	memcpy(&le, from, sizeof(le));
	return le64_to_cpu(le);
}

/* One message with a header of a kind, a word and bytes. */
static int st_grant_say(struct grant_test *g, u8 kind, u64 word,
			const void *bytes, u8 len)
{
	u8 *w = g->wire;

	memset(w, 0, 32);
	w[0] = 1;
	w[1] = kind;
	w[2] = len ? 3 : 0;
	w[4] = len;
	w[8] = len;
	if (len) {
		w[6] = g->owed;
		g->owed = 0;
	}
	st_put_word(w + 16, word);
	memcpy(w + 32, bytes, len);
	return st_rogue_send(&g->x, g->op, w, 32 + len);
}

/* What b has of it is behind all that it has said before. */
static int st_grant_is_heard(struct grant_test *g)
{
	struct st_op *rx = g->d.r.rx[0];
	int ret = st_node_recv(&g->d.b, rx, g->d.r.dst, BASE);

	ret = ret ?: st_grant_say(g, K_MESSAGE, 0, "heard", 5);
	return st_op_result(g->d.b.cq, rx, ret);
}

/* What comes next: its kind; else a negative error. */
static int st_grant_hear(struct grant_test *g, u64 *word)
{
	int i = g->hears++ % EARS;
	int ret = st_op_result(g->x.cq, g->rx[i], 0);

	if (ret)
		return -ret;
	memcpy(g->wire, g->heard + i * BASE, 32);
	if (g->wire[1] != K_BACK && g->wire[1] != K_HERE &&
	    g->wire[1] != K_CREDIT)
		g->owed++;
	*word = st_get_word(g->wire + 16);
	ret = st_grant_listen(g, i);
	return ret ?: g->wire[1];
}

/*
 * It asks for eight bytes of the region often enough, and until it was granted that if
 * it is to be: how often it was.
 */
static int st_grant_reads(struct grant_test *g, int due)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	/* Of 32 bytes: one range, of 8 bytes, of a key. */
	u8 head[32] = { 1, [16] = 8 };
	int i, kind, granted = 0;
	u64 word;

	st_put_word(head + 24, KEY);
	for (i = 0;
	     i < 3 * ENOUGH || (granted < due && time_before(jiffies, end));
	     i++) {
		if (st_grant_say(g, K_READ, 0, head, sizeof(head)))
			return -EPIPE;
		kind = st_grant_hear(g, &word);
		if (kind == K_GRANT) {
			granted++;
			kind = st_grant_hear(g, &word);
		}
		if (kind != K_ANSWER)
			return kind;
	}
	return granted;
}

/* What it has said may be sent by then, or not. */
static bool st_grant_is_cut_off(struct grant_test *g)
{
	struct st_event ev;

	return st_event_wait(g->x.eq, &ev, ST_WAIT_MS) >= 0 &&
	       ev.event == FI_SHUTDOWN;
}

/*
 * A peer without the feature is granted nothing; one with it is, and is waited for,
 * but not for ever, when its grant is taken back.
 */
static noinline_for_stack void st_grant_peers(struct grant_test *g)
{
	struct sockaddr_in6 name;
	struct st *st = g->st;
	ktime_t begin;
	u64 ms;
	int ret;

	CHECK_EQ(st, st_grant_region(g, g->memory), 0, "a region opens");
	ret = st_grant_meet(g, 1, F_RMA, &name);
	CHECK_EQ(st, ret ?: st_grant_reads(g, 0), 0,
		 "a peer without the feature reads, and is granted nothing");
	ret = st_grant_meet(g, 2, F_RMA | F_GRANT, &name);
	CHECK_EQ(st, ret ?: st_grant_reads(g, 1), 1,
		 "one with it is granted the region once");
	CHECK_EQ(st, st_node_limit(&g->d.b, SHORT_MS), 0,
		 "its answers may take for a moment");
	begin = ktime_get();
	CHECK_EQ(st, st_grant_close_region(g), 0, "the region closes");
	CHECK_EQ(st, st_node_limit(&g->d.b, LONG_MS), 0, "or for longer");
	ms = ktime_to_ms(ktime_sub(ktime_get(), begin));
	CHECKF(st, ms < ST_WAIT_MS,
	       "who returns nothing is waited for: %llu ms", ms);
	CHECK(st, st_grant_is_cut_off(g), "and is cut off");
	CHECK_EQ(st, st_grant_region(g, g->memory), 0, "a region opens");
	ret = st_grant_meet(g, 3, F_RMA | F_GRANT, &name);
	CHECK_EQ(st, ret ?: st_grant_reads(g, 1), 1, "it is granted one again");
	st_grant_say(g, K_HERE, KEY, NULL, 0);
	CHECK(st, st_grant_is_cut_off(g), "who returns it unasked is cut off");
	CHECK_EQ(st, st_grant_close_region(g), 0, "the region closes");
}

/* What a peer says of grants that is against the rules. */
static noinline_for_stack void st_grant_wrong(struct grant_test *g)
{
	static const struct {
		const char *what;
		u8 features, kind, len, at, value;
	} wrong[] = {
		{ "a grant of no access", 34, K_GRANT, 40, 64, 0 },
		{ "a grant of any access", 34, K_GRANT, 40, 64, 7 },
		{ "a grant with something in its room", 34, K_GRANT, 40, 65,
		  1 },
		{ "a grant that is too short", 34, K_GRANT, 39, 64, 1 },
		{ "a grant that is too long", 34, K_GRANT, 41, 64, 1 },
		{ "the beginning of a grant", 34, K_GRANT, 40, 2, 1 },
		{ "a grant that goes round", 34, K_GRANT, 40, 55, 0xff },
		{ "of what was not granted that it is to be returned", 34,
		  K_BACK, 0, 16, 1 },
		{ "that it returns what it does not have", 34, K_HERE, 0, 16,
		  1 },
		{ "what is to be returned, and more", 34, K_BACK, 8, 16, 1 },
		{ "a grant that is not agreed on", 2, K_GRANT, 40, 64, 1 },
		{ "a return that is not agreed on", 2, K_HERE, 0, 16, 1 },
	};
	struct st *st = g->st;
	u8 *w = g->wire;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		memset(w, 0, 128);
		w[0] = 1;
		w[1] = wrong[i].kind;
		w[2] = wrong[i].len ? 3 : 0;
		w[4] = wrong[i].len;
		w[8] = wrong[i].len;
		w[64] = wrong[i].len ? 1 : 0;
		/* An address and a length. */
		if (wrong[i].at == 55)
			memset(w + 48, 0xff, 9);
		w[wrong[i].at] = wrong[i].value;
		CHECKF(st,
		       st_rogue_says(&g->x, i + 100, wrong[i].features, w,
				     32 + wrong[i].len, g->op),
		       "who says %s is cut off", wrong[i].what);
	}
}

/* More than there may be, each of another region; buffers come back by fours. */
static noinline_for_stack void st_grant_flood(struct grant_test *g)
{
	struct sockaddr_in6 name;
	u8 grant[40] = { [24] = 8, [32] = 3 };
	u64 word;
	int ret = st_grant_meet(g, 150, F_RMA | F_GRANT, &name);

	while (grant[0] < 16 && !ret) {
		ret = st_grant_say(g, K_GRANT, 0, grant, sizeof(grant));
		if (!ret && ++grant[0] % 4 == 0)
			ret = st_grant_hear(g, &word) == K_CREDIT ? 0 : -EPROTO;
	}
	CHECK_EQ(g->st, ret, 0, "a peer grants 16 regions");
	st_grant_say(g, K_GRANT, 0, grant, sizeof(grant));
	CHECK(g->st, st_grant_is_cut_off(g), "who grants more is cut off");
}

/* Memory of the hostile peer, as its device knows it. */
static int st_grant_own(struct grant_test *g, struct fid_mr **mr)
{
	struct fi_mr_attr attr = { .buf = fi_buf_linear(g->other, REGION),
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
				   .requested_key = OWN_KEY };
	int ret = fi_mr_regattr(g->x.domain, &attr, 0, mr);

	if (!ret && (g->x.domain->mr_mode & FI_MR_ENDPOINT)) {
		ret = fi_mr_bind(*mr, &g->x.ep->fid, 0);
		ret = ret ?: fi_mr_enable(*mr);
	}
	return ret;
}

/* What is granted is used, without a word; when it is to be returned it is, once. */
static noinline_for_stack void st_grant_granted(struct grant_test *g)
{
	u8 grant[40] = { [32] = 3 };
	struct st_op *op = g->d.r.tx[1];
	fi_addr_t addr = FI_ADDR_UNSPEC;
	struct st *st = g->st;
	struct sockaddr_in6 name;
	struct fid_mr *mr = NULL;
	u64 word = 0;
	int ret = st_grant_meet(g, 200, F_RMA | F_GRANT, &name);

	fi_av_insert(g->d.b.av, &name, 1, &addr, 0, NULL);
	ret = ret ?: st_grant_own(g, &mr);
	if (!CHECK_EQ(st, ret, 0, "a peer has memory"))
		return;
	st_put_word(grant, 5);
	st_put_word(grant + 8, fi_mr_key(mr));
	st_put_word(grant + 16, mr->iova);
	st_put_word(grant + 24, REGION);
	CHECK_EQ(st, st_grant_say(g, K_GRANT, 0, grant, sizeof(grant)), 0,
		 "it grants it");
	/* Until it is known, a write is a request that nobody answers. */
	CHECK_EQ(st, st_grant_is_heard(g), 0, "which is known soon");
	memset(g->other, 0, REGION);
	st_fill(g->d.r.src, 5000, 77);
	st_op_reset(op);
	ret = fi_write(g->d.b.ep, g->d.r.src, 5000, NULL, addr, 3, 5, &op->ctx);
	CHECK_EQ(st, st_op_result(g->d.b.cq, op, ret), 0, "a write is done");
	CHECK(st, st_holds(g->other + 3, 5000, 77), "its bytes are there");
	CHECK_EQ(st, st_grant_say(g, K_BACK, 5, NULL, 0), 0,
		 "the grant is taken back");
	CHECK_EQ(st, st_grant_hear(g, &word), K_HERE,
		 "the first thing that the peer hears is that it is returned");
	CHECK_EQ(st, word, 5, "and which");
	st_op_reset(op);
	ret = fi_write(g->d.b.ep, g->d.r.src, 8, NULL, addr, 0, 5, &op->ctx);
	CHECK_EQ(st, ret ?: st_grant_hear(g, &word), 7,
		 "the next write is a request");
	fi_close(&mr->fid);
	mr = NULL;
	st_grant_say(g, K_BACK, 5, NULL, 0);
	CHECK(st, st_grant_is_cut_off(g),
	      "who takes one back twice is cut off");
	CHECK_EQ(st, st_op_result(g->d.b.cq, op, 0), FI_ECONNRESET,
		 "and the write ends");
}

/* A key that the device knows nothing of ends that connection, and nothing else. */
static noinline_for_stack void st_grant_nonsense(struct grant_test *g)
{
	static const u8 grant[40] = { 6,    [8] = 0x99, 0x98,
				      0x97, [25] = 1,	[32] = 3 };
	struct st_op *op = g->d.r.tx[1];
	fi_addr_t addr = FI_ADDR_UNSPEC;
	struct st *st = g->st;
	struct sockaddr_in6 name;
	int ret = st_grant_meet(g, 220, F_RMA | F_GRANT, &name);

	fi_av_insert(g->d.b.av, &name, 1, &addr, 0, NULL);
	ret = ret ?: st_grant_say(g, K_GRANT, 0, grant, sizeof(grant));
	CHECK_EQ(st, ret ?: st_grant_is_heard(g), 0,
		 "a peer grants what there is not");
	st_op_reset(op);
	ret = fi_write(g->d.b.ep, g->d.r.src, 8, NULL, addr, 0, 6, &op->ctx);
	CHECK_EQ(st, st_op_result(g->d.b.cq, op, ret), FI_ECONNRESET,
		 "a write to that ends with its connection");
	CHECK(st, st_grant_is_cut_off(g), "which is over");
	CHECK_EQ(st, st_pass(&g->d.r, &g->d.a, &g->d.b, g->d.to_b, 10), 0,
		 "others are served as ever");
}

static bool st_grant_open(struct grant_test *g, struct st *st)
{
	struct st inner = *st; /* whose operations are another provider's */
	int i;

	g->st = st;
	g->memory = kvzalloc(REGION, GFP_KERNEL);
	g->other = kzalloc(REGION, GFP_KERNEL);
	g->wire = kzalloc(BASE, GFP_KERNEL);
	g->heard = kzalloc(EARS * BASE, GFP_KERNEL);
	if (!CHECK(st, g->memory && g->other && g->wire && g->heard,
		   "there is memory") ||
	    !st_duo_open(&g->d, st) ||
	    !CHECK_EQ(st, st_rogue_open(&g->x, st, st_node_port(&g->d.b)), 0,
		      "the provider below opens"))
		return false;
	inner.info = g->x.info;
	g->op = st_op_new(&inner);
	for (i = 0; i < EARS; i++) {
		g->rx[i] = st_op_new(&inner);
		if (!g->rx[i])
			return false;
	}
	return CHECK(st, g->op, "there are operations");
}

static void st_grant_close(struct grant_test *g)
{
	int i;

	st_grant_close_region(g);
	st_rogue_close(&g->x);
	st_duo_close(&g->d);
	for (i = 0; i < EARS; i++)
		kfree(g->rx[i]);
	kfree(g->op);
	kfree(g->heard);
	kfree(g->wire);
	kfree(g->other);
	kvfree(g->memory);
}

void st_test_rdm_grant(struct st *st)
{
	struct grant_test *g = kzalloc(sizeof(*g), GFP_KERNEL);

	if (g && st_grant_open(g, st)) {
		st_grant_use(g);
		st_grant_closes(g);
		st_grant_again(g);
		st_grant_missed(g);
		st_grant_order(g);
		st_grant_delivered(g);
		st_grant_peers(g);
		st_grant_wrong(g);
		st_grant_flood(g);
		st_grant_granted(g);
		st_grant_nonsense(g);
	}
	if (g)
		st_grant_close(g);
	kfree(g);
}
