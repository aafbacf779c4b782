# SPDX-License-Identifier: BSD-2-Clause
"""Can programs that were built with an earlier libkfbrick run with this one?

abidiff compares the two libraries by their debug information, as far as kfbrick.h,
with its parts, declares it. What is new does no harm, nor does what grows at its end and says how
large it is (abi.suppressions); all else is a fault.
"""
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
LIB = "initiator/lib/libkfbrick.so"
HEADERS = "initiator/lib"
# Of meson, for the least that the library needs.
WITHOUT = ("-Dbrickd=disabled", "-Dkmod=disabled", "-Dman=disabled", "-Dtests=false")


class Fault(Exception):
    """What is wrong, for people."""


def must(what, *words, **options):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise Fault(f"{what}:\n{done.stdout}")
    return done.stdout


def git(*words):
    done = subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def version(commit):
    found = re.search(r"^  version: '([^']+)'", git("show", f"{commit}:meson.build"), re.M)
    return found[1] if found else None


def last_release():
    """The newest tag v*, else the last commit of the version before, or ''."""
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")
    if tag:
        return git("rev-parse", f"{tag}^{{commit}}")
    now = version("HEAD")
    for commit in git("log", "--format=%H", "-G", "^  version: '", "--", "meson.build").split():
        before = git("rev-parse", f"{commit}^")
        if before and version(before) not in (None, now):
            return before
    return ""


def build(commit, memory):
    """The library of a commit, built once; its folder has the library and the header."""
    folder = memory / commit
    if (folder / "libkfbrick.so").exists():
        return folder
    tree = memory / f"{commit}.tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=TOP, stdout=subprocess.PIPE,
                             check=True)
    subprocess.run(["tar", "x", "-C", str(tree)], input=archive.stdout, check=True)
    must(f"meson setup of {commit}", "meson", "setup", tree / "build", *WITHOUT,
         "-Dbuildtype=debugoptimized", cwd=tree)
    names = must("ninja", "ninja", "-C", tree / "build", "-t", "targets", "all")
    target = re.search(rf"^({re.escape(LIB)}\.[0-9.]+):", names, re.M)[1]
    must(f"ninja of {commit}", "ninja", "-C", tree / "build", target)
    folder.mkdir(parents=True, exist_ok=True)
    for header in (tree / HEADERS).glob("kfbrick*.h"):
        shutil.copy2(header, folder / header.name)
    shutil.copy2(tree / "build" / target, folder / "new.so")
    os.rename(folder / "new.so", folder / "libkfbrick.so")
    shutil.rmtree(tree)
    return folder


def compare(old, old_headers, new, new_headers):
    """What abidiff says that programs would notice, or ''."""
    done = subprocess.run(
        ["abidiff", "--no-added-syms", "--fail-no-debug-info", "--suppressions",
         str(HERE / "abi.suppressions"), "--headers-dir1", str(old_headers),
         "--headers-dir2", str(new_headers), str(old), str(new)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout or "abidiff says no more" if done.returncode else ""
