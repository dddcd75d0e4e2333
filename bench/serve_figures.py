#!/usr/bin/env python3
"""What the inference server costs and gains: no-op requests a second beside nginx, overhead at half load, a served MLP beside the bare
runtime, what batching adds at a fixed p99, and a kept answer beside a computed one.

Usage: bench/serve_figures.py STINT ONNXRUNTIME [--seconds N] [--server-cpu A --client-cpu B] [--only MEASURE …]. Needs nginx, wrk and taskset. The server and
nginx run on one core, clients on another; each figure is the median of three turns, taken in alternation where two are compared. Figures "per CPU
second" divide by the processor time the server itself used: they hold on a machine that is busy with other things, too.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/serve"))
from running_server import RunningServer, synthetic  # noqa: E402

TURNS = 3
P99_MS = 20

parser = argparse.ArgumentParser()
parser.add_argument("stint")
parser.add_argument("onnxruntime")
parser.add_argument("--seconds", type=float, default=3)
parser.add_argument("--server-cpu", default="0")
parser.add_argument("--client-cpu", default="1")
parser.add_argument("--only", nargs="*", choices=("no_op", "mlp", "kept_answers"), help="default: all")
ARGS = parser.parse_args()
ENVIRONMENT = dict(os.environ, STINT_ONNXRUNTIME=ARGS.onnxruntime)


def on(cpu, *command):
    return ["taskset", "-c", cpu, *command]


def run(command, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode in codes, (command, done.returncode, done.stderr)
    return done.stdout


class Nginx:
    """Answers 200 with eleven bytes from memory: one worker, no log."""

    def __init__(self, folder, port):
        config = folder / "nginx.conf"
        config.write_text(f"""daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; location / {{ default_type application/json; return 200 '{{"ok":true}}'; }} }} }}""")
        self.url = f"http://127.0.0.1:{port}/"
        self.process = subprocess.Popen(on(ARGS.server_cpu, "nginx", "-c", str(config)))
        time.sleep(0.5)
        assert self.process.poll() is None, "nginx does not start"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=20)


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wrk(process, url, script=None):
    """Requests a second, and for each second of the server's processor time; every answer must be a 2xx."""
    before = cpu_seconds(process)
    out = run(on(ARGS.client_cpu, "wrk", "-t1", "-c32", f"-d{ARGS.seconds:g}s", *(["-s", script] if script else []), url))
    assert "Non-2xx" not in out, out
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), requests / (cpu_seconds(process) - before)


def wrk_script(folder):
    """A no-op inference of four values, tensors in binary both ways."""
    head = json.dumps({"parameters": {"binary_data_output": True}, "inputs": [
        {"name": "x", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}]}, separators=(",", ":"))
    script = folder / "infer.lua"
    script.write_text(f"""wrk.method = "POST"
wrk.body = '{head}' .. string.rep("\\0\\0\\128\\63", 4)
wrk.headers["Inference-Header-Content-Length"] = "{len(head)}"
""")
    return str(script)


def load(server, model, *arguments):
    return json.loads(run(on(ARGS.client_cpu, ARGS.stint, "serve", "load", "--server", f"127.0.0.1:{server.port}", "--model", model,
                             "--json", *arguments), codes=(0, 3)))


def start(folder, *arguments, **more):
    return RunningServer(ARGS.stint, folder, arguments=("--threads", "1", *arguments), environment=ENVIRONMENT,
                         prefix=("taskset", "-c", ARGS.server_cpu), **more)


def no_op(folder, told):
    nginx, server = Nginx(folder, 18479), start(folder / "noop", models={"noop": {1: synthetic()}})
    try:
        infer, script = server.url + "/v2/models/noop/infer", wrk_script(folder)
        static, no_ops = [], []
        for turn in range(TURNS + 1):  # the first warms up
            peer, own = wrk(nginx.process, nginx.url), wrk(server.process, infer, script)
            if turn > 0:
                static.append(peer)
                no_ops.append(own)
        for which, unit in ((0, "per_s"), (1, "per_cpu_s")):
            told[f"nginx_{unit}"] = statistics.median(t[which] for t in static)
            told[f"noop_infer_{unit}"] = statistics.median(t[which] for t in no_ops)
            told[f"noop_of_nginx_{unit}"] = statistics.median(n[which] / s[which] for n, s in zip(no_ops, static))
        half = told["noop_infer_per_s"] / 2
        turns = [load(server, "noop", "--rate", str(half), "--seconds", str(ARGS.seconds)) for _ in range(TURNS)]
        told["half_load_per_s"] = half
        for quantile in ("p50", "p99"):
            told[f"overhead_{quantile}_us"] = statistics.median(t["latency"][f"{quantile}_ms"] for t in turns) * 1e3
            told[f"overhead_{quantile}_once_sent_us"] = statistics.median(t["from_sent"][f"{quantile}_ms"] for t in turns) * 1e3
    finally:
        server.stop()
        nginx.stop()


def put_mlp(folder, file, name, config):
    (folder / name / "1").mkdir(parents=True)
    shutil.copy(file, folder / name / "1/model.onnx")
    (folder / name / "model.json").write_text(json.dumps(config))


def most_at_p99(server, model):
    """The largest Poisson rate, within 5 %, at which 99 of 100 requests are answered within P99_MS."""
    def kept(rate):
        return load(server, model, "--rate", str(rate), "--seconds", str(ARGS.seconds), "--p99", f"{P99_MS}ms")["promise_kept"]
    good, bad = 500.0, None
    while bad is None or bad > good * 1.05:
        rate = good * 2 if bad is None else (good * bad) ** 0.5
        if kept(rate):
            good = rate
        else:
            bad = rate
    return good


def mlp(folder, told):
    file = folder / "mlp.onnx"
    run([ARGS.stint, "serve", "example", "mlp", "-o", str(file)])
    repository = folder / "mlp"
    put_mlp(repository, file, "batched", {"max_batch": 32, "max_wait_ms": 0, "queue": 4096})
    put_mlp(repository, file, "single", {"max_batch": 1, "queue": 4096})
    server = start(repository)
    try:
        pairs = []
        for _ in range(TURNS):
            raw = json.loads(run(on(ARGS.server_cpu, ARGS.stint, "serve", "measure", "--model", str(file), "--json")))
            raw_rate = next(b["items_per_s"] for b in raw["batches"] if b["batch"] == 32)
            before = cpu_seconds(server.process)
            served = load(server, "batched", "--arrivals", "closed", "--connections", "4", "--items", "32", "--seconds", str(ARGS.seconds))
            pairs.append((raw_rate, served["answered_per_second"] * 32,
                          served["answered"] * 32 / (cpu_seconds(server.process) - before)))
        told["mlp_raw_items_per_s"] = statistics.median(p[0] for p in pairs)
        told["mlp_served_items_per_s"] = statistics.median(p[1] for p in pairs)
        told["mlp_served_items_per_cpu_s"] = statistics.median(p[2] for p in pairs)
        told["mlp_served_of_raw"] = statistics.median(p[1] / p[0] for p in pairs)
        told["mlp_served_of_raw_by_cpu"] = statistics.median(p[2] / p[0] for p in pairs)
        told["single_per_s_at_p99"] = most_at_p99(server, "single")
        told["batched_per_s_at_p99"] = most_at_p99(server, "batched")
        told["batching_gain"] = told["batched_per_s_at_p99"] / told["single_per_s_at_p99"]
    finally:
        server.stop()


def kept_answers(folder, told):
    """The MLP computed and kept, one row and 32 rows a request: how long a request takes on a quiet server, how many there are a second, and
    what processor time the server needs for one."""
    file = folder / "mlp.onnx"
    run([ARGS.stint, "serve", "example", "mlp", "-o", str(file)])
    repository = folder / "kept"
    put_mlp(repository, file, "computed", {"max_batch": 32, "queue": 4096})
    put_mlp(repository, file, "kept", {"max_batch": 32, "queue": 4096, "cache": True})
    server = start(repository, "--response-cache", "64")
    try:
        for items in ("1", "32"):
            turns = {"computed": [], "kept": []}
            for _ in range(TURNS):
                for model, figures in turns.items():
                    quiet = load(server, model, "--items", items, "--rate", "100", "--seconds", str(ARGS.seconds))["from_sent"]
                    before = cpu_seconds(server.process)
                    most = load(server, model, "--items", items, "--arrivals", "closed", "--connections", "4", "--seconds", str(ARGS.seconds))
                    each = (cpu_seconds(server.process) - before) / most["answered"]
                    figures.append((quiet["p50_ms"] * 1e3, quiet["p99_ms"] * 1e3, most["answered_per_second"], each * 1e6))
            for model, figures in turns.items():
                for which, what in enumerate(("p50_us", "p99_us", "per_s", "cpu_us")):
                    told[f"{model}_{items}_{what}"] = statistics.median(turn[which] for turn in figures)
    finally:
        server.stop()


def main():
    told = {"p99_ms": P99_MS, "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as scratch:
        for measure in (no_op, mlp, kept_answers):
            if not ARGS.only or measure.__name__ in ARGS.only:
                measure(pathlib.Path(scratch), told)
    told["load_after"] = os.getloadavg()[0]
    print(json.dumps(told, indent=1))


main()
