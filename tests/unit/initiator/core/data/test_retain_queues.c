// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queues die one by one while others still have writes under way: random
 * histories of a disk with copies and several connections.
 *
 * What is the driver's is done here as it does it, over the real bookkeeping of
 * copies and of flushes: a gate that lets writes in, fates, copies written again
 * before the gate opens, flushes of one queue behind writes with FUA.
 *
 * A connection carries its operations in order: each lands on the brick, and is
 * told to be over later. When it dies, what has not landed may land, in part or
 * not at all, and what has landed and was not flushed may be lost. The other
 * connections, and what they have under way, live on.
 *
 * At every moment:
 *
 * - nothing older lands on something newer, unless the newer one's write has
 *   failed;
 * - no copy is written of what is known to be durable;
 * - what a flush, or a write with FUA, has promised is durable.
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
#include "data/kfb_retain.h"
#include "session/kfb_client.h"

#define N_QUEUES       3
#define CELL	       512
#define PAGE	       KFB_RETAIN_PAGE_BYTES
#define CELLS_IN_PAGE  (PAGE / CELL)
#define CELLS_IN_BLOCK 20
#define N_BLOCKS       5
#define N_CELLS	       (N_BLOCKS * CELLS_IN_BLOCK)
#define N_PAGES	       40
#define CAP	       32
#define N_OPS	       24 /* of one connection */
#define N_COPIES       4 /* under way at one time */
#define COPY_CELLS_MAX 6 /* of one operation */
#define N_FLUSHES      24
#define STEPS	       2000000

/* A value is the number of the write that it is of: newer is larger. */
enum fate {
	UNDER_WAY,
	COMPLETED,
	FAILED
};

enum kind {
	WRITE,
	COPY,
	FLUSH
};

struct op {
	enum kind kind;
	bool landed;
	/* WRITE, COPY */
	uint32_t value;
	uint32_t cell;
	uint32_t n;
	__u64 copy;
	bool fua;
	/* FLUSH */
	__u64 id;
	struct kfb_dirty dirty;
};

struct queue {
	bool is_up;
	struct kfb_flush_queue flush;
	struct op ops[N_OPS];
	uint32_t n_ops;
};

struct flush {
	bool active;
	bool waits;
	int only;
	__u64 mark;
	__u64 copy; /* of its write with FUA */
	struct kfb_flush_ticket ticket;
	uint32_t promises[N_CELLS];
};

static struct kfb_copy copies[CAP];
static __u64 newest[CAP];
static struct kfb_retain r;
static uint32_t pages[N_PAGES * CELLS_IN_PAGE];
static uint32_t zeroes[CAP];
static struct queue queues[N_QUEUES];
static struct flush flushes[N_FLUSHES];
static bool by_readback;

static uint8_t fates[STEPS + 1];
static uint32_t last_value;
static uint32_t seen[N_CELLS]; /* on the brick */
static uint32_t durable[N_CELLS]; /* there, whatever happens */
static uint32_t completed[N_CELLS]; /* newest that the owner knows to be there */
static uint32_t promised[N_CELLS]; /* newest that it knows to be durable */

static bool is_due;
static bool is_running;
static bool has_failed;
static struct kfb_retain_cursor at;

static struct {
	uint32_t replays, copies, waits, hidden, flushes, fua, deaths, saved;
} count;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static uint64_t va_of(uint32_t cell)
{
	return cell / CELLS_IN_BLOCK * KFB_BLOCK_BYTES +
	       cell % CELLS_IN_BLOCK * CELL;
}

static uint32_t cell_of(uint64_t va)
{
	return (uint32_t)(va / KFB_BLOCK_BYTES * CELLS_IN_BLOCK +
			  va % KFB_BLOCK_BYTES / CELL);
}

static struct queue *queue_of(uint32_t cell)
{
	return &queues[kfb_queue_of(va_of(cell), N_QUEUES)];
}

static bool are_all_up(void)
{
	uint32_t i;

	for (i = 0; i < N_QUEUES; i++) {
		if (!queues[i].is_up)
			return false;
	}
	return true;
}

static struct op *push(struct queue *q)
{
	struct op *op = &q->ops[q->n_ops++];

	assert_true(q->n_ops <= N_OPS);
	memset(op, 0, sizeof(*op));
	return op;
}

/* ---- the brick --------------------------------------------------------- */

static void land_cells(const struct op *op, uint32_t n)
{
	uint32_t i;

	for (i = op->cell; i < op->cell + n; i++) {
		if (op->value < seen[i])
			assert_int_equal(fates[seen[i]], FAILED);
		count.saved += op->kind == COPY && seen[i] != op->value;
		seen[i] = op->value;
	}
}

/* All that its queue has placed, or what a message names of it. */
static void make_durable(const struct queue *q, const struct kfb_dirty *dirty)
{
	uint32_t i;

	for (i = 0; i < N_CELLS; i++) {
		if (queue_of(i) == q &&
		    (!dirty || kfb_dirty_overlaps(dirty, va_of(i), CELL)))
			durable[i] = seen[i];
	}
}

static void land(struct queue *q)
{
	struct op *op = q->ops;
	uint32_t i;

	for (i = 0; i < q->n_ops && op->landed; i++)
		op++;
	if (i == q->n_ops)
		return;
	op->landed = true;
	if (op->kind != FLUSH)
		land_cells(op, op->n);
	if (op->kind == FLUSH)
		make_durable(q, by_readback ? NULL : &op->dirty);
	else if (op->fua && by_readback)
		make_durable(q, NULL);
}

static void forget_cells(const struct queue *q)
{
	uint32_t i;

	for (i = 0; i < N_CELLS; i++) {
		if (queue_of(i) == q && below(2))
			seen[i] = durable[i];
	}
}

/* ---- flushes ----------------------------------------------------------- */

static void finish(struct flush *f)
{
	uint32_t i;

	f->active = false;
	kfb_retain_durable(&r, f->copy);
	if (f->only < 0)
		kfb_retain_flushed(&r, f->mark);
	for (i = 0; i < N_CELLS; i++) {
		assert_true(durable[i] >= f->promises[i]);
		if (promised[i] < f->promises[i])
			promised[i] = f->promises[i];
	}
	count.flushes++;
}

static void begin_flush(struct flush *f)
{
	uint32_t i;

	f->waits = false;
	f->mark = kfb_retain_mark(&r);
	f->ticket.waiting = 0;
	for (i = 0; i < N_QUEUES; i++) {
		if (f->only >= 0 && f->only != (int)i)
			continue;
		f->ticket.op[i] = kfb_flush_join(&queues[i].flush);
		if (f->ticket.op[i])
			f->ticket.waiting |= 1U << i;
	}
	if (!f->ticket.waiting)
		finish(f);
}

static void pump_flushes(void)
{
	struct kfb_flush_op *posted;
	uint32_t i;

	if (is_due)
		return;
	for (i = 0; i < N_FLUSHES; i++) {
		if (flushes[i].active && flushes[i].waits)
			begin_flush(&flushes[i]);
	}
	for (i = 0; i < N_QUEUES; i++) {
		struct queue *q = &queues[i];

		while (q->is_up && q->n_ops < N_OPS &&
		       (posted = kfb_flush_post(&q->flush)) != NULL) {
			struct op *op = push(q);

			op->kind = FLUSH;
			op->id = posted->id;
			op->dirty = posted->dirty;
		}
	}
}

static struct flush *start_flush(int only, __u64 copy)
{
	uint32_t i;

	for (i = 0; i < N_FLUSHES; i++) {
		struct flush *f = &flushes[i];

		if (f->active)
			continue;
		memset(f, 0, sizeof(*f));
		f->active = true;
		f->waits = true;
		f->only = only;
		f->copy = copy;
		return f;
	}
	return NULL;
}

static void ask_for_flush(void)
{
	struct flush *f = start_flush(-1, KFB_RETAIN_NONE);

	if (!f)
		return;
	memcpy(f->promises, completed, sizeof(completed));
	pump_flushes();
}

static void flush_completed(struct queue *q, __u64 id)
{
	uint32_t i;

	assert_int_equal(kfb_flush_done(&q->flush, id, 0), 0);
	for (i = 0; i < N_FLUSHES; i++) {
		struct flush *f = &flushes[i];

		if (f->active && !f->waits &&
		    kfb_flush_ticket_done(&f->ticket, (uint32_t)(q - queues),
					  id, 0))
			finish(f);
	}
}

/* ---- writes ------------------------------------------------------------ */

static void post_write(void)
{
	uint32_t in_block = below(CELLS_IN_BLOCK);
	uint32_t cell = below(N_BLOCKS) * CELLS_IN_BLOCK + in_block;
	uint32_t n = 1 + below(CELLS_IN_BLOCK - in_block);
	struct queue *q = queue_of(cell);
	bool is_zero = below(8) == 0;
	struct op *op;
	__u64 id;
	uint32_t i;

	if (!are_all_up() || is_due || q->n_ops > N_OPS / 2)
		return;
	if (kfb_retain_add(&r, va_of(cell), n * CELL, is_zero, &id))
		return;
	op = push(q);
	op->kind = WRITE;
	op->cell = cell;
	op->n = n;
	op->copy = id;
	op->fua = below(3) == 0;
	op->value = ++last_value;
	zeroes[id % CAP] = op->value;
	for (i = 0; !is_zero && i < n; i++)
		pages[kfb_retain_page(&r, id) * CELLS_IN_PAGE + i] = op->value;
}

static void promise(uint32_t *to, const struct op *op)
{
	uint32_t i;

	for (i = op->cell; i < op->cell + op->n; i++)
		to[i] = op->value;
}

static void write_completed(struct queue *q, const struct op *op)
{
	bool is_chained = op->fua && by_readback;
	struct flush *f;

	fates[op->value] = COMPLETED;
	promise(completed, op);
	if (!is_chained)
		kfb_flush_wrote(&q->flush, va_of(op->cell), op->n * CELL);
	kfb_retain_done(&r, op->copy);
	if (!op->fua)
		return;
	count.fua++;
	if (is_chained) {
		kfb_retain_durable(&r, op->copy);
		promise(promised, op);
		return;
	}
	f = start_flush((int)(q - queues), op->copy);
	if (!f)
		return;
	promise(f->promises, op);
	pump_flushes();
}

static bool is_under_way(uint32_t block)
{
	const struct queue *q = queue_of(block * CELLS_IN_BLOCK);
	uint32_t i;

	for (i = 0; i < q->n_ops; i++) {
		if (q->ops[i].kind != FLUSH &&
		    q->ops[i].cell / CELLS_IN_BLOCK == block)
			return true;
	}
	return false;
}

/* A block is freed: it reads as zeros, durably. */
static void discard(void)
{
	uint32_t block = below(N_BLOCKS);
	struct op op = { .cell = block * CELLS_IN_BLOCK, .n = CELLS_IN_BLOCK };

	if (!are_all_up() || is_due || is_under_way(block))
		return;
	kfb_retain_drop(&r, block * KFB_BLOCK_BYTES, KFB_BLOCK_BYTES);
	op.value = ++last_value;
	fates[op.value] = COMPLETED;
	promise(seen, &op);
	promise(durable, &op);
	promise(completed, &op);
	promise(promised, &op);
}

/* ---- once more --------------------------------------------------------- */

static uint32_t n_copies_under_way(void)
{
	uint32_t i, j, n = 0;

	for (i = 0; i < N_QUEUES; i++) {
		for (j = 0; j < queues[i].n_ops; j++)
			n += queues[i].ops[j].kind == COPY;
	}
	return n;
}

static uint32_t copied_value(const struct kfb_retain_piece *piece)
{
	uint32_t first = kfb_retain_page(&r, piece->id) * CELLS_IN_PAGE +
			 piece->offset / CELL;
	uint32_t i;

	if (piece->is_zero)
		return zeroes[piece->id % CAP];
	for (i = 1; i < piece->len / CELL; i++)
		assert_int_equal(pages[first + i], pages[first]);
	return pages[first];
}

static bool post_copy(void)
{
	const struct kfb_retain_cursor was = at;
	struct kfb_retain_piece piece;
	struct op *op;
	uint32_t i;
	int rc;

	do
		rc = kfb_retain_next(&r, &at, 1 + below(4), &piece);
	while (rc == -EAGAIN);
	if (!rc)
		return false;
	count.hidden += piece.id == was.id ? piece.offset != was.offset
					   : piece.offset != 0;
	if (piece.len > COPY_CELLS_MAX * CELL)
		piece.len = COPY_CELLS_MAX * CELL;
	op = push(queue_of(cell_of(piece.va)));
	op->kind = COPY;
	op->cell = cell_of(piece.va);
	op->n = piece.len / CELL;
	op->value = copied_value(&piece);
	for (i = op->cell; i < op->cell + op->n; i++) {
		assert_int_equal(op->value, completed[i]);
		assert_true(op->value > promised[i]);
	}
	kfb_retain_took(&at, piece.len);
	count.copies++;
	return true;
}

static void begin_replay(void)
{
	if (!is_due || !are_all_up() || n_copies_under_way() ||
	    (is_running && !has_failed))
		return;
	if (kfb_retain_rewind(&r)) {
		count.waits++;
		return;
	}
	is_running = true;
	has_failed = false;
	memset(&at, 0, sizeof(at));
	count.replays++;
}

static void pump_replay(void)
{
	bool more = true;

	begin_replay();
	while (is_running && !has_failed && more &&
	       n_copies_under_way() < N_COPIES)
		more = post_copy();
	if (more || n_copies_under_way())
		return;
	is_running = false;
	is_due = false;
	pump_flushes();
}

/* ---- connections ------------------------------------------------------- */

static void complete(struct queue *q)
{
	struct op op = q->ops[0];

	if (!q->n_ops || !op.landed)
		return;
	memmove(q->ops, q->ops + 1, --q->n_ops * sizeof(op));
	switch (op.kind) {
	case WRITE:
		write_completed(q, &op);
		break;
	case COPY:
		kfb_flush_wrote(&q->flush, va_of(op.cell), op.n * CELL);
		break;
	case FLUSH:
		flush_completed(q, op.id);
		pump_flushes();
		break;
	}
	pump_replay();
}

/* Nothing of it lands after this; the driver is told that all of it failed. */
static void die(struct queue *q)
{
	uint32_t i;

	if (!q->is_up)
		return;
	while (below(2))
		land(q);
	for (i = 0; i < q->n_ops; i++) {
		struct op *op = &q->ops[i];

		if (op->kind != FLUSH && !op->landed && below(2))
			land_cells(op, below(op->n + 1));
	}
	for (i = 0; i < q->n_ops; i++) {
		struct op *op = &q->ops[i];

		if (op->kind == WRITE) {
			kfb_retain_void(&r, op->copy);
			fates[op->value] = FAILED;
		}
	}
	forget_cells(q);
	q->n_ops = 0;
	q->is_up = false;
	kfb_flush_lost(&q->flush);
	for (i = 0; i < N_FLUSHES; i++)
		flushes[i].waits = true;
	has_failed = true;
	count.deaths++;
}

/* Its completed writes are suspect. */
static void come_back(struct queue *q)
{
	struct kfb_dirty writes = { 0 };
	uint32_t i;

	if (q->is_up)
		return;
	q->is_up = true;
	kfb_flush_take(&q->flush, &writes, &writes);
	is_due |= !kfb_dirty_is_empty(&writes);
	for (i = 0; i < N_FLUSHES; i++) {
		flushes[i].waits = true;
		if (flushes[i].only == (int)(q - queues))
			flushes[i].only = -1;
	}
	pump_replay();
	pump_flushes();
}

static void cut_power(void)
{
	uint32_t i;

	for (i = 0; i < N_QUEUES; i++) {
		die(&queues[i]);
		forget_cells(&queues[i]);
	}
}

/* ---- histories --------------------------------------------------------- */

static void settle(void)
{
	uint32_t i, j;

	for (i = 0; i < N_QUEUES; i++)
		come_back(&queues[i]);
	for (j = 0; j < 1000; j++) {
		for (i = 0; i < N_QUEUES; i++) {
			land(&queues[i]);
			complete(&queues[i]);
		}
	}
	assert_false(is_due);
	for (i = 0; i < N_QUEUES; i++)
		assert_int_equal(queues[i].n_ops, 0);
	for (i = 0; i < N_FLUSHES; i++)
		assert_false(flushes[i].active);
	for (i = 0; i < N_CELLS; i++) {
		if (seen[i] == completed[i])
			continue;
		assert_true(seen[i] > completed[i]);
		assert_int_equal(fates[seen[i]], FAILED);
	}
}

static void step(void)
{
	uint32_t dice = below(1000);
	struct queue *q = &queues[below(N_QUEUES)];

	if (dice < 300)
		post_write();
	else if (dice < 600)
		land(q);
	else if (dice < 900)
		complete(q);
	else if (dice < 930)
		ask_for_flush();
	else if (dice < 960)
		come_back(q);
	else if (dice < 972)
		durable[dice % N_CELLS] = seen[dice % N_CELLS];
	else if (dice < 976)
		discard();
	else if (dice < 984)
		die(q);
	else if (dice == 999)
		cut_power();
}

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	memset(queues, 0, sizeof(queues));
	memset(flushes, 0, sizeof(flushes));
	memset(fates, UNDER_WAY, sizeof(fates));
	memset(seen, 0, sizeof(seen));
	memset(durable, 0, sizeof(durable));
	memset(completed, 0, sizeof(completed));
	memset(promised, 0, sizeof(promised));
	memset(&count, 0, sizeof(count));
	last_value = 0;
	fates[0] = COMPLETED;
	is_due = false;
	is_running = false;
	has_failed = false;
	kfb_retain_init(&r, copies, newest, CAP, N_PAGES);
	for (i = 0; i < N_QUEUES; i++) {
		kfb_flush_init(&queues[i].flush, 2);
		queues[i].is_up = true;
	}
	return 0;
}

static void run(bool readback)
{
	uint32_t i;

	srand(91);
	by_readback = readback;
	for (i = 0; i < STEPS; i++) {
		step();
		if (i % 2000 == 1999)
			settle();
	}
	print_message(
		"# %u deaths, %u replays of %u copies, %u cells saved, "
		"%u pieces hidden; %u begins waited; %u flushes, %u FUA\n",
		count.deaths, count.replays, count.copies, count.saved,
		count.hidden, count.waits, count.flushes, count.fua);
	assert_true(count.replays > 1000 && count.copies > 1000);
	assert_true(count.saved > 1000 && count.hidden > 1000);
	assert_true(count.waits > 1000 && count.flushes > 1000);
	assert_true(count.fua > 1000);
}

static void queues_that_die_alone_revert_nothing(void **state)
{
	(void)state;
	run(false);
}

static void nor_where_flushes_read_back(void **state)
{
	(void)state;
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(queues_that_die_alone_revert_nothing,
				       setup),
		cmocka_unit_test_setup(nor_where_flushes_read_back, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
