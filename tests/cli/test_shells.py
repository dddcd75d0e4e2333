#!/usr/bin/env python3
"""Completion in real shells, and the manual pages under real formatters. What is not installed is skipped.

Usage: test_shells.py STINT_BINARY [unittest arguments]
"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT = None


def need(test, program):
    if shutil.which(program) is None:
        test.skipTest(f"{program} is not installed")


class Terminal:
    """An interactive shell on its own terminal."""

    def __init__(self, command, folder):
        environment = dict(os.environ, PATH=f"{pathlib.Path(STINT).parent}:{os.environ['PATH']}", PS1="READY> ", TERM="dumb",
                           HOME=str(folder), INPUTRC="/dev/null", COLUMNS="200", LC_ALL="C.UTF-8")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, wanted):
        """What it shows up to something that must come."""
        shown, deadline = "", time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    shown += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
            plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", shown)
            if re.search(wanted, plain):
                return plain
        raise AssertionError(f"{wanted!r} does not come; shown: {shown!r}")

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, 9)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "october.db").touch()

    def start(self, *command):
        terminal = Terminal(command, self.folder)
        self.addCleanup(terminal.close)
        return terminal

    def finish_the_line(self, shell, show=""):
        """Types the beginnings of words; the shell has to write their ends. `show` is a key that prints the line.

        A line is taken back by the key that empties it: the interrupt key would also throw away what is typed after it.
        """
        for typed, becomes in (("stint audit-l\tve\t", r"stint audit-log verify "),
                               ("stint bill --by=proj\t", r"--by=project"),
                               ("stint bill --idle spr\t", r"--idle spread"),
                               ("stint history info oct\t", r"stint history info october\.db"),
                               ("stint bill --history=oct\t", r"--history=october\.db"),
                               ("stint demo --se\t", r"stint demo --seed ")):
            with self.subTest(typed=typed):
                shell.type(typed + show)
                shell.until(becomes)
                shell.type("\x15\n")
                shell.until("READY> ")

    def test_bash_writes_the_ends_of_words(self):
        need(self, "bash")
        shell = self.start("bash", "--norc", "--noprofile", "-i")
        shell.type('source <(stint completion bash); echo so"urc"ed\n')
        shell.until("sourced")
        self.finish_the_line(shell)

    def test_zsh_writes_the_ends_of_words(self):
        need(self, "zsh")
        shell = self.start("zsh", "-f", "-i")
        shell.type('autoload -U compinit; compinit -D; source <(stint completion zsh); PS1="READY> "; echo so"urc"ed\n')
        shell.until("sourced")
        shell.type('show() { print -r -- "<$BUFFER>" }; zle -N show; bindkey "^X" show; echo bo"un"d\n')
        shell.until("bound")
        self.finish_the_line(shell, show="\x18")

    def test_fish_offers_what_fits(self):
        need(self, "fish")

        def offered(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"stint completion fish | source; complete -C '{line}'"], text=True,
                                  env=dict(os.environ, PATH=f"{pathlib.Path(STINT).parent}:{os.environ['PATH']}", HOME=str(self.folder)),
                                  capture_output=True, cwd=self.folder, timeout=60, check=True)
            return [row.split("\t")[0] for row in done.stdout.splitlines()]
        self.assertEqual(offered("stint audit-l"), ["audit-log"])
        self.assertEqual(sorted(offered("stint audit-log ")), ["export", "list", "verify"])
        self.assertEqual(offered("stint bill --idle s"), ["separate", "spread"])
        self.assertEqual(offered("stint bill --by=proj"), ["--by=project"])
        self.assertEqual(offered("stint history info oct"), ["october.db"])

    def test_candidates_are_quick_and_quiet(self):
        done = subprocess.run([STINT, "complete", "--", "bill", "--no-such", ""], capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertNotRegex(subprocess.run([STINT, "--help"], capture_output=True, text=True, check=True).stdout, r"(?m)^  complete ")


    def test_names_come_from_the_daemon_and_the_history(self):
        node = {"name": "gpu-0", "gpu_model": "L4", "gpus": 4, "cpu_milli": 32000, "memory": "64GiB", "per_hour": "2.80"}
        daemon = RunningDaemon(STINT, self.folder, {"policy": "stint", "nodes": [node], "queues": [{"name": "acme"}, {"name": "zoo"}]})
        self.addCleanup(daemon.stop)

        def offered(*words, **environment):
            done = subprocess.run([STINT, "complete", "--", *words], capture_output=True, text=True, check=True,
                                  env=dict(daemon.environment(), **environment))
            self.assertEqual(done.stderr, "")
            return [line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("value\t")]
        for queue in ("acme", "zoo"):
            subprocess.run([STINT, "submit", "--queue", queue, "--gpus", "1", "--simulated-duration", "1h", "--", "train"],
                           capture_output=True, check=True, env=daemon.environment())
        self.assertEqual(sorted(offered("why", "")), ["acme-1", "zoo-1"])
        self.assertEqual(offered("cancel", "zoo-1", "a"), ["acme-1"])
        self.assertEqual(offered("queue", "--queue=z"), ["--queue=zoo"])
        subprocess.run([STINT, "submit", "--queue", "zoo", "--array", "2", "--hold", "--", "train"], capture_output=True, check=True,
                       env=daemon.environment())
        self.assertEqual(offered("cancel", "zoo-2"), ["zoo-2"])
        self.assertEqual(sorted(offered("cancel", "zoo-2_")), ["zoo-2_0", "zoo-2_1"])
        daemon.stint("budget", "set", "march", "--queue", "zoo", "--per-month", "100")
        self.assertEqual(offered("budget", "show", "m"), ["march"])
        daemon.stint("alerts", "silence", "client=zoo", "--for", "1h")
        self.assertEqual(offered("alerts", "silence", "expire", ""), ["1"])
        self.assertEqual(offered("user", "set", ""), ["admin"])
        self.assertEqual(sorted(offered("client", "set", "")), ["acme", "zoo"])
        self.assertEqual(offered("nodes", "drain", ""), ["gpu-0"])
        daemon.stop()
        self.assertEqual(offered("nodes", "drain", ""), [])
        history = self.folder / "fleet.db"
        subprocess.run([STINT, "demo", "agency", "--history", history], capture_output=True, check=True)
        findings = offered("audit", "--history", str(history), "--explain", "")
        self.assertTrue(findings and all(re.fullmatch("F-[0-9a-f]{8}", one) for one in findings), findings)


class Progress(unittest.TestCase):
    def test_a_server_that_does_not_answer_is_seen_to_be_waited_for(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            pid, fd = pty.fork()
            if pid == 0:
                os.execvp(STINT, [STINT, "import", "prometheus", "--url", url, "--since", "1h", "--history", f"{folder}/fleet.db"])
            said = b""
            end = time.monotonic() + 60
            while url.encode() not in said and time.monotonic() < end:
                if select.select([fd], [], [], 0.5)[0]:
                    said += os.read(fd, 4096)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)
            self.assertIn(url, said.decode())


    def test_a_long_simulation_is_seen_to_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            latency = pathlib.Path(folder) / "latency.csv"
            latency.write_text("batch,ms\n1,5\n2,6\n4,8\n8,12\n16,20\n32,36\n")
            pid, fd = pty.fork()
            if pid == 0:
                os.execvp(STINT, [STINT, "serve", "tune", "--latency", str(latency), "--qps", "2000", "--p99", "60ms", "--runs", "10000"])
            said = b""
            end = time.monotonic() + 60
            while b"simulating" not in said and time.monotonic() < end:
                if select.select([fd], [], [], 0.5)[0]:
                    try:
                        said += os.read(fd, 4096)
                    except OSError:
                        break
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)
            self.assertIn("simulating batches, waits and replicas", said.decode())


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keep.name)
        subprocess.run([STINT, "man", "--folder", cls.folder], check=True)
        cls.pages = sorted(cls.folder.glob("*.1"))

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    def test_there_is_a_page_for_every_command(self):
        commands = re.findall(r"^  ([a-z-]+)  ", subprocess.run([STINT, "--help"], capture_output=True, text=True,
                                                              check=True).stdout.split("\nOptions:")[0], re.M)
        self.assertGreater(len(commands), 20)
        self.assertEqual({page.name for page in self.pages}, {"stint.1", *(f"stint-{name}.1" for name in commands)})

    def test_groff_has_no_complaint(self):
        need(self, "groff")
        for page in self.pages:
            done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-z", page], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_man_shows_the_options_as_they_are_typed(self):
        need(self, "man")
        done = subprocess.run(["man", "--warnings", "-l", self.folder / "stint-bill.1"], capture_output=True, text=True, check=False,
                              env=dict(os.environ, MANWIDTH="100", LC_ALL="C.UTF-8", MANPAGER="cat", GROFF_NO_SGR="1"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(r"\s+", " ", re.sub(r".\x08", "", done.stdout))
        for wanted in ("STINT-BILL(1)", "-o, --output", "One of: effective, billed.", "Default: client.",
                       "stint bill --history fleet.db --month 2026-10 --by project --idle spread"):
            self.assertIn(wanted, text)

    def test_mandoc_finds_no_error(self):
        need(self, "mandoc")
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", *self.pages], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    STINT = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
