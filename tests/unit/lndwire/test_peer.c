// SPDX-License-Identifier: BSD-2-Clause
/*
 * A peer of the LNet-like driver, move by move: states, credits, incarnations, answers,
 * deadlines, and what a wrong peer does.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lndw_peer.h"

#define US     1
#define PEER   2
#define OURS   100 /* incarnations */
#define THEIRS 200

static unsigned int begun, ended;
static unsigned int last_place;
static uint64_t last_cookie;
static enum lndw_status last_status;

static void on_begin(struct lndw_peer *peer, unsigned int place,
		     const struct lndw_msg *msg)
{
	(void)peer;
	(void)msg;
	begun++;
	last_place = place;
}

static void on_end(struct lndw_peer *peer, __u64 cookie,
		   enum lndw_status status, __u32 bytes)
{
	(void)peer;
	(void)bytes;
	ended++;
	last_cookie = cookie;
	last_status = status;
}

static const struct lndw_ops ops = { .begin = on_begin, .end = on_end };
static struct lndw_node node;
static struct lndw_peer peer;

static int setup(void **state)
{
	(void)state;
	begun = ended = 0;
	node = (struct lndw_node){
		.nid = US, .incarnation = OURS, .credits = 4, .ops = &ops
	};
	lndw_peer_init(&peer, &node, PEER);
	return 0;
}

static struct lndw_msg from_peer(enum lndw_kind kind, uint64_t seq)
{
	return (struct lndw_msg){
		.kind = kind,
		.src_nid = PEER,
		.dst_nid = US,
		.src_incarnation = THEIRS,
		.dst_incarnation = OURS,
		.seq = seq,
		.floor = 1,
		.credits = 2,
		.bytes = kind == LNDW_PUT || kind == LNDW_GET ? 9 : 0,
		.left_ms = 1000,
	};
}

static enum lndw_verdict comes(struct lndw_msg msg)
{
	return lndw_arrived(&peer, &msg, 0);
}

static int begin(enum lndw_kind kind, uint64_t cookie)
{
	struct lndw_want want = {
		.kind = kind, .bytes = 9, .deadline_ms = 1000, .cookie = cookie
	};

	return lndw_tx_begin(&peer, &want, 0);
}

static void sends_nothing(uint64_t now)
{
	struct lndw_msg msg;

	assert_false(lndw_next(&peer, now, &msg));
}

/* It is not off this node's hands. */
static struct lndw_msg hands_out(enum lndw_kind kind, uint64_t now)
{
	struct lndw_msg msg;

	assert_true(lndw_next(&peer, now, &msg));
	assert_int_equal(msg.kind, kind);
	assert_int_equal(msg.src_incarnation, OURS);
	assert_int_equal(msg.credits, 4);
	return msg;
}

static struct lndw_msg sends(enum lndw_kind kind, uint64_t now)
{
	struct lndw_msg msg = hands_out(kind, now);

	lndw_sent(&peer, msg.kind, msg.seq, 1, now);
	return msg;
}

static void be_up(void)
{
	assert_int_equal(comes(from_peer(LNDW_HELLO, 0)), LNDW_TAKEN);
	assert_int_equal(sends(LNDW_WELCOME, 0).dst_incarnation, THEIRS);
	assert_int_equal(peer.state, LNDW_UP);
}

static void states_follow_the_drawing(void **state)
{
	static const enum lndw_state must[LNDW_STATES][LNDW_EVENTS] = {
		{ LNDW_GREETING, LNDW_UP, LNDW_DOWN, LNDW_OLD_HERE },
		{ LNDW_GREETING, LNDW_UP, LNDW_DOWN, LNDW_OLD_HERE },
		{ LNDW_UP, LNDW_UP, LNDW_UP, LNDW_OLD_HERE },
		{ LNDW_OLD_HERE, LNDW_OLD_HERE, LNDW_OLD_HERE, LNDW_OLD_HERE },
	};
	int from, event;

	(void)state;
	for (from = 0; from < LNDW_STATES; from++)
		for (event = 0; event < LNDW_EVENTS; event++)
			assert_int_equal(
				lndw_state_after((enum lndw_state)from,
						 (enum lndw_event)event),
				must[from][event]);
}

static void who_is_not_known_is_greeted_until_he_speaks(void **state)
{
	(void)state;
	sends_nothing(0);
	assert_int_equal(begin(LNDW_PUT, 7), 0);
	assert_int_equal(sends(LNDW_HELLO, 0).dst_incarnation, 0);
	sends_nothing(LNDW_RESEND_MS - 1);
	sends(LNDW_HELLO, LNDW_RESEND_MS);
	assert_int_equal(comes(from_peer(LNDW_WELCOME, 0)), LNDW_TAKEN);
	assert_int_equal(sends(LNDW_PUT, 600).dst_incarnation, THEIRS);
	sends_nothing(600);
}

static void who_is_wanted_no_more_is_greeted_no_more(void **state)
{
	(void)state;
	begin(LNDW_PUT, 7);
	sends(LNDW_HELLO, 0);
	lndw_tick(&peer, 999);
	assert_int_equal(ended, 0);
	lndw_tick(&peer, 1000);
	assert_int_equal(ended, 1);
	assert_int_equal(last_status, LNDW_UNREACHED);
	assert_int_equal(peer.state, LNDW_DOWN);
	sends_nothing(5000);
}

static void a_request_is_sent_again_until_its_deadline(void **state)
{
	(void)state;
	be_up();
	begin(LNDW_GET, 8);
	assert_int_equal(sends(LNDW_GET, 0).left_ms, 1000);
	sends_nothing(LNDW_RESEND_MS - 1);
	assert_int_equal(sends(LNDW_GET, LNDW_RESEND_MS).left_ms, 500);
	sends_nothing(1000);
	lndw_tick(&peer, 1000);
	assert_int_equal(ended, 1);
	assert_int_equal(last_cookie, 8);
	assert_int_equal(last_status, LNDW_TIMED_OUT);
	lndw_tick(&peer, 2000);
	assert_int_equal(ended, 1);
}

static void what_is_being_sent_is_not_sent_beside(void **state)
{
	struct lndw_msg msg;

	(void)state;
	be_up();
	begin(LNDW_PING, 1);
	assert_true(lndw_next(&peer, 0, &msg));
	sends_nothing(900);
	lndw_sent(&peer, msg.kind, msg.seq, 0, 500);
	sends_nothing(500 + LNDW_AGAIN_MS - 1);
	sends(LNDW_PING, 500 + LNDW_AGAIN_MS);
}

static void no_more_is_sent_than_the_peer_has_credits(void **state)
{
	struct lndw_msg answer;
	int i;

	(void)state;
	be_up();
	for (i = 0; i < LNDW_CREDITS_MAX; i++)
		assert_int_equal(begin(LNDW_PING, 1), 0);
	assert_int_equal(begin(LNDW_PING, 1), -EAGAIN);
	assert_int_equal(sends(LNDW_PING, 0).seq, 1);
	assert_int_equal(sends(LNDW_PING, 0).seq, 2);
	sends_nothing(0);
	/* The second is over, the first is not: nothing moves on. */
	answer = from_peer(LNDW_ACK, 2);
	assert_int_equal(comes(answer), LNDW_TAKEN);
	sends_nothing(0);
	answer = from_peer(LNDW_ACK, 1);
	answer.credits = 1;
	assert_int_equal(comes(answer), LNDW_TAKEN);
	assert_int_equal(sends(LNDW_PING, 0).floor, 3);
	sends_nothing(0);
	assert_int_equal(peer.outstanding, LNDW_CREDITS_MAX - 2);
}

static void an_answer_ends_its_transaction_once(void **state)
{
	struct lndw_msg answer = from_peer(LNDW_ACK, 1);

	(void)state;
	be_up();
	begin(LNDW_PUT, 9);
	assert_int_equal(comes(answer), LNDW_WRONG); /* it was not sent yet */
	sends(LNDW_PUT, 0);
	assert_int_equal(comes(from_peer(LNDW_REPLY, 1)), LNDW_WRONG);
	answer.bytes = 10;
	assert_int_equal(comes(answer), LNDW_WRONG);
	assert_int_equal(ended, 0);
	answer.bytes = 9;
	assert_int_equal(comes(answer), LNDW_TAKEN);
	assert_int_equal(ended, 1);
	assert_int_equal(last_status, LNDW_DONE);
	assert_int_equal(comes(answer), LNDW_OVER);
	assert_int_equal(ended, 1);
}

static void a_request_is_taken_on_once_and_answered_each_time(void **state)
{
	struct lndw_msg put = from_peer(LNDW_PUT, 3), msg;

	(void)state;
	be_up();
	assert_int_equal(comes(put), LNDW_TAKEN);
	assert_int_equal(comes(put), LNDW_REPEATED);
	sends_nothing(0);
	lndw_rx_done(&peer, last_place, LNDW_TOO_LONG, 0);
	assert_true(lndw_next(&peer, 0, &msg));
	assert_int_equal(comes(put), LNDW_REPEATED);
	sends_nothing(0); /* the answer is on its way */
	lndw_sent(&peer, msg.kind, msg.seq, 0, 0);
	msg = sends(LNDW_ACK, 0);
	assert_int_equal(msg.seq, 3);
	assert_int_equal(msg.status, LNDW_TOO_LONG);
	sends_nothing(9000);
	assert_int_equal(begun, 1);
}

static void what_the_peer_has_ended_is_not_taken_on(void **state)
{
	struct lndw_msg put = from_peer(LNDW_PUT, 2);

	(void)state;
	be_up();
	put.floor = 2;
	assert_int_equal(comes(put), LNDW_TAKEN);
	assert_true(lndw_rx_is_wanted(&peer, last_place));
	assert_int_equal(comes(from_peer(LNDW_PUT, 1)), LNDW_OVER);
	put.floor = 3;
	put.seq = 3;
	assert_int_equal(comes(put), LNDW_TAKEN);
	assert_false(lndw_rx_is_wanted(&peer, 2));
	assert_int_equal(begun, 2);
}

static void who_takes_more_than_he_was_given_is_wrong(void **state)
{
	struct lndw_msg put = from_peer(LNDW_PUT, 5);

	(void)state;
	be_up();
	assert_int_equal(comes(put), LNDW_WRONG);
	put.seq = 4;
	assert_int_equal(comes(put), LNDW_TAKEN);
	assert_int_equal(begun, 1);
}

static void a_place_is_not_given_away_under_what_goes_on(void **state)
{
	struct lndw_msg put = from_peer(LNDW_PUT, 1);
	unsigned int place;

	(void)state;
	be_up();
	assert_int_equal(comes(put), LNDW_TAKEN);
	place = last_place;
	put.floor = put.seq = 1 + LNDW_CREDITS_MAX;
	assert_int_equal(comes(put), LNDW_BUSY);
	/* Nor for another incarnation. */
	put.floor = put.seq = 1;
	put.src_incarnation++;
	assert_int_equal(comes(put), LNDW_BUSY);
	assert_false(lndw_rx_is_wanted(&peer, place));
	lndw_rx_done(&peer, place, LNDW_DONE, 9);
	sends_nothing(0); /* nobody waits for that answer */
	assert_int_equal(comes(put), LNDW_TAKEN);
	assert_int_equal(begun, 2);
}

static void nothing_of_an_old_incarnation_is_taken(void **state)
{
	struct lndw_msg put = from_peer(LNDW_PUT, 1), msg;

	(void)state;
	be_up();
	put.src_incarnation--;
	assert_int_equal(comes(put), LNDW_OLD);
	msg = sends(LNDW_NACK, 0);
	assert_int_equal(msg.status, LNDW_NOT_YOU);
	assert_int_equal(msg.dst_incarnation, THEIRS - 1);
	put = from_peer(LNDW_PUT, 1);
	put.dst_incarnation--;
	assert_int_equal(comes(put), LNDW_OTHER);
	msg = sends(LNDW_NACK, 0);
	assert_int_equal(msg.status, LNDW_NOT_ME);
	assert_int_equal(begun, 0);
	/* A refusal is not refused. */
	put = from_peer(LNDW_NACK, 0);
	put.dst_incarnation--;
	assert_int_equal(comes(put), LNDW_OTHER);
	sends_nothing(0);
}

static void
a_greeting_is_answered_when_the_answer_before_it_is_gone(void **state)
{
	struct lndw_msg hello = from_peer(LNDW_HELLO, 0);

	(void)state;
	assert_int_equal(comes(hello), LNDW_TAKEN);
	hands_out(LNDW_WELCOME, 0);
	assert_int_equal(comes(hello), LNDW_TAKEN);
	assert_int_equal(comes(hello), LNDW_TAKEN);
	sends_nothing(9000);
	lndw_sent(&peer, LNDW_WELCOME, 0, 0, 9000);
	sends(LNDW_WELCOME, 9000);
	sends_nothing(9000);
}

static void a_refusal_waits_for_the_one_before_it(void **state)
{
	struct lndw_msg old = from_peer(LNDW_PING, 1);

	(void)state;
	be_up();
	old.src_incarnation--;
	assert_int_equal(comes(old), LNDW_OLD);
	hands_out(LNDW_NACK, 0);
	old.src_incarnation--;
	assert_int_equal(comes(old), LNDW_OLD);
	sends_nothing(9000);
	/* What is of another kind does not wait. */
	assert_int_equal(comes(from_peer(LNDW_HELLO, 0)), LNDW_TAKEN);
	sends(LNDW_WELCOME, 9000);
	sends_nothing(9000);
	lndw_sent(&peer, LNDW_NACK, 0, 1, 9000);
	assert_int_equal(sends(LNDW_NACK, 9000).dst_incarnation, THEIRS - 2);
	sends_nothing(9000);
}

/* Who asks on and on and reads no answer. */
static void a_place_has_one_answer_on_its_way_whoever_has_it(void **state)
{
	struct lndw_msg ping = from_peer(LNDW_PING, 1), msg;

	(void)state;
	be_up();
	assert_int_equal(comes(ping), LNDW_TAKEN);
	msg = hands_out(LNDW_ACK, 0);
	ping.floor = ping.seq = 1 + LNDW_CREDITS_MAX;
	assert_int_equal(comes(ping), LNDW_TAKEN);
	sends_nothing(9000);
	/* Nor if he has restarted. */
	ping.src_incarnation++;
	assert_int_equal(comes(ping), LNDW_TAKEN);
	sends_nothing(9000);
	lndw_sent(&peer, msg.kind, msg.seq, 1, 9000);
	assert_int_equal(sends(LNDW_ACK, 9000).seq, ping.seq);
	sends_nothing(9000);
}

/* Who takes no request, of which there are ever more, each for a short time. */
static void a_place_has_one_request_on_its_way_whoever_has_it(void **state)
{
	struct lndw_msg first, msg;
	unsigned int i, n = 0;

	(void)state;
	be_up();
	begin(LNDW_PING, 1);
	first = hands_out(LNDW_PING, 0);
	for (i = 1; i < LNDW_CREDITS_MAX; i++)
		begin(LNDW_PING, 1);
	lndw_tick(&peer, 1000);
	assert_int_equal(ended, LNDW_CREDITS_MAX);
	for (i = 0; i < 2; i++)
		assert_int_equal(lndw_tx_begin(&peer,
					       &(struct lndw_want){
						       .kind = LNDW_PING,
						       .deadline_ms = 9000 },
					       1000),
				 0);
	while (lndw_next(&peer, 1000, &msg)) {
		assert_int_equal(msg.seq, 2 + LNDW_CREDITS_MAX);
		n++;
	}
	assert_int_equal(n, 1);
	/* That one is of the past does not make the next one wait for its time. */
	lndw_sent(&peer, first.kind, first.seq, 1, 1500);
	assert_int_equal(sends(LNDW_PING, 1500).seq, 1 + LNDW_CREDITS_MAX);
	sends_nothing(1500);
}

static void a_restart_ends_what_may_have_been_done(void **state)
{
	struct lndw_msg hello = from_peer(LNDW_HELLO, 0);

	(void)state;
	be_up();
	begin(LNDW_PUT, 1);
	begin(LNDW_PING, 2);
	begin(LNDW_GET, 3); /* beyond the peer's credits: not sent */
	sends(LNDW_PUT, 0);
	sends(LNDW_PING, 0);
	sends_nothing(0);
	hello.src_incarnation++;
	assert_int_equal(comes(hello), LNDW_TAKEN);
	assert_int_equal(ended, 1);
	assert_int_equal(last_cookie, 1);
	assert_int_equal(last_status, LNDW_RESTARTED);
	assert_int_equal(sends(LNDW_WELCOME, 0).dst_incarnation, THEIRS + 1);
	assert_int_equal(sends(LNDW_PING, 0).dst_incarnation, THEIRS + 1);
	assert_int_equal(sends(LNDW_GET, 0).dst_incarnation, THEIRS + 1);
	assert_int_equal(ended, 1);
}

static void who_is_outdated_is_told_at_once(void **state)
{
	struct lndw_msg nack = from_peer(LNDW_NACK, 0);

	(void)state;
	be_up();
	begin(LNDW_PUT, 1);
	nack.status = LNDW_NOT_YOU;
	assert_int_equal(comes(nack), LNDW_TAKEN);
	assert_int_equal(ended, 1);
	assert_int_equal(last_status, LNDW_OUTDATED);
	assert_int_equal(begin(LNDW_PUT, 2), -ESTALE);
	sends_nothing(5000);
}

static void a_message_for_others_is_wrong(void **state)
{
	struct lndw_msg ping = from_peer(LNDW_PING, 1);

	(void)state;
	ping.dst_nid++;
	assert_int_equal(comes(ping), LNDW_WRONG);
	ping = from_peer(LNDW_PING, 1);
	ping.src_nid++;
	assert_int_equal(comes(ping), LNDW_WRONG);
	sends_nothing(0);
}

static void a_closed_node_ends_all(void **state)
{
	(void)state;
	begin(LNDW_PUT, 1);
	begin(LNDW_PING, 2);
	lndw_tx_end_all(&peer, LNDW_CLOSED);
	assert_int_equal(ended, 2);
	assert_int_equal(last_status, LNDW_CLOSED);
	assert_int_equal(peer.outstanding, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(states_follow_the_drawing),
		TEST(who_is_not_known_is_greeted_until_he_speaks),
		TEST(who_is_wanted_no_more_is_greeted_no_more),
		TEST(a_request_is_sent_again_until_its_deadline),
		TEST(what_is_being_sent_is_not_sent_beside),
		TEST(no_more_is_sent_than_the_peer_has_credits),
		TEST(an_answer_ends_its_transaction_once),
		TEST(a_request_is_taken_on_once_and_answered_each_time),
		TEST(what_the_peer_has_ended_is_not_taken_on),
		TEST(who_takes_more_than_he_was_given_is_wrong),
		TEST(a_place_is_not_given_away_under_what_goes_on),
		TEST(nothing_of_an_old_incarnation_is_taken),
		TEST(a_greeting_is_answered_when_the_answer_before_it_is_gone),
		TEST(a_refusal_waits_for_the_one_before_it),
		TEST(a_place_has_one_answer_on_its_way_whoever_has_it),
		TEST(a_place_has_one_request_on_its_way_whoever_has_it),
		TEST(a_restart_ends_what_may_have_been_done),
		TEST(who_is_outdated_is_told_at_once),
		TEST(a_message_for_others_is_wrong),
		TEST(a_closed_node_ends_all),
	};

	return cmocka_run_group_tests_name("lndwire-peer", tests, NULL, NULL);
}
