#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ocf:kfbrick:disk, as cluster managers run it: parameters in the environment.

What the driver shows of its disks is a tree of files here, and brickctl a stub that
changes them.
"""
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import lab

AGENT = pathlib.Path(os.environ["OCF_AGENT"])
SUCCESS, GENERIC, ARGS, UNIMPLEMENTED, PERM, INSTALLED, CONFIGURED, NOT_RUNNING = range(8)
ACTIONS = ["start", "stop", "monitor", "validate-all", "meta-data"]
GONE = ""
WAITING = ("attaching", "connecting", "replaying")
OVER = ("failed", "lossy", "dead")
STATES = (GONE, "up", *WAITING, *OVER, "detaching")
# A program of these does what the file of its name, or brickctl's of its first
# word, says, and its words are kept.
STUB = """#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\n'; } >>"$STUB/calls"
what=${0##*/}
[ "$what" != brickctl ] || what=$1
. "$STUB/$what"
"""
# Options of brickctl attach that no resource has: --resize is another disk's business,
# and an order to a driver has no use for the rest.
NOT_TAKEN = {"--resize", "--json", "--quiet", "--help", "--version", "--admin"}


class Agent(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.stub = self.folder / "stub"
        self.root = self.folder / "root"
        (self.root / "dev").mkdir(parents=True)
        (self.root / "dev/kfbrick-control").touch()
        (self.stub / "bin").mkdir(parents=True)
        for name in "brickctl", "sleep", "id":
            (self.stub / "bin" / name).write_text(STUB)
            (self.stub / "bin" / name).chmod(0o755)
        self.calls()
        self.does("id", "echo 0")
        self.does("sleep", "exit 1")
        self.does("attach", "exit 1")
        self.does("detach", 'rm -r "$ROOT/sys/block/$2"')
        self.key = self.folder / "key"
        self.key.touch()
        # A node where brickctl is not installed.
        self.without = {"BRICKCTL": str(self.folder / "none")}
        self.given = {"brick": "verbs://10.0.0.1", "name": "data", "size": "10G"}

    def does(self, what, script):
        (self.stub / what).write_text(script + "\n")

    def sysfs(self, disk="kfbrick0"):
        return self.root / "sys/block" / disk / "kfbrick"

    def disk(self, state, name="data", disk="kfbrick0", last_error=""):
        """A disk, as the driver shows it."""
        if state == GONE:
            return
        self.sysfs(disk).mkdir(parents=True, exist_ok=True)
        for attribute, text in ("name", name), ("state", state), ("last_error", last_error):
            (self.sysfs(disk) / attribute).write_text(f"{text}\n" if text else "")
        (self.root / "dev" / disk).touch()

    def attaches(self, state="up", disk="kfbrick0"):
        """What brickctl attach does from now on."""
        at = self.sysfs(disk)
        self.does("attach", f"mkdir -p {at} && echo data >{at}/name && echo {state} >{at}/state &&"
                  f" : >{self.root}/dev/{disk} && echo /dev/{disk}")

    def act(self, action, status=SUCCESS, level=None, env=None, **changed):
        """Its standard error, or what meta-data and usage print."""
        given = {k: v for k, v in (self.given | changed).items() if v is not None}
        full = lab.environment() | {
            "OCF_ROOT": "/usr/lib/ocf", "OCF_RA_VERSION_MAJOR": "1", "OCF_RA_VERSION_MINOR": "1",
            "OCF_RESOURCE_INSTANCE": "data", "OCF_RESOURCE_PROVIDER": "kfbrick",
            "OCF_RESOURCE_TYPE": "disk", "OCF_RESKEY_CRM_meta_timeout": "300000",
            "BRICKCTL": str(self.stub / "bin/brickctl"), "KFBRICK_ROOT": str(self.root),
            "ROOT": str(self.root), "STUB": str(self.stub),
            "PATH": f"{self.stub}/bin:{os.environ['PATH']}"}
        full |= {f"OCF_RESKEY_{k}": str(v) for k, v in given.items()}
        if level is not None:
            full["OCF_CHECK_LEVEL"] = str(level)
        done = subprocess.run([AGENT, *action.split()], env=full | (env or {}), cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=lab.COMMAND_S, check=False)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{action} {changed}: {said}")
        if status not in (SUCCESS, NOT_RUNNING):
            self.assertIn("ocf-exit-reason:", said)
        return said + done.stdout.decode()

    def calls(self, *programs):
        """The words of each call since the last look."""
        kept = self.stub / "calls"
        text = kept.read_text() if kept.exists() else ""
        kept.write_text("")
        found = [line.split("\0") for line in text.split("\0\n")[:-1]]
        return [words for words in found if words[0] in programs]

    def clear(self):
        for at in (self.root / "sys/block").glob("*"):
            lab.run("rm", "-r", at)
        self.calls()

    def test_monitor_says_for_each_state_what_it_is(self):
        want = {GONE: NOT_RUNNING, "up": SUCCESS, **dict.fromkeys(WAITING, SUCCESS),
                **dict.fromkeys((*OVER, "detaching"), GENERIC)}
        self.assertEqual(set(want), set(STATES))
        for state, status in want.items():
            self.clear()
            self.disk("up", name="other", disk="kfbrick7")
            self.disk(state, last_error="the brick is away")
            said = self.act("monitor", status)
            self.assertEqual("the brick is away" in said, state not in (GONE, "up"), said)
            self.assertEqual(self.calls("brickctl"), [])
        # Neither brickctl nor the driver has to be there where nothing runs.
        self.clear()
        self.act("monitor", NOT_RUNNING, env=self.without)
        # A disk that goes away while it is looked at is not stopped yet.
        self.disk("up")
        (self.sysfs() / "state").unlink()
        self.act("monitor", GENERIC)
        (self.sysfs() / "state").touch()
        self.act("monitor", GENERIC)

    def test_start_attaches_what_is_not_there_and_waits_until_it_is_up(self):
        self.attaches()
        self.act("start")
        self.assertEqual(self.calls("brickctl"), [[
            "brickctl", "attach", "--quiet", "--wait-s=60", "--brick=verbs://10.0.0.1", "--name=data",
            "--base=0x0", "--size=10G", "--fail=io-error"]])
        self.act("start")
        self.assertEqual(self.calls("brickctl"), [])
        self.act("monitor")
        # It waits for the disk to be up, and for the names that udev makes where it runs.
        for state in WAITING:
            self.clear()
            self.disk(state)
            self.does("sleep", f"echo up >{self.sysfs()}/state")
            self.act("start")
            self.assertEqual(len(self.calls("sleep")), 1)
        for missing in "kfbrick0", "kfbrick/data":
            (self.root / "dev/kfbrick").mkdir(exist_ok=True)
            (self.root / "dev/kfbrick/data").touch()
            (self.root / "run/udev").mkdir(parents=True, exist_ok=True)
            (self.root / "run/udev/control").touch()
            (self.root / "dev" / missing).unlink()
            self.does("sleep", f": >{self.root}/dev/{missing}")
            self.act("start")
            self.assertEqual(len(self.calls("sleep")), 1, missing)

    def test_start_says_why_there_is_no_disk_that_is_up(self):
        for state in (*OVER, "detaching"):
            self.clear()
            self.disk(state, last_error="the brick is away")
            self.assertIn("the brick is away", self.act("start", GENERIC))
            self.assertEqual(self.calls("brickctl"), [])
            # Likewise when it comes to that while start waits.
            self.disk("connecting")
            self.does("sleep", f"echo {state} >{self.sysfs()}/state")
            self.assertIn(state, self.act("start", GENERIC))
        self.disk("connecting")
        self.does("sleep", f"rm -r {self.sysfs()}")
        self.assertIn("has gone", self.act("start", GENERIC))
        self.clear()
        # What brickctl says is what is said, and its status which of the errors it is.
        for failed, status in (1, GENERIC), (2, ARGS), (3, GENERIC), (4, GENERIC):
            self.does("attach", f"echo no such luck >&2; exit {failed}")
            self.assertIn("no such luck", self.act("start", status))
            self.assertEqual(len(self.calls("brickctl")), 1)
        self.clear()
        (self.root / "dev/kfbrick-control").unlink()
        self.does("attach", "echo run modprobe kfbrick >&2; exit 2")
        self.assertIn("modprobe", self.act("start", INSTALLED))
        self.calls()
        self.act("start", INSTALLED, env=self.without)
        self.act("start", INSTALLED, env={"BRICKCTL": str(self.folder)})
        self.does("id", "echo 1000")
        self.act("start", PERM)
        self.assertEqual(self.calls("brickctl"), [])

    def test_stop_detaches_what_nobody_has_open_and_tells_of_losses(self):
        want = {GONE: SUCCESS, "up": SUCCESS, **dict.fromkeys(WAITING, SUCCESS),
                "failed": SUCCESS, "lossy": GENERIC, "dead": GENERIC, "detaching": GENERIC}
        self.assertEqual(set(want), set(STATES))
        for state, status in want.items():
            self.clear()
            self.disk("up", name="other", disk="kfbrick7")
            self.disk(state, last_error="the brick is away", disk="kfbrick3")
            said = self.act("stop", status)
            self.assertEqual("the brick is away" in said, state in ("lossy", "dead"), said)
            self.assertEqual(self.calls("brickctl"), [] if state in (GONE, "detaching")
                             else [["brickctl", "detach", "kfbrick3"]])
            self.assertTrue(self.sysfs("kfbrick7").exists())
            if state != "detaching":
                # It is stopped, and that is what the next ones say.
                self.act("stop")
                self.act("monitor", NOT_RUNNING)

    def test_stop_fails_where_writes_may_not_be_durable(self):
        for state in "up", "connecting", "replaying", *OVER:
            for after in 'rm -r "$ROOT/sys/block/$2"', \
                    'echo detaching >"$ROOT/sys/block/$2/kfbrick/state"':
                self.clear()
                self.disk(state)
                self.does("detach", f"{after}; echo may not be durable >&2; exit 1")
                said = self.act("stop", GENERIC)
                self.assertIn("may not be durable", said)
                self.assertIn(f"is {state}", said)
                self.assertEqual(len(self.calls("brickctl")), 1)

    def test_stop_never_takes_a_disk_that_is_open(self):
        busy = "echo it is in use: unmount it first >&2; exit 1"
        for state in "up", *WAITING, *OVER:
            self.clear()
            self.disk(state)
            self.does("sleep", "")
            self.does("detach", busy)
            said = self.act("stop", GENERIC)
            self.assertIn("in use", said)
            self.assertIn("still attached", said)
            calls = self.calls("brickctl")
            self.assertEqual(calls, [["brickctl", "detach", "kfbrick0"]] * len(calls))
            self.assertGreater(len(calls), 1)
            self.assertTrue(self.sysfs().exists())
        # Somebody has looked at it, and is done.
        self.disk("up")
        self.does("sleep", f"echo 'rm -r {self.sysfs()}' >{self.stub}/detach")
        self.act("stop")
        self.assertEqual(len(self.calls("brickctl")), 2)

    def test_stop_needs_nothing_where_there_is_nothing_to_stop(self):
        nothing = self.without
        for changed in {}, {"brick": None}, {"size": "-"}, {"name": None}, {"name": "../x"}:
            self.act("stop", env=nothing, **changed)
        self.disk("up")
        self.act("stop", INSTALLED, env=nothing)
        self.does("id", "echo 1000")
        self.act("stop", PERM)
        self.assertEqual(self.calls("brickctl"), [])
        # All that it wants to know is the name.
        self.does("id", "echo 0")
        self.act("stop", brick=None, size=None, fail="maybe")
        self.assertEqual(len(self.calls("brickctl")), 1)

    def test_two_disks_of_one_name_are_told_apart_by_nobody(self):
        self.disk("up")
        self.disk("up", disk="kfbrick1")
        for action in "start", "stop", "monitor":
            self.assertIn("several", self.act(action, GENERIC))
        self.assertEqual(self.calls("brickctl"), [])

    def test_parameters_are_words_of_one_order(self):
        self.attaches()
        (self.folder / "10.0.0.9").touch()
        self.act("start", brick="  verbs://10.0.0.1 10.1.0.1:7 [fe80::1%eth0] ", client="host-7",
                 key_file=self.key, base="1T", size="512", queues=8, fail="never", reconnect_s=0,
                 retain_mb=65536, options="--thin  --map-cache 16G --sector=512")
        self.assertEqual(self.calls("brickctl"), [[
            "brickctl", "attach", "--quiet", "--wait-s=60", "--brick=verbs://10.0.0.1", "--address=10.1.0.1:7",
            "--address=[fe80::1%eth0]", "--client=host-7", f"--key-file={self.key}", "--name=data",
            "--base=1T", "--size=512", "--fail=never", "--queues=8", "--reconnect-s=0",
            "--retain-mb=65536", "--thin", "--map-cache", "16G", "--sector=512"]])
        # Of clients a node has its own.
        for node in {"OCF_RESKEY_CRM_meta_on_node": "host-8"}, {}:
            self.clear()
            self.act("start", client="%n", key_file=self.key, env=node)
            name = node.get("OCF_RESKEY_CRM_meta_on_node", os.uname().nodename)
            self.assertIn(f"--client={name}", self.calls("brickctl")[0])
        # None is a command, a pattern or two words, where it is taken.
        self.clear()
        key = self.folder / "a key; $(touch hurt) * 'x"
        key.touch()
        self.act("start", client="$(touch$IFS'hurt');*", key_file=key,
                 options="--provider $(touch --provider=*;`touch")
        words = self.calls("brickctl")[0]
        self.assertIn(f"--key-file={key}", words)
        self.assertIn("--client=$(touch$IFS'hurt');*", words)
        self.assertEqual(words[-3:], ["--provider", "$(touch", "--provider=*;`touch"])
        self.assertFalse((self.folder / "hurt").exists())

    def test_wrong_parameters_are_refused(self):
        wrong = {
            "brick": [None, "", " ", "--help", "verbs://10.0.0.1;x", "a,addr=b", "$(x)", "a b", "*"],
            "name": [None, "", ".", "-a", "a b", "../a", "a/b", "a,b", "a*", "x" * 64, "a\nb"],
            "base": ["", "-1", "0x0,thin", "1 2", "x"],
            "size": [None, "", "-1", "10G --ro", "G", "*"],
            "queues": ["0", "9", "-1", "two", "1e1", "1 2"],
            "fail": ["", "always", "io-error never"],
            "reconnect_s": ["-1", "soon", "1.5", "999999999999999999999"],
            "retain_mb": ["-1", "64M", "65537"],
            "client": ["a", "-a", "a b", "a,thin", "a=b"],
            "key_file": ["/none"],
            "options": ["thin", "--resize kfbrick7", "--resize=kfbrick7", "--name=x", "--force",
                        "--thi", "--map-cache", "--sector=", "--brick=x", "-q", "--", "x",
                        "--thin; --ro", "--json", "*"],
        }
        for name, values in wrong.items():
            for value in values:
                if name in ("base", "fail") and value == "":
                    continue
                for action in "start", "validate-all":
                    said = self.act(action, CONFIGURED, **{name: value})
                    self.assertTrue(said.startswith("ocf-exit-reason:"), said)
                    self.assertIn("is wanted" if value is None and name != "name" else name, said)
                if name == "name":
                    self.act("monitor", CONFIGURED, name=value)
        self.act("start", CONFIGURED, client="a", key_file="key")
        for client in "-a", "a b", "a,thin", "a=b":
            said = self.act("start", CONFIGURED, client=client, key_file=self.key)
            self.assertIn("no client's name", said)
        # A pattern is not what it would find.
        (self.folder / "--thin").touch()
        self.act("start", CONFIGURED, options="--th*")
        self.assertEqual(self.calls("brickctl"), [])
        self.act("eject", UNIMPLEMENTED)
        self.act("", ARGS)
        self.act("start stop", ARGS)
        self.assertEqual(self.calls("brickctl"), [])

    def test_validate_looks_at_this_node_where_it_is_told_to(self):
        here = {"client": "a", "key_file": self.key}
        for level in None, 0, 10:
            self.act("validate-all", level=level, **here)
            away = SUCCESS if level != 10 else ARGS
            self.act("validate-all", away, level=level, client="a", key_file=self.folder / "none")
            away = SUCCESS if level != 10 else INSTALLED
            self.act("validate-all", away, level=level, env=self.without, **here)
        self.act("start", ARGS, client="a", key_file=self.folder / "none")
        self.assertEqual(self.calls("brickctl"), [])

    def test_metadata_names_all_that_it_reads(self):
        top = xml.etree.ElementTree.fromstring(
            self.act("meta-data", brick=None, name=None, size=None))
        self.assertEqual((top.tag, top.get("name"), top.find("version").text),
                         ("resource-agent", "disk", "1.1"))
        self.assertEqual([a.get("name") for a in top.iter("action")], ACTIONS)
        for action in top.iter("action"):
            self.assertRegex(action.get("timeout"), r"^\d+s$")
        read = dict(re.findall(r"OCF_RESKEY_([a-z]\w*):-([^}]*)\}", AGENT.read_text()))
        named = {p.get("name"): p for p in top.iter("parameter")}
        self.assertEqual(set(named), set(read))
        required = {n for n, p in named.items() if p.get("required") == "1"}
        self.assertEqual(required, {"brick", "name", "size"})
        self.assertEqual([n for n, p in named.items() if p.get("unique-group")], ["name"])
        for name, parameter in named.items():
            self.assertEqual(parameter.find("content").get("default") or "", read[name])
            self.assertTrue(parameter.find("shortdesc").text)
            self.assertTrue(parameter.find("longdesc").text)
        usage = self.act("usage")
        for action in ACTIONS:
            self.assertIn(action, usage)

    def test_each_option_of_attach_is_a_parameter_or_among_the_options(self):
        said = lab.run(lab.BRICKCTL, "attach", "--help").stdout.decode()
        said += lab.run(lab.BRICKCTL, "--help").stdout.decode()
        known = dict(re.findall(r"^ +(?:-\w, )?(--[\w-]+)(?: ([A-Z]\w*))?(?= |$)", said, re.M))
        self.assertIn("--map-cache", known)
        read = re.findall(r"OCF_RESKEY_([a-z]\w*):-", AGENT.read_text())
        own = {"--" + name.replace("_", "-") for name in read} | {"--address"}
        for option, value in known.items():
            words = f"{option} 1" if value else option
            taken = option not in own and option not in NOT_TAKEN
            self.act("validate-all", SUCCESS if taken else CONFIGURED, options=words)


if __name__ == "__main__":
    lab.main()
