#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Peers without a key, from as many addresses as they like, keep nobody out:
lockout.py [MINUTES]

They hold as many connections as a brick lets them have and open another one for
each that it closes. Meanwhile a session loses its connections and comes back,
again and again, and new ones are opened; for some rounds, or for MINUTES in all.
"""
import random
import select
import socket
import sys
import threading
import time

import lab
from comeback import Forwarder, Talker
from tcp_peers import hello, request

MINUTES = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0
KINDS = 4
ROUNDS = 5
# More than a brick holds before their requests are whole, and before AUTH.
HELD = 300
WAIT_MS = 20
CONNECT_S = 5
# For machines that are slow: what is tried here does not take so long.
LEASE_MS = 30000
SEEDS = random.SystemRandom()


class Flood:
    """Each connection says this as its first words; then nothing."""

    def __init__(self, port, words, seed):
        self.port, self.words, self.random = port, words, random.Random(seed)
        self.held, self.poll, self.opened = {}, select.poll(), 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def open(self):
        peer = socket.socket()
        peer.settimeout(CONNECT_S)
        try:
            peer.bind((f"127.{self.random.randrange(1, 255)}.{self.random.randrange(256)}."
                       f"{self.random.randrange(1, 255)}", 0))
            peer.connect(("127.0.0.1", self.port))
            peer.sendall(self.words())
        except OSError:
            peer.close()
            return
        self.opened += 1
        self.held[peer.fileno()] = peer
        self.poll.register(peer, select.POLLIN)

    def hear(self, number):
        try:
            if self.held[number].recv(4096):
                return
        except OSError:
            pass
        self.poll.unregister(number)
        self.held.pop(number).close()

    def run(self):
        while not self.stop.is_set():
            while len(self.held) < HELD and not self.stop.is_set():
                self.open()
            for number, _ in self.poll.poll(WAIT_MS):
                self.hear(number)
        for peer in self.held.values():
            peer.close()

    def close(self):
        self.stop.set()
        self.thread.join()


class LockOut(lab.FuncTest):
    def setUp(self):
        super().setUp()
        if not lab.LISTEN.startswith("tcp:"):
            self.skipTest("libfabric's provider does not outlive this")
        self.b = self.brick(settings=f"lease-ms = {LEASE_MS}").start()
        self.ok(self.b.ctl("alloc", "0x0+2"))
        self.forwarder = Forwarder(self.b)
        self.addCleanup(self.forwarder.close)
        self.talker = Talker(self.forwarder.url, self.b, queues=2)
        self.addCleanup(self.talker.close)
        self.assertEqual(self.talker.hear(), (0, ""))
        self.does("map", 0, 1)

    def does(self, *words):
        result, said = self.talker.ask(*words)
        self.assertEqual(result, 0, said + self.b.log_text()[-2000:])
        return said

    def sessions(self):
        return self.b.log_text().count("client a: authenticated")

    def lives_through(self, words):
        seed = SEEDS.getrandbits(31)
        print(f"# seed {seed}")
        before = self.sessions()
        flood = Flood(self.b.port, words, seed)
        self.addCleanup(flood.close)
        self.until(lambda: flood.opened >= HELD)
        end = time.monotonic() + MINUTES * 60 / KINDS
        rounds = 0
        while rounds < ROUNDS or time.monotonic() < end:
            rounds += 1
            self.forwarder.cut()
            self.does("write", 0, 4096, rounds % 256)
            self.does("flush")
        # It is the same session, with what it had mapped.
        self.assertEqual(self.sessions(), before)
        self.assertNotIn("its lease is over", self.b.log_text())
        # Others come, too.
        self.until(lambda: not self.b.ctl("ping", "-c", "1").returncode)
        flood.close()
        print(f"# {flood.opened} connections, {rounds} losses")
        self.assertEqual(self.does("read", 0), str(rounds % 256))
        self.does("unmap", 0)
        self.assertEqual(self.b.stop(), 0)

    def test_connections_that_say_nothing_keep_nobody_out(self):
        self.lives_through(lambda: b"")

    def test_requests_that_are_never_whole_keep_nobody_out(self):
        self.lives_through(lambda: request(hello())[:9])

    def test_sessions_that_never_authenticate_keep_nobody_out(self):
        self.lives_through(lambda: request(hello()))

    def test_joins_without_a_proof_keep_nobody_out(self):
        self.lives_through(lambda: request(hello(SEEDS.getrandbits(63) + 1)))


if __name__ == "__main__":
    lab.main()
