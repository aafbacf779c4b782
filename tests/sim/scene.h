/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scene: who is in a world, what they are like, and what befalls them; all of
 * it chosen by the seed.
 */
#ifndef TESTS_SIM_SCENE_H
#define TESTS_SIM_SCENE_H

#include <stdint.h>

#include "brick.h"
#include "user/client.h"
#include "disk/disk.h"
#include "faults.h"

/*
 * struct sim_scene - one
 * @n_left: clients and machines that have not come to their end
 * @shared: a block of the first brick's
 */
struct sim_scene {
	uint32_t n_bricks;
	struct sim_brick bricks[SIM_BRICKS_MAX];
	uint32_t n_clients;
	uint32_t n_left;
	struct sim_client clients[SIM_CLIENTS_MAX];
	struct sim_shared shared;
	uint32_t n_disks;
	struct sim_disk disks[SIM_DISKS_MAX];
	struct sim_cluster cluster;
	struct sim_faults faults;
	struct sim_event end;
	struct sim_event limit;
};

/*
 * A scene of a seed. Of its faults, at most 64, those happen whose bit is set in
 * @faults.
 */
struct sim_scene *sim_scene_new(uint64_t seed, uint64_t faults);
void sim_scene_free(struct sim_scene *scene);

/* What was placed at a brick, and that no flush has covered, may be gone. */
void sim_scene_forget(struct sim_brick *brick);

/* When nothing happens any more: has everybody come to an end? */
void sim_scene_check(struct sim_scene *scene);

void sim_scene_count(const struct sim_scene *scene, uint64_t *lives,
		     uint64_t *writes, uint64_t *reads, uint64_t *flushes,
		     uint64_t *losses);

#endif
