#!/usr/bin/env python3
"""Somebody who may write the audit log's database takes records away and computes every hash behind them anew: it shows, by heads that
are kept elsewhere and by records that were sent to syslog.

Usage: test_audit.py STINT SOURCE_DIR [SUITE]
"""
import hashlib
import json
import re
import socket
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


class Collector:
    """Takes syslog over TCP, each line behind its length (RFC 6587)."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.socket.getsockname()[1]}"

    def lines(self, enough):
        """Of one connection, until it ends or enough(lines so far)."""
        self.socket.settimeout(120)
        connection, _ = self.socket.accept()
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(120)
            got = []
            while not enough(got):
                length = b""
                while (byte := stream.read(1)).isdigit():
                    length += byte
                if not length:
                    break
                got.append(stream.read(int(length)).decode())
            return got


class ToSyslog(Attack):
    """What was sent away when it happened convicts whoever changes the log, and its heads, and has the key."""

    def setUp(self):
        super().setUp()
        self.start("--insecure-shared-user")
        self.collector = Collector()
        self.addCleanup(self.collector.socket.close)

    def sent(self, *flags):
        done = subprocess.Popen([self.STINT, "audit-log", "export", "--to", self.collector.address, "--position", str(self.folder / "position"), *flags],
                                env=self.daemon.environment())
        self.addCleanup(done.wait)
        self.addCleanup(done.kill)
        return done

    @staticmethod
    def of(line):
        """The record's number and the message."""
        found = re.fullmatch(r'<(10[89]|110)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z \S+ stint - \S+ \[stint@32473 sequence="(\d+)".*?[^\\]\] (\{.*\})', line)
        assert found, line
        return int(found[2]), found[3]

    def test_each_record_once_and_the_chain_holds(self):
        for i in range(3):
            self.daemon.stint("token", "make", "--note", f'] "{i}" \\ <13>1')
        done = self.sent()
        first = self.collector.lines(lambda got: False)
        self.assertEqual(done.wait(60), 0)
        self.daemon.stint("token", "make", "--note", "later")
        done = self.sent()
        second = self.collector.lines(lambda got: False)
        self.assertEqual(done.wait(60), 0)
        records = [self.of(line) for line in first + second]
        self.assertEqual([number for number, _ in records], list(range(1, len(records) + 1)))
        kept = self.folder / "kept.jsonl"
        kept.write_text("".join(message + "\n" for _, message in records))
        self.assertIn(f"{len(records)} records, each follows", self.daemon.stint("audit-log", "verify", "--file", kept).stdout)
        del records[4]
        kept.write_text("".join(message + "\n" for _, message in records))
        said = self.daemon.stint("audit-log", "verify", "--file", kept, check=False)
        self.assertIn("record 5: it follows another record than the one before it", said.stderr)

    def test_what_comes_is_sent_when_it_comes(self):
        self.sent("--follow")
        self.daemon.stint("token", "make", "--note", "meanwhile")
        lines = self.collector.lines(lambda got: any('target="/v1/tokens"' in line for line in got))
        self.assertEqual([self.of(line)[0] for line in lines], list(range(1, len(lines) + 1)))


if __name__ == "__main__":
    main(sys.modules[__name__])
