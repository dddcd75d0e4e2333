#!/usr/bin/env python3
"""What it costs that jobs are kept apart: from a submit to the first instruction of its job, and submits a second, for each way in which
local jobs may have an account. One daemon of each kind is asked in turn, so that what else the machine does meets all alike.

Usage, as root: isolation.py STINT [JOBS [SUBMITS]]   80 starts and 3 × 1,000 submits by four clients each, unless told otherwise
"""
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "attack")]
from running_daemon import RunningDaemon  # noqa: E402
from split_daemon import SplitDaemon  # noqa: E402
from tenants import HERE  # noqa: E402

MODES = {"--insecure-shared-user": ["--insecure-shared-user"], "--jobs-as": ["--jobs-as", "nobody"], "--jobs-as-range": ["--jobs-as-range", "61800-61809"],
         "--starter": None}  # an account for each user, too, by a daemon that has no rights
CLIENTS = 4
ROUNDS = 3


def start_ms(daemon, number):
    """From the submit of the daemon's job `number` to what it prints first: the time."""
    asked = time.time_ns()
    job = daemon.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["date", "+%s%N"], "cpu_milli": 100})["id"]
    while daemon.ask("GET", f"/v1/jobs/{job}")["state"] != "succeeded":
        time.sleep(0.005)
    work = daemon.work if isinstance(daemon, SplitDaemon) else daemon.state / "work"
    return (int((work / f"logs/{number}.0.0.out").read_text()) - asked) / 1e6


def submits_per_second(daemon, submits):
    """Jobs on hold, so that nothing starts, by four clients that each keep a connection."""
    body = json.dumps({"queue": "acme", "command": ["true"], "cpu_milli": 100, "on_hold": True})
    head = {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"}
    refused = []

    def client():
        connection = http.client.HTTPConnection(daemon.url.partition("://")[2], timeout=120)
        for _ in range(submits // CLIENTS):
            connection.request("POST", "/v1/jobs", body, head)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 201:
                refused.append((answer.status, told[:200]))

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if refused:
        sys.exit(f"submits were refused: {refused[0]}")
    return submits // CLIENTS * CLIENTS / (time.monotonic() - begun)


def main(stint, jobs=80, submits=1000):
    started = {mode: [] for mode in MODES}
    submitted = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o711)
        daemons = {}
        for mode, flags in MODES.items():
            own = pathlib.Path(folder) / mode.strip("-")
            own.mkdir()
            daemons[mode] = SplitDaemon(stint, own, HERE) if flags is None else RunningDaemon(stint, own, HERE, simulate=False, flags=flags)
        for number in range(1, jobs + 1):
            for mode, daemon in daemons.items():
                started[mode].append(start_ms(daemon, number))
        for _ in range(ROUNDS):
            for mode, daemon in daemons.items():
                submitted[mode].append(submits_per_second(daemon, submits))
        for daemon in daemons.values():
            daemon.stop()
    for mode in MODES:
        times, rates = sorted(started[mode]), sorted(submitted[mode])
        print(f"{mode:24} start: median {statistics.median(times):.1f} ms, 90th percentile {times[int(0.9 * len(times))]:.1f} ms; "
              f"submits a second: median {statistics.median(rates):.0f} ({rates[0]:.0f} to {rates[-1]:.0f})")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]))
