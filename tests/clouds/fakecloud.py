"""A cloud that pretends, with a clock of its own: machines of Amazon EC2, Google Compute Engine and Azure behind their own wire formats, out of stock,
over quota, taken back, lost on the way, as a test wants it. What machines cost is summed exactly.

tests/clouds/test_fakecloud.py has Amazon's, Google's and Microsoft's own clients use it. Written from the providers' API references and Google's
discovery document. `python3 fakecloud.py` serves one until it is ended and prints its address.
"""
import base64
import contextlib
import fractions
import http.server
import itertools
import json
import re
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

TOKEN = "token-of-the-fake-cloud"
EC2_XMLNS = "http://ec2.amazonaws.com/doc/2016-11-15/"
LIVE = ("coming", "running", "stopped")
EC2_STATES = {"coming": (0, "pending"), "running": (16, "running"), "going": (32, "shutting-down"), "gone": (48, "terminated"), "stopped": (80, "stopped")}
GCE_STATES = {"coming": "STAGING", "running": "RUNNING", "going": "STOPPING", "stopped": "TERMINATED"}


class Refused(Exception):
    """What the cloud says instead of doing it: out of stock, over quota, …"""

    def __init__(self, why):
        super().__init__(why)
        self.why = why


class Machine:
    def __init__(self, number, **fields):
        self.number = number
        self.ended = self.interrupted_at = None
        self.__dict__.update(fields)

    @property
    def id(self):
        return f"i-{self.number:017x}" if self.cloud == "aws" else str(10**18 + self.number)


class FakeCloud:
    """`faults(cloud, action, name)` may say for each request: `cut` = the connection ends before anything is done, `lose` = it is done and the answer
    is lost, `twice` = an order makes two machines (EC2 alone: elsewhere names are unique), or a key of REFUSALS. None = as it should be."""
    REFUSALS = {  # why → EC2, Compute Engine (of an operation or a request), Azure
        "stockout": ((500, "InsufficientInstanceCapacity"), ("operation", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"), ("operation", "ZonalAllocationFailed")),
        "quota": ((400, "VcpuLimitExceeded"), ("operation", "QUOTA_EXCEEDED"), (409, "OperationNotAllowed")),
        "throttle": ((503, "RequestLimitExceeded"), (403, "rateLimitExceeded"), (429, "TooManyRequests")),
        "credentials": ((401, "AuthFailure"), (401, "authError"), (401, "InvalidAuthenticationToken")),
        "forbidden": ((403, "UnauthorizedOperation"), (403, "forbidden"), (403, "AuthorizationFailed")),
        "request": ((400, "InvalidParameterValue"), (400, "invalid"), (400, "InvalidParameter")),
        "trouble": ((500, "InternalError"), (503, "backendError"), (500, "InternalServerError")),
    }

    def __init__(self, start=0.0, key="AKIDFAKE"):
        self.key = key
        self.lock = threading.RLock()
        self.machines, self.tokens, self.operations = [], {}, {}
        self.requests = []  # (cloud, action, name)
        self.stock = {}     # (type, zone, market) → how many are left; None or missing = any number
        self.unsold = set()  # (type, zone) of EC2
        self.quota = {}     # cloud → GPUs or machines of it at once
        self.prices = {}    # (type, zone, market) → [(seconds, "price")], ascending
        self.asking_machine = ""  # what Azure's metadata call the machine that asks
        self.starts_in = 0.0  # until a machine runs
        self.operation_takes = 0.0
        self.kept = None    # {}: answers to lists are made once, so that a measurement is of who asks
        self.faults = lambda cloud, action, name: None
        self.after = lambda cloud, action, name: None  # it was done, and is not answered yet
        self._ahead, self._begun = start, time.monotonic()
        self._numbers = itertools.count(1)
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def handle(self):
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                verdict = cloud.answer(self.command, self.path, self.headers, body)
                if verdict is None:
                    self.close_connection = True
                    return
                status, headers, text = verdict
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST = do_DELETE = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.env = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                    "AWS_ENDPOINT_URL_EC2": self.url, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": self.url + "/compute/v1/",
                    "STINT_AZURE_MANAGEMENT_ADDRESS": self.url, "STINT_METADATA_ADDRESS": self.url}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    # ---- time, stock, money ----------------------------------------------------------------------------------------

    def now(self):
        return self._ahead + time.monotonic() - self._begun

    def advance(self, seconds):
        with self.lock:
            self._ahead += seconds

    def price(self, machine_type, zone, market, at=None):
        at = self.now() if at is None else at
        known = [price for since, price in self.prices.get((machine_type, zone, market), []) if since <= at]
        return known[-1] if known else "1"

    def live(self):
        with self.lock:
            self.settle()
            return [m for m in self.machines if m.state in LIVE]

    def settle(self):
        """What happens by itself: machines come up, are gone after their notice, or end as their makers asked."""
        now = self.now()
        for m in self.machines:
            if m.state == "coming" and now >= m.made + self.starts_in:
                m.state = "running"
            if m.interrupted_at is not None and m.ended is None and now >= m.interrupted_at:
                self.end(m, m.interrupted_at)
            if m.runs_for is not None and m.ended is None and now >= m.made + m.runs_for:
                self.end(m, m.made + m.runs_for)

    def end(self, machine, at=None):
        if machine.ended is None:
            machine.ended = self.now() if at is None else at
            key = (machine.type, machine.zone, machine.market)
            if self.stock.get(key) is not None:
                self.stock[key] += 1
        machine.state = "gone"

    def interrupt(self, machine, notice=120.0):
        with self.lock:
            machine.interrupted_at = self.now() + notice
            machine.told_at = self.now()

    def seconds(self, machine):
        return (self.now() if machine.ended is None else machine.ended) - machine.made

    def bill(self):
        """Exactly, by the second, at the price at which each was bought."""
        return sum((fractions.Fraction(m.price) * fractions.Fraction(self.seconds(m)) / 3600 for m in self.machines), fractions.Fraction(0))

    def make(self, cloud, name, **fields):
        """One machine, if there is one. Raises Refused."""
        key = (fields["type"], fields["zone"], fields["market"])
        self.settle()
        quota = self.quota.get(cloud)
        if quota is not None and sum(m.cloud == cloud and m.state in LIVE for m in self.machines) >= quota:
            raise Refused("quota")
        left = self.stock.get(key)
        if left == 0:
            raise Refused("stockout")
        if left is not None:
            self.stock[key] = left - 1
        return self.add(cloud, name, **fields)

    def add(self, cloud, name, **fields):
        """One machine, whatever there is."""
        machine = Machine(next(self._numbers), cloud=cloud, name=name, made=self.now(), price=self.price(fields["type"], fields["zone"], fields["market"]),
                          state="coming", **fields)
        self.machines.append(machine)
        return machine

    # ---- requests --------------------------------------------------------------------------------------------------

    def answer(self, method, path, headers, body):
        """(status, headers, bytes), or None: the connection ends."""
        path, _, query = path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if path.endswith("/token") and "/service-accounts/" in path or path == "/metadata/identity/oauth2/token":
            return self.as_json({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})
        if path == "/metadata/instance/compute/resourceId":
            return 200, {}, self.asking_machine.encode()
        for cloud, fits in (("gcp", path.startswith("/compute/v1/")), ("azure", path.lower().startswith("/subscriptions/")), ("aws", method == "POST")):
            if fits:
                break
        else:
            return 404, {}, b""
        read = {"aws": self.read_ec2, "gcp": self.read_gce, "azure": self.read_arm}[cloud]
        action, name, work = read(method, path, query, headers, body)
        with self.lock:
            self.requests.append((cloud, action, name))
        verdict = self.faults(cloud, action, name)
        if verdict == "cut":
            return None
        if cloud != "aws" and headers.get("Authorization") != f"Bearer {TOKEN}":
            verdict = "credentials"
        if cloud == "aws" and f"Credential={self.key}/" not in (headers.get("Authorization") or ""):
            verdict = "credentials"
        page = (path, str(query), body) if self.kept is not None and action in ("list", "DescribeInstances") and verdict is None else None
        with self.lock:
            try:
                if verdict in self.REFUSALS:
                    raise Refused(verdict)
                done = self.kept[page] if page and page in self.kept else work(verdict == "twice")
            except Refused as refused:
                done = self.refusal(cloud, refused.why, name)
            if page:
                self.kept[page] = done
        self.after(cloud, action, name)
        return None if verdict == "lose" else done

    def refusal(self, cloud, why, name):
        status, code = self.REFUSALS[why][("aws", "gcp", "azure").index(cloud)]
        text = f"{why}, says the fake cloud" + (": exceeding approved Total Regional Cores quota" if why == "quota" else "")
        if cloud == "aws":
            return status, {"Content-Type": "text/xml"}, (f"<Response><Errors><Error><Code>{code}</Code><Message>{text}</Message></Error></Errors>"
                                                          "<RequestID>1</RequestID></Response>").encode()
        if status == "operation":  # it is begun, and then it fails
            return self.gce_operation("insert", None, name, code, text) if cloud == "gcp" else self.arm_begun(name, code, text)
        if cloud == "gcp":
            return self.as_json({"error": {"code": status, "message": text, "errors": [{"message": text, "domain": "global", "reason": code}]}}, status)
        return self.as_json({"error": {"code": code, "message": text}}, status)

    @staticmethod
    def as_json(value, status=200, **headers):
        return status, {"Content-Type": "application/json; charset=utf-8", **headers}, json.dumps(value).encode()

    # ---- Amazon EC2: the Query API ---------------------------------------------------------------------------------

    def read_ec2(self, method, path, query, headers, body):
        form = dict(urllib.parse.parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        action = form.get("Action", "")
        tags = {form[f"TagSpecification.1.Tag.{n}.Key"]: form[f"TagSpecification.1.Tag.{n}.Value"]
                for n in range(1, 51) if f"TagSpecification.1.Tag.{n}.Key" in form}
        scope = re.search(r"Credential=[^/]+/\d+/([^/]+)/", headers.get("Authorization") or "")
        work = getattr(self, "ec2_" + action, None)
        if work is None:
            return action, "", lambda twice: self.refusal("aws", "request", "")
        return action, tags.get("stint:machine", ""), lambda twice: work(form, tags, scope[1] if scope else "us-east-1", twice)

    @staticmethod
    def ec2_answer(action, inner):
        return 200, {"Content-Type": "text/xml;charset=UTF-8"}, f'<{action}Response xmlns="{EC2_XMLNS}"><requestId>1</requestId>{inner}</{action}Response>'.encode()

    def ec2_item(self, m):
        code, state = EC2_STATES[m.state]
        tags = "".join(f"<item><key>{escape(k)}</key><value>{escape(v)}</value></item>" for k, v in m.tags.items())
        why = "<stateReason><code>Server.SpotInstanceTermination</code><message>taken back</message></stateReason>" if m.interrupted_at is not None and m.state == "gone" else ""
        return (f"<item><instanceId>{m.id}</instanceId><imageId>{escape(m.image)}</imageId><instanceState><code>{code}</code><name>{state}</name></instanceState>"
                f"<instanceType>{m.type}</instanceType><placement><availabilityZone>{m.zone}</availabilityZone></placement>"
                + ("<instanceLifecycle>spot</instanceLifecycle>" if m.market == "spot" else "") + f"<tagSet>{tags}</tagSet>{why}</item>")

    def ec2_RunInstances(self, form, tags, region, twice):
        token = form.get("ClientToken")
        if token in self.tokens:
            made = self.tokens[token]
        else:
            fields = {"type": form["InstanceType"], "zone": form.get("Placement.AvailabilityZone") or region + "a", "tags": tags, "image": form.get("ImageId", ""),
                      "market": form.get("InstanceMarketOptions.MarketType") or "on-demand", "runs_for": None,
                      "user_data": base64.b64decode(form.get("UserData", "")).decode()}
            made = [self.make("aws", tags.get("stint:machine", ""), **fields) for _ in range(2 if twice else 1)]
            self.tokens[token] = made
        return self.ec2_answer("RunInstances", "<reservationId>r-1</reservationId><instancesSet>" + self.ec2_item(made[0]) + "</instancesSet>")

    def ec2_DescribeInstances(self, form, tags, region, twice):
        self.settle()
        filters = [(form[f"Filter.{n}.Name"], [form[k] for k in form if k.startswith(f"Filter.{n}.Value.")]) for n in range(1, 11) if f"Filter.{n}.Name" in form]
        ids = [form[k] for k in form if k.startswith("InstanceId.")]

        def fits(m):
            for name, values in filters:
                value = m.tags.get(name[4:]) if name.startswith("tag:") else EC2_STATES[m.state][1] if name == "instance-state-name" else None
                if value not in values:
                    return False
            return m.cloud == "aws" and m.zone.startswith(region) and (not ids or m.id in ids)
        found = [m for m in self.machines if fits(m)]
        start, most = int(form.get("NextToken") or 0), int(form.get("MaxResults") or 1000)
        items = "".join(f"<item><reservationId>r-{m.number}</reservationId><instancesSet>{self.ec2_item(m)}</instancesSet></item>" for m in found[start:start + most])
        more = f"<nextToken>{start + most}</nextToken>" if start + most < len(found) else ""
        return self.ec2_answer("DescribeInstances", f"<reservationSet>{items}</reservationSet>{more}")

    def ec2_TerminateInstances(self, form, tags, region, twice):
        ids = [form[k] for k in form if k.startswith("InstanceId.")]
        found = [m for m in self.machines if m.cloud == "aws" and m.id in ids]
        if len(found) < len(ids):
            return 400, {"Content-Type": "text/xml"}, b"<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>none</Message></Error></Errors></Response>"
        for m in found:
            self.end(m)
        items = "".join(f"<item><instanceId>{m.id}</instanceId><currentState><code>32</code><name>shutting-down</name></currentState></item>" for m in found)
        return self.ec2_answer("TerminateInstances", f"<instancesSet>{items}</instancesSet>")

    def ec2_DescribeSpotPriceHistory(self, form, tags, region, twice):
        types = [form[k] for k in form if k.startswith(("Filter.1.Value.", "InstanceType."))]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        items = "".join(f"<item><instanceType>{t}</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>{self.price(t, zone, market)}</spotPrice>"
                        f"<timestamp>{stamp}</timestamp><availabilityZone>{zone}</availabilityZone></item>"
                        for t, zone, market in sorted(self.prices) if market == "spot" and t in types and zone.startswith(region))
        return self.ec2_answer("DescribeSpotPriceHistory", f"<spotPriceHistorySet>{items}</spotPriceHistorySet>")

    def ec2_DescribeInstanceTypeOfferings(self, form, tags, region, twice):
        types = [form[k] for k in form if k.startswith("Filter.1.Value.")]
        zones = {region + letter for letter in "abc"} | {zone for _, zone, _ in self.prices if zone.startswith(region)}
        sold = sorted((t, zone) for t in types for zone in zones if (t, zone) not in self.unsold)
        items = "".join(f"<item><instanceType>{t}</instanceType><locationType>availability-zone</locationType><location>{zone}</location></item>" for t, zone in sold)
        return self.ec2_answer("DescribeInstanceTypeOfferings", f"<instanceTypeOfferingSet>{items}</instanceTypeOfferingSet>")

    def ec2_DescribeSpotInstanceRequests(self, form, tags, region, twice):
        marked = [m for m in self.machines if m.cloud == "aws" and m.interrupted_at is not None and m.ended is None]
        items = "".join(f"<item><spotInstanceRequestId>sir-{m.number}</spotInstanceRequestId><instanceId>{m.id}</instanceId><state>active</state><status>"
                        f"<code>marked-for-termination</code><updateTime>{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime())}</updateTime></status></item>" for m in marked)
        return self.ec2_answer("DescribeSpotInstanceRequests", f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet>")

    # ---- Google Compute Engine -------------------------------------------------------------------------------------

    def read_gce(self, method, path, query, headers, body):
        parts = path.split("/")[3:]  # projects/P/…
        where = {parts[i]: parts[i + 1] for i in range(0, len(parts) - 1, 2)}
        zone, name, kind = where.get("zones", ""), where.get("instances", ""), parts[-1]
        if "operations" in where:
            return "operation", "", lambda twice: self.gce_look(where["operations"])
        if "aggregated" in where and kind == "machineTypes":
            return "types", "", lambda twice: self.gce_types(query)
        if "aggregated" in where:
            return "list", "", lambda twice: self.gce_list(query, None)
        if "regions" in where:
            return "region", "", lambda twice: self.gce_region(where["regions"])
        if method == "POST" and kind == "instances":
            asked = json.loads(body)
            return "insert", asked.get("name", ""), lambda twice: self.gce_insert(zone, asked, query)
        if method == "DELETE":
            return "delete", name, lambda twice: self.gce_delete(zone, name)
        if kind == "instances":
            return "list", "", lambda twice: self.gce_list(query, zone)
        return "get", name, lambda twice: self.gce_get(zone, name)

    def gce_missing(self, name):
        text = f"The resource '{name}' was not found"
        return self.as_json({"error": {"code": 404, "message": text, "errors": [{"message": text, "domain": "global", "reason": "notFound"}]}}, 404)

    def gce_operation(self, kind, machine, name, code=None, text=""):
        number = next(self._numbers)
        operation = {"kind": "compute#operation", "id": str(number), "name": f"operation-{number}", "operationType": kind, "targetId": machine.id if machine else "0",
                     "zone": f"{self.url}/compute/v1/projects/p/zones/{machine.zone if machine else 'unknown'}", "status": "RUNNING", "progress": 0,
                     "selfLink": f"{self.url}/compute/v1/projects/p/zones/z/operations/operation-{number}", "user": "stint@example.com"}
        self.operations[operation["name"]] = (self.now() + self.operation_takes, operation, code, text)
        return self.as_json(operation)

    def gce_look(self, name):
        if name not in self.operations:
            return self.gce_missing(name)
        done_at, operation, code, text = self.operations[name]
        if self.now() >= done_at:
            operation = {**operation, "status": "DONE", "progress": 100}
            if code:
                operation.update(error={"errors": [{"code": code, "message": text}]}, httpErrorStatusCode=503, httpErrorMessage="SERVICE UNAVAILABLE")
        return self.as_json(operation)

    def gce_find(self, zone, name):
        return next((m for m in self.machines if m.cloud == "gcp" and m.zone == zone and m.name == name and m.state != "gone"), None)

    def gce_insert(self, zone, asked, query):
        known = self.tokens.get(("gcp", query.get("requestId")))
        if query.get("requestId") and known:
            return self.as_json(self.operations[known][1])
        self.settle()
        if self.gce_find(zone, asked["name"]):
            text = f"The resource '{asked['name']}' already exists"
            return self.as_json({"error": {"code": 409, "message": text, "errors": [{"message": text, "domain": "global", "reason": "alreadyExists"}]}}, 409)
        scheduling = asked.get("scheduling", {})
        runs = scheduling.get("maxRunDuration", {}).get("seconds")
        user_data = {item["key"]: item["value"] for item in asked.get("metadata", {}).get("items", [])}.get("user-data", "")
        try:
            machine = self.make("gcp", asked["name"], type=asked["machineType"].split("/")[-1], zone=zone, tags=asked.get("labels", {}), image="", asked=asked,
                                market="spot" if scheduling.get("provisioningModel") == "SPOT" else "on-demand", user_data=user_data, runs_for=float(runs) if runs else None)
            answer = self.gce_operation("insert", machine, machine.name)
        except Refused as refused:
            answer = self.refusal("gcp", refused.why, asked["name"])
        if query.get("requestId") and answer[0] == 200:
            self.tokens[("gcp", query["requestId"])] = json.loads(answer[2])["name"]
        return answer

    def gce_delete(self, zone, name):
        machine = self.gce_find(zone, name)
        if not machine:
            return self.gce_missing(name)
        self.end(machine)
        return self.gce_operation("delete", machine, name)

    def gce_instance(self, m):
        return {"kind": "compute#instance", "id": m.id, "name": m.name, "zone": f"{self.url}/compute/v1/projects/p/zones/{m.zone}", "status": GCE_STATES[m.state],
                "machineType": f"{self.url}/compute/v1/projects/p/zones/{m.zone}/machineTypes/{m.type}", "labels": m.tags,
                "scheduling": {"provisioningModel": "SPOT" if m.market == "spot" else "STANDARD"}}

    def gce_get(self, zone, name):
        self.settle()
        machine = self.gce_find(zone, name)
        return self.as_json(self.gce_instance(machine)) if machine else self.gce_missing(name)

    def gce_list(self, query, zone):
        self.settle()
        wanted = dict(re.findall(r"labels\.([\w-]+)\s*=\s*\"?([\w-]+)\"?", query.get("filter", "")))
        found = [m for m in self.machines if m.cloud == "gcp" and m.state != "gone" and (zone is None or m.zone == zone)
                 and all(m.tags.get(k) == v for k, v in wanted.items())]
        start, most = int(query.get("pageToken") or 0), int(query.get("maxResults") or 500)
        page = found[start:start + most]
        answer = {"kind": "compute#instanceAggregatedList" if zone is None else "compute#instanceList", "id": "list"}
        if start + most < len(found):
            answer["nextPageToken"] = str(start + most)
        if zone is not None:
            answer["items"] = [self.gce_instance(m) for m in page]
            return self.as_json(answer)
        answer["items"] = {f"zones/{z}": {"instances": [self.gce_instance(m) for m in page if m.zone == z]} for z in sorted({m.zone for m in page})}
        return self.as_json(answer)

    def gce_types(self, query):
        """Zones sell what there is a price or a number of."""
        wanted = re.findall(r"name\s*=\s*([\w-]+)", query.get("filter", ""))
        sold = sorted({(zone, t) for t, zone, _ in [*self.prices, *self.stock] if t in wanted})
        items = {f"zones/{zone}": {"machineTypes": [{"kind": "compute#machineType", "name": t, "zone": zone} for z, t in sold if z == zone]} for zone in sorted({z for z, _ in sold})}
        return self.as_json({"kind": "compute#machineTypeAggregatedList", "id": "types", "items": items})

    def gce_region(self, region):
        used = sum(m.cloud == "gcp" and m.state in LIVE for m in self.machines)
        metrics = [prefix + metric for metric in ("NVIDIA_A100_GPUS", "NVIDIA_A100_80GB_GPUS", "NVIDIA_L4_GPUS") for prefix in ("", "PREEMPTIBLE_")]
        quotas = [{"metric": metric, "limit": 8.0 * self.quota.get("gcp", 1000), "usage": 8.0 * used} for metric in [*metrics, "PREEMPTIBLE_NVIDIA_H100_GPUS"]]
        return self.as_json({"kind": "compute#region", "id": "1", "name": region, "status": "UP", "quotas": quotas})

    # ---- Azure Resource Manager ------------------------------------------------------------------------------------

    def read_arm(self, method, path, query, headers, body):
        vm = re.fullmatch(r"(?i)/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft\.Compute/virtualMachines(?:/([^/]+))?", path)
        operation = re.search(r"(?i)/operations/([^/]+)$", path)
        if operation:
            return "operation", "", lambda twice: self.arm_look(operation[1])
        if path.endswith("/usages"):
            return "usages", "", lambda twice: self.arm_usages()
        if not vm or "api-version" not in query:
            return "unknown", "", lambda twice: self.refusal("azure", "request", "")
        name = vm[2] or ""
        if method == "PUT":
            return "put", name, lambda twice: self.arm_put(name, json.loads(body))
        if method == "DELETE":
            return "delete", name, lambda twice: self.arm_delete(name)
        return ("get", name, lambda twice: self.arm_get(name)) if name else ("list", "", lambda twice: self.arm_list(query))

    def arm_find(self, name):
        return next((m for m in self.machines if m.cloud == "azure" and m.name == name and m.state != "gone"), None)

    def arm_vm(self, m):
        power = {"running": "PowerState/running", "stopped": "PowerState/stopped"}.get(m.state)
        view = {"statuses": [{"code": "ProvisioningState/succeeded"}] + ([{"code": power}] if power else [])}
        given = m.asked.get("properties", {})
        shown = {k: v for k, v in given.get("osProfile", {}).items() if k != "customData"}  # as Azure, which never shows it again
        properties = {**given, "osProfile": shown, "vmId": m.id, "provisioningState": m.failed or ("Creating" if m.state == "coming" else "Succeeded"), "instanceView": view}
        return {"id": f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/{m.name}", "name": m.name, "type": "Microsoft.Compute/virtualMachines",
                "location": m.asked["location"], "tags": m.tags, "properties": properties, **({"zones": m.asked["zones"]} if "zones" in m.asked else {})}

    def arm_begun(self, name, code=None, text=""):
        """A machine is begun; with a code it fails, and leaves its entry behind."""
        number = next(self._numbers)
        self.operations[f"op-{number}"] = (self.now() + self.operation_takes, None, code, text)
        machine = self.arm_find(name)
        body = self.arm_vm(machine) if machine else {"name": name, "location": "nowhere", "properties": {"provisioningState": "Creating"}}
        return self.as_json(body, 201, **{"Azure-AsyncOperation": f"{self.url}/subscriptions/s/providers/Microsoft.Compute/locations/l/operations/op-{number}?api-version=2024-07-01",
                                          "Retry-After": "0"})

    def arm_look(self, name):
        if name not in self.operations:
            return self.as_json({"error": {"code": "NotFound", "message": "no such operation"}}, 404)
        done_at, _, code, text = self.operations[name]
        if self.now() < done_at:
            return self.as_json({"name": name, "status": "InProgress"})
        return self.as_json({"name": name, "status": "Failed", "error": {"code": code, "message": text}} if code else {"name": name, "status": "Succeeded"})

    def arm_put(self, name, asked):
        self.settle()
        if self.arm_find(name):
            return self.as_json(self.arm_vm(self.arm_find(name)))
        properties = asked["properties"]
        zone = asked["location"] + (f"-{asked['zones'][0]}" if asked.get("zones") else "")
        fields = {"type": properties["hardwareProfile"]["vmSize"], "zone": zone, "tags": asked.get("tags", {}), "image": "", "asked": asked, "runs_for": None, "failed": None,
                  "market": "spot" if properties.get("priority") == "Spot" else "on-demand",
                  "user_data": base64.b64decode(properties.get("osProfile", {}).get("customData", "")).decode()}
        try:
            self.make("azure", name, **fields)
        except Refused as refused:
            if refused.why != "stockout":
                raise
            # As Azure does it: the entry is there, and has to be deleted.
            left = Machine(next(self._numbers), cloud="azure", name=name, made=self.now(), price="0", state="going", **{**fields, "failed": "Failed"})
            self.machines.append(left)
            return self.refusal("azure", "stockout", name)
        return self.arm_begun(name)

    def arm_get(self, name):
        self.settle()
        machine = self.arm_find(name)
        return self.as_json(self.arm_vm(machine)) if machine else self.as_json({"error": {"code": "ResourceNotFound", "message": f"{name} is not there"}}, 404)

    def arm_delete(self, name):
        machine = self.arm_find(name)
        if not machine:
            return 204, {}, b""
        if machine.failed:
            machine.state, machine.ended = "gone", machine.made
        else:
            self.end(machine)
        number = next(self._numbers)
        self.operations[f"op-{number}"] = (self.now(), None, None, "")
        return 202, {"Azure-AsyncOperation": f"{self.url}/subscriptions/s/providers/Microsoft.Compute/locations/l/operations/op-{number}?api-version=2024-07-01",
                     "Location": f"{self.url}/subscriptions/s/providers/Microsoft.Compute/locations/l/operations/op-{number}?api-version=2024-07-01"}, b""

    def arm_list(self, query):
        self.settle()
        found = [m for m in self.machines if m.cloud == "azure" and m.state != "gone"]
        start, most = int(query.get("page") or 0), 500
        answer = {"value": [self.arm_vm(m) for m in found[start:start + most]]}
        if start + most < len(found):
            answer["nextLink"] = (f"{self.url}/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines?"
                                  + urllib.parse.urlencode({**query, "page": start + most}))
        return self.as_json(answer)

    def arm_usages(self):
        used = sum(m.cloud == "azure" and m.state in LIVE for m in self.machines)
        limit = self.quota.get("azure", 1000)
        return self.as_json({"value": [{"name": {"value": name, "localizedValue": name}, "unit": "Count", "currentValue": 96 * used, "limit": 96 * limit}
                                       for name in ("cores", "lowPriorityCores")]})


if __name__ == "__main__":
    fake = FakeCloud()
    print(json.dumps(fake.env), flush=True)
    threading.Event().wait()
