/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reliable datagrams' wire: grants: keys of the device below, with which a peer
 * reaches a region without its owner's engine. Format and rules are in
 * docs/kfabric-rdm.md.
 *
 * A struct rdmw_grants has what one end of a connection was granted by the other.
 *
 * Context: any; a struct rdmw_grants belongs to one thread at a time.
 */
#ifndef RDMW_GRANT_H
#define RDMW_GRANT_H

#include "rdmw_rma.h"

/* Grants of one end of a connection that are not returned. */
#define RDMW_GRANTS_MAX 16

#define RDMW_GRANT_BYTES 40

/* What a region may be used for. */
#define RDMW_MAY_READ  1
#define RDMW_MAY_WRITE 2

/**
 * struct rdmw_grant - a region, as the device below knows it
 * @key: that the region has for the upper layer
 * @native_key: that the device has for it
 * @addr: that the device has for its first byte
 * @len: bytes of it
 * @access: RDMW_MAY_READ, RDMW_MAY_WRITE, or both; 0: a free place of a table
 * @is_revoked: nothing more may begin
 * @users: operations under way, which its holder counts
 */
struct rdmw_grant {
	__u64 key;
	__u64 native_key;
	__u64 addr;
	__u64 len;
	__u8 access;
	_Bool is_revoked;
	__u32 users;
};

/**
 * struct rdmw_grants - what was granted; zeroed it is nothing
 * @grants: in no order
 */
struct rdmw_grants {
	struct rdmw_grant grants[RDMW_GRANTS_MAX];
};

/**
 * rdmw_grant_pack() - the bytes of a grant
 * @grant: sound
 * @out: RDMW_GRANT_BYTES
 */
void rdmw_grant_pack(const struct rdmw_grant *grant, __u8 *out);

/**
 * rdmw_grants_add() - a grant has come
 * @grants: what was granted before
 * @piece: the grant's
 * @in: its bytes
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_grants_add(struct rdmw_grants *grants,
				    const struct rdmw_piece *piece,
				    const __u8 *in);

/**
 * rdmw_grants_find() - what a range is reached with
 * @grants: what was granted
 * @range: as the upper layer names it
 * @access: RDMW_MAY_READ or RDMW_MAY_WRITE
 *
 * Return: a grant for that, which has all of the range; NULL: there is none.
 */
struct rdmw_grant *rdmw_grants_find(struct rdmw_grants *grants,
				    const struct rdmw_range *range,
				    __u8 access);

/**
 * rdmw_grants_revoke() - a grant is revoked
 * @grants: what was granted
 * @key: that the region has for the upper layer
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_grants_revoke(struct rdmw_grants *grants, __u64 key);

/**
 * rdmw_grants_drop() - a grant that is revoked goes when nobody uses it
 * @grants: what was granted
 * @key: that the region has for the upper layer
 *
 * Return: it is gone, now or before; 0: it is still used.
 */
_Bool rdmw_grants_drop(struct rdmw_grants *grants, __u64 key);

#endif
