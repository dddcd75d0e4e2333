#!/usr/bin/env python3
"""Daemons that take over from each other on a log in a real PostgreSQL, with real tasks: no job runs twice, none is lost.

Usage: test_standby.py STINT [--times N]. N takeovers of one daemon after the other on one machine, killed and ended in turn (6 unless
given); `tests/daemon/test_standby.py build/release/stint --times 200` is the long run.
"""
import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402
import running_postgres  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
TIMES = 6
if "--times" in sys.argv:
    at = sys.argv.index("--times")
    TIMES = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
PATIENCE = int(os.environ.get('PATIENCE', 120))

# Writes who it is every twentieth of a second for so many times, or until the file is there, and at its end that it has ended.
BEATS = """
run=$$-$(cat /proc/sys/kernel/random/uuid)
n=0
while [ $n -lt {beats} ] && [ ! -e {goes_on} ]; do
  echo "$STINT_JOB $run $(date +%s%N)" >> {file}
  n=$((n + 1))
  sleep 0.05
done
echo "$STINT_JOB $run end" >> {file}
"""


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)
    return found


class Waiting(RunningDaemon):
    """One that may have to stand by: it is not waited for at its start. Users and tokens are in the database: `states` are the folders
    of all its daemons, of which the first active one has the first operator's token."""

    states = ()

    @property
    def token(self):
        return next(path.read_text().strip() for path in (state / "admin.token" for state in (self.state, *self.states)) if path.exists())

    def start(self, seconds=PATIENCE):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, "daemon", "--config", str(self.config), "--state", str(self.state), *self._flags],
                                            env=self._environment, stderr=log)

    def wait_until_active(self):
        def listens():
            assert self.process.poll() is None, self.log.read_text()
            return self.answers()
        wait_until(listens, self.log.read_text)

    def answers(self):
        try:
            return urllib.request.urlopen(self.url + "/readyz", timeout=60).status == 200
        except OSError:
            return False


@unittest.skipIf(running_postgres.programs() is None, "PostgreSQL is not installed (Debian: postgresql)")
class Standby(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.folder.chmod(0o755)
        self.server = running_postgres.RunningPostgres(self.folder / "postgres")
        self.addCleanup(self.server.stop)
        self.states = []
        self.beats = self.folder / "beats"
        self.beats.touch()
        self.script, self.goes_on = self.folder / "job.sh", self.folder / "goes-on"

    def daemon(self, name, config_name="gpu-1", more=(), state=None):
        folder = self.folder / name
        folder.mkdir()
        config = {"log": self.server.url, "nodes": [{"name": config_name, "cpu_milli": 8000, "memory": "4GiB", "per_hour": "0.20"}],
                  "queues": [{"name": "agency"}]}
        daemon = Waiting(STINT, folder, config, state=state, simulate=False, more=["--standby", *more])
        self.states.append(daemon.state)
        daemon.states = self.states
        self.addCleanup(daemon.stop)
        return daemon

    def submit(self, daemon, beats=10**6, count=1):
        """@param beats  unless it ends with the file `goes_on`"""
        self.script.write_text("#!/bin/sh" + BEATS.format(beats=beats, file=self.beats, goes_on=self.goes_on))
        return [daemon.stint("submit", "--queue", "agency", "--cpu-milli", "1000", str(self.script)).stdout.strip() for _ in range(count)]

    def runs(self):
        """By job: its runs in the order of their first lines, each (first, last, ended)."""
        runs = collections.defaultdict(dict)
        for line in self.beats.read_text().splitlines():
            job, run, what = line.split()
            if what == "end":
                runs[job][run][2] = True
            else:
                known = runs[job].setdefault(run, [int(what), int(what), False])
                known[1] = int(what)
        for job, of_job in runs.items():
            in_order = sorted(of_job.values())
            for before, after in zip(in_order, in_order[1:]):
                self.assertLess(before[1], after[0], f"{job} ran twice at once: {in_order}")
        return {job: list(of_job.values()) for job, of_job in runs.items()}

    def wait_for(self, daemon, job, *states):
        return wait_until(lambda: (shown if (shown := daemon.json("show", job))["state"] in states else None), lambda: daemon.json("show", job))

    def states_and_fence(self):
        """State folders of two machines, and a program that ends all tasks of one by the machine's name."""
        states = {name: self.folder / name / "state" for name in ("host-one", "host-two")}
        fence = self.folder / "fence.py"
        fence.write_text(f"""#!/usr/bin/env python3
import os, pathlib, signal, sys, time
name, identity = sys.argv[1:]
assert name == identity
mark = f"{self.folder}/{{name}}/state/work/tasks/"
def left():
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes() + (process / "environ").read_bytes():
                yield int(process.name)
        except OSError:
            pass
with open("{self.folder}/fenced", "a") as log:
    log.write(name + "\\n")
while found := list(left()):
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    time.sleep(0.05)
""")
        fence.chmod(0o755)
        return states, fence

    def test_on_one_machine_the_other_takes_up_what_runs(self):
        state = self.folder / "state"
        pair = [self.daemon("first", state=state)]
        pair[0].wait_until_active()
        pair.append(self.daemon("second", state=state))
        wait_until(lambda: "another daemon is active" in pair[1].log.read_text(), "it stands by")
        token = pair[0].stint("token", "make", "--user", "admin", "--life", "1d").stdout.strip()
        jobs = []
        for number in range(TIMES):
            active, other = pair[number % 2], pair[1 - number % 2]
            jobs += self.submit(active, beats=random.choice([1, 20, 60]), count=2)
            time.sleep(random.uniform(0, 0.3))
            active.kill(signal.SIGKILL if number % 4 < 2 else signal.SIGTERM)
            other.wait_until_active()
            self.assertEqual([node["name"] for node in other.ask("GET", "/v1/nodes", token=token)["nodes"]], ["gpu-1"])
            active.start()
        active = pair[TIMES % 2]
        for job in jobs:
            shown = self.wait_for(active, job, "succeeded", "failed", "cancelled")
            self.assertEqual((shown["state"], shown["starts"]), ("succeeded", 1), (job, shown))
        runs = self.runs()
        self.assertEqual({job: [run[2] for run in runs[job]] for job in jobs}, {job: [True] for job in jobs})
        self.assertEqual(active.stint("audit-log", "verify").returncode, 0)
        print(f"{TIMES} takeovers, {len(jobs)} jobs ran once each", file=sys.stderr)

    def test_another_machine_waits_unless_it_is_certain_that_nothing_runs_there(self):
        one = self.daemon("one", more=["--host-id", "host-one"])
        one.wait_until_active()
        two = self.daemon("two", more=["--host-id", "host-two", "--fence-after", "0s"])
        job, = self.submit(one)
        self.wait_for(one, job, "running")
        wait_until(lambda: job in self.runs(), "it writes")
        one.kill()
        wait_until(lambda: "maybe still on host-one" in two.log.read_text(), two.log.read_text)
        self.goes_on.touch()
        wait_until(lambda: self.runs()[job][0][2], "it goes on by itself")
        self.assertIsNone(two.process.poll())
        one.start()
        one.wait_until_active()
        self.assertEqual(self.wait_for(one, job, "succeeded", "failed")["starts"], 1)
        one.kill()  # now nothing runs
        two.wait_until_active()
        again, = self.submit(two, beats=1)
        self.wait_for(two, again, "succeeded")
        # It reads in the log that its tasks are elsewhere now, and waits.
        one.start()
        wait_until(lambda: "another daemon is active" in one.log.read_text(), one.log.read_text)

    def test_a_fenced_machine_counts_as_lost_and_its_jobs_go_on(self):
        states, fence = self.states_and_fence()
        more = ["--fence", str(fence), "--fence-after", "0s"]
        daemons = [self.daemon(name, config_name=name, state=states[name], more=["--host-id", name, *more]) for name in states]
        wait_until(lambda: any(d.answers() for d in daemons), "one is active")
        active, other = daemons if daemons[0].answers() else daemons[::-1]
        jobs = []
        for number in range(2):
            jobs += self.submit(active)
            self.wait_for(active, jobs[-1], "running")
            wait_until(lambda: jobs[-1] in self.runs(), "it writes")
            active.kill()
            other.wait_until_active()
            active.start()
            active, other = other, active
            for job in jobs:
                wait_until(lambda: len(self.runs()[job]) == number + 2 - jobs.index(job), "it goes on here")
        self.goes_on.touch()
        for job in jobs:
            shown = self.wait_for(active, job, "succeeded", "failed")
            self.assertEqual(shown["state"], "succeeded", shown)
        runs = self.runs()
        self.assertEqual([[run[2] for run in runs[job]] for job in jobs], [[False, False, True], [False, True]])
        self.assertEqual(sorted((self.folder / "fenced").read_text().split()), sorted(states))

    def test_one_that_was_cut_off_ends_when_another_machine_has_taken_over(self):
        states, fence = self.states_and_fence()
        one = self.daemon("host-one", config_name="host-one", state=states["host-one"], more=["--host-id", "host-one"])
        one.wait_until_active()
        job, = self.submit(one)
        self.wait_for(one, job, "running")
        wait_until(lambda: job in self.runs(), "it writes")
        two = self.daemon("host-two", config_name="host-two", state=states["host-two"],
                          more=["--host-id", "host-two", "--fence", str(fence), "--fence-after", "0s"])
        wait_until(lambda: "another daemon is active" in two.log.read_text(), two.log.read_text)
        one.process.send_signal(signal.SIGSTOP)
        self.server.ask("SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE locktype = 'advisory'")
        two.wait_until_active()
        one.process.send_signal(signal.SIGCONT)
        self.assertEqual(one.process.wait(timeout=PATIENCE), 1, one.log.read_text())
        self.assertIn("another daemon has taken over this log", one.log.read_text())
        wait_until(lambda: len(self.runs()[job]) == 2, "it goes on there")
        self.goes_on.touch()
        self.assertEqual(self.wait_for(two, job, "succeeded", "failed")["state"], "succeeded")
        self.assertEqual([run[2] for run in self.runs()[job]], [False, True])

    def test_tokens_and_the_audit_log_go_with_the_log_to_another_machine(self):
        daemons = [self.daemon(name, more=["--host-id", name, "--fence-after", "0s"]) for name in ("host-one", "host-two")]
        wait_until(lambda: any(d.answers() for d in daemons), "one is active")
        one, two = daemons if daemons[0].answers() else daemons[::-1]

        def make(daemon, note):
            return daemon.stint("token", "make", "--user", "admin", "--life", "1d", "--note", note).stdout.strip()

        kept, revoked = make(one, "kept"), make(one, "revoked")
        one.stint("user", "set", "ann", "--role", "submitter@agency")
        before = len(one.stint("audit-log", "export", token=kept).stdout.splitlines())
        one.kill()
        two.wait_until_active()
        self.assertFalse((two.state / "admin.token").exists(), "an operator has a good token already")
        two.ask("GET", "/v1/nodes", token=kept)
        listed = two.ask("GET", "/v1/tokens", token=kept)["tokens"]
        two.stint("token", "revoke", next(each["id"] for each in listed if each["note"] == "revoked"), token=kept)
        self.assertIn("ann", two.stint("user", "list", token=kept).stdout)
        two.stint("audit-log", "verify", token=kept)
        export = self.folder / "export.jsonl"
        two.stint("audit-log", "export", "-o", str(export), token=kept)
        self.assertGreater(len(export.read_text().splitlines()), before)
        two.stint("audit-log", "verify", "--file", str(export), token=kept)
        one.start()
        wait_until(lambda: "another daemon is active" in one.log.read_text(), one.log.read_text)
        two.kill()
        one.wait_until_active()
        one.ask("GET", "/v1/nodes", token=kept)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            one.ask("GET", "/v1/nodes", token=revoked)
        self.assertEqual(refused.exception.code, 401)
        one.stint("audit-log", "verify", token=kept)
        self.assertNotIn("not what its signed heads say", one.log.read_text())

    def test_users_of_a_file_move_into_the_database_and_into_its_backup(self):
        folder = self.folder / "alone"
        folder.mkdir()
        config = {"nodes": [{"name": "gpu-1", "cpu_milli": 8000, "memory": "4GiB"}], "queues": [{"name": "agency"}]}
        daemon = RunningDaemon(STINT, folder, config)
        self.addCleanup(daemon.stop)
        token = daemon.stint("token", "make", "--user", "admin", "--life", "1d").stdout.strip()
        daemon.stop()
        daemon.configure(dict(config, log=self.server.url))
        for _ in range(2):
            daemon.start()
            daemon.ask("GET", "/v1/nodes", token=token)
            daemon.stint("audit-log", "verify", token=token)
            daemon.kill()
        self.assertEqual(daemon.log.read_text().count("taken over into PostgreSQL"), 1)
        self.assertTrue((daemon.state / "govern.db.taken").exists())
        archive, restored = self.folder / "backup.tar", self.folder / "restored"
        made = subprocess.run([STINT, "backup", "--json", "--state", str(daemon.state), "--config", str(daemon.config), str(archive)],
                              capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertIn("users, tokens and the audit log are in both", made.stderr)
        self.assertGreater(json.loads(made.stdout)["audit"]["records"], 4)
        done = subprocess.run([STINT, "restore", str(archive), "--state", str(restored)], capture_output=True, text=True, timeout=PATIENCE,
                              check=True)
        self.assertIn("pg_restore", done.stderr)
        # The database is lost: what the backup holds counts.
        self.server.ask("DROP SCHEMA stint_log CASCADE")
        daemon.state = restored
        daemon.start()
        daemon.ask("GET", "/v1/nodes", token=token)
        daemon.stint("audit-log", "verify", token=token)

    def test_another_state_folder_of_the_machine_is_refused_by_name(self):
        one = self.daemon("one")
        one.wait_until_active()
        job, = self.submit(one)
        self.wait_for(one, job, "running")
        one.kill()
        two = self.daemon("two")
        wait_until(lambda: f"start the daemon with --state {one.state}" in two.log.read_text(), two.log.read_text)
        done = subprocess.run([STINT, "daemon", "--config", str(two.config), "--state", str(self.folder / "third"), "--insecure-shared-user",
                               "--allow-missing-gpus"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"1 job of this log runs on this machine below {one.state}", done.stderr)
        one.start()
        one.wait_until_active()
        self.goes_on.touch()
        self.assertEqual(self.wait_for(one, job, "succeeded", "failed")["starts"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
