# SPDX-License-Identifier: BSD-2-Clause
"""One boot: builds the initramfs of a group of cases, runs it, collects."""
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import tempfile
import time

from . import (apt, cache, cases as case_files, cpio, guest, image, initramfs,
               modules, rootfs, tap)

HERE = initramfs.HERE
TOP = HERE.parent.parent
POLL_S = 0.1
BOOT_S = 300
# The limits of cases are for a machine that does nothing else; they end what hangs.
PATIENCE = 5
DEBUG_FACTOR = 8
ICOUNT_FACTOR = 4
LOGS_KEPT = 20
# QEMU before 8.1, emulating several CPUs, may run an instruction that another
# CPU has meanwhile patched: the breakpoint that Linux put there for the time
# of the patch then comes to a kernel that knows of none. Rare: reports speak of
# one boot in hundreds or more.
EMULATOR_FAULT = re.compile(r"\bint3: 0000 \[#1\]")
# The other end of the same fault: one CPU takes the breakpoint again and again
# while the one that patches waits for it for ever. Linux reports the stall.
EMULATOR_HANG = re.compile(r"\brcu: INFO: rcu_\w+ (self-)?detected (?=.*\bexc_int3\b)"
                           r"(?=.*\btext_poke_bp_batch\b)", re.DOTALL)
HANG_POLL_S = 5
BOOTS = 3
ROLES = ("server", "client")
LIB = ("init", "case", "kernel-faults", "guest.sh", "disk.sh", "fault.sh",
       "fs.sh", "bricks.sh", "cluster.sh", "md.sh", "reboot.sh", "load.sh", "fio.sh",
       "interop.sh", "netns.sh", "networks.sh", "nfs.sh", "ninep.sh", "nvme.sh", "power.sh", "powerfs.sh", "probe.sh",
       "run-cases", "switch-root", "tunnel.sh")


class Session:
    """The settings of a run; run_group() boots guests for some cases."""

    def __init__(self, kernel, options, programs):
        self.kernel = kernel
        self.options = options
        self.supplied = supplied_files(options, programs)
        self.slow = DEBUG_FACTOR if kernel.name == "debug" else 1

    def overlay(self, path, group, base, role):
        """Write the archive that is laid over the base for one guest."""
        archive = cpio.Archive(path)
        for name in LIB:
            target = "init" if name == "init" else f"vm/{name}"
            archive.copy(target, HERE / "lib" / name)
        for case in group:
            archive.text(f"vm/cases/{case.name}.sh", case.text)
            if case.allow:
                archive.text(f"vm/cases/{case.name}.allow",
                             "".join(f"{a}\n" for a in case.allow))
        env = {"ROLE": role, "PAIR": "yes" if group[0].guests == 2 else "",
               "MTU": self.options.mtu,
               "KIND": self.kernel.name,
               "ROOT": group[0].root,
               "BOOTS": group[0].boots,
               "SYSTEM": "yes" if self.options.system else "",
               "DISKS": len(group[0].disk) or "",
               "SHARE": "yes" if group[0].share else "",
               "SHELL_WANTED": "yes" if self.options.shell else "",
               "CASES": " ".join(f"{c.name}:{self.limit(c)}" for c in group)}
        env.update(word.split("=", 1) for word in self.options.set)
        archive.text("vm/env", "".join(f"{k}='{v}'\n" for k, v in env.items()))
        if group[0].root:
            rootfs.add_settings(archive)
        if group[0].root and not self.options.system:
            add_installed(archive, self.kernel, self.options.build)
        self.add_programs(archive, case_files.union(group, "bin"))
        for name in case_files.union(group, "files"):
            archive.copy(f"vm/files/{os.path.basename(name)}", TOP / name)
        if group[0].tree:
            add_tree(archive, group[0].tree)
        for name in self.options.put:
            archive.copy(f"vm/files/{os.path.basename(name)}", name)
        self.add_modules(archive, base)
        archive.close()

    def add_programs(self, archive, names):
        names = names + [n for n in self.options.bin_names if n not in names]
        files = initramfs.Files([pathlib.Path("/")])
        for name in names:
            files.add_elf(f"/bin/{name}", self.supplied[name])
        for name, source in sorted(files.files.items()):
            archive.copy(name, source)

    def add_modules(self, archive, base):
        """Add the project's modules and indices that know them."""
        supplied = [p for n, p in self.supplied.items() if n.endswith(".ko")]
        if not supplied:
            return
        version = self.kernel.version
        with tempfile.TemporaryDirectory(prefix="kfbrick-ko.") as work:
            top = pathlib.Path(work) / "lib/modules" / version
            shutil.copytree(base / "lib/modules" / version, top,
                            copy_function=os.link
                            if same_device(base, work) else shutil.copy)
            for path in top.glob("modules.*"):
                if path.name not in initramfs.INDEX_FILES:
                    path.unlink()
            (top / "updates").mkdir()
            for path in supplied:
                shutil.copy(path, top / "updates" / path.name)
            # Most of them is debug information, which fills a small guest.
            apt.run(["strip", "--strip-debug", *top.glob("updates/*.ko")])
            apt.run(["depmod", "-b", work, version])
            for path in [*top.glob("modules.*"), *top.glob("updates/*")]:
                archive.copy(str(path.relative_to(work)), path)

    def more_modules(self, group):
        """Return what the cases ask for and the project's modules need."""
        names = case_files.union(group, "modules")
        for name, path in self.supplied.items():
            if name.endswith(".ko"):
                text = apt.run(["modinfo", "-F", "depends", str(path)])
                names += text.strip().split(",")
        return names

    def limit(self, case):
        return (self.options.timeout or case.timeout * PATIENCE) * self.slow

    def machine(self, group, role, work):
        opts = self.options
        machine = guest.Machine(max(c.mem for c in group) * (
            2 if self.slow > 1 else 1), max(c.smp for c in group),
            opts.accel, opts.icount)
        if role == "server":
            dimms = max((c.nvdimm for c in group), key=len)
            for number, dimm in enumerate(dimms):
                machine.nvdimm(number, dimm, work / f"nvdimm{number}")
            for number, size in enumerate(group[0].disk):
                machine.empty_disk(number, size, work / f"disk{number}")
        if group[0].share:
            machine.share(group[0].share)
        if group[0].guests == 2:
            machine.wire(work / "wire", role)
        if group[0].root and (self.options.system or group[0].boots > 1):
            machine.disk(rootfs.own_image(self.kernel, self.options.system,
                                          work), True)
        elif group[0].root:
            machine.disk(rootfs.image(self.kernel), False)
        return machine

    def prepare(self, group, work, boot):
        """Return the guests of a group, not yet started."""
        if self.options.shell and group[0].guests > 1:
            raise ValueError("--shell is for cases of one guest")
        sets = initramfs.expand(case_files.union(group, "needs"))
        base = initramfs.base(self.kernel, sets, self.more_modules(group),
                              case_files.union(group, "packages"),
                              case_files.union(group, "programs"))
        guests = []
        for role in ROLES[:group[0].guests]:
            over, initrd = work / f"{role}.cpio", work / f"{role}.initrd"
            self.overlay(over, group, base, role)
            with open(initrd, "wb") as out:
                for part in (base / "base.cpio", over):
                    with open(part, "rb") as file:
                        shutil.copyfileobj(file, out)
            over.unlink()
            kargs = " ".join(case_files.union(group, "kargs"))
            if group[0].root:
                kargs += f" {rootfs.KERNEL_ARGS}"
            command = self.machine(group, role, work).command(
                image.bootable(self.kernel.image), initrd,
                guest.set_boot(kargs, boot))
            guests.append(guest.Guest(role, command, work, self.options.shell,
                                      group[0].guests == 2))
        return guests

    def boot(self, group, work, heard):
        """Boot a group as often as it wants; return {role: [Result]}."""
        results = self.boot_once(group, work, 1, heard)
        for number in range(2, group[0].boots + 1):
            more = self.boot_once(group, work, number, heard)
            for role, result in results.items():
                tap.join(result, more.get(role), number)
        return results

    def boot_once(self, group, work, boot, heard):
        """Run guests to their end; return {role: [Result]}."""
        guests = self.prepare(group, work, boot)
        limit_s = BOOT_S * self.slow + sum(self.limit(c) + 10 for c in group)
        if self.options.icount:
            limit_s *= ICOUNT_FACTOR
        try:
            for one in guests:
                one.start()
            if self.options.shell:
                guests[0].process.wait()
                return {}
            wait_for_end(guests, limit_s, heard)
            rebooted = [g.role for g in guests if g.was_rebooted()]
        finally:
            for one in guests:
                one.stop()
        results = {g.role: g.results() for g in guests}
        if group[0].root and boot < group[0].boots:
            for one in guests:
                one.keep_console(boot)
                if one.role not in rebooted and results[one.role]:
                    tap.note(results[one.role][-1], "the system did not shut down")
        return results

    def emulator_failed(self, results, work):
        """Tell whether QEMU's fault ended a guest.

        A breakpoint that nobody knows of may also be what a wild jump of a
        module meets, so that one counts only before the first case.
        """
        if self.options.accel != "tcg":
            return False
        marks = [EMULATOR_HANG]
        if not all(results.values()):
            marks.append(EMULATOR_FAULT)
        return any(shows(p, m) for p in work.glob("*.console") for m in marks)

    def run_group(self, group, report):
        """Run a group; what a dying guest left undone gets a fresh one."""
        boots = BOOTS
        while group:
            work = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-vm."))
            try:
                begin = time.monotonic()
                begin_cpu = processor_s()
                heard = Heard(group, report)
                results = self.boot(group, work, heard)
                if self.options.shell:
                    return
                boots -= 1
                if boots and self.emulator_failed(results, work):
                    print("# QEMU broke the guest's kernel: once more",
                          flush=True)
                    group = group[heard.count:]
                    continue
                boots = BOOTS
                done = report.group(group, results, heard.count,
                                    time.monotonic() - begin,
                                    processor_s() - begin_cpu)
                if done.failed or self.options.keep:
                    keep_logs(group, work, bool(done.failed))
                group = group[max(done.begun, 1):]
            finally:
                shutil.rmtree(work, ignore_errors=True)


class Heard:
    """Reports the cases of a boot as they end: a boot may have many, and long ones.

    Those of two guests, and of cases that boot more than once, are whole only at
    the end of it all. count is how many cases were reported.
    """

    def __init__(self, group, report):
        self.group = group
        self.report = report
        self.is_whole = group[0].guests == 1 and group[0].boots == 1
        self.count = 0
        self.ends = 0
        self.begin = time.monotonic()

    def look(self, guests):
        """Report what has ended since the last look."""
        if not self.is_whole or guests[0].earlier:
            return
        ends = guests[0].count(tap.END_MARK)
        if ends == self.ends:
            return
        self.ends = ends
        for result in guests[0].results()[self.count:]:
            if not result.ended:
                break
            now = time.monotonic()
            self.report.heard(result, self.group[self.count], now - self.begin)
            self.count += 1
            self.begin = now


def processor_s():
    """Return the seconds of processors that all who have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shows(console, mark):
    return mark.search(console.read_text(errors="replace"))


def wait_for_end(guests, limit_s, heard):
    """Wait until all guests are done, one hangs by QEMU's fault, or it is late."""
    end = time.monotonic() + limit_s
    look = 0
    while not all(g.finished() for g in guests):
        now = time.monotonic()
        if now >= end:
            return
        if now >= look:
            look = now + HANG_POLL_S
            if any(shows(g.console, EMULATOR_HANG) for g in guests):
                return
        for one in guests:
            one.again_if_asked()
        for one, peer in itertools.permutations(guests, 2):
            one.freeze_if_asked(peer)
        heard.look(guests)
        time.sleep(POLL_S)


def add_tree(archive, folder):
    """Add a folder's files, below /vm/tree."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            archive.copy(f"vm/tree/{path.relative_to(folder)}", path)


def add_installed(archive, kernel, build):
    """Add what "meson install" installs, below /install.

    /lib of the guest's system is a link to /usr/lib. Modules that are for
    another kernel give way to those for the guest's.
    """
    with tempfile.TemporaryDirectory(prefix="kfbrick-install.") as work:
        apt.run(["meson", "install", "-C", str(build), "--no-rebuild",
                 "--quiet", "--destdir", work])
        installed = pathlib.Path(work) / "lib/modules"
        if installed.is_dir() and not (installed / kernel.version).is_dir():
            shutil.rmtree(installed)
            folder = installed / kernel.version / "updates/kfbrick"
            folder.mkdir(parents=True)
            modules.build(kernel, build, ["--copy-to", folder])
        for path in sorted(pathlib.Path(work).rglob("*")):
            name = str(path.relative_to(work))
            if path.is_file():
                name = f"usr/{name}" if name.startswith("lib/") else name
                archive.copy(f"install/{name}", path)


def same_device(one, two):
    return os.stat(one).st_dev == os.stat(two).st_dev


def keep_logs(group, work, failed):
    name = time.strftime("%Y%m%d-%H%M%S-") + f"{group[0].name}-{os.getpid()}"
    target = cache.root() / "logs" / name
    target.mkdir(parents=True, exist_ok=True)
    for path in work.iterdir():
        if path.suffix in (".console", ".tap", ".dmesg", ".qemu"):
            shutil.copy(path, target)
    cache.trim("logs", LOGS_KEPT)
    print(f"# {'failed, see' if failed else 'logs are in'} {target}")
    for path in sorted(target.glob("*.console")) if failed else []:
        for line in path.read_text(errors="replace").splitlines()[-5:]:
            print(f"# {path.name}: {line}")


def supplied_files(options, programs):
    """Return the project's own files by name."""
    found = {}
    for top in options.modules:
        for path in sorted(pathlib.Path(top).rglob("*.ko")):
            found[path.name] = path
    for path in options.bin:
        found[os.path.basename(path)] = pathlib.Path(path)
    for path in built(options.build) if options.build else []:
        if path.name in programs and os.access(path, os.X_OK):
            found.setdefault(path.name, path)
    return found


def built(build):
    """Yield the files that a build makes, but none of other builds that tests have in it."""
    targets = pathlib.Path(build) / "meson-info/intro-targets.json"
    for target in json.loads(targets.read_text()):
        yield from map(pathlib.Path, target["filename"])
