// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending in turns: a peer that takes bytes as fast as they are copied, or a poster with
 * much to send, keeps a thread and the endpoint's lock for a part of it at a time. The
 * socket below takes everything at once, and loses it. Another one is full until it is
 * told otherwise, for what waits is sent in turns, too: an answer, a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"

#define CTX(n)	   ((void *)(uintptr_t)(n))
#define LONG_BYTES (64U << 20)
/* More than one system call takes, and more than goes out in a turn. */
#define CALL_MAX     (512U << 10)
#define TURN_MAX     (8U << 20)
#define ANSWERS	     64 /* that may be due at one time */
#define REGIONS	     4 /* of one answer */
#define FEW_ANSWERS  32
#define FEW_MESSAGES 8
#define FEW_BYTES    4096 /* of one answer, which a socket has room for */

static atomic_bool takes_all, is_full;
static atomic_size_t n_taken, longest_call, longest_turn, n_received;
static _Thread_local size_t this_turn;

static void note_longest(atomic_size_t *longest, size_t n)
{
	size_t was = atomic_load(longest);

	while (n > was && !atomic_compare_exchange_weak(longest, &was, n))
		;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	size_t n = 0;

	if (atomic_load(&is_full)) {
		errno = EAGAIN;
		return -1;
	}
	if (!atomic_load(&takes_all))
		return __real_sendmsg(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		n += msg->msg_iov[i].iov_len;
	this_turn += n;
	note_longest(&longest_call, n);
	note_longest(&longest_turn, this_turn);
	atomic_fetch_add(&n_taken, n);
	return (ssize_t)n;
}

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n = __real_recvmsg(fd, msg, flags);

	if (n > 0)
		atomic_fetch_add(&n_received, (size_t)n);
	return n;
}

int __real_epoll_wait(int fd, struct epoll_event *events, int n, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int n, int ms);

/* A thread of the provider looks what else there is to do. */
int __wrap_epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	this_turn = 0;
	return __real_epoll_wait(fd, events, n, ms);
}

static void begin(void)
{
	this_turn = 0;
	atomic_store(&n_taken, 0);
	atomic_store(&longest_call, 0);
	atomic_store(&longest_turn, 0);
	atomic_store(&takes_all, true);
}

static void a_long_message_is_sent_in_turns(void **state)
{
	uint8_t *bytes = calloc(1, LONG_BYTES);
	struct rig *rig;

	assert_non_null(bytes);
	for (int manual = 0; manual < 2; manual++) {
		rig_manual(false, manual);
		rig = rig_open(true, true);
		rig_connect(rig);
		begin();
		assert_int_equal(fi_send(rig->client.ep, bytes, LONG_BYTES,
					 NULL, 0, CTX(1)),
				 0);
		assert_in_range(this_turn, 1, TURN_MAX);
		/* Who reads the queue sends a turn when that is empty. */
		while (!rig_has(rig, &rig->client, CTX(1)))
			this_turn = 0;
		assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).err, 0);
		atomic_store(&takes_all, false);
		assert_in_range(atomic_load(&n_taken), LONG_BYTES,
				LONG_BYTES + 64);
		assert_in_range(atomic_load(&longest_call), 1, CALL_MAX);
		assert_in_range(atomic_load(&longest_turn), 1, TURN_MAX);
		rig_close(rig);
	}
	rig_manual(false, false);
	free(bytes);
}

/* Many requests that come at once: answers have one turn together. */
static void answers_are_sent_in_turns(void **state)
{
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST, .n_segs = REGIONS };
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	size_t want = (size_t)ANSWERS * REGIONS * RIG_MEMORY_BYTES;
	uint8_t bytes[ANSWERS * TCPW_HDR_MAX];
	struct rig *rig = rig_open(true, true);
	int len = 0, fd = raw_connect(rig, TCPW_LITTLE);

	for (int i = 0; i < REGIONS; i++)
		hdr.segs[i] = (struct tcpw_seg){ 0, RIG_MEMORY_BYTES, RIG_KEY };
	for (int i = 0; i < ANSWERS; i++)
		len += tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes + len);
	begin();
	raw_send(fd, bytes, (size_t)len);
	while (atomic_load(&n_taken) < want && rig_now_ms() < until_ms)
		rig_step(rig);
	atomic_store(&takes_all, false);
	assert_in_range(atomic_load(&n_taken), want,
			want + ANSWERS * TCPW_HDR_MAX);
	assert_in_range(atomic_load(&longest_call), 1, CALL_MAX);
	assert_in_range(atomic_load(&longest_turn), 1, TURN_MAX);
	close(fd);
	rig_close(rig);
}

/* Has requests in the provider, whose answers wait for room, and messages behind them. */
static void have_waiting(struct rig *rig, int fd)
{
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST,
				.n_segs = 1,
				.segs = { { 0, FEW_BYTES, RIG_KEY } } };
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	uint8_t bytes[FEW_ANSWERS * TCPW_HDR_MAX];
	size_t len = 0;

	for (int i = 0; i < FEW_ANSWERS; i++)
		len += (size_t)tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes + len);
	atomic_store(&n_received, 0);
	raw_send(fd, bytes, len);
	while (atomic_load(&n_received) < len) {
		assert_true(rig_now_ms() < until_ms);
		rig_step(rig);
	}
	/* What was received is used under the lock that posting takes. */
	for (int i = 0; i < FEW_MESSAGES; i++)
		assert_int_equal(fi_inject(rig->server.ep, "a message", 9, 0),
				 0);
}

/* However many answers there are to give, there is one between two messages. */
static void answers_and_messages_take_turns(void **state)
{
	static uint8_t payload[FEW_BYTES];
	uint8_t back[TCPW_HDR_MIN];
	struct tcpw_hdr hdr;

	for (int manual = 0; manual < 2; manual++) {
		int fd, last = 0, n_messages = 0;
		struct rig *rig;

		rig_manual(manual, false);
		rig = rig_open(true, true);
		fd = raw_connect(rig, TCPW_LITTLE);
		atomic_store(&is_full, true);
		have_waiting(rig, fd);
		atomic_store(&is_full, false);
		for (int i = 0; i < FEW_ANSWERS + FEW_MESSAGES; i++) {
			assert_true(raw_recv(rig, fd, back, sizeof(back)));
			assert_int_equal(tcpw_hdr_decode(back, TCPW_LITTLE,
							 &hdr),
					 TCPW_OK);
			assert_true(raw_recv(rig, fd, payload,
					     (size_t)hdr.payload_bytes));
			if (hdr.op != TCPW_MSG)
				continue;
			/* An answer that had begun to go out is the first. */
			assert_int_equal(i - last, n_messages++ ? 2 : 1);
			last = i;
		}
		assert_int_equal(n_messages, FEW_MESSAGES);
		close(fd);
		rig_close(rig);
	}
	rig_manual(false, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_message_is_sent_in_turns),
		cmocka_unit_test(answers_are_sent_in_turns),
		cmocka_unit_test(answers_and_messages_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
