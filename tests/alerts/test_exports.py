"""The exported alert rules and dashboard against the real promtool: they load, rules fire where they must and only there."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

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
        count = self.rules.read_text().count("- alert:")
        self.assertIn(f"{count} rules found", checked.stdout)
        self.assertGreaterEqual(count, 15)

    def test_each_fires_on_one_side_of_its_threshold_only(self):
        tested = self.promtool_tests()
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_another_threshold_is_noticed(self):
        # Each comparison's threshold is moved so far that both sides, or none, would fire.
        text = self.rules.read_text()
        exprs = re.findall(r"expr: '(.*)'", text)
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
        self.assertEqual((tested.stdout + tested.stderr).count("got: nil"), len(exprs))


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


if __name__ == "__main__":
    unittest.main()
