/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors of the simulated world: what poll(2) and epoll(7) wait for.
 *
 * Their numbers are none of the system's, so that what is not simulated cannot
 * be mixed up with what is.
 */
#ifndef TESTS_SIM_DESCRIPTOR_H
#define TESTS_SIM_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "process.h"

struct sim_poller;

/*
 * struct sim_descriptor - something that becomes readable
 * @is_ready: is it, now?
 * @number: what programs call it
 * @poller: the epoll that it is in, or NULL
 * @data: what that gives out
 * @reader: the thread that sleeps in poll(), or NULL
 */
struct sim_descriptor {
	bool (*is_ready)(const struct sim_descriptor *descriptor);
	int number;
	struct sim_poller *poller;
	void *data;
	struct sim_thread *reader;
};

/* Gives it a number. */
void sim_descriptor_open(struct sim_descriptor *descriptor);
void sim_descriptor_close(struct sim_descriptor *descriptor);

/* It may have become ready: whoever sleeps on it looks. */
void sim_descriptor_ready(struct sim_descriptor *descriptor);

/* The process gets a signal, which its signalfd tells of; false: it has none. */
bool sim_process_signal(struct sim_process *process, int number);

#endif
