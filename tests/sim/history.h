/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is what several clients have seen of one 8-byte word the history of a word?
 *
 * Every write has a value of its own, so that it is known which write a read has
 * seen. Then all that is done with one value lies in a zone of time: from the
 * first end of one of those operations to the last beginning of one. A history is
 * linearizable when no two zones that run forward overlap, and none that runs
 * backward lies within one that runs forward (Gibbons and Korach, Testing shared
 * memories, SIAM Journal on Computing 26, 1997).
 *
 * A write counts as ended when it is durable. After a loss of power the word has
 * a value that no durable write had overwritten; which one, the first read tells.
 */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_HISTORY_MAX	   512
#define SIM_CANDIDATES_MAX 64

/* An operation: it has ended at @end_ns, or SIM_NEVER: nobody knows. */
struct sim_history_op {
	bool is_write;
	uint64_t value;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/*
 * struct sim_history - of one word, since the power failed last
 * @name: for the story
 * @power_ns: then the power failed last
 * @n: operations of @ops
 * @has_first: @first was read, and nobody has written it since
 * @n_candidates: values that it may have had when the power came back
 * @is_overrun: there were more than are kept: nothing is checked any more
 */
struct sim_history {
	uint32_t name;
	uint64_t power_ns;
	uint32_t n;
	struct sim_history_op ops[SIM_HISTORY_MAX];
	bool has_first;
	uint64_t first;
	uint32_t n_candidates;
	uint64_t candidates[SIM_CANDIDATES_MAX];
	bool is_overrun;
};

/* A new one, of a word that is zero. */
void sim_history_init(struct sim_history *h, uint32_t name);

/* A write begins; it ends with sim_history_written(), or never. */
void sim_history_write(struct sim_history *h, uint64_t value);
void sim_history_written(struct sim_history *h, uint64_t value);
/* A read that began at @begin_ns has ended; of the time before the power failed it
 * tells nothing.
 */
void sim_history_read(struct sim_history *h, uint64_t value, uint64_t begin_ns);

/* The power has failed: checks what was, and begins anew. */
void sim_history_power(struct sim_history *h);

/* Calls sim_violated() if it is none. */
void sim_history_check(struct sim_history *h);

#endif
