#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The admin socket: each op, and those who must not or do not behave."""
import errno
import json
import os
import re
import select
import shutil
import socket
import stat
import subprocess
import unittest

import lab

CLIENTS_MAX = 8
LINE_MAX = 4096
PAGE = 32
DEADLINE_S = 60
REFUSED, USAGE, UNREACHED = 1, 2, 3


class Admin:
    """A raw connection to the admin socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(str(path))
        self.rest = b""

    def send(self, data):
        self.sock.sendall(data)
        return self

    def line(self):
        """The next line, or b"" when the brick has closed."""
        while b"\n" not in self.rest:
            try:
                piece = self.sock.recv(65536)
            except ConnectionResetError:
                piece = b""
            if not piece:
                return b""
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def ask(self, **request):
        self.send(json.dumps(request).encode() + b"\n")
        return json.loads(self.line())

    def is_closed(self):
        return self.line() == b""

    def close(self):
        self.sock.close()


class AdminTest(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "admin.sock"
        self.b = self.brick(clients={"a": ["0x0+1T rw"], "b": ["0x0+1T rw"]},
                            settings=f"admin = {self.path}")
        self.b.start()

    def admin(self):
        a = Admin(self.path)
        self.addCleanup(a.close)
        return a

    def admin_ctl(self, *words):
        return lab.run(lab.BRICKCTL, "--admin", self.path, *words)

    def admin_json(self, *words):
        return lab.read_json(self.ok(self.admin_ctl("--json", *words)))

    def only(self, n):
        """The sessions, once there are n of them."""
        return self.only_sessions(self.path, n)

    def hold(self, *words, client="a"):
        """A session that holds a mapping until it is stopped."""
        held = subprocess.Popen(
            [lab.BRICKCTL, "--brick", self.b.url, "--client", client, "--key-file",
             str(self.b.key(client)), "--json", "map", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=lab.environment())
        self.addCleanup(held.stdout.close)
        self.addCleanup(held.stderr.close)
        self.addCleanup(held.wait)
        self.addCleanup(held.kill)
        self.assertIn(b"mapping_id", held.stdout.readline())
        return held

    def hold_block(self, block=0, client="a"):
        words = f"{block * lab.BLOCK}+1"
        self.ok(self.b.ctl("alloc", words, client=client))
        return self.hold(words, client=client)

    def stat(self, name, **labels):
        """The one sample of a metric that has these labels."""
        for metric in self.admin_json("stats")["metrics"]:
            if metric["name"] != name:
                continue
            found = [s for s in metric["samples"]
                     if all(s.get(k) == v for k, v in labels.items())]
            self.assertEqual(len(found), 1, metric)
            return found[0].get("value", found[0])
        self.fail(f"no metric {name}")


class Ops(AdminTest):
    def test_info_says_what_the_brick_is(self):
        info = self.admin().ask(op="info")
        self.assertIs(info["ok"], True)
        self.assertEqual(info["store"], str(self.b.store))
        self.assertEqual(info["listen"], [self.b.url])
        self.assertEqual(info["uuid"], self.b.json("info")["uuid"])
        self.assertEqual(int(info["instance_id"], 16),
                         int(self.b.json("info")["instance_id"], 16))
        self.assertIn(info["version"], lab.run(lab.BRICKD, "--version").stdout.decode())
        self.assertIs(info["medium_failed"], False)

    def test_sessions_shows_who_is_there_and_what_they_have(self):
        self.assertEqual(self.admin_json("sessions")["sessions"], [])
        self.hold_block(client="b")
        one, = self.only(1)
        self.assertEqual((one["client"], one["state"]), ("b", "LIVE"))
        self.assertLessEqual(one["lease_left_ms"], 10000)
        self.assertEqual((one["queues"], one["mappings"], one["handles"]), (1, 1, 1))
        self.assertRegex(one["peer"], r"^s?tcp\[127\.0\.0\.1\]:\d+$")
        self.assertEqual(one["ops"]["map"], 1)
        text = self.ok(self.admin_ctl("sessions")).decode()
        self.assertIn(one["session"], text)
        self.assertIn("1 session\n", text)
        self.assertIn(f"session {one['session']} ", self.b.log_text())

    def test_mapped_shows_who_has_what(self):
        self.hold_block(3), self.hold_block(5, client="b")
        self.ok(self.b.ctl("alloc", f"{6 * lab.BLOCK}+1"))
        for client in "ab":
            self.hold(f"{6 * lab.BLOCK}+1", "--ro", "--shared", client=client)
        listed = self.admin_json("list", "mapped")
        sessions = {s["session"]: s for s in self.admin_json("sessions")["sessions"]}
        self.assertEqual([(int(e["va"], 16) // lab.BLOCK, e["n_blocks"]) for e in listed["extents"]],
                         [(3, 1), (5, 1), (6, 1), (6, 1)])
        self.assertEqual([e["client"] for e in listed["extents"][:2]], ["a", "b"])
        self.assertEqual({e["client"] for e in listed["extents"][2:]}, {"a", "b"})
        for e in listed["extents"]:
            self.assertEqual(sessions[e["session"]]["client"], e["client"])
            self.assertEqual(sessions[e["session"]]["peer"], e["peer"])
        self.assertEqual(listed["extents"][0]["flags"], ["mapped", "rw", "exclusive"])
        self.assertEqual(listed["extents"][2]["flags"], ["mapped"])
        text = self.ok(self.admin_ctl("list", "mapped")).decode()
        self.assertIn(listed["extents"][0]["session"], text)
        asked = self.admin().ask(op="mapped", range=f"{4 * lab.BLOCK}+2")
        self.assertEqual([e["client"] for e in asked["mapped"]], ["b"])

    def test_tables_are_as_wide_as_what_is_in_them(self):
        name = "a-client-that-has-a-name-of-40-letters-x"
        self.b.stop()
        self.b.clients[name] = ["0x0+1T rw"]
        self.b.make_key(name)
        self.b.start()
        self.hold_block(client=name), self.hold_block(1, client="b")
        for words in ("sessions",), ("list", "mapped"):
            head, *rows = self.ok(self.admin_ctl(*words)).decode().splitlines()[:3]
            for row in rows:
                self.assertRegex(row[head.index("PEER"):], r"^s?tcp\[", row)
            # A number ends where its heading does.
            heading = "BLOCKS" if words == ("list", "mapped") else "MAPS"
            end = head.index(heading) + len(heading)
            self.assertTrue(all(re.search(r" 1$", row[:end]) for row in rows), (head, rows))

    def test_mapped_comes_in_pages(self):
        n = 3 * 256 + 7
        self.b.stop()
        self.b.store = "memory:2G"
        self.b.settings += "\nmap-extent-max = 2M"
        self.b.start()
        self.ok(self.b.ctl("alloc", f"0x0+{n}"))
        self.hold(f"0x0+{n}", "--ro", "--shared")
        self.hold("0x0+300", "--ro", "--shared", client="b")
        first = self.admin().ask(op="mapped")
        self.assertEqual(len(first["mapped"]), 256)
        listed = self.admin_json("list", "mapped")["extents"]
        self.assertEqual(sorted((int(e["va"], 16) // lab.BLOCK, e["client"]) for e in listed),
                         sorted([(i, "a") for i in range(n)] + [(i, "b") for i in range(300)]))
        for bad in ({"after": "0x0+1"}, {"after": "0x0/0"}, {"range": "x"}, {"after": 7}):
            self.assertIs(self.admin().ask(op="mapped", **bad)["ok"], False, bad)

    def test_who_is_refused_a_block_learns_how_to_learn_who_has_it(self):
        self.hold_block(0)
        other = self.folder / "other.sock"
        self.brick("other", settings=f"admin = {other}").start()
        done = self.b.ctl("free", "0x0+1")
        self.refused(done, REFUSED, "this client holds it")
        mine = self.b.json("list", "mine")["extents"][0]["mapping_id"]
        said = done.stderr.decode()
        self.assertIn(f"brickctl unmap {int(mine, 16):016x}", said)
        for words in (("free", "0x0+1"), ("map", "0x0+1", "--hold", "0", "--nowait"),
                      ("write", "0x0", "--length", "1")):
            done = self.b.ctl(*words, client="b", stdin=b"x")
            self.refused(done, REFUSED, "another client holds it",
                         "list mapped shows which")
            # Neither its name nor its session.
            self.assertNotIn("client a", done.stderr.decode())
            one, = self.only(1)
            self.assertNotIn(one["session"], done.stderr.decode())
            # Whoever may ask this brick's daemon is told both.
            self.refused(self.b.ctl("--admin", self.path, *words, client="b", stdin=b"x"),
                         REFUSED, "client a holds it", f"{self.path} evict {one['session']} ends")
            self.refused(self.b.ctl("--admin", other, *words, client="b", stdin=b"x"),
                         REFUSED, "another client holds it")
        self.ok(self.b.ctl("unmap", f"{int(mine, 16):016x}"))
        self.ok(self.b.ctl("free", "0x0+1"))

    def test_evict_ends_one_session_and_its_blocks_are_free(self):
        evicted, kept = self.hold_block(0), self.hold_block(1)
        first = self.only(2)[0]["session"]
        self.ok(self.admin_ctl("evict", first))
        done = select.select([evicted.stdout, kept.stdout], [], [], DEADLINE_S)[0]
        self.assertEqual(len(done), 1)
        gone = evicted if done[0] is evicted.stdout else kept
        said = gone.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertIn(f"user {os.geteuid()} of the brick's machine", said)
        self.assertIn("has evicted this client", said)
        block = 0 if gone is evicted else 1
        one, = self.only(1)
        self.assertNotEqual(one["session"], first)
        self.ok(self.b.ctl("free", f"{block * lab.BLOCK}+1"))
        self.refused(self.b.ctl("free", f"{(1 - block) * lab.BLOCK}+1"), REFUSED, "mapped")
        self.assertEqual(self.stat("evictions"), 1)
        self.assertRegex(self.b.log_text(),
                         rf"session {first} .*: evicted: by uid {os.geteuid()}")

    def test_evict_by_client_ends_all_its_sessions_and_no_other(self):
        self.hold_block(0), self.hold_block(1), self.hold_block(2, client="b")
        self.only(3)
        self.assertEqual(self.admin_json("evict", "--all", "a"), {"evicted": 2})
        one, = self.only(1)
        self.assertEqual(one["client"], "b")

    def test_evict_of_what_is_not_there_changes_nothing(self):
        self.hold_block()
        held, = self.only(1)
        for words in (("evict", "123"), ("evict", "--all", "b")):
            self.refused(self.admin_ctl(*words), REFUSED, "no")
        a = self.admin()
        for request in ({"session": "0"}, {"session": 5}, {"session": "1" * 17},
                        {"session": "12G"}, {"session": "12\0"}, {"client": ""},
                        {"client": "x" * 41}, {}, {"client": "a", "session": "1"}):
            answer = a.ask(op="evict", **request)
            self.assertEqual((answer["ok"], answer["errno"]), (False, errno.EINVAL), request)
        one, = self.only(1)
        self.assertEqual((one["session"], one["state"]), (held["session"], "LIVE"))
        self.refused(self.admin_ctl("evict"), USAGE, "either")
        self.refused(self.admin_ctl("evict", "1", "--all", "a"), USAGE, "either")

    def test_stats_counts_ops_refusals_flushes_and_commits(self):
        self.ok(self.b.ctl("alloc", "0x0+2"))
        self.refused(self.b.ctl("alloc", "0x0+1"), REFUSED)
        self.ok(self.b.ctl("write", "0x0", stdin=b"x" * 5000))
        self.refused(self.b.ctl("info", client="a", key=self.b.key("b")), UNREACHED)
        self.assertEqual(self.stat("ops", op="alloc", status="OK"), 1)
        self.assertEqual(self.stat("ops", op="alloc", status="EEXIST"), 1)
        self.assertEqual(self.stat("ops", op="flush", status="OK"), 1)
        self.assertEqual(self.stat("ops", op="auth", status="EKEYREJECTED"), 1)
        self.assertEqual(self.stat("auth_failures"), 1)
        self.assertEqual(self.stat("slots", state="allocated"), 2)
        self.assertGreaterEqual(self.stat("drain_seconds")["count"], 1)
        flushes = self.stat("drain_flushes")
        self.assertEqual(flushes["sum"], flushes["count"])
        self.assertGreaterEqual(self.stat("commit_changes")["sum"], 1)
        flush = self.stat("op_seconds", op="flush")
        self.assertEqual(flush["count"], 1)
        self.assertGreater(flush["sum"], 0)
        self.only(0)
        self.assertEqual(self.stat("sessions_fenced"), self.stat("sessions_opened"))
        self.assertEqual(self.stat("handles"), 0)
        self.assertIn("ops op=alloc status=EEXIST", self.ok(self.admin_ctl("stats")).decode())

    def test_the_cleaner_is_seen_to_work(self):
        self.ok(self.b.ctl("alloc", "0x0+4"))
        self.ok(self.b.ctl("free", "0x0+4"))
        self.until(lambda: self.stat("slots_cleaned") >= 4)
        self.assertEqual(self.stat("slots", state="allocated"), 0)

    def test_refused_connections_are_counted_by_reason(self):
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.b.stop()
        self.b.settings += "\nmax-sessions = 1"
        self.b.start()
        self.hold("0x0+1")
        self.refused(self.b.ctl("info"), UNREACHED)
        self.assertGreaterEqual(self.stat("connections_refused", status="EDQUOT"), 1)

    def test_many_sessions_come_in_pages(self):
        n = PAGE + 6
        self.ok(self.b.ctl("alloc", "0x0+1"))
        for _ in range(n):
            self.hold("0x0+1", "--ro")
        self.only(n)
        first = self.admin().ask(op="sessions")
        self.assertEqual(len(first["sessions"]), PAGE)
        self.assertEqual(first["next"], first["sessions"][-1]["session"])
        second = self.admin().ask(op="sessions", after=first["next"])
        self.assertEqual(len(second["sessions"]), n - PAGE)
        self.assertNotIn("next", second)
        ids = [s["session"] for s in first["sessions"] + second["sessions"]]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(len(self.admin_json("sessions")["sessions"]), n)


class Json(AdminTest):
    # read prints what it has read, complete lines for shells.
    PRINT_NO_OBJECT = {"read", "complete"}

    def test_every_command_prints_objects_and_no_text(self):
        new = self.folder / "new"
        lines = {
            "keygen": ["-"], "format": [new, "--size", "16M"], "check": [new],
            "grow": [new, "--size", "32M"], "info": [], "alloc": ["0x0+4"],
            "map": ["0x0+1", "--hold", "0"], "list": ["mine"], "write": ["0x0"],
            "ping": ["-c", "1"], "bench": ["8M+1", "-c", "1"], "free": ["0x0+1"],
            "sessions": [], "stats": [], "top": [], "evict": ["--all", "a"], "tier": [],
            "fence": ["b"], "admit": ["b"], "clients": [], "reserve": ["show", "0x0+1"],
            # No block begins there, should the kernel's driver be here.
            "unmap": ["1"], "doctor": ["--store", new],
            "attach": ["--size", "1G", "--base", "1"],
            "detach": ["kfbrick77"], "reattach": ["kfbrick77"], "attached": []}
        said = self.ok(lab.run(lab.BRICKCTL, "--help")).decode()
        commands = re.findall(r"^  ([a-z]+) +[A-Z]", said.split("\nOptions")[0], re.M)
        self.assertEqual(set(lines), set(commands) - self.PRINT_NO_OBJECT)
        path = f"{os.path.dirname(lab.BRICKD)}:{os.environ['PATH']}"
        for command, words in lines.items():
            done = lab.run("env", f"PATH={path}", lab.BRICKCTL, "--brick", self.b.url,
                           "--client", "a", "--key-file", self.b.key("a"),
                           *([] if command == "list" else ["--admin", self.path]),
                           command, *words, "--json", stdin=b"x")
            with self.subTest(command=command, said=done):
                objects = (done.stdout + done.stderr).splitlines()
                self.assertTrue(objects)
                for line in objects:
                    lab.read_json(line)
                if done.returncode:
                    self.assertIn("error", json.loads(objects[-1]))


class Refusals(AdminTest):
    def test_the_socket_is_private_and_goes_with_the_daemon(self):
        mode = self.path.lstat().st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        self.assertEqual(self.b.stop(), 0)
        self.assertFalse(self.path.exists())

    def test_a_socket_that_a_killed_daemon_left_is_replaced(self):
        self.b.kill()
        self.assertTrue(self.path.exists())
        self.b.start()
        self.assertTrue(self.admin().ask(op="info")["ok"])

    def test_a_socket_that_is_listened_on_is_left_to_its_owner(self):
        other = self.brick("other", settings=f"admin = {self.path}")
        with self.assertRaisesRegex(RuntimeError, "another process listens on it"):
            other.start()
        self.assertTrue(self.admin().ask(op="info")["ok"])

    def test_what_is_no_socket_is_left_alone(self):
        self.b.stop()
        self.path.write_text("precious")
        with self.assertRaisesRegex(RuntimeError, "it is left alone"):
            self.b.start()
        self.assertEqual(self.path.read_text(), "precious")

    def test_a_socket_of_another_daemon_survives_our_end(self):
        self.path.unlink()
        other = self.brick("other", settings=f"admin = {self.path}").start()
        self.assertEqual(self.b.stop(), 0)
        self.assertTrue(self.admin().ask(op="info")["ok"])
        self.assertEqual(other.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                         "needs root and setpriv")
    def test_another_user_is_refused_by_mode_and_by_who_it_is(self):
        self.folder.chmod(0o755)
        ask = ("import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
               "print(s.makefile().readline(), end='')")
        words = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                 "python3", "-c", ask, self.path)
        self.assertIn(b"PermissionError", lab.run(*words).stderr)
        self.path.chmod(0o666)
        answer = json.loads(self.ok(lab.run(*words)))
        self.assertEqual((answer["ok"], answer["errno"]), (False, errno.EPERM))
        self.assertEqual(self.stat("admin_refused"), 1)

    def test_garbage_gets_an_error_and_an_end(self):
        for garbage in (b"\n", b"hello\n", b"{\n", b"[]\n", b"12\n", b'"op"\n', b"null\n",
                        b'{"op":"info"} {"op":"info"}\n', b"{'op':'info'}\n",
                        b'{"op":"info"}\0\n', b'{"op":"in\xfffo"}\n', b"\0\n",
                        b'{"op":"info","x":[[[[[[[[1]]]]]]]]}\n', b"{" * 4000 + b"\n"):
            with self.subTest(garbage=garbage[:40]):
                a = self.admin().send(garbage + b'{"op":"info"}\n')
                answer = json.loads(a.line())
                self.assertEqual((answer["ok"], answer["errno"]), (False, errno.EBADMSG))
                self.assertTrue(a.is_closed())

    def test_a_request_that_makes_no_sense_is_answered_and_more_may_follow(self):
        a = self.admin()
        for request, code in (({"op": "fly"}, errno.EOPNOTSUPP), ({}, errno.EINVAL),
                              ({"op": 1}, errno.EINVAL),
                              ({"op": "sessions", "after": 7}, errno.EINVAL),
                              ({"op": "sessions", "after": "x"}, errno.EINVAL),
                              ({"op": "clients", "from": 0}, errno.EINVAL),
                              ({"op": "clients", "from": "32"}, errno.EINVAL)):
            answer = a.ask(**request)
            self.assertEqual((answer["ok"], answer["errno"]), (False, code), request)
        self.assertTrue(a.ask(op="info")["ok"])

    def test_the_longest_line_is_taken_and_a_longer_one_is_not(self):
        longest = b'{"op":"info"' + b" " * (LINE_MAX - 14) + b"}\n"
        self.assertEqual(len(longest), LINE_MAX)
        self.assertTrue(json.loads(self.admin().send(longest).line())["ok"])
        a = self.admin().send(b'{"op":"info"' + b" " * (LINE_MAX - 12))
        answer = json.loads(a.line())
        self.assertEqual((answer["ok"], answer["errno"]), (False, errno.EMSGSIZE))
        self.assertTrue(a.is_closed())

    def test_lines_in_pieces_and_many_at_once_are_answered_in_order(self):
        a = self.admin()
        for byte in b'{"op":"info"}':
            a.send(bytes([byte]))
        self.assertTrue(json.loads(a.send(b"\n").line())["ok"])
        a.send(b'{"op":"info"}\n{"op":"fly"}\n' * 1000)
        for _ in range(1000):
            self.assertTrue(json.loads(a.line())["ok"])
            self.assertFalse(json.loads(a.line())["ok"])

    def test_a_client_that_has_said_all_gets_its_answers(self):
        a = self.admin().send(b'{"op":"info"}\n{"op":"info"}\n{"op"')
        a.sock.shutdown(socket.SHUT_WR)
        self.assertTrue(json.loads(a.line())["ok"])
        self.assertTrue(json.loads(a.line())["ok"])
        self.assertTrue(a.is_closed())

    def test_the_ninth_client_is_turned_away_until_one_goes(self):
        clients = [self.admin() for _ in range(CLIENTS_MAX)]
        for a in clients:
            self.assertTrue(a.ask(op="info")["ok"])
        ninth = self.admin()
        answer = json.loads(ninth.line())
        self.assertEqual((answer["ok"], answer["errno"]), (False, errno.EUSERS))
        self.assertTrue(ninth.is_closed())
        self.refused(self.admin_ctl("stats"), UNREACHED, "too many clients")
        clients.pop().close()
        self.until(lambda: self.admin_ctl("stats").returncode == 0)
        for a in clients:
            self.assertTrue(a.ask(op="info")["ok"])

    def test_half_a_line_and_then_silence_is_cut_off_and_nobody_waits(self):
        silent = [self.admin().send(b'{"op":') for _ in range(CLIENTS_MAX)]
        self.ok(self.b.ctl("ping", "-c", "3"))
        for a in silent:
            self.assertTrue(a.is_closed())
        self.assertEqual(self.stat("admin_refused"), CLIENTS_MAX)

    def test_who_does_not_take_its_answers_is_cut_off_and_nobody_waits(self):
        a = self.admin()
        a.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        a.sock.setblocking(False)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += a.sock.send(b'{"op":"stats"}\n' * 100)
                select.select([], [a.sock], [], 0.2)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass
        self.assertLess(sent, 64 << 20)
        self.ok(self.b.ctl("ping", "-c", "3"))
        self.until(lambda: self.stat("admin_refused") == 1)

    def test_brickctl_says_what_is_wrong_with_the_socket(self):
        self.refused(lab.run(lab.BRICKCTL, "--admin", self.folder / "none", "stats"),
                     UNREACHED, "none", "admin = PATH")
        self.refused(lab.run(lab.BRICKCTL, "--admin", "/" + "x" * 200, "stats"), USAGE,
                     "--admin")


if __name__ == "__main__":
    lab.main()
