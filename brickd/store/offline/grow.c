// SPDX-License-Identifier: BSD-2-Clause
/*
 * Growing: where the larger tables go, and in which order things are written.
 *
 * Both tiers' tables are treated alike. Those with room for more need only more
 * records: nothing reads records beyond n before the superblock says so. Else
 * new tables are written where neither the old tables nor data are: before the
 * data if there is room, else behind the last slot. A slot may then come to lie
 * where old tables were; it is DIRTY, and nobody writes to it before the new
 * superblock is durable.
 *
 * Every record is settled first, so that no batch is under way in what is
 * copied.
 */
#include "brickd/store/offline/grow.h"

#include <errno.h>
#include <string.h>

#include "brickd/media/media_say.h"
#include "brickd/media/progress.h"
#include "brickd/store/offline/check.h"
#include "brickd/store/store_impl.h"

/* Slots that fit if extra bytes behind them are taken. */
static uint64_t slots_before(const struct brick_super *sb, uint64_t size,
			     uint64_t extra)
{
	if (size < sb->data_off + extra)
		return 0;
	size = (size - sb->data_off - extra) >> KFB_BLOCK_SHIFT;
	return size < BRICK_SLOTS_MAX ? size : BRICK_SLOTS_MAX;
}

static bool is_behind(const struct brick_super *sb, uint64_t off)
{
	return off >= sb->data_off;
}

/* The end of the tables before the data, or behind them; at least least. */
static uint64_t end_of_tables(const struct brick_super *sb, bool behind,
			      uint64_t least)
{
	uint64_t end = least, at;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		at = sb->rec_off[copy] + brick_super_table_bytes(sb->capacity);
		if (is_behind(sb, sb->rec_off[copy]) == behind && at > end)
			end = at;
		at = sb->slow_off[copy] + brick_super_table_bytes(sb->cap_slow);
		if (sb->n_slow && is_behind(sb, sb->slow_off[copy]) == behind &&
		    at > end)
			end = at;
	}
	return end;
}

/* Both copies of a table for n records. Return: the end. */
static uint64_t put_table(uint64_t off[BRICK_FMT_COPIES], uint64_t n,
			  uint64_t at)
{
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		off[copy] = at;
		at += brick_super_table_bytes(n);
	}
	return at;
}

/*
 * The layout for up to n slots and n_slow of the slow tier. Tables behind the
 * data would be in the way of new slots, and have to move for these. The old
 * tables stay whole until the new ones count.
 */
static bool lay_out_grown(const struct brick_super *old, uint64_t n,
			  uint64_t n_slow, bool tail, struct brick_super *sb)
{
	bool grows = n > old->n;
	bool fast =
		n > old->capacity || (grows && is_behind(old, old->rec_off[0]));
	bool slow = n_slow > old->cap_slow ||
		    (grows && n_slow && is_behind(old, old->slow_off[0]));
	uint64_t need = 2 * (fast ? brick_super_table_bytes(n) : 0) +
			2 * (slow ? brick_super_table_bytes(n_slow) : 0);
	uint64_t at = end_of_tables(old, false, BRICK_FMT_TABLES);

	if (need && (tail || at + need > old->data_off)) {
		if (grows)
			n = slots_before(old, sb->total_size, need);
		if (n < old->n || (grows && n == old->n))
			return false;
		at = end_of_tables(old, true,
				   old->data_off + (n << KFB_BLOCK_SHIFT));
		if (at + need > sb->total_size)
			return false;
	}
	sb->n = n;
	sb->n_slow = n_slow;
	if (fast) {
		sb->capacity = n;
		at = put_table(sb->rec_off, n, at);
	}
	if (slow) {
		sb->cap_slow = n_slow;
		(void)put_table(sb->slow_off, n_slow, at);
	}
	return true;
}

/* The layout of the grown store. Return: whether it has more slots. */
static bool plan_growth(const struct brick_super *old, uint64_t size,
			uint64_t n_slow, bool tail, struct brick_super *sb)
{
	uint64_t n = slots_before(old, size, 0);

	*sb = *old;
	sb->seq++;
	sb->total_size = size;
	if (n > old->n && lay_out_grown(old, n, n_slow, tail, sb))
		return true;
	return n_slow > old->n_slow &&
	       lay_out_grown(old, old->n, n_slow, tail, sb);
}

static void copy_table(struct brick_media *m, const uint64_t *from,
		       const uint64_t *to, uint64_t n)
{
	size_t len = n * sizeof(struct brick_fmt_record);
	unsigned int copy;

	if (from[0] == to[0])
		return;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		m->ops->copy(m, to[copy], m->base + from[0], len);
		m->ops->flush(m, to[copy], len);
	}
}

/* Records of n slots of one tier; the first n_dirty may not be zero. */
static void add_records(struct brick_media *m, const struct brick_super *sb,
			uint64_t first, uint64_t n, uint64_t n_dirty)
{
	const struct brick_payload none = { .id = 0 };
	struct brick_word w;
	uint64_t i;

	for (i = 0; i < n; i++) {
		brick_progress("adding records", i, n);
		w = (struct brick_word){ .state = BRICK_DIRTY };
		if (i >= n_dirty)
			w.state = BRICK_CLEAN;
		brick_record_put_payload(m, sb, BRICK_COPY_BOTH, first + i,
					 &none);
		brick_record_put_word(m, sb, BRICK_COPY_BOTH, first + i, w);
	}
	brick_record_flush(m, sb, BRICK_COPY_BOTH, first, n);
}

/* How many of the slots from off on begin before zero_from. */
static uint64_t n_before(uint64_t zero_from, uint64_t off)
{
	if (zero_from <= off)
		return 0;
	return (zero_from - off + KFB_BLOCK_BYTES - 1) >> KFB_BLOCK_SHIFT;
}

/*
 * All that the new superblock will point to, then the header of a slow tier that
 * grows, then what counts.
 */
static int write_all(struct brick_media *m, const struct brick_grow *g,
		     const struct brick_super *old,
		     const struct brick_super *sb, uint64_t slow_zero_from)
{
	int ret = 0;

	copy_table(m, old->rec_off, sb->rec_off, old->n);
	add_records(m, sb, old->n, sb->n - old->n,
		    n_before(g->zero_from, brick_super_data(sb, old->n)));
	copy_table(m, old->slow_off, sb->slow_off, old->n_slow);
	add_records(m, sb, BRICK_SLOT_SLOW + old->n_slow,
		    sb->n_slow - old->n_slow,
		    n_before(slow_zero_from, brick_slow_data(old->n_slow)));
	ret = m->ops->drain(m);
	/* It may say more than the superblock, not less. */
	if (!ret && sb->n_slow > old->n_slow)
		ret = brick_slow_write_header(g->slow, sb);
	return ret ? ret : brick_super_flip(m, sb);
}

static int settle_growth(struct brick_media *m, const struct brick_grow *g,
			 char *err, size_t err_len)
{
	struct brick_check c = { .repair = true };
	int ret;

	memcpy(c.boot_id, g->boot_id, sizeof(c.boot_id));
	ret = brick_store_check(m, &c, err, err_len);
	if (ret || c.is_repaired)
		return ret;
	brick_media_say(err, err_len,
			"%s: damaged beyond repair; brickctl check says how",
			m->path);
	return -EUCLEAN;
}

/* The slow tier as large as it is to be. */
static int take_slow(const struct brick_super *old, const struct brick_media *m,
		     struct brick_grow *g, uint64_t *zero_from, char *err,
		     size_t err_len)
{
	bool damaged;
	uint64_t room;
	int ret;

	g->slow_before = old->n_slow;
	g->slow_after = old->n_slow;
	*zero_from = UINT64_MAX;
	if (!g->slow)
		return 0;
	if (!old->n_slow) {
		brick_media_say(
			err, err_len,
			"%s: has no slow tier; only format gives it one",
			m->path);
		return -EOPNOTSUPP;
	}
	ret = brick_slow_keeps(g->slow, m, err, err_len);
	if (!ret)
		ret = brick_slow_check(g->slow, old, &damaged, err, err_len);
	/* First: the header that counts must not be the one that is torn. */
	if (!ret)
		ret = brick_slow_repair(g->slow, old);
	if (ret)
		return ret;
	if (g->slow_size) {
		*zero_from = g->slow->size;
		ret = brick_slow_extend(g->slow, g->slow_size, err, err_len);
	}
	room = brick_slow_room(g->slow);
	if (!ret && room > old->n_slow)
		g->slow_after = room < BRICK_SLOTS_MAX ? room : BRICK_SLOTS_MAX;
	return ret;
}

static int no_room(const struct brick_media *m, const struct brick_grow *g,
		   char *err, size_t err_len)
{
	if (g->slow_after > g->slow_before)
		brick_media_say(err, err_len,
				"%s: %llu bytes have no room for the records "
				"of %llu slots of the slow tier: make the "
				"store larger, too",
				m->path, (unsigned long long)m->size,
				(unsigned long long)g->slow_after);
	else
		brick_media_say(err, err_len,
				"%s: %llu bytes have no room for another block "
				"of 2 MiB",
				m->path, (unsigned long long)m->size);
	return -ENOSPC;
}

int brick_store_grow(struct brick_media *m, struct brick_grow *g, char *err,
		     size_t err_len)
{
	struct brick_super old, sb;
	uint64_t slow_zero_from;
	bool damaged;
	int ret;

	ret = settle_growth(m, g, err, err_len);
	if (!ret)
		ret = brick_super_read(m, &old, &damaged, err, err_len);
	if (!ret)
		ret = take_slow(&old, m, g, &slow_zero_from, err, err_len);
	if (ret)
		return ret;
	g->n_before = old.n;
	g->n_after = old.n;
	if (!plan_growth(&old, m->size, g->slow_after, g->tail, &sb)) {
		ret = no_room(m, g, err, err_len);
		g->slow_after = g->slow_before;
		return ret;
	}
	ret = write_all(m, g, &old, &sb, slow_zero_from);
	if (ret) {
		brick_media_say(err, err_len, "%s: cannot write: %s", m->path,
				strerror(-ret));
		return -EIO;
	}
	g->n_after = sb.n;
	g->slow_after = sb.n_slow;
	return 0;
}
