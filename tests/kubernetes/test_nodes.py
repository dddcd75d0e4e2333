#!/usr/bin/env python3
"""What the daemon keeps work off is said on a real API server's nodes: cordons and a taint of its own, beside those of others, killed in between.

Usage: test_nodes.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import datetime
import json
import unittest

from scheduled_pods import ROOT, ScheduledPods

NODE = "/api/v1/nodes/{}"


class Nodes(ScheduledPods):
    def setUp(self):
        super().setUp()
        for name in ("gpu-0", "gpu-1", "gpu-2", "gpu-3"):
            self.addCleanup(self.plain, name)

    def plain(self, name):
        meta = self.node(name)["metadata"]
        own = {key: None for key in meta.get("annotations", {}) if key.startswith("stint/")}
        self.cluster.call("PATCH", NODE.format(name), {"metadata": {"annotations": own}, "spec": {"unschedulable": None, "taints": None}},
                          content_type="application/merge-patch+json")
        self.offer(name, 8)

    def node(self, name):
        return json.loads(self.cluster.get(NODE.format(name)))

    def cordoned(self, name):
        node = self.node(name)
        return node["spec"].get("unschedulable", False), node["metadata"].get("annotations", {}).get("stint/cordoned", "")

    def taints(self, name):
        return [(t["key"], t["effect"]) for t in self.node(name)["spec"].get("taints", []) if not t["key"].startswith("node.kubernetes.io/")]

    def offer(self, name, gpus):
        """As a device plugin does that has found a GPU broken, or sound again."""
        self.cluster.call("PATCH", NODE.format(name) + "/status", {"status": {"allocatable": {"nvidia.com/gpu": str(gpus)}}},
                          content_type="application/merge-patch+json")

    def machine(self, daemon, name):
        return next((n for n in daemon.json("nodes")["nodes"] if n["name"] == name), {"state": "", "detail": ""})

    def known(self, daemon):
        self.wait("its machines are known", lambda: len(daemon.json("nodes")["nodes"]) == 4)
        return daemon

    def test_a_drain_is_a_cordon_that_says_who_and_goes_with_it(self):
        daemon = self.known(self.daemon())
        daemon.stint("nodes", "drain", "gpu-0")
        self.wait("it is cordoned", lambda: self.cordoned("gpu-0")[0])
        self.assertRegex(self.cordoned("gpu-0")[1], r"^drained by an operator \(stint daemon [0-9a-f]{16}\)$")
        self.make("theirs", 8, "default", schedulerName="default-scheduler", nodeSelector={"kubernetes.io/hostname": "gpu-0"})
        self.wait("another scheduler keeps off it", lambda: "unschedulable" in self.condition("theirs")[2])
        # A machine that is also away stays cordoned when it is back.
        self.cluster.kubectl("taint", "node", "gpu-0", "ToBeDeletedByClusterAutoscaler=1:NoSchedule")
        self.wait("it is known", lambda: "ToBeDeleted" in self.machine(daemon, "gpu-0")["detail"])
        self.cluster.kubectl("taint", "node", "gpu-0", "ToBeDeletedByClusterAutoscaler-")
        self.wait("that is over", lambda: self.machine(daemon, "gpu-0")["detail"] == "")
        self.assertTrue(self.cordoned("gpu-0")[0])
        daemon.stint("nodes", "up", "gpu-0")
        self.wait("it is not any more", lambda: self.cordoned("gpu-0") == (False, ""))
        self.wait("another scheduler uses it", lambda: self.nodes().get("theirs") == "gpu-0")
        self.wait("so does the daemon", lambda: self.machine(daemon, "gpu-0")["state"] == "up")

    def test_what_others_cordon_stays_theirs(self):
        daemon = self.known(self.daemon())
        self.cluster.kubectl("cordon", "gpu-1")
        self.wait("it is known", lambda: self.machine(daemon, "gpu-1")["state"] == "drained")
        daemon.stint("nodes", "drain", "gpu-1")
        daemon.stint("nodes", "drain", "gpu-2")
        self.wait("the other is cordoned", lambda: self.cordoned("gpu-2")[0])
        self.assertEqual(self.cordoned("gpu-1"), (True, ""))
        # Who uncordons it has the last word.
        self.cluster.kubectl("uncordon", "gpu-2")
        daemon.stint("nodes", "up", "gpu-1")
        daemon.stint("nodes", "drain", "gpu-3")
        self.wait("a third is cordoned", lambda: self.cordoned("gpu-3")[0])
        self.assertEqual(self.cordoned("gpu-1"), (True, ""))
        self.assertFalse(self.cordoned("gpu-2")[0])
        self.assertEqual(self.machine(daemon, "gpu-2")["state"], "drained")
        daemon.stint("nodes", "up", "gpu-2")
        self.wait("nothing is left of it", lambda: self.cordoned("gpu-2") == (False, ""))

    def test_a_change_cordons_its_machines_until_it_is_taken_back(self):
        daemon = self.known(self.daemon())
        daemon.ask("PUT", "/v1/changes/F7", {"title": "one machine less", "machines": ["gpu-3"]})
        self.wait("it is cordoned", lambda: self.cordoned("gpu-3")[0])
        self.assertRegex(self.cordoned("gpu-3")[1], r"^change F7 of \S+: one machine less \(stint daemon ")
        self.assertEqual(daemon.ask("GET", "/v1/changes")["cluster"], {"name": "kubernetes", "problem": ""})
        daemon.ask("DELETE", "/v1/changes/F7")
        self.wait("it is not any more", lambda: self.cordoned("gpu-3") == (False, ""))

    def test_a_broken_gpu_is_a_taint(self):
        daemon = self.known(self.daemon())
        self.cluster.kubectl("taint", "node", "gpu-1", "team=vision:PreferNoSchedule")
        self.offer("gpu-1", 7)
        self.wait("it is tainted", lambda: ("stint/broken-gpu", "NoSchedule") in self.taints("gpu-1"))
        self.assertIn("offers 7 of its 8 GPUs", self.node("gpu-1")["metadata"]["annotations"]["stint/broken-gpu"])
        self.assertEqual(self.cordoned("gpu-1"), (False, ""))
        # One that drains already breaks, too.
        daemon.stint("nodes", "drain", "gpu-2")
        self.wait("it is cordoned", lambda: self.cordoned("gpu-2")[0])
        self.offer("gpu-2", 6)
        self.wait("it is tainted, too", lambda: ("stint/broken-gpu", "NoSchedule") in self.taints("gpu-2"))
        self.offer("gpu-1", 8)
        self.wait("it is whole again", lambda: self.taints("gpu-1") == [("team", "PreferNoSchedule")])
        self.wait("and takes work", lambda: self.machine(daemon, "gpu-1")["state"] == "up")

    def test_killed_at_any_time_nothing_stays_cordoned_or_is_forgotten(self):
        daemon = self.known(self.daemon())
        for turn in range(6):
            name = f"gpu-{turn % 4}"
            daemon.stint("nodes", "drain", name)
            if turn % 2:
                self.wait("it is cordoned", lambda name=name: self.cordoned(name)[0])
            daemon.kill()
            daemon.start()
            self.wait("it is cordoned after a start", lambda name=name: self.cordoned(name)[0])
            daemon.stint("nodes", "up", name)
            daemon.kill()
            daemon.start()
            self.wait("it is free after a start", lambda name=name: self.cordoned(name) == (False, ""))
        self.known(daemon)
        self.wait("all take work", lambda: {n["state"] for n in daemon.json("nodes")["nodes"]} == {"up"})

    def test_a_notice_empties_the_machine_in_time(self):
        daemon = self.known(self.daemon())
        self.make("works", 8, nodeSelector={"kubernetes.io/hostname": "gpu-0"}, terminationGracePeriodSeconds=5)
        self.wait("it runs", lambda: self.phases().get("works") == "Running")
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=5)
        self.cluster.kubectl("annotate", "node", "gpu-0", f"stint/gone-at={later:%Y-%m-%dT%H:%M:%SZ}")
        self.wait("it takes no more", lambda: self.machine(daemon, "gpu-0")["state"] == "draining")
        self.assertIn("works", self.pods(), "there is time")
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=30)
        self.cluster.kubectl("annotate", "--overwrite", "node", "gpu-0", f"stint/gone-at={soon:%Y-%m-%dT%H:%M:%SZ}")
        self.wait("what runs there is asked to leave", lambda: "works" not in self.pods())
        self.cluster.kubectl("annotate", "node", "gpu-0", "stint/gone-at-")
        self.wait("it takes work again", lambda: self.machine(daemon, "gpu-0")["state"] == "up")

    def test_without_the_right_it_says_so_and_goes_on(self):
        role = json.loads(self.cluster.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/stint-scheduler"))
        less = [dict(rule, verbs=[v for v in rule["verbs"] if v != "patch"]) if "nodes" in rule["resources"] else rule for rule in role["rules"]]
        self.assertNotEqual(less, role["rules"], "the example gives that right")
        self.addCleanup(self.cluster.kubectl, "apply", "-f", ROOT / "examples/kubernetes/scheduler-rbac.yaml")
        self.cluster.call("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/stint-scheduler", {"rules": less},
                          content_type="application/merge-patch+json")
        daemon = self.known(self.daemon())
        daemon.stint("nodes", "drain", "gpu-0")
        self.wait("it says so", lambda: "cannot patch resource" in daemon.ask("GET", "/v1/changes")["cluster"]["problem"])
        self.assertEqual(self.cordoned("gpu-0"), (False, ""))
        self.make("goes", 1)
        self.wait("pods are placed all the same", lambda: self.nodes().get("goes", "gpu-0") != "gpu-0")
        self.cluster.kubectl("apply", "-f", ROOT / "examples/kubernetes/scheduler-rbac.yaml")
        self.wait("it is cordoned once it may be", lambda: self.cordoned("gpu-0")[0])
        self.wait("nothing is wrong any more", lambda: daemon.ask("GET", "/v1/changes")["cluster"]["problem"] == "")

    def test_what_takes_a_machine_back_is_heeded_and_an_unreadable_time_is_told(self):
        daemon = self.known(self.daemon())
        self.cluster.kubectl("taint", "node", "gpu-1", "aws-node-termination-handler/spot-itn=i-1:NoSchedule")
        self.wait("it takes no more", lambda: self.machine(daemon, "gpu-1")["state"] == "drained")
        self.assertIn("spot-itn", self.machine(daemon, "gpu-1")["detail"])
        self.cluster.kubectl("annotate", "node", "gpu-2", "stint/gone-at=tonight")
        self.wait("it takes no more", lambda: self.machine(daemon, "gpu-2")["state"] == "drained")
        self.assertIn("stint/gone-at", self.machine(daemon, "gpu-2")["detail"])
        daemon.kill()
        self.cluster.kubectl("taint", "node", "gpu-1", "aws-node-termination-handler/spot-itn-")
        daemon.start()
        self.wait("it takes work again after a start", lambda: self.machine(daemon, "gpu-1")["state"] == "up")
        self.assertEqual(self.machine(daemon, "gpu-2")["state"], "drained")


if __name__ == "__main__":
    unittest.main(verbosity=2)
