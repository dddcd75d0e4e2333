"""The clouds' stand-ins that scripts/setup-cloud-peers fetched, started on loopback: moto (S3, STS), Azurite, fake-gcs-server.

Only processes started here are signalled. `need(SOURCE_DIR, NAME)` exits with 77 (skipped) where a stand-in is not there.
"""
import base64
import calendar
import contextlib
import email.utils
import hashlib
import hmac
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from free_ports import free_port  # noqa: E402

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # Azurite's published one


def folder(source):
    return pathlib.Path(os.environ.get("STINT_CLOUD_PEERS") or pathlib.Path(source) / "build/cloud-peers").resolve()


def missing_of(source, *names):
    where = {"moto": "python/bin/moto_server", "azurite": "azurite/node_modules/azurite/package.json", "gcs": "bin/fake-gcs-server",
             "ec2-metadata-mock": "bin/ec2-metadata-mock", "registry": "bin/registry", "oras": "python/lib/python*/site-packages/oras/client.py"}
    return [name for name in names if not any(folder(source).glob(where[name]))]


def need(source, *names):
    missing = missing_of(source, *names)
    if missing:
        print(f"skipped: {', '.join(missing)} not in {folder(source)}: run scripts/setup-cloud-peers")
        sys.exit(77)


def run_in_their_python(source):
    """Starts this program again in the virtual environment with boto3."""
    python = folder(source) / "python/bin/python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != folder(source) / "python":
        os.execv(python, [str(python), *sys.argv])


class Peer:
    """A server process with a folder for what it writes."""

    def __init__(self, command, ready, env=None):
        self.dir = tempfile.mkdtemp(prefix="stint-peer-")
        self.log = open(os.path.join(self.dir, "log"), "w+")
        self.process = subprocess.Popen(command, cwd=self.dir, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        end = time.monotonic() + 60
        while not self.answers(ready):
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                text = self.log.read()
                self.stop()
                raise RuntimeError(f"{command[0]} does not come up: {text[-2000:]}")
            time.sleep(0.05)

    @staticmethod
    def answers(url):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Moto(Peer):
    """S3 and EC2. What comes in by `env`'s address is checked first: signature and hash of the body, by botocore from the bytes on the wire. (moto's
    check takes paths and queries apart and refuses what botocore itself signs, where they hold escapes.)"""
    KEY, SECRET = "AKIDSTINTTEST", "secret/of+a=test"

    def __init__(self, source):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        super().__init__([folder(source) / "python/bin/moto_server", "-H", "127.0.0.1", "-p", str(self.port)], self.url + "/moto-api/")
        import boto3
        self.s3 = boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        self.s3.create_bucket(Bucket="bucket")
        self.front = Through(self.port, verify=self.verify)
        self.env = {"AWS_ACCESS_KEY_ID": self.KEY, "AWS_SECRET_ACCESS_KEY": self.SECRET, "AWS_REGION": "us-east-1",
                    "AWS_ENDPOINT_URL_S3": self.front.url, "AWS_ENDPOINT_URL_EC2": self.front.url, "AWS_EC2_METADATA_DISABLED": "true"}

    def stop(self):
        self.front.stop()
        super().stop()

    def verify(self, method, path, headers, body):
        """None, or the refusal that S3 or EC2 would answer."""
        from botocore.auth import S3SigV4Auth, SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        def refuse(status, code):
            return status, [], f"<Error><Code>{code}</Code><Message>refused by the test</Message></Error>".encode()
        if "X-Amz-Signature=" in path:
            return None if self.is_presigned(method, path, headers) else refuse(403, "SignatureDoesNotMatch")
        signed = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/(s3|ec2)/aws4_request, SignedHeaders=([^,]+), "
                              r"Signature=(\w+)", headers.get("Authorization") or "")
        if not signed:
            return refuse(403, "AccessDenied")
        if signed[1] != self.KEY:
            return refuse(403, "InvalidAccessKeyId")
        if signed[3] == "s3" and hashlib.sha256(body).hexdigest() != headers["X-Amz-Content-Sha256"]:
            return refuse(400, "XAmzContentSHA256Mismatch")
        request = AWSRequest(method=method, url=f"http://{headers['Host']}{path}", data=body,
                             headers={name: headers[name] for name in signed[4].split(";")})
        request.context["timestamp"] = headers["X-Amz-Date"]
        auth = (S3SigV4Auth if signed[3] == "s3" else SigV4Auth)(Credentials(self.KEY, self.SECRET), signed[3], signed[2])
        expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        return None if expected == signed[5] else refuse(403, "SignatureDoesNotMatch")

    def is_presigned(self, method, path, headers):
        """An address that was signed to be given away, for no longer than it says."""
        from botocore.auth import S3SigV4QueryAuth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
        base, _, query = path.partition("?")
        fields = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        signature = fields.pop("X-Amz-Signature")
        key, _, scope = fields["X-Amz-Credential"].partition("/")
        signed_at = calendar.timegm(time.strptime(fields["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
        if key != self.KEY or not 0 <= time.time() - signed_at + 1 <= int(fields["X-Amz-Expires"]):
            return False
        query = "&".join(sorted(f"{urllib.parse.quote(n, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}" for n, v in fields.items()))
        request = AWSRequest(method=method, url=f"http://{headers['Host']}{base}?{query}", headers={"host": headers["Host"]})
        request.context["timestamp"] = fields["X-Amz-Date"]
        auth = S3SigV4QueryAuth(Credentials(self.KEY, self.SECRET), "s3", scope.split("/")[1], expires=int(fields["X-Amz-Expires"]))
        return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request) == signature


class FakeGcs(Peer):
    """Google Cloud Storage. It asks for no token, and composes whatever `ifGenerationMatch` says: that one is kept before it, by Google's words."""
    SECRET = "there is none"

    def __init__(self, source):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        super().__init__([folder(source) / "bin/fake-gcs-server", "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port),
                          "-public-host", f"127.0.0.1:{self.port}", "-backend", "memory"], self.url + "/storage/v1/b")
        request = urllib.request.Request(self.url + "/storage/v1/b?project=test", b'{"name":"bucket"}', {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()
        self.front = Through(self.port, verify=self.verify)
        self.env = {"STORAGE_EMULATOR_HOST": self.front.url}

    def stop(self):
        self.front.stop()
        super().stop()

    def verify(self, method, path, headers, body):
        path, _, query = path.partition("?")
        if method != "POST" or not path.endswith("/compose") or "ifGenerationMatch=0" not in query.split("&"):
            return None
        if not self.answers_with_success(self.url + path.removesuffix("/compose")):
            return None
        return 412, [], b'{"error":{"code":412,"message":"refused by the test","errors":[{"reason":"conditionNotMet"}]}}'

    @staticmethod
    def answers_with_success(url):
        try:
            urllib.request.urlopen(url, timeout=60).close()
        except urllib.error.HTTPError:
            return False
        return True


class Azurite(Peer):
    """Azure Blob; signatures by the account's key are checked."""
    SECRET = ACCOUNT_KEY

    def __init__(self, source):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        main = folder(source) / "azurite/node_modules/azurite/dist/src/blob/main.js"
        super().__init__(["node", main, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--inMemoryPersistence", "--silent",
                          "--skipApiVersionCheck", "--disableTelemetry"], self.url)
        self.env = {"AZURE_STORAGE_KEY": ACCOUNT_KEY, "AZURE_STORAGE_BLOB_ENDPOINT": f"{self.url}/{ACCOUNT}"}
        self.make_container("bucket")

    def make_container(self, name):
        path, date = f"/{ACCOUNT}/{name}", email.utils.formatdate(usegmt=True)
        text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-12-02\n/{ACCOUNT}{path}\nrestype:container"
        signature = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), "sha256").digest()).decode()
        request = urllib.request.Request(f"{self.url}{path}?restype=container", method="PUT", headers={
            "x-ms-date": date, "x-ms-version": "2021-12-02", "Authorization": f"SharedKey {ACCOUNT}:{signature}"})
        urllib.request.urlopen(request, timeout=60).close()


class Through:
    """A proxy on loopback before a peer, whose `act(method, path, number)` may answer by itself: (status, headers, body), `cut` = the
    connection ends, `lose` = the peer does it and the answer is lost; None = passed on. `see(form)` is the same for EC2's forms, and
    `seen(form, status, text)` is told what the peer answered, before that is passed on."""

    def __init__(self, to_port, act=None, verify=None, see=None, seen=None):
        import http.client
        import http.server
        import threading
        through = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def handle(self):
                with contextlib.suppress(ConnectionError):  # who asked may be gone
                    super().handle()

            def handle_one(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                with through.lock:
                    through.requests.append((self.command, self.path))
                    number = len(through.requests)
                verdict = act(self.command, self.path, number) if act else None
                form = dict(urllib.parse.parse_qsl(body.decode("latin-1"))) if self.command == "POST" and (see or seen) else {}
                if see and verdict is None:
                    verdict = see(form)
                if verify and verdict in (None, "lose"):
                    verdict = verify(self.command, self.path, self.headers, body) or verdict
                if verdict == "cut":
                    self.close_connection = True
                    return
                if verdict is None or verdict == "lose":
                    connection = http.client.HTTPConnection("127.0.0.1", to_port, timeout=60)
                    connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for name, value in self.headers.items():
                        connection.putheader(name, value)
                    connection.endheaders(body)
                    answer = connection.getresponse()
                    text = answer.read()
                    if seen:
                        seen(form, answer.status, text)
                    verdict = verdict or (answer.status, answer.getheaders(), text)
                    connection.close()
                    if verdict == "lose":
                        self.close_connection = True
                        return
                status, headers, text = verdict
                self.send_response_only(status)
                has_length = False
                for name, value in headers:
                    if name.lower() in ("transfer-encoding", "connection"):
                        continue
                    has_length |= name.lower() == "content-length"
                    self.send_header(name, value)
                if not has_length:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
