// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a TCP socket over loopback takes: tcp-loop MILLISECONDS [CPU CPU]
 *
 * A durable 4 KiB write is 4 KiB there and 8 bytes back, then 64 bytes there
 * and 8 back, as a write and a flush are; and on a second line the first half of
 * that, as a write that needs no flush is. 2 MiB pieces are each answered by 8
 * bytes, some of them under way at a time. Nothing is kept.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

#define ANSWER_BYTES 8
#define FLUSH_BYTES  64

static uint8_t area[AREA_BYTES];
static struct samples samples, once;

static int receive(int fd, void *to, size_t len)
{
	ssize_t n = recv(fd, to, len, MSG_WAITALL);

	return n == (ssize_t)len ? 0 : -1;
}

static int transmit(int fd, const void *from, size_t len)
{
	const uint8_t *at = from;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Each request is its length, in the first 8 bytes, and the rest. */
static int serve(int fd)
{
	uint64_t at = 0;
	uint64_t len;

	while (!receive(fd, &len, sizeof(len))) {
		if (len > LARGE_BYTES || len < sizeof(len))
			return 1;
		if (at + len > AREA_BYTES)
			at = 0;
		if (receive(fd, area + at, len - sizeof(len)) ||
		    transmit(fd, &len, ANSWER_BYTES))
			return 1;
		at += len;
	}
	return 0;
}

static int request(int fd, uint64_t at, uint64_t len)
{
	memcpy(area + at, &len, sizeof(len));
	return transmit(fd, area + at, len);
}

static int answer(int fd)
{
	uint64_t len;

	return receive(fd, &len, sizeof(len));
}

static int run_durable(int fd, uint64_t for_ns, struct samples *to, int flushes)
{
	uint64_t begin = now_ns();
	uint64_t at = 0;

	while (now_ns() - begin < for_ns) {
		uint64_t start = now_ns();

		if (request(fd, at, SMALL_BYTES) || answer(fd))
			return -1;
		if (flushes && (request(fd, at, FLUSH_BYTES) || answer(fd)))
			return -1;
		samples_add(to, now_ns() - start);
		at = (at + SMALL_BYTES) % AREA_BYTES;
	}
	return 0;
}

static int run_large(int fd, uint64_t for_ns, uint64_t *bytes,
		     uint64_t *elapsed_ns)
{
	unsigned int under_way = 0;
	uint64_t begin = now_ns();
	uint64_t at = 0;

	*bytes = 0;
	while (now_ns() - begin < for_ns) {
		for (; under_way < LARGE_DEPTH; under_way++) {
			if (request(fd, at, LARGE_BYTES))
				return -1;
			at = (at + LARGE_BYTES) % AREA_BYTES;
		}
		if (answer(fd))
			return -1;
		under_way--;
		*bytes += LARGE_BYTES;
	}
	*elapsed_ns = now_ns() - begin;
	for (; under_way; under_way--) {
		if (answer(fd))
			return -1;
	}
	return 0;
}

/* Both ends of a connection; -1 on failure. */
static int connect_both(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || ends[0] < 0 ||
	    bind(listener, (struct sockaddr *)&address, len) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &len) ||
	    connect(ends[0], (struct sockaddr *)&address, len))
		return -1;
	ends[1] = accept(listener, NULL, NULL);
	close(listener);
	setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return ends[1] < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	uint64_t for_ns =
		argc > 1 ? strtoull(argv[1], NULL, 10) * NS_PER_MS : 0;
	uint64_t bytes = 0, elapsed_ns = 1;
	int ends[2];
	pid_t child;
	int rc;

	if (!for_ns || (argc != 2 && argc != 4)) {
		fprintf(stderr, "usage: %s MILLISECONDS [CPU CPU]\n", argv[0]);
		return 2;
	}
	memset(area, 1, sizeof(area));
	if (connect_both(ends)) {
		perror("tcp-loop");
		return 1;
	}
	child = fork();
	if (!child) {
		close(ends[0]);
		stay_on(argc == 4 ? argv[3] : NULL);
		_exit(serve(ends[1]));
	}
	close(ends[1]);
	stay_on(argc == 4 ? argv[2] : NULL);
	rc = run_durable(ends[0], for_ns, &samples, 1);
	if (!rc)
		rc = run_durable(ends[0], for_ns, &once, 0);
	if (!rc)
		rc = run_large(ends[0], for_ns, &bytes, &elapsed_ns);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (rc || child < 0) {
		fprintf(stderr, "tcp-loop: the connection failed\n");
		return 1;
	}
	samples_print(&samples, bytes, elapsed_ns);
	samples_print(&once, bytes, elapsed_ns);
	return 0;
}
