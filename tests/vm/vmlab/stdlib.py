# SPDX-License-Identifier: BSD-2-Clause
"""stdlib.py ARCHIVE MODULE...: what these modules need of Python's library.

Runs in the Python that the guest will have. Writes one archive of compiled
modules, which that Python finds as its library: it imports them without
compiling, which takes seconds under emulation. Prints the paths of the
extension modules, which cannot be in an archive.
"""
import importlib
import importlib.util
import marshal
import pathlib
import sys
import sysconfig
import zipfile

BY_HASH_UNCHECKED = (1).to_bytes(4, "little")
NO_HASH = b"\0" * 8
FIRST_DATE = (1980, 1, 1, 0, 0, 0)


def closure(names):
    for name in names:
        importlib.import_module(name)
    return [m.__spec__ for m in list(sys.modules.values())
            if getattr(m, "__spec__", None)]


def compiled(source):
    code = compile(source.read_bytes(), source.name, "exec", dont_inherit=True)
    # Flags, then a hash: there is no source that it could be compared with.
    return (importlib.util.MAGIC_NUMBER + BY_HASH_UNCHECKED + NO_HASH
            + marshal.dumps(code))


def main():
    target, *names = sys.argv[1:]
    top = pathlib.Path(sysconfig.get_path("stdlib"))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        specs = {s.name: s for s in closure(names)}
        # A frozen module's origin is no path, but the name leads to one.
        for name in sorted(specs):
            stem = top / name.replace(".", "/")
            if (stem / "__init__.py").exists():
                source = stem / "__init__.py"
            else:
                source = stem.with_suffix(".py")
            if source.exists():
                member = source.relative_to(top).with_suffix(".pyc")
                archive.writestr(zipfile.ZipInfo(str(member), FIRST_DATE),
                                 compiled(source))
            elif str(specs[name].origin).endswith(".so"):
                print(specs[name].origin)


if __name__ == "__main__":
    main()
