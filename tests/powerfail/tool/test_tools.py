#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""powerfail-writer and powerfail-verify: what they must notice, and a brick that lies."""
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "func"))
import lab  # pylint: disable=wrong-import-position

TOOLS = pathlib.Path(os.environ["POWERFAIL_TOOLS"])  # what is installed
BIN = pathlib.Path(os.environ["POWERFAIL_BIN"])  # what only tests use
RECORD = 4096
SIZE = 64 * RECORD
GOOD, LOST, USAGE, UNKNOWN = range(4)
SOON = 50  # a lie is to be noticed within so many cuts
FLUSHES = 20  # before a cut
TICK_S = 0.01


def writer(*words):
    return lab.run(TOOLS / "powerfail-writer", *words)


def verify(*words):
    return lab.run(TOOLS / "powerfail-verify", *words)


class Verdicts(lab.FuncTest):
    """What a device holds after a run, changed by hand."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.notes = self.folder / "notes"
        self.early = self.written("early", 60)
        self.late = self.written("late", 400)
        (self.folder / "late.notes").rename(self.notes)

    def written(self, name, records):
        """The device after so many records of the same run."""
        disk = self.folder / name
        disk.write_bytes(bytes(SIZE))
        done = writer("--seed", 7, "--salt", 1, "--records", records, "--fua",
                      self.folder / f"{name}.notes", disk)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return bytearray(disk.read_bytes())

    def changed_slot(self):
        """Where a record was written early, and again later."""
        for at in range(0, SIZE, RECORD):
            old, new = self.early[at:at + RECORD], self.late[at:at + RECORD]
            if any(old) and old != new:
                return at
        self.fail("no record was written twice")

    def verdict(self, data, status, text):
        self.disk.write_bytes(data)
        done = verify(self.notes, self.disk)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(text, done.stdout + done.stderr)

    def test_what_an_older_run_of_the_same_seed_left_is_foreign(self):
        disk, notes = self.folder / "again", self.folder / "again.notes"
        for number, salt in enumerate((2, 3)):
            if number:
                old = disk.read_bytes()
            else:
                disk.write_bytes(bytes(SIZE))
            notes.unlink(missing_ok=True)
            writer("--seed", 7, "--salt", salt, "--records", 40, "--fua", notes, disk)
        disk.write_bytes(old)  # nothing of the second one has arrived
        done = verify(notes, disk)
        self.assertEqual(done.returncode, LOST, done.stdout + done.stderr)

    def test_what_was_written_is_good(self):
        self.verdict(self.late, GOOD, b"GOOD: everything")

    def test_a_record_that_went_back_is_lost(self):
        at = self.changed_slot()
        self.late[at:at + RECORD] = self.early[at:at + RECORD]
        self.verdict(self.late, LOST, b"1 older, 0 torn, 0 misplaced, 0 foreign")

    def test_a_record_that_is_zeros_is_lost(self):
        at = self.changed_slot()
        self.late[at:at + RECORD] = bytes(RECORD)
        self.verdict(self.late, LOST, b"1 older, 0 torn, 0 misplaced, 0 foreign")

    def test_one_word_that_went_back_is_torn(self):
        at = self.changed_slot()
        self.late[at:at + 8] = self.early[at:at + 8]
        self.verdict(self.late, LOST, b"0 older, 1 torn, 0 misplaced, 0 foreign")

    def test_a_word_of_two_halves_is_noticed(self):
        at = self.changed_slot()
        self.late[at:at + 4] = self.early[at:at + 4]
        self.verdict(self.late, LOST, b"0 older, 0 torn, 0 misplaced, 1 foreign")

    def test_a_record_of_another_place_is_noticed(self):
        at = self.changed_slot()
        other = next(a for a in range(0, SIZE, RECORD)
                     if a != at and any(self.late[a:a + RECORD]))
        self.late[at:at + RECORD] = self.late[other:other + RECORD]
        self.verdict(self.late, LOST, b"0 older, 0 torn, 1 misplaced, 0 foreign")

    def test_two_records_in_each_others_place_are_noticed(self):
        at = self.changed_slot()
        other = next(a for a in range(0, SIZE, RECORD)
                     if a != at and any(self.late[a:a + RECORD]))
        one, two = self.late[at:at + RECORD], self.late[other:other + RECORD]
        self.late[at:at + RECORD], self.late[other:other + RECORD] = two, one
        self.verdict(self.late, LOST, b"0 older, 0 torn, 2 misplaced, 0 foreign")

    def test_bytes_of_somebody_else_are_noticed(self):
        at = self.changed_slot()
        self.late[at + 100] ^= 1
        self.verdict(self.late, LOST, b"0 older, 0 torn, 0 misplaced, 1 foreign")

    def test_words_that_no_flush_has_covered_may_be_there(self):
        lines = self.notes.read_text().splitlines(keepends=True)
        self.notes.write_text("".join(lines[:len(lines) // 2]))
        self.verdict(self.late, GOOD, b"GOOD: everything")

    def test_a_note_cut_short_is_no_note(self):
        with self.notes.open("a", encoding="ascii") as file:
            file.write("flushed 0 9")
        self.verdict(self.late, GOOD, b"GOOD: everything")

    def test_damaged_notes_are_noticed(self):
        text = self.notes.read_text()
        self.notes.write_text(text.replace("flushed 0 400", "flushed 0 401"))
        self.verdict(self.late, UNKNOWN, b"a line of it is damaged")

    def test_notes_without_a_flush_show_nothing(self):
        self.notes.write_text(self.notes.read_text().splitlines(keepends=True)[0])
        self.verdict(self.late, UNKNOWN, b"UNKNOWN: nothing had been flushed")

    def test_something_else_is_no_notes(self):
        self.notes.write_text("hello\n")
        self.verdict(self.late, UNKNOWN, b"no file that powerfail-writer made")

    def test_a_page_cache_is_not_taken_for_the_disk(self):
        words = BIN / "powerfail-verify-indirect", self.notes, self.disk
        self.disk.write_bytes(self.late)
        done = lab.run(*words)
        self.assertEqual(done.returncode, UNKNOWN, done.stdout)
        self.assertIn(b"no way past the page cache: see --page-cache", done.stderr)
        done = lab.run(*words, "--page-cache")
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertRegex(done.stderr, rb"\A(\d+) is synced\n\1 is dropped\n\Z")

    def test_a_record_that_cannot_be_read_is_named(self):
        self.disk.write_bytes(self.early)
        places = range(0, SIZE, RECORD)
        written = [at for at in places if any(self.early[at:at + RECORD])]
        never = [at for at in places if written[0] < at < written[-1]
                 and at not in written]
        self.addCleanup(os.environ.pop, "BAD_BYTE", None)
        for at, status in (written[1], UNKNOWN), (never[0], GOOD):
            os.environ["BAD_BYTE"] = str(at + RECORD - 1)
            done = lab.run(BIN / "powerfail-verify-indirect", "--page-cache",
                           self.folder / "early.notes", self.disk)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            named = b"at %d: read: Input/output error" % at
            self.assertEqual(status == UNKNOWN, named in done.stderr, done.stderr)

    def test_verify_takes_what_the_writer_takes_of_a_brick(self):
        self.disk.write_bytes(self.late)
        done = verify("--allow-untrusted-tcp", "--client", "a", "--key-file", "none",
                      self.notes, self.disk)
        self.assertEqual((done.returncode, done.stderr), (GOOD, b""))

    def test_a_device_that_is_too_small_shows_nothing(self):
        self.verdict(self.late[:SIZE // 2], UNKNOWN, b"not that large")


class Commands(lab.FuncTest):
    def test_words_that_make_no_sense_are_refused(self):
        notes, disk = self.folder / "notes", self.folder / "disk"
        disk.write_bytes(bytes(SIZE))
        for words in ((), (notes,), ("--record", "1000", notes, disk),
                      ("--jobs", 65, notes, disk), ("--what", notes, disk),
                      ("--jobs", 64, "--size", "32K", notes, disk)):
            self.assertEqual(writer(*words).returncode, USAGE, words)
        self.assertEqual(verify(notes).returncode, USAGE)
        self.assertFalse(notes.exists())

    def test_notes_are_never_overwritten(self):
        notes, disk = self.folder / "notes", self.folder / "disk"
        disk.write_bytes(bytes(SIZE))
        notes.write_text("mine")
        done = writer("--records", 1, notes, disk)
        self.assertEqual(done.returncode, 3)
        self.assertEqual((notes.read_text(), any(disk.read_bytes())), ("mine", False))

    def test_several_jobs_keep_to_their_records(self):
        notes, disk = self.folder / "notes", self.folder / "disk"
        disk.write_bytes(bytes(SIZE + RECORD))
        done = writer("--jobs", 5, "--records", 100, "--offset", "4K", notes, disk)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(verify(notes, disk).returncode, GOOD)
        self.assertFalse(any(disk.read_bytes()[:RECORD]))


class Files(lab.FuncTest):
    """powerfail-files, the load of kfbrick-powerfs, killed after some syncs."""

    def setUp(self):
        super().setUp()
        self.notes, self.tree = self.folder / "notes", self.folder / "tree"
        self.load()

    def load(self):
        self.tree.mkdir()
        process = subprocess.Popen(
            [BIN / "powerfail-files", "load", self.notes, self.tree, "7"])
        end = time.monotonic() + lab.COMMAND_S
        while not self.notes.exists() or self.notes.read_bytes().count(b"\n") < 400:
            self.assertLess(time.monotonic(), end, "it does not sync")
            time.sleep(TICK_S)
        process.kill()
        process.wait()

    def verdict(self, status):
        done = lab.run(BIN / "powerfail-files", "verify", self.notes, self.tree)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def durable(self, what):
        """A file of which the notes say so, and which was not being changed."""
        last, lines = {}, self.notes.read_text().splitlines()[1:]
        for line in lines[:-2]:
            name, version, is_what, done = line.split()
            last[name] = (version, is_what, done)
        for line in lines[-2:]:
            last.pop(line.split()[0], None)
        name = next(n for n, (version, is_what, done) in last.items()
                    if (is_what, done) == (what, "1") and version != "0" and n != "48")
        return self.tree / f"f{int(name):02}"

    def test_what_was_synced_is_good(self):
        self.verdict(GOOD)

    def test_a_file_that_is_gone_is_lost(self):
        self.durable("w").unlink()
        self.verdict(LOST)

    def test_a_file_that_is_back_is_noticed(self):
        self.durable("r").write_bytes(b"back")
        self.verdict(LOST)

    def test_a_byte_that_changed_is_noticed(self):
        path = self.durable("w")
        data = bytearray(path.read_bytes())
        data[5000] ^= 1
        path.write_bytes(data)
        self.verdict(LOST)

    def test_files_of_an_older_run_are_foreign(self):
        older = self.tree.rename(self.folder / "older")
        head, *body = self.notes.read_text().splitlines(keepends=True)
        self.notes.unlink()
        self.load()
        shutil.rmtree(self.tree)
        older.rename(self.tree)
        # The same seed does the same things, so that these would be its files.
        newer = self.notes.read_text().splitlines(keepends=True)[0]
        self.assertNotEqual(head, newer)
        self.notes.write_text("".join([newer, *body]))
        self.verdict(LOST)
        self.notes.write_text("".join([head, *body]))
        self.verdict(GOOD)

    def test_a_log_cut_short_is_noticed(self):
        log = self.tree / "log"
        os.truncate(log, log.stat().st_size // 2)
        self.verdict(LOST)


FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
SECTOR = 4096


class Replay(lab.FuncTest):
    """powerfail-replay, with logs as dm-log-writes writes them."""

    def setUp(self):
        super().setUp()
        self.log, self.target = self.folder / "log", self.folder / "target"
        self.target.write_bytes(bytes(8 * SECTOR))

    def write_log(self, *entries, magic=0x6a736677736872, version=1, sector=SECTOR,
                  count=None):
        """Entries are (flags, sector, data), of marks (MARK, 0, text)."""
        out = [struct.pack("<QQQI", magic, version,
                           len(entries) if count is None else count,
                           sector).ljust(SECTOR, b"\0")]
        for flags, at, data in entries:
            text = data if flags & MARK else b""
            out.append((struct.pack("<QQQQ", at, 0 if text else len(data) // SECTOR,
                                    flags, len(text)) + text).ljust(SECTOR, b"\0"))
            if not flags & (MARK | DISCARD):
                out.append(data)
        self.log.write_bytes(b"".join(out))

    def replay(self, first, status, says=""):
        done = lab.run(BIN / "powerfail-replay", self.log, self.target, first)
        self.assertEqual((done.returncode, done.stdout.decode().strip()),
                         (status, says), done.stderr)

    def sectors(self):
        return list(self.target.read_bytes()[::SECTOR])

    def test_it_goes_from_flush_to_flush(self):
        one, two, three = (bytes([i]) * SECTOR for i in (1, 2, 3))
        self.write_log((0, 0, one), (0, 1, one + two), (FLUSH, 0, b""),
                       (MARK, 0, b"7"), (0, 0, three), (FLUSH | FUA, 4, two),
                       (MARK, 0, b"the-end"), (0, 5, one))
        self.replay(0, 0, "3 0")
        self.assertEqual(self.sectors(), [1, 1, 2, 0, 0, 0, 0, 0])
        self.replay(3, 0, "6 7")
        self.assertEqual(self.sectors(), [3, 1, 2, 0, 2, 0, 0, 0])
        self.replay(6, 1)
        self.replay(9, 1)

    def test_discarded_sectors_are_zero(self):
        full = b"x" * SECTOR * 8
        self.write_log((0, 0, full), (DISCARD, 2, full[:3 * SECTOR]), (FLUSH, 0, b""))
        self.replay(0, 0, "3 0")
        self.assertEqual(self.sectors(), [120] * 2 + [0] * 3 + [120] * 3)

    def test_what_is_no_log_is_refused(self):
        flush = (FLUSH, 0, b"")
        for wrong in ({"magic": 1}, {"version": 2}, {"sector": 0}, {"sector": 4095},
                      {"sector": 1 << 17}, {"count": 2}):
            self.write_log((0, 0, bytes(SECTOR)), flush, **wrong)
            self.replay(0, 0 if "count" in wrong else 3, "2 0" * ("count" in wrong))
        self.log.write_bytes(b"short")
        self.replay(0, 3)

    def test_damaged_entries_are_refused(self):
        data, flush = b"x" * SECTOR, (FLUSH, 0, b"")
        for at in (8, 1 << 52, (1 << 64) - 1):
            self.write_log((0, at, data), flush)
            self.replay(0, 3)
        self.write_log((0, 7, data * 2), flush)
        self.replay(0, 3)
        self.write_log((DISCARD, 7, data * 2), flush)
        self.replay(0, 3)
        self.write_log((0, 0, data), count=2)
        self.replay(0, 3)
        self.write_log((0, 0, data * 4))
        os.truncate(self.log, 3 * SECTOR)
        self.replay(0, 3)
        self.replay(1, 3)
        self.write_log((MARK, 0, b"1" * (SECTOR - 32)), flush)
        self.replay(0, 3)
        self.assertFalse(any(self.target.read_bytes()[SECTOR:]))


class Bricks(lab.FuncTest):
    """SIGKILL is a loss of power for a brick whose caches are lost."""

    def words(self):
        return ["--brick", self.b.url, "--client", "a", "--key-file", self.b.key("a")]

    def cut(self, number, *more):
        """The verdict on one cut, in the midst of writing."""
        notes = self.folder / f"notes{number}"
        process = subprocess.Popen(
            [str(w) for w in (TOOLS / "powerfail-writer", *self.words(), "--jobs", 2,
                              "--size", "8M", "--batch", 4, *more, notes)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=lab.environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        end = time.monotonic() + lab.COMMAND_S
        while not notes.exists() or notes.read_bytes().count(b"\n") < FLUSHES:
            if process.poll() is not None:
                self.fail(f"it has ended: {process.stderr.read().decode()}")
            self.assertLess(time.monotonic(), end, "it does not flush")
            time.sleep(TICK_S)
        self.b.kill()
        self.assertEqual(process.wait(lab.STOP_S), 1, "it was cut off")
        self.said = process.stderr.read().decode()
        self.b.start()
        done = verify(*self.words(), notes)
        self.assertIn(done.returncode, (GOOD, LOST), done.stdout + done.stderr)
        return done.returncode

    def start(self, program):
        # A writer on a busy machine is not silent for a quarter of it.
        self.b = self.brick(program=lab.FUNC_BIN / program,
                            settings="lease-ms = 8000").start()

    def is_found_out(self, *more):
        self.assertIn(LOST, (self.cut(number, *more) for number in range(SOON)))

    def test_a_brick_whose_caches_are_lost_keeps_what_was_flushed(self):
        self.start("brickd-caches")
        for number in range(5):
            self.assertEqual(self.cut(number, "--fua"), GOOD)

    def cut_durable_writes(self, number):
        """What the writer says of those that were under way when it was cut off."""
        self.cut(number, "--fua", "--jobs", 8, "--batch", 1)
        return [line for line in self.said.splitlines() if ": durable write: " in line]

    def test_a_durable_write_that_is_cut_off_is_told_as_that(self):
        self.start("brickd-caches")
        # The first writer allocates its blocks, the others find them allocated.
        lines = self.cut_durable_writes(0)
        for number in range(1, SOON):
            again = self.cut_durable_writes(number)
            lines += again
            if again:
                break
        self.assertTrue(again, "no durable write was under way at any cut")
        for line in lines:
            self.assertRegex(line, f": durable write: {self.b.url}: the connection is "
                             "lost: .+; close it and connect again$")

    def test_a_brick_that_lies_about_a_flush_is_found_out(self):
        self.start("brickd-lying")
        self.is_found_out()

    def test_a_brick_that_lies_about_a_durable_write_is_found_out(self):
        self.start("brickd-lying-commit")
        if not self.b.url.startswith("tcp:"):
            self.skipTest("only the project's own tcp provider has such writes")
        self.is_found_out("--fua")

    def test_a_writer_that_does_not_flush_is_found_out(self):
        self.start("brickd-caches")
        self.is_found_out("--no-flush")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    lab.main()
