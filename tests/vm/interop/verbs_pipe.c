// SPDX-License-Identifier: BSD-2-Clause
/*
 * One connection of RDMA after the other, as frames of a pipe: what a script has to say
 * goes to the other end as it is, and what that sends comes out.
 *
 *   verbs_pipe ADDRESS PORT
 *
 * A frame is a letter, the length of what follows (32 bits, little-endian), and that.
 * Out: L it listens, C connected, M a message, D the connection is over. In: M send a
 * message, W write by RDMA (key, 32 bits; address, 64 bits; bytes), E end the connection.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define RECVS	    128
#define RECV_BYTES  4096U
#define FRAME_BYTES (1U << 20)
#define KEY_BYTES   12U
#define SEND_MS	    10000
#define NAP_US	    1000
#define EVER	    7 /* tries, as the protocol counts */

struct frame {
	uint8_t kind;
	uint32_t bytes;
};

static uint8_t out[FRAME_BYTES];
static uint8_t recvs[RECVS][RECV_BYTES];

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "verbs_pipe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void tell(uint8_t kind, const void *data, uint32_t bytes)
{
	must(fwrite(&kind, 1, 1, stdout) == 1 &&
		     fwrite(&bytes, sizeof(bytes), 1, stdout) == 1 &&
		     (!bytes || fwrite(data, bytes, 1, stdout) == 1) &&
		     !fflush(stdout),
	     "stdout");
}

/* Whoever says no more has ended. */
static void hear(void *data, size_t bytes)
{
	uint8_t *at = data;
	ssize_t n;

	while (bytes) {
		n = read(STDIN_FILENO, at, bytes);
		if (n <= 0)
			exit(0);
		at += n;
		bytes -= (size_t)n;
	}
}

static struct frame hear_frame(void)
{
	struct frame frame;

	hear(&frame.kind, sizeof(frame.kind));
	hear(&frame.bytes, sizeof(frame.bytes));
	must(frame.bytes <= sizeof(out), "a frame's length");
	hear(out, frame.bytes);
	return frame;
}

/* false: it cannot be sent any more. */
static bool is_sent(struct rdma_cm_id *id)
{
	struct ibv_wc wc;
	int waited;

	for (waited = 0; waited < SEND_MS * 1000; waited += NAP_US) {
		if (ibv_poll_cq(id->send_cq, 1, &wc))
			return wc.status == IBV_WC_SUCCESS;
		usleep(NAP_US);
	}
	return false;
}

static bool do_write(struct rdma_cm_id *id, struct ibv_mr *mr, uint32_t bytes)
{
	uint64_t address;
	uint32_t key;

	must(bytes > KEY_BYTES, "a write's length");
	memcpy(&key, out, sizeof(key));
	memcpy(&address, out + sizeof(key), sizeof(address));
	return !rdma_post_write(id, NULL, out + KEY_BYTES, bytes - KEY_BYTES,
				mr, IBV_SEND_SIGNALED, address, key) &&
	       is_sent(id);
}

/* false: the connection is to end. */
static bool obey(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct frame frame = hear_frame();

	if (frame.kind == 'M')
		return !rdma_post_send(id, NULL, out, frame.bytes, mr,
				       IBV_SEND_SIGNALED) &&
		       is_sent(id);
	if (frame.kind == 'W')
		return do_write(id, mr, frame.bytes);
	return false;
}

static bool take(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_wc wc;
	void *at;

	while (ibv_poll_cq(id->recv_cq, 1, &wc)) {
		if (wc.status != IBV_WC_SUCCESS)
			return false;
		at = (void *)(uintptr_t)wc.wr_id;
		tell('M', at, wc.byte_len);
		if (rdma_post_recv(id, at, at, RECV_BYTES, mr))
			return false;
	}
	return true;
}

static void forget_event(struct rdma_cm_id *id)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_get_cq_event(id->recv_cq_channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static void serve(struct rdma_cm_id *id, struct ibv_mr *out_mr,
		  struct ibv_mr *recv_mr)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = id->channel->fd, .events = POLLIN },
		{ .fd = id->recv_cq_channel->fd, .events = POLLIN },
	};

	for (;;) {
		ibv_req_notify_cq(id->recv_cq, 0);
		if (!take(id, recv_mr))
			return;
		must(poll(fds, 3, -1) > 0, "poll");
		if (fds[2].revents)
			forget_event(id);
		if (fds[1].revents)
			return;
		if (fds[0].revents && !obey(id, out_mr))
			return;
	}
}

static void one_connection(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = EVER,
					 .rnr_retry_count = EVER };
	struct ibv_mr *out_mr, *recv_mr;
	struct rdma_cm_id *id;
	int i;

	must(!rdma_get_request(listener, &id), "a request");
	out_mr = rdma_reg_msgs(id, out, sizeof(out));
	recv_mr = rdma_reg_msgs(id, recvs, sizeof(recvs));
	must(out_mr && recv_mr, "registration");
	for (i = 0; i < RECVS; i++)
		must(!rdma_post_recv(id, recvs[i], recvs[i], RECV_BYTES,
				     recv_mr),
		     "a receive");
	if (!rdma_accept(id, &param)) {
		tell('C', NULL, 0);
		serve(id, out_mr, recv_mr);
		tell('D', NULL, 0);
	}
	rdma_disconnect(id);
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(recv_mr);
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE,
				       .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1,
						  .max_recv_wr = RECVS,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct rdma_addrinfo *found;
	struct rdma_cm_id *listener;

	if (argc != 3) {
		fprintf(stderr, "usage: verbs_pipe ADDRESS PORT\n");
		return 2;
	}
	must(!rdma_getaddrinfo(argv[1], argv[2], &hints, &found), "address");
	must(!rdma_create_ep(&listener, found, NULL, &attr), "endpoint");
	must(!rdma_listen(listener, 1), "listening");
	tell('L', NULL, 0);
	for (;;)
		one_connection(listener);
}
