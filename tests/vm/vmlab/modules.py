# SPDX-License-Identifier: BSD-2-Clause
"""Builds the project's kernel modules for a guest's kernel, in the cache."""
import pathlib
import re
import shutil
import subprocess
import sys

from . import apt, cache, initramfs

TOP = initramfs.HERE.parent.parent
LAST_LINES = 20
BUILD = TOP / "kfabric/build-modules"
ORIGIN = "origin"  # build-modules writes it


def compiler(kernel):
    """Return the compiler that the kernel's headers ask for."""
    config = kernel.headers / "include/config/auto.conf"
    match = re.search(r"CONFIG_GCC_VERSION=(\d+)", config.read_text())
    return f"x86_64-linux-gnu-gcc-{int(match.group(1)) // 10000}"


def is_for(kernel, folder):
    """Tell whether modules in a staged tree are this tree's and for this kernel."""
    origin = folder / ORIGIN
    core = folder / "kfabric_core.ko"
    if not origin.exists() or not core.exists():
        return False
    magic = apt.run(["modinfo", "-F", "vermagic", str(core)]).split()
    return (origin.read_text().splitlines()[0] == str(TOP)
            and magic[:1] == [kernel.version])


def build(kernel, build_folder=None, words=(), lines=LAST_LINES, only=()):
    """Build all modules, or only these; return the folder that holds them.

    That is where a build folder has them, if they are for this kernel; else it
    belongs to one source tree and one kernel. It is kept, so that a second build
    is short. words are further ones for build-modules; of what it says when it
    fails so many lines are printed.
    """
    cc = compiler(kernel)
    if not shutil.which(cc):
        raise cache.Skip(f"kernel {kernel.version} wants {cc}")
    headers = str(kernel.headers)
    out = pathlib.Path(build_folder or "/nonexistent").resolve() / "kmod"
    if is_for(kernel, out):
        headers = (out / ORIGIN).read_text().splitlines()[1]
    else:
        only = sorted(only)
        words = [*words, *(f"--module={name}" for name in only)]
        out = cache.root() / "modules" / cache.digest(str(TOP), kernel.version, *only)
        out.mkdir(parents=True, exist_ok=True)
        out.touch()
    with cache.lock(f"modules-{cache.digest(str(out))}"):
        done = subprocess.run(
            [sys.executable, BUILD, "--top", TOP, "--out", out, "--kdir",
             headers, *words], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        said = done.stdout.splitlines()
        for line in said[-lines:] if lines else said:
            print(f"# {line}")
        raise RuntimeError(f"the modules do not build for {kernel.version}")
    return out
