#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Peers that break the rules of tcp's wire: stcp_hostile.py [ROUNDS [SEED]]

Each gets as far as a connection (or not even so far), does one thing that may
not be, and must be gone by its deadline. Meanwhile a client writes: what it has
is untouched in the end, brickd has not grown, and its log has a line or two of
each kind. What the client's writes took, alone and beside all this, is printed.
"""
import os
import pathlib
import random
import statistics
import struct
import sys
import threading
import time

import lab
from comeback import Talker
from tcp_peers import MSG, Peer, Refused, bad_operations, header, hello, request, spoilt

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(31)
# Not where the client comes from: there are limits for each address.
ELSEWHERE = "127.0.0.9"
# A request that is not whole, or a client that does not authenticate: 10 s.
GONE_S = 40
RETRY_S = 0.1
GROWTH_MAX = 48 * lab.MIB
LINE_EACH_S = 10
HALF_OPEN = 1000


class Writer:
    """A client that writes all the time and keeps what each write took."""

    def __init__(self, talker):
        self.talker, self.took, self.failed = talker, [], None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set() and not self.failed:
            began = time.perf_counter()
            answer = self.talker.ask("write", 0, 4096, 7)
            self.took.append(time.perf_counter() - began)
            if answer != (0, ""):
                self.failed = answer

    def median_us(self, seconds):
        """Of the writes in so much time, and of one at least."""
        self.took.clear()
        time.sleep(seconds)
        return self.median_so_far_us()

    def median_so_far_us(self):
        while not self.took and not self.failed:
            time.sleep(RETRY_S)
        return statistics.median(self.took or [0]) * 1e6


class StcpHostile(lab.FuncTest):
    def setUp(self):
        super().setUp()
        if not lab.LISTEN.startswith("tcp:"):
            self.skipTest("libfabric's provider does not outlive this")
        self.began = time.monotonic()
        self.b = self.brick(settings="log-level = info").start()
        self.ok(self.b.ctl("alloc", "0x0+2"))
        self.ok(self.b.ctl("write", "0x1000", stdin=b"untouched" * 1000))
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        self.assertEqual(talker.ask("map", 0, 1), (0, ""))
        self.writer = Writer(talker)
        self.writer.thread.start()
        self.addCleanup(self.writer.thread.join)
        self.addCleanup(self.writer.stop.set)
        self.before = self.memory()

    def memory(self):
        """Bytes of brickd, or None when a sanitizer keeps what was freed."""
        text = pathlib.Path(f"/proc/{self.b.process.pid}/status").read_text(encoding="ascii")
        status = dict(line.split(":", 1) for line in text.splitlines())
        virtual, resident = (int(status[name].split()[0]) * 1024 for name in
                             ("VmSize", "RssAnon"))
        return None if virtual > 1 << 40 else resident

    def peer(self):
        return Peer(self.b.port, ELSEWHERE, GONE_S)

    def joined(self):
        """A connection; those that are ending are counted until they have ended."""
        deadline = time.monotonic() + GONE_S
        while True:
            try:
                return self.peer().join(hello())
            except Refused:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_S)

    def gone(self, peer, what):
        self.assertTrue(peer.is_gone(), f"{what} is still there")

    def unharmed(self):
        """What must be so after everything."""
        self.writer.stop.set()
        self.writer.thread.join()
        self.assertIsNone(self.writer.failed)
        self.assertEqual(self.writer.talker.ask("unmap", 0), (0, ""))
        self.assertIsNone(self.b.process.poll())
        self.ok(self.b.ctl("ping", "-c", "1"))
        self.assertEqual(self.ok(self.b.ctl("read", "0x1000", "--length", "9000")),
                         b"untouched" * 1000)
        after = self.memory()
        if after is not None:
            self.assertLess(after, self.before + GROWTH_MAX)
        lines = [line.split("wire: ")[1] for line in self.b.log_text().splitlines()
                 if "broke the rules of tcp's wire: " in line]
        most = 2 + (time.monotonic() - self.began) / LINE_EACH_S
        for line in set(lines):
            self.assertLessEqual(lines.count(line), most, line)
        return lines

    def test_each_broken_rule_ends_its_connection_alone(self):
        rng = random.Random(SEED)
        print(f"# seed {SEED}")
        alone = self.writer.median_us(1)
        self.writer.took.clear()
        said = set()
        for says, data in bad_operations(rng):
            peer = self.joined()
            peer.send(data)
            # Some of it may be right by itself: then it is half of something.
            peer.end()
            self.gone(peer, data.hex())
            if says:
                said.add(says)
        beside = self.writer.median_so_far_us()
        print(f"# 4 KiB write: {alone:.0f} us alone, {beside:.0f} us beside it")
        lines = " ".join(self.unharmed())
        for says in said:
            self.assertIn(says, lines)

    def test_random_bytes_end_their_connection_alone(self):
        rng = random.Random(SEED)
        print(f"# seed {SEED}")
        good = [data for _, data in bad_operations(rng)]
        for number in range(ROUNDS):
            peer = self.joined() if number % 4 else self.peer()
            peer.send_in_pieces(rng, spoilt(rng, good))
            peer.end()
            self.gone(peer, f"number {number}")
        self.unharmed()

    def test_half_of_anything_and_trickles_are_gone_by_their_deadlines(self):
        whole = request(hello())
        halves = [self.peer() for _ in range(6)]
        for peer, data in zip(halves, (b"", whole[:1], whole[:31], whole[:40],
                                       request(b"x" * 10, length=256),
                                       whole[:24])):
            peer.send(data)
        idle = self.peer().join(hello())
        inside = self.peer().join(hello())
        inside.send(header(MSG, payload=1 << 20)[:9])
        trickle = self.peer().join(hello())
        # So few bytes a second that they last for longer than anybody waits here.
        trickle.socket.settimeout(1)
        # As a request that would fit no receive, a byte at a time.
        data, end = iter(header(MSG, payload=64) + bytes(64)), time.monotonic() + GONE_S
        while True:
            self.assertLess(time.monotonic(), end, "the trickle is still there")
            trickle.send(bytes([next(data)]))
            try:
                if not trickle.socket.recv(100):
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
        trickle.socket.close()
        for number, peer in enumerate(halves + [idle, inside]):
            self.gone(peer, f"half {number}")
        self.assertIn("in time", " ".join(self.unharmed()))

    def test_a_thousand_half_open_connections_keep_nobody_out(self):
        alone = self.writer.median_us(1)
        peers = []
        for _ in range(HALF_OPEN):
            peer = self.peer()
            peer.send(b"\3")
            peers.append(peer)
        # Another address gets in at once.
        self.ok(self.b.ctl("ping", "-c", "1"))
        beside = self.writer.median_us(1)
        print(f"# 4 KiB write: {alone:.0f} us alone, {beside:.0f} us beside them")
        for peer in peers:
            self.gone(peer, "one of a thousand")
        self.unharmed()

    def test_floods_are_not_kept(self):
        peers = [self.peer().join(hello()) for _ in range(4)]
        for peer in peers:
            peer.socket.settimeout(GONE_S)
            # Messages far beyond the credits, of which the first is none.
            peer.send((header(MSG, payload=64) + bytes(64)) * 20000)
        for peer in peers:
            self.gone(peer, "a flood")
        self.unharmed()


if __name__ == "__main__":
    del sys.argv[1:]
    lab.main()
