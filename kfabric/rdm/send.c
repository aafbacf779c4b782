// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: sending: messages in pieces, credits, farewells.
 *
 * Context: the engine. A post, when it is its owner, completes nothing, answers
 *	nothing, and connects to nobody: the work does so.
 */
#include <linux/jiffies.h>

#include "rdm.h"

struct kfir_slot *kfir_slot_get(struct kfir_conn *conn)
{
	struct kfir_slot *slot =
		list_first_entry_or_null(&conn->free, struct kfir_slot, node);

	if (slot) {
		list_del_init(&slot->node);
		conn->nr_free--;
	}
	return slot;
}

void kfir_slot_put(struct kfir_slot *slot)
{
	/* Also of one that was refused: what it sends next is another's. */
	slot->op = NULL;
	slot->lent = false;
	slot->conn->nr_answers -= slot->answer;
	slot->answer = false;
	if (slot->grant) {
		slot->grant->users--;
		slot->conn->nr_native--;
		slot->grant = NULL;
	}
	list_add(&slot->node, &slot->conn->free);
	slot->conn->nr_free++;
}

/* The inner provider has a slot, or has refused it: then it is free again. */
int kfir_slot_sent(struct kfir_slot *slot, int ret)
{
	struct kfir_conn *conn = slot->conn;

	if (ret) {
		kfir_slot_put(slot);
		if (ret != -FI_EAGAIN)
			kfir_conn_break(conn, -ret);
		return ret;
	}
	conn->used = jiffies;
	return 0;
}

/* Hand it a message, with completion data for the peer or none. */
int kfir_slot_send(struct kfir_slot *slot, const struct fi_buf *buf,
		   const u32 *data)
{
	struct fi_msg msg = { .buf = *buf,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &slot->inner,
			      .data = data ? *data : 0 };

	return kfir_slot_sent(slot, fi_sendmsg(slot->conn->inner, &msg,
					       data ? FI_REMOTE_CQ_DATA : 0));
}

/* ---- messages ---------------------------------------------------------- */

/* What a request begins with; of an atomic operation there is nothing else. */
static size_t kfir_head_bytes(const struct kfir_op *op)
{
	if (kfir_is_atomic(op))
		return kfir_atomic_bytes(op);
	return kfir_is_rma(op) ? RDMW_HEAD_BYTES(op->base.rma_count) : 0;
}

static struct rdmw_message kfir_message_of(const struct kfir_op *op)
{
	static const enum rdmw_kind kinds[] = {
		[KFI_OP_SEND] = RDMW_DATA,
		[KFI_OP_READ] = RDMW_READ,
		[KFI_OP_WRITE] = RDMW_WRITE,
		[KFI_OP_ATOMIC] = RDMW_ATOMIC,
		[KFI_OP_FETCH_ATOMIC] = RDMW_ATOMIC,
	};
	struct rdmw_message message = { .kind = kinds[op->base.type],
					.total = kfir_head_bytes(op),
					.ctx = op->to_ctx,
					.word = op->base.data,
					.tag = op->base.tag };

	if (op->base.type == KFI_OP_SEND || op->base.type == KFI_OP_WRITE)
		message.total += op->base.buf.len;
	if (op->base.flags & FI_REMOTE_CQ_DATA)
		message.flags |= RDMW_WORD;
	if (op->base.is_tagged)
		message.flags |= RDMW_TAGGED;
	return message;
}

static void kfir_pack_head(const struct kfir_op *op, u8 *to)
{
	struct rdmw_head head = { .count = op->base.rma_count };
	u32 i;

	if (kfir_is_atomic(op)) {
		kfir_atomic_pack(op, to);
		return;
	}
	for (i = 0; i < head.count; i++)
		head.ranges[i] = (struct rdmw_range){
			.addr = op->base.rma[i].addr,
			.len = op->base.rma[i].len,
			.key = op->base.rma[i].key,
		};
	rdmw_head_pack(&head, to);
}

/* Places that an operation of the inner provider may name. */
u32 kfir_gather_max(const struct kfir_slot *slot)
{
	const struct kfir_domain *d = kfir_domain_of(slot->conn->ep);

	return min_t(u32, KFIR_GATHER, d->info->tx_attr->iov_limit);
}

/* Where bytes of a buffer lie: as many of them as are in so few places. */
size_t kfir_gather(struct kfir_slot *slot, u32 *count, u32 max,
		   const struct fi_buf *buf, size_t at, size_t len)
{
	struct kfi_buf_iter it;
	struct kfi_seg seg;
	size_t left = len;

	kfi_buf_start(&it, buf);
	kfi_buf_advance(&it, at);
	while (left && *count < max && kfi_buf_next(&it, left, &seg)) {
		slot->vec[(*count)++] = (struct bio_vec){
			.bv_page = seg.page,
			.bv_offset = seg.offset,
			.bv_len = seg.len,
		};
		left -= seg.len;
	}
	return len - left;
}

/*
 * What is sent of a piece whose header, if it has one, is in the slot: the bytes that
 * follow those that were handed over, from where they lie. Their memory is the
 * operation's until the slot is, too.
 */
static struct fi_buf kfir_piece_buf(struct kfir_op *op, struct kfir_slot *slot,
				    bool bare, size_t len)
{
	u32 max = kfir_gather_max(slot);
	size_t head = kfir_head_bytes(op), at = op->moved, lead;
	struct fi_buf buf;
	u32 count = 0;

	lead = bare ? 0 : RDMW_HEADER_BYTES;
	if (head && !at) {
		kfir_pack_head(op, slot->bytes + lead);
		lead += head;
		len -= head;
	} else {
		at -= head;
	}
	if (!lead && op->base.buf.type == FI_BUF_LINEAR)
		return fi_buf_linear(
			op->base.buf.ptr + op->base.buf.offset + at, len);
	buf = fi_buf_linear(slot->bytes, lead);
	if (len > KFIR_COPY_BYTES &&
	    kfir_gather(slot, &count, max, &buf, 0, lead) == lead &&
	    kfir_gather(slot, &count, max, &op->base.buf, at, len) == len)
		return fi_buf_bvec(slot->vec, count, 0, lead + len);
	kfi_buf_get(slot->bytes + lead, &op->base.buf, at, len);
	return fi_buf_linear(slot->bytes, lead + len);
}

/* 0: a piece is on its way; else nothing has changed. */
static int kfir_send_piece(struct kfir_conn *conn, struct kfir_op *op)
{
	const struct rdmw_message message = kfir_message_of(op);
	const struct rdmw_flow flow = conn->flow;
	size_t room = KFIR_DATA_BYTES, n;
	struct kfir_slot *slot;
	struct fi_buf buf;
	bool bare;
	u32 data;
	int ret;

	/* An answer that has come has its place until it is taken. */
	if (kfir_is_request(op) && conn->nr_asked == RDMW_ASKED_MAX)
		return -FI_EAGAIN;
	/* What is 4 KiB for the upper layer is so for the one below. */
	if (!op->moved)
		room += kfir_head_bytes(op);
	room = min_t(size_t, rdmw_flow_may_send(&conn->flow, message.kind),
		     room);
	if (!room)
		return -FI_EAGAIN;
	slot = kfir_slot_get(conn);
	if (!slot)
		return -FI_EAGAIN;
	n = min_t(size_t, room, message.total - op->moved);
	bare = rdmw_flow_bare(&conn->flow, &message, op->moved, n, &data);
	if (!bare)
		rdmw_flow_data(&conn->flow, &message, op->moved, n,
			       slot->bytes);
	buf = kfir_piece_buf(op, slot, bare, n);
	slot->op = op;
	slot->lent = buf.type != FI_BUF_LINEAR || buf.ptr != slot->bytes;
	ret = kfir_slot_send(slot, &buf, bare ? &data : NULL);
	if (ret) {
		conn->flow = flow;
		return ret;
	}
	op->conn = conn;
	op->moved += n;
	op->pieces++;
	op->flying++;
	op->whole = op->moved == message.total;
	if (op->whole && kfir_is_request(op))
		kfir_ask(conn, op);
	return 0;
}

/* Why the peer cannot be sent it, or 0. */
static int kfir_refusal(const struct kfir_conn *conn, const struct kfir_op *op)
{
	u32 features = conn->flow.features;

	if ((op->base.is_tagged && !(features & RDMW_FEATURE_TAGS)) ||
	    (kfir_is_request(op) && !(features & RDMW_FEATURE_RMA)) ||
	    (kfir_is_atomic(op) && !(features & RDMW_FEATURE_ATOMIC)) ||
	    (op->to_ctx && !(features & RDMW_FEATURE_CTX)))
		return FI_EOPNOTSUPP;
	return op->to_ctx > conn->flow.ctx_out ? FI_EADDRNOTAVAIL : 0;
}

/* What a post must not do for a peer the work does, and at once. */
static bool kfir_leave_peer(struct kfir_ep *ep, struct kfir_peer *peer)
{
	if (ep->owner != KFIR_POST)
		return false;
	kfir_peer_busy(ep, peer);
	ep->left = true;
	return true;
}

/*
 * The grant of a native one was taken back in the middle: it begins anew, as a request
 * when the peer's engine is to say whether the region is still there. False: what is
 * under way of it has to end first.
 */
static bool kfir_begin_anew(struct kfir_op *op)
{
	if (op->flying)
		return false;
	op->moved = 0;
	op->pieces = 0;
	op->anew = true;
	return true;
}

/* Nothing of it was handed over: it waits, and can be canceled. */
static void kfir_wait_again(struct kfir_op *op)
{
	if (!op->pieces && !op->anew)
		kfi_send_begin_undo(&op->send);
}

static void kfir_send_on(struct kfir_conn *conn)
{
	struct kfir_peer *peer = conn->peer;
	struct kfir_ep *ep = conn->ep;
	struct kfir_op *op;
	int err;

	kfir_assert_owned(ep);
	if (kfir_has_answers(conn) && kfir_leave_peer(ep, peer))
		return;
	for (;;) {
		op = list_first_entry_or_null(&peer->sends, struct kfir_op,
					      base.node);
		/* Answers go between messages, and before them. */
		if (!kfir_is_begun(op) && kfir_has_answers(conn) &&
		    !kfir_answer_all(conn))
			return;
		if (conn->leaving && !(op && op->pieces)) {
			/* It is left between two messages. */
			kfir_touch(conn);
			if (peer->conn == conn)
				peer->conn = NULL;
			return;
		}
		if (!op || conn->broken || op->ctx->holds)
			return;
		/* It waits for all that was posted before it. */
		if ((op->base.flags & FI_FENCE) && !op->pieces &&
		    !list_empty(&conn->flying))
			return;
		/* Once it has begun it cannot be canceled any more. */
		if (!op->pieces && !kfi_send_begin(&op->send))
			err = ECANCELED;
		else
			err = kfir_refusal(conn, op);
		if (err) {
			if (kfir_leave_peer(ep, peer)) {
				kfir_wait_again(op);
				return;
			}
			kfir_finish(op, err, 0);
			continue;
		}
		if (!op->pieces)
			op->native = kfir_is_native(conn, op);
		err = op->native ? kfir_send_native(conn, op)
				 : kfir_send_piece(conn, op);
		if (err == -ENOENT && kfir_begin_anew(op))
			continue;
		if (err) {
			kfir_wait_again(op);
			return;
		}
		if (op->whole)
			list_move_tail(&op->base.node, &conn->flying);
	}
}

/* What has left on another connection is to arrive first. */
static bool kfir_is_behind(const struct kfir_peer *peer)
{
	const struct kfir_conn *conn;

	list_for_each_entry(conn, &peer->conns, of_peer)
		if (conn != peer->conn && conn->leaving &&
		    !list_empty(&conn->flying))
			return true;
	return false;
}

/* It is stalled after this, or busy again, or has nothing to send. */
void kfir_send_all(struct kfir_ep *ep, struct kfir_peer *peer)
{
	if (peer->conn && peer->conn->state == KFIR_UP && !kfir_is_behind(peer))
		kfir_send_on(peer->conn);
	if (!peer->conn && !list_empty(&peer->sends) && !kfir_is_behind(peer) &&
	    time_after_eq(jiffies, peer->retry_at)) {
		if (kfir_may_sleep(ep)) {
			kfir_dial(ep, peer);
		} else {
			kfir_peer_busy(ep, peer);
			ep->left = true;
		}
	}
	if (list_empty(&peer->sends))
		kfir_peer_drop(ep, peer);
	else if (list_empty(&peer->busy))
		list_add_tail(&peer->busy, &ep->stalled);
}

/* The inner provider has done with a slot. */
void kfir_sent(struct kfir_slot *slot)
{
	struct kfir_conn *conn = slot->conn;
	struct kfir_op *op = slot->op;

	kfir_slot_put(slot);
	if (slot->err) {
		/* What it was about is ended with its connection. */
		kfir_conn_break(conn, slot->err);
		return;
	}
	conn->used = jiffies;
	if (op)
		conn->moved = jiffies;
	kfir_stir(conn);
	if (!op || --op->flying || !op->whole)
		return;
	if (!kfir_is_request(op))
		kfir_finish(op, 0, 0);
	else if (op->is_answered || op->native)
		kfir_rma_finish(op);
}

/* ---- what needs no credit ---------------------------------------------- */

/* Are we in the middle of something that goes on with the next piece? */
bool kfir_is_mid_message(const struct kfir_conn *conn)
{
	return conn->answering ||
	       (conn->peer->conn == conn &&
		kfir_is_begun(list_first_entry_or_null(
			&conn->peer->sends, struct kfir_op, base.node)));
}

/*
 * Credits that are due, a grant that is to be returned and not used any more, and the
 * farewell of a connection that is left, behind which nothing of ours is under way.
 */
static bool kfir_make_control(struct kfir_conn *conn, struct rdmw_flow *flow,
			      u8 *bytes)
{
	bool in_use = conn->peer->conn == conn;

	if (rdmw_flow_credit(flow, bytes))
		return true;
	if (flow->is_revoked && rdmw_grants_drop(&conn->held, flow->revoked)) {
		rdmw_flow_return(flow, bytes);
		return true;
	}
	return conn->leaving && !in_use && !conn->answering &&
	       !conn->nr_native && rdmw_flow_bye(flow, bytes);
}

/* Answers, and what needs no credit. */
void kfir_send_control(struct kfir_conn *conn)
{
	struct rdmw_flow flow;
	struct kfir_slot *slot;
	struct fi_buf buf;

	if (conn->state != KFIR_UP || conn->broken)
		return;
	if (conn->answering || !kfir_is_mid_message(conn))
		kfir_answer_all(conn);
	slot = conn->broken ? NULL : kfir_slot_get(conn);
	if (!slot)
		return;
	flow = conn->flow;
	if (!kfir_make_control(conn, &flow, slot->bytes)) {
		kfir_slot_put(slot);
	} else {
		buf = fi_buf_linear(slot->bytes, RDMW_HEADER_BYTES);
		if (!kfir_slot_send(slot, &buf, NULL)) {
			if (conn->flow.owed && !flow.owed)
				kfir_credits_left(conn);
			conn->flow = flow;
		}
		/* There may be more, or it was not taken. */
		kfir_touch(conn);
		return;
	}
	if (rdmw_flow_is_over(&conn->flow) && conn->nr_free == KFIR_TX_SLOTS)
		kfir_conn_break(conn, 0);
}
