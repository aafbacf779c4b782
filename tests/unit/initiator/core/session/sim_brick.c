// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick without a fabric.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "codec/kfb_ops.h"
#include "kfb_session.h"
#include "sim_brick.h"
#include "tests/unit/initiator/core/toy_hmac.h"

const uint8_t sim_key[KFB_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static const struct kfb_hmac hmac = { .compute = toy_hmac };

void sim_init(struct sim_brick *b)
{
	uint32_t i;

	memset(b, 0, sizeof(*b));
	b->instance_id = 1000;
	b->power_epoch = 7;
	b->next_session = 1;
	b->next_mapping = 1;
	b->n_queues = SIM_QUEUES;
	b->ack_is_placed = true;
	for (i = 0; i < SIM_BLOCKS; i++)
		b->blocks[i].birth = 1;
}

struct sim_session *sim_session(struct sim_brick *b, uint64_t id)
{
	int i;

	for (i = 0; id && i < SIM_SESSIONS; i++) {
		if (b->sessions[i].id == id)
			return &b->sessions[i];
	}
	return NULL;
}

static int refuse(const struct sim_brick *b, uint16_t status, uint8_t *out)
{
	struct kfb_reject reject = {
		.status = status,
		.version_min = KFB_VERSION,
		.version_max = KFB_VERSION,
		.retry_after_ms = b->reject_after_ms,
	};

	return -kfb_encode_reject(&reject, out, KFB_REJECT_BYTES);
}

static int admit(struct sim_brick *b, const void *data,
		 const struct kfb_hello *hello, struct sim_session *s,
		 uint8_t *out)
{
	struct sim_queue *q = &s->queues[hello->queue];
	struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = SIM_CREDITS,
		.features = hello->features & KFB_FEATURES_V1,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = s->id,
		.instance_id = b->instance_id,
	};

	if (b->wrong_instance && hello->session_id)
		accept.instance_id++;
	if (!q->slots.n)
		kfb_slots_init(&q->slots, SIM_CREDITS);
	kfb_credits_init(&q->credits, SIM_CREDITS);
	/* A connection that is replaced must have been closed: the client's
	 * end is, before it says HELLO.
	 */
	assert_false(q->connected);
	q->connected = true;
	q->connections++;
	if (!hello->session_id)
		return kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
	kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
	kfb_auth_accept_proof(&hmac, s->key, data, out, accept.proof);
	return kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
}

static int open_session(struct sim_brick *b, const void *data,
			const struct kfb_hello *hello, uint8_t *out,
			uint64_t *session)
{
	struct sim_session *s = NULL;
	int i;
	int len;

	for (i = 0; i < SIM_SESSIONS; i++) {
		if (!b->sessions[i].id)
			s = &b->sessions[i];
	}
	if (!s)
		return refuse(b, KFB_ST_LIMIT, out);
	memset(s, 0, sizeof(*s));
	s->id = b->next_session++;
	*session = s->id;
	b->n_openings++;
	len = admit(b, data, hello, s, out);
	memcpy(s->hello, data, sizeof(s->hello));
	memcpy(s->accept, out, sizeof(s->accept));
	if (b->anonymous) {
		static const uint8_t zeros[KFB_KEY_BYTES];
		struct kfb_transcript t = { .hello = s->hello,
					    .accept = s->accept,
					    .name = "" };

		s->proven = true;
		kfb_auth_session_key(&hmac, zeros, &t, zeros, 0, s->key);
	}
	return len;
}

static int join_session(struct sim_brick *b, const void *data,
			const struct kfb_hello *hello, uint8_t *out)
{
	struct sim_session *s = sim_session(b, hello->session_id);
	uint8_t proof[KFB_JOIN_PROOF_BYTES];

	if (!s || !s->proven)
		return refuse(b, KFB_ST_STALE, out);
	kfb_auth_join_proof(&hmac, s->key, data, proof);
	if (memcmp(proof, hello->proof, sizeof(proof)) ||
	    kfb_join_counter_check(s->join_counter, hello->join_counter))
		return refuse(b, KFB_ST_KEY_REJECTED, out);
	s->join_counter = hello->join_counter;
	if (hello->queue >= b->n_queues)
		return refuse(b, KFB_ST_LIMIT, out);
	b->n_joins++;
	return admit(b, data, hello, s, out);
}

int sim_hello(struct sim_brick *b, const void *data, uint32_t len, uint8_t *out,
	      uint64_t *session, uint32_t *queue)
{
	struct kfb_hello hello;

	assert_int_equal(kfb_decode_hello(data, len, &hello), 0);
	*queue = hello.queue;
	*session = hello.session_id;
	if (b->reject_status)
		return refuse(b, b->reject_status, out);
	if (hello.session_id)
		return join_session(b, data, &hello, out);
	if (b->reject_new)
		return refuse(b, b->reject_new, out);
	assert_int_equal(hello.queue, 0);
	return open_session(b, data, &hello, out, session);
}

static void place(struct sim_brick *b, uint64_t session, uint32_t queue,
		  bool drop)
{
	uint32_t kept = 0;
	uint32_t i;

	for (i = 0; i < b->n_pending; i++) {
		struct sim_pending *p = &b->pending[i];

		if (p->session_id != session || p->queue != queue)
			b->pending[kept++] = *p;
		else if (!drop)
			b->blocks[p->block].memory[p->cell] = p->value;
	}
	b->n_pending = kept;
}

void sim_disconnect(struct sim_brick *b, uint64_t session, uint32_t queue,
		    bool drop)
{
	struct sim_session *s = sim_session(b, session);

	place(b, session, queue, drop);
	if (s)
		s->queues[queue].connected = false;
}

static void answer_auth(struct sim_brick *b, struct sim_session *s,
			const struct kfb_auth *auth, struct kfb_reply *reply)
{
	struct kfb_transcript t = {
		.hello = s->hello,
		.accept = s->accept,
		.name = auth->name,
		.name_len = auth->name_len,
	};
	uint8_t proof[KFB_MAC_BYTES];
	uint8_t *uuid = reply->u.auth.brick_uuid;

	b->n_auths++;
	kfb_auth_client_proof(&hmac, sim_key, &t, auth->brick_uuid,
			      auth->former_session_id, proof);
	assert_memory_equal(proof, auth->proof, sizeof(proof));
	if (sim_session(b, auth->former_session_id)) {
		b->n_replaced++;
		sim_end_session(b, auth->former_session_id);
	}
	memset(uuid, b->other_uuid ? 8 : 7, KFB_UUID_BYTES);
	reply->u.auth.power_epoch = b->power_epoch;
	kfb_auth_brick_proof(&hmac, sim_key, &t, uuid, b->power_epoch,
			     reply->u.auth.proof);
	kfb_auth_session_key(&hmac, sim_key, &t, uuid, b->power_epoch, s->key);
	s->proven = true;
}

static void answer_info(const struct sim_brick *b, struct kfb_info *info)
{
	memset(info->brick_uuid, b->other_uuid ? 8 : 7, KFB_UUID_BYTES);
	info->instance_id = b->instance_id;
	info->power_epoch = b->power_epoch;
	info->block_shift = KFB_BLOCK_SHIFT;
	info->flags = b->ack_is_placed ? KFB_INFO_ACK_IS_PLACED : 0;
	info->flush_mode = KFB_FLUSH_MESSAGE;
	info->flush_modes = KFB_FLUSH_MESSAGE;
	info->flush_why = KFB_WHY_FILE;
	info->medium = KFB_MEDIUM_FILE;
	info->lease_ms = b->lease_ms;
}

static bool is_mapped(const struct sim_brick *b, uint32_t block)
{
	int i;

	for (i = 0; i < SIM_SESSIONS; i++) {
		if (b->sessions[i].id && b->sessions[i].mappings[block].id)
			return true;
	}
	return false;
}

static uint16_t answer_map(struct sim_brick *b, struct sim_session *s,
			   const struct kfb_map *map, uint64_t again,
			   struct kfb_reply *reply)
{
	uint32_t block = (uint32_t)((map->range.va - SIM_VA) / KFB_BLOCK_BYTES);
	struct kfb_handle *handle = &reply->u.map.handles[0];
	struct sim_mapping *m = &s->mappings[block];

	if (!again || m->id != again) {
		if (is_mapped(b, block))
			return KFB_ST_BUSY;
		m->id = b->next_mapping++;
		m->block = block;
		m->birth = b->blocks[block].birth;
	}
	reply->u.map.mapping_id = m->id;
	reply->u.map.n_handles = 1;
	handle->va = map->range.va;
	handle->n_blocks = 1;
	handle->key = m->id;
	handle->birth = m->birth;
	return KFB_ST_OK;
}

static uint16_t answer_unmap(struct sim_session *s, uint64_t id)
{
	int i;

	for (i = 0; i < SIM_BLOCKS; i++) {
		if (s->mappings[i].id != id)
			continue;
		s->mappings[i].id = 0;
		return KFB_ST_OK;
	}
	return KFB_ST_NOT_FOUND;
}

static uint16_t answer_alloc(struct sim_brick *b, const struct kfb_range *range)
{
	uint64_t i = (range->va - SIM_ALLOC_VA) / KFB_BLOCK_BYTES;

	assert_true(i < SIM_ALLOCS);
	b->executed[i]++;
	if (b->allocated[i])
		return KFB_ST_EXISTS;
	b->allocated[i] = true;
	return KFB_ST_OK;
}

static bool flush_covers(const struct kfb_flush *flush, uint64_t va)
{
	uint32_t i;

	if (flush->flags & KFB_FLUSH_ALL)
		return true;
	for (i = 0; i < flush->n_ranges; i++) {
		if (flush->ranges[i].va <= va &&
		    va <= flush->ranges[i].va + (flush->ranges[i].len - 1))
			return true;
	}
	return false;
}

static void flush_memory(struct sim_brick *b, const struct kfb_flush *flush)
{
	uint32_t block;
	uint32_t cell;

	b->n_flushes++;
	for (block = 0; block < SIM_BLOCKS; block++) {
		for (cell = 0; cell < SIM_CELLS; cell++) {
			uint64_t va =
				SIM_VA + block * KFB_BLOCK_BYTES + cell * 4096;

			if (flush_covers(flush, va))
				b->blocks[block].durable[cell] =
					b->blocks[block].memory[cell];
		}
	}
}

static uint16_t execute(struct sim_brick *b, struct sim_session *s,
			uint32_t queue, const struct kfb_request *req,
			uint64_t again, struct kfb_reply *reply)
{
	switch (req->op) {
	case KFB_OP_AUTH:
		answer_auth(b, s, &req->u.auth, reply);
		return KFB_ST_OK;
	case KFB_OP_INFO:
		answer_info(b, &reply->u.info);
		return KFB_ST_OK;
	case KFB_OP_MAP:
		return answer_map(b, s, &req->u.map, again, reply);
	case KFB_OP_UNMAP:
		return answer_unmap(s, req->u.unmap.mapping_id);
	case KFB_OP_ALLOC:
		return answer_alloc(b, &req->u.range);
	case KFB_OP_FLUSH:
		/* It came: so has what this queue wrote before it. */
		place(b, s->id, queue, false);
		b->has_failed |= b->medium_fails;
		if (b->has_failed)
			return KFB_ST_IO;
		flush_memory(b, &req->u.flush);
		return KFB_ST_OK;
	case KFB_OP_PING:
		b->n_pings++;
		return KFB_ST_OK;
	default:
		return KFB_ST_OK;
	}
}

/* What the cookie says; false: the client has broken the protocol. */
static void answer(struct sim_brick *b, struct sim_session *s, uint32_t queue,
		   const struct kfb_request *req, struct kfb_reply *reply)
{
	struct sim_queue *q = &s->queues[queue];
	struct sim_record *r = &q->records[req->cookie.slot];

	switch (kfb_slots_classify(&q->slots, req->op, &req->cookie)) {
	case KFB_COOKIE_NEW:
		kfb_slots_begin(&q->slots, req->op, &req->cookie);
		reply->status = execute(b, s, queue, req, 0, reply);
		kfb_slots_end(&q->slots, req->op, &req->cookie);
		r->op = req->op;
		r->status = reply->status;
		r->mapping_id = reply->u.map.mapping_id;
		break;
	case KFB_COOKIE_RESEND:
		assert_int_equal(r->op, req->op);
		b->n_resent++;
		reply->status = r->status;
		if (!r->status && kfb_op_is(req->op, KFB_OP_RECOMPUTED))
			reply->status =
				execute(b, s, queue, req, r->mapping_id, reply);
		break;
	default:
		fail_msg("a cookie that no client sends");
	}
}

int sim_message(struct sim_brick *b, uint64_t session, uint32_t queue,
		const void *data, uint32_t len, uint8_t *out)
{
	static struct kfb_reply reply;
	struct sim_session *s = sim_session(b, session);
	struct kfb_request req;

	assert_int_equal(kfb_decode_request(data, len, &req), 0);
	if (!s || !s->queues[queue].connected)
		return 0;
	if (s->proven == (req.op == KFB_OP_AUTH))
		return 0;
	assert_int_equal(kfb_credits_take(&s->queues[queue].credits, req.op),
			 0);
	/* No EVENT was sent on this connection: there is none to return. */
	assert_int_equal(req.credits, 0);
	memset(&reply, 0, sizeof(reply));
	reply.op = req.op;
	reply.cookie = req.cookie;
	reply.credits = 1;
	answer(b, s, queue, &req, &reply);
	kfb_credits_give(&s->queues[queue].credits, 1);
	return kfb_encode_reply(&reply, out, KFB_REPLY_MAX_BYTES);
}

bool sim_write(struct sim_brick *b, uint64_t session, uint32_t queue,
	       uint64_t key, uint32_t cell, uint32_t value)
{
	struct sim_session *s = sim_session(b, session);
	uint32_t block;

	if (!s || !s->queues[queue].connected)
		return false;
	for (block = 0; block < SIM_BLOCKS; block++) {
		if (s->mappings[block].id == key)
			break;
	}
	if (block == SIM_BLOCKS)
		return false;
	if (b->ack_is_placed) {
		b->blocks[block].memory[cell] = value;
		return true;
	}
	/* Full: what is oldest has been placed by now. */
	if (b->n_pending == SIM_PENDING)
		place(b, b->pending[0].session_id, b->pending[0].queue, false);
	b->pending[b->n_pending++] =
		(struct sim_pending){ session, queue, block, cell, value };
	return true;
}

void sim_end_session(struct sim_brick *b, uint64_t session)
{
	struct sim_session *s = sim_session(b, session);
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < SIM_QUEUES; i++)
		place(b, session, i, true);
	s->id = 0;
}

static void begin_epoch(struct sim_brick *b)
{
	uint32_t i;

	b->power_epoch++;
	for (i = 0; i < SIM_BLOCKS; i++)
		memcpy(b->blocks[i].memory, b->blocks[i].durable,
		       sizeof(b->blocks[i].memory));
}

void sim_restart(struct sim_brick *b)
{
	uint32_t i;

	for (i = 0; i < SIM_SESSIONS; i++)
		sim_end_session(b, b->sessions[i].id);
	b->instance_id++;
	/* What a failed medium did not keep is gone, and this says so. */
	if (b->has_failed)
		begin_epoch(b);
	b->has_failed = false;
	b->medium_fails = false;
}

void sim_power_cut(struct sim_brick *b)
{
	sim_restart(b);
	begin_epoch(b);
}

bool sim_take_over(struct sim_brick *b, uint32_t block, uint32_t value)
{
	uint32_t i;

	if (is_mapped(b, block))
		return false;
	b->blocks[block].birth++;
	for (i = 0; i < SIM_CELLS; i++) {
		b->blocks[block].memory[i] = value;
		b->blocks[block].durable[i] = value;
	}
	return true;
}
