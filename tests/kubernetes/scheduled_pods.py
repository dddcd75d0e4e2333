"""A test case whose pods stint daemon places: with the rights of the example alone, in four machines of eight GPUs."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402
from running_kubernetes import ROOT, STINT, RunningKubernetes, pod  # noqa: E402

PODS = "/api/v1/namespaces/{}/pods"
QUEUES = [{"name": "acme"}, {"name": "zoo"}, {"name": "rest"}]


class ScheduledPods(RunningKubernetes):
    MACHINES = {"count": 4, "gpus": 8}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("acme", "zoo"):
            cls.cluster.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        cls.cluster.wait("their accounts", lambda: all(cls.cluster.get(f"/api/v1/namespaces/{n}/serviceaccounts/default") for n in ("acme", "zoo")))

        # The daemon has the rights of the example alone.
        cls.cluster.kubectl("apply", "-f", ROOT / "examples/kubernetes/scheduler-rbac.yaml")
        access = json.loads(cls.cluster.kubeconfig.read_text())
        token = cls.cluster.kubectl("-n", "stint", "create", "token", "stint-scheduler").strip()
        access["users"][0]["user"] = {"token": token}
        cls.kubeconfig = cls.folder / "scheduler.kubeconfig"
        cls.kubeconfig.write_text(json.dumps(access))
        cls.kubeconfig.chmod(0o600)

    def daemon(self, name="one", lease="3s", kubeconfig=None):
        folder = self.scratch / name
        folder.mkdir()
        engine = {"kubeconfig": str(kubeconfig or self.kubeconfig), "queue": "rest", "every": "100ms", "lease_namespace": "stint", "lease_duration": lease}
        daemon = RunningDaemon(STINT, folder, {"nodes": [{"name": "gpu-[0-3]", "per_hour": "16"}], "queues": QUEUES,
                                               "engine": {"kubernetes": engine}}, simulate=False, flags=[])
        self.addCleanup(daemon.kill)
        return daemon

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait, "no pod is left", lambda: not self.pods())
        for name in ("acme", "zoo", "default"):
            self.addCleanup(self.cluster.call, "DELETE", f"{PODS.format(name)}?gracePeriodSeconds=0")

    def make(self, name, gpus=1, namespace="acme", labels=None, **spec):
        self.cluster.create(PODS.format(namespace), pod(name, gpus, namespace, labels=labels, **{"schedulerName": "stint", **spec}))

    def pods(self):
        return {p["metadata"]["name"]: p for p in json.loads(self.cluster.get("/api/v1/pods"))["items"]}

    def nodes(self):
        """Where pods are, by name; those that wait are not among them."""
        return {name: p["spec"]["nodeName"] for name, p in self.pods().items() if p["spec"].get("nodeName")}

    def condition(self, name):
        found = [c for c in self.pods()[name]["status"].get("conditions", []) if c["type"] == "PodScheduled"]
        return (found[0]["status"], found[0].get("reason", ""), found[0].get("message", "")) if found else ("", "", "")

    def job(self, daemon, name):
        jobs = daemon.ask("GET", "/v1/jobs?limit=500")["jobs"]
        return next((j for j in jobs if j["name"] == name), None)

    def state(self, daemon, name):
        return (self.job(daemon, name) or {"state": ""})["state"]
