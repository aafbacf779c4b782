/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start-up self-test: does this fabric refuse what it must refuse?
 */
#ifndef BRICKD_NET_SELFTEST_H
#define BRICKD_NET_SELFTEST_H

#include <stddef.h>

#include "brickd/net/fabric.h"

/**
 * brick_selftest - try stale, foreign and read-only keys on a fabric
 * @fabric: open, not listening; learns which devices have passed
 * @err: message on failure: which key was not refused
 * @err_len: its size, bytes
 *
 * Connects to itself over each device that the address stands for. Blocks for some milliseconds, some seconds at most.
 *
 * Return: 0; -EKEYREJECTED when a write landed that must not; -errno when the
 * test could not be carried out.
 */
int brick_selftest(struct brick_fabric *fabric, char *err, size_t err_len);

#endif
