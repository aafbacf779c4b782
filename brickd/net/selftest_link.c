// SPDX-License-Identifier: BSD-2-Clause
/* A connection of the daemon with itself: both ends in one thread. */
#include "brickd/net/selftest_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "brickd/base/clock.h"
#include "kfabric/user/stcp.h"

/* For the slowest machine at its busiest: soft RoCE times out and repeats. */
#define DEADLINE_MS 20000
#define PAUSE_MS    1
#define QUEUE_DEPTH 8

union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
};

static int open_ep(struct brick_link_end *end)
{
	struct fi_cq_attr attr = { .size = QUEUE_DEPTH,
				   .format = FI_CQ_FORMAT_CONTEXT };
	int rc;

	rc = fi_domain(end->fabric, end->info, &end->domain, NULL);
	if (!rc)
		rc = fi_cq_open(end->domain, &attr, &end->cq, NULL);
	if (!rc)
		rc = fi_endpoint(end->domain, end->info, &end->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(end->ep, &end->eq->fid, 0);
	if (!rc)
		rc = fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(end->ep);
	return rc;
}

static void close_end(struct brick_link_end *end)
{
	if (end->ep)
		fi_close(&end->ep->fid);
	if (end->cq)
		fi_close(&end->cq->fid);
	if (end->domain)
		fi_close(&end->domain->fid);
	if (end->eq)
		fi_close(&end->eq->fid);
	if (end->fabric)
		fi_close(&end->fabric->fid);
	if (end->info)
		fi_freeinfo(end->info);
}

void brick_link_close(struct brick_link *link)
{
	close_end(&link->client);
	if (link->pep)
		fi_close(&link->pep->fid);
	close_end(&link->server);
}

static int read_events(struct brick_link *link, struct brick_link_end *end)
{
	struct fi_eq_err_entry err = { 0 };
	union cm_event event;
	uint32_t kind;
	ssize_t n;
	int rc;

	n = fi_eq_read(end->eq, &kind, &event, sizeof(event), 0);
	if (n == -FI_EAVAIL) {
		(void)fi_eq_readerr(end->eq, &err, 0);
		end->error = err.err;
		end->ended = true;
		return 0;
	}
	if (n < (ssize_t)sizeof(event.entry))
		return 0;
	if (kind == FI_CONNREQ && !link->server.ep) {
		fi_freeinfo(link->server.info);
		link->server.info = event.entry.info;
		rc = open_ep(&link->server);
		return rc ? rc : fi_accept(link->server.ep, NULL, 0);
	}
	if (kind == FI_CONNREQ)
		/* Somebody else found the port; one is enough. */
		fi_freeinfo(event.entry.info);
	else if (kind == FI_CONNECTED)
		end->connected = true;
	else if (kind == FI_SHUTDOWN)
		end->ended = true;
	return 0;
}

static void read_completions(struct brick_link_end *end)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_entry entry;
	ssize_t n;

	if (!end->cq)
		return;
	n = fi_cq_read(end->cq, &entry, 1);
	if (n == 1)
		end->completed = true;
	if (n == -FI_EAVAIL && fi_cq_readerr(end->cq, &err, 0) >= 0)
		end->failed = true;
}

/* Drives both ends once. */
static int drive_link(struct brick_link *link)
{
	int rc = read_events(link, &link->server);

	if (!rc)
		rc = read_events(link, &link->client);
	read_completions(&link->server);
	read_completions(&link->client);
	return rc;
}

static int start_listening(struct brick_link *link)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	int rc;

	link->server.info = fi_dupinfo(link->f->info);
	if (!link->server.info)
		return -ENOMEM;
	brick_fabric_any_port(link->server.info);
	/* What is bound to an interface is not open to others meanwhile. */
	if (*link->f->address->interface)
		brick_fabric_loopback(link->server.info);
	rc = stcp_choose_fabric(link->server.info->fabric_attr,
				&link->server.fabric, NULL);
	if (!rc)
		rc = fi_eq_open(link->server.fabric, &attr, &link->server.eq,
				NULL);
	if (!rc)
		rc = fi_passive_ep(link->server.fabric, link->server.info,
				   &link->pep, NULL);
	if (!rc)
		rc = fi_pep_bind(link->pep, &link->server.eq->fid, 0);
	if (!rc)
		rc = fi_listen(link->pep);
	return rc;
}

static int start_connecting(struct brick_link *link)
{
	struct fi_info *hints = brick_fabric_hints(link->to);
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct brick_link_end *end = &link->client;
	char service[BRICK_SERVICE_BYTES];
	unsigned int port = 0;
	int rc;

	if (!hints)
		return -ENOMEM;
	rc = brick_fabric_port_of(link->pep, &port);
	snprintf(service, sizeof(service), "%u", port);
	if (!rc)
		rc = stcp_choose_getinfo(BRICK_FI_VERSION, link->to->host,
					 service, FI_NUMERICHOST, hints,
					 &end->info);
	fi_freeinfo(hints);
	if (!rc)
		rc = stcp_choose_fabric(end->info->fabric_attr, &end->fabric,
					NULL);
	if (!rc)
		rc = fi_eq_open(end->fabric, &attr, &end->eq, NULL);
	if (!rc)
		rc = open_ep(end);
	if (!rc)
		rc = fi_connect(end->ep, end->info->dest_addr, NULL, 0);
	return rc;
}

static int refusal_of(const struct brick_link_end *end)
{
	return end->error ? -end->error : -ECONNREFUSED;
}

int brick_link_open(struct brick_link *link, const struct brick_fabric *f,
		    const struct brick_address *to)
{
	uint64_t end_ms = brick_now_ms() + DEADLINE_MS;
	int rc;

	memset(link, 0, sizeof(*link));
	link->f = f;
	link->to = to;
	rc = start_listening(link);
	if (!rc)
		rc = start_connecting(link);
	while (!rc && !(link->client.connected && link->server.connected)) {
		if (link->server.ended)
			return refusal_of(&link->server);
		if (link->client.ended)
			return refusal_of(&link->client);
		if (brick_now_ms() >= end_ms)
			return -ETIMEDOUT;
		rc = drive_link(link);
		(void)poll(NULL, 0, PAUSE_MS);
	}
	return rc;
}

int brick_link_write(struct brick_link *link, void *src, void *desc, size_t len,
		     const struct brick_region *to)
{
	uint64_t end_ms = brick_now_ms() + DEADLINE_MS;
	struct brick_link_end *end = &link->client;
	struct fi_context context = { 0 };
	struct iovec iov = { src, len };
	struct fi_rma_iov rma = { to->raddr, len, to->key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = &context };
	/* One that is only sent completes whatever its key is. */
	uint64_t flags = FI_COMPLETION |
			 (link->f->write_is_placed ? 0 : FI_DELIVERY_COMPLETE);
	int rc;

	end->completed = false;
	rc = (int)fi_writemsg(end->ep, &msg, flags);
	while (!rc) {
		rc = drive_link(link);
		if (rc)
			break;
		if (end->completed)
			return 0;
		if (end->failed || end->ended)
			return -ECONNABORTED;
		if (brick_now_ms() >= end_ms)
			return -ETIMEDOUT;
	}
	return rc;
}
