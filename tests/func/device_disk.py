# SPDX-License-Identifier: BSD-2-Clause
"""Disks of a guest that fail: device-mapper over loop devices that can run full.

The store is a file on ext4 without a journal, so that an error does not end the
file system; the slow tier is a block device. What lies below both is in a small
tmpfs. Takes root, and a machine of its own: it mounts, and drops all caches.
"""
import errno
import os
import pathlib
import subprocess
import time

import lab

SECTOR = 512
FOREVER_S = 36000
CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def run(*words):
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False,
                          timeout=lab.COMMAND_S)
    if done.returncode:
        raise AssertionError(f"{' '.join(str(w) for w in words)}: {done.stderr}")
    return done.stdout.strip()


class Device:
    """A device-mapper device over a loop device over a sparse file."""

    def __init__(self, name, below, mib):
        self.name = name
        self.sectors = mib * lab.MIB // SECTOR
        with open(below / name, "wb") as file:
            file.truncate(mib * lab.MIB)
        self.loop = run("losetup", "-f")
        run("losetup", self.loop, below / name)
        run("dmsetup", "create", name, "--table", self.linear())
        run("dmsetup", "mknodes")
        self.path = pathlib.Path("/dev/mapper") / name

    def linear(self):
        return f"0 {self.sectors} linear {self.loop} 0"

    def be(self, table):
        run("dmsetup", "reload", self.name, "--table", table)
        # Nothing is to be written for it.
        run("dmsetup", "resume", "--nolockfs", self.name)

    def heal(self):
        self.be(self.linear())

    def fail_writes(self):
        self.be(f"0 {self.sectors} flakey {self.loop} 0 0 {FOREVER_S} 1 error_writes")

    def fail(self):
        self.be(f"0 {self.sectors} error")

    def close(self):
        run("dmsetup", "remove", self.name)
        run("losetup", "-d", self.loop)


class DeviceDisk:
    """Both devices, and the file system on one of them."""

    def __init__(self, folder, store_mib, slow_mib, spare_mib=1):
        self.below = pathlib.Path(folder) / "below"
        self.mount_point = pathlib.Path(folder) / "fs"
        for path in self.below, self.mount_point:
            path.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", f"size={store_mib + slow_mib + 16}m", "below",
            self.below)
        self.fast = Device("fast", self.below, store_mib)
        self.slow = Device("slow", self.below, slow_mib)
        self.spare = spare_mib * lab.MIB
        run("mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", self.fast.path)
        self.mount()
        self.store = self.mount_point / "store"

    def mount(self):
        run("mount", "-o", "errors=continue", self.fast.path, self.mount_point)

    def fill(self):
        """The tmpfs takes hardly anything more, whoever else takes of it meanwhile."""
        with open(self.below / "filler", "wb") as file:
            while (room := self.room()) > 0:
                try:
                    os.posix_fallocate(file.fileno(), 0, room)
                    return
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def room(self):
        fs = os.statvfs(self.below)
        return fs.f_bavail * fs.f_frsize - self.spare

    def heal(self):
        (self.below / "filler").unlink(missing_ok=True)
        self.fast.heal()
        self.slow.heal()

    def settle(self):
        os.sync()

    def drop(self):
        os.sync()
        CACHES.write_text("3\n")

    def unmount(self):
        end = time.monotonic() + lab.STOP_S
        while True:
            try:
                run("umount", self.mount_point)
                break
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        CACHES.write_text("3\n")
        self.mount()

    def close(self):
        self.heal()
        run("umount", self.mount_point)
        self.fast.close()
        self.slow.close()
        run("umount", self.below)
