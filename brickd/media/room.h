/* SPDX-License-Identifier: BSD-2-Clause */
/* Room of a file for what is written to it. */
#ifndef BRICKD_MEDIA_ROOM_H
#define BRICKD_MEDIA_ROOM_H

#include <stdint.h>

/**
 * brick_room_take - allocate a range of a file, or nothing
 * @fd: of the file
 * @offset: in bytes
 * @len: in bytes, above 0
 *
 * posix_fallocate() takes what there is before it finds that it is too little:
 * for a while nobody else who writes to that file system has room. What cannot
 * fit is refused before.
 *
 * Context: sleeps.
 * Return: 0 or errno, as posix_fallocate() does; ENOSPC.
 */
int brick_room_take(int fd, uint64_t offset, uint64_t len);

#endif
