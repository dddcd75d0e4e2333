#!/usr/bin/env python3
"""What isolation costs: from a submit to the first instruction of its job, in each way of giving jobs accounts, in turn. Needs root.

Usage: start_latency.py STINT [JOBS]
"""
import pathlib
import statistics
import sys
import tempfile
import time

from tenants import HERE
from running_daemon import RunningDaemon  # found beside the folder of tenants

MODES = {"--insecure-shared-user": ["--insecure-shared-user"], "--jobs-as": ["--jobs-as", "nobody"], "--jobs-as-range": ["--jobs-as-range", "61800-61809"]}


def main(stint, jobs=80):
    measured = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        daemons = {}
        for mode, flags in MODES.items():
            own = pathlib.Path(folder) / mode.strip("-")
            own.mkdir()
            daemons[mode] = RunningDaemon(stint, own, HERE, simulate=False, flags=flags)
        for number in range(1, jobs + 1):
            for mode, daemon in daemons.items():
                asked = time.time_ns()
                job = daemon.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["date", "+%s%N"], "cpu_milli": 100})["id"]
                while daemon.ask("GET", f"/v1/jobs/{job}")["state"] != "succeeded":
                    time.sleep(0.005)
                measured[mode].append((int((daemon.state / f"work/logs/{number}.0.0.out").read_text()) - asked) / 1e6)
        for daemon in daemons.values():
            daemon.stop()
    for mode, times in measured.items():
        print(f"{mode:24} median {statistics.median(times):.1f} ms, 90th percentile {sorted(times)[int(0.9 * len(times))]:.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
