// SPDX-License-Identifier: BSD-2-Clause
/* A region of persistent memory as libndctl knows it. */
#include <ndctl/libndctl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "brickd/platform/platform.h"

/* What providers of CXL's persistent memory are called (drivers/cxl/pmem.c). */
#define CXL_PROVIDER "CXL"

static struct ndctl_region *find_region(struct ndctl_ctx *ctx,
					const struct brick_place *place)
{
	struct ndctl_region *region;
	struct ndctl_bus *bus;

	ndctl_bus_foreach(ctx, bus) {
		if (ndctl_bus_get_id(bus) != place->bus)
			continue;
		ndctl_region_foreach(bus, region) {
			if (ndctl_region_get_id(region) == place->region)
				return region;
		}
	}
	return NULL;
}

static enum brick_domain domain_of(struct ndctl_region *region)
{
	switch (ndctl_region_get_persistence_domain(region)) {
	case PERSISTENCE_MEM_CTRL:
		return BRICK_DOMAIN_MEMORY;
	case PERSISTENCE_CPU_CACHE:
		return BRICK_DOMAIN_CACHES;
	default:
		return BRICK_DOMAIN_UNKNOWN;
	}
}

static enum brick_health health_of(struct ndctl_dimm *dimm)
{
	unsigned int flags = ndctl_dimm_get_health(dimm);

	if (flags == UINT_MAX)
		return BRICK_HEALTH_UNKNOWN;
	if (flags & (ND_SMART_CRITICAL_HEALTH | ND_SMART_FATAL_HEALTH))
		return BRICK_HEALTH_FAILING;
	if (flags & ND_SMART_NON_CRITICAL_HEALTH)
		return BRICK_HEALTH_WORN;
	return BRICK_HEALTH_OK;
}

void brick_platform_region(const struct brick_place *place,
			   struct brick_platform *out)
{
	struct ndctl_region *region;
	enum brick_health health;
	struct ndctl_dimm *dimm;
	struct ndctl_ctx *ctx;
	const char *provider;

	if (ndctl_new(&ctx))
		return;
	region = find_region(ctx, place);
	if (!region)
		goto unref;
	provider = ndctl_bus_get_provider(ndctl_region_get_bus(region));
	out->backing = provider && !strcmp(provider, CXL_PROVIDER)
			       ? BRICK_BACKING_CXL
			       : BRICK_BACKING_PMEM;
	snprintf(out->region, sizeof(out->region), "%s",
		 ndctl_region_get_devname(region));
	out->domain = domain_of(region);
	out->health = BRICK_HEALTH_UNKNOWN;
	ndctl_dimm_foreach_in_region(region, dimm) {
		health = health_of(dimm);
		if (health > out->health)
			out->health = health;
	}
unref:
	ndctl_unref(ctx);
}
