// SPDX-License-Identifier: BSD-2-Clause
/* Marks in a log of writes: see mark.h. */
#include "mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define CONTROL	   "/dev/mapper/control"
#define TEXT_BYTES 64
/* The oldest interface that has messages for targets. */
#define DM_MAJOR 4

/* As the device mapper wants it, in one piece: a dm_target_msg, then its text. */
struct message {
	struct dm_ioctl head;
	_Alignas(struct dm_target_msg) char target[sizeof(struct dm_target_msg) +
						   TEXT_BYTES];
};

int marks_open(struct marks *m, const char *name)
{
	struct message unused;

	if (strlen(name) >= sizeof(unused.head.name))
		return -ENAMETOOLONG;
	m->name = name;
	m->fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	return m->fd < 0 ? -errno : 0;
}

int marks_put(const struct marks *m, uint64_t number)
{
	struct message msg = {
		.head = {
			.version = { DM_MAJOR },
			.data_size = sizeof(msg),
			.data_start = offsetof(struct message, target),
		},
	};

	memcpy(msg.head.name, m->name, strlen(m->name));
	(void)snprintf(msg.target + offsetof(struct dm_target_msg, message),
		       TEXT_BYTES, "mark %" PRIu64, number);
	return ioctl(m->fd, DM_TARGET_MSG, &msg) ? -errno : 0;
}
