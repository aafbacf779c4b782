// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connecting: what can go wrong, each with its own errno and words.
 */
#include <errno.h>

#include "lib_fixture.h"

static void a_good_key_connects(void **state)
{
	struct kfbrick_info info = { .size = sizeof(info) };

	lib_connect_default();
	assert_string_equal(kfbrick_error(k), "");
	assert_int_equal(kfbrick_get_info(k, &info), 0);
	assert_memory_equal(info.uuid, fake_brick_uuid(brick),
			    KFBRICK_UUID_BYTES);
	assert_int_equal(info.flush_mode, KFBRICK_FLUSH_MESSAGE);
	assert_non_null(strstr(info.flush_why, "file"));
}

static void the_expected_brick_connects_and_another_does_not(void **state)
{
	struct kfbrick_config config = lib_config();
	uint8_t uuid[KFBRICK_UUID_BYTES];

	memcpy(uuid, fake_brick_uuid(brick), sizeof(uuid));
	config.expect_uuid = uuid;
	assert_int_equal(lib_connect(&config), 0);
	uuid[0] ^= 1;
	assert_int_equal(lib_connect(&config), -ESTALE);
	/* Without AUTH it is INFO that tells. */
	config.client = NULL;
	assert_int_equal(lib_connect(&config), -ESTALE);
}

static void a_wrong_key_is_rejected(void **state)
{
	struct kfbrick_config config = lib_config();
	uint8_t key[KFBRICK_KEY_BYTES] = { 1 };

	config.key = key;
	assert_int_equal(lib_connect(&config), -EKEYREJECTED);
	lib_says("alice");
	lib_says(fake_brick_url(brick));
}

static void a_brick_that_does_not_know_the_key_is_rejected(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->bad_proof = true;
	assert_int_equal(lib_connect(&config), -EKEYREJECTED);
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ENOTCONN);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_INFO), 0);
}

static void a_rejection_has_its_own_errno(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->reject_status = KFB_ST_LIMIT;
	assert_int_equal(lib_connect(&config), -EDQUOT);
	lib_says(fake_brick_url(brick));
	rules->reject_status = KFB_ST_SHUTDOWN;
	assert_int_equal(lib_connect(&config), -ESHUTDOWN);
	rules->reject_status = KFB_ST_VERSION;
	assert_int_equal(lib_connect(&config), -EPROTONOSUPPORT);
}

static void another_service_is_no_brick(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->foreign_accept = true;
	assert_int_equal(lib_connect(&config), -EPROTO);
	lib_says("no brick");
}

static void a_brick_that_is_not_there_refuses(void **state)
{
	struct kfbrick_config config = lib_config();
	uint8_t key[KFBRICK_KEY_BYTES];
	char url[64];

	memcpy(key, config.key, sizeof(key));
	config.key = key;
	strncpy(url, fake_brick_url(brick), sizeof(url) - 1);
	url[sizeof(url) - 1] = '\0';
	config.brick = url;
	fake_brick_stop(brick);
	assert_int_equal(lib_connect(&config), -ECONNREFUSED);
	lib_says(url);
	lib_says("brickd");
	/* Also without a connection to ask. */
	assert_non_null(strstr(kfbrick_error(NULL), url));
	brick = fake_brick_start();
}

static void a_brick_that_does_not_answer_times_out(void **state)
{
	struct kfbrick_config config = lib_config();

	config.timeout_ms = SHORT_TIMEOUT_MS;
	rules->no_answer = true;
	assert_int_equal(lib_connect(&config), -ETIMEDOUT);
	rules->no_answer = false;
	rules->silent_op = KFB_OP_AUTH;
	assert_int_equal(lib_connect(&config), -ETIMEDOUT);
	assert_non_null(strstr(kfbrick_error(NULL), "did not answer in time"));
	rules->silent_op = KFB_OP_INFO;
	assert_int_equal(lib_connect(&config), -ETIMEDOUT);
	assert_non_null(strstr(kfbrick_error(NULL), "did not answer in time"));
}

static void a_brick_that_hangs_up_during_auth_is_lost(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->drop_op = KFB_OP_AUTH;
	assert_int_equal(lib_connect(&config), -ECONNRESET);
}

static void an_unknown_flush_mode_is_refused(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->flush_mode = KFB_FLUSH_COMMIT;
	assert_int_equal(lib_connect(&config), -EPROTONOSUPPORT);
	rules->flush_mode = KFB_FLUSH_NATIVE;
	assert_int_equal(lib_connect(&config), -EPROTONOSUPPORT);
	rules->flush_mode = KFB_FLUSH_READBACK;
	assert_int_equal(lib_connect(&config), 0);
}

static void an_unknown_host_is_unreachable(void **state)
{
	struct kfbrick_config config = lib_config();

	config.brick = "tcp://256.0.0.1";
	assert_int_equal(lib_connect(&config), -EHOSTUNREACH);
	lib_says("256.0.0.1");
}

static void a_bad_configuration_is_refused(void **state)
{
	struct kfbrick_config config = lib_config();

	config.size = 1;
	assert_int_equal(lib_connect(&config), -EINVAL);
	assert_null(k);
	assert_string_not_equal(kfbrick_error(NULL), "");
	config = lib_config();
	config.brick = NULL;
	assert_int_equal(lib_connect(&config), -EINVAL);
	config.brick = "ftp://127.0.0.1";
	assert_int_equal(lib_connect(&config), -EINVAL);
	lib_says("ftp://127.0.0.1");
	config = lib_config();
	config.key = NULL;
	assert_int_equal(lib_connect(&config), -EINVAL);
	config = lib_config();
	config.client = "";
	assert_int_equal(lib_connect(&config), -EINVAL);
	config.client = "a-name-of-more-than-the-forty-characters-allowed";
	assert_int_equal(lib_connect(&config), -EINVAL);
	config = lib_config();
	config.queue_depth = 1025;
	assert_int_equal(lib_connect(&config), -EINVAL);
	assert_int_equal(lib_connect(NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNCONNECTED(a_good_key_connects),
		UNCONNECTED(the_expected_brick_connects_and_another_does_not),
		UNCONNECTED(a_wrong_key_is_rejected),
		UNCONNECTED(a_brick_that_does_not_know_the_key_is_rejected),
		UNCONNECTED(a_rejection_has_its_own_errno),
		UNCONNECTED(another_service_is_no_brick),
		UNCONNECTED(a_brick_that_is_not_there_refuses),
		UNCONNECTED(a_brick_that_does_not_answer_times_out),
		UNCONNECTED(a_brick_that_hangs_up_during_auth_is_lost),
		UNCONNECTED(an_unknown_flush_mode_is_refused),
		UNCONNECTED(an_unknown_host_is_unreachable),
		UNCONNECTED(a_bad_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
