# SPDX-License-Identifier: BSD-2-Clause
"""A client under load that says "verified K" each time all was as it knows it."""
import select
import subprocess
import time

import lab

VERIFY_S = 90


class Load:
    def __init__(self, program, name, words):
        self.name = name
        self.verified = 0
        self.process = subprocess.Popen(
            [lab.FUNC_BIN / program, *(str(w) for w in words)],
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
