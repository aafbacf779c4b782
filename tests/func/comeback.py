#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the library's way back does in the narrow cases.

Between the library and the brick is a forwarder that holds back, swallows and
cuts what it carries.
"""
import errno
import os
import select
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import lab

RECONNECT_MS = 60000
ANSWER_S = 90
TICK_S = 0.02
VA = "0x0"


class Forwarder:
    """A port before the brick's; its connections live as long as it likes."""

    def __init__(self, brick):
        self.brick = brick
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = True        # takes connections
        self.upward = True      # carries what the library says
        self.downward = True    # carries what the brick says
        self.pairs = []
        self.carried = 0        # bytes, both ways
        self.cuts = []          # cut when so many have been carried
        self.at_upward = []     # called before a piece is carried up, one each
        self.ended = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @property
    def url(self):
        scheme = lab.LISTEN.partition("://")[0]
        return f"{scheme}://127.0.0.1:{self.port}"

    def run(self):
        while not self.ended:
            wanted = [self.listener]
            for low, high in list(self.pairs):
                wanted += [low] * self.upward + [high] * self.downward
            try:
                ready = select.select(wanted, [], [], TICK_S)[0]
                self.serve(ready)
                if self.cuts and self.carried >= self.cuts[0]:
                    del self.cuts[0]
                    self.cut()
            except (OSError, ValueError):
                continue

    def serve(self, ready):
        if self.listener in ready:
            self.accept()
        for pair in list(self.pairs):
            low, high = pair
            for source, sink, may in ((low, high, self.upward),
                                      (high, low, self.downward)):
                if source is low and source in ready and may and self.at_upward:
                    self.at_upward.pop(0)()
                    may = self.upward
                # It may have been told to stop while it waited.
                if source in ready and may and not self.carry(source, sink):
                    self.drop(pair)
                    break

    def accept(self):
        low = self.listener.accept()[0]
        try:
            if self.open:
                high = socket.create_connection(("127.0.0.1", self.brick.port))
                self.pairs.append((low, high))
                return
        except OSError:
            pass
        low.close()

    def carry(self, source, sink):
        try:
            data = source.recv(1 << 16)
            sink.sendall(data)
            self.carried += len(data)
            return bool(data)
        except OSError:
            return False

    def drop(self, pair):
        if pair in self.pairs:
            self.pairs.remove(pair)
        for end in pair:
            end.close()

    def cut(self):
        for pair in list(self.pairs):
            self.drop(pair)

    def close(self):
        self.ended = True
        self.thread.join()
        self.cut()
        self.listener.close()


class Talker:
    """libkfbrick behind a pipe: a line for a call, a line for its result."""

    def __init__(self, url, brick, client="a", queues=1):
        self.process = subprocess.Popen(
            [lab.FUNC_BIN / "talker", url, client, brick.key(client),
             str(RECONNECT_MS), str(queues)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env=lab.environment())

    def say(self, *words):
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())

    def hear(self):
        """The result, and the words after it."""
        line = b""
        end = time.monotonic() + ANSWER_S
        while not line.endswith(b"\n"):
            left = max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError("no answer")
            piece = os.read(self.process.stdout.fileno(), 4096)
            if not piece:
                raise AssertionError("the talker has ended")
            line += piece
        first, _, rest = line.decode().strip().partition(" ")
        return int(first), rest

    def ask(self, *words):
        self.say(*words)
        return self.hear()

    def is_quiet(self):
        return not select.select([self.process.stdout], [], [], 0.3)[0]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class ComeBack(lab.FuncTest):
    def begin(self, queues=1, **parameters):
        clients = {name: ["0x0+64 rw"] for name in ("a", "b")}
        self.b = self.brick(clients=clients, **parameters).start()
        self.ok(self.b.ctl("alloc", f"{VA}+8"))
        self.forwarder = Forwarder(self.b)
        self.addCleanup(self.forwarder.close)
        self.talker = Talker(self.forwarder.url, self.b, queues=queues)
        self.addCleanup(self.talker.close)
        self.assertEqual(self.talker.hear()[0], 0)
        self.does("map", VA, 4)

    def does(self, *words):
        result, said = self.talker.ask(*words)
        self.assertEqual(result, 0, said)
        return said

    def fails(self, error, *words):
        result, said = self.talker.ask(*words)
        self.assertEqual(-result, error, said)
        return said

    def sessions(self):
        return self.b.log_text().count("client a: authenticated")

    def test_a_cut_connection_resumes_its_session(self):
        self.begin(queues=2, settings="lease-ms = 600000")
        before = self.sessions()
        instance = self.does("info")
        for i in range(5):
            self.does("write", VA, 4096, i + 1)
            self.forwarder.cut()
            self.does("write", 0x200000 * (i % 4), 4096, i + 1)
            self.does("flush")
        self.assertEqual(self.does("read", VA), "5")
        self.assertEqual(self.does("info"), instance)
        self.assertEqual(self.sessions(), before)

    def test_a_request_whose_answer_was_lost_is_not_executed_twice(self):
        self.begin(settings="lease-ms = 600000")
        before = self.sessions()
        self.forwarder.downward = False
        self.talker.say("unmap", VA)
        self.until(lambda: not self.b.json("list", "mapped", client="b")["extents"])
        self.assertTrue(self.talker.is_quiet())
        self.forwarder.cut()
        self.forwarder.downward = True
        # Once more it would be ENOENT.
        self.assertEqual(self.talker.hear(), (0, ""))
        self.assertEqual(self.sessions(), before)

    def restart_unanswered(self, way, words, executed, meanwhile=None):
        """A request that the brick's end leaves unanswered: the library's answer.

        It looks what is allocated before it asks; what comes after that gets
        no further than to the brick, or not even there.
        """
        self.forwarder.at_upward = [lambda: None, lambda: setattr(self.forwarder, way, False)]
        self.talker.say(*words)
        self.until(lambda: not self.forwarder.at_upward)
        self.until(executed)
        self.assertTrue(self.talker.is_quiet())
        self.b.kill()
        self.forwarder.open = False
        self.forwarder.cut()
        setattr(self.forwarder, way, True)
        self.b.start()
        if meanwhile:
            self.ok(self.b.ctl(*meanwhile, client="b"))
        self.forwarder.open = True
        return self.talker.hear()

    def has(self, va, n):
        return (va, n) in self.b.allocated(client="b")

    def test_what_a_restart_leaves_unanswered_is_resolved_by_list(self):
        self.begin(settings="lease-ms = 600000")
        va = 16 * lab.BLOCK
        # It happened: it is not asked for again, that would be refused.
        self.assertEqual(self.restart_unanswered("downward", ("alloc", va, 2),
                                                 lambda: self.has(va, 2)), (0, ""))
        self.assertEqual(self.restart_unanswered("downward", ("free", va, 2),
                                                 lambda: not self.has(va, 2)), (0, ""))
        # It did not: it is asked for again.
        self.assertEqual(self.restart_unanswered("upward", ("alloc", va, 2),
                                                 lambda: True), (0, ""))
        self.assertTrue(self.has(va, 2))

    def test_what_list_cannot_tell_is_said_to_be_unknown(self):
        # Without leases others need not wait for whose the blocks are.
        self.begin(settings="lease-ms = 0")
        va = 16 * lab.BLOCK
        result, said = self.restart_unanswered("downward", ("alloc", va, 2),
                                               lambda: self.has(va, 2), ("free", f"{va:#x}+1"))
        self.assertEqual(-result, errno.ECONNRESET)
        self.assertIn("some blocks are allocated: look with list", said)
        self.assertEqual(self.talker.ask("list", va + lab.BLOCK), (0, "1"))

    def test_a_long_transfer_of_brickctl_goes_on(self):
        self.begin()
        data = os.urandom(4 * lab.BLOCK)
        self.does("unmap", VA)
        self.talker.say("close")
        self.talker.process.wait(timeout=ANSWER_S)
        self.forwarder.cuts = [2 << 20, 5 << 20]
        writer = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.forwarder.url, "--client", "a",
             "--key-file", str(self.b.key("a")), "--reconnect-s", "60",
             "write", VA], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
            env=lab.environment())
        self.assertEqual(writer.communicate(data, timeout=ANSWER_S)[1], b"")
        self.assertEqual(self.forwarder.cuts, [])
        self.assertEqual(writer.returncode, 0)
        self.assertEqual(self.ok(self.b.ctl("read", VA, "--length", str(len(data)))), data)

    def test_a_silent_network_is_noticed_and_survived(self):
        # Half of it is left when the silence is noticed.
        self.begin(settings="lease-ms = 20000")
        before = self.sessions()
        self.forwarder.upward = self.forwarder.downward = False
        self.talker.say("write", VA, 4096, 9)
        self.assertTrue(self.talker.is_quiet())
        stuck = list(self.forwarder.pairs)
        # New connections are carried; the old one is never heard of again.
        self.forwarder.pairs.clear()
        self.forwarder.upward = self.forwarder.downward = True
        self.assertEqual(self.talker.hear(), (0, ""))
        self.assertEqual(self.does("read", VA), "9")
        self.assertEqual(self.sessions(), before)
        for pair in stuck:
            self.forwarder.drop(pair)

    def test_nobody_frees_a_block_before_its_writer_can_be_back(self):
        self.begin(settings="lease-ms = 600000")
        self.does("write", VA, 4096, 1)
        self.does("flush")
        self.forwarder.open = False
        self.forwarder.cut()
        self.b.kill()
        self.b.start()
        self.refused(self.b.ctl("free", f"{VA}+1", client="b"), 1, "try again later")
        # What it has not mapped is as much its own.
        self.refused(self.b.ctl("free", f"{VA}+8", client="b"), 1, "try again later")
        self.assertEqual(self.b.allocated(client="b"), [(0, 8)])
        self.ok(self.b.ctl("free", f"{4 * lab.BLOCK:#x}+4"))
        self.forwarder.open = True
        self.assertEqual(self.does("read", VA), "1")
        self.refused(self.b.ctl("free", f"{VA}+1", client="b"), 1, "mapped")

    def test_a_write_is_not_repeated_in_a_block_that_changed_hands(self):
        # Without leases nobody waits for the last holder after a start.
        self.begin(settings="lease-ms = 0")
        self.does("write", VA, 4096, 1)
        self.does("flush")
        self.forwarder.upward = False
        self.talker.say("write", VA, 4096, 2)
        self.assertTrue(self.talker.is_quiet())
        self.forwarder.open = False
        self.forwarder.cut()
        self.b.kill()
        self.b.start()
        self.ok(self.b.ctl("write", VA, client="b", stdin=b"\7" * 4096))
        self.forwarder.upward = self.forwarder.open = True
        result, said = self.talker.hear()
        self.assertEqual(-result, errno.ESTALE, said)
        self.assertIn("changed hands", self.fails(errno.ESTALE, "write", VA, 512, 3))
        # What was flushed was durable; nothing is lost by anyone's fault.
        self.does("flush")
        self.fails(errno.ESTALE, "unmap", VA)
        self.does("map", VA, 4)
        self.assertEqual(self.does("read", VA), "7")

    def test_what_was_not_flushed_in_such_a_block_is_told_lost(self):
        self.begin(settings="lease-ms = 0")
        self.does("write", 0x1000, 4096, 1)
        self.forwarder.open = False
        self.forwarder.cut()
        self.b.kill()
        self.b.start()
        self.ok(self.b.ctl("write", VA, client="b", stdin=b"\7" * 4096))
        self.forwarder.open = True
        self.assertIn("changed hands", self.fails(errno.EIO, "flush"))
        self.assertEqual(self.talker.ask("losses"), (1, "0x1000+4096"))

    def test_a_volatile_brick_that_restarts_has_lost_what_it_had(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no tmpfs in /dev/shm")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            self.folder = lab.pathlib.Path(folder)
            self.begin()
            self.fails(errno.EOPNOTSUPP, "flush")
            self.does("write", 0x3000, 4096, 1)
            self.b.kill()
            self.b.start()
            self.does("info")
            said = self.fails(errno.EIO, "flush")
            self.assertIn("0x3000+4096", said)
            self.assertEqual(self.talker.ask("losses"), (1, "0x3000+4096"))
            # It stays so until the program says that it knows.
            self.does("write", 0x3000, 4096, 2)
            self.fails(errno.EIO, "flush")
            self.does("accept")
            self.fails(errno.EOPNOTSUPP, "flush")
            self.assertEqual(self.does("losses"), "")
            for brick in self.bricks:
                brick.kill()

    def test_a_brick_that_restarts_on_a_living_host_has_lost_nothing(self):
        self.begin(queues=3)
        for i in range(4):
            self.does("write", 0x200000 * i, 65536, 10 + i)
        self.b.kill()
        self.b.start()
        self.does("flush")
        self.assertEqual(self.talker.ask("losses"), (0, ""))
        self.b.kill()
        self.b.start()
        for i in range(4):
            self.assertEqual(self.does("read", 0x200000 * i), str(10 + i))


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    lab.main()
