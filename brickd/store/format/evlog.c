// SPDX-License-Identifier: BSD-2-Clause
/* The event log: a ring of checksummed entries. */
#include <string.h>

#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/evlog.h"
#include "kfb_endian.h"

#define SUM_BYTES offsetof(struct brick_fmt_event, crc)

static uint64_t entry_off(uint64_t seq)
{
	return BRICK_FMT_EVENTS + (seq - 1) % BRICK_FMT_EVENTS_MAX *
					  sizeof(struct brick_fmt_event);
}

static uint32_t entry_sum(const struct brick_super *sb,
			  const struct brick_fmt_event *raw)
{
	__le32 salt;

	kfb_put_le32(&salt, sb->salt);
	return brick_crc32c(brick_crc32c(0, &salt, sizeof(salt)), raw,
			    SUM_BYTES);
}

bool brick_evlog_get(const struct brick_media *m, const struct brick_super *sb,
		     uint64_t seq, struct brick_event *event)
{
	struct brick_fmt_event raw;

	memcpy(&raw, m->base + entry_off(seq), sizeof(raw));
	if (kfb_get_le32(&raw.crc) != entry_sum(sb, &raw) ||
	    kfb_get_le64(&raw.seq) != seq)
		return false;
	event->seq = seq;
	event->time_ns = kfb_get_le64(&raw.time_ns);
	event->kind = kfb_get_le32(&raw.kind);
	event->copy = kfb_get_le32(&raw.copy);
	event->slot = kfb_get_le64(&raw.slot);
	event->va = kfb_get_le64(&raw.va);
	event->detail = kfb_get_le64(&raw.detail);
	return true;
}

uint64_t brick_evlog_last(const struct brick_media *m,
			  const struct brick_super *sb)
{
	const uint8_t *entries = m->base + BRICK_FMT_EVENTS;
	struct brick_fmt_event raw;
	uint64_t i, seq, last = 0;

	for (i = 0; i < BRICK_FMT_EVENTS_MAX; i++) {
		memcpy(&raw, entries + i * sizeof(raw), sizeof(raw));
		seq = kfb_get_le64(&raw.seq);
		if (seq > last && (seq - 1) % BRICK_FMT_EVENTS_MAX == i &&
		    kfb_get_le32(&raw.crc) == entry_sum(sb, &raw))
			last = seq;
	}
	return last;
}

void brick_evlog_put(struct brick_media *m, const struct brick_super *sb,
		     const struct brick_event *event)
{
	uint64_t off = entry_off(event->seq);
	struct brick_fmt_event raw;

	memset(&raw, 0, sizeof(raw));
	kfb_put_le64(&raw.seq, event->seq);
	kfb_put_le64(&raw.time_ns, event->time_ns);
	kfb_put_le32(&raw.kind, event->kind);
	kfb_put_le32(&raw.copy, event->copy);
	kfb_put_le64(&raw.slot, event->slot);
	kfb_put_le64(&raw.va, event->va);
	kfb_put_le64(&raw.detail, event->detail);
	kfb_put_le32(&raw.crc, entry_sum(sb, &raw));
	m->ops->copy(m, off, &raw, sizeof(raw));
	m->ops->flush(m, off, sizeof(raw));
}

bool brick_evlog_is_whole(const struct brick_media *m,
			  const struct brick_super *sb, unsigned int index)
{
	struct brick_fmt_event raw;
	uint64_t seq;

	memcpy(&raw, m->base + entry_off(index + 1), sizeof(raw));
	seq = kfb_get_le64(&raw.seq);
	if (brick_all_zero(&raw, sizeof(raw)))
		return true;
	return seq && (seq - 1) % BRICK_FMT_EVENTS_MAX == index &&
	       kfb_get_le32(&raw.crc) == entry_sum(sb, &raw);
}

void brick_evlog_erase(struct brick_media *m, unsigned int index)
{
	m->ops->zero(m, entry_off(index + 1), sizeof(struct brick_fmt_event));
	m->ops->flush(m, entry_off(index + 1), sizeof(struct brick_fmt_event));
}
