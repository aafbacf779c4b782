/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkfbrick: news from the brick, and a descriptor to wait for them and for
 * completions. A part of kfbrick.h, which includes it.
 */
#ifndef KFBRICK_EVENT_H
#define KFBRICK_EVENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kfbrick;

#define KFBRICK_EVENT_LEASE	  1
#define KFBRICK_EVENT_RECALL	  2
#define KFBRICK_EVENT_SHUTDOWN	  3
#define KFBRICK_EVENT_MEDIA_ERROR 4
#define KFBRICK_EVENT_EVICTED	  5
#define KFBRICK_EVENT_RATE	  6

#define KFBRICK_EVICTED_ORDER	 1
#define KFBRICK_EVICTED_CLIENT	 2
#define KFBRICK_EVICTED_KEY	 3
#define KFBRICK_EVICTED_GRANT	 4
#define KFBRICK_EVICTED_FENCED	 5
#define KFBRICK_EVICTED_RESERVED 6

/**
 * struct kfbrick_event - news from the brick
 * @size: sizeof(struct kfbrick_event), set by the caller
 * @kind: KFBRICK_EVENT_*: the lease is about to end; somebody waits for memory
 *	and this mapping, or others of as many blocks, would help: unmap what
 *	can be done without, nothing is taken by force; the brick stops; the
 *	blocks at @va are lost; the brick has ended the session, see @cause;
 *	kfbrick_get_rate() has other numbers
 * @va: address, where it concerns blocks
 * @n_blocks: how many blocks; 0 of a medium error: the brick cannot say which
 * @mapping_id: where it concerns a mapping: its kfbrick_mapping_id()
 * @deadline_ms: from when it was sent
 * @cause: KFBRICK_EVICTED_*: by order of an administrator; the brick's settings
 *	have the client, the key it used, or a grant that it uses no more; it is
 *	fenced, or has mapped what is reserved for others; other numbers are of later
 *	versions; 0: it is not evicted
 * @uid: who ordered that a session is evicted, a user of the brick's machine
 */
struct kfbrick_event {
	size_t size;
	uint32_t kind;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t mapping_id;
	uint32_t deadline_ms;
	uint32_t cause;
	uint32_t uid;
};

/**
 * kfbrick_next_event - take the oldest event that has come
 * @k: connection
 * @event: the caller has set its size; filled when there is an event
 *
 * Events come in during kfbrick_poll() and control calls, which acknowledge
 * them. At most four are kept; a brick repeats what still holds.
 *
 * Context: does not block.
 * Return: 1 when there was one, else 0; -EINVAL (no size).
 */
int kfbrick_next_event(struct kfbrick *k, struct kfbrick_event *event);

/**
 * kfbrick_wait_fd - a descriptor for the caller's event loop
 * @k: connection
 *
 * Readable when kfbrick_poll(k, ..., 0) should be called, also because a ping
 * is due or it is time to try to connect. Call it until it returns 0 before
 * waiting. The descriptor stays the same over losses.
 *
 * Context: does not block.
 * Return: a descriptor owned by @k, -EOPNOTSUPP, or -ENOTCONN.
 */
int kfbrick_wait_fd(struct kfbrick *k);

#ifdef __cplusplus
}
#endif

#endif
