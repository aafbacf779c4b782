/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What befalls those who are in a world, and when: at a time, or as soon after it
 * as a client's session, or the disk, is in a certain state,
 * or as a disk gives a mapping back that is of no use.
 */
#ifndef TESTS_SIM_FAULTS_H
#define TESTS_SIM_FAULTS_H

#include <stdint.h>

#include "brick.h"
#include "world.h"

#define SIM_FAULTS_MAX 64

struct sim_scene;

enum sim_fault_kind {
	SIM_CUT,
	SIM_HOLD,
	SIM_KILL_BRICK,
	SIM_KILL_SOON, /* in the middle of what brickd stores */
	SIM_STOP_BRICK,
	SIM_POWER,
	SIM_POWER_SOON, /* in the middle of what brickd stores */
	SIM_KILL_CLIENT,
	SIM_DISK_WRITE_BACK,
	SIM_DISK_UNASKED,
	SIM_DISK_FLUSH,
	SIM_DISK_CALL,
	SIM_DISK_MOUNT,
	SIM_DISK_NEIGHBOUR,
	SIM_BAD_BLOCK,
	SIM_EVICT,
	SIM_TIER,
	SIM_RELOAD,
	SIM_SQUATTER,
	SIM_MEMORY,
	SIM_CLOCK,
	SIM_REFUSE,
	SIM_CARD,
	SIM_GROW,
	SIM_SLOW,
	SIM_NETWORK_LOSS,
	SIM_FAULT_KINDS,
};

/*
 * struct sim_fault - one
 * @state: enum kfb_client_state that a client has to be in, or, behind those, enum
 *	kfb_disk_state of the disk, or, behind those, that a disk undoes a mapping, or
 *	SIM_ANY_STATE
 * @at_ns: when, or not before
 * @which: of what there are several
 * @ns: how long
 */
struct sim_fault {
	struct sim_event due;
	struct sim_scene *scene;
	enum sim_fault_kind kind;
	uint32_t state;
	uint64_t at_ns;
	uint64_t which;
	uint64_t ns;
};

#define SIM_ANY_STATE UINT32_MAX

/*
 * struct sim_faults - those of a world
 * @down_ns: of a brick's machine, after what comes in the middle of a store
 * @kills: what comes there is the end of its brickd alone
 * @again: then something comes in the middle of the next start
 * @kills_again: that is the end of brickd alone
 * @waiting: by fault: it waits for a state
 * @is_undoing: since the last event a disk undoes a mapping
 * @has_lost: it is one that has lost something before
 */
struct sim_faults {
	uint32_t n;
	struct sim_fault list[SIM_FAULTS_MAX];
	uint64_t waiting;
	bool is_undoing;
	bool has_lost;
	uint64_t down_ns[SIM_BRICKS_MAX];
	bool kills[SIM_BRICKS_MAX];
	struct sim_cut again[SIM_BRICKS_MAX];
	bool kills_again[SIM_BRICKS_MAX];
};

/* Chooses faults within @span_ns; those happen whose bit is set in @mask. */
void sim_faults_make(struct sim_scene *scene, uint64_t *dice, uint64_t span_ns,
		     uint64_t mask);
/* What was broken for long is mended: everybody is to come to an end. */
void sim_faults_end(struct sim_scene *scene);

/* Which there are; and one line for each of some. */
uint64_t sim_faults_mask(const struct sim_scene *scene);
void sim_faults_print(const struct sim_scene *scene, uint64_t mask);

/* Where all scenes so far have been. */
void sim_faults_print_coverage(void);

#endif
