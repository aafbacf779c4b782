#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What fails of a medium, while brickd does what: the matrix of docs/durability.md.

A cell is a medium, what of it fails, and what brickd does meanwhile. Each is a
test here (or one that CELLS names), or cannot be, for a reason that CELLS names.
In each: what is the client told, what is on the medium, and what does the next
start say? Files lie on failing_disk.py's disk; the block device is a loop device
whose reads, writes and syncs the same rules let fail.
"""
import errno
import json
import os
import pathlib
import re
import signal
import time
import unittest

import lab
from comeback import Talker
from failing_disk import DiskTest, TICK_S

BLOCK = lab.BLOCK
IO = -errno.EIO
NO_SPACE = -errno.ENOSPC
PAGE = 4096
TABLES = 0x10000        # where the records of a new store are
RECORDS_AT = 104       # in the superblock: where both copies of them are
INSTANCE = 0x4000
INSTANCE_BYTES = 2 * PAGE
DATA = BLOCK
HEADER_BYTES = 8192     # of a slow tier
FAST, AT_REST = 4, 2    # blocks 0 to 3 lie in memory, 4 and 5 in the slow tier
NEW = 16 * BLOCK        # where there is nothing
OLD, NEVER = 1, 99      # what block 0 has flushed, and what it never has
REFUSED_S = 30


class Cell(DiskTest):
    """A brick with four blocks in memory and two in the slow tier."""

    slow_device = False
    in_doubt = False    # block 0 has been written and not flushed

    def begin(self, **parameters):
        if self.slow_device:
            parameters["slow"], _ = self.loop(2 * self.SLOW + 2)
        self.on_disk(**parameters)
        if self.slow_device:
            self.disk.through(self.b.slow)
        # What lies where is what the test has ordered: nothing goes by itself.
        self.b.settings += "\ntier-low = 0"
        self.slow = os.path.basename(self.b.slow)
        self.b.start()
        self.client = self.talker()
        self.does("alloc", 0, FAST + AT_REST)
        for i in range(FAST + AT_REST):
            self.does("map", i * BLOCK, 1)
            self.does("write", i * BLOCK, 4096, i + 1)
        self.does("flush")
        # Block 0 stays mapped.
        for i in range(1, FAST + AT_REST):
            self.does("unmap", i * BLOCK)
        done = self.tier("demote", f"{FAST * BLOCK:#x}+{AT_REST}")
        self.assertEqual(done["moved"], AT_REST, done)
        self.epoch = self.b.json("info")["power_epoch"]

    def talker(self):
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        return talker

    def asks(self, *words):
        return self.client.ask(*words)[0]

    def does(self, *words):
        self.assertEqual(self.asks(*words), 0, words)

    def tier(self, *words):
        done = lab.run(lab.BRICKCTL, "--json", "--admin", self.b.folder / "admin", "tier",
                       *words)
        return json.loads(done.stdout)

    def fails(self, file, on, name="fail", **words):
        self.disk.rule(name, on=on, file=file, **{"error": "EIO", **words})

    # What there is to see afterwards.

    def start_again(self):
        """From what the disk has: nothing of it is in memory any more."""
        self.client.close()
        self.b.kill()
        self.disk.lift_all()
        self.disk.faults()
        self.disk.unmount()
        before = len(self.b.log_text())
        self.b.start()
        self.client = self.talker()
        return self.b.log_text()[before:]

    def byte(self, va):
        is_mapped = self.client.ask("read", va)[0] == 0
        if not is_mapped:
            self.does("map", va, 1)
        first, said = self.client.ask("read", va)
        self.assertEqual(first, 0)
        if not is_mapped:
            self.does("unmap", va)
        return int(said)

    def check_blocks(self, *gone):
        """All that was flushed is there; what was not may be."""
        if self.in_doubt:
            self.assertIn(self.byte(0), (OLD, NEVER))
            gone += (0,)
        for i in range(FAST + AT_REST):
            if i not in gone:
                self.assertEqual(self.byte(i * BLOCK), i + 1)

    def check_new_blocks(self):
        """What was never given out, or was freed, reads as zeros."""
        info = self.b.json("info")
        n = info["slots_free"] + info["slow_free"]
        self.does("alloc", NEW, n)
        for i in range(n):
            self.assertEqual(self.byte(NEW + i * BLOCK), 0, i)

    def check_new_epoch(self, said, rise=1):
        self.assertEqual(self.b.json("info")["power_epoch"], self.epoch + rise)
        (self.assertIn if rise else self.assertNotIn)("new power epoch", said)

    def allocated(self):
        return {va + i * BLOCK for va, n in self.b.allocated() for i in range(n)}

    def check_store_has_failed(self):
        """Everybody is told, until brickd is started again; nothing is there half."""
        self.open_write()
        self.assertEqual(self.asks("flush"), IO)
        self.assertEqual(self.asks("alloc", NEW + BLOCK, 1), IO)
        self.assertEqual(self.asks("free", BLOCK, 1), IO)
        self.assertIn("the medium failed", self.b.log_text())
        self.client.close()
        self.assertEqual(self.b.stop(), 1)
        self.assertNotIn("stopped cleanly", self.b.log_text())
        self.check_new_epoch(self.start_again())

    def check_slow_has_failed(self):
        """The store goes on, and its stop is clean."""
        self.does("write", 0, 4096, OLD)
        self.does("flush")
        self.assertNotIn("the medium failed", self.b.log_text())
        self.client.close()
        self.assertEqual(self.b.stop(), 0)
        self.check_new_epoch(self.start_again(), 0)

    def open_write(self):
        """Block 0 is written without a flush."""
        self.does("write", 0, 4096, NEVER)
        self.in_doubt = True

    def check_not_served(self, *words):
        with self.assertRaises(RuntimeError) as caught:
            self.b.start()
        for word in words:
            self.assertIn(word, str(caught.exception).rpartition("stopped cleanly")[2])


class FastFile(Cell):
    """Linux could not write pages of the store back, and says so to a sync."""

    def fail_next(self, **words):
        self.fails("store", "writeback", **words)

    def test_sync_flush(self):
        self.begin()
        self.open_write()
        self.fail_next()
        self.assertEqual(self.asks("flush"), IO)
        self.check_store_has_failed()
        self.check_blocks()

    def test_sync_alloc(self):
        self.begin()
        self.fail_next()
        self.assertEqual(self.asks("alloc", NEW, 1), IO)
        self.check_store_has_failed()
        self.check_blocks()

    def test_sync_free(self):
        self.begin()
        self.fail_next()
        self.assertEqual(self.asks("free", 3 * BLOCK, 1), IO)
        self.check_store_has_failed()
        gone = {3} if 3 * BLOCK not in self.allocated() else set()
        self.check_blocks(*gone)

    def test_sync_promotion(self):
        self.begin()
        self.fail_next(thread="tier")
        self.assertEqual(self.asks("map", FAST * BLOCK, 1), IO)
        self.check_store_has_failed()
        self.check_blocks()

    def test_sync_demotion(self):
        self.begin()
        self.fail_next(thread="store")
        done = self.tier("demote", f"{BLOCK:#x}+1")
        self.assertEqual(done.get("moved", 0), 0)
        self.check_store_has_failed()
        self.check_blocks()

    def test_sync_stop(self):
        self.begin()
        self.open_write()
        self.client.close()
        self.fail_next()
        self.assertEqual(self.b.stop(), 1)
        self.assertNotIn("stopped cleanly", self.b.log_text())
        self.check_new_epoch(self.start_again())
        self.check_blocks()

    def test_sync_start(self):
        """What a killed brickd left is lost before the next one, or by its syncs."""
        self.begin()
        self.open_write()
        self.client.close()
        self.b.kill()
        self.fail_next(times=0)
        self.check_not_served("store: the medium failed")
        self.disk.lift_all()
        before = len(self.b.log_text())
        self.b.start()
        self.client = self.talker()
        self.check_new_epoch(self.b.log_text()[before:])
        self.check_blocks()
        # Once is enough.
        self.epoch += 1
        self.client.close()
        self.assertEqual(self.b.stop(), 0)
        self.check_new_epoch(self.start_again(), 0)
        self.check_blocks()


class Gone(Cell):
    """A page of the mapping cannot be had: no room for it, or it cannot be read.

    brickd dies of it by name; what was flushed is there when it starts again.
    """

    def take(self, *pages):
        before = self.disk.count("^.*faults=")
        self.disk.faults(*((self.b.store, off, n) for off, n in pages))
        if self.b.process:
            self.disk.await_log(rf"(?s)(faults=.*){{{before + len(pages)}}}")

    def records(self, copy):
        """The page of the records, in either copy; the mirror is only written."""
        with open(self.b.store, "rb") as file:
            file.seek(RECORDS_AT + 8 * copy)
            return int.from_bytes(file.read(8), "little"), PAGE

    def free_slots(self):
        """The pages of all slots that hold no block."""
        data = self.b.store.read_bytes()
        at = range(DATA, len(data) - BLOCK + 1, BLOCK)
        return [(off, BLOCK) for off in at if data[off] not in range(1, FAST + 1)]

    def slot_of(self, byte):
        data = self.b.store.read_bytes()
        return next(off for off in range(DATA, len(data), BLOCK)
                    if data[off:off + PAGE] == bytes([byte]) * PAGE)

    def check_died(self, where="the store's metadata"):
        """Of SIGBUS, and says where; the same boot goes on with all that is there."""
        self.assertEqual(self.b.process.wait(timeout=REFUSED_S), -signal.SIGBUS)
        self.assertRegex(self.b.log_text(), rf"the medium failed \(SIGBUS\) in {where}")
        self.b.process = None
        self.disk.faults()
        before = len(self.b.log_text())
        self.b.start()
        self.client.close()
        self.client = self.talker()
        self.check_new_epoch(self.b.log_text()[before:], 0)
        self.does("flush")

    def ctl_fails(self, *words):
        """Told that the brick is gone: nobody says that it was done."""
        self.client.close()
        self.assertNotEqual(self.b.ctl(*words).returncode, 0)

    def alloc_without(self, copy):
        self.begin()
        self.take(self.records(copy))
        self.ctl_fails("alloc", f"{NEW:#x}+1")
        self.check_died()
        self.check_blocks()
        self.check_new_blocks()

    def free_without(self, copy):
        self.begin()
        self.take(self.records(copy))
        self.ctl_fails("free", f"{3 * BLOCK:#x}+1")
        self.check_died()
        self.check_blocks(*({3} if 3 * BLOCK not in self.allocated() else ()))

    def start_without(self, page):
        self.begin()
        self.client.close()
        self.b.kill()
        self.take(page)
        self.check_not_served("SIGBUS", "the store's metadata")
        self.disk.faults()
        before = len(self.b.log_text())
        self.b.start()
        self.client = self.talker()
        self.check_new_epoch(self.b.log_text()[before:], 0)
        self.check_blocks()

    def test_write_alloc(self):
        self.alloc_without(1)

    def test_read_alloc(self):
        self.alloc_without(0)

    def test_write_free(self):
        self.free_without(1)

    def test_read_free(self):
        self.free_without(0)

    def test_write_free_when_it_is_cleaned(self):
        self.begin()
        self.take((self.slot_of(4), BLOCK))
        # It is free before it is cleaned, and brickd may die of that before it
        # has said so.
        self.assertIn(self.asks("free", 3 * BLOCK, 1), (0, -errno.ECONNRESET))
        self.check_died("slot [0-9]+")
        self.check_blocks(3)
        self.assertNotIn(3 * BLOCK, self.allocated())
        self.check_new_blocks()

    def test_write_promotion(self):
        """No room for what is to be copied up."""
        self.begin()
        self.take(*self.free_slots())
        self.ctl_fails("read", f"{FAST * BLOCK:#x}", "--length", "1")
        self.check_died("slot [0-9]+")
        self.check_blocks()
        self.check_new_blocks()

    def test_read_promotion(self):
        self.begin()
        self.take(self.records(0))
        self.ctl_fails("read", f"{FAST * BLOCK:#x}", "--length", "1")
        self.check_died()
        self.check_blocks()

    def test_write_demotion(self):
        self.begin()
        self.take(self.records(1))
        self.client.close()
        lab.run(lab.BRICKCTL, "--admin", self.b.folder / "admin", "tier", "demote",
                f"{BLOCK:#x}+1")
        self.check_died()
        self.check_blocks()

    def test_read_demotion(self):
        """The kernel is to copy from there: brickd lives, the block stays."""
        self.begin()
        self.take((self.slot_of(2), BLOCK))
        done = self.tier("demote", f"{BLOCK:#x}+1")
        self.assertEqual(done.get("moved", 0), 0)
        self.assertEqual(self.tier("demote", f"{2 * BLOCK:#x}+1")["moved"], 1)
        self.assertRegex(self.b.log_text(),
                         f"block {BLOCK:#x} cannot be read from memory")
        self.assertEqual(self.tier()["slow_bad"], 0)
        self.client.close()
        self.assertEqual(self.b.stop(), 0)
        self.check_new_epoch(self.start_again(), 0)
        self.check_blocks()

    def client_is_ended(self, *words):
        """Told of it by an error; brickd and all other blocks are there."""
        self.begin()
        page = self.slot_of(1)
        self.take((page, PAGE))
        self.assertEqual(self.asks(*words), -errno.ECONNABORTED)
        slot = (page - DATA) // BLOCK
        self.assertRegex(self.b.log_text(),
                         rf"(?m)^<3>.*the medium failed in slot {slot}: a page of the block "
                         rf"at 0x0 cannot be had")
        self.assertEqual(self.client.ask("await", 10000), (1, "4 0x0+1"))
        self.disk.faults()
        self.does("map", BLOCK, 1)
        self.does("write", BLOCK, 4096, 2)
        self.does("flush")
        self.does("unmap", BLOCK)
        self.check_blocks(0)
        self.client.close()
        self.assertEqual(self.b.stop(), 0)

    def test_write_by_a_client(self):
        """So short that brickd has its bytes before it knows where they belong."""
        self.client_is_ended("write", 0, 64, NEVER)

    def test_long_write_by_a_client(self):
        self.client_is_ended("write", 0, BLOCK // 2, NEVER)

    def test_read_by_a_client(self):
        self.client_is_ended("read", 0)

    def test_write_stop(self):
        self.begin()
        self.take((INSTANCE, INSTANCE_BYTES))
        self.client.close()
        self.b.process.send_signal(signal.SIGTERM)
        self.check_died()
        self.assertNotIn("stopped cleanly", self.b.log_text())
        self.check_blocks()

    def test_write_start(self):
        self.start_without((INSTANCE, INSTANCE_BYTES))

    def test_read_start(self):
        self.start_without((TABLES, PAGE))


class SlowFile(Cell):
    """The slow tier's file; SlowDevice has the same of a block device."""

    def fail_sync(self, **words):
        """Of a file the pages, of a device the cache behind what was written."""
        self.fails(self.slow, "flush" if self.slow_device else "writeback", **words)

    def fail_writes(self):
        for on in "write", "zero":
            self.fails(self.slow, on, name=on, times=0,
                       error="EIO" if self.slow_device else "ENOSPC")

    def free_at_rest(self):
        """Frees what is in the slow tier while its slots cannot be made zeros."""
        self.assertEqual(self.asks("free", FAST * BLOCK, AT_REST), 0)

    def check_room_is_less(self):
        """The slots that cannot be cleaned are given to nobody; all others are."""
        info = self.b.json("info")
        room = info["slots_total"] + info["slow_total"] - FAST - AT_REST
        self.assertEqual(self.asks("alloc", NEW, room + 1), NO_SPACE)
        self.does("alloc", NEW, room)
        self.does("free", NEW, room)

    def check_freed(self):
        """After the next start it is room like any other."""
        self.check_slow_has_failed()
        self.assertEqual(self.allocated(), {i * BLOCK for i in range(FAST)})
        self.check_blocks(*range(FAST, FAST + AT_REST))
        self.check_new_blocks()

    def crowd(self):
        """Nothing is free in memory."""
        info = self.b.json("info")
        self.does("alloc", NEW, info["slots_free"])

    def map_that_needs_room(self):
        self.crowd()
        return self.asks("map", FAST * BLOCK, 1)

    def break_header(self):
        """One copy of the header is to be repaired at the next start."""
        self.client.close()
        self.assertEqual(self.b.stop(), 0)
        self.disk.unmount()
        where = [self.b.slow]
        if not self.slow_device:
            where += [self.disk.folder / "slow.disk", self.disk.folder / "slow.clean"]
        for path in where:
            with open(path, "r+b") as file:
                file.seek(20)
                file.write(b"\x5a" * 8)

    def check_header_later(self):
        said = self.start_again()
        self.check_new_epoch(said, 0)
        # A device has got it before the sync.
        if not self.slow_device or self.disk.has("on=write "):
            self.assertIn("a header of the slow tier", said)
        self.check_blocks()

    def test_write_alloc(self):
        self.begin()
        self.fail_writes()
        self.free_at_rest()
        self.check_room_is_less()
        self.check_freed()

    def test_write_free(self):
        self.begin()
        self.fail_writes()
        self.free_at_rest()
        self.await_text("cannot be cleared")
        self.check_freed()

    def test_write_promotion(self):
        self.begin(settings="promote-wait-ms = 1000")
        self.fail_writes()
        self.assertIn(self.map_that_needs_room(), (NO_SPACE, IO))
        self.await_text("cannot be written to slot")
        self.check_slow_has_failed()
        self.check_blocks()

    def test_write_demotion(self):
        self.begin()
        self.fail_writes()
        done = self.tier("demote", f"{BLOCK:#x}+1")
        self.assertEqual((done["moved"], done["failed"]), (0, 1))
        self.assertRegex(self.b.log_text(),
                         f"block {BLOCK:#x} cannot be written to slot [0-9]+")
        self.assertEqual(self.tier()["slow_bad"], 1)
        self.check_slow_has_failed()
        self.assertEqual(self.tier()["slow_bad"], 0)
        self.check_blocks()

    def test_write_start(self):
        self.begin()
        self.break_header()
        self.fail_writes()
        self.check_not_served("header of the slow tier cannot be written")
        self.check_header_later()

    def test_sync_alloc(self):
        self.begin()
        self.fail_sync(times=0)
        self.free_at_rest()
        self.await_log_of_sync()
        self.check_room_is_less()
        self.check_freed()

    def test_sync_free(self):
        self.begin()
        self.fail_sync()
        self.free_at_rest()
        self.await_log_of_sync()
        self.await_text("slow")
        self.check_freed()

    def test_sync_promotion(self):
        self.begin(settings="promote-wait-ms = 1000")
        self.fail_sync(times=0)
        self.assertIn(self.map_that_needs_room(), (NO_SPACE, IO))
        self.await_log_of_sync()
        self.check_slow_has_failed()
        self.check_blocks()

    def test_sync_demotion(self):
        self.begin()
        self.fail_sync()
        done = self.tier("demote", f"{BLOCK:#x}+1")
        self.assertEqual(done.get("moved", 0), 0)
        # It does not work again by itself: what was lost is unknown.
        done = self.tier("demote", f"{2 * BLOCK:#x}+1")
        self.assertEqual(done.get("moved", 0), 0)
        # What is there can be had.
        self.assertEqual(self.byte(FAST * BLOCK), FAST + 1)
        self.check_slow_has_failed()
        self.check_blocks()
        self.assertEqual(self.tier("demote", f"{2 * BLOCK:#x}+1")["moved"], 1)

    def test_sync_start(self):
        self.begin()
        self.break_header()
        self.fail_sync(times=0)
        self.check_not_served("header of the slow tier cannot be written")
        self.check_header_later()

    def test_read_promotion(self):
        self.begin()
        self.fails(self.slow, "read", times=0)
        self.assertEqual(self.asks("map", FAST * BLOCK, 1), IO)
        extents = self.b.json("list", "allocated")["extents"]
        self.assertIn(f"{FAST * BLOCK:#x}",
                      {e["va"] for e in extents if "bad" in e["flags"]})
        self.assertRegex(self.b.log_text(), "cannot be read from slot [0-9]+")
        # It is there when the disk is.
        self.disk.lift_all()
        self.assertEqual(self.byte(FAST * BLOCK), FAST + 1)
        self.check_slow_has_failed()
        self.check_blocks()

    def test_read_start(self):
        self.begin()
        self.client.close()
        self.assertEqual(self.b.stop(), 0)
        self.fails(self.slow, "read", times=0, len=HEADER_BYTES)
        self.check_not_served(f"{self.slow}: the slow tier cannot be read")
        self.check_new_epoch(self.start_again(), 0)
        self.check_blocks()

    def await_text(self, word):
        end = time.monotonic() + REFUSED_S
        while word not in self.b.log_text().partition("client")[2]:
            self.assertLess(time.monotonic(), end, self.b.log_text())
            time.sleep(TICK_S)

    def await_log_of_sync(self):
        self.disk.await_log("failed=sync")


@unittest.skipIf(lab.why_no_loop(), lab.why_no_loop() or "")
class SlowDevice(SlowFile):
    slow_device = True


MEDIA = ("fast file", "fsdax", "devdax poison", "slow file", "slow block device")
FAILS = ("write", "sync", "read")
DURING = ("flush", "alloc", "free", "promotion", "demotion", "stop", "start")


def why_not(medium, fails, during):
    """Why there is no such cell: the number of the reason on the page; or None."""
    if medium.startswith("slow"):
        if during in ("flush", "stop"):
            return 6
        return 7 if fails == "read" and during in ("alloc", "free", "demotion") else None
    if fails == "sync" and medium != "fast file":
        return 4
    if fails == "write" and medium == "devdax poison":
        return 5
    if fails != "sync" and during == "flush":
        return 1 if fails == "write" else 2
    return 3 if fails == "read" and during == "stop" else None


def test_of(medium, fails, during):
    """The class that has it."""
    if medium.startswith("slow"):
        return SlowDevice if medium.endswith("device") else SlowFile
    return FastFile if fails == "sync" else Gone


class Page(unittest.TestCase):
    """The matrix is whole, here and on the page."""

    def rows(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "durability.md"
        if not page.exists():
            self.skipTest("the page is not at hand")
        cells = (re.split(r"\s*\|\s*", line.strip("|\n "))
                 for line in page.read_text().splitlines())
        return {tuple(row[:2]): row[2:] for row in cells if row[0] in MEDIA}

    def test_each_cell_has_a_test_or_a_reason(self):
        rows = self.rows()
        for medium in MEDIA:
            for fails in FAILS:
                said = rows.get((medium, fails), ())
                self.assertEqual(len(said), len(DURING), (medium, fails))
                for during, word in zip(DURING, said):
                    self.check_cell((medium, fails, during), word)

    def check_cell(self, cell, word):
        why = why_not(*cell)
        if why:
            self.assertEqual(word, f"({why})", cell)
            return
        self.assertRegex(word, "^[A-Z]$", cell)
        name = f"test_{cell[1]}_{cell[2]}"
        self.assertTrue(hasattr(test_of(*cell), name), f"{cell}: no {name}")


if __name__ == "__main__":
    lab.main()
