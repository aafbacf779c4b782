/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two endpoints over loopback, each of them stcp's or of libfabric's own tcp
 * provider, driven by one thread. A wait that lasts too long fails the test.
 */
#ifndef STCP_RIG_H
#define STCP_RIG_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_MEMORY_BYTES (1U << 20)
#define RIG_KEY		 0x1122334455667788ULL
#define RIG_SEEN_MAX	 1024

/* A completion or the error in its place. */
struct seen {
	void *context;
	uint64_t flags;
	uint64_t data;
	size_t len;
	int err;
	int prov_errno;
};

struct event {
	uint32_t kind; /* 0: an error */
	int err;
	int prov_errno;
	struct fi_info *info;
	size_t data_bytes;
	uint8_t data[512];
};

struct side {
	bool is_stcp;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_mr *mr;
	uint8_t *memory;
	struct seen seen[RIG_SEEN_MAX];
	unsigned int n_seen;
};

struct rig {
	struct side server;
	struct side client;
};

/* From then on: whose user moves the data of stcp (FI_PROGRESS_MANUAL). */
void rig_manual(bool server, bool client);
/* The next rig's server takes the data of writes. */
void rig_with_data(bool data);
/* From then on: whom queues tell, instead of a descriptor; NULL: nobody. */
void rig_ring(void (*ring)(void *context), void *context);
/* Opens both sides; the server listens. */
struct rig *rig_open(bool stcp_server, bool stcp_client);
void rig_close(struct rig *rig);

/* An endpoint with its queue, for an info; the domain and its memory once. */
void rig_endpoint(struct side *side, struct fi_info *info);
void rig_drop_endpoint(struct side *side);
/* Connects the two; each has registered its memory under RIG_KEY. */
void rig_connect(struct rig *rig);

/* Moves both sides once. */
void rig_step(struct rig *rig);
/* The next event of a side. */
void rig_event(struct rig *rig, struct side *side, struct event *event);
/* The completion with this context, taken out. */
struct seen rig_wait(struct rig *rig, struct side *side, void *context);
/* True when there is one; it stays. */
bool rig_has(struct rig *rig, struct side *side, const void *context);

uint64_t rig_now_ms(void);
#define RIG_DEADLINE_MS 60000

#endif
