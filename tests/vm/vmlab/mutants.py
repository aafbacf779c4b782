# SPDX-License-Identifier: BSD-2-Clause
"""Copies of the kernel sources in which something is broken on demand.

All mutants are in one module; its parameter "mutant" says by number which one
it is to be, and IS(name) in the changed text asks for it. Number 0 is intact.
"""
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys

from . import initramfs

TOP = initramfs.HERE.parent.parent


def load(name):
    """Return the program tests/vm/mutants/NAME, of which the list is a part."""
    path = TOP / "tests/vm/mutants" / name
    loader = importlib.machinery.SourceFileLoader(f"list_{name}", str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def declaration(variable, names):
    """Return what a header needs so that IS(name) can be asked."""
    return ("\n\nenum { %s };\n"
            "#define IS(name) (%s == M_##name)\n"
            "extern unsigned int %s;\n"
            % (", ".join(f"M_{n}" for n in names), variable, variable))


def definition(variable):
    """Return what one source needs: the parameter."""
    return (f"unsigned int {variable};\n"
            f"module_param_named(mutant, {variable}, uint, 0644);\n")


def mutate(folder, edits):
    """Replace texts in files; each must be there exactly once."""
    for file, old, new in edits:
        path = folder / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{file} has {text.count(old)} times: {old}")
        path.write_text(text.replace(old, new))


def build(work, copied, mutated, edits, headers, parts=()):
    """Build the modules from a changed copy below work; return their folder.

    copied are folders of the tree, edits are for files in the folder mutated;
    parts are the modules to build, all by default.
    """
    for part in copied:
        shutil.copytree(TOP / part, work / "src" / part)
    mutate(work / "src" / mutated, edits)
    done = subprocess.run(
        [sys.executable, TOP / "kfabric/build-modules", "--top", work / "src",
         "--out", work / "out", "--kdir", headers,
         *[f"--only={p}" for p in parts]], check=False)
    if done.returncode:
        sys.exit("the mutants do not build")
    return work / "out"
