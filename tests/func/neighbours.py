#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a client notices of another one that takes all it can get.

    neighbours.py [--seconds N] [--hours N] [--bound R] [--first] [--only HABIT] ...

A polite client (clients/polite.c) does the same few small operations all the time,
by turns alone and beside a greedy one (clients/greedy.c), which has another name, key
and grant and takes as much as it is let of one thing. Each of the polite one's
answers must be right, its bytes must be those that it wrote, and its session must
live. How long its operations take is printed, and decides nothing unless --bound
says how many times more the 99th percentile of one may become.

The run takes so many seconds, or hours, apart from what the bricks need to start.
"elsewhere" is what the machine itself makes of it: the greedy one asks another brick.
With --first, as root, brickd and the polite client have the processors before the greedy
one, as if it were another machine's; else it takes its part of them as well.
docs/BENCHMARKS.md has figures.
"""
import argparse
import select
import subprocess
import sys
import tempfile

import lab

SECONDS = 14
TURNS = 2
MOST_TURNS = 40
LONG_TURN_MS = 2000
# Of the time beside the greedy one.
ALONE = 0.4
SESSIONS, ALL_SESSIONS = 16, 64  # a quarter
ANSWER_S = 120
# Less than the greedy one waits for its last answers.
PROMOTE_WAIT_MS = 20000
POLITE_FIRST = 4096
COPY_US = "2000"
FAST, SLOW = "66M", "1G"
# Blocks that the polite one goes round: of a brick with a slow tier more than memory
# has, so that each MAP waits for a promotion.
BLOCKS, TIER_BLOCKS = 9, 42

HABITS = ("ping", "info", "list-allocated", "list-mapped", "list-mine", "alloc", "alloc-large",
          "map", "map-wide", "flush", "write", "waiting", "refused", "wrong-key", "nonsense",
          # Last: it leaves sessions that live until their leases are over.
          "sessions")
TIER_HABITS = ("promoted", "list-allocated")
ELSEWHERE = "elsewhere"
# --bound minds no operation whose 99th percentile stays below so many microseconds.
NOTICED_US = 1000

FIRST = ("chrt", "--rr", "1")

OPTIONS = argparse.Namespace(seconds=SECONDS, bound=None, first=False, only=None)


class Speaker:
    """A program that answers each line."""

    def __init__(self, program, *words, before=()):
        self.name = program
        # What nobody reads must not fill a pipe.
        self.complaints = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*before, str(lab.FUNC_BIN / program), *(str(w) for w in words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints,
            bufsize=0, env=lab.environment())

    def ask(self, line, last):
        """Its lines up to one that begins with this word."""
        self.process.stdin.write(line.encode() + b"\n")
        lines = [""]
        while not lines[-1].startswith(last):
            if not select.select([self.process.stdout], [], [], ANSWER_S)[0]:
                raise AssertionError(f"{self.name} does not answer to {line}")
            said = self.process.stdout.readline()
            if not said:
                self.complaints.seek(0)
                raise AssertionError(f"{self.name}: {line}: " +
                                     self.complaints.read().decode()[-2000:])
            lines.append(said.decode().rstrip())
        return lines[1:]

    def close(self):
        if self.process.returncode is not None:
            return
        self.process.stdin.close()
        self.process.wait(ANSWER_S)
        self.process.stdout.close()
        self.complaints.close()


class Row:
    """What was measured beside one habit."""

    def __init__(self, habit, done_per_s, lines):
        self.habit, self.done_per_s = habit, done_per_s
        # {op: {"alone": (n, p50, p99, max), "beside": ...}}, microseconds
        self.ops = {}
        for line in lines:
            op, which, n, *times = line.split()
            self.ops.setdefault(op, {})[which] = (int(n), *(int(t) / 1e3 for t in times))

    def ratio(self, op):
        alone, beside = self.ops[op]["alone"], self.ops[op]["beside"]
        return beside[2] / alone[2] if alone[0] and beside[0] else 0

    def beyond(self, bound):
        return [op for op in self.ops if self.ratio(op) > bound]


def table(rows):
    """The ratios of the 99th percentiles, and the figures of each op of each row."""
    ops = list(rows[0].ops)
    lines = [f"{'p99, times':<16}{'takes/s':>9}" + "".join(f"{op:>9}" for op in ops)]
    for row in rows:
        lines.append(f"{row.habit:<16}{row.done_per_s:>9.0f}" +
                     "".join(f"{row.ratio(op):>9.1f}" for op in ops))
    figures = f"{'p50':>9}{'p99':>10}{'max':>10}"
    lines.append(f"\n{'us':<25}{'alone':<6}{figures}   {'beside':<7}{figures}")
    for row in rows:
        for op in ops:
            alone, beside = row.ops[op]["alone"], row.ops[op]["beside"]
            said = [f"{f[0]:>6}{f[1]:>9.0f}{f[2]:>10.0f}{f[3]:>10.0f}" for f in (alone, beside)]
            lines.append(f"{row.habit:<16}{op:<9}{said[0]}    {said[1]}")
    return "\n".join(lines)


class Neighbours(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.speakers = []

    def start(self, program, *words, **parameters):
        speaker = Speaker(program, *words, **parameters)
        self.addCleanup(speaker.close)
        self.speakers.append(speaker)
        return speaker

    def shared(self, name="brick", **parameters):
        """A brick that both may use, each in its part."""
        b = self.brick(name, program=lab.FUNC_BIN / "brickd-slow-copies",
                       clients={"greedy": [f"0x0+{POLITE_FIRST} rw"],
                                "polite": [f"{POLITE_FIRST * lab.BLOCK:#x}+64 rw"]},
                       settings=f"map-extent-max = 2M\nmax-sessions = {ALL_SESSIONS}\n"
                                f"promote-wait-ms = {PROMOTE_WAIT_MS}",
                       inside=FIRST if OPTIONS.first else (), **parameters)
        b.environment = {"PMEM2_FORCE_GRANULARITY": "CACHE_LINE", "SLOW_COPY_US": COPY_US}
        return b.start()

    def greedy(self, brick):
        return self.start("greedy", brick.url, "greedy", brick.key("greedy"), SESSIONS,
                          "tiers" if brick.slow else "memory", before=("nice", "-n", "10"))

    def polite(self, brick, blocks):
        return self.start("polite", brick.url, "polite", brick.key("polite"), POLITE_FIRST,
                          blocks, before=FIRST if OPTIONS.first else ())

    def beside(self, polite, greedy, habit, seconds):
        turns = max(TURNS, round(seconds * 1000 / LONG_TURN_MS / 2))
        ms = int(seconds * 1000 / turns / (1 + ALONE))
        done = turn = 0
        # A greedy one that waits for a processor all the time is none yet.
        while turn < turns or not done and turn < MOST_TURNS:
            turn += 1
            polite.ask(f"alone {int(ms * ALONE)}", "ok")
            greedy.ask(f"go {habit}", "going")
            polite.ask(f"beside {ms}", "ok")
            done += int(greedy.ask("rest", "rested")[-1].split()[1])
        self.assertGreater(done, 0, habit)
        return Row(habit, done * 1000 / turn / ms, polite.ask("report", "ok")[:-1])

    def judge(self, rows, *bricks):
        for speaker in self.speakers:
            speaker.close()
        for brick in bricks:
            self.assertEqual(brick.stop(), 0)
            self.assertNotRegex(brick.log_text(),
                                "client polite.*(its lease is over|evicted)")
        print("\n" + table(rows), file=sys.stderr)
        for row in rows if OPTIONS.bound else []:
            slow = {op: row.ratio(op) for op in row.beyond(OPTIONS.bound)
                    if row.ops[op]["beside"][2] > NOTICED_US}
            self.assertFalse(slow, row.habit)

    def chosen(self, habits):
        return chosen(habits) or self.skipTest("not asked for")

    def test_no_client_keeps_another_one_from_its_operations(self):
        habits = self.chosen(HABITS + (ELSEWHERE,))
        each = OPTIONS.seconds / len(chosen(HABITS + TIER_HABITS + (ELSEWHERE,)))
        b, other = self.shared(size="1G"), self.shared("other", size="640M")
        greedy, polite = self.greedy(b), self.polite(b, BLOCKS)
        rows = []
        if ELSEWHERE in habits:
            habits.remove(ELSEWHERE)
            row = self.beside(polite, self.greedy(other), "ping", each)
            row.habit = ELSEWHERE
            rows.append(row)
        rows += [self.beside(polite, greedy, habit, each) for habit in habits]
        self.judge(rows, b, other)

    def test_no_client_keeps_another_ones_blocks_in_the_slow_tier(self):
        habits = self.chosen(TIER_HABITS)
        each = OPTIONS.seconds / len(chosen(HABITS + TIER_HABITS + (ELSEWHERE,)))
        b = self.shared(size=FAST, slow_size=SLOW)
        greedy, polite = self.greedy(b), self.polite(b, TIER_BLOCKS)
        self.judge([self.beside(polite, greedy, habit, each) for habit in habits], b)


def chosen(habits):
    return [h for h in habits if not OPTIONS.only or h in OPTIONS.only]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--bound", type=float)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--only", action="append", choices=HABITS + TIER_HABITS + (ELSEWHERE,))
    given, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    if given.hours:
        given.seconds = given.hours * 3600
    return given


if __name__ == "__main__":
    OPTIONS = options()
    lab.main()
