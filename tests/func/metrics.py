#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The metrics page: what a scraper reads, and clients that do not behave."""
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time
import urllib.parse

import lab

CONNECTIONS_MAX = 8
DEADLINE_S = 60
NAME = "peculiar"
CHECK = pathlib.Path(__file__).with_name("openmetrics_check.py")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "man" / "brickd-metrics.7.scd"
TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class MetricsTest(lab.FuncTest):
    def setUp(self):
        super().setUp()
        path = self.folder / "admin.sock"
        self.b = self.brick(clients={"a": ["0x0+1T rw"], NAME: ["0x0+1T ro"]},
                            settings=f"admin = {path}\nmetrics = 127.0.0.1:0").start()
        info = json.loads(self.ok(lab.run(lab.BRICKCTL, "--admin", path, "--json", "stats")))
        self.url = urllib.parse.urlsplit(info["metrics_url"])

    def ask(self, method="GET", path="/metrics", body=None):
        c = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=DEADLINE_S)
        self.addCleanup(c.close)
        c.request(method, path, body=body)
        answer = c.getresponse()
        return answer, answer.read()

    def families(self):
        answer, text = self.ask()
        self.assertEqual(answer.status, 200)
        done = lab.run("/usr/bin/python3", CHECK, stdin=text)
        if done.returncode == 77:
            self.skipTest(done.stderr.decode().strip())
        return json.loads(self.ok(done))

    def value(self, name, families=None, **labels):
        families = families or self.families()
        found = [value for f in families.values() for n, have, value in f["samples"]
                 if n == "brickd_" + name and have == labels]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def connect(self, data=b""):
        s = socket.create_connection((self.url.hostname, self.url.port), timeout=DEADLINE_S)
        self.addCleanup(s.close)
        s.sendall(data)
        return s

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.b.process.pid}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


class Page(MetricsTest):
    def test_it_is_openmetrics_by_type_end_and_an_independent_parser(self):
        answer, text = self.ask()
        self.assertEqual(answer.getheader("Content-Type"), TYPE)
        self.assertTrue(text.endswith(b"\n# EOF\n"))
        self.assertEqual(text.count(b"# EOF"), 1)
        families = self.families()
        self.assertGreater(len(families), 20)
        for name, family in families.items():
            self.assertTrue(name.startswith("brickd_"))
            self.assertTrue(family["help"], name)

    def test_it_says_what_happened(self):
        self.ok(self.b.ctl("alloc", "0x0+3"))
        self.ok(self.b.ctl("write", "0x0", stdin=b"x" * 100))
        self.refused(self.b.ctl("alloc", "0x0+1"), 1)
        self.assertEqual(self.value("ops_total", op="alloc", status="OK"), 1)
        self.assertEqual(self.value("ops_total", op="alloc", status="EEXIST"), 1)
        self.assertEqual(self.value("slots", state="allocated"), 3)
        self.assertEqual(self.value("op_seconds_count", op="flush"), 1)
        self.assertGreaterEqual(self.value("loop_seconds_count", what="alloc"), 2)
        self.assertGreater(self.value("loop_seconds_count", what="connection"), 0)
        self.assertGreater(self.value("drain_seconds_sum"), 0)
        shown = self.families()
        self.assertEqual(self.value("drain_flushes_bucket", shown, le="1.0"),
                         self.value("drain_flushes_count", shown))

    def test_sessions_that_a_reload_ends_are_counted(self):
        self.ok(self.b.ctl("alloc", "0x0+1"))
        holder = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file",
             str(self.b.key("a")), "map", "0x0+1", "--rw", "--hold", "600"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=lab.environment())
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        self.assertTrue(holder.stdout.readline())
        self.assertEqual(self.value("evictions_total"), 0)
        del self.b.clients["a"]
        self.b.configure()
        self.b.process.send_signal(signal.SIGHUP)
        self.assertNotEqual(holder.wait(lab.COMES_S), 0)
        self.assertEqual(self.value("evictions_total"), 1)

    def test_the_manual_page_has_the_same_table(self):
        page = PAGE.read_text()
        rows = {}
        for name, kind, text in re.findall(
                r"(?m)^\*(brickd_[a-z_]+)\*(?:\{[^}]*\})? \((\w+)\)\n((?:\t.+\n)+)", page):
            rows[name] = (kind, " ".join(text.split()))
        shown = {name: (f["type"], f["help"] + ".") for name, f in self.families().items()}
        self.assertEqual(rows, shown)

    def test_nothing_else_is_served(self):
        for method, path, body, status in (("GET", "/", None, 404),
                                           ("GET", "/metrics/../etc/passwd", None, 404),
                                           ("POST", "/metrics", b"x" * 1000, 405),
                                           ("DELETE", "/metrics", None, 405)):
            answer, _ = self.ask(method, path, body)
            self.assertEqual(answer.status, status, (method, path))
        answer, text = self.ask("HEAD")
        self.assertEqual((answer.status, text), (200, b""))
        self.assertEqual(answer.getheader("Content-Type"), TYPE)

    def test_it_names_no_client_and_no_address(self):
        done = self.b.ctl("ping", client=NAME)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.refused(self.b.ctl("ping", client="stranger", key=self.b.key(NAME)), 3)
        _, text = self.ask()
        for secret in (NAME, "stranger", "127.0.0.1"):
            self.assertNotIn(secret.encode(), text)


class Disturbers(MetricsTest):
    def test_slow_clients_are_cut_off_and_disturb_nobody(self):
        slow = [self.connect(b"GET /metrics HT") for _ in range(CONNECTIONS_MAX - 1)]
        self.ask()
        self.ok(self.b.ctl("ping", "-c", "3"))
        # One byte now and then: silence is not what ends them.
        end = time.monotonic() + DEADLINE_S
        while slow:
            self.assertLess(time.monotonic(), end, f"{len(slow)} are still there")
            for s in select.select(slow, [], [], 0.5)[0]:
                self.assertEqual(self.drain(s), b"")
                slow.remove(s)
            for s in list(slow):
                try:
                    s.send(b"x")
                except (BrokenPipeError, ConnectionResetError):
                    slow.remove(s)
        self.ask()

    @staticmethod
    def drain(s):
        try:
            return s.recv(65536)
        except ConnectionResetError:
            return b""

    def test_connections_are_bounded_and_those_beyond_get_their_turn(self):
        taken = [self.connect(b"GET") for _ in range(CONNECTIONS_MAX)]
        descriptors = self.proc_of(self.b) / "fd"
        more = [self.connect(b"GET") for _ in range(20)]
        self.ok(self.b.ctl("ping", "-c", "3"))
        n = len(list(descriptors.iterdir()))
        for s in taken + more:
            s.close()
        self.ask()
        end = time.monotonic() + DEADLINE_S
        while len(list(descriptors.iterdir())) > n - CONNECTIONS_MAX:
            self.assertLess(time.monotonic(), end)
            select.select([], [], [], 0.05)

    def test_clients_that_wait_do_not_keep_the_processor_busy(self):
        waiting = [self.connect(b"GET /metrics HT") for _ in range(CONNECTIONS_MAX - 1)]
        self.ask()
        before, begin = self.cpu_s(), time.monotonic()
        for s in waiting:
            while self.drain(s):
                pass
        self.assertLess(self.cpu_s() - before, 0.5 * (time.monotonic() - begin))

    def test_garbage_ends_the_connection_only(self):
        for garbage in (b"\0" * 100, b"x" * 100000, b"GET /metrics HTTP/9.9\r\n\r\n",
                        b"GET " + b"a" * 60000 + b" HTTP/1.1\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
            s = self.connect()
            try:
                s.sendall(garbage)
                s.shutdown(socket.SHUT_WR)
                while self.drain(s):
                    pass
            except OSError:
                pass
            self.assertEqual(self.ask()[0].status, 200)


class Settings(lab.FuncTest):
    def test_it_is_off_unless_asked_for(self):
        b = self.brick().start()
        self.assertNotIn("metrics", b.log_text())
        self.assertEqual(b.stop(), 0)

    def test_other_than_loopback_takes_more_words(self):
        b = self.brick(settings="metrics = 0.0.0.0:0")
        with self.assertRaisesRegex(RuntimeError, "allow-remote-metrics = yes"):
            b.start()
        b.settings += "\nallow-remote-metrics = yes"
        b.start()
        self.assertIn("metrics on http://0.0.0.0:", b.log_text())

    def test_a_port_in_use_is_an_error_at_start(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            b = self.brick(settings=f"metrics = 127.0.0.1:{taken.getsockname()[1]}")
            with self.assertRaisesRegex(RuntimeError, "metrics on 127.0.0.1 port"):
                b.start()

    def test_ipv6_is_served_too(self):
        b = self.brick(settings="metrics = [::1]:0").start()
        self.assertIn("metrics on http://[::1]:", b.log_text())


if __name__ == "__main__":
    lab.main()
