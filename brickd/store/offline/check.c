// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checking and repairing a store.
 *
 * Looking uses recovery's own rules, brick_copies_validate() above all, so that both
 * agree on what is damage. Repair lets recovery do its work, then does what
 * recovery does not: the log, the instance page, slots that are not as zero as
 * they should be.
 */
#include "brickd/store/offline/check.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/media/media_mark.h"
#include "brickd/media/media_say.h"
#include "brickd/media/progress.h"
#include "brickd/store/dram/sort.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/recovery/copies.h"
#include "brickd/store/recovery/recover.h"

/* A check under way, and what repair will need of it. */
struct look {
	struct brick_media *m;
	struct brick_check *c;
	struct brick_super sb;
	struct brick_instance inst;
	unsigned int inst_copy;
	uint32_t tx;
	bool super_bad;
	bool inst_bad;
	bool events_bad;
	bool zeros_bad;
	bool slow_bad;
	uint8_t *block; /* of the slow tier, while its zeros are looked at */
	struct brick_id *ids;
	uint64_t n_ids;
};

static void report_finding(struct look *k, const struct brick_finding *finding)
{
	k->c->n[finding->grade]++;
	if (k->c->found)
		k->c->found(finding, k->c->arg);
}

static void report_page(struct look *k, const char *name, const char *what,
			enum brick_finding_grade grade, int copy)
{
	const struct brick_finding finding = {
		.name = name,
		.what = what,
		.grade = grade,
		.slot = BRICK_FINDING_NO_SLOT,
		.copy = copy,
	};

	report_finding(k, &finding);
}

static int look_at_instance(struct look *k, char *err, size_t err_len)
{
	bool lost;

	if (brick_instance_read(k->m, &k->sb, &k->inst, &k->inst_copy,
				&k->inst_bad)) {
		report_page(k, "instance-lost",
			    "both instance pages are damaged: nobody knows the "
			    "power epoch any more",
			    BRICK_FINDING_FATAL, -1);
		return 0;
	}
	if (brick_instance_is_held(&k->inst, k->c->boot_id)) {
		brick_media_say(err, err_len,
				"%s: in use by process %u, which is still "
				"running; stop it first",
				k->m->path, k->inst.pid);
		return -EBUSY;
	}
	if (k->inst_bad)
		report_page(k, "instance-damaged",
			    "one instance page is damaged; the other one "
			    "counts",
			    BRICK_FINDING_DAMAGE, !k->inst_copy);
	if (!k->inst.clean)
		report_page(k, "not-clean",
			    "the last stop was not a clean one: the next start "
			    "settles what is unfinished",
			    BRICK_FINDING_NOTE, -1);
	lost = brick_instance_has_failed(&k->inst) ||
	       (k->m->mark && brick_mark_is_set(k->m->mark));
	if (lost)
		report_page(k, "writes-lost",
			    "what clients wrote and did not flush may be gone, "
			    "because making it durable failed: the next start "
			    "tells them",
			    BRICK_FINDING_NOTE, -1);
	/* Records that are only in memory would outlive what they stand for. */
	if (!k->c->repair || (k->inst.clean && !lost))
		return 0;
	return brick_store_is_known(k->m,
				    lost ? "making it durable had failed"
					 : "the last stop was not a clean one",
				    err, err_len);
}

static bool look_at_commit(struct look *k)
{
	bool differ, invalid;

	if (brick_commit_read(k->m, &k->sb, &k->tx, &differ, &invalid)) {
		report_page(k, "commit-lost",
			    "both commit words are damaged: nobody knows which "
			    "batches count",
			    BRICK_FINDING_FATAL, -1);
		return false;
	}
	if (invalid)
		report_page(k, "commit-damaged",
			    "one commit word is damaged; the other one counts",
			    BRICK_FINDING_DAMAGE, -1);
	else if (differ)
		report_page(k, "commit-behind",
			    "a crash came between the two commit words",
			    BRICK_FINDING_NOTE, 1);
	return true;
}

static void look_at_events(struct look *k)
{
	unsigned int i;

	for (i = 0; i < BRICK_FMT_EVENTS_MAX; i++) {
		if (brick_evlog_is_whole(k->m, &k->sb, i))
			continue;
		k->events_bad = true;
		report_page(k, "event-damaged",
			    "an entry of the event log is damaged",
			    BRICK_FINDING_DAMAGE, -1);
	}
}

/* What brickd will say to the slow tier's header. */
static int check_slow_tier(struct look *k)
{
	static const struct {
		const char *name;
		const char *what;
		enum brick_finding_grade grade;
	} as[] = {
		[BRICK_SLOW_HALF] = { "slow-damaged",
				      "one header of the slow tier is damaged; "
				      "the other one counts",
				      BRICK_FINDING_DAMAGE },
		[BRICK_SLOW_NONE] = { "slow-missing",
				      "what was given as the slow tier is none",
				      BRICK_FINDING_FATAL },
		[BRICK_SLOW_LOST] = { "slow-lost",
				      "both headers of the slow tier are "
				      "damaged",
				      BRICK_FINDING_FATAL },
		[BRICK_SLOW_UNKNOWN] = { "slow-unknown",
					 "the slow tier has a format that this "
					 "program does not know",
					 BRICK_FINDING_FATAL },
		[BRICK_SLOW_FOREIGN] = { "slow-foreign",
					 "the slow tier belongs to another "
					 "store, or to an earlier one in this "
					 "place",
					 BRICK_FINDING_FATAL },
		[BRICK_SLOW_SHORT] = { "slow-short",
				       "the slow tier ends before its last "
				       "slot",
				       BRICK_FINDING_FATAL },
	};
	enum brick_slow_sense sense;
	int ret;

	if (!k->sb.n_slow && !k->c->slow)
		return 0;
	if (!k->c->slow) {
		report_page(k, "slow-not-seen",
			    "the store has a slow tier, which was not looked "
			    "at: --slow PATH",
			    BRICK_FINDING_NOTE, -1);
		return 0;
	}
	if (!k->sb.n_slow) {
		report_page(k, "slow-foreign", "the store has no slow tier",
			    BRICK_FINDING_FATAL, -1);
		return 0;
	}
	if (brick_slow_keeps_less(k->c->slow, k->m))
		report_page(k, "slow-volatile",
			    "the slow tier is in memory, and the store is not: "
			    "a loss of power would take the blocks in it",
			    BRICK_FINDING_FATAL, -1);
	ret = brick_slow_look(k->c->slow, &k->sb, &sense);
	if (ret || sense == BRICK_SLOW_WHOLE)
		return ret;
	k->slow_bad = sense == BRICK_SLOW_HALF;
	report_page(k, as[sense].name, as[sense].what, as[sense].grade, -1);
	return 0;
}

static void report_slot(struct look *k, uint64_t slot,
			const struct brick_verdict *v)
{
	struct brick_finding f = {
		.slot = slot,
		.copy = -1,
		.va = v->payload.id,
		.has_va = v->state == BRICK_ALLOC,
	};

	if (v->state == BRICK_BAD && !v->damaged) {
		f.name = "slot-bad";
		f.what = "was given up earlier and is not used";
		f.grade = BRICK_FINDING_NOTE;
	} else if (v->state == BRICK_BAD) {
		f.name = "record-lost";
		f.what = "no copy of its record can be used: if it held a "
			 "block, that is lost";
		f.grade = BRICK_FINDING_LOSS;
	} else if (v->damaged) {
		f.name = "record-damaged";
		f.what = "one copy of its record is damaged; the other one "
			 "counts";
		f.grade = BRICK_FINDING_DAMAGE;
		f.copy = (int)(v->damaged >> 1);
	} else {
		f.name = "record-unsettled";
		f.what = "belongs to a change that a crash cut short";
		f.grade = BRICK_FINDING_NOTE;
	}
	report_finding(k, &f);
}

/* What cannot be read is not known to be zero. */
static bool is_zero(const struct look *k, uint64_t slot)
{
	struct brick_slow *slow = k->c->slow;

	if (brick_slot_is_slow(slot))
		return !slow->ops->read(slow, brick_slow_data(slot), k->block,
					KFB_BLOCK_BYTES) &&
		       brick_all_zero(k->block, KFB_BLOCK_BYTES);
	return brick_all_zero(k->m->base + brick_super_data(&k->sb, slot),
			      KFB_BLOCK_BYTES);
}

static void look_at_zeros(struct look *k, uint64_t slot)
{
	const struct brick_finding finding = {
		.name = "clean-not-zero",
		.what = "is recorded as zero and is not: its next owner would "
			"read these bytes",
		.grade = BRICK_FINDING_DAMAGE,
		.slot = slot,
		.copy = -1,
	};

	if (is_zero(k, slot))
		return;
	k->zeros_bad = true;
	report_finding(k, &finding);
}

static void look_at_table(struct look *k, uint64_t first, uint64_t n)
{
	struct brick_verdict v;
	uint64_t slot;

	for (slot = first; slot < first + n; slot++) {
		brick_progress("checking", k->c->n_slots,
			       k->sb.n + k->sb.n_slow);
		brick_copies_validate(k->m, &k->sb, k->tx, slot, &v);
		k->c->n_slots++;
		if (v.state == BRICK_ALLOC)
			k->ids[k->n_ids++] =
				brick_id_of(brick_key(v.payload.id), slot);
		if (v.state == BRICK_CLEAN && k->c->read_clean &&
		    (!brick_slot_is_slow(slot) || k->block))
			look_at_zeros(k, slot);
		if (!v.settled || v.state == BRICK_BAD)
			report_slot(k, slot, &v);
	}
}

static void look_for_twins(struct look *k)
{
	struct brick_finding finding = {
		.name = "address-twice",
		.what = "holds an address that another slot holds too",
		.grade = BRICK_FINDING_FATAL,
		.copy = -1,
		.has_va = true,
	};
	uint64_t i;

	for (i = 1; i < k->n_ids; i++) {
		const struct brick_id *id = &k->ids[i];

		if (brick_id_key(id) != brick_id_key(id - 1))
			continue;
		finding.va = brick_va(brick_id_key(id));
		finding.slot = brick_id_slot(id);
		report_finding(k, &finding);
	}
}

static int look_at_records(struct look *k)
{
	uint64_t n = k->sb.n + k->sb.n_slow;
	struct brick_id *tmp = malloc((n + 1) * sizeof(*tmp));

	k->ids = malloc((n + 1) * sizeof(*k->ids));
	/* Nothing is read of a slow tier that is not this store's. */
	if (k->c->slow && k->c->read_clean && !k->c->n[BRICK_FINDING_FATAL])
		k->block = aligned_alloc(BRICK_FMT_PAGE, KFB_BLOCK_BYTES);
	if (tmp && k->ids) {
		look_at_table(k, 0, k->sb.n);
		look_at_table(k, BRICK_SLOT_SLOW, k->sb.n_slow);
		brick_id_sort(k->ids, tmp, k->n_ids);
		look_for_twins(k);
		k->c->n_alloc = k->n_ids;
	}
	n = tmp && k->ids;
	free(k->ids);
	free(tmp);
	return n ? 0 : -ENOMEM;
}

/* CLEAN slots that are not zero: the cleaner will see to them. */
static void repair_zeros(struct look *k, uint64_t first, uint64_t n)
{
	const struct brick_word dirty = { .state = BRICK_DIRTY };
	struct brick_word w;
	uint64_t slot;

	for (slot = first; k->zeros_bad && slot < first + n; slot++) {
		brick_progress("repairing", slot - first, n);
		if (!brick_record_get_word(k->m, &k->sb, 0, slot, &w) ||
		    w.state != BRICK_CLEAN || is_zero(k, slot))
			continue;
		brick_record_put_word(k->m, &k->sb, BRICK_COPY_BOTH, slot,
				      dirty);
		brick_record_flush(k->m, &k->sb, BRICK_COPY_BOTH, slot, 1);
	}
}

static int repair_records(struct look *k, char *err, size_t err_len)
{
	struct brick_store *s = brick_store_new(k->m, NULL);
	int ret;

	if (!s)
		return -ENOMEM;
	s->sb = k->sb;
	ret = brick_store_make_room(s);
	if (!ret)
		ret = brick_store_recover(s, err, err_len);
	brick_store_discard(s);
	return ret;
}

static int repair_findings(struct look *k, char *err, size_t err_len)
{
	unsigned int i;
	int ret;

	brick_super_write_back(k->m, &k->sb);
	ret = k->m->ops->drain(k->m);
	if (!ret && k->super_bad)
		ret = brick_super_repair(k->m, &k->sb);
	if (!ret && k->inst_bad) {
		brick_instance_put(k->m, &k->sb, !k->inst_copy, &k->inst);
		ret = k->m->ops->drain(k->m);
	}
	if (ret)
		return ret;
	/* First: recovery may log what it repairs. */
	for (i = 0; k->events_bad && i < BRICK_FMT_EVENTS_MAX; i++)
		if (!brick_evlog_is_whole(k->m, &k->sb, i))
			brick_evlog_erase(k->m, i);
	ret = repair_records(k, err, err_len);
	if (ret)
		return ret;
	repair_zeros(k, 0, k->sb.n);
	if (k->block)
		repair_zeros(k, BRICK_SLOT_SLOW, k->sb.n_slow);
	if (k->slow_bad)
		ret = brick_slow_repair(k->c->slow, &k->sb);
	if (ret)
		return ret;
	ret = k->m->ops->drain(k->m);
	k->c->is_repaired = !ret;
	return ret;
}

int brick_store_check(struct brick_media *m, struct brick_check *c, char *err,
		      size_t err_len)
{
	struct look k = { .m = m, .c = c };
	int ret;

	ret = brick_super_read(m, &k.sb, &k.super_bad, err, err_len);
	if (!ret && k.super_bad)
		report_page(&k, "super-damaged",
			    "one superblock is damaged; the other one counts",
			    BRICK_FINDING_DAMAGE, -1);
	if (!ret)
		ret = look_at_instance(&k, err, err_len);
	if (ret)
		return ret;
	look_at_events(&k);
	ret = check_slow_tier(&k);
	if (!ret && look_at_commit(&k))
		ret = look_at_records(&k);
	/* Where brickd will refuse, evidence is worth more than half a repair. */
	if (!ret && c->repair && !c->n[BRICK_FINDING_FATAL])
		ret = repair_findings(&k, err, err_len);
	free(k.block);
	if (ret == -ENOMEM || ret == -EIO)
		brick_media_say(err, err_len, "%s: %s", m->path,
				ret == -ENOMEM ? "not enough memory"
					       : "the medium failed");
	return ret;
}
