"""A real Kubernetes under a test case: up before its first test, down after its last."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
loader = importlib.machinery.SourceFileLoader("kubernetes_cluster", str(ROOT / "scripts/kubernetes-cluster"))
kubernetes = importlib.util.module_from_spec(importlib.util.spec_from_loader("kubernetes_cluster", loader))
sys.dont_write_bytecode = True
loader.exec_module(kubernetes)

PROGRAMS = kubernetes.programs()
if PROGRAMS is None:
    print("skipped: no Kubernetes for tests here: scripts/setup-kubernetes --build makes it")
    sys.exit(77)


def pod(name, gpus=1, namespace="default", node=None, resource="nvidia.com/gpu", owner=None, labels=None, **spec):
    """A Pod whose one container asks for so many of a resource."""
    amounts = {resource: str(gpus)} if gpus else {"cpu": "1"}
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    if owner:
        meta["ownerReferences"] = [dict(owner, controller=True)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta,
            "spec": {**({"nodeName": node} if node else {}), **spec,
                     "containers": [{"name": "main", "image": "example.com/work:1", "resources": {"limits": amounts}}]}}


class RunningKubernetes(unittest.TestCase):
    PARTS = kubernetes.PARTS
    MACHINES = {"count": 4, "gpus": 8}

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.cluster = kubernetes.Cluster(cls.folder / "cluster", PROGRAMS)
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.up(cls.PARTS)
        cls.cluster.add_machines(**cls.MACHINES)
        cls.cluster.wait("the machines are ready", lambda: cls.ready_machines() == cls.MACHINES["count"])

    @classmethod
    def ready_machines(cls):
        return cls.cluster.kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}").split().count("True")

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.history = self.scratch / "fleet.db"

    def stint(self, *arguments, codes=(0,), env=None):
        done = subprocess.run([STINT, *map(str, arguments)], text=True, capture_output=True, env={**os.environ, **(env or {})}, timeout=300)
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def rows(self, table, key, history=None):
        """Rows of the History by a column."""
        database = sqlite3.connect(f"file:{history or self.history}?mode=ro", uri=True)
        database.row_factory = sqlite3.Row
        try:
            return {row[key]: dict(row) for row in database.execute(f"select * from {table}")}
        finally:
            database.close()

    def runs(self, history=None):
        """By the name of the pod."""
        return self.rows("run", "pod", history)

    def phases(self, *selector):
        lines = self.cluster.kubectl("get", "pods", "-A", *selector, "-o",
                                     "jsonpath={range .items[*]}{.metadata.name} {.status.phase}{'\\n'}{end}").split("\n")
        return dict(line.split() for line in lines if line)

    def wait(self, what, ready, seconds=120):
        until = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > until:
                self.fail(f"{what}: not after {seconds} s\n{self.cluster.kubectl('get', 'pods', '-A', check=False)}")
            time.sleep(0.1)
