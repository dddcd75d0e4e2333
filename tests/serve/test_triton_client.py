#!/usr/bin/env python3
"""stint serve run spoken to by Triton's own client. Usage: test_triton_client.py STINT SOURCE.

Skipped without the client: scripts/setup-tritonclient fetches it into build/tritonclient; TRITONCLIENT_PYTHON names another Python
that has it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def python_with_client(source):
    for python in (os.environ.get("TRITONCLIENT_PYTHON"), str(source / "build/tritonclient/bin/python"), sys.executable):
        if python and os.path.exists(python) and subprocess.run([python, "-c", "import tritonclient.http"], capture_output=True,
                                                                 check=False).returncode == 0:
            return python
    return None


def speak(stint):
    """Runs under the Python that has the client."""
    import numpy
    import tritonclient.http as http
    from running_server import DATATYPES, RunningServer, config_type, one_of_every_type, synthetic
    from typed_values import typed_values

    def speak_of_types(client):
        for datatype in DATATYPES:
            name = f"echo_{datatype.lower()}"
            assert client.get_model_metadata(name)["inputs"][0]["datatype"] == datatype
            assert client.get_model_config(name)["output"][0]["data_type"] == config_type(datatype)
            x = typed_values(datatype, (3, 4))
            for binary in (True, False):
                if not binary and datatype in ("FP16", "BF16"):
                    continue  # this client has no JSON of them
                tensor = http.InferInput("x", x.shape, datatype)
                tensor.set_data_from_numpy(x, binary_data=binary)
                y = client.infer(name, [tensor], outputs=[http.InferRequestedOutput("y", binary_data=binary)]).as_numpy("y")
                if datatype == "BYTES" and not binary:  # the client leaves them as str then
                    y = numpy.array([text.encode() for text in y.ravel()], dtype=object).reshape(y.shape)
                assert y.dtype == x.dtype and numpy.array_equal(x, y), (datatype, binary, x, y)

    def speak_of_nan(client):
        x = numpy.array([[numpy.nan, numpy.inf, -numpy.inf, 1]], dtype=numpy.float32)
        for binary in (True, False):
            tensor = http.InferInput("x", x.shape, "FP32")
            tensor.set_data_from_numpy(x, binary_data=binary)
            y = client.infer("echo_fp32", [tensor], outputs=[http.InferRequestedOutput("y", binary_data=binary)]).as_numpy("y")
            assert numpy.array_equal(x, y, equal_nan=True), (binary, y)

    with tempfile.TemporaryDirectory() as scratch:
        typed = RunningServer(stint, pathlib.Path(scratch) / "typed", one_of_every_type())
        try:
            speak_of_types(http.InferenceServerClient(typed.url.removeprefix("http://")))
            speak_of_nan(http.InferenceServerClient(typed.url.removeprefix("http://")))
        finally:
            typed.stop()
        server = RunningServer(stint, pathlib.Path(scratch) / "m", {"echo": {1: synthetic()}, "wide": {1: synthetic(shape=(3, 5))}},
                               arguments=("--compress-answers",), controlled=True)
        try:
            client = http.InferenceServerClient(server.url.removeprefix("http://"), concurrency=8)
            assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("echo")
            assert client.get_server_metadata()["name"] == "stint"
            assert client.get_model_metadata("wide")["inputs"][0]["shape"] == [-1, 3, 5]
            assert client.get_model_config("echo")["max_batch_size"] == 32
            for name, shape in (("echo", (4,)), ("wide", (3, 5))):
                for items in (1, 2, 7):
                    for binary in (True, False):
                        x = numpy.random.default_rng(items).standard_normal((items, *shape)).astype(numpy.float32)
                        tensor = http.InferInput("x", x.shape, "FP32")
                        tensor.set_data_from_numpy(x, binary_data=binary)
                        wanted = http.InferRequestedOutput("y", binary_data=binary)
                        result = client.infer(name, [tensor], outputs=[wanted], request_id="r")
                        assert numpy.array_equal(result.as_numpy("y"), x), (name, items, binary)
                        assert result.get_response()["id"] == "r"
                        assert numpy.array_equal(client.infer(name, [tensor]).as_numpy("y"), x)
                        for coding in ("gzip", "deflate"):
                            result = client.infer(name, [tensor], outputs=[wanted], request_compression_algorithm=coding,
                                                  response_compression_algorithm=coding)
                            assert numpy.array_equal(result.as_numpy("y"), x), (name, items, binary, coding)
            together = [client.async_infer("wide", [tensor]) for _ in range(50)]
            assert all(numpy.array_equal(one.get_result().as_numpy("y"), x) for one in together)
            client.unload_model("echo", headers=RunningServer.CONTROL)
            assert not client.is_model_ready("echo")
            client.load_model("echo", config='{"max_batch": 4}', headers=RunningServer.CONTROL)
            assert client.get_model_config("echo")["max_batch_size"] == 4
            assert {row["name"]: row["state"] for row in client.get_model_repository_index()} == {"echo": "READY", "wide": "READY"}
            try:
                client.infer("nothing", [tensor])
                raise AssertionError("a model that is not there was served")
            except http.InferenceServerException as error:
                assert "not served" in error.message(), error
            client.close()
        finally:
            server.stop()
    print("Triton's client is content")


def main():
    stint, source = sys.argv[1], pathlib.Path(sys.argv[2])
    if "--speak" in sys.argv:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
        speak(stint)
        return 0
    python = python_with_client(source)
    if python is None:
        print("skipped: no tritonclient: scripts/setup-tritonclient fetches it")
        return SKIPPED
    return subprocess.run([python, __file__, stint, str(source), "--speak"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
