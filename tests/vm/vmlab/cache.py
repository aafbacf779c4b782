# SPDX-License-Identifier: BSD-2-Clause
"""The cache outside the tree: finished folders, each made once.

Context: several runs may share the cache. A folder is made under a lock in a
temporary name and renamed when it is complete, so a folder that exists is
whole.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import tempfile
import time

CHUNK_BYTES = 1 << 20
# What was got so recently may be in use.
RUN_S = 3600


class Skip(Exception):
    """Something this machine cannot offer; the text is the reason."""


def root():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = pathlib.Path(base) / "kfbrick-vm"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name):
    with open(root() / f"{name.replace('/', '-')}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def folder(kind, key, make):
    """Return the folder KIND/KEY; make(path) fills it when it is missing."""
    path = root() / kind / key
    if path.is_dir():
        path.touch()
        return path
    with lock(f"{kind}-{key}"):
        if path.is_dir():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_part(path.parent) as part:
            make(part)
            part.touch()  # an archive's time says nothing of its use
            part.rename(path)
    return path


@contextlib.contextmanager
def new_part(top):
    """Make a folder below top that others leave alone while this process fills it."""
    with lock("parts"):
        part = pathlib.Path(tempfile.mkdtemp(dir=top, prefix="part."))
        held = os.open(part, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    finally:
        os.close(held)


def is_being_made(part):
    """Tell by its lock whether somebody fills a folder; its times are an archive's."""
    try:
        held = os.open(part, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(held)
    return False


def trim(kind, keep):
    """Remove all but the KEEP most recently used entries of one kind.

    What another run is still making, or has got within the last hour, stays; what
    was left by one that was killed goes.
    """
    top = root() / kind
    if not top.is_dir():
        return
    with lock("parts"):
        parts = list(top.glob("part.*"))
        gone = [p for p in parts if not is_being_made(p)]
    whole = [p for p in top.iterdir() if not p.name.startswith("part.")]
    whole.sort(key=last_use, reverse=True)
    gone += [p for p in whole[keep:] if last_use(p) < time.time() - RUN_S]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)


def last_use(path):
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def file_digest(path):
    state = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(CHUNK_BYTES):
            state.update(block)
    return state.hexdigest()
