// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which blocks the disks of a machine have: when one comes, grows or comes back. Each is
 * LIVE, as far as it knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "initiator/kmod/disk/disks.h"

#define DISKS 2
#define SIZE  4 /* blocks; each begins where the one before it ends */

static struct kfbk_device disks[DISKS];

/* There is one task. */
void km_may_yield(void)
{
}

void mutex_lock(struct mutex *mutex)
{
	assert_int_equal(mutex->n_waiting++, 0);
}

void mutex_unlock(struct mutex *mutex)
{
	mutex->n_waiting--;
}

void kfbk_say(struct kfbk_device *dev, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(dev->why, sizeof(dev->why), fmt, ap);
	va_end(ap);
}

static char refusal[KFBK_WHY_BYTES];

static int claim_again(struct kfbk_device *dev)
{
	return kfbk_claim_again(dev, refusal);
}

static int begin(void **state)
{
	(void)state;
	memset(disks, 0, sizeof(disks));
	for (int i = 0; i < DISKS; i++) {
		struct kfbk_device *dev = &disks[i];

		INIT_LIST_HEAD(&dev->claim);
		dev->instance = i;
		strcpy(dev->options.client, "a");
		dev->options.base = (u64)i * SIZE << KFB_BLOCK_SHIFT;
		dev->core.client.state = KFB_CLIENT_LIVE;
		dev->core.client.instance_id = 1;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < DISKS; i++)
		kfbk_unclaim(&disks[i]);
	return 0;
}

static void come(int which)
{
	assert_int_equal(kfbk_claim(&disks[which], SIZE), 0);
}

/* The brick may have ended its session, and given its blocks to who asks. */
static void a_disk_does_not_get_what_another_one_has(void **state)
{
	(void)state;
	come(0);
	disks[1].options.base = (SIZE - 1) << KFB_BLOCK_SHIFT;
	assert_int_equal(kfbk_claim(&disks[1], SIZE), -EEXIST);
	assert_non_null(strstr(disks[1].why, "as the same client"));
	assert_true(list_empty(&disks[1].claim));
	kfbk_unclaim(&disks[0]);
	come(1);
}

static void a_disk_does_not_grow_into_another_one(void **state)
{
	(void)state;
	come(0);
	come(1);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), -EEXIST);
	assert_int_equal(disks[0].n_claimed, SIZE);
	assert_int_equal(kfbk_claim(&disks[1], 2 * SIZE), 0);
	assert_int_equal(disks[1].n_claimed, 2 * SIZE);
}

static void a_disk_does_not_come_where_another_one_has_grown(void **state)
{
	(void)state;
	come(0);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
	assert_int_equal(kfbk_claim(&disks[1], SIZE), -EEXIST);
	/* It could not: they are not its own. */
	kfbk_claim_less(&disks[0], SIZE);
	come(1);
}

static void
what_a_disk_has_kept_stays_its_own_when_it_grows_by_less(void **state)
{
	(void)state;
	come(0);
	assert_int_equal(kfbk_claim(&disks[0], 2 * SIZE), 0);
	kfbk_claim_less(&disks[0], SIZE + 2);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
	disks[1].options.base = (SIZE + 1) << KFB_BLOCK_SHIFT;
	assert_int_equal(kfbk_claim(&disks[1], SIZE), -EEXIST);
}

static void
one_that_is_over_is_in_nobodys_way_and_does_not_come_back(void **state)
{
	(void)state;
	come(1);
	disks[1].core.is_over = true;
	come(0);
	assert_int_equal(claim_again(&disks[1]), 0);
	kfbk_claim_settled(&disks[1]);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
	assert_int_equal(claim_again(&disks[1]), -EEXIST);
	kfbk_claim_used(&disks[0]);
	kfbk_unclaim(&disks[0]);
	/* It has not seen what was written. */
	assert_int_equal(claim_again(&disks[1]), -EEXIST);
}

static void one_that_is_over_comes_back_when_nobody_could_write(void **state)
{
	(void)state;
	come(1);
	disks[1].core.is_over = true;
	/* No disk could be made there. */
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
	kfbk_unclaim(&disks[0]);
	assert_int_equal(claim_again(&disks[1]), 0);
	kfbk_claim_settled(&disks[1]);
	/* One that only reads was. */
	disks[0].options.ro = true;
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
	kfbk_claim_used(&disks[0]);
	kfbk_unclaim(&disks[0]);
	assert_int_equal(claim_again(&disks[1]), 0);
	kfbk_claim_settled(&disks[1]);
}

static void one_that_tries_to_come_back_is_in_the_way(void **state)
{
	(void)state;
	come(0);
	come(1);
	disks[1].core.is_over = true;
	assert_int_equal(claim_again(&disks[1]), 0);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), -EEXIST);
	kfbk_claim_settled(&disks[1]);
	assert_int_equal(kfbk_claim(&disks[0], SIZE + 1), 0);
}

static void what_is_told_apart_may_have_the_same_blocks(void **state)
{
	(void)state;
	disks[1].options.base = 0;
	come(0);
	strcpy(disks[1].options.client, "b"); /* births do */
	come(1);
	kfbk_unclaim(&disks[1]);
	strcpy(disks[1].options.client, "a");
	disks[1].core.client.info.brick_uuid[0] = 1;
	come(1);
	kfbk_unclaim(&disks[1]);
	disks[1].core.client.info.brick_uuid[0] = 0;
	disks[0].options.ro = true;
	assert_int_equal(kfbk_claim(&disks[1], SIZE), -EEXIST);
	disks[1].options.ro = true;
	come(1);
}

#define CLAIMS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLAIMS_TEST(a_disk_does_not_get_what_another_one_has),
		CLAIMS_TEST(a_disk_does_not_grow_into_another_one),
		CLAIMS_TEST(a_disk_does_not_come_where_another_one_has_grown),
		CLAIMS_TEST(
			what_a_disk_has_kept_stays_its_own_when_it_grows_by_less),
		CLAIMS_TEST(
			one_that_is_over_is_in_nobodys_way_and_does_not_come_back),
		CLAIMS_TEST(
			one_that_is_over_comes_back_when_nobody_could_write),
		CLAIMS_TEST(one_that_tries_to_come_back_is_in_the_way),
		CLAIMS_TEST(what_is_told_apart_may_have_the_same_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
