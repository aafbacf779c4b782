#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A patch and the page that differ are told, and no others."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lists  # pylint: disable=wrong-import-position

PAGE = """# Page

**something else**: `brickd/else.c`.

**a thing** (`thing.patch`): `brickd/thing_NAME.c` and its `KFB_THING_*`, in
[a page](page.md), `README.md` and a vector in `proto/vectors/`.

**another**: `brickd/another.c`.
"""
RIGHT = ("brickd/thing_new.c", "docs/page.md", "README.md", "proto/vectors/new.hex")


def patch(*files):
    return "".join(f"diff --git a/{f} b/{f}\n--- a/{f}\n+++ b/{f}\n@@ -1 +1 @@\n-a\n+b\n"
                   for f in files)


class Lists(unittest.TestCase):
    def strays(self, *files, name="thing"):
        return list(lists.strays(PAGE, name, patch(*files)))

    def test_the_files_that_the_page_names_are_right(self):
        self.assertEqual(self.strays(*RIGHT), [])
        self.assertEqual(self.strays(*RIGHT, "proto/vectors/more.hex"), [])

    def test_a_file_more_is_told(self):
        for path in ("brickd/else.c", "brickd/another.c", "brickd/thing_a/b.c", "docs/more.md"):
            self.assertEqual(self.strays(*RIGHT, path), [
                f"thing.patch touches {path}, which docs/HACKING.md does not name"])

    def test_a_place_that_is_left_out_is_told(self):
        for left, span in zip(RIGHT, ("brickd/thing_NAME.c", "docs/page.md", "README.md",
                                      "proto/vectors/")):
            self.assertEqual(self.strays(*(f for f in RIGHT if f != left)), [
                f"docs/HACKING.md names {span}, which thing.patch does not touch"])

    def test_without_a_paragraph_every_file_is_one_more(self):
        self.assertEqual(len(self.strays(*RIGHT, name="other")), len(RIGHT))


if __name__ == "__main__":
    unittest.main()
