/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads kfabric/tcpwire/vectors/FILE.hex. */
#ifndef TCPWIRE_VECTOR_H
#define TCPWIRE_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many bytes; fails the test when there are none of that name. */
size_t vector_read(const char *file, const char *name, uint8_t *buf,
		   size_t cap);

#endif
