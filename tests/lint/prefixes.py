#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Names of what is static.

An oops, a trace and kallsyms show a function's name and not its file: in code that
runs in the kernel a static one carries its module's prefix, as the others do, and is
called so once in its module, and not as one that all files see. A conversion to a provider's own struct is called
to_PREFIX..., as in the kernel. A profile and a backtrace of a program are read in the
same way: a static function of one has two words at least, and its name once, which no
global one has.
"""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
# folder: the prefixes of its modules. What is in no line is not looked at.
PREFIXES = {
    "initiator/core": ("kfb_",),
    "initiator/kmod": ("kfbk_",),
    "proto": ("kfb_",),
    "kfabric/9p": ("k9p_", "k9pw_"),
    "kfabric/core": ("kfi_",),
    "kfabric/loop": ("loop_",),
    "kfabric/tcp": ("ktcp_",),
    "kfabric/tcpwire": ("tcpw_",),
    "kfabric/rdm": ("kfir_",),
    "kfabric/rdmwire": ("rdmw_",),
    "kfabric/lnd": ("klnd_",),
    "kfabric/lndwire": ("lndw_",),
    "kfabric/rpc": ("krpc_",),
    "kfabric/rpcwire": ("rpcw_",),
    "kfabric/rds": ("krds_",),
    "kfabric/udp": ("kudp_",),
    "kfabric/verbs": ("kfiv_",),
    "kfabric/wire": ("wire_",),
    "kfabric/test/example": ("ex_",),
    "kfabric/test/fault": ("fault_", "ft_"),
    "kfabric/test/lnd": ("lt_",),
    "kfabric/test/perf": ("lat_", "iop_"),
    "kfabric/test/selftest": ("st_",),
}
# Programs and libraries.
PROGRAMS = ("brickd", "common", "initiator/brickctl", "initiator/lib", "initiator/powerfail",
            "kfabric/9pbridge", "kfabric/user")
# A macro that defines an object, and what stands before the name of one.
MACROS = r"(?:DEFINE|DECLARE|LIST)_\w+\((\w+)"
# Attributes with arguments, and sizes.
ATTRIBUTES = re.compile(r"__\w+\((?:[^()]|\([^()]*\))*\)|\[[^]]*\]")
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|^\s*#(?:[^\n]|(?<=\\)\n)*', re.S | re.M)


def outside(text):
    """The text without comments, strings, directives, and what is in braces."""
    text = SKIPPED.sub(lambda found: "\n" * found.group().count("\n"), text)
    kept, depth = [], 0
    for char in text:
        depth -= char == "}"
        if char == "\n" or not depth:
            kept.append(char)
        depth += char == "{"
    return "".join(kept)


def static_kinds(text):
    """(line, name, is it a function?) of each static one, where it is defined."""
    text = outside(text)
    # From the keyword to the end of the declaration, or to the body's brace.
    for found in re.finditer(r"^static\b([^;{]*)", text, re.M):
        line = text.count("\n", 0, found.start()) + 1
        head = found.group(1)
        macro = re.match(r"\s*" + MACROS, head)
        if macro:
            yield line, macro.group(1), False
            continue
        if re.search(r"\b(struct|union|enum)\s*$", head):
            # What is between the braces is gone; the object's name follows.
            head += re.match(r"\{\s*\}([^;{]*)", text[found.end():]).group(1)
        head = re.sub(r"=[^,]*", "", ATTRIBUTES.sub("", head))
        pointer = re.match(r"[^(]*\(\s*\*\s*(?:const\s+)?(\w+)\s*\)", head)
        function = re.match(r"[^(]*?(\w+)\s*\(", head)
        if pointer or function:
            yield line, (pointer or function).group(1), not pointer
            continue
        for one in head.split(","):
            name = re.search(r"(\w+)\s*$", one)
            if name:
                yield line, name.group(1), False


def static_names(text):
    """(line, name) of each static function and object, where it is defined."""
    return ((line, name) for line, name, _ in static_kinds(text))


def global_names(text):
    """The name of each function and object that other files see, where it is defined."""
    for found in re.finditer(r"([^;{}]*)([;{])", outside(text)):
        head = re.sub(r"=[^,]*", "=", ATTRIBUTES.sub("", found.group(1)))
        if re.search(r"\b(static|extern|typedef)\b", head):
            continue
        function = re.match(r"\s*\w[^(=]*?\b(\w+)\s*\(", head)
        # With a semicolon it is declared only.
        if function and found.group(2) == "{":
            yield function.group(1)
        thing = re.match(r"\s*\w[\w\s*]*[\s*](\w+)\s*=\s*$", head)
        if thing:
            yield thing.group(1)


def defined_by_macros(text):
    """(line, name) of each static function that a macro of compat.h begins."""
    text = outside(text)
    for found in re.finditer(r"^KFI_\w+\((\w+)[^)]*\)\n\{", text, re.M):
        yield text.count("\n", 0, found.start()) + 1, found.group(1)


def is_prefixed(name, prefixes):
    return name.startswith(prefixes) or name.startswith(tuple(f"to_{p}" for p in prefixes))


def folder_of(path, table):
    """The folder of the table that a file is in, at any depth, or None."""
    parents = (str(parent) for parent in pathlib.PurePosixPath(path).parents)
    return next((parent for parent in parents if parent in table), None)


def global_homes(files):
    """name: the file that defines what all others see by that name."""
    return {name: path for path in sorted(files) for name in global_names(files[path])}


def faults(files, table):
    """What is wrong with the sources: path: text."""
    of_all = global_homes(files)
    for folder, prefixes in table.items():
        homes = {}
        for path in sorted(files):
            if folder_of(path, table) != folder:
                continue
            for line, name in (*static_names(files[path]), *defined_by_macros(files[path])):
                if not is_prefixed(name, prefixes):
                    yield f"{path}:{line}: {name} does not begin with {' or '.join(prefixes)}"
                if homes.setdefault(name, path) != path:
                    yield f"{path}:{line}: {name} is in {homes[name]} too"
                if of_all.get(name, path) != path:
                    yield f"{path}:{line}: {name} is a global name, of {of_all[name]}"


def program_faults(files, folders):
    """What is wrong with the functions of programs: path: text."""
    for folder in folders:
        homes = {}
        own = {path: text for path, text in sorted(files.items())
               if folder_of(path, folders) == folder and path.endswith(".c")}
        of_all = global_homes(own)
        for path in own:
            here = {}
            for line, name, is_function in static_kinds(files[path]):
                if is_function:
                    here.setdefault(name, line)
            for name, line in here.items():
                if "_" not in name:
                    yield f"{path}:{line}: {name} is one word: what is done to what?"
                if homes.setdefault(name, path) != path:
                    yield f"{path}:{line}: {name} is in {homes[name]} too"
                if of_all.get(name, path) != path:
                    yield f"{path}:{line}: {name} is a global name, of {of_all[name]}"


def sources(top=TOP, table=PREFIXES):
    return {str(path.relative_to(top)): path.read_text(encoding="utf-8")
            for folder in table for path in sorted((top / folder).rglob("*.[ch]"))}
