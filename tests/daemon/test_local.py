#!/usr/bin/env python3
"""Real jobs on this machine, as a first user meets them, without a GPU.

Usage: test_local.py STINT SOURCE_DIR.
"""
import contextlib
import datetime
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402
from set_clock import SetClock  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
SOURCE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()


HERE = {"nodes": [{"name": "here", "cpu_milli": 2000, "memory": "4GiB", "per_hour": "0.20"}], "queues": [{"name": "agency"}]}


class Local(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.daemon = RunningDaemon(STINT, cls.folder, HERE, simulate=False)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        cls.temporary.cleanup()

    def submit(self, *arguments):
        return self.daemon.stint("submit", "--queue", "agency", *arguments).stdout.strip()

    def wait_for(self, job, *states, seconds=60):
        end = time.monotonic() + seconds
        while (shown := self.daemon.json("show", job))["state"] not in states:
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def test_a_script_gets_its_arguments(self):
        script = self.folder / "train.sh"
        script.write_text('#!/bin/sh\n#STINT --cpu-milli 100\nfor a in "$0" "$@"; do echo "[$a]"; done\n')
        job = self.submit(str(script), "--epochs", "3", "two words")
        self.wait_for(job, "succeeded")
        self.assertEqual(self.daemon.stint("logs", job).stdout, "[train.sh]\n[--epochs]\n[3]\n[two words]\n")
        python = self.folder / "train.py"
        python.write_text("#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n")
        job = self.submit(str(python), "--lr", "0.1")
        self.wait_for(job, "succeeded")
        self.assertEqual(self.daemon.stint("logs", job).stdout, "['--lr', '0.1']\n")

    def test_output_and_errors_are_shown_in_the_order_in_which_they_came(self):
        goes_on = self.folder / "goes-on"
        job = self.submit("--", "sh", "-c", f"""
            for i in 1 2 3; do echo out $i; sleep 0.2; echo err $i >&2; sleep 0.2; done
            while [ ! -e {goes_on} ]; do sleep 0.05; done
            printf 'no end'""")
        whole = "".join(f"out {i}\nerr {i}\n" for i in (1, 2, 3))
        end = time.monotonic() + 60
        while self.daemon.stint("logs", job).stdout != whole:  # while it runs
            assert time.monotonic() < end, self.daemon.stint("logs", job).stdout
            time.sleep(0.1)
        follower = subprocess.Popen([STINT, "logs", "-f", job], env=self.daemon.environment(), stdout=subprocess.PIPE, text=True)
        goes_on.touch()
        self.assertEqual(follower.communicate(timeout=60)[0], whole + "no end")
        self.wait_for(job, "succeeded")
        self.assertEqual(self.daemon.stint("logs", job).stdout, whole + "no end")
        self.assertEqual(self.daemon.stint("logs", "--stdout", job).stdout, "out 1\nout 2\nout 3\nno end")
        self.assertEqual(self.daemon.stint("logs", "--stderr", job).stdout, "err 1\nerr 2\nerr 3\n")

    def test_the_log_of_a_job_that_could_not_be_started_says_why(self):
        job = self.submit("--folder", "/does/not/exist", "--", "true")
        self.wait_for(job, "failed")
        logs = self.daemon.stint("logs", job)
        self.assertEqual(logs.stdout, "")
        self.assertIn("nothing was printed: ", logs.stderr)
        self.assertIn("/does/not/exist", logs.stderr)
        job = self.submit("--", "true")
        self.wait_for(job, "succeeded")
        self.assertEqual(self.daemon.stint("logs", job).stderr, "")

    def test_a_failed_job_says_how_it_ended_and_what_it_printed_last(self):
        fails = self.submit("--", "sh", "-c", "echo loading; echo 'no such file: data.bin' >&2; exit 3")
        killed = self.submit("--", "sh", "-c", "echo here; kill -9 $$")
        behind = self.submit("--after", fails, "--", "true")
        self.wait_for(fails, "failed")
        text = self.daemon.stint("show", fails).stdout
        self.assertIn("exit code 3", text)
        self.assertRegex(text, r"last output.*\n    loading\n    no such file: data.bin\n")
        self.wait_for(killed, "failed")
        text = self.daemon.stint("show", killed).stdout
        self.assertIn("signal 9", text)
        self.assertIn("    here\n", text)
        self.assertEqual(self.wait_for(behind, "dependency-failed")["reason"], f"job {fails} failed")

    def test_what_runs_costs_more_each_time_it_is_looked_at(self):
        job = self.submit("--cpu-milli", "2000", "--", "sleep", "600")
        self.wait_for(job, "running")

        def shown():
            queue = next(q for q in self.daemon.ask("GET", "/v1/queues")["queues"] if q["path"] == "agency")
            return float(self.daemon.json("show", job)["cost"]["amount"]), float(queue["cost"]["amount"])
        first = shown()
        end = time.monotonic() + 60
        while not all(now > before for now, before in zip(shown(), first)):
            assert time.monotonic() < end, (first, shown())
            time.sleep(0.1)
        self.daemon.stint("cancel", job)


class ClockSteps(unittest.TestCase):
    """The machine's clock is set while a job runs."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.clock = SetClock(STINT, self.folder)
        self.daemon = RunningDaemon(STINT, self.folder, HERE, simulate=False, environment=self.clock.environment)
        self.addCleanup(self.daemon.stop)

    def ahead(self):
        """Of the machine's clock, in seconds."""
        request = urllib.request.Request(self.daemon.url + "/metrics", headers={"Authorization": f"Bearer {self.daemon.token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return float(re.search(r"^stint_clock_ahead_seconds (\S+)$", answer.read().decode(), re.MULTILINE)[1])

    def wait(self, ready):
        end = time.monotonic() + 60
        while not ready():
            assert time.monotonic() < end, self.daemon.json("queue", "--state", "all")
            time.sleep(0.05)

    def test_a_job_runs_and_costs_as_long_as_it_runs(self):
        goes_on = self.folder / "goes-on"
        job = self.daemon.stint("submit", "--queue", "agency", "--cpu-milli", "2000", "--time-limit", "30m", "--", "sh", "-c",
                                f"while [ ! -e {goes_on} ]; do sleep 0.05; done").stdout.strip()
        state = lambda: self.daemon.json("show", job)["state"]  # noqa: E731
        self.wait(lambda: state() == "running")
        self.clock.ahead("+7200")
        self.wait(lambda: self.ahead() < -7000)
        self.daemon.stop()
        self.daemon.start()
        self.wait(lambda: self.ahead() < -7000)
        self.assertEqual(state(), "running", "its limit of half an hour has not passed")
        self.clock.ahead("-7200")
        self.wait(lambda: self.ahead() > 7000)
        goes_on.touch()
        self.wait(lambda: state() == "succeeded")
        shown = self.daemon.json("show", job)
        begun, ended = (datetime.datetime.fromisoformat(shown[k][:19]) for k in ("started", "ended"))
        self.assertLess(ended - begun, datetime.timedelta(minutes=30))
        self.assertLess(float(shown["cost"]["amount"]), 0.10)
        self.assertGreater(float(shown["cost"]["amount"]), 0)
        # With nothing to measure, the time of events goes with a clock that is ahead.
        self.clock.ahead("+7200")
        self.wait(lambda: abs(self.ahead()) < 60)


class Postings(unittest.TestCase):
    """What bills are summed from, edited in the database."""

    def check(self, folder):
        done = subprocess.run([STINT, "history", "check", "--json", f"{folder}/state/events.db"], capture_output=True, text=True, timeout=60,
                              check=False)
        return done.returncode, json.loads(done.stdout)["problems"]

    def test_an_edit_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            daemon = RunningDaemon(STINT, folder, HERE, simulate=False)
            self.addCleanup(daemon.stop)
            daemon.stint("submit", "--queue", "agency", "--", "true")
            end = time.monotonic() + 60
            while not any(b["runs"] for b in daemon.ask("GET", "/v1/bills")["bills"]):
                assert time.monotonic() < end
                time.sleep(0.05)
            self.assertEqual(self.check(folder), (0, []), "while the daemon runs")
            self.assertEqual(daemon.ask("GET", "/v1/bills")["problems"], [])
            daemon.stop()
            with contextlib.closing(sqlite3.connect(f"{folder}/state/events.db")) as database:
                database.execute("UPDATE posting SET amount_nanos = amount_nanos + 1000000000")
                database.commit()
            code, problems = self.check(folder)
            self.assertEqual((code, len(problems)), (3, 1), problems)
            daemon.start()
            self.assertEqual(daemon.ask("GET", "/v1/bills")["problems"], problems)


class Refused(unittest.TestCase):
    """What would start jobs where they do not belong."""

    def start(self, config, *flags):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([STINT, "daemon", "--config", config, "--state", f"{folder}/state", *flags], capture_output=True, text=True,
                                  timeout=60, check=False)

    def test_several_machines(self):
        done = self.start(str(SOURCE / "examples/fleet.json"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"2 machines \(gpu-0, gpu-1\)(.|\n)*Slurm(.|\n)*--simulate")

    def test_a_standby_without_a_shared_log(self):
        done = self.start(str(SOURCE / "examples/one-machine.json"), "--standby", "--allow-missing-gpus", "--insecure-shared-user")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a standby follows a log in PostgreSQL", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
