// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an object does not do. libfabric's inline functions call most entries of
 * a table without a look: each must be there and say so.
 */
#include "impl.h"

int stcp_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int stcp_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int stcp_no_ops_open(struct fid *fid, const char *name, uint64_t flags,
		     void **ops, void *context)
{
	return -FI_ENOSYS;
}

int stcp_no_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

int stcp_no_ops_set(struct fid *fid, const char *name, uint64_t flags,
		    void *ops, void *context)
{
	return -FI_ENOSYS;
}

int stcp_no_setopt(fid_t fid, int level, int optname, const void *optval,
		   size_t optlen)
{
	return -FI_ENOPROTOOPT;
}

int stcp_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		   struct fid_ep **tx_ep, void *context)
{
	return -FI_ENOSYS;
}

int stcp_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		   struct fid_ep **rx_ep, void *context)
{
	return -FI_ENOSYS;
}

ssize_t stcp_no_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

ssize_t stcp_no_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

int stcp_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

int stcp_no_connect(struct fid_ep *ep, const void *addr, const void *param,
		    size_t paramlen)
{
	return -FI_ENOSYS;
}

int stcp_no_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

int stcp_no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int stcp_no_reject(struct fid_pep *pep, fid_t handle, const void *param,
		   size_t paramlen)
{
	return -FI_ENOSYS;
}

int stcp_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

int stcp_no_join(struct fid_ep *ep, const void *addr, uint64_t flags,
		 struct fid_mc **mc, void *context)
{
	return -FI_ENOSYS;
}

static int none_setname(fid_t fid, void *addr, size_t addrlen)
{
	return -FI_ENOSYS;
}

static int no_getname(fid_t fid, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm stcp_no_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = none_setname,
	.getname = no_getname,
	.getpeer = stcp_no_getpeer,
	.connect = stcp_no_connect,
	.listen = stcp_no_listen,
	.accept = stcp_no_accept,
	.reject = stcp_no_reject,
	.shutdown = stcp_no_shutdown,
	.join = stcp_no_join,
};

static ssize_t no_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, uint64_t tag, uint64_t ignore,
			void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_trecvv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t src_addr,
			 uint64_t tag, uint64_t ignore, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
		       uint64_t flags)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsend(struct fid_ep *ep, const void *buf, size_t len,
			void *desc, fi_addr_t dest_addr, uint64_t tag,
			void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsendv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t dest_addr,
			 uint64_t tag, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tinject(struct fid_ep *ep, const void *buf, size_t len,
			  fi_addr_t dest_addr, uint64_t tag)
{
	return -FI_ENOSYS;
}

static ssize_t no_tsenddata(struct fid_ep *ep, const void *buf, size_t len,
			    void *desc, uint64_t data, fi_addr_t dest_addr,
			    uint64_t tag, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_tinjectdata(struct fid_ep *ep, const void *buf, size_t len,
			      uint64_t data, fi_addr_t dest_addr, uint64_t tag)
{
	return -FI_ENOSYS;
}

struct fi_ops_tagged stcp_no_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = no_trecv,
	.recvv = no_trecvv,
	.recvmsg = no_tmsg,
	.send = no_tsend,
	.sendv = no_tsendv,
	.sendmsg = no_tmsg,
	.inject = no_tinject,
	.senddata = no_tsenddata,
	.injectdata = no_tinjectdata,
};
