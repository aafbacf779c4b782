#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""brickctl with a model of a brick in place of the library (see model.h)."""
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BRICKCTL = sys.argv.pop(1)
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "man" / "brickctl.1.scd"
MIB = 1 << 20
BLOCK = 2 * MIB
DONE, REFUSED, USAGE, UNREACHED, UNKNOWN = range(5)
COMMAND_S = 60
SCHEMA = 1
COMMANDS = ("keygen", "format", "check", "grow", "info", "alloc", "free", "map", "unmap",
            "list", "read", "write", "ping", "sessions", "stats", "top", "evict", "fence",
            "admit", "clients", "reserve", "tier", "bench", "doctor", "attach", "detach", "reattach",
            "attached", "complete")
ATTACH = ("attach", "verbs://127.0.0.1", "--size", "1")
# The shortest command line of each command that talks to a brick.
TALKS = {"info": (), "alloc": ("0x0+1",), "free": ("0x0+1",), "map": ("0x0+1",),
         "unmap": ("1",), "list": (), "read": ("0", "--length", "1"),
         "write": ("0",), "ping": (), "bench": ("0x0+1", "-c", "1"),
         "fence": ("one",), "admit": ("one",), "clients": (),
         "reserve": ("show", "0x0+1")}


def read_json(text):
    """An object as brickctl prints it, without the number of its schema."""
    found = json.loads(text)
    assert found.pop("schema") == SCHEMA, text
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="brickctl-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder),
            "LC_ALL": "C", "KFBRICK": "tcp://model",
            "MODEL": str(self.folder / "model"),
            "MODEL_LOG": str(self.folder / "log"),
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def ctl(self, *words, stdin=b"", **env):
        return subprocess.run(
            [BRICKCTL, *map(str, words)], input=stdin, capture_output=True,
            timeout=COMMAND_S, check=False, env={**self.env, **env})

    def ok(self, *words, **parameters):
        done = self.ctl(*words, **parameters)
        self.assertEqual(done.returncode, DONE, done.stderr.decode())
        return done.stdout

    def fails(self, status, said, *words, **parameters):
        """Fails with this status; each of said is in the message."""
        done = self.ctl(*words, **parameters)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        for part in (said,) if isinstance(said, str) else said:
            self.assertIn(part, text)
        return text

    def log(self, call=None):
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split(" ", 1)[1] for line in lines
                if line.split()[0] == call] if call else lines

    def start(self, *words, **env):
        process = subprocess.Popen(
            [BRICKCTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, env={**self.env, **env})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class CommandLine(Case):
    def test_every_command_has_help_with_an_example(self):
        for command in COMMANDS:
            text = self.ok(command, "--help").decode()
            self.assertIn(f"{command} ", text.splitlines()[0])
            self.assertIn("Example: ", text)
            self.assertIn(f"  {command}", self.ok("--help").decode())
        self.assertEqual(self.log(), [])

    def test_the_manual_page_names_every_command_and_option(self):
        page = PAGE.read_text()
        texts = [self.ok("--help").decode()]
        for command in COMMANDS:
            self.assertRegex(page, rf"(?m)^## {command}\b")
            texts.append(self.ok(command, "--help").decode())
        for text in texts:
            for option in re.findall(r"(?m)^  .{4}(--[a-z-]+)", text):
                self.assertIn(f"*{option}*", page)

    def without_driver(self, modprobe, *words):
        """brickctl on a machine of its own, where root's modprobe is a script."""
        script = self.folder / "modprobe"
        script.write_text(f"#!/bin/sh\n{modprobe}\n")
        script.chmod(0o755)
        user = ["--map-root-user"] if os.geteuid() else []
        return subprocess.run(
            ["unshare", "--mount", *user, "sh", "-ec",
             'mount --bind "$1" /sbin/modprobe; mount -t tmpfs none /dev; shift; '
             'exec "$@"', "sh", script, BRICKCTL, *words],
            capture_output=True, timeout=COMMAND_S, check=False, env=self.env)

    def test_attach_loads_the_kernel_driver_that_is_not_there(self):
        called = self.folder / "called"
        done = self.without_driver(
            f'echo "$*" >{called}; echo >/dev/kfbrick-control', *ATTACH)
        self.assertEqual(called.read_text(), "-q kfbrick\n")
        self.assertIn(b"the kernel driver answers", done.stderr)

    def with_driver(self, order, *words):
        """brickctl on a machine of its own, where the driver's device is a file."""
        order.write_text("")
        user = ["--map-root-user"] if os.geteuid() else []
        return subprocess.run(
            ["unshare", "--mount", *user, "sh", "-ec",
             "mount -t tmpfs none /dev; touch /dev/kfbrick-control; "
             'mount --bind "$1" /dev/kfbrick-control; shift; exec "$@"',
             "sh", order, BRICKCTL, *words],
            capture_output=True, timeout=COMMAND_S, check=False, env=self.env)

    def test_an_order_about_a_disk_names_it(self):
        order = self.folder / "order"
        for command in "detach", "reattach":
            done = self.with_driver(order, command, "/dev/kfbrick7", "--json")
            self.assertEqual(read_json(done.stdout), {f"{command}ed": "/dev/kfbrick7"})
            self.assertEqual(order.read_text(), f"{command},instance=7")

    def test_attach_gives_the_driver_every_address(self):
        order = self.folder / "order"
        self.with_driver(order, *ATTACH, "--address", "127.0.0.2",
                         "--address", "verbs://127.0.0.3:5")
        self.assertIn("attach,addr=127.0.0.1,port=20149,addr=127.0.0.2,port=20149,"
                      "addr=127.0.0.3,port=5,provider=verbs,", order.read_text())

    def test_no_other_command_loads_it(self):
        called = self.folder / "called"
        self.without_driver(f"echo >>{called}; echo >/dev/kfbrick-control", "detach",
                            "kfbrick0")
        self.assertFalse(called.exists())

    def test_without_the_kernel_driver_its_commands_say_what_to_load(self):
        for command in (ATTACH, ("detach", "/dev/kfbrick0")):
            done = self.without_driver("exit 1", *command)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(b"kfbrick-control", done.stderr)
            self.assertIn(b"modprobe kfbrick", done.stderr)
        self.assertEqual(self.log(), [])

    def test_disks_that_are_not_there_are_an_empty_list(self):
        self.assertIn(b"DISK", self.ok("attached"))
        self.assertIn("attached", read_json(self.ok("attached", "--json")))

    def test_the_version_is_said_before_and_after_a_command(self):
        self.assertRegex(self.ok("--version"), rb"^brickctl \d+\.\d+\.\d+\n$")
        self.assertRegex(self.ok("info", "-V"), rb"^brickctl ")

    def test_wrong_command_lines_are_usage_errors_and_reach_no_brick(self):
        wrong = {
            (): "no command",
            ("fly",): "fly: no such command",
            ("--fly", "info"): "--fly: no such option",
            ("-x", "info"): "-x: no such option",
            ("--brick",): "--brick: needs a value",
            ("info", "extra"): "extra: one word too many",
            ("alloc",): "needs VA+N",
            ("alloc", "0x0+1", "2"): "2: one word too many",
            ("alloc", "--rw", "0x0+1"): "--rw: no such option",
            ("alloc", "0x0"): "character 4: neither",
            ("attach", "verbs://127.0.0.1"): "give --size",
            ("attach", "ftp://127.0.0.1", "--size", "1"): "schemes are tcp, libfabric-tcp, verbs",
            ("attach", "verbs://127.0.0.1", "--size", "1K"): "range",
            ("attach", "verbs://127.0.0.1", "--size", "1", "--queues", "9"):
                "at most 8",
            ("attach", "verbs://127.0.0.1", "--size", "1", "--fail", "soon"):
                "never or io-error",
            (*ATTACH, "--address", "tcp://127.0.0.2"): "a disk has one kind of fabric",
            (*ATTACH, "--address", "127.0.0.2:port"): "--address: ",
            (*ATTACH, *("--address", "127.0.0.2") * 4): "--address: more than 3",
            ("detach",): "needs DISK",
            ("detach", "sda"): "is no disk of the driver",
            ("alloc", "0x0+0"): "no blocks",
            ("alloc", "0x1000+1"): "not a multiple of 2 MiB",
            ("alloc", "0x0+3M"): "not a multiple of 2 MiB",
            ("alloc", "0xffffffffffe00000+2"): "passes the end",
            ("free", "0x0+99999999999999999999"): "64 bits",
            ("map", "0x0+1", "--rw", "--ro"): "--rw and --ro",
            ("map", "0x0+1", "--shared", "--exclusive"): "--shared and",
            ("map", "0x0+1", "--hold", "soon"): "--hold \"soon\"",
            ("unmap", "it"): "mapping \"it\"",
            ("list", "all"): "all: not allocated",
            ("read", "0x0"): "needs --length",
            ("read", "0x0", "--length", "0"): "nothing to read",
            ("read", "0x2", "--length", "0xffffffffffffffff"): "past the end",
            ("write", "0x2", "--length", "0xffffffffffffffff"): "past the end",
            ("write", "here"): "address \"here\"",
            ("ping", "-c", "0"): "at least 1",
            ("ping", "-c", "1T"): "at most",
            ("--timeout", "0", "info"): "at least 1",
            ("--timeout", "86401", "info"): "at most 86400",
            ("--reconnect-s", "86401", "info"): "at most 86400",
            ("--reconnect-s", "soon", "info"): "--reconnect-s \"soon\"",
        }
        for words, said in wrong.items():
            with self.subTest(words=words):
                self.fails(USAGE, ("brickctl: ", said, "--help"), *words)
                # Also where nobody has come to read that it is wanted.
                done = self.ctl(*words, "--json")
                self.assertEqual(done.returncode, USAGE)
                self.assertEqual(read_json(done.stderr)["error"]["exit"], USAGE)
        self.assertEqual(self.log("connect"), [])

    def test_options_stand_before_or_after_the_command(self):
        self.ok("--timeout", "3", "--json", "info")
        read_json(self.ok("info", "--json", "--brick", "b2", "--timeout", "3"))
        self.assertEqual(self.log("connect"),
                         ["tcp://model - 00 3000", "b2 - 00 3000"])

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BRICKCTL, "info"], stdout=full,
                                  stderr=subprocess.PIPE, env=self.env,
                                  timeout=COMMAND_S, check=False)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(b"standard output", done.stderr)


class Settings(Case):
    def configure(self, *lines):
        folder = self.folder / ".config" / "kfbrick"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "brickctl.conf").write_bytes(
            b"\n".join(l if isinstance(l, bytes) else l.encode()
                       for l in lines) + b"\n")
        return folder

    def key(self, path, byte="ab", mode=0o600):
        path.write_text(byte * 32 + "\n")
        path.chmod(mode)
        return path

    def test_a_brick_must_be_named(self):
        self.fails(USAGE, ("no brick is named", "--brick"), "info", KFBRICK="")

    def test_the_command_line_beats_the_environment_beats_the_file(self):
        self.configure("[brickctl]", "brick = tcp://file")
        self.ok("info", KFBRICK="")
        self.ok("info", KFBRICK="tcp://environment")
        self.ok("--brick", "tcp://option", "info", KFBRICK="tcp://environment")
        self.assertEqual([l.split()[0] for l in self.log("connect")],
                         ["tcp://file", "tcp://environment", "tcp://option"])

    def test_the_file_names_the_client_its_key_and_the_fabric(self):
        folder = self.configure("[brickctl]", "; mine", "# too", "",
                                "brick = host", "fabric = verbs",
                                "client = alice", "key-file = alice.key",
                                "timeout = 7")
        self.key(folder / "alice.key", "5c")
        self.ok("info", KFBRICK="")
        self.ok("info", KFBRICK="tcp://other")
        self.assertEqual(self.log("connect"),
                         ["verbs://host alice 5c 7000",
                          "tcp://other alice 5c 7000"])

    def test_what_the_ini_library_would_cut_is_refused_with_its_line(self):
        wrong = {
            ("[brickctl]", "client = " + "x" * 250): ":2: line is longer",
            ("[brickctl" + "x" * 60 + "]",): ":1: section name is longer",
            ("\ufeff[" + "x" * 60 + "]",): ":1: section name is longer",
            ("[brickctl",): ":1: section without a closing bracket",
            ("[brickctl] brick = a",): ":1: text after the section's",
            ("[brickctl]", "k" * 50 + " = 1"): ":2: " + "k" * 50 + ": no such",
            ("[brickctl]", "  brick = a", "  b"): ":3: neither [section] nor",
            ("[brickctl]", b"brick = a\0b"): ":2: control character",
            ("[brickctl]", "", "colour = red"): ":3: colour: no such",
            ("[brick]", "store = x"): ":2: [brick]: the only section",
            ("brick = x",): ":1: []: the only section",
            ("[brickctl]", "brick = x", "brick = y"): ":3: brick: given twice",
            ("[brickctl]", "brick ="): ":2: brick: empty",
            ("[brickctl]", "brick"): ":2: neither [section] nor",
            ("[brickctl]", "timeout = 0"): ":2: timeout = 0: not a number",
            ("[brickctl]", "fabric = udp"): ":2: fabric = udp: none of tcp, ",
        }
        for lines, said in wrong.items():
            with self.subTest(said=said):
                self.configure(*lines)
                self.fails(USAGE, ("brickctl.conf" + said, "brickctl.conf(5)"),
                           "info")
        self.assertEqual(self.log("connect"), [])

    def test_the_longest_line_and_name_that_fit_are_taken(self):
        self.configure("[brickctl]", "brick = " + "x" * 190)
        self.ok("info", KFBRICK="")
        self.assertIn("x" * 190 + " ", self.log("connect")[0])

    def test_an_indented_setting_is_one_of_its_own(self):
        self.configure("[brickctl]", "fabric = verbs", "  brick = host")
        self.ok("info", KFBRICK="")
        self.assertEqual(self.log("connect")[0].split()[0], "verbs://host")

    def test_a_key_that_others_may_read_is_refused(self):
        for mode in (0o640, 0o604, 0o620, 0o660, 0o601):
            path = self.key(self.folder / "key", mode=mode)
            self.fails(USAGE, (str(path), "chmod 600"), "--client", "a",
                       "--key-file", path, "info")
        self.key(self.folder / "key", mode=0o400)
        self.ok("--client", "a", "--key-file", path, "info")
        self.assertEqual(len(self.log("connect")), 1)

    def test_a_key_file_holds_64_digits_and_nothing_else(self):
        path = self.folder / "key"
        for text in ("", "ab" * 31, "ab" * 32 + "a", "ab" * 32 + "\n\n",
                     "ab" * 31 + "xy", "ab" * 33, " " + "ab" * 32):
            path.write_text(text)
            path.chmod(0o600)
            self.fails(USAGE, "64 hexadecimal digits", "--client", "a",
                       "--key-file", path, "info")
        for text in ("AB" * 32, "ab" * 32 + "\n"):
            path.write_text(text)
            self.ok("--client", "a", "--key-file", path, "info")
        self.assertEqual(self.log("connect"), ["tcp://model a ab 0"] * 2)

    def test_key_files_that_are_not_files_are_refused_without_waiting(self):
        os.mkfifo(self.folder / "fifo", 0o600)
        self.fails(USAGE, "not a regular file", "--client", "a",
                   "--key-file", self.folder / "fifo", "info")
        self.fails(USAGE, "No such file", "--client", "a",
                   "--key-file", self.folder / "none", "info")

    def test_a_client_without_a_key_file_uses_that_of_keygen(self):
        self.fails(USAGE, "client.key", "--client", "a", "info")
        self.ok("keygen")
        self.ok("--client", "a", "info")

    def test_a_key_without_a_client_is_refused(self):
        self.fails(USAGE, "--client", "--key-file", "k", "info")


class Keygen(Case):
    def test_the_file_is_for_its_owner_alone_whatever_the_umask(self):
        for umask in (0o000, 0o777):
            path = self.folder / f"key{umask}"
            old = os.umask(umask)
            try:
                self.ok("keygen", path)
            finally:
                os.umask(old)
            self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
            self.assertRegex(path.read_text(), r"^[0-9a-f]{64}\n$")

    def test_a_file_that_exists_is_kept_unless_forced(self):
        path = self.folder / "key"
        self.ok("keygen", path)
        first = path.read_text()
        self.fails(USAGE, ("exists", "--force"), "keygen", path)
        self.assertEqual(path.read_text(), first)
        path.chmod(0o644)
        self.ok("keygen", "--force", path)
        self.assertNotEqual(path.read_text(), first)
        self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["key"])

    def test_a_link_is_not_followed(self):
        (self.folder / "link").symlink_to(self.folder / "elsewhere")
        self.fails(USAGE, "exists", "keygen", self.folder / "link")
        self.ok("keygen", "-f", self.folder / "link")
        self.assertFalse((self.folder / "elsewhere").exists())

    def test_keygen_replaces_files_alone(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        (self.folder / "file").touch()
        (self.folder / "link").symlink_to("file")
        for name in (path, self.folder, self.folder / "link"):
            self.fails(USAGE, "is no regular file", "keygen", "--force", name)
        self.assertTrue(path.is_fifo())
        self.assertTrue((self.folder / "link").is_symlink())

    def test_dash_prints_the_key_and_each_is_different(self):
        keys = {self.ok("keygen", "-") for _ in range(4)}
        self.assertEqual(len(keys), 4)
        for key in keys:
            self.assertRegex(key, rb"^[0-9a-f]{64}\n$")

    def test_json_names_the_file_and_not_the_key(self):
        path = self.folder / "key"
        self.assertEqual(read_json(self.ok("--json", "keygen", path)),
                         {"key_file": str(path)})

    def test_a_folder_that_is_missing_is_named(self):
        self.fails(USAGE, "No such file", "keygen", self.folder / "x" / "key")


class Format(Case):
    def test_it_becomes_brickd_with_the_rest_of_the_line(self):
        brickd = self.folder / "brickd"
        brickd.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\nexit 42\n")
        brickd.chmod(0o755)
        done = self.ctl("--json", "format", "a store", "--size", "1G",
                        PATH=f"{self.folder}:{self.env['PATH']}")
        self.assertEqual(done.stdout, b"format|--json|a store|--size|1G|")
        self.assertEqual(done.returncode, 42)

    def test_a_missing_brickd_is_said(self):
        self.fails(USAGE, "install brickd", "format", "x", PATH="/nonexistent")


class Errors(Case):
    def test_each_failure_has_its_exit_status(self):
        changes = ("alloc", "free", "map", "unmap")
        for command in changes + ("info", "list", "ping"):
            call = "unmap_id" if command == "unmap" else command
            lost = UNKNOWN if command in changes else UNREACHED
            for error, status in ((errno.EACCES, REFUSED), (errno.EIO, REFUSED),
                                  (errno.ENOTCONN, UNREACHED),
                                  (errno.ECONNRESET, lost),
                                  (errno.ETIMEDOUT, lost)):
                with self.subTest(command=command, error=error):
                    text = self.fails(status, f"brickctl: {command}: ", command,
                                      *TALKS[command],
                                      MODEL_FAIL=f"{call}={error}")
                    self.assertEqual("brickctl list" in text
                                     and status == UNKNOWN, status == UNKNOWN)

    def test_a_connection_lost_half_way_leaves_the_outcome_unknown(self):
        self.ok("alloc", "0x0+2")
        for call, words in (("alloc@2", ("alloc", "4M+64")),
                            ("post_write@2", ("write", "0x0")),
                            ("post_flush", ("write", "0x0")),
                            ("unmap", ("map", "0x0+2", "--hold", "0"))):
            self.fails(UNKNOWN, "brickctl list", *words, stdin=bytes(2 * BLOCK),
                       MODEL_FAIL=f"{call}={errno.ENOTCONN}")

    def test_a_brick_that_cannot_be_reached_is_named(self):
        for command, words in TALKS.items():
            for error in (errno.ECONNREFUSED, errno.EKEYREJECTED,
                          errno.ETIMEDOUT, errno.EPROTONOSUPPORT, errno.EDQUOT):
                self.fails(UNREACHED, f"brickctl: {command}: tcp://model: ", command, *words,
                           MODEL_FAIL=f"connect={error}")
        self.fails(USAGE, "tcp://model: ", "info",
                   MODEL_FAIL=f"connect={errno.EINVAL}")

    def test_a_message_has_what_where_why_and_what_next(self):
        self.assertEqual(
            self.fails(REFUSED, "", "free", "4M+2"),
            "brickctl: free: 0x400000+2: the model refuses: a block of the range is not "
            "allocated, or there is no such mapping; brickctl list shows what is there\n")

    def test_json_errors_are_one_object_on_standard_error(self):
        done = self.ctl("--json", "free", "4M+2")
        self.assertEqual(done.returncode, REFUSED)
        self.assertEqual(done.stdout, b"")
        error = read_json(done.stderr)["error"]
        self.assertEqual((error["command"], error["errno"], error["exit"]),
                         ("free", "ENOENT", REFUSED))
        self.assertEqual(set(error),
                         {"command", "message", "next", "errno", "exit"})
        error = read_json(self.ctl("--json", "fly").stderr)["error"]
        self.assertEqual(error["exit"], USAGE)


class Blocks(Case):
    def test_alloc_and_free_say_what_they_did(self):
        self.assertEqual(self.ok("alloc", "0x0+3"),
                         b"3 blocks (6 MiB) at 0x0 allocated\n")
        self.assertEqual(self.ok("alloc", "8M+1"),
                         b"1 block (2 MiB) at 0x800000 allocated\n")
        self.assertEqual(read_json(self.ok("--json", "free", "2M+1")),
                         {"va": "0x200000", "n_blocks": 1})
        self.fails(REFUSED, ("0x0+3", "brickctl list"), "alloc", "0x0+3")

    def test_long_ranges_go_in_batches_and_say_how_far_they_came(self):
        self.ok("alloc", "0x0+70")
        self.assertEqual(self.log("alloc"),
                         ["0x0+32", "0x4000000+32", "0x8000000+6"])
        self.fails(UNKNOWN, ("0x4000000+32", "(0x0+32 are freed)"),
                   "free", "0x0+70", MODEL_FAIL=f"free@2={errno.ECONNRESET}")

    def test_info_shows_exact_numbers_in_json(self):
        self.ok("alloc", "0x0+3")
        info = read_json(self.ok("info", "--json"))
        self.assertEqual(info["slots_total"], 100)
        self.assertEqual(info["slots_free"], 97)
        self.assertEqual(info["instance_id"], "f" * 16)
        self.assertEqual(info["flush_mode"], "message")
        self.assertEqual(info["uuid"], "01234500-0000-0000-0000-000000000000")
        self.assertEqual(info["power_epoch"], 7)
        text = self.ok("info").decode()
        self.assertIn("100 (200 MiB)", text)
        self.assertIn("message: it is a model", text)

    def test_info_shows_a_quota_where_there_is_one(self):
        self.ok("alloc", "0x0+3")
        self.assertNotIn("quota_blocks", read_json(self.ok("info", "--json")))
        self.assertNotIn(b"quota", self.ok("info"))
        info = read_json(self.ok("info", "--json", MODEL_QUOTA="50"))
        self.assertEqual((info["quota_blocks"], info["quota_used_blocks"]), (50, 3))
        self.assertIn("quota        50 (100 MiB), in use 3 (6 MiB)",
                      self.ok("info", MODEL_QUOTA="50").decode())
        info = read_json(self.ok("info", "--json", MODEL_QUOTA="0"))
        self.assertEqual((info["quota_blocks"], info["quota_used_blocks"]), (0, 3))
        self.fails(REFUSED, "shows the free space, the quota", "alloc", "0x800000+1",
                   MODEL_FAIL=f"alloc={errno.ENOSPC}")

    def test_info_shows_a_rate_where_there_is_one(self):
        self.assertNotIn("rate_bytes", read_json(self.ok("info", "--json")))
        self.assertNotIn(b"rate", self.ok("info"))
        both = {"MODEL_RATE_BYTES": str(100 << 20), "MODEL_RATE_OPS": "5000"}
        info = read_json(self.ok("info", "--json", **both))
        self.assertEqual((info["rate_bytes"], info["rate_ops"]), (100 << 20, 5000))
        self.assertIn("rate         100 MiB/s, 5000 operations/s\n",
                      self.ok("info", **both).decode())
        self.assertIn("rate         1 MiB/s\n",
                      self.ok("info", MODEL_RATE_BYTES=str(1 << 20)).decode())
        info = read_json(self.ok("info", "--json", MODEL_RATE_OPS="10"))
        self.assertEqual((info.get("rate_bytes"), info["rate_ops"]), (None, 10))
        self.assertIn("rate         10 operations/s\n",
                      self.ok("info", MODEL_RATE_OPS="10").decode())

    def test_list_goes_on_to_the_end_page_by_page(self):
        self.ok("alloc", "0x0+7")
        self.ok("alloc", "32M+2")
        whole = read_json(self.ok("--json", "list"))
        paged = read_json(self.ok("--json", "list", MODEL_PAGE="2"))
        self.assertEqual(whole, paged)
        self.assertEqual(paged["n_blocks"], 9)
        self.assertEqual(paged["n_extents"], 9)
        self.assertEqual(paged["extents"][8],
                         {"va": "0x2200000", "n_blocks": 1, "flags": []})
        self.assertFalse(paged["changed"])
        text = self.ok("list", MODEL_PAGE="2").decode().splitlines()
        self.assertEqual(len(text), 1 + 9 + 1)
        self.assertEqual(text[-1], "9 blocks (18 MiB) allocated in 9 extents")

    def test_list_says_when_the_brick_changed_between_pages(self):
        self.ok("alloc", "0x0+4")
        done = self.ctl("list", MODEL_PAGE="2", MODEL_CHANGING="1")
        self.assertIn(b"changed between pages", done.stderr)
        done = self.ctl("list", "--json", MODEL_PAGE="2", MODEL_CHANGING="1")
        self.assertTrue(read_json(done.stdout)["changed"])
        self.assertIn("note", read_json(done.stderr))

    def test_an_empty_list_is_an_empty_list(self):
        self.assertEqual(read_json(self.ok("--json", "list"))["extents"], [])
        self.assertEqual(self.ok("list", "mine"),
                         b"0 blocks (0 bytes) mine in 0 extents\n")

    def test_ping_shows_minimum_median_and_maximum(self):
        self.assertIn(b"3 pings", self.ok("ping", "-c", "3"))
        times = read_json(self.ok("ping", "--json"))
        self.assertEqual(times["count"], 10)
        self.assertLessEqual(times["min_ns"], times["median_ns"])
        self.assertLessEqual(times["median_ns"], times["max_ns"])
        self.assertEqual(len(self.log("ping")), 13)


class Map(Case):
    def setUp(self):
        super().setUp()
        self.ok("alloc", "0x0+4")

    def test_a_bounded_hold_ends_by_itself(self):
        shown = read_json(self.ok("--json", "map", "0x0+4", "--hold", "0"))
        self.assertEqual(shown, {"mapping_id": "0000000000000001", "handles": [{
            "va": "0x0", "n_blocks": 4, "key": "0xfeedfacecafebeef",
            "raddr": "0x1000", "birth": 3}]})
        self.assertEqual(self.log("unmap"), ["1"])

    def test_signals_end_the_hold_and_give_the_mapping_back(self):
        for number, name in enumerate(("SIGINT", "SIGTERM", "SIGHUP"), 1):
            process = self.start("--json", "map", "0x0+4")
            read_json(process.stdout.readline())
            process.send_signal(getattr(signal, name))
            self.assertEqual(process.wait(timeout=COMMAND_S), DONE)
            self.assertEqual(self.log("unmap"),
                             [str(n) for n in range(1, number + 1)])

    def test_a_hold_renews_the_lease_and_notices_its_end(self):
        process = self.start("map", "0x0+4",
                             MODEL_FAIL=f"ping@3={errno.ECONNRESET}")
        self.assertEqual(process.wait(timeout=COMMAND_S), UNREACHED)
        self.assertIn(b"holding 0x0", process.stderr.read())
        self.assertEqual(len(self.log("ping")), 3)

    def test_options_become_flags(self):
        ro, rw, shared, exclusive, nowait = (1 << n for n in range(5))
        for words, flags in {
                (): rw | exclusive, ("--rw",): rw | exclusive,
                ("--ro",): ro | shared, ("--ro", "--exclusive"): ro | exclusive,
                ("--rw", "--shared", "--nowait"): rw | shared | nowait,
        }.items():
            self.ok("map", "0x0+1", "--hold", "0", *words)
            self.assertEqual(self.log("map")[-1], f"0x0+1 {flags:#x}")

    def test_who_holds_hears_what_the_brick_has_to_say(self):
        recall, media_error = b"asks for this mapping", b"has lost blocks"
        for event, said, not_said in ((2, recall, media_error),
                                      (4, media_error, recall)):
            process = self.start("map", "0x0+4", MODEL_EVENT=str(event),
                                 MODEL_FAIL=f"ping@3={errno.ECONNRESET}")
            self.assertEqual(process.wait(timeout=COMMAND_S), UNREACHED)
            errors = process.stderr.read()
            self.assertEqual(errors.count(said), 1, errors)
            self.assertNotIn(not_said, errors)
            (self.folder / "log").unlink()

    def test_who_is_evicted_hears_why_and_by_whom(self):
        for cause, said in ((1, b"user 1000 of the brick's machine"),
                            (3, b"do not have the client's key"), (9, b"does not know")):
            for words in (("map", "0x0+4"), ("ping", "-c", "3")):
                done = self.ctl(*words, MODEL_EVENT="5", MODEL_CAUSE=str(cause),
                                MODEL_FAIL=f"ping@3={errno.ECONNRESET}")
                self.assertEqual(done.returncode, UNREACHED)
                self.assertRegex(done.stderr, rb"(?m)^brickctl: \w+: evicted: .*" + said)
                (self.folder / "log").unlink()

    def test_a_fence_is_what_was_asked_for(self):
        for command, done in ("fence", "fenced"), ("admit", "admitted"):
            self.assertEqual(self.ok(command, "two"), f"two {done}\n".encode())
            self.assertEqual(read_json(self.ok("--json", command, "two")), {done: "two"})
            # Nobody knows whether it has happened, and it does no harm to ask again.
            for error in errno.ECONNRESET, errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNABORTED:
                self.fails(UNKNOWN, "say it again", command, "two",
                           MODEL_FAIL=f"{command}={error}")
            for error, said in ((errno.ENOENT, "brickctl clients"), (errno.EACCES, "role = fencer"),
                                (errno.EOPNOTSUPP, "fences = PATH"), (errno.EIO, "log")):
                self.fails(REFUSED, said, command, "two", MODEL_FAIL=f"{command}={error}")

    def test_clients_are_shown_all_or_one(self):
        one = {"client": "one", "fenced": False, "fencer": True, "sessions": 1}
        two = {"client": "two", "fenced": True, "fencer": False, "sessions": 0}
        self.assertEqual(self.ok("clients"), b"one admitted 1 session fencer\ntwo fenced 0 sessions\n")
        self.assertEqual(read_json(self.ok("--json", "clients")), {"clients": [one, two]})
        self.assertEqual(self.ok("clients", "two"), b"two fenced 0 sessions\n")
        self.assertEqual(read_json(self.ok("--json", "clients", "two")), two)
        self.fails(REFUSED, "brickctl clients", "clients", "three")
        for words, call in ((), "next_client@2"), (("one",), "get_client"):
            self.fails(REFUSED, "role = fencer", "clients", *words,
                       MODEL_FAIL=f"{call}={errno.EACCES}")

    def test_a_reservation_is_what_was_asked_for(self):
        key = ("--key", "0x2a")
        kind = ("--type", "exclusive-access-all-regs")
        for words, options, done, sent in (
                ("register", ("--new-key", "7"), "registered", "1 type 0 key 0 new 7 flags 0"),
                ("register", (*key, "--new-key", "0"), "registered", "1 type 0 key 42 new 0 flags 0"),
                ("register", ("--ignore-key", "--new-key", "7"), "registered",
                 "1 type 0 key 0 new 7 flags 1"),
                ("reserve", (*key, *kind), "reserved", "2 type 6 key 42 new 0 flags 0"),
                ("release", (*key, *kind), "released", "3 type 6 key 42 new 0 flags 0"),
                ("preempt", (*key, *kind, "--victim", "9"), "preempted",
                 "4 type 6 key 42 new 9 flags 0"),
                ("preempt", (*key, *kind, "--victim", "9", "--abort"), "preempted",
                 "5 type 6 key 42 new 9 flags 0"),
                ("clear", key, "cleared", "6 type 0 key 42 new 0 flags 0")):
            self.assertEqual(self.ok("reserve", words, "2M+4", *options), f"2M+4 {done}\n".encode())
            self.assertEqual(self.log("reserve")[-1], sent)
            self.assertEqual(read_json(self.ok("--json", "reserve", words, "2M+4", *options)),
                             {"done": done, "va": "0x200000", "n_blocks": 4})
        for error in errno.ECONNRESET, errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNABORTED:
            self.fails(UNKNOWN, "reserve show VA+N says", "reserve", "clear", "0x0+1", *key,
                       MODEL_FAIL=f"reserve={error}")
            self.fails(UNREACHED, "ask again", "reserve", "show", "0x0+1",
                       MODEL_FAIL=f"get_reservation={error}")
        for error, said in ((errno.EBADE, "who has which key"),
                            (errno.EOPNOTSUPP, "reservations = PATH")):
            self.fails(REFUSED, said, "reserve", "clear", "0x0+1", *key,
                       MODEL_FAIL=f"reserve={error}")

    def test_a_reservation_is_shown(self):
        self.assertEqual(self.ok("reserve", "show", "0x0+4"),
                         b"type write-exclusive-reg-only\nblocks 4\ngeneration 7\n"
                         b"key 0x1 one\nkey 0x2a two holder\n")
        self.assertEqual(read_json(self.ok("--json", "reserve", "show", "0x0+4")),
                         {"va": "0x0", "n_blocks": 4, "type": "write-exclusive-reg-only",
                          "generation": 7,
                          "registrants": [{"client": "one", "key": "0x1", "holder": False},
                                          {"client": "two", "key": "0x2a", "holder": True}]})

    def test_list_mine_names_what_unmap_ends(self):
        process = self.start("map", "2M+2")
        process.stdout.readline()
        mine = read_json(self.ok("--json", "list", "mine"))["extents"]
        self.assertEqual(mine, [{"va": "0x200000", "n_blocks": 2,
                                 "mapping_id": "0000000000000001", "flags": ["mapped", "rw"]}])
        self.assertEqual(read_json(self.ok("unmap", "0x1", "--json")),
                         {"mapping_id": "0000000000000001"})
        self.fails(REFUSED, "mapping 0000000000000001", "unmap", "1")

    def test_a_mapping_that_another_session_ended_is_only_noted(self):
        for error in (errno.ENOENT, errno.ESTALE):
            done = self.ctl("map", "0x0+4", "--hold", "0",
                            MODEL_FAIL=f"unmap={error}")
            self.assertEqual(done.returncode, DONE)
            self.assertIn(b"had ended before", done.stderr)
        self.fails(UNKNOWN, "giving back 0x0", "map", "0x0+4", "--hold", "0",
                   MODEL_FAIL=f"unmap={errno.ECONNRESET}")


class Transfer(Case):
    def setUp(self):
        super().setUp()
        self.data = os.urandom(MIB) * 24 + b"the tail"
        self.ok("alloc", "0x0+32")
        (self.folder / "log").unlink()

    def read(self, va, length, **env):
        return self.ok("read", va, "--length", length, **env)

    def test_a_file_comes_back_as_it_was(self):
        path = self.folder / "input"
        path.write_bytes(self.data)
        self.assertEqual(self.ok("write", "4M", "-i", path),
                         b"24.0 MiB written at 0x400000, durable\n")
        self.assertEqual(self.read("4M", len(self.data)), self.data)
        self.ok("read", "4M", "--length", len(self.data), "-o",
                self.folder / "output")
        self.assertEqual((self.folder / "output").read_bytes(), self.data)
        self.assertEqual(self.log("map")[0], "0x400000+13 0xa")

    def test_a_pipe_comes_back_in_windows_of_what_is_allocated(self):
        self.ok("write", "0x0", stdin=self.data)
        self.assertEqual(self.log("map"), [f"0x0+{n} 0xa" for n in (64, 32)])
        self.assertEqual(self.read("0x0", len(self.data)), self.data)

    def test_a_long_pipe_moves_its_window(self):
        self.ok("alloc", "64M+64")
        data = self.data * 6
        self.ok("write", "2M", stdin=data)
        self.assertEqual([m.split()[0] for m in self.log("map")][:2],
                         ["0x200000+64", "0x8200000+64"])
        self.assertEqual(len(self.log("post_flush")), 2)
        self.assertEqual(self.read("2M", len(data)), data)

    def test_odd_addresses_never_cross_a_block_in_one_chunk(self):
        self.ok("write", "0x1fffff", stdin=self.data[:5 * MIB])
        for line in self.log("post_write"):
            va, length = int(line.split()[0], 16), int(line.split()[1])
            self.assertEqual(va // BLOCK, (va + length - 1) // BLOCK)
        self.assertEqual(self.read("0x1fffff", 5 * MIB), self.data[:5 * MIB])

    def test_completions_in_any_order_keep_the_bytes_in_order(self):
        self.ok("write", "0x0", stdin=self.data, MODEL_REVERSE="1")
        self.assertEqual(self.read("0x0", len(self.data), MODEL_REVERSE="1"),
                         self.data)

    def test_the_flush_comes_after_every_completion(self):
        self.ok("write", "0x0", stdin=self.data)
        self.assertEqual(self.log("post_flush"), ["0"])
        calls = [line.split()[0] for line in self.log()]
        self.assertGreater(calls.index("flush"),
                           max(i for i, c in enumerate(calls) if c == "write"))
        self.assertGreater(calls.index("unmap"), calls.index("flush"))

    def test_no_flush_leaves_the_flush_out_and_claims_nothing(self):
        done = read_json(self.ok("write", "0", "--no-flush", "--json",
                                  stdin=b"x"))
        self.assertFalse(done["durable"])
        self.assertEqual(self.log("post_flush"), [])

    def test_a_volatile_brick_is_said_on_standard_error(self):
        done = self.ctl("write", "0x0", stdin=b"x", MODEL_VOLATILE="1")
        self.assertEqual(done.returncode, DONE)
        self.assertIn(b"volatile: nothing is durable", done.stderr)
        self.assertNotIn(b", durable", done.stdout)
        self.assertEqual(self.log("post_flush"), [])

    def test_nothing_is_written_when_a_block_of_a_file_is_missing(self):
        path = self.folder / "input"
        path.write_bytes(self.data)
        self.fails(REFUSED, "0x3800000+13: ", "write", "56M", "-i", path)
        self.assertEqual(self.log("post_write"), [])

    def test_a_pipe_that_outgrows_its_blocks_says_how_far_it_came(self):
        self.fails(REFUSED, ("0x4000000+1: ", ": 8388608 bytes are written"),
                   "write", "56M", stdin=self.data)
        self.assertEqual(self.read("56M", 8 * MIB), self.data[:8 * MIB])

    def test_the_last_block_of_the_address_space_is_written_and_no_further(
            self):
        self.ok("alloc", "0xffffffffffc00000+2")
        self.ok("write", "0xfffffffffff00000", stdin=self.data[:MIB])
        self.assertEqual(self.read("0xfffffffffff00000", MIB),
                         self.data[:MIB])
        self.fails(USAGE, "passes the end", "write", "0xffffffffffc00000",
                   stdin=self.data[:5 * MIB])
        self.assertEqual(self.read("0xffffffffffc00000", 4 * MIB),
                         self.data[:4 * MIB])
        self.assertEqual([m.split()[0] for m in self.log("map")][::2],
                         ["0xffffffffffe00000+1", "0xffffffffffc00000+2"])

    def test_a_lost_map_is_not_asked_again(self):
        self.fails(UNKNOWN, "0x0+64", "write", "0", stdin=b"x",
                   MODEL_FAIL=f"map={errno.ECONNRESET}")
        self.assertEqual(len(self.log("map")), 1)

    def test_length_bounds_what_is_written(self):
        self.ok("write", "0x0", "--length", "3M", stdin=self.data)
        self.assertEqual(self.read("0x0", "4M"), self.data[:3 * MIB] +
                         bytes(MIB))

    def test_an_input_that_ends_early_is_an_error_but_durable(self):
        self.fails(USAGE, "ended after 3145728 of 4194304", "write", "0",
                   "--length", "4M", stdin=self.data[:3 * MIB])
        self.assertEqual(len(self.log("post_flush")), 1)
        path = self.folder / "input"
        path.write_bytes(b"short")
        self.fails(USAGE, "has 5 bytes", "write", "0", "--length", "6", "-i",
                   path)

    def test_an_empty_input_writes_nothing(self):
        done = read_json(self.ok("write", "0x0", "--json", stdin=b""))
        self.assertEqual((done["length"], done["durable"]), (0, False))
        self.assertEqual(self.log("map"), [])

    def test_lost_writes_and_flushes_leave_the_outcome_unknown(self):
        for call in ("write@2", "poll", "flush", "post_write@3", "post_flush"):
            for error in (errno.ECONNRESET, errno.ETIMEDOUT):
                self.fails(UNKNOWN, "brickctl list", "write", "0",
                           stdin=self.data, MODEL_FAIL=f"{call}={error}")
        self.fails(REFUSED, "flushing", "write", "0", stdin=b"x",
                   MODEL_FAIL=f"flush={errno.EIO}")

    def test_who_has_a_range_and_is_gone_keeps_it_for_a_lease(self):
        self.fails(UNKNOWN, "what it had mapped stays so for up to 10 s", "write", "0",
                   stdin=self.data, MODEL_FAIL=f"write@2={errno.ECONNRESET}")
        self.fails(REFUSED, "a client that is gone keeps it for up to 10 s", "write", "0",
                   stdin=self.data, MODEL_FAIL=f"map={errno.EBUSY}")

    def test_a_transfer_that_moves_nothing_says_so(self):
        self.fails(UNKNOWN, "nothing has moved within 10000 ms", "write", "0",
                   stdin=self.data, MODEL_FAIL=f"poll={errno.ETIMEDOUT}")
        self.fails(UNKNOWN, "three connections in a row died", "write", "0",
                   stdin=self.data, MODEL_FAIL=f"write@2={errno.ECONNABORTED}")

    def test_failed_reads_are_no_data(self):
        self.fails(REFUSED, "bytes at 0x400000", "read", "0", "--length", "8M",
                   MODEL_FAIL=f"read@3={errno.EIO}")
        self.fails(UNREACHED, "0x0", "read", "0", "--length", "1",
                   MODEL_FAIL=f"poll={errno.ECONNRESET}")

    def test_files_that_cannot_be_opened_are_named(self):
        self.fails(USAGE, "none: No such file", "write", "0", "-i",
                   self.folder / "none")
        self.fails(USAGE, "directory", "write", "0", "-i", self.folder)
        self.fails(USAGE, "Is a directory", "read", "0", "--length", "1", "-o",
                   self.folder)

    def test_an_output_that_is_full_is_said(self):
        self.fails(USAGE, "/dev/full", "read", "0", "--length", "4M", "-o",
                   "/dev/full")


if __name__ == "__main__":
    unittest.main(verbosity=2)
