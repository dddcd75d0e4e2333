#!/usr/bin/env python3
"""A change of the fleet, from the dry run to the tracker: the daemon drains what is given up, once, and lets it work again;
weekly schedules, and what a kill cut short.

Usage: test_changes.py STINT. Nothing here waits for hours to pass.
"""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon_case import DaemonCase  # noqa: E402
from free_ports import free_ports  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402
from set_clock import SetClock  # noqa: E402

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


class Reach(DaemonCase):
    """What else the daemon reaches: machines that a program switches, replicas of its services, limits of jobs."""
    program = STINT

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = temporary.name
        folder = pathlib.Path(cls.folder)
        cls.told, cls.shut = folder / "told", folder / "shut"
        switch = folder / "switch"
        switch.write_text(f"#!/bin/sh\n[ $1 = down ] && [ -e {cls.shut} ] && exit 1\necho $1 $2 >>{cls.told}\n")
        switch.chmod(0o755)
        first = free_ports(6)
        replica = {"name": "rank", "ports": [first, first + 5], "min": 4, "max": 4, "every": "1s", "drain": "1s",
                   "job": {"queue": "acme", "user": "ada", "command": ["x"], "gpus": 4}}
        fleet = {"nodes": [machine("n0"), machine("n1"), machine("n2")], "queues": [{"name": "acme"}], "services": [replica],
                 "power": {"program": str(switch), "every": "1s", "pools": [{"name": "rack", "nodes": ["n0", "n1", "n2"], "min": 3, "max": 3}]}}
        cls.daemon = RunningDaemon(STINT, cls.folder, fleet)
        cls.addClassCleanup(cls.daemon.stop)
        cls.db = str(folder / "fleet.db")
        rows = folder / "nodes.csv"
        rows.write_text("node,provider,region,instance_type,market,gpu_model,gpu_count\n" + "".join(
            f"{name},aws,us-east-1,p4d.24xlarge,on-demand,A100-40GB,8\n" for name in ("n0", "n1", "n2")))
        subprocess.run([STINT, "import", "inventory", str(rows), "--history", cls.db], check=True, capture_output=True)

    def change(self, *arguments, check=True):
        return self.daemon.stint("change", *arguments, "--history", self.db, check=check)

    def last_number(self):
        return str(json.loads(self.change("list", "--json").stdout)["changes"][-1]["number"])

    def await_that(self, what, shown):
        end = time.monotonic() + 120
        while not what():
            self.assertLess(time.monotonic(), end, shown())
            time.sleep(0.1)

    def service(self):
        return self.daemon.json("services")["services"][0]

    def states(self):
        return {n["name"]: n["state"] for n in self.daemon.json("nodes")["nodes"]}

    def test_fewer_machines_of_a_service_lose_their_replicas_and_are_switched_off_over_a_kill(self):
        self.await_that(lambda: self.service()["ready"] == 4, self.service)
        nodes = self.daemon.json("nodes")["nodes"]
        gone = next(n["name"] for n in nodes if len(n["jobs"]) == 2)
        order = ",".join([n["name"] for n in nodes if n["name"] != gone] + [gone])
        change = f"resize:{order}=2xp4d.24xlarge"
        dry = json.loads(self.change("apply", "1", change, "--dry-run", "--json").stdout)
        self.assertEqual(dry["replicas"], [{"service": "rank", "now": 4, "most": 2}])
        self.assertEqual([(m["name"], m["does"], m["switched_off"]) for m in dry["machines"]], [(gone, "drain", True)])
        self.assertEqual((self.service()["ready"], self.states()[gone]), (4, "up"), "a dry run changes nothing")
        # Its intent is durable; nothing of it is done when the daemon dies.
        self.shut.write_text("")
        self.change("apply", "1", change, "--execute", "--force")
        self.daemon.kill(signal.SIGKILL)
        self.assertFalse(self.told.exists() and f"down {gone}" in self.told.read_text())
        self.shut.unlink()
        self.daemon.start()
        self.await_that(lambda: (self.service()["max"], self.service()["ready"]) == (2, 2), self.service)
        self.await_that(lambda: self.states()[gone] == "off", self.states)
        self.assertIn(f"down {gone}", self.told.read_text())
        self.assertIn("at most 2 replicas of rank", json.dumps(self.daemon.ask("GET", "/v1/audit-log")))
        self.change("undo", self.last_number(), "--execute")
        self.await_that(lambda: (self.service()["max"], self.service()["ready"]) == (4, 4), self.service)
        self.await_that(lambda: self.states()[gone] == "up", self.states)
        self.assertIn(f"up {gone}", self.told.read_text())

    def test_a_limit_holds_jobs_of_that_name(self):
        dry = json.loads(self.change("apply", "1", "limit-reservation:evaluate=9h", "--dry-run", "--json").stdout)
        self.assertEqual(dry["time_limits"], [{"job": "evaluate", "seconds": 9 * 3600}])
        self.change("apply", "1", "limit-reservation:evaluate=9h", "--execute", "--force")
        self.daemon.kill()
        self.daemon.start()
        limit = lambda: self.daemon.json("show", self.submit("--queue", "acme", "--name", "evaluate", "--gpus", "1", "--", "x"))["time_limit_s"]
        self.assertEqual(limit(), 9 * 3600)
        self.change("undo", self.last_number(), "--execute")
        self.assertIsNone(limit())

    def test_what_is_beyond_its_reach_says_what_to_do_instead(self):
        for change, instead in (("share:n0=mig:1g.5gb", "cuts none: drain the machine"), ("switch-market:n0=spot", "it is bought of the provider"),
                                ("resize:n0=1xg6e.xlarge", "others have to be there first")):
            done = self.change("apply", "1", change, "--execute", "--force", check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(instead, done.stderr)


class Weeks(unittest.TestCase):
    """A weekly schedule on machines that a program switches, while weeks pass: the daemon's clock is set."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.clock = SetClock(STINT, self.folder)
        self.told = self.folder / "told"
        switch = self.folder / "switch"
        switch.write_text(f"#!/bin/sh\necho $1 $2 >>{self.told}\n")
        switch.chmod(0o755)
        fleet = {"nodes": [machine("n0"), machine("n1")], "queues": [{"name": "acme"}],
                 "power": {"program": str(switch), "every": "1s", "pools": [{"name": "rack", "nodes": ["n0", "n1"], "min": 2, "max": 2}]}}
        self.daemon = RunningDaemon(STINT, self.folder, fleet, environment=self.clock.environment)
        self.addCleanup(self.daemon.stop)
        self.db = str(self.folder / "fleet.db")
        rows = self.folder / "nodes.csv"
        rows.write_text("node,provider,region,instance_type,market,gpu_model,gpu_count\n" + "".join(
            f"{name},aws,us-east-1,p4d.24xlarge,on-demand,A100-40GB,8\n" for name in ("n0", "n1")))
        subprocess.run([STINT, "import", "inventory", str(rows), "--history", self.db], check=True, capture_output=True)

    def change(self, *arguments):
        return self.daemon.stint("change", *arguments, "--history", self.db)

    def await_n0(self, state):
        end = time.monotonic() + 120
        while (states := {n["name"]: n["state"] for n in self.daemon.json("nodes")["nodes"]})["n0"] != state:
            self.assertLess(time.monotonic(), end, states)
            time.sleep(0.1)
        self.assertEqual(states["n1"], "up", "the schedule does not name it")

    def switched(self):
        return self.told.read_text().splitlines() if self.told.exists() else []

    def test_a_machine_is_switched_off_and_on_again_every_week_over_a_kill(self):
        hour = time.gmtime()
        now = hour.tm_wday * 24 + hour.tm_hour
        plan = self.folder / "nights.json"
        plan.write_text(json.dumps({"schema": "stint-changes/1", "currency": "USD", "proposals": [{"id": "nights", "title": "Nights", "changes": [
            {"kind": "schedule-off", "nodes": ["n0"], "off_hours_of_week": sorted([(now + 2) % 168, (now + 3) % 168])}]}]}))
        self.change("apply", "nights", str(plan), "--execute", "--force")
        self.await_n0("up")
        self.assertEqual(self.switched(), [])

        self.clock.ahead(f"+{2 * 3600}")
        self.await_n0("off")
        self.assertEqual(self.switched(), ["down n0"])
        self.daemon.kill(signal.SIGKILL)
        self.daemon.start()
        self.await_n0("off")
        self.assertEqual(self.switched(), ["down n0"], "off is off, over a kill too")

        self.clock.ahead(f"+{4 * 3600}")
        self.await_n0("up")
        self.assertEqual(self.switched(), ["down n0", "up n0"])

        self.clock.ahead(f"+{(168 + 2) * 3600}")
        self.await_n0("off")
        self.assertEqual(self.switched(), ["down n0", "up n0", "down n0"], "the week after")
        self.change("undo", "1", "--execute")
        self.await_n0("up")
        self.assertEqual(self.switched(), ["down n0", "up n0", "down n0", "up n0"])


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
