#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library's way back under kill -9: reconnect.py [KILLS [SEED]]

As kill9.py, but the clients do not connect again: the library does, with two
queues, and they go on with what they were doing. Nothing that a flush covered
is lost, and nothing is mixed up.
"""
import os

os.environ.setdefault("KFB_KILLS", "12")

import kill9  # pylint: disable=wrong-import-position
import lab  # pylint: disable=wrong-import-position

RECONNECT_MS = 60000
QUEUES = 2


class Load(kill9.Load):
    extra = (str(RECONNECT_MS), str(QUEUES))


class Reconnect(kill9.KillNine):
    load_class = Load


if __name__ == "__main__":
    lab.main()
