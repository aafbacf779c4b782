/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings: what is registered for whom, and what conflicts.
 *
 * A mapping is a list of handles in address order, each one registration.
 * The table has them by id, and their handles by address. Ids carry a tag of the instance, so
 * that one of another run of the daemon is known to be stale. What one client has
 * is in its holdings, so that looking for it costs nothing of what others have.
 *
 * Context: the loop thread; the handles' registrations of a mapping that is
 * not in the table (any more) may be handled by the registration worker.
 */
#ifndef BRICKD_MAPPING_MAPPING_H
#define BRICKD_MAPPING_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/config/grants.h"
#include "brickd/mapping/intervals.h"
#include "brickd/net/fabric.h"

struct brick_session;

/*
 * struct brick_handle - blocks that are registered together
 * @interval: in the table's index; NULL: the handle is in no table
 * @written: in its client's holdings, as long as what came through it may not be
 *	durable; NULL: it is, or nothing may come
 */
struct brick_handle {
	struct brick_span span;
	uint64_t offset; /* bytes into the medium */
	uint32_t birth;
	struct brick_region region;
	struct brick_interval *interval;
	struct brick_interval *written;
};

/*
 * struct brick_holdings - what one client has, through all its sessions
 * @n_sessions: that share it
 * @n_ending: of these, those that are to have nothing any more
 * @mappings: by their ids in the place of blocks; with those of sessions that end,
 *	until these have come to them
 * @written: blocks of handles that may have brought what is not durable
 * @late: sessions whose writes may come after the end of their handles
 */
struct brick_holdings {
	uint64_t n_sessions;
	uint64_t n_ending;
	struct brick_intervals mappings;
	struct brick_intervals written;
	TAILQ_HEAD(, brick_session) late;
};

/*
 * struct brick_mapping - one mapping
 * @id: never 0
 * @session: the one whose connection uses it
 * @holdings: its client's
 * @by_id: there
 * @flags: KFB_MAP_*
 * @n: handles
 * @n_noted: the first so many are in the table; all of them but while it is made
 * @handles: in address order; may have holes between them
 * @n_leaving: UNMAPs whose handles were its own and are in the table still: until
 *	then it is kept, also without handles
 */
struct brick_mapping {
	uint64_t id;
	struct brick_session *session;
	struct brick_holdings *holdings;
	struct brick_interval by_id;
	uint32_t flags;
	size_t n;
	size_t n_noted;
	struct brick_handle *handles;
	unsigned int n_leaving;
	TAILQ_ENTRY(brick_mapping) session_link;
};

TAILQ_HEAD(brick_mapping_list, brick_mapping);

/*
 * Handles that go in or out at once. The loop serves nobody meanwhile, and each takes
 * a few steps down a tree of all handles that there are.
 */
#define BRICK_MAPPING_STEP 16

/* All mappings: how many, and their handles by where they are. */
struct brick_mappings {
	bool (*is_ending)(const struct brick_session *session);
	uint64_t tag; /* of the instance, in its place in an id */
	uint64_t last;
	size_t n;
	size_t n_handles;
	struct brick_intervals by_block;
};

/**
 * brick_mappings_init - an empty table
 * @all: the table
 * @instance_id: of this run
 * @is_ending: does a session end, and its mappings with it?
 */
void brick_mappings_init(struct brick_mappings *all, uint64_t instance_id,
			 bool (*is_ending)(const struct brick_session *session));

/* From the first handle's begin to the last one's end. */
struct brick_span brick_mapping_hull(const struct brick_mapping *mapping);

/**
 * brick_mappings_note - have some handles of a mapping in the table
 * @all: the table
 * @mapping: without an id; its range is locked
 *
 * At most BRICK_MAPPING_STEP of those that are not there.
 *
 * Return: 0 or -ENOMEM; brick_mappings_shorten() forgets those that are.
 */
int brick_mappings_note(struct brick_mappings *all,
			struct brick_mapping *mapping);

/**
 * brick_mappings_add - give a mapping its id and make it known
 * @all: the table
 * @mapping: with at least one handle; those that are not there are noted
 *
 * Return: 0 or -ENOMEM.
 */
int brick_mappings_add(struct brick_mappings *all,
		       struct brick_mapping *mapping);

/**
 * brick_mappings_shorten - forget some handles of a mapping
 * @all: the table
 * @mapping: nothing comes through its handles, and what came is durable
 *
 * At most BRICK_MAPPING_STEP, from the end; they are not closed. Without handles it is
 * in no list any more.
 */
void brick_mappings_shorten(struct brick_mappings *all,
			    struct brick_mapping *mapping);

/**
 * brick_mappings_take_handles - take handles out of a mapping
 * @all: the table
 * @mapping: one of it; has no id any more when no handle is left
 * @first: index of the first handle
 * @n: how many
 * @out: gets them, in memory of the caller's; they are in the table until
 *	brick_mappings_forget(), and brick_mapping_put() is called then;
 *	brick_holdings_flushed() is for them as well
 *
 * Return: 0 or -ENOMEM, and nothing has changed.
 */
int brick_mappings_take_handles(struct brick_mappings *all,
				struct brick_mapping *mapping, size_t first,
				size_t n, struct brick_handle **out);

/* Handles that were taken out, and are closed, are not in the table any more. */
void brick_mappings_forget(struct brick_mappings *all,
			   struct brick_handle *handles, size_t n);

/* All that brick_mappings_take_handles() took are: frees one without handles. */
void brick_mapping_put(struct brick_mapping *mapping);

/**
 * brick_holdings_flushed - what came through handles is durable
 * @holdings: of the client that had them
 * @handles: out of the table, and nothing comes through them any more
 * @n: how many
 */
void brick_holdings_flushed(struct brick_holdings *holdings,
			    struct brick_handle *handles, size_t n);

/**
 * brick_holdings_written - the next blocks with bytes that may not be durable
 * @holdings: of a client
 * @block: at or behind this one
 * @out: such blocks; more may follow at once
 *
 * Return: false: there are none.
 */
bool brick_holdings_written(const struct brick_holdings *holdings,
			    uint64_t block, struct brick_span *out);

/**
 * brick_holdings_list - visit a client's mappings in the order of their ids
 * @holdings: of the client
 * @id: from this one on
 * @visit: is called for each as long as it says true, also for those of sessions that
 *	end, which nobody is told of
 * @arg: for it
 */
void brick_holdings_list(const struct brick_holdings *holdings, uint64_t id,
			 bool (*visit)(const struct brick_interval *found,
				       void *arg),
			 void *arg);

/**
 * brick_mappings_find - look a client's mapping up
 * @all: the table
 * @holdings: the client's
 * @id: from a peer
 * @out: the mapping; its session does not end
 *
 * Return: 0, -ESTALE (of another instance), -ENOENT.
 */
int brick_mappings_find(const struct brick_mappings *all,
			const struct brick_holdings *holdings, uint64_t id,
			struct brick_mapping **out);

/* Index of the first handle that ends behind a block. */
size_t brick_mapping_from(const struct brick_mapping *mapping, uint64_t block);

/**
 * brick_mappings_conflict - may blocks be mapped or freed?
 * @all: the table
 * @span: blocks
 * @shared: what is asked for tolerates other shared mappings
 *
 * Return: 0, -EBUSY, or -EAGAIN when what is in the way is about to go, as far as
 * that is looked at.
 */
int brick_mappings_conflict(const struct brick_mappings *all,
			    struct brick_span span, bool shared);

/**
 * brick_mappings_outlived - may another session of the same client write blocks?
 * @all: the table
 * @mine: the session that asks
 * @holdings: its client's
 * @span: blocks
 *
 * What that one has sent may arrive as long as its handles are good.
 *
 * Return: as brick_mappings_conflict().
 */
int brick_mappings_outlived(const struct brick_mappings *all,
			    const struct brick_session *mine,
			    const struct brick_holdings *holdings,
			    struct brick_span span);

/**
 * brick_mappings_union - the next stretch of mapped blocks
 * @all: the table
 * @from: first block to look at
 * @out: a stretch with one set of flags
 * @flags: KFB_EXTENT_*
 *
 * Return: 0, or -ENOENT when nothing is mapped from there on.
 */
int brick_mappings_union(const struct brick_mappings *all, uint64_t from,
			 struct brick_span *out, uint32_t *flags);

/**
 * brick_mapping_cut - find whole handles
 * @mapping: the mapping
 * @span: blocks
 * @first: index of the first handle
 * @n: how many
 *
 * Return: 0, -ENOENT (some blocks are not in it), -EINVAL (part of a handle).
 */
int brick_mapping_cut(const struct brick_mapping *mapping,
		      struct brick_span span, size_t *first, size_t *n);

#endif
