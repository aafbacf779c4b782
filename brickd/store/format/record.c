// SPDX-License-Identifier: BSD-2-Clause
/* Reading and writing one copy of one slot's record. */
#include <string.h>

#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/record.h"
#include "kfb_endian.h"

#define PAYLOAD_BYTES offsetof(struct brick_fmt_record, word)
#define WORD_OFF      offsetof(struct brick_fmt_record, word)
#define CRC_SHIFT     32

static uint32_t payload_sum(const struct brick_super *sb, uint64_t slot,
			    const struct brick_payload *p)
{
	struct brick_fmt_payload_sum sum;

	kfb_put_le64(&sum.slot, slot);
	kfb_put_le64(&sum.id, p->id);
	kfb_put_le32(&sum.birth, p->birth);
	kfb_put_le32(&sum.move, p->move);
	kfb_put_le32(&sum.owner, p->owner);
	kfb_put_le32(&sum.salt, sb->salt);
	return brick_crc32c(0, &sum, sizeof(sum));
}

static uint32_t record_word_sum(const struct brick_super *sb, uint64_t slot,
				uint32_t state_tx)
{
	struct brick_fmt_word_sum sum;

	kfb_put_le64(&sum.slot, slot);
	kfb_put_le32(&sum.state_tx, state_tx);
	kfb_put_le32(&sum.salt, sb->salt);
	return brick_crc32c(0, &sum, sizeof(sum));
}

void brick_record_put_payload(struct brick_media *m,
			      const struct brick_super *sb, unsigned int copies,
			      uint64_t slot, const struct brick_payload *p)
{
	struct brick_fmt_record raw;
	unsigned int copy;

	kfb_put_le64(&raw.id, p->id);
	kfb_put_le32(&raw.birth, p->birth);
	kfb_put_le32(&raw.move, p->move);
	kfb_put_le32(&raw.owner, p->owner);
	kfb_put_le32(&raw.crc, payload_sum(sb, slot, p));
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		if (copies & BRICK_COPY(copy))
			m->ops->copy(m, brick_super_rec(sb, copy, slot), &raw,
				     PAYLOAD_BYTES);
}

void brick_record_put_word(struct brick_media *m, const struct brick_super *sb,
			   unsigned int copies, uint64_t slot,
			   struct brick_word w)
{
	uint32_t state_tx = (uint32_t)w.state | w.tx << BRICK_FMT_STATE_BITS;
	unsigned int copy;
	uint64_t word;
	__le64 raw;

	kfb_put_le64(&raw, (uint64_t)record_word_sum(sb, slot, state_tx)
					   << CRC_SHIFT |
				   state_tx);
	memcpy(&word, &raw, sizeof(word));
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		if (copies & BRICK_COPY(copy))
			m->ops->st64(m,
				     brick_super_rec(sb, copy, slot) + WORD_OFF,
				     word);
}

/* Eight bytes at a time: a copy of the record may be written meanwhile. */
static void load_words(const struct brick_media *m, uint64_t off, void *to,
		       size_t len)
{
	uint8_t *out = to;
	uint64_t word;

	for (; len; len -= sizeof(word)) {
		word = __atomic_load_n(
			(const uint64_t *)(const void *)(m->base + off),
			__ATOMIC_ACQUIRE);
		memcpy(out, &word, sizeof(word));
		out += sizeof(word);
		off += sizeof(word);
	}
}

bool brick_record_get_payload(const struct brick_media *m,
			      const struct brick_super *sb, unsigned int copy,
			      uint64_t slot, struct brick_payload *p)
{
	struct brick_fmt_record raw;

	load_words(m, brick_super_rec(sb, copy, slot), &raw, PAYLOAD_BYTES);
	p->id = kfb_get_le64(&raw.id);
	p->birth = kfb_get_le32(&raw.birth);
	p->move = kfb_get_le32(&raw.move);
	p->owner = kfb_get_le32(&raw.owner);
	return kfb_get_le32(&raw.crc) == payload_sum(sb, slot, p);
}

bool brick_record_find_payload(const struct brick_media *m,
			       const struct brick_super *sb, uint64_t slot,
			       struct brick_payload *p)
{
	return brick_record_get_payload(m, sb, 0, slot, p) ||
	       brick_record_get_payload(m, sb, 1, slot, p);
}

bool brick_payload_equal(const struct brick_payload *a,
			 const struct brick_payload *b)
{
	return a->id == b->id && a->birth == b->birth && a->move == b->move &&
	       a->owner == b->owner;
}

bool brick_record_get_word(const struct brick_media *m,
			   const struct brick_super *sb, unsigned int copy,
			   uint64_t slot, struct brick_word *w)
{
	uint32_t state, tx, state_tx;
	uint64_t word;
	__le64 raw;

	load_words(m, brick_super_rec(sb, copy, slot) + WORD_OFF, &raw,
		   sizeof(raw));
	word = kfb_get_le64(&raw);
	state_tx = (uint32_t)word;
	if (word >> CRC_SHIFT != record_word_sum(sb, slot, state_tx))
		return false;
	state = state_tx & BRICK_FMT_STATE_MASK;
	tx = state_tx >> BRICK_FMT_STATE_BITS;
	if (state < BRICK_CLEAN || state > BRICK_BIRTH_B ||
	    (tx && !brick_state_is_batch((enum brick_state)state)))
		return false;
	w->state = (enum brick_state)state;
	w->tx = tx;
	return true;
}

struct brick_word brick_record_peek(const struct brick_media *m,
				    const struct brick_super *sb,
				    unsigned int copy, uint64_t slot)
{
	struct brick_word w;
	uint32_t state_tx;
	__le64 raw;

	load_words(m, brick_super_rec(sb, copy, slot) + WORD_OFF, &raw,
		   sizeof(raw));
	state_tx = (uint32_t)kfb_get_le64(&raw);
	w.state = (enum brick_state)(state_tx & BRICK_FMT_STATE_MASK);
	w.tx = state_tx >> BRICK_FMT_STATE_BITS;
	return w;
}

void brick_record_flush(struct brick_media *m, const struct brick_super *sb,
			unsigned int copies, uint64_t slot, uint64_t n)
{
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
		if (copies & BRICK_COPY(copy))
			m->ops->flush(m, brick_super_rec(sb, copy, slot),
				      n * sizeof(struct brick_fmt_record));
}
