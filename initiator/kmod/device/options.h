/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: what is written to the control device.
 *
 * One line of "key=value" pairs and flags, separated by commas:
 *
 *	attach,addr=10.0.0.1,port=20149,provider=verbs,client=vm1,key=kfbrick:vm1,
 *	base=0x0,blocks=512,sector=4096,queues=4,thin,ro,reconnect_s=60,
 *	fail=io-error,uuid=...,timeout_s=10,retain_mb=64,map_cache=64,name=data,
 *	allow_untrusted_tcp,shared
 *	attach,addr=10.0.0.1,port=20149,addr=10.1.0.1,port=20149,...
 *	detach,instance=0,force
 *	resize,instance=0,blocks=1024
 *	reattach,instance=0
 */
#ifndef KFBRICK_OPTIONS_H
#define KFBRICK_OPTIONS_H

#include <linux/types.h>

#include "blocks/kfb_disk.h"
#include "session/kfb_client.h"

/* A line is no longer. */
#define KFBK_OPTIONS_MAX_BYTES 1024

#define KFBK_ADDR_BYTES	    48 /* an IPv6 address and its scope */
#define KFBK_PORT_BYTES	    6
#define KFBK_PROVIDER_BYTES 32
#define KFBK_KEY_BYTES	    128 /* of the key's description */
#define KFBK_NAME_BYTES	    64

/* What went wrong, in words. */
#define KFBK_WHY_BYTES 160

/* Retained copies: as the brick's acknowledgements need it, or none. */
#define KFBK_RETAIN_AUTO (~(u32)0)
#define KFBK_RETAIN_MB	 64

enum kfbk_order {
	KFBK_ATTACH,
	KFBK_DETACH,
	KFBK_RESIZE,
	KFBK_REATTACH,
};

/**
 * struct kfbk_address - where the brick can be reached
 * @addr: numeric
 * @port: decimal
 */
struct kfbk_address {
	char addr[KFBK_ADDR_BYTES];
	char port[KFBK_PORT_BYTES];
};

/**
 * struct kfbk_options - an order, as it was written
 * @order: what to do
 * @addresses: of the brick; all of its session is at one of them
 * @n_addresses: how many addresses
 * @provider: of kfabric
 * @client: the name the brick knows this client by; empty: none
 * @key: description of the logon key
 * @name: of the disk, for people and /dev/kfbrick; empty: none
 * @uuid: the brick that is expected; zero: any
 * @base: address of the first block
 * @n_blocks: blocks of the device
 * @queues: connections
 * @reconnect_ms: as in &struct kfb_client_config
 * @timeout_ms: of connecting and of each request
 * @retain_mb: room for copies of writes, or KFBK_RETAIN_AUTO
 * @map_cache: blocks that are mapped at one time, at most; 0: all are, always
 * @sector_bytes: of the disk's logical blocks
 * @thin: blocks are allocated when they are first written
 * @ro: nothing is written
 * @shared: other hosts write the same blocks
 * @allow_untrusted_tcp: connections may leave this host by an interface that is
 *	none of WireGuard
 * @instance: DETACH, RESIZE, REATTACH: of which device
 * @force: DETACH: even while it is open
 * @given: bits of the keys that were there
 */
struct kfbk_options {
	enum kfbk_order order;
	struct kfbk_address addresses[KFB_CLIENT_ADDRESSES_MAX];
	u32 n_addresses;
	char provider[KFBK_PROVIDER_BYTES];
	char client[KFB_NAME_MAX + 1];
	char key[KFBK_KEY_BYTES];
	char name[KFBK_NAME_BYTES];
	u8 uuid[KFB_UUID_BYTES];
	u64 base;
	u64 n_blocks;
	u32 queues;
	u32 reconnect_ms;
	u32 timeout_ms;
	u32 retain_mb;
	u32 map_cache;
	u32 sector_bytes;
	bool thin;
	bool ro;
	bool shared;
	bool allow_untrusted_tcp;
	u32 instance;
	bool force;
	u32 given;
};

/* Who else uses the blocks of a disk that is attached with these? */
static inline enum kfb_disk_use kfbk_options_use(const struct kfbk_options *o)
{
	if (o->ro)
		return KFB_DISK_READER;
	return o->shared ? KFB_DISK_SHARED : KFB_DISK_ALONE;
}

/**
 * kfbk_options_parse - read an order
 * @line: the line, NUL terminated; is cut up
 * @out: filled, with defaults for what is not there
 * @why: on failure what is wrong, for people
 *
 * Context: process.
 * Return: 0, or -EINVAL.
 */
int kfbk_options_parse(char *line, struct kfbk_options *out,
		       char why[KFBK_WHY_BYTES]);

#endif /* KFBRICK_OPTIONS_H */
