/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal while a live view has it: another screen, no echo, keys one by
 * one. It is given back however the view ends.
 *
 * Signals that end or stop a program are only noted while the view runs;
 * ctl_terminal_wait() tells of them.
 */
#ifndef BRICKCTL_TERMINAL_H
#define BRICKCTL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Are both standard input and output a terminal? */
bool ctl_terminal_is_there(void);

/**
 * ctl_terminal_start - take the terminal
 *
 * Return: 0 or -errno.
 */
int ctl_terminal_start(void);

/* Gives it back, once. */
void ctl_terminal_stop(void);

/* Rows and columns as they are now; 24 and 80 when that cannot be told. */
void ctl_terminal_size(unsigned int *rows, unsigned int *columns);

enum ctl_terminal_event {
	CTL_TERMINAL_TIME, /* the time is over */
	CTL_TERMINAL_RESIZED, /* or shown again: draw */
	CTL_TERMINAL_QUIT, /* q, or the terminal is gone */
	CTL_TERMINAL_SIGNAL, /* one that ends programs */
};

/**
 * ctl_terminal_wait - wait for the user
 * @until_ms: of CLOCK_MONOTONIC
 * @signal: which, when one came
 */
enum ctl_terminal_event ctl_terminal_wait(uint64_t until_ms, int *signal);

#endif
