"""Tests that share one simulated daemon, asked by its own client."""
import tempfile
import time
import unittest

from running_daemon import RunningDaemon


class DaemonCase(unittest.TestCase):
    """Each class of tests has a daemon of its own: `program`, on `fleet`, in `folder`."""
    program = "stint"
    fleet = {}

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = temporary.name
        cls.daemon = RunningDaemon(cls.program, cls.folder, cls.fleet)
        cls.addClassCleanup(cls.daemon.stop)

    def submit(self, *arguments):
        """@return the job's id"""
        return self.daemon.stint("submit", *arguments).stdout.strip()

    def await_state(self, job, *states):
        """@return the job as it is shown then"""
        end = time.monotonic() + 120
        while (shown := self.daemon.json("show", job))["state"] not in states:
            self.assertLess(time.monotonic(), end, shown)
            time.sleep(0.05)
        return shown
