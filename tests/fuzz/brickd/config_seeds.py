#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_config: config_seeds.py FOLDER"""
import pathlib
import sys

SEEDS = {
    "whole": """[brick]
store = /dev/dax0.0 ; comment
listen = tcp://127.0.0.1, tcp://[::1]:7
listen = verbs://192.0.2.1:9
auth = required
uuid = 00112233-4455-6677-8899-aabbccddeeff
log-level = debug
credits = 32
map-extent-max = 64M
max-sessions = 10
admin = /run/x.sock
metrics = [::1]:9149
allow-remote-metrics = no
[client one]
key-file = /k1
grant = 0x0+4 rw
grant = 4G+1G ro
quota = 100G
rate-bytes = 100M
rate-ops = 5000
group = hosts
""",
    "none": "[brick]\nstore=s\nauth=none\n",
    "bom": "\ufeff[brick]\n# x\n  store = s\n",
    "broken": "[client a] x\n=\n[\n",
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SEEDS.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
