#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes fuzz_brickctl_conf's seed corpus: fuzz_brickctl_conf-seeds OUT"""
import pathlib
import sys

SEEDS = (
    "[brickctl]\nbrick = tcp://host:1\nfabric = verbs\nclient = a\n"
    "key-file = ~/key\ntimeout = 0x10\n",
    "\ufeff; comment\n[brickctl]\nbrick=x ; inline\n\n# more\nclient: b\n",
    "[brickctl]\ntimeout = 99999999999999999999\n",
    "[" + "s" * 49 + "]\n" + "n" * 49 + " = " + "v" * 140 + "\n",
    "0x0+128", "4G+1T", "0xffffffffffe00000+1", "0+8796093022208", "2M+2048K",
)

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
for number, seed in enumerate(SEEDS):
    (out / f"conf-{number}.seed").write_text(seed, encoding="utf-8")
