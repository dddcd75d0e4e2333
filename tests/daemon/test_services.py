#!/usr/bin/env python3
"""A service of the daemon's on real inference servers. Usage: test_services.py STINT.

Requests are sent all the time, to whoever the file of endpoints names; every one must be answered, while replicas come with the load, are
replaced by a new configuration, outlive a daemon that is killed, and go.
"""
import itertools
import json
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from free_ports import free_ports  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402
from running_server import synthetic  # noqa: E402

BODY = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}).encode()


class Callers:
    """Threads that ask the replicas in turn, each `pause` seconds after its last answer."""

    def __init__(self, endpoints):
        self.endpoints = endpoints
        self.pause = 0.1
        self.answered = 0
        self.failures = []
        self._turn = itertools.count()
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._call) for _ in range(8)]
        for thread in self._threads:
            thread.start()

    def _call(self):
        while not self._ending.wait(self.pause):
            targets = targets_in(self.endpoints)
            if not targets:
                self.failures.append("no replica is named")
                continue
            target = targets[next(self._turn) % len(targets)]
            try:
                with urllib.request.urlopen(f"http://{target}/v2/models/echo/infer", BODY, timeout=30) as answer:
                    assert json.load(answer)["outputs"][0]["data"] == [1, 2, 3, 4]
                with self._lock:
                    self.answered += 1
            except OSError as error:
                self.failures.append(f"{target}: {error}")

    def end(self):
        self._ending.set()
        for thread in self._threads:
            thread.join()


def targets_in(path):
    return [target for group in json.loads(path.read_text()) for target in group["targets"]]


def wait_for(what, condition, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: did not come"
        time.sleep(0.1)


def main():
    stint = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = folder / "models/echo"
        (models / "1").mkdir(parents=True)
        (models / "1/model.synthetic.json").write_text(json.dumps(synthetic(base_us=20_000)))
        (models / "model.json").write_text(json.dumps({"max_batch": 1, "promise_p99_ms": 100}))
        endpoints = folder / "endpoints.json"
        first = free_ports(6)
        service = {
            "name": "echo", "ports": [first, first + 5], "max": 3, "every": "1s", "drain": "5s", "endpoints": str(endpoints),
            "up_cooldown": "2s", "down_cooldown": "4s", "idle_grace": "1h",
            "job": {"queue": "acme", "user": "ada", "cpu_milli": 100, "command": [stint, "serve", "run", "--models", str(folder / "models")]}}
        config = {"nodes": [{"name": "here", "cpu_milli": 8000, "memory": "8GiB", "per_hour": "1"}], "queues": [{"name": "acme"}],
                  "services": [service], "telemetry": {"node": "here"}}
        daemon = RunningDaemon(stint, folder, config, simulate=False)
        callers = None

        def seen():
            return daemon.json("services")["services"][0]

        def ready_jobs():
            return {replica["job"] for replica in seen()["replicas"] if replica["state"] == "ready"}

        try:
            wait_for("a replica", lambda: len(ready_jobs()) == 1)
            callers = Callers(endpoints)
            wait_for("answers", lambda: callers.answered > 20)
            # One answers 50/s; it is promised fewer.
            callers.pause = 0.05
            wait_for("more replicas", lambda: len(ready_jobs()) >= 2)
            assert len(targets_in(endpoints)) >= 2
            services = {s["service"]: s for s in daemon.ask("GET", "/v1/gpus")["services"]}
            assert services["echo"]["servers"] >= 2, services
            told = seen()
            each, asked = told["per_thousand_requests"], told["requests_per_second"]
            assert asked > 10 and abs(float(each["amount"]) * asked * 3.6 - float(told["per_hour"]["amount"])) < 1e-6, told
            listed = daemon.stint("services").stdout
            assert re.search(r"0\.000\d+ USD", listed), listed
            with urllib.request.urlopen(urllib.request.Request(daemon.url + "/metrics", headers={"Authorization": f"Bearer {daemon.token}"})) as answer:
                metrics = answer.read().decode()
            ready = re.search(r'stint_service_replicas{service="echo",queue="acme",state="ready"} (\d+)', metrics)
            assert ready and int(ready.group(1)) >= 2, metrics
            # The daemon is killed: replicas go on and are taken up again.
            before, answered = ready_jobs(), callers.answered
            daemon.kill()
            wait_for("answers without the daemon", lambda: callers.answered > answered + 20)
            daemon.start()
            wait_for("what ran is taken up", lambda: before <= ready_jobs())
            # A new configuration: others in their place, one by one.
            callers.pause = 0.1
            service["job"]["environment"] = {"ROUND": "2"}
            daemon.configure(config)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for("replacement", lambda: ready_jobs() and not before & ready_jobs()
                     and all(replica["current"] for replica in seen()["replicas"]))
            # Less to do: all but one go.
            callers.pause = 2
            wait_for("fewer replicas", lambda: seen()["wanted"] == 1 and len(seen()["replicas"]) == 1)
            assert len(targets_in(endpoints)) == 1
            assert not callers.failures, callers.failures[:5]
            try:
                daemon.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["true"], "tags": {"stint.service": "echo"}})
                raise AssertionError("a replica was submitted by somebody else")
            except urllib.error.HTTPError as error:
                assert error.code == 422, error
            print(f"{callers.answered} requests, all answered; {len(daemon.ask('GET', '/v1/jobs?state=ended')['jobs'])} replicas ended")
            # Configured no more: it ends.
            callers.end()
            daemon.configure(dict(config, services=[]))
            daemon.process.send_signal(signal.SIGHUP)
            wait_for("the end of the service", lambda: not daemon.ask("GET", "/v1/jobs?state=active")["jobs"])
        except AssertionError:
            print(json.dumps(seen(), indent=1), (folder / "daemon.log").read_text()[-4000:])
            raise
        finally:
            if callers:
                callers.end()
            for job in daemon.ask("GET", "/v1/jobs?state=active")["jobs"]:
                daemon.ask("POST", f"/v1/jobs/{job['id']}/cancel")
            wait_for("the end of all jobs", lambda: not daemon.ask("GET", "/v1/jobs?state=active")["jobs"])
            daemon.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
