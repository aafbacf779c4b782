#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the corpus that fuzz_store starts from: fuzz_store-seeds OUTDIR

A seed is a byte of FIX_* bits and patches: region, offset, length, bytes.
"""
import pathlib
import struct
import sys

SUPER_A, SUPER_B, COMMIT_A, COMMIT_B, INSTANCE_A, INSTANCE_B = range(6)
EVENTS, TABLE, MIRROR = 6, 7, 8
FIX_ALL = 0x3F
RECORD, WORD_OFF = 32, 24
STATES = range(1, 8)


def patch(region, offset, data):
    return struct.pack("<BHB", region, offset, len(data)) + data


def word(state, tx):
    return struct.pack("<I", state | tx << 4)


def seeds():
    yield "nothing", bytes([0])
    yield "sums", bytes([FIX_ALL])
    for region in range(9):
        yield f"damage-{region}", bytes([0]) + patch(region, 40, b"\xff" * 8)
        yield f"change-{region}", bytes([FIX_ALL]) + patch(region, 40, b"\x01\0\0\0")
    for offset in (8, 12, 44, 48, 56, 64, 72, 80, 88, 104, 112, 136, 144, 152):
        fields = b"".join(patch(r, offset, struct.pack("<Q", 3)) for r in (0, 1))
        yield f"super-{offset}", bytes([FIX_ALL]) + fields
    for state in STATES:
        for mirror in STATES:
            for tx in (2, 3, 4):
                data = bytes([FIX_ALL])
                data += patch(TABLE, RECORD + WORD_OFF, word(state, tx))
                data += patch(MIRROR, RECORD + WORD_OFF, word(mirror, tx))
                yield f"state-{state}-{mirror}-{tx}", data
    twice = patch(TABLE, RECORD, struct.pack("<Q", 1 << 21))
    yield "twice", bytes([FIX_ALL]) + twice + patch(MIRROR, RECORD, twice[4:])
    wrap = struct.pack("<I", 0x0FFFFFFF)
    yield "wrap", bytes([FIX_ALL]) + patch(COMMIT_A, 0, wrap) + patch(COMMIT_B, 0, wrap)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, data in seeds():
        (folder / name).write_bytes(data)


main()
