#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of the check "prefixes" finds what is wrong, and that alone."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import prefixes  # pylint: disable=wrong-import-position

TABLE = {"room": ("ro_",), "room/two": ("tw_", "to2_")}
RIGHT = '''/* static int wrong(void); */
#define MACRO(name)      \\
static int name(void)

static int ro_number = 3, ro_other;
static const char *const ro_names[TWO(4)] = { "static int wrong;", "" };
static DEFINE_MUTEX(ro_lock);
static LIST_HEAD(ro_list);
static int (*ro_hook)(int x);
static const struct {
	int wrong;
} ro_table[] = {
	{ 1 },
};
static const struct ops ro_ops = {
	.open = ro_open,
};

static inline struct own *to_ro_own(struct base *base)
{
	static int local;

	return container_of(base, struct own, base);
}

static int __init __printf(1, 2)
ro_say(const char *format, ...)
{
	if (local) {
		return 1;
	}
}

int open_to_all(void)
{
}
'''
WRONG = (
    ("static int run(void)\n{\n}\n", 1, "run"),
    ("static struct a *find(struct b *ro_b,\n\t\t\t  int ro_c)\n{\n}\n", 1, "find"),
    ("static inline bool is_ready(void)\n{\n\treturn 1;\n}\n", 1, "is_ready"),
    ("\nstatic void __exit leave(void)\n{\n}\n", 2, "leave"),
    ("static int to_own(void)\n{\n}\n", 1, "to_own"),
    ("static int ro_one, two;\n", 1, "two"),
    ("static u8 buffer[sizeof(struct ro_a)];\n", 1, "buffer"),
    ("static DECLARE_WORK(work, ro_work);\n", 1, "work"),
    ("static int (*hook)(int ro_x);\n", 1, "hook"),
    ("static struct {\n\tint ro_a;\n} state;\n", 1, "state"),
    ("\nKFI_DISK_OPEN(open_disk, disk)\n{\n}\n", 2, "open_disk"),
    ("static const struct ops ops = {\n\t.open = ro_open,\n};\n", 1, "ops"),
)


class Prefixes(unittest.TestCase):
    def found(self, files):
        return list(prefixes.faults(files, TABLE))

    def test_the_tree_is_right(self):
        self.assertEqual(list(prefixes.faults(prefixes.sources(), prefixes.PREFIXES)), [])
        files = prefixes.sources(table=prefixes.PROGRAMS)
        self.assertEqual(list(prefixes.program_faults(files, prefixes.PROGRAMS)), [])

    def test_every_folder_of_the_table_has_some(self):
        for folder in prefixes.PREFIXES:
            files = prefixes.sources(table=[folder])
            self.assertTrue([name for text in files.values()
                             for name in prefixes.static_names(text)], folder)

    def test_what_is_right(self):
        self.assertEqual(self.found({"room/a.c": RIGHT}), [])
        self.assertEqual([name for _, name in prefixes.static_names(RIGHT)],
                         ["ro_number", "ro_other", "ro_names", "ro_lock", "ro_list", "ro_hook",
                          "ro_table", "ro_ops", "to_ro_own", "ro_say"])

    def test_a_name_without_the_prefix(self):
        for text, line, name in WRONG:
            with self.subTest(name):
                self.assertEqual(self.found({"room/a.c": text}),
                                 [f"room/a.c:{line}: {name} does not begin with ro_"])
                fault, = self.found({"room/a.c": RIGHT + text})
                self.assertIn(f": {name} does not", fault)

    def test_a_folder_with_two_modules(self):
        text = "static int tw_a(void)\n{\n}\nstatic int to2_b;\n"
        self.assertEqual(self.found({"room/two/a.c": text}), [])
        fault, = self.found({"room/two/a.c": "static int ro_a;\n"})
        self.assertIn("ro_a does not begin with tw_ or to2_", fault)

    def test_a_folder_that_is_not_in_the_table(self):
        self.assertEqual(self.found({"other/a.c": "static int run;\n"}), [])

    def test_a_name_that_two_files_have(self):
        files = {f"room/{name}.c": "static int ro_run(void)\n{\n}\n" for name in "ab"}
        self.assertEqual(self.found(files), ["room/b.c:1: ro_run is in room/a.c too"])

    def test_what_other_files_see(self):
        text = "// SPDX\nint ro_first(void)\n{\n}\n" + RIGHT + '''
int ro_declared(int x);
extern const struct ops ro_shown;
u8 *ro_pack(const struct a *a,
	    int (*by)(int x)) __must_hold(lock)
{
	int ro_local = 3;
}
__printf(1, 2) void ro_warn(const char *format, ...)
{
}
const struct ops ro_others = {
	.open = ro_open,
};
struct ro_kind {
	int x;
};
'''
        self.assertEqual(list(prefixes.global_names(text)),
                         ["ro_first", "open_to_all", "ro_pack", "ro_warn", "ro_others"])

    def test_a_name_that_is_a_global_one_elsewhere(self):
        text = "static int {0}(void)\n{{\n}}\n"
        files = {"room/a.c": text.format("ro_run"), "room/two/b.c": text.format("tw_run"),
                 "room/c.c": "int ro_run(int x)\n{\n}\nstruct ops tw_run = {\n};\n",
                 "room/d.h": "int ro_run(int x);\n"}
        self.assertEqual(self.found(files), [
            "room/a.c:1: ro_run is a global name, of room/c.c",
            "room/two/b.c:1: tw_run is a global name, of room/c.c"])

    def test_names_of_programs(self):
        text = {name: f"static int {name}(void)\n{{\n}}\n"
                for name in ("run", "run_all", "find_it")}
        files = {"shop/a.c": text["run_all"], "shop/b.c": text["run"] + text["find_it"],
                 "shop/in/c.c": text["run_all"] + "static int one;\n", "shop/d.h": text["run"],
                 "other/e.c": text["run"] + text["run_all"]}
        self.assertEqual(list(prefixes.program_faults(files, ("shop",))), [
            "shop/b.c:1: run is one word: what is done to what?",
            "shop/in/c.c:1: run_all is in shop/a.c too"])

    def test_a_name_of_a_program_that_is_a_global_one_elsewhere(self):
        files = {"shop/a.c": "static int run_all(void)\n{\n}\n",
                 "shop/b.c": "void run_all(int x)\n{\n}\n",
                 "other/c.c": "static int run_all(void)\n{\n}\n"}
        self.assertEqual(list(prefixes.program_faults(files, ("shop", "other"))),
                         ["shop/a.c:1: run_all is a global name, of shop/b.c"])


if __name__ == "__main__":
    unittest.main()
