#!/usr/bin/env python3
"""stint serve run as its clients meet it. Usage: test_serve.py STINT [SUITE]."""
import gzip
import hashlib
import http.server
import json
import math
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import onnx_file  # noqa: E402
from running_server import DATATYPES, RunningServer, config_type, one_of_every_type, synthetic  # noqa: E402

STINT = sys.argv[1] if len(sys.argv) > 1 else "build/dev/stint"


class ServerCase(unittest.TestCase):
    """One server for all tests of a class."""
    models, settings, arguments, controlled = {}, {}, (), False

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.server = RunningServer(STINT, pathlib.Path(cls.scratch.name) / "models", cls.models, cls.settings, cls.arguments,
                                   controlled=cls.controlled)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.cleanup()


class Protocol(ServerCase):
    models = {"echo": {1: synthetic()}, "slow": {1: synthetic(base_us=100_000)}}
    settings = {"slow": {"max_batch": 1, "queue": 4}}

    def test_health_and_metadata(self):
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)
        self.assertEqual(self.server.ask("GET", "/v2/health/ready")[0], 200)
        about = json.loads(self.server.ask("GET", "/v2")[1])
        self.assertEqual(about["name"], "stint")
        self.assertIn("binary_tensor_data", about["extensions"])
        model = json.loads(self.server.ask("GET", "/v2/models/echo")[1])
        self.assertEqual(model["versions"], ["1"])
        self.assertEqual(model["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
        self.assertEqual(self.server.ask("GET", "/v2/models/echo/ready")[0], 200)
        self.assertEqual(self.server.ask("GET", "/v2/models/echo/versions/1/ready")[0], 200)
        self.assertEqual(self.server.ask("GET", "/v2/models/echo/versions/2/ready")[0], 404)
        self.assertEqual(self.server.ask("GET", "/v2/models/other")[0], 404)
        self.assertEqual(self.server.ask("GET", "/v2/models/echo/infer")[0], 405)

    def test_answers_json(self):
        status, answer = self.server.infer("echo", [[1, 2, 3, 4], [5, 6, 7, 8.5]])
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["model_name"], "echo")
        self.assertEqual(answer["outputs"], [{"name": "y", "datatype": "FP32", "shape": [2, 4],
                                              "data": [1, 2, 3, 4, 5, 6, 7, 8.5]}])

    def test_answers_in_binary(self):
        head = json.dumps({"id": "7", "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32",
                                                  "parameters": {"binary_data_size": 16}}],
                           "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}).encode()
        status, body = self.server.ask("POST", "/v2/models/echo/infer", head + struct.pack("<4f", 1, 2, 3, 4),
                                       {"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual(status, 200, body)
        answer = json.loads(body[:-16])
        self.assertEqual(answer["id"], "7")
        self.assertEqual(answer["outputs"][0]["parameters"]["binary_data_size"], 16)
        self.assertEqual(struct.unpack("<4f", body[-16:]), (1, 2, 3, 4))

    def test_compressed_bodies_are_read(self):
        body = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}).encode()
        def ask(sent, coding, where="/v2/models/echo/infer"):
            status, answer = self.server.ask("POST", where, sent, {"Content-Encoding": coding})
            return status, json.loads(answer)
        for coding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)):
            status, answer = ask(pack(body), coding)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["outputs"][0]["data"], [1, 2, 3, 4])
        status, answer = ask(gzip.compress(json.dumps({"x": [1, 2, 3, 4]}).encode()), "gzip", "/v2/models/echo/generate")
        self.assertEqual((status, answer.get("y")), (200, [1, 2, 3, 4]), answer)
        self.assertEqual(ask(body, "br")[0], 415)
        self.assertEqual(ask(gzip.compress(gzip.compress(body)), "gzip, gzip")[0], 415)
        for sent, why in ((body, "no gzip data"), (gzip.compress(body)[:-3], "ends early"), (gzip.compress(body) + b"x", "follows"),
                          (gzip.compress(bytes(17 << 20)), "unpacks to more")):  # --max-body is 16 MiB
            status, answer = ask(sent, "gzip")
            self.assertEqual(status, 400, answer)
            self.assertIn(why, answer["error"])
        self.assertEqual(self.server.infer("echo", [[1, 2, 3, 4]])[0], 200)

    def test_answers_are_not_compressed_unless_the_server_is_told_so(self):
        answer = answer_with_headers(self.server, "echo", [[1, 2, 3, 4]] * 32, {"Accept-Encoding": "gzip"})
        self.assertIsNone(answer.headers["Content-Encoding"])

    def test_refuses_what_does_not_fit(self):
        for body, why in (({"inputs": []}, "0 inputs"),
                          ({"inputs": [{"name": "z", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}, "missing"),
                          ({"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}, "expected"),
                          ({"inputs": [{"name": "x", "shape": [0, 4], "datatype": "FP32", "data": []}]}, "expected"),
                          ({"inputs": [{"name": "x", "shape": [1000, 4], "datatype": "FP32", "data": [0] * 4000}]}, "largest batch"),
                          ({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}],
                            "outputs": [{"name": "q"}]}, "no output"),
                          (b"\xff\xfe", "JSON")):
            status, answer = self.server.ask("POST", "/v2/models/echo/infer", body)
            self.assertEqual(status, 400, answer)
            self.assertIn(why, json.loads(answer)["error"])
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as client:
            client.sendall(b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 17825792\r\n\r\nx")
            self.assertIn(b" 413 ", client.recv(4096))

    def test_a_request_that_cannot_be_in_time_is_refused_at_once(self):
        status, answer = self.server.infer("slow", [[1, 2, 3, 4]], timeout=50_000)  # microseconds; a batch takes 100 ms
        self.assertEqual(status, 504, answer)
        self.assertEqual(self.server.infer("slow", [[1, 2, 3, 4]], timeout=10_000_000)[0], 200)

    def test_its_latency_is_told_for_those_who_watch_it(self):
        self.assertEqual(self.server.infer("slow", [[1, 2, 3, 4]])[0], 200)
        self.assertGreater(self.server.metric("stint_latency_p99", service="slow", version="1"), 99)  # ms: a batch takes 100

    def test_a_full_queue_refuses(self):
        statuses = []
        def ask():
            statuses.append(self.server.infer("slow", [[1, 2, 3, 4]])[0])
        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(set(statuses)), [200, 503])

    def test_who_goes_away_leaves_the_queue(self):
        before = self.server.metric("stint_serve_requests_total", model="slow", outcome="cancelled")
        waiting = threading.Thread(target=self.server.infer, args=("slow", [[1, 2, 3, 4]]))
        waiting.start()
        self.server.wait_for(lambda: self.server.metric("stint_serve_running_batches", model="slow") == 1)
        body = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]})
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.sendall(f"POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            self.server.wait_for(lambda: self.server.metric("stint_serve_waiting_requests", model="slow") == 1)
        self.server.wait_for(
            lambda: self.server.metric("stint_serve_requests_total", model="slow", outcome="cancelled") == before + 1)
        waiting.join()

    def test_every_answer_is_its_own(self):
        wrong = []
        def ask(number):
            for k in range(20):
                row = [number, k, number * k, 1]
                status, answer = self.server.infer("echo", [row])
                if status != 200 or answer["outputs"][0]["data"] != row:
                    wrong.append((row, answer))
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


def answer_with_headers(server, model, rows, headers):
    """The open answer to x = rows."""
    body = json.dumps({"inputs": [{"name": "x", "shape": [len(rows), len(rows[0])], "datatype": "FP32", "data": rows}]}).encode()
    return urllib.request.urlopen(urllib.request.Request(f"{server.url}/v2/models/{model}/infer", body, headers), timeout=60)


class CompressedAnswers(ServerCase):
    models = {"echo": {1: synthetic(shape=(16,))}}
    arguments = ("--compress-answers",)

    def test_who_takes_it_gets_long_answers_compressed(self):
        rows = [[k + 0.25] * 16 for k in range(32)]
        for accept, coding, unpack in (("gzip, deflate", "gzip", gzip.decompress), ("deflate", "deflate", zlib.decompress),
                                       ("gzip;q=0", None, bytes), ("br", None, bytes)):
            with answer_with_headers(self.server, "echo", rows, {"Accept-Encoding": accept}) as answer:
                self.assertEqual(answer.headers["Content-Encoding"], coding)
                self.assertEqual(answer.headers["Vary"], "Accept-Encoding" if coding else None)
                sent = answer.read()
            self.assertEqual(json.loads(unpack(sent))["outputs"][0]["data"], [value for row in rows for value in row])

    def test_short_answers_stay_as_they_are(self):
        with answer_with_headers(self.server, "echo", [[1] * 16], {"Accept-Encoding": "gzip"}) as answer:
            self.assertIsNone(answer.headers["Content-Encoding"])


class CompressedTenants(unittest.TestCase):
    def test_a_tenant_s_compressed_bodies_take_half_of_the_memory_at_most(self):
        """Each is of few bytes and unpacks to just under 512 KiB; requests may take 64 MiB, so 64 of them may wait."""
        with tempfile.TemporaryDirectory() as scratch:
            place = pathlib.Path(scratch)
            for name in ("a", "b"):
                (place / name).write_text(name * 20)
                (place / name).chmod(0o600)
            server = RunningServer(STINT, place / "models", {"slow": {1: synthetic(base_us=1_000_000)}},
                                   {"slow": {"max_batch": 1, "instances": 1, "queue": 400}},
                                   ("--request-memory", "64", "--tenant", "a=1", "--tenant", "b=1", "--tenant-token", f"a={place}/a",
                                    "--tenant-token", f"b={place}/b"))
            clients = []
            try:
                body = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}).encode()
                large = gzip.compress(body + b" " * (520_000 - len(body)))
                self.assertLess(len(large), 1000)
                for _ in range(90):
                    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
                    client.sendall(b"POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + b"a" * 20 +
                                   b"\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(large) + large)
                    clients.append(client)
                self.assertIn(b" 429 ", clients[-1].recv(4096))
                status, answer = server.ask("POST", "/v2/models/slow/infer", gzip.compress(body),
                                            {"Content-Encoding": "gzip", "Authorization": "Bearer " + "b" * 20})
                self.assertEqual(status, 200, answer)
            finally:
                for client in clients:
                    client.close()
                server.stop()


class Types(ServerCase):
    """A model of every type."""
    models = one_of_every_type(shape=(2,))

    def test_metadata_and_configuration_tell_the_type(self):
        for datatype in DATATYPES:
            name = f"echo_{datatype.lower()}"
            model = json.loads(self.server.ask("GET", f"/v2/models/{name}")[1])
            self.assertEqual([model["inputs"][0]["datatype"], model["outputs"][0]["datatype"]], [datatype] * 2)
            config = json.loads(self.server.ask("GET", f"/v2/models/{name}/config")[1])
            self.assertEqual([config["input"][0]["data_type"], config["output"][0]["data_type"]], [config_type(datatype)] * 2)

    def test_json_comes_back_as_it_went(self):
        for datatype, row in (("BOOL", [True, False]), ("UINT64", [2**64 - 1, 2**53 + 1]), ("INT64", [-2**63, -2**53 - 1]),
                              ("INT8", [-128, 127]), ("FP64", [0.1, -1e300]), ("FP32", [0.5, -3]), ("BF16", [1.5, -0.0078125]),
                              ("FP16", [65504, 0.5]), ("BYTES", ["", "ä\0\"😀"])):
            status, answer = self.server.infer(f"echo_{datatype.lower()}", [row], datatype=datatype)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["outputs"], [{"name": "y", "datatype": datatype, "shape": [1, 2], "data": row}])
            self.assertEqual([type(value) is bool for value in answer["outputs"][0]["data"]], [datatype == "BOOL"] * 2)

    def test_half_precision_is_rounded_to_the_nearest(self):
        # struct's own halves are the second opinion. 2049 is halfway between 2048 and 2050, and 2048 has the even last bit.
        for value in (2049, 2051, 0.1, 1 / 3, 65519.99, 2**-25 * 1.001):
            rounded, = struct.unpack("<e", struct.pack("<e", value))
            answer = self.server.infer("echo_fp16", [[value, 0]], datatype="FP16")[1]["outputs"][0]["data"]
            self.assertEqual(struct.pack("<2f", *answer), struct.pack("<2f", rounded, 0), value)  # with the digits of a float32

    def test_another_type_than_the_model_s_is_refused(self):
        status, answer = self.server.infer("echo_int64", [[1, 2]], datatype="INT32")
        self.assertEqual(status, 400)
        self.assertEqual(answer["error"], "input x is INT32; the model takes INT64")

    def test_values_that_are_none_are_refused(self):
        def binary(name, datatype, data):
            head = json.dumps({"inputs": [{"name": "x", "shape": [1, 2], "datatype": datatype,
                                           "parameters": {"binary_data_size": len(data)}}]}).encode()
            status, body = self.server.ask("POST", f"/v2/models/{name}/infer", head + data,
                                           {"Inference-Header-Content-Length": str(len(head))})
            return status, json.loads(body)
        for name, datatype, data, why in (("echo_bool", "BOOL", b"\1\2", "neither 0 nor 1"),
                                          ("echo_bytes", "BYTES", b"\0\0\0\0\2\0\0\0a", "input x: value 2 of 2: its length says 2 bytes, 1 are left"),
                                          ("echo_bytes", "BYTES", b"\0\0\0\0", "input x: 1 values of BYTES; its shape says 2"),
                                          ("echo_int16", "INT16", b"\1\2", "2 values of 2")):
            status, answer = binary(name, datatype, data)
            self.assertEqual(status, 400, (name, answer))
            self.assertIn(why, answer["error"])
        self.assertIn("its type can hold", self.server.infer("echo_fp16", [[65520, 0]], datatype="FP16")[1]["error"])
        self.assertIn("input x: data that is no text", self.server.infer("echo_bytes", [[1, 2]], datatype="BYTES")[1]["error"])
        self.assertIn("from 0 to 255", self.server.infer("echo_uint8", [[256, 0]], datatype="UINT8")[1]["error"])

    def test_nan_and_infinity_are_answered_as_others_write_them(self):
        values = [float("nan"), -float("inf")]
        for datatype in ("FP16", "BF16", "FP32", "FP64"):
            for row in (values, ["NaN", "-Infinity"]):  # Python's json writes the former bare
                status, answer = self.server.infer(f"echo_{datatype.lower()}", [row], datatype=datatype)
                self.assertEqual(status, 200, answer)
                self.assertEqual([str(value) for value in answer["outputs"][0]["data"]], ["nan", "-inf"])

    def test_texts_that_are_no_utf8_go_in_binary_alone(self):
        data = b"\1\0\0\0\xff\0\0\0\0"
        def ask(**more):
            head = json.dumps({"inputs": [{"name": "x", "shape": [1, 2], "datatype": "BYTES",
                                           "parameters": {"binary_data_size": len(data)}}], **more}).encode()
            return self.server.ask("POST", "/v2/models/echo_bytes/infer", head + data, {"Inference-Header-Content-Length": str(len(head))})
        status, body = ask(parameters={"binary_data_output": True})
        self.assertEqual((status, body[-len(data):]), (200, data))
        status, body = ask()
        self.assertEqual(status, 400, body)
        self.assertIn("y holds a text that is no UTF-8", json.loads(body)["error"])

    def test_load_sends_what_every_type_can_be(self):
        for datatype in DATATYPES:
            for form in ([], ["--json-tensors"]):
                done = subprocess.run([STINT, "serve", "load", "--server", f"127.0.0.1:{self.server.port}", "--json", "--rate", "100",
                                       "--seconds", "0.2", "--model", f"echo_{datatype.lower()}", *form],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual(told["sent"], told["answered"], (datatype, told))


class Quantize(unittest.TestCase):
    """stint serve quantize; needs ONNX Runtime."""

    def test_half_precision_is_kept_for_its_size_when_asked_and_for_speed_otherwise(self):
        with tempfile.TemporaryDirectory() as scratch:
            def stint(*arguments):
                return subprocess.run([pathlib.Path(STINT).resolve(), "serve", *arguments], cwd=scratch, capture_output=True, text=True, timeout=120, check=False)
            made = stint("example", "mlp", "-o", "mlp.onnx", "--data", "mlp", "--rows", "200")
            if made.returncode != 0 and "setup-onnxruntime" in made.stderr:
                self.skipTest("no ONNX Runtime: scripts/setup-onnxruntime fetches it")
            self.assertEqual(made.returncode, 0, made.stderr)
            def quantize(*more):
                done = stint("quantize", "mlp.onnx", "--calibrate", "mlp-x.npy", "--labels", "mlp-y.npy", "--method", "fp16", "--json", *more)
                return done.returncode, json.loads(done.stdout)
            status, told = quantize("-o", "fast.onnx")
            faster = told["variants"][0]["times_faster"] >= 1.05
            self.assertEqual((status, told["kept"], (pathlib.Path(scratch) / "fast.onnx").exists()),
                             (0, "fp16", True) if faster else (3, None, False), told)
            status, told = quantize("--for-size", "-o", "small.onnx")
            self.assertEqual((status, told["kept"]), (0, "fp16"), told)
            size = {name: (pathlib.Path(scratch) / name).stat().st_size for name in ("mlp.onnx", "small.onnx")}
            self.assertAlmostEqual(size["small.onnx"] / size["mlp.onnx"], 0.5, delta=0.01)


class Measure(unittest.TestCase):
    """stint serve measure, tune and quantize on a model with two inputs of one free length; needs ONNX Runtime."""

    def setUp(self):
        if not os.environ.get("STINT_ONNXRUNTIME"):
            self.skipTest("no ONNX Runtime in STINT_ONNXRUNTIME")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        weights = [(k * 37 % 101 - 50) / 50 for k in range(64 * 64)]
        # [length, 64] by a layer that INT8 can have, and what a mask leaves of it.
        (self.folder / "m.onnx").write_bytes(onnx_file.model(
            {"x": ("length", 64), "mask": ("length", 64)}, {"y": ("length", 64)}, [("MatMul", ["x", "w"], "h"), ("Mul", ["h", "mask"], "y")],
            constants={"w": ((64, 64), weights)}))

    def stint(self, *arguments):
        return subprocess.run([pathlib.Path(STINT).resolve(), "serve", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def test_a_free_dimension_is_measured_at_the_size_that_is_said(self):
        done = self.stint("measure", "--model", "m.onnx", "--max-batch", "2", "--runs", "3")
        self.assertIn("input x has a free dimension, length: say how large, --shape length=128", done.stderr)
        done = self.stint("measure", "--model", "m.onnx", "--max-batch", "2", "--runs", "3", "--shape", "width=4")
        self.assertIn("width is no free dimension of the model's inputs: they have length", done.stderr)
        done = self.stint("measure", "--model", "m.onnx", "--max-batch", "2", "--runs", "3", "--shape", "length=0")
        self.assertIn("--shape length=0: expected NAME=SIZE", done.stderr)
        # An operator of this one takes nothing but eight.
        (self.folder / "eight.onnx").write_bytes(onnx_file.model({"x": ("length",)}, {"y": (8,)}, [("Add", ["x", "c"], "y")],
                                                                 constants={"c": ((8,), [0] * 8)}))
        for length, status in (("8", 0), ("7", 1)):
            done = self.stint("measure", "--model", "eight.onnx", "--max-batch", "2", "--runs", "3", "--shape", f"length={length}")
            self.assertEqual(done.returncode, status, done.stderr)
        done = self.stint("tune", "--model", "m.onnx", "--shape", "length=8", "--max-batch", "2", "--qps", "1", "--p99", "10s", "--runs", "2")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_several_inputs_are_quantised(self):
        for name, value in (("x", lambda k: math.sin(k)), ("mask", lambda k: k % 2)):
            (self.folder / f"{name}.npy").write_bytes(onnx_file.npy((20, 8, 64), [value(k) for k in range(20 * 8 * 64)]))
        def quantize(*more):
            return self.stint("quantize", "m.onnx", "--for-size", "--batch", "2", "--json", "-o", "small.onnx", *more)
        done = quantize("--calibrate", "x=x.npy", "--calibrate", "mask=mask.npy", "--max-drop", "50")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual([one["method"] for one in told["variants"]], ["dynamic", "static"])
        for one in told["variants"]:
            self.assertGreater(one["times_smaller"], 3)
            self.assertGreaterEqual(one["accuracy"], 0.5, "of 512 places the largest")
        self.assertIn("the model's input mask has no rows: add --calibrate mask=FILE", quantize("--calibrate", "x=x.npy").stderr)
        self.assertIn("as the model has the inputs x, mask", quantize("--calibrate", "x.npy").stderr)
        self.assertIn("there is x.npy for that input already", quantize("--calibrate", "x=x.npy", "--calibrate", "x=x.npy").stderr)


class Devices(unittest.TestCase):
    """Where models run; needs an ONNX Runtime without CUDA."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.model = pathlib.Path(self.scratch.name) / "models" / "mlp" / "1" / "model.onnx"
        self.model.parent.mkdir(parents=True)
        self.assertEqual(self.stint("example", "mlp", "-o", str(self.model)).returncode, 0)
        tried = self.stint("measure", "--model", str(self.model), "--run-on", "cuda", "--runs", "1", "--max-batch", "1")
        self.tried = tried.stderr
        if "built without CUDA" not in tried.stderr:
            self.skipTest("no ONNX Runtime, or one with CUDA: " + tried.stderr)

    def stint(self, *arguments):
        return subprocess.run([STINT, "serve", *arguments], capture_output=True, text=True, timeout=120, check=False)

    def test_a_gpu_that_cannot_be_used_ends_the_start_and_says_what_to_do(self):
        done = self.stint("run", "--models", str(self.model.parents[2]), "--listen", "127.0.0.1:0", "--device", "cuda:1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuda:1: this ONNX Runtime", done.stderr)
        self.assertIn("onnxruntime-gpu", done.stderr)
        self.assertEqual(self.tried.count("\n"), 1, self.tried)

    def test_auto_falls_back_to_the_processor_and_says_so(self):
        server = RunningServer(STINT, self.model.parents[2], arguments=("--device", "auto"))
        try:
            self.assertIn("models run on the processor: cuda:0: this ONNX Runtime", server.said)
            config = json.loads(server.ask("GET", "/v2/models/mlp/config")[1])
            self.assertEqual(config["instance_group"][0]["kind"], "KIND_CPU")
        finally:
            server.stop()

    def test_other_names_are_no_devices(self):
        for device in ("gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:64"):
            done = self.stint("run", "--models", self.scratch.name, "--device", device)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("expected cpu, cuda, cuda:N or auto", done.stderr)


class StandInGpu(unittest.TestCase):
    """A GPU of stand-ins: tests/fake_cuda tells its memory, tests/fake_onnxruntime computes on the processor."""

    def setUp(self):
        real = os.environ.get("STINT_ONNXRUNTIME")
        if not real or "STINT_FAKE_ONNXRUNTIME" not in os.environ:
            self.skipTest("no ONNX Runtime in STINT_ONNXRUNTIME, or no stand-ins")
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.log = self.folder / "log"
        self.model = self.folder / "models" / "mlp" / "1" / "model.onnx"
        self.model.parent.mkdir(parents=True)
        subprocess.run([STINT, "serve", "example", "mlp", "-o", str(self.model)], check=True, timeout=60)
        self.environment = dict(os.environ, STINT_ONNXRUNTIME=os.environ["STINT_FAKE_ONNXRUNTIME"], FAKE_ONNXRUNTIME_REAL=real,
                                FAKE_ONNXRUNTIME_LOG=str(self.log), FAKE_CUDA_GPUS="2", FAKE_CUDA_USED_MIB="1000",
                                LD_LIBRARY_PATH=str(pathlib.Path(os.environ["STINT_FAKE_CUDA"]).parent))

    def serve(self, *arguments, **environment):
        return RunningServer(STINT, self.folder / "models", arguments=arguments, environment=dict(self.environment, **environment))

    def test_models_run_there_within_the_memory_they_may_take(self):
        server = self.serve("--device", "cuda:1", "--memory", "300")
        try:
            self.assertEqual(self.log.read_text().splitlines()[0],
                             f"device_id=1 arena_extend_strategy=kSameAsRequested gpu_mem_limit={300 << 20}")
            config = json.loads(server.ask("GET", "/v2/models/mlp/config")[1])
            self.assertEqual(config["instance_group"][0]["kind"], "KIND_GPU")
            self.assertEqual(server.infer("mlp", [[0.5] * 512])[0], 200)
            # The stand-in's memory does not grow: what is booked is the least, the file.
            self.assertEqual(server.metric("stint_serve_model_weight_bytes", model="mlp"), self.model.stat().st_size)
        finally:
            server.stop()

    def test_a_gpu_that_is_full_makes_models_smaller(self):
        server = self.serve("--device", "auto", "--device-memory", "1100")
        try:
            self.assertNotIn("processor", server.said)
            server.wait_for(lambda: server.metric("stint_serve_relief_steps_total") > 0)
        finally:
            server.said += server.stop()
        self.assertIn("memory is 90 % full", server.said)

    def test_a_model_that_leaves_a_full_gpu_runs_on_the_processor(self):
        used = self.folder / "used"
        used.write_text("40")
        server = self.serve("--device", "cuda", "--device-memory", "60", "--host-memory", "200", FAKE_CUDA_USED_MIB=str(used))
        try:
            before = server.infer("mlp", [[0.5] * 512])
            self.assertEqual(server.metric("stint_serve_model_on_host", model="mlp"), 0)
            used.write_text("55")  # 91 %: 4 MiB must go, the model has 6
            server.wait_for(lambda: server.metric("stint_serve_model_on_host", model="mlp") == 1)
            used.write_text("48")
            self.assertEqual(server.infer("mlp", [[0.5] * 512]), before)
            self.assertEqual(server.metric("stint_serve_memory_booked_bytes"), 0)
            self.assertGreater(server.metric("stint_serve_host_booked_bytes"), self.model.stat().st_size)
            self.assertEqual(server.metric("stint_serve_relief_steps_total", kind="to_host"), 1)
        finally:
            server.said += server.stop()
        self.assertIn("memory is 91 % full: model mlp: to the host (frees 6 MiB)", server.said)

    def test_the_hosts_memory_is_for_models_of_a_gpu(self):
        done = subprocess.run([STINT, "serve", "run", "--models", str(self.folder / "models"), "--host-memory", "1"], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--host-memory: models run on the processor already", done.stderr)

    def test_a_provider_that_does_not_start_ends_the_start_and_says_why(self):
        def run(*arguments, **environment):
            return subprocess.run([STINT, "serve", *arguments], env=dict(self.environment, **environment), capture_output=True, text=True,
                                  timeout=60, check=False)
        models = str(self.folder / "models")
        done = run("run", "--models", models, "--device", "cuda", FAKE_ONNXRUNTIME_FAIL="yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot run a model there: trial: libcudnn.so.9", done.stderr)
        done = run("run", "--models", models, "--device", "cuda:2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuda:2: this machine has 2 GPUs", done.stderr)
        done = run("measure", "--model", str(self.model), "--run-on", "cuda:1", "--runs", "2", "--max-batch", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GPU 1", done.stderr)


    def test_a_model_is_measured_and_tuned_at_once_for_the_gpu_it_is_on(self):
        def tune(*arguments):
            return subprocess.run([STINT, "serve", "tune", "--model", str(self.model), "--gpu", "nvidia l4", "--qps", "100", "--p99", "1s",
                                   "--max-batch", "4", "--runs", "2", *arguments], env=self.environment, capture_output=True, text=True,
                                  timeout=60, check=False)
        done = tune("--run-on", "cuda", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (device,) = json.loads(done.stdout)["devices"]
        self.assertEqual((device["device"], device["answer"]["replicas"]), ("L4", 1))
        self.assertIn("L4: 0.", done.stderr)
        self.assertIn("stint:   4: ", done.stderr)
        self.assertEqual(tune("--run-on", "cuda", "--json", "--price", "7").returncode, 0)
        done = tune()
        self.assertEqual(done.returncode, 1)
        self.assertIn("--gpu nvidia l4: the model would run on the processor: add --run-on cuda", done.stderr)


class Repository(ServerCase):
    models = {"echo": {1: synthetic(), 2: synthetic(shape=(2,))}}
    controlled = True

    def states(self):
        return {(row["name"], row["version"]): row["state"] for row in json.loads(self.server.ask("POST", "/v2/repository/index")[1])}

    def load(self, name, config=None):
        body = None if config is None else {"parameters": {"config": json.dumps(config)}}
        return self.server.ask("POST", f"/v2/repository/models/{name}/load", body if body else b"", RunningServer.CONTROL)

    def test_models_come_and_go(self):
        self.server.add("late", 1, synthetic())
        self.assertEqual(self.states()[("late", "")], "UNAVAILABLE")
        self.assertEqual(self.server.infer("late", [[1, 2, 3, 4]])[0], 404)
        self.assertEqual(self.load("late")[0], 200)
        self.assertEqual(self.states()[("late", "1")], "READY")
        self.assertEqual(self.server.infer("late", [[1, 2, 3, 4]])[0], 200)
        self.assertEqual(self.server.ask("POST", "/v2/repository/models/late/unload", b"", RunningServer.CONTROL)[0], 200)
        self.assertEqual(self.server.infer("late", [[1, 2, 3, 4]])[0], 404)
        self.assertEqual(self.load("../echo")[0], 404)
        self.assertEqual(self.load("nothing")[0], 404)

    def test_versions_share_the_traffic_and_roll_back(self):
        self.assertEqual(self.load("echo")[0], 200)  # the highest version alone
        self.assertEqual(self.server.infer("echo", [[1, 2]])[1]["model_version"], "2")
        self.assertEqual(self.load("echo", {"traffic": {"1": 0, "2": 1}})[0], 200)
        self.assertEqual(self.server.infer("echo", [[1, 2, 3, 4]], version=1)[0], 200)
        self.server.add("ab", 1, synthetic())
        self.server.add("ab", 2, synthetic())
        self.assertEqual(self.load("ab", {"traffic": {"1": 3, "2": 1}})[0], 200)
        seen = [self.server.infer("ab", [[1, 2, 3, 4]])[1]["model_version"] for _ in range(40)]
        self.assertEqual((seen.count("1"), seen.count("2")), (30, 10))
        self.assertEqual(self.load("ab", {"traffic": {"1": 1}})[0], 200)  # back to the first
        self.assertEqual(self.server.infer("ab", [[1, 2, 3, 4]])[1]["model_version"], "1")

    def test_a_shadow_answers_again_unseen(self):
        for version in (1, 2, 3):
            self.server.add("dim", version, synthetic(shape=(2,) if version == 3 else (4,)))
        self.assertEqual(self.load("dim", {"traffic": {"1": 1}, "shadow": {"version": 2, "percent": 50}})[0], 200)
        seen = {self.server.infer("dim", [[1, 2, 3, 4], [5, 6, 7, 8]])[1]["model_version"] for _ in range(40)}
        self.assertEqual(seen, {"1"})
        said = {"model": "dim", "version": "2"}
        self.server.wait_for(lambda: self.server.metric("stint_serve_shadow_items_total", answer="alike", **said) == 40)
        self.assertEqual(self.server.metric("stint_serve_shadow_items_total", answer="apart", **said), 0)
        self.assertEqual(self.server.metric("stint_serve_shadow_lost_requests_total", **said), 0)
        self.server.wait_for(lambda: self.server.metric("stint_serve_requests_total", outcome="answered", **said) == 20)
        status, answer = self.load("dim", {"traffic": {"1": 1}, "shadow": {"version": 3}})
        self.assertEqual(status, 400, answer)
        self.assertIn("other tensors", str(answer))
        # Without traffic the highest of the others answers.
        self.assertEqual(self.load("dim", {"traffic": {"3": 1}})[0], 200)
        self.assertEqual(self.load("dim", {"shadow": {"version": 4}})[0], 404)
        shutil.rmtree(self.server.folder / "dim" / "3")
        self.assertEqual(self.load("dim", {"shadow": {"version": 2}})[0], 200)
        self.assertEqual(self.server.infer("dim", [[1, 2, 3, 4]])[1]["model_version"], "1")

    def test_a_canary_gets_more_or_nothing(self):
        self.server.add("bird", 1, synthetic())
        self.server.add("bird", 2, synthetic())
        rules = {"version": 2, "percent": [25, 100], "step_s": 0, "least_requests": 10}
        self.assertEqual(self.load("bird", {"canary": rules})[0], 200)
        seen = [self.server.infer("bird", [[1, 2, 3, 4]])[1]["model_version"] for _ in range(40)]
        self.assertIn("1", seen)
        where = {"model": "bird", "version": "2"}
        self.server.wait_for(lambda: self.server.metric("stint_serve_canary_percent", **where) == 100)
        self.assertEqual({self.server.infer("bird", [[1, 2, 3, 4]])[1]["model_version"] for _ in range(10)}, {"2"})
        # Far slower than what it promises.
        self.server.add("lag", 1, synthetic())
        self.server.add("lag", 2, synthetic(base_us=30_000))
        self.assertEqual(self.load("lag", {"promise_p99_ms": 20, "canary": dict(rules, step_s=3600)})[0], 200)
        where["model"] = "lag"
        for _ in range(44):
            self.server.infer("lag", [[1, 2, 3, 4]])
        self.server.wait_for(lambda: self.server.metric("stint_serve_canary_taken_back", **where) == 1)
        self.assertEqual({self.server.infer("lag", [[1, 2, 3, 4]])[1]["model_version"] for _ in range(10)}, {"1"})
        self.assertEqual(self.load("lag", {"canary": {"version": 7}})[0], 404)

    def test_a_load_that_fails_changes_nothing(self):
        self.server.add("firm", 1, synthetic())
        self.assertEqual(self.load("firm")[0], 200)
        (self.server.folder / "firm" / "2").mkdir()
        (self.server.folder / "firm" / "2" / "model.synthetic.json").write_text("{")
        status, answer = self.load("firm")
        self.assertEqual(status, 400, answer)
        self.assertEqual(self.server.infer("firm", [[1, 2, 3, 4]])[1]["model_version"], "1")


class Copies(unittest.TestCase):
    """A repository that lies behind HTTP, with its SHA256SUMS."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.origin = self.folder / "origin"
        self.put("echo", 1)
        self.put("other", 1)
        self.sum_up()
        self.start_origin()

    def start_origin(self, port=0):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments, folder=str(self.origin)):
                super().__init__(*arguments, directory=folder)
            def log_message(self, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Quiet)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.addCleanup(self.stop_origin)
        self.place = f"http://127.0.0.1:{self.http.server_port}/"

    def stop_origin(self):
        if self.http:
            self.http.shutdown()
            self.http.server_close()
            self.http = None

    def put(self, name, version, weights=1):
        (self.origin / name / str(version)).mkdir(parents=True, exist_ok=True)
        (self.origin / name / str(version) / "model.synthetic.json").write_text(json.dumps(synthetic(weights_mib=weights)))

    def sum_up(self):
        files = sorted(file for file in self.origin.glob("*/**/*") if file.is_file())
        (self.origin / "SHA256SUMS").write_text("".join(
            f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(self.origin)}\n" for file in files))

    def serve(self):
        server = RunningServer(STINT, self.place, arguments=("--model-copies", str(self.folder / "copies")), controlled=True)
        self.addCleanup(lambda: server.process.stderr.closed or server.stop())
        return server

    def versions(self, server, name):
        status, body = server.ask("GET", f"/v2/models/{name}")
        return json.loads(body)["versions"] if status == 200 else status

    def load(self, server, name):
        return server.ask("POST", f"/v2/repository/models/{name}/load", {}, headers=server.CONTROL)

    def test_models_are_served_from_copies_and_follow_what_lies_there_at_a_load(self):
        server = self.serve()
        self.assertEqual((self.versions(server, "echo"), self.versions(server, "other")), (["1"], ["1"]))
        self.put("echo", 2)
        self.put("fresh", 1)
        shutil.rmtree(self.origin / "echo/1")
        shutil.rmtree(self.origin / "other")
        self.sum_up()
        self.assertEqual(self.load(server, "echo")[0], 200)
        self.assertEqual(self.load(server, "fresh")[0], 200)
        self.assertEqual((self.versions(server, "echo"), self.versions(server, "fresh"), self.versions(server, "other")), (["2"], ["1"], ["1"]))
        self.assertEqual([file.name for file in (self.folder / "copies/echo").iterdir()], ["2"])
        self.assertEqual(self.load(server, "other")[0], 404, "it is there no more")

    def test_other_bytes_than_the_hash_says_are_not_served(self):
        server = self.serve()
        self.put("echo", 2)
        self.sum_up()
        self.put("echo", 2, weights=2)
        status, body = self.load(server, "echo")
        self.assertEqual(status, 400)
        self.assertIn(b"its bytes are not those that SHA256SUMS names", body)
        self.assertEqual(self.versions(server, "echo"), ["1"])
        self.assertFalse((self.folder / "copies/echo/2/model.synthetic.json").exists())

    def test_what_was_copied_before_serves_while_the_place_cannot_be_reached(self):
        self.serve().stop()
        self.stop_origin()
        server = self.serve()
        self.assertIn("served as copied before", server.said)
        self.assertEqual(self.versions(server, "echo"), ["1"])
        self.assertEqual(self.load(server, "echo")[0], 503)
        server.stop()
        (self.folder / "copies/echo/1/model.synthetic.json").write_text("{}")
        with self.assertRaises(AssertionError):  # changed in between: not what was proven
            self.serve()

    def test_a_folder_that_holds_something_else_is_left_alone(self):
        def refused(place, *more):
            done = subprocess.run([STINT, "serve", "run", "--models", place, "--listen", "127.0.0.1:0", *more], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            return done.stderr
        (self.folder / "mine").mkdir()
        (self.folder / "mine/notes").write_text("dear diary")
        self.assertIn("is not empty", refused(self.place, "--model-copies", str(self.folder / "mine")))
        self.assertEqual((self.folder / "mine/notes").read_text(), "dear diary")
        self.assertIn("--model-copies", refused(self.place))
        self.assertIn("HTTP without TLS is for this machine alone", refused("http://models.example/", "--model-copies", str(self.folder / "new")))
        (self.origin / "SHA256SUMS").write_text("0" * 64 + "  ../../etc/passwd\n")
        self.assertIn("SHA256SUMS:1: ../../etc/passwd is no file of a model", refused(self.place, "--model-copies", str(self.folder / "new")))


class Memory(ServerCase):
    """Six models of 100 MiB in room for two."""
    models = {name: {1: synthetic(weights_mib=100, activation_mib=1)} for name in ("m0", "m1", "m2", "m3", "m4", "m5", "tight")}
    settings = {name: {"max_batch": 8} for name in models} | {"tight": {"max_batch": 8, "budget_mib": 103}}
    arguments = ("--memory", "228", "--request-memory", "8")

    def test_all_are_served_within_the_room(self):
        for round_ in range(3):
            for n in range(6):
                status, answer = self.server.infer(f"m{n}", [[n, round_, 1, 1]] * 8)
                self.assertEqual(status, 200, answer)
                self.assertEqual(answer["outputs"][0]["data"][:2], [n, round_])
                self.assertLessEqual(self.server.metric("stint_serve_memory_booked_bytes"), 220 << 20)
        self.assertGreater(self.server.metric("stint_serve_evictions_total"), 0)

    def test_a_batch_larger_than_its_memory_runs_in_pieces(self):
        rows = [[n, 2 * n, 3 * n, 1] for n in range(8)]  # room for three at a time
        status, answer = self.server.infer("tight", rows)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["outputs"][0]["data"], [value for row in rows for value in row])


class MeasuredMemory(unittest.TestCase):
    """Twelve copies of an ONNX model where five fit."""

    def test_each_is_booked_as_its_size_and_none_is_refused(self):
        if not os.environ.get("STINT_ONNXRUNTIME"):
            self.skipTest("no ONNX Runtime in STINT_ONNXRUNTIME")
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "models"
            first = folder / "m00" / "1" / "model.onnx"
            first.parent.mkdir(parents=True)
            subprocess.run([STINT, "serve", "example", "mlp", "-o", str(first)], check=True, timeout=60)
            names = [f"m{n:02}" for n in range(12)]
            for name in names[1:]:
                shutil.copytree(folder / "m00", folder / name)
            size = first.stat().st_size
            room = 5 * size * 5 // 4 >> 20
            server = RunningServer(STINT, folder, arguments=("--memory", str(room + 8), "--request-memory", "8"))
            try:
                self.assertIn("serving 12 model versions", server.said)
                booked = [server.metric("stint_serve_model_weight_bytes", model=name) for name in names]
                self.assertEqual(len(set(booked)), 1, booked)
                self.assertGreaterEqual(booked[0], size)
                self.assertLess(booked[0], size + size // 2, "a session itself takes about one MiB")
                for name in names * 2:
                    status, answer = server.infer(name, [[0.5] * 512])
                    self.assertEqual(status, 200, answer)
                    self.assertLessEqual(server.metric("stint_serve_memory_booked_bytes"), room << 20)
                self.assertGreaterEqual(sum(server.metric("stint_serve_model_resident", model=name) for name in names), 2)
            finally:
                server.stop()

    def test_a_model_that_is_none_says_so(self):
        if not os.environ.get("STINT_ONNXRUNTIME"):
            self.skipTest("no ONNX Runtime in STINT_ONNXRUNTIME")
        with tempfile.TemporaryDirectory() as scratch:
            bad = pathlib.Path(scratch) / "models" / "bad" / "1" / "model.onnx"
            bad.parent.mkdir(parents=True)
            bad.write_text("this is no protobuf")
            server = RunningServer(STINT, bad.parents[2])
            server.stop()
            self.assertIn(f"stint: not served: {bad}: ", server.said)


class OnnxCase(unittest.TestCase):
    """One server for all tests of a class; models: {name: (model.onnx, model.json)}."""
    models = {}

    @classmethod
    def setUpClass(cls):
        if not os.environ.get("STINT_ONNXRUNTIME"):
            raise unittest.SkipTest("no ONNX Runtime in STINT_ONNXRUNTIME")
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name) / "models"
        for name, (model, config) in cls.models.items():
            (folder / name / "1").mkdir(parents=True)
            (folder / name / "1" / "model.onnx").write_bytes(model)
            (folder / name / "model.json").write_text(json.dumps(config))
        cls.server = RunningServer(STINT, folder)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.cleanup()

    def together(self, asks):
        """Results of the calls, made at the same time."""
        results = [None] * len(asks)
        def ask(n):
            results[n] = asks[n]()
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(len(asks))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class Texts(OnnxCase):
    """Models that take and give strings."""
    models = {
        "upper": (onnx_file.model({"x": ()}, {"y": ()}, [("StringNormalizer", ["x"], "y", {"case_change_action": "UPPER", "locale": "C"})],
                                  {"x": onnx_file.STRING, "y": onnx_file.STRING}), {"max_batch": 4, "max_wait_ms": 200}),
        "tokens": (onnx_file.model({"x": ("words",)}, {"y": ("words",)},
                                   [("LabelEncoder", ["x"], "y", {"keys_strings": ["the", "cat", "naïve"], "values_int64s": [1, 2, 3],
                                                                  "default_int64": 9}, "ai.onnx.ml")],
                                   {"x": onnx_file.STRING, "y": onnx_file.INT64}), {"max_wait_ms": 200}),
        "labels": (onnx_file.model({"x": ()}, {"y": ()},
                                   [("LabelEncoder", ["x"], "y", {"keys_int64s": [0, 1], "values_strings": ["cat", "ðog" * 100],
                                                                  "default_string": "?"}, "ai.onnx.ml")],
                                   {"x": onnx_file.INT64, "y": onnx_file.STRING}), {})}

    def infer(self, model, rows, datatype="BYTES"):
        status, answer = self.server.infer(model, rows, datatype=datatype)
        return status, answer["outputs"][0]["data"] if status == 200 else answer["error"]

    def test_metadata_says_bytes(self):
        about = json.loads(self.server.ask("GET", "/v2/models/tokens")[1])
        self.assertEqual(about["inputs"], [{"name": "x", "datatype": "BYTES", "shape": [-1, -1]}])
        self.assertEqual(json.loads(self.server.ask("GET", "/v2/models/labels/config")[1])["output"][0]["data_type"], "TYPE_STRING")

    def test_strings_in_and_out(self):
        self.assertEqual(self.infer("upper", ["the cat", "", "a" * 10_000]), (200, ["THE CAT", "", "A" * 10_000]))
        self.assertEqual(self.infer("tokens", [["the", "naïve"], ["cat", "dog"]]), (200, [1, 3, 2, 9]))
        self.assertEqual(self.infer("labels", [1, 0, 7], "INT64"), (200, ["ðog" * 100, "cat", "?"]))

    def test_lengths_that_differ_are_run_apart_and_equal_ones_together(self):
        rows = [["cat"] * length for length in (1, 2, 3, 2, 1, 2)]
        for row, answer in zip(rows, self.together([lambda row=row: self.infer("tokens", [row]) for row in rows])):
            self.assertEqual(answer, (200, [2] * len(row)))

    def test_a_batch_of_texts_is_taken_apart_again(self):
        rows = [["a"], ["bb", ""], ["c" * 1000]]
        answers = self.together([lambda row=row: self.infer("upper", row) for row in rows])
        self.assertEqual(answers, [(200, ["A"]), (200, ["BB", ""]), (200, ["C" * 1000])])

    def test_who_sends_no_utf8_spoils_no_other_s_batch(self):
        # Four items fill the batch of "upper", whose operator refuses what is no UTF-8.
        head = json.dumps({"inputs": [{"name": "x", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}]}).encode()
        def broken():
            return self.server.ask("POST", "/v2/models/upper/infer", head + b"\1\0\0\0\xff", {"Inference-Header-Content-Length": str(len(head))})[0]
        answers = self.together([broken, lambda: self.infer("upper", ["a", "b", "c"])])
        self.assertEqual(answers[1], (200, ["A", "B", "C"]))
        self.assertEqual(answers[0], 400)


class PaddedTexts(OnnxCase):
    """Strings of different numbers in one batch: filled up with texts, answers cut back. Told which word each is, by a table."""
    words = {"the": "THE", "cat": "CAT", "[PAD]": "filled in"}
    table = onnx_file.model({"x": ("words",), "m": ("words",)}, {"y": ("words",), "n": ("words",)},
                            [("LabelEncoder", ["x"], "y", {"keys_strings": list(words), "values_strings": list(words.values()),
                                                           "default_string": "?"}, "ai.onnx.ml"), ("Relu", ["m"], "n")],
                            {"x": onnx_file.STRING, "y": onnx_file.STRING})
    models = {"table": (table, {"max_wait_ms": 300, "dimensions": {"words": {"largest": 40, "pad": {"x": "[PAD]", "m": -1}}}}),
              "apart": (table, {"max_wait_ms": 300, "dimensions": {"words": {"largest": 40}}}),
              "wrong": (table, {"dimensions": {"words": {"largest": 40, "pad": {"x": 1}}}})}

    @staticmethod
    def rows(length):
        return [["the", "cat", "dög"][(row + k) % 3] for row in range(2) for k in range(length)]

    def as_json(self, model, length):
        words = self.rows(length)
        status, body = self.server.ask("POST", f"/v2/models/{model}/infer", {"inputs": [
            {"name": "x", "shape": [2, length], "datatype": "BYTES", "data": words},
            {"name": "m", "shape": [2, length], "datatype": "FP32", "data": list(range(2 * length))}]})
        self.assertEqual(status, 200, body)
        return [(one["shape"], one["data"]) for one in json.loads(body)["outputs"]]

    def in_binary(self, model, length):
        words = [word.encode() for word in self.rows(length)]
        texts = b"".join(struct.pack("<I", len(word)) + word for word in words)
        numbers = struct.pack(f"<{2 * length}f", *range(2 * length))
        head = json.dumps({"parameters": {"binary_data_output": True}, "inputs": [
            {"name": "x", "shape": [2, length], "datatype": "BYTES", "parameters": {"binary_data_size": len(texts)}},
            {"name": "m", "shape": [2, length], "datatype": "FP32", "parameters": {"binary_data_size": len(numbers)}}]}).encode()
        status, body = self.server.ask("POST", f"/v2/models/{model}/infer", head + texts + numbers, {"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual(status, 200, body)
        about, end = json.JSONDecoder().raw_decode(body.decode(errors="replace"))
        rest, answered = body[end:], []
        for one in about["outputs"]:
            data, rest = rest[:one["parameters"]["binary_data_size"]], rest[one["parameters"]["binary_data_size"]:]
            if one["datatype"] == "FP32":
                answered.append((one["shape"], list(struct.unpack(f"<{len(data) // 4}f", data))))
                continue
            texts = []
            while data:
                size = struct.unpack("<I", data[:4])[0]
                texts, data = [*texts, data[4:4 + size].decode()], data[4 + size:]
            answered.append((one["shape"], texts))
        return answered

    def test_numbers_of_words_share_a_batch_and_each_gets_its_own(self):
        for ask in (self.as_json, self.in_binary):
            before = {model: self.server.metric("stint_serve_batches_total", model=model) for model in ("table", "apart")}
            lengths = range(1, 9)
            for model in before:
                for length, answer in zip(lengths, self.together([lambda n=n: ask(model, n) for n in lengths])):
                    expected = [self.words.get(word, "?") for word in self.rows(length)]
                    self.assertEqual(answer, [([2, length], expected), ([2, length], list(range(2 * length)))])
            ran = {model: self.server.metric("stint_serve_batches_total", model=model) - count for model, count in before.items()}
            self.assertLess(ran["table"], len(lengths))
            self.assertEqual(ran["apart"], len(lengths))

    def test_what_is_filled_in_must_be_a_text(self):
        self.assertIn("input x holds texts: give a text", self.server.said)


class MaskedTexts(OnnxCase):
    """A mask makes filling up right for strings as well; it is tried at the load."""
    models = {"masked": (onnx_file.model({"x": ("s",), "attention_mask": ("s",)}, {"y": ("s",)},
                                         [("LabelEncoder", ["x"], "n", {"keys_strings": ["a", "b"], "values_floats": [1.0, 2.0], "default_float": 9.0},
                                           "ai.onnx.ml"), ("Mul", ["n", "attention_mask"], "y")],
                                         {"x": onnx_file.STRING}), {"max_wait_ms": 300, "dimensions": {"s": {"largest": 40}}})}

    def test_lengths_share_a_batch(self):
        def ask(length):
            return self.server.ask("POST", "/v2/models/masked/infer", {"inputs": [
                {"name": "x", "shape": [1, length], "datatype": "BYTES", "data": ["ab?"[k % 3] for k in range(length)]},
                {"name": "attention_mask", "shape": [1, length], "datatype": "FP32", "data": [1] * length}]})
        before = self.server.metric("stint_serve_batches_total", model="masked")
        for length, (status, body) in zip(range(1, 9), self.together([lambda n=n: ask(n) for n in range(1, 9)])):
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["outputs"][0]["data"], [(1, 2, 9)[k % 3] for k in range(length)])
        self.assertLess(self.server.metric("stint_serve_batches_total", model="masked") - before, 8)


class NotANumber(OnnxCase):
    """x divided by the largest of the whole batch, as a dynamically quantised model does inside."""
    models = {"scaled": (onnx_file.model({"x": (2,)}, {"y": (2,)}, [("ReduceMax", ["x"], "m"), ("Div", ["x", "m"], "y")]),
                         {"max_batch": 2, "max_wait_ms": 60_000})}

    def test_one_client_s_nan_spoils_no_other_s_batch(self):
        # Two fill the batch; one of them alone would wait for a minute.
        broken, good = self.together([lambda row=row: self.server.infer("scaled", [row]) for row in ([float("nan"), 1], [2, 4])])
        self.assertEqual((good[0], good[1]["outputs"][0]["data"]), (200, [0.5, 1]))
        self.assertEqual((broken[0], str(broken[1]["outputs"][0]["data"][0])), (200, "nan"))


class Failing(OnnxCase):
    """A model that looks numbers up in a table of three: another number fails it."""
    table = onnx_file.model({"x": ()}, {"y": ()}, [("Constant", [], "t", {"value_ints": [10, 20, 30]}), ("Gather", ["t", "x"], "y")],
                            {"x": onnx_file.INT64, "y": onnx_file.INT64})
    # Eight fill the batch; fewer would wait for a minute.
    models = dict.fromkeys(("one", "two", "all"), (table, {"max_batch": 8, "max_wait_ms": 60_000}))

    def ask(self, model, numbers):
        """What each of eight clients is told, and how many batches that took."""
        before = self.server.metric("stint_serve_batches_total", model=model)
        answers = self.together([lambda n=n: self.server.infer(model, [n], datatype="INT64") for n in numbers])
        told = [answer["outputs"][0]["data"][0] if status == 200 else (status, "idx=99" in answer["error"]) for status, answer in answers]
        return told, self.server.metric("stint_serve_batches_total", model=model) - before

    def test_only_who_fails_the_model_is_told_so(self):
        told, batches = self.ask("one", [0, 1, 2, 99, 0, 1, 2, 0])
        self.assertEqual(told, [10, 20, 30, (400, True), 10, 20, 30, 10])
        self.assertEqual(batches, 7, "the batch, then two halves three times")

    def test_several_who_fail_it_are_told_so_each(self):
        told, _ = self.ask("two", [99, 1, 2, 0, 0, 1, 2, 99])
        self.assertEqual(told, [(400, True), 20, 30, 10, 10, 20, 30, (400, True)])

    def test_what_all_fail_costs_twice_the_requests_and_says_little(self):
        told, batches = self.ask("all", [99] * 8)
        self.assertEqual(told, [(400, True)] * 8)
        self.assertEqual(batches, 15)
        for number in range(3):
            self.ask("all", [99] * 8)
        said = self.server.stop()
        type(self).server = RunningServer(STINT, self.server.folder)
        lines = [line for line in said.splitlines() if "idx=99" in line]
        self.assertTrue(lines)
        self.assertLessEqual(len(lines), 20, "ten in a minute, of two at most")
        self.assertTrue(all(line.startswith("stint: ONNX Runtime: ") for line in lines), lines[0])


def events(server, model, body, headers=None):
    """(content type, events) of a stream, each read when it is asked for."""
    request = urllib.request.Request(f"{server.url}/v2/models/{model}/generate_stream", method="POST", data=json.dumps(body).encode(), headers=headers or {})
    answer = urllib.request.urlopen(request, timeout=60)

    def each():
        with answer:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[len("data: "):])
                else:
                    assert line == b"\n" or line.startswith(b":"), line
    return answer.headers["Content-Type"], each()


class Streams(ServerCase):
    """Models whose answer is the next request's input: a stream of answers."""
    looped = {"feed": {"x": "y"}}
    models = {"echo": {1: synthetic((2,))}, "slow": {1: synthetic((1,), base_us=20_000)}, "short": {1: synthetic((1,), base_us=20_000)},
              "long": {1: synthetic((1,))}, "plain": {1: synthetic((2, 2))}, "large": {1: synthetic((40_000,))}}
    settings = {"echo": {"generate": {**looped, "steps": 5}}, "slow": {"max_batch": 8, "generate": {**looped, "steps": 1000}},
                "short": {"generate": {**looped, "seconds": 0.3}}, "long": {"generate": {**looped, "steps": 20_000}},
                "large": {"generate": looped}}

    def test_each_answer_is_an_event(self):
        kind, answers = events(self.server, "echo", {"x": [1, 2.5], "id": "q7"})
        self.assertEqual(kind, "text/event-stream")
        self.assertEqual(list(answers), [{"model_name": "echo", "model_version": "1", "id": "q7", "y": [1, 2.5]}] * 5)

    def test_fewer_when_the_request_says_so_never_more(self):
        for wanted, got in ((2, 2), (1, 1), (99, 5)):
            self.assertEqual(len(list(events(self.server, "echo", {"x": [1, 2], "parameters": {"max_tokens": wanted}})[1])), got)

    def test_it_is_told_that_the_model_answers_more_than_once(self):
        config = json.loads(self.server.ask("GET", "/v2/models/echo/config")[1])
        self.assertEqual(config["model_transaction_policy"], {"decoupled": True})
        self.assertIn("generate", json.loads(self.server.ask("GET", "/v2")[1])["extensions"])
        status, body = self.server.ask("POST", "/v2/models/echo/generate", {"x": [1, 2]})
        self.assertEqual((status, "generate_stream" in json.loads(body)["error"]), (400, True), body)
        self.assertEqual(self.server.infer("echo", [[1, 2]])[1]["outputs"][0]["data"], [1, 2], "one step")

    def test_other_models_answer_once(self):
        answer = {"model_name": "plain", "model_version": "1", "y": [1, 2, 3, 4]}
        for values in ([1, 2, 3, 4], [[1, 2], [3, 4]]):
            status, body = self.server.ask("POST", "/v2/models/plain/generate", {"x": values, "unknown": 7})
            self.assertEqual((status, json.loads(body)), (200, answer))
        self.assertEqual(list(events(self.server, "plain", {"x": [1, 2, 3, 4]})[1]), [answer])

    def test_what_does_not_fit_is_refused_before_the_stream_begins(self):
        for body in ({}, {"x": [1]}, {"x": "one"}, {"x": None}, {"x": {"y": 1}}, [], b"", b"[" * 100_000, {"x": [1, 1e39]},
                     {"x": [1, 2], "parameters": {"max_tokens": -1}}, {"x": []}):
            for what in ("generate", "generate_stream"):
                status, answer = self.server.ask("POST", f"/v2/models/{'plain' if what == 'generate' else 'echo'}/{what}", body)
                self.assertEqual((status, "error" in json.loads(answer)), (400, True), (body, answer))
        self.assertEqual(self.server.ask("GET", "/v2/models/echo/generate_stream")[0], 405)

    def test_its_time_is_bounded(self):
        *answers, last = events(self.server, "short", {"x": 1})[1]
        self.assertTrue(all(answer["y"] == 1 for answer in answers))
        self.assertIn("error", last)
        self.assertLessEqual(len(answers), 15)

    def test_a_client_that_goes_ends_it(self):
        answers = events(self.server, "slow", {"x": 1})[1]
        self.assertEqual(next(answers)["y"], 1)
        self.assertEqual(self.server.metric("stint_serve_open_streams", model="slow"), 1)
        answers.close()
        self.server.wait_for(lambda: self.server.metric("stint_serve_open_streams", model="slow") == 0, seconds=5)
        self.server.wait_for(lambda: self.server.metric("stint_serve_request_bytes") == 0, seconds=5)
        ran = self.server.metric("stint_serve_batches_total", model="slow")
        self.assertLess(ran, 1000)

    def test_streams_share_batches_and_leave_room_for_others(self):
        before = self.server.metric("stint_serve_batches_total", model="slow")
        body, done = {"x": 1, "parameters": {"max_tokens": 20}}, []
        threads = [threading.Thread(target=lambda: done.append(len(list(events(self.server, "slow", body)[1])))) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertEqual(self.server.infer("slow", [[7]])[1]["outputs"][0]["data"], [7])
        for thread in threads:
            thread.join()
        self.assertEqual(done, [20] * 4)
        self.assertLess(self.server.metric("stint_serve_batches_total", model="slow") - before, 60)

    def test_a_client_that_reads_late_misses_nothing(self):
        _, answers = events(self.server, "long", {"x": 3})
        next(answers)
        time.sleep(0.5)
        self.assertEqual(sum(1 for answer in answers if answer["y"] == 3), 19_999)

    def test_an_answer_that_is_too_long_for_an_event_says_so(self):
        status, body = self.server.ask("POST", "/v2/models/large/generate_stream", {"x": [1.25] * 40_000})
        self.assertEqual(status, 400, body[:200])
        self.assertIn("too long for a stream", json.loads(body)["error"])


class Generated(OnnxCase):
    """Streams of ONNX models: a state, a text that becomes longer, words."""
    more = onnx_file.model({"x": (1,)}, {"y": (1,)}, [("Add", ["x", "one"], "y")], constants={"one": ((1,), [1.0])})
    longer = onnx_file.model({"ids": ("s",), "mask": ("s",)}, {"next": (1,), "length": (1,)},
                             [("Mul", ["ids", "mask"], "told"), ("ReduceMax", ["told"], "most", {"axes": [1], "keepdims": 1}),
                              ("Add", ["most", "one"], "next"), ("ReduceMean", ["mask"], "length", {"axes": [1], "keepdims": 1})],
                             constants={"one": ((1,), [1.0])})
    words = onnx_file.model({"x": (1,)}, {"y": (1,)},
                            [("LabelEncoder", ["x"], "y", {"keys_strings": ["a", "b"], "values_strings": ["b", "end"], "default_string": "a"}, "ai.onnx.ml")],
                            {"x": onnx_file.STRING, "y": onnx_file.STRING})
    append = {"append": {"ids": "next", "mask": 1}, "answers": ["next"]}
    models = {"more": (more, {"generate": {"feed": {"x": "y"}, "stop": {"y": 5}}}),
              "longer": (longer, {"dimensions": {"s": {"largest": 6}}, "generate": append}),
              "padded": (longer, {"max_wait_ms": 30, "dimensions": {"s": {"largest": 30, "pad": {}}}, "generate": {**append, "stop": {"next": 12}}}),
              "words": (words, {"generate": {"feed": {"x": "y"}, "stop": {"y": "end"}}}),
              "wrong": (more, {"generate": {"feed": {"x": "z"}}})}

    def told(self, model, body, output):
        return [answer[output] for answer in events(self.server, model, body)[1]]

    def test_a_state_goes_on_until_the_value_that_stops_it(self):
        self.assertEqual(self.told("more", {"x": 0}, "y"), [1, 2, 3, 4, 5])
        self.assertEqual(self.told("more", {"x": [3]}, "y"), [4, 5])

    def test_a_text_becomes_longer_up_to_the_largest(self):
        self.assertEqual(self.told("longer", {"ids": [1, 3, 2], "mask": [1, 1, 1]}, "next"), [4, 5, 6, 7])
        self.assertEqual(self.told("longer", {"ids": [1, 3], "mask": [1, 0]}, "next"), [2, 3, 4, 5, 6])

    def test_streams_of_different_lengths_share_batches(self):
        before = self.server.metric("stint_serve_batches_total", model="padded")
        bodies = [{"ids": list(range(1, n + 1)), "mask": [1] * n} for n in range(1, 9)]
        for n, told in enumerate(self.together([lambda body=body: self.told("padded", body, "next") for body in bodies]), 1):
            self.assertEqual(told, list(range(n + 1, 13)))
        self.assertLess(self.server.metric("stint_serve_batches_total", model="padded") - before, sum(12 - n for n in range(1, 9)))

    def test_words(self):
        self.assertEqual(self.told("words", {"x": "?"}, "y"), ["a", "b", "end"])
        self.assertEqual(self.server.ask("POST", "/v2/models/words/infer", {"inputs": [
            {"name": "x", "shape": [1, 1], "datatype": "BYTES", "data": ["a"]}]})[0], 200)

    def test_what_the_model_does_not_have_is_refused_at_the_load(self):
        self.assertIn("generate: the model has no output z", self.server.said)


class Cached(unittest.TestCase):
    """Answers that are kept, of clients who are told apart."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        for name in ("all", "red", "blue"):
            (folder / name).write_text(f"token-of-{name}\n")
            (folder / name).chmod(0o600)
        cls.server = RunningServer(
            STINT, folder / "models", {name: {1: synthetic(base_us=20_000)} for name in ("kept", "plain", "joined")},
            {name: {"cache": True, "max_batch": 8} for name in ("kept", "joined")}, controlled=True, arguments=[
                "--response-cache", "1", "--token-file", str(folder / "all"), "--tenant", "red=1", "--tenant", "blue=1",
                "--tenant-token", f"red={folder / 'red'}", "--tenant-token", f"blue={folder / 'blue'}"])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.cleanup()

    def infer(self, model, row, who="all", binary=False):
        tensor, outputs, data = {"name": "x", "shape": [1, 4], "datatype": "FP32"}, [{"name": "y", "parameters": {"binary_data": binary}}], b""
        tensor.update({"parameters": {"binary_data_size": 16}} if binary else {"data": row})
        head = json.dumps({"inputs": [tensor], "outputs": outputs}).encode()
        headers = {"Authorization": f"Bearer token-of-{who}"}
        if binary:
            data, headers["Inference-Header-Content-Length"] = struct.pack("<4f", *row), str(len(head))
        status, body = self.server.ask("POST", f"/v2/models/{model}/infer", head + data, headers)
        self.assertEqual(status, 200, body)
        return list(struct.unpack("<4f", body[-16:])) if binary else json.loads(body)["outputs"][0]["data"]

    def metric(self, name, **labels):
        text = self.server.ask("GET", "/metrics", headers={"Authorization": "Bearer token-of-all"})[1].decode()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
                   if line.partition("{")[0].partition(" ")[0] == name and all(f'{k}="{v}"' in line for k, v in labels.items()))

    def counts(self, model):
        return [self.metric(f"stint_serve_cache_{what}_total", model=model) for what in ("hits", "misses")]

    def test_the_same_is_computed_once_for_each_who_asks_until_the_model_is_loaded_again(self):
        for binary in (False, True, True):
            self.assertEqual(self.infer("kept", [1, 2, 3, 4], binary=binary), [1, 2, 3, 4])
        self.assertEqual(self.counts("kept"), [2, 1])
        self.assertEqual(self.infer("kept", [1, 2, 3, 5]), [1, 2, 3, 5])
        self.assertEqual(self.counts("kept"), [2, 2])
        for who in ("red", "blue", "blue"):
            self.infer("kept", [1, 2, 3, 4], who)
        self.assertEqual(self.counts("kept"), [3, 4])
        self.assertGreater(self.metric("stint_serve_cache_bytes"), 0)
        self.assertEqual(self.metric("stint_serve_cache_room_bytes"), 1 << 20)
        status, body = self.server.ask("POST", "/v2/repository/models/kept/load", b"", RunningServer.CONTROL)
        self.assertEqual(status, 200, body)
        self.infer("kept", [1, 2, 3, 4])
        self.assertEqual(self.counts("kept"), [0, 1])

    def test_what_is_not_said_to_be_cached_is_computed_each_time(self):
        before = self.metric("stint_serve_batches_total", model="plain")
        for _ in range(2):
            self.infer("plain", [1, 2, 3, 4])
        self.assertEqual(self.metric("stint_serve_batches_total", model="plain") - before, 2)

    def test_many_who_ask_the_same_at_once_are_answered_by_one_batch(self):
        # Who comes while it runs waits for it, who comes later finds what is kept.
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.infer("joined", [4, 3, 2, 1]))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [[4, 3, 2, 1]] * 8)
        self.assertEqual(self.metric("stint_serve_items_total", model="joined"), 1)
        hits, misses = self.counts("joined")
        self.assertEqual([misses, hits + self.metric("stint_serve_cache_joined_total", model="joined")], [1, 7])

    def test_more_than_there_is_memory_is_refused(self):
        done = subprocess.run([STINT, "serve", "run", "--models", self.scratch.name, "--memory", "100", "--response-cache", "80"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--response-cache: requests and kept answers would take all of --memory (100 MiB)", done.stderr)


class Random(OnnxCase):
    models = {"dice": (onnx_file.model({"x": (2,)}, {"y": (2,)}, [("RandomUniformLike", ["x"], "y")]), {"cache": True})}

    def test_a_model_that_draws_random_numbers_is_not_cached(self):
        self.assertEqual(self.server.ask("GET", "/v2/models/dice/ready")[0], 404)
        self.assertIn("draws random numbers (RandomUniformLike)", self.server.said)


class FreeShapes(OnnxCase):
    """Models whose tensors have a dimension that each request sets: x × mask, then Relu (places alone) or Softmax (all places)."""
    models = {name: (onnx_file.model({"x": ("s",), "attention_mask": ("s",)}, {"y": ("s",)}, [("Mul", ["x", "attention_mask"], "z"), (last, ["z"], "y")]),
                     {"max_wait_ms": 300, "dimensions": {"s": {"largest": 40}}}) for name, last in (("relu", "Relu"), ("softmax", "Softmax"))}

    def infer(self, model, rows, mask=None):
        tensors = {"x": rows, "attention_mask": mask or [[1] * len(row) for row in rows]}
        status, body = self.server.ask("POST", f"/v2/models/{model}/infer", {"inputs": [
            {"name": name, "shape": [len(data), len(data[0])], "datatype": "FP32", "data": data} for name, data in tensors.items()]})
        return status, json.loads(body)

    def at_once(self, model, lengths):
        """Answers by length, of requests that wait for company together."""
        answers = dict(zip(lengths, self.together([lambda n=n: self.infer(model, [[1.0 + i for i in range(n)]]) for n in lengths])))
        for length, (status, answer) in answers.items():
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["outputs"][0]["shape"], [1, length])
        return {length: answer["outputs"][0]["data"] for length, (_, answer) in answers.items()}

    def test_metadata_says_what_is_free(self):
        about = json.loads(self.server.ask("GET", "/v2/models/relu")[1])
        self.assertEqual(about["inputs"][0], {"name": "x", "datatype": "FP32", "shape": [-1, -1]})

    def test_lengths_share_a_batch_where_the_mask_makes_that_right(self):
        before = self.server.metric("stint_serve_batches_total", model="relu")
        answers = self.at_once("relu", range(1, 17))
        for length, data in answers.items():
            self.assertEqual(data, [1.0 + n for n in range(length)])
        self.assertLess(self.server.metric("stint_serve_batches_total", model="relu") - before, 16)

    def test_lengths_are_run_apart_where_it_would_be_wrong(self):
        for length, data in self.at_once("softmax", (1, 2, 5, 16, 17)).items():
            powers = [math.exp(n) for n in range(length)]
            for got, power in zip(data, powers):
                self.assertAlmostEqual(got, power / sum(powers), places=4)

    def test_shapes_that_do_not_fit_are_refused(self):
        status, answer = self.infer("relu", [[1.0] * 41])
        self.assertEqual(status, 400, answer)
        self.assertIn("s is 41; the largest that is served is 40", answer["error"])
        status, answer = self.infer("relu", [[1.0] * 3], [[1.0] * 4])
        self.assertEqual(status, 400, answer)
        self.assertIn("s is 4, of another input 3", answer["error"])
        self.assertEqual(self.infer("relu", [[]])[0], 400)

    def test_load_sends_such_requests(self):
        done = subprocess.run([STINT, "serve", "load", "--server", f"127.0.0.1:{self.server.port}", "--model", "relu", "--rate", "50",
                               "--seconds", "1", "--json"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["sent"], told["answered"])


class OthersShapes(OnnxCase):
    """Shapes as exporters write them: a batch that is fixed at one, dimensions that are called "?"."""
    models = {"single": (onnx_file.model({"x": (2,)}, {"y": (2,)}, [("Relu", ["x"], "y")], batch=1), {"preferred": [4, 8]}),
              "unnamed": (onnx_file.model({"x": ("?", "?")}, {"y": ("?", "?")}, [("Relu", ["x"], "y")]), {})}

    def test_a_model_for_one_item_at_a_time_is_served_so(self):
        rows = [[k, -k] for k in range(6)]
        answers = self.together([lambda row=row: self.server.infer("single", [row]) for row in rows])
        self.assertEqual([(status, answer["outputs"][0]["data"]) for status, answer in answers], [(200, [k, 0]) for k in range(6)])
        self.assertEqual(json.loads(self.server.ask("GET", "/v2/models/single/config")[1])["max_batch_size"], 1)
        status, answer = self.server.infer("single", rows[:2])
        self.assertEqual(status, 400, answer)

    def test_dimensions_without_a_name_need_not_be_equal(self):
        status, body = self.server.ask("POST", "/v2/models/unnamed/infer", {"inputs": [
            {"name": "x", "shape": [1, 2, 3], "datatype": "FP32", "data": [1, -1, 2, -2, 3, -3]}]})
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["outputs"][0]["shape"], [1, 2, 3])

    def test_load_sends_the_sizes_that_are_said(self):
        def load(*shapes):
            return subprocess.run([STINT, "serve", "load", "--server", f"127.0.0.1:{self.server.port}", "--model", "unnamed", "--rate", "50",
                                   "--seconds", "0.5", "--json", *shapes], capture_output=True, text=True, timeout=60, check=False)
        done = load("--shape", "x.1=3", "--shape", "x.2=5")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["sent"], told["answered"])
        self.assertIn("--shape x.3: unnamed has no such free dimension", load("--shape", "x.3=5").stderr)
        refused = json.loads(load("--shape", "x.1=513").stdout)  # above the largest
        self.assertEqual(refused["refused"], {"400": refused["sent"]})


class Load(ServerCase):
    """stint serve load."""
    models = {"echo": {1: synthetic()}, "slow": {1: synthetic(base_us=20_000)}}
    settings = {"slow": {"max_batch": 1, "queue": 100_000}}

    def load(self, *arguments):
        done = subprocess.run([STINT, "serve", "load", "--server", f"127.0.0.1:{self.server.port}", "--json", *arguments],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def test_every_request_is_counted(self):
        status, told = self.load("--model", "echo", "--rate", "200", "--seconds", "2", "--json-tensors")
        self.assertEqual(status, 0, told)
        self.assertEqual(told["sent"], told["answered"])
        self.assertAlmostEqual(told["sent"], 400, delta=100)  # five standard deviations of a Poisson count

    def test_waiting_for_the_server_is_part_of_the_time(self):
        # 50 a second are answered and 100 come: after a second the last has waited for about half of one.
        status, told = self.load("--model", "slow", "--rate", "100", "--seconds", "1", "--connections", "1", "--p99", "50ms")
        self.assertEqual(status, 3, told)
        self.assertGreater(told["latency"]["p99_ms"], 300)
        self.assertGreater(told["sent_late"]["p99_ms"], told["from_sent"]["p50_ms"], "the one connection was waited for, not the server")
        self.assertFalse(told["promise_kept"])

    def test_a_trace_sets_the_pace(self):
        trace = self.server.folder.parent / "trace.csv"
        trace.write_text("TIMESTAMP,Tokens\n" + "".join(f"2023-11-16 18:17:{s:02}.5,7\n" for s in range(30)))
        status, told = self.load("--model", "echo", "--rate", "100", "--seconds", "1", "--trace", str(trace))
        self.assertEqual(status, 0, told)
        self.assertIn(told["sent"], (99, 100))  # evenly, as in the trace

    def test_a_server_that_is_not_there_is_named(self):
        done = subprocess.run([STINT, "serve", "load", "--server", "127.0.0.1:1", "--model", "a"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("127.0.0.1", done.stderr)


class Ending(unittest.TestCase):
    def test_every_request_is_answered_before_it_ends(self):
        with tempfile.TemporaryDirectory() as scratch:
            server = RunningServer(STINT, pathlib.Path(scratch) / "m", {"slow": {1: synthetic(base_us=200_000)}},
                                   {"slow": {"max_batch": 1}})
            statuses = []
            threads = [threading.Thread(target=lambda: statuses.append(server.infer("slow", [[1, 2, 3, 4]])[0])) for _ in range(4)]
            for thread in threads:
                thread.start()
            server.wait_for(lambda: server.metric("stint_serve_waiting_requests") == 3)
            self.assertIn("every request was answered", server.stop())
            for thread in threads:
                thread.join()
            self.assertEqual(statuses, [200] * 4)

    def test_plain_http_stays_on_this_machine_and_tokens_are_asked_for(self):
        with tempfile.TemporaryDirectory() as scratch:
            refused = subprocess.run([STINT, "serve", "run", "--models", scratch, "--listen", "0.0.0.0:0"], capture_output=True,
                                     text=True, timeout=60, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("without TLS", refused.stderr)
            token = pathlib.Path(scratch) / "token"
            token.write_text("secret\n")
            token.chmod(0o600)
            server = RunningServer(STINT, pathlib.Path(scratch) / "m", {"echo": {1: synthetic()}}, arguments=("--token-file", str(token)))
            try:
                self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
                self.assertEqual(server.ask("GET", "/v2")[0], 401)
                self.assertEqual(server.ask("GET", "/v2", headers={"Authorization": "Bearer secreT"})[0], 401)
                self.assertEqual(server.ask("GET", "/v2", headers={"Authorization": "Bearer secret"})[0], 200)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
