// SPDX-License-Identifier: BSD-2-Clause
/* Cases of one-sided operations, over both kinds of endpoints. */
#include <string.h>

#include "pair.h"

#define PIECE  4096
#define PIECES 16
#define DATA   0xfeedULL

static uint64_t far_in(size_t offset)
{
	return end.remote.addr + PAIR_HALF + offset;
}

/* The client writes; the server looks when it is told to. */
static void writes(void)
{
	pair_exchange_memory();
	if (!end.serves) {
		pair_fill(end.out, PIECES * PIECE, 5);
		for (unsigned int i = 0; i < PIECES; i++)
			MUST(fi_write(end.ep, end.out + i * PIECE, PIECE,
				      pair_desc(), end.peer,
				      far_in(PIECE + i * PIECE), end.remote.key,
				      pair_context(i)));
		for (unsigned int i = 0; i < PIECES; i++)
			EXPECT(pair_done(end.tx_cq).flags & FI_WRITE);
	}
	pair_meet();
	if (end.serves)
		pair_check(end.in + PIECE, PIECES * PIECE, 5);
}

static void reads(void)
{
	pair_exchange_memory();
	if (end.serves)
		pair_fill(end.in + PIECE, PIECES * PIECE, 6);
	pair_meet();
	if (end.serves)
		return;
	for (unsigned int i = 0; i < PIECES; i++)
		MUST(fi_read(end.ep, end.in + i * PIECE, PIECE, pair_desc(),
			     end.peer, far_in(PIECE + i * PIECE),
			     end.remote.key, pair_context(i)));
	for (unsigned int i = 0; i < PIECES; i++)
		EXPECT(pair_done(end.tx_cq).flags & FI_READ);
	pair_check(end.in, PIECES * PIECE, 6);
}

/* Its completion there may come from a receive, or from none. */
static void takes_data(size_t at, unsigned int seed, uint64_t data)
{
	struct fi_cq_err_entry e;

	if (end.info->mode & FI_RX_CQ_DATA ||
	    end.info->rx_attr->mode & FI_RX_CQ_DATA)
		pair_recv(end.in, 1, 1);
	e = pair_done(end.rx_cq);
	EXPECT(e.flags & FI_REMOTE_WRITE);
	EXPECT(e.flags & FI_REMOTE_CQ_DATA);
	EXPECT(e.data == data);
	pair_check(end.in + at, 64, seed);
}

static void writes_data(void)
{
	pair_exchange_memory();
	for (unsigned int i = 0; i < PIECES; i++) {
		size_t at = PIECE + i * 64;

		if (end.serves) {
			takes_data(at, i, DATA + i);
			continue;
		}
		pair_fill(end.out + at, 64, i);
		MUST(fi_writedata(end.ep, end.out + at, 64, pair_desc(),
				  DATA + i, end.peer, far_in(at),
				  end.remote.key, pair_context(i)));
		EXPECT(pair_done(end.tx_cq).op_context == pair_context(i));
	}
}

static void injects(void)
{
	pair_exchange_memory();
	if (end.serves) {
		takes_data(PIECE + 64, 2, DATA);
		pair_check(end.in + PIECE, 64, 1);
		return;
	}
	pair_fill(end.out, 64, 1);
	MUST(fi_inject_write(end.ep, end.out, 64, end.peer, far_in(PIECE),
			     end.remote.key));
	pair_fill(end.out, 64, 2);
	MUST(fi_inject_writedata(end.ep, end.out, 64, DATA, end.peer,
				 far_in(PIECE + 64), end.remote.key));
	memset(end.out, 0, 64);
}

/* Vectors on both sides. */
static void writes_vectors(void)
{
	void *descs[2] = { pair_desc(), pair_desc() };
	struct iovec iov[2] = { { end.out, 100 }, { end.out + 100, 28 } };
	struct fi_rma_iov rma[2] = { { 0, 64, 0 }, { 0, 64, 0 } };
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .desc = descs,
				  .iov_count = 2,
				  .addr = end.peer,
				  .rma_iov = rma,
				  .rma_iov_count = 2,
				  .context = pair_context(1) };

	pair_exchange_memory();
	if (!end.serves) {
		pair_fill(end.out, 128, 8);
		for (int i = 0; i < 2; i++) {
			rma[i].addr = far_in(PIECE + (size_t)i * 64);
			rma[i].key = end.remote.key;
		}
		MUST(fi_writemsg(end.ep, &msg, FI_DELIVERY_COMPLETE));
		EXPECT(pair_done(end.tx_cq).op_context == pair_context(1));
	}
	pair_meet();
	if (end.serves)
		pair_check(end.in + PIECE, 128, 8);
}

/* Several registrations, each with its key. */
static void many_registrations(void)
{
	struct fid_mr *mrs[4];
	struct fi_rma_iov mine, theirs;

	pair_exchange_memory();
	for (uint64_t i = 0; i < 4; i++) {
		uint8_t *at = end.in + PIECE * (i + 1);

		MUST(fi_mr_reg(end.domain, at, PIECE,
			       FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 100 + i, 0,
			       &mrs[i], NULL));
		mine.key = fi_mr_key(mrs[i]);
		mine.addr = end.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
				    ? (uint64_t)(uintptr_t)at
				    : 0;
		memcpy(end.out, &mine, sizeof(mine));
		if (end.serves) {
			pair_send(end.out, sizeof(mine), 1);
			(void)pair_done(end.tx_cq);
			continue;
		}
		pair_recv(end.in, sizeof(mine), 2);
		(void)pair_done(end.rx_cq);
		memcpy(&theirs, end.in, sizeof(theirs));
		pair_fill(end.out, PIECE, (unsigned int)i);
		MUST(fi_write(end.ep, end.out, PIECE, pair_desc(), end.peer,
			      theirs.addr, theirs.key, pair_context(1)));
		(void)pair_done(end.tx_cq);
	}
	pair_meet();
	for (uint64_t i = 0; i < 4; i++) {
		if (end.serves)
			pair_check(end.in + PIECE * (i + 1), PIECE,
				   (unsigned int)i);
		MUST(fi_close(&mrs[i]->fid));
	}
}

union accepted {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + sizeof(struct fi_rma_iov)];
};

/* The target: it sleeps in its event queue, and reads no completions. */
static void sleeps_in_eq(void)
{
	struct fi_rma_iov mine = { .len = PAIR_BYTES };
	struct fi_eq_cm_entry entry;
	uint32_t kind = 0;

	pair_listen();
	pair_event(FI_CONNREQ, &entry, sizeof(entry));
	fi_freeinfo(end.info);
	end.info = entry.info;
	pair_open_domain();
	pair_open_endpoint(end.info, &end.ep);
	mine.key = fi_mr_key(end.mr);
	if (end.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		mine.addr = (uint64_t)(uintptr_t)end.out;
	MUST(fi_accept(end.ep, &mine, sizeof(mine)));
	do
		MUST(fi_eq_sread(end.eq, &kind, &entry, sizeof(entry),
				 PAIR_DEADLINE_MS, 0));
	while (kind == FI_CONNECTED);
	EXPECT(kind == FI_SHUTDOWN);
	pair_check(end.in + PIECE, PAIR_HALF - PIECE, 9);
	MUST(fi_close(&end.ep->fid));
	end.ep = NULL;
}

/* Longer than any socket takes at once, there and back. */
static void moves_for_who_sleeps(void)
{
	const size_t len = PAIR_HALF - PIECE;
	union accepted u;

	pair_open_domain();
	pair_open_endpoint(end.info, &end.ep);
	MUST(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	pair_event(FI_CONNECTED, &u.entry, sizeof(u));
	memcpy(&end.remote, u.entry.data, sizeof(end.remote));
	pair_fill(end.out, len, 9);
	MUST(fi_write(end.ep, end.out, len, pair_desc(), end.peer,
		      far_in(PIECE), end.remote.key, pair_context(1)));
	(void)pair_done(end.tx_cq);
	MUST(fi_read(end.ep, end.in, len, pair_desc(), end.peer, far_in(PIECE),
		     end.remote.key, pair_context(2)));
	EXPECT(pair_done(end.tx_cq).flags & FI_READ);
	pair_check(end.in, len, 9);
}

static void target_of_events(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	end.info = pair_getinfo();
	MUST(fi_fabric(end.info->fabric_attr, &end.fabric, NULL));
	MUST(fi_eq_open(end.fabric, &attr, &end.eq, NULL));
	if (end.serves)
		sleeps_in_eq();
	else
		moves_for_who_sleeps();
	pair_finish();
}

static void want_auto(struct fi_info *hints)
{
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
}

static void want_delivery(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static void want_data(struct fi_info *hints)
{
	hints->mode |= FI_RX_CQ_DATA;
	hints->domain_attr->cq_data_size = 4;
}

static void want_commit(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_COMMIT_COMPLETE;
}

static void want_waw(struct fi_info *hints)
{
	hints->tx_attr->msg_order = FI_ORDER_WAW;
	hints->ep_attr->max_order_waw_size = PIECE;
}

const struct pair_case pair_rma_cases[] = {
	{ "rma-write-msg", FI_EP_MSG, FI_MSG | FI_RMA, .run = writes },
	{ "rma-read-msg", FI_EP_MSG, FI_MSG | FI_RMA, .run = reads },
	{ "rma-writedata-msg", FI_EP_MSG, FI_MSG | FI_RMA, want_data,
	  writes_data },
	{ "rma-inject-msg", FI_EP_MSG, FI_MSG | FI_RMA, want_data, injects },
	{ "rma-vectors-msg", FI_EP_MSG, FI_MSG | FI_RMA,
	  .run = writes_vectors },
	{ "rma-ordered-msg", FI_EP_MSG, FI_MSG | FI_RMA, want_waw, writes },
	{ "rma-commit-msg", FI_EP_MSG, FI_MSG | FI_RMA, want_commit, writes },
	{ "rma-multi-mr-msg", FI_EP_MSG, FI_MSG | FI_RMA,
	  .run = many_registrations },
	{ "rma-event-msg", FI_EP_MSG, FI_MSG | FI_RMA | FI_RMA_EVENT,
	  .run = writes },
	{ "rma-eq-target-msg", FI_EP_MSG, FI_MSG | FI_RMA,
	  .whole = target_of_events },
	{ "rma-eq-target-auto-msg", FI_EP_MSG, FI_MSG | FI_RMA, want_auto,
	  .whole = target_of_events },
	{ "rma-write-rdm", FI_EP_RDM, FI_MSG | FI_RMA, .run = writes },
	{ "rma-write-rdm-delivered", FI_EP_RDM, FI_MSG | FI_RMA, want_delivery,
	  writes },
	{ "rma-read-rdm", FI_EP_RDM, FI_MSG | FI_RMA, .run = reads },
	{ "rma-read-rdm-delivered", FI_EP_RDM, FI_MSG | FI_RMA, want_delivery,
	  reads },
	{ "rma-writedata-rdm", FI_EP_RDM, FI_MSG | FI_RMA, want_data,
	  writes_data },
	{ "rma-multi-mr-rdm", FI_EP_RDM, FI_MSG | FI_RMA,
	  .run = many_registrations },
	{ "rma-event-rdm", FI_EP_RDM, FI_MSG | FI_RMA | FI_RMA_EVENT,
	  .run = writes },
	{ NULL },
};
