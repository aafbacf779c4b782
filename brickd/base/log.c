// SPDX-License-Identifier: BSD-2-Clause
/* The log: priority-prefixed lines on stderr and their rate limiter. */
#include "brickd/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/clock.h"

#define LOG_LINE_BYTES 1024

static int log_level = LOG_INFO;

void brick_log_set_level(int priority)
{
	log_level = priority;
}

__attribute__((format(printf, 3, 0))) static void
log_line(int priority, const char *who, const char *fmt, va_list ap)
{
	char line[LOG_LINE_BYTES];
	size_t len, room = sizeof(line) - 1;
	ssize_t written;
	int n;

	n = snprintf(line, room, "<%d>brickd: %s%s", priority, who ? who : "",
		     who ? ": " : "");
	len = n < 0 ? 0 : (size_t)n;
	if (len < room) {
		n = vsnprintf(line + len, room - len, fmt, ap);
		len += n < 0 ? 0 : (size_t)n;
	}
	if (len >= room)
		len = room - 1;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	/* Nobody is left to be told when the log cannot be written. */
	written = write(STDERR_FILENO, line, len);
	(void)written;
}

void brick_log(int priority, const char *who, const char *fmt, ...)
{
	va_list ap;

	if (priority > log_level)
		return;
	va_start(ap, fmt);
	log_line(priority, who, fmt, ap);
	va_end(ap);
}

void brick_log_limited(struct brick_ratelimit *rl, int priority,
		       const char *who, const char *fmt, ...)
{
	uint64_t now_ms = brick_now_ms();
	va_list ap;

	if (priority > log_level)
		return;
	if (!rl->begin_ms || now_ms - rl->begin_ms >= rl->interval_ms) {
		if (rl->missed)
			brick_log(priority, NULL,
				  "%u lines like the next were left out",
				  rl->missed);
		rl->begin_ms = now_ms;
		rl->printed = 0;
		rl->missed = 0;
	}
	if (rl->printed >= rl->burst) {
		rl->missed++;
		rl->suppressed++;
		return;
	}
	rl->printed++;
	va_start(ap, fmt);
	log_line(priority, who, fmt, ap);
	va_end(ap);
}
