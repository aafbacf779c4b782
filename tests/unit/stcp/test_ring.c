// SPDX-License-Identifier: BSD-2-Clause
/* Completion queues without a descriptor, whose user is told by a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "stcp.h"

#define CTX(n)	 ((void *)(uintptr_t)(n))
#define RETRY_US 500

static void count_ring(void *context)
{
	atomic_fetch_add((atomic_uint *)context, 1);
}

static void wait_for_rings(const atomic_uint *n_rings, unsigned int n)
{
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;

	while (atomic_load(n_rings) < n) {
		assert_true(rig_now_ms() < until_ms);
		usleep(RETRY_US);
	}
}

static bool is_asleep(const struct rig *rig)
{
	struct fid *fids[] = { &rig->server.cq->fid };

	return !fi_trywait(rig->server.fabric, fids, 1);
}

/* Once for all that comes before its user is about to sleep again. */
static void a_queue_without_a_descriptor_rings(void **state)
{
	struct tcpw_hdr hdr = { .op = TCPW_MSG, .payload_bytes = 3 };
	atomic_uint n_rings = 0;
	struct rig *rig = rig_open(true, true);
	uint8_t in[2][8];
	int fd, none;

	rig_ring(count_ring, &n_rings);
	fd = raw_connect(rig, TCPW_LITTLE);
	rig_ring(NULL, NULL);
	assert_int_not_equal(
		fi_control(&rig->server.cq->fid, FI_GETWAIT, &none), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fi_recv(rig->server.ep, in[i], 8, NULL, 0,
					 CTX(i + 1)),
				 0);
	assert_true(is_asleep(rig));
	raw_send_op(fd, TCPW_LITTLE, &hdr, "abc");
	wait_for_rings(&n_rings, 1);
	raw_send_op(fd, TCPW_LITTLE, &hdr, "def");
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).len, 3);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(2)).len, 3);
	assert_int_equal(atomic_load(&n_rings), 1);
	assert_true(is_asleep(rig));
	/* Its end completes what is posted, and rings, too. */
	assert_int_equal(fi_recv(rig->server.ep, in[0], 8, NULL, 0, CTX(3)), 0);
	close(fd);
	wait_for_rings(&n_rings, 2);
	assert_false(is_asleep(rig));
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_without_a_descriptor_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
