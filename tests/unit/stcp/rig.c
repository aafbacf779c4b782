// SPDX-License-Identifier: BSD-2-Clause
/* Opening, connecting and moving a pair of endpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "rig.h"
#include "stcp.h"

#define CHECK(call)                                        \
	do {                                               \
		long rc_ = (long)(call);                   \
		if (rc_)                                   \
			fail_msg("%s: %ld %s", #call, rc_, \
				 fi_strerror((int)-rc_));  \
	} while (0)

uint64_t rig_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool manual_server, manual_client, with_data;

void rig_manual(bool server, bool client)
{
	manual_server = server;
	manual_client = client;
}

void rig_with_data(bool data)
{
	with_data = data;
}

static struct fi_info *find(bool is_stcp, const char *service, uint64_t flags)
{
	bool manual = flags & FI_SOURCE ? manual_server : manual_client;
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	assert_non_null(hints);
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = 0;
	if (manual)
		hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	if (with_data)
		hints->domain_attr->cq_data_size = sizeof(uint64_t);
	if (is_stcp) {
		CHECK(stcp_getinfo(FI_VERSION(1, 17), "127.0.0.1", service,
				   flags, hints, &info));
	} else {
		hints->fabric_attr->prov_name = strdup("tcp");
		CHECK(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", service, flags,
				 hints, &info));
	}
	fi_freeinfo(hints);
	return info;
}

static void open_side(struct side *side, bool is_stcp, const char *service,
		      uint64_t flags)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };

	side->is_stcp = is_stcp;
	side->memory = calloc(1, RIG_MEMORY_BYTES);
	assert_non_null(side->memory);
	side->info = find(is_stcp, service, flags);
	if (is_stcp)
		CHECK(stcp_fabric(side->info->fabric_attr, &side->fabric,
				  NULL));
	else
		CHECK(fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	CHECK(fi_eq_open(side->fabric, &attr, &side->eq, NULL));
}

struct rig *rig_open(bool stcp_server, bool stcp_client)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct sockaddr_in name;
	size_t len = sizeof(name);
	char service[16];

	assert_non_null(rig);
	open_side(&rig->server, stcp_server, "0", FI_SOURCE | FI_NUMERICHOST);
	CHECK(fi_passive_ep(rig->server.fabric, rig->server.info,
			    &rig->server.pep, NULL));
	CHECK(fi_pep_bind(rig->server.pep, &rig->server.eq->fid, 0));
	CHECK(fi_listen(rig->server.pep));
	CHECK(fi_getname(&rig->server.pep->fid, &name, &len));
	snprintf(service, sizeof(service), "%u", ntohs(name.sin_port));
	open_side(&rig->client, stcp_client, service, FI_NUMERICHOST);
	return rig;
}

static void (*ring_of_queues)(void *context);
static void *ring_context;

void rig_ring(void (*ring)(void *context), void *context)
{
	ring_of_queues = ring;
	ring_context = context;
}

static void have_rung(struct side *side, struct fi_cq_attr *attr)
{
	struct stcp_domain_ops *ops;

	CHECK(fi_open_ops(&side->domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			  NULL));
	CHECK(ops->set_ring(side->domain, ring_of_queues));
	attr->wait_obj = FI_WAIT_NONE;
}

void rig_endpoint(struct side *side, struct fi_info *info)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
				   .wait_obj = FI_WAIT_FD,
				   .size = 256 };

	if (!side->domain) {
		CHECK(fi_domain(side->fabric, info, &side->domain, NULL));
		CHECK(fi_mr_reg(side->domain, side->memory, RIG_MEMORY_BYTES,
				FI_REMOTE_READ | FI_REMOTE_WRITE, 0, RIG_KEY, 0,
				&side->mr, NULL));
	}
	if (ring_of_queues)
		have_rung(side, &attr);
	CHECK(fi_cq_open(side->domain, &attr, &side->cq, ring_context));
	CHECK(fi_endpoint(side->domain, info, &side->ep, NULL));
	CHECK(fi_ep_bind(side->ep, &side->eq->fid, 0));
	CHECK(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK(fi_enable(side->ep));
}

void rig_drop_endpoint(struct side *side)
{
	if (side->ep)
		CHECK(fi_close(&side->ep->fid));
	if (side->cq)
		CHECK(fi_close(&side->cq->fid));
	side->ep = NULL;
	side->cq = NULL;
}

static void close_side(struct side *side)
{
	rig_drop_endpoint(side);
	if (side->mr)
		CHECK(fi_close(&side->mr->fid));
	if (side->domain)
		CHECK(fi_close(&side->domain->fid));
	if (side->pep)
		CHECK(fi_close(&side->pep->fid));
	CHECK(fi_close(&side->eq->fid));
	CHECK(fi_close(&side->fabric->fid));
	fi_freeinfo(side->info);
	free(side->memory);
}

void rig_close(struct rig *rig)
{
	close_side(&rig->client);
	close_side(&rig->server);
	free(rig);
}

static void note(struct side *side, const struct seen *seen)
{
	assert_true(side->n_seen < RIG_SEEN_MAX);
	side->seen[side->n_seen++] = *seen;
}

static void read_queue(struct side *side)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t n;

	while (side->cq &&
	       (n = fi_cq_read(side->cq, &entry, 1)) != -FI_EAGAIN) {
		struct seen seen = { 0 };

		if (n == 1) {
			seen.context = entry.op_context;
			seen.flags = entry.flags;
			seen.data = entry.data;
			seen.len = entry.len;
		} else {
			assert_int_equal(n, -FI_EAVAIL);
			assert_int_equal(fi_cq_readerr(side->cq, &err, 0), 1);
			seen.context = err.op_context;
			seen.flags = err.flags;
			seen.err = err.err;
			seen.prov_errno = err.prov_errno;
		}
		note(side, &seen);
	}
}

void rig_step(struct rig *rig)
{
	uint8_t peek[1024];
	uint32_t kind;

	read_queue(&rig->server);
	read_queue(&rig->client);
	/* The stock provider moves only when it is looked at. */
	(void)fi_eq_read(rig->server.eq, &kind, peek, sizeof(peek), FI_PEEK);
	(void)fi_eq_read(rig->client.eq, &kind, peek, sizeof(peek), FI_PEEK);
	sched_yield();
}

static bool read_event(struct side *side, struct event *event)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 512];
	} u;
	struct fi_eq_err_entry err = { .err_data = event->data,
				       .err_data_size = sizeof(event->data) };
	ssize_t n;

	n = fi_eq_read(side->eq, &event->kind, &u, sizeof(u), 0);
	if (n == -FI_EAGAIN)
		return false;
	if (n == -FI_EAVAIL) {
		assert_true(fi_eq_readerr(side->eq, &err, 0) > 0);
		event->kind = 0;
		event->err = err.err;
		event->prov_errno = err.prov_errno;
		event->data_bytes = err.err_data_size;
		return true;
	}
	assert_true(n >= (ssize_t)sizeof(u.entry));
	event->info = u.entry.info;
	event->data_bytes = (size_t)n - sizeof(u.entry);
	memcpy(event->data, u.entry.data, event->data_bytes);
	return true;
}

void rig_event(struct rig *rig, struct side *side, struct event *event)
{
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;

	memset(event, 0, sizeof(*event));
	while (!read_event(side, event)) {
		if (rig_now_ms() > until_ms)
			fail_msg("no event");
		rig_step(rig);
	}
}

static int find_seen(const struct side *side, const void *context)
{
	for (unsigned int i = 0; i < side->n_seen; i++)
		if (side->seen[i].context == context)
			return (int)i;
	return -1;
}

bool rig_has(struct rig *rig, struct side *side, const void *context)
{
	rig_step(rig);
	return find_seen(side, context) >= 0;
}

struct seen rig_wait(struct rig *rig, struct side *side, void *context)
{
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	struct seen seen;
	int i;

	while ((i = find_seen(side, context)) < 0) {
		if (rig_now_ms() > until_ms)
			fail_msg("no completion of %p", context);
		rig_step(rig);
	}
	seen = side->seen[i];
	side->n_seen--;
	memmove(&side->seen[i], &side->seen[i + 1],
		(side->n_seen - (unsigned int)i) * sizeof(seen));
	return seen;
}

void rig_connect(struct rig *rig)
{
	struct event event;

	rig_endpoint(&rig->client, rig->client.info);
	CHECK(fi_connect(rig->client.ep, rig->client.info->dest_addr, "request",
			 7));
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	assert_int_equal(event.data_bytes, 7);
	assert_memory_equal(event.data, "request", 7);
	rig_endpoint(&rig->server, event.info);
	fi_freeinfo(event.info);
	CHECK(fi_accept(rig->server.ep, "accept", 6));
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNECTED);
	rig_event(rig, &rig->client, &event);
	assert_int_equal(event.kind, FI_CONNECTED);
	assert_int_equal(event.data_bytes, 6);
	assert_memory_equal(event.data, "accept", 6);
}
