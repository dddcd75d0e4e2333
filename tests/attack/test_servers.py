#!/usr/bin/env python3
"""Pages of other sites go for an inference server of the machine on which somebody looks at them.

Usage: test_servers.py STINT SOURCE_DIR [SUITE]
"""
import pathlib
import sys

from tenants import Attack, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
from running_server import RunningServer, synthetic  # noqa: E402


class PagesOfOtherSites(Attack):
    """A browser sends a POST without a preflight where its content type is that of a form; it says whose page asks."""
    FORM = {"Content-Type": "text/plain"}

    def serve(self, *arguments):
        server = RunningServer(self.STINT, self.folder / "models", models={"echo": {1: synthetic()}}, arguments=arguments)
        self.addCleanup(server.stop)
        return server

    def is_served(self, server, headers=None):
        return server.ask("GET", "/v2/models/echo/ready", headers=headers)[0] == 200

    def test_do_not_unload_models(self):
        server = self.serve()
        status, body = server.ask("POST", "/v2/repository/models/echo/unload", b"", dict(self.FORM, Origin="https://evil.example"))
        self.assertEqual(status, 403, body)
        self.assertIn(b"--token-file", body)
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
        self.assertEqual(server.ask("POST", "/v2/repository/models/echo/unload", b"", evil)[0], 403)
        self.assertEqual(server.ask("POST", "/v2/repository/index", b"", evil)[0], 403)
        self.assertTrue(self.is_served(server))

    def test_who_is_meant_controls_models(self):
        server = self.serve()
        for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"[::1]:{server.port}"):
            self.assertEqual(server.ask("POST", "/v2/repository/models/echo/unload", b"", {"Host": host})[0], 200)
            self.assertFalse(self.is_served(server))
            self.assertEqual(server.ask("POST", "/v2/repository/models/echo/load", b"", {"Host": host, "Origin": f"http://{host}"})[0], 200)
            self.assertTrue(self.is_served(server))

    def test_a_token_is_enough(self):
        """No page of another site has it: behind a proxy, names are its own."""
        (self.folder / "token").write_text("a-long-enough-token\n")
        (self.folder / "token").chmod(0o600)
        server = self.serve("--token-file", self.folder / "token")
        asked = {"Host": "models.example", "Origin": "https://desk.example", "Authorization": "Bearer a-long-enough-token"}
        self.assertEqual(server.ask("POST", "/v2/repository/models/echo/unload", b"", asked)[0], 200)
        self.assertFalse(self.is_served(server, asked))


if __name__ == "__main__":
    main(sys.modules[__name__])
