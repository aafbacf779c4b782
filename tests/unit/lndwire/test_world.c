// SPDX-License-Identifier: BSD-2-Clause
/*
 * The LNet-like driver's peers in a simulated world: servers with ten thousand clients,
 * whose messages are lost, doubled, late, and overtake each other; whose links are cut;
 * and who restart, or die for good. Each side begins transactions at the other.
 *
 * The oracle knows each transaction by the number that it carries: it is taken on once at
 * most, ends once, was done once if it ended so, and what ended otherwise has a reason in
 * what the world did. When all is quiet no credit is missing.
 *
 * All that happens follows from a seed: KLND_SEED repeats a run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lndw_peer.h"

#define DEADLINE_MS    60000
#define TICK_MS	       100
#define SERVER_CREDITS 8
#define CLIENT_CREDITS 4
#define FILLER_BYTES   24

/* What a world is like; shares in thousandths. */
struct plan {
	unsigned int servers;
	unsigned int clients;
	unsigned int each; /* transactions that each end of a link begins */
	unsigned int lost;
	unsigned int doubled;
	unsigned int late;
	unsigned int server_restarts;
	unsigned int client_restarts;
	unsigned int deaths; /* of clients */
	unsigned int cuts;
};

struct host {
	struct lndw_node node;
	int is_dead;
	unsigned int restarts;
};

struct end {
	struct lndw_peer peer; /* the other end */
	struct link *link;
	unsigned int side;
	unsigned int left; /* to begin */
	int is_ticking;
	unsigned int sending; /* messages */
	uint64_t last_taken; /* incarnation whose request was taken on last */
	uint64_t doing[LNDW_CREDITS_MAX]; /* number of what goes on in a place */
};

struct link {
	struct end ends[2]; /* the server's, the client's */
	struct host *hosts[2];
	uint64_t cut_until;
};

/* What the oracle knows of a transaction. */
struct record {
	struct end *from;
	uint64_t incarnation; /* of who began it */
	unsigned int target_restarts; /* when it began */
	int is_mistaken; /* it began with who was not there any more, or unknown */
	enum lndw_kind kind;
	unsigned int begun;
	unsigned int done;
	unsigned int ended;
	int is_gone; /* with the host that began it */
};

enum what {
	ARRIVE,
	SENT,
	TICK,
	BEGIN,
	MOVED,
	RESTART,
	DIE,
	CUT,
};

struct event {
	uint64_t at;
	uint64_t order;
	enum what what;
	void *who; /* struct end, host or link */
	uint64_t incarnation; /* of the host that it belongs to */
	uint64_t number; /* SENT: seq; MOVED: place */
	uint64_t until; /* MOVED, CUT */
	unsigned int kind; /* SENT; ARRIVE: bytes */
	int ok; /* SENT */
	uint8_t bytes[LNDW_HEAD_MAX + FILLER_BYTES];
};

static struct plan plan;
static uint64_t now, dice, order;
static struct event **heap;
static size_t heap_used, heap_room;
static struct host *hosts;
static struct link *links;
static struct record *records;
static uint64_t n_records, records_room;
static uint64_t verdicts[LNDW_VERDICTS], statuses[LNDW_STATUSES], gone;

static uint64_t roll(uint64_t below)
{
	uint64_t z = dice += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) % below;
}

static int chance(unsigned int thousandths)
{
	return roll(1000) < thousandths;
}

static void *grown(void *old, size_t bytes)
{
	void *more = realloc(old, bytes);

	assert_non_null(more);
	return more;
}

/* --- what happens next */

static int is_before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void heap_swap(size_t i, size_t j)
{
	struct event *e = heap[i];

	heap[i] = heap[j];
	heap[j] = e;
}

static struct event *plan_event(uint64_t in, enum what what, void *who)
{
	struct event *e = calloc(1, sizeof(*e));
	size_t i = heap_used;

	assert_non_null(e);
	if (heap_used == heap_room) {
		heap_room = heap_room ? 2 * heap_room : 1024;
		heap = grown(heap, heap_room * sizeof(*heap));
	}
	e->at = now + in;
	e->order = order++;
	e->what = what;
	e->who = who;
	heap[heap_used++] = e;
	while (i && is_before(heap[i], heap[(i - 1) / 2])) {
		heap_swap(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
	return e;
}

static struct event *next_event(void)
{
	struct event *first;
	size_t i = 0, least;

	if (!heap_used)
		return NULL;
	first = heap[0];
	heap[0] = heap[--heap_used];
	for (;;) {
		least = i;
		if (2 * i + 1 < heap_used &&
		    is_before(heap[2 * i + 1], heap[least]))
			least = 2 * i + 1;
		if (2 * i + 2 < heap_used &&
		    is_before(heap[2 * i + 2], heap[least]))
			least = 2 * i + 2;
		if (least == i)
			return first;
		heap_swap(i, least);
		i = least;
	}
}

/* --- a link and its ends */

static struct host *host_of(const struct end *end)
{
	return end->link->hosts[end->side];
}

static struct end *other_end(struct end *end)
{
	return &end->link->ends[!end->side];
}

static struct event *plan_at_end(uint64_t in, enum what what, struct end *end)
{
	struct event *e = plan_event(in, what, end);

	e->incarnation = host_of(end)->node.incarnation;
	return e;
}

static int is_cut(const struct link *link)
{
	return now < link->cut_until;
}

static uint64_t delay(void)
{
	return chance(plan.late) ? 1 + roll(6000) : 1 + roll(60);
}

static void deliver_later(struct end *from, const uint8_t *bytes,
			  uint32_t n_bytes)
{
	struct event *e = plan_event(delay(), ARRIVE, other_end(from));

	e->kind = n_bytes;
	memcpy(e->bytes, bytes, n_bytes);
}

/* What the driver does with a message: it may get there even if that is not known. */
static void send_one(struct end *end, const struct lndw_msg *msg)
{
	uint8_t bytes[LNDW_HEAD_MAX + FILLER_BYTES];
	uint32_t n = lndw_head_bytes(msg->kind);
	int lost = is_cut(end->link) || chance(plan.lost);
	struct event *sent;

	lndw_encode(msg, bytes);
	if (msg->kind == LNDW_IMMEDIATE) {
		memset(bytes + n, (int)(msg->word & 0xff), msg->bytes);
		n += msg->bytes;
	}
	if (!lost)
		deliver_later(end, bytes, n);
	if (!lost && chance(plan.doubled))
		deliver_later(end, bytes, n);
	sent = plan_at_end(1 + roll(30), SENT, end);
	sent->number = msg->seq;
	sent->kind = msg->kind;
	sent->ok = lost ? chance(500) : !chance(20);
}

static void tick_later(struct end *end)
{
	if (end->is_ticking)
		return;
	end->is_ticking = 1;
	plan_at_end(TICK_MS, TICK, end);
}

static void pump(struct end *end)
{
	const struct lndw_node *target = &host_of(other_end(end))->node;
	struct lndw_msg msg;

	while (lndw_next(&end->peer, now, &msg)) {
		if (lndw_is_request(msg.kind))
			assert_true(msg.seq - msg.floor < target->credits);
		assert_true(++end->sending <= LNDW_SENDING_MAX);
		send_one(end, &msg);
	}
	if (end->peer.outstanding)
		tick_later(end);
}

static uint64_t new_record(struct end *from, enum lndw_kind kind)
{
	const struct host *target = host_of(other_end(from));

	if (n_records == records_room) {
		records_room = records_room ? 2 * records_room : 1024;
		records = grown(records, records_room * sizeof(*records));
	}
	records[n_records] = (struct record){
		.from = from,
		.incarnation = host_of(from)->node.incarnation,
		.target_restarts = target->restarts,
		.is_mistaken =
			from->peer.incarnation != target->node.incarnation,
		.kind = kind,
	};
	return n_records++;
}

static void begin_one(struct end *end)
{
	struct lndw_want want = {
		.kind = LNDW_PUT + (enum lndw_kind)roll(4),
		.deadline_ms = now + DEADLINE_MS,
	};
	int ret;

	want.bytes = want.kind == LNDW_IMMEDIATE ? FILLER_BYTES
		     : want.kind == LNDW_PING	 ? 0
						 : 1 + (uint32_t)roll(4096);
	want.cookie = new_record(end, want.kind);
	want.word = want.cookie;
	ret = lndw_tx_begin(&end->peer, &want, now);
	if (ret) {
		assert_int_equal(ret, -EAGAIN);
		n_records--;
	} else {
		end->left--;
	}
	pump(end);
}

/* --- what the core calls */

static void on_begin(struct lndw_peer *peer, unsigned int place,
		     const struct lndw_msg *msg)
{
	struct end *end = (struct end *)peer;
	struct record *record;
	struct event *moved;

	assert_true(msg->word < n_records);
	record = &records[msg->word];
	assert_ptr_equal(record->from, other_end(end));
	assert_int_equal(record->kind, msg->kind);
	assert_int_equal(record->incarnation, msg->src_incarnation);
	assert_true(msg->src_incarnation >= end->last_taken);
	end->last_taken = msg->src_incarnation;
	assert_int_equal(record->begun, 0); /* twice */
	record->begun++;
	assert_int_equal(end->doing[place], 0);
	if (chance(20)) {
		lndw_rx_done(peer, place, LNDW_NO_MATCH, 0);
		return;
	}
	end->doing[place] = msg->word + 1;
	moved = plan_at_end(msg->kind == LNDW_IMMEDIATE ? 0 : delay(), MOVED,
			    end);
	moved->number = place;
	moved->until = now + msg->left_ms;
}

static void on_end(struct lndw_peer *peer, __u64 cookie,
		   enum lndw_status status, __u32 bytes)
{
	struct end *end = (struct end *)peer;
	struct host *target = host_of(other_end(end));
	struct record *record = &records[cookie];
	int has_restarted = target->restarts != record->target_restarts;

	assert_true(cookie < n_records);
	assert_ptr_equal(record->from, end);
	assert_false(record->is_gone);
	assert_int_equal(record->ended, 0);
	record->ended++;
	statuses[status]++;
	switch (status) {
	case LNDW_DONE:
		assert_int_equal(record->done, record->kind != LNDW_PING);
		break;
	case LNDW_NO_MATCH:
		assert_int_equal(record->begun, 1);
		assert_int_equal(record->done, 0);
		break;
	case LNDW_RESTARTED:
		assert_true(has_restarted || record->is_mistaken);
		break;
	case LNDW_TIMED_OUT:
		assert_true(target->is_dead);
		break;
	case LNDW_UNREACHED:
		assert_true(target->is_dead);
		assert_int_equal(record->begun, 0);
		break;
	default:
		fail_msg("transaction %llu ended with %d, %u bytes",
			 (unsigned long long)cookie, status, bytes);
	}
}

static const struct lndw_ops ops = { .begin = on_begin, .end = on_end };

/* --- what happens */

static void arrive(struct event *e)
{
	struct end *end = e->who;
	struct lndw_msg msg;
	uint32_t i;

	if (host_of(end)->is_dead || is_cut(end->link))
		return;
	assert_int_equal(lndw_decode(e->bytes, e->kind, &msg), 0);
	if (msg.kind == LNDW_IMMEDIATE)
		for (i = e->kind - msg.bytes; i < e->kind; i++)
			assert_int_equal(e->bytes[i], msg.word & 0xff);
	verdicts[lndw_arrived(&end->peer, &msg, now)]++;
	pump(end);
}

/* A driver's read or write of the other's memory is over, or is to be tried again. */
static void moved(struct event *e)
{
	struct end *end = e->who;
	unsigned int place = (unsigned int)e->number;
	struct record *record = &records[end->doing[place] - 1];
	enum lndw_status status = LNDW_DONE;
	struct event *again;

	if (!lndw_rx_is_wanted(&end->peer, place) || now >= e->until)
		status = LNDW_FAILED;
	else if (is_cut(end->link) && record->kind != LNDW_IMMEDIATE) {
		again = plan_at_end(100, MOVED, end);
		again->number = place;
		again->until = e->until;
		return;
	}
	record->done += status == LNDW_DONE;
	end->doing[place] = 0;
	lndw_rx_done(&end->peer, place, status, 1);
	pump(end);
}

static void forget_end(struct end *end)
{
	uint64_t i;

	for (i = 0; i < LNDW_CREDITS_MAX; i++) {
		struct lndw_tx *tx = &end->peer.tx[i];

		if (tx->kind) {
			records[tx->cookie].is_gone = 1;
			gone++;
		}
	}
	memset(end->doing, 0, sizeof(end->doing));
	end->is_ticking = 0;
	end->sending = 0;
	end->last_taken = 0;
	lndw_peer_init(&end->peer, &host_of(end)->node,
		       host_of(other_end(end))->node.nid);
}

static void begin_later(struct end *end)
{
	if (end->left)
		plan_at_end(1 + roll(400), BEGIN, end);
}

static void restart(struct host *host)
{
	unsigned int i, side;

	if (host->is_dead)
		return;
	host->node.incarnation += 1 + roll(1000);
	host->restarts++;
	for (i = 0; i < plan.clients; i++)
		for (side = 0; side < 2; side++)
			if (links[i].hosts[side] == host) {
				forget_end(&links[i].ends[side]);
				begin_later(&links[i].ends[side]);
			}
}

static void die(struct host *host)
{
	restart(host);
	host->is_dead = 1;
}

static int is_of_the_past(const struct event *e)
{
	return e->incarnation &&
	       e->incarnation !=
		       host_of((struct end *)e->who)->node.incarnation;
}

static void happen(struct event *e)
{
	struct end *end = e->who;

	if (is_of_the_past(e))
		return;
	switch (e->what) {
	case ARRIVE:
		arrive(e);
		break;
	case SENT:
		end->sending--;
		lndw_sent(&end->peer, (enum lndw_kind)e->kind, e->number, e->ok,
			  now);
		pump(end);
		break;
	case TICK:
		end->is_ticking = 0;
		lndw_tick(&end->peer, now);
		pump(end);
		break;
	case BEGIN:
		if (host_of(end)->is_dead)
			break;
		begin_one(end);
		begin_later(end);
		break;
	case MOVED:
		moved(e);
		break;
	case RESTART:
		restart(e->who);
		break;
	case DIE:
		die(e->who);
		break;
	case CUT:
		((struct link *)e->who)->cut_until = e->until;
		break;
	}
}

/* --- a world's life */

static void make_world(void)
{
	unsigned int i, n = plan.servers + plan.clients, side;

	hosts = calloc(n, sizeof(*hosts));
	links = calloc(plan.clients, sizeof(*links));
	assert_non_null(hosts);
	assert_non_null(links);
	for (i = 0; i < n; i++)
		hosts[i].node = (struct lndw_node){
			.nid = i + 1,
			.incarnation = 1 + roll(1000),
			.credits = i < plan.servers ? SERVER_CREDITS
						    : CLIENT_CREDITS,
			.ops = &ops,
		};
	for (i = 0; i < plan.clients; i++) {
		struct link *link = &links[i];

		link->hosts[0] = &hosts[i % plan.servers];
		link->hosts[1] = &hosts[plan.servers + i];
		for (side = 0; side < 2; side++) {
			link->ends[side].link = link;
			link->ends[side].side = side;
			link->ends[side].left = plan.each;
		}
		for (side = 0; side < 2; side++) {
			forget_end(&link->ends[side]);
			begin_later(&link->ends[side]);
		}
	}
}

static void plan_misfortune(void)
{
	uint64_t span = 500 + 250 * (uint64_t)plan.each;
	unsigned int i;

	for (i = 0; i < plan.server_restarts; i++)
		plan_event(roll(span), RESTART, &hosts[roll(plan.servers)]);
	for (i = 0; i < plan.client_restarts; i++)
		plan_event(roll(span), RESTART,
			   &hosts[plan.servers + roll(plan.clients)]);
	for (i = 0; i < plan.deaths; i++)
		plan_event(roll(span), DIE,
			   &hosts[plan.servers + roll(plan.clients)]);
	for (i = 0; i < plan.cuts; i++) {
		struct event *e =
			plan_event(roll(span), CUT, &links[roll(plan.clients)]);

		e->until = e->at + 1 + roll(8000);
	}
}

/* All is quiet. */
static void check_end(const struct end *end)
{
	unsigned int i;

	if (host_of(end)->is_dead)
		return;
	assert_int_equal(end->peer.outstanding, 0);
	assert_int_equal(end->peer.floor, end->peer.next_seq);
	assert_int_equal(end->left, 0);
	assert_int_equal(end->sending, 0);
	for (i = 0; i < LNDW_CREDITS_MAX; i++) {
		assert_int_equal(end->peer.tx[i].kind, 0);
		assert_int_equal(end->doing[i], 0);
	}
}

static void check_world(void)
{
	unsigned int i;
	uint64_t k;

	for (i = 0; i < plan.clients; i++) {
		check_end(&links[i].ends[0]);
		check_end(&links[i].ends[1]);
	}
	for (k = 0; k < n_records; k++)
		assert_int_equal(records[k].ended, !records[k].is_gone);
	assert_int_equal(verdicts[LNDW_WRONG], 0);
}

static void say_world(uint64_t seed, uint64_t events)
{
#define U(x) ((unsigned long long)(x))
	printf("# seed %llu: %u peers of %u nodes, %llu events in %llu s of theirs, "
	       "%zu bytes for a peer\n",
	       U(seed), plan.clients, plan.servers, U(events), U(now / 1000),
	       sizeof(struct lndw_peer));
	printf("# %llu transactions: %llu done, %llu no match, %llu restarted, "
	       "%llu timed out, %llu unreached, %llu gone with their host\n",
	       U(n_records), U(statuses[LNDW_DONE]), U(statuses[LNDW_NO_MATCH]),
	       U(statuses[LNDW_RESTARTED]), U(statuses[LNDW_TIMED_OUT]),
	       U(statuses[LNDW_UNREACHED]), U(gone));
	printf("# messages: %llu taken, %llu repeated, %llu over, %llu busy, "
	       "%llu of, %llu for another incarnation\n",
	       U(verdicts[LNDW_TAKEN]), U(verdicts[LNDW_REPEATED]),
	       U(verdicts[LNDW_OVER]), U(verdicts[LNDW_BUSY]),
	       U(verdicts[LNDW_OLD]), U(verdicts[LNDW_OTHER]));
#undef U
}

static void live(const struct plan *p, uint64_t seed)
{
	const char *given = getenv("KLND_SEED");
	uint64_t events = 0;
	struct event *e;

	plan = *p;
	dice = seed = given ? strtoull(given, NULL, 0) : seed;
	now = order = n_records = gone = 0;
	memset(verdicts, 0, sizeof(verdicts));
	memset(statuses, 0, sizeof(statuses));
	make_world();
	plan_misfortune();
	while ((e = next_event())) {
		now = e->at;
		happen(e);
		free(e);
		events++;
	}
	say_world(seed, events);
	check_world();
	free(hosts);
	free(links);
}

static void all_that_is_lost_on_the_way_is_done_once_at_last(void **state)
{
	struct plan p = { .servers = 2,
			  .clients = 200,
			  .each = 40,
			  .lost = 200,
			  .doubled = 100,
			  .late = 50,
			  .cuts = 600 };

	(void)state;
	live(&p, 11);
	assert_int_equal(statuses[LNDW_DONE] + statuses[LNDW_NO_MATCH],
			 n_records);
	assert_true(verdicts[LNDW_REPEATED] > 0);
	assert_true(verdicts[LNDW_OVER] > 0);
}

static void
who_restarts_all_the_time_is_never_taken_for_who_was_before(void **state)
{
	struct plan p = { .servers = 2,
			  .clients = 20,
			  .each = 100,
			  .lost = 50,
			  .doubled = 100,
			  .late = 300,
			  .server_restarts = 60,
			  .client_restarts = 400,
			  .cuts = 100 };
	uint64_t seed;

	(void)state;
	for (seed = 21; seed < 31; seed++) {
		live(&p, seed);
		assert_true(verdicts[LNDW_OLD] > 0);
		assert_true(verdicts[LNDW_OTHER] > 0);
		assert_true(verdicts[LNDW_BUSY] > 0);
		assert_true(statuses[LNDW_RESTARTED] > 0);
	}
}

static void ten_thousand_peers_lose_nothing_and_do_nothing_twice(void **state)
{
	struct plan p = { .servers = 4,
			  .clients = 10000,
			  .each = 8,
			  .lost = 100,
			  .doubled = 50,
			  .late = 20,
			  .server_restarts = 6,
			  .client_restarts = 1500,
			  .deaths = 300,
			  .cuts = 5000 };

	(void)state;
	live(&p, 1);
	assert_true(statuses[LNDW_DONE] > n_records / 2);
	assert_true(statuses[LNDW_RESTARTED] > 0);
	assert_true(statuses[LNDW_TIMED_OUT] + statuses[LNDW_UNREACHED] > 0);
	assert_true(sizeof(struct lndw_peer) <= 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			all_that_is_lost_on_the_way_is_done_once_at_last),
		cmocka_unit_test(
			who_restarts_all_the_time_is_never_taken_for_who_was_before),
		cmocka_unit_test(
			ten_thousand_peers_lose_nothing_and_do_nothing_twice),
	};
	int failed =
		cmocka_run_group_tests_name("lndwire-world", tests, NULL, NULL);

	free(heap);
	free(records);
	return failed;
}
