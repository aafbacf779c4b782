/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One listening address on one libfabric provider: fabric, event queue,
 * passive endpoint.
 *
 * Context: the loop thread, except brick_fabric_reg() and brick_fabric_dereg()
 * on providers that fence, which run in the registration worker.
 */
#ifndef BRICKD_NET_FABRIC_H
#define BRICKD_NET_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/base/loop.h"
#include "brickd/config/address.h"
#include "proto/kfb_path.h"

#define BRICK_FI_VERSION  FI_VERSION(1, 17)
#define BRICK_DEVICES_MAX 16

struct brick_net;

/*
 * struct brick_fabric - a listening address
 * @net: whose
 * @listener: whose connection requests come here
 * @address: as configured
 * @interface: number of the one by which connections must come; 0: any
 * @path: what clients reach it over
 * @port: the one in use
 * @info: what the provider offers
 * @devices: of connection requests, one for each tested device
 * @n_devices: how many
 * @mr_fences: once a registration is closed no byte can land through it
 * @write_is_placed: a plain write completes when its bytes have landed; over TCP
 *	it completes when it is sent
 * @source: the event queue's descriptor
 */
struct brick_fabric {
	struct brick_net *net;
	void *listener;
	const struct brick_address *address;
	unsigned int interface;
	enum kfb_path path;
	unsigned int port;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fi_info *devices[BRICK_DEVICES_MAX];
	uint32_t n_devices;
	bool mr_local;
	bool mr_virt_addr;
	bool mr_prov_key;
	bool mr_fences;
	bool write_is_placed;
	struct brick_source source;
};

/**
 * brick_fabric_prepare - set libfabric's environment
 *
 * Switches the registration cache off: with it a closed or read-only
 * registration still takes writes. Must precede every other fabric call.
 */
void brick_fabric_prepare(void);

/**
 * brick_fabric_hints - what brickd asks of a provider
 * @address: which provider and address family
 *
 * Return: for fi_freeinfo(), NULL without memory.
 */
struct fi_info *brick_fabric_hints(const struct brick_address *address);

/**
 * brick_fabric_any_port - let the system choose the port
 * @info: to listen with
 */
void brick_fabric_any_port(struct fi_info *info);

/**
 * brick_fabric_loopback - stay on this host, of the same family
 * @info: to listen with
 */
void brick_fabric_loopback(struct fi_info *info);

/**
 * brick_fabric_open - find the provider and open fabric and event queue
 * @fabric: address, net and listener are set
 * @allow_untrusted: an interface that the address names may be of any kind
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno: -ENODEV or -EPERM when the interface is not there, or is
 * none of WireGuard.
 */
int brick_fabric_open(struct brick_fabric *fabric, bool allow_untrusted,
		      char *err, size_t err_len);
void brick_fabric_close(struct brick_fabric *fabric);

/**
 * brick_fabric_listen - start to take connection requests
 * @fabric: open
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno.
 */
int brick_fabric_listen(struct brick_fabric *fabric, char *err, size_t err_len);
void brick_fabric_unlisten(struct brick_fabric *fabric);

/**
 * brick_fabric_port_of - the port that a passive endpoint got
 * @pep: it listens
 * @port: filled on success
 *
 * Return: 0 or -errno.
 */
int brick_fabric_port_of(struct fid_pep *pep, unsigned int *port);

/* What a client needs to reach registered memory. */
struct brick_region {
	struct fid_mr *mr;
	uint64_t key;
	uint64_t raddr;
};

/**
 * brick_fabric_reg - register memory for a client's one-sided access
 * @fabric: whose rules apply
 * @domain: of the client
 * @base: first byte
 * @len: bytes
 * @write: also for writing
 * @out: filled on success
 *
 * Return: 0 or -errno.
 */
int brick_fabric_reg(const struct brick_fabric *fabric,
		     struct fid_domain *domain, void *base, size_t len,
		     bool write, struct brick_region *out);

/**
 * brick_fabric_dereg - close a registration
 * @region: what it gave out; one that is closed already is left alone
 * @who: whose it is, for the log; NULL: brickd's own
 *
 * Return: 0, or -errno: its key is good as long as its domain has endpoints, and it
 * can be tried again.
 */
int brick_fabric_dereg(struct brick_region *region, const char *who);

#endif
