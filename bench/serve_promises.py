#!/usr/bin/env python3
"""The load that the inference server promises to keep a p99 at, and whether it does: five models and more, each alone in a server, by open load (Poisson) at
that rate, timed from when requests were due; and from when they were sent, which a client that cannot send so many makes later.

Usage: bench/serve_promises.py STINT ONNXRUNTIME [--real FOLDER] [--seconds N] [--prefix WORD …]. Needs numpy and onnx (PyPI, below 1.18). FOLDER: ONNX files of
others, as the wheels of magika and rapidocr_onnxruntime hold them (`pip download --no-deps`, unzip); which sizes their free dimensions get stands below.
`--prefix chrt -r 1` gives server and client a core each where other work runs beside it; `--server-cpus 0 --client-cpus 1` keeps them apart: the server then promises what
its cores can do.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/serve"))
from running_server import RunningServer  # noqa: E402
from serve_models import bert, mlp, resnet  # noqa: E402

TURNS = 3
# name: (file or what makes it, sizes of free dimensions by input and place, promise in ms)
MODELS = {
    "MLP 512-1024-1024-128": (lambda: mlp(512, 1024, 1024, 128), {}, 20),
    "BERT mini, 64": (lambda: bert(30_522, 256, 4, 64), {}, 200),
    "ResNet-8-like": (lambda: resnet(64, 32, [1, 1, 1]), {}, 50),
    "magika": ("magika/model.onnx", {}, 200),
    "PP-OCRv4 recognition": ("rapidocr_onnxruntime/ch_PP-OCRv4_rec_infer.onnx", {"x.2": 48, "x.3": 160}, 500),
    "PP-OCR orientation": ("rapidocr_onnxruntime/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x.2": 48, "x.3": 192}, 100),
    "PP-OCRv4 detection": ("rapidocr_onnxruntime/ch_PP-OCRv4_det_infer.onnx", {"x.2": 160, "x.3": 160}, 500),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stint")
    parser.add_argument("onnxruntime")
    parser.add_argument("--real")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--server-cpus")
    parser.add_argument("--client-cpus")
    parser.add_argument("--prefix", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    environment = dict(os.environ, STINT_ONNXRUNTIME=arguments.onnxruntime)

    def on(cpus):
        return [*arguments.prefix, *(["taskset", "-c", cpus] if cpus else [])]
    for name, (source, sizes, limit) in MODELS.items():
        if arguments.only and not any(part in name for part in arguments.only) or isinstance(source, str) and not arguments.real:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            version = pathlib.Path(scratch) / "models/m/1"
            version.mkdir(parents=True)
            if isinstance(source, str):
                shutil.copy(pathlib.Path(arguments.real) / source, version / "model.onnx")
            else:
                source().save(version / "model.onnx")
            # Where the model has a name for a dimension, that is what it is called.
            named = {}
            if sizes:
                import onnx
                for value in onnx.load(version / "model.onnx").graph.input:
                    for place, dim in enumerate(value.type.tensor_type.shape.dim):
                        if f"{value.name}.{place}" in sizes:
                            given = dim.dim_param if dim.dim_param not in ("", "?") else f"{value.name}.{place}"
                            named[given] = {"largest": sizes[f"{value.name}.{place}"]}
            (version.parent / "model.json").write_text(json.dumps({"promise_p99_ms": limit, "tune": True, "queue": 8192, "dimensions": named}))
            server = RunningServer(arguments.stint, version.parent.parent, environment=environment, prefix=on(arguments.server_cpus))
            try:
                assert "not served" not in server.said, server.said
                shapes = [f"--shape={key}={size}" for key, size in sizes.items()]

                def load(rate, seconds):
                    done = subprocess.run([*on(arguments.client_cpus), arguments.stint, "serve", "load", "--server", f"127.0.0.1:{server.port}", "--model", "m", "--rate", str(rate),
                                           "--seconds", str(seconds), "--p99", f"{limit}ms", "--json", *shapes], capture_output=True, text=True, check=False)
                    return json.loads(done.stdout)
                promised = server.metric("stint_serve_promised_requests_per_second")
                load(max(1, promised / 4), 1)
                turns = [load(promised, arguments.seconds) for _ in range(TURNS)]
                p99 = sorted(turn["latency"]["p99_ms"] for turn in turns)
                sent = statistics.median(turn["from_sent"]["p99_ms"] for turn in turns)
                beyond = load(promised * 1.5, arguments.seconds)
                print(f"| {name} | {limit} | {promised:.0f} | {sum(turn['promise_kept'] for turn in turns)} of {TURNS} | {p99[TURNS // 2]:.1f} ({p99[0]:.1f}–{p99[-1]:.1f}) | {sent:.1f} | "
                      f"{'kept' if beyond['promise_kept'] else 'broken'}, {beyond['latency']['p99_ms']:.1f} |", flush=True)
            finally:
                server.stop()


main()
