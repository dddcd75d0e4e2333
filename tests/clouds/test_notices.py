#!/usr/bin/env python3
"""Notices of interruption of the machine's own cloud under `stint run`: stand-ins of the metadata of AWS, Google Cloud and Azure, written as the
providers' documents say, on loopback; and AWS' own ec2-metadata-mock where scripts/setup-cloud-peers has built it.

Usage: test_notices.py STINT_BINARY SOURCE_DIR [unittest arguments]. Only processes started here are signalled.
"""
import http.server
import json
import pathlib
import shutil
import sys
import threading
import time
import unittest
from email.utils import formatdate

import peers
from free_ports import free_port
from running_daemon import RunningDaemon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
import test_run  # noqa: E402

STINT = SOURCE = None
NOW = 1_800_000_000  # of the stand-ins' clocks: another year than this machine's


class Metadata:
    """Answers GETs by `answers[path]`: (status, headers, body); others 404. What is posted is kept."""

    def __init__(self):
        self.answers, self.posted, self.asked = {}, [], []
        self.changed = threading.Event()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def answer(self, status, headers=(), body=b""):
                self.send_response_only(status)
                self.send_header("Date", formatdate(NOW, usegmt=True))
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PUT(self):
                ttl = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
                self.answer(200 if self.path == "/latest/api/token" and ttl else 404, body=b"token" if ttl else b"")

            def do_POST(self):
                service.posted.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.answer(200)

            def do_GET(self):
                path, _, query = self.path.partition("?")
                service.asked.append(self.path)
                if path.startswith("/latest/") and self.headers.get("X-aws-ec2-metadata-token") != "token":
                    return self.answer(401)
                if path.startswith("/computeMetadata/") and self.headers.get("Metadata-Flavor") != "Google":
                    return self.answer(403)
                if path.startswith("/metadata/") and self.headers.get("Metadata") != "true":
                    return self.answer(400)
                if "wait_for_change=true" in query:
                    service.changed.wait(10)
                return self.answer(*service.answers.get(path, (404, (), b"<html>")))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.changed.set()
        self.server.shutdown()
        self.server.server_close()


class Noticed(test_run.Run):
    def setUp(self):
        super().setUp()
        self.metadata = Metadata()
        self.addCleanup(self.metadata.stop)
        # A proxy that everything but the metadata would go through.
        self.env = {"STINT_METADATA_ADDRESS": self.metadata.url, "http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"}

    def start(self, *args, command, env=None):
        return super().start(*args, command=command, env={**self.env, **(env or {})})

    def wait_for(self, condition, seconds=60):
        super().wait_for(condition, seconds)

    def leaves(self, process):
        """It saved, copied and ended."""
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        reached = test_run.lines(self.log)[-1]
        self.assertEqual((self.dir / "copies" / "latest").readlink().name, f"step-{reached}", "what was saved last is copied")
        return err

    def train_forever(self, *args):
        process = self.start("--sync-to", self.dir / "copies", *args, command=self.train(steps=1_000_000, every=50, **{"--step-seconds": 0.02}))
        self.wait_for(lambda: len(test_run.lines(self.log)) >= 70)
        return process


class Notices(Noticed):
    def test_aws(self):
        process = self.train_forever("--cloud", "aws")
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + 100))
        self.metadata.answers["/latest/meta-data/spot/instance-action"] = (200, (), json.dumps({"action": "terminate", "time": until}).encode())
        self.assertIn("AWS takes this machine back (terminate) in 100.0 s", self.leaves(process))
        notice, = self.events("cloud_notice")
        self.assertEqual((notice["cloud"], notice["kind"], notice["what"], notice["seconds_left"]), ("AWS", "taken", "terminate", "100.0"))
        self.assertEqual([e["signal"] for e in self.events("notice")], ["15"])
        # The next machine goes on.
        shutil.rmtree(self.checkpoints)
        self.metadata.answers.clear()
        reached = test_run.lines(self.log)[-1]
        self.run_to_end("--cloud", "aws", "--sync-to", self.dir / "copies", command=self.train(steps=reached + 20))
        self.assertEqual(test_run.lines(self.log), list(range(1, reached + 21)), "no step is done twice")

    def test_google(self):
        flavor = ("Metadata-Flavor", "Google")
        at = "/computeMetadata/v1/instance/"
        self.metadata.answers = {at + "preempted": (200, [flavor, ("ETag", "one")], b"FALSE"), at + "maintenance-event": (200, [flavor], b"NONE")}
        process = self.train_forever("--cloud", "gcp")
        self.wait_for(lambda: any("last_etag=one" in path for path in self.metadata.asked))
        self.metadata.answers[at + "preempted"] = (200, [flavor, ("ETag", "two")], b"TRUE")
        self.metadata.changed.set()
        self.assertIn("Google Cloud takes this machine back (preempted) in 30.0 s", self.leaves(process))

    def azure(self, kind, seconds, resources=("vm",)):
        event = {"EventId": "E-7", "EventType": kind, "ResourceType": "VirtualMachine", "Resources": list(resources), "EventStatus": "Scheduled",
                 "NotBefore": formatdate(NOW + seconds, usegmt=True), "DurationInSeconds": -1}
        self.tell_azure([event])

    def tell_azure(self, events):
        self.metadata.answers["/metadata/instance/compute/name"] = (200, (), b"vm")
        self.metadata.answers["/metadata/scheduledevents"] = (200, (), json.dumps({"DocumentIncarnation": 1, "Events": events}).encode())

    def test_azure_is_told_that_the_machine_may_go(self):
        self.azure("Preempt", 30, resources=("another",))
        process = self.train_forever("--cloud", "azure", "--acknowledge-notice")
        self.assertEqual(self.events("cloud_notice"), [], "another machine's is none of ours")
        self.azure("Preempt", 30)
        self.leaves(process)
        self.assertEqual([body for _, body in self.metadata.posted], [{"StartRequests": [{"EventId": "E-7"}]}])
        self.assertEqual(len(self.events("acknowledged")), 1)

    def test_one_long_before_lets_the_command_work_and_may_be_taken_back(self):
        self.azure("Reboot", 600)
        process = self.start("--cloud", "azure", command=["sh", "-c", f"while [ ! -e {self.dir}/go ]; do sleep 0.05; done"])
        self.wait_for(lambda: self.events("cloud_notice"))
        self.tell_azure([])
        self.wait_for(lambda: self.events("notice_withdrawn"))
        (self.dir / "go").touch()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.events("notice"), [], "the command heard nothing of it")

    def test_one_that_is_taken_back_after_the_command_left_starts_it_again(self):
        self.tell_azure([])
        # Leaves once it may.
        script = f"trap 'while [ ! -e {self.dir}/go ]; do sleep 0.05; done; exit 0' TERM; touch {self.dir}/up$STINT_START; " \
                 f"while [ ! -e {self.dir}/go ]; do sleep 0.05; done"
        process = self.start("--cloud", "azure", command=["sh", "-c", script])
        self.wait_for(lambda: (self.dir / "up0").exists())
        self.azure("Preempt", 30)
        self.wait_for(lambda: self.events("notice"))
        self.tell_azure([])
        self.wait_for(lambda: self.events("notice_withdrawn"))
        (self.dir / "go").touch()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(len(self.events("start")), 2, err)

    def test_what_makes_no_sense_is_no_notice(self):
        at = "/latest/meta-data/spot/instance-action"
        for answer in ((500, (), b""), (200, (), b"{\"action\":"), (200, (), b"{\"action\":\"terminate\",\"time\":\"soon\"}")):
            with self.subTest(answer=answer):
                self.metadata.asked.clear()
                self.metadata.answers[at] = answer
                (self.dir / "go").unlink(missing_ok=True)
                process = self.start("--cloud", "aws", command=["sh", "-c", f"while [ ! -e {self.dir}/go ]; do sleep 0.05; done"])
                self.wait_for(lambda: at in self.metadata.asked)
                (self.dir / "go").touch()
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, err)
                self.assertEqual(self.events("notice") + self.events("cloud_notice"), [])

    def test_a_wrong_address_is_named_before_anything_starts(self):
        _, err = self.run_to_end("--cloud", "aws", command=["true"], code=1, env={"STINT_METADATA_ADDRESS": "http://10.1.2.3"})
        self.assertIn("STINT_METADATA_ADDRESS: 'http://10.1.2.3' is no address of metadata", err)
        _, err = self.run_to_end("--cloud", "ibm", command=["true"], code=1)
        self.assertIn("--cloud ibm: give aws, gcp, azure, none, or auto", err)
        self.assertEqual(self.events("start"), [])


class Daemon(Noticed):
    """The daemon on a machine of a cloud: its jobs are told in time, and the machine takes none meanwhile."""
    azure, tell_azure = Notices.azure, Notices.tell_azure
    FLEET = {"nodes": [{"name": "here", "cpu_milli": 4000, "memory": "4GiB"}], "queues": [{"name": "team"}]}

    def node(self):
        return self.daemon.ask("GET", "/v1/nodes")["nodes"][0]

    def test_a_notice_empties_the_machine_and_its_end_fills_it_again(self):
        self.tell_azure([])
        self.daemon = RunningDaemon(STINT, self.dir, self.FLEET, simulate=False, environment=self.env, more=["--cloud", "azure"])
        self.addCleanup(self.daemon.stop)
        script = f"trap 'touch {self.dir}/told; exit 0' TERM; touch {self.dir}/up; while :; do sleep 0.05; done"
        self.daemon.stint("submit", "--queue", "team", "--cpu-milli", "100", "--grace", "5s", "--", "sh", "-c", script)
        self.wait_for(lambda: (self.dir / "up").exists())
        self.azure("Preempt", 30)
        self.wait_for(lambda: (self.dir / "told").exists())
        self.wait_for(lambda: self.node()["state"] in ("draining", "drained"))
        (self.dir / "up").unlink()
        self.tell_azure([])
        self.wait_for(lambda: (self.dir / "up").exists())  # it is started again, for it left because it was told to
        self.assertEqual(self.node()["state"], "up")


class Mock(Noticed):
    """AWS' own stand-in, with IMDSv2 alone. It tells a new time at each look."""

    def test_a_notice_of_the_ec2_metadata_mock(self):
        port = free_port()
        self.env["STINT_METADATA_ADDRESS"] = f"http://127.0.0.1:{port}"
        process = self.train_forever("--cloud", "aws")
        mock = peers.folder(SOURCE) / "bin/ec2-metadata-mock"
        peer = peers.Peer([mock, "spot", "--action", "terminate", "--imdsv2", "-n", "127.0.0.1", "-p", str(port)],
                          f"http://127.0.0.1:{port}/latest/meta-data/")
        self.addCleanup(peer.stop)
        self.leaves(process)
        notice, = self.events("cloud_notice")
        self.assertEqual(notice["what"], "terminate")
        self.assertGreater(float(notice["seconds_left"]), 60)


if __name__ == "__main__":
    STINT, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    test_run.STINT = STINT
    test_run.TRAINING = SOURCE / "examples" / "training"
    if "Mock" in sys.argv[3:]:
        peers.need(SOURCE, "ec2-metadata-mock")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
