# SPDX-License-Identifier: BSD-2-Clause
"""What tests share in which a brick keeps a client out, and may be held on the way.

The folder that HOLD names has a file for each step at which brickd-fencing waits
(tests/func/bricks/fencing.c).
"""
import subprocess

import lab
from fences import Peer

REFUSED, USAGE, UNREACHED = 1, 2, 3
NO_END_MS = 600000
# An answer that comes too early comes within it.
EARLY_S = 1
ALL = ["0x0+128G rw"]
METADATA_BYTES = 2 * lab.MIB
# In a thread of its own, which can be held.
REGISTERS_ASIDE = lab.LISTEN.startswith("tcp:")


class KeptOut(lab.FuncTest):
    """The brick is self.b, and the folder self.hold."""

    def restart(self, kill=False):
        if kill:
            self.b.kill()
        else:
            self.assertEqual(self.b.stop(), 0)
        self.b.start()

    def later(self, *words, by, url=None):
        """A command of a client that is not waited for."""
        process = subprocess.Popen(
            [lab.BRICKCTL, "--brick", url or self.b.url, *lab.PATIENCE, "--client", by,
             "--key-file", str(self.b.key(by)), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=lab.environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def done(self, process, status=0):
        out, err = process.communicate(timeout=lab.COMES_S)
        self.assertEqual(process.returncode, status, err.decode())
        return (out + err).decode()

    def hold_at(self, what):
        (self.hold / what).touch()

    def release(self, what):
        (self.hold / what).unlink()

    def held(self, what, n=1):
        self.until(lambda: self.b.log_text().count(f"held: {what}\n") >= n, f"held at {what}")

    def writer(self):
        """Client a, which writes without a pause."""
        writer = Peer(self, self.b, "write", "a")
        line = writer.line()
        if line == "waiting":
            line = writer.line()
        self.assertTrue(line.startswith("mapped "), line)
        self.assertIn(writer.line(), ("writing", "ended"))
        return writer

    def medium(self):
        """What lies in the slots."""
        with open(self.b.store, "rb") as store:
            store.seek(METADATA_BYTES)
            return store.read()

    def nothing_lands(self, writer):
        """Of a writer that has been kept out, and has every chance to go on."""
        before = self.medium()
        writer.go_on()
        self.assertIn(writer.line(), ("ended", ""))
        self.assertEqual(writer.process.wait(lab.STOP_S), 0)
        self.assertEqual(self.medium(), before)
