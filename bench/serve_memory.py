#!/usr/bin/env python3
"""What the inference server books for models of many kinds, beside what they really take: 50 models, each in a separate server.

Usage: bench/serve_memory.py STINT ONNXRUNTIME [--only PART …] [--json]. Needs numpy and onnx (PyPI, below 1.18).

Each server first answers for a model of one operator and, as often and as long as for the model later, for one that only takes and gives the same tensors: what the
server takes for itself and for requests is there then. Then the model is loaded and asked for single items and for its largest batch, by one
client, until its arena has grown as far as it does. True is what the server's anonymous memory grew by meanwhile, each time once no request has any and after
a load, at whose end the heap hands back what it holds unused; booked what /metrics says it booked. Prints a table, the largest error, and how many are within 10 %.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/serve"))
from running_server import RunningServer  # noqa: E402
from serve_models import MODELS, Graph  # noqa: E402

MIB = 1 << 20
MAX_BATCH = 8
LENGTH = 128  # the largest of a free sequence


def anonymous(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]) * 1024


def settled(process):
    """What it takes when it no longer changes."""
    last = anonymous(process)
    for _ in range(20):
        time.sleep(0.3)
        now = anonymous(process)
        if abs(now - last) < 64 << 10:
            return now
        last = now
    return last


def tensors(values):
    """As model.synthetic.json has them; free dimensions are as large as they get."""
    names = {TensorProto.FLOAT: "FP32", TensorProto.INT64: "INT64", TensorProto.STRING: "BYTES"}
    return [{"name": value.name, "datatype": names[value.type.tensor_type.elem_type],
             "shape": [dim.dim_value or LENGTH for dim in value.type.tensor_type.shape.dim[1:]]} for value in values]


def like(tensor, datatype):
    """As many bytes of another type: a synthetic model's outputs are of its first input's."""
    sizes = {"FP32": 4, "INT64": 8, "BYTES": 4}
    values = math.prod(tensor["shape"]) * sizes[tensor["datatype"]] // sizes[datatype]
    return {"name": tensor["name"], "datatype": datatype, "shape": [max(1, values)]}


def weigh(stint, environment, folder, file):
    """(booked, true) in bytes of the model once it has run its largest batch."""
    graph = onnx.load(file).graph
    inputs, outputs = tensors(graph.input), tensors(graph.output)
    free = [i.name for i in graph.input if i.type.tensor_type.shape.dim[-1].dim_param == "sequence"]
    nothing = Graph()
    nothing.output(nothing.node("Relu", nothing.input("x", [1])), [1])
    (folder / "nothing/1").mkdir(parents=True)
    nothing.save(folder / "nothing/1/model.onnx")
    (folder / "like/1").mkdir(parents=True)
    (folder / "like/1/model.synthetic.json").write_text(json.dumps({"inputs": inputs, "outputs": [like(one, inputs[0]["datatype"]) for one in outputs]}))
    (folder / "like/model.json").write_text(json.dumps({"max_batch": MAX_BATCH}))
    server = RunningServer(stint, folder, arguments=("--threads", "1", "--memory", "8192"), environment=environment, controlled=True)
    try:
        assert "not served" not in server.said, server.said

        def ask_to_load(model):
            status, body = server.ask("POST", f"/v2/repository/models/{model}/load", {}, headers=server.CONTROL)
            assert status == 200, body

        def hand_back():
            server.wait_for(lambda: server.metric("stint_serve_request_bytes") == 0)
            ask_to_load("nothing")

        def load(model, items, seconds):
            done = subprocess.run([stint, "serve", "load", "--server", f"127.0.0.1:{server.port}", "--model", model, "--arrivals", "closed",
                                   "--connections", "1", "--items", str(items), "--seconds", str(seconds), "--json",
                                   *(f"--shape={name}.1={LENGTH}" for name in free if model == "m")], capture_output=True, text=True, check=False)
            told = json.loads(done.stdout)
            if told["answered"] < 4 and not told["refused"] and seconds < 60:  # a machine that is busy with other work
                server.wait_for(lambda: server.metric("stint_serve_request_bytes") == 0)  # the last request was left before its answer
                return load(model, items, seconds * 4)
            assert told["answered"] > 0 and told["answered"] >= told["sent"] - 1, told
            return None
        ask_to_load("nothing")
        load("nothing", 1, 0.2)
        for items in (1, MAX_BATCH):
            load("like", items, 1)
        hand_back()
        before, booked = settled(server.process), server.metric("stint_serve_memory_booked_bytes")
        (folder / "m/1").mkdir(parents=True)
        file.rename(folder / "m/1/model.onnx")
        (folder / "m/model.json").write_text(json.dumps({"max_batch": MAX_BATCH, **({"dimensions": {"sequence": {"largest": LENGTH}}} if free else {})}))
        ask_to_load("m")
        for items in (1, MAX_BATCH):
            load("m", items, 1)
        after = server.metric("stint_serve_memory_booked_bytes")
        hand_back()
        return after - booked, settled(server.process) - before
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stint")
    parser.add_argument("onnxruntime")
    parser.add_argument("--only", nargs="*", help="models whose names hold one of these")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    environment = dict(os.environ, STINT_ONNXRUNTIME=arguments.onnxruntime)
    rows = []
    for name, make in MODELS.items():
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "made.onnx"
            make().save(file)
            size = file.stat().st_size
            booked, true = weigh(arguments.stint, environment, pathlib.Path(scratch) / "models", file)
        rows.append({"model": name, "file": size, "booked": booked, "true": true})
        if not arguments.json:
            print(f"| {name} | {size / MIB:.1f} | {true / MIB:.1f} | {booked / MIB:.1f} | {booked / true - 1:+.1%} |", flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    errors = [row["booked"] / row["true"] - 1 for row in rows]
    within = sum(abs(error) <= 0.1 for error in errors)
    close = sum(abs(row["booked"] - row["true"]) <= max(0.1 * row["true"], MIB) for row in rows)
    print(f"{len(rows)} models: {within} within 10 %, {close} within 10 % or 1 MiB; median error {statistics.median(map(abs, errors)):.1%}, "
          f"from {min(errors):+.1%} to {max(errors):+.1%}; together booked {sum(r['booked'] for r in rows) / sum(r['true'] for r in rows) - 1:+.1%}")


main()
