// SPDX-License-Identifier: BSD-2-Clause
/* The log: where lines go, and their rate limiter. */
#include "brickd/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "brickd/base/clock.h"
#include "brickd/base/log_sink.h"
#include "proto/kfb_time.h"

#define LOG_LINE_BYTES	1024
#define LOG_FIELD_BYTES 128
#define LOG_FIELDS_MAX	4
#define LOG_DRAIN_MS	2000
#define LOG_AGAIN_MS	20
#define LOG_LOOK_NS	10000000

_Static_assert(LOG_LINE_BYTES + LOG_FIELDS_MAX * LOG_FIELD_BYTES + 64 <=
		       BRICK_SINK_TEXT_BYTES,
	       "a line and its fields fit into what takes them");

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

/* Neither values nor fields have a control character. Return: bytes. */
static size_t put_entry(int priority, const char *who, const char *message,
			char *entry, size_t size)
{
	struct journal_field about[LOG_FIELDS_MAX];
	int n = who ? fields_of(who, about, LOG_FIELDS_MAX) : 0;
	size_t len;

	len = (size_t)snprintf(entry, size,
			       "MESSAGE=%s\nPRIORITY=%d\n"
			       "SYSLOG_IDENTIFIER=brickd\n",
			       message, priority);
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(entry + len, size - len, "%s\n",
					about[i].text);
	return len;
}

#else

static bool stderr_is_journal(void)
{
	return false;
}

static size_t put_entry(int priority, const char *who, const char *message,
			char *entry, size_t size)
{
	return 0;
}

#endif

void brick_log_open(void)
{
	if (stderr_is_journal())
		log_sink = LOG_SINK_JOURNAL;
	else if (isatty(STDERR_FILENO))
		log_sink = LOG_SINK_TERMINAL;
	else
		log_sink = LOG_SINK_PREFIXED;
	brick_sink_open();
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

/* Who counts lines that were lost has their number, others 0. */
__attribute__((format(printf, 4, 0))) static void
log_line(int priority, const char *who, unsigned int n_counted, const char *fmt,
	 va_list ap)
{
	char line[LOG_LINE_BYTES], entry[BRICK_SINK_TEXT_BYTES];
	struct brick_sink_text out = { .line = line, .n_counted = n_counted };
	size_t len, text, room = sizeof(line) - 1;
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
	if (log_sink == LOG_SINK_JOURNAL) {
		out.entry = entry;
		out.entry_len = put_entry(priority, who, line + text, entry,
					  sizeof(entry));
	}
	line[len++] = '\n';
	out.line_len = len;
	brick_sink_put(&out);
}

__attribute__((format(printf, 2, 3))) static void
log_count(unsigned int n_counted, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_WARNING, NULL, n_counted, fmt, ap);
	va_end(ap);
}

/* Before the next line, at every level: they may have been of any. */
static void tell_lost(void)
{
	unsigned int n = brick_sink_take_lost();

	if (n)
		log_count(n,
			  "%u lines of the log were lost: nobody took them in "
			  "time",
			  n);
}

static uint64_t tried_ms;

uint64_t brick_log_next_ms(void)
{
	return brick_sink_holds() ? tried_ms + LOG_AGAIN_MS : KFB_TIME_NEVER;
}

void brick_log_go_on(void)
{
	tried_ms = brick_now_ms();
	(void)brick_sink_go_on();
	tell_lost();
}

void brick_log_drain(void)
{
	const struct timespec wait = { .tv_nsec = LOG_LOOK_NS };
	uint64_t until_ms = brick_now_ms() + LOG_DRAIN_MS;

	for (;;) {
		tell_lost();
		if (brick_sink_go_on() || brick_now_ms() >= until_ms)
			break;
		nanosleep(&wait, NULL);
	}
}

void brick_log(int priority, const char *who, const char *fmt, ...)
{
	va_list ap;

	if (priority > log_level)
		return;
	tell_lost();
	va_start(ap, fmt);
	log_line(priority, who, 0, fmt, ap);
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
	tell_lost();
	va_start(ap, fmt);
	log_line(priority, who, 0, fmt, ap);
	va_end(ap);
}
