#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A medium that fails: nothing is called durable, everybody is told."""
import errno
import os

import lab
from comeback import Talker

MEDIA_ERROR = 4
FAST = 8
NO_EVENT = (0, "0 0x0+0")
FAILED = (1, f"{MEDIA_ERROR} 0x0+0")


class Failing(lab.FuncTest):
    def talker(self):
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        return talker

    def failing(self):
        """The file whose presence makes syncs fail."""
        mark = self.folder / "failing"
        os.environ["FAILING_MEDIUM"] = str(mark)
        self.addCleanup(os.environ.pop, "FAILING_MEDIUM")
        return mark

    def test_a_flush_that_fails_is_told_to_all_and_ends_all_changes(self):
        mark = self.failing()
        self.b = self.brick(program=lab.FUNC_BIN / "brickd-failing").start()
        writer, other = self.talker(), self.talker()
        for words in (("alloc", 0, 2), ("map", 0, 1), ("write", 0, 4096, 7), ("flush",)):
            self.assertEqual(writer.ask(*words), (0, ""))
        self.assertEqual(writer.ask("event"), NO_EVENT)
        mark.touch()
        self.assertEqual(writer.ask("write", 0, 4096, 8), (0, ""))
        self.assertEqual(writer.ask("flush")[0], -errno.EIO)
        self.assertEqual(writer.ask("info")[0], 0)
        self.assertEqual(writer.ask("event"), FAILED)
        self.assertEqual(writer.ask("event"), NO_EVENT)
        # One that did not ask for anything, and one that comes later.
        for talker in other, self.talker():
            self.assertEqual(talker.ask("info")[0], 0)
            self.assertEqual(talker.ask("event"), FAILED)
        # A device that works again changes nothing: what was dropped is unknown.
        mark.unlink()
        self.assertEqual(other.ask("alloc", 8 * lab.BLOCK, 1)[0], -errno.EIO)
        self.assertEqual(writer.ask("read", 0), (0, "8"))
        self.assertIn("the medium failed", self.b.log_text())
        for talker in writer, other:
            talker.close()
        self.assertEqual(self.b.stop(), 1)
        self.assertNotIn("stopped cleanly", self.b.log_text())

    def test_a_stop_whose_last_sync_fails_is_not_a_clean_one(self):
        mark = self.failing()
        self.b = self.brick(program=lab.FUNC_BIN / "brickd-failing").start()
        talker = self.talker()
        self.assertEqual(talker.ask("alloc", 0, 1), (0, ""))
        talker.close()
        mark.touch()
        self.assertEqual(self.b.stop(), 1)
        self.assertIn("the medium failed", self.b.log_text())
        self.assertNotIn("stopped cleanly", self.b.log_text())

    def epoch(self):
        return self.b.json("info")["power_epoch"]

    def lose_a_write(self, mark):
        """A client's bytes that are not on the medium; it works again then."""
        writer = self.talker()
        for words in ("alloc", 0, 1), ("map", 0, 1), ("write", 0, 4096, 7):
            self.assertEqual(writer.ask(*words), (0, ""))
        mark.touch()
        self.assertEqual(writer.ask("flush")[0], -errno.EIO)
        mark.unlink()
        writer.close()

    def test_after_a_flush_that_failed_the_next_start_tells_of_the_loss(self):
        mark = self.failing()
        self.b = self.brick(program=lab.FUNC_BIN / "brickd-failing").start()
        epoch = self.epoch()
        for kill in False, True:
            self.lose_a_write(mark)
            if kill:
                self.b.kill()
            else:
                self.assertEqual(self.b.stop(), 1)
            self.b.start()
            epoch += 1
            self.assertEqual(self.epoch(), epoch)
            self.assertIn("new power epoch: making it durable had failed", self.b.log_text())
            # It is told once.
            self.b.kill()
            self.b.start()
            self.assertEqual(self.epoch(), epoch)
            self.ok(self.b.ctl("free", "0x0+1"))
        self.assertEqual(self.b.stop(), 0)

    def write(self, block, byte):
        return self.b.ctl("write", hex(block * lab.BLOCK), "--length", "5000",
                          stdin=bytes([byte]) * 5000)

    def test_a_slow_tier_that_fails_takes_no_more_and_loses_nothing(self):
        mark = self.failing()
        admin = self.folder / "admin.sock"
        settings = f"admin = {admin}\npromote-wait-ms = 60000\ntier-low = 0"
        self.b = b = self.brick(size="18M", slow_size="66M", settings=settings,
                                program=lab.FUNC_BIN / "brickd-failing")
        os.environ["FAILING_FILE"] = str(b.slow)
        self.addCleanup(os.environ.pop, "FAILING_FILE")
        b.start()
        self.ok(b.ctl("alloc", "0x0+20"))
        for i in range(FAST):
            self.ok(self.write(i, i + 1))
        mark.touch()
        # Room for it would have to be made by a demotion.
        self.refused(self.write(15, 99), 1, "no space")
        self.assertIn(f"slow tier {b.slow} failed", b.log_text())
        self.assertNotIn("the medium failed", b.log_text())
        mark.unlink()
        self.refused(self.write(15, 99), 1, "no space")
        self.assertIn(b"FAILED", self.ok(lab.run(lab.BRICKCTL, "--admin", admin, "tier")))
        for i in range(FAST):
            self.ok(self.write(i, i + 101))
        self.assertEqual(b.stop(), 0)
        self.assertIn("stopped cleanly", b.log_text())
        b.start()
        self.ok(self.write(15, 99))
        for i in range(FAST):
            data = self.ok(b.ctl("read", hex(i * lab.BLOCK), "--length", "5000"))
            self.assertEqual(data, bytes([i + 101]) * 5000)


if __name__ == "__main__":
    lab.main()
