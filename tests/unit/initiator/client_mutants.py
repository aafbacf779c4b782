# SPDX-License-Identifier: BSD-2-Clause
"""The known ways to break the client in user space, for tests/mutate."""
from mutants import Mutant

LIB = "initiator/lib"
CORE = "initiator/core"
UNIT = "tests/unit/initiator/test-"
INITIATOR = UNIT + "core-initiator"
REQUESTS = UNIT + "core-requests"
REPLAY = UNIT + "core-copies"
MAP_TRY = UNIT + "core-map_try"
REFUSAL = UNIT + "core-refusal"
REFUSALS = "session/kfb_refusal.c"
BLOCK = UNIT + "core-block"
KEPT = UNIT + "lib-retain"
COPY = UNIT + "core-retain"
COPIES = UNIT + "core-retain_queues"
LIST = UNIT + "core-list"
RETAKE = UNIT + "core-retake"
ADDRESSES = UNIT + "core-addresses"
SILENCE = UNIT + "core-silence"
WINDOW = UNIT + "core-window"
RATE = "tests/unit/proto/test-proto-rate"
CLAIMS = UNIT + "kmod-claims"
POSTS = UNIT + "kmod-posts"
CLEARS = UNIT + "kmod-clears-12"
OPTIONS = UNIT + "kmod-options"
DISK = UNIT + "core-disk"
KMOD = "initiator/kmod"

CLIENT_MUTANTS = {
    # What the disks of one machine have.
    "disks-that-map-all-are-the-bricks-to-tell-apart": Mutant(
        "claims", "disk/claims.c", "else if (kfbk_claims_is_over(other) ||",
        "else if (kfbk_claims_is_over(other) || other->core.client.state == KFB_CLIENT_LIVE ||",
        CLAIMS, folder=KMOD),
    "what-a-disk-could-not-have-stays-its-own": Mutant(
        "claims", "disk/claims.c", "\tdev->n_claimed = n_blocks;\n\tmutex_unlock",
        "\t(void)n_blocks;\n\tmutex_unlock", CLAIMS, folder=KMOD),
    "what-a-disk-has-kept-is-others": Mutant(
        "claims", "disk/claims.c", "max(dev->n_claimed, n_blocks)", "n_blocks", CLAIMS, folder=KMOD),
    # Discards and write-zeroes.
    "clones-give-their-bios-away": Mutant(
        "clears", "io/clears.c", "\tif (rq->end_io)\n\t\treturn false;\n", "", CLEARS, folder=KMOD),
    "zeroes-are-longer-than-a-message": Mutant(
        "clears", "io/zeroes.c", "kfbk_op_bytes(dev, min_t(u32, *len, dev->max_segments * part))",
        "min_t(u32, *len, dev->max_segments * part)", CLEARS, folder=KMOD),
    "zeroes-end-in-the-middle-of-a-sector": Mutant(
        "clears", "io/zeroes.c",
        "kfbk_op_bytes(dev, min_t(u32, *len, dev->max_segments * part))",
        "min_t(size_t, min_t(u32, *len, dev->max_segments * part), dev->max_op_bytes)", CLEARS, folder=KMOD),
    # Copies of the kernel's disk that are written again.
    "copies-know-no-window": Mutant(
        "replay", "io/retain.c", "len = kfb_window_piece(&q->core.window, len);", ";",
        POSTS, folder=KMOD),
    "copies-are-not-in-flight": Mutant(
        "replay", "io/retain.c", "\tkfb_window_posted(&q->core.window, len, kfbk_now_ms(), &op->mark);\n",
        "", POSTS, folder=KMOD),
    "copies-are-in-flight-for-ever": Mutant(
        "replay", "io/retain.c",
        "\tkfb_initiator_moved(&q->core, op->len, &op->mark, kfbk_now_ms());\n", "", POSTS, folder=KMOD),
    "copies-are-longer-than-a-message": Mutant(
        "replay", "io/retain.c", "\tlen = kfbk_op_bytes(q->dev, len);\n", "", POSTS, folder=KMOD),
    "copy-waits-for-a-request-for-ever": Mutant(
        "replay", "io/data.c", "if (READ_ONCE(dev->is_quiesced))", "if (0)", POSTS, folder=KMOD),
    "copy-does-not-say-that-it-waits": Mutant(
        "replay", "io/retain.c", "\tq->is_full |= !len;\n", "", POSTS, folder=KMOD),
    # An attach that fails.
    "what-is-mapped-stays-allocated": Mutant(
        "blocks", "blocks/allocate.c", "\t\tif (!is_unmapped)\n", "\t\tif (0)\n",
        UNIT + "kmod-allocate", folder=KMOD),
    "what-was-there-is-freed": Mutant(
        "blocks", "blocks/allocate.c", "\t\tif (!dev->blocks[i].is_new)\n\t\t\tcontinue;\n", "",
        UNIT + "kmod-allocate", folder=KMOD),
    # Requests that are made anew.
    "block-of-a-request-that-is-gone-stays-pinned": Mutant(
        "posts", "io/data.c", "\tif (rq->rq_flags & RQF_DONTPREP)\n", "\tif (0)\n", POSTS, folder=KMOD),
    "block-of-another-request-is-let-go": Mutant(
        "posts", "io/data.c", "\tif (rq->rq_flags & RQF_DONTPREP)\n", "", POSTS, folder=KMOD),
    # Time-outs of the kernel's disk.
    "the-next-connection-is-to-blame": Mutant(
        "posts", "io/data.c",
        "\tif (READ_ONCE(krq->posted)) {\n", "\tif (READ_ONCE(krq->posted)) {\n\t\trcu_read_unlock();\n\t\trcu_read_lock();\n",
        POSTS, folder=KMOD),
    "what-is-closed-is-ended": Mutant(
        "posts", "io/data.c", "if (ep && !kfbk_data_has_moved(", "if (!ep || !kfbk_data_has_moved(",
        POSTS, folder=KMOD),
    # What a disk may do whose blocks other hosts write.
    "a-session-that-was-never-live-is": Mutant(
        "queues", "session/kfb_client.c",
        "kfb_client_move(c, c->is_mapped && !c->is_replaced\n", "kfb_client_move(c, c->is_mapped\n",
        UNIT + "core-queues", folder=CORE),
    "lost-blocks-are-not-remembered": Mutant(
        "medium", "kfb_initiator.c", "\t\tkfb_initiator_note_bad(i, &i->reply.u.event);\n",
        "\t\t(void)kfb_initiator_note_bad;\n", UNIT + "core-initiator", folder=CORE),
    "lost-blocks-of-another-session-count": Mutant(
        "medium", "kfb_initiator.c", "if (!len || i->bad_id != i->client.session_id)",
        "if (!len)", UNIT + "core-initiator", folder=CORE),
    "lost-blocks-of-the-session-before-stay": Mutant(
        "medium", "kfb_initiator.c", "\t\ti->n_bad = 0;\n", "\t\t;\n", UNIT + "core-initiator",
        folder=CORE),
    "lost-blocks-are-suspect-for-ever": Mutant(
        "medium", "kfb_initiator.c",
        "i->n_closed - i->bad[n].n_closed < KFB_INITIATOR_BAD_ENDS", "1",
        UNIT + "core-initiator", folder=CORE),
    "no-copy-is-of-a-lost-block": Mutant(
        "medium", "kfb_initiator_replay.c", "\t\t\tt->has_failed\n", "\t\t\t1\n",
        UNIT + "core-copies", folder=CORE),
    "each-copy-of-a-lost-block-counts": Mutant(
        "medium", "kfb_initiator_replay.c", "\t\t\tt->has_failed\n", "\t\t\t0\n",
        UNIT + "core-copies", folder=CORE),
    "unmap-without-an-answer-is-one": Mutant(
        "unmap", "map.c", "(unmap_leaves(rc) || rc == -ETIMEDOUT)", "unmap_leaves(rc)",
        UNIT + "lib-doubt", folder=LIB),
    "unmap-that-is-put-off-is-one": Mutant(
        "unmap", "map.c", "error == -EAGAIN || error == -EBUSY ||", "error == -EBUSY ||",
        UNIT + "lib-control", folder=LIB),
    "mapping-that-came-late-is-asked-for-once": Mutant(
        "unmap", REFUSALS, "\t{ KFB_OF(UNMAP), -EAGAIN, KFB_PATIENCE_CALLER },\n", "",
        REQUESTS, folder=CORE),
    "who-leaves-while-it-maps-says-nothing": Mutant(
        "calls", "kfb_initiator_call.c", "if (!kfb_client_can_call(&i->client, 0))\n\t\treturn 0;\n\tmemset(end",
        "if (kfb_client_state(&i->client) != KFB_CLIENT_LIVE)\n\t\treturn 0;\n\tmemset(end",
        REQUESTS, folder=CORE),
    "who-leaves-waits-for-others": Mutant(
        "calls", "kfb_initiator_call.c", "kfb_ring_add_first(&i->calls", "kfb_ring_add_last(&i->calls",
        REQUESTS, folder=CORE),
    "late-mappings-are-sent-and-forgotten": Mutant(
        "calls", "kfb_initiator_call.c", "\t\ti->late[n].is_sent = 1;\n",
        "\t\ti->late[n].is_sent = 1;\n\t\tif (n > 7)\n\t\t\ti->n_late--;\n", REQUESTS, folder=CORE),
    "late-answer-of-an-unmap-is-none": Mutant(
        "calls", "kfb_initiator_call.c", "(!call || outcome->kind == KFB_OUTCOME_LATE)",
        "!call && outcome->kind != KFB_OUTCOME_LATE", REQUESTS, folder=CORE),
    "late-answer-of-a-callers-unmap-is-none": Mutant(
        "calls", "kfb_initiator_call.c", "(!call || outcome->kind == KFB_OUTCOME_LATE)",
        "!call", REQUESTS, folder=CORE),
    "unanswered-unmap-is-sent-again": Mutant(
        "calls", "kfb_initiator_call.c", "n == i->n_late || outcome->kind == KFB_OUTCOME_TIMEOUT",
        "n == i->n_late", REQUESTS, folder=CORE),
    "alarm-that-is-due-stays-one": Mutant(
        "calls", "kfb_initiator_call.c", "\ti->late_at_ms = 0;\n", "", REQUESTS, folder=CORE),
    "flush-without-room-waits-for-ever": Mutant(
        "calls", "kfb_initiator_flush.c", "now_ms < q->flush_until_ms)", "1)", REQUESTS, folder=CORE),
    "who-sleeps-misses-flushes-without-room": Mutant(
        "calls", "kfb_initiator_call.c", "until_ms && until_ms < at_ms", "0", REQUESTS, folder=CORE),
    "flush-has-one-time-for-all-connections": Mutant(
        "calls", "kfb_initiator_flush.c", "\tq->flush_until_ms = 0;\n\tq->initiator->retain",
        "\tq->initiator->retain", REQUESTS, folder=CORE),
    "flush-that-was-sent-has-no-room": Mutant(
        "calls", "kfb_initiator_flush.c", "\t\tq->flush_until_ms = 0;\n\t\tif (rc)", "\t\tif (rc)",
        REQUESTS, folder=CORE),
    "flush-has-its-time-anew-with-each-reply": Mutant(
        "calls", "kfb_initiator_flush.c", "\tif (q->flush_until_ms)\n\t\treturn;\n", "",
        REQUESTS, folder=CORE),
    "refused-flush-fails-at-once": Mutant(
        "calls", "kfb_initiator_flush.c", "\t\tif (outcome->error &&\n", "\t\tif (0 && outcome->error &&\n",
        REQUESTS, folder=CORE),
    "refused-flush-is-sent-for-ever": Mutant(
        "calls", "kfb_initiator_flush.c", "now_ms >= q->refused_until_ms)", "0)", REQUESTS,
        folder=CORE),
    "refused-flush-is-sent-at-once": Mutant(
        "calls", "kfb_initiator_flush.c", "now_ms + KFB_FLUSH_AGAIN_MS;", "0;", REQUESTS,
        folder=CORE),
    "who-sleeps-misses-refused-flushes": Mutant(
        "calls", "kfb_initiator_call.c", "i->flush_again_ms && i->", "0 && i->", REQUESTS,
        folder=CORE),
    "refused-flush-waits-on-another-connection": Mutant(
        "calls", "kfb_initiator_flush.c", "\tq->initiator->flush_again_ms = 0;\n", "", REQUESTS,
        folder=CORE),
    "library-sends-refused-flushes-again": Mutant(
        "calls", "kfb_initiator_flush.c", "if (i->gives_flushes_up ||\n", "if (0 ||\n", REQUESTS,
        folder=CORE),
    "session-without-requests-ends-by-a-flush": Mutant(
        "calls", "kfb_initiator_flush.c", "if (i->replay_due || !kfb_client_usable(&i->client, n, now_ms))",
        "if (0)", REQUESTS, folder=CORE),
    "call-without-room-waits-for-ever": Mutant(
        "calls", "kfb_initiator_call.c", "now_ms >= call->until_ms", "0", REQUESTS, folder=CORE),
    "call-has-one-time-for-all-sessions": Mutant(
        "calls", "kfb_initiator_call.c", "\t\t\tcall->until_ms = 0;\n", "\t\t\t;\n",
        REQUESTS, folder=CORE),
    "who-sleeps-misses-calls-without-room": Mutant(
        "calls", "kfb_initiator_call.c", "call->until_ms && call->until_ms < at_ms", "0",
        REQUESTS, folder=CORE),
    "refused-flush-frees-a-mapping": Mutant(
        "flushing", "map.c", "if (unmap_leaves(flushed))", "if (flushed == -ENOMEM)",
        UNIT + "lib-io", folder=LIB),
    "who-sleeps-misses-late-mappings": Mutant(
        "calls", "kfb_initiator_call.c", "i->late_at_ms && i->late_at_ms < at_ms", "0",
        REQUESTS, folder=CORE),
    "dead-mapping-seems-to-stay": Mutant(
        "sessions", "map.c", "unmap_leaves(mapping->error) ? -ESTALE", "0 ? -ESTALE",
        UNIT + "lib-resume", folder=LIB),
    "who-leaves-comes-back": Mutant(
        "calls", "kfb_initiator_call.c", "\ti->client.config.reconnect_ms = 0;\n", "",
        REQUESTS, folder=CORE),
    "who-leaves-waits": Mutant(
        "calls", "kfb_initiator_call.c", "i->timeout_ms = KFB_INITIATOR_LEAVE_MS;", ";",
        REQUESTS, folder=CORE),
    "refusals-pass-for-anybody": Mutant(
        "refusals", REFUSALS, "return p < end && who >= p->who;", "return p < end;",
        REFUSAL, folder=CORE),
    "next-step-is-that-of-another-op": Mutant(
        "refusals", REFUSALS, "r->error == error && r->ops & kfb_refusal_of(op)", "r->error == error",
        REFUSAL, folder=CORE),
    "general-next-step-is-forgotten": Mutant(
        "refusals", REFUSALS, "\tif (r < KFB_REFUSALS_END && !r->next)\n", "\tif (0)\n",
        REFUSAL, folder=CORE),
    "connection-is-a-refusal": Mutant(
        "refusals", REFUSALS, "kfb_status_to_errno(status) == error ?", "1 ?",
        REFUSAL, folder=CORE),
    "smaller-quota-is-none": Mutant(
        "refusals", REFUSALS, "(owned > quota || n_blocks > quota - owned)", "n_blocks > quota - owned",
        REFUSAL, folder=CORE),
    "shared-blocks-are-mapped-alone": Mutant(
        "sharing", "blocks/kfb_disk.c", "return KFB_MAP_RW | KFB_MAP_SHARED;",
        "return KFB_MAP_RW | KFB_MAP_EXCLUSIVE;", DISK, folder=CORE),
    "shared-disk-has-copies": Mutant(
        "sharing", "device/options.c", "if (o->retain_mb && o->retain_mb != KFBK_RETAIN_AUTO)", "if (0)",
        OPTIONS, folder=KMOD),
    "shared-disk-is-thin": Mutant(
        "sharing", "device/options.c", "\tif (o->thin)\n", "\tif (0)\n", OPTIONS, folder=KMOD),
    "shared-disk-of-nobody": Mutant(
        "sharing", "device/options.c",
        "\tif (!(o->given & BIT(OPT_CLIENT)))\n\t\treturn \"shared needs",
        "\tif (0)\n\t\treturn \"shared needs", OPTIONS, folder=KMOD),
    # How much it may move.
    "rate-that-nobody-keeps": Mutant(
        "rates", "io.c", "\tk->waits_for_rate = true;\n\treturn true;", "\treturn false;",
        UNIT + "lib-io", folder=LIB),
    "rate-whose-end-wakes-nobody": Mutant(
        "rates", "progress.c", "if (k->waits_for_rate && kfb", "if (0 && kfb",
        UNIT + "lib-io", folder=LIB),
    "rate-that-makes-calls-fail": Mutant(
        "rates", "io.c", "kfb_bucket_piece(&k->rate, piece->len));", "piece->len);",
        UNIT + "lib-io", folder=LIB),
    "rate-of-the-first-info-only": Mutant(
        "rates", "kfb_initiator.c", "i->reply.u.event.kind == KFB_EVENT_RATE)", "0)",
        UNIT + "lib-control", folder=CORE),
    "rate-that-nobody-asked-for": Mutant(
        "rates", "engine/kfb_engine.c", "kfb_event_needs(event->kind) & ~", "KFB_FEATURE_EVENT & ~",
        UNIT + "lib-control", folder=CORE),
    "rate-of-bytes-alone": Mutant(
        "rates", "kfb_rate.c", "(!b->rate.ops_per_s || b->ops > 0)", "1",
        RATE, folder="proto"),
    "rate-that-saves-for-ever": Mutant(
        "rates", "kfb_rate.c", "return level < room ? level : room;", "return level;",
        RATE, folder="proto"),
    "rate-that-a-change-forgives": Mutant(
        "rates", "kfb_rate.c", "return old > -room ? old : -room;", "return room;", RATE,
        folder="proto"),
    "rate-that-pays-for-a-larger-one": Mutant(
        "rates", "kfb_rate.c", "return old > -room ? old : -room;", "return old;", RATE,
        folder="proto"),
    "rate-of-an-info-that-is-old": Mutant(
        "rates", "kfb_initiator.c",
        "\t\ti->client.info.rate = i->reply.u.event.rate;\n\t\tkfb_initiator_set_rate(i, &i->client.info.rate);",
        "\t\tkfb_initiator_set_rate(i, &i->reply.u.event.rate);", INITIATOR, folder=CORE),
    "rates-push-out-other-events": Mutant(
        "rates", "engine/kfb_engine.c", "if (e->events[i].kind == kind)", "if (0)",
        INITIATOR, folder=CORE),
    "rate-that-wakes-too-soon": Mutant(
        "rates", "kfb_rate.c", "per_s) + 1;", "per_s);", RATE, folder="proto"),
    # Where the brick is.
    "a-session-that-looks-at-one-address": Mutant(
        "addresses", "session/kfb_client.c", "\tkfb_client_next_address(c, now_ms);",
        "\tif (0)\n\t\tkfb_client_next_address(c, now_ms);", ADDRESSES, folder=CORE),
    "a-session-at-two-addresses": Mutant(
        "addresses", "session/kfb_client.c", "kfb_client_has_queue(c, KFB_CONN_READY))\n\t\treturn;",
        "0)\n\t\treturn;", ADDRESSES, folder=CORE),
    "who-looks-at-the-address-before-is-waited-for": Mutant(
        "addresses", "session/kfb_client.c",
        "if (q->engine.state != KFB_CONN_CONNECTING)\n\t\t\tcontinue;", "continue;",
        ADDRESSES, folder=CORE),
    "a-refusal-is-tried-elsewhere": Mutant(
        "addresses", "session/kfb_client.c", "if (!len && kfb_client_tries", "if (kfb_client_tries",
        ADDRESSES, folder=CORE),
    "flush-answered-by-an-older-one": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "__u64 id = q->flush_ids[outcome->slot];", "__u64 id = q->flush.last_id;",
        UNIT + "lib-resume", folder=CORE),
    "failed-flush-leaves-nothing-dirty": Mutant(
        "flushing", "data/kfb_flush.c",
        "\tif (error) {\n\t\tkfb_flush_give_back(queue, op);\n",
        "\tif (error) {\n\t\tif (op->covers > queue->flushed)\n"
        "\t\t\tqueue->flushed = op->covers;\n",
        UNIT + "core-client_model", folder=CORE),
    "failed-flush-is-not-told": Mutant(
        "flushing", "kfb_initiator_flush.c", "i->untold_error = -EIO;", "",
        INITIATOR, folder=CORE),
    "failed-flush-is-told-to-a-durable-write": Mutant(
        "flushing", "flush.c", "op->flush.is_told = !op->durable;",
        "op->flush.is_told = 1;", UNIT + "lib-doubt", folder=LIB),
    "flush-that-begins-again-forgets": Mutant(
        "flushing", "data/kfb_flush.c",
        "ticket_again(struct kfb_flush_ticket *ticket)\n{\n",
        "ticket_again(struct kfb_flush_ticket *ticket)\n{\n\tticket->error = 0;\n",
        INITIATOR, folder=CORE),
    "core-ticket-that-begins-again-forgets": Mutant(
        "flushing", "data/kfb_flush.c",
        "ticket_again(struct kfb_flush_ticket *ticket)\n{\n",
        "ticket_again(struct kfb_flush_ticket *ticket)\n{\n\tticket->error = 0;\n",
        UNIT + "core-flush", folder=CORE),
    "flush-without-ops-ends-well": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "if (!kfb_initiator_flush_join(i, flush))\n"
        "\t\t\tkfb_initiator_flush_finish(i, flush,\n"
        "\t\t\t\t\t\t   flush->ticket.error);",
        "if (!kfb_initiator_flush_join(i, flush))\n"
        "\t\t\tkfb_initiator_flush_finish(i, flush, 0);",
        INITIATOR, folder=CORE),
    "window-that-never-shrinks": Mutant(
        "windows", "data/kfb_window.c", "if (limit < w->limit_bytes)", "if (0)",
        WINDOW, folder=CORE),
    "window-that-never-grows": Mutant(
        "windows", "data/kfb_window.c", "w->limit_bytes += len;", "",
        WINDOW, folder=CORE),
    "window-that-grows-unused": Mutant(
        "windows", "data/kfb_window.c",
        "w->in_flight_bytes >= kfb_window_piece_max(w)", "1",
        WINDOW, folder=CORE),
    "window-that-one-at-a-time-does-not-use": Mutant(
        "windows", "data/kfb_window.c", "w->in_flight_bytes >= kfb_window_piece_max(w)",
        "w->in_flight_bytes * KFB_WINDOW_PIECES >= w->limit_bytes",
        WINDOW, folder=CORE),
    "window-that-learns-no-longer-way": Mutant(
        "windows", "data/kfb_window.c", "\t\t\tw->shortest_ms = took_ms;\n\t\t}\n", "\t\t}\n",
        WINDOW, folder=CORE),
    "rest-of-a-piece-dies": Mutant(
        "windows", "io.c", "\t\tctx->len += ctx->rest;\n", "",
        UNIT + "lib-resume", folder=LIB),
    "window-that-holds-the-way-against-a-link": Mutant(
        "windows", "data/kfb_window.c", "may_take_ms = w->shortest_ms + w->target_ms;",
        "may_take_ms = w->target_ms;", WINDOW, folder=CORE),
    "window-without-a-least": Mutant(
        "windows", "data/kfb_window.c", "if (limit < KFB_WINDOW_MIN_BYTES)", "if (0)",
        WINDOW, folder=CORE),
    "window-that-lets-in-what-does-not-fit": Mutant(
        "windows", "data/kfb_window.c", "w->in_flight_bytes + piece > w->limit_bytes", "0",
        WINDOW, folder=CORE),
    "request-without-an-answer-hides-silence": Mutant(
        "silence", "engine/kfb_engine.c", "e->calls[i].op == KFB_OP_PING &&\n\t\t    ", "",
        SILENCE, folder=CORE),
    "unmaps-take-the-last-credit": Mutant(
        "silence", "engine/kfb_engine.c", "if (kfb_op_is(op, KFB_OP_URGENT))\n\t\treturn 1;",
        "if (kfb_op_is(op, KFB_OP_URGENT))\n\t\treturn 0;", UNIT + "core-engine", folder=CORE),
    "message-becomes-a-readback": Mutant(
        "flushes", "kfb_initiator_flush.c", "mode == KFB_FLUSH_READBACK && kfb_initiator_is_dirty(i))",
        "0)", INITIATOR, folder=CORE),
    "flush-under-way-keeps-a-credit": Mutant(
        "calls", "engine/kfb_engine.c", "op == KFB_OP_FLUSH || kfb_engine_waits_for(e, KFB_OP_FLUSH)",
        "op == KFB_OP_FLUSH", UNIT + "core-engine", folder=CORE),
    "new-request-overtakes-what-is-sent-again": Mutant(
        "calls", "engine/kfb_engine.c", "\tif (kfb_engine_resends(e))\n", "\tif (0)\n",
        UNIT + "core-engine", folder=CORE),
    "unmap-is-sent-once-for-each-who-asks": Mutant(
        "calls", "kfb_initiator_call.c", "\tif (slot < 0)\n\t\treturn 0;\n",
        "\tif (slot < 0 || 1)\n\t\treturn 0;\n", REQUESTS, folder=CORE),
    "mapping-is-given-back-twice": Mutant(
        "calls", "kfb_initiator_call.c", "kfb_initiator_unmap_slot(i, &req.u.unmap) < 0 &&", "",
        REQUESTS, folder=CORE),
    "failure-is-not-told-to-those-who-are-due": Mutant(
        "flushes", "kfb_initiator_flush.c", "\t\tkfb_initiator_tell_those_due(i);\n", "",
        REQUESTS, folder=CORE),
    "flush-of-nobody-takes-time-from-others": Mutant(
        "calls", "kfb_initiator_flush.c", "\tif (!any)\n\t\tq->refused_until_ms = 0;\n", "",
        REQUESTS, folder=CORE),
    "flush-that-has-room-is-given-up": Mutant(
        "calls", "kfb_initiator_flush.c", "\t\tkfb_initiator_post_ops(q);\n\t\tif (!q->flush_until_ms)",
        "\t\tif (0)", REQUESTS, folder=CORE),
    "flush-has-no-credit-of-its-own": Mutant(
        "calls", "engine/kfb_engine.c", "return KFB_CREDITS_RESERVED + 1;", "return KFB_CREDITS_RESERVED;",
        REQUESTS, folder=CORE),
    "ping-without-a-credit-has-a-time": Mutant(
        "silence", "engine/kfb_engine.c", "e->lease_ms && e->credits.available)",
        "e->lease_ms)", SILENCE, folder=CORE),
    "moving-bytes-are-silence": Mutant(
        "windows", "session/kfb_client.c", "\t\tkfb_client_heard(c, queue, now_ms);\n\t}\n\tq->moved",
        "\t}\n\tq->moved",
        SILENCE, folder=CORE),
    "a-ping-that-arrives-is-life": Mutant(
        "windows", "session/kfb_client.c", "bytes - q->moved_bytes < KFB_CLIENT_MOVED_MIN_BYTES",
        "bytes == q->moved_bytes",
        SILENCE, folder=CORE),
    "what-moved-before-is-life": Mutant(
        "windows", "session/kfb_client_next.c", "q->is_marked = 0;", "q->is_marked = 1;",
        SILENCE, folder=CORE),
    "ping-with-a-time-of-its-own": Mutant(
        "windows", "session/kfb_client_next.c", "op == KFB_OP_PING ? KFB_ENGINE_NO_TIMEOUT",
        "0 ? KFB_ENGINE_NO_TIMEOUT", SILENCE, folder=CORE),
    "flush-begins-with-an-old-error": Mutant(
        "flushing", "kfb_initiator_flush.c", "kfb_flush_ticket_init(&flush->ticket);",
        "", INITIATOR, folder=CORE),
    "flush-shares-an-older-one": Mutant(
        "flushing", "data/kfb_flush.c",
        "if (queue->newest && queue->newest->covers == queue->completed)",
        "if (queue->newest)", UNIT + "core-flush", folder=CORE),
    "newest-op-stays-when-it-is-done": Mutant(
        "flushing", "data/kfb_flush.c",
        "\tif (op == queue->newest)\n\t\tqueue->newest = NULL;\n", "",
        UNIT + "core-flush", folder=CORE),
    "op-covers-nothing-that-others-may-fail-to": Mutant(
        "flushing", "data/kfb_flush.c",
        "kfb_dirty_merge(&op->dirty, &queue->ops[i].dirty);", ";",
        UNIT + "core-flush", folder=CORE),
    "op-forgets-who-joined-before": Mutant(
        "flushing", "data/kfb_flush.c",
        "\tif (!queue->next)\n\t\tkfb_flush_add_op(queue);\n",
        "\tif (queue->next)\n\t\tqueue->next->id = 0;\n\tkfb_flush_add_op(queue);\n",
        UNIT + "core-flush", folder=CORE),
    "flush-names-too-little": Mutant(
        "flushing", "data/kfb_flush.c", "kfb_dirty_add(set, va, len);",
        "kfb_dirty_add(set, va, (len + 1) / 2);", UNIT + "core-flush", folder=CORE),
    "late-refusal-of-a-flush-is-not-told": Mutant(
        "flushing", "kfb_initiator_call.c",
        "if (outcome->op == KFB_OP_FLUSH)",
        "if (outcome->op == KFB_OP_FLUSH && outcome->kind == KFB_OUTCOME_REPLY)",
        INITIATOR, folder=CORE),
    "late-page-ends-its-mapping": Mutant(
        "sessions", "kfb_initiator_call.c",
        "req->op == KFB_OP_MAP && !req->u.map.mapping_id;",
        "req->op == KFB_OP_MAP;", REQUESTS, folder=CORE),
    "late-mapping-stays": Mutant(
        "sessions", "kfb_initiator_call.c", "i->late[i->n_late++].is_sent = 0;\n\tkfb_initiator_pump_calls(i);", ";",
        REQUESTS, folder=CORE),
    "call-goes-into-another-session": Mutant(
        "sessions", "kfb_initiator_call.c",
        "call->in_session != i->client.session_id", "0", REQUESTS, folder=CORE),
    "write-that-waits-is-a-loss": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "\telse\n\t\tkfb_dirty_merge(&told, &fua);\n", "\tkfb_dirty_merge(&told, &fua);\n",
        INITIATOR, folder=CORE),
    "write-that-waits-hides-what-it-covers": Mutant(
        "flushing", "data/kfb_flush.c", "kfb_flush_note(queue, &queue->fua, va, len);",
        "kfb_flush_note(queue, &queue->fua, va, len);\n"
        "\tkfb_dirty_cut(&queue->dirty, va, len, &queue->fua);", INITIATOR, folder=CORE),
    "write-that-waits-is-not-flushed": Mutant(
        "flushing", "data/kfb_flush.c", "kfb_dirty_move(&op->fua, &queue->fua);",
        "kfb_dirty_clear(&queue->fua);", UNIT + "core-flush", folder=CORE),
    "request-names-no-write-that-waits": Mutant(
        "flushing", "data/kfb_flush.c", "kfb_dirty_merge(&both, &op->fua);", "", UNIT + "core-flush", folder=CORE),
    "loss-leaves-who-waits": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "if (!flush->is_of_write || !i->ops->take_back)", "if (0)",
        INITIATOR, folder=CORE),
    "copies-are-no-help": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "if (i->retains) {", "if (0) {", INITIATOR, folder=CORE),
    "flush-before-the-copies": Mutant(
        "flushing", "kfb_initiator_flush.c", " || i->replay_due)\n\t\treturn 0;",
        ")\n\t\treturn 0;", INITIATOR, folder=CORE),
    "copies-stay-where-they-are": Mutant(
        "replay", "kfb_initiator_flush.c",
        "!kfb_dirty_is_empty(&told) || !kfb_dirty_is_empty(&fua);", "0;", KEPT, folder=CORE),
    "second-loss-goes-on": Mutant(
        "replay", "kfb_initiator_flush.c", "q->initiator->retain.has_failed = 1;", "",
        REPLAY, folder=CORE),
    "flush-is-told-of-the-end-twice": Mutant(
        "sessions", "io.c", " && op->kind != KFBL_OP_FLUSH)", ")",
        UNIT + "lib-resume", folder=LIB),
    "operation-after-the-end-waits": Mutant(
        "sessions", "io.c", "if (k->core.is_over) {", "if (0) {",
        UNIT + "lib-resume", folder=LIB),
    "write-waits-for-a-flush-that-fails": Mutant(
        "replay", "retain.c",
        "op->waits_for_room ? k->core.retain.error : 0;", "0;", KEPT, folder=LIB),
    "what-others-write-has-copies": Mutant(
        "replay", "map.c", "if (rw && shared && k->retain.n_pages)", "if (0)", KEPT, folder=LIB),
    "what-others-write-is-not-read": Mutant(
        "replay", "map.c", "if (rw && shared && k->retain.n_pages)",
        "if (shared && k->retain.n_pages)", KEPT, folder=LIB),
    "search-goes-to-sleep": Mutant(
        "replay", "progress.c", "\tled_on |= k->has_changed;\n", "", KEPT, folder=LIB),
    "copies-go-without-a-lease": Mutant(
        "replay", "kfb_initiator_replay.c", "if (!kfb_initiator_is_usable(i))", "if (0)",
        REPLAY, folder=CORE),
    "copy-that-cannot-go-is-tried-for-ever": Mutant(
        "replay", "kfb_initiator_replay.c", "kfb_initiator_replay_failed(i, kfb_is_at_fault(rc));",
        "kfb_initiator_replay_failed(i, 0);",
        REPLAY, folder=CORE),
    "copies-go-while-some-are-under-way": Mutant(
        "replay", "kfb_initiator_replay.c", "\tif (t->in_flight)\n\t\treturn;\n", "",
        REPLAY, folder=CORE),
    "copy-kills-connections-for-ever": Mutant(
        "replay", "kfb_initiator_replay.c", "t->strikes += t->runs && is_at_fault;", "",
        REPLAY, folder=CORE),
    "short-memory-is-final": Mutant(
        "restore", REFUSALS, "\t{ KFB_OF(MAP), -ENOMEM, KFB_PATIENCE_RESTORE },\n", "", MAP_TRY,
        folder=CORE),
    "refusals-pass-for-ever": Mutant(
        "restore", "blocks/kfb_map_try.c", " ||\n\t    now_ms >= t->until_ms", "", MAP_TRY, folder=CORE),
    "next-try-does-not-wait-either": Mutant(
        "restore", "blocks/kfb_map_try.c", "t->flags &= ~KFB_MAP_NOWAIT;", ";", MAP_TRY, folder=CORE),
    "mapping-of-a-bad-page-is-unknown": Mutant(
        "restore", "blocks/kfb_map_try.c", "t->mapping_id = page->mapping_id;", ";", MAP_TRY, folder=CORE),
    "refusal-is-another-owner": Mutant(
        "restore", "restore.c", "is_stale ? KFB_LOSS_BIRTH : KFB_LOSS_REFUSED", "KFB_LOSS_BIRTH",
        UNIT + "lib-resume", folder=LIB),
    "what-was-given-up-is-written-later": Mutant(
        "replay", "kfb_initiator_replay.c",
        "kfb_retain_flushed(&t->book, kfb_retain_mark(&t->book));", ";", REPLAY, folder=CORE),
    "memory-goes-while-the-network-reads-it": Mutant(
        "replay", "data/kfb_retain.c", "if (r->is_read)", "if (0)", REPLAY, folder=CORE),
    "memory-is-kept-for-what-was-not-posted": Mutant(
        "replay", "kfb_initiator_replay.c", "\t\tkfb_initiator_replay_is_read(i);\n\t\treturn rc;",
        "\t\treturn rc;", REPLAY, folder=CORE),
    "alloc-of-what-is-not-shown-has-no-end": Mutant(
        "calls", "requests.c", "(rc != -EEXIST || kfbl_now_ms() >= until_ms)", "rc != -EEXIST",
        UNIT + "lib-control", folder=LIB),
    "copies-without-a-place-hold-their-disk": Mutant(
        "replay", "kfb_initiator_replay.c",
        "kfb_initiator_replay_give_up(i);\n\t\ti->ops->kick(i);",
        "kfb_initiator_replay_give_up(i);", REPLAY, folder=CORE),
    "lossy-disk-writes-copies": Mutant(
        "replay", "kfb_initiator_flush.c", "\t\ti->replay_due = 0;\n\t\ti->ops->writes_lost",
        "\t\ti->ops->writes_lost", REPLAY, folder=CORE),
    "lossy-disk-keeps-copies": Mutant(
        "replay", "kfb_initiator_flush.c", "\t\ti->retains = 0;\n", "", REPLAY, folder=CORE),
    "strikes-are-anothers": Mutant(
        "replay", "kfb_initiator_replay.c", "t->runs = 0;\n\tt->strikes = 0;",
        "t->runs = 0;", REPLAY, folder=CORE),
    "strikes-of-what-was-given-up-count": Mutant(
        "replay", "kfb_initiator_replay.c", "t->runs && is_at_fault",
        "is_at_fault", REPLAY, folder=CORE),
    "dead-mapping-stays": Mutant(
        "sessions", "map.c", "is_there = !mapping->error && (", "is_there = (",
        UNIT + "lib-resume", folder=LIB),
    "accepted-loss-fails-writes": Mutant(
        "replay", "flush.c", "k->core.retain.error = 0;", ";", KEPT, folder=LIB),
    "network-is-the-copys-fault": Mutant(
        "replay", "kfb_initiator.c", "\tcase -ETIMEDOUT:\n\t\treturn 0;", "\t\treturn 0;",
        REPLAY, folder=CORE),
    "copies-meet-a-write-under-way": Mutant(
        "replay", "kfb_initiator_replay.c", "\tif (rc)\n\t\treturn;\n\tt->runs = 1;",
        "\tt->runs = 1;", REPLAY, folder=CORE),
    "copies-that-are-written-are-clean": Mutant(
        "replay", "kfb_initiator_replay.c",
        "\tkfb_flush_wrote(&q->flush, t->parts[slot].va, t->parts[slot].len);\n", "", REPLAY, folder=CORE),
    "room-is-never-made": Mutant(
        "replay", "kfb_initiator_retain.c", "bits |= KFB_COPY_FILLS;", ";",
        KEPT, folder=CORE),
    "a-flush-leaves-copies": Mutant(
        "replay", "kfb_initiator_retain.c", "kfb_retain_flushed(&t->book, flush->mark);",
        ";", KEPT, folder=CORE),
    "copies-of-a-dead-mapping-stay": Mutant(
        "replay", "restore.c",
        "\tkfb_initiator_retain_drop(&k->core, mapping->range.va, len);\n", "",
        KEPT, folder=LIB),
    "copies-of-what-is-unmapped-stay": Mutant(
        "replay", "map.c",
        "\tkfb_initiator_retain_drop(&k->core, mapping->range.va, len);\n", "",
        KEPT, folder=LIB),
    "others-go-before-copies": Mutant(
        "replay", "io.c", "k->core.replay_due ||", "0 ||", KEPT, folder=LIB),
    "writes-stay-on-an-unused-queue": Mutant(
        "flushing", "kfb_initiator_flush.c",
        "q->index && i->session_id != i->client.session_id", "0",
        INITIATOR, folder=CORE),
    "join-believed-without-proof": Mutant(
        "proofs", "engine/kfb_engine_join.c",
        "if (!kfb_auth_equal(proof, accept->proof, sizeof(proof)))", "if (0)",
        UNIT + "core-squatter", folder=CORE),
    "accept-proof-of-any-join": Mutant(
        "proofs", "kfb_auth.c",
        "kfb_fields_add(&fields, hello, KFB_HELLO_BYTES);\n\tkfb_fields_add(&fields, &unproven",
        "kfb_fields_add(&fields, hello, 4);\n\tkfb_fields_add(&fields, &unproven",
        UNIT + "core-engine", folder="proto"),
    "refused-auth-ends-the-client": Mutant(
        "proofs", "session/kfb_client.c", "rc == -ESTALE && !out->status", "rc == -EKEYREJECTED",
        UNIT + "core-squatter", folder=CORE),
    "stale-ends-what-is-kept": Mutant(
        "proofs", "session/kfb_client_ask.c", "q->engine = c->kept;",
        "kfb_engine_init(&q->engine, &c->kept.config, c->kept.tx);",
        UNIT + "core-squatter", folder=CORE),
    "former-session-not-named": Mutant(
        "proofs", "session/kfb_client_ask.c", "config.former_session_id = c->session_id;", "",
        UNIT + "core-squatter", folder=CORE),
    "time-runs-while-away": Mutant(
        "sessions", "engine/kfb_engine.c", "if (call->abandoned || call->resend ||",
        "if (call->abandoned ||", UNIT + "core-client", folder=CORE),
    # Blocks, and the cache of their mappings.
    "key-that-dies-is-used": Mutant(
        "blocks", "blocks/kfb_block.c", "ON(UNMAP, UNMAPPING, UNLIST)", "ON(UNMAP, MAPPED, UNLIST)",
        BLOCK, folder=CORE),
    "what-is-not-mapped-is-used": Mutant(
        "blocks", "blocks/kfb_block.c", "ON(FAILED, UNMAPPED, RELEASE)",
        "ON(FAILED, MAPPED, RELEASE)", BLOCK, folder=CORE),
    "every-move-is-made": Mutant(
        "blocks", "blocks/kfb_block.c", "\tif (!(move->does & MOVE))\n\t\treturn -EINVAL;\n", "",
        BLOCK, folder=CORE),
    "room-is-never-given-back": Mutant(
        "blocks", "blocks/kfb_mapcache.c", "\t\tc->n--;\n", "", BLOCK, folder=CORE),
    "pinned-blocks-are-evicted": Mutant(
        "blocks", "blocks/kfb_mapcache.c", "KFB_BLOCK_DO_UNPINNED) && node->pins)",
        "KFB_BLOCK_DO_UNPINNED) && 0)", BLOCK, folder=CORE),
    "cache-holds-one-more": Mutant(
        "blocks", "blocks/kfb_mapcache.c", "c->n >= c->limit)", "c->n > c->limit)",
        BLOCK, folder=CORE),
    "quiet-blocks-are-pinned": Mutant(
        "blocks", "blocks/kfb_mapcache.c", "if (c->blocks[block].state != KFB_BLOCK_MAPPED)",
        "if (!kfb_block_is_readable(&c->blocks[block]))", BLOCK, folder=CORE),
    "quiet-blocks-are-evicted-again": Mutant(
        "blocks", "blocks/kfb_mapcache.c",
        "while (block != NONE && c->blocks[block].state != KFB_BLOCK_MAPPED)", "while (0)",
        UNIT + "core-mapcache", folder=CORE),
    # Copies of writes, and which of their bytes are written again.
    "copies-meet-writes-under-way": Mutant(
        "replay", "data/kfb_retain.c", "\tif (r->n_flight)\n\t\treturn -EBUSY;\n", "",
        COPIES, folder=CORE),
    "older-copies-are-written": Mutant(
        "replay", "data/kfb_retain.c", "\t\tkfb_cut(r, at);\n",
        "\t\tat->newer = kfb_copy_at(r, at->newer)->older;\n", COPIES, folder=CORE),
    "failed-writes-hide-copies": Mutant(
        "replay", "data/kfb_retain.c", "if (newer->state != KFB_COPY_KEPT || newer->va > last",
        "if (newer->va > last", COPIES, folder=CORE),
    "what-is-flushed-is-written": Mutant(
        "replay", "data/kfb_retain.c", "copy->state == KFB_COPY_KEPT && copy->done > r->safe",
        "copy->state == KFB_COPY_KEPT && copy->done", COPIES, folder=CORE),
    "fua-is-not-durable": Mutant(
        "replay", "data/kfb_retain.c", "\tkfb_copy_at(r, id)->done = 0;\n\tkfb_retain_trim(r);\n", "",
        COPIES, folder=CORE),
    "fua-hides-nothing": Mutant(
        "replay", "data/kfb_retain.c", "kfb_copy_at(r, id)->done = 0;\n",
        "r->bytes -= kfb_copy_at(r, id)->len;\n\tkfb_copy_at(r, id)->state = KFB_COPY_VOID;\n",
        COPIES, folder=CORE),
    "rest-behind-a-newer-copy-is-left": Mutant(
        "replay", "data/kfb_retain.c", "\tat->offset += n;\n\tat->len -= n;\n",
        "\tat->offset += at->len;\n\tat->len = 0;\n",
        COPIES, folder=CORE),
    "bytes-before-a-newer-copy-are-left": Mutant(
        "replay", "data/kfb_retain.c", "\t\tat->len = newer->va - va;\n\t\treturn;\n",
        "\t\tat->offset += newer->va - va;\n\t\tat->len -= newer->va - va;\n\t\treturn;\n",
        COPIES, folder=CORE),
    "flush-covers-what-was-written-again": Mutant(
        "replay", "data/kfb_retain.c", "kfb_copy_at(r, id)->done = r->clock;", ";", COPY, folder=CORE),
    "newer-copies-go-first": Mutant(
        "replay", "data/kfb_retain.c",
        "if (copy->state == KFB_COPY_POSTED || kfb_is_due(r, copy))\n\t\t\treturn;",
        "if (copy->state == KFB_COPY_POSTED)\n\t\t\treturn;", COPIES, folder=CORE),
    "two-writes-to-the-same-bytes": Mutant(
        "replay", "data/kfb_retain.c", " ||\n\t    kfb_retain_is_in_flight(r, va, last))", ")",
        COPY, folder=CORE),
    "blocks-of-one-list-are-one-block": Mutant(
        "replay", "data/kfb_retain.c", "newer->va > last || end < va)", "0)",
        COPIES, folder=CORE),
    "copy-crosses-blocks": Mutant(
        "replay", "data/kfb_retain.c",
        "\tif ((va ^ last) >> KFB_BLOCK_SHIFT)\n\t\treturn -EINVAL;\n", "", COPY, folder=CORE),
    "gone-numbers-are-others": Mutant(
        "replay", "data/kfb_retain.c", "return id >= r->tail && id < r->head &&\n\t       kfb_copy_at",
        "return kfb_copy_at", COPY, folder=CORE),
    "looks-on-without-end": Mutant(
        "replay", "data/kfb_retain.c", "\t\tif (!steps)\n\t\t\treturn -EAGAIN;\n", "",
        COPY, folder=CORE),
    "passed-copies-are-no-steps": Mutant(
        "replay", "data/kfb_retain.c", "kfb_go_to(at, at->id + 1);\n",
        "kfb_go_to(at, at->id + 1);\n\t\t\tsteps++;\n", COPY, folder=CORE),
    "what-came-meanwhile-hides-nothing": Mutant(
        "replay", "data/kfb_retain.c", "if (!at->len || at->head != r->head)", "if (!at->len)",
        COPY, folder=CORE),
    # What a brick may answer to LIST.
    "list-may-be-short": Mutant(
        "hostile bricks", "blocks/kfb_list.c", "return reply->n_extents == kfb_list_page_max(list) &&",
        "return", LIST, folder=CORE),
    "list-may-stand-still": Mutant(
        "hostile bricks", "blocks/kfb_list.c", "reply->cursor >> shift >= at", "1", LIST, folder=CORE),
    "list-rises-by-bytes": Mutant(
        "hostile bricks", "blocks/kfb_list.c", "if (!mine && reply->cursor & BLOCK_MASK)",
        "if (0)", LIST, folder=CORE),
    "list-may-overlap": Mutant(
        "hostile bricks", "blocks/kfb_list.c", "if (first < at)", "if (mine && first < at)", LIST, folder=CORE),
    "list-of-any-mappings": Mutant(
        "hostile bricks", "blocks/kfb_list.c", "if (first < at)", "if (!mine && first < at)",
        LIST, folder=CORE),
    # What a brick may answer to MAP.
    "map-page-of-another-mapping": Mutant(
        "hostile bricks", "blocks/kfb_blockmap.c", " || page->mapping_id != mapping_id)", ")",
        UNIT + "core-blockmap", folder=CORE),
    "map-pages-without-an-end": Mutant(
        "hostile bricks", "blocks/kfb_blockmap.c", " || !page->cursor != (next == end))", ")",
        UNIT + "core-blockmap", folder=CORE),
    "list-is-not-checked": Mutant(
        "hostile bricks", "requests.c", "if (kfb_list_check(&req.u.list, reply))", "if (0)",
        UNIT + "lib-control", folder=LIB),
    "alloc-of-a-former-session-is-somebody-elses": Mutant(
        "calls", "requests.c", "(rc == -ECONNRESET ? kfbl_is_over(k) || now : !was_sent)",
        "(rc != -ECONNRESET || kfbl_is_over(k) || now)", UNIT + "lib-control", folder=LIB),
    "blocks-that-are-hidden-are-freed": Mutant(
        "calls", "requests.c", "if (!is_absent(k, va, n_blocks))",
        "if (!is_absent(k, va, n_blocks) && 0)", UNIT + "lib-control", folder=LIB),
    "mapping-that-the-brick-keeps-is-forgotten": Mutant(
        "calls", "map.c", "\tif (is_there && rc != -ETIMEDOUT)\n\t\treturn rc;\n", "",
        UNIT + "lib-control", folder=LIB),
    "mapping-that-the-brick-keeps-is-asked-for-once": Mutant(
        "calls", "kfb_initiator_call.c", "\ti->late[i->n_late++].is_sent = 0;\n\ti->late_at_ms", "\ti->late_at_ms",
        REQUESTS, folder=CORE),
    "mapping-that-is-not-flushed-is-given-up": Mutant(
        "calls", "map.c", "\tif (unmap_leaves(flushed))\n\t\treturn flushed;\n", "",
        UNIT + "lib-io", folder=LIB),
    "unmap-that-is-refused-tells-losses-twice": Mutant(
        "calls", "map.c", "if (!kfb_losses_error(&k->core.losses))\n\t\t\tk->core",
        "k->core", UNIT + "lib-doubt", folder=LIB),
    "unmap-that-is-refused-owes-nothing": Mutant(
        "calls", "map.c", "\t\towe_flush(k, &mapping->range, flushed);\n",
        "", UNIT + "lib-doubt", folder=LIB),
    # What a loss has taken of writes that nobody knows the end of.
    "write-that-was-lost-in-part-completes": Mutant(
        "losses", "flush.c", "if (!op->error && is_torn(k, op))",
        "if (!op->error && is_torn(k, op) && op->durable)", UNIT + "lib-doubt", folder=LIB),
    "write-that-was-lost-uncollected-completes": Mutant(
        "losses", "flush.c", "return op->state != KFBL_OP_FREE &&",
        "return op->state == KFBL_OP_ACTIVE &&", UNIT + "lib-doubt", folder=LIB),
    "write-fails-of-an-earlier-loss": Mutant(
        "losses", "flush.c", "op->uncommitted && op->losses_before != losses->n &&",
        "op->uncommitted &&", UNIT + "lib-doubt", folder=LIB),
    "write-fails-of-the-loss-of-others": Mutant(
        "losses", "flush.c", "\n\t       kfb_dirty_overlaps(&losses->ranges, op->va, op->len);",
        "\n\t       op->len;", UNIT + "lib-doubt", folder=LIB),
    "memory-behind-the-copies-is-registered": Mutant(
        "retention", "connect.c", "\t\t\t\t  kfbl_retain_bytes(&k->retain),\n",
        "\t\t\t\t  (size_t)k->retain.want_bytes,\n", KEPT, folder=LIB),
    # What waits for room for its copy.
    "write-fails-of-an-earlier-flush": Mutant(
        "retention", "retain.c", "op->waits_for_room ? k->core.retain.error : 0;",
        "k->core.retain.error;", KEPT, folder=LIB),
    "all-writes-fail-of-one-flush": Mutant(
        "retention", "retain.c", "\top->waits_for_room = true;\n\tk->core.retain.error = 0;\n",
        "\top->waits_for_room = true;\n", KEPT, folder=LIB),
    # What programs of later versions ask for.
    "reserved-settings-are-ignored": Mutant(
        "versions", "connect.c", "||\n\t    has_reserved(&whole))", ")", UNIT + "lib-abi", folder=LIB),
    "later-reservation-is-made-without": Mutant(
        "versions", "reserve.c", "if (kfbl_take_sized(&known, sizeof(known), want, want->size))",
        "if (kfbl_take_sized(&known, sizeof(known), want, sizeof(known)))", UNIT + "lib-abi", folder=LIB),
    # A mapping that did not outlive a loss.
    "dead-mapping-is-looked-for-where-it-begins": Mutant(
        "restoring", "io.c", "covered = kfbl_mapping_covers(k, va, len, write, &dead);",
        "covered = kfbl_mapping_covers(k, va, 1, write, &dead);", UNIT + "lib-resume", folder=LIB),
    # What is unmapped before it could be flushed.
    "flush-reads-where-it-was-written-alone": Mutant(
        "losses", "session.c", "\t.locate_any = kfbl_flush_locate_any,\n", "", UNIT + "lib-doubt", folder=LIB),
    "flush-without-mappings-fails": Mutant(
        "losses", "kfb_initiator_flush.c", "\tif (rc == -ENODATA)\n\t\treturn KFB_FLUSH_IS_OVER;\n", "",
        INITIATOR, folder=CORE),
    # Sessions that were given up.
    "who-waits-for-nobody-has-no-try": Mutant(
        "retaking", "session/kfb_client.c",
        "if (!c->config.reconnect_ms)\n\t\t\tq->give_up_ms", "if (0)\n\t\t\tq->give_up_ms", RETAKE, folder=CORE),
    "old-session-is-joined-again": Mutant(
        "retaking", "session/kfb_client_ask.c", "c->is_doubted = c->is_retaken;",
        "c->is_doubted = 0;", RETAKE, folder=CORE),
}
