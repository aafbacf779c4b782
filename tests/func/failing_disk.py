# SPDX-License-Identifier: BSD-2-Clause
"""A disk that fails under brickd as Linux lets it fail: tests/func/failing_disk.c.

The folder of the model has, for each file on the disk, what tests/lib/page_cache.h
describes. While no process has the files, a test may do here what the kernel does
then: write back, drop pages, lose power.
"""
import errno
import mmap
import os
import pathlib
import random
import re
import shutil
import struct
import time

import lab

PAGE = 4096
ERRSEQ = struct.Struct("<IIII")
STATE = struct.Struct("<QQ")
MAPPED = struct.Struct("<II")
ERROR = slice(STATE.size, STATE.size + ERRSEQ.size)
PAGES = ERROR.stop + MAPPED.size
MAGIC = 0x6568636170616765
DIRTY, ABSENT = 1, 2
TICK_S = 0.002
HAPPENS_S = 30
TMPFS = pathlib.Path("/dev/shm")


def with_error(errseq):
    """A kept error after EIO has been met."""
    count, seen, error, reserved = ERRSEQ.unpack(errseq)
    if not count or seen or error != errno.EIO:
        count += 1
    return ERRSEQ.pack(count, 0, errno.EIO, reserved)


class _File:
    """A file's pages and what the kernel knows of them, until it is closed."""

    def __init__(self, folder, path):
        self.maps = []
        self.page = self.map(path)
        self.disk = self.map(folder / f"{path.name}.disk")
        self.clean = self.map(folder / f"{path.name}.clean")
        self.state = self.map(folder / f"{path.name}.state")

    def map(self, path):
        with open(path, "r+b") as file:
            self.maps.append(mmap.mmap(file.fileno(), 0))
        return self.maps[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.maps:
            one.close()

    def spans(self):
        return (slice(at, at + PAGE) for at in range(0, len(self.page), PAGE))

    def is_dirty(self, span):
        return (self.state[PAGES + span.start // PAGE] & DIRTY
                or self.page[span] != self.clean[span])

    def write_back(self, taken):
        """Whether the disk has taken everything."""
        lost = False
        for span in self.spans():
            if not self.is_dirty(span):
                continue
            self.clean[span] = self.page[span]
            self.state[PAGES + span.start // PAGE] = 0
            if taken:
                self.disk[span] = self.page[span]
            else:
                lost = True
        if lost:
            self.state[ERROR] = with_error(self.state[ERROR])
        return not lost

    def drop(self):
        """What is clean leaves the page cache."""
        for span in self.spans():
            if not self.is_dirty(span):
                self.absent(span)

    def absent(self, span):
        if self.page[span] != self.disk[span]:
            self.page[span] = self.clean[span] = self.disk[span]
        self.state[PAGES + span.start // PAGE] = ABSENT

    def forget(self):
        """The inode leaves memory, and with it an error that was kept."""
        self.state[ERROR] = bytes(ERRSEQ.size)

    def lose_power(self, taken):
        """What is dirty is lost, but for pages that taken() has on the disk."""
        for span in self.spans():
            if self.is_dirty(span) and taken():
                self.disk[span] = self.page[span]
            self.clean[span] = self.disk[span]
            self.absent(span)
        self.forget()


class FailingDisk:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "rules").mkdir(parents=True)
        (self.folder / "superblock.state").write_bytes(bytes(ERRSEQ.size))
        self.files = []
        self.boot()

    def environment(self, **extra):
        return {"LD_PRELOAD": str(lab.FUNC_BIN / "libfailing-disk.so"),
                "FAILING_DISK": str(self.folder),
                # The model is there before a sanitizer.
                "ASAN_OPTIONS": "verify_asan_link_order=0",
                **{f"FAILING_DISK_{key.upper()}": str(value)
                   for key, value in extra.items()}}

    def take(self, path):
        """This file lies on the disk from now on, durably as it is."""
        path = pathlib.Path(path)
        for what in "disk", "clean":
            shutil.copyfile(path, self.folder / f"{path.name}.{what}")
        size = path.stat().st_size
        (self.folder / f"{path.name}.state").write_bytes(
            STATE.pack(MAGIC, size) + bytes(PAGES - STATE.size + size // PAGE))
        if path not in self.files:
            self.files.append(path)

    def through(self, path):
        """No model of this one, but rules hold for it."""
        (self.folder / f"{pathlib.Path(path).name}.through").touch()

    def faults(self, *pages):
        """These pages (file, offset, bytes) cannot be had, until there are none."""
        path = self.folder / "faults"
        if not pages:
            path.unlink(missing_ok=True)
            return
        new = self.folder / "new-faults"
        new.write_text("".join(f"{pathlib.Path(f).name} {off} {n}\n"
                               for f, off, n in pages))
        os.rename(new, path)

    def boot(self):
        """Another boot of the machine."""
        random_id = bytearray(os.urandom(16))
        random_id[6] = random_id[6] & 0x0f | 0x40
        h = random_id.hex()
        (self.folder / "boot_id").write_text(
            f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}\n")

    def each(self, what, *words):
        results = []
        for path in self.files:
            with _File(self.folder, path) as file:
                results.append(getattr(file, what)(*words))
        return results

    def settle(self, taken=True):
        """The kernel writes back what dead processes left, and keeps the pages."""
        if not all(self.each("write_back", taken)):
            superblock = self.folder / "superblock.state"
            superblock.write_bytes(with_error(superblock.read_bytes()))

    def drop(self):
        """Pages leave memory; the kept errors stay with the inodes."""
        self.settle()
        self.each("drop")

    def unmount(self):
        """Everything leaves memory, the errors as well."""
        self.drop()
        self.each("forget")
        (self.folder / "superblock.state").write_bytes(bytes(ERRSEQ.size))

    def lose_power(self, seed=None):
        """Dirty pages are lost; with a seed a random part of them."""
        rng = random.Random(seed)
        share = rng.random() if seed is not None else 0
        self.each("lose_power", lambda: rng.random() < share)
        (self.folder / "superblock.state").write_bytes(bytes(ERRSEQ.size))
        self.boot()

    def rule(self, name, **words):
        """What is to fail: tests/lib/page_cache_rules.h."""
        new = self.folder / "new-rule"
        new.write_text(" ".join(f"{key}={value}" for key, value in words.items()) + "\n")
        os.rename(new, self.folder / "rules" / name)

    def lift(self, name):
        (self.folder / "rules" / name).unlink(missing_ok=True)

    def lift_all(self):
        for path in (self.folder / "rules").iterdir():
            path.unlink(missing_ok=True)

    def log_text(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def has(self, pattern):
        return re.search(pattern, self.log_text(), re.M) is not None

    def count(self, pattern):
        return len(re.findall(pattern, self.log_text(), re.M))

    def await_log(self, pattern, seconds=HAPPENS_S):
        end = time.monotonic() + seconds
        while not self.has(pattern):
            if time.monotonic() > end:
                raise AssertionError(f"never in the disk's log: {pattern}\n"
                                     + self.log_text())
            time.sleep(TICK_S)


class DiskTest(lab.FuncTest):
    """A test with a brick on a disk that fails; all of it in memory."""

    FAST, SLOW = 6, 10

    def setUp(self):
        super().setUp()
        if TMPFS.is_dir():
            shutil.rmtree(self.folder)
            self.folder = TMPFS / self.folder.name
            self.folder.mkdir()
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def on_disk(self, name="brick", **parameters):
        """A brick whose store and slow tier lie on self.disk."""
        has_file = "slow" not in parameters
        if has_file:
            parameters["slow_size"] = f"{2 * self.SLOW + 2}M"
        b = self.brick(name, size=f"{2 * self.FAST + 2}M", **parameters)
        self.disk = FailingDisk(self.folder / f"{name}-disk")
        self.disk.take(b.store)
        if has_file:
            self.disk.take(b.slow)
        # A stop waits for nobody who is away.
        b.settings += f"\nadmin = {b.folder / 'admin'}\nstop-timeout-ms = 200"
        b.environment = self.disk.environment(**getattr(self, "extra", {}))
        (b.folder / "run").mkdir(exist_ok=True)
        b.environment["RUNTIME_DIRECTORY"] = str(b.folder / "run")
        self.b = b
        return b
