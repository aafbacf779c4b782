# SPDX-License-Identifier: BSD-2-Clause
"""The known ways to break brickd, for tests/mutate.

`noticed_by` is PROGRAM:TEST:CASE: a brickd of the build, a test of this folder
that runs it, and which of its cases.
"""
from mutants import Mutant

BASE = "brickd/base"
NET = "brickd/net"
OP = "brickd/op"
SESSION = "brickd/session"
FENCING = "tests/func/brickd-fencing:fencing:Fencing."
HELD = "tests/func/brickd-held:regrant:Regrant."
PLAIN = "brickd/brickd:"
RESERVED = PLAIN + "reservations:Reservations."
RESERVING = "tests/func/brickd-fencing:reservations:Reservations."
LIMITS = "tests/func/brickd-slow:limits:Limits."
SLOW_KEY = ("tests/func/brickd-slow:sessions:"
            "SlowDevice.test_a_key_that_stays_costs_its_session_the_connection")
QUOTAS = PLAIN + "quotas:Quotas."
RATES = PLAIN + "rates:Rates."
CONFIG = "tests/unit/brickd/test-brickd-config"
FAILED_AUTHS = PLAIN + "logs:Logs.test_what_needs_no_key_hides_no_failed_authentication"
LOG = "tests/unit/brickd/test-brickd-log"
UNREAD = PLAIN + "logs:Logs.test_a_log_that_nobody_reads_for_now_keeps_no_client_waiting"
NOTIFY = "tests/unit/brickd/test-brickd-notify"
BOUNDED = PLAIN + "logs:Logs.test_clients_that_have_a_key_make_no_more_lines_than_others"
LISTEN = "tests/unit/brickd/test-brickd-listen"
ARRIVING = "tests/unit/stcp/test-stcp-arriving"
MOVED = "tests/unit/stcp/test-stcp-moved"
PLACE = "tests/unit/stcp/test-stcp-place"
LOSSES = "tests/unit/brickd/test-brickd-losses"
STRICT = "tests/unit/stcp/test-stcp-strict"
SENT_IN_TURNS = "tests/unit/stcp/test-stcp-turns"
TURNS = "tests/unit/brickd/test-brickd-flush_turns"
CHANGES = "tests/unit/brickd/test-brickd-changes"
WORK = "tests/unit/brickd/test-brickd-work"
RESERVE = "tests/unit/brickd/test-brickd-tier_reserve"
BELL = "tests/unit/brickd/test-brickd-bell"
FLOW = "tests/unit/brickd/test-brickd-flow"
SESSIONS = "tests/unit/brickd/test-brickd-sessions"
SESSION_END = "tests/unit/brickd/test-brickd-session_end"
USAGE = "tests/unit/brickd/test-brickd-usage"
EVENT = "tests/unit/brickd/test-brickd-event"
GAUGES = "tests/unit/brickd/test-brickd-gauges"
HOLDINGS = "tests/unit/brickd/test-brickd-holdings"
MAPPING = "tests/unit/brickd/test-brickd-mapping"
RESERVATIONS = "tests/unit/brickd/test-brickd-reservations"
DURABILITY = "tests/unit/brickd/test-brickd-durability"
COMMITS = "tests/unit/brickd/test-brickd-durable_write"
LOCKS = "tests/unit/brickd/test-brickd-range_locks"
PIECES = PLAIN + "loop_pieces:Pieces"

BRICKD_MUTANTS = {
    "join-not-proven-to-the-client": Mutant(
        "proofs", "session.c", "if (hello->session_id)\n\t\trc = brick_auth_prove_join",
        "if (0)\n\t\trc = brick_auth_prove_join", PLAIN + "sessions:Joins", folder=SESSION),
    "former-session-lives-on": Mutant(
        "proofs", "op_auth.c", "\tend_former(op, client);\n", "\t(void)end_former;\n",
        PLAIN + "sessions:Joins", folder=OP),
    "former-session-of-anybody": Mutant(
        "proofs", "op_auth.c", "former != op->session && former->client == client",
        "former != op->session", PLAIN + "sessions:Joins", folder=OP),
    "key-that-does-not-close-is-taken-for-revoked": Mutant(
        "fences", "op_unmap.c", "\tif (op->error)\n\t\tend_owner(op);\n\telse\n\t\tunmap_closed(op);\n}\n\n/* The mapping",
        "\tunmap_closed(op);\n}\n\n/* The mapping",
        FENCING + "test_a_key_that_does_not_close_ends_its_session_before_unmap_is_answered",
        folder=OP),
    "session-goes-on-with-a-key-that-does-not-close": Mutant(
        "fences", "op_unmap.c", "brick_session_fence(op->owner, \"a key cannot be revoked\");",
        "brick_session_disconnect(op->owner, LOG_WARNING, \"a key cannot be revoked\");",
        FENCING + "test_a_key_that_does_not_close_ends_its_session_before_unmap_is_answered",
        folder=OP),
    "unmap-with-a-living-key-does-not-wait-for-the-endpoints": Mutant(
        "fences", "op_unmap.c", "\t\tif (op->owner->n_conns)\n\t\t\tcontinue;\n", "",
        SESSION_END, folder=OP),
    "device-has-all-the-time-for-a-key": Mutant(
        "fences", "op_unmap.c", "\t\tatomic_store(&ops->revoked, op);\n", "", SLOW_KEY, folder=OP),
    "device-has-the-time-of-one-key-for-all": Mutant(
        "fences", "op_unmap.c", "\t\tatomic_store(&ops->key_begun_ms, brick_now_ms());\n",
        "\t\tif (!i)\n\t\t\tatomic_store(&ops->key_begun_ms, brick_now_ms());\n",
        SESSION_END, folder=OP),
    # Keeping a client out.
    "fence-answered-before-the-sessions-have-ended": Mutant(
        "fences", "op_fence.c", "if (op->fenced && is_ending(all, op->fenced))", "if (0)",
        FENCING + "test_the_answer_comes_when_all_sessions_have_ended", folder=OP),
    "fence-answered-when-one-session-has-ended": Mutant(
        "fences", "op_fence.c", "\tif (is_ending(all, client))\n\t\treturn;\n", "", SESSION_END,
        folder=OP),
    "fence-waits-for-later-sessions": Mutant(
        "fences", "op_fence.c", "return h && h->n_ending;", "return h;",
        FENCING + "test_who_is_admitted_meanwhile_does_not_hold_up_the_answer", folder=OP),
    "fence-ends-no-session": Mutant(
        "fences", "op_fence.c",
        "\tbrick_sessions_evict(all, op->req.u.fence.name, KFB_EVICTED_FENCED, 0);\n", "",
        PLAIN + "fencing:Fencing.test_nothing_of_a_running_writer_lands_after_the_answer", folder=OP),
    "fence-answered-before-it-is-written": Mutant(
        "fences", "state_file.c", "\tif (!rc && rename(fresh, path))\n\t\trc = -errno;\n", "",
        PLAIN + "fencing:Fencing.test_who_is_fenced_is_told_and_kept_out_until_it_is_admitted", folder=BASE),
    "fence-that-failed-is-in-the-table": Mutant(
        "fences", "op_fence.c", "if (op->error) {", "if (op->error == 1) {",
        FENCING + "test_what_cannot_be_written_down_is_no_fence", folder=OP),
    "fence-that-may-be-undone-is-not-written-again": Mutant(
        "fences", "op_fence.c", "? brick_fences_has_surely(f, name)", "? brick_fences_has(f, name)",
        FENCING + "test_what_is_not_known_of_the_file_is_written_again", folder=OP),
    "admission-that-may-be-undone-is-not-written-again": Mutant(
        "fences", "op_fence.c", " && !f->is_unsure;", ";",
        FENCING + "test_what_is_not_known_of_the_file_is_written_again", folder=OP),
    "client-is-said-to-be-fenced-that-may-come-in": Mutant(
        "fences", "op_client.c", "if (brick_fences_has_surely(&all->fences, name))",
        "if (brick_fences_has(&all->fences, name))",
        FENCING + "test_what_is_not_known_of_the_file_is_written_again", folder=OP),
    "doubt-of-one-client-is-doubt-of-all": Mutant(
        "fences", "fences.c", "if (!is_kept_out && brick_fences_has(f, name))\n"
        "\t\tf->list[place_of(f, name)].may_be_in = true;",
        "for (uint32_t i = 0; i < f->n; i++)\n\t\tf->list[i].may_be_in = true;",
        FENCING + "test_a_disk_that_is_full_takes_no_fence_away", folder=SESSION),
    "session-that-ends-waits-for-others": Mutant(
        "fences", "session_end.c", "if (!TAILQ_EMPTY(&s->waiting)) {", "if (s->n_pending) {",
        SESSION_END, folder=SESSION),
    "session-that-has-ended-begins-to-wait-for-others": Mutant(
        "fences", "op.c", "\tTAILQ_INSERT_TAIL(&s->waiting, op, waiting_link);\n"
        "\tbrick_session_progress(s);\n",
        "\tTAILQ_INSERT_TAIL(&s->waiting, op, waiting_link);\n", SESSION_END, folder=OP),
    "reserve-that-is-forgotten-has-none-decided": Mutant(
        "fences", "op_reserve.c",
        "\tbrick_op_finish(op, KFB_ST_SHUTDOWN);\n\treserve_next(ops);\n",
        "\tbrick_op_finish(op, KFB_ST_SHUTDOWN);\n\t(void)ops;\n", SESSION_END, folder=OP),
    "fenced-client-reserves": Mutant(
        "fences", "op_reserve.c",
        "client->removed ||\n\t       brick_fences_has(&op->session->all->fences, client->name);",
        "client->removed;", SESSION_END, folder=OP),
    "fenced-client-gets-in": Mutant(
        "fences", "op_auth.c", "if (brick_fences_has(&s->all->fences, client->name)) {",
        "if (0) {", PLAIN + "fencing:Fencing.test_who_is_fenced_is_told_and_kept_out_until_it_is_admitted", folder=OP),
    "fences-forgotten-at-a-start": Mutant(
        "fences", "fences.c", "brick_fences_set(f, line, is_kept_out, false);",
        "brick_fences_set(f, line, false, false);",
        PLAIN + "fencing:Fencing.test_who_is_fenced_is_told_and_kept_out_until_it_is_admitted", folder=SESSION),
    "who-was-fenced-in-a-group-finds-its-births": Mutant(
        "fences", "fences.c", "birth += f->list[at].n_times", "birth += 0 * f->list[at].n_times",
        PLAIN + "fencing:Fencing.test_who_was_fenced_in_a_group_finds_other_births", folder=SESSION),
    "admitted-in-a-group-is-not-written-down": Mutant(
        "fences", "fences.c", "fence->is_kept_out ? \"\" : ADMITTED", "\"\"",
        PLAIN + "fencing:Fencing.test_who_was_fenced_in_a_group_finds_other_births", folder=SESSION),
    "those-of-a-group-write-alone": Mutant(
        "fences", "op_map.c", "if (!status && *op->session->client->group && map->flags & KFB_MAP_RW &&\n"
        "\t    map->flags & KFB_MAP_EXCLUSIVE)", "if (0)",
        PLAIN + "fencing:Fencing.test_those_of_a_group_write_to_no_block_alone", folder=OP),
    "host-of-a-group-meets-itself": Mutant(
        "fences", "op_map.c", "if (!rc && *s->client->group && flags & KFB_MAP_RW)", "if (0)",
        PLAIN + "fencing:Fencing.test_a_host_of_a_group_waits_for_what_it_was_before", folder=OP),
    "group-owns-nothing": Mutant(
        "fences", "config.c", "\tclient->owner = owner;\n", "",
        PLAIN + "fencing:Fencing.test_those_of_a_group_take_no_block_from_each_other",
        folder="brickd/config"),
    "anybody-fences": Mutant(
        "fences", "op_fence.c", "if (!s->client->is_fencer) {", "if (0) {",
        PLAIN + "fencing:Fencing.test_only_fencers_fence_and_look", folder=OP),
    "fenced-fencer-fences": Mutant(
        "fences", "op_fence.c",
        "if (brick_op_is_orphan(op) || !op->session->client->is_fencer)", "if (0)",
        FENCING + "test_of_two_that_fence_each_other_one_remains", folder=OP),
    "role-of-the-start-is-kept": Mutant(
        "fences", "config_reload.c", "\told->is_fencer = fresh->is_fencer;\n", "",
        PLAIN + "fencing:Fencing.test_only_fencers_fence_and_look", folder="brickd/config"),
    # Persistent reservations.
    "reservation-answered-before-the-sessions-have-ended": Mutant(
        "reservations", "op_reserve.c", "if (s->reserve_marks & op->reserve.mark)", "if (0)",
        RESERVING + "test_the_answer_comes_when_all_sessions_have_ended", folder=OP),
    "reservation-ends-no-session": Mutant(
        "reservations", "op_reserve.c", "\tend_access(op, now);\n",
        "\t(void)end_access;\n\t(void)now;\n",
        RESERVED + "test_nothing_of_a_running_writer_lands_after_the_answer", folder=OP),
    "mapping-that-is-being-made-is-not-waited-for": Mutant(
        "reservations", "op_reserve.c",
        "\tbrick_ops_visit(brick_ops_of(op->session), span, note_use, NULL);\n",
        "\t(void)note_use;\n", RESERVING + "test_a_mapping_that_is_being_made_is_waited_for",
        folder=OP),
    "reserved-blocks-are-given": Mutant(
        "reservations", "op.c", "\tif (!status &&\n\t    !brick_reservations_allow(",
        "\tif (0 &&\n\t    !brick_reservations_allow(",
        RESERVED + "test_alloc_and_free_are_writes", folder=OP),
    "preempt-and-abort-is-preempt": Mutant(
        "reservations", "op_reserve.c", "is == BRICK_STANDING_STRANGER && was != BRICK_STANDING_STRANGER)",
        "is == BRICK_STANDING_STRANGER && was == BRICK_STANDINGS)",
        RESERVED + "test_preempt_and_abort_ends_also_what_may_be_mapped_again", folder=OP),
    "reservation-decided-before-the-last-one-is-in-the-table": Mutant(
        "reservations", "op_reserve.c", "\tend_access(op, now);\n",
        "\tops->is_reserving = false;\n\tend_access(op, now);\n",
        RESERVING + "test_one_that_is_forgotten_when_another_one_is_written_changes_nothing",
        folder=OP),
    "reserves-what-is-not-granted-behind-its-range": Mutant(
        "reservations", "op_reserve.c",
        "!brick_grants_allow(&op->session->client->grants,\n\t\t\t\top->reserve.then->span, true)",
        "0", RESERVED + "test_a_grant_of_its_first_block_is_none_of_the_disk", folder=OP),
    "key-stays-on-a-disk-that-became-longer": Mutant(
        "reservations", "op_reserve.c", "!gives_key_back(want) &&", "",
        RESERVED + "test_who_registered_before_the_disk_was_longer_gives_its_key_back", folder=OP),
    "one-client-fills-the-table-of-reservations": Mutant(
        "reservations", "reservations.c", " ||\n\t       count_alone(all, name) >= BRICK_RESERVATIONS_SHARE;",
        " ||\n\t       count_alone(all, name) > 10000;", RESERVATIONS, folder="brickd/reserve"),
    "shared-disks-count-for-one-client": Mutant(
        "reservations", "reservations.c", "keys->n == 1 && !brick_keys_find(keys, name);",
        "brick_keys_find(keys, name) < keys->n;", RESERVATIONS, folder="brickd/reserve"),
    "reservations-without-turns": Mutant(
        "reservations", "op_reserve.c", "reserves->turn[client->number] = ++reserves->last_turn;",
        "(void)client;\n\treserves->last_turn++;", SESSION_END, folder=OP),
    "mark-of-a-reservation-that-is-forgotten-is-lost": Mutant(
        "reservations", "op_reserve.c",
        "\ts->reserve_marks &= ~op->reserve.mark;\n\tops->reserve_marks &= ~op->reserve.mark;\n",
        "\ts->reserve_marks &= ~op->reserve.mark;\n", SESSION_END, folder=OP),
    "session-keeps-the-mark-of-a-reservation-that-is-forgotten": Mutant(
        "reservations", "op_reserve.c",
        "\ts->reserve_marks &= ~op->reserve.mark;\n\tops->reserve_marks",
        "\t(void)s;\n\tops->reserve_marks", SESSION_END, folder=OP),
    "reservation-that-failed-is-in-the-table": Mutant(
        "reservations", "op_reserve.c", "\tif (op->error) {", "\tif (op->error == 1) {",
        RESERVING + "test_what_cannot_be_written_down_is_not_reserved", folder=OP),
    "readers-end-where-they-may-read": Mutant(
        "reservations", "op_reserve.c", "s->reserve_use) & ~may)", "s->reserve_use))",
        RESERVED + "test_who_has_nothing_of_the_disk_mapped_goes_on", folder=OP),
    "who-may-not-write-registers": Mutant(
        "reservations", "op_reserve.c", "brick_op_check_range(op, &want->range, true)",
        "brick_op_check_range(op, &want->range, false)",
        RESERVED + "test_who_may_register_and_where", folder=OP),
    "longer-range-covers-nothing": Mutant(
        "reservations", "op_reserve.c", "struct brick_span span = op->reserve.then->span;",
        "struct brick_span span = now ? now->span : op->reserve.then->span;",
        RESERVED + "test_a_longer_range_covers_what_is_behind_it", folder=OP),
    "bytes-keep-no-lease": Mutant(
        "leases", "conn.c", "\tif (!c->stcp)\n\t\treturn -EOPNOTSUPP;",
        "\treturn -EOPNOTSUPP;", PLAIN + "fences:Fences.test_bytes_that_come_keep_a_lease",
        folder=NET),
    "map-not-looked-at-again": Mutant(
        "grants", "op_map.c",
        "\tenum kfb_status status = brick_op_recheck(op);\n\tstruct brick_handle *handles;",
        "\tenum kfb_status status = brick_op_is_orphan(op) ? KFB_ST_SHUTDOWN : KFB_ST_OK;\n"
        "\tstruct brick_handle *handles;",
        HELD + "test_a_map_that_looks_for_its_blocks", folder=OP),
    "map-becomes-the-writer-all-the-same": Mutant(
        "grants", "op.c", "op->is_committing && brick_op_recheck(op)", "0",
        HELD + "test_a_map_whose_turn_as_the_writer_has_not_come", folder=OP),
    "change-that-waited-not-looked-at-again": Mutant(
        "grants", "op_alloc.c", "enum kfb_status status = brick_op_recheck(op);",
        "enum kfb_status status = KFB_ST_OK;",
        HELD + "test_requests_that_wait_for_their_blocks", folder=OP),
    "committed-although-cancelled": Mutant(
        "grants", "changes.c", "if (atomic_load(&c->is_cancelled))", "if (0)",
        HELD + "test_a_free_behind_another_commit", folder="brickd/storage"),
    "session-that-ends-still-changes-the-store": Mutant(
        "grants", "op.c", "if (brick_op_is_orphan(op))\n\t\treturn KFB_ST_SHUTDOWN;",
        "if (brick_op_is_orphan(op))\n\t\treturn KFB_ST_OK;",
        HELD + "test_a_free_of_a_client_that_is_removed", folder=OP),
    # What one client may have of what all share.
    "quota-not-asked": Mutant(
        "shares", "op_alloc.c", "c->has_quota = op->session->client->has_quota;",
        "c->has_quota = false;", QUOTAS + "test_a_quota_is_reached_and_freed", folder=OP),
    "alloc-for-nobody": Mutant(
        "shares", "op_alloc.c", "\tc->owner = op->session->client->owner;\n", "",
        QUOTAS + "test_a_quota_is_reached_and_freed", folder=OP),
    "quota-told-as-a-limit": Mutant(
        "shares", "op_alloc.c", "error = -ENOSPC;", "error = -EDQUOT;",
        QUOTAS + "test_a_quota_is_reached_and_freed", folder=OP),
    "quota-of-the-start-is-kept": Mutant(
        "shares", "config_reload.c", "\told->quota_blocks = fresh->quota_blocks;\n", "",
        QUOTAS + "test_another_quota_holds_at_once_and_takes_nothing", folder="brickd/config"),
    "quota-taken-from-the-settings-is-kept": Mutant(
        "shares", "config_reload.c", "\told->has_quota = fresh->has_quota;\n", "",
        QUOTAS + "test_another_quota_holds_at_once_and_takes_nothing", folder="brickd/config"),
    "quota-told-to-who-does-not-know-of-it": Mutant(
        "shares", "op_info.c", " || !has_feature(op, KFB_FEATURE_QUOTA))", ")",
        PLAIN + "sessions:Joins", folder=OP),
    # What sessions are told they may move, and whether they do.
    "rate-told-to-who-does-not-know-of-it": Mutant(
        "rates", "op_info.c", " || !has_feature(op, KFB_FEATURE_RATE))", ")",
        RATES + "test_who_asks_for_it_is_told_its_rate", folder=OP),
    "rate-of-the-start-is-kept": Mutant(
        "rates", "config_reload.c", "\told->rate = fresh->rate;\n", "", CONFIG,
        folder="brickd/config"),
    "other-rate-told-to-who-does-not-know-of-it": Mutant(
        "rates", "event.c", "kfb_event_needs(kind) & ~c->features", "KFB_FEATURE_EVENT & ~c->features",
        EVENT, folder=SESSION),
    "other-rate-told-once": Mutant(
        "rates", "event.c", "(kind == KFB_EVENT_RATE && e->is_rate_old)", "0", EVENT, folder=SESSION),
    "other-rates-take-all-places": Mutant(
        "rates", "event.c", "\te->is_rate_old = e->sent[KFB_EVENT_RATE];\n",
        "\tbrick_event_drop(s, KFB_EVENT_RATE);\n", EVENT, folder=SESSION),
    "other-rate-not-told": Mutant(
        "rates", "reload.c", "\t\t\tbrick_event_rate(s);\n", "\t\t\tcontinue;\n",
        RATES + "test_another_rate_is_told_at_once", folder="brickd"),
    "same-rate-told-again": Mutant(
        "rates", "usage.c", "if (kfb_rate_equals(&s->rate, &s->client->rate))", "if (0)",
        RATES + "test_another_rate_is_told_at_once", folder=SESSION),
    "half-a-write-moves-nothing": Mutant(
        "rates", "target.c", "count_moved(&ep->written_bytes, bytes);", ";", MOVED,
        folder="kfabric/user"),
    "messages-are-writes": Mutant(
        "rates", "target.c", "if (ep->rx.hdr.op == TCPW_WRITE)\n\t\tcount_moved",
        "if (1)\n\t\tcount_moved", MOVED, folder="kfabric/user"),
    "closed-connection-has-moved-nothing": Mutant(
        "rates", "session.c", "\tbrick_usage_look(s);\n", "",
        RATES + "test_what_is_moved_is_counted_to_the_byte", folder=SESSION),
    "moved-since-the-start-at-each-look": Mutant(
        "rates", "conn.c", "\tc->moved = now;\n", "", USAGE, folder=NET),
    "administrators-see-what-was-moved-before": Mutant(
        "rates", "admin_clients.c", "\tbrick_usage_look(s);\n", "",
        RATES + "test_what_is_moved_is_counted_to_the_byte", folder="brickd/admin"),
    "readbacks-are-operations": Mutant(
        "rates", "usage.c", "2 * (uint64_t)rate->ops_per_s", "(uint64_t)rate->ops_per_s", USAGE,
        folder=SESSION),
    "clock-that-is-ahead-is-an-excess": Mutant(
        "rates", "usage.c", "#define SLACK_SHIFT 4", "#define SLACK_SHIFT 12", USAGE,
        folder=SESSION),
    "bucket-filled-before-what-has-come": Mutant(
        "rates", "usage.c", "\tkfb_bucket_take(b, sum->read",
        "\t(void)kfb_bucket_is_open(b, now_ms);\n\tkfb_bucket_take(b, sum->read", USAGE,
        folder=SESSION),
    "excess-counted-for-ever": Mutant(
        "rates", "usage.c", "\tkfb_bucket_init(b, &rate, BURST_MS, now_ms);\n",
        "\t(void)rate;\n", USAGE, folder=SESSION),
    "other-rate-holds-before-it-is-told": Mutant(
        "rates", "usage.c", "if (looked_ms < s->usage.told_ms || is_untold(s))", "if (!looked_ms)", USAGE,
        folder=SESSION),
    "late-look-at-another-rate": Mutant(
        "rates", "usage.c", "if (looked_ms < s->usage.told_ms ||",
        "if (!looked_ms || now_ms < s->usage.told_ms ||", USAGE, folder=SESSION),
    "other-rate-forgives": Mutant(
        "rates", "usage.c", "\tbrick_usage_look(s);\n\tchange_rate", "\tchange_rate", USAGE,
        folder=SESSION),
    "freed-by-its-own-client-not-waited-for": Mutant(
        "shares", "changes.c", "if (rc == -EDQUOT && commit->freer == c->whose)", "if (0)",
        CHANGES, folder="brickd/storage"),
    "freed-by-anybody-waited-for": Mutant(
        "shares", "changes.c", "if (rc == -EDQUOT && commit->freer == c->whose)",
        "if (rc == -EDQUOT && commit->frees)", CHANGES, folder="brickd/storage"),
    "waiting-places-for-one-client": Mutant(
        "shares", "op.c", "*of_client >= limits->pending_per_client", "0",
        LIMITS + "test_requests_that_wait_are_limited_by_client", folder=OP),
    "sessions-for-one-client": Mutant(
        "shares", "sessions.c", "return n - n_ending >= max || n >= 2 * max ||", "return",
        "tests/func/brickd-slow-copies:neighbours:Neighbours."
        "test_no_client_keeps_another_one_from_its_operations", folder=SESSION),
    "ending-sessions-take-no-room": Mutant(
        "shares", "sessions.c", "|| n >= 2 * max", "",
        LIMITS + "test_sessions_that_are_ending_take_room_of_their_client", folder=SESSION),
    "clients-of-a-reload-share-numbers": Mutant(
        "shares", "config_reload.c", "fresh->clients[i]->number = config->n_clients;", ";",
        CONFIG, folder="brickd/config"),
    "share-of-one-is-the-whole": Mutant(
        "shares", "config.c", "whole / CLIENT_SHARE;", "whole;", CONFIG,
        folder="brickd/config"),
    "grants-counted-for-each-client": Mutant(
        "shares", "config_check.c", "spans[i].first > end ? spans[i].first : end",
        "spans[i].first", CONFIG, folder="brickd/config"),
    "grants-beyond-the-store-not-told": Mutant(
        "shares", "server.c", "if (granted <= n)", "if (1)",
        PLAIN + "logs:Logs.test_grants_beyond_the_store_are_told_at_the_start_with_numbers",
        folder="brickd"),
    # What peers without a key can do to others.
    "strangers-are-never-displaced": Mutant(
        "strangers", "listen.c", "while ((c = find_displaced(all, &peer))) {", "while (0) {\n"
        "\t\tc = find_displaced(all, &peer);", LISTEN, folder=SESSION),
    "joins-count-as-strangers": Mutant(
        "strangers", "listen.c", "c->session->state == KFB_SESSION_OPENING &&\n\t       ", "",
        LISTEN, folder=SESSION),
    "auth-that-has-come-is-not-read": Mutant(
        "strangers", "listen.c", "\t\tbrick_conn_service(c);\n", "", LISTEN, folder=SESSION),
    "ending-strangers-without-a-bound": Mutant(
        "strangers", "listen.c",
        "||\n\t    all->n - all->n_admitted >= 2 * limits->unauthenticated", "", LISTEN,
        folder=SESSION),
    "sessions-beyond-all-by-auth": Mutant(
        "strangers", "sessions.c",
        "||\n\t       all->n_admitted >= all->config->limits.sessions", "",
        PLAIN + "limits:Limits.test_sessions_are_limited_in_all", folder=SESSION),
    "newest-request-goes": Mutant(
        "strangers", "pep.c", "displace_request(TAILQ_FIRST(&pep->arriving));",
        "displace_request(TAILQ_LAST(&pep->arriving, stcp_requests));", ARRIVING,
        folder="kfabric/user"),
    "requests-of-one-address-without-a-bound": Mutant(
        "strangers", "pep.c", "from_there >= STCP_ARRIVING_PER_ADDRESS_MAX", "0", ARRIVING,
        folder="kfabric/user"),
    "requests-of-endpoints-are-rejected": Mutant(
        "strangers", "pep.c", "!request || request->has_endpoint", "!request", STRICT,
        folder="kfabric/user"),
    "sending-has-no-end": Mutant(
        "strangers", "tx.c", "\tspend_turn(ep, (size_t)n);\n",
        "\t(void)spend_turn;\n", SENT_IN_TURNS, folder="kfabric/user"),
    "a-system-call-takes-all": Mutant(
        "strangers", "tx.c", "if (out[n].iov_len > room)", "if (0)", SENT_IN_TURNS,
        folder="kfabric/user"),
    "each-answer-has-a-turn": Mutant(
        "strangers", "target.c", "\tstcp_tx_progress(ep);\n",
        "\tstcp_tx_begin_turn(ep);\n\tstcp_tx_progress(ep);\n", SENT_IN_TURNS,
        folder="kfabric/user"),
    "payload-is-copied-to-pages-that-are-not-there": Mutant(
        "medium", "rx.c", "placed = stcp_place(to, from, n);", "(void)memcpy(to, from, n);",
        PLACE, folder="kfabric/user"),
    "pages-that-are-missing-concern-everybody": Mutant(
        "medium", "losses.c",
        "!brick_grants_allow(&s->client->grants, block, false) ||", "0 ||", LOSSES, folder="brickd/session"),
    "missing-page-is-told-while-it-is": Mutant(
        "medium", "losses.c", "(holds && brick_spans_overlap(l->now, block))", "0", LOSSES,
        folder="brickd/session"),
    "next-session-hears-of-no-missing-page": Mutant(
        "medium", "losses.c", "\t\ts->events.losses.found = found->block;\n", "\t\t;\n",
        LOSSES, folder="brickd/session"),
    "missing-page-is-told-for-ever": Mutant(
        "medium", "losses.c", "brick_now_ms() - found->at_ms < FOUND_MS", "1", LOSSES,
        folder="brickd/session"),
    "without-the-call-nobody-looks-first": Mutant(
        "medium", "mr.c", "errno == EFAULT || find_missing(&there, 1, true)",
        "errno == EFAULT || (0 && find_missing(&there, 1, true))", PLACE, folder="kfabric/user"),
    "nobody-hears-where-a-read-failed": Mutant(
        "medium", "tx.c", "if (n < 0 && errno == EFAULT) {\n\t\t\tpayload_missing",
        "if (0) {\n\t\t\tpayload_missing", PLACE, folder="kfabric/user"),
    "nobody-hears-where-a-long-write-failed": Mutant(
        "medium", "rx.c", "if (n < 0 && errno == EFAULT)", "if (0)", PLACE, folder="kfabric/user"),
    "faults-of-a-providers-threads-have-no-handler": Mutant(
        "medium", "shard.c", "\t\tsigdelset(&all, SIGBUS);\n", "", PLACE, folder="kfabric/user"),
    "answers-go-before-messages": Mutant(
        "strangers", "tx.c", "(!ep->was_answer || TAILQ_EMPTY(&ep->queue))", "true",
        SENT_IN_TURNS, folder="kfabric/user"),
    "strangers-hide-failed-authentications": Mutant(
        "strangers", "op_auth.c", "&c->net->lines[kind]", "&c->net->lines[BRICK_LINES_STRANGERS]",
        FAILED_AUTHS, folder=OP),
    "refusals-hide-failed-authentications": Mutant(
        "strangers", "op_auth.c", "&c->net->lines[kind]", "&c->net->lines[BRICK_LINES_REQUESTS]",
        FAILED_AUTHS, folder=OP),
    "unknown-names-hide-failed-authentications": Mutant(
        "strangers", "op_auth.c", "&c->net->lines[kind]", "&c->net->lines[BRICK_LINES_NAMES]",
        FAILED_AUTHS, folder=OP),
    # What a FLUSH has to cover, and whose turn it is.
    "flush-forgets-what-is-being-unmapped": Mutant(
        "flushes", "mapping.c",
        "\tm->n_leaving++;\n",
        "\tm->n_leaving++;\n\tbrick_holdings_flushed(m->holdings, taken, n);\n",
        TURNS, folder="brickd/mapping"),
    "flush-forgets-what-comes-late": Mutant(
        "flushes", "op_flush.c", "if (!brick_quarantine_next(s, block, &late) ||",
        "if (!brick_quarantine_next(s, block, &late) || 1 ||", TURNS, folder=OP),
    "flush-forgets-the-session-before": Mutant(
        "flushes", "session.c", "if (*has) {",
        "if (0) {", HOLDINGS, folder=SESSION),
    "session-that-ends-takes-its-place": Mutant(
        "shares", "sessions.c", "n - n_ending >= max", "n >= max", SESSIONS, folder=SESSION),
    "bell-does-not-ring": Mutant(
        "leases", "bell.c", "if (rings)", "if (0)", BELL, folder=NET),
    "bell-stays-rung": Mutant(
        "leases", "bell.c", "\tbell->is_rung = false;\n\tpthread_mutex_unlock", "\tpthread_mutex_unlock",
        BELL, folder=NET),
    "bell-rings-for-who-is-gone": Mutant(
        "leases", "bell.c", "if (rope->is_pulled)\n\t\tTAILQ_REMOVE", "if (0)\n\t\tTAILQ_REMOVE",
        BELL, folder=NET),
    "flush-forgets-what-was-left": Mutant(
        "flushes", "op_flush.c", "bool all = storage->has_unflushed ||", "bool all = 0 &&",
        TURNS, folder=OP),
    "flush-for-readers": Mutant(
        "flushes", "mapping.c", "bool write = m->flags & KFB_MAP_RW;", "bool write = true;", TURNS,
        folder="brickd/mapping"),
    "flush-without-turns": Mutant(
        "flushes", "flush.c", "#define SLICE_BYTES (256U << 10)",
        "#define SLICE_BYTES (UINT64_MAX)", TURNS, folder="brickd/storage"),
    "flush-of-each-request-by-itself": Mutant(
        "flushes", "flush.c", "if (n && !q->merged)", "if (1)", TURNS,
        folder="brickd/storage"),
    "flush-looks-all-up-at-once": Mutant(
        "flushes", "op_flush.c", "op->flush.n < LOOKED_UP_MAX", "1", TURNS, folder=OP),
    "flush-of-a-session-that-has-ended": Mutant(
        "flushes", "op_flush.c", "else if (brick_op_is_orphan(op))", "else if (0)", TURNS,
        folder=OP),
    "flush-takes-ranges-for-nothing": Mutant(
        "flushes", "flush.c", "#define RANGE_BYTES 4096U", "#define RANGE_BYTES 0U", TURNS,
        folder="brickd/storage"),
    "flush-sorts-all-that-waits": Mutant(
        "flushes", "flush.c", "#define PASS_RANGES 4096U", "#define PASS_RANGES SIZE_MAX", TURNS,
        folder="brickd/storage"),
    # What many handles need, a few at a time.
    "mappings-come-all-at-once": Mutant(
        "pieces", "op_map.c", "\t\tbrick_op_go_on(op, note_some);\n", "\t\tnote_some(op);\n", PIECES, folder=OP),
    "handles-are-forgotten-all-at-once": Mutant(
        "pieces", "op_unmap.c", "\t\tbrick_op_go_on(op, forget_handles);\n\t\treturn;",
        "\t\tforget_handles(op);\n\t\treturn;", PIECES, folder=OP),
    "sessions-end-all-at-once": Mutant(
        "pieces", "session_end.c", "brick_work_go_on_behind(s->all->registrar.box->flows, &s->teardown);",
        "end_some(&s->teardown);", PIECES, folder=SESSION),
    "session-looks-at-its-mappings-when-it-ends": Mutant(
        "pieces", "session_end.c", "\tbrick_session_disconnect(s, LOG_DEBUG, why);\n",
        "\tstruct brick_mapping *m;\n\tTAILQ_FOREACH(m, &s->mappings, session_link)\n\t(void)*(volatile uint64_t *)&m->id;\n"
        "\tbrick_session_disconnect(s, LOG_DEBUG, why);\n", SESSION_END, folder=SESSION),
    "stats-all-at-once": Mutant(
        "pieces", "admin_stats.c", "#define PIECE_MAX 128", "#define PIECE_MAX 65536", GAUGES,
        folder="brickd/admin"),
    "requests-are-cancelled-all-at-once": Mutant(
        "pieces", "session_end.c",
        "\t\tbrick_work_go_on_behind(s->all->registrar.box->flows,\n\t\t\t\t\t&s->teardown);\n"
        "\t\treturn;", "\t\tcancel_one(work);\n\t\treturn;", SESSION_END, folder=SESSION),
    "ends-while-it-cancels": Mutant(
        "pieces", "session_end.c", "s->n_conns || s->is_cancelling ||", "s->n_conns ||",
        SESSION_END, folder=SESSION),
    "end-forgets-what-was-written": Mutant(
        "flushes", "session_end.c",
        "s->flush.error = brick_flush_add_handles(\n\t\t\t\t&s->flush, m->handles, m->n);",
        "s->flush.error = 0;", SESSION_END, folder=SESSION),
    "mapping-goes-with-its-last-handle": Mutant(
        "pieces", "mapping.c", "if (--m->n_leaving || m->n)", "--m->n_leaving;\n\tif (m->n)",
        MAPPING, folder="brickd/mapping"),
    "later-locks-come-first": Mutant(
        "locks", "range_locks.c", "if (lock->number < gone->number) {", "if (0) {", LOCKS,
        folder="brickd/mapping"),
    "locks-of-any-number-before": Mutant(
        "locks", "range_locks.c", "++crowd->n_before == BRICK_RANGE_LOCKS_OVERLAPS ||", "", LOCKS,
        folder="brickd/mapping"),
    "locks-of-any-number-behind": Mutant(
        "locks", "range_locks.c", "lock->n_behind == BRICK_RANGE_LOCKS_OVERLAPS;", "0;", LOCKS,
        folder="brickd/mapping"),
    "who-has-left-is-behind": Mutant(
        "locks", "range_locks.c", "\t\tlock->n_behind--;\n", "", LOCKS, folder="brickd/mapping"),
    "crowds-wait": Mutant(
        "locks", "op.c", "(is_crowded(s) || brick_range_locks_is_crowded(locks, span))",
        "is_crowded(s)", SESSION_END, folder=OP),
    "dropped-lock-is-told": Mutant(
        "locks", "range_locks.c", "\tif (lock->is_ready)\n\t\ttake_ready(locks, lock);\n", "",
        LOCKS, folder="brickd/mapping"),
    # LIST of what is one's own.
    "list-of-what-a-session-leaves": Mutant(
        "lists", "op_list.c", "if (!brick_session_is_ending(m->session))", "if (1)", HOLDINGS,
        folder=OP),
    "what-a-session-leaves-is-found": Mutant(
        "lists", "mapping.c", "*out && !all->is_ending((*out)->session)", "*out", MAPPING,
        folder="brickd/mapping"),
    "list-passes-what-is-left-all-at-once": Mutant(
        "lists", "op_list.c", "#define LOOKED_AT_MAX 256", "#define LOOKED_AT_MAX UINT32_MAX",
        SESSION_END, folder=OP),
    "list-tells-of-what-has-gone": Mutant(
        "lists", "op_list.c", "\tlook_again(op);\n", "\t(void)look_again;\n", SESSION_END, folder=OP),
    "list-goes-on-for-nobody": Mutant(
        "lists", "op_list.c",
        "\tif (brick_op_is_orphan(op)) {\n\t\tbrick_op_finish(op, KFB_ST_SHUTDOWN);\n\t\treturn;\n\t}\n"
        "\tlook_again", "\tlook_again", SESSION_END, folder=OP),
    "list-goes-on-behind-the-cursor": Mutant(
        "lists", "op_list.c", "\t\tr->cursor = m->id;", "\t\tr->cursor = m->id + 1;", HOLDINGS,
        folder=OP),
    "lists-of-mapped-blocks-all-at-once": Mutant(
        "lists", "op_list.c",
        "\t\tbrick_turns_add(&ops->lists, &op->work);\n\t\treturn;\n",
        "\t\tbrick_turns_add(&ops->lists, &op->work);\n"
        "\t\twhile (brick_lists_before_wait(ops))\n\t\t\t;\n\t\treturn;\n",
        HOLDINGS, folder=OP),
    # Turns of clients in the loop.
    "turns-without-an-end": Mutant(
        "loop", "flow.c", "#define TURN_THINGS 8", "#define TURN_THINGS 512", FLOW,
        folder=BASE),
    "turns-without-an-end-in-time": Mutant(
        "loop", "flow.c", "if (now_ns >= turn->until_ns)", "if (0)", FLOW, folder=BASE),
    "who-comes-and-goes-comes-first": Mutant(
        "loop", "flow.c", "\tTAILQ_INSERT_TAIL(&all->known, f, link);\n",
        "\tif (is_empty(f)) {\n\t\tf->place = BRICK_FLOW_IDLE;\n\t\treturn true;\n\t}\n"
        "\tTAILQ_INSERT_TAIL(&all->known, f, link);\n", FLOW, folder=BASE),
    "who-has-had-a-turn-comes-next": Mutant(
        "loop", "flow.c", "\tTAILQ_INSERT_TAIL(&all->known, f, link);\n",
        "\tTAILQ_INSERT_HEAD(&all->known, f, link);\n", FLOW, folder=BASE),
    "fresh-ones-come-last": Mutant(
        "loop", "flow.c", "\tTAILQ_INSERT_TAIL(&all->fresh, f, link);\n",
        "\tf->place = BRICK_FLOW_KNOWN;\n\tTAILQ_INSERT_TAIL(&all->known, f, link);\n", FLOW,
        folder=BASE),
    "connection-reads-all-in-its-turn": Mutant(
        "loop", "conn.c", "\twhile (turn->n_left) {", "\twhile (1) {", FLOW, folder=NET),
    "requests-for-connections-all-at-once": Mutant(
        "loop", "listen.c", "i < EVENTS_MAX", "i < 64", LISTEN, folder=SESSION),
    "connection-stays-with-the-strangers": Mutant(
        "loop", "session.c", "\tbrick_conn_join_flow(c, s->flow);\n", "", HOLDINGS,
        folder=SESSION),
    "session-stays-with-the-strangers": Mutant(
        "loop", "session.c", "\ts->flow = brick_sessions_flow(s->all, client);\n", "", HOLDINGS,
        folder=SESSION),
    "what-workers-finish-has-no-turns": Mutant(
        "loop", "work.c",
        "go_on(struct brick_flows *flows, struct brick_work *work)\n{\n\tif (!flows || !work->flow) {",
        "go_on(struct brick_flows *flows, struct brick_work *work)\n{\n\tif (1) {", FLOW, folder=BASE),
    "pieces-come-before-the-rest": Mutant(
        "loop", "work.c", "brick_flow_add(flows, work->flow, &work->task);",
        "brick_flow_add_finished(flows, work->flow, &work->task);", FLOW, folder=BASE),
    "finished-work-comes-last": Mutant(
        "loop", "flow.c", "TAILQ_EMPTY(&f->finished) ? &f->tasks : &f->finished;",
        "TAILQ_EMPTY(&f->tasks) ? &f->finished : &f->tasks;", FLOW, folder=BASE),
    # The registrar's turns.
    "registrar-serves-who-comes-first": Mutant(
        "turns", "work.c", "if (first->whose == work->whose)", "if (1)", WORK,
        folder="brickd/base"),
    # The store thread's turns.
    "zeroes-all-at-once": Mutant(
        "changes", "changes.c", ".fast = is_synced ? TURN_SYNCED : 1,", ".fast = 65536,", CHANGES,
        folder="brickd/storage"),
    "zeroes-one-at-a-time-with-a-sync-each": Mutant(
        "changes", "changes.c", ".fast = is_synced ? TURN_SYNCED : 1,", ".fast = 1,", CHANGES,
        folder="brickd/storage"),
    "zeroes-for-all-between-two-commits": Mutant(
        "changes", "changes.c", "\t\tzero_some(storage, &turns);\n",
        "\t\tfor (int i = 0; i < 5; i++)\n\t\t\tzero_some(storage, &turns);\n", CHANGES,
        folder="brickd/storage"),
    "zeroes-in-the-commit": Mutant(
        "changes", "changes.c", "if (rc == -EAGAIN ||", "if (0 ||", CHANGES,
        folder="brickd/storage"),
    "zeroes-what-is-freed-in-the-commit": Mutant(
        "changes", "changes.c", "(rc == -ENOSPC && commit->frees)", "0", CHANGES,
        folder="brickd/storage"),
    "commits-all-that-waits": Mutant(
        "changes", "changes.c", "#define TURN_BLOCKS 4096U", "#define TURN_BLOCKS UINT64_MAX",
        CHANGES, folder="brickd/storage"),
    "commits-by-arrival": Mutant(
        "changes", "changes.c", "if (first->whose == c->whose)", "if (1)", CHANGES,
        folder="brickd/storage"),
    "cancelled-keeps-slots": Mutant(
        "changes", "changes.c",
        "\t\t\t\tbrick_store_unprepare(storage->store,\n\t\t\t\t\t\t      &c->list[i]);\n",
        "", CHANGES,
        folder="brickd/storage"),
    "zeroed-for-whoever-comes": Mutant(
        "changes", "supply.c", "n = n > others ? n - others : 0;", "(void)others;", CHANGES,
        folder="brickd/store"),
    "zeroes-for-what-is-there": Mutant(
        "changes", "supply.c",
        "if (brick_index_next(&s->index, &at, &slot) && at - key < op->n_blocks)", "if (0)",
        CHANGES, folder="brickd/store"),
    "zeroes-although-full": Mutant(
        "changes", "supply.c",
        "else if (op->n_blocks + s->spare > have + s->n_moving + cleaning)", "else if (0)",
        CHANGES, folder="brickd/store"),
    "keeps-slots-for-what-is-over": Mutant(
        "changes", "batch.c", "\t\tbrick_supply_release(s, op);\n", "\t\t(void)op;\n", CHANGES,
        folder="brickd/store"),
    "nothing-is-reserved": Mutant(
        "tiering", "tier_reserve.c", "if (!job->n_moved ||", "if (1 || !job->n_moved ||",
        RESERVE, folder="brickd/tier"),
    "background-takes-what-is-reserved": Mutant(
        "tiering", "tier_victims.c", "if (brick_tier_is_reserved(tier, cold, job)) {",
        "if (job && brick_tier_is_reserved(tier, cold, job)) {", RESERVE, folder="brickd/tier"),
    "two-reservations-in-turn": Mutant(
        "tiering", "tier_reserve.c", "(!is_own && now_ms < tier->reserved.until_ms)", "0",
        RESERVE, folder="brickd/tier"),
    "reservation-ends-while-its-map-waits": Mutant(
        "tiering", "tier_reserve.c", "tier->reserved.until_ms <= job->until_ms)", "0)",
        RESERVE, folder="brickd/tier"),
    "reservation-outlives-its-map": Mutant(
        "tiering", "tier_reserve.c", "\t\tif (is_own)\n\t\t\ttier->reserved.until_ms = 0;\n", "",
        RESERVE, folder="brickd/tier"),
    "who-does-not-wait-has-no-step": Mutant(
        "tiering", "tier.c", "(wait_ms ? wait_ms : 1)", "wait_ms", RESERVE,
        folder="brickd/tier"),
    # Caches that libpmem2 does not flush.
    "caches-of-other-regions-are-believed": Mutant(
        "durability", "durability.c", "brick_medium_is_never_flushed(facts) ||\n\t\t   ", "",
        DURABILITY, folder="brickd/platform"),
    "a-write-commits-what-nobody-flushes": Mutant(
        "durability", "durable_write.c",
        " ||\n\t    brick_medium_is_never_flushed(&storage->facts))", ")", COMMITS,
        folder="brickd/storage"),
    # For a lease after a crash.
    "what-is-kept-is-freed": Mutant(
        "fences", "op_alloc.c", "c->is_kept = freeing && brick_ops_keep_blocks(ops);",
        "c->is_kept = false;",
        PLAIN + "comeback:ComeBack.test_nobody_frees_a_block_before_its_writer_can_be_back",
        folder=OP),
    "lost-block-is-trouble-of-the-slow-tier": Mutant(
        "tiering", "tier_step.c", "n_troubles += !move->is_unread || move->is_begun;",
        "n_troubles++;", "tests/unit/brickd/test-brickd-tier", folder="brickd/tier"),
    "lost-block-could-not-be-written": Mutant(
        "tiering", "move.c",
        "\tmove->is_unread =\n\t\tmove->src & BRICK_INDEX_LOST && !brick_slot_is_slow(move->src);\n",
        "\tif (move->src & BRICK_INDEX_LOST && !brick_slot_is_slow(move->src))\n"
        "\t\treturn -EIO;\n",
        "tests/unit/brickd/test-brickd-tier", folder="brickd/store"),
    "evictions-are-not-counted": Mutant(
        "numbers", "session_end.c", "\tbrick_count(&s->all->counters->evictions);\n", "",
        PLAIN + "metrics:Page.test_sessions_that_a_reload_ends_are_counted", folder=SESSION),
    # A log that nobody reads.
    "pipe-of-the-log-is-waited-for": Mutant(
        "log", "log_sink.c", "O_WRONLY | O_NONBLOCK | O_NOCTTY", "O_WRONLY | O_NOCTTY", LOG,
        folder=BASE),
    "journal-is-waited-for": Mutant(
        "log", "datagram.c", "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_NOSIGNAL",
        PLAIN + "logs:Logs.test_a_journal_that_takes_nothing_for_now_keeps_no_client_waiting",
        folder=BASE),
    "line-overtakes-those-that-are-held": Mutant(
        "log", "log_sink.c", "if (!send_held() || !send_line(text->line,",
        "if (!send_line(text->line,", LOG, folder=BASE),
    "lines-that-are-lost-are-not-told": Mutant(
        "log", "log_sink.c", "\t\tn = sink.n_lost;\n", "", LOG, folder=BASE),
    "line-that-is-held-goes-beyond-its-room": Mutant(
        "log", "log_sink.c", "return bytes <= sizeof(sink.held) - sink.n_held;",
        "return bytes <= sizeof(sink.held) + 4096 - sink.n_held;", LOG, folder=BASE),
    "lines-that-are-held-at-the-end-are-lost": Mutant(
        "log", "log.c", "if (brick_sink_go_on() || brick_now_ms() >= until_ms)", "if (1)", LOG,
        folder=BASE),
    "held-lines-wait-for-the-next-one": Mutant(
        "log", "server.c", "\tbrick_log_go_on();\n", "", UNREAD, folder="brickd"),
    "manager-is-waited-for": Mutant(
        "log", "datagram.c", "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_NOSIGNAL", NOTIFY, folder=BASE),
    "manager-that-took-nothing-is-told-no-more": Mutant(
        "log", "notify.c", "\tif (tell_fails(text))\n\t\treturn;\n", "\t(void)tell_fails(text);\n",
        NOTIFY, folder=BASE),
    "signal-during-the-start-ends-it": Mutant(
        "signals", "server.c", "\t(void)sigprocmask(SIG_BLOCK, &set, NULL);\n", "",
        "tests/func/brickd-held:reload:Start.test_a_stop_before_the_brick_serves_is_a_clean_one",
        folder="brickd"),
    "reload-hides-a-medium-that-failed": Mutant(
        "numbers", "server.c", "brick_notify_ready(server->storage.medium_failed ?",
        "brick_notify_ready(false ?",
        "tests/func/brickd-failing:reload:Status.test_a_reload_does_not_hide_that_the_medium_failed",
        folder="brickd"),
    "client-astray-is-told-without-a-bound": Mutant(
        "log", "op_auth.c", "brick_log_limited(&s->all->net->lines[BRICK_LINES_ASTRAY],\n"
        "\t\t\t\t  LOG_NOTICE,", "brick_log(LOG_NOTICE,", BOUNDED, folder=OP),
    "fence-is-told-without-a-bound": Mutant(
        "log", "op_fence.c", "brick_log_limited(&lines[BRICK_LINES_FENCES], LOG_NOTICE,",
        "brick_log(LOG_NOTICE,", BOUNDED, folder=OP),
    "listener-without-descriptors-turns-round": Mutant(
        "log", "pep.c", "\tstcp_shard_change(&pep->source, 0);\n", "", ARRIVING,
        folder="kfabric/user"),
    "listener-without-descriptors-looks-no-more": Mutant(
        "log", "pep.c", "\tstcp_shard_change(source, EPOLLIN);\n", "", ARRIVING,
        folder="kfabric/user"),
    "listener-without-descriptors-is-told-each-time": Mutant(
        "log", "pep.c", "if (!pep->starves && atomic_load", "if (atomic_load", ARRIVING,
        folder="kfabric/user"),
    "message-is-said-to-be-persistent": Mutant(
        "durability", "post.c", "\tif (flags & FI_COMMIT_COMPLETE)\n\t\treturn -FI_EOPNOTSUPP;\n",
        "", "tests/unit/stcp/test-stcp-provider", folder="kfabric/user"),
}
