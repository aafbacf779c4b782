# SPDX-License-Identifier: BSD-2-Clause
"""Rates: what sessions are told they may move, and how those that move more are found.

The client (clients/rates.c) keeps to no rate. What it moves in one go takes it a moment,
and the rate gives that in a minute: that it was too much needs no clock to be exact.
"""
import json
import re
import signal
import subprocess

import lab

EVENT, RATE = 2, 32  # features
TOLD = 16  # flag of INFO
EVENT_RATE = 6
NAMED = "moves more than its rate"
# What is far too much, of a rate of 1 MiB a second, and the longest time it may take.
MUCH, MUCH_S = (32, lab.BLOCK), 40
TRIES = 5
LONG = "lease-ms = 600000"


class Mover:
    """The client; each line is answered by one."""

    def __init__(self, brick, client="a", features=0):
        self.process = subprocess.Popen(
            [str(lab.FUNC_BIN / "rates"), brick.url, client, str(brick.key(client)),
             str(features)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1, env=lab.environment())
        if self.answer() != "ready":
            raise RuntimeError(brick.log_text())

    def answer(self):
        return self.process.stdout.readline().strip()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        answer = self.answer()
        if not answer:
            raise RuntimeError(f"no answer to {line}")
        return answer

    def info(self):
        """What it is told: bytes and operations, or None."""
        flags, n_bytes, n_ops = (int(word) for word in self.say("info").split()[1:])
        if flags & TOLD:
            return (n_bytes, n_ops)
        if n_bytes or n_ops:
            raise RuntimeError("numbers without the flag")
        return None

    def event(self):
        return tuple(int(word) for word in self.say("event").split()[1:])

    def count(self):
        """How many have come by now."""
        self.say("ping")
        return int(self.say("count").split()[1])

    def move(self, verb, n, length):
        """Seconds that it took."""
        return int(self.say(f"{verb} {n} {length}").split()[1]) / 1000

    def close(self):
        self.process.kill()
        self.process.communicate()


class Rates(lab.FuncTest):
    def begin(self, rates, **parameters):
        self.b = self.brick(clients={"a": ["0x0+1T rw"], "b": ["0x80000000+1T rw"]},
                            **parameters)
        self.b.rates = rates
        self.admin = self.b.folder / "admin"
        self.b.settings = f"{LONG}\nadmin = {self.admin}"
        self.b.start()

    def mover(self, features=0):
        mover = Mover(self.b, features=features)
        self.addCleanup(mover.close)
        return mover

    def asked(self, *words):
        return json.loads(self.ok(lab.run(lab.BRICKCTL, "--json", "--admin", self.admin, *words)))

    def client(self, name="a"):
        clients = self.asked("top", "--by", "client")["clients"]
        return next(c for c in clients if c["client"] == name)

    def reload(self, rates):
        self.b.rates = rates
        self.b.configure()
        before = len(self.b.log_text())
        self.b.process.send_signal(signal.SIGHUP)
        self.until(lambda: "clients and grants read again" in self.b.log_text()[before:], "reload")

    def lose(self, mover):
        mover.say("lose")
        self.until(lambda: self.only_sessions(self.admin, 1)[0]["state"] == "DETACHED", "loss")

    def far_too_much(self, mover, verb, n, length):
        """Moves that in less time than a rate allows."""
        for _ in range(TRIES):
            if mover.move(verb, n, length) < MUCH_S:
                mover.say("ping")
                return
        self.fail("this machine cannot move too much")

    def test_who_asks_for_it_is_told_its_rate(self):
        self.begin({"a": {"bytes": "100M", "ops": "5000"}})
        self.assertEqual(self.mover(RATE).info(), (100 << 20, 5000))
        self.assertEqual(self.mover(RATE | EVENT).info(), (100 << 20, 5000))
        self.assertIsNone(self.mover().info())
        self.assertIsNone(self.mover(EVENT).info())
        told = self.client()
        self.assertEqual((told["rate_bytes"], told["rate_ops"]), (100 << 20, 5000))
        self.assertNotIn("rate_bytes", self.client("b"))
        self.assertNotIn("rate_ops", self.client("b"))

    def test_one_of_both_may_be_given(self):
        self.begin({})
        self.assertIsNone(self.mover(RATE).info())
        for rates, numbers in (({"bytes": "1T"}, (1 << 40, 0)), ({"ops": "10"}, (0, 10))):
            self.reload({"a": rates})
            self.assertEqual(self.mover(RATE).info(), numbers)

    def test_another_rate_is_told_at_once(self):
        self.begin({"a": {"bytes": "1M"}})
        knows, knows_not = self.mover(RATE | EVENT), self.mover(EVENT)
        self.reload({"a": {"bytes": "2M", "ops": "77"}})
        self.assertEqual(knows.event(), (EVENT_RATE, 2 << 20, 77))
        self.assertEqual(knows.info(), (2 << 20, 77))
        self.assertEqual(knows.count(), 0)
        # The same once more is no other one, and neither is that of somebody else.
        self.reload({"a": {"bytes": "2M", "ops": "77"}, "b": {"ops": "10"}})
        self.assertEqual(knows.count(), 0)
        self.reload({})
        self.assertEqual(knows.event(), (EVENT_RATE, 0, 0))
        self.assertIsNone(knows.info())
        # Nobody has acknowledged that; the next one waits until somebody has.
        self.reload({"a": {"ops": "10"}})
        knows.say("ping")
        self.assertEqual(knows.event(), (EVENT_RATE, 0, 10))
        self.assertEqual(knows_not.count(), 0)
        self.assertEqual(self.mover(RATE | EVENT).count(), 0)

    def test_a_rate_waits_until_its_client_is_back(self):
        self.begin({})
        mover = self.mover(RATE | EVENT)
        self.lose(mover)
        self.reload({"a": {"ops": "10"}})
        self.reload({"a": {"ops": "20"}})
        mover.say("join")
        self.assertEqual(mover.event(), (EVENT_RATE, 0, 20))
        # It is told until it has said that it knows.
        self.lose(mover)
        mover.say("join")
        self.assertEqual(mover.event(), (EVENT_RATE, 0, 20))
        self.assertEqual(mover.count(), 0)
        self.lose(mover)
        mover.say("join")
        self.assertEqual(mover.count(), 0)
        self.assertEqual(mover.info(), (0, 20))

    def exceeded(self, rates, *moves, features=0):
        self.begin({"a": rates})
        mover = self.mover(features)
        session = self.only_sessions(self.admin, 1)[0]["session"]
        n = 0
        for move in moves:
            self.far_too_much(mover, *move)
            # The next second has its own look.
            self.assertGreater(self.client()["rate_exceeded"], n)
            n = self.client()["rate_exceeded"]
        counted = next(m for m in self.asked("stats")["metrics"] if m["name"] == "rate_exceeded")
        self.assertEqual(counted["samples"][0]["value"], n)
        named = [line for line in self.b.log_text().splitlines() if NAMED in line]
        # However often it was, in some minutes.
        self.assertEqual(len(named), 1)
        self.assertRegex(named[0], rf"session {re.escape(session)} client a.*{NAMED}")
        self.assertIn("update it, or evict the session", named[0])
        self.assertEqual(self.client("b")["rate_exceeded"], 0)
        # It goes on.
        self.assertEqual(mover.count(), 0)
        return named[0]

    def test_who_writes_or_reads_more_is_counted_and_named(self):
        named = self.exceeded({"bytes": "1M"}, ("write", *MUCH), ("read", *MUCH))
        self.assertIn("its rate, 1048576 bytes a second", named)

    def test_who_says_that_it_keeps_to_rates_is_counted_as_well(self):
        named = self.exceeded({"bytes": "1M", "ops": "100000"}, ("write", *MUCH),
                              features=EVENT | RATE)
        self.assertIn("its rate, 1048576 bytes and 100000 operations a second", named)

    def test_who_does_more_operations_is_counted_and_named(self):
        named = self.exceeded({"bytes": "1G", "ops": "10"}, ("write", 2000, 8), ("read", 2000, 8))
        self.assertIn("its rate, 1073741824 bytes and 10 operations a second", named)

    def test_who_moves_no_more_than_ten_seconds_give_is_not_counted(self):
        self.begin({"a": {"bytes": "1M", "ops": "10"}})
        mover = self.mover()
        mover.move("write", 2, lab.BLOCK)
        mover.move("read", 3, lab.BLOCK)
        # A read that makes a write durable is none of the operations of a rate.
        mover.move("write", 90, 8)
        mover.move("read", 90, 8)
        mover.say("ping")
        self.assertEqual(self.client()["rate_exceeded"], 0)
        self.assertNotIn(NAMED, self.b.log_text())

    def test_without_a_rate_nobody_moves_too_much(self):
        self.begin({"b": {"bytes": "1M"}})
        mover = self.mover()
        self.far_too_much(mover, "write", *MUCH)
        self.assertEqual(self.client()["rate_exceeded"], 0)

    def test_what_is_moved_is_counted_to_the_byte(self):
        self.begin({})
        mover = self.mover()
        mover.move("write", 3, 1000001)
        mover.move("write", 5, 0)
        mover.move("read", 7, 4095)
        self.moved(3 * 1000001, 7 * 4095, 15)
        # Without another word, and without a look at it before its connection ends.
        mover.move("write", 1, 77)
        mover.move("read", 1, 9)
        self.lose(mover)
        self.moved(3 * 1000001 + 77, 7 * 4095 + 9, 17)
        mover.say("join")
        mover.move("read", 1, 1)
        mover.close()
        self.until(lambda: self.client()["data_ops"] == 18, "the end")
        self.moved(3 * 1000001 + 77, 7 * 4095 + 10, 18)

    def moved(self, written, read, ops):
        told = self.client()
        self.assertEqual((told["written_bytes"], told["read_bytes"], told["data_ops"]),
                         (written, read, ops))

    def test_where_nobody_can_count_the_rate_is_told(self):
        self.begin({"a": {"bytes": "1M"}}, listen="libfabric-tcp://127.0.0.1")
        mover = self.mover(RATE)
        self.assertEqual(mover.info(), (1 << 20, 0))
        self.far_too_much(mover, "write", *MUCH)
        self.moved(0, 0, 0)
        self.assertEqual(self.client()["rate_exceeded"], 0)


if __name__ == "__main__":
    lab.main()
