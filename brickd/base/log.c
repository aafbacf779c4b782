// SPDX-License-Identifier: BSD-2-Clause
/* The log: where lines go, and their rate limiter. */
#include "brickd/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifdef BRICK_HAVE_SYSTEMD
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#endif

#include "brickd/base/clock.h"

#define LOG_LINE_BYTES	1024
#define LOG_FIELD_BYTES 128

enum log_sink {
	LOG_SINK_PREFIXED, /* "<6>brickd: ...", for whoever reads stderr */
	LOG_SINK_TERMINAL, /* with the time, for people */
	LOG_SINK_JOURNAL, /* with fields */
};

static _Atomic int log_level = LOG_INFO;
static enum log_sink log_sink = LOG_SINK_PREFIXED;

const char *brick_log_level_name(int priority)
{
	static const char *const names[] = {
		[LOG_EMERG] = "emergency", [LOG_ALERT] = "alert",
		[LOG_CRIT] = "critical",   [LOG_ERR] = "error",
		[LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
		[LOG_INFO] = "info",	   [LOG_DEBUG] = "debug",
	};

	return names[LOG_PRI(priority)];
}

void brick_log_set_level(int priority)
{
	log_level = priority;
}

#ifdef BRICK_HAVE_SYSTEMD

/* systemd.exec(5): the journal's end of stderr, as "DEVICE:INODE". */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	char *end;

	if (!stream)
		return false;
	device = strtoull(stream, &end, 10);
	if (end == stream || *end != ':')
		return false;
	stream = end + 1;
	inode = strtoull(stream, &end, 10);
	return end != stream && !*end && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == device && st.st_ino == inode;
}

struct journal_field {
	char text[LOG_FIELD_BYTES];
};

/*
 * What a line is about, as fields: "session ID client NAME queue N PEER", or a
 * part of it, comes apart at its blanks; no name has any.
 */
static int fields_of(const char *who, struct journal_field *fields, int max)
{
	static const struct {
		const char *word;
		const char *field;
	} known[] = {
		{ "session", "KFBRICK_SESSION" },
		{ "client", "KFBRICK_CLIENT" },
		{ "queue", "KFBRICK_QUEUE" },
	};
	char copy[LOG_LINE_BYTES], *word, *rest = copy;
	const char *field;
	int n = 0;

	(void)snprintf(copy, sizeof(copy), "%s", who);
	while (n < max && (word = strsep(&rest, " "))) {
		field = "KFBRICK_PEER";
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(word, known[i].word))
				field = known[i].field;
		if (strcmp(field, "KFBRICK_PEER") != 0)
			word = strsep(&rest, " ");
		if (word)
			(void)snprintf(fields[n++].text, LOG_FIELD_BYTES,
				       "%s=%.100s", field, word);
	}
	return n;
}

/* Return: whether the journal has taken it. */
static bool send_to_journal(int priority, const char *who, const char *message)
{
	enum {
		FIXED = 3,
		ABOUT = 4
	};
	struct journal_field level, about[ABOUT];
	char text[LOG_LINE_BYTES + sizeof("MESSAGE=")];
	struct iovec iov[FIXED + ABOUT];
	int n = who ? fields_of(who, about, ABOUT) : 0;

	(void)snprintf(text, sizeof(text), "MESSAGE=%s", message);
	(void)snprintf(level.text, sizeof(level.text), "PRIORITY=%d", priority);
	iov[0].iov_base = text;
	iov[1].iov_base = level.text;
	iov[2].iov_base = (char[]){ "SYSLOG_IDENTIFIER=brickd" };
	for (int i = 0; i < n; i++)
		iov[FIXED + i].iov_base = about[i].text;
	for (int i = 0; i < FIXED + n; i++)
		iov[i].iov_len = strlen(iov[i].iov_base);
	return sd_journal_sendv(iov, FIXED + n) >= 0;
}

#else

static bool stderr_is_journal(void)
{
	return false;
}

static bool send_to_journal(int priority, const char *who, const char *message)
{
	return false;
}

#endif

void brick_log_open(void)
{
	if (stderr_is_journal())
		log_sink = LOG_SINK_JOURNAL;
	else if (isatty(STDERR_FILENO))
		log_sink = LOG_SINK_TERMINAL;
}

/* What stands before a message. Return: bytes. */
static size_t put_prefix(int priority, char *line, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	size_t len;

	if (log_sink != LOG_SINK_TERMINAL || !localtime_r(&now, &tm))
		return (size_t)snprintf(line, size, "<%d>brickd: ", priority);
	len = strftime(line, size, "%F %T brickd: ", &tm);
	if (priority <= LOG_WARNING)
		len += (size_t)snprintf(line + len, size - len,
					"%s: ", brick_log_level_name(priority));
	return len;
}

__attribute__((format(printf, 3, 0))) static void
log_line(int priority, const char *who, const char *fmt, va_list ap)
{
	char line[LOG_LINE_BYTES];
	size_t len, text, room = sizeof(line) - 1;
	ssize_t written;
	int n;

	text = put_prefix(priority, line, room);
	n = snprintf(line + text, room - text, "%s%s", who ? who : "",
		     who ? ": " : "");
	len = text + (n < 0 ? 0 : (size_t)n);
	if (len < room) {
		n = vsnprintf(line + len, room - len, fmt, ap);
		len += n < 0 ? 0 : (size_t)n;
	}
	if (len >= room)
		len = room - 1;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[len] = '\0';
	if (log_sink == LOG_SINK_JOURNAL &&
	    send_to_journal(priority, who, line + text))
		return;
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
