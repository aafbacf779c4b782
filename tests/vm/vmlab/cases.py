# SPDX-License-Identifier: BSD-2-Clause
"""Cases: files of shell with a header that says what they need.

Header lines have the form "# NAME: value":
  NEEDS    sets of sets.ini                     MODULES  further kernel modules
  KO       project modules, from --modules      BIN      programs, from --build
  FILES    files of the project, into /vm/files
  PACKAGES Debian packages                      PROGRAMS of these packages
  TREE     a folder, copied to /vm/tree         SHARE    a folder, at /vm/share
  DISK     SIZE of a further disk, may be repeated
  MEM SMP  of each guest (default 512M, 2)      TIMEOUT  seconds (default 60)
  GUESTS   1, or 2 joined by a wire             NVDIMM   SIZE [align= ...]
  BOOTS    how often it runs, with $BOOT 1, 2 ... and the same NVDIMMs; with
           ROOT the same disk, too, and rebooted in between
  GROUP    cases of one group share a boot      KERNEL   only on these kernels
  KARGS    for the kernel's command line        ALLOW    faults expected (regex)
  MANUAL   yes: runs only when it is named
  MEASURES yes: what it says in lines of "#" is printed also when it passes
  ROOT     systemd: a system with systemd, in which the project is installed
"""
import dataclasses
import pathlib
import re

from . import cache

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "cases"
HEADER = re.compile(r"# ([A-Z]+): *(.*)$")
LISTS = ("needs", "modules", "ko", "bin", "files", "kernel", "kargs", "packages",
         "programs")
UNITS = {"M": 1, "G": 1024}


@dataclasses.dataclass
class Case:
    """One case as its header declares it; memory is in MiB."""
    name: str
    text: str
    folder: pathlib.Path
    needs: list = dataclasses.field(default_factory=list)
    modules: list = dataclasses.field(default_factory=list)
    ko: list = dataclasses.field(default_factory=list)
    bin: list = dataclasses.field(default_factory=list)
    files: list = dataclasses.field(default_factory=list)
    kernel: list = dataclasses.field(default_factory=list)
    kargs: list = dataclasses.field(default_factory=list)
    packages: list = dataclasses.field(default_factory=list)
    programs: list = dataclasses.field(default_factory=list)
    disk: list = dataclasses.field(default_factory=list)
    tree: str = ""
    share: str = ""
    allow: list = dataclasses.field(default_factory=list)
    nvdimm: list = dataclasses.field(default_factory=list)
    mem: int = 512
    smp: int = 2
    timeout: int = 60
    guests: int = 1
    boots: int = 1
    group: str = ""
    manual: bool = False
    measures: bool = False
    root: str = ""

    def about(self):
        lines = [l[2:] for l in self.text.splitlines()
                 if l.startswith("# ") and not HEADER.match(l)
                 and "SPDX" not in l and "shellcheck" not in l]
        return lines[0] if lines else ""


@dataclasses.dataclass
class Nvdimm:
    """One emulated NVDIMM; persist is "", "cpu" or "mem-ctrl"."""
    size: str
    align: str = "2M"
    persist: str = ""
    label: str = ""


def mebibytes(text):
    match = re.fullmatch(r"(\d+)([MG])", text)
    if not match:
        raise ValueError(f"{text} is no size like 512M or 2G")
    return int(match.group(1)) * UNITS[match.group(2)]


def parse_nvdimm(value):
    size, *options = value.split()
    mebibytes(size)
    return Nvdimm(size, **dict(o.split("=", 1) for o in options))


def parse(path):
    case = Case(path.stem, path.read_text(), path.parent.resolve())
    for line in case.text.splitlines():
        if not line.startswith("#"):
            if line.strip():
                break
            continue
        match = HEADER.match(line)
        if match:
            set_field(case, match.group(1).lower(), match.group(2).strip())
    if case.share:
        case.needs.append("share")
    if case.guests not in (1, 2):
        raise ValueError(f"{case.name}: GUESTS is 1 or 2")
    return case


def folder_of(case, value):
    """Return a folder that a case names, which may be beside the case itself."""
    path = (case.folder / pathlib.Path(value).expanduser()).resolve()
    if not path.is_dir():
        raise ValueError(f"{case.name}: no folder {path}")
    return str(path)


def set_field(case, key, value):
    if key in LISTS:
        getattr(case, key).extend(value.split())
    elif key == "mem":
        case.mem = mebibytes(value)
    elif key == "nvdimm":
        case.nvdimm.append(parse_nvdimm(value))
    elif key == "disk":
        mebibytes(value)
        case.disk.append(value)
        case.needs.append("disk")
    elif key in ("tree", "share"):
        setattr(case, key, folder_of(case, value))
    elif key == "allow":
        case.allow.append(value)
    elif key in ("smp", "timeout", "guests", "boots"):
        setattr(case, key, int(value))
    elif key == "group":
        case.group = value
    elif key == "root":
        if value != "systemd":
            raise ValueError(f"{case.name}: ROOT is systemd or not given")
        case.root = value
        case.needs.append("disk")
    elif key in ("manual", "measures"):
        setattr(case, key, value == "yes")
    else:
        raise ValueError(f"{case.name}: no declaration is called {key}")


def load(folder):
    """Return a folder's cases, or those of its folders, by and in order of name."""
    folder = pathlib.Path(folder)
    paths = sorted([*folder.glob("*.sh")] or folder.glob("*/*.sh"), key=lambda p: p.stem)
    return {p.stem: parse(p) for p in paths}


def select(folder, names):
    """Return the cases named, or all that are not manual."""
    known = load(folder)
    if not names:
        return [c for c in known.values() if not c.manual]
    for name in names:
        if name not in known:
            raise ValueError(f"no case is called {name}")
    return [known[n] for n in dict.fromkeys(names)]


def groups(cases):
    """Return lists of cases that share one boot each."""
    shared = {}
    for case in cases:
        group = case.group if case.boots == 1 else ""
        key = (case.guests, case.root, case.tree, case.share, *case.disk,
               group or f"alone {case.name}")
        shared.setdefault(key, []).append(case)
    return list(shared.values())


def union(cases, field):
    return list(dict.fromkeys(w for c in cases for w in getattr(c, field)))


def require(case, kernel, supplied, installed):
    """Raise Skip when a case cannot run on this kernel with these files."""
    if case.root and not installed:
        raise cache.Skip("needs a build to install (--build)")
    if case.root and kernel == "debug":
        raise cache.Skip("the debug kernel boots no system: it knows neither "
                         "its disk nor control groups")
    if case.kernel and kernel not in case.kernel:
        raise cache.Skip(f"not for kernel {kernel}")
    for name in [f"{m}.ko" for m in case.ko] + case.bin:
        if name not in supplied:
            raise cache.Skip(f"{name} is not built (--modules, --build)")
