// SPDX-License-Identifier: BSD-2-Clause
/* One descriptor for many completion queues. */
#include "brickd/net/bell.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "brickd/base/util.h"

void brick_bell_look(struct brick_bell *bell)
{
	struct brick_rope *rope;

	for (;;) {
		pthread_mutex_lock(&bell->lock);
		rope = TAILQ_FIRST(&bell->pulled);
		if (rope) {
			TAILQ_REMOVE(&bell->pulled, rope, link);
			rope->is_pulled = false;
		}
		pthread_mutex_unlock(&bell->lock);
		if (!rope)
			return;
		bell->rung(rope);
	}
}

/* Silent before it looks: who pulls from now on rings again. */
static void bell_ready(struct brick_source *source)
{
	struct brick_bell *bell =
		brick_container_of(source, struct brick_bell, source);
	uint64_t count;

	(void)!read(source->fd, &count, sizeof(count));
	pthread_mutex_lock(&bell->lock);
	bell->is_rung = false;
	pthread_mutex_unlock(&bell->lock);
	brick_bell_look(bell);
}

int brick_bell_init(struct brick_bell *bell,
		    void (*rung)(struct brick_rope *rope))
{
	bell->rung = rung;
	bell->is_rung = false;
	bell->source.ready = bell_ready;
	bell->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell->source.fd < 0)
		return -errno;
	pthread_mutex_init(&bell->lock, NULL);
	TAILQ_INIT(&bell->pulled);
	return 0;
}

void brick_bell_fini(struct brick_bell *bell)
{
	close(bell->source.fd);
	pthread_mutex_destroy(&bell->lock);
}

void brick_bell_pull(struct brick_rope *rope)
{
	struct brick_bell *bell = rope->bell;
	const uint64_t one = 1;
	bool rings = false;

	pthread_mutex_lock(&bell->lock);
	if (!rope->is_pulled) {
		rings = !bell->is_rung;
		bell->is_rung = true;
		TAILQ_INSERT_TAIL(&bell->pulled, rope, link);
		rope->is_pulled = true;
	}
	pthread_mutex_unlock(&bell->lock);
	/* It cannot be full: it was read since it rang last. */
	if (rings)
		(void)!write(bell->source.fd, &one, sizeof(one));
}

void brick_bell_cut(struct brick_rope *rope)
{
	struct brick_bell *bell = rope->bell;

	if (!bell)
		return;
	pthread_mutex_lock(&bell->lock);
	if (rope->is_pulled)
		TAILQ_REMOVE(&bell->pulled, rope, link);
	rope->is_pulled = false;
	pthread_mutex_unlock(&bell->lock);
	rope->bell = NULL;
}
