/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control of the fault provider from inside the kernel, for test modules. The
 * same knobs and counters are in debugfs, by the same names.
 */
#ifndef KFABRIC_FAULT_CTL_H
#define KFABRIC_FAULT_CTL_H

#include <linux/types.h>

/**
 * kfabric_fault_set() - turn a knob
 * @name: of the knob, see fault.h
 * @value: new value
 *
 * Context: any.
 * Return: 0; -ENOENT no such knob.
 */
int kfabric_fault_set(const char *name, u32 value);

/**
 * kfabric_fault_count() - read a counter
 * @name: of the counter, see fault.h
 *
 * Context: any.
 * Return: its value; -ENOENT no such counter.
 */
long kfabric_fault_count(const char *name);

/**
 * kfabric_fault_reset() - all knobs off, counters and report empty
 *
 * Context: process.
 */
void kfabric_fault_reset(void);

/**
 * kfabric_fault_cut() - the power fails now, for every connected endpoint
 *
 * Returns when all that the cut keeps is placed and all connections are down.
 *
 * Context: process.
 * Return: connections that were cut; -ETIMEDOUT not all of them came down.
 */
int kfabric_fault_cut(void);

#endif /* KFABRIC_FAULT_CTL_H */
