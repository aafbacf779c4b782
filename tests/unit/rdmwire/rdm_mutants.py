# SPDX-License-Identifier: BSD-2-Clause
"""The known ways to break what the rdm provider decides, for tests/mutate.

What runs in user space alone: the wire, which receive takes a message, the room of
receives of several.
"""
from mutants import Mutant

WIRE = "kfabric/rdmwire"
UNIT = "tests/unit/rdmwire/test-rdmwire-"
CM = UNIT + "cm"
CROSS = UNIT + "cross"
FLOW = UNIT + "flow"
MATCH = UNIT + "match"
MULTI = UNIT + "multi"
RMA = UNIT + "rma"
BARE = UNIT + "bare"
GRANT = UNIT + "grant"
ATOMIC = UNIT + "atomic"
GROW = UNIT + "grow"


def mutant(kind, file, old, new, noticed_by):
    return Mutant(kind, file, old, new, noticed_by, folder=WIRE)


RDM_MUTANTS = {
    # Which receive takes a message.
    "rdm-a-tag-is-no-world-of-its-own": mutant(
        "matching", "rdmw_match.c", "if (want->is_tagged != label->is_tagged)", "if (0)", MATCH),
    "rdm-ignored-bits-of-a-tag-count": mutant(
        "matching", "rdmw_match.c", " & ~want->ignore)", ")", MATCH),
    "rdm-no-bit-of-a-tag-counts": mutant(
        "matching", "rdmw_match.c", " & ~want->ignore)", " & want->ignore)", MATCH),
    "rdm-a-directed-receive-is-for-anybody": mutant(
        "matching", "rdmw_match.c", "return rdmw_want_is_for(want, label->from);", "return 1;",
        MATCH),
    "rdm-the-end-of-a-name-does-not-count": mutant(
        "matching", "rdmw_match.c", "memcmp(want->from, from, RDMW_NAME_BYTES)",
        "memcmp(want->from, from, RDMW_NAME_BYTES - 1)", MATCH),
    "rdm-a-receive-comes-back-as-the-youngest": mutant(
        "matching", "rdmw_match.c", "while (prev && prev->seq > want->seq)",
        "while (0)", MATCH),
    "rdm-receives-that-a-message-has-seen-are-shown-again": mutant(
        "matching", "rdmw_match.c", "want->seq >= since && ", "", MATCH),
    "rdm-receives-of-the-next-walk-count": mutant(
        "matching", "rdmw_match.c", "want && want->seq < before;", "want;", MATCH),
    # Receives of several messages.
    "rdm-a-message-that-does-not-fit-is-cut": mutant(
        "several", "rdmw_multi.c", "if (multi->at && total > left) {", "if (0) {", MULTI),
    "rdm-a-message-too-long-for-all-has-no-room": mutant(
        "several", "rdmw_multi.c", "if (multi->at && total > left) {", "if (total > left) {",
        MULTI),
    "rdm-the-bound-of-what-is-left-says-nothing": mutant(
        "several", "rdmw_multi.c", "multi->size - multi->at < multi->min ||", "", MULTI),
    "rdm-a-buffer-goes-back-under-a-message": mutant(
        "several", "rdmw_multi.c", "return multi->is_over && !multi->users;",
        "return multi->is_over;", MULTI),
    "rdm-room-in-use-is-given-again": mutant(
        "several", "rdmw_multi.c",
        "if (multi->at != at + (total < left ? total : left))", "if (0)", MULTI),
    "rdm-room-of-a-message-that-never-was-is-lost": mutant(
        "several", "rdmw_multi.c", "\tmulti->at = at;\n", "", MULTI),
    # Features, and what needs them.
    "rdm-a-welcome-takes-up-anything": mutant(
        "features", "rdmw_cm.c",
        "if (wire_get(in + AT_FEATURES, 4) & ~ours->features)", "if (0)", CM),
    "rdm-a-feature-of-one-end-is-enough": mutant(
        "features", "rdmw_flow.c", "ours->features & theirs->features",
        "ours->features | theirs->features", FLOW),
    "rdm-a-tag-needs-no-feature": mutant(
        "features", "rdmw_flow.c", "!(flow->features & RDMW_FEATURE_TAGS)", "0", FLOW),
    "rdm-memory-needs-no-feature": mutant(
        "features", "rdmw_flow.c", "return RDMW_FEATURE_RMA;", "return 0;", RMA),
    "rdm-a-context-needs-no-feature": mutant(
        "features", "rdmw_flow.c", "if (!(flow->features & RDMW_FEATURE_CTX))", "if (0)", FLOW),
    "rdm-contexts-are-told-without-their-feature": mutant(
        "features", "rdmw_cm.c", "if (o.last_ctx && !(o.features & RDMW_FEATURE_CTX))", "if (0)",
        CM),
    "rdm-a-hello-s-contexts-are-more-features": mutant(
        "features", "rdmw_cm.c", "#define FEATURES_BYTES (RDMW_FEATURE_BITS / 8)",
        "#define FEATURES_BYTES 4", CM),
    "rdm-a-welcome-s-room-is-not-looked-at": mutant(
        "features", "rdmw_cm.c", "in[AT_WELCOME_CTX], in + AT_WELCOME_CTX + 1,",
        "in[AT_WELCOME_CTX], in + AT_WELCOME_CTX + 4,", CM),
    # Pieces.
    "rdm-a-context-that-is-not-there": mutant(
        "pieces", "rdmw_flow.c", "if (piece->ctx > flow->ctx_in)", "if (0)", FLOW),
    "rdm-a-context-comes-with-a-later-piece": mutant(
        "pieces", "rdmw_flow.c", "return (piece->flags & RDMW_FIRST) &&", "return 1 &&", FLOW),
    "rdm-what-is-not-received-names-a-context": mutant(
        "pieces", "rdmw_flow.c", "return piece->ctx && !rdmw_is_received(piece) ?",
        "return 0 ?", FLOW),
    "rdm-any-write-names-a-context": mutant(
        "pieces", "rdmw_flow.c",
        "(piece->kind == RDMW_WRITE && (piece->flags & RDMW_WORD)));",
        "piece->kind == RDMW_WRITE);", FLOW),
    "rdm-a-tag-comes-with-a-later-piece": mutant(
        "pieces", "rdmw_flow.c", "(piece->flags & FIRST_FLAGS) || piece->at != got",
        "(piece->flags & RDMW_WORD) || piece->at != got", FLOW),
    "rdm-a-tag-without-its-flag": mutant(
        "pieces", "rdmw_flow.c",
        "(piece->tag && !(piece->flags & RDMW_TAGGED) &&\n\t     piece->kind != RDMW_ANSWER)", "0",
        FLOW),
    "rdm-more-pieces-than-credits": mutant(
        "pieces", "rdmw_flow.c", "if (flow->held + flow->owed >= flow->window_in)", "if (0)",
        FLOW),
    "rdm-another-kind-goes-on-with-a-message": mutant(
        "pieces", "rdmw_flow.c", "piece->kind != flow->kind ||", "", RMA),
    # One answer to several writes.
    "rdm-joint-answers-need-no-feature": mutant(
        "answers", "rdmw_flow.c", "!(flow->features & RDMW_FEATURE_JOINT)", "0", RMA),
    "rdm-an-answer-is-to-more-than-was-asked": mutant(
        "answers", "rdmw_flow.c", "if (piece->tag >= flow->asked)", "if (!flow->asked)", RMA),
    "rdm-a-failure-is-told-of-several": mutant(
        "answers", "rdmw_flow.c", "(piece->word && piece->tag)", "0", RMA),
    "rdm-bytes-are-an-answer-to-several": mutant(
        "answers", "rdmw_flow.c", "(piece->at && (piece->word || piece->tag))",
        "(piece->at && piece->word)", RMA),
    "rdm-more-are-answered-in-the-middle": mutant(
        "answers", "rdmw_flow.c", "(piece->word || piece->tag))))", "piece->word)))", RMA),
    "rdm-a-joint-answer-counts-once": mutant(
        "answers", "rdmw_flow.c", "(__u16)(flow->asked - 1 - piece->tag)",
        "(__u16)(flow->asked - 1)", RMA),
    "rdm-one-that-is-sent-counts-once": mutant(
        "answers", "rdmw_flow.c", "(__u16)(flow->due - 1 - message->tag)",
        "(__u16)(flow->due - 1)", RMA),
    # Pieces without a header.
    "rdm-no-header-needs-no-feature": mutant(
        "bare", "rdmw_flow.c",
        "if (!(flow->features & RDMW_FEATURE_BARE) ||\n\t    (data", "if ((data", BARE),
    "rdm-a-message-goes-without-header-to-who-wants-one": mutant(
        "bare", "rdmw_flow.c", "if (!(flow->features & RDMW_FEATURE_BARE) || !bytes)",
        "if (!bytes)", BARE),
    "rdm-a-word-goes-without-header": mutant(
        "bare", "rdmw_flow.c", "message->kind != RDMW_DATA || message->flags ||",
        "message->kind != RDMW_DATA ||", BARE),
    "rdm-a-context-goes-without-header": mutant(
        "bare", "rdmw_flow.c", "message->ctx || !last", "!last", BARE),
    "rdm-unknown-bits-without-header": mutant(
        "bare", "rdmw_flow.c",
        "(data & ~(__u64)(RDMW_BARE_FIRST | RDMW_BARE_CREDITS))", "0", BARE),
    "rdm-more-bytes-than-there-is-room-for-without-header": mutant(
        "bare", "rdmw_flow.c", " || bytes > (__u32)flow->piece_in - RDMW_HEADER_BYTES)",
        ")", BARE),
    "rdm-credits-of-nobody-without-header": mutant(
        "bare", "rdmw_flow.c",
        "if (piece->credits > flow->window_out - flow->credits ||", "if (", BARE),
    # Windows that grow.
    "rdm-a-window-grows-without-its-feature": mutant(
        "windows", "rdmw_flow.c", "if (more && !(flow->features & RDMW_FEATURE_GROW))",
        "if (0)", GROW),
    "rdm-a-window-grows-beyond-its-bound": mutant(
        "windows", "rdmw_flow.c", "flow->window_out + more > RDMW_WINDOW_GROWN", "0", GROW),
    "rdm-a-window-grows-by-more-than-a-number": mutant(
        "windows", "rdmw_flow.c", "(more > RDMW_WINDOW_GROWN ||", "(", GROW),
    "rdm-new-buffers-are-no-credits": mutant(
        "windows", "rdmw_flow.c", "piece->credits + more)", "piece->credits)", GROW),
    "rdm-a-large-window-grows": mutant(
        "windows", "rdmw_flow.c", " || all >= RDMW_WINDOW_GROWN)", ")", GROW),
    "rdm-a-farewell-tells-of-buffers": mutant(
        "windows", "rdmw_flow.c", "(piece->at && piece->kind != RDMW_CREDIT)", "0", GROW),
    "rdm-buffers-count-before-the-peer-is-told": mutant(
        "windows", "rdmw_flow.c", "flow->growing = (__u16)(flow->growing + more);",
        "flow->window_in = (__u16)(flow->window_in + more);", GROW),
    # Requests and answers.
    "rdm-an-answer-to-nothing": mutant(
        "requests", "rdmw_flow.c", "if (piece->tag >= flow->asked)",
        "if (piece->tag && piece->tag >= flow->asked)", RMA),
    "rdm-requests-without-end": mutant(
        "requests", "rdmw_flow.c", "flow->due == RDMW_ASKED_MAX", "0", RMA),
    "rdm-we-ask-without-end": mutant(
        "requests", "rdmw_flow.c", "flow->asked == RDMW_ASKED_MAX", "0", RMA),
    "rdm-an-unknown-status": mutant(
        "requests", "rdmw_flow.c", "piece->word >= statuses ||", "", RMA),
    "rdm-a-failure-with-bytes": mutant(
        "requests", "rdmw_flow.c", "(piece->at && (piece->word || piece->tag))",
        "(piece->at && piece->tag)", RMA),
    "rdm-a-read-in-pieces": mutant(
        "requests", "rdmw_flow.c",
        "piece->kind == RDMW_READ || piece->kind == RDMW_GRANT",
        "piece->kind == RDMW_GRANT", RMA),
    "rdm-no-answer-after-a-farewell": mutant(
        "requests", "rdmw_flow.c", "flow->bye_out && kind != RDMW_ANSWER", "flow->bye_out", RMA),
    "rdm-a-connection-ends-before-an-answer": mutant(
        "requests", "rdmw_flow.c", " && !flow->asked && !flow->due;", ";", RMA),
    "rdm-a-range-goes-round": mutant(
        "requests", "rdmw_rma.c", " || r->addr + r->len < r->addr)", ")", RMA),
    "rdm-a-range-without-end": mutant(
        "requests", "rdmw_rma.c", "r->len > RDMW_MESSAGE_MAX || ", "", RMA),
    "rdm-ranges-too-long-together": mutant(
        "requests", "rdmw_rma.c", "if (sum > RDMW_MESSAGE_MAX)", "if (0)", RMA),
    "rdm-a-head-longer-than-its-piece": mutant(
        "requests", "rdmw_rma.c", "if (first->bytes < RDMW_HEAD_BYTES(in[0]))", "if (0)", RMA),
    "rdm-more-ranges-than-there-is-room-for": mutant(
        "requests", "rdmw_rma.c", "if (!in[0] || in[0] > RDMW_RANGES_MAX)", "if (!in[0])", RMA),
    "rdm-a-write-of-another-length": mutant(
        "requests", "rdmw_rma.c", "if (first->at != all)", "if (0)", RMA),
    "rdm-a-piece-goes-beyond-its-range": mutant(
        "requests", "rdmw_rma.c", "if (*len > r->len - at)", "if (0)", RMA),
    # Grants.
    "rdm-grants-need-no-feature": mutant(
        "grants", "rdmw_flow.c", "RDMW_FEATURE_RMA | RDMW_FEATURE_GRANT", "RDMW_FEATURE_RMA",
        GRANT),
    "rdm-a-grant-in-pieces": mutant(
        "grants", "rdmw_flow.c", "piece->kind == RDMW_READ || piece->kind == RDMW_GRANT",
        "piece->kind == RDMW_READ", GRANT),
    "rdm-several-are-revoked-at-a-time": mutant(
        "grants", "rdmw_flow.c", "if (flow->is_revoking)\n\t\treturn 0;",
        "if (0)\n\t\treturn 0;", GRANT),
    "rdm-one-is-revoked-before-the-last-is-returned": mutant(
        "grants", "rdmw_flow.c", "if (flow->is_revoked)\n", "if (0)\n", GRANT),
    "rdm-another-one-is-returned": mutant(
        "grants", "rdmw_flow.c", " || flow->revoking != piece->word)", ")", GRANT),
    "rdm-one-is-returned-unasked": mutant(
        "grants", "rdmw_flow.c", "if (!flow->is_revoking || ", "if (", GRANT),
    "rdm-credits-come-with-what-is-revoked": mutant(
        "grants", "rdmw_flow.c", "(piece->kind == RDMW_BYE || rdmw_has_key(piece->kind)) &&",
        "piece->kind == RDMW_BYE &&", GRANT),
    "rdm-a-grant-goes-round": mutant(
        "grants", "rdmw_grant.c", "grant->addr + grant->len < grant->addr", "0", GRANT),
    "rdm-a-grant-of-any-length": mutant(
        "grants", "rdmw_grant.c", "if (piece->bytes != RDMW_GRANT_BYTES)",
        "if (piece->bytes < RDMW_GRANT_BYTES)", GRANT),
    "rdm-a-key-is-granted-twice": mutant(
        "grants", "rdmw_grant.c", "if (rdmw_grant_of(grants, grant.key))", "if (0)", GRANT),
    "rdm-a-range-begins-behind-its-grant": mutant(
        "grants", "rdmw_grant.c", "range->addr > grant->len || ", "", GRANT),
    "rdm-a-range-ends-behind-its-grant": mutant(
        "grants", "rdmw_grant.c", " || range->len > grant->len - range->addr)", ")", GRANT),
    "rdm-a-grant-is-for-everything": mutant(
        "grants", "rdmw_grant.c", " || !(grant->access & access))", ")", GRANT),
    "rdm-what-is-revoked-is-used": mutant(
        "grants", "rdmw_grant.c", "grant->is_revoked || ", "", GRANT),
    "rdm-what-is-used-is-returned": mutant(
        "grants", "rdmw_grant.c", "if (grant && grant->users)", "if (0)", GRANT),
    # Atomic operations.
    "rdm-atomics-need-no-feature": mutant(
        "atomics", "rdmw_flow.c", "RDMW_FEATURE_RMA | RDMW_FEATURE_ATOMIC", "RDMW_FEATURE_RMA",
        ATOMIC),
    "rdm-an-atomic-in-pieces": mutant(
        "atomics", "rdmw_flow.c", " ||\n\t     piece->kind == RDMW_ATOMIC)", ")", ATOMIC),
    "rdm-an-atomic-is-no-request": mutant(
        "atomics", "rdmw_flow.c", " || kind == RDMW_ATOMIC;", ";", ATOMIC),
    "rdm-a-status-of-atomics-needs-no-feature": mutant(
        "atomics", "rdmw_flow.c", "flow->features & RDMW_FEATURE_ATOMIC ? RDMW_STATUSES",
        "1 ? RDMW_STATUSES", ATOMIC),
    "rdm-an-unknown-type": mutant(
        "atomics", "rdmw_atomic.c", "in[AT_TYPE] >= RDMW_TYPES || ", "", ATOMIC),
    "rdm-an-unknown-operation": mutant(
        "atomics", "rdmw_atomic.c", "in[AT_OP] >= RDMW_OPS ||", "", ATOMIC),
    "rdm-no-element": mutant(
        "atomics", "rdmw_atomic.c", "!in[AT_COUNT] || ", "", ATOMIC),
    "rdm-elements-without-end": mutant(
        "atomics", "rdmw_atomic.c",
        "in[AT_COUNT] > RDMW_ELEMENTS_MAX / rdmw_element_bytes(in[AT_TYPE])", "0", ATOMIC),
    "rdm-another-kind-of-result": mutant(
        "atomics", "rdmw_atomic.c", " || in[AT_RESULT] > 1 ||", " ||", ATOMIC),
    "rdm-a-comparison-without-a-result": mutant(
        "atomics", "rdmw_atomic.c", " && in[AT_OP] < RDMW_OP_COMPARES", "", ATOMIC),
    "rdm-a-read-without-a-result": mutant(
        "atomics", "rdmw_atomic.c", "(in[AT_OP] != RDMW_OP_READ && ", "(", ATOMIC),
    "rdm-something-in-the-room-of-an-atomic": mutant(
        "atomics", "rdmw_atomic.c", "if (!wire_is_zero(in + AT_ROOM, ROOM_BYTES))", "if (0)",
        ATOMIC),
    "rdm-an-element-askew": mutant(
        "atomics", "rdmw_atomic.c",
        "(a->addr & (rdmw_element_bytes(a->type) - 1)) ||", "", ATOMIC),
    "rdm-elements-go-round": mutant(
        "atomics", "rdmw_atomic.c", " ||\n\t    a->addr + n < a->addr)", ")", ATOMIC),
    "rdm-an-atomic-of-another-length": mutant(
        "atomics", "rdmw_atomic.c", "if (piece->bytes != rdmw_atomic_bytes(a))", "if (0)",
        ATOMIC),
    "rdm-an-atomic-shorter-than-its-head": mutant(
        "atomics", "rdmw_atomic.c", "if (piece->bytes < RDMW_ATOMIC_HEAD_BYTES)", "if (0)",
        ATOMIC),
    # Who connects.
    "rdm-a-request-that-was-given-up-lives": mutant(
        "connecting", "rdmw_cm.c", "if (is_known && offer->serial < peer->floor)", "if (0)",
        CROSS),
    "rdm-both-of-two-that-cross-live": mutant(
        "connecting", "rdmw_cm.c", "if (link == RDMW_DIALING && own < offer->instance)",
        "if (0)", CROSS),
}
