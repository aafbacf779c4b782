#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Links that are slow, lose, delay, reorder, corrupt, or are cut: what is
written over them is read back identical, by brickctl and by a program of
libkfbrick, without a loss of the connection where the link lives.

slow_links.py: each kind of link with few bytes, all at once.
slow_links.py long [MIB]: likewise with the default lease and 64 MiB unless said;
on 1 Mbit/s that takes 36 minutes. A link is the program slow-link, in namespaces that end with it.
"""
import random
import subprocess
import sys
import threading
import time
import unittest

import lab

KIB = 1024
CLIENTS = 4
# Of brickctl's own deadline: nothing here is to come near it.
WHOLE_S = 7200
RECONNECT_S = 600
# The link is a TUN device: nothing on it is encrypted.
OPEN = "--allow-untrusted-tcp"


class Link:
    """slow-link, and the words that put a command at one of its ends."""

    def __init__(self, settings):
        words = [f"{name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [str(lab.FUNC_BIN / "slow-link"), *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ends = self.process.stdout.readline().decode().split()
        if len(ends) != 2:
            raise unittest.SkipTest(self.process.communicate()[1].decode().strip())
        self.client, self.brick = (["nsenter", f"--net={end}"] for end in ends)

    def set(self, name, value):
        self.process.stdin.write(f"{name}={value}\n".encode())
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=lab.STOP_S)
        self.process.stdout.close()
        self.process.stderr.close()


class Scene:
    """A link with a brick behind it, and what its clients have to do."""

    def __init__(self, test, name, by, link, n_bytes, lease_ms=None, cuts=(), clients=1,
                 reconnect_s=0):
        self.name = f"{name}-{by}"
        self.by = f"by_{by}"
        self.n_bytes = n_bytes
        self.cuts = cuts
        self.reconnect_s = reconnect_s
        self.link = Link(link)
        test.addCleanup(self.link.close)
        names = [f"c{i}" for i in range(clients)]
        settings = "allow-untrusted-tcp = yes"
        if lease_ms:
            settings += f"\nlease-ms = {lease_ms}"
        blocks = -(-n_bytes // lab.BLOCK)
        self.brick = test.brick(
            self.name, size=f"{clients * blocks * 2 + 32}M", settings=settings,
            clients={c: ["0x0+1T rw"] for c in names}, listen="tcp://10.77.0.2",
            inside=self.link.brick, from_inside=self.link.client)
        self.brick.start()
        self.ranges = {c: i * blocks * lab.BLOCK for i, c in enumerate(names)}
        for client, va in self.ranges.items():
            test.ok(self.brick.ctl(OPEN, "alloc", f"{hex(va)}+{blocks}",
                                   client=client))
        self.failures = []
        self.n_cuts = 0

    def fail(self, who, done):
        self.failures.append(f"{self.name}: {who}: exit {done.returncode}: "
                             f"{done.stderr.decode()[-400:]}")

    def by_brickctl(self, client, va):
        data = random.Random(va).randbytes(self.n_bytes)
        how = [OPEN]
        if self.reconnect_s:
            how += ["--reconnect-s", str(self.reconnect_s)]
        done = self.brick.ctl(*how, "write", hex(va), "--length", str(self.n_bytes),
                              client=client, stdin=data,
                              timeout=WHOLE_S)
        if done.returncode:
            self.fail("brickctl write", done)
            return
        done = self.brick.ctl(*how, "read", hex(va), "--length", str(self.n_bytes),
                              client=client, timeout=WHOLE_S)
        if done.returncode or done.stdout != data:
            self.fail("brickctl read", done)

    def by_library(self, client, va):
        done = lab.run(*self.link.client, lab.FUNC_BIN / "slow-copy", self.brick.url, client,
                       self.brick.key(client), hex(va), str(self.n_bytes),
                       str(self.reconnect_s * 1000), timeout=WHOLE_S)
        if done.returncode:
            self.fail("slow-copy", done)

    def cut(self, ended):
        """(after so many seconds, for so long), one after the other."""
        for after_s, for_s in self.cuts:
            if ended.wait(after_s):
                return
            self.link.set("cut", 1)
            ended.wait(for_s)
            self.link.set("cut", 0)
            self.n_cuts += 1

    def play(self):
        """All clients at a time."""
        began = time.monotonic()
        ended = threading.Event()
        cutter = threading.Thread(target=self.cut, args=(ended,))
        cutter.start()
        threads = [threading.Thread(target=getattr(self, self.by), args=pair)
                   for pair in self.ranges.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ended.set()
        cutter.join()
        # A link that lives has lost no connection.
        if not self.reconnect_s and "lost its last connection" in self.brick.log_text():
            self.failures.append(f"{self.name}: a connection was lost:\n"
                                 + self.brick.log_text()[-1000:])
        print(f"# {self.name}: {len(self.ranges)} x {self.n_bytes // KIB} KiB written and "
              f"read in {time.monotonic() - began:.1f} s, {self.n_cuts} cuts, "
              f"{len(self.failures)} failures", flush=True)


def mbit(rate, queue=65536, **more):
    return {"rate": int(rate * 1e6), "queue": queue, **more}


# With a lease of 6 s what is in flight on a link of 2.7 Mbit/s lasts as long as on
# one of 1.6 Mbit/s with the default of 10 s; with less of it a machine that is busy
# elsewhere looks like a link that is silent. With a lease of 2 s a cut of 1 s is as
# one of 5, and who comes back has time. Where packets are lost TCP may wait for
# longer than such leases can.
LEASE_MS, CUT_LEASE_MS = 6000, 2000
SHORT = {
    "3-Mbit": {"link": mbit(2.7), "n_bytes": 2048 * KIB, "lease_ms": LEASE_MS},
    "third-Mbit": {"link": mbit(0.33), "n_bytes": 256 * KIB, "lease_ms": LEASE_MS},
    "4-clients": {"link": mbit(2.7, queue=131072), "n_bytes": 512 * KIB,
                  "lease_ms": LEASE_MS, "clients": CLIENTS},
    "delay": {"link": mbit(2.7, delay=60), "n_bytes": 1024 * KIB, "lease_ms": LEASE_MS},
    "loss": {"link": mbit(8, delay=1, loss=50), "n_bytes": 1024 * KIB},
    "corrupt": {"link": mbit(8, delay=1, corrupt=10), "n_bytes": 2048 * KIB},
    "reorder": {"link": mbit(8, delay=1, reorder=50), "n_bytes": 2048 * KIB},
    "cuts": {"link": mbit(8), "n_bytes": 4096 * KIB, "lease_ms": CUT_LEASE_MS,
             "cuts": ((1, 1), (1, 2.4), (1, 8)), "reconnect_s": RECONNECT_S},
}
LONG = {
    "1-Mbit": {"link": mbit(1)},
    "8-Mbit": {"link": mbit(8)},
    "50-Mbit": {"link": mbit(50)},
    "8-Mbit-reconnect": {"link": mbit(8), "reconnect_s": RECONNECT_S},
    "4-clients": {"link": mbit(12, queue=131072), "clients": CLIENTS},
    "delay": {"link": mbit(50, queue=262144, delay=20)},
    "loss": {"link": mbit(50, delay=1, loss=50)},
    "corrupt": {"link": mbit(50, delay=1, corrupt=10)},
    "reorder": {"link": mbit(50, delay=1, reorder=50)},
    "cuts": {"link": mbit(8), "cuts": ((10, 5), (10, 12), (10, 40)),
             "reconnect_s": RECONNECT_S},
}


class SlowLinks(lab.FuncTest):
    def play_all(self, table):
        scenes = [Scene(self, name, by, **what) for name, what in table.items()
                  for by in ("brickctl", "library")]
        threads = [threading.Thread(target=scene.play) for scene in scenes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        failures = [f for scene in scenes for f in scene.failures]
        self.assertFalse(failures, "\n".join(failures))

    def test_what_goes_over_a_bad_link_comes_back_identical(self):
        if LONG_BYTES:
            self.play_all({name: what | {"n_bytes": LONG_BYTES}
                           for name, what in LONG.items()})
        else:
            self.play_all(SHORT)


LONG_BYTES = 0
if __name__ == "__main__":
    if sys.argv[1:2] == ["long"]:
        LONG_BYTES = int(sys.argv[2] if sys.argv[2:] else 64) * lab.MIB
        del sys.argv[1:3]
    lab.main()
