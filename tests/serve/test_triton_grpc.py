#!/usr/bin/env python3
"""stint serve run over gRPC, spoken to by Triton's own client. Usage: test_triton_grpc.py STINT SOURCE.

Skipped without the client: scripts/setup-tritonclient fetches it into build/tritonclient.
"""
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from test_triton_client import SKIPPED, python_with_client  # noqa: E402


def refused(call, code):
    """The message of the refusal with that status."""
    from tritonclient.utils import InferenceServerException
    try:
        call()
    except InferenceServerException as error:
        assert error.status() == f"StatusCode.{code}", error
        return error.message()
    raise AssertionError(f"not refused with {code}")


def speak(stint):
    """Runs under the Python that has the client."""
    import numpy
    import onnx_file
    import tritonclient.grpc as triton
    from running_server import DATATYPES, RunningServer, config_type, one_of_every_type, synthetic
    from tritonclient.utils import deserialize_bytes_tensor
    from typed_values import typed_values

    def tensor(values, name="x", datatype="FP32"):
        made = triton.InferInput(name, values.shape, datatype)
        made.set_data_from_numpy(values)
        return made

    def speak_of_types(server):
        """Raw contents by the client, typed ones by its protocol's messages."""
        import grpc
        from tritonclient.grpc import service_pb2, service_pb2_grpc
        fields = {"BOOL": "bool", "INT64": "int64", "UINT64": "uint64", "FP32": "fp32", "FP64": "fp64", "BYTES": "bytes"}
        fields |= {f"INT{bits}": "int" for bits in (8, 16, 32)} | {f"UINT{bits}": "uint" for bits in (8, 16, 32)}
        client, stub = triton.InferenceServerClient(server), service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(server))

        def typed(datatype, shape, values):
            request = service_pb2.ModelInferRequest(model_name=f"echo_{datatype.lower()}")
            made = request.inputs.add(name="x", datatype=datatype, shape=shape)
            getattr(made.contents, fields.get(datatype, "fp32") + "_contents").extend(values)
            return stub.ModelInfer(request)

        for datatype in DATATYPES:
            name, x = f"echo_{datatype.lower()}", typed_values(datatype, (3, 4))
            assert client.get_model_metadata(name).inputs[0].datatype == datatype
            number = client.get_model_config(name).config.input[0].data_type
            assert number == triton.model_config_pb2.DataType.Value(config_type(datatype)), datatype
            y = client.infer(name, [tensor(x, datatype=datatype)]).as_numpy("y")
            assert y.dtype == x.dtype and numpy.array_equal(x, y), (datatype, x, y)
            if datatype in fields:
                answer = typed(datatype, x.shape, x.ravel().tolist())
                assert answer.outputs[0].datatype == datatype
                raw = answer.raw_output_contents[0]
                values = deserialize_bytes_tensor(raw) if datatype == "BYTES" else numpy.frombuffer(raw, dtype=x.dtype)
                assert numpy.array_equal(values, x.ravel()), datatype

        def refused_typed(datatype, values, why):
            try:
                typed(datatype, (1, 4), values)
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and why in error.details(), error
                return
            raise AssertionError(f"{datatype} {values} was served")

        refused_typed("UINT8", [1, 2, 3, 256], "256 is out of its type's range")
        refused_typed("INT16", [1, 2, 3, -32769], "out of its type's range")
        refused_typed("INT8", [1, 2], "2 values; its shape says 4")
        refused_typed("FP16", [1, 2, 3, 4], "send them raw")
        refused_typed("BYTES", [b"a"], "1 values; its shape says 4")
        assert numpy.isnan(numpy.frombuffer(typed("FP64", (1, 4), [1, 2, 3, float("nan")]).raw_output_contents[0])[3])
        client.close()

    def speak_of_streams(server):
        """Several answers to a request, by the client's stream."""
        client, came = triton.InferenceServerClient(server.grpc), queue.Queue()

        def answers(count):
            """(value of y, id, whether it is the last) of each."""
            told = []
            for _ in range(count):
                result, error = came.get(timeout=60)
                assert error is None, error
                said = result.get_response()
                told.append((result.as_numpy("y").tolist(), said.id, said.parameters["triton_final_response"].bool_param))
            return told

        def x(*values):
            return [tensor(numpy.array([values], dtype=numpy.float32))]

        assert client.get_model_config("looped").config.model_transaction_policy.decoupled
        assert not client.get_model_config("echo").config.model_transaction_policy.decoupled
        client.start_stream(callback=lambda result, error: came.put((result, error)))
        client.async_stream_infer("looped", x(1, 2), request_id="a", enable_empty_final_response=True)
        client.async_stream_infer("looped", x(3, 4), request_id="b", parameters={"max_tokens": 2})
        client.async_stream_infer("echo", x(5, 6, 7, 8), request_id="c")
        assert answers(4) == [([[1, 2]], "a", False)] * 3 + [([[1, 2]], "a", True)]
        assert answers(2) == [([[3, 4]], "b", False), ([[3, 4]], "b", True)]
        assert answers(1) == [([[5, 6, 7, 8]], "c", True)]
        # What is wrong with one request does not end the stream.
        for model, inputs, why in (("nothing", x(1, 2), "not served"), ("looped", x(1), "shape"), ("looped", [tensor(numpy.zeros((2, 2), dtype=numpy.float32))], "one item")):
            client.async_stream_infer(model, inputs, request_id="d")
            result, error = came.get(timeout=60)
            assert result is None and why in str(error), (why, error)
        client.async_stream_infer("looped", x(1, 2), request_id="e", parameters={"max_tokens": 1})
        assert answers(1) == [([[1, 2]], "e", True)]
        client.stop_stream()
        # Who goes away ends its stream.
        client.start_stream(callback=lambda result, error: came.put((result, error)))
        client.async_stream_infer("endless", x(1), request_id="f")
        assert answers(1) == [([[1]], "f", False)]
        assert server.metric("stint_serve_open_streams", model="endless") == 1
        client.stop_stream(cancel_requests=True)
        server.wait_for(lambda: server.metric("stint_serve_open_streams", model="endless") == 0, seconds=5)
        server.wait_for(lambda: server.metric("stint_serve_request_bytes") == 0, seconds=5)
        client.close()

    def speak_of_texts(server):
        """Strings of different numbers share a batch."""
        client, came = triton.InferenceServerClient(server.grpc), queue.Queue()
        for n in range(1, 7):
            words = numpy.array([["the", "cat", "?"][k % 3] for k in range(n)], dtype=object).reshape(1, n)
            client.async_infer("table", [tensor(words, datatype="BYTES")], lambda result, error, n=n: came.put((n, result, error)))
        for _ in range(6):
            n, result, error = came.get(timeout=60)
            assert error is None, error
            assert result.as_numpy("y").tolist() == [[[b"THE", b"CAT", b"none"][k % 3] for k in range(n)]], n
        assert server.metric("stint_serve_batches_total", model="table") < 6
        client.close()

    with tempfile.TemporaryDirectory() as scratch:
        if os.environ.get("STINT_ONNXRUNTIME"):
            folder = pathlib.Path(scratch) / "texts" / "table"
            (folder / "1").mkdir(parents=True)
            (folder / "model.json").write_text(json.dumps({"max_wait_ms": 300, "dimensions": {"words": {"largest": 20, "pad": {"x": "[PAD]"}}}}))
            (folder / "1" / "model.onnx").write_bytes(onnx_file.model(
                {"x": ("words",)}, {"y": ("words",)}, [("LabelEncoder", ["x"], "y", {
                    "keys_strings": ["the", "cat"], "values_strings": ["THE", "CAT"], "default_string": "none"}, "ai.onnx.ml")],
                {"x": onnx_file.STRING, "y": onnx_file.STRING}))
            texts = RunningServer(stint, folder.parent, arguments=["--grpc", "127.0.0.1:0"])
            try:
                speak_of_texts(texts)
            finally:
                texts.stop()
        looped = {"generate": {"feed": {"x": "y"}, "steps": 4}}
        streams = RunningServer(stint, pathlib.Path(scratch) / "streams",
                                {"looped": {1: synthetic((2,))}, "echo": {1: synthetic()}, "endless": {1: synthetic((1,), base_us=10_000)}},
                                {"looped": looped, "endless": {"generate": {"feed": {"x": "y"}, "steps": 60_000}}}, ["--grpc", "127.0.0.1:0"])
        try:
            speak_of_streams(streams)
        finally:
            streams.stop()
        typed_server = RunningServer(stint, pathlib.Path(scratch) / "typed", one_of_every_type(), arguments=["--grpc", "127.0.0.1:0"])
        try:
            speak_of_types(typed_server.grpc)
        finally:
            typed_server.stop()
        token = pathlib.Path(scratch) / "token"
        token.write_text("open-sesame\n")
        token.chmod(0o600)
        models = {"echo": {1: synthetic()}, "wide": {1: synthetic(shape=(3, 5))}, "slow": {1: synthetic(base_us=300_000)}}
        server = RunningServer(stint, pathlib.Path(scratch) / "m", models, {"slow": {"max_batch": 1}},
                               ["--grpc", "127.0.0.1:0", "--token-file", str(token)], controlled=True)
        headers = {"authorization": "Bearer open-sesame"}
        try:
            client = triton.InferenceServerClient(server.grpc)
            assert client.is_server_live() and client.is_server_ready()
            # Health is for everybody, the rest for who shows the token.
            assert "token" in refused(lambda: client.get_server_metadata(), "UNAUTHENTICATED")
            assert "token" in refused(lambda: client.get_server_metadata(headers={"authorization": "Bearer open-sesamE"}), "UNAUTHENTICATED")
            assert client.get_server_metadata(headers=headers).name == "stint"
            assert client.is_model_ready("echo", headers=headers) and not client.is_model_ready("nothing", headers=headers)
            assert list(client.get_model_metadata("wide", headers=headers).inputs[0].shape) == [-1, 3, 5]
            assert client.get_model_config("echo", headers=headers).config.max_batch_size == 32
            for name, shape in (("echo", (4,)), ("wide", (3, 5))):
                for items in (1, 2, 7):
                    x = numpy.random.default_rng(items).standard_normal((items, *shape)).astype(numpy.float32)
                    result = client.infer(name, [tensor(x)], outputs=[triton.InferRequestedOutput("y")], request_id="r", headers=headers)
                    assert numpy.array_equal(result.as_numpy("y"), x) and result.get_response().id == "r"
                    assert numpy.array_equal(client.infer(name, [tensor(x)], headers=headers).as_numpy("y"), x)
            # Many at a time: each has its own answer.
            answers = queue.Queue()
            for i in range(200):
                x = numpy.full((1, 4), i, dtype=numpy.float32)
                client.async_infer("echo", [tensor(x)], lambda result, error, i=i: answers.put((i, result, error)), headers=headers)
            for _ in range(200):
                i, result, error = answers.get(timeout=60)
                assert error is None and (result.as_numpy("y") == i).all(), (i, error)
            # What does not fit is refused, and says why.
            x = numpy.zeros((2, 4), dtype=numpy.float32)
            assert "not served" in refused(lambda: client.infer("nothing", [tensor(x)], headers=headers), "NOT_FOUND")
            assert "shape" in refused(lambda: client.infer("wide", [tensor(x)], headers=headers), "INVALID_ARGUMENT")
            assert "FP32" in refused(lambda: client.infer("echo", [tensor(x.astype(numpy.int32), datatype="INT32")], headers=headers), "INVALID_ARGUMENT")
            assert "missing" in refused(lambda: client.infer("echo", [tensor(x, name="z")], headers=headers), "INVALID_ARGUMENT")
            assert numpy.isnan(client.infer("echo", [tensor(x * numpy.nan)], headers=headers).as_numpy("y")).all()
            assert "output" in refused(
                lambda: client.infer("echo", [tensor(x)], outputs=[triton.InferRequestedOutput("z")], headers=headers), "INVALID_ARGUMENT")
            assert "version" in refused(lambda: client.infer("echo", [tensor(x)], model_version="new", headers=headers), "INVALID_ARGUMENT")
            # The caller's deadline is the request's: behind one that runs there is no time left.
            x = numpy.zeros((1, 4), dtype=numpy.float32)
            client.async_infer("slow", [tensor(x)], lambda result, error: answers.put((0, result, error)), headers=headers)
            time.sleep(0.05)
            refused(lambda: client.infer("slow", [tensor(x)], client_timeout=0.1, headers=headers), "DEADLINE_EXCEEDED")
            assert answers.get(timeout=60)[2] is None
            # One that is cancelled leaves its place; what comes behind it is answered.
            client.async_infer("slow", [tensor(x)], lambda result, error: answers.put((0, result, error)), headers=headers)
            gone = client.async_infer("slow", [tensor(x)], lambda result, error: None, headers=headers)
            time.sleep(0.05)
            gone.cancel()
            assert numpy.array_equal(client.infer("slow", [tensor(x)], headers=headers).as_numpy("y"), x)
            assert answers.get(timeout=60)[2] is None
            metrics = server.ask("GET", "/metrics", headers={"Authorization": "Bearer open-sesame"})[1]
            metrics = metrics.decode() if isinstance(metrics, bytes) else metrics
            assert 'stint_serve_requests_total{model="slow",version="1",outcome="cancelled"} ' in metrics, metrics
            # The repository.
            assert {row.name: row.state for row in client.get_model_repository_index(headers=headers).models} == {
                "echo": "READY", "slow": "READY", "wide": "READY"}
            refused(lambda: client.unload_model("echo", headers=headers), "PERMISSION_DENIED")
            control = {"authorization": RunningServer.CONTROL["Authorization"]}
            client.unload_model("echo", headers=control)
            assert not client.is_model_ready("echo", headers=headers)
            client.load_model("echo", config='{"max_batch": 4}', headers=control)
            assert client.get_model_config("echo", headers=headers).config.max_batch_size == 4
            refused(lambda: client.load_model("nothing", headers=control), "NOT_FOUND")
            client.close()
        finally:
            server.stop()
    print("Triton's client is content with gRPC")


def main():
    stint, source = sys.argv[1], pathlib.Path(sys.argv[2])
    if "--speak" in sys.argv:
        speak(stint)
        return 0
    python = python_with_client(source)
    if python is None or subprocess.run([python, "-c", "import tritonclient.grpc"], capture_output=True, check=False).returncode != 0:
        print("skipped: no tritonclient: scripts/setup-tritonclient fetches it")
        return SKIPPED
    return subprocess.run([python, __file__, stint, str(source), "--speak"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
