# SPDX-License-Identifier: BSD-2-Clause
"""Has a simulator look for what is broken in it, for tests/mutate and tests/sim/mutants."""
import hashlib
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess

# Of the processor, for leaving out faults; what takes longer hangs.
HANG_S = 60
# Of the processor: most worlds take a hundredth of it.
WORLD_S = 5
LOSS_TABLE = "tests/sim/cells/kfbrick-cells"
# Of the processor, for a cut in all cells of the loss table: it takes less than a tenth.
CUT_S = 1
UNSEEN = pathlib.Path(__file__).resolve().with_name("unseen.txt")


def unseen():
    """Why no world finds a mutant, by its name."""
    lines = [line for line in UNSEEN.read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split(": ", 1) for line in lines)


def spent_by_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def breaks(program, seed, **environment):
    """Is a promise broken in the world of this seed?"""
    result = subprocess.run(
        ["prlimit", f"--cpu={WORLD_S}", program, "--seed", seed, "--trace"],
        env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False)
    return result.returncode != 0


def hunt_once(program, seconds, **environment):
    """Seconds of processor time until fresh seeds find it, or infinity; how it shows."""
    before = spent_by_children()
    seed = random.getrandbits(48)
    # What hangs is found as well: a world never waits, its loops take the processor.
    result = subprocess.run(
        ["prlimit", f"--cpu={int(seconds) + HANG_S}", program,
         "--seconds", str(seconds), "--seed", str(seed)], env=os.environ | environment,
        capture_output=True, text=True, errors="replace", check=False)
    # Not the time that it took to leave out faults afterwards.
    told = re.search(r"in ([0-9.]+) s of processor time", result.stdout)
    spent = float(told[1]) if told else min(spent_by_children() - before, seconds)
    if result.returncode == 0:
        return math.inf, ""
    said = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    # One that crashes has named its seed, though it tells no time.
    if said and (told or said[0].startswith("seed ")):
        return spent, said[0]
    # Of a simulator that cannot go on only its last words say why.
    words = result.stderr.strip().splitlines()[-1:]
    return spent, " ".join([f"it dies: {result.returncode}", *words])


class Notes:
    """What tries have made of mutants so far, in a file, so that an interruption costs one.

    Another simulator than the one of the file begins anew. Without a file nothing is kept.
    """

    def __init__(self, path, simulator):
        self.path = path
        self.state = {"simulator": hashlib.sha256(simulator.read_bytes()).hexdigest(),
                      "tries": {}}
        if not path or not path.exists():
            return
        state = json.loads(path.read_text())
        if state["simulator"] == self.state["simulator"]:
            self.state = state
        else:
            print("another simulator than before: all is looked for anew", flush=True)

    def hunt_on(self, name, seconds, program, **environment):
        """A try more, or one that has ended before so many seconds goes on.

        Each world is another one, whenever it is tried: seconds of two days are one try.
        """
        tries = self.state["tries"].setdefault(name, [])
        begun = next((i for i, (limit, took, _) in enumerate(tries)
                      if took is None and limit < seconds), len(tries))
        before = tries[begun][0] if begun < len(tries) else 0
        spent, what = hunt_once(program, seconds - before, **environment)
        took = None if math.isinf(spent) else before + spent
        tries[begun:begun + 1] = [[seconds, took, what]]
        self.write()

    def write(self):
        if self.path:
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps(self.state, indent=1) + "\n")
            beside.replace(self.path)

    def found_in_crowd(self, name, seconds, took, what):
        """One of several in one simulator: the others have had this time, too."""
        self.state["tries"].setdefault(name, []).append([seconds, took, what])
        self.write()

    def missed_in_crowd(self, names, seconds, what):
        """What nobody has found of them all: it is no try of its own."""
        self.state.setdefault("crowds", {}).update({name: [seconds, what] for name in names})
        self.write()

    def was_in_crowd(self, name, seconds):
        return self.state.get("crowds", {}).get(name, [0])[0] >= seconds

    def tries(self, name, seconds):
        """Those that say something of so many seconds, as hunt_once() does."""
        tries = []
        for limit, took, what in self.state["tries"].get(name, []):
            if took is not None and took <= seconds:
                tries.append((took, what))
            elif limit >= seconds:
                tries.append((math.inf, ""))
        return tries


def is_decided(found, tries):
    """More of so many tries would not make found of what is not, or the reverse."""
    missed = sum(math.isinf(spent) for spent, _ in found)
    return max(missed, len(found) - missed) > tries // 2


def hunt(name, program, seconds, tries, notes, **environment):
    """What tries make of a mutant: a line, and whether most of them find it.

    As soon as most have had the same outcome it is known. The time told is then that of
    the last one needed, which the median of all tries is not above.
    """
    found = notes.tries(name, seconds)
    while not is_decided(found, tries):
        notes.hunt_on(name, seconds, program, **environment)
        found = notes.tries(name, seconds)
    found.sort()
    median, what = found[tries // 2]
    times = " ".join("-" if math.isinf(spent) else f"{spent:.1f}" for spent, _ in found)
    if math.isinf(median):
        return f"{name}: not in {seconds:g} s [{times}] {found[0][1]}".rstrip(), False
    return f"{name}: {median:.1f} s [{times}] {what}", True


def narrow_down(names, make, seed):
    """Some of the mutants with which the world of a seed breaks a promise, mostly one.

    Mutants that do nothing in that world can be left out, and it stays the same.
    """
    n_parts = 2
    while len(names) > 1:
        size = -(-len(names) // n_parts)
        parts = [names[at:at + size] for at in range(0, len(names), size)]
        rests = [[n for n in names if n not in part] for part in parts] if n_parts > 2 else []
        less = next((those for those in parts + rests if breaks_with(those, make, seed)), None)
        if less is not None:
            n_parts = 2 if less in parts else max(n_parts - 1, 2)
            names = less
        elif size == 1:
            break
        else:
            n_parts = min(2 * n_parts, len(names))
    return names


def breaks_with(names, make, seed):
    program, environment = make(names)
    return breaks(program, seed, **environment)


def hunt_together(names, make, seconds, notes):
    """What fresh seeds find of several mutants in one simulator, each for so many seconds.

    make(names) is the simulator with these, and its environment. What has been found is
    left out; the time goes on for the others.
    """
    spent = 0
    while names:
        program, environment = make(names)
        took, what = hunt_once(program, seconds - spent, **environment)
        if math.isinf(took):
            break
        spent += took
        seed = re.match(r"seed (\d+): ", what)
        those = narrow_down(names, make, seed[1]) if seed else names
        print(f"{' or '.join(those)}: {spent:.1f} s, one of {len(names)} {what}", flush=True)
        if len(those) == 1:
            notes.found_in_crowd(those[0], seconds, spent, what)
        names = [n for n in names if n not in those]
    print(f"not in {seconds:g} s: {' '.join(names)}", flush=True)
    notes.missed_in_crowd(names, seconds, f"{len(names)} in one simulator")


def look_in_table(name, program, cuts, **environment):
    """What the cells of the loss table make of a mutant: a line, whether they have found it."""
    result = subprocess.run(
        ["prlimit", f"--cpu={HANG_S + cuts * CUT_S}", program, "--cuts", str(cuts)],
        env=os.environ | environment, capture_output=True, text=True, errors="replace",
        check=False)
    if result.returncode == 0:
        return f"{name}: in no cell", False
    lines = result.stdout.splitlines()
    wrong = [i for i, line in enumerate(lines) if line.startswith("not ok")]
    if not wrong:
        return f"{name}: it dies: {result.returncode}", True
    why = [line for line in lines[wrong[0] + 1:wrong[0] + 3] if line.startswith("#")]
    return f"{name}: in {len(wrong)} cells, {' '.join([lines[wrong[0]], *why])}", True
