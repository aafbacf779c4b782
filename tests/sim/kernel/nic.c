// SPDX-License-Identifier: BSD-2-Clause
/* One end of a link, for a kernel: see nic.h. */
#include "nic.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/sim/machine/fabric.h"

int __wrap_stcp_choose_getinfo(uint32_t version, const char *node,
			       const char *service, uint64_t flags,
			       const struct fi_info *hints,
			       struct fi_info **out);
int __wrap_stcp_choose_fabric(struct fi_fabric_attr *attr,
			      struct fid_fabric **out, void *context);

/*
 * struct km_nic - one
 * @call: a descriptor by which it is called
 * @has_failed: its completion queue says no more
 */
struct km_nic {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	int call;
	bool has_failed;
};

/* ---- its life ------------------------------------------------------------------- */

static int open_all(struct km_nic *nic)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_FD };
	char name[] = "verbs";
	struct fi_fabric_attr fabric_attr = { .prov_name = name };
	const struct fi_info hints = { .fabric_attr = &fabric_attr };
	int ret = __wrap_stcp_choose_getinfo(FI_VERSION(1, 17), NULL, NULL, 0,
					     &hints, &nic->info);

	if (!ret)
		ret = __wrap_stcp_choose_fabric(nic->info->fabric_attr,
						&nic->fabric, NULL);
	if (!ret)
		ret = fi_domain(nic->fabric, nic->info, &nic->domain, NULL);
	if (!ret)
		ret = fi_eq_open(nic->fabric, &eq_attr, &nic->eq, NULL);
	if (!ret)
		ret = fi_cq_open(nic->domain, &cq_attr, &nic->cq, NULL);
	if (!ret)
		ret = fi_endpoint(nic->domain, nic->info, &nic->ep, NULL);
	if (!ret)
		ret = fi_ep_bind(nic->ep, &nic->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(nic->ep, &nic->cq->fid, FI_TRANSMIT | FI_RECV);
	return ret ? ret : fi_enable(nic->ep);
}

struct km_nic *km_nic_open(void)
{
	struct km_nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	if (open_all(nic))
		sim_die("a kernel cannot open the fabric");
	nic->call = eventfd(0, 0);
	return nic;
}

void km_nic_close(struct km_nic *nic)
{
	(void)fi_close(&nic->ep->fid);
	nic->ep = NULL;
}

void km_nic_free(struct km_nic *nic)
{
	if (nic->ep)
		km_nic_close(nic);
	(void)fi_close(&nic->cq->fid);
	(void)fi_close(&nic->eq->fid);
	(void)fi_close(&nic->domain->fid);
	fi_freeinfo(nic->info);
	(void)close(nic->call);
	free(nic);
}

int km_nic_connect(struct km_nic *nic, uint16_t port, const void *data,
		   size_t len)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };

	return fi_connect(nic->ep, &sin, data, len);
}

/* ---- posting ---------------------------------------------------------------------- */

int km_nic_send(struct km_nic *nic, const void *buf, size_t len, void *context)
{
	return (int)fi_send(nic->ep, buf, len, NULL, 0, context);
}

int km_nic_recv(struct km_nic *nic, void *buf, size_t len, void *context)
{
	return (int)fi_recv(nic->ep, buf, len, NULL, 0, context);
}

int km_nic_write(struct km_nic *nic, const void *buf, size_t len,
		 uint64_t raddr, uint64_t key, bool commits, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_rma_iov rma = { raddr, len, key };
	const struct fi_msg_rma msg = { .msg_iov = &iov,
					.iov_count = 1,
					.rma_iov = &rma,
					.rma_iov_count = 1,
					.context = context };

	return (int)fi_writemsg(nic->ep, &msg,
				commits ? FI_COMMIT_COMPLETE : 0);
}

int km_nic_read(struct km_nic *nic, void *buf, size_t len, uint64_t raddr,
		uint64_t key, void *context)
{
	return (int)fi_read(nic->ep, buf, len, NULL, 0, raddr, key, context);
}

/* ---- what happens ----------------------------------------------------------------- */

static bool take_completion(struct km_nic *nic, struct km_nic_event *event)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t n;

	if (nic->has_failed)
		return false;
	n = fi_cq_read(nic->cq, &entry, 1);
	if (n == 1) {
		event->kind = KM_NIC_DONE;
		event->context = entry.op_context;
		event->len = entry.len;
		return true;
	}
	if (n != -FI_EAVAIL || fi_cq_readerr(nic->cq, &error, 0) != 1)
		return false;
	nic->has_failed = true;
	event->kind = KM_NIC_FAILED;
	event->context = error.op_context;
	event->error = error.err;
	return true;
}

static bool take_refusal(struct km_nic *nic, struct km_nic_event *event)
{
	struct fi_eq_err_entry error = { .err_data = event->data,
					 .err_data_size = KM_NIC_DATA_MAX };

	if (fi_eq_readerr(nic->eq, &error, 0) < 0)
		return false;
	event->kind = KM_NIC_REFUSED;
	event->error = error.err;
	event->len = error.err_data_size;
	return true;
}

static bool take_news(struct km_nic *nic, struct km_nic_event *event)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + KM_NIC_DATA_MAX];
	} cm;
	uint32_t kind;
	ssize_t n = fi_eq_read(nic->eq, &kind, &cm, sizeof(cm), 0);

	if (n == -FI_EAVAIL)
		return take_refusal(nic, event);
	if (n < 0)
		return false;
	event->kind = kind == FI_CONNECTED ? KM_NIC_CONNECTED : KM_NIC_SHUTDOWN;
	event->len = (size_t)n - sizeof(cm.entry);
	memcpy(event->data, cm.entry.data, event->len);
	return true;
}

static bool was_called(const struct km_nic *nic, struct km_nic_event *event)
{
	struct pollfd fd = { .fd = nic->call, .events = POLLIN };
	uint64_t n;

	if (poll(&fd, 1, 0) != 1 || read(nic->call, &n, sizeof(n)) < 0)
		return false;
	event->kind = KM_NIC_CALLED;
	return true;
}

void km_nic_call(struct km_nic *nic)
{
	const uint64_t one = 1;

	if (write(nic->call, &one, sizeof(one)) < 0)
		sim_die("a kernel's nic cannot be called");
}

static int descriptor_of(struct fid *fid)
{
	int fd = -1;

	(void)fi_control(fid, FI_GETWAIT, &fd);
	return fd;
}

void km_nic_next(struct km_nic *nic, struct km_nic_event *event)
{
	struct pollfd fds[3] = { { .events = POLLIN },
				 { .events = POLLIN },
				 { .events = POLLIN } };

	memset(event, 0, offsetof(struct km_nic_event, data));
	for (;;) {
		if (take_completion(nic, event) || take_news(nic, event) ||
		    was_called(nic, event))
			return;
		fds[0].fd = nic->call;
		fds[1].fd = descriptor_of(&nic->eq->fid);
		fds[2].fd = descriptor_of(&nic->cq->fid);
		(void)poll(fds, nic->has_failed ? 2 : 3, -1);
	}
}
