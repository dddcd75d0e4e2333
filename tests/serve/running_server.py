"""A real `stint serve run` for tests: on a free port of loopback, with its own repository."""
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


DATATYPES = ("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32", "FP64", "BYTES")


def synthetic(shape=(4,), base_us=0, item_us=0, datatype="FP32", **more):
    """A model that repeats its input."""
    tensor = {"datatype": datatype, "shape": list(shape)}
    return dict(inputs=[{"name": "x", **tensor}], outputs=[{"name": "y", **tensor}], base_us=base_us, item_us=item_us, **more)


def config_type(datatype):
    """As Triton's configurations name it."""
    return "TYPE_STRING" if datatype == "BYTES" else "TYPE_" + datatype


def one_of_every_type(shape=(4,)):
    """Models by name: echo_bool, echo_uint8 …"""
    return {f"echo_{datatype.lower()}": {1: synthetic(shape, datatype=datatype)} for datatype in DATATYPES}


class RunningServer:
    """Of `models`: {name: {version: synthetic model}}; `settings`: {name: model.json}."""
    CONTROL = {"Authorization": "Bearer controls-models"}

    def __init__(self, stint, folder, models=None, settings=None, arguments=(), environment=None, prefix=(), controlled=False, certificate=None):
        """@param folder  or the place that models lie at: https://… @param controlled  models are loaded and unloaded, by who shows
        CONTROL @param certificate  of tests/running_daemon: HTTPS"""
        self.folder = pathlib.Path(folder)
        if "://" not in str(folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch = None
        self.trust = certificate.trust() if certificate else None
        if certificate:
            arguments = (*arguments, *certificate.flags)
        if controlled:
            self.scratch = tempfile.TemporaryDirectory()
            token = pathlib.Path(self.scratch.name) / "control"
            token.write_text("controls-models\n")
            token.chmod(0o600)
            arguments = (*arguments, "--control-token-file", str(token))
        for name, versions in (models or {}).items():
            for version, model in versions.items():
                self.add(name, version, model)
        for name, config in (settings or {}).items():
            (self.folder / name / "model.json").write_text(json.dumps(config))
        self.process = subprocess.Popen([*prefix, stint, "serve", "run", "--models", str(folder), "--listen", "127.0.0.1:0", *arguments],
                                        stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
        self.said = ""
        self.grpc = None  # ADDRESS:PORT, with --grpc
        for line in self.process.stderr:
            self.said += line
            if found := re.search(r"gRPC on (\S+)", line):
                self.grpc = found.group(1)
                continue
            if found := re.search(r"on (https?://\S+)", line):
                self.url = found.group(1)
                return
        raise AssertionError("the server does not start: " + self.said)

    def add(self, name, version, model):
        to = self.folder / name / str(version)
        to.mkdir(parents=True, exist_ok=True)
        (to / "model.synthetic.json").write_text(json.dumps(model))

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def ask(self, method, path, body=None, headers=None):
        """(status, body) of any answer."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60, context=self.trust) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def infer(self, name, rows, version=None, datatype="FP32", **parameters):
        """(status, JSON) of x = rows."""
        where = f"/v2/models/{name}" + (f"/versions/{version}" if version else "") + "/infer"
        shape = [len(rows), *([len(rows[0])] if rows and isinstance(rows[0], list) else [])]
        status, body = self.ask("POST", where, {"parameters": parameters, "inputs": [
            {"name": "x", "shape": shape, "datatype": datatype, "data": rows}]})
        return status, json.loads(body)

    def metric(self, name, **labels):
        """The sum of the metric's samples with these labels."""
        total, found = 0.0, False
        for line in self.ask("GET", "/metrics")[1].decode().splitlines():
            head, _, value = line.rpartition(" ")
            if head.partition("{")[0] == name and all(f'{k}="{v}"' in head for k, v in labels.items()):
                total, found = total + float(value), True
        assert found, f"no metric {name} {labels}"
        return total

    def wait_for(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "what was waited for did not come"
            time.sleep(0.01)

    def stop(self):
        """@return what it said at the end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said = self.process.stderr.read()
        self.process.stderr.close()
        if self.scratch:
            self.scratch.cleanup()
        assert self.process.wait(timeout=60) == 0, said
        return said
