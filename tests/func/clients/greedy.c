// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that takes all it can get of one thing:
 *
 *	greedy BRICK CLIENT KEYFILE SESSIONS tiers|memory
 *
 * It reads commands from standard input and answers each with a line:
 *
 *	go WHAT		"going" when it has what it begins with, and goes on
 *	rest		"rested N": it has given everything back, and so many
 *			requests were answered, or sessions or writes were over
 *
 * WHAT is one of the table at the end. Its grant begins at block 0; what is in it
 * is said below. As many sessions as it may have, and on each as many requests as
 * there are credits: each answer is followed by another request at once.
 */
#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "proto/kfb_slot.h"
#include "raw_session.h"

/* Blocks of one extent each: every other one, from 0 on. */
#define SPREAD_BLOCKS 128U
/* One extent. */
#define WIDE_FIRST  256U
#define WIDE_BLOCKS 96U
/* For each request one that is allocated and freed. */
#define OWN_FIRST 512U
/* For each of a few requests many. */
#define LARGE_FIRST  1024U
#define LARGE_BLOCKS 32U
#define LARGE_JOBS   4U
/* Where there is a slow tier: more than memory has, one for each request. */
#define PROMOTED_FIRST	2048U
#define PROMOTED_BLOCKS 128U

#define MAPPINGS_MAX 1024U /* as brickd has it, of a session */
#define SESSIONS_MAX 64U
#define WRITE_BYTES  (256U << 10)
#define WRITES	     8U
#define DRAIN_MS     60000U
#define NS_PER_MS    UINT64_C(1000000)
#define PAUSE_NS     50000
#define STATUS_NONE  UINT16_MAX

struct peer;

/*
 * struct job - requests that follow each other
 * @number: among all; the first ones of all sessions come first
 * @turn: how many have begun
 * @last: the one before, and what it was answered with
 * @mapping_id: of the last MAP
 * @is_busy: one is not answered yet
 */
struct job {
	struct peer *peer;
	unsigned int number;
	unsigned int turn;
	uint16_t last;
	uint16_t status;
	uint64_t mapping_id;
	bool is_busy;
};

struct peer {
	struct raw_session s;
	bool is_open;
	struct kfb_slots slots;
	struct job jobs[KFB_CREDITS_MAX];
	struct job *of_slot[KFB_CREDITS_MAX];
	unsigned int n_busy;
	unsigned int n_asked; /* mappings to begin with */
	unsigned int n_mapped;
	uint64_t key, raddr; /* of the last of them */
	uint64_t n_written;
};

/*
 * struct habit - what it takes
 * @next: fills the next request of a job
 * @cycle: instead: connects, and does something with it
 * @n_mappings: each session begins with so many
 * @writes: and writes through the last of them
 * @n_jobs: of a session; 0: as many as there are credits
 */
struct habit {
	const char *name;
	void (*next)(struct job *job, struct kfb_request *req);
	bool (*cycle)(void);
	unsigned int n_mappings;
	bool writes;
	unsigned int n_jobs;
};

static struct raw_identity id;
static struct peer peers[SESSIONS_MAX];
static unsigned int n_peers;
static const struct habit *habit;
static bool is_resting;
static uint64_t n_done;
static uint8_t bytes[WRITE_BYTES];

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / NS_PER_MS;
}

/* ---- requests ---- */

static struct kfb_request range_request(uint16_t op, uint64_t first, uint64_t n)
{
	struct kfb_request req = { .op = op };

	req.u.range.va = first << KFB_BLOCK_SHIFT;
	req.u.range.n_blocks = n;
	return req;
}

static struct kfb_request map_request(uint64_t first, uint64_t n,
				      uint32_t flags)
{
	struct kfb_request req = { .op = KFB_OP_MAP };

	req.u.map.range.va = first << KFB_BLOCK_SHIFT;
	req.u.map.range.n_blocks = n;
	req.u.map.flags = flags;
	return req;
}

static bool has_done(const struct job *job, uint16_t op)
{
	return job->last == op && job->status == KFB_ST_OK;
}

/* ALLOC and FREE, or MAP and UNMAP. */
static void begin_or_undo(struct job *job, const struct kfb_request *begin,
			  struct kfb_request *req)
{
	*req = *begin;
	if (has_done(job, KFB_OP_ALLOC)) {
		req->op = KFB_OP_FREE;
	} else if (has_done(job, KFB_OP_MAP)) {
		*req = (struct kfb_request){ .op = KFB_OP_UNMAP };
		req->u.unmap.mapping_id = job->mapping_id;
	}
}

static void next_ping(struct job *job, struct kfb_request *req)
{
	(void)job;
	*req = (struct kfb_request){ .op = KFB_OP_PING };
}

static void next_info(struct job *job, struct kfb_request *req)
{
	(void)job;
	*req = (struct kfb_request){ .op = KFB_OP_INFO };
}

static void next_list(struct kfb_request *req, uint32_t what)
{
	*req = (struct kfb_request){ .op = KFB_OP_LIST };
	req->u.list.what = what;
}

static void next_allocated(struct job *job, struct kfb_request *req)
{
	(void)job;
	next_list(req, KFB_LIST_ALLOCATED);
}

static void next_mapped(struct job *job, struct kfb_request *req)
{
	(void)job;
	next_list(req, KFB_LIST_MAPPED);
}

static void next_mine(struct job *job, struct kfb_request *req)
{
	(void)job;
	next_list(req, KFB_LIST_MINE);
}

static void next_alloc(struct job *job, struct kfb_request *req)
{
	struct kfb_request begin =
		range_request(KFB_OP_ALLOC, OWN_FIRST + job->number, 1);

	begin_or_undo(job, &begin, req);
}

static uint64_t large_first(const struct job *job)
{
	return LARGE_FIRST + job->number % LARGE_JOBS * LARGE_BLOCKS;
}

static void next_alloc_large(struct job *job, struct kfb_request *req)
{
	struct kfb_request begin =
		range_request(KFB_OP_ALLOC, large_first(job), LARGE_BLOCKS);

	begin_or_undo(job, &begin, req);
}

static void next_map(struct job *job, struct kfb_request *req)
{
	struct kfb_request begin =
		map_request(2 * (job->number % SPREAD_BLOCKS), 1,
			    KFB_MAP_RO | KFB_MAP_SHARED);

	begin_or_undo(job, &begin, req);
}

static void next_map_wide(struct job *job, struct kfb_request *req)
{
	struct kfb_request begin = map_request(WIDE_FIRST, WIDE_BLOCKS,
					       KFB_MAP_RW | KFB_MAP_SHARED);

	begin_or_undo(job, &begin, req);
}

/* As many as are mapped at a time leave room for others. */
static void next_promoted(struct job *job, struct kfb_request *req)
{
	unsigned int block = job->number + job->turn * n_peers;
	struct kfb_request begin =
		map_request(PROMOTED_FIRST + block % PROMOTED_BLOCKS, 1,
			    KFB_MAP_RO | KFB_MAP_SHARED);

	job->turn += !has_done(job, KFB_OP_MAP);
	begin_or_undo(job, &begin, req);
}

/* One has the blocks allocated and freed, for which all the others wait. */
static void next_waiting(struct job *job, struct kfb_request *req)
{
	struct kfb_request begin =
		job->number ? map_request(LARGE_FIRST, 1,
					  KFB_MAP_RO | KFB_MAP_SHARED)
			    : range_request(KFB_OP_ALLOC, LARGE_FIRST,
					    LARGE_BLOCKS);

	begin_or_undo(job, &begin, req);
}

/* All of the same blocks, each range from another byte on. */
static void next_flush(struct job *job, struct kfb_request *req)
{
	(void)job;
	*req = (struct kfb_request){ .op = KFB_OP_FLUSH };
	req->u.flush.n_ranges = KFB_FLUSH_RANGES_MAX;
	for (unsigned int i = 0; i < KFB_FLUSH_RANGES_MAX; i++) {
		struct kfb_flush_range *r = &req->u.flush.ranges[i];

		r->va = ((uint64_t)WIDE_FIRST << KFB_BLOCK_SHIFT) + i;
		r->len = ((uint64_t)WIDE_BLOCKS << KFB_BLOCK_SHIFT) - i;
	}
}

/* Each asks for something that it may not have. */
static void next_refused(struct job *job, struct kfb_request *req)
{
	(void)job;
	*req = range_request(KFB_OP_ALLOC, UINT64_C(1) << 40, 1);
}

/* ---- a session's requests ---- */

static bool send_request(struct job *job, struct kfb_request *req)
{
	struct peer *p = job->peer;
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	if (kfb_slots_assign(&p->slots, req->op, &req->cookie))
		return false;
	n = kfb_encode_request(req, buf, sizeof(buf));
	if (n < 0 || raw_send(p->s.c, buf, (size_t)n)) {
		fprintf(stderr, "a request cannot be sent\n");
		exit(1);
	}
	p->of_slot[req->cookie.slot] = job;
	job->is_busy = true;
	job->last = req->op;
	job->status = STATUS_NONE;
	p->n_busy++;
	return true;
}

/* What is left to do for one that begins nothing more. */
static bool is_at_rest(const struct job *job)
{
	return !has_done(job, KFB_OP_ALLOC) && !has_done(job, KFB_OP_MAP);
}

static void send_next(struct job *job)
{
	struct peer *p = job->peer;
	struct kfb_request req;

	if (job->is_busy || (is_resting && is_at_rest(job)))
		return;
	if (p->n_asked < habit->n_mappings) {
		uint64_t first = habit->writes
					 ? WIDE_FIRST
					 : 2 * (p->n_asked % SPREAD_BLOCKS);

		req = map_request(first, habit->writes ? WIDE_BLOCKS : 1,
				  (habit->writes ? KFB_MAP_RW : KFB_MAP_RO) |
					  KFB_MAP_SHARED);
		p->n_asked += send_request(job, &req);
		return;
	}
	if (p->n_mapped < habit->n_mappings || !habit->next)
		return;
	habit->next(job, &req);
	(void)send_request(job, &req);
}

static void take_reply(struct peer *p, const uint8_t *buf, size_t len)
{
	struct kfb_reply *reply = &p->s.reply;
	struct job *job;

	if (kfb_decode_reply(buf, (uint32_t)len, reply) ||
	    kfb_slots_answered(&p->slots, reply->op, &reply->cookie)) {
		fprintf(stderr, "not an answer\n");
		exit(1);
	}
	job = p->of_slot[reply->cookie.slot];
	job->is_busy = false;
	job->status = reply->status;
	p->n_busy--;
	n_done++;
	if (reply->op != KFB_OP_MAP)
		return;
	if (reply->status != KFB_ST_OK && p->n_mapped < habit->n_mappings) {
		fprintf(stderr, "not mapped: %s\n",
			kfb_status_text(reply->status));
		exit(1);
	}
	if (reply->status != KFB_ST_OK)
		return;
	job->mapping_id = reply->u.map.mapping_id;
	if (p->n_mapped == habit->n_mappings)
		return;
	/* One of those to begin with, which is kept. */
	p->n_mapped++;
	p->key = reply->u.map.handles[0].key;
	p->raddr = reply->u.map.handles[0].raddr;
	job->last = 0;
}

static void post_writes(struct peer *p)
{
	while (!is_resting && p->n_mapped == habit->n_mappings &&
	       p->n_written - raw_moved(p->s.c) < WRITES) {
		if (raw_write(p->s.c, bytes, sizeof(bytes), p->raddr, p->key))
			return;
		p->n_written++;
		n_done++;
	}
}

static bool is_idle(const struct peer *p)
{
	return !p->n_busy && p->n_written == raw_moved(p->s.c);
}

/* Takes what has come and sends what may be sent. Return: has anything come? */
static bool serve_peer(struct peer *p)
{
	unsigned int n_jobs = habit->n_jobs ? habit->n_jobs : p->slots.n;
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	bool any = false;

	for (;;) {
		size_t len = sizeof(buf);
		enum raw_outcome outcome = raw_receive(p->s.c, buf, &len, 0);

		if (outcome == RAW_TIMEOUT)
			break;
		if (outcome != RAW_ACCEPTED) {
			fprintf(stderr, "a session has lost its connection\n");
			exit(1);
		}
		take_reply(p, buf, len);
		any = true;
	}
	for (unsigned int i = 0; i < n_jobs; i++)
		send_next(&p->jobs[i]);
	if (habit->writes && !habit->next)
		post_writes(p);
	return any;
}

/* ---- sessions ---- */

static void open_peer(struct peer *p, unsigned int number)
{
	memset(p, 0, sizeof(*p));
	if (!raw_session_open(&p->s, &id) ||
	    kfb_slots_init(&p->slots, p->s.accepted.credits))
		exit(1);
	p->is_open = true;
	for (unsigned int i = 0; i < KFB_CREDITS_MAX; i++)
		p->jobs[i] = (struct job){
			.peer = p,
			.number = i * n_peers + number,
			.status = STATUS_NONE,
		};
}

static void end_peer(struct peer *p)
{
	struct kfb_request end = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);

	end.u.ping.flags = KFB_PING_END;
	if (send_request(&p->jobs[0], &end))
		(void)raw_receive(p->s.c, buf, &len, DRAIN_MS);
	raw_session_close(&p->s);
	p->is_open = false;
}

/*
 * Sessions are opened one after the other; of those that are closed every other one
 * says nothing, and lives on until its lease is over.
 */
static bool cycle_session(void)
{
	static unsigned int at;
	struct peer *p = &peers[at++ % SESSIONS_MAX];
	struct kfb_request ping = { .op = KFB_OP_PING }, end = ping;

	end.u.ping.flags = KFB_PING_END;
	if (p->is_open && at % 2)
		(void)raw_call(&p->s, &end);
	if (p->is_open)
		raw_session_close(&p->s);
	/* One that has asked for nothing ends with its connection. */
	p->is_open = raw_session_open(&p->s, &id) &&
		     raw_call(&p->s, &ping) == RAW_ACCEPTED;
	return p->is_open;
}

static bool connects(struct raw_session *s)
{
	struct kfb_hello hello;
	uint16_t status;

	raw_hello(&hello);
	return raw_session_connect(s, &id, &hello, &status) == RAW_ACCEPTED;
}

static bool knock_with_a_wrong_key(void)
{
	uint8_t key[KFB_KEY_BYTES] = { 1 };
	struct raw_session s;
	struct kfb_request auth;

	if (!connects(&s))
		return false;
	if (raw_auth_request(&s, id.client, key, &auth))
		(void)raw_call(&s, &auth);
	raw_session_close(&s);
	return true;
}

static bool say_nonsense(void)
{
	struct raw_session s;

	if (!connects(&s))
		return false;
	(void)raw_bytes_end_connection(&s, bytes, KFB_REQ_MAX_BYTES);
	raw_session_close(&s);
	return true;
}

/* ---- going and resting ---- */

static bool command_has_come(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, timeout_ms) != 0;
}

/* Return: has anything come? */
static bool serve_all(void)
{
	bool any = false;

	if (habit->cycle) {
		n_done += habit->cycle();
		return true;
	}
	for (unsigned int i = 0; i < n_peers; i++)
		any |= serve_peer(&peers[i]);
	return any;
}

static void serve_or_pause(void)
{
	if (!serve_all())
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

static bool has_begun(void)
{
	for (unsigned int i = 0; !habit->cycle && i < n_peers; i++)
		if (peers[i].n_mapped < habit->n_mappings)
			return false;
	return true;
}

static bool all_are_idle(void)
{
	for (unsigned int i = 0; i < n_peers; i++) {
		if (!is_idle(&peers[i]))
			return false;
		for (unsigned int j = 0; j < KFB_CREDITS_MAX; j++)
			if (!is_at_rest(&peers[i].jobs[j]))
				return false;
	}
	return true;
}

static void go(void)
{
	is_resting = false;
	n_done = 0;
	for (unsigned int i = 0; !habit->cycle && i < n_peers; i++)
		open_peer(&peers[i], i);
	while (!has_begun())
		serve_or_pause();
}

static void rest(void)
{
	uint64_t end_ms = now_ms() + DRAIN_MS;

	is_resting = true;
	while (!habit->cycle && !all_are_idle()) {
		if (now_ms() >= end_ms) {
			fprintf(stderr, "requests are not answered\n");
			exit(1);
		}
		serve_or_pause();
	}
	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		if (!peers[i].is_open)
			continue;
		if (habit->cycle)
			raw_session_close(&peers[i].s);
		else
			end_peer(&peers[i]);
		peers[i].is_open = false;
	}
}

/* ---- what there is in its grant ---- */

static bool allocates(uint64_t first, uint64_t n)
{
	struct kfb_request req = range_request(KFB_OP_ALLOC, first, n);
	struct raw_session *s = &peers[0].s;

	if (raw_call(s, &req) == RAW_ACCEPTED && s->reply.status == KFB_ST_OK)
		return true;
	fprintf(stderr, "not allocated: %s\n",
		kfb_status_text(s->reply.status));
	return false;
}

static bool has_its_blocks(bool has_slow_tier)
{
	struct kfb_request end = { .op = KFB_OP_PING };
	bool ok = raw_session_open(&peers[0].s, &id);

	end.u.ping.flags = KFB_PING_END;
	for (uint64_t i = 0; ok && i < SPREAD_BLOCKS; i++)
		ok = allocates(2 * i, 1);
	ok = ok && allocates(WIDE_FIRST, WIDE_BLOCKS) &&
	     (!has_slow_tier || allocates(PROMOTED_FIRST, PROMOTED_BLOCKS)) &&
	     raw_call(&peers[0].s, &end) == RAW_ACCEPTED;
	raw_session_close(&peers[0].s);
	return ok;
}

static const struct habit habits[] = {
	{ "ping", .next = next_ping },
	{ "info", .next = next_info },
	{ "list-allocated", .next = next_allocated },
	{ "list-mapped", .next = next_mapped, .n_mappings = 256 },
	{ "list-mine", .next = next_mine, .n_mappings = MAPPINGS_MAX / 4 },
	{ "alloc", .next = next_alloc },
	{ "alloc-large", .next = next_alloc_large, .n_jobs = 1 },
	{ "map", .next = next_map },
	{ "map-wide", .next = next_map_wide, .n_jobs = 4 },
	{ "flush", .next = next_flush, .n_mappings = 1, .writes = true },
	{ "write", .n_mappings = 1, .writes = true },
	{ "waiting", .next = next_waiting },
	{ "promoted", .next = next_promoted, .n_jobs = 1 },
	{ "refused", .next = next_refused },
	{ "sessions", .cycle = cycle_session },
	{ "wrong-key", .cycle = knock_with_a_wrong_key },
	{ "nonsense", .cycle = say_nonsense },
};

static bool obeys(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(line, "rest") && habit) {
		rest();
		habit = NULL;
		printf("rested %" PRIu64 "\n", n_done);
		return true;
	}
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (!strncmp(line, "go ", 3) && !habit &&
		    !strcmp(line + 3, habits[i].name))
			habit = &habits[i];
	if (!habit || strncmp(line, "go ", 3) != 0) {
		fprintf(stderr, "not a command: %s\n", line);
		return false;
	}
	go();
	puts("going");
	return true;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 6 || key_file_read(argv[3], id.key) || sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s BRICK CLIENT KEYFILE SESSIONS "
			"tiers|memory\n",
			argv[0]);
		return 2;
	}
	id.url = argv[1];
	id.client = argv[2];
	n_peers = (unsigned int)strtoul(argv[4], NULL, 10);
	if (!n_peers || n_peers > SESSIONS_MAX ||
	    !has_its_blocks(!strcmp(argv[5], "tiers")))
		return 1;
	setlinebuf(stdout);
	/* Unbuffered: poll() knows nothing of what a buffer holds. */
	setvbuf(stdin, NULL, _IONBF, 0);
	for (;;) {
		while (habit && !command_has_come(0))
			serve_or_pause();
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		if (!obeys(line))
			return 1;
	}
}
