#!/usr/bin/env python3
"""`stint serve run` on a model repository in a registry of OCI artifacts, pushed there by the client of ORAS.

Usage: test_registry.py STINT SOURCE_DIR. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
"""
import base64
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clouds"))
import peers  # noqa: E402
from running_server import RunningServer, synthetic  # noqa: E402

STINT = SOURCE = None


class Gate:
    """In front of the registry: wants a token where `secret` is USER:PASSWORD, sends whoever asks for a blob elsewhere, and may spoil blobs."""

    def __init__(self, port, secret=None):
        self.secret, self.spoils, self.at_store = secret, False, []
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", headers=()):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                authorization = self.headers.get("Authorization") or ""
                if self.path.startswith("/token?"):
                    right = authorization == "Basic " + base64.b64encode(gate.secret.encode()).decode()
                    return self.answer(200 if right else 401, b'{"token": "of-the-day"}' if right else b"{}")
                if self.path.startswith("/store/"):
                    gate.at_store.append(authorization)
                    return self.pass_on(self.path[len("/store"):])
                if gate.secret and authorization != "Bearer of-the-day":
                    where = f'Bearer realm="{gate.url}/token",service="tests",scope="repository:team/models:pull"'
                    return self.answer(401, b"{}", [("WWW-Authenticate", where)])
                if "/blobs/" in self.path:
                    return self.answer(307, headers=[("Location", f"{gate.url}/store{self.path}")])
                return self.pass_on(self.path)

            def pass_on(self, path):
                there = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                there.request("GET", path, headers={"Accept": self.headers.get("Accept") or "*/*"})
                answer = there.getresponse()
                body = answer.read()
                there.close()
                if gate.spoils and "/blobs/" in path:
                    body = body[:-1] + b"?"
                self.answer(answer.status, body, [("Content-Type", answer.headers.get("Content-Type") or "application/octet-stream")])

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def host(self):
        return self.url.removeprefix("http://")

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = peers.free_port()
        cls.host = f"127.0.0.1:{port}"
        cls.port = port
        cls.peer = peers.Peer([peers.folder(SOURCE) / "bin/registry", "-port", str(port)], f"http://{cls.host}/v2/")
        import oras.client
        cls.client = oras.client.OrasClient(insecure=True, hostname=cls.host)

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.models = self.folder / "models"
        self.put("echo", 1, 1)
        (self.models / "echo/model.json").write_text('{"max_batch": 4}')

    def put(self, name, version, base_us):
        (self.models / name / str(version)).mkdir(parents=True)
        (self.models / name / str(version) / "model.synthetic.json").write_text(json.dumps(synthetic(base_us=base_us)))

    def push(self, reference, *what):
        """@return the manifest's digest."""
        files = what or sorted(str(f.relative_to(self.models)) for f in self.models.rglob("*") if f.is_file())
        titles = self.folder / "titles.json"  # its command line's default; its library takes the last part of a path
        titles.write_text(json.dumps({file: {"org.opencontainers.image.title": file} for file in files}))
        before = os.getcwd()
        os.chdir(self.models)
        try:
            return self.client.push(target=f"{self.host}/{reference}", files=list(files),
                                    annotation_file=str(titles)).headers["Docker-Content-Digest"]
        finally:
            os.chdir(before)

    def gate(self, secret=None):
        gate = Gate(self.port, secret)
        self.addCleanup(gate.stop)
        return gate

    def serve(self, place, *more):
        server = RunningServer(STINT, place, arguments=("--model-copies", str(self.folder / "copies"), *more), controlled=True)
        self.addCleanup(lambda: server.process.stderr.closed or server.stop())
        return server

    def refused(self, place, *more):
        done = subprocess.run([STINT, "serve", "run", "--models", place, "--listen", "127.0.0.1:0", "--model-copies", tempfile.mkdtemp(dir=self.folder), *more],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def versions(self, server):
        return json.loads(server.ask("GET", "/v2/models/echo")[1])["versions"]

    def test_a_tag_is_followed_at_a_load_and_a_digest_stays(self):
        digest = self.push("team/models:v1")
        server = self.serve(f"oci://{self.host}/team/models:v1")
        self.assertEqual(server.infer("echo", [[1, 2, 3, 4]])[0], 200)
        self.put("echo", 2, 2)
        self.push("team/models:v1")
        self.assertEqual(server.ask("POST", "/v2/repository/models/echo/load", {}, headers=server.CONTROL)[0], 200)
        self.assertEqual(self.versions(server), ["2"])
        server.stop()
        (self.folder / "copies").rename(self.folder / "others")
        self.assertEqual(self.versions(self.serve(f"oci://{self.host}/team/models@{digest}")), ["1"])

    def test_a_token_is_fetched_where_the_registry_says_and_told_to_no_one_else(self):
        self.push("team/models:v1")
        gate = self.gate("ann:s3cret")
        place = f"oci://{gate.host}/team/models:v1"
        self.assertIn("give USER:PASSWORD", self.refused(place))
        token = self.folder / "token"
        token.write_text("ann:s3cret\n")
        token.chmod(0o600)
        server = self.serve(place, "--models-token-file", str(token))
        self.assertEqual(self.versions(server), ["1"])
        self.assertEqual(gate.at_store, [""] * 2)

    def test_other_bytes_than_the_manifest_names_are_not_served(self):
        self.push("team/models:v1")
        gate = self.gate()
        server = self.serve(f"oci://{gate.host}/team/models:v1")
        self.put("echo", 2, 2)
        self.push("team/models:v1")
        gate.spoils = True
        status, body = server.ask("POST", "/v2/repository/models/echo/load", {}, headers=server.CONTROL)
        self.assertEqual(status, 400, body)
        self.assertIn(b"its bytes are not those that the manifest names", body)
        self.assertEqual(self.versions(server), ["1"])

    def test_what_is_no_repository_of_files_is_refused_with_a_way_out(self):
        self.push("team/folder:v1", "echo")
        self.assertIn("echo is no file of a model", self.refused(f"oci://{self.host}/team/folder:v1"))
        self.assertIn("status 404", self.refused(f"oci://{self.host}/team/none:v1"))
        self.assertIn("no tag", self.refused(f"oci://{self.host}/team/none:v 1"))


if __name__ == "__main__":
    STINT, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    peers.need(SOURCE, "registry", "oras")
    peers.run_in_their_python(SOURCE)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
