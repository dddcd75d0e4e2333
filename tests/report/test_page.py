#!/usr/bin/env python3
"""Opens the audit pages in a real Chromium, driven over its DevTools pipe.

Usage: test_page.py WRITE_SAMPLES [unittest options]. Skipped where no chromium is installed.
"""
import base64
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import CHROMIUM, Browser  # noqa: E402

# Elements whose own text stands out less than WCAG 2.1 AA asks for: 4.5 to 1.
LOW_CONTRAST = """
(() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
                       return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; }
                        return [255, 255, 255]; };
  const out = new Set();
  for (const e of document.querySelectorAll('main *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e);
    const ink = light(parse(e.namespaceURI.includes('svg') ? style.fill : style.color)), paper = light(behind(e));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5 && e.tagName !== 'title') out.add(e.tagName + '.' + e.getAttribute('class') + ' ' + ratio.toFixed(2));
  }
  return [...out];
})()
"""


@unittest.skipUnless(CHROMIUM, "no chromium here: install the package chromium to test the page in a browser")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([WRITE_SAMPLES, cls.folder], check=True)
        cls.pages = [cls.folder / f"{name}.html" for name in ("agency", "empty", "large", "hostile")]
        cls.browser = Browser(cls.folder / "profile")
        cls.addClassCleanup(cls.browser.close)

    def test_loads_without_complaint_and_asks_for_nothing_else(self):
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri())
                self.assertEqual([r["request"]["url"] for r in self.browser.seen("Network.requestWillBeSent")], [page.as_uri()])
                for event in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"):
                    self.assertEqual(self.browser.seen(event), [], event)
                self.assertEqual(self.browser.value("document.querySelectorAll('script,img,iframe,link,object').length"), 0)

    def test_nothing_is_wider_than_a_phone_or_a_desk(self):
        for page in self.pages:
            with self.subTest(page=page.name):
                for width in (390, 1280):
                    self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
                    self.browser.open(page.as_uri())
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
        self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_text_stands_out_in_light_and_dark(self):
        self.browser.open((self.folder / "agency.html").as_uri())
        self.browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.assertEqual(self.browser.value(LOW_CONTRAST), [], scheme)
        self.browser.call("Emulation.setEmulatedMedia", features=[])

    def test_prints_to_pdf_with_the_findings_open(self):
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri())
                pdf = base64.b64decode(self.browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
                self.assertTrue(pdf.startswith(b"%PDF-"))
                self.assertIn(b"%%EOF", pdf[-16:])
        if not shutil.which("pdftotext"):
            self.skipTest("no pdftotext here: install poppler-utils to read what was printed")
        self.browser.open((self.folder / "agency.html").as_uri())
        pdf = base64.b64decode(self.browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        text = subprocess.run(["pdftotext", "-", "-"], input=pdf, stdout=subprocess.PIPE, check=True).stdout.decode()
        for words in ("From 47,000 to 21,636 USD a month", "spot capacity can be absent for hours", "scontrol update", "Considered and not advised"):
            self.assertIn(words, text)
        # Two pages, then the annex with the commands.
        pages = text.split("\f")
        self.assertEqual([n for n, page in enumerate(pages) if page.lstrip().startswith("Annex")], [2])
        self.assertNotIn("scontrol update", pages[0] + pages[1])
        self.assertIn("What idleness costs", pages[0] + pages[1])

    def test_a_link_to_a_finding_opens_it(self):
        self.browser.open((self.folder / "agency.html").as_uri())
        self.browser.value("document.querySelector('#instances a').click()")
        self.assertTrue(self.browser.value("document.querySelector(location.hash).closest('details').open"))


if __name__ == "__main__":
    WRITE_SAMPLES = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
