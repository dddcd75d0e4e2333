#!/usr/bin/env python3
"""Cases of schedulers (sched-case/1) as pods on a real API server: what runs in a case runs there, what waits is made as pods, and what the
daemon then binds and evicts is held against what the case expects.

Usage: bench/kubernetes_cases.py STINT [FILE…] [--only ID]. Without files: the cases of whole rounds in tests/cases/kai.

A case's machines are nodes that KWOK plays, its queues the daemon's, with a namespace for each; its tasks are pods, those of one job a gang. A
running task is placed by the daemon itself while the other machines are cordoned; one that may not be stopped is bound before the daemon begins, since the daemon starts none
beyond what its queue deserves, and cases begin with such. The sources know no protected terms and no time that
passes between rounds, so the daemon's clock (bench/shifted_clock.c) goes ahead by an hour before what waits is made, and by twenty
minutes between rounds; all jobs say that they save their work every second. Whoever is evicted is made anew, as a controller would. What waits is made while the
daemon is down, so that it hears of all of it at once. Needs scripts/setup-kubernetes and a C compiler.
"""
import argparse
import collections
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from running_daemon import RunningDaemon  # noqa: E402

loader = importlib.machinery.SourceFileLoader("kubernetes_cluster", str(ROOT / "scripts/kubernetes-cluster"))
kubernetes = importlib.util.module_from_spec(importlib.util.spec_from_loader("kubernetes_cluster", loader))
loader.exec_module(kubernetes)

PRIORITIES = (50, 75, 100, 125)
QUIET, PATIENCE = 1.5, 60  # seconds: nothing has changed for so long; at most


def why_not(case):
    """What of a case a pod cannot say; "" = nothing."""
    for job in case["jobs"]:
        if job.get("groups") or job.get("topology"):
            return "groups and topologies of a gang"
        if job.get("deleted_when_evicted") or job.get("stale_for_s"):
            return "tasks that stay when they are told to go"
        if job["min_tasks"] != len(job["tasks"]):
            return "elastic jobs"
        if len({task["state"] for task in job["tasks"]}) > 1:
            return "gangs of which a part runs"
        for task in job["tasks"]:
            if task["gpus"] != int(task["gpus"]) or task.get("gpu_memory_mib"):
                return "parts of a GPU"
            if task["state"] not in ("running", "pending"):
                return "tasks that are " + task["state"]
            if task.get("affinity") or task.get("anti_affinity"):
                return "affinity of tasks"
    if any(key in queue for queue in case["queues"] for key in ("deserved_cpu_milli", "limit_cpu_milli", "deserved_memory_bytes", "limit_memory_bytes")):
        return "queues' shares of CPU and memory"
    return ""


def policy(case):
    steps = case["steps"]
    flags = ",".join(f"{name}={'yes' if step in steps else 'no'}" for name, step in (("preempt", "preempt"), ("reclaim", "reclaim"), ("consolidate", "consolidation")))
    placement = "spread" if case["placement"]["node_gpu"] == "spread" else "best-fit"
    return f"fair:shares=fair,victims=priority,usage-half-life=0,placement={placement},{flags}"


def namespace_of(queue):
    return queue.replace("_", "-").lower()


def queue_path(case, name):
    parents = {queue["name"]: queue["parent"] for queue in case["queues"]}
    return name if parents[name] is None else queue_path(case, parents[name]) + "/" + name


def queue_config(case):
    """Parents first, siblings in the order in which they were made."""
    out = []
    for queue in sorted(case["queues"], key=lambda q: (queue_path(case, q["name"]).count("/"), q["created"])):
        entry = {"name": queue_path(case, queue["name"]), "priority": queue["priority"], "weight": queue["over_quota_weight"]}
        for key in ("deserved_gpus", "limit_gpus"):
            if queue[key] is not None:
                entry[key] = queue[key]
        out.append(entry)
    return out


class Case:
    def __init__(self, stint, cluster, shim, folder, case):
        self.cluster, self.case, self.folder = cluster, case, folder
        self.clock = folder / "ahead"
        self.clock.write_text("0")
        self.tasks = {task["id"]: (job, task) for job in case["jobs"] for task in job["tasks"]}
        self.made = collections.Counter()  # how often a task's pod was made
        for queue in case["queues"]:
            self.ignore(409, cluster.create, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace_of(queue["name"])}})
        for node in case["nodes"]:
            self.add_node(node)
        cluster.wait("the machines are ready", lambda: len([n for n in self.nodes() if n["ready"]]) == len(case["nodes"]))
        for job in self.begun(lambda job: not job["preemptible"]):
            for task in job["tasks"]:
                self.make(task["id"], task["node"])
        self.daemon = RunningDaemon(stint, folder, {
            "policy": policy(case), "queues": queue_config(case),
            "engine": {"kubernetes": {"kubeconfig": str(cluster.kubeconfig), "queue": queue_path(case, case["queues"][-1]["name"]), "every": "100ms",
                                      "namespaces": {namespace_of(q["name"]): queue_path(case, q["name"]) for q in case["queues"]},
                                      "priorities": {f"p{p}": str(p) for p in PRIORITIES}}}},
            simulate=False, flags=[], environment={"LD_PRELOAD": str(shim), "SHIFTED_CLOCK": str(self.clock)})

    @staticmethod
    def ignore(code, call, *arguments):
        try:
            return call(*arguments)
        except urllib.error.HTTPError as error:
            if error.code != code:
                raise
        return None

    def add_node(self, node):
        size = {"cpu": f"{node['cpu_milli']}m", "memory": str(node["memory_bytes"]), "pods": str(node["max_tasks"])}
        size.update({f"nvidia.com/mig-{profile}": str(count) for profile, count in node.get("mig", {}).items()})
        gpus = 0 if node.get("mig") else node["gpus"]
        labels = {key: value for key, value in node["labels"].items() if key != "node"}
        made = kubernetes.machine(node["name"], gpus, kubernetes.DEFAULT_MODEL, labels=labels, capacity=size)
        if not gpus:
            made["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-A100-SXM4-40GB"
            made["status"]["capacity"].setdefault("nvidia.com/gpu", "0")
            made["status"]["allocatable"].setdefault("nvidia.com/gpu", "0")
        self.cluster.create("/api/v1/nodes", made)

    def nodes(self):
        return [{"name": n["metadata"]["name"], "ready": any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"].get("conditions", []))}
                for n in json.loads(self.cluster.get("/api/v1/nodes"))["items"]]

    def cordon(self, but=None):
        for node in self.case["nodes"]:
            self.cluster.call("PATCH", f"/api/v1/nodes/{node['name']}", {"spec": {"unschedulable": node["name"] not in (but or ())}}, "application/merge-patch+json")

    def begun(self, which):
        """Jobs that run when the case begins, the oldest first."""
        return sorted((job for job in self.case["jobs"] if job["tasks"][0]["state"] == "running" and which(job)), key=lambda j: -j["age_minutes"])

    def make(self, task_id, node=None):
        """:param node: to bind its pod to"""
        job, task = self.tasks[task_id]
        self.made[task_id] += 1
        name = f"{task_id}-{self.made[task_id]}".replace("_", "-").lower()
        limits = {f"nvidia.com/mig-{profile}": str(count) for profile, count in task.get("mig", {}).items()}
        if task["gpus"]:
            limits["nvidia.com/gpu"] = str(int(task["gpus"]))
        requests = {"cpu": f"{task['cpu_milli']}m", "memory": str(task["memory_bytes"]), **limits}
        labels = {"stint/preemptible": str(job["preemptible"]).lower(), "task": task_id}
        if len(job["tasks"]) > 1:
            labels.update({"stint/gang": f"{job['name']}-{self.made[task_id]}", "stint/gang-size": str(len(job["tasks"]))})
        spec = {"schedulerName": "stint", "priorityClassName": f"p{job['priority']}", "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "example.com/work:1", "resources": {"requests": requests, "limits": limits}}]}
        if task.get("allowed_nodes") is not None:
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in task["allowed_nodes"] or ["none"]]}}}
        self.cluster.create(f"/api/v1/namespaces/{namespace_of(job['queue'])}/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels, "annotations": {"stint/saves-every": "1s"}}, "spec": spec})
        if node:
            self.cluster.create(f"/api/v1/namespaces/{namespace_of(job['queue'])}/pods/{name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def pods(self):
        """By task: (node, going); the newest of each."""
        found = {}
        for pod in sorted(json.loads(self.cluster.get("/api/v1/pods"))["items"], key=lambda p: int(p["metadata"]["name"].rpartition("-")[2])):
            found[pod["metadata"]["labels"].get("task")] = (pod["spec"].get("nodeName"), "deletionTimestamp" in pod["metadata"])
        return found

    def remake(self):
        """What was evicted, as its controller would."""
        there = self.pods()
        gone = [task for task in self.tasks if self.made[task] and task not in there]
        for job in self.case["jobs"]:  # a gang begins anew as a whole
            lost = [task["id"] for task in job["tasks"] if task["id"] in gone]
            if lost and len(lost) == len(job["tasks"]):
                for task in lost:
                    self.make(task)
        return bool(gone)

    def quiet(self):
        """Until nothing has changed for a while."""
        until, last, since = time.monotonic() + PATIENCE, None, time.monotonic()
        while time.monotonic() < until and time.monotonic() - since < QUIET:
            self.remake()
            now = (self.pods(), dict(self.made))
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.1)

    def ahead(self, seconds):
        self.clock.write_text(str(int(self.clock.read_text()) + seconds))

    def run(self):
        self.settle_running()
        self.ahead(3600)
        self.daemon.kill()
        waiting = sorted((job for job in self.case["jobs"] if job["tasks"][0]["state"] == "pending"), key=lambda j: -j["age_minutes"])
        for job in waiting:
            for task in job["tasks"]:
                self.make(task["id"])
            time.sleep(1.05)  # ages are told in whole seconds
        self.daemon.start()
        self.quiet()
        for _ in range(self.case["rounds"] + 1):
            self.ahead(1200)
            self.quiet()
        return self.compare()

    def settle_running(self):
        for job in self.begun(lambda job: job["preemptible"]):
            on = collections.Counter(task["node"] for task in job["tasks"])
            self.cordon(set(on))
            for task in job["tasks"]:
                self.make(task["id"])
            self.cluster.wait("it runs", lambda: all(self.pods()[task["id"]][0] for task in job["tasks"]), 30)
            self.wait_for_books()
        self.cordon({node["name"] for node in self.case["nodes"]})

    def wait_for_books(self):
        bound = [pod for pod in json.loads(self.cluster.get("/api/v1/pods"))["items"] if pod["spec"].get("nodeName")]
        self.cluster.wait("the books say so", lambda: sum(job["tasks"] for job in self.daemon.ask("GET", "/v1/jobs?limit=500&state=running")["jobs"]) == len(bound), 30)

    def compare(self):
        """(strict differences, tie-break differences)"""
        pods = self.pods()
        state = {task: "running" if pods.get(task, (None, False))[0] else "pending" for task in self.tasks}
        strict, ties = [], []
        expected = self.case["expect"]["strict"]
        for name, expect in expected.get("jobs", {}).items():
            job = next(j for j in self.case["jobs"] if j["name"] == name)
            if "state" in expect and any(state[t["id"]] != expect["state"] for t in job["tasks"]):
                strict.append(f"{name}: {'/'.join(sorted(state[t['id']] for t in job['tasks']))}, not {expect['state']}")
        for task, expect in expected.get("tasks", {}).items():
            if "state" in expect and state[task] != expect["state"]:
                strict.append(f"{task}: {state[task]}, not {expect['state']}")
        if "victims" in expected:
            victims = [t for t, (_, task) in self.tasks.items() if task["state"] == "running" and state[t] != "running"]
            if collections.Counter(self.tasks[t][0]["name"] for t in victims) != collections.Counter(self.tasks[t][0]["name"] for t in expected["victims"]):
                strict.append(f"victims {sorted(victims)}, not {sorted(expected['victims'])}")
        limits = expected.get("per_round", {})
        if limits.get("max_evictions") == 0 and any(self.made[t] > 1 for t in self.tasks):
            strict.append(f"evicted: {[t for t in self.tasks if self.made[t] > 1]}")
        tie = self.case["expect"].get("tie_break", {})
        for task, expect in tie.get("tasks", {}).items():
            if "node" in expect and pods.get(task, (None,))[0] != expect["node"]:
                ties.append(f"{task} on {pods.get(task, (None,))[0]}, not {expect['node']}")
        for name, expect in tie.get("jobs", {}).items():
            job = next(j for j in self.case["jobs"] if j["name"] == name)
            if "node" in expect and any(pods.get(t["id"], (None,))[0] != expect["node"] for t in job["tasks"]):
                ties.append(f"{name} not on {expect['node']}")
        return strict, ties

    def close(self):
        self.daemon.kill()
        for queue in self.case["queues"]:
            self.cluster.call("DELETE", f"/api/v1/namespaces/{namespace_of(queue['name'])}/pods?gracePeriodSeconds=0")
        self.cluster.wait("no pod is left", lambda: not json.loads(self.cluster.get("/api/v1/pods"))["items"])
        self.cluster.call("DELETE", "/api/v1/nodes")
        self.cluster.call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/stint")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stint")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--only", action="append", help="this case alone")
    arguments = parser.parse_args()
    cases = [case for file in arguments.files or sorted((ROOT / "tests/cases/kai").glob("rounds-*.json")) for case in json.loads(file.read_text())["cases"]]
    cases = [case for case in cases if not arguments.only or case["id"] in arguments.only]
    left, counts = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        shim = folder / "shifted_clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", shim, ROOT / "bench/shifted_clock.c"], check=True)
        cluster = kubernetes.Cluster(folder / "cluster")
        cluster.up(["controller-manager", "kwok"])
        try:
            for value in PRIORITIES:
                cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{value}"}, "value": value})
            for case in cases:
                reason = why_not(case)
                if reason:
                    left[reason] += 1
                    continue
                place = folder / case["id"]
                place.mkdir()
                running = Case(arguments.stint, cluster, shim, place, case)
                try:
                    strict, ties = running.run()
                except Exception as error:  # a case that does not come about counts as failed
                    strict, ties = [f"{type(error).__name__}: {str(error)[:200]}"], []
                finally:
                    running.close()
                counts["strict" if not strict else "strict failed"] += 1
                counts["tie" if not ties else "tie failed"] += 1
                print(f"{case['id']}: " + ("holds" if not strict else "; ".join(strict)) + (f" (tie-break: {'; '.join(ties)})" if ties else ""), flush=True)
        finally:
            cluster.down()
    print(f"strict {counts['strict']} of {counts['strict'] + counts['strict failed']}, tie-break {counts['tie']} of {counts['tie'] + counts['tie failed']}")
    for reason, number in left.most_common():
        print(f"left out {number}: {reason}")
    return 1 if counts["strict failed"] and not arguments.only else 0


if __name__ == "__main__":
    sys.exit(main())
