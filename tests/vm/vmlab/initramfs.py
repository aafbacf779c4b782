# SPDX-License-Identifier: BSD-2-Clause
"""The guest's first root: a base archive from the cache, an overlay per run."""
import configparser
import glob
import lzma
import os
import pathlib
import re
import subprocess

from . import apt, cache, cpio

HERE = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("proc", "sys", "dev", "tmp", "run", "root", "mnt", "vm/cases",
           "usr/bin", "usr/sbin", "sbin", "etc", "var")
ETC = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
                  "nobody:x:65534:65534::/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n10.0.0.1 server\n10.0.0.2 client\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
KMOD_NAMES = ("modprobe", "insmod", "rmmod", "lsmod", "modinfo", "depmod")
SYSTEM_FOLDERS = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/")
INDEX_FILES = ("modules.order", "modules.builtin", "modules.builtin.modinfo")


def load_sets():
    parser = configparser.ConfigParser()
    parser.read(HERE / "sets.ini")
    return parser


def expand(names):
    """Return the named sets and those they need, "base" first."""
    table, out = load_sets(), ["base"]

    def add(name):
        if name not in table:
            raise ValueError(f"sets.ini has no set called {name}")
        for need in table[name].get("needs", "").split():
            add(need)
        if name not in out:
            out.append(name)

    for name in names:
        add(name)
    return out


def words(sets, field):
    table = load_sets()
    return [w for s in sets for w in table[s].get(field, "").split()]


class Files:
    """What goes where in the guest: name in the guest, file on this machine."""

    def __init__(self, roots):
        self.roots = roots
        self.files = {}
        self.links = {}

    def locate(self, pattern):
        for top in self.roots:
            found = sorted(glob.glob(str(top / pattern.lstrip("/"))))
            if found:
                return found
        return []

    def program(self, name):
        for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
            for path in self.locate(f"{folder}/{name}"):
                self.add_elf(f"/bin/{name}", path)
                return
        raise cache.Skip(f"no program called {name} on this machine")

    def add_elf(self, name, path):
        self.files[name] = os.path.realpath(path)
        for lib_name, lib in libraries(path, self.roots):
            self.files.setdefault(lib_name, lib)

    def pattern(self, pattern):
        found = self.locate(pattern)
        if not found:
            raise cache.Skip(f"no file {pattern} on this machine")
        for path in found:
            self.add_elf(guest_name(path, self.roots), path)


def guest_name(path, roots):
    for top in roots:
        if str(top) != "/" and path.startswith(f"{top}/"):
            return path[len(str(top)):]
    if path.startswith(SYSTEM_FOLDERS):
        return path
    # of a build folder: where the guest's loader looks, too
    return f"/lib/{os.path.basename(path)}"


def library_folders(top):
    """Return where packages that are unpacked in a folder have libraries.

    Some have one of their own and name it in their programs (RUNPATH), which
    is right once they are installed; some are older than folders for each machine.
    """
    plain = [f"{top}{d}" for d in ("/usr/lib", "/lib")]
    bases = [f"{d}/x86_64-linux-gnu" for d in plain]
    own = [os.path.dirname(f) for b in bases
           for f in glob.glob(f"{b}/*/lib*.so.*")]
    return bases + sorted(set(own)) + plain


def libraries(path, roots):
    """Yield the shared libraries of a program, as the loader resolves them."""
    search = [f for t in roots if str(t) != "/" for f in library_folders(t)]
    search += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(search))
    text = subprocess.run(["ldd", path], capture_output=True, text=True,
                          env=env, check=False).stdout
    lacking = re.findall(r"(\S+) => not found", text)
    if lacking:
        raise cache.Skip(f"{path} lacks {', '.join(sorted(set(lacking)))}")
    for lib in re.findall(r"(/\S+) \(0x", text):
        yield guest_name(lib, roots), os.path.realpath(lib)


def add_python(files, names):
    """Add the interpreter's library: these modules and what they import."""
    found = files.locate("/usr/bin/python3")
    if not found:
        raise cache.Skip("no Python of Debian's on this machine")
    python = os.path.realpath(found[0])
    script = HERE / "vmlab" / "stdlib.py"
    key = cache.digest(*map(cache.file_digest, (python, script)), *names)

    def make(part):
        listed = apt.run([python, "-I", script, part / "library.zip", *names])
        (part / "extensions").write_text(listed)

    made = cache.folder("python", key, make)
    version = pathlib.Path(python).name.removeprefix("python")
    files.files[f"/usr/lib/python{version.replace('.', '')}.zip"] = str(
        made / "library.zip")
    for path in (made / "extensions").read_text().split():
        files.add_elf(guest_name(path, files.roots), path)


def base_files(sets, packages, programs):
    files = Files(apt.sysroot(*sorted({*words(sets, "packages"), *packages})))
    busybox = files.locate("/bin/busybox") + files.locate("/usr/bin/busybox")
    files.files["/bin/busybox"] = busybox[0]
    applets = subprocess.run([busybox[0], "--list"], capture_output=True,
                             text=True, check=True).stdout.split()
    for applet in applets:
        files.links[f"/bin/{applet}"] = "busybox"
    for name in [*words(sets, "programs"), *programs]:
        files.program(name)
    for pattern in words(sets, "files"):
        files.pattern(pattern)
    if words(sets, "python"):
        add_python(files, words(sets, "python"))
    # busybox's own shell prefers its applets to programs of the same name
    files.links["/bin/sh"] = "dash"
    for name in KMOD_NAMES:
        files.links[f"/bin/{name}"] = "kmod"
        files.links[f"/sbin/{name}"] = "/bin/kmod"
    return files


class Modules:
    """A kernel's module files by name, with what each depends on."""

    def __init__(self, folder):
        self.folder = folder
        self.paths = {}
        self.depends = {}
        for line in (folder / "modules.dep").read_text().splitlines():
            path, deps = line.split(":")
            name = self.name(path)
            self.paths[name] = path
            self.depends[name] = [self.name(d) for d in deps.split()]
        soft = folder / "modules.softdep"
        for line in soft.read_text().splitlines() if soft.exists() else []:
            if line.startswith("softdep "):
                _, name, *deps = line.split()
                self.depends.setdefault(self.plain(name), []).extend(
                    self.plain(d) for d in deps if not d.endswith(":"))

    @staticmethod
    def plain(name):
        return name.replace("-", "_")

    def name(self, path):
        return self.plain(re.sub(r"\.ko(\.\w+)?$", "", os.path.basename(path)))

    def closure(self, names):
        """Return the files of these modules and of all they depend on.

        A module that this kernel lacks is left out: it may be built in.
        """
        seen, todo = set(), [self.plain(n) for n in names]
        while todo:
            name = todo.pop()
            if name in self.paths and name not in seen:
                seen.add(name)
                todo += self.depends[name]
        return sorted(self.paths[n] for n in seen)


def plain_module(source, target):
    """Copy a module, uncompressed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".xz":
        target.write_bytes(lzma.decompress(source.read_bytes()))
    elif source.suffix == ".zst":
        subprocess.run(["zstd", "-qd", source, "-o", target], check=True)
    else:
        target.write_bytes(source.read_bytes())


def stage_modules(kernel, paths, top):
    """Copy modules into TOP/lib/modules/VERSION and write the indices."""
    folder = top / "lib/modules" / kernel.version
    folder.mkdir(parents=True)
    for path in paths:
        target = folder / re.sub(r"\.ko\.\w+$", ".ko", path)
        plain_module(kernel.modules / path, target)
    for name in INDEX_FILES:
        if (kernel.modules / name).exists():
            (folder / name).write_bytes((kernel.modules / name).read_bytes())
    apt.run(["depmod", "-b", str(top), kernel.version])


def base(kernel, sets, extra_modules, packages=(), programs=()):
    """Return the folder of the base archive: base.cpio and its modules."""
    files = base_files(sets, packages, programs)
    names = words(sets, "modules") + list(extra_modules)
    paths = Modules(kernel.modules).closure(names)
    key = cache.digest(
        kernel.version,
        *[cache.file_digest(HERE / "vmlab" / n)
          for n in ("initramfs.py", "cpio.py")],
        *[f"{p} {cache.file_digest(kernel.modules / p)}" for p in paths],
        *[f"{n} {cache.file_digest(f)}" for n, f in sorted(
            files.files.items())],
        *[f"{n} {t}" for n, t in sorted(files.links.items())])

    def make(part):
        stage_modules(kernel, paths, part)
        write_base(part / "base.cpio", files, part)

    return cache.folder("initramfs", key, make)


def write_base(path, files, staged):
    archive = cpio.Archive(path)
    for name in FOLDERS:
        archive.folder(name)
    for name, text in ETC.items():
        archive.text(name, text)
    for name, source in sorted(files.files.items()):
        archive.copy(name, source)
    for name, target in sorted(files.links.items()):
        if name not in files.files:
            archive.link(name, target)
    for source in sorted((staged / "lib").rglob("*")):
        if source.is_file():
            archive.copy(str(source.relative_to(staged)), source)
    archive.link("etc/mtab", "/proc/mounts")
    archive.close()
