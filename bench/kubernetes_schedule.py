#!/usr/bin/env python3
"""How many GPU pods a second are scheduled on a real API server: by the daemon, and by kube-scheduler on the same server.

Usage: bench/kubernetes_schedule.py STINT [--nodes 100] [--pods 800] [--rounds 1]

Machines with eight GPUs each are made ready by KWOK, which then ends, and the controllers too: kubelets and controllers have other machines
in a cluster (--kubelets leaves them running here, beside the server). One-GPU pods are all made before whoever places them starts, so that
making them is not measured: from the start of the scheduler's program until the API server has told of a node for each pod. kube-scheduler
is given the same requests a second as the daemon may make (no limit of its own that binds). `bind` is what the API server itself takes:
bindings sent by twelve clients, as the daemon does, with no scheduler at all. Beside the rate stands the processor time of whoever places
them and of the server (kube-apiserver and etcd) for each pod, which a busy machine changes less. Needs scripts/setup-kubernetes.
"""
import argparse
import concurrent.futures
import http.client
import importlib.machinery
import importlib.util
import json
import os
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
CONTENDERS = ("bind", "kube-scheduler", "stint")
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


DRIVER = "gpu.example.com"
DEVICES = "/apis/resource.k8s.io/v1"


def offer_devices(client, nodes):
    """Eight GPUs of each machine, by a class, and a template that claims one."""
    client.call("POST", f"{DEVICES}/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": DRIVER}, "spec": {
        "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"}}]}})
    client.call("POST", f"{DEVICES}/namespaces/default/resourceclaimtemplates", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "one"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}}})
    client.many(("POST", f"{DEVICES}/resourceslices", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"gpu-{i}-s"},
        "spec": {"driver": DRIVER, "nodeName": f"gpu-{i}", "pool": {"name": f"gpu-{i}", "generation": 1, "resourceSliceCount": 1},
                 "devices": [{"name": f"gpu-{d}", "attributes": {"type": {"string": "gpu"}}} for d in range(8)]}}) for i in range(nodes))


def claiming_pod(name, scheduler):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "one"}],
                     "containers": [{"name": "main", "image": "example.com/work:1", "resources": {"claims": [{"name": "g"}]}}]}}


def pod(name, scheduler):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "example.com/work:1",
                                                                 "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}


class Bound(threading.Thread):
    """Counts the pods that have a node, as a watch of their metadata tells: lists of all of them, asked for again and again, would be most
    of the server's work."""

    WATCHED = "/api/v1/pods?fieldSelector=spec.nodeName%21%3D"

    def __init__(self, cluster, pods):
        super().__init__(daemon=True)
        self.cluster, self.left, self.all = cluster, pods, threading.Event()
        self.names = set()

    def ask(self, more, kind):
        connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=600,
                                                 context=ssl.create_default_context(cafile=self.cluster.pki / "ca.crt"))
        connection.request("GET", self.WATCHED + more, headers={
            "Authorization": f"Bearer {self.cluster.token}", "Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1"})
        return connection.getresponse()

    def see(self, *objects):
        self.names.update(one["metadata"]["name"] for one in objects)
        if len(self.names) >= self.left:
            self.all.set()

    def run(self):
        while not self.all.is_set():  # the server ends a watch that reads slowly
            try:
                self.follow()
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)

    def follow(self):
        listed = json.loads(self.ask("", "PartialObjectMetadataList").read())
        self.see(*(listed["items"] or []))
        if self.all.is_set():
            return
        for line in self.ask(f"&watch=1&resourceVersion={listed['metadata']['resourceVersion']}", "PartialObjectMetadata"):
            told = json.loads(line)
            if told["type"] in ("ADDED", "MODIFIED"):
                self.see(told["object"])
            if self.all.is_set():
                return

    def wait(self, began, seconds):
        if not self.all.wait(seconds):
            raise SystemExit(f"only {len(self.names)} of {self.left} pods are bound after {seconds} s")
        return time.monotonic() - began


def processor_seconds(*pids):
    """That these processes have used, their threads included."""
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def process_ids(cluster, *names):
    return [record["pid"] for record in cluster.processes() if record["name"] in names]


def measure(how, arguments):
    """(seconds, processor seconds of who places, those of the server)"""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        cluster = kubernetes.Cluster(folder / "cluster")
        cluster.up(["controller-manager"], ["--max-requests-inflight", "2000", "--max-mutating-requests-inflight", "1000"])
        try:
            client = Client(cluster)
            client.many(("POST", "/api/v1/nodes", kubernetes.machine(f"gpu-{i}", 0 if arguments.claims else 8, kubernetes.DEFAULT_MODEL)) for i in range(arguments.nodes))
            cluster.launch("kwok", "--kubeconfig", cluster.kubeconfig, "--config", ROOT / "tests/kubernetes/machines.yaml",
                           "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", 600)
            ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
            cluster.wait("the machines are ready", lambda: cluster.kubectl("get", "nodes", "-o", ready).split().count("True") == arguments.nodes, 600)
            scheduler = {"stint": "stint", "kube-scheduler": "default-scheduler", "bind": "none"}[how]
            if arguments.claims:
                offer_devices(client, arguments.nodes)
            client.many(("POST", PODS, (claiming_pod if arguments.claims else pod)(f"p-{i}", scheduler)) for i in range(arguments.pods))
            if arguments.claims:
                cluster.wait("their claims are made", lambda: sum(bool(p.get("status", {}).get("resourceClaimStatuses")) for p in
                                                                  json.loads(client.call("GET", PODS))["items"]) == arguments.pods, 600)
            server = process_ids(cluster, "kube-apiserver", "etcd")
            used, own = processor_seconds(*server), processor_seconds(os.getpid())
            if not arguments.kubelets:
                cluster.kill("kwok")
                cluster.kill("kube-controller-manager")
            bound = Bound(cluster, arguments.pods)
            bound.start()
            began = time.monotonic()
            if how == "bind":
                client.many(("POST", f"{PODS}/p-{i}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"p-{i}"},
                                                              "target": {"kind": "Node", "name": f"gpu-{i % arguments.nodes}"}})
                            for i in range(arguments.pods))
                return bound.wait(began, arguments.patience), processor_seconds(os.getpid()) - own, processor_seconds(*server) - used
            if how == "kube-scheduler":
                cluster.start_part("kube-scheduler", cluster.client_port + 4, "--kubeconfig", cluster.kubeconfig)
                took = bound.wait(began, arguments.patience)
                return took, processor_seconds(*process_ids(cluster, "kube-scheduler")), processor_seconds(*server) - used
            daemon = RunningDaemon(arguments.stint, folder, {
                "queues": [{"name": "rest"}], "engine": {"kubernetes": {"kubeconfig": str(cluster.kubeconfig), "queue": "rest", "lease_duration": "15s"}}},
                simulate=False, flags=[])
            try:
                took = bound.wait(began, arguments.patience)
                return took, processor_seconds(daemon.process.pid), processor_seconds(*server) - used
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
    parser.add_argument("--kubelets", action="store_true", help="the machines run the pods meanwhile, on this one's processors")
    parser.add_argument("--claims", action="store_true", help="the pods claim their GPUs (dynamic resource allocation); without `bind`")
    parser.add_argument("--only", choices=CONTENDERS, action="append", help="leave the others out")
    arguments = parser.parse_args()
    rows = {how: [] for how in arguments.only or (CONTENDERS[1:] if arguments.claims else CONTENDERS)}
    for _ in range(arguments.rounds):
        for how, of_it in rows.items():
            took, own, server = measure(how, arguments)
            of_it.append((arguments.pods / took, 1000 * own / arguments.pods, 1000 * server / arguments.pods))
            print("{:<16}{:8.0f} pods/s; processor: {:.2f} ms a pod its own, {:.2f} the server's".format(how, *of_it[-1]), file=sys.stderr, flush=True)
    print(f"{arguments.nodes} nodes x 8 GPUs, {arguments.pods} pods of one GPU; {arguments.rounds} rounds; pods/s: median, least, most; "
          "processor ms a pod (median): its own, the server's")
    for how, of_it in rows.items():
        rate, own, server = zip(*of_it)
        print(f"{how:<16}{statistics.median(rate):8.0f}{min(rate):8.0f}{max(rate):8.0f}{statistics.median(own):10.2f}{statistics.median(server):8.2f}")


if __name__ == "__main__":
    main()
