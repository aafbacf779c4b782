// SPDX-License-Identifier: BSD-2-Clause
/* What a peer's reads and writes have moved at an endpoint, to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "stcp.h"

#define CTX(n)	   ((void *)(uintptr_t)(n))
#define HALF_BYTES 50000

static struct stcp_moved moved(const struct side *side)
{
	const struct stcp_ep_ops *ops;
	struct stcp_moved m;

	assert_int_equal(fi_open_ops(&side->ep->fid, STCP_EP_OPS, 0,
				     (void **)&ops, NULL),
			 0);
	ops->moved(side->ep, &m);
	return m;
}

static void expect_moved(const struct side *side, uint64_t written,
			 uint64_t read, uint64_t n_ops)
{
	struct stcp_moved m = moved(side);

	assert_int_equal(m.written_bytes, written);
	assert_int_equal(m.read_bytes, read);
	assert_int_equal(m.n_ops, n_ops);
}

static void write_some(struct rig *rig, size_t len)
{
	struct iovec iov = { rig->client.memory, len };
	struct fi_rma_iov rma = { 0, len, RIG_KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = CTX(1) };

	assert_int_equal(fi_writemsg(rig->client.ep, &msg,
				     FI_COMPLETION | FI_DELIVERY_COMPLETE),
			 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).err, 0);
}

static void read_some(struct rig *rig, size_t len)
{
	assert_int_equal(fi_read(rig->client.ep, rig->client.memory, len, NULL,
				 0, 0, RIG_KEY, CTX(2)),
			 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(2)).err, 0);
}

/* Of lengths that go by way of the stage, straight to their place, and both. */
static void what_a_peer_moves_is_counted_where_it_lands(void **state)
{
	static const size_t lens[] = {
		0, 1, 8, 16383, 300000, RIG_MEMORY_BYTES
	};
	struct rig *rig = rig_open(true, true);
	uint64_t bytes = 0, n = 0;

	rig_connect(rig);
	expect_moved(&rig->server, 0, 0, 0);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		write_some(rig, lens[i]);
		expect_moved(&rig->server, bytes + lens[i], bytes, n + 1);
		read_some(rig, lens[i]);
		bytes += lens[i];
		n += 2;
		expect_moved(&rig->server, bytes, bytes, n);
	}
	/* It has had its reads answered, which is not its peer's work. */
	expect_moved(&rig->client, 0, 0, 0);
	rig_close(rig);
}

static void messages_are_none_of_it(void **state)
{
	struct rig *rig = rig_open(true, true);
	uint8_t in[8], out[8] = { 0 };

	rig_connect(rig);
	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
	assert_int_equal(fi_send(rig->client.ep, out, 8, NULL, 0, CTX(2)), 0);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 8);
	expect_moved(&rig->server, 0, 0, 0);
	rig_close(rig);
}

/* Nobody moves for nothing by never coming to an end. */
static void half_a_write_is_counted_and_is_no_operation(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct tcpw_hdr hdr = { .op = TCPW_WRITE,
				.n_segs = 1,
				.payload_bytes = 2 * HALF_BYTES,
				.segs = { { 0, 2 * HALF_BYTES, RIG_KEY } } };
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	uint8_t *payload = calloc(1, HALF_BYTES);
	int fd = raw_connect(rig, TCPW_LITTLE);

	assert_non_null(payload);
	raw_send_op(fd, TCPW_LITTLE, &hdr, NULL);
	raw_send(fd, payload, HALF_BYTES);
	while (moved(&rig->server).written_bytes < HALF_BYTES) {
		if (rig_now_ms() > until_ms)
			fail_msg("the half does not land");
		rig_step(rig);
	}
	expect_moved(&rig->server, HALF_BYTES, 0, 0);
	free(payload);
	close(fd);
	rig_close(rig);
}

static void what_is_refused_has_moved_nothing(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct tcpw_hdr hdr = { .op = TCPW_WRITE,
				.n_segs = 1,
				.payload_bytes = 8,
				.segs = { { 0, 8, RIG_KEY + 1 } } };
	int fd = raw_connect(rig, TCPW_LITTLE);
	struct event event;

	raw_send_op(fd, TCPW_LITTLE, &hdr, "12345678");
	rig_event(rig, &rig->server, &event);
	expect_moved(&rig->server, 0, 0, 0);
	raw_expect_end(rig, fd);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_peer_moves_is_counted_where_it_lands),
		cmocka_unit_test(messages_are_none_of_it),
		cmocka_unit_test(half_a_write_is_counted_and_is_no_operation),
		cmocka_unit_test(what_is_refused_has_moved_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
