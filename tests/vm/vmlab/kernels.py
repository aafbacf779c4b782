# SPDX-License-Identifier: BSD-2-Clause
"""The kernels a guest can run: image, modules and headers of each.

"6.1" is the machine's own Debian kernel package, "6.12" the one of the
backports suite, "debug" a kernel built here. What is not installed is
downloaded and unpacked in the cache; nothing is installed on the machine. A
system in a folder has a kernel of its own.
"""
import dataclasses
import os
import pathlib
import re

from . import apt, cache, debugkernel

NAMES = ("6.1", "6.12", "debug")
ARCH = "amd64"
KERNEL_KEEP_S = 24 * 3600


@dataclasses.dataclass
class Kernel:
    """One kernel; modules is the folder that holds modules.dep."""
    name: str
    version: str
    image: pathlib.Path
    modules: pathlib.Path
    headers: pathlib.Path


def find(name):
    if name == "6.1":
        return installed(name) or packaged(name, None)
    if name == "6.12":
        return backported(name)
    if name == "debug":
        return Kernel(name, *debugkernel.find())
    raise cache.Skip(f"no kernel is called {name}")


def of_system(top):
    """Return the kernel that is installed in a system's tree."""
    images = sorted((top / "boot").glob(f"vmlinuz-*-{ARCH}"))
    if len(images) != 1:
        raise ValueError(f"{top}/boot has {len(images)} kernels, not one")
    version = images[0].name.removeprefix("vmlinuz-")
    return at(re.match(r"\d+\.\d+", version).group(0), version, top)


def packaged(name, suite):
    """Use the newest kernel that a suite's packages offer."""
    with apt.Archive(suite) as archive:
        image = archive.depends(f"linux-image-{ARCH}",
                                rf"linux-image-{name}\.\S*-{ARCH}")
        return unpacked(archive, name, image.removeprefix("linux-image-"))


def installed(name):
    """Return the machine's own kernel if all its parts are installed."""
    found = []
    for image in pathlib.Path("/boot").glob(f"vmlinuz-{name}.*-{ARCH}"):
        version = image.name.removeprefix("vmlinuz-")
        one = Kernel(name, version, image,
                     pathlib.Path(f"/lib/modules/{version}"),
                     pathlib.Path(f"/usr/src/linux-headers-{version}"))
        if (os.access(image, os.R_OK) and one.headers.exists()
                and (one.modules / "modules.dep").exists()):
            numbers = [int(n) for n in re.findall(r"\d+", version)]
            found.append((numbers, one))
    return max(found, key=lambda f: f[0])[1] if found else None


def backported(name):
    """Use the newest kernel of the backports suite, asked for once a day."""
    stamp = cache.root() / f"kernel-{name}.version"
    if stamp.exists():
        version = stamp.read_text().strip()
        fresh = cache.root() / "kernel" / version
        age_s = os.stat(stamp).st_mtime + KERNEL_KEEP_S
        if fresh.is_dir() and age_s > os.stat("/proc/self").st_mtime:
            return at(name, version, fresh)
    kernel = packaged(name, f"{apt.codename()}-backports")
    stamp.write_text(kernel.version + "\n")
    return kernel


def unpacked(archive, name, version):
    """Download a kernel and its headers into the cache."""
    def make(part):
        common = version.removesuffix(f"-{ARCH}") + "-common"
        release = re.match(r"\d+\.\d+", version).group(0)
        headers = f"linux-headers-{version}"
        kbuild = archive.depends(headers, r"linux-kbuild-\S+")
        archive.unpack([f"linux-image-{version}", headers, kbuild,
                        archive.depends(headers, rf"\S*{re.escape(common)}")],
                       part)
        relocate(part, version, release)
        modules = part / "lib/modules" / version
        if not modules.is_dir():
            (part / "lib").mkdir(exist_ok=True)
            (part / "lib/modules").symlink_to("../usr/lib/modules")
        if not modules.is_dir():
            raise cache.Skip(f"linux-image-{version} has no modules")
        apt.run(["depmod", "-b", str(part), version])

    return at(name, version, cache.folder("kernel", version, make))


def at(name, version, top):
    """Return the kernel whose packages are unpacked in a folder."""
    return Kernel(name, version, top / f"boot/vmlinuz-{version}",
                  top / "lib/modules" / version,
                  top / f"usr/src/linux-headers-{version}")


def relocate(part, version, release):
    """Turn the headers' absolute paths into ones of their own folder.

    The packages expect to be at the root of the file system; the makefile
    that includes the common part says so in absolute paths.
    """
    source = part / "usr/src"
    makefile = source / f"linux-headers-{version}/Makefile"
    text = makefile.read_text()
    here = "$(dir $(abspath $(lastword $(MAKEFILE_LIST))))"
    makefile.write_text(text.replace("/usr/src/", f"{here}../"))
    for link in source.rglob("*"):
        if link.is_symlink() and os.readlink(link).startswith("/"):
            target = part / os.readlink(link).lstrip("/")
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))
    # with it each module would get type information, which needs pahole
    (source / f"linux-headers-{version}/vmlinux").unlink(missing_ok=True)
    for tool in ("scripts", "tools"):
        if not (source / f"linux-headers-{version}" / tool).exists():
            raise cache.Skip(f"headers {release} have no {tool}")
