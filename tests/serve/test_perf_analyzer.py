#!/usr/bin/env python3
"""stint serve run under Triton's perf_analyzer. Usage: test_perf_analyzer.py STINT SOURCE.

Skipped without it: scripts/setup-tritonclient fetches it into build/tritonclient/perf_analyzer. Asserts that every request is answered
and what it says of batches, not how fast.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from running_server import RunningServer, synthetic  # noqa: E402

SKIPPED = 77


def analyse(program, protocol, address, scratch, *arguments):
    """Rows of its table of results. Any spread is stable enough for it: this machine may have other work."""
    table = scratch / "result.csv"
    done = subprocess.run(
        [program, "-u", address, "-i", protocol, "-p", "1000", "-s", "10000", "-f", str(table), *arguments],
        capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=str(program.parent)), timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(table, newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def count_of(what, metrics):
    return float(re.search(rf"^stint_serve_{what}_total{{.*}} (\S+)$", metrics, re.MULTILINE).group(1))


def main():
    stint, source = sys.argv[1], pathlib.Path(sys.argv[2])
    program = source / "build/tritonclient/perf_analyzer/perf_analyzer"
    if not program.exists() or subprocess.run([program, "--help"], capture_output=True, check=False,
                                              env=dict(os.environ, LD_LIBRARY_PATH=str(program.parent))).returncode == 127:
        print("skipped: no perf_analyzer that runs here: scripts/setup-tritonclient fetches it, scripts/setup installs libb64")
        return SKIPPED
    has_grpc = "--grpc" in subprocess.run([stint, "serve", "run", "--help"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        server = RunningServer(stint, scratch / "m", {"echo": {1: synthetic(shape=(784,), base_us=2000)}},  # so many that its random bytes hold NaN
                               arguments=["--grpc", "127.0.0.1:0"] if has_grpc else [])
        addresses = {"http": server.url.removeprefix("http://")} | ({"grpc": server.grpc} if has_grpc else {})
        try:
            for protocol, address in addresses.items():
                alone, together = analyse(program, protocol, address, scratch, "-m", "echo", "--concurrency-range", "1:5:4")
                # One at a time cannot be above 500/s.
                assert 0 < float(alone["Inferences/Second"]) <= 500, alone
                assert float(together["Inferences/Second"]) > 0, together
                metrics = server.ask("GET", "/metrics")[1].decode()
                assert count_of("items", metrics) > count_of("batches", metrics) > 0, f"five share batches: {metrics}"
                (rated,) = analyse(program, protocol, address, scratch, "-m", "echo", "-b", "8", "--request-rate-range", "20")
                assert float(rated["Inferences/Second"]) > 0, rated
            metrics = server.ask("GET", "/metrics")[1].decode()
            assert 'outcome="failed"' not in metrics or 'outcome="failed"} 0' in metrics, metrics
        finally:
            server.stop()
    print("perf_analyzer is content")
    return 0


if __name__ == "__main__":
    sys.exit(main())
