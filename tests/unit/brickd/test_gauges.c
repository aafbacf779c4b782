// SPDX-License-Identifier: BSD-2-Clause
/*
 * What brickd is right now: counted while it changes, as sessions, connections and
 * requests may be tens of thousands, and nobody is served while one is looked at. What
 * there is of each is where nobody may look.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "brickd/admin/admin_parts.h"
#include "brickd/admin/gauges.h"
#include "brickd/admin/metric_table.h"
#include "brickd/admin/view.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "storage/flush_rig.h"

#define PLACE_BYTES 65536

/* One of each. */
struct things {
	struct brick_session session;
	struct brick_conn conn;
	struct fid_ep ep;
	struct brick_range_lock held, waiting;
};

_Static_assert(sizeof(struct things) <= PLACE_BYTES, "they fit");

static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_ops requests;
static struct brick_net net;
static struct brick_tier tier;
static struct brick_view view = {
	.net = &net,
	.storage = &storage,
	.sessions = &sessions,
	.ops = &requests,
	.tier = &tier,
};
static struct things *things;
static struct brick_gauges gauges;

static void granted(struct brick_range_lock *lock)
{
	(void)lock;
}

static int begin(void **state)
{
	(void)state;
	memset(&sessions, 0, sizeof(sessions));
	memset(&requests, 0, sizeof(requests));
	memset(&net, 0, sizeof(net));
	memset(&tier, 0, sizeof(tier));
	TAILQ_INIT(&sessions.list);
	TAILQ_INIT(&net.conns);
	TAILQ_INIT(&tier.waiting);
	sessions.storage = &storage;
	brick_range_locks_init(&requests.range_locks);
	things = mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (things == MAP_FAILED)
		return -1;
	things->session.all = &sessions;
	things->session.state = KFB_SESSION_OPENING;
	brick_sessions_add(&sessions, &things->session);
	return flush_rig_open(&storage, "memory:64M", 1, NULL, NULL);
}

static int end(void **state)
{
	(void)state;
	munmap(things, PLACE_BYTES);
	flush_rig_close(&storage);
	return 0;
}

static void read_gauges(void)
{
	assert_int_equal(mprotect(things, PLACE_BYTES, PROT_NONE), 0);
	brick_gauges_read(&view, &gauges);
	assert_int_equal(mprotect(things, PLACE_BYTES, PROT_READ | PROT_WRITE),
			 0);
}

static void a_session_is_counted_by_its_state(void **state)
{
	struct brick_session *s = &things->session;

	(void)state;
	read_gauges();
	assert_int_equal(gauges.sessions[KFB_SESSION_OPENING], 1);
	brick_session_move(s, KFB_SESSION_LIVE);
	brick_session_move(s, KFB_SESSION_OPENING); /* that is not done */
	read_gauges();
	assert_int_equal(gauges.sessions[KFB_SESSION_OPENING], 0);
	assert_int_equal(gauges.sessions[KFB_SESSION_LIVE], 1);
	brick_sessions_del(&sessions, s);
	read_gauges();
	assert_int_equal(gauges.sessions[KFB_SESSION_LIVE], 0);
}

static void
lines_that_are_left_out_are_counted_whoever_bounds_them(void **state)
{
	uint64_t n = 0;

	(void)state;
	for (int i = 0; i < BRICK_LINES_KINDS; i++)
		n += net.lines[i].suppressed = 1;
	for (int i = 0; i < TCPW_VIOLATIONS; i++)
		n += net.violation_lines[i].suppressed = 10;
	n += sessions.lines.suppressed = 100;
	n += storage.slow_lines.suppressed = 1000;
	read_gauges();
	assert_int_equal(gauges.log_lines_suppressed, n);
}

static void a_connection_is_counted(void **state)
{
	struct brick_conn *c = &things->conn;

	(void)state;
	c->net = &net;
	c->ep = &things->ep;
	brick_conn_list(c);
	read_gauges();
	assert_int_equal(gauges.connections, 1);
}

static void locks_are_counted_by_who_has_them(void **state)
{
	const struct brick_range_lock lock = { .span = { 0, 1 },
					       .granted = granted };

	(void)state;
	things->held = lock;
	things->waiting = lock;
	(void)brick_range_locks_take(&requests.range_locks, &things->held);
	(void)brick_range_locks_take(&requests.range_locks, &things->waiting);
	read_gauges();
	assert_int_equal(gauges.range_locks_held, 1);
	assert_int_equal(gauges.range_locks_waiting, 1);
	brick_range_locks_drop(&requests.range_locks, &things->held);
	read_gauges();
	assert_int_equal(gauges.range_locks_held, 1);
	assert_int_equal(gauges.range_locks_waiting, 0);
	brick_range_locks_drop(&requests.range_locks, &things->waiting);
	read_gauges();
	assert_int_equal(gauges.range_locks_held, 0);
	assert_int_equal(gauges.range_locks_waiting, 0);
}

static uint64_t n_in_quarantine(void)
{
	read_gauges();
	return gauges.quarantine_blocks;
}

static void add(uint64_t first, uint64_t end)
{
	assert_int_equal(
		brick_quarantine_add(&things->session,
				     (struct brick_span){ first, end }),
		0);
}

static void forget(uint64_t first, uint64_t end)
{
	brick_quarantine_forget(&sessions, (struct brick_span){ first, end });
}

static void blocks_in_quarantine_are_counted(void **state)
{
	(void)state;
	add(0, 10);
	add(20, 30);
	assert_int_equal(n_in_quarantine(), 20);
	add(5, 20); /* all are one now */
	assert_int_equal(n_in_quarantine(), 30);
	forget(10, 12); /* these are two */
	assert_int_equal(n_in_quarantine(), 28);
	forget(8, 14); /* an end, and a begin */
	assert_int_equal(n_in_quarantine(), 24);
	forget(0, 8); /* all of one */
	assert_int_equal(n_in_quarantine(), 16);
	brick_quarantine_end(&things->session);
	assert_int_equal(n_in_quarantine(), 0);
}

/* Then there is no place for more, and the nearest one becomes wider. */
static void a_full_quarantine_is_counted(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < BRICK_QUARANTINE_MAX; i++)
		add(10 * i, 10 * i + 1);
	assert_int_equal(n_in_quarantine(), BRICK_QUARANTINE_MAX);
	add(5, 6);
	assert_int_equal(n_in_quarantine(), BRICK_QUARANTINE_MAX + 5);
	forget(2, 3);
	assert_int_equal(n_in_quarantine(), BRICK_QUARANTINE_MAX + 5);
	brick_quarantine_end(&things->session);
	assert_int_equal(n_in_quarantine(), 0);
}

/* ---- all of them, in words ---- */

static void pass_over(struct brick_metric_sink *sink,
		      const struct brick_metric *m,
		      const struct brick_sample *sample)
{
	(void)sink;
	(void)m;
	(void)sample;
}

static char *append(char *whole, size_t *len, const char *piece, size_t n)
{
	whole = realloc(whole, *len + n + 1);
	assert_non_null(whole);
	memcpy(whole + *len, piece, n);
	*len += n;
	whole[*len] = '\0';
	return whole;
}

/* Each number of each op and status has been counted. */
static void stats_are_made_in_pieces(void **state)
{
	struct brick_admin_stats *stats;
	struct json_object *reply, *list;
	size_t len = 0, n, longest = 0;
	char *whole = NULL;

	(void)state;
	view.counters = storage.counters;
	memset(view.counters, 1, sizeof(*view.counters));
	stats = brick_admin_stats_begin(&view);
	assert_non_null(stats);
	while (!brick_admin_stats_are_all(stats)) {
		char *piece = brick_admin_stats_next(stats, &n);

		assert_non_null(piece);
		whole = append(whole, &len, piece, n);
		if (n > longest)
			longest = n;
		free(piece);
	}
	free(stats);
	assert_true(longest < len / 3);
	assert_int_equal(whole[len - 1], '\n');
	reply = json_tokener_parse(whole);
	assert_true(json_object_object_get_ex(reply, "metrics", &list));
	n = 0;
	while (brick_metrics_show(
		&view, &gauges, n,
		&(struct brick_metric_sink){ .sample = pass_over }))
		n++;
	assert_int_equal(json_object_array_length(list), n);
	json_object_put(reply);
	free(whole);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_counted_by_its_state),
		TEST(lines_that_are_left_out_are_counted_whoever_bounds_them),
		TEST(a_connection_is_counted),
		TEST(locks_are_counted_by_who_has_them),
		TEST(blocks_in_quarantine_are_counted),
		TEST(a_full_quarantine_is_counted),
		TEST(stats_are_made_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
