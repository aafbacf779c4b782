#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A sync that fails is told once by Linux; brickd must tell it to everybody.

Forced interleavings of brickd's threads over tests/func/failing_disk.c: each sync
is held where the error can go to somebody else.
"""
import errno
import json
import select
import subprocess
import time

import lab
from comeback import Talker
from failing_disk import DiskTest, TICK_S

# How long something may take that a brick is to hold back.
HELD_BACK_S = 0.5
BLOCK = lab.BLOCK
IO = -errno.EIO


class FailedSyncs(DiskTest):
    def talker(self):
        talker = Talker(self.b.url, self.b)
        self.addCleanup(talker.close)
        self.assertEqual(talker.hear(), (0, ""))
        return talker

    def does(self, talker, *words):
        self.assertEqual(talker.ask(*words)[0], 0, words)

    def may_answer(self, talker):
        """What it answers, if it does before it is let."""
        if not select.select([talker.process.stdout], [], [], HELD_BACK_S)[0]:
            return None
        return talker.hear()[0]

    def tier(self, *words):
        done = lab.run(lab.BRICKCTL, "--json", "--admin", self.b.folder / "admin", "tier",
                       *words)
        return json.loads(done.stdout)

    def may_happen(self, condition):
        """Waits for what a brick is to hold back, and does not insist."""
        end = time.monotonic() + HELD_BACK_S
        while not condition() and time.monotonic() < end:
            time.sleep(TICK_S)

    def restart_from_disk(self):
        """kill -9, and what the disk does not have is gone from memory."""
        self.b.kill()
        self.disk.lift_all()
        self.disk.unmount()
        self.b.start()

    def cut_power(self):
        self.b.kill()
        self.disk.lift_all()
        self.disk.lose_power()
        self.b.start()

    def byte(self, talker, va):
        self.does(talker, "map", va, 1)
        first, said = talker.ask("read", va)
        self.assertEqual(first, 0)
        self.does(talker, "unmap", va)
        return int(said)

    def write(self, talker, va, value):
        self.does(talker, "map", va, 1)
        self.does(talker, "write", va, 4096, value)

    # Who is told.

    def test_a_flush_is_told_what_an_alloc_met(self):
        self.on_disk().start()
        writer, other = self.talker(), self.talker()
        self.does(writer, "alloc", 0, 1)
        self.write(writer, 0, 7)
        self.does(writer, "flush")
        self.does(writer, "write", 0, 4096, 8)
        self.disk.rule("hold", on="sync", file="store", thread="flush", hold=1)
        writer.say("flush")
        self.disk.await_log("rule=hold")
        self.disk.rule("fail", on="writeback", file="store", error="EIO")
        other.say("alloc", 4 * BLOCK, 1)
        alloc = self.may_answer(other)
        self.disk.lift("hold")
        flush = writer.hear()[0]
        alloc = other.hear()[0] if alloc is None else alloc
        self.assertTrue(self.disk.has("lost="))
        self.restart_from_disk()
        byte = self.byte(self.talker(), 0)
        self.assertEqual((flush, alloc, byte), (IO, IO, 7))

    def test_an_alloc_is_told_what_a_flush_met(self):
        self.on_disk().start()
        writer, other = self.talker(), self.talker()
        self.does(writer, "alloc", 0, 1)
        self.write(writer, 0, 7)
        # Not its first fence: the one of the commit word.
        self.disk.rule("hold", on="sync", file="store", thread="store", hold=1, after=1)
        other.say("alloc", 4 * BLOCK, 1)
        self.disk.await_log("rule=hold")
        self.disk.rule("fail", on="writeback", file="store", error="EIO")
        writer.say("flush")
        flush = self.may_answer(writer)
        self.disk.lift("hold")
        alloc = other.hear()[0]
        flush = writer.hear()[0] if flush is None else flush
        self.cut_power()
        # All of it or nothing, when it failed; and nothing is half done.
        listed = [va for va, _ in self.b.allocated()]
        self.assertEqual((flush, alloc), (IO, IO), f"allocated are {listed}")
        self.assertIn(listed, ([0], [0, 4 * BLOCK]))

    def test_a_free_is_told_what_a_flush_met(self):
        self.on_disk().start()
        writer, other = self.talker(), self.talker()
        self.does(writer, "alloc", 0, 1)
        self.does(writer, "alloc", 4 * BLOCK, 1)
        self.write(writer, 0, 7)
        self.disk.rule("hold", on="sync", file="store", thread="store", hold=1)
        other.say("free", 4 * BLOCK, 1)
        self.disk.await_log("rule=hold")
        self.disk.rule("fail", on="writeback", file="store", error="EIO")
        writer.say("flush")
        flush = self.may_answer(writer)
        self.disk.lift("hold")
        free = other.hear()[0]
        flush = writer.hear()[0] if flush is None else flush
        self.cut_power()
        listed = [va for va, _ in self.b.allocated()]
        self.assertEqual((flush, free), (IO, IO), f"allocated are {listed}")
        self.assertIn(listed, ([0], [0, 4 * BLOCK]))

    # The slow tier.

    def at_rest(self, n):
        """Blocks 0 to n - 1, flushed, each with its number and one as a byte."""
        writer = self.talker()
        self.does(writer, "alloc", 0, n)
        for i in range(n):
            self.write(writer, i * BLOCK, i + 1)
        self.does(writer, "flush")
        for i in range(n):
            self.does(writer, "unmap", i * BLOCK)
        return writer

    def demote(self, va):
        """A demotion under way; brickctl waits for its end."""
        ctl = subprocess.Popen(
            [lab.BRICKCTL, "--json", "--admin", self.b.folder / "admin", "tier", "demote",
             f"{va:#x}+1"], stdout=subprocess.PIPE, env=lab.environment())
        self.addCleanup(ctl.kill)
        return ctl

    def test_a_demotion_is_told_what_the_cleaner_met(self):
        self.on_disk().start()
        client = self.at_rest(2)
        self.assertEqual(self.tier("demote", "0x0+1")["moved"], 1)
        # A demotion's sync waits while a slot is freed, and cleaned.
        self.disk.rule("hold", on="sync", file="slow", thread="tier", hold=1)
        demotion = self.demote(BLOCK)
        self.disk.await_log("rule=hold")
        self.disk.rule("fail", on="writeback", file="slow", error="EIO")
        self.does(client, "free", 0, 1)
        self.may_happen(lambda: self.disk.has("failed=sync file=slow"))
        self.disk.lift("hold")
        moved = json.loads(demotion.communicate(timeout=60)[0])["moved"]
        self.restart_from_disk()
        self.assertEqual((moved, self.byte(self.talker(), BLOCK)), (0, 2))

    def test_the_cleaner_is_told_what_a_demotion_met(self):
        """Else a slot is called clean that is not zeros, and given to somebody."""
        self.on_disk().start()
        client = self.at_rest(2)
        self.assertEqual(self.tier("demote", "0x0+1")["moved"], 1)
        self.disk.rule("hold", on="sync", file="slow", thread="cleaner", hold=1)
        self.does(client, "free", 0, 1)
        self.disk.await_log("rule=hold")
        self.disk.rule("fail", on="writeback", file="slow", error="EIO")
        demotion = self.demote(BLOCK)
        self.may_happen(lambda: self.disk.has("failed=sync file=slow"))
        self.disk.lift("hold")
        demotion.communicate(timeout=60)
        self.restart_from_disk()
        self.assertEqual(self.byte(self.talker(), BLOCK), 2)
        self.check_that_new_blocks_are_zeros()

    # A move whose end nobody knows.

    def fail_last_fence(self):
        """The commit word reaches the disk, and the fence says that it has not."""
        self.disk.rule("fail", on="flush", file="store", thread="store", error="EIO",
                       after=1, keep=1000)

    def check_in_doubt(self, *blocks):
        """Each block has its own bytes, wherever it turns out to be."""
        self.b.kill()
        self.disk.settle()
        self.disk.unmount()
        self.b.start()
        client = self.talker()
        self.assertEqual([self.byte(client, i * BLOCK) for i in blocks],
                         [i + 1 for i in blocks])

    def test_nothing_is_copied_over_a_promotion_in_doubt(self):
        self.on_disk().start()
        client = self.at_rest(4)
        self.assertEqual(self.tier("demote", "0x0+2")["moved"], 2)
        # One slot of memory is left for both.
        free = self.b.json("info")["slots_free"]
        self.does(client, "alloc", 8 * BLOCK, free - 1)
        self.fail_last_fence()
        self.assertEqual(client.ask("map", 0, 1)[0], IO)
        self.disk.await_log("failed=sync file=store")
        self.assertNotEqual(client.ask("map", BLOCK, 1)[0], 0)
        self.check_in_doubt(0, 1, 2, 3)

    def test_nothing_is_copied_over_a_demotion_in_doubt(self):
        self.on_disk().start()
        self.at_rest(4)
        self.fail_last_fence()
        self.demote(0).communicate(timeout=60)
        self.disk.await_log("failed=sync file=store")
        self.demote(BLOCK).communicate(timeout=60)
        self.check_in_doubt(0, 1, 2, 3)

    def check_that_new_blocks_are_zeros(self):
        client = self.talker()
        info = self.b.json("info")
        n = info["slots_free"] + info["slow_free"]
        self.does(client, "alloc", 8 * BLOCK, n)
        for i in range(n):
            self.assertEqual(self.byte(client, (8 + i) * BLOCK), 0, i)

    # Later.

    def fail_a_flush(self, kept):
        """A byte 7 that is flushed, and an 8 that was not."""
        client = self.talker()
        self.does(client, "alloc", 0, 1)
        self.write(client, 0, 7)
        self.does(client, "flush")
        self.epoch = self.b.json("info")["power_epoch"]
        self.disk.rule("fail", on="writeback", file="store", error="EIO", keep=kept)
        self.does(client, "write", 0, 4096, 8)
        self.assertEqual(client.ask("flush")[0], IO)
        client.close()

    def check_that_it_is_remembered(self):
        """What is not on the disk is not read, and clients hear that it is gone."""
        client = self.talker()
        epoch = self.b.json("info")["power_epoch"]
        byte = self.byte(client, 0)
        flush = client.ask("flush")[0]
        client.close()
        self.b.kill()
        self.disk.unmount()
        self.b.start()
        self.assertEqual((byte, flush, epoch - self.epoch, self.byte(self.talker(), 0)),
                         (7, 0, 1, 7))

    def test_a_failed_flush_is_remembered_over_kill_9(self):
        self.on_disk().start()
        self.fail_a_flush(kept=0)
        self.b.kill()
        self.b.start()
        self.check_that_it_is_remembered()

    def test_a_failed_flush_is_remembered_over_a_stop(self):
        self.on_disk().start()
        self.fail_a_flush(kept=0)
        self.assertEqual(self.b.stop(), 1)
        self.b.start()
        self.check_that_it_is_remembered()

    def test_a_failed_flush_is_remembered_when_the_medium_takes_nothing_more(self):
        self.on_disk().start()
        self.disk.rule("never", on="writeback", file="store", error="EIO", times=0, after=100)
        self.fail_a_flush(kept=0)
        self.disk.rule("fail", on="writeback", file="store", error="EIO", times=0)
        self.b.kill()
        # What the kernel writes back of a dead process fails as well.
        self.disk.settle(taken=False)
        self.disk.lift_all()
        self.b.start()
        self.check_that_it_is_remembered()

    def test_a_failed_flush_is_remembered_over_unmount_and_mount(self):
        self.on_disk().start()
        self.fail_a_flush(kept=0)
        self.b.kill()
        self.disk.unmount()
        self.b.start()
        self.check_that_it_is_remembered()

    def test_what_the_kernel_lost_after_kill_9_is_found_at_the_start(self):
        """Nobody was there to be told: brickd was dead when writeback failed."""
        self.on_disk().start()
        client = self.talker()
        self.does(client, "alloc", 0, 1)
        self.write(client, 0, 7)
        self.does(client, "flush")
        self.epoch = self.b.json("info")["power_epoch"]
        self.does(client, "write", 0, 4096, 8)
        client.close()
        self.b.kill()
        self.disk.settle(taken=False)
        self.b.start()
        self.check_that_it_is_remembered()


if __name__ == "__main__":
    lab.main()
