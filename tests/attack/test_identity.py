#!/usr/bin/env python3
"""Users of an identity provider, and strangers, want to be somebody they are not, or keep others from being who they are.

Usage: test_identity.py STINT SOURCE_DIR [SUITE]. Skipped where PyJWT or cryptography are not installed.
"""
import contextlib
import http.client
import json
import pathlib
import sys
import threading
import time
import urllib.error
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
import test_login  # noqa: E402  (ends this test as skipped where it cannot sign)
from tenants import HERE, Attack, main  # noqa: E402
from test_oidc import jwt  # noqa: E402


class WithProvider:
    """Beside Attack: its daemon believes the tokens of a provider."""
    OIDC = {}

    def setUp(self):
        super().setUp()
        self.provider = test_login.Provider()
        self.addCleanup(self.provider.server.shutdown)
        self.CONFIG = dict(HERE, oidc={"issuer": self.provider.url, "audience": "stint", "user_claim": "email",
                                       "roles": {"ml": "submitter@acme", "ops": "operator"}, **self.OIDC})

    def ask(self, token, method, path, body=None):
        """@return status, answer; again until the provider's keys are there."""
        end = time.monotonic() + 120
        while True:
            try:
                return 200, self.daemon.ask(method, path, body, token=token)
            except urllib.error.HTTPError as refused:
                answer = json.load(refused)
                if refused.code != 503 or time.monotonic() > end:
                    return refused.code, answer
            time.sleep(0.1)


class Names(WithProvider, Attack):
    def test_a_provider_s_user_is_not_the_user_here_of_that_name(self):
        self.start("--insecure-shared-user")
        job = self.submit(self.token_of("vera", "submitter@acme"), "acme", "true", "--hold")
        other = self.provider.token("r1", email="vera")
        self.assertEqual(self.ask(other, "GET", "/v1/me")[1]["user"], "oidc:vera")
        status, answer = self.ask(other, "POST", f"/v1/jobs/{job}/cancel")
        self.assertEqual(status, 403, answer)
        self.assertEqual(self.state_of(job), "on-hold")
        self.assertEqual(self.ask(self.provider.token("r1", email="admin"), "GET", "/v1/me")[1]["roles"], ["submitter@acme"])
        own = self.ask(other, "POST", "/v1/jobs", {"queue": "acme", "command": ["true"], "cpu_milli": 1, "on_hold": True})[1]
        self.assertEqual(own["user"], "oidc:vera")
        self.assertEqual(self.ask(other, "POST", f"/v1/jobs/{own['id']}/cancel")[0], 200)
        # A role that is given here to such a name would be one that no group gives.
        self.assertEqual(self.ask(None, "PUT", "/v1/users/oidc:vera", {"roles": ["operator"]})[0], 422)
        self.ask(None, "PUT", "/v1/users/oidc:vera", {"disabled": True})
        self.assertEqual(self.ask(other, "GET", "/v1/me")[0], 401, "and can be disabled")


class TokenTypes(WithProvider, Attack):
    def test_what_is_signed_for_something_else_shows_nobody(self):
        self.start("--insecure-shared-user")
        key, algorithm = self.provider.keys["r1"]
        claims = {"iss": self.provider.url, "aud": "stint", "email": "ann", "groups": ["ml"], "exp": int(time.time()) + 300}

        def status(typ="JWT", **more):
            token = jwt.encode({**claims, **more}, key, algorithm, headers={"kid": "r1", "typ": typ})
            return self.ask(token, "GET", "/v1/me")[0]
        self.assertEqual([status("JWT"), status("at+jwt"), status("application/at+JWT")], [200] * 3)
        self.assertEqual(status("logout+jwt"), 401)
        self.assertEqual(status("secevent+jwt"), 401)
        self.assertEqual(status(events={"http://schemas.openid.net/event/backchannel-logout": {}}), 401)
        refresh = jwt.encode({**claims, "typ": "Refresh"}, key, algorithm, headers={"kid": "r1"})
        self.assertEqual(self.ask(refresh, "GET", "/v1/me")[0], 401)


class SecondFactor(WithProvider, Attack):
    OIDC = {"second_factor": {"amr": ["mfa"], "acr": ["gold"], "max_age": "10m"}}

    def test_what_takes_a_code_here_takes_one_there(self):
        self.start("--insecure-shared-user")
        now = int(time.time())

        def set_user(**claims):
            status, answer = self.ask(self.provider.token("r1", groups=["ops"], **claims), "PUT", "/v1/users/eve", {"roles": ["submitter@acme"]})
            return status, answer.get("type")
        wanted = (403, "urn:stint:second-factor-wanted")
        self.assertEqual(set_user(), wanted)
        self.assertEqual(set_user(amr=["pwd"], auth_time=now), wanted)
        self.assertEqual(set_user(amr=["pwd", "mfa"], auth_time=now - 1200), wanted, "long ago")
        self.assertEqual(set_user(amr=["pwd", "mfa"], auth_time=now)[0], 200)
        self.assertEqual(set_user(acr="gold", auth_time=now)[0], 200)
        self.assertEqual(self.ask(self.provider.token("r1", groups=["ops"]), "GET", "/v1/users")[0], 200, "reading takes none")


class LoginSlots(WithProvider, Attack):
    def test_a_stranger_with_codes_made_up_keeps_nobody_out(self):
        folder = self.folder / "login"
        folder.mkdir()
        test_login.STINT = self.STINT
        provider, asked, go_on = self.provider, threading.Event(), threading.Event()
        good = provider.token_for

        def token_for(request, form):
            if form["code"] == "junk":
                asked.set()
                go_on.wait(8)
                return provider.say(request, 400, {"error": "invalid_grant"})
            return good(request, form)
        provider.token_for = token_for
        daemon = test_login.daemon_with(folder, provider.url, test_login.SECRET, client_id=test_login.CLIENT)
        self.addCleanup(daemon.stop)
        address = daemon.url.removeprefix("http://")

        def from_elsewhere(target, cookie=""):
            connection = http.client.HTTPConnection(address, timeout=120, source_address=("127.0.0.2", 0))
            with contextlib.closing(connection):
                connection.request("GET", target, headers={"Cookie": cookie})
                answer = connection.getresponse()
                answer.read()
            return answer

        test_login.Person(daemon.url).begin()  # what the provider publishes is there
        answers = []

        def junk():
            begun = from_elsewhere("/login")
            state = urllib.parse.parse_qs(urllib.parse.urlsplit(begun.headers["Location"]).query)["state"][0]
            cookie = begun.headers["Set-Cookie"].split(";")[0]
            answers.append(from_elsewhere(f"/login/callback?code=junk&state={state}", cookie).status)
        strangers = [threading.Thread(target=junk) for _ in range(80)]
        for stranger in strangers:
            stranger.start()
        # One is being looked at, 64 wait; there is no place for the others.
        end = time.monotonic() + 120
        while answers.count(503) < 80 - 65:
            self.assertLess(time.monotonic(), end, answers)
            time.sleep(0.02)
        self.assertTrue(asked.is_set())
        ann, result = test_login.Person(daemon.url), []
        person = threading.Thread(target=lambda: result.append(ann.log_in()))
        person.start()
        while answers.count(503) < 80 - 64 and not result:  # one of the stranger's has given way to her
            self.assertLess(time.monotonic(), end, answers)
            time.sleep(0.02)
        go_on.set()
        person.join()
        self.assertEqual(result[0][0], 303, result[0][2])
        for stranger in strangers:
            stranger.join()
        self.assertEqual(answers.count(503) + answers.count(403), 80)


class JobTokens(Attack):
    """A job prints its environment, or a thief reads it there."""

    def post(self, token, path, body=None, method="POST"):
        try:
            return 200, self.daemon.ask(method, path, body, token=token)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def test_the_token_in_a_job_s_environment_is_good_for_what_it_tells_alone(self):
        self.start("--insecure-shared-user")
        eve = self.token_of("eve", "submitter@acme")
        stint = pathlib.Path(self.STINT).resolve()
        # Told by the command, with no other token and no address.
        job = self.submit(eve, "acme", f"{stint} checkpoint $STINT_JOB && echo $STINT_JOB_TOKEN && exec sleep 300", "--checkpoint-interval", "1h")
        other = self.submit(eve, "acme", "exec sleep 300")
        self.wait(other, "running")
        end = time.monotonic() + 120
        while "stint-job_" not in self.logs(job, eve):
            self.assertLess(time.monotonic(), end, self.logs(job, eve))
            time.sleep(0.1)
        token = self.logs(job, eve).split()[-1]
        self.assertTrue(token.startswith("stint-job_"), token)
        self.assertEqual(self.post(token, f"/v1/jobs/{job}/checkpoint")[1], {"id": job, "state": "running", "name": "sh"})
        for what, code in {f"/v1/jobs/{other}/checkpoint": 403, f"/v1/jobs/{job}/hold": 403, f"/v1/jobs/{job}/cancel": 403,
                           "/v1/jobs": 403, "/v1/tokens": 403}.items():
            self.assertEqual(self.post(token, what, {} if what in ("/v1/jobs", "/v1/tokens") else None)[0], code, what)
        for what in (f"/v1/jobs/{job}", "/v1/jobs", "/v1/me", f"/v1/jobs/{job}/logs", "/v1/events", "/v1/nodes"):
            self.assertEqual(self.post(token, what, method="GET")[0], 403, what)
        self.assertEqual(self.post(token[:-1] + ("0" if token[-1] != "0" else "1"), f"/v1/jobs/{job}/checkpoint")[0], 401)
        named = token.replace("stint-job_1.", "stint-job_2.")
        self.assertEqual(self.post(named, f"/v1/jobs/{other}/checkpoint")[0], 401, "a name alone proves nothing")
        records = [json.loads(r["record"]) for r in self.daemon.ask("GET", "/v1/audit-log?limit=1000")["records"]]
        last = [r for r in records if r["target"].endswith(f"{job}/checkpoint")]
        self.assertEqual({r["actor"] for r in last if r["status"] == 200}, {"eve"})
        # It outlives a restart of the daemon, and ends with the launch.
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.post(token, f"/v1/jobs/{job}/checkpoint")[0], 200)
        self.daemon.stint("cancel", job)
        self.wait(job)
        self.assertEqual(self.post(token, f"/v1/jobs/{job}/checkpoint")[0], 403)
        self.daemon.stint("cancel", other)


if __name__ == "__main__":
    main(sys.modules[__name__])
