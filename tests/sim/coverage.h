/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the worlds have been: which moves of the protocol's state tables were
 * made, and what clients' sessions were in when a fault befell.
 */
#ifndef TESTS_SIM_COVERAGE_H
#define TESTS_SIM_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_FAULT_KINDS_MAX 32

/* A fault of a kind befalls while a client's session is in a state. */
void sim_cover_fault(uint32_t kind, uint32_t client_state);

/* What a machine's disks are in: of several the one that has moved last. */
#define SIM_NO_DISK UINT32_MAX
void sim_disks_are_nowhere(void);
void sim_disk_is_in(uint32_t process, uint32_t state);
bool sim_is_disk_in(uint32_t state);
void sim_cover_disk_fault(uint32_t kind);

/* @names: of the kinds of faults. */
void sim_coverage_print(const char *const *names, uint32_t n);

/* Of the disk and its blocks; parts of the above. */
void sim_coverage_print_disk(void);
void sim_coverage_print_disk_faults(const char *const *names, uint32_t n);

#endif
