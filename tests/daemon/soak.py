#!/usr/bin/env python3
"""A daemon under a steady load for as long as you like: its memory must stay where it is.

Submits, cancels, listeners of events and readers of lists, at a steady rate, on simulated GPUs. Prints resident memory every few
seconds; after the warm-up (a quarter of the time) it may not grow by more than the allowed part over the rest: compared are the
medians of the first and the last third of what follows the warm-up.

  tests/daemon/soak.py build/release/stint --minutes 30
  tests/daemon/soak.py build/release/stint --minutes 30 --faults 10m   # machines fail and come back, spot is taken back
"""
import argparse
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402


def fleet(rate):
    """Machines for all that is submitted, two thirds of them in use: a job is 5.3 GPU-seconds, arrays counted."""
    return {
        "policy": "stint",
        "nodes": [{"name": f"n{n}", "gpu_model": "A100-80GB", "gpus": 8, "per_hour": "16", "market": "spot" if n % 2 else "owned"} for n in range(max(2, round(rate)))],
        "queues": [{"name": "acme", "deserved_gpus": 4 * rate}, {"name": "acme/vision"}, {"name": "zoo", "deserved_gpus": 4 * rate}],
    }


class Client:
    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("the daemon is gone")


def submit_steadily(port, token, rate, until, counts):
    client = Client(port, token)
    due = time.monotonic()
    number = 0
    while time.monotonic() < until:
        number += 1
        job = {"queue": "zoo" if number % 3 == 0 else "acme/vision", "name": f"soak-{number}", "command": ["./train"],
               "gpus": 1 + number % 4, "simulated_duration": 1 + number % 3}
        if number % 50 == 0:
            job |= {"array": 4, "at_once": 2}
        status, body = client.ask("POST", "/v1/jobs", job)
        counts["submitted" if status == 201 else "refused"] += 1
        if status == 201 and number % 20 == 0:
            client.ask("POST", f"/v1/jobs/{json.loads(body)['id']}/cancel")
        if number % 25 == 0:
            client.ask("GET", "/v1/jobs?limit=50")
        due += 1 / rate
        time.sleep(max(0, due - time.monotonic()))


def listen(port, token, until, counts):
    while time.monotonic() < until:
        client = Client(port, token)
        client.connection.request("GET", "/v1/events", None, client.headers | {"Accept": "text/event-stream"})
        stream = client.connection.getresponse()
        end = min(until, time.monotonic() + 20)  # then it comes back, as a browser does
        while time.monotonic() < end and (line := stream.readline()):
            counts["events"] += line.startswith(b"id:")
        client.connection.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("stint", help="the program")
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--rate", type=float, default=40, help="submissions a second")
    arguments.add_argument("--faults", help="mean time until a machine fails or is taken back, such as 3m; without: all stay")
    arguments.add_argument("--listeners", type=int, default=4)
    arguments.add_argument("--growth", type=float, default=5, help="percent of resident memory that may be added")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        daemon = RunningDaemon(options.stint, name, fleet(options.rate),
                               more=["--simulated-faults", options.faults] if options.faults else [])
        port, token = int(daemon.url.rsplit(":", 1)[1]), daemon.token
        try:
            begin = time.monotonic()
            until = begin + options.minutes * 60
            counts = {"submitted": 0, "refused": 0, "events": 0}
            workers = [threading.Thread(target=submit_steadily, args=(port, token, options.rate, until, counts), daemon=True)]
            workers += [threading.Thread(target=listen, args=(port, token, until, counts), daemon=True)
                        for _ in range(options.listeners)]
            for worker in workers:
                worker.start()
            samples = []
            while time.monotonic() < until:
                time.sleep(min(5, options.minutes * 60 / 40))
                samples.append(resident_kib(daemon.process.pid))
                if len(samples) % 6 == 1:
                    print(f"{time.monotonic() - begin:7.0f} s  {samples[-1] / 1024:8.1f} MiB  {counts}", flush=True)
        finally:
            daemon.stop()
        steady = samples[len(samples) // 4:]
        third = len(steady) // 3
        first, last = statistics.median(steady[:third]), statistics.median(steady[-third:])
        growth = 100 * (last - first) / first
        print(f"{counts['submitted']} submitted, {counts['refused']} refused, {counts['events']} events heard; resident memory "
              f"{first / 1024:.1f} MiB after the warm-up, {last / 1024:.1f} MiB at the end: {growth:+.1f} %")
        if growth > options.growth or counts["refused"] or not counts["events"]:
            sys.exit("the memory grew, or something was refused or not heard")


if __name__ == "__main__":
    main()
