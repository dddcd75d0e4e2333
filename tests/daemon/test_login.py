#!/usr/bin/env python3
"""Logging in to the page through an identity provider: with one of these tests' own, which can be made to cheat, with an independent one
(oidc-provider-mock, where that is installed: pip install oidc-provider-mock) and in a real Chromium where there is one.

Usage: test_login.py STINT SOURCE_DIR [unittest options]. Skipped where PyJWT or cryptography are not installed.
"""
import base64
import contextlib
import hashlib
import html
import http.client
import json
import os
import pathlib
import re
import secrets
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_oidc  # noqa: E402  (ends this test as skipped where it cannot sign)
from browser import CHROMIUM, Browser  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402

CLIENT, SECRET = "stint page", "s3:cret &"
FLEET = {"nodes": [{"name": "n0", "gpu_model": "L4", "gpus": 1, "cpu_milli": 8000, "per_hour": "1"}],
         "queues": [{"name": "acme"}, {"name": "zoo"}]}


class Provider(test_oidc.Provider):
    """Logs whoever comes in as ann, after the standards; `cheat` are claims of its ID tokens that are not so."""

    def __init__(self):
        super().__init__()
        self.add("r1", "RS256")
        self.cheat, self.deny, self.codes = {}, None, {}
        provider = self
        handler = self.server.RequestHandlerClass
        keys = handler.do_GET

        def do_GET(request):
            url = urllib.parse.urlsplit(request.path)
            if url.path == "/authorize":
                return provider.authorize(request, dict(urllib.parse.parse_qsl(url.query)))
            if url.path == "/.well-known/openid-configuration":
                return provider.say(request, 200, {"issuer": provider.url, "jwks_uri": provider.url + "/keys",
                                                   "authorization_endpoint": provider.url + "/authorize",
                                                   "token_endpoint": provider.url + "/token"})
            return keys(request)

        def do_POST(request):
            form = dict(urllib.parse.parse_qsl(request.rfile.read(int(request.headers["content-length"])).decode()))
            provider.token_for(request, form)

        handler.do_GET, handler.do_POST = do_GET, do_POST

    @staticmethod
    def say(request, status, body, **headers):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(json.dumps(body).encode())

    def authorize(self, request, asked):
        if asked["response_type"] != "code" or asked["client_id"] != CLIENT or asked["code_challenge_method"] != "S256":
            return self.say(request, 400, asked)
        answer = {"state": asked["state"]}
        if self.deny:
            answer.update(self.deny)
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self.codes[answer["code"]] = asked
        self.say(request, 302, {}, Location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(answer))

    def token_for(self, request, form):
        user, password = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode().split(":", 1)
        asked = self.codes.pop(form["code"], None)  # each is good once
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if (urllib.parse.unquote_plus(user), urllib.parse.unquote_plus(password)) != (CLIENT, SECRET):
            return self.say(request, 401, {"error": "invalid_client"})
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return self.say(request, 400, {"error": "invalid_grant"})
        token = self.token("r1", **{"aud": CLIENT, "nonce": asked["nonce"], **self.cheat})
        self.say(request, 200, {"id_token": token, "access_token": "a", "token_type": "Bearer"})


class Person:
    """Somebody with a browser: keeps cookies, follows nothing by themselves."""

    def __init__(self, url):
        self.address = url.removeprefix("http://")
        self.cookies = {}
        self.set_cookies = {}

    def ask(self, target, method="GET", body=None, page=False, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, target, body, {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()),
                                                      **({"Stint-Page": "1"} if page else {}), **headers})
            answer = connection.getresponse()
            text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie", []):
            name, _, value = line.split(";")[0].partition("=")
            self.set_cookies[name] = line
            self.cookies.pop(name, None)
            if "Max-Age=0" not in line:
                self.cookies[name] = value
        return answer.status, answer.headers, text

    def begin(self):
        """@return where the provider is asked."""
        for _ in range(300):  # until what it publishes is there
            status, headers, text = self.ask("/login")
            if status != 503:
                assert status == 303, (status, text)
                return headers["Location"]
            time.sleep(0.1)
        raise AssertionError(text)

    def back(self):
        """@return the target with which the provider sends them back here."""
        url = urllib.parse.urlsplit(self.begin())
        connection = http.client.HTTPConnection(url.netloc, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", f"{url.path}?{url.query}")
            location = connection.getresponse().headers["Location"]
        return location.removeprefix("http://" + self.address)

    def log_in(self):
        return self.ask(self.back())

    def me(self, **more):
        return self.ask("/v1/me", **{"page": True, **more})


class Login(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = Provider()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.daemon = daemon_with(cls.folder, cls.provider.url, SECRET, client_id=CLIENT)
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.provider.cheat, self.provider.deny = {}, None
        self.person = Person(self.daemon.url)

    def refused(self, answer, words):
        status, headers, text = answer
        self.assertEqual(status, 403, text)
        self.assertIn(words.lower(), html.unescape(text).lower())
        self.assertTrue(headers["Content-Type"].startswith("text/html"))
        self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
        self.assertNotIn("stint-session", self.person.cookies)

    def test_a_person_logs_in_works_and_logs_out(self):
        ann = self.person
        self.assertEqual(json.loads(ann.ask("/v1/login", page=True)[2]), {"provider": "Test <ID>", "signed_in": False})
        self.assertEqual(ann.me()[0], 401)
        status, headers, _ = ann.log_in()
        self.assertEqual((status, headers["Location"]), (303, "/"))
        self.assertRegex(ann.set_cookies["stint-session"], "Max-Age=(3600|359[0-9])")  # what is left of the hour
        for what in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(what, ann.set_cookies["stint-session"])
        self.assertNotIn("Secure", ann.set_cookies["stint-session"])  # on loopback without TLS it would never come back
        self.assertNotIn("stint-login", ann.cookies)
        me = json.loads(ann.me()[2])
        self.assertEqual((me["user"], me["roles"]), ("oidc:ann@example.org", ["submitter@acme"]))
        # Other sites can send the cookie, but not the header.
        self.assertEqual(ann.me(page=False)[0], 401)
        job = json.dumps({"queue": "acme", "command": ["true"]})
        self.assertEqual(ann.ask("/v1/jobs", "POST", job)[0], 401)
        self.assertEqual(ann.ask("/v1/jobs", "POST", job, page=True)[0], 201)
        self.assertEqual(ann.ask("/v1/tokens", "POST", "{}", page=True)[0], 403)
        self.assertEqual(ann.ask("/v1/login", "DELETE")[0], 200)  # of another site: the session stays
        self.assertEqual(json.loads(ann.me()[2]), me)
        kept = dict(ann.cookies)
        self.assertFalse(json.loads(ann.ask("/v1/login", "DELETE", page=True)[2])["signed_in"])
        self.assertNotIn("stint-session", ann.cookies)
        ann.cookies = kept
        self.assertEqual(ann.me()[0], 401)
        log = json.dumps(self.daemon.ask("GET", "/v1/audit-log?limit=1000"))
        self.assertIn("logged in by " + self.provider.url, log)
        self.assertIn("logged out", log)
        for hidden in ("code=", "state=", kept["stint-session"], SECRET):
            self.assertNotIn(hidden, log)

    def test_the_callback_of_another_browser_or_another_login_is_refused(self):
        back = self.person.back()
        self.refused(Person(self.daemon.url).ask(back), "has begun no login")
        self.refused(self.person.ask(re.sub("state=[^&]*", "state=x", back)), "another login")
        mallory = Person(self.daemon.url)
        self.refused(self.person.ask(mallory.back()), "another login")  # a login that somebody else began, put upon this person
        self.assertEqual(self.person.ask(back)[0], 303)

    def test_a_callback_is_good_once(self):
        back = self.person.back()
        cookies = dict(self.person.cookies)
        self.assertEqual(self.person.ask(back)[0], 303)
        self.person.cookies = cookies
        self.refused(self.person.ask(back), "used before")
        # Nor does the provider take a code twice, whatever login it is shown with.
        again = Person(self.daemon.url)
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(again.begin()).query)["state"][0]
        self.refused(again.ask(re.sub("state=[^&]*", "state=" + state, back)), "invalid_grant")

    def test_a_token_that_is_not_for_this_login_is_refused(self):
        past = int(time.time()) - 3600
        for claims, words in (({"nonce": "x"}, "nonce"), ({"nonce": None}, "nonce"), ({"aud": "stint"}, "audience"),
                              ({"aud": [CLIENT, "other"]}, "azp"), ({"exp": past}, "expired"), ({"iss": "http://127.0.0.1:1"}, "issuer"),
                              ({"email": None}, "user"), ({"groups": ["chess"]}, "none of your groups"),
                              ({"key": test_oidc.rsa.generate_private_key(65537, 2048)}, "signature")):
            with self.subTest(claims=list(claims)):
                self.provider.cheat = claims
                self.refused(self.person.log_in(), words)
                self.assertEqual(self.person.me()[0], 401)

    def test_what_the_provider_says_is_shown_as_text(self):
        self.provider.deny = {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
        answer = self.person.log_in()
        self.refused(answer, "access_denied (<script>alert(1)</script>)")
        self.assertNotIn("<script>alert", answer[2])

    def test_a_login_leads_nowhere_else(self):
        evil = "?next=https://evil.example&redirect_uri=https://evil.example"
        self.person.begin()
        location = self.person.ask("/login" + evil, Host="evil.example")[1]["Location"]
        self.assertTrue(location.startswith(self.provider.url))
        self.assertNotIn("evil", location)
        status, headers, _ = self.person.ask(self.person.back() + "&next=//evil.example", Host="evil.example")
        self.assertEqual((status, headers["Location"]), (303, "/"))

    def test_who_is_disabled_here_stays_out(self):
        self.assertEqual(self.person.log_in()[0], 303)
        self.daemon.ask("PUT", "/v1/users/oidc:ann@example.org", {"disabled": True})
        try:
            self.assertEqual(self.person.me()[0], 401)
            other = Person(self.daemon.url)
            self.person, kept = other, self.person
            self.refused(other.log_in(), "disabled")
        finally:
            self.daemon.ask("PUT", "/v1/users/oidc:ann@example.org", {"disabled": False})
        self.assertEqual(kept.me()[0], 200)

    @unittest.skipUnless(CHROMIUM, "no chromium here")
    def test_a_browser_logs_in_by_the_button_and_out(self):
        b = Browser(self.folder / "profile")
        self.addCleanup(b.close)
        self.person.begin()  # what the provider publishes is there
        for scheme, width in (("light", 1280), ("dark", 375)):
            b.screen(width, 900, scheme, mobile=width < 500)
            b.open(self.daemon.url + f"/?{scheme}#/jobs")
            b.wait_for("document.querySelector('a[href=\"/login\"]')")
            self.assertIn("Log in with Test <ID>", b.value("document.body.innerText"))
            self.looked_at(b, "login-" + scheme)
            b.open(self.daemon.url + "/login/callback")
            self.assertIn("This browser has begun no login", b.value("document.body.innerText"))
            self.looked_at(b, "login-refused-" + scheme)
        b.open(self.daemon.url + "/#/jobs")
        b.wait_for("document.querySelector('a[href=\"/login\"]')")
        b.value("document.querySelector('a[href=\"/login\"]').click()")
        b.wait_for("document.querySelector('footer')?.innerText.includes('oidc:ann@example.org')")
        b.wait_for("document.querySelector('footer .good')")  # the stream of events knows the session, too
        self.assertEqual(b.value("location.hash"), "#/jobs")
        self.assertIsNone(b.value("sessionStorage.getItem('stint-token')"))
        self.assertEqual(b.value("document.cookie"), "")  # out of reach of scripts
        b.open(self.daemon.url + "/?again")
        b.wait_for("document.querySelector('footer')?.innerText.includes('oidc:ann@example.org')")
        b.value("[...document.querySelectorAll('.tools button')].find(x => x.textContent === 'Sign out').click()")
        b.wait_for("document.getElementById('token')")
        b.open(self.daemon.url + "/?later")
        b.wait_for("document.querySelector('a[href=\"/login\"]')")
        self.assertEqual([e for event in ("Runtime.exceptionThrown", "Log.entryAdded") for e in b.seen(event)], [])

    def looked_at(self, b, name):
        folder = os.environ.get("STINT_SCREENSHOTS")
        if folder:
            (pathlib.Path(folder) / f"{name}.png").write_bytes(base64.b64decode(b.call("Page.captureScreenshot")["data"]))
        script = next(iter(sorted((SOURCE / "build/axe").glob("axe-*.min.js"))), None)
        if script:
            b.call("Runtime.evaluate", expression=script.read_text())
            found = b.value("axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v => [v.id, v.help])))")
            self.assertEqual(json.loads(found), [])


class AnotherProvider(unittest.TestCase):
    def test_a_person_logs_in_through_a_provider_of_other_makers(self):
        os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
        try:
            import oidc_provider_mock
            import werkzeug.serving
        except ImportError:
            self.skipTest("oidc-provider-mock is not installed (pip install oidc-provider-mock)")
        ann = oidc_provider_mock.User(sub="ann", claims={"email": "ann@example.org", "groups": ["ml"]})
        server = werkzeug.serving.make_server("127.0.0.1", 0, oidc_provider_mock.app(user_claims=[ann]), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        with tempfile.TemporaryDirectory() as folder:
            daemon = daemon_with(pathlib.Path(folder), f"http://127.0.0.1:{server.server_port}", SECRET, client_id="stint")
            self.addCleanup(daemon.stop)
            person = Person(daemon.url)
            form = urllib.parse.urlsplit(person.begin())
            connection = http.client.HTTPConnection(form.netloc, timeout=60)
            with contextlib.closing(connection):
                connection.request("POST", f"{form.path}?{form.query}", "sub=ann", {"Content-Type": "application/x-www-form-urlencoded"})
                back = connection.getresponse().headers["Location"].removeprefix(daemon.url)
            status, _, text = person.ask(back)
            self.assertEqual(status, 303, text)
            self.assertEqual(json.loads(person.me()[2])["user"], "oidc:ann@example.org")
            daemon.stop()


def daemon_with(folder, issuer, secret, client_id):
    (folder / "secret").write_text(secret + "\n")
    (folder / "secret").chmod(0o600)
    daemon = RunningDaemon(STINT, folder, FLEET)
    daemon.stop()  # its address is known now
    daemon.configure(dict(FLEET, oidc={
        "issuer": issuer, "audience": "stint", "user_claim": "email", "roles": {"ml": "submitter@acme"},
        "login": {"name": "Test <ID>", "client_id": client_id, "client_secret_file": str(folder / "secret"),
                  "public_url": daemon.url, "session": "1h"}}))
    daemon.start()
    return daemon


if __name__ == "__main__":
    STINT = sys.argv[1]
    SOURCE = pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
