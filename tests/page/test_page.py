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
import shutil
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import CHROMIUM, Browser  # noqa: E402
from running_daemon import RunningDaemon  # noqa: E402

MOST_BYTES = 300_000
VIEWS = ["overview", "fleet", "jobs", "timeline", "findings", "clients", "alerts"]
SCREENS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light"), "phone-dark": (390, "dark")}
FLEET = {
    "nodes": [{"name": f"a100-{i}", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "cpu_milli": 96000,
               "memory": "1152GiB", "per_hour": "16.20", "labels": {"rack": f"r{i // 2}"}} for i in range(3)]
    + [{"name": f"l4-{i}", "gpu_model": "L4", "gpus": 4, "gpu_memory": "24GiB", "cpu_milli": 48000, "memory": "192GiB", "per_hour": "2.80"} for i in range(2)],
    "queues": [{"name": "agency", "deserved_gpus": 16}, {"name": "agency/vision", "deserved_gpus": 8}, {"name": "agency/language", "deserved_gpus": 8},
               {"name": "research", "deserved_gpus": 12, "budget": "500", "budget_period": "168h"},
               {"name": "studio"}],
    "govern": {"budgets": [{"name": "studio-month", "queue": "studio", "per_month": "1", "at_limit": "approve"}]},
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
        "price_doubt": None,
    }


def unusual_day(client, first_day, excess, days=1, idle=False, recent=False):
    return {"client": client, "idle": idle, "provider": "aws", "service": "Amazon S3", "first_day": first_day, "days": days, "cost": 100 + excess, "expected": 100,
            "excess": excess, "deviations": excess / 10, "recent": recent}


def unusual_days(*found):
    return {"threshold": 4, "least_amount": 5, "weeks": 8, "fewest_weeks": 3, "until": "2026-11-01T00:00:00Z", "series": 30, "judged": 12, "undated": 0, "found": list(found)}


AUDIT = {
    "schema": "stint-audit/1", "currency": "USD", "goals": [],
    "period": {"begin": "2026-10-01T00:00:00Z", "end": "2026-11-01T00:00:00Z"},
    "totals": {"bill_per_month": 47_000, "plan_per_month": 38_000, "saving_per_month": 9_000, "mean_utilization_pct": 23,
               "coverage_pct": 99, "gpu_hours": 13_352, "per_useful_gpu_hour": 14.2, "months": 1, "plan_range": None, "commitments_aside": None,
               "saving_by": {"replayed": 6_700, "arithmetic": 2_300, "doubtful_price": 0}, "not_used_per_month": 21_000},
    "data": [], "coverage": [],
    "findings": [finding(1, "Run the training on spot", 6_700, "survives"), finding(2, "Pack 4 services onto 2 GPUs", 2_300, "arithmetic")],
    "rejected": [finding(3, "Commit to one machine for a year", 0, "rejected")],
    "clients": [], "idle_causes": [], "categories": [], "nodes": [], "holders": [], "curve": [], "heat": [], "imports": [], "contradictions": [],
    "prices": [], "anomalies": unusual_days(unusual_day("retail", "2026-10-20", 250, days=3, recent=True), unusual_day("", "2026-10-07", -80), unusual_day("", "2026-10-11", 60, idle=True)),
    "cluster": None, "notes": ["6 % of the GPU-hours have no owner: `stint import tenants` names owners"], "out_of_reach": [],
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
        b.value("localStorage.clear()")
        b.call("Network.clearBrowserCookies")
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
        return [*VIEWS, "submit", "jobs?state=ended", "fleet?group=client", "fleet?group=rack", "jobs/agency-5", "jobs/agency-1", "jobs/research-6"]

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
                    self.picture(f"{view.replace('/', '-').replace('?', '-').replace('=', '-')}-{screen}")
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
        b.call("Network.clearBrowserCookies")
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

    def test_statements_are_written_and_what_stands_in_their_way_is_said(self):
        b = self.browser
        self.sign_in(view="clients")
        b.wait_for("document.getElementById('statement-month')")
        b.value("document.getElementById('statement-month').value = '2020-01'")
        b.value("[...document.querySelectorAll('#main button')].find(x => x.textContent === 'Write statements').click()")
        b.wait_for("document.querySelector('#main').textContent.includes('the statements of 2020-01 ended with 1')", 180)  # it takes what others leave of the processors
        pages = self.folder / "state/statements/2026-10"
        pages.mkdir(parents=True)
        (pages / "agency.html").write_text("<html>agency only</html>")
        (pages / "index.json").write_text(json.dumps({"written": "2026-11-05T00:00:00Z", "currency": "USD", "statements": [
            {"client": "agency", "amount": "1234.5", "page": "agency.html"}]}))
        self.addCleanup(shutil.rmtree, pages)
        self.go("jobs")
        self.go("clients")
        b.wait_for("document.querySelector('#main').textContent.includes('1,234.50 USD')")
        self.picture("clients-statements")
        self.sign_in(self.daemon.token_for("ren", ["viewer@research"]), "clients")
        self.assertNotIn("Statements", b.value("document.querySelector('#main').textContent"))

    def test_a_wrong_token_is_refused_and_not_kept(self):
        b = self.browser
        b.call("Network.clearBrowserCookies")
        b.open(self.daemon.url + "/?wrong")
        b.wait_for("document.activeElement.id === 'token'")
        b.call("Input.insertText", text="stint_nonsense")
        b.key("Enter")
        b.wait_for("document.querySelector('[role=alert]').textContent.includes('not known')")
        self.assertEqual(b.call("Network.getCookies", urls=[self.daemon.url])["cookies"], [])
        self.assertEqual(b.value("sessionStorage.length + localStorage.length"), 0)

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
            if label == "Drain":
                b.wait_for("document.querySelector('dialog[open] .primary')")
                self.assertIn("It starts no new job", b.value("document.querySelector('dialog').innerText"))
                b.value("document.querySelector('dialog[open] .primary').click()")
            b.wait_for(f"document.querySelector('#main tbody tr:last-child td').innerText.startsWith('{after}')")
        self.assertEqual(self.daemon.ask("GET", "/v1/nodes")["nodes"][-1]["state"], "up")
        self.assertEqual(self.complaints(), [])

    def test_draining_says_what_still_runs(self):
        b = self.browser
        node = next(n for n in self.daemon.ask("GET", "/v1/nodes")["nodes"] if n["jobs"])
        self.sign_in(view=f"fleet?q={node['name']}")
        b.wait_for("document.querySelectorAll('#main tbody tr').length === 1")
        b.value("document.querySelector('#main tbody button').click()")
        b.wait_for("document.querySelector('dialog[open] .primary')")
        asked = b.value("document.querySelector('dialog').innerText")
        for job in node["jobs"]:
            self.assertIn(job, asked)
        b.value("document.querySelector('dialog[open] .button:not(.primary)').click()")  # leave it
        b.wait_for("!document.querySelector('dialog')")
        self.assertEqual(self.daemon.ask("GET", "/v1/nodes")["nodes"][0]["state"], "up")
        b.value("document.querySelector('#main tbody button').click()")
        b.wait_for("document.querySelector('dialog[open] .primary')")
        b.value("document.querySelector('dialog[open] .primary').click()")
        b.wait_for("document.querySelector('#main tbody td').innerText.includes('still run')")
        self.daemon.ask("POST", f"/v1/nodes/{node['name']}/up")
        self.assertEqual(self.complaints(), [])

    def test_another_tab_is_signed_in_and_signing_out_is_of_all_tabs(self):
        b = self.browser
        self.sign_in()
        cookie = b.call("Network.getCookies", urls=[self.daemon.url])["cookies"]
        self.assertEqual([(c["name"], c["httpOnly"], c["sameSite"], c["secure"]) for c in cookie], [("stint-session", True, "Strict", False)])
        self.assertNotEqual(cookie[0]["value"], self.daemon.token)
        self.assertEqual(b.value("document.cookie + sessionStorage.length + localStorage.length"), "00")  # no script can read who it is
        first = b.new_tab()
        b.open(self.daemon.url + "/#/fleet")
        self.settled()
        self.assertEqual(b.value("document.querySelector('#main h1').textContent"), "Fleet")
        b.value("[...document.querySelectorAll('header button')].find(x => x.textContent === 'Sign out').click()")
        b.wait_for("document.getElementById('token')")
        b.to_tab(first)
        b.open(self.daemon.url + "/?again")
        b.wait_for("document.getElementById('token')")
        # The cookie that was good is so no longer.
        request = urllib.request.Request(self.daemon.url + "/v1/me", headers={"Cookie": f"stint-session={cookie[0]['value']}", "Stint-Page": "1"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 401)

    def column(self, number, table=-1):
        return self.browser.value(f"[...[...document.querySelectorAll('#main table')].at({table}).querySelectorAll('tbody tr')].map(r => r.children[{number}].innerText)")

    def press(self, label, where="#main"):
        find = f"[...document.querySelectorAll({json.dumps(where + ' button')})].find(x => x.textContent === {json.dumps(label)})"
        self.browser.wait_for(find + " !== undefined")
        self.browser.value(find + ".click()")

    def test_columns_sort_and_the_address_says_how(self):
        b = self.browser
        self.sign_in(view="jobs?state=running")
        self.press("GPUs", "#main thead")
        gpus = [float(x) for x in self.column(6)]
        self.assertGreater(len(set(gpus)), 2)
        self.assertEqual(gpus, sorted(gpus, reverse=True))
        self.assertEqual(b.value("location.hash"), "#/jobs?state=running&sort=-gpus")
        self.assertEqual(b.value("document.querySelector('[aria-sort]').innerText.trim().split(' ')[0] + document.querySelector('[aria-sort]').ariaSort"), "GPUsdescending")
        self.press("GPUs ↓", "#main thead")
        self.assertEqual([float(x) for x in self.column(6)], sorted(gpus))
        hash_ = b.value("location.hash")
        first = b.new_tab()
        b.open(self.daemon.url + "/" + hash_)  # as somebody does who was sent the link
        self.settled()
        self.assertEqual([float(x) for x in self.column(6)], sorted(gpus))
        b.to_tab(first)
        self.assertEqual(self.complaints(), [])

    def test_filters_stand_in_the_address(self):
        b = self.browser
        self.sign_in(view="jobs")
        for name, value in (("Queue", "agency/vision"), ("State", "running")):
            b.value(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select[aria-label={name}]'))")
        self.assertEqual(b.value("location.hash"), "#/jobs?queue=agency%2Fvision&state=running")
        self.assertEqual(set(self.column(4)), {"agency/vision"})
        self.assertEqual(set(self.column(3)), {"running"})
        b.open(f"{self.daemon.url}/?later{b.value('location.hash')}")
        self.settled()
        self.assertEqual(set(self.column(4)), {"agency/vision"})
        self.assertEqual(b.value("document.querySelector('select[aria-label=State]').value"), "running")
        self.assertEqual(self.complaints(), [])

    def test_several_jobs_are_held_and_cancelled_at_once(self):
        b = self.browser
        jobs = [self.daemon.submit("many", "agency/vision", 8) for _ in range(3)]
        self.sign_in(view="jobs?q=many")
        b.wait_for("document.querySelectorAll('#main tbody input[type=checkbox]').length === 3")
        for job in jobs[:2]:
            b.value(f"document.querySelector('input[aria-label=\"Choose job {job}\"]').click()")
        self.assertIn("2 jobs chosen", b.value("document.querySelector('.bulk').textContent"))
        self.press("Hold 2", ".bulk")
        b.wait_for("document.getElementById('main').innerText.split('on-hold').length === 3")
        self.assertEqual([self.daemon.ask("GET", f"/v1/jobs/{job}")["state"] for job in jobs], ["on-hold", "on-hold", "waiting"])
        b.wait_for("document.querySelector('.bulk').hidden")
        b.value("document.querySelector('#main thead input[type=checkbox]').click()")
        self.press("Cancel 3", ".bulk")
        b.wait_for("document.querySelector('dialog[open] .primary')")
        b.value("document.querySelector('dialog[open] .primary').click()")
        b.wait_for("!document.querySelector('#main tbody')")
        self.assertEqual({self.daemon.ask("GET", f"/v1/jobs/{job}")["state"] for job in jobs}, {"cancelled"})
        self.assertEqual(self.complaints(), [])

    def put(self, field, text):
        """Types into a field of the form, in place of what it has."""
        self.browser.value(f"(i => {{ i.focus(); i.select?.(); }})(document.getElementById('{field}'))")
        self.browser.call("Input.insertText", text=text)

    def test_an_array_is_one_line_and_its_page_lists_its_jobs(self):
        b, d = self.browser, self.daemon
        array = d.submit("grid", "research", 1, array=5, at_once=2, gpu_models=["L4"])
        self.addCleanup(lambda: d.stint("cancel", array, check=False))
        self.sign_in(view="jobs?q=grid")
        row = f"[...document.querySelectorAll('#main tr')].filter((r) => r.querySelector('a[href=\"#/jobs/{array}\"]')).map((r) => r.innerText)"
        b.wait_for(f"{row}.length === 2")
        self.assertEqual(b.value(f"{row}.map((t) => t.match(/[0-9]+ of 5/)[0])"), ["3 of 5", "2 of 5"])
        self.assertEqual(b.value(f"document.querySelectorAll('a[href^=\"#/jobs/{array}_\"]').length"), 0)
        self.assertEqual(b.value("[...document.querySelectorAll('#main h2')].map((h) => h.textContent)"), ["Waiting (3)", "Running (2)"])
        for screen, (width, scheme) in SCREENS.items():
            b.screen(width, 900, scheme, mobile=width < 500)
            self.go("jobs?q=grid")
            self.picture(f"array-line-{screen}")
            self.go(f"jobs/{array}")
            b.wait_for(f"document.querySelectorAll('a[href^=\"#/jobs/{array}_\"]').length === 5")
            self.picture(f"array-page-{screen}")
            self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
        self.assertIn("2 running, 3 waiting", b.value("document.querySelector('.facts').innerText"))
        why = b.value("[...document.querySelectorAll('#main section')].find((s) => s.textContent.startsWith('Why')).innerText")
        self.assertEqual(why.split("\n")[0], f"Why its next job, {array}_2, waits")
        self.assertIn("\nAs many jobs of its array as may be are there already.", why)
        # One of them, then all.
        b.value(f"document.querySelector('a[href=\"#/jobs/{array}_3\"]').closest('tr').querySelector('button.danger').click()")
        b.wait_for("document.querySelector('dialog[open]')")
        b.value("document.querySelector('dialog[open] .primary').click()")
        b.wait_for("document.querySelector('.facts').innerText.includes('1 cancelled')")
        self.press("Cancel", ".heading")
        b.wait_for("document.querySelector('dialog[open]')")
        self.assertIn(f"all that has not ended of array {array}", b.value("document.querySelector('dialog[open]').innerText"))
        b.value("document.querySelector('dialog[open] .primary').click()")
        b.wait_for("document.querySelector('.facts').innerText.includes('5 cancelled')")
        self.assertEqual(d.ask("GET", f"/v1/jobs/{array}")["array"]["jobs"], {"cancelled": 5})
        self.assertEqual(self.complaints(), [])

    def test_a_job_is_submitted_by_the_form_and_submitted_again(self):
        b = self.browser
        self.sign_in(view="jobs")
        b.value("document.querySelector('#main a[href=\"#/submit\"]').click()")
        b.wait_for("document.getElementById('command')")
        b.value("document.getElementById('queue').value = 'agency/language'")
        self.put("name", "by-form")
        self.put("command", "python3 train.py --name 'two words' --path a\\ b")
        self.put("gpus", "2")
        b.value("document.getElementById('model').value = 'A100-80GB'")
        self.put("limit", "soon")
        self.press("Submit")
        b.wait_for("document.getElementById('submit-wrong').innerText.includes('time_limit')")
        self.put("limit", "3h")
        b.value("document.querySelector('details.more').open = true")
        self.put("tags", "project=vision\nteam=blue")
        self.press("Submit")
        b.wait_for("location.hash.startsWith('#/jobs/agency-')")
        job = b.value("location.hash").split("/")[-1]
        asked = self.daemon.ask("GET", f"/v1/jobs/{job}/request")
        self.assertEqual(asked, {"name": "by-form", "queue": "agency/language", "tags": {"project": "vision", "team": "blue"},
                                 "command": ["python3", "train.py", "--name", "two words", "--path", "a b"], "gpus": 2, "gpu_models": ["A100-80GB"],
                                 "time_limit": 10800, "simulated_duration": 600})
        b.wait_for("[...document.querySelectorAll('#main a')].find(x => x.textContent === 'Resubmit')")
        b.value("[...document.querySelectorAll('#main a')].find(x => x.textContent === 'Resubmit').click()")
        b.wait_for("document.getElementById('command')")
        self.assertEqual(b.value("document.getElementById('command').value"), "python3 train.py --name 'two words' --path 'a b'")
        self.put("gpus", "1")
        self.press("Submit")
        b.wait_for(f"/jobs.agency-/.test(location.hash) && !location.hash.endsWith('/{job}')")
        again = b.value("location.hash").split("/")[-1]
        self.assertEqual(self.daemon.ask("GET", f"/v1/jobs/{again}/request"), dict(asked, gpus=1))
        for one in (job, again):
            self.daemon.ask("POST", f"/v1/jobs/{one}/cancel")
        self.assertEqual([c["entry"]["text"].split("status of ")[-1][:3] for c in self.complaints()], ["422"])  # of the time limit "soon"

    def test_a_job_is_approved_where_it_waits(self):
        b = self.browser
        jobs = [self.daemon.submit(name, "studio", 8, time_limit="10h") for name in ("costly-a", "costly-b")]
        self.assertEqual(self.daemon.ask("GET", f"/v1/jobs/{jobs[0]}")["state"], "needs-approval")
        self.sign_in(view="jobs?state=needs-approval")
        b.wait_for("document.querySelectorAll('#main tbody tr').length === 2")
        self.assertIn("It needs approval.", b.value("document.querySelector('#main tbody').innerText"))
        self.press("Approve", "#main tbody tr:first-child")
        b.wait_for("document.querySelectorAll('#main tbody tr').length === 1")
        self.assertNotEqual(self.daemon.ask("GET", f"/v1/jobs/{jobs[0]}")["state"], "needs-approval")
        self.go(f"jobs/{jobs[1]}")
        self.press("Refuse", "#main .actions")
        b.wait_for("document.querySelector('dialog[open] .primary')")
        b.value("document.querySelector('dialog[open] .primary').click()")
        b.wait_for("document.querySelector('.facts').innerText.includes('refused')")
        self.daemon.ask("POST", f"/v1/jobs/{jobs[0]}/cancel")
        # To whoever may not approve no button is shown.
        job = self.daemon.submit("costly-c", "studio", 8, time_limit="10h")
        self.sign_in(self.daemon.token_for("sue", ["submitter@studio"]), "jobs?state=needs-approval")
        b.wait_for("document.querySelectorAll('#main tbody tr').length === 1")
        self.assertEqual(b.value("document.querySelectorAll('#main tbody button').length"), 0)
        self.daemon.ask("POST", f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.complaints(), [])

    def test_a_banner_once_dismissed_stays_away(self):
        b = self.browser
        self.sign_in()
        b.wait_for("document.querySelector('#notices button')")
        b.value("document.querySelector('#notices button').click()")
        b.wait_for("!document.querySelector('#notices .notice')")
        b.open(self.daemon.url + "/?later")
        self.settled()
        self.assertEqual(b.value("document.getElementById('notices').innerText"), "")
        b.value("localStorage.clear()")

    def test_the_fleet_is_grouped_as_one_asks(self):
        b = self.browser
        self.sign_in(view="fleet")

        def groups(by):
            self.go(f"fleet?group={by}")
            return b.value("[...document.querySelectorAll('.group-name')].map(x => x.innerText)")

        self.assertEqual(groups("model"), ["A100-80GB", "L4"])
        self.assertEqual(sorted(groups("rack")), ["No rack", "r0", "r1"])
        clients = groups("client")
        self.assertIn("agency", clients)
        cells = b.value("Object.fromEntries([...document.querySelectorAll('.group')].map(g => [g.querySelector('.group-name').innerText, [...g.querySelectorAll('[data-gpu]')].map(c => c.dataset.gpu)]))")
        board = self.daemon.ask("GET", "/v1/board")
        theirs = {f"{t['node']}/{g}" for j in board["running"] if j["queue"].startswith("agency") for t in j["placed"] for g in t["gpus"]}
        self.assertEqual(set(cells["agency"]), theirs)
        b.value("document.querySelector('.group summary').click()")
        b.wait_for("document.querySelectorAll('.group:not([open])').length === 1 && !document.querySelector('.group:not([open]) [data-gpu]')")
        self.assertEqual(self.complaints(), [])

    def test_the_timeline_folds(self):
        b = self.browser
        self.sign_in(view="timeline")
        b.wait_for("document.querySelector('.run')")
        runs = b.value("document.querySelectorAll('.run').length")
        lanes = b.value("document.querySelectorAll('.lane:not(.axis)').length")
        b.value("document.querySelector('.group-lane .fold').click()")
        self.assertEqual(b.value("document.querySelector('.group-lane .fold').ariaExpanded"), "false")
        self.assertEqual(b.value("document.querySelectorAll('.lane:not(.axis)').length"), lanes - 3)
        self.assertLess(b.value("document.querySelectorAll('.run').length"), runs)
        self.assertRegex(b.value("document.querySelector('.strip').ariaLabel"), r"^A100-80GB, 3 machines: [0-9.]+ % held on average$")
        b.value("document.querySelector('.group-lane .fold').click()")
        self.assertEqual(b.value("document.querySelectorAll('.lane:not(.axis)').length"), lanes)
        self.assertEqual(self.complaints(), [])

    def test_the_marks_of_the_timeline_keep_apart_on_a_phone(self):
        b = self.browser
        self.sign_in(view="timeline")
        b.wait_for("document.querySelector('.run')")
        try:
            for width in (1280, 390, 320):
                b.screen(width, 900, "light", mobile=width < 500)
                self.go("overview")
                self.go("timeline")
                boxes = b.wait_for("(() => { const boxes = [...document.querySelectorAll('.axis span')].map(x => x.getBoundingClientRect())"
                                   ".map(r => [r.left, r.right]); return boxes.length ? boxes : null; })()")
                self.assertLessEqual(boxes[-1][1], width, "the last one is whole")
                for (_, right), (left, _) in zip(boxes, boxes[1:]):
                    self.assertLessEqual(right, left + 0.5, (width, boxes))
        finally:
            b.screen(1280, 900, "light")

    def test_marks_have_room_in_every_span_of_time_and_every_width(self):
        # What one sees depends on the second at which one looks: here every span from a minute to three weeks, at odd seconds.
        self.sign_in(view="timeline")
        found = self.browser.value("""import(document.querySelector('link[href$="/axis.js"]').href).then(({ marks }) => {
          const canvas = document.createElement('canvas').getContext('2d');
          canvas.font = '12px system-ui';
          const measure = (text) => canvas.measureText(text).width;
          const bad = [];
          let fewest = 99;
          for (const width of [200, 230, 254, 300, 700, 1100])
            for (let span = 60e3; span < 21 * 864e5; span *= 1.07)
              for (let i = 0; i < 8; ++i) {
                const to = Date.now() - i * 7919e3;
                const list = marks(to - span, to, width, measure);
                fewest = Math.min(fewest, list.length);
                list.forEach((m, j) => {
                  const end = m.left + measure(m.text) + 5;  // its line and the gap after it
                  if (m.left < 0 || end > (list[j + 1]?.left ?? width)) bad.push([width, span, m.text]);
                });
              }
          return { bad: bad.slice(0, 5), fewest };
        })""")
        self.assertEqual(found["bad"], [])
        self.assertGreaterEqual(found["fewest"], 1)

    def test_charts_begin_when_the_daemon_did(self):
        b = self.browser
        begins = self.daemon.ask("GET", "/v1/board")["begins"]
        self.sign_in(view="overview?hours=24")
        said = b.wait_for("document.querySelector('.chart .unseen').textContent", seconds=60)
        # Its first minute, or the one after: pieces are some seconds long.
        shown = b.value(f"[0, 1].map(m => new Date(Date.parse({json.dumps(begins)}) + m * 60000).toLocaleTimeString('en-GB', {{hour: '2-digit', minute: '2-digit'}}))")
        self.assertTrue(any(f"from {minute}:" in said for minute in shown), (said, shown))

    def test_the_rules_of_alerts_are_listed(self):
        b = self.browser
        self.sign_in(view="alerts")
        rules = self.daemon.ask("GET", "/v1/alerts")["rules"]
        self.assertGreater(len(rules), 3)
        b.wait_for("document.querySelector('[aria-label=Rules]')")
        listed = b.value("[...document.querySelectorAll('[aria-label=Rules] tbody th')].map(x => x.innerText)")
        self.assertEqual(listed, [r["name"] for r in rules])

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
        self.assertNotIn("`", b.value("document.querySelector('main').innerText"), "commands are set apart, not quoted")
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

    def test_a_finding_says_how_it_was_proven(self):
        b = self.browser
        self.sign_in(view="findings")
        try:
            for method, word in (("jobs", "replayed"), ("bill", "billed again")):
                first = dict(AUDIT["findings"][0], proof=dict(AUDIT["findings"][0]["proof"], method=method))
                self.daemon.ask("PUT", "/v1/findings", dict(AUDIT, findings=[first, *AUDIT["findings"][1:]]))
                self.go("overview")
                self.go("findings")
                b.wait_for(f"document.querySelector('details.finding .badge')?.textContent === '{word}'")
        finally:
            self.daemon.ask("PUT", "/v1/findings", AUDIT)

    def test_commitments_on_few_days_of_use_are_said_to_count_nowhere(self):
        b = self.browser
        aside = {"days": 31, "days_asked": 90, "saving_per_month": 1_234.5, "plan_per_month": 36_765.5, "findings": ["F-00000003"]}
        try:
            self.daemon.ask("PUT", "/v1/findings", dict(AUDIT, totals=dict(AUDIT["totals"], commitments_aside=aside)))
            self.sign_in(view="findings")
            b.wait_for("document.querySelector('p.aside')?.innerText.includes('31 days of use, where 90 are asked for, would take 1,234.50 USD a month off this plan, to 36,765.50')")
            self.daemon.ask("PUT", "/v1/findings", AUDIT)
            self.go("overview")
            self.go("findings")
            b.wait_for("document.querySelectorAll('details.finding').length === 3 && !document.querySelector('p.aside')")
        finally:
            self.daemon.ask("PUT", "/v1/findings", AUDIT)

    def test_unusual_days_are_listed_by_what_they_are_off_by(self):
        b = self.browser
        self.sign_in(view="findings")
        rows = "[...document.querySelectorAll('[aria-label=\"Unusual days\"] tbody tr')]"
        b.wait_for(f"{rows}.length === 3")
        cells = b.value(f"{rows}.map(row => [...row.children].map(cell => cell.innerText.trim()))")
        self.assertEqual(cells[0], ["retail", "aws: Amazon S3", "2026-10-20 to 2026-10-22 recent", "350.00", "100.00", "+250.00", "+25"])
        self.assertEqual(cells[1], ["(not attributed)", "aws: Amazon S3", "2026-10-07", "20.00", "100.00", "-80.00", "-8"])
        self.assertEqual(cells[2][0], "idle, of no client")
        said = b.value("document.querySelector('#main').innerText")
        self.assertIn("Of 30 daily series, by client and service, 12 had the 3 weeks of past that this needs.", said)
        self.picture("findings-unusual")
        b.value("[...document.querySelectorAll('[aria-label=\"Unusual days\"] th button')].find(x => x.textContent.startsWith('Off by')).click()")
        b.wait_for(f"{rows}[1].children[0].innerText === 'idle, of no client'")
        self.assertEqual(self.complaints(), [])

    def test_many_unusual_days_are_shown_on_request_and_none_is_said(self):
        b = self.browser
        rows = "document.querySelectorAll('[aria-label=\"Unusual days\"] tbody tr').length"
        try:
            self.daemon.ask("PUT", "/v1/findings", dict(AUDIT, anomalies=unusual_days(*(unusual_day(f"client-{i}", "2026-10-20", 100 - i) for i in range(20)))))
            self.sign_in(view="findings")
            b.wait_for(f"{rows} === 15")
            b.value("[...document.querySelectorAll('#main button')].find(x => x.textContent === 'Show all 20').click()")
            b.wait_for(f"{rows} === 20")
            self.daemon.ask("PUT", "/v1/findings", dict(AUDIT, anomalies=unusual_days()))
            self.go("overview")
            self.go("findings")
            b.wait_for("document.getElementById('main').innerText.includes('No day was unusual.')")
            self.assertEqual(self.complaints(), [])
        finally:
            self.daemon.ask("PUT", "/v1/findings", AUDIT)

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

    def test_no_role_is_shown_what_it_may_not_do(self):
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

    def test_a_large_fleet_is_read_by_machine(self):
        b = self.browser
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            large = Daemon(STINT, folder, {"nodes": [dict(FLEET["nodes"][0], name=f"n{i:04}") for i in range(1_000)], "queues": [{"name": "agency"}]})
            self.addCleanup(large.stop)
            large.submit("wide", "agency", 8, tasks=20)
            b.call("Network.clearBrowserCookies")
            b.open(large.url + "/#/fleet")
            b.wait_for("document.activeElement.id === 'token'")
            b.call("Input.insertText", text=large.token)
            b.key("Enter")
            self.settled()
            self.assertEqual(b.value("document.querySelectorAll('[role=gridcell]').length"), 1_000)
            self.assertEqual(b.value("[...document.querySelectorAll('[role=gridcell]')].filter(c => c.ariaLabel.includes('8 of 8 GPUs held')).length"), 20)
            self.assertEqual(b.value("document.querySelectorAll('#main tbody tr').length"), 50)
            took = b.value("new Promise(done => { const began = performance.now(); document.querySelector('.choice input[value=busy]').click(); requestAnimationFrame(() => done(performance.now() - began)); })")
            print(f"page: a fleet of 1,000 machines is drawn again in {took:.0f} ms", file=sys.stderr)
            self.assertLessEqual(b.value("document.documentElement.scrollWidth"), 1280)
            self.assertEqual(self.complaints(), [])
            large.stop()

    def test_the_page_of_a_failed_job_opens_on_its_last_lines(self):
        b = self.browser
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            real = Daemon(STINT, folder, {"nodes": [{"name": "here", "cpu_milli": 8000, "memory": "8GiB", "per_hour": "1"}], "queues": [{"name": "acme"}]}, simulate=False)
            self.addCleanup(real.stop)
            job = real.ask("POST", "/v1/jobs", {"queue": "acme", "name": "breaks", "retries": 0, "cpu_milli": 100,
                                                "command": ["sh", "-c", "for i in $(seq 400); do echo step $i; done; echo no such data; exit 3"]})["id"]
            end = time.monotonic() + 60
            while real.ask("GET", f"/v1/jobs/{job}")["state"] != "failed" and time.monotonic() < end:
                time.sleep(0.1)
            b.call("Network.clearBrowserCookies")
            b.open(real.url + f"/#/jobs/{job}")
            b.wait_for("document.activeElement.id === 'token'")
            b.call("Input.insertText", text=real.token)
            b.key("Enter")
            b.wait_for("document.querySelector('pre.log')?.textContent.includes('no such data')")
            self.assertEqual(b.value("[...document.querySelectorAll('#main h2')][0].innerText"), "The last lines it printed")
            b.wait_for("(l => l.scrollTop > 0 && l.scrollTop + l.clientHeight >= l.scrollHeight - 8)(document.querySelector('pre.log'))")
            self.assertIn("exit code 3", b.value("document.getElementById('main').innerText"))
            self.assertEqual(self.complaints(), [])
            real.stop()

    def test_what_no_job_started_is_named_and_what_gets_no_job(self):
        nvml = os.environ.get("STINT_FAKE_NVML")
        if nvml is None:
            self.skipTest("STINT_FAKE_NVML names no library")
        b = self.browser
        b.screen(1280, 900, "light")
        with tempfile.TemporaryDirectory() as folder:
            pids = pathlib.Path(folder) / "pids"
            pids.write_text(f"{os.getpid()}\n")
            here = {"name": "here", "gpu_model": "A100-80GB", "gpus": 2, "gpu_memory": "80GiB", "cpu_milli": 4000, "memory": "4GiB", "per_hour": "2"}
            real = Daemon(STINT, folder, {"nodes": [here], "queues": [{"name": "agency"}], "telemetry": {"nvml_library": nvml, "every": 0.2}}, simulate=False,
                          environment={"FAKE_NVML_PIDS": str(pids), "FAKE_NVML_USED_MIB": "10"})
            self.addCleanup(real.stop)
            real.submit("needs-both", "agency", 2)
            b.open(real.url + "/#/fleet")
            b.wait_for("document.activeElement.id === 'token'")
            b.call("Input.insertText", text=real.token)
            b.key("Enter")
            b.wait_for("document.getElementById('main').innerText.includes('GPUs that get no job')")
            text = b.value("document.getElementById('main').innerText")
            name = pathlib.Path(f"/proc/{os.getpid()}/comm").read_text().strip()
            self.assertIn("Processes on GPUs that no job gave them", text)
            for words in (f"{name} ({os.getpid()})", pathlib.Path(f"/proc/{os.getpid()}").owner(), "3 GiB", "belongs to no job", "here, GPU 0",
                          f"process {os.getpid()} still computes on it"):
                self.assertIn(words, text)
            pids.write_text("")
            b.wait_for("!/that get no job|no job gave them/.test(document.getElementById('main').innerText)")
            self.assertEqual(self.complaints(), [])
            real.stop()

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
