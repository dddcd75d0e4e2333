#!/usr/bin/env python3
"""The command line as a user meets it, on the real binary.

Usage: test_cli.py STINT_BINARY SOURCE_DIR SHARED_DIR [unittest arguments]
"""
import csv
import decimal
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

STINT = SOURCE = SHARED = None
Decimal = decimal.Decimal


def stint(*args, code=0, stdin=None):
    """Runs the binary; fails with its output when the exit code is another."""
    done = subprocess.run([STINT, *map(str, args)], capture_output=True, text=True, input=stdin, timeout=600,
                          env={**os.environ, "NO_COLOR": "1"})
    codes = code if isinstance(code, tuple) else (code,)
    assert done.returncode in codes, f"stint {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def stint_json(*args, code=0):
    return json.loads(stint(*args, "--json", code=code).stdout)


class Scratch(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.dir = pathlib.Path(self._dir.name)
        self.db = self.dir / "fleet.db"

    def need(self, *parts):
        path = pathlib.Path(SHARED, *parts)
        if not path.exists():
            self.skipTest(f"{path} is not here")
        return path


class Usage(Scratch):
    def test_help_names_every_command_and_exit_codes(self):
        out = stint("--help").stdout
        for command in ("import", "audit", "bill", "reconcile", "statements", "margin", "kpi", "trend", "pick", "estimate", "catalog", "profile", "bench", "history", "demo", "forecast", "plan", "replay", "explore"):
            self.assertIn(command, out)
        self.assertIn("Exit codes", out)

    def test_wrong_usage_is_2(self):
        stint(code=2)
        stint("frobnicate", code=2)
        stint("audit", code=2)

    def test_help_and_version_are_commands_too(self):
        self.assertEqual(stint("help", "plan", "commit").stdout, stint("plan", "commit", "--help").stdout)
        self.assertEqual(stint("help").stdout, stint("--help").stdout)
        self.assertEqual(stint("version").stdout, stint("--version").stdout)
        self.assertIn("--token-file", stint("help", "connection").stdout)
        self.assertIn("did you mean 'audit'?", stint("help", "aduit", code=2).stderr)

    def test_a_mistyped_name_is_answered_with_the_nearest(self):
        self.assertIn("did you mean 'audit'?", stint("aduit", code=2).stderr)
        self.assertIn("did you mean '--history'?", stint("audit", "--histroy", "fleet.db", code=2).stderr)
        self.assertIn("did you mean 'H100-80GB'?", stint("catalog", "gpus", "--gpu", "H100-80BG", code=1).stderr)
        self.assertIn("there is A", stint("catalog", "mig", "--gpu", "T4000", code=1).stderr)
        self.assertIn("did you mean 'bill'?", stint("man", "bil", code=1).stderr)
        self.assertIn("did you mean 'dcgm'?", stint("import", "dgcm", "-", "--history", self.db, code=1).stderr)

    def test_a_filter_of_the_catalogue_that_lets_nothing_through_says_what_there_is(self):
        for command, option, wrong, has in (("instances", "--provider", "awz", "did you mean 'aws'?"), ("prices", "--provider", "nocloud", "there is aws"),
                                            ("instances", "--type", "p9.giant", "there is "), ("prices", "--region", "mars", "there is ")):
            done = stint("catalog", command, option, wrong, code=1)
            self.assertIn(f"{option} {wrong}: no such ", done.stderr)
            self.assertIn(has, done.stderr)
            self.assertEqual(done.stdout, "")
        together = stint("catalog", "prices", "--provider", "aws", "--type", "p5", "--gpu", "T4", code=1)
        self.assertIn("no price in the catalogue passes all the filters together", together.stderr)

    def test_a_failed_import_leaves_no_empty_history(self):
        stint("import", "focus", self.dir / "absent.csv", "--history", self.db, code=1)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_an_input_without_a_known_metric_is_refused(self):
        file = self.dir / "amd.prom"
        file.write_text('# TYPE amd_gpu_gfx_activity gauge\namd_gpu_gfx_activity{gpu_id="0",hostname="n1"} 50\n')
        for _ in range(2):
            done = stint("import", "dcgm", file, "--at", "2026-10-01T12:00:00Z", "--history", self.db, code=1)
            self.assertIn("amd.prom: holds no metric", done.stdout)
            self.assertIn("DCGM", done.stderr)
        self.assertFalse(self.db.exists())

    def test_invalid_json_is_named_by_its_line(self):
        file = self.dir / "config.json"
        file.write_text('{\n  "queues": []\n  "nodes": []\n}\n')
        self.assertIn("line 3", stint("alerts", "rules", "--config", file, code=1).stderr)

    def test_a_history_that_may_only_be_read_is_audited(self):
        stint("demo", "agency", "--history", self.db)
        self.dir.chmod(0o555)
        self.db.chmod(0o444)
        self.addCleanup(self.dir.chmod, 0o755)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}  # root may write everywhere
        done = subprocess.run([STINT, "audit", "--history", self.db, "--no-replay", "--json"], capture_output=True, text=True,
                              timeout=600, check=False, **nobody)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(json.loads(done.stdout)["findings"])

    def test_goals_that_fail_are_3(self):
        stint("demo", "agency", "--history", self.db)
        goals = self.dir / "goals.txt"
        goals.write_text("cost<=1\n")
        stint("audit", "--history", self.db, "--no-replay", "--goals", goals, code=3)
        goals.write_text("saving>=1%\n")
        stint("audit", "--history", self.db, "--no-replay", "--goals", goals)

    def test_absent_files_say_so_on_stderr(self):
        done = stint("audit", "--history", self.dir / "absent.db", code=1)
        self.assertEqual(done.stdout, "")
        self.assertIn("absent.db", done.stderr)
        done = stint("import", "focus", self.dir / "absent.csv", "--history", self.db, code=1)
        self.assertIn("absent.csv", done.stderr)

    def test_a_foreign_file_is_refused_and_left_alone(self):
        self.db.write_text("this is no database, it is a letter to my aunt\n" * 100)
        before = self.db.read_bytes()
        done = stint("audit", "--history", self.db, code=1)
        self.assertIn("fleet.db", done.stderr)
        self.assertEqual(self.db.read_bytes(), before)


class Catalogue(Scratch):
    def test_prices_of_the_known_instance(self):
        out = stint("catalog", "prices", "--json").stdout
        rows = json.loads(out)
        rows = rows if isinstance(rows, list) else rows["prices"]
        g5 = [r for r in rows if r["instance_type"] == "g5.4xlarge" and r["region"] == "us-east-1" and r["market"] == "on-demand"]
        self.assertEqual(len(g5), 1)
        self.assertAlmostEqual(float(g5[0]["per_hour"]), 1.624, places=9)
        self.assertTrue(all(r["source"] and r["as_of"] for r in rows), "each row has source and date")
        self.assertTrue(all(float(r["per_hour"]) > 0 for r in rows), "no price is 0")

    def test_a_providers_prices_are_laid_over_and_what_changed_is_shown(self):
        row = {"AvailabilityZone": "us-east-1a", "InstanceType": "p4d.24xlarge", "ProductDescription": "Linux/UNIX", "SpotPrice": "14.421",
               "Timestamp": "2026-11-20T08:00:00+00:00"}
        (self.dir / "spot.json").write_text(json.dumps({"SpotPriceHistory": [row, {**row, "SpotPrice": "free"},
                                                                             {**row, "InstanceType": "p9.new", "SpotPrice": "2"}]}))
        told = json.loads(stint("catalog", "refresh", self.dir / "spot.json", "--history", self.db, "--json", code=3).stdout)
        self.assertEqual((told["imports"][0]["format"], told["imports"][0]["accepted"], told["imports"][0]["rejected"]), ("aws-spot-prices", 2, 1))
        # Before, 13.11 of a secondary source: 14.421 is 10 % more.
        known = next(c for c in told["changes"] if c["instance_type"] == "p4d.24xlarge")
        self.assertEqual((known["before"], known["after"], known["as_of_before"], known["as_of"], known["older"]),
                         ("13.11", "14.421", "2026-07-07", "2026-11-20", False))
        self.assertAlmostEqual(known["change_pct"], 10, 9)
        self.assertIsNone(next(c for c in told["changes"] if c["instance_type"] == "p9.new")["before"])
        prices = stint_json("catalog", "prices", "--history", self.db, "--type", "p4d.24xlarge", "--market", "spot")
        self.assertEqual([p["per_hour"] for p in prices], ["14.421"])
        # A price older than the History's is not taken; one older than the built-in is, and said to be. The same price of another day is confirmed.
        header = "provider,region,instance_type,market,per_hour,as_of\n"
        (self.dir / "list.csv").write_text(header + "aws,us-east-1,p4d.24xlarge,spot,13.2,2026-10-01\naws,us-east-1,p5.48xlarge,spot,20,2026-07-01\naws,us-east-1,p9.new,spot,2,2026-11-22\n")
        shown = stint("catalog", "refresh", self.dir / "list.csv", "--history", self.db).stdout
        self.assertIn("1 price changed or new, 1 confirmed", shown)
        self.assertIn("2026-07-01 (older)", shown)
        self.assertNotIn("13.2", shown)
        (self.dir / "what.json").write_text("{}")
        self.assertIn("--format", stint("catalog", "refresh", self.dir / "what.json", "--history", self.db, code=1).stderr)

    def test_500_qps_at_200_each_with_headroom_is_4(self):
        # The arithmetic itself is tested in catalog/; here: the command answers at all and names a type and a runner-up.
        out = stint("pick", "--serve", "bert-base", "--qps", "500", "--p99", "50ms").stdout
        self.assertRegex(out, r"(T4|L4)")


class Machines(Scratch):
    def test_who_started_a_machine_stands_in_the_clouds_log(self):
        rows = self.dir / "nodes.csv"
        rows.write_text("node,resource_id,provider\ngpu-1,i-0a,aws\ngpu-2,/subscriptions/s/virtualMachines/vm-2,azure\n")
        stint("import", "inventory", rows, "--history", self.db)
        aws = self.dir / "trail.json.gz"
        asked = {"eventSource": "ec2.amazonaws.com", "eventName": "RunInstances", "eventTime": "2026-10-01T08:00:00Z",
                 "userIdentity": {"type": "IAMUser", "userName": "mary\x1b[31m"}, "sourceIPAddress": "192.0.2.7",
                 "responseElements": {"instancesSet": {"items": [{"instanceId": "i-0a"}, {"instanceId": "i-0b"}]}}}
        aws.write_bytes(gzip.compress(json.dumps({"Records": [asked]}).encode()))
        azure = self.dir / "activity.json"
        azure.write_text(json.dumps([{"operationName": {"value": "Microsoft.Compute/virtualMachines/start/action"}, "status": {"value": "Succeeded"},
                                      "eventTimestamp": "2026-10-02T08:00:00Z", "caller": "ann@example.org", "resourceId": "/X/VIRTUALMACHINES/VM-2"}]))
        logs = ["--cloudtrail", aws, "--azure-activity", azure]
        told = stint_json("history", "machine", self.db, "gpu-1", *logs)
        self.assertEqual(told["acts"], [{"at": "2026-10-01T08:00:00Z", "act": "made", "who": "mary\x1b[31m", "from": "192.0.2.7", "by": None, "failed": None}])
        self.assertEqual([act["who"] for act in stint_json("history", "machine", self.db, "gpu-2", *logs)["acts"]], ["ann@example.org"])
        shown = stint("history", "machine", self.db, "i-0b", *logs).stdout
        self.assertIn("mary", shown)
        self.assertNotIn("\x1b", shown, "names are shown, not sent to the terminal")
        self.assertIn("do not speak of machine gpu-9", stint("history", "machine", self.db, "gpu-9", *logs).stderr)
        self.assertIn("no entry of Google's audit logs", stint("history", "machine", self.db, "gpu-1", "--gcp-audit", azure, code=1).stderr)
        self.assertIn("--cloudtrail", stint("history", "machine", self.db, "gpu-1", code=1).stderr)
        self.assertIn("--cloudtrail", stint("history", "machine", self.db, "gpu-1", "--keep", code=1).stderr)

    def test_what_a_cloud_forgets_is_kept(self):
        asked = {"eventSource": "ec2.amazonaws.com", "eventName": "StartInstances", "eventTime": "2026-10-01T08:00:00Z",
                 "userIdentity": {"type": "IAMUser", "userName": "mary"}, "requestParameters": {"instancesSet": {"items": [{"instanceId": "i-0a"}]}}}
        first, second = self.dir / "first.json", self.dir / "second.json"
        first.write_text(json.dumps({"Records": [asked]}))
        second.write_text(json.dumps({"Records": [asked, dict(asked, eventName="TerminateInstances", eventTime="2026-10-02T08:00:00Z")]}))
        rows = self.dir / "nodes.csv"
        rows.write_text("node,resource_id,provider\ngpu-1,i-0a,aws\n")
        stint("import", "inventory", rows, "--history", self.db)
        self.assertIn("1 new act kept", stint("history", "machine", self.db, "gpu-1", "--cloudtrail", first, "--keep").stderr)
        self.assertEqual(len(stint_json("history", "machine", self.db, "gpu-1", "--cloudtrail", second)["acts"]), 2, "those of the file, and each once")
        self.assertEqual([act["act"] for act in stint_json("history", "machine", self.db, "gpu-1")["acts"]], ["started"])
        self.assertIn("1 new act kept", stint("history", "machine", self.db, "gpu-1", "--cloudtrail", second, "--keep").stderr)
        self.assertEqual([act["act"] for act in stint_json("history", "machine", self.db, "gpu-1")["acts"]], ["started", "ended"])
        stint("history", "check", self.db)


class Estimates(Scratch):
    PLAN = pathlib.Path(__file__).resolve().parents[2] / "examples" / "terraform-plan.json"

    def test_a_plan_is_priced_to_the_cent_and_held_to_limits(self):
        got = json.loads(stint("estimate", self.PLAN, "--json").stdout)
        by_address = {r["address"]: r for r in got["resources"]}
        # 730 hours of p4d.24xlarge at 21.957642.
        self.assertEqual(by_address["aws_instance.train[1]"]["after"]["per_month"], "16029.07866")
        self.assertEqual(by_address["module.serve.aws_autoscaling_group.replicas"]["after"]["count"], 4)
        total = sum(Decimal(r["after"]["per_month"]) for r in got["resources"] if r["after"])
        self.assertEqual(Decimal(got["after_per_month"]), total)
        stint("estimate", self.PLAN, "--max-increase", "100", code=3)
        stint("estimate", self.PLAN, "--quota", "A100-40GB=8", code=3)
        stint("estimate", self.PLAN, "--quota", "A100-40GB=16", code=0)

    def test_what_cannot_be_priced_is_named_and_the_code_says_so(self):
        plan = self.dir / "plan.json"
        plan.write_text(json.dumps({"format_version": "1.0", "resource_changes": [
            {"address": "aws_instance.new", "type": "aws_instance", "change": {"actions": ["create"], "after": {"instance_type": "p9.48xlarge"}}}]}))
        self.assertIn("p9.48xlarge is not in the catalogue", stint("estimate", plan, code=3).stdout)


class Clients(Scratch):
    def test_statements_hold_their_own_client_only_and_sum_to_the_bill(self):
        stint("demo", "agency", "--history", self.db)
        bill = stint_json("bill", "--history", self.db, "--month", "2026-10", "--idle", "spread")
        out = stint("statements", "--history", self.db, "--month", "2026-10", "--idle", "spread", "--folder", self.dir / "pages").stdout
        self.assertIn("47,000.00", out)
        clients = [row["name"] for row in bill["rows"] if row["name"]]
        self.assertEqual(sorted(p.stem for p in (self.dir / "pages").iterdir()), sorted(clients))
        for client in clients:
            page = (self.dir / "pages" / f"{client}.html").read_text()
            for other in set(clients) - {client}:
                self.assertNotIn(other, page)
        told = stint_json("statements", "--history", self.db, "--month", "2026-10", "--folder", self.dir / "pages", "--client", clients[0])
        self.assertEqual([page["client"] for page in told["statements"]], [clients[0]])
        self.assertEqual(sum(decimal.Decimal(told[part]) for part in ("all_clients", "unattributed", "idle_unattributed")), decimal.Decimal(told["bill"]))
        margin = stint_json("margin", "--history", self.db, "--month", "2026-10", "--revenue", SOURCE + "/examples/revenue.csv")
        self.assertEqual(margin["cost"], "47000")
        self.assertEqual({r["client"]: r["cost"] for r in margin["rows"]}, {r["name"]: r["total"] for r in bill["rows"]})


    def close(self, *options, month="2026-10", code=0):
        return stint("close", "--history", self.db, "--month", month, "--folder", self.dir / "books", *options, code=code)

    def test_a_closed_month_holds_what_the_single_commands_say(self):
        stint("demo", "agency", "--history", self.db)
        invoices = SOURCE + "/examples/invoices.csv"
        told = json.loads(self.close("--invoices", invoices, "--json").stdout)["months"]
        self.assertEqual([(m["month"], m["closed"], m["open"], m["bill"], m["invoices"]) for m in told],
                         [("2026-10", True, [], "47000", {"rows": 3, "given": 3, "differing": 0})])
        self.assertEqual(sum(Decimal(told[0][part]) for part in ("all_clients", "unattributed", "idle_unattributed")), 47000)
        books, period = self.dir / "books" / "2026-10", ("--history", self.db, "--month", "2026-10")
        for name, command in (("bill.json", ("bill", "--json")), ("bill.csv", ("bill", "--format", "csv")), ("bill.html", ("bill", "--format", "html")),
                              ("reconciliation.csv", ("reconcile", "--invoices", invoices, "--format", "csv"))):
            self.assertEqual((books / name).read_text(), stint(command[0], *period, *command[1:]).stdout, name)
        stint("statements", *period, "--folder", self.dir / "pages")
        pages = sorted((self.dir / "pages").iterdir())
        self.assertEqual(len(pages), told[0]["statements"])
        self.assertEqual([p.name for p in pages], sorted(p.name for p in (books / "statements").iterdir()))
        for page in pages:
            self.assertEqual(page.read_bytes(), (books / "statements" / page.name).read_bytes())

    def test_a_closed_month_is_replaced_on_request_only(self):
        stint("demo", "agency", "--history", self.db)
        self.close()
        stale = self.dir / "books" / "2026-10" / "statements" / "who-left.html"
        stale.write_text("a page of a delivery before")
        self.assertIn("--again", self.close(code=1).stderr)
        self.assertTrue(stale.exists())
        self.close("--again")
        self.assertFalse(stale.exists())
        self.assertEqual([p.name for p in (self.dir / "books").iterdir()], ["2026-10"])

    def test_a_month_stays_open_while_an_invoice_differs_or_is_missing(self):
        stint("demo", "agency", "--history", self.db)
        header, *rows = (pathlib.Path(SOURCE) / "examples" / "invoices.csv").read_text().splitlines()
        october = [row for row in rows if "2026-10" in row]
        cells = october[0].split(",")
        total = header.split(",").index("total")
        cells[total] = str(Decimal(cells[total]) + Decimal("0.01"))
        invoices = self.dir / "invoices.csv"
        invoices.write_text("\n".join([header, ",".join(cells), *october[1:-1], ""]))
        (month,) = json.loads(self.close("--invoices", invoices, "--json", code=3).stdout)["months"]
        self.assertEqual((month["closed"], len(month["open"]), month["invoices"]), (False, 2, {"rows": 3, "given": 2, "differing": 1}))
        self.assertTrue(any("the invoice says" in why for why in month["open"]), month["open"])
        self.assertTrue(any("no invoice is given" in why for why in month["open"]), month["open"])

    def test_a_month_whose_bill_ends_early_stays_open(self):
        bill = self.dir / "bill.csv"
        bill.write_text("BilledCost,EffectiveCost,BillingCurrency,BillingAccountId,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,"
                        "ProviderName,ServiceCategory,ServiceName\n" + "".join(
                            f"10,10,USD,1,2026-{m}-01T00:00:00Z,2026-{m + 1:02}-01T00:00:00Z,2026-{m}-01T00:00:00Z,{end}T00:00:00Z,Usage,AWS,Storage,Amazon S3\n"
                            for m, end in ((10, "2026-11-01"), (11, "2026-11-11"))))
        stint("import", "focus", bill, "--history", self.db)
        october, november = json.loads(self.close("--through", "2026-11", "--json", code=3).stdout)["months"]
        self.assertEqual((october["closed"], november["closed"]), (True, False))
        self.assertIn("2026-11-11", november["open"][0])
        said = self.close("--through", "2026-12", "--again", code=1)
        self.assertIn("2026-12 is not closed: ", said.stderr)
        self.assertIn("2026-10", said.stdout)

    def test_a_months_difference_is_explained_to_the_last_nano_unit(self):
        stint("demo", "agency", "--history", self.db)
        stint("demo", "agency", "--history", self.db, "--month-after")
        bills = [stint_json("bill", "--history", self.db, "--month", month) for month in ("2026-10", "2026-11")]
        for by in ("client", "service"):
            trend = stint_json("trend", "--history", self.db, "--month", "2026-11", "--by", by)
            self.assertEqual([trend["before"], trend["after"]], [bill["total"] for bill in bills])
            for row in [*trend["rows"], trend]:
                self.assertEqual(sum(map(decimal.Decimal, row["reasons"].values())), decimal.Decimal(row["difference"]))
            self.assertEqual(sum(decimal.Decimal(row["difference"]) for row in trend["rows"]), decimal.Decimal(trend["difference"]))
        by_client = stint_json("trend", "--history", self.db, "--month", "2026-11")
        self.assertEqual({r["name"]: r["after"] for r in by_client["rows"] if not r["idle"]}, {r["name"]: r["total"] for r in bills[1]["rows"]})
        # Fjord's machine leaves: the demo's one change of fleet is its largest difference, all of it fewer hours, and an anomaly from the first day.
        fjord = by_client["rows"][0]
        self.assertEqual((fjord["name"], decimal.Decimal(fjord["reasons"]["price"])), ("fjord", 0))
        self.assertIn(("fjord", "2026-11-01"), {(a["client"], a["first_day"]) for a in by_client["anomalies"]["found"]})
        # The audit of that month shows the same unusual days, on its page too.
        audit = stint_json("audit", "--history", self.db, "--month", "2026-11", "--no-replay")
        days = lambda found: [(a["client"], a["idle"], a["service"], a["first_day"], a["days"], float(a["excess"])) for a in found]
        self.assertEqual(days(audit["anomalies"]["found"]), days(by_client["anomalies"]["found"]))
        stint("audit", "--history", self.db, "--month", "2026-11", "--no-replay", "--html", self.dir / "audit.html")
        self.assertIn("Unusual days", (self.dir / "audit.html").read_text())
        # Its plan rests on a price of 2025 among others, and says so.
        self.assertIn("older than 180 days", next(c["says"] for c in audit["data"] if c["what"] == "prices"))
        self.assertTrue(audit["prices"][0]["stale"])
        self.assertIn("which period", stint("trend", "--history", self.db, code=1).stderr)
        self.assertIn("overlap", stint("trend", "--history", self.db, "--month", "2026-11", "--against", "2026-11", code=1).stderr)
        self.assertIn("no data", stint("trend", "--history", self.db, "--month", "2026-10", code=1).stderr)

    def test_budgets_are_held_against_bills_and_gate(self):
        stint("demo", "agency", "--history", self.db)
        bill = {r["name"]: r["total"] for r in stint_json("bill", "--history", self.db, "--month", "2026-10")["rows"]}
        (self.dir / "b.csv").write_text("client,budget\n*,47000\nfjord,6000\ncobalt,8700\n")
        call = ["budget", "check", "--history", self.db, "--month", "2026-10", "--budgets", self.dir / "b.csv"]
        told = json.loads(stint(*call, "--json", code=3).stdout)
        self.assertEqual({r["client"]: r["spent"] for r in told["rows"]}, {"*": "47000", "fjord": bill["fjord"], "cobalt": bill["cobalt"]})
        self.assertEqual([r["verdict"] for r in told["rows"]], ["within", "exceeded", "within"])
        # Half of the month: fjord holds the same machine all of it, so its forecast is what it will cost.
        half = json.loads(stint(*call, "--until", "2026-10-16", "--json", code=3).stdout)
        self.assertEqual(half["as_of"], "2026-10-16T00:00:00Z")
        fjord = half["rows"][1]
        self.assertEqual(fjord["verdict"], "will exceed")
        self.assertAlmostEqual(float(fjord["month_end"]["expected"]) / float(bill["fjord"]), 1, 1)
        (self.dir / "b.csv").write_text("client,budget\nfjord,0\n")
        self.assertIn("b.csv:2", stint(*call, code=1).stderr)

    def test_key_figures_are_those_of_bill_and_audit(self):
        stint("demo", "agency", "--history", self.db)
        kpi = stint_json("kpi", "--history", self.db, "--month", "2026-10", "--requests", "qa-server=4000000")
        audit = stint_json("audit", "--history", self.db, "--month", "2026-10", "--no-replay")
        self.assertEqual(kpi["total"], "47000")
        self.assertAlmostEqual(float(kpi["per_useful_gpu_hour"]), audit["totals"]["per_useful_gpu_hour"], 6)
        self.assertAlmostEqual(kpi["mean_utilization_pct"], audit["totals"]["mean_utilization_pct"], 6)
        bill = stint_json("bill", "--history", self.db, "--month", "2026-10", "--by", "workload")
        inference = {row["name"]: row["inference"] for row in bill["rows"]}
        for service in kpi["services"]:
            self.assertEqual(service["cost"], inference[service["service"]])
        qa = next(s for s in kpi["services"] if s["service"] == "qa-server")
        self.assertAlmostEqual(float(qa["per_thousand"]), float(qa["cost"]) / 4_000, 8)
        # Half of the month is measured, at one request a second; the other half is taken to be alike.
        (self.dir / "requests.csv").write_text("time,value\n" + "".join(f"2026-10-{d:02}T{h:02}:00:00Z,1\n" for d in range(1, 16) for h in range(24)))
        half = stint_json("kpi", "--history", self.db, "--month", "2026-10", "--requests", f"qa-server={self.dir / 'requests.csv'}")
        self.assertAlmostEqual(next(s for s in half["services"] if s["service"] == "qa-server")["requests"], 31 * 86_400, 0)
        self.assertIn("Requests to qa-server are known for 48.4 % of the period", half["notes"][0])
        for wrong in ("qa-server", "qa-server=-1", "=5", "qa-server=", "nothing=5"):
            self.assertIn("--requests", stint("kpi", "--history", self.db, "--requests", wrong, code=1).stderr)


class Bills(Scratch):
    def test_the_focus_sample_imports_whole(self):
        sample = self.need("data", "focus-sample", "focus_sample_1.0.csv.gz")
        got = stint_json("import", "focus", sample, "--history", self.db, code=(0, 3))
        record = got[0] if isinstance(got, list) else got["imports"][0]
        self.assertEqual(record["accepted"] + record["rejected"], 1000)
        self.assertEqual(record["rejected"], 0)
        again = stint_json("import", "focus", sample, "--history", self.db)
        info = stint_json("history", "info", self.db)
        self.assertEqual(info["bill_lines"], 1000, f"the same file twice changes nothing: {again}")
        bill = stint_json("bill", "--history", self.db, "--month", "2024-09", "--by", "client", "--basis", "billed")
        with gzip.open(sample, "rt", encoding="utf-8-sig") as f:
            expected = sum(Decimal(row["BilledCost"]) for row in csv.DictReader(f)
                           if row["ChargePeriodStart"] >= "2024-09-01" and row["ChargePeriodStart"] < "2024-10-01")
        self.assertAlmostEqual(float(bill["total"]), float(expected), places=4)

    def test_focus_out_sums_to_focus_in(self):
        sample = self.need("data", "focus-sample", "focus_sample_1.0.csv.gz")
        stint("import", "focus", sample, "--history", self.db)
        out = stint("bill", "--history", self.db, "--month", "2024-09", "--format", "focus").stdout
        rows = list(csv.DictReader(out.splitlines()))
        total = sum(Decimal(r["EffectiveCost"]) for r in rows)
        bill = stint_json("bill", "--history", self.db, "--month", "2024-09", "--by", "client")
        self.assertAlmostEqual(float(total), float(bill["total"]), places=6)


class GenAi(Scratch):
    def test_the_trace_is_found_idle_by_container(self):
        for name in ("pod_gpu_duty_cycle_anon", "pod_gpu_memory_used_bytes_anon"):
            stint("import", "genai", self.need("data", "alibaba-genai2026", name + ".tar.gz"), "--history", self.db)
        report = stint_json("audit", "--history", self.db)
        self.assertAlmostEqual(report["totals"]["mean_utilization_pct"], 7.0, delta=0.5)
        self.assertIsNone(report["totals"]["bill_per_month"], "nothing says what it costs: not known, never 0")
        self.assertTrue(all(n["cost_per_month"] is None for n in report["nodes"]))
        holders = report["holders"]
        # 143 containers have a duty cycle; one more is only in the memory file.
        self.assertEqual(len(holders), 144)
        self.assertEqual([h["idle_pct"] for h in holders if h["gpu_hours"] == 0], [None], "not measured is not 0")
        measured = [h for h in holders if h["gpu_hours"] > 0]
        idle = sum(h["idle_pct"] * h["gpu_hours"] for h in measured) / sum(h["gpu_hours"] for h in measured)
        # 67 % of the samples are exactly 0; idle counts those below 1 %, over time.
        self.assertAlmostEqual(idle, 68.5, delta=2)
        held = [h for h in holders if h["memory_mean_gb"]]
        self.assertAlmostEqual(sum(h["memory_mean_gb"] * h["gpu_hours"] for h in held) / sum(h["gpu_hours"] for h in held), 24.8, delta=0.6)


class Stories(unittest.TestCase):
    """Demo, audit and bill of both stories; each story is made once."""

    @classmethod
    def setUpClass(cls):
        cls._dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._dir.cleanup)
        cls.dir = pathlib.Path(cls._dir.name)
        cls.reports = {}
        for story in ("agency", "platform"):
            stint("demo", story, "--history", cls.dir / f"{story}.db")
            cls.reports[story] = stint_json("audit", "--history", cls.dir / f"{story}.db", "--month", "2026-10")

    def test_the_bills_are_what_the_stories_say(self):
        self.assertEqual(Decimal(str(self.reports["agency"]["totals"]["bill_per_month"])), 47000)
        self.assertEqual(Decimal(str(self.reports["platform"]["totals"]["bill_per_month"])), 200000)

    def test_imported_bills_reconcile_with_the_invoices_to_the_cent(self):
        agency = stint_json("reconcile", "--history", self.dir / "agency.db", "--month", "2026-10", "--invoices", SOURCE + "/examples/invoices.csv")
        self.assertEqual((agency["invoices"], agency["differing"], len(agency["rows"])), (3, 0, 3))
        invoices = self.dir / "invoices.csv"
        platform = stint_json("reconcile", "--history", self.dir / "platform.db", "--month", "2026-10")
        self.assertEqual([row["provider"] for row in platform["rows"]], ["aws"])
        for total, code in (("200000.00", 0), ("200000.01", 3)):
            invoices.write_text(f"provider,account,month,total\nAWS,{platform['rows'][0]['account']},2026-10,{total}\n")
            told = stint_json("reconcile", "--history", self.dir / "platform.db", "--month", "2026-10", "--invoices", invoices, code=code)
            self.assertEqual(told["differing"], 1 if code else 0)
            self.assertAlmostEqual(Decimal(told["rows"][0]["difference"]), 200000 - Decimal(total))
        self.assertIn("do not match", stint("reconcile", "--history", self.dir / "agency.db", "--invoices", invoices, code=3).stdout.replace("does not", "do not"))

    def test_the_agency_is_busy_23_percent(self):
        self.assertAlmostEqual(self.reports["agency"]["totals"]["mean_utilization_pct"], 23, delta=0.5)

    def plan(self, story, planner, *args):
        return stint_json("plan", planner, "--history", self.dir / f"{story}.db", "--month", "2026-10", *args)

    def test_one_gpu_experiments_are_rightsized_to_one_gpu(self):
        labs = [g for g in self.plan("platform", "rightsize")["groups"] if g["instance_type"] == "p3.8xlarge"]
        self.assertEqual(len(labs), 1)
        self.assertEqual((labs[0]["best"]["instance_type"], labs[0]["best"]["count"]), ("p3.2xlarge", 5))
        # 3.06 in place of 12.24 an hour.
        self.assertAlmostEqual(labs[0]["best"]["saving_per_month"], 0.75 * labs[0]["cost_per_month"], delta=0.01)
        self.assertEqual(labs[0]["change"]["kind"], "resize")
        self.assertIn("no service 'nobody'", stint("plan", "rightsize", "--history", self.dir / "platform.db", "--demand", "nobody=1@1", code=1).stderr)
        # Nothing may get slower, so no machine of the services goes, unless a quarter more is allowed; a goal that names no service is said.
        moved = lambda *allowed: [g for g in self.plan("platform", "rightsize", *allowed)["groups"] if g["services"] is not None and g["best"]]
        self.assertEqual(moved(), [])
        self.assertTrue(moved("--slowest", "1.25"))
        goals = self.dir / "promises.goals"
        goals.write_text("p99<=100%\np99:nobody<=80ms\ncost<=1\n")
        self.assertEqual(moved("--goals", goals, "--slowest", "1.25"), [], "a goal binds whatever else is allowed")
        bound = self.plan("platform", "rightsize", "--goals", goals)
        self.assertTrue(any("no service has that name" in note for note in bound["notes"]), bound["notes"])
        self.assertIn("such as search=500@200", stint("plan", "rightsize", "--history", self.dir / "platform.db", "--demand", "x", code=1).stderr)

    def test_spot_takes_training_and_leaves_serving(self):
        plan = self.plan("platform", "spot")
        for group in plan["groups"]:
            waited_for = group["kind"] in ("realtime-inference", "notebook")
            self.assertEqual(group["fits"], not waited_for, group["name"])
            if group["fits"]:
                self.assertGreater(group["discount_pct"], group["discount_needed_pct"])
                self.assertEqual(sum(p["runs"] for p in group["pools"]), group["runs_at_once"])
                out = group["outcome"]
                self.assertLess(out["paid_h"], out["finish_h_p90"])
                self.assertLess(out["mixed_cost"], group["run_cost_on_demand"])
                # The formula and the search agree on the interval.
                self.assertAlmostEqual(out["checkpoint_interval_h"] / out["daly_interval_h"], 1, delta=0.05)
        self.assertAlmostEqual(sum(g["saving_per_month"] for g in plan["groups"]), plan["saving_per_month"], delta=0.01)
        self.assertEqual(self.plan("platform", "spot"), plan, "the same seed gives the same plan")

    def test_the_weekly_evaluation_is_kept_shorter(self):
        plan = self.plan("platform", "schedule")
        self.assertEqual([f["change"]["kind"] for f in plan["shorter"]], ["limit-reservation"])
        self.assertTrue(all(w["hours_per_week"] > w["windows_per_week"] for w in plan["windows"]))
        self.assertEqual(plan["later"], [], "every hour costs the same and nothing is reserved")
        cheap = self.plan("platform", "schedule", "--off-peak", "22-06=30")["later"]
        self.assertTrue(cheap and all(g["cost_then"] < g["cost_now"] and g["mean_delay_h"] <= 12 for g in cheap))
        self.assertIn("22-06=30", stint("plan", "schedule", "--history", self.dir / "platform.db", "--off-peak", "night", code=1).stderr)

    def test_capacity_months_count_known_changes(self):
        calendar = self.dir / "calendar.txt"
        calendar.write_text("# ours\n2026-12-01:+40  # new client\n")
        plain = self.plan("platform", "capacity")["months"]
        grown = self.plan("platform", "capacity", "--changes", calendar)
        self.assertEqual([m["from"][:7] for m in plain], ["2026-11", "2026-12", "2027-01"])
        self.assertEqual(grown["changes"][0]["note"], "new client")
        self.assertEqual(grown["months"][0], plain[0])
        for then, now in zip(plain[1:], grown["months"][1:]):
            self.assertAlmostEqual(now["mean"], then["mean"] + 40, delta=1e-6)
            self.assertGreaterEqual(now["shortage_at_least"], then["shortage_at_least"])
        calendar.write_text("soon:+40\n")
        self.assertIn("calendar.txt:1", stint("plan", "capacity", "--history", self.dir / "platform.db", "--changes", calendar, code=1).stderr)

    def test_fewer_replicas_free_the_machine_that_sharing_would_and_sharing_is_not_counted_unmeasured(self):
        pools = self.plan("platform", "share")["pools"]
        report = stint_json("audit", "--history", self.dir / "platform.db", "--month", "2026-10", "--max-slowdown", "25")
        fewer_of = lambda report: [f for f in report["findings"] if f["title"].startswith("Keep 4 of 5 × p4d.24xlarge: fewer replicas")]
        self.assertEqual(fewer_of(self.reports["platform"]), [], "their p99 would grow, and nothing says that it may")
        fewer = fewer_of(report)
        self.assertEqual([f for f in report["findings"] if f["change"]["kind"] == "share"], [])
        self.assertEqual(report["totals"]["saving_by"]["arithmetic"], 0)
        self.assertEqual([(f["proof"]["verdict"], f["proof"]["method"]) for f in fewer], [("survives", "requests")])
        self.assertEqual([f for f in self.reports["platform"]["findings"] if f["change"]["kind"] == "share"], [])
        self.assertEqual(self.reports["platform"]["totals"]["saving_by"]["arithmetic"], 0)
        self.assertEqual(len(pools), 1)
        # 16 services fit two to a GPU beside their own kind: 8 GPUs, one machine. Slices would free two, but requests would
        # take longer on them.
        self.assertEqual(len(pools[0]["freed_nodes"]), 1)
        self.assertAlmostEqual(pools[0]["saving_per_month"], fewer[0]["saving_per_month"], delta=0.01)
        for gpu in pools[0]["gpus"]:
            owners = {s["client"] for s in gpu["seats"] if s["mig_profile"] is None}
            self.assertLessEqual(len(owners), 1)

    def test_pairs_that_were_measured_prove_what_may_share(self):
        """By `stint bench share` on these GPUs the two do each other no harm: what was not counted is replayed. Where one slows the other it is not."""
        pairs = self.dir / "pairs.csv"
        names = ("embedder", "image-tagger")

        def shares(slowed):
            rows = [f"A100-40GB,mps,{a},{b},{slowed},{slowed},{slowed},3,test,2026-10-01" for a in names for b in names]
            pairs.write_text("gpu_model,mode,workload,neighbour,median,lowest,highest,repeats,source,as_of\n" + "\n".join(rows) + "\n")
            report = stint_json("audit", "--history", self.dir / "platform.db", "--month", "2026-10", "--pairs", pairs)
            return [f["proof"]["method"] for f in report["findings"] if f["change"]["kind"] == "share" and f["proof"]["verdict"] == "survives"]

        self.assertEqual(shares(1), ["requests"])
        self.assertEqual(shares(1.5), [])
        pairs.write_text("job,slowed\n")
        self.assertIn("pairs.csv:1: the header must be", stint("audit", "--history", self.dir / "platform.db", "--pairs", pairs, code=1).stderr)

    def test_findings_add_up_to_the_plan(self):
        for story, report in self.reports.items():
            totals = report["totals"]
            saved = sum(Decimal(str(f["saving_per_month"])) for f in report["findings"])
            self.assertAlmostEqual(float(saved), totals["bill_per_month"] - totals["plan_per_month"], delta=0.05, msg=story)
            self.assertGreater(totals["plan_per_month"], 0)
            for finding in report["findings"]:
                for key in ("id", "kind", "saving_per_month", "confidence", "risk", "change", "evidence", "apply"):
                    self.assertIn(key, finding)
                self.assertGreater(finding["saving_per_month"], 0, finding["id"])
                self.assertTrue(finding["evidence"], finding["id"])
                self.assertTrue(finding["apply"], finding["id"])

    def test_what_was_replayed_is_what_the_plan_counts(self):
        for story, report in self.reports.items():
            proof = report["proof"]
            by_jobs = sum(f["saving_per_month"] for f in report["findings"]
                          if f["proof"]["verdict"] == "survives" and f["proof"]["method"] == "jobs")
            self.assertAlmostEqual(by_jobs, proof["by_jobs_per_month"], delta=0.01, msg=story)
            together = proof["together"]
            self.assertAlmostEqual(by_jobs, together["saving_per_month"], delta=0.01, msg=story)
            self.assertLessEqual(together["saving_p10"], by_jobs, story)
            self.assertLessEqual(by_jobs, together["saving_p90"], story)

    def test_every_finding_has_one_answer_in_arithmetic_audit_and_replay(self):
        for story, report in self.reports.items():
            history = ("--history", self.dir / f"{story}.db", "--month", "2026-10")
            file = self.dir / f"{story}-audit.json"
            file.write_text(json.dumps(report))
            replayed = stint_json("replay", *history, "--policy", "fifo:backfill=easy", "--change", file)
            runs = {r["change"]: r for r in replayed["runs"]}
            as_it_is = runs[""]
            seen = 0
            for finding in report["findings"]:
                name = f"{story}: {finding['title']}"
                by_sum = next(float(re.search(r"([\d,.]+) USD/month", line).group(1).replace(",", ""))
                              for line in finding["arithmetic"] if line.startswith("saving on the books"))
                # The same assumptions on both ways: what is left is chance, and hours in which jobs run late.
                self.assertAlmostEqual(finding["saving_per_month"] / by_sum, 1, delta=0.05, msg=name)
                run = runs[finding["title"]]
                proof = finding["proof"]
                if proof["method"] in ("bill", "requests") and "refused" in run:
                    # A commitment for machines that no replay of jobs holds has no second answer, nor have services without jobs.
                    self.assertIn("not in the replay", run["refused"], name)
                    continue
                self.assertEqual("refused" in run, proof["verdict"] == "arithmetic", name)
                if proof["verdict"] != "survives" or proof["method"] != "jobs":
                    continue
                seen += 1
                self.assertEqual(proof["after"]["unfinished"], 0, name)
                self.assertEqual(run["jobs_by_ending"], as_it_is["jobs_by_ending"], name)
            self.assertGreater(seen, 3, story)
            # Without its machines' names, too: those of the type count.
            type_ = {"agency": "a2-highgpu-1g", "platform": "p4d.24xlarge"}[story]
            told = stint("replay", *history, "--policy", "fifo", "--change", f"commit:400x{type_}=1y").stdout
            self.assertRegex(told, r"of the machines that it pays for \d+ are not in the replay", story)

    def test_audit_and_plan_name_one_total_on_every_screen(self):
        for story, report in self.reports.items():
            history = ("--history", self.dir / f"{story}.db", "--month", "2026-10")
            pages = {name: self.dir / f"{story}-{name}.html" for name in ("audit", "plan")}
            audit = stint("audit", *history, "--html", pages["audit"]).stdout
            plan = stint("plan", "all", *history, "--html", pages["plan"]).stdout
            plan_json = self.plan(story, "all")
            totals = report["totals"]
            for key in ("bill_per_month", "plan_per_month", "saving_per_month"):
                self.assertEqual(totals[key], plan_json[key], f"{story}: {key}")
            ids = sorted(f["id"] for f in report["findings"])
            self.assertEqual(ids, sorted(f["id"] for f in plan_json["findings"]), story)
            to_the_cent = f"{totals['plan_per_month']:,.2f} USD"
            for name, text in (("audit", audit), ("plan", plan), *((n, p.read_text()) for n, p in pages.items())):
                self.assertIn(to_the_cent, text, f"{story}: {name}")
            headlines = {re.search("<h1>(.*?)</h1>", p.read_text()).group(1) for p in pages.values()}
            self.assertEqual(len(headlines), 1, headlines)

    def test_clients_and_idle_causes_are_within_the_bill(self):
        for story, report in self.reports.items():
            clients = sum(c["total"] for c in report["clients"])
            self.assertGreater(len([c for c in report["clients"] if c["client"]]), 2, story)
            self.assertLessEqual(clients, report["totals"]["bill_per_month"] + 0.05)

    def test_the_headline_is_the_sum_of_what_it_rests_on(self):
        for story, report in self.reports.items():
            totals = report["totals"]
            self.assertAlmostEqual(sum(totals["saving_by"].values()), totals["saving_per_month"], 6, story)
            self.assertAlmostEqual(sum(c["per_month"] for c in report["idle_causes"]), totals["not_used_per_month"], 6, story)
            doubtful = sum(f["saving_per_month"] for f in report["findings"] if f["price_doubt"] in ("old", "estimated"))
            self.assertAlmostEqual(doubtful, totals["saving_by"]["doubtful_price"], 6, story)
            self.assertLess(totals["plan_range"]["low"], totals["plan_per_month"], story)
            self.assertGreater(totals["plan_range"]["high"], totals["plan_per_month"], story)
            self.assertEqual([d["what"] for d in report["data"]], ["bill", "rows", "telemetry", "prices"])

    def test_the_way_to_a_missed_goal_is_whole(self):
        for story in self.reports:
            goals = pathlib.Path(SOURCE, f"examples/{story}.goals")
            report = stint_json("audit", "--history", self.dir / f"{story}.db", "--month", "2026-10", "--goals", goals, code=3)
            cost = next(g for g in report["goals"] if g["goal"].startswith("cost<="))
            self.assertEqual(cost["outcome"], "fails")
            missing = report["totals"]["plan_per_month"] - float(cost["goal"].removeprefix("cost<="))
            self.assertAlmostEqual(sum(o["per_month"] for o in cost["gap"]), missing, 6, story)
            self.assertTrue(all(o["remedy"] for o in cost["gap"]))

    def test_a_finding_explains_itself(self):
        first = self.reports["agency"]["findings"][0]
        out = stint("audit", "--history", self.dir / "agency.db", "--month", "2026-10", "--explain", first["id"]).stdout
        self.assertIn(first["id"], out)
        for line in first["apply"][:1]:
            self.assertIn(line.splitlines()[0][:60], out)
        stint("audit", "--history", self.dir / "agency.db", "--explain", "F-nonsense", code=1)

    def test_the_bill_by_client_sums_to_the_bill(self):
        for story, expected in (("agency", 47000), ("platform", 200000)):
            bill = stint_json("bill", "--history", self.dir / f"{story}.db", "--month", "2026-10", "--by", "client")
            self.assertEqual(Decimal(str(bill["total"])), expected)

    def test_the_report_is_one_file_without_outside_references(self):
        html = self.dir / "report.html"
        stint("audit", "--history", self.dir / "agency.db", "--month", "2026-10", "--html", html)
        text = html.read_text()
        self.assertNotRegex(text, r'(src|href)="https?://')
        self.assertNotIn("<script src", text)
        self.assertIn("47,000", text)

    def test_the_same_history_gives_the_same_report(self):
        again = stint_json("audit", "--history", self.dir / "agency.db", "--month", "2026-10")
        self.assertEqual(again, self.reports["agency"])

    def test_a_history_is_forecast_against_its_fleet(self):
        out = stint_json("forecast", "--history", self.dir / "agency.db", "--horizon", "720h")
        names = [s["name"] for s in out["series"]]
        self.assertIn("GPUs held", names)
        self.assertIn("cost", names)
        held = out["series"][names.index("GPUs held")]
        self.assertEqual([o["kind"] for o in held["outlooks"]][0], "capacity")
        self.assertEqual(len(held["points"]), 720)

    def test_histories_are_sound(self):
        for story in self.reports:
            stint("history", "check", self.dir / f"{story}.db")

    def test_the_json_follows_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        schema = json.loads(pathlib.Path(SOURCE, "docs/schema/audit.json").read_text())
        for report in self.reports.values():
            jsonschema.Draft7Validator(schema).validate(report) if not hasattr(jsonschema, "Draft202012Validator") else \
                jsonschema.Draft202012Validator(schema).validate(report)


class Changes(Scratch):
    HOSTILE = ["plain-1", "a'; touch pwned #", 'b"}\n}', "-oProxyCommand=touch pwned", '${file("x")}', "$(touch pwned)", "it's `x`", "50%"]

    def fleet(self):
        rows = self.dir / "nodes.csv"
        providers = ["aws", "aws", "gcp", "azure", "aws", "gcp", "azure", ""]
        with open(rows, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["node", "provider", "region", "instance_type", "market", "gpu_model", "gpu_count"])
            for name, provider in zip(self.HOSTILE, providers):
                out.writerow([name, provider, "us-east-1", "p4d.24xlarge", "on-demand", "A100-40GB", 8])
        stint("import", "inventory", rows, "--history", self.db)
        return self.HOSTILE

    def every_kind(self, names):
        seat = {"workload": "it's `touch pwned`\n$(x)", "from": {"node": names[1], "gpu": 0}, "to": {"node": names[0], "gpu": 1}}
        commit = {"provider": "aws", "region": "us-east-1", "instance_type": "p4d.24xlarge", "count": 2, "term": "3y", "payment": "no-upfront"}
        return [{"kind": "stop", "nodes": names},
                {"kind": "schedule-off", "nodes": names, "off_hours_of_week": [0, 1, 166, 167, 50]},
                {"kind": "resize", "nodes": names, "to_instance_type": "g5.xlarge'; touch pwned", "to_count": len(names) + 1},
                {"kind": "share", "nodes": names, "keep": names[:1], "mode": "mig",
                 "placements": [{**seat, "share": 0.5, "mig_profile": "3g.20gb", "memory_start": 0}]},
                {"kind": "share", "nodes": names, "keep": names[:1], "mode": "mps", "placements": [{**seat, "share": 0.5}, {**seat, "share": 0.5}]},
                {"kind": "share", "nodes": names, "keep": names[:1], "mode": "time-slice", "placements": [{**seat, "share": 0.5}, {**seat, "share": 0.5}]},
                {"kind": "switch-market", "nodes": names, "to_market": "spot"},
                *({"kind": "commit", "nodes": [], **commit, "provider": p} for p in ("aws", "gcp", "azure", "other")),
                {"kind": "limit-reservation", "workload": "nightly $(touch pwned)", "nodes": names, "from_hours": 24, "to_hours": 8},
                {"kind": "move-off-gpu", "nodes": names, "to_instance_type": "c5.xlarge"},
                {"kind": "move-region", "nodes": names, "to_region": "eu-west-1"}]

    def check_syntax(self, instructions):
        for i in instructions:
            text = "\n".join(i["lines"]) + "\n"
            if i["syntax"] == "shell":
                done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")
                # Run with every tool an echo: a name that got out of its quotes would leave a file behind.
                tools = "".join(f"{t}() {{ :; }}\n" for t in ("aws", "gcloud", "az", "ssh", "kubectl", "scontrol"))
                subprocess.run(["bash", "-c", tools + text], cwd=self.dir, capture_output=True, timeout=60)
                self.assertFalse((self.dir / "pwned").exists(), text)
            if i["syntax"] == "yaml":
                try:
                    import yaml
                except ImportError:
                    continue
                self.assertIsInstance(yaml.safe_load(text), dict, text)
            if i["syntax"] == "crontab":
                for line in i["lines"]:
                    if not line.startswith(("#", "CRON_TZ=")):
                        minute, hour, *_rest, day, _command = line.split(" ", 5)
                        self.assertTrue(minute == "0" and 0 <= int(hour) < 24 and 0 <= int(day) < 7, line)

    def test_every_kind_is_written_for_every_tool_whatever_the_names(self):
        names = self.fleet()
        plan = self.dir / "plan.json"
        plan.write_text(json.dumps(self.every_kind(names)))
        tools = set()
        for number in range(1, len(self.every_kind(names)) + 1):
            shown = stint_json("change", "show", number, plan, "--history", self.db, "--allow-region", "*")
            self.check_syntax(shown["instructions"])
            tools |= {i["syntax"] for i in shown["instructions"]}
            self.assertTrue(shown["instructions"], f"nothing to do for change {number}")
        self.assertEqual(tools, {"shell", "crontab", "terraform", "yaml", "conf"})

    def test_apply_undo_and_what_stands_against(self):
        self.fleet()
        done = stint("change", "apply", 1, "stop:plain-2", "--history", self.db, code=1)
        self.assertIn("did you mean 'plain-1'?", done.stderr)
        self.assertIn("Nothing was recorded", done.stderr)
        got = stint_json("change", "apply", 1, "switch-market:plain-1=spot", "--history", self.db, "--saving", "100.5", "--at", "2026-10-01")
        self.assertEqual((got["number"], got["saving_per_month"], got["objections"]), (1, 100.5, []))
        self.assertIn("DefaultTargetCapacityType=spot", json.dumps(got["instructions"]))
        done = stint("change", "apply", 1, "switch-market:plain-1=on-demand", "--history", self.db, code=1)
        self.assertIn("contradicts change 1", done.stderr)
        stint("change", "apply", 1, "stop:plain-1", "--history", self.db)
        self.assertIn("change 2 builds on it", stint("change", "undo", 1, "--history", self.db, code=1).stderr)
        back = stint_json("change", "undo", 2, "--history", self.db)
        self.assertIn("aws ec2", json.dumps(back["instructions"]))
        self.check_syntax(back["instructions"])
        stint("change", "undo", 1, "--history", self.db)
        stint("change", "undo", 1, "--history", self.db, code=1)
        self.assertEqual([bool(c["undone_at"]) for c in stint_json("change", "list", "--history", self.db)["changes"]], [True, True])
        self.assertTrue(stint_json("history", "check", self.db)["sound"])

    def test_from_the_audit_to_what_was_really_saved(self):
        stint("demo", "agency", "--history", self.db)
        audit = self.dir / "audit.json"
        audit.write_text(stint("audit", "--history", self.db, "--month", "2026-10", "--json").stdout)
        finding = json.loads(audit.read_text())["findings"][0]
        listed = stint_json("change", "list", audit)["proposals"]
        self.assertEqual((listed[0]["id"], listed[0]["number"]), (finding["id"], 1))
        self.assertIn("No change has been applied", stint("change", "status", "--history", self.db).stdout)
        # Said to be done in the middle of the month, but the story went on as it was: nothing may be credited.
        stint("change", "apply", 1, audit, "--history", self.db, "--at", "2026-10-15", "--cost", "500")
        stint("change", "apply", listed[1]["id"], audit, "--history", self.db, "--at", "2026-10-30")
        first, second = stint_json("change", "status", "--history", self.db)["savings"]
        self.assertEqual((first["numbers"], second["numbers"]), ([1], [2]))
        self.assertAlmostEqual(first["promised_per_month"], finding["saving_per_month"], places=2)
        self.assertEqual((first["verdict"], first["work"]), ("none", "GPU-hours bought"))
        self.assertLess(abs(first["realised_per_month"]), 0.01 * first["promised_per_month"])
        # The parts are the bill's difference.
        months = 14 * 24 / 730
        self.assertAlmostEqual((first["after"]["cost"] - first["before"]["cost"]) / months,
                               first["demand_per_month"] + first["price_per_month"] - first["realised_now_per_month"], places=3)
        self.assertIsNone(second["realised_per_month"])
        self.assertIn("not enough later bill", " ".join(second["notes"]))
        text = stint("change", "status", 1, "--history", self.db).stdout
        self.assertIn("GPU-hours", text)
        self.assertNotIn("Change 2", text)


class Replay(Scratch):
    def compare(self, *args):
        return stint_json("replay", *args, "--policy", "fifo", "--policy", "stint", "--seed", "7")

    def test_a_history_is_replayed_under_two_policies(self):
        stint("demo", "agency", "--history", self.db)
        page = self.dir / "replay.html"
        got = self.compare("--history", self.db, "--html", page)
        self.assertEqual(len(got["runs"]), 2)
        self.assertTrue(all(run["fingerprint"] for run in got["runs"]))
        text = page.read_text()
        self.assertNotIn("<script", text)
        self.assertIsNone(re.search(r'(?:src|href)="https?:', text))
        table = stint("replay", "--history", self.db, "--policy", "fifo", "--policy", "stint").stdout
        self.assertIn("fifo", table)
        self.assertIn("stint", table)

    def test_a_history_written_as_a_workload_replays_the_same(self):
        stint("demo", "agency", "--history", self.db)
        file = self.dir / "workload.csv"
        first = self.compare("--history", self.db, "--write-workload", file)
        second = self.compare("--workload", file)
        self.assertEqual([r["fingerprint"] for r in first["runs"]], [r["fingerprint"] for r in second["runs"]])

    def test_the_example_workload_runs_and_repeats(self):
        example = pathlib.Path(SOURCE, "examples/workload.csv")
        first, second = self.compare("--workload", example), self.compare("--workload", example)
        self.assertEqual([r["fingerprint"] for r in first["runs"]], [r["fingerprint"] for r in second["runs"]])
        self.assertEqual(first["jobs"], 5)

    def test_a_change_is_applied_and_said(self):
        example = pathlib.Path(SOURCE, "examples/workload.csv")
        done = stint("replay", "--workload", example, "--change", "stop:rented", "--change", "stop:nobody", "--json", code=3)
        self.assertIn("no node 'nobody'", done.stderr)
        self.assertIn("rented", done.stderr.split("There is" if "There is" in done.stderr else "there is")[1])
        got = json.loads(done.stdout)
        self.assertEqual([(c["name"], c["nodes"]) for c in got["changes"]], [("stop:rented", 2), ("stop:nobody", 0)])
        self.assertIn("nobody", got["changes"][1]["refused"])
        self.assertEqual([(r["policy"], r["change"]) for r in got["runs"]],
                         [(policy, change) for policy in ("fifo", "stint") for change in ("", "stop:rented", "stop:nobody")])
        as_it_is, without, refused = got["runs"][:3]
        self.assertLess(without["cost"]["total"], as_it_is["cost"]["total"])
        self.assertIn("nobody", refused["refused"])
        self.assertIn("COUNTxTYPE", stint("replay", "--workload", example, "--change", "commit:rented=1", code=1).stderr)

    def test_every_finding_of_an_audit_is_tried(self):
        stint("demo", "agency", "--history", self.db)
        audit = self.dir / "audit.json"
        audit.write_text(stint("audit", "--history", self.db, "--month", "2026-10", "--json").stdout)
        findings = json.loads(audit.read_text())["findings"]
        got = stint_json("replay", "--history", self.db, "--policy", "fifo", "--change", audit, "--change", f"{audit}#all")
        self.assertEqual(len(got["changes"]), len(findings) + 1)
        self.assertTrue(any("refused" not in change for change in got["changes"]))

    def test_why_a_job_waits_is_explained(self):
        example = pathlib.Path(SOURCE, "examples/workload.csv")
        text = stint("replay", "--workload", example, "--policy", "fifo", "--explain", "evaluate@2026-10-05T09:00").stdout
        self.assertIn("pretrain", text)
        reasons = json.loads(
            stint("replay", "--workload", example, "--policy", "fifo", "--explain", "evaluate@2026-10-05T09:00", "--json").stdout
        )
        self.assertEqual([(r["policy"].split(":")[0], r["job"], r["standing"]) for r in reasons], [("fifo", "evaluate", "waiting")])
        self.assertEqual((reasons[0]["obstacle"], reasons[0]["behind"]), ("dependency", "pretrain"))
        self.assertIn("did you mean 'evaluate'? There is ", stint("replay", "--workload", example, "--explain", "evaluates", code=1).stderr)

    def test_a_wrong_line_is_named_and_one_input_is_needed(self):
        file = self.dir / "w.csv"
        file.write_text("stint-workload/1\n[nodes]\nname,gpus\nn,99\n")
        self.assertIn("w.csv:4:", stint("replay", "--workload", file, code=1).stderr)
        stint("replay", code=2)
        stint("replay", "--workload", file, "--jobs", file, code=2)


class PlanCommit(Scratch):
    OFFER = ("--on-demand", "1", "--upfront", "432", "--term-hours", "720")

    def demand(self, text):
        path = self.dir / "demand.csv"
        path.write_text(text)
        return path

    def test_one_policy_is_an_object_with_its_cost(self):
        demand = self.demand("hour,instances\n" + "".join(f"{hour},2\n" for hour in range(720)))
        plan = stint_json("plan", "commit", "--demand", demand, *self.OFFER, "--policy", "optimal")
        self.assertEqual((plan["policy"], plan["cost"], plan["cost_ratio"], plan["ratio_to_optimal"]), ("optimal", 864, 0.6, 1))
        self.assertEqual(plan["purchases"], [{"hour": 0, "count": 2}])
        summary, table = stint("plan", "commit", "--demand", demand, *self.OFFER, "--policy", "optimal").stdout.split("\n\n")[1:3]
        self.assertEqual(" ".join(summary.split()), "optimal costs least: 864.00 USD with 2 commitments, 40.0 % less than 1,440.00 USD on demand.")
        self.assertIn("Demand, and in which share", table)
        dear = stint("plan", "commit", "--demand", demand, "--on-demand", "1", "--reserved-hourly", "2", "--term-hours", "720").stdout
        self.assertIn("No commitment of these pays on this demand", dear.split("\n\n")[1])

    def test_every_policy_is_compared_and_no_policy_beats_the_optimum(self):
        demand = self.demand("hour,gpus\n" + "".join(f"{hour},{hour * 7 % 11}\n" for hour in range(1500)))
        plan = stint_json("plan", "commit", "--demand", demand, *self.OFFER, "--risk")
        self.assertEqual(len(plan["policies"]), 6)
        for run in plan["policies"]:
            self.assertGreaterEqual(run["ratio_to_optimal"], 1)
            paid, amortised = run["paid"], run["amortised"]
            self.assertAlmostEqual(sum(paid.values()), run["cost"], 6)
            self.assertAlmostEqual(paid["on_demand"] + sum(amortised.values()), run["cost"], 6)
        self.assertEqual(plan["risk"]["draws"], 500)
        text = stint("plan", "commit", "--demand", demand, *self.OFFER, "--risk").stdout
        self.assertIn("break-even", text)
        self.assertIn("chance of a loss", text)

    def test_a_hole_is_named_with_its_line(self):
        demand = self.demand("hour,gpus\n0,1\n2,1\n")
        error = stint("plan", "commit", "--demand", demand, *self.OFFER, code=1).stderr
        self.assertIn("demand.csv:3:", error)
        stint("plan", "commit", "--demand", demand, code=2)
        stint("plan", "commit", code=2)

    def test_what_is_owned_is_not_bought_again(self):
        demand = self.demand("hour,instances\n" + "".join(f"{hour},2\n" for hour in range(1440)))
        plan = stint_json("plan", "commit", "--demand", demand, *self.OFFER, "--policy", "optimal", "--owned", "2@720")
        self.assertEqual(plan["purchases"], [{"hour": 720, "count": 2}])
        self.assertIn("COUNT@HOURS", stint("plan", "commit", "--demand", demand, *self.OFFER, "--owned", "2", code=1).stderr)

    def test_twenty_reserved_and_thirty_on_spot_save_41_to_55_percent(self):
        # 20 always on, 30 more for 40 % of the hours: 32 instance-hours an hour.
        demand = self.demand("hour,instances\n" + "".join(f"{hour},{50 if hour % 5 < 2 else 20}\n" for hour in range(8760)))

        def saved(reserved, spot):
            plan = stint_json("plan", "commit", "--demand", demand, "--on-demand", "1", "--reserved-hourly", reserved, "--term-hours",
                              "8760", "--spot", spot, "--policy", "quantile")
            self.assertEqual(plan["purchases"], [{"hour": 0, "count": 20}])
            return 1 - plan["cost_ratio_with_spot"]

        self.assertAlmostEqual(saved("0.7", "0.4"), 0.4125, 9)
        self.assertAlmostEqual(saved("0.6", "0.2"), 0.55, 9)
        self.assertIn("--spot", stint("plan", "commit", "--demand", demand, *self.OFFER, "--spot", "0", code=1).stderr)

    def test_a_history_gets_commitments_per_type(self):
        stint("demo", "platform", "--history", self.db)
        plan = stint_json("plan", "commit", "--history", self.db, "--savings-plan", "20")
        p3 = [pool for pool in plan["pools"] if pool["instance_type"] == "p3.2xlarge"]
        # 1.82 against 3.06, around the clock: every one pays.
        self.assertEqual([pool["commit"] for pool in p3], [pool["in_use"]["least"] for pool in p3])
        month = plan["per_month"]
        self.assertAlmostEqual(month["reservations"] + month["savings_plan"] + month["on_demand"], month["cost"], 1)
        self.assertLessEqual(month["at_least"], month["cost"])
        self.assertLess(month["cost"], month["all_on_demand"])


class PlanParallelism(Scratch):
    def test_every_factorisation_is_an_option_or_refused(self):
        plan = stint_json("plan", "parallelism", "--model", "llama-3-70b", "--gpu", "H100-80GB", "--gpus", 64, "--batch", 512, "--network-gbps", 3200)
        shapes = [(o["shape"]["data"], o["shape"]["tensor"], o["shape"]["pipeline"]) for o in plan["options"] + plan["refused"]]
        self.assertEqual(len(set(shapes)), 28)  # 2⁶ as an ordered product of three
        self.assertTrue(all(d * t * p == 64 for d, t, p in shapes))
        times = [o["step_seconds"]["total"] for o in plan["options"]]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(o["bytes_per_gpu"]["total"] <= plan["usable_bytes_per_gpu"] for o in plan["options"]))

    def test_usage(self):
        stint("plan", "parallelism", "--gpu", "L4", "--batch", 8, code=2)
        text = stint("plan", "parallelism", "--model", "llama-3-70b", "--gpu", "H100-80GB", "--gpus", 64, "--batch", 512).stdout
        self.assertTrue(text.split("\n\n")[1].startswith("Best: "), "what it says comes before its tables")
        self.assertIn("known are", stint("plan", "parallelism", "--model", "gpt-9", "--gpu", "L4", "--batch", 8, code=1).stderr)
        self.assertIn("Nothing fits", stint("plan", "parallelism", "--parameters", "70e9", "--gpu", "L4", "--gpus", 1, "--batch", 8).stdout)


class Forecasts(Scratch):
    def series(self, hours=600, bad=()):
        path = self.dir / "demand.csv"
        rows = [f"{h * 3600},{50 + (h % 24)}" for h in range(hours)]
        for line in bad:
            rows[line] = "nonsense"
        path.write_text("time,value\n" + "\n".join(rows) + "\n")
        return path

    def test_a_series_is_forecast_and_held_against_capacity(self):
        out = stint_json("forecast", "--series", self.series(), "--horizon", "48h", "--capacity", 60)
        series = out["series"][0]
        self.assertEqual(len(series["points"]), 48)
        for hour, point in enumerate(series["points"]):
            self.assertAlmostEqual(point["expected"], 50 + hour % 24, delta=1)
        # Each day's eleventh hour is the first above 60.
        self.assertEqual(series["outlooks"][0]["hours_until_short_expected"], 11)

    def test_known_changes_are_added(self):
        args = ("forecast", "--series", self.series(), "--horizon", "48h")
        plain = stint_json(*args)["series"][0]["points"]
        more = stint_json(*args, "--change", "1970-01-27:+40")["series"][0]["points"]
        self.assertEqual(plain[0]["at"], "1970-01-26T00:00:00Z")
        self.assertAlmostEqual(more[30]["expected"], plain[30]["expected"] + 40)
        self.assertAlmostEqual(more[3]["expected"], plain[3]["expected"])

    def test_bad_rows_are_named_and_the_rest_is_forecast(self):
        done = stint("forecast", "--series", self.series(bad=(7,)), "--html", self.dir / "page.html")
        self.assertIn("demand.csv:9:", done.stderr)
        self.assertIn("599 of 600 values known", done.stdout)
        self.assertIn("<svg", (self.dir / "page.html").read_text())

    def test_what_cannot_be_forecast_is_said(self):
        stint("forecast", code=2)
        self.assertIn("too few", stint("forecast", "--series", self.series(hours=10), code=1).stderr)
        self.assertIn("no known change", stint("forecast", "--series", self.series(), "--change", "soon", code=1).stderr)
        self.assertIn("'value'", stint("forecast", "--series", self.series(), "--only", "gpus", code=1).stderr)


class SharePlans(Scratch):
    def test_a_second_half_moves_the_smaller_neighbour(self):
        out = stint_json("plan", "share", "--gpu", "A100-80GB", "--gpus", 2, "--running", "0=1g.10gb@0,2g.20gb@4",
                         "--running", "1=4g.40gb@0", "--want", "2x3g.40gb")
        self.assertTrue(out["optimal"] and out["least_moves_proven"])
        self.assertEqual((out["slices"], out["moved_slices"]), (6, 1))
        self.assertEqual(out["moves"][0]["from"], {"profile": "1g.10gb", "start": 0})

    def test_wrong_profiles_and_layouts_are_said(self):
        plan = ("plan", "share", "--gpu", "A100-80GB", "--want")
        self.assertIn("1g.10gb", stint(*plan, "5g.50gb", code=1).stderr)
        self.assertIn("expected COUNTxPROFILE", stint(*plan, "0x1g.10gb", code=1).stderr)
        self.assertIn("cannot start", stint(*plan, "1g.10gb", "--running", "0=4g.40gb@4", code=1).stderr)
        self.assertIn("known are", stint("plan", "share", "--gpu", "T4", "--want", "1g.10gb", code=1).stderr)


class Profile(Scratch):
    def test_the_exit_code_of_the_command_is_passed_on(self):
        stint("profile", "--", "sh", "-c", "exit 7", code=7)


class Bench(Scratch):
    """Against the stand-in driver, whose clock says that repeats took 10, 20 and 30 ms."""

    def measure(self, *args, **more):
        library = os.environ["STINT_FAKE_CUDA"]
        return stint("bench", "--cuda-library", library, "--cublas-library", library, "--repeats", 3, *args, **more)

    def test_what_was_measured_is_what_sizing_goes_by(self):
        rates = self.dir / "rates.csv"
        (gpu,) = json.loads(self.measure("--json", "--save", rates).stdout)
        self.assertEqual(gpu["model"], "A100-80GB")
        median = {figure["rate"]: figure["median"] for figure in gpu["figures"]}
        (listed,) = [g for g in stint_json("catalog", "gpus", "--measured", rates) if g["model"] == gpu["model"]]
        for rate, figure in median.items():
            self.assertAlmostEqual(listed["measured"][rate], figure, delta=0.001 * figure)

    def test_a_second_measurement_is_added_to_the_file(self):
        rates = self.dir / "rates.csv"
        self.measure("--save", rates)
        once = rates.read_text().splitlines()
        self.measure("--save", rates)
        twice = rates.read_text().splitlines()
        self.assertEqual(twice[:len(once)], once)
        self.assertEqual(len(twice) - 1, 2 * (len(once) - 1))

    JOB = """
import os, pathlib, time
name, beside, folder = os.environ["STINT_JOB"], os.environ["STINT_BESIDE"], pathlib.Path(__file__).parent
mark = folder / f"{name}-{os.getpid()}"
mark.touch()

def is_alive(other):
    return other != mark and pathlib.Path("/proc", other.name.rpartition("-")[2]).exists()

if beside and "large" in (name, beside):
    raise SystemExit("CUDA out of memory")
end = time.monotonic() + 60
while beside and not any(is_alive(m) for m in folder.glob(f"{beside}-*")):
    if time.monotonic() > end:
        raise SystemExit("there is nothing beside it")
    time.sleep(0.002)
print("throughput: 1 images/s, warming up")
print(f"throughput: {100 / ({'quick': 1.25, 'slow': 2.5}[name] if beside else 1)} images/s")
"""

    def share(self, *names, **more):
        job = self.dir / "job.py"
        job.write_text(self.JOB)
        jobs = [flag for name in names for flag in ("--job", f"{name}={sys.executable} {job}")]
        return stint("bench", "share", *jobs, "--rate-after", "throughput", "--repeats", 1, "--cuda-library", os.environ["STINT_FAKE_CUDA"],
                     "--mode", "mps", *more.pop("flags", []), **more)

    def test_pairs_of_jobs_are_measured_beside_each_other(self):
        pairs = self.dir / "pairs.csv"
        told = json.loads(self.share("quick", "slow", flags=["--json", "--save", pairs]).stdout)
        self.assertEqual((told["gpu_model"], told["mode"]), ("A100-80GB", "mps"))
        self.assertEqual({(p["workload"], p["neighbour"]): round(p["slowed"]["median"], 9) for p in told["pairs"]},
                         {("quick", "quick"): 1.25, ("quick", "slow"): 1.25, ("slow", "quick"): 2.5, ("slow", "slow"): 2.5})
        self.assertEqual(len(pairs.read_text().splitlines()), 5)
        self.share("quick", "slow", flags=["--save", pairs])
        self.assertEqual(len(pairs.read_text().splitlines()), 9, "added")

    def test_pairs_that_do_not_fit_are_told(self):
        done = self.share("quick", "large", flags=["--json"])
        self.assertIn("CUDA out of memory", done.stderr)
        told = {(p["workload"], p["neighbour"]): "slowed" in p for p in json.loads(done.stdout)["pairs"]}
        self.assertEqual(told, {("quick", "quick"): True, ("quick", "large"): False, ("large", "quick"): False, ("large", "large"): False})
        self.assertIn("expected NAME=COMMAND", stint("bench", "share", "--job", "search", "--gpu-model", "L4", code=1).stderr)

    def test_without_a_driver_it_says_which_library_is_missing(self):
        done = stint("bench", "--cuda-library", self.dir / "libcuda.so.1", code=1)
        self.assertIn("libcuda.so.1", done.stderr)


if __name__ == "__main__":
    STINT, SOURCE, SHARED = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
