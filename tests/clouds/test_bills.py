#!/usr/bin/env python3
"""`stint import` of bills that lie in an object store, against moto (signatures checked).

Usage: test_bills.py STINT SOURCE_DIR. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import peers

STINT = SOURCE = None
HEADER = ("line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,line_item_currency_code,"
          "line_item_usage_type,bill_payer_account_id,line_item_resource_id,bill_billing_period_start_date,identity_line_item_id\n")


def cur(month, machines, cost):
    return HEADER + "".join(
        f"Usage,2026-{month:02}-0{day}T00:00:00Z,2026-{month:02}-0{day + 1}T00:00:00Z,{cost},USD,USE1-BoxUsage:p4d.24xlarge,4711,i-{m},"
        f"2026-{month:02}-01T00:00:00Z,line-{m}-{day}\n" for m in machines for day in range(1, 8))


class Bills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = peers.Moto(SOURCE)

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stint-bills-", dir=self.peer.dir))
        self.temporary = self.dir / "tmp"
        self.temporary.mkdir()
        self.base = f"billing/{self._testMethodName}"

    def put(self, key, text):
        self.peer.s3.put_object(Bucket="bucket", Key=f"{self.base}/{key}", Body=text if isinstance(text, bytes) else text.encode())

    def gets(self):
        """Keys below the test's folder that were read since it was last asked."""
        paths = [urllib.parse.unquote(path.split("?")[0]) for method, path in self.peer.front.requests if method == "GET"]
        found = [path.removeprefix(f"/bucket/{self.base}/") for path in paths if path.startswith(f"/bucket/{self.base}/")]
        self.peer.front.requests.clear()
        return sorted(found)

    def stint(self, *words, env=None):
        return subprocess.run([STINT, *map(str, words)], text=True, capture_output=True, timeout=120,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.dir), "TMPDIR": str(self.temporary), **self.peer.env, **(env or {})})

    def imported(self, what="", kind="cur"):
        done = self.stint("import", kind, f"s3://bucket/{self.base}{what}", "--history", self.dir / "fleet.db", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [], "nothing that was fetched is left")
        return json.loads(done.stdout)

    def billed(self, month):
        done = self.stint("history", "imports", self.dir / "fleet.db", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(float(bill["billed"]) for one in json.loads(done.stdout)["imports"] for bill in one["bills"]
                   if bill["superseded_by"] is None and bill["billing"]["begin"].startswith(month))

    def export(self, month, parts):
        """As Data Exports deliver: data by billing period, a manifest beside each."""
        names = []
        for name, text in parts.items():
            key = f"data/BILLING_PERIOD=2026-{month:02}/{name}"
            self.put(key, gzip.compress(text.encode(), mtime=0))
            names.append(f"s3://bucket/{self.base}/{key}")
        self.put(f"metadata/BILLING_PERIOD=2026-{month:02}/export-Manifest.json", json.dumps({"dataFiles": names}))

    def test_a_month_that_changed_is_fetched_and_takes_the_place_of_the_one_before(self):
        self.export(9, {"1.csv.gz": cur(9, [1], 10), "2.csv.gz": cur(9, [2], 10)})
        self.export(10, {"1.csv.gz": cur(10, [1], 10)})
        first = self.imported()
        self.assertEqual([(one["accepted"], one["already_there"]) for one in first], [(14, False), (7, False)])
        self.assertEqual((self.billed("2026-09"), self.billed("2026-10")), (140, 70))
        self.assertIn("BILLING_PERIOD=2026-09", first[0]["source"])
        self.gets()
        self.assertTrue(all(one["already_there"] for one in self.imported()))
        self.assertEqual([key for key in self.gets() if key.startswith("data/")], [], "nothing changed, nothing is fetched")
        self.export(10, {"1.csv.gz": cur(10, [1], 11)})
        again = self.imported()
        self.assertEqual([one["already_there"] for one in again], [True, False])
        self.assertEqual(len(again[1]["replaced"]), 1)
        self.assertEqual([key for key in self.gets() if key.startswith("data/")], ["data/BILLING_PERIOD=2026-10/1.csv.gz"])
        self.assertEqual((self.billed("2026-09"), self.billed("2026-10")), (140, 77))

    def test_what_comes_later_is_imported_too(self):
        self.export(9, {"1.csv.gz": cur(9, [1], 10)})
        down = threading.Event()
        denied = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        proxy = peers.Through(self.peer.port, lambda *_: (403, [], denied) if down.is_set() else None, self.peer.verify)
        self.addCleanup(proxy.stop)
        with open(self.dir / "log", "w") as log:
            process = subprocess.Popen([STINT, "import", "cur", f"s3://bucket/{self.base}", "--history", self.dir / "fleet.db", "--watch",
                                        "--every", "1s"], stdout=log, stderr=subprocess.STDOUT,
                                       env={"PATH": os.environ["PATH"], "HOME": str(self.dir), **self.peer.env,
                                            "AWS_ENDPOINT_URL_S3": proxy.url})
        try:
            self.wait_for(process, lambda text: "7 accepted" in text)
            self.export(10, {"1.csv.gz": cur(10, [1], 10)})
            self.wait_for(process, lambda text: text.count("7 accepted") == 2)
            down.set()  # what goes wrong is told, and does not end it
            self.wait_for(process, lambda text: "tried again in 1s" in text)
            down.clear()
            self.export(10, {"1.csv.gz": cur(10, [1], 11)})
            self.wait_for(process, lambda text: "in the place of import" in text)
        finally:
            process.terminate()
            self.assertEqual(process.wait(120), 0)
        self.assertNotIn("already imported", (self.dir / "log").read_text())
        self.assertEqual((self.billed("2026-09"), self.billed("2026-10")), (70, 77))

    def wait_for(self, process, condition):
        end = time.monotonic() + 120
        while not condition((self.dir / "log").read_text()):
            self.assertIsNone(process.poll(), (self.dir / "log").read_text())
            self.assertLess(time.monotonic(), end, (self.dir / "log").read_text())
            time.sleep(0.05)

    def test_watching_needs_a_store(self):
        done = self.stint("import", "cur", "bill.csv", "--history", self.dir / "none.db", "--watch")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--watch is for a cluster", done.stderr)

    def test_a_manifest_names_its_files(self):
        self.export(10, {"1.csv.gz": cur(10, [1], 10), "2.csv.gz": cur(10, [2], 10)})
        self.put("data/BILLING_PERIOD=2026-10/old.csv.gz", gzip.compress(cur(10, [1, 2], 9).encode()))
        self.assertEqual(self.imported("/metadata/BILLING_PERIOD=2026-10/export-Manifest.json")[0]["accepted"], 14)
        self.assertEqual(self.billed("2026-10"), 140)
        self.peer.s3.delete_object(Bucket="bucket", Key=f"{self.base}/data/BILLING_PERIOD=2026-10/2.csv.gz")
        done = self.stint("import", "cur", f"s3://bucket/{self.base}/metadata/BILLING_PERIOD=2026-10/export-Manifest.json", "--history",
                          self.dir / "fleet.db")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"s3://bucket/{self.base}/data/BILLING_PERIOD=2026-10/2.csv.gz, which cannot be had", done.stderr)

    def test_an_object_and_a_folder_without_a_manifest(self):
        self.put("plain/1.csv", cur(10, [1], 10))
        self.put("plain/2.csv", cur(10, [2], 10))
        self.put("plain/_SUCCESS", "")
        self.assertEqual(self.imported("/plain/1.csv")[0]["accepted"], 7)
        self.assertEqual(self.billed("2026-10"), 70)
        # The whole delivery takes the place of its part: it holds the same charges, and more.
        self.assertEqual(self.imported("/plain/")[0]["accepted"], 14)
        self.assertEqual(self.billed("2026-10"), 140)

    def test_errors_name_the_object_and_what_to_do(self):
        history = self.dir / "none.db"
        self.put("plain/1.csv", cur(10, [1], 10))
        for url, words in ((f"s3://bucket/{self.base}/nothing", "neither an object nor a folder"),
                           (f"s3://bucket/{self.base}/pla", "name the folder whole"),
                           (f"s3://no-such-bucket/{self.base}", "NoSuchBucket"),
                           ("s3://", "bucket")):
            with self.subTest(url=url):
                done = self.stint("import", "cur", url, "--history", history)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
                self.assertFalse(history.exists())
        done = self.stint("import", "cur", f"s3://bucket/{self.base}/plain", "--history", history, env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.assertIn("credentials are not accepted", done.stderr)
        self.put("plain/1.csv", "no,bill\n1,2\n")
        done = self.stint("import", "cur", f"s3://bucket/{self.base}/plain/1.csv", "--history", history)
        self.assertIn(f"s3://bucket/{self.base}/plain/1.csv", done.stderr)
        self.put("plain/1.csv", cur(10, [1], 10).replace(",10,USD", ",ten,USD", 1))
        done = self.stint("import", "cur", f"s3://bucket/{self.base}/plain/1.csv", "--history", history)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"s3://bucket/{self.base}/plain/1.csv:2:", done.stderr)

    def test_other_formats_are_an_import_an_object(self):
        for day in (1, 2):
            self.put(f"rates/{day}.csv", f"date,base,currency,rate\n2026-10-0{day},USD,EUR,0.9\n")
        done = self.imported("/rates", "exchange-rates")
        self.assertEqual([one["accepted"] for one in done], [1, 1])


if __name__ == "__main__":
    STINT, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    peers.need(SOURCE, "moto")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
