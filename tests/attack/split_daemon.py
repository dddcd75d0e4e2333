"""A daemon in two processes: one that listens on the network and has no rights, and the privileged starter of its jobs."""
import os
import pathlib
import signal
import subprocess
import time
import urllib.request

from tenants import Attack  # first: it says where the next one lies
from running_daemon import RunningDaemon

RANGE = "61200-61209"
CLIENT = 61299  # an account that owns nothing but the daemon's state
PATIENCE = 120


def until(holds, what=""):
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


class SplitDaemon(RunningDaemon):
    """Its process is CLIENT's; beside it a starter, which is root's."""

    def __init__(self, stint, folder, config, policy=(), **more):
        self.program, self.folder = stint, pathlib.Path(folder)
        self.folder.chmod(0o711)
        self.socket, self.work = self.folder / "starter.sock", self.folder / "work"
        self._policy = ["--jobs-as-range", RANGE, *policy]
        state = self.folder / "state"
        state.mkdir()
        os.chown(state, CLIENT, CLIENT)
        self.starter_log = self.folder / "starter.log"
        self.start_starter()
        super().__init__(stint, folder, config, simulate=False, flags=["--starter", str(self.socket)], **more)

    def start_starter(self):
        before = self._listened()
        with open(self.starter_log, "ab") as log:
            self.starter = subprocess.Popen([self.program, "starter", "--state", str(self.work), "--socket", str(self.socket), "--client", str(CLIENT),
                                             *self._policy], stderr=log)
        until(lambda: self.starter.poll() is not None or self._listened() > before, "the starter does not begin")
        assert self.starter.poll() is None, self.starter_log.read_text()

    def _listened(self):
        return self.starter_log.read_text().count("listening on") if self.starter_log.exists() else 0

    def start(self, seconds=PATIENCE):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, "daemon", "--config", str(self.config), "--state", str(self.state), *self._flags],
                                            env=self._environment, stderr=log, user=CLIENT, group=CLIENT, extra_groups=[])
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            if self._answers():
                return
            time.sleep(0.02)
        raise AssertionError("the daemon does not answer: " + self.log.read_text() + self.starter_log.read_text())

    def _answers(self):
        try:
            return urllib.request.urlopen(self.url + "/readyz").status == 200
        except OSError:
            return False

    def kill_starter(self, how=signal.SIGKILL):
        self.starter.send_signal(how)
        self.starter.wait(timeout=60)

    def stop(self):
        super().stop()
        if self.starter.poll() is None:
            self.kill_starter(signal.SIGTERM)


class Split(Attack):
    def start(self, *policy, **more):
        self.daemon = SplitDaemon(self.STINT, self.folder, self.CONFIG, policy=policy, **more)
        self.addCleanup(self.daemon.stop)
        self.addCleanup(self.end_tasks)
        return self.daemon

    def end_tasks(self):
        """What a failed test has left behind."""
        mark = f"STINT_LAUNCH={self.daemon.work}/tasks/".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass
