/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines: a process each, and what of them outlives it. */
#ifndef TESTS_SIM_HOST_H
#define TESTS_SIM_HOST_H

#include "files.h"
#include "medium.h"
#include "process.h"

#define SIM_CLIENTS_MAX 6

/*
 * struct sim_host - a machine
 * @process: the program that runs on it; sim_host_of() finds the host of one
 * @medium: a brick's; NULL: it is a client's
 * @files: a brick's; NULL: it is a client's
 * @boot_id: of this boot
 * @life: of the program
 * @client: of a client's, which is alone there: its number, and 1 more
 * @denied_ns: of a brick's, by client: since when it may not write; 0: it may
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
	uint32_t client;
	uint64_t denied_ns[SIM_CLIENTS_MAX];
	bool is_off;
	uint64_t refuses_until_ns;
	uint64_t n_refused;
};

static inline struct sim_host *sim_host_of(struct sim_process *process)
{
	return (struct sim_host *)process;
}

#endif
