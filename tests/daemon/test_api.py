#!/usr/bin/env python3
"""The daemon as its users meet it: started, asked by its own client and over HTTP, killed, started again.

Usage: test_api.py STINT. The contract is checked by openapi-spec-validator where that is installed.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
FLEET = {
    "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000,
               "memory": "512GiB", "per_hour": "16"}],
    "queues": [{"name": "acme", "deserved_gpus": 4}, {"name": "zoo", "deserved_gpus": 4}],
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """A daemon with simulated machines on a state folder of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.config = self.folder / "fleet.json"
        self.config.write_text(json.dumps(dict(FLEET, listen=self.url.removeprefix("http://"))))
        self.state = self.folder / "state"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([STINT, "daemon", "--config", str(self.config), "--state", str(self.state), "--simulate"],
                                        stderr=subprocess.DEVNULL)
        for _ in range(1500):
            try:
                if urllib.request.urlopen(self.url + "/readyz").status == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the daemon does not answer")

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()

    def stint(self, *arguments, token=None, check=True):
        environment = dict(os.environ, STINT_SERVER=self.url, STINT_TOKEN=token or (self.state / "admin.token").read_text().strip())
        done = subprocess.run([STINT, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done

    def json(self, *arguments, **more):
        return json.loads(self.stint(*arguments, "--json", **more).stdout)


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.daemon = Daemon(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.kill(signal.SIGTERM)
        cls.folder.cleanup()

    def submit(self, *arguments):
        return int(self.daemon.stint("submit", *arguments).stdout)

    def test_a_job_from_submit_to_cancel_survives_a_kill(self):
        d = self.daemon
        runs = self.submit("--queue", "acme", "--gpus", "8", "--time-limit", "10h", "--simulated-duration", "9h", "--", "train", "--fast")
        waits = self.submit("--queue", "zoo", "--gpus", "8", "--time-limit", "1h", "--priority", "0", "--", "train")
        for _ in range(200):
            if d.json("show", str(runs))["state"] == "running":
                break
            time.sleep(0.02)
        self.assertIn(str(waits), d.stint("why", str(waits)).stdout)
        before = d.json("queue", "--state", "all")
        d.kill()
        d.start()
        after = d.json("queue", "--state", "all")
        self.assertEqual([(j["id"], j["state"], j["command"]) for j in before["jobs"]],
                         [(j["id"], j["state"], j["command"]) for j in after["jobs"]])
        self.assertEqual(d.json("cancel", str(waits))["id"], waits)
        self.assertEqual(d.json("show", str(waits))["state"], "cancelled")
        self.assertEqual(d.stint("show", "99999", check=False).returncode, 1)
        self.assertIn("each follows from the one before", d.stint("audit-log", "verify").stdout)
        d.stint("cancel", str(runs))

    def test_a_script_says_what_it_needs(self):
        script = pathlib.Path(self.folder.name) / "train.sh"
        script.write_text("#!/bin/sh\n#STINT --queue acme --gpus 2 --tag project=x\necho hello\n")
        job = self.daemon.json("submit", "--gpus", "3", "--hold", str(script))
        self.assertEqual((job["name"], job["gpus_per_task"], job["tags"], job["state"]), ("train.sh", 3, {"project": "x"}, "on-hold"))
        self.daemon.stint("release", str(job["id"]))
        self.daemon.stint("cancel", str(job["id"]))

    def test_a_user_sees_their_client_alone(self):
        d = self.daemon
        hidden = self.submit("--queue", "zoo", "--name", "secret", "--hold", "--", "x")
        d.stint("user", "set", "ann", "--role", "submitter@acme")
        token = d.stint("token", "make", "--user", "ann", "--life", "1h").stdout.strip()
        self.assertNotIn("secret", d.stint("queue", "--state", "all", token=token).stdout)
        self.assertEqual(d.stint("show", str(hidden), token=token, check=False).returncode, 1)
        self.assertEqual(d.stint("token", "list", token="wrong", check=False).returncode, 1)

    def test_nobody_there_says_the_next_step(self):
        done = subprocess.run([STINT, "queue", "--server", "http://127.0.0.1:1"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stint daemon", done.stderr)

    def test_the_contract_is_openapi(self):
        document = json.load(urllib.request.urlopen(self.daemon.url + "/openapi.json"))
        self.assertEqual(document["openapi"], "3.1.0")
        try:
            from openapi_spec_validator import validate
        except ImportError:
            self.skipTest("openapi-spec-validator is not installed: the contract is not checked by a third party")
        validate(document)


if __name__ == "__main__":
    unittest.main()
