// SPDX-License-Identifier: BSD-2-Clause
/*
 * The core's client against a simulated brick.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client_rig.h"
#include "kfb_err.h"
#include "tests/unit/initiator/core/toy_hmac.h"

/* Actions without a pause: more is a loop that does not end. */
#define ACTIONS_MAX 2000

uint32_t rig_random(struct rig *r, uint32_t below)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 17;
	r->random ^= r->random << 5;
	return r->random % below;
}

static void random_bytes(void *ctx, void *buf, __u32 len)
{
	struct rig *r = ctx;
	uint8_t *byte = buf;

	while (len--)
		*byte++ = (uint8_t)rig_random(r, 256);
}

struct kfb_client_config rig_config(struct rig *r, uint32_t n_queues)
{
	struct kfb_client_config config = {
		.engine = {
			.hmac.compute = toy_hmac,
			.client_name = "alice",
			.key = sim_key,
			.features = KFB_FEATURE_EVENT,
		},
		.random = random_bytes,
		.random_ctx = r,
		.n_queues = n_queues,
		.timeout_ms = RIG_TIMEOUT_MS,
		.reconnect_ms = RIG_RECONNECT_MS,
	};

	return config;
}

void rig_configure(struct rig *r, const struct kfb_client_config *config)
{
	assert_int_equal(kfb_client_init(&r->c, config, r->tx), 0);
}

void rig_again(struct rig *r)
{
	struct kfb_client_config config = r->c.config;

	memset(config.engine.expect_uuid, 0, KFB_UUID_BYTES);
	rig_configure(r, &config);
}

void rig_init(struct rig *r, uint32_t n_queues)
{
	struct kfb_client_config config;

	memset(r, 0, sizeof(*r));
	r->random = 2463534242U;
	r->now_ms = 5000;
	sim_init(&r->b);
	config = rig_config(r, n_queues);
	rig_configure(r, &config);
}

static int squat_refuse(uint16_t status, uint8_t *out)
{
	struct kfb_reject reject = { .status = status,
				     .version_min = KFB_VERSION,
				     .version_max = KFB_VERSION };

	return -kfb_encode_reject(&reject, out, KFB_REJECT_BYTES);
}

/* An ACCEPT as good as it can be without the key. */
static int squat_accept(struct rig *r, const struct kfb_hello *hello,
			uint8_t *out)
{
	struct kfb_accept accept;

	assert_int_equal(kfb_decode_accept(r->accepts[hello->queue],
					   KFB_ACCEPT_BYTES, &accept),
			 0);
	accept.session_id = hello->session_id;
	if (!accept.session_id || r->squat == RIG_SQUAT_ANSWER)
		accept.session_id = 4711;
	if (r->squat != RIG_SQUAT_REPLAY)
		random_bytes(r, accept.proof, sizeof(accept.proof));
	return kfb_encode_accept(&accept, out, KFB_ACCEPT_BYTES);
}

static int squat_hello(struct rig *r, const void *data, uint32_t len,
		       uint8_t *out)
{
	struct kfb_hello hello;

	r->n_squatted++;
	assert_int_equal(kfb_decode_hello(data, len, &hello), 0);
	switch (r->squat) {
	case RIG_SQUAT_REFUSE:
		return squat_refuse(r->squat_status, out);
	case RIG_SQUAT_FORGET:
	case RIG_SQUAT_MUTE:
		if (hello.session_id)
			return squat_refuse(KFB_ST_STALE, out);
		return squat_accept(r, &hello, out);
	default:
		return squat_accept(r, &hello, out);
	}
}

/* What it makes of a message; its length, or 0: it says nothing. */
static int squat_message(struct rig *r, const void *data, uint32_t len,
			 uint8_t *out)
{
	static struct kfb_reply reply;
	struct kfb_request req;

	assert_int_equal(kfb_decode_request(data, len, &req), 0);
	if (req.op != KFB_OP_AUTH) {
		r->n_stolen++;
		return 0;
	}
	if (r->squat == RIG_SQUAT_MUTE)
		return 0;
	memset(&reply, 0, sizeof(reply));
	reply.op = req.op;
	reply.status = r->squat_status;
	reply.credits = 1;
	memset(reply.u.auth.brick_uuid, 7, KFB_UUID_BYTES);
	reply.u.auth.power_epoch = r->b.power_epoch + 1;
	random_bytes(r, reply.u.auth.proof, sizeof(reply.u.auth.proof));
	return kfb_encode_reply(&reply, out, KFB_REPLY_MAX_BYTES);
}

static bool is_squatted(const struct rig *r, const void *data, uint32_t len)
{
	struct kfb_hello hello;

	assert_int_equal(kfb_decode_hello(data, len, &hello), 0);
	return r->squat != RIG_SQUAT_NONE &&
	       !(r->squat_joins_only && !hello.session_id);
}

/* A session is of one address: whoever joins it at another finds it gone. */
static bool is_elsewhere(struct rig *r, const struct kfb_client_action *action)
{
	struct kfb_hello hello;

	assert_int_equal(
		kfb_decode_hello(action->hello, action->hello_len, &hello), 0);
	if (!hello.session_id)
		r->session_address = action->address;
	return r->session_address != action->address;
}

static void do_connect(struct rig *r, const struct kfb_client_action *action)
{
	struct rig_link *link = &r->links[action->queue];
	uint8_t out[KFB_ACCEPT_BYTES];
	int len;

	/* The old endpoint is gone: nothing of it can come after this. */
	assert_false(link->open);
	if (r->unreachable) {
		link->open = true;
		kfb_client_rejected(&r->c, action->queue, NULL, 0, r->now_ms,
				    &r->reject);
		return;
	}
	link->address = action->address;
	link->silent = false;
	if (r->foreign)
		r->b.other_uuid = r->foreign & 1U << action->address;
	link->unheard = r->mute & 1U << action->address;
	if (link->unheard) {
		link->open = true;
		return;
	}
	r->is_squatted[action->queue] =
		is_squatted(r, action->hello, action->hello_len);
	if (r->is_squatted[action->queue])
		len = squat_hello(r, action->hello, action->hello_len, out);
	else if (is_elsewhere(r, action))
		len = squat_refuse(KFB_ST_STALE, out);
	else
		len = sim_hello(&r->b, action->hello, action->hello_len, out,
				&link->session, &link->queue);
	if (len == KFB_ACCEPT_BYTES && !r->is_squatted[action->queue])
		memcpy(r->accepts[action->queue], out, sizeof(out));
	link->open = true;
	if (r->on_connect)
		r->on_connect(r, action->queue);
	if (len < 0)
		kfb_client_rejected(&r->c, action->queue, out, (uint32_t)-len,
				    r->now_ms, &r->reject);
	else
		kfb_client_accepted(&r->c, action->queue, out, (uint32_t)len,
				    r->now_ms);
}

static void do_close(struct rig *r, uint32_t queue)
{
	struct rig_link *link = &r->links[queue];

	assert_true(link->open);
	link->open = false;
	if (!r->is_squatted[queue] && !link->unheard)
		sim_disconnect(&r->b, link->session, link->queue, r->drop);
	if (r->on_closed)
		r->on_closed(r, queue);
	kfb_client_closed(&r->c, queue);
}

void rig_cut(struct rig *r, uint32_t queue)
{
	if (r->links[queue].open)
		kfb_client_lost(&r->c, queue, r->now_ms, -ECONNRESET);
}

static void map_answered(struct rig *r)
{
	struct rig_block *block = &r->blocks[r->map_next];
	const struct kfb_handle *handle = &r->reply.u.map.handles[0];

	r->map_waits = false;
	if (r->outcome.error == -EBUSY) {
		r->map_at_ms = r->now_ms + 50;
		return;
	}
	if (!r->outcome.error &&
	    (!block->birth || block->birth == handle->birth)) {
		block->birth = handle->birth;
		block->key = handle->key;
		block->mapped = true;
	} else {
		block->dead = true;
		if (r->on_dead)
			r->on_dead(r, r->map_next);
	}
	r->map_next++;
}

/* A MAP that nobody waits for any more has been done: give it back. */
static void undo_map(struct rig *r)
{
	assert_true(r->n_undo < RIG_UNDO_MAX);
	r->undo[r->n_undo++] = r->reply.u.map.mapping_id;
}

/* As soon as there is room, and nothing is to be sent again before. */
static bool run_undo(struct rig *r)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	if (!r->n_undo || !kfb_client_can_call(&r->c, 0))
		return false;
	req.u.unmap.mapping_id = r->undo[--r->n_undo];
	if (!rig_call(r, 0, &req, &r->reply))
		return true;
	r->n_undo++;
	return false;
}

static void told(struct rig *r, uint32_t queue,
		 const struct kfb_outcome *outcome)
{
	if (outcome->kind == KFB_OUTCOME_LATE) {
		if (outcome->op == KFB_OP_MAP && !outcome->error)
			undo_map(r);
		return;
	}
	r->outcome = *outcome;
	r->n_outcomes++;
	if (outcome->owner == &r->mapping) {
		if (outcome->kind == KFB_OUTCOME_REPLY && r->map_waits)
			map_answered(r);
		else if (outcome->kind == KFB_OUTCOME_TIMEOUT)
			r->map_waits = false;
		return;
	}
	if (r->on_outcome)
		r->on_outcome(r, queue, outcome);
}

static enum rig_cut cut_of(struct rig *r, const struct kfb_message *message)
{
	enum rig_cut cut = r->cut;
	struct kfb_request req;

	if (r->cut_per_mille && rig_random(r, 1000) < r->cut_per_mille) {
		cut = RIG_CUT_REQUEST + rig_random(r, 3);
		/* Without a lease there are no PINGs to notice it. */
		return cut == RIG_CUT_SILENCE && !r->b.lease_ms
			       ? RIG_CUT_REQUEST
			       : cut;
	}
	if (cut == RIG_CUT_NONE)
		return cut;
	assert_int_equal(kfb_decode_request(message->data, message->len, &req),
			 0);
	if (r->cut_op && r->cut_op != req.op)
		return RIG_CUT_NONE;
	if (cut != RIG_CUT_SILENCE)
		r->cut = RIG_CUT_NONE;
	return cut;
}

static void deliver(struct rig *r, uint32_t queue,
		    const struct kfb_message *message)
{
	struct rig_link *link = &r->links[queue];
	enum rig_cut cut = cut_of(r, message);
	uint8_t out[KFB_REPLY_MAX_BYTES];
	struct kfb_outcome outcome;
	int len = 0;
	int rc;

	kfb_engine_sent(&r->c.queues[queue].engine, message->tx);
	/* A connection loses nothing and goes on. */
	if (cut == RIG_CUT_SILENCE && r->cut_per_mille)
		link->silent = true;
	if (cut == RIG_CUT_SILENCE || link->silent)
		return;
	if (r->is_squatted[queue]) {
		len = squat_message(r, message->data, message->len, out);
		if (!len)
			return;
	} else if (cut != RIG_CUT_REQUEST) {
		len = sim_message(&r->b, link->session, link->queue,
				  message->data, message->len, out);
	}
	if (cut != RIG_CUT_NONE || !len) {
		rig_cut(r, queue);
		return;
	}
	rc = kfb_client_receive(&r->c, queue, out, (uint32_t)len, r->now_ms,
				&r->reply, &outcome);
	assert_true(rc >= 0 || rc == -EKEYREJECTED || rc == -ESTALE ||
		    r->is_squatted[queue]);
	if (rc == 1)
		told(r, queue, &outcome);
}

int rig_call(struct rig *r, uint32_t queue, const struct kfb_request *req,
	     void *owner)
{
	struct kfb_message message;
	int rc;

	rc = kfb_engine_start(&r->c.queues[queue].engine, req, r->now_ms,
			      RIG_TIMEOUT_MS, owner, &message);
	if (!rc)
		deliver(r, queue, &message);
	return rc;
}

int rig_alloc(struct rig *r, uint32_t number, void *owner)
{
	struct kfb_request req = { .op = KFB_OP_ALLOC };

	req.u.range.va = SIM_ALLOC_VA + number * KFB_BLOCK_BYTES;
	req.u.range.n_blocks = 1;
	return rig_call(r, 0, &req, owner);
}

static void start_mapping(struct rig *r)
{
	int i;

	r->n_map_asked++;
	r->n_undo = 0; /* they went with their session */
	r->mapping = true;
	r->map_next = 0;
	r->map_waits = false;
	r->map_at_ms = 0;
	for (i = 0; i < SIM_BLOCKS; i++)
		r->blocks[i].mapped = false;
}

static bool run_mapping(struct rig *r)
{
	struct kfb_request req = { .op = KFB_OP_MAP };

	if (!r->mapping || r->map_waits || r->now_ms < r->map_at_ms ||
	    kfb_client_state(&r->c) != KFB_CLIENT_MAPPING)
		return false;
	while (r->map_next < SIM_BLOCKS &&
	       (!r->blocks[r->map_next].held || r->blocks[r->map_next].dead))
		r->map_next++;
	if (r->map_next == SIM_BLOCKS) {
		r->mapping = false;
		assert_int_equal(kfb_client_mapped(&r->c), 0);
		return true;
	}
	if (!kfb_client_can_call(&r->c, 0))
		return false;
	req.u.map.range.va = SIM_VA + r->map_next * KFB_BLOCK_BYTES;
	req.u.map.range.n_blocks = 1;
	req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	r->map_waits = true;
	if (!rig_call(r, 0, &req, &r->mapping))
		return true;
	r->map_waits = false;
	return false;
}

void rig_do(struct rig *r, const struct kfb_client_action *action)
{
	switch (action->what) {
	case KFB_DO_CONNECT:
		do_connect(r, action);
		break;
	case KFB_DO_CLOSE:
		r->n_silent += action->is_silent;
		do_close(r, action->queue);
		break;
	case KFB_DO_SEND:
		deliver(r, action->queue, &action->message);
		break;
	case KFB_DO_OUTCOME:
		told(r, action->queue, &action->outcome);
		break;
	case KFB_DO_FATE:
		r->n_fates++;
		r->fate = action->fate;
		if (r->on_fate)
			r->on_fate(r, action->queue, action->fate);
		break;
	case KFB_DO_MAP:
		start_mapping(r);
		break;
	}
}

void rig_run(struct rig *r)
{
	struct kfb_client_action action;
	int n = 0;

	do {
		while (kfb_client_next(&r->c, r->now_ms, &action)) {
			rig_do(r, &action);
			assert_true(n++ < ACTIONS_MAX);
		}
	} while (run_undo(r) || run_mapping(r));
	/* Who asks for a time that has come, and does nothing then, spins. */
	assert_true(kfb_client_next_ms(&r->c) > r->now_ms);
}

void rig_pass_time(struct rig *r)
{
	uint64_t next_ms = kfb_client_next_ms(&r->c);

	if (r->mapping && !r->map_waits && r->map_at_ms > r->now_ms &&
	    r->map_at_ms < next_ms)
		next_ms = r->map_at_ms;
	r->now_ms = next_ms;
}

void rig_run_to(struct rig *r, enum kfb_client_state state, uint64_t ms)
{
	uint64_t end_ms = r->now_ms + ms;

	for (;;) {
		rig_run(r);
		if (kfb_client_state(&r->c) == state)
			return;
		rig_pass_time(r);
		if (r->now_ms > end_ms)
			break;
	}
	fail_msg("%s instead of %s after %llu ms",
		 kfb_client_state_name(kfb_client_state(&r->c)),
		 kfb_client_state_name(state), (unsigned long long)ms);
}

void rig_renew(struct rig *r)
{
	uint64_t end_ms = r->now_ms + 10000;
	uint64_t old = r->c.session_id;

	for (;;) {
		rig_run(r);
		if (kfb_client_state(&r->c) == KFB_CLIENT_LIVE &&
		    r->c.session_id != old)
			return;
		rig_pass_time(r);
		assert_true(r->now_ms < end_ms);
	}
}

void rig_connect(struct rig *r)
{
	assert_int_equal(kfb_client_start(&r->c), 0);
	rig_run_to(r, KFB_CLIENT_LIVE, 0);
}
