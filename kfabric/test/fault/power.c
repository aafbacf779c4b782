// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The power-failure model: see power.h.
 */
#include "power.h"

#define NONE	  ((__u32)-1)
#define FULL_MASK (~(__u64)0)
#define LINE_MASK ((__u64)FAULT_LINE - 1)
#define ATOM_MASK ((1ULL << FAULT_ATOM) - 1)
#define HALF	  (FAULT_PERMILLE / 2)

/* Passes of a shuffled drain before the rest goes in order. */
#define SHUFFLES 8

/* ---- the generator ---------------------------------------------------- */

__u64 fault_random(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Below a small bound; the bias of taking 32 bits does not matter here. */
static __u32 fault_random_below(__u64 *state, __u32 bound)
{
	return (__u32)(((fault_random(state) >> 32) * bound) >> 32);
}

_Bool fault_chance(__u64 *state, __u32 permille)
{
	return fault_random_below(state, FAULT_PERMILLE) < permille;
}

/* ---- queues ----------------------------------------------------------- */

static void fault_queue_init(struct fault_queue *q)
{
	q->head = NONE;
	q->tail = NONE;
	q->count = 0;
}

static void fault_queue_push(struct fault_power *fp, struct fault_queue *q,
			     __u32 i)
{
	fp->lines[i].next = NONE;
	if (q->tail == NONE)
		q->head = i;
	else
		fp->lines[q->tail].next = i;
	q->tail = i;
	q->count++;
}

/* Take line i out, which follows prev (NONE: it is the first). */
static void fault_unlink_line(struct fault_power *fp, struct fault_queue *q,
			      __u32 prev, __u32 i)
{
	__u32 next = fp->lines[i].next;

	if (prev == NONE)
		q->head = next;
	else
		fp->lines[prev].next = next;
	if (q->tail == i)
		q->tail = prev;
	q->count--;
}

static __u32 fault_queue_take(struct fault_power *fp, struct fault_queue *q)
{
	__u32 i = q->head;

	if (i != NONE)
		fault_unlink_line(fp, q, NONE, i);
	return i;
}

int fault_power_init(struct fault_power *fp, const struct fault_power_cfg *cfg,
		     struct fault_line *lines, __u32 nr_lines,
		     struct fault_queue *conns, __u32 nr_conns)
{
	__u32 i;

	if (nr_lines < 2 || nr_lines == NONE || !nr_conns)
		return -EINVAL;
	fp->cfg = *cfg;
	fp->rng = cfg->seed;
	fp->lines = lines;
	fp->conns = conns;
	fp->nr_conns = nr_conns;
	fault_queue_init(&fp->free);
	fault_queue_init(&fp->cache);
	fault_queue_init(&fp->out);
	for (i = 0; i < nr_conns; i++)
		fault_queue_init(&conns[i]);
	for (i = 0; i < nr_lines; i++)
		fault_queue_push(fp, &fp->free, i);
	return 0;
}

/* ---- lines that a pass has left where they are -------------------------- */

static __u32 *fault_kept_bucket(struct fault_power *fp,
				const struct fault_line *l)
{
	__u64 h = l->space ^ (l->addr / FAULT_LINE);

	return &fp->kept[fault_random(&h) % FAULT_BUCKETS];
}

static void fault_kept_clear(struct fault_power *fp)
{
	memset(fp->kept, 0xff, sizeof(fp->kept)); /* NONE */
}

static void fault_kept_add(struct fault_power *fp, __u32 i)
{
	__u32 *bucket = fault_kept_bucket(fp, &fp->lines[i]);

	fp->lines[i].next_kept = *bucket;
	*bucket = i;
}

static _Bool fault_same_place(const struct fault_line *a,
			      const struct fault_line *b)
{
	return a->space == b->space && a->addr == b->addr;
}

/* Did the pass leave an earlier line of the same address? */
static _Bool fault_is_kept(struct fault_power *fp, const struct fault_line *l)
{
	__u32 i;

	for (i = *fault_kept_bucket(fp, l); i != NONE;
	     i = fp->lines[i].next_kept)
		if (fault_same_place(&fp->lines[i], l))
			return 1;
	return 0;
}

/* ---- moving on -------------------------------------------------------- */

/* Put a line into L, on top of what L has of it. */
static void fault_cache_put(struct fault_power *fp, __u32 i)
{
	struct fault_line *from = &fp->lines[i], *to;
	__u32 j, b;

	for (j = fp->cache.head; j != NONE; j = fp->lines[j].next)
		if (fault_same_place(&fp->lines[j], from))
			break;
	if (j == NONE) {
		fault_queue_push(fp, &fp->cache, i);
		return;
	}
	to = &fp->lines[j];
	for (b = 0; b < FAULT_LINE; b++)
		if (from->mask & (1ULL << b))
			to->data[b] = from->data[b];
	to->mask |= from->mask;
	fault_queue_push(fp, &fp->free, i);
}

/* A line has left N. */
static void fault_line_leave(struct fault_power *fp, __u32 i)
{
	if (fp->cfg.ddio && fp->cfg.bug != FAULT_BUG_DDIO_IGNORED)
		fault_cache_put(fp, i);
	else
		fault_queue_push(fp, &fp->out, i);
}

/* One pass: each line leaves by chance, unless an older one of it stays. */
static void fault_drain_once(struct fault_power *fp, struct fault_queue *q,
			     __u32 permille)
{
	const _Bool ordered = fp->cfg.bug != FAULT_BUG_ADDRESS_ORDER;
	__u32 i = q->head, prev = NONE, next;

	fault_kept_clear(fp);
	for (; i != NONE; i = next) {
		next = fp->lines[i].next;
		if ((!ordered || !fault_is_kept(fp, &fp->lines[i])) &&
		    fault_chance(&fp->rng, permille)) {
			fault_unlink_line(fp, q, prev, i);
			fault_line_leave(fp, i);
		} else {
			fault_kept_add(fp, i);
			prev = i;
		}
	}
}

/* Everything leaves, in an order that has little to do with that of writing. */
static void fault_drain_all(struct fault_power *fp, struct fault_queue *q)
{
	__u32 n;

	for (n = 0; n < SHUFFLES && q->count > 1; n++)
		fault_drain_once(fp, q, HALF);
	fault_drain_once(fp, q, FAULT_PERMILLE);
}

static void fault_flush_cache(struct fault_power *fp, __u64 space, __u64 first,
			      __u64 last, _Bool all)
{
	__u32 i = fp->cache.head, prev = NONE, next;

	for (; i != NONE; i = next) {
		const struct fault_line *l = &fp->lines[i];

		next = l->next;
		if (all || (l->space == space && l->addr >= first &&
			    l->addr <= last)) {
			fault_unlink_line(fp, &fp->cache, prev, i);
			fault_queue_push(fp, &fp->out, i);
		} else {
			prev = i;
		}
	}
}

/* ---- what happens to the model ----------------------------------------- */

__u32 fault_power_write(struct fault_power *fp, __u32 conn, __u64 space,
			__u64 addr, const void *data, __u32 len)
{
	const __u8 *p = data;
	__u32 done = 0;

	while (done < len) {
		__u32 offset = (addr + done) & LINE_MASK;
		__u32 n = FAULT_LINE - offset;
		__u32 i = fault_queue_take(fp, &fp->free);
		struct fault_line *l;

		if (i == NONE)
			break;
		if (n > len - done)
			n = len - done;
		l = &fp->lines[i];
		l->space = space;
		l->addr = addr + done - offset;
		l->mask = n == FAULT_LINE ? FULL_MASK : (1ULL << n) - 1;
		l->mask <<= offset;
		l->lost = 0;
		l->conn = conn;
		memcpy(l->data + offset, p + done, n);
		fault_queue_push(fp, &fp->conns[conn], i);
		done += n;
	}
	return done;
}

void fault_power_step(struct fault_power *fp)
{
	__u32 c;

	for (c = 0; c < fp->nr_conns; c++)
		fault_drain_once(fp, &fp->conns[c], fp->cfg.drain_permille);
}

void fault_power_empty(struct fault_power *fp, __u32 conn)
{
	__u32 c;

	if (fp->cfg.bug == FAULT_BUG_EMPTY_NONE)
		return;
	for (c = 0; c < fp->nr_conns; c++)
		if (c == conn || fp->cfg.bug == FAULT_BUG_EMPTY_ALL)
			fault_drain_all(fp, &fp->conns[c]);
	if (fp->cfg.bug == FAULT_BUG_READ_FLUSHES_L)
		fault_flush_cache(fp, 0, 0, 0, 1);
}

void fault_power_flush(struct fault_power *fp, __u64 space, __u64 addr,
		       __u64 len)
{
	if (len)
		fault_flush_cache(fp, space, addr & ~LINE_MASK, addr + len - 1,
				  0);
}

/* The connection to squeeze: the preferred one, or the next that holds any. */
static struct fault_queue *fault_find_holder(struct fault_power *fp, __u32 conn)
{
	__u32 n;

	for (n = 0; n < fp->nr_conns; n++) {
		struct fault_queue *q = &fp->conns[(conn + n) % fp->nr_conns];

		if (q->count)
			return q;
	}
	return NULL;
}

int fault_power_squeeze(struct fault_power *fp, __u32 conn)
{
	struct fault_queue *q = fault_find_holder(fp, conn);

	if (q)
		fault_line_leave(fp, fault_queue_take(fp, q));
	/* The cache is as full as the buffers: it evicts. */
	if (!fp->out.count && !fp->free.count && fp->cache.count)
		fault_queue_push(fp, &fp->out,
				 fault_queue_take(fp, &fp->cache));
	return fp->out.count || fp->free.count ? 0 : -ENOENT;
}

/* Lose bytes of a line, and pass on what is left of it. */
static void fault_lose_bytes(struct fault_line *l, __u64 lost)
{
	l->lost = l->mask & lost;
	l->mask &= ~lost;
}

static void fault_pass_on(struct fault_power *fp, struct fault_queue *q)
{
	__u32 i;

	while ((i = fault_queue_take(fp, q)) != NONE)
		fault_queue_push(fp, &fp->out, i);
}

void fault_power_destroy(struct fault_power *fp, __u32 conn, _Bool drained)
{
	struct fault_queue *q = &fp->conns[conn];
	__u32 i;

	if (fp->cfg.bug == FAULT_BUG_LANDS_LATE)
		return;
	if (drained) {
		fault_drain_all(fp, q);
		return;
	}
	for (i = q->head; i != NONE; i = fp->lines[i].next)
		fault_lose_bytes(&fp->lines[i], FULL_MASK);
	fault_pass_on(fp, q);
}

/* Which bytes a torn line loses: some of its pieces of 8 bytes. */
__u64 fault_power_torn(struct fault_power *fp)
{
	__u64 mask = 0;
	__u32 i;

	for (i = 0; i < FAULT_LINE; i += FAULT_ATOM)
		if (fault_chance(&fp->rng, HALF))
			mask |= ATOM_MASK << i;
	return mask;
}

/* Drop, keep or tear: one chance in three each. */
static __u64 fault_lost_of_buffer(struct fault_power *fp)
{
	switch (fault_random_below(&fp->rng, 3)) {
	case 0:
		return 0;
	case 1:
		return FULL_MASK;
	default:
		return fp->cfg.bug == FAULT_BUG_NO_TEAR ? FULL_MASK
							: fault_power_torn(fp);
	}
}

/* If a line is not placed whole, no later one of its address can have been. */
static void fault_cut_buffers(struct fault_power *fp, struct fault_queue *q)
{
	__u32 i;

	fault_kept_clear(fp);
	for (i = q->head; i != NONE; i = fp->lines[i].next) {
		struct fault_line *l = &fp->lines[i];

		if (fault_is_kept(fp, l))
			fault_lose_bytes(l, FULL_MASK);
		else
			fault_lose_bytes(l, fault_lost_of_buffer(fp));
		if (l->lost)
			fault_kept_add(fp, i);
	}
	fault_pass_on(fp, q);
}

static void fault_cut_cache(struct fault_power *fp)
{
	__u32 i;

	for (i = fp->cache.head; i != NONE; i = fp->lines[i].next)
		if (!fp->cfg.eadr && fault_chance(&fp->rng, HALF))
			fault_lose_bytes(&fp->lines[i], FULL_MASK);
	fault_pass_on(fp, &fp->cache);
}

void fault_power_cut(struct fault_power *fp)
{
	const _Bool safe =
		fp->cfg.bug == FAULT_BUG_CUT_KEEPS ||
		(fp->cfg.bug == FAULT_BUG_EADR_KEEPS_N && fp->cfg.eadr);
	__u32 c;

	fault_cut_cache(fp);
	for (c = 0; c < fp->nr_conns; c++) {
		if (safe)
			fault_pass_on(fp, &fp->conns[c]);
		else
			fault_cut_buffers(fp, &fp->conns[c]);
	}
}

_Bool fault_power_pop(struct fault_power *fp, struct fault_line *line)
{
	__u32 i = fault_queue_take(fp, &fp->out);

	if (i == NONE)
		return 0;
	*line = fp->lines[i];
	fault_queue_push(fp, &fp->free, i);
	return 1;
}
