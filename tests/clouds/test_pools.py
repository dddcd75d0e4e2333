#!/usr/bin/env python3
"""The daemon's pools over three clouds, the pretended ones of fakecloud.py: the cheapest first, the next where there is none, all given back; and a cloud that
cannot be read, of which nothing is taken for gone.

Usage: test_pools.py STINT SUITE
"""
import hashlib
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fakecloud import FakeCloud  # noqa: E402
from pool_daemon import PoolJobs, wait_until  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402

STINT = None
# cloud → type, zone, and what one costs an hour
KINDS = {"gcp": ("a2-highgpu-8g", "us-central1-a", "20"), "azure": ("Standard_ND96asr_v4", "eastus-1", "25"), "aws": ("p4d.24xlarge", "us-east-1a", "30")}
NAMES = {"aws": "AWS", "gcp": "Google Cloud", "azure": "Azure"}


class Pools(PoolJobs, unittest.TestCase):
    def setUp(self):
        self.cloud = FakeCloud()
        self.addCleanup(self.cloud.stop)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def start(self, most=1, **pool):
        life = {"list_lag": "1s", "lifetime": "48h"}
        kinds = [{"provider": cloud, "instance_type": kind, "zone": zone, "market": "spot", "gpu_model": "A100-40GB", "gpus": 8, "cpu_milli": 96000,
                  "per_hour": price} for cloud, (kind, zone, price) in KINDS.items()]
        config = {"queues": [{"name": "acme"}], "power": {
            "aws": {"regions": [{"region": "us-east-1", "image": "ami-12c6146b"}], "tags": {"team": "ml"}, **life},
            "gcp": {"project": "p", "image": "projects/p/global/images/i", "labels": {"team": "ml"}, **life},
            "azure": {"subscription": "s", "resource_group": "g", "image": "Canonical:ubuntu-24_04-lts:server:latest", "ssh_key": "ssh-rsa AAAA",
                      "identity": "/subscriptions/s/identities/i", "regions": [{"region": "eastus", "subnet": "/subscriptions/s/subnets/a"}],
                      "tags": {"team": "ml"}, **life},
            "every": "1s", "pools": [{"name": "burst", "max": most, "target_utilization": 1, "up_cooldown": 0, "down_cooldown": 0, "idle_grace": 0,
                                      "machines": kinds, **pool}]}}
        self.daemon = RunningDaemon(STINT, self.dir, config, environment=self.cloud.env)
        self.addCleanup(self.daemon.stop)

    def capacity(self):
        return self.daemon.json("cloud", "ls")

    def ready(self):
        return sorted(m["name"] for m in self.capacity()["machines"] if m["state"] == "ready")

    def live(self):
        return [m.cloud for m in self.cloud.live()]

    def shown(self):
        return f"{self.live()}\n" + "".join(self.daemon.stint(*words, check=False).stdout for words in (("cloud", "ls"), ("nodes",), ("events",)))

    def stray(self, cloud, name):
        """A machine that bears the daemon's mark and that it does not know."""
        [known] = [m for m in self.cloud.machines if m.cloud == cloud][:1]
        mark = "stint:machine" if cloud == "aws" else "stint-machine"
        owner = known.tags.get("stint-fleet") or known.tags["stint:fleet"]
        mark_of_both = hashlib.sha256(f"{owner}\n{name}".encode()).hexdigest()[:16]
        shown = f"{name}-{mark_of_both}"  # as Stint would have named it
        self.cloud.add(cloud, shown, **{**{k: getattr(known, k) for k in ("type", "zone", "market", "image", "runs_for", "user_data")},
                                        "tags": {**known.tags, mark: name}, "asked": getattr(known, "asked", None), "failed": None})

    def test_a_job_buys_the_cheapest_cloud_s_machine_runs_and_gives_it_back(self):
        self.start()
        self.assertIn("machines are bought of AWS, Google Cloud and Azure and cost money", self.daemon.log.read_text())
        job = self.submit(10)
        wait_until(self.live, self.shown)
        [machine] = self.cloud.live()
        self.assertEqual((machine.cloud, machine.type, machine.market, machine.tags["team"]), ("gcp", "a2-highgpu-8g", "spot", "ml"))
        self.assertEqual(machine.asked["scheduling"]["maxRunDuration"], {"seconds": str(48 * 3600)})
        wait_until(lambda: self.daemon.ask("GET", f"/v1/jobs/{job}")["state"] == "succeeded", self.shown)
        wait_until(lambda: not self.live(), self.shown)
        self.assertEqual(len(self.cloud.machines), 1)
        self.assertIn("AWS, Google Cloud and Azure listed: 0 known, 0 ended", self.daemon.stint("cloud", "sweep").stdout)

    def test_without_stock_the_next_cloud_is_tried_at_once(self):
        self.cloud.stock[("a2-highgpu-8g", "us-central1-a", "spot")] = 0
        self.cloud.faults = lambda cloud, action, name: "quota" if cloud == "azure" and action == "put" else None
        self.start()
        self.submit()
        wait_until(self.ready, self.shown)
        self.assertEqual(self.live(), ["aws"])
        orders = [(cloud, action) for cloud, action, name in self.cloud.requests if action in ("insert", "put", "RunInstances")]
        self.assertEqual(orders, [("gcp", "insert"), ("azure", "put"), ("aws", "RunInstances")])
        shut = {each["pool"].split("/")[1]: each["why"] for each in self.capacity()["left_alone"]}
        self.assertIn("out of stock", shut["a2-highgpu-8g"])
        self.assertIn("quota", shut["Standard_ND96asr_v4"])

    def test_of_a_cloud_that_cannot_be_read_nothing_is_gone_and_the_sweep_says_so(self):
        for cloud in ("gcp", "azure"):
            self.cloud.stock[(KINDS[cloud][0], KINDS[cloud][1], "spot")] = 1
        self.start(most=3)
        for _ in range(3):
            self.submit()
        wait_until(lambda: len(self.ready()) == 3, self.shown)
        self.assertEqual(sorted(self.live()), ["aws", "azure", "gcp"])
        names = {m["pool"].split("/")[1]: m["name"] for m in self.capacity()["machines"]}
        # Google does not answer; and of AWS the machine is lost.
        self.cloud.faults = lambda cloud, action, name: "forbidden" if cloud == "gcp" else None
        [lost] = [m for m in self.cloud.machines if m.cloud == "aws"]
        with self.cloud.lock:
            self.cloud.end(lost)
            self.cloud.stock[(KINDS["aws"][0], KINDS["aws"][1], "spot")] = 0
        self.stray("azure", "stray-azure")
        self.stray("gcp", "stray-gcp")
        wait_until(lambda: self.capacity()["unread"], self.shown)
        wait_until(lambda: names["p4d.24xlarge"] not in [m["name"] for m in self.capacity()["machines"]], self.shown)
        [unread] = self.capacity()["unread"]
        self.assertEqual(unread["name"], "Google Cloud")
        self.assertIn("forbidden", unread["why"])
        self.assertEqual(self.ready(), sorted([names["a2-highgpu-8g"], names["Standard_ND96asr_v4"]]), "what cannot be read is not gone")
        self.assertIn("not read: Google Cloud (", self.daemon.stint("cloud", "ls").stderr)
        swept = self.daemon.stint("cloud", "sweep", check=False)
        self.assertEqual(swept.returncode, 1, swept.stdout + swept.stderr)
        self.assertIn("not read: Google Cloud (", swept.stderr)
        wait_until(lambda: sorted(self.live()) == ["azure", "gcp", "gcp"], self.shown)
        # It answers again: what is unknown there is ended, and what is known stays.
        self.cloud.faults = lambda cloud, action, name: None
        swept = self.daemon.stint("cloud", "sweep")
        wait_until(lambda: sorted(self.live()) == ["azure", "gcp"], self.shown)
        self.assertNotIn("not read", swept.stderr)
        self.cancel_all()
        wait_until(lambda: not self.live(), self.shown)


if __name__ == "__main__":
    STINT = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *([sys.argv[2]] if len(sys.argv) == 3 else [f"{sys.argv[2]}.{name}" for name in sys.argv[3:]])], verbosity=2)
