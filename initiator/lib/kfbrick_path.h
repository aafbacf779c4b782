/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkfbrick: the way to a brick: over what a connection goes, and what has moved.
 * A part of kfbrick.h, which includes it.
 */
#ifndef KFBRICK_PATH_H
#define KFBRICK_PATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kfbrick;

/**
 * enum kfbrick_path - what keeps others from what a connection carries
 * @KFBRICK_PATH_UNKNOWN: no connection was begun, or the newest one found no way
 * @KFBRICK_PATH_LOOPBACK: the connection does not leave this host
 * @KFBRICK_PATH_WIREGUARD: a WireGuard interface, to which the connection is bound
 * @KFBRICK_PATH_RDMA: devices of a fabric, which is to be a private one
 * @KFBRICK_PATH_UNTRUSTED: nothing: &struct kfbrick_config allows it
 */
enum kfbrick_path {
	KFBRICK_PATH_UNKNOWN = 0,
	KFBRICK_PATH_LOOPBACK = 1,
	KFBRICK_PATH_WIREGUARD = 2,
	KFBRICK_PATH_RDMA = 3,
	KFBRICK_PATH_UNTRUSTED = 4,
};

#define KFBRICK_INTERFACE_BYTES 16

/**
 * kfbrick_get_path - over what the connection goes, seen from this host
 * @k: connection
 * @interface: the interface's name; "" where that says nothing
 *
 * Context: does not wait for the brick.
 * Return: enum kfbrick_path, of the newest connection, also when that is lost.
 */
enum kfbrick_path kfbrick_get_path(const struct kfbrick *k,
				   char interface[KFBRICK_INTERFACE_BYTES]);

/**
 * kfbrick_moved_bytes - bytes that operations have moved
 * @k: connection
 *
 * Parts of operations count that are not over: while the number rises, what was
 * posted is on its way, however slow the link is. What a loss made the library
 * move again counts again.
 *
 * Context: does not block.
 * Return: bytes read and written on this connection so far.
 */
uint64_t kfbrick_moved_bytes(const struct kfbrick *k);

#ifdef __cplusplus
}
#endif

#endif
