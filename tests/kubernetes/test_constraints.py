#!/usr/bin/env python3
"""What a user may put on a GPU pod beside its GPUs, on a real API server: near and apart from other pods, evenly spread, host ports, MIG
devices, ephemeral storage, volumes that are in one place or are made where their pod goes, quota of a namespace.

Usage: test_constraints.py STINT. Skipped where scripts/setup-kubernetes finds no programs. The tests play the part of a volume's provisioner.
"""
import json
import unittest
import urllib.error

from scheduled_pods import PODS, ScheduledPods

HOST = "kubernetes.io/hostname"


def by_app(app, domain):
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": domain, "labelSelector": {"matchLabels": {"app": app}}}]}


def apart(app, domain=HOST):
    return {"affinity": {"podAntiAffinity": by_app(app, domain)}}


def uses(claim):
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def in_zone(zone):
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]}}


class Constraints(ScheduledPods):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.kubectl("label", "node", "gpu-0", "gpu-1", "zone=a")
        cls.cluster.kubectl("label", "node", "gpu-2", "gpu-3", "zone=b")

    def zones(self, prefix):
        return sorted("ab"[int(node[-1]) // 2] for name, node in self.nodes().items() if name.startswith(prefix))

    def test_pods_keep_apart_near_and_evenly_spread(self):
        self.make("theirs", 1, "acme", labels={"app": "web"}, schedulerName="default-scheduler", nodeSelector={HOST: "gpu-0"}, **apart("train"))
        self.wait("it is there", lambda: "theirs" in self.nodes())
        self.daemon()
        for i in range(4):
            self.make(f"apart-{i}", 1, labels={"app": "train"}, **apart("train"))
        for i in range(2):
            self.make(f"near-{i}", 1, labels={"app": "near"}, affinity={"podAffinity": by_app("near", "zone")})
        for i in range(5):
            self.make(f"even-{i}", 1, labels={"app": "even"}, topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "even"}}}])
        for i in range(5):
            self.cluster.create(PODS.format("acme"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"port-{i}", "namespace": "acme"}, "spec": {
                "schedulerName": "stint", "containers": [{"name": "main", "image": "example.com/work:1", "ports": [{"containerPort": 80, "hostPort": 8080}],
                                                          "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})
        self.wait("all are bound that can be", lambda: len(self.nodes()) == 1 + 3 + 2 + 5 + 4)
        on = self.nodes()
        where = {prefix: [node for name, node in on.items() if name.startswith(prefix)] for prefix in ("apart", "port")}
        self.assertEqual(sorted(where["apart"]), ["gpu-1", "gpu-2", "gpu-3"], "another pod keeps them from gpu-0")
        self.assertEqual(len(set(where["port"])), 4)
        self.assertEqual(len(set(self.zones("near"))), 1)
        self.assertIn(self.zones("even"), (["a", "a", "a", "b", "b"], ["a", "a", "b", "b", "b"]))
        left = [name for name in self.pods() if name not in on]
        self.wait("it is said of those that cannot", lambda: sorted(("affinity" in self.condition(n)[2], "host port 8080" in self.condition(n)[2])
                                                                    for n in left) == [(False, True), (True, False)])
        self.cluster.kubectl("-n", "acme", "annotate", "pod", "theirs", "stint.test/ends=1")
        self.wait("then the fourth has a place", lambda: len([n for n in self.nodes() if n.startswith("apart")]) == 4)
        self.assertEqual(next(node for name, node in self.nodes().items() if name.startswith("apart") and name not in on), "gpu-0")

    def test_mig_devices_and_storage_are_counted(self):
        self.cluster.add_machines(1, gpus=0, prefix="mig", labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "1"},
                                  capacity={"nvidia.com/mig-1g.10gb": "3", "nvidia.com/mig-3g.40gb": "1", "ephemeral-storage": "100Gi"})
        self.addCleanup(self.cluster.kubectl, "delete", "node", "mig-0")
        self.make("theirs", 1, resource="nvidia.com/mig-1g.10gb", schedulerName="default-scheduler")
        self.wait("it is there", lambda: "theirs" in self.nodes())
        daemon = self.daemon()
        for i in range(3):
            self.make(f"small-{i}", 1, resource="nvidia.com/mig-1g.10gb")
        self.make("large", 1, resource="nvidia.com/mig-3g.40gb")
        self.wait("what fits is bound", lambda: len(self.nodes()) == 4)
        self.wait("what does not waits", lambda: [j["name"] for j in daemon.ask("GET", "/v1/jobs?state=waiting")["jobs"]] ==
                  [n for n in self.pods() if n not in self.nodes()])
        self.assertEqual(set(self.nodes().values()), {"mig-0"})
        self.assertEqual(self.job(daemon, "large")["placed"][0]["mig_profile"], "3g.40gb")
        disk = {"initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"ephemeral-storage": "60Gi"}}}]}
        self.make("no-disk", 1, **disk)
        self.wait("it is said", lambda: "ephemeral-storage" in self.condition("no-disk")[2])
        self.cluster.kubectl("-n", "acme", "annotate", "pod", "theirs", "stint.test/ends=1")
        self.wait("a device is free", lambda: len(self.nodes()) == 5)

    def volume(self, name, zone, claim):
        self.cluster.create("/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "later", "nodeAffinity": in_zone(zone),
                     "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "acme", "name": claim}, "csi": {"driver": "example.com", "volumeHandle": name}}})
        self.addCleanup(self.cluster.kubectl, "delete", "pv", name, "--wait=false")

    def claim(self, name):
        self.cluster.create("/api/v1/namespaces/acme/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"storageClassName": "later", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.addCleanup(self.cluster.kubectl, "-n", "acme", "delete", "pvc", name, "--wait=false")

    def test_pods_go_where_their_volumes_are_or_are_made(self):
        self.cluster.create("/apis/storage.k8s.io/v1/storageclasses", {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "later"}, "provisioner": "example.com/made",
            "volumeBindingMode": "WaitForFirstConsumer"})
        self.addCleanup(self.cluster.kubectl, "delete", "storageclass", "later")
        self.daemon()
        self.claim("there")
        self.volume("there", "b", "there")
        self.make("goes", 1, **uses("there"))
        self.make("lacks", 1, **uses("absent"))
        self.wait("it goes to its volume", lambda: self.zones("goes") == ["b"])
        self.wait("it is said", lambda: "absent is not there" in self.condition("lacks")[2])
        self.claim("made")
        self.make("waits", 1, nodeSelector={"zone": "a"}, **uses("made"))
        self.wait("a machine is chosen", lambda: self.chosen("made") in ("gpu-0", "gpu-1"))
        self.assertNotIn("waits", self.nodes())
        self.volume("made", "a", "made")
        self.wait("it is bound there", lambda: self.nodes().get("waits") == self.chosen("made"))
        self.claim("absent")
        self.volume("absent", "a", "absent")
        self.wait("what came later is used", lambda: self.zones("lacks") == ["a"])

    def chosen(self, claim):
        meta = json.loads(self.cluster.get(f"/api/v1/namespaces/acme/persistentvolumeclaims/{claim}"))["metadata"]
        return meta.get("annotations", {}).get("volume.kubernetes.io/selected-node", "")

    def test_what_a_quota_refuses_never_waits(self):
        self.cluster.create("/api/v1/namespaces/zoo/resourcequotas", {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "two"}, "spec": {"hard": {"requests.nvidia.com/gpu": "2"}}})
        self.addCleanup(self.cluster.kubectl, "-n", "zoo", "delete", "resourcequota", "two")
        self.wait("it is counted", lambda: json.loads(self.cluster.get("/api/v1/namespaces/zoo/resourcequotas/two")).get("status", {}).get("used"))
        self.daemon()
        self.make("within", 2, "zoo")
        with self.assertRaises(urllib.error.HTTPError):
            self.make("beyond", 1, "zoo")
        self.wait("it is bound", lambda: list(self.nodes()) == ["within"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
