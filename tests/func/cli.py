#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickctl against a real brick: every command, its errors, its exit codes."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess

import lab

REFUSED, USAGE, UNREACHABLE = 1, 2, 3


class Commands(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.b = self.brick(clients={"a": ["0x0+1T rw"], "b": ["0x0+1T ro", "2T+1T rw"]})
        self.b.start()

    def test_info_names_the_flush_mode_and_why(self):
        text = self.ok(self.b.ctl("info")).decode()
        self.assertIn("message", text)
        info = self.b.json("info")
        self.assertEqual(info["flush_mode"], "message")
        self.assertEqual(info["medium"], "file")
        self.assertTrue(info["flush_why"])
        self.assertGreater(info["slots_total"], 16)

    def test_a_program_of_version_0_1_goes_on_with_todays_library(self):
        said = self.ok(lab.run(lab.FUNC_BIN / "old-program", self.b.url, "a",
                               self.b.key("a").read_text().strip())).decode()
        info = self.b.json("info")
        self.assertEqual(said, f"{info['slots_total']} {info['flush_why']}\n")

    def test_info_shows_the_clients_grants(self):
        self.assertEqual(self.b.json("info", client="b")["grants"],
                         [{"va": "0x0", "n_blocks": 524288, "access": "ro"},
                          {"va": "0x20000000000", "n_blocks": 524288, "access": "rw"}])
        said = self.ok(self.b.ctl("info", client="b")).decode()
        self.assertRegex(said, r"(?m)^grants +0x0\+524288 \(1 TiB\) ro$")
        self.assertRegex(said, r"(?m)^ +0x20000000000\+524288 \(1 TiB\) rw$")

    def test_a_full_brick_says_what_was_wanted_and_what_is_free(self):
        free = self.b.json("info")["slots_free"]
        self.ok(self.b.ctl("alloc", f"0x0+{free - 3}"))
        self.refused(self.b.ctl("alloc", "1G+4"), REFUSED,
                     "4 blocks were asked for, 3 are free")

    def test_blocks_are_allocated_listed_and_freed(self):
        self.ok(self.b.ctl("alloc", "0x0+4"))
        self.ok(self.b.ctl("alloc", "1G+4M"))
        self.assertEqual(self.b.allocated(), [(0, 4), (1 << 30, 2)])
        self.ok(self.b.ctl("free", "0x200000+2"))
        self.assertEqual(self.b.allocated(), [(0, 1), (3 * lab.BLOCK, 1), (1 << 30, 2)])

    def test_what_is_written_is_read_back_also_after_a_clean_restart(self):
        data = os.urandom(5 * lab.MIB + 123)
        self.ok(self.b.ctl("alloc", "0x0+4"))
        self.ok(self.b.ctl("write", "0x1000", stdin=data))
        self.assertEqual(self.b.stop(), 0)
        self.b.start()
        back = self.ok(self.b.ctl("read", "0x1000", "--length", str(len(data))))
        self.assertEqual(hashlib.sha256(back).digest(), hashlib.sha256(data).digest())

    def test_files_are_written_and_read(self):
        source, target = self.folder / "in", self.folder / "out"
        source.write_bytes(os.urandom(3 * lab.MIB))
        self.ok(self.b.ctl("alloc", "0x0+2"))
        self.ok(self.b.ctl("write", "0x0", "-i", source))
        self.ok(self.b.ctl("read", "0x0", "--length", "3M", "-o", target))
        self.assertEqual(target.read_bytes(), source.read_bytes())

    def test_new_blocks_are_zero_where_another_client_wrote(self):
        slots = self.b.json("info")["slots_total"]
        self.ok(self.b.ctl("alloc", f"0x0+{slots}"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"\xee" * (slots * lab.BLOCK)))
        self.ok(self.b.ctl("free", f"0x0+{slots}"))
        self.ok(self.b.ctl("alloc", f"2T+{slots}", client="b"))
        back = self.ok(self.b.ctl("read", "2T", "--length", str(slots * lab.BLOCK), client="b"))
        self.assertEqual(back.count(0), slots * lab.BLOCK)

    def test_a_mapping_shows_its_handles_and_is_held_until_interrupted(self):
        self.ok(self.b.ctl("alloc", "0x0+3"))
        command = [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file",
                   str(self.b.key("a")), "--json", "map", "0x0+3", "--rw", "--hold", "300"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=lab.environment()) as held:
            line = held.stdout.readline()
            self.assertIn(b"mapping_id", line)
            mine = self.b.json("list", "mapped")["extents"]
            self.assertEqual([int(e["va"], 16) for e in mine], [0])
            self.refused(self.b.ctl("free", "0x0+1"), REFUSED, "0x0", "mapped")
            held.send_signal(signal.SIGINT)
            held.stdout.read()
            self.assertEqual(held.wait(timeout=lab.STOP_S), 0)
        self.ok(self.b.ctl("free", "0x0+3"))

    def test_a_mapping_of_another_session_is_ended_by_its_id(self):
        self.ok(self.b.ctl("alloc", "0x0+1"))
        command = [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file",
                   str(self.b.key("a")), "--json", "map", "0x0+1", "--ro", "--hold", "300"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=lab.environment()) as held:
            held.stdout.readline()
            mine = self.b.json("list", "mine")["extents"]
            self.assertEqual(len(mine), 1)
            self.ok(self.b.ctl("unmap", str(mine[0]["mapping_id"])))
            self.assertEqual(self.b.json("list", "mine")["extents"], [])
            done = self.b.ctl("unmap", mine[0]["mapping_id"])
            self.refused(done, REFUSED, f"unmap of mapping {mine[0]['mapping_id']} at")
            # It has one spelling.
            self.assertNotIn(str(int(mine[0]["mapping_id"], 16)), done.stderr.decode())
            held.send_signal(signal.SIGTERM)
            held.stdout.read()
            held.wait(timeout=lab.STOP_S)

    def test_ping_answers(self):
        self.ok(self.b.ctl("ping", "-c", "3"))

    def test_bench_measures_and_leaves_no_block_behind(self):
        out = self.b.json("bench", "8M+2", "--count", "20", "--depth", "4")
        self.assertEqual([(r["op"], r["count"]) for r in out["results"]],
                         [("write", 20), ("durable", 20), ("read", 20)])
        self.assertEqual(self.b.allocated(), [])
        self.ok(self.b.ctl("alloc", "8M+1"))
        self.refused(self.b.ctl("bench", "8M+2", "--count", "1"), REFUSED, "0x800000")
        self.assertEqual(self.b.allocated(), [(8 * lab.MIB, 1)])

    def test_doctor_looks_at_a_store_and_a_brick_that_are_in_use(self):
        out = json.loads(self.b.ctl("--json", "doctor", "--store", self.b.store).stdout)
        found = {f["check"]: f for f in out["findings"] if f["level"] != "note"}
        self.assertIn("is a store", found["store"]["message"])
        self.assertIn("flush mode message", found["brick"]["message"])

    def test_refusals_say_what_where_and_why(self):
        self.ok(self.b.ctl("alloc", "0x0+2"))
        before = self.b.allocated()
        for status, words, said in [
                (REFUSED, ("alloc", "0x0+1"), "0x0"),
                (REFUSED, ("alloc", "0x200000+2"), "0x200000"),
                (REFUSED, ("free", "0x200000+2"), "0x200000"),
                (REFUSED, ("alloc", "1T+1"), "0x10000000000"),
                (REFUSED, ("alloc", "0x400000+1000"), "space"),
                (REFUSED, ("read", "0x10000000", "--length", "4096"), "0x10000000"),
                (USAGE, ("alloc", "0x1000+1"), "0x1000"),
                (USAGE, ("alloc", "0x0+0"), "0"),
                (USAGE, ("alloc", "0xffffffffffe00000+2"), "0xffffffffffe00000"),
                (USAGE, ("alloc", "nonsense"), "nonsense"),
                (USAGE, ("frobnicate",), "frobnicate"),
        ]:
            with self.subTest(words=words):
                self.refused(self.b.ctl(*words), status, said)
        self.assertEqual(self.b.allocated(), before)

    def test_a_read_only_grant_reads_but_does_not_write(self):
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"hello"))
        self.assertEqual(self.ok(self.b.ctl("read", "0x0", "--length", "5", client="b")), b"hello")
        self.refused(self.b.ctl("write", "0x0", stdin=b"x", client="b"), REFUSED, "0x0")
        self.refused(self.b.ctl("free", "0x0+1", client="b"), REFUSED, "0x0")

    def test_wrong_key_and_unknown_client_are_refused_alike(self):
        wrong = self.folder / "wrong.key"
        self.ok(lab.run(lab.BRICKCTL, "keygen", wrong))
        first = self.b.ctl("info", key=wrong)
        second = self.b.ctl("info", client="stranger", key=wrong)
        self.refused(first, UNREACHABLE)
        self.refused(second, UNREACHABLE)
        self.assertEqual(first.stderr.replace(b"'a'", b""),
                         second.stderr.replace(b"'stranger'", b"").replace(b"stranger", b"a"))
        self.assertIn("stranger", self.b.log_text())

    def test_nobody_listens(self):
        self.b.kill()
        self.refused(self.b.ctl("info"), UNREACHABLE, self.b.url.split("//")[1])

    def test_a_key_file_that_others_may_read_is_refused(self):
        self.b.key("a").chmod(0o644)
        self.refused(self.b.ctl("info"), USAGE, "0600")


class Stores(lab.FuncTest):
    """What brickctl hands on to brickd."""

    def ctl(self, *words):
        env = lab.environment()
        env["PATH"] = f"{pathlib.Path(lab.BRICKD).parent}:{env['PATH']}"
        return subprocess.run([lab.BRICKCTL, *map(str, words)], env=env, capture_output=True,
                              check=False, timeout=lab.COMMAND_S)

    def options(self, *words):
        return set(re.findall(r"^ .*?(--[a-z-]+)", self.ok(lab.run(*words, "--help")).decode(),
                              re.M)) - {"--help", "--json"}

    def test_the_help_of_what_is_handed_on_names_each_option(self):
        for command in "format", "check", "grow":
            self.assertEqual(self.options(lab.BRICKCTL, command),
                             self.options(lab.BRICKD, command), command)

    def test_stores_have_their_json_too(self):
        store, slow = self.folder / "store", self.folder / "slow"
        made = lab.read_json(self.ok(self.ctl("--json", "format", store, "--size", "64M", "--slow",
                                              slow, "--slow-size", "16M")))
        self.assertEqual((made["store"], made["bytes"], made["slow_bytes"]),
                         (str(store), 64 * lab.MIB, 16 * lab.MIB))
        grown = lab.read_json(self.ok(self.ctl("grow", store, "--size", "128M", "--json")))
        self.assertEqual((grown["blocks"], grown["blocks_before"]), (63, 31))
        whole = lab.read_json(self.ok(self.ctl("check", store, "--slow", slow, "--json")))
        self.assertEqual((whole["result"], whole["slots"], whole["findings"]), ("whole", 70, []))
        with open(store, "r+b") as file:
            file.seek(0x2000)
            file.write(b"x" * 8)
        done = self.ctl("--json", "check", store)
        self.assertEqual(done.returncode, 3)
        found = lab.read_json(done.stdout)
        self.assertEqual((found["result"], found["damaged"]), ("damaged", 1))
        self.assertEqual({f["name"]: f["grade"] for f in found["findings"]},
                         {"commit-damaged": "damage", "slow-not-seen": "note"})
        for status, words in ((1, ("format", store, "--size", "64M")),
                              (2, ("check", store, "--repare")), (1, ("grow", "/nonexistent"))):
            done = self.ctl("--json", *words)
            self.assertEqual(done.returncode, status)
            self.assertEqual(done.stdout, b"")
            error = lab.read_json(done.stderr)["error"]
            self.assertEqual((error["command"], error["exit"]), (words[0], status))
            self.assertTrue(error["message"])


class Volatile(lab.FuncTest):
    def test_a_memory_brick_says_that_nothing_is_durable(self):
        b = self.brick(size=None)
        b.store = "memory:64M"
        b.start()
        info = b.json("info")
        self.assertEqual(info["flush_mode"], "none")
        self.assertEqual(info["medium"], "volatile")
        self.ok(b.ctl("alloc", "0x0+1"))
        done = b.ctl("write", "0x0", stdin=b"gone tomorrow")
        self.ok(done)
        self.assertIn(b"volatile", done.stderr)
        self.assertEqual(self.ok(b.ctl("read", "0x0", "--length", "13")), b"gone tomorrow")

    def test_a_memory_brick_has_no_slow_tier(self):
        b = self.brick(size=None, slow="anywhere")
        b.store = "memory:64M"
        with self.assertRaisesRegex(RuntimeError, "is forgotten and cannot have a slow tier"):
            b.start()


if __name__ == "__main__":
    lab.main()
