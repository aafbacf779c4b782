// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: writes that are held in N, and the way of their lines
 * to the peer.
 *
 * Context: the endpoint's engine, which alone touches the model.
 */
#include <linux/minmax.h>
#include <linux/mm.h>

#include "fault.h"

/*
 * These say that the bytes are placed, or when, so they cannot stay in N.
 */
#define PLACED_FLAGS                                                     \
	(FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE | \
	 FI_FENCE)

/* Memory of the model, for endpoints that are opened with power on. */
int fault_hold_init(struct fault_ep *ep)
{
	struct fault_power_cfg cfg = { .seed = fault_next_seed() };

	if (!fault_knob(power))
		return 0;
	ep->lines = kvcalloc(FAULT_LINES, sizeof(*ep->lines), GFP_KERNEL);
	if (!ep->lines)
		return -ENOMEM;
	return fault_power_init(&ep->power, &cfg, ep->lines, FAULT_LINES,
				&ep->conn, 1);
}

bool fault_holds(const struct fault_ep *ep, const struct fault_op *op)
{
	return ep->lines && fault_knob(power) &&
	       op->base.type == KFI_OP_WRITE &&
	       !(op->base.flags & PLACED_FLAGS);
}

/* ---- into N ------------------------------------------------------------ */

/* The remote place of the operation's byte at op->held. */
static const struct fi_rma_iov *fault_find_range(const struct fault_op *op,
						 size_t *offset)
{
	const struct fi_rma_iov *r = op->base.rma;

	*offset = op->held;
	while (*offset >= r->len) {
		*offset -= r->len;
		r++;
	}
	return r;
}

/* Copy up to the end of a line into N; false: N is full. */
static bool fault_hold_line(struct fault_ep *ep, struct fault_op *op,
			    struct kfi_buf_iter *src)
{
	const struct fi_buf own = fi_buf_linear(ep->bounce, FAULT_LINE);
	struct kfi_buf_iter dst, from = *src;
	const struct fi_rma_iov *r;
	size_t offset, n;
	u64 addr;

	r = fault_find_range(op, &offset);
	addr = r->addr + offset;
	n = min_t(size_t, FAULT_LINE - addr % FAULT_LINE, r->len - offset);
	kfi_buf_start(&dst, &own);
	kfi_buf_copy(&dst, &from, n);
	if (fault_power_write(&ep->power, 0, r->key, addr, ep->bounce, n) < n)
		return false;
	fault_count(held_lines);
	op->held += n;
	*src = from;
	return true;
}

/* Take the rest of a write into N; -FI_EAGAIN: it is full, go on later. */
int fault_hold(struct fault_ep *ep, struct fault_op *op)
{
	struct kfi_buf_iter src;
	int ret;

	kfi_buf_start(&src, &op->base.buf);
	kfi_buf_advance(&src, op->held);
	while (op->held < op->base.buf.len) {
		if (fault_hold_line(ep, op, &src))
			continue;
		if (!ep->power.out.count) {
			fault_count(squeezed_lines);
			fault_power_squeeze(&ep->power, 0);
		}
		ret = fault_place(ep);
		if (ret)
			return ret;
	}
	ep->power.cfg.drain_permille = fault_knob(drain_permille);
	fault_power_step(&ep->power);
	return 0;
}

/* ---- out of N ---------------------------------------------------------- */

static struct fault_op *fault_take_drain(struct fault_ep *ep)
{
	struct fault_op *op;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(&ep->drains, struct fault_op, base.node);
	if (op) {
		list_del(&op->base.node);
		ep->draining++;
	}
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return op;
}

/* The bytes of a line write did not get to the peer. */
static void fault_report_failed(const struct fault_ep *ep,
				const struct fault_op *op)
{
	const struct fi_rma_iov *r = op->base.rma;
	unsigned int start = r->addr % FAULT_LINE;
	struct fault_line line = {
		.space = r->key,
		.addr = r->addr - start,
		.lost = GENMASK_ULL(start + r->len - 1, start),
	};

	fault_count(failed_writes);
	fault_report(ep->post.ep.fid.id, &line);
}

/* A line write is over. */
void fault_placed(struct fault_ep *ep, struct fault_op *op, int err)
{
	lockdep_assert_held(&ep->post.lock);
	if (err)
		fault_report_failed(ep, op);
	list_add(&op->base.node, &ep->drains);
	ep->draining--;
	fault_kick(ep);
}

/* The first bytes of the current line that belong together. */
static u64 fault_first_run(u64 mask, unsigned int *start, unsigned int *len)
{
	u64 rest;

	*start = __ffs64(mask);
	rest = ~(mask >> *start);
	*len = rest ? __ffs64(rest) : FAULT_LINE;
	return *len == FAULT_LINE ? mask : (BIT_ULL(*len) - 1) << *start;
}

/* Write the first bytes of the current line to the peer. */
static ssize_t fault_place_run(struct fault_ep *ep)
{
	struct fault_op *op = fault_take_drain(ep);
	unsigned int start, len;
	struct fi_msg_rma msg;
	unsigned long irq;
	ssize_t ret;
	u64 run;

	if (!op)
		return -FI_EAGAIN;
	run = fault_first_run(ep->line.mask, &start, &len);
	memcpy(op->base.inject, ep->line.data + start, len);
	op->base.rma[0] = (struct fi_rma_iov){ .addr = ep->line.addr + start,
					       .len = len,
					       .key = ep->line.space };
	msg = (struct fi_msg_rma){ .buf = fi_buf_linear(op->base.inject, len),
				   .rma_iov = op->base.rma,
				   .rma_iov_count = 1,
				   .addr = FI_ADDR_UNSPEC,
				   .context = &op->inner };
	op->state = FAULT_ISSUED;
	ret = fi_writemsg(ep->inner, &msg, 0);
	if (ret) {
		spin_lock_irqsave(&ep->post.lock, irq);
		list_add(&op->base.node, &ep->drains);
		ep->draining--;
		spin_unlock_irqrestore(&ep->post.lock, irq);
		return ret;
	}
	fault_count(placed_writes);
	ep->line.mask &= ~run;
	return 0;
}

/* Take the next line out of the model; false: there is none. */
static bool fault_next_line(struct fault_ep *ep)
{
	u64 first;

	if (ep->line_rest) {
		ep->line.mask = ep->line_rest;
		ep->line_rest = 0;
		return true;
	}
	if (!fault_power_pop(&ep->power, &ep->line))
		return false;
	if (ep->line.lost)
		fault_report(ep->post.ep.fid.id, &ep->line);
	if (!ep->line.mask)
		return true;
	fault_count(drained_lines);
	if (!fault_knob(torn_placement))
		return true;
	first = ep->line.mask & fault_power_torn(&ep->power);
	if (first && first != ep->line.mask) {
		fault_count(torn);
		ep->line_rest = ep->line.mask & ~first;
		ep->line.mask = first;
	}
	return true;
}

/*
 * Write all lines that have left N. 0: done; -FI_EAGAIN: no room now, a
 * completion will kick the engine; other: the connection is gone.
 */
int fault_place(struct fault_ep *ep)
{
	ssize_t ret;

	if (!ep->lines)
		return 0;
	for (;;) {
		if (READ_ONCE(ep->post.broken))
			return -ENOTCONN;
		if (!ep->line.mask && !fault_next_line(ep))
			return 0;
		if (!ep->line.mask)
			continue;
		ret = fault_place_run(ep);
		if (ret)
			return ret;
	}
}

/* An operation before which N must be empty. Returns as fault_place(). */
int fault_empty(struct fault_ep *ep)
{
	if (!ep->lines)
		return 0;
	if (fault_power_held(&ep->power, 0)) {
		fault_count(emptied);
		fault_power_empty(&ep->power, 0);
	}
	return fault_place(ep);
}

/* ---- the end ----------------------------------------------------------- */

/* The connection is about to be ended: decide about what N holds. */
void fault_end_lines(struct fault_ep *ep)
{
	if (ep->end == FAULT_END_CUT)
		fault_count(power_cuts);
	if (!ep->lines)
		return;
	if (ep->end == FAULT_END_CUT)
		fault_power_cut(&ep->power);
	else
		fault_power_destroy(&ep->power, 0, fault_knob(keep_on_close));
}

/* Is everything that was to be placed at the peer? */
bool fault_settled(struct fault_ep *ep)
{
	if (!ep->lines)
		return true;
	return !ep->power.out.count && !ep->line.mask && !ep->line_rest &&
	       !READ_ONCE(ep->draining);
}

/* The connection is gone: what is left cannot be placed any more. */
void fault_drop_lines(struct fault_ep *ep)
{
	struct fault_line line;

	if (!ep->lines)
		return;
	line = ep->line;
	line.lost = line.mask | ep->line_rest;
	if (line.lost)
		fault_report(ep->post.ep.fid.id, &line);
	ep->line.mask = 0;
	ep->line_rest = 0;
	fault_power_destroy(&ep->power, 0, false);
	while (fault_power_pop(&ep->power, &line)) {
		line.lost |= line.mask;
		fault_report(ep->post.ep.fid.id, &line);
	}
}
