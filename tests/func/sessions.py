#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sessions outlive their connections, and end when they must.

    sessions.py [CLIENTS]: so many are killed while they hold blocks
"""
import os
import re
import signal
import socket
import subprocess
import sys
import time

import lab
from comeback import Talker

CLIENTS = 4
LEASE_MS = 20000
LONG_MS = 600000
HALF_OPEN = 24
# What a device may take for a key, and as long again.
EARLY_S = 1.2


class Joins(lab.FuncTest):
    def test_only_who_has_proven_the_session_joins_it(self):
        b = self.brick(clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]},
                       settings=f"lease-ms = {LEASE_MS}")
        b.quotas = {"a": "4"}
        b.start()
        done = lab.run(lab.FUNC_BIN / "joins", b.url, "a", b.key("a"), "b", b.key("b"))
        print(done.stdout.decode())
        self.assertEqual(done.returncode, 0,
                         done.stdout.decode() + done.stderr.decode() + b.log_text()[-3000:])
        self.assertEqual(b.allocated(), [])
        self.assertEqual(b.json("list", "mapped")["extents"], [])
        self.assertEqual(b.stop(), 0)


class SlowDevice(lab.FuncTest):
    def test_a_key_that_stays_costs_its_session_the_connection(self):
        slow = self.folder / "slow"
        os.environ["SLOW_DEVICE"] = str(slow)
        self.addCleanup(os.environ.pop, "SLOW_DEVICE")
        self.addCleanup(slow.unlink, missing_ok=True)
        b = self.brick(program=lab.FUNC_BIN / "brickd-slow", settings="lease-ms = 600000").start()
        done = lab.run(lab.FUNC_BIN / "slow_unmap", b.url, "a", b.key("a"), slow)
        self.assertEqual(done.returncode, 0, done.stderr.decode() + b.log_text()[-3000:])
        self.assertIn("does not let go of a key", b.log_text())
        self.assertEqual(b.stop(), 0)


class BehindASlowDevice(lab.FuncTest):
    def cut(self, b):
        """The clients whose connections ended for a key."""
        return re.findall(r"client (\w+) .*does not let go of a key", b.log_text())

    def test_who_waits_for_a_device_behind_others_keeps_its_connection(self):
        slow = self.folder / "slow"
        os.environ["SLOW_DEVICE"] = str(slow)
        self.addCleanup(os.environ.pop, "SLOW_DEVICE")
        self.addCleanup(slow.unlink, missing_ok=True)
        grants = ["0x0+128G rw"]
        b = self.brick(program=lab.FUNC_BIN / "brickd-slow", clients={"a": grants, "b": grants},
                       settings="lease-ms = 600000").start()
        self.ok(b.ctl("alloc", "0x0+2"))
        talkers = [Talker(b.url, b, client=name) for name in ("a", "b")]
        for n, talker in enumerate(talkers):
            self.addCleanup(talker.close)
            self.assertEqual(talker.hear()[0], 0)
            self.assertEqual(talker.ask("map", n * lab.BLOCK, 1)[0], 0)
        slow.touch()
        talkers[0].say("unmap", 0)
        self.until(lambda: self.cut(b) == ["a"])
        talkers[1].say("unmap", lab.BLOCK)
        time.sleep(EARLY_S)
        self.assertEqual(self.cut(b), ["a"])
        self.assertTrue(talkers[1].is_quiet())
        slow.unlink()
        for talker in talkers:
            self.assertEqual(talker.hear(), (0, ""))
        self.assertEqual(self.cut(b), ["a"])
        self.assertEqual(b.stop(), 0)


class Leases(lab.FuncTest):
    def start(self, lease_ms, **settings):
        self.b = self.brick(clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]},
                            settings=f"lease-ms = {lease_ms}\nmax-sessions = {CLIENTS + 8}\n"
                                     f"max-sessions-per-client = {CLIENTS + 8}",
                            **settings).start()

    def holder(self, block):
        """A client that maps a block and holds it; returns when it has it."""
        peer = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file",
             str(self.b.key("a")), "map", f"{block * lab.BLOCK:#x}+1", "--rw", "--hold", "86400"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=lab.environment())
        self.addCleanup(self.end, peer)
        self.assertTrue(peer.stdout.readline())
        return peer

    def end(self, peer):
        peer.kill()
        peer.communicate()

    def free_at_last(self, block):
        until = time.monotonic() + lab.COMMAND_S
        done = None
        while time.monotonic() < until:
            done = self.b.ctl("free", f"{block * lab.BLOCK:#x}+1")
            if not done.returncode:
                return
        self.ok(done)

    def test_killed_and_stopped_clients_hold_their_blocks_no_longer_than_a_lease(self):
        self.start(LEASE_MS, size=f"{2 * CLIENTS + 64}M")
        self.ok(self.b.ctl("alloc", f"0x0+{CLIENTS + 2}"))
        peers = [self.holder(block) for block in range(CLIENTS + 2)]
        stopped, living, killed = peers[0], peers[1], peers[2:]
        stopped.send_signal(signal.SIGSTOP)
        for peer in killed:
            peer.kill()
        for block in [0, *range(2, CLIENTS + 2)]:
            self.free_at_last(block)
        # Who has gone on sending has not lost anything.
        self.refused(self.b.ctl("free", f"{lab.BLOCK:#x}+1"), 1, "mapped")
        self.assertIsNone(living.poll())
        stopped.send_signal(signal.SIGCONT)
        self.assertNotEqual(stopped.wait(lab.COMMAND_S), 0)
        living.send_signal(signal.SIGTERM)
        self.assertEqual(living.wait(lab.COMMAND_S), 0)
        self.free_at_last(1)
        self.assertEqual(self.b.stop(), 0)

    def test_without_a_lease_a_session_ends_with_its_connection(self):
        self.start(0)
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.holder(0).kill()
        self.free_at_last(0)
        self.assertEqual(self.b.json("info")["lease_ms"], 0)
        self.assertEqual(self.b.stop(), 0)

    def test_after_a_crash_the_last_writer_comes_first(self):
        self.start(LONG_MS)
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"mine"))
        self.b.kill()
        self.b.start()
        mine = ("map", "0x0+1", "--rw", "--nowait", "--hold", "0")
        self.refused(self.b.ctl(*mine, client="b"), 1, "cannot do it now")
        self.assertEqual(self.ok(self.b.ctl("read", "0x0", "--length", "4", client="b")), b"mine")
        self.ok(self.b.ctl(*mine))
        self.assertEqual(self.b.stop(), 0)
        self.b.start()
        self.ok(self.b.ctl(*mine, client="b"))
        self.assertEqual(self.b.stop(), 0)

    def test_after_a_crash_who_allocated_comes_before_others(self):
        self.start(LONG_MS)
        self.ok(self.b.ctl("alloc", "0x0+2"))
        theirs = ("map", "0x0+1", "--rw", "--nowait", "--hold", "0")
        self.ok(self.b.ctl(*theirs, client="b"))
        self.b.kill()
        self.b.start()
        self.refused(self.b.ctl(*theirs), 1, "cannot do it now")
        self.ok(self.b.ctl(*theirs, client="b"))
        # Nobody has ever mapped this one.
        mine = ("map", "0x200000+1", "--rw", "--nowait", "--hold", "0")
        self.refused(self.b.ctl(*mine, client="b"), 1, "cannot do it now")
        self.ok(self.b.ctl(*mine))
        self.assertEqual(self.b.stop(), 0)

    def test_a_start_that_fails_does_not_make_the_stop_before_it_clean(self):
        self.start(LONG_MS)
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"mine"))
        self.b.kill()
        good = self.b.settings
        self.b.settings += f"\nadmin = {self.folder}/none/admin"
        with self.assertRaises(RuntimeError):
            self.b.start()
        self.b.settings = good
        self.b.start()
        self.refused(self.b.ctl("map", "0x0+1", "--rw", "--nowait", "--hold", "0", client="b"),
                     1, "cannot do it now")
        self.assertEqual(self.b.stop(), 0)

    def test_connections_that_never_say_anything_keep_nobody_out(self):
        self.start(LEASE_MS)
        sockets = []
        for i in range(HALF_OPEN):
            s = socket.create_connection(("127.0.0.1", self.b.port))
            self.addCleanup(s.close)
            s.sendall(bytes(i % 4))
            sockets.append(s)
        self.ok(self.b.ctl("ping", "-c", "1"))
        for s in sockets:
            s.close()
        self.ok(self.b.ctl("ping", "-c", "1"))
        self.assertEqual(self.b.stop(), 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CLIENTS = int(sys.argv.pop(1))
    lab.main()
