#!/usr/bin/env python3
"""An inference server among tenants, and among pages of other sites that go for a server of the machine on which somebody looks at them.

Usage: test_servers.py STINT SOURCE_DIR [SUITE]
"""
import concurrent.futures
import contextlib
import hashlib
import pathlib
import re
import socket
import sys

from tenants import Attack, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
from running_server import RunningServer, synthetic  # noqa: E402


class ServerAttack:
    MODELS = {"echo": {1: synthetic()}}
    SETTINGS = {}

    def serve(self, *arguments):
        server = RunningServer(self.STINT, self.folder / "models", models=self.MODELS, settings=self.SETTINGS, arguments=arguments)
        self.addCleanup(server.stop)
        return server

    def token(self, name):
        """Its file; the header that shows it is shown(name)."""
        path = self.folder / f"{name}.token"
        path.write_text(f"the-token-of-{name}\n")
        path.chmod(0o600)
        return path

    @staticmethod
    def shown(name, **more):
        return {"Authorization": f"Bearer the-token-of-{name}", **more}


class PagesOfOtherSites(ServerAttack, Attack):
    """A browser sends a POST without a preflight where its content type is that of a form; it says whose page asks."""
    FORM = {"Content-Type": "text/plain"}

    def is_served(self, server, headers=None):
        return server.ask("GET", "/v2/models/echo/ready", headers=headers)[0] == 200

    def test_do_not_unload_models(self):
        server = self.serve()
        status, body = server.ask("POST", "/v2/repository/models/echo/unload", b"", dict(self.FORM, Origin="https://evil.example"))
        self.assertEqual(status, 401, body)
        self.assertIn(b"--control-token-file", body)
        self.assertTrue(self.is_served(server))

    def test_do_not_infer(self):
        server = self.serve()
        ask = b'{"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}'
        self.assertEqual(server.ask("POST", "/v2/models/echo/infer", ask, dict(self.FORM, Origin="null"))[0], 403)
        self.assertEqual(server.ask("POST", "/v2/models/echo/infer", ask, dict(self.FORM, Origin="https://evil.example"))[0], 403)
        self.assertEqual(server.ask("POST", "/v2/models/echo/infer", ask, self.FORM)[0], 200)

    def test_do_not_rebind_their_name_to_this_machine(self):
        """evil.example now means 127.0.0.1: for the browser it is one site, and Origin fits."""
        server = self.serve()
        evil = {"Host": f"evil.example:{server.port}", "Origin": f"http://evil.example:{server.port}"}
        self.assertEqual(server.ask("POST", "/v2/repository/models/echo/unload", b"", evil)[0], 401)
        self.assertEqual(server.ask("POST", "/v2/repository/index", b"", evil)[0], 403)
        self.assertTrue(self.is_served(server))
        for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"[::1]:{server.port}"):
            self.assertEqual(server.ask("POST", "/v2/repository/index", b"", {"Host": host, "Origin": f"http://{host}"})[0], 200)

    def test_a_token_is_enough(self):
        """No page of another site has it: behind a proxy, names are its own."""
        server = self.serve("--control-token-file", self.token("control"))
        asked = self.shown("control", Host="models.example", Origin="https://desk.example")
        self.assertEqual(server.ask("POST", "/v2/repository/models/echo/unload", b"", asked)[0], 200)
        self.assertFalse(self.is_served(server))


class TenantsOfAServer(ServerAttack, Attack):
    """One of them is another, reads what others do, or takes models away."""
    MODELS = {"echo": {1: synthetic()}, "slow": {1: synthetic(base_us=500_000)}}
    SETTINGS = {"slow": {"max_batch": 1, "queue": 8}}

    def tenants(self):
        return self.serve("--tenant", "mallory=1", "--tenant-token", f"mallory={self.token('mallory')}",
                          "--tenant", "victim=1", "--tenant-token", f"victim={self.token('victim')}",
                          "--control-token-file", self.token("control"), "--metrics-token-file", self.token("metrics"))

    @staticmethod
    def infer(server, headers, model="echo"):
        return server.ask("POST", f"/v2/models/{model}/infer",
                          {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}, headers)[0]

    def test_models_are_nobodys_to_unload_without_the_token_for_it(self):
        for server, shown in ((self.serve(), {}), (self.tenants(), self.shown("mallory"))):
            self.assertIn(server.ask("POST", "/v2/repository/models/echo/unload", b"", shown)[0], (401, 403))
            self.assertIn(server.ask("POST", "/v2/repository/models/echo/load", b"", shown)[0], (401, 403))
            self.assertEqual(self.infer(server, shown), 200)

    def test_each_token_is_good_for_its_own_alone(self):
        server = self.tenants()
        for who, infer, control, metrics in (("mallory", 200, 403, 403), ("control", 403, 200, 403), ("metrics", 403, 403, 200),
                                             ("nobody", 401, 401, 401)):
            self.assertEqual(self.infer(server, self.shown(who)), infer, who)
            self.assertEqual(server.ask("GET", "/metrics", headers=self.shown(who))[0], metrics, who)
            self.assertEqual(server.ask("POST", "/v2/repository/models/echo/load", b"", self.shown(who))[0], control, who)

    def test_nobody_is_another_by_saying_so(self):
        """Requests said to be the victim's fill the sender's own part of the queue."""
        server = self.tenants()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            lies = [pool.submit(self.infer, server, self.shown("mallory", **{"stint-tenant": "victim"}), "slow") for _ in range(12)]
            server.wait_for(lambda: any(lie.done() for lie in lies))  # refused: the part is full
            honest = [pool.submit(self.infer, server, self.shown("victim"), "slow") for _ in range(2)]
            self.assertIn(429, [lie.result() for lie in lies])
            self.assertEqual([one.result() for one in honest], [200, 200])

    def test_who_reads_a_file_with_a_hash_has_no_token(self):
        path = self.token("mallory")
        stolen = "sha256:" + hashlib.sha256(b"the-token-of-mallory").hexdigest()
        path.write_text(stolen + "\n")
        server = self.serve("--tenant", "mallory=1", "--tenant-token", f"mallory={path}")
        self.assertEqual(self.infer(server, self.shown("mallory")), 200)
        for shown in (stolen, stolen.partition(":")[2]):
            self.assertEqual(self.infer(server, {"Authorization": f"Bearer {shown}"}), 401)

    def test_a_gateway_names_tenants(self):
        server = self.serve("--tenant", "victim=1", "--gateway-token-file", self.token("gateway"))
        self.assertEqual(self.infer(server, self.shown("gateway", **{"stint-tenant": "victim"})), 200)

    def test_a_tenant_without_a_token_is_refused_at_start(self):
        with self.assertRaisesRegex(AssertionError, "--tenant-token victim=FILE"):
            self.serve("--tenant", "victim=1")
        with self.assertRaisesRegex(AssertionError, "same token"):
            self.serve("--token-file", self.token("one"), "--control-token-file", self.token("one"))


class MemoryOfAServer(ServerAttack, Attack):
    """What a request takes is within --memory, whatever it asks for."""
    ROOM = 128
    WIDE = 20_000
    MODELS = {"echo": {1: synthetic(shape=(WIDE,), datatype="FP64")}}
    SETTINGS = {"echo": {"max_batch": 16}}
    SLACK = 32 << 20  # the allocator's, thread stacks, socket buffers of connections

    def serve(self, *arguments):
        server = super().serve("--memory", str(self.ROOM), *arguments)
        row = ",".join(["0"] * self.WIDE)
        one = f'{{"inputs":[{{"name":"x","datatype":"FP64","shape":[1,{self.WIDE}],"data":[{row}]}}]}}'
        self.assertEqual(server.ask("POST", "/v2/models/echo/infer", one.encode())[0], 200)
        self.before = self.memory(server, "VmRSS")
        return server

    @staticmethod
    def memory(server, what):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+) kB", status).group(1)) << 10

    def held_to_the_room(self, server):
        self.assertLess(self.memory(server, "VmHWM") - self.before, (self.ROOM << 20) + self.SLACK)
        self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)

    def test_one_output_asked_for_64_times(self):
        server = self.serve()
        row = ",".join(["-0.1234567890123456"] * self.WIDE)
        rows = ",".join([row] * 8)
        wanted = ",".join(['{"name":"y"}'] * 64)
        body = f'{{"inputs":[{{"name":"x","datatype":"FP64","shape":[8,{self.WIDE}],"data":[{rows}]}}],"outputs":[{wanted}]}}'.encode()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: server.ask("POST", "/v2/models/echo/infer", body), range(8)))
        for status, answer in answers:
            self.assertIn(status, (400, 503), answer[:200])
            self.assertIn(b"memory", answer)
        self.held_to_the_room(server)

    def test_many_large_bodies_at_a_time(self):
        server = self.serve()
        half = b"[" * (8 << 20)
        head = f"POST /v2/models/echo/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {16 << 20}\r\n\r\n".encode()
        with contextlib.ExitStack() as open_:
            for _ in range(24):
                one = open_.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                with contextlib.suppress(OSError):  # turned away
                    one.sendall(head + half)
            self.held_to_the_room(server)

    def test_answers_that_are_not_taken(self):
        server = self.serve()
        row = ",".join(["0"] * self.WIDE)
        wanted = ",".join(['{"name":"y"}'] * 16)
        body = f'{{"inputs":[{{"name":"x","datatype":"FP64","shape":[1,{self.WIDE}],"data":[{row}]}}],"outputs":[{wanted}]}}'.encode()
        head = f"POST /v2/models/echo/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with contextlib.ExitStack() as open_:
            for _ in range(100):
                one = open_.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                with contextlib.suppress(OSError):
                    one.sendall(head + body)
            self.held_to_the_room(server)


if __name__ == "__main__":
    main(sys.modules[__name__])
