/* SPDX-License-Identifier: BSD-2-Clause */
/* What links.c and endpoint.c share: a link, and what goes over it. */
#ifndef TESTS_SIM_LINK_H
#define TESTS_SIM_LINK_H

#include "fabric.h"
#include "host.h"

#define SIM_CLIENT 0
#define SIM_BRICK  1
#define SIM_SIDES  2
#define SIM_PORTS  16

/*
 * struct sim_way - what goes from one end to the other
 * @ops: a ring: @n_acks that have arrived, from @head on, then @n_ops that
 *	have not
 * @is_held: what has not arrived does not, until the link is cut
 * @is_persisting: a thread of brickd's makes the first durable that has not been
 *	acknowledged
 * @arrive: of the first that has not
 * @ack: of the first that has
 */
struct sim_way {
	struct sim_link *link;
	uint32_t from;
	uint32_t head;
	uint32_t n_acks;
	uint32_t n_ops;
	uint64_t last_ns;
	bool is_held;
	bool is_persisting;
	struct sim_event arrive;
	struct sim_event ack;
	struct sim_op ops[SIM_OPS_MAX];
};

/* What an end is told of the other one, or of itself. */
struct sim_notice {
	struct sim_event due;
	struct sim_link *link;
	uint32_t side;
};

/*
 * struct sim_link - a connection, from the request until neither end is left
 * @request: what the brick accepts or refuses
 * @number: its place; N is told apart by it
 * @is_cut: nothing is sent any more
 * @is_late: what the client has sent may still arrive
 * @is_squatted: somebody else than the brick has answered
 * @held_until_ns: nothing arrives before
 * @answer: to the client's request; @established: the brick hears that it is connected
 * @data: of connecting, accepting or refusing
 */
struct sim_link {
	struct fid request;
	uint32_t number;
	uint16_t port;
	struct sim_ep *end[SIM_SIDES];
	struct sim_host *host[SIM_SIDES];
	bool is_cut;
	bool is_late;
	bool is_asked;
	bool is_squatted;
	uint64_t held_until_ns;
	struct sim_notice notice[SIM_SIDES];
	struct sim_event connect;
	struct sim_event answer;
	struct sim_event established;
	uint32_t answer_kind;
	int answer_error;
	size_t data_len;
	uint8_t data[SIM_CM_BYTES];
	struct sim_way way[SIM_SIDES]; /* large: the last ones */
};

extern struct sim_link *sim_links[SIM_LINKS_MAX];

/* A new one, of a client's endpoint. */
struct sim_link *sim_link_new(struct sim_ep *client);
/* Frees it when nobody is left who could use it, or be reached by it. */
void sim_link_may_go(struct sim_link *link);

/* Nothing is sent on it any more; packets that are under way may arrive. */
void sim_link_end(struct sim_link *link, bool arrives_late);
/* An end is told that it is over. */
void sim_link_tell(struct sim_link *link, uint32_t side, uint64_t at_ns);
/* A process may change its memory as soon as its endpoint is gone. */
void sim_way_keep_copies(struct sim_way *way);
/* The first that has not arrived is on its way. */
void sim_way_go(struct sim_way *way);
struct sim_op *sim_way_op(struct sim_way *way, uint32_t at);

/* What answers a request of the client's to connect. */
void sim_link_answer(struct sim_link *link, uint32_t kind, int error,
		     const void *data, size_t len);
/* Whoever listens at a port; NULL: nobody. */
struct sim_pep *sim_pep_at(uint16_t port);

#endif
