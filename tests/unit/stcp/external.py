#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libstcp-fi.so in libfabric's own programs: external.py FOLDER

FOLDER has the provider. fi_info must list it, and fi_pingpong run over it,
once with a server of libfabric's tcp and once with a client of that.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))
PATIENCE_S = 60
SKIP = 77


def environment(**more):
    return dict(os.environ, FI_PROVIDER_PATH=str(FOLDER), IPATH_NO_BACKTRACE="1",
                HFI_NO_BACKTRACE="1", **more)


def pingpong(provider, *words, **more):
    return subprocess.Popen(
        ["fi_pingpong", "-p", provider, "-e", "msg", "-I", "20", "-S", "1048576", "-c", *words],
        env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class External(unittest.TestCase):
    def test_fi_info_lists_it(self):
        done = subprocess.run(["fi_info", "-p", "stcp"], env=environment(), check=False,
                              stdout=subprocess.PIPE, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"provider: stcp", done.stdout)
        self.assertIn(b"FI_EP_MSG", done.stdout)

    def attempt(self, serving, connecting, end, **more):
        """False when the server did not get its port, which others may take."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = pingpong(serving, "-B", str(port), **more)
        try:
            while True:
                client = pingpong(connecting, "-P", str(port), "127.0.0.1", **more)
                text = client.communicate(timeout=PATIENCE_S)[0].decode()
                if "Connection refused" not in text or time.monotonic() > end:
                    break
                if server.poll() is not None:
                    return False
            self.assertEqual(client.returncode, 0, text)
            self.assertIn("1m", text)
            self.assertEqual(server.wait(timeout=PATIENCE_S), 0)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
        return True

    def exchange(self, serving, connecting, **more):
        end = time.monotonic() + PATIENCE_S
        while not self.attempt(serving, connecting, end, **more):
            self.assertLess(time.monotonic(), end, "the server gets no port")

    def test_pingpong_runs_over_it(self):
        self.exchange("stcp", "stcp")

    def test_pingpong_runs_over_it_busily(self):
        self.exchange("stcp", "stcp", FI_STCP_BUSY_POLL_US="50")

    def test_pingpong_runs_from_tcp_to_it(self):
        self.exchange("stcp", "tcp")

    def test_pingpong_runs_from_it_to_tcp(self):
        self.exchange("tcp", "stcp")


if __name__ == "__main__":
    if not shutil.which("fi_info") or not shutil.which("fi_pingpong"):
        print("no fi_info and fi_pingpong: libfabric-bin has them", file=sys.stderr)
        sys.exit(SKIP)
    unittest.main(verbosity=2)
