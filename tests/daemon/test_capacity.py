#!/usr/bin/env python3
"""Machines from nothing: a daemon without any buys what jobs wait for from a simulated cloud, gives it back, and loses nothing when it is killed.

Usage: test_capacity.py STINT
"""
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT = sys.argv.pop(1)


def kind(zone, per_hour, **more):
    return {"instance_type": "p5.48xlarge", "provider": "aws", "region": "us-east-1", "zone": f"us-east-1{zone}", "market": "spot",
            "gpu_model": "H100-80GB", "gpus": 8, "per_hour": per_hour, **more}


CONFIG = {
    "queues": [{"name": "acme"}],
    "power": {
        "simulated_cloud": {"start": "1s", "answer_after": 0.1, "spot_life": 0, "lost_answers": 0.2},
        "every": "1s", "most_per_hour": "100",
        "pools": [{"name": "burst", "max": 3, "up_cooldown": 0, "down_cooldown": 0, "idle_grace": 0,
                   "machines": [kind("a", "40", limit_per_hour="39"), kind("b", "30"), kind("c", "35")]}],
    },
}


def wait_until(what, shown=None, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError(f"it does not come about within {seconds} s" + (f": {shown()}" if shown else ""))


class Capacity(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.daemon = RunningDaemon(STINT, scratch.name, CONFIG)
        self.addCleanup(self.daemon.stop)

    def submit(self, seconds):
        return self.daemon.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["train"], "gpus": 8, "simulated_duration": seconds})["id"]

    def state(self, job):
        return self.daemon.ask("GET", f"/v1/jobs/{job}")["state"]

    def shown(self):
        return self.daemon.stint("cloud", "ls").stdout + self.daemon.stint("nodes").stdout + self.daemon.stint("events", check=False).stdout

    def nodes(self):
        return [node["name"] for node in self.daemon.json("nodes")["nodes"]]

    def test_what_waits_is_bought_within_the_budget_and_given_back(self):
        self.assertEqual(self.nodes(), [])
        jobs = [self.submit(20) for _ in range(4)]
        wait_until(lambda: len(self.nodes()) == 3, self.shown)
        capacity = self.daemon.json("cloud", "ls")
        self.assertEqual({m["pool"] for m in capacity["machines"]}, {"burst/p5.48xlarge/us-east-1b/spot"}, "the cheapest under its limit")
        self.assertEqual({m["per_hour"]["amount"] for m in capacity["machines"]}, {"30"})
        self.assertEqual(capacity["made"], 3)
        wait_until(lambda: all(self.state(job) == "succeeded" for job in jobs), self.shown)
        wait_until(lambda: self.nodes() == [] and self.daemon.json("cloud", "ls")["machines"] == [], self.shown)
        text = self.daemon.stint("cloud", "sweep").stdout
        self.assertIn("simulated cloud listed: 0 known, 0 ended", text)

    def test_killed_at_any_time_it_makes_nothing_twice_and_forgets_nothing(self):
        jobs = [self.submit(25) for _ in range(3)]
        for pause in (0.3, 1.1, 2.3):
            time.sleep(pause)
            self.daemon.kill()
            self.daemon.start()
        wait_until(lambda: len(self.nodes()) == 3, self.shown)
        machines = set(self.nodes())
        ready = {m["name"] for m in self.daemon.json("cloud", "ls")["machines"] if m["state"] == "ready"}
        self.assertEqual(ready, machines)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(set(self.nodes()), machines, "they are there after a restart")
        starts = [self.daemon.ask("GET", f"/v1/jobs/{job}")["starts"] for job in jobs]
        self.assertEqual(starts, [1, 1, 1], "what ran on them goes on")
        wait_until(lambda: all(self.state(job) == "succeeded" for job in jobs), self.shown)
        wait_until(lambda: self.nodes() == [], self.shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
