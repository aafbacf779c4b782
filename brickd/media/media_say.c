// SPDX-License-Identifier: BSD-2-Clause
/* Messages for the administrator. */
#include "brickd/media/media_say.h"

#include <stdarg.h>
#include <stdio.h>

void brick_media_say(char *err, size_t err_len, const char *fmt, ...)
{
	va_list args;

	if (!err || !err_len)
		return;
	va_start(args, fmt);
	(void)vsnprintf(err, err_len, fmt, args);
	va_end(args);
}
