/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The test of kfabric_lnd: a node that loads another one with puts, gets and pings, and is
 * loaded by it. Each transaction has a number, by which both know what became of it.
 */
#ifndef LT_H
#define LT_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <kfabric/klnd.h>

/* Match bits that a node knows. */
#define LT_DATA	  1 /* bytes of the transaction's pattern */
#define LT_REPORT 2 /* get: struct lt_report */
#define LT_SHORT  3 /* a buffer that is too short */
#define LT_NONE	  4 /* nobody's */

#define LT_NUMBERS	 (1U << 22) /* transactions of one node at most */
#define LT_SINKS	 16 /* more than the peer has credits */
#define LT_DEPTH_MAX	 32
#define LT_BYTES_MIN	 SZ_1K /* which is immediate, as 2 KiB are */
#define LT_BYTES_MAX	 SZ_1M
#define LT_RESULTS_BYTES SZ_16K

/**
 * struct lt_report - what a node has seen of another one's transactions
 * @twice: that came again after they were taken on, or were over again
 * @bad: puts with wrong bytes
 * @puts: that are done
 * @gets: that are done
 * @begun: bits: numbers that were taken on
 * @done: bits: numbers that are done
 */
struct lt_report {
	u64 twice;
	u64 bad;
	u64 puts;
	u64 gets;
	unsigned long begun[BITS_TO_LONGS(LT_NUMBERS)];
	unsigned long done[BITS_TO_LONGS(LT_NUMBERS)];
};

static_assert(sizeof(struct lt_report) > LT_BYTES_MAX &&
	      sizeof(struct lt_report) <= 2 * LT_BYTES_MAX);

/* A put or get of a peer's that goes on. */
struct lt_sink {
	bool is_used;
	u8 *bytes;
};

struct lt_slot;

/**
 * struct lt_node - a node
 * @net: its net
 * @nid: its number
 * @peer: the other's number
 * @lock: @sinks, @report, @done, and the counts
 * @sinks: for the peer's transactions
 * @report: of the peer's transactions
 * @slots: of ours
 * @done: bits: numbers of ours that are done
 * @ended: bits: numbers of ours that are over
 * @next: number of the next one
 * @under_way: of ours
 * @puts: of ours that are done
 * @gets: of ours that are done
 * @pings: of ours that are done
 * @failed: of ours that ended otherwise
 * @bad: gets with wrong bytes
 * @twice: that ended again
 * @mib: moved, in bytes
 * @last_error: of the last one that failed
 * @until: jiffies at which the load stops
 * @idle: nothing is under way
 */
struct lt_node {
	struct klnd_net *net;
	u64 nid;
	u64 peer;
	spinlock_t lock;
	struct lt_sink sinks[LT_SINKS];
	struct lt_report *report;
	struct lt_slot *slots;
	unsigned long *done;
	unsigned long *ended;
	u64 next;
	unsigned int under_way;
	u64 puts;
	u64 gets;
	u64 pings;
	u64 failed;
	u64 bad;
	u64 twice;
	u64 mib;
	int last_error;
	unsigned long until;
	wait_queue_head_t idle;
};

/* main.c */
extern unsigned int lt_count, lt_seconds, lt_depth, lt_timeout_ms;
void lt_line(const char *format, ...) __printf(1, 2);
bool lt_point(bool ok, const char *format, ...) __printf(2, 3);
int lt_node_open(struct lt_node *n, u64 nid, u64 incarnation, const char *prov,
		 const char *node, unsigned int port);
void lt_node_close(struct lt_node *n);

/* serve.c */
extern const struct klnd_ops lt_ops;
int lt_serve_alloc(struct lt_node *n);
void lt_serve_free(struct lt_node *n);
void lt_pattern_fill(u8 *bytes, size_t len, u64 number);
bool lt_pattern_is(const u8 *bytes, size_t len, u64 number);

/* load.c */
int lt_load_alloc(struct lt_node *n);
void lt_load_free(struct lt_node *n);
void lt_load_begin(struct lt_node *n);
void lt_load_end(struct lt_node *n);
void lt_load_verify(struct lt_node *n);

enum lt_what {
	LT_PUT,
	LT_GET,
	LT_PING,
};
int lt_once(struct lt_node *n, enum lt_what what, u64 peer, u64 match,
	    void *bytes, size_t len, u32 timeout_ms);

/* cases.c */
void lt_cases(struct lt_node *a, struct lt_node *b, const char *prov,
	      const char *node, unsigned int port);

/* hostile.c */
void lt_hostile(const char *prov, const char *node, unsigned int port);

#endif /* LT_H */
