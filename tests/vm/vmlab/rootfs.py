# SPDX-License-Identifier: BSD-2-Clause
"""The root file system of guests that boot real systemd.

A minimal Debian from the machine's mirror, as an ext4 image in the cache, or
a system in a folder, whose image the run makes. A guest that boots once gets it
with a snapshot over it, so every boot starts from the same; one that boots more
often keeps its own.
"""
import shutil

from . import apt, cache, initramfs

PACKAGES = initramfs.HERE / "rootfs.packages"
# what a test guest needs not start, for a quicker boot
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer",
    "getty-static.service", "getty@.service", "ndctl-monitor.service",
    "serial-getty@.service",
    "systemd-firstboot.service", "systemd-hwdb-update.service",
    "systemd-logind.service", "systemd-machine-id-commit.service",
    "systemd-pstore.service", "systemd-random-seed.service",
    "systemd-timesyncd.service", "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service")
RUNNER = """[Unit]
Description=Cases of the test run
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
TimeoutStartSec=infinity
LimitMEMLOCK=infinity
Environment=HOME=/root PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin:\
/usr/local/sbin
ExecStart=/bin/sh /vm/run-cases
"""
TARGET = """[Unit]
Description=The system, then the cases
Requires=multi-user.target
Wants=vm-cases.service
After=multi-user.target
"""
ETC = {"machine-id": "0123456789abcdef0123456789abcdef\n", "hostname": "guest\n",
       "fstab": "", "hosts": initramfs.ETC["etc/hosts"],
       "systemd/system/vm-cases.service": RUNNER,
       "systemd/system/vm-cases.target": TARGET}
IMAGE_SIZE = "4G"  # mostly holes
SYSTEM_SIZE = "8G"
RECIPE = "2"  # rises when bootstrap() or trim() change
KERNEL_ARGS = ("systemd.unit=vm-cases.target systemd.show_status=0 "
               "systemd.default_timeout_start_sec=600")


def packages():
    lines = PACKAGES.read_text().splitlines()
    return [l for l in lines if l and not l.startswith("#")]


def bootstrap(top):
    """Make the tree; needs root, as all that makes Debian trees does."""
    if not shutil.which("mmdebstrap"):
        raise cache.Skip("no program called mmdebstrap on this machine")
    paths = [f"--dpkgopt=path-exclude=/usr/share/{d}/*"
             for d in ("doc", "man", "locale")]
    apt.run(["mmdebstrap", "--quiet", "--variant=minbase", *paths,
             f"--include={','.join(packages())}", apt.codename(), str(top),
             f"deb {apt.mirror()} {apt.codename()} main"])


def trim(top):
    """Take the mirror's address and all downloads out again."""
    for pattern in ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*"):
        for path in top.glob(pattern):
            path.unlink()
    (top / "etc/apt/sources.list").write_text("")
    for path in (top / "etc/apt/sources.list.d").glob("*"):
        path.unlink()


def add_settings(archive):
    """Add what has a system run the cases; it is laid over its root."""
    for name, text in ETC.items():
        archive.text(f"install/etc/{name}", text)
    for unit in MASKED:
        archive.link(f"install/etc/systemd/system/{unit}", "/dev/null")


def make_image(top, disk, size):
    """Make a file system of a tree."""
    apt.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E",
             "root_owner=0:0", "-d", str(top), str(disk), size])


def image(kernel):
    """Return the image for a kernel: the system and all modules of sets.ini."""
    names = initramfs.words(initramfs.load_sets().sections(), "modules")
    paths = initramfs.Modules(kernel.modules).closure(names)
    key = cache.digest(RECIPE, kernel.version, IMAGE_SIZE, *packages(), *paths)

    def make(part):
        top = part / "root"
        bootstrap(top)
        trim(top)
        initramfs.stage_modules(kernel, paths, top / "usr")
        make_image(top, part / "root.ext4", IMAGE_SIZE)
        shutil.rmtree(top)

    return cache.folder("rootfs", key, make) / "root.ext4"


def own_image(kernel, system, work):
    """Return an image that is this run's own, made before its first boot."""
    disk = work / "root.ext4"
    if not disk.exists() and system:
        make_image(system, disk, SYSTEM_SIZE)
    elif not disk.exists():
        apt.run(["cp", "--sparse=always", image(kernel), disk])
    return disk
