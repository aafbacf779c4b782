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
PART_KEEP_S = 24 * 3600


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
        part = pathlib.Path(tempfile.mkdtemp(dir=path.parent, prefix="part."))
        try:
            make(part)
            part.rename(path)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return path


def trim(kind, keep):
    """Remove all but the KEEP most recently used entries of one kind.

    What another run is still making stays, unless it is so old that its
    maker must have been killed.
    """
    top = root() / kind
    if not top.is_dir():
        return
    old = sorted(top.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
    parts = [p for p in old if p.name.startswith("part.")]
    dead_s = time.time() - PART_KEEP_S
    gone = [p for p in parts if p.stat().st_mtime < dead_s]
    gone += [p for p in old if p not in parts][keep:]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def file_digest(path):
    state = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(CHUNK_BYTES):
            state.update(block)
    return state.hexdigest()
