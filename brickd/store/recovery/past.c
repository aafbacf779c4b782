// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether writes that were placed and not flushed may be gone.
 *
 * Behind a page cache that is not the power's matter alone. A failed sync leaves
 * a mark, on the medium or off it (failure.c). A brickd that is killed while it
 * syncs takes the answer with it, and the kernel's own writing back may fail
 * while no brickd runs: then the file system still knows, if it is asked before
 * anybody else asks; what one brickd hears is noted for the others whose stores
 * lie on it. Unmounting ends that, too: so it must be the same mount.
 * Where a file system has no number for it, something of the file must still be
 * in memory. docs/durability.md says what nobody can find out.
 *
 * Context: brick_store_open().
 */
#include <errno.h>
#include <string.h>

#include "brickd/media/media_mark.h"
#include "brickd/media/media_say.h"
#include "brickd/store/recovery/recover.h"

static const char why_failed[] = "making it durable had failed";

/* The last one was killed under this very kernel. */
static const char *compare_file_system(const struct brick_store *s)
{
	const struct brick_media *m = s->m;

	if (m->ops->lost(s->m)) {
		(void)brick_mark_loss(m->past.fs_id);
		return "its file system has lost writes";
	}
	if (brick_mark_has_loss(m->past.fs_id, s->sb.uuid))
		return "its file system has lost writes, as was told to "
		       "another brickd";
	if (s->inst.fs_id && m->past.fs_id)
		return s->inst.fs_id == m->past.fs_id
			       ? NULL
			       : "its file system was mounted anew after a "
				 "stop that was not clean";
	return m->past.was_cached
		       ? NULL
		       : "nothing of it was in memory any more after a stop "
			 "that was not clean";
}

/* Something was not written, or may not have been, and Linux has forgotten. */
static const char *look_at_writes(struct brick_store *s,
				  const struct brick_store_open *o)
{
	const struct brick_media *m = s->m;
	bool failed = brick_instance_has_failed(&s->inst) ||
		      (m->mark && brick_mark_is_set(m->mark));
	const char *why;

	/* After a failure, too: else its error would be told after the next. */
	if (!m->ops->lost || s->inst.clean ||
	    (!failed &&
	     memcmp(s->inst.boot_id, o->boot_id, sizeof(s->inst.boot_id)) != 0))
		return failed ? why_failed : NULL;
	/* Who is killed while it asks takes the answer with it. */
	if (!failed && m->mark)
		(void)brick_mark_set(m->mark, "a start that asked its file "
					      "system was cut short");
	why = compare_file_system(s);
	if (failed) {
		/* It may have been cut short: then this was its answer. */
		(void)brick_mark_loss(m->past.fs_id);
		return why_failed;
	}
	if (!m->mark)
		return why;
	/* Nobody is told twice, and this start may still be refused, or killed. */
	if (!why)
		brick_mark_clear(m->mark);
	else if (brick_mark_set(m->mark, why))
		(void)brick_store_mark_medium(s);
	return why;
}

static const char *look_at_power(const struct brick_store *s,
				 const struct brick_store_open *o)
{
	bool rebooted = memcmp(s->inst.boot_id, o->boot_id,
			       sizeof(s->inst.boot_id)) != 0;

	if (s->m->is_volatile)
		return "the medium is volatile";
	if (rebooted && !s->inst.clean)
		return "the host was started anew after a stop that was not "
		       "clean";
	if (o->dirty_shutdowns_known && s->inst.dirty_shutdowns_known &&
	    o->dirty_shutdowns > s->inst.dirty_shutdowns)
		return "the platform counted a dirty shutdown";
	return NULL;
}

int brick_store_is_known(const struct brick_media *m, const char *why,
			 char *err, size_t err_len)
{
	if (!m->past.is_unknown)
		return 0;
	brick_media_say(err, err_len,
			"%s: %s, and what of it is in memory cannot be "
			"compared with the medium; end who has the file "
			"mapped, or unmount its file system and mount it again",
			m->path, why);
	return -EIO;
}

int brick_store_past(struct brick_store *s, const struct brick_store_open *o,
		     char *err, size_t err_len)
{
	const char *why = look_at_writes(s, o);

	s->recovery.was_clean = s->inst.clean;
	s->recovery.epoch_why = why ? why : look_at_power(s, o);
	return why ? brick_store_is_known(s->m, why, err, err_len) : 0;
}
