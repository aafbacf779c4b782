#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_stcp's seed corpus: fuzz_stcp-seeds OUT writes a file for each
conversation, in the commands of fuzz_stcp.c."""

import pathlib
import struct
import sys

FEED, RECEIVE, SEND, WRITE, READ, HEAR, CLOSE_KEY, SHUT_DOWN = range(8)
OPEN, READ_ONLY, CLOSED = 1, 2, 3
DELIVERY, COMMIT = 4, 8


def op(order, kind, segments=(), payload=b"", flags=0, op_data=0):
    size = 16 + 24 * len(segments)
    return struct.pack(order + "BBHBBBBQ", 3, kind, flags, op_data, len(segments), size, 0,
                       size + len(payload)) + \
        b"".join(struct.pack(order + "QQQ", *s) for s in segments) + payload


def feed(data, piece=200):
    return b"".join(bytes([FEED, len(data[i:i + piece])]) + data[i:i + piece]
                    for i in range(0, len(data), piece))


def conversations(order):
    ack = op(order, 0, op_data=2)
    write = op(order, 4, [(0, 8, OPEN), (100, 4, CLOSED)], bytes(range(12)), DELIVERY)
    yield "message", bytes([RECEIVE, 64]) + feed(op(order, 0, payload=b"hello"))
    yield "message-first", feed(op(order, 0, payload=b"hello") * 3) + bytes([RECEIVE, 9] * 3)
    yield "write", feed(write) + bytes([HEAR])
    yield "write-in-pieces", feed(write, 7)
    yield "commit", feed(op(order, 4, [(8, 16, OPEN)], bytes(16), COMMIT))
    yield "half-write", feed(write[:-5]) + bytes([CLOSE_KEY, 2]) + feed(write[-5:])
    yield "read", feed(op(order, 2, [(0, 64, READ_ONLY), (0, 8, OPEN)]) * 4) + bytes([HEAR])
    yield "send", bytes([SEND, 20, WRITE, 0x88, WRITE, 0x90, HEAR]) + feed(ack * 2)
    yield "reading", bytes([READ, 30]) + feed(op(order, 3, payload=bytes(30)))
    yield "shutdown", bytes([SEND, 20, SHUT_DOWN, HEAR])
    yield "read-only", feed(op(order, 4, [(0, 8, READ_ONLY)], bytes(8)))


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for first, order in ((0, "<"), (1, ">")):
        for name, data in conversations(order):
            (out / f"{name}-{first}").write_bytes(bytes([first]) + data)


if __name__ == "__main__":
    main()
