#!/usr/bin/env python3
"""stint import slurm against a real Slurm with accounting: nodes, runs with their GPUs, requeues, arrays, and bills per account.

Usage: test_import.py STINT. Skipped where Slurm, MariaDB or root is missing (scripts/setup installs the packages).
"""
import json
import sqlite3
import subprocess
import time
import unittest
from decimal import Decimal

from running_cluster import STINT, RunningCluster


class Import(RunningCluster):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for account in ["acme", "zoo"]:
            cls.slurm.run("sacctmgr", "-i", "add", "account", account)
            cls.slurm.run("sacctmgr", "-i", "add", "user", "root", f"account={account}")
        cls.history = cls.folder / "fleet.db"

    def stint(self, *arguments, codes=(0,)):
        done = subprocess.run([STINT, *map(str, arguments)], env=self.slurm.environment(), text=True, capture_output=True)
        self.assertIn(done.returncode, codes, done.stdout + done.stderr)
        return done.stdout

    def states(self):
        rows = self.slurm.run("squeue", "-h", "-a", "-r", "-t", "all", "-o", "%i %T").stdout.split("\n")
        return dict(row.split() for row in rows if row)

    def runs(self):
        """(id, restart) → row"""
        database = sqlite3.connect(self.history)
        database.row_factory = sqlite3.Row
        return {(row["run_id"], row["restart"]): dict(row) for row in database.execute("select * from run")}

    def test_the_cluster_becomes_a_history(self):
        gang = self.submit("sleep 600", "-A", "acme", "-N2", "--gres=gpu:8", "-t", "10", "--requeue")
        array = self.submit("sleep 4", "-A", "zoo", "-n1", "--gres=gpu:3", "--array=1-2", "-t", "600")
        small = self.submit("sleep 600", "-A", "zoo", "-n1", "--gres=gpu:1", "-t", "20", "-J", "small")
        after = self.submit("sleep 1", "-A", "zoo", "-n1", "-J", "after", f"--dependency=afterok:{array}")
        waits = self.submit("sleep 1", "-A", "zoo", "-N4", "--gres=gpu:8")
        self.wait("jobs start", lambda: [self.states().get(j) for j in (gang, small, f"{array}_1", f"{array}_2")] == ["RUNNING"] * 4)
        before = time.time()
        self.stint("import", "slurm", "--history", self.history)
        runs = self.runs()
        for job in (gang, small):
            self.assertTrue(before <= runs[job, 0]["ended"] / 1e9 <= time.time(), "what runs counts to the reading")
        self.assertEqual(json.loads(runs[gang, 0]["allocations"]),
                         [{"node": n, "gpus": list(range(8)), "count": 8} for n in ("n1", "n2")])
        indexes = [a["gpus"] for task in (1, 2) for a in json.loads(runs[f"{array}_{task}", 0]["allocations"])]
        indexes.append(json.loads(runs[small, 0]["allocations"])[0]["gpus"])
        self.assertEqual(sorted(sum(indexes, [])), [0, 1, 2, 3, 4, 5, 6], "all on one node, no GPU twice")
        self.assertEqual(runs[waits, 0]["started"], None)

        self.wait("the array ends", lambda: f"{array}_1" not in self.states() or self.states()[f"{array}_1"] == "COMPLETED")
        self.slurm.run("scontrol", "requeue", gang)
        self.slurm.run("scancel", waits)
        self.wait("the gang comes back", lambda: self.states().get(gang) in ("PENDING", "RUNNING"))
        self.wait("the dependent job has run", lambda: self.states().get(after) == "COMPLETED")
        self.slurm.run("scancel", gang, small)
        self.wait("all have ended", lambda: set(self.states().values()) <= {"COMPLETED", "CANCELLED", "PREEMPTED"})
        # slurmctld tells slurmdbd a moment later.
        self.wait("sacct knows", lambda: self.slurm.run("sacct", "-a", "-X", "-D", "-n", "-P", "-o", "state", "-j", gang)
                  .stdout.count("\n") == 2)
        self.stint("import", "slurm", "--history", self.history)
        after = self.runs()
        self.assertEqual({restart for job, restart in after if job == gang}, {0, 1}, "a requeue is a separate run")
        self.assertEqual(json.loads(after[f"{array}_1", 0]["allocations"]), json.loads(runs[f"{array}_1", 0]["allocations"]),
                         "accounting does not know which GPUs; what squeue said stays")
        for job in (gang, small):
            self.assertGreater(after[job, 0]["ended"], runs[job, 0]["ended"], "the same run, and longer")

        # A price, and every account has its bill: together they are what the cluster costs.
        inventory = self.folder / "inventory.csv"
        inventory.write_text("node,rate_per_hour\n" + "".join(f"n{i},32\n" for i in range(1, 5)))
        self.stint("import", "inventory", inventory, "--history", self.history)
        self.check_bill()
        self.check_audit(gang, small, after)

    def check_audit(self, gang, small, after):
        """Who asked for what and used how much of it, as telemetry that names jobs tells."""
        runs = self.runs()
        telemetry = self.folder / "dcgm.txt"
        with open(telemetry, "w") as out:
            for job, percent, mib in [(gang, 0, 600), (small, 8, 9000)]:
                run = runs[job, 0]
                for at in range(int(run["started"] // 1e9), int(run["ended"] // 1e9) + 1):
                    for held in json.loads(run["allocations"]):
                        for gpu in held["gpus"]:
                            labels = f'{{gpu="{gpu}",Hostname="{held["node"]}",modelName="NVIDIA H200",hpc_job="{job}"}}'
                            print(f"DCGM_FI_DEV_GPU_UTIL{labels} {percent} {at * 1000}\nDCGM_FI_DEV_FB_USED{labels} {mib} {at * 1000}", file=out)
        self.stint("import", "dcgm", telemetry, "--history", self.history)
        cluster = json.loads(self.stint("audit", "--history", self.history, "--json", "--no-replay"))["cluster"]
        accounts = {row["account"]: row for row in cluster["accounts"]}
        self.assertEqual(set(accounts), {"acme", "zoo"})
        self.assertEqual({(row["account"], row["user"]) for row in cluster["users"]}, {("acme", "root"), ("zoo", "root")})
        acme = accounts["acme"]
        self.assertGreater(acme["watched_gpu_hours"], 0)
        self.assertAlmostEqual(acme["idle_gpu_hours"], acme["watched_gpu_hours"], places=6)
        # 16 GPUs of machines with 8 at 32 an hour: 4 a GPU-hour.
        self.assertAlmostEqual(acme["cost"], acme["gpu_hours"] * 4, places=6)
        self.assertEqual([(row["run"], row["gpus_idle"]) for row in cluster["idle"]][:1], [(gang, 16)])
        self.assertIn(("zoo", "wrap", 36000), [(row["account"], row["name"], row["limit_s"]) for row in cluster["limits"]])
        self.assertEqual([(row["name"], row["fits"]) for row in cluster["small"]], [("small", "MIG 1g.18gb")])
        self.assertIn(("not-eligible", "Dependency"), [(row["kind"], row["reason"]) for row in cluster["waits"]])
        text = self.stint("audit", "--history", self.history, "--no-replay")
        self.assertIn("Held and idle", text)

    def check_bill(self):
        """What the accounts pay and what was not used is what the cluster costs, to the last digit."""
        bill = json.loads(self.stint("bill", "--history", self.history, "--json"))
        rows = {row["name"]: row for row in bill["rows"]}
        self.assertEqual(set(rows), {"acme", "zoo"})
        self.assertEqual(sum(Decimal(row["total"]) for row in rows.values()) + Decimal(bill["idle_total"]), Decimal(bill["total"]))
        held = {"acme": 0, "zoo": 0}
        for run in self.runs().values():
            if run["started"] is not None:
                held[run["account"]] += (run["ended"] - run["started"]) / 3.6e12 * run["gpus_requested"]
        for account, hours in held.items():
            self.assertAlmostEqual(rows[account]["gpu_hours"], hours, places=4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
