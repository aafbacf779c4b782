#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A brick with a slow tier: tier.py [KILLS [SEED]]

Both tiers lie in memory: copies take no time, and kill -9 leaves what it
leaves on a disk. The torture has four times more blocks than memory has slots;
its clients (tier_load.c) keep the SHA-256 of each and read all of them after
every kill -9 of brickd.
"""
import errno
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import lab
import load
from comeback import Talker

KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
SEED = (int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit()
        else int.from_bytes(os.urandom(3), "big"))
FAST = 16
# First block, blocks, and how long the library comes back by itself.
LOADS = {"one": (0, 32, 0), "two": (100, 32, 60000)}
KILL_AFTER_S = (0.05, 1.5)
TMPFS = pathlib.Path("/dev/shm")
BLOCKS = 32
RECALL = 2
NO_EVENT = (0, "0 0x0+0")
AWAIT_MS = 60000


class Tier(lab.FuncTest):
    def tiers(self, fast=8, slow=32, **parameters):
        """A brick with so many slots in each tier."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kfbrick-tier-", dir=TMPFS))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        brick = lab.Brick(folder, size=f"{2 * fast + 2}M", slow_size=f"{2 * slow + 2}M",
                          **parameters)
        self.bricks.append(brick)
        return brick

    def where(self, brick):
        """{address: is it in the slow tier}"""
        extents = brick.json("list", "allocated")["extents"]
        return {int(e["va"], 16) + i * lab.BLOCK: "slow" in e["flags"]
                for e in extents for i in range(e["n_blocks"])}

    def fill(self, brick, blocks=BLOCKS):
        self.ok(brick.ctl("alloc", f"0x0+{blocks}"))
        for i in range(blocks):
            self.ok(brick.ctl("write", hex(i * lab.BLOCK), "--length", "5000",
                              stdin=bytes([i + 1]) * 5000))

    def check(self, brick, blocks=BLOCKS):
        for i in range(blocks):
            data = self.ok(brick.ctl("read", hex(i * lab.BLOCK), "--length", "5000"))
            self.assertEqual(data, bytes([i + 1]) * 5000)

    def test_more_blocks_than_slots_are_kept_over_a_restart(self):
        b = self.tiers().start()
        self.fill(b)
        where = self.where(b)
        self.assertEqual(len(where), BLOCKS)
        self.assertGreaterEqual(sum(where.values()), BLOCKS - 8)
        self.assertEqual(b.stop(), 0)
        b.start()
        self.assertGreaterEqual(sum(self.where(b).values()), BLOCKS - 8)
        self.check(b)

    def test_alloc_fails_only_when_both_tiers_are_full(self):
        b = self.tiers().start()
        info = b.json("info")
        room = info["slots_total"] + info["slow_total"]
        self.assertEqual(room, 8 + 32 - 1)
        self.refused(b.ctl("alloc", f"0x0+{room + 1}"), 1, "space")
        self.ok(b.ctl("alloc", f"0x0+{room}"))
        self.refused(b.ctl("alloc", f"{hex(room * lab.BLOCK)}+1"), 1, "space")
        # A full brick still serves each of its blocks.
        for i in range(room):
            self.ok(b.ctl("write", hex(i * lab.BLOCK), "--length", "1", stdin=b"x"))

    def test_map_fails_when_it_wants_more_than_memory_holds(self):
        b = self.tiers().start()
        self.ok(b.ctl("alloc", f"0x0+{BLOCKS}"))
        self.refused(b.ctl("write", "0x0", "--length", str(9 * lab.BLOCK),
                           stdin=bytes(9 * lab.BLOCK)),
                     1, "space")
        self.ok(b.ctl("write", "0x0", "--length", str(8 * lab.BLOCK),
                      stdin=bytes(8 * lab.BLOCK)))

    def holder(self, **parameters):
        """A brick whose memory is all mapped by a client, in mappings of one block."""
        clients = {name: [f"0x0+{BLOCKS} rw"] for name in "ab"}
        b = self.tiers(clients=clients, **parameters).start()
        talkers = [Talker(b.url, b, name) for name in clients]
        for talker in talkers:
            self.addCleanup(talker.close)
            self.assertEqual(talker.hear(), (0, ""))
        holder = talkers[0]
        self.assertEqual(holder.ask("alloc", 0, BLOCKS), (0, ""))
        for va in range(0, 8 * lab.BLOCK, lab.BLOCK):
            self.assertEqual(holder.ask("map", va, 1), (0, ""))
            self.assertEqual(holder.ask("write", va, 100, va // lab.BLOCK + 1), (0, ""))
        self.assertEqual(holder.ask("event"), NO_EVENT)
        return (b, *talkers)

    def test_a_client_gives_back_what_another_one_needs(self):
        b, holder, other = self.holder(settings="promote-wait-ms = 600000")
        other.say("map", 9 * lab.BLOCK, 2)
        # Two mappings are asked for, one after the other.
        for va in 0, lab.BLOCK:
            self.assertEqual(holder.ask("await", AWAIT_MS), (1, f"{RECALL} {va:#x}+1"))
            self.assertEqual(holder.ask("unmap", va), (0, ""))
        self.assertEqual(other.hear(), (0, ""))
        self.assertEqual(other.ask("read", 9 * lab.BLOCK), (0, "0"))
        self.assertEqual(other.ask("unmap", 9 * lab.BLOCK), (0, ""))
        for va in 0, lab.BLOCK:
            self.assertEqual(holder.ask("map", va, 1), (0, ""))
            self.assertEqual(holder.ask("read", va), (0, str(va // lab.BLOCK + 1)))
        # One that ends gives everything back.
        other.say("map", 9 * lab.BLOCK, 8)
        self.assertEqual(holder.ask("await", AWAIT_MS)[0], 1)
        holder.say("close")
        self.assertEqual(other.hear(), (0, ""))
        self.assertEqual(b.stop(), 0)

    def test_who_gives_nothing_back_is_asked_now_and_then(self):
        b, holder, other = self.holder(settings="promote-wait-ms = 1500")
        # Each try waits for its time; the next one asks for another mapping.
        for va in 0, lab.BLOCK:
            other.say("map", 9 * lab.BLOCK, 1)
            self.assertEqual(holder.ask("await", AWAIT_MS), (1, f"{RECALL} {va:#x}+1"))
            self.assertEqual(other.hear()[0], -errno.ENOSPC)
            self.assertEqual(holder.ask("info")[0], 0)
            self.assertEqual(holder.ask("event"), NO_EVENT)
        self.assertEqual(b.stop(), 0)

    def test_who_has_all_of_it_hears_so_at_once(self):
        b, holder, _ = self.holder(settings="promote-wait-ms = 600000")
        self.assertEqual(holder.ask("map", 9 * lab.BLOCK, 1)[0], -errno.ENOSPC)
        self.assertEqual(holder.ask("await", AWAIT_MS), (1, f"{RECALL} 0x0+1"))
        self.assertEqual(holder.ask("unmap", 0), (0, ""))
        self.assertEqual(holder.ask("map", 9 * lab.BLOCK, 1), (0, ""))
        self.assertEqual(b.stop(), 0)

    def test_what_was_just_unmapped_is_room(self):
        b, holder, _ = self.holder(program=lab.FUNC_BIN / "brickd-late-rest")
        for va in range(8 * lab.BLOCK, 12 * lab.BLOCK, lab.BLOCK):
            self.assertEqual(holder.ask("unmap", va - 8 * lab.BLOCK), (0, ""))
            self.assertEqual(holder.ask("map", va, 1), (0, ""))
        self.assertEqual(holder.ask("event"), NO_EVENT)
        self.assertEqual(b.stop(), 0)

    def test_an_administrator_steers(self):
        b = self.tiers(fast=16)
        path = b.folder / "admin"
        b.settings = f"admin = {path}\npin = 0x200000+1"
        b.start()

        def tier(*words, status=0):
            done = lab.run(lab.BRICKCTL, "--json", "--admin", path, "tier", *words)
            self.assertEqual(done.returncode, status, done.stderr.decode())
            return json.loads(done.stdout) if not status else done.stderr.decode()

        self.fill(b, 8)
        self.assertEqual(tier()["slow_allocated"], 0)
        done = tier("demote", "0x0+8")
        self.assertEqual((done["moved"], done["skipped"]), (7, 1))
        where = self.where(b)
        self.assertFalse(where[lab.BLOCK])
        self.assertEqual(sum(where.values()), 7)
        done = tier("promote", "0x400000+2")
        self.assertEqual((done["moved"], done["failed"]), (2, 0))
        tier("unpin", "0x0+4096G")
        tier("pin", "0x400000+1")
        self.assertEqual([p["va"] for p in tier()["pins"]], ["0x400000"])
        self.assertEqual(tier("demote", "0x0+8")["moved"], 2)
        self.assertFalse(self.where(b)[2 * lab.BLOCK])
        self.check(b, 8)
        self.assertIn("range", tier("pin", "0x1+1", status=2))
        self.assertIn("no such job", tier("cancel", "77", status=1))
        done = lab.run(lab.BRICKCTL, "--admin", path, "tier")
        self.assertIn(b"kept for moves", self.ok(done))
        self.assertEqual(b.stop(), 0)

    def test_a_slow_tier_that_does_not_belong_is_refused(self):
        b = self.tiers()
        other = self.tiers()

        def not_served(word):
            with self.assertRaises(RuntimeError) as caught:
                b.start()
            self.assertIn(word, str(caught.exception))

        mine, b.slow = b.slow, None
        not_served("slow = PATH")
        b.slow = other.slow
        not_served("another store")
        b.slow = b.folder / "nothing"
        not_served("No such file")
        b.slow = mine
        size = os.stat(mine).st_size
        os.truncate(mine, size - lab.BLOCK)
        not_served("truncated")
        os.truncate(mine, size)
        b.start()

    def test_kill_9_loses_nothing_and_mixes_nothing_up(self):
        print(f"kills {KILLS}, seed {SEED}", flush=True)
        rng = random.Random(SEED)
        grants = {name: [f"{first * lab.BLOCK:#x}+{n} rw"]
                  for name, (first, n, _) in LOADS.items()}
        b = self.tiers(fast=FAST, slow=4 * FAST, clients=grants).start()
        loads = [TierLoad(b, name, rng.randrange(1 << 31)) for name in LOADS]
        try:
            for kill in range(KILLS):
                for one in loads:
                    if not one.wait_verified(one.seen + 1):
                        one.process.kill()
                        self.fail(f"kill {kill}, seed {SEED}: {one.name}: "
                                  + one.process.stderr.read().decode()
                                  + b.log_text()[-4000:])
                time.sleep(rng.uniform(*KILL_AFTER_S))
                for one in loads:
                    one.drain()
                    one.seen = one.verified
                b.kill()
                b.start()
            for one in loads:
                status, said = one.finish()
                self.assertEqual(status, 0, said + b.log_text()[-4000:])
        finally:
            for one in loads:
                one.close()
        self.assertEqual(b.stop(), 0)


class TierLoad(load.Load):
    def __init__(self, brick, name, seed):
        first, n, reconnect_ms = LOADS[name]
        super().__init__("tier-load", name,
                         [brick.url, name, brick.key(name), first, n, seed, reconnect_ms])
        self.seen = 0


if __name__ == "__main__":
    lab.main()
