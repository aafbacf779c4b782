#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickd and stores that are not as they should be: refused or repaired."""
import array
import fcntl
import os
import subprocess
import termios
import time

import lab

SUPERBLOCKS = (0x0000, 0x1000)
COMMIT_WORDS = (0x2000, 0x3000)
INSTANCE_PAGES = (0x4000, 0x5000)
RECORDS, RECORD_BYTES = 0x10000, 32
# A little longer than brickd shows no progress.
SHOWN_S = 0.8
PIPE_BYTES = 4096


class StoreTest(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.b = self.brick()

    def poke(self, offset, data):
        with open(self.b.store, "r+b") as store:
            store.seek(offset)
            store.write(data)

    def not_served(self, *words):
        with self.assertRaises(RuntimeError) as caught:
            self.b.start()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def fill(self):
        self.b.start()
        self.ok(self.b.ctl("alloc", "0x0+3"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"precious"))
        self.assertEqual(self.b.stop(), 0)

    def still_there(self):
        self.b.start()
        self.assertEqual(self.b.allocated(), [(0, 3)])
        self.assertEqual(self.ok(self.b.ctl("read", "0x0", "--length", "8")), b"precious")
        self.assertEqual(self.b.stop(), 0)


class Stores(StoreTest):
    def test_a_foreign_file_is_refused_by_brickd_and_by_format(self):
        self.b.store.write_bytes(os.urandom(64 * lab.MIB))
        self.not_served(str(self.b.store), "format")
        done = lab.run(lab.BRICKD, "format", self.b.store, "--size", "64M")
        self.refused(done, 1, "--force")
        self.ok(lab.run(lab.BRICKD, "format", self.b.store, "--size", "64M", "--force"))
        self.b.start()

    def test_a_store_is_not_formatted_over_without_force(self):
        self.fill()
        done = lab.run(lab.BRICKD, "format", self.b.store, "--size", "64M")
        self.refused(done, 1, "--force")
        self.still_there()

    def test_a_format_that_is_refused_leaves_nothing_behind(self):
        new, slow = self.folder / "new", self.folder / "new-slow"
        empty = self.folder / "empty"
        empty.touch()
        for path, words in ((new, ["--size", "1M"]), (empty, ["--size", "1M"]),
                            (new, ["--size", "64M", "--slow", slow, "--slow-size", "1M"]),
                            (empty, ["--size", "64M", "--slow", slow]),
                            (new, ["--size", "4M", "--slow", slow, "--slow-size", "1T",
                                   "--sparse"])):
            with self.subTest(words=words):
                done = lab.run(lab.BRICKD, "format", path, *words)
                self.refused(done, 1)
                self.assertFalse(new.exists())
                self.assertFalse(slow.exists())
                self.assertEqual(empty.stat().st_size, 0)

    def test_a_truncated_store_is_refused(self):
        self.fill()
        os.truncate(self.b.store, 32 * lab.MIB)
        self.not_served(str(self.b.store))

    def test_a_store_of_another_uuid_is_refused(self):
        self.b.settings = "uuid = 00000000-0000-4000-8000-000000000001"
        self.not_served("uuid")

    def test_one_damaged_copy_of_anything_is_repaired(self):
        for name, copies in (("superblock", SUPERBLOCKS), ("commit word", COMMIT_WORDS),
                             ("instance page", INSTANCE_PAGES)):
            for copy in copies:
                with self.subTest(what=name, offset=hex(copy)):
                    self.ok(lab.run(lab.BRICKD, "format", self.b.store, "--size", "64M",
                                    "--force"))
                    self.fill()
                    self.poke(copy, b"\x5a" * 8)
                    self.still_there()

    def test_both_superblocks_damaged_is_refused(self):
        self.fill()
        for copy in SUPERBLOCKS:
            self.poke(copy, b"\x5a" * 64)
        self.not_served(str(self.b.store))

    def test_both_commit_words_damaged_is_refused(self):
        self.fill()
        for copy in COMMIT_WORDS:
            self.poke(copy, b"\x5a" * 8)
        self.not_served("commit")

    def test_a_store_in_use_is_refused(self):
        self.b.start()
        other = self.brick("other", size=None)
        other.store = self.b.store
        with self.assertRaises(RuntimeError) as caught:
            other.start()
        self.assertIn("in use", str(caught.exception))
        self.ok(self.b.ctl("info"))

    def test_a_store_whose_holder_was_killed_is_served_again(self):
        self.b.start()
        self.ok(self.b.ctl("alloc", "0x0+3"))
        self.b.kill()
        self.b.start()
        self.assertEqual(self.b.allocated(), [(0, 3)])

    def test_a_store_whose_holder_is_a_zombie_is_served_again(self):
        self.b.start()
        holder, self.b.process = self.b.process, None
        self.addCleanup(holder.wait)
        holder.kill()
        # Its parent, which is this test, does not ask what became of it.
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual(self.check(), 0)
        self.b.start()
        self.assertEqual(self.b.allocated(), [])

    def check(self):
        return lab.run(lab.BRICKD, "check", self.b.store).returncode

    def test_a_block_device_path_that_cannot_work_is_refused_with_the_way_out(self):
        done = lab.run(lab.BRICKD, "format", "/dev/pmem0")
        self.assertNotEqual(done.returncode, 0)
        done = lab.run(lab.BRICKD, "format", self.folder, "--size", "64M")
        self.refused(done, 1, str(self.folder))

    def test_configuration_errors_name_file_and_line(self):
        for line, said in [("listen = tcp://8.8.8.8", "allow-untrusted-tcp"),
                           ("colour = blue", "colour"),
                           ("auth = maybe", "auth"),
                           ("x" * 500, "long")]:
            with self.subTest(line=line[:20]):
                self.b.settings = line
                self.b.configure()
                done = lab.run(lab.BRICKD, "--config", self.b.conf, "--check-config")
                self.refused(done, 2, f"{self.b.conf}:4", said)

    def checked(self, status, *words, flags=()):
        self.b.configure()
        done = lab.run(lab.BRICKD, "--config", self.b.conf, "--check-config", *flags)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        for word in words:
            self.assertIn(word, done.stderr.decode())

    def test_settings_are_checked_with_the_store_that_they_name(self):
        self.checked(0)
        self.b.start()
        # Whoever looks before a reload has it in use.
        self.checked(0)
        self.assertEqual(self.b.stop(), 0)
        self.checked(0, flags=("--store", "memory:64M"))
        self.checked(2, str(self.folder), flags=("--store", self.folder))
        self.b.settings = "uuid = 00000000-0000-4000-8000-000000000001"
        self.checked(2, str(self.b.store), "uuid")
        self.b.settings = f"slow = {self.folder / 'nothing'}"
        self.checked(2, str(self.folder / "nothing"))
        self.b.settings = ""
        for spoilt, said in ((b"", "is empty"), (os.urandom(64 * lab.MIB), "not a store")):
            self.b.store.write_bytes(spoilt)
            self.checked(2, str(self.b.store), said)
        self.b.store.unlink()
        self.checked(2, str(self.b.store), "does not exist")

    def test_what_is_wrong_with_a_command_line_is_named(self):
        store = str(self.b.store)
        for words, said in [(["--colour"], "--colour: no such option"),
                            (["-vZ"], "-Z: no such option"),
                            (["--verbose=3"], "--verbose takes no value"),
                            (["--config"], "--config needs a value"),
                            (["-c"], "-c needs a value"),
                            (["serve"], "serve: one word too many"),
                            (["format", store, "--sise", "1G"], "--sise: no such option"),
                            (["format", store, "--size"], "--size needs a value"),
                            (["format", store, "--size", "much"], "--size much"),
                            (["check", store, "--repare"], "--repare: no such option"),
                            (["grow", store, "--sise=1G"], "--sise=1G: no such option")]:
            with self.subTest(words=words):
                self.refused(lab.run(lab.BRICKD, *words), 2, said, "--help")

    def test_it_listens_where_localhost_is(self):
        self.b.listen = "tcp://localhost"
        self.b.start()
        self.assertIn("on tcp://127.0.0.1:", self.b.log_text())
        self.ok(self.b.ctl("info"))

    def test_an_open_network_is_no_false_promise(self):
        self.assertFalse(self.b.start().json("info")["exposed"])
        self.assertEqual(self.b.stop(), 0)
        self.b.settings = "allow-untrusted-tcp = yes"
        info = self.b.start().json("info")
        self.assertEqual((info["unsafe"], info["exposed"]), (False, True))
        said = self.ok(self.b.ctl("info")).decode()
        self.assertIn("exposed      yes", said)
        self.assertNotIn("unsafe", said)

    def test_an_instance_id_differs_after_every_start(self):
        seen = set()
        for _ in range(3):
            self.b.start()
            seen.add(self.b.json("info")["instance_id"])
            self.b.kill()
        self.assertEqual(len(seen), 3)


class Limits(lab.FuncTest):
    def test_sessions_are_bounded(self):
        b = self.brick(settings="max-sessions = 4\nmax-sessions-per-client = 4")
        b.start()
        self.ok(b.ctl("alloc", "0x0+1"))
        # Its session may take a place for a moment more.
        b.stop()
        b.start()
        held = []
        try:
            for _ in range(4):
                held.append(subprocess.Popen(
                    [lab.BRICKCTL, "--brick", b.url, "--client", "a", "--key-file",
                     str(b.key("a")), "--json", "map", "0x0+1", "--ro", "--shared"],
                    stdout=subprocess.PIPE, env=lab.environment()))
                self.assertTrue(held[-1].stdout.readline())
            done = b.ctl("info")
            self.assertEqual(done.returncode, 3, done.stderr)
        finally:
            for process in held:
                process.kill()
                process.wait()
                process.stdout.close()


class Check(StoreTest):
    """brickctl check, which becomes brickd check; its findings have unit tests."""

    def check(self, *words, status=0):
        env = dict(lab.environment())
        env["PATH"] = f"{os.path.dirname(lab.BRICKD)}:{env['PATH']}"
        done = subprocess.run([lab.BRICKCTL, "check", self.b.store, *words], env=env,
                              capture_output=True, text=True, check=False,
                              timeout=lab.COMMAND_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_whole_store_is_said_to_be_whole(self):
        self.fill()
        self.assertIn("3 blocks; 0 damaged", self.check("--read-clean"))

    def test_damage_is_shown_then_repaired(self):
        self.fill()
        self.poke(SUPERBLOCKS[1], b"x")
        self.poke(COMMIT_WORDS[0], b"xxxxxxxx")
        said = self.check(status=3)
        self.assertIn("super-damaged", said)
        self.assertIn("commit-damaged", said)
        self.assertEqual(self.check(status=3), said)
        self.assertIn("repaired", self.check("--repair"))
        self.assertIn("whole", self.check())
        self.still_there()

    def test_what_is_fatal_is_left_alone(self):
        self.fill()
        for offset in COMMIT_WORDS:
            self.poke(offset, b"xxxxxxxx")
        self.assertIn("commit-lost", self.check("--repair", status=4))
        self.not_served("commit words")
        for offset in SUPERBLOCKS:
            self.poke(offset + 16, b"xxxxxxxx")
        self.assertIn("both superblocks", self.check(status=4))

    def test_a_store_in_use_is_refused(self):
        self.b.start()
        self.assertIn("in use", self.check("--repair", status=1))
        self.assertEqual(self.b.stop(), 0)

    def test_a_killed_brick_leaves_notes(self):
        self.b.start()
        self.ok(self.b.ctl("alloc", "0x0+3"))
        self.b.kill()
        self.assertIn("not-clean", self.check())

    def test_other_things_are_no_stores(self):
        os.truncate(self.b.store, 0)
        self.check(status=1)
        self.check("--nonsense", status=2)


    @staticmethod
    def is_full(pipe):
        held = array.array("i", [0])
        fcntl.ioctl(pipe, termios.FIONREAD, held)
        return held[0] > PIPE_BYTES / 2

    def test_a_terminal_sees_how_far_it_is(self):
        # Findings that nobody reads yet hold it up for longer than it shows nothing.
        lab.run(lab.BRICKD, "format", self.b.store, "--size", "1G", "--force")
        self.b.store.unlink()
        self.ok(lab.run(lab.BRICKD, "format", self.b.store, "--size", "1G"))
        with open(self.b.store, "r+b") as store:
            for slot in range(511):
                store.seek(RECORDS + RECORD_BYTES * slot)
                store.write(b"x" * RECORD_BYTES)
        ours, its = os.openpty()
        out, out_w = os.pipe()
        fcntl.fcntl(out_w, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        with subprocess.Popen([lab.BRICKD, "check", self.b.store], stdout=out_w, stderr=its,
                              env=lab.environment()) as checker:
            os.close(its)
            os.close(out_w)
            self.until(lambda: self.is_full(out), "findings")
            time.sleep(SHOWN_S)
            found = b""
            while piece := os.read(out, PIPE_BYTES):
                found += piece
            self.assertEqual(checker.wait(), 3, found[-200:])
        os.close(out)
        shown = os.read(ours, 65536)
        os.close(ours)
        self.assertRegex(shown, rb"checking: +\d+ %\x1b\[K")
        # It is gone when the result comes.
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        self.assertEqual(found.count(b"record-damaged"), 511)

    def test_without_a_terminal_nobody_is_shown_how_far_it_is(self):
        self.assertEqual(lab.run(lab.BRICKD, "check", self.b.store).stderr, b"")


class Grow(StoreTest):
    """brickctl grow, which becomes brickd grow; crashes are tests/crash's matter."""

    def grow(self, *words, status=0):
        env = dict(lab.environment())
        env["PATH"] = f"{os.path.dirname(lab.BRICKD)}:{env['PATH']}"
        done = subprocess.run([lab.BRICKCTL, "grow", self.b.store, *words], env=env,
                              capture_output=True, text=True, check=False,
                              timeout=lab.COMMAND_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_store_grows_and_keeps_what_it_holds(self):
        self.fill()
        self.assertIn("63 blocks, 32 more", self.grow("--size", "128M"))
        self.still_there()
        self.b.start()
        self.ok(self.b.ctl("alloc", "1G+60"))
        self.assertEqual(self.b.stop(), 0)

    def test_a_file_that_was_made_larger_is_filled(self):
        self.fill()
        os.truncate(self.b.store, 96 * lab.MIB)
        self.assertIn("47 blocks, 16 more", self.grow())
        self.still_there()
        self.assertIn("no room", self.grow(status=1))

    def test_what_makes_no_sense_is_said_and_changes_nothing(self):
        self.fill()
        room = os.statvfs(self.b.store.parent)
        too_much = room.f_blocks * room.f_frsize * 2
        self.assertIn("not more", self.grow("--size", "32M", status=1))
        self.assertIn("cannot allocate", self.grow("--size", str(too_much), status=1))
        self.assertIn("--size much", self.grow("--size", "much", status=2))
        self.assertEqual(self.b.store.stat().st_size, 64 * lab.MIB)
        self.still_there()

    def test_no_store_is_not_made_larger(self):
        self.b.store.write_bytes(bytes(64 * lab.MIB))
        self.assertIn("not a store", self.grow("--size", "128M", status=1))
        self.assertEqual(self.b.store.stat().st_size, 64 * lab.MIB)

    def test_a_store_in_use_is_refused(self):
        self.b.start()
        self.assertIn("in use", self.grow("--size", "128M", status=1))
        self.assertEqual(self.b.stop(), 0)


if __name__ == "__main__":
    lab.main()
