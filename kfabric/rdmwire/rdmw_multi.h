/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The room of a receive that takes several messages, one behind the other, until
 * little is left. Nothing of it goes over the wire.
 *
 * Context: any; the caller's lock protects a struct rdmw_multi.
 */
#ifndef RDMW_MULTI_H
#define RDMW_MULTI_H

#include <linux/types.h>

/**
 * struct rdmw_multi - the room of a receive
 * @size: bytes of its buffer
 * @min: when fewer are left it takes no more
 * @at: bytes that messages have, or have reserved
 * @users: messages that have room and are not over
 * @is_over: it takes no more
 */
struct rdmw_multi {
	__u64 size;
	__u64 min;
	__u64 at;
	__u32 users;
	_Bool is_over;
};

/**
 * rdmw_multi_take() - a message wants room
 * @multi: that is not over
 * @total: bytes of the message
 * @at: out: where its first byte goes
 *
 * One that is too long for an empty buffer gets all of it. After one that is too
 * long for what is left the receive is over.
 *
 * Return: it has room, until rdmw_multi_done() or rdmw_multi_undo().
 */
_Bool rdmw_multi_take(struct rdmw_multi *multi, __u64 total, __u64 *at);

/**
 * rdmw_multi_done() - a message is complete
 * @multi: that it has room of
 *
 * Return: the receive is over and no message is under way: it can be given back.
 */
_Bool rdmw_multi_done(struct rdmw_multi *multi);

/**
 * rdmw_multi_undo() - a message never comes to its end
 * @multi: that it has room of
 * @total: bytes of the message
 * @at: where its first byte went
 *
 * Its room is free again if no other message's is behind it; then the receive may
 * be not over any more.
 */
void rdmw_multi_undo(struct rdmw_multi *multi, __u64 total, __u64 at);

#endif
