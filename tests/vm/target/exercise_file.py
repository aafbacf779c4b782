#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""exercise_file.py FILE OPERATIONS SEED [mapped]: a file is what was done to it.

Does that many random reads, writes, truncations, reopenings and, with "mapped", reads and
writes of a mapping, to a file and to a copy in memory, and compares the two whenever it
reads. Prints the sum that the file must have at the end.
"""
import hashlib
import mmap
import os
import random
import sys

MAX_BYTES = 256 << 10
MAX_STEP = 64 << 10


class Exercise:
    def __init__(self, path, seed):
        self.path = path
        self.random = random.Random(seed)
        self.copy = bytearray()
        self.done = {}
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def differs(self, what, at, got, want):
        first = next((i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]),
                     min(len(got), len(want)))
        sys.exit(f"{what} of {len(want)} bytes at {at} of {len(self.copy)}: "
                 f"{len(got)} came, byte {first} is the first that differs")

    def range(self, end):
        at = self.random.randrange(max(end, 1))
        return at, 1 + self.random.randrange(min(MAX_STEP, max(end - at, 1)))

    def write(self):
        at, n = self.range(MAX_BYTES)
        data = self.random.randbytes(n)
        if os.pwrite(self.fd, data, at) != n:
            sys.exit(f"a write of {n} bytes at {at} was cut short")
        if at > len(self.copy):
            self.copy += bytes(at - len(self.copy))
        self.copy[at:at + n] = data

    def read(self):
        at, n = self.range(len(self.copy) + 4096)
        want = bytes(self.copy[at:at + n])
        got = os.pread(self.fd, n, at)
        if got != want:
            self.differs("a read", at, got, want)

    def truncate(self):
        n = self.random.randrange(MAX_BYTES)
        os.ftruncate(self.fd, n)
        if n <= len(self.copy):
            del self.copy[n:]
        else:
            self.copy += bytes(n - len(self.copy))

    def reopen(self):
        if self.random.random() < .5:
            os.fsync(self.fd)
        os.close(self.fd)
        self.fd = os.open(self.path, os.O_RDWR)
        if os.fstat(self.fd).st_size != len(self.copy):
            sys.exit(f"{os.fstat(self.fd).st_size} bytes, not {len(self.copy)}")

    def map(self):
        if not self.copy:
            return
        at, n = self.range(len(self.copy))
        with mmap.mmap(self.fd, len(self.copy)) as mapping:
            want = bytes(self.copy[at:at + n])
            if mapping[at:at + n] != want:
                self.differs("a mapping", at, mapping[at:at + n], want)
            data = self.random.randbytes(len(want))
            mapping[at:at + n] = data
            self.copy[at:at + n] = data
            mapping.flush()

    def run(self, operations, mapped):
        kinds = [self.read] * 8 + [self.write] * 8 + [self.truncate] * 2 + [self.reopen]
        kinds += [self.map] * 3 if mapped else []
        for _ in range(operations):
            kind = self.random.choice(kinds)
            kind()
            self.done[kind.__name__] = self.done.get(kind.__name__, 0) + 1
        os.fsync(self.fd)
        os.close(self.fd)
        print(hashlib.sha256(self.copy).hexdigest())
        print(" ".join(f"{k} {n}" for k, n in sorted(self.done.items())), file=sys.stderr)


def main():
    path, operations, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    Exercise(path, seed).run(operations, sys.argv[4:] == ["mapped"])


if __name__ == "__main__":
    main()
