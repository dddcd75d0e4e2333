#!/usr/bin/env python3
"""GET /allocation of the daemon: a cluster's costs in the shape of OpenCost's API, to each what is theirs.

Usage: test_allocation.py STINT.
"""
import json
import pathlib
import sys
import unittest
import urllib.error
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from daemon_case import DaemonCase  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
FLEET = {"nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 1, "cpu_milli": 64000, "memory": "512GiB", "per_hour": "16"}],
         "queues": [{"name": "acme"}, {"name": "zoo"}], "telemetry": {"history": False}}
DAY = "2026-10-01T00:00:00Z,2026-10-02T00:00:00Z"


def pod(ns, name, gpus, app):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns, "uid": name, "labels": {"app": app},
                                                            "creationTimestamp": "2026-10-01T00:00:00Z"},
            "spec": {"nodeName": "gpu-1", "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]},
            "status": {"phase": "Running", "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-01T06:00:00Z"}]}}


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1", "uid": "n", "creationTimestamp": "2026-10-01T00:00:00Z"},
        "status": {"capacity": {"cpu": "64", "memory": "1Ti", "nvidia.com/gpu": "4"}}}


class Allocation(DaemonCase):
    program, fleet = STINT, FLEET

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        d = cls.daemon
        d.stint("user", "set", "ann", "--role", "viewer@acme")
        cls.ann = d.stint("token", "make", "--user", "ann", "--life", "1h").stdout.strip()
        cls.nothing_yet = d.ask("GET", "/allocation?window=" + DAY)
        cluster, rates = pathlib.Path(cls.folder) / "cluster.json", pathlib.Path(cls.folder) / "rates.csv"
        cluster.write_text(json.dumps({"kind": "List", "items": [NODE, pod("acme", "web-0", 1, "web"), pod("acme", "batch-0", 1, "batch"),
                                                                 pod("zoo", "train-0", 1, "train")]}))
        rates.write_text("node,rate_per_hour\ngpu-1,12.00000001\n")
        history = str(d.state / "history.db")
        d.stint("import", "kubernetes", str(cluster), "--at", "2026-10-02T00:00:00Z", "--history", history)
        d.stint("import", "inventory", str(rates), "--history", history)

    def told(self, more, token=None):
        answer = self.daemon.ask("GET", f"/allocation?window={DAY}&{more}", token=token)
        self.assertEqual((answer["code"], answer["status"]), (200, "success"))
        return answer["data"]

    def refused(self, path, token=None):
        with self.assertRaises(urllib.error.HTTPError) as refusal:
            self.daemon.ask("GET", path, token=token)
        with refusal.exception as answer:
            return answer.code, json.load(answer)["detail"]

    def test_nothing_recorded_is_nothing_told(self):
        self.assertEqual(self.nothing_yet["data"], [{}])

    def test_rows_sum_to_what_the_machine_costs(self):
        rows = self.told("aggregate=namespace&includeIdle=true")[0]
        self.assertEqual(sorted(rows), ["__idle__", "acme", "zoo"])
        exact = {name: Decimal(repr(row["totalCost"])) for name, row in rows.items()}
        self.assertEqual(sum(exact.values()), Decimal("288.00000024"))  # 24 h at 12.00000001
        # 18 of 24 hours: two of four GPUs, and one.
        self.assertEqual(exact["acme"], Decimal("108.00000009"))
        self.assertEqual(exact["zoo"], Decimal("54.000000045"))
        self.assertEqual(rows["acme"]["gpuHours"], 36)
        self.assertEqual(rows["acme"]["start"], "2026-10-01T06:00:00Z")
        self.assertEqual(rows["acme"]["minutes"], 1080)

    def test_steps_sum_to_the_window(self):
        steps = self.told("aggregate=label:app&step=7h&includeIdle=true")
        self.assertEqual(len(steps), 4)
        total = sum(Decimal(repr(row["totalCost"])) for step in steps for row in step.values())
        self.assertEqual(total, Decimal("288.00000024"))
        self.assertEqual(self.told("aggregate=label:app&step=7h&accumulate=true"), self.told("aggregate=label:app"))

    def test_idle_money_may_be_spread(self):
        rows = self.told("aggregate=controller&shareIdle=true")[0]
        self.assertEqual(sum(Decimal(repr(row["totalCost"])) for row in rows.values()), Decimal("288.00000024"))
        self.assertGreater(rows["train-0"]["gpuCostIdle"], 0)

    def test_a_tenant_sees_its_own_alone(self):
        for more in ("", "aggregate=namespace", "aggregate=node", "aggregate=label:app"):
            text = json.dumps(self.told(more, token=self.ann))
            self.assertNotIn("zoo", text)
            self.assertNotIn("train", text)
            self.assertEqual(sum(Decimal(repr(row["totalCost"])) for row in json.loads(text)[0].values()), Decimal("108.00000009"), more)
        for more in ("includeIdle=true", "shareIdle=true"):
            self.assertEqual(self.refused(f"/allocation?window={DAY}&{more}", self.ann)[0], 403)

    def test_what_is_not_there_is_refused_by_name(self):
        for more, name in (("resolution=1m", "resolution"), ("idleByNode=true", "idleByNode"), ("filter=namespace:acme", "filter"),
                           ("aggregate=cluster", "cluster"), ("aggregate=annotation:a", "annotation:a"), ("accumulate=week", "accumulate"),
                           ("step=1s", "step"), ("step=1m", "steps"), ("aggregate=pod&aggregate=node", "aggregate"), ("window=7d", "window")):
            code, detail = self.refused(f"/allocation?window={DAY}&{more}")
            self.assertEqual(code, 422, more)
            self.assertIn(name, detail)
        self.assertIn("window", self.refused("/allocation")[1])
        self.assertIn("'tomorrow'", self.refused("/allocation?window=tomorrow")[1])
        self.assertEqual(self.told("idleByNode=false&aggregate=node"), self.told("aggregate=node"), "what is off is so")

    def test_the_answer_is_what_stint_reads(self):
        d = self.daemon
        answer = pathlib.Path(self.folder) / "answer.json"
        answer.write_text(json.dumps(d.ask("GET", f"/allocation?window={DAY}&aggregate=namespace,controller,pod")))
        again = str(pathlib.Path(self.folder) / "again.db")
        machine = pathlib.Path(self.folder) / "machine.csv"
        machine.write_text("node,gpu_count,rate_per_hour,from,until\ngpu-1,4,12.00000001,2026-10-01,2026-10-02\n")
        d.stint("import", "opencost", str(answer), "--history", again)
        d.stint("import", "inventory", str(machine), "--history", again)
        bill = json.loads(d.stint("bill", "--history", again, "--since", "2026-10-01", "--until", "2026-10-02", "--by", "namespace", "--json").stdout)
        self.assertEqual({row["name"]: row["total"] for row in bill["rows"]}, {"acme": "108.00000009", "zoo": "54.000000045"})
        self.assertEqual(bill["total"], "288.00000024")


if __name__ == "__main__":
    unittest.main()
