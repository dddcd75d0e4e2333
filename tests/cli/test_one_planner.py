#!/usr/bin/env python3
"""One planner: `stint audit`, `stint plan all` and `stint plan rightsize` give one answer to one question, on the real program.

Usage: test_one_planner.py STINT. Fleets of October 2026, 744 hours, at prices of their inventory and of the catalogue.
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

STINT = None
INVENTORY = "node,provider,region,instance_type,market,gpu_model,gpu_count,rate_per_hour,currency,kind,client,workload"


class OnePlanner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stint-planner-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.history = self.dir / "fleet.db"

    def stint(self, *words):
        done = subprocess.run([STINT, *map(str, words)], text=True, capture_output=True, timeout=300,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.dir), "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json(self, *words):
        return json.loads(self.stint(*words, "--history", self.history, "--month", "2026-10", "--json"))

    def fleet(self, instance_type, gpu, rate, services):
        """Machines of one GPU: (workload, busy percent, GiB of memory) of each."""
        rows = [INVENTORY]
        for i, (workload, busy, gib) in enumerate(services):
            rows.append(f"serve-{i},aws,us-east-1,{instance_type},on-demand,{gpu},1,{rate},USD,realtime-inference,acme,{workload}")
            lines = ["timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB]"]
            for step in range(31 * 24 * 6):
                at = datetime.datetime(2026, 10, 1) + datetime.timedelta(minutes=10 * step)
                lines.append(f"{at:%Y/%m/%d %H:%M:%S}.000, 0, GPU-{i:08x}-0000-4000-8000-000000000000, NVIDIA {gpu}, {busy} %, {gib * 1024} MiB")
            file = self.dir / f"serve-{i}.csv"
            file.write_text("\n".join(lines) + "\n")
            self.stint("import", "nvidia-smi", file, "--node", f"serve-{i}", "--history", self.history)
        inventory = self.dir / "inventory.csv"
        inventory.write_text("\n".join(rows) + "\n")
        self.stint("import", "inventory", inventory, "--history", self.history)

    def one_answer(self, *more):
        """@return the right-size plan, after it was compared with the other two."""
        alone = self.json("plan", "rightsize", *more)
        audit, joint = self.json("audit", *more), self.json("plan", "all", *more)
        resized = lambda plan: sum(f["saving_per_month"] for f in plan["findings"] if f["change"]["kind"] == "resize")
        self.assertAlmostEqual(audit["totals"]["saving_per_month"], joint["saving_per_month"], places=2)
        self.assertAlmostEqual(resized(audit), alone["saving_per_month"], places=2)
        self.assertAlmostEqual(resized(joint), alone["saving_per_month"], places=2)
        saving = [g for g in alone["groups"] if g["best"] and g["best"]["saving_per_month"] > 0]
        self.assertAlmostEqual(sum(g["best"]["saving_per_month"] for g in saving), alone["saving_per_month"], places=2)
        return alone, audit

    def test_what_is_too_small_takes_nothing_off_what_others_save(self):
        self.fleet("g6e.2xlarge", "L40S", 2.24208, [(f"s{i}", 97 if i == 9 else 8, 20) for i in range(10)])
        alone, audit = self.one_answer()
        self.assertGreater(alone["saving_per_month"], 2400)
        self.assertGreater(alone["growth_per_month"], 0)
        net = sum(g["best"]["saving_per_month"] for g in alone["groups"] if g["best"])
        self.assertAlmostEqual(alone["saving_per_month"] - alone["growth_per_month"], net, places=2)
        # The audit says the same of it, to the cent.
        more = f"{alone['growth_per_month']:,.2f}"
        self.assertTrue(any("too small" in note and "serve-9" in note and more in note for note in audit["notes"]), (more, audit["notes"]))
        text = " ".join(self.stint("plan", "rightsize", "--history", self.history, "--month", "2026-10").split())
        self.assertIn("1 row is too small for its work", text)
        self.assertIn("they stop and schedule first", text)

    def test_replicas_of_one_service(self):
        self.fleet("g6e.xlarge", "L40S", 1.861, [("vllm", 30, 20)] * 8)
        alone, _ = self.one_answer()
        self.assertEqual(alone["growth_per_month"], 0)
        self.assertGreater(alone["saving_per_month"], 0)

    def test_a_second_best_where_the_cheapest_is_too_slow(self):
        self.fleet("g6e.2xlarge", "L40S", 2.24208, [(f"s{i}", 8, 10) for i in range(9)])
        alone, _ = self.one_answer()
        self.assertEqual([g["best"]["instance_type"] for g in alone["groups"]], ["g6e.xlarge"])

if __name__ == "__main__":
    STINT = sys.argv.pop(1)
    unittest.main()
