# SPDX-License-Identifier: BSD-2-Clause
"""The debug kernel, built from Debian's packaged source.

It takes a quarter of an hour of one CPU, once; the result is cached until
the package, debug.config or a patch changes. The build runs at the lowest
priority; KFBRICK_VM_JOBS sets how many jobs it may use.
"""
import os
import pathlib
import re
import shutil
import subprocess

from . import apt, cache

HERE = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = "linux-source-6.1"
CONFIG = HERE / "debug.config"
TOOLS = ("make", "gcc", "flex", "bison", "bc", "patch", "nice")
LOCAL_VERSION = "-kfbdebug"
# parts of the source that no external module needs
UNNEEDED = ("Documentation", "LICENSES", "block", "certs", "crypto",
            "drivers", "fs", "init", "io_uring", "ipc", "kernel", "lib", "mm",
            "net", "rust", "samples", "security", "sound", "usr", "virt")


def patches():
    return sorted((HERE / "patches").glob("*.patch"))


def find():
    """Return version, image, modules and headers; build them if needed."""
    with apt.Archive() as archive:
        version = archive.versions([PACKAGE])[PACKAGE]
        key = cache.digest(version, *map(cache.file_digest,
                                         [CONFIG, *patches()]))
        top = cache.folder("debug", key, lambda part: build(archive, part))
    release = (top / "release").read_text().strip()
    return (release, top / "vmlinuz", top / "lib/modules" / release,
            top / "build")


def step(part, *cmd):
    """Run one step of the build, its output to a log next to the cache."""
    log = cache.root() / "debug-build.log"
    with open(log, "a") as out:
        done = subprocess.run(["nice", "-n", "19", *map(str, cmd)],
                              cwd=part / "build", stdout=out, stderr=out,
                              stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise cache.Skip(f"{cmd[0]} failed, see {log}")


def build(archive, part):
    absent = [t for t in TOOLS if not shutil.which(t)]
    if absent:
        raise cache.Skip(f"no {', '.join(absent)} on this machine")
    (cache.root() / "debug-build.log").unlink(missing_ok=True)
    print("# building the debug kernel", flush=True)
    unpack_source(archive, part)
    configure(part)
    jobs = os.environ.get("KFBRICK_VM_JOBS", "1")
    step(part, "make", f"-j{jobs}", "bzImage", "modules")
    step(part, "make", f"INSTALL_MOD_PATH={part}", "modules_install")
    release = (part / "build/include/config/kernel.release").read_text()
    (part / "release").write_text(release)
    shutil.copy(part / "build/arch/x86/boot/bzImage", part / "vmlinuz")
    shutil.copy(part / "build/.config", part / "config")
    for link in (part / "lib/modules" / release.strip()).glob("*"):
        if link.is_symlink():
            link.unlink()
    prune(part / "build")


def unpack_source(archive, part):
    archive.unpack([PACKAGE], part)
    (part / "build").mkdir()
    tarball = next((part / "usr/src").glob("linux-source-*.tar.xz"))
    step(part, "tar", "xJf", tarball, "--strip-components=1")
    shutil.rmtree(part / "usr")
    for path in patches():
        step(part, "patch", "-p1", "-i", path)


def configure(part):
    """Make the configuration and see that nothing asked for got lost."""
    step(part, "make", "tinyconfig")
    wanted = CONFIG.read_text() + f'CONFIG_LOCALVERSION="{LOCAL_VERSION}"\n'
    fragment = part / "fragment"
    fragment.write_text(wanted)
    step(part, "scripts/kconfig/merge_config.sh", "-m", ".config", fragment)
    step(part, "make", "olddefconfig")
    have = set((part / "build/.config").read_text().splitlines())
    lost = [l for l in re.findall(r"^CONFIG_.*$", wanted, re.M)
            if l not in have]
    if lost:
        raise cache.Skip(f"this source does not take {', '.join(lost)}")


def prune(tree):
    """Leave what a build of external modules needs."""
    for name in UNNEEDED:
        shutil.rmtree(tree / name, ignore_errors=True)
    for pattern in ("*.o", "*.a", ".*.cmd"):
        for path in tree.rglob(pattern):
            if "scripts" not in path.parts and "tools" not in path.parts:
                path.unlink()
    for name in ("vmlinux", "vmlinux.o"):
        (tree / name).unlink(missing_ok=True)
