/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkfbrick: blocks of a brick's persistent memory from user space.
 *
 * A connection is used by one thread at a time; several connections are
 * independent of each other. Control calls (alloc, map, list, ...) block until
 * the brick has answered or the timeout has passed. Data moves one-sidedly:
 * kfbrick_post_*() returns at once and kfbrick_poll() delivers one completion
 * for each post. The library makes no threads and installs no signal handlers.
 *
 * Every function returns 0 or a count on success and a negative errno on
 * failure; kfbrick_error() then has a sentence with what, where, why and what
 * to do next. Two errno values have a meaning of their own in all calls:
 * -ENOTCONN: the connection is lost before the request went out;
 * -ECONNRESET: it was lost after, the outcome is unknown: look with list.
 */
#ifndef KFBRICK_H
#define KFBRICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KFBRICK_BLOCK_BYTES (UINT64_C(1) << 21)
#define KFBRICK_KEY_BYTES   32
#define KFBRICK_UUID_BYTES  16

struct kfbrick;
struct kfbrick_mapping;
struct kfbrick_memory;

/**
 * struct kfbrick_config - how to reach a brick
 * @size: sizeof(struct kfbrick_config), for later versions
 * @brick: "tcp://host[:port]", "verbs://host[:port]" or "host[:port]" (tcp)
 * @client: the client's name in the brick's configuration; NULL: no AUTH,
 *	which a brick accepts on loopback with auth = none only
 * @key: KFBRICK_KEY_BYTES of key, or NULL when @client is NULL
 * @expect_uuid: refuse any other brick; NULL: any
 * @timeout_ms: of connecting and of every control call; 0: 10 000
 * @queue_depth: one-sided operations in flight; 0: 64, at most 1024
 */
struct kfbrick_config {
	size_t size;
	const char *brick;
	const char *client;
	const uint8_t *key;
	const uint8_t *expect_uuid;
	uint32_t timeout_ms;
	uint32_t queue_depth;
};

/**
 * kfbrick_connect - connect and authenticate
 * @config: copied
 * @out: the connection; NULL on failure unless memory allowed one, which then
 *	serves kfbrick_error() and must be closed
 *
 * Return: 0, -EINVAL (config), -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT,
 * -EKEYREJECTED (wrong key or unknown client, or the brick could not prove
 * itself), -ESTALE (other uuid), -EPROTONOSUPPORT, -EDQUOT (brick is full).
 */
int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out);

/**
 * kfbrick_close - end the connection and everything mapped over it
 * @k: connection or NULL
 *
 * Posted operations that have not completed are dropped. Registered memory
 * and mappings of this connection are freed with it.
 */
void kfbrick_close(struct kfbrick *k);

/**
 * kfbrick_error - the last failure in words
 * @k: connection or NULL (then: of the last failed kfbrick_connect() of this
 *	thread)
 *
 * Return: a string valid until the next call on @k; "" if nothing failed.
 */
const char *kfbrick_error(const struct kfbrick *k);

enum kfbrick_medium {
	KFBRICK_MEDIUM_VOLATILE = 1,
	KFBRICK_MEDIUM_FILE = 2,
	KFBRICK_MEDIUM_FSDAX = 3,
	KFBRICK_MEDIUM_DEVDAX = 4,
};

#define KFBRICK_FLUSH_NONE     (1U << 0)
#define KFBRICK_FLUSH_MESSAGE  (1U << 1)
#define KFBRICK_FLUSH_READBACK (1U << 2)
#define KFBRICK_FLUSH_COMMIT   (1U << 3)
#define KFBRICK_FLUSH_NATIVE   (1U << 4)

struct kfbrick_info {
	uint8_t uuid[KFBRICK_UUID_BYTES];
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t slots_total; /* blocks */
	uint64_t slots_free;
	uint64_t slots_clean;
	uint64_t slots_bad;
	uint64_t slow_total;
	uint64_t slow_free;
	uint64_t map_extent_max_bytes;
	uint64_t alloc_max_blocks;
	uint32_t lease_ms;
	uint32_t mappings_max;
	uint32_t medium; /* enum kfbrick_medium */
	uint32_t flush_modes; /* KFBRICK_FLUSH_* the brick offers */
	uint32_t flush_mode; /* the one in use */
	bool ack_is_placed;
	bool unsafe; /* an unsafe setting is on */
	char flush_why[96]; /* why this mode, one sentence */
};

int kfbrick_get_info(struct kfbrick *k, struct kfbrick_info *info);
int kfbrick_ping(struct kfbrick *k);

/**
 * kfbrick_alloc - allocate blocks, all or nothing, durably
 * @k: connection
 * @va: address of the first block, 2 MiB aligned
 * @n_blocks: how many, at most alloc_max_blocks
 *
 * New blocks read as zeros.
 *
 * Return: 0, -EINVAL, -EACCES (not granted), -EEXIST, -ENOSPC.
 */
int kfbrick_alloc(struct kfbrick *k, uint64_t va, uint64_t n_blocks);

/**
 * kfbrick_free - free blocks, all or nothing, durably
 * @k: connection
 * @va: address of the first block, 2 MiB aligned
 * @n_blocks: how many
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT (some not allocated), -EBUSY (mapped).
 */
int kfbrick_free(struct kfbrick *k, uint64_t va, uint64_t n_blocks);

#define KFBRICK_MAP_RO	      (1U << 0)
#define KFBRICK_MAP_RW	      (1U << 1)
#define KFBRICK_MAP_SHARED    (1U << 2)
#define KFBRICK_MAP_EXCLUSIVE (1U << 3)
#define KFBRICK_MAP_NOWAIT    (1U << 4)

/**
 * kfbrick_map - map allocated blocks for one-sided access
 * @k: connection
 * @va: address of the first block
 * @n_blocks: how many
 * @flags: one of RO and RW, one of SHARED and EXCLUSIVE, NOWAIT
 * @out: the mapping
 *
 * Without NOWAIT a conflict that will pass (-EAGAIN at the brick) is tried
 * again until the timeout.
 *
 * Return: 0, -EINVAL, -EACCES, -ENOENT, -EBUSY (conflicting mapping),
 * -EAGAIN, -ENOSPC, -ENOMEM, -EDQUOT (too many mappings).
 */
int kfbrick_map(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
		unsigned int flags, struct kfbrick_mapping **out);

/**
 * kfbrick_unmap - give a mapping back; its keys are dead when this returns
 * @k: connection
 * @mapping: freed, also on failure
 *
 * -EBUSY leaves it in place: operations through it are still in flight.
 */
int kfbrick_unmap(struct kfbrick *k, struct kfbrick_mapping *mapping);

/**
 * kfbrick_unmap_id - end any mapping of this client, by its id
 * @k: connection
 * @mapping_id: from kfbrick_list()
 *
 * Return: 0, -ENOENT, -EBUSY (a struct kfbrick_mapping of @k has this id).
 */
int kfbrick_unmap_id(struct kfbrick *k, uint64_t mapping_id);

/* What RDMA uses; for display and for programs with their own fabric code. */
struct kfbrick_handle {
	uint64_t va;
	uint64_t n_blocks;
	uint64_t key;
	uint64_t raddr;
	uint32_t birth;
};

uint64_t kfbrick_mapping_id(const struct kfbrick_mapping *mapping);
size_t kfbrick_mapping_handles(const struct kfbrick_mapping *mapping,
			       const struct kfbrick_handle **handles);

#define KFBRICK_LIST_ALLOCATED 1
#define KFBRICK_LIST_MAPPED    2
#define KFBRICK_LIST_MINE      3

#define KFBRICK_EXTENT_RW	 (1U << 0)
#define KFBRICK_EXTENT_MAPPED	 (1U << 1)
#define KFBRICK_EXTENT_EXCLUSIVE (1U << 2)
#define KFBRICK_EXTENT_SLOW	 (1U << 3)
#define KFBRICK_EXTENT_BAD	 (1U << 4)

struct kfbrick_extent {
	uint64_t va;
	uint64_t n_blocks;
	uint64_t mapping_id; /* LIST_MINE only */
	uint32_t flags; /* KFBRICK_EXTENT_* */
};

/**
 * kfbrick_list - one page of extents
 * @k: connection
 * @what: KFBRICK_LIST_*
 * @cursor: in: 0 to start; out: where to go on, 0 at the end
 * @extents: filled
 * @max: entries in @extents
 * @change_counter: of the brick when the page was made; may be NULL
 *
 * Return: the number of extents, or a negative errno.
 */
int kfbrick_list(struct kfbrick *k, unsigned int what, uint64_t *cursor,
		 struct kfbrick_extent *extents, size_t max,
		 uint64_t *change_counter);

/**
 * kfbrick_memory_register - announce memory that one-sided operations use
 * @k: connection
 * @addr: start
 * @len: bytes
 * @out: the registration
 *
 * Needed before kfbrick_post_*() on every fabric; cheap where the fabric does
 * not need it.
 */
int kfbrick_memory_register(struct kfbrick *k, void *addr, size_t len,
			    struct kfbrick_memory **out);
int kfbrick_memory_release(struct kfbrick *k, struct kfbrick_memory *memory);

/**
 * kfbrick_post_read - start a one-sided read
 * @k: connection
 * @va: any byte address inside mapped blocks
 * @buf: inside registered memory, untouched by the caller until completion
 * @len: bytes; may span handles
 * @context: comes back in the completion
 *
 * Return: 0; -EAGAIN (queue full: poll first); -EFAULT (@buf not registered);
 * -ENXIO (not mapped); -EACCES (mapped read-only).
 */
int kfbrick_post_read(struct kfbrick *k, uint64_t va, void *buf, size_t len,
		      void *context);
int kfbrick_post_write(struct kfbrick *k, uint64_t va, const void *buf,
		       size_t len, void *context);

/**
 * kfbrick_post_flush - make completed writes durable
 * @k: connection
 * @context: comes back in the completion
 *
 * Covers every write that has completed (its completion was delivered) before
 * this call, in the mode INFO names. On a volatile brick (mode none) it
 * completes with -EOPNOTSUPP. Posts not completed are not covered.
 */
int kfbrick_post_flush(struct kfbrick *k, void *context);

struct kfbrick_completion {
	void *context;
	int error; /* 0 or a negative errno */
	size_t len; /* bytes moved */
};

/**
 * kfbrick_poll - collect completions
 * @k: connection
 * @out: filled
 * @max: entries in @out
 * @timeout_ms: 0: do not wait; -1: no limit
 *
 * Return: the number filled, 0 after the timeout, -ECONNRESET when the
 * connection is lost (outstanding operations are delivered as completions with
 * that error first).
 */
int kfbrick_poll(struct kfbrick *k, struct kfbrick_completion *out, size_t max,
		 int timeout_ms);

/* Synchronous forms: bounce buffer of the library's own, any memory. */
int kfbrick_read(struct kfbrick *k, uint64_t va, void *buf, size_t len);
int kfbrick_write(struct kfbrick *k, uint64_t va, const void *buf, size_t len);
int kfbrick_flush(struct kfbrick *k);

/**
 * kfbrick_wait_fd - a descriptor for the caller's event loop
 * @k: connection
 *
 * Readable when kfbrick_poll(k, ..., 0) should be called. Call it until it
 * returns 0 before waiting.
 *
 * Return: a descriptor owned by @k, or -EOPNOTSUPP.
 */
int kfbrick_wait_fd(struct kfbrick *k);

#ifdef __cplusplus
}
#endif

#endif
