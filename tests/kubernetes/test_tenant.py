#!/usr/bin/env python3
"""stint kubernetes tenant on a real API server: what it prints is accepted, and then bounds what a client's people can do.

Usage: test_tenant.py STINT. Skipped where scripts/setup-kubernetes finds no programs. Network policies are accepted here and enforced by a
network that KWOK's machines do not have.
"""
import json
import unittest

from running_kubernetes import ROOT, RunningKubernetes, pod

FILE = ROOT / "examples/kubernetes/tenants.yaml"
RESTRICTED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def restricted_pod(name, gpus=1, resource="nvidia.com/gpu", **spec):
    made = pod(name, gpus, namespace="team-acme", resource=resource, securityContext=RESTRICTED, **spec)
    made["spec"]["containers"][0]["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return made


class Tenant(RunningKubernetes):
    PARTS = ["controller-manager"]
    MACHINES = {"count": 0, "gpus": 8}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.kubectl("apply", "-f", ROOT / "examples/kubernetes/scheduler-rbac.yaml")
        cls.cluster.kubectl("apply", "-f", ROOT / "examples/kubernetes/jobs-rbac.yaml")

    def tenant(self, *flags, client="acme", file=FILE, codes=(0,)):
        return self.stint("kubernetes", "tenant", client, "--file", file, *flags, codes=codes)

    def asked(self, *flags, **more):
        return self.tenant(*flags, "--kubeconfig", self.cluster.kubeconfig, **more)

    def may(self, *what, user="someone", group="acme-developers"):
        return self.cluster.kubectl("auth", "can-i", *what, "-n", "team-acme", "--as", user, "--as-group", group, check=False).strip() == "yes"

    def create(self, body):
        """In a dry run. @return the server's refusal; none: it took it"""
        try:
            self.cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(body))
        except RuntimeError as refusal:
            return str(refusal)
        return None

    def test_kubectl_takes_what_it_prints(self):
        for flags in ((), ("--json",)):
            path = self.scratch / "printed"
            path.write_text(self.tenant(*flags, client="zoo"))
            said = self.cluster.kubectl("apply", "-f", path)
            self.assertIn("namespace/team-zoo", said)
            self.assertIn("networkpolicy.networking.k8s.io/stint", said)
        self.cluster.kubectl("delete", "namespace", "team-zoo", "--wait=false")

    def test_a_check_keeps_nothing(self):
        before = self.cluster.kubectl("get", "namespaces,priorityclasses", "-o", "name")
        said = json.loads(self.asked("--check", "--json", file=self.renamed("team-else")))
        self.assertEqual({o["outcome"] for o in said["objects"]}, {"accepted"}, said)
        self.assertGreaterEqual(len(said["objects"]), 14)
        self.assertEqual(self.cluster.kubectl("get", "namespaces,priorityclasses", "-o", "name"), before)

    def renamed(self, namespace, old="team-acme"):
        path = self.scratch / "tenants.yaml"
        path.write_text(FILE.read_text().replace(old, namespace))
        return path

    def test_what_the_server_refuses_is_told(self):
        self.asked("--apply")
        # A PriorityClass's value cannot be changed.
        said = json.loads(self.asked("--apply", "--json", file=self.renamed("value: 7", "value: -100"), codes=(3,)))
        refused = [o for o in said["objects"] if o["outcome"] == "refused"]
        self.assertEqual([o["object"] for o in refused], ["/apis/scheduling.k8s.io/v1/priorityclasses/acme-batch"])
        self.assertIn("value", refused[0]["why"])

    def test_bounds_hold(self):
        self.asked("--apply")
        self.assertEqual({o["outcome"] for o in json.loads(self.asked("--apply", "--json"))["objects"]}, {"applied"}, "twice is once")
        self.cluster.wait("the quotas are counted", lambda: len([q for q in json.loads(self.cluster.get(
            "/api/v1/namespaces/team-acme/resourcequotas"))["items"] if q.get("status", {}).get("hard")]) == 3)
        self.assertIsNone(self.create(restricted_pod("good")))
        self.assertIsNone(self.create(restricted_pod("plain", 0)), "a container that says nothing gets what the client's have")
        self.assertIsNone(self.create(restricted_pod("urgent", 4, priorityClassName="acme-urgent")))
        for what, made in {
            "exceeded quota: stint,": restricted_pod("many", 17),
            "requests.nvidia.com/mig-1g.10gb": restricted_pod("slice", resource="nvidia.com/mig-1g.10gb"),
            "exceeded quota: stint-priority-acme-urgent": restricted_pod("most", 5, priorityClassName="acme-urgent"),
            "exceeded quota: stint-other-priorities": restricted_pod("vip", priorityClassName="system-cluster-critical"),
            "violates PodSecurity": pod("root", namespace="team-acme"),
            "count/resourceclaims": {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "claim", "namespace": "team-acme"},
                                     "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}},
            "services.loadbalancers": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "open", "namespace": "team-acme"},
                                       "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}},
        }.items():
            with self.subTest(what):
                self.assertIn(what, self.create(made) or "it was taken")

    def test_who_may_what(self):
        self.asked("--apply")
        self.assertTrue(self.may("create", "pods"))
        self.assertTrue(self.may("create", "jobs.batch"))
        self.assertTrue(self.may("get", "pods/log"))
        for forbidden in (("update", "resourcequotas"), ("delete", "limitranges"), ("delete", "networkpolicies.networking.k8s.io"),
                          ("create", "rolebindings.rbac.authorization.k8s.io"), ("create", "serviceaccounts/token"), ("create", "namespaces"),
                          ("patch", "namespaces")):
            self.assertFalse(self.may(*forbidden), forbidden)
        self.assertTrue(self.may("list", "pods", group="acme-finance"))
        self.assertFalse(self.may("create", "pods", group="acme-finance"))
        self.assertFalse(self.may("get", "secrets", group="acme-finance"))
        self.assertFalse(self.may("list", "pods", group="zoo"))
        self.assertTrue(self.may("create", "jobs.batch", user="system:serviceaccount:stint:stint-scheduler", group="system:authenticated"))


if __name__ == "__main__":
    unittest.main()
