#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad blocks below a store: repaired in the tables, shown where data is lost."""
import os

import lab
from comeback import Talker

MEDIA_ERROR = 4

TABLES = 0x10000
LINE = 64


class BadBlocks(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.b = self.brick(program=lab.FUNC_BIN / "brickd-badblocks")
        self.addCleanup(os.environ.pop, "BAD_BLOCKS", None)
        self.addCleanup(os.environ.pop, "BAD_BLOCKS_STAY", None)

    def start_with(self, *bad):
        os.environ["BAD_BLOCKS"] = " ".join(f"{off}+{length}" for off, length in bad)
        self.b.start()

    def fill(self):
        """Blocks 0 and 1; where the data of the first lies in the store."""
        self.b.start()
        self.ok(self.b.ctl("alloc", "0x0+2"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"precious stone"))
        self.ok(self.b.ctl("write", hex(lab.BLOCK), stdin=b"precious metal"))
        self.assertEqual(self.b.stop(), 0)
        found = self.b.store.read_bytes().find(b"precious stone")
        self.assertEqual(found % lab.BLOCK, 0)
        return found

    def read(self, va):
        return self.ok(self.b.ctl("read", hex(va), "--length", "14"))

    def info(self):
        return self.b.json("info")

    def test_bad_lines_in_either_copy_of_the_tables_are_repaired(self):
        self.fill()
        for off in (0x0, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, TABLES):
            with self.subTest(off=hex(off)):
                self.start_with((off, LINE))
                self.assertIn("cleared bad blocks in the store's tables", self.b.log_text())
                self.assertIn("repaired", self.b.log_text())
                self.assertEqual(self.read(0), b"precious stone")
                self.assertEqual(self.info()["slots_bad"], 0)
                self.assertEqual(self.b.stop(), 0)

    def test_what_cannot_be_cleared_is_not_served(self):
        self.fill()
        os.environ["BAD_BLOCKS_STAY"] = "yes"
        with self.assertRaises(RuntimeError) as caught:
            self.start_with((0x1000, LINE))
        self.assertIn("ndctl clear-errors", str(caught.exception))
        del os.environ["BAD_BLOCKS_STAY"]
        os.environ["BAD_BLOCKS"] = ""
        self.b.start()
        self.assertEqual(self.read(0), b"precious stone")

    def test_a_block_with_a_bad_line_is_lost_and_nothing_else_is(self):
        data = self.fill()
        self.start_with((data + 4096, LINE))
        self.assertIn("the medium has lost 1 block", self.b.log_text())
        done = self.b.ctl("read", "0x0", "--length", "14")
        self.refused(done, 1, "the medium failed")
        self.assertEqual(self.read(lab.BLOCK), b"precious metal")
        listed = self.ok(self.b.ctl("list")).decode()
        self.assertIn("bad", listed)
        self.ok(self.b.ctl("free", "0x0+1"))
        self.assertEqual(self.info()["slots_bad"], 1)
        free = self.info()["slots_free"]
        done = self.b.ctl("alloc", f"4G+{free + 1}")
        self.refused(done, 1, "space")
        self.ok(self.b.ctl("alloc", f"4G+{free}"))

    def test_clients_are_told_which_blocks_are_lost(self):
        data = self.fill()
        first, second, free = (data + i * lab.BLOCK for i in range(3))
        nothing = (0, "0 0x0+0")
        one, both = (1, f"{MEDIA_ERROR} 0x0+1"), (1, f"{MEDIA_ERROR} 0x0+2")
        for bad, heard in (((), nothing), (((first, 1),), one),
                           (((first, 1), (second, 1)), both), (((free, 1),), nothing)):
            with self.subTest(bad=bad):
                self.start_with(*bad)
                talker = Talker(self.b.url, self.b)
                self.addCleanup(talker.close)
                self.assertEqual(talker.hear(), (0, ""))
                self.assertEqual(talker.ask("info")[0], 0)
                self.assertEqual(talker.ask("event"), heard)
                self.assertEqual(talker.ask("info")[0], 0)
                self.assertEqual(talker.ask("event"), nothing)
                talker.close()
                self.assertEqual(self.b.stop(), 0)

    def test_a_free_slot_with_a_bad_line_is_given_up(self):
        data = self.fill()
        self.start_with((data + 2 * lab.BLOCK, 1))
        self.assertEqual(self.info()["slots_bad"], 1)
        self.assertEqual(self.b.stop(), 0)
        os.environ["BAD_BLOCKS"] = ""
        self.b.start()
        self.assertEqual(self.info()["slots_bad"], 1)
        self.assertEqual(self.read(0), b"precious stone")


if __name__ == "__main__":
    lab.main()
