#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of the check "rooms" finds what is wrong, and that alone."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import rooms  # pylint: disable=wrong-import-position

RIGHT = {
    "main.c": '#include "brickd/high/high.h"\n',
    "high/high.h": "",
    "high/high.c": '#include "brickd/high/high.h"\n#include "brickd/low/low.h"\n',
    "high/more.c": '#include <errno.h>\n#include "proto/kfb_wire.h"\n',
    "high/else.c": "",
    "low/low.h": "",
    "low/low.c": '#include "brickd/low/low.h"\n',
    "low/more.c": "",
    "low/else.c": "",
}
DRAWN = """```
 3  brickd/   -> high
 2  high/     -> low
 1  low/
```
"""


BRICKD = rooms.Tree("brickd")

# A tree with a face and a shelf.
FACED = {
    "include/api/api.h": "",
    "include/odd.h": "",
    "core/core.h": "#include <api/api.h>\n",
    "core/core.c": '#include "core.h"\n#include <linux/core.h>\n',
    "core/more.c": "#include <odd.h>\n",
    "wire/wire.h": "",
    "far/far.h": '#include <api/api.h>\n#include "../wire/wire.h"\n',
    "far/core.h": "",
    "far/far.c": '#include "core.h"\n#include "far.h"\n',
    "test/one/one.c": "#include <api/api.h>\n",
    "test/two/two.c": "#include <api/api.h>\n",
}
FACED_DRAWN = """```
 2  core/     -> include
 2  far/      -> include wire
 2  test/one/ -> include
 2  test/two/ -> include
 1  include/
 1  wire/
```
"""
KFABRIC = rooms.Tree("kfabric", shelves=("test",), faces=("include",))


def page_of(drawn, tree=BRICKD):
    return f"before\n{tree.begin}{drawn}{rooms.END}behind\n"


class Rooms(unittest.TestCase):
    def found(self, changed=None, page=None, **circles):
        files = RIGHT | (changed or {})
        page = page or page_of(rooms.drawing(BRICKD, files))
        return list(rooms.faults(rooms.Tree("brickd", **circles), files, page))

    def test_the_tree_is_right(self):
        page = (rooms.TOP / rooms.PAGE).read_text(encoding="utf-8")
        for tree in rooms.TREES:
            self.assertEqual(list(rooms.faults(tree, tree.sources(), page)), [])

    def test_the_drawing(self):
        self.assertEqual(rooms.drawing(BRICKD, RIGHT), DRAWN)
        self.assertEqual(self.found(page=page_of(DRAWN)), [])

    def test_a_drawing_that_is_not_what_the_code_is(self):
        fault, = self.found(page=page_of(DRAWN.replace("-> low", "")))
        self.assertIn("--write", fault)
        fault, = self.found({"low/new.c": '#include "brickd/lowest/lowest.h"\n',
                             "lowest/lowest.h": ""}, page_of(DRAWN))
        self.assertIn("--write", fault)

    def test_a_page_without_a_place_for_it(self):
        fault, = self.found(page="nothing")
        self.assertIn("no place", fault)

    def test_a_circle_of_rooms(self):
        up = {"low/up.c": '#include "brickd/high/high.h"\n'}
        fault, = self.found(up)
        self.assertEqual(fault, "a circle: high, low")
        self.assertEqual(self.found(up, room_circles=[{"high", "low"}]), [])

    def test_a_circle_of_files(self):
        up = {"low/low.h": '#include "brickd/low/next.h"\n',
              "low/next.c": '#include "brickd/low/low.h"\n', "low/next.h": ""}
        fault, = self.found(up)
        self.assertEqual(fault, "a circle: low/low, low/next")
        self.assertEqual(self.found(up, file_circles=[{"low/low", "low/next"}]), [])

    def test_a_list_of_circles_only_shrinks(self):
        fault, = self.found(room_circles=[{"high", "low"}])
        self.assertIn("smaller now", fault)
        up = {"low/up.c": '#include "brickd/high/high.h"\n'}
        fault, = self.found(up, room_circles=[{"high", "low", "brickd"}])
        self.assertIn("smaller now", fault)
        self.assertEqual(len(self.found(up, room_circles=[{"high", "brickd"}])), 2)

    def test_a_header_that_everybody_knows(self):
        known = {f"high/{n}.c": '#include "brickd/low/low.h"\n' for n in ("more", "else")}
        fault, = self.found(known)
        self.assertIn("low/low.h: 3 of the 5 files outside low/", fault)


class Faced(unittest.TestCase):
    """Headers that are included by their path below a face; a shelf of rooms."""

    def found(self, changed=None, tree=KFABRIC):
        files = FACED | (changed or {})
        page = page_of(rooms.drawing(tree, files), tree)
        return list(rooms.faults(tree, files, page))

    def test_the_drawing(self):
        self.assertEqual(rooms.drawing(KFABRIC, FACED), FACED_DRAWN)
        self.assertEqual(self.found(), [])

    def test_a_shelf_with_files_of_its_own(self):
        self.assertEqual(KFABRIC.room_of("test/all.h"), "test")
        self.assertEqual(KFABRIC.room_of("test/one/one.c"), "test/one")
        found = self.found({"test/all.h": '#include "kfabric/test/one/one.h"\n',
                            "test/one/one.h": "",
                            "test/one/more.c": '#include "kfabric/test/all.h"\n'})
        self.assertEqual(found, ["a circle: test, test/one"])

    def test_a_face_that_looks_inside(self):
        for name in ('"../core/core.h"', '"kfabric/core/core.h"'):
            fault, = self.found({"include/odd.h": f"#include {name}\n"})
            self.assertEqual(fault, "a circle: core, include")

    def test_a_product_that_includes_a_test(self):
        files = {"test/one/one.h": "#include <odd.h>\n#include \"../../core/core.h\"\n",
                 "core/more.c": '#include "kfabric/test/one/one.h"\n'}
        fault, = self.found(files)
        self.assertEqual(fault, "a circle: core, test/one")

    def test_everybody_may_know_a_face_only(self):
        known = {f"far/{n}.c": '#include "../wire/wire.h"\n#include <odd.h>\n'
                 for n in ("a", "b", "c", "d", "e")}
        fault, = self.found(known)
        self.assertIn("wire/wire.h: 6 of the", fault)


if __name__ == "__main__":
    unittest.main()
