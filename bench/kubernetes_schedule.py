#!/usr/bin/env python3
"""How many GPU pods a second are scheduled on a real API server: by the daemon, and by kube-scheduler on the same server.

Usage: bench/kubernetes_schedule.py STINT [--nodes 100] [--pods 800] [--rounds 1]

Machines with eight GPUs each are played by KWOK; one-GPU pods are all made before whoever places them starts, so that making them is not
measured: from the start of the scheduler's program until the API server has a node for each pod. kube-scheduler is given the same requests
a second as the daemon may make (no limit of its own that binds). `bind` is what the API server itself takes: bindings sent by twelve
clients, as the daemon does, with no scheduler at all. Needs scripts/setup-kubernetes.
"""
import argparse
import concurrent.futures
import http.client
import importlib.machinery
import importlib.util
import json
import pathlib
import ssl
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from running_daemon import RunningDaemon  # noqa: E402

loader = importlib.machinery.SourceFileLoader("kubernetes_cluster", str(ROOT / "scripts/kubernetes-cluster"))
kubernetes = importlib.util.module_from_spec(importlib.util.spec_from_loader("kubernetes_cluster", loader))
loader.exec_module(kubernetes)

PODS = "/api/v1/namespaces/default/pods"
local = threading.local()


class Client:
    """A connection that is kept, for each thread."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.trust = ssl.create_default_context(cafile=cluster.pki / "ca.crt")

    def call(self, method, path, body=None):
        if getattr(local, "owner", None) is not self:
            local.owner, local.connection = self, http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=120, context=self.trust)
        local.connection.request(method, path, None if body is None else json.dumps(body),
                                 {"Authorization": f"Bearer {self.cluster.token}", "Content-Type": "application/json"})
        answer = local.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return text

    def many(self, calls):
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda c: self.call(*c), calls))


def pod(name, scheduler):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "example.com/work:1",
                                                                 "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}


def bound(cluster):
    """How many pods have a node, by the server's own index."""
    count, token = 0, ""
    while True:
        answer = json.loads(cluster.get(f"/api/v1/pods?limit=2000&fieldSelector=spec.nodeName%21%3D{token}"))
        count += len(answer["items"])
        token = answer["metadata"].get("continue", "")
        if not token:
            return count
        token = f"&continue={token}"


def wait_for(cluster, pods, began, seconds):
    while (there := bound(cluster)) < pods:
        if time.monotonic() - began > seconds:
            raise SystemExit(f"only {there} of {pods} pods are bound after {seconds} s")
        time.sleep(0.2)
    return time.monotonic() - began


def measure(how, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        cluster = kubernetes.Cluster(folder / "cluster")
        cluster.up(["controller-manager"], ["--max-requests-inflight", "2000", "--max-mutating-requests-inflight", "1000"])
        try:
            client = Client(cluster)
            client.many(("POST", "/api/v1/nodes", kubernetes.machine(f"gpu-{i}", 8, kubernetes.DEFAULT_MODEL)) for i in range(arguments.nodes))
            cluster.launch("kwok", "--kubeconfig", cluster.kubeconfig, "--config", ROOT / "tests/kubernetes/machines.yaml",
                           "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", 600)
            ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
            cluster.wait("the machines are ready", lambda: cluster.kubectl("get", "nodes", "-o", ready).split().count("True") == arguments.nodes, 600)
            scheduler = {"stint": "stint", "kube-scheduler": "default-scheduler", "bind": "none"}[how]
            client.many(("POST", PODS, pod(f"p-{i}", scheduler)) for i in range(arguments.pods))
            began = time.monotonic()
            if how == "bind":
                client.many(("POST", f"{PODS}/p-{i}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"p-{i}"},
                                                              "target": {"kind": "Node", "name": f"gpu-{i % arguments.nodes}"}})
                            for i in range(arguments.pods))
                return time.monotonic() - began
            if how == "kube-scheduler":
                cluster.start_part("kube-scheduler", cluster.client_port + 4, "--kubeconfig", cluster.kubeconfig)
                return wait_for(cluster, arguments.pods, began, arguments.patience)
            daemon = RunningDaemon(arguments.stint, folder, {
                "queues": [{"name": "rest"}], "engine": {"kubernetes": {"kubeconfig": str(cluster.kubeconfig), "queue": "rest", "lease_duration": "15s"}}},
                simulate=False, flags=[])
            try:
                return wait_for(cluster, arguments.pods, began, arguments.patience)
            finally:
                daemon.kill()
        finally:
            cluster.down()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stint")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patience", type=float, default=900, help="seconds for one measurement")
    arguments = parser.parse_args()
    rates = {how: [] for how in ("bind", "kube-scheduler", "stint")}
    for _ in range(arguments.rounds):
        for how, figures in rates.items():
            figures.append(arguments.pods / measure(how, arguments))
            print(f"{how:<16}{figures[-1]:8.0f} pods/s", file=sys.stderr, flush=True)
    print(f"{arguments.nodes} nodes x 8 GPUs, {arguments.pods} pods of one GPU; median of {arguments.rounds}, least, most")
    for how, figures in rates.items():
        print(f"{how:<16}{statistics.median(figures):8.0f}{min(figures):8.0f}{max(figures):8.0f} pods/s")


if __name__ == "__main__":
    main()
