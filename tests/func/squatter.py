#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whoever has the brick's port instead of the brick: squatter.py [RESUMES]

It has seen all that has travelled between the client and the brick, and has no
key. For each of RESUMES it takes the client's connections away and answers in
the brick's place, each time in another way; then the brick is there again. What
it may get is HELLO and AUTH. The client must be back at the brick each time,
with what it was doing.
"""
import contextlib
import os
import random
import socket
import struct
import sys
import threading
import time

import lab
from comeback import Talker
from tcp_peers import MSG, header, request

RESUMES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(31)
QUEUES = 2
HELLOS = 2          # that it waits for, each time
KILLS_EACH = 20     # resumes for each time that the brick itself is killed
ANSWER_S = 240
CM_BYTES, ACCEPT, REJECT = 32, 1, 6
OPERATION_BYTES, MESSAGE_BYTES = 16, 32
AUTH_BYTES = MESSAGE_BYTES + 120
STALE, VERSION, KEY_REJECTED = 7, 12, 11
STATUSES = range(1, 20)


class Hello:
    """What the client says; who has the port can read it."""

    def __init__(self, data):
        (self.magic, _, _, self.queue, _, self.session, self.counter, _, _,
         self.proof) = struct.unpack("<4sBBHIQIHH16s", data[:44])


def reject(status, version=2):
    data = struct.pack("<4sHBBI", b"kfbR", status, version, version, 0)
    return request(data, kind=REJECT, probe=0)


def accept(data):
    return request(data, kind=ACCEPT)


def changed(data, offset, fmt, value):
    return data[:offset] + struct.pack(fmt, value) + data[offset + struct.calcsize(fmt):]


def auth_reply(status, proof):
    """AUTH's answer, as a message of tcp's wire."""
    body = b"" if status else proof + bytes(range(16)) + struct.pack("<QII", 1, 0, 0)
    message = struct.pack("<HHIHHIHHIQ", 0x8001, status, MESSAGE_BYTES + len(body),
                          0, 0, 0, 1, 0, 0, 0) + body
    return header(MSG, payload=len(message)) + message


class Way:
    """One way to answer; each is a pair of functions of (squatter, hello)."""

    def __init__(self, name, join, new=None, auth=None):
        self.name, self.join, self.new, self.auth = name, join, new or join, auth


def replayed(s, hello):
    return accept(s.accepts[hello.queue])


def with_proof(proof, *more):
    """The brick's newest ACCEPT with another proof, and other values."""
    def make(s, hello):
        data = changed(s.accepts[hello.queue], 32, "16s", proof(s, hello))
        for offset, fmt, value in more:
            data = changed(data, offset, fmt, value)
        return accept(data)
    return make


def noise(s, _):
    return s.rng.randbytes(16)


def forgets(_, __):
    return reject(STALE)


def ways():
    new = with_proof(noise)
    found = [
        Way("the brick's own ACCEPT again", replayed),
        Way("a random proof", with_proof(noise)),
        Way("no proof", with_proof(lambda *_: bytes(16))),
        Way("the client's proof", with_proof(lambda _, hello: hello.proof)),
        Way("no answer", lambda *_: b""),
        Way("an end", lambda *_: None),
        Way("bytes that mean nothing", lambda s, _: s.rng.randbytes(200)),
        Way("an ACCEPT of nothing", lambda *_: accept(b"hello")),
        Way("an old brick's refusal", lambda *_: reject(VERSION, 1)),
        Way("STALE, and AUTH is never answered", forgets, new),
    ]
    for offset, fmt, value, what in ((4, "B", 1, "an older version"), (6, "<H", 4, "credits"),
                                     (8, "<I", 7, "features"), (16, "<Q", 9, "a session"),
                                     (24, "<Q", 9, "an instance")):
        found.append(Way(f"another ACCEPT: {what}", with_proof(
            lambda s, hello: s.accepts[hello.queue][32:48], (offset, fmt, value))))
    found += [Way(f"status {n}", lambda *_, n=n: reject(n)) for n in STATUSES if n != STALE]
    found += [Way(f"STALE, and status {n} to AUTH", forgets, new,
                  lambda s, n=n: auth_reply(n, s.rng.randbytes(32)))
              for n in (0, KEY_REJECTED, STALE, 13)]
    return found


class Squatter:
    """A port: the brick's behind it, or an answer of its own when way is set."""

    def __init__(self, brick, port=0, seed=SEED):
        self.brick, self.rng = brick, random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.way = None
        self.accepts = {}       # of the brick, by queue
        self.sockets = set()
        self.lock = threading.Lock()
        self.hellos = self.auths = self.stolen = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"tcp://127.0.0.1:{self.port}"

    def run(self):
        while True:
            try:
                low = self.listener.accept()[0]
            except OSError:
                return
            with self.lock:
                self.sockets.add(low)
            way = self.way
            serve = (lambda l, w=way: self.attack(l, w)) if way else self.relay
            threading.Thread(target=self.guarded, args=(serve, low), daemon=True).start()

    def guarded(self, serve, low):
        with contextlib.suppress(OSError):
            serve(low)
        self.end(low)

    def end(self, one):
        with self.lock:
            self.sockets.discard(one)
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()

    def cut(self):
        with self.lock:
            ends = list(self.sockets)
        for one in ends:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        self.cut()

    @staticmethod
    def message(one):
        """A connection's first message: its header and data."""
        data = b""
        while len(data) < CM_BYTES or len(data) < CM_BYTES + struct.unpack(">H", data[2:4])[0]:
            piece = one.recv(4096)
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def relay(self, low):
        asked = self.message(low)
        high = socket.create_connection(("127.0.0.1", self.brick.port))
        with self.lock:
            self.sockets.add(high)
        back = threading.Thread(target=self.guarded, daemon=True,
                                args=(lambda h: self.down(h, low, Hello(asked[CM_BYTES:])), high))
        try:
            high.sendall(asked)
            back.start()
            self.carry(low, high)
        finally:
            self.end(high)

    def down(self, high, low, hello):
        try:
            answer = self.message(high)
            if answer[1] == ACCEPT:
                self.accepts[hello.queue] = answer[CM_BYTES:CM_BYTES + 48]
            low.sendall(answer)
            self.carry(high, low)
        finally:
            self.end(low)

    @staticmethod
    def carry(source, sink):
        while True:
            data = source.recv(1 << 16)
            if not data:
                return
            sink.sendall(data)

    def attack(self, low, way):
        hello = Hello(self.message(low)[CM_BYTES:])
        self.hellos += 1
        answer = (way.join if hello.session else way.new)(self, hello)
        if answer is None:
            return
        low.sendall(answer)
        got = b""
        while True:
            piece = low.recv(1 << 16)
            if not piece:
                break
            got += piece
            if not hello.session and len(got) == OPERATION_BYTES + AUTH_BYTES and way.auth:
                low.sendall(way.auth(self))
        self.count(hello, got)

    def count(self, hello, got):
        """Of a new session's connection AUTH is not stolen: it proves the client."""
        is_auth = got[1:2] == bytes([MSG]) and got[OPERATION_BYTES:][:2] == b"\1\0"
        if not hello.session and is_auth:
            self.auths += 1
            got = got[OPERATION_BYTES + AUTH_BYTES:]
        self.stolen += len(got)


class Squatting(lab.FuncTest):
    def setUp(self):
        super().setUp()
        if not lab.LISTEN.startswith("tcp:"):
            self.skipTest("it speaks tcp's wire with brickd's provider")
        self.b = self.brick(settings="lease-ms = 600000\nlog-level = info").start()
        self.ok(self.b.ctl("alloc", "0x0+4"))
        self.written = 0
        print(f"# seed {SEED}")

    def begin(self, url):
        self.talker = Talker(url, self.b, queues=QUEUES)
        self.addCleanup(self.talker.close)
        self.assertEqual(self.talker.hear(), (0, ""))
        self.does("map", 0, 4)

    def does(self, *words):
        result, said = self.talker.ask(*words)
        self.assertEqual(result, 0, said)
        return said

    def at(self):
        """Where the newest byte is: another block each time, another queue."""
        return self.written % 4 * lab.BLOCK

    def squat(self, squatter, way):
        """A write and, each other time, a flush that wait while it is there."""
        before = squatter.hellos
        squatter.way = way
        squatter.cut()
        self.written += 1
        if self.written % 2:
            self.talker.say("write", self.at(), 4096, self.written % 256)
        else:
            self.talker.say("durable", self.at(), 4096, self.written % 256)
        end = time.monotonic() + ANSWER_S
        while squatter.hellos < before + HELLOS:
            self.assertLess(time.monotonic(), end, way.name)
            if way.name == "no answer" and squatter.hellos > before:
                squatter.cut()
            time.sleep(0.002)

    def is_back(self):
        self.assertEqual(self.talker.hear(), (0, ""))
        self.does("flush")
        self.assertEqual(self.does("read", self.at()), str(self.written % 256))

    def test_nobody_else_resumes_a_session(self):
        squatter = Squatter(self.b)
        self.addCleanup(squatter.close)
        self.begin(squatter.url)
        instance = self.does("info")
        choices = ways()
        for i in range(RESUMES):
            way = choices[i % len(choices)]
            with self.subTest(way=way.name):
                self.squat(squatter, way)
                squatter.way = None
                squatter.cut()
                self.is_back()
        self.assertEqual(self.does("info"), instance)
        print(f"# {RESUMES} resumes in {min(RESUMES, len(choices))} ways: {squatter.hellos} HELLOs, "
              f"{squatter.auths} AUTHs, {squatter.stolen} bytes of anything else")
        self.assertEqual(squatter.stolen, 0)
        self.assertGreaterEqual(squatter.hellos, HELLOS * RESUMES)

    def test_the_port_of_a_brick_that_was_killed(self):
        self.begin(self.b.url)
        kills = max(2, RESUMES // KILLS_EACH)
        choices = [w for w in ways() if not w.name.startswith(("the brick's own", "another"))]
        accepts = {q: struct.pack("<4sBBHIHHQQ16s", b"kfbA", 2, 0, 64, 2, 512, 4096, 1, 1,
                                  os.urandom(16)) for q in range(QUEUES)}
        stolen = hellos = 0
        for i in range(kills):
            self.b.kill()
            squatter = Squatter(self.b, self.b.port)
            squatter.accepts = accepts
            self.squat(squatter, choices[i * 7 % len(choices)])
            if not i:
                with self.assertRaises(RuntimeError):
                    self.b.start()
                self.assertIn("in use", self.b.log_text())
            squatter.close()
            self.b.start()
            self.is_back()
            stolen, hellos = stolen + squatter.stolen, hellos + squatter.hellos
        print(f"# {kills} kills: {hellos} HELLOs, {stolen} bytes of anything else")
        self.assertEqual(stolen, 0)

    def test_a_first_connection_says_why_it_is_not_made(self):
        squatter = Squatter(self.b)
        self.addCleanup(squatter.close)
        squatter.accepts = {0: struct.pack("<4sBBHIHHQQ16s", b"kfbA", 2, 0, 64, 0, 512, 4096,
                                           1, 1, os.urandom(16))}
        for words, auth in (("authentication failed", lambda s: auth_reply(0, bytes(32))),
                            ("refused AUTH", lambda s: auth_reply(STALE, bytes(32)))):
            squatter.way = Way("new", forgets, with_proof(noise), auth)
            done = lab.run(lab.BRICKCTL, "--brick", squatter.url, "--client", "a",
                           "--key-file", self.b.key("a"), "info")
            self.refused(done, done.returncode or 1, words)
        squatter.way = Way("old", lambda *_: reject(VERSION, 1))
        done = lab.run(lab.BRICKCTL, "--brick", squatter.url, "--client", "a",
                       "--key-file", self.b.key("a"), "info")
        self.refused(done, done.returncode or 1, "no protocol version in common")
        self.assertEqual(squatter.stolen, 0)


if __name__ == "__main__":
    del sys.argv[1:]
    lab.main()
