// SPDX-License-Identifier: BSD-2-Clause
/* A session that is resumed goes on at once. */
#include "lib_fixture.h"

#include <poll.h>
#include <pthread.h>

#include "internal.h"

/* poll() waited although a request was to be sent. */
static unsigned int n_overslept;
static pthread_t library; /* the fake brick has a thread of its own */

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

static bool owes_a_request(const struct kfb_engine *e)
{
	unsigned int i;

	if (kfb_engine_state(e) != KFB_CONN_READY)
		return false;
	for (i = 0; i < KFB_ENGINE_CALLS; i++)
		if (e->calls[i].waiting && e->calls[i].resend)
			return true;
	return false;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (pthread_equal(pthread_self(), library) && k && timeout_ms &&
	    owes_a_request(&k->client.queues[0].engine))
		n_overslept++;
	return __real_poll(fds, n, timeout_ms);
}

static void a_request_is_sent_again_as_soon_as_the_queue_is_back(void **state)
{
	struct kfbrick_config config = lib_config();
	struct kfbrick_info info;
	unsigned int seen;

	library = pthread_self();
	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	seen = fake_brick_seen(brick, KFB_OP_INFO);
	rules->drop_once = KFB_OP_INFO;
	assert_int_equal(kfbrick_get_info(k, &info), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_INFO), seen + 2);
	assert_int_equal(n_overslept, 0);
}

/* Whose loss nobody gives a reason for has no older loss's. */
static void what_was_said_of_a_loss_is_not_said_of_the_next(void **state)
{
	struct kfbrick_config config = lib_config();
	struct kfbrick_completion done;
	struct kfbrick_info info;

	config.reconnect_ms = 5 * SHORT_TIMEOUT_MS;
	config.timeout_ms = SHORT_TIMEOUT_MS;
	rules->lease_ms = SHORT_TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->drop_once = KFB_OP_INFO;
	assert_int_equal(kfbrick_get_info(k, &info), 0);
	assert_true(k->lost_why[0]);
	rules->no_answer = true;
	rules->silent_op = KFB_OP_PING;
	assert_int_equal(kfbrick_poll(k, &done, 1, TIMEOUT_MS), -ECONNRESET);
	lib_says("did not answer in time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_request_is_sent_again_as_soon_as_the_queue_is_back,
			lib_setup, lib_teardown),
		UNCONNECTED(what_was_said_of_a_loss_is_not_said_of_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
