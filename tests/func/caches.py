#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A brick below whose clients are a CPU's caches: caches.py [KILLS [SEED]]

tests/func/bricks/lost_caches.c keeps in memory what is not written back, and SIGKILL
takes it. What a flush covered, every allocation, and all that was written when
a stop was clean is there after it.
"""
import os
import signal

os.environ.setdefault("KFB_KILLS", "6")

import kill9  # pylint: disable=wrong-import-position
import lab  # pylint: disable=wrong-import-position
from comeback import Talker  # pylint: disable=wrong-import-position

PROGRAM = lab.FUNC_BIN / "brickd-caches"


class LostCaches(kill9.KillNine):
    """The load of kill9.py; what it has not flushed is really gone."""

    def brick(self, name="brick", **parameters):
        return super().brick(name, program=PROGRAM, **parameters)


class CleanStops(lab.FuncTest):
    def start(self):
        self.b = self.brick(program=PROGRAM, settings="lease-ms = 600000").start()
        self.ok(self.b.ctl("alloc", "0x0+2"))
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        self.does(talker, "map", 0, 2)
        return talker

    def does(self, talker, *words):
        self.assertEqual(talker.ask(*words), (0, ""))

    def read(self, at=0):
        return self.ok(self.b.ctl("read", hex(at), "--length", "1"))

    def epoch(self):
        return self.b.json("info")["power_epoch"]

    def restart(self):
        self.assertEqual(self.b.stop(), 0)
        self.assertIn("stopped cleanly", self.b.log_text())
        self.b.start()

    def test_what_was_not_flushed_is_gone_after_a_loss(self):
        talker = self.start()
        self.does(talker, "write", 0, 4096, 7)
        self.does(talker, "flush")
        self.does(talker, "write", 0, 4096, 8)
        self.b.kill()
        self.b.start()
        self.assertEqual(self.read(), b"\x07")

    def test_a_durable_write_needs_no_flush(self):
        talker = self.start()
        self.does(talker, "write", 0, 4096, 7)
        self.does(talker, "durable", 4096, 8192, 8)
        self.assertEqual("commit" in self.b.json("info")["flush_modes"],
                         self.b.url.startswith("tcp:"))
        self.b.kill()
        self.b.start()
        self.assertEqual(self.ok(self.b.ctl("read", "4096", "--length", "8192")),
                         b"\x08" * 8192)

    def test_a_session_that_is_connected_at_the_stop_loses_nothing(self):
        talker = self.start()
        self.does(talker, "write", 0, 4096, 8)
        epoch = self.epoch()
        self.restart()
        self.assertEqual((self.read(), self.epoch()), (b"\x08", epoch))

    def test_a_session_that_ended_before_the_stop_loses_nothing(self):
        talker = self.start()
        self.does(talker, "write", 0, 4096, 9)
        talker.say("close")
        talker.process.wait(timeout=lab.STOP_S)
        self.restart()
        self.assertEqual(self.read(), b"\x09")

    def test_what_somebody_else_unmaps_is_written_back_by_that(self):
        talker = self.start()
        self.does(talker, "write", lab.BLOCK, 4096, 5)
        # The writer's library gets no chance to flush.
        talker.process.send_signal(signal.SIGSTOP)
        mapping = self.b.json("list", "mine")["extents"][0]["mapping_id"]
        self.ok(self.b.ctl("unmap", mapping))
        self.b.kill()
        self.b.start()
        self.assertEqual(self.read(lab.BLOCK), b"\x05")

    def test_a_stop_soon_after_a_kill_is_clean(self):
        self.start()
        self.b.kill()
        self.b.start()
        self.restart()
        # Once, after the kill.
        self.assertEqual(self.b.log_text().count("the last stop was not clean"), 1)


if __name__ == "__main__":
    lab.main()
