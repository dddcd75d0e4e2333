#!/usr/bin/env python3
"""One-time codes as their users meet them: begun, confirmed, asked for and given up with the real client.

Usage: test_totp.py STINT. Codes are made here by RFC 6238's own words, and by oathtool where that is installed: both say the same.
"""
import base64
import hashlib
import hmac
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
FLEET = {"nodes": [{"name": "n0", "gpu_model": "A100-80GB", "gpus": 8, "gpu_memory": "80GiB", "per_hour": "16"}],
         "queues": [{"name": "acme"}]}
OATHTOOL = shutil.which("oathtool")


def code_at(secret, seconds):
    mac = hmac.new(base64.b32decode(secret), struct.pack(">Q", int(seconds) // 30), hashlib.sha1).digest()
    at = mac[-1] & 15
    code = f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"
    if OATHTOOL:
        theirs = subprocess.run([OATHTOOL, "--totp", "-b", "--now", f"@{int(seconds)}", secret], capture_output=True, text=True, check=True)
        assert theirs.stdout.strip() == code, (theirs.stdout, code)
    return code


class Totp(unittest.TestCase):
    def test_codes_are_asked_for_once_they_are_confirmed_and_each_is_good_once(self):
        with tempfile.TemporaryDirectory() as folder:
            d = RunningDaemon(STINT, folder, FLEET)
            self.addCleanup(d.stop)
            d.stint("client", "set", "acme")
            d.stint("user", "set", "ann", "--role", "client-admin@acme")
            ann = d.stint("token", "make", "--user", "ann", "--life", "1h").stdout.strip()

            def stint(*arguments, ok=True):
                done = d.stint(*arguments, token=ann, check=False)
                self.assertEqual(done.returncode == 0, ok, done.stdout + done.stderr)
                return done

            begun = json.loads(stint("user", "totp", "enable", "--json").stdout)
            self.assertTrue(begun["uri"].startswith("otpauth://totp/Stint:ann?secret=" + begun["secret"]))
            self.assertEqual(len(set(begun["recovery_codes"])), 10)
            now = time.time()
            stint("token", "make", "--life", "1h")
            first = code_at(begun["secret"], now)
            stint("user", "totp", "confirm", first)
            self.assertIn("one-time code", stint("token", "make", ok=False).stderr)
            self.assertIn("used before", stint("token", "make", "--code", first, ok=False).stderr)
            # Clocks may differ by a step: the next one is good now.
            other = stint("token", "make", "--life", "1h", "--code", code_at(begun["secret"], now + 30)).stdout.strip()
            d.kill()
            d.start()
            # After a restart the codes that were shown are still used up; jobs need none.
            self.assertNotEqual(d.stint("token", "make", "--code", code_at(begun["secret"], now + 30), token=other, check=False).returncode, 0)
            d.stint("submit", "--queue", "acme", "--hold", "--", "x", token=other)
            self.assertEqual(d.stint("token", "make", "--code", begun["recovery_codes"][3], token=other, check=False).returncode, 0)
            log = d.stint("audit-log", "list", "--json").stdout
            for what in ("one-time codes begun", "wrong one-time code", "recovery code, 9 left"):
                self.assertIn(what, log)
            self.assertNotIn(begun["secret"], log)
            self.assertNotIn(begun["recovery_codes"][3], log)
            # Who has lost app and codes asks an operator.
            d.stint("user", "totp", "disable", "--user", "ann")
            stint("token", "make", "--life", "1h")
            self.assertIn("each follows from the one before", d.stint("audit-log", "verify").stdout)


if __name__ == "__main__":
    unittest.main()
