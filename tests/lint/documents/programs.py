# SPDX-License-Identifier: BSD-2-Clause
"""The project's programs: their options and sub-commands, from their sources."""
import functools
import re

C_TABLE = re.compile(r'\{ "([\w-]+)", (no|required)_argument, NULL, (?:\'(\w)\')?')
CTL_TABLE = re.compile(r'\{ "([\w-]+)", (?:0|\'(\w)\'), (NULL|"\w+"),')
# What a fence agent's metadata say.
AGENT = re.compile(r'<getopt mixed="(?:(-\w), )?--([\w-]+)(=?)')
# What a script compares its arguments with.
SCRIPT_OPTIONS = re.compile(
    r'add(?:_argument)?\(\s*(?:"-\w", )?"(--[\w-]+)"'
    r'|^\s*(--[\w-]+)\)'
    r'|= "?(--[\w-]+)"? \]'
    r'|"(--[\w-]+)" (?:in|==)|== "(--[\w-]+)"'
    r'|strcmp\(\w+(?:\[\w+\])?, "(--[\w-]+)"\)'
    r'|\{ "([\w-]+)", (?:no|required)_argument', re.M)
# Programs that hand their arguments on to another one, or to what reads them for both.
PASSES_ON = {
    "tests/crash": "tests/unit/store/crash/crash_main.c",
    "tests/vm/mutants/disk": "tests/vm/vmlab/campaign.py",
    "tests/vm/mutants/fabric": "tests/vm/vmlab/campaign.py",
    "tests/vm/selfcheck/check": "tests/vm/run",
}
# Built programs that documents call by their names.
BUILT = {
    "powerfail-writer": "initiator/powerfail/writer.c",
    "powerfail-verify": "initiator/powerfail/verify.c",
    "kfabric-9p-bridge": "kfabric/9pbridge/main.c",
    "fence_kfbrick": "initiator/brickctl/fence/fence_kfbrick.in",
}


class Options(dict):
    """long name: whether it takes a value; and the letters."""

    def __init__(self):
        super().__init__()
        self.letters = {}

    def add(self, name, has_value, letter=""):
        self["--" + name] = has_value
        if letter:
            self.letters["-" + letter] = has_value

    def joined(self, other):
        both = Options()
        both.update(self)
        both.update(other)
        both.letters = {**self.letters, **other.letters}
        return both

    def has(self, word):
        """Letters count where they are known, not for scripts."""
        return word in self or word in self.letters or \
            not word.startswith("--") and not self.letters

    def takes(self, word):
        return self.get(word) or self.letters.get(word)


def c_options(text):
    options = Options()
    for name, kind, letter in C_TABLE.findall(text):
        options.add(name, kind == "required", letter)
    return options


def built_options(text):
    options = c_options(text)
    for letter, name, value in AGENT.findall(text):
        options.add(name, bool(value), letter.removeprefix("-"))
    return options


def usage_options(text):
    """The long options that a program's --help names."""
    usage = re.search(r"usage\[\] =(.*?);\n\n", text, re.S)
    lines = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', usage[1])).split("\\n") if usage else []
    return {o for line in lines for o in re.findall(r"(--[\w-]+)(?: |$)", line)
            if re.match(r"\s+(-\w, )?--", line)}


@functools.lru_cache(maxsize=None)
def script_options(text):
    """The names of a script's options."""
    return [next(g for g in groups if g) for groups in SCRIPT_OPTIONS.findall(text)]


class Programs:
    """The programs of a tree."""

    def __init__(self, tree):
        self.tree = tree
        self.tables = {}  # by the word that names the program

    @functools.cached_property
    def brickd(self):
        """sub-command, "" for none: its options"""
        found = {"": c_options(self.tree.text("brickd/main.c"))}
        for path in self.tree.matching("brickd/command_*.c"):
            name = re.search(r"command_(\w+)\.c", path)[1]
            found[name] = c_options(self.tree.text(path))
        return found

    @functools.cached_property
    def brickctl(self):
        """sub-command, "" for those of all: its own options"""
        found = {"": self.ctl_table("initiator/brickctl/base/options.c", "ctl_globals")}
        for path in self.tree.matching("initiator/brickctl/*/cmd_*.c"):
            text = self.tree.text(path)
            for body in re.findall(r"^const struct ctl_command ctl_cmd_\w+ = \{(.*?)^\};",
                                   text, re.M | re.S):
                name = re.search(r'\.name = "(\w+)"', body)[1]
                if name in self.brickd:
                    found[name] = self.brickd[name]
                elif ".options" in body:
                    found[name] = self.ctl_table(path, re.search(r"\.options = (\w+)", body)[1])
                else:
                    found[name] = Options()
        return found

    def ctl_table(self, path, table):
        body = re.search(table + r"\[\] = \{(.*?)^\};", self.tree.text(path), re.M | re.S)
        options = Options()
        for name, letter, value in CTL_TABLE.findall(re.sub(r"\s+", " ", body[1])):
            options.add(name, value != "NULL", letter)
        return options

    def script(self, path):
        """Options of a script, or of a test program by its source."""
        options = Options()
        if path in PASSES_ON:
            options.update(self.script(PASSES_ON[path]))
        if path + ".c" in self.tree.files:
            path += ".c"
        text = self.tree.text(path)
        if "argparse" in text:
            options.add("help", False)
        for name in script_options(text):
            options["--" + name.removeprefix("--")] = False
        return options

    def find(self, word):
        """The sub-commands of the program that a word names, or None."""
        if word not in self.tables:
            self.tables[word] = self.look_for(word)
        return self.tables[word]

    def look_for(self, word):
        name = word.split("/")[-1] if word.startswith(("/", "build/")) else word
        if name in ("brickd", "brickctl"):
            return getattr(self, name)
        if name in BUILT:
            return {"": built_options(self.tree.text(BUILT[name]))}
        if "/" in word and (word in self.tree.files or word + ".c" in self.tree.files):
            return {"": self.script(word)}
        return None

    @functools.cached_property
    def all_options(self):
        """Every option of every program of ours, for one that stands alone."""
        found = set()
        for table in (self.brickd, self.brickctl, *map(self.find, BUILT)):
            for options in table.values():
                found |= options.keys() | options.letters.keys()
        for path in self.tree.files:
            if path.startswith(("tests/", "kfabric/build-modules")) and \
                    not path.startswith("tests/lint/"):
                found |= self.script(path).keys()
        return found


@functools.lru_cache(maxsize=None)
def commands_of(text):
    """The words of each command in a line."""
    text = re.sub(r"(^|\s)#\s.*", "", text)
    return [re.findall(r"[^\s\[\]()\"']+", part)
            for part in re.split(r"\|\||&&|[|;&\n]", text)]


def calls(text, programs, aliases):
    """(sub-commands, words) of each call of a program of ours in a line."""
    for words in commands_of(text):
        for i, word in enumerate(words):
            if word in aliases:
                yield word, aliases[word], words[i + 1:]
                break
            table = programs.find(word)
            if table is not None:
                yield word, table, words[i + 1:]
                break
