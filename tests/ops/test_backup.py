#!/usr/bin/env python3
"""Backup of a daemon under load, and a daemon started on what was restored.

Usage: test_backup.py STINT [unittest arguments]
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT = None
FLEET = {
    "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000, "memory": "512GiB",
               "per_hour": "16"}],
    "queues": [{"name": "acme"}, {"name": "zoo"}],
}


def jobs_of(daemon, token):
    jobs, cursor = [], []
    while True:
        page = daemon.json("queue", "--state", "all", "--limit", "1000", *cursor, token=token)
        jobs += page["jobs"]
        if page["next"] is None:
            return jobs
        cursor = ["--cursor", str(page["next"])]


class Backup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_stint(self, *arguments, code=0):
        done = subprocess.run([STINT, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_under_load_nothing_that_was_accepted_before_is_lost(self):
        first = RunningDaemon(STINT, self.folder, FLEET)
        token = first.token
        accepted, stop = [], threading.Event()

        def submit():
            while not stop.is_set():
                job = first.ask("POST", "/v1/jobs", {"queue": "acme", "gpus": 1, "command": ["x"], "simulated_duration": "1s"})
                accepted.append(job["id"])
        threads = [threading.Thread(target=submit) for _ in range(3)]
        for thread in threads:
            thread.start()
        files = []
        try:
            while len(accepted) < 20:
                time.sleep(0.02)
            for number in range(3):
                before = list(accepted)
                file = self.folder / f"{number}.tar"
                manifest = json.loads(self.run_stint("backup", "--state", first.state, "--config", first.config, "--json", file).stdout)
                files.append((file, before, manifest))
            self.assertGreater(len(accepted), 20, "it took commands meanwhile")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            first.stop()
        for number, (file, before, manifest) in enumerate(files):
            self.assertEqual(file.stat().st_mode & 0o077, 0)
            state = self.folder / f"restored-{number}"
            self.run_stint("restore", file, "--state", state)
            # Recovery holds the state against the log's marks.
            second = RunningDaemon(STINT, self.folder, json.loads((state / "config.json").read_text()), state=state)
            try:
                there = {job["id"] for job in jobs_of(second, token)}
                self.assertEqual(set(before) - there, set())
                verified = second.stint("audit-log", "verify", "--head", manifest["audit"]["head"], token=token).stdout
                self.assertIn("each follows from the one before", verified)
            finally:
                second.stop()

    def test_refuses_what_would_overwrite_and_what_is_damaged(self):
        daemon = RunningDaemon(STINT, self.folder, FLEET)
        daemon.stop()
        file = self.folder / "backup.tar"
        command = ["backup", "--state", daemon.state, "--config", daemon.config, file]
        self.assertIn("audit log sound", self.run_stint(*command).stdout)
        self.assertIn("is there already", self.run_stint(*command, code=1).stderr)
        self.assertIn("nothing is overwritten", self.run_stint("restore", file, "--state", self.folder / "state", code=1).stderr)
        self.run_stint("restore", file, code=2)
        self.assertEqual(self.run_stint("restore", "--check", file).returncode, 0)
        with tarfile.open(file) as archive:
            names = archive.getnames()
        self.assertEqual(names[:2], ["manifest.json", "config.json"])
        self.assertTrue({"events.db", "govern.db"} <= set(names))
        self.assertNotIn("admin.token", names)
        bad = bytearray(file.read_bytes())
        bad[len(bad) // 2] ^= 1
        (self.folder / "bad.tar").write_bytes(bad)
        self.assertIn("checksum", self.run_stint("restore", "--check", self.folder / "bad.tar", code=1).stderr)
        self.run_stint("restore", self.folder / "bad.tar", "--state", self.folder / "never", code=1)
        self.assertFalse((self.folder / "never").exists())


class ServiceManager(unittest.TestCase):
    def test_is_told_of_start_reload_and_stop(self):
        with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            folder = pathlib.Path(name)
            (folder / "fleet.json").write_text(json.dumps(dict(FLEET, listen="127.0.0.1:0")))
            manager.bind(str(folder / "notify"))
            manager.settimeout(60)
            daemon = subprocess.Popen([STINT, "daemon", "--config", folder / "fleet.json", "--state", folder / "state", "--simulate"],
                                      env=dict(os.environ, NOTIFY_SOCKET=str(folder / "notify")), stderr=subprocess.DEVNULL)
            try:
                self.assertRegex(manager.recv(1000).decode(), r"^READY=1\nSTATUS=listening on http://127\.0\.0\.1:\d+$")
                daemon.send_signal(signal.SIGHUP)
                self.assertEqual(manager.recv(1000), b"RELOADING=1")
                self.assertRegex(manager.recv(1000).decode(), r"^READY=1\n")
                daemon.send_signal(signal.SIGTERM)
                self.assertEqual(manager.recv(1000), b"STOPPING=1")
            finally:
                daemon.terminate()
                daemon.wait()


if __name__ == "__main__":
    STINT = sys.argv.pop(1)
    unittest.main(verbosity=2)
