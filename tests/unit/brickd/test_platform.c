// SPDX-License-Identifier: BSD-2-Clause
/*
 * The platform below a medium, with a stand-in for libndctl: regions that no
 * test machine has. The real one is asked in a guest: tests/vm, brickd-platform.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>
#include <ndctl/libndctl.h>
#include <string.h>

#include "brickd/platform/platform.h"

/* Bus 1 with region 3, two modules. */
static struct {
	int fails;
	enum ndctl_persistence_domain domain;
	const char *provider;
	unsigned int health[2];
	int opened;
} fake;

static char the_ctx, the_bus, the_region, dimms[2];

int ndctl_new(struct ndctl_ctx **ctx)
{
	if (fake.fails)
		return -1;
	fake.opened++;
	*ctx = (struct ndctl_ctx *)&the_ctx;
	return 0;
}

struct ndctl_ctx *ndctl_unref(struct ndctl_ctx *ctx)
{
	fake.opened--;
	return NULL;
}

struct ndctl_bus *ndctl_bus_get_first(struct ndctl_ctx *ctx)
{
	return (struct ndctl_bus *)&the_bus;
}

struct ndctl_bus *ndctl_bus_get_next(struct ndctl_bus *bus)
{
	return NULL;
}

unsigned int ndctl_bus_get_id(struct ndctl_bus *bus)
{
	return 1;
}

const char *ndctl_bus_get_provider(struct ndctl_bus *bus)
{
	return fake.provider;
}

struct ndctl_region *ndctl_region_get_first(struct ndctl_bus *bus)
{
	return (struct ndctl_region *)&the_region;
}

struct ndctl_region *ndctl_region_get_next(struct ndctl_region *region)
{
	return NULL;
}

unsigned int ndctl_region_get_id(struct ndctl_region *region)
{
	return 3;
}

struct ndctl_bus *ndctl_region_get_bus(struct ndctl_region *region)
{
	return (struct ndctl_bus *)&the_bus;
}

const char *ndctl_region_get_devname(struct ndctl_region *region)
{
	return "region3";
}

enum ndctl_persistence_domain
ndctl_region_get_persistence_domain(struct ndctl_region *region)
{
	return fake.domain;
}

struct ndctl_dimm *ndctl_region_get_first_dimm(struct ndctl_region *region)
{
	return (struct ndctl_dimm *)&dimms[0];
}

struct ndctl_dimm *ndctl_region_get_next_dimm(struct ndctl_region *region,
					      struct ndctl_dimm *dimm)
{
	return (char *)dimm == &dimms[0] ? (struct ndctl_dimm *)&dimms[1]
					 : NULL;
}

unsigned int ndctl_dimm_get_health(struct ndctl_dimm *dimm)
{
	return fake.health[(char *)dimm - dimms];
}

static struct brick_platform ask(unsigned int bus_id, unsigned int region_id)
{
	struct brick_place place = { bus_id, region_id, true };
	struct brick_platform p = { .backing = BRICK_BACKING_MEMORY };

	brick_platform_region(&place, &p);
	assert_int_equal(fake.opened, 0);
	return p;
}

static int begin(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.provider = "ACPI.NFIT";
	fake.domain = PERSISTENCE_MEM_CTRL;
	return 0;
}

static void a_dax_device_is_in_its_region(void **state)
{
	struct brick_place place;

	brick_platform_place("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/"
			     "ndbus0/region2/dax2.0/dax/dax2.0",
			     &place);
	assert_true(place.has_region);
	assert_int_equal(place.bus, 0);
	assert_int_equal(place.region, 2);
	brick_platform_place("/sys/devices/x/ndbus12/region345/namespace345.1/"
			     "block/pmem345.1/pmem345.1p1",
			     &place);
	assert_true(place.has_region);
	assert_int_equal(place.bus, 12);
	assert_int_equal(place.region, 345);
}

static void other_devices_are_in_none(void **state)
{
	static const char *const paths[] = {
		"/sys/devices/platform/hmem.0/dax0.0",
		/* A region of CXL memory that no bus of pmem has. */
		"/sys/devices/ACPI0017:00/root0/region0/dax_region0/dax0.0",
		"/sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda/vda1",
		"/sys/devices/ndbusx/region0/dax0.0",
		"/sys/devices/ndbus0/regiony/dax0.0",
		"/sys/devices/ndbus0/regional/dax0.0",
		"",
	};
	struct brick_place place;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		brick_platform_place(paths[i], &place);
		assert_false(place.has_region);
	}
}

static void the_region_says_what_survives(void **state)
{
	struct brick_platform p = ask(1, 3);

	assert_int_equal(p.backing, BRICK_BACKING_PMEM);
	assert_int_equal(p.domain, BRICK_DOMAIN_MEMORY);
	assert_string_equal(p.region, "region3");
	fake.domain = PERSISTENCE_CPU_CACHE;
	assert_int_equal(ask(1, 3).domain, BRICK_DOMAIN_CACHES);
	fake.domain = PERSISTENCE_NONE;
	assert_int_equal(ask(1, 3).domain, BRICK_DOMAIN_UNKNOWN);
	fake.domain = PERSISTENCE_UNKNOWN;
	assert_int_equal(ask(1, 3).domain, BRICK_DOMAIN_UNKNOWN);
}

static void another_region_says_nothing(void **state)
{
	fake.domain = PERSISTENCE_CPU_CACHE;
	assert_int_equal(ask(0, 3).domain, BRICK_DOMAIN_UNKNOWN);
	assert_int_equal(ask(1, 2).domain, BRICK_DOMAIN_UNKNOWN);
	assert_int_equal(ask(1, 2).backing, BRICK_BACKING_MEMORY);
	fake.fails = 1;
	assert_int_equal(ask(1, 3).domain, BRICK_DOMAIN_UNKNOWN);
}

static void cxl_is_called_so(void **state)
{
	fake.provider = "CXL";
	assert_int_equal(ask(1, 3).backing, BRICK_BACKING_CXL);
	fake.provider = NULL;
	assert_int_equal(ask(1, 3).backing, BRICK_BACKING_PMEM);
}

static void the_worst_module_counts(void **state)
{
	fake.health[0] = UINT_MAX;
	fake.health[1] = UINT_MAX;
	assert_int_equal(ask(1, 3).health, BRICK_HEALTH_UNKNOWN);
	fake.health[1] = 0;
	assert_int_equal(ask(1, 3).health, BRICK_HEALTH_OK);
	fake.health[0] = ND_SMART_NON_CRITICAL_HEALTH;
	assert_int_equal(ask(1, 3).health, BRICK_HEALTH_WORN);
	fake.health[1] = ND_SMART_CRITICAL_HEALTH;
	assert_int_equal(ask(1, 3).health, BRICK_HEALTH_FAILING);
	fake.health[1] = ND_SMART_FATAL_HEALTH | ND_SMART_NON_CRITICAL_HEALTH;
	assert_int_equal(ask(1, 3).health, BRICK_HEALTH_FAILING);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dax_device_is_in_its_region),
		TEST(other_devices_are_in_none),
		TEST(the_region_says_what_survives),
		TEST(another_region_says_nothing),
		TEST(cxl_is_called_so),
		TEST(the_worst_module_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
