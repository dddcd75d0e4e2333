#!/usr/bin/env python3
"""stint import kubernetes against a real API server: what kubectl says is what is imported, whoever owns the pods, whatever shares the GPUs.

Usage: test_import.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import json
import unittest
from decimal import Decimal

from running_kubernetes import RunningKubernetes, pod


def definition(group, version, kind, plural):
    """A custom resource as its project defines it, its fields left open."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": version, "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def template(gpus=1, labels=None):
    return {"metadata": {"labels": labels or {}}, "spec": pod("x", gpus)["spec"]}


class Import(RunningKubernetes):
    def owner(self, path, body):
        made = json.loads(self.cluster.call("POST", path, body))
        return {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.create("/api/v1/namespaces", *({"metadata": {"name": name, "labels": {"team": team}}} for name, team in
                                                   [("acme", "vision"), ("zoo", "speech"), ("quiet", "none")]))
        for group, version, kind, plural in [("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"), ("ray.io", "v1", "RayJob", "rayjobs"),
                                             ("ray.io", "v1", "RayCluster", "rayclusters"), ("argoproj.io", "v1alpha1", "Workflow", "workflows"),
                                             ("argoproj.io", "v1alpha1", "CronWorkflow", "cronworkflows"),
                                             ("kubeflow.org", "v1", "Notebook", "notebooks")]:
            cls.cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, version, kind, plural))
        for plural in ["pytorchjobs.kubeflow.org", "rayjobs.ray.io", "rayclusters.ray.io", "workflows.argoproj.io", "cronworkflows.argoproj.io",
                       "notebooks.kubeflow.org"]:
            cls.cluster.kubectl("wait", "--for=condition=Established", f"crd/{plural}", "--timeout=60s")

    def make_workloads(self):
        """One pod of each kind of owner: name of the pod → name of the workload."""
        create, names = self.cluster.create, {}
        create("/apis/apps/v1/namespaces/acme/deployments", {
            "metadata": {"name": "llm"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}}, "template": template(1, {"app": "llm"})}})
        create("/apis/apps/v1/namespaces/acme/statefulsets", {
            "metadata": {"name": "cache"}, "spec": {"serviceName": "cache", "selector": {"matchLabels": {"app": "cache"}},
                                                    "template": template(1, {"app": "cache"})}})
        never = dict(template(2))
        never["spec"] = dict(never["spec"], restartPolicy="Never")
        create("/apis/batch/v1/namespaces/zoo/jobs", {"metadata": {"name": "tune"}, "spec": {"template": never}})
        custom = [("kubeflow.org/v1", "pytorchjobs", "PyTorchJob", "bert", None), ("ray.io/v1", "rayjobs", "RayJob", "sweep", None),
                  ("ray.io/v1", "rayclusters", "RayCluster", "sweep-x1", "sweep"),
                  ("argoproj.io/v1alpha1", "cronworkflows", "CronWorkflow", "nightly", None),
                  ("argoproj.io/v1alpha1", "workflows", "Workflow", "nightly-17", "nightly"), ("kubeflow.org/v1", "notebooks", "Notebook", "eda", None)]
        made = {}
        for version, plural, kind, name, above in custom:
            body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "zoo"}}
            if above:
                body["metadata"]["ownerReferences"] = [dict(made[above], controller=True)]
            made[name] = self.owner(f"/apis/{version}/namespaces/zoo/{plural}", body)
        for of, top in [("bert", "bert"), ("sweep-x1", "sweep"), ("nightly-17", "nightly"), ("eda", "eda")]:
            create("/api/v1/namespaces/zoo/pods", pod(f"{of}-worker-0", 1, "zoo", owner=made[of]))
            names[f"{of}-worker-0"] = top
        create("/api/v1/namespaces/acme/pods", pod("too-large", 99, "acme"))
        create("/api/v1/namespaces/acme/resourcequotas", {"metadata": {"name": "gpus"}, "spec": {"hard": {"requests.nvidia.com/gpu": "20"}}})
        self.wait("all pods but one run", lambda: list(self.phases().values()).count("Running") == 8 and len(self.phases()) == 9)
        for name in self.phases():
            for prefix, top in [("llm-", "llm"), ("cache-", "cache"), ("tune-", "tune")]:
                if name.startswith(prefix):
                    names[name] = top
        return names

    def test_a_cluster_becomes_a_history_as_its_file_does(self):
        names = self.make_workloads()
        quota = "/api/v1/namespaces/acme/resourcequotas/gpus"
        self.wait("the quota counts", lambda: "requests.nvidia.com/gpu" in json.loads(self.cluster.get(quota)).get("status", {}).get("used", {}))
        said = self.stint("import", "kubernetes", "--kubeconfig", self.cluster.kubeconfig, "--history", self.history)
        runs = self.runs()
        self.assertEqual({name: run["name"] for name, run in runs.items() if name != "too-large"}, names)
        self.assertEqual(json.loads(self.rows("run", "pod")["bert-worker-0"]["allocations"])[0]["count"], 1)
        self.assertIsNone(runs["too-large"]["started"], "it waits")
        self.assertIn("GPU quotas used: acme", said)
        self.assertIn("FailedScheduling", said)
        machines = self.rows("node", "name")
        self.assertEqual({name: row["gpu_count"] for name, row in machines.items()}, {f"gpu-{i}": 8 for i in range(4)})

        # What each costs, by what Kubernetes calls them: all of it sums to what the machines cost.
        rates = self.scratch / "rates.csv"
        rates.write_text("node,rate_per_hour\n" + "".join(f"gpu-{i},31.20\n" for i in range(4)))
        self.stint("import", "inventory", rates, "--history", self.history)
        answer = self.scratch / "bill.json"
        self.stint("bill", "--history", self.history, "--by", "namespace,controllerKind,controller", "--json", "-o", answer)
        bill = json.loads(answer.read_text())
        self.assertEqual({row["name"] for row in bill["rows"]},
                         {"acme/Deployment/llm", "acme/StatefulSet/cache", "zoo/Job/tune", "zoo/PyTorchJob/bert", "zoo/RayJob/sweep",
                          "zoo/CronWorkflow/nightly", "zoo/Notebook/eda"})
        self.stint("bill", "--history", self.history, "--by", "label:app", "--format", "opencost", "-o", answer)
        told = json.loads(answer.read_text(), parse_float=Decimal)
        self.assertLessEqual({"llm", "cache", "__idle__", "__unallocated__"}, set(told["data"][0]))
        self.assertEqual(sum(Decimal(row["totalCost"]) for row in told["data"][0].values()), Decimal(bill["total"]))

        # An independent client of the same server, and the file way in.
        kinds = "namespaces,nodes,replicasets,jobs,resourcequotas,pytorchjobs,rayjobs,rayclusters,workflows,cronworkflows,notebooks,pods"
        listed = self.scratch / "cluster.json"
        listed.write_text(self.cluster.kubectl("get", kinds, "-A", "-o", "json"))
        of_file = self.scratch / "file.db"
        self.stint("import", "kubernetes", listed, "--history", of_file)
        same = lambda rows: {name: {k: v for k, v in row.items() if k not in ("id", "import", "import_id", "ended", "tenant")}  # noqa: E731
                             for name, row in rows.items()}
        self.assertEqual(same(self.runs()), same(self.runs(of_file)))

    def test_lists_longer_than_a_page_come_whole(self):
        """The API hands out 500 objects at a time."""
        self.cluster.create("/api/v1/namespaces/quiet/pods", *(pod(f"small-{i}", 0, "quiet", schedulerName="none") for i in range(1001)))
        said = self.stint("import", "kubernetes", "--kubeconfig", self.cluster.kubeconfig, "--history", self.history)
        self.assertRegex(said, r"100[1-9] pods without GPUs left out")


if __name__ == "__main__":
    unittest.main()
