// SPDX-License-Identifier: BSD-2-Clause
/*
 * stcp with itself and with libfabric's tcp provider, in both roles. The
 * program's argument says who serves and who connects: s for stcp, m for stcp
 * whose user moves the data, t for tcp.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rig.h"
#include "stcp.h"

#define CTX(n) ((void *)(uintptr_t)(n))
#define BIG    (700 * 1024)

static bool stcp_server, stcp_client;

static struct rig *connected(void)
{
	struct rig *rig = rig_open(stcp_server, stcp_client);

	rig_connect(rig);
	return rig;
}

static void fill(uint8_t *to, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
}

static void expect_ok(struct rig *rig, struct side *side, void *context,
		      uint64_t flags)
{
	struct seen seen = rig_wait(rig, side, context);

	assert_int_equal(seen.err, 0);
	assert_int_equal(seen.flags & flags, flags);
}

static void message(struct rig *rig, struct side *from, struct side *to,
		    size_t len)
{
	uint8_t *out = malloc(len + 1), *in = malloc(len + 1);
	struct seen seen;

	fill(out, len, 7);
	assert_int_equal(fi_recv(to->ep, in, len, NULL, 0, CTX(1)), 0);
	assert_int_equal(fi_send(from->ep, out, len, NULL, 0, CTX(2)), 0);
	seen = rig_wait(rig, to, CTX(1));
	assert_int_equal(seen.err, 0);
	assert_int_equal(seen.len, len);
	assert_memory_equal(in, out, len);
	expect_ok(rig, from, CTX(2), FI_SEND | FI_MSG);
	free(out);
	free(in);
}

static void messages_of_all_sizes_pass_both_ways(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 4096, 20000, BIG };
	struct rig *rig = connected();

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		message(rig, &rig->client, &rig->server, sizes[i]);
		message(rig, &rig->server, &rig->client, sizes[i]);
	}
	rig_close(rig);
}

static void injected_and_acknowledged_messages_and_data_pass(void **state)
{
	struct rig *rig = connected();
	uint8_t in[3][16] = { { 0 } };
	char ab[] = "ab", cde[] = "cde";
	struct iovec iov[2] = { { ab, 2 }, { cde, 3 } };
	struct fi_msg msg = { .msg_iov = iov,
			      .iov_count = 2,
			      .context = CTX(9) };
	struct seen seen;

	for (int i = 0; i < 3; i++)
		assert_int_equal(fi_recv(rig->server.ep, in[i], 16, NULL, 0,
					 CTX(i + 1)),
				 0);
	assert_int_equal(fi_inject(rig->client.ep, "xyz", 3, 0), 0);
	assert_int_equal(fi_sendmsg(rig->client.ep, &msg,
				    FI_DELIVERY_COMPLETE | FI_COMPLETION),
			 0);
	assert_int_equal(fi_senddata(rig->client.ep, "q", 1, NULL, 0xabcdef, 0,
				     CTX(8)),
			 0);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 3);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(2)).len, 5);
	seen = rig_wait(rig, &rig->server, CTX(3));
	assert_int_equal(seen.data, 0xabcdef);
	assert_true(seen.flags & FI_REMOTE_CQ_DATA);
	expect_ok(rig, &rig->client, CTX(9), FI_SEND);
	expect_ok(rig, &rig->client, CTX(8), FI_SEND);
	assert_memory_equal(in[0], "xyz", 3);
	assert_memory_equal(in[1], "abcde", 5);
	assert_memory_equal(in[2], "q", 1);
	rig_close(rig);
}

static void write_and_read(struct rig *rig, struct side *from, struct side *to,
			   size_t len, uint64_t addr)
{
	uint8_t *out = malloc(len + 1), *in = malloc(len + 1);
	struct iovec iov = { out, len };
	struct fi_rma_iov rma = { addr, len, RIG_KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = CTX(3) };

	fill(out, len, (unsigned int)len);
	assert_int_equal(fi_writemsg(from->ep, &msg,
				     FI_COMPLETION | FI_DELIVERY_COMPLETE),
			 0);
	expect_ok(rig, from, CTX(3), FI_WRITE | FI_RMA);
	assert_memory_equal(to->memory + addr, out, len);
	memset(in, 0, len + 1);
	assert_int_equal(
		fi_read(from->ep, in, len, NULL, 0, addr, RIG_KEY, CTX(4)), 0);
	expect_ok(rig, from, CTX(4), FI_READ | FI_RMA);
	assert_memory_equal(in, out, len);
	free(out);
	free(in);
}

static void writes_are_placed_when_they_complete_and_read_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 8, 4096, 16384, 20000, BIG };
	struct rig *rig = connected();

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_and_read(rig, &rig->client, &rig->server, sizes[i], 5);
		write_and_read(rig, &rig->server, &rig->client, sizes[i], 9);
	}
	rig_close(rig);
}

static void pieces(struct rig *rig, struct side *from, struct side *to)
{
	uint8_t a[10], b[20], c[30], whole[60], back[60];
	struct iovec iov[3] = { { a, 10 }, { b, 20 }, { c, 30 } };
	struct iovec in[2] = { { back, 25 }, { back + 25, 35 } };
	struct fi_rma_iov rma[4] = { { 0, 15, RIG_KEY },
				     { 100, 0, RIG_KEY },
				     { 200, 44, RIG_KEY },
				     { 300, 1, RIG_KEY } };
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .iov_count = 3,
				  .rma_iov = rma,
				  .rma_iov_count = 4,
				  .context = CTX(5) };

	fill(whole, 60, 99);
	memcpy(a, whole, 10);
	memcpy(b, whole + 10, 20);
	memcpy(c, whole + 30, 30);
	assert_int_equal(fi_writemsg(from->ep, &msg,
				     FI_COMPLETION | FI_DELIVERY_COMPLETE),
			 0);
	expect_ok(rig, from, CTX(5), FI_WRITE);
	assert_memory_equal(to->memory, whole, 15);
	assert_memory_equal(to->memory + 200, whole + 15, 44);
	assert_memory_equal(to->memory + 300, whole + 59, 1);
	msg.msg_iov = in;
	msg.iov_count = 2;
	msg.context = CTX(6);
	assert_int_equal(fi_readmsg(from->ep, &msg, FI_COMPLETION), 0);
	expect_ok(rig, from, CTX(6), FI_READ);
	assert_memory_equal(back, whole, 60);
}

static void four_segments_and_several_buffers_are_put_together(void **state)
{
	struct rig *rig = connected();

	pieces(rig, &rig->client, &rig->server);
	pieces(rig, &rig->server, &rig->client);
	rig_close(rig);
}

static int count_persisted(void *arg, void *addr, size_t len)
{
	/* It is there, and whole. */
	*(unsigned int *)arg += ((uint8_t *)addr)[len - 1] == 0xc3;
	return 0;
}

/* What libfabric's own tcp makes of that flag as a target is its business. */
static void a_commit_completes_when_it_has_been_made_durable(void **state)
{
	struct rig *rig = connected();
	struct side *from = &rig->client, *to = &rig->server;
	unsigned int times = 0;
	struct stcp_domain_ops *ops;
	uint8_t out[4096];
	struct iovec iov = { out, sizeof(out) };
	struct fi_rma_iov rma = { 64, sizeof(out), RIG_KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = CTX(7) };

	if (!to->is_stcp) {
		from = &rig->server;
		to = &rig->client;
	}
	memset(out, 0xc3, sizeof(out));
	assert_int_equal(fi_open_ops(&to->domain->fid, STCP_DOMAIN_OPS, 0,
				     (void **)&ops, NULL),
			 0);
	assert_int_equal(ops->set_persist(to->domain, count_persisted, &times),
			 0);
	assert_int_equal(fi_writemsg(from->ep, &msg,
				     FI_COMPLETION | FI_COMMIT_COMPLETE),
			 0);
	expect_ok(rig, from, CTX(7), FI_WRITE | FI_RMA);
	assert_int_equal(times, 1);
	rig_close(rig);
}

static void many_operations_in_flight_end_in_order(void **state)
{
	struct rig *rig = connected();
	uint64_t word[100], in[100];

	for (unsigned int i = 0; i < 100; i++) {
		word[i] = i * 0x0101010101010101ULL;
		in[i] = ~0ULL;
		assert_int_equal(fi_write(rig->client.ep, &word[i], 8, NULL, 0,
					  i * 8ULL, RIG_KEY, CTX(1000 + i)),
				 0);
		assert_int_equal(fi_read(rig->client.ep, &in[i], 8, NULL, 0,
					 i * 8ULL, RIG_KEY, CTX(2000 + i)),
				 0);
	}
	for (unsigned int i = 0; i < 100; i++) {
		expect_ok(rig, &rig->client, CTX(1000 + i), FI_WRITE);
		expect_ok(rig, &rig->client, CTX(2000 + i), FI_READ);
		assert_int_equal(in[i], word[i]);
	}
	rig_close(rig);
}

static void a_reject_brings_its_data(void **state)
{
	struct rig *rig = rig_open(stcp_server, stcp_client);
	struct event event;

	rig_endpoint(&rig->client, rig->client.info);
	assert_int_equal(fi_connect(rig->client.ep, rig->client.info->dest_addr,
				    NULL, 0),
			 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	assert_int_equal(event.data_bytes, 0);
	assert_int_equal(fi_reject(rig->server.pep, event.info->handle,
				   "no, thank you", 13),
			 0);
	fi_freeinfo(event.info);
	rig_event(rig, &rig->client, &event);
	assert_int_equal(event.kind, 0);
	assert_int_equal(event.err, FI_ECONNREFUSED);
	assert_int_equal(event.data_bytes, 13);
	assert_memory_equal(event.data, "no, thank you", 13);
	rig_close(rig);
}

static void the_end_is_told_and_flushes_what_was_posted(void **state)
{
	struct rig *rig = connected();
	struct event event;
	uint8_t in[8];

	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
	assert_int_equal(fi_shutdown(rig->client.ep, 0), 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_SHUTDOWN);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).err, FI_ECANCELED);
	rig_close(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_all_sizes_pass_both_ways),
		cmocka_unit_test(
			injected_and_acknowledged_messages_and_data_pass),
		cmocka_unit_test(
			writes_are_placed_when_they_complete_and_read_back),
		cmocka_unit_test(
			four_segments_and_several_buffers_are_put_together),
		cmocka_unit_test(
			a_commit_completes_when_it_has_been_made_durable),
		cmocka_unit_test(many_operations_in_flight_end_in_order),
		cmocka_unit_test(a_reject_brings_its_data),
		cmocka_unit_test(the_end_is_told_and_flushes_what_was_posted),
	};

	if (argc != 2 || strlen(argv[1]) != 2) {
		fprintf(stderr, "usage: %s [smt][smt]\n", argv[0]);
		return 2;
	}
	stcp_server = argv[1][0] != 't';
	stcp_client = argv[1][1] != 't';
	rig_manual(argv[1][0] == 'm', argv[1][1] == 'm');
	return cmocka_run_group_tests(tests, NULL, NULL);
}
