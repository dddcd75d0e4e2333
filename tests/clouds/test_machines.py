#!/usr/bin/env python3
"""Machines of EC2 against moto (signatures checked): bought, found, given back, and none forgotten when the daemon is killed. What moto holds
is looked at by botocore.

Usage: test_machines.py CLOUD_TOOL STINT SOURCE_DIR SUITE. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
KILLS in the environment: how often the daemon is killed (20).
"""
import base64
import collections
import contextlib
import http.client
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import peers
from pool_daemon import PoolJobs, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running_daemon import RunningDaemon  # noqa: E402

TOOL = STINT = SOURCE = None
LIVE = ("pending", "running", "stopping", "stopped")


def refusal(status, code):
    return status, [("Content-Type", "text/xml")], f"<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>".encode()


class Cloud:
    """moto behind a proxy that keeps to EC2's words where moto does not: a ClientToken makes one machine, whatever is told twice."""

    def __init__(self, peer, keeps_tokens=True):
        self.keeps_tokens = keeps_tokens
        self.tokens = {}
        self.forms = []
        self.act = lambda form: None  # what the test wants of a form
        self.after = lambda form: None  # it was carried out, and is not answered
        self.front = peers.Through(peer.port, verify=peer.verify, see=self.see, seen=self.seen)
        self.env = {**peer.env, "AWS_ENDPOINT_URL_EC2": self.front.url}

    def see(self, form):
        self.forms.append(form)
        verdict = self.act(form)
        if verdict is None and self.keeps_tokens and form.get("ClientToken") in self.tokens:
            return 200, [("Content-Type", "text/xml")], self.tokens[form["ClientToken"]]
        return verdict

    def seen(self, form, status, text):
        if form.get("Action") == "RunInstances" and status == 200:
            self.tokens[form["ClientToken"]] = text
        self.after(form)

    def told(self, action):
        return [form for form in self.forms if form.get("Action") == action]


class WithMoto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = peers.Moto(SOURCE)
        import boto3
        cls.botocore = boto3.client("ec2", endpoint_url=cls.peer.url, region_name="us-east-1", aws_access_key_id="x",
                                    aws_secret_access_key="x")

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def setUp(self):
        urllib.request.urlopen(urllib.request.Request(self.peer.url + "/moto-api/reset", method="POST")).close()
        self.cloud = Cloud(self.peer)
        self.addCleanup(lambda: self.cloud.front.stop())

    def instances(self, states=LIVE):
        pages = self.botocore.get_paginator("describe_instances").paginate(Filters=[{"Name": "instance-state-name", "Values": list(states)}])
        return [i for page in pages for reservation in page["Reservations"] for i in reservation["Instances"]]

    @staticmethod
    def tags(instance):
        return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}

    def names(self):
        return sorted(self.tags(i).get("stint:machine") for i in self.instances())


class Machines(WithMoto):
    def tool(self, *words, owner="stint-me", env=None):
        done = subprocess.run([TOOL, owner, *words], capture_output=True, text=True, timeout=120,
                              env={"PATH": os.environ["PATH"], "HOME": self.peer.dir, **self.cloud.env, **(env or {})})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.splitlines()

    def test_a_spot_machine_is_what_was_ordered(self):
        self.assertEqual(self.tool("create", "us-east-1b", "spot", "burst-1"), ["burst-1 made "])
        [machine] = self.instances()
        self.assertEqual(machine["InstanceType"], "p4d.24xlarge")
        self.assertEqual(machine["Placement"]["AvailabilityZone"], "us-east-1b")
        self.assertEqual(machine["InstanceLifecycle"], "spot")
        self.assertEqual(self.tags(machine),
                         {"stint:fleet": "stint-me", "stint:machine": "burst-1", "Name": "burst-1", "team": "ml"})
        ask = self.botocore.describe_instance_attribute
        behaviour = ask(InstanceId=machine["InstanceId"], Attribute="instanceInitiatedShutdownBehavior")
        self.assertEqual(behaviour["InstanceInitiatedShutdownBehavior"]["Value"], "terminate")
        data = base64.b64decode(ask(InstanceId=machine["InstanceId"], Attribute="userData")["UserData"]["Value"]).decode()
        self.assertIn("echo 'burst-1' >/var/lib/stint/machine", data)
        self.assertIn("+ 3600", data)
        self.assertIn("exec shutdown -P", data)

    def test_an_on_demand_machine_is_no_spot_machine(self):
        self.tool("create", "us-east-1a", "on-demand", "burst-1")
        self.assertNotIn("InstanceLifecycle", self.instances()[0])

    def test_told_twice_there_is_one(self):
        for _ in range(2):
            self.assertEqual(self.tool("create", "us-east-1a", "spot", "burst-1"), ["burst-1 made "])
        self.assertEqual(self.names(), ["burst-1"])

    def test_an_answer_that_is_lost_is_asked_for_again(self):
        lost = []

        def lose(form):
            if form.get("Action") == "RunInstances" and not lost:
                lost.append(form)
                return "lose"
            return None
        self.cloud.act = lose
        self.assertEqual(self.tool("create", "us-east-1a", "spot", "burst-1"), ["burst-1 made "])
        self.assertEqual(self.names(), ["burst-1"])
        self.assertEqual(len(self.cloud.told("RunInstances")), 2)

    def test_the_list_has_all_pages_and_no_others_machines(self):
        names = [f"burst-{n}" for n in range(12)]
        self.tool("create", "us-east-1a", "spot", *names)
        self.tool("create", "us-east-1a", "spot", "burst-1", owner="stint-other")
        self.cloud.forms.clear()
        lines = [line.split() for line in self.tool("list", env={"PAGE": "5"})]
        self.assertEqual(sorted(name for name, _, _ in lines), sorted(names))
        self.assertEqual({state for _, _, state in lines} - {"coming", "ready"}, set())
        self.assertEqual({id for _, id, _ in lines},
                         {i["InstanceId"] for i in self.instances() if self.tags(i)["stint:fleet"] == "stint-me"})
        self.assertEqual(len(self.cloud.told("DescribeInstances")), 3)

    def test_what_is_ended_is_gone_and_others_stay(self):
        self.tool("create", "us-east-1a", "spot", "a", "b", "c")
        self.tool("create", "us-east-1a", "spot", "a", owner="stint-other")
        self.assertEqual(sorted(self.tool("destroy", "a", "none", "b")), ["a gone ", "b gone ", "none gone "])
        self.assertEqual(sorted((self.tags(i)["stint:fleet"], self.tags(i)["stint:machine"]) for i in self.instances()),
                         [("stint-me", "c"), ("stint-other", "a")])
        self.assertEqual({line.split()[0]: line.split()[2] for line in self.tool("list")}["a"], "going")

    def test_what_somebody_stopped_is_ended(self):
        self.tool("create", "us-east-1a", "on-demand", "a")
        self.botocore.stop_instances(InstanceIds=[self.instances()[0]["InstanceId"]])
        self.tool("list")
        self.assertEqual(self.instances(), [])

    def test_todays_spot_price(self):
        [line] = self.tool("offers", "us-east-1a", "spot")
        told = self.botocore.describe_spot_price_history(InstanceTypes=["p4d.24xlarge"], Filters=[
            {"Name": "instance-type", "Values": ["p4d.24xlarge"]}])["SpotPriceHistory"]
        self.assertEqual(float(line.split()[1]), max(float(p["SpotPrice"]) for p in told if p["AvailabilityZone"] == "us-east-1a"))

    def test_keys_that_are_refused_make_nothing(self):
        [line] = self.tool("create", "us-east-1a", "spot", "a", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.assertTrue(line.startswith("a credentials EC2 RunInstances in us-east-1: the credentials are not accepted"), line)
        self.assertEqual(self.instances(), [])

    def test_refusals_are_told_apart(self):
        for code, status, outcome in (("InsufficientInstanceCapacity", 500, "out of stock"), ("VcpuLimitExceeded", 400, "quota"),
                                      ("RequestLimitExceeded", 503, "throttled"), ("InvalidAMIID.NotFound", 400, "refused"),
                                      ("InternalError", 500, "unknown")):
            with self.subTest(code=code):
                self.cloud.act = lambda form, code=code, status=status: refusal(status, code)
                [line] = self.tool("create", "us-east-1a", "spot", "a")
                self.assertTrue(line.startswith(f"a {outcome} "), line)
                self.assertIn(code, line)


def kind(zone, market="spot", per_hour="30", **more):
    return {"instance_type": "p4d.24xlarge", "zone": f"us-east-1{zone}", "market": market, "gpu_model": "A100-40GB", "gpus": 8,
            "per_hour": per_hour, **more}


class Daemon(PoolJobs, WithMoto):
    def start(self, kinds, most=1):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        config = {"queues": [{"name": "acme"}], "power": {
            "aws": {"regions": [{"region": "us-east-1", "image": "ami-12c6146b"}], "list_lag": "1s"}, "every": "1s",
            "pools": [{"name": "burst", "max": most, "target_utilization": 1, "up_cooldown": 0, "down_cooldown": 0, "idle_grace": 0, "machines": kinds}]}}
        self.daemon = RunningDaemon(STINT, scratch.name, config, environment=self.cloud.env)
        self.addCleanup(self.daemon.stop)

    def shown(self):
        return f"{self.names()}\n" + "".join(self.daemon.stint(*words, check=False).stdout for words in (("cloud", "ls"), ("nodes",), ("events",)))

    def ready(self):
        return sorted(m["name"] for m in self.daemon.json("cloud", "ls")["machines"] if m["state"] == "ready")

    def test_a_job_that_waits_buys_a_machine_and_gives_it_back(self):
        self.start([kind("a")])
        self.assertIn("machines are bought of AWS and cost money", self.daemon.log.read_text())
        job = self.submit(10)
        wait_until(lambda: self.names(), self.shown)
        [machine] = self.instances()
        self.assertEqual(machine["InstanceLifecycle"], "spot")
        self.assertTrue(self.tags(machine)["stint:fleet"].startswith("stint-"))
        wait_until(lambda: self.daemon.ask("GET", f"/v1/jobs/{job}")["state"] == "succeeded", self.shown)
        wait_until(lambda: not self.names(), self.shown)
        self.assertEqual(len(self.cloud.tokens), 1)
        self.assertIn("AWS listed: 0 known, 0 ended", self.daemon.stint("cloud", "sweep").stdout)

    def test_without_stock_the_next_is_tried_at_once_and_a_quota_is_said(self):
        def act(form):
            zone = form.get("Placement.AvailabilityZone")
            if form.get("Action") != "RunInstances" or zone == "us-east-1c":
                return None
            return refusal(500, "InsufficientInstanceCapacity") if zone == "us-east-1a" else refusal(400, "MaxSpotInstanceCountExceeded")
        self.cloud.act = act
        self.start([kind("a"), kind("b"), kind("c", "on-demand", "40", order=1)])
        self.submit()
        wait_until(self.ready, self.shown)
        [machine] = self.instances()
        self.assertEqual(machine["Placement"]["AvailabilityZone"], "us-east-1c")
        tried = collections.Counter(form["Placement.AvailabilityZone"] for form in self.cloud.told("RunInstances"))
        self.assertEqual(tried, {"us-east-1a": 1, "us-east-1b": 1, "us-east-1c": 1})
        shut = {each["pool"]: each["why"] for each in self.daemon.json("cloud", "ls")["left_alone"]}
        self.assertIn("out of stock", shut["burst/p4d.24xlarge/us-east-1a/spot"])
        self.assertIn("quota", shut["burst/p4d.24xlarge/us-east-1b/spot"])

    def test_what_is_there_twice_or_unknown_is_swept(self):
        self.cloud.keeps_tokens = False  # as moto does it
        lost = []

        def lose(form):
            if form.get("Action") == "RunInstances" and not lost:
                lost.append(form)
                return "lose"
            return None
        self.cloud.act = lose
        self.start([kind("a")])
        self.submit()
        wait_until(lambda: len(self.instances(("terminated",))) == 1 and self.names() == self.ready(), self.shown)
        self.assertEqual(len(self.names()), 1)
        self.assertEqual(len(self.cloud.told("RunInstances")), 2)
        [known] = self.instances()
        stray = [{"Key": "stint:fleet", "Value": self.tags(known)["stint:fleet"]}, {"Key": "stint:machine", "Value": "forgotten"}]
        others = [{"Key": "stint:fleet", "Value": "stint-other"}, {"Key": "stint:machine", "Value": "theirs"}]
        for tags in (stray, others):
            self.botocore.run_instances(ImageId="ami-12c6146b", InstanceType="t3.micro", MinCount=1, MaxCount=1,
                                        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])
        self.daemon.stint("cloud", "sweep")
        wait_until(lambda: self.names() == sorted([self.tags(known)["stint:machine"], "theirs"]), self.shown)

    def test_killed_around_its_orders_it_buys_once_and_forgets_none(self):
        rounds = int(os.environ.get("KILLS") or 20) // 2
        self.start([kind("a"), kind("b")], most=20)
        dead = threading.Event()
        trap = {}

        def springs(when, form):
            if trap.get("action") != form.get("Action") or trap.get("when") != when:
                return False
            trap.clear()
            self.daemon.process.send_signal(signal.SIGKILL)
            self.daemon.process.wait()
            dead.set()
            return True

        def act(form):
            if springs("before it is done", form):
                return "cut"
            return "lose" if trap.get("action") == form.get("Action") else None
        self.cloud.act = act
        self.cloud.after = lambda form: springs("after it is done", form)

        def kill_at(action, when, cause):
            dead.clear()
            trap.update(action=action, when=when)
            with contextlib.suppress(OSError, http.client.HTTPException):  # it may be dead before it answers
                cause()
            self.assertTrue(dead.wait(120), f"no {action} comes: {self.shown() if self.daemon.process.poll() is None else 'it is dead'}")
            self.daemon.start()
        times = ("before it is done", "after it is done")
        for number in range(rounds):
            kill_at("RunInstances", times[number % 2], self.submit)
            wait_until(lambda: len(self.names()) == 1 and self.ready() == self.names(), self.shown)
            self.assertEqual(len(self.cloud.tokens), number + 1, "nothing was bought that no job waited for")
            kill_at("TerminateInstances", times[number // 2 % 2], self.cancel_all)
            wait_until(lambda: not self.names(), self.shown)
        self.daemon.stint("cloud", "sweep")
        self.assertEqual(self.names(), [])
        self.assertEqual(len(self.instances(("terminated",))), rounds, "each was there once")


if __name__ == "__main__":
    TOOL, STINT, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    peers.need(SOURCE, "moto")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *([sys.argv[4]] if len(sys.argv) == 5 else [f"{sys.argv[4]}.{name}" for name in sys.argv[5:]])],
                  verbosity=2)
