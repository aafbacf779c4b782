# SPDX-License-Identifier: BSD-2-Clause
"""What a document says: its code, its links and its headings.

Markdown has code in backticks and blocks, scdoc in bold, underline and blocks.
"""
import collections
import functools
import re

# kind: "code", a word or command in a sentence; "block", a line of a block;
# "path", what scdoc underlines.
Span = collections.namedtuple("Span", "page line text kind section")
FENCE = re.compile(r"^\s*```")


def lines_of(text):
    """(number, line, whether in a block, section); blocks' long lines joined.

    Blocks are fenced, or indented behind an empty line; what stands in columns
    beside an indented command tells about it.
    """
    is_block, is_indented, before, section, begun = False, False, "", "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_block = not is_block
            continue
        is_indented = line.startswith("    ") and (is_indented or not before)
        before = line.strip()
        if is_indented and not is_block:
            yield number, re.sub(r"(\S)\s{2,}.*", r"\1", line), True, section
            continue
        heading = re.match(r"#+ (.*)", line)
        if heading and not is_block:
            section = heading[1]
        if is_block and line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        yield number, begun + line, is_block, section
        begun = ""


@functools.lru_cache(maxsize=None)
def spans_of(page, text):
    """The page's code."""
    found, prose = [], []
    for number, line, is_block, section in lines_of(text):
        if is_block:
            found.append(Span(page, number, line, "block", section))
        else:
            prose.append((number, line, section))
    found += (man_spans if page.endswith(".scd") else markdown_spans)(page, prose)
    return tuple(found)


def markdown_spans(page, prose):
    """Code in backticks, which may go over the end of a line."""
    starts, text = [], ""
    for number, line, section in prose:
        starts.append((len(text), number, section))
        text += line + "\n"
    at = 0
    for match in re.finditer(r"(`+)((?:(?!\n\n)[^`])+)\1", text):
        while at + 1 < len(starts) and starts[at + 1][0] <= match.start():
            at += 1
        _, number, section = starts[at]
        yield Span(page, number, " ".join(match[2].split()), "code", section)


MARKED = re.compile(r"(?<![\w\\])(\*([^*]+)\*|_([^_]+(?:_[^_]+)*?)_(?!\w))")


def man_spans(page, prose):
    for number, line, section in prose:
        if line.startswith(";"):
            continue
        if section == "SYNOPSIS":
            yield Span(page, number, re.sub(r"[*_]|\+\+", "", line), "code", section)
        for _, bold, underlined in MARKED.findall(line):
            kind = "code" if bold else "path"
            yield Span(page, number, bold or underlined, kind, section)


def links_of(text):
    """(line, target) of the links of a Markdown page."""
    for number, line, is_block, _ in lines_of(text):
        if not is_block:
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                yield number, target


def anchors_of(text):
    """What a link to the page may have behind #, as the forges make it."""
    seen = collections.Counter()
    for _, line, is_block, _ in lines_of(text):
        heading = re.match(r"#+ (.*?)\s*#*$", line)
        if is_block or not heading:
            continue
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        yield anchor + (f"-{seen[anchor]}" if seen[anchor] else "")
        seen[anchor] += 1
