#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Peers that stop in the middle, of an end whose peers share one receive.

The end is kfi_target's, on tcp's wire, loaded with shared=1. Whoever begins a
message takes the receive away from all others: who does not go on must lose it,
and who goes on slowly must not.
"""
import pathlib
import struct
import time

from tcp_peers import MSG, WRITE, Peer, header

PARAMETERS = pathlib.Path("/sys/module/kfi_target/parameters")
PORT = int((PARAMETERS / "service").read_text(encoding="ascii"))
TIMEOUT_S = int((PARAMETERS / "op_timeout_ms").read_text(encoding="ascii")) / 1000
LIMIT_S = 30  # for what must happen after the time-out
SETTLE_S = 0.5  # of the target, to take the receive
WITH_DATA, DELIVERY = 1, 1 << 2
ANSWER_BYTES = 16
PIECE_BYTES, PIECES = 4096, 24
PIECE_S = TIMEOUT_S / 4
DRIP_S = TIMEOUT_S / 8


def point(good, text):
    print(f"{'ok' if good else 'not ok'} - {text}", flush=True)


def peer():
    return Peer(PORT, gone_s=LIMIT_S).join()


def write_with_data(size):
    """A header: its write takes a receive, too."""
    line = next(l for l in (PARAMETERS / "regions").read_text(encoding="ascii").splitlines()
                if l.startswith("write "))
    key, address = map(int, line.split()[1:3])
    begin = header(WRITE, [(address, size, key)], size, flags=WITH_DATA)
    total = 16 + 8 + 24 + size
    return begin[:6] + struct.pack("<BBQQ", 48, 0, total, 7) + begin[16:]


def is_acknowledged(one):
    """The message that was sent last; and how long that took."""
    begin, came = time.monotonic(), b""
    try:
        while len(came) < ANSWER_BYTES:
            piece = one.socket.recv(ANSWER_BYTES - len(came))
            if not piece:
                return False
            came += piece
    except (ConnectionError, TimeoutError):
        return False
    print(f"# after {time.monotonic() - begin:.1f} s", flush=True)
    return True


def short_message():
    """Of another peer."""
    one = peer()
    one.send(header(MSG, payload=1, flags=DELIVERY) + b"x")
    good = is_acknowledged(one)
    one.socket.close()
    return good


def stops(what, data):
    one = peer()
    one.send(data)
    time.sleep(SETTLE_S)
    point(short_message(), f"another peer's message arrives when one stops {what}")
    point(one.is_gone(), f"who stops {what} is gone")


def drips():
    """A byte now and then, of a message that would take an hour."""
    one, other = peer(), peer()
    one.send(header(MSG, payload=100000))
    time.sleep(SETTLE_S)
    other.send(header(MSG, payload=1, flags=DELIVERY) + b"x")
    other.socket.settimeout(0.001)
    end = time.monotonic() + LIMIT_S
    came = False
    while not came and time.monotonic() < end:
        one.send(b"y")
        time.sleep(DRIP_S)
        came = is_acknowledged(other)
    point(came, "another peer's message arrives when one sends a byte now and then")
    point(one.is_gone(), "who sends a byte now and then is gone")
    other.socket.close()


def goes_on():
    one = peer()
    one.send(header(MSG, payload=PIECE_BYTES * PIECES, flags=DELIVERY))
    for _ in range(PIECES):
        time.sleep(PIECE_S)
        one.send(bytes(PIECE_BYTES))
    point(is_acknowledged(one), "a message that goes on slowly arrives")
    one.socket.close()


def main():
    point(short_message(), "a message takes the receive that all share")
    stops("behind a header", header(MSG, payload=1000))
    stops("in the middle of a message", header(MSG, payload=1000) + bytes(999))
    stops("in the middle of a write with data", write_with_data(1000) + bytes(10))
    drips()
    goes_on()
    point(short_message(), "the receive is there as it was")


if __name__ == "__main__":
    main()
