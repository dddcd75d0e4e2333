"""A real daemon for tests: on a free port of loopback, with a folder of its own; asked, killed, started again."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def free_ports(count):
    """The first of so many in a row."""
    while True:
        first = free_port()
        try:
            for port in range(first, first + count):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
        except (OSError, OverflowError):
            continue


class RunningDaemon:
    """In `folder`: fleet.json, state/ (unless named) and daemon.log, what it says on standard error."""

    def __init__(self, stint, folder, config, state=None, simulate=True, environment=None):
        self.program = stint
        self.folder = pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.config = self.folder / "fleet.json"
        self.state = pathlib.Path(state or self.folder / "state")
        self.log = self.folder / "daemon.log"
        self._flags = ["--simulate"] if simulate else []
        self._environment = dict(os.environ, **(environment or {}))
        self.configure(config)
        self.start()

    def configure(self, config):
        """What it reads at its next start or SIGHUP."""
        self.config.write_text(json.dumps(dict(config, listen=self.url.removeprefix("http://")), indent=1))

    def start(self, seconds=60):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "daemon", "--config", str(self.config), "--state", str(self.state), *self._flags],
                env=self._environment, stderr=log)
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            try:
                if urllib.request.urlopen(self.url + "/readyz").status == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the daemon does not answer: " + self.log.read_text())

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(timeout=60)

    def stop(self):
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)

    @property
    def token(self):
        """The first operator's."""
        return (self.state / "admin.token").read_text().strip()

    def environment(self, token=None):
        """For the client's commands."""
        return dict(os.environ, STINT_SERVER=self.url, STINT_TOKEN=token or self.token)

    def stint(self, *arguments, token=None, check=True):
        done = subprocess.run([self.program, *arguments], env=self.environment(token), capture_output=True, text=True, timeout=120,
                              check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done

    def json(self, *arguments, **more):
        return json.loads(self.stint(*arguments, "--json", **more).stdout)

    def ask(self, method, path, body=None, token=None):
        """The answer of the API, JSON; urllib's error when it says no."""
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
