#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A bridge to a 9P server that means kfabric_9p no good: ninep_hostile.py PORT

It speaks tcp's wire and enough of 9P2000.L for a mount. What it does wrong is in the name
of a file that somebody looks up: it answers that one so, and all else as it should. How
connecting goes wrong is in the port: PORT is honest, PORT + 1 and so on are HELLOS in
their order. ninep_hostile.py --hellos, --fatal and --harmless print the names.

After a "fatal" answer the connection must be over; after a "harmless" one the call has
failed, or not, and the connection serves on.
"""
import pathlib
import socket
import struct
import sys
import threading
import time

from tcp_peers import ACK, MSG, header, request

LERROR, STATFS, LOPEN, GETATTR, READDIR = 6, 8, 12, 24, 40
VERSION, ATTACH, FLUSH, WALK, READ, CLUNK = 100, 104, 108, 110, 116, 120
REJECT = 6
DELIVERY = 4
MSIZE, DEPTH = 65536, 16
ENOENT, EOPNOTSUPP = 2, 95
LATER_S = 2
WORD_S = 0.05
FLOOD = 200
FILE_BYTES = 3000
DIRECTORY, REGULAR = 0x80, 0
GO = pathlib.Path("/tmp/go")


def hello(msize=MSIZE, depth=DEPTH, magic=b"k9p1"):
    return struct.pack("<4sIH6x", magic, msize, depth)


def message(kind, tag, data=b"", size=None):
    n = 7 + len(data)
    return struct.pack("<IBH", n if size is None else size, kind, tag) + data


def qid(name):
    """Of a file by its name; the root has none."""
    return struct.pack("<BIQ", REGULAR if name else DIRECTORY, 0, hash(name) & 0xffffffff)


def attributes(name):
    mode = 0o100644 if name else 0o040755
    return (struct.pack("<Q", 0x7ff) + qid(name) +
            struct.pack("<IIIQQQQQ", mode, 0, 0, 1, 0, FILE_BYTES, 4096, 8) + bytes(80))


class Over(Exception):
    """This end has ended the connection."""


class Connection:
    """One mount: what it asks, and what it is answered."""

    def __init__(self, sock):
        self.socket, self.files, self.depth = sock, {}, DEPTH
        self.lock = threading.Lock()
        self.acknowledges, self.hanging = True, None
        self.at_flush = self.at_clunk = None

    def take(self, n):
        came = b""
        while len(came) < n:
            piece = self.socket.recv(n - len(came))
            if not piece:
                raise Over
            came += piece
        return came

    def send(self, *messages):
        """Each is a message of the fabric's."""
        with self.lock:
            self.socket.sendall(b"".join(header(MSG, payload=len(m)) + m for m in messages))

    def next_request(self):
        while True:
            head = self.take(16)
            flags, op_data, total = struct.unpack("<2xHB3xQ", head)
            body = self.take(total - 16)
            if op_data != ACK:
                break
        if flags & DELIVERY and self.acknowledges:
            with self.lock:
                self.socket.sendall(header(MSG, op_data=ACK))
        return body[4], struct.unpack("<H", body[5:7])[0], body[7:]

    def later(self, *messages):
        """A while after what is being done."""
        def send():
            time.sleep(LATER_S)
            try:
                self.send(*messages)
            except OSError:
                pass
        threading.Thread(target=send, daemon=True).start()

    def end(self):
        """A reset, whatever is under way."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Over

    def end_later(self):
        time.sleep(LATER_S)
        raise Over

    def serve(self):
        while True:
            kind, tag, data = self.next_request()
            handler = {FLUSH: self.flush, CLUNK: self.clunk, WALK: self.walk}.get(kind)
            if handler:
                handler(tag, data)
            else:
                self.send(self.reply(kind, tag, data))

    def reply(self, kind, tag, data):
        fid = struct.unpack("<I", data[:4])[0]
        if kind == VERSION:
            said = struct.pack("<IH", fid, 8) + b"9P2000.L"
        elif kind == ATTACH:
            self.files[fid] = ""
            said = qid("")
        elif kind == GETATTR:
            said = attributes(self.files.get(fid, ""))
        elif kind == LOPEN:
            said = qid(self.files.get(fid, "")) + struct.pack("<I", 0)
        elif kind == READ:
            at, n = struct.unpack("<QI", data[4:16])
            n = max(min(n, FILE_BYTES - at), 0)
            said = struct.pack("<I", n) + bytes(n)
        elif kind == READDIR:
            said = struct.pack("<I", 0)
        elif kind == STATFS:
            said = struct.pack("<IIQQQQQQI", 0, 4096, 9, 9, 9, 9, 9, 0, 255)
        else:
            return message(LERROR + 1, tag, struct.pack("<I", EOPNOTSUPP))
        return message(kind + 1, tag, said)

    def walk(self, tag, data):
        fid, new, n = struct.unpack("<IIH", data[:10])
        name = data[12:].decode() if n else self.files.get(fid, "")
        self.files[new] = name
        answer = message(WALK + 1, tag, struct.pack("<H", n) + (qid(name) if n else b""))
        answer_so = ANSWERS.get(name) if n else None
        if answer_so:
            print("asked", name, flush=True)
        (answer_so or Connection.honest)(self, tag, answer)

    def honest(self, _, answer):
        self.send(answer)

    def flush(self, tag, data):
        answer = message(FLUSH + 1, tag)
        if self.at_flush:
            self.at_flush(tag, answer)
        else:
            self.send(answer)

    def clunk(self, tag, _):
        answer = message(CLUNK + 1, tag)
        if self.at_clunk:
            self.at_clunk(answer)
        else:
            self.send(answer)


def hangs(then):
    """No answer until the request is taken back; then(connection, answer, to the Tflush)."""
    def answer_so(c, _, answer):
        c.at_flush = lambda tag, to_flush: then(c, answer, tag, to_flush)
    return answer_so


def clunked(then):
    """An honest answer; whoever gives the file back meets then(connection, answer)."""
    def answer_so(c, _, answer):
        c.at_clunk = lambda to_clunk: then(c, to_clunk)
        c.send(answer)
    return answer_so


def close_half(c, _, answer):
    c.socket.sendall(header(MSG, payload=len(answer)) + answer[:5])
    raise Over


def without_acknowledgement(c, _, answer):
    c.acknowledges = False
    c.send(answer)


def first_unasked(c, tag, _):
    """The reply to a request that has not been sent yet: it has the next tag.

    Whoever asks here is told that there is no such file, so that nothing more of his takes
    the place of the other one.
    """
    while not GO.exists():
        time.sleep(WORD_S)
    c.send(message(LERROR + 1, tag, struct.pack("<I", ENOENT)))
    while GO.exists():
        time.sleep(WORD_S)
    early = message(WALK + 1, tag + 1, struct.pack("<H", 1) + qid("early"))
    c.send(early)
    c.next_request()


def once_more(c, _, answer):
    c.send(answer, answer)


FATAL = {
    "empty": lambda c, tag, answer: c.send(b""),
    "three-bytes": lambda c, tag, answer: c.send(answer[:3]),
    "six-bytes": lambda c, tag, answer: c.send(message(WALK + 1, tag, size=6)[:6]),
    "size-0": lambda c, tag, answer: c.send(message(WALK + 1, tag, size=0)),
    "size-less": lambda c, tag, answer: c.send(message(WALK + 1, tag, answer[7:], size=7)),
    "size-more": lambda c, tag, answer: c.send(message(WALK + 1, tag, answer[7:], size=4096)),
    "size-2g": lambda c, tag, answer: c.send(message(WALK + 1, tag, answer[7:], size=1 << 31)),
    "size-all": lambda c, tag, answer: c.send(
        message(WALK + 1, tag, answer[7:], size=(1 << 32) - 1)),
    "longer-than-asked": lambda c, tag, answer: c.send(
        message(WALK + 1, tag, bytes(MSIZE - 7))),
    "longer-than-msize": lambda c, tag, answer: c.send(message(WALK + 1, tag, bytes(MSIZE))),
    "a-megabyte": lambda c, tag, answer: c.send(message(WALK + 1, tag, bytes(1 << 20))),
    "wrong-tag": lambda c, tag, answer: c.send(message(WALK + 1, tag + 1, answer[7:])),
    "no-tag": lambda c, tag, answer: c.send(message(WALK + 1, 0xffff, answer[7:])),
    "twice": once_more,
    "flood": lambda c, tag, answer: c.send(*[answer] * FLOOD),
    "reset": lambda c, tag, answer: c.end(),
    "half": close_half,
    "garbage": lambda c, tag, answer: c.socket.sendall(b"\xa5" * 4096),
    "flushed-late": hangs(lambda c, answer, tag, to_flush: (c.send(to_flush), c.later(answer))),
    "flushed-twice": hangs(lambda c, answer, tag, to_flush: c.send(to_flush, to_flush)),
    "flush-reset": hangs(lambda c, answer, tag, to_flush: c.end()),
    "flush-silent": hangs(lambda c, answer, tag, to_flush: c.end_later()),
    "flush-long": hangs(lambda c, answer, tag, to_flush: c.send(
        message(FLUSH + 1, tag, bytes(8192)))),
}
HARMLESS = {
    "wrong-type": lambda c, tag, answer: c.send(message(READ + 1, tag, answer[7:])),
    "nothing-in-it": lambda c, tag, answer: c.send(message(WALK + 1, tag)),
    "no-qids": lambda c, tag, answer: c.send(message(WALK + 1, tag, struct.pack("<H", 0))),
    "more-qids": lambda c, tag, answer: c.send(
        message(WALK + 1, tag, struct.pack("<H", 65535) + qid("a"))),
    "error-0": lambda c, tag, answer: c.send(message(LERROR + 1, tag, struct.pack("<I", 0))),
    "error-most": lambda c, tag, answer: c.send(
        message(LERROR + 1, tag, struct.pack("<I", (1 << 32) - 1))),
    "error-least": lambda c, tag, answer: c.send(
        message(LERROR + 1, tag, struct.pack("<I", 1 << 31))),
    "error-none": lambda c, tag, answer: c.send(message(LERROR + 1, tag)),
    "flushed": hangs(lambda c, answer, tag, to_flush: c.send(to_flush)),
    "flushed-both": hangs(lambda c, answer, tag, to_flush: c.send(to_flush, answer)),
    "flushed-after": hangs(lambda c, answer, tag, to_flush: c.send(answer, to_flush)),
    "flush-refused": hangs(lambda c, answer, tag, to_flush: (
        c.send(message(LERROR + 1, tag, struct.pack("<I", EOPNOTSUPP))), c.later(answer))),
}
OTHERS = {
    "unacknowledged": without_acknowledgement,
    "first": first_unasked,
    "clunked-twice": clunked(lambda c, answer: c.send(answer, answer)),
    "clunk-flood": clunked(lambda c, answer: c.send(*[answer] * FLOOD)),
    "clunk-reset": clunked(lambda c, answer: c.end()),
    "clunk-silent": clunked(lambda c, answer: c.end_later()),
}
ANSWERS = FATAL | HARMLESS | OTHERS


def version(data, kind=VERSION + 1, **more):
    """An accepted connection whose first request is answered so."""
    def answer_so(c):
        c.socket.sendall(request(hello(), kind=1))
        _, tag, _ = c.next_request()
        c.send(message(kind, tag, data, **more))
        c.take(1 << 20)
    return answer_so


def accepted(data, *messages):
    """What the answer to the request to connect has, and messages that nobody asked for."""
    def answer_so(c):
        c.socket.sendall(request(data, kind=1))
        if messages:
            c.send(*messages)
        c.take(1 << 20)
    return answer_so


HELLOS = {
    "rejected": lambda c: c.socket.sendall(request(b"", kind=REJECT)),
    "rejected-at-length": lambda c: c.socket.sendall(request(b"x" * 256, kind=REJECT)),
    "no-kind": lambda c: c.socket.sendall(request(hello(), kind=9)),
    "closed": lambda c: None,
    "silent": lambda c: c.take(1 << 20),
    "garbage-first": lambda c: c.socket.sendall(b"\xa5" * 4096),
    "no-hello": accepted(b""),
    "half-a-hello": accepted(hello()[:15]),
    "other-magic": accepted(hello(magic=b"k9p2")),
    "msize-0": accepted(hello(msize=0)),
    "msize-4095": accepted(hello(msize=4095)),
    "msize-above": accepted(hello(msize=MSIZE + 1)),
    "msize-most": accepted(hello(msize=(1 << 32) - 1)),
    "depth-0": accepted(hello(depth=0)),
    "depth-above": accepted(hello(depth=DEPTH + 1)),
    "depth-most": accepted(hello(depth=65535)),
    "too-much-data": accepted(bytes(512)),
    "unasked": accepted(hello(), message(VERSION + 1, 0xffff, bytes(14))),
    "unasked-flood": accepted(hello(), *[message(VERSION + 1, 0, bytes(14))] * FLOOD),
    "version-nothing": version(b""),
    "version-short": version(struct.pack("<IH", MSIZE, 8) + b"9P20"),
    "version-long": version(struct.pack("<IH", MSIZE, 65535) + b"9P2000.L"),
    "version-other": version(struct.pack("<IH", MSIZE, 7) + b"unknown"),
    "version-msize-0": version(struct.pack("<IH", 0, 8) + b"9P2000.L"),
    "version-error": version(struct.pack("<I", 5), LERROR + 1),
    "version-size": version(struct.pack("<IH", MSIZE, 8) + b"9P2000.L", size=1 << 31),
}


def handle(sock, begin):
    c = Connection(sock)
    try:
        head = c.take(32)
        asked = c.take(struct.unpack(">H", head[2:4])[0])
        c.depth = struct.unpack("<H", asked[8:10])[0]
        begin(c)
    except (Over, OSError):
        pass
    sock.close()


def listen(port, begin):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)

    def accept():
        while True:
            one = listener.accept()[0]
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=handle, args=(one, begin), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def honest(c):
    c.socket.sendall(request(hello(depth=c.depth), kind=1))
    c.serve()


def main():
    names = {"--hellos": HELLOS, "--fatal": FATAL, "--harmless": HARMLESS}.get(sys.argv[1])
    if names:
        print("\n".join(names))
        return
    first = int(sys.argv[1])
    for number, begin in enumerate([honest, *HELLOS.values()]):
        listen(first + number, begin)
    print("listening", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
