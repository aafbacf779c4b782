#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each command that an error, a note or a help text names can be run.

test_advice.py BRICKCTL-MODEL BRICKD: takes the sentences of the programs and of the
kernel driver apart, and gives the commands in them to the programs, with something
in place of the capitals.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BRICKCTL, BRICKD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
TOP = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ("brickd", "initiator", "kfabric", "proto")
COMMAND_S = 60
USAGE = 2

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:[^"\\]|\\.)*")', re.S)
# What may stand between two pieces of one sentence: PRIx64 and the like.
BETWEEN = re.compile(r"\s*(?:[A-Za-z_][A-Za-z0-9_]*\s*)?")
# Words that a sentence goes on with where a command has ended.
PROSE = set("""a also and as at beside by ends for from has in is it makes of on or says
    shows takes tells that then there this to which with without where""".split())
# What stands behind the name of a program where no command is meant.
NO_COMMAND = {
    "brickctl": {"of", "or", "COMMAND"},
    "brickd": {"of", "running", "knows", "runs", "is", "first", "was", "in", "beside", "beneath", "itself",
               "has", "over", "or", "stopped", "stops", "for", "takes", "listens", "from", "with", "and",
               "does", "settings", "here", "as", "that", "says", "needs"},
}
VALUES = {"VA+N": "0x0+1", "SIZE": "64M", "NAME": "a", "SECONDS": "1", "BYTES": "1",
          "SESSION": "1f", "JOB": "1", "ID": "1", "DISK": "kfbrick0", "CLIENT": "a"}


def sentences(text):
    """The string literals of a C file; those that follow each other are one."""
    text = COMMENT.sub(lambda m: m[1] or " ", text)
    joined, end = None, None
    for found in LITERAL.finditer(text):
        piece = found[1].replace("\\n", "\n").replace('\\"', '"')
        between = text[end:found.start()] if joined is not None else None
        if between is not None and BETWEEN.fullmatch(between):
            joined += ("1" if between.strip() else "") + piece
        else:
            if joined is not None:
                yield joined
            joined = piece
        end = found.end()
    if joined is not None:
        yield joined


def value_of(word):
    """Something to run with in place of a word in capitals, or of a format's: a file
    that cannot be made either."""
    word = re.sub(r"0x%[^+]*", "0x0", word)
    word = re.sub(r"%[-0-9.*l]*[a-zA-Z1]?", "1", word)
    return VALUES.get(word, word if re.search("[a-z0-9]", word) else "/dev/null/it")


def is_value(word):
    return bool(re.fullmatch(r"[A-Z][A-Z+.]*|.*%.*|(0x)?[0-9a-f+]*[0-9][0-9a-fKMGT+]*|[~/].*|-"
                             r"|(tcp|verbs)://.*|.*\.key|copy", word))


class Program:
    """What a program's --help says of its commands."""

    def __init__(self, path):
        self.path = path

    def run(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            env = {"PATH": "/nonexistent", "HOME": folder, "LC_ALL": "C",
                   "KFBRICK": "tcp://model", "MODEL": f"{folder}/model",
                   "MODEL_LOG": "/dev/null", "IPATH_NO_BACKTRACE": "1",
                   "HFI_NO_BACKTRACE": "1"}
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
                if name in os.environ:
                    env[name] = os.environ[name]
            return subprocess.run([self.path, *words], input=b"", capture_output=True,
                                  timeout=COMMAND_S, check=False, env=env, cwd=folder)

    def help(self, *words):
        return self.run(*words, "--help").stdout.decode()


def options_of(text):
    """{option: whether it takes a value}, from a help text."""
    return {m[1]: bool(m[2]) for m in
            re.finditer(r"^ +(?:-\w, )?(--[a-z-]+)(?: ([A-Z]+))?", text, re.M)}


class Grammar:
    def __init__(self):
        self.ctl, self.brickd = Program(BRICKCTL), Program(BRICKD)
        text = self.ctl.help()
        self.options = options_of(text)
        self.commands = {}
        for name in re.findall(r"^  ([a-z]+) +[A-Z]", text.split("\nOptions")[0], re.M):
            said = self.ctl.help(name)
            # "[show | pin VA+N]": words of its own.
            synopsis = said.splitlines()[0].split(f" {name} ", 1)[-1]
            words = set(re.findall(r"(?<![A-Za-z-])[a-z]+(?![A-Za-z])", synopsis))
            self.commands[name] = (words, options_of(said))

    def command(self, words):
        """The words that are a command at the start of these, or None."""
        taken, name, wants = [], None, 0
        for word in words:
            bare = word.rstrip(".,;:)'\"")
            known = self.commands[name][1] if name else {}
            if bare.startswith("["):
                break
            if wants:
                taken.append(bare)
                wants = 0
            elif bare.startswith("-") and len(bare) > 1:
                taken.append(bare)
                wants = {**self.options, **known}.get(bare.split("=")[0], False) \
                    and "=" not in bare
            elif name is None:
                name = bare
                if name not in self.commands:
                    return taken + [name]
                taken.append(bare)
            elif is_value(bare) or bare in self.commands[name][0]:
                taken.append(bare)
            elif bare in PROSE:
                break
            else:
                # Neither the command's nor a word of a sentence: let it refuse that.
                taken.append(bare)
            if word != bare:
                break
        return taken


class Advice(unittest.TestCase):
    def test_the_commands_in_sentences_are_taken(self):
        grammar, n = Grammar(), 0
        self.assertGreater(len(grammar.commands), 20)
        for folder in FOLDERS:
            for path in sorted((TOP / folder).rglob("*.[ch]")):
                for sentence in sentences(path.read_text(encoding="utf-8")):
                    for found in re.finditer(r"(?<![\w/-])(brickctl|brickd) +(?=\S)", sentence):
                        # Two blanks begin a column that explains it.
                        rest = re.split(r"\n|  ", sentence[found.end():])[0].split()
                        with self.subTest(file=str(path.relative_to(TOP)), rest=rest[:4]):
                            n += self.validate(grammar, found[1], rest)
        self.assertGreater(n, 40)

    def validate(self, grammar, program, rest):
        """Return: whether it was a command."""
        first = rest[0].rstrip(".,;:)'\"")
        if first in NO_COMMAND[program] or first[0] in "[%":
            return False
        words = grammar.command(rest)
        if program == "brickd" or (words and words[0] in ("format", "check", "grow")):
            # brickctl hands these on.
            done = grammar.brickd.run(*map(value_of, words))
        else:
            done = grammar.ctl.run(*map(value_of, words))
        said = done.stderr.decode()
        # Whoever names a command without any word speaks of it.
        if len(words) == 1 and " needs " in said:
            return True
        self.assertFalse(done.returncode == USAGE and "--help" in said,
                         f"{program} {' '.join(words)}: {said}")
        return True

    def test_what_is_no_command_is_found(self):
        grammar = Grammar()
        for program, words in (("brickctl", "list --mapped"), ("brickctl", "list mappped shows"),
                               ("brickctl", "lst shows"), ("brickctl", "tier demote"),
                               ("brickctl", "free 0x0"), ("brickd", "format PATH --sise SIZE"),
                               ("brickctl", "--admn PATH list mapped")):
            with self.subTest(words=words):
                with self.assertRaises(AssertionError):
                    self.validate(grammar, program, words.split())
        for program, words in (("brickctl", "list mapped shows which"),
                               ("brickctl", "--admin PATH list mapped shows"),
                               ("brickctl", "keygen makes one"), ("brickctl", "detach takes it"),
                               ("brickd", "format PATH --size SIZE")):
            self.assertTrue(self.validate(grammar, program, words.split()), words)


if __name__ == "__main__":
    unittest.main()
