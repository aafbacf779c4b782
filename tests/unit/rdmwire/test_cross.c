// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two endpoints that connect to each other, in every order in which requests and
 * answers can be sent and delivered, and with attempts that are given up for want
 * of an answer: when all is quiet both have the same connections, one of them at
 * least if they tried often enough, and none that both had was given up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_cm.h"

#define DIALS 3 /* of each end */

enum flight {
	NOTHING,
	REQUEST,
	ACCEPTED,
	REFUSED
};

/* An attempt; its connection's number is who * DIALS + index. */
struct attempt {
	enum flight flight;
	uint64_t serial;
	struct rdmw_offer answer;
	enum rdmw_verdict why;
};

struct end {
	uint64_t instance;
	uint64_t next_serial;
	struct rdmw_peer peer;
	unsigned int dials;
	int gave_up;
	int dialing; /* index of the attempt, or -1 */
	unsigned int conns; /* bits: connections that this end has */
	struct attempt tries[DIALS];
};

struct world {
	struct end end[2];
	unsigned int both; /* connections that both ends have had */
};

static unsigned long quiet, crossed, taken, stale, beside;

static enum rdmw_link link_of(const struct end *e)
{
	if (e->dialing >= 0)
		return RDMW_DIALING;
	return e->conns ? RDMW_LINKED : RDMW_NONE;
}

static void dial(struct world *w, int who)
{
	struct end *e = &w->end[who];
	struct attempt *a = &e->tries[e->dials];

	e->dialing = (int)e->dials++;
	a->flight = REQUEST;
	a->serial = e->next_serial++;
}

static void request_arrives(struct world *w, int who, unsigned int i)
{
	struct attempt *a = &w->end[who].tries[i];
	struct end *to = &w->end[!who];
	struct rdmw_offer offer = { .instance = w->end[who].instance,
				    .serial = a->serial };

	a->why = rdmw_decide(&to->peer, to->instance, link_of(to), &offer);
	if (a->why == RDMW_REFUSE_CROSSED || a->why == RDMW_REFUSE_STALE) {
		a->flight = REFUSED;
		crossed += a->why == RDMW_REFUSE_CROSSED;
		stale += a->why == RDMW_REFUSE_STALE;
		return;
	}
	assert_int_not_equal(a->why, RDMW_REPLACE);
	beside += a->why == RDMW_BESIDE;
	if (a->why == RDMW_TAKE) {
		taken++;
		to->dialing = -1;
	}
	to->conns |= 1U << ((unsigned int)who * DIALS + i);
	a->flight = ACCEPTED;
	a->answer.instance = to->instance;
	a->answer.serial = to->next_serial;
}

static void answer_arrives(struct world *w, int who, unsigned int i)
{
	struct end *e = &w->end[who];
	struct attempt *a = &e->tries[i];
	unsigned int bit = 1U << ((unsigned int)who * DIALS + i);
	int given_up = e->dialing != (int)i;

	if (!given_up)
		e->dialing = -1;
	if (a->flight == ACCEPTED && given_up) {
		/* Nobody is there any more: the acceptor sees its end. */
		assert_false(w->both & bit);
		w->end[!who].conns &= ~bit;
	} else if (a->flight == ACCEPTED) {
		rdmw_learn(&e->peer, &a->answer);
		e->conns |= bit;
		w->both |= bit;
	}
	a->flight = NOTHING;
}

static void explore(const struct world *w)
{
	int who, moved = 0;
	unsigned int i;

	for (who = 0; who < 2; who++) {
		const struct end *e = &w->end[who];

		if (link_of(e) == RDMW_NONE && e->dials < DIALS) {
			struct world next = *w;

			dial(&next, who);
			explore(&next);
			moved = 1;
		}
		if (e->dialing >= 0 && !e->gave_up) {
			struct world next = *w;

			next.end[who].dialing = -1;
			next.end[who].gave_up = 1;
			explore(&next);
			moved = 1;
		}
		for (i = 0; i < e->dials; i++) {
			struct world next = *w;

			if (e->tries[i].flight == NOTHING)
				continue;
			if (e->tries[i].flight == REQUEST)
				request_arrives(&next, who, i);
			else
				answer_arrives(&next, who, i);
			explore(&next);
			moved = 1;
		}
	}
	if (moved)
		return;
	quiet++;
	assert_int_equal(w->end[0].conns, w->end[1].conns);
	assert_int_equal(w->end[0].conns, w->both);
	assert_true(w->both ||
		    (w->end[0].dials == DIALS && w->end[1].dials == DIALS));
}

static void test_both_come_to_the_same_in_every_order(void **state)
{
	struct world w = { .end = { { .instance = 5, .dialing = -1 },
				    { .instance = 9, .dialing = -1 } } };

	(void)state;
	w.end[0].next_serial = w.end[1].next_serial = 1;
	explore(&w);
	/* All that can happen did. */
	assert_true(quiet > 10000);
	assert_true(crossed && taken && stale && beside);
}

static void test_a_new_instance_replaces_the_old_one(void **state)
{
	struct rdmw_peer peer = { .instance = 3, .floor = 8 };
	struct rdmw_offer offer = { .instance = 4, .serial = 1 };

	(void)state;
	assert_int_equal(rdmw_decide(&peer, 9, RDMW_LINKED, &offer),
			 RDMW_REPLACE);
	assert_int_equal(peer.instance, 4);
	assert_int_equal(peer.floor, 2);
	assert_int_equal(rdmw_decide(&peer, 9, RDMW_LINKED, &offer),
			 RDMW_REFUSE_STALE);
	offer.serial = 2;
	assert_int_equal(rdmw_decide(&peer, 9, RDMW_LINKED, &offer),
			 RDMW_BESIDE);
}

static void test_an_endpoint_may_connect_to_itself(void **state)
{
	struct rdmw_peer peer = { .instance = 0 };
	struct rdmw_offer offer = { .instance = 4, .serial = 1 };

	(void)state;
	assert_int_equal(rdmw_decide(&peer, 4, RDMW_DIALING, &offer),
			 RDMW_BESIDE);
	assert_int_equal(peer.instance, 0);
}

static void test_a_late_welcome_does_not_lower_the_floor(void **state)
{
	struct rdmw_peer peer = { .instance = 3, .floor = 8 };
	struct rdmw_offer offer = { .instance = 3, .serial = 5 };

	(void)state;
	rdmw_learn(&peer, &offer);
	assert_int_equal(peer.floor, 8);
	offer.instance = 6;
	rdmw_learn(&peer, &offer);
	assert_int_equal(peer.instance, 6);
	assert_int_equal(peer.floor, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_come_to_the_same_in_every_order),
		cmocka_unit_test(test_a_new_instance_replaces_the_old_one),
		cmocka_unit_test(test_an_endpoint_may_connect_to_itself),
		cmocka_unit_test(test_a_late_welcome_does_not_lower_the_floor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
