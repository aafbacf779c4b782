// SPDX-License-Identifier: BSD-2-Clause
/* What an order to the kernel's disk may say, and what goes with what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "initiator/kmod/device/options.h"

#define BRICK  "attach,addr=10.0.0.1,provider=verbs,base=0x0,blocks=4"
#define CLIENT ",client=a,key=kfbrick:a"

/* Of the shims that are linked for their text; an order takes no memory. */
void *kmalloc(size_t len, gfp_t flags)
{
	(void)len;
	(void)flags;
	fail();
	return NULL;
}

void *kzalloc(size_t len, gfp_t flags)
{
	return kmalloc(len, flags);
}

static struct kfbk_options options;
static char why[KFBK_WHY_BYTES];

static int parse(const char *text)
{
	char line[KFBK_OPTIONS_MAX_BYTES];

	snprintf(line, sizeof(line), "%s", text);
	*why = '\0';
	return kfbk_options_parse(line, &options, why);
}

static void takes(const char *text, enum kfb_disk_use use)
{
	assert_int_equal(parse(text), 0);
	assert_int_equal(kfbk_options_use(&options), use);
}

static void a_disk_is_for_one_host_unless_it_is_said_to_be_shared(void **state)
{
	(void)state;
	takes(BRICK, KFB_DISK_ALONE);
	takes(BRICK ",thin,retain_mb=64", KFB_DISK_ALONE);
	takes(BRICK ",ro", KFB_DISK_READER);
	takes(BRICK CLIENT ",shared", KFB_DISK_SHARED);
	takes(BRICK CLIENT ",shared,retain_mb=0,map_cache=0", KFB_DISK_SHARED);
}

static const struct {
	const char *text;
	const char *says;
} refused[] = {
	{ BRICK ",shared", "shared needs client and key" },
	{ BRICK CLIENT ",shared,thin", "shared and thin exclude" },
	{ BRICK CLIENT ",shared,ro", "shared and ro exclude" },
	{ BRICK CLIENT ",shared,retain_mb=64", "shared and retain_mb exclude" },
	{ BRICK CLIENT ",shared,map_cache=2", "shared and map_cache exclude" },
	{ BRICK CLIENT ",shared=yes", "shared takes no value" },
	{ BRICK CLIENT ",shared,shared", "shared is there twice" },
	{ "detach,instance=0,shared", "detach takes instance and force" },
	{ "resize,instance=0,blocks=4,shared", "resize takes instance and" },
};

static void what_does_not_go_with_sharing_is_refused_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(parse(refused[i].text), -EINVAL);
		if (!strstr(why, refused[i].says))
			fail_msg("\"%s\" is not in \"%s\"", refused[i].says,
				 why);
		/* All of it fits. */
		assert_true(strlen(why) < sizeof(why) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_disk_is_for_one_host_unless_it_is_said_to_be_shared),
		cmocka_unit_test(
			what_does_not_go_with_sharing_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
