#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The rooms of brickd, of the initiator and of kfabric: who includes whom, drawn and checked.

tests/lint/rooms.py [--write]

Prints the drawings that docs/ARCHITECTURE.md holds between their markers; --write
puts them there. A room is a folder of such a tree; what is in no folder is the top.
"""
import argparse
import dataclasses
import pathlib
import posixpath
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
END = "<!-- drawn. -->\n"
WIDTH = 90
# So much of the files outside a room may include one header of it.
SHARE = 1 / 3


@dataclasses.dataclass(frozen=True)
class Tree:
    """A part of the tree that has rooms.

    shelves are rooms of which each folder is a room, too; faces are folders whose headers
    are included by their path below them, and are for everybody. Circles may leave
    the lists of those that are there, or lose a member; nothing may come to them.
    """
    name: str
    shelves: tuple = ()
    faces: tuple = ()
    room_circles: tuple = ()
    file_circles: tuple = ()

    @property
    def begin(self):
        return f"<!-- tests/lint/rooms.py draws {self.name}: -->\n"

    def sources(self, top=TOP):
        """path below the tree: its text"""
        folder = top / self.name
        return {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
                for path in sorted(folder.rglob("*.[ch]"))}

    def room_of(self, path):
        parts = path.split("/")
        if len(parts) == 1:
            return self.name
        return "/".join(parts[:2 if parts[0] in self.shelves else 1][:len(parts) - 1])

    def resolve(self, includer, name, files):
        """The file of the tree that is included, or None."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))
        below = [f"{face}/{name}" for face in self.faces]
        for path in (beside, name.removeprefix(self.name + "/"), *below):
            if path in files:
                return path
        return None

    def includes(self, files):
        """path: the files of the tree that it includes"""
        found = {}
        for path, text in files.items():
            names = re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.M)
            found[path] = {self.resolve(path, name, files) for name in names} - {None}
        return found


TREES = (
    Tree("brickd", shelves=("store",), file_circles=(
        {"net/devices", "net/fabric"},
        {"session/event", "session/losses"},
        {"session/session", "session/sessions"},
    )),
    Tree("initiator/core"),
    Tree("initiator/kmod"),
    Tree("initiator/brickctl", faces=("base",)),
    Tree("kfabric", shelves=("test",), faces=("include", "user")),
)


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


def drawing(tree, files):
    drawn = arrows(tree.includes(files), tree.room_of)
    height = floors(drawn)
    room = max(10, *(len(name) + 2 for name in drawn))
    lines = []
    for name in sorted(drawn, key=lambda name: (-height[name], name)):
        head = f"{height[name]:2}  {name + '/':{room}}"
        line = head + "->" if drawn[name] else head.rstrip()
        for target in sorted(drawn[name], key=lambda target: (-height[target], target)):
            if len(line) + len(target) + 1 > WIDTH:
                lines.append(line)
                line = " " * len(head) + "  "
            line += " " + target
        lines.append(line)
    return "```\n" + "\n".join(lines) + "\n```\n"


def module_of(path):
    return re.sub(r"(_impl|_priv)?\.[ch]$", "", path)


def grown(found, allowed):
    """Circles that are in no allowed one, and allowed ones that are none any more."""
    for circle in sorted(found, key=sorted):
        if not any(circle <= set(old) for old in allowed):
            yield "a circle: " + ", ".join(sorted(circle))
    for old in allowed:
        if set(old) not in [set(circle) for circle in found]:
            yield ("this circle is smaller now, take it off the list or shorten it: "
                   + ", ".join(sorted(old)))


def crowded(tree, files):
    """Headers that too many of the others' files include."""
    found = tree.includes(files)
    for header in files:
        room = tree.room_of(header)
        others = [path for path in files if tree.room_of(path) != room]
        n = sum(header in found[path] for path in others)
        if header.endswith(".h") and room not in tree.faces and n > len(others) * SHARE:
            yield f"{header}: {n} of the {len(others)} files outside {room}/ include it"


def faults(tree, files, page):
    found = tree.includes(files)
    yield from grown(circles(arrows(found, tree.room_of)), tree.room_circles)
    yield from grown(circles(arrows(found, module_of)), tree.file_circles)
    yield from crowded(tree, files)
    if page.count(tree.begin) != 1 or END not in page.split(tree.begin)[1]:
        yield f"{PAGE}: no place for the drawing, or several: {tree.begin.strip()}"
    elif page.split(tree.begin)[1].split(END)[0] != drawing(tree, files):
        yield f"{PAGE}: the drawing is not what the code is: tests/lint/rooms.py --write"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help=f"put the drawings into {PAGE}")
    write = parser.parse_args().write
    path = TOP / PAGE
    page = path.read_text(encoding="utf-8")
    for tree in TREES:
        picture = drawing(tree, tree.sources())
        if not write:
            print(picture, end="")
            continue
        before, rest = page.split(tree.begin)
        page = before + tree.begin + picture + END + rest.split(END, maxsplit=1)[1]
    if write:
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
