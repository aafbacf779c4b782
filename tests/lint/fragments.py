#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How much of the code is fragments: short static functions that one place calls.

tests/lint/fragments.py [--list] [FOLDER...]

A fragment is a static function of a source file that is named once besides its
definition, in a call, and whose body has at most 12 lines. Some have a reason to exist;
many of them are a thought that was split. Prints a row for each folder, and names with
--list. What is called by its address (a callback, a row of a table) is none.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import prefixes  # pylint: disable=wrong-import-position

TOP = prefixes.TOP
FOLDERS = ("initiator", "kfabric", "brickd")
# What only tests load is no product.
LEFT_OUT = ("kfabric/test/",)
LINES_MAX = 12


def bodies(text):
    """(line, name, lines of the body) of each static function, by kernel style's braces."""
    kinds = {line: name for line, name, is_function in prefixes.static_kinds(text)
             if is_function}
    name = first = start = None
    for number, line in enumerate(text.splitlines(), 1):
        if number in kinds:
            name, first = kinds[number], number
        if line == "{" and name:
            start = number
        elif line == "}" and start:
            yield first, name, number - start - 1
            name = start = None
        elif line.endswith(";") and name and not start:
            name = None  # it was declared only


def fragments(text):
    """How many static functions there are, and (line, name, lines) of the fragments."""
    code = prefixes.SKIPPED.sub(lambda found: "\n" * found.group().count("\n"), text)
    count, found = 0, []
    for line, name, lines in bodies(text):
        count += 1
        uses = re.findall(rf"\b{name}\b(\s*\()?", code)
        # Its definition, and a declaration before it, look like calls.
        uses = len(uses) - len(re.findall(
            rf"^static\b[^;{{}}()]*\b{name}\s*\(", code, re.M)) if all(uses) else 0
        if uses == 1 and lines <= LINES_MAX:
            found.append((line, name, lines))
    return count, found


def sources(folder, top=TOP):
    for path in sorted((top / folder).rglob("*.c")):
        name = str(path.relative_to(top))
        if not name.startswith(LEFT_OUT):
            yield name, path.read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name them")
    parser.add_argument("folder", nargs="*", default=FOLDERS)
    args = parser.parse_args()
    print("| folder | static functions | fragments | share |\n|---|---|---|---|")
    names, sums = [], [0, 0]
    for folder in args.folder:
        count, short = 0, 0
        for path, text in sources(folder):
            here, found = fragments(text)
            count += here
            short += len(found)
            names += [f"{path}:{line}: {name}, {lines} lines" for line, name, lines in found]
        sums = [sums[0] + count, sums[1] + short]
        print(f"| `{folder}` | {count} | {short} | {100 * short / max(count, 1):.1f} % |")
    print(f"| all | {sums[0]} | {sums[1]} | {100 * sums[1] / max(sums[0], 1):.1f} % |")
    if args.list:
        print("\n".join(names))


if __name__ == "__main__":
    main()
