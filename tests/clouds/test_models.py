#!/usr/bin/env python3
"""`stint serve run` on a model repository in an object store: moto (signatures checked), fake-gcs-server, Azurite.

Usage: test_models.py STINT OBJECT_TOOL SOURCE_DIR. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import peers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
from running_server import RunningServer, synthetic  # noqa: E402

STINT = TOOL = SOURCE = None


class Stored:
    """What every store must do; suites below say which."""
    make_peer = base = None

    @classmethod
    def setUpClass(cls):
        cls.peer = cls.make_peer(SOURCE)

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.place = f"{self.base}{self._testMethodName}/models"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.peer.env}
        self.sums = {}

    def upload(self, path, text):
        (self.folder / "file").write_text(text)
        subprocess.run([TOOL, "put", f"{self.place}/{path}", self.folder / "file"], env=self.environment, check=True, timeout=60)

    def put(self, path, text):
        self.upload(path, text)
        self.sums[path] = hashlib.sha256(text.encode()).hexdigest()
        self.upload("SHA256SUMS", "".join(f"{sha256}  {name}\n" for name, sha256 in self.sums.items()))

    def serve(self):
        server = RunningServer(STINT, self.place, arguments=("--model-copies", str(self.folder / "copies")), environment=self.environment,
                               controlled=True)
        self.addCleanup(server.stop)
        return server

    def test_versions_come_with_a_load_and_only_what_the_hash_says(self):
        self.put("echo/1/model.synthetic.json", json.dumps(synthetic()))
        self.put("echo/model.json", '{"max_batch": 4}')
        server = self.serve()
        self.assertEqual(server.infer("echo", [[1, 2, 3, 4]])[0], 200)
        self.put("echo/2/model.synthetic.json", json.dumps(synthetic(base_us=1)))

        def load():
            return server.ask("POST", "/v2/repository/models/echo/load", {}, headers=server.CONTROL)
        self.assertEqual(load()[0], 200)
        self.assertEqual(json.loads(server.ask("GET", "/v2/models/echo")[1])["versions"], ["2"])
        self.upload("echo/2/model.synthetic.json", json.dumps(synthetic(base_us=2)))  # not what SHA256SUMS says; the copy is what it was
        self.assertEqual(load()[0], 200)
        self.put("echo/3/model.synthetic.json", json.dumps(synthetic(base_us=3)))
        self.upload("echo/3/model.synthetic.json", json.dumps(synthetic(base_us=4)))
        status, body = load()
        self.assertEqual(status, 400, body)
        self.assertIn(b"its bytes are not those that were saved", body)
        self.assertEqual(json.loads(server.ask("GET", "/v2/models/echo")[1])["versions"], ["2"])


class S3(Stored, unittest.TestCase):
    make_peer, base = peers.Moto, "s3://bucket/"


class Google(Stored, unittest.TestCase):
    make_peer, base = peers.FakeGcs, "gs://bucket/"


class Azure(Stored, unittest.TestCase):
    make_peer, base = peers.Azurite, f"az://{peers.ACCOUNT}/bucket/"


if __name__ == "__main__":
    STINT, TOOL, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    peers.need(SOURCE, "moto", "gcs", "azurite")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
