#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A client that is fenced: nothing of it lands any more, and it does not come back.

A fencer on another machine has a client fenced; when it is told so the medium is
looked at, and once more when the client has had every chance to go on.

    fencing.py [ROUNDS]
"""
import json
import signal
import sys
import time
import unittest

import lab
from comeback import Forwarder
from fences import Peer
from kept_out import (ALL, EARLY_S, NO_END_MS, REFUSED, REGISTERS_ASIDE, UNREACHED,
                      KeptOut)

ROUNDS = 3


class Fencing(KeptOut):
    def serve(self, clients=("a", "b", "w"), fencers=("w",), program=lab.BRICKD):
        self.hold = self.folder / "hold"
        self.hold.mkdir()
        self.fences = self.folder / "fences"
        self.admin = self.folder / "admin"
        self.b = self.brick(
            size="16M", clients={c: [] if c in fencers else ALL for c in clients},
            settings=f"lease-ms = {NO_END_MS}\nadmin = {self.admin}\nfences = {self.fences}\n"
                     f"reservations = {self.folder}/reservations",
            program=program)
        self.b.roles = {name: "fencer" for name in fencers}
        self.b.environment = {"HOLD": str(self.hold)}
        self.b.start()

    def serve_held(self, **parameters):
        self.serve(program=lab.FUNC_BIN / "brickd-fencing", **parameters)

    def fence(self, client="a", by="w"):
        self.assertEqual(self.ok(self.b.ctl("fence", client, client=by)),
                         f"{client} fenced\n".encode())

    def admit(self, client="a", by="w"):
        self.assertEqual(self.ok(self.b.ctl("admit", client, client=by)),
                         f"{client} admitted\n".encode())

    def later(self, *words, by="w", url=None):
        """A command of a fencer that is not waited for."""
        return super().later(*words, by=by, url=url)

    def state(self, client="a", by="w"):
        """Whether it is fenced, and its sessions."""
        found = self.b.json("clients", client, client=by)
        return found["fenced"], found["sessions"]

    def settles(self, sessions, client="a"):
        """An admitted client has that many sessions once those of its last commands have ended:
        a command does not wait for that."""
        self.until(lambda: self.state(client) == (False, sessions),
                   f"{client} with {sessions} sessions")

    def is_out(self, client="a"):
        done = self.b.ctl("info", client=client)
        self.refused(done, UNREACHED, "this client is fenced", "brickctl admit")

    def is_in(self, client="a"):
        self.ok(self.b.ctl("info", client=client))

    # ---- nothing lands ----

    def round(self, frozen):
        writer = self.writer()
        if frozen:
            writer.stop()
        self.fence()
        self.nothing_lands(writer)
        checker = Peer(self, self.b, "check", "b")
        # It does not have to wait: the blocks are nobody's.
        self.assertEqual(checker.line(), "filled")
        checker.say("check")
        self.assertEqual(checker.line(), "clean")
        checker.process.stdin.close()
        self.assertEqual(checker.process.wait(lab.STOP_S), 0)
        self.admit()
        writer.end()
        checker.end()

    def test_nothing_of_a_frozen_writer_lands_after_the_answer(self):
        self.serve()
        for _ in range(ROUNDS):
            self.round(True)
        self.assertEqual(self.b.stop(), 0)

    def test_nothing_of_a_running_writer_lands_after_the_answer(self):
        self.serve()
        for _ in range(ROUNDS):
            self.round(False)
        self.assertEqual(self.b.stop(), 0)

    def test_a_key_that_does_not_close_ends_its_session_before_unmap_is_answered(self):
        self.serve_held()
        writer = Peer(self, self.b, "write", "a")
        mapped = writer.line()
        self.assertTrue(mapped.startswith("mapped "), mapped)
        self.assertEqual(writer.line(), "writing")
        self.hold_at("keep")
        # From another session: in its own the answer would be lost with the connection.
        self.ok(self.b.ctl("unmap", f"0x{mapped.split()[1]}"))
        self.assertIn("kept\n", self.b.log_text())
        checker = Peer(self, self.b, "check", "b")
        self.assertEqual(checker.line(), "filled")
        for _ in range(3):
            checker.say("check")
            self.assertEqual(checker.line(), "clean")
        self.assertEqual(writer.line(), "ended")
        # It cannot be resumed: the key would be good again.
        self.assertIn("ends: a key cannot be revoked", self.b.log_text())
        self.settles(0)
        checker.end()
        self.assertEqual(self.b.stop(), 0)

    def test_the_answer_comes_when_all_sessions_have_ended(self):
        self.serve_held()
        writer = self.writer()
        writer.stop()
        self.hold_at("dereg")
        first, second = self.later("fence", "a"), self.later("fence", "a")
        self.held("dereg")
        self.assertEqual(self.state(), (True, 1))
        time.sleep(EARLY_S)
        self.assertEqual((first.poll(), second.poll()), (None, None))
        self.release("dereg")
        for process in first, second:
            self.assertEqual(self.done(process), "a fenced\n")
        self.assertEqual(self.state(), (True, 0))

    def test_who_is_admitted_meanwhile_does_not_hold_up_the_answer(self):
        self.serve_held()
        writer = self.writer()
        self.hold_at("dereg")
        fence = self.later("fence", "a")
        self.held("dereg")
        self.admit()
        holder = self.later("ping", "-c", "1000000", by="a")
        self.until(lambda: self.state() == (False, 2), "a new session beside the old one")
        self.assertIsNone(fence.poll())
        self.release("dereg")
        self.assertEqual(self.done(fence), "a fenced\n")
        self.assertEqual(self.state(), (False, 1))
        holder.kill()
        writer.end()

    @unittest.skipUnless(REGISTERS_ASIDE, "registrations are the loop's, which would be held")
    def test_a_mapping_that_is_being_made_is_waited_for(self):
        self.serve_held()
        self.ok(self.b.ctl("alloc", "0x0+1"))
        self.hold_at("reg")
        mapping = self.later("map", "0x0+1", "--rw", "--hold", "600", by="a")
        self.held("reg")
        fence = self.later("fence", "a")
        self.until(lambda: self.state() == (True, 1), "the fence")
        time.sleep(EARLY_S)
        self.assertIsNone(fence.poll())
        self.release("reg")
        self.assertEqual(self.done(fence), "a fenced\n")
        self.assertEqual(self.state(), (True, 0))
        self.assertNotEqual(mapping.wait(lab.COMES_S), 0)
        self.ok(self.b.ctl("map", "0x0+1", "--rw", "--hold", "0", client="b"))

    def test_who_is_coming_back_when_it_is_fenced_does_not(self):
        self.serve()
        self.ok(self.b.ctl("alloc", "0x0+1"))
        forwarder = Forwarder(self.b)
        self.addCleanup(forwarder.close)
        for n in range(ROUNDS):
            holder = self.later("--reconnect-s", "3", "map", "0x0+1", "--rw", "--hold", "600",
                                by="a", url=forwarder.url)
            self.assertIn(b"mapping ", holder.stdout.readline())
            fence = self.later("fence", "a")
            # It comes back a little before, at or behind the fence.
            time.sleep(0.3 * n / ROUNDS)
            forwarder.cut()
            self.assertEqual(self.done(fence), "a fenced\n")
            self.assertEqual(self.state(), (True, 0))
            self.assertNotEqual(holder.wait(lab.COMES_S), 0)
            self.ok(self.b.ctl("map", "0x0+1", "--rw", "--hold", "0", client="b"))
            self.admit()

    def test_a_session_that_has_lost_its_connections_is_ended(self):
        self.serve()
        writer = self.writer()
        writer.end()
        self.until(lambda: "lost its last connection" in self.b.log_text(), "DETACHED")
        self.fence()
        self.assertEqual(self.state(), (True, 0))
        checker = Peer(self, self.b, "check", "b")
        self.assertEqual(checker.line(), "filled")

    def test_a_lease_that_ends_meanwhile_changes_nothing(self):
        self.serve_held()
        session = self.writer()
        self.hold_at("write")
        fence = self.later("fence", "a")
        self.held("write")
        self.ok(lab.run(lab.BRICKCTL, "--admin", self.admin, "evict", "--all", "a"))
        self.assertIn(session.line(), ("ended", ""))
        self.release("write")
        self.assertEqual(self.done(fence), "a fenced\n")
        self.is_out()

    # ---- it does not come back ----

    def test_who_is_fenced_is_told_and_kept_out_until_it_is_admitted(self):
        self.serve()
        self.ok(self.b.ctl("alloc", "0x0+1"))
        holder = self.later("--reconnect-s", "4", "map", "0x0+1", "--rw", "--hold", "600", by="a")
        self.assertIn(b"mapping ", holder.stdout.readline())
        self.fence()
        # It tries to come back for as long as it may.
        self.assertNotEqual(holder.wait(lab.COMES_S), 0)
        self.assertIn("the client is fenced", holder.stderr.read().decode())
        self.assertEqual(self.state(), (True, 0))
        self.is_out()
        self.is_in("b")
        for kill in False, True:
            self.restart(kill)
            self.is_out()
            self.assertIn("client a is fenced: kept out", self.b.log_text())
        self.admit()
        self.is_in()
        self.restart(True)
        self.is_in()
        self.settles(0)

    def test_the_settings_do_not_let_in_who_is_fenced(self):
        self.serve()
        self.fence()
        grants = self.b.clients.pop("a")
        self.reload()
        self.assertEqual(self.state(), (True, 0))
        self.b.clients["a"] = grants
        self.reload()
        self.is_out()
        self.admit()
        self.is_in()

    def reload(self):
        self.b.configure()
        before = len(self.b.log_text())
        self.b.process.send_signal(signal.SIGHUP)
        self.until(lambda: "clients and grants read again" in self.b.log_text()[before:], "reload")

    # ---- who may, and whom ----

    def test_only_fencers_fence_and_look(self):
        self.serve()
        # Nor does anybody else learn which names there are.
        for words in (("fence", "b"), ("admit", "b"), ("clients", "b"), ("clients",),
                      ("fence", "nobody"), ("admit", "nobody"), ("clients", "nobody"),
                      ("fence", "a")):
            self.refused(self.b.ctl(*words, client="a"), REFUSED, "role")
        self.assertEqual(self.state("b"), (False, 0))
        # The role is no grant.
        self.refused(self.b.ctl("alloc", "0x0+1", client="w"), REFUSED)
        self.b.roles = {}
        self.reload()
        self.refused(self.b.ctl("fence", "a", client="w"), REFUSED, "role")
        self.is_in()

    def test_whom_one_can_fence(self):
        self.serve()
        for word in "fence", "admit", "clients":
            self.refused(self.b.ctl(word, "nobody", client="w"), REFUSED, "no such client")
        self.refused(self.b.ctl("fence", "w", client="w"), REFUSED, "does not fence itself")
        self.refused(self.b.ctl("fence", "x" * 41, client="w"), REFUSED, "1 to 40")
        self.assertEqual(self.fences.read_text(), "")
        # Who is not there, and who is fenced already.
        self.fence("b")
        self.fence("a")
        self.fence("a")
        self.assertEqual(self.fences.read_text(), "a\nb\n")
        self.settles(1, "w")
        self.until(lambda: self.ok(self.b.ctl("clients", client="w")).decode() ==
                   "a fenced 0 sessions\nb fenced 0 sessions\nw admitted 1 session fencer\n",
                   "the three clients")
        self.admit("a")
        self.admit("a")
        self.assertEqual(self.fences.read_text(), "b\n")
        self.is_in()

    def test_of_two_that_fence_each_other_one_remains(self):
        self.serve_held(clients=("v", "w"), fencers=("v", "w"))
        self.hold_at("write")
        first = self.later("fence", "v", by="w")
        self.held("write")
        second = self.later("fence", "w", by="v")
        self.until(lambda: self.state("v")[1] == 1, "v has asked")
        time.sleep(EARLY_S)
        self.release("write")
        self.assertEqual(self.done(first), "v fenced\n")
        self.assertNotEqual(second.wait(lab.COMES_S), 0)
        self.assertEqual(self.fences.read_text(), "v\n")
        self.is_out("v")
        self.settles(1, "w")

    # ---- beside a reservation ----

    def end_each_other(self, first, second):
        """a, which fences b in the session in which it has mapped a block for writing, and
        b, which takes that from it: of which the one is under way when the other ends it."""
        self.serve_held()
        self.b.roles["a"] = "fencer"
        self.reload()
        self.ok(self.b.ctl("alloc", "0x0+1"))
        kind = ("--type", "write-exclusive-reg-only")
        reserve = ("0x0+1", "--key", "11", *kind)
        for client, key in ("a", "10"), ("b", "11"):
            self.ok(self.b.ctl("reserve", "register", "0x0+1", "--new-key", key, client=client))
        self.ok(self.b.ctl("reserve", "reserve", *reserve, client="b"))
        fencer = Peer(self, self.b, "evict", "a", "b")
        self.assertEqual(fencer.line(), "mapped")
        self.hold_at("fences")
        self.hold_at("reservations")
        fencer.say("now")
        self.held("fences")
        taker = self.later("reserve", "preempt", *reserve, "--victim", "10", by="b")
        self.held("reservations")
        self.release(first)
        self.until(lambda: "evicted: " in self.b.log_text(), "the first end")
        # The one that is under way comes back to a session without connections.
        time.sleep(EARLY_S)
        self.release(second)
        # Neither waits for the other one, nor does anybody for them.
        for client in "a", "b":
            self.until(lambda: self.state(client)[1] == 0, f"the end of {client}'s session")
        self.assertNotEqual(taker.wait(lab.COMES_S), 0)
        self.assertNotEqual(fencer.line(), "")
        self.assertEqual(fencer.process.wait(lab.STOP_S), 0)
        self.fence("b")
        self.assertEqual(self.b.stop(), 0)

    def test_a_reservation_ends_who_fences_the_one_that_asks_for_it(self):
        self.end_each_other("fences", "reservations")

    def test_a_fence_ends_who_takes_blocks_from_the_one_that_asks_for_it(self):
        self.end_each_other("reservations", "fences")

    # ---- of a group ----

    def births(self, client):
        """Of a block that it maps for writing beside others, and gives back."""
        process = self.later("--json", "map", "0x0+1", "--rw", "--shared", "--hold", "600",
                             by=client)
        made = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.wait(lab.COMES_S)
        return made["handles"][0]["birth"]

    def serve_group(self):
        self.serve(clients=("a", "b", "c", "w"))
        self.assertEqual(self.b.stop(), 0)
        self.b.groups = {"a": "hosts", "b": "hosts"}
        self.b.start()
        self.ok(self.b.ctl("alloc", "0x0+1"))

    def test_those_of_a_group_take_no_block_from_each_other(self):
        self.serve_group()
        born = self.births("a")
        self.assertEqual((self.births("b"), self.births("a")), (born, born))
        self.restart(kill=True)
        # Nor has one of them to wait for another one that may come back.
        self.assertEqual(self.births("b"), born)
        # Who is in no group takes it, once it need not be kept for the last one any more.
        self.assertEqual(self.b.stop(), 0)
        settings = self.b.settings
        self.b.settings = settings.replace(f"lease-ms = {NO_END_MS}", "lease-ms = 1000")
        self.b.start()
        self.until(lambda: not self.b.ctl("map", "0x0+1", "--rw", "--hold", "0",
                                          client="c").returncode, "its turn")
        # Others are not to end by that time while they wait for a processor.
        self.assertEqual(self.b.stop(), 0)
        self.b.settings = settings
        self.b.start()
        self.assertNotEqual(self.births("a"), born)

    def test_who_was_fenced_in_a_group_finds_other_births(self):
        self.serve_group()
        born = self.births("a")
        seen = {born}
        for n in range(1, ROUNDS + 1):
            self.fence()
            self.assertEqual(self.fences.read_text(), f"a {n}\n")
            if n == 2:
                self.restart(kill=True)
                self.is_out()
            self.admit()
            self.assertEqual(self.fences.read_text(), f"a {n} admitted\n")
            if n == 3:
                self.restart(kill=True)
                self.is_in()
            self.settles(0)
            mine = self.births("a")
            self.assertNotIn(mine, seen)
            self.assertEqual(self.births("a"), mine)
            # The others go on.
            self.assertEqual(self.births("b"), born)
            seen.add(mine)
        self.assertEqual(self.ok(self.b.ctl("clients", client="w")).decode(),
                         "a admitted 0 sessions\nb admitted 0 sessions\n"
                         "c admitted 0 sessions\nw admitted 1 session fencer\n")

    def test_those_of_a_group_write_to_no_block_alone(self):
        self.serve_group()
        # Nobody would notice whose turn it was meanwhile.
        self.refused(self.b.ctl("map", "0x0+1", "--rw", "--exclusive", "--hold", "0", client="a"),
                     REFUSED, "group")
        self.refused(self.b.ctl("write", "0x0", client="a", stdin=b"x"), REFUSED, "group")
        self.ok(self.b.ctl("write", "0x0", "--shared", client="a", stdin=b"x"))
        self.ok(self.b.ctl("map", "0x0+1", "--ro", "--exclusive", "--hold", "0", client="a"))

    def test_a_host_of_a_group_waits_for_what_it_was_before(self):
        self.serve_group()
        share = ("map", "0x0+1", "--rw", "--shared", "--hold")
        before = self.later(*share, "600", by="a")
        before.stdout.readline()
        # What that session has sent may still land.
        self.refused(self.b.ctl(*share, "0", client="a"), REFUSED, "mapped")
        self.births("b")
        self.ok(self.b.ctl("map", "0x0+1", "--ro", "--shared", "--hold", "0", client="a"))
        before.send_signal(signal.SIGTERM)
        before.wait(lab.COMES_S)
        self.ok(self.b.ctl(*share, "0", client="a"))

    def test_a_group_shares_what_it_may_have(self):
        self.serve_group()
        self.b.quotas = {"a": 2, "b": 3}
        self.reload()
        self.ok(self.b.ctl("alloc", "0x200000+1", client="b"))
        self.refused(self.b.ctl("alloc", "0x400000+1", client="a"), REFUSED, "quota")
        self.ok(self.b.ctl("alloc", "0x400000+1", client="b"))

    # ---- the file ----

    def test_a_crash_before_the_file_is_written_fences_nobody(self):
        self.serve_held()
        self.hold_at("write")
        fence = self.later("fence", "a")
        self.held("write")
        self.b.kill()
        self.release("write")
        self.assertNotEqual(fence.wait(lab.COMES_S), 0)
        self.b.start()
        self.is_in()

    def test_a_crash_before_the_answer_leaves_it_fenced(self):
        self.serve_held()
        self.hold_at("written")
        fence = self.later("fence", "a")
        self.held("written")
        self.assertIsNone(fence.poll())
        self.b.kill()
        self.release("written")
        self.assertNotEqual(fence.wait(lab.COMES_S), 0)
        self.b.start()
        self.is_out()
        self.fence()

    def test_the_answer_waits_for_the_file(self):
        self.serve_held()
        self.hold_at("write")
        fence = self.later("fence", "a")
        self.held("write")
        self.settles(0)
        time.sleep(EARLY_S)
        self.assertIsNone(fence.poll())
        self.release("write")
        self.assertEqual(self.done(fence), "a fenced\n")

    def test_what_cannot_be_written_down_is_no_fence(self):
        self.serve_held()
        writer = self.writer()
        self.hold_at("fail")
        self.refused(self.b.ctl("fence", "a", client="w"), REFUSED, "could not make this durable")
        self.assertEqual(self.state(), (False, 1))
        self.release("fail")
        self.fence()
        self.assertIn(writer.line(), ("ended", ""))

    def is_unsure(self, command, client):
        """What it was asked for is in the file, and nobody knows whether for good."""
        self.refused(self.b.ctl(command, client, client="w"), REFUSED,
                     "could not make this durable")

    def test_what_is_not_known_of_the_file_is_written_again(self):
        self.serve_held()
        self.fence()
        # The table keeps it out, and the file may let it in after a restart.
        self.hold_at("fail-late")
        self.is_unsure("admit", "a")
        self.assertEqual(self.fences.read_text(), "")
        self.assertFalse(self.state()[0])
        self.release("fail-late")
        self.fence()
        self.assertTrue(self.state()[0])
        self.restart(kill=True)
        self.is_out()
        # Nor is anything known when one more has failed.
        self.hold_at("fail-late")
        for command in "admit", "fence", "admit":
            self.is_unsure(command, "a")
        self.release("fail-late")
        self.fence()
        self.assertEqual(self.fences.read_text(), "a\n")
        # The same the other way round.
        self.hold_at("fail-late")
        self.is_unsure("fence", "b")
        self.assertEqual(self.fences.read_text(), "a\nb\n")
        self.is_in("b")
        self.release("fail-late")
        self.admit("b")
        self.restart(kill=True)
        self.is_in("b")
        self.is_out()

    def test_a_disk_that_is_full_takes_no_fence_away(self):
        self.serve_held()
        self.fence()
        self.fence("b")
        self.hold_at("fail")
        self.is_unsure("admit", "b")
        # That of a is in the file whatever has become of the other change.
        self.fence()
        self.assertTrue(self.state()[0])
        self.assertEqual(self.fences.read_text(), "a\nb\n")

    def test_an_answer_that_is_lost_comes_again(self):
        self.serve_held()
        forwarder = Forwarder(self.b)
        self.addCleanup(forwarder.close)
        self.hold_at("written")
        fence = self.later("--reconnect-s", "60", "fence", "a", url=forwarder.url)
        self.held("written")
        forwarder.cut()
        self.release("written")
        self.assertEqual(self.done(fence), "a fenced\n")
        self.assertEqual(self.b.log_text().count("client a is fenced: kept out"), 1)

    def test_a_file_that_is_damaged_lets_nobody_in(self):
        self.serve()
        self.fence()
        self.assertEqual(self.b.stop(), 0)
        for text in ("a", "a\nb c\n", "\n", "a\n" + "x" * 41 + "\n", "\0\n", "a 0\n", "a 1 \n",
                     "a 4294967296\n", "a 1 let in\n", "a 1admitted\n", "a\na\n"):
            self.fences.write_text(text)
            with self.assertRaisesRegex(RuntimeError, "is no client's name"):
                self.b.start()
        self.fences.unlink()
        self.fences.mkdir()
        with self.assertRaisesRegex(RuntimeError, "fences: "):
            self.b.start()

    def test_two_bricks_do_not_share_a_file(self):
        self.serve()
        self.fence()
        other = self.brick(name="other", size="16M", clients={"a": ALL, "w": []},
                           settings=f"fences = {self.fences}")
        other.roles = {"w": "fencer"}
        with self.assertRaisesRegex(RuntimeError, "in use by another brickd"):
            other.start()
        self.assertEqual(self.b.stop(), 0)
        other.start()
        self.assertEqual(other.stop(), 0)
        self.b.start()
        self.is_out()

    def test_a_fencer_needs_a_file(self):
        self.serve()
        self.assertEqual(self.b.stop(), 0)
        self.b.settings = ""
        with self.assertRaisesRegex(RuntimeError, "names no file to keep fences in"):
            self.b.start()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ROUNDS = int(sys.argv.pop(1))
    lab.main()
