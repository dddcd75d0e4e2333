#!/usr/bin/env python3
"""The daemon and the inference server through TLS, with answers and uploads far longer than a TLS record (16 KiB).

Usage: test_https.py STINT SOURCE_DIR. With Python's own TLS, with the real client, and in Chromium where there is one.
"""
import contextlib
import gzip
import http.client
import json
import pathlib
import re
import signal
import ssl
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
from browser import CHROMIUM, Browser  # noqa: E402
from running_daemon import Certificate, RunningDaemon  # noqa: E402
from running_server import RunningServer, synthetic  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
SOURCE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()
FLEET = {"nodes": [{"name": "n0", "gpu_model": "L4", "gpus": 1, "cpu_milli": 8000, "per_hour": "1"}], "queues": [{"name": "acme"}],
         "audit_log": {"reads_per_minute": 0}}  # each read has its record: what is tested is that all of many arrive


class Connection:
    """One connection that is kept: everything asked goes over it, one after the other."""

    def __init__(self, url, certificate, token=None):
        self._connection = http.client.HTTPSConnection(url.partition("://")[2], timeout=60, context=certificate.trust())
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection.connect()
        self._connection.auto_open = False  # one that the server has closed is an error

    def ask(self, method, target, body=None, **headers):
        self._connection.request(method, target, body, {**self._headers, **headers})
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status == 200, (target, answer.status, text[:500])
        assert len(text) == int(answer.headers["Content-Length"]), target
        return text

    def close(self):
        self._connection.close()


class Daemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.certificate = Certificate(cls.temporary.name)
        cls.daemon = RunningDaemon(STINT, cls.temporary.name, FLEET, certificate=cls.certificate)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        cls.temporary.cleanup()

    def connect(self):
        connection = Connection(self.daemon.url, self.certificate, self.daemon.token)
        self.addCleanup(connection.close)
        return connection

    def test_the_contract_and_the_page_s_files_arrive_whole(self):
        connection = self.connect()
        contract = connection.ask("GET", "/openapi.json")
        self.assertGreater(len(contract), 32 << 10)
        self.assertIn("/v1/jobs", json.loads(contract)["paths"])
        index = connection.ask("GET", "/").decode()
        files = re.findall(r'(?:src|href)="(/page/[^"]+)"', index)
        self.assertTrue(any(path.endswith("/uplot.min.js") for path in files), files)
        for path in files:
            name = path.rsplit("/", 1)[1]
            source = next(folder / name for folder in (SOURCE / "page", SOURCE / "third_party/uplot") if (folder / name).exists())
            self.assertEqual(connection.ask("GET", path), source.read_bytes(), name)
            self.assertEqual(gzip.decompress(connection.ask("GET", path, **{"Accept-Encoding": "gzip"})), source.read_bytes(), name)

    def test_an_audit_of_mebibytes_goes_up_and_comes_back(self):
        connection = self.connect()
        audit = {"schema": "stint-audit/1", "findings": [{"id": f"f{i}", "title": f"Finding {i}", "evidence": f"{i:06} " * 140}
                                                         for i in range(3000)]}
        text = json.dumps(audit).encode()
        self.assertGreater(len(text), 2 << 20)
        for _ in range(3):
            connection.ask("PUT", "/v1/findings", text, **{"Content-Type": "application/json"})
            self.assertEqual(json.loads(connection.ask("GET", "/v1/findings"))["audit"], audit)

    def test_the_audit_log_s_export_is_complete(self):
        connection = self.connect()
        for i in range(1200):  # more than a page of the export, of records that are long
            connection.ask("GET", f"/v1/jobs?limit=1&name={i:04}" + "x" * 200)
        records = [json.loads(line) for line in self.daemon.stint("audit-log", "list", "--json").stdout.splitlines()]
        seen = [found.group(1) for record in records if (found := re.search(r"name=(\d{4})x", record["target"]))]
        self.assertEqual(seen, [f"{i:04}" for i in range(1200)])
        self.daemon.stint("audit-log", "verify")

    @unittest.skipUnless(CHROMIUM, "no Chromium")
    def test_the_page_has_its_chart_library_in_a_browser(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, contextlib.closing(Browser(profile)) as browser:
            browser.call("Security.setIgnoreCertificateErrors", ignore=True)
            browser.open(self.daemon.url + "/")
            self.assertEqual(browser.value("typeof uPlot"), "function")


class Inference(unittest.TestCase):
    def test_large_tensors_go_both_ways(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate = Certificate(folder)
            numbers = 400_000  # 1.6 MB as FP32, about 3 MB as JSON
            server = RunningServer(STINT, pathlib.Path(folder) / "models", {"echo": {1: synthetic((numbers,))}},
                                   {"echo": {"max_batch": 1}}, certificate.flags)
            self.addCleanup(server.stop)
            self.assertTrue(server.url.startswith("https://"), server.url)
            connection = Connection(server.url, certificate)
            self.addCleanup(connection.close)
            values = [float(i % 1000) for i in range(numbers)]
            packed = struct.pack(f"<{numbers}f", *values)
            tensor = {"name": "x", "shape": [1, numbers], "datatype": "FP32"}
            for _ in range(3):
                head = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": len(packed)}}],
                                   "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}).encode()
                answer = connection.ask("POST", "/v2/models/echo/infer", head + packed, **{"Inference-Header-Content-Length": str(len(head))})
                self.assertEqual(answer[-len(packed):], packed)
                answer = json.loads(connection.ask("POST", "/v2/models/echo/infer", json.dumps({"inputs": [{**tensor, "data": values}]})))
                self.assertEqual(answer["outputs"][0]["data"], values)

    def test_renewed_certificates_are_taken_over_without_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate = Certificate(folder)
            server = RunningServer(STINT, pathlib.Path(folder) / "models", {"echo": {1: synthetic()}}, arguments=certificate.flags)
            self.addCleanup(server.stop)
            shown = lambda: ssl.get_server_certificate(("127.0.0.1", server.port))  # noqa: E731
            self.assertEqual(shown(), pathlib.Path(certificate.certificate).read_text())
            old = Connection(server.url, certificate)
            self.addCleanup(old.close)
            old.ask("GET", "/v2")
            renewed = Certificate(folder)
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("certificates taken over", server.process.stderr.readline())
            server.wait_for(lambda: shown() == pathlib.Path(renewed.certificate).read_text())
            old.ask("GET", "/v2")  # what is open goes on
            pathlib.Path(renewed.key).write_text("no key")
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("certificates not taken over", server.process.stderr.readline())
            self.assertEqual(shown(), pathlib.Path(renewed.certificate).read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
