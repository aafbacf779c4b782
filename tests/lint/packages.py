# SPDX-License-Identifier: BSD-2-Clause
"""What the packages have, against what is installed: the rules.

Each rule takes what it compares as plain values, so that test_packages.py can show
that it fails, and yields what is wrong.
"""
import collections
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = TOP / "packaging/debian"
SPEC = TOP / "packaging/rpm/kfbrick.spec"
PAGE = TOP / "docs/packages.md"
FIRST_USE = "From packages to a mounted file system"
MOST_COMMANDS = 10
LIBDIR = "usr/lib/x86_64-linux-gnu"
# Of what the build needs, what every Debian that builds packages has; and what
# only the packages need.
ESSENTIAL = {"gcc", "libc6-dev", "util-linux"}
PACKAGING = {"debhelper-compat", "dh-sequence-dkms", "dh-sequence-installsysusers",
             "python3"}
# The same package by its older name, which both releases have.
RENAMED = {"pkgconf": "pkg-config"}
# RPM's macros for folders, as the spec file falls back to them.
MACROS = {
    "_prefix": "usr", "_bindir": "usr/bin", "_sbindir": "usr/sbin", "_libdir": LIBDIR,
    "_libexecdir": "usr/libexec", "_includedir": "usr/include",
    "_datadir": "usr/share", "_mandir": "usr/share/man", "_usrsrc": "usr/src",
    "_unitdir": "usr/lib/systemd/system", "_udevrulesdir": "usr/lib/udev/rules.d",
    "_sysusersdir": "usr/lib/sysusers.d", "_tmpfilesdir": "usr/lib/tmpfiles.d",
}
# Licences as Debian calls them, and as our files do.
LICENCES = {"BSD-2-Clause": "BSD-2-Clause",
            "GPL-2 or BSD-2-Clause": "GPL-2.0-only OR BSD-2-Clause"}


# ---- what there is ------------------------------------------------------

def run(*words):
    done = subprocess.run([str(w) for w in words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(str(w) for w in words)}: {done.stdout}")
    return done.stdout


def project_version():
    text = (TOP / "meson.build").read_text(encoding="utf-8")
    return re.search(r"^  version: '([^']+)'", text, re.M)[1]


def header_version(text):
    """What the library's header says it is of."""
    return ".".join(re.search(rf"^#define KFBRICK_VERSION_{part} (\d+)$", text, re.M)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def options_of_rules(text):
    """Meson's options in debian/rules."""
    text = text.replace("\\\n", " ")
    return re.search(r"dh_auto_configure -- (.*)", text)[1].split()


def aliases(path):
    """A library, and the names that are links to it."""
    yield path
    while re.search(r"\.so\.[\d.]+$", path):
        path = path.rsplit(".", 1)[0]
        if not re.search(r"\.so(\.\d+\.\d+)", path):
            yield path


def installed(work):
    """What the packages are made of, without the first slash."""
    build = work / "build"
    options = options_of_rules((DEBIAN / "rules").read_text(encoding="utf-8"))
    run("meson", "setup", build, TOP, "--prefix=/usr", f"--libdir={LIBDIR[4:]}", *options)
    plan = json.loads(run("meson", "introspect", "--installed", build))
    for source, target in plan.items():
        folder = pathlib.Path(source)
        if folder.is_dir():
            for path in folder.rglob("*"):
                yield f"{target}/{path.relative_to(folder)}".lstrip("/")
        else:
            yield from aliases(target.lstrip("/"))
    version = project_version()
    tree = work / "dkms"
    run(TOP / "kfabric/build-modules", "--top", TOP, "--out", tree, "--dkms", version)
    for path in tree.rglob("*"):
        if path.is_file():
            yield f"usr/src/kfbrick-{version}/{path.relative_to(tree)}"


def debian_lists():
    """{package: patterns} of debian/*.install, and of what no package is to have;
    files of the packaging itself apart."""
    lines = (DEBIAN / "not-installed").read_text(encoding="utf-8").splitlines()
    lists, own = {"not-installed": [n for n in lines if not n.startswith("#")]}, []
    for path in sorted(DEBIAN.glob("*.install")):
        words = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        own += [w[0] for w in words if len(w) == 2]
        lists[path.stem] = [w[0] for w in words if len(w) == 1]
    return lists, own


def spec_lists(text, version):
    """{package: patterns} of the %files of a spec file, what it excludes among them."""
    lists, name = {}, None
    for line in text.splitlines():
        begins = re.match(r"%files *(-n (\S+)|(\S+))?$", line)
        if begins:
            name = begins[2] or "kfbrick" + (f"-{begins[3]}" if begins[3] else "")
            lists[name] = []
        elif line.startswith("%changelog"):
            name = None
        elif name and line and not re.match(r"%(license|doc|dir) ", line):
            line = line.removeprefix("%exclude ")
            line = line.replace("%{dkms_tree}", f"%{{_usrsrc}}/kfbrick-{version}")
            lists[name].append(re.sub(r"%\{(\w+)\}", lambda m: MACROS[m[1]], line))
    return lists


# ---- rules --------------------------------------------------------------

def has(pattern, path):
    """A pattern is a path's, or that of a folder above it."""
    want, parts = pattern.split("/"), path.split("/")
    return len(want) <= len(parts) and all(map(fnmatch.fnmatchcase, parts, want))


def owned_once(kind, files, lists):
    """Each file is in one package; each pattern has a file."""
    used = collections.Counter()
    for path in sorted(files):
        owners = [(package, pattern) for package, patterns in lists.items()
                  for pattern in patterns if has(pattern, path)]
        used.update(owners)
        if len({package for package, _ in owners}) != 1:
            names = ", ".join(sorted({p for p, _ in owners})) or "no package"
            yield f"{kind}: /{path} is in {names}, not in one"
    for package, patterns in lists.items():
        for pattern in patterns:
            if not used[package, pattern]:
                yield f"{kind}: {package} wants {pattern}, which is not installed"


def versions_agree(said):
    """{where: version}"""
    if len(set(said.values())) != 1:
        yield "versions differ: " + ", ".join(f"{k} {v}" for k, v in said.items())


def needs_agree(control, listed):
    """What the packages' build needs is what tests/packages/build lists."""
    needs = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M)[1]
    asked = {re.split(r"[ :,]", n.strip())[0] for n in needs.split("\n") if n.strip()}
    asked = {RENAMED.get(name, name) for name in asked}
    for name in sorted((asked - PACKAGING) ^ (listed - ESSENTIAL)):
        yield f"{name} is in Build-Depends or in tests/packages/build, not in both"


def licences_agree(copyright_text, licences):
    """licences: {file: the licence in its first lines, or None}."""
    found = re.findall(r"^Files: ((?:.*\n)(?: .*\n)*)Copyright: .*\nLicense: (.*)$",
                       copyright_text, re.M)
    stanzas = [(files.split(), licence) for files, licence in found]
    for path, licence in sorted(licences.items()):
        said = [name for patterns, name in stanzas
                if any(fnmatch.fnmatchcase(path, p) for p in patterns)][-1]
        if licence and LICENCES.get(said) != licence:
            yield f"{path} is {licence}, and debian/copyright says {said}"
    for patterns, _ in stanzas:
        for pattern in patterns:
            if not fnmatch.filter(licences, pattern):
                yield f"debian/copyright: there is no {pattern}"


def symbols_agree(script, symbols):
    """Each version of the library's symbols has its packages' version."""
    for node in re.findall(r"^(\w[\w.]*) \{$", script, re.M):
        if not re.search(rf"^ \(symver\){re.escape(node)} \d", symbols, re.M):
            yield f"debian/libkfbrick0.symbols: no line for {node}"


def commands_of(text, heading):
    """The commands of the shell below a heading."""
    block = re.search(rf"^## {re.escape(heading)}\n.*?^```sh\n(.*?)^```", text,
                      re.M | re.S)[1]
    block = re.sub(r"<<(\w+)\n.*?^\1$", "", block, flags=re.M | re.S)
    return [c for c in block.replace("\\\n", " ").splitlines() if c.strip()]


def few_commands(commands):
    if len(commands) > MOST_COMMANDS:
        yield (f"docs/packages.md: {len(commands)} commands to a mounted file system, "
               f"not {MOST_COMMANDS} at most")


def no_test_modules(files):
    """What DKMS builds is what production needs."""
    for path in files:
        if path.startswith("usr/src/kfbrick-") and "/test" in path:
            yield f"/{path} is for tests, and DKMS gets it"
