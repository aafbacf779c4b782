#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fence_kfbrick, as cluster managers run it: parameters on standard input or as options."""
import os
import subprocess
import xml.etree.ElementTree

import lab

AGENT = os.environ["FENCE_AGENT"]
OK, ERROR, BAD_ARGS, IS_OFF = 0, 1, 2, 2
ACTIONS = ["on", "off", "status", "list", "monitor", "metadata", "manpage", "validate-all"]


class Agent(lab.FuncTest):
    def serve(self, n=1):
        clients = {"host-1": ["0x0+1T rw"], "host-2": ["0x0+1T rw"], "watch": []}
        for i in range(n):
            brick = self.brick(f"brick{i}", size="16M", clients=clients,
                               settings=f"fences = {self.folder}/fences{i}")
            brick.roles = {"watch": "fencer"}
            if i:
                brick.key("watch").write_bytes(self.bricks[0].key("watch").read_bytes())
            brick.start()
        self.given = {"ip": ",".join(b.url for b in self.bricks), "username": "watch",
                      "identity_file": self.bricks[0].key("watch"), "plug": "host-1",
                      "shell_timeout": "60"}

    def run_agent(self, *words, lines=""):
        env = lab.environment() | {"BRICKCTL": lab.BRICKCTL}
        return subprocess.run([AGENT, *map(str, words)], input=lines.encode(), env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=lab.COMMAND_S, check=False)

    def lines(self, action, status=OK, **changed):
        """As a cluster manager does it: it adds what the agent does not know."""
        given = self.given | changed | {"action": action, "nodename": "host-1"}
        text = "# fencing\n\n" + "".join(f"{k}={v}\n" for k, v in given.items() if v is not None)
        done = self.run_agent(lines=text)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def options(self, action, status=OK, **changed):
        given = self.given | changed
        words = ["-o", action]
        for name, letter in ("ip", "-a"), ("plug", "-n"), ("username", "-l"), ("identity_file", "-k"):
            if given[name] is not None:
                words += [letter, given[name]]
        done = self.run_agent(*words, f"--shell-timeout={given['shell_timeout']}")
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def info(self, client, brick=0):
        return self.bricks[brick].ctl("info", client=client).returncode

    def test_what_is_off_is_kept_out_until_it_is_on(self):
        self.serve()
        for act in self.lines, self.options:
            self.assertEqual(act("status").stdout, b"Status: ON\n")
            act("off")
            self.assertEqual(act("status", IS_OFF).stdout, b"Status: OFF\n")
            self.assertNotEqual(self.info("host-1"), 0)
            self.assertEqual(self.info("host-2"), 0)
            act("off")
            act("on")
            self.assertEqual(self.info("host-1"), 0)
            act("on")
        # Without an action it fences.
        done = self.run_agent(lines="".join(f"{k}={v}\n" for k, v in self.given.items()))
        self.assertEqual(done.returncode, OK)
        self.lines("status", IS_OFF)

    def test_it_is_off_where_all_bricks_say_so(self):
        self.serve(2)
        self.lines("off")
        self.lines("status", IS_OFF)
        self.assertEqual([self.info("host-1", i) for i in (0, 1)], [3, 3])
        # One that lets it in again makes it on.
        self.lines("on", ip=self.bricks[1].url)
        self.assertEqual(self.lines("status").stdout, b"Status: ON\n")
        self.lines("off")
        # One that does not answer may still have it, and the others are asked all the same.
        self.lines("on")
        self.bricks[0].stop()
        for action in "off", "status", "monitor", "list":
            self.lines(action, ERROR)
        self.assertEqual(self.info("host-1", 1), 3)

    def test_monitor_list_and_validate(self):
        self.serve()
        self.lines("monitor", plug=None)
        self.assertEqual(self.lines("list", plug=None).stdout, b"host-1,\nhost-2,\nwatch,\n")
        self.options("validate-all")
        self.lines("monitor", ERROR, username="host-1",
                   identity_file=self.bricks[0].key("host-1"))
        self.lines("off", ERROR, plug="nobody")
        self.lines("off", ERROR, plug="watch")
        self.lines("status", ERROR, plug="nobody")
        self.assertEqual((self.folder / "fences0").read_text(), "")

    def test_wrong_parameters_are_refused(self):
        self.serve()
        for act in self.lines, self.options:
            for name in "ip", "plug", "username", "identity_file":
                for action in "off", "validate-all":
                    self.assertIn(name, act(action, BAD_ARGS, **{name: None}).stderr.decode())
            act("reboot", BAD_ARGS)
            act("eject", BAD_ARGS)
            act("off", BAD_ARGS, shell_timeout="soon")
            act("off", BAD_ARGS, identity_file=self.folder / "none")
            act("off", BAD_ARGS, plug="--json")
        self.assertEqual(self.run_agent(lines="off\n").returncode, BAD_ARGS)
        for words in ("--none",), ("--none=1",), ("-o",), ("off",), ("-x", "1"):
            self.assertEqual(self.run_agent(*words).returncode, BAD_ARGS, words)
        self.assertEqual((self.folder / "fences0").read_text(), "")

    def test_metadata_names_all_that_it_takes(self):
        done = self.run_agent("-o", "metadata")
        self.assertEqual(self.run_agent(lines="action=metadata\n").stdout, done.stdout)
        top = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual((top.tag, top.get("name")), ("resource-agent", "fence_kfbrick"))
        self.assertEqual([a.get("name") for a in top.iter("action")], ACTIONS)
        usage = self.run_agent("--help").stdout.decode()
        for parameter in top.iter("parameter"):
            option = "--" + parameter.get("name").replace("_", "-")
            self.assertIn(option, usage)
            self.assertTrue(parameter.find("getopt").get("mixed"))
            self.assertTrue(parameter.find("shortdesc").text)
            self.assertIn(parameter.find("content").get("type"), ("string", "boolean", "second"))
        self.assertIn(b"brickctl ", self.run_agent("--version").stdout)


if __name__ == "__main__":
    lab.main()
