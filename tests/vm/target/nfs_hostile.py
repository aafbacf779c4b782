#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An NFS server over RDMA that means kfabric_rpc no good.

    nfs_hostile.py PIPE ADDRESS PORT MOUNT_PORT

It speaks RPC-over-RDMA by PIPE, the program verbs_pipe, as much of NFS 3 as reading a file
takes, and MOUNT by TCP. What it does wrong is in the name of the file that is read: it
answers the first READ of that one so, and all else as it should, also the same READ when it
comes again. Whatever follows a call about "early", other than a READ, is answered before it
is there. nfs_hostile.py --fatal, --harmless and --errors print the names.

After a "fatal" answer the connection must be over, and the file is read by another one; a
"harmless" one is as good as none. "errors" are answered so each time: reading fails, and the
connection serves on.
"""
import select
import socket
import struct
import subprocess
import sys
import threading
import time

CALL, REPLY = 0, 1
MSG, NOMSG, ERROR = 0, 1, 4
ERR_VERS, ERR_CHUNK = 1, 2
NFS, MOUNT = 100003, 100005
NULL, GETATTR, LOOKUP, ACCESS, READ, FSSTAT, FSINFO, PATHCONF = 0, 1, 3, 4, 6, 18, 19, 20
REGULAR, DIRECTORY = 1, 2
ROOT = b"/"
CREDITS = 32
FILE_BYTES = 65536
FLOOD = 64
EARLY_S = 0.5


def words(*numbers):
    return struct.pack(f">{len(numbers)}I", *(n & 0xffffffff for n in numbers))


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def header(xid, kind=MSG, credits=CREDITS, version=1):
    return words(xid, version, credits, kind)


def error(xid, what=ERR_CHUNK):
    return header(xid, ERROR) + words(what)


def counted(xid, by):
    """The xid of so many calls later: the kernel counts in its own order of bytes."""
    number = int.from_bytes(xid.to_bytes(4, "big"), sys.byteorder) + by
    return int.from_bytes((number & 0xffffffff).to_bytes(4, sys.byteorder), "big")


def errors(xid, step=1):
    """To calls that are not there: those that follow, or those that were."""
    return [error(counted(xid, step * (1 + i))) for i in range(FLOOD)]


def segments(some):
    return words(len(some)) + b"".join(
        words(key, length) + struct.pack(">Q", at) for key, length, at in some)


def accepted(xid, result):
    """The reply of RPC: accepted, no verifier, success."""
    return words(xid, REPLY, 0, 0, 0, 0) + result


def attributes(handle):
    kind, mode, size = ((DIRECTORY, 0o755, 4096) if handle == ROOT
                        else (REGULAR, 0o644, FILE_BYTES))
    return (words(kind, mode, 1, 0, 0) + struct.pack(">QQ", size, size) + words(0, 0) +
            struct.pack(">QQ", 1, hash(handle) & 0xffffffff) + words(9, 0) * 3)


EARLY = opaque(b"early")


def some_attributes(handle):
    return words(1) + attributes(handle)


def content(handle):
    """Of a file: its name, again and again."""
    return (handle * (FILE_BYTES // len(handle) + 1))[:FILE_BYTES]


class Reader:
    """Words of XDR."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self):
        self.at += 4
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def long(self):
        self.at += 8
        return struct.unpack_from(">Q", self.data, self.at - 8)[0]

    def opaque(self):
        n = self.word()
        self.at += n + -n % 4
        return self.data[self.at - n - -n % 4:][:n]

    def segment(self):
        return self.word(), self.word(), self.long()

    def chunk(self):
        return [self.segment() for _ in range(self.word())]


class Call:
    """What of a call matters here: who asks, where the reply may go, what is asked."""

    def __init__(self, data, is_rdma=True):
        r = Reader(data)
        self.write, self.reply = [], []
        if is_rdma:
            r.at = 16
            while r.word():
                r.word()
                r.segment()
            while r.word():
                self.write = r.chunk()
            if r.word():
                self.reply = r.chunk()
        self.xid = r.word()
        r.at += 8
        self.program, _, self.procedure = r.word(), r.word(), r.word()
        for _ in range(2):
            r.word()
            r.opaque()
        self.arguments = r


class Over(Exception):
    """The connection is."""


class Pipe:
    """Connections of RDMA, one after the other."""

    def __init__(self, program, address, port):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([program, address, port], bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self, n):
        came = b""
        while len(came) < n:
            piece = self.process.stdout.read(n - len(came))
            if not piece:
                sys.exit("the pipe is gone")
            came += piece
        return came

    def frame(self):
        kind, n = struct.unpack("<cI", self.take(5))
        return kind, self.take(n)

    def say(self, kind, data=b""):
        frame = struct.pack("<cI", kind, len(data)) + data
        while frame:
            frame = frame[self.process.stdin.write(frame):]

    def is_silent(self, seconds):
        return not select.select([self.process.stdout], [], [], seconds)[0]

    def send(self, *messages):
        for one in messages:
            self.say(b"M", one)

    def write(self, segment, data):
        self.say(b"W", struct.pack("<IQ", segment[0], segment[2]) + data)


class Server:
    """Reads calls and answers them; knows which files were read."""

    def __init__(self, pipe):
        self.pipe, self.read_before = pipe, set()

    def result(self, call):
        """Of what is no READ."""
        r = call.arguments
        if call.procedure == NULL:
            return b""
        handle = r.opaque()
        if call.procedure == GETATTR:
            return words(0) + attributes(handle)
        about = words(0) + some_attributes(handle)
        if call.procedure == LOOKUP:
            name = r.opaque()
            return words(0) + opaque(name) + some_attributes(name) + some_attributes(handle)
        if call.procedure == ACCESS:
            return about + words(0x3f)
        if call.procedure == FSSTAT:
            return about + struct.pack(">6QI", *[1 << 20] * 6, 0)
        if call.procedure == FSINFO:
            sizes = (FILE_BYTES, FILE_BYTES, 4096)
            return about + words(*sizes, *sizes, 4096) + struct.pack(">Q", 1 << 40) + \
                words(0, 1, 0x1b)
        if call.procedure == PATHCONF:
            return about + words(1, 255, 1, 1, 0, 1)
        return words(10004)

    def answer(self, call):
        if call.program != NFS:
            self.pipe.send(header(call.xid) + words(0, 0, 0, call.xid, REPLY, 0, 0, 0, 1))
            return
        if call.procedure == READ:
            self.read(call)
            return
        self.pipe.send(header(call.xid) + words(0, 0, 0) +
                       accepted(call.xid, self.result(call)))
        if EARLY in call.arguments.data:
            self.flood_early(call.xid)

    def read(self, call):
        handle = call.arguments.opaque()
        at, n = call.arguments.long(), call.arguments.word()
        data = content(handle)[at:at + n]
        name = handle.decode()
        is_first = name not in self.read_before
        self.read_before.add(name)
        print("read", name, flush=True)
        read = Read(self.pipe, call, handle, data)
        if name in ERRORS:
            ERRORS[name](read)
        elif is_first and name in ONCE:
            ONCE[name](read)
        else:
            read.honest()

    def flood_early(self, xid):
        """Replies to whatever comes next, if it is not there yet."""
        if self.pipe.is_silent(EARLY_S):
            self.pipe.send(*errors(xid))

    def serve(self):
        while True:
            kind, data = self.pipe.frame()
            if kind == b"M":
                self.answer(Call(data))
            else:
                print({b"L": "listening", b"C": "connected"}.get(kind, "over"), flush=True)


class Read:
    """A READ that is to be answered: by default with all of it in the write chunk."""

    def __init__(self, pipe, call, handle, data):
        self.pipe, self.call, self.xid, self.data = pipe, call, call.xid, data
        self.result = (words(0) + some_attributes(handle) +
                       words(len(data), 1, len(data)))

    def used(self):
        left, used = len(self.data), []
        for key, length, at in self.call.write:
            used.append((key, min(length, left), at))
            left -= used[-1][1]
        return used

    def write(self):
        left = self.data
        for one in self.used() if left else []:
            self.pipe.write(one, left[:one[1]])
            left = left[one[1]:]

    def message(self, body=None, chunk=None, lists=None, **head):
        if lists is None:
            lists = words(0, 1) + segments(self.used() if chunk is None else chunk) + words(0, 0)
        if body is None:
            body = accepted(self.xid, self.result)
        return header(self.xid, **head) + lists + body

    def honest(self, *more, before=(), **how):
        self.write()
        self.pipe.send(*before, self.message(**how), *more)

    def longer(self, by):
        key, length, at = self.call.write[0]
        return [(key, (length + by) & 0xffffffff, at)]

    def late(self):
        """Writes when it has answered, by a key that must be none by then."""
        self.honest()
        time.sleep(1)
        self.pipe.write(self.call.write[0], b"\xa5" * FILE_BYTES)


def bad(**how):
    """An answer that is as it should be but for this; how: functions of the READ."""
    return lambda r: r.pipe.send(r.message(**{k: v(r) for k, v in how.items()}))


FATAL = {
    "other-version": bad(version=lambda r: 2),
    "version-0": bad(version=lambda r: 0),
    "kind-2": bad(kind=lambda r: 2),
    "kind-most": bad(kind=lambda r: 0xffffffff),
    "asks-to-read": bad(lists=lambda r: words(1, 0) + segments(r.used())[4:] + words(0, 0, 0)),
    "mark-2": bad(lists=lambda r: words(0, 2, 0, 0, 0)),
    "two-write-chunks": bad(lists=lambda r: words(0) + (words(1) + segments(r.used())) * 2 +
                            words(0, 0)),
    "segments-most": bad(lists=lambda r: words(0, 1, 0xffffffff) + bytes(64)),
    "segments-more": bad(chunk=lambda r: r.used() + [(1, 0, 0)]),
    "longer-by-1": bad(chunk=lambda r: r.longer(1)),
    "longer-by-2g": bad(chunk=lambda r: r.longer(1 << 31)),
    "length-most": bad(chunk=lambda r: [(0, 0xffffffff, 0)]),
    "reply-chunk-unasked": bad(lists=lambda r: words(0, 0, 1) + segments(r.used())),
    "nomsg": bad(kind=lambda r: NOMSG, body=lambda r: b""),
    "nomsg-and-a-message": bad(kind=lambda r: NOMSG),
    "another-xid-within": bad(body=lambda r: accepted(r.xid + 1, r.result)),
    "direction-2": bad(body=lambda r: words(r.xid, 2, 0, 0, 0, 0)),
    "no-body": bad(body=lambda r: b""),
    "three-words": lambda r: r.pipe.send(r.message()[:12]),
    "three-bytes": lambda r: r.pipe.send(r.message()[:3]),
    "four-kib": lambda r: r.pipe.send(b"\xa5" * 4096),
    "error-without-its-number": lambda r: r.pipe.send(header(r.xid, ERROR)),
    "end": lambda r: r.pipe.say(b"E"),
    "written-late": Read.late,
}
HARMLESS = {
    "credits-0": lambda r: r.honest(credits=0),
    "credits-most": lambda r: r.honest(credits=0xffffffff),
    "twice": lambda r: r.honest(r.message()),
    "error-behind": lambda r: r.honest(error(r.xid)),
    "errors-to-the-future": lambda r: r.honest(before=errors(r.xid)),
    "errors-to-the-past": lambda r: r.honest(before=errors(r.xid, -1)),
    "called": lambda r: r.honest(before=[
        header(77) + words(0, 0, 0, 77, CALL, 2, 0x40000000, 1, 1, 0, 0, 0, 0)]),
    "called-at-length": lambda r: r.honest(before=[
        header(77) + words(0, 0, 0, 77, CALL) + bytes(4000)]),
}
ERRORS = {
    "err-chunk": lambda r: r.pipe.send(error(r.xid)),
    "err-vers": lambda r: r.pipe.send(error(r.xid, ERR_VERS) + words(1, 1)),
    "err-most": lambda r: r.pipe.send(error(r.xid, 0xffffffff)),
    "two-words-of-a-reply": bad(body=lambda r: words(r.xid, REPLY)),
    "garbage-behind-two-words": bad(body=lambda r: words(r.xid, REPLY) + b"\xa5" * 900),
}
ONCE = FATAL | HARMLESS | {"silent": lambda r: None}


def mountd(port):
    """MOUNT 3 by TCP: whoever asks has the root."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(8)
    while True:
        one = listener.accept()[0]
        while head := one.recv(4, socket.MSG_WAITALL):
            n = struct.unpack(">I", head)[0] & 0x7fffffff
            call = Call(one.recv(n, socket.MSG_WAITALL), is_rdma=False)
            result = words(0) + opaque(ROOT) + words(1, 1) if call.procedure == 1 else b""
            reply = accepted(call.xid, result)
            one.sendall(words(1 << 31 | len(reply)) + reply)
        one.close()


def main():
    names = {"--fatal": FATAL, "--harmless": HARMLESS, "--errors": ERRORS}.get(sys.argv[1])
    if names:
        print("\n".join(names))
        return
    threading.Thread(target=mountd, args=(int(sys.argv[4]),), daemon=True).start()
    Server(Pipe(*sys.argv[1:4])).serve()


if __name__ == "__main__":
    main()
