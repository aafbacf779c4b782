/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: connections.
 *
 *   active                              passive
 *   fi_endpoint, bind, fi_enable        fi_passive_ep, bind EQ, fi_listen
 *   fi_connect(data) ----------------->  FI_CONNREQ(info, data)
 *                                        fi_endpoint(info), bind, fi_enable,
 *                                        post receives
 *   FI_CONNECTED(data) <---------------  fi_accept(data)
 *                                        FI_CONNECTED
 *      or failure FI_ECONNREFUSED <----  fi_reject(data)
 *   FI_SHUTDOWN <- fi_shutdown or fi_close on either side -> FI_SHUTDOWN
 */
#ifndef KFABRIC_FI_CM_H
#define KFABRIC_FI_CM_H

#include <kfabric/fi_endpoint.h>

/**
 * struct fi_ops_pep - operations of a passive endpoint
 * @size: sizeof this struct
 * @listen: see fi_listen()
 * @reject: see fi_reject()
 * @getname: see fi_getname()
 */
struct fi_ops_pep {
	size_t size;
	int (*listen)(struct fid_pep *pep);
	int (*reject)(struct fid_pep *pep, struct kfid *handle,
		      const void *param, size_t paramlen);
	int (*getname)(struct kfid *fid, void *addr, size_t *addrlen);
};

/**
 * struct fid_pep - passive endpoint
 * @fid: base
 * @ops: operations
 * @fabric: where it was opened
 * @eq: bound event queue, or NULL
 * @info: a copy of what it was opened for, where the provider wants one, or NULL
 */
struct fid_pep {
	struct kfid fid;
	const struct fi_ops_pep *ops;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fi_info *info;
	/* private: core */
	bool listening;
};

int kfabric_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_pep **pep, void *context);
int kfabric_listen(struct fid_pep *pep);
int kfabric_reject(struct fid_pep *pep, struct kfid *handle, const void *param,
		   size_t paramlen);
int kfabric_connect(struct fid_ep *ep, const void *addr, const void *param,
		    size_t paramlen);
int kfabric_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int kfabric_shutdown(struct fid_ep *ep, u64 flags);
int kfabric_getname(struct kfid *fid, void *addr, size_t *addrlen);
int kfabric_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);

/**
 * fi_passive_ep() - open a passive endpoint
 * @fabric: parent
 * @info: from fi_getinfo() with FI_SOURCE; src_addr is where to listen
 * @pep: out
 * @context: stored in the object
 *
 * Context: process.
 * Return: 0; -EINVAL @info is of another provider or without src_addr;
 * -ENODEV; -ENOMEM; -ENOSYS.
 */
static inline int fi_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
				struct fid_pep **pep, void *context)
{
	return kfabric_passive_ep(fabric, info, pep, context);
}

/**
 * fi_pep_bind() - attach an event queue to a passive endpoint
 * @pep: passive endpoint, not listening yet
 * @bfid: base of the EQ
 * @flags: 0
 *
 * Context: process.
 * Return: 0; -EINVAL not an EQ of the same provider; -EBUSY one is bound;
 * -FI_EBADFLAGS; -FI_EOPBADSTATE listening already; -ENODEV.
 */
static inline int fi_pep_bind(struct fid_pep *pep, struct kfid *bfid, u64 flags)
{
	return kfabric_bind(&pep->fid, bfid, flags);
}

/**
 * fi_listen() - take connection requests from now on
 * @pep: passive endpoint with an EQ
 *
 * Each request gives one FI_CONNREQ event. A request that is not answered
 * within cm_timeout_ms is rejected.
 *
 * Context: process.
 * Return: 0; -FI_ENOEQ; -EADDRINUSE; -FI_EOPBADSTATE listening already;
 * -ENODEV; -ENOSYS.
 */
static inline int fi_listen(struct fid_pep *pep)
{
	return kfabric_listen(pep);
}

/**
 * fi_reject() - refuse a connection request
 * @pep: passive endpoint of the request
 * @handle: fi_info.handle of the FI_CONNREQ event
 * @param: private data, or NULL
 * @paramlen: bytes of @param, up to ep_attr.cm_data_size
 *
 * The info of the event stays the caller's to free.
 *
 * Context: process.
 * Return: 0; -EINVAL not a request, or accepted or rejected already;
 * -EMSGSIZE too much private data; -ENODEV; -ENOSYS.
 */
static inline int fi_reject(struct fid_pep *pep, struct kfid *handle,
			    const void *param, size_t paramlen)
{
	return kfabric_reject(pep, handle, param, paramlen);
}

/**
 * fi_connect() - start to connect
 * @ep: endpoint with queues; enabled if need be
 * @addr: peer; NULL: the info's dest_addr
 * @param: private data, or NULL
 * @paramlen: bytes of @param, up to ep_attr.cm_data_size
 *
 * The outcome is an event: FI_CONNECTED, or a failure after which only
 * fi_close() is left. One of them comes within a few times cm_timeout_ms.
 *
 * Context: process.
 * Return: 0; -EINVAL no peer; -EMSGSIZE too much private data; -FI_ENOCQ;
 * -FI_ENOEQ; -FI_EOPBADSTATE was connected already; -ENODEV; -ENOMEM;
 * -ENOSYS. After a failure no event comes and the endpoint cannot be used
 * again.
 */
static inline int fi_connect(struct fid_ep *ep, const void *addr,
			     const void *param, size_t paramlen)
{
	return kfabric_connect(ep, addr, param, paramlen);
}

/**
 * fi_accept() - accept the request that the endpoint was opened for
 * @ep: endpoint with queues; enabled if need be
 * @param: private data, or NULL
 * @paramlen: bytes of @param, up to ep_attr.cm_data_size
 *
 * Context: process.
 * Return: 0, and an event as with fi_connect(); -EINVAL the endpoint is not
 * of a request; -ECONNABORTED the peer gave up; others as fi_connect().
 */
static inline int fi_accept(struct fid_ep *ep, const void *param,
			    size_t paramlen)
{
	return kfabric_accept(ep, param, paramlen);
}

/**
 * fi_shutdown() - end a connection
 * @ep: endpoint
 * @flags: 0
 *
 * Outstanding operations complete with FI_ECANCELED, both sides get
 * FI_SHUTDOWN. Does not wait for either.
 *
 * Context: process.
 * Return: 0; -ENOTCONN not connected (any more); -FI_EBADFLAGS; -ENODEV.
 */
static inline int fi_shutdown(struct fid_ep *ep, u64 flags)
{
	return kfabric_shutdown(ep, flags);
}

/**
 * fi_getname() - own address
 * @fid: base of an endpoint or a passive endpoint
 * @addr: out: address
 * @addrlen: in: bytes at @addr; out: bytes of the address, also on
 *	-FI_ETOOSMALL
 *
 * Context: process.
 * Return: 0; -FI_ETOOSMALL; -EINVAL not an endpoint; -FI_EOPBADSTATE it has
 * none yet; -ENODEV; -ENOSYS.
 */
static inline int fi_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	return kfabric_getname(fid, addr, addrlen);
}

/**
 * fi_getpeer() - address of the peer
 * @ep: endpoint
 * @addr: out: address
 * @addrlen: in: bytes at @addr; out: bytes of the address, also on
 *	-FI_ETOOSMALL
 *
 * Context: process.
 * Return: 0; -FI_ETOOSMALL; -ENOTCONN it has none yet; -ENODEV; -ENOSYS.
 */
static inline int fi_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return kfabric_getpeer(ep, addr, addrlen);
}

#endif /* KFABRIC_FI_CM_H */
