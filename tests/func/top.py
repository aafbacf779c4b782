#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickctl top: the live view in a terminal of its own, and the one table."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import lab

DEADLINE_S = 60
UNREACHED = 3
PINGS, FLUSHED = 500, 65536
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def setUpModule():  # pylint: disable=invalid-name
    """A shell has what it starts in the background ignore both, and children
    inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for which in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(which, signal.SIG_DFL)


class Terminal:
    """top on a pseudo terminal of 80 columns and 24 rows."""

    def __init__(self, *words, rows=24, columns=80):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.seen = b""
        self.process = subprocess.Popen(
            [str(w) for w in words], stdin=self.theirs, stdout=self.theirs,
            stderr=self.theirs, env=lab.environment(), start_new_session=True)

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, pattern, start=0):
        """Waits for a pattern behind what was seen up to start; where it ends."""
        end = time.monotonic() + DEADLINE_S
        while True:
            found = re.compile(pattern, re.S).search(self.seen, start)
            if found:
                return found.end()
            left = end - time.monotonic()
            if left < 0 or not select.select([self.ours], [], [], left)[0]:
                raise AssertionError(f"{pattern} does not come: {self.seen!r}")
            self.seen += os.read(self.ours, 65536)

    def type(self, keys):
        os.write(self.ours, keys)

    def is_as_before(self):
        return termios.tcgetattr(self.theirs) == self.before

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


class Top(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "admin.sock"
        self.b = self.brick(settings=f"admin = {self.path}").start()

    def top(self, *words, **size):
        t = Terminal(lab.BRICKCTL, "--admin", self.path, "top", *words, **size)
        self.addCleanup(t.close)
        return t

    def hold(self):
        self.ok(self.b.ctl("alloc", "0x0+1"))
        held = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file",
             str(self.b.key("a")), "--json", "map", "0x0+1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=lab.environment())
        self.addCleanup(held.stdout.close)
        self.addCleanup(held.wait)
        self.addCleanup(held.kill)
        self.assertIn(b"mapping_id", held.stdout.readline())

    def frame(self, t, start=0):
        """The lines of the next whole picture."""
        begin = t.read_until(rb"\x1b\[H", start)
        end = t.read_until(rb"\x1b\[J", begin)
        text = t.seen[begin:end].decode()
        return [re.sub(r"\x1b\[[A-Z]", "", line) for line in text.split("\r\n")], end

    def ended(self, t, status):
        t.read_until(re.escape(LEAVE))
        self.assertEqual(t.process.wait(timeout=DEADLINE_S), status)
        self.assertTrue(t.is_as_before())
        self.assertEqual(t.seen.count(ENTER), t.seen.count(LEAVE))

    def test_it_shows_the_brick_in_80_columns_and_24_rows_until_q(self):
        self.hold()
        t = self.top("-d", "1")
        lines, end = self.frame(t)
        self.assertIn("since the start", lines[2])
        self.assertIn(ENTER, t.seen)
        self.assertFalse(t.is_as_before())
        self.ok(self.b.ctl("ping", "-c", "20"))
        # Later pictures have rates of the time between two looks.
        while "now " not in lines[2]:
            lines, end = self.frame(t, end)
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80, lines)
        self.assertRegex(lines[0], r"^brickd \d+\.\d+\.\d+ ")
        self.assertRegex(lines[3], r"^flushes/s \d")
        self.assertRegex(lines[1], r"^slots \d+  allocated 1 ")
        self.assertRegex(lines[4], r"^sessions \d+  busy \d+  waiting 0  mappings 1 ")
        self.assertRegex(lines[6], r"^SESSION +CLIENT +STATE +LEASE")
        self.assertTrue(any(re.match(r"^[0-9a-f]{16} a +LIVE ", x) for x in lines[7:]), lines)
        t.type(b"q")
        self.ended(t, 0)

    def test_a_small_terminal_gets_what_fits_also_after_a_change(self):
        t = self.top("-d", "30", rows=3, columns=20)
        lines, end = self.frame(t)
        self.assertEqual(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), 20)
        t.resize(5, 40)
        t.process.send_signal(signal.SIGWINCH)
        lines, _ = self.frame(t, end)
        self.assertEqual(len(lines), 5)
        t.type(b"xyzq")
        self.ended(t, 0)

    def test_signals_that_end_it_leave_the_terminal_as_it_was(self):
        for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(which=which):
                t = self.top()
                self.frame(t)
                t.process.send_signal(which)
                self.ended(t, -which)

    def test_ctrl_c_ends_it_and_other_keys_do_not(self):
        t = self.top("-d", "1")
        _, end = self.frame(t)
        t.type(b"ab\x1b[A")
        self.frame(t, end)
        t.process.send_signal(signal.SIGINT)
        self.ended(t, -signal.SIGINT)

    def test_the_end_of_the_brick_is_told_on_the_former_screen(self):
        t = self.top("-d", "1")
        self.frame(t)
        self.b.kill()
        self.ended(t, UNREACHED)
        t.read_until(rb"brickctl: top: admin socket ")
        self.assertGreater(t.seen.rindex(b"brickctl: top:"), t.seen.rindex(LEAVE))

    def test_without_a_terminal_it_shows_one_table(self):
        self.hold()
        done = lab.run(lab.BRICKCTL, "--admin", self.path, "top")
        text = self.ok(done).decode()
        self.assertNotIn("\x1b", text)
        self.assertRegex(text, r"(?m)^slots \d+  allocated 1 ")
        self.assertRegex(text, r"(?m)^since the start  ops/s \d")
        self.assertRegex(text, r"(?m)^[0-9a-f]{16} a +LIVE ")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)


class ByClient(lab.FuncTest):
    """Client a has its blocks moved and flushed, b asks and holds a mapping."""
    CLIENTS = {"a": ["0x0+32 rw"], "b": ["0x10000000+8 rw"]}

    def begin(self, **parameters):
        self.path = self.folder / "admin.sock"
        self.b = self.brick(settings=f"admin = {self.path}", **parameters)
        self.b.environment = {"PMEM2_FORCE_GRANULARITY": "CACHE_LINE"}
        self.b.start()

    def top(self, *words):
        return lab.run(lab.BRICKCTL, "--admin", self.path, *words)

    def clients(self, *words):
        done = self.top("--json", "top", "--by", "client", *words)
        return json.loads(self.ok(done))["clients"]

    def load(self):
        self.begin(program=lab.FUNC_BIN / "brickd-slow-copies", clients=self.CLIENTS,
                   size="18M", slow_size="66M")
        self.ok(self.b.ctl("alloc", "0x0+20"))
        # More than memory has room for: the last one lies in the slow tier.
        self.assertIn("slow", self.b.json("list", "allocated")["extents"][-1]["flags"])
        self.ok(self.b.ctl("write", hex(19 * lab.BLOCK), stdin=bytes(FLUSHED)))
        self.refused(self.b.ctl("alloc", "0x0+1"), 1)
        self.ok(self.b.ctl("alloc", "0x10000000+1", client="b"))
        self.ok(self.b.ctl("ping", "-c", str(PINGS), client="b"))
        held = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", "b", "--key-file",
             str(self.b.key("b")), "--json", "map", "0x10000000+1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=lab.environment())
        self.addCleanup(held.stdout.close)
        self.addCleanup(held.wait)
        self.addCleanup(held.kill)
        self.assertIn(b"mapping_id", held.stdout.readline())
        self.until(lambda: sum(c["sessions"] for c in self.clients()) == 1)

    def test_each_client_has_what_all_its_sessions_took(self):
        self.load()
        b, a = self.clients()
        self.assertEqual((a["client"], b["client"]), ("a", "b"))
        self.assertEqual((a["sessions"], a["mappings"], a["handles"]), (0, 0, 0))
        self.assertEqual((b["sessions"], b["mappings"], b["handles"]), (1, 1, 1))
        self.assertEqual((a["ops"]["alloc"], a["ops"]["unmap"], a["ops"]["list"]), (2, 1, 1))
        # One ALLOC, and each MAP but the one that found the block in memory.
        self.assertEqual(a["failed"], a["ops"]["map"])
        self.assertEqual((b["ops"]["alloc"], b["ops"]["map"], b["failed"]), (1, 1, 0))
        self.assertGreaterEqual(b["ops"]["ping"], PINGS)
        self.assertNotIn("flush", b["ops"])
        self.assertEqual(a["promoted_blocks"], 1)
        # What was written, and perhaps all that was mapped, once more.
        self.assertIn(a["flushed_bytes"] - FLUSHED, range(2 * lab.BLOCK + 1))
        self.assertEqual((b["flushed_bytes"], b["promoted_blocks"]), (0, 0))
        for client in a, b:
            self.assertEqual((client["ops_waiting"], client["ops_in_flight"]), (0, 0))

    def test_who_takes_the_most_of_a_column_comes_first(self):
        self.load()
        for column, first in (("ops", "b"), ("flushed", "a"), ("promoted", "a"),
                              ("sessions", "b"), ("mappings", "b"), ("alloc", "a"),
                              ("ping", "b"), ("list", "a")):
            self.assertEqual(self.clients("--sort", column)[0]["client"], first, column)
        head, *rows = self.table("flushed")
        self.assertRegex(head, r"^CLIENT +OPS +ALOC .* SESS +MAPS$")
        self.assertRegex(rows[0], r"^a .* 0 +0 +0$")
        self.assertRegex(rows[1], r"^b .* 0 +1 +1$")

    def test_an_op_without_a_column_gets_one_when_it_is_sorted_by(self):
        self.load()
        self.assertNotIn("PING", self.table("map")[0])
        head, *rows = self.table("ping")
        self.assertRegex(head, r"^CLIENT +OPS +ALOC .* PING .* MAPS$")
        self.assertEqual([row.split()[0] for row in rows], ["b", "a"])

    def table(self, sort):
        """The lines of the clients."""
        text = self.ok(self.top("top", "--by", "client", "--sort", sort)).decode()
        lines = text.splitlines()
        for line in lines:
            self.assertLessEqual(len(line), 80, line)
        return lines[next(i for i, line in enumerate(lines) if line.startswith("CLIENT ")):]

    def test_all_clients_are_shown_in_as_many_answers_as_it_takes(self):
        names = [f"client{i}" for i in range(70)]
        folder = self.folder / "brick"
        folder.mkdir()
        self.ok(lab.run(lab.BRICKCTL, "keygen", folder / "client0.key"))
        for name in names[1:]:
            shutil.copy(folder / "client0.key", folder / f"{name}.key")
        self.begin(clients={name: ["0x0+1 rw"] for name in names})
        self.ok(self.b.ctl("ping", "-c", "1", client="client69"))
        found = self.clients()
        self.assertEqual(found[0]["client"], "client69")
        self.assertEqual(sorted(c["client"] for c in found), sorted(names))

    def test_who_does_not_authenticate_is_one_client(self):
        self.begin()
        self.b.stop()
        self.b.settings += "\nauth = none"
        self.b.start()
        self.ok(lab.run(lab.BRICKCTL, "--brick", self.b.url, "ping", "-c", "3"))
        nobody, a = self.clients()
        self.assertEqual((nobody["client"], a["client"]), ("", "a"))
        self.assertGreaterEqual(nobody["ops"]["ping"], 3)
        self.assertEqual(a["ops"], {})

    def test_what_is_not_there_is_refused(self):
        self.begin()
        for words in (["--by", "block"], ["--by", "client", "--sort", "size"],
                      ["--sort", "ops"], ["--by", "session", "--sort", "ops"]):
            self.refused(self.top("top", *words), 2, words[-2])
        self.refused(self.top("top", "--by", "client", "--sort", "size"), 2,
                     "ops", "reservation", "mappings")
        self.assertEqual(lab.read_json(self.ok(self.top("--json", "top")))["sessions"], [])


if __name__ == "__main__":
    lab.main()
