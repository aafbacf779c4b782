// SPDX-License-Identifier: BSD-2-Clause
/*
 * The line that shows how far long work has come: share, amount, rate and time
 * left. Each drawing is one write over the line before, so nothing flickers.
 */
#include "initiator/brickctl/base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "initiator/brickctl/base/clock.h"

/* Work that is done sooner shows nothing. */
#define FIRST_MS 500
#define EVERY_MS 200

#define LINE_BYTES	160
#define COLUMNS_DEFAULT 80
#define S_PER_MINUTE	60
#define S_PER_HOUR	3600
#define HOURS_SHOWN_MAX 9999

#define CLEAR_REST "\033[K"

void ctl_progress_start(struct ctl_progress *p, struct ctl *ctl,
			const char *doing, uint64_t total_bytes)
{
	*p = (struct ctl_progress){
		.ctl = ctl,
		.doing = doing,
		.total_bytes = total_bytes,
		.start_ns = ctl_now_ns(),
		.next_ns = UINT64_MAX,
	};
	if (ctl->quiet || ctl->json || !isatty(STDERR_FILENO))
		return;
	p->next_ns = p->start_ns + FIRST_MS * CTL_NS_PER_MS;
	ctl->progress = p;
}

static int time_left(char *to, size_t size, uint64_t s)
{
	uint64_t hours = s / S_PER_HOUR;

	if (hours > HOURS_SHOWN_MAX)
		return snprintf(to, size, ", more than a year left");
	if (hours)
		return snprintf(to, size, ", %" PRIu64 ":%02u:%02u left", hours,
				(unsigned int)(s % S_PER_HOUR / S_PER_MINUTE),
				(unsigned int)(s % S_PER_MINUTE));
	return snprintf(to, size, ", %u:%02u left",
			(unsigned int)(s / S_PER_MINUTE),
			(unsigned int)(s % S_PER_MINUTE));
}

/* "reading  42 %, 1.2 GiB of 3 GiB, 210.0 MiB/s, 0:09 left" */
static void describe_progress(const struct ctl_progress *p, uint64_t now_ns,
			      char *line)
{
	double seconds = (double)(now_ns - p->start_ns) / CTL_NS_PER_S;
	double rate = (double)p->done_bytes / seconds;
	char total[CTL_SIZE_TEXT_BYTES];
	char speed[CTL_SIZE_TEXT_BYTES];
	char done[CTL_SIZE_TEXT_BYTES];
	int len;

	ctl_size_text(done, p->done_bytes);
	ctl_size_text(speed, (uint64_t)rate);
	if (!p->total_bytes) {
		snprintf(line, LINE_BYTES, "%s: %s, %s/s", p->doing, done,
			 speed);
		return;
	}
	len = snprintf(line, LINE_BYTES, "%s: %3.0f %%, %s of %s, %s/s",
		       p->doing,
		       100.0 * (double)p->done_bytes / (double)p->total_bytes,
		       done, ctl_size_text(total, p->total_bytes), speed);
	if (rate >= 1 && len > 0 && len < LINE_BYTES)
		time_left(line + len, LINE_BYTES - (size_t)len,
			  (uint64_t)((double)(p->total_bytes - p->done_bytes) /
				     rate));
}

void ctl_progress_add(struct ctl_progress *p, uint64_t bytes)
{
	int columns = COLUMNS_DEFAULT;
	char line[LINE_BYTES];
	struct winsize size;
	uint64_t now_ns;

	p->done_bytes += bytes;
	if (p->next_ns == UINT64_MAX)
		return;
	now_ns = ctl_now_ns();
	if (now_ns < p->next_ns)
		return;
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 2)
		columns = size.ws_col;
	describe_progress(p, now_ns, line);
	/* One column is left free: a full line wraps on some terminals. */
	fprintf(stderr, "\r%.*s" CLEAR_REST, columns - 1, line);
	fflush(stderr);
	p->shown = true;
	p->next_ns = now_ns + EVERY_MS * CTL_NS_PER_MS;
}

void ctl_progress_hide(struct ctl_progress *p)
{
	if (!p->shown)
		return;
	fputs("\r" CLEAR_REST, stderr);
	fflush(stderr);
	p->shown = false;
}

void ctl_progress_stop(struct ctl_progress *p)
{
	ctl_progress_hide(p);
	p->next_ns = UINT64_MAX;
	if (p->ctl)
		p->ctl->progress = NULL;
}
