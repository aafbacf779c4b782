/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks in the log of a dm-log-writes device: they tell what had happened when
 * the writes before them had been logged.
 */
#ifndef TESTS_POWERFAIL_MARK_H
#define TESTS_POWERFAIL_MARK_H

#include <stdint.h>

/**
 * struct marks - where they go
 * @fd: the device mapper's control file
 * @name: of the device
 */
struct marks {
	int fd;
	const char *name;
};

/* Return: 0, or -errno. */
int marks_open(struct marks *m, const char *name);

/* Puts a number into the log. Return: 0, or -errno. */
int marks_put(const struct marks *m, uint64_t number);

#endif
