#!/usr/bin/env python3
"""The pretended cloud (fakecloud.py): that Amazon's, Google's and Microsoft's own clients take it for theirs, and what Stint does with it: machines
bought, found and given back on three clouds, and a controller that is killed at any instant.

Usage: test_fakecloud.py CLOUD_TOOL STINT SOURCE_DIR SUITE. Clients alone needs what scripts/setup-cloud-peers fetches; without, it exits with 77.
In the environment KILLS: how often the controller is killed (30); MACHINES: how many are listed (2000).
"""
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import peers
from fakecloud import TOKEN, FakeCloud

TOOL = STINT = SOURCE = None
ZONES = {"aws": "us-east-1a", "gcp": "us-central1-a", "azure": "eastus-1"}


def wait_until(what, shown=None, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"it does not come about within {seconds} s" + (f": {shown()}" if shown else ""))


class WithCloud(unittest.TestCase):
    def setUp(self):
        self.cloud = FakeCloud()
        self.addCleanup(self.cloud.stop)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.dir), **self.cloud.env, **more}

    def tool(self, *words, owner="stint-me", clouds="aws", **more):
        done = subprocess.run([TOOL, owner, *map(str, words)], capture_output=True, text=True, timeout=300, env=self.environment(CLOUDS=clouds, **more))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.splitlines()

    def told(self, *actions):
        return [request for request in self.cloud.requests if request[1] in actions]


class Clients(WithCloud):
    """botocore, google-api-python-client and azure-mgmt-compute, each with its own reading of the wire."""

    def test_amazons(self):
        import boto3
        ec2 = boto3.client("ec2", endpoint_url=self.cloud.url, region_name="us-east-1", aws_access_key_id="AKIDFAKE", aws_secret_access_key="s")
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "stint:fleet", "Value": "f"}, {"Key": "stint:machine", "Value": "m-1"}]}]
        order = {"ImageId": "ami-1", "InstanceType": "p4d.24xlarge", "MinCount": 1, "MaxCount": 1, "ClientToken": "t", "TagSpecifications": tags,
                 "Placement": {"AvailabilityZone": "us-east-1b"}, "InstanceMarketOptions": {"MarketType": "spot"}}
        made = [ec2.run_instances(**order)["Instances"][0] for _ in range(2)]
        self.assertEqual(made[0]["InstanceId"], made[1]["InstanceId"], "a token makes one machine")
        self.assertEqual((made[0]["InstanceLifecycle"], made[0]["Placement"]["AvailabilityZone"]), ("spot", "us-east-1b"))
        for n in range(7):
            ec2.run_instances(**{**order, "ClientToken": f"more-{n}"})
        pages = ec2.get_paginator("describe_instances").paginate(Filters=[{"Name": "tag:stint:fleet", "Values": ["f"]}], PaginationConfig={"PageSize": 5})
        found = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
        self.assertEqual(len({i["InstanceId"] for i in found}), 8)
        self.assertEqual({t["Key"]: t["Value"] for t in found[0]["Tags"]}, {"stint:fleet": "f", "stint:machine": "m-1"})
        self.cloud.interrupt(self.cloud.machines[0])
        marked = ec2.describe_spot_instance_requests(Filters=[{"Name": "status-code", "Values": ["marked-for-termination"]}])["SpotInstanceRequests"]
        self.assertEqual([(r["InstanceId"], r["Status"]["Code"]) for r in marked], [(made[0]["InstanceId"], "marked-for-termination")])
        self.cloud.advance(121)
        gone = ec2.describe_instances(InstanceIds=[made[0]["InstanceId"]])["Reservations"][0]["Instances"][0]
        self.assertEqual((gone["State"]["Name"], gone["StateReason"]["Code"]), ("terminated", "Server.SpotInstanceTermination"))
        self.assertEqual(ec2.terminate_instances(InstanceIds=[found[1]["InstanceId"]])["TerminatingInstances"][0]["CurrentState"]["Name"], "shutting-down")
        self.cloud.prices[("p4d.24xlarge", "us-east-1a", "spot")] = [(0, "11.5703")]
        price = ec2.describe_spot_price_history(InstanceTypes=["p4d.24xlarge"], Filters=[{"Name": "instance-type", "Values": ["p4d.24xlarge"]}])
        self.assertEqual(price["SpotPriceHistory"][0]["SpotPrice"], "11.5703")
        sold = ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["p4d.24xlarge"]}])
        self.assertIn("us-east-1a", {place["Location"] for place in sold["InstanceTypeOfferings"]})
        self.cloud.stock[("p4d.24xlarge", "us-east-1b", "spot")] = 0
        with self.assertRaises(ec2.exceptions.ClientError) as refused:
            ec2.run_instances(**{**order, "ClientToken": "without-stock"})
        self.assertEqual(refused.exception.response["Error"]["Code"], "InsufficientInstanceCapacity")

    def test_googles(self):
        try:
            import google.oauth2.credentials
            from googleapiclient.discovery import build
            from googleapiclient.errors import HttpError
        except ImportError:
            self.skipTest("google-api-python-client is missing: run scripts/setup-cloud-peers")
        compute = build("compute", "v1", static_discovery=True, client_options={"api_endpoint": self.cloud.url + "/compute/v1/"},
                        credentials=google.oauth2.credentials.Credentials(TOKEN))
        # What Stint orders is what Google's client sends on, and by Google's own schema it is a machine.
        self.tool("create", ZONES["gcp"], "spot", "burst-1", clouds="gcp")
        [ours] = self.cloud.machines
        self.assert_is(compute._schema, "Instance", ours.asked)
        where = {"project": "p", "zone": ZONES["gcp"]}
        body = {**ours.asked, "name": "other", "labels": {"stint-fleet": "f"}}
        operation = compute.instances().insert(**where, body=body, requestId="8c8a2a9e-0000-4000-8000-000000000001").execute()
        again = compute.instances().insert(**where, body=body, requestId="8c8a2a9e-0000-4000-8000-000000000001").execute()
        self.assertEqual(operation["name"], again["name"])
        self.assert_is(compute._schema, "Operation", operation)
        done = compute.zoneOperations().wait(**where, operation=operation["name"]).execute()
        self.assertEqual(done["status"], "DONE")
        machine = compute.instances().get(**where, instance="other").execute()
        self.assert_is(compute._schema, "Instance", machine)
        self.assertEqual(machine["scheduling"]["provisioningModel"], "SPOT")
        listed = compute.instances().aggregatedList(project="p", filter="labels.stint-fleet=f").execute()
        self.assert_is(compute._schema, "InstanceAggregatedList", listed)
        self.assertEqual([i["name"] for scope in listed["items"].values() for i in scope["instances"]], ["other"])
        self.assert_is(compute._schema, "Region", compute.regions().get(project="p", region="us-central1").execute())
        compute.instances().delete(**where, instance="other").execute()
        with self.assertRaises(HttpError) as missing:
            compute.instances().get(**where, instance="other").execute()
        self.assertEqual(missing.exception.status_code, 404)
        self.cloud.stock[("a2-highgpu-8g", ZONES["gcp"], "spot")] = 0
        operation = compute.instances().insert(**where, body={**body, "name": "third"}).execute()
        failed = compute.zoneOperations().get(**where, operation=operation["name"]).execute()
        self.assert_is(compute._schema, "Operation", failed)
        self.assertTrue(failed["error"]["errors"][0]["code"].startswith("ZONE_RESOURCE_POOL_EXHAUSTED"))

    def assert_is(self, schemas, name, value, where=""):
        """By the discovery document: no unknown member, each of its type (int64 as text), each of an enumeration's values."""
        schema = schemas.get(name) if isinstance(name, str) else name
        if "$ref" in schema:
            return self.assert_is(schemas, schema["$ref"], value, where)
        kind = schema.get("type")
        if kind == "object":
            self.assertIsInstance(value, dict, where)
            for key, member in value.items():
                known = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
                self.assertIsNotNone(known, f"{where}.{key} is not known to Google")
                self.assert_is(schemas, known, member, f"{where}.{key}")
        elif kind == "array":
            self.assertIsInstance(value, list, where)
            for member in value:
                self.assert_is(schemas, schema["items"], member, where + "[]")
        elif kind == "string":
            self.assertIsInstance(value, str, where)
            if "enum" in schema:
                self.assertIn(value, schema["enum"], where)
        elif kind == "boolean":
            self.assertIsInstance(value, bool, where)
        elif kind in ("integer", "number"):
            self.assertIsInstance(value, (int, float), where)
            self.assertNotIsInstance(value, bool, where)
        return None

    def test_microsofts(self):
        try:
            from azure.core.credentials import AccessToken
            from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
            from azure.mgmt.compute import ComputeManagementClient
        except ImportError:
            self.skipTest("azure-mgmt-compute is missing: run scripts/setup-cloud-peers")

        class Keys:
            def get_token(self, *scopes, **kwargs):
                return AccessToken(TOKEN, int(time.time()) + 3600)
        client = ComputeManagementClient(Keys(), "s", base_url=self.cloud.url, credential_scopes=["https://management.azure.com/.default"], polling_interval=0)
        plain = {"enforce_https": False}
        self.tool("create", ZONES["azure"], "spot", "burst-1", clouds="azure")
        [ours] = self.cloud.machines
        made = client.virtual_machines.begin_create_or_update("g", "other", ours.asked, **plain).result()
        self.assertEqual((made.name, made.priority, made.eviction_policy, list(made.zones)), ("other", "Spot", "Delete", ["1"]))
        self.assertEqual(made.storage_profile.os_disk.delete_option, "Delete")
        self.assertEqual(made.network_profile.network_interface_configurations[0].delete_option, "Delete")
        names = [vm.name for vm in client.virtual_machines.list("g", **plain)]
        self.assertEqual(names, [ours.name, "other"])
        self.assertEqual([u.name.value for u in client.usage.list("eastus", **plain)], ["cores", "lowPriorityCores"])
        client.virtual_machines.begin_delete("g", "other", **plain).result()
        with self.assertRaises(ResourceNotFoundError):
            client.virtual_machines.get("g", "other", **plain)
        self.cloud.stock[("Standard_ND96asr_v4", "eastus-1", "spot")] = 0
        with self.assertRaises(HttpResponseError) as refused:
            client.virtual_machines.begin_create_or_update("g", "third", ours.asked, **plain).result()
        self.assertIn("ZonalAllocationFailed", str(refused.exception))


class Machines(WithCloud):
    """Stint's own clients."""

    def test_what_is_ordered_is_made_found_and_ended(self):
        for cloud, zone in ZONES.items():
            with self.subTest(cloud):
                self.assertEqual(sorted(self.tool("create", zone, "spot", "Burst_1.a", "b", clouds=cloud)), ["Burst_1.a made ", "b made "])
                self.tool("create", zone, "on-demand", "theirs", owner="stint-other", clouds=cloud)
                self.assertEqual(sorted(line.split()[0] for line in self.tool("list", clouds=cloud)), ["Burst_1.a", "b"])
                spot = [m for m in self.cloud.live() if m.cloud == cloud and m.market == "spot"]
                self.assertEqual({(m.zone, m.tags["team"]) for m in spot}, {(zone, "ml")})
                for m in spot:
                    self.assertIn("exec shutdown -P", m.user_data)  # it ends by itself
                self.assertEqual(sorted(self.tool("destroy", "b", "none", clouds=cloud)), ["b gone ", "none gone "])
                self.assertEqual(len([m for m in self.cloud.live() if m.cloud == cloud]), 2)

    def test_google_ends_it_when_its_time_is_over(self):
        self.tool("create", ZONES["gcp"], "on-demand", "a", clouds="gcp")
        self.assertEqual(self.cloud.machines[0].asked["scheduling"]["maxRunDuration"], {"seconds": "3600"})
        self.cloud.advance(3600)
        self.assertEqual(self.cloud.live(), [])

    def test_told_twice_there_is_one(self):
        for cloud, zone in ZONES.items():
            with self.subTest(cloud):
                for _ in range(2):
                    self.assertEqual(self.tool("create", zone, "spot", "a", clouds=cloud), ["a made "])
                self.assertEqual(len([m for m in self.cloud.machines if m.cloud == cloud]), 1)

    def test_a_lost_answer_is_asked_for_again(self):
        for cloud, zone in ZONES.items():
            with self.subTest(cloud):
                lost = []

                def faults(of, action, name):
                    if name and not lost:
                        lost.append(name)
                        return "lose"
                    return None
                self.cloud.faults = faults
                self.assertEqual(self.tool("create", zone, "spot", "a", clouds=cloud), ["a made "])
                self.assertEqual(len([m for m in self.cloud.machines if m.cloud == cloud]), 1)
                self.assertTrue(lost)

    def test_a_cloud_that_cannot_be_read_is_named_beside_what_the_others_have(self):
        for cloud, zone in ZONES.items():
            self.tool("create", zone, "spot", f"m-{cloud}", clouds=cloud)
        names = {"aws": "AWS", "gcp": "Google Cloud", "azure": "Azure"}
        for broken in ZONES:
            with self.subTest(broken):
                self.cloud.faults = lambda of, action, name, broken=broken: "forbidden" if of == broken else None
                lines = self.tool("list", clouds="aws,gcp,azure")
                self.assertEqual(sorted(line.split()[0] for line in lines), sorted([f"m-{cloud}" for cloud in ZONES if cloud != broken] + ["unread"]))
                self.assertTrue(lines[-1].startswith(f"unread {names[broken]} "), lines[-1])

    def test_refusals_are_told_apart(self):
        words = {"stockout": "out of stock", "quota": "quota", "throttle": "throttled", "credentials": "credentials", "forbidden": "credentials",
                 "request": "refused", "trouble": "unknown"}
        for (cloud, zone), (why, outcome) in itertools.product(ZONES.items(), words.items()):
            with self.subTest(cloud=cloud, why=why):
                self.cloud.faults = lambda of, action, name, why=why: why if name and action in ("RunInstances", "insert", "put") else None
                [line] = self.tool("create", zone, "spot", f"a-{why}", clouds=cloud)
                self.assertTrue(line.startswith(f"a-{why} {outcome} "), line)
                if why == "quota":
                    self.assertIn("for a higher one", line)
        self.assertEqual(self.cloud.live(), [])

    def test_a_machine_of_azure_deletes_itself_by_its_role(self):
        """Shut down alone it would go on costing."""
        self.tool("create", "eastus-1", "on-demand", "a", "b", clouds="azure")
        machine = self.cloud.machines[0]
        script = self.dir / "give-back"
        script.write_text(machine.user_data.split("<<'GIVE-BACK'\n")[1].split("GIVE-BACK\n")[0])
        self.cloud.asking_machine = f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/{machine.name}"
        subprocess.run(["sh", script], env=self.environment(), check=True, timeout=60)
        self.assertEqual(self.cloud.live(), [self.cloud.machines[1]])
        self.assertLess(machine.user_data.index("give-back"), machine.user_data.index("exec shutdown"))

    def test_what_a_failed_order_leaves_on_azure_is_deleted(self):
        self.cloud.stock[("Standard_ND96asr_v4", "eastus-1", "spot")] = 0
        [line] = self.tool("create", "eastus-1", "spot", "a", clouds="azure")
        self.assertTrue(line.startswith("a out of stock "), line)
        self.assertEqual([m.state for m in self.cloud.machines], ["gone"])

    def test_what_stands_still_is_deleted(self):
        for cloud in ("gcp", "azure"):
            self.tool("create", ZONES[cloud], "on-demand", "a", clouds=cloud)
            self.cloud.machines[-1].state = "stopped"
            self.tool("list", clouds=cloud)
        self.assertEqual([m.state for m in self.cloud.machines], ["gone", "gone"])

    def test_quotas_are_asked_before_the_order(self):
        self.cloud.quota = {"gcp": 3, "azure": 3}
        for cloud in ("gcp", "azure"):
            self.tool("create", ZONES[cloud], "spot", "a", clouds=cloud)
            self.assertEqual(self.tool("offers", ZONES[cloud], "spot", clouds=cloud), ["pool - 2"])

    def test_thousands_of_machines_are_listed_and_compared(self):
        count = int(os.environ.get("MACHINES") or 2000)
        for cloud in ZONES:
            with self.subTest(cloud):
                self.tool("create", ZONES[cloud], "on-demand", "a", clouds=cloud)
                [first] = [m for m in self.cloud.machines if m.cloud == cloud]
                tag = "stint:machine" if cloud == "aws" else "stint-machine"
                for n in range(count - 1):
                    self.cloud.add(cloud, f"m-{n}", **{**{k: getattr(first, k) for k in ("type", "zone", "market", "image", "runs_for", "user_data")},
                                                        "tags": {**first.tags, tag: f"m-{n}"}, "asked": getattr(first, "asked", None), "failed": None})
                self.cloud.kept = {}
                lines = self.tool("reconcile", 3, clouds=cloud)
                self.cloud.kept = None
                self.assertEqual([line.split()[0] for line in lines], [str(count)] * 3)
                print(cloud, lines[-1])


class Killed(WithCloud):
    def test_at_any_instant_one_sweep_leaves_no_machine(self):
        kills, seed = int(os.environ.get("KILLS") or 30), int(os.environ.get("SEED") or random.randrange(2**32))
        draw = random.Random(seed)
        print(f"SEED={seed}")
        self.cloud.starts_in = 0.05
        # Some answers are lost, some orders are not carried out, some come late or twice.
        self.cloud.faults = lambda cloud, action, name: draw.choices([None, "lose", "cut", "throttle", "stockout", "twice"], [80, 5, 5, 3, 4, 3])[0] if name else None
        log = self.dir / "log"
        words = [TOOL, "stint-me", "churn", str(log)]
        env = self.environment(CLOUDS="aws,gcp,azure")
        most = 0
        for number in range(kills):
            process = subprocess.Popen([*words, str(draw.randrange(2**32))], env=env, stderr=subprocess.PIPE)
            if number % 2:  # as an order has just come, or has just been carried out
                seen = len(self.cloud.requests) + draw.randrange(1, 6)
                wait_until(lambda: len(self.cloud.requests) >= seen or process.poll() is not None)
            else:
                time.sleep(draw.uniform(0.005, 0.15))
            self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else "")
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stderr.close()
            most = max(most, len(self.cloud.live()))
        made = len(self.cloud.machines)
        self.assertGreater(made, 0)
        done = subprocess.run([TOOL, "stint-me", "sweep", str(log)], env=env, capture_output=True, text=True, timeout=300)
        left = [(m.cloud, m.name, m.state) for m in self.cloud.machines if m.state != "gone"]
        self.assertEqual((done.returncode, left), (0, []), done.stdout + done.stderr)
        print(f"{kills} kills, {made} machines made, at most {most} at once, 0 left after one sweep")


if __name__ == "__main__":
    TOOL, STINT, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if sys.argv[4] == "Clients":
        peers.need(SOURCE, "moto")
        peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *([sys.argv[4]] if len(sys.argv) == 5 else [f"{sys.argv[4]}.{name}" for name in sys.argv[5:]])], verbosity=2)
