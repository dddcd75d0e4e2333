#!/usr/bin/env python3
"""Is p99 of a service what the model of replicas says? `stint serve` under open load (Poisson) beside what its measured batches predict.

Usage: bench/serve_p99.py STINT POOL_P99 [--seconds 20] [--prefix WORD …]. Models that only take time: what is held against the server is the
queue, not a processor that other work shares. Batches are measured through the server, then requests come at 0.3 to 0.9 of what it can do;
three turns each, median of p99 from when requests were due. `--prefix chrt -r 1` where other work runs beside it.
"""
import argparse
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/serve"))
from running_server import RunningServer, synthetic  # noqa: E402

TURNS, LOADS = 3, (0.3, 0.5, 0.7, 0.8, 0.9)
# name: (ms of a batch, ms of each item of it, largest batch, instances)
SERVICES = {
    "one replica, 5 ms": (5, 0, 1, 1),
    "four replicas, 10 ms": (10, 0, 1, 4),
    "batches of up to 16, 5 + 0.5 ms": (5, 0.5, 16, 1),
}


def measured_batches(run, largest):
    """@return {size: median ms}, through the server."""
    told = run("measure", "--max-batch", largest, "--runs", 30)
    times = {}
    for row in csv.DictReader(io.StringIO(told)):
        times.setdefault(int(row["batch"]), []).append(float(row["ms"]))
    return {size: statistics.median(each) for size, each in sorted(times.items())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stint")
    parser.add_argument("pool_p99")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--prefix", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    errors = []
    for name, (base, item, largest, instances) in SERVICES.items():
        with tempfile.TemporaryDirectory() as scratch:
            server = RunningServer(arguments.stint, scratch, {"m": {1: synthetic(base_us=int(1000 * base), item_us=int(1000 * item))}},
                                   {"m": {"max_batch": largest, "instances": instances, "queue": 8192}}, ["--threads", str(instances)],
                                   prefix=arguments.prefix)

            def run(command, *more):
                return subprocess.run([*arguments.prefix, arguments.stint, "serve", command, "--server", f"127.0.0.1:{server.port}", "--model", "m",
                                       *map(str, more)], capture_output=True, text=True, check=True).stdout
            try:
                batches = measured_batches(run, largest)
                most = instances * 1000 * largest / batches[max(batches)]
                rates = [round(most * load, 2) for load in LOADS]
                curve = ",".join(f"{size}:{ms}" for size, ms in batches.items())
                told = subprocess.run([arguments.pool_p99, str(instances), curve, *map(str, rates)], capture_output=True, text=True, check=True).stdout
                predicted = [float(line.split()[1]) for line in told.splitlines()]
                for load, rate, ms in zip(LOADS, rates, predicted):
                    p99 = sorted(json.loads(run("load", "--rate", rate, "--seconds", arguments.seconds, "--seed", turn + 1, "--json"))["latency"]["p99_ms"]
                                 for turn in range(TURNS))
                    errors.append(100 * (ms / p99[TURNS // 2] - 1))
                    print(f"| {name} | {load} | {ms:.1f} | {p99[TURNS // 2]:.1f} ({p99[0]:.1f}–{p99[-1]:.1f}) | {errors[-1]:+.1f} % |", flush=True)
            finally:
                server.stop()
    print(f"median of the error's size {statistics.median(map(abs, errors)):.1f} %, largest {max(map(abs, errors)):.1f} %")


if __name__ == "__main__":
    main()
