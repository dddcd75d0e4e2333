#!/usr/bin/env python3
"""stint serve run among hostile clients: broken requests, huge shapes, clients that are slow or gone, NaN, streams that are left, while an honest one checks each of
its answers. Usage: test_hostile.py STINT [SECONDS] [SEED] [tls]. The server must live, answer rightly and not grow. With TLS, clients also break
off in the handshake, speak no TLS at all, or close without saying so.
"""
import atexit
import json
import os
import pathlib
import random
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
from running_daemon import Certificate  # noqa: E402
from running_server import RunningServer, synthetic  # noqa: E402

STINT = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 6
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
TLS = sys.argv[4:] == ["tls"]
MODELS = ("quick", "slow")
# Under the address sanitizer what is freed is kept for a while, which would look like growth.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1:thread_local_quarantine_size_kb=64")


def binary_body(values, shape, size=None):
    head = json.dumps({"inputs": [{"name": "x", "shape": shape, "datatype": "FP32",
                                   "parameters": {"binary_data_size": len(values) * 4 if size is None else size}}]}).encode()
    return head, struct.pack(f"<{len(values)}f", *values)


def request(model, head, data=b"", length=None, said_head=None, more="", what="infer"):
    body = head + data
    said = f"Inference-Header-Content-Length: {len(head) if said_head is None else said_head}\r\n" if data or said_head else ""
    return (f"POST /v2/models/{model}/{what} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body) if length is None else length}\r\n"
            f"{said}{more}\r\n").encode() + body


def hostile_bytes(rng):
    """One request that no client should send."""
    model = rng.choice(MODELS)
    values = [rng.uniform(-1, 1) for _ in range(4)]
    kind = rng.randrange(14)
    if kind == 0:
        return request(model, *binary_body([float("nan"), *values[1:]], [1, 4]))
    if kind == 1:
        return request(model, *binary_body(values, rng.choice([[1 << 31, 1 << 31], [-1, 4], [4], [1, 4, 1], [0, 4], [1 << 62], []])))
    if kind == 2:
        return request(model, *binary_body(values, [1, 4], rng.choice([0, 15, 17, 1 << 40, -1])))
    if kind == 3:
        return request(model, *binary_body(values, [1, 4]), said_head=rng.choice([0, 1, 10**9, 10**30, -1]))
    if kind == 4:
        return request(model, *binary_body(values, [1, 4]), length=rng.choice([10**6, 3, 10**12]))
    if kind == 5:
        return request(model, (b"[" * rng.randrange(1, 3000)) + b"1")
    if kind == 6:
        good = bytearray(request(model, *binary_body(values, [1, 4])))
        for _ in range(rng.randrange(1, 6)):
            good[rng.randrange(len(good))] = rng.randrange(256)
        return bytes(good)
    if kind == 7:
        return rng.randbytes(rng.randrange(1, 400))
    if kind == 8:
        return request(model, json.dumps({"inputs": [{"name": "x", "shape": [100_000, 4], "datatype": "FP32", "data": [1e39] * 9}]}).encode())
    if kind == 9:
        return request(model, *binary_body(values, [1, 4]), more="Content-Encoding: gzip\r\n")
    if kind == 10:
        return b"POST /v2/repository/models/" + rng.choice([b"..%2f..%2fetc", b"%00", b"nothing", b"a" * 5000]) + b"/load HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    if kind > 11:  # a stream, that its client leaves at any time
        body = rng.choice([{"x": values}, {"x": values, "parameters": {"max_tokens": rng.choice([1, 10**18, -1])}}, {"x": [[]]}, {"x": values[1:]},
                           {"x": [float("nan")] * 4}, {"x": [[[[[values]]]]]}, {"x": values, "id": "a" * 1000}])
        return request("looped", json.dumps(body).encode(), what=rng.choice(["generate", "generate_stream"]))
    return request(model, json.dumps({"parameters": {"timeout": rng.choice([1, 10**18, -5, "x"]), "priority": rng.choice([0, 9, -1])},
                                      "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": values}]}).encode())


def hello(rng):
    """The beginning of a handshake, whole, cut off or changed; or none."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    data = bytearray(outgoing.read())
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400))
    if kind == 1:
        return bytes(data[:rng.randrange(1, len(data))])
    if kind == 2:
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def connection(server, rng):
    """@return none: it was of no use, as TLS sees it"""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
    if not server.trust:
        return client
    if rng.randrange(3) == 0:
        with client:
            client.sendall(hello(rng))
            if rng.randrange(2):
                client.settimeout(0.2)
                client.recv(4096)
        return None
    return server.trust.wrap_socket(client, server_hostname="127.0.0.1", suppress_ragged_eofs=False)


def be_hostile(server, rng, end, said):
    while time.monotonic() < end:
        data = hostile_bytes(rng)
        manner = rng.randrange(4)
        try:
            client = connection(server, rng)
            if client is None:
                continue
            with client:
                if manner == 0:  # gone in the middle, or right behind its request
                    client.sendall(data[:rng.randrange(1, len(data) + 1)])
                elif manner == 1:  # in drops
                    for at in range(0, min(len(data), 60), 10):
                        client.sendall(data[at:at + 10])
                        time.sleep(0.002)
                else:
                    client.sendall(data)
                    client.settimeout(0.3)
                    answer = client.recv(4096)
                    if answer.startswith(b"HTTP/1.1 5") and answer[9:12] not in (b"503", b"504"):
                        said.append((data[:200], answer[:200]))
        except OSError:
            pass


def be_honest(server, number, end, wrong, counts):
    k = 0
    while time.monotonic() < end:
        k += 1
        rows = [[number, k, k + row, 0.5] for row in range(1 + k % 5)]
        status, answer = server.infer(MODELS[k % 2], rows)
        counts[status] = counts.get(status, 0) + 1
        if status == 200 and answer["outputs"][0]["data"] != [value for row in rows for value in row]:
            wrong.append((rows, answer))


def be_an_honest_listener(server, end, wrong, counts):
    k = 0
    while time.monotonic() < end:
        k += 1
        body = {"x": [k, 1, 2, 3], "parameters": {"max_tokens": 1 + k % 50}}
        status, text = server.ask("POST", "/v2/models/looped/generate_stream", body)
        counts[status] = counts.get(status, 0) + 1
        told = [json.loads(line[len("data: "):])["y"] for line in text.decode().splitlines() if line.startswith("data: ")]
        if told != [body["x"]] * body["parameters"]["max_tokens"]:
            wrong.append((body, text[:200]))


def resident_kib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def open_files(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def main():
    print(f"seed {SEED}")
    with tempfile.TemporaryDirectory() as scratch:
        server = RunningServer(STINT, pathlib.Path(scratch) / "m",
                               {"quick": {1: synthetic()}, "slow": {1: synthetic(base_us=2000, item_us=100)}, "looped": {1: synthetic(base_us=200)}},
                               {"slow": {"max_wait_ms": 1, "instances": 2}, "looped": {"generate": {"feed": {"x": "y"}}}}, environment=ENVIRONMENT,
                               certificate=Certificate(scratch) if TLS else None)
        atexit.register(server.process.kill)  # also when a check below fails
        wrong, said, counts = [], [], {}
        files = open_files(server.process)
        # A first part fills caches and arenas; what grows after that is a leak.
        for part, length in enumerate((SECONDS / 3, SECONDS * 2 / 3)):
            end = time.monotonic() + length
            threads = [threading.Thread(target=be_hostile, args=(server, random.Random(SEED * 1000 + part * 100 + n), end, said)) for n in range(6)]
            threads += [threading.Thread(target=be_honest, args=(server, n, end, wrong, counts)) for n in range(3)]
            threads.append(threading.Thread(target=be_an_honest_listener, args=(server, end, wrong, counts)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if part == 0:
                before = resident_kib(server.process)
        server.wait_for(lambda: server.metric("stint_serve_waiting_requests") == 0)
        # Who has gone is gone, long before a timeout ends what they left.
        server.wait_for(lambda: open_files(server.process) <= files + 8, seconds=15)
        grown = resident_kib(server.process) - before
        print(f"honest answers by status: {counts}; memory {before} KiB, then {grown:+} KiB")
        assert server.ask("GET", "/v2/health/ready")[0] == 200
        assert server.metric("stint_serve_open_streams") == 0
        assert not wrong, wrong[:3]
        assert not said, said[:3]
        assert set(counts) == {200}, counts
        assert grown < 16 << 10, f"{grown} KiB grown"
        server.stop()


if __name__ == "__main__":
    main()
