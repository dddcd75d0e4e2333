#!/usr/bin/env python3
"""stint launch against moto (EC2 and S3, signatures checked). A small data centre of the test boots what moto makes: it takes the machine's user
data and runs them as local processes in a folder of their own, with the real stint run, and powers off, takes back or loses machines.

Usage: test_launch.py STINT FAKE_NVML SOURCE_DIR SUITE. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import base64
import email
import fractions
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import peers
import test_machines
from fakecloud import FakeCloud
from test_machines import LIVE, WithMoto, refusal, wait_until
from test_notices import NOW, Metadata

STINT = NVML = SOURCE = None
# moto's of this type are of 2006, and next to nothing.
PRICES = {"us-east-1a": "11.5703", "us-east-1b": "10.9217", "us-east-1c": "12.0411"}
BY_PRICE = sorted(PRICES, key=lambda zone: float(PRICES[zone]))


# The example's training, which goes no further than a file of the test says.
GATED = """
import json, pathlib, sys, time
from stint_checkpoint import Checkpoints
gate, log = map(pathlib.Path, sys.argv[1:])
saved = Checkpoints()
state = saved.restore(lambda folder: json.loads((folder / "state.json").read_text())) or {"step": 0}
while state["step"] < 400:
    while state["step"] >= int(gate.read_text()) and not saved.stop_requested:
        time.sleep(0.02)
    state["step"] += 1
    with open(log, "a") as steps:
        steps.write(f"{state['step']}\\n")
    if state["step"] % 25 == 0 or saved.stop_requested:
        saved.save(f"step-{state['step']}", lambda folder: (folder / "state.json").write_text(json.dumps(state)))
    if saved.stop_requested:
        sys.exit(0)
print("all steps are done")
"""


def spot_prices():
    items = "".join(f"<item><instanceType>p4d.24xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>{price}</spotPrice>"
                    f"<timestamp>2026-11-20T04:32:53.000Z</timestamp><availabilityZone>{zone}</availabilityZone></item>" for zone, price in PRICES.items())
    return 200, [("Content-Type", "text/xml")], ("<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>" + items +
                                                 "</spotPriceHistorySet></DescribeSpotPriceHistoryResponse>").encode()


def pids_with(mark):
    """Processes in whose environment the mark stands."""
    found = []
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found


class BootedMachine:
    """One machine of a pretended cloud as processes here: its user data, run as cloud-init does."""

    def __init__(self, id, zone, name, user_data, env):
        self.id, self.zone, self.name = id, zone, name
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stint-machine-"))
        self.metadata = Metadata()
        self.mark = f"STINT_TEST_MACHINE={self.id}"
        (self.dir / "bin").mkdir()
        # `-P now` is the script's last word; `-P +90` the dead man's switch, of which it is enough that it was set.
        self.put("bin/shutdown", f'#!/bin/sh\necho "$@" >>{self.dir}/shutdown\n')
        parts = [part.get_payload() for part in email.message_from_string(user_data).walk() if part.get_content_type() == "text/x-shellscript"]
        for number, part in enumerate(parts):
            self.put(f"part-{number}", part.replace("/var/lib", f"{self.dir}/lib"))
        self.put("boot", "".join(f"{self.dir}/part-{number}\n" for number in range(len(parts))))
        environment = {"PATH": f"{self.dir}/bin:{os.environ['PATH']}", "HOME": str(self.dir), "STINT_METADATA_ADDRESS": self.metadata.url,
                       "LD_LIBRARY_PATH": str(NVML), "FAKE_NVML_GPUS": "8", **env}
        environment.update([self.mark.split("=", 1)])
        with open(self.dir / "console", "w") as console:
            self.process = subprocess.Popen(["sh", str(self.dir / "boot")], env=environment, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=console,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def put(self, name, text):
        (self.dir / name).write_text(text)
        (self.dir / name).chmod(0o755)

    def switched_off(self):
        told = self.dir / "shutdown"
        return told.exists() and "-P now" in told.read_text()

    def ends_by_itself(self):
        return "-P +" in (self.dir / "shutdown").read_text()

    def taken_back_in(self, seconds):
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + seconds))
        self.metadata.answers["/latest/meta-data/spot/instance-action"] = (200, (), json.dumps({"action": "terminate", "time": until}).encode())

    def power_off(self):
        while pids := pids_with(self.mark):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()
        self.metadata.stop()

    def console(self):
        output = self.dir / "lib/stint/launch/output"
        return (self.dir / "console").read_text() + (output.read_text() if output.exists() else "")


class Booted:
    """What a data centre has booted, and powers off at its end."""

    def __init__(self, env):
        self.env = env
        self.machines, self.over = {}, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def in_order(self):
        return list(self.machines.values())

    def stop(self):
        self.over.set()
        self.thread.join(60)
        for machine in self.machines.values():
            if machine.process.returncode is None:
                machine.power_off()
            shutil.rmtree(machine.dir, ignore_errors=True)


class CloudsCentre(Booted):
    """Boots what fakecloud makes. What powers itself off is gone of EC2, and stands still elsewhere."""

    def __init__(self, cloud, env):
        self.cloud = cloud
        super().__init__(env)

    def look(self):
        while not self.over.wait(0.2):
            with self.cloud.lock:
                self.cloud.settle()
                there = list(self.cloud.machines)
            for made in there:
                machine = self.machines.get(made.id)
                if machine is None and made.state == "running":
                    name = made.tags.get("stint:machine") or made.tags["stint-machine"]
                    self.machines[made.id] = BootedMachine(made.id, made.zone, name, made.user_data, self.env)
                elif machine is not None and machine.process.returncode is None:
                    machine.process.poll()
                    if made.state == "running" and not machine.switched_off():
                        continue
                    machine.power_off()
                    with self.cloud.lock:
                        if made.cloud == "aws":
                            self.cloud.end(made)
                        elif made.state == "running":
                            made.state = "stopped"


class DataCentre(Booted):
    """Boots what moto makes, powers off what is terminated, terminates what powers itself off."""

    def __init__(self, botocore, env):
        self.botocore = botocore
        super().__init__(env)

    def look(self):
        while not self.over.wait(0.2):
            pages = self.botocore.get_paginator("describe_instances").paginate()
            instances = {i["InstanceId"]: i for page in pages for r in page["Reservations"] for i in r["Instances"]}
            for id, instance in instances.items():
                state = instance["State"]["Name"]
                if id not in self.machines and state in LIVE:
                    data = self.botocore.describe_instance_attribute(InstanceId=id, Attribute="userData")["UserData"]
                    if "Value" not in data:
                        continue  # nobody's
                    self.machines[id] = BootedMachine(id, instance["Placement"]["AvailabilityZone"], WithMoto.tags(instance)["stint:machine"],
                                                      base64.b64decode(data["Value"]).decode(), self.env)
                elif id in self.machines and self.machines[id].process.returncode is None:
                    machine = self.machines[id]
                    machine.process.poll()
                    if state not in LIVE or machine.switched_off():
                        machine.power_off()
                        self.botocore.terminate_instances(InstanceIds=[id])


class Launching(WithMoto):
    def setUp(self):
        super().setUp()
        self.peer.s3.create_bucket(Bucket="bucket")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        self.steps = self.dir / "steps"
        self.trouble = lambda form: None  # what a test wants of a form
        self.cloud.act = lambda form: self.trouble(form) or (spot_prices() if form.get("Action") == "DescribeSpotPriceHistory" else None)
        self.env = {**self.cloud.env, "HOME": str(self.dir)}
        self.centre = self.open_centre({name: value for name, value in self.env.items() if name.startswith("AWS")})
        self.addCleanup(self.centre.stop)
        shutil.copytree(SOURCE / "examples/training", self.dir / "code")
        # What the machines fetch is a stand-in of a few bytes for the program under test, which they then run.
        (self.dir / "stint").write_text(f'#!/bin/sh\nexec {shlex.quote(STINT)} "$@"\n')
        self.controllers = []
        self.addCleanup(self.end_controllers)

    def open_centre(self, machines_env):
        return DataCentre(self.botocore, machines_env)

    def where(self):
        """What machines are bought of: options of the command."""
        return ["--image", "ami-12c6146b", "--instance-type", "p4d.24xlarge", "--zone", ",".join(PRICES)]

    def end_controllers(self):
        for process in self.controllers:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def stint(self, *words):
        return subprocess.Popen([STINT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={"PATH": os.environ["PATH"], **self.env})

    def run_stint(self, *words, code=0):
        process = self.stint(*words)
        self.controllers.append(process)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def start(self, *options, command=None, name="night", steps=400):
        command = command or ["python3", "train.py", "--steps", steps, "--save-every", 25, "--step-seconds", 0.01, "--log", self.steps]
        process = self.stint("launch", "--name", name, "--store", "s3://bucket/launches", *self.where(), "--look-every", "1s", "--list-lag", "1s",
                             "--program", self.dir / "stint", "--folder", self.dir / "code", *options, "--", *command)
        self.controllers.append(process)
        return process

    def shown(self):
        log = self.dir / ".local/state/stint/launches/night/log"
        consoles = [f"--- {m.name} {m.zone}\n{m.console()}" for m in self.centre.in_order()]
        return "\n".join([log.read_text() if log.exists() else "no log", *consoles])

    def ends(self, process, code=0):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, f"{out}\n{err}\n{self.shown()}")
        return out, err

    def gated(self):
        """A command that goes as far as let_go_to() says."""
        (self.dir / "code/gated.py").write_text(GATED)
        return ["python3", "gated.py", self.dir / "gate", self.steps]

    def let_go_to(self, step):
        (self.dir / "gate.new").write_text(str(step))
        (self.dir / "gate.new").rename(self.dir / "gate")

    def steps_done(self):
        return len(self.steps.read_text().split()) if self.steps.exists() else 0

    def wait_for_machine(self, number, steps, begins="starts from the beginning"):
        """The machine of that number, once it has done so many steps."""
        wait_until(lambda: len(self.centre.machines) == number and begins in self.centre.in_order()[-1].console(), self.shown)
        reached = self.steps_done()
        wait_until(lambda: self.steps_done() >= reached + steps, self.shown)
        return self.centre.in_order()[-1]


class Story(Launching):
    def test_interrupted_twice_it_is_done_by_the_deadline_and_billed_to_the_cent(self):
        without_stock = set()

        def no_stock(form):
            if form.get("Action") == "RunInstances" and form["Placement.AvailabilityZone"] in without_stock:
                return refusal(500, "InsufficientInstanceCapacity")
            return None
        self.trouble = no_stock
        self.let_go_to(120)
        process = self.start("--deadline", "2h", "--takes", "1h", "--start-up", "1m", "--json", "--data", "s3://bucket/data", "--env", "SEED=7",
                             command=self.gated())
        first = self.wait_for_machine(1, 0)
        wait_until(lambda: self.steps_done() >= 120, self.shown)
        self.assertTrue(first.ends_by_itself(), "the dead man's switch is set")
        self.assertEqual(first.zone, BY_PRICE[0])
        without_stock.add(BY_PRICE[1])
        first.taken_back_in(100)  # a notice: it saves, and goes
        goes_on = "starts from checkpoints/step-"
        second = self.wait_for_machine(2, 0, goes_on)
        self.let_go_to(240)
        wait_until(lambda: "240" in self.steps.read_text().split() and "is copied to" in second.console(), self.shown)
        self.assertEqual(second.zone, BY_PRICE[2], "the next cheapest is out of stock")
        without_stock.clear()
        self.botocore.terminate_instances(InstanceIds=[second.id])  # lost, without a word
        self.let_go_to(400)
        third = self.wait_for_machine(3, 0, goes_on)
        self.assertEqual(third.zone, BY_PRICE[0], "better where one was taken back than none")
        out, err = self.ends(process)
        self.assertIn("out of stock", err)
        self.assertIn("all steps are done", err)
        self.assertEqual(self.instances(), [])
        self.assertEqual(len(self.cloud.tokens), 3)

        bill = json.loads(out)
        self.assertEqual((bill["state"], bill["exit_code"], bill["deadline_met"]), ("ended", 0, True))
        bought = [m for m in bill["machines"] if m["made"]]
        self.assertEqual([m["zone"] for m in bought], [first.zone, second.zone, third.zone])
        self.assertEqual([m["interrupted"] for m in bought], [True, True, False])
        total = fractions.Fraction(0)
        for machine in bought:
            self.assertEqual((machine["market"], float(machine["per_hour"])), ("spot", float(PRICES[machine["zone"]])))
            self.assertGreaterEqual(machine["seconds"], 60)  # a minute at least
            total += fractions.Fraction(str(machine["seconds"])) / 3600 * fractions.Fraction(machine["per_hour"])
        self.assertEqual(round(total, 2), round(fractions.Fraction(bill["cost"]), 2))
        # Each step once, but for what was done after the newest good copies.
        steps = list(map(int, self.steps.read_text().split()))
        self.assertEqual(sorted(set(steps)), list(range(1, 401)))
        out, _ = self.run_stint("cloud", "sweep", "--launches")
        self.assertIn("night: 0 known, 0 ended", out)
        out, _ = self.run_stint("cloud", "ls", "--launches")
        self.assertIn("ended with 0", out)
        self.run_stint("launch", "--resume", "night")  # it is over: the bill again, and nothing bought
        self.assertEqual(len(self.cloud.tokens), 3)


class Ends(Launching):
    def test_the_commands_exit_code_and_no_machine_left(self):
        out, err = self.ends(self.start("--on-demand", "--retries", 0, command=["sh", "-c", "exit 7"]), 7)
        self.assertEqual(self.instances(), [])
        self.assertIn("on-demand", err)
        self.assertIn("in all", err)

    def test_a_quota_is_said_with_its_remedy(self):
        self.trouble = lambda form: refusal(400, "MaxSpotInstanceCountExceeded") if form.get("Action") == "RunInstances" else None
        _, err = self.ends(self.start(), 1)
        self.assertIn("quota", err)
        self.assertIn("Service Quotas", err)
        self.assertEqual(self.cloud.tokens, {})

    def test_stopped_it_gives_its_machine_back(self):
        process = self.start()
        self.wait_for_machine(1, 5)
        process.send_signal(signal.SIGINT)
        _, err = self.ends(process, 130)
        self.assertIn("--resume night", err)
        self.assertEqual(len(self.instances()), 1, "who leaves lets it run")
        out, _ = self.run_stint("cloud", "ls", "--launches")
        self.assertIn("night-1", out)
        _, err = self.run_stint("launch", "--stop", "night")
        self.assertEqual(self.instances(), [])
        self.assertIn("in all", err)

    def test_other_clouds_are_refused_with_what_works(self):
        _, err = self.ends(self.start("--cloud", "gcp"), 1)
        self.assertIn("--clouds clouds.json", err)

    def test_a_deadline_that_cannot_be_met_is_refused_before_anything_is_bought(self):
        _, err = self.ends(self.start("--deadline", "2h", "--takes", "3h"), 1)
        self.assertIn("cannot be met", err)
        self.assertEqual(self.cloud.told("RunInstances"), [])

    def test_a_dry_run_buys_nothing(self):
        out, _ = self.ends(self.start("--dry-run"))
        self.assertEqual([line.split()[1] for line in out.splitlines() if line.startswith("p4d")],
                         BY_PRICE)
        self.assertEqual(self.cloud.told("RunInstances"), [])
        self.assertFalse((self.dir / ".local").exists())

    def test_machines_without_their_gpus_are_not_kept(self):
        self.centre.env = {**self.centre.env, "FAKE_NVML_GPUS": "7"}
        process = self.start()
        wait_until(lambda: len(self.centre.machines) >= 2, self.shown)
        process.kill()
        _, err = process.communicate()
        self.assertIn("unfit: 7 GPUs of 8 are there", err)


class Killed(Launching):
    def kill_at(self, action, when):
        """The controller dies as the order reaches EC2: before or after it is carried out."""
        trap = {"set": True}

        def springs(form):
            if not trap or form.get("Action") != action:
                return False
            trap.clear()
            self.controllers[-1].kill()
            return True
        self.trouble = lambda form: "cut" if when == "before" and springs(form) else None
        self.cloud.after = lambda form: springs(form) if when == "after" else None

    def test_between_intent_and_machine_or_after_there_is_one_machine(self):
        for when in ("before", "after"):
            with self.subTest(when):
                self.steps.unlink(missing_ok=True)
                name, bought = f"killed-{when}", len(self.cloud.tokens)
                self.kill_at("RunInstances", when)
                process = self.start(name=name, steps=100)
                process.communicate(timeout=120)
                self.assertEqual(process.returncode, -signal.SIGKILL)
                log = (self.dir / f".local/state/stint/launches/{name}/log").read_text()
                self.assertIn("\tasked\t", log, "what it intended was on the disk")
                self.assertEqual(len(self.instances()), 0 if when == "before" else 1)
                resumed = self.stint("launch", "--resume", name)
                self.controllers.append(resumed)
                wait_until(lambda: self.steps_done() >= 5, self.shown)
                self.assertEqual(len(self.instances()), 1)
                self.kill_at("TerminateInstances", when)
                resumed.communicate(timeout=120)
                self.run_stint("launch", "--resume", name)
                self.assertEqual(self.instances(), [])
                self.assertEqual(len(self.cloud.tokens), bought + 1, "one machine was bought")
                out, _ = self.run_stint("cloud", "sweep", "--launches")
                self.assertIn(f"{name}: 0 known, 0 ended", out)

    def test_a_sweep_ends_what_is_not_known_and_leaves_what_is(self):
        process = self.start()
        machine = self.wait_for_machine(1, 5)
        process.kill()
        process.communicate()
        known = next(i for i in self.instances() if i["InstanceId"] == machine.id)
        for owner in (self.tags(known)["stint:fleet"], "stint-launch-another"):
            self.botocore.run_instances(ImageId="ami-12c6146b", InstanceType="t3.micro", MinCount=1, MaxCount=1, UserData="", TagSpecifications=[
                {"ResourceType": "instance", "Tags": [{"Key": "stint:fleet", "Value": owner}, {"Key": "stint:machine", "Value": "stray"}]}])
        out, _ = self.run_stint("cloud", "sweep", "--launches")
        self.assertIn("night: 1 known, 1 ended", out)
        self.assertEqual(sorted(self.tags(i)["stint:fleet"] for i in self.instances()),
                         sorted([self.tags(known)["stint:fleet"], "stint-launch-another"]))
        self.run_stint("launch", "--stop", "night")
        self.assertEqual([self.tags(i)["stint:fleet"] for i in self.instances()], ["stint-launch-another"])


class Clouds(Launching):
    """Machines of three clouds, the pretended ones of fakecloud.py; code, checkpoints and output in moto's S3."""
    TYPES = {"aws": ("p4d.24xlarge", "us-east-1a"), "gcp": ("a2-highgpu-8g", "us-central1-a"), "azure": ("Standard_ND96asr_v4", "eastus")}

    def open_centre(self, machines_env):
        self.clouds = FakeCloud(key=self.peer.KEY)
        self.addCleanup(self.clouds.stop)
        self.env = {**self.clouds.env, **self.env, "AWS_ENDPOINT_URL_EC2": self.clouds.url}
        # Dearer than what the catalogue says of Google's and Azure's.
        self.clouds.prices = {("p4d.24xlarge", "us-east-1a", "spot"): [(0, "19.5")], ("a2-highgpu-8g", "us-central1-a", "spot"): [(0, "15.42416")]}
        (self.dir / "clouds.json").write_text(json.dumps({
            "aws": {"regions": [{"region": "us-east-1", "image": "ami-12c6146b"}], "tags": {"team": "ml"}},
            "gcp": {"project": "p", "image": "projects/p/global/images/i", "labels": {"team": "ml"}},
            "azure": {"subscription": "s", "resource_group": "g", "image": "a:b:c:latest", "ssh_key": "ssh-rsa AAAA",
                      "identity": "/subscriptions/s/identities/i", "regions": [{"region": "eastus", "subnet": "/subscriptions/s/subnets/a"}]}}))
        return CloudsCentre(self.clouds, machines_env)

    def where(self):
        return ["--clouds", self.dir / "clouds.json", "--gpu", "A100-40GB", "--gpus", "8"]

    def orders(self):
        return [cloud for cloud, action, name in self.clouds.requests if action in ("insert", "put", "RunInstances")]

    def set_stock(self, cloud, number):
        kind, zone = self.TYPES[cloud]
        self.clouds.stock[(kind, zone, "spot")] = number

    def test_all_clouds_compete_by_price(self):
        out, err = self.ends(self.start("--dry-run"))
        rows = [line.split() for line in out.splitlines()[1:] if line.split() and line.split()[-1] in self.TYPES]
        self.assertEqual({(row[-1], row[0], row[1]) for row in rows}, {(cloud, *of) for cloud, of in self.TYPES.items()})
        prices = [float(row[3]) for row in rows]
        self.assertEqual(prices, sorted(prices))
        self.assertEqual([float(row[3]) for row in rows if row[-1] == "aws"], [19.5])
        out, _ = self.ends(self.start("--dry-run", "--cloud", "gcp,aws"))
        self.assertNotIn("azure", out)
        # One that cannot be asked keeps none of the others out.
        self.clouds.faults = lambda cloud, action, name: "forbidden" if cloud == "gcp" else None
        out, err = self.ends(self.start("--dry-run"))
        self.assertNotIn("gcp", out)
        self.assertIn("azure", out)
        self.assertIn("Compute Engine machineTypes.aggregatedList", err)
        self.assertEqual(self.orders(), [])

    def test_without_stock_the_next_cloud_s_machine_is_bought_and_what_is_lost_goes_on_at_another(self):
        self.set_stock("azure", 0)
        self.let_go_to(120)
        process = self.start("--json", command=self.gated())
        first = self.wait_for_machine(1, 0)
        wait_until(lambda: self.steps_done() >= 120, self.shown)
        self.assertEqual((first.zone, self.orders()), ("us-central1-a", ["azure", "gcp"]))
        self.assertTrue(first.ends_by_itself(), "the dead man's switch is set")
        wait_until(lambda: "is copied to" in first.console(), self.shown)
        [lost] = [m for m in self.clouds.machines if m.cloud == "gcp"]
        with self.clouds.lock:
            self.clouds.end(lost)
        second = self.wait_for_machine(2, 0, "starts from checkpoints/step-")
        self.let_go_to(400)
        self.assertEqual(second.zone, "us-east-1a", "Google's is passed over, and Azure's left alone")
        out, err = self.ends(process)
        self.assertIn("out of stock", err)
        self.assertEqual(self.clouds.live(), [])
        bill = json.loads(out)
        bought = [m for m in bill["machines"] if m["made"]]
        self.assertEqual([(m["provider"], m["instance_type"], float(m["per_hour"])) for m in bought],
                         [("gcp", "a2-highgpu-8g", 15.42416), ("aws", "p4d.24xlarge", 19.5)])
        total = sum(fractions.Fraction(str(m["seconds"])) / 3600 * fractions.Fraction(m["per_hour"]) for m in bought)
        self.assertEqual(round(total, 2), round(fractions.Fraction(bill["cost"]), 2))
        self.assertEqual(sorted(set(map(int, self.steps.read_text().split()))), list(range(1, 401)))
        # A sweep that cannot read one of the clouds says so.
        out, _ = self.run_stint("cloud", "sweep", "--launches")
        self.assertIn("night: 0 known, 0 ended", out)
        self.clouds.faults = lambda cloud, action, name: "forbidden" if cloud == "azure" else None
        _, err = self.run_stint("cloud", "sweep", "--launches", code=1)
        self.assertIn("Azure cannot be read", err)

    def test_on_azure_too_the_machine_is_given_back_at_the_end(self):
        self.ends(self.start("--cloud", "azure", steps=50))
        self.assertEqual(self.orders(), ["azure"])
        self.assertEqual([m.state for m in self.clouds.machines], ["gone"])

    def test_a_clouds_file_that_is_wrong_is_named(self):
        (self.dir / "clouds.json").write_text('{"gcp": {"project": "p"}}')
        _, err = self.ends(self.start("--dry-run"), 1)
        self.assertIn("clouds.json: gcp: field 'image'", err)
        (self.dir / "clouds.json").write_text("{}")
        _, err = self.ends(self.start("--dry-run"), 1)
        self.assertIn("one of `aws`, `gcp` and `azure`", err)


if __name__ == "__main__":
    STINT, NVML, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).parent, pathlib.Path(sys.argv[3])
    test_machines.SOURCE = SOURCE
    peers.need(SOURCE, "moto")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *([sys.argv[4]] if len(sys.argv) == 5 else [f"{sys.argv[4]}.{name}" for name in sys.argv[5:]])],
                  verbosity=2)
