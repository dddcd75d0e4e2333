#!/usr/bin/env python3
"""Pods that claim devices (dynamic resource allocation) on a real API server: the daemon allocates, reserves and binds; the cluster's own
controller takes back what has ended, and nothing is left over.

Usage: test_devices.py STINT. Skipped where scripts/setup-kubernetes finds no programs. The tests play the part of a DRA driver: they offer devices.
"""
import collections
import json
import unittest

from scheduled_pods import PODS, ScheduledPods

API = "/apis/resource.k8s.io/v1"
DRIVER = "gpu.example.com"


def devices_of(node, count):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-gpus"},
            "spec": {"driver": DRIVER, "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}, "board": {"int": i // 2},
                                                                     "productName": {"string": "NVIDIA H100 80GB HBM3"}},
                                  "capacity": {"memory": {"value": "80Gi"}}} for i in range(count)]}}


def claimed(count=1, expression=None, constraints=(), **more):
    exactly = {"deviceClassName": DRIVER, **({"count": count} if count else {"allocationMode": "All"}), **more}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}], "constraints": list(constraints)}}


class Devices(ScheduledPods):
    MACHINES = {"count": 3, "gpus": 0, "prefix": "dra"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for i in range(3):
            cls.cluster.create(f"{API}/resourceslices", devices_of(f"dra-{i}", 4))
        cls.cluster.create(f"{API}/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": DRIVER}, "spec": {
            "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"}}]}})

    def template(self, name, spec):
        self.cluster.create(f"{API}/namespaces/acme/resourceclaimtemplates", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": spec}})
        self.addCleanup(self.cluster.call, "DELETE", f"{API}/namespaces/acme/resourceclaimtemplates/{name}")

    def claim(self, name, spec):
        self.cluster.create(f"{API}/namespaces/acme/resourceclaims", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec})
        self.addCleanup(self.cluster.kubectl, "-n", "acme", "delete", "resourceclaim", name, "--wait=false")

    def make_with(self, name, labels=None, scheduler="stint", **source):
        self.cluster.create(PODS.format("acme"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": {
            "schedulerName": scheduler, "resourceClaims": [{"name": "g", **source}],
            "containers": [{"name": "main", "image": "example.com/work:1", "resources": {"claims": [{"name": "g"}], "requests": {"cpu": "1"}}}]}})

    def claims(self):
        return json.loads(self.cluster.get(f"{API}/namespaces/acme/resourceclaims"))["items"]

    def allocated(self):
        """Devices by pod that has them; a device of two claims fails."""
        by_pod, all_devices = {}, collections.Counter()
        for claim in self.claims():
            status = claim.get("status", {})
            results = [(r["pool"], r["device"]) for r in status.get("allocation", {}).get("devices", {}).get("results", [])]
            all_devices.update(results)
            for who in status.get("reservedFor", []):
                by_pod[who["name"]] = results
        self.assertEqual([device for device, times in all_devices.items() if times > 1], [])
        return by_pod

    def test_devices_are_allocated_reserved_and_taken_back(self):
        daemon = self.daemon()
        self.wait("its machines are known", lambda: [n["gpus"] for n in daemon.json("nodes")["nodes"]] == [4, 4, 4])
        self.template("one", claimed(1, f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"))
        self.template("pair", claimed(2, f"device.attributes['{DRIVER}'].productName.matches('^.*H100.*$')", [{"matchAttribute": f"{DRIVER}/board"}]))
        self.template("no", claimed(1, "device.driver.size() > 3"))
        for i in range(4):
            self.make_with(f"pair-{i}", resourceClaimTemplateName="pair")
        self.make_with("left", resourceClaimTemplateName="no")
        self.wait("the pairs are bound", lambda: len(self.nodes()) == 4)
        for i in range(5):
            self.make_with(f"one-{i}", resourceClaimTemplateName="one")
        self.wait("what fits is bound", lambda: len(self.nodes()) == 8)
        self.wait("what does not waits", lambda: len(daemon.ask("GET", "/v1/jobs?state=waiting")["jobs"]) == 1)
        self.wait("it is said", lambda: "size(…)" in self.condition("left")[2])
        on, has = self.nodes(), self.allocated()
        self.assertEqual(sorted(has), sorted(on))
        for name, devices in has.items():
            self.assertEqual({pool for pool, _ in devices}, {on[name]})
            self.assertEqual(len({int(device[-1]) // 2 for _, device in devices}), 1, "of one board")
        self.assertEqual(sum(job["gpus_per_task"] for job in daemon.ask("GET", "/v1/jobs?state=running")["jobs"]), 12)
        self.cluster.kubectl("-n", "acme", "annotate", "pod", "pair-0", "stint.test/ends=1")
        self.wait("then the last has one", lambda: len(self.nodes()) == 9)
        for name in self.nodes():
            self.cluster.kubectl("-n", "acme", "annotate", "--overwrite", "pod", name, "stint.test/ends=1")
        self.wait("no device is left with anybody", lambda: not any(c.get("status", {}).get("allocation") for c in self.claims()))
        self.wait("nor in the books", lambda: not daemon.ask("GET", "/v1/jobs?state=running")["jobs"])

    def test_a_gang_and_a_shared_claim(self):
        daemon = self.daemon()
        self.template("all", claimed(None))
        self.claim("shared", claimed(1))
        self.make_with("theirs", scheduler="default-scheduler", resourceClaimName="shared")
        self.wait("another scheduler places it", lambda: "theirs" in self.nodes())
        self.make_with("beside", resourceClaimName="shared")
        self.wait("it goes where its claim is", lambda: self.nodes().get("beside") == self.nodes()["theirs"])
        self.wait("its pods hold it together", lambda: len(self.claims()[0]["status"]["reservedFor"]) == 2)
        for i in range(2):
            self.make_with(f"g-{i}", {"stint/gang": "g", "stint/gang-size": "2"}, resourceClaimTemplateName="all")
        self.wait("the gang has two machines whole", lambda: len({self.nodes().get(f"g-{i}", "") for i in range(2)} - {"", self.nodes()["theirs"]}) == 2)
        self.allocated()
        daemon.kill()
        for name in list(self.pods()):
            self.cluster.call("DELETE", f"{PODS.format('acme')}/{name}?gracePeriodSeconds=0")
        self.wait("nothing is left over", lambda: not any(c.get("status", {}).get("allocation") for c in self.claims()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
