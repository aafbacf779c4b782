#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_lndwire's seed corpus: fuzz_lndwire-seeds OUT.

Messages that keep the rules, each with the byte that fuzz_lndwire.c has in front.
"""
import pathlib
import struct
import sys

HELLO, WELCOME, PUT, IMMEDIATE, GET, PING, ACK, REPLY, NACK = range(1, 10)
US, PEER = 1, 2
OURS, THEIRS = 100, 200
SENT, MOVED, BEGIN, LATE = 1, 2, 4, 8
BEGIN_GET, BEGIN_PING = BEGIN | 2 << 4, BEGIN | 3 << 4


def message(kind, then=SENT, seq=0, status=0, moved=0, data=b"", theirs=THEIRS, ours=OURS):
    """A message of the peer's, and what is done after it."""
    floor = max(1, seq - 1) if PUT <= kind <= PING else 1
    if kind in (PUT, IMMEDIATE, GET):
        rest = struct.pack("<QQQII", 5, 6, 0 if data else 7, len(data) or 9, 1000) + data
    elif kind in (ACK, REPLY):
        rest = struct.pack("<II", moved, 0)
    else:
        rest = b""
    head = struct.pack("<4sBBHQQQQQQHB5x", b"KLND", 1, kind, 64 + len(rest), PEER, US, theirs,
                       ours, seq, floor, 4, status)
    return bytes([then]) + head + rest


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    hello = message(HELLO, ours=0)
    seeds = {
        "hellos": hello + message(HELLO, then=0) * 3 + message(HELLO),
        "put": hello + message(PUT, seq=1, then=MOVED) + message(PUT, seq=1),
        "immediate": hello + message(IMMEDIATE, seq=1, data=b"bytes", then=MOVED | SENT),
        "get": hello + message(GET, seq=2, then=0) + message(GET, seq=2, then=MOVED | SENT),
        # None of the answers is off this node's hands.
        "pings": hello + b"".join(message(PING, seq=n, then=0) for n in range(1, 40)),
        "restart": hello + message(PUT, seq=1, then=0)
        + message(PUT, seq=1, theirs=THEIRS + 1, then=MOVED)
        + message(PUT, seq=1, theirs=THEIRS + 1) + message(PING, seq=1),
        "mistaken": hello + message(PING, seq=1, ours=OURS - 1, then=0) * 3,
        "asked": message(WELCOME, then=BEGIN) + message(ACK, seq=1, moved=9, then=BEGIN_GET | SENT)
        + message(REPLY, seq=2, moved=9, then=BEGIN_PING | SENT | LATE)
        + message(ACK, seq=3, then=LATE),
        "greeted": message(NACK, status=0, then=BEGIN) + message(WELCOME, then=BEGIN | LATE)
        + message(NACK, status=1, then=BEGIN | SENT)}
    for name, data in seeds.items():
        (out / name).write_bytes(data)


if __name__ == "__main__":
    main()
