# SPDX-License-Identifier: BSD-2-Clause
"""The project's own files, as git lists them."""
import fnmatch
import functools
import pathlib
import re
import subprocess


@functools.lru_cache
def listed(top):
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=top, check=True, capture_output=True, text=True).stdout
    return {f for f in out.splitlines() if (top / f).is_file()}


@functools.lru_cache(maxsize=None)
def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


@functools.lru_cache(maxsize=None)
def folders_of(files):
    return {str(p) for f in files for p in pathlib.PurePath(f).parents}


@functools.lru_cache(maxsize=None)
def words_of(text):
    return frozenset(re.findall(r"\w+", text))


class Tree:
    """The files below `top`; `changed` replaces some, for the lint's own test."""

    def __init__(self, top=".", changed=None):
        self.top = pathlib.Path(top)
        self.changed = changed or {}
        self.files = listed(self.top) | self.changed.keys()
        self.folders = folders_of(frozenset(self.files))

    def text(self, name):
        return self.changed[name] if name in self.changed else read(self.top / name)

    def matching(self, pattern):
        return sorted(f for f in self.files if fnmatch.fnmatchcase(f, pattern))

    def has(self, path):
        """Whether a file or folder matches the path, in which * is anything."""
        path = path.rstrip("/")
        if "*" not in path:
            return path in self.files or path in self.folders
        wanted = re.compile(re.escape(path).replace(r"\*", "[^/]*"))
        return any(wanted.fullmatch(f) for f in self.files | self.folders)

    @functools.cached_property
    def endings(self):
        """Every path without its first folders."""
        found = set()
        for path in self.files | self.folders:
            parts = path.split("/")
            found |= {"/".join(parts[i:]) for i in range(len(parts))}
        return found

    def has_ending(self, path):
        path = path.rstrip("/")
        if "*" not in path:
            return path in self.endings
        return any(fnmatch.fnmatchcase(e, path) for e in self.endings)

    @functools.cached_property
    def words(self):
        """Every identifier of the files that are no documents."""
        found = set()
        for name in self.files:
            if name.startswith("tests/lint/documents/") or name == "tests/lint/test_documents.py":
                continue
            if not name.startswith("docs/") and not name.endswith(".md"):
                found |= words_of(self.text(name))
                found.update(re.findall(r"[\w-]+", name))
        return found
