# SPDX-License-Identifier: BSD-2-Clause
"""The rules: each yields what is wrong as "page:line: what"."""
import ast
import functools
import json
import posixpath
import re
import subprocess

import prefixes
import rooms
from documents import pages, programs

SUFFIXES = r"\.(?:c|h|py|sh|scd|md|ini|hex|mk|build|in|rules|cocci|config|options|txt)"
# Files of others that documents name.
FOREIGN_FILES = {
    "linux/types.h": "the kernel's",
    "linux/errno.h": "the kernel's",
    "linux/string.h": "the kernel's",
}
MESON_OWN = re.compile(r"b_\w+|buildtype|c_args|c_link_args|prefix|werror")
# How guest cases, test programs and tests of the build are named.
NAME = re.compile(r"(?:brickctl|brickd|kfbrick|kfabric|powerfail|store|test)(?:-[a-z0-9]+)+")


@functools.lru_cache
def names_of_build(build):
    """Names of a build's targets and tests."""
    out = subprocess.run(["meson", "introspect", "--tests", "--targets", build],
                         check=True, capture_output=True, text=True).stdout
    both = json.loads(out)
    return {x["name"] for x in both["tests"] + both["targets"]}


class Book:
    """The documents of a tree, and what they are compared with."""

    def __init__(self, tree, build):
        self.tree = tree
        self.build = build
        self.programs = programs.Programs(tree)
        self.markdown = ["README.md", "CONTRIBUTING.md", *tree.matching("docs/*.md")]
        self.manual = tree.matching("docs/man/*.scd")

    def spans_of(self, page):
        return pages.spans_of(page, self.tree.text(page))

    @functools.cached_property
    def spans(self):
        return [span for page in self.markdown + self.manual for span in self.spans_of(page)]

    @functools.cached_property
    def cases(self):
        return {re.search(r"(\S+)\.sh$", f)[1].split("/")[-1]
                for f in self.tree.matching("tests/vm/cases/*.sh")}

    @functools.cached_property
    def case_groups(self):
        return {w for f in self.tree.matching("tests/vm/cases/*.sh")
                for words in re.findall(r"^# GROUP: (.*)$", self.tree.text(f), re.M)
                for w in words.split()}

    @functools.cached_property
    def packages(self):
        """Those of RPM; Debian's have files that are called like them."""
        return {(name if alone else "kfbrick-" + name) for alone, name in re.findall(
            r"^%package (-n )?(\S+)", self.tree.text("packaging/rpm/kfbrick.spec"), re.M)}

    @property
    def built(self):
        return names_of_build(self.build)

    @functools.cached_property
    def mutants(self):
        """list: the names in it"""
        lists = {path: set(re.findall(r'^    "(\w+)":', self.tree.text(path), re.M))
                 for path in ("tests/vm/mutants/disk", "tests/vm/mutants/fabric",
                              "tests/vm/mutants/check")}
        lists["tests/mutate"] = {
            name for f in self.tree.matching("tests/*mutants.py")
            for name in re.findall(r'^    "([\w-]+)": ', self.tree.text(f), re.M)}
        return lists

    @functools.cached_property
    def layers(self):
        return set(re.search(r'layers="(.*)"', self.tree.text("tests/run"))[1].split())

    @functools.cached_property
    def checks(self):
        return {f.split("/")[-1] for f in self.tree.matching("tests/lint/checks/*")}


def at(span, what):
    return f"{span.page}:{span.line}: {what}"


def links(book):
    """Links and their anchors."""
    for page in book.markdown:
        for line, target in pages.links_of(book.tree.text(page)):
            if re.match(r"\w+:", target):
                continue
            path, _, anchor = target.partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) \
                if path else page
            if not book.tree.has(path):
                yield f"{page}:{line}: no {path} that {target} leads to"
            elif anchor and anchor not in pages.anchors_of(book.tree.text(path)):
                yield f"{page}:{line}: no heading {anchor} in {path}"


def expand(word):
    """a.[ch] and {a,b}.c as several; capitals, as in test_NAME.c, as anything."""
    choice = re.search(r"\{([\w,.-]+)\}|\.\[(\w+)\]", word)
    if choice:
        several = choice[1].split(",") if choice[1] else ["." + c for c in choice[2]]
        for one in several:
            yield from expand(word[:choice.start()] + one + word[choice.end():])
    else:
        yield re.sub(r"<\w+>|\b[A-Z]{3,}\b|(?<=[_/-])[A-Z]{3,}(?=[_./-]|$)", "*", word)


def paths(book):
    """Files and folders of the tree."""
    top = {f.split("/")[0] for f in book.tree.files if "/" in f and f[0] != "."}
    flavours = set(re.findall(r"build/(\w+)", book.tree.text("tests/run")))
    for span in book.spans:
        for word in re.findall(r"[^\s,;:()\"'=|<>]*(?:<\w+>[^\s,;:()\"'=|<>]*)*", span.text):
            word = re.sub(r"[.…]+$", "", word.removeprefix("./"))
            first = word.split("/")[0]
            flavour = re.fullmatch(r"build/([a-z]+)(?:/.*)?", word)
            # The modules' folder is at the build's top.
            if flavour and flavour[1] not in flavours | top | {"kmod"}:
                yield at(span, f"tests/run builds no build/{flavour[1]}")
            if "/" in word and first in top and re.fullmatch(r"[\w./*{},\[\]<>-]+", word):
                for path in expand(word):
                    if not book.tree.has(path) and not built_here(book, path):
                        yield at(span, f"no {word}")
            elif re.fullmatch(r"[\w./*{},<>-]*\w(?:" + SUFFIXES + r"|\.\[ch\])", word) and \
                    span.kind != "block" and not word.startswith(("/", "~")):
                for path in expand(word):
                    if not book.tree.has_ending(path) and path not in FOREIGN_FILES:
                        yield at(span, f"no {word}")


def built_here(book, path):
    """A program, by its source or as the build has it."""
    return book.tree.has(path + ".c") or path.split("/")[-1] in book.built


def aliases_of(book, page):
    found = {}
    for span in book.spans_of(page):
        match = re.match(r"alias (\w+)='(\w+)", span.text)
        if span.kind == "block" and match:
            table = book.programs.find(match[2])
            if table:
                found[match[1]] = table
    return found


def options(book):
    """Options and sub-commands beside a program, and options alone."""
    for page in book.markdown + book.manual:
        aliases = aliases_of(book, page)
        for span in (s for s in book.spans_of(page) if s.kind != "path"):
            text = re.sub(r"^\s*alias \w+='(.*)'", r"\1", span.text)
            # A heading that quotes what a program says calls none.
            if span.section == f"`{span.text}`":
                continue
            called = list(programs.calls(text, book.programs, aliases))
            for name, table, words in called:
                for what in call_faults(name, table, words):
                    yield at(span, what)
            alone = re.match(r"(--[\w-]+)", span.text)
            if not called and span.kind == "code" and alone and \
                    alone[1] not in book.programs.all_options and \
                    alone[1] not in FOREIGN_OPTIONS:
                yield at(span, f"no program of ours has {alone[1]}")


# Options of others' programs that stand without them.
FOREIGN_OPTIONS = {
    "--bitmap": "mdadm",
    "--heapallindexed": "pg_amcheck",
    "--re-add": "mdadm",
}


def call_faults(name, table, words):
    known, command, skips = table[""], "", False
    for word in words:
        option, is_given, _ = word.partition("=")
        if skips:
            skips = False
        elif re.fullmatch(r"--[a-z][\w-]*|-[A-Za-z]", option):
            if not known.has(option):
                yield f"{name} {command}".rstrip() + f" has no {option}"
            skips = bool(known.takes(option)) and not is_given
        elif len(table) > 1 and not command and re.fullmatch(r"[a-z][a-z-]*", word):
            if word not in table:
                yield f"{name} has no command {word}"
                return
            command = word
            # brickctl's own may follow the command; brickd's may not.
            known = table[word] if "--config" in known else known.joined(table[word])
        elif not word.startswith("-") and not command and len(table) > 1:
            return


def headings(text):
    """(heading, body) of each heading of a man page."""
    parts = re.split(r"^#+ (.*)$", text, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def described(text):
    """The long options that a man page's text describes: what begins a line."""
    found = set()
    for line in re.findall(r"^(\*-.*)\n\t", text, re.M):
        found |= set(re.findall(r"\*(--[\w-]+)\*", line))
    return found


def manuals(book):
    """Each option of a program is in its man page, in its place, and no other."""
    sections = {}
    for heading, body in headings(book.tree.text("docs/man/brickctl.1.scd")):
        sections.setdefault(re.sub(r"[*_]", "", heading).split()[0], []).append((heading, body))
    for command, known in book.programs.brickctl.items():
        where = sections.get(command or "OPTIONS")
        if not where:
            yield f"docs/man/brickctl.1.scd: no section for {command}"
            continue
        if command and command in book.programs.brickd:
            continue
        text = "\n".join(h + "\n" + b for h, b in where)
        yield from differing("docs/man/brickctl.1.scd, " + (command or "OPTIONS"),
                             known.keys() - {"--help"} if command else known.keys(),
                             text)
    page = book.tree.text("docs/man/brickd.8.scd")
    bodies = dict(headings(page))
    for command, known in book.programs.brickd.items():
        title, name = (command or "options").upper(), "docs/man/brickd.8.scd"
        text = bodies.get(title, "")
        if command == "check":
            name = "docs/man/brickctl-check.8.scd"
            text = book.tree.text(name)
        yield from differing(f"{name}, {title}",
                             known.keys() - {"--help"} if command else known.keys(), text)
        if command and f"*brickd {command}*" not in page.split("# DESCRIPTION")[0]:
            yield f"docs/man/brickd.8.scd: brickd {command} is not in the SYNOPSIS"
    for program in programs.BUILT:
        name = f"docs/man/{program}.8.scd"
        known = book.programs.find(program)[""]
        yield from differing(name, known.keys(), book.tree.text(name))


def differing(where, known, text):
    said = described(text)
    mentioned = set(re.findall(r"(--[\w-]+)", text))
    for option in sorted(known - mentioned):
        yield f"{where}: {option} is not there"
    for option in sorted(said - known - {"--help"}):
        yield f"{where}: there is no {option}"


def usages(book):
    """A program's --help names its options."""
    sources = [*programs.BUILT.values(), "brickd/main.c",
               *book.tree.matching("brickd/command_*.c")]
    for path in sources:
        text = book.tree.text(path)
        known, said = programs.c_options(text).keys(), programs.usage_options(text)
        for option in sorted(known ^ said):
            yield f"{path}: {option} is in the usage or among the options, not in both"


def settings(book):
    """The settings of the configuration files."""
    brick = book.tree.text("brickd/config/config.c")
    table = re.search(r"^static const struct setting settings.*?^\};", brick, re.M | re.S)[0]
    client = re.search(r"^static int set_client\(.*?^\}", brick, re.M | re.S)[0]
    known = {
        "docs/man/brickd.conf.5.scd":
            set(re.findall(r'\.name = "([\w-]+)"', table)) |
            set(re.findall(r'LIMIT\("([\w-]+)"', table)) |
            set(re.findall(r'\.name = "([\w-]+)"', client)),
        "docs/man/brickctl.conf.5.scd":
            set(re.findall(r'\{ "([\w-]+)", set_\w+ \}',
                           book.tree.text("initiator/brickctl/base/config.c"))),
    }
    for page, names in known.items():
        said = set(re.findall(r"^(?:\|  )?\*([a-z-]+)\*(?: = |$)", book.tree.text(page), re.M))
        for name in sorted(names ^ said):
            yield f"{page}: {name} is described or a setting, not both"
    every = set().union(*known.values())
    section = {}
    for span in book.spans:
        if span.kind == "path":
            continue
        if span.kind == "block":
            begins = re.match(r"\[([\w ]+)\]$", span.text)
            if begins:
                section[span.page] = begins[1].split()[0]
            elif not re.match(r"[\w-]+ = |$", span.text):
                section[span.page] = ""
            if section.get(span.page) not in ("brick", "client", "brickctl"):
                continue
        match = re.match(r"([a-z][a-z-]*) = ", span.text)
        if match and match[1] not in every:
            yield at(span, f"no setting {match[1]}")


def meson(book):
    """Meson's options."""
    known = set(re.findall(r"^option\('(\w+)'", book.tree.text("meson_options.txt"), re.M))
    for span in book.spans:
        for name in re.findall(r"(?<![\w-])-D([a-z]\w*)", span.text):
            if name not in known and not MESON_OWN.fullmatch(name):
                yield at(span, f"no Meson option {name}")


def names(book):
    """Guest cases, layers, checks, mutants and tests."""
    lists = {
        "tests/vm/run": ("case", book.cases | book.case_groups),
        "tests/run": ("layer", book.layers),
        "tests/lint/run": ("check", book.checks),
    }
    for path, known in book.mutants.items():
        lists[path] = ("mutant", known)
    ours = book.cases | book.built | book.packages | {f.split("/")[-1].rsplit(".", 2)[0] for f in book.manual}
    for span in book.spans:
        if span.kind == "path":
            continue
        for name, _, words in programs.calls(span.text, book.programs, {}):
            if name in lists:
                what, known = lists[name]
                for word in named(words):
                    if word not in known:
                        yield at(span, f"{name}: no {what} {word}")
        if span.kind == "code":
            for word in span.text.split():
                if NAME.fullmatch(word) and word not in ours and \
                        not book.tree.has_ending(word + "*"):
                    yield at(span, f"no case, test or program {word}")
                if re.fullmatch(r"-[a-z]{2,}(-[a-z]+)*", word) and word == span.text and \
                        not any(c.endswith(word) for c in book.cases):
                    yield at(span, f"no case ends with {word}")


def named(words):
    """The names among the words behind a program."""
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word.startswith("--"):
            skips = "=" not in word and word in (
                "--build", "--set", "--kernel", "--modules", "--bin", "--put", "--cases",
                "--system", "--timeout", "--accel", "--mtu")
        elif re.fullmatch(r"[a-z][\w-]*", word):
            yield word


# Identifiers of others that the sources do not use.
FOREIGN_WORDS = {
    "DEBUG_ATOMIC_SLEEP": "the kernel's configuration",
    "FI_AV_TABLE": "libfabric's",
    "FI_COLLECTIVE": "libfabric's",
    "FI_SOCKADDR_IB": "libfabric's",
    "IB_ACCESS_FLUSH_GLOBAL": "of newer kernels, which kfabric does not use",
    "IB_DEVICE_FLUSH_GLOBAL": "of newer kernels, which kfabric does not use",
    "IIO_LLC_WAYS": "a processor's register",
    "PERFCTRLSTS_0": "a processor's register",
    "PERFCTRLSTS_1": "a processor's register",
    "Use_Allocating_Flow_Wr": "a bit of a processor's register",
    "autoinstall_all_kernels": "a setting of DKMS",
    "dma_opt_mapping_size": "the kernel's, not used and said so",
    "fi_atomicv": "libfabric's",
    "fi_av_insertsym": "libfabric's",
    "fi_compare_atomicv": "libfabric's",
    "fi_ep_alias": "libfabric's",
    "fi_eq_strerror": "libfabric's",
    "fi_fetch_atomicv": "libfabric's",
    "fi_injectdata": "libfabric's",
    "fi_join": "libfabric's",
    "fi_leave": "libfabric's",
    "fi_mr_regv": "libfabric's",
    "fi_recvfrom": "the kfabric papers'",
    "fi_rx_context": "libfabric's",
    "fi_scalable_ep": "libfabric's",
    "fi_sendto": "the kfabric papers'",
    "fi_set_ops": "libfabric's",
    "fi_stx_context": "libfabric's",
    "fi_tsearch": "libfabric's",
    "fi_tx_context": "libfabric's",
    "fi_wait_open": "libfabric's",
    "flush_fail": "of the kernel's sysfs",
    "health_state": "what ndctl prints",
    "ib_destroy_cm_id": "the kernel's, in a trace",
    "ib_dmah": "of newer kernels",
    "ib_ud_wr": "the kernel's, not used",
    "ibv_get_cq_event": "of a peer in a benchmark",
    "init_on_alloc": "the kernel's configuration",
    "kfi_get_device": "the kfabric papers'",
    "kofi_provider_deregister": "the kfabric papers'",
    "kofi_provider_register": "the kfabric papers'",
    "mok_certificate": "a setting of DKMS",
    "mok_signing_key": "a setting of DKMS",
    "not_armed": "of the kernel's sysfs",
    "restore_fail": "of the kernel's sysfs",
    "rxe_send_wr": "the soft RoCE driver's",
    "save_fail": "of the kernel's sysfs",
    "siw_check_sgl_tx": "the soft iWARP driver's",
}


def is_pattern(book, word):
    """test_FAILS_DURING: whether something is named so, with capitals replaced."""
    pattern = re.sub(r"_[A-Z]{3,}(?=_|$)", r"_[a-z]+", word)
    return pattern != word and word[0].islower() and \
        any(re.fullmatch(pattern, known) for known in book.tree.words)


def words(book):
    """Functions, fields and constants of the sources."""
    for span in book.spans:
        if span.kind == "block" or not re.search(r"_", span.text):
            continue
        for word in re.findall(r"(?<![\w./*-])[A-Za-z]\w*_\w*[A-Za-z0-9](?![\w./*-])", span.text):
            # A number of the metrics page has the daemon's name before it.
            if not book.tree.words & {word, word.removeprefix("brickd_")} and \
                    word not in FOREIGN_WORDS and not is_pattern(book, word):
                yield at(span, f"{word} is not in the sources")


def pages_named(book):
    """Man pages that a document refers to."""
    have = {f.split("/")[-1].removesuffix(".scd") for f in book.manual}
    # docs/man/calls makes one of each call.
    have |= {f"{call}.3" for call in re.findall(
        r"^\t(kfbrick_\w+);$", book.tree.text("initiator/lib/kfbrick.map"), re.M)}
    for page in book.markdown + book.manual:
        for number, line, is_block, _ in pages.lines_of(book.tree.text(page)):
            for name, section in re.findall(
                    r"((?:brick|fence_kfb|kfb|ocf_kfb|powerfail)[\w.-]*)[*`]*\(([1-8])\)", line):
                if f"{name}.{section}" not in have and not is_block:
                    yield f"{page}:{number}: no man page {name}({section})"


def rendered(book):
    """Markup that a man page's reader would see."""
    for page in book.manual:
        out = subprocess.run(["scdoc"], input=book.tree.text(page), check=False,
                             capture_output=True, text=True)
        if out.returncode:
            yield f"{page}: {out.stderr.strip()}"
            continue
        is_block = False
        for line in out.stdout.splitlines():
            is_block = line == ".nf" or is_block and line != ".fi"
            if is_block or line.startswith('.\\"'):
                continue
            plain = re.sub(r"\\f[BIRP]", "\0", line).replace("\\&", "")
            stray = re.search(r"(?<![A-Za-z0-9_])_[^\s_][^_]*_|(?<!\w)\*[^\s*][^*]*\*|`|\]\(", plain)
            if stray:
                shown = plain.replace("\0", "")
                yield f"{page}: rendered as: {shown}"


def includes(book):
    """The table of who may include whom is the one that is checked."""
    page = "docs/ARCHITECTURE.md"
    source = book.tree.text("tests/lint/checks/include-rules")
    allowed = ast.literal_eval(re.search(r"^ALLOWED = (\{.*?^\})", source, re.M | re.S)[1])
    rows = re.findall(r"^\| `([\w/]+)` \| (.*)\|$",
                      book.tree.text(page).split("## Who may include whom")[1], re.M)
    said = {part: set(re.findall(r"`([\w/]+)`", others)) | {part} for part, others in rows}
    for part in sorted(allowed.keys() | said.keys()):
        if allowed.get(part) != said.get(part):
            yield f"{page}: {part} may include {sorted(allowed.get(part, ()))}"


ARCHITECTURE = "docs/ARCHITECTURE.md"


def room_tables(book):
    """Each room of a drawing has its row, and each row its room."""
    text = book.tree.text(ARCHITECTURE)
    for tree in rooms.TREES:
        table = text.split(tree.begin)[0].rsplit("\n## ", 1)[-1]
        firsts = re.findall(r"^\| (`.*?) \|", table, re.M)
        rows = {name for first in firsts for name in re.findall(r"`([\w/]+)/`", first)}
        below = len(tree.name) + 1
        drawn = {tree.room_of(f[below:]) for f in book.tree.matching(f"{tree.name}/*.[ch]")}
        drawn = {f"{tree.name}/{room}" if room != tree.name else room for room in drawn}
        for room in sorted(rows ^ drawn):
            yield f"{ARCHITECTURE}: {room}/ has a row or sources, not both"


def layout(book):
    """The layout of the sources has the folders of the tree's top, and those of tests/."""
    block = book.tree.text(ARCHITECTURE).split("## Source layout\n\n```\n")[1].split("```")[0]
    tops = {f"{name}/" for name in re.findall(r"^(\w+)/", block, re.M)}
    entry = re.search(r"^tests/((?:.*\n)(?: .*\n)*)", block, re.M)[1]
    said = tops | {f"tests/{name}" for name in re.findall(r"\b\w+/(?!\w)", entry)}
    parts = [f.split("/") for f in book.tree.files if f[0] != "."]
    there = {f"{p[0]}/" for p in parts if len(p) > 1} | \
        {f"tests/{p[1]}/" for p in parts if p[0] == "tests" and len(p) > 2}
    for folder in sorted(said ^ there):
        yield f"{ARCHITECTURE}: {folder} is in the layout or in the tree, not in both"


WALKS = "### Two walks\n"
STEP = re.compile(r"^\| `([\w/.-]+)` \| (.+?) \|(.*)\|$", re.M)
STEP_FUNCTION = re.compile(r"`(\w+)\(\)`(?: as `(\w+)`)?")
ATTRIBUTE = re.compile(r"__\w+\((?:[^()]|\([^()]*\))*\)")


@functools.lru_cache(maxsize=None)
def bodies_of(text):
    """function: its body, without comments and strings"""
    text = prefixes.SKIPPED.sub(" ", text)
    return {re.search(r"(\w+)\(", ATTRIBUTE.sub("", head))[1]: body for head, body in
            re.findall(r"^(\w[^;{}=]*\))[^;{}=()]*\n\{\n(.*?)^\}", text, re.M | re.S)}


def is_bound(book, name):
    """Whether a table or a struct of the product has the function."""
    found = re.compile(rf"(?:= |^\s+|, ){name}(?:,|\s*\}}|$)", re.M)
    return any(name in book.tree.text(f) and found.search(book.tree.text(f))
               for f in book.tree.matching("*.c") if not f.startswith("tests/"))


def step_faults(book, path, functions, begins, before):
    """What is wrong with a step; before: the bodies of all functions that were named."""
    bodies = bodies_of(book.tree.text(path)) if path in book.tree.files else {}
    for number, (name, alias) in enumerate(functions):
        if name not in bodies:
            yield f"{path} has no {name}()"
            continue
        # By a name of its own, or by the member of a struct, a table, or a call's name.
        pattern = rf"\b{alias}(?:\[[^]]*\])*\(" if alias else rf"\b{name}\b"
        if not (begins and number == 0) and not re.search(pattern, "".join(before)):
            yield f"nothing before it calls {alias or name}() of {path}"
        if alias and not is_bound(book, name):
            yield f"nothing makes {name}() of {path} a {alias}"
        before.append(bodies[name])


def walks(book):
    """Each step of a walk is called by one before it, and the files are as many as is said."""
    text = book.tree.text(ARCHITECTURE).split(WALKS)[1].split("\n## ")[0]
    for part in text.split("\n#### ")[1:]:
        title, before, files, asked = part.split("\n")[0], [], set(), set()
        for path, cell, remark in STEP.findall(part):
            functions = STEP_FUNCTION.findall(cell)
            if not functions:
                yield f"{ARCHITECTURE}: {title}: no function of {path}"
            for fault in step_faults(book, path, functions, "begins" in remark, before):
                yield f"{ARCHITECTURE}: {title}: {fault}"
            # What is on a side way is none of those that are counted.
            if not remark.strip().startswith("with "):
                files.add(path)
            if remark.strip().startswith("asked"):
                asked.add(path)
        for counted, what in ((files, "files in all"), (asked, "are asked")):
            said = re.search(rf"\b(\d+) {what}\b", part)
            if counted and (not said or int(said[1]) != len(counted)):
                yield f"{ARCHITECTURE}: {title}: {len(counted)} {what}"


def layers(book):
    """Each layer of tests/run is told of."""
    text = book.tree.text("docs/HACKING.md")
    for layer in sorted(book.layers):
        if not re.search(rf"^\| {layer} \|", text, re.M):
            yield f"docs/HACKING.md: no row for the layer {layer}"


TROUBLES = "docs/troubleshooting.md"
# Whose sentences people are told: not those of libstcp-fi.so or of tests.
TALKERS = ("brickd/*.c", "initiator/*.c", "proto/*.c", "kfabric/tcp/*.c",
           "kfabric/tcpwire/*.c", "kfabric/user/*.c")
STRING = r'"(?:[^"\\\n]|\\.)*"'


@functools.lru_cache(maxsize=None)
def literals(text):
    """The strings of a C source, those that follow each other joined."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    # A name between two strings is a format of <inttypes.h>.
    run = rf"{STRING}(?:\s*(?:PRI\w+\s*)?{STRING})*"
    return ["".join(s[1:-1] for s in re.findall(STRING, match[0])).replace(r'\"', '"')
            for match in re.finditer(run, text)]


def sentences(book):
    """What the page on troubles quotes is said by a program; … is anything."""
    said = {s for pattern in TALKERS for f in book.tree.matching(pattern)
            for s in literals(book.tree.text(f))}
    for number, line in enumerate(book.tree.text(TROUBLES).splitlines(), 1):
        if not line.startswith("### "):
            continue
        quoted = re.fullmatch(r"### `(.*)`", line)
        if not quoted:
            yield f"{TROUBLES}:{number}: a heading that quotes no sentence"
            continue
        pieces = [re.escape(p) for p in re.split("…", quoted[1])]
        if not any(re.search(".*".join(pieces), s, re.S) for s in said):
            yield f"{TROUBLES}:{number}: no program says {quoted[1]}"


RULES = (links, paths, options, manuals, usages, settings, meson, names, words,
         pages_named, rendered, includes, room_tables, layout, walks, layers, sentences)
