# SPDX-License-Identifier: BSD-2-Clause
"""Quotas: how many blocks a client may have, and whose a block is."""
import concurrent.futures
import json
import signal

import lab

REFUSED = 1
SAID = "has reached its quota"
MANY = 12


class Quotas(lab.FuncTest):
    def begin(self, quotas, **parameters):
        self.b = self.brick(clients={"a": ["0x0+1T rw"], "b": ["0x0+1T rw"]}, **parameters)
        self.b.quotas = quotas
        self.admin = self.b.folder / "admin"
        self.b.settings = f"admin = {self.admin}"
        self.b.start()

    def alloc(self, va, client="a"):
        self.ok(self.b.ctl("alloc", va, client=client))

    def over(self, va, used, quota, client="a"):
        """Refused, and says by which quota."""
        n = va.split("+")[1]
        done = self.b.ctl("alloc", va, client=client)
        self.refused(done, REFUSED)
        self.assertIn(f"quota of client {client}: {used} of {quota} blocks are in use, {n} were "
                      "asked for; ", done.stderr.decode())

    def has(self, client, used, quota):
        info = self.b.json("info", client=client)
        self.assertEqual((info.get("quota_used_blocks"), info.get("quota_blocks")), (used, quota))
        done = lab.run(lab.BRICKCTL, "--json", "--admin", self.admin, "top", "--by", "client")
        told = next(c for c in json.loads(self.ok(done))["clients"] if c["client"] == client)
        self.assertEqual(told.get("quota_blocks"), quota)
        if quota is not None:
            self.assertEqual(told["blocks"], used)

    def reload(self, quotas):
        self.b.quotas = quotas
        self.b.configure()
        before = len(self.b.log_text())
        self.b.process.send_signal(signal.SIGHUP)
        self.until(lambda: "clients and grants read again" in self.b.log_text()[before:], "reload")

    def map(self, va, client):
        """Maps a block for writing, and gives it back."""
        self.ok(self.b.ctl("map", f"{va}+1", "--rw", "--hold", "0", client=client))

    def test_a_quota_is_reached_and_freed(self):
        self.begin({"a": "8M"})
        self.alloc("0x0+3")
        self.over("0x600000+2", 3, 4)
        self.has("a", 3, 4)
        self.assertEqual(self.b.allocated(), [(0, 3)])
        self.alloc("0x600000+1")
        self.over("0x800000+1", 4, 4)
        self.assertIn(f"client a {SAID}: 4 of 4 blocks are in use, 1 were asked for",
                      self.b.log_text())
        # Neither of the two has to do with the other one.
        self.alloc("0x800000+5", "b")
        self.has("b", None, None)
        self.assertNotIn("quota ", self.ok(self.b.ctl("info", client="b")).decode())
        self.assertIn("quota        4 (8 MiB), in use 4 (8 MiB)",
                      self.ok(self.b.ctl("info")).decode())
        self.ok(self.b.ctl("free", "0x0+2"))
        self.has("a", 2, 4)
        self.alloc("0x0+2")
        self.assertEqual(self.b.stop(), 0)

    def test_a_full_brick_is_no_quota(self):
        self.begin({"a": "1000"}, size="16M")
        done = self.b.ctl("alloc", "0x0+100")
        self.refused(done, REFUSED)
        self.assertIn("no space left", done.stderr.decode())
        self.assertNotIn("quota of", done.stderr.decode())
        self.assertNotIn(SAID, self.b.log_text())

    def test_who_maps_a_block_for_writing_has_it(self):
        self.begin({"a": "4", "b": "2"})
        self.alloc("0x0+4")
        # Takes over more than its quota: who comes after a failure must not be refused.
        for va in ("0x0", "0x200000", "0x400000"):
            self.map(va, "b")
        self.has("a", 1, 4)
        self.has("b", 3, 2)
        self.over("0x1000000+1", 3, 2, "b")
        self.alloc("0x800000+3")
        self.over("0x1000000+1", 4, 4)
        # Whoever reads only, takes nothing.
        self.ok(self.b.ctl("map", "0x0+4", "--ro", "--hold", "0"))
        self.has("b", 3, 2)
        # Nor does it matter who frees.
        self.ok(self.b.ctl("free", "0x0+2", client="a"))
        self.has("b", 1, 2)
        self.has("a", 4, 4)
        self.alloc("0x1000000+1", "b")

    def test_what_is_counted_outlives_brickd(self):
        self.begin({"a": "6", "b": "3"})
        self.alloc("0x0+6")
        self.map("0x200000", "b")
        self.ok(self.b.ctl("free", "0xa00000+1"))
        for end in (self.b.kill, self.b.stop):
            end()
            self.b.start()
            self.has("a", 4, 6)
            self.has("b", 1, 3)
            self.over("0x1000000+3", 4, 6)
        self.alloc("0x1000000+2")

    def test_another_quota_holds_at_once_and_takes_nothing(self):
        self.begin({})
        self.alloc("0x0+4")
        self.has("a", None, None)
        self.reload({"a": "2"})
        self.has("a", 4, 2)
        self.over("0x800000+1", 4, 2)
        self.assertEqual(self.b.allocated(), [(0, 4)])
        self.map("0x600000", "a")
        self.reload({"a": "10M"})
        self.alloc("0x800000+1")
        self.over("0xa00000+1", 5, 5)
        self.reload({"a": "0"})
        self.over("0xa00000+1", 5, 0)
        self.reload({})
        self.alloc("0xa00000+1")

    def test_many_at_once_get_as_many_as_there_may_be(self):
        self.begin({"a": "5"})
        with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
            done = list(pool.map(lambda n: self.b.ctl("alloc", f"{n * 4}M+1"), range(MANY)))
        self.assertEqual(sum(d.returncode == 0 for d in done), 5)
        self.assertEqual(len(self.b.allocated()), 5)
        self.has("a", 5, 5)

    def test_blocks_in_the_slow_tier_count(self):
        self.begin({"a": "20"}, size="16M", slow_size="64M")
        self.alloc("0x0+20")
        self.has("a", 20, 20)
        self.over("0x8000000+1", 20, 20)
        for n in range(20):
            self.map(hex(n * lab.BLOCK), "a")
        self.has("a", 20, 20)
        self.ok(self.b.ctl("free", "0x0+20"))
        self.has("a", 0, 20)

    def test_one_client_hides_no_other_reason(self):
        self.begin({"a": "4"})
        self.alloc("0x0+2")
        done = self.b.ctl("alloc", "0x200000+9")
        self.refused(done, REFUSED)
        self.assertIn("allocated", done.stderr.decode())
        self.assertNotIn("quota of", done.stderr.decode())


if __name__ == "__main__":
    lab.main()
