// SPDX-License-Identifier: BSD-2-Clause
/*
 * Growing: where the larger tables go, and in which order things are written.
 *
 * Tables with room for more need only more records: nothing reads records
 * beyond n before the superblock says so. Else new tables are written where
 * neither the old tables nor data are: before the data if there is room, else
 * behind the last slot. A slot may then come to lie where old tables were; it
 * is DIRTY, and nobody writes to it before the new superblock is durable.
 *
 * Every record is settled first, so that no batch is under way in what is
 * copied.
 */
#include "brickd/store/grow.h"

#include <errno.h>
#include <string.h>

#include "brickd/media_say.h"
#include "brickd/store/check.h"
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

static uint64_t end_of_tables(const struct brick_super *sb)
{
	uint64_t end = BRICK_FMT_TABLES, at;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		at = sb->rec_off[copy] + brick_super_table_bytes(sb->capacity);
		if (sb->rec_off[copy] < sb->data_off && at > end)
			end = at;
		at = sb->slow_off[copy] + brick_super_table_bytes(sb->cap_slow);
		if (sb->n_slow && at > end)
			end = at;
	}
	return end;
}

static void put_tables(struct brick_super *sb, uint64_t off)
{
	sb->capacity = sb->n;
	sb->rec_off[0] = off;
	sb->rec_off[1] = off + brick_super_table_bytes(sb->n);
}

/* The layout of the grown store. Return: whether it has more slots. */
static bool plan(const struct brick_super *old, uint64_t size, bool tail,
		 struct brick_super *sb)
{
	uint64_t end = end_of_tables(old), both;

	*sb = *old;
	sb->seq++;
	sb->total_size = size;
	sb->n = slots_before(old, size, 0);
	/* Tables behind the data would be in the way of new slots. */
	if (sb->n <= old->capacity && old->rec_off[0] < old->data_off)
		return sb->n > old->n;
	both = 2 * brick_super_table_bytes(sb->n);
	if (!tail && end + both <= sb->data_off) {
		put_tables(sb, end);
		return sb->n > old->n;
	}
	sb->n = slots_before(old, size, both);
	put_tables(sb, sb->data_off + (sb->n << KFB_BLOCK_SHIFT));
	/* The old tables stay whole until the new ones count. */
	return sb->n > old->n &&
	       (old->rec_off[0] < old->data_off ||
		sb->rec_off[0] >= old->rec_off[1] + brick_super_table_bytes(
							    old->capacity));
}

static void copy_records(struct brick_media *m, const struct brick_super *old,
			 const struct brick_super *sb)
{
	unsigned int copy;

	if (old->rec_off[0] == sb->rec_off[0])
		return;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		m->ops->copy(m, sb->rec_off[copy], m->base + old->rec_off[0],
			     old->n * sizeof(struct brick_fmt_record));
	brick_record_flush(m, sb, BRICK_COPY_BOTH, 0, old->n);
}

static void add_records(struct brick_media *m, const struct brick_super *old,
			const struct brick_super *sb, uint64_t zero_from)
{
	const struct brick_payload none = { .id = 0 };
	struct brick_word w;
	uint64_t slot;

	for (slot = old->n; slot < sb->n; slot++) {
		w = (struct brick_word){ .state = BRICK_DIRTY };
		if (brick_super_data(sb, slot) >= zero_from)
			w.state = BRICK_CLEAN;
		brick_record_put_payload(m, sb, BRICK_COPY_BOTH, slot, &none);
		brick_record_put_word(m, sb, BRICK_COPY_BOTH, slot, w);
	}
	brick_record_flush(m, sb, BRICK_COPY_BOTH, old->n, sb->n - old->n);
}

static int settle(struct brick_media *m, const struct brick_grow *g, char *err,
		  size_t err_len)
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

int brick_store_grow(struct brick_media *m, struct brick_grow *g, char *err,
		     size_t err_len)
{
	struct brick_super old, sb;
	bool damaged;
	int ret;

	ret = settle(m, g, err, err_len);
	if (!ret)
		ret = brick_super_read(m, &old, &damaged, err, err_len);
	if (ret)
		return ret;
	g->n_before = old.n;
	g->n_after = old.n;
	if (!plan(&old, m->size, g->tail, &sb)) {
		brick_media_say(err, err_len,
				"%s: %llu bytes have no room for another block "
				"of 2 MiB",
				m->path, (unsigned long long)m->size);
		return -ENOSPC;
	}
	copy_records(m, &old, &sb);
	add_records(m, &old, &sb, g->zero_from);
	ret = m->ops->drain(m);
	if (!ret)
		ret = brick_super_flip(m, &sb);
	if (ret) {
		brick_media_say(err, err_len, "%s: cannot write: %s", m->path,
				strerror(-ret));
		return -EIO;
	}
	g->n_after = sb.n;
	return 0;
}
