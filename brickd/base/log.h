/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log: one line per event on stderr: with its time on a terminal, else with a
 * syslog priority prefix. Where stderr is the journal's, it gets the line with
 * fields that tell whom it is about.
 *
 * A daemon does not wait for whoever reads its log: what finds no room is held, beyond
 * a bound it is lost and counted, and a line says how many (log_sink.h).
 *
 * Context: any thread; a line is one write(), so lines never mix. Control
 * characters are replaced, for some of the text comes from peers.
 */
#ifndef BRICKD_BASE_LOG_H
#define BRICKD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

/**
 * brick_log_open - see where stderr goes, and write for whoever reads that
 *
 * From now on a line is never waited for.
 *
 * Context: before the first other thread starts.
 */
void brick_log_open(void);

/**
 * brick_log_set_level - drop lines below a priority
 * @priority: LOG_ERR to LOG_DEBUG
 *
 * Context: any thread.
 */
void brick_log_set_level(int priority);

/**
 * brick_log_go_on - lines that found no room go out, as far as there is room now
 *
 * Context: the loop thread.
 */
void brick_log_go_on(void);

/* When to call it; KFB_TIME_NEVER: nothing waits for room. Context: as that. */
uint64_t brick_log_next_ms(void);

/**
 * brick_log_drain - at the end lines that found no room get two seconds
 *
 * Context: may wait.
 */
void brick_log_drain(void);

/* What log-level calls LOG_ERR to LOG_DEBUG; those before have names, too. */
const char *brick_log_level_name(int priority);

/**
 * brick_log - write one line
 * @priority: LOG_*
 * @who: session or connection the line is about, or NULL
 * @fmt: printf format, without a newline
 */
__attribute__((format(printf, 3, 4))) void
brick_log(int priority, const char *who, const char *fmt, ...);

/*
 * struct brick_ratelimit - a bound on lines that peers can cause
 * @interval_ms: window
 * @burst: lines per window
 * @suppressed: lines left out, in all
 *
 * The rest is private. Context: used by one thread.
 */
struct brick_ratelimit {
	uint64_t interval_ms;
	unsigned int burst;
	uint64_t suppressed;
	uint64_t begin_ms;
	unsigned int printed;
	unsigned int missed;
};

/**
 * brick_log_limited - brick_log() within a bound
 * @rl: whose window; says how many lines were left out when a window opens
 * @priority: LOG_*
 * @who: session or connection, or NULL
 * @fmt: printf format
 */
__attribute__((format(printf, 4, 5))) void
brick_log_limited(struct brick_ratelimit *rl, int priority, const char *who,
		  const char *fmt, ...);

#endif
