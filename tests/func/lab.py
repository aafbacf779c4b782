# SPDX-License-Identifier: BSD-2-Clause
"""What the functional tests share: a brick in a temporary folder.

The programs come from the environment, set by tests/func/meson.build: BRICKD,
BRICKCTL and the folder FUNC_BIN of the tests' own programs. KFB_LISTEN is where
bricks listen, for other fabrics than tcp over loopback; KFB_STORE is a device
for the tests that keep a store over a kill; with KFB_TAP set results are
printed as TAP. A brick listens on an ephemeral port that it keeps over
restarts: it is bound here as well, so that nobody else gets it. Everything that
was started is stopped by its pid when the test ends, also by an interrupt.
"""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

BRICKD = os.environ["BRICKD"]
BRICKCTL = os.environ["BRICKCTL"]
FUNC_BIN = pathlib.Path(os.environ["FUNC_BIN"])
LISTEN = os.environ.get("KFB_LISTEN", "tcp://127.0.0.1")

MIB = 1 << 20
BLOCK = 2 * MIB
READY_S = 60
STOP_S = 60
COMMAND_S = 300
# Of brickctl, for a brick that has to wait for a processor or a disk.
PATIENCE = ["--timeout", "60"]
PROMOTE_WAIT_MS = 60000
COMES_S = 90
TICK_S = 0.02
# The number of what brickctl's JSON looks like.
SCHEMA = 1
# What brickd must never have to say, whatever peers do.
FAULT_MARKS = (b"does not close", b"illegal move", b"do not add up", b"could not be encoded")
SANITIZER_MARKS = (b"ERROR: AddressSanitizer", b"ThreadSanitizer:",
                   b"runtime error:", b"LeakSanitizer")


def environment():
    env = dict(os.environ)
    env.update(IPATH_NO_BACKTRACE="1", HFI_NO_BACKTRACE="1", LC_ALL="C")
    env.pop("KFBRICK", None)
    env["HOME"] = "/dev/null"  # nothing is written there, by root either
    return env


def run(*words, stdin=None, timeout=COMMAND_S):
    """Runs a program to its end; standard output and error as bytes."""
    return subprocess.run([str(w) for w in words], input=stdin or b"",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False, env=environment())


def why_no_loop():
    """Why there are no loop devices, or None."""
    if os.geteuid():
        return "loop devices take root"
    if not shutil.which("losetup"):
        return "there is no losetup"
    done = run("losetup", "--find")
    if done.returncode:
        return done.stderr.decode().strip() or "no loop device is free"
    return None


def read_json(text):
    """An object as brickctl prints it, without the number of its schema."""
    found = json.loads(text)
    if found.pop("schema") != SCHEMA:
        raise ValueError(text)
    return found


class Brick:
    """One store, its configuration, and brickd when it runs."""

    def __init__(self, folder, size="64M", clients=None, settings="", fmt=(),
                 device=None, program=BRICKD, slow_size=None, slow=None, store=None,
                 listen=LISTEN, inside=(), from_inside=()):
        self.program = program
        # Where it listens, and the words before a command that put brickd and
        # its clients into other namespaces.
        self.listen = listen
        self.inside = list(inside)
        self.from_inside = list(from_inside)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.store = pathlib.Path(device or store or self.folder / "store")
        self.conf = self.folder / "brickd.conf"
        self.log = self.folder / "brickd.log"
        self.clients = clients or {"a": ["0x0+1T rw"]}
        # By client: its settings.
        self.quotas = {}
        self.rates = {}
        self.roles = {}
        self.groups = {}
        self.settings = settings
        # A file that is made, or a block device.
        self.slow = self.folder / "slow" if slow_size else slow
        self.port = 0
        self.kept = None
        self.process = None
        # Of brickd alone.
        self.environment = {}
        for name in self.clients:
            self.make_key(name)
        if device or size:
            room = ["--force"] if device else ["--size", size]
            if slow:
                room.append("--force")
            if self.slow:
                room += ["--slow", self.slow]
            if slow_size:
                room += ["--slow-size", slow_size]
            done = run(BRICKD, "format", self.store, *room, *fmt)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())

    def make_key(self, name):
        path = self.key(name)
        if not path.exists():
            done = run(BRICKCTL, "keygen", path)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())

    def key(self, name):
        return self.folder / f"{name}.key"

    @property
    def url(self):
        return f"{self.listen}:{self.port}"

    def configure(self):
        lines = ["[brick]", f"store = {self.store}",
                 f"listen = {self.url}", self.settings]
        if self.slow:
            lines.append(f"slow = {self.slow}")
            if "promote-wait-ms" not in self.settings:
                lines.append(f"promote-wait-ms = {PROMOTE_WAIT_MS}")
        for name, grants in self.clients.items():
            lines += [f"[client {name}]", f"key-file = {self.key(name)}"]
            lines += [f"grant = {grant}" for grant in grants]
            if name in self.quotas:
                lines.append(f"quota = {self.quotas[name]}")
            lines += [f"rate-{what} = {rate}" for what, rate in self.rates.get(name, {}).items()]
            if name in self.roles:
                lines.append(f"role = {self.roles[name]}")
            if name in self.groups:
                lines.append(f"group = {self.groups[name]}")
        self.conf.write_text("\n".join(lines) + "\n")

    def keep_port(self):
        """While nobody listens there it could be given to somebody else."""
        if self.kept or self.inside or not self.listen.endswith("//127.0.0.1"):
            return
        self.kept = socket.socket()
        self.kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.kept.bind(("127.0.0.1", self.port))
        self.port = self.kept.getsockname()[1]

    def start(self, stderr=None):
        """Starts brickd and waits until it listens."""
        self.keep_port()
        self.configure()
        # Marks of failed syncs go there, not to the host's.
        env = environment() | {"RUNTIME_DIRECTORY": str(self.folder / "run")}
        ready, ready_w = os.pipe()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, str(self.program), "--config", str(self.conf), "--ready-fd", str(ready_w)],
                stdin=subprocess.DEVNULL, stdout=log,
                stderr=log if stderr is None else stderr, pass_fds=[ready_w],
                env=env | self.environment)
        os.close(ready_w)
        said = b""
        while not said.endswith(b"\n"):
            if not select.select([ready], [], [], READY_S)[0]:
                break
            piece = os.read(ready, 64)
            if not piece:
                break
            said += piece
        os.close(ready)
        if not said.endswith(b"\n"):
            self.kill()
            raise RuntimeError("brickd did not get ready:\n" + self.log_text())
        self.port = int(said)
        return self

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self):
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=STOP_S)
        self.process = None
        return status

    def close(self):
        self.kill()
        if self.kept:
            self.kept.close()

    def ctl(self, *words, client="a", stdin=None, key=None, timeout=COMMAND_S):
        who = [*PATIENCE, "--client", client, "--key-file", str(key or self.key(client))]
        return run(*self.from_inside, BRICKCTL, "--brick", self.url, *who, *words,
                   stdin=stdin, timeout=timeout)

    def json(self, *words, client="a"):
        done = self.ctl("--json", *words, client=client)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return read_json(done.stdout)

    def allocated(self, client="a"):
        """The allocated extents as (address, blocks)."""
        extents = self.json("list", "allocated", client=client)["extents"]
        return [(int(e["va"], 16), e["n_blocks"]) for e in extents]


class FuncTest(unittest.TestCase):
    """A test with a temporary folder and bricks that end with it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bricks = []

    def tearDown(self):
        for brick in self.bricks:
            brick.close()
            log = brick.log_text().encode()
            for mark in SANITIZER_MARKS + FAULT_MARKS:
                self.assertNotIn(mark, log, brick.log_text())

    def brick(self, name="brick", **parameters):
        brick = Brick(self.folder / name, **parameters)
        self.bricks.append(brick)
        return brick

    def proc_of(self, brick):
        """The folder of its process in /proc, where only root sees all: it is not dumpable."""
        if os.geteuid():
            self.skipTest("only root can look into brickd")
        return pathlib.Path(f"/proc/{brick.process.pid}")

    def until(self, is_true, what=None):
        """Wait for what the bricks bring about by themselves."""
        end = time.monotonic() + COMES_S
        while not is_true():
            if time.monotonic() >= end:
                logs = "".join(brick.log_text() for brick in self.bricks)
                self.fail(f"does not come about: {what or 'what is waited for'}\n{logs}")
            time.sleep(TICK_S)

    def only_sessions(self, admin, n):
        """The sessions at a brick's admin socket, once there are n of them.

        A session ends after its client has ended: how long after is the brick's matter.
        """
        found = []

        def are_there():
            listed = self.ok(run(BRICKCTL, "--admin", admin, "--json", "sessions"))
            found[:] = read_json(listed)["sessions"]
            return len(found) == n
        self.until(are_there, f"{n} sessions")
        return found

    def loop(self, mib, name="disk"):
        """A block device of so many MiB, and the file below it."""
        reason = why_no_loop()
        if reason:
            self.skipTest(reason)
        file = self.folder / name
        with open(file, "wb") as disk:
            disk.truncate(mib * MIB)
        device = self.ok(run("losetup", "--find", "--show", file)).decode().strip()
        self.addCleanup(run, "losetup", "--detach", device)
        return device, file

    def ok(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def refused(self, done, status, *words):
        """The command failed with this exit status and said these words."""
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        for word in words:
            self.assertIn(word, text)
        self.assertNotIn(b"Sanitizer", done.stderr)


class TapResult(unittest.TestResult):
    """Prints each result as it comes."""

    def point(self, verdict, test, notes=""):
        print(f"{verdict} {self.testsRun} - {test.id().split('.')[-1]}", flush=True)
        for line in notes.splitlines():
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.point("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"ok {self.testsRun} - {test.id().split('.')[-1]} # SKIP {reason}",
              flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.point("not ok", test, "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        super().addError(test, err)
        self.point("not ok", test, "".join(traceback.format_exception(*err)))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.point("not ok", test, "".join(traceback.format_exception(*err)))


class TapRunner:
    def run(self, suite):
        result = TapResult()
        suite.run(result)
        print(f"1..{result.testsRun}", flush=True)
        return result


def main():
    def interrupted(*_):
        sys.exit(130)
    signal.signal(signal.SIGTERM, interrupted)
    if os.environ.get("KFB_TAP"):
        unittest.main(testRunner=TapRunner())
    unittest.main(verbosity=2)
