# SPDX-License-Identifier: BSD-2-Clause
"""One QEMU process: its command line, its console files, its end.

Lifetime: a guest dies with the runner, however the runner ends; the kernel
sees to it (PR_SET_PDEATHSIG).
"""
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile

from . import cache, tap

QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
SECTOR_BYTES = 512
PROBE_S = 10
PROBE_PORT = 0xF4
PROBE_STATUS = (0x15 << 1) | 1
# mov ecx, 100000000; dec ecx; jnz to dec; mov al, 0x15; out 0xf4, al; hlt
BOOT_SECTOR_CODE = (b"\x66\xb9\x00\xe1\xf5\x05" b"\x66\x49" b"\x75\xfc"
                    b"\xb0\x15" b"\xe6\xf4" b"\xf4")
END_GRACE_S = 5
DONE_MARK = b"@done"
# What a case prints to be killed with its guest, which is booted once more.
AGAIN_MARK = b"@again"
# What it prints to have the other guest of its pair stopped, and let go on.
FREEZE_MARK, THAW_MARK = "@freeze", "@thaw"
# What a kernel says last when its system was shut down for a reboot.
RESTART_MARK = b"reboot: Restarting system"
HOTPLUG = ",slots=8,maxmem=64G"
KERNEL_ARGS = ("console=ttyS0 loglevel=5 panic=-1 oops=panic log_buf_len=4M "
               "rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 "
               "printk.devkmsg=on no_timer_check "
               "sysctl.kernel.hung_task_timeout_secs=300")
# Costs an emulated CPU much and tests nothing of ours: "rep movsb" is emulated
# byte by byte, retpolines defeat the chaining of translated blocks. The clock
# stays the HPET: Linux takes the TSC's rate for another one on a busy machine.
# With five levels of page tables KASAN calls an interrupt wild that comes while
# the boot CPU's features are read: for that moment there seem to be four.
TCG_CPU = "max,-erms,-fsrm,-la57"
TCG_ARGS = "mitigations=off"


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kvm_works():
    """Tell whether KVM runs code; asked once for each boot of this machine.

    Being able to make a virtual machine says little: on some builders it is
    emulated, and Linux gets nowhere. So a boot sector is run that counts to
    a hundred million, far too many for an emulator, and ends QEMU.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    stamp = cache.root() / f"kvm-{boot}"
    with cache.lock("kvm"):
        if not stamp.exists():
            for old in cache.root().glob("kvm-*"):
                old.unlink(missing_ok=True)
            stamp.write_text("yes" if probe("kvm") else "no")
        return stamp.read_text() == "yes"


def probe(accel):
    """Run the boot sector; say whether it reached its end."""
    with tempfile.NamedTemporaryFile(prefix="kfbrick-probe.") as disk:
        code = BOOT_SECTOR_CODE.ljust(SECTOR_BYTES - 2, b"\0")
        disk.write(code + b"\x55\xaa")
        disk.flush()
        try:
            done = subprocess.run(
                [QEMU, "-nodefaults", "-display", "none", "-machine", "pc",
                 "-accel", accel, "-cpu", "max", "-device",
                 f"isa-debug-exit,iobase={PROBE_PORT:#x},iosize=4", "-drive",
                 f"format=raw,snapshot=on,file={disk.name}"],
                capture_output=True, timeout=PROBE_S, check=False,
                preexec_fn=_die_with_parent)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == PROBE_STATUS


def set_boot(words, number):
    """Return a kernel's command line that says which boot this is."""
    return " ".join([w for w in words.split() if not w.startswith("vm_boot=")]
                    + [f"vm_boot={number}"])


class Machine:
    """What a guest's hardware is to be; paths are below the run's folder."""

    def __init__(self, mem, smp, accel, icount=False):
        self.mem = mem
        self.smp = 1 if icount else smp
        self.accel = accel
        self.icount = icount
        self.args = []
        self.options = ["q35"]
        self.memory = f"{mem}M"

    def nvdimm(self, number, dimm, path):
        if not path.exists():
            path.touch()
            scale = 1 << (30 if dimm.size[-1] == "G" else 20)
            os.truncate(path, int(dimm.size[:-1]) * scale)
        if "nvdimm=on" not in self.options:
            self.options.append("nvdimm=on")
            self.memory += HOTPLUG
            if dimm.persist:
                self.options.append(f"nvdimm-persistence={dimm.persist}")
        label = f",label-size={dimm.label}" if dimm.label else ""
        self.args += [
            "-object", f"memory-backend-file,id=pmem{number},share=on,"
            f"mem-path={path},size={dimm.size},align={dimm.align}",
            "-device", f"nvdimm,id=nv{number},memdev=pmem{number}{label}"]

    def disk(self, path, keep):
        """Give it a disk; what it writes there stays or goes with the guest."""
        snapshot = "off" if keep else "on"
        self.args += ["-drive", f"file={path},if=none,id=disk,format=raw,"
                      f"snapshot={snapshot},cache=unsafe",
                      "-device", "virtio-blk-pci,drive=disk"]

    def empty_disk(self, number, size, path):
        """Give it one more disk, empty at its first boot."""
        if not path.exists():
            path.touch()
            os.truncate(path, int(size[:-1]) * (1 << (30 if size[-1] == "G"
                                                      else 20)))
        self.args += ["-drive", f"file={path},if=none,id=more{number},"
                      "format=raw,cache=unsafe,discard=unmap",
                      "-device", f"virtio-blk-pci,drive=more{number},"
                      f"serial=more{number}"]

    def share(self, folder):
        """Give it a folder of this machine, to read and to write."""
        self.args += ["-virtfs", f"local,path={folder},mount_tag=share,"
                      "security_model=none,multidevs=remap"]

    def wire(self, path, role):
        """Join this guest to its peer by a datagram socket of each."""
        ends = [f"{path}.server", f"{path}.client"]
        if role == "client":
            ends.reverse()
        last = 2 if role == "client" else 1
        self.args += [
            "-netdev", f"dgram,id=wire,local.type=unix,local.path={ends[0]},"
            f"remote.type=unix,remote.path={ends[1]}",
            "-device", "virtio-net-pci,netdev=wire,"
            f"mac=52:54:00:00:00:0{last}"]

    def command(self, kernel, initrd, kargs):
        accel, cpu, args = self.accel, "max", KERNEL_ARGS
        if self.icount:
            # What was measured so far was measured on this CPU.
            accel = "tcg,thread=single"
        elif accel == "tcg":
            accel, cpu = "tcg,thread=multi", TCG_CPU
            args += f" {TCG_ARGS}"
        cmd = [QEMU, "-nodefaults", "-no-user-config", "-display", "none",
               "-no-reboot", "-machine", ",".join(self.options),
               "-accel", accel, "-cpu", cpu, "-smp", str(self.smp),
               "-m", self.memory, "-device", "virtio-rng-pci",
               "-kernel", str(kernel), "-initrd", str(initrd),
               "-append", f"{args} {kargs}", *self.args]
        if self.icount:
            cmd += ["-icount", "shift=0,sleep=off", "-rtc",
                    "clock=vm,base=2026-01-01"]
        return cmd


class Guest:
    """A running guest; use as a context so that it is reaped."""

    def __init__(self, role, command, folder, shell=False, paired=False):
        self.role = role
        self.paired = paired
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.console = self.folder / f"{role}.console"
        self.tap = self.folder / f"{role}.tap"
        self.log = self.folder / f"{role}.dmesg"
        self.errors = self.folder / f"{role}.qemu"
        self.process = None
        self.is_frozen = False
        self.earlier = []
        ports = [self.console, self.tap, self.log]
        self.command = list(command)
        if shell:
            self.command += ["-serial", "mon:stdio"]
            ports = ports[1:]
        for path in ports:
            path.write_bytes(b"")
            self.command += ["-serial", f"file:{path}"]
        self.shell = shell

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def start(self):
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                self.command, preexec_fn=_die_with_parent,
                stdin=None if self.shell else subprocess.DEVNULL,
                stdout=None if self.shell else errors,
                stderr=None if self.shell else errors)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def was_rebooted(self):
        """Tell whether the system has shut down by itself, and to boot again."""
        return not self.alive() and RESTART_MARK in self.console.read_bytes()

    def ends_with(self, mark):
        return mark in self.tap.read_bytes()[-len(mark) - 2:]

    def count(self, mark):
        """Return how many whole lines of its cases begin with a mark."""
        return self.tap.read_bytes().rpartition(b"\n")[0].count(b"\n" + mark.encode())

    def finished(self):
        """Tell whether it is dead, or one of a pair whose cases are done."""
        if not self.alive():
            return True
        return self.ends_with(DONE_MARK) and self.paired

    def freeze_if_asked(self, peer):
        """Stop the other guest, or let it go on, if this one's case says so."""
        wanted = self.count(FREEZE_MARK) > self.count(THAW_MARK)
        if wanted == peer.is_frozen or not peer.alive():
            return
        peer.process.send_signal(signal.SIGSTOP if wanted else signal.SIGCONT)
        peer.is_frozen = wanted

    def again_if_asked(self):
        """Kill the guest and boot it once more, if its case says so."""
        if not self.alive() or not self.ends_with(AGAIN_MARK):
            return
        self.process.kill()
        self.process.wait()
        self.earlier.append(self.lines())
        self.keep_console(len(self.earlier))
        self.tap.write_bytes(b"")
        at = self.command.index("-append") + 1
        self.command[at] = set_boot(self.command[at], len(self.earlier) + 1)
        self.start()

    def keep_console(self, boot):
        """Put aside what the console said in a boot, before the next one."""
        path = self.folder / f"{self.role}-{boot}.console"
        path.write_bytes(self.console.read_bytes())

    def results(self):
        """Return the results of its cases; of all boots, if there are more.

        A boot that ended because its case wanted it so is whole.
        """
        first, *more = [tap.parse(l) for l in [*self.earlier, self.lines()]]
        for number, results in enumerate(more, 2):
            for result in first:
                result.ended = True
            tap.join(first, results, number)
        return first

    def stop(self):
        if not self.alive():
            return
        self.process.terminate()
        try:
            self.process.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def lines(self):
        text = self.tap.read_bytes().decode(errors="replace")
        return text.replace("\r", "").splitlines()
