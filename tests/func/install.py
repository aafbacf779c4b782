#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""meson install: what is there, that it runs from there, and what is run then.

BUILD is the build that is installed, MODULES the release of the kernel that it
has modules for, if any, and VERSION the project's.
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest.mock

import lab

BUILD = os.environ["BUILD"]
RELEASE = os.environ["MODULES"]
VERSION = os.environ["VERSION"]
MAN = os.environ["MAN"] == "yes"
TOP = pathlib.Path(__file__).parents[2]
PREFIX = os.environ["PREFIX"].lstrip("/")
SBIN = f"{PREFIX}/{os.environ['SBINDIR']}"
BIN = f"{PREFIX}/{os.environ['BINDIR']}"
FILES = (
    f"{PREFIX}/lib/systemd/system/brickd.service",
    f"{PREFIX}/lib/systemd/system/brickd-first-start.service",
    f"{PREFIX}/lib/systemd/system/kfbrick@.service",
    f"{PREFIX}/lib/sysusers.d/kfbrick.conf",
    f"{PREFIX}/lib/tmpfiles.d/kfbrick.conf",
    f"{PREFIX}/lib/udev/rules.d/91-kfbrick.rules",
    f"{PREFIX}/lib/udev/rules.d/61-kfbrick-probe.rules",
    f"{PREFIX}/lib/udev/rules.d/92-kfbrick-disk.rules",
    f"{PREFIX}/share/kfbrick/brickd.conf",
)
OCF_AGENT = f"{PREFIX}/lib/ocf/resource.d/kfbrick/disk"
PROGRAMS = {f"{SBIN}/brickd": "--version", f"{BIN}/brickctl": "--version",
            f"{SBIN}/kfabric-9p-bridge": "--help",
            f"{SBIN}/fence_kfbrick": "--help", f"{SBIN}/powerfail-verify": "--help",
            f"{SBIN}/powerfail-writer": "--help"}
MODULES = {"kfabric_9p", "kfabric_core", "kfabric_lnd", "kfabric_loop", "kfabric_rdm",
           "kfabric_rds", "kfabric_rpc", "kfabric_tcp", "kfabric_udp", "kfabric_verbs", "kfbrick"}
STUB = """#!/bin/sh
echo "${0##*/}${1:+ $*}" >>"$CALLS"
"""


def words(*command, **env):
    """The output of a command that succeeds."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    done = subprocess.run(
        [str(w) for w in command], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=lab.COMMAND_S,
        env={**lab.environment(), "PATH": path, **env})
    if done.returncode:
        raise AssertionError(f"{command}: {done.stdout}")
    return done.stdout


class Install(lab.FuncTest):
    def install(self):
        self.dest = self.folder / "dest"
        return words("meson", "install", "-C", BUILD, "--no-rebuild",
                     "--destdir", self.dest)

    def files_below(self, folder):
        return {str(p.relative_to(self.dest))
                for p in (self.dest / folder).rglob("*") if p.is_file()}

    def test_the_programs_are_there_and_run_and_no_other_is(self):
        self.install()
        self.assertEqual(self.files_below(SBIN) | self.files_below(BIN),
                         set(PROGRAMS))
        lib = next((self.dest / PREFIX).rglob("libkfbrick.so")).parent
        for program, option in PROGRAMS.items():
            said = words(self.dest / program, option, LD_LIBRARY_PATH=str(lib))
            self.assertIn(VERSION if option == "--version" else "Usage", said)
        self.assertIn("Usage", words(self.dest / OCF_AGENT, "usage"))

    def test_units_settings_and_pages_are_there(self):
        self.install()
        pages = [p.stem for p in (TOP / "docs/man").glob("*.scd")] if MAN else []
        calls = words(TOP / "docs/man/calls", TOP / "initiator/lib/kfbrick.h").split()
        self.assertIn("kfbrick_alloc", calls)
        pages += [f"{call}.3" for call in calls] if MAN else []
        for page in pages:
            section = page.rsplit(".", 1)[1]
            self.assertTrue((self.dest / PREFIX / "share/man" / f"man{section}"
                             / page).is_file(), page)
        for name in FILES:
            self.assertTrue((self.dest / name).is_file(), name)

    def test_each_module_has_the_version_of_the_project(self):
        self.install()
        folder = f"lib/modules/{RELEASE}/updates/kfbrick"
        want = {f"{folder}/{m}.ko" for m in MODULES} if RELEASE else set()
        self.assertEqual(self.files_below("lib/modules"), want)
        for module in want:
            said = words("modinfo", "-F", "version", self.dest / module)
            self.assertEqual(said.strip(), VERSION, module)
            said = words("modinfo", "-F", "vermagic", self.dest / module)
            self.assertEqual(said.split()[0], RELEASE, module)

    def test_no_program_has_the_provider_unless_it_is_told_of_its_folder(self):
        self.install()
        found = list(self.dest.rglob("libstcp-fi.so"))
        self.assertEqual([p.parent.name for p in found],
                         [pathlib.Path(os.environ["PROVIDERDIR"] or "kfbrick").name])
        said = words("fi_info", "-p", "stcp", FI_PROVIDER_PATH=str(found[0].parent))
        self.assertIn("provider: stcp", said)

    def test_who_asks_for_it_has_the_provider_where_libfabric_looks(self):
        words("meson", "setup", TOP, self.folder / "build", "-Dproviderdir=lib/libfabric",
              "-Dkmod=disabled", "-Dman=disabled", "-Dtests=false")
        installed = json.loads(words("meson", "introspect", "--installed",
                                     self.folder / "build"))
        folders = [pathlib.Path(to).parent.name for to in installed.values()
                   if to.endswith("/libstcp-fi.so")]
        self.assertEqual(folders, ["libfabric"])

    def modprobe(self, *arguments):
        return words("modprobe", "-d", self.dest, "-S", RELEASE, *arguments)

    def test_modprobe_finds_the_driver_what_it_needs_and_providers(self):
        self.install()
        if not RELEASE:
            self.assertFalse((self.dest / "lib/modules").exists())
            return
        words("depmod", "-b", self.dest, RELEASE)
        loaded = [pathlib.Path(line.split()[1]).stem for line in
                  self.modprobe("--show-depends", "kfbrick").splitlines()]
        self.assertEqual(loaded, ["kfabric_core", "kfbrick"])
        for name in ("verbs", "tcp", "loop"):
            said = self.modprobe("--resolve-alias", f"kfabric-provider-{name}")
            self.assertEqual(said.strip(), f"kfabric_{name}")


class OnThisMachine(lab.FuncTest):
    """The scripts that meson install runs, where nothing of it is real."""

    def called(self, script, *arguments, folders=()):
        """The commands that a script ran."""
        stubs = self.folder / "stubs"
        calls = self.folder / "calls"
        stubs.mkdir(exist_ok=True)
        calls.write_text("")
        for name in ("depmod", "ldconfig", "systemctl", "systemd-sysusers",
                     "systemd-tmpfiles", "udevadm"):
            (stubs / name).write_text(STUB)
            (stubs / name).chmod(0o755)
        hide = " && ".join(["mount -t tmpfs none /run",
                            *[f"mkdir -p {f}" for f in folders]])
        user = ["--map-root-user"] if os.geteuid() else []
        words("unshare", "--mount", *user, "sh", "-c",
              hide + ' && exec "$@"', "sh", TOP / script, *arguments,
              PATH=f"{stubs}:{os.environ['PATH']}", CALLS=str(calls))
        return calls.read_text().splitlines()

    def test_users_settings_rules_and_units_are_made_known(self):
        calls = self.called("systemd/after-install", "/s.conf", "/t.conf",
                            folders=("/run/systemd/system", "/run/udev/control"))
        self.assertEqual(calls, [
            "ldconfig", "systemd-sysusers /s.conf",
            "systemd-tmpfiles --create /t.conf", "udevadm control --reload",
            "udevadm trigger --subsystem-match=dax", "systemctl daemon-reload"])

    def test_where_systemd_does_not_run_nothing_is_reloaded(self):
        calls = self.called("systemd/after-install", "/s.conf", "/t.conf")
        self.assertEqual(calls, ["ldconfig", "systemd-sysusers /s.conf",
                                 "systemd-tmpfiles --create /t.conf"])

    def test_without_brickd_there_are_no_users(self):
        self.assertEqual(self.called("systemd/after-install"), ["ldconfig"])

    def first_start(self, settings):
        """What the first start makes of these settings."""
        state, conf = self.folder / "state", self.folder / "brickd.conf"
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
        conf.write_text(settings.replace("/var/lib/kfbrick", str(state)))
        script = (TOP / "systemd/first-start.in").read_text()
        for name, program in (("@sbindir@", lab.BRICKD), ("@bindir@", lab.BRICKCTL)):
            script = script.replace(name, str(pathlib.Path(program).resolve().parent))
        (self.folder / "first-start").write_text(script.replace("--size 1G", "--size 16M"))
        for _ in range(2):
            words("sh", self.folder / "first-start", conf, STATE_DIRECTORY=str(state))
        return sorted(p.name for p in state.iterdir())

    def test_the_first_start_makes_what_the_shipped_settings_name_and_no_more(self):
        shipped = (TOP / "systemd/brickd.conf").read_text()
        store = "store = /var/lib/kfbrick/store"
        self.assertEqual(self.first_start(shipped), ["example.key", "store"])
        for line in ("store=/var/lib/kfbrick/store ; ours", f"  {store}  "):
            self.assertEqual(self.first_start(shipped.replace(store, line)),
                             ["example.key", "store"], line)
        for line in ("store = /dev/dax0.0", "store = /var/lib/kfbrick/store2", f"; {store}"):
            self.assertEqual(self.first_start(shipped.replace(store, line)), [], line)
        self.assertEqual(self.first_start(shipped.replace("example.key", "mine.key")), ["store"])

    def test_depmod_runs_for_the_folder_that_modprobe_looks_into(self):
        calls = self.called("kfabric/run-depmod", "/lib/modules", "1.2.3")
        self.assertEqual(calls, ["depmod -a 1.2.3"])
        self.assertEqual(self.called("kfabric/run-depmod", "/opt/modules", "1.2.3"), [])


class Headers(lab.FuncTest):
    """Which kernel modules are built for when none is named."""

    def headers(self, *names, running):
        sys.dont_write_bytecode = True
        loader = importlib.machinery.SourceFileLoader(
            "build_modules", str(TOP / "kfabric/build-modules"))
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        for name in names:
            (self.folder / f"linux-headers-{name}").mkdir(exist_ok=True)
            (self.folder / f"linux-headers-{name}/Makefile").touch()
        module.HEADERS_DIR = self.folder
        with unittest.mock.patch("os.uname") as uname:
            uname.return_value.release = running
            return pathlib.Path(module.default_headers()).name

    def test_the_running_kernel_comes_first_then_the_newest(self):
        both = ("6.1.0-9-amd64", "6.1.0-10-amd64")
        self.assertEqual(self.headers(*both, running=both[0]), "linux-headers-" + both[0])
        self.assertEqual(self.headers(*both, running="5.4"), "linux-headers-" + both[1])


if __name__ == "__main__":
    lab.main()
