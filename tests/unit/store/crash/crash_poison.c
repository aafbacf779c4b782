// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lost lines: 64 bytes of metadata that read as zeros, as junk or as another
 * line, or one bit of them that flipped, on top of a power failure. Everything
 * exists twice, so that one lost line costs nothing.
 *
 * The exception is a birth change under way, which uses one copy to protect
 * the other: a block whose good copy is lost at that moment is given up, and
 * said to be.
 */
#include "brickd/store/store_impl.h"
#include "crash_load.h"

#define LINES_PER_PAGE	 (BRICK_FMT_PAGE / CRASH_LINE_BYTES)
#define RECORDS_PER_LINE (CRASH_LINE_BYTES / sizeof(struct brick_fmt_record))

static uint64_t page_line(struct crash_load *l, uint64_t pages)
{
	return pages +
	       (uint64_t)crash_roll(l, BRICK_FMT_COPIES) * BRICK_FMT_PAGE +
	       (uint64_t)crash_roll(l, LINES_PER_PAGE) * CRASH_LINE_BYTES;
}

/* The line reads as zeros, or as junk. */
bool crash_lose_line(struct crash_load *l, struct crash_medium *cm,
		     uint64_t off)
{
	uint64_t end = off + CRASH_LINE_BYTES;
	bool zero = crash_roll(l, 2), changed = false;

	for (; off < end; off += CRASH_WORD_BYTES)
		changed |= crash_medium_spoil(
			cm, off, zero ? 0 : crash_random(&l->seed));
	return changed;
}

/* One bit of a state word; the other bits still make sense. */
static void flip_bit(struct crash_load *l, struct crash_medium *cm,
		     uint64_t record)
{
	uint64_t off = record + offsetof(struct brick_fmt_record, word);
	unsigned int bit = crash_roll(l, 64);

	(void)crash_medium_spoil(cm, off,
				 crash_medium_load(cm, off) ^ 1ULL << bit);
}

/* What belongs to other slots: a write went to the wrong place. */
static void misplace_line(struct crash_medium *cm, uint64_t off, uint64_t from)
{
	uint64_t i;

	for (i = 0; i < CRASH_LINE_BYTES; i += CRASH_WORD_BYTES)
		(void)crash_medium_spoil(cm, off + i,
					 crash_medium_load(cm, from + i));
}

/* One of the tables: the slow tier's bit, and how many slots it has. */
static uint64_t roll_tier(struct crash_load *l, unsigned int *n)
{
	const struct brick_super *sb = &l->s->sb;
	bool slow = sb->n_slow && crash_roll(l, 2);

	*n = (unsigned int)(slow ? sb->n_slow : sb->n);
	return slow ? BRICK_SLOT_SLOW : 0;
}

/* A line of one copy, or of both. */
static void lose_records(struct crash_load *l, struct crash_medium *cm,
			 struct crash_loss *loss)
{
	const struct brick_super *sb = &l->s->sb;
	unsigned int copy = crash_roll(l, BRICK_FMT_COPIES), n;
	uint64_t tier = roll_tier(l, &n);
	uint64_t slot = crash_roll(l, n) & ~(RECORDS_PER_LINE - 1);
	uint64_t other = slot ? 0 : RECORDS_PER_LINE;
	bool has_other = other < n;

	n -= (unsigned int)slot;
	slot |= tier;
	other |= tier;
	loss->n_records = n < RECORDS_PER_LINE ? n : RECORDS_PER_LINE;
	if (!crash_roll(l, 4) && has_other) {
		misplace_line(cm, brick_super_rec(sb, copy, slot),
			      brick_super_rec(sb, copy, other));
		return;
	}
	(void)crash_lose_line(l, cm, brick_super_rec(sb, copy, slot));
	if (l->in_flight || crash_roll(l, 4))
		return;
	(void)crash_lose_line(l, cm, brick_super_rec(sb, !copy, slot));
	loss->n_bad = loss->n_records;
	loss->n_records = 0;
	loss->first_bad = slot;
}

static void lose_record(struct crash_load *l, struct crash_medium *cm,
			struct crash_loss *loss)
{
	unsigned int copy = crash_roll(l, BRICK_FMT_COPIES), n;
	uint64_t tier;

	loss->happened = true;
	if (crash_roll(l, 4)) {
		lose_records(l, cm, loss);
		return;
	}
	tier = roll_tier(l, &n);
	flip_bit(l, cm,
		 brick_super_rec(&l->s->sb, copy, crash_roll(l, n) | tier));
	loss->n_records = 1;
}

void crash_poison(struct crash_load *l, struct crash_medium *cm,
		  struct crash_loss *loss)
{
	switch (crash_roll(l, 64)) {
	case 0:
		loss->super =
			crash_lose_line(l, cm, page_line(l, BRICK_FMT_SUPER));
		break;
	case 1:
		loss->instance = crash_lose_line(
			l, cm, page_line(l, BRICK_FMT_INSTANCE));
		break;
	case 2:
		loss->needs_open =
			crash_lose_line(l, cm, page_line(l, BRICK_FMT_EVENTS));
		break;
	case 3:
	case 4:
		loss->commit = crash_lose_line(
			l, cm,
			BRICK_FMT_COMMIT + crash_roll(l, BRICK_FMT_COPIES) *
						   BRICK_FMT_PAGE);
		break;
	default:
		lose_record(l, cm, loss);
		break;
	}
	loss->needs_open |= loss->super || loss->instance;
	loss->happened |= loss->needs_open || loss->commit;
}

/* The blocks that lived in slots both of whose records are lost. */
static void forget_bad(struct crash_load *l, const struct crash_loss *loss,
		       struct model *model)
{
	struct brick_run run;
	unsigned int key;

	for (key = 0; key < MODEL_KEYS; key++)
		if (model->blocks[key].there &&
		    !brick_store_lookup(l->s, model_va(key), 1, &run) &&
		    run.slot - loss->first_bad < loss->n_bad)
			model->blocks[key].there = false;
}

static const char *check_report(const struct brick_store_recovery *r,
				const struct crash_loss *loss)
{
	if (r->super_repaired != loss->super)
		return "a lost superblock is not reported as it is";
	if (r->commit_repaired != loss->commit)
		return "a lost commit word is not reported as it is";
	if (r->instance_repaired != loss->instance)
		return "a lost instance page is not reported as it is";
	if (r->records_repaired + r->records_bad !=
	    loss->n_records + loss->n_bad)
		return "lost records are not reported as they are";
	if (r->records_bad < loss->n_bad)
		return "a slot without a record is still in use";
	return NULL;
}

void crash_check_loss(struct crash_load *l, struct brick_store *s,
		      struct crash_medium *cm, const struct crash_loss *loss)
{
	const struct brick_store_recovery *r = brick_store_recovery(s);
	struct model want = l->after;
	const char *wrong;

	wrong = check_report(r, loss);
	if (!wrong)
		wrong = model_check_slots(s, cm);
	if (!wrong && l->in_flight) {
		wrong = model_compare_each(&l->now, &l->after, s, cm,
					   r->records_bad > 0);
	} else if (!wrong) {
		forget_bad(l, loss, &want);
		wrong = model_compare(&want, s, cm);
		if (!wrong && r->records_bad != loss->n_bad)
			wrong = "one lost line costs a slot";
	}
	if (wrong)
		crash_blame(l, wrong);
}
