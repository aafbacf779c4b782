#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Headers, symbol map and shared library name the same functions.

test_symbols.py HEADER... MAP LIBRARY NM
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
    """Versions in a version script: {version: names in its global part}."""
    text = open(path, encoding="utf-8").read()
    parts = re.findall(r"(KFBRICK_\d+\.\d+) \{\s*global:(.*?)(?:local:\s*\*;)?\s*\}", text, re.S)
    return {version: set(re.findall(r"(\w+);", names)) for version, names in parts}


def exported(path, nm):
    """Names a shared library exports, with their version; @ for older ones."""
    out = subprocess.run([nm, "-D", "--defined-only", path], check=True,
                         capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    return {n for n in names if not n.startswith("KFBRICK_")}


def main():
    *headers, version_map, library, nm = sys.argv[1:]
    want = set().union(*map(declared, headers))
    wrong = []
    if len(want) < 20:
        wrong.append(f"only {len(want)} functions found in {headers}")
    versions = mapped(version_map)
    names = [name for part in versions.values() for name in part]
    if sorted(names) != sorted(want):
        wrong.append(f"map and header differ: {sorted(set(names) ^ want)}")
    versioned = {f"{name}@@{version}" for version, part in versions.items() for name in part}
    # For programs that were built when there was another one.
    versioned |= {f"{name}@KFBRICK_0.1" for name in ("kfbrick_get_info", "kfbrick_next_event")}
    if exported(library, nm) != versioned:
        wrong.append(f"library and header differ: {sorted(exported(library, nm) ^ versioned)}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
