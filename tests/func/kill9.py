#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of brickd at random moments under load: kill9.py [KILLS [SEED]]

Three clients (tests/func/chaos_load.c) allocate, free, map, write and flush;
after every restart each verifies all it knows before the next kill.
"""
import os
import random
import select
import subprocess
import sys
import time

import lab

KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else int(os.environ.get("KFB_KILLS", 50))
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 else int.from_bytes(os.urandom(3), "big")
CLIENTS = {"one": 1, "two": 2, "three": 3}
VERIFY_S = 90
KILL_AFTER_S = (0.02, 0.4)


class Load:
    # Further words for chaos-load.
    extra = ()

    def __init__(self, brick, name, number, seed):
        self.name = name
        self.verified = 0
        self.process = subprocess.Popen(
            [lab.FUNC_BIN / "chaos-load", brick.url, name, brick.key(name),
             str(number), str(seed), *self.extra],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # Unbuffered: select() knows nothing of what a buffer holds.
            bufsize=0, env=lab.environment())

    def wait_verified(self, at_least):
        """Until the load has said "verified" so often; False when it ended."""
        end = time.monotonic() + VERIFY_S
        while self.verified < at_least:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return False
            line = self.process.stdout.readline()
            if not line:
                return False
            self.verified = int(line.split()[1])
        return True

    def drain(self):
        while select.select([self.process.stdout], [], [], 0)[0]:
            line = self.process.stdout.readline()
            if not line:
                return
            self.verified = int(line.split()[1])

    def finish(self):
        _, err = self.process.communicate(timeout=VERIFY_S)
        return self.process.returncode, err.decode()

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


class KillNine(lab.FuncTest):
    load = Load

    def test_acknowledged_work_survives_and_nothing_is_mixed_up(self):
        print(f"kills {KILLS}, seed {SEED}", flush=True)
        rng = random.Random(SEED)
        grants = {name: [f"{number}T+32 rw"] for name, number in CLIENTS.items()}
        # 64 slots for 96 addresses: slots go from client to client.
        brick = self.brick(size="136M", clients=grants,
                           device=os.environ.get("KFB_STORE")).start()
        loads = [self.load(brick, name, number, rng.randrange(1 << 31))
                 for name, number in CLIENTS.items()]
        try:
            self.torture(brick, loads, rng)
            for load in loads:
                status, said = load.finish()
                self.assertEqual(status, 0, said + brick.log_text()[-4000:])
        finally:
            for load in loads:
                load.close()
        self.assertEqual(brick.stop(), 0)

    def torture(self, brick, loads, rng):
        seen = {load: 0 for load in loads}
        for kill in range(KILLS):
            for load in loads:
                if not load.wait_verified(seen[load] + 1):
                    load.process.kill()
                    self.fail(f"kill {kill}, seed {SEED}: {load.name}: "
                              + load.process.stderr.read().decode()
                              + brick.log_text()[-4000:])
            time.sleep(rng.uniform(*KILL_AFTER_S))
            for load in loads:
                load.drain()
                seen[load] = load.verified
            brick.kill()
            brick.start()


if __name__ == "__main__":
    lab.main()
