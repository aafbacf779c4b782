#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tcp leaves a host by: nothing but a WireGuard interface, unless both ends
are told otherwise. The link here is a TUN device between two namespaces; guests
have tunnels (the case kfbrick-wireguard).
"""
import json

import lab
import slow_links

REMOTE = "10.77.0.2"
DEVICE = "slow1"
CLIENTS_DEVICE = "slow0"
OPEN = "--allow-untrusted-tcp"


class Local(lab.FuncTest):
    def test_info_and_doctor_say_that_loopback_stays_here(self):
        brick = self.brick().start()
        info = brick.json("info")
        self.assertEqual((info["path"], info["interface"]), ("loopback", ""))
        self.assertIn("path         loopback\n", self.ok(brick.ctl("info")).decode())
        self.assertIn("is reached by loopback", brick.ctl("doctor").stdout.decode())

    def test_a_brick_is_not_bound_to_what_is_not_there(self):
        brick = self.brick(listen="tcp://10.9.0.1%nothere0")
        with self.assertRaises(RuntimeError) as caught:
            brick.start()
        self.assertIn("interface nothere0: No such device", str(caught.exception))


class Remote(lab.FuncTest):
    def setUp(self):
        super().setUp()
        self.link = slow_links.Link({"queue": 1 << 20})
        self.addCleanup(self.link.close)

    def remote(self, listen, settings=""):
        return self.brick(listen=listen, settings=settings, inside=self.link.brick,
                          from_inside=self.link.client)

    def test_a_brick_is_bound_to_no_link_that_does_not_encrypt(self):
        brick = self.remote(f"tcp://{REMOTE}%{DEVICE}")
        with self.assertRaises(RuntimeError) as caught:
            brick.start()
        self.assertIn(f"{DEVICE} is no WireGuard interface (its kind is tun)",
                      str(caught.exception))

    def test_a_client_sends_nothing_over_one(self):
        brick = self.remote(f"tcp://{REMOTE}", "allow-untrusted-tcp = yes").start()
        said = (f"it is reached by {CLIENTS_DEVICE}, which is no WireGuard interface, and "
                "what tcp carries is not encrypted")
        self.refused(brick.ctl("info"), 2, said, OPEN)
        self.refused(brick.ctl("--json", "info"), 2, '"errno":"EPERM"')
        found = brick.ctl("doctor")
        self.assertEqual(found.returncode, 1)
        self.assertIn(said, found.stdout.decode())
        self.assertNotIn("authenticated", brick.log_text())
        info = json.loads(self.ok(brick.ctl(OPEN, "--json", "info")))
        self.assertEqual((info["path"], info["interface"]), ("untrusted", CLIENTS_DEVICE))
        found = brick.ctl(OPEN, "doctor")
        self.assertEqual(found.returncode, 1)
        self.assertIn("whoever is on the way can read and change all data",
                      found.stdout.decode())

    def test_libfabrics_own_tcp_is_refused_likewise(self):
        brick = self.remote(f"libfabric-tcp://{REMOTE}", "allow-untrusted-tcp = yes").start()
        self.refused(brick.ctl("info"), 2, "which is no WireGuard interface")
        self.ok(brick.ctl(OPEN, "info"))

    def test_the_configuration_of_a_user_may_allow_it(self):
        brick = self.remote(f"tcp://{REMOTE}", "allow-untrusted-tcp = yes").start()
        conf = self.folder / "kfbrick" / "brickctl.conf"
        conf.parent.mkdir()
        for value, status, words in [("yes", 0, ()), ("no", 2, (OPEN,)),
                                     ("maybe", 2, ("neither yes nor no",))]:
            conf.write_text(f"[brickctl]\nallow-untrusted-tcp = {value}\n")
            done = lab.run(*self.link.client, "env", f"XDG_CONFIG_HOME={self.folder}",
                           lab.BRICKCTL, "--brick", brick.url, "--client", "a", "--key-file",
                           brick.key("a"), "info")
            with self.subTest(value=value):
                self.refused(done, status, *words)

    def test_who_comes_by_another_interface_is_refused(self):
        """Bound to the link, all addresses of a brick are nothing to its loopback."""
        self.ok(lab.run(*self.link.brick, "ip", "link", "set", "lo", "up"))
        brick = self.remote(f"tcp://0.0.0.0%{DEVICE}", "allow-untrusted-tcp = yes").start()

        def ask(end, host):
            return lab.run(*end, lab.BRICKCTL, "--brick", f"tcp://{host}:{brick.port}",
                           "--client", "a", "--key-file", brick.key("a"), OPEN, "info")
        self.ok(ask(self.link.client, REMOTE))
        self.refused(ask(self.link.brick, "127.0.0.1"), 3, "refused")
        brick.stop()
        brick.listen = "tcp://0.0.0.0"
        brick.start()
        self.ok(ask(self.link.brick, "127.0.0.1"))


if __name__ == "__main__":
    lab.main()
