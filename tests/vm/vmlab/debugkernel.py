# SPDX-License-Identifier: BSD-2-Clause
"""The debug kernel, built from Debian's packaged source."""
from . import cache


def find():
    raise cache.Skip("the debug kernel is not built")
