#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/lint/fragments.py counts, and what not."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fragments  # pylint: disable=wrong-import-position

LONG = "\tx++;\n" * (fragments.LINES_MAX + 1)
TEXT = f'''/* once_short(1), twice() and never() are words here. */
static int declared_first(void);

static int once_short(int x)
{{
	return x;
}}

static int once_long(int x)
{{
{LONG}}}

static int
twice(void)
{{
	return 1;
}}

static int taken(void)
{{
	return 2;
}}

static int called_and_taken(void)
{{
	return 3;
}}

static int never(void)
{{
	return 4;
}}

static int declared_first(void)
{{
	return 5;
}}

static inline int calls_itself(int x)
{{
	return x ? calls_itself(x - 1) : 0;
}}

static const struct ops all_ops = {{
	.take = taken,
	.both = called_and_taken,
}};

int everything(void)
{{
	return once_short(1) + once_long(2) + twice() + twice() +
	       called_and_taken() + declared_first() + calls_itself(3) +
	       say("never()");
}}
'''


class Fragments(unittest.TestCase):
    def test_only_short_ones_with_one_call_are_fragments(self):
        count, found = fragments.fragments(TEXT)
        self.assertEqual(count, 8)
        self.assertEqual([name for _, name, _ in found], ["once_short", "declared_first"])

    def test_the_length_is_that_of_the_body(self):
        for lines, is_one in ((fragments.LINES_MAX, True), (fragments.LINES_MAX + 1, False)):
            text = ("static void one(void)\n{\n" + "\tx++;\n" * lines
                    + "}\nvoid all(void)\n{\n\tone();\n}\n")
            _, found = fragments.fragments(text)
            self.assertEqual(found, [(1, "one", lines)] if is_one else [])

    def test_the_tree_has_static_functions(self):
        for folder in fragments.FOLDERS:
            count = sum(fragments.fragments(text)[0] for _, text in fragments.sources(folder))
            self.assertGreater(count, 100, folder)


if __name__ == "__main__":
    unittest.main()
