#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_rpcwire's seed corpus: fuzz_rpcwire-seeds OUT.

A reply of each kind, with what its call has offered in front.
"""
import pathlib
import struct
import sys

MSG, NOMSG, ERROR = 0, 1, 4
XID = 0x1234
REPLY = 1


def words(*numbers):
    return struct.pack(f">{len(numbers)}I", *numbers)


def chunk(*lengths):
    """A chunk whose segments have these lengths."""
    return words(len(lengths)) + b"".join(words(7, n, 0, 64) for n in lengths)


def seed(offered, kind, lists):
    return bytes([offered]) + words(XID, 1, 32, kind) + lists


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    body = words(XID, REPLY, 0, 0, 0)
    seeds = {"plain": seed(0, MSG, words(0, 0, 0) + body),
             "call": seed(0, MSG, words(0, 0, 0, XID, 0)),
             "written": seed(2, MSG, words(0, 1) + chunk(1000, 10) + words(0, 0) + body),
             "long": seed(3 << 2, NOMSG, words(0, 0, 1) + chunk(1000, 3, 0)),
             "unused": seed(1 << 2, MSG, words(0, 0, 1) + chunk(0) + body),
             "error": seed(5, ERROR, words(2))}
    for name, data in seeds.items():
        (out / name).write_bytes(data)


if __name__ == "__main__":
    main()
