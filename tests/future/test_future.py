#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of today and of a later version, and their stores: run by tests/future/run."""
import os
import pathlib
import re
import struct

import lab

NOW = {"brickd": lab.BRICKD, "brickctl": lab.BRICKCTL}
LATER = {"brickd": os.environ["FUTURE_BRICKD"], "brickctl": os.environ["FUTURE_BRICKCTL"]}
# What future.patch lets a brick say at the end of INFO.
TAIL = 2042
FEAT_COMPAT, COMPAT = 48, 1 << 40
SUPERBLOCKS = (0, 0x1000)


def library(version):
    return next(pathlib.Path(version["brickctl"]).parents[1].glob("lib/libkfbrick.so.?"))


class Future(lab.FuncTest):
    def client(self, brick, version, *words, stdin=None, preload=None):
        command = [version["brickctl"], "--brick", brick.url, "--client", "a", "--key-file",
                   brick.key("a"), *words]
        # Meson has today's library found first, by whatever it starts.
        paths = [str(library(version).parent), os.environ.get("LD_LIBRARY_PATH")]
        settings = ["LD_LIBRARY_PATH=" + ":".join(filter(None, paths))]
        if preload:
            settings.append(f"LD_PRELOAD={preload}")
        return self.ok(lab.run("env", *settings, *command, stdin=stdin))

    def info(self, brick, version, **options):
        return lab.read_json(self.client(brick, version, "--json", "info", **options))

    def use(self, brick, version):
        """What clients do, from the first block to the last."""
        self.client(brick, version, "alloc", "0x0+3")
        self.client(brick, version, "write", "0x1000", stdin=b"precious" * 1000)
        self.assertEqual(self.client(brick, version, "read", "0x1000", "--length", "8"),
                         b"precious")
        self.client(brick, version, "map", "0x0+2", "--hold", "0")
        self.client(brick, version, "ping", "-c", "3")
        listed = lab.read_json(self.client(brick, version, "--json", "list"))["extents"]
        self.assertEqual([(e["va"], e["n_blocks"]) for e in listed], [("0x0", 3)])
        self.client(brick, version, "free", "0x0+3")
        self.assertEqual(re.findall(r"<[0-4]>.*", brick.log_text()), [])

    def begin(self, version):
        return self.brick(f"brick{len(self.bricks)}", program=version["brickd"]).start()

    def test_the_later_version_has_what_today_has_not(self):
        b = self.begin(LATER)
        self.use(b, LATER)
        info = self.info(b, LATER)
        self.assertEqual((info["future"], info["echo"]), (TAIL, True))

    def test_todays_clients_use_a_later_brick(self):
        b = self.begin(LATER)
        self.use(b, NOW)
        self.assertNotIn("future", self.info(b, NOW))

    def test_later_clients_use_todays_brick(self):
        b = self.begin(NOW)
        self.use(b, LATER)
        # The op is refused and the field is not there; all else goes on.
        info = self.info(b, LATER)
        self.assertEqual((info["future"], info["echo"]), (0, False))
        self.assertEqual(info["slots_free"], self.info(b, NOW)["slots_free"])

    def test_todays_program_runs_with_a_later_library(self):
        for version in NOW, LATER:
            b = self.begin(version)
            self.assertEqual(self.info(b, NOW, preload=library(LATER)), self.info(b, NOW))
            self.assertEqual(b.stop(), 0)

    def compat(self, store):
        """The features that need not be known, of both superblocks."""
        with open(store, "rb") as file:
            found = [struct.unpack_from("<Q", os.pread(file.fileno(), 512, at), FEAT_COMPAT)[0]
                     for at in SUPERBLOCKS]
        self.assertEqual(*found)
        return found[0]

    def test_todays_brick_serves_a_store_of_a_later_one(self):
        b = self.brick(size=None)
        self.ok(lab.run(LATER["brickd"], "format", b.store, "--size", "64M"))
        self.assertEqual(self.compat(b.store), COMPAT)
        b.start()
        self.use(b, NOW)
        self.assertEqual(b.stop(), 0)
        self.assertIn(b"whole", self.ok(lab.run(lab.BRICKD, "check", b.store)))
        # A copy that is damaged is written again, and growing writes both.
        with open(b.store, "r+b") as store:
            store.seek(SUPERBLOCKS[1])
            store.write(b"x" * 8)
        self.ok(lab.run(lab.BRICKD, "check", b.store, "--repair"))
        self.assertEqual(self.compat(b.store), COMPAT)
        self.ok(lab.run(lab.BRICKD, "grow", b.store, "--size", "128M"))
        self.assertEqual(self.compat(b.store), COMPAT)
        b.program = LATER["brickd"]
        b.start()
        self.use(b, LATER)

    def test_a_later_brick_serves_todays_store(self):
        b = self.begin(NOW)
        self.client(b, NOW, "alloc", "0x0+1")
        self.client(b, NOW, "write", "0x0", stdin=b"precious")
        self.assertEqual(b.stop(), 0)
        b.program = LATER["brickd"]
        b.start()
        self.assertEqual(self.client(b, LATER, "read", "0x0", "--length", "8"), b"precious")
        self.assertEqual(b.stop(), 0)
        self.assertEqual(self.compat(b.store), 0)


if __name__ == "__main__":
    lab.main()
