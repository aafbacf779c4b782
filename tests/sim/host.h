/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines: a process each, and what of them outlives it. */
#ifndef TESTS_SIM_HOST_H
#define TESTS_SIM_HOST_H

#include "files.h"
#include "medium.h"
#include "process.h"

/*
 * struct sim_host - a machine
 * @process: the program that runs on it; sim_host_of() finds the host of one
 * @medium: a brick's; NULL: it is a client's
 * @files: likewise
 * @boot_id: of this boot
 * @life: of the program
 * @is_off: its power is off: nobody answers
 * @refuses_until_ns: its card lets nobody write to the medium before
 * @n_refused: how often it has not
 */
struct sim_host {
	struct sim_process process;
	struct sim_medium *medium;
	struct sim_files *files;
	uint8_t boot_id[16];
	uint32_t life;
	bool is_off;
	uint64_t refuses_until_ns;
	uint64_t n_refused;
};

static inline struct sim_host *sim_host_of(struct sim_process *process)
{
	return (struct sim_host *)process;
}

#endif
