// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: remote memory: requests of the peer, which this end's engine
 * executes and answers in their order, and answers to our own.
 *
 * Context: the engine.
 */
#include <linux/string.h>

#include "rdm.h"

/* ---- requests of the peer -------------------------------------------------- */

static struct kfir_request *kfir_request_at(struct kfir_conn *conn,
					    unsigned int i)
{
	return &conn->requests[(conn->first_request + i) % RDMW_ASKED_MAX];
}

/* The flow has seen to it that there is room for one. */
static void kfir_request_begin(struct kfir_conn *conn,
			       const struct kfir_slot *slot)
{
	const struct rdmw_piece *piece = &slot->piece;
	struct kfir_request *req = kfir_request_at(conn, conn->nr_requests);
	struct kfir_domain *d = kfir_domain_of(conn->ep);
	const u8 *bytes = slot->bytes + RDMW_HEADER_BYTES;
	u64 access =
		piece->kind == RDMW_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	enum rdmw_violation bad;

	memset(req, 0, sizeof(*req));
	req->kind = piece->kind;
	if (piece->kind == RDMW_ATOMIC)
		bad = kfir_atomic_do(d, piece, bytes, req);
	else
		bad = rdmw_head_parse(piece, bytes, &req->head, &req->len);
	if (bad)
		kfir_conn_violated(conn, bad);
	if (bad || piece->kind == RDMW_ATOMIC)
		return;
	req->word = piece->word;
	req->ctx = piece->ctx;
	req->has_word = piece->flags & RDMW_WORD;
	/* All ranges are checked before the first byte is placed. */
	req->status = kfir_mr_check(d, &req->head, access);
	if (req->status == RDMW_DONE)
		kfir_grant_hint(conn, req->head.ranges[0].key);
}

/*
 * A piece of a request. True: its slot is a message for a receive now, of no bytes:
 * a write with data is whole.
 */
static bool kfir_request_piece(struct kfir_conn *conn, struct kfir_slot *slot)
{
	struct kfir_request *req = kfir_request_at(conn, conn->nr_requests);
	struct rdmw_piece *piece = &slot->piece;
	u8 *bytes = kfir_slot_data(slot);
	u64 len = piece->bytes, head;

	if (piece->flags & RDMW_FIRST) {
		kfir_request_begin(conn, slot);
		if (conn->violated)
			return false;
		head = req->kind == RDMW_ATOMIC
			       ? len
			       : RDMW_HEAD_BYTES(req->head.count);
		bytes += head;
		len -= head;
	}
	if (req->kind == RDMW_WRITE && req->status == RDMW_DONE)
		req->status =
			kfir_mr_move(kfir_domain_of(conn->ep), &req->head,
				     req->moved, FI_REMOTE_WRITE, bytes, len);
	req->moved += len;
	if (!(piece->flags & RDMW_LAST))
		return false;
	conn->nr_requests++;
	kfir_peer_busy(conn->ep, conn->peer);
	kfir_touch(conn);
	req->moved = 0;
	if (!req->has_word || req->status != RDMW_DONE)
		return false;
	*piece = (struct rdmw_piece){
		.kind = RDMW_DATA,
		.flags = RDMW_FIRST | RDMW_LAST | RDMW_WORD | KFIR_WRITTEN,
		.ctx = req->ctx,
		.word = req->word,
		.tag = req->len,
	};
	return true;
}

/* ---- our answers ------------------------------------------------------------- */

/* Bytes of the answer to what is done. */
static u64 kfir_answer_bytes(const struct kfir_request *req)
{
	return req->kind == RDMW_WRITE ? 0 : req->len;
}

/* Is there nothing to be said but that it is done? */
static bool kfir_is_written(const struct kfir_request *req)
{
	return req->status == RDMW_DONE && req->kind != RDMW_READ &&
	       !kfir_answer_bytes(req);
}

/* How many more such behind the first request have the same answer. */
static unsigned int kfir_joint(struct kfir_conn *conn)
{
	unsigned int n = 0;

	if (!(conn->flow.features & RDMW_FEATURE_JOINT) ||
	    !kfir_is_written(kfir_request_at(conn, 0)))
		return 0;
	while (n + 1 < conn->nr_requests &&
	       kfir_is_written(kfir_request_at(conn, n + 1)))
		n++;
	return n;
}

/*
 * Are requests to be answered now? One answer to writes is under way at a time,
 * so that those that come meanwhile have one together, which goes when credits are to
 * go back, too; half of them do not wait.
 */
bool kfir_is_answer_due(struct kfir_conn *conn)
{
	return !(conn->flow.features & RDMW_FEATURE_JOINT) ||
	       !conn->nr_answers || rdmw_flow_owes(&conn->flow) ||
	       conn->nr_requests >= RDMW_ASKED_MAX / 2 ||
	       !kfir_is_written(kfir_request_at(conn, 0));
}

/* A piece of the first answer; 0, or why there is none now. */
static int kfir_answer_piece(struct kfir_conn *conn)
{
	struct kfir_request *req = kfir_request_at(conn, 0);
	struct rdmw_message message = { .kind = RDMW_ANSWER };
	struct rdmw_flow flow = conn->flow;
	struct kfir_slot *slot;
	struct fi_buf buf;
	size_t room;
	u64 n;
	int ret;

	room = min_t(size_t, rdmw_flow_may_send(&flow, RDMW_ANSWER),
		     KFIR_DATA_BYTES);
	slot = room ? kfir_slot_get(conn) : NULL;
	if (!slot)
		return -FI_EAGAIN;
	n = min_t(u64, room, kfir_answer_bytes(req) - req->moved);
	if (req->kind == RDMW_ATOMIC)
		memcpy(slot->bytes + RDMW_HEADER_BYTES, req->result, n);
	else if (req->kind == RDMW_READ && req->status == RDMW_DONE)
		req->status = kfir_mr_move(kfir_domain_of(conn->ep), &req->head,
					   req->moved, FI_REMOTE_READ,
					   slot->bytes + RDMW_HEADER_BYTES, n);
	if (req->status != RDMW_DONE) {
		n = 0;
		if (req->moved) {
			/* What has been said cannot be taken back. */
			kfir_slot_put(slot);
			kfir_conn_break(conn, ECONNRESET);
			return -ECONNRESET;
		}
	}
	message.word = req->status;
	if (req->status == RDMW_DONE)
		message.total = kfir_answer_bytes(req);
	message.tag = kfir_joint(conn);
	rdmw_flow_data(&flow, &message, req->moved, n, slot->bytes);
	buf = fi_buf_linear(slot->bytes, RDMW_HEADER_BYTES + n);
	ret = kfir_slot_send(slot, &buf, NULL);
	if (ret)
		return ret;
	conn->flow = flow;
	slot->answer = true;
	conn->nr_answers++;
	req->moved += n;
	conn->answering = req->moved < message.total;
	if (conn->answering)
		return 0;
	/* The first requests have their answer. */
	conn->first_request =
		(conn->first_request + 1 + message.tag) % RDMW_ASKED_MAX;
	conn->nr_requests -= 1 + message.tag;
	return 0;
}

/* Answer what is there to be answered. False: something is left that waits. */
bool kfir_answer_all(struct kfir_conn *conn)
{
	while (kfir_has_answers(conn) && !conn->broken &&
	       conn->state == KFIR_UP)
		if (kfir_answer_piece(conn))
			return false;
	return !kfir_has_answers(conn);
}

/* ---- answers of the peer -------------------------------------------------------- */

/* A request is whole; who has sent it has seen to it that there is room for one. */
void kfir_ask(struct kfir_conn *conn, struct kfir_op *op)
{
	unsigned int at = conn->first_asked + conn->nr_asked++;

	conn->asked[at % RDMW_ASKED_MAX] = op;
	/* Its answer may be behind messages that are to be kept for that. */
	if (kfir_has_messages(conn))
		kfir_wait(conn);
}

/* Its answer will come, and be nobody's. */
void kfir_ask_forget(struct kfir_conn *conn, const struct kfir_op *op)
{
	int i;

	for (i = 0; i < RDMW_ASKED_MAX; i++)
		if (conn->asked[i] == op)
			conn->asked[i] = NULL;
}

/* Bytes that were asked for, or why there are none. False: it breaks the rules. */
static bool kfir_answer_taken(struct kfir_op *op,
			      const struct rdmw_piece *piece, const u8 *bytes)
{
	const bool first = piece->flags & RDMW_FIRST;
	size_t due = 0; /* bytes that it is answered with */

	if (first) {
		op->status = piece->word;
		op->answered_bytes = 0;
	}
	if (op->base.type != KFI_OP_WRITE && op->status == RDMW_DONE)
		due = op->base.buf.len;
	if (first && (piece->at != due ||
		      (op->status == RDMW_NO_ALIGN && !kfir_is_atomic(op))))
		return false;
	if (!kfir_is_atomic(op)) {
		kfi_buf_put(&op->base.buf, op->answered_bytes, bytes,
			    piece->bytes);
		op->answered_bytes += piece->bytes;
		return true;
	}
	/* It is one piece. */
	if (piece->bytes != due)
		return false;
	if (due)
		kfir_atomic_result(op, bytes);
	return true;
}

/* Of the oldest request. False: it breaks the rules. */
static bool kfir_take_first_answer(struct kfir_conn *conn,
				   const struct kfir_slot *slot)
{
	struct kfir_op *op = conn->asked[conn->first_asked];

	if (op && !kfir_answer_taken(op, &slot->piece, kfir_slot_data(slot)))
		return false;
	if (!(slot->piece.flags & RDMW_LAST))
		return true;
	conn->asked[conn->first_asked] = NULL;
	conn->first_asked = (conn->first_asked + 1) % RDMW_ASKED_MAX;
	conn->nr_asked--;
	/* Another request may wait for its place. */
	kfir_stir(conn);
	if (!op)
		return true;
	op->is_answered = true;
	/* Else its last piece is told to be sent later. */
	if (!op->flying)
		kfir_rma_finish(op);
	return true;
}

void kfir_rma_finish(struct kfir_op *op)
{
	/* The flow has seen to it that it is one of them. */
	static const int errors[RDMW_STATUSES] = {
		[RDMW_NO_KEY] = ENOENT,
		[RDMW_NO_ACCESS] = EPERM,
		[RDMW_NO_RANGE] = ERANGE,
		[RDMW_NO_ALIGN] = EINVAL,
	};

	kfir_finish(op, op->status == RDMW_DONE ? 0 : FI_EACCES,
		    errors[op->status]);
}

/* A piece that is no message's. True: its slot is one now. */
bool kfir_rma_piece(struct kfir_conn *conn, struct kfir_slot *slot)
{
	const struct rdmw_piece *piece = &slot->piece;
	u64 more = piece->flags & RDMW_FIRST ? piece->tag : 0;

	if (conn->violated)
		return false;
	if (piece->kind != RDMW_ANSWER)
		return kfir_request_piece(conn, slot);
	/* It may be to several writes. */
	do {
		if (!kfir_take_first_answer(conn, slot)) {
			kfir_conn_violated(conn, RDMW_BAD_LENGTH);
			break;
		}
	} while (more--);
	return false;
}
