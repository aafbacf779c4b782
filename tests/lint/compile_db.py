#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads a build's compile_commands.json for the lint checks.

compile_db.py BUILD files [FOLDER...]   the C files, relative to the top
compile_db.py BUILD flags FILE          its -I, -isystem, -D and -std flags
compile_db.py BUILD once                a compile_commands.json with each file once
"""
import functools
import json
import os
import shlex
import sys

# The simulator compiles it for user space; sparse and the kernel's own build check it.
KERNEL = ("initiator/kmod/", "kfabric/core/")
KEPT = ("-I", "-D", "-std=")


@functools.cache
def database(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        return json.load(f)


def source_of(entry):
    return os.path.relpath(os.path.join(entry["directory"], entry["file"]))


def files(build, folders):
    names = {source_of(e) for e in database(build) if e["file"].endswith(".c")}
    for name in sorted(names):
        if not name.startswith(("..", *KERNEL)) and (
            not folders or any(name.startswith(f.rstrip("/") + "/") for f in folders)
        ):
            yield name


def flags(build, wanted):
    for entry in database(build):
        if source_of(entry) != wanted:
            continue
        words = shlex.split(entry["command"])
        for i, word in enumerate(words):
            if word == "-isystem":
                yield from ("-isystem", words[i + 1])
            elif word.startswith("-I"):
                yield "-I" + os.path.join(entry["directory"], word[2:])
            elif word.startswith(KEPT):
                yield word
        return


def once(build):
    """The first entry of each file, as flags() reads it."""
    entries = {}
    for entry in database(build):
        entries.setdefault(source_of(entry), entry)
    return json.dumps(list(entries.values()))


def main():
    build, what, *rest = sys.argv[1:]
    if what == "once":
        print(once(build))
        return
    lines = files(build, rest) if what == "files" else flags(build, rest[0])
    print("\n".join(lines))


if __name__ == "__main__":
    main()
