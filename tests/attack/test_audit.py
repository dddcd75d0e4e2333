#!/usr/bin/env python3
"""Somebody who may write the audit log's database takes records away and computes every hash behind them anew: it shows.

Usage: test_audit.py STINT SOURCE_DIR [SUITE]
"""
import hashlib
import json
import sqlite3
import subprocess
import sys

from tenants import Attack, main


class Forgery(Attack):
    def verify(self, *flags):
        return subprocess.run([self.STINT, "audit-log", "verify", *flags], env=self.daemon.environment(), capture_output=True, text=True,
                              timeout=60, check=False)

    def forge(self, drop):
        """Without the records `drop`, renumbered and chained anew, as the format's description says."""
        with sqlite3.connect(self.folder / "state" / "govern.db") as db:
            rows = [r for r in db.execute("SELECT sequence, client, record FROM audit ORDER BY sequence") if r[0] not in drop]
            db.execute("DELETE FROM audit")
            previous = ""
            for number, (_, client, record) in enumerate(rows, 1):
                record = json.dumps(dict(json.loads(record), sequence=number), separators=(",", ":"))
                previous = hashlib.sha256(f"{previous}\n{record}".encode()).hexdigest()
                db.execute("INSERT INTO audit VALUES (?, ?, ?, ?)", (number, client, record, previous))
        return len(rows)

    def records(self):
        for i in range(30):
            self.daemon.stint("token", "make", "--note", f"number {i}")

    def restart(self):
        self.daemon.start()
        return (self.folder / "daemon.log").read_text().rpartition("listening on")[2]

    def test_records_taken_away_and_hashes_computed_anew(self):
        self.start("--insecure-shared-user")
        self.records()
        self.assertIn("kept outside of the log say", self.verify().stdout)
        self.daemon.stop()
        self.forge({5, 9, 13, 17, 21})
        self.assertIn("is not what its signed heads say", self.restart())
        said = self.verify()
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("the last ones were removed", said.stderr)
        # Going on until there are as many again does not make it good.
        self.records()
        said = self.verify()
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("is not the one that was there on", said.stderr)

    def test_the_end_cut_off(self):
        self.start("--insecure-shared-user")
        self.records()
        self.daemon.stop()
        heads = (self.folder / "state" / "audit-heads.jsonl").read_text()
        left = self.forge(set(range(20, 1000)))
        self.assertEqual(left, 19)
        self.restart()
        said = self.verify()
        self.assertEqual(said.returncode, 1, said.stdout)
        # Heads that were kept elsewhere, with their key, prove it on an export, too.
        (self.folder / "kept.jsonl").write_text(heads)
        self.daemon.stint("audit-log", "export", "-o", self.folder / "export.jsonl")
        said = self.verify("--file", str(self.folder / "export.jsonl"), "--heads", str(self.folder / "kept.jsonl"), "--heads-key",
                           str(self.folder / "state" / "audit.key"))
        self.assertEqual(said.returncode, 1, said.stdout)

    def test_a_head_made_without_the_key(self):
        self.start("--insecure-shared-user")
        self.records()
        self.daemon.stop()
        path = self.folder / "state" / "audit-heads.jsonl"
        lines = path.read_text().splitlines()
        forged = json.loads(lines[-1])
        forged["records"] -= 5
        path.write_text("\n".join(lines[:-1] + [json.dumps(forged, separators=(",", ":"))]) + "\n")
        with self.assertRaises(Exception):
            self.daemon.start(seconds=10)
        self.assertIn("not signed with this key", (self.folder / "daemon.log").read_text())


if __name__ == "__main__":
    main(sys.modules[__name__])
