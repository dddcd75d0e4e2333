#!/usr/bin/env python3
"""A change of the fleet, from the dry run to the tracker: the daemon drains what is given up, once, and lets it work again;
weekly schedules, and what a kill cut short.

Usage: test_changes.py STINT. Nothing here waits for time to pass.
"""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.error

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

    def test_a_schedule_is_kept_by_the_daemon(self):
        """In all hours but those about now, then in those alone: nothing here waits for an hour to pass."""
        hour = time.gmtime()
        now = hour.tm_wday * 24 + hour.tm_hour
        about_now = [(now + off) % 168 for off in (0, 1)]
        plan = pathlib.Path(self.folder) / "nights.json"

        def write(identity, hours):
            plan.write_text(json.dumps({"schema": "stint-changes/1", "currency": "USD", "proposals": [{"id": identity, "title": "Nights", "changes": [
                {"kind": "schedule-off", "nodes": ["n0"], "off_hours_of_week": hours}]}]}))

        write("awake", sorted(set(range(168)) - set(about_now)))
        dry = json.loads(self.change("apply", "awake", str(plan), "--dry-run", "--json").stdout)
        self.assertEqual([(m["name"], m["does"], m["hours_off_a_week"]) for m in dry["machines"]], [("n0", "schedule", 166)])
        self.change("apply", "awake", str(plan), "--execute", "--force")
        self.assertEqual(self.states()["n0"], "up")
        self.change("undo", "awake", "--execute")
        write("asleep", about_now)
        self.change("apply", "asleep", str(plan), "--execute", "--force")
        self.assertEqual(self.states()["n0"], "drained")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.states()["n0"], "drained")
        self.change("undo", "asleep", "--execute")
        self.assertEqual(self.states()["n0"], "up")

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


class CutShort(DaemonCase):
    """So many machines that a signal comes between the intent and the last drain."""
    program = STINT
    fleet = {"nodes": [machine(f"m{i:03}") for i in range(400)], "queues": [{"name": "acme"}]}

    def states(self):
        return [n["state"] for n in self.daemon.json("nodes")["nodes"]]

    def carry_out(self, change):
        try:
            self.daemon.ask("PUT", f"/v1/changes/{change}", {"title": "Stop all", "machines": [n["name"] for n in self.fleet["nodes"]]})
        except (urllib.error.URLError, OSError):
            pass  # its daemon was killed

    def kill_before_the_end(self, change):
        """@return whether it was killed between the intent and its end"""
        asking = threading.Thread(target=self.carry_out, args=(change,))
        asking.start()
        intent = self.daemon.state / "changes.json"
        end = time.monotonic() + 60
        while time.monotonic() < end and not (intent.exists() and change in intent.read_text()):
            pass
        self.daemon.kill(signal.SIGKILL)
        asking.join()
        return not next(c for c in json.loads(intent.read_text()) if c["id"] == change)["done"]

    def test_what_a_kill_cut_short_the_next_start_finishes_once(self):
        for attempt in range(20):
            change = f"C-{attempt}"
            if self.kill_before_the_end(change):
                break
            self.daemon.start()  # it came too late: once more
            self.daemon.ask("DELETE", f"/v1/changes/{change}")
        else:
            self.fail("no kill came before the end")
        self.daemon.start()
        end = time.monotonic() + 120
        while set(self.states()) != {"drained"} and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(set(self.states()), {"drained"}, "no request came after the start")
        carried = next(c for c in self.daemon.ask("GET", "/v1/changes")["changes"] if c["id"] == change)
        self.assertEqual((len(carried["drained"]), carried["undone_at"]), (400, None))
        # Done is done: one that is put to work again stays so over the next start.
        while not next(c for c in self.daemon.ask("GET", "/v1/changes")["changes"] if c["id"] == change)["done"]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.daemon.ask("POST", "/v1/nodes/m000/up")
        self.daemon.kill()
        self.daemon.start()
        time.sleep(0.5)
        self.assertEqual(self.states().count("up"), 1)
        self.daemon.ask("DELETE", f"/v1/changes/{change}")
        self.assertEqual(set(self.states()), {"up"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
