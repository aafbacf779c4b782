#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of brickd at random moments under load: kill9.py [KILLS [SEED]]

Three clients (tests/func/clients/chaos_load.c) allocate, free, map, write and flush;
after every restart each verifies all it knows before the next kill.
"""
import os
import random
import sys
import time

import lab
import load

KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else int(os.environ.get("KFB_KILLS", 50))
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 else int.from_bytes(os.urandom(3), "big")
CLIENTS = {"one": 1, "two": 2, "three": 3}
KILL_AFTER_S = (0.02, 0.4)


class Load(load.Load):
    # Further words for chaos-load.
    extra = ()

    def __init__(self, brick, name, number, seed):
        super().__init__("chaos-load", name,
                         [brick.url, name, brick.key(name), number, seed, *self.extra])


class KillNine(lab.FuncTest):
    load_class = Load

    def test_acknowledged_work_survives_and_nothing_is_mixed_up(self):
        print(f"kills {KILLS}, seed {SEED}", flush=True)
        rng = random.Random(SEED)
        grants = {name: [f"{number}T+32 rw"] for name, number in CLIENTS.items()}
        # 64 slots for 96 addresses: slots go from client to client.
        brick = self.brick(size="136M", clients=grants,
                           device=os.environ.get("KFB_STORE")).start()
        loads = [self.load_class(brick, name, number, rng.randrange(1 << 31))
                 for name, number in CLIENTS.items()]
        try:
            self.torture(brick, loads, rng)
            for one in loads:
                status, said = one.finish()
                self.assertEqual(status, 0, said + brick.log_text()[-4000:])
        finally:
            for one in loads:
                one.close()
        self.assertEqual(brick.stop(), 0)

    def torture(self, brick, loads, rng):
        seen = {one: 0 for one in loads}
        for kill in range(KILLS):
            for one in loads:
                if not one.wait_verified(seen[one] + 1):
                    one.process.kill()
                    self.fail(f"kill {kill}, seed {SEED}: {one.name}: "
                              + one.process.stderr.read().decode()
                              + brick.log_text()[-4000:])
            time.sleep(rng.uniform(*KILL_AFTER_S))
            for one in loads:
                one.drain()
                seen[one] = one.verified
            brick.kill()
            brick.start()


if __name__ == "__main__":
    lab.main()
