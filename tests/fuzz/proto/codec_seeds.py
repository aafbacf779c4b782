#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_codec's seed corpus from proto/vectors, so that none is kept.

fuzz_codec-seeds OUT writes one file to the folder OUT for each message: a byte
for its kind, as fuzz_codec.c has them, and its bytes. Meson fills in where the
vectors are.
"""

import pathlib
import sys

KINDS = {"hello": 0, "accept": 1, "reject": 2, "request": 3, "reply": 4}


def messages(path):
    """Yields (kind, bytes) of the messages in a vector file."""
    kind, data = None, b""
    for line in path.read_text(encoding="ascii").splitlines():
        line = line.split("#")[0].strip()
        if line.endswith(":"):
            if kind in KINDS:
                yield kind, data
            kind, data = line[:-1], b""
        else:
            data += bytes.fromhex(line)
    if kind in KINDS:
        yield kind, data


def main():
    vectors, out = pathlib.Path("@VECTORS@"), pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in sorted(vectors.glob("*.hex")):
        for kind, data in messages(path):
            seed = out / f"{path.stem}.seed"
            seed.write_bytes(bytes([KINDS[kind]]) + data)
            count += 1
    if not count:
        sys.exit(f"no messages in {vectors}")


if __name__ == "__main__":
    main()
