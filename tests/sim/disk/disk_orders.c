// SPDX-License-Identifier: BSD-2-Clause
/*
 * Orders that a disk does not obey (docs/kfbrick.md), and mappings that its brick
 * asks for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "../machine/fabric.h"
#include "proto/kfb_wire.h"
#include "../scene.h"

#define ORDER_BYTES 256
#define REST_NS	    (300 * SIM_MS)
/* How long a disk may take to give mappings back. */
#define GIVE_NS (3 * SIM_S)

/* One that is over says so instead. */
static void must_be_refused(struct sim_disk *d, const char *text)
{
	char answer[SIM_ANSWER_BYTES];
	uint32_t n_takings = d->n_takings;
	int rc = sim_disk_order(d, text, answer);
	bool is_over = rc && d->open && sim_disk_is_lossy(d);

	/* It may have been over, and have been taken up again. */
	is_over |= rc && (d->n_takers || d->n_takings != n_takings);
	if (rc != -EINVAL && rc != -ENOMEM && !is_over)
		sim_violated("%s: %s: %d, %s", d->name, text, rc, answer);
}

/* Births tell clients apart by their names. */
void sim_disk_try_nameless(struct sim_disk *d)
{
	const struct sim_disk_settings *s = &d->settings;
	char text[ORDER_BYTES];

	(void)snprintf(
		text, sizeof(text),
		"attach,addr=127.0.0.1,port=%u,provider=%s,base=0x%llx,blocks=%u,map_cache=%u",
		sim_brick_port(d->brick, false), s->provider,
		(unsigned long long)s->first_va, d->n_blocks,
		s->map_cache ? s->map_cache : 1);
	must_be_refused(d, text);
}

static void try_size(struct sim_disk *d, uint64_t n_blocks)
{
	uint64_t before = km_disk_sectors(d->open);
	char text[ORDER_BYTES];

	(void)snprintf(text, sizeof(text), "resize,instance=%d,blocks=%llu",
		       d->instance, (unsigned long long)n_blocks);
	must_be_refused(d, text);
	if (km_disk_sectors(d->open) != before)
		sim_violated("%s: it has another size", d->name);
}

void sim_disk_try_sizes(struct sim_disk *d)
{
	if (d->n_blocks > 1)
		try_size(d, 1 + sim_disk_below(d, d->n_blocks - 1));
	try_size(d, (-d->settings.first_va >> KFB_BLOCK_SHIFT) + 1);
}

/* ---- mappings that are asked for -------------------------------------------------- */

/* What it says of its cache of mappings. */
struct said {
	unsigned long mapped;
	unsigned long asked;
	unsigned long given;
	bool is_up;
};

static unsigned long number_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		sim_die("a disk does not say %s: %s", name, text);
	return strtoul(at + strlen(name), NULL, 10);
}

static struct said listen(struct sim_disk *d)
{
	struct said said = { 0 };
	char text[SIM_ANSWER_BYTES];

	km_disk_attribute(d->open, "state", text, sizeof(text));
	said.is_up = !strcmp(text, "up");
	km_disk_attribute(d->open, "map_cache", text, sizeof(text));
	said.mapped = number_of(text, " mapped=");
	said.asked = number_of(text, " asked=");
	said.given = number_of(text, " given=");
	return said;
}

void sim_disk_count_mappings(struct sim_disk *d)
{
	unsigned long mapped = 0;

	if (d->settings.map_cache)
		mapped = listen(d).mapped;
	if (mapped > d->settings.map_cache)
		sim_violated("%s: %lu blocks are mapped, of %u that may be",
			     d->name, mapped, d->settings.map_cache);
}

/* What the brick does not unmap, or flush, it cannot have back. */
void sim_disk_rest(struct sim_disk *d)
{
	struct said first, then, last;
	uint64_t n_refused, begun_ns = sim.now_ns;

	if (!d->settings.map_cache || !d->brick->files.slow.bytes ||
	    d->brick->refuses_until_ns > sim.now_ns)
		return;
	sim_disk_settle(d);
	n_refused = d->n_refused;
	first = listen(d);
	km_sleep_until(sim.now_ns + REST_NS);
	then = listen(d);
	if (then.asked == first.asked || !first.is_up || !then.is_up)
		return;
	km_sleep_until(sim.now_ns + GIVE_NS);
	last = listen(d);
	if (last.is_up && last.mapped && last.given == first.given &&
	    d->brick->refuses_until_ns < begun_ns && d->n_refused == n_refused)
		sim_violated(
			"%s: its brick asks for mappings, and it keeps %lu",
			d->name, last.mapped);
}
