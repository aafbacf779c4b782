/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where lines of the log go: stderr, or the journal's socket. A daemon's clients must
 * not wait for whoever reads its log: once brick_sink_open() has been called nothing
 * here waits. What finds no room is held, up to a bound, and goes out in its order as
 * soon as there is room again; beyond the bound it is counted.
 *
 * A file takes lines at once; the disk below it is the one thing that is waited for.
 * Before brick_sink_open(), in commands, lines are written and waited for.
 *
 * Context: any thread.
 * Locking: a lock of its own, a leaf, over system calls that do not wait.
 */
#ifndef BRICKD_BASE_LOG_SINK_H
#define BRICKD_BASE_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * struct brick_sink_text - one line
 * @line: as stderr gets it, with its end; at most BRICK_SINK_TEXT_BYTES
 * @line_len: of it
 * @entry: as the journal's socket gets it, or NULL
 * @entry_len: of it, at most BRICK_SINK_TEXT_BYTES
 * @n_counted: lost lines that it tells of: they are to be told of again when it is lost
 */
struct brick_sink_text {
	const char *line;
	size_t line_len;
	const char *entry;
	size_t entry_len;
	unsigned int n_counted;
};

#define BRICK_SINK_TEXT_BYTES 2048
/* Some 600 lines: a journal that starts again, a terminal that scrolls. */
#define BRICK_SINK_HELD_BYTES 65536

/**
 * brick_sink_open - from now on nobody waits for who reads stderr
 *
 * May be called again, for another stderr. Context: one thread.
 */
void brick_sink_open(void);

/**
 * brick_sink_put - a line goes out, or is held, or is lost and counted
 * @text: it
 *
 * An entry that the journal refuses goes to stderr as a line.
 */
void brick_sink_put(const struct brick_sink_text *text);

/**
 * brick_sink_go_on - what is held goes out as far as there is room
 *
 * Return: whether nothing is held any more.
 */
bool brick_sink_go_on(void);

/**
 * brick_sink_take_lost - lines that were lost, once there is room to say so
 *
 * Return: how many; the caller says so by a line that has counted them. 0: none, or
 * there is no room.
 */
unsigned int brick_sink_take_lost(void);

/* Whether lines wait for room. */
bool brick_sink_holds(void);

/* Lines that were lost, in all. */
uint64_t brick_sink_lost(void);

#endif
