/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric inside one process, for brickd and libkfbrick linked into it: the
 * calls of libfabric that they use, and below them the power-failure model.
 *
 * What a write leaves in NIC and bus buffers is N of kfabric/test/fault/power.h;
 * the CPU's cache (L) and the media (M) are the test medium's (medium.h). A write
 * is acknowledged when it is in N.
 *
 * Context: one thread. Nothing moves by itself: pf_step() does the next thing.
 */
#ifndef TESTS_POWERFAIL_FABRIC_H
#define TESTS_POWERFAIL_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "power.h"

#define PF_DEVICE   "powerfail0" /* no such device: it counts as hardware */
#define PF_PORT	    7
#define PF_CONNS    16
#define PF_LINES    2048
#define PF_MRS	    256
#define PF_TX_MAX   1024
#define PF_RX_MAX   512
#define PF_CQ_MAX   2048
#define PF_INLINE   1024
#define PF_CM_BYTES 256

enum pf_kind {
	PF_SEND,
	PF_WRITE,
	PF_READ,
};

/* A posted operation. */
struct pf_op {
	enum pf_kind kind;
	bool is_silent; /* injected: no completion */
	void *buf;
	size_t len;
	uint64_t raddr;
	uint64_t key;
	void *context;
	uint8_t copy[PF_INLINE];
};

struct pf_event {
	STAILQ_ENTRY(pf_event) link;
	uint32_t kind;
	int error;
	struct fi_info *info;
	fid_t fid;
	size_t len;
	uint8_t data[PF_CM_BYTES];
};

struct pf_eq {
	struct fid_eq fid;
	int fd;
	STAILQ_HEAD(, pf_event) events;
};

struct pf_cq {
	struct fid_cq fid;
	int fd;
	bool is_clients;
	bool is_flushed; /* its endpoint's connection is gone */
	uint32_t head;
	uint32_t n;
	struct fi_cq_msg_entry entries[PF_CQ_MAX];
};

struct pf_ep {
	struct fid_ep fid;
	struct pf_ep *peer;
	struct pf_eq *eq;
	struct pf_cq *cq;
	bool is_client;
	bool is_held; /* what it sends stays where it is */
	uint32_t conn; /* in N; the client's end */
	struct pf_op *tx;
	uint32_t tx_head;
	uint32_t n_tx;
	struct pf_op *rx;
	uint32_t rx_head;
	uint32_t n_rx;
};

/* Registered memory; the key is its place here, and one. */
struct pf_mr {
	struct fid_mr fid;
	bool is_open;
	uint8_t *base;
	size_t len;
};

struct pf_pep {
	struct fid_pep fid;
	struct pf_eq *eq;
	struct fi_info *info;
};

/**
 * struct pf_world - everything
 * @rng: what happens next, and when lines leave N
 * @power: N of all connections
 * @lines: its memory
 * @conns: likewise
 * @pep: that brickd listens with
 * @eps: by connection, the clients' ends
 * @mrs: of brickd's domains
 * @is_placed: what is acknowledged has left N
 * @is_polite: no client sends before it has taken all that the brick has sent
 * @brick_has_news: completions or events wait for brickd
 * @is_stepping: pf_step() is on the stack
 */
struct pf_world {
	__u64 rng;
	struct fault_power power;
	struct fault_line lines[PF_LINES];
	struct fault_queue conns[PF_CONNS];
	struct pf_pep *pep;
	struct pf_ep *eps[PF_CONNS];
	struct pf_mr mrs[PF_MRS];
	bool is_placed;
	bool is_polite;
	bool brick_has_news;
	bool is_stepping;
};

extern struct pf_world pf_world;

/* Starts over; p: that a line leaves N when another write comes. */
void pf_world_init(uint64_t seed, uint32_t drain_permille);

/* One operation of one end moves; brickd does what follows from it. */
void pf_step(void);

/* A connection ends; what N holds of it drains, or is lost. */
void pf_cut_link(uint32_t conn, bool drains);

/* What the brick sends over a connection does not arrive any more. */
void pf_hold_answers(uint32_t conn);
/* How much of that there is. */
uint32_t pf_held_answers(uint32_t conn);

/* What has left N goes where the platform puts it. */
void pf_place(void);

/* The domain's ops that move bytes, and what endpoints can do. */
extern struct fi_ops_rma pf_rma_ops;
extern struct fi_ops_msg pf_msg_ops;
extern struct fi_ops_cm pf_cm_ops;
extern struct fi_ops_ep pf_ep_ops;

int pf_endpoint(struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **out, void *context);
int pf_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **out, void *context);
int pf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	       struct fid_cq **out, void *context);
int pf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	       struct fid_eq **out, void *context);
struct pf_event *pf_event_new(struct pf_eq *eq, uint32_t kind, const void *data,
			      size_t len);
void pf_complete(struct pf_cq *cq, void *context, uint64_t flags, size_t len);

/* Runs brickd until it has nothing to do; the test's part, see brick.c. */
void pf_brick_run(void);

#define pf_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
