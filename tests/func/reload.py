# SPDX-License-Identifier: BSD-2-Clause
"""SIGHUP: clients, keys and grants are taken; mistakes change nothing."""
import os
import signal
import socket
import subprocess
import threading

import lab

REFUSED, NO_BRICK = 1, 3
SOON_S = lab.COMMAND_S


class Reload(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.b = self.brick(clients={"a": ["0x0+16M rw"],
                                     "b": ["0x0+1T rw"]}).start()
        self.ok(self.b.ctl("alloc", "0x0+4"))

    def reload(self, said="clients and grants read again"):
        """Send SIGHUP and wait for what the log says of it."""
        before = len(self.b.log_text())
        self.b.process.send_signal(signal.SIGHUP)
        self.until(lambda: said in self.b.log_text()[before:], said)
        return self.b.log_text()[before:]

    def change(self, clients):
        self.b.clients = clients
        for name in clients:
            self.b.make_key(name)
        self.b.configure()

    def hold(self, client, va="0x0+1"):
        """A client that has blocks mapped until it is stopped."""
        words = [lab.BRICKCTL, "--brick", self.b.url, "--client", client,
                 "--key-file", str(self.b.key(client)), "--json", "map", va,
                 "--rw", "--hold", "86400"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE,
                                   env=lab.environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertIn(b"mapping_id", process.stdout.readline())
        return process

    def mapped(self):
        return self.b.json("list", "mapped", client="b")["extents"]

    def test_a_new_client_is_served_and_a_removed_one_refused(self):
        self.change({"b": ["0x0+1T rw"], "c": ["0x0+16M ro"]})
        self.refused(self.b.ctl("ping", "--count", "1", client="c"), NO_BRICK)
        self.reload()
        self.ok(self.b.ctl("ping", "--count", "1", client="c"))
        self.refused(self.b.ctl("ping", "--count", "1", client="a"), NO_BRICK)

    def test_a_removed_client_comes_back_with_its_name(self):
        both = dict(self.b.clients)
        self.change({"b": ["0x0+1T rw"]})
        self.reload()
        self.change(both)
        self.reload()
        self.ok(self.b.ctl("list", "allocated", client="a"))

    def test_the_blocks_of_a_removed_client_are_free_for_others(self):
        held = self.hold("a")
        self.assertEqual(len(self.mapped()), 1)
        self.change({"b": ["0x0+1T rw"]})
        self.reload()
        self.until(lambda: not self.mapped(), "end of the mapping")
        self.assertIn("its client was removed", self.b.log_text())
        said = held.communicate(timeout=SOON_S)[1].decode()
        self.assertIn("evicted: the brick's settings do not name the client", said)

    def test_another_key_ends_sessions_made_with_the_old_one(self):
        old = self.b.folder / "old.key"
        old.write_bytes(self.b.key("a").read_bytes())
        old.chmod(0o600)
        self.hold("a")
        self.b.key("a").unlink()
        self.change(dict(self.b.clients))
        self.reload()
        self.until(lambda: not self.mapped(), "end of the mapping")
        self.refused(self.b.ctl("list", "allocated", key=old), NO_BRICK)
        self.ok(self.b.ctl("list", "allocated"))

    def give_keys(self, *files):
        """Client a has these keys from now on."""
        self.b.configure()
        lines = []
        for line in self.b.conf.read_text().splitlines():
            if line == f"key-file = {self.b.key('a')}":
                lines += [f"key-file = {file}" for file in files]
            else:
                lines.append(line)
        self.b.conf.write_text("\n".join(lines) + "\n")
        self.reload()

    def test_a_key_is_changed_without_an_outage(self):
        old, new = self.b.key("a"), self.b.folder / "new.key"
        self.ok(lab.run(lab.BRICKCTL, "keygen", new))
        held = self.hold("a")
        self.refused(self.b.ctl("ping", "-c", "1", key=new), NO_BRICK)
        self.give_keys(old, new)
        # Either is good, and whoever has the old one goes on.
        self.ok(self.b.ctl("ping", "-c", "1", key=old))
        self.ok(self.b.ctl("ping", "-c", "1", key=new))
        self.assertIn("authenticated by key 2 of 2", self.b.log_text())
        self.assertEqual(len(self.mapped()), 1)
        # The order says nothing.
        self.give_keys(new, old)
        self.assertEqual(len(self.mapped()), 1)
        self.ok(self.b.ctl("ping", "-c", "1", key=old))
        held.terminate()
        held.wait()
        self.until(lambda: not self.mapped(), "end of the mapping")
        # A session of the new key outlives the old one's end.
        words = [lab.BRICKCTL, "--brick", self.b.url, "--client", "a", "--key-file", str(new),
                 "map", "0x0+1", "--ro", "--hold", "86400"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=lab.environment()) as moved:
            self.addCleanup(moved.kill)
            moved.stdout.readline()
            left = self.hold("a", "0x200000+1")
            self.give_keys(new)
            left.wait(timeout=SOON_S)
            self.until(lambda: len(self.mapped()) == 1, "end of the old key's session")
            self.assertEqual(self.mapped()[0]["va"], "0x0")
            self.assertIn("no longer the key it used", self.b.log_text())
            self.refused(self.b.ctl("ping", "-c", "1", key=old), NO_BRICK)
            self.ok(self.b.ctl("ping", "-c", "1", key=new))
            moved.kill()

    def test_a_grant_that_is_taken_ends_only_who_uses_it(self):
        self.hold("a", "0x0+1")
        inside = self.hold("b", "0x600000+1")
        self.change({"a": ["2M+14M rw"], "b": ["0x0+1T rw"]})
        self.reload()
        self.until(lambda: len(self.mapped()) == 1, "end of one mapping")
        self.assertEqual(self.mapped()[0]["va"], "0x600000")
        self.assertIsNone(inside.poll())
        self.refused(self.b.ctl("free", "0x0+1"), REFUSED)

    def test_a_grant_made_read_only_ends_who_writes(self):
        self.hold("a", "0x0+1")
        self.change({"a": ["0x0+16M ro"], "b": ["0x0+1T rw"]})
        self.reload()
        self.until(lambda: not self.mapped(), "end of the mapping")

    def test_a_mistake_changes_nothing(self):
        self.hold("a")
        self.change({"b": ["0x0+1T rw"]})
        with open(self.b.conf, "a", encoding="ascii") as conf:
            conf.write("grant = upside down\n")
        log = self.reload("stay as they were")
        self.assertIn("brickd.conf:", log)
        self.assertEqual(len(self.mapped()), 1)
        self.ok(self.b.ctl("list", "allocated", client="a"))

    def test_what_takes_a_restart_is_named_all_of_it(self):
        self.b.settings = "max-sessions = 17"
        self.b.configure()
        self.assertIn("max-sessions, max-sessions-per-client have changed: that takes a restart",
                      self.reload())
        self.b.settings = "\n".join((
            "max-sessions = 256", "lease-ms = 9000", "allow-untrusted-tcp = yes",
            "allow-remote-anonymous = yes", "allow-remote-metrics = yes", "tier-rate = 1G"))
        self.b.configure()
        self.assertIn("allow-untrusted-tcp, allow-remote-anonymous, allow-remote-metrics, "
                      "lease-ms, tier-rate have changed: that takes a restart", self.reload())
        self.assertFalse(self.b.json("info")["exposed"])

    def test_the_log_level_is_taken(self):
        for level, detail in ("debug", True), ("error", False), ("info", False):
            self.b.settings = f"log-level = {level}"
            self.b.configure()
            # At error nothing says that the settings were read.
            log = self.reload(f"log-level is now {level}")
            self.assertNotRegex(log, "log-level.* restart")
            if level != "error":
                self.until(lambda: "read again" in self.b.log_text(), "the end")
            before = len(self.b.log_text())
            self.ok(self.b.ctl("ping", "--count", "1"))
            self.until(lambda: ": accepted" in self.b.log_text()[before:] or not detail, "detail")
            self.assertEqual(": accepted" in self.b.log_text()[before:], detail)


class Start(lab.FuncTest):
    """Signals that come while brickd starts are heard when it serves."""

    def setUp(self):
        super().setUp()
        self.hold = self.folder / "hold"
        self.hold.mkdir()
        os.environ["HOLD"] = str(self.hold)
        self.addCleanup(os.environ.pop, "HOLD")
        self.b = self.brick(program=lab.FUNC_BIN / "brickd-held")

    def start_with(self, what, number):
        """Starts the brick, and sends it a signal when it has come that far."""
        held = self.hold / what
        held.touch()
        starting = threading.Thread(target=self.b.start)
        starting.start()
        self.addCleanup(starting.join)
        self.addCleanup(held.unlink, missing_ok=True)
        self.until(lambda: f"held: {what}" in self.b.log_text(), what)
        self.b.process.send_signal(number)
        held.unlink()
        starting.join()

    def test_a_reload_before_the_brick_serves_does_not_end_it(self):
        self.start_with("selftest", signal.SIGHUP)
        self.until(lambda: "clients and grants read again" in self.b.log_text(), "the reload")
        self.ok(self.b.ctl("ping", "-c", "1"))
        self.assertEqual(self.b.stop(), 0)

    def test_a_stop_before_the_brick_serves_is_a_clean_one(self):
        self.start_with("opened", signal.SIGTERM)
        self.assertEqual(self.b.process.wait(timeout=lab.STOP_S), 0)
        self.assertIn("stopped cleanly", self.b.log_text())
        self.b.start()
        self.assertNotIn("not clean", self.b.log_text())


class Status(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(str(self.folder / "notify"))
        self.manager.setblocking(False)
        self.said = []

    def status(self):
        """What "systemctl status" shows of the brick."""
        try:
            while True:
                self.said += self.manager.recv(4096).decode().splitlines()
        except BlockingIOError:
            pass
        return ([s for s in self.said if s.startswith("STATUS=")] or [None])[-1]

    def test_a_reload_does_not_hide_that_the_medium_failed(self):
        mark = self.folder / "failing"
        b = self.brick(program=lab.FUNC_BIN / "brickd-failing")
        b.environment |= {"FAILING_MEDIUM": str(mark),
                          "NOTIFY_SOCKET": str(self.folder / "notify")}
        b.start()
        self.ok(b.ctl("ping", "-c", "1"))
        if not self.status():
            self.skipTest("built without systemd")
        self.assertEqual(self.status(), f"STATUS=serving {b.store}")
        mark.touch()
        self.refused(b.ctl("alloc", "0x0+1"), REFUSED)
        failed = "STATUS=the medium failed: only reads are served"
        self.until(lambda: self.status() == failed, "the failure")
        for refuse in False, True:
            if refuse:
                b.conf.write_text("upside = down\n")
            n = self.said.count("READY=1")
            b.process.send_signal(signal.SIGHUP)
            self.until(lambda n=n: self.status() and self.said.count("READY=1") > n, "the reload")
            self.assertEqual(self.status(), failed)
        self.assertEqual(b.stop(), 1)


if __name__ == "__main__":
    lab.main()
