#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Header, symbol map and shared library name the same functions.

test_symbols.py HEADER MAP LIBRARY NM
"""
import re
import subprocess
import sys


def declared(path):
    """Names of the functions a header declares."""
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"^[a-z][^;{}#]*?\b(kfbrick_\w+)\(", text, re.M))


def mapped(path):
    """Names in the global part of a version script."""
    text = open(path, encoding="utf-8").read()
    part = re.search(r"KFBRICK_0\.1 \{\s*global:(.*?)local:\s*\*;", text, re.S)
    return set(re.findall(r"(\w+);", part.group(1)))


def exported(path, nm):
    """Names a shared library exports, with their version."""
    out = subprocess.run([nm, "-D", "--defined-only", path], check=True,
                         capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    return {n for n in names if not n.startswith("KFBRICK_")}


def main():
    header, version_map, library, nm = sys.argv[1:]
    want = declared(header)
    wrong = []
    if len(want) < 20:
        wrong.append(f"only {len(want)} functions found in {header}")
    if mapped(version_map) != want:
        wrong.append(f"map and header differ: {sorted(mapped(version_map) ^ want)}")
    versioned = {name + "@@KFBRICK_0.1" for name in want}
    if exported(library, nm) != versioned:
        wrong.append(f"library and header differ: {sorted(exported(library, nm) ^ versioned)}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
