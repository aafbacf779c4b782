#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which file of a folder may call which: down the table of its page, and in small circles.

A page has a table of the files of a folder and of those below it, from the top down. What a file takes of
another one, a function or an object, belongs to a file further down; each source
stands in the table once. Files of other folders may call each other in a circle, but few of them.
"""
import pathlib
import re

import prefixes
import rooms

TOP = pathlib.Path(__file__).resolve().parents[2]
# folder: its page, and the heading above its table
PAGES = {"initiator/kmod": ("docs/kfbrick.md", "## How it is built\n")}
# folder: of how many files, those below it included, a circle of calls may be
CIRCLES = {"brickd": 4, "proto": 4, "initiator/core": 4, "initiator/kmod": 1,
           # The table of commands has two that show it.
           "initiator/brickctl": 5,
           # What waits turns the wheel, and the wheel ends what waits.
           "initiator/lib": 11}
TAG = re.compile(r"\b(?:struct|union|enum)\s+\w+")
OTHERS = r"^(?!static\b|extern\b)\w"
FUNCTION = re.compile(OTHERS + r"[^;{}=#]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
OBJECT = re.compile(OTHERS + r"[^;{}()=#]*?\b(\w+)(?:\[\w*\])?\s*[=;]", re.M)


def order(page, heading):
    """The files of the table below a heading, from the top down."""
    table = re.search(r"(?:^\|.*\n)+", page.split(heading, 1)[1], re.M).group()
    return [name for row in table.splitlines()
            for name in re.findall(r"`([\w/]+\.c)`", row.split("|")[1])]


def defined(text):
    """What other files can take of this one."""
    text = TAG.sub("type", prefixes.outside(text))
    return set(FUNCTION.findall(text)) | set(OBJECT.findall(text))


def used(text):
    """The words of a file's code, without the tags of its types."""
    return set(re.findall(r"\w+", TAG.sub("type", prefixes.SKIPPED.sub(" ", text))))


def faults(files, listed):
    """What is wrong; files: name: text."""
    for name in sorted(set(files) ^ set(listed)):
        yield f"{name}: not in the table" if name in files else f"{name}: no such file"
    place = {name: at for at, name in enumerate(listed) if name in files}
    if len(place) != len(listed):
        yield "the table has a file twice, or one that is not there"
    names = {name: defined(files[name]) for name in place}
    for caller in place:
        words = used(files[caller])
        for other in place:
            if place[other] < place[caller]:
                for name in sorted(names[other] & words):
                    yield f"{caller} takes {name} of {other}, which is above it"


def circle(files):
    """The most files that call each other, directly or by others; files: name: text."""
    names = {name: defined(text) for name, text in files.items()}
    words = {name: used(text) for name, text in files.items()}
    calls = {name: {other for other in files if other != name and names[other] & words[name]}
             for name in files}
    return sorted(max(rooms.circles(calls), key=len, default=[]))


def circle_faults(files, most):
    found = circle(files)
    if len(found) > most:
        yield f"{len(found)} files call each other in a circle, and {most} may: {', '.join(found)}"


def sources(folder, top=TOP):
    return {str(path.relative_to(top / folder)): path.read_text(encoding="utf-8")
            for path in sorted((top / folder).rglob("*.c"))}
