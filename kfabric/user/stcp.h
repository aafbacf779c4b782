/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stcp: libfabric's tcp wire for peers that are not trusted. An FI_EP_MSG
 * provider behind libfabric's own calls, linked into the program: only the
 * functions below have other names; all that follows them is fi_*().
 *
 * Context: any thread; all objects are FI_THREAD_SAFE. Data moves by threads
 * of the provider (docs/stcp.md).
 */
#ifndef STCP_H
#define STCP_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STCP_PROVIDER "stcp"

/**
 * stcp_getinfo - what fi_getinfo() is, for this provider alone
 * @version: of libfabric's interface
 * @node: host name or numeric address, may be NULL
 * @service: port, may be NULL
 * @flags: FI_SOURCE, FI_NUMERICHOST
 * @hints: as for fi_getinfo(), may be NULL; prov_name is not looked at
 * @out: set to what there is, for fi_freeinfo()
 *
 * Return: 0, -FI_ENODATA when the hints cannot be met, or -errno.
 */
int stcp_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out);

/**
 * stcp_fabric - what fi_fabric() is, for this provider
 * @attr: of the info
 * @out: set to the fabric
 * @context: the caller's
 *
 * Return: 0 or -errno.
 */
int stcp_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out,
		void *context);

/**
 * stcp_choose_getinfo - fi_getinfo(), or stcp_getinfo() when the hints name it
 * @version: as of fi_getinfo()
 * @node: as of fi_getinfo()
 * @service: as of fi_getinfo()
 * @flags: as of fi_getinfo()
 * @hints: prov_name decides
 * @info: as of fi_getinfo()
 *
 * Return: 0 or -errno.
 */
int stcp_choose_getinfo(uint32_t version, const char *node, const char *service,
			uint64_t flags, const struct fi_info *hints,
			struct fi_info **info);

/**
 * stcp_choose_fabric - fi_fabric(), or stcp_fabric() for an info of stcp
 * @attr: of the info
 * @fabric: set to the fabric
 * @context: the caller's
 *
 * Return: 0 or -errno.
 */
int stcp_choose_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		       void *context);

/**
 * stcp_set_busy_poll - let the threads look for more before they sleep
 * @us: how long, microseconds; 0, as at first: not at all
 *
 * Saves waking them up, where processors are to be spent on that. At most
 * STCP_BUSY_POLL_MAX_US.
 *
 * Context: any; of threads that run it counts from their next wait on.
 */
void stcp_set_busy_poll(unsigned int us);
#define STCP_BUSY_POLL_MAX_US 10000

/**
 * stcp_tell_strays - say whether to hear of connections that are no requests
 * @tell: each is an error of its passive endpoint, EPROTO, with what it did as
 *	provider error; else, as at first, it is closed and counted
 *
 * A program that does not know of this takes any error of an event queue for
 * its own.
 *
 * Context: any.
 */
void stcp_tell_strays(bool tell);

/**
 * stcp_strays - how many connections were no requests, or not in time
 *
 * Context: any.
 */
uint64_t stcp_strays(void);

/**
 * stcp_starved - how often no connection could be taken
 *
 * There was no descriptor, or no memory: the listener looks again 100 ms later. A
 * program that hears of strays hears of the first time of several, by that error of
 * its passive endpoint.
 *
 * Context: any.
 */
uint64_t stcp_starved(void);

#define STCP_DOMAIN_OPS "stcp_domain_ops"

/**
 * struct stcp_domain_ops - what fi_open_ops(domain, STCP_DOMAIN_OPS) gives
 * @size: of this struct
 * @set_persist: who makes bytes durable for writes that ask for it
 *	(FI_COMMIT_COMPLETE): persist() is called for each piece that was
 *	placed, where it is received, before the peer is told. It returns
 *	0, or a negative errno that ends the connection. Without it such writes
 *	are refused, which ends the connection, too. To be set before the first
 *	endpoint is enabled.
 * @set_ring: whom completion queues without a descriptor (FI_WAIT_NONE) tell, of
 *	those that are opened after it: ring() is called with the queue's context,
 *	once after each fi_trywait() of the queue that found it empty, when it is
 *	not any more. It may be called by any thread, under locks: it calls
 *	nothing of the provider. Not after fi_close() of the queue.
 */
struct stcp_domain_ops {
	size_t size;
	int (*set_persist)(struct fid_domain *domain,
			   int (*persist)(void *arg, void *addr, size_t len),
			   void *arg);
	int (*set_ring)(struct fid_domain *domain, void (*ring)(void *context));
};

#define STCP_EP_OPS "stcp_ep_ops"

/**
 * struct stcp_traffic - what the socket of an endpoint has moved
 * @sent_bytes: that the peer's kernel has acknowledged
 * @received_bytes: that have come, read or not
 * @idle_ms: since the last of them came
 */
struct stcp_traffic {
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t idle_ms;
};

/**
 * struct stcp_moved - what one-sided operations of the peer have moved at an endpoint
 * @written_bytes: that have been placed here, of a write that is not over, too
 * @read_bytes: of reads that have been answered
 * @n_ops: writes that are over, and these reads
 *
 * Since the endpoint was opened. A peer that reads a few bytes only to know that what
 * it wrote before has arrived looks like any that reads.
 */
struct stcp_moved {
	uint64_t written_bytes;
	uint64_t read_bytes;
	uint64_t n_ops;
};

/**
 * struct stcp_ep_ops - what fi_open_ops(endpoint, STCP_EP_OPS) gives
 * @size: of this struct
 * @traffic: asks the system; any thread. It returns 0 or a negative errno.
 * @keep_to: before fi_connect(): the connection goes by the interface of that
 *	number and by no other, whatever becomes of the routes; 0: by any. It
 *	returns 0 or -FI_EOPBADSTATE.
 * @moved: any thread, at any time before fi_close(); waits for nobody. What came
 *	before a message or an answer is counted when the caller has that; the three
 *	may otherwise be a moment apart.
 * @fault: any thread, at any time before fi_close(); waits for nobody. An address of
 *	registered memory that could not be written or read for the peer, because its
 *	page cannot be had (else SIGBUS), which has ended the connection; NULL:
 *	something else has, or nothing.
 */
struct stcp_ep_ops {
	size_t size;
	int (*traffic)(struct fid_ep *ep, struct stcp_traffic *out);
	int (*keep_to)(struct fid_ep *ep, unsigned int interface);
	void (*moved)(struct fid_ep *ep, struct stcp_moved *out);
	void *(*fault)(struct fid_ep *ep);
};

#define STCP_PEP_OPS "stcp_pep_ops"

/**
 * struct stcp_pep_ops - what fi_open_ops(passive endpoint, STCP_PEP_OPS) gives
 * @size: of this struct
 * @keep_to: before fi_listen(): connections are taken that come by the interface
 *	of that number, and go by it. Others are refused, also where this host
 *	takes packets for the address from any interface. It returns 0 or a
 *	negative errno.
 */
struct stcp_pep_ops {
	size_t size;
	int (*keep_to)(struct fid_pep *pep, unsigned int interface);
};

#endif
