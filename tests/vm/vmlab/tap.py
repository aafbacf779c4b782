# SPDX-License-Identifier: BSD-2-Clause
"""Reads what cases print: the points of each, between its marks."""
import dataclasses
import re

POINT = re.compile(r"(not ok|ok)\b *\d* *-? *(.*)$")
SKIP = re.compile(r"# *skip\b *(.*)", re.I)
PLAN = re.compile(r"1\.\.(\d+)$")
END_MARK = "@end "


@dataclasses.dataclass
class Score:
    """Counts of test points."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


@dataclasses.dataclass
class Result:
    """One case on one guest; ended is false when the guest died in it.

    own is how many of the points are the case's; those after them, on the
    kernel, are in no plan.
    """
    name: str
    points: list = dataclasses.field(default_factory=list)
    lines: list = dataclasses.field(default_factory=list)
    plan: int = -1
    own: int = -1
    ended: bool = False

    def score(self):
        score = Score()
        for verdict, text in self.points:
            if verdict == "not ok":
                score.failed += 1
            elif SKIP.search(text):
                score.skipped += 1
            else:
                score.passed += 1
        return score


def parse(lines):
    """Return the results of the cases that began, in order."""
    results, now = [], None
    for line in lines:
        if line.startswith("@begin "):
            now = Result(line.split()[1])
            results.append(now)
        elif line.startswith("@kernel "):
            now.own = len(now.points)
        elif line.startswith(END_MARK):
            finish(now)
            now = None
        elif now is not None:
            take(now, line)
    return results


def join(results, more, boot):
    """Add to a case's result that of its next boot."""
    if not results:
        return
    first = results[0]
    if not more:
        first.ended = False
        note(first, f"{first.name} did not begin in boot {boot}")
        return
    first.points += more[0].points
    first.lines += [f"# boot {boot}", *more[0].lines]
    first.ended &= more[0].ended


def take(result, line):
    result.lines.append(line)
    point, plan = POINT.match(line), PLAN.match(line)
    if point:
        result.points.append((point.group(1), point.group(2)))
    elif plan:
        result.plan = int(plan.group(1))


def finish(result):
    """Check the plan against the case's own points."""
    result.ended = True
    counted = result.own
    if result.plan < 0:
        note(result, f"{result.name} did not run to its end")
    elif result.plan != counted:
        note(result, f"{result.name} ran {counted} of {result.plan} points")
    elif result.plan == 0:
        note(result, f"{result.name} checked nothing")


def note(result, text):
    result.points.append(("not ok", text))
    result.lines.append(f"not ok - {text}")
