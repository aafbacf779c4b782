// SPDX-License-Identifier: BSD-2-Clause
/* Moving data between the ends of a pair. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"

uint64_t pair_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (uint8_t)(i * 131 + (i >> 9) + seed * 17 + 1);
}

void pair_fill(uint8_t *to, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = pattern(i, seed);
}

void pair_check(const uint8_t *from, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		if (from[i] != pattern(i, seed))
			pair_die(0, "other data than were sent");
}

void *pair_context(unsigned int i)
{
	return &end.contexts[i % PAIR_CONTEXTS];
}

void *pair_desc(void)
{
	return fi_mr_desc(end.mr);
}

/* A call that may have to wait for room; completions make it. */
static bool again(ssize_t rc, uint64_t until_ms, const char *what)
{
	if (!rc)
		return false;
	if (rc != -FI_EAGAIN || pair_now_ms() > until_ms)
		pair_die(rc, what);
	/* Reading nothing moves the data. */
	(void)fi_cq_read(end.tx_cq, NULL, 0);
	(void)fi_cq_read(end.rx_cq, NULL, 0);
	return true;
}

void pair_recv(void *to, size_t len, unsigned int context)
{
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;

	while (again(fi_recv(end.ep, to, len, pair_desc(), FI_ADDR_UNSPEC,
			     pair_context(context)),
		     until_ms, "fi_recv"))
		;
}

void pair_send(const void *from, size_t len, unsigned int context)
{
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;

	while (again(fi_send(end.ep, from, len, pair_desc(), end.peer,
			     pair_context(context)),
		     until_ms, "fi_send"))
		;
}

/* True when there was one. */
static bool read_one(struct fid_cq *cq, struct fi_cq_err_entry *out)
{
	struct fi_cq_tagged_entry entry;
	ssize_t n = fi_cq_read(cq, &entry, 1);

	memset(out, 0, sizeof(*out));
	if (n == -FI_EAVAIL) {
		EXPECT(fi_cq_readerr(cq, out, 0) == 1);
		return true;
	}
	if (n == -FI_EAGAIN)
		return false;
	MUST(n);
	EXPECT(n == 1);
	out->op_context = entry.op_context;
	out->flags = entry.flags;
	out->len = entry.len;
	out->data = entry.data;
	out->tag = entry.tag;
	return true;
}

struct fi_cq_err_entry pair_completion(struct fid_cq *cq)
{
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;
	struct fi_cq_err_entry entry;

	/* Others may need the processor to send what is waited for. */
	while (!read_one(cq, &entry) && !sched_yield())
		if (pair_now_ms() > until_ms)
			pair_die(0, cq == end.tx_cq ? "no sending completes"
						    : "no receive completes");
	return entry;
}

struct fi_cq_err_entry pair_done(struct fid_cq *cq)
{
	struct fi_cq_err_entry entry = pair_completion(cq);

	if (entry.err)
		pair_die(-entry.err, "completion");
	return entry;
}

void pair_none(struct fid_cq *cq, unsigned int ms)
{
	uint64_t until_ms = pair_now_ms() + ms;
	struct fi_cq_err_entry entry;

	do
		EXPECT(!read_one(cq, &entry));
	while (pair_now_ms() < until_ms);
}

void pair_ping(size_t len, unsigned int seed)
{
	EXPECT(len <= PAIR_HALF);
	pair_fill(end.out, len, seed + end.serves);
	pair_recv(end.in, len, 1);
	if (!end.serves) {
		pair_send(end.out, len, 2);
		(void)pair_done(end.tx_cq);
	}
	(void)pair_done(end.rx_cq);
	pair_check(end.in, len, seed + !end.serves);
	if (end.serves) {
		pair_send(end.out, len, 2);
		(void)pair_done(end.tx_cq);
	}
}

void pair_exchange_memory(void)
{
	struct fi_rma_iov mine = { .addr = 0,
				   .len = PAIR_BYTES,
				   .key = fi_mr_key(end.mr) };

	if (end.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		mine.addr = (uint64_t)(uintptr_t)end.out;
	pair_recv(end.in, sizeof(mine), 1);
	memcpy(end.out, &mine, sizeof(mine));
	if (!end.serves) {
		pair_send(end.out, sizeof(mine), 2);
		(void)pair_done(end.tx_cq);
	}
	(void)pair_done(end.rx_cq);
	memcpy(&end.remote, end.in, sizeof(end.remote));
	if (end.serves) {
		pair_send(end.out, sizeof(mine), 2);
		(void)pair_done(end.tx_cq);
	}
}
