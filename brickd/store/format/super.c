// SPDX-License-Identifier: BSD-2-Clause
/* The superblock: layout, checks, and writing it with its magic last. */
#include <errno.h>
#include <string.h>

#include "brickd/media/media_say.h"
#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/super.h"
#include "kfb_endian.h"

#define SUM_BYTES offsetof(struct brick_fmt_super, crc)

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static uint64_t copy_off(unsigned int copy)
{
	return BRICK_FMT_SUPER + copy * BRICK_FMT_PAGE;
}

uint64_t brick_super_table_bytes(uint64_t n)
{
	return round_up(n * sizeof(struct brick_fmt_record), BRICK_FMT_PAGE);
}

/* The features that a layout takes. */
static uint64_t incompat_of(const struct brick_super *sb)
{
	uint64_t bits = sb->n_slow ? BRICK_FMT_INCOMPAT_SLOW : 0;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		if (sb->rec_off[copy] > sb->data_off ||
		    sb->slow_off[copy] > sb->data_off)
			bits |= BRICK_FMT_INCOMPAT_TAIL;
	return bits;
}

/* Offsets for n slots; the caller looks whether total_size fits. */
static void lay_out(uint64_t n, uint64_t n_slow, struct brick_super *sb)
{
	uint64_t off = BRICK_FMT_TABLES;
	unsigned int copy;

	sb->n = n;
	sb->capacity = n;
	sb->n_slow = n_slow;
	sb->cap_slow = n_slow;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		sb->rec_off[copy] = off;
		off += brick_super_table_bytes(n);
		sb->slow_off[copy] = n_slow ? off : 0;
		off += brick_super_table_bytes(n_slow);
	}
	sb->data_off = round_up(off, KFB_BLOCK_BYTES);
	sb->total_size = sb->data_off + (n << KFB_BLOCK_SHIFT);
}

int brick_super_plan(uint64_t size, uint64_t n_slow, struct brick_super *sb)
{
	uint64_t n = size >> KFB_BLOCK_SHIFT;

	if (n > BRICK_SLOTS_MAX)
		n = BRICK_SLOTS_MAX;
	/* The tables take 1/32768 of both tiers: few steps. */
	while (n) {
		uint64_t over;

		lay_out(n, n_slow, sb);
		if (sb->total_size <= size)
			return 0;
		over = (sb->total_size - size + KFB_BLOCK_BYTES - 1) >>
		       KFB_BLOCK_SHIFT;
		if (over >= n)
			break;
		n -= over;
	}
	return -ENOSPC;
}

static void encode_super(const struct brick_super *sb,
			 struct brick_fmt_super *raw)
{
	unsigned int copy;

	memset(raw, 0, sizeof(*raw));
	kfb_put_le64(&raw->magic, BRICK_FMT_MAGIC);
	kfb_put_le32(&raw->version, BRICK_FMT_VERSION);
	kfb_put_le32(&raw->block_shift, KFB_BLOCK_SHIFT);
	memcpy(raw->uuid, sb->uuid, sizeof(raw->uuid));
	kfb_put_le64(&raw->seq, sb->seq);
	kfb_put_le32(&raw->salt, sb->salt);
	kfb_put_le64(&raw->feat_compat, sb->compat);
	kfb_put_le64(&raw->n_pmem, sb->n);
	kfb_put_le64(&raw->cap_pmem, sb->capacity);
	kfb_put_le64(&raw->n_slow, sb->n_slow);
	kfb_put_le64(&raw->cap_slow, sb->cap_slow);
	kfb_put_le64(&raw->feat_incompat, incompat_of(sb));
	memcpy(raw->slow_uuid, sb->slow_uuid, sizeof(raw->slow_uuid));
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		kfb_put_le64(&raw->rec_off[copy], sb->rec_off[copy]);
		kfb_put_le64(&raw->slow_off[copy], sb->slow_off[copy]);
	}
	kfb_put_le64(&raw->data_off, sb->data_off);
	kfb_put_le64(&raw->total_size, sb->total_size);
	kfb_put_le32(&raw->crc, brick_crc32c(0, raw, SUM_BYTES));
}

struct extent {
	uint64_t off;
	uint64_t len;
};

/* A table on a page: before the data, or behind them. */
static bool table_fits(const struct brick_super *sb, struct extent table)
{
	if (table.off % BRICK_FMT_PAGE || table.off < BRICK_FMT_TABLES ||
	    table.off > sb->total_size)
		return false;
	if (table.off < sb->data_off)
		return table.off + table.len <= sb->data_off;
	return table.off >= sb->data_off + (sb->n << KFB_BLOCK_SHIFT) &&
	       table.off + table.len <= sb->total_size;
}

static bool tables_are_sane(const struct brick_super *sb)
{
	struct extent tables[2 * BRICK_FMT_COPIES];
	unsigned int n = 0, i, k;

	for (i = 0; i < BRICK_FMT_COPIES; i++) {
		tables[n].off = sb->rec_off[i];
		tables[n++].len =
			sb->capacity * sizeof(struct brick_fmt_record);
		if (!sb->n_slow)
			continue;
		tables[n].off = sb->slow_off[i];
		tables[n++].len =
			sb->cap_slow * sizeof(struct brick_fmt_record);
	}
	for (i = 0; i < n; i++) {
		if (!table_fits(sb, tables[i]))
			return false;
		/* Two overlap. */
		for (k = 0; k < i; k++)
			if (tables[i].off < tables[k].off + tables[k].len &&
			    tables[k].off < tables[i].off + tables[i].len)
				return false;
	}
	return true;
}

/* Tables and data in bounds and apart; no sum can overflow. */
static bool geometry_is_sane(const struct brick_super *sb)
{
	bool names_slow = !brick_all_zero(sb->slow_uuid, sizeof(sb->slow_uuid));

	if (!sb->n || sb->n > sb->capacity || sb->capacity > BRICK_SLOTS_MAX ||
	    sb->total_size > INT64_MAX || names_slow != !!sb->n_slow)
		return false;
	if (sb->n_slow > sb->cap_slow || sb->cap_slow > BRICK_SLOTS_MAX)
		return false;
	if (!sb->n_slow && (sb->cap_slow || sb->slow_off[0] || sb->slow_off[1]))
		return false;
	if (sb->data_off % KFB_BLOCK_BYTES || sb->data_off > sb->total_size ||
	    sb->n > (sb->total_size - sb->data_off) >> KFB_BLOCK_SHIFT)
		return false;
	return tables_are_sane(sb);
}

static void decode_super(const struct brick_fmt_super *raw,
			 struct brick_super *sb)
{
	unsigned int copy;

	memcpy(sb->uuid, raw->uuid, sizeof(sb->uuid));
	sb->seq = kfb_get_le64(&raw->seq);
	sb->salt = kfb_get_le32(&raw->salt);
	sb->compat = kfb_get_le64(&raw->feat_compat);
	sb->n = kfb_get_le64(&raw->n_pmem);
	sb->capacity = kfb_get_le64(&raw->cap_pmem);
	sb->n_slow = kfb_get_le64(&raw->n_slow);
	sb->cap_slow = kfb_get_le64(&raw->cap_slow);
	memcpy(sb->slow_uuid, raw->slow_uuid, sizeof(sb->slow_uuid));
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		sb->rec_off[copy] = kfb_get_le64(&raw->rec_off[copy]);
		sb->slow_off[copy] = kfb_get_le64(&raw->slow_off[copy]);
	}
	sb->data_off = kfb_get_le64(&raw->data_off);
	sb->total_size = kfb_get_le64(&raw->total_size);
}

static int check_version(const struct brick_fmt_super *raw, const char *path,
			 char *err, size_t err_len)
{
	uint32_t version = kfb_get_le32(&raw->version);
	uint64_t bits =
		(kfb_get_le64(&raw->feat_incompat) & ~BRICK_FMT_INCOMPAT) |
		kfb_get_le64(&raw->feat_ro_compat);

	if (version == BRICK_FMT_VERSION && !bits)
		return 0;
	brick_media_say(err, err_len,
			"%s: the store has version %u, features 0x%llx; this "
			"brickd knows version %u: use a newer one",
			path, version, (unsigned long long)bits,
			BRICK_FMT_VERSION);
	return -EPROTONOSUPPORT;
}

static int check_fields(const struct brick_fmt_super *raw,
			const struct brick_media *m, struct brick_super *out,
			char *err, size_t err_len)
{
	struct brick_super sb;
	int ret;

	ret = check_version(raw, m->path, err, err_len);
	if (ret)
		return ret;
	decode_super(raw, &sb);
	/* What is reserved is what a later version gives a meaning. */
	if (kfb_get_le32(&raw->block_shift) != KFB_BLOCK_SHIFT ||
	    kfb_get_le32(&raw->reserved0) ||
	    !brick_all_zero(raw->reserved, sizeof(raw->reserved)) ||
	    !geometry_is_sane(&sb) ||
	    kfb_get_le64(&raw->feat_incompat) != incompat_of(&sb)) {
		brick_media_say(err, err_len,
				"%s: the superblock is intact but makes no "
				"sense; it was not written by brickd",
				m->path);
		return -EUCLEAN;
	}
	if (sb.total_size > m->size) {
		brick_media_say(err, err_len,
				"%s: truncated: the store has %llu bytes, the "
				"medium %llu; restore its size",
				m->path, (unsigned long long)sb.total_size,
				(unsigned long long)m->size);
		return -EINVAL;
	}
	*out = sb;
	return 0;
}

int brick_super_read(const struct brick_media *m, struct brick_super *sb,
		     bool *damaged, char *err, size_t err_len)
{
	struct brick_fmt_super raw[BRICK_FMT_COPIES];
	bool intact[BRICK_FMT_COPIES];
	bool has_magic, any_magic = false;
	unsigned int copy, best;
	int ret;

	if (m->size < BRICK_FMT_TABLES) {
		brick_media_say(err, err_len, "%s: too small for a store",
				m->path);
		return -EINVAL;
	}
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		memcpy(&raw[copy], m->base + copy_off(copy), sizeof(raw[0]));
		has_magic = kfb_get_le64(&raw[copy].magic) == BRICK_FMT_MAGIC;
		intact[copy] = has_magic &&
			       kfb_get_le32(&raw[copy].crc) ==
				       brick_crc32c(0, &raw[copy], SUM_BYTES);
		any_magic |= has_magic;
	}
	if (!intact[0] && !intact[1]) {
		brick_media_say(err, err_len,
				any_magic ? "%s: both superblocks are damaged"
					  : "%s: not a store; brickd format "
					    "makes one",
				m->path);
		return any_magic ? -EUCLEAN : -ENOENT;
	}
	best = !intact[0] || (intact[1] && kfb_get_le64(&raw[1].seq) >
						   kfb_get_le64(&raw[0].seq));
	ret = check_fields(&raw[best], m, sb, err, err_len);
	if (!ret)
		*damaged = memcmp(&raw[0], &raw[1], sizeof(raw[0])) != 0;
	return ret;
}

static void put_word(struct brick_media *m, uint64_t off, const void *le)
{
	uint64_t word;

	memcpy(&word, le, sizeof(word));
	m->ops->st64(m, off, word);
	m->ops->flush(m, off, sizeof(word));
}

int brick_super_erase(struct brick_media *m)
{
	static const uint64_t zero;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		put_word(m, copy_off(copy), &zero);
	return m->ops->drain(m);
}

int brick_super_write(struct brick_media *m, const struct brick_super *sb)
{
	struct brick_fmt_super raw;
	unsigned int copy;
	__le64 magic;
	int ret;

	encode_super(sb, &raw);
	magic = raw.magic;
	memset(&raw.magic, 0, sizeof(raw.magic));
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		m->ops->copy(m, copy_off(copy), &raw, sizeof(raw));
		m->ops->flush(m, copy_off(copy), sizeof(raw));
	}
	ret = m->ops->drain(m);
	if (ret)
		return ret;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		put_word(m, copy_off(copy), &magic);
	return m->ops->drain(m);
}

void brick_super_write_back(struct brick_media *m, const struct brick_super *sb)
{
	uint64_t end = sb->data_off + (sb->n << KFB_BLOCK_SHIFT);

	m->ops->flush(m, 0, sb->data_off);
	if (end < sb->total_size)
		m->ops->flush(m, end, sb->total_size - end);
}

int brick_super_repair(struct brick_media *m, const struct brick_super *sb)
{
	struct brick_fmt_super raw;
	unsigned int copy;

	encode_super(sb, &raw);
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		if (!memcmp(m->base + copy_off(copy), &raw, sizeof(raw)))
			continue;
		m->ops->copy(m, copy_off(copy), &raw, sizeof(raw));
		m->ops->flush(m, copy_off(copy), sizeof(raw));
	}
	return m->ops->drain(m);
}

int brick_super_flip(struct brick_media *m, const struct brick_super *sb)
{
	struct brick_fmt_super raw;
	unsigned int copy;
	int ret = 0;

	encode_super(sb, &raw);
	for (copy = BRICK_FMT_COPIES; !ret && copy--;) {
		m->ops->copy(m, copy_off(copy), &raw, sizeof(raw));
		m->ops->flush(m, copy_off(copy), sizeof(raw));
		ret = m->ops->drain(m);
	}
	return ret;
}
