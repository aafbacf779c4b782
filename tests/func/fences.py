#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Not one byte of a client lands after it was fenced.

One client writes to a block without a pause; its mapping is taken away in one
of the ways there are; another client maps the block, fills it, and looks at it
before and after the first one has had every chance to go on.

    fences.py [ROUNDS]
"""
import select
import signal
import subprocess
import sys
import unittest

import lab

ROUNDS = 2
LEASE_MS = 8000
NO_END_MS = 600000
LEASES = 2
LINE_S = 60
HEARS_BYTES = lab.LISTEN.startswith("tcp:")


class Peer:
    """tests/func/clients/fence.c, line by line."""

    def __init__(self, test, brick, what, client, *words):
        self.process = subprocess.Popen(
            [str(lab.FUNC_BIN / "fence"), what, brick.url, client, str(brick.key(client)), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=lab.environment())
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def line(self):
        """The next line; "" at the end."""
        line = b""
        while not line.endswith(b"\n"):
            ready = select.select([self.process.stdout], [], [], LINE_S)[0]
            piece = self.process.stdout.raw.read(1) if ready else b""
            if not piece:
                break
            line += piece
        return line.decode().strip()

    def say(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Fences(lab.FuncTest):
    def serve(self, lease_ms):
        self.admin = self.folder / "admin"
        self.b = self.brick(clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]},
                            settings=f"lease-ms = {lease_ms}\nadmin = {self.admin}").start()

    def race(self, stopped, take_away=None):
        writer = Peer(self, self.b, "write", "a")
        mapped = writer.line()
        if mapped == "waiting":
            mapped = writer.line()
        self.assertTrue(mapped.startswith("mapped "), mapped)
        self.assertIn(writer.line(), ("writing", "ended"))
        if stopped:
            writer.stop()
        if take_away:
            take_away(mapped.split()[1])
        checker = Peer(self, self.b, "check", "b")
        line = checker.line()
        if stopped and take_away:
            # On stock tcp its connection must end first. A checker that did
            # not have to wait has filled the block by now.
            writer.go_on()
        if line == "waiting":
            line = checker.line()
        self.assertEqual(line, "filled")
        writer.go_on()
        for _ in range(3):
            checker.say("check")
            self.assertEqual(checker.line(), "clean")
        self.assertIn(writer.line(), ("ended", ""))
        self.assertEqual(writer.process.wait(lab.STOP_S), 0)
        checker.say("check")
        self.assertEqual(checker.line(), "clean")
        checker.process.stdin.close()
        self.assertEqual(checker.process.wait(lab.STOP_S), 0)
        writer.end()
        checker.end()

    def races(self, take_away=None, writes_on=True):
        for _ in range(ROUNDS):
            self.race(True, take_away)
            if writes_on:
                self.race(False, take_away)
        self.assertEqual(self.b.stop(), 0)

    def test_nothing_lands_after_the_end_of_a_lease(self):
        self.serve(LEASE_MS)
        # Where the brick hears of bytes, a lease has no end while they come.
        self.races(writes_on=not HEARS_BYTES)

    @unittest.skipUnless(HEARS_BYTES, "only brickd's own tcp hears of bytes")
    def test_bytes_that_come_keep_a_lease(self):
        self.serve(LEASE_MS)
        writer = Peer(self, self.b, "write", "a")
        self.assertTrue(writer.line().startswith("mapped "))
        self.assertEqual(writer.line(), "writing")
        checker = Peer(self, self.b, "check", "b")
        self.assertEqual(checker.line(), "waiting")
        news = select.select([checker.process.stdout, writer.process.stdout], [], [],
                             LEASES * LEASE_MS / 1000)[0]
        self.assertFalse(news, self.b.log_text())
        writer.stop()
        self.assertEqual(checker.line(), "filled")
        self.assertIn("its lease is over", self.b.log_text())

    def test_nothing_lands_after_unmap(self):
        self.serve(NO_END_MS)
        self.races(lambda mapping: self.ok(self.b.ctl("unmap", f"0x{mapping}")))

    def test_nothing_lands_after_eviction(self):
        self.serve(NO_END_MS)
        self.races(lambda mapping: self.ok(
            lab.run(lab.BRICKCTL, "--admin", self.admin, "evict", "--all", "a")))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ROUNDS = int(sys.argv.pop(1))
    lab.main()
