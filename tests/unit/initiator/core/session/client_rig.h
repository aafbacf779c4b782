/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core's client against a simulated brick: does what the client says, and
 * cuts connections when told to.
 */
#ifndef CLIENT_RIG_H
#define CLIENT_RIG_H

#include "data/kfb_fate.h"
#include "data/kfb_flush.h"
#include "session/kfb_client.h"
#include "sim_brick.h"

#define RIG_TIMEOUT_MS	 1000
#define RIG_RECONNECT_MS 60000

enum rig_cut {
	RIG_CUT_NONE,
	RIG_CUT_REQUEST, /* the message does not arrive */
	RIG_CUT_REPLY, /* it arrives, its answer does not */
	RIG_CUT_SILENCE, /* neither does, and nobody notices */
};

struct rig_link {
	bool open;
	bool silent; /* of no use any more, and nobody notices */
	bool unheard; /* nothing answers where it is being connected */
	uint32_t address; /* the one it was connected to last */
	uint64_t session;
	uint32_t queue;
};

/*
 * Who has the brick's port instead of the brick, and what it answers. It knows
 * all that has travelled, and no key.
 */
enum rig_squat {
	RIG_SQUAT_NONE,
	RIG_SQUAT_RANDOM, /* accepts everything, with a random proof */
	RIG_SQUAT_REPLAY, /* repeats the queue's newest ACCEPT of the brick */
	RIG_SQUAT_ANSWER, /* the same, of a session of its own */
	RIG_SQUAT_REFUSE, /* refuses everything with squat_status */
	RIG_SQUAT_FORGET, /* joins are STALE; new sessions are accepted, AUTH is
			   * answered with squat_status, 0: with a random proof
			   */
	RIG_SQUAT_MUTE, /* the same, and AUTH is not answered */
	RIG_SQUATS
};

/* A block that the caller keeps mapped. */
struct rig_block {
	bool held;
	bool dead;
	bool mapped; /* in the session there is now */
	uint64_t key;
	uint32_t birth;
};

#define RIG_UNDO_MAX 16

struct rig {
	struct kfb_client c;
	uint8_t tx[KFB_CLIENT_TX_BYTES(SIM_QUEUES)];
	struct sim_brick b;
	struct rig_link links[SIM_QUEUES];
	uint64_t now_ms;
	uint32_t random; /* state of the generator */

	/* what goes wrong */
	bool unreachable;
	uint32_t mute; /* by address: nothing answers there */
	uint32_t foreign; /* by address: another brick is there */
	uint32_t session_address; /* joins at any other are STALE */
	uint16_t cut_op; /* 0: any */
	enum rig_cut cut;
	uint32_t cut_per_mille; /* at random */
	bool drop; /* a connection that ends drops what it has not placed */
	enum rig_squat squat;
	uint16_t squat_status;
	bool squat_joins_only; /* what wants a new session reaches the brick */
	uint8_t accepts[SIM_QUEUES][KFB_ACCEPT_BYTES]; /* the brick's newest */
	bool is_squatted[SIM_QUEUES]; /* this connection is not the brick's */
	uint32_t n_squatted; /* HELLOs that it got */
	uint32_t n_stolen; /* requests that it got, but for AUTH */

	/* mappings */
	struct rig_block blocks[SIM_BLOCKS];
	bool mapping;
	uint32_t map_next;
	bool map_waits;
	uint64_t map_at_ms;
	uint64_t undo[RIG_UNDO_MAX]; /* mappings that came late */
	uint32_t n_undo;

	/* what happened */
	struct kfb_reply reply;
	struct kfb_outcome outcome; /* the newest of a call of the caller's */
	uint32_t n_silent; /* closed because nothing was answered in time */
	uint32_t n_outcomes;
	struct kfb_reject reject;
	uint32_t n_fates;
	enum kfb_fate fate; /* the newest */
	uint32_t n_map_asked;

	/* hooks of the test; may be NULL */
	void (*on_connect)(struct rig *r,
			   uint32_t queue); /* before its answer */
	void (*on_outcome)(struct rig *r, uint32_t queue,
			   const struct kfb_outcome *outcome);
	void (*on_fate)(struct rig *r, uint32_t queue, enum kfb_fate fate);
	void (*on_closed)(struct rig *r, uint32_t queue);
	void (*on_dead)(struct rig *r, uint32_t block);
};

uint32_t rig_random(struct rig *r, uint32_t below);
void rig_init(struct rig *r, uint32_t n_queues);
/* Again with another configuration. */
void rig_configure(struct rig *r, const struct kfb_client_config *config);
struct kfb_client_config rig_config(struct rig *r, uint32_t n_queues);
/* A new client, of the same brick. */
void rig_again(struct rig *r);
/* Do what the client says. */
void rig_do(struct rig *r, const struct kfb_client_action *action);
/* Do all there is to do now. */
void rig_run(struct rig *r);
/* Let time pass from event to event until a state is there; fails after @ms. */
void rig_run_to(struct rig *r, enum kfb_client_state state, uint64_t ms);
/* Time passes to the next moment at which something is to be done. */
void rig_pass_time(struct rig *r);
/* Until a new session is LIVE. */
void rig_renew(struct rig *r);
void rig_connect(struct rig *r);
/* The connection of a queue dies, both ends notice. */
void rig_cut(struct rig *r, uint32_t queue);
/* A request of the caller's; 0 or -EAGAIN, -ENOTCONN. */
int rig_call(struct rig *r, uint32_t queue, const struct kfb_request *req,
	     void *owner);
int rig_alloc(struct rig *r, uint32_t number, void *owner);

#endif
