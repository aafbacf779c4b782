/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection of the daemon with itself, for the self-test.
 *
 * Context: one thread, which drives both ends: with stock tcp nothing moves
 * unless both completion queues are read.
 */
#ifndef BRICKD_NET_SELFTEST_LINK_H
#define BRICKD_NET_SELFTEST_LINK_H

#include <stdint.h>

#include "brickd/net/fabric.h"

/* One end: its objects, and what happened to it. */
struct brick_link_end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	bool connected;
	bool ended;
	int error; /* why, if it is known */
	bool completed;
	bool failed;
};

/**
 * struct brick_link - both ends
 * @f: the fabric under test
 * @to: where to connect to; differs from where it listens on a wildcard
 * @pep: where the client end connects to
 * @client: writes
 * @server: is written to
 */
struct brick_link {
	const struct brick_fabric *f;
	const struct brick_address *to;
	struct fid_pep *pep;
	struct brick_link_end client;
	struct brick_link_end server;
};

/**
 * brick_link_open - connect
 * @link: filled; to be closed also after a failure
 * @f: the fabric under test
 * @to: an address on which it listens; outlives the link
 *
 * Return: 0, -ETIMEDOUT or -errno.
 */
int brick_link_open(struct brick_link *link, const struct brick_fabric *f,
		    const struct brick_address *to);
void brick_link_close(struct brick_link *link);

/**
 * brick_link_write - write through a key and wait for what becomes of it
 * @link: open
 * @src: bytes
 * @desc: of a registration of them, or NULL
 * @len: how many
 * @to: key and address
 *
 * Return: 0 (completed), -ECONNABORTED (refused), -ETIMEDOUT, -errno.
 */
int brick_link_write(struct brick_link *link, void *src, void *desc, size_t len,
		     const struct brick_region *to);

#endif
