/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The power-failure model: what a power cut does to remote writes.
 *
 * Freestanding: compiles in the kernel and in user space; the caller brings
 * the memory and the locking (none inside).
 *
 * State: N[c], for each connection the lines of 64 bytes that its writes have
 * left in NIC and bus buffers; L, the lines in the CPU's cache (only with
 * ddio); M, the media, which is the caller's. Lines that reach M, and what a
 * power cut loses, come out of fault_power_pop().
 *
 *   write -> N[c] --step (probability p), empty, squeeze--> L or out
 *            L --flush, squeeze--> out                    out --pop--> M
 *
 * Rules, each with a flag that breaks it, so that tests can show that they
 * notice (enum fault_power_bug):
 *   - lines leave N[c] in any order, but those of one address in the order
 *     of writing;
 *   - a completed READ, or a FLUSH message received, on c empties N[c], and
 *     no other connection's;
 *   - without ddio a line leaves N for M, with ddio for L;
 *   - only a flush of its range moves a line from L to M;
 *   - a power cut drops, keeps or tears (at 8 bytes) each line of N, and
 *     keeps or drops each line of L. With eadr it keeps L, but never N;
 *   - destroying c's endpoint drains or drops N[c].
 *
 * Bound: the lines given to fault_power_init(). When all are taken,
 * fault_power_write() takes less than it was given; the caller then calls
 * fault_power_squeeze(), which pushes the oldest line on, as full buffers of
 * hardware do, pops it, and writes the rest.
 */
#ifndef KFABRIC_FAULT_POWER_H
#define KFABRIC_FAULT_POWER_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#define FAULT_LINE     64 /* bytes of a line */
#define FAULT_ATOM     8 /* bytes that are written whole or not at all */
#define FAULT_PERMILLE 1000
#define FAULT_BUCKETS  256 /* a power of two */

/**
 * struct fault_line - (part of) a line
 * @space: which memory: a key, or whatever the caller tells spaces apart by
 * @addr: multiple of FAULT_LINE
 * @mask: bit i: byte i of @data is to be written
 * @lost: bit i: byte i was lost in a power cut or with its endpoint
 * @conn: connection that wrote it
 * @next: private
 * @next_kept: private
 * @data: the bytes
 */
struct fault_line {
	__u64 space;
	__u64 addr;
	__u64 mask;
	__u64 lost;
	__u32 conn;
	__u32 next;
	__u32 next_kept;
	__u8 data[FAULT_LINE];
};

/* A list of lines, oldest first. */
struct fault_queue {
	__u32 head;
	__u32 tail;
	__u32 count;
};

/* Rules to break, for tests of tests. */
enum fault_power_bug {
	FAULT_BUG_NONE,
	FAULT_BUG_ADDRESS_ORDER, /* a step may swap writes of one address */
	FAULT_BUG_EMPTY_ALL, /* a READ empties every connection */
	FAULT_BUG_EMPTY_NONE, /* a READ empties nothing */
	FAULT_BUG_DDIO_IGNORED, /* with ddio, N still drains to M */
	FAULT_BUG_READ_FLUSHES_L, /* a READ moves L to M */
	FAULT_BUG_CUT_KEEPS, /* a power cut loses nothing */
	FAULT_BUG_NO_TEAR, /* lines are lost whole */
	FAULT_BUG_EADR_KEEPS_N, /* eadr covers N */
	FAULT_BUG_LANDS_LATE, /* destroyed endpoints' lines stay in N */
};

/**
 * struct fault_power_cfg - how it behaves
 * @seed: of the generator; the same calls then give the same results
 * @drain_permille: probability that a line leaves N in a step
 * @ddio: inbound DMA is allocated in the CPU's cache
 * @eadr: the CPU's cache is in the persistence domain
 * @bug: FAULT_BUG_NONE
 */
struct fault_power_cfg {
	__u64 seed;
	__u32 drain_permille;
	_Bool ddio;
	_Bool eadr;
	enum fault_power_bug bug;
};

/**
 * struct fault_power - the state
 * @cfg: may be changed between calls
 * @rng: state of the generator
 * @lines: all lines
 * @conns: N[c]
 * @nr_conns: number of @conns
 * @free: lines not in use
 * @cache: L
 * @out: lines to be popped
 * @kept: private to one pass over a queue
 */
struct fault_power {
	struct fault_power_cfg cfg;
	__u64 rng;
	struct fault_line *lines;
	struct fault_queue *conns;
	__u32 nr_conns;
	struct fault_queue free;
	struct fault_queue cache;
	struct fault_queue out;
	__u32 kept[FAULT_BUCKETS];
};

/**
 * fault_random() - the next number of a generator
 * @state: its state, any start value
 *
 * Return: 64 random bits (splitmix64).
 */
__u64 fault_random(__u64 *state);

/**
 * fault_chance() - decide by a generator
 * @state: its state
 * @permille: probability of true
 *
 * Return: the decision.
 */
_Bool fault_chance(__u64 *state, __u32 permille);

/**
 * fault_power_init() - start with empty buffers
 * @fp: out
 * @cfg: copied
 * @lines: memory for @nr_lines lines, at least 2
 * @nr_lines: the bound
 * @conns: memory for @nr_conns queues, at least 1
 * @nr_conns: connections
 *
 * Return: 0; -EINVAL too few lines or connections.
 */
int fault_power_init(struct fault_power *fp, const struct fault_power_cfg *cfg,
		     struct fault_line *lines, __u32 nr_lines,
		     struct fault_queue *conns, __u32 nr_conns);

/**
 * fault_power_write() - a write arrives
 * @fp: state
 * @conn: connection
 * @space: which memory
 * @addr: first byte
 * @data: bytes
 * @len: their number; @addr + @len must not overflow
 *
 * Return: bytes taken; less than @len: no free line, see the head of the file.
 */
__u32 fault_power_write(struct fault_power *fp, __u32 conn, __u64 space,
			__u64 addr, const void *data, __u32 len);

/**
 * fault_power_step() - time passes
 * @fp: state
 *
 * Each line of N leaves it with the configured probability.
 */
void fault_power_step(struct fault_power *fp);

/**
 * fault_power_empty() - a READ completes or a FLUSH message is received
 * @fp: state
 * @conn: on this connection: N[@conn] is empty afterwards
 */
void fault_power_empty(struct fault_power *fp, __u32 conn);

/**
 * fault_power_flush() - the peer flushes its CPU's cache (CLWB and SFENCE)
 * @fp: state
 * @space: which memory
 * @addr: first byte
 * @len: bytes
 */
void fault_power_flush(struct fault_power *fp, __u64 space, __u64 addr,
		       __u64 len);

/**
 * fault_power_squeeze() - push the oldest line on, to make room
 * @fp: state
 * @conn: connection to prefer; the others, then L, come after it
 *
 * Return: 0, pop the line now; -ENOENT nothing is held.
 */
int fault_power_squeeze(struct fault_power *fp, __u32 conn);

/**
 * fault_power_destroy() - an endpoint is destroyed
 * @fp: state
 * @conn: its connection, free for another one afterwards
 * @drain: its lines drain; else they are lost
 */
void fault_power_destroy(struct fault_power *fp, __u32 conn, _Bool drain);

/**
 * fault_power_cut() - the power fails
 * @fp: state; N and L are empty afterwards
 *
 * What was dropped or torn comes out of fault_power_pop() with its @lost set.
 */
void fault_power_cut(struct fault_power *fp);

/**
 * fault_power_pop() - take the next line that leaves the model
 * @fp: state
 * @line: out; write the bytes of @line->mask to M, report those of
 *	@line->lost
 *
 * Return: false: there is none.
 */
_Bool fault_power_pop(struct fault_power *fp, struct fault_line *line);

/**
 * fault_power_torn() - some of a line's pieces of FAULT_ATOM bytes
 * @fp: state, for its generator
 *
 * Return: mask of their bytes.
 */
__u64 fault_power_torn(struct fault_power *fp);

/**
 * fault_power_held() - lines of a connection that have not drained
 * @fp: state
 * @conn: connection
 *
 * Return: their number.
 */
static inline __u32 fault_power_held(const struct fault_power *fp, __u32 conn)
{
	return fp->conns[conn].count;
}

#endif /* KFABRIC_FAULT_POWER_H */
