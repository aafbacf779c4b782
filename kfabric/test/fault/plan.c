// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: knobs, counters, chance, and the report of lost lines.
 *
 * Locking: plan_lock (irq-safe, a leaf) protects the generator and the
 * report. Knobs and counters are single words.
 */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "fault.h"

u32 fault_knobs[FAULT_NR_KNOBS];
atomic_long_t fault_counters[FAULT_NR_COUNTERS];

const char *const fault_knob_names[FAULT_NR_KNOBS] = {
#define X(name, text) #name,
	FAULT_KNOBS(X)
#undef X
};

const char *const fault_counter_names[FAULT_NR_COUNTERS] = {
#define X(name) #name,
	FAULT_COUNTERS(X)
#undef X
};

#define X(name, text)                                                         \
	module_param_named(name, fault_knobs[FAULT_KNOB_##name], uint, 0644); \
	MODULE_PARM_DESC(name, text);
FAULT_KNOBS(X)
#undef X

u64 fault_seed = 1;
module_param_named(seed, fault_seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of all random decisions");

static DEFINE_SPINLOCK(fault_plan_lock);
static u64 fault_rng;
static struct fault_loss fault_losses[FAULT_REPORT];
static size_t
	fault_nr_losses; /* may exceed FAULT_REPORT: the first ones are kept */

void fault_reseed(u64 seed)
{
	unsigned long irq;

	spin_lock_irqsave(&fault_plan_lock, irq);
	fault_seed = seed;
	fault_rng = seed;
	spin_unlock_irqrestore(&fault_plan_lock, irq);
}

u64 fault_next_seed(void)
{
	unsigned long irq;
	u64 seed;

	spin_lock_irqsave(&fault_plan_lock, irq);
	seed = fault_random(&fault_rng);
	spin_unlock_irqrestore(&fault_plan_lock, irq);
	return seed;
}

bool fault_nth(enum fault_knob knob)
{
	u32 left = READ_ONCE(fault_knobs[knob]), old;

	while (left) {
		old = cmpxchg(&fault_knobs[knob], left, left - 1);
		if (old == left)
			return left == 1;
		left = old;
	}
	return false;
}

bool fault_by_chance(enum fault_knob knob)
{
	u32 permille = READ_ONCE(fault_knobs[knob]);
	unsigned long irq;
	bool yes;

	if (!permille)
		return false;
	spin_lock_irqsave(&fault_plan_lock, irq);
	yes = fault_chance(&fault_rng, permille);
	spin_unlock_irqrestore(&fault_plan_lock, irq);
	return yes;
}

/* ---- the report -------------------------------------------------------- */

void fault_report(u32 ep, const struct fault_line *line)
{
	unsigned long irq;

	fault_count(lost_lines);
	fault_count_add(lost_bytes, hweight64(line->lost));
	spin_lock_irqsave(&fault_plan_lock, irq);
	if (fault_nr_losses < FAULT_REPORT)
		fault_losses[fault_nr_losses] =
			(struct fault_loss){ .ep = ep,
					     .key = line->space,
					     .addr = line->addr,
					     .lost = line->lost };
	fault_nr_losses++;
	spin_unlock_irqrestore(&fault_plan_lock, irq);
}

/* Copy one entry; returns how many lines were lost in all. */
size_t fault_report_get(size_t index, struct fault_loss *loss)
{
	unsigned long irq;
	size_t n;

	spin_lock_irqsave(&fault_plan_lock, irq);
	n = fault_nr_losses;
	if (index < min_t(size_t, n, FAULT_REPORT))
		*loss = fault_losses[index];
	spin_unlock_irqrestore(&fault_plan_lock, irq);
	return n;
}

void fault_report_clear(void)
{
	unsigned long irq;

	spin_lock_irqsave(&fault_plan_lock, irq);
	fault_nr_losses = 0;
	spin_unlock_irqrestore(&fault_plan_lock, irq);
}

/* ---- for test modules -------------------------------------------------- */

int kfabric_fault_set(const char *name, u32 value)
{
	int i = match_string(fault_knob_names, FAULT_NR_KNOBS, name);

	if (i < 0)
		return -ENOENT;
	WRITE_ONCE(fault_knobs[i], value);
	return 0;
}
EXPORT_SYMBOL_GPL(kfabric_fault_set);

long kfabric_fault_count(const char *name)
{
	int i = match_string(fault_counter_names, FAULT_NR_COUNTERS, name);

	return i < 0 ? -ENOENT : atomic_long_read(&fault_counters[i]);
}
EXPORT_SYMBOL_GPL(kfabric_fault_count);

void kfabric_fault_reset(void)
{
	int i;

	for (i = 0; i < FAULT_NR_KNOBS; i++)
		WRITE_ONCE(fault_knobs[i], 0);
	for (i = 0; i < FAULT_NR_COUNTERS; i++)
		atomic_long_set(&fault_counters[i], 0);
	fault_report_clear();
}
EXPORT_SYMBOL_GPL(kfabric_fault_reset);
