# SPDX-License-Identifier: BSD-2-Clause
"""Has a simulator look for what is broken in it, for tests/mutate and tests/sim/mutants."""
import math
import os
import random
import re
import resource
import subprocess

# Of the processor, for leaving out faults; what takes longer hangs.
HANG_S = 60


def spent_by_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
    spent = float(told[1]) if told else spent_by_children() - before
    if result.returncode == 0:
        return math.inf, ""
    return spent, result.stdout.partition("\n")[0] if told else f"it dies: {result.returncode}"


def hunt(name, program, seconds, tries, **environment):
    """What tries make of a mutant: a line, and whether their median has found it."""
    found = sorted(hunt_once(program, seconds, **environment) for _ in range(tries))
    # As many tries took no longer as took longer; of an even number the later one.
    median, what = found[tries // 2]
    times = " ".join("-" if math.isinf(spent) else f"{spent:.1f}" for spent, _ in found)
    if math.isinf(median):
        return f"{name}: not in {seconds:g} s [{times}] {found[0][1]}".rstrip(), False
    return f"{name}: {median:.1f} s [{times}] {what}", True
