# SPDX-License-Identifier: BSD-2-Clause
"""A kernel's image without its compression, so that no guest unpacks it.

An emulated CPU takes longer to unpack a kernel than to start it. QEMU boots an
ELF image that has Xen's note of a 32-bit entry point (PVH); such a kernel is not
relocated at random.
"""
import lzma
import re
import struct

from . import cache

# Offsets of Linux's setup header: Documentation/arch/x86/boot.rst.
SETUP_SECTORS_AT = 0x1F1
SETUP_SECTORS_DEFAULT = 4
SECTOR_BYTES = 512
PAYLOAD_AT = 0x248
# Name and description are 4 and 4 or 8 bytes; 18 is XEN_ELFNOTE_PHYS32_ENTRY.
PVH_NOTE = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")
NAME = "vmlinux"


def unpack(packed):
    """Return the ELF image in a bzImage, or nothing: QEMU has to boot that."""
    sectors = packed[SETUP_SECTORS_AT] or SETUP_SECTORS_DEFAULT
    offset, length = struct.unpack_from("<II", packed, PAYLOAD_AT)
    begin = (1 + sectors) * SECTOR_BYTES + offset
    try:
        # The uncompressed length follows the stream.
        elf = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(
            packed[begin:begin + length])
    except lzma.LZMAError:
        return b""
    return elf if PVH_NOTE.search(elf) else b""


def bootable(image):
    """Return the file that QEMU is to boot for a kernel's image."""
    def make(part):
        (part / NAME).write_bytes(unpack(image.read_bytes()))

    key = cache.digest(cache.file_digest(image), cache.file_digest(__file__))
    elf = cache.folder("image", key, make) / NAME
    return elf if elf.stat().st_size else image
