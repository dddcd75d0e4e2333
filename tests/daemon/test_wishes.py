#!/usr/bin/env python3
"""What a job asks of hours, places and neighbours, as its users meet it: flags, script lines, files, API, why and show.

Usage: test_wishes.py STINT. Nothing here waits for time to pass: prices and deadlines lie hours away.
"""
import datetime
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon_case import DaemonCase  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def hours(n):
    return (NOW + datetime.timedelta(hours=n)).strftime("%Y-%m-%dT%H:%M:%SZ")


def machine(name, rack):
    return {"name": name, "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000, "memory": "512GiB",
            "per_hour": "16", "labels": {"rack": rack}}


# From five hours from now until nine: a quarter of the price.
FLEET = {"nodes": [machine("n0", "r0"), machine("n1", "r0"), machine("n2", "r1")], "queues": [{"name": "acme"}], "topology": ["rack"],
         "prices": [{"machines": ["n*"], "from": [{"at": hours(5), "per_hour": "4"}, {"at": hours(9), "per_hour": "16"}]}]}


class Wishes(DaemonCase):
    program, fleet = STINT, FLEET

    def submit(self, *arguments):
        return super().submit("--queue", "acme", "--simulated-duration", "9h", *arguments)

    def test_a_deferrable_job_says_until_when_it_waits_and_why(self):
        d = self.daemon
        script = pathlib.Path(self.folder) / "night.sh"
        script.write_text(f"#!/bin/sh\n#STINT --gpus 8 --deferrable --time-limit 2h --deadline {hours(12)}\ntrue\n")
        job = self.submit(str(script))
        why = d.json("why", job)
        self.assertEqual((why["state"], why["explanation"]["obstacle"]), ("waiting", "deferred"))
        self.assertEqual(why["explanation"]["starts_at"], hours(5))
        self.assertEqual(why["explanation"]["deferral"], {"latest_start": hours(10), "cost": {"amount": 8.0, "currency": "USD"},
                                                          "cost_now": {"amount": 32.0, "currency": "USD"}})
        self.assertIn(f"until {hours(5)[:-1].replace('T', ' ')} UTC", d.stint("why", job).stdout)
        self.assertIs(d.json("show", job)["deferrable"], True)
        # Its deadline comes before the cheap hours: it starts at once. A restart changes neither.
        soon = self.submit("--gpus", "8", "--deferrable", "--time-limit", "2h", "--deadline", hours(4), "--", "train")
        self.await_state(soon, "running")
        d.kill()
        d.start()
        self.assertEqual(d.json("why", job)["explanation"]["starts_at"], hours(5))
        refused = d.stint("submit", "--queue", "acme", "--deferrable", "--deadline", hours(4), "--", "train", check=False)
        self.assertIn("'time_limit'", refused.stderr)
        for each in (job, soon):
            d.stint("cancel", each)
            self.await_state(each, "cancelled")

    def test_tasks_of_a_gang_may_differ(self):
        d = self.daemon
        job = self.submit("--group", "trainers:tasks=2,gpus=8,required_topology=rack", "--group", "judge:gpus=2", "--", "train")
        shown = self.await_state(job, "running")
        self.assertEqual([(t["node"] in ("n0", "n1"), len(t["gpus"])) for t in shown["placed"]], [(True, 8), (True, 8), (False, 2)])
        self.assertIn("trainers: 2 tasks of 8 GPUs, all in one rack", d.stint("show", job).stdout)
        self.assertEqual(d.ask("GET", f"/v1/jobs/{job}/request")["groups"],
                         [{"name": "trainers", "gpus": 8, "tasks": 2, "required_topology": "rack"}, {"name": "judge", "gpus": 2}])
        file = pathlib.Path(self.folder) / "stages.json"
        file.write_text(json.dumps({"queue": "acme", "jobs": [{"name": "a", "command": ["a"], "on_hold": True,
                                                               "groups": [{"name": "x", "tasks": 3}, {"name": "y"}]}]}))
        stage = d.json("pipeline", "submit", str(file))["jobs"][0]["id"]
        self.assertEqual(d.json("show", stage)["tasks"], 4)
        refused = d.stint("submit", "--queue", "acme", "--gpus", "1", "--group", "a:gpus=1", "--", "train", check=False)
        self.assertIn("field 'gpus'", refused.stderr)
        for each in (job, stage):
            d.stint("cancel", each)
            self.await_state(each, "cancelled")

    def test_neighbours_on_a_gpu_are_kept_apart_as_the_job_says(self):
        d = self.daemon
        part = ["--gpu-milli", "300", "--work-kind", "bert", "--max-slowdown-percent", "20"]
        bert = self.submit(*part, "--", "train")
        first = self.await_state(bert, "running")["placed"][0]
        other = self.submit("--gpu-milli", "300", "--work-kind", "resnet", "--", "train")
        second = self.await_state(other, "running")["placed"][0]
        self.assertNotEqual((first["node"], first["gpus"]), (second["node"], second["gpus"]))
        self.assertEqual((d.json("show", bert)["work_kind"], d.json("show", bert)["max_slowdown_percent"]), ("bert", 20))
        self.assertIn("20 % longer", d.stint("show", bert).stdout)
        refused = d.stint("submit", "--queue", "acme", "--gpus", "1", "--work-kind", "bert", "--", "train", check=False)
        self.assertIn("'work_kind'", refused.stderr)
        for each in (bert, other):
            d.stint("cancel", each)
            self.await_state(each, "cancelled")

    def test_racks_and_neighbours_decide_where_tasks_stand(self):
        d = self.daemon
        gang = self.submit("--gpus", "8", "--tasks", "2", "--required-topology", "rack", "--", "train")
        shown = self.await_state(gang, "running")
        self.assertEqual({task["node"] for task in shown["placed"]}, {"n0", "n1"})
        self.assertEqual(shown["required_topology"], "rack")
        d.stint("cancel", gang)
        self.await_state(gang, "cancelled")
        cache = d.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["cache"], "gpus": 1, "machines": ["n2"], "labels": {"app": "cache"},
                                           "simulated_duration": "9h"})["id"]
        beside = self.submit("--gpus", "1", "--affinity", "app=cache@rack", "--", "train")
        apart = self.submit("--gpus", "1", "--anti-affinity", "app=cache@rack", "--", "train")
        self.assertEqual(self.await_state(beside, "running")["placed"][0]["node"], "n2")
        self.assertIn(self.await_state(apart, "running")["placed"][0]["node"], ("n0", "n1"))
        self.assertEqual(d.json("show", beside)["affinity"], ["app=cache@rack"])
        for each in (cache, beside, apart):
            d.stint("cancel", each)
            self.await_state(each, "cancelled")

    def test_a_stage_whose_result_is_there_is_not_run_again(self):
        d = self.daemon
        file = pathlib.Path(self.folder) / "nightly.json"
        file.write_text(json.dumps({"queue": "acme", "jobs": [
            {"name": "features", "command": ["clean"], "makes": "features-v1", "simulated_duration": "1s"},
            {"name": "train", "command": ["train"], "after": ["features"], "simulated_duration": "1s"}]}))
        first = [job["id"] for job in d.json("pipeline", "submit", str(file))["jobs"]]
        self.assertEqual([self.await_state(job, "succeeded", "skipped")["state"] for job in first], ["succeeded", "succeeded"])
        second = [job["id"] for job in d.json("pipeline", "submit", str(file))["jobs"]]
        states = [self.await_state(job, "succeeded", "skipped") for job in second]
        self.assertEqual([job["state"] for job in states], ["skipped", "succeeded"])
        self.assertEqual((states[0]["starts"], states[0]["makes"]), (0, "features-v1"))


if __name__ == "__main__":
    unittest.main()
