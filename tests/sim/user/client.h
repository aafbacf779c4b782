/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine whose program uses libkfbrick, and believes what it is told. */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "../machine/host.h"
#include "../oracle.h"
#include "proto/kfb_rate.h"
#include "proto/kfb_wire.h"
#include "shared.h"

#define SIM_BLOCKS_MAX	   4
#define SIM_SPARES_MAX	   3 /* blocks behind those, mapped for a moment */
#define SIM_PLACES	   (SIM_BLOCKS_MAX + SIM_SPARES_MAX)
#define SIM_CLIENT_REGS	   24
#define SIM_POSTED_MAX	   16
#define SIM_REGISTER_BYTES (SIM_WORDS_MAX * 8)

struct kfb_client;
struct sim_brick;
struct kfbrick;
struct kfbrick_mapping;
struct sim_client;
struct sim_scene;

/* What a world is like for a client. */
struct sim_client_settings {
	uint32_t port; /* of its brick */
	bool is_tcp;
	bool is_nameless; /* its brick asks for no name */
	uint32_t n_blocks;
	uint32_t n_spares;
	uint32_t quota; /* 0: none; its blocks are in it, not all its spares */
	uint32_t churn_permille;
	uint32_t n_registers;
	uint32_t n_words;
	uint32_t queues;
	uint32_t reconnect_ms;
	uint32_t timeout_ms;
	uint32_t lease_ms;
	bool retains;
	enum sim_sharing sharing;
	uint32_t think_us;
	uint32_t posted_max;
};

/* What it knows of a block. */
enum sim_block_state {
	SIM_BLOCK_NONE,
	SIM_BLOCK_THERE,
	SIM_BLOCK_UNKNOWN,
};

enum sim_posted_kind {
	SIM_POSTED_NONE,
	SIM_POSTED_WRITE,
	SIM_POSTED_DURABLE,
	SIM_POSTED_READ,
	SIM_POSTED_FLUSH,
	SIM_POSTED_SHARED_WRITE,
	SIM_POSTED_SHARED_READ,
};

/*
 * struct sim_posted - something that the client waits for
 * @r: a register's write or read
 * @marks: a flush's: what it covers, by register
 * @shared: of what is shared: which register, and
 * @value: what is written, or
 * @begin_ns: when it was asked for
 * @n_losses: that had been told when it was posted, but for those that are there still
 *	and may be told as well
 * @was_untold: nobody had been told of a flush that had failed
 * @may_be_told: a flush that fails is no surprise
 * @life: of brickd, when it was posted
 * @words: bytes of the process
 */
struct sim_posted {
	enum sim_posted_kind kind;
	struct sim_register *r;
	uint64_t marks[SIM_CLIENT_REGS];
	uint32_t shared;
	uint64_t value;
	uint64_t begin_ns;
	uint64_t n_losses;
	bool was_untold;
	bool may_be_told;
	uint64_t life;
	uint64_t *words;
};

/*
 * struct sim_moved - what a client has moved since it has its rate
 * @rate: as libkfbrick has told it
 * @since_ns: that it was seen first
 */
struct sim_moved {
	struct kfb_rate rate;
	uint64_t since_ns;
	uint64_t n_ops;
	uint64_t bytes;
};

/*
 * struct sim_client - one; outlives its process
 * @host: first, so that the host of its process is found
 * @scene: that it is in
 * @brick: whose client it is
 * @chance: what it does next
 * @session: of @k, also while it is being made
 * @epoch: connections so far
 * @is_busy: by register: something of it is posted
 * @blocks: those with registers, then the spare ones
 * @words: of its process, for what is posted
 * @is_listed: by block: the brick says that it is there
 * @is_bad: by block: the brick has lost it
 * @is_stale: an access was refused: it has to map anew
 * @unanswered: the event of the world in which it gave a request up
 * @is_untold: nobody has been told of a flush that has failed
 * @is_owed: of those answers one was to nobody who waited for it
 * @has_accepted: losses, and no flush has failed since
 * @moved: held against its rate
 * @asked: blocks of the newest ALLOC or FREE
 * @call: what it waits in, for the story
 * @owns_more: what is shared may count for its quota, also when it is lost
 * @ends: it is to read everything and to go
 * @has_ended: it has
 * @n_flushes: that have succeeded
 */
struct sim_client {
	struct sim_host host;
	struct sim_client_settings settings;
	struct sim_scene *scene;
	struct sim_brick *brick;
	uint32_t number;
	char name[24];
	uint64_t chance;
	uint32_t epoch;
	struct sim_register registers[SIM_CLIENT_REGS];
	bool is_busy[SIM_CLIENT_REGS];
	enum sim_block_state blocks[SIM_PLACES];
	struct sim_posted posted[SIM_POSTED_MAX];
	uint32_t n_posted;
	struct sim_event restart;
	struct kfbrick *k;
	const struct kfb_client *session;
	struct kfbrick_mapping *mapping;
	struct kfbrick_mapping *shared_mapping;
	struct sim_shared *shared;
	uint32_t n_shared_writes;
	uint64_t *words;
	bool is_bad[SIM_PLACES];
	bool is_listed[SIM_PLACES];
	bool is_stale;
	uint64_t unanswered;
	bool is_untold;
	bool is_owed;
	bool has_accepted;
	struct sim_moved moved;
	uint32_t asked;
	uint32_t n_asked;
	uint64_t asked_ns;
	const char *call;
	bool is_new;
	bool owns_more;
	bool ends;
	bool has_ended;
	uint64_t n_writes;
	uint64_t n_reads;
	uint64_t n_flushes;
	uint64_t n_losses;
};

void sim_client_init(struct sim_client *client, uint32_t process,
		     uint32_t number,
		     const struct sim_client_settings *settings, uint64_t seed);
void sim_client_fini(struct sim_client *client);

/* The first address that is its own. */
static inline uint64_t sim_client_va(uint32_t number)
{
	return (uint64_t)(number * SIM_PLACES) << KFB_BLOCK_SHIFT;
}

/* Its blocks: spare ones follow those with registers. */
static inline uint32_t sim_client_n_places(const struct sim_client *client)
{
	return client->settings.n_blocks + client->settings.n_spares;
}

/* Of its session: enum kfb_client_state. */
uint32_t sim_client_state(const struct sim_client *client);

/* client_losses.c: what it is told that it has lost. Hearing returns whether there is any. */
bool sim_client_hear_losses(struct sim_client *c);
void sim_client_lose_all(struct sim_client *c);
void sim_client_accept_losses(struct sim_client *c);
/* Has it posted another flush than this one? */
bool sim_client_flushes_besides(const struct sim_client *c,
				const struct sim_posted *but);

/* The mapping is none any more: of lost blocks, or of what is not granted. */
bool sim_client_is_refused(int error);
/* It is one still: the brick has no memory for its UNMAP, or too much to do. */
bool sim_client_keeps(int error);

/* For shared.c: room for something to be posted, or NULL; that it is posted. */
struct sim_posted *sim_client_place(struct sim_client *client);
void sim_client_posted(struct sim_client *client, struct sim_posted *posted,
		       enum sim_posted_kind kind, struct sim_register *r);
/* Waits for all that is posted. Return: false: the connection is lost for good. */
bool sim_client_settle(struct sim_client *client);

/*
 * client_spares.c: blocks without registers have been allocated just now: are they
 * zero? Return: false: the connection is lost for good.
 */
bool sim_client_use_spares(struct sim_client *c, uint64_t va, uint32_t n);

/* client_rate.c: it is connected anew; one of its reads or writes has succeeded */
void sim_client_rate_begin(struct sim_client *client);
void sim_client_rate_moved(struct sim_client *client, uint64_t bytes);

/* client_lists.c: @n blocks were asked for, and @rc is the answer; does its brick list what is mapped; has it all of its slots? */
void sim_client_check_quota(const struct sim_client *client, uint32_t n,
			    int rc);
void sim_client_check_mapped(struct sim_client *client);
void sim_client_check_slots(struct sim_client *client);
/* It is refused a block of its own as the last thing: is there a reason? */
void sim_client_check_full(struct sim_client *client, uint64_t va);

void sim_client_kill(struct sim_client *client, uint64_t down_ns);

#endif
