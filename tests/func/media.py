#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A medium that fails: nothing is called durable, everybody is told."""
import errno
import os

import lab
from comeback import Talker

MEDIA_ERROR = 4
NO_EVENT = (0, "0 0x0+0")
FAILED = (1, f"{MEDIA_ERROR} 0x0+0")


class Failing(lab.FuncTest):
    def talker(self):
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        return talker

    def test_a_flush_that_fails_is_told_to_all_and_ends_all_changes(self):
        mark = self.folder / "failing"
        os.environ["FAILING_MEDIUM"] = str(mark)
        self.addCleanup(os.environ.pop, "FAILING_MEDIUM")
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


if __name__ == "__main__":
    lab.main()
