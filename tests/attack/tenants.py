"""What attacks share: a daemon with local jobs and submitters of two clients who do not trust each other."""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

HERE = {"nodes": [{"name": "here", "cpu_milli": 8000, "memory": "8GiB", "per_hour": "0.20"}],
        "queues": [{"name": "acme"}, {"name": "zoo"}]}
ENDED = ("succeeded", "failed", "cancelled")
SKIPPED = 77


class Attack(unittest.TestCase):
    """FLAGS: of the daemon's command line, which say whose account jobs have."""
    STINT = "stint"
    FLAGS = None
    CONFIG = HERE

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def start(self, *flags, **more):
        self.daemon = RunningDaemon(self.STINT, self.folder, self.CONFIG, simulate=False, flags=flags, **more)
        self.addCleanup(self.daemon.stop)
        return self.daemon

    def token_of(self, user, role):
        """A new user's."""
        self.daemon.stint("user", "set", user, *(word for one in role.split(",") for word in ("--role", one)))
        return self.daemon.stint("token", "make", "--user", user, "--life", "1d").stdout.strip()

    def submit(self, token, client, script, *options):
        return self.daemon.stint("submit", "--queue", client, "--cpu-milli", "500", "--folder", "/", *options, "--", "sh", "-c", script, token=token).stdout.strip()

    def state_of(self, job):
        return self.daemon.json("show", job)["state"]

    def wait(self, job, *states, seconds=60):
        end = time.monotonic() + seconds
        while (shown := self.daemon.json("show", job))["state"] not in (states or ENDED):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def logs(self, job, token=None):
        return self.daemon.stint("logs", job, token=token).stdout

    def run_job(self, token, client, script, *options):
        """@return what it printed, output and errors."""
        job = self.submit(token, client, script, *options)
        self.wait(job)
        return self.logs(job, token)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root: only root gives jobs other accounts")(test)


def main(suites):
    """Usage: FILE STINT SOURCE_DIR [SUITE]. Exit code 77 where all was skipped, 1 where there was no test."""
    Attack.STINT = sys.argv.pop(1)
    Attack.SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    done = unittest.main(module=suites, argv=sys.argv, exit=False, verbosity=2).result
    for test, why in done.skipped:
        print(f"skipped: {test}: {why}")
    sys.exit(1 if not done.wasSuccessful() or done.testsRun == 0 else SKIPPED if done.testsRun == len(done.skipped) else 0)
