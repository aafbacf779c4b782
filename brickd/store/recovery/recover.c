// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recovery: from the bytes that a crash left to a store that may serve.
 *
 * The commit word is whole before a record is touched. The scan only reads
 * and collects; then payloads are rewritten, fenced, and only then the state
 * words that make someone look at them. A crash inside recovery leaves a
 * state that the same rules read in the same way.
 *
 * Context: one thread, before the store has any reader.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/media/media_say.h"
#include "brickd/store/dram/sort.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/recovery/copies.h"
#include "brickd/store/recovery/recover.h"

#define FIX_CHUNK 1024U

struct fix {
	uint64_t slot;
	struct brick_verdict v;
};

struct scan {
	struct brick_id *ids;
	uint64_t n_ids;
	struct fix *fixes;
	uint64_t n_fixes;
	uint64_t cap_fixes;
};

static int add_fix(struct scan *sc, uint64_t slot,
		   const struct brick_verdict *v)
{
	if (sc->n_fixes == sc->cap_fixes) {
		uint64_t cap = sc->cap_fixes ? 2 * sc->cap_fixes : FIX_CHUNK;
		struct fix *more = realloc(sc->fixes, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sc->fixes = more;
		sc->cap_fixes = cap;
	}
	sc->fixes[sc->n_fixes].slot = slot;
	sc->fixes[sc->n_fixes++].v = *v;
	return 0;
}

static int add_slot(struct brick_store *s, struct scan *sc, uint64_t slot,
		    const struct brick_verdict *v)
{
	struct brick_slot_run run = { .slot = brick_slot_number(slot), .n = 1 };
	struct brick_slots *slots = brick_slots_of(s, slot);
	int ret;

	switch (v->state) {
	case BRICK_CLEAN:
		brick_slot_map_give(&slots->clean, run);
		break;
	case BRICK_DIRTY:
		brick_slot_map_give(&slots->dirty, run);
		break;
	case BRICK_ALLOC:
		ret = brick_owners_reserve(&s->owners, v->payload.owner);
		if (ret)
			return ret;
		brick_owners_add(&s->owners, v->payload.owner, 1);
		sc->ids[sc->n_ids++] =
			brick_id_of(brick_key(v->payload.id), slot);
		break;
	default:
		slots->n_bad++;
		break;
	}
	return 0;
}

static int scan_table(struct brick_store *s, struct scan *sc, uint64_t first,
		      uint64_t n)
{
	struct brick_verdict v;
	uint64_t slot;
	int ret;

	for (slot = first; slot < first + n; slot++) {
		brick_copies_validate(s->m, &s->sb, s->tx, slot, &v);
		ret = add_slot(s, sc, slot, &v);
		if (!ret && !v.settled)
			ret = add_fix(sc, slot, &v);
		if (ret)
			return ret;
	}
	return 0;
}

static const char *tier_of(const struct brick_id *id)
{
	return id->key_hi & BRICK_ID_SLOW ? " of the slow tier" : "";
}

/* No crash makes two records of one block: then nothing here is certain. */
static int sort_ids(const struct brick_store *s, struct scan *sc, char *err,
		    size_t err_len)
{
	struct brick_id *tmp = malloc((sc->n_ids + 1) * sizeof(*tmp));
	uint64_t i;

	if (!tmp)
		return -ENOMEM;
	brick_id_sort(sc->ids, tmp, sc->n_ids);
	free(tmp);
	for (i = 1; i < sc->n_ids; i++) {
		if (brick_id_key(&sc->ids[i - 1]) != brick_id_key(&sc->ids[i]))
			continue;
		brick_media_say(err, err_len,
				"%s: corrupt: slots %u%s and %u%s both hold "
				"address 0x%llx; restore from a copy",
				s->m->path, sc->ids[i - 1].slot,
				tier_of(&sc->ids[i - 1]), sc->ids[i].slot,
				tier_of(&sc->ids[i]),
				(unsigned long long)brick_va(
					brick_id_key(&sc->ids[i])));
		return -EUCLEAN;
	}
	return 0;
}

static void fix_payload(struct brick_store *s, unsigned int copy,
			const struct fix *fix)
{
	const struct brick_payload *want = &fix->v.payload;
	struct brick_payload is;

	if (fix->v.state != BRICK_ALLOC)
		return;
	if (brick_record_get_payload(s->m, &s->sb, copy, fix->slot, &is) &&
	    brick_payload_equal(&is, want))
		return;
	brick_record_put_payload(s->m, &s->sb, BRICK_COPY(copy), fix->slot,
				 want);
	brick_record_flush(s->m, &s->sb, BRICK_COPY(copy), fix->slot, 1);
}

static void fix_word(struct brick_store *s, unsigned int copy,
		     const struct fix *fix)
{
	struct brick_word want = { .state = fix->v.state };
	struct brick_word is;

	if (brick_record_get_word(s->m, &s->sb, copy, fix->slot, &is) &&
	    is.state == want.state && is.tx == want.tx)
		return;
	brick_record_put_word(s->m, &s->sb, BRICK_COPY(copy), fix->slot, want);
	brick_record_flush(s->m, &s->sb, BRICK_COPY(copy), fix->slot, 1);
}

static int apply_fixes(struct brick_store *s, const struct scan *sc)
{
	unsigned int copy;
	uint64_t i;
	int ret;

	if (!sc->n_fixes)
		return 0;
	for (i = 0; i < sc->n_fixes; i++) {
		const struct fix *fix = &sc->fixes[i];

		if (fix->v.state == BRICK_BAD && fix->v.damaged) {
			s->recovery.records_bad++;
			brick_store_note(s, BRICK_EVENT_BAD_SLOT, 0, fix->slot,
					 0);
		} else if (fix->v.damaged) {
			brick_store_note(s, BRICK_EVENT_RECORD_REPAIRED,
					 fix->v.damaged >> 1, fix->slot, 0);
		} else {
			s->recovery.records_resolved++;
		}
		for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
			fix_payload(s, copy, &sc->fixes[i]);
	}
	ret = brick_store_fence(s);
	if (ret)
		return ret;
	for (i = 0; i < sc->n_fixes; i++)
		for (copy = 0; copy < BRICK_FMT_COPIES; copy++)
			fix_word(s, copy, &sc->fixes[i]);
	return brick_store_fence(s);
}

static int fill_index(struct brick_store *s, const struct scan *sc)
{
	uint64_t i;
	int ret;

	for (i = 0; i < sc->n_ids; i++) {
		const struct brick_id *id = &sc->ids[i];
		uint64_t slot = brick_id_slot(id);

		ret = brick_index_put(&s->index, brick_id_key(id), slot);
		if (ret)
			return ret;
		if (brick_slot_is_slow(slot))
			s->n_alloc_slow++;
		else
			brick_lru_touch(&s->at_rest, slot);
	}
	s->n_alloc = sc->n_ids;
	return 0;
}

static int read_commit(struct brick_store *s, char *err, size_t err_len)
{
	bool differ, invalid;
	int ret;

	ret = brick_commit_read(s->m, &s->sb, &s->tx, &differ, &invalid);
	if (ret) {
		brick_media_say(err, err_len,
				"%s: corrupt: both commit words are damaged",
				s->m->path);
		return ret;
	}
	if (!differ)
		return 0;
	if (invalid)
		brick_store_note(s, BRICK_EVENT_COMMIT_REPAIRED, 0, 0, s->tx);
	brick_commit_write(s->m, &s->sb, s->tx);
	return brick_store_fence(s);
}

int brick_store_recover(struct brick_store *s, char *err, size_t err_len)
{
	struct scan sc = { 0 };
	int ret;

	ret = read_commit(s, err, err_len);
	if (ret)
		return ret;
	sc.ids = malloc((s->sb.n + s->sb.n_slow) * sizeof(*sc.ids));
	if (!sc.ids)
		return -ENOMEM;
	ret = scan_table(s, &sc, 0, s->sb.n);
	if (!ret)
		ret = scan_table(s, &sc, BRICK_SLOT_SLOW, s->sb.n_slow);
	if (!ret)
		ret = sort_ids(s, &sc, err, err_len);
	if (!ret)
		ret = apply_fixes(s, &sc);
	if (!ret)
		ret = fill_index(s, &sc);
	free(sc.fixes);
	free(sc.ids);
	brick_store_count(s);
	return ret;
}
