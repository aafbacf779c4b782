/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store: which block lives in which slot, durably.
 *
 * Threads: one store thread calls brick_store_commit(); one cleaner calls
 * brick_store_clean_one(); one tier thread moves blocks (move.h).
 * Any thread may call the readers (lookup, list, stats); the store's own lock
 * guards the index, and no lock is held over a drain. docs/media-format.md
 * describes the bytes, store.md's rules are in the comments where they bind.
 */
#ifndef BRICKD_STORE_H
#define BRICKD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/slow/slow.h"

struct brick_move;
struct brick_store;

/**
 * struct brick_store_format - parameters of brick_store_format()
 * @uuid: 16 bytes
 * @slow: its slow tier, or NULL
 * @force: overwrite an existing store or other data
 */
struct brick_store_format {
	uint8_t uuid[16];
	struct brick_slow *slow;
	bool force;
};

/**
 * brick_store_format - write an empty store over a whole medium
 * @m: the medium, open and locked
 * @f: parameters
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Refuses a medium or slow tier that holds a store or any other data (first
 * 64 KiB not zero) unless f->force. Slots of a fresh file are CLEAN; others DIRTY.
 *
 * Context: may block for long.
 * Return: 0, -EEXIST (not empty), -ENOSPC (too small for one slot), -EIO.
 */
int brick_store_format(struct brick_media *m,
		       const struct brick_store_format *f, char *err,
		       size_t err_len);

/**
 * struct brick_store_open - parameters of brick_store_open()
 * @expect_uuid: refuse any other store; NULL: take what is there
 * @slow: the slow tier, open; NULL: there must be none. The store does not own
 *	it
 * @boot_id: of this host, 16 bytes
 * @instance_id: of this run of the daemon, random from the caller
 * @dirty_shutdowns_known: the platform counts dirty shutdowns
 * @dirty_shutdowns: the count; if it rose, the power epoch does
 * @bad: bytes of the medium that cannot be read, none of the tables
 * @n_bad: pieces
 */
struct brick_store_open {
	const uint8_t *expect_uuid;
	struct brick_slow *slow;
	uint8_t boot_id[16];
	uint64_t instance_id;
	bool dirty_shutdowns_known;
	uint64_t dirty_shutdowns;
	const struct brick_bytes *bad;
	uint32_t n_bad;
};

/**
 * brick_store_open - recover a store and take hold of it
 * @m: the medium, open and locked; the store does not own it
 * @o: parameters
 * @out: the store
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Runs recovery (idempotent), writes the instance page with our pid and start
 * time, decides the power epoch. Refuses: unformatted, unknown incompat bits,
 * another uuid, truncated, held by a live process, both commit words bad, and
 * a slow tier that is missing, not expected or another store's.
 *
 * Context: may block for long; one thread.
 * Return: 0, -ENOENT (unformatted), -EPROTONOSUPPORT (newer), -EBUSY (held),
 * -EUCLEAN (corrupt), -EINVAL (truncated or other uuid), -ENOMEM, -EIO.
 * A medium that has forgotten writes, or may have, gets a new power epoch; a
 * mark that says so is taken away once that is durable.
 */
int brick_store_open(struct brick_media *m, const struct brick_store_open *o,
		     struct brick_store **out, char *err, size_t err_len);

/**
 * struct brick_store_recovery - what brick_store_open() found and did
 * @records_repaired: one copy was damaged and rewritten from the other
 * @records_bad: both copies were damaged: the slot was given up; whether it
 *	held a block, and which, nobody knows
 * @slots_given_up: free slots with bad bytes: nothing is lost
 * @blocks_lost: blocks in slots with bad bytes: brick_store_lost() names them
 * @records_resolved: states of an unfinished batch were settled: normal after
 *	a crash
 * @super_repaired: one superblock was rewritten
 * @commit_repaired: one commit word was damaged and rewritten
 * @instance_repaired: one instance page was damaged
 * @slow_repaired: one header of the slow tier was rewritten
 * @new_power_epoch: unflushed data may have been lost
 * @epoch_why: why, in words; NULL: there is no new one
 * @was_clean: the last stop was a clean one
 */
struct brick_store_recovery {
	uint64_t records_repaired;
	uint64_t records_bad;
	uint64_t slots_given_up;
	uint64_t blocks_lost;
	uint64_t records_resolved;
	bool super_repaired;
	bool commit_repaired;
	bool instance_repaired;
	bool slow_repaired;
	bool new_power_epoch;
	bool was_clean;
	const char *epoch_why;
};

/* What recovery did; constant as long as the store is open. */
const struct brick_store_recovery *
brick_store_recovery(const struct brick_store *s);

/**
 * brick_store_slot_of - name the place of an address, for a SIGBUS message
 * @s: the store
 * @addr: any address
 * @slot: the slot it lies in, or UINT64_MAX for metadata
 *
 * Context: any, signal handlers included.
 * Return: true when the address is inside the store.
 */
bool brick_store_slot_of(const struct brick_store *s, const void *addr,
			 uint64_t *slot);

/**
 * brick_store_block_of - the block that a slot holds now
 * @s: the store
 * @slot: as of brick_store_slot_of(); any number
 * @va: set to its address
 *
 * Return: true when it holds one.
 */
bool brick_store_block_of(struct brick_store *s, uint64_t slot, uint64_t *va);

/**
 * brick_store_close - let go
 * @s: the store; no other thread may be in it
 * @clean: everything mapped for writing has been flushed: write the clean
 *	flag, unless brick_store_has_inherited()
 *
 * Context: may block.
 * Return: 0; -EIO: the store has failed, now or before, and the stop is not a
 * clean one.
 */
int brick_store_close(struct brick_store *s, bool clean);

/* One block's place, from brick_store_lookup(). */
struct brick_run {
	uint64_t va; /* first address */
	uint64_t n_blocks; /* contiguous on the medium, one birth and owner */
	uint64_t slot;
	uint64_t offset; /* bytes into the medium */
	uint32_t birth;
	uint32_t owner; /* hash of whose it is, 0 nobody */
	bool bad; /* both record copies or the data lost */
	bool slow; /* in the slow tier: offset means nothing */
};

/**
 * brick_store_lookup - the contiguous run that starts at an address
 * @s: the store
 * @va: an aligned address
 * @max_blocks: do not look further
 * @run: filled on success
 *
 * Context: any thread; takes the index lock shortly.
 * Return: 0, or -ENOENT.
 */
int brick_store_lookup(struct brick_store *s, uint64_t va, uint64_t max_blocks,
		       struct brick_run *run);

/**
 * brick_store_owned - how many blocks an owner has
 * @s: the store
 * @owner: hash of a client
 *
 * Blocks that it has allocated, or mapped for writing, as the last one to do
 * either: where ALLOC, FREE and BIRTH have been acknowledged.
 *
 * Context: any thread; takes the index lock shortly.
 */
uint64_t brick_store_owned(struct brick_store *s, uint32_t owner);

/**
 * brick_store_lost - the next blocks that the medium has lost
 * @s: the store
 * @va: from this address on
 * @first: address of the first one
 *
 * Blocks that were lost before the start and are still allocated. Each step
 * costs a search among the lost ones.
 *
 * Context: any thread; takes the index lock shortly.
 * Return: how many consecutive ones there are; 0: none from there on.
 */
uint64_t brick_store_lost(struct brick_store *s, uint64_t va, uint64_t *first);

struct brick_store_extent {
	uint64_t va;
	uint64_t n_blocks; /* consecutive addresses of one kind */
	bool bad; /* it could not be read when it was last tried */
	bool slow; /* in the slow tier */
};

/**
 * brick_store_list - allocated extents from an address on
 * @s: the store
 * @cursor: in: first address to consider; out: where to go on, 0 at the end
 * @ext: filled
 * @max: entries in @ext
 * @change_counter: rises with every acknowledged change
 *
 * Context: any thread; holds the index lock for one page.
 * Return: the number of extents filled.
 */
unsigned int brick_store_list(struct brick_store *s, uint64_t *cursor,
			      struct brick_store_extent *ext, unsigned int max,
			      uint64_t *change_counter);

enum brick_store_op_kind {
	BRICK_STORE_ALLOC,
	BRICK_STORE_FREE,
	BRICK_STORE_BIRTH, /* new birth and owner for allocated blocks */
	BRICK_STORE_MOVE, /* to the other tier: see move.h */
};

/**
 * struct brick_store_op - one change, all or nothing
 * @kind: what
 * @owner: ALLOC, BIRTH: hash of the client whose the blocks are from then on; FREE: of
 *	the one that asks
 * @has_quota: ALLOC: refused when @owner would have more than @quota_blocks
 * @quota_blocks: with @has_quota
 * @va: first address, aligned, checked by the caller
 * @n_blocks: blocks
 * @quarantine: FREE: do not clean or re-grant the slots before
 *	brick_store_release() (the fabric cannot fence, or a mapping was cut)
 * @is_kept: FREE: refused for blocks that somebody else than @owner has allocated or
 *	mapped for writing last
 * @move: MOVE: the copy, made; n_blocks is 1
 * @n_kept: clean slots that are kept for it, the store's
 * @n_kept_slow: in the slow tier
 * @error: result: 0, -EEXIST, -ENOENT, -ENOSPC, -EDQUOT, -EIO, -ENOMEM,
 *	-EBUSY (@is_kept), or -EINVAL (misaligned, no blocks, beyond the last
 *	address)
 * @next: caller's list
 */
struct brick_store_op {
	enum brick_store_op_kind kind;
	uint32_t owner;
	bool has_quota;
	uint64_t quota_blocks;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t quarantine;
	bool is_kept;
	struct brick_move *move;
	uint64_t n_kept;
	uint64_t n_kept_slow;
	int error;
	struct brick_store_op *next;
};

/*
 * struct brick_zeroing - slots that may be zeroed before others have their turn
 * @fast: in memory
 * @slow: in the slow tier, where each time takes a sync
 */
struct brick_zeroing {
	unsigned int fast;
	unsigned int slow;
};

/**
 * brick_store_prepare - zero what an ALLOC lacks, before its batch
 * @s: the store
 * @op: the change; all but an ALLOC needs nothing
 * @left: what may be zeroed; counted down
 *
 * What is zeroed for it is kept for it. An ALLOC that is carried out without
 * being prepared has its slots zeroed in its batch, where all others wait.
 *
 * Context: the store thread only; may block.
 * Return: 0: brick_store_commit() has it now, also to say what is wrong with it;
 * -EAGAIN: call again with more slots; -ENOSPC: there are not enough now;
 * -EDQUOT: its owner has too many blocks now, and nothing is zeroed for it.
 */
int brick_store_prepare(struct brick_store *s, struct brick_store_op *op,
			struct brick_zeroing *left);

/* A change that may have been prepared will not be carried out. */
void brick_store_unprepare(struct brick_store *s, struct brick_store_op *op);

/**
 * brick_store_commit - carry out a list of changes durably
 * @s: the store
 * @ops: linked by next, in order; each is all-or-nothing on its own
 *
 * Groups as many as it can into one media batch (two fences); an op that
 * overlaps an earlier one of the list starts another batch. On return every
 * op has its result and every success is durable and visible to readers.
 *
 * Context: the store thread only; may block.
 */
void brick_store_commit(struct brick_store *s, struct brick_store_op *ops);

/**
 * brick_store_find - the next blocks that lie in one tier
 * @s: the store
 * @block: in: first block number (address >> KFB_BLOCK_SHIFT) to look at; out:
 *	where to go on, @end when nothing more is there
 * @end: the block number behind the last one
 * @slow: in the slow tier, or in pmem slots
 * @va: filled with addresses
 * @max: at most so many
 *
 * Looks at a bounded number of blocks: 0 with *block before @end means that
 * there may be more.
 *
 * Context: any thread.
 * Return: how many.
 */
unsigned int brick_store_find(struct brick_store *s, uint64_t *block,
			      uint64_t end, bool slow, uint64_t *va,
			      unsigned int max);

/**
 * brick_store_rest - note that blocks have come to rest
 * @s: the store
 * @va: first address
 * @n_blocks: blocks; those that are not allocated are skipped
 *
 * They become the last ones that brick_store_coldest() returns.
 *
 * Context: any thread; does nothing without a slow tier.
 */
void brick_store_rest(struct brick_store *s, uint64_t va, uint64_t n_blocks);

/**
 * brick_store_coldest - take the blocks that have been at rest for longest
 * @s: the store
 * @va: filled with their addresses
 * @max: at most so many
 *
 * Only blocks in pmem slots. They are forgotten: one that is not moved has to
 * come to rest again before it is returned again.
 *
 * Context: any thread.
 * Return: how many.
 */
unsigned int brick_store_coldest(struct brick_store *s, uint64_t *va,
				 unsigned int max);

/**
 * brick_store_release - end the quarantine of freed slots
 * @s: the store
 * @quarantine: the token given with FREE
 *
 * Context: any thread.
 */
void brick_store_release(struct brick_store *s, uint64_t quarantine);

/**
 * brick_store_clean_one - zero some dirty free slots and make them CLEAN
 * @s: the store
 * @max_slots: at most so many
 *
 * Context: the cleaner or the store thread; may block.
 * Return: slots cleaned, 0 when there is nothing to do, -EIO.
 */
int brick_store_clean_one(struct brick_store *s, unsigned int max_slots);

/* The same for the slow tier. */
int brick_store_clean_slow(struct brick_store *s, unsigned int max_slots);

/**
 * brick_store_flush_inherited - write back what a killed instance left
 * @s: the store
 * @max_slots: at most so many in this call
 *
 * Until there is nothing left, brick_store_close() writes no clean flag.
 *
 * Context: the cleaner thread, or any when the workers have stopped; may block.
 * Return: 1: call again, 0: nothing is left, -EIO.
 */
int brick_store_flush_inherited(struct brick_store *s, unsigned int max_slots);

/* Is there something left? Context: any thread. */
bool brick_store_has_inherited(const struct brick_store *s);

/**
 * brick_store_flush_some - begin to make client data durable
 * @s: the store
 * @va: first byte address; moves to where to go on
 * @last: last byte address
 * @left: bytes that may be flushed; counted down, also for what is skipped
 *
 * As brick_store_flush(), but a bounded piece of it.
 *
 * Context: any thread; may block.
 * Return: true: call again with more bytes; false: the range is through.
 */
bool brick_store_flush_some(struct brick_store *s, uint64_t *va, uint64_t last,
			    uint64_t *left);

/**
 * brick_store_flush - make client data durable
 * @s: the store
 * @va: byte address
 * @len: bytes; ranges that are not allocated are skipped
 *
 * Only starts it: call brick_store_drain() after the last range.
 *
 * Context: any thread; may block.
 */
void brick_store_flush(struct brick_store *s, uint64_t va, uint64_t len);

/* What brick_store_try_flush() takes at most, bytes. */
#define BRICK_TRY_FLUSH_MAX 32768

/**
 * brick_store_try_flush - the same for a few bytes, where nothing may wait
 * @s: the store
 * @va: byte address
 * @len: bytes; the range does not reach past the end of the address space
 *
 * Return: true: started, and brick_store_drain() will not wait; false: it
 * would take a system call, too long, or a lock that is held.
 */
bool brick_store_try_flush(struct brick_store *s, uint64_t va, uint64_t len);

/**
 * brick_store_drain - wait until all that was flushed is durable
 * @s: the store
 *
 * Context: any thread; blocks where it takes a system call.
 * Return: 0, or -EIO: the medium has failed, now or at some time since the
 * store was opened, and what was written since the last drain that returned 0
 * may be gone.
 */
int brick_store_drain(struct brick_store *s);

/**
 * struct brick_store_failure - how a store failed
 * @error: -errno of the sync
 * @time_s: when, seconds since 1970
 * @is_marked: the medium's: the next start will find a mark
 */
struct brick_store_failure {
	int error;
	uint64_t time_s;
	bool is_marked;
};

/* NULL: it has not. It stays as it is then. Context: any thread. */
const struct brick_store_failure *
brick_store_failure(const struct brick_store *s);

/*
 * The slow tier's: nothing is moved to it and no slot of it is zeroed any more;
 * what is in it can be read, and its zeroed slots be had.
 */
const struct brick_store_failure *
brick_store_slow_failure(const struct brick_store *s);

/*
 * How many slots of the slow tier could not be zeroed and are out of use until
 * the store is opened anew. Context: any thread.
 */
uint64_t brick_store_unzeroed(const struct brick_store *s);

struct brick_store_stats {
	uint64_t slots_total;
	uint64_t slots_clean;
	uint64_t slots_dirty; /* free, not zeroed yet; quarantined ones too */
	uint64_t slots_alloc;
	uint64_t slots_bad;
	uint64_t slots_ready; /* free, and in nobody's hands */
	uint64_t slots_cleaning; /* being zeroed: ready in a moment */
	uint64_t slow_ready; /* 0 once the slow tier has failed */
	uint64_t slow_cleaning; /* 0 once the slow tier has failed */
	uint64_t slow_total; /* 0: there is no slow tier */
	uint64_t slow_clean;
	uint64_t slow_dirty;
	uint64_t slow_alloc;
	uint64_t slow_bad;
	uint64_t slow_spare; /* of the free slots, kept for moves */
	bool slow_has_failed;
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t change_counter;
	uint8_t uuid[16];
};

void brick_store_stats(struct brick_store *s, struct brick_store_stats *out);

#endif
