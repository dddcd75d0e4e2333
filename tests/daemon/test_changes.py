#!/usr/bin/env python3
"""A change of the fleet, from the dry run to the tracker: the daemon drains what is given up, once, and lets it work again.

Usage: test_changes.py STINT. Nothing here waits for time to pass.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon_case import DaemonCase  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"


def machine(name):
    return {"name": name, "gpu_model": "A100-40GB", "gpus": 8, "gpu_memory": "40GiB", "cpu_milli": 96000, "memory": "1152GiB", "per_hour": "22"}


FLEET = {"nodes": [machine("n0"), machine("n1")], "queues": [{"name": "acme"}]}


class Changes(DaemonCase):
    program, fleet = STINT, FLEET

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.db = str(pathlib.Path(cls.folder) / "fleet.db")
        rows = pathlib.Path(cls.folder) / "nodes.csv"
        with open(rows, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["node", "provider", "region", "instance_type", "market", "gpu_model", "gpu_count"])
            for name in ("n0", "n1", "elsewhere"):
                out.writerow([name, "aws", "us-east-1", "p4d.24xlarge", "on-demand", "A100-40GB", 8])
        subprocess.run([STINT, "import", "inventory", str(rows), "--history", cls.db], check=True, capture_output=True)

    def states(self):
        return {n["name"]: n["state"] for n in self.daemon.json("nodes")["nodes"]}

    def change(self, *arguments, check=True, token=None):
        return self.daemon.stint("change", *arguments, "--history", self.db, check=check, token=token)

    def applied(self):
        return json.loads(self.change("list", "--json").stdout)["changes"]

    def test_a_change_is_tried_carried_out_once_tracked_and_taken_back(self):
        dry = json.loads(self.change("apply", "1", "stop:n1,elsewhere", "--dry-run", "--json").stdout)
        self.assertEqual([(m["name"], m["does"]) for m in dry["machines"]], [("elsewhere", "by-hand"), ("n1", "drain")])
        self.assertIn("n1: up → takes no new work", self.change("apply", "1", "stop:n1,elsewhere", "--dry-run").stdout)
        self.assertEqual((self.states()["n1"], self.applied()), ("up", []), "a dry run changes nothing")

        done = self.change("apply", "1", "stop:n1,elsewhere", "--execute")
        self.assertIn("aws ec2", done.stdout, "the rest is by hand")
        self.assertEqual(self.states(), {"n0": "up", "n1": "drained"})
        carried = self.daemon.ask("GET", "/v1/changes")["changes"]
        self.assertEqual([(c["machines"], c["by"]) for c in carried], [(["n1"], "admin")])
        self.assertEqual([c["applied_at"] for c in self.applied()], [carried[0]["at"]], "tracked from when it was done")

        again = self.change("apply", "1", "stop:n1,elsewhere", "--execute")
        self.assertIn("recorded before, as change 1", again.stderr)
        self.assertEqual(len(self.applied()), 1)
        self.assertEqual(len(self.daemon.ask("GET", "/v1/changes")["changes"]), 1)
        self.assertEqual(json.loads(self.change("status", "--json").stdout)["schema"], "stint-savings/1")

        # The daemon did it, and its client ended before it could record it: what comes next is as if it had not.
        os.unlink(self.db)
        self.setUpHistory()
        self.change("apply", "1", "stop:n1,elsewhere", "--execute")
        self.assertEqual([c["applied_at"] for c in self.applied()], [carried[0]["at"]])

        # It outlives the daemon.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.states()["n1"], "drained")
        self.change("undo", "1", "--execute")
        self.assertEqual(self.states()["n1"], "up")
        self.assertTrue(self.applied()[0]["undone_at"])
        self.assertIn("had ended at", self.change("undo", "1", "--execute").stderr)

    def setUpHistory(self):
        rows = pathlib.Path(self.folder) / "nodes.csv"
        subprocess.run([STINT, "import", "inventory", str(rows), "--history", self.db], check=True, capture_output=True)

    def test_what_the_daemon_cannot_do_is_said_and_not_recorded(self):
        before = len(self.applied())
        done = self.change("apply", "1", "stop:elsewhere", "--execute", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none of its machines is the daemon's", done.stderr)
        done = self.change("apply", "1", "switch-market:n0=spot", "--execute", check=False)
        self.assertIn("it gives no machine up", done.stderr)
        self.daemon.stint("user", "add", "vera", "--role", "viewer@acme", check=False)
        self.assertEqual(len(self.applied()), before)
        self.assertEqual(self.states()["n0"], "up")


if __name__ == "__main__":
    unittest.main(verbosity=2)
