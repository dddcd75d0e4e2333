#!/usr/bin/env python3
"""Names that hold escapes of terminals: they are shown, not sent to whoever looks.

Usage: test_output.py STINT SOURCE_DIR [SUITE]
"""
import subprocess
import sys

from tenants import Attack, main
from running_daemon import RunningDaemon  # found beside the folder of tenants

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
C1 = "\u009b31m"


class Escapes(Attack):
    def printed(self, *arguments):
        done = self.daemon.stint(*arguments, check=False)
        for name, text in (("output", done.stdout), ("errors", done.stderr)):
            bad = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0]
            self.assertEqual(bad, [], f"{arguments} {name}: {text!r}")
        return done.stdout

    def test_of_another_users_job_are_shown(self):
        self.daemon = RunningDaemon(self.STINT, self.folder, self.CONFIG)
        self.addCleanup(self.daemon.stop)
        job = self.daemon.ask("POST", "/v1/jobs", {
            "queue": "acme", "command": ["sh", ESCAPE, C1], "name": "train" + C1, "cpu_milli": 100, "on_hold": True, "folder": "/" + ESCAPE + C1,
            "output_path": "/" + ESCAPE, "tags": {"project": C1}})["id"]
        for command in (["queue"], ["queue", "--wide"], ["show", job], ["why", job], ["top", "--once"], ["audit-log", "list"], ["logs", job]):
            with self.subTest(command):
                self.printed(*command)
        self.assertIn("owned", self.printed("show", job))

    def test_in_messages_are_shown(self):
        self.daemon = RunningDaemon(self.STINT, self.folder, self.CONFIG)
        self.addCleanup(self.daemon.stop)
        for command in (["show", ESCAPE + C1], ["submit", "--queue", ESCAPE + C1, "--", "true"], ["queue", "--" + ESCAPE], [ESCAPE + C1],
                        ["audit", "--history", "/" + ESCAPE + C1], ["import", "focus", "/" + ESCAPE + C1], ["nodes", "drain", C1]):
            with self.subTest(command):
                self.printed(*command)

    def test_of_a_bill_are_shown(self):
        bill = self.folder / "bill.csv"
        bill.write_text("BilledCost,EffectiveCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ResourceId,ServiceName,ProviderName,ChargeCategory,"
                        "SubAccountName,RegionId,ResourceName,ConsumedQuantity,ConsumedUnit,BillingPeriodStart,BillingPeriodEnd,SkuId,ChargeDescription\n"
                        f"5,5,USD,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,i-{ESCAPE},EC2{C1},AWS,Usage,acme{ESCAPE},us-east-1,n{C1},1,Hours,"
                        f"2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,s,{ESCAPE}\n")
        for command in (["import", "focus", bill, "--history", "h.db"], ["audit", "--history", "h.db", "--month", "2026-10"],
                        ["bill", "--history", "h.db", "--month", "2026-10"], ["history", "imports", "h.db"]):
            done = subprocess.run([self.STINT, *command], cwd=self.folder, capture_output=True, timeout=120, check=False)
            text = (done.stdout + done.stderr).decode("utf-8")
            bad = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0]
            self.assertEqual(bad, [], f"{command}: {text!r}")


if __name__ == "__main__":
    main(sys.modules[__name__])
