// SPDX-License-Identifier: BSD-2-Clause
/*
 * The raw client over libfabric's tcp provider: one endpoint, one completion
 * queue, one event queue, some posted receives. One thread; polls with a short
 * pause, since nothing here is timed.
 */
#include "raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#define N_RECEIVES    20 /* for the replies to all credits, and for EVENTs */
#define N_SENDS	      16
#define MESSAGE_BYTES 8192
#define CONNECT_MS    60000
#define PAUSE_NS      200000

struct raw_client {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	bool ended;
	unsigned int n_sent;
	uint64_t n_moved;
	uint8_t out[N_SENDS][MESSAGE_BYTES];
	uint8_t in[N_RECEIVES][MESSAGE_BYTES];
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

static const char *come_from;

void raw_come_from(const char *host)
{
	come_from = host;
}

/* The address to connect from, instead of the one that the system takes. */
static int set_source(struct fi_info *hints)
{
	struct sockaddr_in *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->sin_family = AF_INET;
	inet_pton(AF_INET, come_from, &in->sin_addr);
	hints->src_addr = in;
	hints->src_addrlen = sizeof(*in);
	return 0;
}

static int resolve(const char *url, struct fi_info **out)
{
	struct fi_info *hints = fi_allocinfo();
	char host[64], port[16];
	int rc;

	if (!hints)
		return -ENOMEM;
	/* A stock peer, whichever provider the brick has. */
	if (sscanf(url, "%*[-a-z]://%63[^:]:%15s", host, port) != 2) {
		fi_freeinfo(hints);
		return -EINVAL;
	}
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup("tcp");
	rc = come_from ? set_source(hints) : 0;
	if (!rc)
		rc = fi_getinfo(FI_VERSION(1, 17), host, port, 0, hints, out);
	fi_freeinfo(hints);
	return rc;
}

static int open_objects(struct raw_client *c)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	unsigned int i;
	int rc;

	rc = fi_fabric(c->info->fabric_attr, &c->fabric, NULL);
	if (!rc)
		rc = fi_domain(c->fabric, c->info, &c->domain, NULL);
	if (!rc)
		rc = fi_eq_open(c->fabric, &eq_attr, &c->eq, NULL);
	if (!rc)
		rc = fi_cq_open(c->domain, &cq_attr, &c->cq, NULL);
	if (!rc)
		rc = fi_endpoint(c->domain, c->info, &c->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(c->ep, &c->eq->fid, 0);
	if (!rc)
		rc = fi_ep_bind(c->ep, &c->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(c->ep);
	for (i = 0; !rc && i < N_RECEIVES; i++)
		rc = fi_recv(c->ep, c->in[i], MESSAGE_BYTES, NULL, 0, c->in[i]);
	return rc;
}

/* What a rejected or failed connect left on the event queue. */
static enum raw_outcome connect_failed(struct raw_client *c, void *reply,
				       size_t *reply_len)
{
	struct fi_eq_err_entry err = { .err_data = reply,
				       .err_data_size = *reply_len };

	if (fi_eq_readerr(c->eq, &err, 0) < 0)
		return RAW_ENDED;
	if (err.err != ECONNREFUSED || !err.err_data_size)
		return RAW_ENDED;
	if (err.err_data != reply) {
		size_t n = err.err_data_size;

		if (n > *reply_len)
			n = *reply_len;
		memcpy(reply, err.err_data, n);
	}
	*reply_len = err.err_data_size;
	return RAW_REJECTED;
}

static enum raw_outcome wait_connected(struct raw_client *c, void *reply,
				       size_t *reply_len)
{
	uint8_t raw[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *entry = (void *)raw;
	uint64_t end = now_ms() + CONNECT_MS;

	while (now_ms() < end) {
		uint32_t event;
		ssize_t n = fi_eq_read(c->eq, &event, raw, sizeof(raw), 0);

		if (n == -FI_EAVAIL)
			return connect_failed(c, reply, reply_len);
		if (n >= (ssize_t)sizeof(*entry) && event == FI_CONNECTED) {
			size_t got = n - sizeof(*entry);

			if (got > *reply_len)
				got = *reply_len;
			memcpy(reply, entry->data, got);
			*reply_len = got;
			return RAW_ACCEPTED;
		}
		if (n > 0)
			return RAW_ENDED;
		pause_shortly();
	}
	return RAW_TIMEOUT;
}

enum raw_outcome raw_connect(const char *url, const void *data, size_t data_len,
			     void *reply, size_t *reply_len,
			     struct raw_client **out)
{
	struct raw_client *c = calloc(1, sizeof(*c));
	enum raw_outcome outcome = RAW_ENDED;

	*out = NULL;
	if (!c)
		return RAW_ENDED;
	if (!resolve(url, &c->info) && !open_objects(c) &&
	    !fi_connect(c->ep, c->info->dest_addr, data, data_len))
		outcome = wait_connected(c, reply, reply_len);
	if (outcome == RAW_ACCEPTED)
		*out = c;
	else
		raw_close(c);
	return outcome;
}

/* Reads one completion: 1 with a message, 0 with none, sets c->ended. */
static int read_completion(struct raw_client *c, struct fi_cq_msg_entry *entry)
{
	ssize_t n = fi_cq_read(c->cq, entry, 1);

	if (n == 1) {
		c->n_moved += !!(entry->flags & (FI_READ | FI_WRITE));
		return 1;
	}
	if (n == -FI_EAVAIL) {
		struct fi_cq_err_entry err = { 0 };

		fi_cq_readerr(c->cq, &err, 0);
		c->ended = true;
	} else if (n != -FI_EAGAIN) {
		c->ended = true;
	}
	return 0;
}

static void read_event(struct raw_client *c)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t n = fi_eq_read(c->eq, &event, &entry, sizeof(entry), 0);

	if (n == -FI_EAVAIL || (n > 0 && event == FI_SHUTDOWN))
		c->ended = true;
}

int raw_send(struct raw_client *c, const void *buf, size_t len)
{
	uint8_t *out = c->out[c->n_sent++ % N_SENDS];
	ssize_t rc;

	if (len > MESSAGE_BYTES)
		return -EMSGSIZE;
	memcpy(out, buf, len);
	rc = fi_send(c->ep, out, len, NULL, 0, out);
	return (int)rc;
}

enum raw_outcome raw_receive(struct raw_client *c, void *buf, size_t *len,
			     int timeout_ms)
{
	uint64_t end = timeout_ms ? now_ms() + timeout_ms : 0;

	for (;;) {
		struct fi_cq_msg_entry entry = { 0 };

		while (read_completion(c, &entry)) {
			if (!(entry.flags & FI_RECV))
				continue;
			if (entry.len < *len)
				*len = entry.len;
			memcpy(buf, entry.op_context, *len);
			fi_recv(c->ep, entry.op_context, MESSAGE_BYTES, NULL, 0,
				entry.op_context);
			return RAW_ACCEPTED;
		}
		if (c->ended)
			return RAW_ENDED;
		read_event(c);
		if (!end || now_ms() >= end)
			return RAW_TIMEOUT;
		pause_shortly();
	}
}

int raw_write(struct raw_client *c, const void *buf, size_t len, uint64_t raddr,
	      uint64_t key)
{
	return (int)fi_write(c->ep, buf, len, NULL, 0, raddr, key, c);
}

int raw_write_data(struct raw_client *c, const void *buf, size_t len,
		   uint64_t raddr, uint64_t key)
{
	return (int)fi_writedata(c->ep, buf, len, NULL, 1, 0, raddr, key, c);
}

int raw_read(struct raw_client *c, void *buf, size_t len, uint64_t raddr,
	     uint64_t key)
{
	return (int)fi_read(c->ep, buf, len, NULL, 0, raddr, key, c);
}

enum raw_outcome raw_wait(struct raw_client *c, unsigned int n, int timeout_ms)
{
	uint64_t end = now_ms() + timeout_ms;

	while (n && now_ms() < end) {
		struct fi_cq_msg_entry entry = { 0 };

		while (n && read_completion(c, &entry))
			if (entry.flags & (FI_READ | FI_WRITE))
				n--;
		if (!n)
			break;
		if (c->ended)
			return RAW_ENDED;
		read_event(c);
		pause_shortly();
	}
	return n ? RAW_TIMEOUT : RAW_ACCEPTED;
}

uint64_t raw_moved(const struct raw_client *c)
{
	return c->n_moved;
}

void raw_close(struct raw_client *c)
{
	if (c->ep)
		fi_close(&c->ep->fid);
	if (c->cq)
		fi_close(&c->cq->fid);
	if (c->eq)
		fi_close(&c->eq->fid);
	if (c->domain)
		fi_close(&c->domain->fid);
	if (c->fabric)
		fi_close(&c->fabric->fid);
	fi_freeinfo(c->info);
	free(c);
}
