#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each limit of a brick at its edge: as much as is allowed, and one more."""
import os

import lab

# Nothing ends by itself.
LONG = "lease-ms = 600000\nauth-timeout-ms = 600000\n"


class Limits(lab.FuncTest):
    def at_the_edge(self, what, settings, program=lab.BRICKD, *words):
        self.b = self.brick(program=program, settings=settings,
                            clients={"a": ["0x0+1T rw"], "b": ["0x0+1T rw"]}).start()
        done = lab.run(lab.FUNC_BIN / "limits", what, self.b.url, "a", self.b.key("a"),
                       "b", self.b.key("b"), *words)
        self.assertEqual(done.returncode, 0, done.stderr.decode() + self.b.log_text()[-3000:])
        self.assertEqual(self.b.stop(), 0)

    def slowly(self, what, settings):
        """With a device that closes no registration while a file exists."""
        slow = self.folder / "slow"
        os.environ["SLOW_DEVICE"] = str(slow)
        self.addCleanup(os.environ.pop, "SLOW_DEVICE")
        self.addCleanup(slow.unlink, missing_ok=True)
        self.at_the_edge(what, LONG + settings, lab.FUNC_BIN / "brickd-slow", slow)

    def test_connections_without_authentication_are_limited_in_all(self):
        self.at_the_edge("strangers", LONG + "max-unauthenticated = 2\n"
                         "max-unauthenticated-per-address = 64")

    def test_connections_without_authentication_are_limited_by_address(self):
        self.at_the_edge("neighbours", LONG + "max-unauthenticated = 64\n"
                         "max-unauthenticated-per-address = 2")

    def test_who_says_nothing_is_sent_away(self):
        self.at_the_edge("silent", "auth-timeout-ms = 2000")
        self.assertIn("it has not authenticated in time", self.b.log_text())

    def test_sessions_are_limited_in_all(self):
        self.at_the_edge("sessions", LONG + "max-sessions = 3\nmax-sessions-per-client = 9")

    def test_sessions_are_limited_by_client(self):
        self.at_the_edge("client", LONG + "max-sessions-per-client = 3")
        self.assertIn("client a has too many sessions", self.b.log_text())

    def test_mappings_and_allocations_are_limited(self):
        self.at_the_edge("mappings", LONG + "max-mappings = 2\nalloc-max-blocks = 4")

    def test_handles_are_limited(self):
        self.at_the_edge("handles", LONG + "max-handles = 3\nmap-extent-max = 2M")

    def test_requests_under_way_are_limited_and_two_are_kept_in_reserve(self):
        self.slowly("credits", "credits = 8")
        self.assertIn("more requests than credits", self.b.log_text())

    def test_requests_that_wait_are_limited_by_session_and_in_all(self):
        self.slowly("pending", "max-pending = 2\nmax-pending-total = 3\n"
                    "max-pending-per-client = 3")

    def test_requests_that_wait_are_limited_by_client(self):
        self.slowly("shares", "max-pending = 2\nmax-pending-per-client = 3")

    def test_a_client_has_a_quarter_of_the_waiting_places(self):
        self.slowly("shares", "max-pending = 2\nmax-pending-total = 12")

    def test_sessions_that_are_ending_take_room_of_their_client(self):
        self.slowly("ending", "max-sessions-per-client = 1")
        self.assertIn("client a has too many sessions", self.b.log_text())

    def test_a_client_has_a_quarter_of_the_sessions(self):
        self.at_the_edge("client", LONG + "max-sessions = 12")


if __name__ == "__main__":
    lab.main()
