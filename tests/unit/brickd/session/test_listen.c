// SPDX-License-Identifier: BSD-2-Clause
/* Connection requests: whose place a newcomer gets, and who gets none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/net/conn.h"
#include "brickd/net/devices.h"
#include "brickd/net/net.h"
#include "brickd/session/listen.h"
#include "brickd/session/session.h"
#include "brickd/session/state.h"

#define CONNS 3

/*
 * struct rig - a fabric whose event queue has requests
 * @conns: those that have a deadline, the oldest first; of a session each
 * @auth_waits: of this one an AUTH has come and is not read yet
 * @from: where the requests come from
 * @n_requests: that are left in it
 * @n_opened: that got a session
 * @n_rejected: that were refused
 * @rejected: the last one's status
 */
struct rig {
	struct brick_config config;
	struct brick_conn conns[CONNS];
	struct brick_session of[CONNS];
	const struct brick_conn *auth_waits;
	const char *from;
	unsigned int n_opened;
	struct kfb_reject rejected;
	struct fid_eq eq;
	struct fid_fabric libfabric;
	struct fid_pep pep;
	struct brick_fabric fabric;
	struct brick_net net;
	struct brick_busy busy;
	struct brick_flows flows;
	struct brick_sessions sessions;
	struct brick_stop stop;
	struct brick_counters counters;
	struct brick_address address;
	unsigned int n_requests;
	unsigned int n_rejected;
};

static struct rig rig;

static ssize_t eq_read(struct fid_eq *eq, uint32_t *kind, void *buf, size_t len,
		       uint64_t flags)
{
	const struct kfb_hello hello = { .version_min = KFB_VERSION,
					 .version_max = KFB_VERSION,
					 .credits = KFB_CREDITS_MIN };
	struct sockaddr_in *in = calloc(1, sizeof(*in));
	struct fi_eq_cm_entry *entry = buf;
	int n;

	assert_non_null(in);
	if (!rig.n_requests) {
		free(in);
		return -FI_EAGAIN;
	}
	rig.n_requests--;
	*kind = FI_CONNREQ;
	entry->fid = NULL;
	entry->info = fi_allocinfo();
	in->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, rig.from, &in->sin_addr), 1);
	entry->info->dest_addr = in;
	entry->info->dest_addrlen = sizeof(*in);
	n = kfb_encode_hello(&hello, entry->data,
			     (uint32_t)(len - sizeof(*entry)));
	assert_true(n > 0);
	return (ssize_t)sizeof(*entry) + n;
}

bool __wrap_brick_device_is_tested(const struct brick_fabric *f,
				   const struct fi_info *info);
int __wrap_brick_session_open(struct brick_fabric *fabric, struct fi_info *info,
			      const struct kfb_hello *hello,
			      const void *raw_hello);
void __wrap_brick_conn_service(struct brick_conn *c);

bool __wrap_brick_device_is_tested(const struct brick_fabric *f,
				   const struct fi_info *info)
{
	return true;
}

int __wrap_brick_session_open(struct brick_fabric *fabric, struct fi_info *info,
			      const struct kfb_hello *hello,
			      const void *raw_hello)
{
	rig.n_opened++;
	return 0;
}

void __wrap_brick_conn_service(struct brick_conn *c)
{
	if (c == rig.auth_waits) {
		c->session->state = KFB_SESSION_LIVE;
		c->state = KFB_CONN_READY;
		brick_conn_set_deadline(c, 0);
	}
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	return 0;
}

static int reject(struct fid_pep *pep, fid_t handle, const void *param,
		  size_t len)
{
	rig.n_rejected++;
	return kfb_decode_reject(param, (uint32_t)len, &rig.rejected);
}

static struct fi_ops_eq eq_ops = { .size = sizeof(eq_ops), .read = eq_read };
static struct fi_ops_fabric fabric_ops = { .size = sizeof(fabric_ops),
					   .trywait = trywait };
static struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops), .reject = reject };

static int begin(void **state)
{
	memset(&rig, 0, sizeof(rig));
	rig.eq.ops = &eq_ops;
	rig.libfabric.ops = &fabric_ops;
	rig.pep.cm = &cm_ops;
	rig.address.scheme = kfb_scheme("tcp", 3);
	rig.fabric.address = &rig.address;
	rig.fabric.net = &rig.net;
	rig.fabric.listener = &rig.sessions;
	rig.fabric.fabric = &rig.libfabric;
	rig.fabric.eq = &rig.eq;
	rig.fabric.pep = &rig.pep;
	rig.sessions.net = &rig.net;
	rig.sessions.stop = &rig.stop;
	rig.sessions.counters = &rig.counters;
	rig.sessions.config = &rig.config;
	rig.config.limits.sessions = 8;
	rig.config.limits.unauthenticated = 8;
	rig.config.limits.unauthenticated_per_address = 8;
	TAILQ_INIT(&rig.net.conns);
	brick_flows_init(&rig.flows, &rig.busy);
	rig.net.flows = &rig.flows;
	TAILQ_INIT(&rig.net.hurried);
	rig.from = "192.0.2.9";
	rig.n_requests = 1;
	return 0;
}

/* A join that is connecting, and two strangers of different addresses. */
static int begin_crowd(void **state)
{
	static const char *const from[CONNS] = { "192.0.2.1", "192.0.2.1",
						 "192.0.2.2" };

	(void)begin(state);
	for (int i = 0; i < CONNS; i++) {
		struct brick_conn *c = &rig.conns[i];
		struct sockaddr_in *in = (struct sockaddr_in *)&c->peer;

		rig.of[i].state = i ? KFB_SESSION_OPENING : KFB_SESSION_LIVE;
		rig.of[i].all = &rig.sessions;
		c->session = &rig.of[i];
		c->net = &rig.net;
		c->flow = &rig.sessions.strangers;
		c->state = i ? KFB_CONN_AUTH : KFB_CONN_CONNECTING;
		in->sin_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, from[i], &in->sin_addr), 1);
		brick_conn_set_deadline(c, 1);
	}
	rig.sessions.n = CONNS;
	rig.sessions.n_admitted = 1;
	return 0;
}

/* Which connections are closed: a bit each. */
static unsigned int closed(void)
{
	unsigned int out = 0;

	for (int i = 0; i < CONNS; i++)
		out |= (unsigned int)(rig.conns[i].state == KFB_CONN_CLOSING)
		       << i;
	return out;
}

/* It takes a few at a time, or fewer where that takes long. */
static void listen_to_all(void)
{
	while (rig.n_requests)
		brick_listen_service(&rig.fabric);
}

static void others_have_their_turn_between_requests(void **state)
{
	rig.n_requests = 9;
	brick_listen_service(&rig.fabric);
	assert_in_range(rig.n_opened, 1, 4);
	assert_int_equal(rig.n_requests, 9 - rig.n_opened);
	listen_to_all();
	assert_int_equal(rig.n_opened, 9);
}

static void below_the_bounds_nobody_goes(void **state)
{
	rig.config.limits.unauthenticated = 3;
	rig.config.limits.unauthenticated_per_address = 2;
	rig.from = "192.0.2.1";
	listen_to_all();
	assert_int_equal(rig.n_opened, 1);
	assert_int_equal(closed(), 0);
}

static void for_a_newcomer_the_oldest_stranger_goes(void **state)
{
	rig.config.limits.unauthenticated = 2;
	listen_to_all();
	assert_int_equal(rig.n_opened, 1);
	assert_int_equal(closed(), 1 << 1);
}

static void at_the_bound_of_an_address_its_own_oldest_goes(void **state)
{
	rig.config.limits.unauthenticated_per_address = 1;
	rig.from = "192.0.2.2";
	listen_to_all();
	assert_int_equal(rig.n_opened, 1);
	assert_int_equal(closed(), 1 << 2);
}

/* The loop hears of the request before it has read what has come meanwhile. */
static void who_has_authenticated_in_time_keeps_its_connection(void **state)
{
	rig.config.limits.unauthenticated = 2;
	rig.auth_waits = &rig.conns[1];
	listen_to_all();
	assert_int_equal(rig.n_opened, 1);
	assert_int_equal(closed(), 0);
	assert_int_equal(rig.conns[1].state, KFB_CONN_READY);
}

static void strangers_that_are_ending_are_waited_for(void **state)
{
	rig.config.limits.unauthenticated = 2;
	rig.sessions.n = rig.sessions.n_admitted + 4;
	listen_to_all();
	assert_int_equal(rig.n_opened, 0);
	assert_int_equal(rig.rejected.status, KFB_ST_LIMIT);
	assert_int_equal(closed(), 0);
}

static void strangers_take_no_places_of_sessions(void **state)
{
	rig.n_requests = 2;
	rig.config.limits.sessions = 2;
	listen_to_all();
	assert_int_equal(rig.n_opened, 2);
	rig.n_requests = 1;
	rig.sessions.n_admitted = 2;
	listen_to_all();
	assert_int_equal(rig.n_opened, 2);
	assert_int_equal(rig.rejected.status, KFB_ST_LIMIT);
}

static void one_that_stops_refuses(void **state)
{
	rig.stop.is_stopping = true;
	rig.n_requests = 2;
	listen_to_all();
	assert_int_equal(rig.n_requests, 0);
	assert_int_equal(rig.n_rejected, 2);
}

/* It was in the queue when the passive endpoint was closed. */
static void one_that_does_not_listen_any_more_drops_it(void **state)
{
	rig.stop.is_stopping = true;
	rig.n_requests = 2;
	rig.fabric.pep = NULL;
	listen_to_all();
	assert_int_equal(rig.n_requests, 0);
	assert_int_equal(rig.n_rejected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_that_stops_refuses, begin),
		cmocka_unit_test_setup(
			one_that_does_not_listen_any_more_drops_it, begin),
		cmocka_unit_test_setup(others_have_their_turn_between_requests,
				       begin),
		cmocka_unit_test_setup(below_the_bounds_nobody_goes,
				       begin_crowd),
		cmocka_unit_test_setup(for_a_newcomer_the_oldest_stranger_goes,
				       begin_crowd),
		cmocka_unit_test_setup(
			at_the_bound_of_an_address_its_own_oldest_goes,
			begin_crowd),
		cmocka_unit_test_setup(
			who_has_authenticated_in_time_keeps_its_connection,
			begin_crowd),
		cmocka_unit_test_setup(strangers_that_are_ending_are_waited_for,
				       begin_crowd),
		cmocka_unit_test_setup(strangers_take_no_places_of_sessions,
				       begin_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
