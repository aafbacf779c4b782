/* SPDX-License-Identifier: BSD-2-Clause */
/* Which mount of a file system a file is on. */
#ifndef BRICKD_MEDIA_MEDIA_FSID_H
#define BRICKD_MEDIA_MEDIA_FSID_H

#include <stdint.h>

/**
 * brick_media_fsid - a number of the file system as it is mounted now
 * @fd: an open file
 *
 * It is another one once the file system has been unmounted and mounted again
 * within a boot, and the same in all mount namespaces.
 *
 * Context: may block.
 * Return: the number, or 0: it cannot be told.
 */
uint64_t brick_media_fsid(int fd);

#endif
