// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random histories of writes and flushes against a simple oracle.
 *
 * The oracle knows bytes ("cells"): when a write completes its cell is new;
 * when an op is posted, the oracle notes which writes its ranges (or its
 * readback) make durable once it succeeds. A flush that ends well while a
 * write that completed before it began is not durable is the bug we look for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/kfb_flush.h"

#define N_QUEUES   3
#define N_CELLS	   200
#define CELL_BYTES 64
/* Far apart, so that the set of ranges overflows; every fourth is near. */
#define CELL_VA(i) \
	((uint64_t)((i) / 4) * KFB_BLOCK_BYTES + (uint64_t)((i) % 4) * 4096)
#define N_FLUSHES 16
#define ROUNDS	  400000

struct cell {
	uint64_t written; /* number of the last completed write */
	uint64_t durable; /* number of the last durable one */
};

struct op_model {
	bool posted;
	uint64_t id;
	uint64_t covers[N_CELLS]; /* what it makes durable, by content */
};

struct flush_model {
	bool active;
	struct kfb_flush_ticket ticket;
	uint64_t needs[N_QUEUES][N_CELLS];
};

static struct kfb_flush_queue queues[N_QUEUES];
static struct cell cells[N_QUEUES][N_CELLS];
static struct op_model ops[N_QUEUES][KFB_FLUSH_POSTED_MAX];
static struct flush_model flushes[N_FLUSHES];
static unsigned int n_overflows;
static unsigned int n_good;
static unsigned int n_bad;
static bool by_readback;

static void write_completes(unsigned int q)
{
	unsigned int i = (unsigned int)rand() % N_CELLS;

	cells[q][i].written++;
	kfb_flush_wrote(&queues[q], CELL_VA(i), CELL_BYTES);
}

static void post(unsigned int q)
{
	struct kfb_flush_op *op = kfb_flush_post(&queues[q]);
	struct op_model *m = NULL;
	unsigned int i;

	if (!op)
		return;
	if (rand() % 8 == 0) {
		kfb_flush_unpost(&queues[q], op);
		return;
	}
	for (i = 0; i < KFB_FLUSH_POSTED_MAX; i++) {
		if (!ops[q][i].posted)
			m = &ops[q][i];
	}
	assert_non_null(m);
	m->posted = true;
	m->id = op->id;
	n_overflows += op->dirty.all;
	for (i = 0; i < N_CELLS; i++) {
		bool reaches =
			by_readback ||
			kfb_dirty_overlaps(&op->dirty, CELL_VA(i), CELL_BYTES);

		m->covers[i] = reaches ? cells[q][i].written : 0;
	}
}

static void flush_ends(struct flush_model *f)
{
	unsigned int q;
	unsigned int i;

	f->active = false;
	if (f->ticket.error) {
		n_bad++;
		return;
	}
	n_good++;
	for (q = 0; q < N_QUEUES; q++) {
		for (i = 0; i < N_CELLS; i++)
			assert_true(cells[q][i].durable >= f->needs[q][i]);
	}
}

static void op_completes(unsigned int q)
{
	struct op_model *m =
		&ops[q][(unsigned int)rand() % KFB_FLUSH_POSTED_MAX];
	int error = rand() % 4 ? 0 : -EIO;
	unsigned int i;

	if (!m->posted)
		return;
	m->posted = false;
	for (i = 0; !error && i < N_CELLS; i++) {
		if (m->covers[i] > cells[q][i].durable)
			cells[q][i].durable = m->covers[i];
	}
	assert_int_equal(kfb_flush_done(&queues[q], m->id, error), 0);
	for (i = 0; i < N_FLUSHES; i++) {
		if (flushes[i].active &&
		    kfb_flush_ticket_done(&flushes[i].ticket, q, m->id, error))
			flush_ends(&flushes[i]);
	}
}

static void flush_begins(void)
{
	struct flush_model *f = &flushes[(unsigned int)rand() % N_FLUSHES];
	bool any = false;
	unsigned int q;
	unsigned int i;

	if (f->active)
		return;
	for (q = 0; q < N_QUEUES; q++) {
		for (i = 0; i < N_CELLS; i++)
			f->needs[q][i] = cells[q][i].written;
	}
	f->active = true;
	kfb_flush_ticket_init(&f->ticket);
	for (q = 0; q < N_QUEUES; q++)
		any |= kfb_flush_ticket_join(&f->ticket, q, &queues[q]);
	if (!any)
		flush_ends(f);
}

static void everything_ends(void)
{
	unsigned int i;
	unsigned int q;

	for (i = 0; i < 10000; i++) {
		q = i % N_QUEUES;
		post(q);
		op_completes(q);
	}
	for (i = 0; i < N_FLUSHES; i++)
		assert_false(flushes[i].active);
}

static void play(unsigned int seed)
{
	unsigned int i;

	srand(seed);
	memset(cells, 0, sizeof(cells));
	memset(ops, 0, sizeof(ops));
	memset(flushes, 0, sizeof(flushes));
	n_overflows = n_good = n_bad = 0;
	for (i = 0; i < N_QUEUES; i++)
		kfb_flush_init(&queues[i], 1 + i);
	for (i = 0; i < ROUNDS; i++) {
		unsigned int q = (unsigned int)rand() % N_QUEUES;

		switch (rand() % 8) {
		case 0:
			flush_begins();
			break;
		case 1:
		case 2:
			post(q);
			break;
		case 3:
		case 4:
			op_completes(q);
			break;
		default:
			write_completes(q);
			break;
		}
	}
	everything_ends();
	/* A history that never gets to the edges proves nothing. */
	assert_true(n_good > 1000);
	assert_true(n_bad > 100);
}

static void no_flush_by_message_forgets_a_write(void **state)
{
	by_readback = false;
	play(1);
	assert_true(n_overflows > 0);
}

static void no_flush_by_readback_forgets_a_write(void **state)
{
	by_readback = true;
	play(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_flush_by_message_forgets_a_write),
		cmocka_unit_test(no_flush_by_readback_forgets_a_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
