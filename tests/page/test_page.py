#!/usr/bin/env python3
"""The daemon's page in a real Chromium: what it loads, what it shows, what it lets one do, and for whom.

Usage: test_page.py STINT SOURCE_DIR [unittest options]. Skipped where no chromium is installed. axe-core is taken from
STINT_AXE or build/axe (scripts/setup-axe); without it the accessibility checks are skipped. With STINT_SCREENSHOTS=FOLDER every
view is kept as a picture.
"""
import base64
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import CHROMIUM, Browser  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402

MOST_BYTES = 300_000
VIEWS = ["overview", "fleet", "jobs", "timeline", "findings", "clients", "alerts"]
SCREENS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (375, "light"), "phone-dark": (375, "dark")}
FLEET = {
    "nodes": [{"name": f"a100-{i}", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 96000,
               "memory": "1152GiB", "per_hour": "16.20"} for i in range(3)]
    + [{"name": f"l4-{i}", "gpu_model": "L4", "gpus": 4, "gpu_memory": "24GiB", "cpu_milli": 48000, "memory": "192GiB", "per_hour": "2.80"} for i in range(2)],
    "queues": [{"name": "agency", "deserved_gpus": 16}, {"name": "agency/vision", "deserved_gpus": 8}, {"name": "agency/language", "deserved_gpus": 8},
               {"name": "research", "deserved_gpus": 12, "budget": "500", "budget_period": "168h"}],
    "services": [{"name": "rank", "ports": [8481, 8484], "min": 2, "every": "1s", "job": {"queue": "research", "user": "ada", "command": ["serve"]}}],
}


EFFECT = {"waiting_mean_s": 60, "completion_mean_s": 30_240, "completion_p95_s": 64_500, "lost_gpu_hours": 0, "unfinished": 0}
SPREAD = {"mean": 1.5, "p10": 0.5, "p90": 2.5}


def finding(number, title, saving, verdict):
    proven = verdict == "survives"
    return {
        "id": f"F-{number:08x}", "kind": "switch-market", "title": title, "saving_per_month": saving, "alone_per_month": saving,
        "confidence": "medium", "risk": "low", "effort": "high",
        "change": {"kind": "switch-market", "description": "train-1 → spot", "nodes": ["train-1"], "to_market": "spot"},
        "evidence": [{"label": "kind of work", "value": "training"}], "arithmetic": ["12,000 − 5,300"], "caveats": ["capacity can be absent"],
        "apply": ["# when the work runs there:", "aws ec2 terminate-instances --instance-ids i-0123456789abcdef0"],
        "proof": {"verdict": verdict, "reason": "" if proven else "nothing to run again", "method": "jobs" if proven else None,
                  "saving_per_month": saving if proven else None, "saving_p10": saving * 0.9 if proven else None,
                  "saving_p90": saving * 1.1 if proven else None, "jobs": 183 if proven else 0, "services": 0, "latency_pct": None, "waiting_s": SPREAD if proven else None,
                  "completion_pct": SPREAD if proven else None, "throughput_pct": SPREAD if proven else None,
                  "lost_gpu_hours": SPREAD if proven else None, "before": EFFECT if proven else None, "after": EFFECT if proven else None,
                  "weeks": 4 if proven else 0, "seeds": 5 if proven else 0, "notes": []},
    }


AUDIT = {
    "schema": "stint-audit/1", "currency": "USD", "goals": [],
    "period": {"begin": "2026-10-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"},
    "totals": {"bill_per_month": 47_000, "plan_per_month": 38_000, "saving_per_month": 9_000, "mean_utilization_pct": 23,
               "coverage_pct": 99, "gpu_hours": 13_352, "per_useful_gpu_hour": 14.2, "months": 1},
    "findings": [finding(1, "Run the training on spot", 6_700, "survives"), finding(2, "Pack 4 services onto 2 GPUs", 2_300, "arithmetic")],
    "rejected": [finding(3, "Commit to one machine for a year", 0, "rejected")],
    "clients": [], "idle_causes": [], "categories": [], "nodes": [], "holders": [], "curve": [], "heat": [], "imports": [],
    "cluster": None, "notes": ["6 % of the GPU-hours have no owner"], "out_of_reach": [],
    "proof": {"by_jobs_per_month": 6_700, "by_requests_per_month": 0, "by_bill_per_month": 0, "by_arithmetic_per_month": 2_300,
              "together": finding(0, "", 6_700, "survives")["proof"]},
}


def axe_script():
    named = os.environ.get("STINT_AXE")
    return pathlib.Path(named) if named else next(iter(sorted((SOURCE / "build/axe").glob("axe-*.min.js"))), None)


class Daemon(RunningDaemon):
    """One to fill."""

    def submit(self, name, queue, gpus, lasts="10h", **more):
        return self.ask("POST", "/v1/jobs", {"name": name, "queue": queue, "command": ["./" + name, "--epochs", "90"], "gpus": gpus,
                                             "simulated_duration": lasts, **more})["id"]

    def token_for(self, user, roles):
        self.ask("PUT", f"/v1/users/{user}", {"roles": roles})
        return self.ask("POST", "/v1/tokens", {"user": user, "life": "1h"})["secret"]


def fill(daemon):
    """Some jobs that have ended, some that run, some that wait."""
    for i in range(3):
        daemon.submit("tokenize", "agency/language", 1, "1s", tags={"project": f"corpus-{i}"})
    daemon.submit("resnet-sweep", "agency/vision", 4, gpu_models=["A100-80GB"])
    daemon.submit("segmentation", "agency/vision", 8, time_limit="12h")
    daemon.submit("llm-finetune", "agency/language", 8, deadline="2030-01-01T00:00:00Z")
    daemon.submit("embeddings", "agency/language", 2)
    daemon.submit("protein-folding", "research", 2, tags={"grant": "ERC-7"})
    for i in range(3):
        daemon.submit(f"ablation-{i}", "research", 1)
    daemon.submit("notebook", "research", 0, gpu_milli=250)
    daemon.submit("pretraining", "research", 8, tasks=2)
    daemon.submit("too-early", "agency/vision", 8, on_hold=True)
    daemon.submit("render-farm", "agency/vision", 8)


@unittest.skipUnless(CHROMIUM, "no chromium here: install the package chromium to test the page in a browser")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.daemon = Daemon(STINT, cls.folder, FLEET)
        cls.addClassCleanup(cls.daemon.stop)
        fill(cls.daemon)
        cls.daemon.ask("PUT", "/v1/findings", AUDIT)
        cls.browser = Browser(cls.folder / "profile")
        cls.addClassCleanup(cls.browser.close)

    def tearDown(self):
        self.browser.call("Emulation.clearDeviceMetricsOverride")
        self.browser.call("Emulation.setEmulatedMedia", features=[])

    def sign_in(self, token=None, view="overview"):
        """A fresh tab's storage, then the form as a person uses it."""
        b = self.browser
        b.open(self.daemon.url + "/")
        b.value("sessionStorage.clear(); localStorage.clear()")
        b.open("about:blank")  # what that page still asked for is not of the next one
        b.open(f"{self.daemon.url}/?{time.monotonic_ns()}#/{view}")
        b.wait_for("document.activeElement.id === 'token'")
        b.call("Input.insertText", text=token or self.daemon.token)
        b.key("Enter")
        self.settled()

    def settled(self):
        self.browser.wait_for("document.querySelector('footer .good') && document.querySelector('#main h1')")
        time.sleep(0.4)  # curves and timelines ask by themselves

    def go(self, view):
        self.browser.value(f"location.hash = '#/{view}'")
        self.settled()

    def complaints(self):
        return [e for event in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded") for e in self.browser.seen(event)]

    def picture(self, name):
        folder = os.environ.get("STINT_SCREENSHOTS")
        if folder:
            shot = self.browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            (pathlib.Path(folder) / f"{name}.png").write_bytes(base64.b64decode(shot))

    def views(self):
        return [*VIEWS, "jobs/agency-5", "jobs/agency-1", "jobs/research-6"]

    def test_loads_little_and_paints_soon(self):
        b = self.browser
        b.call("Network.setCacheDisabled", cacheDisabled=True)
        self.addCleanup(b.call, "Network.setCacheDisabled", cacheDisabled=False)
        self.sign_in()
        b.open(self.daemon.url + "/?again")
        self.settled()
        sent = sum(e["encodedDataLength"] for e in b.seen("Network.loadingFinished"))
        paint = b.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"page: {sent:,} bytes sent in {len(b.seen('Network.loadingFinished'))} answers, first contentful paint after {paint:.0f} ms", file=sys.stderr)
        self.assertLess(sent, MOST_BYTES)
        hosts = {e["request"]["url"].split("/")[2] for e in b.seen("Network.requestWillBeSent") if e["request"]["url"].startswith("http")}
        self.assertEqual(hosts, {self.daemon.url.split("/")[2]})
        self.assertEqual(self.complaints(), [])

    def test_every_view_is_whole_and_without_complaint_on_desk_and_phone_in_light_and_dark(self):
        b = self.browser
        self.sign_in()
        for screen, (width, scheme) in SCREENS.items():
            b.screen(width, 900, scheme, mobile=width < 500)
            for view in self.views():
                with self.subTest(view=view, screen=screen):
                    self.go(view)
                    self.picture(f"{view.replace('/', '-')}-{screen}")
                    self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.complaints(), [])
                    b.events.clear()

    def test_axe_finds_nothing(self):
        script = axe_script()
        if script is None:
            self.skipTest("no axe-core here: run scripts/setup-axe to check accessibility")
        b = self.browser
        self.sign_in()
        for screen, (width, scheme) in SCREENS.items():
            b.screen(width, 900, scheme, mobile=width < 500)
            for view in self.views():
                with self.subTest(view=view, screen=screen):
                    self.go(view)
                    self.assertEqual(self.axe(script), [])
        b.value("document.querySelector('[aria-label^=Keys]').click()")
        self.assertEqual(self.axe(script), [])
        b.open(self.daemon.url + "/")
        b.value("sessionStorage.clear()")
        b.open(self.daemon.url + "/?login")
        b.wait_for("document.getElementById('token')")
        self.assertEqual(self.axe(script), [])

    def axe(self, script):
        b = self.browser
        if not b.value("typeof window.axe === 'object'"):
            b.call("Runtime.evaluate", expression=script.read_text())
        found = json.loads(b.value("axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map("
                                   "v => [v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? ''))])))"))
        return found

    def test_a_wrong_token_is_refused_and_not_kept(self):
        b = self.browser
        b.open(self.daemon.url + "/")
        b.value("sessionStorage.clear()")
        b.open(self.daemon.url + "/?wrong")
        b.wait_for("document.activeElement.id === 'token'")
        b.call("Input.insertText", text="stint_nonsense")
        b.key("Enter")
        b.wait_for("document.querySelector('[role=alert]').textContent.includes('not known')")
        self.assertIsNone(b.value("sessionStorage.getItem('stint-token')"))

    def test_what_is_shown_is_so(self):
        b = self.browser
        self.sign_in()
        board = self.daemon.ask("GET", "/v1/board")
        text = b.value("document.querySelector('.figures').innerText")
        self.assertIn(f"{float(board['money']['jobs_per_hour']):,.2f}", text)
        self.assertIn(f"{float(board['money']['idle_per_hour']):,.2f}", text)
        self.assertIn("Simulated", b.value("document.getElementById('notices').innerText"))
        self.go("fleet")
        self.assertEqual(b.value("document.querySelectorAll('[role=gridcell]').length"), sum(n["gpus"] for n in FLEET["nodes"]))
        b.wait_for("document.querySelector('[aria-label=\\'Services run here\\']')")
        self.assertIn("2 of 2", b.value("document.querySelector('[aria-label=\\'Services run here\\']').innerText"))
        held = sum(1 for n in board["nodes"] for milli in n["gpu_milli_held"] if milli > 0)
        self.assertEqual(b.value("[...document.querySelectorAll('[role=gridcell]')].filter(c => c.getAttribute('aria-label').includes('job')).length"), held)

    def test_a_job_is_held_released_and_cancelled(self):
        b = self.browser
        job = self.daemon.submit("to-be-stopped", "agency/vision", 8)
        self.sign_in(view=f"jobs/{job}")

        def state():
            return self.daemon.ask("GET", f"/v1/jobs/{job}")["state"]

        for label, after in (("Hold", "on-hold"), ("Release", "waiting"), ("Cancel", "cancelled")):
            b.wait_for(f"[...document.querySelectorAll('#main .actions button')].find(x => x.textContent === '{label}')")
            b.value(f"[...document.querySelectorAll('#main .actions button')].find(x => x.textContent === '{label}').click()")
            if label == "Cancel":
                b.wait_for("document.querySelector('dialog[open] .primary')")
                b.value("document.querySelector('dialog[open] .primary').click()")
            b.wait_for(f"document.querySelector('.facts').innerText.includes('{after}')")
            self.assertEqual(state(), after)
        self.assertEqual(self.complaints(), [])

    def test_a_machine_is_drained_and_taken_back(self):
        b = self.browser
        self.sign_in(view="fleet")
        for label, after in (("Drain", "drain"), ("Take back", "up")):
            b.wait_for(f"[...document.querySelectorAll('#main tbody tr:last-child button')].find(x => x.textContent === '{label}')")
            b.value("document.querySelector('#main tbody tr:last-child button').click()")
            b.wait_for(f"document.querySelector('#main tbody tr:last-child td').innerText.startsWith('{after}')")
        self.assertEqual(self.daemon.ask("GET", "/v1/nodes")["nodes"][-1]["state"], "up")
        self.assertEqual(self.complaints(), [])

    def test_the_audit_these_tests_show_is_one(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no python3-jsonschema here")
        jsonschema.validate(AUDIT, json.loads((SOURCE / "docs/schema/audit.json").read_text()))

    def test_a_finding_is_approved_and_taken_back(self):
        b = self.browser
        self.sign_in(view="findings")
        b.wait_for("document.querySelectorAll('details.finding').length === 3")
        self.assertIn("6,700.00 USD", b.value("document.querySelector('details.finding').innerText"))
        b.value("document.querySelector('details.finding summary').click()")
        self.assertIn("terminate-instances", b.value("document.querySelector('details.finding pre').textContent"))
        b.value("document.getElementById('note-F-00000001').focus()")
        b.call("Input.insertText", text="from Monday on")

        def press(label):
            b.value(f"[...document.querySelectorAll('.decide button')].find(x => x.textContent === '{label}').click()")

        press("Approve")
        b.wait_for("document.querySelector('details.finding summary').innerText.includes('approved')")
        self.assertTrue(b.value("document.querySelector('details.finding').open"))
        decision = self.daemon.ask("GET", "/v1/findings")["decisions"][0]
        self.assertEqual((decision["decision"], decision["by"], decision["note"]), ("approved", "admin", "from Monday on"))
        records = self.daemon.ask("GET", "/v1/audit-log?limit=1000")["records"]
        self.assertTrue(any("finding F-00000001 approved" in r["record"] for r in records))
        press("Take back")
        b.wait_for("!document.querySelector('details.finding summary').innerText.includes('approved')")
        self.assertEqual(self.daemon.ask("GET", "/v1/findings")["decisions"], [])
        self.assertEqual(self.complaints(), [])

    def test_a_months_bill_is_shown_and_is_what_was_posted(self):
        b = self.browser
        self.sign_in(view="clients")
        bill = next(x for x in self.daemon.ask("GET", "/v1/bills")["bills"] if x["client"] == "agency")
        self.assertGreaterEqual(bill["runs"], 3, "the tokenize jobs have ended")
        self.assertAlmostEqual(sum(float(x["amount"]) for x in bill["lines"]), float(bill["total"]["amount"]), places=9)
        b.wait_for("document.querySelector('details.lines')")
        self.assertIn(f"{len(bill['lines'])} line", b.value("document.querySelector('details.lines summary').innerText"))
        b.value("document.querySelector('details.lines').open = true; URL.createObjectURL = (blob) => { window.downloaded = blob; return '#'; }")
        b.value("document.querySelector('details.lines button').click()")
        b.wait_for("window.downloaded !== undefined")
        csv = b.value("window.downloaded.text()").splitlines()
        self.assertEqual(csv[0], "month,client,queue,machine,runs,gpu_hours,amount,currency")
        self.assertEqual(len(csv) - 1, len(bill["lines"]))
        self.picture("clients-bill-open")
        viewer = self.daemon.token_for("otto", ["viewer@research"])
        self.assertNotIn("agency", [x["client"] for x in self.daemon.ask("GET", "/v1/bills", token=viewer)["bills"]])
        self.assertEqual(self.complaints(), [])

    def test_the_daemon_audits_what_it_has_recorded(self):
        b = self.browser
        self.sign_in(view="findings")
        b.wait_for("[...document.querySelectorAll('#main .heading button')].find(x => x.textContent === 'Audit now')")
        b.value("[...document.querySelectorAll('#main .heading button')].find(x => x.textContent === 'Audit now').click()")
        b.wait_for("document.getElementById('main').innerText.includes('An audit runs') || document.getElementById('main').innerText.includes('no new audit')")
        end = time.monotonic() + 120
        while (run := self.daemon.ask("GET", "/v1/findings")["run"])["running_since"] and time.monotonic() < end:
            time.sleep(0.2)
        self.assertIsNone(run["running_since"])
        self.assertEqual(run["by"], "admin")
        self.daemon.ask("PUT", "/v1/findings", AUDIT)  # what the other tests look at
        self.assertEqual(self.complaints(), [])

    def test_nobody_is_shown_what_they_may_not_do(self):
        b = self.browser
        viewer = self.daemon.token_for("vera", ["viewer@agency"])
        self.sign_in(viewer)
        for view in [*VIEWS, "jobs/agency-5"]:
            with self.subTest(view=view):
                self.go(view)
                self.assertEqual(b.value("document.querySelectorAll('#main td button, #main .actions button').length"), 0)
                self.assertNotIn("research", b.value("document.getElementById('main').innerText"))
        self.go("jobs/research-2")  # of another client
        b.wait_for("document.getElementById('main').innerText.includes('there is no job research-2')")
        # One's own jobs alone have buttons.
        submitter = self.daemon.token_for("sam", ["submitter@research"])
        own = self.daemon.ask("POST", "/v1/jobs", {"name": "mine", "queue": "research", "command": ["x"], "gpus": 8, "simulated_duration": "1h"}, submitter)["id"]
        self.sign_in(submitter, "jobs")
        b.wait_for(f"document.querySelector('a[href=\"#/jobs/{own}\"]')")
        rows = b.value("[...document.querySelectorAll('#main tbody tr')].filter(r => r.querySelector('button')).map(r => r.querySelector('a').textContent)")
        self.assertEqual(rows, [str(own)])

    def test_news_comes_by_itself(self):
        b = self.browser
        self.sign_in(view="jobs")
        job = self.daemon.submit("just-now", "agency/vision", 1)
        b.wait_for(f"document.querySelector('a[href=\"#/jobs/{job}\"]')")
        self.daemon.ask("POST", f"/v1/jobs/{job}/cancel")
        b.wait_for(f"!document.querySelector('a[href=\"#/jobs/{job}\"]')")
        self.assertEqual(self.complaints(), [])

    def test_the_keyboard_leads_everywhere(self):
        b = self.browser
        self.sign_in()
        b.value("document.activeElement.blur()")
        b.key("Tab")
        self.assertEqual(b.value("document.activeElement.className"), "skip")
        for key, view in (("f", "fleet"), ("j", "jobs"), ("t", "timeline"), ("o", "overview")):
            b.key("g")
            b.key(key)
            b.wait_for(f"location.hash === '#/{view}'")
        b.key("?")
        b.wait_for("document.querySelector('dialog.help[open]')")
        b.key("Escape")
        b.wait_for("!document.querySelector('dialog')")
        self.go("fleet")
        b.value("document.querySelector('[role=gridcell][tabindex=\"0\"]').focus()")
        b.key("ArrowRight")
        b.key("ArrowDown")
        self.assertEqual(b.value("document.activeElement.dataset.gpu"), "a100-1/1")
        b.key("Enter")
        b.wait_for("location.hash.startsWith('#/jobs/')")
        self.go("jobs")
        b.key("/")
        b.wait_for("document.activeElement.type === 'search'")
        b.call("Input.insertText", text="folding")
        b.wait_for("document.querySelectorAll('#main tbody tr').length === 1")

    def test_the_switch_changes_the_colours_and_is_remembered(self):
        b = self.browser
        b.screen(1280, 900, "light")
        self.sign_in()
        paper = "getComputedStyle(document.body).backgroundColor"
        light = b.value(paper)
        b.key("d")
        dark = b.value(paper)
        self.assertNotEqual(light, dark)
        b.open(self.daemon.url + "/?later")
        self.settled()
        self.assertEqual(b.value(paper), dark)
        b.value("localStorage.clear()")


if __name__ == "__main__":
    STINT = sys.argv[1]
    SOURCE = pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
