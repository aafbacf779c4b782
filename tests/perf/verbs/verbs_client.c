// SPDX-License-Identifier: BSD-2-Clause
/*
 * What plain verbs cost a process: a 4 KiB write, and one with an 8 byte read
 * behind it, to the memory of tests/vm/interop's ofi_peer. It sleeps until the
 * completion is announced, as a program does that must not spin.
 *
 *   verbs-client ADDRESS PORT [ROUNDS]
 *
 * Prints a line for each: nanoseconds, min, median and max.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "kfabric/test/perf/iop_wire.h"

#define WRITE_BYTES 4096
#define READ_BYTES  8
#define TARGETS	    64
#define WARM_ROUNDS 100
#define ROUNDS	    2000
#define DEPTH	    16
#define RETRY_COUNT 6
#define NS_PER_S    1000000000ull

enum shape {
	WRITE, /* a write, waited for */
	CHAINED, /* a write and a read behind it, both waited for */
	STEPS, /* a write, waited for, then a read, waited for */
	SHAPES,
};

static const char *const shapes[SHAPES] = {
	[WRITE] = "4 KiB write",
	[CHAINED] = "4 KiB write and 8 B read behind it",
	[STEPS] = "4 KiB write, then 8 B read",
};

struct client {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct iop_peer_data peer;
	uint8_t *data;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "verbs-client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void make_queue(struct client *c, const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *found;
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };

	must(!rdma_getaddrinfo(address, port, &hints, &found), "address");
	must(!rdma_create_ep(&c->id, found, NULL, &attr), "queue pair");
	rdma_freeaddrinfo(found);
	must(!posix_memalign((void **)&c->data, WRITE_BYTES, 2 * WRITE_BYTES),
	     "memory");
	memset(c->data, 0, 2 * WRITE_BYTES);
	c->mr = rdma_reg_msgs(c->id, c->data, 2 * WRITE_BYTES);
	must(c->mr != NULL, "registration");
}

/* Private data begins with its length, as libfabric has it. */
static void connect_to(struct client *c)
{
	struct iop_ulp_data mine = { .mode = IOP_MODE_SERVE,
				     .len = sizeof(mine) };
	uint8_t wire[1 + sizeof(mine)] = { sizeof(mine) };
	struct rdma_conn_param param = { .private_data = wire,
					 .private_data_len = sizeof(wire),
					 .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = RETRY_COUNT,
					 .rnr_retry_count = RETRY_COUNT };
	const struct rdma_conn_param *theirs;
	size_t i;

	memcpy(mine.magic, IOP_ULP_MAGIC, IOP_MAGIC_LEN);
	for (i = 0; i < sizeof(mine.pattern); i++)
		mine.pattern[i] = iop_byte(1, i);
	memcpy(wire + 1, &mine, sizeof(mine));
	must(!rdma_connect(c->id, &param), "connection");
	theirs = &c->id->event->param.conn;
	must(theirs->private_data_len > sizeof(c->peer), "the peer's answer");
	memcpy(&c->peer, (const uint8_t *)theirs->private_data + 1,
	       sizeof(c->peer));
}

static void wait_one(struct client *c)
{
	struct ibv_wc wc = { 0 };

	must(rdma_get_send_comp(c->id, &wc) == 1, "completion");
	if (wc.status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "verbs-client: %s\n", ibv_wc_status_str(wc.status));
	exit(1);
}

static void post_write(struct client *c, uint64_t target)
{
	must(!rdma_post_write(c->id, NULL, c->data, WRITE_BYTES, c->mr,
			      IBV_SEND_SIGNALED, target,
			      (uint32_t)c->peer.rw_key),
	     "write");
}

static void post_read(struct client *c, uint64_t target)
{
	must(!rdma_post_read(c->id, NULL, c->data + WRITE_BYTES, READ_BYTES,
			     c->mr, IBV_SEND_SIGNALED,
			     target + WRITE_BYTES - READ_BYTES,
			     (uint32_t)c->peer.rw_key),
	     "read");
}

static void one_round(struct client *c, enum shape shape, unsigned int i)
{
	uint64_t target =
		c->peer.rw_addr + (uint64_t)WRITE_BYTES * (i % TARGETS);

	post_write(c, target);
	if (shape != CHAINED)
		wait_one(c);
	if (shape == WRITE)
		return;
	post_read(c, target);
	wait_one(c);
	if (shape == CHAINED)
		wait_one(c);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(struct client *c, enum shape shape, uint64_t *ns,
		    unsigned int rounds)
{
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < WARM_ROUNDS; i++)
		one_round(c, shape, i);
	for (i = 0; i < rounds; i++) {
		begin = now_ns();
		one_round(c, shape, i);
		ns[i] = now_ns() - begin;
	}
	qsort(ns, rounds, sizeof(*ns), by_value);
	printf("verbs of a process: %s, ns: min %" PRIu64 " median %" PRIu64
	       " max %" PRIu64 "\n",
	       shapes[shape], ns[0], ns[rounds / 2], ns[rounds - 1]);
}

int main(int argc, char **argv)
{
	struct client c = { 0 };
	unsigned long rounds = ROUNDS;
	enum shape shape;
	uint64_t *ns;

	if (argc > 3)
		rounds = strtoul(argv[3], NULL, 0);
	if (argc < 3 || !rounds || rounds > UINT16_MAX) {
		fprintf(stderr, "usage: verbs-client ADDRESS PORT [ROUNDS]\n");
		return 2;
	}
	ns = calloc(rounds, sizeof(*ns));
	must(ns != NULL, "memory");
	make_queue(&c, argv[1], argv[2]);
	connect_to(&c);
	for (shape = 0; shape < SHAPES; shape++)
		measure(&c, shape, ns, (unsigned int)rounds);
	rdma_disconnect(c.id);
	rdma_dereg_mr(c.mr);
	rdma_destroy_ep(c.id);
	free(c.data);
	free(ns);
	return 0;
}
