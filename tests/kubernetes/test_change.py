#!/usr/bin/env python3
"""stint change apply --kubernetes on a real API server: what findings ask of machines and workloads is applied, taken back, and written for Kustomize.

Usage: test_change.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import json
import threading
import time
import unittest

from running_kubernetes import ROOT, RunningKubernetes, pod

TYPE = "node.kubernetes.io/instance-type"


def deployment(name, replicas, **spec):
    return {"metadata": {"name": name, "namespace": "acme"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {**pod("x", 4)["spec"], **spec}}}}


class Changes(RunningKubernetes):
    """Each test has two large machines, with two pods of four GPUs on each, and one small machine."""
    MACHINES = {"count": 0}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.create("/api/v1/namespaces", {"metadata": {"name": "acme"}})

    def setUp(self):
        super().setUp()
        self.cluster.add_machines(2, 8, prefix="big", labels={TYPE: "p5.48xlarge"})
        self.cluster.add_machines(1, 8, prefix="small", labels={TYPE: "g6e.48xlarge"})
        self.addCleanup(self.clear)
        self.cluster.kubectl("wait", "--for=condition=Ready", "node", "--all")
        self.cluster.create("/apis/apps/v1/namespaces/acme/deployments", deployment("llm", 4, nodeSelector={TYPE: "p5.48xlarge"}))
        self.wait("they run", lambda: list(self.phases("--field-selector=metadata.namespace=acme").values()) == ["Running"] * 4)
        self.stint("import", "kubernetes", "--kubeconfig", self.cluster.kubeconfig, "--history", self.history)

    def clear(self):
        self.cluster.kubectl("-n", "acme", "delete", "deployments,cronjobs,jobs,poddisruptionbudgets,roles,rolebindings", "--all", "--wait=false")
        self.cluster.kubectl("-n", "acme", "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false", check=False)
        self.cluster.kubectl("delete", "nodes", "--all")
        self.wait("no pods", lambda: not self.phases("--field-selector=metadata.namespace=acme"))

    def apply(self, change, *arguments, codes=(0,)):
        return self.stint("change", "apply", 1, change, "--history", self.history, "--kubernetes", "--kubeconfig", self.cluster.kubeconfig,
                          *arguments, codes=codes)

    def undo(self, number=1, codes=(0,)):
        return self.stint("change", "undo", number, "--history", self.history, "--execute", "--kubernetes", "--kubeconfig",
                          self.cluster.kubeconfig, codes=codes)

    def of(self, what, name, *pointer, namespace="acme"):
        found = json.loads(self.cluster.kubectl("-n", namespace, "get", what, name, "-o", "json"))
        for step in pointer:
            found = found.get(step) if found is not None else None
        return found

    def machines(self):
        """Of pods that run."""
        pods = json.loads(self.cluster.kubectl("-n", "acme", "get", "pods", "-o", "json"))["items"]
        return sorted(p["spec"].get("nodeName", "") for p in pods if not p["metadata"].get("deletionTimestamp"))

    def test_fewer_machines_and_the_way_back(self):
        fewer = "resize:big-0,big-1=1xp5.48xlarge"
        said = self.apply(fewer, "--dry-run")
        self.assertIn("Deployment acme/llm: 2 replicas in place of 4", said)
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 4, "a dry run changes nothing")
        self.assertIsNone(self.of("node", "big-1", "spec", "unschedulable"))
        self.assertIn('"changes": []', self.stint("change", "list", "--history", self.history, "--json"))

        self.apply(fewer, "--execute")
        self.assertTrue(self.of("node", "big-1", "spec", "unschedulable"))
        self.wait("those on the machine that is given up have gone", lambda: self.machines() == ["big-0", "big-0"])
        self.apply(fewer, "--execute")  # nothing comes of the same again
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 2)
        self.assertEqual(len(json.loads(self.stint("change", "list", "--history", self.history, "--json"))["changes"]), 1)

        self.undo()
        self.assertIsNone(self.of("node", "big-1", "spec", "unschedulable"))
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 4)
        self.assertNotIn("stint/", json.dumps(self.of("deployment", "llm", "metadata", "labels")))
        self.wait("they run again", lambda: self.machines() == ["big-0", "big-0", "big-1", "big-1"])

    def test_what_somebody_changed_since_is_theirs(self):
        self.apply("resize:big-0,big-1=1xp5.48xlarge", "--execute")
        self.cluster.kubectl("-n", "acme", "scale", "deployment/llm", "--replicas=3")
        said = self.undo()
        self.assertIn("/spec/replicas is 3, as somebody set it since: left", said)
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 3)
        self.assertIsNone(self.of("node", "big-1", "spec", "unschedulable"))

    def test_a_record_that_somebody_wrote_into_is_refused(self):
        self.apply("stop:big-1", "--execute")
        (record,) = [name for name in self.of("node", "big-1", "metadata", "annotations") if name.startswith("stint/before-")]
        for text in ("", "{", '{"made":false,"fields":[{"at":"/a~x","was":1,"is":1}]}', '{"made":false,"fields":[{"at":"spec","was":1,"is":1}]}',
                     '{"made":false,"fields":[{"at":"","was":{},"is":1}]}',
                     '{"made":false,"fields":[{"at":"/metadata/name/x","was":1,"is":1}]}', '{"made":false,"fields":[7]}'):
            with self.subTest(text):
                self.cluster.kubectl("annotate", "--overwrite", "node", "big-1", f"{record}={text}")
                self.assertIn("no record of Stint's any more", self.undo(codes=(1,)))
        self.assertTrue(self.of("node", "big-1", "spec", "unschedulable"))

    def test_work_moves_to_another_type(self):
        self.assertIn("make its node pool first", self.apply("resize:big-0,big-1=2xp6.48xlarge", "--execute", codes=(1,)))
        self.apply("resize:big-0,big-1=2xg6e.48xlarge", "--execute")
        self.assertEqual(self.of("deployment", "llm", "spec", "template", "spec", "nodeSelector"), {TYPE: "g6e.48xlarge"})
        self.wait("new ones are on the small machine", lambda: self.machines().count("small-0") == 2)
        self.undo()
        self.assertEqual(self.of("deployment", "llm", "spec", "template", "spec", "nodeSelector"), {TYPE: "p5.48xlarge"})
        self.wait("they are where they were", lambda: self.machines() == ["big-0", "big-0", "big-1", "big-1"])

    def test_a_disruption_budget_holds_and_the_same_again_goes_on(self):
        self.cluster.create("/apis/policy/v1/namespaces/acme/poddisruptionbudgets", {
            "metadata": {"name": "llm"}, "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "llm"}}}})
        self.wait("it counts", lambda: self.of("pdb", "llm", "status", "currentHealthy") == 4)
        said = self.apply("stop:big-1", "--execute", codes=(1,))
        self.assertIn("disruption budget", said)
        self.assertIn("nothing is recorded", said)
        self.assertTrue(self.of("node", "big-1", "spec", "unschedulable"))
        self.cluster.kubectl("-n", "acme", "delete", "pdb", "llm")
        self.apply("stop:big-1", "--execute")
        self.wait("they are gone from there", lambda: "big-1" not in self.machines())
        self.undo()
        self.assertIsNone(self.of("node", "big-1", "spec", "unschedulable"))

    def test_gpus_are_cut_and_whole_again(self):
        share = self.scratch / "share.json"
        share.write_text(json.dumps({"schema": "stint-changes/1", "currency": "USD", "proposals": [{"id": "", "title": "Cut", "changes": [{
            "kind": "share", "nodes": ["small-0"], "mode": "mig", "keep": ["small-0"],
            "placements": [{"workload": "a", "from": {"node": "small-0", "gpu": 0}, "to": {"node": "small-0", "gpu": 0}, "share": 0.142857,
                            "mig_profile": "1g.10gb"}]}]}]}))
        self.assertIn("has not said that it is done", self.apply(share, "--execute", "--cut-within", "1s", codes=(1,)))

        def manager():  # as NVIDIA's does: its word comes after the label
            end = time.monotonic() + 60
            while time.monotonic() < end and "nvidia.com/mig.config.state" not in self.of("node", "small-0", "metadata", "labels"):
                if self.of("node", "small-0", "metadata", "labels").get("nvidia.com/mig.config") == "all-1g.10gb":
                    self.cluster.kubectl("label", "node", "small-0", "nvidia.com/mig.config.state=success")
        worker = threading.Thread(target=manager)
        worker.start()
        said = self.apply(share, "--execute")
        worker.join()
        self.assertIn("recorded as change 1", said)
        self.undo()
        self.assertNotIn("nvidia.com/mig.config", self.of("node", "small-0", "metadata", "labels"))

    def test_a_schedule_is_cron_jobs_that_may_scale_and_nothing_else(self):
        schedule = "schedule-off:big-0,big-1=20-7"
        self.assertIn("--kubectl-image", self.apply(schedule, "--execute", codes=(1,)))
        self.apply(schedule, "--execute", "--kubectl-image", "example.com/kubectl:1")
        jobs = json.loads(self.cluster.kubectl("-n", "acme", "get", "cronjobs", "-o", "json"))["items"]
        self.assertEqual({j["spec"]["schedule"] for j in jobs}, {f"0 {hour} * * {day}" for hour in (7, 20) for day in range(7)})
        account = jobs[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["serviceAccountName"]

        def may(*what):
            return self.cluster.kubectl("-n", "acme", "auth", "can-i", *what, f"--as=system:serviceaccount:acme:{account}",
                                        check=False).strip() == "yes"
        self.assertTrue(may("patch", "deployments.apps/llm", "--subresource=scale"))
        self.assertFalse(may("patch", "deployments.apps/llm"))
        self.assertFalse(may("delete", "deployments.apps/llm"))
        self.assertFalse(may("list", "secrets"))
        self.undo()
        self.assertEqual(json.loads(self.cluster.kubectl("-n", "acme", "get", "cronjobs,roles,rolebindings", "-o", "json"))["items"], [])

    def test_files_for_a_repository_build_with_kustomize(self):
        base = self.scratch / "repository"
        base.mkdir()
        (base / "llm.yaml").write_text(json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", **deployment("llm", 4)}))
        said = self.apply("resize:big-0,big-1=1xp5.48xlarge", "--kustomize", base / "change")
        self.assertIn("kustomization.yaml", said)
        (base / "kustomization.yaml").write_text("resources: [llm.yaml]\ncomponents: [change]\n")
        built = self.cluster.kubectl("kustomize", base)
        self.assertIn("replicas: 2", built)
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", base / "change/machines.yaml")
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 4, "files alone change nothing")

    def kubeconfig_of_an_account(self):
        """Of the account `default`."""
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": self.cluster.kubectl("-n", "default", "create", "token", "default").strip()}
        file = self.scratch / "kubeconfig"
        file.write_text(json.dumps(config))
        file.chmod(0o600)
        return file

    def test_rights_it_does_not_have_are_named(self):
        said = self.stint("change", "apply", 1, "stop:big-1", "--history", self.history, "--kubernetes", "--kubeconfig", self.kubeconfig_of_an_account(),
                          "--execute", codes=(1,))
        self.assertIn("forbidden", said)

    def test_the_rights_of_the_example_suffice(self):
        self.cluster.kubectl("apply", "-f", ROOT / "examples/kubernetes/change-rbac.yaml")
        self.cluster.kubectl("create", "clusterrolebinding", "changes", "--clusterrole=stint-changes", "--serviceaccount=default:default")
        self.addCleanup(self.cluster.kubectl, "delete", "clusterrolebinding", "changes")
        as_account = ["--history", self.history, "--execute", "--kubernetes", "--kubeconfig", self.kubeconfig_of_an_account()]
        self.stint("change", "apply", 1, "resize:big-0,big-1=1xp5.48xlarge", *as_account)
        self.wait("those on the machine that is given up have gone", lambda: self.machines() == ["big-0", "big-0"])
        self.stint("change", "undo", 1, *as_account)
        self.stint("change", "apply", 1, "schedule-off:big-0,big-1=20-7", *as_account, "--kubectl-image", "example.com/kubectl:1")
        said = self.stint("change", "undo", 2, *as_account)
        self.assertNotIn("refused", said)
        self.assertEqual(self.of("deployment", "llm", "spec", "replicas"), 4)

    def test_flags_that_do_not_belong_together(self):
        for flags in (["--kubernetes"], ["--kustomize", "x", "--execute", "--kubernetes"], ["--kubeconfig", "x", "--execute"]):
            with self.subTest(flags):
                self.stint("change", "apply", 1, "stop:big-1", "--history", self.history, *flags, codes=(1,))


if __name__ == "__main__":
    unittest.main()
