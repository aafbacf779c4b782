#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hostile peers of an end in this machine's kernel: peers.py [ROUNDS [SEED]]

The end is kfi_target's, on tcp's wire. Each peer does one thing that may not be,
and must be gone by its deadline; an honest one writes meanwhile, and finds what
it wrote. Another one writes into a region that comes and goes, as fast as it
can. Whether a byte has landed where it must not is the module's to say.
"""
import contextlib
import pathlib
import random
import socket
import sys
import threading
import time
import types

from tcp_peers import ACK, MSG, READ, U64, WRITE, Peer, bad_operations, header, request, spoilt

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(31)
PARAMETERS = pathlib.Path("/sys/module/kfi_target/parameters")
PORT = int((PARAMETERS / "service").read_text(encoding="ascii"))
GONE_S = 120
HALF_OPEN_GONE_S = 240  # together: each has 10 s, and all wait at the same time
HALF_OPEN = 100
RACE_S = 5
PAUSE_S = 0.005  # of the honest one: the others are to come to their turn, too
DELIVERY, COMMIT = 1 << 2, 1 << 3
ANSWER_BYTES = 16
LENT_BYTES = 256 * 1024  # of the message that the target sends who asks
LENT_S = 20
SETTLE_S = 0.5  # of what is on its way, until this end has no room for more
TICK_S = 0.02
RIGHT_KEYS = 16  # of the attacks


def regions():
    """{name: (key, address, length)}"""
    lines = (PARAMETERS / "regions").read_text(encoding="ascii").splitlines()
    return {l.split()[0]: tuple(map(int, l.split()[1:])) for l in lines}


def peer():
    return Peer(PORT, gone_s=GONE_S)


def parameter(name):
    return int((PARAMETERS / name).read_text(encoding="ascii"))


def await_connected(n):
    """Until the target has so many that have not ended, or for long enough."""
    end = time.monotonic() + LENT_S
    while parameter("taken") - parameter("ended") != n and time.monotonic() < end:
        time.sleep(TICK_S)


def point(good, text):
    print(f"{'ok' if good else 'not ok'} - {text}", flush=True)


class Honest(threading.Thread):
    """Writes and reads back on one connection, over and over."""

    def __init__(self, rng):
        super().__init__(daemon=True)
        self.rng, self.rounds, self.failed = rng, 0, None
        self.stop = threading.Event()
        self.peer = peer().join()
        self.key, self.address, self.length = regions()["write"]

    def take(self, n):
        data = b""
        while len(data) < n:
            piece = self.peer.socket.recv(n - len(data))
            if not piece:
                raise ConnectionError("it was ended")
            data += piece
        return data

    def once(self):
        n = self.rng.randrange(1, 4096)
        at = self.address + self.rng.randrange(self.length - n)
        data = self.rng.randbytes(n)
        segment = [(at, n, self.key)]
        self.peer.socket.sendall(header(WRITE, segment, n, flags=DELIVERY) + data
                                 + header(READ, segment))
        self.take(ANSWER_BYTES)
        if self.take(ANSWER_BYTES + n)[ANSWER_BYTES:] != data:
            raise ValueError("what was read is not what was written")

    def run(self):
        try:
            while not self.stop.is_set():
                self.once()
                self.rounds += 1
                self.stop.wait(PAUSE_S)
        except (OSError, ValueError) as error:
            self.failed = error


class Stale(threading.Thread):
    """Writes into the region that comes and goes, with each key that it had."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stop, self.ended = threading.Event(), 0

    def run(self):
        while not self.stop.is_set():
            brief = regions().get("brief")
            if not brief:
                continue
            key, address, length = brief
            one = peer().join()
            try:
                for _ in range(10000):
                    one.socket.sendall(header(WRITE, [(address, length, key)], length)
                                       + b"\xff" * length)
            except ConnectionError:
                self.ended += 1
            one.socket.close()


def attacks(rng):
    """What may not be, also with keys that are right."""
    found = [data for _, data in bad_operations(rng)]
    for name in ("write", "read"):
        key, at, n = regions()[name]
        found += [
            header(WRITE, [(at + n, 8, key)], 8) + bytes(8),
            header(WRITE, [((at - 8) % U64, 16, key)], 16) + bytes(16),
            header(WRITE, [(at + n - 4, 8, key)], 8) + bytes(8),
            header(WRITE, [(at, 8, key), (at + n, 8, key)], 16) + bytes(16),
            header(READ, [(at + n - 4, 8, key)]), header(READ, [((at - 1) % U64, 1, key)]),
            header(READ, [(at, n + 1, key)]),
        ]
    key, at, n = regions()["read"]
    found += [header(WRITE, [(at, n, key)], n) + b"\xff" * n,
              header(WRITE, [(at, 1, key)], 1) + b"\xff"]
    return found


def one_by_one(rng):
    """Of thousands of broken rules so many as there are rounds, and all with right keys."""
    found = attacks(rng)
    rest = found[:-RIGHT_KEYS]
    found = rng.sample(rest, min(ROUNDS, len(rest))) + found[-RIGHT_KEYS:]
    gone = 0
    for data in found:
        one = peer().join()
        one.send(data)
        one.end()
        gone += one.is_gone()
    point(gone == len(found), f"{gone} of {len(found)} peers that break a rule are gone")


def to_be_durable():
    """The region cannot be made so, and nobody says that it was."""
    key, at, _ = regions()["write"]
    one = peer().join()
    one.send(header(WRITE, [(at, 8, key)], 8, flags=COMMIT) + bytes(8))
    answer = b""
    with contextlib.suppress(ConnectionError):
        answer = one.socket.recv(ANSWER_BYTES)
    point(not answer, "a write that is to be durable is refused where none can be")


def lent(acknowledge_early):
    """A long message: bytes of it that came, and those that were sent later than it ended.

    What had come before is the kernel's at this end, and, on one host, still in the memory
    that it was sent from.
    """
    with contextlib.closing(socket.socket()) as one:
        one.settimeout(LENT_S)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", PORT))
        Peer.join(types.SimpleNamespace(socket=one, send=one.sendall))
        one.sendall(header(MSG, payload=1, flags=DELIVERY) + b"L")
        came, had = b"", 0
        with contextlib.suppress(ConnectionError, TimeoutError):
            while len(came) < 2 * ANSWER_BYTES + LENT_BYTES:
                if acknowledge_early and len(came) >= 2 * ANSWER_BYTES:
                    # This one and the honest one: those before have ended.
                    await_connected(2)
                    time.sleep(SETTLE_S)
                    had = len(came) + len(one.recv(65536, socket.MSG_PEEK))
                    one.sendall(header(MSG, op_data=ACK))
                    acknowledge_early = False
                    await_connected(1)
                piece = one.recv(65536)
                if not piece:
                    break
                came += piece
        return len(came) - 2 * ANSWER_BYTES, came[max(had, 2 * ANSWER_BYTES):].count(b"\xff")


def early():
    came, later = lent(False)
    point((came, later) == (LENT_BYTES, 0), f"a long message has its own bytes: {came}, {later}")
    came, later = lent(True)
    point(came < LENT_BYTES and not later,
          f"who acknowledges what has not come is cut off: {came} bytes came, "
          f"{later} of them not of the message")


def changed(rng):
    good = attacks(rng)
    gone = 0
    for number in range(ROUNDS):
        one = peer()
        if number % 4:
            one.join()
        one.send_in_pieces(rng, spoilt(rng, good))
        one.end()
        gone += one.is_gone()
    point(gone == ROUNDS, f"{gone} of {ROUNDS} with random bytes are gone (seed {SEED})")


def halves():
    whole = request(b"")
    found = [peer() for _ in range(HALF_OPEN)]
    for number, one in enumerate(found):
        one.send(whole[:number % len(whole)])
    deadline = time.monotonic() + HALF_OPEN_GONE_S
    gone = 0
    for one in found:
        one.socket.settimeout(max(deadline - time.monotonic(), 0.01))
        gone += one.is_gone()
    point(gone == HALF_OPEN, f"half a request: {gone} of {HALF_OPEN} are gone")


def floods():
    """Messages that are too long for any receive, and reads that nobody takes."""
    key, at, n = regions()["write"]
    found = [peer().join() for _ in range(4)]
    for number, one in enumerate(found):
        one.socket.settimeout(3)
        data = header(READ, [(at, n, key)]) if number % 2 else (
            header(MSG, payload=1024) + bytes(1024))
        try:
            one.socket.sendall(data * 20000)
        except (ConnectionError, TimeoutError, socket.timeout):
            pass
        one.socket.close()
    point(True, "floods are over")


def main():
    rng = random.Random(SEED)
    honest, stale = Honest(random.Random(SEED + 1)), Stale()
    honest.start()
    one_by_one(rng)
    to_be_durable()
    early()
    changed(rng)
    floods()
    halves()
    stale.start()
    stale.join(RACE_S)
    end = time.monotonic() + GONE_S
    while not stale.ended and time.monotonic() < end:
        stale.join(RACE_S)
    for thread in (stale, honest):
        thread.stop.set()
        thread.join()
    point(stale.ended > 0, f"{stale.ended} writers to a region that went were ended")
    point(honest.failed is None and honest.rounds > 0,
          f"the honest one did {honest.rounds} rounds ({honest.failed})")
    bad = parameter("bad")
    point(bad == 0, f"{bad} bytes landed where they must not")


if __name__ == "__main__":
    main()
