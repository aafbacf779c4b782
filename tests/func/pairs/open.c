// SPDX-License-Identifier: BSD-2-Clause
/* Opening and closing one end of a pair. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define VERSION FI_VERSION(1, 17)

struct fi_info *pair_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints) {
		pair_die(-FI_ENOMEM, "hints");
		return NULL; /* for who does not know that it does not return */
	}
	hints->fabric_attr->prov_name = strdup(end.provider);
	hints->ep_attr->type = end.test->type;
	hints->caps = end.test->caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	if (end.test->hints)
		end.test->hints(hints);
	return hints;
}

struct fi_info *pair_getinfo(void)
{
	const struct sockaddr_in *sin = (struct sockaddr_in *)&end.there;
	struct fi_info *hints = pair_hints(), *info = NULL;
	char port[16];
	int rc;

	snprintf(port, sizeof(port), "%u", ntohs(sin->sin_port));
	rc = fi_getinfo(VERSION, "127.0.0.1", port, end.serves ? FI_SOURCE : 0,
			hints, &info);
	fi_freeinfo(hints);
	if (rc == -FI_ENODATA)
		exit(PAIR_REFUSED);
	MUST(rc);
	return info;
}

void pair_open_domain(void)
{
	const uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE |
				FI_REMOTE_READ | FI_REMOTE_WRITE;

	MUST(fi_domain(end.fabric, end.info, &end.domain, NULL));
	MUST(fi_mr_reg(end.domain, end.out, PAIR_BYTES, access, 0, 0xc0de, 0,
		       &end.mr, NULL));
}

static void open_queues(void)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED,
				 .size = 1024,
				 .wait_obj = end.test->wait_obj };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP,
				     .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av = { .type = FI_AV_MAP };

	MUST(fi_cq_open(end.domain, &cq, &end.tx_cq, NULL));
	MUST(fi_cq_open(end.domain, &cq, &end.rx_cq, NULL));
	if (end.test->counters) {
		MUST(fi_cntr_open(end.domain, &cntr, &end.tx_cntr, NULL));
		MUST(fi_cntr_open(end.domain, &cntr, &end.rx_cntr, NULL));
	}
	if (end.test->type == FI_EP_RDM)
		MUST(fi_av_open(end.domain, &av, &end.av, NULL));
}

void pair_open_endpoint(struct fi_info *info, struct fid_ep **ep)
{
	uint64_t flags = end.test->bind_flags;

	if (!end.tx_cq)
		open_queues();
	MUST(fi_endpoint(end.domain, info, ep, NULL));
	if (end.eq)
		MUST(fi_ep_bind(*ep, &end.eq->fid, 0));
	if (end.av)
		MUST(fi_ep_bind(*ep, &end.av->fid, 0));
	MUST(fi_ep_bind(*ep, &end.tx_cq->fid, FI_TRANSMIT | flags));
	MUST(fi_ep_bind(*ep, &end.rx_cq->fid, FI_RECV | flags));
	if (end.tx_cntr) {
		MUST(fi_ep_bind(*ep, &end.tx_cntr->fid, FI_SEND));
		MUST(fi_ep_bind(*ep, &end.rx_cntr->fid, FI_RECV));
	}
	MUST(fi_enable(*ep));
}

void pair_say_name(const struct fid *fid)
{
	struct sockaddr_in sin;
	size_t len = sizeof(sin);

	MUST(fi_getname((fid_t)(uintptr_t)fid, &sin, &len));
	printf("port %u\n", ntohs(sin.sin_port));
	fflush(stdout);
}

void pair_listen(void)
{
	MUST(fi_passive_ep(end.fabric, end.info, &end.pep, NULL));
	MUST(fi_pep_bind(end.pep, &end.eq->fid, 0));
	MUST(fi_listen(end.pep));
	pair_say_name(&end.pep->fid);
}

void pair_event(uint32_t kind, struct fi_eq_cm_entry *entry, size_t room)
{
	struct fi_eq_err_entry err = { 0 };
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;
	uint32_t seen = 0;
	ssize_t n;

	/* Who waits moves the data, if the provider's threads do not. */
	while ((n = fi_eq_read(end.eq, &seen, entry, room, 0)) == -FI_EAGAIN &&
	       pair_now_ms() < until_ms) {
		if (!end.tx_cq)
			continue;
		(void)fi_cq_read(end.tx_cq, NULL, 0);
		(void)fi_cq_read(end.rx_cq, NULL, 0);
	}

	if (n == -FI_EAVAIL) {
		MUST(fi_eq_readerr(end.eq, &err, 0));
		pair_die(-err.err, "event");
	}
	if (n < 0)
		pair_die(n, "no event");
	if (seen != kind)
		pair_die(0, "another event than expected");
}

static void connect_msg(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_eq_cm_entry entry;

	MUST(fi_eq_open(end.fabric, &attr, &end.eq, NULL));
	if (end.serves) {
		pair_listen();
		pair_event(FI_CONNREQ, &entry, sizeof(entry));
		fi_freeinfo(end.info);
		end.info = entry.info;
	}
	pair_open_domain();
	pair_open_endpoint(end.info, &end.ep);
	if (end.serves)
		MUST(fi_accept(end.ep, NULL, 0));
	else
		MUST(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	pair_event(FI_CONNECTED, &entry, sizeof(entry));
	EXPECT(entry.fid == &end.ep->fid);
}

/* The client knows the server, who learns the client's name by a message. */
static void connect_rdm(void)
{
	size_t len = sizeof(struct sockaddr_storage);

	pair_open_domain();
	pair_open_endpoint(end.info, &end.ep);
	if (end.serves) {
		pair_recv(end.in, PAIR_HALF, 0);
		pair_say_name(&end.ep->fid);
		(void)pair_done(end.rx_cq);
		EXPECT(fi_av_insert(end.av, end.in, 1, &end.peer, 0, NULL) ==
		       1);
		return;
	}
	EXPECT(fi_av_insert(end.av, end.info->dest_addr, 1, &end.peer, 0,
			    NULL) == 1);
	MUST(fi_getname(&end.ep->fid, end.out, &len));
	pair_send(end.out, len, 0);
	(void)pair_done(end.tx_cq);
}

void pair_connect(void)
{
	end.info = pair_getinfo();
	MUST(fi_fabric(end.info->fabric_attr, &end.fabric, NULL));
	if (end.test->type == FI_EP_MSG)
		connect_msg();
	else
		connect_rdm();
}

void pair_meet(void)
{
	if (end.serves) {
		pair_recv(end.in, 1, 1);
		(void)pair_done(end.rx_cq);
		pair_send(end.out, 1, 2);
		(void)pair_done(end.tx_cq);
	} else {
		pair_recv(end.in, 1, 1);
		pair_send(end.out, 1, 2);
		(void)pair_done(end.tx_cq);
		(void)pair_done(end.rx_cq);
	}
}

static void shut(struct fid *fid)
{
	if (fid)
		MUST(fi_close(fid));
}
#define SHUT(object) shut((object) ? &(object)->fid : NULL)

void pair_finish(void)
{
	struct fi_eq_cm_entry entry;

	/* The client hangs up; the server hears of it. */
	if (end.test->type == FI_EP_MSG && end.ep) {
		if (end.serves)
			pair_event(FI_SHUTDOWN, &entry, sizeof(entry));
		else
			MUST(fi_shutdown(end.ep, 0));
	}
	SHUT(end.ep);
	SHUT(end.tx_cq);
	SHUT(end.rx_cq);
	SHUT(end.tx_cntr);
	SHUT(end.rx_cntr);
	SHUT(end.av);
	SHUT(end.mr);
	SHUT(end.domain);
	SHUT(end.pep);
	SHUT(end.eq);
	SHUT(end.fabric);
	fi_freeinfo(end.info);
	free(end.out);
}
