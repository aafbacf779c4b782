/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What keeps others from reading and changing what travels between client and
 * brick: that it does not leave the host, the tunnel that it goes by, a fabric
 * of its own, or nothing.
 *
 * Context: any.
 */
#ifndef KFB_PATH_H
#define KFB_PATH_H

#include <linux/types.h>

/* The kernel's name of the only kind of link that counts as encrypted. */
#define KFB_PATH_TUNNEL "wireguard"

enum kfb_path {
	KFB_PATH_UNKNOWN, /* there is no connection yet */
	KFB_PATH_LOOPBACK, /* it does not leave the host */
	KFB_PATH_WIREGUARD, /* a WireGuard interface, to which it is bound */
	KFB_PATH_RDMA, /* devices of a fabric move it */
	KFB_PATH_UNTRUSTED, /* nothing that is known to encrypt */
};

#define KFB_PATH_LAST KFB_PATH_UNTRUSTED

/**
 * kfb_path_of - what an interface is to tcp
 * @is_local: what leaves by it stays on this host
 * @kind: of its link, as the kernel calls it; "": it does not
 *
 * Context: any.
 * Return: LOOPBACK, WIREGUARD or UNTRUSTED.
 */
enum kfb_path kfb_path_of(_Bool is_local, const char *kind);

/**
 * kfb_path_name - a path in one word
 * @path: enum kfb_path
 *
 * Context: any.
 * Return: a constant string, "unknown" for what is none.
 */
const char *kfb_path_name(__u32 path);

#endif
