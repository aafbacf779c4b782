/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: the steps from an empty store in DRAM to one that may serve.
 *
 * Context: one thread, before the store has any reader.
 */
#ifndef BRICKD_STORE_RECOVER_H
#define BRICKD_STORE_RECOVER_H

#include "brickd/store/dram/sort.h"
#include "brickd/store/store_impl.h"

static inline struct brick_id brick_id_of(uint64_t key, uint64_t slot)
{
	struct brick_id id = { (uint32_t)key, (uint32_t)(key >> 32),
			       (uint32_t)brick_slot_number(slot) };

	if (brick_slot_is_slow(slot))
		id.key_hi |= BRICK_ID_SLOW;
	return id;
}

/* The slot with its tier. */
static inline uint64_t brick_id_slot(const struct brick_id *id)
{
	return id->slot | (id->key_hi & BRICK_ID_SLOW ? BRICK_SLOT_SLOW : 0);
}

/* A store with nothing in it; NULL: no memory. */
struct brick_store *brick_store_new(struct brick_media *m,
				    struct brick_slow *slow);

/* Maps and lists for what the superblock in s->sb says. 0 or -ENOMEM. */
int brick_store_make_room(struct brick_store *s);

/* Free it; nothing is written. */
void brick_store_discard(struct brick_store *s);

/**
 * brick_store_past - may writes of the instance before this one be lost?
 * @s: its instance page has been read
 * @o: this open
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Sets was_clean and epoch_why of the recovery. What can be found out
 * only once is written down at once, off the medium if that can be.
 *
 * Return: 0, or -EIO: they may, and what is in memory is not known to be on the
 * medium.
 */
int brick_store_past(struct brick_store *s, const struct brick_store_open *o,
		     char *err, size_t err_len);

/* Is what is in memory on the medium, after this? 0, or -EIO and a message. */
int brick_store_is_known(const struct brick_media *m, const char *why,
			 char *err, size_t err_len);

/* What did the instance before this one leave? */
void brick_store_begin_inherited(struct brick_store *s, bool new_epoch);

/**
 * brick_store_recover - make the records whole and fill index and slots
 * @s: m, sb, index and slots are set up
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0, -EUCLEAN, -ENOMEM or -EIO.
 */
int brick_store_recover(struct brick_store *s, char *err, size_t err_len);

#endif
