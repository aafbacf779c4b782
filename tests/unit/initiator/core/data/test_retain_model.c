// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random histories of writes, flushes, discards and power cuts against a
 * brick that forgets: after every cut and the copies' second writing each
 * cell holds what was last written to it.
 *
 * The brick has two memories: what it has acknowledged, and what is durable. A
 * flush makes durable what was acknowledged when it began, a write with FUA
 * itself only. A cut keeps of each cell one or the other.
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

#include "data/kfb_retain.h"

#define PAGE	       KFB_RETAIN_PAGE_BYTES
#define BLOCK	       (2ULL << 20)
#define N_BLOCKS       3
#define CELLS_IN_BLOCK 16 /* a cell is a page */
#define N_CELLS	       (N_BLOCKS * CELLS_IN_BLOCK)
#define N_PAGES	       40
#define CAP	       32
#define N_WRITES       12
#define N_FLUSHES      3
#define STEPS	       1500000

struct write {
	__u64 id;
	uint32_t value;
	uint32_t cell;
	uint32_t n;
	bool posted;
	bool fua;
};

struct cell {
	uint32_t value;
	uint32_t when; /* it was placed */
};

struct flush {
	bool begun;
	uint64_t mark;
	struct cell covers[N_CELLS];
};

static struct kfb_copy copies[CAP];
static __u64 newest[CAP];
static struct kfb_retain r;
static uint32_t pages[N_PAGES]; /* whose bytes they are */
static uint32_t zeroes[CAP]; /* which writes of zeroes, by copy */
static uint32_t expected[N_CELLS]; /* by the file system */
static struct cell acked[N_CELLS];
static struct cell durable[N_CELLS];
static uint32_t in_doubt[N_CELLS]; /* of a write that never completed */
static struct write writes[N_WRITES];
static struct flush flushes[N_FLUSHES];
static uint32_t last_value;
static uint32_t now;
static unsigned int n_replayed;
static unsigned int n_saved;
static unsigned int n_full;
static unsigned int n_busy;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static void place(uint32_t i, uint32_t value)
{
	acked[i].value = value;
	acked[i].when = ++now;
}

static uint64_t va_of(uint32_t cell)
{
	return cell / CELLS_IN_BLOCK * BLOCK + cell % CELLS_IN_BLOCK * PAGE;
}

static void post(void)
{
	struct write *w = &writes[below(N_WRITES)];
	uint32_t in_block = below(CELLS_IN_BLOCK);
	bool is_zero = below(8) == 0;
	uint32_t i;
	int rc;

	if (w->posted)
		return;
	w->cell = below(N_BLOCKS) * CELLS_IN_BLOCK + in_block;
	w->n = 1 + below(CELLS_IN_BLOCK - in_block);
	w->fua = below(3) == 0;
	rc = kfb_retain_add(&r, va_of(w->cell), w->n * PAGE, is_zero, &w->id);
	n_full += rc == -EAGAIN;
	n_busy += rc == -EBUSY;
	if (rc)
		return;
	w->posted = true;
	w->value = ++last_value;
	zeroes[w->id % CAP] = w->value;
	for (i = 0; !is_zero && i < w->n; i++)
		pages[kfb_retain_page(&r, w->id) + i] = w->value;
}

static void complete(void)
{
	struct write *w = &writes[below(N_WRITES)];
	uint32_t i;

	if (!w->posted)
		return;
	w->posted = false;
	for (i = w->cell; i < w->cell + w->n; i++) {
		expected[i] = w->value;
		place(i, w->value);
		in_doubt[i] = w->value;
		if (w->fua)
			durable[i] = acked[i];
	}
	kfb_retain_done(&r, w->id);
	if (w->fua)
		kfb_retain_durable(&r, w->id);
}

static void begin_flush(void)
{
	struct flush *f = &flushes[below(N_FLUSHES)];

	f->begun = true;
	f->mark = kfb_retain_mark(&r);
	memcpy(f->covers, acked, sizeof(acked));
}

/* What it covers is durable, unless something newer is already. */
static void end_flush(void)
{
	struct flush *f = &flushes[below(N_FLUSHES)];
	uint32_t i;

	if (!f->begun)
		return;
	f->begun = false;
	for (i = 0; i < N_CELLS; i++) {
		if (durable[i].when < f->covers[i].when)
			durable[i] = f->covers[i];
	}
	kfb_retain_flushed(&r, f->mark);
}

static bool is_written(uint32_t block)
{
	uint32_t i;

	for (i = 0; i < N_WRITES; i++) {
		if (writes[i].posted &&
		    writes[i].cell / CELLS_IN_BLOCK == block)
			return true;
	}
	return false;
}

/* A block is freed: it reads as zeros, durably. */
static void discard(void)
{
	uint32_t block = below(N_BLOCKS);
	uint32_t first = block * CELLS_IN_BLOCK;
	uint32_t i;

	if (is_written(block))
		return;
	kfb_retain_drop(&r, block * BLOCK, BLOCK);
	for (i = first; i < first + CELLS_IN_BLOCK; i++) {
		expected[i] = 0;
		place(i, 0);
		durable[i] = acked[i];
		in_doubt[i] = 0;
	}
	for (i = 0; i < N_FLUSHES; i++)
		flushes[i].begun = false;
}

/* What is under way ends without an answer, and may be there or not. */
static void lose_connection(void)
{
	uint32_t i;
	uint32_t j;

	for (i = 0; i < N_WRITES; i++) {
		struct write *w = &writes[i];

		if (!w->posted)
			continue;
		w->posted = false;
		kfb_retain_void(&r, w->id);
		for (j = w->cell; j < w->cell + w->n; j++) {
			in_doubt[j] = w->value;
			if (below(2))
				place(j, w->value);
		}
	}
	for (i = 0; i < N_FLUSHES; i++)
		flushes[i].begun = false;
}

static void replay(void)
{
	struct kfb_retain_cursor at = { 0 };
	struct kfb_retain_piece piece;
	uint32_t first, i, page;
	int rc;

	assert_int_equal(kfb_retain_rewind(&r), 0);
	while ((rc = kfb_retain_next(&r, &at, 1 + below(4), &piece))) {
		if (rc == -EAGAIN)
			continue;
		kfb_retain_took(&at, piece.len);
		first = (uint32_t)(piece.va / BLOCK * CELLS_IN_BLOCK +
				   piece.va % BLOCK / PAGE);
		page = kfb_retain_page(&r, piece.id) + piece.offset / PAGE;
		for (i = 0; i < piece.len / PAGE; i++) {
			uint32_t value = piece.is_zero ? zeroes[piece.id % CAP]
						       : pages[page + i];

			n_saved += acked[first + i].value != value;
			place(first + i, value);
		}
		n_replayed++;
	}
}

static void cut_power(void)
{
	uint32_t i;

	lose_connection();
	for (i = 0; i < N_CELLS; i++) {
		if (below(2))
			acked[i] = durable[i];
		durable[i] = acked[i];
	}
	replay();
	for (i = 0; i < N_CELLS; i++) {
		if (acked[i].value != expected[i])
			assert_int_equal(acked[i].value, in_doubt[i]);
		/* The write in doubt is sent again, or its owner knows. */
		expected[i] = acked[i].value;
		in_doubt[i] = acked[i].value;
	}
}

static void nothing_is_lost_or_reverted(void **state)
{
	unsigned int i;

	srand(20149);
	kfb_retain_init(&r, copies, newest, CAP, N_PAGES);
	for (i = 0; i < STEPS; i++) {
		uint32_t dice = below(1000);

		if (dice < 430)
			post();
		else if (dice < 860)
			complete();
		else if (dice < 920)
			begin_flush();
		else if (dice < 980)
			end_flush();
		else if (dice < 990)
			discard();
		else
			cut_power();
		assert_true(r.n_used <= N_PAGES);
		assert_true(r.head - r.tail <= CAP);
		assert_true(r.n_flight <= N_WRITES);
	}
	print_message(
		"# %u copies written again, %u cells saved, %u full, %u busy\n",
		n_replayed, n_saved, n_full, n_busy);
	assert_true(n_replayed > 1000 && n_saved > 1000);
	assert_true(n_full > 1000 && n_busy > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_reverted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
