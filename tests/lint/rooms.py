#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickd's rooms: who includes whom, drawn and judged.

tests/lint/rooms.py [--write]

Prints the drawing that docs/ARCHITECTURE.md holds between its markers; --write
puts it there. A room is a folder of brickd; what is in no folder is the top.
"""
import argparse
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
BEGIN, END = "<!-- tests/lint/rooms.py draws this: -->\n", "<!-- drawn. -->\n"
HALL = "brickd"
WIDTH = 90
# Rooms that include each other, and files of brickd that do. Circles may leave
# these lists or lose a member; nothing may come to them.
ROOM_CIRCLES = []
FILE_CIRCLES = [
    {"net/devices", "net/fabric"},
    {"session/event", "session/losses"},
    {"session/session", "session/sessions"},
    {"store/evlog", "store/format", "store/instance", "store/record", "store/slow", "store/store", "store/super"},
]
# So much of the files outside a room may include one header of it.
SHARE = 1 / 3


def sources(top=TOP):
    """path below brickd/: its text"""
    folder = top / "brickd"
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.[ch]"))}


def room_of(path):
    return path.split("/")[0] if "/" in path else HALL


def includes(files):
    """path: the files of brickd that it includes"""
    found = {}
    for path, text in files.items():
        names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M)
        named = {name.removeprefix("brickd/") for name in names}
        found[path] = {name for name in named if name in files}
    return found


def arrows(found, name_of):
    """name: the names it points to, as name_of calls a file"""
    drawn = {name_of(path): set() for path in found}
    for path, targets in found.items():
        drawn[name_of(path)] |= {name_of(target) for target in targets}
    return {name: targets - {name} for name, targets in drawn.items()}


def circles(drawn):
    """Sets of names that reach each other."""
    def reach(name):
        seen, todo = set(), [name]
        while todo:
            for target in drawn[todo.pop()] - seen:
                seen.add(target)
                todo.append(target)
        return seen

    reached = {name: reach(name) for name in drawn}
    return {frozenset({name} | {other for other in reached[name] if name in reached[other]})
            for name in drawn if name in reached[name]}


def floors(drawn):
    """name: how many rooms lie below it, on the longest way down"""
    done = {}

    def floor(name, above):
        if name not in done:
            done[name] = 1 + max((floor(target, above | {name})
                                  for target in drawn[name] - above), default=0)
        return done[name]

    for name in sorted(drawn):
        floor(name, {name})
    return done


def drawing(files):
    drawn = arrows(includes(files), room_of)
    height = floors(drawn)
    lines = []
    for name in sorted(drawn, key=lambda name: (-height[name], name)):
        head = f"{height[name]:2}  {name + '/':10}"
        line = head + "->" if drawn[name] else head.rstrip()
        for target in sorted(drawn[name], key=lambda target: (-height[target], target)):
            if len(line) + len(target) + 1 > WIDTH:
                lines.append(line)
                line = " " * len(head) + "  "
            line += " " + target
        lines.append(line)
    return "```\n" + "\n".join(lines) + "\n```\n"


def module_of(path):
    return re.sub(r"(_impl)?\.[ch]$", "", path)


def grown(found, allowed):
    """Circles that are in no allowed one, and allowed ones that are none any more."""
    for circle in sorted(found, key=sorted):
        if not any(circle <= set(old) for old in allowed):
            yield "a circle: " + ", ".join(sorted(circle))
    for old in allowed:
        if set(old) not in [set(circle) for circle in found]:
            yield ("this circle is smaller now, take it off the list or shorten it: "
                   + ", ".join(sorted(old)))


def crowded(files):
    """Headers that too many of the others' files include."""
    found = includes(files)
    for header in files:
        room = room_of(header)
        others = [path for path in files if room_of(path) != room]
        n = sum(header in found[path] for path in others)
        if header.endswith(".h") and n > len(others) * SHARE:
            yield f"{header}: {n} of the {len(others)} files outside {room}/ include it"


def faults(files, page, room_circles=(), file_circles=()):
    found = includes(files)
    yield from grown(circles(arrows(found, room_of)), room_circles)
    yield from grown(circles(arrows(found, module_of)), file_circles)
    yield from crowded(files)
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        yield f"{PAGE}: no place for the drawing, or several: {BEGIN.strip()}"
    elif page.split(BEGIN)[1].split(END)[0] != drawing(files):
        yield f"{PAGE}: the drawing is not what the code is: tests/lint/rooms.py --write"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help=f"put the drawing into {PAGE}")
    picture = drawing(sources())
    if not parser.parse_args().write:
        print(picture, end="")
        return
    page = TOP / PAGE
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(before + BEGIN + picture + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
