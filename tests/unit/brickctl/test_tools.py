#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickctl bench, doctor and the progress line, with the model of model.h."""
import errno
import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import time
import unittest

from test_brickctl import (BLOCK, BRICKCTL, COMMAND_S, DONE, MIB, REFUSED,
                           UNREACHED, USAGE, Case, read_json)

TOP = pathlib.Path(__file__).resolve().parents[3]

DEADLINE_S = 60
# Longer than the work after which a progress line appears.
LONG_S = 1.0


class Bench(Case):
    def bench(self, *words, **env):
        return read_json(self.ok("--json", "bench", *words, **env))

    def allocated(self):
        listed = read_json(self.ok("--json", "list", MODEL_LOG="/dev/null"))
        return [(int(e["va"], 16), e["n_blocks"]) for e in listed["extents"]]

    def test_it_measures_all_three_and_frees_what_it_allocated(self):
        out = self.bench("0x200000+2", "-c", "100", "--size", "8K")
        self.assertFalse(out["interrupted"])
        self.assertEqual([r["op"] for r in out["results"]],
                         ["write", "durable", "read"])
        for result in out["results"]:
            self.assertEqual((result["count"], result["size"], result["depth"]),
                             (100, 8192, 1))
            self.assertEqual(sum(h["count"] for h in result["histogram"]), 100)
            self.assertLessEqual(result["min_ns"], result["p50_ns"])
            self.assertLessEqual(result["p50_ns"], result["p99.9_ns"])
            self.assertLessEqual(result["p99.9_ns"], result["max_ns"])
        self.assertEqual(self.log("alloc"), self.log("free"))
        self.assertEqual(len(self.log("alloc")), 1)
        self.assertEqual(self.allocated(), [])

    def test_each_durable_write_is_flushed_after_it_completed(self):
        self.bench("0x0+1", "-c", "50", "--op", "durable", "--depth", "4")
        calls = [line.split()[0] for line in self.log()]
        self.assertEqual(calls.count("post_write"), 50)
        self.assertEqual(calls.count("post_flush"), 50)
        flushed = 0
        written = 0
        for call in calls:
            written += call == "write"
            flushed += call == "post_flush"
            self.assertLessEqual(flushed, written)

    def test_blocks_that_are_allocated_are_not_touched_unless_told(self):
        data = bytes(range(256)) * 8192
        self.ok("alloc", "0x0+1")
        self.ok("write", "0x0", stdin=data)
        self.fails(REFUSED, "0x0", "bench", "0x0+2", "-c", "5")
        self.fails(USAGE, "--overwrite", "bench", "0x0+1", "--existing", "--op",
                   "durable")
        writes = len(self.log("post_write"))
        out = self.bench("0x0+1", "--existing", "-c", "5")
        self.assertEqual([r["op"] for r in out["results"]], ["read"])
        self.assertEqual(len(self.log("post_write")), writes)
        self.assertEqual(self.ok("read", "0x0", "--length", len(data)), data)
        self.bench("0x0+1", "--overwrite", "-c", "5", "--op", "write")
        self.assertNotEqual(self.ok("read", "0x0", "--length", len(data)), data)
        self.assertEqual(self.allocated(), [(0, 1)])

    def test_an_interrupt_ends_it_and_frees_the_blocks(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("--json", "bench", "0x0+3", "--time", "86400",
                                 MODEL_LOG="/dev/null")
            until = time.monotonic() + DEADLINE_S
            while not self.allocated():
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), until)
            process.send_signal(number)
            out, err = process.communicate(timeout=DEADLINE_S)
            self.assertEqual(process.returncode, DONE, err)
            self.assertTrue(read_json(out)["interrupted"])
            self.assertEqual(self.allocated(), [])

    def test_a_failure_half_way_frees_the_blocks_over_a_new_connection(self):
        self.fails(REFUSED, "bytes at 0x", "bench", "0x0+1", "-c", "20",
                   MODEL_FAIL=f"write@7={errno.EIO}")
        self.assertEqual(self.allocated(), [])
        text = self.fails(4, "brickctl free 0x0+1", "bench", "0x0+1", "-c", "9",
                          MODEL_FAIL=f"poll@3={errno.ECONNRESET},"
                                     f"connect@2={errno.ECONNREFUSED}")
        self.assertIn("may still be allocated", text)

    def test_on_a_volatile_brick_durable_is_left_out_or_refused(self):
        out = self.bench("0x0+1", "-c", "5", MODEL_VOLATILE="1")
        self.assertEqual([r["op"] for r in out["results"]], ["write", "read"])
        self.fails(REFUSED, "volatile", "bench", "0x0+1", "--op", "durable",
                   MODEL_VOLATILE="1")
        self.assertEqual(self.allocated(), [])

    def test_pieces_stay_inside_the_range(self):
        self.bench("0x200000+1", "-c", "40", "--size", "300K", "--depth", "3",
                   "--op", "write")
        for line in self.log("post_write"):
            va, size = line.split()
            self.assertGreaterEqual(int(va, 16), BLOCK)
            self.assertLessEqual(int(va, 16) + int(size), 2 * BLOCK)

    def test_the_histogram_is_for_terminals_or_on_demand(self):
        words = ("bench", "0x0+1", "-c", "5", "--op", "read")
        self.assertNotIn(b"##", self.ok(*words))
        text = self.ok(*words, "--histogram").decode()
        self.assertIn("##", text)
        self.assertRegex(text, r"read +4 KiB, depth 1, .* s: 5 operations, "
                               r"\d+/s, [\d.]+ MB/s")
        self.assertRegex(text, r"us: min [\d.]+, mean .*p99\.9 .*max")

    def test_wrong_values_are_usage_errors(self):
        for words, said in {
                ("--op", "fly"): "not read, write or durable",
                ("--size", "0"): "at least 1",
                ("--size", "3M"): "the range has 2097152",
                ("--depth", "65"): "at most 64",
                ("--depth", "0"): "at least 1",
                ("--time", "0"): "at least 1",
                ("--count", "0"): "at least 1",
                ("--existing", "--overwrite"): "--existing and --overwrite",
        }.items():
            self.fails(USAGE, said, "bench", "0x0+1", *words)
        self.assertEqual(self.log("connect"), [])


class Doctor(Case):
    def setUp(self):
        super().setUp()
        del self.env["KFBRICK"]
        self.sysfs = self.folder / "sys"
        self.sysfs.mkdir()

    def attribute(self, path, text):
        path = self.sysfs / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def examine(self, *words, **parameters):
        """Findings as {check: [(level, message, next)]}, and the status."""
        done = self.ctl("--json", "doctor", "--sysfs", self.sysfs, *words,
                        **parameters)
        self.assertEqual(done.stderr, b"")
        out = read_json(done.stdout)
        problems = [f for f in out["findings"] if f["level"] == "problem"]
        self.assertEqual(out["n_problems"], len(problems))
        self.assertEqual(done.returncode, REFUSED if problems else DONE,
                         done.stdout)
        found = {}
        for f in out["findings"]:
            found.setdefault(f["check"], []).append(
                (f["level"], f["message"], f.get("next", "")))
        return found

    def one(self, found, check, level, *said):
        """Just one finding of this check; said is in message or advice."""
        self.assertEqual(len(found[check]), 1, found[check])
        self.assertEqual(found[check][0][0], level, found[check])
        for part in said:
            self.assertIn(part, " ".join(found[check][0][1:]))

    def test_a_machine_without_rdma_and_pmem_is_well_and_is_told_so(self):
        found = self.examine()
        self.one(found, "rdma.devices", "note", "no RDMA device", "tcp://")
        self.one(found, "pmem.regions", "note", "no persistent memory", "file")
        self.one(found, "fabric.tcp", "ok")
        self.one(found, "versions", "ok", "libfabric", "kernel")
        self.one(found, "brick", "note", "KFBRICK")
        self.assertNotIn("store", found)

    def test_every_scheme_that_works_without_a_device_is_looked_at(self):
        table = (TOP / "proto/kfb_scheme.c").read_text(encoding="utf-8")
        rows = re.findall(r'^\t\{\n\t\t\.name = "([\w-]+)".*?^\t\},', table, re.M | re.S)
        self.assertIn("libfabric-tcp", rows)
        rdma = re.findall(r'^\t\{\n\t\t\.name = "([\w-]+)"[^}]*\.is_rdma', table, re.M)
        found = {check for check in self.examine() if check.startswith("fabric.")}
        self.assertEqual(found, {f"fabric.{name}" for name in rows if name not in rdma})
        self.assertIn("fabric." + rdma[0], self.examine("--brick", f"{rdma[0]}://model"))

    def test_a_verbs_brick_needs_a_device(self):
        found = self.examine("--brick", "verbs://model")
        self.one(found, "rdma.devices", "problem", "rdma link add")

    def test_ports_that_are_down_are_a_problem(self):
        self.attribute("class/infiniband/a0/ports/1/state", "4: ACTIVE")
        self.attribute("class/infiniband/a0/ports/1/rate", "100 Gb/sec (4X EDR)")
        self.attribute("class/infiniband/b0/ports/1/state", "1: DOWN")
        found = self.examine()
        self.assertEqual(
            sorted((f[0], f[1][:14]) for f in found["rdma.devices"]),
            [("ok", "a0 port 1 is a"), ("problem", "b0 port 1 is n")])
        self.assertIn("ip link set", str(found["rdma.devices"]))

    def test_the_persistence_domain_decides_what_survives(self):
        for domain, level, said in [
                ("cpu_cache", "ok", "caches survive"),
                ("memory_controller", "note", "message"),
                ("unknown", "problem", "does not say"),
                ("", "problem", "does not say")]:
            with self.subTest(domain=domain):
                path = "bus/nd/devices/region0/persistence_domain"
                self.attribute(path, domain)
                self.one(self.examine(), "pmem.regions", level, said)

    def test_namespaces_in_other_modes_get_the_command_that_changes_them(self):
        self.attribute("bus/nd/devices/region0/persistence_domain", "cpu_cache")
        self.attribute("bus/nd/devices/namespace0.0/size", "1073741824")
        self.attribute("bus/nd/devices/namespace0.0/mode", "memory")
        # A seed: not made yet.
        self.attribute("bus/nd/devices/namespace0.1/size", "0")
        found = self.examine()
        self.one(found, "pmem.namespaces", "note", "fsdax", "destroys",
                 "ndctl create-namespace -f -e namespace0.0 -m devdax -a 2M")
        self.attribute("bus/nd/devices/namespace0.0/mode", "dax")
        self.one(self.examine(), "pmem.namespaces", "ok", "devdax")

    def test_a_store_is_looked_at_and_left_alone(self):
        store = self.folder / "store"
        found = self.examine("--store", store)
        self.one(found, "store", "problem", f"brickctl format {store} --size")
        store.write_bytes(b"kfbstore" + bytes(4096))
        store.chmod(0o400)
        before = store.stat()
        levels = [f[0] for f in self.examine("--store", store)["store"]]
        self.assertEqual(levels[-1], "ok")
        after = store.stat()
        self.assertEqual((before.st_mtime_ns, before.st_size),
                         (after.st_mtime_ns, after.st_size))

    def test_a_file_that_is_no_store_or_open_to_others_is_a_problem(self):
        store = self.folder / "store"
        store.write_bytes(bytes(4096))
        store.chmod(0o640)
        found = str(self.examine("--store", store)["store"])
        self.assertIn(f"chmod 0600 {store}", found)
        self.assertIn("0640", found)
        self.assertIn("is not a store yet", found)
        self.assertIn(f"brickctl format {store}", found)

    def test_a_store_in_memory_is_a_problem(self):
        shm = pathlib.Path("/dev/shm")
        if not os.path.ismount(shm) or not os.access(shm, os.W_OK):
            self.skipTest("no tmpfs on /dev/shm")
        store = shm / f"kfbrick-doctor-{os.getpid()}"
        self.addCleanup(store.unlink)
        store.write_bytes(b"kfbstore")
        store.chmod(0o600)
        found = self.examine("--store", store)["store"]
        self.assertEqual([f[0] for f in found], ["problem", "ok"])
        self.assertIn("in memory", found[0][1])

    def test_what_cannot_be_a_store_is_refused_without_waiting(self):
        os.mkfifo(self.folder / "pipe")
        for path in (self.folder / "pipe", self.folder, "/dev/null"):
            found = self.examine("--store", path)
            self.one(found, "store", "problem", "devdax")

    def test_few_open_files_are_a_problem(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
        done = subprocess.run(
            [BRICKCTL, "doctor", "--sysfs", self.sysfs], env=self.env,
            capture_output=True, timeout=COMMAND_S, check=False, preexec_fn=few)
        self.assertEqual(done.returncode, REFUSED)
        self.assertRegex(done.stdout.decode(),
                         r"problem  limits.nofile .* 512 open files")
        self.assertIn(b"do: ulimit -Hn 65536", done.stdout)

    def test_little_memory_to_lock_is_a_problem_where_there_is_rdma(self):
        def little():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        command = [BRICKCTL, "doctor", "--sysfs", self.sysfs]
        if not os.geteuid():
            command = ["setpriv", "--bounding-set=-ipc_lock",
                       "--inh-caps=-ipc_lock", *command]
        for device, wanted in (False, "ok"), (True, "problem"):
            if device:
                self.attribute("class/infiniband/a0/ports/1/state", "4: ACTIVE")
            done = subprocess.run(command, env=self.env, capture_output=True,
                                  timeout=COMMAND_S, check=False,
                                  preexec_fn=little)
            self.assertRegex(done.stdout.decode(),
                             rf"(?m)^{wanted} +limits\.memlock .*64 KiB")

    def test_a_brick_is_asked_what_it_keeps(self):
        words = ("--brick", "tcp://model")
        self.one(self.examine(*words), "brick", "ok", "flush mode message")
        self.one(self.examine(*words, MODEL_VOLATILE="1"), "brick", "problem",
                 "volatile")
        self.one(self.examine(*words, MODEL_PATH="2 wg0"), "path", "ok",
                 "tcp://model is reached by wireguard wg0")
        self.one(self.examine(*words, MODEL_PATH="3"), "path", "ok", "reached by rdma")
        self.one(self.examine(*words, MODEL_PATH="4 eth0"), "path", "problem",
                 "reached by eth0: whoever is on the way can read", "WireGuard")
        found = self.examine(*words, MODEL_FAIL=f"connect={errno.ECONNREFUSED}")
        self.one(found, "brick", "problem", "tcp://model", "brick runs")
        found = self.examine(*words, MODEL_FAIL=f"info={errno.EIO}")
        self.one(found, "brick", "problem", "tcp://model")

    def test_a_broken_configuration_file_is_a_problem(self):
        conf = self.folder / ".config" / "kfbrick" / "brickctl.conf"
        conf.parent.mkdir(parents=True)
        conf.write_text("[brickctl]\nbrik = tcp://model\n")
        self.one(self.examine(), "brick", "problem", "brickctl.conf:2")


class Progress(Case):
    """Standard error is a terminal or not, while a slow pipe is written."""

    def setUp(self):
        super().setUp()
        self.ok("alloc", "0x0+90")

    def slow_write(self, *words, terminal):
        """Feeds blocks until enough was said or long enough was waited."""
        ours, theirs = pty.openpty() if terminal else os.pipe()
        process = subprocess.Popen(
            [BRICKCTL, "write", "0x0", *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=theirs, env=self.env)
        os.close(theirs)
        said = b""
        start = time.monotonic()
        fed = 0
        while fed < 85 * BLOCK and b"\r" not in said:
            if time.monotonic() - start > LONG_S and not terminal:
                break
            process.stdin.write(bytes(BLOCK))
            process.stdin.flush()
            fed += BLOCK
            if select.select([ours], [], [], 0.03)[0]:
                said += os.read(ours, 65536)
        process.stdin.close()
        out = process.stdout.read()
        process.stdout.close()
        said += self.rest(ours)
        self.assertEqual(process.wait(timeout=DEADLINE_S), DONE)
        return said, out

    @staticmethod
    def rest(fd):
        said = b""
        try:
            while True:
                piece = os.read(fd, 65536)
                if not piece:
                    break
                said += piece
        except OSError:
            pass # the terminal's other end is closed
        os.close(fd)
        return said

    def test_a_terminal_sees_amount_and_rate_and_an_empty_line_at_the_end(self):
        said, out = self.slow_write(terminal=True)
        self.assertRegex(said, rb"\rwriting: [\d.]+ MiB, [\d.]+ [KM]iB/s\033\[K")
        self.assertTrue(said.endswith(b"\r\033[K"), said)
        self.assertNotIn(b"\n", said)
        self.assertRegex(out, rb"written at 0x0, durable\n$")

    def test_quiet_and_json_show_nothing(self):
        for words in ("--quiet",), ("--json",):
            self.assertEqual(self.slow_write(*words, terminal=True)[0], b"")

    def test_a_pipe_sees_nothing(self):
        self.assertEqual(self.slow_write(terminal=False)[0], b"")


if __name__ == "__main__":
    unittest.main(verbosity=2)
