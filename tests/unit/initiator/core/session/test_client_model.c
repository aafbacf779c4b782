// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client's session under random losses, restarts, power cuts, takeovers
 * and silence, held against a model: test-core-client_model [RUNS [SEED]]
 *
 * The caller's part is played as kernel and library play it. What must hold:
 *
 * - no write reaches a block whose birth has changed since it was mapped;
 * - a flush that succeeds has made every write durable that was completed
 *   before it began, but for those that were told lost and accepted so;
 * - no ALLOC is executed twice, and one that was answered was executed.
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

#include "client_rig.h"
#include "kfb_err.h"

#define QUEUES	 3
#define STEPS	 400
#define OPS	 12
#define CELL	 4096
#define RUNS	 300
#define LEASE_MS 9000
#define NETWORKS 3

struct write_op {
	bool active;
	bool posted;
	uint32_t queue; /* while posted */
	uint32_t block;
	uint32_t cell;
	uint32_t value;
};

struct cell {
	bool known; /* @completed is what must be there */
	uint32_t completed; /* newest write that has completed */
	uint32_t issued; /* newest write there is */
	uint32_t needed; /* by the flush that is under way */
};

static struct rig r;
static struct cell cells[SIM_BLOCKS][SIM_CELLS];
static struct write_op ops[OPS];
static struct kfb_flush_queue flush[QUEUES];
static struct kfb_losses losses;
static struct kfb_flush_ticket ticket;
static bool flushing;
static bool flush_waits; /* to be started when LIVE */
static uint64_t old_session; /* of the fates that are told */
static uint32_t next_value;
static uint32_t next_alloc;
static int alloc_owner[SIM_ALLOCS];
static unsigned int runs = RUNS;
static unsigned int seed;
static unsigned int n_flushed, n_failed, n_died, n_resumed, n_renewed;
static unsigned int n_refused, n_moved;

static uint64_t va_of(uint32_t block, uint32_t cell)
{
	return SIM_VA + block * KFB_BLOCK_BYTES + (uint64_t)cell * CELL;
}

static void forget_block(uint32_t block)
{
	uint32_t i;

	for (i = 0; i < SIM_CELLS; i++)
		cells[block][i].known = false;
	for (i = 0; i < OPS; i++) {
		if (ops[i].active && ops[i].block == block)
			ops[i].active = false;
	}
}

/* The caller's part: what each piece of news leads to. */

static void on_closed(struct rig *rig, uint32_t queue)
{
	uint32_t i;

	for (i = 0; i < OPS; i++) {
		if (ops[i].active && ops[i].posted && ops[i].queue == queue)
			ops[i].posted = false;
	}
	kfb_flush_lost(&flush[queue]);
	if (flushing)
		flush_waits = true;
}

static void on_fate(struct rig *rig, uint32_t queue, enum kfb_fate fate)
{
	struct kfb_dirty writes = { 0 };

	if (flushing)
		flush_waits = true;
	if (fate == KFB_FATE_SUSPECT || fate == KFB_FATE_GONE) {
		kfb_flush_take(&flush[queue], &writes, &writes);
		kfb_losses_add(&losses, &writes,
			       fate == KFB_FATE_GONE ? KFB_LOSS_EPOCH
						     : KFB_LOSS_SUSPECT);
	} else if (queue && old_session != rig->c.session_id) {
		kfb_flush_take(&flush[queue], &writes, &writes);
		kfb_flush_put(&flush[0], &writes, &(struct kfb_dirty){ 0 });
	}
}

static void on_dead(struct rig *rig, uint32_t block)
{
	struct kfb_dirty writes = { 0 };
	uint32_t i;

	n_died++;
	if (flushing)
		flush_waits = true;
	for (i = 0; i < QUEUES; i++)
		kfb_flush_take_in(&flush[i], va_of(block, 0), KFB_BLOCK_BYTES,
				  &writes);
	kfb_losses_add(&losses, &writes, KFB_LOSS_BIRTH);
	forget_block(block);
}

static void end_flush(int error)
{
	uint32_t block;
	uint32_t i;

	flushing = false;
	flush_waits = false;
	if (kfb_losses_error(&losses))
		error = kfb_losses_error(&losses);
	if (error) {
		n_failed++;
		n_refused += r.b.has_failed;
		return;
	}
	n_flushed++;
	for (block = 0; block < SIM_BLOCKS; block++) {
		for (i = 0; i < SIM_CELLS; i++) {
			const struct cell *c = &cells[block][i];
			uint32_t durable = r.b.blocks[block].durable[i];

			if (!c->known || !c->needed)
				continue;
			/* It, or a later write of the same cell. */
			if (durable < c->needed || durable > c->issued)
				fail_msg("seed %u: block %u cell %u: %u "
					 "durable, %u was flushed",
					 seed, block, i, durable, c->needed);
		}
	}
}

static void on_outcome(struct rig *rig, uint32_t queue,
		       const struct kfb_outcome *outcome)
{
	int *alloc = outcome->owner;

	if (alloc >= alloc_owner && alloc < alloc_owner + SIM_ALLOCS) {
		if (outcome->kind == KFB_OUTCOME_REPLY) {
			assert_int_equal(outcome->error, 0);
			assert_int_equal(r.b.executed[alloc - alloc_owner], 1);
		}
		return;
	}
	/* A FLUSH: its op's number is the owner. */
	if (outcome->op != KFB_OP_FLUSH ||
	    kfb_flush_done(&flush[queue], (uintptr_t)outcome->owner,
			   outcome->error))
		return;
	if (flushing && !flush_waits &&
	    kfb_flush_ticket_done(&ticket, queue, (uintptr_t)outcome->owner,
				  outcome->error))
		end_flush(ticket.error);
}

static void start_flush(void)
{
	uint32_t block;
	uint32_t i;

	if (flushing)
		return;
	flushing = true;
	flush_waits = true;
	kfb_flush_ticket_init(&ticket);
	for (block = 0; block < SIM_BLOCKS; block++) {
		for (i = 0; i < SIM_CELLS; i++) {
			struct cell *c = &cells[block][i];

			c->needed = c->known ? c->completed : 0;
		}
	}
}

static void pump_flush(void)
{
	struct kfb_request req;
	struct kfb_flush_op *op;
	uint32_t i;

	if (flushing && flush_waits &&
	    kfb_client_state(&r.c) == KFB_CLIENT_LIVE) {
		bool any = false;

		flush_waits = false;
		kfb_flush_ticket_again(&ticket);
		for (i = 0; i < QUEUES; i++)
			any |= kfb_flush_ticket_join(&ticket, i, &flush[i]);
		if (kfb_losses_error(&losses) || !any)
			end_flush(ticket.error);
	}
	for (i = 0; i < QUEUES; i++) {
		uint64_t id;

		if (!kfb_client_usable(&r.c, i, r.now_ms))
			continue;
		op = kfb_flush_post(&flush[i]);
		if (!op)
			continue;
		memset(&req, 0, sizeof(req));
		req.op = KFB_OP_FLUSH;
		if (op->dirty.all)
			req.u.flush.flags = KFB_FLUSH_ALL;
		req.u.flush.n_ranges = op->dirty.n;
		memcpy(req.u.flush.ranges, op->dirty.ranges,
		       op->dirty.n * sizeof(op->dirty.ranges[0]));
		id = op->id;
		if (rig_call(&r, i, &req, (void *)(uintptr_t)id))
			kfb_flush_unpost(&flush[i], op);
	}
}

static void new_write(void)
{
	struct write_op *op = &ops[rig_random(&r, OPS)];
	uint32_t block = rig_random(&r, SIM_BLOCKS);
	uint32_t cell = rig_random(&r, SIM_CELLS);
	uint32_t i;

	if (op->active || !r.blocks[block].held || r.blocks[block].dead ||
	    !r.blocks[block].birth)
		return;
	/* Two at a time to one cell have no order. */
	for (i = 0; i < OPS; i++) {
		if (ops[i].active && ops[i].block == block &&
		    ops[i].cell == cell)
			return;
	}
	*op = (struct write_op){ .active = true,
				 .block = block,
				 .cell = cell,
				 .value = ++next_value };
	cells[block][cell].issued = op->value;
}

static void check_birth(const struct write_op *op)
{
	const struct sim_session *s = sim_session(&r.b, r.c.session_id);

	if (s && s->mappings[op->block].id == r.blocks[op->block].key)
		assert_int_equal(r.b.blocks[op->block].birth,
				 r.blocks[op->block].birth);
}

static void complete(struct write_op *op)
{
	struct cell *cell = &cells[op->block][op->cell];

	op->active = false;
	cell->completed = op->value;
	cell->known = true;
	kfb_flush_wrote(&flush[op->queue], va_of(op->block, op->cell), CELL);
}

static void post(struct write_op *op)
{
	const struct rig_link *link;
	uint32_t queue = kfb_queue_of(va_of(op->block, 0), r.c.n_used);

	if (!kfb_client_usable(&r.c, queue, r.now_ms) ||
	    !r.blocks[op->block].mapped)
		return;
	link = &r.links[queue];
	op->posted = true;
	op->queue = queue;
	/* A write that is lost on its way, one way or the other. */
	if (r.cut_per_mille && !rig_random(&r, 30)) {
		rig_cut(&r, queue);
		return;
	}
	check_birth(op);
	if (!sim_write(&r.b, link->session, link->queue,
		       r.blocks[op->block].key, op->cell, op->value) ||
	    (r.cut_per_mille && !rig_random(&r, 30))) {
		rig_cut(&r, queue);
		return;
	}
	/* Some completions come later, or never. */
	if (rig_random(&r, 3))
		complete(op);
}

static void pump_writes(void)
{
	uint32_t i;

	for (i = 0; i < OPS; i++) {
		if (!ops[i].active)
			continue;
		if (!ops[i].posted)
			post(&ops[i]);
		else if (!rig_random(&r, 3) &&
			 r.c.queues[ops[i].queue].engine.state ==
				 KFB_CONN_READY)
			complete(&ops[i]);
	}
}

static void pump(void)
{
	uint64_t session = r.c.session_id;
	uint32_t address = r.links[0].address;

	rig_run(&r);
	n_moved += kfb_client_state(&r.c) == KFB_CLIENT_LIVE &&
		   r.links[0].address != address;
	n_renewed += session && r.c.session_id && session != r.c.session_id;
	if (kfb_client_state(&r.c) == KFB_CLIENT_LIVE)
		old_session = r.c.session_id;
	pump_writes();
	rig_run(&r);
	pump_flush();
	rig_run(&r);
	assert_int_not_equal(kfb_client_state(&r.c), KFB_CLIENT_FAILED);
}

/* The owner of the data knows: it does not count on those any more. */
static void accept_losses(void)
{
	uint32_t block;
	uint32_t i;

	for (block = 0; block < SIM_BLOCKS; block++) {
		for (i = 0; i < SIM_CELLS; i++) {
			if (kfb_dirty_overlaps(&losses.ranges, va_of(block, i),
					       CELL))
				cells[block][i].known = false;
		}
	}
	kfb_losses_reset(&losses);
}

static void take_block_again(uint32_t block)
{
	if (!r.blocks[block].dead)
		return;
	memset(&r.blocks[block], 0, sizeof(r.blocks[block]));
	r.blocks[block].held = true;
	forget_block(block);
}

/*
 * Another client gets a block that no session has mapped. What was durable is
 * its to overwrite; what was not must be told lost before a flush succeeds.
 */
static void take_over(uint32_t block)
{
	struct sim_block before = r.b.blocks[block];
	uint32_t i;

	if (!sim_take_over(&r.b, block, 1))
		return;
	for (i = 0; i < SIM_CELLS; i++) {
		if (before.durable[i] >= cells[block][i].completed)
			cells[block][i].known = false;
	}
}

/* A network goes, with the queues that are on it, or comes back. */
static void network_changes(uint32_t address)
{
	uint32_t i;

	r.mute ^= 1U << address;
	for (i = 0; i < QUEUES && r.mute & 1U << address; i++) {
		if (r.links[i].address == address)
			rig_cut(&r, i);
	}
}

static void something_happens(void)
{
	switch (rig_random(&r, 60)) {
	case 0:
		rig_cut(&r, rig_random(&r, QUEUES));
		n_resumed++;
		break;
	case 1:
		sim_restart(&r.b);
		rig_cut(&r, rig_random(&r, QUEUES));
		break;
	case 2:
		if (rig_random(&r, 3))
			break;
		sim_power_cut(&r.b);
		rig_cut(&r, rig_random(&r, QUEUES));
		break;
	case 3:
		sim_end_session(&r.b, r.c.session_id);
		break;
	case 4:
	case 5:
	case 6:
		take_over(rig_random(&r, SIM_BLOCKS));
		break;
	case 7:
		r.unreachable = !r.unreachable;
		break;
	case 8:
	case 9:
		if (!flushing)
			accept_losses();
		break;
	case 10:
		r.now_ms += rig_random(&r, LEASE_MS);
		break;
	case 11:
		take_block_again(rig_random(&r, SIM_BLOCKS));
		break;
	case 12:
		r.b.medium_fails |= !rig_random(&r, 3);
		break;
	case 13:
		if (r.c.config.n_addresses)
			network_changes(rig_random(&r, NETWORKS));
		break;
	default:
		r.now_ms += rig_random(&r, 100);
	}
}

static void begin(uint32_t number)
{
	uint32_t i;

	rig_init(&r, QUEUES);
	r.random = number * 2654435761U + 1;
	r.b.lease_ms = number % 3 ? LEASE_MS : 0;
	r.b.ack_is_placed = number % 2;
	r.drop = number % 4 < 2;
	r.c.config.reconnect_ms = KFB_CLIENT_FOREVER;
	r.c.config.n_addresses = number % 5 < 2 ? NETWORKS : 0;
	r.on_closed = on_closed;
	r.on_fate = on_fate;
	r.on_dead = on_dead;
	r.on_outcome = on_outcome;
	memset(cells, 0, sizeof(cells));
	memset(ops, 0, sizeof(ops));
	memset(&losses, 0, sizeof(losses));
	for (i = 0; i < QUEUES; i++)
		kfb_flush_init(&flush[i], 2);
	for (i = 0; i < SIM_BLOCKS; i++)
		r.blocks[i].held = true;
	flushing = false;
	flush_waits = false;
	next_value = 1;
	next_alloc = 0;
	rig_connect(&r);
	old_session = r.c.session_id;
	r.cut_per_mille = 20;
}

static void end_in_peace(void)
{
	uint32_t tries = 0;
	uint32_t i;

	r.cut_per_mille = 0;
	r.unreachable = false;
	r.mute = 0;
	if (r.b.medium_fails)
		sim_restart(&r.b);
	for (i = 0; i < 200; i++) {
		r.now_ms += 100;
		pump();
	}
	if (kfb_client_state(&r.c) != KFB_CLIENT_LIVE)
		fail_msg("seed %u: %s in peace", seed,
			 kfb_client_state_name(kfb_client_state(&r.c)));
	if (flushing)
		fail_msg("seed %u: a flush does not end", seed);
	/* A session that ended unnoticed is noticed now. */
	for (i = n_flushed; n_flushed == i && tries < 200; tries++) {
		if (!flushing)
			accept_losses();
		start_flush();
		r.now_ms += 100;
		pump();
	}
	assert_true(n_flushed > i);
	for (i = 0; i < SIM_ALLOCS; i++)
		assert_true(r.b.executed[i] <= 1);
}

static void whatever_happens_nothing_is_lost_in_silence(void **state)
{
	unsigned int first = seed;
	unsigned int i;
	int step;

	for (i = 0; i < runs; i++) {
		seed = first + i;
		begin(seed);
		for (step = 0; step < STEPS; step++) {
			if (rig_random(&r, 2))
				new_write();
			if (!rig_random(&r, 12))
				start_flush();
			if (!rig_random(&r, 20) &&
			    kfb_client_can_call(&r.c, 0) &&
			    !rig_alloc(&r, next_alloc,
				       &alloc_owner[next_alloc]))
				next_alloc++;
			something_happens();
			pump();
		}
		end_in_peace();
	}
	/* It has seen all it is about. */
	printf("# seed %u: %u flushes, %u failed, %u mappings died, %u cuts, "
	       "%u new sessions, %u at another address\n",
	       first, n_flushed, n_failed, n_died, n_resumed, n_renewed,
	       n_moved);
	assert_true(n_flushed > runs && n_failed > runs / 4);
	assert_true(n_died && n_resumed && n_renewed && n_refused && n_moved);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_happens_nothing_is_lost_in_silence),
	};

	if (argc > 1)
		runs = (unsigned int)strtoul(argv[1], NULL, 10);
	seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
