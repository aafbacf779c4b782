/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for the administrator, from the media and the store. */
#ifndef BRICKD_MEDIA_MEDIA_SAY_H
#define BRICKD_MEDIA_MEDIA_SAY_H

#include <stddef.h>

/**
 * brick_media_say - write a message, always terminated
 * @err: where
 * @err_len: its size, bytes
 * @fmt: as printf
 *
 * Context: any.
 */
__attribute__((format(printf, 3, 4))) void
brick_media_say(char *err, size_t err_len, const char *fmt, ...);

#endif
