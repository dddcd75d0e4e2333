#!/usr/bin/env python3
"""stint import kubernetes --watch on a real API server: what comes and goes is told, also where the server forgets, refuses and cuts.

Usage: test_follow.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import json
import os
import signal
import subprocess
import unittest

from faulty_proxy import FaultyProxy, status
from running_kubernetes import STINT, RunningKubernetes, pod

PODS = "/api/v1/pods"


def watches_pods(path, parameters):
    return path == PODS and "watch" in parameters


def lists_pods(path, parameters):
    return path == PODS and "watch" not in parameters


class Follow(RunningKubernetes):
    MACHINES = {"count": 2, "gpus": 8}

    def setUp(self):
        super().setUp()
        self.proxy = FaultyProxy(self.cluster)
        self.addCleanup(self.proxy.close)
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = self.proxy.url
        self.kubeconfig = self.scratch / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(config))
        self.kubeconfig.chmod(0o600)
        self.addCleanup(self.cluster.call, "DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")

    def follow(self):
        self.log = self.scratch / "follow.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([STINT, "import", "kubernetes", "--kubeconfig", self.kubeconfig, "--history", self.history,
                                             "--watch", "--every", "1s"], stdout=log, stderr=log)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.wait("the first import", lambda: self.history.exists() and "accepted" in self.log.read_text())

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)

    def start(self, *names):
        for name in names:
            self.cluster.create("/api/v1/namespaces/default/pods", pod(name))

    def told(self, name, state):
        run = self.runs().get(name)
        return run is not None and run["state"] == state

    def test_pods_that_come_and_go_between_imports_are_told(self):
        self.follow()
        self.start("first")
        self.wait("first runs", lambda: self.told("first", "running"))
        self.cluster.kubectl("annotate", "pod", "first", "stint.test/ends=1")
        self.wait("first has ended", lambda: self.told("first", "completed"))
        self.start("second")
        self.wait("second runs", lambda: self.told("second", "running"))
        self.cluster.kubectl("delete", "pod", "second")
        self.wait("second was taken away", lambda: self.told("second", "cancelled"))
        run = self.runs()["second"]
        self.assertLess(run["started"], run["ended"])
        self.assertEqual(self.end(), 0, self.log.read_text())

    def test_a_machine_that_goes_is_told_with_its_end(self):
        self.follow()
        self.cluster.add_machines(1, prefix="spare")
        self.wait("the machine is there", lambda: "spare-0" in self.rows("node", "name"))
        self.cluster.kubectl("delete", "node", "spare-0")
        self.wait("the machine has gone", lambda: self.rows("node", "name")["spare-0"]["present_until"] is not None)
        self.assertEqual(self.end(), 0, self.log.read_text())

    def test_a_watch_that_is_cut_goes_on_where_it_was(self):
        cut = self.proxy.harm(watches_pods, ("cut", 40), times=5)
        self.follow()
        self.start("a", "b")
        self.wait("all cuts are made", lambda: cut["left"] == 0)
        self.wait("both are told", lambda: self.told("a", "running") and self.told("b", "running"))
        self.assertEqual(len([s for s in self.proxy.seen if lists_pods(*s)]), 1, "nothing was forgotten: no list is needed")

    def test_a_version_that_is_too_old_is_listed_anew(self):
        """As an answer, and as an event within a watch."""
        expired = status(410, "Expired", "too old resource version: 1 (2)")
        event = b'{"type":"ERROR","object":' + expired + b"}\n"
        answered = self.proxy.harm(watches_pods, ("answer", 410, {}, expired))
        within = self.proxy.harm(watches_pods, ("event", event))
        self.follow()
        self.wait("both are met", lambda: answered["left"] == 0 and within["left"] == 0)
        self.start("c")
        self.wait("it is told", lambda: self.told("c", "running"))
        self.assertEqual(len([s for s in self.proxy.seen if lists_pods(*s)]), 3)

    def test_what_goes_while_the_server_forgets_is_told(self):
        self.start("d")
        self.wait("it runs", lambda: self.phases().get("d") == "Running")
        gone = lambda path, parameters: watches_pods(path, parameters) and "d" not in self.phases()  # noqa: E731
        closed = self.proxy.harm(lambda p, q: watches_pods(p, q) and "d" in self.phases(), ("answer", 503, {}, b"busy"), times=10_000)
        self.proxy.harm(gone, ("answer", 410, {}, status(410, "Expired", "too old")))
        self.follow()
        self.wait("it is told", lambda: self.told("d", "running"))
        self.cluster.kubectl("delete", "pod", "d")
        closed["left"] = 0
        self.wait("it is told to have ended", lambda: self.told("d", "cancelled"))

    def test_a_server_that_asks_for_patience_gets_it(self):
        self.start("e")
        busy = self.proxy.harm(lists_pods, ("answer", 429, {"Retry-After": "1"}, status(429, "TooManyRequests", "later")), times=3)
        said = self.stint("import", "kubernetes", "--kubeconfig", self.kubeconfig, "--history", self.history)
        self.assertEqual(busy["left"], 0, said)
        self.assertIn("e", self.runs())

    def test_a_list_that_is_forgotten_in_the_middle_begins_anew(self):
        self.cluster.create("/api/v1/namespaces/default/pods", *(pod(f"many-{i}", 1, schedulerName="none") for i in range(501)))
        second_page = lambda path, parameters: lists_pods(path, parameters) and "continue" in parameters  # noqa: E731
        fault = self.proxy.harm(second_page, ("answer", 410, {}, status(410, "Expired", "the provided continue parameter is too old")))
        self.stint("import", "kubernetes", "--kubeconfig", self.kubeconfig, "--history", self.history)
        self.assertEqual(fault["left"], 0)
        self.assertEqual(len([name for name in self.runs() if name.startswith("many-")]), 501)
        self.assertEqual(len([s for s in self.proxy.seen if lists_pods(*s)]), 4, "two pages, twice")


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    unittest.main()
