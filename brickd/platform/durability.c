// SPDX-License-Identifier: BSD-2-Clause
/* The table of docs/durability.md. */
#include "brickd/platform/durability.h"

#include "proto/kfb_wire.h"

bool brick_medium_is_volatile(const struct brick_facts *facts)
{
	return facts->medium->is_volatile ||
	       (facts->backing == BRICK_BACKING_MEMORY &&
		facts->persistence != BRICK_PERSISTENCE_BATTERY);
}

unsigned int brick_medium_label(const struct brick_facts *facts)
{
	if (!facts->medium->is_pmem)
		return facts->medium->label;
	if (brick_medium_is_volatile(facts))
		return KFB_MEDIUM_VOLATILE;
	if (facts->persistence == BRICK_PERSISTENCE_BATTERY)
		return KFB_MEDIUM_BATTERY;
	if (facts->backing == BRICK_BACKING_CXL)
		return KFB_MEDIUM_CXL;
	return facts->medium->label;
}

bool brick_medium_is_never_flushed(const struct brick_facts *facts)
{
	return facts->granularity == BRICK_GRANULARITY_BYTE &&
	       facts->domain != BRICK_DOMAIN_CACHES;
}

static void set_mode(struct brick_durability *out, uint32_t mode, uint32_t why)
{
	out->mode = mode;
	out->modes = mode;
	out->why = why;
	/* Whoever may read back may as well send a message. */
	if (mode == KFB_FLUSH_READBACK)
		out->modes |= KFB_FLUSH_MESSAGE;
}

/* Memory that the CPU writes back by cache lines, or need not at all. */
static void promise_pmem(const struct brick_facts *facts,
			 enum brick_placing placing,
			 struct brick_durability *out)
{
	if (facts->granularity == BRICK_GRANULARITY_BYTE &&
	    facts->domain == BRICK_DOMAIN_CACHES &&
	    placing != BRICK_PLACED_BY_CPU) {
		set_mode(out, KFB_FLUSH_READBACK, KFB_WHY_EADR);
	} else if (brick_medium_is_never_flushed(facts) ||
		   (facts->domain == BRICK_DOMAIN_UNKNOWN &&
		    facts->persistence != BRICK_PERSISTENCE_BATTERY)) {
		set_mode(out, KFB_FLUSH_MESSAGE, KFB_WHY_UNPROVEN);
		out->is_unsafe = true;
	} else if (placing != BRICK_PLACED_BY_DEVICE) {
		set_mode(out, KFB_FLUSH_MESSAGE, KFB_WHY_CPU_PLACED);
	} else if (facts->ddio == BRICK_DDIO_OFF) {
		set_mode(out, KFB_FLUSH_READBACK, KFB_WHY_ADR_NODDIO);
	} else {
		set_mode(out, KFB_FLUSH_MESSAGE, KFB_WHY_ADR_DDIO);
	}
}

void brick_durability_of(const struct brick_facts *facts,
			 enum brick_placing placing,
			 struct brick_durability *out)
{
	*out = (struct brick_durability){ 0 };
	if (brick_medium_is_volatile(facts))
		set_mode(out, KFB_FLUSH_NONE, KFB_WHY_VOLATILE);
	else if (facts->granularity == BRICK_GRANULARITY_PAGE)
		set_mode(out, KFB_FLUSH_MESSAGE, KFB_WHY_FILE);
	else
		promise_pmem(facts, placing, out);
	if (facts->persistence != BRICK_PERSISTENCE_ASSUME_READBACK ||
	    out->mode == KFB_FLUSH_READBACK)
		return;
	/* None stays on offer beside it nowhere: it would contradict. */
	out->modes = KFB_FLUSH_READBACK | (out->modes & KFB_FLUSH_MESSAGE);
	out->mode = KFB_FLUSH_READBACK;
	out->why = KFB_WHY_ASSUMED;
	out->is_unsafe = true;
}
