// SPDX-License-Identifier: BSD-2-Clause
/*
 * The connection of the bare loop.
 */
#include "bare.h"

#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 1000

void bare_die(const char *what, long rc)
{
	fprintf(stderr, "bare loop: %s: %s\n", what, fi_strerror((int)-rc));
	_exit(1);
}

static struct fi_info *ask(const char *node, uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_info *info;

	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup("tcp");
	hints->addr_format = FI_SOCKADDR_IN;
	BARE_TRY(fi_getinfo(FI_VERSION(1, 17), node, "0", flags, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_fabric(struct bare *b)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };

	BARE_TRY(fi_fabric(b->info->fabric_attr, &b->fabric, NULL));
	BARE_TRY(fi_eq_open(b->fabric, &attr, &b->eq, NULL));
}

static void open_endpoint(struct bare *b, struct fi_info *info)
{
	struct fi_cq_attr attr = { .size = b->cq_size,
				   .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_FD };

	BARE_TRY(fi_domain(b->fabric, info, &b->domain, NULL));
	BARE_TRY(fi_cq_open(b->domain, &attr, &b->cq, NULL));
	BARE_TRY(fi_control(&b->cq->fid, FI_GETWAIT, &b->cq_fd));
	BARE_TRY(fi_endpoint(b->domain, info, &b->ep, NULL));
	BARE_TRY(fi_ep_bind(b->ep, &b->eq->fid, 0));
	BARE_TRY(fi_ep_bind(b->ep, &b->cq->fid, FI_TRANSMIT | FI_RECV));
	BARE_TRY(fi_enable(b->ep));
}

static struct fi_info *wait_event(struct bare *b, uint32_t wanted)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	BARE_TRY(fi_eq_sread(b->eq, &event, &entry, sizeof(entry), 10000, 0));
	if (event != wanted)
		bare_die("connecting", -FI_ECONNREFUSED);
	return entry.info;
}

void *bare_listen(struct bare *b, size_t *len)
{
	void *address = malloc(BARE_ADDRESS_BYTES);

	b->info = ask("127.0.0.1", FI_SOURCE);
	open_fabric(b);
	BARE_TRY(fi_passive_ep(b->fabric, b->info, &b->pep, NULL));
	BARE_TRY(fi_pep_bind(b->pep, &b->eq->fid, 0));
	BARE_TRY(fi_listen(b->pep));
	*len = BARE_ADDRESS_BYTES;
	BARE_TRY(fi_getname(&b->pep->fid, address, len));
	return address;
}

void bare_accept(struct bare *b)
{
	struct fi_info *info = wait_event(b, FI_CONNREQ);

	open_endpoint(b, info);
	BARE_TRY(fi_accept(b->ep, NULL, 0));
	wait_event(b, FI_CONNECTED);
	fi_freeinfo(info);
}

void bare_connect(struct bare *b, const void *address, size_t len)
{
	b->info = ask("127.0.0.1", 0);
	open_fabric(b);
	free(b->info->dest_addr);
	b->info->dest_addr = malloc(len);
	memcpy(b->info->dest_addr, address, len);
	b->info->dest_addrlen = len;
	open_endpoint(b, b->info);
	BARE_TRY(fi_connect(b->ep, address, NULL, 0));
	wait_event(b, FI_CONNECTED);
}

static int gone(struct bare *b)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	return fi_eq_read(b->eq, &event, &entry, sizeof(entry), 0) >= 0 &&
	       event == FI_SHUTDOWN;
}

int bare_wait(struct bare *b, struct fi_cq_msg_entry *entry)
{
	struct fid *fids[] = { &b->cq->fid };
	struct pollfd fd = { .fd = b->cq_fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = fi_cq_read(b->cq, entry, 1);
		if (n == 1)
			return 1;
		if (n != -FI_EAGAIN)
			return 0;
		if (fi_trywait(b->fabric, fids, 1) == FI_SUCCESS &&
		    !poll(&fd, 1, LOOK_MS) && gone(b))
			return 0;
	}
}

void bare_close(struct bare *b)
{
	fi_close(&b->ep->fid);
	fi_close(&b->cq->fid);
	fi_close(&b->domain->fid);
	if (b->pep)
		fi_close(&b->pep->fid);
	fi_close(&b->eq->fid);
	fi_close(&b->fabric->fid);
	fi_freeinfo(b->info);
}
