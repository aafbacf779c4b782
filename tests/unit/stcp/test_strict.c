// SPDX-License-Identifier: BSD-2-Clause
/*
 * Peers that do what they may not: where their bytes go, what they can hold
 * up, and what the fence of a registration stops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "stcp.h"
#include "tcpw_cm.h"

#define CTX(n)	  ((void *)(uintptr_t)(n))
#define FLOOD_MIN 64
#define FLOOD_MAX 100000
#define STUCK_MS  1000
#define RESUMES	  200
#define RESUME_US 500

static struct rig *opened(void)
{
	stcp_tell_strays(true);
	return rig_open(true, true);
}

static struct tcpw_hdr a_write(uint64_t key, uint64_t addr, uint64_t bytes)
{
	struct tcpw_hdr hdr = { .op = TCPW_WRITE,
				.n_segs = 1,
				.payload_bytes = bytes,
				.segs = { { addr, bytes, key } } };

	return hdr;
}

static void assert_untouched(const struct side *side)
{
	for (size_t i = 0; i < RIG_MEMORY_BYTES; i++)
		assert_int_equal(side->memory[i], 0);
}

/* The server hears of this violation, and the connection ends. */
static void expect_violation(struct rig *rig, int fd, enum tcpw_violation why)
{
	struct event event;

	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, 0);
	assert_int_equal(event.err, EPROTO);
	if (event.prov_errno != (int)why)
		fail_msg("\"%s\", not \"%s\"",
			 tcpw_violation_text(event.prov_errno),
			 tcpw_violation_text(why));
	raw_expect_end(rig, fd);
	rig_drop_endpoint(&rig->server);
}

/* The connection ends without a byte, and not because of the peer. */
static void expect_no_blame(struct rig *rig, int fd)
{
	struct event event;
	uint8_t byte;

	assert_false(raw_recv(rig, fd, &byte, 1));
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_SHUTDOWN);
	close(fd);
	rig_drop_endpoint(&rig->server);
}

/* Sends an operation with its payload, which must not land anywhere. */
static void refused(struct rig *rig, const struct tcpw_hdr *hdr,
		    enum tcpw_violation why)
{
	uint8_t payload[64];
	int fd = raw_connect(rig, TCPW_LITTLE);

	memset(payload, 0xee, sizeof(payload));
	raw_send_op(fd, TCPW_LITTLE, hdr, payload);
	expect_violation(rig, fd, why);
	assert_untouched(&rig->server);
}

static void no_byte_lands_without_key_range_and_access(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr two = a_write(RIG_KEY, 0, 8);
	static uint8_t read_only[64];
	struct fid_mr *mr;
	struct tcpw_hdr hdr;

	hdr = a_write(RIG_KEY + 1, 0, 8);
	refused(rig, &hdr, TCPW_BAD_KEY);
	hdr = a_write(RIG_KEY, RIG_MEMORY_BYTES - 7, 8);
	refused(rig, &hdr, TCPW_BAD_RANGE);
	hdr = a_write(RIG_KEY, RIG_MEMORY_BYTES + 1, 0);
	refused(rig, &hdr, TCPW_BAD_RANGE);
	/* The last segment is looked at before the first is filled. */
	two.n_segs = 2;
	two.segs[1].bytes = 8;
	two.segs[1].key = RIG_KEY + 1;
	two.payload_bytes = 16;
	refused(rig, &two, TCPW_BAD_KEY);

	assert_int_equal(fi_mr_reg(rig->server.domain, read_only, 64,
				   FI_REMOTE_READ, 0, 7, 0, &mr, NULL),
			 0);
	hdr = a_write(7, 0, 8);
	refused(rig, &hdr, TCPW_BAD_ACCESS);
	for (int i = 0; i < 64; i++)
		assert_int_equal(read_only[i], 0);
	fi_close(&mr->fid);
	rig_close(rig);
}

static void a_write_only_registration_is_not_read(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST,
				.n_segs = 1,
				.segs = { { 0, 8, 7 } } };
	static uint8_t write_only[64];
	struct fid_mr *mr;
	int fd = raw_connect(rig, TCPW_LITTLE);

	assert_int_equal(fi_mr_reg(rig->server.domain, write_only, 64,
				   FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL),
			 0);
	raw_send_op(fd, TCPW_LITTLE, &hdr, NULL);
	expect_violation(rig, fd, TCPW_BAD_ACCESS);
	fi_close(&mr->fid);
	rig_close(rig);
}

static void what_nobody_asked_for_ends_the_connection(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr ack = { .op = TCPW_ACK };
	struct tcpw_hdr response = { .op = TCPW_READ_RESPONSE,
				     .payload_bytes = 8 };
	struct tcpw_hdr hdr = a_write(RIG_KEY, 0, 8);

	refused(rig, &ack, TCPW_UNASKED_ACK);
	refused(rig, &response, TCPW_UNASKED_RESPONSE);
	hdr.flags = TCPW_F_CQ_DATA;
	refused(rig, &hdr, TCPW_NO_CQ_DATA);
	hdr.flags = TCPW_F_COMMIT;
	refused(rig, &hdr, TCPW_NO_COMMIT);
	rig_close(rig);
}

static void a_message_longer_than_its_receive_ends_the_connection(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_MSG, .payload_bytes = 9 };
	int fd = raw_connect(rig, TCPW_LITTLE);
	uint8_t in[16] = { 0 };
	struct seen seen;

	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
	raw_send_op(fd, TCPW_LITTLE, &hdr, "123456789");
	seen = rig_wait(rig, &rig->server, CTX(1));
	assert_int_equal(seen.err, FI_ETRUNC);
	for (int i = 0; i < 16; i++)
		assert_int_equal(in[i], 0);
	expect_violation(rig, fd, TCPW_TOO_LONG);
	rig_close(rig);
}

/* persist() of the next test. */
struct persisted {
	uint8_t *addr;
	size_t len;
	int times;
	int answer;
};

static int persist(void *arg, void *addr, size_t len)
{
	struct persisted *p = arg;

	p->addr = addr;
	p->len = len;
	p->times++;
	/* What is made durable is there. */
	return *(uint8_t *)addr == 0xee ? p->answer : -EIO;
}

static void commit_persists_before_it_is_acknowledged(void **state)
{
	struct rig *rig = opened();
	struct persisted p = { 0 };
	struct tcpw_hdr hdr = a_write(RIG_KEY, 64, 8);
	struct stcp_domain_ops *ops;
	uint8_t payload[8], answer[TCPW_HDR_MIN];
	int fd = raw_connect(rig, TCPW_LITTLE);

	assert_int_equal(fi_open_ops(&rig->server.domain->fid, STCP_DOMAIN_OPS,
				     0, (void **)&ops, NULL),
			 0);
	assert_int_equal(ops->set_persist(rig->server.domain, persist, &p), 0);
	memset(payload, 0xee, sizeof(payload));
	hdr.flags = TCPW_F_COMMIT;
	raw_send_op(fd, TCPW_LITTLE, &hdr, payload);
	assert_true(raw_recv(rig, fd, answer, TCPW_HDR_MIN));
	assert_int_equal(answer[4], 2);
	assert_int_equal(p.times, 1);
	assert_ptr_equal(p.addr, rig->server.memory + 64);
	assert_int_equal(p.len, 8);
	/* What could not be made durable is not acknowledged. */
	p.answer = -EIO;
	raw_send_op(fd, TCPW_LITTLE, &hdr, payload);
	expect_no_blame(rig, fd);
	assert_int_equal(p.times, 2);
	rig_close(rig);
}

static void a_big_endian_peer_is_spoken_to_in_its_order(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr write = a_write(RIG_KEY, 0, 8), out;
	struct tcpw_hdr read = { .op = TCPW_READ_REQUEST,
				 .n_segs = 1,
				 .segs = { { 0, 8, RIG_KEY } } };
	uint8_t bytes[TCPW_HDR_MIN], back[8];
	int fd = raw_connect(rig, TCPW_BIG);

	write.flags = TCPW_F_DELIVERY;
	raw_send_op(fd, TCPW_BIG, &write, "abcdefgh");
	assert_true(raw_recv(rig, fd, bytes, TCPW_HDR_MIN));
	assert_int_equal(tcpw_hdr_decode(bytes, TCPW_BIG, &out), TCPW_OK);
	assert_int_equal(out.op, TCPW_ACK);
	assert_memory_equal(rig->server.memory, "abcdefgh", 8);
	raw_send_op(fd, TCPW_BIG, &read, NULL);
	assert_true(raw_recv(rig, fd, bytes, TCPW_HDR_MIN));
	assert_int_equal(tcpw_hdr_decode(bytes, TCPW_BIG, &out), TCPW_OK);
	assert_int_equal(out.op, TCPW_READ_RESPONSE);
	assert_int_equal(out.payload_bytes, 8);
	assert_true(raw_recv(rig, fd, back, 8));
	assert_memory_equal(back, "abcdefgh", 8);
	close(fd);
	rig_close(rig);
}

/*
 * Waits until the first bytes of a write are there. As with a NIC, nothing
 * orders it with the one who writes.
 */
static void __attribute__((no_sanitize("thread")))
wait_byte(struct rig *rig, const volatile uint8_t *at, uint8_t is)
{
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;

	while (*at != is) {
		if (rig_now_ms() > until_ms)
			fail_msg("the write does not begin to land");
		rig_step(rig);
	}
}

static void closing_a_registration_stops_half_a_write(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = a_write(RIG_KEY, 0, 100000);
	int fd = raw_connect(rig, TCPW_LITTLE);
	uint8_t *payload = malloc(100000);

	memset(payload, 0xee, 100000);
	raw_send_op(fd, TCPW_LITTLE, &hdr, NULL);
	raw_send(fd, payload, 50000);
	wait_byte(rig, rig->server.memory + 49999, 0xee);
	assert_int_equal(fi_close(&rig->server.mr->fid), 0);
	rig->server.mr = NULL;
	memset(rig->server.memory, 0x11, RIG_MEMORY_BYTES);
	(void)send(fd, payload, 50000, MSG_NOSIGNAL);
	expect_violation(rig, fd, TCPW_BAD_KEY);
	for (size_t i = 0; i < RIG_MEMORY_BYTES; i++)
		assert_int_equal(rig->server.memory[i], 0x11);
	free(payload);
	rig_close(rig);
}

static void closing_an_idle_registration_hurts_nobody(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_MSG, .payload_bytes = 3 };
	struct tcpw_hdr write = a_write(RIG_KEY, 0, 8);
	int fd = raw_connect(rig, TCPW_LITTLE);
	uint8_t in[8], ack[TCPW_HDR_MIN];

	write.flags = TCPW_F_DELIVERY;
	raw_send_op(fd, TCPW_LITTLE, &write, "12345678");
	assert_true(raw_recv(rig, fd, ack, sizeof(ack)));
	assert_int_equal(fi_close(&rig->server.mr->fid), 0);
	rig->server.mr = NULL;
	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
	raw_send_op(fd, TCPW_LITTLE, &hdr, "abc");
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 3);
	/* The key is gone all the same. */
	raw_send_op(fd, TCPW_LITTLE, &write, "12345678");
	expect_violation(rig, fd, TCPW_BAD_KEY);
	rig_close(rig);
}

static void messages_wait_for_receives_and_none_is_lost(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_MSG, .payload_bytes = 4 };
	int fd = raw_connect(rig, TCPW_LITTLE);
	uint32_t in = 0, i;

	for (i = 0; i < 2000; i++)
		raw_send_op(fd, TCPW_LITTLE, &hdr, &i);
	assert_false(rig_has(rig, &rig->server, CTX(1)));
	for (i = 0; i < 2000; i++) {
		assert_int_equal(
			fi_recv(rig->server.ep, &in, 4, NULL, 0, CTX(1)), 0);
		assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 4);
		assert_int_equal(in, i);
	}
	close(fd);
	rig_close(rig);
}

/*
 * Sends requests until the server has taken none for a while, or as many as no
 * buffers of two sockets can hold. One that has not come to take any has no stop.
 */
static unsigned int flood(int fd, const uint8_t *bytes, size_t len)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	unsigned int n = 0;
	size_t at = 0;

	while (n < FLOOD_MAX) {
		ssize_t sent;

		if (!poll(&room, 1, STUCK_MS)) {
			if (n >= FLOOD_MIN || rig_now_ms() > until_ms)
				return n;
			continue;
		}
		sent = send(fd, bytes + at, len - at,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN)
			continue;
		assert_true(sent > 0);
		at += (size_t)sent;
		if (at == len) {
			at = 0;
			n++;
		}
	}
	return n;
}

static void responses_that_nobody_reads_are_bounded(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST,
				.n_segs = 1,
				.segs = { { 0, 65536, RIG_KEY } } };
	int fd = raw_connect(rig, TCPW_LITTLE);
	uint8_t bytes[TCPW_HDR_MAX], back[TCPW_HDR_MIN];
	int len = tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes);
	static uint8_t payload[65536];
	int small = 65536;
	unsigned int n, i;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	/* It takes no more requests than it may owe answers. */
	n = flood(fd, bytes, (size_t)len);
	assert_in_range(n, FLOOD_MIN, FLOOD_MAX - 1);
	for (i = 0; i < n; i++) {
		assert_true(raw_recv(rig, fd, back, sizeof(back)));
		assert_int_equal(back[1], 3);
		assert_true(raw_recv(rig, fd, payload, sizeof(payload)));
	}
	close(fd);
	rig_close(rig);
}

static void closing_a_registration_stops_answers_from_it(void **state)
{
	struct rig *rig = opened();
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST,
				.n_segs = 1,
				.segs = { { 0, 65536, RIG_KEY } } };
	int fd = raw_connect(rig, TCPW_LITTLE);
	struct timeval timeout = { .tv_sec = RIG_DEADLINE_MS / 1000 };
	static uint8_t bytes[65536];
	int len = tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes);
	ssize_t n;

	flood(fd, bytes, (size_t)len);
	assert_int_equal(fi_close(&rig->server.mr->fid), 0);
	rig->server.mr = NULL;
	memset(rig->server.memory, 0x11, RIG_MEMORY_BYTES);
	/* What was with the socket before comes; nothing of what is new. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
			 sizeof(timeout));
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		assert_null(memchr(bytes, 0x11, (size_t)n));
	assert_true(n == 0 || errno == ECONNRESET);
	expect_violation(rig, fd, TCPW_BAD_KEY);
	rig_close(rig);
}

/* Of a request, as an error of the passive endpoint. */
static void expect_told(struct rig *rig, enum tcpw_violation why)
{
	struct event event;

	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, 0);
	assert_int_equal(event.err, EPROTO);
	assert_int_equal(event.prov_errno, why);
}

static void half_a_request_is_not_waited_for(void **state)
{
	struct rig *rig = opened();
	int fd = raw_socket(rig);
	uint8_t byte;

	raw_send(fd, "\3\0\0\0", 4);
	assert_false(raw_recv(rig, fd, &byte, 1));
	close(fd);
	expect_told(rig, TCPW_LATE);
	rig_close(rig);
}

static void a_request_that_is_gone_is_not_rejected_again(void **state)
{
	struct rig *rig = opened();
	struct event event;
	struct fid_ep *ep;
	uint8_t bytes[TCPW_CM_MAX] = { 0 };
	int fd = raw_socket(rig);

	raw_send(fd, bytes,
		 (size_t)tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_LITTLE, NULL, 0,
					bytes));
	rig_event(rig, &rig->server, &event);
	rig_endpoint(&rig->server, event.info);
	/* It has one already. */
	assert_int_equal(fi_endpoint(rig->server.domain, event.info, &ep, NULL),
			 -FI_EINVAL);
	/* It is that one's to answer, and is there until it closes. */
	assert_int_equal(fi_reject(rig->server.pep, event.info->handle, NULL,
				   0),
			 -FI_EINVAL);
	rig_drop_endpoint(&rig->server);
	raw_expect_end(rig, fd);
	assert_int_equal(fi_reject(rig->server.pep, event.info->handle, NULL,
				   0),
			 -FI_EINVAL);
	assert_int_equal(fi_endpoint(rig->server.domain, event.info, &ep, NULL),
			 -FI_EINVAL);
	fi_freeinfo(event.info);
	rig_close(rig);
}

static void an_endpoint_without_queues_does_not_connect(void **state)
{
	const struct sockaddr_in nobody = { .sin_family = AF_INET };
	struct rig *rig = opened();
	uint8_t bytes[TCPW_CM_MAX] = { 0 };
	int fd = raw_socket(rig);
	struct event event;
	struct fid_ep *ep;

	raw_send(fd, bytes,
		 (size_t)tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_LITTLE, NULL, 0,
					bytes));
	rig_event(rig, &rig->server, &event);
	rig_endpoint(&rig->server, event.info);
	event.info->handle = NULL;
	assert_int_equal(fi_endpoint(rig->server.domain, event.info, &ep, NULL),
			 0);
	assert_int_equal(fi_connect(ep, &nobody, NULL, 0), -FI_ENOEQ);
	assert_int_equal(fi_ep_bind(ep, &rig->server.eq->fid, 0), 0);
	assert_int_equal(fi_connect(ep, &nobody, NULL, 0), -FI_ENOCQ);
	assert_int_equal(fi_accept(ep, NULL, 0), -FI_ENOCQ);
	assert_int_equal(fi_close(&ep->fid), 0);
	rig_drop_endpoint(&rig->server);
	raw_expect_end(rig, fd);
	fi_freeinfo(event.info);
	rig_close(rig);
}

static void a_request_that_is_none_is_closed_at_once(void **state)
{
	static const uint8_t http[32] = "GET / HTTP/1.0\r\n\r\n";
	struct rig *rig = opened();
	int fd = raw_socket(rig);

	raw_send(fd, http, sizeof(http));
	raw_expect_end(rig, fd);
	expect_told(rig, TCPW_CM_VERSION);
	rig_close(rig);
}

/* Sleeps and reads until nothing wakes it: all that came has been looked at. */
static void look_until_quiet(struct side *side, struct pollfd *woken)
{
	struct fid *fids[] = { &side->cq->fid };
	struct fi_cq_data_entry entry;

	do {
		assert_int_equal(fi_cq_read(side->cq, &entry, 1), -FI_EAGAIN);
		assert_int_equal(fi_trywait(side->fabric, fids, 1), 0);
	} while (poll(woken, 1, STUCK_MS));
}

/* Asleep on the descriptor, and woken by the socket alone. */
static void one_who_moves_the_data_is_woken_by_it(void **state)
{
	struct rig *rig;
	struct fi_cq_data_entry entry;
	struct pollfd woken = { .events = POLLIN };
	struct event event;
	uint8_t in[8];

	rig_manual(false, true);
	rig = opened();
	rig_connect(rig);
	assert_int_equal(
		fi_control(&rig->client.cq->fid, FI_GETWAIT, &woken.fd), 0);
	/* A message waits for its receive, without waking anybody. */
	assert_int_equal(fi_inject(rig->server.ep, "abc", 3, 0), 0);
	look_until_quiet(&rig->client, &woken);
	assert_int_equal(fi_recv(rig->client.ep, in, 8, NULL, 0, CTX(1)), 0);
	assert_int_equal(poll(&woken, 1, RIG_DEADLINE_MS), 1);
	assert_int_equal(fi_cq_read(rig->client.cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, CTX(1));
	/* Another one, and the peer's end behind it: neither is lost. */
	assert_int_equal(fi_inject(rig->server.ep, "def", 3, 0), 0);
	look_until_quiet(&rig->client, &woken);
	rig_drop_endpoint(&rig->server);
	assert_int_equal(fi_recv(rig->client.ep, in, 8, NULL, 0, CTX(2)), 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(2)).len, 3);
	rig_event(rig, &rig->client, &event);
	assert_int_equal(event.kind, FI_SHUTDOWN);
	assert_int_equal(fi_send(rig->client.ep, in, 1, NULL, 0, CTX(3)),
			 -FI_ENOTCONN);
	rig_manual(false, false);
	rig_close(rig);
}

/* A whole message without a receive, and the peer's end behind it. */
static struct rig *last_words(int *fd)
{
	struct tcpw_hdr hdr = { .op = TCPW_MSG, .payload_bytes = 3 };
	struct rig *rig = opened();

	*fd = raw_connect(rig, TCPW_LITTLE);
	raw_send_op(*fd, TCPW_LITTLE, &hdr, "bye");
	assert_int_equal(shutdown(*fd, SHUT_WR), 0);
	return rig;
}

static void assert_shut_down(struct rig *rig)
{
	struct event event;

	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_SHUTDOWN);
}

static void who_has_gone_is_noticed_though_nobody_receives(void **state)
{
	struct rig *rig;
	int fd;

	for (int manual = 0; manual < 2; manual++) {
		rig_manual(manual, false);
		rig = last_words(&fd);
		assert_shut_down(rig);
		close(fd);
		rig_close(rig);
	}
	rig_manual(false, false);
}

static void what_was_said_last_is_received(void **state)
{
	uint8_t in[8];
	struct rig *rig;
	int fd;

	for (int manual = 0; manual < 2; manual++) {
		rig_manual(manual, false);
		rig = last_words(&fd);
		for (int i = 0; i < RESUMES; i++)
			rig_step(rig);
		assert_int_equal(
			fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
		assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 3);
		assert_shut_down(rig);
		close(fd);
		rig_close(rig);
	}
	rig_manual(false, false);
}

/* Who could not be woken by what comes is not told that it is connected. */
static void a_socket_that_cannot_be_waited_for_is_closed(void **state)
{
	uint8_t bytes[TCPW_CM_MAX] = { 0 };
	struct event event;
	struct rig *rig;
	int fd, wait_fd, no_epoll;

	rig_manual(true, false);
	rig = opened();
	fd = raw_socket(rig);
	raw_send(fd, bytes,
		 (size_t)tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_LITTLE, NULL, 0,
					bytes));
	rig_event(rig, &rig->server, &event);
	rig_endpoint(&rig->server, event.info);
	fi_freeinfo(event.info);
	assert_int_equal(fi_control(&rig->server.cq->fid, FI_GETWAIT, &wait_fd),
			 0);
	no_epoll = open("/dev/null", O_RDONLY);
	assert_int_equal(dup2(no_epoll, wait_fd), wait_fd);
	close(no_epoll);
	(void)fi_accept(rig->server.ep, NULL, 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, 0);
	assert_int_equal(event.err, EINVAL);
	raw_expect_end(rig, fd);
	rig_manual(false, false);
	rig_close(rig);
}

static void strays_are_no_errors_for_who_does_not_ask(void **state)
{
	static const uint8_t http[32] = "GET / HTTP/1.0\r\n\r\n";
	struct rig *rig = opened();
	uint64_t before = stcp_strays();
	int fd = raw_socket(rig);

	stcp_tell_strays(false);
	raw_send(fd, http, sizeof(http));
	raw_expect_end(rig, fd);
	assert_int_equal(stcp_strays(), before + 1);
	/* The next event is a request. */
	close(raw_connect(rig, TCPW_LITTLE));
	rig_close(rig);
}

/* The provider's thread has the second message before its receive is posted. */
static void what_waited_is_taken_although_a_send_came_between(void **state)
{
	struct rig *rig = opened();
	uint8_t in[2][8];

	rig_connect(rig);
	for (unsigned int i = 0; i < RESUMES; i++) {
		assert_int_equal(
			fi_recv(rig->client.ep, in[0], 8, NULL, 0, CTX(1)), 0);
		assert_int_equal(fi_inject(rig->server.ep, "ab", 2, 0), 0);
		assert_int_equal(fi_inject(rig->server.ep, "cd", 2, 0), 0);
		assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).len, 2);
		usleep(RESUME_US);
		/* Before the thread has woken up nothing is left to send. */
		assert_int_equal(
			fi_recv(rig->client.ep, in[1], 8, NULL, 0, CTX(2)), 0);
		assert_int_equal(
			fi_recv(rig->server.ep, in[0], 8, NULL, 0, CTX(3)), 0);
		assert_int_equal(fi_inject(rig->client.ep, "ef", 2, 0), 0);
		assert_int_equal(rig_wait(rig, &rig->client, CTX(2)).len, 2);
		assert_int_equal(rig_wait(rig, &rig->server, CTX(3)).len, 2);
	}
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_byte_lands_without_key_range_and_access),
		cmocka_unit_test(a_write_only_registration_is_not_read),
		cmocka_unit_test(what_nobody_asked_for_ends_the_connection),
		cmocka_unit_test(
			a_message_longer_than_its_receive_ends_the_connection),
		cmocka_unit_test(commit_persists_before_it_is_acknowledged),
		cmocka_unit_test(a_big_endian_peer_is_spoken_to_in_its_order),
		cmocka_unit_test(closing_a_registration_stops_half_a_write),
		cmocka_unit_test(closing_an_idle_registration_hurts_nobody),
		cmocka_unit_test(messages_wait_for_receives_and_none_is_lost),
		cmocka_unit_test(responses_that_nobody_reads_are_bounded),
		cmocka_unit_test(closing_a_registration_stops_answers_from_it),
		cmocka_unit_test(half_a_request_is_not_waited_for),
		cmocka_unit_test(an_endpoint_without_queues_does_not_connect),
		cmocka_unit_test(a_request_that_is_none_is_closed_at_once),
		cmocka_unit_test(a_request_that_is_gone_is_not_rejected_again),
		cmocka_unit_test(one_who_moves_the_data_is_woken_by_it),
		cmocka_unit_test(
			who_has_gone_is_noticed_though_nobody_receives),
		cmocka_unit_test(what_was_said_last_is_received),
		cmocka_unit_test(a_socket_that_cannot_be_waited_for_is_closed),
		cmocka_unit_test(strays_are_no_errors_for_who_does_not_ask),
		cmocka_unit_test(
			what_waited_is_taken_although_a_send_came_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
