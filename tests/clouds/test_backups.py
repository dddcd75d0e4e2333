#!/usr/bin/env python3
"""Backups of a daemon in object stores (moto and Azurite, signatures checked; fake-gcs-server): made, refused, damaged, restored.

Usage: test_backups.py STINT_BINARY SOURCE_DIR. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import peers
from running_daemon import RunningDaemon

STINT = SOURCE = None
FLEET = {"nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "cpu_milli": 64000, "memory": "512GiB", "per_hour": "16"}],
         "queues": [{"name": "acme"}]}


class Backup(unittest.TestCase):
    make_peer, base = peers.Moto, "s3://bucket/"

    @classmethod
    def setUpClass(cls):
        missing = peers.missing_of(SOURCE, *cls.needs)
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)} is not there: run scripts/setup-cloud-peers")
        cls.peer = cls.make_peer(SOURCE)
        cls.addClassCleanup(cls.peer.stop)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        daemon = RunningDaemon(STINT, self.folder, FLEET)
        daemon.stop()
        self.state, self.config = daemon.state, daemon.config
        self.url = f"{self.base}{self._testMethodName}/backup.tar"

    def stint(self, *arguments, code=0):
        done = subprocess.run([STINT, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, **self.peer.env, "HOME": str(self.folder)})
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def backup(self, *more, code=0):
        return self.stint("backup", "--state", self.state, "--config", self.config, *more, code=code)

    def left_over(self):
        return [path.name for path in self.folder.iterdir() if ".backup-" in path.name]

    def test_what_is_saved_comes_back(self):
        manifest = json.loads(self.backup("--json", self.url).stdout)
        self.assertEqual(json.loads(self.stint("restore", "--check", "--json", self.url).stdout), manifest)
        self.stint("restore", self.url, "--state", self.folder / "again")
        names = {file["name"] for file in manifest["files"]}
        self.assertTrue({"events.db", "govern.db", "config.json"} <= names, names)
        self.assertTrue(names <= {path.name for path in (self.folder / "again").iterdir()})
        self.assertEqual(self.left_over(), [])
        self.assertIn("is there already: name a new object", self.backup(self.url, code=1).stderr)


class Backups(Backup):
    needs = ["moto"]

    def test_what_is_damaged_or_not_there_is_refused(self):
        self.backup(self.url)
        key = self.url.removeprefix("s3://bucket/")
        body = bytearray(self.peer.s3.get_object(Bucket="bucket", Key=key)["Body"].read())
        body[len(body) // 2] ^= 1
        self.peer.s3.put_object(Bucket="bucket", Key=key, Body=bytes(body))
        self.assertIn("checksum", self.stint("restore", self.url, "--state", self.folder / "never", code=1).stderr)
        self.assertFalse((self.folder / "never").exists())
        self.stint("restore", "--check", "s3://bucket/none.tar", code=1)
        self.assertIn("names a folder: give the backup's own name", self.backup("s3://bucket/folder/", code=1).stderr)
        self.assertIn("--kms-key is for backups in an object store", self.backup("--kms-key", "k", self.folder / "a.tar", code=1).stderr)
        self.assertEqual(self.left_over(), [])

    def test_a_key_of_the_key_service_encrypts_it(self):
        self.backup("--kms-key", "alias/books", self.url)
        head = self.peer.s3.head_object(Bucket="bucket", Key=self.url.removeprefix("s3://bucket/"))
        self.assertEqual((head["ServerSideEncryption"], head["SSEKMSKeyId"]), ("aws:kms", "alias/books"))
        self.stint("restore", "--check", self.url)


class Google(Backup):
    make_peer, base, needs = peers.FakeGcs, "gs://bucket/", ["gcs"]


class Azure(Backup):
    make_peer, base, needs = peers.Azurite, f"az://{peers.ACCOUNT}/bucket/", ["azurite"]


del Backup  # its tests are run as those of the classes above


if __name__ == "__main__":
    STINT, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    peers.need(SOURCE, "moto")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
