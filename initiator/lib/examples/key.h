/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a client's key file: 64 hexadecimal digits, as brickctl keygen makes.
 */
#ifndef EXAMPLES_KEY_H
#define EXAMPLES_KEY_H

#include "kfbrick.h"

/* Return: 0, or -1 when the file cannot be read or holds something else. */
int read_key(const char *path, uint8_t key[KFBRICK_KEY_BYTES]);

#endif
