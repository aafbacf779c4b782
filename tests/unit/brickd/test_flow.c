// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whose turn it is in the loop: how much of others is done before somebody's one
 * request, counted, not timed. Connections are brickd's, their completion queues the
 * test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "brickd/base/flow.h"
#include "brickd/base/util.h"
#include "brickd/base/work.h"
#include "brickd/net/conn.h"
#include "brickd/net/net.h"

#define GREEDY	  16 /* connections of one client */
#define CLIENTS	  5
#define REQUESTS  14 /* that wait on each connection */
#define TURN	  8 /* things of one client that others wait for */
#define TURNS_MAX 100000
#define OPS	  200
#define KINDS_MAX 32

static struct brick_busy busy;
static struct brick_histogram times[KINDS_MAX];
static struct brick_flows flows;
static struct brick_flow clients[CLIENTS];
static struct brick_net net;

/*
 * struct peer - a connection, and what its peer has sent
 * @n_waiting: messages that are not read yet
 * @n_read: messages
 * @again: each message is followed by another one
 */
struct peer {
	struct brick_conn c;
	struct fid_cq cq;
	struct fid_ep ep;
	struct brick_buf buf;
	unsigned int n_waiting;
	unsigned int n_read;
	bool again;
};

static struct peer greedy[GREEDY], polite;
static unsigned int n_read; /* of all */
static unsigned int n_lost;

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct peer *p = brick_container_of(cq, struct peer, cq);
	struct fi_cq_msg_entry *entries = buf;
	size_t n = 0;

	while (n < count && p->n_waiting) {
		entries[n++] = (struct fi_cq_msg_entry){
			.op_context = &p->buf.context,
		};
		p->n_waiting -= !p->again;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t ep_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
		       fi_addr_t from, void *context)
{
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	struct peer *p = brick_container_of(fids[0], struct peer, cq.fid);

	return p->n_waiting ? -FI_EAGAIN : 0;
}

static struct fi_ops_cq cq_ops = { .size = sizeof(cq_ops), .read = cq_read };
static struct fi_ops_msg msg_ops = { .size = sizeof(msg_ops), .recv = ep_recv };
static struct fi_ops_fabric fabric_ops = { .size = sizeof(fabric_ops),
					   .trywait = trywait };
static struct fid_fabric libfabric = { .ops = &fabric_ops };
static struct brick_fabric fabric = { .fabric = &libfabric };

static void connected(struct brick_conn *c)
{
	(void)c;
}

static void message(struct brick_conn *c, const void *buf, uint32_t len)
{
	struct peer *p = brick_container_of(c, struct peer, c);

	(void)buf;
	(void)len;
	p->n_read++;
	n_read++;
	brick_busy_with(&busy, KFB_OP_PING);
}

static void lost(struct brick_conn *c)
{
	(void)c;
	n_lost++;
}

static const struct brick_conn_ops conn_ops = { connected, message, lost };

static void begin_peer(struct peer *p, struct brick_flow *flow)
{
	memset(p, 0, sizeof(*p));
	p->cq.ops = &cq_ops;
	p->ep.msg = &msg_ops;
	p->c.net = &net;
	p->c.fabric = &fabric;
	p->c.flow = flow;
	p->c.task.run = brick_conn_run;
	p->c.cq = &p->cq;
	p->c.ep = &p->ep;
	p->c.state = KFB_CONN_READY;
}

static int begin(void **state)
{
	(void)state;
	memset(&busy, 0, sizeof(busy));
	memset(times, 0, sizeof(times));
	memset(clients, 0, sizeof(clients));
	memset(&net, 0, sizeof(net));
	busy.times = times;
	brick_flows_init(&flows, &busy);
	net.ops = &conn_ops;
	net.flows = &flows;
	n_read = 0;
	n_lost = 0;
	for (size_t i = 0; i < GREEDY; i++)
		begin_peer(&greedy[i], &clients[0]);
	begin_peer(&polite, &clients[1]);
	return 0;
}

static void ask(struct peer *p, unsigned int n)
{
	p->n_waiting += n;
	brick_conn_kick(&p->c);
}

static void serve_until_idle(void)
{
	for (int i = 0; brick_flows_serve(&flows); i++)
		assert_true(i < TURNS_MAX);
	assert_true(brick_flows_are_idle(&flows));
}

/* How much of others is read until the polite one is answered. */
static unsigned int wait_for_polite(void)
{
	unsigned int before = n_read, answered = polite.n_read;

	for (int i = 0; polite.n_read == answered; i++) {
		assert_true(i < TURNS_MAX);
		assert_true(brick_flows_serve(&flows));
	}
	return n_read - before - 1;
}

static void all_that_comes_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < GREEDY; i++)
		ask(&greedy[i], REQUESTS);
	serve_until_idle();
	for (size_t i = 0; i < GREEDY; i++)
		assert_int_equal(greedy[i].n_read, REQUESTS);
	assert_int_equal(n_read, GREEDY * REQUESTS);
}

/* However many connections it has, and however much waits on each. */
static void one_request_waits_for_one_turn_of_another_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < GREEDY; i++) {
		greedy[i].again = true;
		ask(&greedy[i], REQUESTS);
	}
	for (int i = 0; i < 50; i++) {
		for (int j = 0; j < i % 7; j++)
			assert_true(brick_flows_serve(&flows));
		ask(&polite, 1);
		assert_true(wait_for_polite() <= TURN);
	}
}

static void it_waits_for_one_turn_of_each_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < GREEDY; i++) {
		brick_conn_join_flow(&greedy[i].c,
				     &clients[i % 2 ? 0 : 2 + i % 3]);
		greedy[i].again = true;
		ask(&greedy[i], REQUESTS);
	}
	for (int i = 0; i < 50; i++) {
		ask(&polite, 1);
		/* It had nothing to do: it comes before those that had. */
		assert_true(wait_for_polite() <= TURN * (CLIENTS - 1));
		while (polite.c.flow->place != BRICK_FLOW_IDLE)
			assert_true(brick_flows_serve(&flows));
		ask(&polite, 1);
		assert_int_equal(wait_for_polite(), 0);
	}
}

/* Who comes and goes comes no more often than who stays. */
static void coming_and_going_gains_nothing(void **state)
{
	unsigned int n_polite;

	(void)state;
	for (size_t i = 0; i < GREEDY; i++) {
		greedy[i].again = true;
		ask(&greedy[i], 1);
	}
	for (int i = 0; i < 1000; i++) {
		ask(&polite, 1);
		assert_true(brick_flows_serve(&flows));
	}
	n_polite = polite.n_read;
	assert_true(n_polite >= 1000 / 3);
	assert_true(n_read - n_polite >= n_polite);
}

/* Within one client each connection has its turn, too. */
static void connections_of_one_client_take_turns(void **state)
{
	(void)state;
	greedy[0].again = true;
	ask(&greedy[0], 1);
	for (size_t i = 1; i < GREEDY; i++)
		ask(&greedy[i], 1);
	for (int i = 0; i < 2 * GREEDY; i++)
		assert_true(brick_flows_serve(&flows));
	for (size_t i = 1; i < GREEDY; i++)
		assert_int_equal(greedy[i].n_read, 1);
}

/* ---- requests that workers have finished with ---- */

static unsigned int n_done, done_before_mine;

static void count_done(struct brick_work *work)
{
	(void)work;
	n_done++;
}

static void my_done(struct brick_work *work)
{
	(void)work;
	done_before_mine = n_done;
}

static void what_workers_have_finished_has_turns_as_well(void **state)
{
	static struct brick_work many[OPS];
	struct brick_work mine = { .flow = &clients[1], .done = my_done };
	struct brick_mailbox box;

	(void)state;
	assert_int_equal(brick_mailbox_init(&box), 0);
	box.flows = &flows;
	n_done = 0;
	done_before_mine = UINT32_MAX;
	for (size_t i = 0; i < OPS; i++) {
		many[i] = (struct brick_work){ .flow = &clients[0],
					       .done = count_done };
		brick_mailbox_post(&box, &many[i]);
	}
	brick_mailbox_post(&box, &mine);
	box.source.ready(&box.source);
	assert_int_equal(n_done, 0);
	for (int i = 0; i < 2; i++)
		assert_true(brick_flows_serve(&flows));
	assert_true(done_before_mine <= TURN);
	/* A stop leaves nothing behind. */
	brick_mailbox_deliver(&box);
	assert_int_equal(n_done, OPS);
	brick_mailbox_fini(&box);
}

/* Others may wait for their blocks. */
static void they_come_before_what_has_not_begun(void **state)
{
	struct brick_work mine = { .flow = &clients[0], .done = my_done };

	(void)state;
	n_done = 0;
	done_before_mine = UINT32_MAX;
	for (size_t i = 0; i < GREEDY; i++)
		ask(&greedy[i], REQUESTS);
	brick_work_go_on(&flows, &mine);
	assert_true(brick_flows_serve(&flows));
	assert_int_equal(done_before_mine, 0);
	serve_until_idle();
	assert_int_equal(n_read, GREEDY * REQUESTS);
}

static unsigned int n_pieces, read_at_last;

static void piece_done(struct brick_work *work)
{
	read_at_last = n_read;
	if (--n_pieces)
		brick_work_go_on_behind(&flows, work);
}

/* Of many pieces each comes behind what its client wants besides. */
static void pieces_leave_turns_to_the_rest_of_their_client(void **state)
{
	struct brick_work mine = { .flow = &clients[0], .done = piece_done };

	(void)state;
	n_pieces = 3 * GREEDY * REQUESTS;
	brick_work_go_on_behind(&flows, &mine);
	for (size_t i = 0; i < GREEDY; i++)
		ask(&greedy[i], REQUESTS);
	serve_until_idle();
	assert_int_equal(n_pieces, 0);
	assert_int_equal(read_at_last, GREEDY * REQUESTS);
	assert_int_equal(n_read, GREEDY * REQUESTS);
}

/* ---- who leaves, and who is whose ---- */

static void a_connection_takes_what_has_come_to_its_client(void **state)
{
	(void)state;
	ask(&greedy[0], 3);
	brick_conn_join_flow(&greedy[0].c, &clients[1]);
	assert_ptr_equal(greedy[0].c.task.flow, &clients[1]);
	assert_true(TAILQ_EMPTY(&clients[0].tasks));
	serve_until_idle();
	assert_int_equal(greedy[0].n_read, 3);
}

static void one_that_is_gone_is_not_served(void **state)
{
	(void)state;
	ask(&greedy[0], 3);
	brick_flow_del(&greedy[0].c.task);
	brick_flow_del(&greedy[0].c.task);
	serve_until_idle();
	assert_int_equal(greedy[0].n_read, 0);
}

static uint64_t n_counted(unsigned int kind)
{
	uint64_t n = 0;

	for (size_t i = 0; i <= BRICK_BOUNDS_MAX; i++)
		n += times[kind].buckets[i];
	return n;
}

static void one_that_has_failed_is_closed_in_its_turn(void **state)
{
	(void)state;
	ask(&greedy[0], 3);
	greedy[0].c.state = KFB_CONN_CLOSING;
	serve_until_idle();
	assert_int_equal(greedy[0].n_read, 0);
	assert_int_equal(n_lost, 1);
	assert_int_equal(n_counted(BRICK_BUSY_CONNECT), 1);
}

/* Each piece of the loop's work is counted once, as what it is. */
static void what_the_loop_does_is_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < GREEDY; i++)
		ask(&greedy[i], REQUESTS);
	serve_until_idle();
	assert_int_equal(n_counted(KFB_OP_PING), GREEDY * REQUESTS);
	/* What is said first holds, and what has no name has none. */
	brick_busy_with(&busy, KFB_OP_LIST);
	brick_busy_with(&busy, KFB_OP_PING);
	assert_int_equal(busy.kind, KFB_OP_LIST);
	(void)brick_busy_end(&busy);
	brick_busy_with(&busy, BRICK_BUSY_KINDS);
	assert_int_equal(busy.kind, 0);
	brick_busy_with(NULL, KFB_OP_PING);
}

/* A turn is over after a time, too: requests need not all be alike. */
static void a_turn_is_over_in_time(void **state)
{
	struct brick_turn turn = { .busy = &busy,
				   .n_left = 2,
				   .until_ns = UINT64_MAX };

	(void)state;
	brick_turn_count(&turn);
	assert_int_equal(turn.n_left, 1);
	turn.until_ns = 0;
	turn.n_left = 5;
	brick_turn_count(&turn);
	assert_int_equal(turn.n_left, 0);
	brick_turn_count(&turn);
	assert_int_equal(turn.n_left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_that_comes_is_read, begin),
		cmocka_unit_test_setup(
			one_request_waits_for_one_turn_of_another_client,
			begin),
		cmocka_unit_test_setup(it_waits_for_one_turn_of_each_client,
				       begin),
		cmocka_unit_test_setup(coming_and_going_gains_nothing, begin),
		cmocka_unit_test_setup(connections_of_one_client_take_turns,
				       begin),
		cmocka_unit_test_setup(
			what_workers_have_finished_has_turns_as_well, begin),
		cmocka_unit_test_setup(they_come_before_what_has_not_begun,
				       begin),
		cmocka_unit_test_setup(
			pieces_leave_turns_to_the_rest_of_their_client, begin),
		cmocka_unit_test_setup(
			a_connection_takes_what_has_come_to_its_client, begin),
		cmocka_unit_test_setup(one_that_is_gone_is_not_served, begin),
		cmocka_unit_test_setup(
			one_that_has_failed_is_closed_in_its_turn, begin),
		cmocka_unit_test_setup(what_the_loop_does_is_counted, begin),
		cmocka_unit_test_setup(a_turn_is_over_in_time, begin),
	};

	_Static_assert((int)BRICK_BUSY_KINDS <= KINDS_MAX, "they have a place");
	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
