#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Breaks the store in known ways and demands that its tests notice.

tests/unit/store/mutants.py BUILD [NAME...]

BUILD is a configured and built Meson folder. Each mutant replaces one piece of
one source file, is compiled as BUILD compiles that file, linked with the tests
named and run; a mutant that all of them pass has survived: exit 1.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
LIBS = ["-lpmem2", "-lisal", "-lJudy", "-lcmocka", "-lpthread"]
FENCE = "ret = brick_store_fence(s);"

# name: (file, old text, new text, tests that may notice)
MUTANTS = {
    "alloc-not-flushed": (
        "commit.c", "brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, run->slots.slot,\n"
        "\t\t\t   run->slots.n);\n}\n\n/* A new payload", "}\n\n/* A new payload", "crash"),
    "no-fence-1": ("commit.c", "write_records(s, tx, b);\n\t" + FENCE,
                   "write_records(s, tx, b);\n\tret = 0;", "crash"),
    "no-fence-2": ("commit.c", "brick_commit_write(s->m, &s->sb, tx);\n\t"
                   "return brick_store_fence(s);",
                   "brick_commit_write(s->m, &s->sb, tx);\n\treturn 0;", "crash"),
    "one-commit-word": ("commit_word.c", "for (i = 0; i < BRICK_FMT_COPIES; i++) {\n"
                        "\t\tm->ops->st64", "for (i = 0; i < 1; i++) {\n\t\tm->ops->st64",
                        "open"),
    "commit-without-tx": ("commit.c", ".state = BRICK_ALLOC_B, .tx = tx",
                          ".state = BRICK_ALLOC_B, .tx = 0", "crash"),
    "alloc-without-batch": ("commit.c", ".state = BRICK_ALLOC_B, .tx = tx",
                            ".state = BRICK_ALLOC", "crash"),
    "free-without-batch": ("commit.c", ".state = BRICK_DIRTY_B, .tx = tx",
                           ".state = BRICK_DIRTY", "crash"),
    "no-seals": ("commit.c", "\tseal(s, tx, b);\n", "\t(void)seal;\n", "crash"),
    "seals-before-commit": ("commit.c", "\tret = move_commit_word(s, tx);",
                            "\tseal(s, tx, b);\n\tret = move_commit_word(s, tx);", "crash"),
    "alloc-not-zeroed": ("commit.c", "if (run->zero_first)\n\t\tzero_slots",
                         "if (0)\n\t\tzero_slots",
                         "crash"),
    "zeros-not-flushed": ("commit.c", "\ts->m->ops->flush(s->m, off, len);\n", "", "crash"),
    "clean-not-zeroed": ("clean.c", "\t\ts->m->ops->zero(s->m, off, len);\n", "", "crash"),
    "clean-before-zeros-are-durable": ("clean.c", FENCE, "ret = 0;", "crash"),
    "birth-not-announced": ("commit.c", "put_words(s, BRICK_COPY(1), b->runs[r].slots, w);"
                            "\n\treturn brick_store_fence(s);",
                            "put_words(s, BRICK_COPY(1), b->runs[r].slots, w);\n\treturn 0;",
                            "crash"),
    "birth-in-both-copies": ("commit.c", "write_birth(s, tx, BRICK_COPY(1), run)",
                             "write_birth(s, tx, BRICK_COPY_BOTH, run)", "crash"),
    "birth-acknowledged-early": (
        "commit.c", "pthread_mutex_unlock(&s->lock);\n\t}\n\treturn brick_store_fence(s);",
        "pthread_mutex_unlock(&s->lock);\n\t}\n\treturn 0;", "crash"),
    "birth-not-finished": ("commit.c", "write_birth(s, tx, BRICK_COPY(0), &b->runs[r]);",
                           "", "crash ops"),
    "single-free-in-one-copy": (
        "commit.c", "put_words(s, BRICK_COPY_BOTH, slot, dirty);",
        "put_words(s, BRICK_COPY(0), slot, dirty);", "open"),
    "single-free-without-fence": (
        "commit.c", "slot, dirty);\n\treturn brick_store_fence(s);",
        "slot, dirty);\n\treturn 0;", "crash"),
    "aborted-alloc-is-alloc": ("judge.c", "committed ? BRICK_ALLOC : BRICK_DIRTY",
                               "BRICK_ALLOC", "crash parts"),
    "aborted-free-is-free": ("judge.c", "committed ? BRICK_DIRTY : BRICK_ALLOC",
                             "BRICK_DIRTY", "crash parts"),
    "mirror-wins": ("judge.c", "view[0].sense == USABLE ? &view[0] : &view[1]",
                    "view[1].sense == USABLE ? &view[1] : &view[0]", "crash parts"),
    "payload-not-checked": ("judge.c", "!brick_record_get_payload(m, sb, copy, slot, "
                            "&v->payload) ||",
                            "(brick_record_get_payload(m, sb, copy, slot, &v->payload), 0) ||",
                            "open"),
    "tx-not-checked": ("judge.c", "if (!committed && w.tx != BRICK_TX_NEXT(c))\n"
                       "\t\treturn false;\n", "", "parts"),
    "tx-does-not-wrap": ("store_impl.h", "(((tx) + 1) & BRICK_FMT_TX_MASK)", "((tx) + 1)",
                         "crash ops parts"),
    "recovery-words-with-payloads": (
        "recover.c", "fix_payload(s, copy, &sc->fixes[i]);\n\t}\n\t" + FENCE,
        "fix_payload(s, copy, &sc->fixes[i]);\n\t}\n\tret = 0;", "crash"),
    "recovery-leaves-mirror": (
        "recover.c", "for (copy = 0; copy < BRICK_FMT_COPIES; copy++)\n\t\t\tfix_word",
        "for (copy = 0; copy < 1; copy++)\n\t\t\tfix_word", "crash"),
    "quarantine-ignored": ("batch.c", "if (run->quarantine)\n\t\t\tbrick_slots_quarantine"
                           "(&s->slots, run->quarantine);\n\t\telse",
                           "free(run->quarantine);", "ops"),
    "clean-flag-stays": ("store.c", "\ts->inst.clean = false;\n", "", "open"),
    "epoch-stays": ("store.c", "\t\ts->inst.power_epoch++;\n", "", "open"),
    "held-not-checked": ("store.c", "if (!brick_instance_is_held(&s->inst, o->boot_id))",
                         "if (brick_instance_is_held(&s->inst, o->boot_id) || 1)", "open"),
    "magic-first": ("super.c", "memset(&raw.magic, 0, sizeof(raw.magic));\n", "", "open"),
    "failure-forgotten": ("store.c", "__atomic_store_n(&s->failed, true, __ATOMIC_RELEASE);",
                          "", "ops"),
    "duplicates-accepted": ("recover.c", "ret = sort_ids(s, &sc, err, err_len);",
                            "ret = 0;\n\t(void)sort_ids;", "open"),
}


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def compile_commands(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(e["directory"], e["file"]).resolve(): e for e in entries}


def compile_one(entry, source, output, extra):
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = str(output)
    words[-1] = str(source)
    words = [w for w in words if w not in ("-Werror", "-MD")]
    for option in ("-MQ", "-MF"):
        at = words.index(option)
        del words[at:at + 2]
    return run(words[:1] + extra + ["-w"] + words[1:], cwd=entry["directory"])


def sources_of(file):
    """A header's mutant concerns every file of the store."""
    folder = TOP / "brickd" / "store"
    return sorted(folder.glob("*.c")) if file.endswith(".h") else [folder / file]


def build_mutant(name, build, commands, work):
    file, old, new, _ = MUTANTS[name]
    original = TOP / "brickd" / "store" / file
    text = original.read_text()
    if text.count(old) < 1:
        return f"its text is not in {file} any more"
    shadow = work / "brickd" / "store" / file
    shadow.parent.mkdir(parents=True)
    shadow.write_text(text.replace(old, new, 1))
    for source in sources_of(file):
        mutated = shadow if source == original else source
        result = compile_one(commands[source.resolve()], mutated,
                             work / (source.stem + ".o"), ["-I", str(work)])
        if result.returncode:
            return result.stderr
    return None


def notices(test, build, work):
    objects = sorted((build / "tests/unit/store" / f"test-store-{test}.p").glob("*.o"))
    program = work / test
    result = run(["cc", "-o", program, *objects, *work.glob("*.o"),
                  build / "brickd/store/libbrick_store.a", *LIBS])
    if result.returncode:
        sys.exit(result.stderr)
    try:
        return run([program], timeout=60).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ.setdefault("CRASH_STEPS", "400")
    commands = compile_commands(build)
    survived = 0
    names = sys.argv[2:] or list(MUTANTS)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            problem = build_mutant(name, build, commands, work)
            if problem:
                sys.exit(f"{name}: {problem}")
            caught = next((t for t in MUTANTS[name][3].split() if notices(t, build, work)),
                          None)
        survived += caught is None
        print(f"ok {name}: noticed by {caught}" if caught else f"FAIL {name}: survived",
              flush=True)
    print(f"{len(names) - survived} passed, {survived} failed, 0 skipped")
    sys.exit(bool(survived))


main()
