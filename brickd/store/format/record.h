/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slot's record: who lives there. It is kept twice.
 *
 * The state word is one atomic store, the payload (all before it) is not; the
 * order in which they become durable is commit.c's and recover.c's business.
 */
#ifndef BRICKD_STORE_RECORD_H
#define BRICKD_STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/format/super.h"

/* The values are on the media: never change them. */
enum brick_state {
	BRICK_CLEAN = 1, /* free, durably zero */
	BRICK_DIRTY = 2, /* free, holds old bytes */
	BRICK_ALLOC = 3,
	BRICK_ALLOC_B = 4, /* ALLOC if batch tx is committed, else DIRTY */
	BRICK_DIRTY_B = 5, /* DIRTY if batch tx is committed, else ALLOC */
	BRICK_BAD = 6, /* never used again */
	/*
	 * ALLOC with this payload if batch tx is committed; else this copy
	 * says nothing and the other one counts. Only in the mirror.
	 */
	BRICK_BIRTH_B = 7,
};

struct brick_payload {
	uint64_t id;
	uint32_t birth;
	uint32_t move;
	uint32_t owner;
};

/* A state word that passed its checksum. */
struct brick_word {
	enum brick_state state;
	uint32_t tx; /* 0 unless the state is one of a batch */
};

/* Which copies to write, as bits. */
#define BRICK_COPY(copy) (1U << (copy))
#define BRICK_COPY_BOTH	 (BRICK_COPY(0) | BRICK_COPY(1))

static inline bool brick_state_is_batch(enum brick_state state)
{
	return state == BRICK_ALLOC_B || state == BRICK_DIRTY_B ||
	       state == BRICK_BIRTH_B;
}

/**
 * brick_record_put_payload - store a payload; the state word stays
 * @m: the medium
 * @sb: where records are
 * @copies: BRICK_COPY() bits
 * @slot: whose
 * @p: what
 *
 * The caller flushes.
 *
 * Context: the slot's owner only.
 */
void brick_record_put_payload(struct brick_media *m,
			      const struct brick_super *sb, unsigned int copies,
			      uint64_t slot, const struct brick_payload *p);

/**
 * brick_record_put_word - store a state word, atomically
 * @m: the medium
 * @sb: where records are
 * @copies: BRICK_COPY() bits
 * @slot: whose
 * @w: what
 *
 * The caller flushes.
 *
 * Context: the slot's owner only.
 */
void brick_record_put_word(struct brick_media *m, const struct brick_super *sb,
			   unsigned int copies, uint64_t slot,
			   struct brick_word w);

/**
 * brick_record_get_payload - read a payload
 * @m: the medium
 * @sb: where records are
 * @copy: 0, or 1 for the mirror
 * @slot: whose
 * @p: filled, also when the checksum is wrong
 *
 * Context: the slot's owner, or a reader while no one writes this payload.
 * Return: whether the checksum is right.
 */
bool brick_record_get_payload(const struct brick_media *m,
			      const struct brick_super *sb, unsigned int copy,
			      uint64_t slot, struct brick_payload *p);

/* The same from either copy: is the checksum of one of them right? */
bool brick_record_find_payload(const struct brick_media *m,
			       const struct brick_super *sb, uint64_t slot,
			       struct brick_payload *p);

/**
 * brick_payload_equal - do two payloads say the same?
 * @a: one of them
 * @b: the other one
 *
 * Context: any.
 */
bool brick_payload_equal(const struct brick_payload *a,
			 const struct brick_payload *b);

/**
 * brick_record_get_word - read a state word
 * @m: the medium
 * @sb: where records are
 * @copy: 0, or 1 for the mirror
 * @slot: whose
 * @w: filled if it is valid
 *
 * Context: any.
 * Return: whether the checksum is right and the state a known one.
 */
bool brick_record_get_word(const struct brick_media *m,
			   const struct brick_super *sb, unsigned int copy,
			   uint64_t slot, struct brick_word *w);

/**
 * brick_record_peek - the state word of a record that is known to be whole
 * @m: the medium
 * @sb: where records are
 * @copy: 0, or 1 for the mirror
 * @slot: whose
 *
 * Context: the slot's owner, who wrote the word.
 * Return: state and tx, the checksum not looked at.
 */
struct brick_word brick_record_peek(const struct brick_media *m,
				    const struct brick_super *sb,
				    unsigned int copy, uint64_t slot);

/**
 * brick_record_flush - flush the records of a run of slots
 * @m: the medium
 * @sb: where records are
 * @copies: BRICK_COPY() bits
 * @slot: the first
 * @n: how many
 *
 * Context: any.
 */
void brick_record_flush(struct brick_media *m, const struct brick_super *sb,
			unsigned int copies, uint64_t slot, uint64_t n);

#endif
