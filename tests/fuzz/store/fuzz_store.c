// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes everything that reads a medium: superblock, commit words, instance
 * pages, event log, records, and recovery as a whole.
 *
 * The input patches a good image of a few slots:
 *
 *	byte 0		which checksums to make right afterwards (FIX_*), and
 *			whether to repair the store before it is opened
 *	then, repeated:	region, offset (2 bytes), length, that many bytes
 *
 * A store that opens must be consistent, usable, and open again without work. A
 * check changes nothing, finds nothing after a repair, and nothing fatal in a
 * store that opens.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/media/media_impl.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/offline/check.h"
#include "brickd/store/store_impl.h"
#include "kfb_endian.h"

#define SLOTS	     4U
#define SIZE	     ((SLOTS + 1) * KFB_BLOCK_BYTES)
#define TABLE_BYTES  BRICK_FMT_PAGE
#define META_BYTES   (BRICK_FMT_TABLES + 2 * TABLE_BYTES)
#define PATCH_HEAD   4U
#define WRITES_MAX   65536U
#define REGION_BYTES BRICK_FMT_PAGE
#define EVENT_REGION 6U
#define N_REGIONS    9U

#define FIX_SUPER    (1U << 0)
#define FIX_COMMIT   (1U << 1)
#define FIX_INSTANCE (1U << 2)
#define FIX_PAYLOAD  (1U << 3)
#define FIX_WORD     (1U << 4)
#define FIX_EVENT    (1U << 5)
#define REPAIR	     (1U << 6) /* before the store is opened */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct brick_media *medium;
static uint8_t *pristine; /* the first META_BYTES of a good image */
static uint64_t writes[WRITES_MAX]; /* words written beyond them */
static unsigned int n_writes;
static uint8_t boot;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void fuzz_st64(struct brick_media *m, uint64_t off, uint64_t value)
{
	check(off <= m->size - sizeof(value) && off % sizeof(value) == 0);
	if (off >= META_BYTES) {
		check(n_writes < WRITES_MAX);
		writes[n_writes++] = off;
	}
	brick_media_st64(m, off, value);
}

static void fuzz_copy(struct brick_media *m, uint64_t off, const void *src,
		      size_t len)
{
	const uint8_t *from = src;
	uint64_t word;

	check(len % sizeof(word) == 0);
	for (; len; len -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		fuzz_st64(m, off, word);
		off += sizeof(word);
		from += sizeof(word);
	}
}

/* Client data are not looked at: only metadata are really zeroed. */
static void fuzz_zero(struct brick_media *m, uint64_t off, size_t len)
{
	check(off <= m->size && len <= m->size - off);
	if (off < META_BYTES)
		memset(m->base + off, 0, len);
}

static void fuzz_flush(struct brick_media *m, uint64_t off, size_t len)
{
	check(off <= m->size && len <= m->size - off);
}

static struct brick_media_ops fuzz_ops = {
	.st64 = fuzz_st64,
	.copy = fuzz_copy,
	.zero = fuzz_zero,
	.flush = fuzz_flush,
	.drain = brick_media_drain_nothing,
};

static int open_store(struct brick_store **s)
{
	struct brick_store_open o = { .instance_id = 1 };
	char err[256];

	/* Each follows a reboot: no process can hold the store. */
	o.boot_id[0] = ++boot;
	o.boot_id[1] = 0xb0;
	return brick_store_open(medium, &o, s, err, sizeof(err));
}

static int change(struct brick_store *s, enum brick_store_op_kind kind,
		  uint64_t key, uint64_t n)
{
	struct brick_store_op op = {
		.kind = kind,
		.va = brick_va(key),
		.n_blocks = n,
		.owner = 9,
	};

	brick_store_commit(s, &op);
	return op.error;
}

/* A good image with every settled state in it. */
static void set_up(void)
{
	struct brick_store_format f = { .uuid = { 1 } };
	struct brick_store *s;
	char err[256];

	check(!brick_media_open("memory:10M", NULL, &medium, err, sizeof(err)));
	check(medium->size == SIZE);
	medium->ops = &fuzz_ops;
	medium->medium = &brick_medium_file;
	medium->is_volatile = false;
	check(!brick_store_format(medium, &f, err, sizeof(err)));
	check(!open_store(&s));
	check(!change(s, BRICK_STORE_ALLOC, 1, 3));
	check(!change(s, BRICK_STORE_BIRTH, 2, 1));
	check(!change(s, BRICK_STORE_FREE, 3, 1));
	brick_store_close(s, false);
	pristine = malloc(META_BYTES);
	check(pristine != NULL);
	memcpy(pristine, medium->base, META_BYTES);
}

static uint64_t region_off(unsigned int region)
{
	if (region < EVENT_REGION)
		return (uint64_t)region * BRICK_FMT_PAGE;
	if (region == EVENT_REGION)
		return BRICK_FMT_EVENTS;
	return BRICK_FMT_TABLES + (region - EVENT_REGION - 1) * TABLE_BYTES;
}

static void patch(const uint8_t *data, size_t size)
{
	while (size > PATCH_HEAD) {
		unsigned int region = data[0] % N_REGIONS;
		unsigned int off =
			(data[1] | (unsigned int)data[2] << 8) % REGION_BYTES;
		size_t len = data[3];

		data += PATCH_HEAD;
		size -= PATCH_HEAD;
		if (len > size)
			len = size;
		if (len > REGION_BYTES - off)
			len = REGION_BYTES - off;
		memcpy(medium->base + region_off(region) + off, data, len);
		data += len;
		size -= len;
	}
}

static void put_sum(uint64_t page, size_t sum_at, const struct brick_super *sb)
{
	uint8_t *at = medium->base + page;
	uint32_t crc = 0;
	__le32 le;

	if (sb) {
		kfb_put_le32(&le, sb->salt);
		crc = brick_crc32c(0, &le, sizeof(le));
	}
	kfb_put_le32(&le, brick_crc32c(crc, at, sum_at));
	memcpy(at + sum_at, &le, sizeof(le));
}

static void fix_records(const struct brick_super *sb, unsigned int fix)
{
	struct brick_payload p;
	struct brick_word w;
	unsigned int copy;
	uint64_t slot;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		for (slot = 0; slot < SLOTS; slot++) {
			(void)brick_record_get_payload(medium, sb, copy, slot,
						       &p);
			w = brick_record_peek(medium, sb, copy, slot);
			if (fix & FIX_PAYLOAD)
				brick_record_put_payload(
					medium, sb, BRICK_COPY(copy), slot, &p);
			if (fix & FIX_WORD)
				brick_record_put_word(
					medium, sb, BRICK_COPY(copy), slot, w);
		}
	}
}

static void fix_commit(const struct brick_super *sb)
{
	struct brick_fmt_commit raw[BRICK_FMT_COPIES];
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		memcpy(&raw[copy],
		       medium->base + BRICK_FMT_COMMIT + copy * BRICK_FMT_PAGE,
		       sizeof(raw[0]));
	brick_commit_write(medium, sb, kfb_get_le32(&raw[1].tx));
	memcpy(&raw[1], medium->base + BRICK_FMT_COMMIT + BRICK_FMT_PAGE,
	       sizeof(raw[1]));
	brick_commit_write(medium, sb, kfb_get_le32(&raw[0].tx));
	memcpy(medium->base + BRICK_FMT_COMMIT + BRICK_FMT_PAGE, &raw[1],
	       sizeof(raw[1]));
}

/* Make checksums right, so that what is behind them is reached. */
static void fix_sums(unsigned int fix)
{
	struct brick_fmt_super raw;
	struct brick_super sb = { .n = SLOTS };
	unsigned int copy;

	memcpy(&raw, medium->base, sizeof(raw));
	sb.salt = kfb_get_le32(&raw.salt);
	sb.rec_off[0] = BRICK_FMT_TABLES;
	sb.rec_off[1] = BRICK_FMT_TABLES + TABLE_BYTES;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		uint64_t page = (uint64_t)copy * BRICK_FMT_PAGE;

		if (fix & FIX_SUPER)
			put_sum(BRICK_FMT_SUPER + page,
				offsetof(struct brick_fmt_super, crc), NULL);
		if (fix & FIX_INSTANCE)
			put_sum(BRICK_FMT_INSTANCE + page,
				offsetof(struct brick_fmt_instance, crc), &sb);
	}
	if (fix & FIX_EVENT)
		put_sum(BRICK_FMT_EVENTS, offsetof(struct brick_fmt_event, crc),
			&sb);
	if (fix & FIX_COMMIT)
		fix_commit(&sb);
	fix_records(&sb, fix);
}

static uint64_t count_blocks(struct brick_store *s)
{
	uint64_t cursor = 0, changes, blocks = 0;
	struct brick_store_extent ext[2];
	struct brick_run run;
	unsigned int n, i;

	do {
		n = brick_store_list(s, &cursor, ext, 2, &changes);
		for (i = 0; i < n; i++) {
			blocks += ext[i].n_blocks;
			check(!brick_store_lookup(s, ext[i].va, ext[i].n_blocks,
						  &run));
			check(run.offset <= medium->size - KFB_BLOCK_BYTES);
		}
	} while (cursor);
	return blocks;
}

static void check_store(struct brick_store *s)
{
	struct brick_store_stats st;
	uint64_t blocks = count_blocks(s);

	brick_store_stats(s, &st);
	check(st.slots_alloc == blocks);
	check(st.slots_clean + st.slots_dirty + st.slots_alloc + st.slots_bad ==
	      st.slots_total);
}

static void use_store(struct brick_store *s)
{
	struct brick_event event;

	(void)change(s, BRICK_STORE_ALLOC, 10, 1);
	(void)change(s, BRICK_STORE_BIRTH, 1, 1);
	(void)change(s, BRICK_STORE_FREE, 1, 1);
	(void)change(s, BRICK_STORE_FREE, 2, 2);
	check(brick_store_clean_one(s, 2) >= 0);
	brick_store_flush(s, 0, UINT64_MAX);
	(void)brick_evlog_get(medium, &s->sb,
			      brick_evlog_last(medium, &s->sb) + 1, &event);
	check_store(s);
}

static int look_at_store(struct brick_check *c)
{
	char err[256];
	int ret = brick_store_check(medium, c, err, sizeof(err));

	check(ret != -ENOMEM && ret != -EIO);
	return ret;
}

/* Whether brickd must refuse the store. */
static bool check_and_repair(bool repair)
{
	static uint8_t before[META_BYTES];
	struct brick_check first = { .repair = false };
	struct brick_check second = { .repair = true };
	struct brick_check third = { .repair = false };

	memcpy(before, medium->base, META_BYTES);
	if (look_at_store(&first))
		return true;
	check(!memcmp(before, medium->base, META_BYTES));
	if (repair) {
		check(!look_at_store(&second));
		check(!memcmp(first.n, second.n, sizeof(first.n)));
		check(!look_at_store(&third));
		check(second.is_repaired == !third.n[BRICK_FINDING_FATAL]);
		check(!second.is_repaired || (!third.n[BRICK_FINDING_DAMAGE] &&
					      !third.n[BRICK_FINDING_LOSS]));
	}
	return first.n[BRICK_FINDING_FATAL];
}

static void recover_twice(bool must_refuse)
{
	const struct brick_store_recovery *r;
	struct brick_store *s;
	uint64_t blocks;
	int ret = open_store(&s);

	check(ret != -ENOMEM && ret != -EIO);
	check(ret || !must_refuse);
	if (ret)
		return;
	check_store(s);
	use_store(s);
	blocks = count_blocks(s);
	brick_store_close(s, false);
	check(!open_store(&s));
	r = brick_store_recovery(s);
	check(!r->records_bad && !r->records_repaired && !r->commit_repaired &&
	      !r->super_repaired && !r->instance_repaired &&
	      !r->records_resolved);
	check(count_blocks(s) == blocks);
	check_store(s);
	brick_store_close(s, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t zero;
	unsigned int fix;

	if (!medium)
		set_up();
	if (!size)
		return 0;
	fix = data[0];
	patch(data + 1, size - 1);
	fix_sums(fix);
	recover_twice(check_and_repair(fix & REPAIR));
	while (n_writes)
		memcpy(medium->base + writes[--n_writes], &zero, sizeof(zero));
	memcpy(medium->base, pristine, META_BYTES);
	return 0;
}
