#!/usr/bin/env python3
"""The daemon's eyes: GPUs of a stand-in for NVML, a job that really runs on one, an exporter that comes and goes, metrics under
promtool, the history under an audit, and `stint top` in a terminal.

Usage: test_live.py STINT FAKE_NVML
"""
import contextlib
import fcntl
import http.server
import json
import os
import pathlib
import pty
import pwd
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT, FAKE_NVML = sys.argv.pop(1), sys.argv.pop(1)


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ('DCGM_FI_PROF_SM_OCCUPANCY{gpu="0",UUID="GPU-fake-0",Hostname="n0"} 0.25\n'
                'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-fake-0",Hostname="n0"} 99\n'
                'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-far",Hostname="n1"} 55\n').encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def wait_until(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError("it does not come about")


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=cls.exporter.serve_forever, daemon=True).start()
        cls.pids = cls.folder / "pids"
        cls.pids.write_text("")
        cls.daemon = RunningDaemon(STINT, cls.folder, {
            "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 2, "gpu_memory": "80GiB", "cpu_milli": 64000,
                       "memory": "512GiB", "per_hour": "8"}],
            "queues": [{"name": "acme"}, {"name": "zoo"}],
            "telemetry": {"nvml_library": FAKE_NVML, "scrape_every": 1, "history_every": 1,
                          "exporters": [f"http://127.0.0.1:{cls.exporter.server_port}/metrics", "http://127.0.0.1:1/metrics"]}},
            simulate=False, environment={"FAKE_NVML_PIDS": str(cls.pids), "FAKE_NVML_USED_MIB": "100"})
        cls.state = cls.daemon.state
        cls.environment = cls.daemon.environment()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        cls.exporter.shutdown()
        cls.exporter.server_close()
        cls.temporary.cleanup()

    def stint(self, *arguments):
        return self.daemon.stint(*arguments).stdout

    def get(self, path):
        request = urllib.request.Request(self.daemon.url + path, headers={"Authorization": "Bearer " + self.environment["STINT_TOKEN"]})
        return urllib.request.urlopen(request).read().decode()

    def gpus(self):
        return json.loads(self.get("/v1/gpus"))

    def gpu(self, name):
        return next((g for g in self.gpus()["gpus"] if g["id"] == name), None)

    def test_1_what_the_library_and_the_exporter_tell_is_one_gpu(self):
        gpu = wait_until(lambda: (g := self.gpu("n0:0")) and "sm_occupancy" in g["values"] and g)
        self.assertEqual(gpu["values"]["utilization"], 40, "the library's, not the exporter's 99")
        self.assertEqual(gpu["values"]["sm_occupancy"], 25)
        self.assertEqual(gpu["uuid"], "GPU-fake-0")
        self.assertFalse(gpu["simulated"])
        self.assertEqual(wait_until(lambda: self.gpu("n1:0"))["values"]["utilization"], 55, "a machine that is not ours")
        dead = next(s for s in self.gpus()["sources"] if s["name"] == "http://127.0.0.1:1/metrics")
        self.assertFalse(dead["ok"])
        self.assertIn("127.0.0.1:1", dead["error"])

    def test_2_a_job_s_process_is_known_as_its_own(self):
        pid_file = self.folder / "pid"
        job = self.stint("submit", "--queue", "acme", "--gpus", "1", "--tag", "kind=training", "--name", "resnet", "--",
                         "sh", "-c", f"sleep 600 & echo $! > {pid_file}; wait").strip()
        pid = wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
        index = json.loads(self.stint("show", str(job), "--json"))["placed"][0]["gpus"][0]
        lines = ["", ""]
        lines[index] = pid
        lines[1 - index] = str(os.getpid())
        self.pids.write_text("\n".join(lines) + "\n")
        mine = wait_until(lambda: (g := self.gpu(f"n0:{index}")) and g["processes"] and g["holders"] and g)
        self.assertEqual([(p["pid"], p["job"], p["command"]) for p in mine["processes"]], [(int(pid), job, "sleep")])
        self.assertEqual([(h["job"], h["kind"]) for h in mine["holders"]], [(job, "training")])
        other = wait_until(lambda: (g := self.gpu(f"n0:{1 - index}")) and g["processes"] and g)
        self.assertEqual([(p["pid"], p["job"]) for p in other["processes"]], [(os.getpid(), None)], "foreign")
        once = self.stint("top", "--once")
        self.assertIn(f"{job} resnet", once)
        self.assertIn("1 foreign", once)
        self.assertIn("127.0.0.1:1", once)
        self.assertTrue(all(len(line) <= 80 for line in once.splitlines()), once)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (package prometheus)")
    def test_3_metrics_are_as_prometheus_wants_them(self):
        wait_until(lambda: self.gpu("n0:0")["holders"] or self.gpu("n0:1")["holders"])
        text = self.get("/metrics")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        for line in (r'stint_gpu_utilization\{Hostname="n0",gpu="0",UUID="GPU-fake-0",model_name="[^"]+"\} 40',
                     r'stint_gpu_workload\{UUID="GPU-fake-[01]",kind="training"\} 1',
                     r'stint_cost_per_hour\{node="n0",currency="USD"\} 8', r'stint_idle_cost_per_hour\{node="n0",currency="USD"\} 4',
                     r'stint_client_cost_per_hour\{client="acme",currency="USD"\} 4',
                     r'stint_jobs\{queue="acme",state="running"\} 1', r'stint_gpu_foreign_processes\{.*\} 1',
                     r'stint_job_wait_seconds_count\{queue="acme"\} 1', r'stint_node_spot\{node="n0"\} 0'):
            self.assertRegex(text, line)

    def test_4_top_fills_its_terminal_and_gives_it_back(self):
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        before = termios.tcgetattr(other)
        top = subprocess.Popen([STINT, "top", "--every", "0.3"], env=self.environment, stdin=other, stdout=other, stderr=other)
        seen = b""

        def read_until(text):
            nonlocal seen
            end = time.monotonic() + 20
            while text not in seen and time.monotonic() < end:
                if select.select([main], [], [], 0.1)[0]:
                    seen += os.read(main, 65536)
            self.assertIn(text, seen)
            shown, seen = seen, b""
            return shown
        first = read_until(b"q quit")
        self.assertIn(b"\x1b[?1049h", first)
        rows = [int(r) for r in re.findall(rb"\x1b\[(\d+);1H", first)]
        self.assertEqual(rows, list(range(1, 25)))
        os.write(main, b"j")
        read_until(b"resnet")
        os.write(main, b"/zzz\r")
        read_until(b"zzz (Esc clears)")
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
        top.send_signal(signal.SIGWINCH)
        resized = read_until(b"\x1b[10;1H")
        self.assertNotIn(b"\x1b[11;1H", resized)
        os.write(main, b"q")
        read_until(b"\x1b[?1049l")
        self.assertEqual(top.wait(10), 0)
        self.assertEqual(termios.tcgetattr(other), before, "the terminal is as it was")
        os.close(main)
        os.close(other)

    def test_5_what_was_seen_is_a_history(self):
        wait_until(lambda: (self.gpus()["history"] or {}).get("written"))
        history = str(self.state / "history.db")

        def foreign():
            with contextlib.closing(sqlite3.connect(history)) as file:
                return file.execute("SELECT user, ended - started FROM run WHERE run_id LIKE 'foreign-n0:%'").fetchall()
        wait_until(foreign)
        self.daemon.stop()
        self.stint("history", "check", history)
        report = json.loads(self.stint("audit", "--history", history, "--json"))
        self.assertIn("n0", json.dumps(report))
        # The process of no job, on the GPU beside the job's: this one, which the test has put there.
        account = pwd.getpwuid(os.getuid()).pw_name
        runs = foreign()
        self.assertEqual([user for user, _ in runs], [account])
        self.assertGreater(runs[0][1], 0)


class Parts(unittest.TestCase):
    """A GPU in two parts, and queues whose limits change under a daemon that runs."""

    def test_tasks_on_parts_have_devices_of_their_own_and_a_reload_lets_the_second_start(self):
        with tempfile.TemporaryDirectory() as folder:
            config = {"nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 1, "gpu_memory": "80GiB", "cpu_milli": 64000,
                                 "memory": "512GiB", "per_hour": "4", "mig": {"2g.20gb": "2"}}],
                      "queues": [{"name": "acme", "limit_gpus": 0.3}, {"name": "zoo"}],  # a part counts as two of the GPU's seven slices
                      "telemetry": {"nvml_library": FAKE_NVML}}
            daemon = RunningDaemon(STINT, folder, config, simulate=False,
                                   environment={"FAKE_NVML_MIG": "2", "FAKE_NVML_MIG_USED": "0", "FAKE_NVML_USED_MIB": "100"})
            self.addCleanup(daemon.stop)

            def submit():
                return daemon.stint("submit", "--queue", "acme", "--mig", "2g.20gb", "--", "sh", "-c",
                                    "echo device=$CUDA_VISIBLE_DEVICES; sleep 600").stdout.strip()

            def state(job):
                return daemon.json("show", job)["state"]
            first, second = submit(), submit()
            wait_until(lambda: state(first) == "running")
            self.assertEqual(state(second), "waiting", "its queue has a limit")
            config["queues"] = [config["queues"][1], {"name": "acme", "limit_gpus": 0.6}]
            daemon.configure(config)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: state(second) == "running")
            seen = [wait_until(lambda job=job: daemon.stint("logs", job).stdout.strip()) for job in (first, second)]
            self.assertEqual(seen, ["device=MIG-fake-3", "device=MIG-fake-4"])
            # What cannot be taken over is refused with its reason, and nothing of it holds.
            daemon.configure(dict(config, queues=config["queues"][1:]))
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "queue 'zoo' is gone" in daemon.log.read_text())
            self.assertEqual([state(first), state(second)], ["running", "running"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
