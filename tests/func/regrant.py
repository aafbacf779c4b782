#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Requests that are under way when SIGHUP takes what they are allowed.

A thread of brickd is held, a request waits for it, the grant goes, the thread
goes on: what is not made yet is not made.
"""
import json
import os
import signal
import subprocess
import time

import lab

REFUSED = 1
SOON_S = lab.COMMAND_S
ALL = ["0x0+1T rw"]
A_HAS = "0x800000"      # block 4: where a may be, until it may not
OTHER = "0x1000000"
WITHOUT = ["16M+16M rw"]


class Regrant(lab.FuncTest):
    def begin(self, **parameters):
        self.hold = self.folder / "hold"
        self.hold.mkdir()
        os.environ["HOLD"] = str(self.hold)
        self.addCleanup(os.environ.pop, "HOLD")
        self.addCleanup(self.release)
        self.admin = self.folder / "admin"
        self.b = self.brick(clients={"a": ALL, "b": ALL}, program=lab.FUNC_BIN / "brickd-held",
                            settings=f"admin = {self.admin}\nlease-ms = 600000",
                            **parameters).start()

    def held(self, what):
        """From now on the next one that comes there is held."""
        self.before = len(self.b.log_text())
        (self.hold / what).touch()

    def release(self):
        for file in self.hold.glob("*"):
            file.unlink()

    def is_held(self, what):
        self.until(lambda: f"held: {what}" in self.b.log_text()[self.before:], f"held {what}")

    def start(self, client, *words):
        process = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", client, "--key-file",
             str(self.b.key(client)), *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=lab.environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def in_flight(self, op, waiting=0):
        """Until a's request is at the brick, and waits for its blocks if it must."""
        def is_there():
            done = lab.run(lab.BRICKCTL, "--admin", self.admin, "--json", "sessions")
            return any(s["client"] == "a" and s["ops"].get(op) and s["ops_in_flight"] and
                       s["ops_waiting"] == waiting for s in json.loads(self.ok(done))["sessions"])
        self.until(is_there, f"{op} under way")

    def reload(self, clients, said="clients and grants read again"):
        before = len(self.b.log_text())
        self.b.clients = clients
        self.b.configure()
        self.b.process.send_signal(signal.SIGHUP)
        self.until(lambda: said in self.b.log_text()[before:], said)

    def denied(self, process):
        """Refused with the words for it, and nothing is left of it."""
        _, said = process.communicate(timeout=SOON_S)
        self.assertEqual(process.returncode, REFUSED, said.decode())
        self.assertIn(b"outside this client's grants", said)

    def take_and_release(self, clients=None):
        self.reload(clients or {"a": WITHOUT, "b": ALL})
        self.release()

    def mapped(self):
        return self.b.json("list", "mapped", client="b")["extents"]

    def is_allocated(self, va):
        at = int(va, 16)
        return any(first <= at < first + n * lab.BLOCK
                   for first, n in self.b.allocated(client="b"))

    def map(self, *words, access="--rw"):
        return self.start("a", "map", f"{A_HAS}+1", access, "--hold", "600", *words)

    def nothing_is_mapped(self):
        self.assertEqual(self.mapped(), [])
        self.ok(self.b.ctl("write", A_HAS, client="b", stdin=b"theirs"))

    def test_a_map_that_looks_for_its_blocks(self):
        self.begin()
        self.ok(self.b.ctl("alloc", f"{A_HAS}+1"))
        for access in ("--ro", "--rw"):
            self.held("lookup")
            process = self.map(access=access)
            self.is_held("lookup")
            self.take_and_release()
            self.denied(process)
            self.nothing_is_mapped()
            self.reload({"a": ALL, "b": ALL})

    def test_a_map_that_is_read_only_goes_on_when_it_may_still_read(self):
        self.begin()
        self.ok(self.b.ctl("alloc", f"{A_HAS}+1"))
        for access in ("--ro", "--rw"):
            self.held("lookup")
            process = self.map("--json", access=access)
            self.is_held("lookup")
            self.take_and_release({"a": ["0x0+1T ro"], "b": ALL})
            if access == "--rw":
                self.denied(process)
            else:
                self.assertIn(b"mapping_id", process.stdout.readline())
                process.send_signal(signal.SIGTERM)
                process.wait(SOON_S)
            self.reload({"a": ALL, "b": ALL})

    def test_a_map_that_becomes_the_writer(self):
        self.begin()
        self.ok(self.b.ctl("alloc", f"{A_HAS}+1", client="b"))
        self.ok(self.b.ctl("write", A_HAS, client="b", stdin=b"theirs"))
        self.held("commit")
        process = self.map()
        self.is_held("commit")
        self.take_and_release()
        self.denied(process)
        self.nothing_is_mapped()

    def test_a_map_whose_turn_as_the_writer_has_not_come(self):
        self.begin()
        self.ok(self.b.ctl("alloc", f"{A_HAS}+1", client="b"))
        self.ok(self.b.ctl("write", A_HAS, client="b", stdin=b"theirs"))
        born = self.birth()
        self.held("commit")
        other = self.start("b", "alloc", f"{OTHER}+1")
        self.is_held("commit")
        process = self.map()
        self.in_flight("map")
        time.sleep(0.2) # in the registrar, and on to the store
        self.take_and_release()
        self.denied(process)
        self.assertEqual(other.wait(SOON_S), 0)
        # The block is not a's: b is its last writer still.
        self.assertEqual(self.birth(), born)

    def birth(self):
        process = self.start("b", "--json", "map", f"{A_HAS}+1", "--rw", "--hold", "600")
        made = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.wait(SOON_S)
        return made["handles"][0]["birth"]

    def test_requests_that_wait_for_their_blocks(self):
        for words in (("map", "--rw", "--hold", "600"), ("free",), ("alloc",)):
            with self.subTest(op=words[0]):
                self.tearDown()
                self.doCleanups()
                self.setUp()
                self.begin()
                taken = words[0] == "alloc"
                if taken:
                    self.ok(self.b.ctl("alloc", f"{A_HAS}+1"))
                self.held("commit")
                other = self.start("b", "free" if taken else "alloc", f"{A_HAS}+1")
                self.is_held("commit")
                process = self.start("a", words[0], f"{A_HAS}+1", *words[1:])
                self.in_flight(words[0], waiting=1)
                self.take_and_release()
                self.denied(process)
                self.assertEqual(other.wait(SOON_S), 0)
                self.assertEqual(self.is_allocated(A_HAS), not taken)
                self.assertEqual(self.mapped(), [])

    def behind_a_commit(self, op, clients):
        """a's ALLOC or FREE is the store thread's, which has not begun it."""
        self.begin()
        if op == "free":
            self.ok(self.b.ctl("alloc", f"{A_HAS}+1"))
        self.held("commit")
        other = self.start("b", "alloc", f"{OTHER}+1")
        self.is_held("commit")
        process = self.start("a", op, f"{A_HAS}+1")
        self.in_flight(op)
        self.take_and_release(clients)
        process.communicate(timeout=SOON_S)
        self.assertEqual(other.wait(SOON_S), 0)
        self.assertEqual(self.is_allocated(A_HAS), op == "free")
        return process

    def test_an_alloc_behind_another_commit(self):
        self.assertEqual(self.behind_a_commit("alloc", None).returncode, REFUSED)

    def test_a_free_behind_another_commit(self):
        self.assertEqual(self.behind_a_commit("free", None).returncode, REFUSED)

    def test_an_alloc_of_a_client_that_is_removed(self):
        self.behind_a_commit("alloc", {"b": ALL})

    def test_a_free_of_a_client_that_is_removed(self):
        self.behind_a_commit("free", {"b": ALL})

    def test_what_is_still_granted_goes_on(self):
        self.begin()
        self.held("commit")
        other = self.start("b", "alloc", f"{OTHER}+1")
        self.is_held("commit")
        process = self.start("a", "alloc", f"{A_HAS}+1")
        self.in_flight("alloc")
        self.take_and_release({"a": [f"{A_HAS}+1 rw"], "b": ALL})
        self.assertEqual(process.wait(SOON_S), 0)
        self.assertEqual(other.wait(SOON_S), 0)
        self.assertTrue(self.is_allocated(A_HAS))

    def evicted_while_it_maps(self, change):
        self.begin()
        self.ok(self.b.ctl("alloc", f"{A_HAS}+1"))
        self.held("lookup")
        process = self.map()
        self.is_held("lookup")
        self.take_and_release(change())
        process.communicate(timeout=SOON_S)
        self.assertNotEqual(process.returncode, 0)
        self.nothing_is_mapped()

    def test_a_map_of_a_client_that_is_removed(self):
        self.evicted_while_it_maps(lambda: {"b": ALL})

    def test_a_map_of_a_client_with_another_key(self):
        def rekey():
            self.b.key("a").unlink()
            self.b.make_key("a")
            return {"a": ALL, "b": ALL}
        self.evicted_while_it_maps(rekey)

    def test_a_map_that_waits_for_its_blocks_to_be_fast(self):
        self.begin(size="18M", slow_size="66M")
        self.ok(self.b.ctl("alloc", "0x0+16"))
        for i in range(16):
            self.ok(self.b.ctl("write", hex(i * lab.BLOCK), stdin=b"x"))
        slow = [int(e["va"], 16) for e in self.b.json("list", "allocated", client="b")["extents"]
                if "slow" in e["flags"]]
        self.held("copy")
        process = self.start("a", "map", f"{slow[0]:#x}+1", "--rw", "--hold", "600")
        self.is_held("copy")
        self.take_and_release()
        self.denied(process)
        self.assertEqual(self.mapped(), [])


if __name__ == "__main__":
    lab.main()
