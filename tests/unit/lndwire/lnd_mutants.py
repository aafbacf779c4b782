# SPDX-License-Identifier: BSD-2-Clause
"""The known ways to break what the LNet-like driver decides, for tests/mutate."""
from mutants import Mutant

WIRE = "kfabric/lndwire"
UNIT = "tests/unit/lndwire/test-lndwire-"
MSG = UNIT + "msg"
PEER = UNIT + "peer"
WORLD = UNIT + "world"


def mutant(kind, file, old, new, noticed_by):
    return Mutant(kind, file, old, new, noticed_by, folder=WIRE)


LND_MUTANTS = {
    # Incarnations.
    "lnd-an-old-incarnation-is-taken": mutant(
        "incarnations", "lndw_peer.c", "if (msg->src_incarnation < peer->incarnation) {",
        "if (0) {", WORLD),
    "lnd-a-message-for-who-was-here-before-is-taken": mutant(
        "incarnations", "lndw_peer.c", "if (msg->kind != LNDW_HELLO &&", "if (0 &&", WORLD),
    "lnd-a-put-is-sent-to-the-next-incarnation": mutant(
        "incarnations", "lndw_tx.c", "if (tx->tries && tx->kind != LNDW_PING)", "if (0)", WORLD),
    "lnd-a-restarted-peer-answers-for-the-one-before": mutant(
        "incarnations", "lndw_peer.c", "lndw_rx_restarted(peer);", "", WORLD),
    "lnd-the-floor-of-the-one-before-counts": mutant(
        "incarnations", "lndw_peer.c", "peer->rx_floor = 0;", "", WORLD),
    "lnd-refusals-are-refused": mutant(
        "incarnations", "lndw_peer.c", "if (msg->kind == LNDW_NACK)\n\t\treturn;", "", PEER),
    "lnd-who-is-outdated-goes-on": mutant(
        "incarnations", "lndw_peer.c",
        "if (msg->kind == LNDW_NACK && msg->status == LNDW_NOT_YOU)", "if (0)", PEER),
    "lnd-nobody-is-told-that-he-is-mistaken": mutant(
        "incarnations", "lndw_peer.c", "peer->is_nack_due = 1;", "", WORLD),
    # Once.
    "lnd-a-repeated-request-is-taken-on-again": mutant(
        "once", "lndw_rx.c", "if (rx->state != LNDW_RX_FREE && rx->seq == msg->seq) {",
        "if (0) {", WORLD),
    "lnd-a-request-that-is-over-is-taken-on": mutant(
        "once", "lndw_rx.c", "if (msg->seq < peer->rx_floor)", "if (0)", WORLD),
    "lnd-a-place-is-given-away-under-what-goes-on": mutant(
        "once", "lndw_rx.c", "if (rx->state == LNDW_RX_DOING)\n\t\treturn LNDW_BUSY;", "", PEER),
    "lnd-a-place-is-given-to-the-next-incarnation": mutant(
        "once", "lndw_rx.c", "if (rx->state == LNDW_RX_ABANDONED)\n\t\treturn LNDW_BUSY;", "",
        WORLD),
    "lnd-an-answer-ends-who-has-the-place-now": mutant(
        "once", "lndw_tx.c", "if (!tx->kind || tx->seq != msg->seq)\n\t\treturn LNDW_OVER;",
        "if (!tx->kind)\n\t\treturn LNDW_OVER;", WORLD),
    "lnd-an-answer-ends-what-is-over": mutant(
        "once", "lndw_tx.c", "if (!tx->kind || tx->seq != msg->seq)\n\t\treturn LNDW_OVER;",
        "if (tx->seq != msg->seq)\n\t\treturn LNDW_OVER;", WORLD),
    "lnd-an-answer-of-another-kind-counts": mutant(
        "once", "lndw_tx.c", "is_reply != (tx->kind == LNDW_GET)", "0", PEER),
    "lnd-an-answer-to-nothing-counts": mutant(
        "once", "lndw_tx.c", "!tx->tries || ", "", PEER),
    "lnd-more-is-done-than-was-asked": mutant(
        "once", "lndw_tx.c", "msg->bytes > tx->bytes)", "0)", PEER),
    # None lost.
    "lnd-a-repeated-request-has-no-answer": mutant(
        "none lost", "lndw_rx.c", "if (rx->state == LNDW_RX_DONE)\n\t\t\trx->is_due = 1;", "",
        WORLD),
    "lnd-a-request-is-sent-once": mutant(
        "none lost", "lndw_tx.c", "if (!tx->kind || tx->is_sending || now_ms < tx->send_ms ||",
        "if (!tx->kind || tx->is_sending || tx->tries ||", WORLD),
    "lnd-a-hello-is-sent-once": mutant(
        "none lost", "lndw_peer.c", "now_ms >= peer->hello_ms)", "!peer->hellos)", WORLD),
    "lnd-deadlines-do-not-count": mutant(
        "none lost", "lndw_tx.c", "tx->seq == seq && now_ms >= tx->deadline_ms)", "0)", PEER),
    "lnd-who-was-not-reached-has-timed-out": mutant(
        "none lost", "lndw_tx.c", "tx->tries ? LNDW_TIMED_OUT : LNDW_UNREACHED", "LNDW_TIMED_OUT",
        PEER),
    "lnd-who-was-reached-was-not": mutant(
        "none lost", "lndw_tx.c", "tx->tries ? LNDW_TIMED_OUT : LNDW_UNREACHED", "LNDW_UNREACHED",
        WORLD),
    # Credits.
    "lnd-more-is-sent-than-the-peer-has-credits": mutant(
        "credits", "lndw_tx.c", "if (end - seq > peer->credits)", "if (0)", WORLD),
    "lnd-places-do-not-run-out": mutant(
        "credits", "lndw_tx.c", "if (peer->next_seq - peer->floor >= LNDW_CREDITS_MAX)", "if (0)",
        WORLD),
    "lnd-a-peer-takes-what-it-likes": mutant(
        "credits", "lndw_rx.c", "if (msg->seq - msg->floor >= peer->node->credits)", "if (0)",
        PEER),
    "lnd-a-credit-leaks": mutant(
        "credits", "lndw_tx.c", "peer->outstanding--;", "", WORLD),
    "lnd-what-is-being-sent-is-sent-beside": mutant(
        "credits", "lndw_tx.c", "tx->is_sending = 1;", "", PEER),
    "lnd-two-answers-are-under-way": mutant(
        "credits", "lndw_rx.c", "if (!rx->is_due || rx->is_sending)", "if (!rx->is_due)", PEER),
    "lnd-welcomes-are-under-way-beside-each-other": mutant(
        "credits", "lndw_peer.c", "if (peer->is_welcome_due && !peer->is_welcoming) {",
        "if (peer->is_welcome_due) {", PEER),
    "lnd-refusals-are-under-way-beside-each-other": mutant(
        "credits", "lndw_peer.c", "if (peer->is_nack_due && !peer->is_nacking) {",
        "if (peer->is_nack_due) {", PEER),
    "lnd-one-welcome-is-sent": mutant(
        "none lost", "lndw_peer.c", "peer->is_welcoming = 0;", "", PEER),
    "lnd-one-refusal-is-sent": mutant(
        "none lost", "lndw_peer.c", "peer->is_nacking = 0;", "", PEER),
    "lnd-a-welcome-is-due-for-ever": mutant(
        "none lost", "lndw_peer.c", "peer->is_welcome_due = 0;\n\t\tpeer->is_welcoming = 1;",
        "peer->is_welcoming = 1;", PEER),
    "lnd-the-next-in-a-place-is-answered-beside": mutant(
        "credits", "lndw_rx.c", ".is_sending = rx->is_sending,", "", PEER),
    "lnd-the-next-in-a-place-is-asked-beside": mutant(
        "credits", "lndw_tx.c", ".is_sending = tx->is_sending,", "", PEER),
    "lnd-who-has-ended-is-waited-for": mutant(
        "once", "lndw_rx.c", " && rx->seq >= peer->rx_floor", "", PEER),
    # The wire.
    "lnd-the-length-says-nothing": mutant(
        "wire", "lndw_msg.c", "bytes != lndw_message_bytes(&m)", "0", MSG),
    "lnd-a-head-may-be-cut": mutant(
        "wire", "lndw_msg.c", "bytes < lndw_head_bytes(m.kind))", "0)", MSG),
    "lnd-a-node-may-have-no-number": mutant(
        "wire", "lndw_msg.c", "if (!msg->src_nid || !msg->dst_nid || !msg->src_incarnation)",
        "if (0)", MSG),
    "lnd-nobody-knows-whom-he-means": mutant(
        "wire", "lndw_msg.c", "if (!msg->dst_incarnation && msg->kind != LNDW_HELLO)", "if (0)",
        MSG),
    "lnd-credits-have-no-bound": mutant(
        "wire", "lndw_msg.c", "if (!msg->credits || msg->credits > LNDW_CREDITS_MAX)", "if (0)",
        MSG),
    "lnd-any-status-goes": mutant(
        "wire", "lndw_msg.c", "if (msg->status >= statuses)", "if (0)", MSG),
    "lnd-any-length-goes": mutant(
        "wire", "lndw_msg.c", "return msg->bytes && msg->bytes <= LNDW_BYTES_MAX;", "return 1;",
        MSG),
    "lnd-a-request-may-have-no-time": mutant(
        "wire", "lndw_msg.c", "if (!msg->left_ms)", "if (0)", MSG),
    "lnd-what-is-reserved-may-be-anything": mutant(
        "wire", "lndw_msg.c", " || WIRE_GET(header->reserved))", ")", MSG),
}
