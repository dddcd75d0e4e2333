#!/usr/bin/env python3
"""The Helm chart of the daemon: helm finds nothing wrong, a real API server takes its objects, its rights are those that the tests run with, and its pod
is that of deploy/kustomize.

Usage: test_chart.py STINT. Skipped where scripts/setup-helm has built no helm, or scripts/setup-kubernetes finds no programs.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from running_kubernetes import ROOT, STINT, RunningKubernetes

sys.path.insert(0, str(ROOT / "tests"))
from running_daemon import RunningDaemon  # noqa: E402

HELM = pathlib.Path(os.environ.get("STINT_HELM") or ROOT / "build/helm/helm")
CHART = ROOT / "deploy/helm/stint"
if not HELM.exists():
    print("skipped: no helm here: scripts/setup-helm builds it")
    sys.exit(77)


class Chart(RunningKubernetes):
    PARTS = ["controller-manager"]
    MACHINES = {"count": 0}

    def helm(self, *arguments, codes=(0,)):
        done = subprocess.run([HELM, *map(str, arguments)], text=True, capture_output=True, env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)})
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done.stdout

    def objects(self, manifests):
        """By kind and name, as the API server reads them."""
        text, at, found = self.cluster.kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=manifests), 0, []
        while at < len(text.rstrip()):  # one after another, or a List
            one, at = json.JSONDecoder().raw_decode(text, at)
            found += one.get("items", [one])
            at += len(text[at:]) - len(text[at:].lstrip())
        return {(o["kind"], o["metadata"]["name"]): o for o in found}

    def rendered(self, *arguments):
        return self.objects(self.helm("template", "stint", CHART, "--namespace", "stint", "--kube-version", "1.36.0", *arguments))

    def test_helm_and_the_api_server_take_it(self):
        self.assertIn("0 chart(s) failed", self.helm("lint", "--strict", "--kube-version", "1.36.0", CHART))
        version = re.search(r"^project\(stint VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
        self.assertEqual(re.findall(r"^(?:appVersion|version): (.*)", (CHART / "Chart.yaml").read_text(), re.M), [version, version])
        self.helm("install", "stint", CHART, "--namespace", "stint", "--create-namespace")
        self.assertEqual(json.loads(self.cluster.kubectl("-n", "stint", "get", "deployment", "stint", "-o", "json"))["spec"]["replicas"], 1)
        self.helm("upgrade", "stint", CHART, "--namespace", "stint", "--set", "state.existingClaim=stint-state,image.tag=2")
        self.helm("uninstall", "stint", "--namespace", "stint")
        self.assertIn("stint-state", self.cluster.kubectl("-n", "stint", "get", "pvc", "-o", "name"), "the books stay")

    def test_rights_and_pod_are_those_of_the_other_ways(self):
        chart = self.rendered()
        examples = {}
        for name in ["scheduler-rbac.yaml", "jobs-rbac.yaml"]:
            examples.update(self.objects((ROOT / "examples/kubernetes" / name).read_text()))
        for kind, name in examples:
            with self.subTest(kind=kind, name=name):
                if (kind, name) == ("Namespace", "stint"):
                    continue  # helm makes that of the release
                ours, theirs = chart[kind, name], examples[kind, name]
                self.assertEqual([ours.get(part) for part in ("rules", "subjects", "roleRef")], [theirs.get(part) for part in ("rules", "subjects", "roleRef")])
        kustomize = self.objects(self.cluster.kubectl("kustomize", ROOT / "deploy/kustomize"))["Deployment", "stint"]["spec"]["template"]["spec"]
        pod = chart["Deployment", "stint"]["spec"]["template"]["spec"]
        for container in (pod["containers"][0], kustomize["containers"][0]):
            container.pop("imagePullPolicy", None)
        for volume in (*pod["volumes"], *kustomize["volumes"]):
            if volume["name"] == "config":
                volume["configMap"]["name"] = "config"
        self.assertEqual(pod, kustomize)

    def test_the_configuration_is_one_the_daemon_reads(self):
        chart = self.rendered("--set-json", 'config.queues=[{"name":"acme"},{"name":"rest"}]', "--set", "config.engine.kubernetes.every=1s")
        config = json.loads(chart["ConfigMap", "stint-config"]["data"]["stint.json"])
        self.assertEqual(config["engine"]["kubernetes"]["lease_namespace"], "stint")
        self.assertEqual(config["engine"]["kubernetes"]["jobs"], {"namespace": "stint-jobs"})
        self.assertEqual([queue["name"] for queue in config["queues"]], ["acme", "rest"])
        config["engine"]["kubernetes"]["kubeconfig"] = str(self.cluster.kubeconfig)
        config["engine"]["kubernetes"]["lease_namespace"] = "default"
        daemon = RunningDaemon(STINT, self.scratch, config, simulate=False, flags=[])
        self.addCleanup(daemon.stop)
        self.assertEqual({"acme", "rest"} - {queue["path"] for queue in daemon.ask("GET", "/v1/queues")["queues"]}, set())

    def test_namespaces_of_jobs(self):
        chart = self.rendered("--set", "jobs.create=false", "--set-json", 'jobs.namespaces=["a","b"]')
        self.assertNotIn(("Namespace", "a"), chart)
        self.assertIn(("RoleBinding", "stint-jobs-made"), chart)
        self.assertNotIn(("ClusterRole", "stint-jobs-made"), self.rendered("--set-json", "jobs.namespaces=[]"))


if __name__ == "__main__":
    unittest.main()
