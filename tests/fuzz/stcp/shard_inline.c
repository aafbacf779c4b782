// SPDX-License-Identifier: BSD-2-Clause
/*
 * stcp's shards without threads, in place of shard.c: there is one source, and
 * the fuzzer says when its time is. So an input does the same each time, and
 * waits for nobody.
 *
 * Context: one thread.
 */
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "kfabric/user/impl.h"
#include "kfabric/user/stcp.h"
#include "shard_inline.h"

struct stcp_shard {
	struct stcp_source *watched;
	uint32_t events;
	uint8_t stage[STCP_STAGE_BYTES];
};

static struct stcp_shard the_shard;

int stcp_shards_get(void)
{
	return 0;
}

void stcp_shards_put(void)
{
}

unsigned int stcp_generation(void)
{
	return 0;
}

uint64_t stcp_now_ms(void)
{
	return 1;
}

void stcp_shard_assign(struct stcp_source *source)
{
	source->shard = &the_shard;
}

int stcp_shard_watch(struct stcp_source *source, uint32_t events)
{
	the_shard.watched = source;
	the_shard.events = events;
	return 0;
}

void stcp_shard_change(struct stcp_source *source, uint32_t events)
{
	if (the_shard.watched == source)
		the_shard.events = events;
}

void stcp_shard_call(struct stcp_shard *shard, void (*function)(void *arg),
		     void *arg)
{
	function(arg);
}

void stcp_shard_mute(struct stcp_source *source)
{
	source->deadline_ms = 0;
	if (the_shard.watched == source)
		the_shard.watched = NULL;
}

void stcp_shard_forget(struct stcp_source *source)
{
	stcp_shard_mute(source);
}

void stcp_shard_deadline(struct stcp_source *source, uint64_t ms)
{
	source->deadline_ms = ms;
}

uint8_t *stcp_shard_stage(struct stcp_source *source)
{
	return source->shard->stage;
}

void shard_inline_serve(void)
{
	struct stcp_source *source = the_shard.watched;
	struct pollfd fd;

	if (!source)
		return;
	fd = (struct pollfd){ .fd = source->fd,
			      .events = (short)the_shard.events };
	if (poll(&fd, 1, 0) > 0)
		source->ready(source, (uint32_t)fd.revents);
}

void shard_inline_late(void)
{
	struct stcp_source *source = the_shard.watched;

	if (!source || !source->deadline_ms)
		return;
	source->deadline_ms = 0;
	source->late(source);
}

bool shard_inline_idle(void)
{
	return !the_shard.watched;
}
