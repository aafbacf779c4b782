#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_admin: admin_seeds.py FOLDER"""
import pathlib
import sys

LINE_MAX = 4096
WHOLE = b"\xff"  # all in one piece
BYTES = b"\0"  # one after the other
SEEDS = {
    "info": WHOLE + b'{"op":"info"}\n',
    "all": BYTES + b'{"op":"info"}\n{"op":"stats"}\n{"op":"sessions"}\n'
           b'{"op":"sessions","after":"00000000000000ff"}\n'
           b'{"op":"clients"}\n{"op":"clients","from":32}\n'
           b'{"op":"evict","session":"0123456789abcdef"}\n{"op":"evict","client":"a"}\n',
    "refused": WHOLE + b'{"op":"fly"}\n{}\n{"op":1}\n{"op":"evict"}\n'
               b'{"op":"evict","session":"1","client":"a"}\n{"op":"sessions","after":"x"}\n',
    "tier": WHOLE + b'{"op":"tier"}\n{"op":"tier","do":"pin","range":"0x200000+4"}\n'
            b'{"op":"tier","do":"job","job":4}\n{"op":"tier","do":"demote","range":"1+1"}\n',
    "members": WHOLE + b'{"x":[[1,2.5e3],null,true],"op":"in\\u0066o","y":{"z":"\\ud83d\\ude00"}}\n',
    "nothing": WHOLE + b'\n[]\n12\n"op"\nnull\n{"op":"info"} {"op":"info"}\n{"op":"info"}\0\n',
    "no text": WHOLE + b'{"op":"in\xfffo"}\n{"op":"in\\u0000fo"}\n',
    "deep": WHOLE + b'{"x":' + b"[" * 8 + b"]" * 8 + b"}\n",
    "longest": WHOLE + b'{"op":"info"' + b" " * (LINE_MAX - 14) + b"}\n",
    "too long": WHOLE + b"{" * (LINE_MAX + 1),
    "no end": b"\3" + b'{"op":"info"}\n{"op"',
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed in SEEDS.items():
        (folder / name).write_bytes(seed)


if __name__ == "__main__":
    main()
