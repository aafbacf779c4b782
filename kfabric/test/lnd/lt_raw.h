/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An endpoint that speaks the wire of kfabric_lnd as its user likes.
 */
#ifndef LT_RAW_H
#define LT_RAW_H

#include <linux/wait.h>
#include <kfabric/fi_av.h>
#include <kfabric/fi_endpoint.h>

#include "kfabric/lndwire/lndw_msg.h"

#define LT_RAW_HEARS  8 /* of each way */
#define LT_RAW_SAYS   64
#define LT_RAW_OPS    (2 * LT_RAW_HEARS + LT_RAW_SAYS + 1)
#define LT_RAW_FILLER 0x5a /* bytes of an immediate put */

enum lt_raw_kind {
	LT_RAW_HEAR,
	LT_RAW_ANSWER, /* hears what has a tag */
	LT_RAW_SAY,
	LT_RAW_MOVE,
};

enum lt_raw_state {
	LT_RAW_IDLE,
	LT_RAW_POSTED,
	LT_RAW_OVER,
};

/**
 * struct lt_raw_op - an operation of the fabric's
 * @raw: whose
 * @kind: what it is for
 * @state: of it; the upcall says that it is over
 * @err: how it ended
 * @len: bytes that came
 * @bytes: to say
 * @buf: LNDW_MESSAGE_MAX bytes
 * @fi: memory of the operation; has op_context_size bytes
 */
struct lt_raw_op {
	struct lt_raw *raw;
	enum lt_raw_kind kind;
	enum lt_raw_state state;
	int err;
	size_t len;
	u32 bytes;
	u8 *buf;
	struct fi_context fi;
};

/**
 * struct lt_raw - an endpoint and whom it talks to
 * @nid: its number, as it says
 * @incarnation: as it says
 * @peer: the peer's number
 * @peer_incarnation: of it; 0: not known
 * @seq: number of the last transaction
 * @heard: number of the peer's last request
 * @info: what the fabric offers
 * @fabric: of @info
 * @domain: of @fabric
 * @cq: completions of @ep
 * @av: has @addr
 * @ep: endpoint
 * @addr: the peer's
 * @over: an operation is
 * @ops: receives, those with a tag, sends, and one that moves bytes
 */
struct lt_raw {
	u64 nid;
	u64 incarnation;
	u64 peer;
	u64 peer_incarnation;
	u64 seq;
	u64 heard;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t addr;
	wait_queue_head_t over;
	struct lt_raw_op *ops[LT_RAW_OPS];
};

int lt_raw_open(struct lt_raw *raw, const char *prov, const char *node,
		unsigned int port, unsigned int peer_port, bool is_deaf);
void lt_raw_close(struct lt_raw *raw);
struct lndw_msg lt_raw_msg(struct lt_raw *raw, enum lndw_kind kind);
struct lt_raw_op *lt_raw_begin(struct lt_raw *raw, const struct lndw_msg *msg);
int lt_raw_say(struct lt_raw_op *op);
int lt_raw_say_tagged(struct lt_raw_op *op, u64 tag);
int lt_raw_tell(struct lt_raw *raw, const struct lndw_msg *msg);
bool lt_raw_has_heard(struct lt_raw *raw, enum lndw_kind kind, u64 seq,
		      struct lndw_msg *msg);
bool lt_raw_hear(struct lt_raw *raw, enum lndw_kind kind, u64 seq,
		 struct lndw_msg *msg);
bool lt_raw_hear_new(struct lt_raw *raw, enum lndw_kind kind,
		     struct lndw_msg *msg);
int lt_raw_move(struct lt_raw *raw, bool is_write, u64 key, void *bytes,
		size_t len);

#endif /* LT_RAW_H */
