# SPDX-License-Identifier: BSD-2-Clause
"""Debian packages, installed or unpacked in the cache without installing."""
import functools
import os
import pathlib
import re
import subprocess
import tempfile

from . import cache


def run(cmd, **kw):
    """Run a command; its failure is a reason to skip, with its last words."""
    done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, **kw)
    if done.returncode:
        words = (done.stderr.strip() or "no message").splitlines()[-1]
        raise cache.Skip(f"{' '.join(map(str, cmd[:3]))} failed: {words}")
    return done.stdout


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}",
                           package], capture_output=True, text=True,
                          check=False)
    return done.returncode == 0 and done.stdout.startswith("installed")


class Archive:
    """The machine's package sources, or one more suite of its first mirror.

    A suite has its own throw-away apt state below a temporary folder, so the
    machine's configuration and lists stay as they are.
    """

    def __init__(self, suite=None):
        self.suite = suite
        self.options = []
        self.state = None

    def __enter__(self):
        if self.suite:
            self.state = tempfile.TemporaryDirectory(prefix="kfbrick-apt.")
            self._private(pathlib.Path(self.state.name))
        return self

    def __exit__(self, *error):
        if self.state:
            self.state.cleanup()

    def _private(self, top):
        for part in ("lists/partial", "cache/archives/partial"):
            (top / part).mkdir(parents=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (top / "list").write_text(
            f"deb [signed-by={keys}] {mirror()} {self.suite} main\n")
        for name, value in (("Dir::Etc::SourceList", top / "list"),
                            ("Dir::Etc::SourceParts", "/dev/null"),
                            ("Dir::State::Lists", top / "lists"),
                            ("Dir::Cache", top / "cache"),
                            ("APT::Sandbox::User", "")):
            self.options += ["-o", f"{name}={value}"]
        run(["apt-get", *self.options, "-qq", "-o", "Acquire::Retries=2",
             "update"])
        if not list((top / "lists").glob("*Packages*")):
            raise cache.Skip(f"the mirror offers no {self.suite}")

    def depends(self, package, pattern):
        """Return the one dependency of a package that matches a pattern."""
        text = run(["apt-cache", *self.options, "depends", package])
        found = re.findall(r"Depends: (\S+)", text)
        for name in found:
            if re.fullmatch(pattern, name):
                return name
        raise cache.Skip(f"{package} depends on nothing like {pattern}")

    def versions(self, packages):
        """Return {package: version}; apt reads its lists once for all of them."""
        if not packages:
            return {}
        text = run(["apt-cache", *self.options, "show", "--no-all-versions",
                    *packages])
        return dict(zip(re.findall(r"^Package: (\S+)", text, re.M),
                        re.findall(r"^Version: (\S+)", text, re.M),
                        strict=True))

    def missing(self, packages):
        """Return what an installation of these would add to the machine."""
        text = run(["apt-get", *self.options, "-s", "-qq",
                    "--no-install-recommends", "install", *packages])
        return sorted(set(re.findall(r"^Inst (\S+)", text, re.M)))

    def unpack(self, packages, target):
        """Download packages and unpack them below a folder."""
        with tempfile.TemporaryDirectory(prefix="kfbrick-deb.") as work:
            run(["apt-get", *self.options, "-qq", "-o",
                 "APT::Sandbox::User=", "download", *packages], cwd=work)
            debs = sorted(os.listdir(work))
            if len(debs) != len(packages):
                raise cache.Skip(f"of {' '.join(packages)} came only "
                                 f"{' '.join(debs) or 'nothing'}")
            for deb in debs:
                run(["dpkg-deb", "-x", f"{work}/{deb}", str(target)])


def mirror():
    """Return the address of the mirror that serves this machine's Debian."""
    text = run(["apt-get", "indextargets", "--format",
                "$(CREATED_BY) $(REPO_URI) $(CODENAME)"])
    for line in text.splitlines():
        words = line.split()
        if words[0] == "Packages" and words[2] == codename():
            return words[1]
    raise cache.Skip("apt knows no mirror of this machine's Debian")


def codename():
    text = pathlib.Path("/etc/os-release").read_text()
    return re.search(r"^VERSION_CODENAME=(\S+)", text, re.M).group(1)


@functools.cache
def sysroot(*packages):
    """Return folders to search for the files of these packages, in order.

    apt is asked once for all boots of a run: it takes seconds of a processor.
    """
    absent = [p for p in packages if not installed(p)]
    if not absent:
        return [pathlib.Path("/")]
    with Archive() as archive:
        wanted = archive.missing(absent)
        versions = archive.versions(wanted)
        key = cache.digest(*[f"{p}={versions[p]}" for p in wanted])
        top = cache.folder("sysroot", key,
                           lambda part: archive.unpack(wanted, part))
    return [top, pathlib.Path("/")]
