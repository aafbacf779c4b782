# SPDX-License-Identifier: BSD-2-Clause
"""The known ways to break the store, for tests/mutate.

Each replaces one piece of text of one file in brickd/store. `noticed_by` names
what may notice, the quickest first: `states` is the crash enumerator, `tsan`
the thread test under ThreadSanitizer, any other word a test of this folder.
`equivalent` argues why nothing can notice; such a mutant must survive. One in
another `folder` is noticed by programs of the build, named by their paths.
"""
import dataclasses


@dataclasses.dataclass
class Mutant:
    kind: str
    file: str
    old: str
    new: str
    noticed_by: str = "states"
    equivalent: str = ""
    folder: str = "brickd/store"


FENCE = "ret = brick_store_fence(s);"
IMPL = '#include "brickd/store/store_impl.h"'
NO_LOCK = (IMPL + "\n#define brick_store_lock(s) ((void)(s))"
           "\n#define brick_store_unlock(s) ((void)(s))")

MUTANTS = {
    # The order of writes.
    "no-fence-1": Mutant(
        "ordering", "commit.c", "write_records(s, tx, b);\n\t" + FENCE,
        "write_records(s, tx, b);\n\tret = 0;"),
    "no-fence-2": Mutant(
        "ordering", "commit.c",
        "brick_commit_write(s->m, &s->sb, tx);\n\t" + FENCE,
        "brick_commit_write(s->m, &s->sb, tx);\n\tret = 0;"),
    "commit-without-tx": Mutant(
        "ordering", "commit.c", " w = { .state = BRICK_ALLOC_B, .tx = tx",
        " w = { .state = BRICK_ALLOC_B, .tx = 0"),
    "alloc-without-batch": Mutant(
        "ordering", "commit.c", " w = { .state = BRICK_ALLOC_B, .tx = tx",
        " w = { .state = BRICK_ALLOC"),
    "free-without-batch": Mutant(
        "ordering", "commit.c", ".state = BRICK_DIRTY_B, .tx = tx };\n\tuint64_t r;",
        ".state = BRICK_DIRTY };\n\tuint64_t r;"),
    "no-seals": Mutant("ordering", "commit.c", "\tseal_batch(s, tx, b);\n", "\t(void)seal_batch;\n"),
    "seals-before-commit": Mutant(
        "ordering", "commit.c", "\tbrick_commit_write(s->m, &s->sb, tx);",
        "\tseal_batch(s, tx, b);\n\tbrick_commit_write(s->m, &s->sb, tx);"),
    "birth-not-announced": Mutant(
        "ordering", "commit.c",
        "put_words(s, BRICK_COPY(1), b->runs[r].slots, w);\n\treturn brick_store_fence(s);",
        "put_words(s, BRICK_COPY(1), b->runs[r].slots, w);\n\treturn 0;"),
    "birth-in-both-copies": Mutant(
        "ordering", "commit.c", "write_birth(s, tx, BRICK_COPY(1), run)",
        "write_birth(s, tx, BRICK_COPY_BOTH, run)"),
    "birth-acknowledged-early": Mutant(
        "ordering", "commit.c",
        "part.slots.slot += part.slots.n;\n\t\t}\n\t}\n\treturn brick_store_fence(s);",
        "part.slots.slot += part.slots.n;\n\t\t}\n\t}\n\treturn 0;"),
    "birth-not-finished": Mutant(
        "ordering", "commit.c", "write_birth(s, tx, BRICK_COPY(0), &part);", ""),
    "single-free-without-fence": Mutant(
        "ordering", "commit.c", "slots, dirty);\n\t\t" + FENCE, "slots, dirty);\n\t\tret = 0;"),
    "single-free-in-one-copy": Mutant(
        "ordering", "commit.c", "put_words(s, BRICK_COPY_BOTH, b->runs[0].slots, dirty);",
        "put_words(s, BRICK_COPY(0), b->runs[0].slots, dirty);", "states open"),
    "recovery-words-with-payloads": Mutant(
        "ordering", "recovery/recover.c",
        "fix_payload(s, copy, &sc->fixes[i]);\n\t}\n\t" + FENCE,
        "fix_payload(s, copy, &sc->fixes[i]);\n\t}\n\tret = 0;"),
    "recovery-leaves-mirror": Mutant(
        "ordering", "recovery/recover.c",
        "for (copy = 0; copy < BRICK_FMT_COPIES; copy++)\n\t\t\tfix_word",
        "for (copy = 0; copy < 1; copy++)\n\t\t\tfix_word"),
    "aborted-alloc-is-alloc": Mutant(
        "ordering", "recovery/copies.c", "committed ? BRICK_ALLOC : BRICK_DIRTY", "BRICK_ALLOC"),
    "aborted-free-is-free": Mutant(
        "ordering", "recovery/copies.c", "committed ? BRICK_DIRTY : BRICK_ALLOC", "BRICK_DIRTY"),
    "mirror-wins": Mutant(
        "ordering", "recovery/copies.c", "view[0].sense == USABLE ? &view[0] : &view[1]",
        "view[1].sense == USABLE ? &view[1] : &view[0]", "parts"),
    "tx-does-not-wrap": Mutant(
        "ordering", "store_impl.h", "(((tx) + 1) & BRICK_FMT_TX_MASK)", "((tx) + 1)"),
    "magic-first": Mutant(
        "ordering", "format/super.c", "memset(&raw.magic, 0, sizeof(raw.magic));\n", ""),
    "one-page-is-enough": Mutant(
        "ordering", "recovery/store_open.c", "s->inst_copy = (s->inst_copy + 1) % BRICK_FMT_COPIES;", ""),
    "epoch-stays": Mutant("ordering", "recovery/store_open.c", "\t\ts->inst.power_epoch++;\n", ""),
    "clean-flag-stays": Mutant("ordering", "recovery/store_open.c", "\ts->inst.clean = false;\n", ""),

    "killed-instance-not-written-back": Mutant(
        "ordering", "format/super.c",
        "\tm->ops->flush(m, 0, sb->data_off);\n", "", "inherit"),
    "killed-instance-of-a-file-not-written-back": Mutant(
        "ordering", "recovery/store_open.c",
        "if (!ret && s->m->granularity != BRICK_GRANULARITY_BYTE)",
        "if (!ret && s->m->granularity == BRICK_GRANULARITY_CACHE_LINE)", "inherit"),
    "check-counts-on-what-a-cache-has": Mutant(
        "ordering", "offline/check.c",
        "\tbrick_super_write_back(k->m, &k->sb);\n", "", "inherit"),
    "clean-page-of-a-killed-instance-believed": Mutant(
        "ordering", "recovery/store_open.c",
        "if (!ret && s->m->granularity != BRICK_GRANULARITY_BYTE)",
        "if (!ret && !s->inst.clean && s->m->granularity != BRICK_GRANULARITY_BYTE)", "inherit"),

    # Flushes.
    "alloc-not-flushed": Mutant(
        "flushing", "commit.c",
        "brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, run->slots.slot,\n"
        "\t\t\t   run->slots.n);\n}\n\n/* The new place", "}\n\n/* The new place"),
    "birth-not-flushed": Mutant(
        "flushing", "commit.c",
        "\tbrick_record_flush(s->m, &s->sb, copies, run->slots.slot, run->slots.n);\n", ""),
    "words-not-flushed": Mutant(
        "flushing", "commit.c",
        "\tbrick_record_flush(s->m, &s->sb, copies, slots.slot, slots.n);\n", ""),
    "seals-not-flushed": Mutant(
        "flushing", "commit.c",
        "\tbrick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, slots.slot, slots.n);\n", ""),
    "mirror-not-flushed": Mutant(
        "flushing", "format/record.c",
        "\tfor (copy = 0; copy < BRICK_FMT_COPIES; copy++)\n"
        "\t\tif (copies & BRICK_COPY(copy))\n\t\t\tm->ops->flush(",
        "\tfor (copy = 0; copy < 1; copy++)\n"
        "\t\tif (copies & BRICK_COPY(copy))\n\t\t\tm->ops->flush("),
    "commit-word-not-flushed": Mutant(
        "flushing", "format/commit_word.c", "m->ops->flush(m, word_off(i), sizeof(word));", ""),
    "one-commit-word": Mutant(
        "flushing", "format/commit_word.c",
        "for (i = 0; i < BRICK_FMT_COPIES; i++) {\n\t\tm->ops->st64",
        "for (i = 0; i < 1; i++) {\n\t\tm->ops->st64", "states open"),
    "zeros-not-flushed": Mutant(
        "flushing", "commit.c", "\ts->m->ops->flush(s->m, off, len);\n", ""),
    "cleaner-does-not-flush": Mutant(
        "flushing", "clean.c", "\t\ts->m->ops->flush(s->m, off, len);\n", ""),
    "page-not-flushed": Mutant(
        "flushing", "format/instance.c", "\tm->ops->flush(m, page_off(copy), sizeof(raw));\n", ""),
    "superblock-not-flushed": Mutant(
        "flushing", "format/super.c",
        "\t\tm->ops->flush(m, copy_off(copy), sizeof(raw));\n\t}\n\tret = m->ops->drain(m);",
        "\t}\n\tret = m->ops->drain(m);"),
    "client-data-not-flushed": Mutant(
        "flushing", "list.c",
        "\t\t\ts->m->ops->flush(s->m, pieces[i].off, pieces[i].len);\n", "\t\t\t;\n"),

    # Checksums and what is damaged.
    "word-not-checked": Mutant(
        "checksums", "format/record.c",
        "if (word >> CRC_SHIFT != record_word_sum(sb, slot, state_tx))\n\t\treturn false;\n", ""),
    "word-sum-without-slot": Mutant(
        "checksums", "format/record.c", "kfb_put_le64(&sum.slot, slot);\n\tkfb_put_le32(&sum.state_tx",
        "kfb_put_le64(&sum.slot, 0);\n\tkfb_put_le32(&sum.state_tx"),
    "payload-not-checked": Mutant(
        "checksums", "recovery/copies.c",
        "!brick_record_get_payload(m, sb, copy, slot, &v->payload) ||",
        "(brick_record_get_payload(m, sb, copy, slot, &v->payload), 0) ||", "states open"),
    "payload-sum-without-birth": Mutant(
        "checksums", "format/record.c", "kfb_put_le32(&sum.birth, p->birth);",
        "kfb_put_le32(&sum.birth, 0);", "states parts open"),
    "commit-word-not-checked": Mutant(
        "checksums", "format/commit_word.c",
        " &&\n\t\t\t   kfb_get_le32(&raw.crc) == word_sum(sb, value[i]);", ";"),
    "superblock-not-checked": Mutant(
        "checksums", "format/super.c",
        " &&\n\t\t\t       kfb_get_le32(&raw[copy].crc) ==\n"
        "\t\t\t\t       brick_crc32c(0, &raw[copy], SUM_BYTES);", ";"),
    "page-not-checked": Mutant(
        "checksums", "format/instance.c", "if (kfb_get_le32(&raw.crc) != page_sum(sb, &raw) ||\n"
        "\t    flags", "if (flags"),
    "tx-not-checked": Mutant(
        "checksums", "recovery/copies.c",
        "if (!committed && w.tx != BRICK_TX_NEXT(c))\n\t\treturn false;\n", "", "parts"),
    "damage-not-counted": Mutant(
        "checksums", "recovery/recover.c", "else if (fix->v.damaged)", "else if (0)"),
    "duplicates-accepted": Mutant(
        "checksums", "recovery/recover.c", "ret = sort_ids(s, &sc, err, err_len);",
        "ret = 0;\n\t(void)sort_ids;", "open"),

    # Zeros: no client reads another's bytes.
    "alloc-not-zeroed": Mutant(
        "zeroing", "commit.c", "if (run->zero_first) {\n\t\ts->m->ops->zero",
        "if (0) {\n\t\ts->m->ops->zero"),
    "clean-not-zeroed": Mutant(
        "zeroing", "clean.c", "\t\ts->m->ops->zero(s->m, off, len);\n", ""),
    "clean-before-zeros-are-durable": Mutant(
        "zeroing", "clean.c", "return brick_store_fence(s);", "return 0;"),
    "format-calls-all-clean": Mutant(
        "zeroing", "offline/format.c", "is_zero ? BRICK_CLEAN", "1 ? BRICK_CLEAN",
        "states open"),
    "quarantine-ignored": Mutant(
        "zeroing", "batch.c",
        "if (run->quarantine)\n\t\tbrick_slots_quarantine(slots, run->quarantine);\n\telse",
        "free(run->quarantine);", "ops"),

    # Locks, and who may touch what when.
    "reader-without-lock": Mutant("locking", "list.c", IMPL, NO_LOCK, "tsan"),
    "cleaner-without-lock": Mutant("locking", "clean.c", IMPL, NO_LOCK, "tsan"),
    "readers-wait-for-a-whole-batch": Mutant(
        "locking", "list.c", "if (++*n_steps < BRICK_STORE_SLICE)", "if (++*n_steps)", "ops"),
    "birth-without-lock": Mutant(
        "locking", "commit.c", "\t\t\tbrick_store_lock(s);\n"
        "\t\t\twrite_birth(s, tx, BRICK_COPY(0), &part);\n"
        "\t\t\tbrick_store_unlock(s);\n",
        "\t\t\twrite_birth(s, tx, BRICK_COPY(0), &part);\n"),
    "published-before-durable": Mutant(
        "locking", "commit.c",
        "\t\tret = commit_batch(s, b);\n",
        "\t\tbrick_batch_publish(s, b);\n\t\tret = commit_batch(s, b);\n"
        "\t\tb->n_runs = 0;\n"),
    "cleaner-leaves-slots-free": Mutant(
        "locking", "clean.c", "\th->slots->n_cleaning += h->n_slots;\n",
        "\tfor (unsigned int i = 0; i < h->n_runs; i++)\n"
        "\t\tbrick_slot_map_give(&h->slots->dirty, h->runs[i]);\n"
        "\th->slots->n_cleaning += h->n_slots;\n"),
    "cleaner-not-waited-for": Mutant(
        "locking", "supply.c", "if (n + s->spare > have + s->n_moving + cleaning)",
        "if (n + s->spare > have + s->n_moving)"),
    "pending-is-visible": Mutant(
        "locking", "batch.c", "(run->slots.slot + i) |\n\t\t\t\t\t\t    BRICK_INDEX_PENDING",
        "(run->slots.slot + i)", "states ops"),
    "cleaned-not-signalled": Mutant(
        "locking", "clean.c",
        "n_cleaning -= h->n_slots;\n\tpthread_cond_broadcast(&s->cleaned);\n",
        "n_cleaning -= h->n_slots;\n", "threads"),
    "held-not-checked": Mutant(
        "locking", "recovery/store_open.c", "if (!brick_instance_is_held(&s->inst, o->boot_id))",
        "if (brick_instance_is_held(&s->inst, o->boot_id) || 1)", "open"),
    "failure-forgotten": Mutant(
        "locking", "failure.c", "__atomic_store_n(&s->failed, true, __ATOMIC_RELEASE);",
        "", "ops"),
    "no-mark-on-the-medium": Mutant(
        "forgetting", "failure.c", "!brick_store_mark_medium(s) ||", "false ||", "past"),
    "no-mark-off-the-medium": Mutant(
        "forgetting", "failure.c", "off = !brick_mark_set(s->m->mark, why);", "off = true;", "past"),
    "mark-not-looked-for": Mutant(
        "forgetting", "recovery/past.c", "(m->mark && brick_mark_is_set(m->mark))", "0", "past"),
    "mark-page-not-looked-for": Mutant(
        "forgetting", "recovery/past.c", "brick_instance_has_failed(&s->inst) ||", "", "past"),
    "mark-over-the-safe-page": Mutant(
        "forgetting", "failure.c", "!s->inst_safe, &inst", "s->inst_safe, &inst", "past"),
    "mark-says-clean": Mutant(
        "forgetting", "failure.c", "\tinst.clean = false;\n", "", "past"),
    "mark-cleared-early": Mutant(
        "forgetting", "recovery/store_open.c", "if (!ret && s->m->mark) {", "if (s->m->mark) {", "past"),
    "file-system-not-asked": Mutant(
        "forgetting", "recovery/past.c", "if (m->ops->lost(s->m))", "if (0)", "past"),
    "file-system-not-asked-after-failure": Mutant(
        "forgetting", "recovery/past.c", "s->inst.clean ||\n", "s->inst.clean || failed ||\n", "past"),
    "other-mount-not-noticed": Mutant(
        "forgetting", "recovery/past.c", "s->inst.fs_id == m->past.fs_id", "1", "past"),
    "loss-told-to-a-refused-start": Mutant(
        "forgetting", "recovery/past.c",
        "\telse if (brick_mark_set(m->mark, why))\n\t\t(void)brick_store_mark_medium(s);\n",
        "\telse\n\t\tbrick_mark_clear(m->mark);\n", "past"),
    "killed-while-it-asks": Mutant(
        "forgetting", "recovery/past.c", "\tif (!failed && m->mark)\n", "\tif (0)\n", "past"),
    "loss-on-no-mark": Mutant(
        "forgetting", "recovery/past.c", "(void)brick_store_mark_medium(s);", ";", "past"),
    "asking-leaves-a-mark": Mutant(
        "forgetting", "recovery/past.c", "\t\tbrick_mark_clear(m->mark);\n", "\t\t;\n", "past"),
    "loss-not-noted-for-neighbours": Mutant(
        "forgetting", "recovery/past.c",
        "(void)brick_mark_loss(m->past.fs_id);\n\t\treturn \"its", "return \"its", "past"),
    "loss-of-neighbours-not-looked-for": Mutant(
        "forgetting", "recovery/past.c", "(brick_mark_has_loss(m->past.fs_id, s->sb.uuid))", "(0)",
        "past"),
    "cut-short-and-neighbours-not-told": Mutant(
        "forgetting", "recovery/past.c", "(void)brick_mark_loss(m->past.fs_id);\n\t\treturn why_failed;",
        "return why_failed;", "past"),
    "loss-told-for-ever": Mutant(
        "forgetting", "recovery/store_open.c", "brick_mark_loss_told(s->m->past.fs_id, s->sb.uuid);", "", "past"),
    "second-loss-not-told": Mutant(
        "forgetting", "media_mark.c",
        "O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);\n\tif (fd < 0)",
        "O_CREAT | O_CLOEXEC, FILE_MODE);\n\tif (fd < 0)",
        "tests/unit/store/test-store-past", folder="brickd/media"),
    "loss-of-any-file-system": Mutant(
        "forgetting", "media_mark.c", "\"%s/lost-%\" PRIx64, dir, fs_id",
        "\"%s/lost-%d\", dir, !!fs_id", "tests/unit/store/test-store-past", folder="brickd/media"),
    "repair-of-what-is-in-memory-only": Mutant(
        "forgetting", "offline/check.c", "if (!k->c->repair || (k->inst.clean && !lost))", "if (1)",
        "past"),
    "repair-of-what-is-marked": Mutant(
        "forgetting", "offline/check.c", "(k->inst.clean && !lost)", "k->inst.clean", "past"),
    "repair-of-what-was-killed": Mutant(
        "forgetting", "offline/check.c", "(k->inst.clean && !lost)", "!lost", "past"),
    "clean-store-not-repaired": Mutant(
        "forgetting", "offline/check.c", " || (k->inst.clean && !lost))", ")", "past"),
    "interrupted-sync-tried-again": Mutant(
        "forgetting", "media_file.c", "return fdatasync(m->fd) ? -errno : 0;",
        "while (fdatasync(m->fd))\n\t\tif (errno != EINTR)\n\t\t\treturn -errno;\n\treturn 0;",
        "tests/unit/store/test-store-settle", folder="brickd/media"),
    "durable-store-opens-a-slow-tier-in-memory": Mutant(
        "forgetting", "recovery/store_open.c",
        "return ret ? ret : brick_slow_keeps(s->slow, s->m, err, err_len);", "return ret;",
        "slow"),
    "durable-store-gets-a-slow-tier-in-memory": Mutant(
        "forgetting", "offline/format.c", "ret = brick_slow_keeps(f->slow, m, err, err_len);",
        "ret = 0;", "slow"),
    "durable-store-grows-into-memory": Mutant(
        "forgetting", "offline/grow.c", "ret = brick_slow_keeps(g->slow, m, err, err_len);",
        "ret = 0;", "slow"),
    "store-in-memory-has-a-durable-slow-tier-alone": Mutant(
        "forgetting", "slow/slow.c", "return slow->is_volatile && !m->is_volatile;",
        "return slow->is_volatile;", "slow"),
    "interrupted-slow-sync-tried-again": Mutant(
        "forgetting", "store/slow/slow_file.c", "return fdatasync(fd_of(slow)) ? -errno : 0;",
        "while (fdatasync(fd_of(slow)))\n\t\tif (errno != EINTR)\n\t\t\treturn -errno;\n"
        "\treturn 0;", "tests/unit/store/test-store-settle", folder="brickd"),
    "slow-syncs-of-their-own": Mutant(
        "locking", "failure.c", "return brick_syncs_wait(&s->slow_syncs);",
        "return sync_slow(s) ? -EIO : 0;", "slow_failure"),
    "slow-failure-forgotten": Mutant(
        "locking", "failure.c", "__atomic_store_n(&s->slow_failed, true, __ATOMIC_RELEASE);",
        "", "slow_failure"),
    "slow-failure-is-the-mediums": Mutant(
        "locking", "supply.c", "if (n < 0 && brick_store_slow_has_failed(s) &&",
        "if (0 &&", "slow_failure"),
    "syncs-at-the-same-time": Mutant(
        "locking", "syncs.c", "if (syncs->is_running)", "if (0)", "failure"),
    "sync-that-began-before": Mutant(
        "locking", "syncs.c", "mine = syncs->n_begun + 1;",
        "mine = syncs->n_begun + !syncs->is_running;", "failure"),
    "failed-sync-tried-again": Mutant(
        "locking", "syncs.c", "\t\tsyncs->error = ret;\n", "\t\t;\n", "failure"),

    # Moves between the tiers.
    "move-copy-not-synced": Mutant(
        "flushing", "move.c", "(down && brick_store_sync_slow(s)) ||", ""),
    "move-up-not-fenced": Mutant(
        "ordering", "move.c", "(up && brick_store_fence(s))", "(up && 0)"),
    "move-up-not-flushed": Mutant(
        "flushing", "move.c", "\ts->m->ops->flush(s->m, off, KFB_BLOCK_BYTES);\n", ""),
    "move-into-clean": Mutant(
        "zeroing", "move.c", "\t\tif (is_clean) {\n", "\t\tif (0) {\n"),
    "move-leaves-source": Mutant(
        "ordering", "commit.c", "\tput_words(s, BRICK_COPY_BOTH, src, dirty);\n",
        "\t(void)dirty;\n\t(void)src;\n"),
    "move-not-sealed": Mutant(
        "ordering", "commit.c", "if (run->op->kind == BRICK_STORE_MOVE)\n\t\t\tseal_run",
        "if (0)\n\t\t\tseal_run"),

    "move-synced-after-commit": Mutant(
        "ordering", "move.c",
        "if ((down && brick_store_sync_slow(s)) || (up && brick_store_fence(s)))\n"
        "\t\tfail_all(moves, n, -EIO);\n}\n\n"
        "void brick_move_end(struct brick_store *s, struct brick_move *moves,\n"
        "\t\t    unsigned int n)\n{\n\tunsigned int i;\n",
        "(void)down;\n\tif (up && brick_store_fence(s))\n"
        "\t\tfail_all(moves, n, -EIO);\n}\n\n"
        "void brick_move_end(struct brick_store *s, struct brick_move *moves,\n"
        "\t\t    unsigned int n)\n{\n\tunsigned int i;\n"
        "\t(void)brick_store_sync_slow(s);\n"),
    "move-frees-source-early": Mutant(
        "ordering", "commit.c",
        "struct brick_word dirty = { .state = BRICK_DIRTY_B, .tx = tx };\n"
        "\tconst struct brick_move",
        "struct brick_word dirty = { .state = BRICK_DIRTY };\n\tconst struct brick_move"),
    "move-without-batch": Mutant(
        "ordering", "commit.c",
        ".state = BRICK_ALLOC_B, .tx = tx };\n\tstruct brick_word dirty",
        ".state = BRICK_ALLOC };\n\tstruct brick_word dirty"),
    "move-frees-source-in-one-copy": Mutant(
        "ordering", "commit.c", "put_words(s, BRICK_COPY_BOTH, src, dirty);",
        "put_words(s, BRICK_COPY(0), src, dirty);"),
    "move-dirty-not-fenced": Mutant(
        "ordering", "move.c", "if (any_clean && brick_store_fence(s))",
        "if (any_clean && 0)"),
    "move-dirty-not-flushed": Mutant(
        "flushing", "move.c",
        "\t\t\tbrick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH,\n"
        "\t\t\t\t\t   moves[i].dst, 1);\n", ""),
    "slow-zeros-not-synced": Mutant(
        "flushing", "clean.c", "return h->n_slots ? brick_store_sync_slow(s) : 0;",
        "return 0;"),
    "slow-clean-not-zeroed": Mutant(
        "zeroing", "clean.c", "if (s->slow->ops->zero(s->slow,",
        "if (0 && s->slow->ops->zero(s->slow,"),
    "move-gives-source-early": Mutant(
        "locking", "move.c", "return take_slot(s, move, is_clean) ? 0 : -ENOSPC;",
        "if (!take_slot(s, move, is_clean))\n\t\treturn -ENOSPC;\n"
        "\tbrick_slots_give_dirty(brick_slots_of(s, move->src), (struct brick_slot_run){\n"
        "\t\tbrick_slot_number(move->src), 1 });\n\treturn 0;"),
    "move-gives-target-back": Mutant(
        "locking", "move.c", "if (!moves[i].is_begun || moves[i].is_done)",
        "if (!moves[i].is_begun)"),
    "move-gives-source-to-other-tier": Mutant(
        "locking", "batch.c",
        "brick_slots_give_dirty(brick_slots_of(s, move->src), src);",
        "brick_slots_give_dirty(brick_slots_of(s, move->dst), src);"),

    # Whose blocks are whose, and how many each owner may have.
    "alloc-has-no-owner": Mutant(
        "owners", "commit.c", ".owner = run->op->owner };", ".owner = 0 };", "owners states"),
    "alloc-not-counted": Mutant(
        "owners", "batch.c", "\tbrick_owners_add(&s->owners, run->op->owner, run->slots.n);\n", "",
        "owners states"),
    "free-not-counted": Mutant(
        "owners", "batch.c", "\t\t\tbrick_owners_sub(&s->owners, p.owner, 1);\n", "\t\t\t;\n"),
    "birth-moves-no-count": Mutant(
        "owners", "commit.c", "if (copies & BRICK_COPY(0)) {", "if (0) {"),
    "birth-counted-for-both": Mutant(
        "owners", "commit.c", "\t\t\tbrick_owners_sub(&s->owners, p.owner, 1);\n", "",
        "owners states"),
    "birth-counted-in-each-copy": Mutant(
        "owners", "commit.c", "if (copies & BRICK_COPY(0)) {", "if (copies) {", "owners states"),
    "recovery-counts-nothing": Mutant(
        "owners", "recovery/recover.c",
        "\t\tbrick_owners_add(&s->owners, v->payload.owner, 1);\n", ""),
    "damaged-copy-hides-the-owner": Mutant(
        "owners", "format/record.c",
        " ||\n\t       brick_record_get_payload(m, sb, 1, slot, p);", ";", "owners"),
    "freed-though-kept-for-another": Mutant(
        "owners", "batch.c", "p.owner && p.owner != run->op->owner)", "0)", "owners"),
    "nobodys-block-is-kept": Mutant(
        "owners", "batch.c", "p.owner && p.owner != run->op->owner)",
        "p.owner != run->op->owner)", "owners"),
    "quota-one-too-many": Mutant(
        "owners", "supply.c", "op->n_blocks > op->quota_blocks - has",
        "op->n_blocks > op->quota_blocks + 1 - has", "owners"),
    "quota-one-too-few": Mutant(
        "owners", "supply.c", "op->n_blocks > op->quota_blocks - has",
        "op->n_blocks >= op->quota_blocks - has", "owners"),
    "quota-below-what-is-there": Mutant(
        "owners", "supply.c", "has > op->quota_blocks || ", "", "owners"),
    "allocs-of-a-batch-share-no-quota": Mutant(
        "owners", "batch.c", "planned_for(b, op->owner)))", "0 * planned_for(b, op->owner)))",
        "owners"),
    "births-of-a-batch-not-planned": Mutant(
        "owners", "batch.c",
        "(op->kind == BRICK_STORE_ALLOC ||\n\t\t     op->kind == BRICK_STORE_BIRTH) &&",
        "op->kind == BRICK_STORE_ALLOC &&", "owners"),
    "freed-in-a-batch-not-waited-for": Mutant(
        "owners", "batch.c", "return b->has_free || b->has_birth ? -EAGAIN : -EDQUOT;",
        "return -EDQUOT;", "owners"),
    "over-quota-and-prepared": Mutant(
        "owners", "supply.c",
        "\telse if (brick_supply_is_over_quota(s, op, 0))\n\t\tret = -EDQUOT;\n", "", "owners"),

    # Growing.
    "grow-tables-not-fenced": Mutant(
        "ordering", "offline/grow.c", "ret = m->ops->drain(m);\n\t/* It may say", "ret = 0;\n\t/* It may say"),
    "grow-without-flip": Mutant(
        "ordering", "offline/grow.c", "brick_super_flip(m, sb)", "brick_super_write(m, sb)"),
    "grow-without-mirror": Mutant(
        "ordering", "offline/grow.c", "copy < BRICK_FMT_COPIES; copy++) {\n\t\tm->ops->copy",
        "copy < 1; copy++) {\n\t\tm->ops->copy"),
    "grow-records-not-flushed": Mutant(
        "flushing", "offline/grow.c",
        "\tbrick_record_flush(m, sb, BRICK_COPY_BOTH, first, n);\n", ""),
    "grow-slots-called-clean": Mutant(
        "zeroing", "offline/grow.c", "w = (struct brick_word){ .state = BRICK_DIRTY };",
        "w = (struct brick_word){ .state = BRICK_CLEAN };"),

    "grow-copies-not-flushed": Mutant(
        "flushing", "offline/grow.c", "\t\tm->ops->flush(m, to[copy], len);\n", ""),
    "grow-slow-header-last": Mutant(
        "ordering", "offline/grow.c",
        "ret = brick_slow_write_header(g->slow, sb);\n"
        "\treturn ret ? ret : brick_super_flip(m, sb);",
        "ret = brick_super_flip(m, sb) || brick_slow_write_header(g->slow, sb);\n"
        "\telse\n\t\tret = brick_super_flip(m, sb);\n\treturn ret;"),
    "grow-slow-headers-together": Mutant(
        "flushing", "slow/slow.c", "\tif (!ret)\n\t\tret = slow->ops->sync(slow);\n\tfree(raw);",
        "\tif (!ret && copy)\n\t\tret = slow->ops->sync(slow);\n\tfree(raw);"),
    "grow-slow-table-stays": Mutant(
        "ordering", "offline/grow.c",
        "\tcopy_table(m, old->slow_off, sb->slow_off, old->n_slow);\n", ""),
    "grow-slow-slots-called-clean": Mutant(
        "zeroing", "offline/grow.c", "n_before(slow_zero_from, brick_slow_data(old->n_slow))", "0"),
    "moves-on-a-failed-store": Mutant(
        "ordering", "move.c",
        "\tif (brick_store_has_failed(s))\n\t\treturn -EIO;\n\tif (!brick_index_get",
        "\tif (!brick_index_get", "tier"),
    "unzeroed-slot-is-clean": Mutant(
        "zeroing", "clean.c",
        "KFB_BLOCK_BYTES))\n\t\t\t\tgive_up_haul(s, h, run, k);",
        "KFB_BLOCK_BYTES) &&\n\t\t\t    !run)\n\t\t\t\tgive_up_haul(s, h, run, k);", "tier"),
    "unzeroed-slot-takes-the-rest": Mutant(
        "zeroing", "clean.c",
        "\tif (rest.n)\n\t\tbrick_slot_map_give(&h->slots->dirty, rest);\n", "", "tier"),
    "unread-memory-costs-a-slot": Mutant(
        "zeroing", "move.c", "if (ret && !move->is_unread)", "if (ret)", "tier"),

    # Nothing can notice these.
    "commit-repair-not-fenced": Mutant(
        "ordering", "recovery/recover.c",
        "brick_commit_write(s->m, &s->sb, s->tx);\n\treturn brick_store_fence(s);",
        "brick_commit_write(s->m, &s->sb, s->tx);\n\treturn 0;", "states",
        "the repaired copy is flushed, and apply_fixes() fences before it writes the first "
        "state word; payloads written before that fence are of blocks whose record says "
        "ALLOC under either commit word's number. The fence stays: it makes the argument "
        "short."),
}

# A quick look at each kind: what tests/run does.
SAMPLE = (
    "no-fence-1", "seals-before-commit", "magic-first", "alloc-not-flushed",
    "page-not-flushed", "word-not-checked", "clean-before-zeros-are-durable",
    "published-before-durable", "birth-without-lock", "grow-without-flip",
    "move-into-clean", "syncs-at-the-same-time", "no-mark-off-the-medium",
    "allocs-of-a-batch-share-no-quota",
)
