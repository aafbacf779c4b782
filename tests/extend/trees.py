# SPDX-License-Identifier: BSD-2-Clause
"""Copies of the tree's own files, with patches."""
import pathlib
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
# What no test of a copy looks at.
WITHOUT = ("kmod", "man", "metrics", "systemd")


class Fault(Exception):
    """What is wrong, for people."""


def must(what, *words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **options)
    if done.returncode:
        raise Fault(f"{what}:\n{done.stdout}")
    return done.stdout


def copy(folder):
    """The tree's own files, as a repository: lints ask git for their names."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = must("git ls-files", "git", "ls-files", "-z", cwd=TOP).split("\0")
    for path in filter(None, listed):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / path, folder / path, follow_symlinks=False)
    must("git init", "git", "init", "--quiet", cwd=folder)


def add(folder, patches):
    for patch in patches:
        must(f"{patch.name} does not fit", "git", "apply", "--check", str(patch), cwd=folder)
    for patch in patches:
        must(f"{patch.name} does not fit beside the others",
             "git", "apply", str(patch), cwd=folder)
    must("git add", "git", "add", "--all", cwd=folder)


def configure(tree, build, *options):
    must("meson setup", "meson", "setup", str(build), str(tree), "-Doptimization=0",
         "-Ddebug=false", *(f"-D{option}=disabled" for option in WITHOUT), *options)
