# SPDX-License-Identifier: BSD-2-Clause
"""Writes the "newc" archives that the kernel unpacks as its first root."""
import os
import stat

ALIGN_BYTES = 4
TRAILER = "TRAILER!!!"


class Archive:
    """An archive under construction; folders appear before what is in them."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.inode = 0
        self.folders = set()

    def _pad(self):
        self.file.write(b"\0" * (-self.file.tell() % ALIGN_BYTES))

    def _entry(self, name, mode, data=b""):
        raw = name.encode() + b"\0"
        self.inode += 1
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
                  len(raw), 0)
        self.file.write(b"070701" + b"".join(b"%08X" % f for f in fields))
        self.file.write(raw)
        self._pad()
        self.file.write(data)
        self._pad()

    def folder(self, name):
        if name and name not in self.folders:
            self.folder(os.path.dirname(name))
            self.folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def text(self, name, text, mode=0o644):
        name = name.lstrip("/")
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, text.encode())

    def copy(self, name, source):
        name = name.lstrip("/")
        self.folder(os.path.dirname(name))
        mode = 0o755 if os.access(source, os.X_OK) else 0o644
        with open(source, "rb") as file:
            self._entry(name, stat.S_IFREG | mode, file.read())

    def link(self, name, target):
        name = name.lstrip("/")
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def close(self):
        self._entry(TRAILER, 0)
        self.file.close()
