/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scene: who is in a world, what they are like, and what befalls them; all of
 * it chosen by the seed.
 */
#ifndef TESTS_SIM_FAULTS_H
#define TESTS_SIM_FAULTS_H

#include <stdint.h>

struct sim_scene;

/*
 * A scene of a seed. Of its faults, at most 64, those happen whose bit is set in
 * @faults.
 */
struct sim_scene *sim_scene_new(uint64_t seed, uint64_t faults);
void sim_scene_free(struct sim_scene *scene);

/* Which there are; and one line for each of some. */
uint64_t sim_scene_faults(const struct sim_scene *scene);
void sim_scene_print(const struct sim_scene *scene, uint64_t faults);

/* Where all scenes so far have been. */
void sim_scene_print_coverage(void);

/* When nothing happens any more: has everybody come to an end? */
void sim_scene_check(struct sim_scene *scene);

void sim_scene_count(const struct sim_scene *scene, uint64_t *lives,
		     uint64_t *writes, uint64_t *reads, uint64_t *flushes,
		     uint64_t *losses);

#endif
