#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of clients at random moments under load: client_kills.py [KILLS [SEED]]

One client writes to a block without a pause until it is killed; the next one
waits for the block, fills it, and looks for bytes of the first. Meanwhile two
clients (tests/func/clients/chaos_load.c) allocate, write, flush and free, and verify
all they know at the end.
"""
import os
import random
import sys
import time

os.environ.setdefault("KFB_KILLS", "4")

import kill9  # pylint: disable=wrong-import-position
import fences  # pylint: disable=wrong-import-position
import lab  # pylint: disable=wrong-import-position

# kill9 has read the command line.
KILLS, SEED = kill9.KILLS, kill9.SEED
LEASE_MS = 5000
KILL_AFTER_S = (0.0, 0.2)
LOADS = {"two": 2, "three": 3}


class Load(kill9.Load):
    extra = ("60000", "2")


class ClientKills(lab.FuncTest):
    def test_a_killed_client_takes_nothing_with_it_and_leaves_nothing_behind(self):
        print(f"kills {KILLS}, seed {SEED}", flush=True)
        self.rng = random.Random(SEED)
        grants = {name: [f"{number}T+32 rw"] for name, number in LOADS.items()}
        grants.update(a=["0x0+1 rw"], b=["0x0+1 rw"])
        self.b = self.brick(size="136M", clients=grants,
                            settings=f"lease-ms = {LEASE_MS}").start()
        loads = [Load(self.b, name, number, self.rng.randrange(1 << 31))
                 for name, number in LOADS.items()]
        for load in loads:
            self.addCleanup(load.close)
            self.assertTrue(load.wait_verified(1))
        waits = [self.kill_one(kill) for kill in range(KILLS)]
        for load in loads:
            status, said = load.finish()
            self.assertEqual(status, 0, said + self.b.log_text()[-3000:])
        self.assertEqual(self.b.stop(), 0)
        print(f"a block was free again after {min(waits):.1f} to {max(waits):.1f} s, "
              f"the lease is {LEASE_MS / 1000:.1f} s", file=sys.stderr)

    def kill_one(self, number):
        """How long another client has waited for the block."""
        writer = fences.Peer(self, self.b, "write", "a")
        line = writer.line()
        if line == "waiting":
            line = writer.line()
        self.assertTrue(line.startswith("mapped "), f"kill {number}, seed {SEED}: {line}")
        self.assertEqual(writer.line(), "writing")
        time.sleep(self.rng.uniform(*KILL_AFTER_S))
        writer.process.kill()
        begin = time.monotonic()
        checker = fences.Peer(self, self.b, "check", "b")
        line = checker.line()
        if line == "waiting":
            line = checker.line()
        waited = time.monotonic() - begin
        self.assertEqual(line, "filled", f"kill {number}, seed {SEED}")
        for _ in range(2):
            checker.say("check")
            self.assertEqual(checker.line(), "clean", f"kill {number}, seed {SEED}")
        checker.process.stdin.close()
        self.assertEqual(checker.process.wait(lab.STOP_S), 0)
        writer.end()
        checker.end()
        return waited


if __name__ == "__main__":
    lab.main()
