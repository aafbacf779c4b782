/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store in memory that is taken for persistent memory behind caches, whose
 * flushes and drains a test has instead of it. For one test at a time.
 */
#ifndef TESTS_UNIT_BRICKD_FLUSH_RIG_H
#define TESTS_UNIT_BRICKD_FLUSH_RIG_H

#include "brickd/base/work.h"
#include "brickd/storage/storage.h"

/**
 * flush_rig_open - begin
 * @storage: filled; the blocks from 0 on are allocated
 * @medium: as brick_media_open() takes it
 * @n_blocks: how many
 * @flush: is called for what is written back; NULL: nothing is
 * @drain: is called when what is written back is to be there; NULL: nothing is
 *
 * Return: 0, or what a test's set-up is to return.
 */
int flush_rig_open(struct brick_storage *storage, const char *medium,
		   uint64_t n_blocks,
		   void (*flush)(struct brick_media *media, uint64_t offset,
				 size_t len),
		   int (*drain)(struct brick_media *media));
void flush_rig_close(struct brick_storage *storage);

/* Delivers what workers have done until a test has counted @n, and no more. */
void flush_rig_wait(struct brick_mailbox *box, const unsigned int *n_done,
		    unsigned int n);

#endif
