#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes fuzz_tcpwire's seed corpus from kfabric/tcpwire/vectors.

fuzz_tcpwire-seeds OUT writes a file for each message and one for each whole
conversation, with the two bytes that fuzz_tcpwire.c has in front.
"""

import pathlib
import sys

# Three acknowledgements and three reads are owed; pieces of seven bytes.
OWED, BIG, ANSWER, PIECES = 3 << 1 | 3 << 3, 1, 2, 7


def messages(path):
    """Yields (name, bytes) of a vector file."""
    name, data = None, b""
    for line in path.read_text(encoding="ascii").splitlines():
        line = line.split("#")[0].strip()
        if line.endswith(":"):
            if name:
                yield name, data
            name, data = line[:-1], b""
        else:
            data += bytes.fromhex(line)
    if name:
        yield name, data


def main():
    vectors, out = pathlib.Path("@VECTORS@"), pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in sorted(vectors.glob("*.hex")):
        whole = b""
        for name, data in messages(path):
            if path.stem == "cm":
                how = 0 if name.startswith("request") else ANSWER
            else:
                how = OWED | (BIG if path.stem == "big" else 0)
            (out / f"{path.stem}-{name}").write_bytes(bytes([how, PIECES]) + data)
            whole += data
            count += 1
        if path.stem != "cm":
            (out / path.stem).write_bytes(bytes([how, PIECES]) + whole)
    if not count:
        sys.exit(f"no messages in {vectors}")


if __name__ == "__main__":
    main()
