#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kfabric-9p-bridge and those who mean it no good: clients on tcp's wire, and a 9P server.

The server is this test's own: it answers each request with a message of nothing, or
does what may not be. What kernels do with the bridge is in tests/vm/cases/upper.
"""
import contextlib
import os
import pathlib
import resource
import select
import socket
import struct
import subprocess
import threading
import time

import lab
from tcp_peers import MSG, Peer, Refused, header, request

BRIDGE = os.environ["BRIDGE"]
MSIZE, DEPTH = 8192, 4
# Requests under way and the four that take requests back: receives of either end.
PLACES = DEPTH + 4
MSIZE_MIN = 4096
HEADER = 7
GONE_S = 40
# A connection that must not be ended is looked at for so long.
STAYS_S = 0.5
SPIN_S = 2
# Who spins sleeps for nothing of it; who looks each millisecond may wait for a processor
# most of the time.
SPIN_MAX = 0.9
# Of a second's time-out that begins so late in a second.
LATE_IN_A_SECOND = 0.85
LOOK_S = 0.05
ALMOST_1_S = 0.99
FEW_FILES = 40
MANY = 60
# Of any kind, in so many seconds; how many were left out is told with the next ones.
LINES_MOST = 100
LINES_EACH_S = 10
# Replies that fill whatever there is between the server and a client.
FLOOD = 4096
PIECE = 65536


def hello(msize=MSIZE, depth=DEPTH, magic=b"k9p1"):
    return struct.pack("<4sIH6x", magic, msize, depth)


def message(kind=100, tag=0, data=b"", size=None):
    n = HEADER + len(data)
    return struct.pack("<IBH", n if size is None else size, kind, tag) + data


class Server(threading.Thread):
    """A 9P server at a unix socket; answer(request) is what it sends for one."""

    def __init__(self, path, answer):
        super().__init__(daemon=True)
        self.answer, self.requests, self.open, self.n_sent = answer, [], [], 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen(1024)
        self.start()

    def run(self):
        while True:
            try:
                one = self.socket.accept()[0]
            except OSError:
                return
            self.open.append(one)
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        came = b""
        try:
            while piece := one.recv(65536):
                came += piece
                while len(came) >= HEADER and len(came) >= struct.unpack("<I", came[:4])[0]:
                    n = struct.unpack("<I", came[:4])[0]
                    self.requests.append(came[:n])
                    self.send(one, self.answer(came[:n]))
                    came = came[n:]
        except OSError:
            pass
        one.close()

    def send(self, one, data):
        for at in range(0, len(data), PIECE):
            one.sendall(data[at:at + PIECE])
            self.n_sent += 1

    def end(self):
        """All connections of it are over, those that come later as well."""
        self.socket.close()
        for one in self.open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def echo(request):
    """The reply has the request's tag and data."""
    return message(request[4] + 1, struct.unpack("<H", request[5:7])[0], request[HEADER:])


class NinepBridge(lab.FuncTest):
    provider = "stcp"

    def setUp(self):
        super().setUp()
        self.process, self.port = None, 0

    def tearDown(self):
        if self.process:
            alive = self.process.poll() is None
            self.process.kill()
            self.process.wait()
            log = self.log()
            self.assertTrue(alive, f"the bridge has ended:\n{log}")
            for mark in lab.SANITIZER_MARKS:
                self.assertNotIn(mark.decode(), log)
        super().tearDown()

    def log(self):
        return (self.folder / "bridge.log").read_text(errors="replace")

    def begin(self, *words, answer=echo, before=None):
        """A bridge with these options before a server that answers so."""
        self.server = Server(self.folder / "9p", answer)
        self.addCleanup(self.server.end)
        # Kept, or somebody else could be given it before the bridge listens there.
        kept = socket.socket()
        self.addCleanup(kept.close)
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        self.port = kept.getsockname()[1]
        with open(self.folder / "bridge.log", "wb") as log:
            self.process = subprocess.Popen(
                [BRIDGE, "-p", self.provider, "-m", str(MSIZE), "-d", str(DEPTH), *words,
                 "127.0.0.1", str(self.port), str(self.folder / "9p")],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                env=lab.environment(), preexec_fn=before)
        self.addCleanup(self.process.stdout.close)
        if not select.select([self.process.stdout], [], [], lab.READY_S)[0] or (
                not self.process.stdout.readline().startswith(b"listening")):
            self.fail(self.log())

    def peer(self):
        one = Peer(self.port, gone_s=GONE_S)
        self.addCleanup(one.socket.close)
        return one

    def client(self, data=None):
        """A connection of a client that asks with this data."""
        return self.peer().join(hello() if data is None else data)

    def asked(self, one, data=b"", tag=0):
        """A request and its reply."""
        one.socket.sendall(header(MSG, payload=HEADER + len(data)) + message(tag=tag, data=data))
        return self.reply(one)

    def reply(self, one):
        """The next message that the bridge sends."""
        head = self.take(one, 16)
        return self.take(one, struct.unpack("<Q", head[8:16])[0] - head[6])

    def take(self, one, n):
        came = b""
        while len(came) < n:
            piece = one.socket.recv(n - len(came))
            if not piece:
                raise ConnectionError("the bridge has ended it")
            came += piece
        return came

    def stays(self, one):
        """The connection is there and nothing comes of it."""
        self.assertFalse(select.select([one.socket], [], [], STAYS_S)[0])

    def serves(self, one=None):
        """A client, a new one if none is given, gets its replies."""
        one = one or self.client()
        for tag in range(2 * PLACES):
            self.assertEqual(self.asked(one, b"x" * tag, tag), message(101, tag, b"x" * tag))
        return one

    def eventually(self, make):
        """What make() returns, once the bridge lets it."""
        made = []

        def is_made():
            try:
                made.append(make())
            except (AssertionError, ConnectionError):
                return False
            return True
        self.until(is_made, self.log())
        return made[0]

    def eventually_serves(self):
        """Places of connections that have ended are free a little later.

        With a short --timeout a client that had to wait for a processor is one that
        sends nothing: another one may be served.
        """
        return self.eventually(self.serves)

    def says(self, words):
        self.until(lambda: words in self.log(), f"{words} in\n{self.log()}")

    def times_said(self, words):
        return self.log().count(words)

    def threads(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()))

    def files(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def awake_s(self):
        """How long its threads have run, or waited for a processor."""
        return sum(sum(map(int, (task / "schedstat").read_text(encoding="ascii").split()[:2]))
                   for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()) / 1e9

    def is_asleep(self, seconds):
        """For a part of so long none of its threads has run or wanted to."""
        began = self.awake_s()
        time.sleep(seconds)
        return self.awake_s() - began < SPIN_MAX * seconds

    def test_what_a_client_asks_is_answered(self):
        self.begin()
        one = self.client()
        # All places at one time.
        for tag in range(PLACES):
            one.socket.sendall(header(MSG, payload=MSIZE) +
                               message(tag=tag, data=bytes(MSIZE - HEADER)))
        for tag in range(PLACES):
            self.assertEqual(self.reply(one), message(101, tag, bytes(MSIZE - HEADER)))
        self.serves(one)

    def test_no_more_connections_than_it_may_have(self):
        self.begin("--max-connections", "2")
        first, second = self.serves(), self.serves()
        began = time.monotonic()
        for _ in range(MANY):
            with self.assertRaises(Refused):
                self.client()
        self.says("--max-connections")
        turns = 1 + (time.monotonic() - began) // LINES_EACH_S
        self.assertLessEqual(self.times_said("--max-connections"), turns, self.log())
        self.serves(first)
        second.socket.close()
        self.eventually_serves()

    def test_who_comes_and_goes_does_not_fill_the_log(self):
        self.begin()
        alone, began = self.threads(), time.monotonic()
        for _ in range(LINES_MOST + MANY):
            self.client().socket.close()
        self.until(lambda: self.threads() <= alone, "all have gone")
        turns = 1 + (time.monotonic() - began) // LINES_EACH_S
        self.assertLessEqual(len(self.log().splitlines()), turns * (LINES_MOST + 1))

        def is_told():
            self.client().socket.close()
            return "lines were left out" in self.log()
        self.until(is_told, "how many lines were left out")

    def test_the_number_of_connections_is_looked_at(self):
        for wrong in ("0", "-1", "x", "5000"):
            done = lab.run(BRIDGE, "--max-connections", wrong, "127.0.0.1", "1", "/9p")
            self.refused(done, 2, "--max-connections takes a number")

    def test_who_sends_nothing_loses_his_place(self):
        self.begin("--max-connections", "1", "--timeout", "1")
        self.assertTrue(self.eventually(self.client).is_gone())
        self.says("has sent no request in 1 s")
        self.eventually_serves()

    def test_who_has_sent_something_may_be_silent(self):
        self.begin("--timeout", "1")
        one = self.eventually_serves()
        other = self.eventually(self.client)
        self.assertTrue(other.is_gone())
        self.stays(one)
        self.serves(one)

    def test_a_time_out_is_as_long_as_it_says(self):
        self.begin("--timeout", "1")
        began = []

        def make():
            # A second of the clock that the bridge has ends soon after.
            time.sleep((LATE_IN_A_SECOND - time.monotonic()) % 1)
            began[:] = [time.monotonic()]
            self.server.open.clear()
            return self.client()
        one = self.eventually(make)
        self.until(lambda: self.server.open, "it is at the server")
        # Each byte has the bridge look at what there is.
        for byte in message(size=MSIZE):
            with contextlib.suppress(OSError):
                self.server.open[0].send(bytes([byte]))
            time.sleep(LOOK_S)
        self.assertTrue(one.is_gone())
        self.assertGreaterEqual(time.monotonic() - began[0], ALMOST_1_S)

    def test_half_a_first_request_is_none(self):
        self.begin("--timeout", "1")
        one = self.eventually(self.client)
        one.send(header(MSG, payload=HEADER) + b"\7")
        self.assertTrue(one.is_gone())
        self.eventually_serves()

    def test_a_message_that_is_none_ends_its_connection_alone(self):
        self.begin()
        other = self.serves()
        for data in (b"", b"\7\0\0\0\x64\0", message(size=6), message(size=8), message(size=0),
                     message(size=1 << 31), message(size=(1 << 32) - 1),
                     message(data=bytes(MSIZE - HEADER), size=MSIZE - 1)):
            one = self.client()
            one.send(header(MSG, payload=len(data)) + data)
            self.assertTrue(one.is_gone(), data)
        self.serves(other)
        self.assertNotIn(b"", [r[:4] for r in self.server.requests if len(r) < HEADER])

    def test_a_message_that_is_too_long_ends_its_connection_alone(self):
        self.begin()
        other = self.serves()
        for n in (MSIZE + 1, 1 << 20):
            one = self.client()
            one.send(header(MSG, payload=n) + message(data=bytes(n - HEADER)))
            self.assertTrue(one.is_gone(), n)
        self.serves(other)

    def test_what_asks_for_something_else_is_rejected(self):
        self.begin()
        for data in (b"", b"k9p1", hello()[:15], hello(magic=b"k9p2"), hello(msize=0),
                     hello(msize=MSIZE_MIN - 1), hello(depth=0), bytes(256)):
            with self.assertRaises(Refused):
                self.client(data)
        self.serves()
        # All that there is, and bytes of padding.
        self.serves(self.client(hello((1 << 32) - 1, (1 << 16) - 1) + bytes(200)))

    def test_a_server_that_breaks_the_rules_ends_its_connections_alone(self):
        for data in (b"\6\0\0\0\x65\0\0", b"\0" * HEADER, message(size=MSIZE + 1),
                     message(size=(1 << 32) - 1)):
            with self.subTest(data.hex()):
                if self.process:
                    self.process.kill()
                    self.process.wait()
                    (self.folder / "9p").unlink()
                self.begin(answer=lambda request, data=data: data)
                one = self.client()
                with self.assertRaises(ConnectionError):
                    self.asked(one)
                self.says("has sent a message of")
                self.assertIsNone(self.process.poll())

    def test_who_never_reads_costs_no_time_when_the_server_has_gone(self):
        self.begin(answer=lambda request: message(data=bytes(MSIZE - HEADER)) * FLOOD)
        one = self.client()
        one.socket.sendall(header(MSG, payload=HEADER) + message())
        # Nothing moves any more: no room at the client, so none for the server.
        self.until(self.is_still, "nothing moves any more")
        self.server.end()
        # Who asks again and again either runs or waits for a processor, always.
        self.until(lambda: self.is_asleep(SPIN_S), "the bridge sleeps")
        self.assertNotIn("has ended", self.log())
        one.socket.close()
        self.says("has ended")

    def is_still(self):
        """The server has more for the bridge, which sleeps nevertheless."""
        before = self.server.n_sent
        return (before and not self.has_room() and self.is_asleep(STAYS_S) and
                not self.has_room() and self.server.n_sent == before)

    def has_room(self):
        return select.select([], self.server.open, [], 0)[1]

    def test_more_clients_than_files_do_not_end_it(self):
        self.begin(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                     (FEW_FILES, FEW_FILES)))
        found = [self.peer() for _ in range(MANY)]
        for one in found:
            one.send(request(hello()))
        self.until(lambda: self.files() >= FEW_FILES - 1, "all files are open")
        self.assertIsNone(self.process.poll(), self.log())
        for one in found:
            one.socket.close()
        self.eventually_serves()

    def test_with_rdma_nothing_is_agreed_upon(self):
        self.begin("--rdma")
        self.serves(self.client(b""))
        with self.assertRaises(Refused):
            self.client(hello())

    def test_nothing_is_left_of_those_who_have_gone(self):
        self.begin()
        self.serves()
        before = None
        for turn in range(3):
            found = [self.client() for _ in range(16)]
            for one in found[::2]:
                self.serves(one)
            halves = [self.peer() for _ in range(16)]
            for one in halves:
                one.send(b"\3")
            for one in found + halves:
                one.socket.close()
            self.until(lambda n=turn: self.times_said("has ended") >= 16 * (n + 1), self.log())
            if before is None:
                before = self.files(), self.threads()
            self.until(lambda: self.files() <= before[0] and self.threads() <= before[1],
                       "files and threads as before")


class NinepBridgeStock(NinepBridge):
    """With libfabric's own tcp provider."""
    provider = "tcp"


if __name__ == "__main__":
    lab.main()
