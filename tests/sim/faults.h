/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scene: who is in a world, what they are like, and what befalls them; all of
 * it chosen by the seed.
 */
#ifndef TESTS_SIM_FAULTS_H
#define TESTS_SIM_FAULTS_H

#include <stdint.h>

struct sim_scene;

struct sim_scene *sim_scene_new(uint64_t seed);
void sim_scene_free(struct sim_scene *scene);

/* When nothing happens any more: has everybody come to an end? */
void sim_scene_judge(struct sim_scene *scene);

void sim_scene_count(const struct sim_scene *scene, uint64_t *lives,
		     uint64_t *writes, uint64_t *reads, uint64_t *flushes,
		     uint64_t *losses);

#endif
