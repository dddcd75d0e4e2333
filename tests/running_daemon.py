"""A real daemon for tests: on a free port of loopback, with its own folder; asked, killed, started again."""
import json
import os
import pathlib
import signal
import ssl
import subprocess
import time
import urllib.request

from free_ports import free_port


class Certificate:
    """Of 127.0.0.1, signed by itself, made in `folder` by openssl."""

    def __init__(self, folder):
        self.certificate, self.key = str(pathlib.Path(folder) / "server.pem"), str(pathlib.Path(folder) / "server.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj",
                        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate],
                       check=True, capture_output=True)

    @property
    def flags(self):
        """Of a server that shows it."""
        return ["--tls-certificate", self.certificate, "--tls-key", self.key]

    def trust(self):
        return ssl.create_default_context(cafile=self.certificate)


class RunningDaemon:
    """In `folder`: fleet.json, state/ (unless named) and daemon.log, what it says on standard error."""

    def __init__(self, stint, folder, config, state=None, simulate=True, environment=None, certificate=None,
                 flags=None, more=()):
        """@param flags  of its command line, in place of those that let local jobs have the daemon's account. @param more  flags, besides"""
        self.program = stint
        self.folder = pathlib.Path(folder)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{free_port()}"
        self.certificate = certificate
        self.config = self.folder / "fleet.json"
        self.state = pathlib.Path(state or self.folder / "state")
        self.log = self.folder / "daemon.log"
        local = ["--insecure-shared-user"] if flags is None else list(flags)
        # No GPU is needed for what they show.
        self._flags = (["--simulate"] if simulate else [*local, "--allow-missing-gpus"]) + (certificate.flags if certificate else []) + list(more)
        self._trust = certificate.trust() if certificate else None
        self._environment = dict(os.environ, **(environment or {}))
        self.configure(config)
        self.start()

    def configure(self, config):
        """What it reads at its next start or SIGHUP."""
        self.config.write_text(json.dumps(dict(config, listen=self.url.partition("://")[2]), indent=1))

    def start(self, seconds=60):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "daemon", "--config", str(self.config), "--state", str(self.state), *self._flags],
                env=self._environment, stderr=log)
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            try:
                if urllib.request.urlopen(self.url + "/readyz", context=self._trust).status == 200:
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
        known = {"STINT_CA_FILE": self.certificate.certificate} if self.certificate else {}
        return dict(os.environ, STINT_SERVER=self.url, STINT_TOKEN=token or self.token, **known)

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
        with urllib.request.urlopen(request, timeout=60, context=self._trust) as answer:
            return json.load(answer)

    def metrics(self, token=None):
        request = urllib.request.Request(self.url + "/metrics", headers={"Authorization": f"Bearer {token or self.token}"})
        with urllib.request.urlopen(request, timeout=60, context=self._trust) as answer:
            return answer.read().decode()
