# SPDX-License-Identifier: BSD-2-Clause
"""Looks for mutants by running, for each, the case that is to notice it.

A list of mutants (tests/vm/mutants) says by name: the case that must fail, the point,
and shell commands that leave out the rest of the case. Without a point the case must
pass: the mutant only makes room, or takes one of two guards away.
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import tempfile

from . import cases as case_files, kernels, mutants

KERNEL = "6.1"
CASE = re.compile(r"(?:not )?ok - (\w+)(?: \((?:server|client)\))?: \d+ passed")
FAILED = re.compile(r" +not ok \d+ - (.*)$")
COUNT = re.compile(r" +# (.* cuts lost .*)$")
END = re.compile(r"# \w+: [0-9.]+ s$")  # of a case, before its boot is over
# A module may be there already.
CHOOSE = """
echo options {module} mutant={number} >>/etc/modprobe.d/mutant.conf
[ ! -e /sys/module/{module} ] ||
	echo {number} >/sys/module/{module}/parameters/mutant
"""


@dataclasses.dataclass(frozen=True)
class Campaign:
    """A list of mutants, and the modules that have them.

    edits are for files in folder (see mutants.mutate) of a copy of the folders copied,
    of which parts are built; modules have the parameter that says which mutant it is
    to be; after spoilers nothing is usable.
    """
    mutants: dict
    edits: tuple
    folder: str
    copied: tuple
    parts: tuple
    modules: tuple
    spoilers: tuple = ()

    def case_of(self, name):
        return case_files.load(case_files.FOLDER)[self.mutants[name][0]]

    def runs_on(self, name, kernel):
        """Tell whether the case that is to notice a mutant runs on a kernel."""
        if not self.mutants[name][0]:
            return False
        only = self.case_of(name).kernel
        return not only or kernel in only

    def write_cases(self, folder, names):
        """Make a case of each mutant: the one that is to notice it, and which.

        Those of one group share a boot, but for them that leave nothing usable.
        """
        for name in names:
            head, body = re.match(r"((?:#.*\n)+)((?:.|\n)*)", self.case_of(name).text).groups()
            if name in self.spoilers:
                head = re.sub(r"# GROUP:.*\n", "", head)
            number = list(self.mutants).index(name)
            choose = "rm -f /etc/modprobe.d/mutant.conf\n" + "".join(
                CHOOSE.format(module=module, number=number) for module in self.modules)
            (folder / f"{name}.sh").write_text(
                f"{head}\nmkdir -p /etc/modprobe.d\n"
                f"{choose}{self.mutants[name][2]}\n{body}")

    def survives(self, name, failed):
        """Say what became of a mutant; tell whether nothing noticed it."""
        case, wanted, _ = self.mutants[name]
        if wanted:
            good = any(f.startswith(wanted) for f in failed)
            says = f"is noticed by {case}: {wanted}"
        else:
            good = failed == []
            says = f"does no harm to {case}"
        print(f"{'ok' if good else 'not ok'} - {name} {says}", flush=True)
        for point in failed:
            print(f"# failed: {point}", flush=True)
        return not good


def points_failed(cases, built, opts):
    """Run the cases; yield each mutant's name with the points that failed."""
    name, failed = "", []
    with subprocess.Popen(
            [mutants.TOP / "tests/vm/run", "--kernel", opts.kernel, "--modules", built,
             "--build", opts.build, "--cases", cases,
             *[f"--set={s}" for s in opts.set]],
            stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            if found := CASE.match(line):
                if name not in ("", found.group(1)):
                    yield name, failed
                if name != found.group(1):  # else it is that of the other guest
                    name, failed = found.group(1), []
                failed += ["the case"] if line.startswith("not") else []
            elif name and END.match(line):
                yield name, failed
                name = ""
            elif found := FAILED.match(line):
                failed.append(found.group(1))
            elif found := COUNT.match(line):
                print(f"# {name}: {found.group(1)}", flush=True)
    if name:
        yield name, failed


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", required=True, metavar="DIR",
                        help="build folder with the programs")
    parser.add_argument("--set", action="append", default=[],
                        metavar="NAME=VALUE", help="as of tests/vm/run")
    parser.add_argument("--kernel", default=KERNEL,
                        help="as of tests/vm/run, 6.1 by default")
    parser.add_argument("mutant", nargs="*",
                        help="by default all whose case runs on that kernel")
    return parser.parse_args()


def main(campaign, description):
    """Look for mutants as the command line says; return an exit status."""
    opts = arguments(description)
    names = opts.mutant or [n for n in campaign.mutants if campaign.runs_on(n, opts.kernel)]
    with tempfile.TemporaryDirectory(prefix="kfbrick-mutants.") as folder:
        work = pathlib.Path(folder)
        print("# building the modules that have the mutants", flush=True)
        built = mutants.build(work, campaign.copied, campaign.folder, campaign.edits,
                              kernels.find(opts.kernel).headers, campaign.parts)
        print(f"# looking for {len(names)}", flush=True)
        cases = work / "cases"
        cases.mkdir()
        campaign.write_cases(cases, names)
        survived, left = 0, dict.fromkeys(names)
        for name, failed in points_failed(cases, built, opts):
            del left[name]
            survived += campaign.survives(name, failed)
    survived += sum(campaign.survives(name, ["it did not run"]) for name in left)
    print(f"{len(names) - survived} passed, {survived} failed, 0 skipped")
    return 1 if survived else 0
