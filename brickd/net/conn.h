/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection: endpoint, completion queue, message buffers.
 *
 * Context: the loop thread.
 * Lifetime: made for a connection request, owned by its queue. A failure
 * only marks it CLOSING; it is closed before the loop sleeps next, so that
 * nothing on the call stack loses it.
 */
#ifndef BRICKD_NET_CONN_H
#define BRICKD_NET_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/flow.h"
#include "brickd/base/loop.h"
#include "brickd/net/bell.h"
#include "brickd/net/fabric.h"
#include "kfabric/user/stcp.h"
#include "proto/codec/kfb_codec.h"
#include "proto/kfb_session.h"
#include "proto/kfb_slot.h"

#define BRICK_WHO_BYTES 160

struct brick_conn;
struct brick_queue;
struct brick_net;
struct brick_session;

/* One message buffer; the context is libfabric's while it is posted. */
struct brick_buf {
	struct fi_context context;
	uint8_t *data;
	bool is_send;
	SLIST_ENTRY(brick_buf) free_link;
};

/*
 * struct brick_conn - one connection
 * @is_listed: among the open ones
 * @flow: in whose turns it is served; brick_conn_join_flow() changes it
 * @task: its place there when it is to be looked at
 * @is_served: being served: it decides itself whether there is more to do
 * @queue: its own; not looked into here, and neither is the session
 * @domain: of its session
 * @state: changed by brick_conn_move() only
 * @deadline_ms: to be READY, or after disconnect to be gone; 0: none;
 *	brick_conn_set_deadline() changes it
 * @features: KFB_FEATURE_* that its HELLO wanted and the session has
 * @is_disconnecting: close when the last reply is out
 * @source: its completion queue's descriptor; without one
 * @rope: the queue pulls this
 * @n_sending: sends not completed
 * @n_injected: messages sent without a completion after the newest of them
 * @inject_max: how long such a message may be, bytes
 * @moved: what brick_conn_add_moved() has told
 * @event_credits: EVENTs that may be sent
 * @hello: as it came
 * @accept: as it went
 * @peer: where it comes from
 * @who: the same for the log, with the session
 */
struct brick_conn {
	TAILQ_ENTRY(brick_conn) link;
	TAILQ_ENTRY(brick_conn) hurry_link;
	LIST_ENTRY(brick_conn) fid_link;
	bool is_listed;
	struct brick_flow *flow;
	struct brick_task task;
	bool is_served;
	struct brick_net *net;
	struct brick_queue *queue;
	struct brick_session *session;
	struct brick_fabric *fabric;
	struct fid_domain *domain;
	enum kfb_conn_state state;
	uint64_t deadline_ms;
	uint32_t features;
	bool is_disconnecting;
	struct fid_ep *ep;
	const struct stcp_ep_ops *stcp; /* NULL: another provider's */
	struct fid_cq *cq;
	struct fid_mr *mr;
	void *desc;
	struct brick_source source;
	struct brick_rope rope;
	void *memory;
	uint32_t n_bufs;
	struct brick_buf *bufs;
	SLIST_HEAD(, brick_buf) free_sends;
	uint32_t n_sending;
	uint32_t n_injected;
	size_t inject_max;
	struct stcp_moved moved;
	uint16_t event_credits;
	uint8_t hello[KFB_HELLO_BYTES];
	uint8_t accept[KFB_ACCEPT_BYTES];
	struct sockaddr_storage peer;
	char who[BRICK_WHO_BYTES];
};

/**
 * brick_conn_open - make the endpoint of a connection request
 * @conn: with its domain and its flow
 * @info: of the request
 * @credits: requests that may come at a time
 *
 * On failure the connection is freed.
 *
 * Return: 0 or -errno.
 */
int brick_conn_open(struct brick_conn *conn, struct fi_info *info,
		    uint16_t credits);

/* Closes what brick_conn_open() opened; after it nothing moves any more. */
void brick_conn_close(struct brick_conn *conn);

/* Has it served in the turns of another flow. */
void brick_conn_join_flow(struct brick_conn *conn, struct brick_flow *flow);

/* Puts one that has its endpoint among the open ones. */
void brick_conn_list(struct brick_conn *conn);

/**
 * brick_conn_find - the connection with an endpoint
 * @net: all of them
 * @fid: of the endpoint; one that is gone may be named
 *
 * Return: the connection or NULL.
 */
struct brick_conn *brick_conn_find(const struct brick_net *net,
				   const struct fid *fid);

/* Changes the state; an illegal move is logged and ends the connection. */
void brick_conn_move(struct brick_conn *conn, enum kfb_conn_state to);

/**
 * brick_conn_fail - end a connection
 * @conn: any state
 * @priority: LOG_*, of the line that says why
 * @why: for the log
 */
void brick_conn_fail(struct brick_conn *conn, int priority, const char *why);

/* Ends one whose peer broke the rules of tcp's wire: enum tcpw_violation. */
void brick_conn_violated(struct brick_conn *conn, int what);

/* Says so of somebody, once in a while for each rule. */
void brick_violation_log(struct brick_net *net, const char *who, int what);

/* By when it must be READY, or gone; 0: no more. */
void brick_conn_set_deadline(struct brick_conn *conn, uint64_t deadline_ms);

/* Since bytes last came; 0, or a negative errno when nobody knows. */
int brick_conn_idle_ms(const struct brick_conn *conn, uint64_t *out);

/**
 * brick_conn_add_moved - what its peer's reads and writes have moved
 * @conn: with its endpoint
 * @sum: is added what was moved since this was asked last; nothing where nobody counts,
 *	as over RDMA
 */
void brick_conn_add_moved(struct brick_conn *conn, struct stcp_moved *sum);

/* Ends it when what was sent is out, or shortly after at the latest. */
void brick_conn_disconnect(struct brick_conn *conn);

/**
 * brick_conn_send - send a reply or an EVENT
 * @conn: connection
 * @reply: the message
 */
void brick_conn_send(struct brick_conn *conn, const struct kfb_reply *reply);

/* Has the connection looked at in its flow's turn, before the loop sleeps. */
void brick_conn_kick(struct brick_conn *conn);

/* What its task runs: reads what has come, closes it when it has failed. */
void brick_conn_run(struct brick_task *task, struct brick_turn *turn);

/**
 * brick_conn_service - read what has come, whosever turn it is
 * @conn: connection; looked at again in its turn when there is more
 *
 * Reads as much as can have come in time for what hangs on it: an AUTH, a lease.
 */
void brick_conn_service(struct brick_conn *conn);

/* The bell of all connections: has the one that is rung for looked at. */
void brick_conn_rung(struct brick_rope *rope);

/* Deadlines and the fallback for wake-ups that the fabric lost. */
void brick_conns_tick(struct brick_net *net);

#endif
