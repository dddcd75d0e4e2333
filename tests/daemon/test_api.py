#!/usr/bin/env python3
"""The daemon as its users meet it: started, asked by its own client and over HTTP, killed, started again.

Usage: test_api.py STINT. The contract is checked by openapi-spec-validator where that is installed.
"""
import json
import pathlib
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon_case import DaemonCase  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
FLEET = {
    "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000,
               "memory": "512GiB", "per_hour": "16"}],
    "queues": [{"name": "acme", "deserved_gpus": 4}, {"name": "zoo", "deserved_gpus": 4}],
}


class Api(DaemonCase):
    program, fleet = STINT, FLEET

    def test_a_job_from_submit_to_cancel_survives_a_kill(self):
        d = self.daemon
        runs = self.submit("--queue", "acme", "--gpus", "8", "--time-limit", "10h", "--simulated-duration", "9h", "--", "train", "--fast")
        waits = self.submit("--queue", "zoo", "--gpus", "8", "--time-limit", "1h", "--priority", "0", "--", "train")
        self.await_state(runs, "running")
        self.assertIn(waits, d.stint("why", waits).stdout)
        before = d.json("queue", "--state", "all")
        d.kill()
        d.start()
        after = d.json("queue", "--state", "all")
        self.assertEqual([(j["id"], j["state"], j["command"]) for j in before["jobs"]],
                         [(j["id"], j["state"], j["command"]) for j in after["jobs"]])
        self.assertEqual(d.json("cancel", waits)["id"], waits)
        self.assertEqual(d.json("show", waits)["state"], "cancelled")
        self.assertEqual(d.stint("show", "acme-99999", check=False).returncode, 1)
        self.assertIn("each follows from the one before", d.stint("audit-log", "verify").stdout)
        d.stint("cancel", runs)

    def test_a_part_of_a_gpu_is_shown_as_what_was_asked_and_what_is_held(self):
        d = self.daemon
        job = self.submit("--queue", "acme", "--gpu-memory", "20GiB", "--hold", "--", "train")
        self.assertIn("asks for     20 GiB of a GPU in 1 task", d.stint("show", job).stdout)
        self.assertRegex(d.stint("queue").stdout, rf"(?m)^{job} .* 20 GiB of a GPU ")
        d.stint("release", job)
        shown = self.await_state(job, "running")
        self.assertEqual((shown["gpu_part"], shown["gpu_milli"]), ("20 GiB of a GPU", 250))
        self.assertRegex(d.stint("queue").stdout, rf"(?m)^{job} .* 0.250 ")
        d.stint("cancel", job)

    def test_an_array_has_one_id(self):
        d = self.daemon
        array = self.submit("--queue", "acme", "--gpus", "1", "--array", "3", "--hold", "--", "train")
        shown = d.json("show", array)
        self.assertEqual((shown["id"], shown["array"]), (array, {"id": array, "size": 3, "jobs": {"on-hold": 3}}))
        lines = d.stint("queue", "--queue", "acme").stdout
        self.assertRegex(lines, rf"(?m)^{array} .* 3 on-hold ")
        self.assertNotIn(f"{array}_", lines)
        self.assertEqual([j["id"] for j in d.json("queue", "--array", array)["jobs"]], [f"{array}_{i}" for i in (2, 1, 0)])
        self.assertIn(f"{array}_1 ", d.stint("queue", "--members").stdout)
        self.assertEqual(d.stint("cancel", f"{array}_1").stdout, f"job {array}_1: cancelled\n")
        self.assertIn(f"array {array} train: 2 on-hold, 1 cancelled\n", d.stint("show", array).stdout)
        self.assertIn(f"next is job {array}_0:\n", d.stint("why", array).stdout)
        self.assertEqual(d.stint("cancel", array).stdout, f"array {array}: 3 cancelled\n")
        again = d.stint("cancel", array, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn(f"all jobs of array {array} have ended: 3 cancelled", again.stderr)
        self.assertIn(f"name one of them, such as {array}_0", d.stint("logs", array, check=False).stderr)
        self.assertEqual(d.stint("queue", "--array", f"{array}_1", check=False).returncode, 1)
        self.assertEqual(len(d.json("queue", "--array", array)["jobs"]), 3, "of one array those that have ended, too")

    def test_a_script_says_what_it_needs(self):
        script = pathlib.Path(self.folder) / "train.sh"
        script.write_text("#!/bin/sh\n#STINT --queue acme --gpus 2 --tag project=x\necho hello\n")
        made = self.daemon.stint("submit", "--gpus", "3", "--hold", str(script), "--epochs", "3", "a b", "--", "-x")
        job = self.daemon.json("show", made.stdout.strip())
        self.assertEqual(job["command"], "train.sh --epochs 3 a b -- -x")
        self.assertEqual((job["name"], job["gpus_per_task"], job["tags"], job["state"]), ("train.sh", 3, {"project": "x"}, "on-hold"))
        self.daemon.stint("release", job["id"])
        self.daemon.stint("cancel", job["id"])

    def test_a_user_sees_their_client_alone(self):
        d = self.daemon
        hidden = self.submit("--queue", "zoo", "--name", "secret", "--hold", "--", "x")
        d.stint("user", "set", "ann", "--role", "submitter@acme")
        token = d.stint("token", "make", "--user", "ann", "--life", "1h").stdout.strip()
        self.assertNotIn("secret", d.stint("queue", "--state", "all", token=token).stdout)
        self.assertEqual(d.stint("show", hidden, token=token, check=False).returncode, 1)
        self.assertEqual(d.stint("token", "list", token="wrong", check=False).returncode, 1)

    def test_no_daemon_says_the_next_step(self):
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
