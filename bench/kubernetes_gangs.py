#!/usr/bin/env python3
"""Gangs under contention on a real API server: by the daemon, and by kube-scheduler alone, which knows of no gangs.

Usage: bench/kubernetes_gangs.py STINT [--gangs 200] [--nodes 16] [--seconds 240] [--seed 1]

Gangs of 1 to 8 pods with 1 to 8 GPUs each; the pods of all of them are made in a random order before the scheduler starts. A gang works once
all its pods run, for as long as was drawn for it, and then ends; until then what it holds is held for nothing. After `--seconds`, or when
all have ended, it is told: finished work (GPU-seconds of gangs that ended) for each GPU-second of the fleet, how many looks saw a gang of
which a part runs, and how many gangs are stuck so at the end. Needs scripts/setup-kubernetes.
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kubernetes_schedule import Client, RunningDaemon, kubernetes  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"


def draw_gangs(arguments):
    draw = random.Random(arguments.seed)
    gangs = {}
    for i in range(arguments.gangs):
        gangs[f"g{i}"] = {"pods": draw.choice([1, 2, 2, 4, 4, 8]), "gpus": draw.choice([1, 2, 4, 8]), "seconds": draw.uniform(2, 8)}
    order = [(name, i) for name, gang in gangs.items() for i in range(gang["pods"])]
    draw.shuffle(order)
    return gangs, order


def pod(name, gang, size, gpus, scheduler):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"gang": gang, "stint/gang": gang, "stint/gang-size": str(size)}},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "example.com/work:1",
                                                                 "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}


def measure(how, arguments):
    gangs, order = draw_gangs(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        cluster = kubernetes.Cluster(folder / "cluster")
        cluster.up(["controller-manager", "kwok"])
        try:
            client = Client(cluster)
            client.many(("POST", "/api/v1/nodes", kubernetes.machine(f"gpu-{i}", 8, kubernetes.DEFAULT_MODEL)) for i in range(arguments.nodes))
            scheduler = "stint" if how == "stint" else "default-scheduler"
            for name, i in order:  # one after another: their order counts
                client.call("POST", PODS, pod(f"{name}-{i}", name, gangs[name]["pods"], gangs[name]["gpus"], scheduler))
            if how == "stint":
                daemon = RunningDaemon(arguments.stint, folder, {
                    "queues": [{"name": "rest"}], "engine": {"kubernetes": {"kubeconfig": str(cluster.kubeconfig), "queue": "rest"}}}, simulate=False, flags=[])
            else:
                cluster.start_part("kube-scheduler", cluster.client_port + 4, "--kubeconfig", cluster.kubeconfig)
            try:
                return watch(client, gangs, arguments)
            finally:
                if how == "stint":
                    daemon.kill()
        finally:
            cluster.down()


def watch(client, gangs, arguments):
    """Ends gangs whose time is up; what they and those that hang hold is counted."""
    began, whole_since, done, partial_looks, work, partial = time.monotonic(), {}, set(), 0, 0.0, {}
    while time.monotonic() - began < arguments.seconds and len(done) < len(gangs):
        runs = collections.Counter()
        for one in json.loads(client.call("GET", PODS))["items"]:
            if one["spec"].get("nodeName") and one["status"]["phase"] in ("Pending", "Running"):
                runs[one["metadata"]["labels"]["gang"]] += 1
        now = time.monotonic()
        # A look may fall between two bindings: in part is who was so at the look before, too.
        in_part = {name for name, count in runs.items() if count < gangs[name]["pods"] and name not in done and name not in whole_since}
        partial_looks += bool(in_part & set(partial))
        partial = {name: runs[name] for name in in_part}
        for name, count in runs.items():
            if count == gangs[name]["pods"]:
                whole_since.setdefault(name, now)
        ends = [name for name, since in whole_since.items() if name not in done and now - since >= gangs[name]["seconds"]]
        for name in ends:
            for i in range(gangs[name]["pods"]):
                try:
                    client.call("DELETE", f"{PODS}/{name}-{i}?gracePeriodSeconds=0")
                except RuntimeError as error:
                    if ": 404 " not in str(error):  # the daemon ends a gang of which a pod has gone
                        raise
            done.add(name)
            work += gangs[name]["pods"] * gangs[name]["gpus"] * gangs[name]["seconds"]
        time.sleep(0.25)
    took = time.monotonic() - began
    held = sum(count * gangs[name]["gpus"] for name, count in partial.items())
    return {"seconds": took, "ended": len(done), "work": work / (took * arguments.nodes * 8), "looks": partial_looks, "stuck": len(partial), "held": held}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stint")
    parser.add_argument("--gangs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{arguments.gangs} gangs, {arguments.nodes} machines of 8 GPUs, seed {arguments.seed}")
    for how in ("kube-scheduler", "stint"):
        row = measure(how, arguments)
        print("{:<16}{:6.0f} s, {} gangs ended, work {:.2f} of the fleet's GPU-seconds, {} looks with a gang in part; at the end {} in part, holding {} GPUs".format(
            how, row["seconds"], row["ended"], row["work"], row["looks"], row["stuck"], row["held"]), flush=True)


if __name__ == "__main__":
    main()
