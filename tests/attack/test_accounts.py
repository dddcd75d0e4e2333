#!/usr/bin/env python3
"""A submitter goes for the daemon's own rights through a job.

Usage: test_accounts.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import subprocess
import sys
import urllib.error

from tenants import Attack, HERE, main, needs_root


class TheDaemonsOwnAccount(Attack):
    def refused(self, *flags):
        (self.folder / "fleet.json").write_text(json.dumps(dict(HERE, listen="127.0.0.1:0")))
        return subprocess.run([self.STINT, "daemon", "--config", self.folder / "fleet.json", "--state", self.folder / "state", *flags],
                              capture_output=True, text=True, timeout=20, check=False)

    def test_is_not_given_to_jobs(self):
        done = self.refused()
        self.assertEqual(done.returncode, 1)
        self.assertIn("own user", done.stderr)
        self.assertIn("--insecure-shared-user", done.stderr)
        self.assertFalse((self.folder / "state").exists(), "nothing is begun")

    def test_is_not_given_by_its_name_either(self):
        done = self.refused("--jobs-as", subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip())
        self.assertEqual(done.returncode, 1)
        self.assertIn("--insecure-shared-user", done.stderr)

    def test_is_given_where_that_is_said_and_every_status_says_what_follows(self):
        """The attack itself: this is what the flag allows."""
        self.start("--insecure-shared-user")
        token = self.token_of("eve", "submitter@acme")
        stolen = self.run_job(token, "acme", f"cat {self.daemon.state}/admin.token").strip()
        self.assertEqual(stolen, self.daemon.token, "whose jobs have the daemon's account can do that")
        said = "whoever submits one can read the daemon's tokens"
        self.assertIn(said, self.daemon.log.read_text())
        board = self.daemon.ask("GET", "/v1/board")
        self.assertTrue(any(said in note for note in board["notes"]), board["notes"])


@needs_root
class AnAccountOfTheirOwn(Attack):
    def test_root_is_no_account_for_jobs(self):
        self.assertRaisesRegex(AssertionError, "would run as root", self.start, "--jobs-as", "root")

    def test_a_submitter_does_not_become_operator(self):
        self.start("--jobs-as", "nobody")
        token = self.token_of("eve", "submitter@acme")
        printed = self.run_job(token, "acme", f"id -u; cat {self.daemon.state}/admin.token {self.daemon.state}/govern.db")
        self.assertNotIn(self.daemon.token, printed)
        # Where the test's folder below /tmp is hidden from jobs, it is not even found.
        self.assertRegex(printed, "admin.token: (Permission denied|No such file)")
        self.assertNotEqual(printed.splitlines()[0], "0")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.daemon.ask("POST", "/v1/tokens", {"user": "admin"}, token=token)
        self.assertIn(refused.exception.code, (403, 404, 422))


if __name__ == "__main__":
    main(sys.modules[__name__])
