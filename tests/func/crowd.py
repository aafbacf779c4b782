#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What sessions cost the brick while they are idle, and after they are gone;
and what an active one among them notices of them.

    crowd.py [SESSIONS [CYCLES]]

docs/BENCHMARKS.md has the figures of 1000 sessions.
"""
import os
import pathlib
import select
import statistics
import subprocess
import sys

import lab

SESSIONS = 40
CYCLES = 200
LEASE_MS = 10000  # that the peers renew for
BRICK_LEASE_MS = 60000  # so that opening them all may take its time
MEASURE_S = 10
ROUNDS = 5
OPEN_S = 600
# What an allocator may keep of any number of cycles.
SLACK_KIB = 4096


class Crowd(lab.FuncTest):
    def setUp(self):
        super().setUp()
        # All on one processor: waking up another one of a virtual machine takes
        # more than all else, and whether it is needed is the scheduler's choice.
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cpus)})
        self.addCleanup(os.sched_setaffinity, 0, cpus)
        self.b = self.brick(settings=f"max-sessions = {SESSIONS + 8}\n"
                            f"max-sessions-per-client = {SESSIONS + 8}\n"
                            "log-level = notice\n"
                            f"lease-ms = {BRICK_LEASE_MS}").start()
        self.proc = pathlib.Path(f"/proc/{self.b.process.pid}")

    def memory_kib(self):
        """Private memory: what no mapped file accounts for."""
        for line in (self.proc / "status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        return 0

    def descriptors(self):
        return len(list((self.proc_of(self.b) / "fd").iterdir()))

    def cpu_s(self):
        return sum(int((task / "schedstat").read_text().split()[0])
                   for task in (self.proc / "task").iterdir()) / 1e9

    def crowd(self, what, *words):
        return [str(lab.FUNC_BIN / "crowd"), what, self.b.url, "a", str(self.b.key("a"))] + \
            [str(w) for w in words]

    @staticmethod
    def write_us(brick):
        """The median of one-sided 4 KiB writes, one at a time."""
        bench = brick.json("bench", "0x0+2", "--op", "write", "--count", "2000")
        return bench["results"][0]["p50_ns"] / 1e3

    def compare(self, alone):
        """An active session among the others, and one that is alone, in turn."""
        pairs = [(self.write_us(self.b), self.write_us(alone)) for _ in range(ROUNDS)]
        ratios = [among / by_itself for among, by_itself in pairs]
        return (f"a 4 KiB write takes {statistics.median(p[0] for p in pairs):.1f} us among them, "
                f"{statistics.median(p[1] for p in pairs):.1f} us alone, ratios "
                f"{min(ratios):.2f} / {statistics.median(ratios):.2f} / {max(ratios):.2f}")

    def test_idle_sessions_cost_little(self):
        alone = self.brick("alone", settings=f"lease-ms = {BRICK_LEASE_MS}").start()
        before = self.memory_kib(), self.descriptors()
        with subprocess.Popen(self.crowd("hold", SESSIONS, LEASE_MS), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=lab.environment()) as peers:
            self.addCleanup(peers.kill)
            self.assertTrue(select.select([peers.stdout], [], [], OPEN_S)[0])
            self.assertEqual(peers.stdout.readline(), b"open\n")
            opened = self.memory_kib(), self.descriptors()
            cpu = self.cpu_s()
            # The time over which the brick's share of a processor is taken.
            self.assertFalse(select.select([peers.stdout], [], [], MEASURE_S)[0])
            cpu = self.cpu_s() - cpu
            latency = self.compare(alone)
            peers.stdin.close()
            self.assertEqual(peers.wait(OPEN_S), 0)
        print(f"{SESSIONS} idle sessions: {100 * cpu / MEASURE_S:.2f} % of a processor, "
              f"{(opened[0] - before[0]) / SESSIONS:.1f} KiB and "
              f"{(opened[1] - before[1]) / SESSIONS:.1f} descriptors each; {latency}",
              file=sys.stderr)
        self.assertEqual(alone.stop(), 0)
        self.gone(before[1])
        self.assertEqual(self.b.stop(), 0)

    def gone(self, descriptors):
        """The brick lets go of ended sessions by itself."""
        self.until(lambda: self.descriptors() <= descriptors, f"{descriptors} descriptors")

    def test_sessions_that_are_gone_leave_nothing(self):
        self.ok(lab.run(*self.crowd("cycle", max(CYCLES // 10, 20)), timeout=OPEN_S))
        self.ok(self.b.ctl("ping", "-c", "1"))
        before = self.memory_kib(), self.descriptors()
        self.ok(lab.run(*self.crowd("cycle", CYCLES), timeout=OPEN_S * 4))
        self.gone(before[1])
        after = self.memory_kib()
        print(f"{CYCLES} cycles: {before[0]} KiB before, {after} KiB after", file=sys.stderr)
        self.assertLess(after - before[0], SLACK_KIB)
        self.assertEqual(self.b.stop(), 0)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].isdigit():
        CYCLES = int(sys.argv.pop(2))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SESSIONS = int(sys.argv.pop(1))
    lab.main()
