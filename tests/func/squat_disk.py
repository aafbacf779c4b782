#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A disk, and whoever has its brick's port: squat_disk.py [RESUMES [SEED]]

In a guest: the disk is attached through a port that carries what it and the brick
say. For each of RESUMES that port's owner takes the connections away and answers in
the brick's place, each time in another of squatter.py's ways, while a write or a
durable write waits. It may get HELLO and AUTH; the disk must be back at its brick
each time, with what it was doing. A disk that has failed and is taken up again,
while others write to it all the time, gives no more away.
"""
import mmap
import os
import pathlib
import sys
import threading
import time

import lab
from squatter import ANSWER_S, RESUMES, SEED, Squatter, ways

BRICK_PORT = 20149
QUEUES = 2
PAGE = 4096
BLOCKS = 4
# The way back may take longer on a busy machine: then the disk has failed again.
SHORT_S = 2
RETAKES = 3
# Each time: once all queues have said it and nobody was believed they say it again.
HELLOS = 2 * QUEUES


class Brick:
    port = BRICK_PORT


class Writer(threading.Thread):
    """A write that has to wait for its brick."""

    def __init__(self, disk, data, at, durable):
        super().__init__(daemon=True)
        self.disk, self.data, self.at, self.durable = disk, data, at, durable
        self.error = None
        self.start()

    def run(self):
        try:
            os.pwrite(self.disk, self.data, self.at)
            if self.durable:
                os.fsync(self.disk)
        except OSError as error:
            self.error = error


class Load(threading.Thread):
    """Writes without end to a disk that may fail."""

    def __init__(self, disk):
        super().__init__(daemon=True)
        self.disk, self.goes_on = disk, True
        self.page = mmap.mmap(-1, PAGE)
        self.start()

    def run(self):
        at = 0
        while self.goes_on:
            at = (at + lab.BLOCK) % (BLOCKS * lab.BLOCK)
            try:
                os.pwrite(self.disk, self.page, at)
            except OSError:
                time.sleep(0.001)

    def end(self):
        self.goes_on = False
        self.join(ANSWER_S)


class SquattedDisk(lab.FuncTest):
    def setUp(self):
        super().setUp()
        print(f"# seed {SEED}")
        self.squatter = Squatter(Brick(), seed=SEED)
        self.addCleanup(self.squatter.close)
        self.page = mmap.mmap(-1, PAGE)
        self.written = 0

    def attach(self, reconnect_s):
        done = lab.run(lab.BRICKCTL, "--timeout", "60", "--brick", self.squatter.url,
                       "--client", "a", "--key-file", os.environ["KEY"], "attach",
                       "--size", f"{2 * BLOCKS}M", "--queues", str(QUEUES),
                       "--reconnect-s", str(reconnect_s))
        self.name = self.ok(done).decode().strip()
        self.disk = os.open(self.name, os.O_RDWR | os.O_DIRECT)

    def detach(self):
        os.close(self.disk)
        self.ok(lab.run(lab.BRICKCTL, "detach", self.name))

    def state(self):
        disk = pathlib.Path("/sys/block") / pathlib.Path(self.name).name
        return (disk / "kfbrick/state").read_text().strip()

    def squat(self, way):
        before = self.squatter.hellos
        self.squatter.way = way
        self.squatter.cut()
        self.written += 1
        self.page[:] = self.written.to_bytes(4, "little") * (PAGE // 4)
        writer = Writer(self.disk, self.page, self.at(), self.written % 2)
        end = time.monotonic() + ANSWER_S
        while self.squatter.hellos < before + HELLOS and not self.squatter.stolen:
            self.assertLess(time.monotonic(), end, way.name)
            if way.name == "no answer" and self.squatter.hellos > before:
                self.squatter.cut()
            time.sleep(0.01)
        return writer

    def at(self):
        return self.written % BLOCKS * lab.BLOCK

    def is_back(self, writer):
        self.squatter.way = None
        self.squatter.cut()
        writer.join(ANSWER_S)
        self.assertFalse(writer.is_alive())
        self.assertIsNone(writer.error)
        self.reads_what_was_written()

    def reads_what_was_written(self):
        os.fsync(self.disk)
        self.page[:] = bytes(PAGE)
        os.preadv(self.disk, [self.page], self.at())
        self.assertEqual(self.page[:4], self.written.to_bytes(4, "little"))

    def test_a_disk_comes_back_to_its_brick_alone(self):
        self.attach(600)
        choices = ways()
        for i in range(RESUMES):
            way = choices[i % len(choices)]
            with self.subTest(way=way.name):
                self.is_back(self.squat(way))
        print(f"# {RESUMES} resumes in {min(RESUMES, len(choices))} ways: "
              f"{self.squatter.hellos} HELLOs, {self.squatter.auths} AUTHs, "
              f"{self.squatter.stolen} bytes of anything else")
        self.assertEqual(self.squatter.stolen, 0)
        self.assertGreaterEqual(self.squatter.hellos, HELLOS * RESUMES)
        self.detach()

    def test_a_disk_that_is_taken_up_again_writes_to_nobody_else(self):
        self.attach(SHORT_S)
        way, = (way for way in ways() if way.name == "a random proof")
        load = Load(self.disk)
        self.addCleanup(load.end)
        self.squatter.way = way
        self.squatter.cut()
        for _ in range(RETAKES):
            self.until(lambda: self.state() == "failed", "it has failed")
            before = self.squatter.hellos

            def has_asked(before=before):
                self.assertFalse(self.is_taken_up())
                return self.squatter.hellos > before
            self.until(has_asked, "a HELLO")
        self.until(lambda: self.state() == "failed", "it has failed")
        self.until(lambda: not self.squatter.sockets, "all that came has been counted")
        self.assertEqual(self.squatter.stolen, 0)
        self.squatter.way = None
        self.until(self.is_taken_up, "it is taken up again")
        load.end()
        self.until(self.resumes, "it comes back to its brick")
        self.reads_what_was_written()
        self.detach()

    def is_taken_up(self):
        return lab.run(lab.BRICKCTL, "reattach", self.name).returncode == 0

    def resumes(self):
        """Its connections go, and it is back before its time is over."""
        if self.state() == "failed":
            self.is_taken_up()
        self.squatter.cut()
        writer = Writer(self.disk, self.page, self.at(), True)
        writer.join(ANSWER_S)
        self.assertFalse(writer.is_alive())
        return writer.error is None


if __name__ == "__main__":
    del sys.argv[1:]
    lab.main()
