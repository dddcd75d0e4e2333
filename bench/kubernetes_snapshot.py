#!/usr/bin/env python3
"""How much memory and time a large Kubernetes takes: a snapshot of it is written as `kubectl get … -o json` prints it, and read by Stint.

Usage: kubernetes_snapshot.py STINT [--nodes 10000] [--pods 100000] [--without-gpus 0.2] [--folder FOLDER]
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

MOMENT = "2026-10-02T00:00:00Z"


def meta(kind, name, ns=None, labels=None, owner=None):
    out = {"name": name, "uid": f"{kind}-{ns or ''}-{name}", "creationTimestamp": "2026-10-01T00:00:00Z", "labels": labels or {},
           # What a real object carries and Stint passes over.
           "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": "2026-10-01T00:00:00Z",
                              "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:containers": {}}}}]}
    if ns:
        out["namespace"] = ns
    if owner:
        out["ownerReferences"] = [dict(owner, controller=True, blockOwnerDeletion=True)]
    return out


def node(i):
    labels = {"kubernetes.io/hostname": f"gpu-{i}", "node.kubernetes.io/instance-type": "p5.48xlarge", "topology.kubernetes.io/region": "us-east-1",
              "topology.kubernetes.io/zone": f"us-east-1{'abc'[i % 3]}", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
              "nvidia.com/gpu.count": "8", "nvidia.com/mig.strategy": "none"}
    amounts = {"cpu": "192", "memory": "2Ti", "pods": "250", "nvidia.com/gpu": "8"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta("node", f"gpu-{i}", labels=labels),
            "spec": {"providerID": f"aws:///us-east-1a/i-{i:017x}"},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}],
                       "images": [{"names": [f"registry.example.com/team-{n}/image@sha256:{n:064x}"], "sizeBytes": 10 ** 9} for n in range(8)]}}


def pod(i, nodes, gpus):
    deployment, ns = f"service-{i % 5000}", f"team-{i % 200}"
    labels = {"app": deployment, "app.kubernetes.io/name": deployment, "app.kubernetes.io/part-of": ns, "pod-template-hash": f"{i % 5000:010x}",
              "team": ns, "version": f"v{i % 7}"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{deployment}-{i % 5000:010x}", "uid": f"rs-{i % 5000}"}
    wanted = {"cpu": "8", "memory": "64Gi", **({"nvidia.com/gpu": "1"} if gpus else {})}
    environment = [{"name": f"SETTING_{n}", "value": "x" * 40} for n in range(20)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta("pod", f"{deployment}-{i % 5000:010x}-{i:05x}", ns, labels, owner),
            "spec": {"nodeName": f"gpu-{i % nodes}", "containers": [{"name": "main", "image": f"registry.example.com/{ns}/work:1", "env": environment,
                                                                     "resources": {"limits": wanted, "requests": wanted}}]},
            "status": {"phase": "Running", "startTime": "2026-10-01T06:00:10Z", "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-01T06:00:00Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-10-01T06:01:00Z"}]}}


def replica_set(i):
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"service-{i}", "uid": f"d-{i}"}
    out = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta("rs", f"service-{i}-{i:010x}", f"team-{i % 200}", owner=owner)}
    out["metadata"]["uid"] = f"rs-{i}"
    return out


def write(path, nodes, pods, without_gpus):
    every = max(1, round(1 / without_gpus)) if without_gpus > 0 else 0
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"apiVersion":"v1","kind":"List","items":[')
        begin = ""
        for objects in (map(node, range(nodes)), map(replica_set, range(5000)),
                        (pod(i, nodes, not every or i % every) for i in range(pods))):
            for item in objects:
                out.write(begin + json.dumps(item))
                begin = ",\n"
        out.write("]}\n")


def measured(command):
    """@return seconds, seconds of processor time, and the most memory in MiB, of the command alone"""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{command}: ended with {status}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stint")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--without-gpus", type=float, default=0.2, help="part of the pods")
    parser.add_argument("--folder", help="where files go; gone afterwards when it is not named")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(asked.folder or scratch)
        snapshot, history, rates = folder / "cluster.json", folder / "fleet.db", folder / "rates.csv"
        write(snapshot, asked.nodes, asked.pods, asked.without_gpus)
        rates.write_text("node,rate_per_hour\n" + "".join(f"gpu-{i},55.04\n" for i in range(asked.nodes)), encoding="utf-8")
        print(f"{asked.nodes} nodes, {asked.pods} pods: {snapshot.stat().st_size / 1e6:.0f} MB")
        for name, command in [("import kubernetes", ["import", "kubernetes", snapshot, "--at", MOMENT, "--history", history]),
                              ("import rates", ["import", "inventory", rates, "--history", history]),
                              ("bill --by client", ["bill", "--history", history, "--by", "client", "-o", folder / "bill.txt"]),
                              ("bill --by namespace", ["bill", "--history", history, "--by", "namespace", "-o", folder / "bill.txt"]),
                              ("bill --by pod, opencost", ["bill", "--history", history, "--by", "pod", "--format", "opencost", "-o",
                                                           folder / "answer.json"])]:
            wall, processor, most = measured([asked.stint, *map(str, command)])
            print(f"{name:24} {wall:6.1f} s, {processor:6.1f} s of processor, at most {most:6.0f} MiB")


if __name__ == "__main__":
    main()
