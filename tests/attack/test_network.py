#!/usr/bin/env python3
"""Who has no token, or one, keeps the daemon's network from others, or fills its disk by asking.

Usage: test_network.py STINT SOURCE_DIR [SUITE]
"""
import concurrent.futures
import contextlib
import http.client
import json
import resource
import socket
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request

from tenants import Attack, main


class Network(Attack):
    def setUp(self):
        super().setUp()
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        self.start("--insecure-shared-user")
        self.token = (self.folder / "state" / "admin.token").read_text().strip()
        self.address = ("127.0.0.1", int(self.daemon.url.rpartition(":")[2]))

    def ask(self, path="/healthz", body=None, token=None, method=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.daemon.url + path, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def test_idle_sockets_of_a_stranger_shut_nobody_out(self):
        for source in ("127.0.0.2", "127.0.0.1"):  # another address, and that of everybody on this machine
            with self.subTest(source=source), contextlib.ExitStack() as open_:
                for _ in range(1100):
                    open_.enter_context(socket.create_connection(self.address, source_address=(source, 0)))
                for _ in range(20):
                    self.assertEqual(self.ask("/v1/me", token=self.token)[0], 200)

    def test_a_body_is_not_read_before_it_is_known_whose_it_is(self):
        """The answer comes though only a hundredth of the body was sent."""
        with socket.create_connection(self.address) as one:
            one.settimeout(20)
            one.sendall(f"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer stint_no\r\nContent-Length: {4 << 20}\r\n\r\n".encode() + b" " * 40_000)
            self.assertIn(b" 401 ", one.recv(100))

    def test_brackets_are_not_parsed(self):
        """12 bodies of 4 MiB at a time. What others wait meanwhile is printed, the machine decides it."""
        brackets = b"[" * (4 << 20)
        waits, done = [], threading.Event()

        def look():
            connection = http.client.HTTPConnection(*self.address)
            while not done.is_set():
                begin = time.perf_counter()
                connection.request("GET", "/healthz")
                self.assertEqual(connection.getresponse().read()[:1] != b"", True)
                waits.append(time.perf_counter() - begin)

        looker = threading.Thread(target=look)
        looker.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                paths = ["/v1/jobs", "/v1/users/eve", "/v1/budgets/b"] * 4
                answers = list(pool.map(lambda path: self.ask(path, brackets, self.token, "POST" if path == "/v1/jobs" else "PUT"), paths))
        finally:
            done.set()
            looker.join()
        for status, answer in answers:
            self.assertIn(status, (400, 422), answer)
        self.assertTrue(any(b"nested deeper" in answer for _, answer in answers), answers)
        waits.sort()
        print(f"/healthz while 12 x 4 MiB of brackets come: median {waits[len(waits) // 2] * 1e3:.1f} ms, "
              f"p99 {waits[len(waits) * 99 // 100] * 1e3:.1f} ms of {len(waits)}", file=sys.stderr)

    def test_reading_fills_no_disk(self):
        """3,000 reads by one user: a burst has records of its own, the others are counted; a change has its record, whatever was read."""
        connection = http.client.HTTPConnection(*self.address)
        for number in range(3000):
            connection.request("GET", f"/v1/jobs/{number}", headers={"Authorization": f"Bearer {self.token}"})
            connection.getresponse().read()
        self.daemon.stint("token", "make", "--note", "a change")
        self.daemon.stop()
        with sqlite3.connect(self.folder / "state" / "govern.db") as db:
            records = [json.loads(row[0]) for row in db.execute("SELECT record FROM audit")]
        reads = [record for record in records if record["method"] == "GET"]
        self.assertLess(len(reads), 400)
        counted = [int(record["detail"].split()[0]) for record in reads if "have no record but this" in record.get("detail", "")]
        self.assertEqual(len(reads) - len(counted) + sum(counted), 3000, "every read is on record or counted")
        self.assertEqual([record["target"] for record in records if record["method"] == "POST"], ["/v1/tokens"])


if __name__ == "__main__":
    main(sys.modules[__name__])
