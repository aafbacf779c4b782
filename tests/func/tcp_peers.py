# SPDX-License-Identifier: BSD-2-Clause
"""Peers that break the rules of tcp's wire: what they send, and their sockets.

Used against brickd (stcp_hostile.py) and the kernel's provider
(tests/vm/target/peers.py).
"""
import contextlib
import os
import socket
import struct

U64 = 1 << 64
MSG, TAGGED, READ, RESPONSE, WRITE = range(5)
ACK = 2


def request(data, version=3, kind=0, length=None, probe=1):
    return struct.pack(">BBH20s", version, kind, len(data) if length is None else length,
                       bytes(20)) + struct.pack("<Q", probe) + data


def hello(session=0):
    """A brick's data: for a new session, or as one that claims to be of this one."""
    return struct.pack("<4sBBHIQIHH16s", b"kfbH", 2, 2, 0, 2, session, 1 if session else 0, 4, 0,
                       os.urandom(16))


def header(op, segments=(), payload=0, flags=0, op_data=0, count=None, size=None,
           total=None, version=3):
    """One operation's; what is not given fits the rest."""
    count = len(segments) if count is None else count
    size = 16 + 24 * len(segments) if size is None else size
    total = size + payload if total is None else total
    return struct.pack("<BBHBBBBQ", version, op, flags, op_data, count, size, 0,
                       total % U64) + b"".join(struct.pack("<QQQ", *s) for s in segments)


def bad_operations(rng):
    """[(what the other end must say of it or None, bytes)]"""
    key = rng.getrandbits(64)
    one = [(0, 8, key)]
    found = [
        ("acknowledgement that nothing waits for", header(MSG, op_data=ACK)),
        ("response that nothing waits for", header(RESPONSE, payload=8) + bytes(8)),
        ("operation that is not spoken here", header(TAGGED, payload=8) + bytes(16)),
        ("key that does not exist", header(WRITE, one, 8) + bytes(8)),
        ("key that does not exist", header(READ, one)),
        ("leaves the address space", header(WRITE, [(U64 - 1, 4096, key)], 4096)),
        (None, header(WRITE, [(0, U64 - 8, key), (0, 16, key)], 8)),
        (None, header(WRITE, one, 9)), (None, header(WRITE, one, 7)),
        (None, header(READ, one, 8)), (None, header(WRITE, one, 8, total=8)),
        (None, header(WRITE, one, total=U64 - 1)), (None, header(MSG, total=U64 - 1)),
        (None, header(MSG, total=15)), (None, header(MSG, version=4)),
        (None, header(MSG, op_data=1)), (None, header(WRITE, one, 8, flags=1) + bytes(16)),
    ]
    found += [(None, header(op)) for op in range(5, 256)]
    found += [(None, header(MSG, flags=1 << bit)) for bit in range(4, 16)]
    for op in (READ, WRITE):
        found += [(None, header(op, [(0, 8, key)] * (n % 5), 8 * (n % 5), count=n) + bytes(64))
                  for n in range(256)]
    for op in (MSG, READ, RESPONSE, WRITE):
        found += [(None, header(op, one, 8, size=n) + bytes(256)) for n in range(256)]
    return found


def spoilt(rng, good):
    """One of them with some bytes changed, and others behind it."""
    data = bytearray(rng.choice(good) + rng.randbytes(rng.randrange(200)))
    for _ in range(rng.randrange(4)):
        data[rng.randrange(len(data))] = rng.getrandbits(8)
    return data


class Refused(AssertionError):
    """The other end wants no connection, perhaps for now."""


class Peer:
    """A socket to the end that is attacked; gone_s is its deadline."""

    def __init__(self, port, source="127.0.0.1", gone_s=40):
        self.socket = socket.socket()
        self.socket.settimeout(gone_s)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))

    def send(self, data):
        """It may be over before all is out."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def send_in_pieces(self, rng, data):
        """So that they meet every state."""
        while data:
            n = rng.randrange(1, 40)
            self.send(data[:n])
            data = data[n:]

    def join(self, data=b""):
        """A connection of the wire, asked for with data."""
        self.send(request(data))
        answer = b""
        while len(answer) < 32 or len(answer) < 32 + struct.unpack(">H", answer[2:4])[0]:
            piece = self.socket.recv(4096)
            if not piece:
                raise AssertionError("it is not let in")
            answer += piece
        if answer[1] != 1:
            raise Refused(f"the answer is {answer.hex()}")
        return self

    def end(self):
        """No more bytes come from here; it may be over already."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def is_gone(self):
        """By its deadline; what comes before does not matter."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        finally:
            self.socket.close()
        return True
