"""Stands before a real API server and does it harm: refuses, forgets, cuts. What it does not harm, it hands on as it is."""
import http.client
import http.server
import json
import ssl
import threading
import urllib.parse


def status(code, reason, message):
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}).encode()


class FaultyProxy:
    """A fault is (when, what, how often): `when` sees the path and the parameters, `what` is one of
    ("answer", code, headers, body), ("cut", bytes) of the answer's body, ("event", line) in place of the body,
    ("lose",): the request is carried out, and its answer does not come."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.faults = []
        self.seen = []  # (path, parameters) of every request
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    proxy.handle(self)
                except OSError:  # the client has gone
                    self.close_connection = True

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cluster.pki / "server.crt", cluster.pki / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def harm(self, when, what, times=1):
        fault = {"when": when, "what": what, "left": times}
        with self.lock:
            self.faults.append(fault)
        return fault

    def next_fault(self, path, parameters):
        with self.lock:
            self.seen.append((path, parameters))
            for fault in self.faults:
                if fault["left"] > 0 and fault["when"](path, parameters):
                    fault["left"] -= 1
                    return fault["what"]
        return None

    def handle(self, request):
        url = urllib.parse.urlsplit(request.path)
        fault = self.next_fault(url.path, dict(urllib.parse.parse_qsl(url.query)))
        request.close_connection = True
        body = request.rfile.read(int(request.headers.get("Content-Length", 0))) or None
        if fault and fault[0] == "answer":
            _, code, headers, text = fault
            request.send_response(code)
            for name, value in headers.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(text)
            return
        if fault and fault[0] == "event":
            request.send_response(200)
            request.end_headers()
            request.wfile.write(fault[1])
            return
        upstream = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=120,
                                               context=ssl.create_default_context(cafile=self.cluster.pki / "ca.crt"))
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "accept-encoding", "connection")}
        upstream.request(request.command, request.path, body, headers)
        answer = upstream.getresponse()
        if fault and fault[0] == "lose":
            answer.read()
            upstream.close()
            return
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                request.send_header(name, value)
        left = fault[1] if fault else None  # "cut"
        length = answer.getheader("Content-Length")
        if length is not None:
            request.send_header("Content-Length", length)
        request.end_headers()
        while piece := answer.read1(65536):
            if left is not None:
                piece = piece[:left]
                left -= len(piece)
            request.wfile.write(piece)
            request.wfile.flush()
            if left == 0:
                break
        upstream.close()
