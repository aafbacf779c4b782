#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a slow tier may lie on, how it is checked, and how it grows.

The block devices are loop devices; without the rights or the kernel for them
those tests are skipped.
"""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

import lab

FAST, SLOW, BLOCKS = 8, 24, 20
HEADERS = (0, 4096)
TMPFS = pathlib.Path("/dev/shm")


class SlowTier(lab.FuncTest):
    def offline(self, command, brick, *words, status=0):
        done = lab.run(lab.BRICKD, command, brick.store, *words)
        self.assertEqual(done.returncode, status, (done.stdout + done.stderr).decode())
        return (done.stdout + done.stderr).decode()

    def fill(self, brick):
        self.ok(brick.ctl("alloc", f"0x0+{BLOCKS}"))
        for i in range(BLOCKS):
            self.ok(brick.ctl("write", hex(i * lab.BLOCK), "--length", "5000",
                              stdin=bytes([i + 1]) * 5000))

    def check_blocks(self, brick):
        for i in range(BLOCKS):
            data = self.ok(brick.ctl("read", hex(i * lab.BLOCK), "--length", "5000"))
            self.assertEqual(data, bytes([i + 1]) * 5000)

    def poke(self, path, offset, data=b"\x5a" * 8):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def check_a_header(self, brick, path):
        """Damaged, one header is repaired, and two are too many."""
        self.assertIn("slow-not-seen", self.offline("check", brick))
        self.assertIn("whole", self.offline("check", brick, "--slow", path, "--read-clean"))
        for header in HEADERS:
            self.poke(path, header + 20)
            self.assertIn("slow-damaged",
                          self.offline("check", brick, "--slow", path, status=3))
            self.assertIn("repaired",
                          self.offline("check", brick, "--slow", path, "--repair"))
            self.assertIn(" 0 damaged", self.offline("check", brick, "--slow", path))

    def check_growth(self, brick, before, after, *words):
        said = self.offline("grow", brick, "--slow", brick.slow, *words)
        self.assertIn(f"{after} blocks, {after - before} more", said)
        brick.start()
        info = brick.json("info")
        self.assertEqual(info["slow_total"], after - 1)  # one is kept for moves
        self.check_blocks(brick)
        room = info["slots_total"] + info["slow_total"]
        self.ok(brick.ctl("alloc", f"1G+{room - BLOCKS}"))
        self.assertEqual(brick.stop(), 0)


class File(SlowTier):
    def tiers(self):
        return self.brick(size=f"{2 * FAST + 2}M", slow_size=f"{2 * SLOW + 2}M")

    def test_a_check_looks_at_the_header(self):
        b = self.tiers()
        self.check_a_header(b, b.slow)
        for header in HEADERS:
            self.poke(b.slow, header + 20)
        self.assertIn("slow-lost", self.offline("check", b, "--slow", b.slow, status=4))
        other = self.brick("other", size="8M", slow_size="8M")
        self.assertIn("slow-foreign",
                      self.offline("check", b, "--slow", other.slow, status=4))
        self.assertIn("No such file",
                      self.offline("check", b, "--slow", b.folder / "none", status=1))

    def test_a_header_that_brickd_repairs_is_said(self):
        b = self.tiers()
        self.poke(b.slow, HEADERS[1] + 20)
        b.start()
        self.assertIn("repaired: 0 records, a header of the slow tier", b.log_text())
        self.assertEqual(b.stop(), 0)
        self.assertIn(" 0 damaged", self.offline("check", b, "--slow", b.slow))

    def test_a_file_grows(self):
        b = self.tiers().start()
        self.fill(b)
        self.assertIn("in use", self.offline("grow", b, "--slow", b.slow, status=1))
        self.assertEqual(b.stop(), 0)
        self.assertIn("no room", self.offline("grow", b, "--slow", b.slow, status=1))
        self.assertIn("not more", self.offline("grow", b, "--slow", b.slow,
                                               "--slow-size", "4M", status=1))
        self.assertIn("goes with", self.offline("grow", b, "--slow-size", "4M", status=2))
        self.check_growth(b, SLOW, SLOW + 6, "--slow-size", f"{2 * SLOW + 14}M")
        self.assertIn("whole", self.offline("check", b, "--slow", b.slow, "--read-clean"))

    def in_memory(self):
        """A folder whose files the next loss of power takes."""
        if not TMPFS.is_dir():
            self.skipTest(f"there is no {TMPFS}")
        if lab.run("stat", "-f", "-c", "%T", self.folder).stdout.strip() == b"tmpfs":
            self.skipTest(f"{self.folder} is in memory, too")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-slow-", dir=TMPFS))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def test_a_durable_store_has_none_in_memory(self):
        slow = self.in_memory() / "slow"
        store = self.folder / "new"
        done = lab.run(lab.BRICKD, "format", store, "--size", "8M", "--slow", slow,
                       "--slow-size", "8M")
        self.assertEqual(done.returncode, 1, (done.stdout + done.stderr).decode())
        self.assertIn(f"{slow}: is in memory", done.stderr.decode())
        self.assertFalse(store.exists() or slow.exists())
        # Of a store that has one all the same nothing is moved there any more.
        b = self.tiers().start()
        self.fill(b)
        self.assertEqual(b.stop(), 0)
        on_disk = b.slow
        shutil.copy(on_disk, slow)
        b.slow = slow
        with self.assertRaises(RuntimeError):
            b.start()
        self.assertIn(f"{slow}: is in memory", b.log_text())
        self.assertIn("slow-volatile", self.offline("check", b, "--slow", slow, status=4))
        self.assertIn("is in memory", self.offline("grow", b, "--slow", slow, "--slow-size",
                                                   f"{2 * SLOW + 14}M", status=1))
        self.assertEqual(slow.stat().st_size, on_disk.stat().st_size)
        # What the message says to do.
        shutil.copy(slow, on_disk)
        b.slow = on_disk
        b.start()
        self.check_blocks(b)
        self.assertEqual(b.stop(), 0)

    def test_a_store_without_one_does_not_get_one(self):
        b = self.brick(size="8M")
        other = self.brick("other", size="8M", slow_size="8M")
        self.assertIn("no slow tier", self.offline("grow", b, "--slow", other.slow, status=1))


@unittest.skipIf(lab.why_no_loop(), lab.why_no_loop() or "")
class Device(SlowTier):
    def setUp(self):
        super().setUp()
        # What the loop devices lie on, and the stores: in memory it is quick.
        if TMPFS.is_dir():
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-slow-", dir=TMPFS))
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def on_a_device(self):
        device, file = self.loop(2 * SLOW + 2)
        b = self.brick(size=f"{2 * FAST + 2}M", slow=device)
        b.settings = f"admin = {b.folder / 'admin'}"
        return b, device, file

    def resize(self, device, file, mib):
        """What lies behind the end gives errors from now on."""
        os.truncate(file, mib * lab.MIB)
        self.ok(lab.run("losetup", "--set-capacity", device))

    def slow_is_clean(self, brick):
        """Has brickd nothing of its own to write to the slow tier?

        Else it makes a file larger that has just been cut, or meets the errors first.
        """
        done = lab.run(lab.BRICKCTL, "--json", "--admin", brick.folder / "admin", "stats")
        slots = next(m for m in json.loads(self.ok(done))["metrics"]
                     if m["name"] == "slow_slots")
        return not next(s["value"] for s in slots["samples"] if s["state"] == "dirty")

    def tier(self, brick, *words):
        done = lab.run(lab.BRICKCTL, "--json", "--admin", brick.folder / "admin", "tier",
                       *words)
        self.assertIn(done.returncode, (0, 1), done.stderr.decode())
        return json.loads(done.stdout)

    def flagged(self, brick, flag):
        """The numbers of the blocks that LIST gives this flag."""
        extents = brick.json("list", "allocated")["extents"]
        return {int(e["va"], 16) // lab.BLOCK + i for e in extents if flag in e["flags"]
                for i in range(e["n_blocks"])}

    def is_direct(self, brick):
        """Does brickd go past the page cache?"""
        proc = self.proc_of(brick)
        number = next(fd.name for fd in (proc / "fd").iterdir()
                      if os.readlink(fd) == str(brick.slow))
        info = (proc / "fdinfo" / number).read_text()
        flags = next(line.split()[1] for line in info.splitlines()
                     if line.startswith("flags:"))
        return bool(int(flags, 8) & os.O_DIRECT)

    def format(self, slow, *words, status=1):
        store = self.folder / "new"
        store.unlink(missing_ok=True)
        done = lab.run(lab.BRICKD, "format", store, "--size", "8M", "--slow", slow, *words)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def test_blocks_are_kept_on_a_block_device(self):
        b, _, file = self.on_a_device()
        b.start()
        self.assertEqual(b.json("info")["slow_total"], SLOW - 1)
        self.fill(b)
        self.assertEqual(self.tier(b, "demote", f"0x0+{BLOCKS}")["failed"], 0)
        self.assertTrue(self.is_direct(b))
        # Durable: the file below has it.
        slow = self.flagged(b, "slow")
        self.assertGreaterEqual(len(slow), BLOCKS - FAST)
        data = file.read_bytes()
        for block in slow:
            self.assertIn(bytes([block + 1]) * 5000, data)
        b.kill()
        b.start()
        # All slots that are free were in use: nothing is promoted to one in quarantine.
        self.until(lambda: b.json("info")["slots_clean"])
        self.check_blocks(b)
        self.assertEqual(b.stop(), 0)
        self.check_a_header(b, b.slow)

    def test_a_device_that_became_larger_grows(self):
        b, device, file = self.on_a_device()
        b.start()
        self.fill(b)
        self.assertEqual(b.stop(), 0)
        self.resize(device, file, 2 * SLOW + 14)
        self.assertIn("size of its own", self.offline("grow", b, "--slow", device,
                                                      "--slow-size", "1G", status=1))
        self.check_growth(b, SLOW, SLOW + 6)

    def test_what_a_device_cannot_read_is_said_block_by_block(self):
        b, device, file = self.on_a_device()
        b.start()
        self.fill(b)
        # All of them, so that none has to make room for another.
        self.tier(b, "demote", f"0x0+{BLOCKS}")
        self.assertEqual(self.flagged(b, "slow"), set(range(BLOCKS)))
        self.until(lambda: self.slow_is_clean(b))
        data = file.read_bytes()
        # Slots 0 to 3 are left.
        self.resize(device, file, 10)
        lost = set()
        for i in range(BLOCKS):
            done = b.ctl("read", hex(i * lab.BLOCK), "--length", "5000")
            if done.returncode:
                self.refused(done, 1, "the medium failed")
                lost.add(i)
            else:
                self.assertEqual(done.stdout, bytes([i + 1]) * 5000)
        self.assertIn(len(lost), range(BLOCKS - 4, BLOCKS))
        self.assertEqual(self.flagged(b, "bad"), lost)
        self.assertEqual(self.tier(b)["read_errors"], len(lost))
        for i in lost:
            self.assertRegex(b.log_text(),
                             f"block {hex(i * lab.BLOCK)} cannot be read from slot [0-9]+")
        # Nothing was given up: it is back when the device is.
        file.write_bytes(data)
        self.resize(device, file, 2 * SLOW + 2)
        for i in sorted(lost):
            done = b.ctl("read", hex(i * lab.BLOCK), "--length", "5000")
            self.assertEqual(self.ok(done), bytes([i + 1]) * 5000)
        self.assertEqual(self.flagged(b, "bad"), set())
        self.assertEqual(b.stop(), 0)

    def test_what_a_device_cannot_write_stays_in_memory(self):
        b, device, file = self.on_a_device()
        b.start()
        self.ok(b.ctl("alloc", "0x0+4"))
        self.ok(b.ctl("write", "0x0", stdin=b"precious"))
        self.until(lambda: self.slow_is_clean(b))
        self.resize(device, file, 2)
        done = self.tier(b, "demote", "0x0+4")
        self.assertEqual((done["moved"], done["failed"]), (0, 4))
        self.assertEqual(self.flagged(b, "slow"), set())
        seen = self.tier(b)
        self.assertEqual((seen["write_errors"], seen["slow_bad"]), (4, 4))
        for i in range(4):
            self.assertRegex(b.log_text(),
                             f"block {hex(i * lab.BLOCK)} cannot be written to slot [0-9]+")
        self.assertEqual(self.ok(b.ctl("read", "0x0", "--length", "8")), b"precious")
        self.resize(device, file, 2 * SLOW + 2)
        self.assertEqual(b.stop(), 0)
        b.start()
        self.assertEqual(self.tier(b, "demote", "0x0+4")["moved"], 4)
        self.assertEqual(self.ok(b.ctl("read", "0x0", "--length", "8")), b"precious")
        self.assertEqual(b.stop(), 0)

    def test_a_device_that_cannot_be_used_is_refused(self):
        device, file = self.loop(8)
        self.assertIn("leave out --slow-size", self.format(device, "--slow-size", "8M"))
        # What a mount, a RAID or another brickd does.
        held = os.open(device, os.O_RDONLY | os.O_EXCL)
        self.assertIn("in use", self.format(device))
        os.close(held)
        self.poke(device, 1080)
        self.assertIn("--force", self.format(device))
        self.format(device, "--force", status=0)
        small, _ = self.loop(2, "small")
        self.assertIn("too small", self.format(small))
        self.assertIn("a file or a block device", self.format("/dev/null"))
        self.assertEqual(os.stat(file).st_size, 8 * lab.MIB)

    def test_a_device_that_does_not_belong_is_not_served(self):
        b, device, file = self.on_a_device()
        empty, _ = self.loop(2 * SLOW + 2, "empty")

        def not_served(word):
            with self.assertRaises(RuntimeError) as caught:
                b.start()
            self.assertIn(word, str(caught.exception))

        b.slow = empty
        not_served("not a slow tier")
        self.format(empty, status=0)
        not_served("another store")
        b.slow = device
        self.resize(device, file, 2 * SLOW)
        not_served("truncated")
        self.assertIn("slow-short", self.offline("check", b, "--slow", device, status=4))
        self.resize(device, file, 2 * SLOW + 2)
        b.start()
        second = lab.run(lab.BRICKD, "check", b.store, "--slow", device)
        self.refused(second, 1, "in use")
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
