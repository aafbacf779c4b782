/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC32C (Castagnoli, reflected), by ISA-L. */
#ifndef BRICKD_STORE_CRC32C_H
#define BRICKD_STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * brick_crc32c - the checksum of some bytes
 * @crc: of the bytes before these, 0 at the start
 * @data: bytes
 * @len: how many, below 2 GiB
 *
 * Context: any.
 * Return: the checksum so far; of "123456789" it is 0xe3069283.
 */
uint32_t brick_crc32c(uint32_t crc, const void *data, size_t len);

#endif
