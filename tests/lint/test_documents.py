#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of the check "documents" finds what is wrong, and that alone.

tests/lint/test_documents.py BUILD
"""
import pathlib
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from documents import rules, tree  # pylint: disable=wrong-import-position

TOP = pathlib.Path(__file__).resolve().parents[2]
BRICKCTL = "docs/man/brickctl.1.scd"
BRICKD = "docs/man/brickd.8.scd"
CONF = "docs/man/brickd.conf.5.scd"


class Documents(unittest.TestCase):
    build = "."

    def book(self, changed):
        return rules.Book(tree.Tree(TOP, changed), self.build)

    def finds(self, rule, page, old, new, *faults):
        """The rule finds these faults when old is new, "" being the page's end."""
        text = (TOP / page).read_text(encoding="utf-8")
        if old:
            self.assertIn(old, text)
        text = text.replace(old, new, 1) if old else text + "\n" + new + "\n"
        found = list(rule(self.book({page: text})))
        self.assertEqual(len(found), len(faults), found)
        for said, fault in zip(found, faults):
            self.assertIn(page.split("/")[-1] if not old else "", said)
            self.assertIn(fault, said)

    def adds(self, rule, page, new, *faults):
        self.finds(rule, page, "", new, *faults)

    def test_the_tree_is_right(self):
        book = self.book({})
        for rule in rules.RULES:
            self.assertEqual(list(rule(book)), [])

    def test_links(self):
        self.adds(rules.links, "README.md", "[a](docs/none.md)", "no docs/none.md")
        self.adds(rules.links, "docs/stcp.md", "[a](HACKING.md#none)", "no heading none")
        self.adds(rules.links, "docs/stcp.md", "[a](HACKING.md#test)")
        self.adds(rules.links, "docs/stcp.md", "[a](#none)", "no heading none")

    def test_paths(self):
        for path in ("brickd/none.c", "brickd/none", "none.h", "store/none.c",
                     "tests/none*.py", "brickd/none.[ch]"):
            self.adds(rules.paths, "README.md", f"`{path}`",
                      *[f"no {path}"] * (2 if "[" in path else 1))
        self.adds(rules.paths, "README.md", "`tests/fuzz/{stcp,none}`", "no tests/fuzz/")
        self.adds(rules.paths, "README.md", "```sh\ntests/none x\n```", "no tests/none")
        self.adds(rules.paths, "README.md", "`build/none/brickd`", "no build/none")
        self.adds(rules.paths, "docs/man/kfbrick.3.scd", "_initiator/none_", "no initiator/none")
        self.adds(rules.paths, "README.md",
                  "`build/plain/brickd/brickd` `tests/vm/cases/*/NAME.sh` `kfb_client.*`")

    def test_options(self):
        for call, fault in (
                ("brickctl info --thin", "brickctl info has no --thin"),
                ("brickctl --thin info", "brickctl has no --thin"),
                ("brickctl --brick x none", "no command none"),
                ("brickctl --brick=x none", "no command none"),
                ("brickctl ping -x", "has no -x"),
                ("brickctl format s --repair", "has no --repair"),
                ("brickd none", "no command none"),
                ("brickd check s --config x", "has no --config"),
                ("x | tests/run --none", "has no --none"),
                ("tests/vm/run --none", "has no --none"),
                ("tests/crash --none", "has no --none"),
                ("powerfail-writer --none", "has no --none"),
                ("build/plain/brickd/brickd --none", "has no --none"),
                ("--none=3", "no program of ours has --none")):
            self.adds(rules.options, "docs/stcp.md", f"`{call}`", fault)
        self.adds(rules.options, "docs/stcp.md", "`brickctl\ninfo --thin`", "no --thin")
        self.adds(rules.options, "docs/stcp.md",
                  "```\nbrickctl attach \\\n  --none\n```", "no --none")
        self.adds(rules.options, "docs/stcp.md",
                  "    brickctl info      which\n    brickctl attach --none  x --what",
                  "no --none")
        self.adds(rules.options, "docs/stcp.md",
                  "```\nalias c='brickctl --thin'\nc none\n```", "no --thin", "no command none")
        self.adds(rules.options, BRICKD, "Say *brickctl none* or *--none*.",
                  "no command none", "has --none")
        self.finds(rules.options, BRICKD, "[*--size* _SIZE_]", "[*--none* _SIZE_]",
                   "has no --none", "has --none")
        self.adds(rules.options, "docs/stcp.md", "`brickctl --brick info attach --thin`"
                  " `other --none` `tests/crash --seed 3` `tests/vm/run -v`")

    def test_manuals(self):
        rule = rules.manuals
        self.finds(rule, BRICKCTL, "*--queues* ", "*--rows* ",
                   "--queues is not there", "no --rows")
        self.finds(rule, BRICKCTL, "*--admin*", "*--none*",
                   "OPTIONS: --admin is not there", "OPTIONS: there is no --none")
        self.finds(rule, BRICKCTL, "## ping", "## pong", "no section for ping")
        self.finds(rule, BRICKD, "*--sparse*\n", "*--dense*\n",
                   "--sparse is not there", "no --dense")
        self.finds(rule, BRICKD, "*brickd grow* _PATH_ [", "*brickd* _PATH_ [", "SYNOPSIS")
        self.finds(rule, "docs/man/powerfail-verify.8.scd", "*--page-cache*\n",
                   "*--cache*\n", "--page-cache is not there", "no --cache")
        self.finds(rule, "initiator/brickctl/disk/cmd_attach.c", '{ "thin", 0,', '{ "none", 0,',
                   "--none is not there", "no --thin")

    def test_usages(self):
        for path in ("brickd/main.c", "brickd/command_grow.c", "initiator/powerfail/writer.c"):
            self.finds(rules.usages, path, '{ "s', '{ "none", no_argument, NULL, 0 },\n\t{ "s',
                       "--none")
        self.finds(rules.usages, "brickd/main.c", "      --auth MODE", "      --none MODE",
                   "--auth", "--none")

    def test_settings(self):
        rule = rules.settings
        self.finds(rule, "brickd/config/config.c", 'LIMIT("credits"', 'LIMIT("none"',
                   "credits", "none")
        self.finds(rule, "brickd/config/config.c", '.name = "uuid"', '.name = "none"',
                   "none", "uuid")
        self.finds(rule, "brickd/config/config.c", '.name = "key-file"', '.name = "none"',
                   "key-file", "none")
        self.finds(rule, CONF, "*admin* = ", "*none* = ", "admin", "none")
        self.finds(rule, CONF, "*max-queues*\n", "*none*\n", "max-queues", "none")
        self.finds(rule, "docs/man/brickctl.conf.5.scd", "*fabric* = ", "*none* = ",
                   "fabric", "none")
        self.adds(rule, "docs/stcp.md", "`none = 3`", "no setting none")
        self.adds(rule, "docs/stcp.md", "```\n[client a]\nnone = 3\n```", "no setting none")

    def test_meson_options(self):
        self.adds(rules.meson, "docs/stcp.md", "`meson setup build -Dnone=3`", "option none")
        self.adds(rules.meson, "docs/stcp.md", "```\n# -Dkdir=, -Dnone=\n```", "option none")

    def test_names(self):
        for name, fault in (
                ("tests/vm/run --build build/plain none", "no case none"),
                ("tests/vm/run --set A=b brickd-verbs none", "no case none"),
                ("tests/run --full none", "no layer none"),
                ("tests/lint/run source-layout none", "no check none"),
                ("tests/mutate none", "no mutant none"),
                ("tests/vm/mutants/disk --build B none", "no mutant none"),
                ("tests/vm/mutants/check none", "no mutant none"),
                ("kfbrick-none", "no case, test or program kfbrick-none"),
                ("test-none", "no case, test or program test-none"),
                ("-none", "no case ends with -none")):
            self.adds(rules.names, "docs/stcp.md", f"`{name}`", fault)
        self.adds(rules.names, BRICKD, "See *brickd-none*.", "brickd-none")
        self.adds(rules.names, "docs/stcp.md",
                  "`kfbrick-fio` `-fio` `store-crash` `brickd-metrics` `tests/run vm`")

    def test_words(self):
        self.adds(rules.words, "docs/stcp.md", "`stcp_none()`", "stcp_none")
        self.adds(rules.words, "docs/stcp.md", "`struct brick_none`", "brick_none")
        self.adds(rules.words, "docs/stcp.md", "`test_NONE_at_all`", "test_NONE_at_all")
        self.adds(rules.words, "docs/man/kfbrick.3.scd", "*kfbrick_none*", "kfbrick_none")

    def test_man_pages(self):
        self.adds(rules.pages_named, "docs/stcp.md", "brickd-none(8)", "no man page brickd-none(8)")
        self.adds(rules.pages_named, BRICKD, "*brickctl*(8)", "no man page brickctl(8)")
        self.adds(rules.pages_named, BRICKD, "*kfbrick_none*(3)",
                  "no man page kfbrick_none(3)")

    def test_stray_markup(self):
        for wrong in ("## none _VA_", "# none *a*", "*a*_B_", "_A_+_B_", "Some `code`.",
                      "Some [a](b)."):
            self.adds(rules.rendered, BRICKD, wrong, "rendered as")
        self.adds(rules.rendered, BRICKD, "a_b_c and 2 \\* 3 *a*: _b_c_ _D_-*e*")
        self.adds(rules.rendered, BRICKD, "```\nint *a, _b_;\n```")

    def test_includes(self):
        page = "docs/ARCHITECTURE.md"
        self.finds(rules.includes, page, "| `initiator/core` | `proto` |",
                   "| `initiator/core` | |", "initiator/core may include")
        self.finds(rules.includes, page, "| `brickd` | `proto`,",
                   "| `brickd` | `proto`, `initiator/core`,", "brickd may include")
        self.finds(rules.includes, page, "| `kfabric/user` | `kfabric/tcpwire` |\n", "",
                   "kfabric/user may include")
        self.finds(rules.includes, "tests/lint/checks/include-rules",
                   '"kfabric": {"kfabric",', '"kfabric": {"kfabric", "proto",',
                   "kfabric may include")

    def test_room_tables(self):
        page = "docs/ARCHITECTURE.md"
        self.finds(rules.room_tables, page, "| `kfabric/9p/` |", "| `kfabric/none/` |",
                   "kfabric/9p/ has", "kfabric/none/ has")
        self.finds(rules.room_tables, page, "| `brickd/store/slow/` |", "| slow |",
                   "brickd/store/slow/ has")
        self.finds(rules.room_tables, page,
                   "| `initiator/brickctl/bench/`, ", "| ", "initiator/brickctl/bench/ has")
        # A row of another table is none.
        self.adds(rules.room_tables, page, "| `brickd/none/` | nothing | |")

    def test_layout(self):
        page = "docs/ARCHITECTURE.md"
        self.finds(rules.layout, page, " packaging/ outside/", " outside/", "tests/packaging/ is")
        self.finds(rules.layout, page, " packaging/ outside/", " packaging/ outside/ none/",
                   "tests/none/ is")
        self.finds(rules.layout, page, "common/   ", "none/   ", "common/ is", "none/ is")

    def test_walks(self):
        page = "docs/ARCHITECTURE.md"
        # It is in its file, and nothing on the way calls it.
        self.finds(rules.walks, page, "`brick_grants_allow()`", "`brick_grants_add()`",
                   "nothing before it calls brick_grants_add() of brickd/config/grants.c")
        # Called, but from a function that stands behind it.
        self.finds(rules.walks, page, "`main()`, `run_command()`", "`main()`",
                   *["nothing before it calls"] * 2)
        self.finds(rules.walks, page, "`brick_grants_allow()`", "`brick_grants_none()`",
                   "grants.c has no brick_grants_none()")
        self.finds(rules.walks, page, "| `brickd/config/grants.c` |", "| `brickd/none.c` |",
                   "brickd/none.c has no brick_grants_allow()")
        self.finds(rules.walks, page, "`brick_grants_allow()`", "nobody",
                   "no function of brickd/config/grants.c")
        self.finds(rules.walks, page, "`run_map()` as `run`", "`run_map()` as `walk`",
                   "nothing before it calls walk() of")
        self.finds(rules.walks, page, "`read_request()`", "`read_request()` as `run_command`",
                   "nothing makes read_request()")
        self.finds(rules.walks, page, " files in all", "0 files in all", "files in all")
        self.finds(rules.walks, page, " are asked", "0 are asked", "are asked")
        # A mention in a comment is no call.
        self.finds(rules.walks, "brickd/op/op.c", "\tif (!brick_grants_allow(",
                   "\t/* brick_grants_allow() */\n\tif (!brick_grants_forbid(",
                   "nothing before it calls brick_grants_allow()")

    def test_sentences(self):
        page = "docs/troubleshooting.md"
        for wrong in ("`a sentence that nobody says`", "`nobody … could connect at all`",
                      "`connect: nobody`", "no sentence"):
            self.adds(rules.sentences, page, f"### {wrong}",
                      "quotes no" if wrong == "no sentence" else "no program says")
        # Joined from two lines of the source, with a number between them, and quotes.
        for right in ("`grants overcommit the store: clients may allocate … blocks`",
                      '`authentication of "…" failed: …`'):
            self.adds(rules.sentences, page, f"### {right}")
        self.finds(rules.sentences, "brickd/config/config_check.c", ": nobody could connect",
                   ": none can", "nobody could connect")

    def test_layers(self):
        self.finds(rules.layers, "docs/HACKING.md", "| fresh |", "| none |", "layer fresh")


if __name__ == "__main__":
    for tool in ("meson", "scdoc"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            sys.exit(77)
    Documents.build = sys.argv.pop(1)
    unittest.main()
