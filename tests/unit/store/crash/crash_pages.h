/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs on what a store has besides its records. */
#ifndef TESTS_STORE_CRASH_PAGES_H
#define TESTS_STORE_CRASH_PAGES_H

#include "crash_run.h"

/*
 * A store is opened and closed, over reboots, with one superblock or commit
 * word lost now and then. The power epoch rises when it must, and only then.
 */
void crash_run_pages(struct crash_run *run);

/* A store is formatted over another: the one, none, or the other is there. */
void crash_run_format(struct crash_run *run);

/* crash_grow.c: a store grows: it is as it was, or grown, with all it held. */
void crash_run_grow(struct crash_run *run);

#endif
