#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a check on each C file of a build, but for those that passed it as they are.

each.py BUILD [FOLDER...] -- COMMAND...

In COMMAND {file} stands for the file and {flags} for its -I, -isystem, -D and -std
flags. A file has passed when the command ends with 0 and says nothing on its standard
output. That is remembered in the cache, $XDG_CACHE_HOME/kfbrick-lint or
~/.cache/kfbrick-lint, under a digest of the command, the tool's version, .clang-tidy,
and all that the file includes; with KFB_LINT_CACHE=no nothing is.
"""
import concurrent.futures
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

import compile_db

KEPT_S = 30 * 24 * 3600
CONFIGURATION = pathlib.Path(".clang-tidy")


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = pathlib.Path(base) / "kfbrick-lint" / "passed"
    path.mkdir(parents=True, exist_ok=True)
    for old in path.iterdir():
        if old.stat().st_mtime < time.time() - KEPT_S:
            old.unlink(missing_ok=True)
    return path


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


@functools.cache
def digest_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def digest(command, version, file, flags):
    """None: the compiler cannot say what the file includes."""
    made = output("gcc", "-M", *flags, file)
    if not made:
        return None
    depends = re.sub(r"\\\n", " ", made).split(":", 1)[1].split()
    parts = [*command, version, *flags, digest_of(CONFIGURATION),
             *(f"{d} {digest_of(d)}" for d in sorted(set(depends)))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(command, version, passed, build, file):
    """Say what the command says of a file; None: it is good."""
    flags = list(compile_db.flags(build, file))
    key = digest(command, version, file, flags) if passed else None
    if key and (passed / key).exists():
        (passed / key).touch()
        return None
    words = []
    for word in command:
        words += flags if word == "{flags}" else [word.replace("{file}", file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.strip():
        return done.stdout + done.stderr
    if key:
        (passed / key).touch()
    return None


def main():
    at = sys.argv.index("--")
    build, *folders = sys.argv[1:at]
    command = sys.argv[at + 1:]
    passed = None if os.environ.get("KFB_LINT_CACHE") == "no" else cache()
    version = output(command[0], "--version")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [s for s in pool.map(
            functools.partial(check, command, version, passed, build),
            compile_db.files(build, folders)) if s is not None]
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
