/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of the files FILE.hex of a folder of vectors. */
#ifndef TEST_VECTOR_H
#define TEST_VECTOR_H

#include <stddef.h>

/*
 * Reads the bytes called @name from @file, without .hex, of the folder that VECTORS names
 * in the environment. Returns how many there are; fails the test when there are none, or
 * more than @cap.
 */
size_t vector_read(const char *file, const char *name, void *buf, size_t cap);

#endif
