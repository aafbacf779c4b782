#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The main job on one brick: job.py

Format, serve, allocate, write one-sidedly, flush, SIGKILL, serve again, list,
read back, compare. KFB_JOB_MIB megabytes, 64 by default; KFB_STORE names a
device to be formatted for it, else the store is a file. Prints what it saw.
"""
import hashlib
import os
import time
import unittest

import lab

BYTES = int(os.environ.get("KFB_JOB_MIB", 64)) * lab.MIB
BLOCKS = BYTES // lab.BLOCK
STORE_BYTES = BYTES + 32 * lab.MIB
PIECE = lab.MIB
STOPPED_BLOCKS = 8


def user_ticks(process):
    """User time of a process, in the kernel's ticks."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[11])


class Job(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.input = self.folder / "input"
        noise = os.urandom(PIECE - 8)
        state = hashlib.sha256()
        with open(self.input, "wb") as out:
            for number in range(BYTES // PIECE):
                piece = number.to_bytes(8, "big") + noise
                state.update(piece)
                out.write(piece)
        self.sum = state.hexdigest()

    def timed(self, what, brick, *words):
        begin, ticks = time.monotonic(), user_ticks(brick.process)
        self.ok(brick.ctl(*words))
        took, ticks = time.monotonic() - begin, user_ticks(brick.process) - ticks
        print(f"# {what}: {BYTES // lab.MIB} MiB in {took:.2f} s, "
              f"{BYTES / took / 1e6:.0f} MB/s, brickd's user time "
              f"{ticks} ticks of 10 ms", flush=True)

    def read_sum(self, brick):
        output = self.folder / "output"
        self.timed("read", brick, "read", "0x0", "--length", BYTES, "-o", output)
        found = hashlib.sha256(output.read_bytes()).hexdigest()
        output.unlink()
        return found

    def test_what_was_flushed_survives_sigkill(self):
        b = self.brick(size=f"{STORE_BYTES >> 20}M",
                       device=os.environ.get("KFB_STORE")).start()
        print(f"# {b.store} as {b.json('info')['medium']} on {b.url}", flush=True)
        self.ok(b.ctl("alloc", f"0x0+{BLOCKS}"))
        self.timed("written and flushed", b, "write", "0x0", "-i", self.input)
        self.assertEqual(b.allocated(), [(0, BLOCKS)])
        instance = b.json("info")["instance_id"]
        b.kill()
        b.start()
        self.assertNotEqual(b.json("info")["instance_id"], instance)
        self.assertEqual(b.allocated(), [(0, BLOCKS)])
        self.assertEqual(self.read_sum(b), self.sum)
        self.ok(b.ctl("free", f"0x0+{BLOCKS}"))
        self.assertEqual(b.allocated(), [])
        self.assertEqual(b.stop(), 0)

    @unittest.skipUnless(lab.LISTEN.startswith("verbs"), "tcp moves data in brickd")
    def test_a_stopped_brickd_is_written_and_read_all_the_same(self):
        b = self.brick(size=f"{STORE_BYTES >> 20}M",
                       device=os.environ.get("KFB_STORE")).start()
        done = lab.run(lab.FUNC_BIN / "passive", b.url, "a", b.key("a"),
                       b.process.pid, STOPPED_BLOCKS)
        self.ok(done)
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
