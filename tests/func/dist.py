#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""meson dist: the archive of a release has every file, and Meson takes it.

That it can be built tests/fresh sees, whose packages are made without a repository.
What has not been committed is committed to a copy first, which the archive is of.
"""
import os
import pathlib
import subprocess
import tarfile

import lab

TOP = pathlib.Path(__file__).parents[2]
VERSION = os.environ["VERSION"]
NAME = f"kfbrick-{VERSION}"
OPTIONS = ("-Dkmod=disabled", "-Dtests=false", "-Dman=disabled")
GIT = ("git", "-c", "user.name=test", "-c", "user.email=test", "-c",
       "safe.directory=*")


def words(*command, folder=TOP):
    """The output of a command that succeeds."""
    done = subprocess.run([str(w) for w in command], cwd=folder, check=False,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=lab.COMMAND_S, env=lab.environment())
    if done.returncode:
        raise AssertionError(f"{command}: {done.stdout}")
    return done.stdout


class Dist(lab.FuncTest):
    def copy(self):
        """A repository with this tree as it is."""
        tree = self.folder / "tree"
        words("bash", "-c", f". packaging/source.sh && source_copy {tree}")
        words(*GIT, "init", "-q", folder=tree)
        words(*GIT, "add", ".", folder=tree)
        words(*GIT, "commit", "-q", "-m", "all", folder=tree)
        return tree

    def archive(self, tree):
        """The members of the archive that meson dist makes, unpacked."""
        build = self.folder / "build"
        words("meson", "setup", build, tree, *OPTIONS)
        words("meson", "dist", "-C", build, "--no-tests", "--formats", "gztar")
        with tarfile.open(build / f"meson-dist/{NAME}.tar.gz") as archive:
            archive.extractall(self.folder)
            return {m.name.removeprefix(NAME + "/") for m in archive.getmembers()
                    if not m.isdir()}

    def test_the_archive_has_all_and_can_be_configured(self):
        tree = self.copy()
        members = self.archive(tree)
        listed = set(words(*GIT, "ls-files", folder=tree).splitlines())
        self.assertEqual(members, listed)
        unpacked = self.folder / NAME
        self.assertFalse((unpacked / ".git").exists())
        said = words("meson", "setup", self.folder / "again", unpacked, *OPTIONS)
        self.assertIn(VERSION, said)

    def test_packages_can_be_made_of_the_archive(self):
        tree = self.folder / "tree"
        words("bash", "-c", f". packaging/source.sh && source_copy {tree}")
        listed = words("bash", "-c", ". packaging/source.sh && source_files | tr '\\0' '\\n'",
                       folder=tree)
        files = {str(p.relative_to(tree)) for p in tree.rglob("*") if not p.is_dir()}
        self.assertEqual(set(listed.splitlines()), files)


if __name__ == "__main__":
    lab.main()
