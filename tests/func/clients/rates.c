// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that may know of rates and keeps to none: rates BRICK CLIENT KEYFILE FEATURES
 *
 * FEATURES is the number of those that its HELLO asks for. It has a block mapped for
 * writing and obeys each line that it reads, with a line that says what came of it:
 *
 *	info		"info FLAGS BYTES OPS": what INFO says of its rate
 *	write N BYTES	"moved MS": N writes of BYTES each, as fast as they go
 *	read N BYTES	the same, read
 *	ping		"ping": acknowledges the EVENT that came last
 *	event		"event KIND BYTES OPS": the next one; waits for it
 *	count		"count N": EVENTs that have come and were not asked for
 *	lose		"lost": its connection is gone
 *	join		"joined": it has another one
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define WAIT_MS	   60000
#define UNDER_WAY  16 /* operations */
#define EVENTS_MAX 8
#define NS_PER_MS  1000000

static uint8_t data[KFB_BLOCK_BYTES];
static struct raw_identity id;
static struct raw_session s;
static struct kfb_handle handle;
static uint32_t join_counter;

/*
 * Those that have come and nobody has asked for yet; the newest one's number; and how
 * many the brick does not know to have a receive again.
 */
static struct kfb_event events[EVENTS_MAX];
static unsigned int n_events;
static uint32_t event_seq;
static uint16_t n_taken;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / NS_PER_MS;
}

/* The next message, into s.reply. */
static bool receives(void)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);

	return raw_receive(s.c, buf, &len, WAIT_MS) == RAW_ACCEPTED &&
	       !kfb_decode_reply(buf, (uint32_t)len, &s.reply);
}

static bool keeps_event(void)
{
	if (n_events == EVENTS_MAX)
		return false;
	events[n_events++] = s.reply.u.event;
	event_seq = s.reply.u.event.event_seq;
	n_taken++;
	return true;
}

/* EVENTs come between a request and its reply, too. */
static bool calls(struct kfb_request *req)
{
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	req->credits = n_taken;
	n_taken = 0;
	n = raw_encode(&s, req, buf, sizeof(buf));
	if (n < 0 || raw_send(s.c, buf, (size_t)n))
		return false;
	for (;;) {
		if (!receives())
			return false;
		if (s.reply.op != KFB_OP_EVENT)
			return s.reply.status == KFB_ST_OK;
		if (!keeps_event())
			return false;
	}
}

static bool has_a_block(void)
{
	struct kfb_request alloc = { .op = KFB_OP_ALLOC };
	struct kfb_request map = { .op = KFB_OP_MAP };

	alloc.u.range.n_blocks = 1;
	if (!calls(&alloc) && s.reply.status != KFB_ST_EXISTS)
		return false;
	map.u.map.range.n_blocks = 1;
	map.u.map.flags = KFB_MAP_RW | KFB_MAP_SHARED;
	if (!calls(&map))
		return false;
	handle = s.reply.u.map.handles[0];
	return true;
}

static bool tells_info(void)
{
	struct kfb_request req = { .op = KFB_OP_INFO };
	const struct kfb_info *info = &s.reply.u.info;

	if (!calls(&req))
		return false;
	printf("info %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", info->flags,
	       (uint64_t)info->rate.bytes_per_s, info->rate.ops_per_s);
	return true;
}

static bool posts(bool is_read, size_t len)
{
	int rc;

	do {
		rc = is_read ? raw_read(s.c, data, len, handle.raddr,
					handle.key)
			     : raw_write(s.c, data, len, handle.raddr,
					 handle.key);
	} while (rc == -EAGAIN && raw_wait(s.c, 1, WAIT_MS) == RAW_ACCEPTED);
	return !rc;
}

static bool moves(bool is_read, unsigned long n, size_t len)
{
	uint64_t target = raw_moved(s.c), begun_ms = now_ms();

	for (unsigned long i = 0; i < n; i++) {
		while (raw_moved(s.c) + UNDER_WAY < target + i)
			if (raw_wait(s.c, 1, WAIT_MS) != RAW_ACCEPTED)
				return false;
		if (!posts(is_read, len))
			return false;
	}
	target += n;
	while (raw_moved(s.c) < target)
		if (raw_wait(s.c, 1, WAIT_MS) != RAW_ACCEPTED)
			return false;
	printf("moved %" PRIu64 "\n", now_ms() - begun_ms);
	return true;
}

static bool pings(void)
{
	struct kfb_request req = { .op = KFB_OP_PING };

	req.u.ping.event_seq = event_seq;
	if (!calls(&req))
		return false;
	puts("ping");
	return true;
}

static bool tells_event(void)
{
	struct kfb_event event;

	while (!n_events)
		if (!receives() || s.reply.op != KFB_OP_EVENT || !keeps_event())
			return false;
	event = events[0];
	memmove(events, events + 1, --n_events * sizeof(events[0]));
	printf("event %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", event.kind,
	       (uint64_t)event.rate.bytes_per_s, event.rate.ops_per_s);
	return true;
}

static bool joins(void)
{
	struct raw_session former = s;

	if (!raw_session_join(&s, &former, &id, 0, ++join_counter))
		return false;
	n_taken = 0;
	puts("joined");
	return true;
}

static bool obeys(const char *line)
{
	unsigned long n;
	size_t len;

	if (!strcmp(line, "info\n"))
		return tells_info();
	if (sscanf(line, "write %lu %zu", &n, &len) == 2)
		return len <= sizeof(data) && moves(false, n, len);
	if (sscanf(line, "read %lu %zu", &n, &len) == 2)
		return len <= sizeof(data) && moves(true, n, len);
	if (!strcmp(line, "ping\n"))
		return pings();
	if (!strcmp(line, "event\n"))
		return tells_event();
	if (!strcmp(line, "count\n"))
		return printf("count %u\n", n_events) > 0;
	if (!strcmp(line, "join\n"))
		return joins();
	if (strcmp(line, "lose\n") != 0)
		return false;
	raw_session_close(&s);
	puts("lost");
	return true;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 5 || key_file_read(argv[3], id.key) || sodium_init() < 0 ||
	    sscanf(argv[4], "%" SCNu32, &id.features) != 1) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE FEATURES\n",
			argv[0]);
		return 2;
	}
	id.url = argv[1];
	id.client = argv[2];
	setlinebuf(stdout);
	if (!raw_session_open(&s, &id) || !has_a_block()) {
		fprintf(stderr, "there is no block to move\n");
		return 1;
	}
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (obeys(line))
			continue;
		fprintf(stderr, "cannot: %s", line);
		return 1;
	}
	raw_session_close(&s);
	return 0;
}
