#!/usr/bin/env python3
"""`stint serve quantize` on a BERT-like and two ResNet-like models: size, speed, and accuracy on rows that neither training nor calibration saw.

Usage: bench/serve_quantize.py STINT ONNXRUNTIME [--rows N]. Needs numpy, onnx (below 1.18) and onnxruntime (PyPI). All layers but the last have random
weights; the last is fitted by ridge regression on --train other rows, so that classes mean something. The BERT has three inputs of a free length, of which rows
use 64: words of which half are of the class's own, the last ones masked. Images are waves in noise; the class is their direction.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from serve_models import RNG, bert, resnet  # noqa: E402

LENGTH, CLASSES = 64, 8


def words(rows):
    labels = RNG.integers(0, CLASSES, rows)
    lengths = RNG.integers(LENGTH // 4, LENGTH + 1, (rows, 1))
    mask = (numpy.arange(LENGTH)[None] < lengths).astype(numpy.int64)
    own = 1000 + 40 * labels[:, None] + RNG.integers(0, 40, (rows, LENGTH))
    ids = numpy.where(RNG.random((rows, LENGTH)) < 0.5, own, RNG.integers(2000, 30_522, (rows, LENGTH)))
    return labels, {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": (numpy.arange(LENGTH)[None] >= lengths // 2).astype(numpy.int64) * mask}


def images(side, rows):
    labels = RNG.integers(0, CLASSES, rows)
    x, y = numpy.meshgrid(numpy.arange(side), numpy.arange(side))
    angle = (labels * numpy.pi / CLASSES)[:, None, None, None]
    waves = numpy.sin((x * numpy.cos(angle) + y * numpy.sin(angle)) * 2 * numpy.pi / 8 + RNG.uniform(0, 2 * numpy.pi, (rows, 1, 1, 1)))
    return labels, {"x": (waves + 0.7 * RNG.standard_normal((rows, 3, side, side))).astype(numpy.float32)}


def fit_last_layer(file, labels, data):
    """Ridge regression on what the layers before the last one make of the rows."""
    model = onnx.load(file)
    last = next(node for node in reversed(model.graph.node) if node.op_type == "Gemm")
    inside = onnx.ModelProto()
    inside.CopyFrom(model)
    inside.graph.output.append(onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(inside.SerializeToString())
    features = numpy.concatenate([session.run([last.input[0]], {name: values[at:at + 50] for name, values in data.items()})[0]
                                  for at in range(0, len(labels), 50)]).astype(numpy.float64)
    # One scale for all features: those that hardly vary are to weigh little, else rounding them would.
    mean = features.mean(0)
    x = features - mean
    weights = numpy.linalg.solve(x.T @ x + 0.1 * numpy.trace(x.T @ x) / x.shape[1] * numpy.eye(x.shape[1]), x.T @ (numpy.eye(CLASSES)[labels] - 1 / CLASSES))
    offsets = 1 / CLASSES - mean @ weights
    for name, values in ((last.input[1], weights), (last.input[2], offsets)):
        constant = next(c for c in model.graph.initializer if c.name == name)
        constant.CopyFrom(onnx.numpy_helper.from_array(values.astype(numpy.float32), name))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = CLASSES
    onnx.save(model, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stint")
    parser.add_argument("onnxruntime")
    parser.add_argument("--rows", type=int, default=1000, help="half to calibrate, half to judge")
    parser.add_argument("--train", type=int, default=2000)
    arguments = parser.parse_args()
    cases = {"BERT-like, 4 layers of 256, 30,522 words, 64 of a free length": (lambda: bert(30_522, 256, 4), lambda n: words(n), 8),
             "ResNet-18-like, 3×64×64": (lambda: resnet(64, 64, [2, 2, 2, 2]), lambda n: images(64, n), 8),
             "ResNet-8-like, 3×64×64": (lambda: resnet(64, 32, [1, 1, 1]), lambda n: images(64, n), 8)}
    for name, (make, data, batch) in cases.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            make().save(folder / "m.onnx")
            fit_last_layer(folder / "m.onnx", *data(arguments.train))
            labels, inputs = data(arguments.rows)
            numpy.save(folder / "labels.npy", labels)
            given = ["--labels", "labels.npy"]
            for tensor, values in inputs.items():
                numpy.save(folder / f"{tensor}.npy", values)
                given += ["--calibrate", f"{tensor}={tensor}.npy"]
            done = subprocess.run([pathlib.Path(arguments.stint).resolve(), "serve", "quantize", "m.onnx", *given, "--batch", str(batch), "--json", "-o", "small.onnx"],
                                  cwd=folder, capture_output=True, text=True, check=False, env=dict(os.environ, STINT_ONNXRUNTIME=arguments.onnxruntime))
            assert done.returncode in (0, 3), done.stderr
            told = json.loads(done.stdout)
            for one in told["variants"]:
                print(f"| {name} | {one['method']} | {one['times_smaller']:.2f} | {one['times_faster']:.2f} | {told['given']['accuracy']:.1%} → {one['accuracy']:.1%} | "
                      f"{one['verdict']} |", flush=True)


main()
