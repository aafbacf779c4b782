#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sessions outlive their connections, and end when they must."""
import lab


class Joins(lab.FuncTest):
    def test_only_who_has_proven_the_session_joins_it(self):
        b = self.brick(clients={"a": ["0x0+128G rw"], "b": ["0x0+128G rw"]}).start()
        done = lab.run(lab.FUNC_BIN / "joins", b.url, "a", b.key("a"), "b", b.key("b"))
        print(done.stdout.decode())
        self.assertEqual(done.returncode, 0,
                         done.stdout.decode() + done.stderr.decode() + b.log_text()[-3000:])
        self.assertEqual(b.allocated(), [])
        self.assertEqual(b.json("list", "mapped")["extents"], [])
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
