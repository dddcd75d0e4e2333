#!/usr/bin/env python3
"""Bearer tokens of an identity provider: a small one of the test (PyJWT and cryptography), with discovery and keys that change.

Usage: test_oidc.py STINT. Skipped where PyJWT or cryptography are not installed (apt install python3-jwt python3-cryptography).
"""
import http.server
import json
import pathlib
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

SKIPPED = 77
try:
    import jwt
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)


class Provider:
    """Publishes keys; signs what it is told to."""

    def __init__(self):
        self.keys = {}
        self.asked = 0
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = {"/.well-known/openid-configuration": {"issuer": provider.url, "jwks_uri": provider.url + "/keys"},
                        "/keys": {"keys": [provider.jwk(kid) for kid in provider.keys]}}.get(self.path)
                provider.asked += self.path == "/keys"
                self.send_response(200 if body else 404)
                self.end_headers()
                self.wfile.write(json.dumps(body or {}).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, kid, algorithm):
        if algorithm == "RS256":
            key = rsa.generate_private_key(65537, 2048)
        else:  # one whose coordinate has a leading zero, which some libraries leave out of the key they publish
            key = ec.generate_private_key(ec.SECP256R1())
            while key.public_key().public_numbers().x >> 248:
                key = ec.generate_private_key(ec.SECP256R1())
        self.keys[kid] = (key, algorithm)

    def jwk(self, kid):
        key, algorithm = self.keys[kid]
        maker = jwt.algorithms.RSAAlgorithm if algorithm == "RS256" else jwt.algorithms.ECAlgorithm
        public = maker.to_jwk(key.public_key())
        return dict(json.loads(public) if isinstance(public, str) else public, kid=kid, alg=algorithm, use="sig")

    def token(self, kid, key=None, **changes):
        private, algorithm = self.keys[kid]
        now = int(time.time())
        claims = {"iss": self.url, "aud": "stint", "sub": "u1", "email": "ann@example.org", "exp": now + 300, "iat": now,
                  "groups": ["ml"]}
        claims.update(changes)
        return jwt.encode({k: v for k, v in claims.items() if v is not None}, key or private, algorithm, headers={"kid": kid})


def ask(url, token, method="GET", body=None):
    request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(),
                                     headers={"Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"{what}: {got}, not {wanted}")


def run(url, provider):
    provider_rsa, provider_ec = provider.token("r1"), provider.token("e1")
    for _ in range(200):  # until the keys are there
        status, answer = ask(url + "/v1/me", provider_rsa)
        if status != 503:
            break
        time.sleep(0.05)
    for name, token in ("RS256", provider_rsa), ("ES256", provider_ec):
        status, answer = ask(url + "/v1/me", token)
        check(name, (status, answer.get("user"), answer.get("roles")), (200, "oidc:ann@example.org", ["submitter@acme"]))
    job = {"queue": "acme", "command": ["true"]}
    status, answer = ask(url + "/v1/jobs", provider_rsa, "POST", job)
    check("a job of its client", (status, answer.get("user")), (201, "oidc:ann@example.org"))
    check("a job of another", ask(url + "/v1/jobs", provider_rsa, "POST", dict(job, queue="zoo"))[0], 422)
    check("no token of ours", ask(url + "/v1/tokens", provider_rsa, "POST", {})[0], 403)
    check("no group", ask(url + "/v1/jobs", provider.token("r1", groups=["chess"]))[0], 403)
    past = int(time.time()) - 3600
    other = rsa.generate_private_key(65537, 2048)
    for what, token in {"expired": provider.token("r1", exp=past), "without end": provider.token("r1", exp=None),
                        "another issuer": provider.token("r1", iss="http://127.0.0.1:1"),
                        "another audience": provider.token("r1", aud="other"), "no user": provider.token("r1", email=None),
                        "another's key": provider.token("r1", key=other),
                        "no signature": jwt.encode({"iss": provider.url, "aud": "stint", "email": "ann", "exp": past + 7200}, None, "none"),
                        "a keyed hash": jwt.encode({"iss": provider.url, "aud": "stint", "email": "ann", "exp": past + 7200},
                                                   "x" * 32, "HS256", headers={"kid": "r1"}),
                        "cut short": provider_rsa[:-4]}.items():
        check(what, ask(url + "/v1/me", token)[0], 401)
    # A new key is fetched when a token names it, but we do not ask all the time.
    before = provider.asked
    provider.add("r2", "RS256")
    rotated = provider.token("r2")
    ask(url + "/v1/me", rotated)
    for _ in range(50):
        ask(url + "/v1/me", provider.token("r1").replace(".", "x.", 1))
    deadline = time.time() + 60
    while ask(url + "/v1/me", rotated)[0] != 200:
        if time.time() > deadline:
            raise SystemExit("the new key was not fetched")
        time.sleep(0.2)
    if provider.asked - before > 8:
        raise SystemExit(f"asked the provider {provider.asked - before} times")


def main():
    provider = Provider()
    provider.add("r1", "RS256")
    provider.add("e1", "ES256")
    with tempfile.TemporaryDirectory() as folder:
        daemon = RunningDaemon(sys.argv[1], folder, {
            "nodes": [{"name": "n0", "gpu_model": "L4", "gpus": 1, "cpu_milli": 8000, "per_hour": "1"}],
            "queues": [{"name": "acme"}, {"name": "zoo"}],
            "oidc": {"issuer": provider.url, "audience": "stint", "user_claim": "email", "roles": {"ml": "submitter@acme"}}})
        try:
            run(daemon.url, provider)
            print("all as it should be")
        finally:
            daemon.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
