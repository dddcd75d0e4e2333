#!/usr/bin/env python3
"""What nodes of a real API server announce of their machines is heeded by stint daemon: they are emptied in time.

Usage: test_nodes.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import datetime
import json
import unittest

from scheduled_pods import ScheduledPods

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

    def node(self, name):
        return json.loads(self.cluster.get(NODE.format(name)))

    def machine(self, daemon, name):
        return next((n for n in daemon.json("nodes")["nodes"] if n["name"] == name), {"state": "", "detail": ""})

    def known(self, daemon):
        self.wait("its machines are known", lambda: len(daemon.json("nodes")["nodes"]) == 4)
        return daemon

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
