#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Disks that fail under load, again and again: lost_syncs.py [TRIALS [SEED]]

In each trial some clients (chaos_load.c) allocate, free, write and flush on a brick
with more blocks than memory while writeback of the store or of the slow tier fails;
brickd is then killed, stopped or loses power, and the pages leave memory or stay,
also when the kernel could not write what was left. After the next start each client
holds what it reads against what it was told.

The disk is failing_disk.py's, where syncs take time and the kernel writes back when
it likes; with DISKS=devices it is device_disk.py's, in a guest.

LOSSES=count goes on after a loss with a brick made anew, and only counts them: to
see that a brick that lies is found out.
"""
import os
import random
import re
import sys
import time

import lab
import load
from device_disk import DeviceDisk
from failing_disk import HAPPENS_S, DiskTest

TRIALS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 30
SEED = (int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit()
        else int.from_bytes(os.urandom(3), "big"))
ONLY_COUNT = os.environ.get("LOSSES") == "count"
# A number, and how long the library comes back by itself.
CLIENTS = {"one": (1, 0), "two": (2, 0), "three": (3, 60000)}
BLOCKS = 5
HIT_S = 0.7
RACE_S = 0.06
TICK_S = 0.002
SLOWER = 4      # a guest's time
ON_DEVICES = os.environ.get("DISKS") == "devices"


class Client(load.Load):
    def __init__(self, brick, name, seed):
        number, reconnect_ms = CLIENTS[name]
        super().__init__("chaos-load", name,
                         [brick.url, name, brick.key(name), number, seed, reconnect_ms, 1,
                          BLOCKS])
        self.seen = 0

    def said(self):
        self.process.kill()
        return self.process.stderr.read().decode().strip()


class Lost(Exception):
    """Something that was acknowledged is gone."""


class Model:
    """The disk of failing_disk.py."""

    ENDS = ("kill", "kill", "kill", "stop", "power")
    PAGES = ("stay", "stay", "settle", "drop", "unmount", "lost")
    HIT = "lost=|on=flush"

    def __init__(self, test, name, **parameters):
        test.extra["seed"] = test.rng.randrange(1 << 31)
        self.brick = test.on_disk(name, **parameters)
        self.disk = test.disk

    def arm(self, rng):
        """The next writeback, or one soon after, fails."""
        self.flushes, self.said = self.disk.count("on=flush"), self.says_failed()
        for name in rng.choice((["store"], ["store"], ["slow"], ["store", "slow"])):
            self.disk.rule(name, on="flush" if rng.random() < 0.15 else "writeback",
                           file=name, error=rng.choice(("EIO", "ENOSPC")),
                           keep=rng.choice((0, 0, 300, 700)), after=rng.randrange(20),
                           times=rng.choice((1, 1, 3)))

    def disarm(self):
        self.disk.lift_all()

    def hits(self):
        return self.disk.count(self.HIT)

    def told(self):
        return self.disk.count("failed=sync")

    def says_failed(self):
        return len(re.findall("making it durable failed", self.brick.log_text()))

    def await_told(self):
        """
        That the disk's own cache was not emptied is told to one sync. A brickd that
        is killed in it cannot know, nor the next one: durability.md says so.
        """
        end = time.monotonic() + HAPPENS_S
        while (self.disk.count("on=flush") > self.flushes
               and self.says_failed() == self.said and time.monotonic() < end):
            time.sleep(TICK_S)

    def end(self, how, pages, rng):
        """brickd is gone."""
        if how == "power":
            self.disk.lose_power(rng.randrange(1 << 31))
        if pages == "settle":
            self.disk.settle()
        elif pages == "lost":
            self.disk.settle(taken=False)
        elif pages != "stay":
            getattr(self.disk, pages)()

    def close(self):
        pass


class Devices:
    """The disks of device_disk.py."""

    ENDS = ("kill", "kill", "stop")
    PAGES = ("stay", "settle", "drop", "drop", "unmount", "lost")
    # What brickd says when a disk does not take something.
    HIT = r"the medium failed|slow tier .* (cannot be written|failed)"

    def __init__(self, test, name, **parameters):
        self.disk = DeviceDisk(test.folder / f"{name}-disk", 2 * test.FAST + 8,
                               2 * test.SLOW + 2)
        self.brick = test.brick(name, store=self.disk.store, slow=self.disk.slow.path,
                                size=f"{2 * test.FAST + 2}M", **parameters)

    def arm(self, rng):
        # It is healed when brickd is gone.
        rng.choice((self.disk.fast.fail_writes, self.disk.fast.fail_writes,
                    self.disk.slow.fail_writes, self.disk.slow.fail, self.disk.fill))()

    def disarm(self):
        pass

    def hits(self):
        return len(re.findall(self.HIT, self.brick.log_text()))

    told = hits

    def await_told(self):
        """It is what tells of a failure."""

    def end(self, how, pages, rng):
        if pages == "lost":
            self.disk.settle()
        self.disk.heal()
        if pages not in ("stay", "lost"):
            getattr(self.disk, pages)()

    def close(self):
        self.disk.close()


class LostSyncs(DiskTest):
    FAST, SLOW = 4, 10
    extra = {"us": 1000, "ms": 25}
    hit_s = HIT_S * (SLOWER if ON_DEVICES else 1)

    def begin(self, number):
        grants = {name: [f"{n}T+{BLOCKS} rw"] for name, (n, _) in CLIENTS.items()}
        self.world = (Devices if ON_DEVICES else Model)(
            self, f"brick{number}", clients=grants, settings="promote-wait-ms = 2000")
        self.b = self.world.brick.start()
        self.clients = [Client(self.b, name, self.rng.randrange(1 << 31))
                        for name in CLIENTS]

    def end(self):
        for client in self.clients:
            client.close()
        self.b.kill()
        self.world.close()

    def end_brickd(self):
        how = self.rng.choice(self.world.ENDS)
        pages = self.rng.choice(self.world.PAGES)
        if how == "stop":
            self.b.stop()
            self.world.disarm()
        else:
            self.world.disarm()
            self.world.await_told()
            self.b.kill()
        self.world.end(how, pages, self.rng)
        return f"{how}, pages {pages}"

    def verified(self):
        for client in self.clients:
            if not client.wait_verified(client.seen + 1):
                raise Lost(client.said())

    def trial(self):
        """Whether a disk has failed in it."""
        self.verified()
        hits = self.world.hits()
        self.world.arm(self.rng)
        end = time.monotonic() + self.hit_s
        while self.world.hits() == hits and time.monotonic() < end:
            time.sleep(TICK_S)
        has_failed = self.world.hits() > hits
        time.sleep(self.rng.uniform(0, RACE_S))
        for client in self.clients:
            client.drain()
            client.seen = client.verified
        self.ways.append(self.end_brickd())
        self.b.start()
        return has_failed

    def test_what_was_acknowledged_is_there(self):
        print(f"# trials {TRIALS}, seed {SEED}", flush=True)
        self.rng = random.Random(SEED)
        self.ways = []
        failed = told = refused = 0
        losses = []
        self.begin(0)
        self.addCleanup(lambda: self.end())
        number = 0
        # A machine that is busy elsewhere leaves a disk unused for as long as it may fail.
        while number < TRIALS or number < 4 * TRIALS and failed <= TRIALS // 2:
            number += 1
            try:
                failed += self.trial()
            except (Lost, RuntimeError) as loss:
                refused += isinstance(loss, RuntimeError)
                losses.append(f"trial {number} ({self.ways[-3:]}): {loss}")
                print("# " + losses[-1].partition("\n")[0], flush=True)
                if not ONLY_COUNT:
                    break
                told += self.world.told()
                self.end()
                self.begin(len(losses))
        if not losses:
            self.verified()
        told += self.world.told()
        print(f"# {number} trials, a disk failed in {failed}, brickd was told {told} times; "
              f"{len(losses) - refused} with a loss, {refused} starts refused", flush=True)
        self.assertGreater(failed, TRIALS // 2, "the disk hardly failed")
        if not ONLY_COUNT:
            self.assertEqual(losses, [], self.b.log_text()[-4000:])


if __name__ == "__main__":
    lab.main()
