#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Persistent reservations: who may do what, and that nothing lands of who may not.

The whole table of type, registrant and command is tried against a real brick, before
and after a restart; a client that loses its access while it writes is treated as one
that is fenced: when the answer comes the medium is looked at, and once more when the
client has had every chance to go on.

    reservations.py [ROUNDS]
"""
import sys
import time
import unittest

import lab
from fences import Peer
from kept_out import ALL, EARLY_S, NO_END_MS, REFUSED, REGISTERS_ASIDE, USAGE, KeptOut

ROUNDS = 3
DISK = "0x0+2"
KEYS = {"a": 0xa, "b": 0xb, "c": 0xc}
CONFLICT = "reservation conflict"
# What brickd says when a session ends for it.
FORBIDS = "a reservation forbids what it has mapped"

# What the holder, a registrant and a stranger may do: read, write.
TYPES = {
    "write-exclusive": ("rw", "r", "r"),
    "exclusive-access": ("rw", "", ""),
    "write-exclusive-reg-only": ("rw", "rw", "r"),
    "exclusive-access-reg-only": ("rw", "rw", ""),
    "write-exclusive-all-regs": ("rw", "rw", "r"),
    "exclusive-access-all-regs": ("rw", "rw", ""),
}


class Reservations(KeptOut):
    def serve(self, program=lab.BRICKD, group=""):
        self.hold = self.folder / "hold"
        self.hold.mkdir()
        self.file = self.folder / "reservations"
        self.b = self.brick(
            size="16M", clients={name: ALL for name in (*KEYS, "d")},
            settings=f"lease-ms = {NO_END_MS}\nreservations = {self.file}",
            program=program)
        self.b.environment = {"HOLD": str(self.hold)}
        if group:
            self.b.groups = {name: group for name in KEYS}
        self.b.start()
        self.ok(self.b.ctl("alloc", DISK))

    def serve_held(self):
        self.serve(program=lab.FUNC_BIN / "brickd-fencing")

    # ---- commands ----

    def words(self, action, client, *options, disk=DISK):
        key = [] if action == "register" else ["--key", str(KEYS[client])]
        return ["reserve", action, disk, *key, *map(str, options)]

    def reserve(self, action, client, *options, disk=DISK):
        self.ok(self.b.ctl(*self.words(action, client, *options, disk=disk), client=client))

    def conflicts(self, action, client, *options, disk=DISK):
        self.refused(self.b.ctl(*self.words(action, client, *options, disk=disk), client=client),
                     REFUSED, CONFLICT)

    def register(self, *clients, disk=DISK):
        for client in clients:
            self.reserve("register", client, "--new-key", KEYS[client], disk=disk)

    def keys(self, disk=DISK):
        """The type, and who has which key; who holds it in capitals."""
        found = self.b.json("reserve", "show", disk, client="d")
        return found["type"], {(one["client"].upper() if one["holder"] else one["client"]):
                               int(one["key"], 0) for one in found["registrants"]}

    def may(self, client, block=0):
        """What it may do with a block, by MAP and by a write that changes something."""
        va = f"{block * lab.BLOCK:#x}"
        found = ""
        for mode, flag in ("r", "--ro"), ("w", "--rw"):
            done = self.b.ctl("map", f"{va}+1", flag, "--shared", "--hold", "0", client=client)
            if not done.returncode:
                found += mode
            else:
                self.assertIn(b"reservation", done.stderr)
        return found

    # ---- the table ----

    def look(self, name):
        holder, registrant, stranger = TYPES[name]
        for client, may in ("a", holder), ("b", registrant), ("c", stranger):
            self.assertEqual(self.may(client), may, (name, client))
        # Behind the disk nothing is reserved.
        self.assertEqual(self.b.ctl("alloc", "0x400000+1", client="c").returncode, 0)
        self.assertEqual(self.may("c", 2), "rw")
        self.ok(self.b.ctl("free", "0x400000+1", client="c"))

    def test_the_table_of_types_and_registrants_also_after_a_restart(self):
        # In a group blocks are not kept for the one that wrote to them last.
        self.serve(group="hosts")
        self.register("a", "b")
        for n, name in enumerate(TYPES):
            self.reserve("reserve", "a", "--type", name)
            before = self.keys()
            self.look(name)
            self.restart(kill=n % 2)
            self.assertEqual(self.keys(), before)
            self.look(name)
            self.reserve("release", "a", "--type", name)
            for client in KEYS:
                self.assertEqual(self.may(client), "rw")

    def test_alloc_and_free_are_writes(self):
        self.serve()
        self.register("a")
        self.reserve("reserve", "a", "--type", "write-exclusive")
        for command in "free", "alloc":
            self.refused(self.b.ctl(command, "0x0+1", client="b"), REFUSED, "reservation")
            self.ok(self.b.ctl(command, "0x0+1", client="a"))

    def test_each_command_of_each_by_type(self):
        self.serve()
        for name in TYPES:
            self.commands(name, "all-regs" in name)

    def commands(self, name, is_of_all):
        other = next(t for t in TYPES if t != name)
        holders = {"A": 0xa, ("B" if is_of_all else "b"): 0xb}
        self.register("a", "b")
        self.reserve("reserve", "a", "--type", name)
        self.assertEqual(self.keys(), (name, holders))
        # Reserving: the holder once more; not another one, nor another type.
        self.reserve("reserve", "a", "--type", name)
        self.conflicts("reserve", "a", "--type", other)
        if is_of_all:
            self.reserve("reserve", "b", "--type", name)
        else:
            self.conflicts("reserve", "b", "--type", name)
        # Who has not registered does nothing but register.
        for words in (("reserve", "--type", name), ("release", "--type", name),
                      ("preempt", "--victim", 0xa, "--type", name), ("clear",)):
            self.conflicts(words[0], "c", *words[1:])
        # Releasing: another type is wrong for the holder, and nothing for others.
        self.refused(self.b.ctl(*self.words("release", "a", "--type", other), client="a"),
                     REFUSED, "another type")
        if not is_of_all:
            self.reserve("release", "b", "--type", name)
        self.assertEqual(self.keys(), (name, holders))
        self.reserve("release", "b" if is_of_all else "a", "--type", name)
        self.assertEqual(self.keys(), ("none", {"a": 0xa, "b": 0xb}))
        # Preempting whoever holds it, and somebody who does not.
        self.reserve("reserve", "a", "--type", name)
        self.reserve("preempt", "b", "--victim", 0 if is_of_all else 0xa, "--type", other)
        self.assertEqual(self.keys(), (other, {"B": 0xb}))
        self.register("a")
        self.reserve("preempt", "b", "--victim", 0xa, "--type", name)
        self.assertEqual(self.keys(), (other, {"B": 0xb}))
        self.conflicts("preempt", "b", "--victim", 0xa, "--type", name)
        # Keys change and go; the reservation goes with its holder's.
        self.conflicts("register", "b", "--new-key", 0xb0)
        self.reserve("register", "b", "--key", 0xb, "--new-key", 0xb0)
        self.reserve("register", "b", "--ignore-key", "--new-key", 0xb)
        self.register("a")
        self.reserve("register", "b", "--key", 0xb, "--new-key", 0)
        self.assertEqual(self.keys(), ("none", {"a": 0xa}))
        self.reserve("reserve", "a", "--type", name)
        self.reserve("clear", "a")
        self.assertEqual(self.keys(), ("none", {}))

    # ---- nothing lands ----

    def loses(self, writer, *words):
        """Its access, by what b does."""
        self.reserve(words[0], "b", *words[1:])
        self.nothing_lands(writer)
        writer.end()

    def rounds(self, frozen):
        self.serve()
        for n in range(ROUNDS):
            self.register("b")
            writer = self.writer()
            if frozen:
                writer.stop()
            self.loses(writer, "reserve", "--type",
                               ("write-exclusive", "exclusive-access-reg-only")[n % 2])
            self.assertIn(FORBIDS, self.b.log_text())
            self.reserve("clear", "b")
        self.assertEqual(self.b.stop(), 0)

    def test_nothing_of_a_frozen_writer_lands_after_the_answer(self):
        self.rounds(True)

    def test_nothing_of_a_running_writer_lands_after_the_answer(self):
        self.rounds(False)

    def test_nothing_of_who_is_preempted_lands_after_the_answer(self):
        self.serve()
        self.register("a", "b")
        self.reserve("reserve", "a", "--type", "write-exclusive-reg-only")
        writer = self.writer()
        self.loses(writer, "preempt", "--victim", 0xa, "--type",
                           "write-exclusive-reg-only")
        self.assertEqual(self.may("a"), "r")

    def test_preempt_and_abort_ends_also_what_may_be_mapped_again(self):
        self.serve()
        self.register("a", "b")
        reader = self.later("map", "0x0+1", "--ro", "--shared", "--hold", "600", by="a")
        self.assertIn(b"mapping ", reader.stdout.readline())
        self.reserve("reserve", "b", "--type", "write-exclusive-reg-only")
        self.reserve("preempt", "b", "--victim", 0xa, "--type", "write-exclusive-reg-only")
        self.assertNotIn(FORBIDS, self.b.log_text())
        self.register("a")
        self.reserve("preempt", "b", "--victim", 0xa, "--abort", "--type",
                     "write-exclusive-reg-only")
        self.assertNotEqual(reader.wait(lab.COMES_S), 0)
        self.assertEqual(self.may("a"), "r")

    def test_who_has_nothing_of_the_disk_mapped_goes_on(self):
        self.serve()
        self.ok(self.b.ctl("alloc", "0x400000+1"))
        self.register("b")
        others = [self.later("map", "0x400000+1", "--rw", "--shared", "--hold", "600", by="a"),
                  self.later("map", "0x0+1", "--ro", "--shared", "--hold", "600", by="c"),
                  self.later("map", "0x0+2", "--rw", "--shared", "--hold", "600", by="b")]
        for process in others:
            self.assertIn(b"mapping ", process.stdout.readline())
        self.reserve("reserve", "b", "--type", "write-exclusive")
        time.sleep(EARLY_S)
        self.assertEqual([process.poll() for process in others], [None] * 3)
        self.assertNotIn(FORBIDS, self.b.log_text())

    def test_a_longer_range_covers_what_is_behind_it(self):
        self.serve()
        self.ok(self.b.ctl("alloc", "0x400000+1"))
        self.register("b")
        self.reserve("reserve", "b", "--type", "write-exclusive")
        self.assertEqual(self.may("a", 2), "rw")
        writer = self.later("map", "0x400000+1", "--rw", "--shared", "--hold", "600", by="a")
        self.assertIn(b"mapping ", writer.stdout.readline())
        self.reserve("register", "b", "--key", 0xb, "--new-key", 0xb, disk="0x0+3")
        self.assertNotEqual(writer.wait(lab.COMES_S), 0)
        self.assertEqual(self.may("a", 2), "r")
        self.assertEqual(self.b.json("reserve", "show", "0x0+1")["n_blocks"], 3)

    # ---- the order ----

    def test_the_answer_comes_when_all_sessions_have_ended(self):
        self.serve_held()
        self.register("b", "c")
        writer = self.writer()
        writer.stop()
        self.hold_at("dereg")
        first = self.later(*self.words("reserve", "b", "--type", "write-exclusive-reg-only"),
                           by="b")
        self.held("dereg")
        # Also that of who asks for what is so already.
        second = self.later(*self.words("reserve", "b", "--type", "write-exclusive-reg-only"),
                            by="b")
        time.sleep(EARLY_S)
        self.assertEqual((first.poll(), second.poll()), (None, None))
        # The table says so before.
        self.assertEqual(self.keys(), ("write-exclusive-reg-only", {"B": 0xb, "c": 0xc}))
        self.release("dereg")
        for process in first, second:
            self.assertEqual(self.done(process), f"{DISK} reserved\n")
        writer.go_on()

    @unittest.skipUnless(REGISTERS_ASIDE, "registrations are the loop's, which would be held")
    def test_a_mapping_that_is_being_made_is_waited_for(self):
        self.serve_held()
        self.register("b")
        self.hold_at("reg")
        mapping = self.later("map", "0x0+1", "--rw", "--hold", "600", by="a")
        self.held("reg")
        reserve = self.later(*self.words("reserve", "b", "--type", "write-exclusive"), by="b")
        self.until(lambda: self.keys()[0] != "none", "the reservation")
        time.sleep(EARLY_S)
        self.assertIsNone(reserve.poll())
        self.release("reg")
        self.assertEqual(self.done(reserve), f"{DISK} reserved\n")
        self.assertNotEqual(mapping.wait(lab.COMES_S), 0)
        self.ok(self.b.ctl("map", "0x0+1", "--rw", "--hold", "0", client="b"))

    def test_the_answer_waits_for_the_file(self):
        self.serve_held()
        self.register("b")
        self.hold_at("write")
        reserve = self.later(*self.words("reserve", "b", "--type", "write-exclusive"), by="b")
        self.held("write")
        time.sleep(EARLY_S)
        self.assertIsNone(reserve.poll())
        self.assertEqual(self.may("a"), "rw")
        self.release("write")
        self.assertEqual(self.done(reserve), f"{DISK} reserved\n")
        self.assertEqual(self.may("a"), "r")

    def test_what_cannot_be_written_down_is_not_reserved(self):
        self.serve_held()
        self.register("b")
        writer = self.later("map", "0x0+1", "--rw", "--shared", "--hold", "600", by="a")
        self.assertIn(b"mapping ", writer.stdout.readline())
        self.hold_at("fail")
        self.refused(self.b.ctl(*self.words("reserve", "b", "--type", "write-exclusive"),
                                client="b"), REFUSED, "could not make this durable")
        self.assertEqual(self.keys(), ("none", {"b": 0xb}))
        self.assertIsNone(writer.poll())
        self.release("fail")
        self.reserve("reserve", "b", "--type", "write-exclusive")
        self.assertNotEqual(writer.wait(lab.COMES_S), 0)

    def test_a_crash_at_each_step_leaves_the_one_or_the_other(self):
        self.serve_held()
        self.register("b")
        for step, kind in ("write", "none"), ("written", "write-exclusive"):
            self.hold_at(step)
            reserve = self.later(*self.words("reserve", "b", "--type", "write-exclusive"), by="b")
            self.held(step)
            self.assertIsNone(reserve.poll())
            self.b.kill()
            self.release(step)
            self.assertNotEqual(reserve.wait(lab.COMES_S), 0)
            self.b.start()
            self.assertEqual(self.keys()[0], kind)

    def test_of_two_that_preempt_each_other_one_remains(self):
        self.serve_held()
        self.register("a", "b")
        self.reserve("reserve", "a", "--type", "write-exclusive")
        self.hold_at("write")
        preempt = {"a": self.later(*self.words("preempt", "a", "--victim", 0xb, "--type",
                                               "write-exclusive"), by="a")}
        self.held("write")
        preempt["b"] = self.later(*self.words("preempt", "b", "--victim", 0xa, "--type",
                                              "write-exclusive"), by="b")
        time.sleep(EARLY_S)
        self.release("write")
        self.assertEqual(self.done(preempt["a"]), f"{DISK} preempted\n")
        self.assertIn(CONFLICT, self.done(preempt["b"], REFUSED))
        self.assertEqual(self.keys(), ("write-exclusive", {"A": 0xa}))

    def test_one_that_is_forgotten_when_another_one_is_written_changes_nothing(self):
        self.serve_held()
        self.register("b")
        queued = Peer(self, self.b, "register", "a", "10")
        self.assertEqual(queued.line(), "mapped")
        self.hold_at("reservations")
        reserve = self.later(*self.words("reserve", "b", "--type", "write-exclusive"), by="b")
        self.held("reservations")
        queued.say("now")
        time.sleep(EARLY_S)
        queued.process.kill()
        self.until(lambda: "lost its last connection" in self.b.log_text(), "DETACHED")
        later = self.later(*self.words("register", "c", "--new-key", 0xc), by="c")
        time.sleep(EARLY_S)
        self.release("reservations")
        self.assertEqual(self.done(reserve), f"{DISK} reserved\n")
        self.done(later)
        for kill in False, True:
            self.assertEqual(self.keys(), ("write-exclusive", {"B": 0xb, "c": 0xc}))
            self.restart(kill)

    # ---- who may, and where ----

    def test_who_may_register_and_where(self):
        self.serve()
        self.b.clients["c"] = ["0x0+128G ro"]
        self.b.clients["d"] = ["0x40000000+1 rw"]
        self.restart()
        for client in "c", "d":
            self.refused(self.b.ctl("reserve", "register", DISK, "--new-key", "1", client=client),
                         REFUSED, "grants")
        self.ok(self.b.ctl("reserve", "show", DISK, client="c"))
        self.refused(self.b.ctl("reserve", "show", DISK, client="d"), REFUSED, "grants")
        self.register("a")
        for disk in "0x200000+1", "0x200000+9":
            self.refused(self.b.ctl("reserve", "register", disk, "--new-key", "1", client="b"),
                         REFUSED, "another address")
            self.refused(self.b.ctl("reserve", "show", disk, client="b"), REFUSED,
                         "another address")

    def test_a_grant_of_its_first_block_is_none_of_the_disk(self):
        self.serve()
        self.b.clients["d"] = ["0x0+1 rw"]
        self.restart()
        # Where nobody has said that the disk is longer.
        self.ok(self.b.ctl("reserve", "register", "0x0+1", "--new-key", "13", client="d"))
        self.ok(self.b.ctl("reserve", "register", "0x0+1", "--key", "13", "--new-key", "0",
                           client="d"))
        self.register("a")
        self.reserve("reserve", "a", "--type", "write-exclusive-reg-only")
        writer = self.later("map", "0x0+2", "--rw", "--shared", "--hold", "600", by="a")
        self.assertIn(b"mapping ", writer.stdout.readline())
        self.refused(self.b.ctl("reserve", "register", "0x0+1", "--new-key", "13", client="d"),
                     REFUSED, "grants")
        self.assertEqual(self.b.json("reserve", "show", DISK, client="b")["registrants"],
                         [{"client": "a", "key": "0xa", "holder": True}])
        self.assertIsNone(writer.poll())

    def test_who_registered_before_the_disk_was_longer_gives_its_key_back(self):
        self.serve()
        self.b.clients["d"] = ["0x0+1 rw"]
        self.restart()
        self.ok(self.b.ctl("reserve", "register", "0x0+1", "--new-key", "13", client="d"))
        self.register("a")
        self.ok(self.b.ctl("reserve", "register", "0x0+1", "--key", "13", "--new-key", "0",
                           client="d"))
        self.assertEqual(self.b.json("reserve", "show", DISK, client="b")["registrants"],
                         [{"client": "a", "key": "0xa", "holder": False}])

    def test_a_brick_without_a_file_says_so(self):
        self.serve()
        self.assertEqual(self.b.stop(), 0)
        self.b.settings = ""
        self.b.start()
        for words in ("register", DISK, "--new-key", "1"), ("show", DISK):
            self.refused(self.b.ctl("reserve", *words), REFUSED, "reservations = PATH")

    def test_command_lines_that_do_not_go_together(self):
        self.serve()
        for words in (("register", DISK), ("register", DISK, "--new-key", "x"),
                      ("register", DISK, "--new-key", "1", "--key", "2", "--ignore-key"),
                      ("reserve", DISK, "--key", "1"), ("reserve", DISK, "--type", "exclusive-access"),
                      ("reserve", DISK, "--key", "1", "--type", "none"),
                      ("release", DISK, "--key", "1", "--type", "x"),
                      ("preempt", DISK, "--key", "1", "--type", "exclusive-access"),
                      ("clear", DISK), ("clear", DISK, "--key", "1", "--abort"),
                      ("show", DISK, "--key", "1"), ("take", DISK), ("show", "1")):
            self.refused(self.b.ctl("reserve", *words), USAGE)

    # ---- the file ----

    def test_a_file_that_is_damaged_gives_nobody_access(self):
        self.serve()
        self.register("a")
        self.reserve("reserve", "a", "--type", "write-exclusive")
        self.assertEqual(self.b.stop(), 0)
        text = self.file.read_text()
        self.assertEqual(text, "generation 1\ndisk 0x0+2 1\nkey 0xa a holder\n")
        for wrong in "", text[:-1], text.replace(" holder", ""), text + "x\n":
            self.file.write_text(wrong)
            with self.assertRaisesRegex(RuntimeError, "is damaged, or has been edited"):
                self.b.start()
        self.file.unlink()
        self.file.mkdir()
        with self.assertRaisesRegex(RuntimeError, "reservations: "):
            self.b.start()

    def test_each_brick_has_a_file_of_its_own(self):
        self.serve()
        other = self.brick(name="other", size="16M", clients={"a": ALL},
                           settings=f"reservations = {self.file}")
        with self.assertRaisesRegex(RuntimeError, "in use by another brickd"):
            other.start()
        other.settings = f"fences = {self.folder}/f\nreservations = {self.folder}/f"
        with self.assertRaisesRegex(RuntimeError, "name the same file"):
            other.start()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ROUNDS = int(sys.argv.pop(1))
    lab.main()
