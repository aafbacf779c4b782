// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: stock tcp as if closing a registration were a fence, on a
 * device that takes its time: while the file named by SLOW_DEVICE exists, no
 * registration closes.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "brickd/net/fabric.h"

#define PAUSE_NS 1000000

int __real_brick_fabric_listen(struct brick_fabric *f, char *err,
			       size_t err_len);
int __wrap_brick_fabric_listen(struct brick_fabric *f, char *err,
			       size_t err_len);
int __real_brick_fabric_dereg(struct brick_region *region, const char *who);
int __wrap_brick_fabric_dereg(struct brick_region *region, const char *who);

int __wrap_brick_fabric_listen(struct brick_fabric *f, char *err,
			       size_t err_len)
{
	f->mr_fences = true;
	return __real_brick_fabric_listen(f, err, err_len);
}

int __wrap_brick_fabric_dereg(struct brick_region *region, const char *who)
{
	const char *file = getenv("SLOW_DEVICE");

	while (file && !access(file, F_OK))
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	return __real_brick_fabric_dereg(region, who);
}
