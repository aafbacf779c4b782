// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fake brick and a connection to it.
 */
#include "lib_fixture.h"

#include "internal.h"

struct fake_brick *brick;
struct fake_rules *rules;
struct kfbrick *k;

const struct lib_stay lib_stays[LIB_STAYS] = {
	{ KFB_ST_NO_MEMORY, -ENOMEM },
	{ KFB_ST_AGAIN, -EAGAIN },
	/* No brick says that, nor AGAIN of a flush; but who hears it keeps the mapping. */
	{ KFB_ST_BUSY, -EBUSY },
};

struct kfbrick_config lib_config(void)
{
	struct kfbrick_config config = {
		.size = sizeof(config),
		.brick = fake_brick_url(brick),
		.client = "alice",
		.key = fake_brick_key(brick),
		.timeout_ms = TIMEOUT_MS,
		.queue_depth = 16,
	};

	return config;
}

int lib_connect(const struct kfbrick_config *config)
{
	kfbrick_close(k);
	k = NULL;
	return kfbrick_connect(config, &k);
}

void lib_connect_default(void)
{
	struct kfbrick_config config = lib_config();

	assert_int_equal(lib_connect(&config), 0);
}

void lib_limit(uint32_t timeout_ms)
{
	k->timeout_ms = timeout_ms;
	k->core.timeout_ms = timeout_ms;
}

struct kfbrick_mapping *lib_map(uint64_t n_blocks)
{
	struct kfbrick_mapping *mapping = NULL;

	assert_int_equal(kfbrick_map(k, FAKE_VA, n_blocks,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &mapping),
			 0);
	assert_non_null(mapping);
	return mapping;
}

struct kfbrick_completion lib_collect(void)
{
	struct kfbrick_completion done = { 0 };

	assert_int_equal(kfbrick_poll(k, &done, 1, TIMEOUT_MS), 1);
	return done;
}

void lib_says(const char *text)
{
	if (!strstr(kfbrick_error(k), text))
		fail_msg("\"%s\" does not contain \"%s\"", kfbrick_error(k),
			 text);
}

int lib_setup(void **state)
{
	brick = fake_brick_start();
	rules = fake_brick_rules(brick);
	k = NULL;
	return 0;
}

int lib_setup_connected(void **state)
{
	lib_setup(state);
	lib_connect_default();
	return 0;
}

int lib_teardown(void **state)
{
	kfbrick_close(k);
	k = NULL;
	fake_brick_stop(brick);
	return 0;
}
