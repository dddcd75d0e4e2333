#!/usr/bin/env python3
"""stint daemon as the scheduler of a real API server's GPU pods: one at a time and in gangs, beside kube-scheduler, killed in between.

Usage: test_schedule.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import json
import unittest
import urllib.error

from scheduled_pods import PODS, ROOT, ScheduledPods


class Schedule(ScheduledPods):
    def test_pods_are_placed_and_their_ends_are_seen(self):
        daemon = self.daemon()
        self.wait("its machines are known", lambda: len(daemon.json("nodes")["nodes"]) == 4)
        first = daemon.json("nodes")["nodes"][0]
        self.assertEqual((first["gpus"], first["gpu_model"], first["per_hour"]["amount"]), (8, "H100-80GB", "16"))
        # One after another: two schedulers may choose one place at the same moment, and a whole machine may be the only one that another wants.
        self.make("theirs", 2, "default", schedulerName="default-scheduler")
        self.wait("what others bind is in the books", lambda: self.state(daemon, "theirs") == "running")
        self.make("picky", 1, nodeSelector={"kubernetes.io/hostname": "gpu-3"})
        self.wait("it is bound", lambda: "picky" in self.nodes())
        self.make("whole", 8)
        self.wait("all are bound", lambda: {"whole", "picky", "theirs"} <= set(self.nodes()))
        self.assertEqual(self.nodes()["picky"], "gpu-3")
        self.wait("they run in the books", lambda: [self.state(daemon, n) for n in ("whole", "picky", "theirs")] == ["running"] * 3)
        self.assertEqual(self.job(daemon, "whole")["queue"], "acme")
        self.assertEqual(self.job(daemon, "theirs")["queue"], "rest")
        self.cluster.kubectl("-n", "acme", "annotate", "pod", "whole", "stint.test/ends=1")
        self.wait("its end is seen", lambda: self.state(daemon, "whole") == "succeeded")
        refused = daemon.stint("submit", "--queue", "acme", "--gpus", "1", "--", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("schedulerName: stint", refused.stderr)
        self.cluster.kubectl("cordon", "gpu-2")
        self.addCleanup(self.cluster.kubectl, "uncordon", "gpu-2")
        self.wait("it takes no more", lambda: next(n for n in daemon.json("nodes")["nodes"] if n["name"] == "gpu-2")["state"] in ("draining", "drained"))

    def test_a_gang_is_bound_whole_or_not_at_all(self):
        daemon = self.daemon()
        gang = {"stint/gang": "g", "stint/gang-size": "3"}
        for i in range(2):
            self.make(f"big-{i}", 8)
        self.wait("two machines are used", lambda: len(self.nodes()) == 2)
        for i in range(3):
            self.make(f"g-{i}", 8, labels=gang)
        self.make("later", 8)
        self.wait("it is said", lambda: "job acme/g-0" in self.condition("g-0")[2] and self.condition("g-1")[:2] == ("False", "Unschedulable"))
        self.assertEqual([n for n in self.nodes() if n.startswith("g-")], [])
        self.wait("an event, too", lambda: "FailedScheduling" in self.cluster.kubectl("-n", "acme", "get", "events", "--field-selector", "involvedObject.name=g-0"))
        self.assertEqual(self.state(daemon, "g-0"), "waiting")
        self.assertIn("GPU", daemon.stint("why", self.job(daemon, "g-0")["id"]).stdout)
        self.cluster.kubectl("-n", "acme", "annotate", "pod", "big-0", "big-1", "later", "stint.test/ends=1")
        self.wait("it is bound", lambda: len([n for n in self.nodes() if n.startswith("g-")]) == 3)
        self.assertEqual(len({node for name, node in self.nodes().items() if name.startswith("g-")}), 3)

    def test_what_cannot_be_honoured_is_left_and_said(self):
        self.daemon()
        self.make("claims", 1, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])
        self.make("nowhere", 1, nodeSelector={"zone": "moon"})
        cores = {"initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "100"}}}],
                 "nodeSelector": {"kubernetes.io/hostname": "gpu-0"}}
        self.make("heavy", 1, **cores)
        self.make("heavier", 1, **cores)
        self.wait("the first with many cores runs", lambda: "heavy" in self.nodes() or "heavier" in self.nodes())
        self.wait("it is said", lambda: "PersistentVolumeClaim d is not there" in self.condition("claims")[2] and "zone=moon" in self.condition("nowhere")[2])
        self.wait("it is said of the other, too", lambda: any("waits in queue" in self.condition(n)[2] for n in ("heavy", "heavier")))
        on = self.nodes()
        self.assertFalse({"claims", "nowhere"} & set(on))
        self.assertEqual(len([n for n in ("heavy", "heavier") if n in on]), 1, "a machine has 128 cores")

    def test_killed_at_any_time_nothing_is_bound_twice_or_lost(self):
        daemon = self.daemon()
        for i in range(24):
            self.make(f"p-{i}", 1, labels={"stint/gang": f"g{i // 4}", "stint/gang-size": "4"} if i < 16 else None)
            if i % 6 == 5:
                daemon.kill()
                daemon.start()
        self.wait("all are bound", lambda: len(self.nodes()) == 24)
        before = self.nodes()
        daemon.kill()
        daemon.start()
        self.wait("all run in the books", lambda: sum(j["tasks"] for j in daemon.ask("GET", "/v1/jobs?limit=500&state=running")["jobs"]) == 24)
        self.assertEqual(self.nodes(), before)
        for name in before:
            self.cluster.kubectl("-n", "acme", "annotate", "pod", name, "stint.test/ends=1")
        self.wait("all have ended in the books", lambda: not daemon.ask("GET", "/v1/jobs?limit=500&state=running")["jobs"])
        self.assertEqual({j["state"] for j in daemon.ask("GET", "/v1/jobs?limit=500")["jobs"]}, {"succeeded"})

    def test_of_two_daemons_one_binds_and_the_other_takes_over(self):
        # Longer than a busy machine may keep the first from renewing.
        first = self.daemon(lease="15s")
        self.make("a")
        self.wait("the first binds", lambda: "a" in self.nodes())
        second = self.daemon("two", lease="15s")
        self.make("b")
        self.wait("the first binds this, too", lambda: self.state(first, "b") == "running")
        self.assertEqual(second.ask("GET", "/v1/jobs")["jobs"], [])
        first.kill()
        self.make("c")
        self.wait("the other binds", lambda: "c" in self.nodes())
        self.wait("and has all in its books", lambda: [self.state(second, n) for n in "abc"] == ["running"] * 3)

    def test_who_was_killed_does_not_wait_for_its_own_lease(self):
        # Of another, who was killed, it would wait for ten minutes.
        self.cluster.kubectl("-n", "stint", "delete", "lease", "stint", "--ignore-not-found")
        daemon = self.daemon(lease="10m")
        self.make("a")
        self.wait("it binds", lambda: "a" in self.nodes())
        daemon.kill()
        daemon.start()
        self.make("b")
        self.wait("it binds again", lambda: "b" in self.nodes(), seconds=60)
        # Else the next test would wait ten minutes for it.
        daemon.stop()
        self.assertEqual(json.loads(self.cluster.get("/apis/coordination.k8s.io/v1/namespaces/stint/leases/stint"))["spec"].get("holderIdentity", ""), "")

    def test_what_is_to_be_deployed_is_accepted_and_begins(self):
        self.addCleanup(self.cluster.kubectl, "-n", "stint", "delete", "deployment", "stint", "--cascade=foreground", "--timeout=60s")
        self.cluster.create("/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "state"},
            "spec": {"capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"},
                     "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "stint", "name": "stint-state"}}})
        self.cluster.kubectl("apply", "-k", ROOT / "deploy/kustomize")
        begun = "jsonpath={.items[*].status.phase} {.items[*].spec.containers[*].image}"
        self.wait("its pod begins", lambda: self.cluster.kubectl("-n", "stint", "get", "pods", "-o", begun) == "Running registry.example.com/stint:latest")
        config = json.loads(json.loads(self.cluster.kubectl("-n", "stint", "get", "configmap", "-l", "!x", "-o", "json"))["items"][-1]["data"]["stint.json"])
        self.assertEqual(config["engine"]["kubernetes"]["queue"], "rest")

    def test_who_is_preempted_is_evicted(self):
        daemon = self.daemon()
        for i in range(4):
            self.make(f"low-{i}", 8, labels={"stint/preemptible": "true"})
        self.wait("the machines are full", lambda: len(self.nodes()) == 4)
        self.wait("and it is known", lambda: all(self.state(daemon, f"low-{i}") == "running" for i in range(4)))
        with self.assertRaises(urllib.error.HTTPError):
            self.cluster.call("POST", f"{PODS.format('acme')}/low-0/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "low-0"}, "target": {"kind": "Node", "name": "gpu-0"}})
        self.cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 400})
        self.addCleanup(self.cluster.kubectl, "delete", "priorityclass", "high")
        self.make("high", 8, priorityClassName="high")
        self.wait("it runs in place of one", lambda: "high" in self.nodes())
        self.assertEqual(len([n for n in self.nodes() if n.startswith("low-")]), 3)
        self.wait("who gave way is cancelled in the books", lambda: [self.state(daemon, f"low-{i}") for i in range(4)].count("running") == 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
