/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What malloc() and its like are in the simulated world: each process has memory
 * of its own, which goes with it when it is killed.
 */
#ifndef TESTS_SIM_MEMORY_H
#define TESTS_SIM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define SIM_PROCESSES_MAX 16

/* The same addresses in every run: what depends on them is the seed's, too. */
#define SIM_MEMORY_AT UINT64_C(0x200000000000)
#define SIM_MEDIUM_AT UINT64_C(0x210000000000)
#define SIM_FILES_AT  UINT64_C(0x220000000000)

/* Zeroed memory of the world's own at an address. */
void *sim_map(uint64_t at, uint64_t len);

/* The next allocation but so many - 1 of a process fails, and @n in all; 0: none does. */
void sim_memory_fail_after(uint32_t process, uint32_t allocations, uint32_t n);
/* How many have failed since it was started. */
uint32_t sim_memory_failures(uint32_t process);

/* How many bytes a piece of memory of a process has at least that begins there. */
size_t sim_memory_room(const void *at);

/* Is all that a process has freed as it was then? */
void sim_memory_look(uint32_t process);

/* All that a process had is free again. */
void sim_memory_forget(uint32_t process);

#endif
