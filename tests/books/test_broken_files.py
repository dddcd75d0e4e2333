#!/usr/bin/env python3
"""Ordinary files that break books, on the real program: bills that come again, in parts or twice over, months without data, jobs that
still run, clocks that change, one machine under two names.

Usage: test_broken_files.py STINT. Sums are worked out by hand: one machine of eight GPUs costs 240 a day unless a test says otherwise.
"""
import csv
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

STINT = None
FOCUS = ["BilledCost", "EffectiveCost", "BillingCurrency", "BillingAccountId", "BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart",
         "ChargePeriodEnd", "ChargeCategory", "ChargeDescription", "CommitmentDiscountId", "CommitmentDiscountStatus", "PricingCategory",
         "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId", "ResourceId", "ResourceName", "ResourceType",
         "ServiceCategory", "ServiceName", "SkuId", "InvoiceId", "Tags", "x_InstanceType"]
SACCT = "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NodeList|ExitCode\n"
TRES = "billing=96,cpu=96,gres/gpu=8,mem=1000G,node=1"


def day(n):
    return (datetime.datetime(2026, 10, 1) + datetime.timedelta(days=n - 1)).strftime("%Y-%m-%dT00:00:00Z")


def charge(n, amount=240, **more):
    """The machine on day `n` of October 2026."""
    row = dict.fromkeys(FOCUS, "")
    row.update(BilledCost=amount, EffectiveCost=amount, BillingCurrency="USD", BillingAccountId="4711", BillingPeriodStart=day(1),
               BillingPeriodEnd=day(32), ChargePeriodStart=day(n), ChargePeriodEnd=day(n + 1), ChargeCategory="Usage", ChargeDescription="machine",
               PricingCategory="Standard", PricingQuantity=24, PricingUnit="Hours", ProviderName="AWS", PublisherName="AWS", RegionId="us-east-1",
               ResourceId="i-1", ResourceName="node-a", ResourceType="instance", ServiceCategory="Compute",
               ServiceName="Amazon Elastic Compute Cloud", SkuId="p4d", Tags="{}")
    row["x_InstanceType"] = "p4d.24xlarge"
    row.update(more)
    return row


class BrokenFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stint-books-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.history = self.dir / "fleet.db"

    def stint(self, *words):
        return subprocess.run([STINT, *map(str, words)], text=True, capture_output=True, timeout=300,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.dir)})

    def ok(self, *words):
        done = self.stint(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json(self, *words):
        return json.loads(self.ok(*words, "--json"), parse_float=Decimal)

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def focus(self, name, rows):
        path = self.dir / name
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FOCUS)
            writer.writeheader()
            writer.writerows(rows)
        return path

    def take(self, kind, path, *more):
        return self.ok("import", kind, path, "--history", self.history, *more)

    def total(self, *period):
        return Decimal(self.json("bill", "--history", self.history, *(period or ("--month", "2026-10")))["total"])

    def inventory(self, **more):
        row = {"node": "node-a", "resource_id": "i-1", "provider": "aws", "region": "us-east-1", "instance_type": "p4d.24xlarge", "market": "on-demand",
               "gpu_model": "A100-40GB", "gpu_count": 8, "rate_per_hour": 10, "currency": "USD", "kind": "training", "checkpointable": "yes", **more}
        self.take("inventory", self.write("inventory.csv", ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"))

    def telemetry(self, name, node, busy, step_minutes=10, until=31):
        """Eight GPUs that work in the hours for which `busy` is true."""
        lines = ["timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB]"]
        at = datetime.datetime(2026, 10, 1)
        while at < datetime.datetime(2026, 10, 1) + datetime.timedelta(days=until):
            works = busy(at)
            lines += [f"{at:%Y/%m/%d %H:%M:%S}.000, {k}, GPU-{k:08x}-0000-4000-8000-000000000000, NVIDIA A100-SXM4-40GB, {85 if works else 0} %, "
                      f"{20000 if works else 0} MiB" for k in range(8)]
            at += datetime.timedelta(minutes=step_minutes)
        self.take("nvidia-smi", self.write(name, "\n".join(lines) + "\n"), "--node", node)

    def test_a_bill_that_comes_again_takes_the_place_of_the_one_before(self):
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        self.assertEqual(self.total(), 7440)
        said = self.take("focus", self.focus("b.csv", [charge(n, 250, InvoiceId="INV-1") for n in range(1, 32)]))
        self.assertIn("in the place of import 1", said)
        self.assertEqual(self.total(), 7750)
        listed = self.json("history", "imports", self.history)["imports"]
        self.assertEqual([one["bills"][0]["superseded_by"] for one in listed], [2, None])
        self.ok("history", "drop-import", self.history, 2)
        self.assertEqual(self.total(), 7440)

    def test_two_exports_of_one_account_are_not_added(self):
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        cur = self.write("cur.csv", "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,"
                         "line_item_currency_code,line_item_usage_type,bill_payer_account_id,line_item_resource_id\n" + "".join(
                             f"Usage,{day(n)},{day(n + 1)},240,USD,BoxUsage:p4d.24xlarge,4711,i-1\n" for n in range(1, 32)))
        done = self.stint("import", "cur", cur, "--history", self.history)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--prefer focus", done.stderr)
        self.assertEqual(self.total(), 7440)
        self.take("cur", cur, "--prefer", "cur")
        self.assertEqual(self.total(), 7440)

    def test_azures_two_exports_are_one_bill(self):
        header = "Date,MeterCategory,MeterName,CostInBillingCurrency,BillingCurrency,ChargeType,PricingModel,ReservationId,ResourceId,Quantity,BillingAccountId\n"
        disk = "".join(f"10/{n:02}/2026,Storage,LRS,3,USD,Usage,OnDemand,,/x/disk,1,acct\n" for n in range(1, 32))
        used = "".join(f"10/{n:02}/2026,Virtual Machines,NC24ads A100 v4,COST,USD,Usage,Reservation,r-1,/x/gpu,24,acct\n" for n in range(1, 32))
        amortised = self.write("amortized.csv", header + disk + used.replace("COST", "20"))
        actual = self.write("actual.csv", header + disk + used.replace("COST", "0") + "10/01/2026,Virtual Machines,r,620,USD,Purchase,OnDemand,r-1,,1,acct\n")
        for first, second in ((("azure", amortised), ("azure-actual", actual)), (("azure-actual", actual), ("azure", amortised))):
            self.history = self.dir / f"{first[0]}.db"
            self.take(*first)
            done = self.stint("import", *second, "--history", self.history)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("both exports now", done.stderr)
            for basis in ("effective", "billed"):
                bill = self.json("bill", "--history", self.history, "--month", "2026-10", "--basis", basis)
                self.assertEqual(Decimal(bill["total"]), 713, basis)  # 31 × 3 + 620, spread or in full
            self.assertTrue(json.loads(self.ok("import", *second, "--history", self.history, "--json"))[0]["already_there"])

    def test_a_month_in_one_currency_says_that_others_are_in_another(self):
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        self.take("focus", self.focus("b.csv", [charge(n, 200, BillingCurrency="EUR", BillingAccountId="4712", BillingPeriodStart=day(32),
                                                       BillingPeriodEnd="2026-12-01T00:00:00Z") for n in range(32, 61)]))
        done = self.stint("bill", "--history", self.history, "--month", "2026-10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: shown in USD", done.stderr)
        self.assertIn("are in EUR: `stint history currency`", done.stderr)
        done = self.stint("bill", "--history", self.history, "--since", "2026-10-01", "--until", "2026-12-01")
        self.assertEqual(done.returncode, 1)
        self.assertIn("stint history currency", done.stderr)

    def test_a_month_of_which_nothing_is_known_has_no_figure(self):
        self.inventory()
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        for command in (["bill"], ["audit"]):
            done = self.stint(*command, "--history", self.history, "--month", "2027-03")
            self.assertEqual(done.returncode, 1)
            self.assertIn("no data for 2027-03-01", done.stderr)
            self.assertEqual(done.stdout, "")
        said = self.ok("bill", "--history", self.history, "--month", "2027-03", "--estimate")
        self.assertIn("are an estimate from the inventory", said)

    def test_days_sum_to_their_month_and_running_jobs_end_now(self):
        self.take("focus", self.focus("a.csv", [charge(n, "240.333333333") for n in range(1, 32)]))
        days = sum(self.total("--since", day(n)[:10], "--until", day(n + 1)[:10]) for n in range(1, 32))
        self.assertEqual(days, self.total())
        self.history = self.dir / "running.db"
        self.inventory()
        self.take("sacct", self.write("sacct.txt", SACCT + f"1|a|u|acme|gpu|RUNNING|2026-10-01T00:00:00|2026-10-01T00:00:00|Unknown|00:05:00|"
                                      f"1-00:00:00|{TRES}|{TRES}|node-a|0:0\n"))
        bill = self.json("bill", "--history", self.history, "--month", "2026-10")
        self.assertEqual(sum(row["gpu_hours"] for row in bill["rows"]).quantize(Decimal("0.0001")), Decimal("0.6667"))  # 8 GPUs for 5 minutes

    def test_what_a_commitment_pays_is_not_saved_again(self):
        self.inventory()
        self.take("focus", self.focus("a.csv", [charge(n, CommitmentDiscountId="arn:aws:savingsplans::1:savingsplan/x", CommitmentDiscountStatus="Used",
                                                       PricingCategory="Committed") for n in range(1, 32)]))
        self.telemetry("t.csv", "node-a", lambda at: at.hour < 12)
        audit = self.json("audit", "--history", self.history, "--month", "2026-10")
        self.assertEqual(audit["findings"], [])
        self.assertEqual(len(audit["contradictions"]), 1)
        self.assertEqual(audit["nodes"][0]["market"], "reserved")

    def test_a_bill_to_the_10th_is_no_month(self):
        self.inventory()
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 11)]))
        self.telemetry("t.csv", "node-a", lambda at: at.hour < 12)
        said = self.ok("audit", "--history", self.history, "--month", "2026-10")
        self.assertIn("The bill does not cover the whole period: aws: 2026-10-01 to 2026-10-10.", said[:400])
        self.assertIn("are not priced", said[:600])
        self.assertNotIn("bill a month", said)

    def test_a_machine_that_works_twelve_hours_may_be_off_for_the_others(self):
        self.inventory()
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        self.telemetry("t.csv", "node-a", lambda at: 8 <= at.hour < 20)
        self.take("sacct", self.write("sacct.txt", SACCT + "".join(
            f"{n}|train|u|acme|gpu|COMPLETED|{day(n)[:11]}08:00:00|{day(n)[:11]}08:00:00|{day(n)[:11]}20:00:00|12:00:00|13:00:00|{TRES}|{TRES}|node-a|0:0\n"
            for n in range(1, 32))))
        audit = self.json("audit", "--history", self.history, "--month", "2026-10", "--max-risk", "low")
        off = audit["findings"][0]
        self.assertEqual((off["kind"], off["proof"]["verdict"]), ("schedule-off", "survives"))
        self.assertLess(off["proof"]["completion_pct"]["mean"], 1)
        # Half of 7,440, less up to an hour of coming back a day.
        self.assertTrue(3720 - 31 * 10 <= off["saving_per_month"] <= 3720, off["saving_per_month"])

    def test_a_clock_change_moves_no_hour(self):
        sacct = self.write("sacct.txt", SACCT + f"1|a|u|acme|gpu|COMPLETED|2026-10-25T01:00:00|2026-10-25T01:30:00|2026-10-25T02:30:00|02:00:00|"
                           f"08:00:00|{TRES}|{TRES}|node-a|0:0\n")
        self.inventory()
        self.take("sacct", sacct, "--zone", "Europe/Berlin")
        held = lambda begin, end: sum(row["gpu_hours"] for row in self.json("bill", "--history", self.history, "--since", begin, "--until", end)["rows"])
        self.assertEqual(held("2026-10-24T23:00:00Z", "2026-10-25T02:00:00Z"), 16)
        done = self.stint("import", "sacct", sacct, "--history", self.history, "--zone", "Mars/Olympus")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no time zone that this machine knows", done.stderr)

    def test_licences_are_not_cheaper_on_spot(self):
        self.inventory()
        self.take("focus", self.focus("a.csv", [row for n in range(1, 32) for row in (charge(n, "526.98"), charge(
            n, 240, PublisherName="Acme Inc", ServiceCategory="Other", ServiceName="Acme AI", ChargeDescription="software on p4d.24xlarge"))]))
        self.telemetry("t.csv", "node-a", lambda at: at.hour < 20)
        audit = self.json("audit", "--history", self.history, "--month", "2026-10")
        compute = Decimal("526.98") * 31
        self.assertEqual(audit["totals"]["bill_per_month"], compute + 7440)
        self.assertEqual(audit["nodes"][0]["cost_per_month"], compute)
        spot = [f for f in audit["findings"] if f["kind"] == "switch-market"]
        # 1 − 13.11 / 21.96 of the compute at most.
        self.assertTrue(spot and all(f["saving_per_month"] < compute * Decimal("0.41") for f in spot), spot)

    def test_one_gpu_under_two_names_is_one_machine(self):
        self.take("focus", self.focus("a.csv", [charge(n) for n in range(1, 32)]))
        self.inventory()
        self.telemetry("a.csv", "node-a", lambda at: True)
        self.telemetry("b.csv", "node-a.internal", lambda at: True)
        done = self.stint("audit", "--history", self.history, "--month", "2026-10", "--json")
        self.assertIn("node-a.internal and node-a are one machine", done.stderr)
        audit = json.loads(done.stdout)
        self.assertEqual(audit["totals"]["gpu_hours"], 8 * 24 * 31)
        self.assertEqual([node["name"] for node in audit["nodes"]], ["node-a"])

    def test_a_bill_alone_has_findings_of_lower_confidence(self):
        self.take("focus", self.focus("a.csv", [charge(n, "526.98") for n in range(1, 32)]))
        audit = self.json("audit", "--history", self.history, "--month", "2026-10", "--commit-on-days", "28")
        self.assertTrue(audit["findings"])
        self.assertEqual({f["confidence"] for f in audit["findings"]}, {"low"})
        self.assertIsNone(audit["totals"]["mean_utilization_pct"])
        self.assertIsNone(audit["nodes"][0]["mean_utilization_pct"])

    def test_every_line_is_a_row_of_focus_out_on_either_basis(self):
        rows = [charge(n) for n in range(1, 32)]
        rows.append(charge(1, 620, EffectiveCost=0, ChargeCategory="Purchase", CommitmentDiscountId="r-1", ResourceId="", ResourceName="", **{"x_InstanceType": ""}))
        self.take("focus", self.focus("a.csv", rows))
        for basis in ("effective", "billed"):
            text = self.ok("bill", "--history", self.history, "--month", "2026-10", "--format", "focus", "--basis", basis)
            out = list(csv.DictReader(text.splitlines()))
            self.assertEqual(sum(Decimal(row["BilledCost"]) for row in out), 8060)
            self.assertEqual(sum(Decimal(row["EffectiveCost"]) for row in out), 7440)

    def test_a_budget_that_burns_out_says_when(self):
        self.take("focus", self.focus("a.csv", [charge(n, Tags='{"client":"acme"}') for n in range(1, 21)]))
        budgets = self.write("budgets.csv", "client,month,budget,currency\nacme,2026-10,5000,USD\n")
        done = self.stint("budget", "check", "--budgets", budgets, "--history", self.history, "--month", "2026-10", "--json")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("2026-10-21", done.stdout)  # 5,000 / 240 = 20.8 days


if __name__ == "__main__":
    STINT = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
