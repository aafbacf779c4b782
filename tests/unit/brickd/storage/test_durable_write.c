// SPDX-License-Identifier: BSD-2-Clause
/* Where a session's writes may ask to be made durable. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "brickd/media/media.h"
#include "brickd/net/fabric.h"
#include "brickd/storage/durable_write.h"
#include "brickd/storage/storage.h"
#include "kfabric/user/stcp.h"

static int set_persist(struct fid_domain *domain,
		       int (*persist)(void *arg, void *addr, size_t len),
		       void *arg)
{
	return 0;
}

static struct stcp_domain_ops domain_ops = { .set_persist = set_persist };

static int ops_open(struct fid *fid, const char *name, uint64_t flags,
		    void **ops, void *context)
{
	*ops = &domain_ops;
	return 0;
}

/* With a provider that lets all. */
static bool may_commit(enum brick_granularity granularity,
		       enum brick_domain domain, bool is_strict,
		       uint32_t flush_mode)
{
	struct fi_ops fid_ops = { .size = sizeof(fid_ops),
				  .ops_open = ops_open };
	struct fid_domain fid = { .fid.ops = &fid_ops };
	struct kfb_scheme scheme = { .is_strict = is_strict };
	struct brick_address address = { .scheme = &scheme };
	struct brick_fabric fabric = { .address = &address };
	struct brick_media media = { .granularity = granularity };
	struct brick_storage storage = {
		.media = &media,
		.flush_mode = flush_mode,
		.facts = { .medium = &brick_medium_devdax,
			   .granularity = granularity,
			   .domain = domain,
			   .persistence = BRICK_PERSISTENCE_BATTERY },
	};

	return brick_durable_write_enable(&storage, &fabric, &fid);
}

static void what_takes_cache_lines_may_be_asked_for(void **state)
{
	assert_true(may_commit(BRICK_GRANULARITY_CACHE_LINE,
			       BRICK_DOMAIN_UNKNOWN, true, KFB_FLUSH_MESSAGE));
	assert_true(may_commit(BRICK_GRANULARITY_BYTE, BRICK_DOMAIN_CACHES,
			       true, KFB_FLUSH_MESSAGE));
	assert_false(may_commit(BRICK_GRANULARITY_PAGE, BRICK_DOMAIN_UNKNOWN,
				true, KFB_FLUSH_MESSAGE));
	assert_false(may_commit(BRICK_GRANULARITY_CACHE_LINE,
				BRICK_DOMAIN_MEMORY, false, KFB_FLUSH_MESSAGE));
	assert_false(may_commit(BRICK_GRANULARITY_CACHE_LINE,
				BRICK_DOMAIN_MEMORY, true, KFB_FLUSH_NONE));
}

static void
caches_that_nobody_flushes_or_vouches_for_commit_nothing(void **state)
{
	assert_false(may_commit(BRICK_GRANULARITY_BYTE, BRICK_DOMAIN_UNKNOWN,
				true, KFB_FLUSH_MESSAGE));
	assert_false(may_commit(BRICK_GRANULARITY_BYTE, BRICK_DOMAIN_MEMORY,
				true, KFB_FLUSH_MESSAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_cache_lines_may_be_asked_for),
		cmocka_unit_test(
			caches_that_nobody_flushes_or_vouches_for_commit_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
