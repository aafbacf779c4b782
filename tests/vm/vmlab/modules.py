# SPDX-License-Identifier: BSD-2-Clause
"""Builds the project's kernel modules for a guest's kernel, in the cache."""
import re
import shutil
import subprocess
import sys

from . import cache, initramfs

TOP = initramfs.HERE.parent.parent
LAST_LINES = 20
BUILD = TOP / "kfabric/build-modules"


def compiler(kernel):
    """Return the compiler that the kernel's headers ask for."""
    config = kernel.headers / "include/config/auto.conf"
    match = re.search(r"CONFIG_GCC_VERSION=(\d+)", config.read_text())
    return f"x86_64-linux-gnu-gcc-{int(match.group(1)) // 10000}"


def build(kernel):
    """Build all modules; return the folder that holds them.

    The folder belongs to one source tree and one kernel and is kept, so that
    a second build is short.
    """
    cc = compiler(kernel)
    if not shutil.which(cc):
        raise cache.Skip(f"kernel {kernel.version} wants {cc}")
    out = cache.root() / "modules" / cache.digest(str(TOP), kernel.version)
    out.mkdir(parents=True, exist_ok=True)
    out.touch()
    with cache.lock(f"modules-{out.name}"):
        done = subprocess.run(
            [sys.executable, BUILD, "--top", TOP, "--out", out, "--kdir",
             kernel.headers], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        for line in done.stdout.splitlines()[-LAST_LINES:]:
            print(f"# {line}")
        raise RuntimeError(f"the modules do not build for {kernel.version}")
    return out
