/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfi_target: an upper layer that takes whoever connects and leaves everything to
 * the provider: what hostile peers do to it the provider has to fend off.
 *
 * Context: process; completions: upcall.
 * Locking: target_memory_lock for the region that comes and goes.
 */
#ifndef KFI_PREY_H
#define KFI_PREY_H

#include <kfabric/fi_cm.h>
#include <kfabric/fi_rma.h>

/* memory.c: what peers may reach, between bytes that they may not. */
int target_memory_open(struct fid_domain *domain);
void target_memory_close(void);
/* End the brief region, see that nothing lands in it afterwards, begin another. */
int target_memory_turn(struct fid_domain *domain);
/* Bytes that are not what they must be, since the beginning. */
unsigned long target_memory_bad(void);
/* A line for each region: name, key, address, length. */
int target_memory_tell(char *buffer);

#endif /* KFI_PREY_H */
