#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of the check "packages" finds what is wrong, and that alone."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # pylint: disable=wrong-import-position

FILES = {"usr/bin/a", "usr/lib/x/liba.so.0", "usr/lib/x/liba.so", "usr/share/a/b/c"}
LISTS = {"a": ["usr/bin/*", "usr/share/a"], "liba0": ["usr/lib/*/liba.so.*"],
         "liba-dev": ["usr/lib/*/liba.so"]}
SPEC = """%files
%license LICENSES/a
%dir %{_datadir}/a
%exclude %{_datadir}/b
%{_bindir}/a

%files -n liba0
%{_libdir}/liba.so.*

%files dkms
%{dkms_tree}

%changelog
* a
"""
CONTROL = """Source: a
Build-Depends:
 debhelper-compat (= 13),
 liba-dev (>= 1.0),
 python3:any,

Package: a
"""
COPYRIGHT = """Format: x

Files: *
Copyright: somebody
License: BSD-2-Clause

Files: core/*
 more.c
Copyright: somebody
License: GPL-2 or BSD-2-Clause

License: BSD-2-Clause
 text
"""
BOTH = "GPL-2.0-only OR BSD-2-Clause"
LICENCES = {"core/a.c": BOTH, "more.c": BOTH, "b.c": "BSD-2-Clause", "README": None}
PAGE = """## First
```sh
one
two <<END
not a command
END
three \\
    four
```
## Second
"""


class Rules(unittest.TestCase):
    def found(self, rule, *args):
        return "\n".join(rule(*args))

    def test_each_file_is_in_one_package(self):
        self.assertEqual(self.found(packages.owned_once, "D", FILES, LISTS), "")

    def test_a_file_in_no_package_is_found(self):
        self.assertIn("/usr/sbin/d is in no package", self.found(
            packages.owned_once, "D", FILES | {"usr/sbin/d"}, LISTS))

    def test_a_file_in_two_packages_is_found(self):
        lists = {**LISTS, "more": ["usr/bin/a"]}
        self.assertIn("is in a, more", self.found(
            packages.owned_once, "D", FILES, lists))

    def test_a_pattern_without_a_file_is_found(self):
        lists = {**LISTS, "more": ["usr/games/*"]}
        self.assertIn("more wants usr/games/*", self.found(
            packages.owned_once, "D", FILES, lists))

    def test_a_star_does_not_reach_into_folders_above(self):
        self.assertFalse(packages.has("usr/*/c", "usr/share/a/b/c"))
        self.assertTrue(packages.has("usr/share/*", "usr/share/a/b/c"))

    def test_a_library_has_its_links(self):
        self.assertEqual(list(packages.aliases("l/liba.so.0.1.0")),
                         ["l/liba.so.0.1.0", "l/liba.so.0", "l/liba.so"])
        self.assertEqual(list(packages.aliases("l/plugin.so")), ["l/plugin.so"])

    def test_the_files_of_a_spec_are_read(self):
        self.assertEqual(packages.spec_lists(SPEC, "2.0"), {
            "kfbrick": ["usr/share/b", "usr/bin/a"],
            "liba0": [packages.LIBDIR + "/liba.so.*"],
            "kfbrick-dkms": ["usr/src/kfbrick-2.0"]})

    def test_options_of_the_rules_are_read(self):
        self.assertEqual(packages.options_of_rules(
            "x:\n\tdh_auto_configure -- -Da=b \\\n\t\t-Dc=d\n"), ["-Da=b", "-Dc=d"])

    def test_the_version_of_a_header_is_read(self):
        self.assertEqual(packages.header_version(
            "".join(f"#define KFBRICK_VERSION_{part} {n}\n" for part, n in (
                ("MAJOR", 1), ("MINOR", 20), ("PATCH", 3)))), "1.20.3")

    def test_versions_that_differ_are_found(self):
        self.assertEqual(self.found(packages.versions_agree, {"a": "1", "b": "1"}), "")
        self.assertIn("b 2", self.found(packages.versions_agree, {"a": "1", "b": "2"}))

    def test_what_only_one_list_needs_is_found(self):
        both = {"gcc", "liba-dev"}
        self.assertEqual(self.found(packages.needs_agree, CONTROL, both), "")
        self.assertIn("libb-dev is in", self.found(
            packages.needs_agree, CONTROL, both | {"libb-dev"}))
        self.assertIn("liba-dev is in", self.found(
            packages.needs_agree, CONTROL, {"gcc"}))

    def test_a_file_with_another_licence_is_found(self):
        self.assertEqual(self.found(packages.licences_agree, COPYRIGHT, LICENCES), "")
        wrong = {**LICENCES, "core/b.c": "BSD-2-Clause", "c.c": BOTH}
        found = self.found(packages.licences_agree, COPYRIGHT, wrong)
        self.assertIn("core/b.c is BSD-2-Clause", found)
        self.assertIn("c.c is GPL", found)

    def test_a_licence_of_no_file_is_found(self):
        self.assertIn("there is no more.c", self.found(
            packages.licences_agree, COPYRIGHT, {"core/a.c": BOTH}))

    def test_symbols_without_a_version_are_found(self):
        script = "K_0.1 {\nglobal:\n\ta;\n};\nK_0.2 {\n\tb;\n} K_0.1;\n"
        first = "liba.so.0 liba0 #MINVER#\n (symver)K_0.1 0.1.0\n"
        self.assertIn("no line for K_0.2", self.found(
            packages.symbols_agree, script, first))
        self.assertEqual(self.found(
            packages.symbols_agree, script, first + " (symver)K_0.2 0.2.0\n"), "")

    def test_commands_are_counted(self):
        commands = packages.commands_of(PAGE, "First")
        self.assertEqual([c.split()[0] for c in commands], ["one", "two", "three"])
        self.assertEqual(self.found(packages.few_commands, commands), "")
        self.assertIn("11 commands", self.found(packages.few_commands, ["a"] * 11))

    def test_modules_of_tests_are_found(self):
        files = {"usr/src/kfbrick-1/kfabric/core/a.c", "usr/share/doc/test"}
        self.assertEqual(self.found(packages.no_test_modules, files), "")
        self.assertIn("fault.c", self.found(
            packages.no_test_modules, files | {"usr/src/kfbrick-1/kfabric/test/fault.c"}))


if __name__ == "__main__":
    unittest.main()
