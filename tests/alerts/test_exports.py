"""The exported alert rules and dashboard against the real promtool and Prometheus: they load, rules fire where they must and only
there, and every panel about GPUs shows something whoever exports their metrics."""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from free_ports import free_port  # noqa: E402

STINT = sys.argv.pop(1)


def run(*command, cwd=None):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, check=False)


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (package prometheus)")
class Rules(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        self.rules = self.dir / "stint.rules.yml"
        self.assertEqual(run(STINT, "alerts", "export", "--prometheus", "-o", self.rules).returncode, 0)
        tests = run(STINT, "alerts", "export", "--prometheus-tests", "stint.rules.yml").stdout
        (self.dir / "tests.yml").write_text(tests)

    def promtool_tests(self):
        return run("promtool", "test", "rules", "tests.yml", cwd=self.dir)

    def test_promtool_accepts_every_rule(self):
        checked = run("promtool", "check", "rules", self.rules)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        text = self.rules.read_text()
        alerts, records = text.count("- alert:"), text.count("- record:")
        self.assertIn(f"{alerts + records} rules found", checked.stdout)
        self.assertGreaterEqual(alerts, 15)
        self.assertGreaterEqual(records, 5)

    def test_each_fires_on_one_side_of_its_threshold_only(self):
        tested = self.promtool_tests()
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_another_threshold_is_noticed(self):
        # Each comparison's threshold is moved so far that both sides, or none, would fire.
        text = self.rules.read_text()
        exprs = re.findall(r"- alert: .*\n +expr: '(.*)'", text)
        moved = []
        for expr in exprs:
            number = list(re.finditer(r"(<=|>=|<|>) ([0-9.]+)(?= |$)", expr))
            last = number[-1] if "abs(" not in expr else number[-2]
            moved.append(expr[: last.start(2)] + ("1e9" if last.group(1)[0] == ">" else "-1") + expr[last.end(2) :])
        for expr, other in zip(exprs, moved):
            text = text.replace(f"expr: '{expr}'", f"expr: '{other}'", 1)
        self.rules.write_text(text)
        tested = self.promtool_tests()
        self.assertNotEqual(tested.returncode, 0)
        tests = (self.dir / "tests.yml").read_text().count("- interval:")
        self.assertGreater(tests, len(exprs), "rules on GPU metrics are tested under each exporter's names")
        self.assertEqual((tested.stdout + tested.stderr).count("got: nil"), tests)


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (package prometheus)")
class Dashboard(unittest.TestCase):
    def setUp(self):
        self.dashboard = json.loads(run(STINT, "dashboards", "export").stdout)

    def test_every_query_is_promql(self):
        exprs = [t["expr"] for p in self.dashboard["panels"] for t in p["targets"]]
        self.assertGreater(len(exprs), 10)
        rules = [{"record": f"panel:{i}", "expr": e.replace("$node", ".*")} for i, e in enumerate(exprs)]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            checked = run("promtool", "check", "rules", file.name)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_panels_do_not_overlap(self):
        cells = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & mine, panel["title"])
            cells |= mine
        self.assertEqual(len({p["id"] for p in self.dashboard["panels"]}), len(self.dashboard["panels"]))


# One machine each whose two GPUs were busy 40 and 60 %: DCGM exporter alone; a GPU that MIG cuts in two, which reports 0 % as a whole;
# no DCGM at all, but Stint's daemon, which reads NVML.
FLEETS = {
    "dcgm": """
DCGM_FI_DEV_GPU_UTIL{Hostname="d1",gpu="0",UUID="GPU-d0"} 40
DCGM_FI_DEV_GPU_UTIL{Hostname="d1",gpu="1",UUID="GPU-d1"} 60
DCGM_FI_DEV_FB_USED{Hostname="d1",gpu="0",UUID="GPU-d0"} 20000
DCGM_FI_DEV_FB_FREE{Hostname="d1",gpu="0",UUID="GPU-d0"} 60000
DCGM_FI_DEV_GPU_TEMP{Hostname="d1",gpu="0",UUID="GPU-d0"} 71
DCGM_FI_DEV_POWER_USAGE{Hostname="d1",gpu="0",UUID="GPU-d0"} 400
stint_cost_per_hour{node="d1",currency="USD"} 10
""",
    "mig": """
DCGM_FI_DEV_GPU_UTIL{Hostname="m1",gpu="0",UUID="GPU-m0"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{Hostname="m1",gpu="0",UUID="GPU-m0",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb"} 0.4
DCGM_FI_PROF_GR_ENGINE_ACTIVE{Hostname="m1",gpu="0",UUID="GPU-m0",GPU_I_ID="2",GPU_I_PROFILE="3g.40gb"} 0.6
DCGM_FI_DEV_FB_USED{Hostname="m1",gpu="0",UUID="GPU-m0",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb"} 10000
DCGM_FI_DEV_FB_FREE{Hostname="m1",gpu="0",UUID="GPU-m0",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb"} 30000
DCGM_FI_DEV_GPU_TEMP{Hostname="m1",gpu="0",UUID="GPU-m0"} 71
DCGM_FI_DEV_POWER_USAGE{Hostname="m1",gpu="0",UUID="GPU-m0"} 400
stint_cost_per_hour{node="m1",currency="USD"} 5
""",
    "nvml": """
stint_gpu_utilization{Hostname="n1",gpu="0",UUID="GPU-n0"} 40
stint_gpu_utilization{Hostname="n1",gpu="1",UUID="GPU-n1"} 60
stint_gpu_memory_used{Hostname="n1",gpu="0",UUID="GPU-n0"} 20971520000
stint_gpu_memory_size{Hostname="n1",gpu="0",UUID="GPU-n0"} 83886080000
stint_gpu_temperature{Hostname="n1",gpu="0",UUID="GPU-n0"} 71
stint_gpu_power{Hostname="n1",gpu="0",UUID="GPU-n0"} 400
stint_cost_per_hour{node="n1",currency="USD"} 10
""",
}


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed (package prometheus)")
class AgainstPrometheus(unittest.TestCase):
    """Each fleet's metrics are scraped by a Prometheus that has the exported rules; then the dashboard's queries are asked."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.dir = pathlib.Path(folder.name)

        class Exporters(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = FLEETS[self.path.strip("/")].lstrip().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporters)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        rules = run(STINT, "alerts", "export", "--prometheus").stdout.replace("interval: 1m", "interval: 1s")
        (cls.dir / "rules.yml").write_text(rules)
        jobs = [{"job_name": name, "metrics_path": f"/{name}", "static_configs": [{"targets": [f"127.0.0.1:{server.server_port}"]}]}
                for name in FLEETS]
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yml"], "scrape_configs": jobs}
        (cls.dir / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        cls.port = free_port()
        with open(cls.dir / "log", "w") as log:
            process = subprocess.Popen(["prometheus", f"--config.file={cls.dir}/prometheus.yml", f"--storage.tsdb.path={cls.dir}/data",
                                        f"--web.listen-address=127.0.0.1:{cls.port}"], stdout=log, stderr=log)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)
        # The last thing to come is what rules record of the last fleet that was scraped.
        for _ in range(600):
            if all(cls.ask(f'gpu:utilization{{Hostname="{node}"}}') and cls.ask(f'stint_cost_per_hour{{node="{node}"}}') for node in ("d1", "m1", "n1")):
                return
            time.sleep(0.1)
        raise AssertionError((cls.dir / "log").read_text()[-2000:])

    @classmethod
    def ask(cls, expression):
        query = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{cls.port}/api/v1/query?{query}", timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is not ready yet
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except OSError:
            return []

    def test_rules_record_the_use_of_every_gpu_and_instance_once(self):
        for node, want in (("d1", [40, 60]), ("m1", [40, 60]), ("n1", [40, 60])):
            found = self.ask(f'gpu:utilization{{Hostname="{node}"}}')
            self.assertEqual(sorted(round(float(r["value"][1]), 6) for r in found), want, node)
        memory = {r["metric"]["Hostname"]: float(r["value"][1]) for r in self.ask("gpu:memory_used / gpu:memory_total")}
        self.assertEqual(memory, {"d1": 0.25, "m1": 0.25, "n1": 0.25})

    def test_every_panel_about_gpus_shows_each_fleet(self):
        dashboard = json.loads(run(STINT, "dashboards", "export").stdout)
        shown = 0
        for panel in dashboard["panels"]:
            # Occupancy and memory bandwidth are counters that only profiling has.
            if not any("gpu_utilization" in t["expr"] or "memory_used" in t["expr"] or "gpu_power" in t["expr"] for t in panel["targets"]):
                continue
            for target in panel["targets"]:
                for node in ("d1", "m1", "n1"):
                    with self.subTest(panel=panel["title"], node=node):
                        self.assertTrue(self.ask(target["expr"].replace("$node", node)), target["expr"])
                        shown += 1
        self.assertGreaterEqual(shown, 3 * 10)

    def test_a_useful_gpu_hour_costs_the_price_over_the_use(self):
        dashboard = json.loads(run(STINT, "dashboards", "export").stdout)
        curve = next(p for p in dashboard["panels"] if p["type"] == "xychart")
        use, now, goal = [t["expr"] for t in curve["targets"]]
        # 10 USD an hour over two GPUs, or 5 over one, are 5 a GPU-hour: at 50 % 10, at 70 % 7.14.
        for node in ("d1", "m1", "n1"):
            values = [float(self.ask(e.replace("$node", node))[0]["value"][1]) for e in (use, now, goal)]
            for value, want in zip(values, (50, 10, 5 / 0.7)):
                self.assertAlmostEqual(value, want, places=6, msg=node)

    def test_the_choice_of_nodes_knows_them_all(self):
        dashboard = json.loads(run(STINT, "dashboards", "export").stdout)
        query = next(v["query"] for v in dashboard["templating"]["list"] if v["name"] == "node")
        selector = re.fullmatch(r"label_values\((.*), Hostname\)", query).group(1)
        self.assertEqual({r["metric"]["Hostname"] for r in self.ask(selector)}, {"d1", "m1", "n1"})


if __name__ == "__main__":
    unittest.main()
