#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many blocks and many extents: scale.py [BLOCKS]

The store is sparse on tmpfs, so that a million blocks take no memory. The
times that it prints decide nothing; docs/BENCHMARKS.md has a run by hand.
"""
import os
import pathlib
import sys

import lab

BLOCKS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 20000
TMPFS = pathlib.Path("/dev/shm")


class Scale(lab.FuncTest):
    def test_every_extent_is_listed_once_and_in_order(self):
        b = self.brick(size=None, clients={"a": [f"0x0+{2 * BLOCKS} rw"]})
        b.store = TMPFS / f"kfbrick-scale-{os.getpid()}"
        self.addCleanup(lambda: b.store.unlink(missing_ok=True))
        # Quarantined slots of the first step are not there for the second.
        size = (2 * BLOCKS + 64) * lab.BLOCK
        self.ok(lab.run(lab.BRICKD, "format", b.store, "--size", str(size), "--sparse"))
        b.start()
        done = lab.run(os.environ["SCALE"], b.url, "a", b.key("a"), str(BLOCKS), timeout=600)
        print(done.stdout.decode())
        self.assertEqual(done.returncode, 0, done.stderr.decode() + b.log_text()[-2000:])
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
