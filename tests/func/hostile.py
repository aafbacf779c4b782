#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Peers that do not keep to the protocol change nothing and learn nothing."""
import lab


class Hostile(lab.FuncTest):
    def test_every_refusal_is_its_own_and_the_store_is_unchanged(self):
        b = self.brick(clients={"a": ["0x0+128G rw"]}).start()
        self.ok(b.ctl("alloc", "0x0+2"))
        self.ok(b.ctl("write", "0x0", stdin=b"untouched" * 1000))
        before = b.allocated()
        done = lab.run(lab.FUNC_BIN / "hostile", b.url, "a", b.key("a"))
        print(done.stdout.decode())
        self.assertEqual(done.returncode, 0,
                         done.stdout.decode() + done.stderr.decode() + b.log_text()[-3000:])
        self.assertEqual(b.allocated(), before)
        self.assertEqual(b.json("list", "mapped")["extents"], [])
        self.assertEqual(self.ok(b.ctl("read", "0x0", "--length", "9000")), b"untouched" * 1000)
        info = b.json("info")
        self.assertEqual(info["slots_total"] - info["slots_free"] - info["slots_bad"], 2)
        self.assertNotIn(b.key("a").read_text().strip()[:16], b.log_text())
        self.assertEqual(b.stop(), 0)


if __name__ == "__main__":
    lab.main()
