/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric between the processes: an RDMA provider behind libfabric's calls.
 *
 * What an end of a link posts arrives in order, each after a while of its own,
 * and is acknowledged after another. A link that is cut moves nothing more, and
 * each end hears of it in its own time; what one end has sent may still arrive
 * at the other as long as that has not closed its endpoint, as delayed packets
 * of a network do.
 *
 * A write into a brick's medium goes into N of its link; a READ, and a message
 * that a client sends, empty that first: what the brick's NIC places for either
 * cannot pass the writes before it.
 */
#ifndef TESTS_SIM_FABRIC_H
#define TESTS_SIM_FABRIC_H

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

#include "descriptor.h"
#include "kfabric/user/stcp.h"
#include "medium.h"

#define SIM_DEVICES  "sim0", "sim1" /* none there: they count as hardware */
#define SIM_NETWORKS 2
#define SIM_PORT     7 /* of the first brick; the others' follow */
#define SIM_NETWORK  4 /* from a port to the same brick's on the other network */
#define SIM_OPS_MAX  1024
#define SIM_RX_MAX   512
#define SIM_CQ_MAX   2048
#define SIM_INLINE   640
#define SIM_CM_BYTES 256
#define SIM_KEYS_MAX 512

struct sim_host;
struct sim_link;

enum sim_op_kind {
	SIM_SEND,
	SIM_WRITE,
	SIM_READ,
};

/*
 * struct sim_op - a posted operation
 * @is_silent: no completion
 * @is_durable: it is acknowledged when brickd has made it so
 * @buf: of whoever posted it; a message's bytes, and those of one that has
 *	lost its sender, are in @copy
 */
struct sim_op {
	enum sim_op_kind kind;
	bool is_silent;
	bool is_durable;
	void *buf;
	uint32_t len;
	uint64_t raddr;
	uint64_t key;
	void *context;
	uint8_t copy[SIM_INLINE];
};

struct sim_receive {
	void *buf;
	size_t len;
	void *context;
};

struct sim_cm_event {
	STAILQ_ENTRY(sim_cm_event) link;
	uint32_t kind;
	int error;
	struct fi_info *info;
	fid_t fid;
	size_t len;
	uint8_t data[SIM_CM_BYTES];
};

struct sim_eq {
	struct fid_eq fid;
	struct sim_belonging belonging;
	struct sim_descriptor descriptor;
	STAILQ_HEAD(, sim_cm_event) events;
};

/* An error that ends an endpoint; the operations behind it are cancelled. */
struct sim_error {
	int error;
	void *context;
};

struct sim_cq {
	struct fid_cq fid;
	struct sim_belonging belonging;
	struct sim_descriptor descriptor;
	bool has_failed;
	struct sim_error first;
	uint32_t head;
	uint32_t n;
	struct fi_cq_msg_entry entries[SIM_CQ_MAX];
};

/* @persist: of brickd's, over tcp: makes what was placed durable */
struct sim_domain {
	struct fid_domain fid;
	struct sim_belonging belonging;
	int (*persist)(void *arg, void *addr, size_t len);
	void *persist_arg;
};

/*
 * struct sim_ep - one end of a link, as long as it has an endpoint
 * @has_heard: that the link is cut
 * @sent_bytes: that have arrived
 * @received_ns: when the newest of @received_bytes arrived
 * @moved: by reads and writes of the other end
 */
struct sim_ep {
	struct fid_ep fid;
	struct sim_belonging belonging;
	struct sim_link *link;
	uint32_t side;
	struct sim_domain *domain;
	struct sim_eq *eq;
	struct sim_cq *cq;
	bool has_heard;
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t received_ns;
	struct stcp_moved moved;
	uint32_t rx_head;
	uint32_t n_rx;
	struct sim_receive rx[SIM_RX_MAX];
};

struct sim_pep {
	struct fid_pep fid;
	struct sim_belonging belonging;
	struct sim_eq *eq;
	struct fi_info *info;
	uint16_t port;
	struct sim_host *host;
};

/* Registered memory of a process; the key is its place in the table, and more. */
struct sim_mr {
	struct fid_mr fid;
	struct sim_belonging belonging;
	struct sim_host *host;
	const struct sim_domain *domain;
	uint8_t *base;
	size_t len;
	uint64_t access;
};

/* A brick answers at a port; a host whose power is off does not even refuse. */
void sim_fabric_init(void);
/* Whose processes open what is opened from now on; see host.h. */
struct sim_host *sim_fabric_host(void);

/* How a process reaches the fabric: stands in for getinfo and fabric. */
int sim_cm_event(struct sim_eq *eq, uint32_t kind, int error, fid_t fid,
		 const void *data, size_t len, struct fi_info *info);
/*
 * An endpoint is closed: what its owner has not read of it is never read, as with
 * every provider. The next one may lie where it was.
 */
void sim_eq_forget(struct sim_eq *eq, fid_t fid);
void sim_complete(struct sim_cq *cq, void *context, uint64_t flags, size_t len);
void sim_cq_fail(struct sim_cq *cq, int error, void *context);
struct sim_mr *sim_mr_find(uint64_t key);

int sim_ep_open(struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **out, void *context);
int sim_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		 struct fid_pep **out, void *context);

/* ---- what may happen to links -------------------------------------------- */

/* Links that have both ends. */
uint32_t sim_links_count(void);
/* One of them is cut; each end hears of it when it does. */
void sim_link_cut(uint32_t which);
/* Nothing moves on it for a while. */
void sim_link_hold(uint32_t which, uint64_t until_ns);
/* The network of a port: each has devices of its own. */
uint32_t sim_network_of(uint16_t port);
/*
 * Nothing moves on a network for a while, and nobody is reached there; @cuts: whoever
 * is connected there is told that he is not any more.
 */
void sim_network_lose(uint32_t network, uint64_t until_ns, bool cuts);
/* Where the brick does not answer somebody else does. */
void sim_squat(uint64_t until_ns);
/* All links of a host are cut, and what is on its way to it is lost. */
void sim_links_lose(const struct sim_host *host);

#define sim_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
