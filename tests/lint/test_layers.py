#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of the check "layers" finds what is wrong, and that alone."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layers  # pylint: disable=wrong-import-position

PAGE = """## Before

## How

Some words.

| file | subject |
|---|---|
| `top.c` | orders |
| `left.c`, `right.c` | what is done |
| `low.c` | tools |

`top.c` is above all.
"""
TOP = "static void top(void)\n{\n\tleft(objects);\n}\n"
LEFT = "void left(int *at)\n{\n\tright();\n\tlow();\n}\n"
RIGHT = """int objects[4];
static int own;

struct thing *right(void)
{
	/* not by left() */
	return print("left");
}
"""
LOW = "struct left;\nstruct wq *low_wq;\nvoid low(void) __acquires(&dev->lock)\n{\n}\n"
FILES = {"top.c": TOP, "left.c": LEFT, "right.c": RIGHT, "low.c": LOW}


class Layers(unittest.TestCase):
    def found(self, **changed):
        files = FILES | {f"{name}.c": text for name, text in changed.items()}
        return list(layers.faults(files, layers.order(PAGE, "## How\n")))

    def test_the_table(self):
        self.assertEqual(layers.order(PAGE, "## How\n"), ["top.c", "left.c", "right.c", "low.c"])

    def test_what_others_can_take(self):
        self.assertEqual(layers.defined(RIGHT), {"right", "objects"})
        self.assertEqual(layers.defined(LOW), {"low", "low_wq"})
        self.assertEqual(layers.defined(TOP), set())

    def test_a_circle_of_calls(self):
        self.assertEqual(layers.circle(FILES), [])
        ring = FILES | {"low.c": "void low(void)\n{\n\tleft();\n}\n",
                        "right.c": "void right(void)\n{\n\tlow();\n}\n"}
        self.assertEqual(layers.circle(ring), ["left.c", "low.c", "right.c"])
        self.assertEqual(list(layers.circle_faults(ring, 3)), [])
        self.assertEqual(list(layers.circle_faults(ring, 2)),
                         ["3 files call each other in a circle, and 2 may: left.c, low.c, right.c"])

    def test_circles_of_the_tree(self):
        """What is allowed is what there is: it can only become less."""
        for folder, most in layers.CIRCLES.items():
            n = len(layers.circle(layers.sources(folder)))
            self.assertEqual(max(n, min(most, 4)), most, folder)

    def test_the_tree_is_right(self):
        for folder, (page, heading) in layers.PAGES.items():
            text = (layers.TOP / page).read_text(encoding="utf-8")
            files = layers.sources(folder)
            self.assertEqual(list(layers.faults(files, layers.order(text, heading))), [])
            self.assertTrue(all(layers.defined(files[name]) for name in ("device/device.c", "disk/disk.c")))

    def test_calls_that_run_down(self):
        self.assertEqual(self.found(), [])

    def test_a_call_upwards(self):
        self.assertEqual(self.found(low=LOW + "static void up(void)\n{\n\tleft(0);\n}\n"),
                         ["low.c takes left of left.c, which is above it"])

    def test_a_call_upwards_in_a_row(self):
        self.assertEqual(self.found(right="void right(void)\n{\n\tleft(0);\n}\n"),
                         ["right.c takes left of left.c, which is above it"])

    def test_an_object_from_above(self):
        self.assertEqual(self.found(low="int *all = objects;\n"),
                         ["low.c takes objects of right.c, which is above it"])

    def test_a_file_that_is_not_in_the_table(self):
        self.assertEqual(self.found(more=""), ["more.c: not in the table"])

    def test_a_file_that_is_not_there(self):
        files = {name: text for name, text in FILES.items() if name != "low.c"}
        self.assertIn("low.c: no such file",
                      layers.faults(files, layers.order(PAGE, "## How\n")))


if __name__ == "__main__":
    unittest.main()
