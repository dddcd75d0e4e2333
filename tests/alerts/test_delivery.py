#!/usr/bin/env python3
"""Alerts of a running daemon: told to a real Alertmanager and to a webhook, through kill -9, silenced, and the same as
Prometheus's own over the exported rules.

Usage: test_delivery.py STINT. Tests whose program is not installed are skipped.
"""
import hashlib
import hmac
import http.server
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from free_ports import free_port  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
ALERTMANAGER = shutil.which("prometheus-alertmanager")
PROMETHEUS = shutil.which("prometheus")
SECRET = "a secret of the test"
RULES = [{"name": "Backlog", "severity": "critical", "measure": "fact", "fact": "jobs-waiting", "comparison": ">", "threshold": 0,
          "hold": "1s", "summary": "Jobs wait."},
         {"name": "BudgetSpent", "disabled": True}, {"name": "JobsFailed", "severity": "critical", "window": "1m"}]


def wait_for(what, check, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not seen within {seconds} s: {what}")


def get(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


class Webhook:
    """Takes what it is told, or refuses it while `down`."""

    def __init__(self):
        self.requests = []
        self.down = False
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not hook.down:
                    hook.requests.append((dict(self.headers), body))
                self.send_response(503 if hook.down else 200)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/very-secret-path"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, rule, status):
        return [(headers, json.loads(body)) for headers, body in self.requests
                if json.loads(body)["status"] == status and json.loads(body)["alerts"][0]["labels"]["alertname"] == rule]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Daemon(RunningDaemon):
    def __init__(self, folder, alerts):
        super().__init__(STINT, folder, alerts)

    def configure(self, alerts):
        super().configure({
            "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000,
                       "memory": "512GiB", "per_hour": "16"}],
            "queues": [{"name": "acme"}, {"name": "zoo"}], "alerts": alerts})

    def firing(self, rule="Backlog"):
        return [a for a in self.json("alerts", "list")["alerts"] if a["rule"] == rule]

    def fill(self, queue="acme"):
        """A job that fills the machine and one that waits for it. @return the id of the latter."""
        self.stint("submit", "--queue", queue, "--gpus", "8", "--simulated-duration", "9h", "--", "train")
        return self.stint("submit", "--queue", queue, "--gpus", "8", "--simulated-duration", "9h", "--", "train").stdout.strip()


class Delivery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hook = Webhook()
        self.addCleanup(self.hook.close)
        (self.folder / "secret").write_text(SECRET + "\n")
        (self.folder / "secret").chmod(0o600)

    def daemon(self, *receivers):
        alerts = {"every": "1s", "rules": RULES, "receivers": list(receivers)}
        daemon = Daemon(self.folder, alerts)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.kill(signal.SIGTERM))
        return daemon

    def webhook(self, **more):
        return dict({"name": "hook", "kind": "webhook", "url": self.hook.url, "secret_file": str(self.folder / "secret")}, **more)

    def test_a_webhook_is_told_once_each_through_a_kill(self):
        daemon = self.daemon(self.webhook())
        self.hook.down = True
        waits = daemon.fill()
        wait_for("the alert fires", daemon.firing)
        states = wait_for("the failure is shown",
                          lambda: [r for r in daemon.json("alerts", "list")["receivers"] if r["failed"] > 0])
        self.assertEqual(states[0]["waiting"], 1)
        self.assertIn("503", states[0]["last_error"])
        self.assertNotIn("very-secret-path", json.dumps(daemon.json("alerts", "list")))
        self.assertIn("503", daemon.stint("alerts", "list").stderr)
        self.assertIn('stint_alert_failures_total{receiver="hook"}', get(daemon.url + "/metrics", daemon.token))
        fired = daemon.firing()[0]
        daemon.kill()
        self.hook.down = False
        daemon.start()
        headers, body = wait_for("told after the restart", lambda: self.hook.told("Backlog", "firing"))[0]
        self.assertEqual(body["alerts"][0]["labels"]["queue"], "acme")
        self.assertEqual(body["alerts"][0]["startsAt"], fired["since"])
        raw = [b for h, b in self.hook.requests if h["Idempotency-Key"] == headers["Idempotency-Key"]][0]
        signature = hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()
        self.assertEqual(headers["X-Stint-Signature-256"], f"sha256={signature}")
        wait_for("it is known to be told", lambda: daemon.firing()[0]["told"])
        daemon.kill()
        daemon.start()
        daemon.stint("cancel", waits)
        ended, _ = wait_for("told that it has ended", lambda: self.hook.told("Backlog", "resolved"))[0]
        self.assertNotEqual(ended["Idempotency-Key"], headers["Idempotency-Key"])
        time.sleep(1.5)
        keys = [h["Idempotency-Key"] for h, _ in self.hook.requests]
        self.assertEqual(len(keys), len(set(keys)), "a telling came twice though it had been taken")
        self.assertEqual([len(self.hook.told("Backlog", s)) for s in ("firing", "resolved")], [1, 1])
        kinds = [e["kind"] for e in json.loads(get(daemon.url + "/v1/events?limit=1000", daemon.token))["events"]]
        self.assertEqual((kinds.count("alert.fired"), kinds.count("alert.ended")), (1, 1))

    def test_silences_keep_quiet_and_outlive_a_kill(self):
        daemon = self.daemon(self.webhook())
        silence = daemon.json("alerts", "silence", "alertname=Back*", "queue=acme", "--for", "2h", "--comment", "move")
        daemon.fill()
        wait_for("it is listed, silenced", lambda: [a for a in daemon.firing() if a["state"] == "silenced"])
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.firing()[0]["silenced_by"], [silence["id"]])
        self.assertEqual(self.hook.told("Backlog", "firing"), [])
        self.assertEqual(daemon.json("silence", "list")["silences"][0]["comment"], "move")
        daemon.stint("silence", "expire", str(silence["id"]))
        wait_for("told when the silence is over", lambda: self.hook.told("Backlog", "firing"))
        refused = daemon.stint("alerts", "silence", "colour=red", "--for", "2h", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("alertname", refused.stderr)

    def test_users_see_the_alerts_of_their_clients_alone(self):
        daemon = self.daemon()
        daemon.fill("zoo")
        wait_for("it fires", daemon.firing)
        tokens = {}
        for client in ("acme", "zoo"):
            daemon.stint("user", "set", client, "--role", f"viewer@{client}")
            tokens[client] = daemon.stint("token", "make", "--user", client, "--life", "1h").stdout.strip()
        self.assertEqual(len(daemon.json("alerts", "list", token=tokens["zoo"])["alerts"]), 1)
        for path in ("/v1/alerts?state=all", "/v1/events", "/metrics", "/v1/silences"):
            self.assertNotIn("zoo", get(daemon.url + path, tokens["acme"]), path)
        self.assertIn("alert.fired", get(daemon.url + "/v1/events", tokens["zoo"]))
        self.assertEqual(daemon.stint("alerts", "silence", "client=zoo", "--for", "1h", token=tokens["zoo"], check=False).returncode, 1)

    def test_a_configuration_is_reloaded_or_refused_by_line(self):
        daemon = self.daemon(self.webhook())
        daemon.fill()
        wait_for("told", lambda: self.hook.told("Backlog", "firing"))
        daemon.configure({"every": "1s", "rules": [{"name": "GpuHot", "treshold": 80}], "receivers": [self.webhook()]})
        daemon.process.send_signal(signal.SIGHUP)
        message = wait_for("the refusal", lambda: [line for line in (self.folder / "daemon.log").read_text().splitlines()
                                                   if "not taken over" in line])[0]
        line = next(n for n, text in enumerate(daemon.config.read_text().splitlines(), 1) if '"GpuHot"' in text) - 1
        self.assertIn(f"fleet.json:{line}: alerts: rules 1", message)
        self.assertIn("treshold", message)
        daemon.configure({"every": "1s", "receivers": [self.webhook()]})
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the rule is gone, its alert has ended", lambda: self.hook.told("Backlog", "resolved"))
        self.assertEqual(daemon.firing(), [])

    @unittest.skipUnless(ALERTMANAGER, "prometheus-alertmanager is not installed: nothing is sent to the real one")
    def test_the_real_alertmanager_sees_it_fire_end_and_silenced(self):
        port = free_port()
        config = self.folder / "alertmanager.yml"
        config.write_text("route:\n  receiver: none\n  group_wait: 1s\nreceivers:\n  - name: none\n")
        with open(self.folder / "alertmanager.log", "wb") as log:
            manager = subprocess.Popen([ALERTMANAGER, f"--config.file={config}", f"--storage.path={self.folder / 'am'}",
                                        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
                                       stdout=log, stderr=log)

        def stop():
            manager.terminate()
            manager.wait(timeout=30)
        self.addCleanup(stop)
        api = f"http://127.0.0.1:{port}/api/v2/alerts"

        def seen():
            try:
                return [a for a in json.loads(get(api)) if a["labels"]["alertname"] == "Backlog"]
            except OSError:
                return []
        daemon = self.daemon({"name": "am", "kind": "alertmanager", "url": f"http://127.0.0.1:{port}", "again": "1s"})
        waits = daemon.fill()
        alert = wait_for("Alertmanager has it", seen)[0]
        self.assertEqual(alert["labels"], {"alertname": "Backlog", "severity": "critical", "scope": "queue", "queue": "acme",
                                           "client": "acme"})
        self.assertEqual(alert["status"]["state"], "active")
        self.assertEqual(alert["startsAt"].split(".")[0], daemon.firing()[0]["since"].split(".")[0].rstrip("Z"))
        time.sleep(6)  # longer than it believes one telling: it was told again
        self.assertTrue(seen())
        daemon.stint("cancel", waits)
        wait_for("Alertmanager knows that it has ended", lambda: not seen())
        daemon.stint("alerts", "silence", "alertname=Backlog", "--for", "1h")
        daemon.stint("submit", "--queue", "acme", "--gpus", "8", "--simulated-duration", "9h", "--", "train")
        wait_for("silenced in Stint", lambda: [a for a in daemon.firing() if a["state"] == "silenced"])
        time.sleep(2.5)
        self.assertEqual(seen(), [], "what Stint silences is not sent")

    @unittest.skipUnless(PROMETHEUS, "prometheus is not installed: the exported rules are not run")
    def test_prometheus_fires_the_same_over_the_exported_rules(self):
        daemon = self.daemon()
        rules = daemon.stint("alerts", "export", "--prometheus", "--config", str(daemon.config)).stdout
        (self.folder / "rules.yml").write_text(rules.replace("interval: 1m", "interval: 1s"))
        (self.folder / "prometheus.yml").write_text(
            "global:\n  scrape_interval: 1s\nrule_files: [rules.yml]\nscrape_configs:\n  - job_name: stint\n"
            f"    authorization: {{credentials_file: {daemon.state / 'admin.token'}}}\n"
            f"    static_configs: [{{targets: ['{daemon.url.removeprefix('http://')}']}}]\n")
        port = free_port()
        with open(self.folder / "prometheus.log", "wb") as log:
            server = subprocess.Popen([PROMETHEUS, f"--config.file={self.folder / 'prometheus.yml'}",
                                       f"--storage.tsdb.path={self.folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"],
                                      stdout=log, stderr=log)

        def stop():
            server.terminate()
            server.wait(timeout=30)
        self.addCleanup(stop)

        def theirs():
            try:
                alerts = json.loads(get(f"http://127.0.0.1:{port}/api/v1/alerts"))["data"]["alerts"]
            except OSError:
                return None
            return {(a["labels"]["alertname"], a["labels"].get("queue", "")) for a in alerts if a["state"] == "firing"}

        def ours():
            return {(a["rule"], a["labels"].get("queue", "")) for a in daemon.json("alerts", "list")["alerts"]}
        wait_for("Prometheus answers", lambda: theirs() is not None)
        self.assertEqual(ours(), theirs(), "before anything happens")
        waits = daemon.fill()
        expected = {("Backlog", "acme")}
        wait_for("both fire", lambda: ours() == expected and theirs() == expected)
        daemon.stint("cancel", waits)
        wait_for("both have ended", lambda: ours() == set() and theirs() == set())


if __name__ == "__main__":
    unittest.main()
