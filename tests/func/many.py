#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many sessions of libkfbrick in one brick: all come, all come back, none is lost.

    many.py [IDLE [ACTIVE]]

tests/perf/sessions/run does the same with 20 000, and measures.
"""
import select
import subprocess
import sys
import time

import lab

IDLE, ACTIVE = 300, 20
PROCESSES = 4
WORK_MS, EACH_MS = 2000, 200
# So often, on a machine that lets them work for little of that time.
WORKS = 10
# Shorter than the clients are idle, which keeps it all the same.
LEASE_MS = 8000
ANSWER_S = 120
# Of brickd, each: several times of what they take.
MEMORY_KIB = 100
SPARE = 8


class Many(lab.FuncTest):
    def setUp(self):
        super().setUp()
        n = IDLE + ACTIVE
        # All come from one address, at a time.
        self.b = self.brick(size="64M", clients={"a": ["0x0+16 rw"]}, settings="\n".join([
            f"max-sessions = {n + SPARE}", f"max-sessions-per-client = {n + SPARE}",
            f"max-unauthenticated = {n}", f"max-unauthenticated-per-address = {n}",
            f"admin = {self.folder}/admin", f"lease-ms = {LEASE_MS}",
            "log-level = notice"]))
        # meson's would write to all memory that is asked for.
        self.b.environment = {"MALLOC_PERTURB_": "0"}
        self.b.start()
        self.ok(self.b.ctl("alloc", f"0x0+{PROCESSES + 1}"))
        self.processes = []

    def open(self):
        for i in range(PROCESSES):
            share = [n * (i + 1) // PROCESSES - n * i // PROCESSES for n in (IDLE, ACTIVE)]
            process = subprocess.Popen(
                [str(lab.FUNC_BIN / "many"), self.b.url, "a", str(self.b.key("a")),
                 *(str(n) for n in share), str(i + 1)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=lab.environment(), bufsize=0)
            self.addCleanup(process.wait)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.kill)
            self.processes.append(process)
        self.assertEqual(self.ask("open"), IDLE + ACTIVE)

    def say(self, command):
        for process in self.processes:
            process.stdin.write(command.encode() + b"\n")

    def hear(self, last):
        """How many numbers all have said before this word."""
        n = 0
        for process in self.processes:
            line = b""
            while line != last + b"\n":
                self.assertTrue(select.select([process.stdout], [], [], ANSWER_S)[0], last)
                line = process.stdout.readline()
                self.assertNotIn(line, (b"", b"failed\n"), self.b.log_text())
                n += line[:-1].isdigit()
        return n

    def ask(self, command):
        self.say(command)
        return self.hear(b"ok")

    def counted(self):
        found = lab.json.loads(self.ok(lab.run(lab.BRICKCTL, "--admin", self.folder / "admin",
                                               "--json", "stats")))
        return {m["name"]: m["samples"][0]["value"] for m in found["metrics"]
                if len(m["samples"]) == 1 and "value" in m["samples"][0]}

    def memory_kib(self):
        for line in (self.proc_of(self.b) / "status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        return 0

    def work(self):
        """Those that are active work, some of them more than once."""
        n = 0
        for _ in range(WORKS):
            n += self.ask(f"work {WORK_MS} {EACH_MS}")
            if n > ACTIVE:
                return
        self.fail(f"{n} of them have worked")

    def test_all_come_back_and_none_is_lost(self):
        self.open()
        self.work()
        # Nobody does anything for longer than a lease: that is what is tested.
        time.sleep(1.2 * LEASE_MS / 1000)
        self.assertEqual(self.counted()["leases_expired"], 0)
        self.b.kill()
        self.say("ask")
        self.hear(b"asked")
        self.b.start()
        self.assertEqual(self.hear(b"ok"), IDLE + ACTIVE)
        self.work()
        counted = self.counted()
        self.assertEqual(counted["leases_expired"], 0)
        # Each once, and nobody had to come twice.
        self.assertEqual(counted["sessions_opened"], IDLE + ACTIVE)
        self.assertEqual(self.b.stop(), 0)

    def test_a_session_takes_one_descriptor_and_little_memory(self):
        fds = self.proc_of(self.b) / "fd"
        memory = self.memory_kib()
        self.open()
        memory = (self.memory_kib() - memory) / (IDLE + ACTIVE)
        descriptors = len(list(fds.iterdir()))
        print(f"{IDLE + ACTIVE} sessions: {memory:.1f} KiB each", file=sys.stderr)
        self.assertLess(memory, MEMORY_KIB)
        # Those before them may still have been about to be closed.
        for process in self.processes:
            process.kill()
            process.wait()
        self.until(lambda: len(list(fds.iterdir())) == descriptors - IDLE - ACTIVE,
                   "each session had one descriptor")
        self.assertEqual(self.b.stop(), 0)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].isdigit():
        ACTIVE = int(sys.argv.pop(2))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        IDLE = int(sys.argv.pop(1))
    lab.main()
