#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A change of kfbrick.h that breaks programs is told, and no other.

The libraries here have kfbrick.h's functions without what they do: abidiff looks at
what is declared.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import abi  # pylint: disable=wrong-import-position

def whole(name, seen):
    """A header with those that it includes of its folder in their places, each once."""
    if name in seen:
        return ""
    seen.add(name)
    text = (abi.TOP / abi.HEADERS / name).read_text(encoding="utf-8")
    return re.sub(r'^#include "(kfbrick\w*\.h)"$', lambda m: whole(m[1], seen), text, flags=re.M)


HEADER = whole("kfbrick.h", set())
MAP = (abi.TOP / abi.HEADERS / "kfbrick.map").read_text(encoding="utf-8")


def in_struct(name, old, new):
    """The header with a change in one structure."""
    body = re.search(rf"^struct {name} {{.*?^}};", HEADER, re.M | re.S)[0]
    assert old in body
    return HEADER.replace(body, body.replace(old, new, 1))


def grown(name):
    """The header with one more member at the end of a structure."""
    body = re.search(rf"^struct {name} {{.*?^}};", HEADER, re.M | re.S)[0]
    return HEADER.replace(body, body[:-len("};")] + "\tuint64_t later;\n};")


@unittest.skipUnless(shutil.which("abidiff"), "abidiff is not installed")
class Abi(unittest.TestCase):
    def library(self, name, header, version_map=MAP):
        folder = self.folder / name
        folder.mkdir()
        (folder / "kfbrick.h").write_text(header, encoding="utf-8")
        (folder / "map").write_text(version_map, encoding="utf-8")
        bare = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        declared = re.findall(r"^[a-z][^;{}#]*?\bkfbrick_\w+\([^;{}]*\);", bare, re.M)
        self.assertGreater(len(declared), 20)
        source = ['#include "kfbrick.h"']
        source += [d[:-1] + " { __builtin_trap(); }" for d in declared]
        (folder / "lib.c").write_text("\n".join(source) + "\n", encoding="utf-8")
        subprocess.run(["cc", "-g", "-shared", "-fPIC", "-Wl,-soname,libkfbrick.so.0",
                        f"-Wl,--version-script={folder}/map", f"-I{folder}", "-o",
                        str(folder / "lib.so"), str(folder / "lib.c")], check=True)
        return folder

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-abi-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.old = self.library("old", HEADER)

    def said(self, header, version_map=MAP):
        new = self.library("new", header, version_map)
        text = abi.compare(self.old / "lib.so", self.old, new / "lib.so", new)
        shutil.rmtree(new)
        return text

    def test_what_programs_do_not_notice_is_not_told(self):
        self.assertEqual(self.said(HEADER), "")
        for name in ("kfbrick_config", "kfbrick_info", "kfbrick_event"):
            self.assertEqual(self.said(grown(name)), "", name)
        self.assertEqual(self.said(
            HEADER.replace("int kfbrick_ping(", "int kfbrick_pong(struct kfbrick *k);\n"
                           "int kfbrick_ping("),
            MAP.replace("\tkfbrick_version;", "\tkfbrick_pong;\n\tkfbrick_version;")), "")

    def test_what_breaks_them_is_told(self):
        broken = {
            "a member before others": in_struct("kfbrick_info", "uint64_t power_epoch;",
                                                "uint64_t more;\n\tuint64_t power_epoch;"),
            "a member that has another type": in_struct("kfbrick_extent", "uint64_t n_blocks;",
                                                        "uint32_t n_blocks;"),
            "a member that is gone": in_struct("kfbrick_info", "\tuint64_t slots_bad;\n", ""),
            "a structure without a size that grows": grown("kfbrick_extent"),
            "a parameter more": HEADER.replace("int kfbrick_ping(struct kfbrick *k);",
                                               "int kfbrick_ping(struct kfbrick *k, int how);"),
            "another result": HEADER.replace("int kfbrick_ping(struct kfbrick *k);",
                                             "void kfbrick_ping(struct kfbrick *k);"),
        }
        for what, header in broken.items():
            with self.subTest(what=what):
                self.assertNotEqual(header, HEADER)
                self.assertIn("kfbrick_", self.said(header))
        self.assertIn("kfbrick_ping", self.said(
            HEADER.replace("int kfbrick_ping(struct kfbrick *k);", ""),
            MAP.replace("\tkfbrick_ping;\n", "")))


if __name__ == "__main__":
    unittest.main()
