#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What brickd's loop does at a time, while it serves nobody else: loop_pieces.py [SLOTS]

A mapping of many handles is made, given back, and left by a session that ends, in
pieces of a few handles; their numbers are checked. With SLOTS the brick has so many,
sparse on tmpfs, as many blocks as fit are allocated, and greedy clients take what they
can of one thing after the other (clients/greedy.c): how long the pieces were is printed,
and decides nothing; docs/BENCHMARKS.md has a run by hand.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

import lab
import neighbours

SLOTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 0
TMPFS = pathlib.Path("/dev/shm")
BLOCKS = 512  # and as many handles
STEP = 16  # BRICK_MAPPING_STEP
FORMAT_S = 1200
ROUNDS = 3
QUARANTINED = 4096  # slots that stay free
WIDEST = 8192  # max-handles
# What greedy clients may use, and how much one ALLOC allocates.
GREEDY, ALLOC = 4096, 65536
TURN_MS = 2000
SESSIONS = 16


class Pieces(lab.FuncTest):
    # Nobody's is over by itself: evictions end sessions.
    lease_ms = 600000

    def sparse(self, slots, **parameters):
        self.admin = self.folder / "admin.sock"
        b = self.brick(size=None, settings=f"admin = {self.admin}\nmap-extent-max = 2M\n"
                                f"lease-ms = {self.lease_ms}",
                       **parameters)
        b.store = TMPFS / f"kfbrick-pieces-{os.getpid()}"
        self.addCleanup(lambda: b.store.unlink(missing_ok=True))
        self.ok(lab.run(lab.BRICKD, "format", b.store, "--size", str(slots * lab.BLOCK),
                        "--sparse", timeout=FORMAT_S))
        return b.start()

    def stats(self):
        done = lab.run(lab.BRICKCTL, "--admin", self.admin, "--json", "stats")
        return {m["name"]: m["samples"] for m in lab.read_json(self.ok(done))["metrics"]}

    def pieces(self):
        return {s["what"]: s for s in self.stats()["loop_seconds"]}

    def during(self, doing):
        """How many of each kind it takes."""
        was = self.pieces()
        doing()
        return {what: s["count"] - was.get(what, {"count": 0})["count"]
                for what, s in self.pieces().items()}

    def n_mappings(self):
        return self.stats()["mappings"][0]["value"]

    def killed(self, b, span):
        """A client that holds a mapping is killed, and its session ends."""
        words = [lab.BRICKCTL, "--brick", b.url, "--client", "a", "--key-file", b.key("a"), "map", span]
        with subprocess.Popen([str(w) for w in words], env=lab.environment(),
                              stdout=subprocess.DEVNULL) as holder:
            try:
                self.until(lambda: self.n_mappings() == 1)
            finally:
                holder.kill()
        self.ok(lab.run(lab.BRICKCTL, "--admin", self.admin, "evict", "--all", "a"))
        self.until(lambda: self.n_mappings() == 0)

    def test_many_handles_come_and_go_in_pieces(self):
        b = self.sparse(BLOCKS + 64, clients={"a": [f"0x0+{BLOCKS} rw"]})
        span = f"0x0+{BLOCKS}"
        self.ok(b.ctl("alloc", span))
        n = self.during(lambda: self.ok(b.ctl("map", span, "--hold", "0")))
        self.assertGreaterEqual(n["map"], BLOCKS // STEP)
        self.assertGreaterEqual(n["unmap"], BLOCKS // STEP)
        n = self.during(lambda: self.killed(b, span))
        self.assertGreaterEqual(n["session"], BLOCKS // STEP)
        # The first piece begins when the loop does.
        self.assertLess(max(s["sum"] for s in self.pieces().values()), lab.COMMAND_S)
        self.assertEqual(b.stop(), 0)


class Lengths(Pieces):
    """By hand."""

    lease_ms = 10000

    def greedily(self, b):
        greedy = neighbours.Speaker("greedy", b.url, "greedy", b.key("greedy"), SESSIONS,
                                    "memory")
        self.addCleanup(greedy.close)
        for habit in neighbours.HABITS:
            greedy.ask(f"go {habit}", "going")
            time.sleep(TURN_MS / 1000)
            greedy.ask("rest", "rested")

    def table(self, was):
        lines = ["| what | pieces | to 0.1 ms | to 1 ms | to 2 ms | longest below, ms |",
                 "|---|---|---|---|---|---|"]
        for what, s in self.pieces().items():
            old = was.get(what, {"count": 0, "buckets": [{"count": 0}] * len(s["buckets"])})
            n = s["count"] - old["count"]
            within = {round(b["le"] * 1e6): b["count"] - o["count"]
                    for b, o in zip(s["buckets"], old["buckets"])}
            whole = [us for us, count in within.items() if count == n]
            lines.append(f"| {what} | {n} | {within[100]} | {within[1000]} | {within[2000]} | "
                         f"{whole[0] / 1000 if whole else 'more'} |")
        return "\n".join(lines)

    def test_how_long_they_are(self):
        a_first = GREEDY * lab.BLOCK
        n = SLOTS - GREEDY - QUARANTINED
        b = self.sparse(SLOTS, clients={"a": [f"{a_first:#x}+{n} rw"],
                                        "greedy": [f"0x0+{GREEDY} rw"]})
        for done in range(0, n, ALLOC):
            self.ok(b.ctl("alloc", f"{a_first + done * lab.BLOCK:#x}+{min(ALLOC, n - done)}"))
        was = self.pieces()
        for at in range(ROUNDS):
            span = f"{a_first + at * WIDEST * lab.BLOCK:#x}+{WIDEST}"
            self.ok(b.ctl("map", span, "--hold", "0"))
            self.killed(b, span)
        self.greedily(b)
        print(f"{SLOTS} slots\n{self.table(was)}", file=sys.stderr)
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    if not SLOTS:
        del Lengths
    lab.main()
