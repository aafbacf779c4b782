#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What brickd says of whom, and what becomes of it when nobody listens."""
import fcntl
import os
import re
import signal
import socket
import subprocess
import threading
import time

import lab
from tcp_peers import Peer, hello, request

TRIES = 600
DISCONNECTS = 100
# Clients, whose lines are more than a brick keeps for a log that nobody reads.
MANY = 60
# A client that is told that its lease ends has a third of it to answer.
LEASE = "lease-ms = 20000"
# A command whose core may be as large as it likes.
CORES = ["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh"]
# Lines of a kind within ten seconds.
TOLD = 20
OFTEN = TOLD + 4
WHO = re.compile(r"<\d>brickd: (session [0-9a-f]{16}( client \S+)?"
                 r"( queue \d+)?( ((libfabric-)?tcp|verbs)\[\S+\]:\d+)?|((libfabric-)?tcp|verbs)\[\S+\]:\d+): ")
# What concerns the daemon as a whole.
DAEMON = re.compile(r"<\d>brickd: (serving |stopping$|stopped cleanly$|self-test of |"
                    r"the peer broke the rules|\d+ lines like the next|/\S+ is |the last stop was not clean|"
                    r"grants overcommit |the limit of locked memory |memory cannot be locked )")


class Logs(lab.FuncTest):
    def serves(self, b):
        for _ in range(TRIES):
            done = b.ctl("ping", "-c", "1")
            if not done.returncode or b.process.poll() is not None:
                break
        self.ok(done)

    def lines_of(self, program):
        """The log of a brick that a program of raw clients has tried."""
        b = self.brick(program, clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]},
                       settings=f"log-level = debug\n{LEASE}")
        # What joins looks for in INFO.
        b.quotas = {"a": "4"} if program == "joins" else {}
        b.start()
        self.ok(b.ctl("alloc", "0x0+2"))
        self.ok(lab.run(lab.FUNC_BIN / program, b.url, "a", b.key("a"),
                        *(["b", b.key("b")] if program == "joins" else [])))
        self.assertEqual(b.stop(), 0)
        return b.log_text().splitlines()

    def test_each_line_of_a_session_names_it(self):
        lines = self.lines_of("hostile") + self.lines_of("joins")
        for line in lines:
            if not DAEMON.match(line):
                self.assertRegex(line, WHO)
        for said in ("client a queue 0 s?tcp.*: authenticated",
                     "queue 0 s?tcp.*: authentication of", "client a: ends: disconnect"):
            self.assertTrue([x for x in lines if re.search("session [0-9a-f]{16} " + said, x)],
                            said)

    def test_a_disconnect_is_no_fault(self):
        b = self.brick().start()
        for _ in range(DISCONNECTS):
            self.ok(b.ctl("ping", "-c", "1"))
        self.assertEqual(b.stop(), 0)
        self.assertEqual([line for line in b.log_text().splitlines() if line[1] < "5"], [])

    def on_terminal(self, b):
        """What brickd, from start to stop, shows on a terminal that is its stderr."""
        ours, its = os.openpty()
        shown = b""
        b.start(stderr=its)
        os.close(its)
        self.assertEqual(b.stop(), 0)
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            pass # Linux says so of a terminal that nobody has open.
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")

    def test_on_a_terminal_each_line_has_its_time_and_name(self):
        b = self.brick(clients={"a": ["0x0+1T rw"]}, settings="allow-untrusted-tcp = yes")
        lines = self.on_terminal(b).splitlines()
        self.assertTrue(any("serving" in line for line in lines), lines)
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d brickd: [^<]")

    def journal(self, b):
        """Starts a brick whose stderr is the journal's. Return: the journal's socket."""
        if os.geteuid():
            self.skipTest("a journal of one's own takes root")
        folder = self.folder / "journal"
        folder.mkdir()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(str(folder / "socket"))
        listener.settimeout(lab.COMES_S)
        b.inside = ["unshare", "--mount", "sh", "-c",
                    "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && "
                    f'mount --bind {folder} /run/systemd/journal && exec "$@"', "sh"]
        log = open(b.log, "ab")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        found = os.fstat(log.fileno())
        b.environment["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
        b.start(stderr=log)
        return listener

    def test_the_journal_gets_fields(self):
        b = self.brick()
        journal = self.journal(b)
        self.ok(b.ctl("ping", "-c", "1"))
        self.assertEqual(b.stop(), 0)
        entries = []
        journal.setblocking(False)
        try:
            while True:
                entries.append(dict(f.split("=", 1) for f in
                                    journal.recv(65536).decode().splitlines()))
        except BlockingIOError:
            pass
        self.assertEqual(b.log_text(), "")
        for entry in entries:
            self.assertEqual(entry["SYSLOG_IDENTIFIER"], "brickd")
            self.assertRegex(entry["PRIORITY"], "^[0-7]$")
        told, = [e for e in entries if "authenticated" in e["MESSAGE"]]
        self.assertEqual(told["KFBRICK_CLIENT"], "a")
        self.assertEqual(told["KFBRICK_QUEUE"], "0")
        self.assertRegex(told["KFBRICK_SESSION"], "^[0-9a-f]{16}$")
        self.assertRegex(told["KFBRICK_PEER"], r"^(libfabric-)?(tcp|verbs)\[")
        self.assertTrue([e for e in entries if "KFBRICK_SESSION" not in e])

    def locked(self, b):
        """Bytes of brickd's memory that stay there, and whether the medium is of them."""
        proc = self.proc_of(b)
        n = re.search(r"^VmLck:\s+(\d+) kB$", (proc / "status").read_text(), re.M)
        maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", (proc / "smaps").read_text(), flags=re.M)
        medium = [m for m in maps if str(b.store) in m.partition("\n")[0]]
        self.assertTrue(medium)
        return int(n[1]) * 1024, any(re.search(r"^VmFlags:.* lo\b", m, re.M) for m in medium)

    def test_what_is_in_memory_is_not_swapped_out(self):
        b = self.brick().start()
        self.ok(b.ctl("alloc", "0x0+2"))
        n, is_medium_locked = self.locked(b)
        self.assertEqual(b.stop(), 0)
        self.assertFalse(is_medium_locked)
        # Where the limit cannot be raised, as in a container: the guests' brickd-adr.
        if "may be swapped out" in b.log_text():
            self.assertEqual(n, 0)
        else:
            self.assertGreater(n, lab.MIB)

    def test_a_limit_of_locked_memory_is_told(self):
        # Nobody else's programs: what may raise the limit has none.
        b = self.brick()
        b.inside = ["prlimit", "--memlock=65536:65536",
                    "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        b.start()
        self.assertEqual(self.locked(b), (0, False))
        self.serves(b)
        self.assertEqual(b.stop(), 0)
        self.assertIn("RLIMIT_MEMLOCK, LimitMEMLOCK=) is 65536 bytes", b.log_text())

    def test_a_limit_of_descriptors_is_told_with_all_connections_of_all_sessions(self):
        b = self.brick()
        b.inside = ["prlimit", "--nofile=300:300"]
        # 64 before authentication, and 128 of the daemon's own.
        for queues, wanted in (4, None), (8, 352):
            b.settings = f"max-sessions = 20\nmax-queues = {queues}"
            b.start()
            self.assertEqual(b.stop(), 0)
            if wanted:
                self.assertIn(f"max-sessions = 20 and max-queues = {queues} take {wanted} "
                              "descriptors", b.log_text())
            else:
                self.assertNotIn("descriptors", b.log_text())

    def test_grants_beyond_the_store_are_told_at_the_start_with_numbers(self):
        b = self.brick(clients={"a": ["0x0+20 rw"], "b": ["0x2800000+7 rw"]},
                       size="128M").start()
        room = b.json("info")["slots_total"]
        b.stop()
        self.assertNotIn("overcommit", b.log_text())
        for n, said in ((room, False), (room + 1, True)):
            # The same blocks of two clients, in two pieces, and some to read.
            half = f"{lab.BLOCK * (n // 2):#x}+{n - n // 2}"
            b.clients = {"a": [f"0x0+{n // 2} rw", f"{half} rw", "1T+1T ro"],
                         "b": [f"{half} rw"]}
            b.start()
            b.stop()
            self.assertEqual(f"grants overcommit the store: clients may allocate {n} blocks, "
                             f"and it has room for {room}" in b.log_text(), said, b.log_text())

    def test_a_refusal_names_the_peer_and_the_session_it_asked_for(self):
        b = self.brick(clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]}, settings=LEASE)
        b.quotas = {"a": "4"}
        b.start()
        self.ok(lab.run(lab.FUNC_BIN / "joins", b.url, "a", b.key("a"), "b", b.key("b")))
        self.assertTrue(re.search(r"session [0-9a-f]{16} queue \d+ s?tcp\[127\.0\.0\.1\]:\d+: "
                                  "connection request refused", b.log_text()))
        self.ok(b.ctl("alloc", "0x0+1"))
        self.assertEqual(b.stop(), 0)
        b.settings = "max-sessions = 1"
        b.start()
        with subprocess.Popen([lab.BRICKCTL, "--brick", b.url, "--client", "a", "--key-file",
                               str(b.key("a")), "map", "0x0+1", "--ro", "--hold", "86400"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=lab.environment()) as holder:
            self.addCleanup(holder.kill)
            self.assertTrue(holder.stdout.readline())
            self.assertNotEqual(b.ctl("info").returncode, 0)
            holder.terminate()
            holder.communicate()
        self.assertTrue(re.search(r"brickd: s?tcp\[127\.0\.0\.1\]:\d+: connection request "
                                  "refused: a limit", b.log_text()), b.log_text()[-1000:])
        self.assertEqual(b.stop(), 0)

    def stranger(self, b):
        """Never says who it is."""
        peer = Peer(b.port)
        self.addCleanup(peer.socket.close)
        peer.join(hello())

    def babbler(self, b):
        peer = Peer(b.port)
        peer.send(request(b"junk"))
        self.assertTrue(peer.is_gone())

    def test_what_needs_no_key_hides_no_failed_authentication(self):
        b = self.brick(clients={"a": ["0x0+8 rw"], "b": ["0x0+8 rw"]},
                       settings="max-unauthenticated-per-address = 1").start()
        # Each more often than a kind of line is told.
        junk = {
            "the message was malformed": lambda: self.babbler(b),
            "others want its place": lambda: self.stranger(b),
            "there is no such client":
                lambda: b.ctl("info", client="nobody", key=b.key("a")),
        }
        for n, (said, send) in enumerate(junk.items()):
            for _ in range(OFTEN):
                send()
            self.until(lambda said=said: b.log_text().count(said) >= TOLD - 1)
            self.assertNotEqual(b.ctl("info", client="a", key=b.key("b")).returncode, 0)
            self.assertEqual(b.log_text().count('authentication of "a" failed: wrong key'), n + 1,
                             said)
        self.assertEqual(b.stop(), 0)

    def is_bounded(self, said, make):
        """What happens often is told as often as its kind may be, in the time that it takes."""
        b = self.bricks[-1]
        begin = time.monotonic()
        make()
        windows = 2 + int((time.monotonic() - begin) / 10)
        told = len(re.findall(said, b.log_text()))
        self.assertGreater(told, 0)
        self.assertLessEqual(told, TOLD * windows)

    def test_clients_that_have_a_key_make_no_more_lines_than_others(self):
        b = self.brick(clients={"a": ["0x0+8 rw"], "w": ["0x0+8 rw"]},
                       settings=f"fences = {self.folder}/fences")
        b.roles = {"w": "fencer"}
        b.start()
        self.is_bounded("client a expects another brick", lambda: self.ok(
            lab.run(lab.FUNC_BIN / "crowd", "astray", b.url, "a", b.key("a"), 400)))

        def fence():
            for _ in range(2 * TOLD):
                self.ok(b.ctl("fence", "a", client="w"))
                self.ok(b.ctl("admit", "a", client="w"))
        self.is_bounded("client a is (fenced|admitted)", fence)
        self.assertEqual(b.stop(), 0)

    def leaves_core(self, words):
        """What ends it would leave a core, if nothing is against it.

        Other signals that leave one are ignored by what a shell has in the background.
        """
        with subprocess.Popen([*CORES, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            self.assertTrue(process.stdout.readline())
            process.send_signal(signal.SIGABRT)
            done = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            return done.si_code == os.CLD_DUMPED

    def test_the_keys_get_into_no_core(self):
        if not self.leaves_core(["sh", "-c", "echo; exec sleep 86400"]):
            self.skipTest("nothing leaves a core here")
        b = self.brick()
        b.configure()
        self.assertFalse(self.leaves_core(
            [lab.BRICKD, "--config", b.conf, "--ready-fd", "1"]))

    def test_a_log_that_nobody_reads_any_more_ends_nothing(self):
        reader, writer = os.pipe()
        b = self.brick(settings="log-level = debug").start(stderr=writer)
        os.close(writer)
        os.close(reader)
        for _ in range(3):
            self.ok(b.ctl("ping", "-c", "1"))
        self.assertEqual(b.stop(), 0)

    def test_a_log_that_nobody_reads_for_now_keeps_no_client_waiting(self):
        """What found no room comes whole, and what is said at the end. That lines are
        lost beyond a bound, and counted, is test_log.c's."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        b = self.brick(settings="log-level = debug").start(stderr=writer)
        os.close(writer)
        for _ in range(MANY):
            self.ok(b.ctl("ping", "-c", "1"))
        said = []

        def hear():
            while piece := os.read(reader, 65536):
                said.append(piece)
            os.close(reader)
        thread = threading.Thread(target=hear)
        thread.start()
        self.until(lambda: sum(map(len, said)) > 2 * 4096, "what has waited")
        self.assertEqual(b.stop(), 0)
        thread.join()
        text = b"".join(said).decode()
        for line in text.splitlines():
            self.assertRegex(line, r"^<\d>brickd: ")
        self.assertTrue(text.endswith("stopped cleanly\n"))

    def test_a_log_that_nobody_reads_at_all_does_not_keep_a_brick_from_stopping(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        b = self.brick(settings="log-level = debug").start(stderr=writer)
        os.close(writer)
        for _ in range(OFTEN):
            self.ok(b.ctl("ping", "-c", "1"))
        self.assertEqual(b.stop(), 0)

    def test_a_journal_that_takes_nothing_for_now_keeps_no_client_waiting(self):
        b = self.brick(settings="log-level = debug")
        journal = self.journal(b)
        for _ in range(MANY):
            self.ok(b.ctl("ping", "-c", "1"))
        journal.setblocking(False)
        said = []

        def hear():
            try:
                while True:
                    said.append(journal.recv(65536).decode())
            except BlockingIOError:
                # More than a socket holds, so that some have waited.
                return len(said) > 2 * in_socket
        with open("/proc/sys/net/unix/max_dgram_qlen", encoding="ascii") as file:
            in_socket = min(int(file.read()), MANY)
        self.until(hear, "what has waited")
        self.assertEqual(b.log_text(), "")

    def test_a_ready_descriptor_that_nobody_reads_is_said_and_no_more(self):
        b = self.brick().start()
        self.assertEqual(b.stop(), 0)
        reader, writer = os.pipe()
        os.close(reader)
        with open(b.log, "ab") as log:
            b.process = subprocess.Popen(
                [str(b.program), "--config", str(b.conf), "--ready-fd", str(writer),
                 "--listen", b.url], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[writer], env=lab.environment())
        os.close(writer)
        self.serves(b)
        self.assertIn("nobody reads --ready-fd", b.log_text())
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
