// SPDX-License-Identifier: BSD-2-Clause
/* The recording medium. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/store/format/super.h"
#include "crash_medium.h"

#define WORD	  CRASH_WORD_BYTES
#define SCRAMBLE  0x2545f4914f6cdd1dULL
#define HALF_BITS 32
/* For new tables of two tiers: one page a copy is enough for these stores. */
#define TAIL_BYTES  (2 * BRICK_FMT_COPIES * BRICK_FMT_PAGE)
#define SPARE_BYTES (8 * BRICK_FMT_PAGE)

_Thread_local unsigned int crash_thread;

static struct crash_medium *cm_of(struct brick_media *m)
{
	return (struct crash_medium *)((char *)m -
				       offsetof(struct crash_medium, m));
}

uint64_t crash_random(uint64_t *seed)
{
	uint64_t x = *seed ? *seed : 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*seed = x;
	/* Its low bits alone would show in small choices one after another. */
	return x * SCRAMBLE ^ x * SCRAMBLE >> HALF_BITS;
}

uint64_t crash_sample_off(const struct crash_medium *cm, uint64_t slot,
			  unsigned int sample)
{
	uint64_t at = sample ? KFB_BLOCK_BYTES - WORD : 0;

	return cm->data_off + (slot << KFB_BLOCK_SHIFT) + at;
}

/* Words before the data, of the slots, behind the data, then sectors. */
static uint32_t first_tail(const struct crash_medium *cm)
{
	return (uint32_t)(cm->meta_bytes / WORD + cm->n_slots * CRASH_SAMPLES);
}

static uint32_t first_sector(const struct crash_medium *cm)
{
	return first_tail(cm) + TAIL_BYTES / WORD;
}

static uint32_t n_words(const struct crash_medium *cm)
{
	return first_sector(cm) + cm->n_sectors;
}

static uint64_t mapped_bytes(const struct crash_medium *cm)
{
	return cm->tail_off + TAIL_BYTES + cm->n_sectors * WORD;
}

static uint64_t off_of(const struct crash_medium *cm, uint32_t w)
{
	uint32_t meta = (uint32_t)(cm->meta_bytes / WORD);

	if (w < meta)
		return (uint64_t)w * WORD;
	/* The words of sectors lie behind all that is the medium's. */
	if (w >= first_tail(cm))
		return cm->tail_off + (uint64_t)(w - first_tail(cm)) * WORD;
	w -= meta;
	return crash_sample_off(cm, w / CRASH_SAMPLES, w % CRASH_SAMPLES);
}

/* The number of the word at off, or UINT32_MAX if it does not exist. */
static uint32_t word_at(const struct crash_medium *cm, uint64_t off)
{
	uint64_t slot = (off - cm->data_off) >> KFB_BLOCK_SHIFT;
	uint32_t s;

	if (off < cm->meta_bytes)
		return (uint32_t)(off / WORD);
	if (off < cm->data_off)
		abort(); /* a test whose tables need more must raise the bound */
	if (off >= cm->tail_off && off < cm->tail_off + TAIL_BYTES)
		return first_tail(cm) + (uint32_t)((off - cm->tail_off) / WORD);
	if (off < cm->data_off || slot >= cm->n_slots)
		return UINT32_MAX;
	for (s = 0; s < CRASH_SAMPLES; s++)
		if (off == crash_sample_off(cm, slot, s))
			return (uint32_t)(cm->meta_bytes / WORD +
					  slot * CRASH_SAMPLES + s);
	return UINT32_MAX;
}

uint64_t crash_medium_load(const struct crash_medium *cm, uint64_t off)
{
	uint64_t value;

	memcpy(&value, cm->m.base + off, WORD);
	return value;
}

static void show(struct crash_medium *cm, uint32_t w, uint64_t value)
{
	memcpy(cm->m.base + off_of(cm, w), &value, WORD);
}

/* A word's value is durable, here and in all states that follow. */
static void set_durable(struct crash_medium *cm, uint32_t w, uint64_t value)
{
	cm->durable[w] = value;
	for (cm = cm->next; cm; cm = cm->next) {
		cm->durable[w] = value;
		show(cm, w, value);
	}
}

static void touch(struct crash_medium *cm, uint32_t w)
{
	if (cm->is_touched[w])
		return;
	cm->is_touched[w] = true;
	cm->touched[cm->n_touched++] = w;
}

static void store(struct crash_medium *cm, uint32_t w, uint64_t value)
{
	struct crash_word *cw = &cm->words[w];

	/* The same value again makes no new state. */
	if (crash_medium_load(cm, off_of(cm, w)) == value)
		return;
	if (cw->n_pending == CRASH_PENDING_MAX)
		abort(); /* a test that needs more must raise the bound */
	if (!cw->n_pending)
		cm->dirty[cm->n_dirty++] = w;
	cw->pending[cw->n_pending++] = value;
	show(cm, w, value);
	touch(cm, w);
}

uint64_t crash_medium_sector(const struct crash_medium *cm, uint32_t i)
{
	return crash_medium_load(cm, off_of(cm, first_sector(cm) + i));
}

static void before_op(const struct crash_medium *cm)
{
	if (cm->on_op)
		cm->on_op();
}

static void store_at(struct crash_medium *cm, uint64_t off, uint64_t value)
{
	uint32_t w = word_at(cm, off);

	if (w != UINT32_MAX)
		store(cm, w, value);
}

static void op_st64(struct brick_media *m, uint64_t off, uint64_t value)
{
	before_op(cm_of(m));
	store_at(cm_of(m), off, value);
}

/* Between the first and the last word of a slot there are none. */
static uint64_t skip_gap(const struct crash_medium *cm, uint64_t off)
{
	uint64_t in = (off - cm->data_off) % KFB_BLOCK_BYTES;

	if (off < cm->data_off || off >= cm->tail_off || !in ||
	    in > KFB_BLOCK_BYTES - WORD)
		return off;
	return off - in + KFB_BLOCK_BYTES - WORD;
}

static void op_copy(struct brick_media *m, uint64_t off, const void *src,
		    size_t len)
{
	struct crash_medium *cm = cm_of(m);
	const uint8_t *from = src;
	uint64_t value, at;

	for (at = 0; at < len; at += WORD) {
		at = skip_gap(cm, off + at) - off;
		if (at >= len || word_at(cm, off + at) == UINT32_MAX)
			continue;
		before_op(cm);
		memcpy(&value, from + at, WORD);
		store_at(cm, off + at, value);
	}
}

/* Call fn on the words of a range that exist. */
static void each_word(struct crash_medium *cm, uint64_t off, uint64_t len,
		      void (*fn)(struct crash_medium *cm, uint32_t w))
{
	uint64_t end = off + len, slot;
	uint32_t w, s;

	off = off / WORD * WORD;
	for (; off < end && off < cm->meta_bytes; off += WORD)
		fn(cm, (uint32_t)(off / WORD));
	if (end <= cm->data_off)
		return;
	for (w = first_tail(cm); end > cm->tail_off && w < first_sector(cm);
	     w++)
		if (off_of(cm, w) >= off && off_of(cm, w) < end)
			fn(cm, w);
	for (slot = 0; slot < cm->n_slots; slot++) {
		for (s = 0; s < CRASH_SAMPLES; s++) {
			uint64_t at = crash_sample_off(cm, slot, s);

			w = word_at(cm, at);
			if (at >= off && at < end)
				fn(cm, w);
		}
	}
}

static void zero_word(struct crash_medium *cm, uint32_t w)
{
	store(cm, w, 0);
}

static void op_zero(struct brick_media *m, uint64_t off, size_t len)
{
	struct crash_medium *cm = cm_of(m);

	before_op(cm);
	if (!cm->sabotage.skip_zero)
		each_word(cm, off, len, zero_word);
}

static void flush_word(struct crash_medium *cm, uint32_t w)
{
	cm->words[w].n_flushed[crash_thread] = cm->words[w].n_pending;
}

static void op_flush(struct brick_media *m, uint64_t off, size_t len)
{
	struct crash_medium *cm = cm_of(m);
	bool is_data = off >= cm->data_off;
	bool is_mirror = !is_data && off >= cm->mirror_off;

	before_op(cm);
	if ((is_data && cm->sabotage.skip_data_flush) ||
	    (!is_data && cm->sabotage.skip_meta_flush) ||
	    (is_mirror && cm->sabotage.skip_mirror_flush))
		return;
	each_word(cm, off, len, flush_word);
}

/* The first n pending values of a word are durable, or overwritten. */
static void settle(struct crash_medium *cm, uint32_t w, uint8_t n)
{
	struct crash_word *cw = &cm->words[w];
	unsigned int t;

	set_durable(cm, w, cw->pending[n - 1]);
	cw->n_pending -= n;
	for (t = 0; t < CRASH_THREADS; t++)
		cw->n_flushed[t] -= cw->n_flushed[t] < n ? cw->n_flushed[t] : n;
	memmove(cw->pending, cw->pending + n,
		cw->n_pending * sizeof(cw->pending[0]));
}

static void drain_words(struct crash_medium *cm)
{
	uint32_t i, kept = 0;

	for (i = 0; i < cm->n_dirty; i++) {
		uint32_t w = cm->dirty[i];
		struct crash_word *cw = &cm->words[w];

		if (cw->n_flushed[crash_thread])
			settle(cm, w, cw->n_flushed[crash_thread]);
		if (cw->n_pending)
			cm->dirty[kept++] = w;
	}
	cm->n_dirty = kept;
}

static int op_drain(struct brick_media *m)
{
	struct crash_medium *cm = cm_of(m);

	before_op(cm);
	if (++cm->n_drains == cm->sabotage.skip_drain)
		return 0;
	if (cm->on_point)
		cm->on_point(cm, cm->arg);
	drain_words(cm);
	if (cm->on_point)
		cm->on_point(cm, cm->arg);
	return 0;
}

void crash_medium_set_sector(struct crash_medium *cm, uint32_t i,
			     uint64_t value)
{
	before_op(cm);
	store(cm, first_sector(cm) + i, value);
}

static void sync_sectors(struct crash_medium *cm)
{
	uint32_t i, kept = 0;

	for (i = 0; i < cm->n_dirty; i++) {
		uint32_t w = cm->dirty[i];

		if (w >= first_sector(cm))
			settle(cm, w, cm->words[w].n_pending);
		else
			cm->dirty[kept++] = w;
	}
	cm->n_dirty = kept;
}

void crash_medium_sync(struct crash_medium *cm)
{
	before_op(cm);
	if (cm->sabotage.skip_sync)
		return;
	if (cm->on_point)
		cm->on_point(cm, cm->arg);
	sync_sectors(cm);
	if (cm->on_point)
		cm->on_point(cm, cm->arg);
}

static void op_close(struct brick_media *m)
{
	(void)m;
}

static const struct brick_media_ops crash_ops = {
	.st64 = op_st64,
	.copy = op_copy,
	.zero = op_zero,
	.flush = op_flush,
	.drain = op_drain,
	.close = op_close,
};

static char crash_path[] = "crash";

static void lay_out(struct crash_medium *cm, uint64_t n_slots, uint64_t n_slow)
{
	struct brick_super sb;
	uint64_t size;

	/* One block more than the slots need holds the tables. */
	size = (n_slots + 1) << KFB_BLOCK_SHIFT;
	if (brick_super_plan(size, n_slow, &sb) || sb.n != n_slots)
		abort();
	cm->meta_bytes =
		sb.rec_off[1] + (sb.rec_off[1] - sb.rec_off[0]) + SPARE_BYTES;
	cm->mirror_off = sb.rec_off[1];
	cm->data_off = sb.data_off;
	cm->n_slots = n_slots;
	cm->tail_off = size;
	cm->m.size = size;
	cm->n_slow = n_slow;
	if (n_slow)
		cm->n_sectors = (uint32_t)(CRASH_HEADER_SECTORS +
					   n_slow * CRASH_SAMPLES);
}

struct crash_medium *crash_medium_new(uint64_t n_slots, uint64_t n_slow,
				      unsigned int levels)
{
	struct crash_medium *cm;
	uint32_t n;

	if (!levels)
		return NULL;
	cm = calloc(1, sizeof(*cm));
	if (!cm)
		abort();
	lay_out(cm, n_slots, n_slow);
	cm->m.ops = &crash_ops;
	cm->m.path = crash_path;
	cm->m.fd = -1;
	cm->m.granularity = BRICK_GRANULARITY_CACHE_LINE;
	cm->m.medium = &brick_medium_devdax;
	cm->m.fresh_is_zero = true;
	cm->m.base = mmap(NULL, mapped_bytes(cm), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	n = n_words(cm);
	cm->durable = calloc(n, sizeof(*cm->durable));
	cm->words = calloc(n, sizeof(*cm->words));
	cm->dirty = calloc(n, sizeof(*cm->dirty));
	cm->touched = calloc(n, sizeof(*cm->touched));
	cm->is_touched = calloc(n, sizeof(*cm->is_touched));
	if (cm->m.base == MAP_FAILED || !cm->durable || !cm->words ||
	    !cm->dirty || !cm->touched || !cm->is_touched)
		abort();
	cm->next = crash_medium_new(n_slots, n_slow, levels - 1);
	return cm;
}

void crash_medium_free(struct crash_medium *cm)
{
	if (!cm)
		return;
	crash_medium_free(cm->next);
	(void)munmap(cm->m.base, mapped_bytes(cm));
	free(cm->durable);
	free(cm->words);
	free(cm->dirty);
	free(cm->touched);
	free(cm->is_touched);
	free(cm);
}

void crash_medium_resize(struct crash_medium *cm, uint64_t n_slots)
{
	for (; cm; cm = cm->next) {
		cm->m.size = cm->data_off + (n_slots << KFB_BLOCK_SHIFT);
		if (n_slots == cm->n_slots)
			cm->m.size += TAIL_BYTES;
	}
}

void crash_medium_mark(struct crash_medium *cm)
{
	cm->n_drains = 0;
}

void crash_medium_give(struct crash_medium *cm, uint32_t i, unsigned int n)
{
	uint32_t w = cm->dirty[i];
	uint64_t value = n ? cm->words[w].pending[n - 1] : cm->durable[w];

	show(cm->next, w, value);
	set_durable(cm->next, w, value);
	touch(cm->next, w);
}

void crash_medium_restore(struct crash_medium *cm)
{
	struct crash_medium *next = cm->next;
	uint32_t i;

	for (i = 0; i < next->n_touched; i++) {
		uint32_t w = next->touched[i];

		next->is_touched[w] = false;
		next->words[w].n_pending = 0;
		memset(next->words[w].n_flushed, 0,
		       sizeof(next->words[w].n_flushed));
		show(next, w, cm->durable[w]);
		set_durable(next, w, cm->durable[w]);
	}
	next->n_touched = 0;
	next->n_dirty = 0;
}

bool crash_medium_spoil(struct crash_medium *cm, uint64_t off, uint64_t value)
{
	bool changed = crash_medium_load(cm, off) != value;
	uint32_t w = word_at(cm, off);

	show(cm, w, value);
	set_durable(cm, w, value);
	touch(cm, w);
	return changed;
}
