#!/usr/bin/env python3
"""A job listens where a replica of another's service is to: it wants the service's token, and its requests.

Usage: test_replicas.py STINT SOURCE_DIR [SUITE]
"""
import http.server
import json
import os
import pathlib
import signal
import sys
import threading
import time

from tenants import HERE, Attack, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
from free_ports import free_ports  # noqa: E402
from running_server import synthetic  # noqa: E402


class Squatter:
    """Answers everything with 200, as a server that is ready does, and keeps what it is shown."""

    def __init__(self, port):
        self.shown = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805
                self.shown.append(dict(handler.headers))
                handler.send_response(200)
                # What another replica would have answered is of no use here.
                handler.send_header("stint-proof", "0" * 64)
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Replicas(Attack):
    def setUp(self):
        super().setUp()
        self.first = free_ports(3)
        model = self.folder / "models/echo/1"
        model.mkdir(parents=True)
        # Measuring it takes seconds, in which the replica runs and does not listen yet.
        (model / "model.synthetic.json").write_text(json.dumps(synthetic(base_us=200_000)))
        (model.parent / "model.json").write_text('{"max_batch": 4}')
        self.token = self.folder / "token"
        self.token.write_text("the-services-token\n")
        self.token.chmod(0o600)
        self.endpoints = self.folder / "endpoints.json"
        job = {"queue": "acme", "user": "ada", "cpu_milli": 500, "preemptible": False,
               "command": [str(pathlib.Path(self.STINT).resolve()), "serve", "run", "--models", str(self.folder / "models"), "--token-file", str(self.token)]}
        self.service = {"name": "rank", "ports": [self.first, self.first + 2], "min": 1, "max": 1, "every": "1s", "drain": "1s",
                        "endpoints": str(self.endpoints), "token_file": str(self.token), "job": job}
        self.CONFIG = dict(HERE, services=[self.service])
        self.addCleanup(self.end_replicas)  # after the daemon: tasks outlive it

    def end_replicas(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder / "models").encode() in (process / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended

    def named(self):
        if not self.endpoints.exists():
            return []
        return [target for group in json.loads(self.endpoints.read_text()) for target in group["targets"]]

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (self.named(), self.daemon.stint("services").stdout)
            time.sleep(0.05)

    def test_who_listens_first_gets_neither_the_token_nor_requests(self):
        squatter = Squatter(self.first)
        self.addCleanup(squatter.stop)
        self.start("--insecure-shared-user")
        self.until(self.named)
        self.assertNotIn(f"127.0.0.1:{self.first}", self.named())
        self.assertTrue(squatter.shown, "it was asked")
        self.assertEqual([headers for headers in squatter.shown if "the-services-token" in json.dumps(headers)], [])

    def test_who_takes_over_a_place_is_not_named_any_more(self):
        self.start("--insecure-shared-user")
        self.until(self.named)
        place = self.named()[0]
        (replica,) = self.daemon.json("services")["services"][0]["replicas"]
        self.daemon.stint("cancel", str(replica["job"]))
        port = int(place.rpartition(":")[2])
        squatter = None
        end = time.monotonic() + 30
        while squatter is None and time.monotonic() < end:
            try:
                squatter = Squatter(port)
            except OSError:
                time.sleep(0.01)
        self.assertIsNotNone(squatter)
        self.addCleanup(squatter.stop)
        self.until(lambda: self.named() and place not in self.named())
        self.assertEqual([headers for headers in squatter.shown if "the-services-token" in json.dumps(headers)], [])


if __name__ == "__main__":
    main(sys.modules[__name__])
