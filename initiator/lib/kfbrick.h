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
 * Control calls may also fail with -ETIMEDOUT (no answer in time: the outcome
 * is unknown, too, and list does not settle it before the session has ended,
 * which it has when its lease has run out twice), -EPROTO (the brick broke the
 * protocol), -ESHUTDOWN (the brick is stopping), -EIO (its medium failed),
 * -ENOMEM and, without AUTH, -EACCES.
 *
 * With reconnect_ms 0 a lost connection does not come back: close it, connect
 * again. Else control calls and kfbrick_poll() bring it back: they go on as if
 * nothing had happened, but for what is said at each call, and operations that
 * were in flight are posted again when the old endpoint is closed. While the
 * brick is away control calls block beyond their timeout, until it is back or
 * reconnect_ms have passed; then the connection is lost for good. Three things
 * can be lost on the way: the outcome of an ALLOC or FREE; a mapping whose
 * blocks have changed hands (-ESTALE, until it is unmapped), or that the brick
 * refuses to make again (its error, until then); and completed
 * writes that were not flushed (kfbrick_losses()). And where several clients
 * write to the same bytes through SHARED mappings, or several programs of one
 * client (without names they all are one) have a block in turn, a write that is
 * posted again may land twice, the second time over what another one has written
 * meanwhile: such clients lock what they write, or use no reconnect_ms. A copy that
 * retain_bytes have kept goes over it however long the write is over: with them
 * nothing is mapped both SHARED and for writing.
 *
 * A brick gives a session a lease. Any control call renews it, and so does
 * kfbrick_poll(), which sends a ping when half of it has passed. The library
 * has no thread to do that: a program that holds mappings calls one of them at
 * least every lease_ms / 4, or sleeps on kfbrick_wait_fd(). One that stays away
 * longer finds its lease run out: posts fail with -EAGAIN until a poll has
 * renewed it, and if the brick has ended the session meanwhile, that is a loss
 * like any other.
 *
 * With the stock tcp provider a brick that revokes a key ends the connection
 * of whoever still uses it: the operation then fails with -ECONNRESET, where
 * verbs says -EACCES.
 *
 * Structures with a member size grow at their end in later versions. Whoever uses
 * one sets size to its sizeof first. The library takes a smaller one for what an
 * older header had, reads what is missing as 0, and leaves out what there is no
 * room for; in a larger one it sets to 0 what it does not know, and refuses
 * settings there that it cannot know. All others stay as they are.
 */
#ifndef KFBRICK_H
#define KFBRICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; kfbrick_version() is the library's. */
#define KFBRICK_VERSION_MAJOR 0
#define KFBRICK_VERSION_MINOR 2
#define KFBRICK_VERSION_PATCH 0
#define KFBRICK_VERSION                                             \
	(KFBRICK_VERSION_MAJOR << 16 | KFBRICK_VERSION_MINOR << 8 | \
	 KFBRICK_VERSION_PATCH)

#define KFBRICK_BLOCK_BYTES (UINT64_C(1) << 21)
#define KFBRICK_KEY_BYTES   32
#define KFBRICK_UUID_BYTES  16

#define KFBRICK_RECONNECT_FOREVER UINT32_MAX
#define KFBRICK_RETAIN_MIN_BYTES  (UINT64_C(4) << 20)

struct kfbrick;
struct kfbrick_mapping;
struct kfbrick_memory;

/**
 * kfbrick_version - of the library that runs
 *
 * Context: any thread.
 * Return: as KFBRICK_VERSION, major << 16 | minor << 8 | patch.
 */
uint32_t kfbrick_version(void);

/**
 * kfbrick_key_read - read a client's key from a file
 * @path: a regular file of 64 hexadecimal digits and at most a newline, which
 *	nobody but its owner may read or write
 * @key: filled on success; clear it (explicit_bzero()) when it has been used
 *
 * Context: any thread; opens the file, does not wait.
 * Return: 0, -EPERM (others may read or write it), -EINVAL (its content, or it is
 * no file), or why it cannot be read. kfbrick_error(NULL) has words.
 */
int kfbrick_key_read(const char *path, uint8_t key[KFBRICK_KEY_BYTES]);

/**
 * struct kfbrick_config - how to reach a brick
 * @size: sizeof(struct kfbrick_config)
 * @brick: "tcp://host[:port]", "verbs://host[:port]" or "host[:port]" (tcp)
 * @client: the client's name in the brick's configuration; NULL: no AUTH,
 *	which a brick accepts on loopback with auth = none only
 * @key: KFBRICK_KEY_BYTES of key, or NULL when @client is NULL
 * @expect_uuid: refuse any other brick; NULL: any
 * @timeout_ms: of connecting, of every control call, and of a synchronous read,
 *	write or flush that moves nothing; 0: 10 000
 * @queue_depth: one-sided operations in flight; 0: 64, at most 1024
 * @reconnect_ms: how long to try when the connection is lost; 0: not at all;
 *	KFBRICK_RECONNECT_FOREVER
 * @queues: connections of the session, 1 to 8; 0: 1; a brick may grant fewer
 * @retain_bytes: room for copies of writes that were not flushed yet: when the
 *	brick loses its power, or a connection proves nothing, they are written
 *	again before anything else, and nothing is lost. 0: no copies; else at
 *	least KFBRICK_RETAIN_MIN_BYTES, at most 4 GiB, of which no part of 4096
 *	bytes is used. Needs @reconnect_ms, and excludes mappings that are both
 *	SHARED and RW. Writes that find no room wait for a flush, which begins by
 *	itself; one of them fails when that does
 * @allow_untrusted_tcp: let tcp leave this host by any interface; else only by one
 *	of WireGuard, to which its connections are then bound: nothing that tcp
 *	carries is encrypted
 * @reserved: false: a later version may have settings there
 */
struct kfbrick_config {
	size_t size;
	const char *brick;
	const char *client;
	const uint8_t *key;
	const uint8_t *expect_uuid;
	uint32_t timeout_ms;
	uint32_t queue_depth;
	uint32_t reconnect_ms;
	uint32_t queues;
	uint64_t retain_bytes;
	bool allow_untrusted_tcp;
	bool reserved[7];
};

/**
 * kfbrick_connect - connect and authenticate
 * @config: copied
 * @out: the connection; on failure NULL, or one that serves kfbrick_error()
 *	only and must be closed
 *
 * Looks up the host, connects, proves the key both ways and asks for INFO.
 * The name lookup is the system's and may take longer than the timeout.
 *
 * Context: any thread; blocks up to three timeouts. Sets FI_MR_CACHE_MAX_COUNT,
 * IPATH_NO_BACKTRACE and HFI_NO_BACKTRACE in the environment unless they are set,
 * because libfabric reads them when it is first used: a program with several threads
 * makes its first connection before it reads or changes its environment elsewhere.
 * Return: 0, -EINVAL (config), -E2BIG (config has settings that this library does not
 * know), -ECONNREFUSED, -EHOSTUNREACH (no such host, no way there, or no such fabric
 * here), -EPERM (tcp would leave this host by an interface that does not encrypt: see
 * allow_untrusted_tcp), -ETIMEDOUT, -EKEYREJECTED (wrong key or unknown client, or the
 * brick could not prove itself), -EKEYREVOKED (this client is fenced), -ESTALE (other
 * uuid), -EPROTONOSUPPORT (no common version, or a flush mode this library does not
 * know), -EPROTO (not a brick), -EDQUOT (the brick is full), -ESHUTDOWN, -ENOMEM.
 */
int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out);

/**
 * kfbrick_close - end the connection and everything mapped over it
 * @k: connection or NULL
 *
 * Posted operations that have not completed are dropped: whether they arrive
 * is unknown, but after this call none of them touches local memory. Completed
 * writes that were not flushed may not be durable. Registered memory and
 * mappings of this connection are freed with it. Waits at most a second for
 * the brick to be told; a brick that is not ends the session with its lease.
 *
 * Context: any thread, no other call on @k running.
 */
void kfbrick_close(struct kfbrick *k);

/**
 * kfbrick_error - the last failure in words
 * @k: connection or NULL (then: of the last failed kfbrick_connect() of this
 *	thread)
 *
 * Context: as every call on @k; with NULL any thread.
 * Return: a string valid until the next call on @k; "" if nothing failed.
 */
const char *kfbrick_error(const struct kfbrick *k);

/**
 * enum kfbrick_medium - what a brick keeps its blocks on
 * @KFBRICK_MEDIUM_VOLATILE: memory or tmpfs: lost with the power
 * @KFBRICK_MEDIUM_FILE: a file behind a page cache
 * @KFBRICK_MEDIUM_FSDAX: a file on persistent memory
 * @KFBRICK_MEDIUM_DEVDAX: a persistent memory device
 * @KFBRICK_MEDIUM_BATTERY: memory that a battery keeps, as the brick's
 *	administrator has declared
 * @KFBRICK_MEDIUM_CXL: persistent memory behind CXL
 */
enum kfbrick_medium {
	KFBRICK_MEDIUM_VOLATILE = 1,
	KFBRICK_MEDIUM_FILE = 2,
	KFBRICK_MEDIUM_FSDAX = 3,
	KFBRICK_MEDIUM_DEVDAX = 4,
	KFBRICK_MEDIUM_BATTERY = 5,
	KFBRICK_MEDIUM_CXL = 6,
};

/* How completed writes become durable. */
#define KFBRICK_FLUSH_NONE     (1U << 0)
#define KFBRICK_FLUSH_MESSAGE  (1U << 1)
#define KFBRICK_FLUSH_READBACK (1U << 2)
#define KFBRICK_FLUSH_COMMIT   (1U << 3)
#define KFBRICK_FLUSH_NATIVE   (1U << 4)

/**
 * struct kfbrick_info - what a brick says of itself
 * @size: sizeof(struct kfbrick_info), set by the caller
 * @uuid: of the store; it stays with the data
 * @instance_id: differs after every start of the daemon
 * @power_epoch: has changed when unflushed writes may have been lost
 * @slots_total: places for blocks
 * @slots_free: places for blocks that are free
 * @slots_clean: free places that are ready to use at once
 * @slots_bad: places lost to media errors
 * @slow_total: places in the slow tier, 0: there is none
 * @slow_free: places in the slow tier that are free
 * @map_extent_max_bytes: bytes that one handle may cover
 * @alloc_max_blocks: blocks of one kfbrick_alloc() or kfbrick_free()
 * @lease_ms: how long mappings outlive the last sign of life; 0: for ever
 * @mappings_max: mappings of one session
 * @medium: enum kfbrick_medium
 * @flush_modes: KFBRICK_FLUSH_* the brick offers
 * @flush_mode: the KFBRICK_FLUSH_* in use
 * @ack_is_placed: a completed write is in the brick's memory
 * @unsafe: a setting promises more of writes than the platform is known to keep
 * @flush_why: why @flush_mode is in use, one sentence
 * @exposed: not @unsafe, but a setting lets clients in over networks that
 *	nothing protects: allow-untrusted-tcp or allow-remote-anonymous
 */
struct kfbrick_info {
	size_t size;
	uint8_t uuid[KFBRICK_UUID_BYTES];
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t slots_total;
	uint64_t slots_free;
	uint64_t slots_clean;
	uint64_t slots_bad;
	uint64_t slow_total;
	uint64_t slow_free;
	uint64_t map_extent_max_bytes;
	uint64_t alloc_max_blocks;
	uint32_t lease_ms;
	uint32_t mappings_max;
	uint32_t medium;
	uint32_t flush_modes;
	uint32_t flush_mode;
	bool ack_is_placed;
	bool unsafe;
	char flush_why[96];
	bool exposed;
};

/**
 * kfbrick_get_info - ask the brick about itself
 * @k: connection
 * @info: the caller has set its size; filled on success
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, -EINVAL (no size), or an error of all control calls.
 */
int kfbrick_get_info(struct kfbrick *k, struct kfbrick_info *info);

/* There is no quota, or the brick is too old to have any. */
#define KFBRICK_QUOTA_NONE UINT64_MAX

/**
 * kfbrick_get_quota - ask how many blocks this client may have
 * @k: connection
 * @quota_blocks: on success how many it may have, or KFBRICK_QUOTA_NONE
 * @used_blocks: on success how many count for it; 0 without a quota
 *
 * A block counts for the client that has allocated it, or that has mapped it for
 * writing since, whichever was the last to do either.
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, or an error of all control calls.
 */
int kfbrick_get_quota(struct kfbrick *k, uint64_t *quota_blocks,
		      uint64_t *used_blocks);

/**
 * kfbrick_get_rate - how much the brick allows this connection to move
 * @k: connection
 * @bytes_per_s: read and written in a second; 0: any number
 * @ops_per_s: reads and writes in a second, those that the library makes of a long
 *	one counted each; 0: any number
 *
 * The library keeps to it by itself: what is posted waits, in order, and goes in pieces of
 * at most what the rate gives in 100 ms. The time in which a call has to be over counts
 * from the last of them. The brick may change it at any time, and says so by
 * %KFBRICK_EVENT_RATE. Before the first session both are 0.
 *
 * Context: does not block.
 */
void kfbrick_get_rate(const struct kfbrick *k, uint64_t *bytes_per_s,
		      uint32_t *ops_per_s);

#define KFBRICK_GRANT_RO 1
#define KFBRICK_GRANT_RW 2

/**
 * struct kfbrick_grant - blocks that this client may use
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @access: KFBRICK_GRANT_RO or KFBRICK_GRANT_RW
 */
struct kfbrick_grant {
	uint64_t va;
	uint64_t n_blocks;
	uint32_t access;
};

/**
 * kfbrick_get_grants - which blocks this client may use
 * @k: connection
 * @grants: filled, in the order of the brick's settings; they may overlap
 * @max: entries in @grants
 *
 * What the brick said when the session began: its administrator may have added to
 * them since. Without AUTH there are none, and everything may be used.
 *
 * Context: does not block.
 * Return: how many there are.
 */
size_t kfbrick_get_grants(const struct kfbrick *k, struct kfbrick_grant *grants,
			  size_t max);

/**
 * kfbrick_ping - is the brick there? Renews the lease
 * @k: connection
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, or an error of all control calls.
 */
int kfbrick_ping(struct kfbrick *k);

/**
 * kfbrick_alloc - allocate blocks, all or nothing, durably
 * @k: connection
 * @va: address of the first block, 2 MiB aligned
 * @n_blocks: how many blocks, at most alloc_max_blocks
 *
 * New blocks read as zeros. When the session is lost before the answer, and
 * the library has come back, LIST tells: no block allocated, then it is asked
 * again; all allocated and none when the call began, 0; else -ECONNRESET. The
 * 0 of that case is wrong only when another client has allocated the same
 * range meanwhile.
 *
 * Context: control call; blocks up to the timeout. With reconnect_ms, LIST is asked
 * before, and after each loss: a page for each 16 extents of the range, each of which
 * blocks up to the timeout, too.
 * Return: 0, -EINVAL (misaligned, no blocks, too many, past 2^64), -EACCES (not
 * granted), -EEXIST (some allocated already), -ENOSPC (the brick is full, or this
 * client's quota is: kfbrick_error() says which), -EBADE (reserved for others), -EAGAIN
 * (too many wait for the range).
 */
int kfbrick_alloc(struct kfbrick *k, uint64_t va, uint64_t n_blocks);

/**
 * kfbrick_free - free blocks, all or nothing, durably
 * @k: connection
 * @va: address of the first block, 2 MiB aligned
 * @n_blocks: how many blocks
 *
 * When the session is lost before the answer, and the library has come back:
 * 0 when no block is allocated and all were when the call began, else
 * -ECONNRESET. It is not asked again: the blocks may be another client's now. A
 * brick that has ended the session, and lives, may be freeing them yet: what LIST
 * shows is sure of those that kfbrick_map() has mapped since.
 *
 * Context: as kfbrick_alloc().
 * Return: 0, -EINVAL, -EACCES, -ENOENT (some not allocated), -EBUSY (mapped), -EBADE
 * (reserved), -EAGAIN (not now: after a crash they are kept for their last writer).
 */
int kfbrick_free(struct kfbrick *k, uint64_t va, uint64_t n_blocks);

/* What kfbrick_map() is asked for. */
#define KFBRICK_MAP_RO	      (1U << 0)
#define KFBRICK_MAP_RW	      (1U << 1)
#define KFBRICK_MAP_SHARED    (1U << 2)
#define KFBRICK_MAP_EXCLUSIVE (1U << 3)
#define KFBRICK_MAP_NOWAIT    (1U << 4)

/**
 * kfbrick_map - map allocated blocks for one-sided access
 * @k: connection
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @flags: one of RO and RW, one of SHARED and EXCLUSIVE, NOWAIT
 * @out: the mapping
 *
 * Without NOWAIT a conflict that will pass (-EAGAIN at the brick) is tried
 * again until the timeout. A connection maps a block once: a second mapping
 * of it over the same connection is -EBUSY. With -ENOSPC an event may have come
 * (kfbrick_next_event()) that asks for mappings of this connection: when all
 * others have nothing to give, unmapping some and trying again helps.
 *
 * Context: control call; blocks up to the timeout, for each page of handles.
 * Return: 0, -EINVAL (also RW and SHARED with retain_bytes), -EACCES, -ENOENT, -EBUSY
 * (mapped by others), -EBADE (reserved for others), -EAGAIN, -ENOSPC, -ENOMEM, -EDQUOT
 * (too many mappings).
 */
int kfbrick_map(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
		unsigned int flags, struct kfbrick_mapping **out);

/**
 * kfbrick_unmap - give a mapping back; its keys are dead when this returns
 * @k: connection
 * @mapping: freed, also on failure, but for -EBUSY, -ENOMEM and -EAGAIN
 *
 * Completed writes to it that are not flushed are flushed first; when that
 * fails, the mapping is given back all the same and the flush's error is
 * returned. A session that is lost takes the mapping with it: that is 0, too.
 * When the brick does not answer it may have the mapping still, and is asked again
 * as long as the session lives; a flush that has failed before is told by the next
 * one then.
 *
 * Context: control call; blocks up to the timeout, three when it flushes.
 * Return: 0, -EBUSY (operations through it are in flight: it stays), -ENOMEM (the brick
 * has none now to flush or to end it: it stays), -EAGAIN (the brick has too much to do:
 * it stays), -EIO (it is unmapped, and what was written there may not be durable),
 * -ETIMEDOUT, -ENOENT, -ESTALE (it did not outlive a loss: its blocks have changed
 * hands, or it could not be made again for now), what else the brick refused to make it
 * again with after a loss, or an error of kfbrick_flush().
 */
int kfbrick_unmap(struct kfbrick *k, struct kfbrick_mapping *mapping);

/**
 * kfbrick_unmap_id - end any mapping of this client, by its id
 * @k: connection
 * @mapping_id: from kfbrick_list()
 *
 * Another session that uses it loses its connection.
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, -ENOENT, -EBUSY (a struct kfbrick_mapping of @k has this id).
 */
int kfbrick_unmap_id(struct kfbrick *k, uint64_t mapping_id);

/**
 * struct kfbrick_handle - what RDMA uses
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @key: remote key
 * @raddr: remote address of the first byte
 * @birth: identifies the life of the blocks: after another birth, old writes
 *	must not be repeated
 *
 * For display and for programs with their own fabric code.
 */
struct kfbrick_handle {
	uint64_t va;
	uint64_t n_blocks;
	uint64_t key;
	uint64_t raddr;
	uint32_t birth;
};

/**
 * kfbrick_mapping_id - the brick's number of a mapping
 * @mapping: the mapping
 *
 * Context: any.
 * Return: what kfbrick_list() and kfbrick_unmap_id() call it.
 */
uint64_t kfbrick_mapping_id(const struct kfbrick_mapping *mapping);

/**
 * kfbrick_mapping_handles - the handles of a mapping
 * @mapping: the mapping
 * @handles: sorted by address; the mapping's, until the next call on its
 *	connection, which may make the mapping again
 *
 * Context: as every call on its connection; does not block.
 * Return: how many.
 */
size_t kfbrick_mapping_handles(const struct kfbrick_mapping *mapping,
			       const struct kfbrick_handle **handles);

/* What kfbrick_list() lists. */
#define KFBRICK_LIST_ALLOCATED 1
#define KFBRICK_LIST_MAPPED    2
#define KFBRICK_LIST_MINE      3

/* What is true of all blocks of an extent. */
#define KFBRICK_EXTENT_RW	 (1U << 0)
#define KFBRICK_EXTENT_MAPPED	 (1U << 1)
#define KFBRICK_EXTENT_EXCLUSIVE (1U << 2)
#define KFBRICK_EXTENT_SLOW	 (1U << 3)
#define KFBRICK_EXTENT_BAD	 (1U << 4)

/**
 * struct kfbrick_extent - consecutive blocks of one kind
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @mapping_id: with KFBRICK_LIST_MINE, else 0
 * @flags: KFBRICK_EXTENT_*
 */
struct kfbrick_extent {
	uint64_t va;
	uint64_t n_blocks;
	uint64_t mapping_id;
	uint32_t flags;
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
 * Each page is consistent in itself. A page may have fewer extents than fit.
 *
 * Context: control call; blocks up to the timeout.
 * Return: the number of extents, or -EINVAL, or an error of all control calls.
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
 * not need it. Registrations of one connection do not overlap; there are at
 * most 1024.
 *
 * Context: does not wait for the brick.
 * Return: 0, -EINVAL (no range), -EEXIST (overlaps another), -ENOSPC (too
 * many), -ENOMEM (or too little memory may be locked), -ENOTCONN.
 */
int kfbrick_memory_register(struct kfbrick *k, void *addr, size_t len,
			    struct kfbrick_memory **out);

/**
 * kfbrick_memory_release - take a registration back
 * @k: connection
 * @memory: freed on success, or NULL
 *
 * Context: does not wait for the brick.
 * Return: 0, -EBUSY (operations with it are in flight), -ENOENT (not @k's).
 */
int kfbrick_memory_release(struct kfbrick *k, struct kfbrick_memory *memory);

/**
 * kfbrick_post_read - start a one-sided read
 * @k: connection
 * @va: any byte address inside mapped blocks
 * @buf: inside registered memory, untouched by the caller until completion
 * @len: bytes, not 0; may span handles
 * @context: comes back in the completion
 *
 * Operations that are in flight together may be done in any order.
 *
 * Context: does not block, does not allocate.
 * Return: 0; -EAGAIN (queue full, or the lease needs renewal: poll first);
 * -EFAULT (@buf not registered); -ENXIO (not mapped); -ESTALE (the mapping did
 * not outlive a loss); -EINVAL (no bytes, or past 2^64); -ENOTCONN.
 */
int kfbrick_post_read(struct kfbrick *k, uint64_t va, void *buf, size_t len,
		      void *context);

/**
 * kfbrick_post_write - start a one-sided write
 * @k: connection
 * @va: any byte address inside blocks mapped RW
 * @buf: inside registered memory, unchanged by the caller until completion
 * @len: bytes, not 0; may span handles
 * @context: comes back in the completion
 *
 * A completed write has arrived at the brick; it is durable after a flush. One of
 * which something was lost before its completion was delivered does not complete
 * when kfbrick_accept_losses() was called meanwhile: it fails with -EIO.
 *
 * Context: does not block, does not allocate.
 * Return: as kfbrick_post_read(), and -EACCES (mapped read-only).
 */
int kfbrick_post_write(struct kfbrick *k, uint64_t va, const void *buf,
		       size_t len, void *context);

/**
 * kfbrick_post_write_durable - start a write that is durable when it completes
 * @k: connection
 * @va: any byte address inside blocks mapped RW
 * @buf: inside registered memory, unchanged by the caller until completion
 * @len: bytes, not 0; may span handles
 * @context: comes back in the completion
 *
 * One way there and back where INFO offers KFBRICK_FLUSH_COMMIT; else a flush
 * follows the write by itself. On a volatile brick (mode none) it completes
 * with -EOPNOTSUPP when the bytes have arrived. Says nothing of other writes.
 *
 * Context: does not block, does not allocate.
 * Return: as kfbrick_post_write().
 */
int kfbrick_post_write_durable(struct kfbrick *k, uint64_t va, const void *buf,
			       size_t len, void *context);

/**
 * kfbrick_post_flush - make completed writes durable
 * @k: connection
 * @context: comes back in the completion
 *
 * Covers every write that has completed (its completion was delivered) before
 * this call, in the mode INFO names. On a volatile brick (mode none) it
 * completes with -EOPNOTSUPP. Posts not completed are not covered, nor are those
 * that have completed with an error: what of such a write has arrived may be read,
 * and is durable when it was written again. After any other error the writes are
 * still not durable; the next flush covers them, too.
 *
 * -EIO while kfbrick_losses() is 0: the brick's medium has failed. All that was
 * written since the last flush that returned 0 is in doubt: some of it may be
 * gone, and stays gone when the medium works again. It counts as not flushed:
 * every flush fails until the brick's store has been opened again, and then what
 * was in doubt is lost, by kfbrick_losses(). The ways on are to write it again
 * and flush, or to do without. The failure is returned once at least by a flush,
 * also when it was found in behalf of something else: a durable write, a
 * mapping that went, a request whose connection had died.
 *
 * Context: does not block, does not allocate.
 * Return: 0; -EAGAIN (queue full: poll first); -ENOTCONN.
 */
int kfbrick_post_flush(struct kfbrick *k, void *context);

/**
 * struct kfbrick_completion - what became of a posted operation
 * @context: of the post
 * @error: 0; -ECONNRESET (connection lost for good: what it did is unknown);
 *	-EACCES (the brick refused the key); -ESTALE (the mapping did not
 *	outlive a loss: it was not posted again); -ECONNABORTED (three
 *	connections in a row died with it in flight and none of its bytes
 *	moved: it may be what kills them); for a write also -EIO (some of it had
 *	arrived, and was lost before kfbrick_accept_losses(): write it again), and with
 *	retain_bytes any error of a flush: it found no room, and the flush for which it
 *	waited has failed; for a flush or a durable write also -EOPNOTSUPP, -ENOMEM
 *	(the brick's, for now), -ETIMEDOUT, -EIO (the medium failed, see
 *	kfbrick_post_flush(), or kfbrick_losses() are not accepted)
 * @len: bytes moved; 0 for a flush or after an error
 */
struct kfbrick_completion {
	void *context;
	int error;
	size_t len;
};

/**
 * kfbrick_poll - collect completions
 * @k: connection
 * @out: filled
 * @max: entries in @out
 * @timeout_ms: 0: do not wait; -1: no limit
 *
 * Context: blocks up to @timeout_ms.
 * Return: the number filled, 0 after the timeout, -ECONNRESET when the
 * connection is lost for good (outstanding operations are delivered as completions with
 * that error first).
 */
int kfbrick_poll(struct kfbrick *k, struct kfbrick_completion *out, size_t max,
		 int timeout_ms);

/**
 * kfbrick_lease_ms - how long the brick keeps a session it hears nothing of
 * @k: connection, also one that is lost
 *
 * What a lost connection had mapped stays mapped for so long at most, counted
 * from the last bytes that the brick has received.
 *
 * Context: does not block.
 * Return: milliseconds; 0: for ever, or no session was made.
 */
uint32_t kfbrick_lease_ms(const struct kfbrick *k);

/**
 * kfbrick_read - read, and wait for it
 * @k: connection
 * @va: any byte address inside mapped blocks
 * @buf: any memory
 * @len: bytes, not 0; may span handles
 *
 * Context: blocks up to the timeout, then ends the connection: nothing else
 * takes a posted operation back. When that comes back it goes on.
 * Return: 0, -ENXIO, -ESTALE, -EINVAL as kfbrick_post_read(); -EACCES,
 * -ESTALE, -EIO, -ECONNABORTED, -ECONNRESET as in struct kfbrick_completion;
 * -ENOTCONN; or, when the lease must be renewed first, an error of kfbrick_ping(),
 * -ETIMEDOUT among them.
 */
int kfbrick_read(struct kfbrick *k, uint64_t va, void *buf, size_t len);

/**
 * kfbrick_write - write, and wait until it has arrived
 * @k: connection
 * @va: any byte address inside blocks mapped RW
 * @buf: any memory
 * @len: bytes, not 0; may span handles
 *
 * Context: as kfbrick_read().
 * Return: as kfbrick_read(), -EACCES when mapped read-only, and with retain_bytes
 * an error of a flush, as in struct kfbrick_completion.
 */
int kfbrick_write(struct kfbrick *k, uint64_t va, const void *buf, size_t len);

/**
 * kfbrick_flush - make completed writes durable, and wait for it
 * @k: connection
 *
 * Covers what kfbrick_post_flush() covers.
 *
 * Context: blocks up to two timeouts.
 * Return: 0, -EOPNOTSUPP (volatile brick), -ETIMEDOUT, -EIO (the medium failed, see
 * kfbrick_post_flush(), or kfbrick_losses() are not accepted), -ENOMEM (the brick's,
 * for now), -ECONNRESET, -ENOTCONN. kfbrick_error() says which.
 */
int kfbrick_flush(struct kfbrick *k);

/**
 * struct kfbrick_range - bytes of the address space
 * @va: address of the first byte
 * @len: how many bytes
 */
struct kfbrick_range {
	uint64_t va;
	uint64_t len;
};

/**
 * kfbrick_losses - completed writes that may be lost
 * @k: connection
 * @ranges: filled, sorted by address
 * @max: entries in @ranges
 *
 * A range may hold more than was written, never less. One range of UINT64_MAX
 * bytes from 0 means: no one knows which.
 *
 * Context: does not block.
 * Return: how many ranges there are; 0 when nothing is lost.
 */
size_t kfbrick_losses(struct kfbrick *k, struct kfbrick_range *ranges,
		      size_t max);

/**
 * kfbrick_accept_losses - the program knows what is lost
 * @k: connection
 *
 * Flushes fail with -EIO from a loss until this call. Whoever calls it answers
 * for the lost writes: writes them again, or does without. What such bytes are until
 * they are written again is not known, and may change once more. Flushes that were
 * under way when the loss came fail with -EIO, and so do writes of which the loss has
 * taken a part: those whose completions were not delivered before this call are
 * answered for by nobody else.
 *
 * Context: does not block.
 */
void kfbrick_accept_losses(struct kfbrick *k);

#ifdef __cplusplus
}
#endif

#include "kfbrick_event.h"
#include "kfbrick_fence.h"
#include "kfbrick_path.h"
#include "kfbrick_reserve.h"

#endif
