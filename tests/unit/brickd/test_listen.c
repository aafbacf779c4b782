// SPDX-License-Identifier: BSD-2-Clause
/* Connection requests that come while nobody listens any more. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/base/stop.h"
#include "brickd/net/net.h"
#include "brickd/session/listen.h"
#include "brickd/session/state.h"

/*
 * struct rig - a fabric whose event queue has requests
 * @n_requests: that are left in it
 * @n_rejected: that were refused
 */
struct rig {
	struct fid_eq eq;
	struct fid_fabric libfabric;
	struct fid_pep pep;
	struct brick_fabric fabric;
	struct brick_net net;
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
	struct fi_eq_cm_entry *entry = buf;

	if (!rig.n_requests)
		return -FI_EAGAIN;
	rig.n_requests--;
	*kind = FI_CONNREQ;
	entry->fid = NULL;
	entry->info = fi_allocinfo();
	return sizeof(*entry);
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	return 0;
}

static int reject(struct fid_pep *pep, fid_t handle, const void *param,
		  size_t len)
{
	rig.n_rejected++;
	return 0;
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
	rig.stop.is_stopping = true;
	return 0;
}

static void one_that_stops_refuses(void **state)
{
	rig.n_requests = 2;
	brick_listen_service(&rig.fabric);
	assert_int_equal(rig.n_requests, 0);
	assert_int_equal(rig.n_rejected, 2);
}

/* It was in the queue when the passive endpoint was closed. */
static void one_that_does_not_listen_any_more_drops_it(void **state)
{
	rig.n_requests = 2;
	rig.fabric.pep = NULL;
	brick_listen_service(&rig.fabric);
	assert_int_equal(rig.n_requests, 0);
	assert_int_equal(rig.n_rejected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_that_stops_refuses, begin),
		cmocka_unit_test_setup(
			one_that_does_not_listen_any_more_drops_it, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
