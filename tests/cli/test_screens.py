#!/usr/bin/env python3
"""No line of any command is wider than the terminal, at 80 and at 120 columns: every --help, and what each command of the manual
shows on the demo's History and on a simulated daemon. The commands are taken from the program's own manual pages, so that a new
one without a call below is noticed.

Usage: test_screens.py STINT SOURCE_DIR [unittest arguments]. With STINT_SCREENS=FOLDER every screen is kept there as a text.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT, SOURCE = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
WIDTHS = (80, 120)
KEPT = os.environ.get("STINT_SCREENS")

# What runs until it is stopped, needs a device or a server that is not here, or changes what other calls show; their help is walked.
HELP_ONLY = {
    "daemon": "runs until it is stopped", "starter": "runs until it is stopped", "serve run": "runs until it is stopped", "serve load": "needs a server",
    "serve measure": "needs a model and a device", "serve quantize": "needs ONNX Runtime",
    "slurm drive": "needs Slurm", "slurm advise": "needs Slurm", "slurm resume": "needs Slurm", "slurm suspend": "needs Slurm",
    "run": "shows what the command shows", "top": "draws the whole screen; --once is walked below",
    "restore": "needs a backup, which is made below", "user totp enable": "prints a secret to be kept",
    "user totp confirm": "needs a code", "user totp disable": "needs a code", "completion": "prints a script",
    "secret seal": "needs a file of a secret",
    "man": "prints a page for man", "alerts export": "writes a rule file", "dashboards export": "writes JSON",
    "audit-log export": "writes JSON lines", "logs": "shows what the job printed", "replay make-jobs": "writes a trace",
    "history drop-import": "changes what other calls show", "close": "writes a folder of files",
    "history machine": "needs a cloud's audit log",
    "launch": "buys machines",
    "kubernetes tenant": "prints YAML for kubectl",
    "cloud ls": "needs a daemon whose pools make machines", "cloud sweep": "likewise",
    "replay spot": "needs recorded capacity", "replay spot-regions": "needs recorded capacity", "token make": "prints a token to be kept",
}

HISTORY = ["--history", "demo.db", "--month", "2026-10"]
# On the demo's History and the examples. A command may stand several times: "name": [call, …], each call its arguments.
CALLS = {
    "audit": [HISTORY, HISTORY + ["--no-replay", "--goal", "cost<=30000"], HISTORY + ["--no-replay", "--explain", "FINDING"]],
    "bill": [HISTORY + ["--by", by] for by in ("client", "project", "workload")] + [HISTORY + ["--idle", "spread"]],
    "forecast": [["--history", "demo.db"]],
    "plan all": [HISTORY], "plan capacity": [["--history", "demo.db"]],
    "plan commit": [["--history", "demo.db"], ["--demand", "hourly.csv", "--on-demand", "3.06", "--reserved-hourly", "1.82",
                                               "--term-hours", "8760", "--risk"]],
    "plan parallelism": [["--model", "llama-3-70b", "--gpu", "H100-80GB", "--gpus", "64", "--batch", "512"]],
    "plan rightsize": [HISTORY], "plan schedule": [HISTORY], "plan spot": [HISTORY],
    "plan share": [HISTORY, ["--gpu", "A100-80GB", "--gpus", "2", "--running", "0=1g.10gb@0,2g.20gb@4", "--want", "3x3g.40gb"]],
    "replay": [HISTORY, ["--workload", "workload.csv", "--policy", "fifo"]],
    "replay queue": [["--jobs", "jobs.csv"]], "replay packing": [["--nodes", "nodes.csv", "--pods", "pods.csv", "--arrivals", "arrivals.txt"]],
    "replay cases": [["no-such-folder"]],
    "pick": [["--serve", "bert-base", "--qps", "500", "--p99", "50ms", "--region", "eu"], ["--train", "bert-base", "--deadline", "24h"],
             ["--own", "280000", "--gpu", "H100-80GB", "--power-price", "0.13", "--own-monthly", "2500", "--use", "60"]],
    "kpi": [HISTORY, HISTORY + ["--month", "2026-10"]],
    "budget check": [HISTORY + ["--budgets", "budgets.csv"], HISTORY + ["--budgets", "budgets.csv", "--until", "2026-10-15"]],
    "trend": [["--history", "demo.db", "--since", "2026-10-15", "--until", "2026-10-29", "--by", by] for by in ("client", "service")],
    "margin": [HISTORY + ["--revenue", "revenue.csv"], HISTORY + ["--revenue", "revenue.csv", "--by", "project"]],
    "reconcile": [HISTORY, HISTORY + ["--invoices", "invoices.csv"]],
    "statements": [HISTORY + ["--folder", "statements"]],
    "estimate": [["terraform-plan.json"], ["terraform-plan.json"] + HISTORY + ["--budget", "90000"]],
    "catalog gpus": [[]], "catalog instances": [[], ["--provider", "aws"]], "catalog prices": [["--gpu", "A100-80GB"]],
    "catalog refresh": [["prices.csv", "--history", "refreshed.db"]],
    "history currency": [["demo.db"]],
    "catalog mig": [["--gpu", "A100-80GB"]], "catalog timed": [[], ["--provider", "gcp"]],
    "change list": [["audit.json"], ["--history", "demo.db"]], "change show": [["1", "audit.json", "--history", "demo.db"]],
    "change apply": [["1", "audit.json", "--history", "changed.db", "--force", "--at", "2026-10-20T00:00:00Z"]],
    "change status": [["--history", "changed.db"]], "change undo": [["1", "--history", "changed.db", "--force"]],
    "history info": [["demo.db"]], "history check": [["demo.db"]], "history imports": [["demo.db"]],
    "import": [["inventory", "inventory.csv", "--history", "imported.db"], ["no-such-format", "x", "--history", "imported.db"]],
    "demo": [["agency", "--history", "again.db"]], "explore": [["--runs", "1", "--hours", "1"]],
    "serve tune": [["--latency", "latency.csv", "--qps", "200", "--p99", "50ms", "--runs", "2"]],
    "serve example": [["mlp", "-o", "example.onnx"]],
    "bench": [[]], "bench share": [["--job", "search=true", "--job", "rank=true", "--gpu-model", "L4", "--repeats", "1"]], "profile": [["--", "true"]], "alerts rules": [[]],
}
# On a simulated daemon.
DAEMON_CALLS = {
    "queue": [[], ["--queues"], ["--state", "all"], ["--members"]], "show": [["JOB"]], "checkpoint": [["JOB"]], "why": [["WAITING"]], "hold": [["WAITING"]],
    "release": [["WAITING"]], "cancel": [["WAITING"]], "nodes": [[]], "nodes drain": [["a100-machine-with-a-long-name-1"]],
    "nodes up": [["a100-machine-with-a-long-name-1"]], "top": [["--once"]], "services": [[]], "share": [[]],
    "budget list": [[]], "budget show": [["vision"]], "budget set": [["language", "--queue", "agency/language", "--per-month", "5000"]],
    "approval list": [[]], "approval approve": [["WAITING"]], "approval refuse": [["WAITING"]],
    "alerts list": [[], ["--all"]], "alerts silence": [["node=gpu-7", "--for", "2h", "--comment", "a new fan"]],
    "alerts silence list": [[]], "alerts silence expire": [["1"]],
    "token list": [[]], "token revoke": [["no-such-token"]],
    "token whoami": [[]], "user list": [[]], "user set": [["ann", "--role", "submitter@agency"]], "client list": [[]],
    "client set": [["agency", "--mandatory-tag", "project"]], "audit-log list": [[]], "audit-log verify": [[]],
    "trial list": [["search"]], "trial report": [["JOB", "--rung", "0", "--loss", "0.5"]],
    "pipeline submit": [["pipeline.json"]], "submit": [["--queue", "agency/vision", "--gpus", "1", "--", "true"]],
    "backup": [["state.tar", "--state", "STATE", "--config", "CONFIG"]],
}
# About the program itself.
PLAIN_CALLS = {"help": [[], ["plan", "commit"], ["connection"]], "version": [[]]}
GROUPS_WITH_A_SCREEN = {"alerts silence", "nodes", "replay"}

FLEET = {
    "nodes": [{"name": f"a100-machine-with-a-long-name-{i}", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB",
               "cpu_milli": 96000, "memory": "1152GiB", "per_hour": "16.203000001", "region": "europe-west-4"} for i in range(2)]
    + [{"name": "l4-0", "gpu_model": "L4", "gpus": 4, "gpu_memory": "24GiB", "cpu_milli": 48000, "memory": "192GiB", "per_hour": "2.80"}],
    "queues": [{"name": "agency", "deserved_gpus": 6}, {"name": "agency/vision", "deserved_gpus": 4},
               {"name": "agency/language", "deserved_gpus": 2}, {"name": "research", "deserved_gpus": 6, "budget": "500", "budget_period": "168h"}],
    "services": [{"name": "rank", "ports": [8481, 8484], "min": 1, "every": "1s",
                  "job": {"queue": "research", "user": "ada", "command": ["serve"]}}],
}


def commands_of_the_manual(folder):
    """Every command, as the manual pages name them: {"bill", "plan", "plan spot", …}."""
    subprocess.run([STINT, "man", "--folder", str(folder)], check=True, timeout=60)
    names = set()
    for page in folder.glob("stint-*.1"):
        text = page.read_text().replace("\\-", "-")
        names.add(page.stem.removeprefix("stint-"))
        names.update(line.removeprefix(".SS stint ") for line in text.splitlines() if line.startswith(".SS stint "))
    return names


def display_width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def has_a_long_word(line, columns):
    """Names, addresses, quoted words of commands, and lines of YAML and of a crontab are shown whole, so that they can be copied."""
    return line.startswith("- {") or re.match(r"\d+ \d+ \S+ \S+ \S+ [a-z]", line) or any(len(word) > columns / 2 and re.search(r"\w", word) for word in re.findall(r"'[^']*'|\"[^\"]*\"|[^\s'\"]+", line))


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def in_a_terminal(command, columns, environment, folder):
    """What it shows on a terminal of so many columns, standard error with it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, cwd=folder, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    process.wait(timeout=60)
    return shown.decode(errors="replace").replace("\r\n", "\n")


class Screens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        pages = cls.folder / "man"
        pages.mkdir()
        cls.commands = commands_of_the_manual(pages)
        cls.environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")} | {"TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def leaves(self):
        return {c for c in self.commands if c in GROUPS_WITH_A_SCREEN or not any(other.startswith(c + " ") for other in self.commands)}

    def look_at(self, words, environment=None, note=""):
        """Runs it at each width. @return what it showed at the last one."""
        for columns in WIDTHS:
            shown = in_a_terminal([STINT, *words], columns, environment or self.environment, self.folder)
            # A line that is drawn over, as progress is, ends at what comes last.
            lines = [line.rsplit("\r", 1)[-1] for line in plain(shown).split("\n")]
            if KEPT:
                name = re.sub(r"[^\w.=-]+", "_", " ".join(words))[:100]
                (pathlib.Path(KEPT) / f"{name}-{columns}.txt").write_text(plain(shown))
            wide = [line for line in lines if display_width(line) > columns and not has_a_long_word(line, columns)]
            with self.subTest(command=" ".join(words), columns=columns):
                self.assertEqual(wide, [], f"`stint {' '.join(words)}` shows lines of more than {columns} columns {note}")
                self.assertNotIn("terminate called", shown)
        return plain(shown)


class Help(Screens):
    def test_every_help_fits(self):
        self.assertIn("bill", self.commands)
        self.assertIn("plan spot", self.commands)
        self.look_at(["--help"])
        for command in sorted(self.commands):
            self.assertIn("Usage", self.look_at([*command.split(), "--help"]))

    def test_wrong_usage_fits(self):
        for words in (["aduit"], ["audit", "--histroy", "x"], ["bill", "--history", "x", "--by", "nothing that anybody knows"],
                      ["audit", "--history", "no-such-file.db"]):
            self.look_at(words)

    def test_every_command_has_a_screen_here(self):
        known = set(HELP_ONLY) | set(CALLS) | set(DAEMON_CALLS) | set(PLAIN_CALLS)
        self.assertEqual(sorted(self.leaves() - known), [], "give each a call in this file, or say why its help is enough")


class OnTheDemo(Screens):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        demo = cls.folder / "demo.db"
        subprocess.run([STINT, "demo", "agency", "--history", str(demo)], check=True, capture_output=True, timeout=300)
        (cls.folder / "changed.db").write_bytes(demo.read_bytes())
        audit = subprocess.run([STINT, "audit", "--no-replay", "--json", *HISTORY], check=True, capture_output=True, timeout=300, cwd=cls.folder).stdout
        (cls.folder / "audit.json").write_bytes(audit)
        cls.finding = json.loads(audit)["findings"][0]["id"]
        for name in ("inventory.csv", "workload.csv", "terraform-plan.json", "revenue.csv", "invoices.csv", "budgets.csv", "prices.csv"):
            (cls.folder / name).write_bytes((SOURCE / "examples" / name).read_bytes())
        (cls.folder / "hourly.csv").write_text("hour,instances\n" + "".join(f"{h},{3 + (h % 24 > 8) * 4}\n" for h in range(24 * 28)))
        (cls.folder / "latency.csv").write_text("batch,ms\n" + "".join(f"{b},{2 + b * 0.4}\n" for b in (1, 2, 4, 8, 16, 32)))
        (cls.folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nnode-0,96000,400000,8,V100M32\nnode-1,64000,200000,2,T4\n")
        (cls.folder / "pods.csv").write_text(
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
            + "".join(f"pod-{i},4000,8000,1,{500 if i % 2 else 1000},,LS,Running,{i},{i + 100},{i}\n" for i in range(20)))
        (cls.folder / "arrivals.txt").write_text("42 " + " ".join(str(i) for i in range(20)) + "\n")
        subprocess.run([STINT, "replay", "make-jobs", "--jobs", "300", "-o", str(cls.folder / "jobs.csv")], check=True, timeout=60)

    def test_screens_fit(self):
        for command, calls in CALLS.items():
            if command not in self.commands:
                continue
            for call in calls:
                self.look_at([*command.split(), *[self.finding if word == "FINDING" else word for word in call]])

    def test_the_program_itself(self):
        for command, calls in PLAIN_CALLS.items():
            if command in self.commands:
                for call in calls:
                    self.look_at([command, *call])

    def test_wide_shows_what_is_left_out(self):
        bill = ["bill", *HISTORY]
        narrow = in_a_terminal([STINT, *bill], 80, self.environment, self.folder)
        wide = in_a_terminal([STINT, *bill, "--wide"], 80, self.environment, self.folder)
        self.assertIn("--wide shows all", plain(narrow))
        self.assertNotIn("left out", plain(wide))
        self.assertIn("per active GPU-h", plain(wide))

    def test_a_pipe_is_as_wide_as_needed_unless_columns_says_otherwise(self):
        def widest(**more):
            done = subprocess.run([STINT, "bill", *HISTORY], cwd=self.folder, env=self.environment | more, capture_output=True, text=True, check=True)
            return max(display_width(line) for line in done.stdout.splitlines())
        self.assertGreater(widest(), 120)
        self.assertLessEqual(widest(COLUMNS="90"), 90)


class OnADaemon(Screens):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = RunningDaemon(STINT, cls.folder, FLEET)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.stint("budget", "set", "vision", "--queue", "agency/vision", "--per-month", "1000", "--at-limit", "approve")
        submit = ["submit", "--queue", "agency/vision", "--name", "fine-tune-of-a-model-with-a-long-name", "--tag", "project=a-project"]
        cls.job = cls.daemon.stint(*submit, "--gpus", "2", "--time-limit", "2h", "--", "train", "--epochs", "30").stdout.strip()
        for _ in range(12):
            cls.waiting = cls.daemon.stint(*submit, "--gpus", "8", "--time-limit", "8h", "--", "train", "--epochs", "30").stdout.strip()
        cls.daemon.stint(*submit, "--gpus", "1", "--array", "4", "--", "train")
        (cls.folder / "pipeline.json").write_text(json.dumps(
            {"queue": "research", "jobs": [{"name": "prepare", "gpus": 1, "command": ["true"]}, {"name": "train", "after": ["prepare"], "gpus": 1, "command": ["true"]}]}))
        time.sleep(1)

    def test_screens_fit(self):
        environment = {k: v for k, v in self.daemon.environment().items() if k not in ("COLUMNS", "NO_COLOR")} | {"TERM": "xterm", "LC_ALL": "C.UTF-8"}
        names = {"JOB": self.job, "WAITING": self.waiting, "STATE": "state", "CONFIG": "fleet.json"}
        for command, calls in DAEMON_CALLS.items():
            if command not in self.commands:
                continue
            for call in calls:
                self.look_at([*command.split(), *[names.get(word, word) for word in call]], environment)


if __name__ == "__main__":
    unittest.main()
