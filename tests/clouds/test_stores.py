#!/usr/bin/env python3
"""Object stores against their stand-ins: moto (signatures checked), Azurite, fake-gcs-server.

Usage: test_stores.py OBJECT_TOOL SOURCE_DIR SUITE. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

import peers

TOOL = SOURCE = None
MIB = 1 << 20


class Store(unittest.TestCase):
    """What every store must do; suites below set `peer`, `env` and `base`."""
    env, base = {}, None

    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.dir = pathlib.Path(self._dir.name)

    def tool(self, *words, env=None, **options):
        return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=300,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.dir), **self.env, **(env or {})}, **options)

    def ok(self, *words, env=None):
        done = self.tool(*words, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def file(self, name, size, seed=1):
        path = self.dir / name
        path.write_bytes(random.Random(seed).randbytes(size))
        return path

    @staticmethod
    def sha(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def url(self, key):
        return self.base + f"{self._testMethodName}/" + key

    def comes_back(self, url, path):
        target = self.dir / "back"
        self.ok("get", url, target, self.sha(path), path.stat().st_size)
        self.assertEqual(target.read_bytes(), path.read_bytes())

    def test_what_is_put_comes_back(self):
        for size in (0, 1, 3 * MIB):
            path = self.file("f", size)
            self.ok("put", self.url("a b/f"), path)
            self.comes_back(self.url("a b/f"), path)
            self.assertEqual(self.ok("head", self.url("a b/f")).split()[:2], [str(size), self.sha(path)])

    def signing(self):
        """Variables with which addresses are signed."""
        return {}

    def read(self, address):
        """(status, body)"""
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, b""

    def test_whoever_has_its_address_reads_it(self):
        for key in ("a b/f", "plus+and space", "ümlaut/日本"):
            path = self.file("f", 1000)
            self.ok("put", self.url(key), path, env=self.signing())
            self.assertEqual(self.read(self.ok("link", self.url(key), env=self.signing()).strip()), (200, path.read_bytes()))

    def test_odd_characters_in_keys(self):
        path = self.file("f", 10)
        for key in ("plus+and space", "q?x=1&y#z", "ümlaut/日本", "a%2Fb%", "quote'\"()*!~", "=:@;,$"):
            with self.subTest(key=key):
                self.ok("put", self.url(key), path)
                self.comes_back(self.url(key), path)
                self.assertIn(key, self.ok("list", self.url("")))

    def test_a_large_file_goes_in_parts(self):
        path = self.file("f", 34 * MIB + 12_345)
        self.ok("put", self.url("big"), path)
        self.comes_back(self.url("big"), path)

    def test_listings_go_over_pages(self):
        path = self.file("f", 1)
        for i in range(12):
            self.ok("put", self.url(f"n/{i:03}"), path)
        self.ok("put", self.url("o"), path)
        names = [line.split(" ", 1)[1] for line in self.ok("list", self.url("n/")).splitlines()]
        self.assertEqual(names, [f"{self._testMethodName}/n/{i:03}" for i in range(12)])

    def test_of_two_writers_one_wins(self):
        first, second = self.file("1", 100, 1), self.file("2", 100, 2)
        writers = [subprocess.Popen([TOOL, "put-new", self.url("k"), path], stderr=subprocess.PIPE, text=True,
                                    env={"PATH": os.environ["PATH"], "HOME": str(self.dir), **self.env}) for path in (first, second)]
        codes = []
        for writer in writers:
            writer.communicate(timeout=60)
            codes.append(writer.returncode)
        self.assertEqual(sorted(codes), [0, 2])
        self.comes_back(self.url("k"), first if codes[0] == 0 else second)
        self.assertEqual(self.tool("put-new", self.url("k"), second).returncode, 2)

    def test_what_is_not_there(self):
        self.assertEqual(self.tool("head", self.url("none")).returncode, 3)
        self.assertEqual(self.ok("list", self.url("none")), "")
        self.ok("rm", self.url("none"))
        path = self.file("f", 1)
        self.ok("put", self.url("k"), path)
        self.ok("rm", self.url("k"))
        self.assertEqual(self.tool("head", self.url("k")).returncode, 3)

    def test_other_bytes_are_refused(self):
        path, other = self.file("f", 5000, 1), self.file("g", 5000, 2)
        self.ok("put", self.url("k"), path)
        target = self.dir / "back"
        done = self.tool("get", self.url("k"), target, self.sha(other), 5000)
        self.assertEqual(done.returncode, 4)
        self.assertIn("its bytes are not those that were saved", done.stderr)
        self.assertFalse(target.exists())
        done = self.tool("get", self.url("k"), target, self.sha(path), 6000)
        self.assertEqual(done.returncode, 4)
        self.assertIn("cut off", done.stderr)


class Troubled(Store):
    """What every store must do behind a network that fails; suites say `make_peer`, `endpoint`, `is_part`, `is_completion`."""
    SLOW = b""

    @classmethod
    def setUpClass(cls):
        cls.peer = cls.make_peer(SOURCE)
        cls.env = cls.peer.env

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def through(self, act):
        proxy = peers.Through(self.peer.port, act, getattr(self.peer, "verify", None))
        self.addCleanup(proxy.stop)
        return proxy, self.endpoint(proxy.url)

    def test_throttling_and_lost_answers_are_gone_over(self):
        def act(method, path, number):
            return {1: (503, [], self.SLOW), 2: (500, [], b"<html>"), 3: "cut", 4: "lose"}.get(number)
        proxy, env = self.through(act)
        path = self.file("f", 1000)
        self.ok("put", self.url("k"), path, env=env)
        self.assertEqual(len(proxy.requests), 5)
        self.comes_back(self.url("k"), path)

    def test_throttling_without_end_is_told(self):
        proxy, env = self.through(lambda *_: (503, [("Retry-After", "0")], self.SLOW))
        done = self.tool("list", self.url(""), env={**env, "TRIES": "3"})
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.SLOW_TEXT, done.stderr)
        self.assertEqual(len(proxy.requests), 3)

    def test_a_killed_upload_leaves_nothing_and_the_next_one_is_whole(self):
        path = self.file("f", 21 * MIB)
        parts, killed = [], threading.Event()

        def hold_the_third(method, target, number):
            if not self.is_part(method, target):
                return None
            parts.append(target)
            if len(parts) < 3:
                return None
            killed.wait(60)
            return "cut"
        _, env = self.through(hold_the_third)
        process = subprocess.Popen([TOOL, "put", self.url("big"), path], stderr=subprocess.PIPE, text=True,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.dir), **self.env, **env, "PART_BYTES": str(5 * MIB)})
        end = time.monotonic() + 60
        while len(parts) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed.set()
        self.assertEqual(self.tool("head", self.url("big")).returncode, 3)
        self.ok("put", self.url("big"), path, env={"PART_BYTES": str(5 * MIB)})
        self.comes_back(self.url("big"), path)

    def test_parts_that_are_there_are_not_sent_again(self):
        path = self.file("f", 21 * MIB)
        parts = []

        def stop_after_three(method, target, number):
            if not self.is_part(method, target):
                return None
            parts.append(target)
            return (403, [], b"") if len(parts) > 3 else None
        _, env = self.through(stop_after_three)
        self.assertEqual(self.tool("put", self.url("k"), path, env={**env, "PART_BYTES": str(5 * MIB)}).returncode, 1)
        self.assertEqual(self.tool("head", self.url("k")).returncode, 3)
        self.assertEqual(self.ok("list", self.url("")), "", "nothing of it shows")
        proxy, env = self.through(lambda *_: None)
        self.ok("put", self.url("k"), path, env={**env, "PART_BYTES": str(5 * MIB)})
        sent = [target for method, target in proxy.requests if self.is_part(method, target)]
        self.assertEqual(len(sent), 2, sent)
        self.comes_back(self.url("k"), path)
        self.assertEqual(len(self.ok("list", self.url("")).splitlines()), 1, "and only the whole one does")

    def test_an_answer_to_completion_that_is_lost(self):
        path = self.file("f", 11 * MIB)
        lost = []

        def act(method, target, number):
            if self.is_completion(method, target) and not lost:
                lost.append(target)
                return "lose"
            return None
        for verb in ("put", "put-new"):
            with self.subTest(verb=verb):
                lost.clear()
                _, env = self.through(act)
                self.ok(verb, self.url(verb), path, env={**env, "PART_BYTES": str(5 * MIB)})
                self.assertEqual(len(lost), 1)
                self.comes_back(self.url(verb), path)

    def test_of_two_large_ones_the_second_is_refused(self):
        first, second = self.file("1", 6 * MIB, 1), self.file("2", 6 * MIB, 2)
        self.ok("put-new", self.url("k"), first, env={"PART_BYTES": str(5 * MIB)})
        self.assertEqual(self.tool("put-new", self.url("k"), second, env={"PART_BYTES": str(5 * MIB)}).returncode, 2)
        self.comes_back(self.url("k"), first)

class S3(Troubled):
    base, make_peer = "s3://bucket/", peers.Moto
    SLOW = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
    SLOW_TEXT = "throttled (SlowDown: Please reduce your request rate.), after 3 tries"

    @staticmethod
    def endpoint(url):
        return {"AWS_ENDPOINT_URL_S3": url}

    @staticmethod
    def is_part(method, target):
        return method == "PUT" and "partNumber" in target

    @staticmethod
    def is_completion(method, target):
        return method == "POST" and "uploadId" in target

    def test_wrong_keys_are_named(self):
        path = self.file("f", 1)
        done = self.tool("put", self.url("k"), path, env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("credentials are not accepted (SignatureDoesNotMatch", done.stderr)
        self.assertIn("the keys come from the environment", done.stderr)
        done = self.tool("list", self.url(""), env={"AWS_ACCESS_KEY_ID": "AKIANONE"})
        self.assertIn("credentials are not accepted (Invalid", done.stderr)
        done = self.tool("list", self.url(""), env={"AWS_ACCESS_KEY_ID": ""})
        self.assertIn("no AWS credentials", done.stderr)
        self.assertNotIn(self.env["AWS_SECRET_ACCESS_KEY"], done.stderr)

    def test_a_bucket_that_does_not_exist(self):
        done = self.tool("list", "s3://no-such-bucket/x")
        self.assertEqual(done.returncode, 3)
        self.assertIn("NoSuchBucket", done.stderr)

    def test_a_bucket_of_another_region_is_found(self):
        moved = b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong region</Message><Region>eu-north-1</Region></Error>"
        proxy, env = self.through(lambda method, path, number: (400, [], moved) if number == 1 else None)
        self.ok("list", self.url(""), env=env)
        self.assertEqual(len(proxy.requests), 2)


class Google(Troubled):
    base, make_peer = "gs://bucket/", peers.FakeGcs
    SLOW = b'{"error":{"code":503,"message":"Slow down.","errors":[{"reason":"rateLimitExceeded"}]}}'
    SLOW_TEXT = "throttled (rateLimitExceeded: Slow down.), after 3 tries"

    @staticmethod
    def endpoint(url):
        return {"STORAGE_EMULATOR_HOST": url}

    @staticmethod
    def is_part(method, target):
        return method == "POST" and target.startswith("/upload/")

    @staticmethod
    def is_completion(method, target):
        return method == "POST" and "/compose" in target

    def test_more_parts_than_one_call_joins(self):
        path = self.file("f", 35 * 256 * 1024 + 7)
        self.ok("put", self.url("k"), path, env={"PART_BYTES": str(256 * 1024)})
        self.comes_back(self.url("k"), path)
        with urllib.request.urlopen(f"{self.peer.url}/storage/v1/b/bucket/o?prefix={self._testMethodName}", timeout=60) as answer:
            self.assertEqual([o["name"] for o in json.load(answer)["items"]], [f"{self._testMethodName}/k"], "its parts are gone")

    def test_a_bucket_that_does_not_exist(self):
        self.assertEqual(self.tool("list", "gs://no-such-bucket/x").returncode, 3)

    def test_without_credentials_it_says_where_it_looked(self):
        done = self.tool("list", self.url(""), env={"STORAGE_EMULATOR_HOST": ""})
        self.assertEqual(done.returncode, 3)
        self.assertIn("no Google credentials: looked at GOOGLE_APPLICATION_CREDENTIALS", done.stderr)


    def signing(self):
        key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True).stdout
        file = self.dir / "robot.json"
        file.write_text(json.dumps({"type": "service_account", "client_email": "robot@p.iam.gserviceaccount.com", "private_key": key}))
        # Its public addresses are those of the server itself.
        return {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "STORAGE_EMULATOR_HOST": self.peer.url}

    def test_without_a_service_accounts_key_no_address_is_made(self):
        done = self.tool("link", self.url("k"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("let GOOGLE_APPLICATION_CREDENTIALS name such a file", done.stderr)


class Azure(Troubled):
    base, make_peer = f"az://{peers.ACCOUNT}/bucket/", peers.Azurite
    SLOW = b"<Error><Code>ServerBusy</Code><Message>The server is busy.\nRequestId:1</Message></Error>"
    SLOW_TEXT = "throttled (ServerBusy: The server is busy.), after 3 tries"

    @staticmethod
    def endpoint(url):
        return {"AZURE_STORAGE_BLOB_ENDPOINT": f"{url}/{peers.ACCOUNT}"}

    @staticmethod
    def is_part(method, target):
        return method == "PUT" and "blockid=" in target

    @staticmethod
    def is_completion(method, target):
        return method == "PUT" and "comp=blocklist" in target

    def test_wrong_keys_are_named(self):
        path = self.file("f", 1)
        done = self.tool("put", self.url("k"), path, env={"AZURE_STORAGE_KEY": "d3Jvbmc="})
        self.assertEqual(done.returncode, 1)
        self.assertIn("the credentials are not accepted", done.stderr)
        self.assertIn("come from AZURE_STORAGE_KEY", done.stderr)
        self.assertNotIn("d3Jvbmc", done.stderr)
        done = self.tool("list", self.url(""), env={"AZURE_STORAGE_KEY": "no base64"})
        self.assertIn("AZURE_STORAGE_KEY is no base64", done.stderr)
        done = self.tool("list", self.url(""), env={"AZURE_STORAGE_KEY": "", "AZURE_STORAGE_BLOB_ENDPOINT": ""})
        self.assertIn("no Azure credentials: looked at", done.stderr)

    def test_an_address_is_good_for_its_blob_alone(self):
        self.ok("put", self.url("k"), self.file("f", 10))
        self.ok("put", self.url("l"), self.file("f", 10))
        address = self.ok("link", self.url("k")).strip()
        self.assertEqual(self.read(address)[0], 200)
        self.assertEqual(self.read(address.replace("/k?", "/l?"))[0], 403)
        self.assertEqual(self.read(address.replace("sp=r", "sp=rw"))[0], 403)

    def test_without_the_accounts_key_no_address_is_made(self):
        done = self.tool("link", self.url("k"), env={"AZURE_STORAGE_KEY": "", "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=x"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("set AZURE_STORAGE_KEY", done.stderr)

    def test_a_connection_string_does_too(self):
        path = self.file("f", 10)
        text = f"DefaultEndpointsProtocol=http;AccountName={peers.ACCOUNT};AccountKey={peers.ACCOUNT_KEY};BlobEndpoint={self.peer.url}/{peers.ACCOUNT};"
        env = {"AZURE_STORAGE_KEY": "", "AZURE_STORAGE_BLOB_ENDPOINT": "", "AZURE_STORAGE_CONNECTION_STRING": text}
        self.ok("put", self.url("k"), path, env=env)
        self.comes_back(self.url("k"), path)

    def test_a_container_that_does_not_exist(self):
        done = self.tool("list", f"az://{peers.ACCOUNT}/no-such-container/x")
        self.assertEqual(done.returncode, 3)
        self.assertIn("ContainerNotFound", done.stderr)


if __name__ == "__main__":
    TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    suite = sys.argv[3]
    peers.need(SOURCE, {"S3": "moto", "Google": "gcs", "Azure": "azurite"}[suite])
    if suite == "S3":
        peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *([suite] if len(sys.argv) == 4 else [f"{suite}.{name}" for name in sys.argv[4:]])], verbosity=2)
