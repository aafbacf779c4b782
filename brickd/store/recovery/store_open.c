// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening and closing a store.
 *
 * Nothing is written before it is certain that the store is ours to open: the
 * right one, of a version we know, and held by no living process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/media/media_mark.h"
#include "brickd/media/media_say.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/recovery/poison.h"
#include "brickd/store/recovery/recover.h"

/* The slow tier that the superblock names, or none. */
static int check_slow(const struct brick_store *s, bool *damaged, char *err,
		      size_t err_len)
{
	int ret;

	*damaged = false;
	if (s->sb.n_slow && !s->slow) {
		brick_media_say(err, err_len,
				"%s: the store has a slow tier: name it with "
				"slow = PATH",
				s->m->path);
		return -EINVAL;
	}
	if (!s->sb.n_slow && s->slow) {
		brick_media_say(err, err_len,
				"%s: the store has no slow tier, %s is none of "
				"its; leave slow out, or format with --slow",
				s->m->path, s->slow->path);
		return -EINVAL;
	}
	if (!s->slow)
		return 0;
	ret = brick_slow_check(s->slow, &s->sb, damaged, err, err_len);
	return ret ? ret : brick_slow_keeps(s->slow, s->m, err, err_len);
}

/* What one of two copies was found to be. */
struct damage {
	bool super;
	bool inst;
	bool slow;
};

/* Read everything that can refuse, before anything is written. */
static int read_formats(struct brick_store *s, const struct brick_store_open *o,
			struct damage *bad, char *err, size_t err_len)
{
	int ret;

	ret = brick_super_read(s->m, &s->sb, &bad->super, err, err_len);
	if (ret)
		return ret;
	if (o->expect_uuid &&
	    memcmp(o->expect_uuid, s->sb.uuid, sizeof(s->sb.uuid)) != 0) {
		brick_media_say(err, err_len,
				"%s: another store than the configured uuid "
				"names",
				s->m->path);
		return -EINVAL;
	}
	ret = brick_instance_read(s->m, &s->sb, &s->inst, &s->inst_copy,
				  &bad->inst);
	if (ret) {
		brick_media_say(err, err_len,
				"%s: corrupt: both instance pages are damaged",
				s->m->path);
		return ret;
	}
	s->inst_safe = s->inst_copy;
	if (!brick_instance_is_held(&s->inst, o->boot_id)) {
		ret = brick_store_past(s, o, err, err_len);
		return ret ? ret : check_slow(s, &bad->slow, err, err_len);
	}
	brick_media_say(err, err_len,
			"%s: in use by process %u, which is still running; "
			"stop it first",
			s->m->path, s->inst.pid);
	return -EBUSY;
}

/* Both pages, the older one first: at each moment one is whole. */
static int write_instance(struct brick_store *s)
{
	unsigned int i;
	int ret;

	s->inst.seq++;
	for (i = 0; i < BRICK_FMT_COPIES; i++) {
		s->inst_copy = (s->inst_copy + 1) % BRICK_FMT_COPIES;
		brick_instance_put(s->m, &s->sb, s->inst_copy, &s->inst);
		ret = brick_store_fence(s);
		if (ret)
			return ret;
		s->inst_safe = s->inst_copy;
	}
	return 0;
}

static int take_hold(struct brick_store *s, const struct brick_store_open *o)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t start_time = 0;
	bool new_epoch = s->recovery.epoch_why;
	int ret;

	ret = brick_process_start_time(pid, &start_time);
	if (ret)
		return -EIO;
	brick_store_begin_inherited(s, new_epoch);
	if (new_epoch) {
		s->inst.power_epoch++;
		brick_store_note(s, BRICK_EVENT_NEW_POWER_EPOCH, 0, 0,
				 s->inst.power_epoch);
	}
	memcpy(s->inst.boot_id, o->boot_id, sizeof(s->inst.boot_id));
	s->inst.instance_id = o->instance_id;
	s->inst.start_time = start_time;
	s->inst.pid = pid;
	s->inst.clean = false;
	s->inst.dirty_shutdowns_known = o->dirty_shutdowns_known;
	s->inst.dirty_shutdowns = o->dirty_shutdowns;
	s->inst.fs_id = s->m->past.fs_id;
	ret = write_instance(s);
	/* The medium tells now what the marks told. */
	if (!ret && s->m->mark) {
		brick_mark_loss_told(s->m->past.fs_id, s->sb.uuid);
		brick_mark_clear(s->m->mark);
		brick_mark_clear_cold(s->m->mark);
	}
	s->is_open = !ret;
	return ret;
}

int brick_store_make_room(struct brick_store *s)
{
	int ret;

	s->spare = (s->sb.n_slow + BRICK_SPARE_PART - 1) / BRICK_SPARE_PART;
	if (s->spare > BRICK_SPARE_MAX)
		s->spare = BRICK_SPARE_MAX;
	ret = brick_slots_init(&s->slots, s->sb.n);
	if (!ret)
		ret = brick_slots_init(&s->slow_slots, s->sb.n_slow);
	if (!ret)
		ret = brick_lru_init(&s->at_rest, s->slow ? s->sb.n : 0);
	return ret;
}

static int repair_headers(struct brick_store *s, const struct damage *bad,
			  char *err, size_t err_len)
{
	if (bad->super) {
		brick_store_note(s, BRICK_EVENT_SUPER_REPAIRED, 0, 0, 0);
		if (brick_super_repair(s->m, &s->sb))
			return -EIO;
	}
	if (!bad->slow)
		return 0;
	brick_store_note(s, BRICK_EVENT_SLOW_REPAIRED, 0, 0, 0);
	if (!brick_slow_repair(s->slow, &s->sb))
		return 0;
	brick_media_say(err, err_len,
			"%s: a damaged header of the slow tier cannot be "
			"written",
			s->slow->path);
	return -EIO;
}

static int recover_store(struct brick_store *s,
			 const struct brick_store_open *o, char *err,
			 size_t err_len)
{
	struct damage bad;
	int ret;

	ret = read_formats(s, o, &bad, err, err_len);
	if (ret)
		return ret;
	ret = brick_store_make_room(s);
	/* What a killed instance had stored, and this one's batches count on. */
	if (!ret && s->m->granularity != BRICK_GRANULARITY_BYTE) {
		brick_super_write_back(s->m, &s->sb);
		ret = brick_store_fence(s);
	}
	if (!ret)
		ret = repair_headers(s, &bad, err, err_len);
	if (ret)
		return ret;
	if (brick_instance_has_failed(&s->inst))
		brick_store_note(s, BRICK_EVENT_WRITES_LOST, 0, 0, 0);
	if (bad.inst)
		brick_store_note(s, BRICK_EVENT_INSTANCE_REPAIRED,
				 !s->inst_copy, 0, 0);
	ret = brick_store_recover(s, err, err_len);
	if (!ret)
		ret = brick_store_poison(s, o->bad, o->n_bad);
	if (ret)
		return ret;
	return take_hold(s, o);
}

struct brick_store *brick_store_new(struct brick_media *m,
				    struct brick_slow *slow)
{
	struct brick_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->m = m;
	s->slow = slow;
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->cleaned, NULL);
	brick_store_fences_init(s);
	brick_index_init(&s->index);
	brick_owners_init(&s->owners);
	return s;
}

void brick_store_discard(struct brick_store *s)
{
	brick_index_fini(&s->index);
	brick_owners_fini(&s->owners);
	free(s->lost);
	brick_lru_fini(&s->at_rest);
	brick_slots_fini(&s->slots);
	brick_slots_fini(&s->slow_slots);
	brick_store_fences_fini(s);
	(void)pthread_cond_destroy(&s->cleaned);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

int brick_store_open(struct brick_media *m, const struct brick_store_open *o,
		     struct brick_store **out, char *err, size_t err_len)
{
	struct brick_store *s = brick_store_new(m, o->slow);
	int ret;

	if (!s) {
		brick_media_say(err, err_len, "%s: not enough memory", m->path);
		return -ENOMEM;
	}
	brick_media_say(err, err_len, "%s: the medium failed", m->path);
	ret = recover_store(s, o, err, err_len);
	if (ret == -ENOMEM)
		brick_media_say(err, err_len, "%s: not enough memory", m->path);
	if (ret) {
		brick_store_discard(s);
		return ret;
	}
	*out = s;
	return 0;
}

int brick_store_close(struct brick_store *s, bool clean)
{
	int ret = -EIO;

	if (!brick_store_has_failed(s)) {
		s->inst.pid = 0;
		s->inst.start_time = 0;
		s->inst.clean = clean && !brick_store_has_inherited(s);
		ret = write_instance(s);
	}
	brick_store_discard(s);
	return ret;
}
