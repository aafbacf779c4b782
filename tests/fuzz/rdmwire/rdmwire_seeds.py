#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_rdmwire's seed corpus: fuzz_rdmwire-seeds OUT.

A hello alone, and with messages that keep the rules behind it, each with the byte
that fuzz_rdmwire.c has in front; a welcome; a refusal.
"""
import pathlib
import struct
import sys

DATA, CREDIT, BYE, WRITE, READ = 4, 5, 6, 7, 8
GRANT, REVOKE, RETURN, ATOMIC = 10, 11, 12, 13
FIRST, LAST, WORD, TAGGED = 1, 2, 4, 8
# What a piece of one step, of which 25 is done, has in front: the key it has revoked.
STEPPED = 1 << 5 | 25
# Bytes of a message beyond its header are a multiple of this.
STEP = 37


def offer(kind, length, features=0):
    """What hello and welcome begin with."""
    return struct.pack("<BBHIQQHHI", 1, kind, length, features, 0x1234, 1, 4, 256, 0)


def piece(kind, flags, steps, at, credit=0, word=0, tag=0, ctx=0, then=0, data=None):
    """A message, which has so many steps of bytes, and what is done after it."""
    head = struct.pack("<BBBBHHQQQ", 1, kind, flags, ctx, steps * STEP, credit, at, word, tag)
    return bytes([steps << 5 | then]) + head + (data or b"x" * (steps * STEP))


def bare(steps, data):
    """A piece without a header, whose bytes nobody looks at; then a buffer is free."""
    return bytes([steps << 5 | 15]) + struct.pack("<I", data)


def request(kind, lens):
    """A request for ranges of so many bytes, a write with 42 behind its head, padded."""
    ranges = b"".join(struct.pack("<QQQ", 1, n, 7) for n in lens)
    head = struct.pack("<Q", len(lens)) + ranges
    data = head + (bytes(sum(lens)) if kind == WRITE else b"")
    assert len(data) % STEP == 0
    return piece(kind, FIRST | LAST, len(data) // STEP, len(data), then=17,
                 data=data)


def grant(key, access):
    """A grant of 500 bytes; 7 stands for its length."""
    data = struct.pack("<QQQQQ", key, 0x99, 0x1000, 500, access)
    head = struct.pack("<BBBBHHQQQ", 1, GRANT, FIRST | LAST, 0, len(data), 0, len(data), 0, 0)
    return bytes([7 << 5 | 1]) + head + data


def atomic(op, elements):
    """An atomic operation on words, which comes as a grant does: its bytes are as many."""
    data = struct.pack("<BBBBIQQ", 1, op, elements, 1, 0, 8, 7) + bytes(range(16))
    head = struct.pack("<BBBBHHQQQ", 1, ATOMIC, FIRST | LAST, 0, len(data), 0, len(data), 0, 0)
    assert len(data) == 40
    return bytes([7 << 5 | 1]) + head + data


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    name = bytes(10) + b"\xff\xff\x7f\0\0\1" + struct.pack("<HH", 7, 0)
    hello, tags, rma, plain = (offer(1, 52, features) + name for features in (0, 1, 2, 8))
    native, atomics = (offer(1, 52, features) + name for features in (34, 66))
    ctx, both = (offer(1, 52, 5 << 24 | features) + name for features in (4, 12))
    whole = [piece(DATA, FIRST | LAST | WORD, 1, STEP, word=9, then=1),
             piece(DATA, FIRST, 2, 5 * STEP, then=1), piece(DATA, LAST, 3, 2 * STEP, then=7),
             piece(DATA, FIRST | LAST, 0, 0, then=7)]
    seeds = {"hello": hello, "welcome": offer(2, 32),
             "refuse": struct.pack("<BBHI", 1, 3, 8, 1),
             # 8 + 24 bytes of head and 5 or 42 more; 37 is one step.
             "write": rma + request(WRITE, [5]) + request(WRITE, [42]),
             "whole": hello + b"".join(whole),
             "tagged": tags + piece(DATA, FIRST | LAST | TAGGED, 1, STEP, tag=1 << 63, then=1),
             "context": ctx + piece(DATA, FIRST | LAST, 1, STEP, ctx=2, then=1)
             + piece(DATA, FIRST, 1, 2 * STEP, ctx=1, then=1) + piece(DATA, LAST, 1, STEP, then=1),
             # One of its own; two that are the rest of another.
             "bare": plain + bare(2, 1 << 16) + piece(DATA, FIRST, 1, STEP + 39, then=1)
             + bare(0, 0) + bare(1, 0),
             # Two, of which one is taken back and then granted again.
             "grant": native + grant(5, 3) + grant(6, 1) + piece(REVOKE, 0, 0, 0, word=5, then=1)
             + grant(5, 2) + piece(REVOKE, 0, 0, 0, word=6),
             # Four words are added to, two compared and swapped.
             "atomic": atomics + atomic(2, 4) + atomic(12, 2),
             # One of its own is revoked, and returned.
             "return": native + piece(DATA, FIRST | LAST, 1, STEP, then=25)
             + piece(RETURN, 0, 0, 0, word=STEPPED),
             # The rest of one for a context.
             "bare-context": both + piece(DATA, FIRST, 1, STEP + 38, ctx=2, then=1) + bare(1, 0),
             "credit": hello + piece(DATA, FIRST | LAST, 1, STEP, then=4)
             + piece(DATA, FIRST | LAST, 1, STEP, then=4)
             + piece(CREDIT, 0, 0, 0, credit=2) + piece(BYE, 0, 0, 0, then=24)}
    for name, data in seeds.items():
        (out / name).write_bytes(data)


if __name__ == "__main__":
    main()
