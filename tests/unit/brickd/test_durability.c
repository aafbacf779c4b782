// SPDX-License-Identifier: BSD-2-Clause
/* What is promised: every row of the table in docs/durability.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "brickd/base/util.h"
#include "brickd/platform/durability.h"
#include "proto/kfb_wire.h"

#define BOTH (KFB_FLUSH_READBACK | KFB_FLUSH_MESSAGE)

static const struct brick_facts adr = {
	.medium = &brick_medium_devdax,
	.granularity = BRICK_GRANULARITY_CACHE_LINE,
	.backing = BRICK_BACKING_PMEM,
	.domain = BRICK_DOMAIN_MEMORY,
};

static const struct brick_facts eadr = {
	.medium = &brick_medium_devdax,
	.granularity = BRICK_GRANULARITY_BYTE,
	.backing = BRICK_BACKING_PMEM,
	.domain = BRICK_DOMAIN_CACHES,
};

static const struct brick_facts file = {
	.medium = &brick_medium_file,
	.granularity = BRICK_GRANULARITY_PAGE,
};

static const struct brick_facts tmpfs = {
	.medium = &brick_medium_tmpfs,
	.granularity = BRICK_GRANULARITY_CACHE_LINE,
};

static void expect(const struct brick_facts *facts, enum brick_placing placing,
		   uint32_t modes, uint32_t mode, uint32_t why, bool is_unsafe)
{
	struct brick_durability d;

	brick_durability_of(facts, placing, &d);
	assert_int_equal(d.modes, modes);
	assert_int_equal(d.mode, mode);
	assert_int_equal(d.why, why);
	assert_int_equal(d.is_unsafe, is_unsafe);
}

static void with_adr_devices_flush_by_message(void **state)
{
	struct brick_facts f = adr;

	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_ADR_DDIO, false);
	f.ddio = BRICK_DDIO_ON;
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_ADR_DDIO, false);
}

static void with_ddio_off_they_read_back(void **state)
{
	struct brick_facts f = adr;

	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_ADR_NODDIO, false);
	f.medium = &brick_medium_fsdax;
	expect(&f, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_ADR_NODDIO, false);
}

/* Whatever is said of DDIO: the CPU's stores are in its caches. */
static void what_the_cpu_places_needs_a_message(void **state)
{
	struct brick_facts f = adr;

	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BEFORE_ACK, KFB_FLUSH_MESSAGE,
	       KFB_FLUSH_MESSAGE, KFB_WHY_CPU_PLACED, false);
	expect(&f, BRICK_PLACED_BY_CPU, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_CPU_PLACED, false);
}

static void with_eadr_rdma_reads_back(void **state)
{
	expect(&eadr, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_EADR, false);
	expect(&eadr, BRICK_PLACED_BEFORE_ACK, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_EADR, false);
	expect(&eadr, BRICK_PLACED_BY_SOFT_RDMA, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_EADR, false);
	/* A read of the stock tcp provider proves nothing of a write. */
	expect(&eadr, BRICK_PLACED_BY_CPU, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_CPU_PLACED, false);
}

/* libpmem2 and libndctl must both say so. */
static void one_witness_of_eadr_is_not_enough(void **state)
{
	struct brick_facts f = eadr;

	/* libpmem2 flushes nothing then, whatever asks for it. */
	f.domain = BRICK_DOMAIN_MEMORY;
	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_UNPROVEN, true);
	expect(&f, BRICK_PLACED_BY_CPU, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_UNPROVEN, true);
	assert_true(brick_medium_is_never_flushed(&f));
	assert_false(brick_medium_is_never_flushed(&eadr));
	f = adr;
	f.domain = BRICK_DOMAIN_CACHES;
	assert_false(brick_medium_is_never_flushed(&f));
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_ADR_DDIO, false);
}

static void a_silent_platform_is_unsafe(void **state)
{
	struct brick_facts f = adr;

	f.domain = BRICK_DOMAIN_UNKNOWN;
	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_UNPROVEN, true);
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_DEVDAX);
}

static void a_battery_vouches_for_memory_not_for_caches(void **state)
{
	struct brick_facts f = adr;

	f.domain = BRICK_DOMAIN_UNKNOWN;
	f.backing = BRICK_BACKING_MEMORY;
	f.persistence = BRICK_PERSISTENCE_BATTERY;
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_BATTERY);
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_ADR_DDIO, false);
	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_ADR_NODDIO, false);
	/* Other memory's eADR has libpmem2 flush nothing, here neither. */
	f.granularity = BRICK_GRANULARITY_BYTE;
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_UNPROVEN, true);
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_BATTERY);
}

static void memory_without_a_word_is_volatile(void **state)
{
	struct brick_facts f = adr;

	f.backing = BRICK_BACKING_MEMORY;
	f.domain = BRICK_DOMAIN_UNKNOWN;
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_VOLATILE);
	expect(&f, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_NONE, KFB_FLUSH_NONE,
	       KFB_WHY_VOLATILE, false);
}

static void media_are_called_what_they_are(void **state)
{
	struct brick_facts f = adr;

	assert_int_equal(brick_medium_label(&adr), KFB_MEDIUM_DEVDAX);
	assert_int_equal(brick_medium_label(&file), KFB_MEDIUM_FILE);
	assert_int_equal(brick_medium_label(&tmpfs), KFB_MEDIUM_VOLATILE);
	f.backing = BRICK_BACKING_CXL;
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_CXL);
	/* A battery does not make a file of tmpfs survive a reboot. */
	f = tmpfs;
	f.persistence = BRICK_PERSISTENCE_BATTERY;
	assert_int_equal(brick_medium_label(&f), KFB_MEDIUM_VOLATILE);
}

static void files_and_volatile_memory_are_not_read_back(void **state)
{
	struct brick_facts f = file;

	f.ddio = BRICK_DDIO_OFF;
	expect(&f, BRICK_PLACED_BY_CPU, KFB_FLUSH_MESSAGE, KFB_FLUSH_MESSAGE,
	       KFB_WHY_FILE, false);
	expect(&tmpfs, BRICK_PLACED_BY_DEVICE, KFB_FLUSH_NONE, KFB_FLUSH_NONE,
	       KFB_WHY_VOLATILE, false);
}

static void what_is_assumed_is_unsafe(void **state)
{
	struct brick_facts f = adr;

	f.persistence = BRICK_PERSISTENCE_ASSUME_READBACK;
	expect(&f, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_ASSUMED, true);
	f = tmpfs;
	f.persistence = BRICK_PERSISTENCE_ASSUME_READBACK;
	expect(&f, BRICK_PLACED_BY_CPU, KFB_FLUSH_READBACK, KFB_FLUSH_READBACK,
	       KFB_WHY_ASSUMED, true);
	/* What is true needs no assumption. */
	f = eadr;
	f.persistence = BRICK_PERSISTENCE_ASSUME_READBACK;
	expect(&f, BRICK_PLACED_BY_DEVICE, BOTH, KFB_FLUSH_READBACK,
	       KFB_WHY_EADR, false);
}

/* Its label is for people. */
static void a_medium_that_forgets_promises_nothing_by_any_name(void **state)
{
	static const struct brick_medium medium = { .label = KFB_MEDIUM_FILE,
						    .is_volatile = true };
	struct brick_durability promise;
	struct brick_facts f = tmpfs;

	f.medium = &medium;
	assert_true(brick_medium_is_volatile(&f));
	brick_durability_of(&f, BRICK_PLACED_BY_DEVICE, &promise);
	assert_int_equal(promise.modes, KFB_FLUSH_NONE);
	assert_int_equal(promise.why, KFB_WHY_VOLATILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_adr_devices_flush_by_message),
		cmocka_unit_test(with_ddio_off_they_read_back),
		cmocka_unit_test(what_the_cpu_places_needs_a_message),
		cmocka_unit_test(with_eadr_rdma_reads_back),
		cmocka_unit_test(one_witness_of_eadr_is_not_enough),
		cmocka_unit_test(a_silent_platform_is_unsafe),
		cmocka_unit_test(
			a_medium_that_forgets_promises_nothing_by_any_name),
		cmocka_unit_test(a_battery_vouches_for_memory_not_for_caches),
		cmocka_unit_test(memory_without_a_word_is_volatile),
		cmocka_unit_test(media_are_called_what_they_are),
		cmocka_unit_test(files_and_volatile_memory_are_not_read_back),
		cmocka_unit_test(what_is_assumed_is_unsafe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
