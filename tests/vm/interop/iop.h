/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfi_interop: the kernel's end of the interoperability test with user-space
 * libfabric; see iop_wire.h. One thread does everything.
 */
#ifndef KFI_IOP_H
#define KFI_IOP_H

#include <linux/types.h>

#include <kfabric/kfi_provider.h>

#include "kfabric/test/perf/iop_wire.h"

#define IOP_CHUNKS     16
#define IOP_CHUNK_SIZE (2u << 20)
#define IOP_TX_OPS     32
#define IOP_RECV_BYTES 4096u
#define IOP_MS	       60000
/* Timeout of operations in this test, and by when an error must be there. */
#define IOP_OP_TIMEOUT_MS 10000
#define IOP_ERROR_MS	  60000

/**
 * struct iop_buf - a buffer in up to IOP_CHUNKS pieces
 * @chunk: memory, IOP_CHUNK_SIZE each, physically contiguous
 * @off: where the piece begins in each chunk
 * @len: bytes of each piece
 * @n: pieces
 * @kvec: the pieces in one description
 * @bvec: in another
 * @sg: and another
 */
struct iop_buf {
	u8 *chunk[IOP_CHUNKS];
	u32 off[IOP_CHUNKS];
	u32 len[IOP_CHUNKS];
	u32 n;
	struct kvec kvec[IOP_CHUNKS];
	struct bio_vec bvec[IOP_CHUNKS];
	struct scatterlist sg[IOP_CHUNKS];
};

/**
 * struct iop - the test's state
 * @node: address
 * @service: port
 * @provider: name of the kernel's
 * @server: we listen and the peer connects
 * @source: @node is ours
 * @step: of the alignments that are tried
 * @strict: the peer minds what it may not be sent
 * @info: what we use
 * @fabric: opened once
 * @eq: opened once
 * @pep: listens, when @server
 * @domain: of the connection, as all below
 * @txcq: of @ep
 * @rxcq: of @ep
 * @ep: the connection
 * @peer: private data of the peer
 * @tx_ctx: operation memory
 * @rx_ctx: operation memory of @rx
 * @src: bytes to send
 * @dst: bytes to receive
 * @cmd: for commands
 */
struct iop {
	const char *node;
	const char *service;
	const char *provider;
	bool server;
	bool source;
	bool strict;
	unsigned int step;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_domain *domain;
	struct fid_cq *txcq;
	struct fid_cq *rxcq;
	struct fid_ep *ep;
	struct iop_peer_data peer;
	struct fi_context *tx_ctx[IOP_TX_OPS];
	struct fi_context *rx_ctx;
	struct iop_buf src;
	struct iop_buf dst;
	u8 *cmd;
};

static inline bool iop_is_tcp(const struct iop *t)
{
	return t->info->ep_attr->protocol == FI_PROTO_SOCK_TCP;
}

/* What tells a refusal: tcp's wire has no words for it, the end is all. */
static inline int iop_refusal(const struct iop *t)
{
	return iop_is_tcp(t) ? FI_ECANCELED : FI_EACCES;
}

/* iop_main.c */
bool iop_check(bool good, const char *format, ...) __printf(2, 3);

/* iop_conn.c */
int iop_setup(struct iop *t);
void iop_teardown(struct iop *t);
int iop_open(struct iop *t);
void iop_close(struct iop *t);
void iop_be_rejected(struct iop *t);
void iop_reject(struct iop *t);
bool iop_wait_shutdown(struct iop *t);

/* iop_buf.c */
enum iop_kind {
	IOP_KVEC,
	IOP_BVEC,
	IOP_SG,
	IOP_KINDS
};
int iop_buf_alloc(struct iop_buf *b);
void iop_buf_free(struct iop_buf *b);
void iop_buf_split(struct iop_buf *b, u32 len, u32 align, u32 n);
struct fi_buf iop_buf_fi(struct iop_buf *b, enum iop_kind kind, u32 len);
void iop_buf_fill(struct iop_buf *b, u64 seed);
void iop_buf_clear(struct iop_buf *b);
bool iop_buf_is(const struct iop_buf *b, u64 seed);
u64 iop_pattern_sum(u64 seed, u32 len);

/* iop_op.c */
int iop_wait(struct fid_cq *cq, struct fi_cq_err_entry *entry, int timeout_ms);
int iop_tx_done(struct iop *t);
int iop_write(struct iop *t, struct iop_buf *b, enum iop_kind kind, u32 len,
	      u64 addr, u64 key);
int iop_read(struct iop *t, struct iop_buf *b, enum iop_kind kind, u32 len,
	     u64 addr, u64 key);
int iop_post_recv(struct iop *t, void *buf, u32 len);
int iop_command(struct iop *t, const struct iop_cmd *cmd, u64 *value);

/* iop_removal.c */
void iop_removal(struct iop *t, bool shared);

/* iop_msg.c, iop_rma.c, iop_level.c, iop_peer.c, iop_fault.c: the tests */
void iop_t_messages(struct iop *t);
void iop_t_inject(struct iop *t);
void iop_t_rma(struct iop *t);
void iop_t_flush(struct iop *t);
void iop_t_levels(struct iop *t);
void iop_t_peer_levels(struct iop *t);
void iop_t_read_only(struct iop *t);
void iop_t_peer_rma(struct iop *t);
void iop_t_peer_read_only(struct iop *t);
void iop_t_peer_write_only(struct iop *t);
void iop_t_peer_wrong_key(struct iop *t);
void iop_t_peer_read_wrong_key(struct iop *t);
void iop_t_peer_write_over(struct iop *t);
void iop_t_peer_read_before(struct iop *t);
void iop_t_peer_stale_key(struct iop *t);
void iop_t_write_wrong_key(struct iop *t);
void iop_t_read_wrong_key(struct iop *t);
void iop_t_write_over(struct iop *t);
void iop_t_read_over(struct iop *t);
void iop_t_write_before(struct iop *t);
void iop_t_read_far(struct iop *t);
void iop_t_too_long(struct iop *t);
void iop_t_quit(struct iop *t);
void iop_t_hang(struct iop *t);
void iop_t_kill_writes(struct iop *t);
void iop_t_kill_reads(struct iop *t);
void iop_t_kill_messages(struct iop *t);
void iop_t_kill_writing(struct iop *t);

#endif /* KFI_IOP_H */
