#!/usr/bin/env python3
"""The API against its own contract: schemathesis sends what the OpenAPI document allows, and what it forbids, and looks at the answers.

Usage: test_api_fuzz.py STINT [--examples N]. Needs schemathesis (scripts/setup does not install it: pip install schemathesis); without
it the test is skipped. An answer of 5xx, one that is not in the contract or has another shape, is a finding.
"""
import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

SKIPPED = 77
FLEET = {
    "nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 64000,
               "memory": "512GiB", "per_hour": "16", "region": "eu"}],
    "queues": [{"name": "agency", "deserved_gpus": 4}, {"name": "zoo", "deserved_gpus": 4}],
    "govern": {"approval_above": "1000", "budgets": [{"name": "agency-all", "queue": "agency", "per_month": "100000"}],
               "clients": [{"name": "zoo", "max_gpus": 64, "user_max_waiting": 100}]},
}


def fuzzer():
    """The program, or None."""
    beside = pathlib.Path(sys.executable).parent / "schemathesis"
    found = os.environ.get("SCHEMATHESIS") or (str(beside) if beside.exists() else shutil.which("schemathesis"))
    if found is None and importlib.util.find_spec("schemathesis"):
        return [sys.executable, "-m", "schemathesis.cli"]
    return [found] if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stint")
    parser.add_argument("--examples", type=int, default=15)
    arguments = parser.parse_args()
    program = fuzzer()
    if program is None:
        print("skipped: schemathesis is not installed (pip install schemathesis)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        daemon = RunningDaemon(arguments.stint, folder, FLEET)
        try:
            # Jobs for the routes about one (agency-17 is the example of the contract): many wait for approval, few run.
            for i in range(40):
                daemon.ask("POST", "/v1/jobs", {"queue": "agency", "command": ["x"], "gpus": 8 if i % 2 else 1, "time_limit": "100h",
                                                "simulated_duration": "90h"})
            # What a caller may not do is refused with its own words, not with the framework's: those checks are held by the table of
            # routes and roles. An event stream has no end.
            # What could take the token's own rights away comes last, and in a separate run.
            alone = ["revokeToken", "putUser"]
            failed = 0
            for choice in (["--exclude-operation-id"], ["--include-operation-id"]):
                run = subprocess.run(
                    program + ["run", daemon.url + "/openapi.json", "--header", f"Authorization: Bearer {daemon.token}",
                               "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,"
                                           "response_headers_conformance,response_schema_conformance,negative_data_rejection",
                               "--max-examples", str(arguments.examples), "--phases", "examples,coverage,fuzzing",
                               "--generation-database", "none", "--seed", "1", "--request-timeout", "20", "--workers", "2"]
                    + [word for name in alone for word in (*choice, name)], cwd=folder, text=True, capture_output=True)
                print(run.stdout[-20000:])
                print(run.stderr[-4000:])
                failed |= run.returncode
                if daemon.process.poll() is not None:
                    print(f"the daemon ended with {daemon.process.returncode}")
                    return 1
            return failed
        finally:
            daemon.stop()


if __name__ == "__main__":
    sys.exit(main())
