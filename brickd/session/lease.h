/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leases: which session's is next to end.
 *
 * All leases are equally long, so the one that was renewed first ends first:
 * a list in the order of renewal is a sorted one, and every step costs the
 * same with one session and with thousands; but for a renewal in the past,
 * which has to find its place. When two thirds have passed a
 * lease moves to a second list, and its session is told.
 *
 * Context: the loop thread. Times are milliseconds of CLOCK_BOOTTIME and are
 * passed in; they never run backwards.
 */
#ifndef BRICKD_SESSION_LEASE_H
#define BRICKD_SESSION_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proto/kfb_time.h"

/*
 * struct brick_lease - one session's; embedded in it
 * @renewed_ms: when the last message came
 * @is_running: started and not stopped
 * @is_old: two thirds have passed
 */
struct brick_lease {
	TAILQ_ENTRY(brick_lease) link;
	uint64_t renewed_ms;
	bool is_running;
	bool is_old;
};

TAILQ_HEAD(brick_lease_list, brick_lease);

/*
 * struct brick_leases - all that run
 * @length_ms: of each; 0: they never end
 */
struct brick_leases {
	uint64_t length_ms;
	struct brick_lease_list fresh;
	struct brick_lease_list old;
};

enum brick_lease_due {
	BRICK_LEASE_NONE_DUE,
	BRICK_LEASE_OLD, /* two thirds have passed, for the first time */
	BRICK_LEASE_OVER, /* it has ended: stop it, or renew it after all */
};

void brick_leases_init(struct brick_leases *leases, uint64_t length_ms);

/**
 * brick_lease_renew - a message came; the first one starts the lease
 * @leases: all
 * @lease: any
 * @now_ms: the time
 */
void brick_lease_renew(struct brick_leases *leases, struct brick_lease *lease,
		       uint64_t now_ms);

/**
 * brick_lease_renew_at - something came before now that was no message
 * @leases: all
 * @lease: one that runs; else nothing happens
 * @at_ms: when it came; nothing happens if the lease was renewed later
 *
 * Return: whether it has been renewed.
 */
bool brick_lease_renew_at(struct brick_leases *leases,
			  struct brick_lease *lease, uint64_t at_ms);
void brick_lease_stop(struct brick_leases *leases, struct brick_lease *lease);

/**
 * brick_leases_due - has anything come about?
 * @leases: all
 * @now_ms: the time
 * @out: whose lease it is
 *
 * One that is over is reported until it is stopped or renewed.
 *
 * Return: what has.
 */
enum brick_lease_due brick_leases_due(struct brick_leases *leases,
				      uint64_t now_ms,
				      struct brick_lease **out);

/* When brick_leases_due() has something next; KFB_TIME_NEVER: nothing runs. */
uint64_t brick_leases_next_ms(const struct brick_leases *leases);

/* What is left of a lease; KFB_TIME_NEVER when it does not run or end. */
uint64_t brick_lease_left_ms(const struct brick_leases *leases,
			     const struct brick_lease *lease, uint64_t now_ms);

#endif
