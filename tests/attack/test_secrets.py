#!/usr/bin/env python3
"""Another user of the machine reads a file that holds a secret: it is refused before it is used.

Usage: test_secrets.py STINT SOURCE_DIR [SUITE]
"""
import http.server
import json
import os
import subprocess
import sys
import threading
import time

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


class AtRest(Attack):
    """Who gets the disk, or a backup, and no key."""

    def key(self, name):
        path = self.folder / name
        path.write_text(os.urandom(32).hex() + "\n")
        path.chmod(0o600)
        return path

    def test_secrets_of_one_time_codes_need_the_key(self):
        key = self.key("elsewhere.key")
        self.start("--insecure-shared-user")
        secret = self.daemon.ask("POST", "/v1/codes")["secret"]
        files = lambda: b"".join(path.read_bytes() for path in self.daemon.state.glob("govern.db*"))  # noqa: E731
        self.assertIn(secret.encode(), files())
        self.daemon.stop()
        self.daemon._flags += ["--secrets-key", str(key)]
        self.daemon.start()
        self.daemon.stop()
        self.assertNotIn(secret.encode(), files(), "also what was there before")
        for flags, said in (([], "name the file with their key"), (["--secrets-key", self.key("another.key")], "another key")):
            done = subprocess.run([self.STINT, "daemon", "--config", self.daemon.config, "--state", self.daemon.state, "--insecure-shared-user",
                                   "--allow-missing-gpus", *flags], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_webhooks_key_needs_the_key(self):
        key, hook = self.key("elsewhere.key"), self.folder / "hook.key"
        hook.write_text("sign-with-this\n")
        hook.chmod(0o600)
        config = self.folder / "hooked.json"
        config.write_text(json.dumps(dict(HERE, listen="127.0.0.1:0", alerts={
            "receivers": [{"name": "hook", "kind": "webhook", "url": "http://127.0.0.1:9/", "secret_file": str(hook)}]})))
        subprocess.run([self.STINT, "secret", "seal", hook, "--secrets-key", key], check=True, capture_output=True, timeout=60)
        self.assertNotIn(b"sign-with-this", hook.read_bytes())
        start = [self.STINT, "daemon", "--config", config, "--state", self.folder / "hooked", "--simulate"]
        for flags, said in (([], "is encrypted"), (["--secrets-key", self.key("another.key")], "another key")):
            done = subprocess.run([*start, *flags], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{hook}: ", done.stderr)
            self.assertIn(said, done.stderr)
        with subprocess.Popen([*start, "--secrets-key", key], stderr=subprocess.PIPE, text=True) as daemon:
            self.assertTrue(any("listening on" in line for line in daemon.stderr))
            daemon.terminate()

    def test_tokens_of_what_is_asked_need_the_key(self):
        """An exporter's, and a service's replicas': who gets the file shows something that is of no use there."""
        shown = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805
                shown.append((handler.path, handler.headers.get("Authorization")))
                handler.send_response(200)
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        port, key, files = server.server_address[1], self.key("elsewhere.key"), {}
        for name in ("exporter", "replica"):
            files[name] = self.folder / f"{name}.token"
            files[name].write_text(f"show-this-{name}\n")
            files[name].chmod(0o600)
            subprocess.run([self.STINT, "secret", "seal", files[name], "--secrets-key", key], check=True, capture_output=True, timeout=60)
            self.assertNotIn(b"show-this", files[name].read_bytes())
        self.CONFIG = dict(HERE, telemetry={"local": False, "exporters": [{"url": f"http://127.0.0.1:{port}/exporter", "token_file": str(files["exporter"]), "every": "1s"}]},
                           services=[{"name": "rank", "ports": [port, port + 1], "min": 1, "max": 1, "every": "1s", "endpoints": str(self.folder / "endpoints.json"),
                                      "token_file": str(files["replica"]), "proof": False,
                                      "job": {"queue": "acme", "user": "ada", "cpu_milli": 500, "command": ["sleep", "30"]}}])
        self.start("--insecure-shared-user")
        failed = lambda: [source["error"] for source in self.daemon.ask("GET", "/v1/gpus")["sources"]]  # noqa: E731
        self.comes_true(lambda: len([text for text in failed() if "is encrypted: name the file with its key" in text]) == 2)
        self.assertEqual(shown, [], "nothing was asked, with whatever token")
        self.daemon.kill()
        self.daemon._flags += ["--secrets-key", str(key)]
        self.daemon.start()
        self.comes_true(lambda: {("/exporter", "Bearer show-this-exporter"), ("/metrics", "Bearer show-this-replica")} <= set(shown))
        self.assertEqual({told for _, told in shown} - {None, "Bearer show-this-exporter", "Bearer show-this-replica"}, set())

    def comes_true(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.daemon.ask("GET", "/v1/gpus")
            time.sleep(0.1)

    def test_a_backup_needs_the_key(self):
        key, other = self.key("backup.key"), self.key("other.key")
        self.start("--insecure-shared-user")
        self.submit(self.token_of("eve", "submitter@acme"), "acme", "true", "--hold", "--name", "a-name-to-look-for")
        archive = self.folder / "backup"
        self.daemon.stint("backup", "--state", str(self.daemon.state), "--config", str(self.daemon.config), "--key", str(key), str(archive))
        stored = archive.read_bytes()
        for text in (b"a-name-to-look-for", b"SQLite format", b"manifest"):
            self.assertNotIn(text, stored)
        for flags, said in (((), "is encrypted"), (("--key", str(other)), "another key")):
            refused = self.daemon.stint("restore", str(archive), "--check", *flags, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(said, refused.stderr)
        self.daemon.stint("restore", str(archive), "--state", str(self.folder / "again"), "--key", str(key))
        self.assertIn(b"a-name-to-look-for", b"".join(path.read_bytes() for path in (self.folder / "again").glob("events.db*")))


if __name__ == "__main__":
    main(sys.modules[__name__])
