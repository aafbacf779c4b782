// SPDX-License-Identifier: BSD-2-Clause
/* Where lines of the log go, without waiting for whoever reads them. */
#include "brickd/base/log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/base/datagram.h"

#define JOURNAL_PATH "/run/systemd/journal/socket"

enum stderr_kind {
	STDERR_WAITS, /* before brick_sink_open() */
	STDERR_FILE, /* and whatever else takes a line at once */
	STDERR_SOCKET,
	STDERR_OWN_END, /* of a pipe or a terminal: sink.fd does not wait */
	STDERR_POLLED, /* what may be written to and not opened */
};

/* What is held: these, each followed by its line and its entry. */
struct held_head {
	uint16_t line_len;
	uint16_t entry_len;
};

/*
 * All that follows is under it, but that anybody may look how much is held and lost.
 * There are lines before anybody could make it.
 */
static pthread_mutex_t sink_lock;

static void __attribute__((constructor)) make_lock(void)
{
	pthread_mutex_init(&sink_lock, NULL);
}

static struct {
	enum stderr_kind kind;
	int fd;
	int journal_fd;
	_Atomic size_t n_held; /* bytes */
	size_t n_written; /* of the first line that is held */
	unsigned int n_lost; /* that nobody was told of */
	_Atomic uint64_t n_lost_ever;
	char held[BRICK_SINK_HELD_BYTES];
} sink = {
	.fd = -1,
	.journal_fd = -1,
};

/*
 * O_NONBLOCK belongs to an open file, which others have, too: a shell would find
 * its terminal so. The daemon opens what it has for itself.
 */
static enum stderr_kind open_stderr(void)
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st))
		return STDERR_FILE;
	if (S_ISSOCK(st.st_mode))
		return STDERR_SOCKET;
	if (!S_ISFIFO(st.st_mode) && !isatty(STDERR_FILENO))
		return STDERR_FILE;
	sink.fd = open("/proc/self/fd/2",
		       O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return sink.fd < 0 ? STDERR_POLLED : STDERR_OWN_END;
}

void brick_sink_open(void)
{
	pthread_mutex_lock(&sink_lock);
	if (sink.fd >= 0)
		close(sink.fd);
	sink.fd = -1;
	sink.kind = open_stderr();
	pthread_mutex_unlock(&sink_lock);
}

/* Return: bytes written, or -1 with errno EAGAIN: there is no room. */
static ssize_t write_some(const char *text, size_t len)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };

	switch (sink.kind) {
	case STDERR_SOCKET:
		return send(STDERR_FILENO, text, len,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	case STDERR_OWN_END:
		return write(sink.fd, text, len);
	case STDERR_POLLED:
		/* No more than PIPE_BUF: a pipe has room for all of it then. */
		if (!poll(&room, 1, 0)) {
			errno = EAGAIN;
			return -1;
		}
		return write(STDERR_FILENO, text, len);
	default:
		return write(STDERR_FILENO, text, len);
	}
}

/* Return: whether nothing more can be done for the line; it may be lost. */
static bool write_line(const char *line, size_t len)
{
	while (sink.n_written < len) {
		ssize_t n =
			write_some(line + sink.n_written, len - sink.n_written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0)
			break; /* Nobody is left to be told. */
		sink.n_written += (size_t)n;
	}
	sink.n_written = 0;
	return true;
}

/*
 * sd_journal_sendv() waits for a journal that takes nothing. Return: 0, -EAGAIN,
 * or another errno of a journal that is not there.
 */
static int send_entry(const char *entry, size_t len)
{
	static const struct sockaddr_un journal = { .sun_family = AF_UNIX,
						    .sun_path = JOURNAL_PATH };

	return brick_datagram_send(&sink.journal_fd, &journal, sizeof(journal),
				   entry, len);
}

static bool send_line(const char *line, size_t line_len, const char *entry,
		      size_t entry_len)
{
	int rc = -ENOENT;

	/* Half a line that stderr has got is ended there. */
	if (entry_len && !sink.n_written)
		rc = send_entry(entry, entry_len);
	if (rc == -EAGAIN)
		return false;
	return !rc || write_line(line, line_len);
}

static bool send_held(void)
{
	struct held_head head;
	const char *line;
	size_t at = 0;

	while (at < sink.n_held) {
		memcpy(&head, sink.held + at, sizeof(head));
		line = sink.held + at + sizeof(head);
		if (!send_line(line, head.line_len, line + head.line_len,
			       head.entry_len))
			break;
		at += sizeof(head) + head.line_len + head.entry_len;
	}
	sink.n_held -= at;
	memmove(sink.held, sink.held + at, sink.n_held);
	return !sink.n_held;
}

static bool has_room(size_t bytes)
{
	return bytes <= sizeof(sink.held) - sink.n_held;
}

static void hold_text(const struct brick_sink_text *text)
{
	struct held_head head = { (uint16_t)text->line_len,
				  (uint16_t)text->entry_len };
	char *to = sink.held + sink.n_held;

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), text->line, text->line_len);
	if (text->entry_len)
		memcpy(to + sizeof(head) + text->line_len, text->entry,
		       text->entry_len);
	sink.n_held += sizeof(head) + text->line_len + text->entry_len;
}

void brick_sink_put(const struct brick_sink_text *text)
{
	size_t bytes =
		sizeof(struct held_head) + text->line_len + text->entry_len;

	pthread_mutex_lock(&sink_lock);
	if (!send_held() || !send_line(text->line, text->line_len, text->entry,
				       text->entry_len)) {
		if (has_room(bytes)) {
			hold_text(text);
		} else {
			sink.n_lost += text->n_counted ? text->n_counted : 1;
			sink.n_lost_ever += !text->n_counted;
		}
	}
	pthread_mutex_unlock(&sink_lock);
}

bool brick_sink_go_on(void)
{
	bool is_done;

	pthread_mutex_lock(&sink_lock);
	is_done = send_held();
	pthread_mutex_unlock(&sink_lock);
	return is_done;
}

unsigned int brick_sink_take_lost(void)
{
	unsigned int n = 0;

	pthread_mutex_lock(&sink_lock);
	/* Room for the line that says so, and for the next. */
	if (sink.n_lost &&
	    (send_held() || has_room(4 * BRICK_SINK_TEXT_BYTES))) {
		n = sink.n_lost;
		sink.n_lost = 0;
	}
	pthread_mutex_unlock(&sink_lock);
	return n;
}

bool brick_sink_holds(void)
{
	return atomic_load(&sink.n_held);
}

uint64_t brick_sink_lost(void)
{
	return atomic_load(&sink.n_lost_ever);
}
