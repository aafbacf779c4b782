/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the worlds have been: which moves of the protocol's state tables were
 * made, and what clients' sessions were in when a fault befell.
 */
#ifndef TESTS_SIM_COVERAGE_H
#define TESTS_SIM_COVERAGE_H

#include <stdint.h>

#define SIM_FAULT_KINDS_MAX 32

/* A fault of a kind befalls while a client's session is in a state. */
void sim_cover_fault(uint32_t kind, uint32_t client_state);

/* @names: of the kinds of faults. */
void sim_coverage_print(const char *const *names, uint32_t n);

/* Of the disk and its blocks; part of the above. */
void sim_coverage_print_disk(void);

#endif
