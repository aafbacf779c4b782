#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What libfabric's programs do with a provider, tried on stcp with stock tcp beside it.

provider_pairs.py PROGRAM FOLDER [--stock] [CASE...]

Each case runs as a server and a client (tests/func/pairs), in each column of the
table: stcp with itself, stcp serving stock, stock serving stcp, and with --stock
first what that does with itself. Unconnected endpoints are libfabric's rxm over them, which speaks to itself
alone: over stock it sends tagged messages as such. Wherever stock passes, stcp
passes, or fi_getinfo() does not offer it.
"""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER, *ONLY = sys.argv[1:]
STOCK = [("tcp", "tcp")] if "--stock" in ONLY else []
ONLY = [word for word in ONLY if word != "--stock"]
PATIENCE_S = 240
REFUSED = 77
ALONE = [*STOCK, ("stcp", "stcp")]
COLUMNS = [*ALONE, ("stcp", "tcp"), ("tcp", "stcp")]
# Before libfabric 1.18 what sleeps in an event queue of stock's moves no data.
STOCK_TARGET_FAILS = ("rma-eq-target-msg", "rma-eq-target-auto-msg")
ENVIRONMENT = dict(os.environ, FI_PROVIDER="tcp,stcp,ofi_rxm", FI_PROVIDER_PATH=FOLDER, IPATH_NO_BACKTRACE="1",
                   HFI_NO_BACKTRACE="1")


def start(provider, kind, verb, case, *words, go):
    full = provider + (";ofi_rxm" if kind == "rdm" else "")
    return subprocess.Popen([PROGRAM, verb, full, case, *words], text=True,
                            env=dict(ENVIRONMENT, PAIR_GO=go),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def verdict(process):
    """What became of it, in a word, and what it said."""
    try:
        said = process.communicate(timeout=PATIENCE_S)[0].strip()
    except subprocess.TimeoutExpired:
        process.kill()
        return "hangs", process.communicate()[0].strip()
    if process.returncode < 0:
        return signal.Signals(-process.returncode).name, said
    return {0: "pass", REFUSED: "refused"}.get(process.returncode, "fails"), said


def attempt(case, kind, serving, connecting):
    """A verdict on the pair, and what was said if it is a bad one."""
    with tempfile.TemporaryDirectory() as folder:
        go = str(pathlib.Path(folder) / "go")
        server = start(serving, kind, "serve", case, go=go)
        line = server.stdout.readline()
        if not line.startswith("port "):
            word, said = verdict(server)
            return word, line + said
        client = start(connecting, kind, "connect", case, line.split()[1], go=go)
        there = verdict(client)
        if there[0] != "pass":
            server.kill()
            server.communicate()
            return there
        return verdict(server)


def is_good(case, column, word):
    """Stock may have defects of its own, where they are known."""
    return word in ("pass", "refused") or (column[0] == "tcp" and case in STOCK_TARGET_FAILS)


class Pairs(unittest.TestCase):
    def finished(self, case, row):
        row = [future.result() for future in row]
        print(f"{case:32}" + "".join(f"{word:>12}" for word, _ in row), flush=True)
        return row

    def test_stcp_passes_wherever_stock_does(self):
        listed = subprocess.run([PROGRAM, "list"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        cases = [line.split() for line in listed.splitlines()]
        cases = [c for c in cases if not ONLY or c[0] in ONLY]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = [(case, [pool.submit(attempt, case, kind, *column)
                            for column in (COLUMNS if kind == "msg" else ALONE)])
                    for case, kind in cases]
            print(f"\n{'':32}" + "".join(f"{'-'.join(c):>12}" for c in COLUMNS))
            rows = [(case, self.finished(case, row)) for case, row in rows]
        bad = [f"{case} {'-'.join(column)}: {word}: {said}" for case, row in rows
               for column, (word, said) in zip(COLUMNS, row)
               if not is_good(case, column, word)]
        for i, column in enumerate(COLUMNS):
            words = [row[i][0] for _, row in rows if i < len(row)]
            print(f"{'-'.join(column)}: {words.count('pass')} pass, "
                  f"{words.count('refused')} refused, of {len(words)}")
        sys.stdout.flush()
        self.assertEqual(bad, [], "\n" + "\n".join(bad))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
