// SPDX-License-Identifier: BSD-2-Clause
/* Connections: endpoints, message buffers, completions, deadlines. */
#include "brickd/net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/base/clock.h"
#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/net/net.h"

/* Receives beyond the credits, so that none is ever missing. */
#define SPARE_RECEIVES 2
/* Sends beyond the replies in flight: EVENTs and a last word. */
#define SPARE_SENDS (KFB_EVENTS_UNACKED_MAX + 2)
/* A longer message shows itself by filling more than KFB_REQ_MAX_BYTES. */
#define RECV_BYTES 576
/* Messages sent without a completion, after one with: bounds what a peer that
 * reads nothing can have the provider keep.
 */
#define INJECTED_MAX 16
/* What was read is taken, however long that takes. */
#define CQ_BATCH 4
/* What is read of a connection at a time when it is not its turn. */
#define SERVICE_MAX   (2 * KFB_CREDITS_MAX)
#define DISCONNECT_MS 1000
/* A tick looks at so many connections: of 1000 at each within a minute. */
#define LOOK_MAX   20
#define PAGE_BYTES 4096

void brick_conn_move(struct brick_conn *c, enum kfb_conn_state to)
{
	if (c->state == to)
		return;
	if (!kfb_conn_move(&c->state, KFB_ROLE_BRICK, to))
		return;
	brick_log(LOG_ERR, c->who, "illegal move from %s to %s",
		  kfb_conn_state_name(c->state), kfb_conn_state_name(to));
	(void)kfb_conn_move(&c->state, KFB_ROLE_BRICK, KFB_CONN_CLOSING);
	brick_conn_kick(c);
}

void brick_conn_kick(struct brick_conn *c)
{
	/* One that is being served sees itself whether there is more. */
	if (!c->is_served)
		brick_flow_add(c->net->flows, c->flow, &c->task);
}

void brick_conn_join_flow(struct brick_conn *c, struct brick_flow *flow)
{
	bool is_waiting = c->task.flow;

	brick_flow_del(&c->task);
	c->flow = flow;
	if (is_waiting)
		brick_conn_kick(c);
}

void brick_conn_fail(struct brick_conn *c, int priority, const char *why)
{
	enum brick_lines kind = c->state == KFB_CONN_READY
					? BRICK_LINES_CONNS
					: BRICK_LINES_STRANGERS;

	if (c->state == KFB_CONN_CLOSING)
		return;
	brick_log_limited(&c->net->lines[kind], priority, c->who,
			  "connection ends: %s", why);
	brick_conn_move(c, KFB_CONN_CLOSING);
	brick_conn_kick(c);
}

void brick_violation_log(struct brick_net *net, const char *who, int what)
{
	if (what <= TCPW_OK || what >= TCPW_VIOLATIONS)
		return;
	brick_log_limited(&net->violation_lines[what], LOG_NOTICE, who,
			  "the peer broke the rules of tcp's wire: %s",
			  tcpw_violation_text((enum tcpw_violation)what));
}

void brick_conn_violated(struct brick_conn *c, int what)
{
	if (c->state != KFB_CONN_CLOSING)
		brick_violation_log(c->net, c->who, what);
	brick_conn_fail(c, LOG_DEBUG, "closed for breaking the wire's rules");
}

void brick_conn_set_deadline(struct brick_conn *c, uint64_t deadline_ms)
{
	if (c->deadline_ms)
		TAILQ_REMOVE(&c->net->hurried, c, hurry_link);
	c->deadline_ms = deadline_ms;
	if (c->deadline_ms)
		TAILQ_INSERT_TAIL(&c->net->hurried, c, hurry_link);
}

int brick_conn_idle_ms(const struct brick_conn *c, uint64_t *out)
{
	struct stcp_traffic traffic;
	int rc;

	if (!c->stcp)
		return -EOPNOTSUPP;
	rc = c->stcp->traffic(c->ep, &traffic);
	if (!rc)
		*out = traffic.idle_ms;
	return rc;
}

void brick_conn_add_moved(struct brick_conn *c, struct stcp_moved *sum)
{
	struct stcp_moved now;

	if (!c->stcp)
		return;
	c->stcp->moved(c->ep, &now);
	sum->written_bytes += now.written_bytes - c->moved.written_bytes;
	sum->read_bytes += now.read_bytes - c->moved.read_bytes;
	sum->n_ops += now.n_ops - c->moved.n_ops;
	c->moved = now;
}

void brick_conn_disconnect(struct brick_conn *c)
{
	c->is_disconnecting = true;
	brick_conn_set_deadline(c, brick_now_ms() + DISCONNECT_MS);
	brick_conn_kick(c);
}

static void cq_ready(struct brick_source *source)
{
	brick_conn_kick(brick_container_of(source, struct brick_conn, source));
}

void brick_conn_rung(struct brick_rope *rope)
{
	brick_conn_kick(brick_container_of(rope, struct brick_conn, rope));
}

/* Any thread. */
static void cq_filled(void *context)
{
	brick_bell_pull(context);
}

static int open_cq(struct brick_conn *c)
{
	struct fi_cq_attr attr = { .size = c->n_bufs,
				   .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_FD };
	struct stcp_domain_ops *ops;
	int rc;

	/* Completion queues of brickd's own domains can ring. */
	if (c->fabric->address->scheme->is_strict &&
	    !fi_open_ops(&c->domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			 NULL) &&
	    ops->set_ring && !ops->set_ring(c->domain, cq_filled)) {
		c->rope.bell = &c->net->bell;
		attr.wait_obj = FI_WAIT_NONE;
		return fi_cq_open(c->domain, &attr, &c->cq, &c->rope);
	}
	rc = fi_cq_open(c->domain, &attr, &c->cq, NULL);
	return rc ? rc : fi_control(&c->cq->fid, FI_GETWAIT, &c->source.fd);
}

static int post_receive(struct brick_conn *c, struct brick_buf *buf)
{
	return (int)fi_recv(c->ep, buf->data, RECV_BYTES, c->desc, 0,
			    &buf->context);
}

/* One mapping of memory for all messages, one registration if needed. */
static int make_buffers(struct brick_conn *c, uint32_t n_recv, uint32_t n_send)
{
	size_t bytes = (size_t)n_send * KFB_REPLY_MAX_BYTES +
		       (size_t)n_recv * RECV_BYTES;
	uint8_t *at;

	c->n_bufs = n_recv + n_send;
	c->bufs = calloc(c->n_bufs, sizeof(*c->bufs));
	if (!c->bufs)
		return -ENOMEM;
	if (posix_memalign(&c->memory, PAGE_BYTES, bytes)) {
		c->memory = NULL;
		return -ENOMEM;
	}
	if (c->fabric->mr_local) {
		int rc = fi_mr_reg(c->domain, c->memory, bytes,
				   FI_SEND | FI_RECV, 0, 0, 0, &c->mr, NULL);

		if (rc)
			return rc;
		c->desc = fi_mr_desc(c->mr);
	}
	at = c->memory;
	for (uint32_t i = 0; i < c->n_bufs; i++) {
		struct brick_buf *buf = &c->bufs[i];

		buf->is_send = i < n_send;
		buf->data = at;
		at += buf->is_send ? KFB_REPLY_MAX_BYTES : RECV_BYTES;
		if (buf->is_send)
			SLIST_INSERT_HEAD(&c->free_sends, buf, free_link);
	}
	return 0;
}

static int open_endpoint(struct brick_conn *c, struct fi_info *info)
{
	int rc;

	c->inject_max = info->tx_attr ? info->tx_attr->inject_size : 0;
	rc = open_cq(c);
	if (!rc)
		rc = fi_endpoint(c->domain, info, &c->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(c->ep, &c->fabric->eq->fid, 0);
	if (!rc)
		rc = fi_ep_bind(c->ep, &c->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(c->ep);
	if (!rc && c->fabric->address->scheme->is_strict)
		rc = fi_open_ops(&c->ep->fid, STCP_EP_OPS, 0, (void **)&c->stcp,
				 NULL);
	for (uint32_t i = 0; !rc && i < c->n_bufs; i++)
		if (!c->bufs[i].is_send)
			rc = post_receive(c, &c->bufs[i]);
	return rc;
}

/* Endpoints lie anywhere: all bits of where count. */
static unsigned int fid_bucket(const struct fid *fid)
{
	return (uint32_t)(((uintptr_t)fid * 0x9e3779b97f4a7c15ULL) >> 32) %
	       BRICK_CONN_BUCKETS;
}

struct brick_conn *brick_conn_find(const struct brick_net *net,
				   const struct fid *fid)
{
	struct brick_conn *c;

	LIST_FOREACH(c, &net->by_fid[fid_bucket(fid)], fid_link)
	if (&c->ep->fid == fid)
		return c;
	return NULL;
}

void brick_conn_list(struct brick_conn *c)
{
	TAILQ_INSERT_TAIL(&c->net->conns, c, link);
	c->net->n_conns++;
	LIST_INSERT_HEAD(&c->net->by_fid[fid_bucket(&c->ep->fid)], c, fid_link);
	c->is_listed = true;
}

int brick_conn_open(struct brick_conn *c, struct fi_info *info,
		    uint16_t credits)
{
	int rc;

	c->source.fd = -1;
	c->source.ready = cq_ready;
	c->task.run = brick_conn_run;
	SLIST_INIT(&c->free_sends);
	rc = make_buffers(c, credits + SPARE_RECEIVES, credits + SPARE_SENDS);
	if (!rc)
		rc = open_endpoint(c, info);
	if (!rc && c->source.fd >= 0)
		rc = brick_loop_add(c->net->loop, &c->source);
	if (rc) {
		c->source.fd = -1;
		brick_conn_close(c);
		return rc;
	}
	c->net->n_polled += c->source.fd >= 0;
	brick_conn_list(c);
	brick_conn_move(c, KFB_CONN_CONNECTING);
	return 0;
}

void brick_conn_close(struct brick_conn *c)
{
	if (c->source.fd >= 0) {
		brick_loop_del(c->net->loop, &c->source);
		c->net->n_polled--;
	}
	if (c->is_listed) {
		TAILQ_REMOVE(&c->net->conns, c, link);
		c->net->n_conns--;
		LIST_REMOVE(c, fid_link);
	}
	brick_conn_set_deadline(c, 0);
	brick_flow_del(&c->task);
	if (c->ep)
		fi_close(&c->ep->fid);
	if (c->mr)
		fi_close(&c->mr->fid);
	if (c->cq)
		fi_close(&c->cq->fid);
	brick_bell_cut(&c->rope);
	free(c->memory);
	free(c->bufs);
	free(c);
}

static int send_bytes(struct brick_conn *c, struct brick_buf *buf, size_t len)
{
	ssize_t rc;

	/*
	 * A short message is copied by the provider, without a completion that had
	 * to be read. Not a last word: whoever waits for it to be out needs to
	 * know.
	 */
	if (len <= c->inject_max && c->n_injected < INJECTED_MAX &&
	    c->state == KFB_CONN_READY && !c->is_disconnecting &&
	    !c->net->stop->is_stopping) {
		rc = fi_inject(c->ep, buf->data, len, 0);
		if (rc != -FI_EAGAIN) {
			c->n_injected++;
			return (int)rc;
		}
	}
	rc = fi_send(c->ep, buf->data, len, c->desc, 0, &buf->context);
	if (rc)
		return (int)rc;
	c->n_injected = 0;
	SLIST_REMOVE_HEAD(&c->free_sends, free_link);
	c->n_sending++;
	return 0;
}

void brick_conn_send(struct brick_conn *c, const struct kfb_reply *reply)
{
	struct brick_buf *buf = SLIST_FIRST(&c->free_sends);
	int len, rc;

	if (c->state == KFB_CONN_CLOSING)
		return;
	/* A peer that does not read its replies cannot have more credits. */
	if (!buf) {
		brick_conn_fail(c, LOG_WARNING, "it does not take its replies");
		return;
	}
	len = kfb_encode_reply(reply, buf->data, KFB_REPLY_MAX_BYTES);
	if (len < 0) {
		brick_conn_fail(c, LOG_ERR, "a reply could not be encoded");
		return;
	}
	rc = send_bytes(c, buf, (size_t)len);
	if (rc) {
		brick_conn_fail(c, LOG_INFO, fi_strerror(-rc));
		return;
	}
	brick_conn_kick(c);
}

static void take_completion(struct brick_conn *c, struct fi_cq_msg_entry *entry)
{
	struct brick_buf *buf;
	int rc;

	/*
	 * No message of the protocol comes with data for the completion queue. A
	 * remote write with data would seem to be one: it takes a receive's place,
	 * as long as what was written elsewhere, or has no receive at all.
	 */
	if (!entry->op_context || (entry->flags & FI_REMOTE_CQ_DATA)) {
		brick_conn_fail(c, LOG_NOTICE, "it sends completion data");
		return;
	}
	buf = brick_container_of(entry->op_context, struct brick_buf, context);
	if (buf->is_send) {
		SLIST_INSERT_HEAD(&c->free_sends, buf, free_link);
		c->n_sending--;
		return;
	}
	if (!c->is_disconnecting) {
		/* It may come before the event that says so. */
		c->net->ops->connected(c);
		c->net->ops->message(c, buf->data, (uint32_t)entry->len);
	}
	/* Whoever disconnects says nothing that anybody waits for. */
	if (c->state == KFB_CONN_CLOSING || c->is_disconnecting)
		return;
	rc = post_receive(c, buf);
	if (rc == -FI_ENOTCONN)
		brick_conn_fail(c, LOG_DEBUG, "closed by the peer");
	else if (rc)
		brick_conn_fail(c, LOG_WARNING, "cannot post a receive");
}

static void completion_failed(struct brick_conn *c)
{
	struct fi_cq_err_entry err = { 0 };

	if (fi_cq_readerr(c->cq, &err, 0) < 0)
		return;
	if (err.err == FI_ETRUNC || err.err == FI_EMSGSIZE || err.olen)
		brick_conn_fail(c, LOG_NOTICE, "message too long");
	else if (err.prov_errno && c->fabric->address->scheme->is_strict)
		/* Only brickd's own provider says so. */
		brick_conn_violated(c, err.prov_errno);
	else if (err.err == FI_ECANCELED)
		brick_conn_fail(c, LOG_DEBUG, "closed by the peer");
	else
		brick_conn_fail(c, LOG_INFO, fi_strerror(err.err));
}

/* May the loop sleep on its descriptor? Looks for completions itself. */
static bool may_sleep(struct brick_conn *c)
{
	struct fid *fids[1] = { &c->cq->fid };

	return fi_trywait(c->fabric->fabric, fids, 1) != -FI_EAGAIN;
}

/* Return: true when there may be more. */
static bool read_some(struct brick_conn *c, struct brick_turn *turn)
{
	struct fi_cq_msg_entry entries[CQ_BATCH];

	while (turn->n_left) {
		size_t max = turn->n_left < CQ_BATCH ? turn->n_left : CQ_BATCH;
		uint32_t n_sending = c->n_sending;
		ssize_t n = fi_cq_read(c->cq, entries, max);

		if (n == -FI_EAVAIL)
			completion_failed(c);
		else if (n < 0 && n != -FI_EAGAIN)
			brick_conn_fail(c, LOG_INFO, fi_strerror((int)-n));
		if (n <= 0)
			brick_turn_count(turn);
		for (ssize_t i = 0; i < n; i++) {
			if (c->state == KFB_CONN_CLOSING)
				return false;
			take_completion(c, &entries[i]);
			brick_turn_count(turn);
		}
		if (c->state == KFB_CONN_CLOSING)
			return false;
		/* What was sent completes at once: read that first. */
		if (n < (ssize_t)max && c->n_sending <= n_sending &&
		    may_sleep(c))
			return false;
	}
	return true;
}

static bool read_in_turn(struct brick_conn *c, struct brick_turn *turn)
{
	bool more = false;

	c->is_served = true;
	if (c->state != KFB_CONN_CLOSING)
		more = read_some(c, turn);
	c->is_served = false;
	return more;
}
void brick_conn_run(struct brick_task *task, struct brick_turn *turn)
{
	struct brick_conn *c =
		brick_container_of(task, struct brick_conn, task);

	if (read_in_turn(c, turn))
		brick_conn_kick(c);
	if (c->is_disconnecting && !c->n_sending)
		brick_conn_move(c, KFB_CONN_CLOSING);
	if (c->state != KFB_CONN_CLOSING)
		return;
	brick_busy_with(turn->busy, BRICK_BUSY_CONNECT);
	c->net->ops->lost(c);
	brick_turn_count(turn);
}

void brick_conn_service(struct brick_conn *c)
{
	struct brick_turn turn = { .busy = c->net->flows->busy,
				   .n_left = SERVICE_MAX,
				   .until_ns = UINT64_MAX };

	if (read_in_turn(c, &turn))
		brick_conn_kick(c);
}

static void end_late(struct brick_net *net)
{
	uint64_t now_ms = brick_now_ms();
	struct brick_conn *c;

	TAILQ_FOREACH(c, &net->hurried, hurry_link)
	{
		if (now_ms < c->deadline_ms)
			continue;
		if (!c->is_disconnecting)
			brick_conn_fail(c, LOG_NOTICE,
					"it has not authenticated in time");
		brick_conn_move(c, KFB_CONN_CLOSING);
		brick_conn_kick(c);
	}
}

void brick_conns_tick(struct brick_net *net)
{
	struct brick_conn *c, *last;
	uint32_t n = LOOK_MAX;

	end_late(net);
	/*
	 * A provider may have lost a wake-up; that of verbs is known for it.
	 * Looking takes a system call and much that is in no cache: of many
	 * connections of others only some are looked at each time.
	 */
	for (uint32_t i = 0; i < net->n_fabrics; i++)
		if (net->fabrics[i].address->scheme->is_rdma)
			n = UINT32_MAX;
	last = TAILQ_LAST(&net->conns, brick_conn_list);
	while (last && n--) {
		c = TAILQ_FIRST(&net->conns);
		TAILQ_REMOVE(&net->conns, c, link);
		TAILQ_INSERT_TAIL(&net->conns, c, link);
		if (c->state == KFB_CONN_CLOSING || !may_sleep(c))
			brick_conn_kick(c);
		if (c == last)
			break;
	}
}
