#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library's examples run as their comments say."""
import os
import pathlib

import lab

EXAMPLES = pathlib.Path(os.environ["EXAMPLES_BIN"])


class Examples(lab.FuncTest):
    def test_every_example_runs_and_leaves_nothing_allocated(self):
        found = sorted(p for p in EXAMPLES.iterdir()
                       if p.is_file() and p.name[0].isdigit() and os.access(p, os.X_OK))
        self.assertGreaterEqual(len(found), 2)
        b = self.brick(size="256M").start()
        for program in found:
            with self.subTest(program=program.name):
                done = lab.run(program, b.url, "a", b.key("a"), "0x0")
                self.assertEqual(done.returncode, 0, done.stderr.decode() + b.log_text())
                self.assertTrue(done.stdout)
                self.assertEqual(b.allocated(), [])


if __name__ == "__main__":
    lab.main()
