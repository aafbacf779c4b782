// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writing an empty store.
 *
 * The magic is erased first and written last, each behind a fence: an
 * interrupted format leaves something that no one takes for a store.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "brickd/media/media_mark.h"
#include "brickd/media/media_say.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/store_impl.h"

#define FIRST_EPOCH 1

static int check_slow_size(const struct brick_store_format *f, uint64_t n_slow,
			   char *err, size_t err_len)
{
	bool empty;
	int ret;

	if (!n_slow || n_slow > BRICK_SLOTS_MAX) {
		brick_media_say(err, err_len,
				"%s: too small: %llu bytes, a slow tier needs "
				"at least 4 MiB",
				f->slow->path,
				(unsigned long long)f->slow->size);
		return -ENOSPC;
	}
	ret = brick_slow_is_empty(f->slow, &empty);
	if (ret) {
		brick_media_say(err, err_len, "%s: cannot read: %s",
				f->slow->path, strerror(-ret));
		return ret;
	}
	if (f->force || empty)
		return 0;
	brick_media_say(err, err_len,
			"%s: holds data already; --force overwrites it",
			f->slow->path);
	return -EEXIST;
}

static int check_target(const struct brick_media *m,
			const struct brick_store_format *f,
			struct brick_super *sb, char *err, size_t err_len)
{
	uint64_t n_slow = f->slow ? brick_slow_room(f->slow) : 0;
	int ret;

	if (f->slow) {
		ret = brick_slow_keeps(f->slow, m, err, err_len);
		if (!ret)
			ret = check_slow_size(f, n_slow, err, err_len);
		if (ret)
			return ret;
	}
	if (brick_super_plan(m->size, n_slow, sb)) {
		brick_media_say(err, err_len,
				"%s: too small: %llu bytes, a store needs at "
				"least 4 MiB, and 64 bytes for each 2 MiB of "
				"a slow tier",
				m->path, (unsigned long long)m->size);
		return -ENOSPC;
	}
	if (f->force || brick_all_zero(m->base, BRICK_FMT_TABLES))
		return 0;
	brick_media_say(err, err_len,
			"%s: holds data already; --force overwrites it",
			m->path);
	return -EEXIST;
}

static void write_table(struct brick_media *m, const struct brick_super *sb,
			uint64_t first, uint64_t n, bool is_zero)
{
	struct brick_word w = { .state = is_zero ? BRICK_CLEAN : BRICK_DIRTY };
	struct brick_payload none = { .id = 0 };
	uint64_t slot;

	for (slot = first; slot < first + n; slot++) {
		brick_record_put_payload(m, sb, BRICK_COPY_BOTH, slot, &none);
		brick_record_put_word(m, sb, BRICK_COPY_BOTH, slot, w);
	}
	brick_record_flush(m, sb, BRICK_COPY_BOTH, first, n);
}

static int write_pages(struct brick_media *m, const struct brick_super *sb)
{
	struct brick_instance inst = {
		.seq = 1,
		.clean = true,
		.power_epoch = FIRST_EPOCH,
	};
	uint64_t fixed = BRICK_FMT_TABLES - BRICK_FMT_COMMIT;
	unsigned int copy;
	int ret;

	m->ops->zero(m, BRICK_FMT_COMMIT, fixed);
	m->ops->flush(m, BRICK_FMT_COMMIT, fixed);
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		brick_instance_put(m, sb, copy, &inst);
		ret = m->ops->drain(m);
		if (ret)
			return ret;
	}
	brick_commit_write(m, sb, 0);
	return 0;
}

static int write_store(struct brick_media *m, const struct brick_super *sb,
		       struct brick_slow *slow)
{
	int ret;

	ret = brick_super_erase(m);
	/* The slow tier gets its new name while the store has none. */
	if (!ret && slow)
		ret = brick_slow_write_header(slow, sb);
	if (!ret)
		ret = write_pages(m, sb);
	if (ret)
		return ret;
	write_table(m, sb, 0, sb->n, m->fresh_is_zero);
	if (slow)
		write_table(m, sb, BRICK_SLOT_SLOW, sb->n_slow,
			    slow->fresh_is_zero);
	ret = m->ops->drain(m);
	if (ret)
		return ret;
	return brick_super_write(m, sb);
}

int brick_store_format(struct brick_media *m,
		       const struct brick_store_format *f, char *err,
		       size_t err_len)
{
	struct brick_super sb = { .seq = 1 };
	int ret;

	ret = check_target(m, f, &sb, err, err_len);
	if (ret)
		return ret;
	memcpy(sb.uuid, f->uuid, sizeof(sb.uuid));
	if (getrandom(&sb.salt, sizeof(sb.salt), 0) != sizeof(sb.salt) ||
	    (f->slow && getrandom(sb.slow_uuid, sizeof(sb.slow_uuid), 0) !=
				sizeof(sb.slow_uuid))) {
		brick_media_say(err, err_len, "%s: no random bytes", m->path);
		return -EIO;
	}
	ret = write_store(m, &sb, f->slow);
	/* Whoever formats it again cannot know what was written since. */
	m->fresh_is_zero = false;
	if (f->slow)
		f->slow->fresh_is_zero = false;
	/* What was lost was another store's. */
	if (!ret && m->mark)
		brick_mark_clear(m->mark);
	if (!ret)
		return 0;
	brick_media_say(err, err_len, "%s: cannot write: %s", m->path,
			strerror(-ret));
	return -EIO;
}
