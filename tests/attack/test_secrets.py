#!/usr/bin/env python3
"""Another user of the machine reads a file that holds a secret: it is refused before it is used.

Usage: test_secrets.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import subprocess
import sys

from tenants import Attack, HERE, main
from running_daemon import Certificate  # found beside the folder of tenants

LOOSE = (0o644, 0o640, 0o604, 0o620)


class LooseFiles(Attack):
    def secret(self, name, mode, text="a-secret\n"):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def run_daemon(self, more=None, *flags):
        (self.folder / "fleet.json").write_text(json.dumps(dict(HERE, listen="127.0.0.1:0", **(more or {}))))
        try:
            return subprocess.run([self.STINT, "daemon", "--config", self.folder / "fleet.json", "--state", self.folder / "state", "--simulate",
                                   *flags], capture_output=True, text=True, timeout=3, check=False).stderr
        except subprocess.TimeoutExpired as runs:
            return (runs.stderr or b"").decode()

    def held_to(self, run, name, modes=LOOSE, good=0o600):
        for mode in modes:
            with self.subTest(name, mode=oct(mode)):
                (self.folder / name).chmod(mode)
                said = run()
                self.assertIn(f"{name}: holds a secret", said)
                self.assertIn("chmod 6", said)
                self.assertNotIn("listening on", said)
        (self.folder / name).chmod(good)
        self.assertNotIn("holds a secret", run())

    def test_a_clients_token(self):
        self.start("--insecure-shared-user")
        path = self.secret("token", 0o600, self.daemon.token + "\n")
        environment = {k: v for k, v in self.daemon.environment().items() if k != "STINT_TOKEN"}

        def queue(flags, **more):
            return subprocess.run([self.STINT, "queue", *flags], env=dict(environment, **more), capture_output=True, text=True, timeout=60,
                                  check=False).stderr
        self.held_to(lambda: queue(["--token-file", str(path)]), "token")
        self.held_to(lambda: queue([], STINT_TOKEN_FILE=str(path)), "token")
        # A pipe is no file that others could read.
        with open(path, encoding="utf-8") as token:
            done = subprocess.run([self.STINT, "queue", "--token-file", "/dev/stdin"], env=environment, input=token.read(),
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_webhooks_key(self):
        self.secret("hook.key", 0o600)
        alerts = {"receivers": [{"name": "hook", "kind": "webhook", "url": "http://127.0.0.1:9/", "secret_file": str(self.folder / "hook.key")}]}
        self.held_to(lambda: self.run_daemon({"alerts": alerts}), "hook.key")

    def test_users_and_their_second_factors(self):
        self.assertIn("listening on", self.run_daemon())
        self.held_to(self.run_daemon, "state/govern.db")

    def test_the_first_operators_token(self):
        self.assertIn("listening on", self.run_daemon())
        self.held_to(self.run_daemon, "state/admin.token")

    def test_a_servers_key(self):
        certificate = Certificate(self.folder)
        self.held_to(lambda: self.run_daemon({}, *certificate.flags), "server.key", (0o644, 0o604, 0o620), 0o640)

    def test_what_the_inference_server_asks_for(self):
        path = self.secret("token", 0o644)
        (self.folder / "models").mkdir()
        done = subprocess.run([self.STINT, "serve", "run", "--models", self.folder / "models", "--listen", "127.0.0.1:0", "--token-file", path],
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds a secret", done.stderr)


if __name__ == "__main__":
    main(sys.modules[__name__])
