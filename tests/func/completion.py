#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The completions of bash, zsh and fish, in those shells, and what only a brick knows."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import lab

TOP = pathlib.Path(__file__).parents[2]
PLACE = TOP / "initiator/brickctl/completion"
DEADLINE_S = 60
# Then the key is pressed again: what asks the brick may have given up.
AGAIN_S = 5
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()=>][B0]?|\][^\x07]*\x07)|\r|\x07|\x00")


class Terminal:
    """A shell at a terminal."""

    def __init__(self, words, env):
        self.screen = ""
        pid, self.fd = pty.fork()
        if not pid:
            os.execvpe(words[0], words, env)
        self.pid = pid

    def type(self, text):
        os.write(self.fd, text.encode())

    def look(self, wait_s=0.1):
        """What has come since."""
        until = time.monotonic() + wait_s
        while time.monotonic() < until and \
                select.select([self.fd], [], [], until - time.monotonic())[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            self.screen += ESCAPES.sub("", data.decode(errors="replace"))
            # What is written over.
            while re.search("[^\x08]\x08", self.screen):
                self.screen = re.sub("[^\x08]\x08", "", self.screen)

    def shows(self, text, deadline_s=DEADLINE_S):
        until = time.monotonic() + deadline_s
        while text not in self.screen and time.monotonic() < until:
            self.look()
        return text in self.screen

    def clear(self):
        self.screen = ""

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "admin.sock"
        self.b = self.brick(clients={"alice": ["0x0+1T rw"], "bob": ["0x0+1T rw"]},
                            settings=f"admin = {self.path}")
        self.b.start()
        self.b.make_key("alice")
        config = self.folder / "kfbrick"
        config.mkdir()
        (config / "brickctl.conf").write_text(
            f"[brickctl]\nbrick = {self.b.url}\nclient = alice\nkey-file = {self.b.key('alice')}\n")
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "brickctl").symlink_to(lab.BRICKCTL)
        self.env = {**lab.environment(), "XDG_CONFIG_HOME": str(self.folder),
                    "HOME": str(self.folder), "TERM": "vt100", "LC_ALL": "C.UTF-8",
                    "PATH": f"{programs}:{os.environ['PATH']}"}
        self.env.pop("KFBRICK", None)
        self.ok(self.b.ctl("alloc", "0x400000+3", client="alice"))

    def complete(self, *words):
        done = subprocess.run(
            [lab.BRICKCTL, "complete", "--", *map(str, words)], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env,
            timeout=lab.COMMAND_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [line.split("\t")[0] for line in done.stdout.decode().splitlines()]

    def completes(self, wanted, *words):
        """Who is not answered soon enough completes nothing, that once."""
        self.until(lambda: sorted(set(self.complete(*words))) == wanted,
                   f"{wanted} for {words}")

    def hold(self):
        held = subprocess.Popen(
            [lab.BRICKCTL, "--json", "map", "0x400000+1"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.env)
        self.addCleanup(held.stdout.close)
        self.addCleanup(held.stderr.close)
        self.addCleanup(held.wait)
        self.addCleanup(held.kill)
        line = held.stdout.readline()
        self.assertIn(b"mapping_id", line)
        return re.search(rb'"mapping_id":\s*"(\w+)"', line)[1].decode()

    def test_addresses_are_those_that_are_allocated(self):
        self.completes(["0x400000+3"], "free", "")
        self.completes(["0x400000+3"], "tier", "pin", "0x4")
        self.completes(["0x400000"], "write", "")
        self.assertEqual(self.complete("write", "0x5"), [])
        self.assertEqual(self.complete("alloc", ""), [])

    def test_mappings_sessions_and_clients_are_those_that_there_are(self):
        mapping = self.hold()
        admin = ("--admin", self.path)
        self.completes([mapping], "unmap", "")
        held, = self.only_sessions(self.path, 1)
        self.completes([held["session"]], *admin, "evict", "")
        self.completes(["alice", "bob"], *admin, "evict", "--all", "")
        self.completes(["bob"], *admin, "--client", "b")

    def test_clients_that_can_be_fenced_are_those_of_the_brick(self):
        for command in "fence", "admit", "clients":
            # A client that is no fencer learns no names.
            self.assertEqual(self.complete(command, ""), [])
        self.b.stop()
        self.b.settings += f"\nfences = {self.folder / 'fences'}"
        self.b.roles = {"alice": "fencer"}
        self.b.start()
        for command in "fence", "admit", "clients":
            self.completes(["alice", "bob"], command, "")
            self.completes(["bob"], command, "b")

    def test_actions_and_types_of_reservations_are_offered(self):
        self.completes(["register", "release", "reserve"], "reserve", "re")
        self.completes(["exclusive-access", "exclusive-access-all-regs",
                        "exclusive-access-reg-only"], "reserve", "reserve", "0x0+1", "--type", "e")

    def test_who_cannot_be_asked_says_nothing_and_takes_no_time(self):
        self.b.stop()
        begun = time.monotonic()
        for words in (("free", ""), ("evict", ""), ("--admin", "/nowhere", "evict", ""),
                      ("unmap", "0"), ("detach", "no-disk")):
            self.assertEqual(self.complete(*words), [])
        self.assertLess(time.monotonic() - begun, DEADLINE_S)

    def shell(self, *words):
        if not shutil.which(words[0]):
            self.skipTest(f"{words[0]} is not installed")
        terminal = Terminal(words, self.env)
        self.addCleanup(terminal.close)
        return terminal

    def try_shell(self, terminal):
        """Completes a command, an option, a value and what the brick has."""
        for typed, wanted in (("brickctl unm\t", "brickctl unmap "),
                              ("brickctl bench --hist\t", "bench --histogram "),
                              ("brickctl bench --op dur\t", "--op durable "),
                              ("brickctl --brick " + self.b.url + " fre\t",
                               self.b.url + " free "),
                              ("brickctl free 0x\t", "free 0x400000+3 ")):
            terminal.clear()
            terminal.type(typed)
            self.until(lambda wanted=wanted: terminal.shows(wanted, AGAIN_S)
                       or terminal.type("\t"), (typed, terminal.screen))
            terminal.type("\x15")

    def test_bash_completes(self):
        bash = self.shell("bash", "--norc", "--noprofile", "-i")
        bash.type(f"PS1='> '; bind 'set bell-style none'; . {PLACE}/brickctl && echo re''ady\n")
        self.assertTrue(bash.shows("ready"), bash.screen)
        self.try_shell(bash)

    def test_zsh_completes(self):
        zsh = self.shell("zsh", "-f", "-i")
        zsh.type(f"PS1='> '; fpath=({PLACE} $fpath); autoload -U compinit; "
                 f"compinit -u -D && echo re''ady\n")
        self.assertTrue(zsh.shows("ready"), zsh.screen)
        self.try_shell(zsh)

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        for typed, wanted in (("brickctl unm", "unmap\tEnds a mapping"),
                              ("brickctl bench --hist", "--histogram"),
                              ("brickctl bench --op dur", "durable"),
                              (f"brickctl --brick {self.b.url} fre", "free\t"),
                              ("brickctl free 0x", "0x400000+3")):
            self.until(lambda words=(typed, wanted): words[1] in self.fish(words[0]), typed)

    def fish(self, typed):
        done = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source {PLACE}/brickctl.fish; complete -C '{typed}'"],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.env, timeout=lab.COMMAND_S)
        return done.stdout.decode()


if __name__ == "__main__":
    lab.main()
